"""The options that give a command the same keys again. They say where keys are, never what they are:
a key that was given itself is called KEYSPEC, as in the help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

# Settings of a keys file, and the options for them.
OPTIONS: Final = {
    "footer": "--footer-key",
    "columns": "--column-key",
    "key_ids": "--key-id",
    "uniform": "--uniform-key",
    "aad_prefix": "--aad-prefix",
    "master_keys": "--master-key",
    "kms": "--kms",
    "kms_conf": "--kms-conf",
    "kms_instance_id": "--kms-instance-id",
    "kms_instance_url": "--kms-instance-url",
    "kms_token": "--kms-token",
    "key_retriever": "--key-retriever",
    "key_material": "--key-material",
}
_SECRETS: Final = {"footer", "uniform", "kms_token"}
_SECRET_TABLES: Final = {"columns", "key_ids", "master_keys"}
_PLACES: Final = ("env:", "file:", "fd:")


def key_arguments(settings: Mapping[str, Any], keys_file: str | None = None) -> tuple[str, ...]:
    """What to add to a command. `settings`: as in a keys file; `keys_file`: the path of one."""
    return (*(["--keys", keys_file] if keys_file else ()), *_options(settings))


def _options(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, option in OPTIONS.items():
        given = settings.get(name)
        if given is None:
            continue
        if name in _SECRET_TABLES:
            for item, secret in given.items():
                yield from (option, f"{item}={_place(secret)}")
        elif name == "kms_conf":
            # May have a password.
            for item in given:
                yield from (option, f"{item}=VALUE")
        else:
            yield from (option, _shown(name, given))


def _shown(name: str, given: Any) -> str:
    if name in _SECRETS:
        return _place(given)
    if name == "kms_instance_url":
        from urllib.parse import urlsplit

        url = urlsplit(given)
        return "URL" if url.username or url.password or url.query else given
    return given if isinstance(given, str) else f"hex:{given.hex()}"


def _place(secret: Any) -> str:
    return secret if isinstance(secret, str) and secret.startswith(_PLACES) else "KEYSPEC"
