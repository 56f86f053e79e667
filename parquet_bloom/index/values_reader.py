"""Reads the hashes of the values in one file for an index, by the ValuesReader of the format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.container.protocols import Container

ColumnT_contra = TypeVar("ColumnT_contra", contravariant=True)
ChunkT_contra = TypeVar("ChunkT_contra", contravariant=True)


class ValuesReader(Protocol[ColumnT_contra, ChunkT_contra]):
    """Reads one open file; the columns and chunks below are those of the file."""

    @property
    def file(self) -> Container: ...
    def kind(self, column: ColumnT_contra) -> str:
        """The kind of its values, see kinds."""

    def reason_for_none(self, column: ColumnT_contra) -> str:
        """Why a column cannot be indexed; empty if it can."""

    def room(self, chunk: ChunkT_contra) -> int:
        """The most memory that reading a chunk takes, in bytes."""

    def hashes(self, chunk: ChunkT_contra) -> Iterator[NDArray[np.uint64]]:
        """The hashes of everything that is to be found in a chunk. Raises FormatError, UnsupportedError,
        EncryptionError, OSError."""

    def hashes_by_page(self, chunk: ChunkT_contra) -> Iterator[NDArray[np.uint64]]:
        """The same of each page in turn."""


AnyValuesReader: TypeAlias = ValuesReader[Any, Any]
