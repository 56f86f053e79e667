"""Partitioned tables that Spark writes without filters, and look-ups in them.

Two partitions of one file, each of some groups of rows; n = 2 * groups * (row in its group) +
2 * group + partition, so that each value of a column is in one group only, and no minimum or maximum
tells which that is.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from make.spark_session import scanned

TIMESTAMP = "TIMESTAMP_MILLIS(1600000000000 + {n})"
# Type, and value in row n; None for what is in another column.
COLUMNS = {
    "byte": ("TINYINT", "CAST({n} % 120 AS TINYINT)"),
    "short": ("SMALLINT", "CAST({n} AS SMALLINT)"),
    "int": ("INT", "CAST({n} * 100000 AS INT)"),
    "long": ("BIGINT", "{n} * 10000000000"),
    "float": ("FLOAT", "CAST({n} / 8 AS FLOAT)"),
    "double": ("DOUBLE", "{n} / 8D"),
    "string": ("STRING", "CONCAT('value ', {n})"),
    "varchar": ("VARCHAR(10)", "CAST(CONCAT('v', {n}) AS STRING)"),
    "char": ("CHAR(6)", "CAST(CONCAT('c', {n}) AS STRING)"),
    "binary": ("BINARY", "CAST(CONCAT('b', {n}) AS BINARY)"),
    "date": ("DATE", "DATE_ADD(DATE '2020-01-01', CAST({n} AS INT))"),
    "micros": ("TIMESTAMP", TIMESTAMP),
    "ntz": ("TIMESTAMP_NTZ", f"CAST({TIMESTAMP} AS TIMESTAMP_NTZ)"),
    "decimal9": ("DECIMAL(9, 2)", "CAST({n} / 4 AS DECIMAL(9, 2))"),
    "decimal18": ("DECIMAL(18, 2)", "CAST({n} / 4 AS DECIMAL(18, 2))"),
    "decimal38": ("DECIMAL(38, 2)", "CAST({n} / 4 AS DECIMAL(38, 2))"),
    "list": ("ARRAY<BIGINT>", "ARRAY({n})"),
    "map": ("MAP<STRING, BIGINT>", "MAP('k', {n})"),
    "st": (
        "STRUCT<a: BIGINT, b: STRUCT<c: STRING>>",
        "NAMED_STRUCT('a', {n}, 'b', NAMED_STRUCT('c', CONCAT('c', {n})))",
    ),
    "st.a": (None, "{n}"),
    "st.b.c": (None, "CONCAT('c', {n})"),
}
# How the columns that are not as simple are asked for.
CONDITIONS = {
    "list": "ARRAY_CONTAINS(list, CAST({n} AS BIGINT))",
    "map": "map['k'] = {n}",
}


def condition(column: str, n: int) -> str:
    """The column has the value that it has in row n."""
    return CONDITIONS.get(column, f"{column} = {COLUMNS[column][1]}").format(n=n)


def write(
    spark: Any,
    folder: Path,
    names: Iterable[str],
    *,
    file_format: str,
    settings: Mapping[str, str],
    groups: int,
    group_rows: int,
) -> list[Path]:
    """A table of these of COLUMNS, called as its folder; returns its files."""
    columns = {name: COLUMNS[name] for name in names if "." not in name}
    options = ", ".join(f"'{name}' '{value}'" for name, value in settings.items())
    types = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    values = ", ".join(value.format(n="n") for _, value in columns.values())
    half = groups * group_rows
    rows = f"""
        SELECT {2 * groups} * (id % {group_rows}) + 2 * (id DIV {group_rows} % {groups})
               + id DIV {half} AS n, id DIV {half} AS day
        FROM RANGE(0, {2 * half}, 1, 2)"""
    spark.sql(f"DROP TABLE IF EXISTS {folder.name}")
    spark.sql(
        f"CREATE TABLE {folder.name} ({types}, day BIGINT) USING {file_format} OPTIONS ({options})"
        f" PARTITIONED BY (day) LOCATION '{folder}'"
    )
    spark.sql(f"INSERT INTO {folder.name} SELECT {values}, day FROM ({rows})")
    files = sorted(folder.glob(f"day=*/*.{file_format}"))
    assert [path.parent.name for path in files] == ["day=0", "day=1"]
    return files


def look_up(
    spark: Any, table: str, column: str, where: str, options: Mapping[str, str]
) -> tuple[list[str], int]:
    """The values in rows that Spark finds, and how many rows it scanned for them."""
    frame = spark.read.options(**options).table(table).where(where)
    rows, count = scanned(frame.selectExpr(column))
    return sorted(repr(row) for row in rows), count
