"""Predicates on members of structs, elements of lists, values of maps and fields of a VARIANT.

Row 4 is the only one with the value: in group 0, while minimum and maximum exclude no group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal

from parquet_bloom.conformance.case import Ask, Case
from parquet_bloom.conformance.column_type import (
    OPTIONAL,
    REPEATED,
    REQUIRED,
    ColumnType,
    Value,
    group,
    number,
    unscaled,
)
from parquet_bloom.conformance.made_file import MadeChunk, MadeFile, MadeLeaf, right
from parquet_bloom.conformance.typed_cases import ENCODINGS, GROUPS, indexes
from parquet_bloom.dataclass import dataclass

INT = ColumnType.of("INT32 INTEGER(32,true)")
TEXT = ColumnType.of("BYTE_ARRAY STRING")
BYTES = ColumnType("BYTE_ARRAY")
# More digits than DuckDB has a type for.
WIDE = ColumnType.of("FIXED_LEN_BYTE_ARRAY(26) DECIMAL(60,4)")


@dataclass(frozen=True, slots=True)
class Node:
    """A column, or a part of one. `parts`: of a struct, by name; of a list its element, of a map its key and its
    value. `kind`: of a leaf its type."""

    kind: str | ColumnType
    parts: tuple[tuple[str, Node], ...] = ()
    repetition: int = OPTIONAL
    logical: str = ""

    def elements(self, name: str) -> Iterator[bytes]:
        """The SchemaElements, in their order."""
        if isinstance(self.kind, ColumnType):
            yield self.kind.element(name, self.repetition)
            return
        inner = {"list": "list", "map": "key_value"}.get(self.kind, "")
        logical = self.logical or (self.kind.upper() if inner else "")
        yield group(name, 1 if inner else len(self.parts), self.repetition, logical)
        if inner:
            yield group(inner, len(self.parts), REPEATED)
        for part, node in self.parts:
            yield from node.elements(part)

    def leaves(
        self, path: tuple[str, ...], definition: int = 0, repetition: int = 0
    ) -> Iterator[MadeLeaf]:
        definition += self.repetition == OPTIONAL
        if isinstance(self.kind, ColumnType):
            yield MadeLeaf(path, self.kind.physical, (definition, repetition))
            return
        if self.kind != "struct":
            path += ("list" if self.kind == "list" else "key_value",)
            definition, repetition = definition + 1, repetition + 1
        for part, node in self.parts:
            yield from node.leaves((*path, part), definition, repetition)

    def shred(
        self, value: Any, repetition: int = 0, depth: int = 0, definition: int = 0
    ) -> Iterator[list[Stored]]:
        """Of each leaf: its values with their levels, a null without a value."""
        if value is not None:
            definition += self.repetition == OPTIONAL
        if isinstance(self.kind, ColumnType):
            yield [(repetition, definition, value)]
        elif self.kind == "struct" or value is None:
            for name, node in self.parts:
                below = None if value is None else value[name]
                yield from node.shred(below, repetition, depth, definition)
        else:
            items = [
                dict(zip((name for name, _ in self.parts), item, strict=True)) for item in value
            ]
            for name, node in self.parts:
                found: list[list[Stored]] = []
                for place, item in enumerate(items):
                    level = repetition if place == 0 else depth + 1
                    of_item = list(node.shred(item[name], level, depth + 1, definition + 1))
                    found = (
                        of_item
                        if not found
                        else [a + b for a, b in zip(found, of_item, strict=True)]
                    )
                yield from found


# Repetition and definition level, and what is stored.
Stored = tuple[int, int, bytes | None]


def leaf(type: ColumnType, repetition: int = OPTIONAL) -> Node:
    return Node(type, (), repetition)


def struct_of(repetition: int = OPTIONAL, logical: str = "", **parts: Node) -> Node:
    return Node("struct", tuple(parts.items()), repetition, logical)


def list_of(node: Node) -> Node:
    return Node("list", (("element", node),))


def made(
    columns: Mapping[str, Node], groups: Sequence[Sequence[Mapping[str, Any]]], encoding: int
) -> MadeFile:
    """Rows of stored bytes as a file with filters on all leaves but the first, the row numbers."""
    leaves = [each for name, node in columns.items() for each in node.leaves((name,))]
    chunks = [tuple(_chunks(columns, rows)) for rows in groups]
    bounds = {
        column: (min(values, key=order), max(values, key=order))
        for column, order in enumerate(map(_order, leaves))
        if (values := [value for of_group in chunks for value in of_group[column].values])
    }
    return MadeFile(
        tuple(element for name, node in columns.items() for element in node.elements(name)),
        tuple(leaves),
        tuple(
            tuple(
                MadeChunk(chunk.values, chunk.definition, chunk.repetition, bounds.get(column))
                for column, chunk in enumerate(of_group)
            )
            for of_group in chunks
        ),
        {
            (number_of, column): right(chunk.values, 16)
            for number_of, of_group in enumerate(chunks)
            for column, chunk in enumerate(of_group)
            if column and chunk.values
        },
        columns=len(columns),
        encoding=encoding,
    )


def _order(leaf: MadeLeaf) -> Callable[[bytes], Any]:
    """By what the leaf's stored values are compared: text, little-endian numbers, decimals."""
    if leaf.physical == "BYTE_ARRAY":
        return bytes
    end: Literal["little", "big"] = "little" if leaf.physical == "INT32" else "big"
    return partial(int.from_bytes, byteorder=end, signed=True)


