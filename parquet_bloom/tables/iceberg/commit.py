"""A snapshot that records new sizes.

    manifest of before     entry | snapshot id | sequence numbers | path, partition, old size, …
    manifest of now        EXISTING | the same | the same         | the same,    new size, …

The operation is `replace`, and the shape that of Java's RewriteManifests. Nothing is ADDED or DELETED: an
entry that was added again would get a new sequence number, so that equality deletes no longer apply to
its rows, and a DELETED one names a file that Java's incremental expiry of snapshots removes without
asking whether it is live.

PyIceberg has no public way to write such a snapshot; `library.TESTED` are the versions in which this one
does what it should.

Source: Iceberg, BaseRewriteManifests and IncrementalFileCleanup; PyIceberg, _SnapshotProducer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Final

from pydantic import Field
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    ForbiddenError,
    NoSuchTableError,
    UnauthorizedError,
    ValidationException,
)
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    DataFile,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table as Loaded
from pyiceberg.table import Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    SetSnapshotRefUpdate,
    UpdatesAndRequirements,
)
from pyiceberg.table.update.snapshot import _SnapshotProducer
from pyiceberg.typedef import EMPTY_DICT

from parquet_bloom.errors import ParquetBloomError, RewriteError
from parquet_bloom.parallel import read_once
from parquet_bloom.tables.ends import sizes_of, why_not
from parquet_bloom.tables.iceberg.library import asking, said
from parquet_bloom.tables.iceberg.live_files import schema_for
from parquet_bloom.tables.iceberg.refusals import in_the_way, lost_of_manifests
from parquet_bloom.tables.iceberg.unknown_parts import unknown_in
from parquet_bloom.tables.table import GONE, OTHERS, Committed, NewSize

# ------------------------------------------------------------------------------------------------
# The retention of the branch `main`: whoever moves a branch has to say it anew, or it is forgotten, and the
# next expiry removes snapshots that the owner wanted to keep.
#
#     main    snapshot-id | min-snapshots-to-keep | max-snapshot-age-ms | max-ref-age-ms
#             of now      | as before             | as before           | as before
#
# Others may change it while we commit. Where PyIceberg itself replaces the metadata, as for SQL catalogs, a
# requirement holds the commit to the branch that was read. A REST catalog takes no such requirement, but
# names the metadata that it has replaced: what stands there is put back.
#
# Spec: Iceberg Table Spec, "Snapshot Retention Policy"; open API, SetSnapshotRefUpdate, AssertRefSnapshotId.


# Others would have to commit right behind us each time.
_ATTEMPTS: Final = 4


class SameBranch(AssertRefSnapshotId):
    """That a branch is as it was, its retention included. Sent to a catalog, it says only which snapshot."""

    was: SnapshotRef = Field(exclude=True)

    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]
        """Raises CommitFailedException if the branch is another by now."""
        super().validate(base_metadata)
        if base_metadata is not None and base_metadata.refs.get(self.ref) != self.was:
            raise CommitFailedException(f"the retention of {self.ref} has changed")


def same_main(was: SnapshotRef) -> SameBranch:
    """The requirement that main is as it was."""
    of_main = {"ref": MAIN_BRANCH, "snapshot-id": was.snapshot_id, "was": was}
    return SameBranch.model_validate(of_main)


def moved_main(was: SnapshotRef, snapshot_id: int) -> SetSnapshotRefUpdate:
    """The update that moves main to another snapshot, and nothing else."""
    of_main = {**was.model_dump(), "ref-name": MAIN_BRANCH, "snapshot-id": snapshot_id}
    return SetSnapshotRefUpdate.model_validate(of_main)


def put_back_retention(where: str, table: Loaded, was: SnapshotRef) -> None:
    """See to it that main keeps the retention that others gave it between our reading and our commit.
    `table`: right after the commit; `was`: as the commit said it. Raises RewriteError if it is lost."""
    if isinstance(table.catalog, MetastoreCatalog):
        return
    try:
        with asking(where):
            meant = _replaced(table)
    except (ParquetBloomError, OSError):
        # Catalogs need not keep it, nor let others read it.
        return
    if meant is None or _retention(meant) == _retention(was):
        return
    for _ in range(_ATTEMPTS):
        now = table.metadata.refs.get(MAIN_BRANCH)
        if now is None or _retention(now) != _retention(was):
            # Whatever it is by now, others have said so after us.
            return
        try:
            with table.transaction() as transaction:
                transaction._apply((moved_main(meant, now.snapshot_id),), (same_main(now),))
        except CommitFailedException:
            table.refresh()
        else:
            return
    raise RewriteError(
        f"{where}: committed, but a concurrent change to the retention of {MAIN_BRANCH} was undone:"
        " set it again"
    )


def _replaced(table: Loaded) -> SnapshotRef | None:
    """Main in the metadata that the newest one has replaced."""
    if not table.metadata.metadata_log:
        return None
    name = table.metadata.metadata_log[-1].metadata_file
    return FromInputFile.table_metadata(table.io.new_input(name)).refs.get(MAIN_BRANCH)


def _retention(ref: SnapshotRef) -> tuple[int | None, ...]:
    return ref.min_snapshots_to_keep, ref.max_snapshot_age_ms, ref.max_ref_age_ms


# ------------------------------------------------------------------------------------------------
# The snapshot

_SIZE: Final = 104
_SIZE_AT: Final = [field.field_id for field in DATA_FILE_TYPE[2].fields].index(_SIZE)

_TOTALS: Final = "total-"
_TOTAL_SIZE: Final = "total-files-size"


# After these nothing was committed.
_CERTAIN: Final = (
    *(ValidationException, MemoryError),
    *(UnauthorizedError, ForbiddenError, NoSuchTableError),
)


class Nothing(ValidationException):
    """No file is left whose size could be recorded. PyIceberg takes back what it wrote for it."""


class InTheWay(ValidationException):
    """The table is by now one to which nothing may be committed."""


class _ManifestWriter(ManifestWriterV2):
    """Writes a manifest with the key-values that others have given it."""

    others: Mapping[str, str] = EMPTY_DICT

    @property
    def _meta(self) -> dict[str, str]:
        return {**self.others, **super()._meta}


class NewSizes(_SnapshotProducer["NewSizes"]):
    """One commit. Each attempt starts from the newest snapshot, so that what others have committed
    stays. `left`: why files were left out in the last one, by name; `there`: those that had their sizes;
    `main`: the branch that it moved, as it was; `has_landed`: whether a commit that was said to have failed
    is in the table nevertheless, None if that could not be found out."""

    main: SnapshotRef
    has_landed: bool | None = None

    def __init__(
        self,
        transaction: Transaction,
        sizes: Mapping[str, NewSize],
        operation: str,
        reached: Callable[[str], str],
        without: Collection[str],
    ) -> None:
        """`reached`: the path or URL of a file, by its name; `without`: the paths of manifests that are
        known to have none of the files, and are not read."""
        super().__init__(Operation.REPLACE, transaction, transaction._table.io)
        self._sizes, self._work, self._reached = sizes, operation, reached
        self._without = without
        self.left: dict[str, str] = {}
        self.there: set[str] = set()
        self._is_changed: set[str] = set()
        self._counts: dict[str, int] = {}

    def _commit(self) -> UpdatesAndRequirements:
        """As PyIceberg's, which would forget the retention of the branch."""
        if reasons := [*in_the_way(self._transaction._table, self._parent)]:
            raise InTheWay("; ".join(reasons))
        updates, _ = super()._commit()
        added = [update for update in updates if isinstance(update, AddSnapshotUpdate)]
        self.main = self._metadata.refs[MAIN_BRANCH]
        return (*added, moved_main(self.main, self._snapshot_id)), (same_main(self.main),)

    @property
    def _parent(self) -> Snapshot | None:
        number = self._parent_snapshot_id
        return None if number is None else self._metadata.snapshot_by_id(number)

    @property
    def _metadata(self) -> TableMetadata:
        return self._transaction.table_metadata

    def _cleanup_uncommitted(self) -> None:
        """After a commit: what earlier attempts have written."""
        if self._uncommitted_manifests:
            self._take_back()

    def _clean_all_uncommitted(self) -> None:
        """After a commit that failed, or so it was said: a gateway may send again what was done before,
        and hand on the conflict that this meets."""
        self._take_back()

    def _take_back(self) -> None:
        """Delete what was written and is not in the table, as it is by now; nothing if that cannot be
        read."""
        self.has_landed = None
        try:
            with asking(".".join(self._transaction._table.name())):
                used = self._used()
        except (ParquetBloomError, OSError):
            return
        self.has_landed = bool(used)
        written = {*self._uncommitted_manifests, *self._written_manifests}
        for name in {*written, *self._written_manifest_lists} - used:
            with suppress(Exception):
                self._io.delete(name)

    def _used(self) -> set[str]:
        """The list of manifests and the manifests of our snapshot; nothing if the table has it not."""
        table = self._transaction._table.refresh()
        found = table.snapshot_by_id(self._snapshot_id)
        if found is None:
            return set()
        return {found.manifest_list, *(each.manifest_path for each in found.manifests(self._io))}

    def _validate_concurrency(self) -> None:
        """Whatever others have done: every attempt reads it."""

    def _deleted_entries(self) -> list[ManifestEntry]:
        return []

    def _existing_manifests(self) -> list[ManifestFile]:
        self.left, self._is_changed = dict.fromkeys(self._sizes, GONE), set()
        self.there = set()
        written, kept, num_entries = [], [], 0
        for manifest in [] if self._parent is None else self._parent.manifests(self._io):
            entries, is_new = self._entries(manifest)
            if is_new:
                written.append(self._write(manifest, entries))
                num_entries += len(entries)
            else:
                kept.append(manifest)
        if not written:
            raise Nothing
        self._counts = {
            "manifests-created": len(written),
            "manifests-kept": len(kept),
            "manifests-replaced": len(written),
            "entries-processed": num_entries,
        }
        return [*written, *kept]

    def _entries(self, manifest: ManifestFile) -> tuple[list[ManifestEntry], bool]:
        """The live entries of a manifest, and whether any differs from what is recorded."""
        if manifest.content != ManifestContent.DATA or manifest.manifest_path in self._without:
            return [], False
        entries = manifest.fetch_manifest_entry(self._io)
        is_new = False
        for entry in entries:
            if (size := self._new_size(entry.data_file)) is not None:
                entry.data_file[_SIZE_AT] = size
                is_new = True
        return entries, is_new

    def _new_size(self, file: DataFile) -> int | None:
        """What to record of a file, None to leave it."""
        name, recorded = file.file_path, file.file_size_in_bytes
        size = self._sizes.get(name)
        if size is None:
            return None
        if recorded == size.old:
            if reason := why_not(self._reached(name), self._there[name], size.new):
                self.left[name] = reason
            else:
                self.left.pop(name, None)
                self._is_changed.add(name)
                return size.new
        elif recorded == size.new:
            self.left.pop(name, None)
            self.there.add(name)
        else:
            self.left[name] = OTHERS
        return None

    @read_once
    def _there(self) -> dict[str, int | None]:
        """How long the files are by now: others may have put older ones in their place."""
        return dict(zip(self._sizes, sizes_of([*map(self._reached, self._sizes)]), strict=True))

    def _write(self, manifest: ManifestFile, entries: list[ManifestEntry]) -> ManifestFile:
        """Anew, also for a spec of columns that the table has no more."""
        spec = self.spec(manifest.partition_spec_id)
        unknown = unknown_in(self._io, manifest, spec)
        if unknown.fields:
            raise InTheWay(lost_of_manifests(unknown.fields))
        schema = schema_for(self._metadata, {field.source_id for field in spec.fields})
        schema, output = schema or self.schema(), self.new_manifest_output()
        writer = _ManifestWriter(spec, schema, output, self._snapshot_id, self._compression)
        writer.others = unknown.key_values
        with writer:
            for entry in entries:
                writer.existing(entry)
        return writer.to_manifest_file()

    def _summary(self, snapshot_properties: dict[str, str] = EMPTY_DICT) -> Summary:
        """The totals of before, but for the size: no file and no row comes or goes."""
        before = self._parent.summary if self._parent else None
        known = before.additional_properties if before else {}
        totals = {name: value for name, value in known.items() if name.startswith(_TOTALS)}
        if _TOTAL_SIZE in totals:
            grown = sum(self._sizes[name].new - self._sizes[name].old for name in self._is_changed)
            totals[_TOTAL_SIZE] = str(int(totals[_TOTAL_SIZE]) + grown)
        counts = {name: str(count) for name, count in self._counts.items()}
        about = {"engine-name": "parquet-bloom", "parquet-bloom.operation": self._work}
        return Summary(operation=Operation.REPLACE, **totals, **counts, **about)


def committed(where: str, producer: NewSizes) -> Committed | None:
    """What became of a commit; None if others were first, so that nothing was committed. Raises
    RewriteError if that cannot be told, and what PyIceberg raises."""
    try:
        has_landed = _has_landed(where, producer)
    except Nothing:
        return Committed(None, producer.left, producer.there)
    except InTheWay as error:
        raise RewriteError(f"{where}: changed in the meantime: {error}") from error
    if not has_landed:
        return None
    put_back_retention(where, producer._transaction._table, producer.main)
    return Committed(producer.snapshot_id, producer.left, producer.there)


def _has_landed(where: str, producer: NewSizes) -> bool:
    try:
        producer.commit()
    except Exception:
        producer._clean_all_uncommitted()
        raise
    try:
        producer._transaction.commit_transaction()
    except CommitFailedException as error:
        if producer.has_landed is None:
            raise _unknown(where, error) from error
        return producer.has_landed
    except _CERTAIN:
        raise
    except Exception as error:
        raise _unknown(where, error) from error
    return True


def _unknown(where: str, error: Exception) -> RewriteError:
    return RewriteError(
        f"{where}: it is unknown whether the catalog accepted the commit: {said(error)}: run it"
        " again to find"
        " out"
    )
