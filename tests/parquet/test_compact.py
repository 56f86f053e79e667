"""Thrift structs without decoding them: where their parts lie, and what a splice leaves alone."""

from array import array
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from make.memory_end import MemoryEnd
from oracle import specification as spec
from oracle.specification import Value, binary, boolean, i32, i64, struct_of

from parquet_bloom.errors import FormatError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes

OFFSET, LENGTH = 14, 15


# --- values of every type -------------------------------------------------------------------------

INT64 = st.integers(-(2**63), 2**63 - 1)
SCALARS = [
    st.booleans().map(boolean),
    st.integers(0, 255).map(spec.byte),
    st.integers(-(2**15), 2**15 - 1).map(spec.i16),
    st.integers(-(2**31), 2**31 - 1).map(i32),
    INT64.map(i64),
    st.floats().map(spec.double),
    st.one_of(st.binary(max_size=20), st.binary(min_size=127, max_size=130)).map(binary),
    st.binary(min_size=16, max_size=16).map(spec.uuid),
]


@st.composite
def collections(draw: st.DrawFn, inner: st.SearchStrategy[Value]) -> Value:
    """A list, set or map whose elements are of one type, which `inner` has chosen."""
    sample = draw(inner)
    same = [sample] * draw(st.integers(0, 20))
    if draw(st.booleans()):
        keys = draw(st.sampled_from(SCALARS))
        items = [(draw(keys), value) for value in same[:3]]
        key_type = items[0][0].type if items else spec.I32
        assert all(key.type == key_type or key.type <= spec.FALSE for key, _ in items)
        return spec.map_of(key_type, sample.type, items)
    return spec.list_of(sample.type, same, draw(st.sampled_from([spec.LIST, spec.SET])))


