"""A case for each type in each encoding, and for what else a type can be compared with.

i        0  1  2  3  4  5  6  7  …  47      values, in their order
group 0  *           *                *      the first and the last value are in each group, so
group 1  *  *           *             *      that no minimum or maximum excludes another one
group 2  *     *           *          *
                  3           7              in none
"""

from __future__ import annotations

import struct as packing
from collections.abc import Iterator, Mapping
from typing import Final

from parquet_bloom.conformance.case import Ask, Case, one_column
from parquet_bloom.conformance.column_type import (
    LAST,
    TYPES,
    ColumnType,
    Value,
    number,
    unscaled,
    value_at,
)
from parquet_bloom.conformance.made_file import PLAIN, RLE_DICTIONARY, Filter, MadeFile, right

GROUPS: Final = 3
ENCODINGS: Final = {"plain": PLAIN, "dictionary": RLE_DICTIONARY}
# In the lower half, where numbers with a sign are negative; and in the upper half, where numbers without one
# have the highest bit; and one that is in no group.
LOWER, UPPER = 4, 40
ABSENT = 23


def indexes(group: int) -> list[int]:
    return [i for i in range(LAST + 1) if i in (0, LAST) or i % (GROUPS + 1) == group]


def typed_file(type: ColumnType, encoding: int = PLAIN) -> MadeFile:
    values = [[value_at(type, i).stored for i in indexes(group)] for group in range(GROUPS)]
    bounds = values[0][0], values[0][-1]
    # 14 values in 512 bytes: none of the other groups' is there by accident.
    filters: dict[int, Filter] = {group: right(of_one, 16) for group, of_one in enumerate(values)}
    rows = [[1000 * group + i for i in indexes(group)] for group in range(GROUPS)]
    return one_column(
        type,
        values,
        bounds=bounds if type.has_order else None,
        filters=filters,
        rows=rows,
        encoding=encoding,
    )


def types() -> Iterator[Case]:
    for text in TYPES:
        index = UPPER if "INTEGER" in text and "false" in text else LOWER
        for encoding in ENCODINGS:
            yield typed_case(text, encoding, index)
    yield from _of_other_scale()
    yield from _padded()
    yield from _wide_timestamps()


def typed_case(text: str, encoding: str, index: int) -> Case:
    """Of a type in an encoding, asked for the value at a place."""
    type = ColumnType.of(text)
    value = value_at(type, index)
    id = f"types/{text.lower().translate(str.maketrans(' ,(_', '----', ')'))}-{encoding}"
    rows = (index,) if index in indexes(0) else ()
    return Case(
        id, f"{text} = {value.literal}", text, (typed_file(type, ENCODINGS[encoding]),),
        Ask(equal(type, value), "=", "v", (value,)), rows, (1, 2), use="may", encoding=encoding,
    )  # fmt: skip


def equal(type: ColumnType, value: Value) -> Mapping[str, str]:
    """`v = value` by dialect. {type} is what the engine calls the column's type."""
    text, digits = value.literal, value.stored.hex()
    sql = {"*": f"v = CAST('{text}' AS {{type}})"}
    arrow = f"v = arrow_cast('{text}', '{{type}}')"
    plain = text.replace("T", " ").removesuffix("Z")
    if type.physical == "INT96" or type.name == "TIMESTAMP":
        return sql | {"clickhouse": f"v = CAST('{plain}' AS {{type}})", "datafusion": arrow}
    if type.name == "TIME":
        return sql | {
            "clickhouse": f"v = CAST('1970-01-01 {text}' AS {{type}})",
            "datafusion": arrow,
        }
    if type.name == "INTERVAL":
        months, days, millis = packing.unpack("<3I", value.stored)
        interval = f"to_months({months}) + to_days({days}) + to_milliseconds({millis})"
        return sql | {
            "duckdb": f"v = ({interval})",
            "clickhouse": f"v = CAST(unhex('{digits}') AS {{type}})",
            "datafusion": f"v = arrow_cast(X'{digits}', '{{type}}')",
        }
    if text.startswith("0x"):
        escaped = "".join(f"\\x{byte:02X}" for byte in value.stored)
        of_bytes = {"*": f"v = X'{digits}'", "duckdb": f"v = CAST('{escaped}' AS {{type}})"}
        of_bytes["datafusion"] = f"v = arrow_cast(X'{digits}', '{{type}}')"
        return of_bytes | {"clickhouse": f"v = CAST(unhex('{digits}') AS {{type}})"}
    if type.physical in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY") and type.name not in (
        "DECIMAL",
        "FLOAT16",
    ):
        of_uuid = {
            "datafusion": f"v = arrow_cast(X'{digits}', '{{type}}')",
            "spark": f"v = X'{digits}'",
        }
        of_text = {"datafusion": arrow, "clickhouse": f"v = CAST(unhex('{digits}') AS {{type}})"}
        return sql | (of_uuid if type.name == "UUID" else of_text)
    return sql | {"datafusion": arrow}


