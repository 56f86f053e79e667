"""Files of a table that lack some of its columns are judged with those that have them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from make import iceberg_tables
from make.commands import outcome
from make.delta_tables import build, table_of
from make.iceberg_tables import CATALOG, NAME, use_catalog
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

import parquet_bloom as pb
from parquet_bloom.advice.sketch import TableSketch
from parquet_bloom.advice.table import shapes_of
from parquet_bloom.advice.united import FilesAlike, fitting, united
from parquet_bloom.options import AdviseOptions, ValidateOptions
from parquet_bloom.tables.open import open_table
from parquet_bloom.verbs.advise import Advisor, TableAdvisor
from parquet_bloom.verbs.lake_report import LakeReporter
from parquet_bloom.vocabulary import ALL_FILES_OF_TABLE, NAME_ALL_FILES

NUM_OLD = 6


def rows_of(number: int, *, has_later: bool = False) -> pa.Table:
    """One row group, whose `user_id` is spread over the whole range."""
    chosen = np.random.default_rng(number).permutation(1 << 20)[:1000]
    rows = {"user_id": [f"user-{each:08}" for each in chosen], "n": pa.array(chosen, pa.int64())}
    later = {"order_id": [f"order-{each:08}" for each in chosen]} if has_later else {}
    return pa.table({**rows, **later})


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    """Six files without `order_id`, and one that has it."""
    folder = tmp_path / "events"
    for number in range(NUM_OLD):
        write_deltalake(folder, rows_of(number), mode="append")
    write_deltalake(folder, rows_of(NUM_OLD, has_later=True), mode="append", schema_mode="merge")
    return folder


def by_column(report: pb.AdviceReport) -> dict[str, pb.ColumnAdvice]:
    return {each.column: each for each in report.columns}


def test_files_without_a_column_are_judged_with_those_that_have_it(delta):
    (report,) = pb.advise(delta, table="delta").reports
    assert (report.files, report.num_groups) == (NUM_OLD + 1, NUM_OLD + 1)
    assert [*by_column(report)] == ["user_id", "n", "order_id"]
    # To the last digit what it is said to be where nobody asks about the others.
    for name, advice in by_column(report).items():
        (alone,) = pb.advise(delta, table="delta", columns=name).reports
        assert (alone.files, alone.columns) == (NUM_OLD + 1, (advice,))
    assert by_column(report)["user_id"].groups == NUM_OLD + 1
    assert by_column(report)["order_id"].groups == 1
    assert report.recommended == ("user_id", "n")


def test_what_is_advised_is_built_in_all_files(delta):
    result = outcome("advise", delta, "--table", "delta")
    assert "schema" not in result.stdout
    assert "next: pbloom build" in result.stdout
    built = outcome("build", delta, "--table", "delta", "--auto", "--all-sizes")
    assert (built.code, built.stderr) == (0, "")
    assert f"{NUM_OLD + 1} appended" in built.stdout
    (report,) = pb.advise(delta, table="delta").reports
    assert {each.column: each.already for each in report.columns} == {
        "user_id": NUM_OLD + 1, "n": NUM_OLD + 1, "order_id": 0,
    }  # fmt: skip


def test_advice_from_python_is_that_of_all_files(delta):
    built = pb.build_table(delta, advice=pb.advise(delta, table="delta"), min_file_size=0)
    assert [each.num_filters for each in built.files] == [2] * (NUM_OLD + 1)


def test_each_file_has_a_report_on_its_own_columns(delta):
    """With the verdicts of the table."""
    table = pb.open_table(delta)
    advisor = Advisor(AdviseOptions())
    for file in table.files():
        with open_table(delta).open_file(file) as opened:
            advisor.add_file(opened)
    (whole,) = advisor.tables()
    counts = []
    for report in advisor.reports():
        assert report.files == NUM_OLD + 1
        assert report.keys == whole.keys
        counts.append(len(report.columns))
        for name, advice in by_column(report).items():
            assert advice.verdict == by_column(whole)[name].verdict
            assert advice.groups_filter == by_column(whole)[name].groups_filter
    assert sorted(counts) == [2] * NUM_OLD + [3]


def test_an_iceberg_table(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)
    schema = Schema(NestedField(1, "user_id", StringType()), NestedField(2, "n", LongType()))
    made = iceberg_tables.make_table(commits=0, schema=schema, spec=UNPARTITIONED_PARTITION_SPEC)
    for number in range(NUM_OLD):
        made.append(rows_of(number))
    with made.update_schema() as update:
        update.add_column("order_id", StringType())
        update.rename_column("n", "amount")
    made.append(rows_of(NUM_OLD, has_later=True).rename_columns(["user_id", "amount", "order_id"]))
    (report,) = pb.advise(NAME, table=pb.TableView(catalog=CATALOG)).reports
    assert report.files > NUM_OLD
    assert [*by_column(report)] == ["user_id", "amount", "order_id"]
    assert "user_id" in report.recommended


def test_why_no_file_with_a_column_can_have_filters_of_it_is_said(tmp_path):
    folder = tmp_path / "events"
    write_deltalake(folder, rows_of(0), mode="append")
    later = rows_of(1).append_column("is_new", pa.array([True, False] * 500))
    write_deltalake(folder, later, mode="append", schema_mode="merge")
    (report,) = pb.advise(folder, table="delta").reports
    assert by_column(report)["is_new"].reason == "BOOLEAN: two values need no filter"


def written(folder: Path, *tables: pa.Table) -> list[Path]:
    paths = [folder / f"{number}.parquet" for number in range(len(tables))]
    for path, rows in zip(paths, tables, strict=True):
        pq.write_table(rows, path)
    return paths


def test_files_with_a_column_of_another_type_stay_apart(tmp_path):
    """The same number has another hash as an INT32. Where columns have another order, nothing differs."""
    wide = pa.table({"n": pa.array(range(9), pa.int64()), "user_id": ["a"] * 9})
    narrow = wide.set_column(0, "n", wide["n"].cast(pa.int32()))
    without, turned = wide.select(["user_id"]), wide.select(["user_id", "n"])
    paths = written(tmp_path, narrow, wide, without, turned)
    folder = table_of(tmp_path / "events", *paths, n="long", user_id="string")
    reports = pb.advise(folder, table="delta").reports
    assert sorted(report.files for report in reports) == [1, 3]
    assert {by_column(each)["n"].physical_type for each in reports} == {"INT32", "INT64"}
    result = outcome("advise", folder, "--table", "delta")
    assert "2 schemas: " in result.stdout
    # Plain files with the same columns, and no others, are judged together.
    for path in folder.glob("*.parquet"):
        path.rename(tmp_path / path.name)
    assert len(pb.advise([*tmp_path.glob("part-*.parquet")]).reports) == 4


def test_the_same_comes_of_it_in_whatever_order_files_come(tmp_path):
    tables = [rows_of(number, has_later=number % 2 > 0).select([*names]) for number, names in enumerate(
        (["n"], ["order_id", "n"], ["user_id", "n"], ["order_id"], ["n", "user_id"])
    )]  # fmt: skip
    paths = written(tmp_path, *tables)

    def sketch(files: list[Path]) -> bytes:
        parts = []
        for path in files:
            advisor = TableAdvisor()
            advisor.add(path)
            with pb.open(path) as file:
                shapes = shapes_of(file._file.select(None))
            (data,) = advisor.sketches().values()
            parts.append(FilesAlike(shapes, TableSketch.from_bytes(data)))
        before = [part.sketch.to_bytes() for part in parts]
        (group,) = fitting(parts)
        whole = united(group).sketch.to_bytes()
        assert [part.sketch.to_bytes() for part in parts] == before
        return whole

    first = sketch(paths)
    for seed in range(5):
        assert sketch(random.Random(seed).sample(paths, len(paths))) == first


def test_a_page_goes_by_the_advice_on_all_files(delta):
    """Files that lack a filter are those of the report that is on them, whatever columns they have."""
    since = pb.open_table(delta).version
    build(delta, columns=["user_id"], since=since - 1)
    reporter = LakeReporter(("events",), ValidateOptions(), AdviseOptions())
    table = open_table(delta)
    for file in table.files():
        with table.open_file(file) as opened:
            reporter.add(file.path, reporter.look_at(opened))
    found = reporter.report()
    (advice,) = found.advice
    (in_some,) = found.in_some
    assert [*in_some.without] == [advice.key]
    assert {column for key, column in found.in_need if key == advice.key} == {
        "user_id",
        "n",
        "order_id",
    }
    assert len(found.in_need[advice.key, "user_id"]) == NUM_OLD


def test_what_judges_the_only_row_group_with_others(delta):
    """Of a table, all files are judged unless options leave some out."""
    since = pb.open_table(delta).version - 1
    part = pb.advise(delta, table=pb.TableView(since=since)).reports[0]
    said = by_column(part)["user_id"].reason
    assert f"which helps if the table has more; {ALL_FILES_OF_TABLE}" in said
    assert NAME_ALL_FILES not in said
    plain = pb.advise(next(delta.glob("*.parquet")))
    assert NAME_ALL_FILES in by_column(plain)["user_id"].reason
