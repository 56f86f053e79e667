"""Cases of one column of ordinary types: filters as they may be, and filters that nobody may believe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from parquet_bloom.conformance.case import Ask, Case, Level, Stored, Use, one_column
from parquet_bloom.conformance.column_type import REQUIRED, ColumnType, Value, number
from parquet_bloom.conformance.made_file import (
    PLAIN,
    PLAIN_DICTIONARY,
    RLE_DICTIONARY,
    Filter,
    MadeFile,
    right,
)
from parquet_bloom.conformance.nested_cases import INT, leaf, made, struct_of
from parquet_bloom.conformance.split_block import BLOCK, has, header
from parquet_bloom.conformance.thrift import i32, struct
from parquet_bloom.container import number_of

LONG = ColumnType("INT64")
TEXT = ColumnType("BYTE_ARRAY", 0, "STRING")

Sql = str | Mapping[str, str]


def long(value: int) -> bytes:
    return number(LONG, value)


# Of every group the first value is the least and the last one the greatest, so that no statistics exclude any.
GROUPS = [
    [long(value) for value in values]
    for values in ((0, 40, 80, 470), (0, 10, 50, 470), (0, 20, 60, 470))
]
BOUNDS = long(0), long(470)
KEY = b"0123456789012345"
FORTY = (Value("40", long(40)),)
TEN = (Value("10", long(10)),)


def _sql(sql: Sql) -> Mapping[str, str]:
    return {"*": sql} if isinstance(sql, str) else sql


def longs(**more: Any) -> MadeFile:
    return one_column(LONG, GROUPS, bounds=BOUNDS, **more)


def _filters(
    make: Callable[[Sequence[bytes]], Filter], groups: Sequence[int] = (0, 1, 2)
) -> dict[int, Filter]:
    return {group: make(GROUPS[group]) for group in groups}


def case_of(
    id: str,
    about: str,
    file: MadeFile,
    sql: Sql,
    rows: Sequence[int],
    excluded: Sequence[int] = (),
    values: Sequence[Value] = (),
    type: ColumnType = LONG,
    level: Level = "must",
    use: Use = "should",
    **more: Any,
) -> Case:
    op = "sql" if not values else "=" if len(values) == 1 else "in"
    ask = Ask(_sql(sql), op, "v", tuple(values))
    return Case(
        id, about, str(type), (file,), ask, tuple(rows), tuple(excluded), level, use, **more
    )


# --- filters as they may be -----------------------------------------------------------------------


def legal() -> Iterator[Case]:
    def case(id: str, about: str, file: MadeFile, **more: Any) -> Case:
        """`v = 40`, which is in group 0 alone."""
        return case_of(f"legal/{id}", about, file, "v = 40", [1], (1, 2), FORTY, **more)

    yield case("first-group", "the value is in the first of three row groups", longs())
    yield case_of(
        "legal/last-group", "the value is in the last row group", longs(), "v = 60", [2002], (0, 1),
        (Value("60", long(60)),), links=("https://github.com/apache/doris/issues/65487",),
    )  # fmt: skip
    yield case_of(
        "legal/absent",
        "the value is in no row group",
        longs(),
        "v = 41",
        [],
        (0, 1, 2),
        (Value("41", long(41)),),
    )
    for blocks in (1, 3, 7, 13, 64):
        filters = _filters(partial(right, blocks=blocks))
        yield case(
            f"blocks-{blocks}", f"filters of {number_of(blocks, 'block')}", longs(filters=filters)
        )
    # Longer than the buffers of most readers: whoever takes a short read for all of it has zeros.
    large = _filters(right) | {0: right(GROUPS[0], 8192)}
    yield case("large", "a bitset of 256 KiB, longer than one read may give", longs(filters=large), links=(
        "https://github.com/apache/parquet-java/issues/3249",
    ))  # fmt: skip
    # That of a row group of a million unique values, for a rate of 1 %. Readers take filters of up to 128 MiB, which
    # would be too much for the suite, as the file is there with sound and with destroyed pages.
    larger = _filters(right) | {1: right(GROUPS[1], 65536)}
    yield case(
        "large-excludes",
        "a bitset of 2 MiB, which excludes the second row group",
        longs(filters=larger),
    )
    without = _filters(lambda values: right(values, length=None))
    yield case(
        "no-length", "no bloom_filter_length, as older writers leave it", longs(filters=without)
    )
    yield case("filters-first", "filters before the pages", longs(filters_first=True))
    reverse = dict(reversed(_filters(right).items()))
    yield case(
        "filters-reversed", "filters in the reverse order of row groups", longs(filters=reverse)
    )
    yield case(
        "some-groups", "no filter for the first row group", longs(filters=_filters(right, (1, 2)))
    )
    # Here the last is there, in the next case the first: whoever asks for one of them alone loses rows.
    yield case_of(
        "legal/in", "a list of two values", longs(), "v IN (41, 40)", [1], (1, 2),
        (Value("41", long(41)), *FORTY),
    )  # fmt: skip
    many = [Value(str(value), long(value)) for value in (40, *range(1001, 1020))]
    yield case_of(
        "legal/in-20", "a list of twenty values", longs(), f"v IN ({', '.join(value.literal for value in many)})",
        [1], (1, 2), many,
    )  # fmt: skip
    yield from _several_values()
    yield case_of(
        "legal/and",
        "a second condition on the same rows",
        longs(),
        "v = 40 AND n < 500",
        [1],
        (1, 2),
        use="should",
    )
    extra = _filters(lambda values: right(values, 8, i32(5, 7)))
    yield case(
        "header-extra-field",
        "a field in the header that is not defined",
        longs(filters=extra),
        level="should",
        use="may",
    )
    for name, encoding, version in (
        ("dictionary", RLE_DICTIONARY, 1),
        ("plain-dictionary", PLAIN_DICTIONARY, 1),
        ("pages-v2", 0, 2),
        ("pages-v2-dictionary", RLE_DICTIONARY, 2),
    ):
        about = "data pages of version 2" if version == 2 else "dictionary pages"
        about += (
            " in the deprecated encoding PLAIN_DICTIONARY" if encoding == PLAIN_DICTIONARY else ""
        )
        # Dictionaries of excluded groups are destroyed as well: who reads one first has not used the filter.
        yield case(
            name,
            about,
            longs(encoding=encoding, version=version),
            use="may" if encoding else "should",
        )
    groups: list[list[Stored]] = [[None, *values[1:3], None, values[3]] for values in GROUPS]
    for version in (1, 2):
        file = one_column(LONG, groups, bounds=(long(10), long(470)), version=version)
        yield case(
            f"nulls-v{version}", f"nulls between the values, data pages of version {version}", file
        )
    yield from _several_rows()
    yield _behind_statistics()
    yield _behind_struct()
    yield from _many_groups()
    yield from _texts()


def _several_rows() -> Iterator[Case]:
    """Whoever stops at the first row, or the first row group, that has a value loses others."""
    groups = [
        [long(value) for value in values]
        for values in ((0, 40, 40, 470), (0, 10, 50, 470), (0, 40, 60, 470))
    ]
    yield case_of(
        "legal/first-and-last-group", "the value is twice in the first row group and once in the last",
        one_column(LONG, groups, bounds=BOUNDS), "v = 40", [1, 2, 2001], (1,), FORTY,
    )  # fmt: skip
    yield case_of(
        "legal/in-first-and-last-group", "a list of two values, one in the first row group and one in the last",
        longs(), "v IN (40, 60)", [1, 2002], (1,), (*FORTY, Value("60", long(60))),
    )  # fmt: skip


def _several_values() -> Iterator[Case]:
    """Whoever takes one value of a list for all that a row group can have, or reads it for each of them, has other
    rows."""

    def listed(id: str, about: str, values: Sequence[int], **more: Any) -> Case:
        asked = [Value(str(value), long(value)) for value in values]
        sql = f"v IN ({', '.join(value.literal for value in asked)})"
        return case_of(f"legal/in-{id}", about, longs(), sql, values=asked, **more)

    yield listed(
        "same-group", "a list of two values, both in the first row group", (40, 80),
        rows=[1, 2], excluded=(1, 2),
    )  # fmt: skip
    yield listed(
        "same-group-around", "a list of three values, of which the first row group has all but the second",
        (40, 41, 80), rows=[1, 2], excluded=(1, 2),
    )  # fmt: skip
    yield listed(
        "two-groups", "a list of four values, two in the second row group and two in the last",
        (60, 10, 50, 20), rows=[1001, 1002, 2001, 2002], excluded=(0,),
    )  # fmt: skip


def _behind_statistics() -> Case:
    """Whoever counts the row groups that statistics have left takes the filter of another one."""
    groups = [
        [long(value) for value in values]
        for values in ((500, 540, 970), (0, 10, 470), (0, 60, 470))
    ]
    file = one_column(LONG, groups)
    bounded = tuple(
        (numbers, replace(chunk, bounds=(chunk.values[0], chunk.values[-1])))
        for numbers, chunk in file.groups
    )
    return case_of(
        "legal/behind-statistics", "minimum and maximum exclude the first row group, its filter the second",
        replace(file, groups=bounded), "v = 60", [2001], (1,), (Value("60", long(60)),),
    )  # fmt: skip


def _behind_struct() -> Case:
    """Whoever takes the place of a column for that of its leaf finds the filter of `s.b`."""
    member = leaf(INT, REQUIRED)
    columns = {"n": member, "s": struct_of(REQUIRED, a=member, b=member), "v": member}

    def row(group: int, place: int, value: int) -> dict[str, Any]:
        ordinal, a, b, v = (
            number(INT, each) for each in (1000 * group + place, value + 1000, value + 2000, value)
        )
        return {"n": ordinal, "s": {"a": a, "b": b}, "v": v}

    groups = [
        [row(group, place, value) for place, value in enumerate(values)]
        for group, values in enumerate(((0, 40, 470), (0, 10, 470), (0, 20, 470)))
    ]
    return case_of(
        "legal/behind-struct", "a column behind a struct of two members, all of which have filters",
        made(columns, groups, PLAIN), "v = 40", [1], (1, 2), (Value("40", number(INT, 40)),), INT,
    )  # fmt: skip


def _many_groups() -> Iterator[Case]:
    """As many as make readers go through filters in parts."""
    count = 2000
    groups = [[long(0), long(10 * group + 5), long(100_000)] for group in range(count)]
    filters = {group: right(values, 1) for group, values in enumerate(groups)}
    file = one_column(
        LONG, groups, bounds=(long(0), long(100_000)), filters=filters,
        rows=[[3 * group + row for row in range(3)] for group in range(count)],
    )  # fmt: skip
    value = Value("19985", long(19985))
    excluded = [group for group in range(count) if not _may_hold(file, group, value.stored)]
    yield case_of(
        "legal/2000-groups", "two thousand row groups", file, "v = 19985", [3 * 1998 + 1], excluded, (value,),
        links=("https://github.com/chdb-io/chdb/issues/587",),
    )  # fmt: skip


def _may_hold(file: MadeFile, group: int, value: bytes) -> bool:
    return has(file.filters[group, 1].data[-BLOCK:], value)


def _texts() -> Iterator[Case]:
    def texts(*groups: Sequence[str]) -> MadeFile:
        stored = [[text.encode() for text in group] for group in groups]
        return one_column(TEXT, stored, bounds=(b"", b"z"))

    # Whoever folds case, or takes bytes for letters, hashes something else.
    file = texts(("", "Naïve", "z"), ("", "b", "z"), ("", "c", "z"))
    value = Value("Naïve", "Naïve".encode())
    yield case_of(
        "legal/text",
        "text with a capital, not ASCII",
        file,
        "v = 'Naïve'",
        [1],
        (1, 2),
        (value,),
        TEXT,
    )
    empty = one_column(TEXT, [[b"", b"a"], [b"b", b"a"], [b"c", b"a"]], bounds=(b"", b"z"))
    yield case_of(
        "legal/empty-text", "the empty text", empty, "v = ''", [0], (1, 2), (Value("", b""),), TEXT
    )
    long_text = "x" * 300
    file = texts(("", long_text, "z"), ("", long_text[:-1], "z"), ("", long_text + "x", "z"))
    value = Value(long_text, long_text.encode())
    yield case_of(
        "legal/long-text",
        "text of 300 bytes",
        file,
        f"v = '{long_text}'",
        [1],
        (1, 2),
        (value,),
        TEXT,
    )
    file = one_column(LONG, GROUPS, bounds=BOUNDS, name="a.b")
    quoted = {"*": '"a.b" = 40', "spark": "`a.b` = 40", "clickhouse": "`a.b` = 40"}
    yield Case(
        "legal/dot-in-name", "a column whose name has a dot", str(LONG), (file,), Ask(quoted, "=", "a.b", FORTY),
        (1,), (1, 2), use="may",
    )  # fmt: skip


def encrypted() -> Iterator[Case]:
    """Modules 8 and 9 are the filter's header and bitset: whoever reads pages must read these, too."""
    forty, sixty = FORTY, (Value("60", long(60)),)
    for name, sql, rows, excluded, values, more in (
        ("first-group", "v = 40", [1], (1, 2), forty, {}),
        ("last-group", "v = 60", [2002], (0, 1), sixty, {}),
        ("dictionary", "v = 40", [1], (1, 2), forty, {"encoding": RLE_DICTIONARY}),
    ):
        about = f"all of the file is encrypted with one key: {name}"
        file = longs(key=KEY, **more)
        yield case_of(f"encrypted/{name}", about, file, sql, rows, excluded, values)


