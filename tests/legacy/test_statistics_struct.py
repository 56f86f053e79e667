"""The struct of a filter inside Statistics: its bytes in each encoding, and bytes that are none."""

import struct as packing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import specification
from oracle.specification import binary, i32, i64, list_of, struct_of

from parquet_bloom.errors import FilterError
from parquet_bloom.legacy.statistics.filter_struct import (
    StatisticsStruct,
    decode,
    decode_varints,
    encode,
    encode_varints,
    from_java,
    to_java,
)

LONGS = [0, 1, -1, 2**62, -(2**63), 2**63 - 1, 0x0123456789ABCDEF]
BITSET = packing.pack("<7q", *LONGS)
HEADER = bytes.fromhex("aced00057572 00025b4a782004b512b17593020000 7870")
JAVA = HEADER + packing.pack(">i7q", 7, *LONGS)

BITSETS = {
    "list": list_of(specification.I64, [i64(number) for number in LONGS]),
    "binary": binary(BITSET),
    "java": binary(JAVA),
}


def struct_bytes(*fields):
    """A struct of (id, value), encoded."""
    return specification.element(struct_of(*fields))


@pytest.mark.parametrize("encoding", BITSETS)
def test_the_bytes_of_each_encoding(encoding):
    stored = StatisticsStruct(encoding, BITSET, 448, 5, 0)
    encoded = struct_bytes((1, BITSETS[encoding]), (2, i32(448)), (3, i32(5)), (4, i32(0)))
    assert encode(stored) == encoded
    assert decode(encoded) == stored


@pytest.mark.parametrize("encoding", BITSETS)
def test_what_is_ours_has_ids_that_nobody_else_has(encoding):
    """The strategy by its name, and is_max_value_exact = true, which was there before."""
    stored = StatisticsStruct(encoding, BITSET, 448, 5, 1, "guava-64", (1, b""))
    encoded = struct_bytes(
        (1, BITSETS[encoding]),
        (2, i32(448)),
        (3, i32(5)),
        (4, i32(1)),
        (31421, binary(b"guava-64")),
        (31422, specification.boolean(True)),
    )
    assert encode(stored) == encoded
    assert decode(encoded) == stored


def test_the_first_draft_had_no_strategy():
    encoded = struct_bytes((1, BITSETS["list"]), (2, i32(448)), (3, i32(5)))
    assert decode(encoded) == StatisticsStruct("list", BITSET, 448, 5, None)


def test_unknown_fields_are_passed_over():
    encoded = struct_bytes((1, BITSETS["list"]), (2, i32(448)), (3, i32(5)), (9, binary(b"x")))
    assert decode(encoded) == StatisticsStruct("list", BITSET, 448, 5, None)


def test_a_binary_bitset_may_begin_like_a_stream_of_java():
    """Its length is that of whole longs, and no stream's is."""
    bitset = JAVA[:24]
    encoded = struct_bytes((1, binary(bitset)), (2, i32(192)), (3, i32(5)))
    assert decode(encoded).bitset == bitset


def fields(**changes):
    """A struct with one thing changed, or left out if None."""
    values = {
        "bitset": BITSETS["list"],
        "num_bits": i32(448),
        "num_hashes": i32(5),
        "strategy": i32(0),
    } | changes
    numbered = enumerate(values.values(), 1)
    return struct_bytes(*((number, value) for number, value in numbered if value))


@pytest.mark.parametrize(
    ("encoded", "message"),
    [
        (fields(bitset=None), "the filter in Statistics has no bitSet"),
        (fields(bitset=i64(1)), "bitSet: of Thrift type 6, expected list<i64> or binary"),
        (
            fields(bitset=list_of(specification.I32, [i32(1)])),
            "bitSet: a list of Thrift type 5, expected i64",
        ),
        (
            fields(bitset=binary(bytes(55))),
            "bitSet: 55 bytes, expected whole longs, or a long[] as Java serializes it",
        ),
        (
            fields(bitset=binary(JAVA[:-8])),
            "bitSet: 75 bytes of Java's long[7], expected 83",
        ),
        (
            fields(bitset=binary(HEADER + b"\xff\xff\xff\xff" + bytes(56))),
            "bitSet: 83 bytes of Java's long[4294967295], expected 34359738387",
        ),
        (fields(num_bits=None), "the filter in Statistics has no numBits"),
        (fields(num_bits=i64(448)), "the filter in Statistics has no numBits"),
        *(
            (
                fields(num_bits=i32(number)),
                f"numBits is {number}, expected as many as fill the bitSet's 7 longs",
            )
            for number in (0, -1, -448, 384, 449, 2**31 - 1, -(2**31))
        ),
        (
            fields(bitset=list_of(specification.I64, []), num_bits=i32(0)),
            "numBits is 0, expected as many as fill the bitSet's 0 longs",
        ),
        (fields(num_hashes=None), "the filter in Statistics has no numHashFunctions"),
        *(
            (
                fields(num_hashes=i32(number)),
                f"numHashFunctions is {number}, expected 1 to 1100",
            )
            for number in (0, -5, 1101, 2**31 - 1)
        ),
    ],
)
def test_what_does_not_go_together_is_no_filter(encoded, message):
    with pytest.raises(FilterError) as found:
        decode(encoded)
    assert str(found.value) == message


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_varints_are_those_of_thrift(numbers):
    encoded = encode_varints(np.array(numbers, np.int64))
    assert encoded == b"".join(specification.zigzag(number) for number in numbers)
    assert decode_varints(encoded).tolist() == numbers


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_longs_of_java_come_back(numbers):
    stream = to_java(np.array(numbers, np.int64))
    assert stream == HEADER + packing.pack(f">i{len(numbers)}q", len(numbers), *numbers)
    assert from_java(stream).tolist() == numbers


def test_java_writes_and_reads_the_same_longs(parquet_java):
    arrays = [LONGS, [], [7], list(range(-300, 300))]
    streams = [to_java(np.array(array, np.int64)).hex() for array in arrays]
    texts = [",".join(map(str, array)) for array in arrays]
    jobs = [("write", text) for text in texts] + [("read", stream) for stream in streams]
    answers = parquet_java.answers("Longs", jobs)
    assert [answer for (answer,) in answers] == streams + texts
