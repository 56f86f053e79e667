"""Columns that some files of a lake lack, by `union_by_name`: null there, if another file has them. Runs on classic,
and once more on Connect."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.lake_files import contents, everything_is_huge

import parquet_bloom as pb
from parquet_bloom import spark as lake
from parquet_bloom.errors import ColumnError
from parquet_bloom.rules.policy import Policy
from parquet_bloom.spark import uniting, verbs
from parquet_bloom.spark.plan import Bounds

pytestmark = pytest.mark.interop

BY_NAME = "no such column in the file: null there by union-by-name"


def write_grown(folder):
    """A lake whose second file of three was written after a column came to it."""
    folder.mkdir()
    for number in range(3):
        table = pa.table({"id": range(1000)})
        if number == 1:
            table = table.append_column("user", pa.array(map(str, range(1000))))
        pq.write_table(table, folder / f"{number}.parquet", use_dictionary=False)
    return folder


@pytest.fixture
def grown(tmp_path):
    return write_grown(tmp_path / "lake")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The same with filters of the new column, only to be read."""
    folder = write_grown(tmp_path_factory.mktemp("built") / "lake")
    pb.build(folder / "1.parquet", columns=["user"], in_place=True)
    return folder


def states(report):
    return [(each.status, each.filters, each.message) for each in report.outcomes]


def test_each_file_gets_filters_of_what_it_has(spark, grown, tmp_path):
    with pytest.raises(ColumnError, match=r"^3 files: no column usr; did you mean user\?$"):
        lake.build(spark, grown, columns=["id", "usr"], union_by_name=True)
    both = {"columns": ["id", "user"], "union_by_name": True, "audit": str(tmp_path / "audit")}
    report = lake.build(spark, grown, **both)
    lacking = f"column user: {BY_NAME}"
    assert states(report) == [("added", 1, lacking), ("added", 2, None), ("added", 1, lacking)]
    # Whoever has it need not be opened again, and says so.
    pq.write_table(pa.table({"id": range(10)}), grown / "3.parquet")
    later = lake.build(spark, grown, **both)
    assert [status for status, _, _ in states(later)] == [*3 * ["unchanged"], "added"]
    alone = lake.build(spark, grown, columns="user", union_by_name=True, only_missing=True)
    assert states(alone) == [
        ("skipped", 0, lacking),
        ("unchanged", 0, "each column has filters"),
        *2 * [("skipped", 0, lacking)],
    ]


def test_huge_files_are_taken_by_name(spark, grown, monkeypatch):
    everything_is_huge(monkeypatch)
    report = lake.build(spark, grown, columns=["id", "user"], union_by_name=True)
    assert [filters for _, filters, _ in states(report)] == [1, 2, 1]


def test_files_without_the_column_have_no_value_of_it(spark, built):
    assert lake.probe(spark, built, "user", ["5"]).counts == {"refused": 2, "read": 1}
    report = lake.probe(spark, built, ["user", "id"], [pb.literal("5")], union_by_name=True)
    assert [each.status for each in report.outcomes] == 3 * ["read"]
    told = [document.get("caveat") for document in report.documents()]
    assert told == [BY_NAME, None, None, None, BY_NAME, None]
    with pytest.raises(ColumnError, match=r"^3 files: no column idx; did you mean id\?$"):
        lake.probe(spark, built, ["user", "idx"], ["5"], union_by_name=True)


def test_filters_are_required_of_files_that_have_the_column(spark, built):
    required = Policy().with_options(require=["user"])
    assert not lake.validate(spark, built, policy=required).ok
    assert lake.validate(spark, built, policy=required, union_by_name=True).ok
    with pytest.raises(ColumnError, match=r"^3 files: no column usr; did you mean user\?$"):
        lake.validate(spark, built, require=["usr"], union_by_name=True)


@pytest.mark.every(2)
@pytest.mark.parametrize("number", [0, 3])
def test_the_one_file_that_has_it_is_found_in_any_sheet(spark, tmp_path, number, monkeypatch):
    monkeypatch.setattr(verbs, "BOUNDS", Bounds(first_files=1, files=1))
    # One sheet, two, and the last.
    monkeypatch.setattr(uniting, "MORE_AT_ONCE", 2)
    for each in range(4):
        table = pa.table({"user" if each == number else "id": [1]})
        pq.write_table(table, tmp_path / f"{each:02}.parquet")
    report = lake.build(spark, tmp_path, columns="user", union_by_name=True)
    assert report.counts == {"skipped": 3, "added": 1}
    before = contents(tmp_path)
    with pytest.raises(ColumnError, match=r"^4 files: no column usr; did you mean user\?$"):
        lake.build(spark, tmp_path, columns=["user", "usr"], existing="replace", union_by_name=True)
    assert contents(tmp_path) == before


def test_strip_leaves_files_that_lack_a_column(spark, grown):
    pb.build(grown / "1.parquet", columns=["user"], in_place=True)
    assert lake.strip(spark, grown, columns="user", dry_run=True).counts["refused"] == 2
    lacking = ("unchanged", 0, f"column user: {BY_NAME}")
    report = lake.strip(spark, grown, columns="user", union_by_name=True)
    assert states(report) == [lacking, ("removed", 1, None), lacking]


def test_advice_is_on_the_columns_of_each_file(spark, grown):
    advice = lake.advise(spark, grown)
    with pytest.raises(TypeError, match=r"^union_by_name: expected columns, not advice"):
        lake.build(spark, grown, advice=advice, union_by_name=True)


def test_the_command(spark, grown):
    built = outcome("spark", "build", grown, "-c", "user", "--union-by-name")
    assert (built.code, built.stderr) == (0, "")
    assert built.stdout.splitlines()[1:] == [
        "status\tfiles\tfilters\tbytes\treason",
        "added\t1\t1\t2.0 KiB\t",
        f"skipped\t2\t0\t0 B\tcolumn user: {BY_NAME}",
    ]
    misspelt = outcome("spark", "probe", grown, "-c", "usr", "-v", "5", "--union-by-name")
    assert (misspelt.code, misspelt.stdout) == (2, "")
    assert misspelt.stderr == "pbloom: 3 files: no column usr; did you mean user?\n"
    auto = outcome("spark", "build", grown, "--auto", "--union-by-name")
    assert auto.stderr.endswith("pbloom: --union-by-name: expected --column, not --auto\n")
    table = outcome("spark", "build", grown, "-c", "id", "--table", "auto", "--union-by-name")
    assert "pbloom: --union-by-name: not with --table, which says what is null" in table.stderr
