"""`pbloom spark`: exact text, the local verbs' JSON, exit codes, one line per complaint."""

import json
import os
import sys
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.a_terminal import writing_to_a_terminal
from make.commands import outcome
from make.spark_requests import probe_request, validate_request

import parquet_bloom as pb
from parquet_bloom.commands import spark as command
from parquet_bloom.render.hints import BY_NAME
from parquet_bloom.render.wording import size
from parquet_bloom.spark import session as session_module
from parquet_bloom.spark import verbs
from parquet_bloom.spark.listing import errors_here
from parquet_bloom.spark.outcome import (
    DRY_RUN,
    MOST_REASONS,
    LakeIndex,
    Outcome,
    Report,
    TableAdvice,
    Total,
    Totals,
)
from parquet_bloom.spark.plan import LakeFile
from parquet_bloom.spark.session import will_be_here
from parquet_bloom.spark.worker import text_of, work_on_file


def write_lake(folder):
    """Two files in folders of their own."""
    for day in (1, 2):
        (folder / f"day={day}").mkdir(parents=True)
        table = pa.table({"id": [day * 1_000_003 * n for n in range(2000)], "flag": [True] * 2000})
        pq.write_table(
            table, folder / f"day={day}" / "a.parquet", row_group_size=500, use_dictionary=False
        )
    return folder


@pytest.fixture
def lake(spark, tmp_path):
    return write_lake(tmp_path / "lake")


@pytest.fixture(scope="module")
def built(spark, tmp_path_factory):
    """The same with filters, only to be read."""
    folder = write_lake(tmp_path_factory.mktemp("built") / "lake")
    assert outcome("build", folder, "-c", "id", "--in-place").code == 0
    return folder


def run(*arguments):
    return outcome("spark", *arguments)


def lines(result):
    """Without how long it took."""
    first, *others = result.stdout.splitlines()
    return [first.rpartition("; ")[0], *others]


def test_build_and_what_it_says_the_second_time(lake):
    result = run("build", lake, "-c", "id")
    size = sum(file.stat().st_size for file in lake.rglob("*.parquet"))
    assert result.code == 0, result.output
    assert lines(result) == [
        "build: 2 added",
        "status\tfiles\tfilters\tbytes\treason",
        "added\t2\t8\t8.2 KiB\t",
    ]
    again = run("build", lake, "-c", "id")
    assert lines(again) == [
        "build: 2 unchanged",
        "status\tfiles\tfilters\tbytes\treason",
        "unchanged\t2\t0\t0 B\thas a filter already",
    ]
    assert size == sum(file.stat().st_size for file in lake.rglob("*.parquet"))


def test_a_dry_run_writes_nothing(lake):
    before = {file: file.read_bytes() for file in lake.rglob("*.parquet")}
    result = run("build", lake, "-c", "id", "--dry-run")
    assert lines(result)[0] == "build: 2 would be added"
    assert lines(result)[2] == "would be added\t2\t8\t8.2 KiB\tdry run"
    assert {file: file.read_bytes() for file in lake.rglob("*.parquet")} == before


def test_who_loses_rows_by_the_filters_is_told_as_by_the_local_verb(lake):
    price = pa.array([Decimal(n) for n in range(500)], pa.decimal128(9, 2))
    for day in (1, 2):
        pq.write_table(
            pa.table({"id": range(500), "price": price}), lake / f"day={day}" / "b.parquet"
        )
    of_one = outcome(
        "build", lake / "day=1" / "b.parquet", "-c", "id,price", "--in-place", "--dry-run"
    )
    note = of_one.stdout.splitlines()[-1]
    assert note.startswith("note: column price: DataFusion before 55 loses rows")
    told = f"2 files, such as {lake}/day=1/b.parquet: {note}"
    for options in (["--dry-run"], []):
        result = run("build", lake, "-c", "id,price", *options)
        assert result.stdout.splitlines()[3:] == [told]
    # Nothing is new about those that have their filters.
    (lake / "day=2" / "b.parquet").unlink()
    assert "note: " not in run("build", lake, "-c", "id,price").output


