"""A case for readers: files, a question about them, and what its answer shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from parquet_bloom.conformance.column_type import OPTIONAL, ColumnType, Value
from parquet_bloom.conformance.made_file import PLAIN, Filter, MadeChunk, MadeFile, MadeLeaf, right
from parquet_bloom.dataclass import dataclass

# What a right answer is to an engine, and the use of filters for it. A case that only should be answered may
# be refused; rows must not be lost in any.
Level = Literal["must", "should", "may"]
LEVELS: Final[tuple[Level, ...]] = ("must", "should", "may")
Use = Literal["should", "may", "never"]

# The forms of a file: whether it has filters, and whether the pages of excluded row groups are destroyed.
FORMS: Final = {
    "plain": (False, False),
    "plain-damaged": (False, True),
    "filtered": (True, False),
    "filtered-damaged": (True, True),
}

NUMBER = ColumnType("INT32")


@dataclass(frozen=True, slots=True)
class Ask:
    """The row numbers `n` of rows for which something holds. `op`: `=` or `in` of `column` and `values`, or `sql`
    for what only SQL says. `sql`: by dialect, `*` for all others; a predicate, or a whole query of {source}; a
    dialect that has an empty one is not asked. {type}: how the engine calls the type of `column`."""

    sql: Mapping[str, str]
    op: str = "sql"
    column: str = "v"
    values: tuple[Value, ...] = ()

    def queries(self) -> dict[str, str]:
        return {dialect: _query(sql) for dialect, sql in self.sql.items()}


def _query(sql: str) -> str:
    return sql if not sql or sql.startswith("SELECT") else f"SELECT n FROM {{source}} WHERE {sql}"


@dataclass(frozen=True, slots=True)
class Case:
    """`rows`: the right answer; `excluded`: row groups, counted through all files, that right filters exclude
    and whose pages are destroyed in the damaged forms; `folder`: where its files are, if not in one named after
    it; `encoding`: of the pages, where cases differ in it alone."""

    id: str
    about: str
    type: str
    files: tuple[MadeFile, ...]
    ask: Ask
    rows: tuple[int, ...]
    excluded: tuple[int, ...]
    level: Level = "must"
    use: Use = "should"
    links: tuple[str, ...] = ()
    folder: str = ""
    encoding: str = "plain"

    @property
    def forms(self) -> list[str]:
        """Those that it has: nothing is damaged if nothing is excluded."""
        return [form for form, (_, damaged) in FORMS.items() if self.excluded or not damaged]

    def path(self, form: str) -> str:
        """Below the suite's folder: a file, or a folder of several."""
        stem = f"readers/{self.folder or self.id}/{form}"
        return stem if len(self.files) > 1 else f"{stem}.parquet"

    def written(self, form: str) -> dict[str, bytes]:
        """The files of a form."""
        filtered, damaged = FORMS[form]
        found, first = {}, 0
        for number, file in enumerate(self.files):
            groups = range(first, first + len(file.groups))
            destroyed = [each - first for each in self.excluded if damaged and each in groups]
            name = f"/part-{number}.parquet" if len(self.files) > 1 else ""
            found[self.path(form) + name] = file.data(filtered=filtered, damaged=destroyed)
            first += len(file.groups)
        return found

    def document(self) -> dict[str, Any]:
        """As the manifest has it."""
        return {
            "id": self.id,
            "about": self.about,
            "level": self.level,
            "use": self.use,
            "type": self.type,
            "encoding": self.encoding,
            "files": {form: self.path(form) for form in self.forms},
            "ask": {
                "op": self.ask.op,
                "column": self.ask.column,
                "stored": [value.stored.hex() for value in self.ask.values],
                "literal": [value.literal for value in self.ask.values],
                "sql": self.ask.queries(),
            },
            "key": self.files[0].key.hex(),
            "rows": list(self.rows),
            "links": list(self.links),
        }


Stored = bytes | None


def one_column(
    type: ColumnType,
    groups: Sequence[Sequence[Stored]],
    *,
    bounds: tuple[bytes, bytes] | None = None,
    filters: Mapping[int, Filter] | None = None,
    name: str = "v",
    rows: Iterable[Sequence[int]] | None = None,
    encoding: int = PLAIN,
    **more: Any,
) -> MadeFile:
    """A column beside the row numbers `n`, which are 1000 for each row group and the row in it unless `rows` are
    given. `bounds`: minimum and maximum of every row group; `filters`: right ones for all unless given."""
    is_optional = any(value is None for values in groups for value in values)
    numbers = rows or (
        [1000 * group + row for row in range(len(values))] for group, values in enumerate(groups)
    )
    chunks = []
    for values, of_group in zip(groups, numbers, strict=True):
        there = tuple(value for value in values if value is not None)
        levels = tuple(int(value is not None) for value in values) if is_optional else ()
        ordinals = tuple(number.to_bytes(4, "little") for number in of_group)
        chunks.append((MadeChunk(ordinals), MadeChunk(there, levels, (), bounds)))
    if filters is None:
        filters = {group: right(pair[1].values) for group, pair in enumerate(chunks)}
    repetition = OPTIONAL if is_optional else 0
    return MadeFile(
        (NUMBER.element("n"), type.element(name, repetition)),
        (MadeLeaf(("n",), "INT32"), MadeLeaf((name,), type.physical, (int(is_optional), 0))),
        tuple(chunks),
        {(group, 1): filter for group, filter in filters.items()},
        encoding=encoding,
        **more,
    )
