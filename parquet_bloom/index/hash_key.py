"""The key of an index whose hashes are a secret: SipHash-2-4 of what is hashed without one.

Whoever has an index can try values that they guess, and so learn which files hold them. With a key, nobody can who
does not have it. The manifest keeps a check of the key, because with another one every value would be absent.
"""

from __future__ import annotations

from typing import Final

from parquet_bloom.encryption.cipher import Secretive
from parquet_bloom.encryption.keyspec import read_secret
from parquet_bloom.errors import EncryptionError
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np

_KEY_BYTES: Final = 16
# Longer than a hash, so that the check is no value's.
_CHECKED: Final = b"pbloom index key check"


class HashKey(Secretive):
    """A secret of 16 bytes, which no repr or message shows."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes | str) -> None:
        """The key itself, or a KEYSPEC. Raises EncryptionError."""
        found, source, hint = read_secret(secret, "hash key")
        if len(found) != _KEY_BYTES:
            raise EncryptionError(f"{source}: {len(found)} bytes, expected {_KEY_BYTES}{hint}")
        self._secret = found

    @property
    def check(self) -> str:
        """Tells keys from each other, and nothing about them."""
        return f"{_kernel.siphash(_CHECKED, self._secret):016x}"

    def of(self, hash: int) -> int:
        """A hash of 64 bits, hashed with the key."""
        return _kernel.siphash(hash.to_bytes(8, "little"), self._secret)

    def of_many(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return _kernel.siphash_words(np.ascontiguousarray(hashes), self._secret)