def test_what_would_be_added_is_told_from_very_many_reasons():
    totals = Totals()
    for number in range(2 * MOST_REASONS):
        totals.add(Outcome(f"{number}.parquet", "skipped", message=f"reason {number}"))
    totals.add(Outcome("a.parquet", "added", message=DRY_RUN, dry_run=True))
    first, *others = totals.all()
    assert (first.state, first.files) == ("would be added", 1)
    assert sum(each.files for each in others) == 2 * MOST_REASONS


def test_trouble_is_told_apart_by_the_class_of_the_error():
    totals = Totals()
    for number, error_class in enumerate(["ColumnError", "FooterError", "ColumnError"]):
        message = f"{number}.parquet: {number} bytes"
        totals.add(Outcome(f"{number}.parquet", "error", message=message, error_class=error_class))
    assert [(each.reason, each.files, each.example) for each in totals.all()] == [
        ("ColumnError", 2, "0.parquet: 0 bytes"), ("FooterError", 1, "1.parquet: 1 bytes"),
    ]  # fmt: skip
    report = Report("probe", "id", datetime.now(UTC), totals.all(), 1.0)
    assert report.summary() == (
        "probe: 3 files in 1.0 s: 3 error, none read; 0 filters, 0 bytes;"
        " 2 error: ColumnError, such as 0.parquet: 0 bytes; 1 error: FooterError: 1.parquet: 1 bytes"
    )


def test_a_summary_names_the_reasons_of_most_trouble_whatever_its_status():
    totals = (
        Total("error", "OSError", 1, example="no space"),
        Total("read", "", 9),
        Total("refused", "A", 1),
        Total("refused", "B", 1),
        Total("refused", "ValueTypeError", 2, example="a: expected integers"),
    )

    def said(*totals):
        report = Report("probe", "id", datetime.now(UTC), totals, 1.0)
        return report.summary().partition("bytes")[2]

    most = "; 2 refused: ValueTypeError, such as a: expected integers; 1 error: OSError: no space; 1 refused: A"
    # The last one is told, too: that there is another says less, in as much room.
    assert said(*totals) == f"{most}; 1 refused: B"
    assert said(*totals, Total("refused", "C", 4)) == (
        "; 4 refused: C; 2 refused: ValueTypeError, such as a: expected integers; 1 error: OSError: no space;"
        " 2 more, for other reasons"
    )


def test_one_line_says_what_came_of_all_files():
    """And so does a report that is shown in a notebook."""

    def said(**given):
        report = Report("advise", "0", datetime.now(UTC), (), 0.0, **given)
        assert repr(report) == f"<{report.summary()}>"
        return report.summary().removeprefix("advise: 0 files in 0.0 s: none; 0 filters, 0 bytes")

    def on(*names):
        return TableAdvice("", tuple((name, None) for name in names), None, "")

    assert said() == ""
    assert said(advice=(on(), on())) == "; recommended: no filter"
    assert said(advice=(on("a", "b"), on("b", "c,d"))) == '; recommended: a, b, "c,d"'
    many = on(*map(str, range(11)))
    assert said(advice=(many,)) == "; recommended: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … (11 in all)"
    index = LakeIndex("i", 1, 200, 3, 1, 200, 0, 0, 2, 1, 1234, 0, 99)
    assert said(index=index) == (
        "; index of 200 files, 3 of them not fully indexed (1 cannot be read in full): 200 added, 0 changed, 0 removed;"
        " 1,234 keys in 1 new segment"
    )


def test_how_far_it_is(lake, monkeypatch):
    said = []

    def recording(words):
        return nullcontext(lambda done, total: said.append(words(done, total)))

    monkeypatch.setattr(command, "progress_in_words", recording)
    run("build", lake, "-c", "id", "--dry-run")
    all_of_it = size(sum(file.stat().st_size for file in lake.rglob("*.parquet")))
    assert (said[0], said[-1]) == ("build: listing files", f"build: {all_of_it} of {all_of_it}")


