"""The verbs over a lake, on Spark: each file has one outcome, which is what the local verb says of
it, and files are what the local verb makes of them. Runs on classic, and once more on Connect."""

import json
import os
import re
import shutil
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from make.commands import outcome
from make.encrypting import FOOTER_KEY, Recipe, encrypt
from make.lake_files import (
    GROUPS,
    built_lake,
    by_command,
    by_spark,
    contents,
    everything_is_huge,
    snapshot,
    without_time,
    write,
    write_table,
)
from make.parquet_files import open_parquet

import parquet_bloom as pb
from parquet_bloom import spark as lake
from parquet_bloom.files import open_file
from parquet_bloom.rules.policy import Policy
from parquet_bloom.spark import advising, verbs
from parquet_bloom.spark.outcome import TROUBLE
from parquet_bloom.spark.plan import Bounds
from parquet_bloom.storage.temporary_files import TEMPORARY_SUFFIX
from parquet_bloom.verbs.advise import TableAdvisor

pytestmark = pytest.mark.interop


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "table")


@pytest.fixture
def local(table):
    """A copy, for the local command."""
    return shutil.copytree(table, table.with_name("local"))


# ------------------------------------------------------------------------------------------------
# A lake with everything


DELTA = "delta/part-0.parquet"
ODD_NAME = "day=2026-11-20/Ärger=1 100%25 [a]{b}#+.parquet"


def write_lake(folder):
    write(folder / "plain.parquet")
    write(folder / ODD_NAME, 1000)
    write(folder / "with space" / "x.parq", 2000)
    write(folder / DELTA, 3000)
    (folder / "delta" / "_delta_log").mkdir()
    pb.build(write(folder / "built.parquet"), columns=["id"], in_place=True)
    pq.write_table(pa.table({"id": [True, False]}), folder / "boolean.parquet")
    pq.write_table(pa.table({"other": [1]}), folder / "other.parquet")
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), folder / "rowless.parquet")
    cut = (folder / "plain.parquet").read_bytes()[:-100]
    (folder / "cut.parquet").write_bytes(cut + b"PAR1")
    damaged = bytearray((folder / "plain.parquet").read_bytes())
    with open_file(folder / "plain.parquet") as file:
        start = file.chunk(2, "id").data_page_offset
    damaged[start : start + 8] = b"\xff" * 8
    (folder / "damaged.parquet").write_bytes(damaged)
    (folder / "nothing.parquet").touch()
    # What is no Parquet file of the lake.
    (folder / "notes.txt").write_text("none")
    for hidden in (
        ".hidden.parquet",
        "_hidden.parquet",
        ".hidden/x.parquet",
        "_temporary/x.parquet",
    ):
        write(folder / hidden)


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
    damaged = found.pop("damaged.parquet")
    cut = found.pop("cut.parquet")
    nothing = found.pop("nothing.parquet")
    delta = found.pop(DELTA)
    assert len(report.outcomes) == len(found) + 4
    assert found == {
        "boolean.parquet": ("skipped", 0, "BOOLEAN: two values need no filter"),
        "built.parquet": ("unchanged", 0, "has a filter already"),
        ODD_NAME: ("added", GROUPS, None),
        "other.parquet": (
            "refused", 0, f"{root}/lake/other.parquet: no column id; the file has other",
        ),
        "plain.parquet": ("added", GROUPS, None),
        "rowless.parquet": ("skipped", 0, "no non-null values"),
        "with space/x.parq": ("added", GROUPS, None),
    }  # fmt: skip
    assert damaged[:2] == cut[:2] == ("error", 0)
    assert damaged[2].startswith(f"{root}/lake/damaged.parquet: row group 2, column id: ")
    assert cut[2].startswith(f"{root}/lake/cut.parquet: ")
    told = f"{root}/lake/nothing.parquet: not a Parquet file: 0 bytes, expected 12 or more"
    assert nothing == ("error", 0, told)
    assert delta[:2] == ("refused", 0)
    assert f"belongs to the Delta Lake table {root}/lake/delta" in delta[2]


