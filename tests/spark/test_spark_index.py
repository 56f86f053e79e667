"""An index that executors make: it answers what the index of one machine answers, and no attempt that dies, is late,
or is done twice adds a file twice or loses one. Runs on classic, and once more on Connect."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.dying_tasks import dying
from make.executors_here import IndexingHere
from make.index_lakes import COLUMNS, write_file
from pyarrow import orc
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DateType,
    DecimalType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

import parquet_bloom as pb
from parquet_bloom import spark as lake
from parquet_bloom.errors import (
    ColumnError,
    EncryptionError,
    FormatError,
    RewriteError,
    ValueTypeError,
)
from parquet_bloom.index.manifest import existing
from parquet_bloom.spark import executors
from parquet_bloom.spark.asked_types import check_type
from parquet_bloom.spark.index_asking import IndexQuestion, answer
from parquet_bloom.spark.plan import Bounds
from parquet_bloom.storage.folder import LocalFolder

pytestmark = pytest.mark.interop

ASKED = {
    "n": [*range(-200, 200, 9), "user 7"],
    "s": [f"user {n}" for n in range(0, 300, 11)],
    "x": [n / 2 for n in range(-200, 200, 13)],
}


def make_lake(folder: Path, seed: int, files: int = 11) -> Path:
    """Parquet and ORC files of several types, some without a column, one that is none."""
    source = random.Random(seed)
    folder.mkdir(parents=True)
    for number in range(files):
        (folder / f"d={number % 3}").mkdir(exist_ok=True)
        write_file(folder / f"d={number % 3}" / f"{number}.parquet", source)
    for number in range(2):
        table = pa.table({"n": range(number, 90), "s": [f"user {n}" for n in range(number, 90)]})
        orc.write_table(table, folder / f"{number}.orc")
    (folder / "broken.parquet").write_bytes(b"PAR1 is how it begins, and PAR2")
    return folder


def answers(index: Path, hash_key: str | None = None) -> Iterator[Any]:
    """On all values that are asked for: the rows, and the files of which nothing is known. Which other files a hash
    stands for, depends on the segments."""
    with pb.Index(index, hash_key=hash_key) as found:
        for column, values in ASKED.items():
            for value in values:
                try:
                    (result,) = found.probe(column, value).results
                    report = pb.find(None, column, value, index=index, hash_key=hash_key)
                except pb.ValueTypeError as error:
                    yield str(error)
                else:
                    unknown = [file.path for file in result.files if file.verdict == "unknown"]
                    yield report.rows, unknown
                    maybe = {(file.path, part) for file in result.files for part in file.row_groups}
                    assert maybe >= {(row.path, row.row_group) for row in report.rows}


def counted(change: Any) -> tuple[int | None, ...]:
    """How many files are new, changed and gone, as either way of adding says it."""
    return change.added, change.changed, change.removed


def states_in(index: Path) -> dict[str, set[str]]:
    """By file, those that an index has; nothing if there is none."""
    found: dict[str, set[str]] = {}
    if any(index.glob("manifest-*")):
        with pb.Index(index) as opened:
            for unit, _ in opened._asked.units("n"):
                found.setdefault(unit.path, set()).add(unit.version)
    return found


def problems(index: Path, hash_key: str | None = None) -> list[str]:
    with pb.Index(index, hash_key=hash_key) as found:
        return [each.problem for each in found.check(deep=True).findings]


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three files each."""
    monkeypatch.setattr("parquet_bloom.spark.lake_index.BOUNDS", Bounds(files=3, first_files=3))


