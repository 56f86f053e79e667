"""What changes in a Parquet file: filters behind the data that stays, and a footer that tells of them.

What build, repair and strip share, for filters of every kind: which files may be changed, how much
of the old file stays, and the proof that the new one is the old one but for its filters.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import (
    Callable,
    Collection,
    Container,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from itertools import count
from operator import itemgetter
from pathlib import Path

from xxhash import xxh3_64, xxh3_64_intdigest

from parquet_bloom.container import BuiltFilters, LeftChunk
from parquet_bloom.errors import (
    EncryptionError,
    FilterError,
    FooterError,
    RewriteError,
    UnsupportedError,
)
from parquet_bloom.filters.sizing import MeasuredFilter
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.parallel import Progress, of_all
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import NO_POINTER, FilterPlace
from parquet_bloom.parquet.footer.layout import Range
from parquet_bloom.parquet.pages.pages import located
from parquet_bloom.parquet.plaintext_filters import Leak, leaks
from parquet_bloom.parquet.sealed.material_copy import material_copy
from parquet_bloom.parquet.sealed.modules import named
from parquet_bloom.parquet.sealed.opened_chunks import Fields
from parquet_bloom.storage.new_version import Change, Version
from parquet_bloom.storage.source import Source

# How much of a bitset is read at once to be compared.
VERIFY_BYTES = 4 << 20

Places = Mapping[ChunkKey, FilterPlace | None]


def check_rewritable(file: ParquetFile) -> None:
    """Raise MissingKeyError for a signed footer that cannot be signed again."""
    with named(file.path):
        file.footer.protection.check_writable()


def check_unencrypted(file: ParquetFile) -> None:
    """Raise UnsupportedError for an encrypted file: bits in its footer would tell what is stored."""
    is_encrypted = any(file.footer.chunks.every("has_crypto_metadata"))
    if file.is_encrypted or is_encrypted:
        raise UnsupportedError(
            f"{file.path}: is encrypted: expected a plain file for filters of a legacy dialect"
        )


def check_pages(file: ParquetFile) -> None:
    """Raise FooterError if pages are said to lie behind the data: then no place is certain."""
    if file.footer.layout.pages_reach_past_the_end:
        raise FooterError(
            f"{file.path}: footer: pages reach past {file.footer.start}, where the data ends"
        )


def check_end(file: ParquetFile, replaced: Iterable[ChunkKey]) -> None:
    """Raise FooterError if something would take what is written behind the data for its own.

    `replaced` are the chunks whose filters are about to go.
    """
    check_pages(file)
    width = len(file.footer.leaves)
    numbers = {row_group * width + column for row_group, column in replaced}
    if file.footer.layout.reaches_past_the_end(numbers):
        raise FooterError(
            f"{file.path}: footer: filters that are to stay reach past {file.footer.start}, where"
            " the data ends: repair all column chunks first"
        )


def removable_filter(file: ParquetFile, chunk: ColumnChunk) -> bloom.StoredFilter | None:
    """The chunk's filter if its place is certain enough to drop the bytes."""
    try:
        return bloom.read_usable_header(file.source, file.footer, chunk)
    except (FilterError, EncryptionError):
        return None


def kept_end(
    file: ParquetFile,
    removed: Mapping[ChunkKey, ColumnChunk],
    more: Collection[Range] = (),
    least: int = 0,
) -> int:
    """Where the data that stays ends: the footer's start, less the removed filters just before.

    Of filters that the footer does not know as such, `more` are removed, too, and the others end by
    `least`.
    """
    end = file.footer.start
    stored = [removable_filter(file, chunk) for chunk in removed.values()]
    certain = [(found.offset, found.end) for found in stored if found is not None]
    certain += [place for place in more if not file.footer.layout.overlaps_data(*place)]
    if not certain:
        return end
    kept_filters_end = max(least, _kept_filters_end(file, removed))
    for found_start, found_end in sorted(certain, key=itemgetter(1), reverse=True):
        if found_end != end or found_start < kept_filters_end:
            break
        end = found_start
    return end


