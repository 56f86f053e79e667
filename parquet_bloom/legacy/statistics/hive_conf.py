"""The configuration keys of filters inside Statistics, as Hive's users set them.

| key                                                  | value               | default |
|------------------------------------------------------|---------------------|---------|
| parquet.enable.bloom.filter                          | true or false       | false   |
| parquet.expected.entries                             | entries per chunk   |         |
| parquet.bloom.filter.fpp.value, or as the code had   | 0 to 1, exclusive   | 0.05    |
|   it parquet.bloom.filter.value                      |                     |         |
| parquet.bloom.filter.fpp.provided                    | true or false       |         |
| parquet.bloom.filter.enable.column.names             | columns, by commas  | none    |
| parquet.bloom.filter.expected.entries                | as many entries     |         |
| parquet.bloom.filter.false.positive.probability      | as many rates       | 0.05    |

`hive.optimize.ppd` and `hive.optimize.index.filter`, which the document names beside them, tell Hive to
ask filters; nothing of a filter follows from them.

With `fpp.provided` false, the default rate holds, whatever the rate's own key says. The last three
keys came later; a list of one is for every column.

Sources: parquet-format pull request 28, Statistics.md; parquet-java pull request 215.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import Final, TypeVar

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ConfigError
from parquet_bloom.legacy.statistics.dialect import DEFAULT_FPP, Expected, StatisticsFilter

ENABLE: Final = "parquet.enable.bloom.filter"
FPP: Final = "parquet.bloom.filter.fpp.value"
FPP_IN_CODE: Final = "parquet.bloom.filter.value"
FPP_PROVIDED: Final = "parquet.bloom.filter.fpp.provided"
ENTRIES: Final = "parquet.expected.entries"
COLUMNS: Final = "parquet.bloom.filter.enable.column.names"
ENTRIES_OF_COLUMNS: Final = "parquet.bloom.filter.expected.entries"
FPP_OF_COLUMNS: Final = "parquet.bloom.filter.false.positive.probability"

KEYS: Final = (
    ENABLE,
    ENTRIES,
    FPP,
    FPP_IN_CODE,
    FPP_PROVIDED,
    COLUMNS,
    ENTRIES_OF_COLUMNS,
    FPP_OF_COLUMNS,
)

# Settings that make Hive push predicates down.
OF_READERS: Final = ("hive.optimize.ppd", "hive.optimize.index.filter")

SettingT = TypeVar("SettingT")


@dataclass(frozen=True, slots=True)
class HiveConf:
    """What the keys say: whether to write filters, what to expect of the columns that are named, and
    of the others."""

    enabled: bool
    of_columns: Mapping[str, Expected]
    others: Expected

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.of_columns)

    def applied_to(self, dialect: StatisticsFilter) -> StatisticsFilter:
        """The same filters, of these sizes."""
        return replace(
            dialect,
            expected_entries=self.others.entries,
            fpp=self.others.fpp,
            of_columns=self.of_columns,
        )


def read_conf(settings: Iterable[str]) -> HiveConf:
    """Read settings of the form KEY=VALUE; the last of a key counts.

    Raises ConfigError for keys that are not in KEYS, and for invalid values.
    """
    found = dict(map(_setting, settings))
    provided = _one(found, FPP_PROVIDED, _flag, True)
    rate = FPP if FPP in found else FPP_IN_CODE
    fpp = _one(found, rate, _rate, DEFAULT_FPP)
    others = Expected(_one(found, ENTRIES, _entries, None), fpp if provided else DEFAULT_FPP)
    columns = _columns(found, others)
    return HiveConf(_one(found, ENABLE, _flag, bool(columns)), columns, others)


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals:
        raise ConfigError(f"{text}: expected KEY=VALUE")
    if key in OF_READERS:
        raise ConfigError(f"{key}: makes Hive ask filters, and says nothing of one: leave it out")
    if key not in KEYS:
        raise ConfigError(f"{key}: no such key: expected {', '.join(KEYS)}")
    return key, value.strip()


def _one(
    found: Mapping[str, str], key: str, read: Callable[[str], SettingT], default: SettingT
) -> SettingT:
    return _read(key, found[key], read) if key in found else default


def _read(key: str, text: str, read: Callable[[str], SettingT]) -> SettingT:
    try:
        return read(text)
    except ValueError as error:
        raise ConfigError(f"{key}: {text}, expected {error}") from None


def _columns(found: Mapping[str, str], others: Expected) -> dict[str, Expected]:
    names = _items(found, COLUMNS, str)
    if len(set(names)) != len(names) or "" in names:
        raise ConfigError(f"{COLUMNS}: {found[COLUMNS]}, expected each column once")
    entries = _items(found, ENTRIES_OF_COLUMNS, _entries, names)
    rates = _items(found, FPP_OF_COLUMNS, _rate, names)
    count = len(names)
    expected = map(Expected, entries or count * [others.entries], rates or count * [others.fpp])
    return dict(zip(names, expected, strict=True))


def _items(
    found: Mapping[str, str],
    key: str,
    read: Callable[[str], SettingT],
    names: Sequence[str] | None = None,
) -> list[SettingT]:
    """The items of a list; if they are about columns with these `names`, one for each, or none."""
    texts = found[key].split(",") if found.get(key) else []
    items = [_read(key, text.strip(), read) for text in texts]
    if names is None or len(items) in (0, len(names)):
        return items
    if not names:
        raise ConfigError(f"{key}: expected the columns in {COLUMNS}")
    if len(items) > 1:
        raise ConfigError(
            f"{key}: {len(items)} values, expected one for each of {len(names)} columns"
        )
    return len(names) * items


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.lower() == "true"


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = nan
    if not 0 < rate < 1:
        raise ValueError("more than 0 and less than 1")
    return rate


def _entries(text: str) -> int | None:
    if not re.fullmatch("0*[1-9][0-9]{0,17}", text):
        raise ValueError("a number of 1 or more")
    return int(text)