def test_outcomes_are_those_of_the_command(built):
    root, report = built
    assert by_spark(report, root / "lake", root / "local") == by_command(
        root / "local", "build", "-c", "id", "--in-place"
    )
    assert contents(root / "lake") == contents(root / "local")
    # And by that of the command, files have changed.
    assert len((root / "lake/plain.parquet").read_bytes()) > len(
        (root / "lake/damaged.parquet").read_bytes()
    )


def test_bytes_and_attempts(built):
    root, report = built
    sizes = {each.path: each.bytes for each in report.outcomes}
    before = (root / "lake/damaged.parquet").stat().st_size
    after = (root / "lake/plain.parquet").stat().st_size
    assert sizes.pop(f"{root}/lake/plain.parquet") == after - before > 0
    changed = {each.path for each in report.outcomes if each.status == "added"}
    assert {path for path, grown in sizes.items() if grown} < changed
    assert {each.attempt for each in report.outcomes} == {0}
    assert all(0 <= each.seconds <= report.seconds for each in report.outcomes)


def test_report(built):
    _, report = built
    assert report.verb == "build"
    assert re.fullmatch("[0-9a-f]{32}", report.run_id)
    assert [each.path for each in report.outcomes] == sorted(each.path for each in report.outcomes)
    assert report.counts == {"added": 3, "unchanged": 1, "skipped": 2, "refused": 2, "error": 3}
    assert {each.status for each in report.troubles} == {"refused", "error"}
    assert len(report.troubles) == 5
    classes = {Path(each.path).name: each.error_class for each in report.troubles}
    assert classes == {
        "damaged.parquet": "PageError", "cut.parquet": "FooterError", "other.parquet": "ColumnError",
        "part-0.parquet": "RewriteError", "nothing.parquet": "NotSupportedFileError",
    }  # fmt: skip
    assert [(each.status, each.reason, each.files) for each in report.totals if each.status in TROUBLE] == [
        ("error", "FooterError", 1), ("error", "NotSupportedFileError", 1), ("error", "PageError", 1),
        ("refused", "ColumnError", 1), ("refused", "RewriteError", 1),
    ]  # fmt: skip
    assert not any(each.error_class for each in report.each({"added", "unchanged", "skipped"}))
    assert report.filters == 3 * GROUPS
    assert re.fullmatch(
        r"build: 11 files in \d+\.\d s: 3 added, 1 unchanged, 2 skipped, 2 refused, 3 error;"
        rf" 12 filters, {report.bytes:,} bytes; 1 error: FooterError: .*",
        report.summary(),
    )
    assert sum(1 for _ in report.documents()) == 6


def test_report_as_data(spark, built):
    from pyspark.testing import assertSchemaEqual

    from parquet_bloom.spark.schemas import OUTCOME

    root, report = built
    before = snapshot(root / "lake")
    frame = report.to_df(spark)
    assertSchemaEqual(frame.schema, OUTCOME)
    rows = [tuple(getattr(each, name) for name in OUTCOME.names) for each in report.outcomes]
    for _ in range(2):
        assert sorted(map(tuple, frame.collect())) == sorted(rows)
    assert frame.where("status = 'added'").count() == 3
    assert snapshot(root / "lake") == before
    table = report.to_arrow()
    assert table.schema.names == OUTCOME.names
    assert [tuple(row.values()) for row in table.to_pylist()] == rows
    assert str(table.schema.field("bytes").type) == "int64"


def test_a_report_of_nothing(spark):
    report = lake.Report("build", "0" * 32, datetime.now(UTC), (), 0.0)
    assert report.to_df(spark).count() == report.to_arrow().num_rows == 0
    assert report.counts == {}
    assert report.summary() == "build: 0 files in 0.0 s: none; 0 filters, 0 bytes"


# ------------------------------------------------------------------------------------------------
# Verb by verb


def test_what_was_done_is_not_done_again(spark, table, local):
    first = lake.build(spark, table, columns=["id", "place.city"])
    assert first.counts == {"added": 2, "error": 1}
    before = snapshot(table)
    again = lake.build(spark, table, columns=["id", "place.city"])
    assert again.counts == {"unchanged": 2, "error": 1}
    assert (again.filters, again.bytes) == (0, 0)
    assert snapshot(table) == before
    assert again.run_id != first.run_id
    replaced = lake.build(spark, table, columns=["id"], existing="replace", fpp=0.2)
    assert replaced.counts == {"added": 2, "error": 1}
    kept = lake.build(spark, table, columns=["id"], existing="error")
    assert kept.counts == {"refused": 2, "error": 1}
    for options in (["-c", "id,place.city"], ["-c", "id", "--existing", "replace", "--fpp", "0.2"]):
        outcome("build", local, "--in-place", *options)
    assert contents(table) == contents(local)


