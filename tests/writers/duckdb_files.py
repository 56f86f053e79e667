"""Files of DuckDB: what it reads of a file with every type, and the types that only it has.

python duckdb_files.py SEED FOLDER
"""

import sys
from pathlib import Path

import duckdb
import values

# Everything through text, which DuckDB casts as its own.
CASTS = {
    "hugeint": ("HUGEINT", lambda: values.integers(128)),
    "utinyint": ("UTINYINT", lambda: values.integers(8, False)),
    "usmallint": ("USMALLINT", lambda: values.integers(16, False)),
    "tinyint": ("TINYINT", lambda: values.integers(8)),
    "smallint": ("SMALLINT", lambda: values.integers(16)),
    "uuid_type": ("UUID", values.uuids),
    "interval": ("INTERVAL", lambda: intervals()),
    "seconds": ("TIMESTAMP_S", lambda: stamps(values.moments("s"))),
    "zoned": ("TIMESTAMPTZ", lambda: stamps(values.moments("s"), "+00")),
    "zoned_time": ("TIMETZ", lambda: [f"{row % 24:02}:{row % 60:02}:07.5+00" for row in range(values.ROWS)]),
    "decimal_4": ("DECIMAL(4, 1)", lambda: values.decimals(4, 1)),
    "decimal_38": ("DECIMAL(38, 10)", lambda: values.decimals(38, 10)),
    "bits": ("BIT", lambda: [f"{row:b}" for row in range(values.ROWS)]),
    "enum": ("ENUM ('red', 'grün', 'blau', '', 'noir')", values.few_texts),
}  # fmt: skip

VARIANTS = {
    "default": "",
    "gzip": ", COMPRESSION gzip, DICTIONARY_COMPRESSION_RATIO_THRESHOLD 0.01",
    "v2_plain": ", PARQUET_VERSION v2, DICTIONARY_SIZE_LIMIT 1, COMPRESSION lz4_raw",
}


def intervals():
    units = ("days", "months", "hours", "milliseconds")
    return [f"{row * 7} {units[row % len(units)]}" for row in range(values.ROWS)]


def stamps(seconds, zone=""):
    import datetime

    start = datetime.datetime(1970, 1, 1)
    return [str(start + datetime.timedelta(seconds=each)) + zone for each in seconds]


def main(seed, folder):
    connection = duckdb.connect()
    connection.execute(f"SET threads = 1; SET TimeZone = 'UTC'; CREATE VIEW seed AS FROM '{seed}'")
    names = [row[0] for row in connection.execute("DESCRIBE seed").fetchall()]
    selected = {name: f'SELECT "{name}" AS value FROM seed' for name in names}
    for name, (kind, make) in CASTS.items():
        texts = [None if each is None else str(each) for each in values.with_nulls(make())]
        try:
            connection.execute(
                f"CREATE TABLE {name}_ AS SELECT unnest(?)::{kind} AS value", [texts]
            )
            selected[name] = f"SELECT value FROM {name}_"
        except duckdb.Error as error:
            print(f"{name}: {error}", file=sys.stderr)
    columns = written(connection, selected, folder)
    query = "SELECT " + ", ".join(f'"{name}".value AS "{name}"' for name in columns)
    query += " FROM " + " POSITIONAL JOIN ".join(
        f'({columns[name]}) AS "{name}"' for name in columns
    )
    # Row groups of 2048 rows are the smallest.
    connection.execute(f"CREATE TABLE all_of_it AS FROM ({query})")
    for variant, options in VARIANTS.items():
        target = f"TO '{folder / variant}.parquet' (FORMAT parquet, ROW_GROUP_SIZE 2048{options})"
        several = " UNION ALL ".join(["FROM all_of_it"] * 5)
        try:
            connection.execute(f"COPY ({several}) {target}")
        except duckdb.Error as error:
            print(f"{variant}: {error}", file=sys.stderr)
    print(duckdb.__version__)


def written(connection, selected, folder):
    """The columns that DuckDB can read and write."""
    found = {}
    for name, query in selected.items():
        trial = folder / "trial"
        try:
            connection.execute(f"COPY ({query}) TO '{trial}' (FORMAT parquet)")
            found[name] = query
        except duckdb.Error as error:
            print(f"{name}: {error}", file=sys.stderr)
        trial.unlink(missing_ok=True)
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
