"""The columns of a Delta table, and what its data files call them.

With column mapping, files have physical names; without, the table's own. Lists and maps have the names
that Spark and delta-rs give them: `list.element`, `key_value.key`, `key_value.value`.

Spec: PROTOCOL.md, "Schema Serialization Format", "Column Mapping".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from parquet_bloom.container.protocols import Container
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, FormatError, no_column
from parquet_bloom.tables.delta.log import Snapshot

_PHYSICAL: Final = "delta.columnMapping.physicalName"


@dataclass(frozen=True, slots=True)
class Columns:
    """`leaves`: the file's dotted name for the table's, of all leaves but those of partition columns;
    `partitions`: the table's name for the physical one, of partition columns. `is_mapped`: whether
    names differ."""

    leaves: dict[str, str]
    partitions: dict[str, str]
    is_mapped: bool

    def physical(self, where: str, name: str) -> str:
        """The file's dotted name. Raises ColumnError."""
        if name in self.partitions.values():
            raise ColumnError(
                f"{where}: column {name}: is a partition column, whose values are not in the files"
            )
        if name in self.leaves:
            return self.leaves[name]
        # Lists of other writers have other names inside.
        if not self.is_mapped and any(name.startswith(f"{top}.") for top in self._tops()):
            return name
        raise ColumnError(f"{where}: {no_column(name, sorted(self.leaves), 'table')}")

    def called(self, file: Container) -> dict[int, str]:
        """See StoredNames."""
        if not self.is_mapped:
            return dict(enumerate(file.columns))
        names = {physical: logical for logical, physical in self.leaves.items()}
        stored = enumerate(file.columns)
        return {place: names[name] for place, name in stored if name in names}

    def _tops(self) -> set[str]:
        return {name.partition(".")[0] for name in self.leaves}


def columns_of(snapshot: Snapshot, where: str) -> Columns:
    """Those of the table's schema. Raises FormatError."""
    is_mapped = snapshot.configuration.get("delta.columnMapping.mode", "none") != "none"
    try:
        fields = json.loads(snapshot.metadata["schemaString"])["fields"]
        named = set(snapshot.metadata.get("partitionColumns") or ())
        partitions = {
            _name_in_file(each, is_mapped): each["name"] for each in fields if each["name"] in named
        }
        leaves = {
            ".".join(logical): ".".join(physical)
            for each in fields
            if each["name"] not in named
            for logical, physical in _leaves(each, is_mapped)
        }
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise FormatError(f"{where}: its schema is not as the protocol has it") from None
    return Columns(leaves, partitions, is_mapped)


def _name_in_file(field: dict[str, Any], is_mapped: bool) -> str:
    name = (field.get("metadata") or {}).get(_PHYSICAL) if is_mapped else None
    return str(name or field["name"])


# The table's name and the file's, segment by segment.
_Pair = tuple[tuple[str, ...], tuple[str, ...]]


def _leaves(field: dict[str, Any], is_mapped: bool) -> Iterator[_Pair]:
    logical, physical = (field["name"],), (_name_in_file(field, is_mapped),)
    for below, stored in _leaves_of(field["type"], is_mapped):
        yield logical + below, physical + stored


def _leaves_of(kind: Any, is_mapped: bool) -> Iterator[_Pair]:
    if isinstance(kind, str):
        yield (), ()
        return
    if kind["type"] == "struct":
        for field in kind["fields"]:
            yield from _leaves(field, is_mapped)
        return
    inner = {
        "array": [(("list", "element"), "elementType")],
        "map": [(("key_value", "key"), "keyType"), (("key_value", "value"), "valueType")],
    }[kind["type"]]
    for names, key in inner:
        for below, stored in _leaves_of(kind[key], is_mapped):
            yield names + below, names + stored
