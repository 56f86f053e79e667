"""Footers of encrypted files: decrypt or verify them, and seal or sign them again after an edit.

    sealed    | FileCryptoMetaData | sealed FileMetaData | length (4) | PARE |
    signed    | FileMetaData | nonce (12), tag (16)      | length (4) | PAR1 |

The key metadata in the file is kept: an edit seals with the same keys and fresh nonces.

Spec: parquet-format, Encryption.md section 5; parquet.thrift `FileCryptoMetaData`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

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
from parquet_bloom.parquet.sealed.protection import (
    MAGIC,
    MAGIC_ENCRYPTED,
    EncryptedChunk,
    Protection,
    tail_end,
)
from parquet_bloom.parquet.sealed.sealed_modules import SealedModules
from parquet_bloom.parquet.thrift import ttypes


def modules_of_chunks(
    cipher: FileCipher, footer_key: Key | str, keys: Keys
) -> Callable[[EncryptedChunk], Modules]:
    """A function that returns how an encrypted chunk is stored, and looks each key up once; it
    raises EncryptionError if a KMS fails. `footer_key`: a str is the reason why there is none."""

    @cache
    def key_of(path: tuple[str, ...], encoded: bytes) -> Key | str:
        try:
            crypto, _ = compact.decode(ttypes.ColumnCryptoMetaData, encoded)
        except (FormatError, _kernel.ScanError) as error:
            return f"crypto_metadata: {error}"
        if crypto.ENCRYPTION_WITH_FOOTER_KEY is not None:
            return footer_key
        own = crypto.ENCRYPTION_WITH_COLUMN_KEY
        if own is None:
            return "crypto_metadata names no key"
        try:
            return keys.column_key(path, own.key_metadata)
        except MissingKeyError as error:
            return str(error)

    def modules(chunk: EncryptedChunk) -> Modules:
        key = key_of(chunk.path, chunk.crypto)
        if isinstance(key, str):
            return LockedModules(key)
        ordinal = chunk.row_group if chunk.ordinal is None else chunk.ordinal
        return SealedModules(cipher, key, ordinal, chunk.column, _doubt(chunk))

    return modules


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
        opened = cipher.open(key, Module.FOOTER, data[end:])
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
        return UnverifiedFooter(reason, lambda chunk: LockedModules(reason), keys)
    try:
        key = keys.footer_key(footer.footer_signing_key_metadata)
    except MissingKeyError as error:
        return UnverifiedFooter(str(error), modules_of_chunks(cipher, str(error), keys), keys)
    cipher.check_signature(key, raw, signature)
    return SignedFooter(cipher, key, keys)


def _strip_padding(data: bytes, where: str) -> bytes:
    """The struct at the start of `data`; parquet-java pads those that it seals with zeros."""
    try:
        return data[: _kernel.struct_end(data)]
    except _kernel.ScanError as error:
        raise FooterError(f"{where}: footer: byte {error.position}: {error.problem}") from None
