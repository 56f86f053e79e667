"""Modules of encrypted files: their envelopes, encryption and decryption.

    AES-GCM          | length (4) | nonce (12) | ciphertext | tag (16) |
    AES-CTR          | length (4) | nonce (12) | ciphertext |
    footer signature              | nonce (12) |              tag (16) |   for a plaintext footer

    AAD              | aad_prefix | aad_file_unique | module (1)
                     | row group (2) | column (2) | page (2) |

A length counts the bytes after it; integers are little-endian. Only page bodies use CTR, and only
under AES_GCM_CTR_V1; they are not authenticated. All other modules use GCM, and no plaintext is
returned before the tag has been verified.

Spec: parquet-format, Encryption.md sections 4 and 5.
"""

from __future__ import annotations

import hmac
from enum import Enum, IntEnum
from itertools import count
from os import urandom
from struct import pack
from typing import TYPE_CHECKING, NoReturn

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import (
    EncryptionError,
    MissingKeyError,
    TamperedError,
    UnsupportedError,
    needing,
)
from parquet_bloom.vocabulary import NO_PREFIX

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
# Ordinals of row groups, columns and pages are 16-bit, and no reader accepts the sign bit.
MAX_ORDINAL = 0x7FFF
# With random nonces, more would make a collision likely.
# Source: NIST SP 800-38D section 8.3.
MAX_SEALS = 1 << 32
# In CTR the block counter follows the nonce and starts at 1.
_FIRST_BLOCK = (1).to_bytes(4, "big")


class Module(IntEnum):
    """A unit of encryption, by its number in the AAD."""

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
        """The name for messages."""
        if self is Module.COLUMN_META_DATA:
            return "ColumnMetaData"
        return self.name.lower().removeprefix("bloom_").replace("_", " ")


_PAGE_BODIES = frozenset({Module.DATA_PAGE, Module.DICTIONARY_PAGE})
# Ordinals in the AAD: row group and column, and for two kinds of module the page.
_NUM_ORDINALS = dict.fromkeys(Module, 2) | {
    Module.FOOTER: 0,
    Module.DATA_PAGE: 3,
    Module.DATA_PAGE_HEADER: 3,
}


class Algorithm(Enum):
    """The algorithms of the format, under the format's names."""

    AES_GCM_V1 = "AES_GCM_V1"
    AES_GCM_CTR_V1 = "AES_GCM_CTR_V1"


