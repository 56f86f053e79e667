"""What `repair` can do about the filters of a Parquet file, by another footer alone or with new filters.

    headers   what no reader can use goes
    places    what shares its bytes with something else goes; of a filter that several column
              chunks point to, only the values tell whose it is
    lengths   are set to what header and bitset take; where bloom_filter_length may be right and
              the header wrong, only the values tell
    bits      none is set, and the footer does not say that all values are null: the filter goes
    values    where they are looked up: a filter with false negatives goes

Whether filters share bytes is looked at by what their headers say instead of the lengths in the
footer, which may be what is wrong.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from parquet_bloom.errors import FilterError, TamperedError
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.legacy.chunk_filters import headers_at
from parquet_bloom.options import RepairOptions, ValidateOptions
from parquet_bloom.parallel import Progress, work_in_order
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.chunk_values import may_have_values
from parquet_bloom.parquet.container import ParquetContainer
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import FilterPlace, Footer
from parquet_bloom.parquet.writer import check_pages, check_rewritable
from parquet_bloom.rules import legacy, portability, security, structure_parquet
from parquet_bloom.rules.examine import check_view
from parquet_bloom.rules.examine_parquet import ParquetExamination, StoredChunk
from parquet_bloom.rules.finding import Finding, chunk_finding, without_place
from parquet_bloom.rules.policy import Policy
from parquet_bloom.rules.repair_plan import BrokenFilters, Diagnosed, concerns_repair
from parquet_bloom.vocabulary import NO_KEY

# Nearly every filter has a bit among its first ones.
CLEAR_BYTES = 64 << 10


@dataclass(slots=True)
class BrokenFilter(BrokenFilters):
    """`stored` is None if there is no header that could be used. `doubt`: why the filter goes unless
    the values prove it right."""

    chunk: ColumnChunk
    stored: bloom.StoredFilter | None = None
    doubt: Finding | None = None

    @property
    def key(self) -> ChunkKey:
        return self.chunk.key

    @property
    def new_place(self) -> FilterPlace | None:
        """Where the footer is to say that header and bitset are."""
        if self.fatal or self.stored is None:
            return None
        return FilterPlace(self.stored.offset, self.stored.end - self.stored.offset)


def diagnosed(
    file: ParquetContainer, options: RepairOptions, progress: Progress | None
) -> Diagnosed:
    """See repair_plan.diagnosed."""
    check_rewritable(file)
    file.footer.check_row_counts()
    check_pages(file)
    leaves = file.leaves(options.columns)
    wanted = {(group, leaf.index) for group in file.row_groups(options.parts) for leaf in leaves}
    filters = _without_values(file, wanted)
    if options.reads_values:
        _look_up(file, filters, options.threads, progress)
    _settle(file, filters)
    locked = [(each, "") for each in _locked(file, wanted)]
    return Diagnosed(filters, locked)


def _locked(file: ParquetContainer, wanted: Collection[ChunkKey]) -> Iterator[Finding]:
    """Of the chunks `wanted`, the encrypted ones without a key: why they are left as they are."""
    for row_group, column in sorted(wanted):
        chunk = file.footer.chunk(row_group, file.footer.leaves[column])
        if chunk.is_locked:
            stored, _ = structure_parquet.read_header(file, chunk)
            if stored is not None and bloom.is_leaked(chunk, stored):
                message = f"{NO_KEY}, and the filter is in plaintext"
                yield chunk_finding("PB501", chunk, message)
            else:
                yield chunk_finding("PB408", chunk, NO_KEY)


# ------------------------------------------------------------------------------------------------
# Without the values


def _without_values(file: ParquetContainer, wanted: Collection[ChunkKey]) -> list[BrokenFilter]:
    """The filters of the chunks `wanted`, as far as can be told without values; and those that
    have a bloom_filter_length only. In file order."""
    pointing = structure_parquet.pointing(file, file.footer.leaves)
    filters = [_with_header(file, chunk) for chunk in pointing if _is_ours(chunk)]
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


def _is_ours(chunk: ColumnChunk) -> bool:
    """Chunks that lie in another file, and encrypted ones without a key, are not ours to repair."""
    return not chunk.has_file_path and not chunk.is_locked


def _astray(file: ParquetContainer) -> Iterator[BrokenFilter]:
    for chunk in structure_parquet.lengths_without_offset(file):
        if _is_ours(chunk):
            broken = BrokenFilter(chunk, had_filters=False)
            broken.add(structure_parquet.length_without_offset(chunk))
            yield broken


def _with_header(file: ParquetContainer, chunk: ColumnChunk) -> BrokenFilter:
    # Writers that meant none have left an offset of 0 (PARQUET-1979).
    broken = BrokenFilter(chunk, had_filters=bool(chunk.bloom_filter_offset))
    for each in _header_findings(file, broken):
        if concerns_repair(each):
            broken.add(each)
    return broken


def _header_findings(file: ParquetContainer, broken: BrokenFilter) -> Iterator[Finding]:
    chunk = broken.chunk
    if headers_at(file, chunk):
        yield legacy.published(file, chunk)
        return
    broken.stored, problems = structure_parquet.read_header(file, chunk)
    yield from problems
    if broken.stored is not None:
        yield from structure_parquet.check_header(file, chunk, broken.stored)
        yield from portability.check_header(chunk, broken.stored)
        if bloom.is_leaked(chunk, broken.stored):
            yield security.plaintext(chunk, broken.stored.offset)


def _examine_places(
    sound: Sequence[tuple[bloom.StoredFilter, BrokenFilter]], offsets: Sequence[int]
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
            each.add(
                chunk_finding(
                    "PB106",
                    each.chunk,
                    "the filter of another column chunk begins inside this one",
                    found=f"bytes {stored.offset} to {stored.end - 1} and {inside}",
                )
            )
        elif unusable is not None:
            each.doubt = chunk_finding(
                "PB106",
                each.chunk,
                "another column chunk points inside this filter, to what may be a header, and only"
                " the values tell whether this one is whole",
                found=f"bytes {stored.offset} to {stored.end - 1} and {unusable}",
            )
        elif sharing > 1:
            each.doubt = chunk_finding(
                "PB107",
                each.chunk,
                f"{sharing} column chunks point to this filter, and only the values tell whose it"
                " is",
                found=stored.offset,
            )


def _first_inside(offsets: Sequence[int], stored: bloom.StoredFilter) -> int | None:
    """The least of `offsets`, which are sorted, that lies behind the filter's own and in it."""
    behind = bisect_right(offsets, stored.offset)
    return offsets[behind] if behind < len(offsets) and offsets[behind] < stored.end else None


