"""Files that nobody thought of: random types, values and nesting, written with random settings."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

NUMBERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64())
OTHERS = (pa.string(), pa.string(), pa.binary(), pa.date32(), pa.timestamp("us", "UTC"))
ONLY_PARQUET = (
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.time32("ms"), pa.time64("us")),
    *(pa.decimal128(9, 2), pa.decimal128(18, 4), pa.decimal128(38, 0)),
    *(pa.binary(width) for width in (1, 4, 7, 8, 12, 16, 40)),
)
ENCODINGS = {
    "INT32": ("DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "PLAIN"),
    "INT64": ("DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "PLAIN"),
    "FLOAT": ("BYTE_STREAM_SPLIT", "PLAIN"),
    "DOUBLE": ("BYTE_STREAM_SPLIT", "PLAIN"),
    "BYTE_ARRAY": ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "PLAIN"),
    "FIXED_LEN_BYTE_ARRAY": ("BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY", "PLAIN"),
}

Settings = dict[str, Any]


class Written(NamedTuple):
    """What is in a file, and how its writer was told to write it."""

    table: pa.Table
    settings: Settings


def write_parquet(random: Random, path: Path) -> Written:
    table = random_table(random, (*NUMBERS, *OTHERS, *ONLY_PARQUET))
    settings: Settings = {
        "compression": random.choice(("none", "snappy", "gzip", "zstd", "brotli", "lz4")),
        "data_page_version": random.choice(("1.0", "2.0")),
        "data_page_size": random.choice((64, 1000, 1 << 20)),
        "write_batch_size": random.choice((1, 16, 1024)),
        "row_group_size": max(1, table.num_rows // random.choice((1, 2, 3))),
        "dictionary_pagesize_limit": random.choice((100, 2000, 1 << 20)),
        "store_decimal_as_integer": random.random() < 0.5,
        "write_page_index": random.random() < 0.5,
        "use_dictionary": random.random() < 0.5,
    }
    pq.write_table(table, path, **settings)
    if not settings["use_dictionary"]:
        schema = pq.read_metadata(path).schema
        columns = [schema.column(index) for index in range(len(schema))]
        chosen = {each.path: random.choice(ENCODINGS[each.physical_type]) for each in columns}
        settings["column_encoding"] = chosen
        pq.write_table(table, path, **settings)
    return Written(table, settings)


def write_orc(random: Random, path: Path) -> Written:
    table = random_table(random, (*NUMBERS, *OTHERS, pa.decimal128(18, 4), pa.decimal128(38, 0)))
    settings: Settings = {
        "compression": random.choice(("uncompressed", "snappy", "zlib", "zstd", "lz4")),
        "compression_block_size": random.choice((1 << 16, 1 << 18)),
        "stripe_size": random.choice((1000, 1 << 26)),
        "batch_size": random.choice((100, 1024)),
        "row_index_stride": random.choice((100, 1000, 10_000)),
        "dictionary_key_size_threshold": random.choice((0.0, 0.8)),
        "file_version": random.choice(("0.11", "0.12")),
    }
    orc.write_table(table, path, **settings)
    return Written(table, settings)


def random_table(random: Random, kinds: tuple[pa.DataType, ...]) -> pa.Table:
    count = random.choice((1, 10, 100, 1000))
    return pa.table(
        {f"c{index}": _column(random, random.choice(kinds), count) for index in range(3)}
    )


def _column(random: Random, kind: pa.DataType, count: int) -> pa.Array:
    stored = [_value(random, kind) for _ in range(random.choice((1, 5, count)))]
    nulls = random.choice((0, 0, 0.1, 0.9, 1))

    def value() -> Any:
        return None if random.random() < nulls else random.choice(stored)

    nesting = random.choice(("none", "none", "list", "struct", "list of structs"))
    if nesting == "none":
        return pa.array([value() for _ in range(count)], kind)
    if nesting == "struct":
        groups = [random.choice((None, {"a": value()}, {"a": value()})) for _ in range(count)]
        return pa.array(groups, pa.struct([("a", kind)]))
    lists = [[value() for _ in range(random.randrange(4))] for _ in range(count)]
    if nesting == "list":
        return pa.array([random.choice((None, each, each)) for each in lists], pa.list_(kind))
    below = [[{"a": item} for item in each] for each in lists]
    return pa.array(below, pa.list_(pa.struct([("a", kind)])))


def _value(random: Random, kind: pa.DataType) -> Any:
    if pa.types.is_integer(kind):
        low, high = np.iinfo(kind.to_pandas_dtype()).min, np.iinfo(kind.to_pandas_dtype()).max
        return random.choice((0, 1, int(low), int(high), random.randint(low, high)))
    if pa.types.is_floating(kind):
        return random.choice((0.0, -0.0, 1.5, float("inf"), float(np.float32(random.gauss(0, 9)))))
    if pa.types.is_decimal(kind):
        most = 10**kind.precision - 1
        # More digits than Python's decimals keep when they are calculated with.
        return Decimal(f"{random.choice((0, 1, -most, random.randint(-most, most)))}e-{kind.scale}")
    if pa.types.is_fixed_size_binary(kind):
        return random.randbytes(kind.byte_width)
    if pa.types.is_binary(kind):
        return random.randbytes(random.randrange(40))
    if pa.types.is_string(kind):
        return _text(random)
    if pa.types.is_date(kind):
        return date(1970, 1, 1) + timedelta(days=random.randint(-10_000, 30_000))
    if pa.types.is_time(kind):
        return time(random.randrange(24), microsecond=1000 * random.randrange(1000))
    moment = datetime(1970, 1, 1, tzinfo=UTC)
    return moment + timedelta(milliseconds=random.randint(0, 10**12))


def _text(random: Random) -> str:
    lengths = (0, 1, 3, 4, 8, 16, 31, 32, 33, 64, 300)
    return random.choice(
        (
            "é" * random.choice(lengths),
            "common/prefix/" * random.randrange(4) + str(random.randrange(1000)),
            f"{random.randrange(10**8):08}",
        )
    )
