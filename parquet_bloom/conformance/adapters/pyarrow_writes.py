"""Let pyarrow write."""

import pyarrow as pa
import pyarrow.parquet as pq
from writing import Column, answer


def write(column: Column, output: str) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(column.table, sink)
    file = pq.read_metadata(pa.BufferReader(sink.getvalue()))
    leaves = [file.row_group(0).column(index).path_in_schema for index in range(file.num_columns)]
    filters = {leaf: {"ndv": column.rows_per_group, "fpp": 0.01} for leaf in leaves}
    options = {"store_schema": False, "bloom_filter_options": filters}
    pq.write_table(column.table, output, row_group_size=column.rows_per_group, **options)


answer("pyarrow", pa.__version__, write)
