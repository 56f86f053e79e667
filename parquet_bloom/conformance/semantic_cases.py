"""Cases of predicates that say less than they seem to, or are equal where bytes differ: equality is the
engine's, not that of stored bytes."""

from __future__ import annotations

import struct as packing
from collections.abc import Iterator, Sequence
from typing import Any

from parquet_bloom.conformance.case import Case, Stored, one_column
from parquet_bloom.conformance.column_type import ColumnType, Value, number
from parquet_bloom.conformance.legal_cases import (
    BOUNDS,
    FORTY,
    LONG,
    TEN,
    TEXT,
    Sql,
    case_of,
    long,
    longs,
)
from parquet_bloom.conformance.made_file import Filter, right
from parquet_bloom.conformance.split_block import BLOCK, header

BYTES = ColumnType("BYTE_ARRAY")
DOUBLE = ColumnType("DOUBLE")
FLOAT = ColumnType("FLOAT")


def semantics() -> Iterator[Case]:
    def useless(id: str, about: str, sql: Sql, rows: Sequence[int], **more: Any) -> Case:
        """Of the ordinary file; no filter is of use."""
        return case_of(f"semantics/{id}", about, longs(), sql, rows, use="never", **more)

    ones = Filter(header(2 * BLOCK) + b"\xff" * 2 * BLOCK)
    yield case_of(
        "semantics/all-ones", "filters with every bit set, which exclude nothing",
        longs(filters=dict.fromkeys(range(3), ones)), "v = 40", [1], (), FORTY, use="never",
    )  # fmt: skip
    yield useless(
        "or",
        "or another column",
        "v = 40 OR n = 2001",
        [1, 2001],
        links=("https://github.com/StarRocks/starrocks/issues/69898",),
    )
    yield useless("or-greater", "or another range", "v = 41 OR v > 400", [3, 1003, 2003])
    yield case_of(
        "semantics/or-same",
        "or another value",
        longs(),
        "v = 40 OR v = 41",
        [1],
        (1, 2),
        use="may",
    )
    yield useless(
        "not-equal", "not equal", "v <> 40 AND v <> 0 AND v <> 470", [2, 1001, 1002, 2001, 2002]
    )
    yield useless(
        "not",
        "a comparison negated",
        "NOT (v = 41) AND v > 0 AND v < 470",
        [1, 2, 1001, 1002, 2001, 2002],
        links=("https://github.com/rapidsai/cudf/issues/23580",),
    )
    yield useless(
        "not-in", "a list negated", "v NOT IN (41, 0, 470)", [1, 2, 1001, 1002, 2001, 2002]
    )
    yield useless(
        "distinct",
        "distinct from a value",
        {
            "*": "v IS DISTINCT FROM 40 AND v > 0 AND v < 470",
            "clickhouse": "NOT (v <=> 40) AND v > 0 AND v < 470",
            "spark": "NOT (v <=> 40) AND v > 0 AND v < 470",
        },
        [2, 1001, 1002, 2001, 2002],
    )
    # A reader that looks up -40 or 41 instead of the column's own value loses row 1: no filter has either.
    negated = {"*": "-v IN (-40)"}
    yield case_of(
        "semantics/minus",
        "the column negated, in a list",
        longs(),
        negated,
        [1],
        (1, 2),
        use="may",
        links=("https://github.com/ClickHouse/ClickHouse/issues/81255",),
    )
    yield case_of(
        "semantics/plus", "the column and one", longs(), "v + 1 = 41", [1], (1, 2), use="may"
    )
    yield case_of(
        "semantics/as-text",
        "the column as text",
        longs(),
        {
            "*": "CAST(v AS VARCHAR) = '40'",
            "clickhouse": "toString(v) = '40'",
            "spark": "CAST(v AS STRING) = '40'",
        },
        [1],
        (1, 2),
        use="may",
    )
    yield case_of(
        "semantics/double-literal",
        "an integer compared with a floating-point number",
        longs(),
        {"*": "v = 40.0e0", "spark": "v = 40.0D"},
        [1],
        (1, 2),
        use="may",
    )
    yield case_of(
        "semantics/decimal-literal",
        "an integer compared with a decimal",
        longs(),
        {"*": "v = 40.00", "clickhouse": "v = toDecimal64('40.00', 2)"},
        [1],
        (1, 2),
        use="may",
    )
    yield case_of(
        "semantics/between",
        "a range of one value",
        longs(),
        "v BETWEEN 40 AND 40",
        [1],
        (1, 2),
        use="may",
    )
    yield case_of(
        "semantics/in-null", "a list with null", longs(), "v IN (40, NULL)", [1], (1, 2), use="may"
    )
    yield useless(
        "case",
        "a condition within a condition",
        "CASE WHEN v = 41 THEN 1 ELSE 0 END = 0 AND v > 0 AND v < 70",
        [1, 1001, 1002, 2001, 2002],
    )
    yield from _narrow()
    yield from _zeros()
    yield from _nulls()
    yield from _functions_of_text()


