"""What the catalogue says, as a part of a paragraph of Markdown, with the reports: for docs/rules.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parquet_bloom.engines.catalogue import engines
from parquet_bloom.engines.engine import EngineNote, LostRows, Situation
from parquet_bloom.engines.reading import alike, told
from parquet_bloom.engines.writers import known_troubles
from parquet_bloom.vocabulary import check_word


def paragraph(about: str) -> str:
    """`about`: a Situation, `lost rows`, or `troubles`, those of writers. Raises ValueError for another."""
    if about == "troubles":
        return "; ".join(_troubles())
    if about == "lost rows":
        of_parquet = (engine for engine in engines() if engine.parquet or not engine.orc)
        lost = (each for engine in of_parquet for each in engine.loses)
        return " ".join(_sentence(str(each), [each]) for each in lost)
    check_word("about", about, Situation)
    situation: Situation = about  # type: ignore[assignment]
    sentences = (each for notes in alike(situation) for each in _apart(notes))
    return " ".join(_sentence(told(notes), notes) for notes in sentences)


def _apart(notes: Sequence[EngineNote]) -> Sequence[Sequence[EngineNote]]:
    """Notes that are alike, one by one if there is more to say of any."""
    return [[note] for note in notes] if any(note.detail for note in notes) else [notes]


def _sentence(text: str, facts: Sequence[EngineNote | LostRows]) -> str:
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
