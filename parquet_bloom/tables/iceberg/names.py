"""What the data files of an Iceberg table call its columns; without PyIceberg, so that it can be sent to
where that is missing.

Spec: Iceberg Table Spec, "Column Projection", "Name Mapping Serialization".
"""

from __future__ import annotations

from collections.abc import Mapping

from parquet_bloom.container.protocols import Overview, SchemaLeaf
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.tables.table import GROUPS, IN_GROUPS


@dataclass(frozen=True, slots=True)
class NamesById:
    """`ids`: the field id of each leaf, by its dotted name in the table, as in `tags.element`; `mapped`:
    the field id for each path that the table's name mapping knows, None without one."""

    ids: Mapping[str, int]
    mapped: Mapping[tuple[str, ...], int] | None

    def called(self, file: Overview) -> dict[int, str]:
        """See StoredNames."""
        names = {number: name for name, number in self.ids.items()}
        places: dict[int, int] = {}
        for place, number in enumerate(self._ids_in(file)):
            if number is not None and number in names:
                if number in places:
                    raise FormatError(
                        f"{file.path}: two columns of field id {number}, expected one"
                    )
                places[number] = place
        return {place: names[number] for number, place in places.items()}

    def may_be(self, leaf: SchemaLeaf, column: str) -> bool:
        """See StoredNames."""
        if any(path[0].casefold() == leaf.path[0].casefold() for path in self._mapped_to(column)):
            return True
        is_in_group = not IN_GROUPS.isdisjoint(column.split(".")[1:])
        has_no_id = leaf.field_id is None and self.mapped is None
        return has_no_id or (is_in_group and not GROUPS.isdisjoint(leaf.standard))

    def stored_as(self, column: str) -> str:
        """See StoredNames."""
        paths = self._mapped_to(column)
        return " or ".join([f"field {self.ids.get(column)}", *sorted(map(".".join, paths))])

    def _mapped_to(self, column: str) -> list[tuple[str, ...]]:
        number = self.ids.get(column)
        return [path for path, mapped in (self.mapped or {}).items() if mapped == number]

    def _ids_in(self, file: Overview) -> list[int | None]:
        """The field id of each leaf of a file. Raises UnsupportedError."""
        leaves = file.leaves
        if not leaves:
            return []
        if any(leaf.field_id is not None for leaf in leaves):
            return [leaf.field_id for leaf in leaves]
        if self.mapped is None:
            raise UnsupportedError(
                f"{file.path}: no field ids, expected them or a name mapping of the table"
                " (schema.name-mapping.default)"
            )
        return [self._mapped(leaf) for leaf in leaves]

    def _mapped(self, leaf: SchemaLeaf) -> int | None:
        """The field id that the name mapping has for a leaf."""
        assert self.mapped is not None
        shorter = tuple(name for name in leaf.standard if name not in GROUPS)
        return self.mapped.get(leaf.path, self.mapped.get(shorter))
