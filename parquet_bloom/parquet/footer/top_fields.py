"""The top-level fields of a schema, which readers call columns: each has one leaf column, or is a group of several.

Their SchemaElements are kept as they are stored, so that a footer made of some of them says of these all that the
file's own does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, no_column
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.schema import NOT_IN_TABLE, LeafColumn
from parquet_bloom.parquet.thrift import ttypes

# In a SchemaElement.
_NAME: Final = 4
# Between a list or map and what is in it.
_GROUPS: Final = ("list", "key_value")


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
        for leaf in self.leaves_in(leaves):
            if leaf.called is None:
                return self.name
            if not leaf.called.endswith(NOT_IN_TABLE):
                return leaf.called.rsplit(".", len(leaf.path) - 1)[0]
        return self.name + NOT_IN_TABLE

    def as_called(self, leaves: Sequence[LeafColumn]) -> TopField:
        """With the names that the table has for it and for what is inside."""
        of_field = self.leaves_in(leaves)
        if all(leaf.called is None for leaf in of_field):
            return self
        names: dict[int, str] = {}
        decoded = [compact.decode(ttypes.SchemaElement, each)[0] for each in self.elements]
        for leaf, places in zip(of_field, _paths(decoded), strict=True):
            names |= dict(zip(places, _called_inside(leaf), strict=False))
        names[0] = self.called(leaves)
        elements = [
            compact.splice(each, 0, {_NAME: compact.binary(names[at].encode())})
            for at, each in enumerate(self.elements)
        ]
        return self._replace(elements=tuple(elements))


def _called_inside(leaf: LeafColumn) -> Sequence[str]:
    """The names on the path to a leaf: the table's have no groups between a list or map and what is in it."""
    called = leaf.path if leaf.called is None else leaf.called.split(".")
    if len(called) == len(leaf.path):
        return called
    rest = iter(called)
    return [name if name in _GROUPS else next(rest, name) for name in leaf.standard]


def _paths(elements: Sequence[ttypes.SchemaElement]) -> Iterator[list[int]]:
    """The numbers of the elements on the path to each leaf."""
    # With how many children each has left.
    path: list[list[int]] = []
    for at, element in enumerate(elements):
        if path:
            path[-1][1] -= 1
        path.append([at, element.num_children or 0])
        if element.type is not None:
            yield [each for each, _ in path]
        while path and path[-1][1] == 0:
            path.pop()


@dataclass(frozen=True, slots=True)
class TopFields:
    """All fields of a schema, and its root element."""

    root: bytes
    fields: tuple[TopField, ...]

    def names(self, leaves: Sequence[LeafColumn]) -> tuple[str, ...]:
        """As the table calls them that the file is opened for; without groups that have nothing in them."""
        return tuple(field.called(leaves) for field in self.fields if field.num_leaves)

    def as_called(self, leaves: Sequence[LeafColumn]) -> list[bytes]:
        """All SchemaElements, with the names that the table has."""
        fields = [field.as_called(leaves) for field in self.fields]
        return [self.root, *(element for field in fields for element in field.elements)]

    def find(self, leaves: Sequence[LeafColumn], names: Iterable[str]) -> list[TopField]:
        """The fields with these names, as the table calls them. Raises ColumnError, which suggests similar names."""
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
                problem = f"{count} columns have this name, expected one"
                way_out = "name the columns that are wanted, without it"
                raise ColumnError(f"column {name}: {problem}; {way_out}")
            found.append(first.as_called(leaves))
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
