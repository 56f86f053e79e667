"""How a file's footer is protected, which decides what follows it and where column keys come from.

    plain     FileMetaData | length (4) | PAR1
    signed    FileMetaData | signature (28) | length (4) | PAR1
    unsigned  encrypted columns, but a plain footer that does not describe the encryption
    sealed    FileCryptoMetaData | sealed FileMetaData | length (4) | PARE

Spec: parquet-format, README.md "File format", Encryption.md section 5.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import EncryptionError
from parquet_bloom.parquet.sealed.modules import LockedModules, Modules

MAGIC = b"PAR1"
MAGIC_ENCRYPTED = b"PARE"

UNSIGNED = "columns are encrypted, but the footer neither says how nor is signed"


@dataclass(frozen=True, slots=True)
class EncryptedChunk:
    """What identifies the key of an encrypted column chunk, and its AAD. `row_group` and `column`
    are positions; `ordinal` is stored in the row group, or None; `crypto` is the encoded
    crypto_metadata; `has_sealed_meta_data`: whether its ColumnMetaData is sealed by itself."""

    row_group: int
    column: int
    ordinal: int | None
    path: tuple[str, ...]
    crypto: bytes
    has_sealed_meta_data: bool


class Protection(ABC):
    """How a footer is protected.

    `hides_footer`: it cannot be read without its key. `has_untagged_pages`: encrypted pages can be
    altered without a key, and nobody notices. `unverified`: why the footer may not be the one that
    was signed; empty if it is. `missing`: the options that give a command the key without which it cannot be signed
    again; none if it can be. `fixed`: the part of the tail that an edit must keep. `crypto`: the FileCryptoMetaData
    in front of a footer that is hidden.
    """

    is_encrypted = True
    hides_footer = False
    has_untagged_pages = False
    unverified = ""
    missing: tuple[str, ...] = ()
    fixed = b""
    crypto = b""

    def __init__(self, modules: Callable[[EncryptedChunk], Modules]) -> None:
        """`modules`: returns how an encrypted chunk is stored."""
        self.modules = modules

    def doubt(self, path: tuple[str, ...]) -> str:
        """Why the leaf column at `path` may not be in plaintext, although the footer says so; empty
        if it is."""
        return ""

    @abstractmethod
    def tail(self, raw: bytes) -> bytes:
        """FileMetaData with what precedes and follows it, to the end of the file. Raises
        EncryptionError if there is no key for it."""

    def check_writable(self) -> None:
        """Raise EncryptionError if the footer cannot be replaced."""
        return


class Unprotected(Protection):
    """For a file that is not encrypted."""

    is_encrypted = False

    def __init__(self) -> None:
        super().__init__(lambda chunk: LockedModules(UNSIGNED))

    def tail(self, raw: bytes) -> bytes:
        return raw + tail_end(len(raw), MAGIC)


class UnsignedFooter(Unprotected):
    """For a file with encrypted columns whose footer is not authenticated."""

    is_encrypted = True
    unverified = UNSIGNED

    def tail(self, raw: bytes) -> bytes:
        raise EncryptionError(UNSIGNED)

    def check_writable(self) -> None:
        self.tail(b"")


def tail_end(length: int, magic: bytes) -> bytes:
    """The last 8 bytes of a file with a footer of `length` bytes."""
    return length.to_bytes(4, "little") + magic


UNPROTECTED = Unprotected()
