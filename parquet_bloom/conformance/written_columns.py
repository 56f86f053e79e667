"""Columns for writers: what is to be written, not how.

    {"name": "int8", "about": "…", "schema": {"type": "INT32 INTEGER(8,true)"}, "groups": [["-128", null, …], …]}

A schema is {"type": …}, {"list": schema}, {"struct": {name: schema}} or {"map": [schema, schema]}; a list's rows are
arrays, a struct's objects, a map's arrays of pairs. A value is text:

    integers, dates, times       what is stored, in decimal: days, or units since midnight or 1970
    decimals                     the unscaled integer, in decimal
    floating-point numbers       the bits, 0x8000000000000000
    text                         itself
    bytes                        in hexadecimal digits
"""

from __future__ import annotations

import json
import struct as packing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from math import isnan
from typing import Any, Final

import xxhash

from parquet_bloom.conformance.column_type import (
    LAST,
    TYPES,
    ColumnType,
    number,
    unscaled,
    value_at,
)
from parquet_bloom.dataclass import dataclass

ROWS: Final = 150
GROUPS: Final = 2

# Types that no common writer makes, or that Arrow does not tell from another one.
_LEFT_OUT: Final = (
    *("INT96", "BYTE_ARRAY ENUM", "BYTE_ARRAY JSON", "BYTE_ARRAY BSON", "BYTE_ARRAY DECIMAL(9,2)"),
    *("BYTE_ARRAY DECIMAL(40,2)", "FIXED_LEN_BYTE_ARRAY(12) INTERVAL"),
    *("INT32 TIME(MILLIS,true)", "INT64 TIME(MICROS,true)", "INT64 TIME(NANOS,true)"),
)  # fmt: skip
LONG: Final = "INT64 INTEGER(64,true)"
INT: Final = "INT32 INTEGER(32,true)"
TEXT: Final = "BYTE_ARRAY STRING"


@dataclass(frozen=True, slots=True)
class WrittenColumn:
    """`groups`: the rows of each row group, if the writer can choose them."""

    name: str
    about: str
    schema: dict[str, Any]
    groups: tuple[tuple[Any, ...], ...]

    @property
    def num_rows(self) -> int:
        return sum(map(len, self.groups))

    @property
    def path(self) -> str:
        """Below the suite's folder."""
        return f"writers/{self.name}.json"

    @property
    def is_float(self) -> bool:
        return _is_float(self.schema.get("type", ""))

    def document(self) -> dict[str, Any]:
        """As the manifest has it."""
        told = {"id": self.name, "about": self.about, "values": self.path}
        return told | {"rows": self.num_rows, "is_float": self.is_float}

    def data(self) -> bytes:
        document = {
            "name": self.name,
            "about": self.about,
            "schema": self.schema,
            "groups": self.groups,
        }
        return json.dumps(document, ensure_ascii=False).encode() + b"\n"


def _is_float(type: str) -> bool:
    return type.endswith(("FLOAT", "DOUBLE", "FLOAT16"))


def text_of(type: ColumnType, stored: bytes) -> str:
    """A value as it is told to writers."""
    if type.name == "DECIMAL" and "BYTE_ARRAY" in type.physical:
        return str(int.from_bytes(stored, "big", signed=True))
    if type.physical in ("INT32", "INT64"):
        return str(
            int.from_bytes(
                stored, "little", signed="false" not in type.logical or type.name != "INTEGER"
            )
        )
    if type.physical in ("FLOAT", "DOUBLE") or type.name == "FLOAT16":
        return f"0x{stored[::-1].hex()}"
    return stored.decode() if type.name == "STRING" else stored.hex()


# Of floating-point numbers of so many bytes.
_FORMS: Final = {2: ">e", 4: ">f", 8: ">d"}


def distinct_values(document: Mapping[str, Any]) -> list[int]:
    """Of each leaf of a column as it is told to writers: how many distinct values it has, without NaN."""
    leaves: dict[tuple[str, ...], set[str]] = {}

    def add(schema: Mapping[str, Any], told: Any, *path: str) -> None:
        """Also of a list without elements, which has leaves."""
        match schema:
            case {"list": element}:
                for each in told or [None]:
                    add(element, each, *path, "element")
            case {"map": [key, value]}:
                for pair in told or [(None, None)]:
                    add(key, pair[0], *path, "key")
                    add(value, pair[1], *path, "value")
            case {"struct": members}:
                for name, member in members.items():
                    add(member, told and told[name], *path, name)
            case {"type": type}:
                found = leaves.setdefault(path, set())
                if told is not None and not _is_nan(type, told):
                    found.add(told)

    for rows in document["groups"]:
        for row in rows:
            add(document["schema"], row)
    return [len(found) for found in leaves.values()]


