"""PB60x, PB61x: whether a stripe has filters where its footer says, and of a form that is defined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from parquet_bloom.errors import FilterError, FooterError, UnsupportedError
from parquet_bloom.filters.k_hash import WORD_BITS, KHashFilter
from parquet_bloom.orc.bloom import PRE_RELEASE, is_marked, is_pre_release, stored_bitsets
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.stripe import (
    BLOOM_FILTER_UTF8,
    FILTER_KINDS,
    ROW_INDEX,
    OrcStream,
    Stripe,
    read_stream,
)
from parquet_bloom.orc.tail import decode
from parquet_bloom.rules.catalogue import Finding
from parquet_bloom.rules.orc.view import IndexView, not_checked, stripe_finding, without_place

# An FPP of 10^-30, or index groups of two rows.
MOST_HASHES: Final = 100

_WORD_BYTES: Final = WORD_BITS // 8


def check_streams(file: OrcFile, stripe: Stripe, columns: Sequence[OrcColumn]) -> Iterator[Finding]:
    """What the stripe's footer says of the filters of these columns as a whole."""
    streams = [stream for stream in stripe.streams if stream.kind in FILTER_KINDS]
    if not streams:
        return
    if stripe.doubt:
        yield stripe_finding(
            "PB601", stripe, None, f"{stripe.doubt}: readers look for the filters in other bytes"
        )
    for stream in streams:
        if stream.column >= len(file.tail.columns):
            yield stripe_finding(
                "PB608", stripe, None, f"there is a {stream.name} stream of a column that the file"
                " does not have", expected=f"0 to {len(file.tail.columns) - 1}", found=stream.column,
            )  # fmt: skip
    for column in columns:
        yield from _check_column(stripe, column)


def _check_column(stripe: Stripe, column: OrcColumn) -> Iterator[Finding]:
    streams = stripe.streams_of(column.id, FILTER_KINDS)
    if streams and not stripe.streams_of(column.id, (ROW_INDEX,)):
        yield stripe_finding(
            "PB609", stripe, column, "there are filters and no row index, without which no reader"
            " looks at them"
        )  # fmt: skip
    for name, number in Counter(stream.name for stream in streams).items():
        if number > 1:
            yield stripe_finding(
                "PB610", stripe, column, f"there are {number} streams {name}: readers differ in"
                " which they take", expected=1, found=number,
            )  # fmt: skip


def read_index(
    file: OrcFile, stripe: Stripe, column: OrcColumn, stream: OrcStream, is_asked: bool
) -> tuple[IndexView | None, list[Finding]]:
    """The filters in a stream of a stripe that does not contradict itself, and what is wrong with
    them; None if nothing in it can be used."""
    where = f"{stripe.where}, column {column.name}"
    try:
        data = read_stream(file.source, file.tail, stripe, stream)
        if is_pre_release(data, stream.kind, where):
            message = f"{PRE_RELEASE}: readers of today lose nearly every row"
            return None, [stripe_finding("PB603", stripe, column, message)]
        stored = decode(orc_pb2.BloomFilterIndex, data, where).bloomFilter
    except UnsupportedError as error:
        return None, [not_checked(stripe, column, without_place(error, stripe, column))]
    except FooterError as error:
        message = f"the {stream.name} stream: {without_place(error, stripe, column)}"
        return None, [stripe_finding("PB602", stripe, column, message)]
    if len(stored) != stripe.num_index_groups:
        message = f"the {stream.name} stream does not have one filter for each index group"
        return None, [
            stripe_finding("PB604", stripe, column, message,
                           expected=stripe.num_index_groups, found=len(stored))
        ]  # fmt: skip
    marked = is_marked(data)
    view = IndexView(
        file=file,
        stripe=stripe,
        column=column,
        stream=stream,
        form=file.form(stripe, stream, marked),
        is_marked=marked,
        is_asked=is_asked,
        filters=tuple(map(_usable, stored)),
    )
    problems = [
        problem for group, each in enumerate(stored) for problem in _check_filter(view, group, each)
    ]
    return view, problems


def _usable(stored: Any) -> KHashFilter | None:
    """A filter whose bits can be looked at, whatever else is wrong."""
    words, text = stored_bitsets(stored)
    if words and text and words != text:
        return None
    try:
        return KHashFilter.from_bytes(words or text, stored.numHashFunctions)
    except FilterError:
        return None


def _check_filter(view: IndexView, group: int, stored: Any) -> Iterator[Finding]:
    words, text = stored_bitsets(stored)
    bitset = words or text
    if words and text and words != text:
        yield view.finding("PB606", "bitset and utf8bitset differ: readers take one or the other",
                           group)  # fmt: skip
    if not bitset or len(bitset) % _WORD_BYTES:
        yield view.finding(
            "PB605", "the size of the bitset is not that of whole words", group,
            expected=f"a positive multiple of {_WORD_BYTES} bytes", found=len(bitset),
        )  # fmt: skip
    if not 1 <= stored.numHashFunctions <= MOST_HASHES:
        yield view.finding(
            "PB607", "every look-up takes as many hashes, and no sane target needs them", group,
            expected=f"1 to {MOST_HASHES} hashes", found=stored.numHashFunctions,
        )  # fmt: skip
    wanted = "utf8bitset" if view.stream.kind == BLOOM_FILTER_UTF8 else "bitset"
    lacking = [
        name
        for name, is_there in (
            ("numHashFunctions", stored.HasField("numHashFunctions")),
            (wanted, text if view.stream.kind == BLOOM_FILTER_UTF8 else words),
        )
        if not is_there
    ]
    if bitset and lacking:
        yield view.finding(
            "PB624", "ORC C++ makes no use of a filter without all of its fields", group,
            expected=f"numHashFunctions and {wanted}", found=f"no {' and no '.join(lacking)}",
        )  # fmt: skip
