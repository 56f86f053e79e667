"""Files that break PB2xx: portability."""

import struct
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from conftest import FIXTURES
from make.defects_files import Defect, encrypted, integers, making, sound, without_filters
from make.defects_structure import COMPRESSION_AT, MEMBER_2
from make.filters import (
    bits_of,
    bitset,
    filter_header,
    inserted_before_footer,
    stored_filter,
    with_bits,
    with_filter_bytes,
    with_header,
)
from make.footers import footer_start, with_created_by, with_key, with_meta, without_lengths
from make.pages import data_page
from make.parquet_files import Column, built, forge, written
from make.unusual_forms import days_late, hashed_as, timestamps

from parquet_bloom.parquet.thrift import ttypes

# Large enough for FPP within 1 %, and three quarters of a power of two.
ODD_BLOCKS = 96


def too_large(folder: Path) -> Path:
    """256 MiB, which are a hole in the file but for one bit."""
    path = folder / "hole.parquet"
    header, data, num_bytes = filter_header(1 << 28), without_filters(), 1 << 28
    start = footer_start(data)
    place = {"bloom_filter_offset": start, "bloom_filter_length": len(header) + num_bytes}
    with path.open("wb") as file:
        file.write(data[:start] + header)
        file.seek(num_bytes - 1, 1)
        file.write(b"\x01" + with_meta(data, 0, 0, **place)[start:])
    return path


def of_odd_blocks() -> bytes:
    return with_bits(sound(), bits_of(integers(0), ODD_BLOCKS))


def small() -> bytes:
    values = integers(0)[:20]
    data = written(pa.table({"a": pa.array(values, pa.int64()), "t": ["x" * 100] * 20}))
    return with_bits(data, bits_of(values, 1))


def out_of_order() -> bytes:
    """The first filter a second time, behind all others."""
    return with_filter_bytes(sound(), 0, 0, stored_filter(bitset(sound())))


def fixture(name: str) -> Callable[[], bytes]:
    return (FIXTURES / f"{name}.parquet").read_bytes


def built_fixture(name: str, column: str) -> bytes:
    return built(fixture(name)(), [column])


def halves() -> bytes:
    """pyarrow hashes the two bytes of a FLOAT16 and nothing else."""
    values = pa.array(np.arange(500, dtype=np.float16))
    return written(pa.table({"a": values}), bloom_filter_options={"a": {"ndv": 500, "fpp": 0.01}})


def intervals() -> bytes:
    """Filters as the format has them, in a file that claims to have DuckDB's."""
    values = [struct.pack("<3I", 0, 30 + row, 0) for row in range(200)]
    kind = {"type_length": 12, "converted_type": ttypes.ConvertedType.INTERVAL}
    pages = [data_page(b"".join(values), len(values))]
    flba = ttypes.Type.FIXED_LEN_BYTE_ARRAY
    data = forge(Column(pages, len(values), "interval", flba, element=kind))
    data = with_filter_bytes(data, 0, 0, stored_filter(bits_of(values, 16)))
    return with_key(data, "duckdb.interval_bloom_filter", "normalized-v1")


def lost_by_readers(kind: pa.DataType) -> bytes:
    """Nothing is wrong with it but how some readers look its values up."""
    values = [Decimal(row) for row in range(400)]
    array = pa.array([b"%d" % value for value in values] if kind == pa.binary() else values, kind)
    return built(written(pa.table({"a": array, "t": ["x" * 100] * 400})), "a")


def by(created_by: str, data: Callable[[], bytes] = sound) -> Callable[[Path], Path]:
    return making(lambda: with_created_by(data(), created_by))


def troubled(
    created_by: str, issue: str, data: Callable[[], bytes] = sound, proof: str | None = None
) -> Defect:
    """`proof`: what is wrong with the file, if it has the trouble and is not just suspected."""
    make, beside = by(created_by, data), frozenset({proof} if proof else ())
    return Defect(created_by, "PB205", make, None, None, issue=issue, beside=beside)


def unnamed() -> bytes:
    """A header as @dsnp/parquetjs writes it: unions without a member."""
    empty = {
        "algorithm": ttypes.BloomFilterAlgorithm(),
        "hash": ttypes.BloomFilterHash(),
        "compression": ttypes.BloomFilterCompression(),
    }
    stored = filter_header(1024, **empty) + bytes(1024)
    data, start = inserted_before_footer(without_filters(), stored)
    return with_meta(data, 0, 0, bloom_filter_offset=start)


def no_lengths() -> bytes:
    return without_lengths(sound())


def plaintext() -> bytes:
    return encrypted(sound(), 0)


SIZES = (
    Defect("three quarters of a power", "PB201", making(of_odd_blocks), issue="B23"),
    Defect(
        "build --exact-blocks",
        "PB201",
        making(lambda: built(without_filters(), "a", exact_blocks=True)),
        row_group=1,
    ),
    Defect("one block", "PB202", making(small)),
    Defect("256 MiB", "PB203", too_large),
    Defect(
        "GZIP",
        "PB204",
        making(lambda: with_header(sound(), COMPRESSION_AT, MEMBER_2)),
        issue="B24",
    ),
    Defect("@dsnp/parquetjs", "PB214", making(unnamed)),
    Defect("first behind the others", "PB206", making(out_of_order), column="s"),
)

WRITERS = (
    troubled("parquet-mr version 1.13.1 (build db418310)", "B1", no_lengths, "PB111"),
    troubled("parquet-mr version 1.17.0 (build fac0c746)", "B9", fixture("java_filters"), "PB402"),
    troubled("Trino version 470 (build n/a)", "B2", no_lengths, "PB111"),
    troubled("Trino version 459 (build n/a)", "B8"),
    troubled("impala version 4.4.0-RELEASE (build 8a48ddb1)", "B2", no_lengths, "PB111"),
    troubled("parquet-cpp-arrow version 11.0.0", "B25"),
    troubled("parquet-go version 18.4.0", "B19"),
    troubled("parquet-go version 18.6.0", "B9"),
    troubled("github.com/segmentio/parquet-go version 0.0.0(build )", "B9"),
    troubled("parquet-rs version 57.3.2", "B10", plaintext, "PB501"),
)

TYPES = (
    Defect(
        "DataFusion",
        "PB207",
        making(fixture("datafusion_filters")),
        column="boolean",
        issue="B31",
    ),
    Defect(
        "parquet-java",
        "PB207",
        making(fixture("java_filters")),
        column="boolean",
        issue="B31",
        beside=frozenset({"PB402"}),
    ),
    *(
        Defect(
            column,
            "PB208",
            making(partial(built_fixture, "java_types", column)),
            column=column,
        )
        for column in ("decimal_minimal", "decimal_padded", "decimal_wide")
    ),
    Defect("pyarrow", "PB209", making(halves), deep=True),
    Defect(
        "with DuckDB's key", "PB210", making(intervals), column="interval", issue="B31", deep=True
    ),
    Defect(
        "pyarrow 21",
        "PB211",
        making(lambda: hashed_as(timestamps([days_late(1)]), [days_late(1)], 2)),
        column="t",
        deep=True,
    ),
    *(
        Defect(name, "PB212", making(partial(lost_by_readers, kind)), issue=issue)
        for name, kind, issue in (
            ("pyarrow's decimals", pa.decimal128(9, 2), "B12"),
            ("blobs", pa.binary(), "B15"),
            ("more than 38 digits", pa.decimal256(40, 2), None),
        )
    ),
)

PORTABILITY = (*SIZES, *WRITERS, *TYPES)
