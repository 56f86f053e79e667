"""What DuckDB says about the filters of many files: `python -m benchmarks.duckdb_footers FOLDER [COLUMN VALUE]`.

A line for each file: how many row groups it has, and how many bytes its filters take; or, with a value,
for each file that has to be read for it.
"""

from __future__ import annotations

import sys

import duckdb

METADATA = (
    "SELECT file_name, count(DISTINCT row_group_id), sum(bloom_filter_length)"
    " FROM parquet_metadata($files) GROUP BY file_name ORDER BY file_name"
)
PROBE = (
    "SELECT DISTINCT file_name FROM parquet_bloom_probe($files, $column, $value)"
    " WHERE NOT bloom_filter_excludes ORDER BY file_name"
)

if __name__ == "__main__":
    folder, *asked = sys.argv[1:]
    given = {"files": f"{folder}/*.parquet"}
    if asked:
        given |= {"column": asked[0], "value": asked[1]}
    for row in duckdb.execute(PROBE if asked else METADATA, given).fetchall():
        print(*row)