def test_a_build_by_advice_says_which_of_both_is_under_way(lake, tmp_path, monkeypatch):
    """How long both took, and one that goes on takes the advice that it began with."""
    said, seconds = [], {}

    def recording(words):
        return nullcontext(lambda done, total: said.append(words(done, total).partition(":")[0]))

    def timed(verb, function):
        def run(*given, **named):
            report = function(*given, **named)
            seconds[verb] = report.seconds
            return report

        return run

    monkeypatch.setattr(command, "progress_in_words", recording)
    for verb in ("advise", "build"):
        monkeypatch.setattr(verbs, verb, timed(verb, getattr(verbs, verb)))
    for file in lake.rglob("*.parquet"):
        ids = pa.array([7919 * n % 100_003 for n in range(20_000)])
        pq.write_table(pa.table({"id": ids}), file, row_group_size=2000, use_dictionary=False)
    asked = ("build", lake, "--auto", "--totals", "--audit", tmp_path / "audit", "--run-id", "7")
    first = json.loads(run(*asked).stdout)
    assert [*dict.fromkeys(said)] == ["advise", "build"]
    assert first["seconds"] == sum(seconds.values())
    assert first["counts"] == {"added": 2}
    # Files that came since then were not judged.
    pq.write_table(pa.table({"late": range(2000)}), lake / "late.parquet")
    again = json.loads(run(*asked).stdout)
    assert (again["counts"], again["was_done"]) == ({"added": 2}, True)
    account = pq.read_table(tmp_path / "audit" / "run_id=7-advise", partitioning=None)
    assert set(account["verb"].to_pylist()) == {"advise"}


def test_trouble_is_named_and_the_rest_is_done(lake):
    bad = lake / "bad.parquet"
    bad.write_bytes(b"PAR1")
    result = run("build", lake, lake / "none", "-c", "id")
    assert result.code == 2
    assert lines(result)[0] == "build: 2 added, 2 error"
    assert result.stderr.splitlines() == [
        (
            f"pbloom: {bad}: truncated or not a Parquet file: 4 bytes, expected 12 or more; if it was one, its end is"
            " lost: take another copy"
        ),
        f"pbloom: {lake}/none: no such file or folder",
    ]


def test_json_is_that_of_the_local_verb(built):
    result = run("inspect", built, "--json")
    documents = [json.loads(line) for line in result.stdout.splitlines()]
    assert [document["path"] for document in documents] == [
        f"{built}/day=1/a.parquet",
        f"{built}/day=2/a.parquet",
    ]
    local = outcome("inspect", "--json", built)
    assert documents == [json.loads(line) for line in local.stdout.splitlines()]


def test_inspect_counts_by_column(built):
    result = run("inspect", built)
    assert lines(result)[0] == "inspect: 2 read"
    assert (
        result.stdout.splitlines()[1:] == outcome("inspect", built, "--summary").stdout.splitlines()
    )
    assert lines(result)[2].startswith("id\t2 of 2\t8 of 8\t8\t8.1 KiB\t")
    assert lines(result)[3] == "no filters: flag"


def test_validate_tells_by_its_exit_code(built, tmp_path):
    clean = run("validate", built, "--no-config")
    found = "no findings in 8 filters and 4,000 values"
    assert (clean.code, lines(clean)) == (0, ["validate: 2 read", found])
    local = outcome("validate", built, "--no-config").stdout.splitlines()[-1]
    assert local.startswith(f"2 files: 2 ok; {found}")
    result = run("validate", built, "--no-config", "--max-fpp", "1e-9")
    assert result.code == 1
    first, found, header, finding, others = lines(result)
    assert first == "validate: 2 read, 2 not ok"
    assert found == "8 errors in 8 filters and 4,000 values"
    assert header == "files\trule\tseverity\tcolumn\tfinding\ttimes"
    assert finding == (
        f"2 files, such as {built}/day=1/a.parquet\tPB311\terror\tid\tin the first: the FPP is above the limit"
        " (expected at most 0.0000001 %, found 0.1 %)\t8"
    )
    each = "--json has the findings of each file, and so has"
    assert others == f"{each} an account (--audit)"
    audit = tmp_path / "audit"
    kept = run("validate", built, "--no-config", "--max-fpp", "1e-9", "--audit", audit)
    assert lines(kept)[-1] == f"{each} the account in {audit}"
    policy = tmp_path / "required.toml"
    policy.write_text("[validate]\nrequire = ['id', 'flag']\n")
    few = ("validate", built, "--config", policy, "-c", "id")
    told = "policy: column flag: not in -c, so only whether there are filters was checked"
    assert run(*few).stderr.count(told) == outcome(*few).stderr.count(told) == 1
    assert told not in run(*few[:-2]).stderr
    one = run("validate", built / "day=1", "--no-config", "--max-fpp", "1e-9")
    assert lines(one)[-1].startswith(f"{built}/day=1/a.parquet\t")


