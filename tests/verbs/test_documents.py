"""Reports as Python users and notebooks see them: a dictionary, a table, a line, a page."""

import html
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from make.browser import Document
from make.commands import outcome
from make.filters import bitset_at, with_bitset
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.container import number_of
from parquet_bloom.verbs.documents import (
    LONGEST_CELL,
    LONGEST_SHOWN,
    MOST_ROWS,
    VerbReport,
    as_json,
)
from parquet_bloom.verbs.repair import LeftFilter
from parquet_bloom.verbs.table_step import ChangedFile, SkippedColumn

ROWS = 3000


@pytest.fixture(scope="module", params=["parquet", "orc"])
def paths(request, tmp_path_factory):
    """The same file without filters and with them."""
    folder = tmp_path_factory.mktemp("reports")
    plain, built = folder / f"<a>.{request.param}", folder / f"b.{request.param}"
    table = pa.table({"id": pa.array(range(ROWS), pa.int64()), "x&y": ["<b>"] * ROWS})
    if request.param == "parquet":
        pq.write_table(table, plain, row_group_size=1000)
    else:
        orc.write_table(table, plain, row_index_stride=1000)
    pb.build(plain, built, columns="id")
    return plain, built


# Each verb as in Python, and as the command with the same answer.
VERBS = {
    "advise": (lambda plain, built: pb.advise(plain), ["advise", 0]),
    "build": (
        lambda plain, built: pb.build(plain, columns="id", dry_run=True),
        ["build", 0, "-c", "id", "--dry-run"],
    ),
    "diff": (lambda plain, built: pb.diff(plain, built), ["diff", 0, 1]),
    "inspect": (lambda plain, built: pb.inspect(built), ["inspect", 1]),
    "probe": (
        lambda plain, built: pb.probe(built, "id", [5, -5]),
        ["probe", 1, "-c", "id", "-v", "5", "-v", "-5"],
    ),
    "repair": (lambda plain, built: pb.repair(built, dry_run=True), ["repair", 1, "--dry-run"]),
    "strip": (lambda plain, built: pb.strip(built, dry_run=True), ["strip", 1, "--dry-run"]),
    "validate": (lambda plain, built: pb.validate(built), ["validate", 1, "--no-config"]),
}
TABLES = {
    "advise": ("column", ["id", "x&y"]),
    "build": ("column", ["id"] * 3),
    "diff": ("status", ["only in b"] * 3),
    "inspect": ("column", ["id", "x&y"] * 3),
    "probe": ("verdict", ["maybe", "absent", "absent", "absent", "absent", "absent"]),
    "repair": ("rule", []),
    "strip": ("column", ["id"] * 3),
    "validate": ("rule", []),
}


@pytest.mark.parametrize("verb", VERBS)
def test_to_dict_is_the_document_of_the_command(paths, verb):
    call, arguments = VERBS[verb]
    command = [paths[each] if isinstance(each, int) else each for each in arguments]
    (line,) = outcome(*command, "--json").stdout.splitlines()
    report, printed = call(*paths).to_dict(), json.loads(line)
    for document in (report, printed):
        document.pop("seconds", None)
    assert json.loads(json.dumps(report)) == printed


