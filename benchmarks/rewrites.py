"""How one adds a filter to an existing file without pbloom: read everything, write everything.

Run as a program, `python -m benchmarks.rewrites WRITER SOURCE OUTPUT COLUMN`, of a file or of all files in
a folder, so that time and
memory are those of one whole process. Each writer is left at its defaults but for zstd and the
filter: it is asked for 1 % and told the number of distinct values where it can be.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

FPP = 0.01
NDV = 1 << 20  # as many as pyarrow and DataFusion put into a row group by default


def pyarrow(source: str, output: str, column: str) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(source)
    pq.write_table(
        table,
        output,
        compression="zstd",
        bloom_filter_options={column: {"ndv": min(NDV, table.num_rows), "fpp": FPP}},
    )


def pyarrow_orc(source: str, output: str, column: str) -> None:
    """Columns count from 1, because 0 is the row."""
    from pyarrow import orc

    table = orc.read_table(source)
    orc.write_table(
        table,
        output,
        compression="zstd",
        bloom_filter_columns=[1 + table.column_names.index(column)],
        bloom_filter_fpp=FPP,
    )


def duckdb(source: str, output: str, column: str) -> None:
    """DuckDB takes no column: it writes filters for every dictionary-encoded chunk, and for none
    of the others."""
    import duckdb

    duckdb.execute(
        f"COPY (FROM read_parquet('{source}')) TO '{output}' (FORMAT parquet, COMPRESSION zstd,"
        f" WRITE_BLOOM_FILTER true, BLOOM_FILTER_FALSE_POSITIVE_RATIO {FPP})"
    )


def datafusion(source: str, output: str, column: str) -> None:
    """Its default is zstd at level 3."""
    _datafusion(source, output, column, "zstd(3)")


def datafusion_1(source: str, output: str, column: str) -> None:
    """At level 1, which is pyarrow's default."""
    _datafusion(source, output, column, "zstd(1)")


def _datafusion(source: str, output: str, column: str, codec: str) -> None:
    from datafusion import SessionContext

    context = SessionContext()
    context.register_parquet("source", source)
    context.sql(
        f"COPY source TO '{output}' STORED AS PARQUET OPTIONS ("
        f" 'compression' '{codec}', 'bloom_filter_enabled::{column}' 'true',"
        f" 'bloom_filter_fpp::{column}' '{FPP}', 'bloom_filter_ndv::{column}' '{NDV}')"
    ).collect()


WRITERS: dict[str, Callable[[str, str, str], None]] = {
    "pyarrow": pyarrow,
    "pyarrow_orc": pyarrow_orc,
    "duckdb": duckdb,
    "datafusion": datafusion,
    "datafusion_1": datafusion_1,
}

if __name__ == "__main__":
    writer, source, output, column = sys.argv[1:]
    pairs = [(source, output)]
    if Path(source).is_dir():
        Path(output).mkdir()
        pairs = [(str(file), f"{output}/{file.name}") for file in Path(source).iterdir()]
    for pair in pairs:
        WRITERS[writer](*pair, column)
