"""Which engines use the Bloom filters of a column, why the others do not, and who stumbles over what.

An engine uses filters for the types whose literals it converts to stored bytes, as far as its
source, its documentation or an experiment tells. That holds for top-level columns. For members of
structs, elements of lists, values of maps and fields of a VARIANT, docs/engines.md has what was measured;
no engine uses filters for the keys of maps.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.catalogue import engines, engines_where
from parquet_bloom.engines.writers import known_troubles
from parquet_bloom.errors import similar
from parquet_bloom.values.types import LeafType
from parquet_bloom.vocabulary import Format, LostKind, check_word, words

if TYPE_CHECKING:
    from parquet_bloom.engines.engine import (
        Engine,
        EngineNote,
        InTables,
        LostRows,
        ParquetUse,
        Situation,
    )

# How alike the name of an engine must be to be meant: at less, Polars for Postgres.
_NEAR: Final = 0.65

# What is left out where engines are named.
_BETWEEN_WORDS: Final = str.maketrans("", "", " -_")

# What a version, and what joins it to a name, is made of.
_OF_VERSIONS: Final = "0123456789.=<>~@ -"

# Where a leaf is, if it is no column of its own.
MEMBERS: Final = "members of structs"
ELEMENTS: Final = "elements of lists and maps"
KEYS: Final = "keys of maps"
FIELDS: Final = "fields of a VARIANT"
BARE_FIELDS: Final = "fields of a VARIANT without its annotation"
IN_VARIANT: Final = "parts of a VARIANT that are no typed fields"


@dataclass(frozen=True, slots=True)
class EngineUse:
    """Whether an engine uses the filters of a column; `reason` is why not, or a caveat; `loses`: which rows some
    versions of it do not find even with correct filters."""

    engine: str
    uses: bool
    reason: str
    loses: str = ""


@dataclass(frozen=True, slots=True)
class ColumnKind:
    """What an engine goes by: the kind of values, in the words of the catalogue, and where the leaf is,
    empty for a column of its own. `digits`: the precision of a DECIMAL; `length`: of values of a fixed
    one, in bytes; `in_arrow`: the extension type that the file's schema of Arrow says, if any."""

    values: str
    nesting: str = ""
    digits: int = 0
    length: int = 0
    in_arrow: str = ""


def kind_of(type: LeafType) -> str:
    """What the values of a column are, in the words of the catalogue."""
    logical = type.logical
    match type.logical_name:
        case "DECIMAL":
            return f"DECIMAL in {type.physical}"
        case "TIME" if logical:
            return "TIME" if logical.utc else "local TIME"
        case "TIMESTAMP" if type.length:
            return f"TIMESTAMP in {type.length} bytes"
        case "TIMESTAMP" if logical:
            return f"{'' if logical.utc else 'local '}TIMESTAMP in {logical.unit}"
        case "INTEGER" if logical:
            return f"{logical.bit_width}-bit {'' if logical.signed else 'unsigned '}integers"
        case "":
            plain = {"INT32": "32-bit integers", "INT64": "64-bit integers"}
            return plain.get(type.physical, type.physical)
        case name:
            return name


# ------------------------------------------------------------------------------------------------
# Who uses filters


@cache
def engine_uses(kind: ColumnKind) -> tuple[EngineUse, ...]:
    """Whether each engine uses the filters of such a column of a Parquet file."""
    lost = {each.engine: str(each) for each in lost_rows(kind)}
    found = []
    for engine in engines():
        if engine.parquet is not None:
            uses, reason = _use(engine.parquet, kind)
            loses = lost.get(engine.name, "")
            reasons = filter(None, (reason, loses))
            found.append(EngineUse(engine.name, uses, "; ".join(reasons), loses))
    return tuple(found)


def _use(reader: ParquetUse, kind: ColumnKind) -> tuple[bool, str]:
    if reader.never:
        return False, reader.never
    if kind.nesting and kind.nesting not in reader.nested:
        return False, f"not for {kind.nesting}"
    if kind.values not in reader.uses:
        return False, f"not for {kind.values}"
    if kind.in_arrow in reader.not_in_arrow:
        return False, reader.not_in_arrow[kind.in_arrow]
    when = reader.nested[kind.nesting] if kind.nesting else reader.used_since(kind.values)
    return True, "; ".join(filter(None, (when, reader.caveats.get(kind.values, ""))))