@pytest.mark.parametrize("verb", VERBS)
def test_to_arrow_has_a_row_for_each_item(paths, verb):
    report = VERBS[verb][0](*paths)
    table = report.to_arrow()
    column, expected = TABLES[verb]
    if report.format == "orc" and verb in ("build", "inspect", "strip"):
        # One stripe.
        expected = expected[: len(expected) // 3]
    assert table[column].to_pylist() == expected
    first = "path_a" if verb == "diff" else "path"
    assert table.column_names[0] == first
    assert set(table[first].to_pylist()) <= {str(path) for path in paths}
    part = {"parquet": "row_group", "orc": "stripe"}[report.format]
    assert (part in table.column_names) == (verb != "advise")


def schemas_of(make, tmp_path):
    """The schemas of reports on a file with filters, on one without, and on one without rows."""
    some = pa.table({"id": [1, 2, 3] * 300, "x&y": ["a", None, "c"] * 300})
    for name, table, columns in (("a", some, ["id"]), ("b", some, []), ("c", some[:0], ["id"])):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(table, path, row_group_size=400)
        if columns:
            pb.build(path, columns=columns, in_place=True)
        yield make(path).to_arrow().schema


MADE = {
    "build": lambda path: pb.build(path, columns=["id", "x&y"], dry_run=True),
    "inspect": pb.inspect,
    "probe": lambda path: pb.probe(path, "id", [1, 77]),
    "validate": lambda path: pb.validate(path, require="x&y", max_fpp=0.001),
    "advise": pb.advise,
    "strip": lambda path: pb.strip(path, dry_run=True),
    "repair": lambda path: pb.repair(path, dry_run=True),
    "diff": lambda path: pb.diff(path, path),
    "report": pb.report,
    "summary": lambda path: pb.inspect_summary([path]),
}


@pytest.mark.parametrize("verb", MADE)
def test_a_table_has_the_same_schema_whatever_it_says(verb, tmp_path):
    """`reason` is text where nothing has one, too."""
    first, *others = schemas_of(MADE[verb], tmp_path)
    assert all(other.equals(first) for other in others)
    assert not any(pa.types.is_null(each.type) for each in first)
    if "reason" in first.names:
        assert first.field("reason").type == pa.string()


def test_tables_of_several_files_are_one_without_any_promotion(paths):
    tables = [pb.probe(path, "id", [5, -5]).to_arrow() for path in paths]
    assert pa.concat_tables(tables)["reason"].null_count == 6
    (column,) = {table.schema.field("reason").type for table in tables}
    assert column == pa.string()


def test_the_schema_of_answers(paths):
    schema = pb.probe(paths[1], "id", [5]).to_arrow().schema
    part = {"row_group": pa.int64()}
    if paths[1].suffix == ".orc":
        part = {"stripe": pa.int64(), "index_group": pa.int64()}
    expected = {
        "path": pa.string(), "value": pa.string(), "verdict": pa.string(), "rows_to_read": pa.int64(),
        **part, "reason": pa.string(), "num_rows": pa.int64(), "first_row": pa.int64(),
    }  # fmt: skip
    assert dict(zip(schema.names, schema.types, strict=True)) == expected


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (b"\0\xff", "0x00ff"),
        (date(2024, 1, 31), "2024-01-31"),
        (Decimal("1.50"), "1.50"),
        ("a", "a"),
    ],
)
def test_explanations_have_values_as_results_have_them(tmp_path, suffix, value, text):
    """Which are text in documents."""
    path = tmp_path / f"a.{suffix}"
    (orc if suffix == "orc" else pq).write_table(pa.table({"x": [value]}), path)
    pb.build(path, columns="x", in_place=True)
    for given, shown in ((value, value), (pb.literal(text), text)):
        report = pb.probe(path, "x", given, explain=True)
        assert [each.value for each in report.results] == [shown]
        assert {each.value for each in report.explanations} == {shown}
        assert {each["value"] for each in report.to_dict()["explanations"]} == {text}


def test_rows_to_read_are_those_of_each_group(paths):
    """And not again those of the whole file, whose sum would be wrong."""
    report = pb.probe(paths[1], "id", [5, -5])
    table = report.to_arrow()
    for each in report.results:
        rows = table.filter(pc.equal(table["value"], str(each.value)))["rows_to_read"]
        assert pc.sum(rows).as_py() == each.rows_to_read
    assert pc.sum(table["rows_to_read"]).as_py() > 0


def test_tables_of_several_files_fit_together(paths):
    tables = [pb.validate(path).to_arrow() for path in paths]
    found = pa.concat_tables([*tables, pb.validate(paths[0], require="id").to_arrow()],
                             promote_options="default")  # fmt: skip
    assert found["rule"].to_pylist()


@pytest.mark.parametrize("verb", [*VERBS, "dump"])
def test_a_report_shows_itself_on_one_line_and_in_a_notebook(paths, verb):
    call = VERBS[verb][0] if verb in VERBS else lambda plain, built: pb.dump(built, "id", 0)
    report = call(*paths)
    assert isinstance(report, VerbReport)
    line = repr(report)
    assert line.startswith(f"<{type(report).__name__} {paths[0].parent}")
    assert "\n" not in line
    assert len(line) < 700
    page = report._repr_html_()
    Document(page)
    assert "<b>" not in page
    assert page.count("<tr>") == min(MOST_ROWS, len(list(report._items()))) + ("<table>" in page)