def test_it_answers_what_the_index_of_one_machine_answers(spark, tmp_path, small_tasks):
    (tmp_path / "key").write_text("hex:" + "07" * 16)
    key = f"file:{tmp_path}/key"
    source = make_lake(tmp_path / "lake", 3)
    terms = {"columns": COLUMNS, "places": "page", "hash_key": key}
    report = lake.index(spark, source, index=tmp_path / "by-spark", **terms)
    local = pb.Index.build(tmp_path / "local", source, COLUMNS, places="page", hash_key=key)
    assert report.counts["error"] == 1
    assert report.troubles[0].path == str(source / "broken.parquet")
    assert report.index.files == 14
    assert report.index.new > 5
    assert list(answers(tmp_path / "by-spark", hash_key=key)) == list(
        answers(tmp_path / "local", hash_key=key)
    )
    assert problems(tmp_path / "by-spark", key) == []

    # Nothing new, then some of everything.
    again = lake.index(spark, index=tmp_path / "by-spark", hash_key=key)
    assert (again.index.generation, again.index.new, *counted(again.index)) == (1, 0, 0, 0, 0)
    changed = random.Random(5)
    write_file(source / "d=0" / "0.parquet", changed)
    write_file(source / "d=1" / "new.parquet", changed)
    (source / "d=2" / "2.parquet").unlink()
    report = lake.index(spark, index=tmp_path / "by-spark", hash_key=key)
    assert report.counts["unchanged"] == 12
    assert report.index.files == 14
    by_one = local.add()
    assert counted(report.index) == counted(by_one) == (1, 1, 1)
    local.close()
    assert list(answers(tmp_path / "by-spark", hash_key=key)) == list(
        answers(tmp_path / "local", hash_key=key)
    )
    assert problems(tmp_path / "by-spark", key) == []
    with pb.Index(tmp_path / "by-spark", hash_key=key) as found:
        # The other way of adding goes on with it.
        assert found.add().added == 0


@pytest.mark.parametrize(
    ("index", "names", "data"),
    [
        ("lake", ["lake"], "d=0/0.parquet"),
        ("lake", ["lake/d=1/1.parquet"], "d=1/1.parquet"),
        ("lake", ["lake/d=*/0.parquet"], "d=0/0.parquet"),
        (".", ["lake/d=1"], "lake/d=1/1.parquet"),
    ],
)
def test_no_index_is_made_above_data(spark, tmp_path, index, names, data):
    """As without Spark: it takes what is in its folder for its own, and would know none of these files."""
    folder = tmp_path / "lake"
    for number in range(2):
        (folder / f"d={number}").mkdir(parents=True)
        pq.write_table(pa.table({"n": [number]}), folder / f"d={number}" / f"{number}.parquet")
    before = {*tmp_path.rglob("*")}
    place, paths = (tmp_path / index).resolve(), [str(tmp_path / name) for name in names]
    told = f"{place}: has data in it, {data}: expected another folder for the index"
    with pytest.raises(RewriteError, match=f"^{re.escape(told)}$"):
        lake.index(spark, paths, index=place, columns="n")
    assert {*tmp_path.rglob("*")} == before
    with pytest.raises(
        RewriteError, match=r"d=0: has data in it, 0\.parquet: expected a new folder$"
    ):
        lake.index(spark, paths, index=folder / "d=0", columns="n")
    # Nor are those passed over that came there later.
    assert lake.index(spark, folder, index=folder / "of n", columns="n").index.files == 2
    assert lake.index(spark, index=folder / "of n").index.files == 2
    (folder / "d=0" / "0.parquet").rename(folder / "of n" / "0.parquet")
    with pytest.raises(RewriteError, match=r"of n: has data in it, 0\.parquet: expected another"):
        lake.index(spark, index=folder / "of n")


def test_executors_that_are_killed(spark, tmp_path, monkeypatch, small_tasks):
    """After they have written segments, and before anybody is told."""
    source, index, died = make_lake(tmp_path / "lake", 6), tmp_path / "index", tmp_path / "died"
    died.mkdir()
    how = dying(executors.on_executor, str(died), "killed", 1)
    monkeypatch.setattr(executors, "on_executor", how)
    report = lake.index(spark, source, index=index, columns="n")
    assert list(died.iterdir())
    assert report.index.files == 14
    assert problems(index) == []
    with pb.Index(index) as found:
        # What the first attempts wrote counts; what the second ones did, they have removed.
        assert found.check().unneeded == 0
        assert len(list(found._asked.units("n"))) == 14


