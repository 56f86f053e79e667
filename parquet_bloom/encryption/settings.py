"""The settings of keys, by the names that a keys file has for them, and the options that give a command the
same keys again.

Options say where keys are, never what they are: a key that was given itself is called KEYSPEC, as in the help.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from parquet_bloom.errors import without_secrets

# Text for each setting, by item where it is a table; an AAD prefix may be bytes.
KeySettings: TypeAlias = dict[str, Any]


class KeySetting(NamedTuple):
    """`called`: in messages, if it is a secret, or has one for each item of a table."""

    option: str
    called: str = ""
    is_table: bool = False


SETTINGS: Final = {
    "footer": KeySetting("--footer-key", "footer key"),
    "columns": KeySetting("--column-key", "key of column", is_table=True),
    "key_ids": KeySetting("--key-id", "key id", is_table=True),
    "uniform": KeySetting("--uniform-key", "uniform key"),
    "aad_prefix": KeySetting("--aad-prefix"),
    "master_keys": KeySetting("--master-key", "master key", is_table=True),
    "kms": KeySetting("--kms"),
    "kms_conf": KeySetting("--kms-conf", is_table=True),
    "kms_instance_id": KeySetting("--kms-instance-id"),
    "kms_instance_url": KeySetting("--kms-instance-url"),
    "kms_token": KeySetting("--kms-token", "KMS token"),
    "key_retriever": KeySetting("--key-retriever"),
    "key_material": KeySetting("--key-material"),
}
TABLES: Final = {name for name, setting in SETTINGS.items() if setting.is_table}

# Where a secret can be, instead of the secret.
PLACES: Final = ("env:", "file:", "fd:")


def key_arguments(settings: KeySettings, keys_file: str | None = None) -> tuple[str, ...]:
    """What to add to a command. `settings`: as in a keys file; `keys_file`: the path of one."""
    return (*(["--keys", keys_file] if keys_file else ()), *_options(settings))


def _options(settings: KeySettings) -> Iterator[str]:
    for name, setting in SETTINGS.items():
        given = settings.get(name)
        if given is None:
            continue
        if not setting.is_table:
            yield from (
                setting.option,
                place_of_key(given) if setting.called else _shown(name, given),
            )
        else:
            for item in given:
                # KMS configuration may have a password.
                place = place_of_key(given[item]) if setting.called else "VALUE"
                yield from (setting.option, f"{item}={place}")


def _shown(name: str, given: str | bytes) -> str:
    if not isinstance(given, str):
        return f"hex:{given.hex()}"
    if name == "kms_instance_url":
        from urllib.parse import urlsplit

        url = urlsplit(given)
        return "URL" if url.username or url.password or url.query else given
    return without_secrets(given) if name == "key_material" else given


def place_of_key(secret: object) -> str:
    """A KEYSPEC that says where a key is, KEYSPEC for one that is the key."""
    return secret if isinstance(secret, str) and secret.startswith(PLACES) else "KEYSPEC"


def file_of(keyspec: str) -> str:
    """The path of `file:PATH[,ENC]`, which may stand behind a name as in `user.id=file:PATH`; empty for any other."""
    found = re.search(r"(?:^|=)file:(.*?)(?:,(?:hex|base64|ascii|raw))?$", keyspec, re.DOTALL)
    return found[1] if found else ""
