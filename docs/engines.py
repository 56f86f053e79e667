"""Write docs/engines.md from the catalogue of engines and tests/engines/results; `make docs` runs it."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from parquet_bloom.engines.catalogue import engines
from parquet_bloom.engines.engine import Engine, Situation
from parquet_bloom.engines.reading import engine_notes
from parquet_bloom.engines.writers import known_troubles
from parquet_bloom.vocabulary import words

RESULTS = Path(__file__).parent.parent / "tests" / "engines" / "results"

INTRODUCTION = """# Engines and versions, measured

Each version of an engine was asked for values of each type, in files with filters by `pbloom build`, once with PLAIN pages
and once with dictionaries, in which min/max statistics exclude nothing. Then all pages of the row groups that the filters
exclude were overwritten, and the engine was asked again. It

- **uses** the filters if its answer is still correct;
- ignores them, which is an empty cell, if it fails at the overwritten pages;
- **loses** rows if it finds them without filters and not with them, although the filters are correct;
- is **wrong** if it finds other rows even without filters: it rounds, or has another defect;
- **refuses** if it cannot read the type, or compare it with a value, even without filters.

(Written by `make docs` from what `make engines` found, and from `parquet_bloom/engines/catalogue`.)
"""

LOST = """## Rows that are lost

The filters are correct, but the engine hashes bytes other than the stored ones. `pbloom validate` says so
([PB212](rules.md)), and so do `build` and `advise`; but not for @dsnp/parquetjs, which skips nothing by
itself: it hashes numbers as text, and so misleads whoever calls its `sbbf.check`, as these tests do.
"""

TABLE = """
## All types

† with settings other than the defaults, which are listed below. (PLAIN): only in chunks without a
dictionary; the engine reads a dictionary first, which had been overwritten like all pages. BOOLEAN is
missing, as such columns get no filter.
"""

USES = """
## Which types each uses filters for

What `pbloom advise` goes by: the newest version that was measured, or the source code.
"""

KNOWN = """
## What else is known

By what is special about a file, a filter or a column.
"""

WRITTEN = """
## Filters that are known to be wrong

By what `created_by` says; `pbloom validate` says so of a file ([PB205](rules.md)).
"""

NESTED = """
## Predicates and nested columns

Which predicates use the filters, asked as above of a file with filters on all leaves, written as in
DuckDB. DuckDB asks the filter of an element or of a value whatever the index or the key is, so a row
group is skipped only if the value is nowhere in the leaf; of neighbouring integers it makes a range.
"""

VERSIONS = """
## What was asked

Versions of the packages (ClickHouse is chdb, Spark is pyspark), and in parentheses of what they contain.
"""

AGAIN = """
## Run it again

    make engines                                          # all: 9 GB, and half an hour
    make engines ENGINES="duckdb datafusion==55.0.0"      # all versions of one, one of another
    make docs

It needs Java, Node and npm. Each version gets an environment in `.engines`, which is kept. The versions
are in `parquet_bloom/engines/catalogue` (`asked`) and `tests/engines/run.py`, the types and the predicates in
`parquet_bloom/conformance`, and the results, with the messages of engines that refuse, in `tests/engines/results`.
[conformance.md](conformance.md) says how other engines are judged by the same suite.
"""

# Of nearly all types, which LOST says in words.
MISLEADING = "@dsnp/parquetjs"

# What is ordinary leaves its cell empty, what is harmful stands out.
SHORT = {"ignores": "", "fails": "**fails**", "loses": "**loses**"}


@dataclass(frozen=True)
class Span:
    """Versions of an engine that follow each other and agree, and what they do with each type."""

    engine: str
    settings: str
    versions: tuple[str, ...]
    inside: tuple[str, ...]
    words: dict[str, str]

    @property
    def head(self) -> str:
        versions = [self.shown(index) for index in range(len(self.versions))]
        until = f" to {versions[-1]}" if len(versions) > 1 else ""
        return f"{self.engine}{' †' if self.settings else ''} {versions[0]}{until}"

    def shown(self, index: int) -> str:
        """A version of the engine itself, where that is not the one of its package."""
        engine, _, version = self.inside[index].rpartition(" ")
        return version if engine == self.engine else self.versions[index]


def word(plain: str, dictionary: str) -> str:
    """What the table says of a type: how its PLAIN and its dictionary-encoded chunks fare."""
    words = [SHORT.get(each, each) for each in (plain.split(":")[0], dictionary.split(":")[0])]
    if words[0] == words[1]:
        return words[0]
    return ", ".join(
        f"{each} ({encoding})"
        for each, encoding in zip(words, ("PLAIN", "dictionary"), strict=True)
        if each
    )


def documents(folder: Path) -> list[dict[str, Any]]:
    """The results: engines that use filters first."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    return sorted(
        found,
        key=lambda each: ("'uses'" not in str(each), each["engine"].lower(), each["settings"]),
    )