def test_a_run_that_died_before_its_manifest_counts_what_it_changes(tmp_path, monkeypatch):
    """All files were done then, and nothing of it was in the index."""
    source, index = make_lake(tmp_path / "lake", 4, files=4), tmp_path / "index"
    here = IndexingHere(monkeypatch)

    def run(number: int, **given: Any) -> Any:
        run = {"audit": str(tmp_path / "audit"), "run_id": f"run {number}"}

        def die() -> None:
            raise InterruptedError

        here.before_commit = die
        with pytest.raises(InterruptedError):
            lake.index(None, source, index=index, **run, **given)
        here.before_commit = lambda: None
        made = lake.index(None, source, index=index, **run, **given)
        # Of one that had its manifest, nobody knows it.
        assert counted(lake.index(None, source, index=index, **run, **given)) == (None, None, None)
        return made

    assert counted(run(0, columns="n")) == (7, 0, 0)
    (source / "d=0" / "0.parquet").unlink()
    assert counted(run(1)) == (0, 0, 1)
    write_file(source / "d=1" / "1.parquet", random.Random(9))
    write_file(source / "d=1" / "new.parquet", random.Random(8))
    assert counted(run(2)) == (1, 1, 0)


def test_a_damaged_column_is_trouble_as_without_spark(spark, tmp_path):
    """As long as it is damaged. A column that is not there is none."""
    source, index = tmp_path / "lake", tmp_path / "index"
    source.mkdir()
    for name, damaged in (("good", None), ("half", "n"), ("bad", "s")):
        path = source / f"{name}.parquet"
        table = pa.table({"n": range(100), "s": [f"user {n}" for n in range(100)]})
        pq.write_table(table, path, use_dictionary=False)
        if damaged is not None:
            place = pq.read_metadata(path).row_group(0).column("ns".index(damaged)).data_page_offset
            content = bytearray(path.read_bytes())
            content[place : place + 8] = b"\xff" * 8
            path.write_bytes(content)
    pq.write_table(pa.table({"other": [1]}), source / "without.parquet")
    local = outcome("index", "build", "--index", tmp_path / "local", source, "-c", "n")
    assert local.code == 2
    arguments = ("spark", "index", "--index", index)
    first = outcome(*arguments, source, "-c", "n")
    header = "4 files, 2 of them not fully indexed (1 cannot be read in full)"
    assert (first.code, header in first.stdout, header in local.stdout) == (2, True, True)
    assert first.stdout.startswith("index: 2 read, 1 skipped, 1 error; ")
    assert f"{source}/half.parquet: n: " in first.complaint
    again = outcome(*arguments)
    assert (again.code, header in again.stdout) == (2, True)
    named = "1 file that cannot be read in full: `pbloom index check --index"
    assert again.complaint.startswith(f"{index}: {named}")
    report = lake.index(spark, index=index)
    assert (report.ok, report.index.failed, report.troubles) == (False, 1, ())
    assert problems(index) == []

    # The other column of a damaged file is indexed all the same.
    report = lake.index(spark, source, index=tmp_path / "both", columns=["n", "s"])
    names = [Path(each.path).name for each in report.troubles]
    assert (names, report.index.failed) == (["bad.parquet", "half.parquet"], 2)
    # By whichever verb.
    built = lake.build(spark, source, columns=["n", "s"], dry_run=True)
    for made in (report, built):
        classes = {Path(each.path).name: each.error_class for each in made.troubles}
        assert {classes[name] for name in names} == {"PageError"}
    with pb.Index(tmp_path / "both") as found:
        (result,) = found.probe("n", 7).results
        assert {Path(each.path).name: each.verdict for each in result.files} == {
            **dict.fromkeys(["good.parquet", "bad.parquet"], "maybe"),
            **dict.fromkeys(["half.parquet", "without.parquet"], "unknown"),
        }
    for name in ("half", "bad"):
        (source / f"{name}.parquet").unlink()
    assert outcome(*arguments).code == 0
    assert lake.index(spark, index=tmp_path / "both").ok


