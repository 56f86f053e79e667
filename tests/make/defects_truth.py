"""Files that break PB4xx (truth) and PB501 (security)."""

import uuid
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from conftest import FIXTURES
from make.defects_files import ROWS, Defect, integers, making, sound, texts, with_filters
from make.filters import bits_of, bitset, with_bits, with_bitset
from make.footers import with_meta
from make.pages import data_page, dictionary_page, int64s
from make.parquet_files import Column, forge, written
from oracle.specification import packed_run

import parquet_bloom as pb
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.thrift.ttypes import CompressionCodec, Encoding

# Enough for ROWS values within 1 %.
BLOCKS = 128

# What Arrow C++ and parquet-mr hashed with before XXH64.
MURMUR3_SEED = 1361930890

PAGE_VALUES = 100


def of_values(*values: Iterable[bytes | int]) -> bytes:
    """The sound file with these values, instead of its own, in the filters of `a`."""
    return with_filters(sound(), [bits_of(some, BLOCKS) for some in values])


def of_hashes(hashes: Iterable[int]) -> bytes:
    bits = pb.SplitBlockBloomFilter.empty(BLOCKS)
    bits.insert_hashes(np.fromiter(hashes, np.uint64))
    return with_bits(sound(), bits.to_bytes())


# ------------------------------------------------------------------------------------------------
# PB401, PB402: values that are not there


def one_bit_cleared() -> bytes:
    """Every bit was set by some value, so one value at least is lost."""
    bits = bytearray(bitset(sound()))
    at = next(place for place, byte in enumerate(bits) if byte)
    bits[at] &= bits[at] - 1
    return with_bitset(sound(), bytes(bits))


def murmur3() -> bytes:
    return of_hashes(_kernel.murmur3(int64s(value), MURMUR3_SEED) for value in integers(0))


def neighbours_values() -> bytes:
    """The filter of row group 1 in row group 0, but for one value."""
    return of_values([*integers(1), integers(0)[0]], integers(1))


def without_the_dictionary() -> bytes:
    """A dictionary page and a page that refers to it, then a PLAIN page: only that is inserted."""
    known, new = integers(0)[:64], integers(0)[64 : 2 * 64]
    indices = bytes([6]) + packed_run(range(64), 6)
    pages = (
        dictionary_page(int64s(*known), 64),
        data_page(indices, 64, Encoding.RLE_DICTIONARY),
        data_page(int64s(*new), 64),
    )
    encodings = [Encoding.PLAIN, Encoding.RLE, Encoding.RLE_DICTIONARY]
    place = {"dictionary_page_offset": 4, "data_page_offset": 4 + len(pages[0])}
    data = forge(Column(pages, 128, meta={"encodings": encodings} | place))
    return with_bits(data, bits_of(new, 4))


def paged() -> bytes:
    """One row group of many pages."""
    values = integers(0)
    pages = [
        data_page(int64s(*values[at : at + PAGE_VALUES]), PAGE_VALUES)
        for at in range(0, ROWS, PAGE_VALUES)
    ]
    return forge(Column(pages, ROWS))


def of_some_pages(pages: slice) -> bytes:
    values = integers(0)
    some = [values[at : at + PAGE_VALUES] for at in range(0, ROWS, PAGE_VALUES)][pages]
    return with_bits(paged(), bits_of([value for page in some for value in page], BLOCKS))


def dictionary_array() -> bytes:
    """A dictionary whose entries went into no filter."""
    values = pa.array(texts(0)[:50] * 40)
    data = written(pa.table({"a": values}), use_dictionary=True)
    return with_bits(data, bytes(64))


def uuids_as_text() -> bytes:
    values = [uuid.UUID(text[:32]) for text in texts(0)]
    stored = pa.array([value.bytes for value in values], pa.binary(16))
    data = written(pa.table({"a": pa.ExtensionArray.from_storage(pa.uuid(), stored)}))
    return with_bits(data, bits_of([str(value).encode() for value in values], BLOCKS))


def narrow_as_wide() -> bytes:
    """INT32 that is hashed as the long which it is read as."""
    values = list(range(ROWS))
    data = written(pa.table({"a": pa.array(values, pa.int32())}))
    return with_bits(data, bits_of(values, BLOCKS))


MISSING = (
    Defect("one bit cleared", "PB401", making(one_bit_cleared), deep=True),
    Defect("Murmur3", "PB401", making(murmur3), issue="B25", deep=True),
    Defect("of the next row group", "PB401", making(neighbours_values), issue="B22", deep=True),
    Defect("no dictionary", "PB401", making(without_the_dictionary), issue="B8", deep=True),
    Defect(
        "first half of the pages",
        "PB401",
        making(lambda: of_some_pages(slice(0, 10))),
        issue="B19",
        deep=True,
    ),
    Defect("last page only", "PB401", making(lambda: of_some_pages(slice(-1, None))), deep=True),
    Defect(
        "values of another file",
        "PB401",
        making(lambda: of_values(range(ROWS))),
        issue="B20",
        deep=True,
    ),
    Defect("UUIDs as text", "PB401", making(uuids_as_text), issue="B32", deep=True),
    Defect("int as long", "PB401", making(narrow_as_wide), deep=True),
    Defect("INT64", "PB402", making(lambda: with_bitset(sound(), bytes(len(bitset(sound())))))),
    Defect("a dictionary array", "PB402", making(dictionary_array), issue="B9"),
    Defect(
        "BOOLEAN by parquet-java",
        "PB402",
        making((FIXTURES / "java_filters.parquet").read_bytes),
        column="boolean",
        issue="B9",
    ),
)


# ------------------------------------------------------------------------------------------------
# PB403 to PB408


def by_pyarrow(values: pa.Array) -> bytes:
    filters = {"a": {"ndv": len(values), "fpp": 0.01}}
    return written(pa.table({"a": values}), bloom_filter_options=filters)


def zero(value: float, arrow: pa.DataType) -> bytes:
    return by_pyarrow(pa.array([value, *range(1, 500)], arrow))


def odd_nan() -> bytes:
    """A NaN whose payload is not the usual one."""
    nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    return by_pyarrow(pa.array(np.concatenate([nan, np.arange(1.0, 500)])))


def not_cleared() -> bytes:
    """The filter of row group 1 still has the values of row group 0."""
    return of_values(integers(0), integers(0) + integers(1))


def full_of_others() -> bytes:
    """Three times the values of the chunk, of which only a third is stored."""
    return of_values([*integers(0), *range(2 * ROWS)])


def same_twice() -> bytes:
    return with_bitset(sound(), bitset(sound(), 0), 1)


def inverted() -> bytes:
    return with_bitset(sound(), bytes(byte ^ 0xFF for byte in bitset(sound())))


def of_unknown_codec() -> bytes:
    return with_meta(sound(), 0, 0, codec=CompressionCodec.LZO)


REST = (
    Defect("0.0 as FLOAT", "PB403", making(lambda: zero(0.0, pa.float32())), deep=True),
    Defect("-0.0 as DOUBLE", "PB403", making(lambda: zero(-0.0, pa.float64())), deep=True),
    Defect("another NaN", "PB404", making(odd_nan), deep=True),
    Defect("a filter not cleared", "PB405", making(not_cleared), row_group=1, deep=True),
    Defect("full of other values", "PB406", making(full_of_others), deep=True),
    Defect("row group 0 in 1", "PB407", making(same_twice), row_group=1, issue="B22"),
    Defect("every bit inverted", "PB409", making(inverted)),
    Defect("LZO", "PB408", making(of_unknown_codec), deep=True),
)

TRUTH = (*MISSING, *REST)