def _chunks(columns: Mapping[str, Node], rows: Sequence[Mapping[str, Any]]) -> Iterator[MadeChunk]:
    for name, node in columns.items():
        of_rows = [list(node.shred(row[name])) for row in rows]
        for leaf, parts in zip(node.leaves((name,)), zip(*of_rows, strict=True), strict=True):
            levels = [level for part in parts for level in part]
            yield MadeChunk(
                tuple(value for _, _, value in levels if value is not None),
                tuple(definition for _, definition, _ in levels) if leaf.levels[0] else (),
                tuple(repetition for repetition, _, _ in levels) if leaf.levels[1] else (),
            )


# --- the files ------------------------------------------------------------------------------------

_NESTED: Final = {
    "n": leaf(INT, REQUIRED),
    "i": leaf(INT),
    "s": struct_of(a=leaf(INT), b=struct_of(c=leaf(TEXT))),
    "l": list_of(leaf(INT)),
    "ll": list_of(list_of(leaf(INT))),
    "ls": list_of(struct_of(x=leaf(INT), y=leaf(TEXT))),
    "sl": struct_of(q=list_of(leaf(INT))),
    "m": Node("map", (("key", leaf(TEXT, REQUIRED)), ("value", leaf(INT)))),
}
_DECIMAL: Final = {"n": leaf(INT, REQUIRED), "s": struct_of(d=leaf(WIDE)), "l": list_of(leaf(WIDE))}
_VARIANT: Final = {
    "n": leaf(INT, REQUIRED),
    "v": struct_of(
        REQUIRED,
        "VARIANT",
        metadata=leaf(BYTES, REQUIRED),
        value=leaf(BYTES),
        typed_value=struct_of(a=struct_of(REQUIRED, value=leaf(BYTES), typed_value=leaf(INT))),
    ),
}
# Version 1, one name of one byte.
_METADATA: Final = b"\x01\x01\x00\x01a"


def _int(value: int) -> bytes:
    return number(INT, value)


def _nested_row(group_of: int, i: int) -> dict[str, Any]:
    return {
        "n": _int(1000 * group_of + i),
        "i": _int(10 * i),
        "s": {"a": _int(10 * i), "b": {"c": f"c{i:02}".encode()}},
        "l": [(_int(10 * i),), (_int(10 * i + 4000),)],
        "ll": [([(_int(10 * i),)],), ([(_int(10 * i + 2),)],)],
        "ls": [
            ({"x": _int(10 * i), "y": f"y{i:02}".encode()},),
            ({"x": _int(10 * i + 1), "y": b"z"},),
        ],
        "sl": {"q": [(_int(10 * i),)]},
        "m": [(b"k", _int(10 * i)), (f"key{i:02}".encode(), _int(10 * i + 1))],
    }