def test_the_command_and_the_frame_of_values(spark, tmp_path, capfd):
    source, index = make_lake(tmp_path / "lake", 8, files=4), tmp_path / "index"
    arguments = ("spark", "index", "--index", index)
    result = outcome(*arguments, source, "-c", "n,s")
    assert result.code == 2
    assert result.complaint.startswith(f"{source}/broken.parquet: truncated or not a Parquet file")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("index: ")
    with pb.Index(index) as found:
        unknown = len({each.path for each in found.check().not_indexed})
    assert lines[-1].startswith(
        f"{index}: 7 files, {unknown} of them not fully indexed (1 cannot be read in full): "
        "7 added, 0 changed, 0 removed; "
    )
    # Of files that are not read again, too.
    result = outcome(*arguments, "--json")
    told = json.loads(result.stdout)
    assert (result.code, told["generation"], told["unknown"], told["failed"]) == (2, 1, unknown, 1)
    assert result.complaint == (
        f"{index}: 1 file that cannot be read in full: `pbloom index check --index {index}` names all"
    )
    with pb.Index(index) as found:
        values = [*range(-20, 120, 7), 10_000]
        frame = spark.createDataFrame([(n,) for n in [*values, None]], "number long")
        answer = lake.files_for(spark, index, "n", frame)
        assert answer.columns == ["number", "path", "row_group", "verdict", "reason"]
        assert answer.schema[1:] == lake.ANSWER
        rows = {tuple(row) for row in answer.collect()}
        expected = set()
        for value, result in zip(values, found.probe("n", values).results, strict=True):
            for file in result.files:
                # The value has a column of its own.
                reason = file.reason and file.reason.removeprefix(f"{value}: ")
                expected |= {
                    (value, file.path, at, file.verdict, reason)
                    for at in file.row_groups or (None,)
                }
            if not result.files:
                expected.add((value, None, None, "absent", None))
    expected.add((None, None, None, "unknown", "null: cannot be looked for"))
    assert rows == expected
    by_name = lake.files_for(spark, index, "n", frame, union_by_name=True)
    reasons = {row.reason for row in answer.collect()} - {row.reason for row in by_name.collect()}
    lacking = "no column n; the file has other, x; null there with union_by_name=True"
    assert reasons == {lacking}
    only_null = lake.files_for(spark, index, "n", frame.where("number is null"))
    assert [each.verdict for each in only_null.collect()] == ["unknown"]
    (reason,) = {row[4] for row in rows if row[1] == f"{source}/broken.parquet"}
    assert reason.startswith("truncated or not a Parquet file")
    assert answer.where("verdict = 'maybe'").count() > 20
    told = f'{index}: column n: values of type array<int>, expected string: values.select(values["a"].cast("string"))'
    with pytest.raises(ValueTypeError) as refused:
        lake.files_for(spark, index, "n", spark.range(1).selectExpr("array(1) a"))
    assert str(refused.value) == told


def test_what_is_refused(tmp_path):
    index = tmp_path / "index"
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    pb.Index.build(index, tmp_path / "a.parquet", "id").close()
    for given, error, message in [
        ({"columns": "idd"}, RewriteError, "is an index of id, expected no columns, or these"),
        ({"places": "page"}, RewriteError, "is an index of places row-group, expected no places"),
        ({"form": "slices"}, RewriteError, "is an index of form map, expected no form, or these"),
        ({"include_encrypted": True}, RewriteError, "is an index without encrypted columns"),
        ({"hash_key": "hex:" + "00" * 16}, EncryptionError, "would be part of the job"),
        ({"run_id": "x"}, ValueError, "run_id: expected an audit"),
    ]:
        with pytest.raises(error, match=message):
            lake.index(None, index=index, **given)
    with pytest.raises(ColumnError, match="idd"):
        lake.files_for(None, index, "idd", None)
    with pytest.raises(EncryptionError, match="would be part of the job"):
        lake.files_for(None, index, "id", None, hash_key="ascii:0123456789abcdef")
    frame = SimpleNamespace(columns=["a", "b"])
    with pytest.raises(ValueError, match="values: columns a, b, expected one of the name id"):
        lake.files_for(None, index, "id", frame)
    with pytest.raises(FileNotFoundError, match="no index"):
        lake.files_for(None, tmp_path / "none", "id", frame)
    (lost,) = index.glob("*.map.parquet")
    lost.unlink()
    with pytest.raises(FormatError, match=f"^{lost}: is not there$"):
        lake.index(None, index=index)