def structs(values: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    return fields_of(values).map(lambda fields: struct_of(*fields))


def fields_of(values: st.SearchStrategy[Value]) -> st.SearchStrategy[list[tuple[int, Value]]]:
    ids = st.one_of(st.integers(1, 40), st.integers(-(2**15), 2**15 - 1))
    return st.lists(st.tuples(ids, values), max_size=8, unique_by=lambda field: field[0])


VALUES = st.recursive(
    st.one_of(SCALARS), lambda inner: st.one_of(collections(inner), structs(inner)), max_leaves=6
)
FIELDS = fields_of(VALUES)
SORTED_FIELDS = FIELDS.map(lambda fields: sorted(field for field in fields if field[0] > 0))


# --- where a struct's parts lie -------------------------------------------------------------------


@given(FIELDS, st.binary(max_size=20), st.binary(max_size=20))
def test_struct_end_and_fields(
    fields: list[tuple[int, Value]], before: bytes, behind: bytes
) -> None:
    encoded, spans = spec.spanned(fields, len(before))
    data = before + encoded + behind
    assert _kernel.struct_end(data, len(before)) == len(before) + len(encoded)
    assert _kernel.fields(data, len(before)) == spans


@given(FIELDS)
def test_long_headers_are_read_like_short_ones(fields: list[tuple[int, Value]]) -> None:
    ids = {field_id for field_id, _ in fields}
    encoded, spans = spec.spanned(fields, long_form=ids)
    assert _kernel.struct_end(encoded) == len(encoded)
    assert _kernel.fields(encoded) == spans


def test_a_field_id_may_repeat() -> None:
    encoded, spans = spec.spanned([(3, i32(1)), (3, i32(2)), (1, i32(3))])
    assert _kernel.fields(encoded) == spans
    assert [span.id for span in spans] == [3, 3, 1]


@given(VALUES, st.integers(0, 40), st.binary(max_size=5), st.sampled_from([spec.LIST, spec.SET]))
def test_elements(value: Value, size: int, before: bytes, collection: int) -> None:
    encoded = spec.list_of(value.type, [value] * size, collection).encoded
    header = len(spec.list_header(value.type, size))
    width = len(spec.element(value))
    boundaries = _kernel.elements(before + encoded + b"behind", len(before))
    assert boundaries.typecode == "q"
    assert boundaries.tolist() == [len(before) + header + width * i for i in range(size + 1)]


# --- column chunks --------------------------------------------------------------------------------

META_DATA_IDS = {
    "type": 1,
    "codec": 4,
    "num_values": 5,
    "total_uncompressed_size": 6,
    "total_compressed_size": 7,
    "data_page_offset": 9,
    "index_page_offset": 10,
    "dictionary_page_offset": 11,
    "bloom_filter_offset": 14,
    "bloom_filter_length": 15,
}
CHUNK_IDS = {
    "offset_index_offset": 4,
    "offset_index_length": 5,
    "column_index_offset": 6,
    "column_index_length": 7,
}
FLAG_IDS = {"has_file_path": 1, "has_crypto_metadata": 8}


def meta_data(numbers: dict[str, int], more: list[tuple[int, Value]]) -> Value:
    """A ColumnMetaData with these numbers, and `more` fields."""
    fields = [
        (META_DATA_IDS[name], i64(numbers[name])) for name in META_DATA_IDS if name in numbers
    ]
    return struct_of(*sorted([*fields, *more]))


def column_chunk(numbers: dict[str, int], meta: Value) -> Value:
    fields = [(CHUNK_IDS[name], i64(numbers[name])) for name in CHUNK_IDS if name in numbers]
    fields += [(2, i64(4)), (3, meta)]
    if "has_file_path" in numbers:
        fields.append((1, binary(b"other.parquet")))
    if "has_crypto_metadata" in numbers:
        fields.append((8, struct_of((1, struct_of()))))
    return struct_of(*sorted(fields))


def chunks_at(data: Any, start: int, expected: int) -> "array[int]":
    return _kernel.chunks(data, array("q", [start]), expected)


def scanned_chunks(data: bytes, start: int, expected: int) -> list[dict[str, int]]:
    numbers = chunks_at(data, start, expected)
    names = _kernel.CHUNK_FIELDS
    assert numbers.typecode == "q"
    assert len(numbers) == len(names) * expected
    return [
        dict(zip(names, numbers[at : at + len(names)], strict=True))
        for at in range(0, len(numbers), len(names))
    ]


NUMBERS = st.fixed_dictionaries(
    {},
    optional={
        **{name: INT64.filter(lambda n: n != _kernel.ABSENT) for name in META_DATA_IDS | CHUNK_IDS},
        **{name: st.just(1) for name in FLAG_IDS},
    },
)
OTHER_FIELDS = st.lists(
    st.tuples(st.integers(16, 200), VALUES), max_size=3, unique_by=lambda field: field[0]
)


@given(st.lists(st.tuples(NUMBERS, OTHER_FIELDS), max_size=17), st.binary(max_size=3))
def test_chunks(
    chunks: list[tuple[dict[str, int], list[tuple[int, Value]]]], before: bytes
) -> None:
    metas = [meta_data(numbers, more) for numbers, more in chunks]
    encoded = [
        column_chunk(numbers, meta) for (numbers, _), meta in zip(chunks, metas, strict=True)
    ]
    data = before + spec.list_of(spec.STRUCT, encoded).encoded + b"behind"
    found = scanned_chunks(data, len(before), len(chunks))
    assert [data[span["start"] : span["end"]] for span in found] == [c.encoded for c in encoded]
    assert [data[span["meta_start"] : span["meta_end"]] for span in found] == [
        meta.encoded for meta in metas
    ]
    for span, (numbers, _) in zip(found, chunks, strict=True):
        for name in [*META_DATA_IDS, *CHUNK_IDS]:
            assert span[name] == numbers.get(name, _kernel.ABSENT), name
        for name in FLAG_IDS:
            assert span[name] == numbers.get(name, 0), name


def test_a_chunk_without_meta_data() -> None:
    data = spec.list_of(spec.STRUCT, [struct_of((2, i64(4)))]).encoded
    [span] = scanned_chunks(data, 0, 1)
    assert span["meta_start"] == span["meta_end"] == _kernel.ABSENT


def test_numbers_of_another_type_count_as_absent() -> None:
    meta = struct_of((5, binary(b"many")), (14, boolean(True)), (15, spec.double(1)))
    data = spec.list_of(spec.STRUCT, [struct_of((3, meta), (4, binary(b"")))]).encoded
    [span] = scanned_chunks(data, 0, 1)
    names = ("num_values", "bloom_filter_offset", "bloom_filter_length", "offset_index_offset")
    assert [span[name] for name in names] == [_kernel.ABSENT] * 4


@pytest.mark.parametrize("expected", [0, 1, 3, -1])
def test_another_number_of_chunks_is_refused(expected: int) -> None:
    data = spec.list_of(spec.STRUCT, [struct_of()] * 2).encoded
    with pytest.raises(_kernel.ScanError) as refused:
        chunks_at(data, 0, expected)
    assert refused.value.problem == f"list of 2, expected {expected}"
    assert refused.value.position == 0


@pytest.mark.parametrize(
    "data",
    [
        spec.list_of(spec.I32, [i32(1)]).encoded,
        spec.list_of(spec.STRUCT, [struct_of((3, i32(1)))]).encoded,
        spec.list_of(spec.STRUCT, [struct_of((3, spec.list_of(spec.I32, [])))]).encoded,
    ],
    ids=["no structs", "meta data a number", "meta data a list"],
)
def test_chunks_of_another_shape_are_refused(data: bytes) -> None:
    with pytest.raises(_kernel.ScanError) as refused:
        chunks_at(data, 0, 1)
    assert refused.value.problem == MALFORMED


def test_the_chunks_of_several_lists_come_one_list_after_the_other() -> None:
    lists = [
        spec.list_of(spec.STRUCT, [struct_of((8, struct_of())), struct_of((4, i64(at)))]).encoded
        for at in range(3)
    ]
    starts = array("q", [0, len(lists[0]), len(lists[0] + lists[1])])
    each = [chunks_at(b"".join(lists), start, 2) for start in starts]
    assert _kernel.chunks(b"".join(lists), starts, 2) == each[0] + each[1] + each[2]
    assert _kernel.chunks(b"".join(lists), starts[::-1], 2) == each[2] + each[1] + each[0]
    assert _kernel.chunks(b"".join(lists), array("q"), 2) == array("q")
    for damaged in range(3):
        ends = [each[:-1] + b"\xff" * (number == damaged) for number, each in enumerate(lists)]
        with pytest.raises(_kernel.ScanError):
            _kernel.chunks(b"".join(ends), starts, 2)


def test_each_list_must_have_as_many_chunks() -> None:
    two, one = (spec.list_of(spec.STRUCT, [struct_of()] * count).encoded for count in (2, 1))
    with pytest.raises(_kernel.ScanError, match="list of 1, expected 2") as refused:
        _kernel.chunks(two + one + two, array("q", [0, len(two), len(two + one)]), 2)
    assert refused.value.position == len(two)


# --- damage ---------------------------------------------------------------------------------------

TRUNCATED = "ends inside a value"
MALFORMED = "no valid type, id or number"
TOO_DEEP = "structs nested too deep"

EVERYTHING = struct_of(
    (1, boolean(True)),
    (2, boolean(False)),
    (3, spec.byte(7)),
    (4, spec.i16(-300)),
    (5, i32(2**31 - 1)),
    (6, i64(-(2**63))),
    (7, spec.double(1.5)),
    (8, binary(b"x" * 200)),
    (9, spec.list_of(spec.BINARY, [binary(b"a"), binary(b"")])),
    (10, spec.list_of(spec.I64, [i64(n << 40) for n in range(20)], spec.SET)),
    (11, spec.map_of(spec.BINARY, spec.STRUCT, [(binary(b"k"), struct_of((1, i32(1))))])),
    (12, spec.list_of(spec.TRUE, [boolean(True), boolean(False)])),
    (13, struct_of((1, struct_of((40, i32(-1)))))),
    (14, spec.uuid(bytes(range(16)))),
    (300, spec.map_of(spec.I32, spec.I32, [])),
).encoded
MANY_NUMBERS = {name: 10**i for i, name in enumerate([*META_DATA_IDS, *CHUNK_IDS, *FLAG_IDS])}
MORE_FIELDS = [
    (2, spec.list_of(spec.I32, [i32(0)])),
    (3, spec.list_of(spec.BINARY, [binary(b"a")])),
]
CHUNK_LIST = spec.list_of(
    spec.STRUCT, [column_chunk(MANY_NUMBERS, meta_data(MANY_NUMBERS, MORE_FIELDS))] * 2
).encoded

Scan = Callable[[Any], object]
STRUCT_SCANS: list[Scan] = [_kernel.struct_end, _kernel.fields]
LIST_SCANS: list[Scan] = [
    lambda data: _kernel.elements(data, 0),
    lambda data: chunks_at(data, 0, 2),
]


@pytest.mark.parametrize(
    ("scan", "data"),
    [
        *((scan, EVERYTHING) for scan in STRUCT_SCANS),
        *((scan, CHUNK_LIST) for scan in LIST_SCANS),
    ],
    ids=["struct_end", "fields", "elements", "chunks"],
)
def test_truncation_at_every_byte(memory_end: MemoryEnd, scan: Scan, data: bytes) -> None:
    scan(memory_end.place(data))
    for length in range(len(data)):
        with pytest.raises(_kernel.ScanError) as refused:
            scan(memory_end.place(data[:length]))
        assert refused.value.problem == TRUNCATED
        assert 0 <= refused.value.position <= length


@pytest.mark.parametrize("start", [-1, 4, 2**62, -(2**63)])
@pytest.mark.parametrize(
    "scan",
    [
        _kernel.struct_end,
        _kernel.fields,
        _kernel.elements,
        lambda data, start: chunks_at(data, start, 0),
    ],
    ids=["struct_end", "fields", "elements", "chunks"],
)
def test_a_start_outside_is_refused(scan: Callable[[bytes, int], object], start: int) -> None:
    with pytest.raises(_kernel.ScanError) as refused:
        scan(b"\0\0\0", start)
    assert refused.value.problem == "ends before the value begins"
    assert refused.value.position == start


def positions(scan: Callable[[np.ndarray], list[int]], data: np.ndarray) -> list[int]:
    """Where the parts of the answer lie, or the ScanError."""
    try:
        return scan(data)
    except _kernel.ScanError as error:
        return [error.position]


def chunk_positions(data: np.ndarray) -> list[int]:
    expected = int(data[0]) >> 4 if data.size else 0
    names = ("start", "end", "meta_start", "meta_end")
    chunks = scanned_chunks(data, 0, expected)
    return [chunk[name] for chunk in chunks for name in names if chunk[name] != _kernel.ABSENT]


def try_everything(data: np.ndarray) -> None:
    """No scan raises anything but ScanError, and none sees a place outside of the bytes."""
    for scan in (
        lambda data: [_kernel.struct_end(data)],
        lambda data: [place for span in _kernel.fields(data) for place in span[2:]],
        lambda data: _kernel.elements(data, 0).tolist(),
        chunk_positions,
    ):
        assert all(0 <= place <= data.size for place in positions(scan, data))


@given(st.binary(max_size=200))
@example(b"\x1c" * 200)
@example(b"\x19\xfc" * 100)
def test_random_bytes(memory_end: MemoryEnd, data: bytes) -> None:
    try_everything(memory_end.place(data))


@given(st.sampled_from([EVERYTHING, CHUNK_LIST]), st.data())
def test_sound_bytes_with_some_of_them_changed(
    memory_end: MemoryEnd, sound: bytes, data: st.DataObject
) -> None:
    damaged = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(sound) - 1))] = data.draw(st.integers(0, 255))
    try_everything(memory_end.place(bytes(damaged)))


