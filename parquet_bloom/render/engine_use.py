"""Who uses the filters of columns, and since when."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from parquet_bloom.errors import quoted_name
from parquet_bloom.render.wording import shortened

if TYPE_CHECKING:
    from parquet_bloom.engines.reading import EngineUse
    from parquet_bloom.verbs.advise import ColumnAdvice


def users(advice: ColumnAdvice) -> Sequence[EngineUse]:
    """The engines that use its filters."""
    others = advice.searching_dictionaries
    return [each for each in advice.engines if each.uses and each.engine not in others]


def in_words(use: EngineUse) -> str:
    """`DuckDB (since 2.0)`"""
    return f"{use.engine} ({use.reason})" if use.reason else use.engine


def limits(advice: ColumnAdvice, asked: Collection[str]) -> Iterator[str]:
    """When those of its users that are `asked` about use its filters, if not always; of lost rows, something else
    tells."""
    for use in users(advice):
        if use.engine in asked and use.reason and not use.loses:
            yield f"used by {in_words(use)}"


def notes(found: Iterable[tuple[str, ColumnAdvice]]) -> Iterator[str]:
    """A line for each note, with the columns that it is about."""
    columns: dict[str, list[str]] = {}
    for note, advice in found:
        columns.setdefault(note, []).append(quoted_name(advice.column))
    for note, names in columns.items():
        yield f"note: column{'s' * (len(names) > 1)} {shortened(names)}: {note}"