READERS = {
    "inspect": (lambda spark, path: lake.inspect(spark, path, columns=["id"]), ["-c", "id"], 4),
    "validate": (lake.validate, [], 4),
    "probe": (
        lambda spark, path: lake.probe(spark, path, "id", [5, 1250]),
        ["-c", "id", "-v", "5", "-v", "1250"],
        GROUPS,
    ),
}


@pytest.mark.parametrize("verb", READERS)
def test_verbs_that_only_read(spark, table, verb):
    outcome("build", table, "--in-place", "-c", "id")
    before = snapshot(table)
    read, options, filters = READERS[verb]
    report = read(spark, table)
    assert report.verb == verb
    assert [(each.status, each.filters) for each in report.outcomes] == [
        ("error", 0), ("read", filters), ("read", filters),
    ]  # fmt: skip
    assert by_spark(report, "", "") == by_command(table, verb, *options)
    assert snapshot(table) == before


@pytest.mark.every(3)
@pytest.mark.parametrize("files_at_once", [1, 2, 2000])
def test_a_table_is_judged_as_one(spark, table, files_at_once, monkeypatch):
    """As the command does, in however many tasks; another table has a report of its own."""
    for number in range(2, 4):
        write(table / f"part={number}" / "x.parquet", 1000 * number)
    pq.write_table(pa.table({"other": range(1000)}), table / "other.parquet")
    bounds = Bounds(files=files_at_once, first_files=files_at_once)
    monkeypatch.setattr(verbs, "BOUNDS", bounds)
    monkeypatch.setattr(advising, "MERGED_AT_ONCE", 2)
    report = lake.advise(spark, table)
    assert report.counts == {"read": 5, "error": 1}
    advisor = TableAdvisor()
    for read in report.each(["read"]):
        advisor.add(read.path)
    assert [without_time(each) for each in report.documents()] == [
        without_time(each.to_dict()) for each in advisor.tables()
    ]
    assert [each["files"] for each in report.documents()] == [1, 4]


def test_what_is_recommended_is_built(spark, table, local):
    """By the columns of each table; within a budget, at its rates."""
    pq.write_table(pa.table({"flag": [True] * 9}), table / "other.parquet")
    advice = lake.advise(spark, table, budget=9000)
    pq.write_table(pa.table({"late": range(9)}), table / "late.parquet")
    report = lake.build(spark, table, advice=advice)
    assert report.counts == {"added": 2, "skipped": 2, "error": 1}
    unknown = "the advice did not judge files with these columns"
    assert {each.path: each.message for each in report.each(["skipped"])} == {
        str(table / "other.parquet"): "no column deserves a filter",
        str(table / "late.parquet"): unknown,
    }
    assert f"; 1 skipped: {unknown}; 1 error: " in report.summary()
    (table / "late.parquet").unlink()
    built = outcome("build", local, "--in-place", "--auto", "--budget", "9000")
    assert "filters" in built.stdout
    for name in ("part=0/0.parquet", "part=1/1.parquet"):
        assert (table / name).read_bytes() == (local / name).read_bytes()
    with pytest.raises(TypeError, match=r"expected what advise returned, without columns"):
        lake.build(spark, table, columns=["id"], advice=advice)


def test_filters_of_columns_that_are_not_named_count_within_a_budget(spark, table):
    paths = [table / "part=0" / "0.parquet", table / "part=1" / "1.parquet"]
    for path in paths:
        pb.build(path, in_place=True, columns="name")
    there = sum(pb.inspect(path).filter_bytes for path in paths)
    (report,) = lake.advise(spark, paths, columns=["id"], budget=there + 10).documents()
    assert (report["budget"]["there"], report["budget"]["used"]) == (there, there)
    assert [each["column"] for each in report["budget"]["kept"]] == ["name"]
    assert report["recommended"] == []
    (report,) = lake.advise(spark, paths, columns=["id"], budget=there + (1 << 20)).documents()
    assert report["recommended"] == ["id"]