class Secretive:
    """An object that cannot be pickled or copied."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__}: cannot be pickled or copied")


class Key(Secretive):
    """A secret of 16, 24 or 32 bytes, which no repr, message or pickle shows, and where it came
    from. Keys compare by identity, because each counts the modules encrypted with it."""

    __slots__ = ("_gcm", "_hint", "_seals", "_secret", "source")

    def __init__(self, secret: bytes, source: str, hint: str = "") -> None:
        """`source` is its name in messages, such as `footer key (env:KF)`; `hint` follows where it is
        wrong. Raises EncryptionError for a secret of another length, UnsupportedError without cryptography."""
        if len(secret) not in KEY_BYTES:
            raise EncryptionError(f"{source}: {len(secret)} bytes, expected 16, 24 or 32{hint}")
        with needing(source, "cryptography", "encryption"):
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self.source, self._hint = source, hint
        self._secret = bytes(secret)
        self._gcm = AESGCM(self._secret)
        self._seals = count(1)

    def __repr__(self) -> str:
        return f"Key(source={self.source!r})"

    def revealed(self) -> bytes:
        """The secret, for another reader."""
        return self._secret

    def open_gcm(self, sealed: Buffer, aad: bytes, *, is_right: bool = False) -> bytes:
        """Decrypt nonce, ciphertext and tag. Raises TamperedError unless the tag matches; `is_right`: whether the
        key and the AAD prefix have opened something before, so that they are not to be doubted."""
        from cryptography.exceptions import InvalidTag

        if len(sealed) < SIGNATURE_BYTES:
            raise TamperedError(f"{len(sealed)} bytes, expected at least {SIGNATURE_BYTES}")
        try:
            return self._gcm.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], aad)
        except InvalidTag:
            raise (self.altered() if is_right else self.mismatch()) from None

    def seal_gcm(self, plaintext: Buffer, aad: bytes) -> bytes:
        """A fresh nonce, ciphertext and tag."""
        nonce = self._new_nonce()
        return nonce + self._gcm.encrypt(nonce, plaintext, aad)

    def open_ctr(self, sealed: Buffer) -> bytes:
        """Decrypt nonce and ciphertext; nothing tells whether they were altered."""
        return self._ctr(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:])

    def seal_ctr(self, plaintext: Buffer) -> bytes:
        """A fresh nonce and ciphertext."""
        nonce = self._new_nonce()
        return nonce + self._ctr(nonce, plaintext)

    def sign(self, message: bytes, aad: bytes, nonce: bytes | None = None) -> bytes:
        """A nonce, fresh unless given, and the tag of `message`."""
        nonce = nonce or self._new_nonce()
        return nonce + self._gcm.encrypt(nonce, message, aad)[-TAG_BYTES:]

    def mismatch(self) -> TamperedError:
        return TamperedError(
            f"cannot be decrypted with {self.source}: wrong key, wrong AAD prefix or altered bytes{self._hint}"
        )

    def altered(self) -> TamperedError:
        """The same where the key and the AAD prefix are right."""
        return TamperedError(
            f"cannot be decrypted with {self.source}, which is right: altered or moved bytes, or not sealed as the"
            " format says"
        )

    def _ctr(self, nonce: Buffer, data: Buffer) -> bytes:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        mode = modes.CTR(bytes(nonce) + _FIRST_BLOCK)
        return Cipher(algorithms.AES(self._secret), mode).encryptor().update(data)

    def _new_nonce(self) -> bytes:
        if not any(self._secret):
            raise EncryptionError(f"{self.source}: refusing to encrypt with a key of zeros")
        if next(self._seals) > MAX_SEALS:
            raise EncryptionError(
                f"{self.source}: already encrypted {MAX_SEALS} modules, the most allowed for a key"
            )
        return urandom(NONCE_BYTES)


@dataclass(frozen=True, slots=True)
class FileCipher:
    """Encrypts and decrypts the modules of one file; `file_aad` is aad_prefix + aad_file_unique.

    A module is identified by its ordinals: row group and column for all but the footer, and for
    data pages and their headers the page, counted from 0 within the column chunk. An ordinal above
    32767 raises UnsupportedError.
    """

    algorithm: Algorithm
    file_aad: bytes

    def aad(self, module: Module, *ordinals: int) -> bytes:
        """The AAD, which binds a module to its file, kind and place."""
        if len(ordinals) != _NUM_ORDINALS[module]:
            raise ValueError(f"{module.words}: ordinals {ordinals}")
        if ordinals and not 0 <= min(ordinals) <= max(ordinals) <= MAX_ORDINAL:
            raise UnsupportedError(
                f"{module.words}: ordinals {[*ordinals]}, expected 0 to {MAX_ORDINAL}, the limit"
                " for encrypted files"
            )
        return self.file_aad + bytes([module]) + pack(f"<{len(ordinals)}H", *ordinals)

    def overhead(self, module: Module) -> int:
        """Bytes that the envelope adds to a module's plaintext."""
        return GCM_OVERHEAD if self.authenticates(module) else CTR_OVERHEAD

    def open(
        self, key: Key, module: Module, envelope: Buffer, *ordinals: int, is_right: bool = False
    ) -> bytes:
        """The plaintext of a whole envelope, its length field included.

        parquet-java pads the Thrift structs that it encrypts with zeros: expect bytes after them.
        Raises TamperedError, which names the module and the key's source; `is_right`: see Key.open_gcm.
        """
        aad = self.aad(module, *ordinals)
        try:
            size = envelope_size(envelope, len(envelope), self.overhead(module))
            if size != len(envelope):
                raise TamperedError(f"{len(envelope)} bytes, expected {size}")
            sealed = memoryview(envelope)[LENGTH_BYTES:]
            if not self.authenticates(module):
                return key.open_ctr(sealed)
            return key.open_gcm(sealed, aad, is_right=is_right)
        except TamperedError as error:
            raise TamperedError(f"{module.words}: {error}") from None

    def seal(self, key: Key, module: Module, plaintext: Buffer, *ordinals: int) -> bytes:
        """The whole envelope, its length field included, with a fresh nonce. Raises EncryptionError
        if the key is all zeros or has encrypted 2**32 modules."""
        aad = self.aad(module, *ordinals)
        has_tag = self.authenticates(module)
        sealed = key.seal_gcm(plaintext, aad) if has_tag else key.seal_ctr(plaintext)
        return len(sealed).to_bytes(LENGTH_BYTES, "little") + sealed

    def sign(self, key: Key, footer: bytes) -> bytes:
        """The 28-byte signature that follows `footer`, the exact bytes of its FileMetaData."""
        return key.sign(footer, self.aad(Module.FOOTER))

    def check_signature(self, key: Key, footer: bytes, signature: bytes) -> None:
        """Raise TamperedError unless `signature` is valid for exactly these bytes."""
        if len(signature) != SIGNATURE_BYTES:
            raise TamperedError(
                f"footer signature: {len(signature)} bytes, expected {SIGNATURE_BYTES}"
            )
        expected = key.sign(footer, self.aad(Module.FOOTER), signature[:NONCE_BYTES])
        if not hmac.compare_digest(expected, signature):
            raise TamperedError(f"footer signature: {key.mismatch()}")

    def authenticates(self, module: Module) -> bool:
        """Whether such a module has a tag, without which any bytes can be decrypted."""
        return self.algorithm is Algorithm.AES_GCM_V1 or module not in _PAGE_BODIES


