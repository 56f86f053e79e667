"""Options for the keys of encrypted files."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from parquet_bloom.commands.options import FILE, Decorator, together
from parquet_bloom.commands.sections import encryption_option

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys

GivenKeys: TypeAlias = "Keys | None"

# Parameter -> the setting in a keys file, how the value looks, the help.
_KEY_PARAMETERS = {
    "footer_key": ("footer", "KEYSPEC", "Key of the footer."),
    "column_key": ("columns", "COLUMN=KEYSPEC", "Key of a leaf column, or of all in a group."),
    "key_id": ("key_ids", "ID=KEYSPEC", "Key of everything that the file marks with this id."),
    "uniform_key": ("uniform", "KEYSPEC", "Key of everything that has no other."),
    "aad_prefix": ("aad_prefix", "TEXT|hex:…", "AAD prefix, if the file does not store it."),
    "master_key": (
        "master_keys",
        "ID=KEYSPEC",
        "Master key that unwraps keys, or ID:BASE64,ID:BASE64.",
    ),
    "kms": ("kms", "MODULE:CLASS", "KMS client that unwraps keys; one for pyarrow will do."),
    "kms_conf": ("kms_conf", "NAME=VALUE", "Configuration of the KMS client."),
    "kms_instance_id": ("kms_instance_id", "ID", "Instance id, for the KMS client."),
    "kms_instance_url": ("kms_instance_url", "URL", "Instance URL, for the KMS client."),
    "kms_token": ("kms_token", "KEYSPEC", "Access token of the KMS client."),
    "key_retriever": (
        "key_retriever",
        "MODULE:FUNCTION",
        "Function that finds a key by a file's key_metadata.",
    ),
    "key_material": (
        "key_material",
        "FILE",
        "External key material, if it is not beside the file.",
    ),
}
_KEY_TABLES = {"columns", "key_ids", "master_keys", "kms_conf"}


def _key_option(parameter: str, setting: str, metavar: str, help: str) -> Decorator:
    repeatable = setting in _KEY_TABLES
    return encryption_option(
        f"--{parameter.replace('_', '-')}",
        parameter,
        metavar=metavar,
        multiple=repeatable,
        help=f"{help.removesuffix('.')}; repeatable." if repeatable else help,
    )


def _options(keyspec: str, file: str) -> Decorator:
    """All of them; `keyspec` and `file` say what a KEYSPEC and a keys file are."""
    about = dict(_KEY_PARAMETERS)
    setting, metavar, help = about["footer_key"]
    about["footer_key"] = setting, metavar, f"{help} KEYSPEC: {keyspec}"
    return together(
        encryption_option(
            "--keys", "keys_file", type=FILE, envvar="PBLOOM_KEYS", show_envvar=True, help=file
        ),
        *(_key_option(parameter, *each) for parameter, each in about.items()),
    )


def _take_settings(given: dict[str, Any]) -> dict[str, Any]:
    """The settings of a keys file that the options make, taken out of `given`."""
    taken = {setting: given.pop(name) for name, (setting, _, _) in _KEY_PARAMETERS.items()}
    settings = {name: value for name, value in taken.items() if value not in (None, ())}
    if _KEY_TABLES & settings.keys():
        from parquet_bloom.encryption.keys_file import table_of

        for name in _KEY_TABLES & settings.keys():
            settings[name] = table_of(name, settings[name])
    return settings


def key_options(command: Any) -> Any:
    """All options for keys; the command gets one `keys`, None if none was given.

    KEYSPEC: hex:… base64:… ascii:… env:VAR[,ENC] file:PATH[,ENC] fd:N[,ENC].
    """

    @_options(
        "hex:… base64:… env:VAR file:PATH fd:N.",
        "JSON file of keys; the other options here take precedence.",
    )
    @wraps(command)
    def with_keys(*args: Any, keys_file: Path | None, **given: Any) -> Any:
        settings = _take_settings(given)
        return command(*args, keys=_keys(settings, keys_file), **given)

    return with_keys


def _keys(settings: dict[str, Any], keys_file: Path | None) -> Keys | None:
    if keys_file is None and not settings:
        return None
    from parquet_bloom.encryption.keys_file import keys_of, merged, read_keys_file
    from parquet_bloom.render.terminal import complain

    in_file = {} if keys_file is None else read_keys_file(keys_file, warn=complain)
    return keys_of(merged(in_file, settings))


def executor_key_options(command: Any) -> Any:
    """The same for keys that executors find; the command gets `keys`, which are no secrets, and
    `keys_file`."""

    @_options(
        "env:VAR or file:PATH, which the executors read.",
        "JSON file of keys that the executors can read; the other options here take precedence.",
    )
    @wraps(command)
    def with_references(*args: Any, keys_file: Path | None, **given: Any) -> Any:
        from parquet_bloom.encryption.key_references import KeyReferences

        path = None if keys_file is None else str(keys_file)
        settings = _take_settings(given)
        # What is refused is refused before a session starts.
        KeyReferences.of(settings, path)
        return command(*args, keys=settings, keys_file=path, **given)

    return with_references