def test_the_command_builds_what_is_recommended(spark, table, local, tmp_path):
    (table / "bad.parquet").unlink()
    (local / "bad.parquet").unlink()
    config = tmp_path / "limits.toml"
    config.write_text("[validate]\nmax-fpp = 0.0001\n")
    for among in (
        ("-c", "id", "--budget", "9%"),
        ("--engine", "duckdb", "--budget", "9000"),
        ("--config", config),
    ):
        auto = ("--auto", *among, "--existing", "replace")
        assert outcome("spark", "build", table, *auto).code == 0
        assert outcome("build", local, *auto, "--in-place").code == 0
        assert contents(table) == contents(local)
    assert (
        "--budget: expected with --auto, which chooses columns and rates"
        in outcome("spark", "build", table, "-c", "id", "--budget", "1MiB").stderr
    )
    # The last ones are those of the policy, which the advice heeds, too.
    path = table / "part=1/1.parquet"
    assert pb.report(path, columns=["id"]).columns[0].worst_fpp <= 0.0001
    policy = pb.read_policy(config)
    (advised,) = lake.advise(spark, table, policy=policy).documents()
    (expected,) = pb.advise(table, policy=policy).to_dict()["reports"]
    assert advised["columns"] == expected["columns"]
    told, here = (
        [line.split("\t") for line in outcome(*words).stdout.splitlines() if line.count("\t") > 3]
        for words in (
            ("spark", "advise", table, "--config", config),
            ("advise", table, "--config", config),
        )
    )
    assert [row[4] for row in told[1:]] == [each["reason"] for each in advised["columns"]]
    assert [row[:2] for row in told] == [[row[0], row[2]] for row in here]
    assert told[1][:2] == ["id", "keep"]
    assert "the policy accepts an FPP of at most 0.01 %" in advised["columns"][0]["reason"]


def test_validate_says_what_it_found(spark, table):
    path = shutil.copy(FIXTURES / "spark_filters.parquet", table / "other.parquet")
    policy = Policy(require=("id",))
    report = lake.validate(spark, table, policy=policy, diagnose=True, deep=False)
    found = {os.path.basename(each.path): each for each in report.outcomes}
    assert "PB" in found["0.parquet"].document
    assert found["0.parquet"].message == "a filter is required"
    expected = pb.validate(path, policy=policy, diagnose=True, deep=False)
    assert json.loads(found["other.parquet"].document)["ok"] == expected.ok
    assert found["other.parquet"].filters == expected.checked.filters > 0


def test_what_fails_validation_is_in_the_report(spark, table):
    """Which takes what extends a policy as parquet_bloom.validate does."""
    files = [table / "part=0/0.parquet", table / "part=1/1.parquet"]
    outcome("build", files[0], "--in-place", "-c", "id")
    failed = lake.validate(spark, files, require=["id"], deep=False)
    assert [each.ok for each in failed.outcomes] == [True, False]
    assert (failed.ok, failed.num_not_ok, failed.counts) == (False, 1, {"read": 2})
    told = {"ok": False, "not_ok": 1, "states": {"not ok": 1, "ok": 1}}
    assert told.items() <= failed.to_dict().items()
    assert failed.troubles == ()
    assert [each.path for each in failed.each(ok=False)] == [str(files[1])]
    assert [each.path for each in failed.each(ok=True)] == [str(files[0])]
    (document,) = failed.documents(ok=False)
    assert (document["path"], document["ok"]) == (str(files[1]), False)
    assert failed.counts_in_words == "2 read, 1 not ok"
    assert ": 2 read, 1 not ok; " in failed.summary()
    fine = lake.validate(spark, files, require=["id"], fail_on="never", deep=False)
    assert (fine.ok, fine.num_not_ok) == (True, 0)
    assert fine.counts_in_words == "2 read, 1 ok without filters"


