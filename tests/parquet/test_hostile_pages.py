"""Column chunks and pages whose numbers lie, and small files that would take a lot of memory."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from make.commands import Outcome, build_refused, outcome, verdicts
from make.pages import (
    HONEST,
    byte_arrays,
    compressed,
    data_page,
    dictionary_page,
    int64s,
    levels_v1,
    page,
    v1,
    v2,
)
from make.parquet_files import Column, forge
from oracle.specification import rle_run

import parquet_bloom as pb
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import (
    CompressionCodec,
    Encoding,
    FieldRepetitionType,
    PageType,
    Type,
)

CODECS = [
    CompressionCodec.SNAPPY,
    CompressionCodec.GZIP,
    CompressionCodec.BROTLI,
    CompressionCodec.LZ4,
    CompressionCodec.ZSTD,
    CompressionCodec.LZ4_RAW,
]
# MiB that are enough for Python, numpy, pyarrow, the largest filter and a page of some megabytes.
PEAK = 600


# ------------------------------------------------------------------------------------------------
# Column chunks and pages


def test_the_forge_makes_good_files(write: Callable[[bytes], Path]) -> None:
    path = write(forge(Column([HONEST], 3)))
    assert pq.read_table(path)["a"].to_pylist() == [1, 2, 3]
    assert len(pb.build(path, in_place=True, columns=["a"]).filters) == 1
    assert verdicts(path, "a", 2) == ["maybe"]


BAD_META: dict[str, dict[str, Any]] = {
    "num_values negative": {"num_values": -1},
    "num_values huge": {"num_values": 2**62},
    "num_values missing": {"num_values": None},
    "num_values too many": {"num_values": 4},
    "num_values too few": {"num_values": 2},
    "codec missing": {"codec": None},
    "codec wrong": {"codec": CompressionCodec.ZSTD},
    "type of another column": {"type": Type.INT32},
    "data_page_offset missing": {"data_page_offset": None},
    "data_page_offset zero": {"data_page_offset": 0},
    "data_page_offset negative": {"data_page_offset": -1},
    "data_page_offset inside a page": {"data_page_offset": 9},
    "data_page_offset beyond the file": {"data_page_offset": 2**40},
    "data_page_offset far beyond": {"data_page_offset": 2**63 - 1},
}


@pytest.mark.parametrize("lie", BAD_META)
def test_column_meta_data_lies(write: Callable[[bytes], Path], lie: str) -> None:
    build_refused(write(forge(Column([HONEST], 3, meta=BAD_META[lie]))))


# (pages, values in the chunk): the pages say something that cannot be.
BAD_PAGES: dict[str, tuple[list[bytes], int]] = {
    "compressed size negative": ([data_page(int64s(1), 1, compressed_page_size=-1)], 1),
    "compressed size huge": ([data_page(int64s(1), 1, compressed_page_size=2**31 - 1)], 1),
    "compressed size into the footer": ([data_page(int64s(1), 1, compressed_page_size=9)], 1),
    "compressed size missing": ([data_page(int64s(1), 1, compressed_page_size=None)], 1),
    "uncompressed size negative": ([data_page(int64s(1), 1, uncompressed_page_size=-1)], 1),
    "uncompressed size huge": ([data_page(int64s(1), 1, uncompressed_page_size=2**31 - 1)], 1),
    "uncompressed size zero": ([data_page(int64s(1), 1, uncompressed_page_size=0)], 1),
    "values missing": ([data_page(int64s(1), 3)], 3),
    "values cut": ([data_page(int64s(1, 2)[:-1], 2)], 2),
    "num_values negative": ([data_page(int64s(1), -1)], 1),
    "num_values missing": ([data_page(int64s(1), None)], 1),
    "first page claims the second's": (
        [data_page(int64s(1, 2), 4), data_page(int64s(3, 4), 2)],
        4,
    ),
    "one page more than num_values": (
        [data_page(int64s(1, 2), 2), data_page(int64s(3, 4), 2)],
        2,
    ),
    "no header": ([page(PageType.DATA_PAGE, int64s(1))], 1),
    "the header of the other version": (
        [page(PageType.DATA_PAGE, int64s(1), data_page_header_v2=v2(1))],
        1,
    ),
    "the header of the other version, 2": (
        [page(PageType.DATA_PAGE_V2, int64s(1), data_page_header=v1(1))],
        1,
    ),
    "v2 levels longer than the page": (
        [
            page(
                PageType.DATA_PAGE_V2,
                int64s(1),
                data_page_header_v2=v2(1, definition_levels_byte_length=99),
            )
        ],
        1,
    ),
    "v2 levels of negative length": (
        [
            page(
                PageType.DATA_PAGE_V2,
                int64s(1),
                data_page_header_v2=v2(1, repetition_levels_byte_length=-8),
            )
        ],
        1,
    ),
    "type missing": ([page(None, int64s(1), data_page_header=v1(1))], 1),
    "encoding missing": ([page(PageType.DATA_PAGE, int64s(1), data_page_header=v1(1, None))], 1),
    "checksum wrong": ([data_page(int64s(1), 1, crc=12345)], 1),
    "dictionary missing": ([data_page(b"\1\2\0", 1, Encoding.RLE_DICTIONARY)], 1),
    "dictionary after its page": (
        [data_page(b"\1\2\0", 1, Encoding.RLE_DICTIONARY), dictionary_page(int64s(1), 1)],
        1,
    ),
    "dictionary of another size": (
        [dictionary_page(int64s(1, 2), 3), data_page(b"\1\2\0", 1, Encoding.RLE_DICTIONARY)],
        1,
    ),
    "dictionary without a size": (
        [dictionary_page(int64s(1, 2), None), data_page(b"\1\2\0", 1, Encoding.RLE_DICTIONARY)],
        1,
    ),
    "dictionary cut": (
        [dictionary_page(int64s(1, 2)[:-3], 2), data_page(b"\1\2\0", 1, Encoding.RLE_DICTIONARY)],
        1,
    ),
    "dictionary without a header": (
        [page(PageType.DICTIONARY_PAGE, int64s(1)), data_page(b"\1\2\0", 1, 8)],
        1,
    ),
    "no page": ([], 1),
    "not Thrift": ([b"\xff" * 40], 1),
    "DELTA_BINARY_PACKED of nothing": ([data_page(b"", 1, Encoding.DELTA_BINARY_PACKED)], 1),
    "DELTA_BINARY_PACKED at random": (
        [data_page(b"\x80\x01\x04\xff\xff\xff\xff\x0f\x02", 5, Encoding.DELTA_BINARY_PACKED)],
        5,
    ),
    "BYTE_STREAM_SPLIT cut": ([data_page(b"1234567", 1, Encoding.BYTE_STREAM_SPLIT)], 1),
}


@pytest.mark.parametrize("lie", BAD_PAGES)
def test_pages_lie(write: Callable[[bytes], Path], lie: str) -> None:
    pages, num_values = BAD_PAGES[lie]
    build_refused(write(forge(Column(pages, num_values))))


@pytest.mark.parametrize("number", [99, -1])
@pytest.mark.parametrize("of", ["codec", "encoding", "page type"])
def test_pages_that_nobody_knows_are_left(
    write: Callable[[bytes], Path], of: str, number: int
) -> None:
    """A later version may know them; of other columns, all is known."""
    pages = [data_page(int64s(1), 1, number if of == "encoding" else Encoding.PLAIN)]
    if of == "page type":
        pages = [page(number, int64s(1), data_page_header=v1(1))]
    unknown = Column(pages, 1, meta={"codec": number} if of == "codec" else {})
    path = write(forge(unknown, Column([data_page(int64s(1), 1)], 1, name="b")))
    result = outcome("build", path, "-c", "a", "-c", "b", "-o", path.parent / "out.parquet")
    assert (result.code, result.stderr) == (0, "")
    _, built, skipped = result.stdout.splitlines()[1:]
    assert built.startswith("b\t1\t")
    assert skipped == f"skipped a, row group 0: {of} {number} is not supported"


OPTIONAL_LIES = {
    "levels longer than the page": (99).to_bytes(4, "little") + b"\x06\x01" + int64s(1, 2, 3),
    "levels of 4 GB": b"\xff\xff\xff\xff" + b"\x06\x01" + int64s(1, 2, 3),
    "no room for the length": b"\x02\0",
    "more than there are values": levels_v1(rle_run(1, 3, 1)) + int64s(1),
    "fewer than the header says": levels_v1(rle_run(1, 2, 1)) + int64s(1, 2, 3),
}


@pytest.mark.parametrize("lie", OPTIONAL_LIES)
def test_levels_lie(write: Callable[[bytes], Path], lie: str) -> None:
    pages = data_page(OPTIONAL_LIES[lie], 3)
    column = Column([pages], 3, repetition=FieldRepetitionType.OPTIONAL)
    build_refused(write(forge(column)))


@pytest.mark.parametrize(
    "body",
    [
        b"\1",
        byte_arrays(b"one", b"two")[:-1],
        b"\xff\xff\xff\xff",
        b"\xff\xff\xff\x7f" + b"x" * 50,
        byte_arrays(b"one") + b"\0\0\0",
    ],
)
@pytest.mark.parametrize("in_dictionary", [False, True])
def test_byte_arrays_run_past_the_end(
    write: Callable[[bytes], Path], body: bytes, in_dictionary: bool
) -> None:
    pages = [data_page(body, 2)]
    if in_dictionary:
        pages = [dictionary_page(body, 2), data_page(b"\1\2\0", 2, Encoding.RLE_DICTIONARY)]
    build_refused(write(forge(Column(pages, 2, type=Type.BYTE_ARRAY))))


@pytest.mark.parametrize("length", [None, 0, -1, 9, 2**31 - 1])
def test_type_length_lies(write: Callable[[bytes], Path], length: int | None) -> None:
    element = {"type_length": length}
    column = Column([HONEST], 3, type=Type.FIXED_LEN_BYTE_ARRAY, element=element)
    build_refused(write(forge(column)))


@pytest.mark.parametrize(
    ("kind", "length"),
    [(Type.FIXED_LEN_BYTE_ARRAY, 3), (Type.FIXED_LEN_BYTE_ARRAY, 1), (Type.INT96, None),
     (Type.BYTE_ARRAY, None), (Type.INT64, None), (Type.INT32, None)],
)  # fmt: skip
def test_float16_of_another_width(
    write: Callable[[bytes], Path], kind: int, length: int | None
) -> None:
    """An annotation that its type cannot have: refused, or not taken seriously."""
    element = {
        "type_length": length,
        "logicalType": ttypes.LogicalType(FLOAT16=ttypes.Float16Type()),
    }
    body = byte_arrays(b"\0\0") * 3 if kind == Type.BYTE_ARRAY else bytes(12 * (length or 8))
    num_values = (
        3 if kind == Type.BYTE_ARRAY else len(body) // (length or {1: 4, 2: 8, 3: 12}[kind])
    )
    column = Column([data_page(body, num_values)], num_values, type=kind, element=element)
    path = write(forge(column))
    good = path.with_name("good.parquet")
    good.write_bytes(forge(Column([HONEST], 3)))
    for arguments in (
        ("build", path, good, "-c", "a", "--output-dir", path.parent / "out"),
        ("probe", path, "-c", "a", "-v", "1"),
        ("inspect", path),
    ):
        result = outcome(*arguments)
        assert result.code == 0 or result.complaint.startswith(f"{path}: "), result
    assert (path.parent / "out" / "good.parquet").exists()


@pytest.mark.every(2)
@pytest.mark.parametrize("codec", CODECS)
def test_compressed_pages_corrupt(write: Callable[[bytes], Path], codec: int) -> None:
    """A page that decompresses to something else is not noticed without a checksum; no crash."""
    body = int64s(*range(50))
    stored = compressed(codec, body)
    chance = random.Random(codec)
    for _ in range(60):
        changed = bytearray(stored)
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        cut = bytes(changed[: chance.choice([len(changed), chance.randrange(len(changed))])])
        path = write(
            forge(Column([data_page(cut, 50, uncompressed_page_size=400)], 50, codec=codec))
        )
        result = outcome("build", path, "-c", "a", "-o", path.parent / "out.parquet", "--overwrite")
        assert result.code == 0 or result.complaint.startswith(f"{path}: row group 0, column a: ")


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [0, 1, 399, 401, 2**31 - 1])
def test_the_uncompressed_size_lies(write: Callable[[bytes], Path], codec: int, size: int) -> None:
    stored = compressed(codec, int64s(*range(50)))
    pages = [data_page(stored, 50, uncompressed_page_size=size)]
    build_refused(write(forge(Column(pages, 50, codec=codec))))


@pytest.mark.parametrize("codec", CODECS)
def test_v2_sizes_lie(write: Callable[[bytes], Path], codec: int) -> None:
    """Levels that leave no room for values, although there are some."""
    stored = compressed(codec, int64s(*range(50)))
    header = v2(50, is_compressed=True, definition_levels_byte_length=2)
    body = b"\x64\x01" + stored
    pages = [page(2 + 1, body, data_page_header_v2=header, uncompressed_page_size=2)]
    column = Column(pages, 50, codec=codec, repetition=FieldRepetitionType.OPTIONAL)
    build_refused(write(forge(column)))


# ------------------------------------------------------------------------------------------------
# Bombs: what a small file can make the process take


# In the process itself, because what it forked from counts as its peak for everybody else.
MEASURED = """
import sys
from parquet_bloom.commands.pbloom import cli
try:
    cli.main(sys.argv[1:], prog_name="pbloom")