def test_lines_say_what_was_done(paths):
    built = pb.build(paths[0], columns="id", dry_run=True)
    filters = 3
    assert (
        f": format='{built.format}', {number_of(len(built.filters), 'filter')}, 0 skipped, bytes_added="
        in (repr(built))
    )
    assert built.num_filters == filters
    found = pb.probe(paths[1], "id", [5, 6, -5])
    read = f"{found.bytes_read:,} bytes read"
    assert repr(found) == f"<ProbeReport {paths[1]}: id: 1 absent, 2 maybe; {read}>"
    explained = pb.probe(paths[1], "id", [5, 6, -5], explain=True)
    assert repr(explained).endswith(f"; {len(explained.explanations)} explanations>")
    checked = f"Checked(filters={filters}, values={ROWS})"
    assert repr(pb.validate(paths[1])).endswith(f"ok=True, 0 findings, checked={checked}>")


def test_a_line_says_nothing_twice(paths):
    told = repr(pb.inspect(paths[1]))
    name, number = ("row_group", 3) if paths[1].suffix == ".parquet" else ("stripe", 1)
    assert f", num_{name}s={number}, filter_bytes=" in told
    if number == 3:
        of_some = repr(pb.inspect(paths[1], row_groups=[0, 2]))
        assert f", num_{name}s=3, 2 {name}s, filter_bytes=" in of_some


def test_a_line_on_a_table_counts_the_chunks_that_were_skipped():
    """Beside files, `1 skipped` would be one of these, and it was a column."""
    files = [ChangedFile(name, "unchanged", 9, 9) for name in "ab"]
    skipped = SkippedColumn("id", "has a filter already", 20), SkippedColumn("k", "no column k", 1)

    def line(*skipped):
        return repr(
            pb.TableBuildReport(
                "lake",
                "delta",
                3,
                None,
                (),
                ("id",),
                tuple(files),
                skipped,
                0,
                0,
                0,
                {},
                False,
                1.0,
            )
        )

    assert ", 2 files (2 unchanged), 21 chunks skipped, num_filters=0" in line(*skipped)
    assert ", 2 files (2 unchanged), 1 chunk skipped, num_filters=0" in line(skipped[1])
    assert ", 2 files (2 unchanged), 0 skipped, num_filters=0" in line()


def test_one_is_no_plural_and_a_page_has_the_notes(paths):
    built = pb.build(paths[0], columns="id", dry_run=True)
    note = "x" * LONGEST_SHOWN + " & <more>"
    report = replace(built, filters=built.filters[:1], notes=(note,))
    assert ", 1 filter, 0 skipped, " in repr(report)
    assert repr(report).endswith(f"; note: {note}>")
    assert report._repr_html_().endswith(f"<ul><li>{html.escape(note)}</li></ul>")
    assert repr(replace(built, notes=(note, "y"))).endswith(f"; note: {note}; note: y>")
    assert repr(replace(built, notes=(note, "y", "z"))).endswith("; 3 notes>")
    assert "; note" not in repr(replace(built, notes=()))
    assert "<ul>" not in pb.validate(paths[1])._repr_html_()


def test_a_page_of_many_rows_says_how_many_more(paths):
    report = pb.probe(paths[1], "id", list(range(MOST_ROWS)))
    assert f"<p>and {2 * MOST_ROWS} more</p>" in report._repr_html_()


def test_a_page_has_the_columns_that_have_something_to_show(paths):
    def heads(report):
        return re.findall(r"<th>([^<]*)</th>", report._repr_html_())

    found = pb.probe(paths[1], "id", [5])
    assert "reason" not in heads(found)
    assert "reason" in heads(pb.probe(paths[0], "id", [5]))
    # Engines and settings are documents of their own.
    assert not {"engines", "settings", "logical_type"} & set(
        heads(pb.advise(paths[0], columns="id"))
    )
    assert {"verdict", "filter_bytes"} <= set(heads(pb.advise(paths[0], columns="id")))


