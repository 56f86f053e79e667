"""BloomFilterIndex streams: their bytes, both forms of the bits, and what is no filter of ours."""

import numpy as np
import pytest
from make.handmade_orc import filter_of, index_of

from parquet_bloom.errors import FilterError, FooterError
from parquet_bloom.filters.k_hash import MAX_HASHES, KHashFilter
from parquet_bloom.orc import wire
from parquet_bloom.orc.bloom import encode_filters, is_marked, read_filters, stored_messages
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8

KINDS = pytest.mark.parametrize("kind", [BLOOM_FILTER, BLOOM_FILTER_UTF8])
# Other readers pass over it.
MARK = "e2ab0f 0d" + b"parquet_bloom".hex()


def refused(data, kind=BLOOM_FILTER_UTF8, groups=1, error=FilterError):
    with pytest.raises(error) as raised:
        read_filters(data, kind, groups, "here")
    assert type(raised.value) is error
    return str(raised.value)


def small():
    """Bits 0 and 65 of 128, three hashes."""
    return KHashFilter.from_bytes(bytes.fromhex("0100000000000000 0200000000000000"), 3)


def test_the_bytes_of_bloom_filter():
    expected = "0a 14  08 03  11 0100000000000000  11 0200000000000000" + MARK
    assert encode_filters([small()], BLOOM_FILTER) == bytes.fromhex(expected)


def test_the_bytes_of_bloom_filter_utf8():
    expected = "0a 14  08 03  1a 10 0100000000000000 0200000000000000" + MARK
    assert encode_filters([small()], BLOOM_FILTER_UTF8) == bytes.fromhex(expected)


@KINDS
def test_filters_are_read_as_they_were_written(kind):
    filters = [filter_of([1, 2, 2**64 - 1]), filter_of([]), filter_of([7], 64, 44)]
    data = encode_filters(filters, kind)
    for found, filter in zip(read_filters(data, kind, 3, "here"), filters, strict=True):
        assert (found.num_bits, found.num_hashes) == (filter.num_bits, filter.num_hashes)
        assert bytes(found.bitset) == bytes(filter.bitset)
    stored = orc_pb2.BloomFilterIndex.FromString(data).bloomFilter
    assert [each.SerializeToString() for each in stored] == stored_messages(data, "here")


def test_groups_that_nobody_writes_are_refused():
    """protobuf passes over a group (wire types 3 and 4) that it does not know."""
    data = index_of([small()]) + bytes.fromhex("9b01 9c01")
    assert len(read_filters(data, BLOOM_FILTER_UTF8, 1, "here")) == 1
    with pytest.raises(FilterError, match=r"^here: byte 22: unknown wire type 3$"):
        stored_messages(data, "here")


@KINDS
def test_the_mark_is_ours_alone(kind):
    filters = [filter_of([1])]
    assert is_marked(encode_filters(filters, kind))
    assert not is_marked(index_of(filters, kind))
    assert index_of(filters, kind) + bytes.fromhex(MARK) == encode_filters(filters, kind)


@KINDS
@pytest.mark.parametrize("written", [BLOOM_FILTER, BLOOM_FILTER_UTF8])
def test_either_form_is_read_in_either_stream(kind, written):
    (found,) = read_filters(index_of([small()], written), kind, 1, "here")
    assert found.words.tolist() == [1, 2]


@KINDS
def test_two_forms_must_agree(kind):
    words, stored = [1, 2], bytes(small().bitset)
    both = orc_pb2.BloomFilter(numHashFunctions=3, bitset=words, utf8bitset=stored)
    data = orc_pb2.BloomFilterIndex(bloomFilter=[both]).SerializeToString()
    (found,) = read_filters(data, kind, 1, "here")
    assert found.words.tolist() == words
    both.bitset[1] = 3
    data = orc_pb2.BloomFilterIndex(bloomFilter=[both]).SerializeToString()
    assert refused(data, kind) == "here: index group 0: bitset and utf8bitset differ"


def test_words_may_be_packed():
    """As newer versions of the format may have them."""
    stored = wire.number_field(1, 3) + wire.bytes_field(2, small().bitset)
    (found,) = read_filters(wire.bytes_field(1, stored), BLOOM_FILTER, 1, "here")
    assert found.words.tolist() == [1, 2]


def message(**fields):
    return wire.bytes_field(1, orc_pb2.BloomFilter(**fields).SerializeToString())


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (message(numHashFunctions=3), "bitset: 0 bytes, expected a positive multiple of 8"),
        (message(numHashFunctions=3, utf8bitset=bytes(12)),
         "bitset: 12 bytes, expected a positive multiple of 8"),
        (message(utf8bitset=bytes(16)), f"filter: 0 hashes, expected 1 to {MAX_HASHES}"),
        (message(numHashFunctions=10_000, utf8bitset=bytes(16)),
         f"filter: 10000 hashes, expected 1 to {MAX_HASHES}"),
        (message(numHashFunctions=2**32 - 1, utf8bitset=bytes(16)),
         f"filter: 4294967295 hashes, expected 1 to {MAX_HASHES}"),
    ],
)  # fmt: skip
def test_a_filter_that_cannot_be_is_refused(data, expected):
    assert refused(data) == f"here: index group 0: {expected}"


@pytest.mark.parametrize("groups", [0, 1, 3])
def test_there_is_a_filter_for_each_index_group(groups):
    data = index_of([small(), small()])
    assert refused(data, groups=groups) == f"here: 2 filters, expected {groups}"


@KINDS
def test_bytes_that_are_no_message_are_refused(kind):
    problem = refused(b"\xff\xff", kind, error=FooterError)
    assert problem.startswith("here: damaged: 2 bytes, not a ")


def pre_release(words):
    """The message that Hive wrote in the months before filters were released."""
    expected_entries, fpp = wire.number_field(1, 10_000), np.float64(0.05).tobytes()
    stored = expected_entries + wire.varint(2 << 3 | wire.FIXED64) + fpp
    return wire.bytes_field(1, stored + b"".join(wire.number_field(3, word) for word in words))


@pytest.mark.parametrize("words", [[1], [2**64 - 1] * 975])
def test_the_layout_of_before_the_first_release_is_refused(words):
    """Readers of today take it for 10,000 hashes into 64 bits, which are those of 0.05."""
    (read,) = orc_pb2.BloomFilterIndex.FromString(pre_release(words)).bloomFilter
    assert (read.numHashFunctions, len(read.bitset)) == (10_000, 1)
    assert refused(pre_release(words), BLOOM_FILTER) == (
        "here: filters in the layout of Hive before release 1.2, whose hash is unknown"
    )


def test_the_layout_is_told_by_the_words_alone():
    """A filter of 64 bits is sound, if a small one."""
    (found,) = read_filters(
        index_of([filter_of([5], 64, 3)], BLOOM_FILTER), BLOOM_FILTER, 1, "here"
    )
    assert (found.num_bits, found.num_hashes) == (64, 3)


def test_random_bytes_are_refused_or_read():
    rng = np.random.default_rng(3)
    data = index_of([filter_of([1, 2, 3])])
    problems = set()
    for _ in range(2000):
        damaged = bytearray(data)
        damaged[rng.integers(len(data))] ^= int(rng.integers(1, 256))
        try:
            (found,) = read_filters(bytes(damaged), BLOOM_FILTER_UTF8, 1, "here")
            assert found.num_bits % 64 == 0
        except (FilterError, FooterError) as error:
            problems.add(str(error))
    assert len(problems) > 3
    assert not any("\n" in problem for problem in problems)
