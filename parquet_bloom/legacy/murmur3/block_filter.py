"""A split block filter of before parquet-format 2.7.0, in a file.

It may be before the chunk's first page, after the last one but within the chunk, or anywhere between
the pages and the footer; always in a place of its own.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar, Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FilterError, FormatError, UnsupportedError
from parquet_bloom.filters.look_up import LookUp, in_block
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.legacy.membership import Recognised, recognise
from parquet_bloom.legacy.murmur3 import headers
from parquet_bloom.legacy.murmur3.headers import LegacyHeader
from parquet_bloom.legacy.murmur3.pointers import Note
from parquet_bloom.legacy.murmur3.schemes import Scheme
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parquet.pages.pages import pages_end
from parquet_bloom.parquet.pages.runs import run_of
from parquet_bloom.values.types import LeafType

if TYPE_CHECKING:
    from parquet_bloom.parquet.file import ParquetContainer
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.pages.runs import Run
    from parquet_bloom.vocabulary import LegacyDialect

FIELD_POINTER: Final = "bloom_filter_offset"
NOTE_POINTER: Final = "note"


@dataclass(frozen=True, slots=True)
class BlockFilterPlace:
    """A filter in one reading: the header at `offset`, and the bits by `scheme`."""

    pointer: str
    offset: int
    header: LegacyHeader
    scheme: Scheme


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockFilter:
    """One filter: a LegacyFilter."""

    dialect: ClassVar[LegacyDialect] = "murmur3"

    pointer: str
    layout: str
    offset: int
    stored_bytes: int
    header: bytes = field(repr=False)
    bits: SplitBlockBloomFilter = field(repr=False)
    scheme: Scheme
    leaf: LeafType

    @property
    def hash(self) -> str:
        return self.scheme.name

    @property
    def header_bytes(self) -> int:
        return len(self.header)

    def check(self, plain: bytes) -> bool:
        return bool(self.check_run(run_of([plain], self.leaf.width))[0])

    def look_up(self, plain: bytes) -> LookUp:
        num_blocks = self.bits.num_blocks
        raw = self.scheme.raw_hashes(run_of([plain], self.leaf.width))
        (hash,) = self.scheme.aligned(raw, num_blocks).tolist()
        index = (hash >> 32) * num_blocks >> 32
        start = index * BLOCK_BYTES
        block = SplitBlockBloomFilter.from_bytes(self.bits.bitset[start : start + BLOCK_BYTES])
        return in_block(int(raw[0]), index, block, num_blocks)

    def check_run(self, run: Run) -> NDArray[np.bool_]:
        return self.bits.check_hashes(self.scheme.hashes(run, self.bits.num_blocks))

    def header_and_bitset(self) -> tuple[bytes, bytes]:
        return self.header, self.scheme.words(self.bits.to_bytes())


def read(file: ParquetContainer, chunk: ColumnChunk, place: BlockFilterPlace) -> BlockFilter:
    """The chunk's filter at `place`, which has been checked."""
    header = place.header
    data = file.source.read_at(place.offset, header.total_bytes)
    bitset = place.scheme.words(data[header.header_bytes :])
    return BlockFilter(
        pointer=place.pointer,
        layout=header.layout,
        offset=place.offset,
        stored_bytes=header.total_bytes,
        header=data[: header.header_bytes],
        bits=SplitBlockBloomFilter.from_bytes(bitset),
        scheme=place.scheme,
        leaf=chunk.leaf.type,
    )


