"""What `repair` can do about the filters of a Parquet file, with a new footer alone or new filters.

    headers   filters that no reader can use are dropped
    places    filters that share bytes with anything else are dropped; if several column chunks
              point to one filter, only the values tell whose it is
    lengths   are set to what header and bitset take; if bloom_filter_length may be right and the
              header wrong, only the values tell
    bits      filters without a set bit are dropped, unless the footer or the pages say that all values are null
    values    if they are looked up, filters with false negatives are dropped, unless something is wrong with the
              pages of these

Whether filters share bytes is judged by their headers, since the lengths in the footer may be what is
wrong.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FilterError, TamperedError, without_place
from parquet_bloom.legacy.chunk_filters import headers_at
from parquet_bloom.native import _kernel
from parquet_bloom.options import RepairOptions, ValidateOptions
from parquet_bloom.parallel import Progress, of_all, work_in_order
from parquet_bloom.parquet.edit.change import check_rewritable
from parquet_bloom.parquet.edit.lost_bytes import check_nothing_is_lost
from parquet_bloom.parquet.edit.obstacles import check_pages
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.clear import is_clear_from
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import FilterPlace, Footer
from parquet_bloom.parquet.pages.chunk_values import holds_only_nulls
from parquet_bloom.rules import legacy, portability, security, structure_parquet
from parquet_bloom.rules.damage import MAY_HAVE_CHANGED, LikeDamage, where_missing
from parquet_bloom.rules.examine import check_view
from parquet_bloom.rules.examine_parquet import ChunkFilter, ParquetExamination
from parquet_bloom.rules.finding import NOT_CHECKED, Finding, chunk_finding
from parquet_bloom.rules.repair_plan import BrokenFilters, Diagnosed, count_useless
from parquet_bloom.rules.view import ItemView
from parquet_bloom.vocabulary import NO_KEY


@dataclass(slots=True)
class BrokenFilter(BrokenFilters):
    """`stored` is None without a usable header. `doubt`: why the filter is dropped unless the values
    prove it right."""

    chunk: ColumnChunk
    stored: bloom.StoredFilter | None = None
    doubt: Finding | None = None


def diagnose(
    file: ParquetContainer, options: RepairOptions, progress: Progress | None
) -> Diagnosed:
    """See files.FileFormat.diagnose."""
    check_rewritable(file)
    file.footer.check_row_counts()
    check_pages(file)
    wanted = {chunk.key for chunk in file.selected(options)}
    file.will_read_filters(options.parts, file.select(options.columns))
    filters = _without_values(file, wanted)
    problems = [finding for each in filters for finding, _ in each.problems]
    if any(map(structure_parquet.has_no_filter, problems)):
        check_nothing_is_lost(file)
    useless = 0
    if options.reads_values:
        useless = _look_up(file, filters, options.threads, progress)
    _settle(file, filters)
    locked = [(each, "") for each in _locked(file, wanted)]
    return Diagnosed(filters, locked, "pointer dropped", "PB116", useless)


def _locked(file: ParquetContainer, wanted: Collection[ChunkKey]) -> Iterator[Finding]:
    """Why the encrypted chunks without a key, among those `wanted`, are left as they are."""
    for row_group, column in sorted(wanted):
        chunk = file.footer.chunk(row_group, file.footer.leaves[column])
        if chunk.is_locked:
            stored, _ = structure_parquet.read_header(file, chunk, deep=False)
            if stored is not None and stored.is_leaked:
                message = f"{NO_KEY}, and the filter is in plaintext"
                yield chunk_finding("PB501", chunk, message)
            else:
                yield chunk_finding(NOT_CHECKED, chunk, chunk.no_key)


# ------------------------------------------------------------------------------------------------
# Without the values


def _without_values(file: ParquetContainer, wanted: Collection[ChunkKey]) -> list[BrokenFilter]:
    """The filters of the chunks `wanted` in file order, as far as can be told without values,
    including lengths of no filter."""
    filters = [_with_header(file, chunk) for chunk in _pointing(file) if _is_ours(chunk)]
    headers = sorted(
        ((each.stored, each) for each in filters if each.stored), key=lambda pair: pair[0].offset
    )
    offsets = [stored.offset for stored, _ in headers]
    sound = [(stored, each) for stored, each in headers if not each.fatal]
    _examine_places(sound, offsets)
    clear: dict[int, bool] = {}
    for stored, each in sound:
        if each.chunk.key in wanted and not each.fatal:
            # An encrypted one opens only for the chunk whose it is.
            _examine_bits(file, stored, each, {} if stored.is_encrypted else clear)
        if each.length and not each.doubt and _length_may_be_right(file, stored, offsets):
            message = (
                "header and bloom_filter_length differ, and only the values can tell which is right"
            )
            each.doubt = replace(each.length, message=message)
    for chunk, finding in structure_parquet.lengths_without_offset(file):
        if _is_ours(chunk):
            filters.append(BrokenFilter(chunk, had_filters=False))
            filters[-1].add(finding)
    found = [each for each in filters if each.chunk.key in wanted]
    return sorted(found, key=lambda each: each.chunk.key)


def _pointing(file: ParquetContainer) -> Iterator[ColumnChunk]:
    """The chunks for which the footer points to a filter."""
    footer = file.footer
    for index, offset in enumerate(footer.chunks.every("bloom_filter_offset")):
        if offset != _kernel.ABSENT:
            row_group, column = divmod(index, len(footer.leaves))
            yield footer.chunk(row_group, footer.leaves[column])


def _is_ours(chunk: ColumnChunk) -> bool:
    """Chunks in another file, and encrypted ones without a key, are not ours to repair."""
    return not chunk.has_file_path and not chunk.is_locked


def _with_header(file: ParquetContainer, chunk: ColumnChunk) -> BrokenFilter:
    # Some writers wrote an offset of 0 where there was no filter (PARQUET-1979).
    broken = BrokenFilter(chunk, had_filters=bool(chunk.bloom_filter_offset))
    for each in _header_findings(file, broken):
        if each.definition.concerns_repair:
            broken.add(each)
    return broken


def _header_findings(file: ParquetContainer, broken: BrokenFilter) -> Iterator[Finding]:
    chunk = broken.chunk
    if headers_at(file, chunk):
        yield legacy.published(file, chunk)
        return
    broken.stored, problems = structure_parquet.read_header(file, chunk, deep=False)
    yield from problems
    if broken.stored is not None:
        yield from structure_parquet.check_header(file, chunk, broken.stored)
        yield from portability.check_header(chunk, broken.stored)
        if broken.stored.is_leaked:
            yield security.plaintext(chunk, broken.stored.offset)


def _examine_places(
    sound: Sequence[tuple[bloom.StoredFilter, BrokenFilter]], offsets: Sequence[int]
) -> None:
    """`sound`: filters by offset; `offsets`: of all headers, sorted.

    A sound header among the bits of a filter has overwritten some of them. What merely looks like a
    header may be among bits by chance.
    """
    of_sound = [stored.offset for stored, _ in sound]
    for stored, each in sound:
        sharing = bisect_right(offsets, stored.offset) - bisect_left(offsets, stored.offset)
        inside = _first_inside(of_sound, stored)
        unusable = _first_inside(offsets, stored)
        if inside is not None:
            message = "the filter of another column chunk begins inside this one"
            found = f"bytes {stored.offset} to {stored.end - 1} and {inside}"
            each.add(chunk_finding("PB106", each.chunk, message, found=found))
        elif unusable is not None:
            message = (
                "another column chunk points inside this filter, to what may be a header, and only"
                " the values can tell whether this one is whole"
            )
            found = f"bytes {stored.offset} to {stored.end - 1} and {unusable}"
            each.doubt = chunk_finding("PB106", each.chunk, message, found=found)
        elif sharing > 1:
            pointing = f"{sharing} column chunks point to this filter"
            message = f"{pointing}, and only the values can tell whose it is"
            each.doubt = chunk_finding("PB107", each.chunk, message, found=stored.offset)


def _first_inside(offsets: Sequence[int], stored: bloom.StoredFilter) -> int | None:
    """The first of `offsets`, which are sorted, after the filter's own and within it."""
    behind = bisect_right(offsets, stored.offset)
    return offsets[behind] if behind < len(offsets) and offsets[behind] < stored.end else None


