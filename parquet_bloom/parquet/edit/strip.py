"""Remove filters from a Parquet file: always the pointers, and the bytes of those behind the data, with the
bytes of all that nothing points to any more. A file to which filters were appended is cut where it is as
it was, if it has such an end: then it is the old file, byte for byte.

    cut      | the file, up to an earlier end of it, whose filters are all that stay |
    end kept | the file, up to its first end that has none of them | filters that stay | footer |
    bare     | pages, page indexes, bytes of others                | filters that stay | footer |

An end stays only if it has none of the filters that go, and no unused ones: who cuts the file there must not
find them again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field, replace

from parquet_bloom.container import LeftChunk, RemovedFilters, StripChange, number_of
from parquet_bloom.container.room import TO_CHANGE
from parquet_bloom.dataclass import dataclass
from parquet_bloom.native import _kernel
from parquet_bloom.options import Selection
from parquet_bloom.parallel import check_fits
from parquet_bloom.parquet.edit.change import FieldsChange, check_rewritable
from parquet_bloom.parquet.edit.ends import hides_filters
from parquet_bloom.parquet.edit.lost_bytes import check_nothing_is_lost
from parquet_bloom.parquet.edit.unused import (
    Known,
    by_footer,
    by_header,
    known_behind_data,
    pointers,
    unused_in_data,
)
from parquet_bloom.parquet.filters.plaintext import leaks
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import NO_POINTER
from parquet_bloom.parquet.footer.layout import Range, without
from parquet_bloom.parquet.footer.moved import Cuts, Moves
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.pages import located
from parquet_bloom.parquet.sealed.opened_chunks import Fields
from parquet_bloom.storage.change import Version


@dataclass(frozen=True, slots=True)
class Rest:
    """What stays once `cuts` are made, the filters among it that are `unused` then, and how many bytes behind the
    data are `unknown`. `is_cut`: it is the file up to an earlier end."""

    cuts: Cuts
    unused: tuple[Range, ...] = ()
    unknown: int = 0
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Gone:
    """The filters to remove: those of the `pointing` chunks, and the `more` ranges of filters to which a note
    leads. `staying`: those to which notes lead that stay, None if that is uncertain."""

    pointing: Mapping[ChunkKey, ColumnChunk]
    more: Collection[Range] = ()
    staying: Collection[Range] | None = ()


def rest_without(file: OpenFile, selection: Selection, gone: Gone, has_edits: bool) -> Rest:
    """What stays without filters of a selection. `has_edits`: the footer changes in more than pointers, so
    that no earlier end says the same. Raises OSError."""
    known = known_behind_data(file, (*gone.more, *(gone.staying or ())))
    stale = _stale_ends(file, selection, known)
    rest = _end_kept(file, stale, gone.pointing, known) if not has_edits else None
    # What is cut off with all that follows an end need not be read.
    end = rest.cuts.prefix if rest is not None and rest.is_cut else file.footer.start
    before = {
        key: chunk for key, chunk in gone.pointing.items() if (chunk.bloom_filter_offset or 0) < end
    }
    certain = by_header(file, before)
    if len(certain) < len(before):
        check_nothing_is_lost(file)
        certain |= by_footer(file, before, known)
    removed = {*certain.values(), *gone.more}
    if rest is None:
        unchanged = not (gone.pointing or has_edits or known.unused or stale)
        cuts = Cuts(file.footer.start) if unchanged else _bare(file, gone, known, certain)
        rest = Rest(cuts)
    noted = {start for start, _ in gone.more}
    claimed = {
        (start, end)
        for start, end in _claimed(file, before.keys() - certain.keys())
        if start not in noted
    }
    unused = {*removed, *claimed, *known.unused}
    if gone.staying is not None:
        unused |= set(unused_in_data(file)) - set(gone.staying)
    staying = [
        (start, stop) for start, stop in unused if stop <= end and not rest.cuts.covers(start, stop)
    ]
    unknown = _unknown_bytes(file, known, staying)
    return replace(rest, unused=tuple(sorted(staying)), unknown=unknown)


def cuts_without(file: OpenFile, gone: Gone) -> Cuts:
    """What goes of the bytes behind the data. Raises OSError."""
    known = known_behind_data(file, (*gone.more, *(gone.staying or ())))
    return _bare(file, gone, known, by_header(file, gone.pointing))


def _bare(file: OpenFile, gone: Gone, known: Known, certain: Mapping[ChunkKey, Range]) -> Cuts:
    """All that is known goes but the filters that stay; nothing where bytes may be of a filter whose place is
    uncertain."""
    if gone.staying is None:
        return Cuts(file.footer.start)
    uncertain = [
        place[1]
        for key, place in known.used.items()
        if key in gone.pointing and key not in certain and place not in gone.more
    ]
    kept = [place for key, place in known.used.items() if key not in gone.pointing]
    kept += [place for place in gone.staying if place not in gone.more]
    return Cuts.behind(max(known.start, *uncertain, 0), file.footer.start, kept)


def _stale_ends(file: OpenFile, selection: Selection, known: Known) -> Collection[OpenFile]:
    """The earlier ends that have filters of the selection, whether or not the file still has these."""
    selected = _selected(file, selection)
    return [end for end in known.ends if any(key in selected for key, *_ in pointers(end))]


def _end_kept(
    file: OpenFile,
    stale: Collection[OpenFile],
    gone: Mapping[ChunkKey, ColumnChunk],
    known: Known,
) -> Rest | None:
    """The file with the earlier end that is to stay, the first that can; None if none can."""
    staying = {key: found for key, *found in pointers(file) if key not in gone}
    if not (gone or known.unused or stale):
        return None
    clean = [
        end
        for end in known.ends
        if end not in stale
        and all(staying.get(key) == found for key, *found in pointers(end))
        and not known_behind_data(end).unused
    ]
    same = [end for end in clean if len(list(pointers(end))) == len(staying)]
    if same:
        size = same[-1].source.size
        return Rest(Cuts(file.footer.start, ((size, file.footer.start),)), is_cut=True)
    if not clean or not known.used:
        return None
    behind = [place for key, place in known.used.items() if key in staying]
    return Rest(Cuts.behind(clean[-1].source.size, file.footer.start, behind))


def _selected(file: OpenFile, selection: Selection) -> Collection[ChunkKey]:
    columns, parts = file.select(selection.columns), file.select_parts(selection.parts)
    return {(part, column.index) for part in parts for column in columns}


def _unknown_bytes(file: OpenFile, known: Known, staying: Collection[Range]) -> int:
    """How many bytes behind the data are of no filter that is `staying` or that the footer knows; 0 where keys are
    missing, so that nobody can say."""
    if hides_filters(file) or known.start <= known.data_end:
        return 0
    whole = known.data_end, known.start
    told = [*file.footer.layout.filters.sharing(*whole), *staying]
    return sum(end - start for start, end in without(whole, told))


def _claimed(file: OpenFile, chunks: Collection[ChunkKey]) -> Iterator[Range]:
    """Where the footer says that the others are, if only filters can be there: their bytes stay."""
    for key, offset, length in pointers(file):
        end = offset + max(length, 0)
        if key in chunks and not file.footer.layout.overlaps_data(offset, end):
            yield offset, end


@dataclass(frozen=True, slots=True)
class LegacyRemoval:
    """Private legacy filters to remove: the `edits` of chunks that do, the `offsets` of each chunk's
    filters, the `ranges` of their bytes. `staying`: of those that a note leads to and that stay, None if
    that is uncertain; `moved` returns the edits of their notes."""

    edits: Mapping[ChunkKey, Fields] = field(default_factory=dict)
    offsets: Mapping[ChunkKey, tuple[int | None, ...]] = field(default_factory=dict)
    ranges: Collection[Range] = ()
    staying: Collection[Range] | None = ()
    moved: Callable[[Moves], Mapping[ChunkKey, Fields]] = lambda moves: {}


NO_LEGACY = LegacyRemoval()

# What the footer says of chunks that have filters, or may have.
_TELLING = ("bloom_filter_offset", "bloom_filter_length", "has_crypto_metadata")


class ParquetStrip(FieldsChange, StripChange):
    """No filters for the selected chunks. Without a selection of columns, those that are encrypted
    and have no key are left as they are."""

    def __init__(
        self, file: OpenFile, selection: Selection, legacy: LegacyRemoval = NO_LEGACY
    ) -> None:
        check_rewritable(file)
        chunks = {chunk.key: chunk for chunk in _with_filters(file, selection, legacy)}
        locked = [
            chunk for chunk in chunks.values() if selection.columns is None and chunk.is_locked
        ]
        left = {chunk.key for chunk in locked}
        pointing = {
            key: chunk for key, chunk in chunks.items() if key not in left and _may_point(chunk)
        }
        for chunk in pointing.values():
            with located(file.footer, chunk):
                chunk.modules.check_writable()
        edits: dict[ChunkKey, Fields] = dict.fromkeys(pointing, NO_POINTER)
        for key, edit in legacy.edits.items():
            edits[key] = {**edits.get(key, {}), **edit}
        gone = Gone(pointing, legacy.ranges, legacy.staying)
        rest = rest_without(file, selection, gone, has_edits=bool(legacy.edits))
        self._is_cut, self._legacy = rest.is_cut, legacy
        super().__init__(file, rest.cuts, edits)
        self.unused_filters = len(rest.unused)
        self.unused_bytes = sum(end - start for start, end in rest.unused)
        if rest.unknown and self.edits:
            bytes_ = number_of(rest.unknown, "byte")
            self.notes = (f"{bytes_} behind the data stay, as nothing says what is there",)
        if rest.unused and not locked:
            self.notes = (*self.notes, *_locked_beside(file))
        self.leaks = leaks(file, dict.fromkeys(pointing))
        self.removed = tuple(_removed(chunks, pointing, legacy))
        self.left = (
            *(LeftChunk(chunk.place, chunk.leaf.name, chunk.no_key) for chunk in locked),
            *(LeftChunk(chunk.place, chunk.leaf.name, why) for chunk, why in self.remaining()),
        )

    def compose(self, version: Version) -> None:
        if not self._is_cut:
            super().compose(version)

    def all_edits(self) -> dict[ChunkKey, Fields]:
        if self._is_cut:
            return self.edits
        found = super().all_edits()
        for key, edit in self._legacy.moved(self._cuts.moves).items():
            found[key] = {**found.get(key, {}), **edit}
        return found


def _with_filters(
    file: OpenFile, selection: Selection, legacy: LegacyRemoval
) -> Iterator[ColumnChunk]:
    """The chunks of the selection that may have filters. The others are not even decoded: a file can
    have very many."""
    columns, table = file.select(selection.columns), file.footer.chunks
    found: list[ChunkKey] = []
    for part in file.select_parts(selection.parts):
        offsets, lengths, encrypted = (table.part(field, part) for field in _TELLING)
        for index in (leaf.index for leaf in columns):
            points = {offsets[index], lengths[index]} != {_kernel.ABSENT}
            if points or encrypted[index] or (part, index) in legacy.offsets:
                found.append((part, index))
    chunks = number_of(len(found), "column chunk")
    check_fits(f"{file.path}: {chunks} with filters take", TO_CHANGE * len(found))
    return map(file.chunk_at, found)


def _locked_beside(file: OpenFile) -> Iterator[str]:
    """Whose filters nobody can see: in bytes to which nothing leads, some of these may be."""
    if not file.footer.has_locked_chunks:
        return
    parts = range(file.footer.num_row_groups)
    names = [
        leaf.name
        for leaf in file.footer.leaves
        if any(file.footer.chunk(part, leaf).is_locked for part in parts)
    ]
    first, *others = names
    whom = f"{first} and {number_of(len(others), 'other column')}" if others else first
    yield (
        f"what stays may be filters of {whom}, as there is no key for that: with all keys, strip"
        " removes what can go"
    )


def _may_point(chunk: ColumnChunk) -> bool:
    """Whether the footer mentions a filter, or its key would be needed to see that."""
    return (
        chunk.bloom_filter_offset is not None
        or chunk.bloom_filter_length is not None
        or chunk.is_locked
    )


def _removed(
    chunks: Mapping[ChunkKey, ColumnChunk], pointing: Collection[ChunkKey], legacy: LegacyRemoval
) -> Iterator[RemovedFilters]:
    """Each filter once, in file order."""
    for key, chunk in chunks.items():
        offsets, own = legacy.offsets.get(key, ()), chunk.bloom_filter_offset
        if key in pointing:
            offsets = (own, *(each for each in offsets if each is None or each != own))
        for offset in offsets:
            yield RemovedFilters(chunk.place, chunk.leaf.name, 1, offset)
