"""Modules of encrypted files: what stands in an envelope, and how it is sealed and opened.

    AES-GCM          | length (4) | nonce (12) | ciphertext | tag (16) |
    AES-CTR          | length (4) | nonce (12) | ciphertext |
    signature                     | nonce (12) |              tag (16) |   of a plaintext footer

    AAD              | aad_prefix | aad_file_unique | module (1)
                     | row group (2) | column (2) | page (2) |

A length counts what follows it; integers are little-endian. Only the bodies of pages are ever in
CTR, and only with AES_GCM_CTR_V1: their bytes are not authenticated. All others are in GCM, and
nothing of them is given out before the tag has been checked.

Spec: parquet-format, Encryption.md sections 4 and 5.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from enum import Enum, IntEnum
from itertools import count
from os import urandom
from struct import pack
from typing import TYPE_CHECKING, Any, NoReturn

from parquet_bloom.errors import EncryptionError, MissingKeyError, TamperedError, UnsupportedError

if TYPE_CHECKING:
    from parquet_bloom.parquet.thrift import ttypes

LENGTH_BYTES = 4
NONCE_BYTES = 12
TAG_BYTES = 16
SIGNATURE_BYTES = NONCE_BYTES + TAG_BYTES
# What an envelope adds to its plaintext.
CTR_OVERHEAD = LENGTH_BYTES + NONCE_BYTES
GCM_OVERHEAD = CTR_OVERHEAD + TAG_BYTES

Buffer = bytes | bytearray | memoryview

KEY_BYTES = (16, 24, 32)
# Row groups, columns and pages are numbered in 16 bits, and no reader takes the sign bit.
MAX_ORDINAL = 0x7FFF
# With random nonces, more would make it likely that two are equal.
# Source: NIST SP 800-38D section 8.3.
MAX_SEALS = 1 << 32
# CTR counts blocks from 1 behind the nonce.
_FIRST_BLOCK = (1).to_bytes(4, "big")


class Module(IntEnum):
    """What is encrypted as one piece; the numbers are those in the AAD."""

    FOOTER = 0
    COLUMN_META_DATA = 1
    DATA_PAGE = 2
    DICTIONARY_PAGE = 3
    DATA_PAGE_HEADER = 4
    DICTIONARY_PAGE_HEADER = 5
    COLUMN_INDEX = 6
    OFFSET_INDEX = 7
    BLOOM_FILTER_HEADER = 8
    BLOOM_FILTER_BITSET = 9

    @property
    def words(self) -> str:
        """How a message names it."""
        return _WORDS[self]


_WORDS = {
    Module.FOOTER: "footer",
    Module.COLUMN_META_DATA: "ColumnMetaData",
    Module.DATA_PAGE: "data page",
    Module.DICTIONARY_PAGE: "dictionary page",
    Module.DATA_PAGE_HEADER: "data page header",
    Module.DICTIONARY_PAGE_HEADER: "dictionary page header",
    Module.COLUMN_INDEX: "column index",
    Module.OFFSET_INDEX: "offset index",
    Module.BLOOM_FILTER_HEADER: "filter header",
    Module.BLOOM_FILTER_BITSET: "filter bitset",
}
_PAGE_BODIES = frozenset({Module.DATA_PAGE, Module.DICTIONARY_PAGE})
# How many ordinals a module has: row group and column, and the page for two of them.
_NUM_ORDINALS = dict.fromkeys(Module, 2) | {
    Module.FOOTER: 0,
    Module.DATA_PAGE: 3,
    Module.DATA_PAGE_HEADER: 3,
}


class Algorithm(Enum):
    """The algorithms of the format, by the names that it gives them."""

    AES_GCM_V1 = "AES_GCM_V1"
    AES_GCM_CTR_V1 = "AES_GCM_CTR_V1"


class Key:
    """A secret of 16, 24 or 32 bytes, and where it came from.

    Its bytes are in no repr, message or pickle. Two keys are equal only if they are one object:
    the seals that are made with a secret are counted here.
    """

    __slots__ = ("_gcm", "_seals", "_secret", "source")

    def __init__(self, secret: bytes, source: str) -> None:
        """`source` names it in messages: `footer key (env:KF)`. Raises EncryptionError on length."""
        if len(secret) not in KEY_BYTES:
            raise EncryptionError(f"{source}: {len(secret)} bytes, expected 16, 24 or 32")
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self.source = source
        self._secret = bytes(secret)
        self._gcm = AESGCM(self._secret)
        self._seals = count(1)

    def __repr__(self) -> str:
        return f"Key(source={self.source!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a key is neither pickled nor copied")

    def open_gcm(self, sealed: Buffer, aad: bytes) -> bytes:
        """The plaintext of nonce, ciphertext and tag. Raises TamperedError unless the tag fits."""
        from cryptography.exceptions import InvalidTag

        if len(sealed) < SIGNATURE_BYTES:
            raise TamperedError(f"{len(sealed)} bytes, expected at least {SIGNATURE_BYTES}")
        try:
            return self._gcm.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], aad)
        except InvalidTag:
            raise self._tampered() from None

    def seal_gcm(self, plaintext: Buffer, aad: bytes) -> bytes:
        """Nonce, ciphertext and tag; the nonce is new."""
        nonce = self._new_nonce()
        return nonce + self._gcm.encrypt(nonce, plaintext, aad)

    def open_ctr(self, sealed: Buffer) -> bytes:
        """The plaintext of a nonce and ciphertext, or of whatever has been made of them."""
        return self._ctr(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:])

    def seal_ctr(self, plaintext: Buffer) -> bytes:
        """Nonce and ciphertext; the nonce is new."""
        nonce = self._new_nonce()
        return nonce + self._ctr(nonce, plaintext)

    def sign(self, message: bytes, aad: bytes) -> bytes:
        """Nonce and tag of `message`; the nonce is new."""
        return self._sign(self._new_nonce(), message, aad)

    def check_signature(self, message: bytes, aad: bytes, signature: bytes) -> None:
        """Raise TamperedError unless `signature` is one of `message` with this key."""
        if len(signature) != SIGNATURE_BYTES:
            raise TamperedError(f"{len(signature)} bytes, expected {SIGNATURE_BYTES}")
        expected = self._sign(signature[:NONCE_BYTES], message, aad)
        if not hmac.compare_digest(expected, signature):
            raise self._tampered()

    def _sign(self, nonce: bytes, message: bytes, aad: bytes) -> bytes:
        return nonce + self._gcm.encrypt(nonce, message, aad)[-TAG_BYTES:]

    def _ctr(self, nonce: Buffer, data: Buffer) -> bytes:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        stream = Cipher(
            algorithms.AES(self._secret), modes.CTR(bytes(nonce) + _FIRST_BLOCK)
        ).encryptor()
        return stream.update(data)

    def _new_nonce(self) -> bytes:
        if not any(self._secret):
            raise EncryptionError(f"{self.source}: all its bytes are 0: it is no secret")
        if next(self._seals) > MAX_SEALS:
            raise EncryptionError(f"{self.source}: sealed {MAX_SEALS} modules, none more")
        return urandom(NONCE_BYTES)

    def _tampered(self) -> TamperedError:
        return TamperedError(
            f"does not open with {self.source}: the key, the AAD prefix or the bytes are wrong"
        )


@dataclass(frozen=True, slots=True)
class FileCipher:
    """How the modules of one file are sealed; `file_aad`: aad_prefix and aad_file_unique.

    Modules are named by their ordinals: `row_group` and `column` for all but the footer, `page` for
    data pages and their headers, counted from 0 within the column chunk. An ordinal above 32767 is
    an UnsupportedError.
    """

    algorithm: Algorithm
    file_aad: bytes

    def aad(
        self,
        module: Module,
        row_group: int | None = None,
        column: int | None = None,
        page: int | None = None,
    ) -> bytes:
        """What a module is bound to: the file, the module's kind and its place."""
        ordinals = [number for number in (row_group, column, page) if number is not None]
        if len(ordinals) != _NUM_ORDINALS[module]:
            raise ValueError(f"{module.words}: ordinals {row_group}, {column}, {page}")
        if ordinals and not 0 <= min(ordinals) <= max(ordinals) <= MAX_ORDINAL:
            raise UnsupportedError(
                f"{module.words}: ordinals {ordinals}, expected 0 to {MAX_ORDINAL}: the format has"
                " no more for encrypted files"
            )
        return self.file_aad + bytes([module]) + pack(f"<{len(ordinals)}H", *ordinals)

    def overhead(self, module: Module) -> int:
        """What the envelope of a module adds to its plaintext, in bytes."""
        return CTR_OVERHEAD if self._is_ctr(module) else GCM_OVERHEAD

    def open(
        self,
        key: Key,
        module: Module,
        envelope: Buffer,
        row_group: int | None = None,
        column: int | None = None,
        page: int | None = None,
    ) -> bytes:
        """The plaintext of a whole envelope, from its length on.

        parquet-java writes zeros behind the Thrift structs that it seals: expect bytes after them.
        Raises TamperedError, which names the module and where the key came from.
        """
        aad = self.aad(module, row_group, column, page)
        try:
            size = envelope_size(envelope, len(envelope), self.overhead(module))
            if size != len(envelope):
                raise TamperedError(f"{len(envelope)} bytes, expected {size}")
            sealed = memoryview(envelope)[LENGTH_BYTES:]
            return key.open_ctr(sealed) if self._is_ctr(module) else key.open_gcm(sealed, aad)
        except TamperedError as error:
            raise TamperedError(f"{module.words}: {error}") from None

    def seal(
        self,
        key: Key,
        module: Module,
        plaintext: Buffer,
        row_group: int | None = None,
        column: int | None = None,
        page: int | None = None,
    ) -> bytes:
        """The whole envelope, its length included; the nonce is new.

        Raises EncryptionError if the key is all zeros, or after 2**32 seals with it.
        """
        aad = self.aad(module, row_group, column, page)
        is_ctr = self._is_ctr(module)
        sealed = key.seal_ctr(plaintext) if is_ctr else key.seal_gcm(plaintext, aad)
        return len(sealed).to_bytes(LENGTH_BYTES, "little") + sealed

    def sign(self, key: Key, footer: bytes) -> bytes:
        """The 28 bytes that follow a plaintext footer, the exact bytes of its FileMetaData."""
        return key.sign(footer, self.aad(Module.FOOTER))

    def check_signature(self, key: Key, footer: bytes, signature: bytes) -> None:
        """Raise TamperedError unless `signature` is one of exactly these bytes."""
        try:
            key.check_signature(footer, self.aad(Module.FOOTER), signature)
        except TamperedError as error:
            raise TamperedError(f"footer signature: {error}") from None

    def _is_ctr(self, module: Module) -> bool:
        return self.algorithm is Algorithm.AES_GCM_CTR_V1 and module in _PAGE_BODIES


