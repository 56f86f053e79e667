"""A policy: what a user requires of filters, and what fails a file; from a TOML file or options.

    pbloom.toml                      pyproject.toml

    [validate]                       [tool.pbloom.validate]
    fail-on = "warning"              …
    max-bytes = "1MiB"
    require = ["user_id"]

    [validate.columns."user.id"]     [tool.pbloom.validate.columns."user.id"]
    max-fpp = 0.001                  …

Settings for a column override those for all. Columns are leaf columns by their dotted paths, spelled as
in the data file, but for what is inside of lists and maps.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from parquet_bloom.arguments import (
    SomeNames,
    flag_given,
    mapping_given,
    names_given,
    number_if_given,
    path_given,
    rate_given,
)
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ConfigError, ParquetBloomError
from parquet_bloom.filters.sizing import HIGH_FPP, parse_size
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.rule import Severity, find_rule

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Outline
    from parquet_bloom.vocabulary import FailOn

Setting = TypeVar("Setting")

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

# By the words for `fail-on`; with None nothing fails.
FAIL_ON: Mapping[str, Severity | None] = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "note": Severity.NOTE,
    "never": None,
}

# The tables in them, in order of preference within a folder.
CONFIG_FILES = {"pbloom.toml": ("validate",), "pyproject.toml": ("tool", "pbloom", "validate")}


@dataclass(frozen=True, slots=True)
class ColumnPolicy:
    """Requirements for one leaf column; None: as for all columns.

    `required`: False is also for a column that files may lack. `max_fpp`: 0 to 1, both excluded. `max_bytes`: of a
    bitset. `ignore`: rules, by id or name. Raises ConfigError for an unknown rule."""

    required: bool | None = None
    max_fpp: float | None = None
    max_bytes: int | None = None
    ignore: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.required is not None:
            flag_given("required", self.required)
        _check_limits(self.max_fpp, self.max_bytes)
        object.__setattr__(self, "ignore", _rule_ids(self.ignore))

    @property
    def highest_fpp(self) -> float:
        """Of a filter to build: what is allowed, or else is still of use."""
        return HIGH_FPP if self.max_fpp is None else self.max_fpp


@dataclass(frozen=True, slots=True)
class Policy:
    """Requirements for all leaf columns, and in `columns` more or others for some.

    `fail_on`: the lowest severity that fails a file, or its word; None and `never`: none does. `require`: columns
    that must have a filter in every row group. `no_values`: whether findings name values by hashes. `arguments`: the
    options with which another command takes it from the same place; `found_at`: that place, if nobody named it.
    Otherwise as in ColumnPolicy.
    """

    # A word becomes a severity.
    fail_on: Severity | FailOn | None = Severity.ERROR
    max_fpp: float | None = None
    max_bytes: int | None = None
    require: tuple[str, ...] = ()
    ignore: frozenset[str] = frozenset()
    columns: Mapping[str, ColumnPolicy] = field(default_factory=dict)
    no_values: bool = False
    arguments: tuple[str, ...] = field(default=(), repr=False, compare=False)
    found_at: str | None = field(default=None, repr=False, compare=False)
    _by_column: dict[str, ColumnPolicy] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    # What fails a file where no option says that nothing does.
    _failing: Severity = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        failing = _severity_given(self.fail_on)
        object.__setattr__(self, "fail_on", failing)
        _check_limits(self.max_fpp, self.max_bytes)
        flag_given("no_values", self.no_values)
        for column, own in mapping_given("columns", self.columns, "a pb.ColumnPolicy").items():
            if not isinstance(own, ColumnPolicy):
                raise TypeError(f"columns: {column}: {own!r}, expected a pb.ColumnPolicy")
        object.__setattr__(self, "require", names_given("require", self.require) or ())
        object.__setattr__(self, "ignore", _rule_ids(self.ignore))
        object.__setattr__(self, "_failing", failing or Severity.ERROR)

    def called_otherwise(self, file: Outline) -> dict[str, str]:
        """What a file calls columns of the policy that it has by other names, as inside of lists and maps."""
        named, there = {*self.require, *self.columns}, {*file.columns}
        found = {}
        for name in named - there:
            with suppress(ParquetBloomError):
                found[name] = file.column(name).name
        return {name: own for name, own in found.items() if own in there - named}

    def as_called(self, file: Outline) -> Policy:
        """The same policy, with these names of a file."""
        own = self.called_otherwise(file)
        if not own:
            return self
        columns = {own.get(name, name): each for name, each in self.columns.items()}
        require = tuple(own.get(name, name) for name in self.require)
        return replace(self, require=require, columns=columns)

    def for_column(self, name: str) -> ColumnPolicy:
        """All requirements for this leaf column; `required` is not None."""
        if name not in self._by_column:
            self._by_column[name] = self._for_column(name)
        return self._by_column[name]

    def _for_column(self, name: str) -> ColumnPolicy:
        own = self.columns.get(name, ColumnPolicy())
        return ColumnPolicy(
            required=name in self.require if own.required is None else own.required,
            max_fpp=self.max_fpp if own.max_fpp is None else own.max_fpp,
            max_bytes=self.max_bytes if own.max_bytes is None else own.max_bytes,
            ignore=self.ignore | own.ignore,
        )

    def highest_rates(self) -> dict[str | None, float]:
        """The limits of rates by leaf column, and by None that of all others."""
        of_others = ColumnPolicy(max_fpp=self.max_fpp, ignore=self.ignore)
        limits: dict[str | None, float | None] = {None: self._highest_rate(of_others)}
        limits.update((name, self._highest_rate(self.for_column(name))) for name in self.columns)
        return {name: rate for name, rate in limits.items() if rate is not None}

    def _highest_rate(self, column: ColumnPolicy) -> float | None:
        """The one that it names, or else that above which a filter is too full, if this fails a file."""
        too_full = find_rule("PB302")
        does_fail = self.fail_on is not None and too_full.severity >= self.fail_on
        is_limit = does_fail and too_full.id not in column.ignore
        return column.highest_fpp if is_limit else column.max_fpp

    def for_advice(self) -> dict[str, Any]:
        """What advice heeds, as options.AdviseOptions calls it."""
        return {"accepted_rates": self.highest_rates(), "required": self.required_columns()}

    def required_columns(self) -> tuple[str, ...]:
        """Every leaf column that must have filters, whether or not a file has the column."""
        named = dict.fromkeys((*self.require, *self.columns))
        return tuple(name for name in named if self.for_column(name).required)

    def columns_besides(self, there: Collection[str]) -> list[str]:
        """Those with settings of their own, but for these: nothing heeds a misspelled one. Of a required one that is
        not there, each file has a finding; one of which is said that it is not required may be missing."""
        return [
            name
            for name, own in self.columns.items()
            if name not in there and own.required is None and name not in self.require
        ]

    def ignores(self, finding: Finding) -> bool:
        """Whether the rule is ignored, everywhere or for the finding's column."""
        if finding.column is None:
            return finding.rule in self.ignore
        return finding.rule in self.for_column(finding.column).ignore

    def fails(self, finding: Finding) -> bool:
        """Whether the finding is at or above the severity that fails a file, and not ignored."""
        if self.fail_on is None or self.ignores(finding):
            return False
        return finding.severity >= self.fail_on

    @property
    def but_for_never(self) -> Policy:
        """The same, for those who show what is wrong whatever the exit code is: where nothing fails a file, what
        would without that option, or else errors."""
        return replace(self, fail_on=self._failing) if self.fail_on is None else self

    def with_options(
        self,
        *,
        require: SomeNames = (),
        max_fpp: float | None = None,
        max_bytes: int | None = None,
        fail_on: str | None = None,
        ignore: SomeNames = (),
        no_values: bool = False,
    ) -> Policy:
        """This policy with options on top; None and False leave it as it is.

        `require` is added to what is required, `ignore` (ids or names of rules) to what is ignored.
        `max_fpp` and `max_bytes` are for all columns without limits of their own. `fail_on` is a
        word of FAIL_ON. Raises ConfigError for unknown words and impossible limits.
        """
        added = names_given("require", require) or ()
        columns = {
            name: replace(own, required=True) if name in added else own
            for name, own in self.columns.items()
        }
        policy = Policy(
            fail_on=self.fail_on if fail_on is None else _severity_of(fail_on),
            max_fpp=self.max_fpp if max_fpp is None else max_fpp,
            max_bytes=self.max_bytes if max_bytes is None else max_bytes,
            require=tuple(dict.fromkeys((*self.require, *added))),
            ignore=self.ignore | _rule_ids(ignore),
            columns=columns,
            no_values=self.no_values or flag_given("no_values", no_values),
            arguments=self.arguments,
            found_at=self.found_at,
        )
        if policy.fail_on is None:
            object.__setattr__(policy, "_failing", self._failing)
        return policy


