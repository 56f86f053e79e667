"""Change the filters of a Parquet file: new ones behind the data that is kept, and a new footer.

What build, repair and strip share for filters of every kind: which files may be changed, how much
of the old file is kept, and the proof that nothing but filters differs in the new one.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from itertools import count
from pathlib import Path

from xxhash import xxh3_64, xxh3_64_intdigest

from parquet_bloom.container import BuiltFilters, LeftChunk
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import (
    REPLACE,
    RewriteError,
    UnsupportedError,
)
from parquet_bloom.filters.sizing import MeasuredFilter
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parallel import Progress, of_all
from parquet_bloom.parquet.edit.ends import earlier_ends
from parquet_bloom.parquet.edit.kept import Kept
from parquet_bloom.parquet.edit.lost_bytes import check_not_behind_another, telling_what_is_lost
from parquet_bloom.parquet.edit.obstacles import check_described, check_fields
from parquet_bloom.parquet.edit.unused import pointers
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.plaintext import (
    Leak,
    Places,
    leaks,
)
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import (
    BLOOM_FILTER_LENGTH,
    BLOOM_FILTER_OFFSET,
    NO_POINTER,
    FilterPlace,
)
from parquet_bloom.parquet.footer.foreign_fields import extension_obstacle
from parquet_bloom.parquet.footer.layout import Range
from parquet_bloom.parquet.footer.moved import Cuts
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.pages import located
from parquet_bloom.parquet.sealed.modules import named
from parquet_bloom.parquet.sealed.opened_chunks import Fields
from parquet_bloom.storage import open_source
from parquet_bloom.storage.change import Change, Version
from parquet_bloom.storage.local_output import mode_like, output_to
from parquet_bloom.storage.source import Source


def material_copy(file: OpenFile, output: str, overwrite: bool) -> AbstractContextManager[None]:
    """A context in which the key material that `output`, another file, needs is beside it. Raises
    RewriteError at once if other material is there and `overwrite` is not set."""
    if not file.is_encrypted:
        return nullcontext()
    from parquet_bloom.encryption.key_material import material_path

    try:
        source = open_source(material_path(file.path))
    except FileNotFoundError:
        return nullcontext()
    with closing(source):
        data = source.read_at(0, source.size)
        mode = mode_like(source)
    path = Path(material_path(os.path.realpath(output)))
    before = _material_in(path)
    if before == data:
        return nullcontext()
    if before is not None and not overwrite:
        raise RewriteError(f"{path}: already exists, with other key material: {REPLACE}")
    return _material_placed(path, data, mode, before)


@contextmanager
def _material_placed(path: Path, data: bytes, mode: int, before: bytes | None) -> Iterator[None]:
    """Put `data` at `path`, where `before` is now (None: nothing), and restore that if the context
    fails. Raises RewriteError if another file appeared there meanwhile."""
    _write_material(path, data, mode, before is not None)
    try:
        yield
    except BaseException:
        # Unless somebody else has replaced it.
        if _material_in(path) == data:
            if before is None:
                path.unlink()
            else:
                _write_material(path, before, mode, True)
        raise


def _material_in(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write_material(path: Path, data: bytes, mode: int, overwrite: bool) -> None:
    with output_to(str(path), overwrite, mode, 0) as written:
        written.append(data)
        written.flush()
        written.commit()


# How much of a bitset is read at once to be compared.
VERIFY_BYTES = 4 << 20


def check_rewritable(file: OpenFile) -> None:
    """Raise MissingKeyError for a signed footer that cannot be signed again, UnsupportedError for one
    with an extension, of which nobody could say whether it is still true, FooterError for one that is damaged,
    or that has lost what it said of a chunk, PageError for a file behind another."""
    check_fields(file)
    check_described(file)
    check_not_behind_another(file)
    if obstacle := extension_obstacle(file.footer):
        raise UnsupportedError(f"{file.path}: {obstacle}")
    with named(file.path):
        file.footer.protection.check_writable()


class ParquetChange(Change):
    """A change of `file`. `leaks`: the plaintext filters that it removes."""

    leaks: Sequence[Leak] = ()

    def __init__(self, file: OpenFile) -> None:
        self.file = file
        # The length and the XXH3 of what was written as the end of the new version.
        self._tail = 0, 0

    def append_tail(self, version: Version, tail: bytes) -> None:
        """Write the footer and what follows it."""
        self._tail = len(tail), xxh3_64_intdigest(tail)
        version.append(tail)

    def beside(self, output: str, overwrite: bool) -> AbstractContextManager[object]:
        """The key material of an encrypted file; one that is changed in place keeps its own."""
        return material_copy(self.file, output, overwrite)

    def erased(self) -> Iterator[Range]:
        for leak in self.leaks:
            yield from leak.erasable

    def remaining(self) -> list[tuple[ColumnChunk, str]]:
        """The chunks of `leaks` of which something can still be read, and what."""
        return [(leak.chunk, leak.remains) for leak in self.leaks if leak.remains]

    def verify(self, written: Source) -> None:
        new = OpenFile(written, self.file.keys)
        if new.footer.protection.fixed != self.file.footer.protection.fixed:
            raise RewriteError("the footer is not encrypted as it was")
        self.check(new)
        length, digest = self._tail
        if length and range_digest(written, written.size - length, written.size) != digest:
            raise RewriteError("the footer differs from what was written")

    @abstractmethod
    def check(self, new: OpenFile) -> None:
        """Raise RewriteError unless `new` is the old file but for this change."""


# A chunk with its filter, or with why it gets none.
Built = tuple[ColumnChunk, SplitBlockBloomFilter | str]


@dataclass(frozen=True, slots=True)
class NewFilters:
    """Filters to write: `built` yields those of `chunks` in turn, and `reason_against` says why one
    is not worth writing ("" if it is). `is_shown`: a plaintext footer shows where the filters of
    encrypted columns are."""

    chunks: Sequence[ColumnChunk]
    built: Callable[[Sequence[ColumnChunk]], Generator[Built]]
    reason_against: Callable[[ColumnChunk, MeasuredFilter], str]
    is_shown: bool = False
    progress: Progress | None = None


class FilterChange(ParquetChange):
    """New filters behind the data that is kept, and a footer that points to them.

    Once composed, `filters` and `skipped` say what became of the new filters, and `appended` where
    they are; `places` has every chunk whose filter changes, None if it has none any more.
    """

    def __init__(
        self,
        file: OpenFile,
        kept: Kept,
        places: Places,
        new: NewFilters,
        digests: Mapping[ChunkKey, int] | None = None,
    ) -> None:
        """`places`: of existing filters that stay, with `digests` of their bits; None to remove."""
        super().__init__(file)
        self.prefix = kept.prefix
        self._ends = kept.ends
        # Those that stay, and are moved: of the old file, where they are.
        self._moved = dict(kept.moved)
        self.places = dict(places)
        self.appended: dict[ChunkKey, FilterPlace] = {}
        self.filters: list[BuiltFilters] = []
        self.skipped: list[LeftChunk] = []
        self._new = new
        self._ahead = new.chunks
        self._digests = dict(digests or {})

    @property
    def is_idle(self) -> bool:
        return self.places.keys() <= self._moved.keys() and not self._ahead

    def compose(self, version: Version) -> None:
        for key, (start, end) in self._moved.items():
            self._move(key, start, end, version)
        built = self._new.built(self._new.chunks)
        with telling_what_is_lost(self.file), closing(built):
            self._append_all(built, version)
        self._ahead = ()
        # Before the old file is replaced: an object behind a URL cannot be read any more after it.
        gone = {key: self.places[key] for key in self.places.keys() - self._moved.keys()}
        self.leaks = leaks(self.file, gone)
        if self.places or version.size != self.file.source.size:
            self.append_tail(version, self.file.footer.tail(self.places))

    def _append_all(self, built: Iterable[Built], version: Version) -> None:
        progress = of_all(self._new.progress, self._new.chunks)
        done = count(1)
        for chunk, filter in built:
            reason = filter if isinstance(filter, str) else self._new.reason_against(chunk, filter)
            if isinstance(filter, str) or reason:
                if stays := self._keep(chunk, filter, version):
                    reason += f"; {stays}"
                self.skipped.append(LeftChunk(chunk.place, chunk.leaf.name, reason))
            else:
                with located(self.file.footer, chunk):
                    self._append(chunk, filter, version)
            # Free up to 128 MiB before the next one is built.
            del filter
            progress(next(done))

    def _keep(
        self, chunk: ColumnChunk, filter: SplitBlockBloomFilter | str, version: Version
    ) -> str:
        """What is said of the filter that a chunk has, if it stays, as the new one is not worth writing, or there is
        none, for the reason that `filter` is then; empty if it goes."""
        return ""

    def _stay(self, stored: bloom.StoredFilter, version: Version) -> None:
        """Keep a filter that was to be removed."""
        key = stored.chunk.key
        if stored.end <= self.prefix:
            del self.places[key]
            return
        self._moved[key] = stored.offset, stored.end
        self._move(key, stored.offset, stored.end, version)

    def _move(self, key: ChunkKey, start: int, end: int, version: Version) -> None:
        is_shown = BLOOM_FILTER_OFFSET in self.file.footer.shown_fields(*key)
        self.places[key] = FilterPlace(version.size, end - start, is_shown)
        version.append_from(self.file.source, start, end)

    def _append(self, chunk: ColumnChunk, filter: SplitBlockBloomFilter, version: Version) -> None:
        plain_header = bloom.encode_header(filter.num_bytes)
        header, bitset = chunk.modules.seal_filter(plain_header, filter.bitset)
        offset = version.append(header)
        version.append(bitset)
        length = len(header) + len(bitset)
        key, place = chunk.key, FilterPlace(offset, length, self._new.is_shown)
        self.appended[key] = self.places[key] = place
        self._digests[key] = xxh3_64_intdigest(filter.bitset)
        self.filters.append(built_filter(chunk, filter, offset, length))

    def erased(self) -> Iterator[Range]:
        for start, end in super().erased():
            if self._ends == "all":
                raise RewriteError(
                    f"{self.file.path}: bytes {start} to {end - 1} are a plaintext filter of an encrypted"
                    " column that would have to be overwritten, but earlier versions still use it"
                )
            yield start, end

    def check(self, new: OpenFile) -> None:
        old = self.file
        if new.footer.without_filters(self.places) != old.footer.without_filters(self.places):
            raise RewriteError("the footer differs in more than the filters")
        # In an object store, what stays of the new version is read from the old one, too.
        old.source.will_read(self._moved.values())
        for key, whole in self._moved.items():
            self._check_moved(new, key, whole)
        there = {key: self.places[key] for key in self.places.keys() - self._moved.keys()}
        new.source.will_read(
            (place.offset, place.offset + place.length)
            for place in there.values()
            if place is not None
        )
        for key, place in there.items():
            chunk = new.chunk_at(key)
            stored = bloom.read_usable_header(new.source, new.footer, chunk)
            found = None if stored is None else _place(chunk, stored)
            if found != place:
                raise RewriteError(f"{chunk.where}: filter at {found}, expected {place}")
            if stored is not None and bitset_digest(new, stored) != self._digests[chunk.key]:
                raise RewriteError(f"{chunk.where}: the bitset differs from what was built")
        if self._ends != "none" and not self._was_there(new):
            raise RewriteError(f"cut at {self.prefix}, it is not as it was")

    def _was_there(self, new: OpenFile) -> bool:
        """Whether `new`, cut at the prefix, is as the file was."""
        old = self.file
        if self.prefix == old.source.size and not old.is_encrypted:
            # What all of it was kept for: the same bytes at the same place are the same footer.
            footer = old.footer.protection.tail(old.footer.raw)
            start = self.prefix - len(footer)
            if new.source.read_at(start, len(footer)) == footer:
                return True
        return self.prefix in (end.source.size for end in (new, *earlier_ends(new)))

    def _check_moved(self, new: OpenFile, key: ChunkKey, whole: Range) -> None:
        chunk, place = new.chunk_at(key), self.places[key]
        offset, length = chunk.bloom_filter_offset, chunk.bloom_filter_length
        if place is None or (offset, length) != (place.offset, place.length):
            raise RewriteError(f"{chunk.where}: filter at {offset}, expected {place}")
        moved = place.offset, place.offset + place.length
        if range_digest(new.source, *moved) != range_digest(self.file.source, *whole):
            raise RewriteError(f"{chunk.where}: the filter was not copied as it was")


class FieldsChange(ParquetChange):
    """New fields in the ColumnMetaData of chunks, and filters that move up where `cuts` takes something
    away in front of them."""

    def __init__(
        self, file: OpenFile, cuts: Cuts, edits: Mapping[ChunkKey, Fields] | None = None
    ) -> None:
        super().__init__(file)
        self.prefix = cuts.prefix
        self._cuts = cuts
        self.edits = dict(edits or {})

    @property
    def is_idle(self) -> bool:
        return not self.edits and not self._cuts.ranges

    def compose(self, version: Version) -> None:
        for start, end in self._cuts.moved:
            version.append_from(self.file.source, start, end)
        raw = self.footer()
        with named(self.file.path):
            self.append_tail(version, self.file.footer.protection.tail(raw))

    def footer(self) -> bytes:
        """The new FileMetaData."""
        return self.file.footer.with_fields(self.all_edits())

    def all_edits(self) -> dict[ChunkKey, Fields]:
        """The `edits`, and the new places of filters that move."""
        moves, found = self._cuts.moves, dict(self.edits)
        for key, offset, _ in pointers(self.file) if moves.places else ():
            is_kept = BLOOM_FILTER_OFFSET not in found.get(key, {})
            if is_kept and (new := moves(offset)) != offset:
                place = {BLOOM_FILTER_OFFSET: (compact.TYPE_I64, compact.zigzag(new))}
                found[key] = {**found.get(key, {}), **place}
        return found

    def check(self, new: OpenFile) -> None:
        old, edits = self.file, self.all_edits()

        def before(key: ChunkKey) -> Fields:
            fields = old.footer.fields(old.chunk_at(key), edits[key])
            # A redacted copy does not take the pointers back.
            return {**fields, **{number: None for number in NO_POINTER if number in edits[key]}}

        was, now = (each.footer.with_opened_fields(edits, before) for each in (old, new))
        if now != was:
            raise RewriteError("the footer differs in more than the filters")
        for key, edit in edits.items():
            chunk = new.chunk_at(key)
            # What another writer keeps there has stayed.
            applied = {number: edit[number] for number in edit if number != chunk.foreign_pointer}
            if new.footer.fields(chunk, applied) != applied:
                raise RewriteError(f"{chunk.where}: the footer differs from what was written")
        moves = self._cuts.moves
        for start, end in self._cuts.moved:
            moved = range_digest(new.source, moves(start), moves(start) + end - start)
            if moved != range_digest(old.source, start, end):
                raise RewriteError(f"the filters at {start} were not copied as they were")


def _place(chunk: ColumnChunk, stored: bloom.StoredFilter) -> FilterPlace:
    """Where the filter is, by the footer; by its header where another writer has the length's field."""
    if chunk.foreign_pointer == BLOOM_FILTER_LENGTH:
        return FilterPlace(stored.offset, stored.end - stored.offset)
    return FilterPlace(stored.offset, stored.length or 0)


def built_filter(
    chunk: ColumnChunk, filter: MeasuredFilter, offset: int | None, length: int
) -> BuiltFilters:
    """Report a filter; its header and bitset take `length` bytes."""
    return BuiltFilters(
        place=chunk.place,
        column=chunk.leaf.name,
        num_values=chunk.num_values or 0,
        num_filters=1,
        num_bytes=filter.num_bytes,
        fpp=filter.fpp,
        offset=offset,
        length=length,
    )


def range_digest(source: Source, start: int, end: int) -> int:
    """The XXH3 of the bytes [start, end), read piece by piece."""
    digest = xxh3_64()
    for at in range(start, end, VERIFY_BYTES):
        digest.update(source.read_at(at, min(VERIFY_BYTES, end - at)))
    return digest.intdigest()


def bitset_digest(file: OpenFile, stored: bloom.StoredFilter) -> int:
    """The XXH3 of a bitset, read piece by piece."""
    digest = xxh3_64()
    read = bloom.bits(file.source, stored)
    for start in range(0, stored.num_bytes, VERIFY_BYTES):
        digest.update(read(start, min(VERIFY_BYTES, stored.num_bytes - start)))
    return digest.intdigest()
