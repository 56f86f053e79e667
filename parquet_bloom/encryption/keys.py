"""The user's keys, looked up by column path and by the key metadata in the file.

For a column, in this order: the key given for its path or for a group that it is in; the key whose
id is the file's key_metadata; the key that a KMS or a key retriever returns for the metadata; the
uniform key. The same for the footer, starting with the footer key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Final

from parquet_bloom.arguments import mapping_given, path_given
from parquet_bloom.encryption.cipher import Key, Secretive
from parquet_bloom.encryption.clients import Kms, KmsClient, as_bytes, ask
from parquet_bloom.encryption.key_material import (
    ExternalMaterial,
    KeyCache,
    Unwrap,
    describe_key,
    describe_wrapping,
    is_key_material,
    key_material,
    material_path,
    named_master_key,
    unwrap_locally,
    unwrapped,
)
from parquet_bloom.encryption.keyspec import Secret, parse_prefix, read_key
from parquet_bloom.encryption.settings import key_arguments
from parquet_bloom.errors import MissingKeyError, UnsupportedError, no_column, quoted_name, similar
from parquet_bloom.vocabulary import OF_FOOTER

# Who has more has a list, and to compare each with each column takes long.
_MOST_COMPARED: Final = 20


class Keys(Secretive):
    """The keys for one or many encrypted files. The repr shows only where they come from."""

    __slots__ = (
        "_asked_for",
        "_cache",
        "_columns",
        "_footer",
        "_key_ids",
        "_kms",
        "_like_column",
        "_like_master_key",
        "_master_keys",
        "_material",
        "_material_is_given",
        "_retriever",
        "_uniform",
        "aad_prefix",
        "arguments",
    )

    def __init__(
        self,
        *,
        footer: Secret | None = None,
        columns: Mapping[str, Secret] | None = None,
        key_ids: Mapping[str, Secret] | None = None,
        uniform: Secret | None = None,
        aad_prefix: bytes | str | None = None,
        master_keys: Mapping[str, Secret] | None = None,
        kms_client: KmsClient | Kms | None = None,
        key_retriever: Callable[[bytes], bytes | None] | None = None,
        key_material: str | os.PathLike[str] | None = None,
    ) -> None:
        """A key is bytes, or text that says where to find it (see `keyspec`).

        `columns`: keys by the dotted path of a leaf column, or of a group for all its leaves.
        `key_ids`: keys by the text of a file's key_metadata. `master_keys`: keys by id, for key
        material wrapped locally. `kms_client`: unwraps other key material, such as a KmsClient of
        pyarrow. `key_retriever`: returns the key for a file's key_metadata, or None. `key_material`:
        the JSON file of external key material, if it is not beside the Parquet file. Raises
        EncryptionError for an invalid key, TypeError for the class of a KMS client.
        """
        self._footer = None if footer is None else read_key(footer, "footer key")
        self._uniform = None if uniform is None else read_key(uniform, "uniform key")
        self._columns = _keys("columns", columns, "key of column")
        self._asked_for = _AskedFor(self._columns)
        # Asked of many files.
        remembered = lru_cache(maxsize=4096)
        self._like_column = remembered(partial(_like, tuple(self._columns)))
        self._key_ids = _keys("key_ids", key_ids, "key id")
        self._master_keys = _keys("master_keys", master_keys, "master key")
        self._like_master_key = remembered(partial(_like, tuple(self._master_keys)))
        if isinstance(kms_client, type):
            name = kms_client.__name__
            raise TypeError(f"kms_client: the class {name}, expected an object of it, as {name}(…)")
        if kms_client is not None and not isinstance(kms_client, Kms):
            kms_client = Kms(kms_client)
        self._kms = kms_client
        self._retriever = key_retriever
        self._cache = KeyCache()
        material = None if key_material is None else path_given("key_material", key_material)
        self._material_is_given = material is not None
        self._material = None if material is None else ExternalMaterial(material)
        self.aad_prefix = None if aad_prefix is None else parse_prefix(aad_prefix)
        # What gives a command the same keys; who reads them from somewhere else says so.
        self.arguments = key_arguments(
            {
                "footer": footer,
                "columns": columns,
                "key_ids": key_ids,
                "uniform": uniform,
                "aad_prefix": aad_prefix,
                "master_keys": master_keys,
                "kms": None if kms_client is None else "MODULE:CLASS",
                "key_retriever": None if key_retriever is None else "MODULE:FUNCTION",
                "key_material": material,
            }
        )

    def __repr__(self) -> str:
        tables = (self._columns, self._key_ids, self._master_keys)
        keys = [self._footer, self._uniform, *(key for table in tables for key in table.values())]
        sources = [key.source for key in keys if key is not None]
        if self._kms is not None:
            sources.append("KMS client")
        if self._retriever is not None:
            sources.append("key retriever")
        return f"Keys({', '.join(sources)})"

    def for_file(self, path: str) -> Keys:
        """The same keys, with the key material beside the Parquet file at `path`."""
        keys = object.__new__(Keys)
        for name in Keys.__slots__:
            setattr(keys, name, getattr(self, name))
        if not self._material_is_given:
            keys._material = ExternalMaterial(material_path(path), is_beside=True)
        self._asked_for.opened += 1
        return keys

    def note_columns(
        self,
        file: str,
        columns: Sequence[tuple[str, ...]],
        may_be_encrypted: Callable[[int], bool],
    ) -> None:
        """Take note of the leaf columns of a file; `may_be_encrypted`: whether one of them is, by its index."""
        self._asked_for.note(file, columns, may_be_encrypted)

    def note_of_footer(self, path: tuple[str, ...], footer_key: Key) -> None:
        """Take note of a leaf column that is encrypted with the footer's key, whichever was given for it."""
        name = self.given_for(path)
        if name and self._columns[name].revealed() != footer_key.revealed():
            self._asked_for.of_footer.add(name)

    @property
    def useless(self) -> dict[str, str]:
        """What is wrong with the columns whose keys were of no use, by their names: that no file had them, which may
        be misspelt, or none had them encrypted, unless there was a file whose columns nobody knows; or that their key
        is the footer's."""
        return self._asked_for.problems

    def footer_key(self, key_metadata: bytes | None) -> Key:
        """The key of the footer. Raises MissingKeyError if there is none."""
        found = self._find(self._footer, key_metadata)
        if found is None:
            raise self._missing("the footer", key_metadata)
        return found

    def taken_before(self, key: Key, key_metadata: bytes | None) -> str:
        """What to add where the footer's key is wrong: that it was given, so that nobody was asked for the one that
        the file names; empty if there is nobody to ask."""
        others = self._key_ids or self._master_keys or self._kms or self._retriever
        if key is not self._footer or not key_metadata or not others:
            return ""
        return "; given as the footer key, it is taken before what the file names, a uniform key only after that"

    def column_key(self, path: tuple[str, ...], key_metadata: bytes | None) -> Key:
        """The key of a leaf column; a name in `path` may contain a dot. Raises MissingKeyError if
        there is none, EncryptionError if a KMS or key retriever fails or key material is invalid."""
        name = self.given_for(path)
        self._asked_for.used.add(name)
        found = self._find(self._columns[name] if name else None, key_metadata)
        if found is None:
            column = ".".join(path)
            raise self._missing(f"column {column}", key_metadata, self._like_column(column))
        return found

    def given_for(self, path: tuple[str, ...]) -> str:
        """The name of a leaf column or of the innermost group that it is in, for which a key was given; empty if none
        was."""
        names = (".".join(path[:length]) for length in range(len(path), 0, -1))
        return next((name for name in names if name in self._columns), "")

    def only_key(self) -> bytes:
        """The one key of the footer and of all columns, for readers that take no other. Raises UnsupportedError if
        there are others, MissingKeyError if there is none."""
        others = self._columns or self._key_ids or self._master_keys or self._kms or self._retriever
        if others:
            raise UnsupportedError(
                "keys: several, expected one for the footer and all columns, or only a KMS client and master keys, as"
                " pyarrow takes no others"
            )
        return self.footer_key(None).revealed()

    def only_unwrap(self) -> Unwrap | None:
        """What unwraps the keys in key material, if nothing else was given: a KMS client, master keys, or both; for
        readers that find the material themselves."""
        others = (
            *(self._footer, self._uniform, self._retriever, self.aad_prefix),
            *(self._columns, self._key_ids, self._material_is_given),
        )
        return None if any(others) or not (self._kms or self._master_keys) else self._unwrap_one

    def _unwrap_one(self, wrapped_key: str, master_key_id: str) -> bytes:
        """Raises MissingKeyError without this master key, otherwise as unwrap_locally and Kms.unwrap."""
        master_key = self._master_keys.get(master_key_id)
        if master_key is not None:
            return unwrap_locally(master_key, wrapped_key, master_key_id)
        if self._kms is None:
            raise MissingKeyError(f"no master key {master_key_id!r}")
        return self._kms.unwrap(wrapped_key, master_key_id)

    def _find(self, given: Key | None, key_metadata: bytes | None) -> Key | None:
        """None if there is none. Raises MissingKeyError if a KMS or key retriever denies it."""
        if given is not None:
            return given
        problem: MissingKeyError | None = None
        if key_metadata is not None:
            for find in (self._with_id, self._unwrap, self._retrieve):
                try:
                    key = find(key_metadata)
                except MissingKeyError as error:
                    problem = problem or error
                else:
                    if key is not None:
                        return key
        if self._uniform is None and problem is not None:
            raise problem
        return self._uniform

    def _missing(self, what: str, key_metadata: bytes | None, others: str = "") -> MissingKeyError:
        """The error for a key that nobody has given. `others`: that were given for something else."""
        described = self._described(key_metadata)
        like_master_key = self._like_master_key(self.named_master_key(key_metadata))
        given = [each for each in (others, like_master_key) if each]
        problem = MissingKeyError("; ".join((f"no key for {what} ({described})", *given)))
        problem.detail = "; ".join((*([described] if key_metadata is not None else ()), *given))
        return problem

    def _described(self, key_metadata: bytes | None) -> str:
        """The key that a file names, by the master key that wraps it if there is one."""
        master_key = self.named_master_key(key_metadata)
        return describe_wrapping(master_key) if master_key else describe_key(key_metadata)

    def named_master_key(self, key_metadata: bytes | None) -> str:
        """The id of the master key that wraps the key of a footer or column; empty if none does, or nobody can
        tell."""
        return named_master_key(key_metadata, self._material)

    def arguments_for(
        self, key_metadata: bytes | None, otherwise: tuple[str, str]
    ) -> tuple[str, str]:
        """The options that give a command a key that is missing, and change no other key: the master key if one wraps
        it, or the key of this id; `otherwise` where the file names none."""
        if is_key_material(key_metadata):
            return "--master-key", f"{self.named_master_key(key_metadata) or 'ID'}=KEYSPEC"
        return ("--key-id", f"{_text(key_metadata)}=KEYSPEC") if key_metadata else otherwise

    def _with_id(self, key_metadata: bytes) -> Key | None:
        return self._key_ids.get(_text(key_metadata))

    def _unwrap(self, key_metadata: bytes) -> Key | None:
        if self._kms is None and not self._master_keys:
            return None
        material = key_material(key_metadata, self._material)
        if material is None:
            return None
        master_key = self._master_keys.get(material.master_key_id)
        if master_key is not None:
            return unwrapped(material, partial(unwrap_locally, master_key), self._cache)
        return None if self._kms is None else unwrapped(material, self._kms.unwrap, self._cache)

    def _retrieve(self, key_metadata: bytes) -> Key | None:
        retriever = self._retriever
        if retriever is None:
            return None
        what = f"key retriever, {describe_key(key_metadata)}"

        def retrieve() -> Key:
            secret = ask(lambda: retriever(key_metadata), what)
            if secret is None:
                # The master key in key material beside the file, too, which nobody looks for before.
                told = f"key retriever, {self._described(key_metadata)}: returned None"
                raise MissingKeyError.told(told)
            return Key(as_bytes(secret, what), what)

        return self._cache.get(key_metadata, retrieve)


