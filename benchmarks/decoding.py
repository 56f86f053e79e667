"""pbloom's build of one column against pyarrow's decode of it, and against the least that it can take:
reading its pages from the file, libzstd, which only decompresses them, and the kernel, which only hashes
and inserts their values; in one process, on one thread.

Run as a program, `python -m benchmarks.decoding FILE ROUNDS COLUMN...`; prints JSON: for each
column and contender the seconds of each round, [wall, CPU].
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import pyarrow.parquet as pq
import zstandard

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.filters.sizing import Size
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.page_reader import DATA_PAGES, PageReader
from parquet_bloom.parquet.pages.pages import DICTIONARY_ENCODINGS, chunk_runs
from parquet_bloom.parquet.pages.runs import Run

Seconds = tuple[float, float]
Asked = TypeVar("Asked")
Work = Callable[[str, str], None]
Chunks = list[list[Run]]


class CompressedPage(NamedTuple):
    """The body of a page, where it starts in the file, and its size without compression."""

    start: int
    body: bytes
    plain_size: int


Pages = list[CompressedPage]

# The columns of data.py whose chunks are dictionary-encoded strings from end to end.
DICTIONARY_COLUMNS = ("country", "city")


def decode(file: str, column: str) -> None:
    pq.ParquetFile(file).read(columns=[column], use_threads=False)


def decode_dictionary(file: str, column: str) -> None:
    """Leaves the values in dictionary form, which pyarrow can do for strings."""
    pq.ParquetFile(file, read_dictionary=[column]).read(columns=[column], use_threads=False)


def build(file: str, column: str) -> None:
    pb.build(file, columns=[column], dry_run=True, threads=1)


@contextmanager
def opened_chunks(file: str, column: str) -> Iterator[tuple[OpenFile, list[ColumnChunk]]]:
    """The file, and the column's chunk in each row group."""
    with open_file(file) as opened:
        leaf = next(leaf for leaf in opened.footer.leaves if leaf.name == column)
        groups = range(pq.read_metadata(file).num_row_groups)
        yield opened, [opened.footer.chunk(row_group, leaf) for row_group in groups]


def compressed_pages(file: str, column: str) -> Pages:
    """Those whose values count: not the data pages that only refer to a dictionary."""
    pages = []
    with opened_chunks(file, column) as (opened, chunks):
        for chunk in chunks:
            reader = PageReader(opened.source, opened.footer, chunk)
            num_values = 0
            while num_values < (chunk.num_values or 0):
                page = reader.next_page()
                is_data = page.header.type in DATA_PAGES
                num_values += page.header.num_values or 0 if is_data else 0
                if not is_data or page.header.encoding not in DICTIONARY_ENCODINGS:
                    body = bytes(reader.body(page))
                    pages.append(CompressedPage(page.start, body, page.plain_size))
    return pages


def decoded_chunks(file: str, column: str) -> Chunks:
    """The values of the same pages, decompressed and decoded in memory."""
    with opened_chunks(file, column) as (opened, chunks):
        return [
            [part.run for part in chunk_runs(opened.source, opened.footer, chunk)]
            for chunk in chunks
        ]


def inserting(chunks: Chunks) -> Work:
    def insert(file: str, column: str) -> None:
        for runs in chunks:
            filter = SplitBlockBloomFilter.empty(Size().blocks_for(sum(map(len, runs))))
            for run in runs:
                run.insert_into(filter)

    return insert


def reading(pages: Pages) -> Work:
    buffer = memoryview(bytearray(max(len(page.body) for page in pages)))

    def read(file: str, column: str) -> None:
        descriptor = os.open(file, os.O_RDONLY)
        for page in pages:
            os.preadv(descriptor, [buffer[: len(page.body)]], page.start)
        os.close(descriptor)

    return read


def decompressing(pages: Pages) -> Work:
    def decompress(file: str, column: str) -> None:
        decompressor = zstandard.ZstdDecompressor()
        for page in pages:
            decompressor.decompress(page.body, max_output_size=page.plain_size)

    return decompress


def contenders(file: str, column: str) -> dict[str, Work]:
    pages = compressed_pages(file, column)
    works: dict[str, Work] = {
        "read": reading(pages),
        "libzstd": decompressing(pages),
        "kernel": inserting(decoded_chunks(file, column)),
        "pyarrow": decode,
        "pbloom": build,
    }
    if column in DICTIONARY_COLUMNS:
        works["pyarrow, dictionary"] = decode_dictionary
    return works


def timed(work: Callable[[str, Asked], None], file: str, asked: Asked) -> Seconds:
    wall, cpu = time.perf_counter(), time.process_time()
    work(file, asked)
    return time.perf_counter() - wall, time.process_time() - cpu


def measure(file: str, column: str, rounds: int) -> dict[str, list[Seconds]]:
    """The first round warms up and is dropped."""
    works = contenders(file, column)
    seconds: dict[str, list[Seconds]] = {name: [] for name in works}
    for _ in range(1 + rounds):
        for name, work in works.items():
            seconds[name].append(timed(work, file, column))
    return {name: each[1:] for name, each in seconds.items()}


if __name__ == "__main__":
    file, rounds, *columns = sys.argv[1:]
    print(json.dumps({column: measure(file, column, int(rounds)) for column in columns}))
