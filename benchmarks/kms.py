"""The KMS of the encrypted files that are measured: master keys that everybody knows.

As a program it prints them as options of pbloom, in JSON.
"""

from __future__ import annotations

import base64
import json
import os

import pyarrow.parquet.encryption as pe
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MASTER_KEYS = {"footer": b"footer master 16", "column": b"column master 16"}


class BenchmarkKms(pe.KmsClient):
    """Wraps and unwraps in memory, as the clients of pyarrow's examples do."""

    def __init__(self, connection: pe.KmsConnectionConfig) -> None:
        super().__init__()

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        nonce = os.urandom(12)
        sealed = self._master(master_key_identifier).encrypt(
            nonce, key_bytes, master_key_identifier.encode()
        )
        return base64.b64encode(nonce + sealed)

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        sealed = base64.b64decode(wrapped_key)
        return self._master(master_key_identifier).decrypt(
            sealed[:12], sealed[12:], master_key_identifier.encode()
        )

    def _master(self, identifier: str) -> AESGCM:
        return AESGCM(MASTER_KEYS[identifier])


if __name__ == "__main__":
    options = (f"{name}=hex:{secret.hex()}" for name, secret in MASTER_KEYS.items())
    print(json.dumps([part for option in options for part in ("--master-key", option)]))
