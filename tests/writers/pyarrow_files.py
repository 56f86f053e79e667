"""Files of pyarrow: every type, in every encoding, page version and codec that it takes.

python pyarrow_files.py FOLDER
"""

import io
import sys
from pathlib import Path

import arrow_columns
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

GROUP = 160


def encoding_of(kind):
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        return "DELTA_BINARY_PACKED"
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind):
        return "DELTA_BYTE_ARRAY"
    return "BYTE_STREAM_SPLIT" if pa.types.is_floating(kind) else None


def write(folder, name, makers=arrow_columns.PARQUET, **options):
    def attempt(table):
        pq.write_table(table, io.BytesIO(), **options)

    table, refused = arrow_columns.table(makers, attempt)
    pq.write_table(table, folder / f"{name}.parquet", row_group_size=GROUP, **options)
    for column, why in refused.items():
        print(f"{name}: {column}: {why}", file=sys.stderr)


def encoded(folder):
    table, _ = arrow_columns.table(
        (arrow_columns.numbers, arrow_columns.bytes_and_texts, arrow_columns.moments),
        lambda table: pq.write_table(table, io.BytesIO()),
    )
    encodings = {field.name: encoding_of(field.type) for field in table.schema}
    encodings = {name: encoding for name, encoding in encodings.items() if encoding}
    table = table.select(list(encodings))
    pq.write_table(
        table,
        folder / "encoded.parquet",
        row_group_size=GROUP,
        use_dictionary=False,
        column_encoding=encodings,
        compression="brotli",
    )


def main(folder):
    write(folder, "default")
    write(folder, "simple", arrow_columns.SIMPLE)
    write(
        folder,
        "plain",
        use_dictionary=False,
        data_page_version="2.0",
        compression="zstd",
        data_page_size=2000,
    )
    write(
        folder,
        "int96",
        use_deprecated_int96_timestamps=True,
        compression="gzip",
        dictionary_pagesize_limit=1000,
        data_page_size=1000,
    )
    encoded(folder)
    if "store_decimal_as_integer" in pq.write_table.__doc__:
        write(folder, "integers", store_decimal_as_integer=True, compression="none")
    if "bloom_filter_options" in pq.write_table.__doc__:
        filters(folder)
    write_orc(folder)
    print(pa.__version__)


def filters(folder):
    """With filters of its own, on what it gives them to."""

    def attempt(table):
        (name,) = table.column_names
        pq.write_table(table, io.BytesIO(), bloom_filter_options={name: {"ndv": 1000, "fpp": 0.01}})

    simple = [maker for maker in arrow_columns.PARQUET if maker is not arrow_columns.nested]
    table, refused = arrow_columns.table(simple, attempt)
    options = {name: {"ndv": 1000, "fpp": 0.01} for name in table.column_names}
    pq.write_table(
        table, folder / "own.parquet", row_group_size=GROUP, bloom_filter_options=options
    )
    for column, why in refused.items():
        print(f"own: {column}: {why}", file=sys.stderr)


def write_orc(folder):
    def attempt(table):
        orc.write_table(table, io.BytesIO(), compression="zstd")

    table, refused = arrow_columns.table(arrow_columns.ORC, attempt)
    table = pa.concat_tables([table] * 3)
    # All of them, those inside lists and structs, too.
    own = list(range(64))
    orc.write_table(
        table,
        folder / "own.orc",
        compression="zstd",
        row_index_stride=1000,
        bloom_filter_columns=own,
    )
    for column, why in refused.items():
        print(f"orc: {column}: {why}", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
