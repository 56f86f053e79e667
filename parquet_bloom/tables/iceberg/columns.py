"""The columns of an Iceberg table, and what each of its data files calls them.

A column is a field id. Files keep the name that it had when they were written; files without field ids,
which were imported, have what the table's name mapping says.

Spec: Iceberg Table Spec, "Column Projection", "Name Mapping Serialization"; "Parquet" in Appendix A.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import MappedField, NameMapping
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from parquet_bloom.errors import ColumnError, no_column
from parquet_bloom.tables.iceberg.names import NamesById


@dataclass(frozen=True, slots=True)
class Columns:
    """`leaves`: what a file calls each leaf that is written now, as in `tags.list.element`, by its dotted
    name in the table, as in `tags.element`; `doubled`: names of several leaves."""

    leaves: dict[str, str]
    names: NamesById
    doubled: frozenset[str]

    def physical(self, where: str, name: str) -> str:
        """What new files call it. Raises ColumnError."""
        if name in self.doubled:
            raise ColumnError(
                f"{where}: column {name}: several columns have this name, expected one"
            )
        if name not in self.leaves:
            raise ColumnError(f"{where}: {no_column(name, sorted(self.leaves), 'table')}")
        return self.leaves[name]


def columns_of(schema: Schema, mapping: NameMapping | None) -> Columns:
    """Those of the table."""
    found = list(_leaves_of(schema.as_struct(), 0))
    counts = Counter(".".join(logical) for logical, _, _ in found)
    return Columns(
        leaves={".".join(logical): ".".join(physical) for logical, physical, _ in found},
        names=NamesById(
            ids={".".join(logical): number for logical, _, number in found},
            mapped=None if mapping is None else dict(_mapped(mapping.root)),
        ),
        doubled=frozenset(name for name, count in counts.items() if count > 1),
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


def _mapped(fields: Sequence[MappedField]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Each path that a name mapping knows, and its field id."""
    for field in fields:
        for name in field.names:
            if field.field_id is not None:
                yield (name,), field.field_id
            for path, number in _mapped(field.fields):
                yield (name, *path), number
