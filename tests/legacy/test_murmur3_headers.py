"""Every layout of header that an old split block filter ever had, and what is behind it."""

import pytest
from make.older_files import (
    BLOCKS,
    DRAFTS,
    SIZE,
    STORED,
    bitset,
    draft_of,
    file_of,
    file_of_integers,
    murmur3,
    page_header,
    plain_header,
    texts,
    thrift_header,
)

import parquet_bloom as pb
from parquet_bloom.errors import FilterError
from parquet_bloom.files import open_file
from parquet_bloom.legacy.chunk_filters import headers_at, published
from parquet_bloom.legacy.murmur3 import headers
from parquet_bloom.parquet.filters.bloom import encode_header
from parquet_bloom.vocabulary import HeaderLayout, words

ABSENT = texts(1000, "other")

each_draft = pytest.mark.parametrize("draft", DRAFTS)


def found(path):
    with open_file(path) as file:
        return published(file, file.chunk(0, "a"))


def refused(path):
    with pytest.raises(FilterError) as error:
        found(path)
    text = str(error.value)
    assert text.startswith(f"{path}: row group 0, column a: ")
    return text.removeprefix(f"{path}: row group 0, column a: ")


@each_draft
@pytest.mark.parametrize("place", ["before", "inside", "footer"])
def test_every_draft_is_recognised_wherever_it_lies(draft, place, tmp_path):
    filter = found(file_of(tmp_path, STORED, draft_of(draft), place=place))
    header, *_, layout, hash = DRAFTS[draft]
    assert (filter.layout, filter.hash, filter.header_bytes) == (layout, hash, len(header))
    assert filter.stored_bytes == len(header) + SIZE
    assert b"".join(filter.header_and_bitset()) == draft_of(draft)
    assert all(filter.check(value) for value in STORED)
    assert sum(filter.check(value) for value in ABSENT) < 20


@each_draft
def test_probes_ask_what_field_14_leads_to(draft, tmp_path):
    path = file_of(tmp_path, STORED, draft_of(draft))
    assert {each.verdict for each in pb.probe(path, "a", ["value 0", "value 99"]).results} == {
        "maybe"
    }
    verdicts = [each.verdict for each in pb.probe(path, "a", [v.decode() for v in ABSENT]).results]
    assert verdicts.count("absent") > 980


def test_a_column_of_numbers(tmp_path):
    numbers = list(range(-50, 50))
    plain = [number.to_bytes(8, "little", signed=True) for number in numbers]
    path = file_of_integers(tmp_path, numbers, plain_header(SIZE, 12) + bitset(plain, BLOCKS))
    assert all(found(path).check(value) for value in plain)
    assert pb.probe(path, "a", [7, 4711]).results[1].verdict == "absent"


def test_a_seed_of_nobody_s_is_unknown_until_it_is_named(tmp_path):
    stored = thrift_header(SIZE) + bitset(STORED, BLOCKS, murmur3(4242))
    path = file_of(tmp_path, STORED, stored)
    assert refused(path) == (
        "legacy filter: the chunk's values are not found by any known hash, seed"
        " and selection of blocks"
    )
    (result,) = pb.probe(path, "a", ["other 1"]).results
    assert (result.verdict, result.rows_to_read) == ("unknown", 100)
    assert "are not found by any known hash" in result.groups[0].reason
    (result,) = pb.probe(path, "a", ["other 1"], dialect="murmur3", seed=4242).results
    assert result.verdict == "absent"
    (result,) = pb.probe(path, "a", ["other 1"], dialect="murmur3", seed=4243).results
    assert result.verdict == "unknown"


def test_a_filter_without_some_of_the_values_is_not_asked(tmp_path):
    stored = plain_header(SIZE, 12) + bitset(STORED[:-3], BLOCKS)
    path = file_of(tmp_path, STORED, stored)
    assert refused(path) == "legacy filter: some stored values are not in the filter"


def test_nothing_is_recognised_among_bits_that_are_all_set(tmp_path):
    path = file_of(tmp_path, STORED, plain_header(SIZE, 12) + b"\xff" * SIZE)
    assert "are not found by any known hash" in refused(path)


