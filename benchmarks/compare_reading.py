"""Rows by their ids, against DuckDB and pyarrow: `python -m benchmarks.compare_reading [FOLDER]`.

One row out of a large file, and a few rows out of a lake. The files are made in FOLDER, if they are not there yet:
1.7 GB. Every contender runs in a process of its own that has its imports, and answers each question once before it
is measured.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.processes import ask, module
from benchmarks.tables import NO_GOAL, Row, Table, at_least, at_most, megabytes

FILES, GROUPS, GROUP_ROWS = 200, 8, 12_500
LARGE_GROUPS, LARGE_ROWS = 12, 1_000_000
COLUMN = "user_id"
TIMES = 3

# What each contender is asked, and what it may take: megabytes and milliseconds.
LARGE = {"index": (3, 30), "filters": (11, 80)}
LAKE_MS = 50


def compare_reading(folder: Path) -> tuple[Table, Table]:
    ask(module("compare_reading", "make", folder))
    found = {name: ask(module("compare_reading", name, folder)) for name in ASKED}
    for question in found["duckdb"]:
        digests = {each[question]["digest"] for each in found.values() if question in each}
        if len(digests) != 1:
            raise RuntimeError(f"{question}: the contenders have other rows")
    return _of_large_file(found), _of_lake(found)


def _of_large_file(found: dict[str, Any]) -> Table:
    rows: list[Row] = []
    for name, (most, limit) in LARGE.items():
        figures = found["pbloom"][f"large, {name}"]
        size, ms = figures["bytes"] / 1e6, figures["ms"]
        goals = at_most(size, most, " MB"), at_most(ms, limit, " ms")
        met = "met" if all(goal[1] == "met" for goal in goals) else "missed"
        title = f"pb.find, {'an index of pages' if name == 'index' else 'filters'}"
        rows.append([title, f"{size:.1f} MB", f"{ms:.0f} ms", f"{goals[0][0]}, {goals[1][0]}", met])
    for name in ("duckdb", "pyarrow"):
        figures = found[name]["large"]
        size = megabytes(figures["bytes"])
        rows.append([TITLES[name], size, f"{figures['ms']:,.0f} ms", *NO_GOAL])
    size = found["pbloom"]["size"] / 1e6
    return Table(
        "One row out of a large file",
        f"All 13 columns of a row by its id, from a file of {size:,.0f} MB with {LARGE_GROUPS} row groups, page indexes"
        " and filters; bytes read and CPU time.",
        ("", "read", "CPU"),
        rows,
    )


def _of_lake(found: dict[str, Any]) -> Table:
    rows: list[Row] = []
    for question in ("1 id", "100 ids"):
        ours = found["pbloom"]
        rows_only, whole = ours[f"{question}, rows"]["ms"], ours[question]["ms"]
        theirs = found["duckdb"][question]["ms"]
        is_one = question == "1 id"
        rows.append(
            [
                f"{question}: pb.find, which rows",
                f"{rows_only:.0f} ms",
                *(at_most(rows_only, LAKE_MS, " ms") if is_one else NO_GOAL),
            ]
        )
        rows.append([f"{question}: pb.find, all 6 columns", f"{whole:,.0f} ms", *NO_GOAL])
        rows.append([f"{question}: DuckDB", f"{theirs:,.0f} ms", *NO_GOAL])
        times = theirs / whole
        rows.append([f"{question}: DuckDB / pb.find", f"{times:.1f}x", *at_least(times, 1, "x")])
        if is_one:
            of_pyarrow = found["pyarrow"][question]["ms"]
            rows.append([f"{question}: pyarrow", f"{of_pyarrow:,.0f} ms", *NO_GOAL])
    num_rows = FILES * GROUPS * GROUP_ROWS
    return Table(
        "Rows out of a lake",
        f"{FILES} files of {GROUPS} row groups, {num_rows / 1e6:.0f} million rows, with filters; pb.find with an index of"
        " row groups. CPU time; all have the same rows.",
        ("", "CPU"),
        rows,
    )


# ------------------------------------------------------------------------------------------------
# In processes of their own


def make(folder: Path) -> dict[str, int]:
    """The files and their indexes."""
    import parquet_bloom as pb

    if not (folder / "ids.json").exists():
        (folder / "lake").mkdir(parents=True, exist_ok=True)
        one = _make_large_file(folder / "large.parquet")
        ids = [_make_file(folder / f"lake/{number:03}.parquet", number) for number in range(FILES)]
        asked = {"large": [one], "1 id": ids[17][:1], "100 ids": [each[1] for each in ids[::2]]}
        (folder / "ids.json").write_text(json.dumps(asked))
    for name, files, places in (
        ("large", "large.parquet", "page"),
        ("lake", "lake", "row-group"),
    ):
        if not (folder / f"{name}.index").exists():
            pb.Index.build(folder / f"{name}.index", folder / files, COLUMN, places=places).close()
    return {}


def _make_large_file(path: Path) -> int:
    """An id that one of its rows has."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, n = np.random.default_rng(7), LARGE_ROWS
    words = _words(rng, 50_000)
    writer, found = None, 0
    for group in range(LARGE_GROUPS):
        ids = rng.integers(0, 2**62, n)
        columns: dict[str, Any] = {COLUMN: ids}
        columns |= {f"f{i}": np.round(rng.normal(50, 20, n), 4) for i in range(5)}
        columns |= {f"i{i}": rng.integers(0, 2**31, n) for i in range(4)}
        columns |= {f"s{i}": words.take(rng.integers(0, 50_000, n)) for i in range(3)}
        table = pa.table(columns)
        if writer is None:
            writer = pq.ParquetWriter(
                path, table.schema, compression="zstd", write_page_index=True,
                use_dictionary=["s0", "s1", "s2"],
                bloom_filter_options={COLUMN: {"ndv": n, "fpp": 0.01}},
            )  # fmt: skip
        writer.write_table(table, row_group_size=n)
        if group == LARGE_GROUPS // 2:
            found = int(ids[123_456])
    assert writer is not None
    writer.close()
    return found


