"""How a column chunk's pages, its filter and its ColumnMetaData are stored.

    plain     not encrypted
    sealed    each header and each body in an envelope of its own (see sealed_modules)
    locked    sealed, and there is no key, or another one than it was sealed with

Readers use the chunk's Modules and need not know which it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from parquet_bloom.errors import (
    EncryptionError,
    MissingKeyError,
    PageError,
    UnsupportedError,
    placing,
)
from parquet_bloom.native import _kernel

if TYPE_CHECKING:
    from parquet_bloom.parquet.pages.page import Page, PageHeader, PagesAhead
    from parquet_bloom.storage.source import Source

MAX_PAGE_HEADER_BYTES = 16 << 20

# Filter headers normally take 11 to 16 bytes; unknown fields can make one longer.
FILTER_HEADER_GUESS = 64
MAX_FILTER_HEADER_BYTES = 64 << 10
# parquet-java seals 100 bytes; a plaintext header never starts with such a small number.
MAX_SEALED_HEADER_BYTES = 4 << 10

# Reads `length` bytes of a bitset from `start`: (start, length) -> bytes.
ReadBits = Callable[[int, int], bytes]


# Errors about encryption name their place.
named = partial(placing, kinds={EncryptionError: None, UnsupportedError: None})


class Modules(Protocol):
    """How the parts of one column chunk are stored. Methods that read raise MissingKeyError if
    there is no key, TamperedError if decryption fails; callers add the place to the message."""

    @property
    def bitset_overhead(self) -> int:
        """The stored bytes of a bitset beyond the size in its header."""

    def check_readable(self) -> None:
        """Raise MissingKeyError if there is no key."""

    def check_writable(self) -> None:
        """Raise MissingKeyError or UnsupportedError if nothing can be written for this chunk."""

    def page_header(
        self, ahead: PagesAhead, at: int, ordinal: int, expected: Sequence[int]
    ) -> tuple[PageHeader, int]:
        """The page header at `at`, and its size in the file. `ordinal`: the number of data pages
        before it. `expected`: the PageTypes that it may have, the likeliest first. Raises PageError
        if there is none."""

    def plain_header(self, stored: memoryview, page: Page) -> bytes | memoryview:
        """The PageHeader of a page, which is `stored` in the file."""

    def page_body(self, stored: memoryview, page: Page) -> memoryview:
        """The page as its writer compressed it."""

    def filter_header(self, source: Source, offset: int, end: int) -> tuple[bytes, int]:
        """Bytes that start with the filter header at `offset`, and its size in the file. Raises
        _kernel.ScanError if there is none before `end`."""

    def another_module(self, source: Source, offset: int, end: int) -> str | None:
        """The name of another module of this chunk whose envelope is at `offset`, where a filter
        header should be; None if there is none."""

    def bits(self, source: Source, offset: int, num_bytes: int) -> ReadBits:
        """A function that reads the bitset at `offset`."""

    def seal_filter(self, header: bytes, bitset: memoryview) -> tuple[bytes, bytes | memoryview]:
        """The bytes to store for them."""

    def open_meta_data(self, sealed: bytes) -> bytes:
        """Decrypt an encrypted_column_metadata."""

    def seal_meta_data(self, meta_data: bytes) -> bytes:
        """Encrypt a ColumnMetaData."""


class PlainModules:
    """For a chunk that is not encrypted."""

    bitset_overhead = 0

    def check_readable(self) -> None:
        return

    def check_writable(self) -> None:
        return

    def page_header(
        self, ahead: PagesAhead, at: int, ordinal: int, expected: Sequence[int]
    ) -> tuple[PageHeader, int]:
        from parquet_bloom.parquet.pages.page import PageHeader

        size = 1
        while True:
            window = ahead.read(at, min(size, ahead.end - at))
            try:
                return PageHeader.decode(window)
            except _kernel.ScanError as error:
                size = 4 * len(window)
                if at + len(window) >= ahead.end or size > MAX_PAGE_HEADER_BYTES:
                    raise PageError(f"page header at {at}: {error.problem}") from None

    def plain_header(self, stored: memoryview, page: Page) -> bytes | memoryview:
        return stored

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
    """For an encrypted chunk without a key; `reason` says which one is missing; `detail`: see
    MissingKeyError; `missing`: the options that give a command the key, if it is one of the column's own."""

    bitset_overhead = 0

    def __init__(self, reason: str, detail: str = "", missing: tuple[str, ...] = ()) -> None:
        self.reason = reason
        self.detail = detail
        self.missing = missing

    def another_module(self, source: Source, offset: int, end: int) -> str | None:
        return None

    def _error(self) -> EncryptionError:
        return MissingKeyError(f"encrypted: {self.reason}")

    def _refuse(self, *args: Any, **named: Any) -> NoReturn:
        raise self._error()

    check_readable = check_writable = _refuse
    page_header = plain_header = page_body = filter_header = bits = _refuse
    seal_filter = open_meta_data = seal_meta_data = _refuse


class MislockedModules(LockedModules):
    """For an encrypted chunk whose key does not open it, or cannot be unwrapped: an `error` where it is asked for."""

    def __init__(self, error: EncryptionError) -> None:
        super().__init__(str(error), str(error))
        self._kind = type(error)

    def _error(self) -> EncryptionError:
        return self._kind(self.reason)