def test_probe_tells_by_its_exit_code(built):
    # 1000003 is absent from one of the files only.
    found = run("probe", built, "-c", "id", "-v", "1000003", "-v", "-5")
    assert found.code == 0
    assert lines(found)[1:] == [
        "-5: absent in 2 files",
        "file\tvalue\tverdict\trows to read",
        f"{built}/day=1/a.parquet\t1000003\tmaybe\t500",
    ]
    absent = run("probe", built, "-c", "id", "-v", "-5", "-v", "-6")
    assert (absent.code, lines(absent)) == (
        1,
        [
            "probe: 2 read, 0 may have a value",
            "-5, -6: absent in 2 files",
        ],
    )
    # The same message about several files is one line, as of the local command.
    wrong = run("probe", built, "-c", "idd", "-v", "7")
    assert (wrong.code, lines(wrong)) == (2, ["probe: 2 refused, none read"])
    assert wrong.stderr == outcome("probe", built, "-c", "idd", "-v", "7").stderr
    names = f"{built}/day=1/a.parquet, {built}/day=2/a.parquet"
    assert wrong.stderr == f"pbloom: {names}: no column idd; did you mean id?\n"


class Accounts:
    """Outcomes, without a run."""

    def __init__(self, outcomes):
        self._outcomes = outcomes

    def each(self, statuses, ok=None):
        return iter(self._outcomes)


def test_a_file_whose_notes_nobody_knows_is_noted():
    """An attempt has changed it and left no account; without a document, the outcome itself says so."""
    lost = "added by an attempt of this run that left no account"
    document = json.dumps({"notes": [f"{lost}: what it noted is not known"]})
    done = [
        Outcome("a", "added", message=lost, document=document),
        Outcome("b", "added", message="no non-null values", document='{"notes": ["readers"]}'),
        Outcome("c", "added", message=lost, document=document),
        Outcome("d", "added", message=lost),
    ]
    totals = (Total("added", "", 4),)
    report = Report("build", "0", datetime.now(UTC), totals, 1.0, accounts=Accounts(done))
    assert [*command._notes(report)] == [
        f"2 files, such as a: note: {lost}: what it noted is not known",
        "b: note: readers",
        f"d: note: {lost}",
    ]


def test_filters_that_nobody_counts_are_not_in_the_sum():
    """Those that an attempt has removed that left no account."""
    totals = Totals()
    for each in (
        Outcome("a", "removed", 4, -40),
        Outcome("b", "removed", None, -30),
        Outcome("c", "removed", None, -20),
    ):
        totals.add(each)
    report = Report("strip", "0", datetime.now(UTC), totals.all(), 1.0)
    assert report.summary() == (
        "strip: 3 files in 1.0 s: 3 removed; 4 filters besides those of 2 files, -90 bytes"
    )
    told = report.to_dict()
    assert (told["filters"], told["uncounted"]) == (4, 2)
    assert command._by_status(report)[1] == [
        ("removed", "1", "4", "-40 B", ""),
        ("removed", "2", "not known", "-50 B", "by an attempt of this run that left no account"),
    ]


FIRST = "-200, -199, -198, -197, -196, -195, -194, -193, -192, -191"


