"""Whole PLAIN pages are inserted by the kernel: the same filters and the same errors as page by page."""

import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.pages import (
    byte_arrays,
    compressed,
    data_page,
    data_page_v2,
    dictionary_page,
    int64s,
    levels_v1,
    page,
)
from make.parquet_files import forged
from oracle.specification import rle_run

import parquet_bloom as pb
from parquet_bloom.filters.sizing import Size
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.build import build_filter
from parquet_bloom.parquet.pages.codecs import PageBuffer
from parquet_bloom.parquet.pages.pages import chunk_runs, runs_to_insert
from parquet_bloom.parquet.pages.plain_pages import PlainPages
from parquet_bloom.parquet.thrift.ttypes import (
    CompressionCodec,
    Encoding,
    FieldRepetitionType,
    PageType,
    Type,
)

ROWS = 6000
RNG = np.random.default_rng(7)
TEXTS = ["", "a", *(f"text {n} " + "x" * (n % 40) for n in range(ROWS - 2))]
COLUMNS = {
    "int32": pa.array(RNG.permutation(ROWS).astype(np.int32)),
    "int64": pa.array(RNG.integers(0, 1 << 60, ROWS)),
    "zeros": pa.array(RNG.integers(0, 3, ROWS)),
    "double": pa.array(RNG.choice([0.0, -0.0, 1.5, np.nan, 7.25], ROWS)),
    "float": pa.array(RNG.normal(size=ROWS).astype(np.float32)),
    "texts": pa.array(TEXTS),
    "nulls": pa.array(RNG.integers(0, 1 << 60, ROWS), mask=RNG.random(ROWS) < 0.5),
    "no values": pa.array([None] * ROWS, pa.int64()),
    "fixed": pa.array([bytes([n % 256] * 13) for n in range(ROWS)], pa.binary(13)),
    "decimal": pa.array([Decimal(n) for n in range(ROWS)], pa.decimal128(30, 2)),
    "list": pa.array([[n, None, n + 1] if n % 5 else None for n in range(ROWS)]),
}


def built(path, runs):
    """What a filter of the one chunk's values is, or the error, and how many pages came together."""
    together = []

    def parts(file, chunk):
        for part in runs(file.source, file.footer, chunk, PageBuffer()):
            before = getattr(part, "_reader", None) and part._reader._ordinal
            yield part
            if isinstance(part, PlainPages):
                together.append(part._reader._ordinal - before)

    with pb.open(path) as file:
        chunk = file.footer.chunk(0, file.footer.leaves[0])
        try:
            filter = build_filter(
                lambda: parts(file, chunk), chunk.leaf.type, 1 << 20, Size(max_bytes=1 << 16)
            )
        except pb.ParquetBloomError as error:
            return (type(error), str(error)), sum(together)
    return filter and filter.to_bytes(), sum(together)


def same(path):
    """How many pages came together."""
    expected, _ = built(path, chunk_runs)
    found, together = built(path, runs_to_insert)
    assert found == expected
    return together


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_columns(tmp_path, codec, version):
    for name, values in COLUMNS.items():
        path = tmp_path / f"{name}.parquet"
        pq.write_table(
            pa.table({"values": values}),
            path,
            compression=codec,
            use_dictionary=False,
            data_page_size=2000,
            write_batch_size=100,
            data_page_version=version,
            write_page_checksum=version == "2.0",
        )
        assert same(path) > (5 if name != "no values" else -1)


def test_a_dictionary_that_is_given_up(tmp_path):
    path = tmp_path / "x.parquet"
    options = {"dictionary_pagesize_limit": 5000, "data_page_size": 2000, "write_batch_size": 100}
    pq.write_table(pa.table({"values": COLUMNS["texts"]}), path, **options)
    assert same(path) > 5


def test_pages_larger_than_a_stretch(tmp_path):
    path = tmp_path / "x.parquet"
    values = pa.array(RNG.integers(0, 1 << 60, 400_000))
    options = {"compression": "none", "use_dictionary": False, "max_rows_per_page": 1 << 20}
    pq.write_table(pa.table({"values": values}), path, **options)
    assert same(path) == 3


