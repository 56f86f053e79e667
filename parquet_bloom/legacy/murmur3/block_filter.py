"""A split block filter of before parquet-format 2.7.0, in a file.

It may lie before the chunk's first page, behind the last one but within the chunk, or anywhere
between the pages and the footer; always in a place of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from parquet_bloom.errors import FilterError, FormatError, UnsupportedError
from parquet_bloom.filters.look_up import LookUp, in_block
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.legacy.murmur3 import headers
from parquet_bloom.legacy.murmur3.headers import OldHeader
from parquet_bloom.legacy.murmur3.pointers import Note
from parquet_bloom.legacy.murmur3.schemes import Scheme
from parquet_bloom.legacy.recognise import Recognised, recognised, sample_of
from parquet_bloom.parquet.pages.pages import pages_end
from parquet_bloom.values.types import LeafType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parquet_bloom.parquet.file import ParquetFile
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.pages.runs import Run
    from parquet_bloom.vocabulary import LegacyDialect

DIALECT: Final = "murmur3"

FIELD_POINTER, NOTE_POINTER = "bloom_filter_offset", "note"

UNRECOGNISED = (
    "a legacy filter: the chunk's values are not found by any known hash, seed and"
    " selection of blocks"
)
NO_VALUES = "a legacy filter: no value is stored that would tell its hash"
INCOMPLETE = "values that are stored are not in the filter"


@dataclass(frozen=True, slots=True)
class Place:
    """A filter as it may be read: the header at `offset`, and the bits by `scheme`."""

    pointer: str
    offset: int
    header: OldHeader
    scheme: Scheme

    @property
    def bits_start(self) -> int:
        return self.offset + self.header.header_bytes

    @property
    def end(self) -> int:
        return self.bits_start + self.header.num_bytes


@dataclass(frozen=True, slots=True)
class BlockFilter:
    """One filter: a LegacyFilter."""

    place: Place
    leaf: LeafType
    bits: SplitBlockBloomFilter = field(repr=False)
    header: bytes = field(repr=False)

    @property
    def dialect(self) -> LegacyDialect:
        return DIALECT

    @property
    def pointer(self) -> str:
        return self.place.pointer

    @property
    def form(self) -> str:
        return self.place.header.form

    @property
    def hash(self) -> str:
        return self.place.scheme.name

    @property
    def offset(self) -> int:
        return self.place.offset

    @property
    def stored_bytes(self) -> int:
        return self.place.end - self.place.offset

    @property
    def header_bytes(self) -> int:
        return self.place.header.header_bytes

    def check(self, plain: bytes) -> bool:
        hashes = self.place.scheme.hash_value(self.leaf, plain, self.bits.num_blocks)
        return bool(self.bits.check_hashes(hashes)[0])

    def look_up(self, plain: bytes) -> LookUp:
        num_blocks = self.bits.num_blocks
        (hash,) = self.place.scheme.hash_value(self.leaf, plain, num_blocks).tolist()
        index = (hash >> 32) * num_blocks >> 32
        start = index * BLOCK_BYTES
        block = SplitBlockBloomFilter.from_bytes(self.bits.bitset[start : start + BLOCK_BYTES])
        return in_block(self.place.scheme.raw_hash(self.leaf, plain), index, block, num_blocks)

    def check_run(self, run: Run) -> NDArray[np.bool_]:
        return self.bits.check_hashes(self.place.scheme.hashes(run, self.bits.num_blocks))

    def header_and_bitset(self) -> tuple[bytes, bytes]:
        return self.header, self.place.scheme.words(self.bits.to_bytes())


def read(file: ParquetFile, place: Place, leaf: LeafType) -> BlockFilter:
    """The filter at `place`, which has been checked."""
    data = file.source.read_at(place.offset, place.end - place.offset)
    header, bitset = data[: place.header.header_bytes], data[place.header.header_bytes :]
    bits = SplitBlockBloomFilter.from_bytes(place.scheme.words(bitset))
    return BlockFilter(place, leaf, bits, header)


def find(file: ParquetFile, chunk: ColumnChunk, pointer: str, offset: int) -> tuple[OldHeader, ...]:
    """What the header at `offset` may be, in a place of its own; none if there is no old header.

    Raises FilterError if there is one, and the filter cannot be where it says.
    """
    where = f"{file.path}: {chunk.where}"
    end = file.footer.start
    if not 4 <= offset < end:
        raise FilterError(f"{where}: {pointer} is {offset}, expected between 4 and {end}")
    data = file.source.read_at(offset, min(headers.MAX_HEADER_BYTES, end - offset))
    found = headers.read(data)
    if not found:
        return ()
    if any(header.num_bytes <= 0 or header.num_bytes % BLOCK_BYTES for header in found):
        raise FilterError(
            f"{where}: old filter header says {found[0].num_bytes} bytes, expected a positive"
            f" multiple of {BLOCK_BYTES}"
        )
    fitting = tuple(each for each in found if offset + _bytes(each) <= end)
    if not fitting:
        raise FilterError(f"{where}: old filter at {offset} reaches into the footer at {end}")
    free = tuple(_in_own_place(file, chunk, offset, fitting))
    if not free:
        _check_place(file, chunk, offset, max(map(_bytes, fitting)) + offset)
    return free


def _bytes(header: OldHeader) -> int:
    return header.header_bytes + header.num_bytes


def _in_own_place(
    file: ParquetFile, chunk: ColumnChunk, offset: int, found: tuple[OldHeader, ...]
) -> Iterator[OldHeader]:
    """Those with which the filter shares no bytes. Bits that begin with zeros may be more header, so
    that the filter seems to end later than it does."""
    for header in found:
        with suppress(FilterError):
            _check_place(file, chunk, offset, offset + _bytes(header))
            yield header


def _check_place(file: ParquetFile, chunk: ColumnChunk, start: int, end: int) -> None:
    place = f"{file.path}: {chunk.where}: old filter at {start} to {end}"
    if chunk.has_crypto_metadata:
        raise FilterError(f"{place}: the column is encrypted and its filter is in plaintext")
    if file.footer.layout.overlaps_indexes(start, end):
        raise FilterError(f"{place} overlaps a page index")
    if file.footer.layout.overlaps_pages(start, end) and not _is_behind_own(
        file, chunk, start, end
    ):
        raise FilterError(f"{place} overlaps pages")


def _is_behind_own(file: ParquetFile, chunk: ColumnChunk, start: int, end: int) -> bool:
    """Whether the filter is part of its chunk, behind the last page."""
    pages_start = chunk.pages_start or 0
    is_inside = pages_start < start and end <= pages_start + (chunk.total_compressed_size or 0)
    if not is_inside or len(file.footer.layout.data_in(start, end)) > 1:
        return False
    try:
        return pages_end(file.source, file.footer, chunk) <= start
    except (FormatError, UnsupportedError):
        return False


def places(
    pointer: str, offset: int, found: tuple[OldHeader, ...], seed: int | None
) -> Iterator[Place]:
    """Every way to read the filter; with `seed` only those that hash by Murmur3 with it."""
    seen = set()
    for header in found:
        for scheme in header.schemes:
            if seed is not None:
                if scheme.hash != "MURMUR3":
                    continue
                scheme = replace(scheme, seed=seed)
            if (header, scheme) not in seen:
                seen.add((header, scheme))
                yield Place(pointer, offset, header, scheme)


def noted_place(
    file: ParquetFile, chunk: ColumnChunk, note: Note, found: tuple[OldHeader, ...]
) -> Place:
    """The way that the note says. Raises FilterError if header or chunk say something else."""
    if note.pages != chunk.pages_start:
        raise FilterError(
            f"{file.path}: {chunk.where}: note: of a chunk with pages at {note.pages}, found them at"
            f" {chunk.pages_start}"
        )
    for header in found:
        is_so = (header.form, _bytes(header)) == (note.header, note.length)
        if is_so and (header.is_power_of_two or note.selection != "mask"):
            return Place(NOTE_POINTER, note.offset, header, note.scheme)
    raise FilterError(
        f"{file.path}: {chunk.where}: note: no {note.header} header of {note.length} bytes in all"
        f" at {note.offset}"
    )


def fitting(
    file: ParquetFile, chunk: ColumnChunk, candidates: list[Place]
) -> Recognised[BlockFilter]:
    """The one of `candidates`, at least one, that finds the chunk's values.

    Raises FilterError if none does, PageError or UnsupportedError if no value can be read.
    """
    sample = sample_of(file, chunk)
    if not len(sample):
        raise FilterError(NO_VALUES)
    readings = (read(file, place, chunk.leaf.type) for place in candidates)
    found = recognised(readings, sample)
    if found is None:
        raise FilterError(UNRECOGNISED)
    return found
