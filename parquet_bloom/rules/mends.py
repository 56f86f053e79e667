"""What is wrong with the filters of a file that a new footer can mend.

    headers   what no reader can use goes
    places    what shares its bytes with something else goes; of a filter that several column
              chunks point to, only the values tell whose it is
    lengths   are set to what header and bitset take; where bloom_filter_length may be right and
              the header wrong, only the values tell
    bits      none is set, and the footer does not say that all values are null: the filter goes
    values    where they are looked up: a filter with false negatives goes

In doubt a pointer goes: without a filter readers lose time, with a wrong one they lose rows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from parquet_bloom.errors import FilterError, FormatError, TamperedError, UnsupportedError
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.legacy.chunk_filters import headers_at
from parquet_bloom.native import _kernel
from parquet_bloom.parallel import Progress, work_in_order
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.file import NO_KEY, ParquetFile
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import FilterPlace, Footer
from parquet_bloom.parquet.membership import Membership, check_membership, membership_room
from parquet_bloom.rules import older, portability, security, structure, truth
from parquet_bloom.rules.catalogue import Finding
from parquet_bloom.rules.policy import ColumnPolicy
from parquet_bloom.rules.view import (
    FilterView,
    chunk_finding,
    may_have_values,
    not_checked,
    without_place,
)

# What a header and its place alone can be wrong about. Whether filters share bytes is looked at
# afterwards, by what their headers say instead of the lengths in the footer.
UNUSABLE = {"PB103", "PB104", "PB105", "PB108", "PB109", "PB110", "PB204", "PB501"}
LENGTHS = {"PB111", "PB112", "PB113"}
# The filter is right, and readers fail or lose rows all the same.
SHORTCOMINGS = {"PB203", "PB209", "PB210", "PB403"}

# Nearly every filter has a bit among its first ones.
CLEAR_BYTES = 64 << 10


@dataclass(slots=True)
class Examined:
    """A filter that the footer points to, and what is wrong with it.

    `stored` is None if there is no header. `fatal`: why the pointer goes. `doubt`: why it goes
    unless the values prove the filter right. `length`: why bloom_filter_length is set.
    `shortcoming`: what remains unless the filter is built again. `unread`: why the values say
    nothing.
    """

    chunk: ColumnChunk
    stored: bloom.StoredFilter | None = None
    fatal: Finding | None = None
    doubt: Finding | None = None
    length: Finding | None = None
    shortcoming: Finding | None = None
    unread: Finding | None = None

    @property
    def key(self) -> ChunkKey:
        return self.chunk.key

    @property
    def had_filter(self) -> bool:
        """Whether there was one once. Writers that meant none have left an offset of 0, or a length
        alone (PARQUET-1979)."""
        return bool(self.chunk.bloom_filter_offset)

    @property
    def place(self) -> FilterPlace | None:
        """Where header and bitset lie."""
        if self.stored is None:
            return None
        return FilterPlace(self.stored.offset, self.stored.end - self.stored.offset)


def _chunks_with(file: ParquetFile, field: str) -> Iterator[ColumnChunk]:
    """The chunks whose footer has this field. Those that lie in another file, and encrypted ones
    without a key, are not for us to mend."""
    for index, number in enumerate(file.footer.chunks.every(field)):
        if number != _kernel.ABSENT:
            row_group, column = divmod(index, len(file.footer.leaves))
            chunk = file.footer.chunk(row_group, file.footer.leaves[column])
            if not chunk.has_file_path and not chunk.is_locked:
                yield chunk


def locked(
    file: ParquetFile, wanted: Collection[ChunkKey]
) -> Iterator[tuple[ColumnChunk, Finding]]:
    """Of the chunks `wanted`, the encrypted ones without a key: why they are left as they are."""
    for row_group, column in sorted(wanted):
        chunk = file.footer.chunk(row_group, file.footer.leaves[column])
        if chunk.is_locked:
            stored, _ = structure.read_header(file, chunk)
            if stored is not None and bloom.is_leaked(chunk, stored):
                message = f"{NO_KEY}, and the filter is in plaintext"
                yield chunk, chunk_finding("PB501", chunk, message)
            else:
                yield chunk, chunk_finding("PB408", chunk, NO_KEY)


# ------------------------------------------------------------------------------------------------
# Without the values


def examine(file: ParquetFile, wanted: Collection[ChunkKey]) -> list[Examined]:
    """The filters of the chunks `wanted`, as far as can be told without values; and those that
    have a bloom_filter_length only. In file order."""
    filters = [_with_header(file, chunk) for chunk in _chunks_with(file, "bloom_filter_offset")]
    headers = sorted(
        ((each.stored, each) for each in filters if each.stored), key=lambda pair: pair[0].offset
    )
    offsets = [stored.offset for stored, _ in headers]
    sound = [(stored, each) for stored, each in headers if not each.fatal]
    _examine_places(sound, offsets)
    for stored, each in sound:
        if each.key in wanted and not each.fatal:
            _examine_bits(file, stored, each)
        if each.length and _length_may_be_right(file, stored, offsets):
            each.doubt = each.doubt or _contradiction(each.length)
    found = [each for each in (*filters, *_astray(file)) if each.key in wanted]
    return sorted(found, key=lambda each: each.key)


def _astray(file: ParquetFile) -> Iterator[Examined]:
    for chunk in _chunks_with(file, "bloom_filter_length"):
        if chunk.bloom_filter_offset is None:
            message = "there is a bloom_filter_length but no bloom_filter_offset"
            found = chunk.bloom_filter_length
            yield Examined(chunk, fatal=chunk_finding("PB114", chunk, message, found=found))


def _with_header(file: ParquetFile, chunk: ColumnChunk) -> Examined:
    if headers_at(file, chunk):
        return Examined(chunk, unread=older.published(file, chunk))
    stored, problems = structure.read_header(file, chunk)
    if stored is None:
        return Examined(chunk, fatal=problems[0])
    findings = [
        *structure.check_header(file, chunk, stored),
        *portability.check_header(chunk, stored),
        *security.check_plaintext(chunk, stored),
    ]
    return Examined(
        chunk,
        stored,
        fatal=_first(findings, UNUSABLE),
        length=_first(findings, LENGTHS),
        shortcoming=_first(findings, SHORTCOMINGS),
    )


def _first(findings: Sequence[Finding], rules: Collection[str]) -> Finding | None:
    return next((found for found in findings if found.rule in rules), None)


def _examine_places(
    sound: Sequence[tuple[bloom.StoredFilter, Examined]], offsets: Sequence[int]
) -> None:
    """`sound`: filters in the order of their offsets; `offsets`: those of all headers, sorted.

    Where the header of one lies among the bits of another, these bits are not what they were. What
    only looks like a header may lie among bits by chance.
    """
    of_sound = [stored.offset for stored, _ in sound]
    for stored, each in sound:
        sharing = bisect_right(offsets, stored.offset) - bisect_left(offsets, stored.offset)
        inside = _first_inside(of_sound, stored)
        unusable = _first_inside(offsets, stored)
        if inside is not None:
            each.fatal = chunk_finding(
                "PB106", each.chunk, "the filter of another column chunk begins inside this one",
                found=f"bytes {stored.offset} to {stored.end - 1} and {inside}",
            )  # fmt: skip
        elif unusable is not None:
            each.doubt = chunk_finding(
                "PB106", each.chunk, "another column chunk points inside this filter, to what may"
                " be a header, and only values tell whether this one is whole",
                found=f"bytes {stored.offset} to {stored.end - 1} and {unusable}",
            )  # fmt: skip
        elif sharing > 1:
            each.doubt = chunk_finding(
                "PB107", each.chunk, f"{sharing} column chunks point to this filter, and only"
                " values tell whose it is", found=stored.offset,
            )  # fmt: skip


def _first_inside(offsets: Sequence[int], stored: bloom.StoredFilter) -> int | None:
    """The least of `offsets`, which are sorted, that lies behind the filter's own and in it."""
    behind = bisect_right(offsets, stored.offset)
    return offsets[behind] if behind < len(offsets) and offsets[behind] < stored.end else None