def envelope_size(prefix: Buffer, limit: int, overhead: int = GCM_OVERHEAD) -> int:
    """The bytes of an envelope, its length included, by its first four; at most `limit`.

    Raises TamperedError on a length that is too small for any envelope or reaches past `limit`, so
    that nothing is read or allocated for it.
    """
    if len(prefix) < LENGTH_BYTES:
        raise TamperedError(f"{len(prefix)} bytes, expected an envelope of {overhead} or more")
    size = LENGTH_BYTES + int.from_bytes(prefix[:LENGTH_BYTES], "little")
    if not overhead <= size <= limit:
        raise TamperedError(f"an envelope of {size} bytes, expected {overhead} to {limit}")
    return size


def file_cipher(algorithm: ttypes.EncryptionAlgorithm, aad_prefix: bytes | None) -> FileCipher:
    """What the footer says of the encryption, with the AAD prefix that a user gave, if any.

    Raises UnsupportedError on another algorithm and on a file without aad_file_unique,
    MissingKeyError on a prefix that the file does not store and nobody gave, EncryptionError on one
    that is not the file's.
    """
    chosen, details = _algorithm(algorithm)
    if not details.aad_file_unique:
        raise UnsupportedError(
            "encrypted without aad_file_unique: not as the format says but as DuckDB does it"
        )
    prefix = _prefix(details, aad_prefix)
    return FileCipher(chosen, prefix + details.aad_file_unique)


def _algorithm(
    algorithm: ttypes.EncryptionAlgorithm,
) -> tuple[Algorithm, ttypes.AesGcmV1 | ttypes.AesGcmCtrV1]:
    for member in Algorithm:
        details = getattr(algorithm, member.value)
        if details is not None:
            return member, details
    names = " or ".join(member.value for member in Algorithm)
    raise UnsupportedError(f"unknown encryption algorithm, expected {names}")


def _prefix(details: ttypes.AesGcmV1 | ttypes.AesGcmCtrV1, given: bytes | None) -> bytes:
    stored: bytes | None = details.aad_prefix
    if details.supply_aad_prefix and given is None:
        raise MissingKeyError("the file does not store its AAD prefix: expected one to be given")
    if given is not None and stored is None and not details.supply_aad_prefix:
        raise EncryptionError("an AAD prefix was given, but the file has none")
    if given is not None and stored is not None and given != stored:
        raise EncryptionError("another AAD prefix was given than the file stores")
    return given or stored or b""