@pytest.mark.parametrize(
    ("files", "values", "printed"),
    [
        (
            ["both", "none", "one"],
            range(-3, 1),
            [
                "file\tvalue\tverdict\trows to read\treason",
                "both\t0\tmaybe\t500\t",
                "none\t-3, -2, -1, 0\tunknown\t1,000\tno filter",
                "one\t0\tmaybe\t1,000\tno filter",
                "one\t-3, -2, -1\tunknown\t500\tno filter",
            ],
        ),
        (
            ["both", "none", "one"],
            [5, *range(-200, 0), 2**40],
            [
                "1099511627776: absent in 3 files",
                "file\tvalue\tverdict\trows to read\treason",
                "both\t5\tmaybe\t500\t",
                "none\t201 other values\tunknown\t1,000\tno filter",
                "one\t5\tmaybe\t1,000\tno filter",
                "one\t200 other values\tunknown\t500\tno filter",
            ],
        ),
        (
            ["none"],
            range(-200, 0),
            [
                "file\tvalue\tverdict\trows to read\treason",
                "none\t200 values\tunknown\t1,000\tno filter",
            ],
        ),
        (
            ["both"],
            [*range(-200, 0), 5],
            [
                f"{FIRST}, … (200 in all): absent in 1 file",
                "file\tvalue\tverdict\trows to read",
                "both\t5\tmaybe\t500",
            ],
        ),
    ],
)
def test_a_probe_says_in_one_line_what_is_unknown_in_a_file(
    files, values, printed, tmp_path, capsys
):
    """Or absent in all, also where documents do not name the value."""
    table, done = pa.table({"id": pa.array(range(1000), pa.int32())}), []
    for name in files:
        path = tmp_path / name
        pq.write_table(table, path, row_group_size=500)
        if name != "none":
            groups = [0] if name == "one" else None
            pb.build(path, columns=["id"], row_groups=groups, in_place=True, fpp=1e-6)
        done.append(work_on_file(probe_request("id", values), LakeFile(str(path))))
    now, asked = datetime.now(UTC), tuple(map(str, values))
    report = Report("probe", "0", now, (), 1.0, accounts=Accounts(done), asked=asked)
    command._write(report)
    assert capsys.readouterr().out.replace(f"{tmp_path}/", "").splitlines()[1:] == printed


def reported(verb, outcomes, asked=()):
    """What became of files, without a run."""
    totals = Totals()
    for each in outcomes:
        totals.add(each)
    now, accounts = datetime.now(UTC), Accounts(outcomes)
    return Report(verb, "0", now, totals.all(), 1.0, accounts=accounts, asked=asked)


LONG = "part-{}-1c6e1b1f-5e0b-4d2f-a4d1-0f4d0c2f5a3e.c000.snappy.parquet"


def test_a_narrow_terminal_names_the_files_that_may_have_a_value(tmp_path, monkeypatch):
    """Which files they are is what was asked; where names and numbers fit, they are a table."""
    monkeypatch.chdir(tmp_path)
    paths = [LONG.format(f"{number:05}") for number in range(2)]
    for path in paths:
        pq.write_table(pa.table({"id": [5, 7]}), path)
        pb.build(path, columns=["id"], in_place=True)
    done = [work_on_file(probe_request("id", [5]), LakeFile(path)) for path in paths]
    shown = {}
    for columns in (80, 120):
        screen = writing_to_a_terminal(monkeypatch, columns)
        command._write(reported("probe", done, asked=("5",)))
        shown[columns] = screen.lines[1:]
    assert shown[80] == [
        line
        for path in paths
        for line in (f"file: {path}", "  value: 5  verdict: maybe  rows to read: 2")
    ]
    assert [line.split() for line in shown[120][2:]] == [
        [path, "5", "maybe", "2"] for path in paths
    ]


