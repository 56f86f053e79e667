"""Options for the keys of encrypted files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click
from click.core import ParameterSource

from parquet_bloom.commands.parameters import FILE
from parquet_bloom.commands.sections import Callback, Decorator, encryption_option, together
from parquet_bloom.commands.store_options import store_options_again
from parquet_bloom.encryption.settings import SETTINGS, TABLES, key_arguments, place_of_key
from parquet_bloom.render.hints import command
from parquet_bloom.render.terminal import complain

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloom.encryption.keys import Keys

GivenKeys: TypeAlias = "Keys | None"

# Parameters of commands that an index tells which files to open.
_INDEXES: Final = ("index", "index_path")


def arguments_of(keys: GivenKeys) -> tuple[str, ...]:
    """The options that give the next command the same keys."""
    return keys.arguments if keys else ()


def hash_key_arguments(hash_key: str | None) -> tuple[str, ...]:
    """The same for the key of an index. Who has set PBLOOM_HASH_KEY does not give it again."""
    source = click.get_current_context().get_parameter_source("hash_key")
    if hash_key is None or source is ParameterSource.ENVIRONMENT:
        return ()
    return "--hash-key", place_of_key(hash_key)


def index_add_again(
    index: str, hash_key: str | None, keys: GivenKeys = None, named: Sequence[str] = ()
) -> str:
    """The command that brings an index up to date, also of what is `named`, with its key and those of files, and the
    options of its store."""
    keys_again = *arguments_of(keys), *hash_key_arguments(hash_key)
    return command("index", "add", "--index", index, *named, *store_options_again(), *keys_again)


# Setting of a keys file -> how the value looks, the help.
_SETTINGS = {
    "footer": ("KEYSPEC", "Key of the footer."),
    "columns": ("COLUMN=KEYSPEC", "Key of a leaf column, or of all in a group."),
    "key_ids": ("ID=KEYSPEC", "Key of everything that the file marks with this id."),
    "uniform": ("KEYSPEC", "Key of everything that has no key of its own."),
    "aad_prefix": ("TEXT|hex:…", "AAD prefix, if the file does not store it."),
    "master_keys": ("ID=KEYSPEC", "Master key that unwraps keys, or ID:BASE64,ID:BASE64."),
    "kms": ("MODULE:CLASS", "KMS client that unwraps keys; one written for pyarrow works."),
    "kms_conf": ("NAME=VALUE", "Configuration of the KMS client."),
    "kms_instance_id": ("ID", "Instance id, for the KMS client."),
    "kms_instance_url": ("URL", "Instance URL, for the KMS client."),
    "kms_token": ("KEYSPEC", "Access token of the KMS client"),
    "key_retriever": ("MODULE:FUNCTION", "Function that finds a key by a file's key_metadata."),
    "key_material": ("FILE", "External key material, if it is not beside the file."),
}

# What few keys files have.
*_MOST, _LAST = (name for name in _SETTINGS if name not in ("footer", "columns"))
_OTHERS: Final = f"{', '.join(_MOST)} and {_LAST}"


def _key_option(setting: str, metavar: str, help: str) -> Decorator:
    repeatable = setting in TABLES
    return encryption_option(
        SETTINGS[setting].option,
        f"key_{setting}",
        metavar=metavar,
        multiple=repeatable,
        help=f"{help.removesuffix('.')}; repeatable." if repeatable else help,
    )


# How what is in another place is written.
_ENC: Final = (
    "ENC: hex, base64, ascii or raw, unless the content begins with hex:, base64: or ascii:"
)
_KEYSPEC: Final = f"hex:… base64:… ascii:… env:VAR[,ENC] file:PATH[,ENC] fd:N[,ENC] ({_ENC})"
_KEYSPEC_ELSEWHERE: Final = f"env:VAR[,ENC] or file:PATH[,ENC] ({_ENC})"
# A token is text, and has no encoding.
_TOKEN: Final = "ascii:… env:VAR file:PATH fd:N"
_TOKEN_ELSEWHERE: Final = "env:VAR or file:PATH"

hash_key = encryption_option(
    "--hash-key",
    metavar="KEYSPEC",
    envvar="PBLOOM_HASH_KEY",
    show_envvar=True,
    help="16 bytes that the hashes of the index are made with; without them, nobody can try values. KEYSPEC: "
    f"{_KEYSPEC}.",
)


hash_key_for_executors = encryption_option(
    "--hash-key",
    metavar="KEYSPEC",
    envvar="PBLOOM_HASH_KEY",
    show_envvar=True,
    help="16 bytes that the hashes of the index are made with. KEYSPEC: "
    f"{_KEYSPEC_ELSEWHERE}, read here and by the executors.",
)


def _options(keyspec: str, token: str, file: str) -> Decorator:
    """All of them; `keyspec`, `token` and `file` say what a KEYSPEC, a token and a keys file are."""
    about = dict(_SETTINGS)
    metavar, help = about["footer"]
    about["footer"] = metavar, f"{help} KEYSPEC: {keyspec}"
    metavar, help = about["kms_token"]
    about["kms_token"] = metavar, f"{help}, which is text: {token}."
    return together(
        encryption_option(
            "--keys", "keys_file", type=FILE, envvar="PBLOOM_KEYS", show_envvar=True, help=file
        ),
        *(_key_option(setting, *each) for setting, each in about.items()),
    )


def _take_settings(given: dict[str, Any]) -> dict[str, Any]:
    """The settings of a keys file that the options make, taken out of `given`."""
    taken = {setting: given.pop(f"key_{setting}") for setting in _SETTINGS}
    settings = {name: value for name, value in taken.items() if value not in (None, ())}
    if TABLES & settings.keys():
        from parquet_bloom.encryption.keys_file import parse_table

        for name in TABLES & settings.keys():
            settings[name] = parse_table(name, settings[name])
    return settings


def key_options(command: Callback) -> Callback:
    """All options for keys; the command gets one `keys`, None if none was given.

    KEYSPEC: see encryption.keyspec.
    """

    @_options(
        f"{_KEYSPEC}.",
        _TOKEN,
        'JSON file of keys, such as {"footer": "env:VAR", "columns": {"email": "file:PATH"}}; also '
        f"{_OTHERS}, like the options for keys, which take precedence.",
    )
    @wraps(command)
    def with_keys(keys_file: Path | None, **given: object) -> object:
        settings = _take_settings(given)
        keys = _keys(settings, keys_file)
        by_index = any(given.get(name) is not None for name in _INDEXES)
        # A keys file may be for more than these files, and an index leaves out files.
        named = () if by_index else settings.get("columns", ())
        try:
            found = command(keys=keys, **given)
        except SystemExit:
            _tell_of_columns(keys, named)
            raise
        _tell_of_columns(keys, named)
        return found

    return with_keys


def _tell_of_columns(keys: GivenKeys, named: Collection[str]) -> None:
    """Which of these have keys that were of no use, as they are columns of no file, or have the footer's key."""
    for name, problem in keys.useless.items() if keys and named else ():
        if name in named:
            complain(f"{SETTINGS['columns'].option}: {problem}")


