"""Reads that leave out what cannot match, against reads of everything: `python -m benchmarks.compare_pruning [LAKE]`.

20 million rows of 10 million users in 200 files of 8 row groups, with filters for the ids; LAKE: where they are kept
for the next time. All of a row is read: pyarrow, polars and DuckDB by themselves, the first two by `pb.dataset` and
`pb.polars_source`, too, with filters and with an index. Each question is asked in a process that has its imports,
theirs and ours, and has read one file. Which of a million ids are new, the index tells by itself,
and DuckDB by an anti-join.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.processes import ask, module
from benchmarks.tables import NO_GOAL, Row, Table, at_least, at_most

FILES, GROUPS, GROUP_ROWS = 200, 8, 12_500
USERS = 10_000_000
COUNTS = (1, 100, 10_000)
# Of which those that are new are told.
ASKED = 1_000_000
# By library and how it prunes: how many times less CPU one id takes.
GOALS = {
    ("pyarrow", "filters"): 30,
    ("pyarrow", "index"): 100,
    ("polars", "filters"): 6,
    ("polars", "index"): 15,
}


def compare_pruning(folder: Path) -> Table:
    lake, index = folder / "lake", folder / "index"
    if not index.exists():
        ask(module("compare_pruning", "make", lake, index))
    rows: list[Row] = []
    for library in ("pyarrow", "polars"):
        for count in COUNTS:
            found = ask(module("compare_pruning", "ask", library, lake, index, count))
            rows += _rows(library, count, found)
    for count in COUNTS:
        found = ask(module("compare_pruning", "ask", "duckdb", lake, index, count))
        rows.append([f"DuckDB, {_ids(count)}", _shown(found["everything"]), *NO_GOAL])
    rows += _of_new_ids(ask(module("compare_pruning", "new", lake, index)))
    note = f"{FILES} files of {GROUPS} row groups, {FILES * GROUPS * GROUP_ROWS:,} rows; CPU time."
    return Table("Reading", note, ("", "found"), rows)


def _rows(library: str, count: int, found: dict[str, float]) -> list[Row]:
    everything = found["everything"]
    rows: list[Row] = [[f"{library}, {_ids(count)}", _shown(everything), *NO_GOAL]]
    for by in ("filters", "index"):
        name = f"the same by {by}"
        rows.append([name, _shown(found[by]), *NO_GOAL])
        times = everything / found[by]
        if count == 1:
            goal = at_least(times, GOALS[library, by], "x")
            rows.append([f"{library} / the same by {by}", f"{times:.0f}x", *goal])
        elif count == COUNTS[-1]:
            more = found[by] / everything
            goal = at_most(more, 1.1, "x")
            rows.append([f"the same by {by} / {library}", f"{more:.2f}x", *goal])
    return rows


def _of_new_ids(found: dict[str, float]) -> list[Row]:
    times = found["duckdb"] / found["index"]
    return [
        [f"DuckDB, which of {_ids(ASKED)} are new", _shown(found["duckdb"]), *NO_GOAL],
        ["Index.new_values", _shown(found["index"]), *NO_GOAL],
        ["DuckDB / Index.new_values", f"{times:.1f}x", *at_least(times, 4, "x")],
        ["of those that are new, not certain", f"{found['uncertain']:.1%}", *NO_GOAL],
        ["the same, verified in the files", _shown(found["verified"]), *NO_GOAL],
    ]


def _ids(count: int) -> str:
    return f"{count:,} id{'s' if count > 1 else ''}"


def _shown(seconds: float) -> str:
    return f"{1000 * seconds:,.0f} ms"


# ------------------------------------------------------------------------------------------------
# In processes of their own


def make(lake: Path, index: Path) -> dict[str, float]:
    """The files, with filters for `user_id`, and an index of their row groups."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import parquet_bloom as pb

    lake.mkdir(parents=True)
    random = np.random.default_rng(7)
    words = np.array([f"word {number * 7919:x}" for number in range(5_000)])
    size = GROUPS * GROUP_ROWS
    for number in range(FILES):
        table = pa.table(
            {
                "user_id": random.integers(0, USERS, size) * 7919 + 13,
                "time": np.sort(random.integers(0, 86_400_000_000, size)) + 86_400_000_000 * number,
                "amount": np.round(random.normal(50, 20, size), 2),
                "country": words[random.integers(0, 100, size)],
                "item": words[random.integers(0, 5_000, size)],
                "note": [f"{note:x}" for note in random.integers(0, 2**62, size).tolist()],
            }
        )
        path = lake / f"{number:03}.parquet"
        pq.write_table(table, path, row_group_size=GROUP_ROWS, compression="zstd")
        pb.build(path, columns="user_id", in_place=True, fpp=0.01)
    pb.Index.build(index, [lake], "user_id").close()
    return {}


