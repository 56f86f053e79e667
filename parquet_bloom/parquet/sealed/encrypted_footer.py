"""Encrypted files: their footers are decrypted or verified, and sealed or signed again after an edit; of a
column chunk, each header and each body is in an envelope of its own.

    sealed    | FileCryptoMetaData | sealed FileMetaData | length (4) | PARE |
    signed    | FileMetaData | nonce (12), tag (16)      | length (4) | PAR1 |

    | sealed page header | sealed page | sealed page header | sealed page | ...
    bloom_filter_offset →  | sealed BloomFilterHeader | sealed bitset |

    v2 body   one envelope around levels and values      (Arrow C++, Polars)
              repetition levels | definition levels | sealed values      (parquet-java)

parquet-java pads the Thrift structs that it seals with zeros.

The key metadata in the file is kept: an edit seals with the same keys and fresh nonces.

Spec: parquet-format, Encryption.md section 5; parquet.thrift `FileCryptoMetaData`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.encryption.cipher import (
    GCM_OVERHEAD,
    LENGTH_BYTES,
    MAX_ORDINAL,
    SIGNATURE_BYTES,
    Algorithm,
    FileCipher,
    Key,
    Module,
    envelope_size,
    file_cipher,
)
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.errors import (
    EncryptionError,
    FooterError,
    FormatError,
    MissingKeyError,
    PageError,
    TamperedError,
    UnsupportedError,
)
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.pages.page import PageHeader
from parquet_bloom.parquet.sealed.modules import (
    FILTER_HEADER_GUESS,
    MAX_PAGE_HEADER_BYTES,
    MAX_SEALED_HEADER_BYTES,
    LockedModules,
    MislockedModules,
    Modules,
    ReadBits,
    named,
)
from parquet_bloom.parquet.sealed.protection import (
    MAGIC,
    MAGIC_ENCRYPTED,
    EncryptedChunk,
    Protection,
    tail_end,
)
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import PageType
from parquet_bloom.vocabulary import OF_FOOTER

if TYPE_CHECKING:
    from parquet_bloom.parquet.pages.page import Page, PagesAhead
    from parquet_bloom.storage.source import Source


def modules_of_chunks(
    cipher: FileCipher, footer_key: Key | MissingKeyError, keys: Keys
) -> Callable[[EncryptedChunk], Modules]:
    """A function that returns how an encrypted chunk is stored, and looks each key up once.
    `footer_key`: an error says why there is none."""

    @cache
    def key_of(path: tuple[str, ...], encoded: bytes) -> Key | LockedModules:
        try:
            crypto, _ = compact.decode(ttypes.ColumnCryptoMetaData, encoded)
        except (FormatError, _kernel.ScanError) as error:
            return _locked(f"crypto_metadata: {error}")
        if crypto.ENCRYPTION_WITH_FOOTER_KEY is not None:
            if isinstance(footer_key, MissingKeyError):
                return _without_footer_key(footer_key, keys.given_for(path))
            keys.note_of_footer(path, footer_key)
            return footer_key
        own = crypto.ENCRYPTION_WITH_COLUMN_KEY
        if own is None:
            return _locked("crypto_metadata names no key")
        try:
            return keys.column_key(path, own.key_metadata)
        except MissingKeyError as error:
            otherwise = "--column-key", f"{'.'.join(path)}=KEYSPEC"
            return LockedModules(
                str(error), error.detail, keys.arguments_for(own.key_metadata, otherwise)
            )
        except EncryptionError as error:
            return MislockedModules(error)

    def modules(chunk: EncryptedChunk) -> Modules:
        key = key_of(chunk.path, chunk.crypto)
        if isinstance(key, LockedModules):
            return key
        ordinal = chunk.row_group if chunk.ordinal is None else chunk.ordinal
        # The footer's key is there only once it has opened the footer, or verified it.
        is_proven = chunk.has_sealed_meta_data or key is footer_key
        return SealedModules(cipher, key, ordinal, chunk.column, _doubt(chunk), is_proven)

    return modules


def _locked(reason: str) -> LockedModules:
    """Of what no key opens."""
    return LockedModules(reason, reason)


def _without_footer_key(missing: MissingKeyError, given: str) -> LockedModules:
    """Of a column that has the footer's key, which is `missing`; `given`: the name that another one was given
    for, empty if none was."""
    why = f" ({missing.detail})" if missing.detail else ""
    others = f", not the one given for {given}" if given else ""
    reason = f"{OF_FOOTER}{others}: {missing}" if given else str(missing)
    return LockedModules(reason, f"{OF_FOOTER}{why}{others}")


def _doubt(chunk: EncryptedChunk) -> str:
    """Why readers may not be able to open what we seal: they take the ordinal stored in the row
    group, or its position, or 0 if none is stored."""
    if chunk.ordinal == chunk.row_group and max(chunk.row_group, chunk.column) <= MAX_ORDINAL:
        return ""
    return (
        f"row group {chunk.row_group} has the ordinal {chunk.ordinal}, which readers interpret"
        " differently: whatever is encrypted there, some cannot read"
    )


class SealedFooter(Protection):
    """The encrypted footer of a file that starts and ends with PARE."""

    hides_footer = True

    def __init__(self, crypto: bytes, cipher: FileCipher, key: Key, keys: Keys) -> None:
        """`crypto`: the FileCryptoMetaData."""
        super().__init__(modules_of_chunks(cipher, key, keys))
        self.fixed = MAGIC_ENCRYPTED + crypto
        self.has_untagged_pages = cipher.algorithm is Algorithm.AES_GCM_CTR_V1
        self.crypto = crypto
        self._cipher = cipher
        self._key = key

    def tail(self, raw: bytes) -> bytes:
        footer = self.crypto + self._cipher.seal(self._key, Module.FOOTER, raw)
        return footer + tail_end(len(footer), MAGIC_ENCRYPTED)


class SignedFooter(Protection):
    """A plaintext footer whose signature has been verified."""

    fixed = MAGIC

    def __init__(self, cipher: FileCipher, key: Key, keys: Keys) -> None:
        super().__init__(modules_of_chunks(cipher, key, keys))
        self.has_untagged_pages = cipher.algorithm is Algorithm.AES_GCM_CTR_V1
        self._cipher = cipher
        self._key = key

    def tail(self, raw: bytes) -> bytes:
        footer = raw + self._cipher.sign(self._key, raw)
        return footer + tail_end(len(footer), MAGIC)


# As the command takes it.
_FOOTER_KEY: Final = ("--footer-key", "KEYSPEC")


class UnverifiedFooter(Protection):
    """A plaintext footer whose signature cannot be verified, for `reason`."""

    fixed = MAGIC

    def __init__(
        self, reason: str, modules: Callable[[EncryptedChunk], Modules], keys: Keys
    ) -> None:
        super().__init__(modules)
        self.unverified = reason
        self._keys = keys

    def doubt(self, path: tuple[str, ...]) -> str:
        try:
            self._keys.column_key(path, None)
        except MissingKeyError:
            return ""
        return (
            "a key was given for the column, but the footer, whose signature was not verified, says"
            " that it is not encrypted"
        )

    def tail(self, raw: bytes) -> bytes:
        raise MissingKeyError(f"the footer is signed and cannot be signed again: {self.unverified}")

    def check_writable(self) -> None:
        self.tail(b"")


def open_sealed_footer(data: bytes, start: int, where: str, keys: Keys | None) -> Footer:
    """Decrypt the footer in `data`, which follows a FileCryptoMetaData. Raises MissingKeyError,
    TamperedError, FooterError, and UnsupportedError for encryption that violates the format."""
    keys = keys or Keys()
    try:
        crypto, end = compact.decode(ttypes.FileCryptoMetaData, data)
        if crypto.encryption_algorithm is None:
            raise FormatError("no encryption_algorithm")
    except (FormatError, _kernel.ScanError) as error:
        raise FooterError(f"{where}: footer: no FileCryptoMetaData: {error}") from None
    with named(f"{where}: the footer is encrypted"):
        cipher = file_cipher(crypto.encryption_algorithm, keys.aad_prefix)
        key = keys.footer_key(crypto.key_metadata)
        try:
            opened = cipher.open(key, Module.FOOTER, data[end:])
        except TamperedError as error:
            before = keys.taken_before(key, crypto.key_metadata)
            raise TamperedError(f"{error}{before}") from None
    raw = _strip_padding(opened, where)
    return Footer(raw, start, where, SealedFooter(data[:end], cipher, key, keys))


def verify_signed_footer(footer: Footer, keys: Keys | None) -> Footer:
    """The footer without its signature, which is verified if there is a key for it. Raises
    TamperedError if the signature is wrong, FooterError if there is none."""
    keys = keys or Keys()
    where = footer.where
    raw = _strip_padding(footer.raw, where)
    signature = footer.raw[len(raw) :]
    if len(signature) != SIGNATURE_BYTES:
        raise FooterError(
            f"{where}: footer: followed by {len(signature)} bytes, expected a signature of"
            f" {SIGNATURE_BYTES}, as columns are encrypted"
        )
    with named(where):
        protection = _signed(footer, raw, signature, keys)
    return Footer(raw, footer.start, where, protection)


def _signed(footer: Footer, raw: bytes, signature: bytes, keys: Keys) -> Protection:
    try:
        cipher = file_cipher(footer.encryption_algorithm, keys.aad_prefix)
    except (MissingKeyError, UnsupportedError) as error:
        reason = str(error)
        return UnverifiedFooter(reason, lambda chunk: _locked(reason), keys)
    key_metadata = footer.footer_signing_key_metadata
    try:
        key = keys.footer_key(key_metadata)
    except MissingKeyError as error:
        unverified = UnverifiedFooter(str(error), modules_of_chunks(cipher, error, keys), keys)
        unverified.missing = keys.arguments_for(key_metadata, _FOOTER_KEY)
        return unverified
    try:
        cipher.check_signature(key, raw, signature)
    except TamperedError as error:
        raise TamperedError(f"{error}{keys.taken_before(key, key_metadata)}") from None
    return SignedFooter(cipher, key, keys)


def _strip_padding(data: bytes, where: str) -> bytes:
    """The struct at the start of `data`; parquet-java pads those that it seals with zeros."""
    try:
        return data[: _kernel.struct_end(data)]
    except _kernel.ScanError as error:
        raise FooterError(
            f"{where}: footer: damaged: byte {error.position}: {error.problem}"
        ) from None


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
    """For an encrypted chunk with its key. `doubt`: why nothing may be sealed, empty if it may; `is_proven`: whether
    the key has opened the ColumnMetaData or the footer by the time that anything else is opened."""

    cipher: FileCipher
    key: Key
    row_group: int
    column: int
    doubt: str
    is_proven: bool

    bitset_overhead = GCM_OVERHEAD

    def check_readable(self) -> None:
        return

    def check_writable(self) -> None:
        if self.doubt:
            raise UnsupportedError(self.doubt)

    def _open(self, module: Module, envelope: memoryview, *page: int) -> bytes:
        ordinals = (self.row_group, self.column, *page)
        is_right = self.is_proven and module is not Module.COLUMN_META_DATA
        return self.cipher.open(self.key, module, envelope, *ordinals, is_right=is_right)

    def _seal(self, module: Module, plaintext: bytes | memoryview) -> bytes:
        self.check_writable()
        return self.cipher.seal(self.key, module, plaintext, self.row_group, self.column)

    def page_header(
        self, ahead: PagesAhead, at: int, ordinal: int, expected: Sequence[int]
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

    def plain_header(self, stored: memoryview, page: Page) -> bytes | memoryview:
        is_dictionary = page.header.type == PageType.DICTIONARY_PAGE
        kind = PageType.DICTIONARY_PAGE if is_dictionary else PageType.DATA_PAGE
        return self._open_header(stored, page.ordinal, (kind,))

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
        for module in filter(self.cipher.authenticates, _WITHOUT_PAGE):
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
