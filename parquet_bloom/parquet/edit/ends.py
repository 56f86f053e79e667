"""The ends of a file: where it can be cut, and is an earlier version of itself.

    | pages, page indexes | footer, length, PAR1 | filters | footer, length, PAR1 |
                                       earlier end ^                    the end ^

What is appended leaves the old file whole, so that whoever recorded its size, such as the log of a
table, reads it as it was. Footers that are no longer used lie in gaps: bytes behind the pages that the
footer gives to nothing. An end in a gap is an earlier one if its footer says the same of everything but
filters; else the bytes only look like one. Nor does the file count as appended to if anything but filters
follows: what another program put there would be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import EncryptionError, FormatError, UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.filters.chain import SEARCHED_BYTES, filters_up_to
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.layout import Range, without
from parquet_bloom.parquet.footer.tail import TAIL_BYTES
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.sealed.protection import MAGIC
from parquet_bloom.storage.source import Cut, Source

# Each takes a footer to read, and nobody appends so often.
MOST_ENDS: Final = 1_000
# What only looks like an end may take a footer to read, too: after so many, or so many bytes of footers,
# none that lies before them is found.
MOST_FALSE_ENDS: Final = 1_000
MOST_FALSE_BYTES: Final = 64 << 20
# How much is searched at a time; filters that are no longer used may follow a footer.
PIECE_BYTES: Final = 1 << 20


def earlier_ends(file: OpenFile) -> Iterator[OpenFile]:
    """The file cut at its earlier ends, the latest first. Raises OSError."""
    search = _Search()
    for _ in range(MOST_ENDS):
        older = next(filter(None, (found.version for found in search.ends(file))), None)
        if older is None or not _only_filters_follow(older.source.size, file):
            return
        yield older
        file = older


def ends_within(file: OpenFile) -> Iterator[OpenFile]:
    """The file cut at those of its earlier ends whose filters it still has, each in its place: none of
    them has been removed since, or replaced, as what is wrong is. Raises OSError."""
    newest = [*_pointers(file)]
    for older in earlier_ends(file):
        pairs = zip(_pointers(older), newest, strict=True)
        if all(its == mine for its, mine in pairs if its != _NO_POINTER):
            yield older


def pointing_since(file: OpenFile, end: int) -> Iterator[ChunkKey]:
    """The chunks that point to a filter, and to none or elsewhere in the file cut at this earlier end. Raises
    OSError."""
    width = len(file.footer.leaves)
    older = _pointers(OpenFile(Cut(file.source, end), file.keys))
    for index, (its, mine) in enumerate(zip(older, _pointers(file), strict=True)):
        if its != mine and mine[0] != _kernel.ABSENT:
            yield divmod(index, width)


def first_end(file: OpenFile) -> OpenFile:
    """The file cut at its first end; `file` itself if it has no earlier one."""
    first = file
    for older in earlier_ends(file):
        first = older
    return first


def false_ends(file: OpenFile) -> Iterator[int]:
    """Where the file seems to end earlier, but is no earlier version of itself if it is cut there.
    Unknown, and so none, if the footer hides filters from whoever lacks a key."""
    if hides_filters(file):
        return
    search = _Search()
    for version in (file, *earlier_ends(file)):
        for found in search.ends(version):
            if found.version is not None:
                break
            yield found.end


def hides_filters(file: OpenFile) -> bool:
    """Whether a key is missing, so that nobody can say what filters an encrypted column has: a redacted
    copy of its ColumnMetaData need not say it."""
    return file.footer.has_locked_chunks


@dataclass(frozen=True, slots=True)
class _End:
    """Where a file may end, and the file cut there if it is an earlier version of itself."""

    end: int
    version: OpenFile | None


class _Search:
    """Looks for ends in the gaps of a file and of its earlier versions, up to a limit for them all."""

    def __init__(self) -> None:
        self._ends = MOST_FALSE_ENDS
        self._bytes = MOST_FALSE_BYTES

    def ends(self, file: OpenFile) -> Iterator[_End]:
        """Where a footer ends, or seems to, the latest first: behind its length and the magic, with
        room for it. Raises OSError."""
        source = file.source
        if not (gaps := _gaps(file)):
            return
        magic = source.read_at(source.size - len(MAGIC), len(MAGIC))
        source.will_read((max(start, end - SEARCHED_BYTES), end) for start, end in gaps)
        for start, end in reversed(gaps):
            for at in found_from_the_back(source, magic, (start + TAIL_BYTES, end)):
                length = int.from_bytes(source.read_at(at - TAIL_BYTES, 4), "little")
                has_room = 0 < length <= at - TAIL_BYTES - start
                if has_room:
                    found = _End(at, _version(file, at))
                    yield found
                    if found.version is not None:
                        continue
                self._ends -= 1
                self._bytes -= length if has_room else 0
                if self._ends <= 0 or self._bytes <= 0:
                    return


def found_from_the_back(source: Source, magic: bytes, whole: Range) -> Iterator[int]:
    """Where `magic` ends in a range, in the last of it that is searched."""
    start, end = max(whole[0] - len(magic), whole[1] - SEARCHED_BYTES), whole[1]
    while end - start >= len(magic):
        first = max(start, end - PIECE_BYTES)
        piece = source.read_at(first, end - first)
        at = piece.rfind(magic)
        while at >= 0:
            yield first + at + len(magic)
            at = piece.rfind(magic, 0, at + len(magic) - 1)
        # The magic may lie across two pieces.
        end = first + len(magic) - 1 if first > start else start


def _gaps(file: OpenFile) -> list[Range]:
    """The ranges between the pages and the footer that the footer gives to nothing."""
    layout, end = file.footer.layout, file.footer.start
    start = max(layout.pages.last, layout.indexes.last)
    # The length of a filter may be missing; ours have one.
    filters = [found for found in layout.filters.sharing(start, end) if found[0] < found[1]]
    return list(without((start, end), filters)) if start < end else []


def _version(file: OpenFile, end: int) -> OpenFile | None:
    """The file cut at `end`, if it is an earlier version of itself there."""
    try:
        older = OpenFile(Cut(file.source, end), file.keys)
        if _shape(older) != _shape(file):
            return None
        keys = {key for each in (older, file) for key in _pointing(each)}
        is_same = older.footer.without_filters(keys) == file.footer.without_filters(keys)
        return older if is_same else None
    except (EncryptionError, FormatError, UnsupportedError):
        return None


def _only_filters_follow(end: int, file: OpenFile) -> bool:
    """Whether everything behind `end` belongs to filters, or did before they were removed."""
    gaps = ((max(start, end), gap_end) for start, gap_end in _gaps(file) if gap_end > end)
    return all(_has_only_filters(file, *gap) for gap in gaps)


def _has_only_filters(file: OpenFile, start: int, end: int) -> bool:
    """Sealed ones only if it is known which are used."""
    is_sealed = file.is_encrypted and not hides_filters(file)
    chain = filters_up_to(file.source, start, end, is_sealed)
    return bool(chain) and chain[0][0] == start


def _shape(file: OpenFile) -> tuple[int, int]:
    return file.num_row_groups, len(file.footer.leaves)


def _pointing(file: OpenFile) -> Iterator[ChunkKey]:
    """The chunks whose fields 14 and 15 are not both missing."""
    width = len(file.footer.leaves)
    for index, found in enumerate(_pointers(file)):
        if found != _NO_POINTER:
            yield divmod(index, width)


_NO_POINTER: Final = (_kernel.ABSENT, _kernel.ABSENT)


def _pointers(file: OpenFile) -> Iterator[tuple[int, int]]:
    """Offset and length, as far as there are any, of the filter of every chunk."""
    chunks = file.footer.chunks
    offsets, lengths = chunks.every("bloom_filter_offset"), chunks.every("bloom_filter_length")
    return zip(offsets, lengths, strict=True)
