"""Which files Java's expireSnapshots would delete.

Source: Iceberg, IncrementalFileCleanup.java and ReachableFileCleanup.java, written anew in Python.
"""

from collections.abc import Iterable

from pyiceberg.manifest import ManifestEntryStatus, ManifestFile
from pyiceberg.table import Table


def by_increments(table: Table, num_kept: int) -> set[str]:
    """The files of DELETED entries in manifests of expired snapshots, live or not."""
    snapshots = {each.snapshot_id: each for each in table.snapshots()}
    kept = {each.snapshot_id for each in table.snapshots()[-num_kept:]}
    ancestors, current = set(), table.current_snapshot()
    while current is not None:
        ancestors.add(current.snapshot_id)
        current = snapshots.get(current.parent_snapshot_id or 0)
    valid: set[str] = set()
    scanned: dict[str, ManifestFile] = {}
    for number in kept:
        for manifest in snapshots[number].manifests(table.io):
            valid.add(manifest.manifest_path)
            added = manifest.added_snapshot_id
            if added not in kept and added in ancestors and manifest.deleted_files_count:
                scanned[manifest.manifest_path] = manifest
    for number in snapshots.keys() - kept:
        for manifest in snapshots[number].manifests(table.io):
            is_valid = manifest.manifest_path in valid
            if not is_valid and manifest.added_snapshot_id in ancestors:
                scanned[manifest.manifest_path] = manifest
    return {
        entry.data_file.file_path
        for manifest in scanned.values()
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
        if entry.status == ManifestEntryStatus.DELETED and entry.snapshot_id not in kept
    }


def by_reach(table: Table, num_kept: int) -> set[str]:
    """The files that only expired snapshots reach."""
    kept, expired = table.snapshots()[-num_kept:], table.snapshots()[:-num_kept]

    def paths(manifests: Iterable[ManifestFile]) -> set[str]:
        return {
            entry.data_file.file_path
            for manifest in manifests
            for entry in manifest.fetch_manifest_entry(table.io)
        }

    current = {each.manifest_path: each for one in kept for each in one.manifests(table.io)}
    old = {each.manifest_path: each for one in expired for each in one.manifests(table.io)}
    only_old = [each for path, each in old.items() if path not in current]
    return paths(only_old) - paths(current.values())
