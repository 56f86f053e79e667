"""Let DataFusion write."""

import datafusion
from writing import Column, answer


def write(column: Column, output: str) -> None:
    context = datafusion.SessionContext()
    context.register_record_batches("t", [column.table.to_batches()])
    rows = column.rows_per_group
    options = (
        f"'format.bloom_filter_on_write' 'true', 'format.bloom_filter_ndv' '{rows}',"
        f" 'format.max_row_group_size' '{rows}'"
    )
    context.sql(f"COPY t TO '{output}' STORED AS PARQUET OPTIONS ({options})").collect()


answer("DataFusion", datafusion.__version__, write)