def test_probe_says_how_many_files_may_have_a_value(spark, table):
    """And counts each filter once, however many values are asked for; the report knows which were."""
    files = [table / "part=0/0.parquet", table / "part=1/1.parquet"]
    outcome("build", *files, "--in-place", "-c", "id")
    report = lake.probe(spark, files, "id", [5, 6, 7])
    assert [(each.filters, each.ok) for each in report.outcomes] == [
        (GROUPS, True),
        (GROUPS, False),
    ]
    assert (report.ok, report.is_absent) == (True, False)
    assert report.counts_in_words == "2 read, 1 may have a value"
    assert report.asked == ("5", "6", "7")
    absent = lake.probe(spark, files, "id", [-5, -6])
    assert (absent.ok, absent.is_absent) == (True, True)
    assert absent.counts_in_words == "2 read, 0 may have a value"


def test_probe_asks_each_of_several_columns(spark, table):
    """In one job, with a line in the document of a file for each of them."""
    outcome("build", table, "--in-place", "-c", "id,name")
    both = lake.probe(spark, table, ["name", "id", "name"], [pb.literal("5")])
    assert [each.status for each in both.outcomes] == ["error", "read", "read"]
    assert [each["column"] for each in both.documents()] == 2 * ["name", "id"]
    by_file_and_column = itemgetter("path", "column")
    expected = by_command(table, "probe", "-c", "id,name", "-v", "5")
    assert sorted(both.documents(), key=by_file_and_column) == sorted(
        expected, key=by_file_and_column
    )
    assert [each.filters for each in both.outcomes] == [0, 2 * GROUPS, 2 * GROUPS]
    with pytest.raises(TypeError, match=r"^values: a DataFrame of Spark, expected values, such as"):
        lake.probe(spark, table, "id", spark.range(3))
    refused = lake.probe(spark, table, ["id", "nothing"], [5])
    assert refused.counts_in_words == "2 refused, 1 error, none read"
    assert (refused.ok, refused.is_absent) == (False, False)
    assert "no column nothing" in refused.troubles[-1].message
    first = refused.troubles[-2].path
    said = f"; 2 refused: ColumnError, such as {first}: no column nothing; the file has "
    assert said in refused.summary()


def test_probe_refuses_what_is_no_value(spark, table):
    report = lake.probe(spark, table, "id", ["seven"])
    assert report.counts == {"refused": 2, "error": 1}
    expected = "column id: 'seven': cannot be a value of INT64: expected an integer"
    path = table / "part=1/1.parquet"
    assert (
        report.troubles[-1].message == f"{path}: {expected}, or pb.literal(…) to read it from text"
    )


def test_strip(spark, table, local):
    outcome("build", table, "--in-place", "-c", "id,name")
    outcome("build", local, "--in-place", "-c", "id,name")
    report = lake.strip(spark, table, columns=["id"])
    assert [(each.status, each.filters, each.bytes < 0) for each in report.outcomes] == [
        ("error", 0, False), ("removed", GROUPS, True), ("removed", GROUPS, True),
    ]  # fmt: skip
    assert by_spark(report, table, local) == by_command(local, "strip", "--in-place", "-c", "id")
    assert contents(table) == contents(local)
    assert lake.strip(spark, table).counts == {"removed": 2, "error": 1}
    outcome("strip", local, "--in-place")
    assert contents(table) == contents(local)
    before = snapshot(table)
    assert lake.strip(spark, table).counts == {"unchanged": 2, "error": 1}
    assert snapshot(table) == before


def test_dry_runs_write_nothing(spark, table, tmp_path):
    """Their rows say so, among those of other runs as well."""
    before = snapshot(table)
    audit = str(tmp_path / "audit")
    report = lake.build(spark, table, columns=["id"], dry_run=True, audit=audit)
    assert {each.dry_run for each in report.outcomes} == {True}
    assert report.counts_in_words == "2 would be added, 1 error"
    rows = spark.read.parquet(audit).select("status", "dry_run").collect()
    assert sorted(map(tuple, rows)) == [("added", True), ("added", True), ("error", True)]
    assert report.counts == {"added": 2, "error": 1}
    assert {document["output"] for document in report.documents()} == {None}
    assert snapshot(table) == before
    outcome("build", table, "--in-place", "-c", "id")
    before = snapshot(table)
    assert lake.strip(spark, table, dry_run=True).counts == {"removed": 2, "error": 1}
    assert snapshot(table) == before


