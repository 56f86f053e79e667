"""Protocol buffer messages as spans, and edits that keep every other byte."""

import random

import pytest

from parquet_bloom.errors import FormatError
from parquet_bloom.orc import wire
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.wire import WireField

# 1: 150, 2: 8 bytes, 3: "abc", 4: 4 bytes, 8000: "ORC"
MESSAGE = bytes.fromhex(
    "08 96 01  11 0102030405060708  1a 03 616263  25 01020304  82 f4 03 03 4f5243"
)


def test_fields_are_where_they_are():
    assert list(wire.fields(MESSAGE)) == [
        WireField(1, wire.VARINT, 0, 1, 3),
        WireField(2, wire.FIXED64, 3, 4, 12),
        WireField(3, wire.BYTES, 12, 14, 17),
        WireField(4, wire.FIXED32, 17, 18, 22),
        WireField(8000, wire.BYTES, 22, 26, 29),
    ]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("08", "byte 1: truncated number"),
        ("08 96", "byte 1: truncated number"),
        ("08 ff ff ff ff ff ff ff ff ff ff 01", "byte 1: a number of more than 10 bytes"),
        ("11 01 02", "byte 0: field 2 ends at 9, expected 3"),
        ("1a 04 61 62 63", "byte 0: field 3 ends at 6, expected 5"),
        ("25 01", "byte 0: field 4 ends at 5, expected 2"),
        ("0b", "byte 0: unknown wire type 3"),
        ("00 01", "byte 0: a field with number 0"),
    ],
)
def test_what_is_no_message_is_an_error(data, problem):
    with pytest.raises(FormatError) as raised:
        list(wire.fields(bytes.fromhex(data)))
    assert str(raised.value) == problem


@pytest.mark.parametrize(
    ("number", "data"), [(0, "00"), (127, "7f"), (128, "8001"), (2**64 - 1, "ff" * 9 + "01")]
)
def test_numbers(number, data):
    assert wire.varint(number).hex() == data
    assert wire.read_varint(b"x" + bytes.fromhex(data), 1) == (number, 1 + len(data) // 2)


def test_fields_that_are_made_are_those_of_protobuf():
    made = wire.number_field(3, 300) + wire.bytes_field(8000, b"ORC")
    stored = orc_pb2.PostScript(compressionBlockSize=300, magic=b"ORC")
    assert made == stored.SerializeToString()


def test_replacing_nothing_changes_nothing():
    assert wire.replaced(MESSAGE, {}) == MESSAGE


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ({1: b"A"}, b"A" + MESSAGE[3:]),
        ({3: b"C"}, MESSAGE[:12] + b"C" + MESSAGE[17:]),
        ({3: b""}, MESSAGE[:12] + MESSAGE[17:]),
        ({5: b"E"}, MESSAGE[:22] + b"E" + MESSAGE[22:]),
        ({9000: b"Z"}, MESSAGE + b"Z"),
        ({9000: b"Z", 5: b"E", 2: b"B"},
         MESSAGE[:3] + b"B" + MESSAGE[12:22] + b"E" + MESSAGE[22:] + b"Z"),
    ],
)  # fmt: skip
def test_replacing_leaves_every_other_byte(edits, expected):
    assert wire.replaced(MESSAGE, edits) == expected


def test_all_fields_of_a_number_are_replaced_where_the_first_was():
    streams = [orc_pb2.Stream(kind=kind, column=1, length=2) for kind in (6, 7, 1)]
    footer = orc_pb2.StripeFooter(streams=streams, writerTimezone=b"UTC").SerializeToString()
    unknown = wire.bytes_field(99, b"later")
    replaced = wire.replaced(unknown + footer, {1: wire.bytes_field(1, b"")})
    assert replaced == unknown + wire.bytes_field(1, b"") + wire.bytes_field(3, b"UTC")


def test_a_field_that_comes_late_stays_where_it_is():
    """Nothing says that fields are in order."""
    data = wire.number_field(7, 1) + wire.number_field(2, 5) + wire.number_field(3, 6)
    expected = wire.number_field(7, 1) + wire.number_field(2, 9) + wire.number_field(3, 6)
    assert wire.replaced(data, {2: wire.number_field(2, 9)}) == expected


def test_random_bytes_are_a_message_or_an_error():
    rng = random.Random(6)
    messages = 0
    for _ in range(3000):
        data = rng.randbytes(rng.randrange(12))
        try:
            assert wire.replaced(data, {}) == data
            messages += 1
        except FormatError:
            continue
    assert 200 < messages < 2800
