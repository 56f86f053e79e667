"""The top-level fields of a schema, which readers call columns: each has one leaf column, or is a group of several.

Their SchemaElements are kept as they are stored, so that a footer made of some of them says of these all that the
file's own does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, no_column
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.parquet.thrift import ttypes


class TopField(NamedTuple):
    """The field with this `number`: its leaf columns from `first_leaf` on, and its SchemaElements as bytes."""

    number: int
    name: str
    first_leaf: int
    num_leaves: int
    elements: tuple[bytes, ...]

    def leaves_in(self, leaves: Sequence[LeafColumn]) -> Sequence[LeafColumn]:
        """Those of the field, of all."""
        return leaves[self.first_leaf : self.first_leaf + self.num_leaves]

    def called(self, leaves: Sequence[LeafColumn]) -> str:
        """What the table calls it that the file is opened for; else its own name."""
        leaf = leaves[self.first_leaf]
        if leaf.called is None:
            return self.name
        return leaf.called.rsplit(".", len(leaf.path) - 1)[0]


@dataclass(frozen=True, slots=True)
class TopFields:
    """All fields of a schema, and its root element."""

    root: bytes
    fields: tuple[TopField, ...]

    def names(self, leaves: Sequence[LeafColumn]) -> tuple[str, ...]:
        """As the table calls them that the file is opened for; without groups that have nothing in them."""
        return tuple(field.called(leaves) for field in self.fields if field.num_leaves)

    def find(self, leaves: Sequence[LeafColumn], names: Iterable[str]) -> list[TopField]:
        """The fields with these names. Raises ColumnError, which suggests similar names."""
        called: dict[str, list[TopField]] = {}
        for field in self.fields:
            if field.num_leaves:
                called.setdefault(field.called(leaves), []).append(field)
        found = []
        for name in names:
            if name not in called:
                raise ColumnError(no_column(name, tuple(called)))
            first, *others = called[name]
            if others:
                count = 1 + len(others)
                raise ColumnError(f"column {name}: {count} columns have this name, expected one")
            found.append(first)
        return found


# The files of a folder mostly have the same. A longer one would take memory that the next file may want.
_KEPT_BYTES: Final = 64 << 10
_latest: list[tuple[bytes, TopFields]] = [(b"", TopFields(b"", ()))]


def top_fields_of(
    stored: Sequence[bytes], decode: Callable[[], Sequence[ttypes.SchemaElement]]
) -> TopFields:
    """Of SchemaElements as they are stored, which are a tree; `decode`: gives them."""
    schema = b"".join(stored)
    latest, found = _latest[0]
    if latest != schema:
        found = TopFields(stored[0], tuple(_fields(decode(), stored)))
        if len(schema) <= _KEPT_BYTES:
            _latest[0] = schema, found
    return found


def _fields(elements: Sequence[ttypes.SchemaElement], stored: Sequence[bytes]) -> list[TopField]:
    found: list[TopField] = []
    at, leaf = 1, 0
    while at < len(elements):
        end = _end_of(elements, at)
        leaves = sum(each.type is not None for each in elements[at:end])
        name = elements[at].name or ""
        found.append(TopField(len(found), name, leaf, leaves, tuple(stored[at:end])))
        at, leaf = end, leaf + leaves
    return found


def _end_of(elements: Sequence[ttypes.SchemaElement], at: int) -> int:
    """The position after an element and all below it."""
    left = 1
    while left:
        element = elements[at]
        left += -1 if element.type is not None else (element.num_children or 0) - 1
        at += 1
    return at