def test_only_missing(spark, table):
    pb.build(table / "part=1/1.parquet", columns=["id", "name"], row_groups=[2], in_place=True)
    pb.build(table / "part=0/0.parquet", columns=["id"], in_place=True)
    report = lake.build(spark, table, columns=["id", "name"], only_missing=True)
    assert [(each.status, each.filters, each.message) for each in report.outcomes[1:]] == [
        ("added", GROUPS, "has a filter already"),
        ("unchanged", 0, "each column has filters"),
    ]


@pytest.mark.every(2)
@pytest.mark.parametrize("zone", [None, UTC], ids=["local time", "UTC"])
def test_since(spark, table, zone):
    old, new = table / "part=0/0.parquet", table / "part=1/1.parquet"
    now = datetime.now(zone)
    for path, age in ((old, 7200), (table / "bad.parquet", 7200), (new, 3600)):
        os.utime(path, (now.timestamp() - age,) * 2)
    report = lake.inspect(spark, table, since=now - timedelta(seconds=3601))
    assert [each.path for each in report.outcomes] == [str(new)]
    assert lake.inspect(spark, table, since=now).outcomes == ()
    assert len(lake.inspect(spark, table, since=now - timedelta(seconds=7201)).outcomes) == 3


def test_encrypted_files(spark, table, monkeypatch):
    """The executors read the keys; also when the file is so large that it would be in parts."""
    path, recipe = table / "part=0/0.parquet", Recipe(columns={"id": None})
    path.write_bytes(encrypt(path.read_bytes(), recipe).data)
    keys_file = table.with_name("keys.json")
    keys_file.write_text(json.dumps({"footer": f"hex:{FOOTER_KEY.hex()}"}))
    keys_file.chmod(0o600)
    everything_is_huge(monkeypatch)
    report = lake.build(spark, table, columns=["id"], keys_file=str(keys_file))
    assert [(each.status, each.filters) for each in report.outcomes] == [
        ("error", 0), ("added", GROUPS), ("error", 0),
    ]  # fmt: skip
    # In parts as whole: where keys are given, somebody may have put a plain file in the place of another.
    assert "the footer is neither encrypted nor signed" in report.outcomes[2].message
    assert FOOTER_KEY.hex() not in str(report.outcomes)
    assert lake.inspect(spark, path).troubles[0].message.startswith(f"{path}: ")


@pytest.mark.every(2)
@pytest.mark.parametrize("way", ["python", "command"])
def test_keys_that_the_executors_find(spark, table, way):
    """What travels is where the key is; each verb reads it there."""
    path, recipe = table / "part=0/0.parquet", Recipe(columns={"id": None})
    path.write_bytes(encrypt(path.read_bytes(), recipe).data)
    key = table.with_name("key")
    key.write_bytes(FOOTER_KEY)
    place = f"file:{key},raw"
    if way == "python":
        report = lake.build(spark, path, columns=["id"], keys={"footer": place})
        (found,) = lake.inspect(spark, path, keys={"footer": place}).documents()
        assert [(each.status, each.filters) for each in report.outcomes] == [("added", GROUPS)]
    else:
        built = outcome("spark", "build", path, "-c", "id", "--footer-key", place)
        assert (built.code, built.stderr) == (0, "")
        inspected = outcome("spark", "inspect", path, "--footer-key", place, "--json")
        found = json.loads(inspected.stdout)
    filters = [each["columns"][0]["filter"] for each in found["row_groups"]]
    assert all(each["encrypted"] for each in filters)
    key.unlink()
    (trouble,) = lake.inspect(spark, path, keys={"footer": place}).troubles
    assert trouble.message == f"footer key (file:{key}): No such file or directory"


def test_the_place_of_an_encrypted_filter_may_be_shown(spark, table):
    """Which is written in the plaintext footer only on request, as by the command."""
    key = table.with_name("key")
    key.write_bytes(FOOTER_KEY)
    recipe = Recipe(columns={"id": None}, plaintext_footer=True)
    shown = []
    for number, exposed in enumerate((False, True)):
        path = table / f"part={number}/{number}.parquet"
        path.write_bytes(encrypt(path.read_bytes(), recipe).data)
        keys = {"footer": f"file:{key},raw"}
        lake.build(spark, path, columns=["id"], keys=keys, expose_filter_location=exposed)
        with open_parquet(path) as file:
            places = file.footer.chunks.every("bloom_filter_offset")
        shown.append(any(each > 0 for each in places))
    assert shown == [False, True]