def _severity_given(fail_on: Severity | FailOn | None) -> Severity | None:
    """Raises TypeError, ConfigError."""
    if fail_on is None:
        return None
    if not isinstance(fail_on, str):
        words = ", ".join(FAIL_ON)
        raise TypeError(f"fail_on: {fail_on!r}, expected a pb.Severity, {words}, or None")
    return _severity_of(fail_on)


def _severity_of(word: str) -> Severity | None:
    if word not in tuple(FAIL_ON):
        raise ConfigError(f"fail_on: {word!r}, expected one of {', '.join(FAIL_ON)}")
    return FAIL_ON[word]


def policy_given(policy: Policy | None) -> Policy:
    """The default for None. Raises TypeError for anything else than a policy."""
    if policy is None:
        return Policy()
    if not isinstance(policy, Policy):
        raise TypeError(f"policy: {policy!r}, expected a pb.Policy; pb.read_policy reads a file")
    return policy


def _check_limits(max_fpp: float | None, max_bytes: int | None) -> None:
    rate, size = rate_given("max_fpp", max_fpp), number_if_given("max_bytes", max_bytes)
    if rate is not None and not 0 < rate < 1:
        raise ConfigError(f"max_fpp: {max_fpp}, expected a number between 0 and 1")
    if size is not None and size <= 0:
        raise ConfigError(f"max_bytes: {max_bytes}, expected a positive number of bytes")


