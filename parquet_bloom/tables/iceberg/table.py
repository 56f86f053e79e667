"""An Iceberg table as a Table.

Without a catalog there are only metadata files, of which none but a catalog knows which is the newest
that counts: they say which files are live, well enough to append to these, and take no commit.

Spec: Iceberg Table Spec, "Table Metadata", "Snapshots".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final

from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.manifest import ManifestFile
from pyiceberg.schema import Schema, index_by_id
from pyiceberg.table import StaticTable
from pyiceberg.table import Table as Loaded
from pyiceberg.table.name_mapping import MappedField, NameMapping
from pyiceberg.table.refs import SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import EMPTY_DICT
from pyiceberg.types import (
    DateType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
)
from pyiceberg.utils.datetime import days_to_date

from parquet_bloom.container.in_commands import AsTable
from parquet_bloom.errors import RewriteError, did_you_mean, quoted_name
from parquet_bloom.parallel import read_once
from parquet_bloom.storage import with_options
from parquet_bloom.storage.address import Address, Options
from parquet_bloom.storage.folder import Folder
from parquet_bloom.tables.batches import partition_of
from parquet_bloom.tables.iceberg.commit import NewSizes, committed
from parquet_bloom.tables.iceberg.deletes import Deletes
from parquet_bloom.tables.iceberg.library import asking
from parquet_bloom.tables.iceberg.live_files import (
    ByManifest,
    files_by_manifest,
    names_added,
    partition_fields,
    place,
)
from parquet_bloom.tables.iceberg.names import NamesById
from parquet_bloom.tables.iceberg.refusals import in_manifests, in_the_way
from parquet_bloom.tables.iceberg.stores import options_for, properties_for
from parquet_bloom.tables.properties import ICEBERG, properties_asking_for, wanted_filters
from parquet_bloom.tables.table import (
    Committed,
    LakeTable,
    Moment,
    NewSize,
    TableColumns,
    TableFile,
    Wanted,
    no_version_as_of,
    top,
)
from parquet_bloom.vocabulary import TableKind

if TYPE_CHECKING:
    from parquet_bloom.engines.engine import InTables, Situation
    from parquet_bloom.native.lazy import Array

# Other writers may win so often, after PyIceberg's own attempts.
_ATTEMPTS: Final = 4

_SHOWN: Final = 5

# What else than a branch or tag files may have been added since.
_OR_MOMENT: Final = (
    ", the number of a snapshot, or a time, on the command line also an age, such as 2d"
)

# The types of which all engines have the same values.
_TOLD: Final = (IntegerType, LongType, StringType, DateType)


class IcebergTable(LakeTable):
    """`version` is the id of a snapshot; 0 for a table without any."""

    kind: TableKind = "iceberg"
    situation: Situation = "in an Iceberg table"

    def __init__(
        self,
        load: Callable[[], Loaded],
        location: str,
        moment: Moment,
        options: Mapping[str, str] | None,
        catalog: str | None = None,
        known: ByManifest = EMPTY_DICT,
    ) -> None:
        """`load`: gives the table as it is by now; `options`: of the store of its files; `catalog`: in
        which it is, if in any; `known`: what was read of its manifests before. Raises RewriteError,
        OSError."""
        self.location, self._catalog = location, catalog
        self._load, self._options, self._known = load, options, known
        self._moment = moment
        with asking(location):
            self.loaded = load()
            self._snapshot = self._chosen(moment)

    def _chosen(self, moment: Moment) -> Snapshot | None:
        number = moment.version
        if moment.as_of is not None:
            number = _as_of(self.loaded, self.location, moment.as_of)
        if moment.name is not None:
            number = self._ref(moment.name).snapshot_id
        if number is None:
            return self.loaded.current_snapshot()
        found = self.loaded.snapshot_by_id(number)
        if found is None:
            known = [str(each.snapshot_id) for each in reversed(self.loaded.metadata.snapshots)]
            shown = ", ".join(known[:_SHOWN]) + ", …" * (len(known) > _SHOWN)
            raise RewriteError(
                f"{self.location}: no snapshot {number}, expected {shown or 'none at all'}"
            )
        return found

    def _ref(self, name: str, others: str = ", or the number of a snapshot") -> SnapshotRef:
        """The branch or tag of this name; `others`: what else is expected besides, in words."""
        refs = self.loaded.metadata.refs
        if name not in refs:
            shown = ", ".join([*refs][:_SHOWN]) + ", …" * (len(refs) > _SHOWN)
            raise RewriteError(
                f"{self.location}: no branch or tag {name}, expected {shown or 'none at all'}{others}"
            )
        return refs[name]

    @property
    def is_newest(self) -> bool:
        return self._moment == Moment()

    @read_once
    def _has_newest_schema(self) -> bool:
        """Whether columns have the names that they have now: on a branch, writers go by these, too.

        Source: SnapshotUtil.schemaFor of Iceberg's Java."""
        name = self._moment.name
        is_branch = name is not None and self._ref(name).snapshot_ref_type == SnapshotRefType.BRANCH
        return is_branch or self.is_newest or self._snapshot is None

    @property
    def version(self) -> int:
        return 0 if self._snapshot is None else self._snapshot.snapshot_id

    @property
    def in_commands(self) -> AsTable:
        options: tuple[str, ...] = ("--table", self.kind)
        if self._catalog is not None:
            of_store = Options(self._options or {}).arguments
            options = (*options, "--catalog", self._catalog, *of_store)
        if not self.is_newest:
            version = self._moment.name or str(self.version)
            return AsTable(self.location, self.kind, (*options, "--version", version), None)
        changing = None if self._catalog is None else options
        return AsTable(self.location, self.kind, options, changing)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        fields = partition_fields(self.loaded.metadata)
        names = [each.name for spec in fields.values() for each in spec if each is not None]
        return tuple(dict.fromkeys(names))

    @property
    def told_columns(self) -> Collection[str]:
        return self._told.keys()

    @read_once
    def _told(self) -> Mapping[str, tuple[int, IcebergType]]:
        """By the names of that moment, their field ids and types."""
        schema = self._schema
        fields = partition_fields(self.loaded.metadata).values()
        there = {*schema.field_ids} & {each.column for spec in fields for each in spec if each}
        found = {schema.find_column_name(number): number for number in there}
        return {
            name: (number, kind)
            for name, number in found.items()
            if name and isinstance(kind := schema.find_type(number), _TOLD)
        }

    def told(self, recorded: TableFile) -> Mapping[str, int | str | date | None]:
        same = recorded.same
        return {
            name: days_to_date(value) if isinstance(kind, DateType) and value is not None else value
            for name, (number, kind) in self._told.items()
            if number in same
            for value in (same[number],)
        }

    @property
    def wanted(self) -> Wanted:
        return wanted_filters(self.loaded.metadata.properties, self.columns, ICEBERG)

    @read_once
    def _deletes(self) -> Deletes:
        with asking(self.location):
            return Deletes(self.loaded.io, self._manifests)

    def may_hide_rows(self, file: TableFile) -> bool:
        return self._deletes.may_be_of(file.name)

    def deleted_rows(self, file: TableFile) -> Array:
        with asking(self.location):
            return self._deletes.rows(file.path, file.name)

    @property
    def there(self) -> Collection[InTables]:
        has: Mapping[InTables, bool] = {
            "delete files": self._deletes.in_words() is not None,
            "equality deletes": self._deletes.are_by_values,
            "renamed columns": self._has_renamed_columns,
            "a name mapping": self.loaded.name_mapping() is not None,
        }
        return [each for each, is_there in has.items() if is_there]

    @property
    def _has_renamed_columns(self) -> bool:
        """Whether any column that it has now may have had another name in files."""
        schema = self._schema
        return any(
            schema.find_column_name(number) != other.find_column_name(number)
            for other in self.loaded.metadata.schemas
            for number in {*schema.field_ids} & {*other.field_ids}
        )

    def what_else(self, name: str) -> str:
        now = {
            self._schema.find_column_name(other.find_field(name).field_id)
            for other in self.loaded.metadata.schemas
            if name in other.column_names
        }
        if called := sorted(each for each in now if each is not None):
            return f"called {' and '.join(map(quoted_name, called))} now"
        return (
            f"no column now{did_you_mean(name, self.columns)}" if now else super().what_else(name)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        deletes = self._deletes.in_words()
        if deletes is None:
            return ()
        return (f"{deletes} in the table: filters still find the rows that they delete",)

    def refreshed(self) -> IcebergTable:
        return IcebergTable(
            self._load, self.location, Moment(), self._options, self._catalog, self._live
        )

    def read_columns(self) -> TableColumns:
        return columns_of(self._schema, self.loaded.name_mapping())

    @read_once
    def defaults(self) -> frozenset[str]:
        schema = self._schema
        with_defaults = [
            schema.find_column_name(number)
            for number, field in index_by_id(schema).items()
            if field.initial_default is not None
        ]
        return frozenset(top(name) for name in with_defaults if name is not None)

    def valued_without(self, recorded: TableFile) -> Collection[str]:
        valued = super().valued_without(recorded)
        if self._has_newest_schema or not recorded.partition:
            return valued
        # Partitions have the newest names.
        return {*valued, *self.top_columns}

    @property
    def _schema(self) -> Schema:
        """With the names of that moment, if one was asked for; the newest ones may be newer than the
        newest snapshot."""
        if self._has_newest_schema or self._snapshot is None:
            return self.loaded.schema()
        found = self.loaded.schemas().get(self._snapshot.schema_id or 0)
        return found or self.loaded.schema()

    @read_once
    def _manifests(self) -> list[ManifestFile]:
        with asking(self.location):
            return [] if self._snapshot is None else self._snapshot.manifests(self.loaded.io)

    @read_once
    def _live(self) -> ByManifest:
        with asking(self.location):
            loaded = self.loaded
            return files_by_manifest(loaded.io, loaded.metadata, self._manifests, self._known)

    def files(self, among: Collection[str] | None = None) -> Sequence[TableFile]:
        # One may be live twice.
        found = {
            file.name: file
            for files in self._live.values()
            for file in files
            if among is None or file.name in among
        }
        # With the options by now: credentials may be newer than what was read of a manifest.
        return [replace(found[name], path=self._reached(name)) for name in sorted(found)]

    def added_since(self, since: Moment) -> Collection[str]:
        if since.name is not None:
            meant = self._ref(since.name, _OR_MOMENT)
            since = since._replace(version=meant.snapshot_id)
        with asking(self.location):
            return names_added(self.loaded.io, self._manifests, self._snapshots_since(since))

    def _snapshots_since(self, since: Moment) -> set[int]:
        """The ids of this snapshot and those before it, back to the one that is meant. Raises
        RewriteError."""
        limit = None if since.as_of is None else _milliseconds(since.as_of)
        found: set[int] = set()
        snapshot = self._snapshot
        while snapshot is not None and snapshot.snapshot_id != since.version:
            if limit is not None and snapshot.timestamp_ms <= limit:
                return found
            found.add(snapshot.snapshot_id)
            parent = snapshot.parent_snapshot_id
            if parent is not None and parent == since.version:
                return found
            before = None if parent is None else self.loaded.snapshot_by_id(parent)
            # A tag may keep an older one, which this one need not follow.
            # Some forget the parent once it has expired; but the first snapshot has the first number.
            if before is None and snapshot.sequence_number != 1:
                raise RewriteError(
                    f"{self.location}: the snapshot before {snapshot.snapshot_id} has expired, so nobody"
                    f" knows what was added since {_named(since)}: expected {snapshot.snapshot_id} or later, or none"
                    " for all files"
                )
            snapshot = before
        if snapshot is None and since.version:
            raise RewriteError(
                f"{self.location}: no {_named(since)} before snapshot {self.version}"
            )
        return found

    def in_groups(self, files: Sequence[TableFile]) -> Sequence[Sequence[TableFile]]:
        """By manifest, which is written anew for each commit that changes a file of it; those of a
        partition follow each other."""
        left = {file.name: file for file in files}
        groups = [
            sorted((left.pop(each.name) for each in known if each.name in left), key=partition_of)
            for known in self._live.values()
        ]
        return sorted(filter(None, groups), key=lambda group: partition_of(group[0]))

    def _reached(self, name: str) -> str:
        """The path or URL of a file, with what the store needs to be told. Raises UnsupportedError."""
        given = self._options or {}
        options = options_for(self.location, name, self.loaded.io.properties, given)
        return os.fspath(with_options(place(name), options))

    def refusals(self, sole_writer: bool, commits: bool, unconditional: bool) -> tuple[str, ...]:
        return tuple(self._refusals(commits))

    def _refusals(self, commits: bool) -> Iterator[str]:
        with asking(self.location):
            yield from in_the_way(self.loaded, self._snapshot)
            yield from in_manifests(self.loaded, self._manifests)
        if commits and isinstance(self.loaded, StaticTable):
            yield (
                "only its catalog knows which of its metadata counts: give the catalog, and in place of the"
                " folder the table's identifier in it, as in lake.events; or let build_table and repair_table append"
                " without a commit (commit=False), and a later run with the catalog commit"
            )

    def tell_writers(
        self, rates: Mapping[str, float], max_bytes: int | None, dry_run: bool
    ) -> Mapping[str, str]:
        there = self.loaded.metadata.properties
        asked = properties_asking_for(rates, max_bytes, ICEBERG)
        lacking = {key: value for key, value in asked.items() if there.get(key) != value}
        if lacking and not dry_run:
            self._set_properties(lacking)
        return lacking

    def _set_properties(self, properties: Mapping[str, str]) -> None:
        for _ in range(_ATTEMPTS):
            with asking(self.location), suppress(CommitFailedException):
                with self._load().transaction() as transaction:
                    transaction.set_properties(dict(properties))
                return
        raise RewriteError(
            f"{self.location}: other writers kept committing first: its properties were not set"
        )

    def commit(self, sizes: Mapping[str, NewSize], operation: str) -> Committed:
        for _ in range(_ATTEMPTS):
            with asking(self.location):
                newest = self._load()
                if newest.metadata.table_uuid != self.loaded.metadata.table_uuid:
                    raise RewriteError(f"{self.location}: is another table by now")
                producer = NewSizes(
                    newest.transaction(), sizes, operation, self._reached, self._without(sizes)
                )
                if (done := committed(self.location, producer)) is not None:
                    return done
        raise RewriteError(
            f"{self.location}: other writers kept committing first: nothing was committed; the"
            " files are already appended to, so run it again"
        )

    def _without(self, names: Collection[str]) -> set[str]:
        """The paths of the manifests that have none of these files."""
        return {
            path
            for path, files in self._live.items()
            if not any(file.name in names for file in files)
        }


def in_catalog(
    catalog: str, identifier: str, moment: Moment, options: Mapping[str, str] | None = None
) -> IcebergTable:
    """The table `identifier`, as in `lake.events`, of a catalog of PyIceberg's configuration. Raises
    RewriteError, UnsupportedError, OSError."""
    namespace, _, name = identifier.rpartition(".")
    if not (namespace and name):
        raise RewriteError(
            f"{identifier}: expected the name of a table in a namespace of the catalog {catalog}, such as"
            " lake.events"
        )
    with asking(f"catalog {catalog}"):
        loaded = load_catalog(catalog)

    def load() -> Loaded:
        try:
            return loaded.load_table(identifier)
        except NoSuchTableError:
            raise RewriteError(f"{identifier}: no such table in the catalog {catalog}") from None

    return IcebergTable(load, identifier, moment, options, catalog)


def in_folder(
    folder: Folder,
    newest_metadata: Callable[[Folder], str | None],
    moment: Moment,
    options: Mapping[str, str] | None = None,
) -> IcebergTable:
    """The table of the newest metadata file in a folder. Raises RewriteError, OSError."""
    if isinstance(folder.path, Address):
        options = folder.path.options

    def load() -> Loaded:
        if (name := newest_metadata(folder)) is None:
            raise RewriteError(f"{folder.path}: its metadata is gone")
        path = folder.path_of(name)
        if not isinstance(path, Address):
            return StaticTable.from_metadata(path)
        # PyIceberg does not escape keys.
        url = f"{path.scheme}://{path.host}/{path.key}"
        return StaticTable.from_metadata(url, properties_for(path.options))

    return IcebergTable(load, folder.path, moment, options)


def _as_of(table: Loaded, where: str, as_of: datetime) -> int:
    """The id of the snapshot that was the newest at a time."""
    log = table.metadata.snapshot_log
    for entry in reversed(log):
        if entry.timestamp_ms <= _milliseconds(as_of):
            return entry.snapshot_id
    times = [each.timestamp_ms for each in log]
    raise RewriteError(no_version_as_of(where, _in_zone(as_of), times))


def _in_zone(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _milliseconds(moment: datetime) -> float:
    """Since 1970."""
    return _in_zone(moment).timestamp() * 1000


def _named(since: Moment) -> str:
    if since.as_of is not None:
        return _in_zone(since.as_of).isoformat()
    snapshot = f"snapshot {since.version}"
    return snapshot if since.name is None else f"{since.name} ({snapshot})"


# ------------------------------------------------------------------------------------------------
# The columns. One is a field id. Files keep the name that it had when they were written; files without field
# ids, which were imported, have what the table's name mapping says.
#
# Spec: Iceberg Table Spec, "Column Projection", "Name Mapping Serialization"; "Parquet" in Appendix A.


def columns_of(schema: Schema, mapping: NameMapping | None) -> TableColumns:
    """A file calls a leaf `tags.list.element` which is `tags.element` in the table."""
    found = list(_leaves_of(schema.as_struct(), 0))
    names = NamesById(
        ids={".".join(logical): number for logical, _, number, _ in found},
        mapped=None if mapping is None else dict(_mapped(mapping.root)),
    )
    types = [_called_by_delta(kind) for *_, kind in found]
    kinds = {each.name: _kind(each.field_type) for each in schema.fields}
    pairs = [(logical, physical) for logical, physical, *_ in found]
    return TableColumns.of(pairs, names, types=types, kinds=kinds)


# The table's name and the file's, segment by segment, the field id, and the type.
_Leaf = tuple[tuple[str, ...], tuple[str, ...], int, str]
# Those that Delta Lake calls otherwise.
_TYPES: Final = {"int": "integer", "timestamp": "timestamp_ntz", "timestamptz": "timestamp"}


def _called_by_delta(kind: str) -> str:
    return _TYPES.get(kind, kind.replace(" ", ""))


def _kind(kind: IcebergType) -> str | dict[str, Any]:
    """See TableColumns."""
    match kind:
        case StructType():
            fields = [{"name": each.name, "type": _kind(each.field_type)} for each in kind.fields]
            return {"type": "struct", "fields": fields}
        case ListType():
            return {"type": "array", "elementType": _kind(kind.element_type)}
        case MapType():
            return {
                "type": "map",
                "keyType": _kind(kind.key_type),
                "valueType": _kind(kind.value_type),
            }
        case _:
            return _called_by_delta(str(kind))


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
            yield (), (), number, str(kind)
            return
    for name, groups, inner, inner_number in below:
        for logical, physical, leaf, type_of_leaf in _leaves_of(inner, inner_number):
            yield (name, *logical), (*groups, name, *physical), leaf, type_of_leaf


def _mapped(fields: Sequence[MappedField]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Each path that a name mapping knows, and its field id."""
    for field in fields:
        for name in field.names:
            if field.field_id is not None:
                yield (name,), field.field_id
            for path, number in _mapped(field.fields):
                yield (name, *path), number
