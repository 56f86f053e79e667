"""The parts of an encrypted column chunk: each header and each body in an envelope of its own.

    | sealed page header | sealed page | sealed page header | sealed page | ...
    bloom_filter_offset →  | sealed BloomFilterHeader | sealed bitset |

    v2 body   one envelope around levels and values      (Arrow C++, Polars)
              repetition levels | definition levels | sealed values      (parquet-java)

parquet-java pads the Thrift structs that it seals with zeros.

Spec: parquet-format, Encryption.md section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloom.encryption.cipher import (
    GCM_OVERHEAD,
    LENGTH_BYTES,
    FileCipher,
    Key,
    Module,
    envelope_size,
)
from parquet_bloom.errors import PageError, TamperedError, UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.pages.page import PageHeader
from parquet_bloom.parquet.sealed.modules import (
    FILTER_HEADER_GUESS,
    MAX_PAGE_HEADER_BYTES,
    MAX_SEALED_HEADER_BYTES,
    ReadBits,
)
from parquet_bloom.parquet.thrift.ttypes import PageType

if TYPE_CHECKING:
    from parquet_bloom.parquet.pages.page import Page, ReadAhead
    from parquet_bloom.storage.source import Source

_HEADERS = {
    PageType.DICTIONARY_PAGE: Module.DICTIONARY_PAGE_HEADER,
    PageType.DATA_PAGE: Module.DATA_PAGE_HEADER,
}
# Modules that could be mistaken for a filter header; their AAD needs no page ordinal.
_WITHOUT_PAGE = (
    Module.COLUMN_META_DATA,
    Module.DICTIONARY_PAGE,
    Module.DICTIONARY_PAGE_HEADER,
    Module.COLUMN_INDEX,
    Module.OFFSET_INDEX,
    Module.BLOOM_FILTER_BITSET,
)


@dataclass(frozen=True, slots=True)
class SealedModules:
    """For an encrypted chunk with its key. `doubt`: why nothing may be sealed, empty if it may."""

    cipher: FileCipher
    key: Key
    row_group: int
    column: int
    doubt: str

    bitset_overhead = GCM_OVERHEAD

    def check_readable(self) -> None:
        return

    def check_writable(self) -> None:
        if self.doubt:
            raise UnsupportedError(self.doubt)

    def _open(self, module: Module, envelope: memoryview, *page: int) -> bytes:
        return self.cipher.open(self.key, module, envelope, self.row_group, self.column, *page)

    def _seal(self, module: Module, plaintext: bytes | memoryview) -> bytes:
        self.check_writable()
        return self.cipher.seal(self.key, module, plaintext, self.row_group, self.column)

    def page_header(
        self, ahead: ReadAhead, at: int, ordinal: int, expected: Sequence[int]
    ) -> tuple[PageHeader, int]:
        limit = min(ahead.end - at, MAX_PAGE_HEADER_BYTES)
        try:
            size = envelope_size(bytes(ahead.read(at, LENGTH_BYTES)[:LENGTH_BYTES]), limit)
        except TamperedError as error:
            raise TamperedError(f"{_HEADERS[expected[0]].words} at {at}: {error}") from None
        header = self._open_header(ahead.read(at, size)[:size], ordinal, expected)
        try:
            return PageHeader.decode(header)[0], size
        except _kernel.ScanError as error:
            raise PageError(f"page header at {at}: {error}") from None

    def _open_header(self, envelope: memoryview, ordinal: int, expected: Sequence[int]) -> bytes:
        """Try each kind of page: the footer need not say whether the dictionary comes first."""
        first: TamperedError | None = None
        for kind in expected:
            module = _HEADERS[kind]
            page = (ordinal,) if module is Module.DATA_PAGE_HEADER else ()
            try:
                return self._open(module, envelope, *page)
            except TamperedError as error:
                first = first or error
        raise first or ValueError("no kind of page expected")

    def page_body(self, stored: memoryview, page: Page) -> memoryview:
        if page.header.type == PageType.DICTIONARY_PAGE:
            return memoryview(self._open(Module.DICTIONARY_PAGE, stored))
        levels = _plain_levels(stored, page)
        try:
            opened = self._open(Module.DATA_PAGE, stored[levels:], page.ordinal)
        except TamperedError as error:
            raise TamperedError(f"page at {page.start}: {error}") from None
        return memoryview(bytes(stored[:levels]) + opened if levels else opened)

    def filter_header(self, source: Source, offset: int, end: int) -> tuple[bytes, int]:
        try:
            envelope = _short_envelope(source, offset, end)
        except TamperedError as error:
            raise TamperedError(f"{Module.BLOOM_FILTER_HEADER.words}: {error}") from None
        return self._open(Module.BLOOM_FILTER_HEADER, envelope), len(envelope)

    def another_module(self, source: Source, offset: int, end: int) -> str | None:
        for module in _WITHOUT_PAGE:
            with suppress(TamperedError):
                self._open(module, _short_envelope(source, offset, end))
                return module.words
        return None

    def bits(self, source: Source, offset: int, num_bytes: int) -> ReadBits:
        prefix = source.read_at(offset, LENGTH_BYTES)
        size = num_bytes + GCM_OVERHEAD
        found = LENGTH_BYTES + int.from_bytes(prefix, "little")
        if found != size:
            raise TamperedError(
                f"{Module.BLOOM_FILTER_BITSET.words}: an envelope of {found} bytes, expected {size}"
            )
        envelope = memoryview(source.read_at(offset, size))
        opened = self._open(Module.BLOOM_FILTER_BITSET, envelope)
        return lambda start, length: opened[start : start + length]

    def seal_filter(self, header: bytes, bitset: memoryview) -> tuple[bytes, bytes | memoryview]:
        return (
            self._seal(Module.BLOOM_FILTER_HEADER, header),
            self._seal(Module.BLOOM_FILTER_BITSET, bitset),
        )

    def open_meta_data(self, sealed: bytes) -> bytes:
        return self._open(Module.COLUMN_META_DATA, memoryview(sealed))

    def seal_meta_data(self, meta_data: bytes) -> bytes:
        return self._seal(Module.COLUMN_META_DATA, meta_data)


def _short_envelope(source: Source, offset: int, end: int) -> memoryview:
    """An envelope of at most MAX_SEALED_HEADER_BYTES."""
    window = source.read_at(offset, min(FILTER_HEADER_GUESS, end - offset))
    size = envelope_size(window[:LENGTH_BYTES], min(end - offset, MAX_SEALED_HEADER_BYTES))
    return memoryview(window if size <= len(window) else source.read_at(offset, size))[:size]


def _plain_levels(stored: memoryview, page: Page) -> int:
    """The size of the levels before the envelope; 0 if they are inside it."""
    header = page.header
    if header.type != PageType.DATA_PAGE_V2 or _envelope_at(stored, 0):
        return 0
    levels = (header.repetition_levels_byte_length or 0) + (
        header.definition_levels_byte_length or 0
    )
    return levels if levels > 0 and _envelope_at(stored, levels) else 0


def _envelope_at(stored: memoryview, start: int) -> bool:
    """Whether everything from `start` on could be one envelope."""
    rest = len(stored) - start
    return (
        rest >= LENGTH_BYTES
        and LENGTH_BYTES + int.from_bytes(stored[start : start + LENGTH_BYTES], "little") == rest
    )