def test_filters_of_a_legacy_dialect_are_asked(spark, table):
    outcome("build", table, "--in-place", "-c", "id", "--dialect", "murmur3")
    options = ("-c", "id", "-v", "5", "-v", "1250", "--dialect", "murmur3")
    report = lake.probe(spark, table, "id", [5, 1250], dialect="murmur3")
    assert by_spark(report, "", "") == by_command(table, "probe", *options)
    results = [each["results"] for each in report.documents()]
    assert [[each["verdict"] for each in of_file] for of_file in results] == [
        ["maybe", "absent"],
        ["absent", "maybe"],
    ]


def test_a_key_itself_is_refused_by_every_verb(spark, table):
    """Before anything is listed."""
    verbs = {
        lake.build: {"columns": ["id"]},
        lake.strip: {},
        lake.inspect: {},
        lake.validate: {},
        lake.probe: {"columns": ["id"], "values": ["1"]},
        lake.advise: {},
    }
    for verb, arguments in verbs.items():
        with pytest.raises(pb.EncryptionError, match="footer key: would be part of the job"):
            verb(spark, table, **arguments, keys={"footer": f"hex:{FOOTER_KEY.hex()}"})


def test_clean_temp(spark, table):
    """In the folders of files, and in those that are named."""
    left = f".x.parquet.{'0' * 16}{TEMPORARY_SUFFIX}"
    paths = [table / "part=0" / left, table / left, table / "part=1" / left]
    others = [table / f".x{TEMPORARY_SUFFIX}", table / ".x.parquet.crc", table / "bad.parquet"]
    for path in [*paths, *others]:
        path.write_bytes(b"12345")
        os.utime(path, (0, 0))
    os.utime(paths[2])
    report = lake.clean_temp(spark, table)
    assert [(each.path, each.status, each.bytes) for each in report.outcomes] == [
        (str(table / left), "removed", -5), (str(table / "part=0" / left), "removed", -5),
        (str(table / "part=1" / left), "unchanged", 0),
    ]  # fmt: skip
    assert report.outcomes[-1].message == "younger than 3600 seconds"
    assert (report.verb, report.bytes) == ("clean-temp", -10)
    assert [path.exists() for path in paths] == [False, False, True]
    assert all(path.exists() for path in others)
    assert len(lake.clean_temp(spark, table.as_uri() + "/part=1", older_than=0).outcomes) == 1
    assert not paths[2].exists()


def test_clean_temp_names_journals(spark, table):
    """They are not temporary: only recovery may remove them."""
    place = table / "part=0" / ".x.parquet.pbloom-journal"
    place.touch()
    assert lake.clean_temp(spark, table).outcomes == ()
    report = lake.clean_temp(spark, table, older_than=0)
    what = "the journal of a build that was killed: run `pbloom recover` on its file"
    assert [(each.path, each.status, each.message) for each in report.outcomes] == [
        (str(place), "refused", f"{place}: {what}")
    ]
    assert place.exists()


def test_clean_temp_does_everything_once(spark, table, monkeypatch):
    """Whatever a folder is called, and below it; what is missing is an error."""
    left = f".x.parquet.{'0' * 16}{TEMPORARY_SUFFIX}"
    elsewhere = table.with_name("elsewhere")
    paths = [table / left, table / "_a" / ".b" / left, table / "part=0" / left]
    for path in [*paths, elsewhere / left]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (table / "link").symlink_to(elsewhere)
    (table / left.replace("x", "y")).mkdir()
    monkeypatch.chdir(table.parent)
    names = ["table", "./table/", f"{table}//part=0", "gone", "gone*"]
    report = lake.clean_temp(spark, names, older_than=0)
    assert [(each.path, each.status) for each in report.outcomes if each.status == "removed"] == [
        (str(path), "removed") for path in sorted(paths)
    ]
    assert [(each.path, each.message) for each in report.troubles] == [
        (str(table.parent / "gone"), f"{table.parent}/gone: no such file or folder"),
        ("gone*", "gone*: no Parquet or ORC files"),
    ]
    assert (elsewhere / left).exists()
    assert (table / left.replace("x", "y")).is_dir()