finally:
    with open("/proc/self/status") as status:
        peak = next(line for line in status if line.startswith("VmHWM:"))
    print(int(peak.split()[1]) >> 10)
"""


def _build_and_measure(path: Path) -> tuple[Outcome, int]:
    """Build column `a` in a process of its own: what it did, and its peak memory in MiB."""
    arguments = ["build", path, "-c", "a", "-o", path.parent / "out.parquet", "--threads", "1"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return Outcome(done.returncode, "", done.stderr), int(done.stdout.split()[-1])


@pytest.mark.parametrize("codec", CODECS)
def test_a_page_that_claims_2_gib(write: Callable[[bytes], Path], codec: int) -> None:
    stored = compressed(codec, int64s(1))
    pages = [data_page(stored, 1, uncompressed_page_size=2**31 - 1)]
    path = write(forge(Column(pages, 1, codec=codec)))
    result, peak = _build_and_measure(path)
    assert result.complaint.startswith(f"{path}: row group 0, column a: ")
    assert peak < PEAK


def test_a_page_that_is_larger_than_its_chunk_says(write: Callable[[bytes], Path]) -> None:
    """60 KB of zstd for 1.8 GB of zeros; total_uncompressed_size knows better."""
    zeros = compressed(CompressionCodec.ZSTD, bytes(64 << 20)) * 28
    size = 28 * (64 << 20)
    pages = [data_page(zeros, size // 8, uncompressed_page_size=size)]
    meta = {"total_uncompressed_size": 1000}
    column = Column(pages, size // 8, codec=CompressionCodec.ZSTD, meta=meta)
    path = write(forge(column))
    result, peak = _build_and_measure(path)
    assert result.complaint.startswith(f"{path}: row group 0, column a: ")
    assert peak < PEAK


def test_levels_of_two_thousand_million_values(write: Callable[[bytes], Path]) -> None:
    """One run of levels claims them; the values would have to follow."""
    count = 2**31 - 1
    levels = compact.varint(count << 1) + b"\1"
    values = b"\x80\x01\x04" + compact.varint(count) + b"\x02" + b"\0\0\0\0\0"
    body = len(levels).to_bytes(4, "little") + levels + values
    pages = [data_page(body, count, Encoding.DELTA_BINARY_PACKED)]
    column = Column(pages, count, repetition=FieldRepetitionType.OPTIONAL)
    path = write(forge(column))
    result, peak = _build_and_measure(path)
    assert result.complaint.startswith(f"{path}: row group 0, column a: ")
    assert peak < PEAK


def test_deltas_without_bits(write: Callable[[bytes], Path]) -> None:
    """DELTA_BINARY_PACKED: 1 GiB of equal integers in a hundred bytes, 2^24 to a block."""
    count, block = 1 << 27, 1 << 24
    header = compact.varint(block) + b"\1" + compact.varint(count) + b"\2"
    body = header + b"\0\0" * (count // block)
    path = write(forge(Column([data_page(body, count, Encoding.DELTA_BINARY_PACKED)], count)))
    result, peak = _build_and_measure(path)
    assert result.code == 0 or result.complaint.startswith(f"{path}: row group 0, column a: ")
    assert peak < PEAK


def _delta(first: int, second: int, count: int) -> bytes:
    """DELTA_BINARY_PACKED: `first`, and `count` - 1 times `second`."""
    blocks = (count + 126) // 128
    deltas = [compact.zigzag(second - first)] + [compact.zigzag(0)] * (blocks - 1)
    header = b"\x80\x01\x04" + compact.varint(count) + compact.zigzag(first)
    if first == second or count < 2:
        return header + b"".join(delta + bytes(4) for delta in deltas)
    # The first delta differs from the 127 of its block: 32 bits each, relative to the smallest.
    smallest, step = (second - first, first - second) if second < first else (0, second - first)
    packed = [0 if smallest else step] + [step if smallest else 0] * 31
    rest = [step if smallest else 0] * 32
    block = b"".join(number.to_bytes(4, "little") for number in packed + 3 * rest)
    return (
        header
        + compact.zigzag(smallest)
        + b"\x20" * 4
        + block
        + b"".join(delta + bytes(4) for delta in deltas[1:])
    )


def test_prefixes_that_grow(write: Callable[[bytes], Path]) -> None:
    """DELTA_BYTE_ARRAY: a megabyte, and a thousand times the same again."""
    count, long = 1000, 1 << 20
    body = _delta(0, long, count) + _delta(long, 0, count) + b"x" * long
    pages = [data_page(body, count, Encoding.DELTA_BYTE_ARRAY)]
    path = write(forge(Column(pages, count, type=Type.BYTE_ARRAY)))
    result, peak = _build_and_measure(path)
    assert result.code == 0 or result.complaint.startswith(f"{path}: row group 0, column a: ")
    assert peak < PEAK
