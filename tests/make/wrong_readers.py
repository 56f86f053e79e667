"""Readers of the conformance suite's files: one that does with filters what it should, and others that differ
from it in one thing.

They read footers and filters, but no pages: which rows are in a row group they know from the case, and that
pages are destroyed by their first byte.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import takewhile
from typing import Any

import xxhash
from make.footers import footer_of

from parquet_bloom.conformance.adapter import Greeting
from parquet_bloom.conformance.case import FORMS, Case
from parquet_bloom.conformance.column_type import ColumnType
from parquet_bloom.conformance.made_file import MadeChunk
from parquet_bloom.conformance.split_block import SALT
from parquet_bloom.conformance.suite import cases
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes

BY_ID: Mapping[str, Case] = {case.id: case for case in cases()}
Question = Mapping[str, Any]

ABSENT = bytes(32)


@cache
def files_of(id: str, form: str) -> tuple[tuple[bytes, Any], ...]:
    """Each file of a form, and its footer; of an encrypted file, what is behind the encryption."""
    case = BY_ID[id]
    opened = replace(case, files=tuple(replace(file, key=b"") for file in case.files))
    return tuple((data, footer_of(data)) for data in opened.written(form).values())


class Reader:
    """An adapter's session. It excludes a row group if its filters say that no value of a comparison is there."""

    greeting = Greeting("reader of the tests", "1")
    seed = 0

    def ask(self, question: Question) -> dict[str, Any]:
        case = BY_ID[question["id"]]
        form = next(form for form in FORMS if case.path(form) == question["path"][1:])
        found: list[int] = []
        try:
            values = self.values(question)
            for (data, footer), file in zip(files_of(case.id, form), case.files, strict=True):
                for number, group in enumerate(footer.row_groups):
                    if values is not None and self.excludes(data, footer, number, values, question):
                        continue
                    start = group.columns[0].meta_data.data_page_offset
                    if data[start] == 0xFF:
                        return {"error": "no page"}
                    inside = {
                        int.from_bytes(row, "little") for row in file.groups[number][0].values
                    }
                    right = [row for row in case.rows if row in inside]
                    found += self.rows(question, file.groups[number], right)
        except (ValueError, struct.error) as error:
            return {"error": str(error)}
        return {"rows": found}

    # --- what others do otherwise ---

    def rows(self, question: Question, chunks: Sequence[MadeChunk], right: list[int]) -> list[int]:
        """Of a row group that is read: those that match are `right`."""
        return right

    def values(self, question: Question) -> list[bytes] | None:
        """What is looked up; None if filters say nothing about the question."""
        if question["op"] == "sql":
            return None
        return [
            same
            for value in question["stored"]
            for same in self.same(question, bytes.fromhex(value))
        ]

    def same(self, question: Question, value: bytes) -> list[bytes]:
        """A value in all forms that are equal to it."""
        if question["type"] not in ("FLOAT", "DOUBLE"):
            return [value]
        zeros = [bytes(len(value)), bytes(len(value) - 1) + b"\x80"]
        return zeros if value in zeros else [value]

    def excludes(
        self,
        data: bytes,
        footer: Any,
        group: int,
        values: Sequence[bytes],
        question: Question,
    ) -> bool:
        for chunk in footer.row_groups[self.group(group)].columns:
            if self.is_asked(".".join(chunk.meta_data.path_in_schema), question):
                bits = self.bitset(data, chunk.meta_data)
                if bits is not None and not any(self.has(bits, value) for value in values):
                    return True
        return False

    def is_asked(self, column: str, question: Question) -> bool:
        return column == question["column"]

    def group(self, group: int) -> int:
        return group

    def bitset(self, data: bytes, meta: Any) -> bytes | None:
        """The bits, or None if there are none that can be believed."""
        offset, length = meta.bloom_filter_offset, meta.bloom_filter_length
        if offset is None or not 4 <= offset < len(data):
            return None
        try:
            header, size = compact.decode(ttypes.BloomFilterHeader, data[offset:])
        except Exception:  # noqa: BLE001 -- whatever Thrift says of garbage
            return None
        return self.believed(
            data[offset + size :], header, None if length is None else length - size
        )

    def believed(self, data: bytes, header: Any, room: int | None) -> bytes | None:
        size = header.numBytes
        kinds = header.algorithm, header.hash, header.compression
        members = [
            kind and (getattr(kind, name) is not None)
            for kind, name in zip(kinds, _MEMBERS, strict=True)
        ]
        if not all(members) or size is None or size <= 0 or size % 32 or room not in (None, size):
            return None
        return data[:size] if size <= len(data) else None

    def hashed(self, value: bytes) -> int:
        return xxhash.xxh64_intdigest(value, self.seed)

    def block(self, hashed: int, blocks: int) -> int:
        return (hashed >> 32) * blocks >> 32

    def has(self, bits: bytes, value: bytes) -> bool:
        hashed = self.hashed(value)
        start = 32 * self.block(hashed, len(bits) // 32)
        words = struct.unpack_from("<8I", bits, start)
        masks = (1 << ((hashed & 0xFFFFFFFF) * salt % (1 << 32) >> 27) for salt in SALT)
        return all(word & mask for word, mask in zip(words, masks, strict=True))


_MEMBERS = "BLOCK", "XXHASH", "UNCOMPRESSED"


# --- what is in the file --------------------------------------------------------------------------


class BelievesUnknownKinds(Reader):
    def believed(self, data: bytes, header: Any, room: int | None) -> bytes | None:
        return data[: header.numBytes]


class TakesDamageForNothing(Reader):
    """A filter that cannot be read has no value."""

    def bitset(self, data: bytes, meta: Any) -> bytes | None:
        bits = super().bitset(data, meta)
        return ABSENT if bits is None and meta.bloom_filter_offset is not None else bits


class TakesNoneForNothing(Reader):
    """A row group without a filter has no value, where others have one."""

    def excludes(
        self, data: bytes, footer: Any, group: int, values: Sequence[bytes], question: Question
    ) -> bool:
        metas = [each.columns[-1].meta_data for each in footer.row_groups]
        is_bare = metas[group].bloom_filter_offset is None
        if is_bare and any(meta.bloom_filter_offset for meta in metas):
            return True
        return super().excludes(data, footer, group, values, question)


class NeedsFilters(Reader):
    """A row group without a filter has no value, in whatever file."""

    def bitset(self, data: bytes, meta: Any) -> bytes | None:
        return ABSENT if meta.bloom_filter_offset is None else super().bitset(data, meta)


class NeedsLength(Reader):
    def believed(self, data: bytes, header: Any, room: int | None) -> bytes | None:
        return super().believed(data, header, room) if room else ABSENT


class ReadsShort(Reader):
    """As many bytes as one read gives; the rest stays zero."""

    def believed(self, data: bytes, header: Any, room: int | None) -> bytes | None:
        bits = super().believed(data, header, room)
        return bits and bits[: 1 << 13].ljust(len(bits), b"\0")


class SparesLarge(Reader):
    """A filter of more than 1 MiB is not read."""

    def believed(self, data: bytes, header: Any, room: int | None) -> bytes | None:
        bits = super().believed(data, header, room)
        return None if bits is None or len(bits) > 1 << 20 else bits


class KnowsOneHeader(Reader):
    """That of 32 to 63 blocks, without counting it."""

    def bitset(self, data: bytes, meta: Any) -> bytes | None:
        bits = super().bitset(data, meta)
        return bits and data[meta.bloom_filter_offset + 16 :][: len(bits)]


class GroupZeroForAll(Reader):
    def group(self, group: int) -> int:
        return 0


class FiltersInOrder(Reader):
    """The first filter of the file is that of the first row group."""

    def excludes(
        self, data: bytes, footer: Any, group: int, values: Sequence[bytes], question: Question
    ) -> bool:
        metas = [each.columns[-1].meta_data for each in footer.row_groups]
        there = sorted(
            (meta for meta in metas if meta.bloom_filter_offset),
            key=lambda meta: meta.bloom_filter_offset,
        )
        if len(there) != len(metas):
            return False
        bits = self.bitset(data, there[group])
        return bits is not None and not any(self.has(bits, value) for value in values)


class OtherHash(Reader):
    """Of another seed, and of something in whatever it is asked."""

    seed = 1

    def values(self, question: Question) -> list[bytes] | None:
        return super().values(question) or [b"something"]

    def is_asked(self, column: str, question: Question) -> bool:
        return True


class BlocksByRemainder(Reader):
    def block(self, hashed: int, blocks: int) -> int:
        return hashed % blocks


class Backwards(Reader):
    def has(self, bits: bytes, value: bytes) -> bool:
        return not super().has(bits, value)


class StopsAtFirstGroup(Reader):
    """Once a row group that filters have left has a row."""

    def ask(self, question: Question) -> dict[str, Any]:
        answer = super().ask(question)
        if "filtered" not in question["path"] or not answer.get("rows"):
            return answer
        first = answer["rows"][0] // 1000
        return {"rows": [row for row in answer["rows"] if row // 1000 == first]}


class StopsAtFirstRow(Reader):
    def ask(self, question: Question) -> dict[str, Any]:
        answer = super().ask(question)
        if "filtered" not in question["path"] or "rows" not in answer:
            return answer
        return {"rows": answer["rows"][:1]}


class LooksForFirstHit(Reader):
    """Of a list, in a row group the first value that its filter has."""

    def rows(self, question: Question, chunks: Sequence[MadeChunk], right: list[int]) -> list[int]:
        return _with_values(chunks, right, _hits(question, chunks)[:1])


class LooksUntilMiss(Reader):
    """Of a list, in a row group the values from the first that its filter has to the next that it has not."""

    def rows(self, question: Question, chunks: Sequence[MadeChunk], right: list[int]) -> list[int]:
        hits = _hits(question, chunks)
        asked = list(map(bytes.fromhex, question["stored"]))
        first = asked.index(hits[0]) if hits else 0
        return _with_values(chunks, right, [*takewhile(hits.__contains__, asked[first:])])


class ReadsForEachHit(Reader):
    """A row group once for each value of a list that its filter has."""

    def rows(self, question: Question, chunks: Sequence[MadeChunk], right: list[int]) -> list[int]:
        return right * max(1, len(_hits(question, chunks)))


class CountsWhatStatisticsLeave(Reader):
    """The filter of a row group is the one at its place among those that minimum and maximum have left."""

    def excludes(
        self, data: bytes, footer: Any, group: int, values: Sequence[bytes], question: Question
    ) -> bool:
        left = [
            number
            for number, each in enumerate(footer.row_groups)
            if _is_within(each.columns[-1].meta_data, values)
        ]
        return group not in left or super().excludes(
            data, footer, left.index(group), values, question
        )


class CountsColumns(Reader):
    """The filter of a column is that of the leaf with its number."""

    def excludes(
        self, data: bytes, footer: Any, group: int, values: Sequence[bytes], question: Question
    ) -> bool:
        chunks = footer.row_groups[group].columns
        columns = list(dict.fromkeys(chunk.meta_data.path_in_schema[0] for chunk in chunks))
        if question["column"] not in columns:
            return super().excludes(data, footer, group, values, question)
        bits = self.bitset(data, chunks[columns.index(question["column"])].meta_data)
        return bits is not None and not any(self.has(bits, value) for value in values)


class FailsWithNothingLeft(Reader):
    def ask(self, question: Question) -> dict[str, Any]:
        answer = super().ask(question)
        return (
            answer
            if answer.get("rows", [0]) or "plain" in question["path"]
            else {"error": "nothing left"}
        )


class FailsAtFirst(Reader):
    """At every question, with filters and without, but those about one case."""

    def ask(self, question: Question) -> dict[str, Any]:
        is_one = question["id"] == "legal/last-group"
        return super().ask(question) if is_one else {"error": "Segmentation fault"}


# --- what is asked --------------------------------------------------------------------------------


class AsksOneZero(Reader):
    def same(self, question: Question, value: bytes) -> list[bytes]:
        return [value]


class HashesNarrow(Reader):
    """INT8 and INT16 in one byte and two."""

    def same(self, question: Question, value: bytes) -> list[bytes]:
        type = ColumnType.of(question["type"])
        if type.name == "INTEGER":
            return [value[: int(type.arguments[0]) // 8]]
        return super().same(question, value)


class HashesWide(Reader):
    """INT32 in eight bytes, FLOAT as DOUBLE: as the literal has it, not the file."""

    def values(self, question: Question) -> list[bytes] | None:
        if "BIGINT" in question["sql"] or question["id"].startswith("several/widened"):
            number = re.findall(r"\d+", question["sql"])[-1]
            return [
                struct.pack("<d", float(number))
                if "DOUBLE" in question["type"]
                else struct.pack("<q", int(number))
            ]
        return super().values(question)

    def same(self, question: Question, value: bytes) -> list[bytes]:
        if question["type"].startswith("INT32"):
            return [int.from_bytes(value, "little", signed=True).to_bytes(8, "little", signed=True)]
        return super().same(question, value)


class Shortens(Reader):
    """Decimals in bytes in as few as they take."""

    def same(self, question: Question, value: bytes) -> list[bytes]:
        if "BYTE_ARRAY" not in question["type"] or "DECIMAL" not in question["type"]:
            return super().same(question, value)
        number = int.from_bytes(value, "big", signed=True)
        size = (number if number >= 0 else ~number).bit_length() // 8 + 1
        return [number.to_bytes(size, "big", signed=True)]


class FoldsCase(Reader):
    """Text in lower case, as names of columns are compared."""

    def same(self, question: Question, value: bytes) -> list[bytes]:
        is_text = question["type"].endswith("STRING")
        return [value.decode().lower().encode()] if is_text else super().same(question, value)


class HashesText(Reader):
    """Of each literal what is written."""

    def values(self, question: Question) -> list[bytes] | None:
        literals = re.findall(
            r"'([^']*)'|(?<![\w.])(-?\d[\d.]*)", question["sql"].partition("WHERE")[2]
        )
        return [(text or number).encode() for text, number in literals] or None


class TakesAnyLiteral(Reader):
    """Whatever is done with it: a condition beside it, NOT, a function around it."""

    def values(self, question: Question) -> list[bytes] | None:
        return _literals(question) or super().values(question)


class LooksUpNull(Reader):
    def values(self, question: Question) -> list[bytes] | None:
        return [b""] if "NULL" in question["sql"] else super().values(question)


class Overflows(Reader):
    def values(self, question: Question) -> list[bytes] | None:
        if question["type"] == "INT32":
            return [
                struct.pack("<i", int(text)) for text in re.findall(r"\d{3,}", question["sql"])
            ] or None
        return super().values(question)

    def ask(self, question: Question) -> dict[str, Any]:
        return super().ask(question) if "filtered" in question["path"] else Reader().ask(question)


def _hits(question: Question, chunks: Sequence[MadeChunk]) -> list[bytes]:
    """The values of a list that a row group has, by filters: of a file without them, nobody knows."""
    if question["op"] != "in" or "filtered" not in question["path"]:
        return []
    return [each for each in map(bytes.fromhex, question["stored"]) if each in chunks[1].values]


def _with_values(
    chunks: Sequence[MadeChunk], right: list[int], wanted: Sequence[bytes]
) -> list[int]:
    """The rows that have one of these values, in a column without nulls; all of them if none is wanted."""
    numbers = (int.from_bytes(each, "little") for each in chunks[0].values)
    value_of = dict(zip(numbers, chunks[1].values, strict=True)) if wanted else {}
    return [row for row in right if not wanted or value_of[row] in wanted]


def _is_within(meta: Any, values: Sequence[bytes]) -> bool:
    """Whether minimum and maximum, of INT64 alone, let a value be there."""
    if meta.type != ttypes.Type.INT64 or meta.statistics is None or not meta.statistics.min_value:
        return True
    least, most, *asked = (
        int.from_bytes(each, "little", signed=True)
        for each in (meta.statistics.min_value, meta.statistics.max_value, *values)
    )
    return any(least <= value <= most for value in asked)


def _literals(question: Question) -> list[bytes] | None:
    """The first literal of a predicate as the column's type has it."""
    text = question["sql"].partition("WHERE")[2]
    if question["type"].endswith("STRING") or question["type"] == "BYTE_ARRAY":
        found = re.search(r"'([^']*)'", text)
        return [found[1].encode()] if found else None
    form = {"INT64": "<q", "INT32": "<i", "DOUBLE": "<d", "FLOAT": "<f"}.get(question["type"])
    number = re.search(r"'(NaN)'|(?<![\w.])(-?\d+)", text)
    if form is None or number is None:
        return None
    value = float(number[0].strip("'"))
    return [struct.pack(form, value if form in ("<d", "<f") else int(value) % (1 << 31))]