def _length_may_be_right(
    file: ParquetFile, stored: bloom.StoredFilter, offsets: Sequence[int]
) -> bool:
    """Whether the footer's length, which is not what the header says, is that of whole blocks in a
    place of their own; then the header may be what is wrong. `offsets`: of all headers, sorted."""
    length = stored.length or 0
    num_bytes = length - stored.header_bytes - stored.modules.bitset_overhead
    end = stored.offset + length
    return (
        num_bytes > 0
        and num_bytes % BLOCK_BYTES == 0
        and not file.footer.layout.overlaps_data(stored.offset, end)
        and bisect_right(offsets, stored.offset) == bisect_left(offsets, end)
    )


def _contradiction(length: Finding) -> Finding:
    message = "header and bloom_filter_length contradict each other, and only values tell which"
    return replace(length, message=f"{message} is right")


def _examine_bits(file: ParquetFile, stored: bloom.StoredFilter, each: Examined) -> None:
    try:
        if _is_clear(file, stored, each.chunk):
            each.doubt = _all_clear(each.chunk)
    except TamperedError as error:
        each.fatal = security.does_not_open(file, each.chunk, error)


def _is_clear(file: ParquetFile, stored: bloom.StoredFilter, chunk: ColumnChunk) -> bool:
    """Whether no bit is set although there are values, unless the footer counts nothing but nulls."""
    read = bloom.bits(file.source, stored)
    return may_have_values(file, chunk) and not any(
        SplitBlockBloomFilter.from_bytes(
            read(start, min(CLEAR_BYTES, stored.num_bytes - start))
        ).bits_set
        for start in range(0, stored.num_bytes, CLEAR_BYTES)
    )


