"""Files that belong to a table, where changing one in place would break the table's readers.

Delta Lake, Iceberg and Hudi record the size of every data file. A reader that seeks the footer by
the recorded size would find filters there instead.

Hive's transactional tables record no sizes, so their ORC files can be changed, unless transactions
are still writing them:

    delta_0000005_0000006/bucket_00000                 several footers, one per transaction
    delta_0000005_0000006/bucket_00000_flush_length    the end of the last valid one

Source: orc-core, org.apache.orc.impl.OrcAcidUtils.getLastFlushLength.
"""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path

from parquet_bloom.errors import RewriteError

# Seconds for which the table of a remote folder is cached: a task may change thousands of files in
# one folder.
KNOWN_FOR = 60

_ADVICE = {
    "Delta Lake": "set the writer's Bloom filter properties for new files, or write copies with -o",
    "Iceberg": "set write.parquet.bloom-filter-enabled.column.NAME or write.orc.bloom.filter.columns"
    " for new files, or write copies with -o",
    "Hudi": "set the writer's Bloom filter options for new files, or write copies with -o",
}

# Hive's names for the files in deltas, and the suffix for their lengths.
_BUCKET = "bucket_"
_SIDE_FILE = "_flush_length"


def owning_table(file: Path) -> tuple[str, Path] | None:
    """The format and root folder of the table that `file` belongs to; None if it belongs to none.

    A table may reach a file through a link, so both the given path and the resolved one count.
    """
    named = Path(os.path.abspath(file))
    for folder in dict.fromkeys([*named.parents, *file.resolve().parents]):
        if (folder / "_delta_log").is_dir():
            return "Delta Lake", folder
        if (folder / ".hoodie").is_dir():
            return "Hudi", folder
        metadata = folder / "metadata"
        if (metadata / "version-hint.text").exists() or any(metadata.glob("*.metadata.json")):
            return "Iceberg", folder
    return None


def check_not_in_table(file: Path) -> None:
    """Raise RewriteError if replacing `file` would break a table."""
    table = owning_table(file)
    if table:
        raise _refusal(file, *table)
    for path in (file, file.resolve()):
        side_file = path.with_name(path.name + _SIDE_FILE)
        if path.name.startswith(_BUCKET) and side_file.exists():
            raise _being_written(file, side_file)


def check_not_in_remote_table(url: str) -> None:
    """The same for a file behind a URL. Raises OSError if one of its folders cannot be listed."""
    folder = _parent(url)
    table = _remote_table(folder, time.monotonic() // KNOWN_FOR)
    if table:
        raise _refusal(url, *table)
    name = url.partition("?")[0].rpartition("/")[2]
    if folder is not None and name.startswith(_BUCKET):
        from parquet_bloom.storage.remote import RemoteFolder

        if RemoteFolder(folder).has_file(name + _SIDE_FILE):
            raise _being_written(url, name + _SIDE_FILE)


@lru_cache(maxsize=4096)
def _remote_table(folder: str | None, period: float) -> tuple[str, str] | None:
    """The table at the URL `folder` or above it; `period` makes cache entries expire."""
    if folder is None:
        return None
    kind = _remote_kind(folder)
    return _remote_table(_parent(folder), period) if kind is None else (kind, folder)


def _parent(url: str) -> str | None:
    """The URL of the folder above, with the same options; None for a bucket."""
    place, mark, options = url.partition("?")
    scheme, _, path = place.partition("://")
    folder, slash, _ = path.rpartition("/")
    return f"{scheme}://{folder}{mark}{options}" if slash else None


def _remote_kind(url: str) -> str | None:
    from parquet_bloom.storage.remote import RemoteFolder

    folder = RemoteFolder(url)
    if folder.has_folder("_delta_log"):
        return "Delta Lake"
    if folder.has_folder(".hoodie"):
        return "Hudi"
    names = folder.names_in("metadata")
    if any(name == "version-hint.text" or name.endswith(".metadata.json") for name in names):
        return "Iceberg"
    return None


def _refusal(file: Path | str, kind: str, root: Path | str) -> RewriteError:
    return RewriteError(
        f"{file}: belongs to the {kind} table {root}, which records the size of its files:"
        f" not changed in place; {_ADVICE[kind]}"
    )


def _being_written(file: Path | str, side_file: Path | str) -> RewriteError:
    return RewriteError(
        f"{file}: being written by Hive, {side_file} holds its valid length: not changed in place;"
        " wait until the transactions are closed, or compact the table"
    )
