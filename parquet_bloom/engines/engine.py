"""The engines, and the libraries that they read and write with: what each does with filters, read from
the catalogue.

    catalogue/duckdb.toml           one file for each; a key that has nothing to say is left out

    name = "DuckDB"                 as people call it
    source = "…"                    what tells which types it uses filters for
    measured = "2.0"                the version that was measured, as docs/advise.md says it
    asked = ["1.1.3", "1.2.2"]      the versions of its package that `make engines` asks, oldest first
    why_not = '''…'''               Markdown, its section in docs/why-not-skipped.md

    [parquet]                       an engine with this table is one that `advise` lists
    uses = ["FLOAT", "STRING"]      the kinds of values that it uses filters for (see `reading`)
    since."2.0" = ["DATE"]          which of these only newer versions use, in columns of their own
    caveats."STRING" = "…"          where it does not, although it uses those of such values
    not_in_arrow."arrow.uuid" = "…" why not where the file's schema of Arrow has such an extension type
    nested."members of structs" = "since 2.0"
                                    where else than at the top it uses them, and when, if not always
    never = "it ignores filters"    why it uses none at all

    [orc]                           one that `advise` lists for ORC files
    library = "Java"                what it reads them with
    except."TIMESTAMP" = "…"        types that it asks no filter for, although the library would
    never = "…"

    [[loses]]                       rows that it does not find, even with correct filters
    kinds = ["BYTE_ARRAY"]          of values, see LostKind in `vocabulary`; least_digits, most_digits
                                    and except_length: of which of them
    versions = "1.5"                those that do; nested_versions: in members of structs, and elements
    where = "where …"               on what else it depends
    looks_up = "…"                  in place of the stored bytes

    [[notes]]                       what it does in a situation, for which a verb or a rule has a message
    when = "encrypted"              see Situation
    versions = "up to 2.0"
    called = "chDB"                 what it is called there, if not by its name
    does = "refuses the filter"     follows the name; where several do the same, their names are listed,
                                    and only the first word becomes plural
    unless."deletion vectors" = "…" what it does instead, see InTables

    [[wrote]]                       a trouble with filters that it wrote
    created_by = "Trino < 460"      its name in footers, and the first version that is sound, if known
    when = "without length"         which column chunks are concerned, see Concerned
    condition = "…"                 which files are concerned, in words
    readers = "…"                   who is misled, if not every reader that probes

    [settings.parquet]              text to paste that makes it write a filter, see `settings`

`link`, where there is one, is a report, and `detail` more about it, for docs/rules.md. Each of `kinds`,
`when` and `created_by` is on a line of its own, by which `catalogue` passes files over.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from parquet_bloom.dataclass import dataclass
from parquet_bloom.vocabulary import Format, LostKind, TableKind, check_word

# What a file, a filter or a column can be that engines are known to stumble over, or to treat otherwise.
Situation = Literal[
    "a published murmur3 filter",
    "a struct in Statistics",
    "encrypted",
    "FLOAT16 only as stored",
    "asked for by an Iceberg table",
    "in a Delta table",
    "in ALP",
    "in an Iceberg table",
    "INTERVAL only as stored",
    "less than 64 bytes",
    "longer than recorded",
    "more than 128 MiB",
    "not a power of two",
    "only dictionaries",
    "only dictionaries, with unused entries",
    "without length",
]

# What a table can have because of which an engine does otherwise there.
InTables = Literal[
    "a name mapping",
    "column mapping",
    "column mapping with delta.enableDeletionVectors",
    "delete files",
    "deletion vectors",
    "equality deletes",
    "other reader features",
    "renamed columns",
    "the feature deletionVectors",
]

# Which column chunks of a file a writer's trouble can affect, as far as the footer tells.
Concerned = Literal["any", "without length", "BOOLEAN", "encrypted"]

# A table of TOML.
Facts = dict[str, Any]

# Which names of columns a writer's settings can tell it.
NamesTaken = Literal["any", "no dots", "no dots, no capitals", "word characters"]


@dataclass(frozen=True, slots=True)
class ParquetUse:
    """See the module."""

    uses: tuple[str, ...] = ()
    since: Mapping[str, Sequence[str]] = field(default_factory=dict)
    caveats: Mapping[str, str] = field(default_factory=dict)
    not_in_arrow: Mapping[str, str] = field(default_factory=dict)
    nested: Mapping[str, str] = field(default_factory=dict)
    never: str = ""

    def used_since(self, values: str) -> str:
        """`since 2.0`, of the columns of their own with such values; empty if that is nothing new."""
        versions = (version for version, kinds in self.since.items() if values in kinds)
        return "".join(f"since {version}" for version in versions)


@dataclass(frozen=True, slots=True)
class OrcUse:
    """See the module; `exceptions`: its `except`."""

    library: Literal["", "Java", "C++"] = ""
    exceptions: Mapping[str, str] = field(default_factory=dict)
    never: str = ""


@dataclass(frozen=True, slots=True)
class LostRows:
    """Rows of a kind of column that an `engine` loses even with correct filters. Raises ValueError for a
    kind that is not known to lose any."""

    engine: str
    kinds: tuple[LostKind, ...]
    looks_up: str
    versions: str = ""
    nested_versions: str = ""
    where: str = ""
    least_digits: int = 0
    most_digits: int | None = None
    except_length: int | None = None
    detail: str = ""
    link: str = ""

    def __post_init__(self) -> None:
        for kind in self.kinds:
            check_word(f"{self.engine}: kinds", kind, LostKind)

    def __str__(self) -> str:
        who = " ".join(filter(None, (self.engine, self.versions)))
        when = " ".join(filter(None, ("even with correct filters", self.where)))
        return f"{who} loses rows {when}: it looks up {self.looks_up}"


@dataclass(frozen=True, slots=True)
class EngineNote:
    """What one engine does in a situation. `unless`: what it does instead, by what the table has; the first counts.
    Raises ValueError for a situation that is not known."""

    called: str
    when: Situation
    does: str
    versions: str = ""
    detail: str = ""
    link: str = ""
    unless: Mapping[InTables, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_word(f"{self.called}: when", self.when, Situation)
        for each in self.unless:
            check_word(f"{self.called}: unless", each, InTables)

    @property
    def subject(self) -> str:
        return f"{self.called} {self.versions}".rstrip()

    def does_with(self, there: Collection[InTables] | None) -> str:
        """What it does in a table that has these, or, for None, in any."""
        if there is None:
            if not self.unless:
                return self.does
            *most, last = self.unless
            others = " or ".join(filter(None, (", ".join(most), last)))
            return f"{self.does}, unless the table has {others}"
        return next((does for each, does in self.unless.items() if each in there), self.does)


@dataclass(frozen=True, slots=True)
class WriterTrouble:
    """Filters of a writer that are known to be wrong. Only troubles with a public report are listed, and
    only as far as the report goes."""

    created_by: str
    condition: str
    link: str
    when: Concerned = "any"
    readers: str = ""

    def __post_init__(self) -> None:
        check_word(f"{self.created_by}: when", self.when, Concerned)


@dataclass(frozen=True, slots=True)
class SettingsText:
    """See `settings`. `types`: of ORC columns that the writer gets right, none for all;
    `most_digits`: of a DECIMAL in Parquet that gets a filter, None for any; `max_bytes`: of the writer's default
    limit; `rows_multiple`: row groups get a multiple of so many rows; `table`: the kind of tables into which it
    writes with them, None for none; `encrypts`: whether encrypted files get filters, too."""

    text: str
    names: NamesTaken = "any"
    table: TableKind | None = None
    for_all_columns: str = ""
    if_only_dictionary: str = ""
    types: tuple[str, ...] = ()
    most_digits: int | None = None
    max_bytes: int = 0
    rows_multiple: int = 1
    encrypts: bool = False

    def __post_init__(self) -> None:
        check_word("names", self.names, NamesTaken)
        if self.table is not None:
            check_word("table", self.table, TableKind)


@dataclass(frozen=True, slots=True)
class Engine:
    """A file of the catalogue."""

    name: str
    source: str = ""
    measured: str = ""
    asked: tuple[str, ...] = ()
    why_not: str = ""
    parquet: ParquetUse | None = None
    orc: OrcUse | None = None
    loses: tuple[LostRows, ...] = ()
    notes: tuple[EngineNote, ...] = ()
    wrote: tuple[WriterTrouble, ...] = ()
    settings: Mapping[Format, SettingsText] = field(default_factory=dict)


def parse_engine(text: str) -> Engine:
    """What a file of the catalogue says. Raises ValueError, TypeError for what it must not say."""
    facts = tomllib.loads(text)
    return Engine(
        **facts
        | {
            "asked": tuple(facts.get("asked", ())),
            "parquet": _parquet(facts.get("parquet")),
            "orc": _orc(facts.get("orc")),
            "loses": tuple(_lost_rows(facts["name"], each) for each in facts.get("loses", ())),
            "notes": tuple(
                EngineNote(**{"called": facts["name"]} | n) for n in facts.get("notes", ())
            ),
            "wrote": tuple(WriterTrouble(**each) for each in facts.get("wrote", ())),
            "settings": {of: _settings(each) for of, each in facts.get("settings", {}).items()},
        }
    )


def _parquet(facts: Facts | None) -> ParquetUse | None:
    return None if facts is None else ParquetUse(**facts | {"uses": tuple(facts.get("uses", ()))})


def _orc(facts: Facts | None) -> OrcUse | None:
    return None if facts is None else OrcUse(exceptions=facts.pop("except", {}), **facts)


def _lost_rows(engine: str, facts: Facts) -> LostRows:
    return LostRows(engine=engine, kinds=tuple(facts.pop("kinds")), **facts)


def _settings(facts: Facts) -> SettingsText:
    return SettingsText(types=tuple(facts.pop("types", ())), **facts)
