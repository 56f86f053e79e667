"""Random lakes, whose files differ in types, pages, filters and rows, of which some have only nulls and some cannot
be read, and what an index over them says, whatever is done to both: what is true, or `unknown`.
So do `find` and `rows`.

PBLOOM_LAKES: how many lakes.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from make.index_lakes import COLUMNS, MORE_TYPES, groups, is_held, spoil, where, write_file

import parquet_bloom as pb
from parquet_bloom.errors import ColumnError, ValueTypeError

NUM_LAKES = int(os.environ.get("PBLOOM_LAKES", "8"))
STEPS = 12

# What a form of index says of places.
FORMS = [("map", "file"), ("map", "row-group"), ("map", "page"), ("slices", "row-group"), ("auto", "row-group"), ("auto", "file")]  # fmt: skip


class Lake:
    """A lake, and an index over it. `known`: the files as the index knows them;
    `spoilt`: those that cannot be read."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.source = random.Random(seed)
        self.folder, self.index_folder = folder / "lake", folder / "index"
        self.folder.mkdir()
        self.spoilt: set[Path] = set()
        for number in range(5):
            self.write(self.folder / f"{number}.parquet", is_sound=number == 0)
        self.next = 5
        form, places = FORMS[seed % len(FORMS)]
        # Filters also say `maybe` of other values.
        self.is_exact = form == "map"
        self.index = pb.Index.build(
            self.index_folder, self.folder, COLUMNS, places=places, form=form
        )
        self.known = self.now()
        self.done: list[str] = [form, places]

    def now(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.folder.iterdir()}

    def write(self, path: Path, is_sound: bool = False) -> None:
        """`is_sound`: with all columns, and readable."""
        kinds = {name: types[:1] for name, types in MORE_TYPES.items()} if is_sound else MORE_TYPES
        write_file(path, self.source, kinds)
        self.spoilt.discard(path)
        if self.source.random() < 0.5:
            parts = self.source.choice([None, None, [0]])
            for column in COLUMNS:
                # Of some columns, nobody builds one.
                pb_build(path, column, parts)
        if not is_sound and self.source.random() < 0.15:
            spoil(path, self.source)
            self.spoilt.add(path)

    def step(self) -> None:
        name = self.source.choice(
            ["change", "change", "create", "create", "delete", "swap", "add", "add", "remove", "compact"]
        )  # fmt: skip
        self.done.append(name)
        getattr(self, name)()

    def _any(self) -> Path | None:
        files = sorted(self.folder.iterdir())
        return self.source.choice(files) if len(files) > 1 else None

    def change(self) -> None:
        if path := self._any():
            self.write(path)

    def create(self) -> None:
        self.write(self.folder / f"{self.next}.parquet")
        self.next += 1

    def delete(self) -> None:
        if path := self._any():
            path.unlink()
            self.spoilt.discard(path)

    def swap(self) -> None:
        """The names of two files."""
        if self._any() is None:
            return
        first, second = self.source.sample(sorted(self.folder.iterdir()), 2)
        aside = self.folder.parent / "aside"
        for path, other in ((first, aside), (second, first), (aside, second)):
            path.rename(other)
        names = {first: second, second: first}
        self.spoilt = {names.get(path, path) for path in self.spoilt}

    def add(self) -> None:
        self.index.add()
        self.known = self.now()

    def remove(self) -> None:
        if (path := self._any()) in self.known:
            self.index.remove(path)
            del self.known[path]

    def compact(self) -> None:
        everything = self.source.choice([True, False])
        report = self.index.compact(everything=everything, older_than=0)
        assert report.generation == self.index.generation
        assert report.outpaced == 0
        if everything:
            segments = self.index._asked.manifest.segments
            kinds = {(segment.subject, segment.slices is None) for segment in segments}
            assert report.segments == len(kinds)
            assert not any(segment.dead for segment in segments)

    def check(self) -> None:
        now = self.now()
        assert {
            (finding.problem, Path(finding.message.split(": ")[0]))
            for finding in self.index.check(deep=True).findings
        } == {
            *(("new", path) for path in now.keys() - self.known.keys()),
            *(("gone", path) for path in self.known.keys() - now.keys()),
            *(("changed", path) for path in now if self.known.get(path, now[path]) != now[path]),
        }, self.done
        for column in COLUMNS:
            values = self.values(column)
            for value in values:
                self.check_probe(column, value, now)
            for kind in {type(value) for value in values}:
                # Of files that cannot hold one of the values, `find` says `unknown`.
                self.check_find(column, [value for value in values if type(value) is kind])
            self.check_rows(column)

    def check_probe(self, column: str, value: Any, now: dict[Path, bytes]) -> None:
        try:
            (result,) = self.index.probe(column, value, files=self.folder).results
        except ValueTypeError:
            # Text in numbers, or 0.0 in integers: no answer.
            return
        said = {Path(file.path): file for file in result.files}
        for path, state in now.items():
            what = (self.done, path, column, value)
            if self.known.get(path) != state or path in self.spoilt:
                assert said[path].verdict == "unknown", what
                continue
            found = where(path, column, value)
            if path not in said:
                assert not found, what
            elif said[path].row_groups:
                assert found <= {*said[path].row_groups}, what
            if self.is_exact and (path not in said or said[path].verdict == "maybe"):
                assert (path in said) == bool(found), what
                if path in said and said[path].row_groups:
                    assert {*said[path].row_groups} == found, what

    def check_find(self, column: str, values: Sequence[Any]) -> None:
        try:
            report = pb.find(self.folder, column, values, index=self.index_folder)
        except (ColumnError, ValueTypeError):
            return
        unknown = {Path(file.path) for file in report.unknown}
        assert unknown >= self.spoilt, self.done
        found = {(Path(row.path), row.row) for row in report.rows}
        for path in {*self.folder.iterdir()} - unknown:
            expected = {(path, row) for row in rows_with(path, column, values)}
            assert {each for each in found if each[0] == path} == expected, (
                self.done,
                path,
                values,
            )

    def check_rows(self, column: str) -> None:
        """Of the files in which the column has one type, whose values are looked for."""
        by_type: dict[str, list[Path]] = {}
        for path in sorted({*self.folder.iterdir()} - self.spoilt):
            schema = pq.read_schema(path)
            if column in schema.names:
                by_type.setdefault(str(schema.field(column).type), []).append(path)
        for paths in by_type.values():
            values = self.drawn(self.source.choice(paths), column)
            if values:
                found = pb.rows(paths, [(column, "in", values)], ["other"], index=self.index_folder)
                expected = [row for path in paths for row in rows_with(path, column, values)]
                assert found["other"].to_pylist() == expected, (self.done, column, values)

    def values(self, column: str) -> list[Any]:
        """Some that are somewhere, and some that may not be."""
        readable = sorted({*self.folder.iterdir()} - self.spoilt)
        some = self.drawn(self.source.choice(readable), column) if readable else []
        return [*some, 7, "user 7", 0.0]

    def drawn(self, path: Path, column: str) -> list[Any]:
        """Some values of a file."""
        there = {str(value): value for each in groups(path, column) for value in each}
        some = self.source.sample(sorted(there), min(3, len(there)))
        return [there[text] for text in some if text != "nan"]


def pb_build(path: Path, column: str, parts: Sequence[int] | None) -> None:
    """Filters of a column, in these row groups, if it can have any."""
    if column in pq.read_schema(path).names and (
        parts is None or pq.read_metadata(path).num_row_groups
    ):
        pb.build(path, columns=[column], in_place=True, row_groups=parts)


def rows_with(path: Path, column: str, values: Sequence[Any]) -> list[int]:
    """The rows of a file in which a column has one of the values."""
    if column not in pq.read_schema(path).names:
        return []
    held = pq.read_table(path, columns=[column])[column].to_pylist()
    return [row for row, value in enumerate(held) if is_held(value, values)]


@pytest.mark.every(8)
@pytest.mark.parametrize("seed", range(NUM_LAKES))
def test_an_index_says_what_is_true(tmp_path, seed):
    lake = Lake(tmp_path, seed)
    lake.check()
    for _ in range(STEPS):
        lake.step()
        lake.check()
    lake.index.close()
