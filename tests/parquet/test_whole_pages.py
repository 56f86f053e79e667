"""Whole pages are inserted by the kernel: the same filters and the same errors as page by page."""

import random
import struct
import threading
from decimal import Decimal
from functools import partial
from itertools import product
from time import sleep

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
from oracle.specification import alp, delta_binary_packed, rle_run

import parquet_bloom as pb
from parquet_bloom import parallel
from parquet_bloom.files import open_file
from parquet_bloom.filters.sizing import Size
from parquet_bloom.native import _kernel
from parquet_bloom.parallel import start_helper, work_in_order
from parquet_bloom.parquet.filters.insertion import build_filter
from parquet_bloom.parquet.pages import page as page_module
from parquet_bloom.parquet.pages import whole_pages
from parquet_bloom.parquet.pages.codecs import ChunkBuffers
from parquet_bloom.parquet.pages.pages import chunk_runs, runs_to_insert
from parquet_bloom.parquet.pages.whole_pages import WholePages
from parquet_bloom.parquet.thrift.ttypes import (
    CompressionCodec,
    Encoding,
    FieldRepetitionType,
    PageType,
    Type,
)
from parquet_bloom.storage.source import LocalSource

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
        for part in runs(file.source, file.footer, chunk, ChunkBuffers()):
            before = getattr(part, "_reader", None) and part._reader._ordinal
            yield part
            if isinstance(part, WholePages):
                together.append(part._reader._ordinal - before)

    with open_file(path) as file:
        chunk = file.footer.chunk(0, file.footer.leaves[0])
        try:
            filter = build_filter(
                lambda: parts(file, chunk), chunk.leaf.type, 1 << 20, Size(max_bytes=1 << 16)
            )
        except pb.ParquetBloomError as error:
            return (type(error), str(error)), sum(together)
    return filter and filter.to_bytes(), sum(together)


def same(path):
    """How many pages came together, whether others help or not."""
    expected, _ = built(path, chunk_runs)
    found = built(path, runs_to_insert)
    assert found[0] == expected
    assert by_threads(path, 3) == found
    return found[1]