def test_a_narrow_terminal_tells_findings_apart(tmp_path, monkeypatch):
    """Those of one rule in one column have several causes."""
    monkeypatch.chdir(tmp_path)
    for path, name in {"a.parquet": "user_id", "b.parquet": "uid"}.items():
        pq.write_table(pa.table({name: [5, 7]}), path)
    request = validate_request(["user_id"])
    done = [work_on_file(request, LakeFile(path)) for path in ("a.parquet", "b.parquet")]
    screen = writing_to_a_terminal(monkeypatch, 80)
    command._write(reported("validate", done))
    assert screen.lines[2:] == [
        "column: user_id  files: a.parquet  rule: PB310  severity: error",
        "  finding: a filter is required  times: 1",
        "column: user_id  files: b.parquet  rule: PB310  severity: error",
        "  finding: a filter is required but there is no such column; did you mean uid?",
        "  times: 1",
    ]


def test_what_helps_where_files_lack_a_column_is_told_as_by_the_local_verbs(lake, tmp_path):
    """Unless no file has it, or the option is given."""
    pq.write_table(pa.table({"other": [1]}), lake / "day=2" / "a.parquet")
    for verb, *options in (
        ("build", "--dry-run"),
        ("probe", "-v", "5"),
        ("validate",),
    ):
        asked = (verb, lake, "-c", "id", *options)
        local = outcome(*asked, *["--in-place"] * (verb == "build"))
        assert f"pbloom: {BY_NAME}\n" in local.stderr
        assert run(*asked).stderr == local.stderr
        assert BY_NAME not in run(*asked, "--union-by-name").stderr
    assert BY_NAME not in run("probe", lake, "-c", "none", "-v", "5").stderr


