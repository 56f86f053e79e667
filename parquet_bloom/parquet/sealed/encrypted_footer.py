"""Footers of encrypted files: decrypt or verify them, and seal or sign them again after an edit.

    sealed    | FileCryptoMetaData | sealed FileMetaData | length (4) | PARE |
    signed    | FileMetaData | nonce (12), tag (16)      | length (4) | PAR1 |

The key metadata in the file is kept: an edit seals with the same keys and fresh nonces.

Spec: parquet-format, Encryption.md section 5; parquet.thrift `FileCryptoMetaData`.
"""

from __future__ import annotations

from collections.abc import Callable

from parquet_bloom.encryption.cipher import (
    MAX_ORDINAL,
    SIGNATURE_BYTES,
    Algorithm,
    FileCipher,
    Key,
    Module,
    file_cipher,
)
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.errors import FooterError, FormatError, MissingKeyError, UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.sealed.modules import LockedModules, Modules, named
from parquet_bloom.parquet.sealed.protection import MAGIC, MAGIC_ENCRYPTED, EncryptedChunk, tail_end
from parquet_bloom.parquet.sealed.sealed_modules import SealedModules
from parquet_bloom.parquet.thrift import ttypes


class ChunkKeys:
    """The keys of a file's encrypted column chunks; each is looked up once."""

    def __init__(self, cipher: FileCipher, footer_key: Key | str, keys: Keys) -> None:
        """`footer_key`: a str is the reason why there is none."""
        self._cipher = cipher
        self._footer_key = footer_key
        self._keys = keys
        self._found: dict[tuple[tuple[str, ...], bytes], Key | str] = {}

    def modules(self, chunk: EncryptedChunk) -> Modules:
        """Raises EncryptionError if a KMS fails."""
        if (chunk.path, chunk.crypto) not in self._found:
            self._found[chunk.path, chunk.crypto] = self._find(chunk)
        key = self._found[chunk.path, chunk.crypto]
        if isinstance(key, str):
            return LockedModules(key)
        ordinal = chunk.row_group if chunk.ordinal is None else chunk.ordinal
        return SealedModules(self._cipher, key, ordinal, chunk.column, _doubt(chunk))

    def _find(self, chunk: EncryptedChunk) -> Key | str:
        try:
            crypto, _ = compact.decode(ttypes.ColumnCryptoMetaData, chunk.crypto)
        except (FormatError, _kernel.ScanError) as error:
            return f"crypto_metadata: {error}"
        if crypto.ENCRYPTION_WITH_FOOTER_KEY is not None:
            return self._footer_key
        own = crypto.ENCRYPTION_WITH_COLUMN_KEY
        if own is None:
            return "crypto_metadata names no key"
        try:
            return self._keys.column_key(chunk.path, own.key_metadata)
        except MissingKeyError as error:
            return str(error)


def _doubt(chunk: EncryptedChunk) -> str:
    """Why readers may expect another ordinal than we would seal with: some use the ordinal stored in
    the row group, some its position, some 0 if none is stored."""
    if chunk.ordinal == chunk.row_group and max(chunk.row_group, chunk.column) <= MAX_ORDINAL:
        return ""
    return (
        f"row group {chunk.row_group} has the ordinal {chunk.ordinal}, which readers interpret"
        " differently: nothing can be encrypted so that all of them can read it"
    )


class SealedFooter:
    """The encrypted footer of a file that starts and ends with PARE."""

    is_encrypted = True
    hides_footer = True
    unverified = ""

    def __init__(self, crypto: bytes, cipher: FileCipher, key: Key, keys: Keys) -> None:
        """`crypto`: the FileCryptoMetaData."""
        self.fixed = MAGIC_ENCRYPTED + crypto
        self.has_untagged_pages = cipher.algorithm is Algorithm.AES_GCM_CTR_V1
        self.modules = ChunkKeys(cipher, key, keys).modules
        self._crypto = crypto
        self._cipher = cipher
        self._key = key

    def doubt(self, path: tuple[str, ...]) -> str:
        return ""

    def tail(self, raw: bytes) -> bytes:
        footer = self._crypto + self._cipher.seal(self._key, Module.FOOTER, raw)
        return footer + tail_end(len(footer), MAGIC_ENCRYPTED)

    def check_writable(self) -> None:
        return


class SignedFooter:
    """A plaintext footer whose signature has been verified."""

    is_encrypted = True
    hides_footer = False
    fixed = MAGIC
    unverified = ""

    def __init__(self, cipher: FileCipher, key: Key, keys: Keys) -> None:
        self.has_untagged_pages = cipher.algorithm is Algorithm.AES_GCM_CTR_V1
        self.modules = ChunkKeys(cipher, key, keys).modules
        self._cipher = cipher
        self._key = key

    def doubt(self, path: tuple[str, ...]) -> str:
        return ""

    def tail(self, raw: bytes) -> bytes:
        footer = raw + self._cipher.sign(self._key, raw)
        return footer + tail_end(len(footer), MAGIC)

    def check_writable(self) -> None:
        return


class UnverifiedFooter:
    """A plaintext footer whose signature cannot be verified, for `reason`."""

    is_encrypted = True
    hides_footer = False
    fixed = MAGIC
    has_untagged_pages = False

    def __init__(
        self, reason: str, modules: Callable[[EncryptedChunk], Modules], keys: Keys
    ) -> None:
        self.modules = modules
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
    """Decrypt the footer in `data`, which follows a FileCryptoMetaData.

    Raises MissingKeyError, TamperedError, FooterError, and UnsupportedError for encryption that
    violates the format.
    """
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
        opened = cipher.open(key, Module.FOOTER, data[end:])
    raw = _strip_padding(opened, where)
    return Footer(raw, start, where, SealedFooter(data[:end], cipher, key, keys))


def verify_signed_footer(footer: Footer, keys: Keys | None) -> Footer:
    """The footer without its signature, which is verified if there is a key for it.

    Raises TamperedError if the signature is wrong, FooterError if there is none.
    """
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


def _signed(
    footer: Footer, raw: bytes, signature: bytes, keys: Keys
) -> SignedFooter | UnverifiedFooter:
    try:
        cipher = file_cipher(footer.encryption_algorithm, keys.aad_prefix)
    except (MissingKeyError, UnsupportedError) as error:
        reason = str(error)
        return UnverifiedFooter(reason, lambda chunk: LockedModules(reason), keys)
    try:
        key = keys.footer_key(footer.footer_signing_key_metadata)
    except MissingKeyError as error:
        return UnverifiedFooter(str(error), ChunkKeys(cipher, str(error), keys).modules, keys)
    cipher.check_signature(key, raw, signature)
    return SignedFooter(cipher, key, keys)


def _strip_padding(data: bytes, where: str) -> bytes:
    """The struct at the start of `data`; parquet-java pads those that it seals with zeros."""
    try:
        return data[: _kernel.struct_end(data)]
    except _kernel.ScanError as error:
        raise FooterError(f"{where}: footer: byte {error.position}: {error.problem}") from None