# What Spark has in a column, by what is indexed: the types that are asked as they are, and what others are cast to.
TYPES = {
    "int": (pa.array([1]), {"tinyint", "bigint", "double", "decimal(10,2)"}, "bigint"),
    "text": (pa.array(["a"]), {"string", "varchar(9)", "binary"}, "string"),
    "four": (pa.array([b"abcd"], pa.binary(4)), {"string", "varchar(9)", "binary"}, "binary"),
    "uuid": (pa.array([bytes(16)], pa.uuid()), {"string", "varchar(9)", "binary"}, "string"),
    "date": (pa.array([date(2026, 1, 1)]), {"tinyint", "bigint", "date"}, "date"),
    "utc": (
        pa.array([1], pa.timestamp("us", "UTC")),
        {"tinyint", "bigint", "date", "timestamp", "timestamp_ntz"},
        "timestamp",
    ),
    "local": (
        pa.array([1], pa.timestamp("us")),
        {"tinyint", "bigint", "date", "timestamp_ntz"},
        "timestamp_ntz",
    ),
    "double": (pa.array([0.5]), {"tinyint", "bigint", "double", "decimal(10,2)"}, "double"),
    "price": (
        pa.array([Decimal("1.25")]),
        {"tinyint", "bigint", "decimal(10,2)", "binary"},
        "decimal(38, 18)",
    ),
}
ALL_TYPES = [
    ByteType(), LongType(), DoubleType(), DecimalType(10, 2), BooleanType(), StringType(), VarcharType(9),
    BinaryType(), DateType(), TimestampType(), TimestampNTZType(), ArrayType(LongType()), StructType(),
]  # fmt: skip


@pytest.mark.parametrize("column", TYPES)
def test_a_frame_of_values_of_another_type_is_refused_and_told_the_cast(tmp_path, column):
    values, held, cast = TYPES[column]
    pq.write_table(pa.table({column: values}), tmp_path / "a.parquet")
    pb.Index.build(tmp_path / "index", tmp_path / "a.parquet", column).close()
    manifest = existing(LocalFolder(str(tmp_path / "index")))
    for each in ALL_TYPES:
        name, way = each.simpleString(), f'values.select(values["v"].cast("{cast}"))'
        told = f"index: column {column}: values of type {name}, expected {cast}: {way}"
        with (
            nullcontext()
            if name in held
            else pytest.raises(ValueTypeError, match=f"^{re.escape(told)}$")
        ):
            check_type("index", manifest, column, StructField("v", each))


def test_a_value_of_its_own_column_is_not_in_the_reason(tmp_path):
    """Which is the same for all values of which a file can hold none, so that it can be grouped by."""
    for name, values in {"a": [1, 2], "b": ["1", "x"]}.items():
        pq.write_table(pa.table({"n": values}), tmp_path / f"{name}.parquet")
    pb.Index.build(
        tmp_path / "index", [tmp_path / "a.parquet", tmp_path / "b.parquet"], "n"
    ).close()
    question = IndexQuestion(str(tmp_path / "index"), "n", union_by_name=False, hash_key=None)
    asked = ["x", "y: cannot be a value of y", None]
    answers = answer(question, iter([pa.record_batch({"v": asked})]))
    rows = [row for batch in answers for row in batch.to_pylist() if row["verdict"] == "unknown"]
    cannot = (
        "cannot be a value of INT64: expected an integer, or pb.literal(…) to read it from text"
    )
    assert [(row["v"], row["reason"]) for row in rows] == [
        (None, "null: cannot be looked for"),
        *((value, cannot) for value in asked[:2]),
    ]


# ------------------------------------------------------------------------------------------------
# The same without Spark


class Killed(BaseException):
    """An executor that is gone."""


