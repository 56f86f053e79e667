"""What is in the folder of an index and not needed: manifests that others have replaced, files that no manifest
names, of writers that died or were not the first, and temporary files.

Who has opened an index reads its files for a while, and who writes has not named them yet: so age decides.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf

from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.index.manifest import existing, is_manifest, read_manifest
from parquet_bloom.storage.folder import Entry, Folder, WritableFolder
from parquet_bloom.storage.source import is_of_index
from parquet_bloom.storage.temporary_files import is_temporary


def replaced(entries: list[Entry], before: float) -> list[Entry]:
    """Of what is in the folder, the manifests whose next one was made `before`, in seconds since 1970."""
    manifests = [entry for entry in entries if is_manifest(entry.name)]
    return [old for old, new in pairwise(manifests) if new.modified / 1000 <= before]


def unnamed(folder: Folder, entries: list[Entry], before: float) -> list[Entry]:
    """Files that were written `before`, and that neither the index nor a manifest that stays names. Raises
    FormatError, UnsupportedError, OSError."""
    gone = {entry.name for entry in replaced(entries, before)}
    candidates = [entry for entry in entries if _is_ours(entry.name)]
    candidates = [entry for entry in candidates if entry.modified / 1000 <= before]
    if not candidates:
        return []
    # After the files were listed: whatever is named by now stays.
    named = {*existing(folder).files}
    for entry in entries:
        if is_manifest(entry.name) and entry.name not in gone:
            try:
                named.update(read_manifest(folder, entry.name).files)
            except (FormatError, UnsupportedError):
                # An index was built in its place. What it named, nobody knows who has not read it before.
                return []
    return [entry for entry in candidates if entry.name not in named]


def unneeded(folder: Folder, before: float = inf) -> list[Entry]:
    """All of these. Raises as unnamed."""
    entries = folder.entries("")
    return [*replaced(entries, before), *unnamed(folder, entries, before)]


def remove_unneeded(folder: WritableFolder, before: float) -> list[Entry]:
    """Remove all of these; returns what was removed. Raises as unnamed."""
    # Manifests first: none may name a file that is no more.
    found = unneeded(folder, before)
    for entry in found:
        folder.remove(entry.name)
    return found


def _is_ours(name: str) -> bool:
    return is_of_index(name) or is_temporary(name)
