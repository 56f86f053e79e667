"""Filters in tables, on Spark: executors append what the local command appends, one commit by the driver
records it, and whatever happens to executors the table is right."""

import json
import pickle
import shutil
import warnings
from types import SimpleNamespace

import pytest
from make import delta_tables, iceberg_tables
from make.commands import files_in, outcome
from make.delta_tables import live, make_table, newest, table_of
from make.dying_tasks import dying
from make.encrypted_files import encrypted
from make.encrypting import FOOTER_KEY, Recipe
from make.filters import bitset_at, with_bitset
from oracle.delta_readers import rows_at

import parquet_bloom as pb
from parquet_bloom import spark as lake
from parquet_bloom.errors import SparkError
from parquet_bloom.spark import executors, job, tables

pytestmark = pytest.mark.interop


@pytest.fixture
def table(tmp_path):
    return make_table(tmp_path / "events", commits=2, partition_by=["day"])


def build(spark, table, **options):
    return lake.build_table(spark, table, **{"columns": ["id"], "min_file_size": 0, **options})


def said(report):
    """The document, but for what differs between two tables and runs."""
    document = report.to_dict()
    return {name: document[name] for name in document if name not in ("path", "seconds")}


def test_files_and_report_are_those_of_the_local_build(spark, table):
    local = shutil.copytree(table, table.with_name("local"))
    expected = rows_at(table)
    report = build(spark, table)
    assert said(report) == said(delta_tables.build(local))
    assert (report.path, report.committed, report.num_filters) == (str(table), 2, 8)
    assert {file.action for file in report.files} == {"appended"}
    data = [
        {n: each for n, each in files_in(at).items() if "_log" not in n} for at in (table, local)
    ]
    assert data[0] == data[1]
    assert newest(table) == 2
    assert [rows_at(table, version) for version in (1, 2)] == [expected, expected]
    assert {path: (table / path).stat().st_size for path in live(table)} == live(table)
    again = build(spark, table)
    assert (again.committed, {file.action for file in again.files}) == (None, {"unchanged"})
    assert [(each.reason, each.num_chunks) for each in again.skipped] == [
        ("has a filter already", 8)
    ]


def test_a_commit_and_a_job_for_each_batch(spark, table, monkeypatch):
    real, sizes = tables.run_job, []

    def counted(spark, request, search, **given):
        sizes.append(len(search.files))
        return real(spark, request, search, **given)

    monkeypatch.setattr(tables, "run_job", counted)
    report = build(spark, table, files_per_commit=2)
    assert [(each.version, each.num_files) for each in report.commits] == [(2, 2), (3, 2)]
    assert (report.committed, sizes) == (3, [2, 2])
    assert {file.file: file.size for file in report.files} == live(table)


@pytest.mark.long
def test_a_later_job_that_fails_leaves_what_is_committed(spark, table, monkeypatch):
    real, done = tables.run_job, []

    def run_once(*arguments, **given):
        if done:
            raise SparkError("the Spark job failed: no executors")
        done.append(True)
        return real(*arguments, **given)

    monkeypatch.setattr(tables, "run_job", run_once)
    report = build(spark, table, files_per_commit=2)
    assert [each.num_files for each in report.commits] == [2]
    assert [(file.action, file.reason) for file in report.files[2:]] == [
        ("failed", "the Spark job failed: no executors")
    ] * 2
    monkeypatch.undo()
    again = build(spark, table, files_per_commit=2)
    assert (again.committed, [file.action for file in again.files[:2]]) == (3, ["unchanged"] * 2)


def test_only_what_was_added_since(spark, table):
    assert build(spark, table, since=newest(table)).files == ()
    assert outcome(
        *("spark", "build", table, "--table", "delta", "-c", "id", "--all-sizes", "--since", "0")
    ).stdout.startswith(f"{table}: 2 files: 2 appended; ")


