"""Files that belong to a table: changing one in place breaks the table's readers.

Delta Lake, Iceberg and Hudi record the size of every data file. A reader that looks for the footer
where the recorded size says it is finds filters there instead.

Transactional tables of Hive record none, so their ORC files can be changed; but for a file that is
still being written in transactions:

    delta_0000005_0000006/bucket_00000                 many footers, one for each transaction
    delta_0000005_0000006/bucket_00000_flush_length    where the last one ends that counts

Source: orc-core, org.apache.orc.impl.OrcAcidUtils.getLastFlushLength.
"""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path

from parquet_bloom.errors import RewriteError

# How long it is known of a folder behind a URL what it is, in seconds: a task may change thousands
# of files in one.
KNOWN_FOR = 60

_ADVICE = {
    "Delta Lake": "set the writer's Bloom filter properties for new files, or write copies with -o",
    "Iceberg": "set write.parquet.bloom-filter-enabled.column.NAME or write.orc.bloom.filter.columns"
    " for new files, or write copies with -o",
    "Hudi": "set the writer's Bloom filter options for new files, or write copies with -o",
}


# What Hive calls the files in deltas, and what it appends to that for the lengths.
_BUCKET = "bucket_"
_SIDE_FILE = "_flush_length"


def owning_table(file: Path) -> tuple[str, Path] | None:
    """The table format and root folder that `file` belongs to; None if it is a file of its own.

    A table may read a file by a link, so both the path as named and where it leads count.
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
    """The same for a file behind a URL. Raises OSError if one of its folders cannot be looked into,
    for then nobody knows."""
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
    """The table that is at the URL `folder` or above it; `period` is there to forget."""
    if folder is None:
        return None
    kind = _remote_kind(folder)
    return _remote_table(_parent(folder), period) if kind is None else (kind, folder)


def _parent(url: str) -> str | None:
    """The URL of the folder, with the same options; None for a bucket."""
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
        f"{file}: Hive is writing it, {side_file} says how much of it counts: not changed in place;"
        " wait until the transactions are closed, or compact the table"
    )