def _kept_filters_end(file: ParquetFile, removed: Container[ChunkKey]) -> int:
    """Where the last filter ends that is not removed; 0 if there is none."""
    chunks = file.footer.chunks
    offsets, lengths = chunks.every("bloom_filter_offset"), chunks.every("bloom_filter_length")
    last = 0
    for index, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
        key = divmod(index, len(file.footer.leaves))
        if offset == _kernel.ABSENT or key in removed:
            continue
        # An offset alone counts as a byte: where a length is no length, something begins there.
        end = _end_by_header(file, *key) if length == _kernel.ABSENT else offset + max(length, 1)
        last = max(last, end)
    return last


def _end_by_header(file: ParquetFile, row_group: int, column: int) -> int:
    """Where a filter ends whose length the footer lacks; the footer's start if nobody knows."""
    chunk = file.footer.chunk(row_group, file.footer.leaves[column])
    try:
        stored = bloom.read_header(file.source, file.footer, chunk)
    except (FilterError, EncryptionError):
        return file.footer.start
    return 0 if stored is None else stored.end


class ParquetChange(Change):
    """A change of `file`."""

    def __init__(self, file: ParquetFile) -> None:
        self.file = file

    def beside(self, output: Path, overwrite: bool) -> AbstractContextManager[object]:
        """The key material of an encrypted file. One that stays in its place keeps its own."""
        material = material_copy(self.file, output, overwrite)
        return material.placed() if material else nullcontext()

    def verify(self, written: Source) -> None:
        self.check(ParquetFile(written, self.file.keys))

    @abstractmethod
    def check(self, new: ParquetFile) -> None:
        """Raise RewriteError unless `new` is the old file but for this change."""


# A chunk with its filter, or with why it gets none.
Built = tuple[ColumnChunk, SplitBlockBloomFilter | str]


@dataclass(frozen=True, slots=True)
class NewFilters:
    """Filters to write: `built` gives those of `chunks` in turn, `reason_against` says why one is
    not to be written, "" if it is. `is_shown`: a plaintext footer says where filters of encrypted
    columns lie."""

    chunks: Sequence[ColumnChunk]
    built: Callable[[Sequence[ColumnChunk]], Generator[Built]]
    reason_against: Callable[[MeasuredFilter], str]
    is_shown: bool = False
    progress: Progress | None = None


class FilterChange(ParquetChange):
    """Other filters: new ones behind the data that stays, and a footer that points to them.

    Once they are written, `filters` and `skipped` say what became of the new ones, which were
    `appended` there; `places` says where the filters of all chunks lie that change, None where there
    are none any more, and `leaks` what of those was in plaintext.
    """

    def __init__(
        self,
        file: ParquetFile,
        prefix: int,
        places: Places,
        new: NewFilters,
        digests: Mapping[ChunkKey, int] | None = None,
    ) -> None:
        """`places`: of filters that are there, and `digests` of their bits; None where they go."""
        super().__init__(file)
        self.prefix = prefix
        self.places = dict(places)
        self.appended: dict[ChunkKey, FilterPlace] = {}
        self.filters: list[BuiltFilters] = []
        self.skipped: list[LeftChunk] = []
        self.leaks: Sequence[Leak] = ()
        self._new = new
        self._ahead = new.chunks
        self._digests = dict(digests or {})

    @property
    def is_idle(self) -> bool:
        return not self.places and not self._ahead

    def compose(self, version: Version) -> None:
        with closing(self._new.built(self._new.chunks)) as built:
            self._append_all(built, version)
        self._ahead = ()
        # An object that is replaced is not there any more to be looked at.
        self.leaks = leaks(self.file, self.places)
        version.append(self.file.footer.tail(self.places))

    def _append_all(self, built: Iterable[Built], version: Version) -> None:
        progress = of_all(self._new.progress, self._new.chunks)
        done = count(1)
        for chunk, filter in built:
            reason = filter if isinstance(filter, str) else self._new.reason_against(filter)
            if isinstance(filter, str) or reason:
                self.skipped.append(LeftChunk(chunk.place, chunk.leaf.name, reason))
            else:
                with located(self.file.footer, chunk):
                    self._append(chunk, filter, version)
            # It can take 128 MiB, and the next one begins when it is asked for.
            del filter
            progress(next(done))

    def _append(self, chunk: ColumnChunk, filter: SplitBlockBloomFilter, version: Version) -> None:
        plain_header = bloom.encode_header(filter.num_bytes)
        header, bitset = chunk.modules.seal_filter(plain_header, filter.bitset)
        offset = version.append(header)
        version.append(bitset)
        length = len(header) + len(bitset)
        place = FilterPlace(offset, length, self._new.is_shown)
        self.appended[chunk.key] = self.places[chunk.key] = place
        self._digests[chunk.key] = xxh3_64_intdigest(filter.bitset)
        self.filters.append(built_filter(chunk, filter, offset, length))

    def erased(self) -> Iterator[Range]:
        for leak in self.leaks:
            yield from leak.erasable

    def check(self, new: ParquetFile) -> None:
        """Footer, and header, range and bits of each filter must be what was meant to be written."""
        old = self.file
        if new.footer.without_filters(self.places) != old.footer.without_filters(self.places):
            raise RewriteError("the footer differs in more than the filters")
        check_protection(old, new)
        for key, place in self.places.items():
            chunk = chunk_of(new, key)
            stored = bloom.read_usable_header(new.source, new.footer, chunk)
            found = None if stored is None else FilterPlace(stored.offset, stored.length or 0)
            if found != place:
                raise RewriteError(f"{chunk.where}: filter at {found}, expected {place}")
            if stored is not None and bitset_digest(new, stored) != self._digests[chunk.key]:
                raise RewriteError(f"{chunk.where}: the bitset differs from what was built")


