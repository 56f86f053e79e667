"""What readers of Iceberg tables find: PyIceberg, and Polars with its own reader of Parquet."""

import polars as pl
from pyiceberg.table import Table

Rows = list[tuple[str, int]]


def by_pyiceberg(table: Table, snapshot: int | None = None) -> Rows:
    found = table.scan(selected_fields=("id", "n"), snapshot_id=snapshot).to_arrow()
    return sorted(zip(found["id"].to_pylist(), found["n"].to_pylist(), strict=True))


def by_polars(table: Table, snapshot: int | None = None) -> Rows:
    frame = pl.scan_iceberg(table, snapshot_id=snapshot, reader_override="native")
    return sorted(frame.select("id", "n").collect().rows())


def rows_at(table: Table, snapshot: int | None = None) -> Rows:
    """Raises AssertionError if they differ."""
    found, other = by_pyiceberg(table, snapshot), by_polars(table, snapshot)
    assert found == other, (len(found), len(other))
    return found