def test_what_helps_where_files_lack_a_column_that_is_required(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for path, name in {"a.parquet": "id", "b.parquet": "other"}.items():
        pq.write_table(pa.table({name: [5, 7]}), path)
    for names, required, is_told in (
        (["a", "b"], "id", True),
        (["a"], "id", False),
        (["b"], "id", False),
        # Which none has, one in lower case alone.
        (["a", "b"], "ID", False),
    ):
        request = validate_request([required])
        done = [work_on_file(request, LakeFile(f"{name}.parquet")) for name in names]
        command._write(reported("validate", done), helps_by_name=True)
        assert capsys.readouterr().err == f"pbloom: {BY_NAME}\n" * is_told
        command._write(reported("validate", done))
        assert capsys.readouterr().err == ""


def test_a_narrow_terminal_names_the_files_that_an_index_does_not_know(tmp_path, monkeypatch):
    path = f"/lake/{LONG.format('00000')}"
    done = [Outcome(path, "read", message="column user_id: encrypted, no key")]
    screen = writing_to_a_terminal(monkeypatch, 80)
    command._write(reported("index", done))
    assert screen.lines[1:] == [f"file: {path}", "  reason: column user_id: encrypted, no key"]


def test_a_probe_says_once_what_is_unknown_in_many_files(tmp_path, capsys):
    """And what to do instead, if there are no filters at all."""
    table = pa.table({"id": pa.array(range(1000), pa.int32())})
    for name in "abcdef":
        pq.write_table(table, tmp_path / name)
    pb.build(tmp_path / "d", columns=["id"], in_place=True)

    def printed(names):
        done = [
            work_on_file(probe_request("id", [7, 8]), LakeFile(str(tmp_path / name)))
            for name in names
        ]
        command._write(reported("probe", done, asked=("7", "8")))
        said = capsys.readouterr()
        return said.out.replace(f"{tmp_path}/", "").splitlines()[1:], said.err

    assert command._WITHOUT_FILTERS == (
        "there are no filters to ask: `pbloom find` reads the column, `pbloom spark index` makes an index of its values,"
        " `pbloom spark advise` tells whether filters pay off"
    )
    header = "file\tvalue\tverdict\trows to read\treason"
    assert printed("abcef") == (
        [header, "5 files\t7, 8\tunknown\t5,000\tno filter"],
        f"pbloom: {command._WITHOUT_FILTERS}\n",
    )
    assert printed("abcdef") == (
        [
            header,
            "5 of 6 files, such as a\t7, 8\tunknown\t5,000\tno filter",
            "d\t7\tmaybe\t1,000\t",
            "d\t8\tmaybe\t1,000\t",
        ],
        "",
    )


def test_a_probe_of_several_columns_says_which(spark, tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": range(100), "k": range(1000, 1100)}), path)
    assert outcome("build", path, "-c", "id,k", "--in-place").code == 0
    both = run("probe", path, "-c", "k", "-c", "id,k", "-v", "7", "-v", "1007")
    assert lines(both)[1:] == [
        "column k: 7: absent in 1 file",
        "column id: 1007: absent in 1 file",
        "file\tcolumn\tvalue\tverdict\trows to read",
        f"{path}\tk\t1007\tmaybe\t100",
        f"{path}\tid\t7\tmaybe\t100",
    ]
    documents = run("probe", path, "-c", "k,id", "-v", "7", "--json").stdout.splitlines()
    assert (
        documents == outcome("probe", path, "-c", "k,id", "-v", "7", "--json").stdout.splitlines()
    )


def test_advise_by_column(lake):
    result = run("advise", lake, "-c", "id")
    assert result.code == 0
    assert lines(result)[1] == "column\tverdict\tfiles\tfilters take\treason"
    assert lines(result)[2].startswith("id\t")


def test_advice_on_files_that_are_judged_apart_says_on_which(tmp_path, capsys):
    for name, columns in (("a", ["id"]), ("b", ["id", "k"]), ("c", ["id", "k"])):
        table = pa.table({column: range(1000) for column in columns})
        pq.write_table(table, tmp_path / name, row_group_size=500)
    reports = pb.advise([tmp_path / name for name in "abc"]).reports
    given = [TableAdvice(each.key, (), None, text_of(each)) for each in reports]

    def printed(advice):
        command._write(Report("advise", "0", datetime.now(UTC), (), 1.0, advice=tuple(advice)))
        found = capsys.readouterr().out.replace(f"{tmp_path}/", "").splitlines()[1:]
        return [line.partition("\tskip\t")[0] for line in found]

    header = "column\tverdict\tfiles\tfilters take\treason"
    assert printed(given) == ["a:", header, "id", "b and 1 more:", header, "id", "k"]
    assert printed(given[:1]) == [header, "id"]


def test_strip_gives_the_files_back(lake):
    before = {file: file.read_bytes() for file in lake.rglob("*.parquet")}
    run("build", lake, "-c", "id")
    of_one = outcome("strip", lake / "day=1" / "a.parquet", "--dry-run")
    note = "note: filters are removed no matter who built them, the file's own writer included"
    assert of_one.stdout.splitlines()[-1] == note
    would = lines(run("strip", lake, "--dry-run"))
    assert (would[0], would[3:]) == ("strip: 2 would be removed", [note])
    result = run("strip", lake)
    assert lines(result)[2:] == ["removed\t2\t8\t-8.2 KiB\t", note]
    assert note not in run("strip", lake).stdout
    assert {file: file.read_bytes() for file in lake.rglob("*.parquet")} == before


def test_clean_temp_removes_what_is_old_enough(lake):
    left = lake / "day=1" / f".a.parquet.{'0' * 16}.pbloom-tmp"
    left.write_bytes(b"half")
    assert lines(run("clean-temp", lake)) == [
        "clean-temp: 1 unchanged; 1 temporary file is younger than --older-than, by default an hour"
    ]
    would = run("clean-temp", lake, "--older-than", "0s", "--dry-run")
    assert lines(would) == ["clean-temp: 1 would be removed", "file\tbytes", f"{left}\t4 B"]
    assert left.exists()
    result = run("clean-temp", lake, "--older-than", "0s")
    assert lines(result) == ["clean-temp: 1 removed", "file\tbytes", f"{left}\t4 B"]
    assert lines(run("clean-temp", lake)) == ["clean-temp: nothing to remove"]
    assert not left.exists()


def test_reports_are_appended(spark, lake):
    history = lake / "_pbloom"
    run("build", lake, "-c", "id", "--report", history)
    run("build", lake, "-c", "id", "--report", history)
    rows = spark.read.parquet(str(history)).orderBy("started_at", "path").collect()
    assert [(row.verb, row.status, row.filters) for row in rows] == [
        *[("build", "added", 4)] * 2,
        *[("build", "unchanged", 0)] * 2,
    ]
    assert len({row.run_id for row in rows}) == 2
    assert lines(run("inspect", lake))[0] == "inspect: 2 read"


def test_since(lake):
    assert lines(run("build", lake, "-c", "id", "--since", "1h"))[0] == "build: 2 added"
    later = datetime.now(UTC) + timedelta(hours=1)
    assert lines(run("strip", lake, "--since", later.isoformat())) == ["strip: no files"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("build", "x"),
            "expected --column COLUMN, or --auto for the columns that `pbloom advise` recommends",
        ),
        (
            ("build", "x", "-c", "a", "--since", "yesterday"),
            "'yesterday': expected a time such as 2026-11-20, or an age: a number and s, m",
        ),
        (("build", "x", "-c", "a", "--conf", "novalue"), "expected NAME=VALUE"),
        (("build", "x", "-c", "a", "--master", "m", "--remote", "r"), "at most one of --master"),
        (("build", "x", "-c", "a", "--json", "--totals"), "at most one of --json and --totals"),
        (("build", "x", "--table", "delta", "--totals"), "--totals: not with --table"),
        (("validate", "x", "--diagnose", "--no-deep"), "--diagnose looks up values"),
    ],
)
def test_usage_errors_before_any_session(arguments, said):
    result = run(*arguments)
    assert result.code == 2
    assert said in result.stderr


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["none"], "none: No such file or directory"),
        (["none/"], "none/: no such folder"),
        ([""], "an empty name, expected a file"),
        (["s3:/lake"], "s3:/lake: no such file; did you mean s3://lake?"),
        (["none", "file:/none"], "file:/none: No such file or directory"),
        (["none", "--table", "delta"], "none: No such file or directory"),
    ],
)
def test_names_of_nothing_before_any_session(names, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("build", *names, "-c", "id", "--master", "local[1]")
    assert (result.code, result.stdout, result.stderr.splitlines()[-1]) == (
        2,
        "",
        f"pbloom: {said}",
    )


@pytest.mark.parametrize(
    ("master", "remote", "is_shared"),
    [("local[2]", None, True), (None, "local[2]", True), (None, "sc://localhost:15002", False)],
)
def test_workers_that_are_started_here_are_of_this_environment(
    master, remote, is_shared, monkeypatch
):
    """On a server, they have its own."""
    monkeypatch.setattr(session_module, "check_server", lambda _: None)
    theirs = {name: text for name, text in os.environ.items() if name != "PYSPARK_PYTHON"}
    monkeypatch.setattr(os, "environ", theirs)
    builder = SimpleNamespace(master=lambda _: None, remote=lambda _: None)
    session_module._settings(builder, master, remote, {})
    assert os.environ.get("PYSPARK_PYTHON") == (sys.executable if is_shared else None)


def test_only_executors_know_what_globs_urls_and_files_elsewhere_mean(tmp_path):
    for names in (["none*"], ["s3://lake/none"], ["none", str(tmp_path)], ["none", "{none,lake}"]):
        assert errors_here(names) == []
    elsewhere = ("spark://host:7077", None, {}), (None, "sc://host", {}), ("yarn", None, {})
    assert not any(will_be_here(*each) for each in elsewhere)
    assert not will_be_here(None, None, {"spark.master": "yarn"})
    assert will_be_here("local[2]", None, {})


def examples(*command):
    text = run(*command, "--help").stdout.split("Examples:\n")[1].split("\n\n")[0]
    return [line.split() for line in text.splitlines()]


def test_the_examples_in_the_help_run(lake):
    for program, group, *arguments in [*examples()[:2], *examples("build")[:1]]:
        assert (program, group) == ("pbloom", "spark")
        there = " ".join(arguments).replace("/lake/events", str(lake))
        there = there.replace("/lake/_pbloom", str(lake / "_pbloom")).replace("user_id", "id")
        # The test has a session, and the host of the example is nobody's.
        assert run(*there.partition(" --master")[0].split()).code == 0
