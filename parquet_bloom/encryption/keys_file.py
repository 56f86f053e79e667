"""Keys from a JSON file, from options, or from both.

    {"footer": "env:KF", "columns": {"user_id": "file:/run/secrets/k1,hex"}, "key_ids": {…},
     "uniform": …, "aad_prefix": …, "master_keys": {…}, "kms": "module:Class", "kms_conf": {…},
     "kms_instance_id": …, "kms_instance_url": …, "kms_token": "env:TOKEN",
     "key_retriever": "module:function", "key_material": "path"}

Properties of parquet-java are accepted, too, with or without the `spark.hadoop.` prefix. Those for
writers are ignored, because a file records how it is encrypted; any other name with a dot is passed
to the KMS client as configuration.

Source: parquet-java, parquet-hadoop/README.md, class PropertiesDrivenCryptoFactory.
"""

from __future__ import annotations

import json
import os
import stat
import warnings
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from parquet_bloom.arguments import path_given
from parquet_bloom.encryption.clients import KmsConnection, load_callable, load_kms
from parquet_bloom.encryption.key_arguments import key_arguments
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.encryption.keyspec import listed_keys, master_keys, named_keys, text_of
from parquet_bloom.errors import ConfigError, EncryptionError

Settings = dict[str, Any]

_TEXTS = (
    "footer",
    "uniform",
    "aad_prefix",
    "kms",
    "kms_instance_id",
    "kms_instance_url",
    "kms_token",
    "key_retriever",
    "key_material",
)


def _configuration(text: str, what: str) -> dict[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise EncryptionError(f"{what}: expected NAME=VALUE")
    return {name: value}


# Tables: what messages call an entry of each, and the parser of one in text.
_TABLES: dict[str, tuple[str, Callable[[str, str], dict[str, str]]]] = {
    "columns": ("key of a column", named_keys),
    "key_ids": ("key id", named_keys),
    "master_keys": ("master key", master_keys),
    "kms_conf": ("KMS configuration", _configuration),
}

_PROPERTIES = {
    "parquet.encryption.kms.instance.id": "kms_instance_id",
    "parquet.encryption.kms.instance.url": "kms_instance_url",
    "parquet.encryption.key.access.token": "kms_token",
    "parquet.encryption.key.list": "master_keys",
}
# Settings for writers, and Java classes whose work is done by pbloom or a Python KMS client.
_IGNORED = {
    "parquet.crypto.factory.class",
    "parquet.encryption.kms.client.class",
    *(
        f"parquet.encryption.{name}"
        for name in (
            "algorithm",
            "cache.lifetime.seconds",
            "column.keys",
            "complete.columns",
            "data.key.length.bits",
            "double.wrapping",
            "footer.key",
            "kek.length.bits",
            "key.material.store.internally",
            "plaintext.footer",
            "uniform.key",
            "wrap.locally",
        )
    ),
}
_PARQUET_JAVA = ("parquet.encryption.", "parquet.crypto.")
_SPARK = "spark.hadoop."

_READABLE_BY_OTHERS = stat.S_IRGRP | stat.S_IROTH


def read_keys(path: str | os.PathLike[str], warn: Callable[[str], None] = warnings.warn) -> Keys:
    """The keys in a JSON file; calls `warn` if other users can read it.

    Raises ConfigError for an invalid file, EncryptionError for a key that is missing or invalid.
    """
    return keys_of(read_keys_file(path, warn), key_arguments({}, os.fspath(path)))


def read_keys_file(
    path: str | os.PathLike[str], warn: Callable[[str], None] = warnings.warn
) -> Settings:
    """The settings in a JSON file; calls `warn` if other users can read it. Raises ConfigError."""
    where = path_given("path", path)
    with Path(where).open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        data = file.read()
    if mode & _READABLE_BY_OTHERS:
        warn(
            f"{where}: the keys file is readable by others: expected mode 0600,"
            f" found {mode & 0o777:04o}"
        )
    try:
        found = json.loads(data, object_pairs_hook=_unique_names)
    except (ValueError, RecursionError) as error:
        # The error reveals nothing of the file but a position.
        raise ConfigError(f"{where}: not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{where}: expected a JSON object")
    return settings_in(found, where)


def settings_in(content: Mapping[str, Any], where: str) -> Settings:
    """The settings that the content of a keys file makes. Raises ConfigError."""
    settings: Settings = {}
    for name, value in content.items():
        settings = merged(settings, _setting(name, value, where))
    return settings


def merged(settings: Settings, others: Settings) -> Settings:
    """Both combined; `others` wins."""
    tables = {
        name: {**settings[name], **others[name]}
        for name in _TABLES
        if name in settings and name in others
    }
    return {**settings, **others, **tables}


def table_of(name: str, texts: Iterable[str]) -> dict[str, str]:
    """A table from texts such as `a=env:KEY`, one or more entries each. Raises EncryptionError."""
    what, parse = _TABLES[name]
    table: dict[str, str] = {}
    for text in texts:
        items = parse(text, what)
        for twice in sorted(items.keys() & table.keys()):
            raise EncryptionError(f"{what} {twice}: given twice")
        table |= items
    return table


def keys_of(settings: Mapping[str, Any], arguments: tuple[str, ...] | None = None) -> Keys:
    """Read the keys that the settings name, and create the KMS client. `arguments`: what gives a
    command the same keys, if not the settings. Raises EncryptionError."""
    given = dict(settings)
    connection = KmsConnection(
        kms_instance_id=given.pop("kms_instance_id", ""),
        kms_instance_url=given.pop("kms_instance_url", ""),
        key_access_token=text_of(given.pop("kms_token", "ascii:"), "KMS token"),
        custom_kms_conf=given.pop("kms_conf", {}),
    )
    kms, retriever = given.pop("kms", None), given.pop("key_retriever", None)
    keys = Keys(
        kms_client=None if kms is None else load_kms(kms, connection),
        key_retriever=None if retriever is None else load_callable(retriever, "key retriever"),
        **given,
    )
    keys.arguments = key_arguments(settings) if arguments is None else arguments
    return keys


def _unique_names(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name!r} is given twice")
        found[name] = value
    return found


def _setting(name: str, value: Any, where: str) -> Settings:
    """The setting that one entry of the file makes."""
    if name in _TEXTS:
        return {name: _text(value, name, where)}
    if name in _TABLES:
        if not isinstance(value, dict):
            raise ConfigError(f"{where}: {name}: expected an object")
        return {name: {item: _text(value[item], f"{name}.{item}", where) for item in value}}
    return _property(name, value, where)


def _property(name: str, value: Any, where: str) -> Settings:
    """The setting that one Hadoop property makes."""
    plain = name.removeprefix(_SPARK)
    if plain in _IGNORED:
        return {}
    if "." not in plain or (plain not in _PROPERTIES and plain.startswith(_PARQUET_JAVA)):
        raise ConfigError(f"{where}: unknown name {name!r}{_hint(plain)}")
    text = _text(value, name, where)
    if plain not in _PROPERTIES:
        return {"kms_conf": {plain: text}}
    setting = _PROPERTIES[plain]
    if setting == "master_keys":
        return {setting: listed_keys(text, f"{where}: {name}")}
    return {setting: f"ascii:{text}" if setting == "kms_token" else text}


def _text(value: Any, name: str, where: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{where}: {name}: expected a string")
    return value


def _hint(name: str) -> str:
    close = get_close_matches(name, [*_TEXTS, *_TABLES, *_PROPERTIES, *_IGNORED], 1)
    return f", did you mean {close[0]!r}?" if close else ""
