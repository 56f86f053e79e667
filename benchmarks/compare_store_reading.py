"""One row out of a large file in an object store, against pyarrow, polars, DataFusion and DuckDB:
`python -m benchmarks.compare_store_reading [FOLDER]`.

The file is that of compare_reading, made in FOLDER if it is not there yet: 0.7 GB. It is on a server of this machine,
in a process of its own, which waits 30 ms before each answer. Every contender runs in a process of its own that has
its imports, and answers once before it is measured. DuckDB has one of its own with httpfs, which is made in .httpfs.
"""

from __future__ import annotations

import json
import subprocess
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
from benchmarks.serving import ROOT, serving
from benchmarks.tables import NO_GOAL, Row, Table, at_most

DELAY_SECONDS = 0.03
TIMES = 3
URL = "s3://lake/large.parquet"
MOST_ROUND_TRIPS = 5
DUCKDB = "DuckDB"


def compare_store_reading(folder: Path) -> Table:
    ask(module("compare_reading", "make", folder))
    rows: list[Row] = []
    digests = set()
    with serving({"lake/large.parquet": folder / "large.parquet"}, DELAY_SECONDS) as server:
        for name in ASKED:
            server.asked()
            command = module("compare_store_reading", name, folder, server.port)
            if name == DUCKDB:
                command[0] = _python_with_httpfs()
            found = ask(command)
            asked = server.asked()
            digests.add(found["digest"])
            times = TIMES + 1
            trips, size = asked.round_trips / times, asked.down / times / 1e6
            goal = at_most(trips, MOST_ROUND_TRIPS, "") if name.startswith("pb.") else NO_GOAL
            requests = f"{asked.requests / times:.0f}"
            rows.append(
                [name, requests, f"{trips:.0f}", f"{size:.1f} MB", f"{found['ms']:,.0f} ms", *goal]
            )
    if len(digests) != 1:
        raise RuntimeError("the contenders have other rows")
    note = (
        f"Of {URL}; {1000 * DELAY_SECONDS:.0f} ms are added to each request. Seconds on the clock."
    )
    return Table(
        "One row out of a large file in a store",
        note,
        ("", "requests", "round trips", "read", "time"),
        rows,
    )


def _python_with_httpfs() -> str:
    """That of an environment with DuckDB and its extension, which has no package for the newest version."""
    folder = ROOT / ".httpfs"
    python = str(folder / "bin" / "python")
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        wanted = ["duckdb-extensions", "duckdb-extension-httpfs", "pyarrow"]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
        (folder / "installed").touch()
    return python


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


def of_duckdb(id: int, port: str, folder: Path) -> Callable[[], Any]:
    import duckdb
    from duckdb_extensions import import_extension

    import_extension("httpfs")
    options = _options(port)
    secret = (
        f"CREATE SECRET (TYPE s3, KEY_ID 'KEY', SECRET 'secret', REGION '{options['region']}',"
        f" ENDPOINT '127.0.0.1:{port}', URL_STYLE 'path', USE_SSL false)"
    )

    def rows() -> Any:
        # Another database each time: one keeps what it has read.
        with duckdb.connect() as database:
            database.execute("LOAD httpfs")
            database.execute(secret)
            return database.sql(f"SELECT * FROM '{URL}' WHERE {COLUMN} = {id}").to_arrow_table()

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
    DUCKDB: of_duckdb,
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
