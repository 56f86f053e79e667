"""Change the filters of a Parquet file: new ones behind the data that is kept, and a new footer.

What build, repair and strip share for filters of every kind: which files may be changed, how much
of the old file is kept, and the proof that nothing but filters differs in the new one.
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
from contextlib import AbstractContextManager, closing
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
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import NO_POINTER, FilterPlace
from parquet_bloom.parquet.footer.layout import Range
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.pages import located
from parquet_bloom.parquet.plaintext_filters import (
    Leak,
    Places,
    leaks,
    other_filters,
    readable_header,
)
from parquet_bloom.parquet.sealed.material_copy import material_copy
from parquet_bloom.parquet.sealed.modules import named
from parquet_bloom.parquet.sealed.opened_chunks import Fields
from parquet_bloom.storage.new_version import Change, Version
from parquet_bloom.storage.source import Source

# How much of a bitset is read at once to be compared.
VERIFY_BYTES = 4 << 20


def check_rewritable(file: OpenFile) -> None:
    """Raise MissingKeyError for a signed footer that cannot be signed again, UnsupportedError for one
    with an extension, of which nobody could say whether it is still true."""
    if file.footer.has_extension:
        raise UnsupportedError(
            f"{file.path}: footer: field 32767 is an extension, such as a second footer in"
            " FlatBuffers, which an edited footer would contradict"
        )
    with named(file.path):
        file.footer.protection.check_writable()


def check_unencrypted(file: OpenFile) -> None:
    """Raise UnsupportedError for an encrypted file: filters in its footer would reveal values; else
    as check_rewritable."""
    if file.is_encrypted:
        raise UnsupportedError(
            f"{file.path}: is encrypted: legacy filters are only written to unencrypted files"
        )
    check_rewritable(file)


def check_pages(file: OpenFile) -> None:
    """Raise FooterError if the footer places pages behind the data: no place is certain then."""
    if file.footer.layout.pages_reach_past_the_end:
        raise FooterError(
            f"{file.path}: footer: pages reach past {file.footer.start}, where the data ends"
        )


def check_end(file: OpenFile, replaced: Iterable[ChunkKey]) -> None:
    """Raise FooterError if the footer assigns bytes behind the data to pages, or to a filter other
    than those of the `replaced` chunks: what is written there would be taken for them."""
    check_pages(file)
    width = len(file.footer.leaves)
    numbers = {row_group * width + column for row_group, column in replaced}
    if file.footer.layout.filters_reach_past_the_end(numbers):
        raise FooterError(
            f"{file.path}: footer: filters that are kept reach past {file.footer.start}, where the"
            " data ends: repair all column chunks first"
        )


def kept_end(
    file: OpenFile,
    removed: Mapping[ChunkKey, ColumnChunk],
    more: Collection[Range] = (),
    least: int = 0,
) -> int:
    """Where the data that is kept ends: at the footer, or before removed filters in front of it.
    Of filters without a bloom_filter_offset, `more` are removed, too, and those that stay end by
    `least`."""
    certain = [
        (stored.offset, stored.end)
        for chunk in removed.values()
        if (stored := _usable_header(file, chunk)) is not None
    ]
    certain += [place for place in more if not file.footer.layout.overlaps_data(*place)]
    end = file.footer.start
    if not certain:
        return end
    kept_filters_end = max(least, _kept_filters_end(file, removed))
    for found_start, found_end in sorted(certain, key=itemgetter(1), reverse=True):
        if found_end != end or found_start < kept_filters_end:
            break
        end = found_start
    return end


def _usable_header(file: OpenFile, chunk: ColumnChunk) -> bloom.StoredFilter | None:
    """The chunk's filter if its place is certain enough to drop the bytes."""
    try:
        return bloom.read_usable_header(file.source, file.footer, chunk)
    except (FilterError, EncryptionError):
        return None


def _kept_filters_end(file: OpenFile, removed: Container[ChunkKey]) -> int:
    """Where the last filter ends that is not removed; 0 if there is none."""
    last = 0
    for key, offset in other_filters(file, removed):
        length = file.footer.chunks.one("bloom_filter_length", *key)
        if length == _kernel.ABSENT:
            stored = readable_header(file, file.chunk_at(key))
            end = file.footer.start if stored is None else stored.end
        else:
            # An offset alone counts as a byte: even where a length is invalid, something begins.
            end = offset + max(length, 1)
        last = max(last, end)
    return last


class ParquetChange(Change):
    """A change of `file`. `leaks`: the plaintext filters that it removes."""

    leaks: Sequence[Leak] = ()

    def __init__(self, file: OpenFile) -> None:
        self.file = file

    def beside(self, output: Path, overwrite: bool) -> AbstractContextManager[object]:
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
    reason_against: Callable[[MeasuredFilter], str]
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
        prefix: int,
        places: Places,
        new: NewFilters,
        digests: Mapping[ChunkKey, int] | None = None,
    ) -> None:
        """`places`: of existing filters that stay, with `digests` of their bits; None to remove."""
        super().__init__(file)
        self.prefix = prefix
        self.places = dict(places)
        self.appended: dict[ChunkKey, FilterPlace] = {}
        self.filters: list[BuiltFilters] = []
        self.skipped: list[LeftChunk] = []
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
        # Before the old file is replaced: an object behind a URL cannot be read any more after it.
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
            # Free up to 128 MiB before the next one is built.
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

    def check(self, new: OpenFile) -> None:
        old = self.file
        if new.footer.without_filters(self.places) != old.footer.without_filters(self.places):
            raise RewriteError("the footer differs in more than the filters")
        for key, place in self.places.items():
            chunk = new.chunk_at(key)
            stored = bloom.read_usable_header(new.source, new.footer, chunk)
            found = None if stored is None else FilterPlace(stored.offset, stored.length or 0)
            if found != place:
                raise RewriteError(f"{chunk.where}: filter at {found}, expected {place}")
            if stored is not None and bitset_digest(new, stored) != self._digests[chunk.key]:
                raise RewriteError(f"{chunk.where}: the bitset differs from what was built")


class FieldsChange(ParquetChange):
    """New fields in the ColumnMetaData of chunks; the data that is kept may end earlier."""

    def __init__(
        self, file: OpenFile, prefix: int, edits: Mapping[ChunkKey, Fields] | None = None
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

    def check(self, new: OpenFile) -> None:
        old = self.file
        before = {
            # A redacted copy does not take the pointers back.
            key: {
                **old.footer.fields(old.chunk_at(key), edit),
                **{number: None for number in NO_POINTER if number in edit},
            }
            for key, edit in self.edits.items()
        }
        if new.footer.with_opened_fields(before) != old.footer.with_opened_fields(before):
            raise RewriteError("the footer differs in more than the filters")
        for key, edit in self.edits.items():
            chunk = new.chunk_at(key)
            if new.footer.fields(chunk, edit) != edit:
                raise RewriteError(f"{chunk.where}: the footer differs from what was written")


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


def bitset_digest(file: OpenFile, stored: bloom.StoredFilter) -> int:
    """The XXH3 of a bitset, read piece by piece."""
    digest = xxh3_64()
    read = bloom.bits(file.source, stored)
    for start in range(0, stored.num_bytes, VERIFY_BYTES):
        digest.update(read(start, min(VERIFY_BYTES, stored.num_bytes - start)))
    return digest.intdigest()