def headers_in_place(
    file: ParquetContainer, chunk: ColumnChunk, pointer: str, offset: int
) -> tuple[LegacyHeader, ...]:
    """The readings of the header at `offset` in which the filter has a place of its own; none if
    there is no legacy header.

    Raises FilterError if there is one, and the filter cannot be where it says.
    """
    where = f"{file.path}: {chunk.where}"
    end = file.footer.start
    if not 4 <= offset < end:
        raise FilterError(f"{where}: {pointer} is {offset}, expected 4 to {end - 1}")
    found = headers.read(file.source.read_at(offset, min(headers.MAX_HEADER_BYTES, end - offset)))
    if not found:
        return ()
    if any(header.num_bytes <= 0 or header.num_bytes % BLOCK_BYTES for header in found):
        raise FilterError(
            f"{where}: legacy filter header says {found[0].num_bytes} bytes, expected a positive"
            f" multiple of {BLOCK_BYTES}"
        )
    # Bits that begin with zeros may pass for more header, and the filter for longer than it is.
    ends = {header: offset + header.total_bytes for header in found}
    ends = {header: its_end for header, its_end in ends.items() if its_end <= end}
    if not ends:
        raise FilterError(f"{where}: legacy filter at {offset} reaches into the footer at {end}")
    problems = {header: _problem(file, chunk, offset, its_end) for header, its_end in ends.items()}
    if all(problems.values()):
        longest = max(ends, key=ends.__getitem__)
        raise FilterError(
            f"{where}: legacy filter at {offset} to {ends[longest]}{problems[longest]}"
        )
    return tuple(header for header, problem in problems.items() if not problem)


def _problem(file: ParquetContainer, chunk: ColumnChunk, start: int, end: int) -> str:
    """Why the filter cannot be there; "" if it can."""
    if chunk.has_crypto_metadata:
        return ": the column is encrypted and its filter is in plaintext"
    if file.footer.layout.indexes.overlap(start, end):
        return " overlaps a page index"
    overlaps_pages = file.footer.layout.pages.overlap(start, end)
    if overlaps_pages and not _follows_own_pages(file, chunk, start, end):
        return " overlaps pages"
    return ""


def _follows_own_pages(file: ParquetContainer, chunk: ColumnChunk, start: int, end: int) -> bool:
    """Whether the filter is part of its chunk, after the last page."""
    pages_start = chunk.pages_start or 0
    is_inside = pages_start < start and end <= pages_start + (chunk.total_compressed_size or 0)
    if not is_inside or len(file.footer.layout.data_in(start, end)) > 1:
        return False
    try:
        return pages_end(file.source, file.footer, chunk) <= start
    except (FormatError, UnsupportedError):
        return False


def places(
    pointer: str, offset: int, found: tuple[LegacyHeader, ...], seed: int | None = None
) -> list[BlockFilterPlace]:
    """Every reading of the filter; with `seed`, only those by Murmur3 with that seed."""
    schemes = [(header, scheme) for header in found for scheme in header.schemes]
    if seed is not None:
        schemes = [
            (header, replace(scheme, seed=seed))
            for header, scheme in schemes
            if scheme.hash == "MURMUR3"
        ]
    return [BlockFilterPlace(pointer, offset, *each) for each in dict.fromkeys(schemes)]


def noted_place(
    file: ParquetContainer, chunk: ColumnChunk, note: Note, found: tuple[LegacyHeader, ...]
) -> BlockFilterPlace:
    """The reading in the note. Raises FilterError if header or chunk contradict it."""
    where = f"{file.path}: {chunk.where}: note"
    if note.pages != chunk.pages_start:
        raise FilterError(
            f"{where}: of a chunk with pages at {note.pages}, found them at {chunk.pages_start}"
        )
    for header in found:
        is_so = (header.layout, header.total_bytes) == (note.header, note.length)
        if is_so and (header.is_power_of_two or note.selection != "mask"):
            return BlockFilterPlace(NOTE_POINTER, note.offset, header, note.scheme)
    raise FilterError(
        f"{where}: no {note.header} header of {note.length} bytes in all at {note.offset}"
    )


def fitting(
    file: ParquetContainer, chunk: ColumnChunk, candidates: list[BlockFilterPlace]
) -> Recognised[BlockFilter]:
    """The one of `candidates` that finds the chunk's values. Raises as recognise."""
    return recognise(
        file,
        chunk,
        (read(file, chunk, place) for place in candidates),
        f"{file.path}: {chunk.where}: legacy filter",
        "any known hash, seed and selection of blocks",
    )
