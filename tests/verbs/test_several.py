"""Verbs over several files, from Python."""

import html
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.footers import edited, meta_of
from make.pages import data_page
from make.parquet_files import Column, forge

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.index import states
from parquet_bloom.parquet.filters import asked
from parquet_bloom.parquet.pages.pages import decoded_pages
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.values.literals import encode_given


@pytest.fixture
def lake(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake" / "b").mkdir(parents=True)
    table = pa.table({"id": [1, 2, 3]})
    for name in ("a.parquet", "b/b.parquet"):
        pq.write_table(table, tmp_path / "lake" / name)
    return tmp_path / "lake"


A, B = "lake/a.parquet", "lake/b/b.parquet"


@pytest.mark.parametrize(
    "files", [[A, B], ("lake",), "lake", "lake/", "lake/**", "lake/**/*.parquet", iter([A, B])]
)
def test_names_are_those_of_the_command(lake, files):
    report = pb.inspect(files)
    assert [each.path for each in report.reports] == [A, B]
    assert (report.failures, repr(report)) == (
        (),
        "<FileInspections of 2 files: 2 without; 0 filters>",
    )


def test_a_file_that_is_named_in_several_ways_is_one(lake):
    names = [A, f"./{A}", "lake//a.parquet", str(lake / "a.parquet"), "lake/*.parquet", A]
    assert [each.path for each in pb.inspect(names)] == [A]
    assert [each.path for each in pb.inspect(["lake", A, f"./{B}"])] == [A, B]
    assert pb.probe_values(names, "id", 1).num_files == 1
    assert pb.find(names, "id", 1).num_files == pb.find([*names, B], "id", 1).num_files - 1 == 1
    assert pb.rows(names, {"id": 1}).num_rows == 1
    assert [Path(each.output).name for each in pb.build(names, "out", columns="id")] == [
        "a.parquet"
    ]
    printed = outcome("validate", "--json", *names[:4]).stdout
    assert [json.loads(line)["path"] for line in printed.splitlines()] == [A]


def test_a_working_folder_that_is_gone_hides_no_file_elsewhere(lake, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    result = outcome("probe", lake / "a.parquet", "a.parquet", "-c", "id", "-v", 1)
    assert f"{lake / 'a.parquet'}: " in result.stdout
    assert result.stderr == "pbloom: a.parquet: No such file or directory\n"


def test_one_name_of_one_file_has_one_report(lake):
    assert isinstance(pb.inspect(A), pb.FileInspection)
    assert isinstance(pb.inspect([A]), pb.FilesReport)
    (lake / "[1].parquet").write_bytes((lake / "a.parquet").read_bytes())
    assert pb.inspect("lake/[1].parquet").path == "lake/[1].parquet"


def test_what_one_report_says_is_said_of_several(lake):
    built = pb.build("lake", "out", columns="id")
    assert (built.ok, built.num_filters) == (True, pb.inspect("out").num_filters) == (True, 2)
    assert pb.validate("out", require="id").ok
    assert not pb.validate(["out", A], require="id").ok
    required = pb.Policy(require=("id",))
    assert [pb.report(each, policy=required).ok for each in (["out"], [A], A)] == [
        True,
        False,
        False,
    ]
    one = pq.read_table("out/a.parquet")["id"][0].as_py()
    assert [pb.probe("out", "id", each).is_absent for each in (one, -1)] == [False, True]
    with pytest.raises(AttributeError, match="'BuildReport' object has no attribute 'is_absent'"):
        assert built.is_absent
    (lake.parent / "out" / "bad.parquet").write_bytes(b"no file")
    probed, checked = pb.probe("out", "id", -1), pb.validate("out")
    assert [(len(each.reports), len(each.failures)) for each in (probed, checked)] == [(2, 1)] * 2
    assert (probed.is_absent, checked.ok, pb.inspect("out").ok) == (False, False, False)


def test_build_strip_repair_and_what_reads(lake):
    built = pb.build("lake", "out", columns="id")
    assert [each.output for each in built.reports] == ["out/a.parquet", "out/b/b.parquet"]
    assert [each.ok for each in pb.validate("out", require="id").reports] == [True, True]
    assert [each.is_absent for each in pb.probe("out", "id", 7).reports] == [True, True]
    done = []
    assert len(pb.repair("out", in_place=True, progress=lambda *at: done.append(at)).reports) == 2
    assert done == [(1, 2), (2, 2)]
    assert pb.build("lake", columns="id", dry_run=True).reports[0].output is None
    stripped = pb.strip(["out"], in_place=True)
    assert [each.num_filters for each in stripped.reports] == [1, 1]
    for name in ("a.parquet", "b/b.parquet"):
        assert (lake.parent / "out" / name).read_bytes() == (lake / name).read_bytes()


def test_resume_leaves_out_what_is_there(lake):
    """But not an empty file, which only reserves the name."""
    for verb in (pb.build, pb.strip, pb.repair):
        given = {"columns": "id"} if verb is pb.build else {}
        out = lake.parent / verb.__name__
        before = verb([A], out, **given).reports[0]
        written = (out / "a.parquet").stat()
        report = verb("lake", out, resume=True, **given)
        assert [each.path for each in report.reports] == [B]
        assert (report.done_before, report.failures) == ((A,), ())
        assert (out / "a.parquet").stat() == written
        assert report.to_arrow().schema == before.to_arrow().schema
        again = verb("lake", out, resume=True, **given)
        assert (again.reports, again.done_before, again.to_arrow().num_rows) == ((), (A, B), 0)
        (out / "a.parquet").write_bytes(b"")
        # Others were done before: all that are left fail, and not all.
        failed = verb("lake", out, resume=True, **given)
        ((path, message),) = [(each.path, each.message) for each in failed.failures]
        assert (path, failed.done_before, failed.ok) == (A, (B,), False)
        assert "already exists: use overwrite=True to replace" in message
    for wrong in ({"in_place": True}, {"output": "out", "overwrite": True}):
        with pytest.raises(ValueError, match="resume: expected several files"):
            pb.strip("lake", resume=True, **wrong)
    with pytest.raises(ValueError, match="resume: expected several files"):
        pb.strip(A, "out", resume=True)


def test_the_command_resumes(lake):
    asked = ("build", "lake", "-c", "id", "--output-dir", "out")
    assert outcome(*asked).code == 0
    (lake.parent / "out" / "a.parquet").unlink()
    assert outcome(*asked).complaint == (
        "out/b/b.parquet: already exists: use --overwrite to replace it, or --resume to go on with"
        " the others"
    )
    (lake.parent / "out" / "a.parquet").unlink()
    resumed = outcome(*asked, "--resume", "--json")
    assert (resumed.code, resumed.complaint) == (
        0,
        "1 of 2 files left out: its output exists, whatever is in it",
    )
    assert [json.loads(line)["path"] for line in resumed.stdout.splitlines()] == [A]
    assert outcome("build", "lake", "--auto", *asked[4:], "--resume").complaint == (
        "--resume: not with --auto, which judges all files: name each --column"
    )
    assert outcome("strip", "lake", "--in-place", "--resume").complaint == (
        "--resume: expected with --output-dir and without --overwrite: in place, the same command goes on without it"
    )


def test_who_resumes_with_other_options_is_told_of_the_first_output(lake):
    """The outputs of another request are no answer to this one."""
    for name in (A, B):
        columns = {"id": [1, 2], "name": ["a", "b"], "flag": [True, False], "null": [None, None]}
        pq.write_table(pa.table(columns), name)

    def resumed(verb, columns, out):
        ran = outcome(verb, "lake", "-c", columns, "--output-dir", out, "--resume")
        assert ran.code == 0
        left, *told = ran.stderr.splitlines()
        assert left == "pbloom: 2 of 2 files left out: their outputs exist, whatever is in them"
        return told

    assert outcome("build", "lake", "-c", "id", "--output-dir", "out").code == 0
    assert resumed("build", "id", "out") == []
    # Of these, no run builds any.
    assert resumed("build", "id,flag,null", "out") == []
    said = "pbloom: out/a.parquet: left as it is, {}: was it written with other options? --overwrite without --resume replaces it"
    assert resumed("build", "id,name", "out") == [said.format("without a filter of name")]
    assert resumed("strip", "name", "out") == []
    assert resumed("strip", "id,name", "out") == [said.format("with a filter of id")]
    Path("out/a.parquet").write_bytes(b"nothing")
    assert resumed("build", "name", "out") == []


def test_advice_on_several_is_about_tables(lake):
    pq.write_table(pa.table({"other": ["a", "b"]}), lake / "c.parquet")
    (lake / "d.parquet").write_bytes(b"nothing")
    advice = pb.advise("lake", rates=True)
    assert [(each.path, each.files) for each in advice.reports] == [
        (f"{A} and 1 more", 2),
        ("lake/c.parquet", 1),
    ]
    assert [each.path for each in advice.failures] == ["lake/d.parquet"]
    assert isinstance(pb.advise(A), pb.AdviceReport)
    with pytest.raises(pb.ColumnError, match="no column nope"):
        pb.advise(["lake/a.parquet"], columns="nope")


def test_find_shows_what_is_unknown(lake):
    for name in ("b/b.parquet", "c.parquet"):
        (lake / name).write_bytes(b"nothing")
    report = pb.find("lake", "id", 10**9)
    reason = "not a Parquet file: 7 bytes, expected 12 or more"
    told = f"<FindReport id: 0 rows in 1 file; 0 row groups read, 1 excluded; 2 unknown: {B}: {reason}>"
    assert repr(report) == told
    listed = f"<li>{B}: {reason}</li><li>lake/c.parquet: {reason}</li>"
    assert report._repr_html_() == f"<p>{html.escape(told)}</p><ul>{listed}</ul>"


def test_values_that_no_file_can_hold_are_refused_once_for_all(lake, monkeypatch):
    """With many, of which the last is none, each file would take as long as all these."""
    encoded = []
    monkeypatch.setattr(
        asked, "encode_given", lambda *given: encoded.append(given) or encode_given(*given)
    )
    with pytest.raises(
        pb.ValueTypeError,
        match=r"column id: 5\.5: cannot be a value of INT64: expected an integer$",
    ):
        pb.probe(["lake"] * 3, "id", [5, 6, 5.5])
    assert [value for _, value in encoded] == [5, 6, 5.5]
    encoded.clear()
    # Of several, each alone, and those that it can be asked for.
    assert len(pb.find(["lake"] * 3, "id", [5, 6, 5.5]).unknown) == 2
    assert [value for _, value in encoded] == [5, 6, 5.5, 5, 6, 5.5, 5, 6]
    with pytest.raises(pb.ValueTypeError, match=r"column id: 4\.5: cannot be a value of INT64"):
        pb.find("lake", "id", [4.5, 5.5])


def test_report_of_several(lake):
    report = pb.report("lake", threads=2)
    assert [each.path for each in report] == [A, B]
    assert len(report) == 2
    assert report[0] == report.reports[0] == pb.report(A)
    assert report[-1].path == B
    assert report[1:] == report.reports[1:]


def test_one_report_speaks_for_all(lake):
    assert repr(pb.advise("lake")) == f"<FilesReport of {pb.advise('lake').reports[0]!r}>"
    advice = pb.advise("lake")
    assert "files=2" in repr(advice)
    # Its columns, not how many there are.
    assert advice._repr_html_() == advice.reports[0]._repr_html_()
    tables = [replace(advice.reports[0], recommended=names) for names in (("a", "id"), ("id", "b"))]
    assert pb.FilesReport(tuple(tables)).recommended == ("a", "id", "b")


def test_files_are_counted_by_what_becomes_of_them(lake):
    """As the command does, be it one file."""
    assert repr(pb.inspect("lake")) == "<FileInspections of 2 files: 2 without; 0 filters>"
    report = pb.build("lake", in_place=True, columns="id")
    assert repr(report) == "<BuildReports of 2 files: 2 built; 2 filters>"
    assert repr(pb.inspect("lake")) == "<FileInspections of 2 files: 2 with filters; 2 filters>"
    assert repr(pb.validate("lake")) == "<ValidationReports of 2 files: 2 ok>"
    pb.strip(A, in_place=True)
    report = pb.validate("lake", require="id")
    told = "<ValidationReports of 2 files: 1 not ok, 1 ok>"
    assert repr(report) == told
    assert report._repr_html_().startswith(f"<p>{html.escape(told)}</p><table>")
    assert repr(pb.repair("lake", in_place=True)) == "<RepairReports of 2 files: 2 unchanged>"
    report = pb.strip("lake", in_place=True)
    told = "<StripReports of 2 files: 1 unchanged, 1 stripped; 1 filter removed>"
    assert repr(report) == told
    assert repr(pb.validate([A])) == "<ValidationReports of 1 file: 1 without filters>"


@pytest.mark.parametrize(
    ("verb", "told"),
    [
        (pb.strip, "<StripReports of 2 files: 2 stripped; 2 filters removed; "),
        (partial(pb.build, columns="id", existing="replace"), "<BuildReports of 2 files: 2 built; 2 filters; "),
        (pb.repair, "<RepairReports of 2 files: 2 unchanged; "),
    ],
    ids=["strip", "build", "repair"],
)  # fmt: skip
def test_a_dry_run_over_several_files_says_that_it_was_one(lake, verb, told):
    """As the command does."""
    pb.build("lake", in_place=True, columns="id")
    report = verb("lake", in_place=True, dry_run=True)
    assert repr(report) == f"{told}dry run: nothing was written>"
    assert "dry run" not in repr(verb("lake", in_place=True))


def test_one_that_fails_keeps_no_other_from_being_done(lake):
    pb.build(A, in_place=True, columns="id")
    (lake / "b" / "b.parquet").write_bytes(b"nothing")
    report = pb.validate("lake")
    problem = f"{B}: not a Parquet file: 7 bytes, expected 12 or more"
    assert [each.path for each in report.reports] == [A]
    assert report.failures == (pb.Failure(B, problem),)
    assert repr(report) == "<ValidationReports of 2 files: 1 ok, 1 failed>"
    documents = report.to_dict()
    assert documents["reports"] == [pb.validate(A).to_dict()]
    # Of a file that failed there are no rows.
    assert {*report.to_arrow()["path"].to_pylist()} == {A}
    assert {*pb.inspect("lake").to_arrow()["path"].to_pylist()} == {A}
    assert documents["failures"] == [{"path": B, "message": problem}]
    (lake / "a.parquet").unlink()
    with pytest.raises(pb.NotSupportedFileError):
        pb.validate("lake")


def test_outputs_are_refused_as_in_the_command(lake):
    pb.build("lake", "out", columns="id")
    with pytest.raises(pb.RewriteError, match="exists: use overwrite=True to replace it"):
        pb.build("lake", "out", columns="id")
    with pytest.raises(pb.RewriteError, match="is the input itself"):
        pb.build("lake", "lake", columns="id")
    (lake / "b/b.parquet").rename(lake / "b/a.parquet")
    with pytest.raises(pb.RewriteError, match="would be the output of both"):
        pb.build([A, "lake/b/a.parquet"], "other", columns="id")


@pytest.mark.parametrize("files", ["nowhere/*", ["nowhere/"], [A, "lake/*.orc"], [""]])
def test_a_name_that_means_nothing(lake, files):
    with pytest.raises(FileNotFoundError):
        pb.inspect(files)


@pytest.mark.parametrize(
    "ask",
    [
        pb.open,
        pb.inspect,
        partial(pb.inspect, columns="id"),
        partial(pb.inspect, columns=["id"], threads=2),
        partial(pb.build, columns="id", in_place=True),
        partial(pb.strip, output="c.parquet"),
        partial(pb.dump, column="id", row_group=0),
        pb.dump_footer,
        partial(pb.diff, A),
        partial(pb.find, column="id", values=1),
        partial(pb.rows, filters={"id": 1}),
    ],
)
def test_a_name_that_is_near_another(lake, ask):
    with pytest.raises(FileNotFoundError) as raised:
        ask("lake/b/b.parqet")
    expected = "[Errno 2] no such file; did you mean lake/b/b.parquet?: 'lake/b/b.parqet'"
    assert str(raised.value) == expected
    with pytest.raises(
        FileNotFoundError, match=r"^\[Errno 2\] (N|n)o such file( or directory)?: 'lake/b/x'$"
    ):
        ask("lake/b/x")


@pytest.mark.parametrize("files", [7, [7], {A: B}, b"lake"])
def test_what_is_no_name(lake, files):
    with pytest.raises(TypeError, match="path"):
        pb.strip(files, dry_run=True)


def test_one_table_of_both_formats(lake):
    po.write_table(pa.table({"id": [1, 2]}), lake / "c.orc")
    table = pb.inspect("lake").to_arrow()
    assert table["path"].to_pylist() == [A, B, "lake/c.orc"]
    assert table["row_group"].to_pylist() == [0, 0, None]
    assert table["stripe"].to_pylist() == [None, None, 0]


def test_a_notebook_has_a_row_for_each_file(lake):
    page = pb.inspect("lake")._repr_html_()
    assert page.count("<tr>") == 3
    assert f"<td>{A}</td><td>0</td><td>parquet</td>" in page


def test_a_notebook_sees_what_remains_to_be_read(lake):
    page = pb.probe("lake", "id", [2, 900])._repr_html_()
    assert "<th>is_absent</th><th>num_row_groups</th><th>num_row_groups_to_read</th>" in page
    assert f"<td>{A}</td>" in page


def test_a_notebook_names_what_failed(lake):
    (lake / "<b>.parquet").write_bytes(b"PAR1")
    page = pb.validate("lake")._repr_html_()
    message = (
        "lake/&lt;b&gt;.parquet: truncated or not a Parquet file: 4 bytes, expected 12 or more"
    )
    assert f"<ul><li>{message}</li></ul>" in page


def test_tables(lake):
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake("table", pa.table({"id": [1, 2, 3]}))
    report = pb.probe("table", "id", 9, table="auto")
    assert [each.column for each in report.reports] == ["id"]
    assert pb.probe_values("table", "id", 9, table="delta").unknown == 1
    with pytest.raises(pb.ColumnError):
        pb.inspect("table", columns="user", table="auto")


@pytest.mark.parametrize(
    "ask",
    [
        lambda: pb.find([], "id", 1),
        lambda: pb.find((), "id", 1, table="delta"),
        lambda: pb.find([], "id", 1, index="users.index"),
        lambda: pb.probe([], "id", 1),
        lambda: pb.probe_values(iter(()), "id", 1),
        lambda: pb.row_groups([], {"id": 1}),
        lambda: pb.rows([], {"id": 1}),
        lambda: pb.dataset([], {"id": 1}),
        lambda: pb.inspect([]),
        lambda: pb.validate([]),
        lambda: pb.build([], columns="id", in_place=True),
        lambda: pb.Index.build("users.index", [], "id"),
    ],
)
def test_an_empty_list_of_files_is_no_answer(
    ask: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"(files|path|source): none, expected at least one$"
    ):
        ask()
    assert not list(tmp_path.iterdir())


def test_files_that_are_gone_after_they_were_listed_are_no_answer(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "_status", lambda path: None)
    with pytest.raises(FileNotFoundError, match="no Parquet or ORC files: 'lake'"):
        pb.find("lake", "id", 9)


def test_an_index_is_asked_about_some_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    with pb.Index.build(tmp_path / "index", tmp_path, "id") as index:
        with pytest.raises(FileNotFoundError, match="files: none, expected at least one"):
            index.probe("id", 1, files=[])
        assert index.add([]).files == 1


def test_a_row_group_without_rows_holds_no_value(tmp_path):
    """It gets no filter, and must not keep all values from being absent."""
    for name, values in (("full", [1, 2]), ("empty", [])):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"id": pa.array(values, pa.int64())}), path)
    pb.build(tmp_path, columns="id", in_place=True)
    report = pb.probe(tmp_path / "empty.parquet", "id", 77, explain=True)
    (empty,), (why,) = report.results, report.explanations
    assert (empty.verdict, why.reason) == ("absent", "the row group has no rows")
    assert pb.probe(tmp_path, "id", 77).is_absent