def by_threads(path, threads):
    """The same by so many threads, however few the pages are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole_pages, "STRETCH_BYTES", 1)
        patch.setattr(page_module, "AHEAD_BYTES", 0)
        patch.setattr(whole_pages, "HELPED_BYTES", 0)
        work = partial(built, runs=runs_to_insert)
        ((_, found),) = work_in_order([path], work, lambda _: 0, threads)
    return found


@pytest.mark.every(3)
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


# Values of every length that a batch of the kernel can end in, and longer ones than it takes.
LONG = ["x" * n + str(n % 7) for n in (*range(0, 40_000, 1000), 32_766, 32_767, 32_768, 70_000)]
ENCODED = {
    "DELTA_BINARY_PACKED": ("int32", "int64", "zeros", "nulls", "no values", "list"),
    "DELTA_LENGTH_BYTE_ARRAY": ("texts", "sorted", "some"),
    "DELTA_BYTE_ARRAY": ("texts", "sorted", "some", "fixed", "decimal"),
    "BYTE_STREAM_SPLIT": ("int32", "int64", "double", "float", "nulls", "list", "fixed", "decimal"),
}
COLUMNS["sorted"] = pa.array(sorted(TEXTS))
COLUMNS["some"] = pa.array(TEXTS, mask=RNG.random(ROWS) < 0.3)


def encoded(path, values, encoding, **options):
    """A file of one column in small pages."""
    pq.write_table(
        pa.table({"values": values}),
        path,
        use_dictionary=False,
        column_encoding=encoding,
        **({"data_page_size": 2000, "write_batch_size": 100} | options),
    )


@pytest.mark.every(2)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ENCODED)
def test_encodings(tmp_path, encoding, version):
    for name in ENCODED[encoding]:
        for codec in ("none", "snappy"):
            path = tmp_path / f"{name}.parquet"
            options = {"compression": codec, "data_page_version": version}
            encoded(path, COLUMNS[name], encoding, **options)
            assert same(path) > (-1 if name in ("no values", "list") else 0), (name, codec)


@pytest.mark.every(2)
@pytest.mark.parametrize("encoding", ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
def test_long_values(tmp_path, encoding):
    """Pages with one that is too long to be joined are read one by one."""
    path = tmp_path / "x.parquet"
    for values in (LONG, LONG[:33] * 100, sorted(LONG[:33]), [LONG[-1]] * 20):
        encoded(path, pa.array(values), encoding, write_batch_size=4)
        assert same(path) >= 0
    encoded(path, pa.array(["x" * 32_768] * 20), encoding, write_batch_size=1, data_page_size=1)
    assert same(path) == 19


def deltas(*numbers, block=128):
    return delta_binary_packed(numbers, block, 4)


# One of each three is an exception.
DOUBLES = [struct.pack("<d", number) for number in (1.25, -0.0, 7)]
FLOATS = [struct.pack("<f", number) for number in (1.25, float("nan"), -7)]

ODD_DELTAS = {
    "numbers": (Type.INT64, Encoding.DELTA_BINARY_PACKED, deltas(5, -7, 1 << 62), True),
    "a large block": (
        Type.INT64,
        Encoding.DELTA_BINARY_PACKED,
        deltas(5, -7, 9, block=1 << 16),
        False,
    ),
    "the largest": (Type.INT64, Encoding.DELTA_BINARY_PACKED, deltas(5, -7, 9, block=2048), True),
    "33 bits": (
        Type.INT32,
        Encoding.DELTA_BINARY_PACKED,
        deltas(-(1 << 31), (1 << 31) - 1, 0),
        True,
    ),
    "another count": (Type.INT64, Encoding.DELTA_BINARY_PACKED, deltas(5, 7, 8, 9), False),
    "no block": (Type.INT64, Encoding.DELTA_BINARY_PACKED, deltas(5, 7, 8)[:6], False),
    "no numbers": (Type.INT64, Encoding.DELTA_BINARY_PACKED, b"", False),
    "numbers of doubles": (Type.DOUBLE, Encoding.DELTA_BINARY_PACKED, deltas(5, 7, 8), False),
    "numbers of texts": (Type.BYTE_ARRAY, Encoding.DELTA_BINARY_PACKED, deltas(5, 7, 8), False),
    "lengths": (Type.BYTE_ARRAY, Encoding.DELTA_LENGTH_BYTE_ARRAY, deltas(1, 0, 2) + b"abc", True),
    "a length too much": (
        Type.BYTE_ARRAY,
        Encoding.DELTA_LENGTH_BYTE_ARRAY,
        deltas(1, 0, 3) + b"abc",
        False,
    ),
    "a negative length": (
        Type.BYTE_ARRAY,
        Encoding.DELTA_LENGTH_BYTE_ARRAY,
        deltas(1, -1, 3) + b"abc",
        False,
    ),
    "lengths of numbers": (
        Type.INT64,
        Encoding.DELTA_LENGTH_BYTE_ARRAY,
        deltas(1, 0, 2) + b"abc",
        False,
    ),
    "prefixes": (
        Type.BYTE_ARRAY,
        Encoding.DELTA_BYTE_ARRAY,
        deltas(0, 2, 1) + deltas(2, 0, 1) + b"abc",
        True,
    ),
    "a prefix of nothing": (
        Type.BYTE_ARRAY,
        Encoding.DELTA_BYTE_ARRAY,
        deltas(1, 0, 1) + deltas(2, 0, 1) + b"abc",
        False,
    ),
    "a prefix too long": (
        Type.BYTE_ARRAY,
        Encoding.DELTA_BYTE_ARRAY,
        deltas(0, 3, 1) + deltas(2, 0, 1) + b"abc",
        False,
    ),
    "a negative prefix": (
        Type.BYTE_ARRAY,
        Encoding.DELTA_BYTE_ARRAY,
        deltas(0, -1, 1) + deltas(2, 0, 1) + b"abc",
        False,
    ),
    "a suffix too long": (
        Type.BYTE_ARRAY,
        Encoding.DELTA_BYTE_ARRAY,
        deltas(0, 2, 1) + deltas(2, 0, 2) + b"abc",
        False,
    ),
    "no suffixes": (Type.BYTE_ARRAY, Encoding.DELTA_BYTE_ARRAY, deltas(0, 2, 1), False),
    "streams": (Type.DOUBLE, Encoding.BYTE_STREAM_SPLIT, bytes(range(24)), True),
    "a byte too few": (Type.DOUBLE, Encoding.BYTE_STREAM_SPLIT, bytes(23), False),
    "streams of texts": (Type.BYTE_ARRAY, Encoding.BYTE_STREAM_SPLIT, bytes(24), False),
    "decimals": (Type.DOUBLE, Encoding.ALP, alp(DOUBLES, 3, 2, 0), True),
    "narrow ones": (Type.FLOAT, Encoding.ALP, alp(FLOATS, 11, 2, 0), True),
    "larger vectors": (Type.FLOAT, Encoding.ALP, alp(FLOATS, 12, 2, 0), False),
    "a decimal more": (Type.DOUBLE, Encoding.ALP, alp([*DOUBLES, bytes(8)], 3, 2, 0), False),
    "decimals that are cut": (Type.DOUBLE, Encoding.ALP, alp(DOUBLES, 3, 2, 0)[:-1], False),
    "another mode": (Type.DOUBLE, Encoding.ALP, b"\1" + alp(DOUBLES, 3, 2, 0)[1:], False),
    "integers": (Type.INT64, Encoding.ALP, alp(DOUBLES, 3, 2, 0), False),
}


@pytest.mark.parametrize("name", ODD_DELTAS)
def test_odd_encodings(tmp_path, name):
    """A PLAIN page, after which others come together, as far as they can."""
    type, encoding, body, is_usual = ODD_DELTAS[name]
    plain = (
        byte_arrays(b"a")
        if type == Type.BYTE_ARRAY
        else bytes(4 if type in (Type.INT32, Type.FLOAT) else 8)
    )
    pages = [data_page(plain, 1), data_page(body, 3, encoding), data_page(plain, 1)]
    path = forged(tmp_path / "x.parquet", pages, 5, type=type)
    assert same(path) == (2 if is_usual else 0)


def test_few_bytes_that_repeat_much(tmp_path):
    """In the kernel as elsewhere, a page does not become larger than 128 MiB; its values, a little more
    than that, are all 32,000 times the same letter."""
    count = 4300
    texts = deltas(0, *[32_000] * (count - 1)) + deltas(32_000, *[0] * (count - 1)) + b"x" * 32_000
    plain = data_page(byte_arrays(b"a"), 1)
    pages = [plain, data_page(texts, count, Encoding.DELTA_BYTE_ARRAY), plain]
    path = forged(tmp_path / "x.parquet", pages, count + 2)
    found, _ = built(path, runs_to_insert)
    assert found == built(path, chunk_runs)[0]
    assert found[0] is pb.UnsupportedError
    assert "DELTA_BYTE_ARRAY: a page of 137568000 bytes" in found[1]


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
    "zeros behind the values": data_page(byte_arrays(b"d", b"e") + bytes(14), 2),
    "values behind the values": data_page(byte_arrays(b"d", b"e", b"f") + b"\5\0\0\0bc", 2),
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
    """fastparquet's, values that only look like it, other bytes, and too few."""
    good = int64s(*[7] * count)
    for body in (int64s(5, 0, 0), good + bytes(8), int64s(*[0] * count), good + b"abc", good[:-1]):
        pages = [data_page(int64s(1), 1), data_page(body, count), data_page(int64s(2), 1)]
        same(forged(tmp_path / "x.parquet", pages, count + 2, type=Type.INT64))
        levels = levels_v1(rle_run(1, count, 1))
        pages = [data_page(levels + int64s(*[1] * count), count), data_page(levels + body, count)]
        optional = {"type": Type.INT64, "repetition": FieldRepetitionType.OPTIONAL}
        same(forged(tmp_path / "x.parquet", pages, 2 * count, **optional))


