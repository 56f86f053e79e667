"""The verbs over a lake of ORC files, and of both formats, on Spark: outcomes, documents and files
are those of the local verbs. Runs on classic, and once more on Connect."""

import os
import shutil
from datetime import datetime

import pyarrow as pa
import pyorc
import pytest
from make.commands import outcome
from make.lake_files import GROUPS as ROW_GROUPS
from make.lake_files import built_lake, by_command, by_spark, contents, everything_is_huge, snapshot
from make.lake_files import write as write_parquet
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom import spark as lake
from parquet_bloom.files import open_file
from parquet_bloom.rules.policy import Policy

pytestmark = pytest.mark.interop

# Of the ORC files.
STRIPES, STRIDE = 2, 1000
# Two in the first stripe, and one in the second.
INDEX_GROUPS = 3


def write_orc(path, start=0, **columns):
    """Two stripes of 1500 and of 1000 rows: ids, and flags that never have filters."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with orc.ORCWriter(path, stripe_size=1, row_index_stride=STRIDE, batch_size=2000) as writer:
        for first, count in ((start, 1500), (start + 1500, 1000)):
            ids = range(first, first + count)
            writer.write(
                pa.table({"id": [n * 7919 % 100_003 for n in ids], "flag": [True] * count})
            )
    return path


def write_lake(folder):
    """Some with filters, some without, one of each that can have none, and damaged ones."""
    write_orc(folder / "part=0" / "a.orc")
    write_orc(folder / "part=1" / "b.orc", 2500)
    write_parquet(folder / "part=2" / "c.parquet")
    pb.build(write_orc(folder / "built.orc"), columns=["id"], in_place=True)
    orc.write_table(pa.table({"id": pa.array([None] * 10, pa.int64())}), folder / "nulls.orc")
    unindexed = (folder / "unindexed.orc").open("wb")
    with unindexed, pyorc.Writer(unindexed, "struct<id:int>", row_index_stride=0) as writer:
        writer.write((1,))
    (folder / "cut.orc").write_bytes((folder / "part=0" / "a.orc").read_bytes()[:-100])
    write_orc(folder / "delta" / "part-0.orc")
    (folder / "delta" / "_delta_log").mkdir()
    # What is no file of the lake.
    write_orc(folder / ".hidden.orc")
    write_orc(folder / "_hidden.orc")
    (folder / "nothing.orc").touch()
    return folder


@pytest.fixture(scope="module")
def built(spark, tmp_path_factory):
    root = tmp_path_factory.mktemp("built")
    return root, built_lake(spark, root, write_lake)


def test_each_file_has_one_outcome(built):
    root, report = built
    found = {
        each.path.removeprefix(f"{root}/lake/"): (each.status, each.filters, each.message)
        for each in report.outcomes
    }
    cut, delta = (found.pop(name) for name in ("cut.orc", "delta/part-0.orc"))
    assert found == {
        "built.orc": ("unchanged", 0, "has a filter already"),
        "nothing.orc": (
            "error",
            0,
            f"{root}/lake/nothing.orc: not an ORC file: 0 bytes, expected more",
        ),
        "nulls.orc": ("skipped", 0, "no non-null values"),
        "part=0/a.orc": ("added", INDEX_GROUPS, None),
        "part=1/b.orc": ("added", INDEX_GROUPS, None),
        "part=2/c.parquet": ("added", ROW_GROUPS, None),
        "unindexed.orc": ("skipped", 0, "no row index, without which readers ignore filters"),
    }
    assert cut[:2] == ("error", 0)
    assert cut[2].startswith(f"{root}/lake/cut.orc: ")
    assert delta[:2] == ("refused", 0)
    assert f"belongs to the Delta Lake table {root}/lake/delta" in delta[2]
    assert all("\n" not in each.message for each in report.troubles)


def test_outcomes_are_those_of_the_command(built):
    root, report = built
    assert by_spark(report, root / "lake", root / "local") == by_command(
        root / "local", "build", "-c", "id", "--in-place"
    )
    assert contents(root / "lake") == contents(root / "local")
    assert pb.validate(root / "lake/part=0/a.orc", require=["id"]).findings == ()


@pytest.fixture
def table(tmp_path):
    """Two ORC files and one of Parquet, with filters for id."""
    folder = tmp_path / "table"
    write_orc(folder / "a.orc")
    write_orc(folder / "b.orc", 2500)
    write_parquet(folder / "c.parquet")
    outcome("build", folder, "--in-place", "-c", "id")
    return folder


READERS = {
    "inspect": (lambda spark, path: lake.inspect(spark, path, columns=["id"]), ["-c", "id"]),
    "validate": (
        lambda spark, path: lake.validate(spark, path, policy=Policy(require=("id",))),
        ["--require", "id"],
    ),
    "probe": (
        lambda spark, path: lake.probe(spark, path, "id", [7919, -1]),
        ["-c", "id", "-v", "7919", "-v", "-1"],
    ),
}  # fmt: skip


@pytest.mark.every(2)
@pytest.mark.parametrize("verb", READERS)
def test_verbs_that_only_read(spark, table, verb, monkeypatch):
    """Filters are counted by index group, also in a probe of several values."""
    before = snapshot(table)
    read, options = READERS[verb]
    report = read(spark, table)
    assert [(each.status, each.filters) for each in report.outcomes] == [
        ("read", INDEX_GROUPS), ("read", INDEX_GROUPS), ("read", ROW_GROUPS),
    ]  # fmt: skip
    assert by_spark(report, "", "") == by_command(table, verb, *options)
    assert snapshot(table) == before


def test_streams_for_old_readers(spark, table):
    """Parquet files have none, and are refused."""
    local = shutil.copytree(table, table.with_name("local"))
    report = lake.build(spark, table, columns=["id"], existing="replace", orc_streams="both")
    assert [each.status for each in report.outcomes] == ["added", "added", "refused"]
    options = ("--in-place", "-c", "id", "--existing", "replace", "--orc-streams", "both")
    assert by_spark(report, table, local) == by_command(local, "build", *options)
    assert contents(table) == contents(local)
    with open_file(table / "a.orc") as file:
        kinds = {stream.name for stream in file.stripe(0).streams if stream.column == 1}
    assert {"BLOOM_FILTER", "BLOOM_FILTER_UTF8"} <= kinds


def test_strip(spark, table):
    local = shutil.copytree(table, table.with_name("local"))
    assert lake.strip(spark, table, dry_run=True).counts == {"removed": 3}
    assert contents(table) == contents(local)
    report = lake.strip(spark, table)
    assert [(each.status, each.filters, each.bytes < 0) for each in report.outcomes] == [
        ("removed", INDEX_GROUPS, True), ("removed", INDEX_GROUPS, True),
        ("removed", ROW_GROUPS, True),
    ]  # fmt: skip
    assert by_spark(report, table, local) == by_command(local, "strip", "--in-place")
    assert contents(table) == contents(local)
    before = snapshot(table)
    assert lake.strip(spark, table).counts == {"unchanged": 3}
    assert snapshot(table) == before


@pytest.mark.long
def test_only_missing_since_and_what_is_done_again(spark, table):
    before = snapshot(table)
    again = lake.build(spark, table, columns=["id"])
    assert (again.counts, again.filters, again.bytes) == ({"unchanged": 3}, 0, 0)
    missing = lake.build(spark, table, columns=["id"], only_missing=True)
    assert {(each.status, each.message) for each in missing.outcomes} == {
        ("unchanged", "each column has filters")
    }
    assert snapshot(table) == before
    os.utime(table / "a.orc", (0, 0))
    recent = lake.inspect(spark, table, since=datetime(2000, 1, 1))
    assert [os.path.basename(each.path) for each in recent.outcomes] == ["b.orc", "c.parquet"]


def test_options_of_parquet_are_refused_file_by_file(spark, table):
    report = lake.build(spark, table, columns=["id"], existing="replace", exact_blocks=True)
    assert report.counts == {"added": 1, "refused": 2}
    assert [each.message for each in report.troubles] == [
        f"{table}/{name}.orc: exact_blocks is not supported for an ORC file" for name in "ab"
    ]


def test_a_huge_orc_file_stays_whole(spark, tmp_path, monkeypatch):
    """Beside one of Parquet in parts; the bytes are those that the command makes."""
    write_orc(tmp_path / "lake" / "a.orc")
    write_parquet(tmp_path / "lake" / "c.parquet")
    shutil.copytree(tmp_path / "lake", tmp_path / "local")
    everything_is_huge(monkeypatch)
    report = lake.build(spark, tmp_path / "lake", columns=["id"])
    assert report.counts == {"added": 2}
    outcome("build", tmp_path / "local", "--in-place", "-c", "id")
    assert contents(tmp_path / "lake") == contents(tmp_path / "local")


# ------------------------------------------------------------------------------------------------
# The command


def run(*arguments):
    result = outcome("spark", *arguments)
    assert result.code in (0, 1), result.output
    first, *others = result.stdout.splitlines()
    return [first.rpartition("; ")[0], *others]


@pytest.mark.usefixtures("spark")
def test_tables_of_the_command(table):
    (first, *inspected) = run("inspect", table / "*.orc")
    assert first == "inspect: 2 read"
    assert inspected == outcome("inspect", table / "*.orc", "--summary").stdout.splitlines()
    assert inspected[1].startswith("id\t2 of 2\t4 of 4\t")
    assert inspected[2] == "no filters: flag"
    assert run("probe", table / "*.orc", "-c", "id", "-v", "7919") == [
        "probe: 2 read, 1 may have a value",
        "file\tvalue\tverdict\trows to read",
        f"{table}/a.orc\t7919\tmaybe\t1,000",
    ]
    found = run("validate", table, "--no-config", "--require", "id")
    local = outcome("validate", table, "--no-config", "--require", "id").stdout.splitlines()[-1]
    assert found == ["validate: 3 read", local.split("; ")[1]]
    assert found[1].startswith("no findings in ")
    (_, header, advice) = run("advise", table / "*.orc", "-c", "id")
    assert header == "column\tverdict\tfiles\tfilters take\treason"
    assert advice.startswith("id\t")
    status = run("strip", table)[2]
    assert status.split("\t")[:3] == ["removed", "3", str(2 * INDEX_GROUPS + ROW_GROUPS)]
