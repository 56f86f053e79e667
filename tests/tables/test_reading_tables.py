"""The read verbs on tables: live files, as long as a version records, columns by the table's names."""

import json
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from make import delta_tables, iceberg_tables
from make.commands import outcome
from make.delta_tables import (
    build,
    inline_vector,
    live,
    make_table,
    newest,
    rewrite_log,
    rows_of,
    with_features,
)

import parquet_bloom as pb


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Six files in two partitions; version 3 has filters."""
    table = make_table(tmp_path_factory.mktemp("views") / "events", partition_by=["day"])
    build(table)
    return table


def documents(*arguments):
    result = outcome(*arguments, "--json")
    assert result.code in (0, 1), result
    return [json.loads(line) for line in result.stdout.splitlines()]


def wanted(n):
    return rows_of(n, 1)["id"][0].as_py()


@pytest.mark.parametrize(("version", "filters"), [(2, 0), (3, 12)])
def test_a_file_is_as_long_as_the_version_records(table, version, filters):
    (found,) = documents("inspect", table, "--table", "auto", "--summary", "--version", version)
    assert (found["files"], found["num_filters"]) == (6, filters)
    sizes = {each["size"] for each in documents("inspect", table, "--table", "auto")}
    assert sizes == set(live(table).values())
    before = documents("inspect", table, "--table", "auto", "--version", 2)
    assert sum(each["size"] for each in before) == found["size"] or version == 3


def test_older_versions_have_fewer_files(table):
    found = documents("inspect", table, "--table", "delta", "--version", 0)
    assert len(found) == 2


def test_as_of(table):
    now = datetime.now(UTC)
    arguments = ("inspect", table, "--table", "auto", "--summary", "--as-of")
    assert documents(*arguments, (now + timedelta(hours=1)).isoformat())[0]["num_filters"] == 12
    result = outcome(*arguments, "2020-01-01")
    assert result.code == 2
    assert result.complaint.startswith(
        f"{table}: no version as of 2020-01-01T00:00:00+00:00, expected "
    )


def test_probe(table):
    found = documents("probe", table, "--table", "auto", "-c", "id", "-v", wanted(5))
    verdicts = [each["results"][0]["verdict"] for each in found]
    assert len(verdicts) == 6
    assert verdicts.count("absent") >= 4
    holder = next(each for each in found if each["results"][0]["verdict"] == "maybe")
    assert "day=2026-11-02" in holder["path"]
    only = documents(
        *("probe", table, "--table", "auto", "-c", "id", "-v", wanted(5)),
        *("--where", "day=2026-11-01"),
    )
    assert len(only) == 3
    assert outcome("probe", table, "--table", "auto", "-c", "id", "-v", "no such user").code == 1


def test_validate(table):
    found = documents("validate", table, "--table", "auto", "--no-config", "--require", "id")
    assert [each["ok"] for each in found] == [True] * 6
    before = (
        "validate",
        table,
        "--table",
        "auto",
        "--no-config",
        "--require",
        "id",
        "--version",
        2,
    )
    assert [each["ok"] for each in documents(*before)] == [False] * 6


def test_advise(table):
    found = documents("advise", table, "--table", "auto", "-c", "id")
    assert [each["files"] for each in found] == [6] * 6
    assert [column["already"] for each in found for column in each["columns"]] == [2] * 6


def test_python(table):
    found = pb.open_table(table, version=2)
    file = found.files()[0]
    assert isinstance(file, pb.TableFile)
    with pb.open(file.path, size=file.size) as opened:
        assert {answer.verdict for answer in opened.probe("id", "nobody")} == {"unknown"}
    with pb.open(file.path) as opened:
        assert {answer.verdict for answer in opened.probe("id", "nobody")} == {"absent"}
    with pytest.raises(pb.FormatError, match="expected the 1,000,000 of its record"):
        pb.open(file.path, size=1_000_000)


def test_files_of_an_older_version_may_have_been_cleaned_up(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_table(tmp_path / "table")
    table = DeltaTable("table")
    table.optimize.compact()
    gone = table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert len(gone) == 3
    rest = "No such file or directory; a clean-up of the table, such as VACUUM, may have removed it"
    asked = ("table", "--table", "delta", "--version", 2)
    found = outcome("find", *asked, "-c", "id", "-v", rows_of(5, 1)["id"][0])
    assert (found.code, found.complaint.partition(": unknown: ")[2]) == (2, rest)
    assert outcome("validate", *asked).complaint.endswith(f": {rest}")
    newest = outcome("find", *asked[:3], "-c", "id", "-v", rows_of(5, 1)["id"][0])
    assert (newest.code, newest.stderr) == (0, "")
    for path in (tmp_path / "table").glob("*.parquet"):
        path.unlink()
    told = outcome("validate", *asked[:3]).complaint
    rest = "No such file or directory; the newest version of the table has it all the same"
    assert told.endswith(f": {rest}")


@pytest.mark.parametrize("how", [("--by-value",), ("--only", "absent"), ("--by-value", "--json")])
def test_partitions_that_no_table_has_are_no_files_that_may_hold_values(table, how):
    """What is wrong is the question, and the answer one line, as without --by-value."""
    asked = ("probe", table, "--table", "delta", "-c", "id", "-v", wanted(1))
    for where, problem in (
        ("foo=3", "no partition column foo; the table has day"),
        ("day=2030-01-01", "day=2030-01-01: no live file, expected 2026-11-01, 2026-11-02"),
    ):
        plain = outcome(*asked, "--where", where)
        assert (plain.code, plain.stdout) == (2, "")
        assert plain.stderr.splitlines() == [f"pbloom: {table}: {problem}"]
        assert outcome(*asked, *how, "--where", where) == plain


def test_partitions_that_an_empty_table_or_an_iceberg_table_lacks(tmp_path, monkeypatch):
    empty = delta_tables.make_table(tmp_path / "empty", commits=0, partition_by=["day"])
    iceberg_tables.use_catalog(tmp_path, monkeypatch)
    iceberg_tables.make_table(commits=1)
    iceberg = (iceberg_tables.NAME, "--table", "iceberg", "--catalog", iceberg_tables.CATALOG)
    for named, where in (((empty, "--table", "delta"), "day=x"), (iceberg, "foo=3")):
        asked = ("probe", *named, "-c", "id", "-v", "x", "--where", where)
        plain = outcome(*asked)
        assert (plain.code, plain.stdout) == (2, "")
        assert outcome(*asked, "--by-value") == plain


def test_deleted_rows_are_counted(tmp_path):
    table = make_table(tmp_path / "events", commits=2)
    with_features(table, reader=["deletionVectors"])
    rewrite_log(
        table,
        lambda action: (
            {"add": action["add"] | {"deletionVector": inline_vector({1, 2})}}
            if "add" in action
            else action
        ),
    )
    result = outcome("inspect", table, "--table", "auto", "--summary")
    assert result.code == 0
    assert result.complaint == (
        "4 rows of 2 files are deleted by deletion vectors: any filters still know them"
    )


@pytest.mark.parametrize("verb", ["inspect", "probe", "validate", "advise"])
def test_a_partition_column_is_not_in_the_files(table, verb):
    value = ("-v", "x") if verb == "probe" else ()
    result = outcome(verb, table, "--table", "auto", "-c", "day", *value)
    assert result.code == 2
    assert result.complaint == (
        f"{table}: column day: is a partition column, whose values are not in the files;"
        " find and probe take, beside a --column, --where day=VALUE (in Python, pb.TableView(where=…))"
    )


def test_a_partition_column_that_shells_would_cut(tmp_path):
    rows = pa.table({"id": [1, 2], "my day": ["x", "y"]})
    write_deltalake(tmp_path / "t", rows, partition_by=["my day"])
    result = outcome("inspect", tmp_path / "t", "--table", "auto", "-c", "my day")
    assert (
        "find and probe take, beside a --column, --where 'my day=VALUE' (in Python, pb.TableView(where=…))"
        in result.complaint
    )


def test_find_says_as_much_of_a_partition_column(table):
    refused = f"{table}: column day: is a partition column, whose values are not in the files; find and probe take, beside a --column, --where day=VALUE (in Python, pb.TableView(where=…))"
    asked = ("find", table, "--table", "auto", "-c")
    assert outcome(*asked, "day", "-v", "x").complaint == refused
    with pytest.raises(pb.ColumnError) as raised:
        pb.find(table, "day", "x", table="auto")
    assert str(raised.value) == refused
    message = f"{table}: no column uid; did you mean id?"
    assert outcome(*asked, "uid", "-v", 1).complaint == message


def test_one_bad_table_among_others(table, tmp_path):
    result = outcome("inspect", tmp_path, table, "--table", "auto", "--summary", "--json")
    assert result.code == 2
    assert result.complaint == (
        f"{tmp_path}: neither _delta_log nor metadata/*.metadata.json in it, expected the folder of a"
        " table"
    )
    assert json.loads(result.stdout)["files"] == 6


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--version", "1"), "--version: expected with --table only, such as --table auto"),
        (("--as-of", "2026-11-20"), "--as-of: expected with --table only, such as --table auto"),
        (
            ("--where", "a=b"),
            "--where: expected with --table only, such as --table auto; of other files, name the folder of the partition, as in lake/day=1/",
        ),
        (
            ("--table", "auto", "--version", "1", "--as-of", "2026-11-20"),
            "expected at most one of --version and --as-of",
        ),
        (
            ("--table", "auto", "--as-of", "now"),
            "'now': expected a time, such as 2026-11-22T06:00Z",
        ),
    ],
)
def test_options_that_go_together(table, arguments, problem):
    result = outcome("inspect", table, *arguments)
    assert result.code == 2
    assert result.stderr.rstrip().endswith(problem)


def test_nothing_was_written(table):
    assert newest(table) == 3