def _decimal_row(group_of: int, i: int) -> dict[str, Any]:
    stored = unscaled(WIDE, i * 10**4)
    return {"n": _int(1000 * group_of + i), "s": {"d": stored}, "l": [(stored,)]}


def _variant_row(group_of: int, i: int, residual: int | None) -> dict[str, Any]:
    """`residual`: the value in group 1 that is text instead of a number."""
    field: dict[str, Any] = {"value": None, "typed_value": _int(10 * i)}
    if (group_of, i) == (1, residual):
        # A short string: its length in the upper six bits of the first byte.
        text = str(10 * i).encode()
        field = {"value": bytes([len(text) << 2 | 1]) + text, "typed_value": None}
    variant = {"metadata": _METADATA, "value": None, "typed_value": {"a": field}}
    return {"n": _int(1000 * group_of + i), "v": variant}


def _files(encoding: int) -> dict[str, MadeFile]:
    def groups(row: Any, *more: Any) -> list[list[dict[str, Any]]]:
        return [[row(each, i, *more) for i in indexes(each)] for each in range(GROUPS)]

    return {
        "nested": made(_NESTED, groups(_nested_row), encoding),
        "variant": made(_VARIANT, groups(_variant_row, None), encoding),
        "residual": made(_VARIANT, groups(_variant_row, 5), encoding),
        "decimal": made(_DECIMAL, groups(_decimal_row), encoding),
    }


# --- the predicates -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Form:
    """A predicate, as it is shown, and as engines want it; those without one are not asked. `column`, `value`: of
    what is no more than that leaf equal to a value."""

    name: str
    shown: str
    duckdb: str
    datafusion: str
    clickhouse: str
    spark: str
    file: str = "nested"
    column: str = ""
    value: Value | None = None

    def ask(self) -> Ask:
        sql = {"*": self.duckdb, "duckdb": self.duckdb, "datafusion": self.datafusion}
        sql |= {"clickhouse": self.clickhouse, "spark": self.spark}
        if self.value is None:
            return Ask(sql, "sql", self.column or "v")
        return Ask(sql, "=", self.column, (self.value,))


