"""How a file's footer is protected: what follows it, and where the keys of column chunks come from.

    plain     FileMetaData | length (4) | PAR1
    signed    FileMetaData | signature (28) | length (4) | PAR1
    unsigned  the same, of whose encryption somebody has taken away what the footer said
    sealed    FileCryptoMetaData | sealed FileMetaData | length (4) | PARE

Spec: parquet-format, README.md "File format", Encryption.md section 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from parquet_bloom.errors import EncryptionError
from parquet_bloom.parquet.sealed.modules import LockedModules, Modules

MAGIC = b"PAR1"
MAGIC_ENCRYPTED = b"PARE"

UNSIGNED = "columns are encrypted, and the footer neither says how nor is signed"


@dataclass(frozen=True, slots=True)
class EncryptedChunk:
    """What tells the key of an encrypted column chunk, and what it is bound to.

    `ordinal` is the one that its row group says it has, None if it says nothing; `row_group` and
    `column` are positions. `path` are the steps to the leaf column, `crypto` is its
    encoded crypto_metadata.
    """

    row_group: int
    column: int
    ordinal: int | None
    path: tuple[str, ...]
    crypto: bytes


class Protection(Protocol):
    """How a footer is protected.

    `hides_footer`: nobody reads it without its key. `has_untagged_pages`: encrypted pages can be
    changed by who has no key, and nobody sees it. `unverified`: why the footer can be another one
    than was signed, empty if it cannot. `fixed`: of the tail, what an edit must leave as it is.
    """

    @property
    def is_encrypted(self) -> bool: ...

    @property
    def hides_footer(self) -> bool: ...

    @property
    def has_untagged_pages(self) -> bool: ...

    @property
    def unverified(self) -> str: ...

    @property
    def fixed(self) -> bytes: ...

    def doubt(self, path: tuple[str, ...]) -> str:
        """Why it is not believed that the leaf column at `path` is not encrypted; empty if it is."""

    def tail(self, raw: bytes) -> bytes:
        """FileMetaData with what precedes and follows it, to the end of the file.

        Raises EncryptionError if there is no key for it.
        """

    def check_writable(self) -> None:
        """Raise EncryptionError or UnsupportedError if no other footer can be put in its place."""

    @property
    def modules(self) -> Callable[[EncryptedChunk], Modules]:
        """Tells how an encrypted chunk lies in the file."""


class Unprotected:
    """Of a file that is not encrypted."""

    is_encrypted = False
    hides_footer = False
    has_untagged_pages = False
    unverified = ""
    fixed = b""

    def doubt(self, path: tuple[str, ...]) -> str:
        return ""

    def tail(self, raw: bytes) -> bytes:
        return raw + tail_end(len(raw), MAGIC)

    def check_writable(self) -> None:
        return

    def modules(self, chunk: EncryptedChunk) -> Modules:
        return LockedModules(UNSIGNED)


class UnsignedFooter(Unprotected):
    """Of a file with encrypted columns, whose footer nobody vouches for."""

    is_encrypted = True
    unverified = UNSIGNED

    def tail(self, raw: bytes) -> bytes:
        raise EncryptionError(UNSIGNED)

    def check_writable(self) -> None:
        self.tail(b"")


def tail_end(length: int, magic: bytes) -> bytes:
    """The last 8 bytes of a file, `length` bytes of footer before them."""
    return length.to_bytes(4, "little") + magic


UNPROTECTED = Unprotected()