def _length_may_be_right(
    file: ParquetContainer, stored: bloom.StoredFilter, offsets: Sequence[int]
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
    message = "header and bloom_filter_length contradict each other, and only the values tell which"
    return replace(length, message=f"{message} is right")


def _examine_bits(file: ParquetContainer, stored: bloom.StoredFilter, each: BrokenFilter) -> None:
    try:
        if _is_clear(file, stored, each.chunk):
            message = "no bit is set: every value seems absent"
            each.doubt = chunk_finding("PB402", each.chunk, message)
    except TamperedError as error:
        each.add(structure_parquet.does_not_open(file, each.chunk, error))


def _is_clear(file: ParquetContainer, stored: bloom.StoredFilter, chunk: ColumnChunk) -> bool:
    """Whether no bit is set although there are values, unless the footer counts nothing but nulls."""
    read = bloom.bits(file.source, stored)
    return may_have_values(chunk) and not any(
        SplitBlockBloomFilter.from_bytes(
            read(start, min(CLEAR_BYTES, stored.num_bytes - start))
        ).bits_set
        for start in range(0, stored.num_bytes, CLEAR_BYTES)
    )


# ------------------------------------------------------------------------------------------------
# With the values


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the values of one chunk say of its filter; `foreign_bits` is None if they say nothing,
    or that the filter is wrong."""

    findings: list[Finding]
    foreign_bits: int | None


def _look_up(
    file: ParquetContainer,
    filters: Sequence[BrokenFilter],
    threads: int | None,
    progress: Progress | None,
) -> None:
    """Look up the values of every filter that may be right. Two BOOLEANs say nothing."""
    examination = ParquetExamination(file, ValidateOptions(), Policy())
    waiting = {
        each.key: each
        for each in filters
        if each.stored and not each.fatal and each.chunk.leaf.type.physical != "BOOLEAN"
    }
    items = [StoredChunk(each.chunk, each.stored) for each in waiting.values() if each.stored]

    def ask(item: StoredChunk) -> _Answer:
        return _answer(examination, item)

    done = count(1)
    sharing: defaultdict[int, list[tuple[int, ChunkKey]]] = defaultdict(list)
    for item, answer in work_in_order(items, ask, examination.room, threads):
        for finding in answer.findings:
            waiting[item.chunk.key].add(finding)
        if answer.foreign_bits is not None:
            sharing[item.stored.offset].append((answer.foreign_bits, item.chunk.key))
        if progress:
            progress(next(done), len(items))
    # Of several chunks whose values are all found it is the one that explains the most bits.
    for proven in sharing.values():
        waiting[min(proven)[1]].doubt = None


def _answer(examination: ParquetExamination, item: StoredChunk) -> _Answer:
    look = examination.look(item)
    found = [finding for view in look.views for finding in check_view(view)]
    right = [view.membership for view in look.views if view.membership and view.is_right]
    return _Answer(
        [finding for finding in (*look.findings, *found) if concerns_repair(finding)],
        right[0].foreign_bits if right else None,
    )


# ------------------------------------------------------------------------------------------------
# What follows


def _settle(file: ParquetContainer, filters: Sequence[BrokenFilter]) -> None:
    """What is still in doubt goes now. What shares bytes with a filter that is not among `filters`
    is of no use: no length is set for it, and one that is right needs another place."""
    for each in filters:
        if each.doubt is not None:
            each.add(each.doubt, "drop")
    places = {each.key: each.new_place for each in filters if each.fatal or each.length}
    footer = file.footer.edited(places)
    for each in filters:
        if each.stored is None or each.fatal:
            continue
        if each.length:
            if problem := _still_unusable(file, footer, each):
                each.add(problem, "drop")
        elif footer.layout.overlaps_filters(each.stored.offset, each.stored.end):
            message = "the filter of a column chunk that was not to be repaired shares bytes with this one"
            each.add(chunk_finding("PB106", each.chunk, message), "rebuild")


def _still_unusable(file: ParquetContainer, footer: Footer, each: BrokenFilter) -> Finding | None:
    """Why the filter cannot be used with the length that `footer` has now."""
    chunk = footer.chunk(each.chunk.row_group, each.chunk.leaf)
    try:
        bloom.read_usable_header(file.source, footer, chunk)
    except FilterError as error:
        return chunk_finding("PB106", chunk, without_place(error, file.path, chunk.where))
    return None
