"""The retention of the branch `main`: whoever moves a branch has to say it anew, or it is forgotten, and the
next expiry removes snapshots that the owner wanted to keep.

    main    snapshot-id | min-snapshots-to-keep | max-snapshot-age-ms | max-ref-age-ms
            of now      | as before             | as before           | as before

Others may change it while we commit. Where PyIceberg itself replaces the metadata, as for SQL catalogs, a
requirement holds the commit to the branch that was read. A REST catalog takes no such requirement, but
names the metadata that it has replaced: what stands there is put back.

Spec: Iceberg Table Spec, "Snapshot Retention Policy"; open API, SetSnapshotRefUpdate, AssertRefSnapshotId.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table as Loaded
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef
from pyiceberg.table.update import AssertRefSnapshotId, SetSnapshotRefUpdate

from parquet_bloom.errors import ParquetBloomError, RewriteError
from parquet_bloom.tables.iceberg.library import asking

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