class _AskedFor:
    """The names that keys were given for, and which of them no file had yet, or had no use for."""

    def __init__(self, names: Iterable[str]) -> None:
        self._left = {*names}
        # Those that no file has encrypted yet.
        self._in_plaintext = {*names}
        # Those of columns that have a key of their own, and of others that have the footer's.
        self.used: set[str] = set()
        self.of_footer: set[str] = set()
        # How many files were opened, and of how many the columns are known.
        self.opened = self._noted = 0
        # The latest file, its columns, and whether there was another one.
        self._file = ""
        self._columns: Sequence[tuple[str, ...]] = ()
        self._are_several = False

    def note(
        self,
        file: str,
        columns: Sequence[tuple[str, ...]],
        may_be_encrypted: Callable[[int], bool],
    ) -> None:
        self._noted += 1
        if not self._in_plaintext:
            return
        self._are_several |= self._file not in ("", file)
        self._file, self._columns = file, columns
        for index, path in enumerate(columns):
            names = {".".join(path[:length]) for length in range(1, len(path) + 1)}
            self._left -= names
            if not names.isdisjoint(self._in_plaintext) and may_be_encrypted(index):
                self._in_plaintext -= names

    @property
    def problems(self) -> dict[str, str]:
        ignored = {
            name: f"column {quoted_name(name)}: {OF_FOOTER}, not this one, which was ignored"
            for name in sorted(self.of_footer - self.used)
        }
        if not self._noted or self._noted != self.opened:
            return ignored
        what, where = ("files", "any of the files") if self._are_several else ("file", "the file")
        names = [".".join(path) for path in self._columns]
        plain = {
            name: f"column {quoted_name(name)}: not encrypted in {where}, so its key was ignored"
            for name in sorted(self._in_plaintext - self._left)
        }
        missing = {name: no_column(name, names, what) for name in sorted(self._left)}
        return ignored | plain | missing


def _like(names: Sequence[str], column: str) -> str:
    """Which of the columns or master keys that were given may be meant by this one, which was not:
    whoever misspells a name has given a key."""
    if not column or len(names) > _MOST_COMPARED:
        return ""
    ends = [name for name in names if column.endswith(f".{name}")]
    found = dict.fromkeys([*ends, *similar(column, names, cutoff=0.8)])
    return f"one was given for {', '.join(found)}" if found else ""


def _text(key_metadata: bytes) -> str:
    """As a key id is given."""
    return key_metadata.decode(errors="replace")


def _keys(argument: str, secrets: Mapping[str, Secret] | None, what: str) -> dict[str, Key]:
    if secrets is None:
        return {}
    given = mapping_given(argument, secrets, "keys")
    return {name: read_key(secret, f"{what} {name}") for name, secret in given.items()}