def spans(document: dict[str, Any]) -> Iterator[Span]:
    versions = document["versions"]

    def words(version: str) -> dict[str, str]:
        plain, dictionary = versions[version]["plain"], versions[version]["dictionary"]
        return {type: word(plain[type], dictionary[type]) for type in plain}

    for of_all, agreeing in groupby(versions, words):
        names = tuple(agreeing)
        inside = tuple(versions[name]["inside"] for name in names)
        yield Span(document["engine"], document["settings"], names, inside, of_all)


def losses(found: Sequence[Span]) -> Iterator[str]:
    """A line for versions that follow each other and lose the rows of the same types."""

    def lost(span: Span) -> tuple[str, tuple[str, ...]]:
        types = (type for type, fate in span.words.items() if "loses" in fate)
        return span.engine, tuple(types) if span.engine != MISLEADING else ()

    for (engine, types), group in groupby(found, lost):
        spans = list(group)
        if types:
            first, last = spans[0].shown(0), spans[-1].shown(-1)
            yield f"- **{engine} {first}{f' to {last}' if last != first else ''}:** {', '.join(types)}"


def table(found: Sequence[Span], of: str) -> Iterator[str]:
    yield f"| {of} | {' | '.join(span.head for span in found)} |"
    yield "|---|" + "---|" * len(found)
    for type in found[0].words:
        yield f"| {type} | {' | '.join(span.words[type] for span in found)} |"


ADVISED = [engine for engine in engines() if engine.parquet]


def uses() -> Iterator[str]:
    """A row for each kind of values that any engine uses filters for."""
    users = {each.name: each.parquet for each in ADVISED if each.parquet.uses}
    longest_first = sorted((each.uses for each in users.values()), key=len, reverse=True)
    kinds = dict.fromkeys(kind for of_one in longest_first for kind in of_one)
    yield f"| values | {' | '.join(users)} |"
    yield "|---|" + "---|" * len(users)
    for kind in kinds:
        cells = (
            each.used_since(kind) or "yes" if kind in each.uses else "" for each in users.values()
        )
        yield f"| {kind} | {' | '.join(cells)} |"
    yield ""
    for each in ADVISED:
        yield f"- **{each.name}** ({each.source}{measured(each)}): {'; '.join(caveats(each))}"


def measured(engine: Engine) -> str:
    return f"; measured with {engine.measured}" if engine.measured else ""


def caveats(engine: Engine) -> Iterator[str]:
    reader = engine.parquet
    if reader.never:
        yield reader.never
        return
    yield "columns of their own"
    for nesting, when in reader.nested.items():
        yield f"{nesting}{f', {when}' if when else ''}"
    for kind, caveat in reader.caveats.items():
        yield f"{kind} {caveat}"


def known() -> Iterator[str]:
    """A line for each situation that engines stumble over, or treat otherwise."""
    for situation in words(Situation):
        yield f"- **{situation}:** {'; '.join(engine_notes(situation))}"


def written() -> Iterator[str]:
    """A line for each trouble of a writer."""
    for trouble in known_troubles():
        yield f"- `{trouble.created_by}`: {trouble.condition} ([report]({trouble.link}))"


def asked(found: Sequence[Span]) -> Iterator[str]:
    """A line for each engine: its packages, and what they read Parquet with, if that is another."""
    for (engine, settings), spans in groupby(found, lambda span: (span.engine, span.settings)):
        versions = [
            f"{version} ({inside})" if inside else version
            for span in spans
            for version, inside in zip(span.versions, span.inside, strict=True)
        ]
        note = f" †, with `{settings}`" if settings else ""
        yield f"- {engine}{note}: {', '.join(versions)}"


def page() -> str:
    """docs/engines.md"""
    found = [span for document in documents(RESULTS) for span in spans(document)]
    nested = [span for document in documents(RESULTS / "nested") for span in spans(document)]
    return "\n".join(
        [
            *(INTRODUCTION, LOST, *losses(found)),
            *(TABLE, *table(found, "values")),
            *(USES, *uses()),
            *(NESTED, *table(nested, "predicate")),
            *(KNOWN, *known()),
            *(WRITTEN, *written()),
            *(VERSIONS, *asked(found), AGAIN),
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(page())
