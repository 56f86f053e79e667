"""Files that belong to a table: changing one in place breaks the table's readers.

Delta Lake, Iceberg and Hudi record the size of every data file. A reader that looks for the footer
where the recorded size says it is finds filters there instead.
"""

from __future__ import annotations

import os
from pathlib import Path

from parquet_bloom.errors import RewriteError

_ADVICE = {
    "Delta Lake": "set the writer's Bloom filter properties for new files, or write copies with -o",
    "Iceberg": "set write.parquet.bloom-filter-enabled.column.NAME for new files, or write copies"
    " with -o",
    "Hudi": "set the writer's Bloom filter options for new files, or write copies with -o",
}


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
        kind, root = table
        raise RewriteError(
            f"{file}: belongs to the {kind} table {root}, which records the size of its files:"
            f" not changed in place; {_ADVICE[kind]}"
        )