def orc_engine_uses(kind: str, ignored_by: Mapping[str, str]) -> tuple[EngineUse, ...]:
    """The same for an ORC column of this kind. `ignored_by`: why each library ignores its filters, empty
    if it does not."""
    lost = {each.engine: str(each) for each in lost_rows(ColumnKind(kind))}
    found = []
    for engine in engines():
        if reader := engine.orc:
            reason = reader.never or ignored_by[reader.library] or reader.exceptions.get(kind, "")
            loses = "" if reason else lost.get(engine.name, "")
            found.append(EngineUse(engine.name, not reason, reason or loses, loses))
    return tuple(found)


# ------------------------------------------------------------------------------------------------
# Who stumbles


def lost_rows(kind: ColumnKind) -> tuple[LostRows, ...]:
    """Which engines lose rows of such a column even with correct filters."""
    if kind.values not in words(LostKind):
        return ()
    named = engines_where("kinds", lambda line: f'"{kind.values}"' in line)
    found = (_as_nested(lost, kind.nesting) for each in named for lost in each.loses)
    return tuple(lost for lost in found if lost is not None and _is_lost(lost, kind))


def _as_nested(lost: LostRows, nesting: str) -> LostRows | None:
    """The same below the top, where fewer versions use filters; nobody asks the keys of a map."""
    if not nesting:
        return lost
    if nesting == KEYS or not lost.nested_versions:
        return None
    return replace(lost, versions=lost.nested_versions)


def _is_lost(lost: LostRows, kind: ColumnKind) -> bool:
    return (
        kind.values in lost.kinds
        and lost.least_digits <= kind.digits
        and (lost.most_digits is None or kind.digits <= lost.most_digits)
        and kind.length != lost.except_length
    )


def engine_notes(
    situation: Situation,
    among: Container[str] | None = None,
    there: Collection[InTables] | None = None,
) -> tuple[str, ...]:
    """What engines do in a situation, in sentences: `Arrow C++ and Trino refuse the filter`. `among`: the
    names of those to speak of, None for all; `there`: what the table has because of which some do otherwise, None to
    say of each because of what."""
    return tuple(map(_sentence, _grouped(situation, among, there)))


def engine_note(situation: Situation, among: Container[str] | None = None) -> str:
    """The same in one."""
    return "; ".join(engine_notes(situation, among))


def reading_engines() -> list[str]:
    """The names of the engines that read Parquet or ORC files."""
    return [each.name for each in engines() if each.parquet or each.orc]


def engines_named(names: Sequence[str]) -> tuple[str, ...]:
    """The engines that read Parquet or ORC files and are called so, in any case of letters, with or without blanks
    and hyphens. Raises ValueError for another."""
    if not names:
        return ()
    known = {_spelled(name): name for name in reading_engines()}
    for name in names:
        if _spelled(name) not in known:
            raise ValueError(f"no engine {name!r}; {_hint(name, known)}")
    return tuple(dict.fromkeys(known[_spelled(name)] for name in names))


def is_engine(name: str) -> bool:
    """Whether engines_named knows it."""
    return _spelled(name) in map(_spelled, reading_engines())


def _spelled(name: str) -> str:
    """The same for `ORC Java`, `orc-java` and `orcjava`."""
    return name.lower().translate(_BETWEEN_WORDS)


def _hint(name: str, known: Mapping[str, str]) -> str:
    """What may be meant by a name that none of the known ones is."""
    if unversioned := known.get(_spelled(name).rstrip(_OF_VERSIONS)):
        return (
            f"did you mean {_for_shells([unversioned])}? No version can be given: the advice says since which one"
            " filters are used"
        )
    close = similar(name, known.values(), _NEAR)
    return (
        f"did you mean {_for_shells(close)}?"
        if close
        else f"expected {_for_shells(known.values())}"
    )


