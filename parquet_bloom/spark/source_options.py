"""What a query on the data source asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Self

from parquet_bloom.options import names_in

_OPTIONS = ("path", "paths", "mode", "columns", "pushdown", "keysfile")


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """`names` of files, folders and globs; `columns`: leaves, None for all; `failfast`: a query fails
    with the first bad file; `pushdown`: Spark may push filters; `keysfile`: for the executors."""

    names: tuple[str, ...]
    columns: tuple[str, ...] | None
    failfast: bool
    pushdown: bool
    keysfile: str | None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Parse options, whose names may be in any case. Raises ValueError for invalid values and
        misspelt names; other names pass, as catalogs add options of their own."""
        given = {name.lower(): value for name, value in options.items()}
        for name in given:
            if name not in _OPTIONS and (close := get_close_matches(name, _OPTIONS, 1, 0.75)):
                raise ValueError(f"option {name}: no such option, did you mean {close[0]}")
        return cls(
            names=_names(given),
            columns=_columns(given["columns"]) if "columns" in given else None,
            failfast=_choice(given, "mode", ("permissive", "failfast")) == "failfast",
            pushdown=_choice(given, "pushdown", ("false", "true")) == "true",
            keysfile=given.get("keysfile"),
        )


def _choice(given: Mapping[str, str], name: str, choices: tuple[str, str]) -> str:
    """One of the two, the first if the option is not given."""
    value = given.get(name, choices[0])
    if value.lower() not in choices:
        raise ValueError(f"option {name}: expected {' or '.join(choices)}, found {value!r}")
    return value.lower()


def _columns(text: str) -> tuple[str, ...]:
    try:
        names = names_in(text)
    except ValueError as error:
        raise ValueError(f"option columns: {error}") from None
    if not all(names):
        raise ValueError("option columns: an empty name, expected a leaf column")
    return tuple(names)


def _names(given: Mapping[str, str]) -> tuple[str, ...]:
    """`load` sets `path` for one name, and `paths`, a list in JSON, for several."""
    text = given.get("paths", "[]")
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"option paths: expected names as a list in JSON, found {text!r}")
    if "path" in given:
        names.insert(0, given["path"])
    if not names:
        raise ValueError("option path: missing, expected a file, a folder or a glob")
    return tuple(names)
