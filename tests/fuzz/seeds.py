"""Write the seeds of the fuzzer: small sound files with whatever a parser has a branch for.

    python tests/fuzz/seeds.py

One name per kind of file; other targets start from what is inside of these.
"""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from shutil import copyfile

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

import parquet_bloom as pb

FOLDER = Path(__file__).parent / "corpus" / "file"
FIXTURES = Path(__file__).parents[2] / "fixtures"

TABLE = pa.table(
    {
        "i": pa.array([7, -1, None, 2**31 - 1], pa.int32()),
        "l": pa.array([7, 2**40, -3, 7]),
        "f": pa.array([0.0, float("nan"), -1.5, None]),
        "s": ["a", None, "a", "longer than a word of eight bytes"],
        "b": [True, None, False, True],
        "d": [date(2020, 1, 1), None, date(1969, 12, 31), date(1, 1, 1)],
        "t": pa.array([datetime(2020, 1, 1, 1), None] * 2, pa.timestamp("us", "UTC")),
        "n": [[1, 2], [], None, [3]],
        "c": [Decimal("1.50"), None, Decimal("-7.25"), Decimal("0.00")],
    }
)
OTHERS = pa.table(
    {
        "x": pa.array([b"0123456789ab"] * 4, pa.binary(12)),
        "z": pa.array([time(1, 2, 3), None] * 2, pa.time64("us")),
        "u": pa.array([1, 2, 3, 4], pa.uint16()),
        "m": pa.array([[("k", 1)], [], None, [("k", 2)]], pa.map_(pa.string(), pa.int8())),
    }
)
WITH_FILTERS = {"ndv": 50, "fpp": 0.01}


def write(name: str, table: pa.Table = TABLE, **options: object) -> Path:
    path = FOLDER / f"{name}.parquet"
    pq.write_table(table, path, row_group_size=2, store_schema=False, **options)
    return path


def write_parquet() -> None:
    columns = [name for name in TABLE.column_names if name not in ("b", "n")]
    write("filters", bloom_filter_options=dict.fromkeys(columns, WITH_FILTERS))
    for codec in ("none", "snappy", "gzip", "zstd", "lz4", "brotli"):
        write(codec, TABLE.select(["l", "s"]), compression=codec, data_page_version="2.0")
    no_dictionary = {"use_dictionary": False, "compression": "none"}
    write("plain", **no_dictionary, data_page_size=16, write_page_index=True)
    delta = {"l": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY", "f": "BYTE_STREAM_SPLIT"}
    write("delta", TABLE.select(list(delta)), **no_dictionary, column_encoding=delta)
    lengths = {"s": "DELTA_LENGTH_BYTE_ARRAY"}
    write("lengths", TABLE.select(["s"]), **no_dictionary, column_encoding=lengths)
    # By a writer that knows ALP.
    copyfile(FIXTURES / "alp" / "rugo_float.parquet", FOLDER / "alp.parquet")
    write("int96", TABLE.select(["t"]), use_deprecated_int96_timestamps=True)
    write("others", OTHERS)
    for name, dialect in (("murmur3", pb.Murmur3()), ("statistics", pb.StatisticsFilter())):
        path = write(name, TABLE.select(["l", "s"]))
        pb.build(path, columns=["l", "s"], dialect=dialect, in_place=True)


def write_orc() -> None:
    plain = TABLE.drop_columns(["t"])
    for codec in ("uncompressed", "zlib", "snappy", "zstd"):
        path = FOLDER / f"{codec}.orc"
        orc.write_table(plain, path, compression=codec, stripe_size=1 << 16)
    pb.build(FOLDER / "zlib.orc", columns=["i", "l", "f", "s", "d"], in_place=True)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_parquet()
    write_orc()