class Weather:
    """What becomes of attempts: they die at some step, are done twice, or are late."""

    def __init__(self, source: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
        self._source, self._left = source, 0
        for name in ("making", "put_if_absent"):
            monkeypatch.setattr(LocalFolder, name, self._stumbling(getattr(LocalFolder, name)))

    def _stumbling(self, real: Any) -> Any:
        def step(*arguments: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                raise Killed
            return real(*arguments)

        return step

    def attempts(self, attempt: Any) -> None:
        for _ in range(self._source.randrange(3)):
            self._left = self._source.randrange(1, 9)
            with suppress(Killed):
                attempt()
        self._left = 0
        totals = attempt()
        # A speculative one that comes last tells the same.
        if self._source.random() < 0.5:
            assert [each["files"] for each in attempt()] == [each["files"] for each in totals]


def change(source: random.Random, folder: Path) -> None:
    files = sorted(path for path in folder.rglob("*.parquet") if path.parent.name != "of n")
    kind = source.choice(["create", "create", "change", "delete"])
    if kind == "create":
        write_file(folder / f"new-{source.randrange(10**6)}.parquet", source)
    elif kind == "change":
        write_file(source.choice(files), source)
    elif len(files) > 2:
        source.choice(files).unlink()


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(int(os.environ.get("PBLOOM_RACES", "6"))))
def test_whatever_becomes_of_attempts(tmp_path, monkeypatch, small_tasks, seed):
    """Files change, tasks die, and others add to the index: each file is there once, in its state."""
    source = random.Random(seed)
    folder, index = make_lake(tmp_path / "lake", seed, files=8), tmp_path / "lake" / "of n"
    if seed % 2:
        monkeypatch.setattr("parquet_bloom.spark.indexing.FEW_SEGMENTS", 1)
        monkeypatch.setattr("parquet_bloom.spark.indexing.MERGED_AT_ONCE", 2)
    here = IndexingHere(monkeypatch)
    here.attempts = Weather(source, monkeypatch).attempts
    terms = {"places": source.choice(["file", "row-group", "page"])}
    if seed % 3 == 2:
        terms = {"form": "auto"}
        for path in sorted(folder.rglob("*.parquet"))[::2]:
            with suppress(pb.ParquetBloomError):
                pb.build(path, in_place=True, columns=["n", "s"], force=True)

    before: dict[str, set[str]] = {}

    def others() -> None:
        rivals()
        before.clear()
        before.update(states_in(index))

    def rivals() -> None:
        if any(index.glob("manifest-*")) and source.random() < 0.7:
            with pb.Index(index) as rival:
                change(source, folder)
                rival.add()
                if source.random() < 0.5:
                    rival.compact(everything=True)

    here.before_commit = others
    for number in range(4):
        run = {"audit": str(tmp_path / "audit"), "run_id": f"run {number}"}
        first = {"columns": ["n", "s"], **terms} if number == 0 else {}
        made = lake.index(None, folder, index=index, **run, **first)
        after = states_in(index)
        both = before.keys() & after.keys()
        assert counted(made) == (
            len(after.keys() - both),
            sum(before[path] != after[path] for path in both),
            len(before.keys() - both),
        )
        if number:
            # What it has already done, it does not do again.
            here.before_commit = lambda: None
            again = lake.index(None, folder, index=index, **run)
            assert again.generation == made.generation
            # Nor does it know any more what it has done.
            assert counted(again) == (None, None, None)
            assert again.changes_in_words == "not known what was added, changed or removed"
            here.before_commit = others
        found = problems(index)
        # One may be gone since it was read, as the next `add` finds.
        assert set(found) <= {"gone"}
        with pb.Index(index) as opened:
            segments = opened._asked.manifest.segments
            # Those of one kind are one, if that is few.
            kinds = {(each.subject, each.map is None, each.slices is None) for each in segments}
            assert number or not seed % 2 or len(kinds) == len(segments) == made.new
            units = list(opened._asked.units("n"))
            paths = {unit.path for unit, _ in units}
            assert len({(unit.path, unit.version) for unit, _ in units}) == len(paths)
            assert made.files == len(paths)
            assert made.unknown == len({each.path for each in opened.check().not_indexed}) > 0
        for _ in range(source.randrange(3)):
            change(source, folder)
    with pb.Index(index) as opened:
        opened.add()
        assert problems(index) == []
        opened.compact(everything=True, older_than=0)
        opened.compact(everything=True, older_than=0)
        assert opened.check().unneeded == 0
        there = {path.name for path in index.iterdir() if not path.name.startswith("manifest")}
        assert there == set(opened._asked.manifest.files)


def test_nothing_is_made_of_no_files(tmp_path, monkeypatch):
    IndexingHere(monkeypatch)
    terms = {"audit": str(tmp_path / "audit"), "run_id": "x"}
    (tmp_path / "lake").mkdir()
    with pytest.raises(FileNotFoundError, match="no Parquet or ORC files"):
        lake.index(None, tmp_path / "lake", index=tmp_path / "index", columns="n", **terms)
    assert not (tmp_path / "index").exists()
    make_lake(tmp_path / "lake" / "x", 1, files=3)
    (tmp_path / "lake" / "x" / "broken.parquet").unlink()
    terms["run_id"] = "y"
    with pytest.raises(ColumnError, match="no index: no file has the column nn"):
        lake.index(None, tmp_path / "lake", index=tmp_path / "index", columns=["n", "nn"], **terms)


def test_another_key_on_an_executor_is_no_index(tmp_path, monkeypatch):
    """Each value would be absent."""
    here = IndexingHere(monkeypatch)
    make_lake(tmp_path / "lake", 1, files=2)
    key = tmp_path / "key"
    key.write_text("hex:" + "01" * 16)

    def attempts(attempt: Any) -> None:
        key.write_text("hex:" + "02" * 16)
        attempt()

    here.attempts = attempts
    terms = {"audit": str(tmp_path / "audit"), "run_id": "x", "hash_key": f"file:{key}"}
    with pytest.raises(EncryptionError, match="is another hash key here than on the driver"):
        lake.index(None, tmp_path / "lake", index=tmp_path / "index", columns="n", **terms)


@pytest.mark.parametrize("is_left", [True, False], ids=["empty", "gone"])
def test_a_folder_without_files_is_not_forgotten(tmp_path, monkeypatch, is_left):
    """It may be mounted elsewhere."""
    IndexingHere(monkeypatch)
    folder, index = tmp_path / "lake", tmp_path / "index"
    make_lake(folder, 1, files=3)
    lake.index(None, folder, index=index, columns="n", audit=str(tmp_path / "audit"), run_id="x")
    folder.rename(tmp_path / "elsewhere")
    if is_left:
        folder.mkdir()
    told = "and the index is about it: index remove forgets it: .*lake"
    with pytest.raises(FileNotFoundError, match=told):
        lake.index(None, index=index, audit=str(tmp_path / "audit"), run_id="y")
    with pb.Index(index) as opened:
        assert opened.generation == 1


def of_two_folders(tmp_path: Path) -> dict[str, Any]:
    """What brings an index over two folders up to date, with a file in each that is new."""
    folders, source = [tmp_path / "one", tmp_path / "two"], random.Random(1)
    for number, folder in enumerate(folders):
        folder.mkdir()
        write_file(folder / f"{number}.parquet", source)
    run = {"index": tmp_path / "index", "audit": str(tmp_path / "audit")}
    lake.index(None, folders, columns="n", run_id="first", **run)
    for folder in folders:
        write_file(folder / "new.parquet", source)
    return {**run, "run_id": "second"}


def test_another_index_that_was_made_meanwhile_is_left_alone(tmp_path, monkeypatch):
    here = IndexingHere(monkeypatch)
    run = of_two_folders(tmp_path)
    here.before_commit = lambda: pb.Index.build(
        run["index"], tmp_path / "one", "n", overwrite=True
    ).close()
    with pytest.raises(RewriteError, match="another index was made here meanwhile"):
        lake.index(None, **run)
    with pb.Index(run["index"]) as now:
        assert now._asked.manifest.sources == (str(tmp_path / "one"),)


def test_a_source_that_was_removed_meanwhile_does_not_come_back(tmp_path, monkeypatch):
    here = IndexingHere(monkeypatch)
    run = of_two_folders(tmp_path)

    def remove() -> None:
        here.before_commit = lambda: None
        with pb.Index(run["index"]) as other:
            other.remove(tmp_path / "two")

    here.before_commit = remove
    with pytest.raises(RewriteError, match="somebody else has changed the index meanwhile"):
        lake.index(None, **run)
    again = lake.index(None, **{**run, "run_id": "third"})
    assert again.files == 2
    with pb.Index(run["index"]) as now:
        assert now._asked.manifest.sources == (str(tmp_path / "one"),)
        assert problems(run["index"]) == []