def nested(depth: int, wrap: Callable[[Value], Value]) -> bytes:
    value = i32(1)
    for _ in range(depth):
        value = wrap(value)
    return struct_of((1, value)).encoded


NESTINGS = {
    "struct": lambda value: struct_of((1, value)),
    "list": lambda value: spec.list_of(value.type, [value]),
    "set": lambda value: spec.list_of(value.type, [value], spec.SET),
    "map": lambda value: spec.map_of(spec.I32, value.type, [(i32(1), value)]),
    "map key": lambda value: spec.map_of(value.type, spec.I32, [(value, i32(1))]),
}


@pytest.mark.parametrize("wrap", NESTINGS.values(), ids=NESTINGS)
def test_nesting(wrap: Callable[[Value], Value]) -> None:
    data = nested(50, wrap)
    assert _kernel.struct_end(data) == len(data)
    for scan in STRUCT_SCANS:
        with pytest.raises(_kernel.ScanError) as refused:
            scan(nested(70, wrap))
        assert refused.value.problem == TOO_DEEP


@pytest.mark.parametrize("data", [b"\x1c", b"\x19\x19", b"\x1b\x01\x5b", b"\x1c\x19\x1c"])
def test_nesting_without_end(memory_end: MemoryEnd, data: bytes) -> None:
    """A million levels would overflow a stack."""
    for scan in STRUCT_SCANS:
        with pytest.raises(_kernel.ScanError) as refused:
            scan(memory_end.place(data * (1_000_000 // len(data))))
        assert refused.value.problem in (TOO_DEEP, TRUNCATED)


@pytest.mark.parametrize("size", [3, 2**14, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("element_type", [spec.TRUE, spec.I32, spec.BINARY, spec.STRUCT, spec.UUID])
def test_sizes_that_the_bytes_cannot_hold(
    memory_end: MemoryEnd, size: int, element_type: int
) -> None:
    long_list = bytes([0xF0 | element_type]) + spec.varint(size) + b"\0\0"
    long_map = spec.varint(size) + bytes([element_type << 4 | element_type]) + b"\0\0"
    fields = [
        Value(spec.LIST, long_list),
        Value(spec.SET, long_list),
        Value(spec.MAP, long_map),
        Value(spec.BINARY, spec.varint(size) + b"\0\0"),
    ]
    for field in fields:
        # Without the STOP of the struct, so that there are two bytes for what is in it.
        data = struct_of((1, field)).encoded[:-1]
        for scan in STRUCT_SCANS:
            with pytest.raises(_kernel.ScanError) as refused:
                scan(memory_end.place(data))
            assert refused.value.problem == TRUNCATED
    for scan in (_kernel.elements, lambda data, start: chunks_at(data, start, size % 2**63)):
        with pytest.raises(_kernel.ScanError) as refused:
            scan(memory_end.place(long_list), 0)
        assert refused.value.problem == TRUNCATED


@pytest.mark.parametrize(
    "data",
    [
        b"\x1e\0\0",  # type 14
        b"\x1f\0\0",  # type 15
        b"\x10\0\0",  # type 0 with an id
        b"\x19\x1e\0\0",  # list of type 14
        b"\x19\x10\0\0",  # list of type 0
        b"\x1b\x01\x05\0\0\0",  # map with keys of type 0
        b"\x05" + spec.zigzag(2**15) + b"\0\0",  # ids are 16 bits
        b"\x05" + spec.zigzag(-(2**15) - 1) + b"\0\0",
        b"\x05" + spec.zigzag(2**15 - 1) + b"\0\x15\0\0",  # the id after the last one
        b"\x15" + b"\x80" * 10 + b"\0\0",  # a number of 11 bytes
        b"\x18" + b"\xff" * 11 + b"\0",
    ],
)
def test_malformed(data: bytes) -> None:
    for scan in STRUCT_SCANS:
        with pytest.raises(_kernel.ScanError) as refused:
            scan(data)
        assert refused.value.problem == MALFORMED


def test_the_longest_numbers_are_read() -> None:
    data = b"\x16" + b"\xff" * 9 + b"\x01\0"
    assert _kernel.struct_end(data) == len(data)


def test_more_fields_than_any_struct_has() -> None:
    fields = [(number, i32(number)) for number in range(1, 1026)]
    assert len(_kernel.fields(struct_of(*fields[:1024]).encoded)) == 1024
    with pytest.raises(_kernel.ScanError) as refused:
        _kernel.fields(struct_of(*fields).encoded)
    assert refused.value.problem == "more fields than any struct has"


def test_a_scan_error_is_a_value_error() -> None:
    error = _kernel.ScanError("a problem", 7)
    assert isinstance(error, ValueError)
    assert (error.problem, error.position) == ("a problem", 7)


# --- numbers --------------------------------------------------------------------------------------


@given(INT64)
@example(-(2**63))
@example(2**63 - 1)
def test_zigzag(number: int) -> None:
    assert compact.zigzag(number) == spec.zigzag(number)


@given(st.integers(0, 2**64 - 1))
@example(127)
@example(128)
def test_varint(number: int) -> None:
    assert compact.varint(number) == spec.varint(number)


# --- splice ---------------------------------------------------------------------------------------


def filter_fields(offset: int, length: int) -> dict[int, tuple[int, bytes] | None]:
    """What is spliced to point at a filter."""
    return {OFFSET: (spec.I64, spec.zigzag(offset)), LENGTH: (spec.I32, spec.zigzag(length))}


NO_FILTER: dict[int, tuple[int, bytes] | None] = {OFFSET: None, LENGTH: None}


def test_splice_by_hand() -> None:
    # 13: i32 1.    16: i32 2, three ids further.    40: i32 3, too far for the short form.
    before = bytes.fromhex("d502 3504 055006 00")
    after = bytes.fromhex("d502 16c801 1564 1504 055006 00")
    assert struct_of((13, i32(1)), (16, i32(2)), (40, i32(3))).encoded == before
    assert compact.splice(before, 0, filter_fields(100, 50)) == after
    assert compact.splice(after, 0, NO_FILTER) == before


@given(SORTED_FIELDS, INT64, st.integers(0, 2**31 - 1))
def test_splice_is_what_a_writer_would_have_written(
    fields: list[tuple[int, Value]], offset: int, length: int
) -> None:
    others = [field for field in fields if field[0] not in (OFFSET, LENGTH)]
    encoded = struct_of(*fields).encoded
    spliced = compact.splice(encoded, 0, filter_fields(offset, length))
    assert spliced == struct_of(*sorted([*others, (14, i64(offset)), (15, i32(length))])).encoded
    assert compact.splice(spliced, 0, NO_FILTER) == struct_of(*others).encoded
    assert compact.splice(encoded, 0, {}) == encoded


@given(SORTED_FIELDS, st.sampled_from([OFFSET, LENGTH]))
def test_splice_of_one_field(fields: list[tuple[int, Value]], field_id: int) -> None:
    others = [field for field in fields if field[0] != field_id]
    encoded = struct_of(*fields).encoded
    added = compact.splice(encoded, 0, {field_id: (spec.I64, spec.zigzag(-7))})
    assert added == struct_of(*sorted([*others, (field_id, i64(-7))])).encoded
    assert compact.splice(encoded, 0, {field_id: None}) == struct_of(*others).encoded


@given(FIELDS, st.sets(st.integers(1, 40)))
def test_splice_leaves_fields_out_of_order_alone(
    fields: list[tuple[int, Value]], long_form: set[int]
) -> None:
    """Whatever their order and headers: each stays in its place, with its type and its bytes."""
    kept = [field for field in fields if field[0] not in (OFFSET, LENGTH)]
    encoded = struct_of(*fields, long_form=long_form).encoded
    spliced = compact.splice(encoded, 0, filter_fields(1000, 2000))
    place = next((i for i, field in enumerate(kept) if field[0] > OFFSET), len(kept))
    expected = [*kept[:place], (14, i64(1000)), (15, i32(2000)), *kept[place:]]

    spans = _kernel.fields(spliced)
    assert _kernel.struct_end(spliced) == len(spliced)
    assert [
        (field_id, Value(field_type, spliced[value:end]))
        for field_id, field_type, _, value, end in spans
    ] == expected


@pytest.mark.parametrize("unknown", range(16, 41))
def test_unknown_fields_are_kept(unknown: int) -> None:
    known = [(1, i32(1)), (3, spec.list_of(spec.BINARY, [binary(b"a")])), (13, struct_of())]
    more = [(unknown, binary(b"from the future")), (unknown + 1, boolean(True))]
    encoded = struct_of(*known, *more).encoded
    spliced = compact.splice(encoded, 0, filter_fields(4, 47))
    assert spliced == struct_of(*known, (14, i64(4)), (15, i32(47)), *more).encoded
    assert compact.splice(spliced, 0, NO_FILTER) == encoded


def test_headers_that_are_longer_than_they_need_be_are_kept() -> None:
    ids = {1, 5, 13, 20, 21}
    fields = [(field_id, i32(field_id)) for field_id in sorted(ids)]
    encoded = struct_of(*fields, long_form=ids).encoded
    added = [(14, i64(4)), (15, i32(47))]
    # Only the field that follows the change has a header of ours.
    expected = struct_of(*sorted([*fields, *added]), long_form=ids - {20}).encoded
    assert compact.splice(encoded, 0, filter_fields(4, 47)) == expected
    assert compact.splice(encoded, 0, NO_FILTER) == encoded


@pytest.mark.parametrize("value", [boolean(True), boolean(False), struct_of(), binary(b"")])
def test_the_type_of_the_next_field_survives(value: Value) -> None:
    encoded = struct_of((13, i32(1)), (16, value)).encoded
    spliced = compact.splice(encoded, 0, filter_fields(4, 47))
    assert spliced == struct_of((13, i32(1)), (14, i64(4)), (15, i32(47)), (16, value)).encoded


def test_values_of_another_length_and_type_are_replaced() -> None:
    encoded = struct_of((2, i32(1)), (14, binary(b"long " * 50)), (15, boolean(True)), (16, i32(2)))
    spliced = compact.splice(encoded.encoded, 0, filter_fields(2**40, 47))
    expected = struct_of((2, i32(1)), (14, i64(2**40)), (15, i32(47)), (16, i32(2)))
    assert spliced == expected.encoded


def test_a_field_that_repeats_is_replaced_once() -> None:
    encoded = struct_of((14, i64(1)), (14, i64(2)), (20, i32(3)), (14, i64(3))).encoded
    spliced = compact.splice(encoded, 0, {OFFSET: (spec.I64, spec.zigzag(9))})
    assert spliced == struct_of((14, i64(9)), (20, i32(3))).encoded


def test_only_the_struct_at_the_start_is_spliced() -> None:
    encoded = struct_of((13, i32(1))).encoded
    spliced = compact.splice(b"before" + encoded + b"behind", 6, filter_fields(4, 47))
    assert spliced == struct_of((13, i32(1)), (14, i64(4)), (15, i32(47))).encoded


def test_an_empty_struct() -> None:
    assert compact.splice(b"\0", 0, NO_FILTER) == b"\0"
    spliced = compact.splice(b"\0", 0, filter_fields(4, 47))
    assert spliced == struct_of((14, i64(4)), (15, i32(47))).encoded


def test_new_fields_each_take_their_own_place() -> None:
    encoded = struct_of((13, i32(1)), (15, i32(2)), (17, i32(3))).encoded
    new = {16: (spec.I32, spec.zigzag(8)), 14: (spec.I32, spec.zigzag(9))}
    fields = [(13, i32(1)), (14, i32(9)), (15, i32(2)), (16, i32(8)), (17, i32(3))]
    assert compact.splice(encoded, 0, new) == struct_of(*fields).encoded


@pytest.mark.parametrize("length", range(10))
def test_a_struct_that_ends_too_early_is_not_spliced(length: int) -> None:
    encoded = struct_of((13, i32(1)), (16, binary(b"12345"))).encoded
    assert len(encoded) == 10
    with pytest.raises(_kernel.ScanError):
        compact.splice(encoded[:length], 0, filter_fields(4, 47))


# --- decoding -------------------------------------------------------------------------------------


def test_a_filter_header_both_ways() -> None:
    header = ttypes.BloomFilterHeader(
        numBytes=1024,
        algorithm=ttypes.BloomFilterAlgorithm(BLOCK=ttypes.SplitBlockAlgorithm()),
        hash=ttypes.BloomFilterHash(XXHASH=ttypes.XxHash()),
        compression=ttypes.BloomFilterCompression(UNCOMPRESSED=ttypes.Uncompressed()),
    )
    union = struct_of((1, struct_of()))
    encoded = struct_of((1, i32(1024)), (2, union), (3, union), (4, union)).encoded
    assert compact.encode(header) == encoded
    assert compact.decode(ttypes.BloomFilterHeader, b"x" + encoded + b"y", 1) == (
        header,
        1 + len(encoded),
    )


STRUCT_CLASSES = [
    ttypes.BloomFilterHeader,
    ttypes.ColumnChunk,
    ttypes.ColumnMetaData,
    ttypes.FileMetaData,
    ttypes.PageHeader,
    ttypes.RowGroup,
    ttypes.SchemaElement,
]


@given(
    st.sampled_from(STRUCT_CLASSES),
    st.lists(st.tuples(st.integers(1, 18), VALUES), max_size=8, unique_by=lambda field: field[0]),
)
@example(ttypes.PageHeader, [(1, spec.uuid(bytes(16)))])
@example(ttypes.PageHeader, [(18, spec.uuid(bytes(16)))])
@example(ttypes.SchemaElement, [(4, binary(b"\xff"))])
def test_decoding_another_struct(struct_class: Any, fields: list[tuple[int, Value]]) -> None:
    encoded = struct_of(*fields).encoded
    with suppress(FormatError):
        struct, end = compact.decode(struct_class, encoded)
        assert isinstance(struct, struct_class)
        assert end == len(encoded)


@given(st.sampled_from(STRUCT_CLASSES), st.binary(max_size=100))
def test_decoding_random_bytes(struct_class: Any, data: bytes) -> None:
    with suppress(FormatError, _kernel.ScanError):
        compact.decode(struct_class, data)


def test_the_error_names_the_struct() -> None:
    numbers = spec.list_of(spec.I32, [i32(1)])
    with pytest.raises(FormatError, match=r"^FileMetaData: "):
        compact.decode(ttypes.FileMetaData, struct_of((2, numbers)).encoded)


@pytest.mark.parametrize(
    ("scan", "data", "problem", "position"),
    [
        (_kernel.fields, b"--" + struct_of((1, i32(1))).encoded[:-1], TRUNCATED, 4),
        (_kernel.fields, b"--" + struct_of((1, i32(1))).encoded[:1] + b"\xff" * 11, MALFORMED, 13),
        (_kernel.elements, b"--" + b"\xf5\xff", TRUNCATED, 4),
        (_kernel.elements, b"--" + b"\x1e\x02", MALFORMED, 3),
    ],
    ids=["fields cut off", "number too long", "list cut off", "no type of elements"],
)
def test_the_error_says_where(
    scan: Callable[[bytes, int], object], data: bytes, problem: str, position: int
) -> None:
    with pytest.raises(_kernel.ScanError) as refused:
        scan(data, 2)
    assert (refused.value.problem, refused.value.position) == (problem, position)
