"""Random lakes, whose files differ in types, pages and rows, and what an index over them says, whatever is done to
both: exactly what is true, or `unknown`.

PBLOOM_LAKES: how many lakes.
"""

from __future__ import annotations

import os
import random
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from make.index_lakes import COLUMNS, groups, where, write_file

import parquet_bloom as pb
from parquet_bloom.errors import ValueTypeError

NUM_LAKES = int(os.environ.get("PBLOOM_LAKES", "6"))
STEPS = 12


class Lake:
    """A lake, and an index over it. `states`: of the files as the index knows them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.source = random.Random(seed)
        self.folder, self.index_folder = folder / "lake", folder / "index"
        self.folder.mkdir()
        for number in range(5):
            write_file(self.folder / f"{number}.parquet", self.source)
        self.next = 5
        self.index = pb.Index.build(
            self.index_folder, self.folder, COLUMNS,
            places=self.source.choice(["file", "row-group", "page"]),
        )  # fmt: skip
        self.known = self.now()
        self.done: list[str] = []

    def now(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.folder.iterdir()}

    def step(self) -> None:
        name = self.source.choice(
            ["change", "change", "create", "create", "delete", "add", "add", "remove", "compact"]
        )
        self.done.append(name)
        getattr(self, name)()

    def _any(self) -> Path | None:
        files = sorted(self.folder.iterdir())
        return self.source.choice(files) if len(files) > 1 else None

    def change(self) -> None:
        if path := self._any():
            write_file(path, self.source)

    def create(self) -> None:
        write_file(self.folder / f"{self.next}.parquet", self.source)
        self.next += 1

    def delete(self) -> None:
        if path := self._any():
            path.unlink()

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
            kinds = {
                (segment.column, segment.kind) for segment in self.index._asked.manifest.segments
            }
            assert report.segments == len(kinds)
            assert not any(segment.dead for segment in self.index._asked.manifest.segments)

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
            for value in self.values(column):
                try:
                    (result,) = self.index.probe(column, value, files=self.folder).results
                except ValueTypeError:
                    # Text in numbers, or 0.0 in integers: no answer.
                    continue
                said = {Path(file.path): file for file in result.files}
                for path, state in now.items():
                    if self.known.get(path) != state:
                        assert said[path].verdict == "unknown", self.done
                    elif path not in said or said[path].verdict != "unknown":
                        found = where(path, column, value)
                        assert (path in said) == bool(found), (self.done, path, column, value)
                        if path in said and said[path].row_groups:
                            assert {*said[path].row_groups} == found, (
                                self.done,
                                path,
                                column,
                                value,
                            )

    def values(self, column: str) -> list[Any]:
        """Some that are somewhere, and some that may not be."""
        path = self.source.choice(sorted(self.folder.iterdir()))
        there = sorted(
            {str(value): value for each in groups(path, column) for value in each}.items()
        )
        some = [value for _, value in self.source.sample(there, min(3, len(there)))]
        return [
            each
            for each in (*some, 7, "user 7", 0.0)
            if not (isinstance(each, float) and isnan(each))
        ]


@pytest.mark.parametrize("seed", range(NUM_LAKES))
def test_an_index_says_what_is_true(tmp_path, seed):
    lake = Lake(tmp_path, seed)
    lake.check()
    for _ in range(STEPS):
        lake.step()
        lake.check()
    lake.index.close()