def _narrow() -> Iterator[Case]:
    """A literal that does not fit: whoever cuts it finds the filter's value of another."""
    int32 = ColumnType("INT32")
    groups = [
        [number(int32, value) for value in values]
        for values in ((-(2**31), -1294967296, 2**31 - 1), (-(2**31), 7, 2**31 - 1))
    ]
    bounds = number(int32, -(2**31)), number(int32, 2**31 - 1)
    file = one_column(int32, groups, bounds=bounds)
    yield case_of(
        "semantics/out-of-range",
        "a literal beyond the column's type, which equals nothing",
        file,
        "v = 3000000000",
        [],
        (),
        type=int32,
        use="never",
    )
    yield case_of(
        "semantics/wider-literal",
        "INT32 compared with a BIGINT",
        file,
        {"*": "v = CAST(7 AS BIGINT)", "clickhouse": "v = toInt64(7)"},
        [1001],
        (0,),
        type=int32,
        use="may",
        links=("https://github.com/trinodb/trino/issues/30544",),
    )
    yield case_of(
        "semantics/cast-column",
        "INT32 as BIGINT, compared with a BIGINT",
        file,
        {"*": "CAST(v AS BIGINT) = CAST(7 AS BIGINT)", "clickhouse": "toInt64(v) = toInt64(7)"},
        [1001],
        (0,),
        type=int32,
        use="may",
    )


def _zeros() -> Iterator[Case]:
    """Zeros of either sign are equal and hashed apart, NaN has many forms."""
    links = (
        "https://github.com/apache/parquet-format/issues/407",
        "https://github.com/duckdb/duckdb/issues/23829",
    )
    for type, form, cast in ((DOUBLE, "<d", "DOUBLE"), (FLOAT, "<f", "FLOAT")):

        def stored(value: float, form: str = form) -> bytes:
            return packing.pack(form, value)

        name = type.physical.lower()
        bounds = stored(-0.0), stored(3.0)
        spelled = {"DOUBLE": {"*": "e0", "spark": "D"}, "FLOAT": {"*": "e0", "spark": "F"}}[cast]
        for sign, there, asked in (("minus", -0.0, "0.0"), ("plus", 0.0, "-0.0")):
            groups = [
                [stored(1.0), stored(there)],
                [stored(1.0), stored(2.0)],
                [stored(1.0), stored(3.0)],
            ]
            sql = {dialect: f"v = {asked}{suffix}" for dialect, suffix in spelled.items()}
            sql |= {"duckdb": f"v = {asked}::{cast}"}
            about = f"{type}: {there} is stored, {asked} is asked"
            file = one_column(type, groups, bounds=bounds)
            value = Value(asked, stored(float(asked)))
            yield case_of(
                f"semantics/{sign}-zero-{name}",
                about,
                file,
                sql,
                [1],
                (),
                (value,),
                type,
                use="never",
                links=links,
            )
            if sign == "minus":
                several = {
                    key: text.replace("v = ", "v IN (") + ", 7.5)" for key, text in sql.items()
                }
                yield case_of(
                    f"semantics/{sign}-zero-in-{name}",
                    f"{about} in a list",
                    file,
                    several,
                    [1],
                    (),
                    (value, Value("7.5", stored(7.5))),
                    type,
                    use="never",
                    links=links,
                )
        odd = (
            packing.pack("<Q", 0xFFF8000000000001)
            if type is DOUBLE
            else packing.pack("<I", 0xFFC00001)
        )
        groups = [[stored(1.0), odd], [stored(1.0), stored(4.0)], [stored(1.0), stored(3.0)]]
        nan = {
            "*": f"v = CAST('NaN' AS {cast})",
            "duckdb": f"v = 'nan'::{cast}",
            "clickhouse": "isNaN(v)",
            "spark": f"v = CAST('NaN' AS {cast})",
            "polars": "",
        }
        yield case_of(
            f"semantics/nan-{name}",
            f"{type}: NaN of other bits than the one asked",
            one_column(type, groups),
            nan,
            [1],
            (),
            type=type,
            use="never",
            links=("https://github.com/duckdb/duckdb/issues/23921",),
        )