class FieldsChange(ParquetChange):
    """Other fields in the ColumnMetaData of chunks, and an end of the data that may come earlier."""

    def __init__(
        self, file: ParquetFile, prefix: int, edits: Mapping[ChunkKey, Fields] | None = None
    ) -> None:
        super().__init__(file)
        self.prefix = prefix
        self.edits = dict(edits or {})

    @property
    def is_idle(self) -> bool:
        return not self.edits

    def compose(self, version: Version) -> None:
        raw = self.footer()
        with named(self.file.path):
            version.append(self.file.footer.protection.tail(raw))

    def footer(self) -> bytes:
        """The new FileMetaData."""
        return self.file.footer.with_fields(self.edits)

    def check(self, new: ParquetFile) -> None:
        old = self.file
        before = {
            key: {**old.footer.fields(chunk_of(old, key), edit), **_of_no_copy(edit)}
            for key, edit in self.edits.items()
        }
        if new.footer.with_opened_fields(before) != old.footer.with_opened_fields(before):
            raise RewriteError("the footer differs in more than the filters")
        check_protection(old, new)
        for key, edit in self.edits.items():
            chunk = chunk_of(new, key)
            if new.footer.fields(chunk, edit) != edit:
                raise RewriteError(f"{chunk.where}: the footer differs from what was written")


def _of_no_copy(edit: Fields) -> Fields:
    """The fields of an edit that a redacted copy does not take back."""
    return {number: None for number in NO_POINTER if number in edit}


def check_protection(old: ParquetFile, new: ParquetFile) -> None:
    """Raise RewriteError unless both footers are encrypted in the same way."""
    if new.footer.protection.fixed != old.footer.protection.fixed:
        raise RewriteError("the footer is not encrypted as it was")


def chunk_of(file: ParquetFile, key: ChunkKey) -> ColumnChunk:
    """The chunk of a row group and the index of a leaf."""
    row_group, column = key
    return file.footer.chunk(row_group, file.footer.leaves[column])


def built_filter(
    chunk: ColumnChunk, filter: MeasuredFilter, offset: int | None, length: int
) -> BuiltFilters:
    """What to report of a filter that was built; header and bitset take `length` bytes."""
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


def bitset_digest(file: ParquetFile, stored: bloom.StoredFilter) -> int:
    """The XXH3 of a bitset, read piece by piece."""
    digest = xxh3_64()
    read = bloom.bits(file.source, stored)
    for start in range(0, stored.num_bytes, VERIFY_BYTES):
        digest.update(read(start, min(VERIFY_BYTES, stored.num_bytes - start)))
    return digest.intdigest()
