"""Whether a file has lost bytes, or gained some. Filters without usable headers are the smaller loss then: once
nothing points to them any more, the file would pass for a sound one.

Behind another file, the pages of that one may lie just where the footer has its own: then only its filters
are elsewhere, all by the same distance.

    | PAR1 | pages, footer of another file | PAR1 | PAR1 | pages, filters, footer | PAR1 |
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Final

from parquet_bloom.container.whole_file import behind_another
from parquet_bloom.errors import (
    EncryptionError,
    FormatError,
    PageError,
    TamperedError,
    UnsupportedError,
    without_place,
)
from parquet_bloom.parquet.edit.ends import found_from_the_back
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.layout import MAGIC_BYTES, Range
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.page_reader import DATA_PAGES, PageReader
from parquet_bloom.storage.source import Cut

# Each takes a footer to read, and bytes that look like one are rare.
_MOST_BORDERS: Final = 10

# A magic at each end, and the length of a footer.
_SMALLEST: Final = 12

_REMEDY: Final = "the file has lost bytes, or gained some: take another copy of it"


def lost_bytes(file: OpenFile) -> tuple[ColumnChunk, str] | None:
    """The last pages of the file, if they are elsewhere than its footer says, how that shows, and what to do; None if
    not, or nobody can tell."""
    footer = file.footer
    chunks = [footer.chunk(footer.num_row_groups - 1, leaf) for leaf in footer.leaves]
    ours = [each for each in chunks if not (each.has_file_path or each.is_locked)]
    last = max(ours, key=lambda chunk: chunk.pages_start or 0, default=None)
    if last is None:
        return None
    reader, num_values = PageReader(file.source, footer, last), 0
    try:
        while num_values < (last.num_values or 0):
            page = reader.next_page()
            if page.header.type in DATA_PAGES:
                num_values += page.header.num_values or 0
    except (PageError, TamperedError) as error:
        why = without_place(error, file.path, last.where)
        return last, next(_two_files(file), f"{why}: {_REMEDY}")
    for why in _two_files(file):
        return last, why
    return None


def is_behind_another(file: OpenFile) -> bool:
    """Whether another file stands in front, and nothing else would explain how far all is from the footer."""
    return any(_starts_at_distance(file))


def check_nothing_is_lost(file: OpenFile) -> None:
    """Raise PageError for a file that has."""
    lost = lost_bytes(file)
    if lost is not None:
        chunk, why = lost
        raise PageError(f"{file.path}: {chunk.where}: {why}")


@contextmanager
def telling_what_is_lost(file: OpenFile) -> Iterator[None]:
    """A context in which PageError is raised with what is wrong with the file as a whole, if it has lost bytes, or
    gained some: what the first of its pages looks like then is beside the point."""
    try:
        yield
    except PageError:
        check_nothing_is_lost(file)
        raise


def check_not_behind_another(file: OpenFile) -> None:
    """Raise PageError for a file that is."""
    for start in _starts_at_distance(file):
        raise PageError(f"{file.path}: {behind_another(file.source, start)}")


def _two_files(file: OpenFile) -> Iterator[str]:
    return (behind_another(file.source, start) for start in _starts_again(file))


def _starts_again(file: OpenFile) -> Iterator[int]:
    """Where a file begins behind one that is whole."""
    yield from _starts_at_distance(file)
    # Where lengths of filters are missing, that distance is not known.
    least = max(file.footer.layout.pages.last, MAGIC_BYTES)
    yield from _borders(file, (least + MAGIC_BYTES, file.footer.start))


def _starts_at_distance(file: OpenFile) -> Iterator[int]:
    """The same as far away as is what should directly precede the footer, if that says where all ends."""
    layout = file.footer.layout
    distance = file.footer.start - layout.everything.last
    if distance >= _SMALLEST and layout.has_all_lengths:
        yield from _borders(file, (distance + MAGIC_BYTES, distance + MAGIC_BYTES))


def _borders(file: OpenFile, searched: Range) -> Iterator[int]:
    """Where one file ends and one begins, each with its magic."""
    twice = 2 * file.source.read_at(file.source.size - MAGIC_BYTES, MAGIC_BYTES)
    for at in islice(found_from_the_back(file.source, twice, searched), _MOST_BORDERS):
        with suppress(EncryptionError, FormatError, UnsupportedError):
            OpenFile(Cut(file.source, at - MAGIC_BYTES), file.keys)
            yield at - MAGIC_BYTES
