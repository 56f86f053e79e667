"""The columns of a Delta table, and what its data files call them.

Without column mapping, files have the table's own names; with the mode `name`, physical names; with the
mode `id`, whatever names, and the ids of columns, which count. Lists and maps, which have no ids of
their own, have the names that the format gives them: `list.element`, `key_value.key`, `key_value.value`,
whatever the files have there.

Spec: PROTOCOL.md, "Schema Serialization Format", "Column Mapping".
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from parquet_bloom.container.protocols import Overview, SchemaLeaf
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.tables.delta.action import Action
from parquet_bloom.tables.delta.log import Snapshot
from parquet_bloom.tables.table import StoredNames, TableColumns, top

_PHYSICAL: Final = "delta.columnMapping.physicalName"
_ID: Final = "delta.columnMapping.id"
# Later versions of Delta Lake leave it out.
_EXISTING: Final = "EXISTS_DEFAULT"


class Leaf(NamedTuple):
    """A leaf of the table's schema, segment by segment: the table's names, those of files, and the ids,
    with names where there are none; and its type."""

    logical: tuple[str, ...] = ()
    physical: tuple[str, ...] = ()
    ids: tuple[int | str, ...] = ()
    kind: str = ""

    @property
    def name(self) -> str:
        return ".".join(self.logical)

    def below(self, logical: str, physical: str, number: int | str) -> Leaf:
        """The same in this field."""
        return Leaf(
            (logical, *self.logical), (physical, *self.physical), (number, *self.ids), self.kind
        )


@dataclass(frozen=True, slots=True)
class OwnNames:
    """Columns that files call as the table does, but for what their writers have called otherwise inside of lists and
    maps."""

    def called(self, file: Overview) -> dict[int, str]:
        """See StoredNames."""
        stored = dict(enumerate(file.columns))
        called = stored | {
            leaf.index: ".".join(leaf.standard)
            for leaf in file.leaves
            if leaf.standard != leaf.path
        }
        counts = Counter(called.values())
        return {
            place: name if counts[name] == 1 else stored[place] for place, name in called.items()
        }

    def may_be(self, leaf: SchemaLeaf, column: str) -> bool:
        """See StoredNames."""
        return _spelled_alike(leaf.path[0], top(column))

    def stored_as(self, column: str) -> str:
        """See StoredNames."""
        return ""


@dataclass(frozen=True, slots=True)
class ByName:
    """Columns that are found by their paths in a file, which has more inside of a VARIANT.
    `names`: what the table calls them."""

    names: Mapping[tuple[str, ...], str]

    def called(self, file: Overview) -> dict[int, str]:
        """See StoredNames."""
        return {
            leaf.index: ".".join((self.names[path[:end]], *path[end:]))
            for leaf in file.leaves
            for path in (leaf.standard,)
            for end in range(1, len(path) + 1)
            if path[:end] in self.names
        }

    def may_be(self, leaf: SchemaLeaf, column: str) -> bool:
        """See StoredNames."""
        return any(
            name == column and _spelled_alike(leaf.path[0], path[0])
            for path, name in self.names.items()
        )

    def stored_as(self, column: str) -> str:
        """See StoredNames."""
        paths = [".".join(path) for path, name in self.names.items() if name == column]
        return "" if paths == [column] else f"column {' or '.join(paths)}"


@dataclass(frozen=True, slots=True)
class ById:
    """Columns that are found by their ids. `leaves`: those of each top-level column, by its id."""

    leaves: Mapping[int | str, tuple[Leaf, ...]]

    def called(self, file: Overview) -> dict[int, str]:
        """See StoredNames."""
        stored = file.leaves
        if stored and all(number is None for leaf in stored for number in leaf.field_ids):
            raise UnsupportedError(
                f"{file.path}: no field ids, expected them in a table whose delta.columnMapping.mode is id"
            )
        found: dict[int, str] = {}
        seen: set[tuple[Leaf, tuple[str, ...]]] = set()
        for leaf in stored:
            wanted = self._wanted(leaf)
            if wanted is None:
                continue
            # A file has more inside of a VARIANT.
            inside = leaf.path[len(wanted.ids) :]
            if (wanted, inside) in seen:
                raise FormatError(
                    f"{file.path}: two columns of the ids of {wanted.name}, expected one"
                )
            seen.add((wanted, inside))
            found[leaf.index] = ".".join((wanted.name, *inside))
        return found

    def may_be(self, leaf: SchemaLeaf, column: str) -> bool:
        """See StoredNames."""
        return any(
            wanted.ids[0] == leaf.field_ids[0]
            or (leaf.field_ids[0] is None and _spelled_alike(leaf.path[0], wanted.physical[0]))
            for wanted in self._leaves_called(column)
        )

    def stored_as(self, column: str) -> str:
        """See StoredNames."""
        leaves = self._leaves_called(column)
        return " or ".join([f"field {'.'.join(map(str, leaf.ids))}" for leaf in leaves]) or "none"

    def _leaves_called(self, column: str) -> list[Leaf]:
        return [leaf for each in self.leaves.values() for leaf in each if leaf.name == column]

    def _wanted(self, stored: SchemaLeaf) -> Leaf | None:
        """The leaf of the table that is stored there. A list's element may have an id, too."""
        segments = [*zip(stored.field_ids, stored.standard, strict=True)]
        for leaf in self.leaves.get(stored.field_ids[0] or 0, ()):
            if len(leaf.ids) <= len(segments) and all(
                wanted in segment for wanted, segment in zip(leaf.ids, segments, strict=False)
            ):
                return leaf
        return None


