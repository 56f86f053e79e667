"""Modular encryption with one key for the whole file, AES-GCM throughout.

    module   length (4 bytes) | nonce (12) | ciphertext | tag (16)

The same bytes everywhere: nonces are counted, which is fit for nothing but tests.

Spec: parquet-format, Encryption.md
"""

from __future__ import annotations

from itertools import count
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FOOTER, DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_HEADER, DICTIONARY_PAGE_HEADER = 0, 2, 3, 4, 5
FILTER_HEADER, FILTER_BITSET = 8, 9
# What each module of the file is bound to.
UNIQUE: Final = b"conform\1"
OVERHEAD: Final = 4 + 12 + 16


class Seal:
    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self._nonces = count()

    def __call__(self, module: int, plain: bytes, *ordinals: int) -> bytes:
        """The module; `ordinals`: of row group, column and data page, as far as it has any."""
        nonce = next(self._nonces).to_bytes(12, "big")
        bound = UNIQUE + bytes([module]) + b"".join(each.to_bytes(2, "little") for each in ordinals)
        sealed = nonce + self._cipher.encrypt(nonce, plain, bound)
        return len(sealed).to_bytes(4, "little") + sealed