def test_outcomes_do_not_come_through_spark(spark, table, monkeypatch):
    """Which limits what a job returns: spark.driver.maxResultSize."""
    monkeypatch.delattr(job.Outcomes, "each")
    assert {file.action for file in build(spark, table).files} == {"appended"}


def test_outcomes_come_through_spark_if_their_account_is_elsewhere(spark, table, monkeypatch):
    """As with Connect, if Spark runs on one other machine."""
    monkeypatch.setattr(job.Account, "outcome_names", lambda account: [])
    assert {file.action for file in build(spark, table).files} == {"appended"}


def test_no_file_is_forgotten_if_an_account_is_gone(spark, table, monkeypatch):
    monkeypatch.setattr(job.Outcomes, "here", lambda self: self._read(SimpleNamespace(**gone)))
    gone = {"outcomes": lambda name, columns: None, "run": SimpleNamespace(audit="/run")}
    with pytest.raises(FileNotFoundError) as raised:
        build(spark, table)
    assert (raised.value.filename, raised.value.strerror) == ("/run", "task-000000 is not there")
    assert newest(table) == 1


def test_an_iceberg_table(spark, tmp_path, monkeypatch):
    iceberg_tables.use_catalog(tmp_path, monkeypatch)
    before = iceberg_tables.make_table(commits=2).current_snapshot()
    place = iceberg_tables.NAME
    report = build(spark, place, catalog=iceberg_tables.CATALOG, columns=["id", "n"])
    (*_, newest) = iceberg_tables.load().snapshots()
    assert (newest.parent_snapshot_id, newest.snapshot_id) == (before.snapshot_id, report.committed)
    assert {file.file: file.size for file in report.files} == iceberg_tables.live()
    assert {file.action for file in report.files} == {"appended"}
    assert iceberg_tables.build(columns=["id", "n"]).committed is None


def test_executors_need_no_pyiceberg(tmp_path, monkeypatch):
    iceberg_tables.use_catalog(tmp_path, monkeypatch)
    iceberg_tables.make_table(commits=1)
    sent = []

    def instead(spark, request, search, **_):
        sent.append(pickle.dumps(request))
        outcomes = [
            tables.Outcome(file.path, "error", message=f"{file.path}: nobody there")
            for file in search.files
        ]
        return SimpleNamespace(each_here=lambda: iter(outcomes))

    monkeypatch.setattr(tables, "run_job", instead)
    report = build(None, iceberg_tables.NAME, catalog=iceberg_tables.CATALOG)
    assert {(file.action, file.reason) for file in report.files} == {("failed", "nobody there")}
    assert report.committed is None
    (pickled,) = sent
    assert b"pyiceberg" not in pickled


def test_filters_that_come_into_sight_are_looked_up(table, monkeypatch):
    """By executors, and what they found comes through."""
    delta_tables.build(table, columns=["id", "n"], fpp=0.5)
    path = table / min(live(table))
    data = path.read_bytes()
    start, end = bitset_at(data)
    path.write_bytes(with_bitset(data, bytes(end - start)))
    pb.strip_table(table)
    local = shutil.copytree(table, table.with_name("local"))

    def instead(spark, request, search, **_):
        outcomes = tables.change_in_table(pickle.loads(pickle.dumps(request)), search.files)
        return SimpleNamespace(each_here=lambda: outcomes)

    monkeypatch.setattr(tables, "run_job", instead)
    report = build(None, table, fpp=0.001)
    (found,) = report.repaired
    assert (found.column, found.action, found.rule) == ("id", "rebuilt", "PB402")
    assert any("and the target is 0.1 %" in note for note in report.notes)
    assert said(report) == said(delta_tables.build(local, fpp=0.001))


@pytest.mark.long
def test_only_what_is_asked_for(spark, table):
    before = files_in(table)
    tried = build(spark, table, dry_run=True)
    assert (tried.committed, tried.num_filters, tried.dry_run) == (None, 8, True)
    assert files_in(table) == before
    first = build(spark, table, where={"day": "2026-11-01"}, commit=False)
    assert (first.committed, len(first.files)) == (None, 2)
    assert newest(table) == 1
    left = build(spark, table, min_file_size=1 << 20)
    assert {file.action for file in left.files} == {"too small"}
    rest = build(spark, table)
    assert sorted(file.action for file in rest.files) == ["appended"] * 2 + ["appended before"] * 2
    assert (rest.committed, newest(table)) == (2, 2)