_FORTY: Final = Value("40", _int(40))
FORMS: Final = (
    Form("in", "`i IN (40, 45)`, a column of its own", "i IN (40, 45)", "i IN (40, 45)", "i IN (40, 45)", "i IN (40, 45)"),
    Form("in-neighbours", "`i IN (40, 41)`, neighbouring integers", "i IN (40, 41)", "i IN (40, 41)", "i IN (40, 41)", "i IN (40, 41)"),
    Form("not-distinct", "`i IS NOT DISTINCT FROM 40`", "i IS NOT DISTINCT FROM 40", "i IS NOT DISTINCT FROM 40", "i <=> 40", "i <=> 40"),
    Form("member", "`s.a = 40`", "s.a = 40", "s['a'] = 40", "s.a = 40", "s.a = 40", column="s.a", value=_FORTY),
    Form("member-of-member", "`s.b.c = 'c04'`", "s.b.c = 'c04'", "s['b']['c'] = 'c04'", "s.b.c = 'c04'", "s.b.c = 'c04'", column="s.b.c", value=Value("c04", b"c04")),
    Form("member-in", "`s.a IN (40, 45)`", "s.a IN (40, 45)", "s['a'] IN (40, 45)", "s.a IN (40, 45)", "s.a IN (40, 45)"),
    Form("first-element", "`l[1] = 40`, the first element", "l[1] = 40", "l[1] = 40", "l[1] = 40", "l[0] = 40"),
    Form("first-element-in", "`l[1] IN (40, 45)`", "l[1] IN (40, 45)", "l[1] IN (40, 45)", "l[1] IN (40, 45)", "l[0] IN (40, 45)"),
    Form("last-element", "`l[-1] = 4040`, the last element", "l[-1] = 4040", "l[-1] = 4040", "l[-1] = 4040", "element_at(l, -1) = 4040"),
    Form("element-of-element", "`ll[1][1] = 40`", "ll[1][1] = 40", "ll[1][1] = 40", "ll[1][1] = 40", "ll[0][0] = 40"),
    Form("struct-in-list", "`ls[1].x = 40`, a struct in a list", "ls[1].x = 40", "ls[1]['x'] = 40", "ls[1].x = 40", "ls[0].x = 40"),
    Form("list-in-struct", "`sl.q[1] = 40`, a list in a struct", "sl.q[1] = 40", "sl['q'][1] = 40", "sl.q[1] = 40", "sl.q[0] = 40"),
    Form("map-value", "`m['k'] = 40`, a value of a map", "m['k'] = 40", "m['k'] = 40", "m['k'] = 40", "m['k'] = 40"),
    Form("map-value-in", "`m['k'] IN (40, 45)`", "m['k'] IN (40, 45)", "m['k'] IN (40, 45)", "m['k'] IN (40, 45)", "m['k'] IN (40, 45)"),
    Form("map-key", "a key of a map", "map_contains(m, 'key04')", "array_has(map_keys(m), 'key04')", "mapContainsKey(m, 'key04')", "map_contains_key(m, 'key04')"),
    Form("contains", "`l` contains 40", "list_contains(l, 40)", "array_has(l, 40)", "has(l, 40)", "array_contains(l, 40)"),
    Form("any", "`40 = ANY(l)`", "40 = ANY(l)", "40 = ANY(l)", "", "exists(l, x -> x = 40)"),
    Form("has-any", "`l` has any of 40, 41", "list_has_any(l, [40, 41])", "array_has_any(l, [40, 41])", "hasAny(l, [40, 41])", "arrays_overlap(l, array(40, 41))"),
    Form("whole-list", "`l = [40, 4040]`", "l = [40, 4040]", "l = make_array(40, 4040)", "l = [40, 4040]", "l = array(40, 4040)"),
    Form("map-values-contain", "the values of a map contain 40", "list_contains(map_values(m), 40)", "array_has(map_values(m), 40)", "has(mapValues(m), 40)", "array_contains(map_values(m), 40)"),
    Form(
        "unnest",
        "a row per element, `UNNEST(l) = 40`",
        "SELECT n FROM (SELECT n, unnest(l) u FROM {source}) WHERE u = 40",
        "SELECT n FROM (SELECT n, unnest(l) u FROM {source}) WHERE u = 40",
        "SELECT n FROM {source} ARRAY JOIN l AS u WHERE u = 40",
        "SELECT n FROM (SELECT n, explode(l) u FROM {source}) WHERE u = 40",
    ),
    Form("variant", "`v.a::INT = 40`, a shredded VARIANT", "v.a::INT = 40", "", "", "variant_get(v, '$.a', 'int') = 40", "variant"),
    Form("variant-wider", "`v.a::BIGINT = 40`, not the type that is stored", "v.a::BIGINT = 40", "", "", "variant_get(v, '$.a', 'bigint') = 40", "variant"),
    Form("variant-residual", "`v.a::INT = 40`, with text in another row", "v.a::INT = 40", "", "", "variant_get(v, '$.a', 'int') = 40", "residual"),
    Form("wide-decimal-member", "`s.d = 4`, a DECIMAL(60,4)", "s.d = 4::DOUBLE", "", "", "", "decimal"),
    Form("wide-decimal-element", "`l[1] = 4`, a DECIMAL(60,4)", "l[1] = 4::DOUBLE", "", "", "", "decimal"),
)  # fmt: skip


def nested() -> Iterator[Case]:
    for encoding, number_of in ENCODINGS.items():
        files = _files(number_of)
        for form in FORMS:
            yield Case(
                f"nested/{form.name}-{encoding}", form.shown, _TYPES[form.file], (files[form.file],), form.ask(), (4,), (1, 2),
                use="may", folder=f"nested/{form.file}-{encoding}", encoding=encoding,
            )  # fmt: skip


_TYPES: Final = {
    "nested": "nested",
    "variant": "VARIANT",
    "residual": "VARIANT",
    "decimal": "nested DECIMAL(60,4)",
}