def _spelled_alike(stored: str, called: str) -> bool:
    """Spark tells capital letters from others only if it is told to."""
    return stored.casefold() == called.casefold()


def columns_of(snapshot: Snapshot, where: str) -> TableColumns:
    """Those of the table's schema. Raises FormatError."""
    mode = snapshot.configuration.get("delta.columnMapping.mode", "none")
    try:
        fields, named = _fields(snapshot)
        partitions = {
            _name_in_file(each, mode): _name(each) for each in fields if each["name"] in named
        }
        leaves = [
            leaf for each in fields if each["name"] not in named for leaf in _leaves(each, mode)
        ]
        kinds = {_name(each): each["type"] for each in fields if each["name"] not in named}
    except _NO_SCHEMA:
        raise _no_schema(where) from None
    pairs = [(leaf.logical, leaf.physical) for leaf in leaves]
    types = [leaf.kind for leaf in leaves]
    return TableColumns.of(pairs, _names(leaves, mode), partitions, mode == "none", types, kinds)


def types_of_partitions(snapshot: Snapshot, where: str) -> dict[str, str]:
    """Those of the columns by which it is partitioned, by the table's names. Raises FormatError."""
    try:
        fields, named = _fields(snapshot)
        return {_name(each): str(each["type"]) for each in fields if each["name"] in named}
    except _NO_SCHEMA:
        raise _no_schema(where) from None


def columns_with_defaults(snapshot: Snapshot, where: str) -> frozenset[str]:
    """The top-level columns for which Spark reads a default where files lack them, although the protocol has none: it
    kept one for rows that are there when it made the table. Raises FormatError."""
    try:
        fields, _ = _fields(snapshot)
        return frozenset(
            _name(each) for each in fields if _EXISTING in (each.get("metadata") or {})
        )
    except _NO_SCHEMA:
        raise _no_schema(where) from None


_NO_SCHEMA: Final = (KeyError, TypeError, ValueError, AttributeError, RecursionError)


def _no_schema(where: str) -> FormatError:
    return FormatError(f"{where}: its schema does not follow the protocol")


def _fields(snapshot: Snapshot) -> tuple[list[Action], set[str]]:
    """The top-level fields, and the names of those by which the table is partitioned."""
    fields = json.loads(snapshot.metadata["schemaString"])["fields"]
    return fields, set(snapshot.metadata.get("partitionColumns") or ())


def _names(leaves: list[Leaf], mode: str) -> StoredNames:
    if mode == "none":
        return OwnNames()
    if mode != "id":
        return ByName({leaf.physical: leaf.name for leaf in leaves})
    found: dict[int | str, tuple[Leaf, ...]] = {}
    for leaf in leaves:
        found[leaf.ids[0]] = (*found.get(leaf.ids[0], ()), leaf)
    return ById(found)


def _name_in_file(field: Action, mode: str) -> str:
    name = None if mode == "none" else (field.get("metadata") or {}).get(_PHYSICAL)
    return str(name or field["name"])


def _name(field: Action) -> str:
    """Raises TypeError."""
    if not isinstance(field["name"], str):
        raise TypeError(field["name"])
    return field["name"]


def _id_in_file(field: Action, mode: str) -> int:
    """Zero, which is no column's, where ids do not count."""
    return int(field["metadata"][_ID]) if mode == "id" else 0


def _leaves(field: Action, mode: str) -> Iterator[Leaf]:
    number = _id_in_file(field, mode)
    for leaf in _leaves_of(field["type"], mode):
        yield leaf.below(_name(field), _name_in_file(field, mode), number)


def _leaves_of(kind: str | Action, mode: str) -> Iterator[Leaf]:
    if isinstance(kind, str):
        yield Leaf(kind=kind)
        return
    if kind["type"] == "struct":
        for field in kind["fields"]:
            yield from _leaves(field, mode)
        return
    inner = {
        "array": [(("list", "element"), "elementType")],
        "map": [(("key_value", "key"), "keyType"), (("key_value", "value"), "valueType")],
    }[kind["type"]]
    for (group, name), key in inner:
        for leaf in _leaves_of(kind[key], mode):
            yield leaf.below(name, name, name).below(group, group, group)