def _of_other_scale() -> Iterator[Case]:
    """-1.5 is -1.50: another number of digits, and the same bytes."""
    for text in ("INT32 DECIMAL(9,2)", "FIXED_LEN_BYTE_ARRAY(5) DECIMAL(9,2)"):
        type = ColumnType.of(text)
        groups = [
            [unscaled(type, each) for each in values]
            for values in ((0, -150, 990000000), (0, 200, 990000000), (0, 350, 990000000))
        ]
        bounds = groups[0][1], groups[0][-1]
        sql = {
            "*": "v = CAST('-1.5' AS DECIMAL(4,1))",
            "clickhouse": "v = toDecimal32('-1.5', 1)",
        }
        name = "types/decimal-scale-" + ("int32" if type.physical == "INT32" else "bytes")
        links = ("https://github.com/apache/datafusion/issues/22994",)
        yield Case(
            name, f"{text} compared with a decimal of another scale", text,
            (one_column(type, groups, bounds=bounds),),
            Ask(sql, "=", "v", (Value("-1.50", groups[0][1]),)), (1,), (1, 2), use="may", links=links,
        )  # fmt: skip


def _padded() -> Iterator[Case]:
    """A decimal in more bytes than it needs, as the format allows."""
    type = ColumnType.of("BYTE_ARRAY DECIMAL(9,2)")
    groups = [
        [each.to_bytes(6, "big", signed=True) for each in values]
        for values in ((0, -150, 990000000), (0, 200, 990000000), (0, 350, 990000000))
    ]
    sql = {"*": "v = CAST('-1.50' AS DECIMAL(9,2))", "clickhouse": "v = toDecimal32('-1.50', 2)"}
    yield Case(
        "types/decimal-padded", "a decimal in more bytes than it needs", str(type), (one_column(type, groups),),
        Ask(sql), (1,), (), level="should", use="never",
    )  # fmt: skip


def _wide_timestamps() -> Iterator[Case]:
    """Twelve bytes, of which engines may know no more than that."""
    type = ColumnType("FIXED_LEN_BYTE_ARRAY", 12)
    groups = [
        [each.to_bytes(12, "little", signed=True) for each in values]
        for values in ((0, -(10**9), 10**20), (0, 5, 10**20), (0, 7, 10**20))
    ]
    stored = groups[0][1]
    value = Value(f"0x{stored.hex()}", stored)
    yield Case(
        "types/twelve-bytes", "twelve bytes, as wide timestamps have them", str(type), (one_column(type, groups),),
        Ask(equal(type, value), "=", "v", (value,)), (1,), (1, 2), use="may",
    )  # fmt: skip


# --- several files --------------------------------------------------------------------------------


def several() -> Iterator[Case]:
    """Files of one folder, read as one."""
    long = ColumnType("INT64")

    def file(type: ColumnType, first: int, *groups: tuple[int, ...]) -> MadeFile:
        stored = [[number(type, value) for value in values] for values in groups]
        rows = [
            [1000 * (first + group) + row for row in range(len(values))]
            for group, values in enumerate(groups)
        ]
        return one_column(type, stored, bounds=(number(type, 0), number(type, 470)), rows=rows)

    first, second = (
        file(long, 0, (0, 10, 470), (0, 20, 470)),
        file(long, 2, (0, 40, 470), (0, 50, 470)),
    )
    forty = Value("40", number(long, 40))
    yield Case(
        "several/last-file", "the value is in the last of two files", "INT64", (first, second),
        Ask({"*": "v = 40"}, "=", "v", (forty,)), (2001,), (0, 1, 3),
    )  # fmt: skip
    again = file(long, 2, (0, 40, 470), (0, 10, 470))
    yield Case(
        "several/both-files", "the value is in both of two files", "INT64", (first, again),
        Ask({"*": "v = 10"}, "=", "v", (Value("10", number(long, 10)),)), (1, 3001), (1, 2),
    )  # fmt: skip
    yield Case(
        "several/in-both-files", "a list of two values, one in each of two files", "INT64", (first, second),
        Ask({"*": "v IN (20, 40)"}, "in", "v", (Value("20", number(long, 20)), forty)), (1001, 2001), (0, 3),
    )  # fmt: skip
    bare = MadeFile(first.elements, first.leaves, first.groups, {})
    yield Case(
        "several/one-without", "one of two files has no filters", "INT64", (bare, second),
        Ask({"*": "v = 40"}, "=", "v", (forty,)), (2001,), (3,),
    )  # fmt: skip
    narrow = ColumnType("INT32")
    older = file(narrow, 2, (0, 40, 470), (0, 50, 470))
    yield Case(
        "several/widened", "a column that was INT32 and is INT64, asked for a value of the older file", "INT64",
        (first, older),
        Ask({
            "*": "v = 40",
            "clickhouse": "SELECT n FROM file('{path}/*.parquet', 'Parquet', 'n Int32, v Int64') WHERE v = 40",
        }),
        (2001,), (0, 1), use="may", links=("https://github.com/trinodb/trino/issues/30544",),
    )  # fmt: skip
    single, double = ColumnType("FLOAT"), ColumnType("DOUBLE")
    yield Case(
        "several/widened-float", "a column that was FLOAT and is DOUBLE, asked for a value of the older file",
        "DOUBLE",
        (file(double, 0, (0, 10, 470), (0, 20, 470)), file(single, 2, (0, 40, 470), (0, 50, 470))),
        Ask({
            "*": "v = 40.0e0", "spark": "v = 40.0D",
            "clickhouse": "SELECT n FROM file('{path}/*.parquet', 'Parquet', 'n Int32, v Float64') WHERE v = 40",
        }),
        (2001,), (0, 1), use="may", links=("https://github.com/trinodb/trino/issues/30544",),
    )  # fmt: skip