def asked(library: str, lake: Path, index: Path, count: int) -> dict[str, float]:
    """The CPU time of each way to read the rows of so many ids."""
    import numpy as np
    import pyarrow.parquet as pq

    files = sorted(map(str, lake.glob("*.parquet")))
    stored = pq.read_table(files[7], columns=["user_id"])["user_id"].to_numpy()
    ids = np.random.default_rng(1).choice(stored, count, replace=False)
    ways_of = {"pyarrow": _pyarrow, "polars": _polars, "duckdb": _duckdb}[library]
    for way in ways_of(files[:1], index, ids).values():
        way()
    times: dict[str, float] = {}
    counts = set()
    for name, way in ways_of(files, index, ids).items():
        began = time.process_time()
        counts.add(way())
        times[name] = time.process_time() - began
    assert len(counts) == 1, counts
    return times


def new_ids(lake: Path, index: Path) -> dict[str, float]:
    """The CPU time that it takes to tell which ids are new, at least half of them."""
    import duckdb
    import numpy as np
    import pyarrow as pa

    import parquet_bloom as pb

    ids = np.random.default_rng(3).integers(0, 2 * USERS, ASKED) * 7919 + 13
    asked = pa.table({"id": ids, "number": np.arange(ASKED)})
    duckdb.sql("SET threads = 1")
    files = f"read_parquet('{lake}/*.parquet')"
    times: dict[str, float] = {}
    began = time.process_time()
    left = duckdb.sql(
        f"SELECT number FROM asked ANTI JOIN {files} ON id = user_id"
    ).to_arrow_table()
    times["duckdb"] = time.process_time() - began
    expected = np.zeros(ASKED, np.bool_)
    expected[left["number"].to_numpy()] = True
    with pb.Index(index) as opened:
        opened.new_values("user_id", ids[:1])
        began = time.process_time()
        new = opened.new_values("user_id", ids)
        times["index"] = time.process_time() - began
        began = time.process_time()
        verified = opened.new_values("user_id", ids, verify=True)
        times["verified"] = time.process_time() - began
    assert (verified == expected).all()
    assert expected[new].all()
    assert asked.num_rows == ASKED
    return {**times, "uncertain": 1 - float(new.sum() / expected.sum())}


_Ways = dict[str, Callable[[], int]]


def _pyarrow(files: list[str], index: Path, ids: Any) -> _Ways:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as pads

    import parquet_bloom as pb

    wanted = pc.field("user_id").isin(pa.array(ids))

    def rows(dataset: pads.Dataset) -> int:
        return int(dataset.to_table(filter=wanted).num_rows)

    return {
        "everything": lambda: rows(pads.dataset(files)),
        "filters": lambda: rows(pb.dataset(files, {"user_id": ids})),
        "index": lambda: rows(pb.dataset(files, {"user_id": ids}, index=index)),
    }


def _polars(files: list[str], index: Path, ids: Any) -> _Ways:
    import polars as pl

    import parquet_bloom as pb

    is_one = len(ids) == 1
    column = pl.col("user_id")
    wanted = column == int(ids[0]) if is_one else column.is_in(ids.tolist())
    filters = None if is_one else {"user_id": ids}

    def rows(source: pl.LazyFrame) -> int:
        return source.filter(wanted).collect().height

    return {
        "everything": lambda: rows(pl.scan_parquet(files)),
        "filters": lambda: rows(pb.polars_source(files, filters)),
        "index": lambda: rows(pb.polars_source(files, filters, index=index)),
    }


def _duckdb(files: list[str], index: Path, ids: Any) -> _Ways:
    import duckdb

    listed = ", ".join(map(str, ids.tolist()))
    query = f"SELECT * FROM read_parquet({files!r}) WHERE user_id IN ({listed})"
    return {"everything": lambda: int(duckdb.sql(query).to_arrow_table().num_rows)}


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", lake, index]:
            print(json.dumps(make(Path(lake), Path(index))))
        case ["ask", library, lake, index, count]:
            print(json.dumps(asked(library, Path(lake), Path(index), int(count))))
        case ["new", lake, index]:
            print(json.dumps(new_ids(Path(lake), Path(index))))
        case [kept]:
            print(compare_pruning(Path(kept)))
        case _:
            with TemporaryDirectory() as folder:
                print(compare_pruning(Path(folder)))