def envelope_size(prefix: Buffer, limit: int, overhead: int = GCM_OVERHEAD) -> int:
    """The size of an envelope, its length field included, from its first four bytes. Raises
    TamperedError unless it is `overhead` to `limit`, before anything is read or allocated."""
    if len(prefix) < LENGTH_BYTES:
        raise TamperedError(f"{len(prefix)} bytes, expected an envelope of {overhead} or more")
    size = LENGTH_BYTES + int.from_bytes(prefix[:LENGTH_BYTES], "little")
    if not overhead <= size <= limit:
        raise TamperedError(f"an envelope of {size} bytes, expected {overhead} to {limit}")
    return size


def file_cipher(algorithm: ttypes.EncryptionAlgorithm, aad_prefix: bytes | None) -> FileCipher:
    """The cipher that the footer describes; `aad_prefix`: what the user gave, if anything.

    Raises UnsupportedError for another algorithm or a file without aad_file_unique, MissingKeyError
    if the file needs a prefix and none was given, EncryptionError if the wrong one was.
    """
    for member in Algorithm:
        details: ttypes.AesGcmV1 | ttypes.AesGcmCtrV1 | None = getattr(algorithm, member.value)
        if details is not None:
            break
    else:
        names = " or ".join(member.value for member in Algorithm)
        raise UnsupportedError(f"unknown encryption algorithm, expected {names}")
    if not details.aad_file_unique:
        raise UnsupportedError(
            "encrypted without aad_file_unique, as DuckDB does in violation of the format"
        )
    stored: bytes | None = details.aad_prefix
    if details.supply_aad_prefix and aad_prefix is None:
        raise MissingKeyError(NO_PREFIX)
    if aad_prefix is not None and stored is None and not details.supply_aad_prefix:
        raise EncryptionError("an AAD prefix was given, but the file has none")
    if aad_prefix is not None and stored is not None and aad_prefix != stored:
        raise EncryptionError("the AAD prefix given differs from the one that the file stores")
    return FileCipher(member, (aad_prefix or stored or b"") + details.aad_file_unique)