def test_nothing_is_recognised_without_values(tmp_path):
    path = file_of(tmp_path, [], plain_header(SIZE, 12) + bitset([], BLOCKS))
    assert "no stored values to identify its hash by" in refused(path)


def test_a_handful_of_values_is_enough(tmp_path):
    stored = plain_header(32, 12) + bitset(STORED[:2], 1)
    assert found(file_of(tmp_path, STORED[:2], stored)).hash == "MURMUR3 seed 1361930890, mask"


def test_the_header_of_today_is_no_older_one(tmp_path):
    for num_bytes in (32, 64, 128, 256, 1024, 1 << 20, 128 << 20):
        assert headers.read(encode_header(num_bytes) + bytes(80)) == ()


@pytest.mark.parametrize("layout", words(HeaderLayout))
@pytest.mark.parametrize("num_bytes", [32, 1024, 128 << 20])
def test_what_is_written_is_what_was_read(layout, num_bytes):
    expected = {
        "12-byte": plain_header(num_bytes, 12),
        "thrift": thrift_header(num_bytes),
        "page": page_header(num_bytes),
    }[layout]
    assert headers.encode(layout, num_bytes) == expected
    read = headers.read(expected + b"\x01" * 80)[0]
    assert (read.layout, read.header_bytes, read.num_bytes) == (layout, len(expected), num_bytes)


HOSTILE = {
    "nothing": b"",
    "one byte": b"\x15",
    "zeros": bytes(96),
    "not a power of two": plain_header(1000, 12) + bytes(84),
    "too small": plain_header(16, 12) + bytes(84),
    "too large": plain_header(256 << 20, 12) + bytes(84),
    "negative": plain_header(1 << 31, 12) + bytes(84),
    "another algorithm": b"\0\4\0\0\0\0\0\0\1\0\0\0"[:4] + b"\1" * 8 + bytes(84),
    "member 2": b"\x15\x80\x10\x1c\x2c\0\0\x1c\x1c\0\0\0" + bytes(84),
    "both members": b"\x15\x80\x10\x1c\x1c\0\x1c\0\0\x1c\x1c\0\0\0" + bytes(84),
    "no hash": b"\x15\x80\x10\x1c\x1c\0\0\0" + bytes(84),
    "enum of another value": b"\x15\x80\x10\x15\x02\x15\x00\0" + bytes(84),
    "a data page": b"\x15\x00\x15\x80\x10\x15\x80\x10\x6c" + thrift_header(1024) + b"\0",
    "a page without details": b"\x15\x08\x15\x80\x10\x15\x80\x10\x65\x02\0" + bytes(84),
    "cut off": page_header(1024)[:-3],
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_header_is_none(data):
    assert headers.read(data) == ()


@pytest.mark.parametrize(
    ("stored", "place", "complaint"),
    [
        (thrift_header(1000) + bytes(1000), "footer", "1000 bytes, expected a positive multiple"),
        (thrift_header(4096) + bytes(32), "footer", "reaches into the footer"),
        (thrift_header(4096) + bytes(32), "inside", "reaches into the footer"),
        (thrift_header(1024) + bytes(32), "before", "overlaps pages"),
    ],
)
def test_a_filter_in_no_place_of_its_own_is_refused(stored, place, complaint, tmp_path):
    path = file_of(tmp_path, STORED, stored, place=place)
    assert complaint in refused(path)
    with open_file(path) as file:
        assert headers_at(file, file.chunk(0, "a"))
    assert pb.probe(path, "a", ["other 1"]).results[0].verdict == "unknown"


def test_a_file_with_filters_inside_its_chunks_gets_one_of_today(tmp_path):
    path = file_of(tmp_path, STORED, draft_of("2018, 12 bytes"), place="inside")
    pb.build(path, columns=["a"], in_place=True, existing="replace")
    (column,) = pb.inspect(path).row_groups[0].columns
    assert column.filter.dialect == "xxhash"
    assert pb.probe(path, "a", ["other 1"]).results[0].verdict == "absent"