def _make_file(path: Path, number: int) -> list[int]:
    """Two ids that rows of it have."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, n = np.random.default_rng(number), GROUPS * GROUP_ROWS
    words = _words(np.random.default_rng(1), 5000)
    ids = rng.integers(0, 10_000_000, n) * 7919 + 13
    times = np.sort(rng.integers(0, 86_400_000_000, n)) + 86_400_000_000 * (20_000 + number)
    table = pa.table(
        {
            COLUMN: ids,
            "ts": pa.array(times, pa.timestamp("us")),
            "amount": np.round(rng.normal(50, 20, n), 2),
            "country": words.take(rng.integers(0, 100, n)),
            "item": words.take(rng.integers(0, 5000, n)),
            "note": pa.array([f"{each:x}" for each in rng.integers(0, 2**60, n).tolist()]),
        }
    )
    pq.write_table(
        table, path, row_group_size=GROUP_ROWS, compression="zstd", write_page_index=True,
        use_dictionary=["country", "item"],
        bloom_filter_options={COLUMN: {"ndv": GROUP_ROWS, "fpp": 0.01}},
    )  # fmt: skip
    return [int(ids[n // 2]), int(ids[n // 3])]


def _words(rng: Any, count: int) -> Any:
    import pyarrow as pa

    letters = rng.integers(97, 123, (count, 12), dtype="uint8")
    return pa.array([bytes(word).decode() for word in letters])


def of_pbloom(folder: Path) -> dict[str, Any]:
    import pyarrow.parquet as pq

    import parquet_bloom as pb

    asked = json.loads((folder / "ids.json").read_text())
    large = folder / "large.parquet"
    names = {"large": pq.read_schema(large).names}
    names["lake"] = pq.read_schema(folder / "lake/000.parquet").names
    find = partial(pb.find, column=COLUMN)
    found: dict[str, Any] = {"size": large.stat().st_size}
    for name, index in (("index", folder / "large.index"), ("filters", None)):
        files = large if index is None else None
        found[f"large, {name}"] = _measured(
            partial(find, files, values=asked["large"], columns=names["large"], index=index)
        )
    found["large"] = found["large, index"]
    for question in ("1 id", "100 ids"):
        look = partial(find, None, values=asked[question], index=folder / "lake.index")
        found[question] = _measured(partial(look, columns=names["lake"]))
        found[f"{question}, rows"] = _measured(look)
    return found


def of_duckdb(folder: Path) -> dict[str, Any]:
    import duckdb

    connection = duckdb.connect()
    connection.execute("set enable_progress_bar=false")
    asked = json.loads((folder / "ids.json").read_text())

    def rows(question: str) -> Any:
        files = folder / ("large.parquet" if question == "large" else "lake/*.parquet")
        ids = ", ".join(map(str, asked[question]))
        return connection.sql(f"select * from '{files}' where {COLUMN} in ({ids})").to_arrow_table()

    return {question: _measured(partial(rows, question)) for question in asked}


def of_pyarrow(folder: Path) -> dict[str, Any]:
    import pyarrow.parquet as pq

    asked = json.loads((folder / "ids.json").read_text())
    del asked["100 ids"]

    def rows(question: str) -> Any:
        files = folder / ("large.parquet" if question == "large" else "lake")
        return pq.read_table(files, filters=[(COLUMN, "in", asked[question])])

    return {question: _measured(partial(rows, question)) for question in asked}


def _measured(answer: Callable[[], Any]) -> dict[str, Any]:
    """Milliseconds of CPU and bytes read, without the first time, and what tells rows apart."""
    answer()
    before = _bytes_read()
    taken = []
    for _ in range(TIMES):
        began = time.process_time()
        rows = answer()
        taken.append(time.process_time() - began)
    read = (_bytes_read() - before) / TIMES
    digest = _digest(getattr(rows, "values", rows))
    return {"ms": 1000 * median(taken), "bytes": read, "digest": digest}


def _bytes_read() -> int:
    """By this process, from files or from the page cache."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["rchar"])


def _digest(rows: Any) -> str | None:
    """Of all values, whatever the order; None where only places are told."""
    from hashlib import sha256

    if rows is None or callable(rows):
        return None
    found = sorted(map(repr, map(sorted, map(dict.items, rows.to_pylist()))))
    return sha256("\n".join(found).encode()).hexdigest()


TITLES = {"duckdb": "DuckDB", "pyarrow": "pyarrow"}
ASKED = {"pbloom": of_pbloom, "duckdb": of_duckdb, "pyarrow": of_pyarrow}


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", where]:
            print(json.dumps(make(Path(where))))
        case [name, where] if name in ASKED:
            print(json.dumps(ASKED[name](Path(where))))
        case [where]:
            for table in compare_reading(Path(where)):
                print(table, end="\n\n")
        case _:
            with TemporaryDirectory() as made:
                for table in compare_reading(Path(made)):
                    print(table, end="\n\n")
