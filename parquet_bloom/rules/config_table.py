"""A table of a TOML file, read key by key; whatever is wrong is a ConfigError that names the key."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Any, NoReturn, TypeVar

from parquet_bloom.errors import ConfigError
from parquet_bloom.filters.sizing import parse_size
from parquet_bloom.rules.rule import find_rule

Value = TypeVar("Value")

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class ConfigTable:
    """Each method takes the value of a key out, and returns None or an empty collection if there is
    none; `end` rejects what is left."""

    def __init__(self, path: str, place: tuple[str, ...], values: dict[str, Any]) -> None:
        """`place`: the keys that lead to the table in the file at `path`."""
        self._path = path
        self._place = place
        self._values = dict(values)
        self._known: list[str] = []

    def flag(self, key: str) -> bool | None:
        return self._take(key, "true or false", bool)

    def rate(self, key: str) -> float | None:
        """A number between 0 and 1, both excluded."""
        return self._take(key, "a number between 0 and 1", float, lambda value: 0 < value < 1)

    def size(self, key: str) -> int | None:
        """A positive number of bytes, or a string for parse_size."""
        expected = 'a number of bytes, or a string such as "1MiB"'
        value: Any = self._take(key, expected, object, _is_size)
        return parse_size(value) if isinstance(value, str) else value

    def choice(self, key: str, words: Collection[str]) -> str | None:
        return self._take(key, f"one of {', '.join(words)}", str, lambda value: value in words)

    def names(self, key: str) -> tuple[str, ...]:
        """A list of strings, none of them empty."""
        names = self._take(key, "a list of strings", list, _are_names)
        return tuple(names or ())

    def rules(self, key: str) -> frozenset[str]:
        """The ids of rules that are listed by id or name."""
        names = self.names(key)
        try:
            return frozenset(find_rule(name).id for name in names)
        except ConfigError as error:
            self._complain(key, str(error))

    def table(self, key: str) -> ConfigTable | None:
        value = self._take(key, "a table", dict)
        return None if value is None else ConfigTable(self._path, (*self._place, key), value)

    def columns(self, key: str) -> dict[str, ConfigTable]:
        """The tables in a table, by the dotted paths of leaf columns."""
        outer = self.table(key)
        return {} if outer is None else {name: outer._column(name) for name in [*outer._values]}

    def _column(self, name: str) -> ConfigTable:
        column = self.table(name)
        assert column is not None
        for inner, below in column._values.items():
            if isinstance(below, dict):
                path = _quoted(f"{name}.{inner}")
                self._complain(name, f"expected quotes around a dotted path: columns.{path}")
        return column

    def end(self) -> None:
        """Raises ConfigError if a key is left."""
        for key in self._values:
            close = get_close_matches(key, self._known, n=3, cutoff=0.7)
            hint = "did you mean" if close else "expected"
            self._complain(key, f"no such key, {hint} {', '.join(close or self._known)}")

    def _take(
        self,
        key: str,
        expected: str,
        kind: type[Value],
        is_valid: Callable[[Value], bool] = lambda value: True,
    ) -> Value | None:
        self._known.append(key)
        value = self._values.pop(key, None)
        if value is None or (isinstance(value, kind) and is_valid(value)):
            return value
        self._complain(key, f"expected {expected}, found {value!r}")

    def _complain(self, key: str, what: str) -> NoReturn:
        where = ".".join(map(_quoted, (*self._place, key)))
        raise ConfigError(f"{self._path}: {where}: {what}")


def _is_size(value: Any) -> bool:
    try:
        num_bytes = parse_size(value) if isinstance(value, str) else value
    except ValueError:
        return False
    return isinstance(num_bytes, int) and not isinstance(num_bytes, bool) and num_bytes > 0


def _are_names(values: list[Any]) -> bool:
    return all(isinstance(value, str) and value for value in values)


def _quoted(key: str) -> str:
    """A key as TOML spells it."""
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