def _length_may_be_right(
    file: ParquetContainer, stored: bloom.StoredFilter, offsets: Sequence[int]
) -> bool:
    """Whether the footer's length, which differs from the header's, fits whole blocks in a place of
    their own, so that the header may be wrong. `offsets`: of all headers, sorted."""
    end = stored.offset + (stored.length or 0)
    is_alone = bisect_right(offsets, stored.offset) == bisect_left(offsets, end)
    return is_alone and structure_parquet.fits_by_length(file, stored)


def _examine_bits(
    file: ParquetContainer, stored: bloom.StoredFilter, each: BrokenFilter, clear: dict[int, bool]
) -> None:
    """Whether any bit is set, if there may be values. `clear`: what is known of the filters to which
    other chunks point, by their offset."""
    try:
        read = bloom.bits(file.source, stored)
        if not each.chunk.may_have_values:
            return
        if stored.offset not in clear:
            clear[stored.offset] = is_clear_from(read, 0, stored.num_bytes)
        if clear[stored.offset] and not holds_only_nulls(file.source, file.footer, each.chunk):
            message = "no bit is set: every value seems absent"
            each.doubt = chunk_finding("PB402", each.chunk, message)
    except TamperedError as error:
        each.add(structure_parquet.does_not_open(file, each.chunk, error))


# ------------------------------------------------------------------------------------------------
# With the values


class _Asked(NamedTuple):
    """What is `wrong` with the filter of a chunk; if it is right, how many bits the values do not explain; of one
    that lacks values, what is said of their pages, and whether it does as if these had changed; whether it is
    `useless`, if nothing is wrong; and its FPP, if its bits can be read."""

    wrong: list[Finding]
    foreign_bits: int | None
    pages: _Pages | None
    is_like_damage: bool
    useless: int
    fpp: float | None


class _Pages(NamedTuple):
    """The first that is wrong with the pages of a chunk, and what they leave open of its filter."""

    damage: Finding | None
    doubt: str