def _all_clear(chunk: ColumnChunk) -> Finding:
    return chunk_finding("PB402", chunk, "no bit is set: every value seems absent")


# ------------------------------------------------------------------------------------------------
# With the values


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the values of one chunk say of its filter; `foreign_bits` is None if they say nothing,
    or that the filter is wrong."""

    fatal: Finding | None = None
    shortcoming: Finding | None = None
    unread: Finding | None = None
    foreign_bits: int | None = None


def examine_values(
    file: ParquetFile,
    filters: Sequence[Examined],
    threads: int | None,
    progress: Progress | None,
) -> None:
    """Look up the values of every filter that may be right. Two BOOLEANs say nothing."""
    waiting = {
        each.key: (each, each.stored)
        for each in filters
        if each.stored and not each.fatal and each.chunk.leaf.type.physical != "BOOLEAN"
    }

    def ask(chunk: ColumnChunk) -> _Answer:
        return _ask(file, chunk, waiting[chunk.key][1])

    def room(chunk: ColumnChunk) -> int:
        return membership_room(waiting[chunk.key][1].num_bytes)

    chunks = [each.chunk for each, _ in waiting.values()]
    done = count(1)
    sharing: defaultdict[int, list[tuple[int, ChunkKey]]] = defaultdict(list)
    for chunk, answer in work_in_order(chunks, ask, room, threads):
        each, stored = waiting[chunk.key]
        each.fatal, each.unread = answer.fatal, answer.unread
        each.shortcoming = each.shortcoming or answer.shortcoming
        if answer.foreign_bits is not None:
            sharing[stored.offset].append((answer.foreign_bits, each.key))
        if progress:
            progress(next(done), len(chunks))
    # Of several chunks whose values are all found it is the one that explains the most bits.
    for proven in sharing.values():
        waiting[min(proven)[1]][0].doubt = None


def _ask(file: ParquetFile, chunk: ColumnChunk, stored: bloom.StoredFilter) -> _Answer:
    bits = bloom.read_bitset(file.source, stored)
    try:
        membership = check_membership(file, chunk, bits)
    except UnsupportedError as error:
        return _Answer(unread=not_checked(chunk, without_place(error, file, chunk)))
    except (FormatError, TamperedError) as error:
        return _Answer(unread=chunk_finding("PB116", chunk, without_place(error, file, chunk)))
    view = FilterView(file, chunk, stored, bits, ColumnPolicy(), membership.num_values)
    return _answer(view, membership)


def _answer(view: FilterView, membership: Membership) -> _Answer:
    findings = [
        *portability.check_forms(view, membership),
        *truth.check_values(view, membership, None),
    ]
    if membership.missing:
        return _Answer(fatal=_first(findings, {"PB401"}) or _all_clear(view.chunk))
    return _Answer(shortcoming=_first(findings, SHORTCOMINGS), foreign_bits=membership.foreign_bits)


# ------------------------------------------------------------------------------------------------
# What follows


def settle(file: ParquetFile, filters: Sequence[Examined]) -> None:
    """What is still in doubt is fatal now. What shares bytes with a filter that is not among
    `filters` is of no use: no length is set for it, and one that is right needs another place."""
    for each in filters:
        each.fatal = each.fatal or each.doubt
    footer = file.footer.edited(mended_places(filters))
    for each in filters:
        if each.stored and not each.fatal:
            if each.length:
                each.fatal = _still_unusable(file, footer, each)
            elif footer.layout.overlaps_filters(each.stored.offset, each.stored.end):
                each.shortcoming = each.shortcoming or chunk_finding(
                    "PB106", each.chunk, "the filter of a column chunk that was not to be repaired"
                    " shares bytes with this one",
                )  # fmt: skip


def _still_unusable(file: ParquetFile, footer: Footer, each: Examined) -> Finding | None:
    """Why the filter cannot be used with the length that `footer` has now."""
    chunk = footer.chunk(each.chunk.row_group, each.chunk.leaf)
    try:
        bloom.read_usable_header(file.source, footer, chunk)
    except FilterError as error:
        return chunk_finding("PB106", chunk, without_place(error, file, chunk))
    return None


def mended_places(filters: Sequence[Examined]) -> dict[ChunkKey, FilterPlace | None]:
    """What the footer is to say of every chunk of which it is to say something else."""
    return {
        each.key: None if each.fatal else each.place
        for each in filters
        if each.fatal or each.length
    }
