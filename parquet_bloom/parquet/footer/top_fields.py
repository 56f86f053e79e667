"""The top-level fields of a schema, which readers call columns: each has one leaf column, or is a group of several.

Their SchemaElements are kept as they are stored, so that a footer made of some of them says of these all that the
file's own does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, no_column

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.parquet.thrift import ttypes


class TopField(NamedTuple):
    """The field with this `number`: its leaf columns from `first_leaf` on, and its SchemaElements as bytes."""

    number: int
    name: str
    first_leaf: int
    num_leaves: int
    elements: tuple[bytes, ...]

    def leaves(self, footer: Footer) -> tuple[LeafColumn, ...]:
        return footer.leaves[self.first_leaf : self.first_leaf + self.num_leaves]

    def called(self, footer: Footer) -> str:
        """What the table calls it that the file is opened for; else its own name."""
        leaf = footer.leaves[self.first_leaf]
        if leaf.called is None:
            return self.name
        return leaf.called.rsplit(".", len(leaf.path) - 1)[0]


@dataclass(frozen=True, slots=True)
class TopFields:
    """All fields of a schema, and its root element."""

    root: bytes
    fields: tuple[TopField, ...]


# The files of a folder mostly have the same.
_latest: tuple[bytes, TopFields] = (b"", TopFields(b"", ()))


def top_fields(footer: Footer) -> TopFields:
    """Raises FooterError for a damaged schema."""
    global _latest
    stored = footer.stored_elements()
    schema = b"".join(stored)
    if _latest[0] != schema:
        # The leaves prove that the elements are a tree.
        assert footer.leaves is not None
        _latest = schema, TopFields(stored[0], tuple(_fields(footer.elements(), stored)))
    return _latest[1]


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


def find_field(footer: Footer, name: str) -> TopField:
    """The field with this name. Raises ColumnError, which suggests similar names."""
    found = [field for field in _with_leaves(footer) if field.called(footer) == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise ColumnError(f"column {name}: {len(found)} columns have this name, expected one")
    raise ColumnError(no_column(name, top_names(footer)))


def top_names(footer: Footer) -> tuple[str, ...]:
    """The names of all fields, as the table calls them that the file is opened for."""
    return tuple(field.called(footer) for field in _with_leaves(footer))


def _with_leaves(footer: Footer) -> list[TopField]:
    """Without groups that have nothing in them."""
    return [field for field in top_fields(footer).fields if field.num_leaves]