def _asked(
    file: ParquetContainer, chunk: ColumnChunk, seen: ItemView, is_like_damage: LikeDamage
) -> _Asked:
    found = [*seen.findings, *(finding for view in seen.views for finding in check_view(view))]
    right = [view.membership for view in seen.views if view.membership and view.is_right]
    wrong = [finding for finding in found if finding.definition.concerns_repair]
    return _Asked(
        wrong,
        right[0].foreign_bits if right else None,
        _pages(file, chunk) if any(each.rows for each in wrong) else None,
        any(map(is_like_damage, wrong)),
        0 if wrong else count_useless(found),
        next((view.bits.fpp for view in seen.views), None),
    )


def _look_up(
    file: ParquetContainer,
    filters: Sequence[BrokenFilter],
    threads: int | None,
    progress: Progress | None,
) -> int:
    """Look up the values of every filter that may be right, and return how many are useless.
    Two BOOLEANs say nothing."""
    examination = ParquetExamination(file, ValidateOptions())
    waiting = {
        each.chunk.key: each
        for each in filters
        if each.stored and not each.fatal and each.chunk.leaf.type.physical != "BOOLEAN"
    }
    items = examination.grouped(
        ChunkFilter(each.chunk, each.stored) for each in waiting.values() if each.stored
    )

    is_like_damage = LikeDamage(file)

    def ask(item: list[ChunkFilter]) -> list[_Asked]:
        return [
            _asked(file, each.chunk, seen, is_like_damage)
            for each, seen in examination.chunk_views(item)
        ]

    sharing: defaultdict[int, list[tuple[int, ChunkKey]]] = defaultdict(list)
    report = of_all(progress, waiting)
    done, useless = count(1), 0
    with closing(work_in_order(items, ask, examination.room, threads)) as answers:
        for item, found in answers:
            for each, asked in zip(item, found, strict=True):
                _note(waiting[each.chunk.key], asked)
                useless += asked.useless
                if asked.foreign_bits is not None:
                    sharing[each.stored.offset].append((asked.foreign_bits, each.chunk.key))
                report(next(done))
    # If the values of several chunks are all found, the filter is that of the one that explains the
    # most bits.
    for proven in sharing.values():
        right = waiting[min(proven)[1]]
        right.doubt = None
        for finding, _ in right.problems:
            structure_parquet.settle_length(finding)
    return useless


def _pages(file: ParquetContainer, chunk: ColumnChunk) -> _Pages:
    # It needs numpy, and there are hardly any.
    from parquet_bloom.rules.pages_parquet import check_pages, unread_finding

    checked = check_pages(file, chunk)
    damage = next(iter(checked.findings), None)
    if checked.unread is not None:
        damage = unread_finding(file, chunk, checked.unread)
    if damage is not None:
        return _Pages(
            damage, f"{MAY_HAVE_CHANGED}: {damage.definition.heading}: {damage.statement}"
        )
    return _Pages(None, checked.doubt)


def _note(filter: BrokenFilter, asked: _Asked) -> None:
    """A filter that lacks values of pages with which something is wrong may be right,
    and the only trace of theirs."""
    filter.fpp = asked.fpp
    for finding in asked.wrong:
        if asked.pages is None or finding.rows is None:
            filter.add(finding)
        elif asked.pages.damage is not None and asked.is_like_damage:
            filter.only_trace = finding, asked.pages.damage
        else:
            filter.add(finding)
            if asked.pages.doubt:
                filter.doubt_about_values = f"{where_missing(finding)}: {asked.pages.doubt}"


# ------------------------------------------------------------------------------------------------
# With all that is known


def _settle(file: ParquetContainer, filters: Sequence[BrokenFilter]) -> None:
    """Drop what is still in doubt. A filter that shares bytes with one that is not among `filters`
    gets no length, and needs another place even if it is right."""
    for each in filters:
        if each.doubt is not None:
            each.add(each.doubt, "drop")
    places = {
        each.chunk.key: FilterPlace(each.stored.offset, each.stored.end - each.stored.offset)
        if each.stored and not each.fatal
        else None
        for each in filters
        if each.fatal or each.length
    }
    old = file.footer
    footer = Footer(old.with_filters(places), old.start, old.where, old.protection)
    for each in filters:
        if each.stored is None or each.fatal:
            continue
        if each.length:
            if problem := _still_unusable(file, footer, each):
                each.add(problem, "drop")
        elif footer.layout.filters.overlap_another(each.stored.offset, each.stored.end):
            message = "it shares bytes with the filter of a column chunk that is not being repaired"
            each.add(chunk_finding("PB106", each.chunk, message), "rebuild")


def _still_unusable(file: ParquetContainer, footer: Footer, each: BrokenFilter) -> Finding | None:
    """Why the filter cannot be used with the length that `footer` has now."""
    chunk = footer.chunk(each.chunk.row_group, each.chunk.leaf)
    try:
        bloom.read_usable_header(file.source, footer, chunk)
    except FilterError as error:
        return chunk_finding("PB106", chunk, without_place(error, file.path, chunk.where))
    return None