def _is_nan(type: str, told: str) -> bool:
    if not _is_float(type):
        return False
    stored = bytes.fromhex(told[2:])
    (number,) = packing.unpack(_FORMS[len(stored)], stored)
    return isnan(number)


def _mixed(seed: str, index: int) -> int:
    """64 bits that are the same everywhere."""
    return xxhash.xxh64_intdigest(f"{seed} {index}".encode())


def _column(
    name: str, about: str, text: str, values: Callable[[int], bytes | None], edges: Sequence[bytes] = (),
    rows: int = ROWS, groups: int = GROUPS,
) -> WrittenColumn:  # fmt: skip
    """`values`: by the row's number; `edges` come first in every row group."""
    type = ColumnType.of(text)

    def told(stored: bytes | None) -> str | None:
        return None if stored is None else text_of(type, stored)

    rows_of = [
        tuple(
            told(edges[row] if row < len(edges) else values(group * rows + row))
            for row in range(rows)
        )
        for group in range(groups)
    ]
    return WrittenColumn(name, about, {"type": text}, tuple(rows_of))


@cache
def columns() -> tuple[WrittenColumn, ...]:
    return (*_types(), *_floats(), *_shapes(), *_texts(), *_nested())


def _types() -> Iterator[WrittenColumn]:
    """Of each type: its edges, and values from all over it."""
    for text in TYPES:
        if text in _LEFT_OUT:
            continue
        type = ColumnType.of(text)
        name = text.lower().translate(str.maketrans(" ,(_", "----", ")"))

        def value(row: int, type: ColumnType = type) -> bytes:
            return value_at(type, _mixed(str(type), row) % (LAST + 1)).stored

        yield _column(name, text, text, value, _edges(type))


def _edges(type: ColumnType) -> list[bytes]:
    match type.name or type.physical:
        case "INTEGER":
            width, signed = int(type.arguments[0]), type.arguments[1] == "true"
            least = -(2 ** (width - 1)) if signed else 0
            values = (least, -1 if signed else 1, 0, least + 2**width - 1, 2 ** (width - 1) - 1)
            return [number(type, value) for value in values]
        case "DECIMAL":
            largest = 10 ** int(type.arguments[0]) - 1
            return [unscaled(type, value) for value in (0, -1, 1, -150, largest, -largest)]
        case "DATE":
            # 0001-01-01 and 9999-12-31.
            return [number(type, value) for value in (-719162, -1, 0, 1, 2932896)]
        case "TIMESTAMP":
            return [number(type, value) for value in (-1, 0, 1)]
        case "TIME":
            units = {"MILLIS": 10**3, "MICROS": 10**6, "NANOS": 10**9}[type.arguments[0]]
            return [number(type, value) for value in (0, 1, 86_400 * units - 1)]
        case "STRING":
            texts = ("", "a\0b", "é", "e\u0301", "\U0001f986", "x" * 300, "\uffff", " ", "A")
            return [text.encode() for text in texts]
        case "BYTE_ARRAY":
            return [b"", b"\0", b"\xff\xfe", b"0x41"]
        case "FIXED_LEN_BYTE_ARRAY" | "UUID":
            return [bytes(type.length), b"\xff" * type.length]
    return []


def _floats() -> Iterator[WrittenColumn]:
    """Zeros of either sign are equal, and NaN has many forms."""
    for text, form, canonical, odd in (
        ("FLOAT", "<f", 0x7FC00000, 0xFFC00001),
        ("DOUBLE", "<d", 0x7FF8000000000000, 0xFFF8000000000001),
        ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", "<e", 0x7E00, 0xFE01),
    ):
        name, width = text.rpartition(" ")[2].lower(), packing.calcsize(form)
        nans = [bits.to_bytes(width, "little") for bits in (canonical, odd)]

        def stored(value: float, form: str = form) -> bytes:
            return packing.pack(form, value)

        def other(row: int, form: str = form) -> bytes:
            return packing.pack(form, 1.5 + row)

        def same(value: bytes) -> Callable[[int], bytes]:
            return lambda row: value

        infinities = [stored(float("inf")), stored(float("-inf"))]
        yield _column(
            f"{name}-infinite",
            f"{text} with infinities and the least numbers",
            text,
            other,
            [*infinities, b"\1" + bytes(width - 1)],
        )
        yield _column(
            f"{name}-minus-zero", f"{text} with -0.0, without 0.0", text, other, [stored(-0.0)]
        )
        yield _column(
            f"{name}-both-zeros",
            f"{text} with both zeros",
            text,
            other,
            [stored(-0.0), stored(0.0)],
        )
        yield _column(f"{name}-nan", f"{text} with the usual NaN and another", text, other, nans)
        yield _column(f"{name}-nan-only", f"{text} with nothing but NaN", text, same(nans[0]))