def _nulls() -> Iterator[Case]:
    groups: list[list[Stored]] = [
        [None, long(40), long(0)],
        [None, long(10), long(50)],
        [None, long(20), long(60)],
    ]
    file = one_column(LONG, groups, bounds=BOUNDS)
    yield case_of("semantics/null", "is null", file, "v IS NULL", [0, 1000, 2000], use="never")
    distinct = {
        "*": "v IS NOT DISTINCT FROM NULL",
        "clickhouse": "v <=> NULL",
        "spark": "v <=> NULL",
    }
    yield case_of(
        "semantics/not-distinct-null",
        "not distinct from null",
        file,
        distinct,
        [0, 1000, 2000],
        use="never",
    )
    of_value = {"*": "v IS NOT DISTINCT FROM 40", "clickhouse": "v <=> 40", "spark": "v <=> 40"}
    yield case_of(
        "semantics/not-distinct",
        "not distinct from a value",
        file,
        of_value,
        [1],
        (1, 2),
        use="may",
    )
    default = {"*": "coalesce(v, 7) = 7"}
    yield case_of(
        "semantics/coalesce",
        "nulls taken for another value",
        file,
        default,
        [0, 1000, 2000],
        use="never",
    )
    as_default = {
        "*": "coalesce(v, 0) = 0",
        "clickhouse": "SELECT n FROM file('{path}', 'Parquet', 'n Int32, v Int64') WHERE v = 0",
    }
    links = ("https://github.com/ClickHouse/ClickHouse/issues/112580",)
    yield case_of(
        "semantics/null-as-default",
        "nulls read as zeros",
        file,
        as_default,
        [0, 2, 1000, 2000],
        use="never",
        links=links,
    )
    empty: list[list[Stored]] = [[None, None], [None, long(10)], [long(20), None]]
    nothing = one_column(
        LONG, empty, bounds=None, filters={0: right(()), 1: right([long(10)]), 2: right([long(20)])}
    )
    yield case_of(
        "semantics/all-null",
        "a row group of nulls alone",
        nothing,
        "v = 10",
        [1001],
        (0, 2),
        TEN,
        use="should",
    )
    yield case_of(
        "semantics/not-null-only",
        "is not null",
        nothing,
        "v IS NOT NULL",
        [1001, 2000],
        use="never",
    )


def _functions_of_text() -> Iterator[Case]:
    texts = [
        [text.encode() for text in group]
        for group in (("", "NAIVE", "z"), ("", "b", "z"), ("", "naive", "z"))
    ]
    file = one_column(TEXT, texts, bounds=(b"", b"z"))
    yield case_of(
        "semantics/lower",
        "text in lower case",
        file,
        "lower(v) = 'naive'",
        [1, 2001],
        (),
        type=TEXT,
        use="never",
    )
    yield case_of(
        "semantics/like", "a pattern", file, "v LIKE 'nai%'", [2001], (), type=TEXT, use="never"
    )
    yield case_of(
        "semantics/concat",
        "text with text appended",
        file,
        "concat(v, '!') = 'naive!'",
        [2001],
        (),
        type=TEXT,
        use="never",
    )
    data = [[b"\0", b"\xff\xfe", b"z"], [b"\0", b"b", b"z"], [b"\0", b"c", b"z"]]
    file = one_column(BYTES, data, bounds=(b"\0", b"\xff\xff"))
    hexadecimal = {"*": "hex(v) = 'FFFE'", "datafusion": "encode(v, 'hex') = 'fffe'", "polars": ""}
    links = ("https://github.com/duckdb/duckdb/issues/23053",)
    yield case_of(
        "semantics/hex",
        "bytes as hexadecimal digits",
        file,
        hexadecimal,
        [1],
        (),
        type=BYTES,
        use="never",
        links=links,
    )
