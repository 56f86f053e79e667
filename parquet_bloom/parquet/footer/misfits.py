"""What of a footer is not as the format defines it, so that readers refuse it, or read something else.

The scan takes what it needs and skips the rest, as generated readers do; they also refuse a struct without
a required field, and those that check no types misread what follows a field of another one. So any field
that the format knows must be of its type, but for two that others use for something of their own:

    ColumnMetaData    14, 15          see foreign_fields
    Statistics        any struct      a filter of an older dialect

An annotation that its column cannot have is ignored here, and by some readers; others refuse the file.

Spec: parquet-format, parquet.thrift. Source: what Arrow C++ 26, parquet-java 1.17, arrow-rs (DataFusion 55),
polars 2.1 and DuckDB 2.0 did with each of these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, Final, NamedTuple

from parquet_bloom.errors import FooterError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import arrow_schema, compact
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.definition import (
    FieldType,
    fields_of,
    fits,
    list_header,
    required_of,
    type_found,
)
from parquet_bloom.parquet.footer.footer import BLOOM_FILTER_LENGTH, BLOOM_FILTER_OFFSET, Footer
from parquet_bloom.parquet.footer.schema import LeafColumn, logical_type
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.values.types import PHYSICAL_WIDTH, LeafType

# Words without which no reader can go on; without those of the schema, nothing here does.
_VITAL: Final = ("CompressionCodec",)
# Lists that are looked at item by item, by whoever asks for one.
_APART: Final = (ttypes.RowGroup, ttypes.ColumnChunk)

# The ids of fields: FileMetaData.schema, SchemaElement.logicalType, and of that the members with a unit, and that.
_SCHEMA: Final = 2
_LOGICAL_TYPE: Final = 10
_WITH_UNIT: Final = {7: "TIME", 8: "TIMESTAMP"}
_UNIT: Final = 2

# Annotations of groups alone.
_OF_GROUPS: Final = ("LIST", "MAP", "MAP_KEY_VALUE")

# The fields with a value, stored as in pages; those of other types may be cut short.
_BOUNDS: Final = {1: "max", 2: "min", 5: "max_value", 6: "min_value"}
_WIDTHS: Final = {
    "BOOLEAN": 1,
    **{type: PHYSICAL_WIDTH[type] for type in ("INT32", "INT64", "FLOAT", "DOUBLE")},
}

# So many lists are remembered, none of more bytes.
_MOST_SOUND: Final = 1000
_SHORT: Final = 100

# Lists with an item for each column, and those that were looked at last, if nothing was wrong in them: the files of
# a folder mostly have the same.
_LONG: Final = (ttypes.SchemaElement, ttypes.ColumnOrder)
_KEPT_BYTES: Final = 64 << 10
_latest: dict[Any, bytes] = {}

# In place of what is not UTF-8.
_REPLACED: Final = "\N{REPLACEMENT CHARACTER}"

# So many bytes of what is no text are shown.
_SHOWN: Final = 40


class Misfit(NamedTuple):
    """The `path` of a field, as `meta_data.codec`, and what is wrong with it. `is_vital`: hardly any reader
    gets any further; otherwise some do not."""

    path: str
    problem: str
    expected: object = None
    found: object = None
    is_vital: bool = True


class Misfits:
    """Those of one footer: of each part the first that is vital, and the first that is not.
    Methods raise FooterError."""

    def __init__(self, footer: Footer) -> None:
        self._footer = footer
        # Lists in which nothing is wrong: those of most chunks are the same.
        self._sound: set[bytes] = set()

    def of_head(self) -> Sequence[Misfit]:
        """Of the FileMetaData, without its row groups."""
        footer = self._footer
        found = self._found(footer.raw, 0, ttypes.FileMetaData)
        count, expected = footer.num_column_orders, len(footer.leaves)
        if count not in (None, expected):
            found.append(Misfit("column_orders", "has another number of items", expected, count))
        return found

    def of_metadata(self) -> Sequence[Misfit]:
        """Of the key-value metadata, what some readers look for there."""
        text = self._footer.value_of(arrow_schema.KEY)
        problem = text is not None and arrow_schema.problem_of(text)
        return [Misfit(arrow_schema.KEY, problem, is_vital=False)] if problem else []

    def of_column(self, leaf: LeafColumn) -> Sequence[Misfit]:
        """Of what the schema says of a column: its annotation, if that cannot be one of its physical type."""
        logical = leaf.type.logical
        if logical is None:
            return self._of_unknown(leaf) if leaf.type.is_unknown else ()
        if logical.name not in _OF_GROUPS and _has_room(leaf.type):
            return ()
        return [_not_allowed(leaf, str(logical))]

    def _of_unknown(self, leaf: LeafColumn) -> Sequence[Misfit]:
        """The same of an annotation that is ignored; none of one that only a newer version of the format knows."""
        element, at = self._elements[leaf.index]
        if empty := _empty_union(self._footer.raw, at):
            return [Misfit(empty, "is empty")]
        found = _annotation(element)
        return [_not_allowed(leaf, found)] if found else ()

    @cached_property
    def _elements(self) -> Sequence[tuple[ttypes.SchemaElement, int]]:
        """Those of the leaves, and where they are stored."""
        raw = self._footer.raw
        schema = next(span[3] for span in _kernel.fields(raw, 0) if span[0] == _SCHEMA)
        found = zip(self._footer.elements(), _kernel.elements(raw, schema)[:-1], strict=True)
        return [(element, at) for element, at in found if element.type is not None]

    def of_row_group(self, row_group: int) -> Sequence[Misfit]:
        """Of a RowGroup, without its chunks."""
        start = self._footer.row_group_start(row_group)
        return self._found(self._footer.raw, start, ttypes.RowGroup)

    def of_chunk(self, chunk: ColumnChunk) -> Sequence[Misfit]:
        """Of a ColumnChunk, and of its ColumnMetaData if that was decrypted."""
        footer = self._footer
        start = footer.chunks.one("start", *chunk.key)
        found = self._found(footer.raw, start, ttypes.ColumnChunk, "", chunk.leaf)
        if chunk.meta_start is None:
            if not chunk.has_crypto_metadata:
                found.append(Misfit("meta_data", "is missing"))
        elif footer.is_opened(chunk):
            stored = footer.meta_data(chunk)
            found += self._found(*stored, ttypes.ColumnMetaData, "meta_data.", chunk.leaf)
        return found

    def _found(
        self, data: bytes, at: int, struct: Any, path: str = "", leaf: LeafColumn | None = None
    ) -> list[Misfit]:
        reader = _Reader(data, leaf, self._sound)
        try:
            reader.read(at, struct, path)
        except _kernel.ScanError as error:
            place = f"{self._footer.where}: footer: byte {error.position}"
            raise FooterError(f"{place}: {error.problem}") from None
        return [*reader.found.values()]


class _Reader:
    """Reads structs in `data`; `leaf`: the column that they are about; `sound`: lists in which nothing is wrong,
    which it adds to."""

    def __init__(self, data: bytes, leaf: LeafColumn | None, sound: set[bytes]) -> None:
        self._data = data
        self._leaf = leaf
        self._sound = sound
        # The first that is vital, and the first that is not: a footer can have a million.
        self.found: dict[bool, Misfit] = {}
        self._count = 0

    def read(self, at: int, struct: Any, path: str) -> int:
        """Look at the struct of a generated class at a position, and at all that is in it; returns its
        end. `path`: of the struct, with a dot behind it."""
        data, known, plain = self._data, fields_of(struct), _plain(struct)
        spans = _kernel.fields(data, at)
        for number, wire, _, value, end in spans:
            at = end
            if plain.get(number) == wire or number not in known:
                continue
            name, kind = known[number]
            if not fits(kind, wire, data, value):
                if not _is_of_others(struct, number, wire):
                    found = type_found(data, wire, value)
                    self._add(f"{path}{name}", "is of another type", kind.name, found)
            elif kind.struct is not None:
                self.read(value, kind.struct, f"{path}{name}.")
            elif kind.item is not None:
                self._check_list(struct, kind.item, value, end, f"{path}{name}")
            elif kind.words is not None or kind.name == "string":
                self._check_value(struct, kind, value, f"{path}{name}")
        if struct is ttypes.Statistics:
            self._check_bounds(spans, path)
        if missing := required_of(struct) - {span[0] for span in spans}:
            for number in sorted(missing):
                self._add(f"{path}{known[number][0]}", "is missing")
        # A zero ends it.
        return at + 1

    def _add(
        self,
        path: str,
        problem: str,
        expected: object = None,
        found: object = None,
        is_vital: bool = True,
    ) -> None:
        self._count += 1
        self.found.setdefault(is_vital, Misfit(path, problem, expected, found, is_vital))

    def _check_list(self, struct: Any, item: FieldType, at: int, end: int, path: str) -> None:
        if item.struct in _APART:
            return
        if struct is ttypes.ColumnMetaData and item.name == "string":
            self._check_path(at, path)
            return
        if struct is ttypes.SizeStatistics:
            self._check_levels(list_header(self._data, at)[0], path)
        elif item.struct is not None or item.words is not None:
            self._check_items(struct, item, (at, end), path)

    def _check_items(self, struct: Any, item: FieldType, place: tuple[int, int], path: str) -> None:
        """Of a list of structs, or of words."""
        start, end = place
        is_long = item.struct in _LONG
        stored = (
            self._data[start:end] if end - start <= (_KEPT_BYTES if is_long else _SHORT) else b""
        )
        if stored and (stored in self._sound or stored == _latest.get(item.struct)):
            return
        before = self._count
        count, _, at = list_header(self._data, start)
        if item.struct is not None:
            self._check_structs(item.struct, count, at, path)
        for _ in range(count if item.words is not None else 0):
            self._check_value(struct, item, at, path)
            _, at = compact.read_varint(self._data, at)
        if not stored or self._count > before:
            return
        if is_long:
            _latest[item.struct] = stored
        elif len(self._sound) < _MOST_SOUND:
            self._sound.add(stored)

    def _check_structs(self, struct: Any, count: int, at: int, path: str) -> None:
        for index in range(count):
            at = self.read(at, struct, f"{path}[{index}].")

    def _check_value(self, struct: Any, kind: FieldType, at: int, path: str) -> None:
        """A word of an enum, or text."""
        if kind.words is not None:
            number = compact.read_zigzag(self._data, at)
            if number not in kind.words:
                problem, is_vital = f"is no {kind.name}", kind.name in _VITAL
                self._add(path, problem, None, number, is_vital)
            return
        stored = compact.read_binary(self._data, at)
        if not (stored.isascii() or _is_text(stored)):
            shown, is_vital = f"0x{stored[:_SHOWN].hex()}", struct is ttypes.SchemaElement
            self._add(path, "is not UTF-8", None, shown, is_vital)

    def _check_bounds(self, spans: Sequence[tuple[int, ...]], path: str) -> None:
        """The values in Statistics."""
        leaf = self._leaf
        assert leaf is not None
        expected = _WIDTHS.get(leaf.physical_type)
        for number, wire, _, value, _ in spans if expected is not None else ():
            if number in _BOUNDS and wire == compact.TYPE_BINARY:
                found, _ = compact.read_varint(self._data, value)
                if found != expected:
                    problem = f"is not as long as any {leaf.physical_type}"
                    self._add(f"{path}{_BOUNDS[number]}", problem, expected, found)

    def _check_path(self, at: int, path: str) -> None:
        """Some readers find the column by it, others by its place."""
        leaf = self._leaf
        if leaf is None or _REPLACED in leaf.dotted:
            return
        names = [each.encode() for each in leaf.path]
        as_usual = compact.list_header(compact.TYPE_BINARY, len(names))
        if self._data.startswith(as_usual + b"".join(map(_as_stored, names)), at):
            return
        found = self._texts(at)
        if found != names:
            shown = b".".join(found).decode(errors="replace")[:_SHOWN]
            self._add(path, "is not that of the column", leaf.dotted, shown)

    def _texts(self, at: int) -> list[bytes]:
        """The items of a list of texts."""
        starts = _kernel.elements(self._data, at)[:-1]
        return [compact.read_binary(self._data, start) for start in starts]

    def _check_levels(self, count: int, path: str) -> None:
        leaf = self._leaf
        assert leaf is not None
        is_definition = path.endswith(".definition_level_histogram")
        most = leaf.max_definition_level if is_definition else leaf.max_repetition_level
        if count not in (0, most + 1):
            self._add(path, "has another number of levels", most + 1, count)


def _annotation(element: ttypes.SchemaElement) -> str | None:
    """One that does not fit; None if it is not known."""
    logical = logical_type(element)
    if logical is not None:
        return str(logical)
    converted = ttypes.ConvertedType._VALUES_TO_NAMES.get(element.converted_type)
    return converted if converted in _OF_GROUPS else None


def _not_allowed(leaf: LeafColumn, annotation: str) -> Misfit:
    stored_as = replace(leaf.type, logical=None)
    found = f"{annotation} on {stored_as}"
    return Misfit("annotation", "is not allowed by the format", None, found)


def _empty_union(data: bytes, element: int) -> str | None:
    """The path of the union in a SchemaElement that has no member, not even one that is not known."""
    for number, wire, _, union, _ in _kernel.fields(data, element):
        if (number, wire) != (_LOGICAL_TYPE, compact.TYPE_STRUCT):
            continue
        if data[union] == 0:
            return "logicalType"
        for member, _, _, details, _ in _kernel.fields(data, union):
            for field, _, _, unit, _ in (
                _kernel.fields(data, details) if member in _WITH_UNIT else ()
            ):
                if field == _UNIT and data[unit] == 0:
                    return f"logicalType.{_WITH_UNIT[member]}.unit"
    return None


def _has_room(type: LeafType) -> bool:
    """Whether the numbers of a DECIMAL can be as long as it says."""
    logical = type.logical
    if logical is None or logical.name != "DECIMAL":
        return True
    bits = math.inf if type.width is None else 8 * type.width - 1
    return logical.scale <= logical.precision <= bits * math.log10(2)


@cache
def _plain(struct: Any) -> Mapping[int, int]:
    """The types of the fields of a generated class in which there is nothing to look at, by id."""
    return {
        number: kind.wire
        for number, (_, kind) in fields_of(struct).items()
        if (kind.struct, kind.item, kind.words) == (None, None, None) and kind.name != "string"
    }


def _is_of_others(struct: Any, number: int, wire: int) -> bool:
    """Whether others use a field of another type for something of their own."""
    if struct is ttypes.ColumnMetaData:
        return number in (BLOOM_FILTER_OFFSET, BLOOM_FILTER_LENGTH)
    return struct is ttypes.Statistics and wire == compact.TYPE_STRUCT


def _as_stored(name: bytes) -> bytes:
    return compact.binary(name)[1]


def _is_text(stored: bytes) -> bool:
    try:
        stored.decode()
    except UnicodeDecodeError:
        return False
    return True