def _shapes() -> Iterator[WrittenColumn]:
    """Nulls, few values, many, and rows."""
    long = ColumnType.of(LONG)

    def value(row: int) -> bytes:
        return number(long, _mixed("shapes", row) >> 2)

    def every(step: int) -> Callable[[int], bytes | None]:
        return lambda row: value(row) if row % step == 0 else None

    yield _column("nulls", "every third value is there", LONG, every(3))
    yield _column("all-null", "nulls alone", LONG, lambda row: None)
    yield _column(
        "null-group",
        "the second row group has nulls alone",
        LONG,
        lambda row: value(row) if row < ROWS else None,
    )
    yield _column(
        "last-only",
        "one value, at the end of many nulls",
        LONG,
        lambda row: value(row) if row == 2 * ROWS - 1 else None,
    )
    yield _column("constant", "one value again and again", LONG, lambda row: value(0))
    yield _column("few", "five values", LONG, lambda row: value(row % 5))
    yield _column("sorted", "ascending numbers", LONG, lambda row: number(long, row))
    yield _column(
        "repeated", "the same values in both row groups", LONG, lambda row: value(row % ROWS)
    )
    yield _column("one-row", "one row", LONG, value, rows=1, groups=1)
    yield _column("many", "3,000 values in each row group", LONG, value, rows=3000)
    yield _column(
        "very-many",
        "20,000 values in one row group, more than engines take at a time",
        LONG,
        lambda row: number(long, row),
        rows=20_000,
        groups=1,
    )
    yield _column("ten-groups", "ten row groups", LONG, value, rows=30, groups=10)


def _texts() -> Iterator[WrittenColumn]:
    def text(row: int) -> bytes:
        return f"text {_mixed('text', row)}".encode()

    yield _column(
        "few-texts",
        "four texts and nulls",
        TEXT,
        lambda row: None if row % 5 == 0 else f"colour {row % 4}".encode(),
    )
    yield _column("empty-text", "the empty text alone", TEXT, lambda row: b"")
    yield _column(
        "long-texts",
        "texts of 5 to 20,000 bytes",
        TEXT,
        lambda row: text(row) + b"y" * (20_000 if row % 50 == 0 else row),
        rows=100,
    )
    # A dictionary of more than 1 MiB: writers go on without it in the midst of a chunk.
    yield _column(
        "fallback",
        "texts that are too much for a dictionary",
        TEXT,
        lambda row: text(row) + b"z" * 2000,
        rows=600,
        groups=1,
    )


def _nested() -> Iterator[WrittenColumn]:
    int_, text = {"type": INT}, {"type": TEXT}

    def column(
        name: str, about: str, schema: dict[str, Any], row_of: Callable[[int], Any]
    ) -> WrittenColumn:
        rows = [tuple(row_of(group * ROWS + row) for row in range(ROWS)) for group in range(GROUPS)]
        return WrittenColumn(name, about, schema, tuple(rows))

    def some(row: int, make: Callable[[int], Any]) -> Any:
        """A list, an empty one, or null."""
        return None if row % 7 == 0 else [make(row + each) for each in range(row % 3)]

    yield column("list", "a list of integers", {"list": int_}, lambda row: some(row, str))
    yield column(
        "list-of-text",
        "a list of texts",
        {"list": text},
        lambda row: some(row, lambda each: f"item {each}"),
    )
    yield column(
        "list-of-lists",
        "a list of lists",
        {"list": {"list": int_}},
        lambda row: some(row, lambda each: some(each, str)),
    )
    pair = {"struct": {"a": int_, "b": text}}
    yield column(
        "struct",
        "a struct with nulls",
        pair,
        lambda row: (
            None if row % 4 == 0 else {"a": str(row), "b": None if row % 3 == 0 else f"b {row}"}
        ),
    )
    yield column(
        "list-of-structs",
        "a list of structs",
        {"list": pair},
        lambda row: some(row, lambda each: {"a": str(each), "b": f"b {each}"}),
    )
    inner = {"struct": {"c": {"struct": {"d": text}}}}
    yield column(
        "deep-struct",
        "a struct of structs",
        inner,
        lambda row: {"c": {"d": None if row % 3 == 0 else f"d {row}"}},
    )
    yield column(
        "map",
        "a map from texts to integers",
        {"map": [text, int_]},
        lambda row: some(row, lambda each: [f"key {each}", str(each)]),
    )
