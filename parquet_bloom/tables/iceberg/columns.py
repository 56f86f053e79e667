"""The columns of an Iceberg table, and what each of its data files calls them.

A column is a field id. Files keep the name that it had when they were written; files without field ids,
which were imported, have what the table's name mapping says.

Spec: Iceberg Table Spec, "Column Projection", "Name Mapping Serialization"; "Parquet" in Appendix A.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import MappedField, NameMapping
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from parquet_bloom.container.protocols import Container
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, no_column
from parquet_bloom.parquet.file import ParquetFile

# The groups between a list or map and its values, which only files have.
_GROUPS: Final = {"list", "key_value"}


@dataclass(frozen=True, slots=True)
class Columns:
    """`ids`: the field id of each leaf, by its dotted name in the table, as in `tags.element`;
    `leaves`: what a file calls it that is written now, as in `tags.list.element`."""

    ids: dict[str, int]
    leaves: dict[str, str]
    mapping: NameMapping | None

    def physical(self, where: str, name: str) -> str:
        """What new files call it. Raises ColumnError."""
        if name not in self.leaves:
            raise ColumnError(f"{where}: {no_column(name, sorted(self.leaves), 'table')}")
        return self.leaves[name]

    def stored(self, name: str, file: Container) -> str | None:
        """What an open file calls it; None if it has no such column."""
        return _names_by_id(file, self.mapping).get(self.ids[name])


def columns_of(schema: Schema, mapping: NameMapping | None) -> Columns:
    """Those of the table."""
    found = list(_leaves_of(schema.as_struct(), 0))
    return Columns(
        ids={".".join(logical): number for logical, _, number in found},
        leaves={".".join(logical): ".".join(physical) for logical, physical, _ in found},
        mapping=mapping,
    )


# The table's name and the file's, segment by segment, and the field id.
_Leaf = tuple[tuple[str, ...], tuple[str, ...], int]


def _leaves_of(kind: IcebergType, number: int) -> Iterator[_Leaf]:
    """The leaves below a field with this id."""
    below: list[tuple[str, tuple[str, ...], IcebergType, int]]
    match kind:
        case StructType():
            below = [(each.name, (), each.field_type, each.field_id) for each in kind.fields]
        case ListType():
            below = [("element", ("list",), kind.element_type, kind.element_id)]
        case MapType():
            below = [
                ("key", ("key_value",), kind.key_type, kind.key_id),
                ("value", ("key_value",), kind.value_type, kind.value_id),
            ]
        case _:
            yield (), (), number
            return
    for name, groups, inner, inner_number in below:
        for logical, physical, leaf in _leaves_of(inner, inner_number):
            yield (name, *logical), (*groups, name, *physical), leaf


def _names_by_id(file: Container, mapping: NameMapping | None) -> dict[int, str]:
    """The dotted names of the leaves of a file by their field ids."""
    if not isinstance(file, ParquetFile):
        return {}
    leaves = file.footer.leaves
    found = {leaf.field_id: leaf.name for leaf in leaves if leaf.field_id is not None}
    if found or mapping is None:
        return found
    ids = {leaf.name: _mapped(mapping, leaf.path) for leaf in leaves}
    return {number: name for name, number in ids.items() if number is not None}


def _mapped(mapping: NameMapping, path: tuple[str, ...]) -> int | None:
    """The field id that a name mapping has for a leaf."""
    shorter = tuple(name for name in path if name not in _GROUPS)
    exactly = _field_of(mapping.root, path)
    return _field_of(mapping.root, shorter) if exactly is None else exactly


def _field_of(fields: Sequence[MappedField], path: Sequence[str]) -> int | None:
    for field in fields:
        if path and path[0] in field.names:
            return field.field_id if len(path) == 1 else _field_of(field.fields, path[1:])
    return None
