"""A Delta table as a Table.

Only `size` and `dataChange` of an `add` change in a commit; everything else, known here or not, is
written as it was read. To commit a file again by its path and deletion vector is legal, and with
`dataChange` false its rows count as they were.

Spec: PROTOCOL.md, "Add File and Remove File", "Row Tracking", "In-Commit Timestamps".
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Never

from parquet_bloom.container.in_commands import AsTable
from parquet_bloom.errors import RewriteError, UnsupportedError
from parquet_bloom.parallel import read_once
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.folder import Folder
from parquet_bloom.storage.source import is_object
from parquet_bloom.storage.store_environment import find_endpoint
from parquet_bloom.storage.traffic import Requests
from parquet_bloom.tables.batches import by_partition
from parquet_bloom.tables.delta.action import ENGINE, Action, decoded
from parquet_bloom.tables.delta.columns import (
    columns_of,
    columns_with_defaults,
    types_of_partitions,
)
from parquet_bloom.tables.delta.features import (
    is_outside,
    refused_by_some,
    unreadable,
    unwritable,
)
from parquet_bloom.tables.delta.log import LOG, Log, Snapshot, commit_name, read_snapshot
from parquet_bloom.tables.delta.vectors import deleted_rows
from parquet_bloom.tables.ends import why_not
from parquet_bloom.tables.properties import PARQUET_JAVA, wanted_filters
from parquet_bloom.tables.table import (
    GONE,
    OTHERS,
    Committed,
    LakeTable,
    Moment,
    NewSize,
    TableColumns,
    TableFile,
    Wanted,
    no_version_as_of,
)
from parquet_bloom.vocabulary import TableKind

if TYPE_CHECKING:
    from parquet_bloom.engines.engine import InTables, Situation
    from parquet_bloom.native.lazy import Array

# Other writers may win so often.
_ATTEMPTS: Final = 16

# What nobody but the user knows, and what the store is only asked when a file is replaced.
_OVERWRITTEN: Final = (
    "on S3, Spark's default log store can overwrite concurrent commits:"
    " if nobody else writes, use sole_writer=True"
)
_MAY_IGNORE: Final = ", and unconditional=True, too, if the store ignores If-Match"


class DeltaTable(LakeTable):
    kind: TableKind = "delta"
    situation: Situation = "in a Delta table"

    def __init__(
        self, folder: Folder, version: int | None = None, known: Snapshot | None = None
    ) -> None:
        """`known`: an older snapshot of it. Raises UnsupportedError for a table that cannot be read here,
        FormatError, RewriteError for a log with gaps, OSError."""
        self._folder, self.location = folder, folder.path
        self._is_newest = version is None
        self._snapshot = read_snapshot(folder, version, known)
        if reasons := list(unreadable(self._snapshot)):
            raise UnsupportedError(f"{self.location}: {'; '.join(reasons)}")

    @property
    def version(self) -> int:
        return self._snapshot.version

    @property
    def is_newest(self) -> bool:
        return self._is_newest

    @property
    def in_commands(self) -> AsTable:
        options = ("--table", self.kind)
        if self.is_newest:
            return AsTable(self.location, self.kind, options, options)
        older = (*options, "--version", str(self.version))
        return AsTable(self.location, self.kind, older, None)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return tuple(self._columns.partitions.values())

    def read_partition_types(self) -> Mapping[str, str]:
        return types_of_partitions(self._snapshot, self.location)

    @read_once
    def defaults(self) -> frozenset[str]:
        return columns_with_defaults(self._snapshot, self.location)

    @property
    def wanted(self) -> Wanted:
        return wanted_filters(self._snapshot.configuration, self.columns, PARQUET_JAVA)

    def read_columns(self) -> TableColumns:
        return columns_of(self._snapshot, self.location)

    def refreshed(self) -> DeltaTable:
        return DeltaTable(self._folder, known=self._snapshot)

    @property
    def requests(self) -> Requests | None:
        return self._folder.requests

    def files(self, among: Collection[str] | None = None) -> Sequence[TableFile]:
        partitions = self._columns.partitions
        found = [
            self._file(add, partitions)
            for (name, _), add in self._snapshot.adds.items()
            if among is None or name in among
        ]
        return sorted(found, key=lambda file: file.name)

    def added_since(self, since: Moment) -> Collection[str]:
        if since.name is not None:
            raise RewriteError(
                f"{self.location}: since {since.name!r}: expected the number of a version, or a time, on the command"
                " line also an age, such as 2d: in Delta Lake, versions have no names"
            )
        after = since.version
        if since.as_of is not None:
            after = _version_at(self._folder, since.as_of, first=-1)
        assert after is not None
        return Log(self._folder).added(after, self.version)

    @read_once
    def _vectors(self) -> Mapping[str, Action]:
        """The deletion vectors of files, by their names."""
        return {
            name: vector
            for (name, _), add in self._snapshot.adds.items()
            if (vector := add.get("deletionVector"))
        }

    @property
    def there(self) -> Collection[InTables]:
        vectors: tuple[InTables, ...] = ("deletion vectors",)
        return [*(vectors if self._vectors else ()), *refused_by_some(self._snapshot)]

    def deleted_rows(self, file: TableFile) -> Array:
        vector = self._vectors.get(file.name)
        if vector is None:
            return super().deleted_rows(file)
        return deleted_rows(self._folder, file.path, vector)

    def in_groups(self, files: Sequence[TableFile]) -> Sequence[Sequence[TableFile]]:
        """By partition: that is where other writers look for conflicts."""
        return by_partition(files)

    def _file(self, add: Action, partitions: Mapping[str, str]) -> TableFile:
        name = decoded(add["path"])
        if is_outside(name):
            raise RewriteError(
                f"{self.location}: its file {name} is outside of its folder, as in a shallow clone:"
                " expected files of its own"
            )
        values = add.get("partitionValues") or {}
        return TableFile(
            name=name,
            path=self._folder.path_of(name),
            size=add["size"],
            # Null may be the empty text, too.
            partition={
                logical: values.get(physical) or None for physical, logical in partitions.items()
            },
            num_deleted=(add.get("deletionVector") or {}).get("cardinality", 0),
        )

    def refusals(self, sole_writer: bool, commits: bool, unconditional: bool) -> tuple[str, ...]:
        found = [*unwritable(self._snapshot)]
        path = self._folder.path
        if commits and not sole_writer and path.startswith("s3") and is_object(path):
            may_ignore = not unconditional and _has_endpoint(path)
            found.append(_OVERWRITTEN + _MAY_IGNORE * may_ignore)
        return tuple(found)

    def tell_writers(
        self, rates: Mapping[str, float], max_bytes: int | None, dry_run: bool
    ) -> Never:
        raise UnsupportedError(
            f"{self.location}: Delta Lake defines no property that asks for Bloom filters: set"
            f" {PARQUET_JAVA.enabled}NAME=true in each job that writes, or build with `--since` after it"
        )

    def commit(self, sizes: Mapping[str, NewSize], operation: str) -> Committed:
        snapshot = self._snapshot
        for _ in range(_ATTEMPTS):
            # What is live may have changed since this table was read.
            snapshot = read_snapshot(self._folder, known=snapshot)
            if reasons := [*unreadable(snapshot), *unwritable(snapshot)]:
                raise RewriteError(
                    f"{self.location}: changed in the meantime: {'; '.join(reasons)}"
                )
            adds, left, there = _recorded_anew(self._folder, snapshot, sizes)
            if not adds:
                return Committed(None, left, there)
            version = snapshot.version + 1
            data = _commit_of(snapshot, adds, operation)
            if self._folder.put_if_absent(commit_name(version), data):
                return Committed(version, left, there)
        raise RewriteError(
            f"{self.location}: other writers committed first {_ATTEMPTS} times: nothing was"
            " committed; the files are already appended to, so run it again"
        )


def is_at(folder: Folder) -> bool:
    """See TableModule."""
    return folder.has_folder(LOG)


def open_at(folder: Folder, moment: Moment, options: Mapping[str, str] | None) -> DeltaTable:
    """See TableModule: the folder has the options."""
    if moment.name is not None:
        raise RewriteError(
            f"{folder.path}: version {moment.name!r}: expected a number, 0 or more: in Delta Lake, versions have"
            " no names"
        )
    version = moment.version if moment.as_of is None else _version_at(folder, moment.as_of)
    return DeltaTable(folder, version)


def _version_at(folder: Folder, as_of: datetime, first: int | None = None) -> int:
    """The newest version that was there at a time. `first`: what stands for the time before version 0. Raises
    RewriteError if there was none."""
    moment = as_of if as_of.tzinfo else as_of.replace(tzinfo=UTC)
    limit = moment.timestamp() * 1000
    has_timestamps = "delta.enableInCommitTimestamps" in read_snapshot(folder).configuration
    times = list(Log(folder).times(has_timestamps))
    found = max((version for version, made in times if made <= limit), default=None)
    if found is None and first is not None and times and times[0][0] == 0:
        return first
    if found is None:
        raise RewriteError(no_version_as_of(folder.path, moment, [made for _, made in times]))
    return found


def _has_endpoint(url: str) -> bool:
    """Whether it is in a store that is set, and may not be Amazon's."""
    address = Address.of(url)
    return find_endpoint(address.store, address.options) is not None


