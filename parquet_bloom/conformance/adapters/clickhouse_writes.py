"""Let ClickHouse write, by chdb, what it reads of an Arrow file."""

import chdb
import pyarrow as pa
from writing import Column, answer

connection = chdb.connect(":memory:")


def write(column: Column, output: str) -> None:
    source = f"{output}.arrow"
    with pa.OSFile(source, "wb") as file, pa.ipc.new_file(file, column.table.schema) as writer:
        writer.write_table(column.table)
    settings = (
        "output_format_parquet_write_bloom_filter = 1,"
        f" output_format_parquet_row_group_size = {column.rows_per_group}"
    )
    connection.query(
        f"INSERT INTO FUNCTION file('{output}', Parquet) SELECT * FROM file('{source}', Arrow) SETTINGS {settings}"
    )


answer("ClickHouse", str(connection.query("SELECT version()", "TabSeparated")).strip(), write)