def _for_shells(names: Iterable[str]) -> str:
    """As a shell takes each."""
    return ", ".join(f"'{name}'" if " " in name else name for name in names)


def without_filters(named: Collection[str], format: Format) -> tuple[str, ...]:
    """Those of the engines that use no filter of any column of such files, or do not read them at all."""
    if not named:
        return ()
    found = (engine for engine in engines() if engine.name in named)
    return tuple(each.name for each in found if not _uses_some(each, format))


def _uses_some(engine: Engine, format: Format) -> bool:
    reader = engine.parquet if format == "parquet" else engine.orc
    return reader is not None and not reader.never


def always_so(situation: Situation, among: Container[str]) -> tuple[str, ...]:
    """The engines of which every version does something in a situation."""
    return tuple(
        engine.name
        for engine in engines_where("when", lambda line: line == f'"{situation}"')
        if engine.name in among
        and any(note.when == situation and not note.versions for note in engine.notes)
    )


def engines_in(situation: Situation) -> str:
    """Who is concerned, with versions."""
    return _listed(list(_notes(situation)))


def _grouped(
    situation: Situation,
    among: Container[str] | None = None,
    there: Collection[InTables] | None = None,
) -> Collection[Sequence[EngineNote]]:
    """The notes on a situation, those of engines that do the same together."""
    found: dict[str, list[EngineNote]] = {}
    for note in _notes(situation, among):
        does = note.does_with(there)
        found.setdefault(does, []).append(replace(note, does=does))
    return found.values()


def _sentence(notes: Sequence[EngineNote]) -> str:
    """Notes that are alike, in a sentence."""
    verb, space, rest = notes[0].does.partition(" ")
    verb = verb if len(notes) == 1 else verb.removesuffix("s")
    return f"{_listed(notes)} {verb}{space}{rest}"


def _notes(situation: Situation, among: Container[str] | None = None) -> Iterator[EngineNote]:
    for engine in engines_where("when", lambda line: line == f'"{situation}"'):
        if among is None or engine.name in among:
            yield from (note for note in engine.notes if note.when == situation)


def _listed(notes: Sequence[EngineNote]) -> str:
    """`Arrow C++, DuckDB up to 2.0 and Trino`"""
    names = [note.subject for note in notes]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


# ------------------------------------------------------------------------------------------------
# The same as a part of a paragraph of Markdown, with the reports: for docs/rules.md


def paragraph(about: str) -> str:
    """`about`: a Situation, `lost rows`, or `troubles`, those of writers. Raises ValueError for another."""
    if about == "troubles":
        return "; ".join(_troubles())
    if about == "lost rows":
        of_parquet = (engine for engine in engines() if engine.parquet or not engine.orc)
        lost = (each for engine in of_parquet for each in engine.loses)
        return " ".join(_with_reports(str(each), [each]) for each in lost)
    # It parses TOML, for which no quick command has time.
    from parquet_bloom.engines import engine as facts

    check_word("about", about, facts.Situation)
    situation: Situation = about  # type: ignore[assignment]
    sentences = (each for notes in _grouped(situation) for each in _apart(notes))
    return " ".join(_with_reports(_sentence(notes), notes) for notes in sentences)


def _apart(notes: Sequence[EngineNote]) -> Sequence[Sequence[EngineNote]]:
    """Notes that are alike, one by one if there is more to say of any."""
    return [[note] for note in notes] if any(note.detail for note in notes) else [notes]


def _with_reports(text: str, facts: Sequence[EngineNote | LostRows]) -> str:
    """With what else the facts say."""
    more = [each.detail for each in facts] + [_report(each.link) for each in facts if each.link]
    shown = "; ".join(filter(None, more))
    return f"{text} ({shown})." if shown else f"{text}."


def _troubles() -> Iterator[str]:
    for each in known_troubles():
        yield f"`{each.created_by}`: {each.condition} ({_report(each.link)})"


def _report(link: str) -> str:
    """`[duckdb #23829](https://github.com/duckdb/duckdb/pull/23829)`"""
    *_, repository, kind, last = link.split("/")
    name = f"{repository} #{last}" if kind in ("issues", "pull") else last
    return f"[{name}]({link})"
