"""Lakes that `pbloom report` is asked about, and what is read off its pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from make.browser import Document
from make.commands import Outcome, outcome

import parquet_bloom as pb
from parquet_bloom.verbs.inspect import inspect

ROWS = 2000

# Under all steps, if any has a command.
NO_OTHERS = (
    "After these, no other command under Findings and Advice has to be run, except those for notes."
)


def write_lake(folder: Path) -> None:
    """Four files in two partitions: one without filters, one whose filter lost values, one cut short, and one with a
    name that is HTML."""
    for place, name in enumerate(("day=1/a", "day=1/b", "day=2/c", "day=2/<b>d")):
        path = folder / "lake" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        ids = np.random.default_rng(place).permutation(1 << 20)[:ROWS]
        table = pa.table({"id": ids, "country": ["DE"] * ROWS})
        pq.write_table(table, path, row_group_size=ROWS // 2)
        if place:
            pb.build(path, columns=["id"], in_place=True)
    lost, cut = folder / "lake/day=1/b.parquet", folder / "lake/day=2/c.parquet"
    found = inspect(lost).row_groups[1].columns[0].filter
    assert found is not None
    assert found.offset is not None
    assert found.header_bytes is not None
    data = bytearray(lost.read_bytes())
    start = found.offset + found.header_bytes
    data[start : start + 512] = bytes(512)
    lost.write_bytes(data)
    cut.write_bytes(cut.read_bytes()[:-9])


def page_of(page: Path, *arguments: object) -> tuple[Outcome, str | None]:
    """What the command says, and the page's text."""
    result = outcome("report", *arguments, "-o", page, "--no-config", "--overwrite")
    return result, page.read_text(encoding="utf-8") if page.exists() else None


def steps_on(page: str) -> str:
    part = page.partition('id="next"')[2].partition("</section>")[0]
    return Document(f"<body>{part}</body>").text


def write_grown(tmp_path: Path) -> Path:
    """Two files of before a column was added, and one of after."""
    for number in range(3):
        columns = {"id": np.random.default_rng(number).permutation(1 << 20)[:ROWS]}
        if number == 2:
            columns["code"] = columns["id"][::-1]
        path = tmp_path / "grown" / f"{number}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), path, row_group_size=ROWS // 4)
    pb.build(tmp_path / "grown", columns="code", union_by_name=True, in_place=True)
    return tmp_path / "grown"
