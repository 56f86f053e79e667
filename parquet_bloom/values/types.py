"""The type of a leaf column: how its values are stored, and what they mean.

Spec: parquet-format, Types in README.md, LogicalTypes.md.
"""

from __future__ import annotations

from dataclasses import dataclass

PHYSICAL_WIDTH = {"INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}


@dataclass(frozen=True, slots=True)
class LogicalType:
    """The annotation of a leaf column; its str is spelled as in parquet-java's schemas."""

    name: str
    bit_width: int = 0
    signed: bool = True
    unit: str = ""
    utc: bool = False
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        match self.name:
            case "INTEGER":
                return f"INTEGER({self.bit_width},{str(self.signed).lower()})"
            case "TIME" | "TIMESTAMP":
                return f"{self.name}({self.unit},{str(self.utc).lower()})"
            case "DECIMAL":
                return f"DECIMAL({self.precision},{self.scale})"
            case _:
                return self.name


@dataclass(frozen=True, slots=True)
class LeafType:
    """The stored type of a leaf column; `length`: the bytes of a FIXED_LEN_BYTE_ARRAY."""

    physical: str
    length: int = 0
    logical: LogicalType | None = None

    @property
    def logical_name(self) -> str:
        return self.logical.name if self.logical else ""

    @property
    def width(self) -> int | None:
        """Bytes per value; None for BYTE_ARRAY (variable) and BOOLEAN (one bit)."""
        if self.physical == "FIXED_LEN_BYTE_ARRAY":
            return self.length
        return PHYSICAL_WIDTH.get(self.physical)

    @property
    def is_float(self) -> bool:
        """Whether equal values can have different bytes: signed zeros and NaN."""
        return self.physical in ("FLOAT", "DOUBLE") or self.logical_name == "FLOAT16"

    def __str__(self) -> str:
        physical = f"{self.physical}({self.length})" if self.length else self.physical
        return f"{physical} {self.logical}" if self.logical else physical
