"""Whether a file has lost bytes, or gained some. Filters without headers are the smaller loss then: once nothing
points to them any more, the file would pass for a sound one.
"""

from __future__ import annotations

from parquet_bloom.errors import PageError, TamperedError, without_place
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.page_reader import DATA_PAGES, PageReader


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
        return last, f"{why}: the file has lost bytes, or gained some: take another copy of it"
    return None


def check_nothing_is_lost(file: OpenFile) -> None:
    """Raise PageError for a file that has."""
    lost = lost_bytes(file)
    if lost is not None:
        chunk, why = lost
        raise PageError(f"{file.path}: {chunk.where}: {why}")
