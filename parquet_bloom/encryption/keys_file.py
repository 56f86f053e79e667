"""Keys from a JSON file, from options, or from both; here, or on another machine.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from difflib import get_close_matches
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from parquet_bloom.arguments import mapping_given, path_given
from parquet_bloom.dataclass import dataclass
from parquet_bloom.encryption.clients import KmsConnection, load_callable, load_kms
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.encryption.keyspec import (
    check_key,
    listed_keys,
    master_keys,
    named_keys,
    parse_prefix,
    read_token,
)
from parquet_bloom.encryption.settings import (
    PLACES,
    SETTINGS,
    TABLES,
    KeySettings,
    key_arguments,
)
from parquet_bloom.errors import ConfigError, EncryptionError

# What is read where it is used, and so can be named anywhere.
_NAMED_ANYWHERE = ("env:", "file:")


def _configuration(text: str, what: str) -> dict[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise EncryptionError(f"{what}: expected NAME=VALUE")
    return {name: value}


# What messages call an entry of each table, and the parser of one in text.
_PARSERS: dict[str, tuple[str, Callable[[str, str], dict[str, str]]]] = {
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
# KeySettings for writers, and Java classes whose work is done by pbloom or a Python KMS client.
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
    """The keys in a JSON file; calls `warn` if other users can read secrets in it.

    Raises ConfigError for an invalid file, EncryptionError for a key that is missing or invalid.
    """
    return make_keys(read_keys_file(path, warn), key_arguments({}, os.fspath(path)))


def read_keys_file(
    path: str | os.PathLike[str], warn: Callable[[str], None] = warnings.warn
) -> KeySettings:
    """The settings in a JSON file; calls `warn` if other users can read secrets in it. Raises ConfigError, and
    EncryptionError for what is no KEYSPEC, or no key: when keys are read, nobody knows any more that it is from this
    file."""
    where = path_given("path", path)
    with Path(where).open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        data = file.read()
    try:
        found = json.loads(data, object_pairs_hook=_unique_names)
    except (ValueError, RecursionError) as error:
        # The error reveals nothing of the file but a position.
        raise ConfigError(f"{where}: not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{where}: expected a JSON object")
    settings = settings_in(found, where)
    for name, text in _secrets(settings):
        if name != SETTINGS["kms_token"].called:
            check_key(text, f"{where}: {name}")
    parse_prefix(settings.get("aad_prefix", ""), f"{where}: AAD prefix")
    if mode & _READABLE_BY_OTHERS and _has_secrets(settings):
        warn(
            f"{where}: warning: other users can read the keys file: expected mode 0600,"
            f" found {mode & 0o777:04o}"
        )
    return settings


def settings_in(content: Mapping[str, object], where: str) -> KeySettings:
    """The settings that the content of a keys file makes. Raises ConfigError."""
    settings: KeySettings = {}
    for name, value in content.items():
        settings = merged(settings, _setting(name, value, where))
    return settings


def merged(settings: KeySettings, others: KeySettings) -> KeySettings:
    """Both combined; `others` wins."""
    tables = {
        name: {**settings[name], **others[name]}
        for name in TABLES
        if name in settings and name in others
    }
    return {**settings, **others, **tables}


def parse_table(name: str, texts: Iterable[str]) -> dict[str, str]:
    """A table from texts such as `a=env:KEY`, one or more entries each. Raises EncryptionError."""
    what, parse = _PARSERS[name]
    table: dict[str, str] = {}
    for text in texts:
        items = parse(text, what)
        for twice in sorted(items.keys() & table.keys()):
            called = SETTINGS[name].called or what
            raise EncryptionError(f"{called} {twice}: given twice, expected once")
        table |= items
    return table


def make_keys(settings: KeySettings, arguments: tuple[str, ...] | None = None) -> Keys:
    """Read the keys that the settings name, and create the KMS client. `arguments`: what gives a
    command the same keys, if not the settings. Raises EncryptionError."""
    given = dict(settings)
    connection = KmsConnection(
        kms_instance_id=given.pop("kms_instance_id", ""),
        kms_instance_url=given.pop("kms_instance_url", ""),
        key_access_token=read_token(given.pop("kms_token", "ascii:"), "KMS token"),
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


def _unique_names(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name!r} is given twice")
        found[name] = value
    return found


def _setting(name: str, value: object, where: str) -> KeySettings:
    """The setting that one entry of the file makes."""
    if name in SETTINGS and name not in TABLES:
        return {name: _text(value, name, where)}
    if name in TABLES:
        if not isinstance(value, dict):
            raise ConfigError(f"{where}: {name}: expected an object")
        return {name: {item: _text(value[item], f"{name}.{item}", where) for item in value}}
    return _property(name, value, where)


def _property(name: str, value: object, where: str) -> KeySettings:
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


def _text(value: object, name: str, where: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{where}: {name}: expected a string")
    return value


def _hint(name: str) -> str:
    close = get_close_matches(name, [*SETTINGS, *_PROPERTIES, *_IGNORED], 1)
    return f", did you mean {close[0]!r}?" if close else f", expected one of {', '.join(SETTINGS)}"


# ------------------------------------------------------------------------------------------------
# Keys that another machine reads


@dataclass(frozen=True, slots=True)
class KeyReferences:
    """Where the keys are, for another machine: what travels there is no secret. A Spark job is kept, shown and
    logged in many places; executors find the keys themselves: in a keys file, in their environment, in files,
    from a KMS. `keys_file`: path of a JSON file; `settings`: as in such a file, over which they take
    precedence. Raises EncryptionError for what is, or may be, a secret itself."""

    keys_file: str | None = None
    settings: KeySettings = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, text in _secrets(self.settings):
            if not text.startswith(_NAMED_ANYWHERE):
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
    def of(cls, keys: Mapping[str, object] | None, keys_file: str | None) -> Self:
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
        return make_keys(
            merged(in_file, self.settings), key_arguments(self.settings, self.keys_file)
        )


def _secrets(settings: KeySettings) -> Iterator[tuple[str, str]]:
    """Each key and token, with its name."""
    for name, setting in SETTINGS.items():
        if setting.called and name in settings:
            if not setting.is_table:
                yield setting.called, settings[name]
                continue
            for item, text in settings[name].items():
                yield f"{setting.called} {item}", text


def _has_secrets(settings: KeySettings) -> bool:
    """Whether any is, or may be, in the settings themselves, and not where they say."""
    given = (text for _, text in _secrets(settings))
    return any(_exposed(settings)) or not all(text.startswith(PLACES) for text in given)


def _exposed(settings: KeySettings) -> Iterator[tuple[str, str]]:
    """What may have a secret in it, and why."""
    if settings.get("kms_conf"):
        yield "KMS configuration", "it may hold a password"
    if urlsplit(settings.get("kms_instance_url", "")).password is not None:
        yield "KMS instance URL", "it has a password"
