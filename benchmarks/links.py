"""Lakes of hard links to one file: `python -m benchmarks.links LAKE` makes a table of Delta Lake of one."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

# ext4 has at most 65,000 links to a file, and lakes have folders.
FILES_IN_FOLDER = 1_000


def link(file: Path, lake: Path, count: int) -> None:
    """`count` names of the same file, in folders."""
    for start in range(0, count, FILES_IN_FOLDER):
        folder = lake / f"folder={start // FILES_IN_FOLDER}"
        folder.mkdir(parents=True)
        first = shutil.copyfile(file, folder / "part-00000.parquet")
        for number in range(1, min(FILES_IN_FOLDER, count - start)):
            os.link(first, folder / f"part-{number:05}.parquet")


def register(lake: Path) -> None:
    """Make a table of Delta Lake of them."""
    from deltalake import Field, Schema, convert_to_deltalake
    from deltalake.schema import PrimitiveType

    partitions = Schema([Field("folder", PrimitiveType("integer"))])
    convert_to_deltalake(str(lake), partition_by=partitions, partition_strategy="hive")


if __name__ == "__main__":
    register(Path(sys.argv[1]))