def test_a_broken_file_does_not_keep_others(spark, table):
    name, size = min(live(table).items())
    (table / name).write_bytes(b"PAR1 nothing")
    result = outcome("spark", "build", table, "--table", "auto", "-c", "id", "--all-sizes")
    assert result.code == 2
    line, failed, _ = result.stdout.splitlines()
    assert line.startswith(f"{table}: 4 files: 3 appended, 1 failed; 6 filters, ")
    assert "; version 2 records it, " in line
    assert failed == (
        f"{name}: failed: 12 bytes, expected the {size:,} of its record: its end is lost: take another copy of the file"
    )
    assert name not in delta_tables.adds(table, 2)


def test_encrypted_files(spark, tmp_path):
    """Executors read the keys; without, each file says that it fails."""
    path = encrypted(tmp_path, Recipe())
    pb.strip(path, in_place=True, keys=pb.Keys(footer=FOOTER_KEY))
    table = table_of(tmp_path / "table", path, int64="long")
    key = tmp_path / "key"
    key.write_bytes(FOOTER_KEY)
    without = build(spark, table, columns=["int64"])
    assert ([file.action for file in without.files], without.committed) == (["failed"], None)
    report = build(spark, table, columns=["int64"], keys={"footer": f"file:{key},raw"})
    assert (report.committed, [file.action for file in report.files]) == (1, ["appended"])
    checked = pb.validate(table / "part-0.parquet", keys=pb.Keys(footer=FOOTER_KEY))
    assert (checked.ok, checked.checked.filters) == (True, report.num_filters)


# ------------------------------------------------------------------------------------------------
# Executors that do not come to an end


def test_an_attempt_that_dies_is_repeated(spark, table, tmp_path, monkeypatch):
    expected = rows_at(table)
    (tmp_path / "died").mkdir()
    how = dying(executors.on_executor, str(tmp_path / "died"), "killed", 1)
    monkeypatch.setattr(executors, "on_executor", how)
    report = build(spark, table)
    assert len(list((tmp_path / "died").iterdir())) > 0
    assert report.committed == newest(table) == 2
    assert {file.action for file in report.files} == {"appended before"}
    assert rows_at(table) == expected
    assert {path: (table / path).stat().st_size for path in live(table)} == live(table)
    assert pb.strip_table(table).committed == 3


def test_a_job_that_fails_leaves_a_right_table(spark, table, tmp_path, monkeypatch):
    expected, sizes = rows_at(table), live(table)
    (tmp_path / "died").mkdir()
    with monkeypatch.context() as changed:
        how = dying(executors.on_executor, str(tmp_path / "died"), "raises", 9)
        changed.setattr(executors, "on_executor", how)
        with pytest.raises(SparkError) as raised:
            build(spark, table)
    assert str(raised.value) == "the Spark job failed: RuntimeError: no more"
    assert (newest(table), live(table), rows_at(table)) == (1, sizes, expected)
    report = build(spark, table)
    assert "appended before" in {file.action for file in report.files}
    assert (report.committed, rows_at(table)) == (2, expected)
    assert build(spark, table).committed is None


# ------------------------------------------------------------------------------------------------
# The command


def test_command(spark, table, tmp_path):
    other = make_table(tmp_path / "other", commits=1)
    arguments = ("spark", "build", table, other, tmp_path / "none", "--table", "delta", "-c", "id")
    result = outcome(*arguments, "--all-sizes", "--json")
    assert result.code == 2
    assert [json.loads(line)["committed"] for line in result.stdout.splitlines()] == [2, 1]
    assert result.complaint == f"{tmp_path}/none: no such folder"
    result = outcome("spark", "build", table, "--table", "auto", "-c", "id", "--all-sizes")
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout.startswith(
        f"{table}: 4 files: 4 unchanged; 0 filters, 0 B added; version 2 "
    )


