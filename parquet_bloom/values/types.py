"""The type of a leaf column: how its values are stored, and what they mean.

Also the values that need care: floats that are equal although their bytes differ, and dates and
times that Python's datetime cannot hold, of nanoseconds or beyond the year 9999.

A new logical type takes three modules: this one if it has a width or is a float, `encode` for values and
`literals` for text. What is hashed are its stored bytes, which `build` takes as they are.

Spec: parquet-format, Types in README.md, LogicalTypes.md.
"""

from __future__ import annotations

import struct
from dataclasses import field
from typing import Final, Self

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ValueTypeError
from parquet_bloom.vocabulary import LiteralType, check_word

PHYSICAL_WIDTH = {"INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
# Of the logical types of FIXED_LEN_BYTE_ARRAYs.
LOGICAL_WIDTH = {"FLOAT16": 2, "UUID": 16, "INTERVAL": 12}
# Of a TIMESTAMP that an INT64 is too short for. Source: parquet-format #601.
WIDE_TIMESTAMP_BYTES = 12
FLOAT_FORMAT = {2: "<e", 4: "<f", 8: "<d"}

NANOS_PER_DAY = 86_400_000_000_000
UNIX_EPOCH_JULIAN_DAY = 2_440_588

_LONGEST_SHOWN = 200


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
    """The stored type of a leaf column; `length`: the bytes of a FIXED_LEN_BYTE_ARRAY; `is_unknown`: it
    has an annotation that is not known here, or not allowed on this physical type. That is ignored, and
    with it the order of the values; `wide`: what a table has made of it since, of which type values are given, see
    promotion."""

    physical: str
    length: int = 0
    logical: LogicalType | None = None
    is_unknown: bool = False
    wide: LeafType | None = None

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


# What the annotation of these physical types would say that have none.
_IMPLIED: Final = {"INT32": "INTEGER(32,true)", "INT64": "INTEGER(64,true)"}


def said_besides(physical: str, logical: str | None) -> str | None:
    """The logical type of a column, None if it says nothing that the physical type does not: some writers leave such
    an annotation out, and look-ups search both kinds of files as one column.

    Spec: parquet-format, LogicalTypes.md, "Signed Integers".
    """
    return None if logical == _IMPLIED.get(physical) else logical


# What messages say of a value; before it stands the value, behind it the type.
CANNOT_BE: Final = ": cannot be a value of "


def not_a_value(leaf: LeafType, value: object, expected: str) -> ValueTypeError:
    """The error for a value that the column cannot hold."""
    return ValueTypeError(f"{shown(value)}{CANNOT_BE}{leaf}: expected {expected}")


def shown(value: object) -> str:
    """A value as text, cut if too long."""
    if isinstance(value, int) and value.bit_length() > 8 * _LONGEST_SHOWN:
        return f"an integer of {value.bit_length()} bits"
    text = str(value)
    if not text:
        return "an empty text"
    if "\n" in text and not isinstance(value, str):
        # Several values, where one was expected.
        return f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def zeros(width: int) -> tuple[bytes, bytes]:
    """Both zeros as IEEE floats of `width` bytes (2, 4 or 8), which engines treat as equal, although
    they hash only one (parquet-format issue 407)."""
    return struct.pack(FLOAT_FORMAT[width], 0.0), struct.pack(FLOAT_FORMAT[width], -0.0)


def canonical_nan(width: int) -> bytes:
    """The quiet NaN without sign or payload, which Java and most arithmetic produce."""
    quiet = {2: 0x7E00, 4: 0x7FC00000, 8: 0x7FF8000000000000}[width]
    return quiet.to_bytes(width, "little")


@dataclass(frozen=True, slots=True)
class literal:
    """A value as text, spelled as on the command line and read as a value of the column that it is
    asked of: `pb.literal("2024-01-31")`, `pb.literal("0x00ff")`.

    read_as: the type to read it as, instead of the column's: bytes, date, decimal, float, int,
    string, time, timestamp or uuid. Raises TypeError if `text` is not text, ValueError for another
    type.
    """

    text: str
    read_as: LiteralType | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"literal: {self.text!r}, expected text")
        if self.read_as is not None:
            check_word("read_as", self.read_as, LiteralType)


@dataclass(frozen=True, slots=True)
class Exact:
    """A date or time as a number, and as the `text` that messages show."""

    number: int
    text: str

    def __str__(self) -> str:
        return self.text


class Days(Exact):
    """A date as days since 1970."""


class TimeNanos(Exact):
    """A time of day as nanoseconds since midnight."""


@dataclass(frozen=True, slots=True)
class TimestampNanos(Exact):
    """A timestamp as nanoseconds since 1970, in UTC if `zoned`."""

    zoned: bool = False


@dataclass(frozen=True, slots=True)
class LiteralInFile(literal):
    """One that stands in a file of values: in a line, counted from 1, or in a `row` of Parquet, from 0.
    `is_verbatim`: quotes around a text are part of it."""

    file: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)
    row: int | None = field(default=None, compare=False)
    is_verbatim: bool = False

    @property
    def place(self) -> str:
        return place_in(self.file, self.line, self.row)


class TextInFile(str):
    """Text that stands in a `row` of a Parquet `file` of values, and is no literal."""

    __slots__ = ("file", "row")
    file: str
    row: int

    def __new__(cls, text: str, file: str = "", row: int = 0) -> Self:
        made = super().__new__(cls, text)
        made.file, made.row = file, row
        return made

    @property
    def place(self) -> str:
        return place_in(self.file, row=self.row)


def place_in(file: str, line: int = 0, row: int | None = None) -> str:
    return f"{file}: line {line}" if row is None else f"{file}: row {row}"
