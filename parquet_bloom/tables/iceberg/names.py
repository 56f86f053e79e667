"""What the data files of an Iceberg table call its columns; without PyIceberg, so that it can be sent to
where that is missing.

Spec: Iceberg Table Spec, "Column Projection", "Name Mapping Serialization".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from parquet_bloom.container.protocols import Container
from parquet_bloom.dataclass import dataclass
from parquet_bloom.parquet.file import ParquetFile

# The groups between a list or map and its values, which only files have.
_GROUPS: Final = {"list", "key_value"}


@dataclass(frozen=True, slots=True)
class NamesById:
    """`ids`: the field id of each leaf, by its dotted name in the table, as in `tags.element`; `mapped`:
    the field id for each path that the table's name mapping knows, None without one."""

    ids: Mapping[str, int]
    mapped: Mapping[tuple[str, ...], int] | None

    def stored(self, column: str, file: Container) -> str | None:
        """See StoredNames."""
        return self._names_in(file).get(self.ids[column])

    def _names_in(self, file: Container) -> dict[int, str]:
        """The dotted names of the leaves of a file by their field ids."""
        if not isinstance(file, ParquetFile):
            return {}
        leaves = file.footer.leaves
        found = {leaf.field_id: leaf.name for leaf in leaves if leaf.field_id is not None}
        if found or self.mapped is None:
            return found
        ids = {leaf.name: self._mapped(leaf.path) for leaf in leaves}
        return {number: name for name, number in ids.items() if number is not None}

    def _mapped(self, path: tuple[str, ...]) -> int | None:
        """The field id that the name mapping has for a leaf."""
        assert self.mapped is not None
        shorter = tuple(name for name in path if name not in _GROUPS)
        return self.mapped.get(path, self.mapped.get(shorter))
