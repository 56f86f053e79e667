"""Let DuckDB write, which makes filters of chunks with a dictionary."""

import duckdb
from writing import Column, answer

OPTIONS = (
    "FORMAT parquet, WRITE_BLOOM_FILTER true, DICTIONARY_SIZE_LIMIT 1000000, ROW_GROUP_SIZE 2048"
)
connection = duckdb.connect()
connection.execute("SET TimeZone = 'UTC'; SET threads = 1; SET preserve_insertion_order = true")


def write(column: Column, output: str) -> None:
    connection.register("t", column.table)
    connection.execute(f"COPY t TO '{output}' ({OPTIONS})")


answer("DuckDB", duckdb.__version__, write)
