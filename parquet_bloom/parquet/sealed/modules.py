"""How a column chunk's pages, its filter and its ColumnMetaData lie in the file.

    plain     as they are
    sealed    each header and each body in an envelope of its own (see sealed_modules)
    locked    sealed, and there is no key

Readers ask the chunk's Modules, and need not know which it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol

from parquet_bloom.errors import EncryptionError, MissingKeyError, PageError, UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift.ttypes import PageHeader

if TYPE_CHECKING:
    from types import TracebackType

    from parquet_bloom.parquet.pages.page import Page
    from parquet_bloom.parquet.pages.read_ahead import ReadAhead
    from parquet_bloom.storage.source import Source

MAX_PAGE_HEADER_BYTES = 16 << 20

# A filter's header of ours takes 11 to 16 bytes; unknown fields can make another writer's longer.
FILTER_HEADER_GUESS = 64
MAX_FILTER_HEADER_BYTES = 64 << 10
# parquet-java seals 100 bytes; a header that is not sealed never begins with so small a number.
MAX_SEALED_HEADER_BYTES = 4 << 10

# The bits of a filter: (start, length) -> so many bytes of the bitset.
ReadBits = Callable[[int, int], bytes]


class named:
    """Modules that do not open in here are those of this place, and the errors say so."""

    __slots__ = ("_where",)

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: object, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, EncryptionError | UnsupportedError):
            raise at(self._where, error) from None


def at(where: str, error: Exception) -> Exception:
    """The same error, of this place."""
    return type(error)(f"{where}: {error}")


class Modules(Protocol):
    """How what belongs to one column chunk lies in the file.

    Everything that reads raises MissingKeyError if there is no key, TamperedError if it does not
    fit; the caller says where.
    """

    @property
    def bitset_overhead(self) -> int:
        """The bytes that a bitset takes in the file beyond those that its header counts."""

    def check_readable(self) -> None:
        """Raise MissingKeyError if there is no key."""

    def check_writable(self) -> None:
        """Raise MissingKeyError or UnsupportedError if nothing can be written for this chunk."""

    def page_header(
        self, ahead: ReadAhead, at: int, ordinal: int, expected: Sequence[int]
    ) -> tuple[PageHeader, int]:
        """The page header at `at`, and the bytes that it takes in the file.

        `ordinal` counts the data pages before it; `expected` are the PageTypes that the page may
        have, the likely one first. Raises PageError if there is none.
        """

    def page_body(self, stored: memoryview, page: Page) -> memoryview:
        """The page as its writer compressed it."""

    def filter_header(self, source: Source, offset: int, end: int) -> tuple[bytes, int]:
        """Bytes that begin with the filter header at `offset`, and the bytes that it takes in the
        file. Raises _kernel.ScanError if there is none before `end`."""

    def another_module(self, source: Source, offset: int, end: int) -> str | None:
        """What an envelope at `offset` holds instead of a filter header, in words; None if it opens
        as nothing of this chunk."""

    def bits(self, source: Source, offset: int, num_bytes: int) -> ReadBits:
        """How to read the bitset at `offset`."""

    def seal_filter(self, header: bytes, bitset: memoryview) -> tuple[bytes, bytes | memoryview]:
        """What is written for them."""

    def open_meta_data(self, sealed: bytes) -> bytes:
        """The ColumnMetaData in an encrypted_column_metadata."""

    def seal_meta_data(self, meta_data: bytes) -> bytes:
        """The encrypted_column_metadata for it."""


class PlainModules:
    """Of a chunk that is not encrypted."""

    bitset_overhead = 0

    def check_readable(self) -> None:
        return

    def check_writable(self) -> None:
        return

    def page_header(
        self, ahead: ReadAhead, at: int, ordinal: int, expected: Sequence[int]
    ) -> tuple[PageHeader, int]:
        size = 1
        while True:
            window = ahead.at(at, min(size, ahead.end - at))
            try:
                return compact.decode(PageHeader, window)
            except _kernel.ScanError as error:
                size = 4 * len(window)
                if at + len(window) >= ahead.end or size > MAX_PAGE_HEADER_BYTES:
                    raise PageError(f"page header at {at}: {error.problem}") from None

    def page_body(self, stored: memoryview, page: Page) -> memoryview:
        return stored

    def filter_header(self, source: Source, offset: int, end: int) -> tuple[bytes, int]:
        size = FILTER_HEADER_GUESS
        while True:
            data = source.read_at(offset, min(size, end - offset))
            try:
                return data, _kernel.struct_end(data)
            except _kernel.ScanError:
                size *= 8
                if len(data) == end - offset or size > MAX_FILTER_HEADER_BYTES:
                    raise

    def another_module(self, source: Source, offset: int, end: int) -> str | None:
        return None

    def bits(self, source: Source, offset: int, num_bytes: int) -> ReadBits:
        return lambda start, length: source.read_at(offset + start, length)

    def seal_filter(self, header: bytes, bitset: memoryview) -> tuple[bytes, bytes | memoryview]:
        return header, bitset

    def open_meta_data(self, sealed: bytes) -> bytes:
        return sealed

    def seal_meta_data(self, meta_data: bytes) -> bytes:
        return meta_data


PLAIN = PlainModules()


class LockedModules:
    """Of an encrypted chunk without a key; `reason` says which is missing."""

    bitset_overhead = 0

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def _refuse(self) -> NoReturn:
        raise MissingKeyError(f"encrypted: {self._reason}")

    def check_readable(self) -> None:
        self._refuse()

    def check_writable(self) -> None:
        self._refuse()

    def page_header(
        self, ahead: ReadAhead, at: int, ordinal: int, expected: Sequence[int]
    ) -> tuple[PageHeader, int]:
        self._refuse()

    def page_body(self, stored: memoryview, page: Page) -> memoryview:
        self._refuse()

    def filter_header(self, source: Source, offset: int, end: int) -> tuple[bytes, int]:
        self._refuse()

    def another_module(self, source: Source, offset: int, end: int) -> str | None:
        return None

    def bits(self, source: Source, offset: int, num_bytes: int) -> ReadBits:
        self._refuse()

    def seal_filter(self, header: bytes, bitset: memoryview) -> tuple[bytes, bytes | memoryview]:
        self._refuse()

    def open_meta_data(self, sealed: bytes) -> bytes:
        self._refuse()

    def seal_meta_data(self, meta_data: bytes) -> bytes:
        self._refuse()
