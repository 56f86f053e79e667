"""The numbers of row groups: what one pass over them finds is what their fields say, field by field,
and it refuses the same bytes at the same place."""

from array import array
from typing import TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from make.memory_end import MemoryEnd
from oracle import specification as spec
from oracle.specification import Value, i32, i64, struct_of

from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer.chunk_table import GroupTable

ABSENT = _kernel.ABSENT

# By row group: where the columns begin, num_rows, ordinal.
Groups: TypeAlias = list[tuple[int, int, int]]

NUMBERS = st.integers(-(2**63), 2**63 - 1)
LISTS = st.lists(NUMBERS.map(i64), max_size=3).map(lambda values: spec.list_of(spec.I64, values))
VALUES = st.one_of(
    NUMBERS.map(i64),
    st.integers(-(2**31), 2**31 - 1).map(i32),
    st.integers(-(2**15), 2**15 - 1).map(spec.i16),
    st.binary(max_size=5).map(spec.binary),
    LISTS,
    LISTS.map(lambda value: struct_of((1, value))),
)
FIELDS = st.lists(st.tuples(st.sampled_from([1, 2, 3, 5, 7, 300]), VALUES), max_size=8)
MANY = [(2, i64(5))] * 1024
SOUND = struct_of((1, spec.list_of(spec.I64, [i64(3)])), (3, i64(-(2**63))), (7, spec.i16(-1)))


def zigzag(data: bytes) -> int:
    number = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(data)) & (1 << 64) - 1
    return (number >> 1) ^ -(number & 1)


def field_by_field(data: bytes, starts: list[int]) -> Groups:
    """Fields of another type are ignored; the last of several counts."""
    found = []
    for start in starts:
        columns, num_rows, ordinal = ABSENT, 0, ABSENT
        for number, kind, _, value, end in _kernel.fields(data, start):
            match number, kind:
                case 1, spec.LIST:
                    columns = value
                case 3, spec.I64:
                    num_rows = zigzag(data[value:end])
                case 7, spec.I16:
                    ordinal = zigzag(data[value:end])
        found.append((columns, num_rows, ordinal))
    return found


def in_one_pass(data: bytes, starts: list[int]) -> Groups:
    return list(zip(*_kernel.row_groups(data, array("q", starts)), strict=True))


def check_alike(data: bytes, starts: list[int]) -> None:
    refused = None
    try:
        expected = field_by_field(data, starts)
    except _kernel.ScanError as error:
        refused = error.problem, error.position
    if refused is None:
        assert in_one_pass(data, starts) == expected
        return
    with pytest.raises(_kernel.ScanError) as found:
        in_one_pass(data, starts)
    assert (found.value.problem, found.value.position) == refused


@given(st.lists(FIELDS, max_size=4))
@example([MANY])
@example([[*MANY, (3, i64(1))]])
@example([[*MANY, (1, spec.list_of(spec.I64, []))]])
def test_fields_of_any_type(groups: list[list[tuple[int, Value]]]) -> None:
    data, starts = b"--", []
    for fields in groups:
        starts.append(len(data))
        data += struct_of(*fields).encoded
    check_alike(data, starts)


def test_what_a_row_group_says() -> None:
    assert in_one_pass(b"--" + SOUND.encoded, [2]) == [(3, -(2**63), -1)]
    assert in_one_pass(b"\0", [0]) == [(ABSENT, 0, ABSENT)]
    assert in_one_pass(b"", []) == []


@given(
    FIELDS.map(lambda fields: struct_of(*fields).encoded),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=4),
    st.integers(0, 200),
    st.lists(st.integers(0, 200), max_size=3),
)
def test_damaged_bytes(
    data: bytes, changes: list[tuple[int, int]], size: int, starts: list[int]
) -> None:
    changed = bytearray(data)
    for place, byte in changes:
        changed[place % len(changed)] = byte
    kept = bytes(changed[:size])
    check_alike(kept, [0, *(start % (len(kept) + 1) for start in starts)])


@given(st.binary(max_size=40))
def test_random_bytes(data: bytes) -> None:
    check_alike(data, list(range(len(data) + 1)))


@pytest.mark.parametrize("num_rows", [3, 0, -1, 2**62, -(2**63)])
def test_first_rows(num_rows: int) -> None:
    """Of any size, as a footer can say anything."""
    one = struct_of((3, i64(num_rows))).encoded
    table = GroupTable(one * 4, array("q", [len(one) * at for at in range(4)]))
    assert list(table.first_rows) == [0, num_rows, 2 * num_rows, 3 * num_rows, 4 * num_rows]


def test_truncation_at_every_byte(memory_end: MemoryEnd) -> None:
    """Nothing behind the end is read."""
    for size in range(len(SOUND.encoded)):
        with pytest.raises(_kernel.ScanError, match="ends inside a value"):
            _kernel.row_groups(memory_end.place(SOUND.encoded[:size]), array("q", [0]))


@pytest.mark.parametrize("start", [-1, 2, 2**62])
def test_a_start_outside_is_refused(start: int) -> None:
    with pytest.raises(_kernel.ScanError) as refused:
        _kernel.row_groups(b"\0", array("q", [0, start]))
    assert refused.value.position == start