DAMAGED = [
    *product(["texts", "nulls", "double", "list"], ["PLAIN"], ["none", "zstd"]),
    ("nulls", "DELTA_BINARY_PACKED", "none"),
    ("int32", "DELTA_BINARY_PACKED", "none"),
    ("some", "DELTA_LENGTH_BYTE_ARRAY", "none"),
    ("sorted", "DELTA_BYTE_ARRAY", "none"),
    ("fixed", "DELTA_BYTE_ARRAY", "none"),
    ("double", "BYTE_STREAM_SPLIT", "none"),
]


@pytest.mark.every(6)
@pytest.mark.parametrize(("name", "encoding", "codec"), DAMAGED)
def test_damage(tmp_path, name, encoding, codec):
    """Any byte of the pages."""
    path, damaged = tmp_path / "x.parquet", tmp_path / "damaged.parquet"
    small = {"data_page_size": 300, "write_batch_size": 20}
    encoded(path, COLUMNS[name].slice(0, 150), encoding, compression=codec, **small)
    data = path.read_bytes()
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    random.seed(1)
    for _ in range(100):
        other = bytearray(data)
        other[random.randrange(4, end)] = random.randrange(256)
        damaged.write_bytes(other)
        same(damaged)


def test_what_cannot_be(tmp_path):
    codec = None, ValueError, 1
    for column in (
        (Type.FIXED_LEN_BYTE_ARRAY, -1, False, 0, 0),
        (Type.FIXED_LEN_BYTE_ARRAY, 0, False, 0, 0),
        (Type.FIXED_LEN_BYTE_ARRAY, 2, True, 0, 0),
        (Type.INT32, 8, False, 0, 0),
        (Type.INT64, 4, False, 0, 0),
        (Type.BYTE_ARRAY, 8, False, 0, 0),
        (Type.INT64, 8, False, -1, 0),
        (Type.INT64, 8, False, 0, 1 << 31),
    ):
        with pytest.raises(ValueError, match=r"width|levels"):
            _kernel.WholePages(column, 1000, False, codec)
    with pytest.raises(ValueError, match="others: 8, expected 16 words"):
        _kernel.unite(_kernel.clear_words(2), _kernel.clear_words(1))
    pages = _kernel.WholePages((Type.INT64, 8, False, 0, 0), 1000, False, codec)
    with pytest.raises(ValueError, match="words: 7"):
        pages.insert(
            memoryview(bytearray(28)).cast("I"),
            memoryview(b""),
            memoryview(bytearray()),
            1,
            _kernel.Turns(),
        )