def _rule_ids(words: SomeNames) -> frozenset[str]:
    """The ids of rules that are given by id or name. Raises ConfigError."""
    return frozenset(find_rule(word).id for word in names_given("ignore", words) or ())


def find_config(folder: Path) -> Path | None:
    """The configuration for `folder`: the one in it, or else in the nearest folder above.

    That is pbloom.toml, or a pyproject.toml with the table [tool.pbloom.validate]. Raises
    ConfigError if a pyproject.toml on the way is not TOML.
    """
    start = folder.absolute()
    for place in (start, *start.parents):
        for name in CONFIG_FILES:
            path = place / name
            # Unlike Path.is_file, this takes an unsearchable folder for an empty one.
            if os.path.isfile(path) and (name == "pbloom.toml" or _table(path) is not None):
                return path
    return None


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy in a TOML file: [tool.pbloom.validate] of a pyproject.toml, else [validate].

    Raises ConfigError if there is no such table or something in it is not supported.
    """
    file = Path(path_given("path", path))
    table = _table(file)
    if table is None:
        raise ConfigError(f"{file}: expected a table [{'.'.join(_place(file))}], found none")
    policy = Policy(
        fail_on=FAIL_ON[table.choice("fail-on", FAIL_ON) or "error"],
        max_fpp=table.rate("max-fpp"),
        max_bytes=table.size("max-bytes"),
        require=table.names("require"),
        ignore=table.rules("ignore"),
        columns={name: _column_policy(own) for name, own in table.columns("columns").items()},
        no_values=bool(table.flag("no-values")),
    )
    table.end()
    return policy


def _column_policy(table: ConfigTable) -> ColumnPolicy:
    policy = ColumnPolicy(
        required=table.flag("require"),
        max_fpp=table.rate("max-fpp"),
        max_bytes=table.size("max-bytes"),
        ignore=table.rules("ignore"),
    )
    table.end()
    return policy


def _place(path: Path) -> tuple[str, ...]:
    return CONFIG_FILES.get(path.name, ("validate",))


def _table(path: Path) -> ConfigTable | None:
    """Our table, None if there is none. Raises ConfigError for unknown keys beside it."""
    place = _place(path)
    table: ConfigTable | None = ConfigTable(str(path), (), _read_toml(path))
    for depth, key in enumerate(place):
        if table is None:
            return None
        inner = table.table(key)
        # The other tables of a pyproject.toml belong to other tools.
        if depth >= len(place) - 1:
            table.end()
        table = inner
    return table


def _read_toml(path: Path) -> dict[str, object]:
    import tomllib

    try:
        # Editors on Windows put a byte order mark in front.
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


# ------------------------------------------------------------------------------------------------
# The file


class ConfigTable:
    """A table of a TOML file, read key by key; whatever is wrong is a ConfigError that names the key.

    Each method takes the value of a key out, and returns None or an empty collection if there is
    none; `end` rejects what is left."""

    def __init__(self, path: str, place: tuple[str, ...], values: dict[str, object]) -> None:
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
        value = self._take(key, expected, object, _is_size)
        if isinstance(value, str):
            return parse_size(value)
        return value if isinstance(value, int) else None

    def choice(self, key: str, words: Collection[str]) -> str | None:
        return self._take(key, f"one of {', '.join(words)}", str, lambda value: value in words)

    def names(self, key: str) -> tuple[str, ...]:
        """A list of strings, none of them empty."""
        names = self._texts(key)
        if "" in names:
            table = '[validate.columns.""] with `require = true` is for a column called so'
            self._complain(key, f"an empty name, expected leaf columns; {table}")
        return names

    def _texts(self, key: str) -> tuple[str, ...]:
        texts = self._take(key, "a list of strings", list, _are_texts)
        return tuple(texts or ())

    def rules(self, key: str) -> frozenset[str]:
        """The ids of rules that are listed by id or name."""
        names = self._texts(key)
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
        kind: type[Setting],
        is_valid: Callable[[Setting], bool] = lambda value: True,
    ) -> Setting | None:
        self._known.append(key)
        value = self._values.pop(key, None)
        if value is None or (isinstance(value, kind) and is_valid(value)):
            return value
        self._complain(key, f"expected {expected}, found {value!r}")

    def _complain(self, key: str, what: str) -> NoReturn:
        where = ".".join(map(_quoted, (*self._place, key)))
        raise ConfigError(f"{self._path}: {where}: {what}")


def _is_size(value: object) -> bool:
    try:
        num_bytes = parse_size(value) if isinstance(value, str) else value
    except ValueError:
        return False
    return isinstance(num_bytes, int) and not isinstance(num_bytes, bool) and num_bytes > 0


def _are_texts(values: list[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def _quoted(key: str) -> str:
    """A key as TOML spells it."""
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