def test_the_report_of_one_page_is_a_report_too(paths):
    report = pb.report(paths[1])
    assert report.to_arrow()["column"].to_pylist() == ["id", "x&y"]
    assert json.loads(json.dumps(report.to_dict()))["validation"]["ok"]
    assert repr(report) == f"<FileReport {paths[1]}: ok: no findings; 3 filters in 2 columns>"


def test_the_report_on_an_orc_file_has_the_figures_of_its_page(paths):
    """Those of filters; that of Parquet has pictures of their blocks besides."""
    report = pb.report(paths[1])
    inspection = pb.inspect(paths[1])
    chunks = [part.columns[0].filter for part in inspection.parts]
    column, other = report.columns
    assert (column.column, other.column) == ("id", "x&y")
    assert column.filters == (True,) * len(inspection.parts)
    assert (
        column.filter_bytes == inspection.filter_bytes == sum(each.stored_bytes for each in chunks)
    )
    assert column.worst_fpp == max(each.worst_fpp for each in chunks)
    assert other.num_filters == 0
    assert report.num_filters == inspection.num_filters == 3
    assert report.validation == pb.validate(paths[1], diagnose=True)
    assert [each.to_do for each in report.advice.columns] == [
        each.to_do for each in pb.advise(paths[1]).columns
    ]
    has_blocks = report.format == "parquet"
    assert len(report.pictures) == column.num_measured == (3 if has_blocks else 0)
    assert (column.mean_measured_fpp is not None) == has_blocks


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A file with two filters, one of which has lost all bits, and one that is sound."""
    monkeypatch.chdir(tmp_path)
    table = pa.table({"id": range(2000), "<x>": ["a"] * 2000})
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(table, name, row_group_size=1000)
        pb.build(name, columns="id", in_place=True)
    data = Path("a.parquet").read_bytes()
    start, end = bitset_at(data, 1)
    Path("a.parquet").write_bytes(with_bitset(data, bytes(end - start), 1))
    return "a.parquet"


def test_a_report_of_one_page_says_what_is_wrong(broken):
    report = pb.report(broken)
    (finding,) = report.validation.findings
    assert repr(report) == "<FileReport a.parquet: not ok: 1 error; 2 filters in 2 columns>"
    assert finding.line.startswith("error PB402 all-bits-clear: column id, row group 1: ")
    assert finding.line.endswith(finding.statement)
    page = report._repr_html_()
    assert page.endswith(f"<ul><li>{html.escape(finding.line)}</li></ul>")
    assert "<td>2 of 2</td>" in page
    assert "<td>PB402</td>" in page
    assert report.to_arrow()["findings"].to_pylist() == [["PB402"], []]


def test_reports_of_several_files_say_which_is_not_right(broken):
    reports = pb.report(["a.parquet", "b.parquet"])
    told = "<FileReports of 2 files: 1 not ok, 1 ok; 4 filters>"
    assert repr(reports) == told
    worst = html.escape(reports.reports[0].validation.worst.line)
    page = re.sub(" style=.*?>", ">", reports._repr_html_())
    rows = re.findall(r"<tr>(.*?)</tr>", page)
    told = f"<td>{worst}</td>"
    assert rows == [
        "".join(
            f"<th>{each}</th>"
            for each in (
                *("path", "ok", "state", "worst", "format", "findings", "columns", "num_filters"),
            )
        ),
        f"<td>a.parquet</td><td>False</td><td>not ok</td>{told}<td>parquet</td><td>1</td><td>2</td><td>2</td>",
        "<td>b.parquet</td><td>True</td><td>ok</td><td></td><td>parquet</td><td>0</td><td>2</td><td>2</td>",
    ]


def test_validation_of_several_files_shows_the_worst_of_each(broken):
    page = pb.validate(["a.parquet", "b.parquet"])._repr_html_()
    assert ">error PB402 all-bits-clear: column id, row group 1: " in page
    assert pb.validate(broken, max_fpp=1e-9).counts == "2 errors"
    assert pb.validate("b.parquet").worst is None
    pb.strip("b.parquet", "c.parquet")
    page = pb.validate(["b.parquet", "c.parquet"])._repr_html_()
    assert "<td>b.parquet</td><td>True</td><td>ok</td><td>" in page
    assert "<td>c.parquet</td><td>True</td><td>without filters</td><td>" in page


def test_findings_of_whole_files_and_many_of_them(broken):
    (finding,) = pb.report(broken).validation.findings
    of_file = replace(finding, column=None, place=None, severity=pb.Severity.WARNING)
    assert of_file.line == f"warning PB402 all-bits-clear: {finding.statement}"
    report = pb.report(broken)
    many = replace(report.validation, findings=(of_file,) * 60 + (finding,))
    page = replace(report, validation=many)._repr_html_()
    assert "not ok: 1 error, 60 warnings; " in html.unescape(page)
    first, *_, last = re.findall("<li>(.*?)</li>", page)
    assert (first, last) == (html.escape(finding.line), html.escape(of_file.line))
    assert page.endswith("</ul><p>and 11 more</p>")


def test_a_page_of_rows_that_were_found_has_the_columns_that_were_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = pa.table(
        {"id": [5] * 60, "<e>": [f"x{n}" for n in range(60)], "t": [date(2024, 1, 31)] * 60}
    )
    pq.write_table(rows, "a.parquet")
    page = pb.find("a.parquet", "id", 5, columns=["<e>", "t"])._repr_html_()
    assert "<th>deleted</th><th>values.&lt;e&gt;</th><th>values.t</th></tr>" in page
    first, *_, last = re.findall("<tr><td>(.*?)</td></tr>", page)
    assert (
        first
        == "5</td><td>a.parquet</td><td>0</td><td>0</td><td>0</td><td>False</td><td>x0</td><td>2024-01-31"
    )
    assert last.endswith("<td>x49</td><td>2024-01-31")
    assert page.endswith("<p>and 10 more</p>")


SHUFFLED = [n * 7919 % 3000 for n in range(3000)]


@pytest.fixture
def heads(tmp_path, monkeypatch):
    """The columns of what a notebook shows of a report on a file with filters of `id` alone, and its rows."""
    monkeypatch.chdir(tmp_path)
    table = pa.table({"id": SHUFFLED, "session": [f"s{n}" for n in SHUFFLED]})
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(table, name, row_group_size=1000)
    pb.build("a.parquet", columns="id", in_place=True)

    def shown(report):
        head, *rows = re.findall("<tr>(.*?)</tr>", report._repr_html_())
        names = re.findall("<th>(.*?)</th>", head)
        return names, [
            dict(zip(names, re.findall("<td.*?>(.*?)</td>", row), strict=True)) for row in rows
        ]

    return shown


def test_a_page_of_advice_begins_with_it(heads):
    report = pb.advise("a.parquet")
    names, rows = heads(report)
    assert names[:9] == [
        *("column", "to_do", "verdict", "reason", "ndv", "filter_bytes", "filter_share"),
        *("row_groups_statistics", "row_groups_filter"),
    ]  # fmt: skip
    assert len(names) == len({*names})
    # As `pbloom advise` prints it.
    told = [(row["column"], row["to_do"], row["verdict"]) for row in rows]
    assert told == [("id", "keep", "build"), ("session", "build", "build")]
    assert [each.to_do for each in report.columns] == ["keep", "build"]
    reason = html.escape(report.columns[0].reason)
    # Whole, as who has it on paper cannot point at it.
    assert len(reason) > LONGEST_SHOWN
    assert f'; overflow-wrap: anywhere">{reason}</td>' in report._repr_html_()


def test_a_page_ends_what_is_endless(paths):
    built = pb.build(paths[0], columns="id", dry_run=True)
    page = replace(built, output="x" * (LONGEST_CELL + 1), filters=())._repr_html_()
    assert len(page) < LONGEST_CELL
    left = pb.LeftChunk(pb.Place(0), "id", "y" * (LONGEST_CELL + 1))
    many = replace(pb.strip(paths[0], dry_run=True), removed=(left,))
    assert f">{'y' * LONGEST_CELL}…</td>" in many._repr_html_()
    dumped = pb.dump(paths[1], "id", 0, index_group=None if paths[1].suffix == ".parquet" else 0)
    long = re.findall(">([0-9a-f]{64,}.*?)</td>", dumped._repr_html_())
    of_file = filter(None, (dumped.bitset, dumped.message))
    assert long == [f"{each[:32].hex()}…" for each in of_file]


def test_a_page_of_a_build_says_why_chunks_were_skipped(heads):
    page = pb.build("a.parquet", columns=["id", "session"], dry_run=True)._repr_html_()
    assert page.endswith("<ul><li>skipped id, 3 chunks: has a filter already</li></ul>")


def test_a_page_of_a_repair_says_what_is_still_wrong(broken):
    left = LeftFilter(pb.Place(0), "id", "PB401", "values are missing", 1)
    report = replace(pb.repair(broken, dry_run=True), left=(left, replace(left, column=None)))
    told = [
        "left id, 1 chunk: PB401: values are missing",
        "left, 1 chunk: PB401: values are missing",
    ]
    assert re.findall("<li>(.*?)</li>", report._repr_html_()) == told


def test_a_page_of_a_table_says_what_was_done_in_how_many_chunks():
    skipped = SkippedColumn("id", "has a filter already", 20), SkippedColumn("k", "no column k", 1)
    files = (ChangedFile("a", "too small", 9, 9, reason="9 bytes"),)
    report = pb.TableBuildReport(
        "lake", "delta", 3, None, (), ("id",), files, skipped, 0, 0, 0, {}, False, 1.0, ("note",)
    )
    page = report._repr_html_()
    told = (
        "skipped id, 20 chunks: has a filter already",
        "skipped k, 1 chunk: no column k",
        "note",
    )
    assert page.endswith(f"<ul>{''.join(f'<li>{each}</li>' for each in told)}</ul>")
    assert "<th>file</th><th>action</th><th>reason</th>" in page


def test_a_page_of_an_inspection_begins_with_what_filters_are(heads):
    names, rows = heads(pb.inspect("a.parquet"))
    assert names[:7] == [
        *("row_group", "column", "reason", "filter.stored_bytes", "filter.fill", "filter.fpp"),
        "filter.ndv_estimate",
    ]  # fmt: skip
    assert rows[1]["reason"] == "no filter"
    names, rows = heads(pb.inspect(["a.parquet", "b.parquet"]))
    assert names[:2] == ["path", "num_filters"]
    assert [row["num_filters"] for row in rows] == ["3", "0"]
    assert "num_row_groups" in names
    assert "row_groups" not in names
    _, rows = heads(pb.inspect(["a.parquet", "b.parquet"], row_groups=1))
    assert [(row["num_row_groups"], row["row_groups"]) for row in rows] == [("3", "1")] * 2


def test_a_page_of_the_advice_on_several_tables_names_what_it_recommends(heads, tmp_path):
    pq.write_table(pa.table({"other": SHUFFLED}), "c.parquet", row_group_size=1000)
    names, rows = heads(pb.advise(["a.parquet", "c.parquet"]))
    assert names[:2] == ["path", "recommended"]
    assert rows[0]["recommended"] == "id, session"


def test_a_line_about_no_values_says_so(paths):
    found = pb.probe(paths[1], "id", [])
    assert (
        repr(found) == f"<ProbeReport {paths[1]}: id: no values; {found.bytes_read:,} bytes read>"
    )
    assert repr(found.results) == "<ProbedValues: no values>"


class Stopped(Sequence):
    """Interrupted while its items are made."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        raise KeyboardInterrupt


def test_an_interruption_of_a_document_is_one():
    with pytest.raises(KeyboardInterrupt):
        as_json({"items": Stopped()})


def test_what_only_json_itself_can_write():
    assert as_json({"path": "a\udcff", "n": 1 << 70}) == (
        b'{"path": "a\\udcff", "n": 1180591620717411303424}'
    )


def test_what_has_no_place_in_a_document():
    with pytest.raises(TypeError, match=r"^Decimal: has no place in a document$"):
        as_json({"n": Decimal(1)})