# --------------------------------------------------------------------------------------------
# Several threads on one chunk


def chunk_of(tmp_path, num_pages, bad=()):
    """A chunk of pages of one value each; `bad`: those whose checksums are wrong."""
    pages = [data_page(int64s(n), 1, crc=7 if n in bad else None) for n in range(num_pages)]
    return forged(tmp_path / "x.parquet", pages, num_pages, type=Type.INT64)


def test_every_thread_inserts(tmp_path, monkeypatch):
    """Each waits until all have a stretch."""
    together, names = threading.Barrier(2, timeout=30), set()
    insert = WholePages._insert

    def meet(self, *arguments):
        name = threading.current_thread().name
        if name not in names:
            names.add(name)
            together.wait()
        insert(self, *arguments)

    path = chunk_of(tmp_path, 40)
    expected = built(path, chunk_runs)[0]
    monkeypatch.setattr(WholePages, "_insert", meet)
    assert by_threads(path, 2)[0] == expected
    assert names == {threading.current_thread().name, "pbloom-helper_0"}


@pytest.mark.parametrize("values", [RNG.integers(0, 1 << 60, 60_000), [*map(str, range(60_000))]])
def test_threads_insert_in_turn(tmp_path, values):
    """Into few blocks, which all of them come to all the time: no bit is lost."""
    path = tmp_path / "x.parquet"
    pages = {"max_rows_per_page": 1000, "compression": "none", "use_dictionary": False}
    pq.write_table(pa.table({"values": values}), path, **pages)
    expected = built(path, chunk_runs)[0]
    for _ in range(20):
        assert by_threads(path, 4)[0] == expected


@pytest.mark.parametrize("bad", [{5, 20}, {20}])
def test_the_first_error_counts(tmp_path, monkeypatch, bad):
    """Whoever comes to page 5 waits there until another thread has stopped at page 20."""
    insert, stops = WholePages._insert, threading.Event()

    def late(self, stretch, *arguments):
        if stretch.place.num_pages == 5:
            assert stops.wait(30)
        insert(self, stretch, *arguments)
        if self._stops:
            stops.set()

    path = chunk_of(tmp_path, 40, bad)
    expected = built(path, chunk_runs)[0]
    assert "checksum" in expected[1]
    monkeypatch.setattr(WholePages, "_insert", late)
    assert by_threads(path, 2)[0] == expected
    assert stops.is_set()