# Of the right type, in each kind of column.
NULLS = {
    "id": pa.nulls(100, pa.float64()),
    "of dictionaries": pa.nulls(100, pa.dictionary(pa.int32(), pa.string())),
    "empty lists": pa.array([[]] * 100, pa.list_(pa.float64())),
    "lists of nulls": pa.array([[None, None]] * 100, pa.list_(pa.float64())),
    "structs of nulls": pa.array([{"x": None}] * 100, pa.struct([("x", pa.float64())])),
}
ARE_NULLS = ("absent", "only nulls, by its null_count and its pages")
MAY_BE_VALUES = ("unknown", "no filter: only nulls by its null_count, but not by its pages")


def told(path: Path, value: Any) -> tuple[str, str | None]:
    """What all ways to ask a file about a value of its only column say."""
    with pb.open(path) as file:
        (column,) = file.columns
    report = pb.probe(path, column, value, explain=True)
    (one,), (why,) = report.results, report.explanations
    many = pb.probe(path, column, [value] * 300).results[299]
    assert (many.verdict, many.groups, why.reason) == (
        one.verdict,
        one.groups,
        one.groups[0].reason,
    )
    return one.verdict, one.groups[0].reason


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("name", NULLS)
def test_where_there_are_only_nulls_no_value_is(tmp_path, name, version):
    """They get no filter, and must not keep all values from being absent; nor do they hold NaN."""
    path = tmp_path / "null.parquet"
    pq.write_table(pa.table({name: NULLS[name]}), path, data_page_version=version)
    if name == "of dictionaries":
        assert told(path, "x") == ARE_NULLS
    else:
        assert told(path, 77.0) == told(path, nan) == ARE_NULLS