ASKING = {
    "advise": ((), {}),
    "inspect": ((), {}),
    "probe": (("-c", "id", "-v", "1"), {"columns": "id", "values": [1]}),
    "validate": ((), {}),
}


@pytest.mark.parametrize("verb", ASKING)
def test_whoever_asks_the_folder_of_a_table_is_told_once(spark, table, verb):
    """Deleted files are among those in it."""
    options, arguments = ASKING[verb]
    rest = "takes the live files; this is about all files in its folder"
    with pytest.warns(pb.TableFolderWarning) as told:
        getattr(lake, verb)(spark, table, **arguments)
    (warning,) = told
    assert str(warning.message) == (
        f'{table}: a Delta table, of which parquet_bloom.{verb} with table="delta", or here a manifest of them, {rest}'
    )
    assert warning.filename == __file__
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = outcome("spark", verb, table, *options)
    assert told == []
    (line,) = (each for each in result.stderr.splitlines() if "no filters to ask" not in each)
    assert line == (
        f"pbloom: {table}: a Delta table, of which `pbloom {verb} --table delta`, or here a --manifest of them, {rest}"
    )


@pytest.mark.parametrize(
    "asked",
    [("build", "--auto"), ("index", "-c", "id", "--index", "index")],
    ids=["build", "index"],
)
def test_verbs_that_take_the_table_say_so(spark, table, monkeypatch, asked):
    monkeypatch.chdir(table.parent)
    verb, *options = asked
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = outcome("spark", verb, table, *options)
    assert told == []
    assert result.stderr.startswith(
        f"pbloom: {table}: a Delta table, of which --table delta takes the live files; "
    )


def test_an_index_of_its_files_warns(spark, table, tmp_path):
    with pytest.warns(pb.TableFolderWarning, match='of which table="delta" takes') as told:
        lake.index(spark, table, index=tmp_path / "index", columns="id")
    assert [each.filename for each in told] == [__file__]


@pytest.mark.parametrize("verb", ["build", "strip"])
def test_a_refusal_names_what_helps_on_spark(spark, table, verb):
    """Nothing there writes copies, and not each command takes tables."""
    result = outcome("spark", verb, table, "-c", "id")
    assert result.code == 2
    assert (
        "not changed in place; change the table with --table of `pbloom build`, `repair` and `strip`"
        in result.stderr
    )
    assert "copies" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "expected --column COLUMN, or --auto for the columns that `pbloom advise` recommends"),
        (
            ("-c", "id", "--where", "day=1"),
            "--where: expected with --table only, such as --table auto; of other files, name the folder of the partition, as in lake/day=1/",
        ),
        (("--table", "auto", "--manifest", "y"), "--manifest: not with --table"),
        (
            ("-c", "id", "--since", "7"),
            "--since: 7: expected a time or an age, or with --table a version",
        ),
        (("--table", "auto", "--only-missing"), "--only-missing: not with --table"),
        (("--table", "auto", "--audit", "y"), "--audit: not with --table"),
        (("--table", "auto", "--layout", "append"), "--layout: not with --table"),
        (
            ("--table", "auto", "--auto"),
            "--auto: not with --table: name the columns with -c; `pbloom advise --table auto TABLE` recommends some",
        ),
    ],
)
def test_usage_errors_before_any_session(arguments, problem):
    result = outcome("spark", "build", "x", *arguments)
    assert result.code == 2
    assert result.stderr.rstrip().endswith(problem)


@pytest.mark.parametrize("verb", ["inspect", "advise", "validate", "strip"])
def test_files_alone_have_no_versions(verb):
    result = outcome("spark", verb, "x", "--since", "7")
    assert (result.code, result.complaint) == (2, "--since: 7: expected a time or an age")
    assert "--since TIME|AGE " in outcome("spark", verb, "--help").stdout