def _keys(settings: dict[str, Any], keys_file: Path | None) -> Keys | None:
    if keys_file is None and not settings:
        return None
    from parquet_bloom.encryption.keys_file import make_keys, merged, read_keys_file

    in_file = {} if keys_file is None else read_keys_file(keys_file, warn=complain)
    # Who has set PBLOOM_KEYS does not name the file again.
    source = click.get_current_context().get_parameter_source("keys_file")
    is_named = keys_file is not None and source is not ParameterSource.ENVIRONMENT
    arguments = key_arguments(settings, str(keys_file) if is_named else None)
    return make_keys(merged(in_file, settings), arguments)


def executor_key_options(command: Callback) -> Callback:
    """The same for keys that executors find; the command gets `keys`, which are no secrets, and
    `keys_file`."""

    @_options(
        f"{_KEYSPEC_ELSEWHERE}, which the executors read.",
        _TOKEN_ELSEWHERE,
        "JSON file of keys that the executors can read; the other options here take precedence.",
    )
    @wraps(command)
    def with_references(keys_file: Path | None, **given: object) -> object:
        from parquet_bloom.encryption.keys_file import KeyReferences

        path = None if keys_file is None else str(keys_file)
        settings = _take_settings(given)
        # What is refused is refused before a session starts.
        KeyReferences.of(settings, path)
        return command(keys=settings, keys_file=path, **given)

    return with_references
