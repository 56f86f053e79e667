"""What an answer says of a file does not depend on which other files are asked: of one that has changed since it was
indexed, too, whatever became of it.

Without files, only those that may hold a value are looked at: of each of these, the answer is that about the files
that were named.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquet_bloom as pb
from parquet_bloom.errors import ColumnError, ValueTypeError
from parquet_bloom.index.manifest import IndexForm, Places
from parquet_bloom.vocabulary import words

NUM_FILES, LAKES = 4, 8
KINDS = ["number", "number", "text", "small number", "boolean", "no column"]
VALUES: list[list[Any]] = [[7], [3, 8, 99_999], ["user 7"]]

# By file: what is said of it.
Said: TypeAlias = dict[str, Any]


def write(path: Path, source: random.Random) -> None:
    """Three row groups, of which all, one or none have a filter."""
    numbers = [source.randrange(40) for _ in range(60)]
    values = {
        "number": pa.array(numbers),
        "small number": pa.array(numbers, pa.int32()),
        "text": pa.array([f"user {number}" for number in numbers]),
        "boolean": pa.array([number > 20 for number in numbers]),
    }
    kind = source.choice(KINDS)
    path.unlink(missing_ok=True)
    table = pa.table({"id" if kind in values else "other": values.get(kind, numbers)})
    pq.write_table(table, path, row_group_size=20, data_page_size=64)
    parts = source.choice([None, [1], []])
    if kind in values and kind != "boolean" and parts != []:
        pb.build(path, columns=["id"], row_groups=parts, in_place=True)


def change(path: Path, source: random.Random) -> None:
    """Another file, the same one in another state, or none."""
    match source.choice(["other", "other", "touched", "gone"]):
        case "other":
            write(path, source)
        case "touched":
            os.utime(path, ns=(1, 1))
        case "gone":
            path.unlink()


def probed(index: Path, values: Sequence[Any], files: Sequence[str] | None) -> Said:
    said: Said = {}
    with pb.Index(index) as opened:
        for result in opened.probe("id", values, files=files).results:
            for file in result.files:
                said.setdefault(file.path, []).append((result.value, file))
    return said


def found(index: Path, values: Sequence[Any], files: Sequence[str] | None) -> Said:
    report = pb.find(files, "id", values, index=index)
    said: Said = {file.path: file for file in report.unknown}
    for row in report.rows:
        said.setdefault(row.path, []).append(row)
    return said


@pytest.mark.parametrize("ask", [probed, found])
@pytest.mark.parametrize(
    ("form", "places"),
    [
        (form, places)
        for form in words(IndexForm)
        for places in words(Places)
        if form == "map" or places != "page"
    ],
)
def test_an_answer_about_a_file_does_not_depend_on_others(tmp_path, form, places, ask):
    num_changed = 0
    for seed in range(LAKES):
        source, lake, index = random.Random(seed), tmp_path / f"{seed}", tmp_path / f"index {seed}"
        lake.mkdir()
        paths = [lake / f"{number}.parquet" for number in range(NUM_FILES)]
        for path in paths:
            write(path, source)
        try:
            pb.Index.build(index, lake, "id", form=form, places=places).close()
        except ColumnError:
            # None of the files has it.
            continue
        for path in source.sample(paths, 2):
            change(path, source)
            num_changed += 1
        there = [str(path) for path in paths if path.exists()]
        for values in VALUES:
            check(index, values, there, ask)
    assert num_changed > LAKES


def check(
    index: Path,
    values: Sequence[Any],
    files: Sequence[str],
    ask: Callable[[Path, Sequence[Any], Sequence[str] | None], Said],
) -> None:
    alone = {path: said_or_mistaken(index, values, [path], ask) for path in files}
    for number in range(2, len(files) + 1):
        for some in combinations(files, number):
            said = said_or_mistaken(index, values, some, ask)
            if said is None:
                # What none of them can hold is a mistake.
                assert {alone[path] for path in some} == {None}
                continue
            for path in some:
                check_one(path, said, alone[path])
    said = said_or_mistaken(index, values, None, ask) or {}
    for path in said.keys() & alone.keys():
        check_one(path, said, alone[path])


def check_one(path: str, said: Said, alone: Said | None) -> None:
    if alone is None:
        # A mistake by itself: beside one that can hold it, this one cannot say.
        assert said[path].reason
    else:
        assert said.get(path) == alone.get(path)


def said_or_mistaken(
    index: Path,
    values: Sequence[Any],
    files: Sequence[str] | None,
    ask: Callable[[Path, Sequence[Any], Sequence[str] | None], Said],
) -> Said | None:
    """None if the values or the column are called a mistake."""
    try:
        return ask(index, values, files)
    except (ColumnError, ValueTypeError):
        return None
