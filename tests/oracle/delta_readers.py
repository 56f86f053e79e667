"""What readers of Delta tables find: deltalake's query engine (DataFusion), its Arrow datasets, and
Polars."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

Rows = list[tuple[str, int]]


def by_query_builder(table: Path, version: int | None = None, where: str = "true") -> Rows:
    opened = DeltaTable(table, version=version)
    query = f"SELECT id, n FROM x WHERE {where}"
    return _rows(pa.table(QueryBuilder().register("x", opened).execute(query).read_all()))


def by_dataset(table: Path, version: int | None = None) -> Rows:
    return _rows(DeltaTable(table, version=version).to_pyarrow_table(columns=["id", "n"]))


def by_polars(table: Path, version: int | None = None) -> Rows:
    frame = pl.scan_delta(str(table), version=version).select("id", "n").collect()
    return sorted(frame.rows())


READERS: dict[str, Callable[[Path, int | None], Rows]] = {
    "QueryBuilder": by_query_builder,
    "dataset": by_dataset,
    "Polars": by_polars,
}


def rows_at(table: Path, version: int | None = None) -> Rows:
    """What every reader finds that can read the table. Raises AssertionError if they differ."""
    found = {name: read(table, version) for name, read in READERS.items()}
    first, *others = found.values()
    assert all(rows == first for rows in others), {name: len(rows) for name, rows in found.items()}
    return first


def _rows(table: pa.Table) -> Rows:
    return sorted(zip(table["id"].to_pylist(), table["n"].to_pylist(), strict=True))
