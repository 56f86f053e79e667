"""PB60x, PB61x: whether a stripe of an ORC file has filters where its footer says, in a valid layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from parquet_bloom.container import STRIPES, Place
from parquet_bloom.errors import FilterError, FooterError, UnsupportedError, without_place
from parquet_bloom.filters.k_hash import WORD_BITS, KHashFilter
from parquet_bloom.orc.bloom import (
    PRE_RELEASE,
    OrcKeyForm,
    decoded_filters,
    is_marked,
    is_pre_release,
    stored_bitsets,
)
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.stripe import (
    BLOOM_FILTER_UTF8,
    FILTER_KINDS,
    ROW_INDEX,
    OrcChunk,
    OrcStream,
    Stripe,
)
from parquet_bloom.rules.finding import Finding, chunk_finding, finding, not_checked

# Enough for an FPP of 10^-30, or for index groups of two rows.
MOST_HASHES: Final = 100

_WORD_BYTES: Final = WORD_BITS // 8


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """The stream of filters of a column in a stripe. `is_asked`: today's readers take this one."""

    chunk: OrcChunk
    stream: OrcStream
    is_asked: bool


@dataclass(frozen=True, slots=True)
class IndexFilters:
    """The filters in a stream by index group; None where there is no usable one."""

    filters: tuple[KHashFilter | None, ...]
    key_form: OrcKeyForm
    is_marked: bool


def check_streams(file: OrcFile, stripe: Stripe, columns: Sequence[OrcColumn]) -> Iterator[Finding]:
    """What the stripe's footer says about the filters of these columns as a whole."""
    streams = [stream for stream in stripe.streams if stream.kind in FILTER_KINDS]
    if not streams:
        return
    place = Place(stripe.index, units=STRIPES)
    if stripe.doubt:
        message = f"{stripe.doubt}: readers look for the filters in other bytes"
        yield finding("PB601", message, place=place)
    for stream in streams:
        if stream.column >= len(file.tail.columns):
            yield finding(
                "PB608",
                f"there is a {stream.name} stream for a column that the file does not have",
                place=place,
                expected=f"0 to {len(file.tail.columns) - 1}",
                found=stream.column,
            )
    for column in columns:
        yield from _check_column(OrcChunk(stripe, column))


def _check_column(chunk: OrcChunk) -> Iterator[Finding]:
    streams = chunk.filter_streams
    if streams and not chunk.stripe.streams_of(chunk.column.id, (ROW_INDEX,)):
        yield chunk_finding(
            "PB609", chunk, "there are filters but no row index, without which no reader asks them"
        )
    for name, number in Counter(stream.name for stream in streams).items():
        if number > 1:
            yield chunk_finding(
                "PB610",
                chunk,
                f"there are {number} {name} streams: readers differ in which one they take",
                expected=1,
                found=number,
            )


def read_index(file: OrcFile, item: StoredChunk) -> tuple[IndexFilters | None, list[Finding]]:
    """The filters in a stream of a sound stripe, and what is wrong with them; None if nothing in it
    can be used."""
    chunk, stream = item.chunk, item.stream
    places = chunk.where, chunk.stripe.where
    try:
        data = file.read_stream(chunk.stripe, stream)
        if is_pre_release(data, stream.kind, chunk.where):
            message = f"{PRE_RELEASE}: today's readers lose nearly every row"
            return None, [chunk_finding("PB603", chunk, message)]
        stored = decoded_filters(orc_pb2.BloomFilterIndex, data, chunk.where)
    except UnsupportedError as error:
        return None, [not_checked(chunk, without_place(error, *places))]
    except FooterError as error:
        message = f"the {stream.name} stream: {without_place(error, *places)}"
        return None, [chunk_finding("PB602", chunk, message)]
    if len(stored) != chunk.stripe.num_index_groups:
        problem = chunk_finding(
            "PB604",
            chunk,
            f"the {stream.name} stream does not have one filter per index group",
            expected=chunk.stripe.num_index_groups,
            found=len(stored),
        )
        return None, [problem]
    marked = is_marked(data)
    key_form = file.key_form(chunk.stripe, stream, marked)
    problems = [
        problem for group, each in enumerate(stored) for problem in _check_filter(item, group, each)
    ]
    return IndexFilters(tuple(map(_usable, stored)), key_form, marked), problems


def _usable(stored: Any) -> KHashFilter | None:
    """A filter whose bits can be read, whatever else is wrong."""
    words, text = stored_bitsets(stored)
    if words and text and words != text:
        return None
    try:
        return KHashFilter.from_bytes(words or text, stored.numHashFunctions)
    except FilterError:
        return None


def _check_filter(item: StoredChunk, group: int, stored: Any) -> Iterator[Finding]:
    words, text = stored_bitsets(stored)
    bitset = words or text
    where: dict[str, Any] = {
        "place": Place(item.chunk.stripe.index, group, STRIPES),
        "column": item.chunk.column.name,
    }
    if words and text and words != text:
        message = "bitset and utf8bitset differ: some readers take one, some the other"
        yield finding("PB606", message, **where)
    if not bitset or len(bitset) % _WORD_BYTES:
        yield finding(
            "PB605",
            "the bitset is not a whole number of words",
            **where,
            expected=f"a positive multiple of {_WORD_BYTES} bytes",
            found=len(bitset),
        )
    if not 1 <= stored.numHashFunctions <= MOST_HASHES:
        yield finding(
            "PB607",
            "every look-up takes as many hashes, and no reasonable target needs them",
            **where,
            expected=f"1 to {MOST_HASHES} hashes",
            found=stored.numHashFunctions,
        )
    field, own = (
        ("utf8bitset", text) if item.stream.kind == BLOOM_FILTER_UTF8 else ("bitset", words)
    )
    present = {"numHashFunctions": stored.HasField("numHashFunctions"), field: own}
    lacking = [name for name, is_there in present.items() if not is_there]
    if bitset and lacking:
        yield finding(
            "PB624",
            "ORC C++ ignores a filter without all of its fields",
            **where,
            expected=f"numHashFunctions and {field}",
            found=f"no {' and no '.join(lacking)}",
        )
