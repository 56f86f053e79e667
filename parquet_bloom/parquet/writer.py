"""A new version of a file: the same data, other filters, another footer.

What build, repair and strip share: which files may be rewritten and onto what, how much of the old
file stays, and the proof that the new one is the old one but for its filters.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from operator import itemgetter
from pathlib import Path
from typing import Protocol

from xxhash import xxh3_64

from parquet_bloom.errors import (
    EncryptionError,
    FilterError,
    FooterError,
    RewriteError,
)
from parquet_bloom.native import _kernel
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import FilterPlace
from parquet_bloom.parquet.footer.layout import Range
from parquet_bloom.parquet.plaintext_filters import leaks
from parquet_bloom.parquet.sealed.material_copy import MaterialCopy, material_copy
from parquet_bloom.parquet.sealed.modules import named
from parquet_bloom.storage.local_output import Output
from parquet_bloom.storage.new_version import Target, mode_of, verifying
from parquet_bloom.storage.open_source import open_source

# How much of a bitset is read at once to be compared.
VERIFY_BYTES = 4 << 20

Places = Mapping[ChunkKey, FilterPlace | None]


def check_rewritable(file: ParquetFile) -> None:
    """Raise MissingKeyError for a signed footer that cannot be signed again."""
    with named(file.path):
        file.footer.protection.check_writable()


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


class Rewrite(Protocol):
    """The new version while it grows; `output` is None if it is only imagined."""

    @property
    def output(self) -> str | None: ...

    @property
    def size(self) -> int:
        """Its bytes so far."""

    def append(self, data: bytes | memoryview) -> int:
        """Write a filter's header or bits; returns their offset."""

    def finish(self, places: Places, digests: Mapping[ChunkKey, int]) -> None:
        """Write the footer with filters at `places`, verify, take the target's name."""


class DryRewrite:
    """Sizes and offsets as they would be."""

    output: str | None = None

    def __init__(self, file: ParquetFile, prefix: int) -> None:
        self._file = file
        self.size = prefix

    def append(self, data: bytes | memoryview) -> int:
        offset = self.size
        self.size += len(data)
        return offset

    def finish(self, places: Places, digests: Mapping[ChunkKey, int]) -> None:
        self.size += len(self._file.footer.tail(places))


class FileRewrite:
    """The new version in a temporary file."""

    def __init__(self, file: ParquetFile, target: Target, written: Output) -> None:
        self.output: str | None = target.name
        self._file = file
        self._material = material_for(file, target)
        self._written = written
        self._copier = ThreadPoolExecutor(1, thread_name_prefix="pbloom-copy")
        self._copied = self._copier.submit(written.copy_prefix, file.source)

    @property
    def size(self) -> int:
        return self._written.size

    def append(self, data: bytes | memoryview) -> int:
        return self._written.append(data)

    def finish(self, places: Places, digests: Mapping[ChunkKey, int]) -> None:
        self._written.append(self._file.footer.tail(places))
        self._copied.result()
        for leak in leaks(self._file, places):
            for start, end in leak.erasable:
                self._written.erase(start, end)
        self._written.flush()
        with verifying(self.output, self._written):
            self.verify(places, digests)
        commit(self._file, self._written, self._material)

    def verify(self, places: Places, digests: Mapping[ChunkKey, int]) -> None:
        """Open what was written and compare; nothing has the target's name yet."""
        verify_rewrite(self._file, self._written, places, digests)

    def close(self) -> None:
        self._copier.shutdown(wait=True, cancel_futures=True)


class UnverifiedRewrite(FileRewrite):
    """The same, taking what was written for granted."""

    def verify(self, places: Places, digests: Mapping[ChunkKey, int]) -> None:
        return


@contextmanager
def rewriting(
    file: ParquetFile, target: Target | None, prefix: int, verify: bool
) -> Iterator[Rewrite]:
    """A rewrite that keeps the first `prefix` bytes; without finish() nothing remains of it.

    Without a target it is only imagined.
    """
    if target is None:
        yield DryRewrite(file, prefix)
        return
    with target.output(mode_of(file.source), prefix) as written:
        rewrite = (FileRewrite if verify else UnverifiedRewrite)(file, target, written)
        try:
            yield rewrite
        finally:
            rewrite.close()


def material_for(file: ParquetFile, target: Target) -> MaterialCopy | None:
    """What else has to be written for an encrypted file; one in its place keeps its keys."""
    if target.in_place:
        return None
    return material_copy(file, Path(target.name).resolve(), target.overwrite)


def commit(file: ParquetFile, written: Output, material: MaterialCopy | None) -> None:
    """Let `written` take the target's name, if `file` is still what it was made of."""
    file.source.check_unchanged()
    with material.placed() if material else nullcontext():
        written.commit()


def verify_rewrite(
    old: ParquetFile,
    written: Output,
    places: Places,
    digests: Mapping[ChunkKey, int],
) -> None:
    """Raise RewriteError unless the new file is the old one but for the filters at `places`.

    Its size, its footer without these filters, and each filter's header, range and bits
    (`digests`: the XXH3 of each bitset) must be what was meant to be written.
    """
    with ParquetFile(open_source(written.temporary), old.keys) as new:
        if new.source.size != written.size:
            raise RewriteError(f"{new.source.size} bytes, expected {written.size}")
        if new.footer.without_filters(places) != old.footer.without_filters(places):
            raise RewriteError("the footer differs in more than the filters")
        if new.footer.protection.fixed != old.footer.protection.fixed:
            raise RewriteError("the footer is not encrypted as it was")
        for (row_group, column), place in places.items():
            chunk = new.footer.chunk(row_group, new.footer.leaves[column])
            stored = bloom.read_usable_header(new.source, new.footer, chunk)
            found = None if stored is None else FilterPlace(stored.offset, stored.length or 0)
            if found != place:
                raise RewriteError(f"{chunk.where}: filter at {found}, expected {place}")
            if stored is not None and bitset_digest(new, stored) != digests[row_group, column]:
                raise RewriteError(f"{chunk.where}: the bitset differs from what was built")


def bitset_digest(file: ParquetFile, stored: bloom.StoredFilter) -> int:
    """The XXH3 of a bitset, read piece by piece."""
    digest = xxh3_64()
    read = bloom.bits(file.source, stored)
    for start in range(0, stored.num_bytes, VERIFY_BYTES):
        digest.update(read(start, min(VERIFY_BYTES, stored.num_bytes - start)))
    return digest.intdigest()
