"""A table of a TOML file, read key by key; whatever is wrong is a ConfigError that names the key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NoReturn

from parquet_bloom.errors import ConfigError
from parquet_bloom.filters.sizing import parse_size
from parquet_bloom.rules.rule import find_rule

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class ConfigTable:
    """What is asked for is taken out; `end` complains of what is left.

    A key that is not there is None, or nothing of what there could be several of.
    """

    def __init__(self, path: str, place: tuple[str, ...], values: dict[str, Any]) -> None:
        """`place`: the keys that lead to the table in the file at `path`."""
        self._path = path
        self._place = place
        self._values = dict(values)
        self._known: list[str] = []

    def flag(self, key: str) -> bool | None:
        value = self._take(key)
        if value is not None and not isinstance(value, bool):
            self._reject(key, "true or false", value)
        return value

    def rate(self, key: str) -> float | None:
        """A number from 0 to 1, both excluded."""
        value = self._take(key)
        if value is not None and not (isinstance(value, float) and 0 < value < 1):
            self._reject(key, "a number between 0 and 1", value)
        return value

    def size(self, key: str) -> int | None:
        """A positive number of bytes, or a string for parse_size."""
        value = self._take(key)
        if value is None:
            return None
        try:
            num_bytes = parse_size(value) if isinstance(value, str) else value
        except ValueError:
            num_bytes = 0
        if isinstance(num_bytes, int) and not isinstance(num_bytes, bool) and num_bytes > 0:
            return num_bytes
        self._reject(key, 'a number of bytes, or a string such as "1MiB"', value)

    def choice(self, key: str, words: Iterable[str], *, default: str) -> str:
        value = self._take(key)
        if value is None:
            return default
        if not isinstance(value, str) or value not in words:
            self._reject(key, f"one of {', '.join(words)}", value)
        return value

    def names(self, key: str) -> tuple[str, ...]:
        """A list of strings, none of them empty."""
        value = self._take(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(x, str) and x for x in value):
            self._reject(key, "a list of strings", value)
        return tuple(value)

    def rules(self, key: str) -> frozenset[str]:
        """The ids of the rules that are listed by id or by name."""
        names = self.names(key)
        try:
            return frozenset(find_rule(name).id for name in names)
        except ConfigError as error:
            self._complain(key, str(error))

    def table(self, key: str) -> ConfigTable | None:
        value = self._take(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            self._reject(key, "a table", value)
        return ConfigTable(self._path, (*self._place, key), value)

    def columns(self, key: str) -> dict[str, ConfigTable]:
        """The tables in a table, by the dotted paths of leaf columns."""
        table = self.table(key)
        if table is None:
            return {}
        return {name: table._column(name) for name in table._values}

    def _column(self, name: str) -> ConfigTable:
        value = self._values[name]
        if not isinstance(value, dict):
            self._reject(name, "a table", value)
        for inner, below in value.items():
            if isinstance(below, dict):
                path = _quoted(f"{name}.{inner}")
                self._complain(name, f"expected quotes around a dotted path: columns.{path}")
        return ConfigTable(self._path, (*self._place, name), value)

    def end(self) -> None:
        """Raises ConfigError for a key that was not asked for."""
        for key in self._values:
            hint = _hint(key, self._known, otherwise=f"expected {', '.join(self._known)}")
            self._complain(key, f"no such key, {hint}")

    def _take(self, key: str) -> Any:
        self._known.append(key)
        return self._values.pop(key, None)

    def _reject(self, key: str, expected: str, value: Any) -> NoReturn:
        self._complain(key, f"expected {expected}, found {value!r}")

    def _complain(self, key: str, what: str) -> NoReturn:
        where = ".".join(map(_quoted, (*self._place, key)))
        raise ConfigError(f"{self._path}: {where}: {what}")


def _quoted(key: str) -> str:
    """A key as TOML has it."""
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _hint(name: str, names: Iterable[str], otherwise: str) -> str:
    close = get_close_matches(name, list(names), n=3, cutoff=0.7)
    return f"did you mean {', '.join(close)}" if close else otherwise