def test_what_reading_raises(tmp_path, monkeypatch):
    """In the thread that helps, behind a page that is damaged: the page counts; without one, it does."""
    read = LocalSource.read_at

    def fails(self, offset, length):
        if threading.current_thread().name == "pbloom-helper_0":
            raise OSError(5, "Input/output error", "x.parquet")
        return read(self, offset, length)

    monkeypatch.setattr(LocalSource, "read_at", fails)
    path = chunk_of(tmp_path, 40, {1})
    assert "checksum" in by_threads(path, 2)[0][1]
    with pytest.raises(OSError, match="Input/output error"):
        by_threads(chunk_of(tmp_path, 400), 2)


def test_values_are_counted_once(tmp_path, monkeypatch):
    """Those of pages that are read again, as another thread has come to them before this one finds that
    page 30 is unusual."""
    insert, threads = WholePages._insert, 1

    def late(self, stretch, *arguments):
        for _ in range(3000 if threads > 1 and stretch.place.num_pages == 30 else 0):
            if any(place.num_pages > 40 for place, _ in self._inserted):
                break
            sleep(0.01)
        insert(self, stretch, *arguments)

    monkeypatch.setattr(WholePages, "_insert", late)
    usual = [data_page(byte_arrays(b"%d" % n), 1) for n in range(30)]
    pages = [*usual, ODD_PAGES["a few bytes more"], *usual]
    monkeypatch.setattr(whole_pages, "STRETCH_BYTES", 1)
    monkeypatch.setattr(whole_pages, "HELPED_BYTES", 0)
    monkeypatch.setattr(page_module, "AHEAD_BYTES", 0)
    path = forged(tmp_path / "x.parquet", pages, 62)
    pb.build(path, tmp_path / "y.parquet", columns=["values"])
    for threads in (1, 2, 3):
        report = pb.validate(tmp_path / "y.parquet", threads=threads)
        assert (report.ok, report.checked.values) == (True, 62)


def helpers_of(path, threads, monkeypatch):
    """How many threads helped to build the filters of a file."""
    helped, start = [], WholePages._helper

    def counted(self, *arguments):
        helper = start(self, *arguments)
        helped.extend([helper] if helper else [])
        return helper

    monkeypatch.setattr(WholePages, "_helper", counted)
    pb.build(path, columns=["values"], dry_run=True, threads=threads)
    return len(helped)


@pytest.mark.parametrize("threads", [1, 2])
def test_who_helps_with_one_chunk(tmp_path, monkeypatch, threads):
    path = tmp_path / "x.parquet"
    options = {"compression": "none", "use_dictionary": False, "data_page_size": 1 << 16}
    pq.write_table(pa.table({"values": COLUMNS["int64"]}), path, **options)
    assert helpers_of(path, threads, monkeypatch) == 0
    values = pa.array(RNG.integers(0, 1 << 60, 500_000))
    pq.write_table(pa.table({"values": values}), path, **options)
    assert helpers_of(path, threads, monkeypatch) == threads - 1


def test_who_helps_with_the_last_of_three_chunks():
    """Threads that have no chunk left; each of the others has one of its own."""

    def work(chunk):
        for _ in range(3000):
            helper = start_helper(lambda: helped.append(chunk), 1)
            if helper:
                helper.end()
            if helper or chunk < 2:
                return bool(helper)
            sleep(0.01)
        return False

    helped = []
    found = [answer for _, answer in work_in_order([0, 1, 2], work, lambda _: 1, 2)]
    assert (found, helped) == ([False, False, True], [2])
    assert start_helper(lambda: None, 1) is None


def test_nobody_helps_without_room(tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    options = {"compression": "none", "use_dictionary": False, "data_page_size": 1 << 16}
    values = pa.array(RNG.integers(0, 1 << 60, 500_000))
    pq.write_table(pa.table({"values": values}), path, **options)
    # What sources hold stays with the process.
    monkeypatch.setattr(parallel._budget, "aside", 0)
    monkeypatch.setattr(parallel._budget, "limit", 3 << 20)
    assert helpers_of(path, 2, monkeypatch) == 0
    monkeypatch.setattr(parallel._budget, "limit", 24 << 20)
    assert helpers_of(path, 2, monkeypatch) == 1
    assert not parallel._budget._held


def test_no_thread_to_be_had(tmp_path, monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    path = chunk_of(tmp_path, 40)
    expected = built(path, chunk_runs)[0]
    monkeypatch.setattr(threading.Thread, "start", start)
    assert by_threads(path, 2)[0] == expected
    assert not parallel._budget._held
