"""Write a file of three rows: `python -m benchmarks.tiny_file PATH`."""

import sys

import pyarrow as pa
import pyarrow.parquet as pq

pq.write_table(pa.table({"id": ["a", "b", "c"]}), sys.argv[1], compression="none")