def _recorded_anew(
    folder: Folder, snapshot: Snapshot, sizes: Mapping[str, NewSize]
) -> tuple[list[Action], dict[str, str], set[str]]:
    """The `add` of each file with its new size, why others are left out, and which have it. Raises OSError."""
    live = {path: add for (path, _), add in snapshot.adds.items() if path in sizes}
    wanted, left, recorded = [], {}, set()
    for name, size in sizes.items():
        add = live.get(name)
        if add is None:
            left[name] = GONE
        elif add["size"] == size.old:
            wanted.append(name)
        elif add["size"] == size.new:
            recorded.add(name)
        else:
            left[name] = OTHERS
    adds = []
    for name, there in zip(wanted, folder.sizes_of(wanted), strict=True):
        if reason := why_not(folder.path_of(name), there, sizes[name].new):
            left[name] = reason
        else:
            adds.append({"add": {**live[name], "size": sizes[name].new, "dataChange": False}})
    return adds, left, recorded


def _commit_of(snapshot: Snapshot, adds: Sequence[Action], operation: str) -> bytes:
    now = int(time.time() * 1000)
    info: Action = {
        "timestamp": now,
        "operation": operation,
        "operationParameters": {},
        "isBlindAppend": False,
        "engineInfo": ENGINE,
        "txnId": str(uuid.uuid4()),
    }
    if snapshot.configuration.get("delta.enableInCommitTimestamps") == "true":
        assert snapshot.in_commit_timestamp is not None
        info = {"inCommitTimestamp": max(now, snapshot.in_commit_timestamp + 1), **info}
    lines = [{"commitInfo": info}, *adds]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
