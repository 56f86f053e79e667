"""What an answer says of a file does not depend on which other files are asked, nor what it says of a value on which
other values are: of a file that has changed since it was indexed, too, whatever became of it.

Without files, only those that may hold a value are looked at, and of each of these, the answer about this value is
that about the files that were named.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquet_bloom as pb
from parquet_bloom.errors import ColumnError, ValueTypeError
from parquet_bloom.index.manifest import IndexForm, Places
from parquet_bloom.verbs.found import UnknownFile
from parquet_bloom.vocabulary import words

NUM_FILES, LAKES = 4, 8
KINDS = ["number", "number", "text", "small number", "boolean", "no column"]
VALUES: list[list[Any]] = [[7], [3, 8, 99_999], ["user 7"], [3, "user 7", "nobody", 8]]

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
    said: Said = {}
    for each in (*report.unknown, *report.rows):
        said.setdefault(each.path, []).append(each)
    return said


FORMS = [
    (form, places)
    for form in words(IndexForm)
    for places in words(Places)
    if form == "map" or places != "page"
]


def changed_lakes(
    folder: Path, form: IndexForm, places: Places
) -> Iterator[tuple[Path, Sequence[str]]]:
    """Indexes, and the files that are there after some of theirs have changed."""
    for seed in range(LAKES):
        source, lake, index = random.Random(seed), folder / f"{seed}", folder / f"index {seed}"
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
        yield index, [str(path) for path in paths if path.exists()]


@pytest.mark.every(8)
@pytest.mark.parametrize("ask", [probed, found])
@pytest.mark.parametrize(("form", "places"), FORMS)
def test_an_answer_about_a_file_does_not_depend_on_others(tmp_path, form, places, ask):
    num_lakes = 0
    for index, there in changed_lakes(tmp_path, form, places):
        num_lakes += 1
        for values in VALUES:
            check(index, values, there, ask)
    assert num_lakes > LAKES / 2


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
        if ask is found and all(isinstance(each, UnknownFile) for each in said[path]):
            # As it was indexed, its column cannot hold some of the values: it was not opened for the others.
            assert all(each.reason for each in said[path])
        elif ask is found or alone[path] is None:
            check_one(path, said, alone[path])
        else:
            # Of a file that was not asked about a value, nobody knows what has become.
            assert {*said[path]} <= {*alone[path][path]}


def check_one(path: str, said: Said, alone: Said | None) -> None:
    if alone is None:
        # A mistake by itself: beside one that can hold it, this one cannot say.
        assert all(each.reason for each in said[path])
    else:
        assert said.get(path) == alone.get(path)


@pytest.mark.every(2)
@pytest.mark.parametrize(("form", "places"), FORMS)
def test_an_answer_about_a_value_does_not_depend_on_others(tmp_path, form, places):
    num_asked = 0
    for index, there in changed_lakes(tmp_path, form, places):
        for files in (None, there):
            for values in VALUES:
                alone = [said_or_mistaken(index, [value], files, probed) for value in values]
                said = said_or_mistaken(index, values, files, probed)
                if None in alone:
                    assert said is None
                    continue
                together: list[Any] = [
                    each for of_file in (said or {}).values() for each in of_file
                ]
                expected = [
                    each for one in alone for of_file in (one or {}).values() for each in of_file
                ]
                assert sorted(together, key=repr) == sorted(expected, key=repr)
                num_asked += len(values)
    assert num_asked > LAKES


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
