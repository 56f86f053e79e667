"""The schema that Arrow keeps beside that of Parquet: pyarrow says which can be read."""

import io
import struct
from base64 import b64encode

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES

import parquet_bloom as pb
from parquet_bloom.parquet.footer.arrow_schema import (
    dictionaries,
    extensions,
    has_views,
    problem_of,
)

SCHEMA = pa.schema(
    [
        pa.field("list", pa.list_(pa.struct([("x", pa.int32()), ("y", pa.float16())])), metadata={"a": "b"}),
        ("map", pa.map_(pa.string(), pa.decimal128(9, 2))),
        ("words", pa.dictionary(pa.int8(), pa.string())),
        ("ex\u00e4mple", pa.timestamp("us", "UTC")),
    ],
    metadata={"pandas": "{}"},
)  # fmt: skip
OF_EVERY_TYPE = pa.schema(
    [
        (f"{number}", type)
        for number, type in enumerate(
            [
                pa.null(), pa.bool_(), pa.int8(), pa.uint64(), pa.float64(), pa.decimal128(5, 1), pa.decimal256(50, 3),
                pa.date32(), pa.time32("ms"), pa.time64("ns"), pa.timestamp("ns"), pa.duration("s"),
                pa.month_day_nano_interval(), pa.binary(), pa.binary(7), pa.large_binary(), pa.string(), pa.large_string(),
                pa.string_view(), pa.binary_view(), pa.uuid(), pa.list_(pa.int8(), 3), pa.large_list(pa.int8()),
                pa.list_view(pa.int8()), pa.run_end_encoded(pa.int16(), pa.string()),
                pa.dense_union([pa.field("a", pa.int8()), pa.field("b", pa.string())]),
                pa.dictionary(pa.int32(), pa.string(), ordered=True),
            ]
        )
    ]
)  # fmt: skip
STORED = SCHEMA.serialize().to_pybytes()
DAMAGED = "is no schema of Arrow, or a damaged one"


def said(data: bytes) -> str:
    return problem_of(b64encode(data).decode())


@pytest.mark.parametrize(
    "schema", [SCHEMA, pa.schema([]), pa.schema([(f"c{n}", pa.int64()) for n in range(300)])]
)
def test_what_arrow_writes_is_right(schema):
    data = schema.serialize().to_pybytes()
    # As old versions wrote it, and as arrow-rs reads it.
    assert [said(each) for each in (data, data[4:], data[8:])] == ["", "", ""]
    assert problem_of(b64encode(data).decode().rstrip("=")) == ""


@pytest.mark.parametrize("text", ["", "AAAA", "////", b64encode(bytes(400)).decode()])
def test_what_is_none(text):
    assert problem_of(text) == DAMAGED


@pytest.mark.parametrize("text", ["!", "AAA\n", "AAAAA", "\u00e4\u00e4\u00e4\u00e4"])
def test_what_is_no_base64(text):
    assert problem_of(text) == "is no Base64"


def test_what_is_cut_short():
    assert {said(STORED[:length]) for length in range(len(STORED))} == {DAMAGED}


def is_refused(data: bytes) -> bool:
    try:
        pa.ipc.read_schema(pa.BufferReader(data))
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        return True
    return False


@pytest.mark.parametrize("schema", [SCHEMA, OF_EVERY_TYPE], ids=["nested", "of every type"])
@pytest.mark.parametrize("mask", [0x01, 0x20])
def test_what_pyarrow_refuses_is_said_and_nothing_else(schema, mask):
    """Whichever byte is another."""
    stored = schema.serialize().to_pybytes()
    differing = []
    for at in range(len(stored)):
        data = bytearray(stored)
        data[at] ^= mask
        if is_refused(bytes(data)) is not bool(said(bytes(data))):
            differing.append(at)
    assert differing == []


def nested(levels: int) -> bytes:
    """A field with two children that are the same, and so on: twice as many at each level, in 32 bytes."""
    vtables = struct.pack(
        "<5H2x4H8H2H", 10, 12, 6, 4, 8, 8, 8, 0, 4, 16, 28, 0, 0, 4, 8, 0, 12, 4, 4
    )
    data = struct.pack("<I", 44) + vtables
    # The Message, the Schema, and its fields.
    data += struct.pack("<iBxhI iI II", 40, 1, 4, 4, 40, 4, 1, 4)
    for level in range(levels):
        at, count = len(data), 0 if level == levels - 1 else 2
        data += struct.pack("<iB3xII", at - 24, 4, 20, 4)
        data += struct.pack("<IIIi", count, 12, 8, at + 28 - 40)
    return data


def test_fields_that_several_places_lead_to_have_an_end():
    assert said(nested(1)) == said(nested(60)) == ""
    assert said(nested(60)[:-4]) == DAMAGED


def test_a_damaged_one_is_a_warning(tmp_path):
    """pyarrow refuses the file, others read it."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), sink)
    data = sink.getvalue()
    stored = pq.read_metadata(io.BytesIO(data)).metadata[b"ARROW:schema"]
    path = tmp_path / "x.parquet"
    for other, problem in ((b"!" * len(stored), "is no Base64"), (b"A" * len(stored), DAMAGED)):
        path.write_bytes(data.replace(stored, other))
        with pytest.raises(pa.ArrowException):
            pq.read_table(path)
        (found,) = pb.validate(path).findings
        assert (found.rule, found.severity) == ("PB129", "warning")
        assert found.message == f"ARROW:schema {problem}"
        pb.build(path, columns=["a"], in_place=True)
    path.write_bytes(data)
    assert pb.validate(path).findings == ()


def test_files_of_real_writers_have_none():
    found = [
        (path.name, each.message)
        for path in FIXTURES.glob("*.parquet")
        for each in pb.validate(path, deep=False).findings
        if "ARROW:schema" in each.message
    ]
    assert found == []


def test_views() -> None:
    plain = pa.schema({"a": pa.int64(), "b": pa.list_(pa.struct([("c", pa.string())]))})
    nested = pa.schema({"b": pa.list_(pa.struct([("c", pa.string_view())]))})
    for schema, has_them in (
        (plain, False),
        (nested, True),
        (pa.schema({"d": pa.binary_view()}), True),
    ):
        assert has_views(b64encode(schema.serialize()).decode()) is has_them
    assert not has_views("AAAA")


def test_dictionaries_are_told_by_the_field_that_they_are_in():
    words = pa.dictionary(pa.int8(), pa.string())
    schema = pa.schema(
        [("id", pa.int64()), ("w", words), ("in", pa.list_(pa.struct([("x", words)])))]
    )
    assert dictionaries(b64encode(schema.serialize()).decode()) == {"w", "in"}
    assert dictionaries(b64encode(pa.schema([("id", pa.int64())]).serialize()).decode()) == set()
    assert dictionaries("no Base64!") == dictionaries("AAAA") == set()


def test_extension_types_are_those_of_columns():
    uuids = pa.schema([("id", pa.int64()), ("uid", pa.uuid()), ("text", pa.json_())])
    data = uuids.serialize().to_pybytes()
    assert extensions(b64encode(data).decode()) == {"uid": "arrow.uuid", "text": "arrow.json"}
    assert extensions(b64encode(pa.schema([("id", pa.int64())]).serialize()).decode()) == {}
    for end in range(len(data)):
        assert set(extensions(b64encode(data[:end]).decode())) <= {"uid", "text"}
    assert extensions("no Base64!") == {}