# --- filters that nobody may believe --------------------------------------------------------------


def unknown() -> Iterator[Case]:
    """Groups 1 and 2 have a filter of a kind that is not defined, without a bit: who believes it loses a row.
    Group 0 has an ordinary one, which may be used."""
    for part in ("algorithm", "hash", "compression"):
        empty = Filter(header(2 * BLOCK, **{part: 2}) + bytes(2 * BLOCK))
        file = longs(filters={0: right(GROUPS[0]), 1: empty, 2: empty})
        about = f"filters of an unknown {part}"
        yield _ten(f"unknown/{part}", about, file, level="must", links=(
            "https://github.com/apache/parquet-format/blob/master/BloomFilter.md",
        ))  # fmt: skip


def _ten(id: str, about: str, file: MadeFile, **more: Any) -> Case:
    """`v = 10`, which is in group 1 alone; group 0 has a right filter."""
    return case_of(id, about, file, "v = 10", [1001], (0,), TEN, use="may", **more)


def broken() -> Iterator[Case]:
    """Groups 1 and 2 have a filter that is damaged: it can be refused, but not believed."""
    right_one = right(GROUPS[0])
    of_ten = right(GROUPS[1])
    zeros = bytes(2 * BLOCK)
    damaged = {
        "bytes-0": ("numBytes is 0", Filter(header(0))),
        "bytes-33": ("numBytes is 33", Filter(header(33) + bytes(33))),
        "bytes-31": ("numBytes is 31", Filter(header(31) + bytes(31))),
        "bytes-negative": ("numBytes is -32", Filter(header(-32) + zeros)),
        "bytes-past-end": (
            "numBytes reaches beyond the end of the file",
            Filter(header(1 << 30) + zeros),
        ),
        "bytes-most": ("numBytes is 2147483647", Filter(header((1 << 31) - 1) + zeros)),
        "offset-past-end": (
            "the offset is beyond the end of the file",
            Filter(of_ten.data, 1 << 40),
        ),
        "offset-0": ("the offset is 0", Filter(of_ten.data, 0)),
        "offset-negative": ("the offset is negative", Filter(of_ten.data, -7)),
        "length-short": (
            "bloom_filter_length is less than the filter",
            Filter(of_ten.data, None, 20),
        ),
        "length-long": (
            "bloom_filter_length reaches beyond the file",
            Filter(of_ten.data, None, 10**6),
        ),
        "length-0": ("bloom_filter_length is 0", Filter(of_ten.data, None, 0)),
        "garbage": ("0xFF instead of a header", Filter(b"\xff" * 96)),
        "empty-header": ("a header without any field", Filter(struct() + zeros)),
        "no-size": ("a header without numBytes", Filter(_without_size() + zeros)),
        "no-algorithm": ("a header with numBytes alone", Filter(struct(i32(1, 64)) + zeros)),
    }
    for name, (about, filter) in damaged.items():
        file = longs(filters={0: right_one, 1: filter, 2: filter})
        yield _ten(f"broken/{name}", about, file, level="should")


def _without_size() -> bytes:
    """The three unions alone: the field id of the first is 2."""
    return bytes([0x2C]) + header(0)[3:]
