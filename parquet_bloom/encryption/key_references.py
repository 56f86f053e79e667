"""Keys that another machine reads: what travels there says where they are, and is no secret.

A Spark job is kept, shown and logged in many places. Executors find the keys themselves: in a keys
file, in their environment, in files, from a KMS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from parquet_bloom.arguments import mapping_given, path_given
from parquet_bloom.encryption.key_arguments import key_arguments
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.encryption.keys_file import (
    Settings,
    keys_of,
    merged,
    read_keys_file,
    settings_in,
)
from parquet_bloom.errors import EncryptionError

# What is read where it is used, and so can be named anywhere.
_SOURCES = ("env:", "file:")

# Settings, and what messages call them.
_SECRET_TEXTS = {"footer": "footer key", "uniform": "uniform key", "kms_token": "KMS token"}
_SECRET_TABLES = {"columns": "key of column", "key_ids": "key id", "master_keys": "master key"}


@dataclass(frozen=True, slots=True)
class KeyReferences:
    """Where the keys are. `keys_file`: path of a JSON file; `settings`: as in such a file, over which
    they take precedence. Raises EncryptionError for what is, or may be, a secret itself."""

    keys_file: str | None = None
    settings: Settings = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, text in _secrets(self.settings):
            if not text.startswith(_SOURCES):
                raise EncryptionError(
                    f"{name}: would be part of the job, which others can see: expected env:VAR or"
                    " file:PATH, for the executors to read"
                )
        for name, why in _exposed(self.settings):
            raise EncryptionError(
                f"{name}: {why}, and others can see the job: expected it in a keys file that the"
                " executors can read"
            )

    @classmethod
    def of(cls, keys: Mapping[str, Any] | None, keys_file: str | None) -> Self:
        """`keys`: as the content of a keys file. Raises ConfigError for what it cannot have, too, and
        TypeError for anything but a dictionary and a path."""
        given = {} if keys is None else mapping_given("keys", keys, "references such as env:VAR")
        path = None if keys_file is None else path_given("keys_file", keys_file)
        return cls(path, settings_in(given, "keys"))

    def read(self) -> Keys | None:
        """The keys, None if none were named. Raises ConfigError, EncryptionError."""
        if self.keys_file is None and not self.settings:
            return None
        in_file = {} if self.keys_file is None else read_keys_file(self.keys_file)
        return keys_of(merged(in_file, self.settings), key_arguments(self.settings, self.keys_file))


def _secrets(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each key and token, with its name."""
    for name, called in _SECRET_TEXTS.items():
        if name in settings:
            yield called, settings[name]
    for name, called in _SECRET_TABLES.items():
        for item, text in settings.get(name, {}).items():
            yield f"{called} {item}", text


def _exposed(settings: Settings) -> Iterator[tuple[str, str]]:
    """What may have a secret in it, and why."""
    if settings.get("kms_conf"):
        yield "KMS configuration", "it may hold a password"
    if urlsplit(settings.get("kms_instance_url", "")).password is not None:
        yield "KMS instance URL", "it has a password"