def test_a_file_of_nulls_keeps_no_lake_from_being_absent(tmp_path):
    for name, values in (("full", [1, 2]), ("null", [None, None])):
        table = pa.table({"id": pa.array(values, pa.int64())})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    pb.build(tmp_path, columns="id", in_place=True)
    assert pb.probe(tmp_path, "id", 77).is_absent
    assert pb.probe_values(tmp_path, "id", 77).is_absent
    found = pb.find(tmp_path, "id", 77)
    by = found.files_by_statistics, found.files_by_filters
    assert (by, list(found.absent)) == ((2, 0), [77])


def test_a_column_without_a_type_holds_no_value(tmp_path):
    """pandas writes one in which it saw nothing, beside files in which it is text."""
    pq.write_table(pa.table({"id": pa.nulls(9)}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "1.parquet")
    pb.build(tmp_path / "1.parquet", columns="id", in_place=True)
    assert pb.probe(tmp_path, "id", "b").is_absent
    asked = pb.probe_values(tmp_path, "id", ["a", pb.literal("b")])
    assert (asked.absent, asked.maybe, asked.unknown) == (1, 1, 0)
    found = pb.find(tmp_path, "id", ["a", pb.literal("b"), b"c"])
    assert ([row.value for row in found.rows], found.unknown) == (["a"], ())
    path = tmp_path / "0.parquet"
    reason = "the column's type in the file has nothing but null"
    assert told(path, "zz") == ("absent", reason)
    # Which it could be, and no statistics say that it has only nulls.
    assert told(path, 5) == ("absent", "only nulls, by its type and its pages")
    assert pb.find(path, "id", 5).is_absent


def test_a_column_without_a_type_is_searched_for_what_it_can_store(tmp_path):
    path = tmp_path / "lies.parquet"
    element = {"logicalType": ttypes.LogicalType(UNKNOWN=ttypes.NullType())}
    page = data_page((5).to_bytes(4, "little"), 1)
    column = Column([page], 1, type=ttypes.Type.INT32, element=element)
    path.write_bytes(forge(column))
    assert told(path, 5) == ("unknown", "no filter")
    assert [row.row for row in pb.find(path, "a", 5).rows] == [0]
    assert pb.find(path, "a", "5").is_absent


def test_flags_of_nulls_keep_no_lake_from_being_absent(tmp_path):
    """They have no filter either way."""
    path = tmp_path / "null.parquet"
    pq.write_table(pa.table({"flag": pa.nulls(100, pa.bool_())}), path)
    assert told(path, True) == ARE_NULLS
    assert pb.probe(path, "flag", None).results[0].verdict == "unknown"
    report = pb.find(path, "flag", [True, False])
    assert (report.unknown, len(report.absent)) == ((), 2)
    pq.write_table(pa.table({"flag": [None, True]}), path)
    assert told(path, False) == ("unknown", "BOOLEAN has no Bloom filter")
    (unknown,) = pb.find(path, "flag", True).unknown
    assert unknown.reason == (
        "True: cannot be looked for: BOOLEAN has no Bloom filter; pb.rows, in Python, reads all rows and compares"
    )
    assert pb.rows(path, {"flag": True}).num_rows == 1
    pq.write_table(pa.table({"flag": pa.nulls(9, pa.bool_())}), path, write_statistics=False)
    assert told(path, False) == ("unknown", "BOOLEAN has no Bloom filter")


def test_to_strip_a_filter_of_nulls_changes_no_verdict(tmp_path):
    """As PB308 advises."""
    path = tmp_path / "null.parquet"
    table = pa.table({"id": pa.nulls(5, pa.int64())})
    pq.write_table(table, path, bloom_filter_options={"id": True})
    assert "PB308" in {each.rule for each in pb.validate(path).findings}
    assert pb.probe(path, "id", 7).is_absent
    pb.strip(path, columns="id", in_place=True)
    assert pb.probe(path, "id", 7).is_absent


@pytest.mark.parametrize("values", [[1.5, None], [[1.5], []]], ids=["flat", "lists"])
def test_nobody_believes_that_all_are_null_because_the_footer_says_so(tmp_path, values):
    path = tmp_path / "lie.parquet"
    pq.write_table(pa.table({"id": values}), path, use_dictionary=False)

    def lie(footer):
        statistics = meta_of(footer, 0, 0).statistics
        statistics.null_count = 2
        statistics.min = statistics.max = statistics.min_value = statistics.max_value = None

    path.write_bytes(edited(path.read_bytes(), lie))
    assert told(path, 1.5) == told(path, 77.0) == MAY_BE_VALUES
    assert told(path, nan) == ("unknown", "NaN has many encodings")


def test_pages_that_were_lost_may_have_had_values(tmp_path):
    """The footer has forgotten the last pages of a list, and their values."""
    path = tmp_path / "short.parquet"
    values = pa.array([[]] * 100 + [[1.5]] * 100, pa.list_(pa.float64()))
    table = pa.table({"id": values})
    pq.write_table(table, path, data_page_size=1, write_batch_size=100, use_dictionary=False)
    with open_file(path) as file:
        first = next(
            decoded_pages(file.source, file.footer, file.footer.chunk(0, file.footer.leaves[0]))
        )

    def forget(footer):
        meta = meta_of(footer, 0, 0)
        meta.num_values = meta.statistics.null_count = first.num_values
        meta.total_compressed_size = first.size

    path.write_bytes(edited(path.read_bytes(), forget))
    assert told(path, 1.5) == MAY_BE_VALUES


def test_pages_of_nulls_that_cannot_be_read_may_have_values(tmp_path):
    path = tmp_path / "damaged.parquet"
    pq.write_table(pa.table({"id": NULLS["id"]}), path)
    with open_file(path) as file:
        start = file.chunk(0, "id").pages_start
    data = bytearray(path.read_bytes())
    data[start] ^= 0xFF
    path.write_bytes(data)
    assert told(path, 77.0) == MAY_BE_VALUES


def test_a_row_group_that_has_lost_its_rows_may_hold_any_value(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1, 2]}), path)

    def lose(footer):
        footer.row_groups[0].num_rows = meta_of(footer, 0, 0).num_values = 0

    path.write_bytes(edited(path.read_bytes(), lose))
    (found,) = pb.probe(path, "id", 1).results
    assert (found.verdict, found.groups[0].reason) == (
        "unknown",
        "footer: the row groups hold 0 rows, the file 2",
    )


def test_the_answers_of_probe_are_added_up(tmp_path):
    names = ["a.parquet", "b.parquet"]
    for start, name in enumerate(names):
        table = pa.table({"id": [2 * n + start for n in range(9)]})
        pq.write_table(table, tmp_path / name, row_group_size=3)
        pb.build(tmp_path / name, in_place=True, columns="id", fpp=1e-9)
    report = pb.probe(tmp_path, "id", [0, 16])
    total = "1 absent; 2 of 6 row groups to read, 4 excluded; "
    bytes_read = sum(each.bytes_read for each in report)
    told = f"<ProbeReports of 2 files: {total}{bytes_read:,} bytes read>"
    assert repr(report) == told
    assert report._repr_html_().startswith(f"<p>{html.escape(told)}</p><table>")
    po.write_table(pa.table({"id": [1]}), tmp_path / "c.orc")
    assert ": 1 absent; 3 of 7 groups to read, 4 excluded; " in repr(
        pb.probe(tmp_path, "id", [0, 16])
    )
    assert ": 2 with filters, 1 without; 6 filters>" in repr(pb.inspect(tmp_path))
