"""Reads the hashes of the values in one file for an index, or its filters, by the ValuesReader of the format."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.advice.ndv import distinct
from parquet_bloom.container.protocols import Chunk, Column, Container
from parquet_bloom.dataclass import dataclass
from parquet_bloom.index.manifest import Places
from parquet_bloom.parallel import work_in_order
from parquet_bloom.threads import threads_for_values

ColumnT_contra = TypeVar("ColumnT_contra", contravariant=True)
ChunkT_contra = TypeVar("ChunkT_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class FoundFilter:
    """A split block filter that can be believed, unless no bit is set: the size of its bitset, and what reads it or
    says why there is nothing to believe. That raises FormatError, EncryptionError, OSError."""

    num_bytes: int
    bitset: Callable[[], bytes | str]


class ValuesReader(Protocol[ColumnT_contra, ChunkT_contra]):
    """Reads one open file; the columns and chunks below are those of the file."""

    @property
    def file(self) -> Container: ...
    def kind(self, column: ColumnT_contra) -> str:
        """The kind of its values, see kinds."""

    def is_encrypted(self, column: ColumnT_contra) -> bool:
        """Whether its values are encrypted in the file."""

    def reason_for_none(self, column: ColumnT_contra) -> str:
        """Why a column cannot be indexed; empty if it can."""

    def room(self, chunk: ChunkT_contra) -> int:
        """The most memory that reading a chunk takes, in bytes."""

    def hashes(self, chunk: ChunkT_contra) -> Iterator[NDArray[np.uint64]]:
        """The hashes of everything that is to be found in a chunk. Raises FormatError, UnsupportedError,
        EncryptionError, OSError."""

    def hashes_by_page(self, chunk: ChunkT_contra) -> Iterator[NDArray[np.uint64]]:
        """The same of each page in turn."""

    def filters(self, column: ColumnT_contra) -> Sequence[FoundFilter | str]:
        """The filter of a column in each part, or why there is none that slices can have. Raises TamperedError,
        OSError."""


AnyValuesReader: TypeAlias = ValuesReader[Any, Any]


def hashes_of_parts(
    reader: AnyValuesReader, column: Column, places: Places, threads: int | None
) -> Generator[tuple[int, list[NDArray[np.uint64]]], None, None]:
    """The parts of a file in turn, each with the distinct hashes of a column's values in it, ascending: of all, or
    where places are pages, of each page. Raises what the reader raises."""
    file, of_chunk = reader.file, _of_pages if places == "page" else _of_all
    chunks = [chunk for part in range(file.num_parts) for chunk in file.chunks(part, [column])]
    file.will_read_values(chunks)
    threads = threads_for_values(threads, file.source, len(chunks))
    with closing(work_in_order(chunks, partial(of_chunk, reader), reader.room, threads)) as found:
        for chunk, hashes in found:
            yield chunk.key[0], hashes


def _of_pages(reader: AnyValuesReader, chunk: Chunk) -> list[NDArray[np.uint64]]:
    return list(map(distinct, reader.hashes_by_page(chunk)))


def _of_all(reader: AnyValuesReader, chunk: Chunk) -> list[NDArray[np.uint64]]:
    return [distinct(np.concatenate([np.empty(0, np.uint64), *reader.hashes(chunk)]))]