PLAIN_PAGE = data_page(byte_arrays(b"a", b"bc"), 2)
ODD_PAGES = {
    "no page": b"",
    "one value too many": data_page(byte_arrays(b"d"), 9),
    "a value that is cut": data_page(byte_arrays(b"d") + b"\5\0\0\0bc", 2),
    "a few bytes more": data_page(byte_arrays(b"d", b"e") + b"xyz", 2),
    "no values": data_page(byte_arrays(b"d", b"e"), None),
    "less than no values": data_page(byte_arrays(b"d", b"e"), -2),
    "not the body's checksum": data_page(byte_arrays(b"d", b"e"), 2, crc=5),
    "an index page": page(PageType.INDEX_PAGE, b"abc"),
    "a dictionary": dictionary_page(byte_arrays(b"d"), 1),
    "another size": data_page(byte_arrays(b"d", b"e"), 2, uncompressed_page_size=11),
    "no size": data_page(byte_arrays(b"d", b"e"), 2, uncompressed_page_size=-1),
    "past the end": data_page(byte_arrays(b"d", b"e"), 2, compressed_page_size=1 << 20),
    "another encoding": data_page(bytes([1]) + rle_run(0, 2, 1), 2, Encoding.RLE_DICTIONARY),
    "levels of version 2": data_page_v2(b"abc", byte_arrays(b"d", b"e"), 2, 0),
    "no header": b"\xff" * 30,
}


@pytest.mark.parametrize("name", ODD_PAGES)
@pytest.mark.parametrize("codec", [CompressionCodec.UNCOMPRESSED, CompressionCodec.SNAPPY])
def test_odd_pages(tmp_path, name, codec):
    plain = byte_arrays(b"a", b"bc")
    packed = compressed(codec, plain)
    usual = data_page(packed, 2, uncompressed_page_size=len(plain))
    for before in (1, 2, 3):
        pages = [usual] * before + [ODD_PAGES[name], usual, usual]
        path = forged(tmp_path / "x.parquet", pages, 2 * before + 6, codec=codec)
        assert same(path) >= before - 1


@pytest.mark.parametrize("count", [1, 2, 3])
def test_padding(tmp_path, count):
    """fastparquet's, and values that only look like it."""
    for body in (int64s(5, 0, 0), int64s(*[7] * count) + bytes(8), int64s(*[0] * count)):
        pages = [data_page(int64s(1), 1), data_page(body, count), data_page(int64s(2), 1)]
        same(forged(tmp_path / "x.parquet", pages, count + 2, type=Type.INT64))
        levels = levels_v1(rle_run(1, count, 1))
        pages = [data_page(levels + int64s(*[1] * count), count), data_page(levels + body, count)]
        optional = {"type": Type.INT64, "repetition": FieldRepetitionType.OPTIONAL}
        same(forged(tmp_path / "x.parquet", pages, 2 * count, **optional))


@pytest.mark.parametrize("codec", ["none", "zstd"])
@pytest.mark.parametrize("name", ["texts", "nulls", "double", "list"])
def test_damage(tmp_path, name, codec):
    """Any byte of the pages."""
    path, damaged = tmp_path / "x.parquet", tmp_path / "damaged.parquet"
    pq.write_table(
        pa.table({"values": COLUMNS[name].slice(0, 150)}),
        path,
        compression=codec,
        use_dictionary=False,
        data_page_size=300,
        write_batch_size=20,
    )
    data = path.read_bytes()
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    random.seed(1)
    for _ in range(150):
        other = bytearray(data)
        other[random.randrange(4, end)] = random.randrange(256)
        damaged.write_bytes(other)
        same(damaged)


def test_what_cannot_be(tmp_path):
    codec = None, ValueError, 1
    for column in ((-1, False, 0, 0), (2, True, 0, 0), (8, False, -1, 0), (8, False, 0, 1 << 31)):
        with pytest.raises(ValueError, match=r"width|levels"):
            _kernel.PlainPages(column, 1000, False, codec)
    pages = _kernel.PlainPages((8, False, 0, 0), 1000, False, codec)
    with pytest.raises(ValueError, match="words: 7"):
        pages.insert(
            memoryview(bytearray(28)).cast("I"), memoryview(b""), memoryview(bytearray()), 1
        )
