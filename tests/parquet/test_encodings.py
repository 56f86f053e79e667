"""Values in the DELTA encodings of strings and in BYTE_STREAM_SPLIT, and every way they can be damaged."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make.pages import data_page
from make.parquet_files import forged
from oracle import specification as spec

import parquet_bloom as pb
from parquet_bloom.errors import PageError, UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.pages.encodings import decoded_runs
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import Encoding
from parquet_bloom.values.types import LeafType

TEXT = LeafType("BYTE_ARRAY")
SHAPES = [(128, 4), (128, 1), (256, 8)]
WORDS = [b"", b"a", b"abc", b"abd", b"abd", b"", b"x" * 300, b"x" * 299 + b"y", b"z"]
VALUES = {
    "one": [b"alone"],
    "an empty one": [b""],
    "words": WORDS,
    "many": [b"user-%06d" % number for number in range(0, 3000, 7)],
    "many of all lengths": [b"x" * (number * 37 % 90) for number in range(700)],
}


def decoded(encoding: int, leaf: LeafType, section: bytes, count: int) -> list[bytes]:
    runs = decoded_runs(encoding, leaf, memoryview(section), count)
    return [value for run in runs for value in run.values()]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", VALUES)
def test_strings(kind: str, shape: tuple[int, int]) -> None:
    values = VALUES[kind]
    lengths = spec.delta_length_byte_array(values, *shape)
    assert decoded(Encoding.DELTA_LENGTH_BYTE_ARRAY, TEXT, lengths, len(values)) == values
    prefixes = spec.delta_byte_array(values, *shape)
    assert decoded(Encoding.DELTA_BYTE_ARRAY, TEXT, prefixes, len(values)) == values


def test_no_strings() -> None:
    assert decoded(Encoding.DELTA_LENGTH_BYTE_ARRAY, TEXT, b"\x80\1\4\0\0", 0) == []
    assert decoded(Encoding.DELTA_BYTE_ARRAY, TEXT, 2 * b"\x80\1\4\0\0", 0) == []


def test_strings_of_one_length() -> None:
    values = [b"%012d" % (number * number) for number in range(500)]
    section = spec.delta_byte_array(values, 128, 4)
    leaf = LeafType("FIXED_LEN_BYTE_ARRAY", length=12)
    assert decoded(Encoding.DELTA_BYTE_ARRAY, leaf, section, 500) == values
    with pytest.raises(PageError, match=r"^DELTA_BYTE_ARRAY: values of other than 6 bytes$"):
        decoded(Encoding.DELTA_BYTE_ARRAY, LeafType("FIXED_LEN_BYTE_ARRAY", length=6), section, 500)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8, 12, 16, 33])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 100])
def test_byte_stream_split(width: int, count: int) -> None:
    data = np.random.default_rng(width).bytes(width * count)
    values = [data[at : at + width] for at in range(0, len(data), width)]
    leaf = LeafType("FIXED_LEN_BYTE_ARRAY", length=width)
    section = spec.byte_stream_split(values)
    assert decoded(Encoding.BYTE_STREAM_SPLIT, leaf, section, count) == values
    with pytest.raises(PageError) as refused:
        decoded(Encoding.BYTE_STREAM_SPLIT, leaf, section + b"x", count)
    assert str(refused.value) == (
        f"BYTE_STREAM_SPLIT: {len(section) + 1} bytes, expected {len(section)}"
    )


LENGTHS = spec.delta_length_byte_array(WORDS, 128, 4)
PREFIXES = spec.delta_byte_array(WORDS, 128, 4)


@pytest.mark.parametrize(
    ("encoding", "section"),
    [(Encoding.DELTA_LENGTH_BYTE_ARRAY, LENGTHS), (Encoding.DELTA_BYTE_ARRAY, PREFIXES)],
)
def test_sections_that_are_cut_or_changed(encoding: int, section: bytes) -> None:
    """What is cut is refused; of what is changed, no byte outside is read."""
    for end in range(len(section)):
        with pytest.raises(PageError, match=r"^DELTA_"):
            decoded(encoding, TEXT, section[:end], len(WORDS))
    for count in (len(WORDS) - 1, len(WORDS) + 1):
        message = f"^DELTA_BINARY_PACKED: {len(WORDS)} values, expected {count}$"
        with pytest.raises(PageError, match=message):
            decoded(encoding, TEXT, section, count)
    generator = np.random.default_rng(6)
    num_refused = 0
    for _ in range(1000):
        bad = bytearray(section)
        bad[generator.integers(len(bad))] = generator.integers(256)
        try:
            decoded(encoding, TEXT, bytes(bad), len(WORDS))
        except (PageError, UnsupportedError) as error:
            assert str(error).startswith("DELTA_")  # noqa: PT017
            num_refused += 1
    assert 0 < num_refused < 1000


@pytest.mark.parametrize(
    ("prefixes", "suffixes", "data", "room"),
    [
        ([1], [0], b"", 9),
        ([0, 3], [2, 0], b"ab", 9),
        ([0, -1], [2, 0], b"ab", 9),
        ([0], [3], b"ab", 9),
        ([0, 0], [2, 1], b"ab", 9),
        ([0], [-1], b"ab", 9),
        ([0], [2], b"ab", 1),
        ([0, 2], [2, 0], b"ab", 3),
        ([2**63 - 1], [2**63 - 1], b"ab", 9),
    ],
)
def test_prefixes_and_suffixes_that_are_not_there(
    prefixes: list[int], suffixes: list[int], data: bytes, room: int
) -> None:
    with pytest.raises(
        ValueError, match=r"^DELTA_BYTE_ARRAY: a prefix or suffix that is not there$"
    ):
        _kernel.delta_join(data, np.array(prefixes), np.array(suffixes), room)


def test_a_value_that_runs_past_the_end() -> None:
    with pytest.raises(PageError) as refused:
        decoded(Encoding.DELTA_LENGTH_BYTE_ARRAY, TEXT, LENGTHS[:-1], len(WORDS))
    assert str(refused.value) == (
        f"DELTA_LENGTH_BYTE_ARRAY: a value that runs past the end of {len(LENGTHS) - 1} bytes"
    )


@pytest.mark.parametrize(
    ("encoding", "section"),
    [(Encoding.DELTA_LENGTH_BYTE_ARRAY, LENGTHS), (Encoding.DELTA_BYTE_ARRAY, PREFIXES)],
)
def test_a_filter_of_such_a_page(tmp_path: Path, encoding: int, section: bytes) -> None:
    pages = [data_page(section, len(WORDS), encoding)]
    path = forged(tmp_path / "encoded.parquet", pages, len(WORDS))
    pb.build(path, in_place=True, columns=["values"], ndv=len(WORDS))
    with pb.open(path) as file:
        words = file.bloom_filter(0, "values").bits.words
    expected = spec.filter_of([_kernel.xxh64(word) for word in WORDS], words.size // 8)
    assert words.reshape(-1, 8).tolist() == expected


# --- headers of pages -----------------------------------------------------------------------------

I32 = st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1))
STATISTICS = st.one_of(
    st.none(), st.builds(ttypes.Statistics, null_count=I32, min_value=st.binary(max_size=5))
)
V1 = ("num_values", "encoding", "definition_level_encoding", "repetition_level_encoding")
V2 = (
    "num_values",
    "encoding",
    "definition_levels_byte_length",
    "repetition_levels_byte_length",
    "is_compressed",
)
DETAILS = {
    "data_page_header": (ttypes.DataPageHeader, V1, {"statistics": STATISTICS}),
    "dictionary_page_header": (ttypes.DictionaryPageHeader, V1[:2], {}),
    "data_page_header_v2": (
        ttypes.DataPageHeaderV2,
        V2,
        {"is_compressed": st.booleans(), "num_rows": I32, "statistics": STATISTICS},
    ),
}
OF_TYPE = {0: "data_page_header", 2: "dictionary_page_header", 3: "data_page_header_v2"}


def struct_of(
    kind: Callable[..., Any], names: Sequence[str], more: dict[str, st.SearchStrategy[Any]]
) -> st.SearchStrategy[Any]:
    return st.builds(kind, **(dict.fromkeys(names, I32) | more))


HEADERS = st.builds(
    ttypes.PageHeader,
    type=st.one_of(st.sampled_from([0, 1, 2, 3]), I32),
    uncompressed_page_size=I32,
    compressed_page_size=I32,
    crc=I32,
    **{name: st.one_of(st.none(), struct_of(*of)) for name, of in DETAILS.items()},
)


@given(HEADERS, st.binary(max_size=5))
def test_page_headers_are_those_of_the_generated_reader(header: Any, behind: bytes) -> None:
    encoded = compact.encode(header)
    fields, end = _kernel.page_header(encoded + behind)
    assert end == len(encoded)
    found = dict(zip(_kernel.PAGE_HEADER_FIELDS, fields, strict=True))
    name = OF_TYPE.get(header.type, "")
    details = getattr(header, name, None)
    for field in _kernel.PAGE_HEADER_FIELDS:
        owner = header if field in _kernel.PAGE_HEADER_FIELDS[:4] else details
        assert found[field] == getattr(owner, field, None), field
    for cut in range(len(encoded)):
        with pytest.raises(_kernel.ScanError):
            _kernel.page_header(encoded[:cut])


def test_a_page_header_with_numbers_of_other_types() -> None:
    """They are ignored as a field that is unknown; numbers beyond 32 bits are none."""
    sound = compact.encode(ttypes.PageHeader(type=0, crc=7))
    assert _kernel.page_header(sound)[0][:4] == [0, None, None, 7]
    as_i64 = spec.struct_of((1, spec.i64(3)), (2, spec.i32(5)), (5, spec.i32(1))).encoded
    assert _kernel.page_header(as_i64)[0][:4] == [None, 5, None, None]
    beyond = bytes([0x15]) + spec.zigzag(2**31) + b"\0"
    with pytest.raises(_kernel.ScanError, match=r"^no valid type, id or number at byte 6$"):
        _kernel.page_header(beyond)
