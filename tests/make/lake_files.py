"""Small lakes, and what is in them afterwards."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome

from parquet_bloom import spark as lake
from parquet_bloom.spark import verbs
from parquet_bloom.spark.plan import Bounds

# Row groups of a file.
GROUPS = 4


def write(path: Path, start: int = 0, rows: int = 1000) -> Path:
    """A file of ids, names and cities, each row group with some from the whole range."""
    ids = [
        start + each % (rows // GROUPS) * GROUPS + each // (rows // GROUPS) for each in range(rows)
    ]
    table = pa.table(
        {
            "id": ids,
            "name": [f"name {each}" for each in ids],
            "place": [{"city": each} for each in ids],
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=rows // GROUPS, use_dictionary=False)
    return path


def write_table(folder: Path) -> Path:
    """A partitioned table of two files, and one that is none."""
    for place in range(2):
        write(folder / f"part={place}" / f"{place}.parquet", 1000 * place)
    (folder / "bad.parquet").write_bytes(b"PAR1 no footer PAR1")
    return folder


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file below a folder: name, and inode, time of the last change and bytes."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            status = path.stat()
            name = str(path.relative_to(folder))
            found[name] = status.st_ino, status.st_mtime_ns, path.read_bytes()
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below it."""
    return {name: data for name, (_, _, data) in snapshot(folder).items()}


def everything_is_huge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of some kilobytes are built in parts."""
    monkeypatch.setattr(verbs, "BOUNDS", Bounds(huge=15_500, part=2_000, least_share=0))


def built_lake(spark: Any, root: Path, write_lake: Callable[[Path], object]) -> lake.Report:
    """Write a lake to root/lake, let Spark build it, and report; the same lake as it was is in
    root/local, for `pbloom build`."""
    write_lake(root / "lake")
    shutil.copytree(root / "lake", root / "local")
    return lake.build(spark, root / "lake", columns=["id"])


def by_command(folder: Path, verb: str, *options: object) -> list[Any]:
    """What the local command prints about the files in a folder, without what differs."""
    printed = outcome(verb, folder, *options, "--json").stdout
    return [without_time(json.loads(line)) for line in printed.splitlines()]


def by_spark(report: lake.Report, folder: Path | str, local: Path | str) -> list[Any]:
    """The same of a report; `folder` is called as the `local` one."""
    return [
        without_time(json.loads(each.document.replace(str(folder), str(local))))
        for each in report.outcomes
        if each.document is not None
    ]


def without_time(document: Any) -> Any:
    document.pop("seconds", None)
    return document
