"""The options of a verb as one value, which commands and keyword functions make, and Spark ships.

None stands for an option that was not given; its default may depend on the format and the dialect.
Every class raises ValueError for impossible values, and TypeError for flags that are neither True nor
False. `of` makes one of the arguments of a public function, whose names are those of the options.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields, replace
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, Self, cast

from parquet_bloom.arguments import (
    PATH_OR_URL,
    SomeNames,
    columns_given,
    flag_given,
    mapping_given,
    name_given,
    names_given,
    number_given,
    number_if_given,
    path_given,
    rate_given,
    row_groups_given,
    threads_given,
)
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES, parse_share
from parquet_bloom.vocabulary import (
    Dialect,
    Existing,
    FileLayout,
    KeptEnds,
    OrcStreams,
    TableChoice,
    check_word,
)

if TYPE_CHECKING:
    from parquet_bloom.storage.new_version import Target

DEFAULT_FPP = 0.01

# A commit of so many to a Delta table is a file of some 25 MB, which all its readers and writers read as a
# whole until the next checkpoint.
FILES_PER_COMMIT: Final = 50_000

MAX_SEED = (1 << 32) - 1


class VerbOptions:
    """What the options of every verb have in common. Each kind is a dataclass; this needs no fields, and
    is none, since to make one takes time at each start."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_flags(self)

    @classmethod
    def of(cls, given: Mapping[str, object], **more: object) -> Self:
        """`given`: the arguments of a public function by name, which is what `locals()` has at its
        beginning; those that are no options of this class are left to others. `more`: options that are
        no arguments, or are read otherwise. Raises TypeError, ValueError."""
        options, kind = dict(more), cast("Any", cls)
        for each in fields(kind):
            argument = _CALLED.get(each.name, each.name)
            if argument in given and each.name not in more:
                read = _READ.get(argument)
                options[each.name] = read(given[argument]) if read else given[argument]
        return cls(**options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(VerbOptions):
    """Which columns of a file (dotted paths) and which parts (ordinals); None: all."""

    columns: tuple[str, ...] | None = None
    parts: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StripOptions(Selection):
    """Whose filters to remove, see verbs.strip.strip."""

    union_by_name: bool = False

    def __post_init__(self) -> None:
        check_flags(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions(Selection):
    """Of what pages are read. ignore_checksums: also if their checksums are wrong."""

    ignore_checksums: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectOptions(Selection):
    """What to describe, see verbs.inspect.inspect."""

    index_groups: bool = False
    threads: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions(ReadOptions):
    """What to compare, see verbs.diff.diff."""

    diagnose: bool = False
    threads: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination(VerbOptions):
    """Where a new version goes: to the path `output`, to the place of the old one, or nowhere.

    overwrite: replace an existing output. resume: of several files, leave out those whose outputs exist. verify:
    read back what was written. unconditional: change objects also in stores that do not honour conditions, and files
    where there are no locks. in_table: the place of the old one is in a table, which will be told. in_folder: the
    output is beside those of other files.
    """

    output: str | os.PathLike[str] | None = None
    in_place: bool = False
    overwrite: bool = False
    resume: bool = False
    dry_run: bool = False
    verify: bool = True
    unconditional: bool = False
    in_table: bool = False
    in_folder: bool = False

    def __post_init__(self) -> None:
        check_flags(self)
        if not self.dry_run and (self.output is None) == (not self.in_place):
            found = "neither" if self.output is None else "both"
            raise ValueError(f"output, in_place: {found}, expected one of them")

    def target(self, source: str | os.PathLike[str]) -> Target:
        """Where that is for one file. Raises RewriteError for an output that must not be written,
        in a dry run too."""
        from parquet_bloom.storage.new_version import Target, can_be_foreseen, resolve_target

        path = path_given("path", source, PATH_OR_URL)
        output = None if self.output is None else path_given("output", self.output)
        has_place = self.in_place or output is not None
        if self.dry_run and not (has_place and can_be_foreseen(path, output)):
            return Target(None, in_place=self.in_place)
        target = resolve_target(
            path,
            output,
            self.overwrite,
            self.unconditional,
            self.in_table,
            self.in_folder,
        )
        if self.dry_run:
            return replace(target, name=None)
        if not self.in_table:
            target.recover_first()
        return target


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions(ReadOptions):
    """Which filters to add, see verbs.build.build. `dialect`: a legacy one, with its settings.
    `usual_layout`: that of files in which no end says otherwise, if `layout` is None. `kept_ends`: if they
    are all, a file to which something was appended is not cut back to its first end. `fpp_of`: by column,
    before `fpp`. `unproven`: parts and columns of filters that must not stay unless all stored values are in them."""

    fpp: float | None = None
    fpp_of: tuple[tuple[str, float], ...] = ()
    ndv: int | None = None
    max_bytes: int | None = None
    exact_blocks: bool = False
    existing: Existing = "keep"
    union_by_name: bool = False
    force: bool = False
    expose_filter_location: bool = False
    drop_foreign_fields: bool = False
    orc_streams: OrcStreams | None = None
    layout: FileLayout | None = None
    append_in_place: bool = False
    kept_ends: KeptEnds | None = None
    usual_layout: FileLayout = "replace"
    unproven: frozenset[tuple[int, str]] = frozenset()
    dialect: Any = None
    threads: int | None = None

    @property
    def keeps_whole_file(self) -> bool:
        """Whether what is new goes behind the last end, whatever was appended before."""
        return self.append_in_place or self.kept_ends == "all"

    def __post_init__(self) -> None:
        check_flags(self)
        check_sizing(self.fpp, self.max_bytes)
        for _, fpp in self.fpp_of:
            check_sizing(fpp, None)
        if self.ndv is not None and self.ndv < 1:
            raise ValueError(f"ndv: {self.ndv}, expected 1 or more")
        check_word("existing", self.existing, Existing)
        if self.orc_streams is not None:
            check_word("orc_streams", self.orc_streams, OrcStreams)
        if self.layout is not None:
            check_word("layout", self.layout, FileLayout)
        if self.append_in_place and self.layout == "replace":
            raise ValueError("layout: replace, expected append with append_in_place")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions(VerbOptions):
    """Which files of a table to change, and how, see verbs.build_table.build_table. `where`: the wanted
    values of partition columns; `since`: a version, branch, tag or time after which files were added; `catalog`: in
    which tables are, by their identifiers; `files_per_commit`: at most; `set_properties`: also tell the table's
    writers."""

    kind: TableChoice = "auto"
    catalog: str | None = None
    where: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    since: datetime | int | str | None = None
    min_file_size: int = 0
    files_per_commit: int = FILES_PER_COMMIT
    commit: bool = True
    sole_writer: bool = False
    set_properties: bool = False
    dry_run: bool = False
    verify: bool = True
    unconditional: bool = False

    def __post_init__(self) -> None:
        check_flags(self)
        check_word("table", self.kind, TableChoice)
        if self.set_properties and not self.commit:
            raise ValueError("set_properties: True, expected False without a commit")
        if self.min_file_size < 0:
            raise ValueError(f"min_file_size: {self.min_file_size}, expected 0 or more")
        if self.files_per_commit < 1:
            raise ValueError(f"files_per_commit: {self.files_per_commit}, expected 1 or more")

    @property
    def records_sizes(self) -> bool:
        """Whether the table is told the new sizes."""
        return self.commit and not self.dry_run


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """Which files of which version of tables, which a branch or tag of Iceberg may name; `catalog`: in which
    they are, by their identifiers; `where`: the wanted values of partition columns, one or several of each, as text,
    None for null; `since`: only those added after that version, branch, tag or time."""

    kind: TableChoice = "auto"
    catalog: str | None = None
    version: int | str | None = None
    as_of: datetime | None = None
    where: Mapping[str, str | Sequence[str | None] | None] = field(default_factory=dict)
    since: datetime | int | str | None = None

    def __post_init__(self) -> None:
        check_word("table", self.kind, TableChoice)
        # Text is one value; left as it is, whoever goes through it would look for its letters.
        object.__setattr__(self, "where", where_given(self.where))
        object.__setattr__(self, "since", since_given(self.since))

    @classmethod
    def given(cls, table: TableChoice | TableView | None) -> TableView | None:
        """What a Python user gave; None if files are no tables. Raises TypeError for a table itself, ValueError for
        another word."""
        if table is None or isinstance(table, cls):
            return table
        if not isinstance(table, str):
            expected = "auto, delta, iceberg or a TableView; its folder or URL is what comes first"
            raise TypeError(f"table: a {type(table).__name__}, expected {expected}")
        return cls(kind=table)

    @classmethod
    def check_none(cls, table: object, union_by_name: bool) -> None:
        """Raise TypeError where a table says by itself what its files lack."""
        if union_by_name and table is not None:
            raise TypeError(
                "union_by_name: not with table, which says what is null where its files lack a column"
            )

    @property
    def is_newest(self) -> bool:
        """Whether all files of the newest version are meant."""
        return self == TableView(kind=self.kind, catalog=self.catalog)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairOptions(ReadOptions):
    """What to repair, see verbs.repair.repair. `usual_layout`: if `layout` is None. `kept_ends`: if
    they are all, the file stays what it was at each of them."""

    drop_bad: bool = False
    rebuild: bool = False
    fpp: float | None = None
    max_bytes: int | None = None
    layout: FileLayout | None = None
    usual_layout: FileLayout = "replace"
    kept_ends: KeptEnds | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        check_flags(self)
        check_sizing(self.fpp, self.max_bytes)
        if self.layout is not None:
            check_word("layout", self.layout, FileLayout)

    @property
    def reads_values(self) -> bool:
        """Whether stored values are looked up."""
        return self.drop_bad or self.rebuild


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOptions(VerbOptions):
    """What to ask, and which filters, see verbs.probe.probe. `values`: what
    values.given.list_values returned, or a list of literals; `parts`: ordinals, None for all."""

    column: str
    values: Any
    parts: tuple[int, ...] | None = None
    dialect: Dialect | None = None
    seed: int | None = None
    union_by_name: bool = False
    explain: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        check_flags(self)
        check_dialect(self.dialect, self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateOptions(ReadOptions):
    """How to check filters, see verbs.validate.validate. `policy`: a rules.policy.Policy; `require`: the columns that
    a call adds to those that it requires, which are checked whichever `columns` there are."""

    deep: bool = True
    diagnose: bool = False
    pages: bool = False
    policy: Any = None
    require: tuple[str, ...] = ()
    union_by_name: bool = False
    threads: int | None = None

    @property
    def required(self) -> tuple[str, ...]:
        """The columns that the policy wants filters for."""
        return () if self.policy is None else self.policy.required_columns()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseOptions(ReadOptions):
    """How to judge columns, see verbs.advise.advise. `budget`: in bytes, or as `1%` of the files; `existing`: what
    building will do with filters that are there, and so which of them a budget has to pay for; `accepted_rates`: the
    highest that a policy accepts, by column, and by None for all others;
    `required`: columns that it wants filters of."""

    fpp: float | None = None
    max_bytes: int | None = None
    budget: int | str | None = None
    existing: Existing = "keep"
    rates: bool = False
    engines: tuple[str, ...] = ()
    value_sample: Mapping[str, Sequence[Any]] | None = None
    accepted_rates: Mapping[str | None, float] | None = None
    required: tuple[str, ...] = ()
    union_by_name: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        check_flags(self)
        # Python users make these themselves, and text is one name.
        for name in ("columns", "engines", "required"):
            object.__setattr__(self, name, names_given(name, getattr(self, name)))
        check_sizing(self.fpp, self.max_bytes)
        check_word("existing", self.existing, Existing)
        if isinstance(self.budget, str):
            try:
                parse_share(self.budget)
            except ValueError as error:
                raise ValueError(f"budget: {error}") from None
        elif self.budget is not None and self.budget < 1:
            raise ValueError(f"budget: {self.budget}, expected 1 or more")

    @property
    def target_fpp(self) -> float:
        """The rate that filters are sized for, unless a policy wants a lower one of their column."""
        return DEFAULT_FPP if self.fpp is None else self.fpp

    def target_for(self, column: str) -> float:
        """The same for a column; a rate that is asked for is nobody else's to change."""
        accepted = self.accepted_rate(column)
        if self.fpp is not None or accepted is None:
            return self.target_fpp
        return min(self.target_fpp, accepted)

    def accepted_rate(self, column: str) -> float | None:
        """The highest that a policy accepts of filters of the column, None without one."""
        accepted = self.accepted_rates or {}
        return accepted.get(column, accepted.get(None))

    def budget_for(self, num_bytes: int) -> int | None:
        """The budget for files of so many bytes: one at least, as a budget of none is refused."""
        if isinstance(self.budget, str):
            return max(1, int(parse_share(self.budget) * num_bytes))
        return self.budget


def budget_given(budget: object) -> int | str | None:
    """A number of bytes, or a share of files as text. Raises TypeError."""
    if isinstance(budget, str) and budget.endswith("%"):
        return budget
    try:
        return number_if_given("budget", cast("int | None", budget))
    except TypeError:
        message = (
            f"budget: {budget!r}, expected a number of bytes, or a share of the files, such as '1%'"
        )
        raise TypeError(message) from None


def engines_given(engines: SomeNames | None) -> tuple[str, ...]:
    """The names of engines, none for all. Raises TypeError."""
    return names_given("engines", engines) or ()


def values_given(values: Any) -> Any:
    """The values that a probe asks for, see values.given.list_values."""
    from parquet_bloom.values.given import list_values

    return list_values(values)


def sample_given(sample: object) -> dict[str, Any] | None:
    """The values that are looked up, by column. Raises TypeError."""
    if sample is None:
        return None
    given = mapping_given("value_sample", sample, "values")
    return {name: values_given(values) for name, values in given.items()}


def where_given(where: object) -> dict[str, tuple[str | None, ...]]:
    """The wanted values of partition columns: text or None, or several of them, by column. Raises
    TypeError."""
    found = {}
    for name, value in mapping_given("where", where or {}, "values").items():
        is_one = value is None or isinstance(value, str) or not isinstance(value, Iterable)
        values = (value,) if is_one else tuple(value)
        if not all(each is None or isinstance(each, str) for each in values):
            raise TypeError(
                f"where: {name}: {value!r}, expected text, as the table has it, or None"
            )
        found[name] = values
    return found


def since_given(since: object) -> datetime | int | str | None:
    """A time, the version of a table, or the name of a branch or tag. Raises TypeError, ValueError."""
    if since is None or isinstance(since, datetime | str):
        return since
    try:
        version = number_given("since", since)
    except TypeError:
        raise TypeError(
            f"since: {since!r}, expected a datetime, a version, or the name of a branch or tag"
        ) from None
    if version < 0:
        raise ValueError(f"since: {version}, expected 0 or more")
    return version


# What public functions call an option, if not the same.
_CALLED: Final = {"parts": "row_groups"}

# What reads the arguments that users spell in several ways.
_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "budget": budget_given,
    "column": partial(name_given, "column"),
    "columns": columns_given,
    "engines": engines_given,
    "require": lambda names: names_given("require", names) or (),
    "row_groups": row_groups_given,
    "fpp": partial(rate_given, "fpp"),
    "files_per_commit": partial(number_given, "files_per_commit"),
    **{
        name: partial(number_if_given, name)
        for name in ("max_bytes", "min_file_size", "ndv", "seed")
    },
    "since": since_given,
    "threads": threads_given,
    "value_sample": sample_given,
    "values": values_given,
    "where": where_given,
}


def check_flags(options: VerbOptions) -> None:
    """Raise TypeError for one of these options that is a flag, and neither True nor False."""
    kind: object = type(options)
    for name in _flags(kind):
        flag_given(name, getattr(options, name))


@cache
def _flags(kind: Any) -> tuple[str, ...]:
    """Once for all files of a table."""
    return tuple(each.name for each in fields(kind) if each.type == "bool")


def check_dialect(dialect: Dialect | None, seed: int | None) -> None:
    """Raise ValueError for an unknown dialect, or a seed that is out of range or of no use."""
    if dialect is not None:
        check_word("dialect", dialect, Dialect)
    if seed is not None and (dialect != "murmur3" or not 0 <= seed <= MAX_SEED):
        raise ValueError(f"seed: {seed}, expected 0 to {MAX_SEED}, with the dialect murmur3")


def check_sizing(fpp: float | None, max_bytes: int | None) -> None:
    """Raise ValueError for an impossible rate, or a limit outside the sizes of filters."""
    if fpp is not None and not 0 < fpp < 1:
        raise ValueError(f"fpp: {fpp}, expected more than 0 and less than 1")
    if max_bytes is not None and not MIN_BYTES <= max_bytes <= MAX_BYTES:
        raise ValueError(f"max_bytes: {max_bytes}, expected {MIN_BYTES} to {MAX_BYTES}")


def refuse(path: str, options: Any, names: Sequence[str], what: str) -> None:
    """Raise UnsupportedError if any of these options, unsupported for `what`, was given."""
    given = {each.name: each.default for each in fields(options)}
    for name in names:
        if getattr(options, name) != given[name]:
            raise UnsupportedError(f"{path}: {name} is not supported for {what}")


def names_in(text: str) -> list[str]:
    """Parse comma-separated names. As in CSV, a name with a comma is quoted; so is one that begins or ends with a
    space, as spaces around commas are left out. An empty text is one empty name.
    The other way round: errors.quoted_name.
    Raises ValueError for unbalanced quotes."""
    if not {",", '"'} & {*text}:
        return [text]
    import csv

    without = re.sub(r'("(?:[^"]|"")*")| +(?=,|$)', r"\1", text)
    try:
        return next(csv.reader([without], strict=True, skipinitialspace=True), []) or [""]
    except csv.Error as error:
        raise ValueError(f"expected comma-separated names: {error}") from None
