"""One row out of a large file in an object store, against pyarrow, polars and DataFusion:
`python -m benchmarks.compare_store_reading [FOLDER]`.

The file is that of compare_reading, made in FOLDER if it is not there yet: 0.7 GB. It is on a server of this machine, in
a process of its own, which waits 30 ms before each answer. Every contender runs in a process of its own that has its
imports, and answers once before it is measured.
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

from benchmarks.compare_reading import COLUMN, _digest
from benchmarks.processes import ask, module
from benchmarks.serving import serving
from benchmarks.tables import NO_GOAL, Row, Table, at_most

DELAY_SECONDS = 0.03
TIMES = 3
URL = "s3://lake/large.parquet"
MOST_MEGABYTES = 11


def compare_store_reading(folder: Path) -> Table:
    ask(module("compare_reading", "make", folder))
    rows: list[Row] = []
    digests = set()
    with serving({"lake/large.parquet": folder / "large.parquet"}, DELAY_SECONDS) as server:
        for name in ASKED:
            server.asked()
            found = ask(module("compare_store_reading", name, folder, server.port))
            asked = server.asked()
            digests.add(found["digest"])
            times = TIMES + 1
            requests, size = asked.requests / times, asked.down / times / 1e6
            goal = at_most(size, MOST_MEGABYTES, " MB") if name.startswith("pb.") else NO_GOAL
            rows.append(
                [name, f"{requests:.0f}", f"{size:.1f} MB", f"{found['ms']:,.0f} ms", *goal]
            )
    if len(digests) != 1:
        raise RuntimeError("the contenders have other rows")
    note = (
        f"Of {URL}; {1000 * DELAY_SECONDS:.0f} ms are added to each request. Seconds on the clock."
    )
    return Table(
        "One row out of a large file in a store", note, ("", "requests", "read", "time"), rows
    )


# ------------------------------------------------------------------------------------------------
# In processes of their own


def _options(port: str) -> dict[str, str]:
    return {
        "endpoint": f"http://127.0.0.1:{port}",
        "region": "us-east-1",
        "access_key_id": "KEY",
        "secret_access_key": "secret",
    }


def of_rows(id: int, port: str, folder: Path) -> Callable[[], Any]:
    import parquet_bloom as pb

    return partial(pb.rows, URL, {COLUMN: id}, storage_options=_options(port))


def of_rows_with_a_cache(id: int, port: str, folder: Path) -> Callable[[], Any]:
    import parquet_bloom as pb

    return partial(pb.rows, URL, {COLUMN: id}, storage_options=_options(port), cache=pb.Cache())


def of_pyarrow(id: int, port: str, folder: Path) -> Callable[[], Any]:
    import pyarrow.parquet as pq
    from pyarrow.fs import S3FileSystem

    system = S3FileSystem(
        access_key="KEY", secret_key="secret", region="us-east-1", scheme="http",
        endpoint_override=f"127.0.0.1:{port}",
    )  # fmt: skip
    path = URL.removeprefix("s3://")
    return partial(pq.read_table, path, filesystem=system, filters=[(COLUMN, "==", id)])


def of_polars(id: int, port: str, folder: Path) -> Callable[[], Any]:
    import polars as pl

    options = {f"aws_{name}": value for name, value in _options(port).items()}
    options["aws_endpoint_url"] = options.pop("aws_endpoint")
    rows = pl.scan_parquet(URL, storage_options={**options, "aws_allow_http": "true"})
    return lambda: rows.filter(pl.col(COLUMN) == id).collect().to_arrow()


def of_datafusion(id: int, port: str, folder: Path) -> Callable[[], Any]:
    from datafusion import SessionConfig, SessionContext
    from datafusion.object_store import AmazonS3

    options = _options(port)
    store = AmazonS3(
        bucket_name="lake", region=options["region"], access_key_id="KEY",
        secret_access_key="secret", endpoint=options["endpoint"], allow_http=True,
    )  # fmt: skip
    pruning = ("bloom_filter_on_read", "pruning", "enable_page_index", "pushdown_filters")
    settings = {f"datafusion.execution.parquet.{name}": "true" for name in pruning}

    def rows() -> Any:
        context = SessionContext(SessionConfig(settings))
        context.register_object_store("s3://", store, "lake")
        context.register_parquet("t", URL)
        return context.sql(f"SELECT * FROM t WHERE {COLUMN} = {id}").to_arrow_table()

    return rows


def measured(name: str, folder: Path, port: str) -> dict[str, Any]:
    (id,) = json.loads((folder / "ids.json").read_text())["large"]
    answer = ASKED[name](id, port, folder)
    answer()
    taken = []
    for _ in range(TIMES):
        began = time.perf_counter()
        rows = answer()
        taken.append(time.perf_counter() - began)
    return {"ms": 1000 * median(taken), "digest": _digest(rows)}


ASKED = {
    "pb.rows": of_rows,
    "pb.rows, with a cache": of_rows_with_a_cache,
    "pyarrow": of_pyarrow,
    "polars": of_polars,
    "DataFusion": of_datafusion,
}


if __name__ == "__main__":
    match sys.argv[1:]:
        case [name, where, port] if name in ASKED:
            print(json.dumps(measured(name, Path(where), port)))
        case [where]:
            print(compare_store_reading(Path(where)))
        case _:
            with TemporaryDirectory() as made:
                print(compare_store_reading(Path(made)))
