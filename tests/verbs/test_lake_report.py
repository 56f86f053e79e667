"""`pbloom report` of many files: what the page adds up, what it keeps, and what it never leaves out in silence."""

import os
import re
import shlex
from dataclasses import replace
from decimal import Decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from make.browser import Document
from make.commands import outcome
from make.delta_tables import make_table
from make.lake_pages import NO_OTHERS, ROWS, page_of, steps_on, write_grown, write_lake
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.options import AdviseOptions, ValidateOptions
from parquet_bloom.render.lake_report import render_lake_report
from parquet_bloom.rules.finding import finding
from parquet_bloom.verbs.inspect import inspect
from parquet_bloom.verbs.lake_report import (
    MAX_EXAMPLES,
    MAX_FAILURES,
    MAX_FILES,
    MAX_PARTITIONS,
    MAX_WAYS,
    BrokenRule,
    FileLookedAt,
    LakeReporter,
)
from parquet_bloom.verbs.validate import validate


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    write_lake(folder)
    return folder


@pytest.fixture
def run(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    return partial(page_of, tmp_path / "page.html")


@pytest.fixture
def grown(tmp_path):
    return write_grown(tmp_path)


def test_a_column_without_values_could_have_no_filter(tmp_path, run):
    for name in "ab":
        pq.write_table(
            pa.table({"id": [1, 2], "none": pa.nulls(2, pa.int64())}), tmp_path / f"{name}.parquet"
        )
    _, html = run(tmp_path / "a.parquet", tmp_path / "b.parquet")
    text = Document(html).text
    assert "id none of 2" in text
    assert "none no values" in text


def test_a_lake_with_trouble(run):
    result, html = run("lake")
    assert result.code == 2
    assert result.complaint.startswith("lake/day=2/c.parquet: truncated or not a Parquet file")
    assert re.search(
        r"KiB; 1 error in 4 filters and 4,000 values; 1 file could not be read: not ok\n$",
        result.stdout,
    )
    text = Document(html).text
    for part in (
        "Bloom filters of 3 of 4 files",
        (
            "What to do next error 1 file could not be read: lake/day=2/c.parquet If it was one, its end is lost: take"
            " another copy. error Stored values are not in the filter 1 time in 1 file"
            " pbloom repair lake/day=1/b.parquet --rebuild --in-place build Filters that are advised are missing or too small:"
            f" id pbloom build lake/day=1/a.parquet -c id --fpp 0.01 --in-place {NO_OTHERS} Columns Partitions "
        ),
        "What is said here is not about the file that could not be read: see below",
        "; if it was one, its end is lost: take another copy 1 file with errors",
        "Files 3 With filters 2 Rows 6,000 Columns 2 ",
        "id 2 of 3 4 of 6",
        "country none of 3",
        "PB401 false-negatives Stored values are not in the filter 1 time in 1 file lake/day=1/b.",
        "16 blocks in a row, from block 0 of 64 on, are empty: overwritten or never written; the missing",
        "Files 1 file could not be read",
        "1 file with errors or warnings: those with the most errors come first, then warnings",
        "next: pbloom repair lake/day=1/b.parquet --rebuild --in-place",
    ):
        assert part in text, part
    assert re.search(r"day=1 2 1 \d.* day=2 1 1 ", text)
    listed = text.split("come first, then warnings")[1]
    worst = re.findall(r"(lake/day=\d/\S+) (?=PB401|\d+\.\d KiB)", listed)
    assert text.count("16 blocks in a row") == 1
    assert worst == ["lake/day=1/b.parquet", "lake/day=2/<b>d.parquet", "lake/day=1/a.parquet"]
    wrong = "filters that are there are wrong: PB401 false-negatives: see findings "
    assert text.count(f"id INT64 rebuild {wrong}") == 1
    assert re.search(r"id INT64 rebuild .*country STRING skip ", text)
    assert "<b>d" not in html


def test_the_page_needs_nothing_else_and_is_the_same_every_time(run):
    first, second = run("lake")[1], run("lake")[1]
    assert first == second
    document = Document(first)
    assert "://" not in first
    ids = {element.attributes["id"] for element in document.elements if "id" in element.attributes}
    links = {e.attributes["href"][1:] for e in document.elements if "href" in e.attributes}
    assert links == {"columns", "partitions", "files", "unread", "findings", "advice"}
    assert links <= ids
    assert not [e for e in document.elements if {"src", "data", "action"} & set(e.attributes)]


def test_the_figures_are_those_of_inspect(run, folder):
    _, html = run("lake/day=1", "--no-deep")
    summary = pb.inspect_summary(folder / "lake/day=1")
    (found,) = (each for each in summary.columns if each.column == "id")
    text = Document(html).text
    assert f"Filters {summary.num_filters:,} " in text
    assert f"{found.files_with_filters} of {found.files} " in text
    assert "Advice None: not asked for" in text
    assert "Stored values were not looked up: only footers and filters were read." in text


def test_one_command_builds_what_is_advised_in_all_files(run, tmp_path):
    """Not one for the first file, column by column."""
    lake = tmp_path / "lake of ids"
    numbers = np.random.default_rng(3).permutation(4_000)
    for part in range(4):
        (lake / f"day={part}").mkdir(parents=True)
        ours = pa.array(numbers[part::4])
        table = pa.table({"id": ours, "other, id": ours, "sorted": np.arange(1_000) + 1_000 * part})
        pq.write_table(table, lake / f"day={part}" / "p.parquet", use_dictionary=False)

    def commands(*arguments):
        _, html = run(*arguments)
        assert f"{lake}/day=0/p.parquet -c" not in Document(html).text
        # First of what to do next, then beside the advice.
        found = re.findall(f"pbloom build '{lake}'.*?--in-place", Document(html).text)
        assert found == 2 * found[: len(found) // 2]
        return found[: len(found) // 2]

    build = f"pbloom build '{lake}' -c"
    every = f"""{build} 'id,"other, id"' --fpp 0.01 --in-place"""
    assert commands(lake) == [every]
    assert commands(lake, "-c", "id") == [f"{build} id --fpp 0.01 --in-place"]
    pq.write_table(pa.table({"only": numbers}), lake / "other.parquet", row_group_size=100)
    assert commands(lake) == [f"pbloom build '{lake}' --auto --no-config --in-place"]
    assert outcome("build", lake, "-c", 'id,"other, id"', "--dry-run").code == 2
    assert outcome("build", lake, "--auto", "--in-place").code == 0
    assert commands(lake) == []
    small = {"columns": "id", "max_bytes": 64, "force": True, "existing": "replace"}
    pb.build(lake / "day=0" / "p.parquet", in_place=True, **small)

    def again(*arguments):
        (found,) = re.findall(
            r"in all files: (pbloom build .*? --existing replace) ",
            Document(run(*arguments)[1]).text,
        )
        return found

    # Filters of the others are good as they are, those of another table, too.
    named = f"pbloom build '{lake}/day=0/p.parquet' -c id --fpp 0.01 --in-place --existing replace"
    assert again(lake) == named
    (lake / "other.parquet").unlink()
    assert again(lake) == named
    # The rule and the advice say the same: it is one step.
    steps = Document(run(lake)[1]).text.partition("What to do next ")[2].partition(" Columns ")[0]
    rule = "error Every bit is set, so the filter excludes nothing 1 time in 1 file"
    assert steps.startswith(f"{rule} {named} If a budget chose the rates ")
    assert steps.count("pbloom build ") == 1
    assert outcome(*shlex.split(named)[1:]).code == 0
    assert commands(lake) == []


@pytest.mark.parametrize("files", [1, 2])
def test_a_page_says_if_no_filter_is_advised(run, tmp_path, files):
    """Where columns are optional, or of no use."""
    rng = np.random.default_rng(4)
    for number in range(files):
        table = pa.table({"price": rng.random(8_000), "at": np.arange(8_000)})
        path = tmp_path / f"{number}.parquet"
        pq.write_table(table, path, row_group_size=1_000, use_dictionary=False)
    _, html = run(*tmp_path.glob("*.parquet"))
    assert "price DOUBLE optional " in Document(html).text
    assert steps_on(html) == ">What to do next Nothing: there are no filters, and none is advised."
    _, html = run(*tmp_path.glob("*.parquet"), "--no-deep")
    assert "What to do next" not in Document(html).text


def test_filters_that_are_missing_are_built_where_others_of_the_column_are_wrong(run):
    _, html = run("lake/day=1")
    text = Document(html).text
    assert "id INT64 rebuild " in text
    assert "pbloom build lake/day=1 -c id --fpp 0.01 --in-place" in text


def test_an_orc_file_and_files_of_both_formats(run, folder, tmp_path):
    path = tmp_path / "built.orc"
    pb.build(FIXTURES / "java_original.orc", path, columns=["number"])
    result, html = run(path)
    filters = pb.inspect(path).num_filters
    assert result.code == 0
    assert f"Bloom filters of 1 file built.orc {path} " in Document(html).text
    assert f" Filters {filters} Filters take " in Document(html).text
    assert " Files with filters Stripes with filters Filter bytes " in Document(html).text
    result, html = run(path, "lake/day=1")
    assert " Files with filters Chunks with filters Filter bytes " in Document(html).text
    assert "Bloom filters of 3 files" in Document(html).text
    for table in (f"{path}", "lake/day=1/a.parquet and 1 more"):
        assert f" {table} Column Verdict Why" in Document(html).text


def test_a_table_is_its_live_files(run, tmp_path):
    table = make_table(tmp_path / "table", commits=2, partition_by=["day"])
    (table / "day=2026-11-01" / "orphan.parquet").write_bytes(b"no file of the table")
    result, html = run("--table", "delta", table)
    assert (result.code, result.stderr) == (0, "")
    text = Document(html).text
    assert "Bloom filters of 4 files" in text
    assert re.search(r"day=2026-11-01 2 0 .* day=2026-11-02 2 0 ", text)


def test_the_page_says_that_a_folder_is_that_of_a_table(run, tmp_path):
    """Whose files no command changes in place."""
    table = make_table(tmp_path / "table", commits=2)
    text = Document(run(table, "--require", "id,n")[1]).text
    head, _, rest = text.partition("What to do next ")
    said = f"{table}: a Delta table, of which --table delta takes the live files; this is about all files in its folder, and none of these is changed in place"
    assert said in head
    assert re.search(
        "missing 12 times in 2 files Ask for the page with --table: commands that", rest
    )
    assert "--in-place" not in rest
    assert NO_OTHERS not in rest
    assert said not in Document(run(table, "--table", "delta")[1]).text


def test_a_table_from_python(tmp_path):
    table = make_table(tmp_path / "table", commits=2)
    (table / "orphan.parquet").write_bytes(b"no file of the table")
    found = pb.report(table, table="auto")
    assert [each.path.startswith(str(table)) for each in found.reports] == [True, True]
    assert found.failures == ()
    assert [each.recommended for each in pb.advise(table, table="delta")] == [("id",)]
    with pytest.raises(TypeError, match="union_by_name: not with table"):
        pb.report(table, table="auto", union_by_name=True)
    with pytest.raises(pb.ColumnError, match="no column nope"):
        pb.report(table, table="auto", columns="nope")


def test_files_of_before_a_column_was_added(grown, tmp_path):
    page, asked = tmp_path / "page.html", ("report", grown, "-c", "code", "--require", "code")
    without = outcome(*asked, "-o", page)
    assert (without.code, "2 files could not be read: not ok\n" in without.stdout) == (2, True)
    assert "--union-by-name" in without.stderr
    united = outcome(*asked, "-o", page, "--overwrite", "--union-by-name")
    assert (united.code, united.stderr) == (0, "")
    assert united.stdout.endswith("; no findings in 4 filters and 2,000 values: ok\n")
    text = Document(page.read_text()).text
    assert "code 1 of 1 4 of 4 " in text
    # Nothing is advised on files without the column.
    assert "0.parquet and 1 more" not in text
    misspelt = outcome("report", grown, "-c", "kode", "-o", page, "--overwrite", "--union-by-name")
    assert (misspelt.code, "3 files: no column kode; did you mean code" in misspelt.stderr) == (
        2,
        True,
    )


def test_files_of_before_a_column_was_added_from_python(grown):
    wanted = {"columns": "code", "policy": pb.Policy(require=("code",))}
    assert len(pb.report(grown, **wanted).failures) == 2
    found = pb.report(grown, union_by_name=True, **wanted)
    assert (found.ok, found.failures) == (True, ())
    assert [[each.column for each in report.columns] for report in found] == [[], [], ["code"]]


def test_an_output_that_must_not_be_written_is_not_worth_the_wait(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    page = tmp_path / "a.html"
    page.write_bytes((folder / "lake" / "day=1" / "a.parquet").read_bytes())
    result = outcome("report", "lake", page, "-o", page, "--overwrite")
    assert result.complaint.startswith(f"{page}: is the input itself")


def test_commands_name_the_files_that_need_them_where_these_are_few(run, tmp_path):
    numbers = np.random.default_rng(4).permutation(22_000)
    files = tmp_path / "files"
    files.mkdir()
    for number in range(8):
        path = files / f"{number}.parquet"
        pq.write_table(pa.table({"id": numbers * 8 + number}), path, use_dictionary=False)
        pb.build(path, columns="id", fpp=0.8 if number < 2 else 0.01, in_place=True)

    def text():
        return Document(run(files)[1]).text.replace(str(files), "LAKE")

    rebuild = "pbloom build {} -c id --existing replace --in-place"
    assert rebuild.format("LAKE/0.parquet LAKE/1.parquet") in text()
    for path in files.iterdir():
        pb.build(path, columns="id", fpp=0.8, existing="replace", in_place=True)
    assert rebuild.format("LAKE") in text()
    (files / "8.parquet").write_bytes((files / "7.parquet").read_bytes())
    pb.build(files / "8.parquet", columns="id", existing="replace", in_place=True)
    assert rebuild.format("FILE") in text()
    for number in range(2, 9):
        (files / f"{number}.parquet").write_bytes(b"no file")
    assert rebuild.format("LAKE/0.parquet LAKE/1.parquet") in text()


def test_what_is_kept_does_not_grow_with_the_number_of_files(folder):
    path = folder / "lake" / "day=1" / "b.parquet"
    found = FileLookedAt(validate(path), inspect(path), "too long ago")
    reporter = LakeReporter(("lake",), ValidateOptions(), AdviseOptions())
    for number in range(MAX_PARTITIONS + 50):
        reporter.add(f"lake/day={number}/b.parquet", found)
        reporter.add_failed(f"lake/{number}", f"lake/{number}: no such file")
    report = reporter.report()
    assert len(report.worst) == MAX_FILES
    assert report.worst[0].path == "lake/day=0/b.parquet"
    assert [each.files for each in report.partitions[-2:]] == [1, 50]
    assert len(report.partitions) == MAX_PARTITIONS + 1
    assert (len(report.failures), report.num_failed) == (MAX_FAILURES, MAX_PARTITIONS + 50)
    assert (len(report.not_advised), report.num_not_advised) == (MAX_FAILURES, MAX_PARTITIONS + 50)
    (rule,) = report.broken
    assert (rule.findings, rule.files) == (MAX_PARTITIONS + 50,) * 2
    assert len(rule.examples) == MAX_EXAMPLES
    html = render_lake_report(report)
    assert "and 1,000 more files, not shown here" in html
    assert len(html) < 300_000


def test_every_column_that_breaks_a_rule_has_a_place(run, tmp_path):
    lake = tmp_path / "lake"
    lake.mkdir()
    for number in range(MAX_EXAMPLES + 3):
        sessions = [bytes([number, row]) for row in range(200)]
        table = pa.table({"session": pa.array(sessions, pa.binary(2)), "n": range(200)})
        prices = pa.array([Decimal(row) / 100 for row in range(200)], pa.decimal128(9, 2))
        # A column of the last file alone.
        last = number == MAX_EXAMPLES + 2
        path = lake / f"{number}.parquet"
        pq.write_table(table.append_column("price", prices) if last else table, path)
        pb.build(path, columns=["session", "price"] if last else "session", in_place=True)
    text = Document(run(lake)[1]).text
    for place in (
        *(f"{number}.parquet: column session, row group 0: DuckDB 1.5" for number in range(4)),
        f"{MAX_EXAMPLES + 2}.parquet: column price, row group 0: DataFusion before 55",
    ):
        assert place in text
    assert "9 times in 8 files" in text
    assert "and 2 more files, not shown here" in text


def test_columns_that_break_a_rule_may_be_too_many_to_show():
    rule = BrokenRule()
    for number in range(MAX_WAYS + 3):
        rule.add("a", [finding("PB212", "lost", column=f"c{number}")] * 2)
    assert (rule.findings, len(rule.examples), rule.num_columns_unnamed) == (106, MAX_WAYS, 3)


def test_of_files_without_filters_three_are_named_and_the_others_counted(folder):
    reporter = LakeReporter(("lake",), ValidateOptions(), AdviseOptions())
    for name in "abcde":
        path = folder / "lake" / "day=1" / ("b.parquet" if name == "b" else "a.parquet")
        found = FileLookedAt(validate(path), replace(inspect(path), path=f"{name}.parquet"), None)
        reporter.add(f"{name}.parquet", found)
    text = Document(render_lake_report(reporter.report())).text
    assert "id : 1 of 5 files have them; none in a.parquet, c.parquet, d.parquet and 1 more" in text


@pytest.mark.parametrize("ending", ["parquet", "orc"])
def test_files_without_values_need_no_filter(run, tmp_path, ending):
    lake = tmp_path / "lake"
    lake.mkdir()
    numbers = np.random.default_rng(3).permutation(4_000)
    for part, name in enumerate("abc"):
        table = pa.table({"id": numbers[part::3], "n": pa.nulls(len(numbers[part::3]), pa.int64())})
        write = pq.write_table if ending == "parquet" else orc.write_table
        write(table if name != "c" else table.slice(0, 0), lake / f"{name}.{ending}")
        if name != "c":
            pb.build(lake / f"{name}.{ending}", columns="id", in_place=True)
    one, none = pb.inspect_summary(lake).columns
    assert (one.files, one.files_with_filters, one.chunks, one.chunks_with_filters) == (2, 2, 2, 2)
    assert (none.files, none.chunks) == (0, 0)
    text = Document(run(lake)[1]).text
    assert "id 2 of 2 2 of 2 " in text
    assert "Some files have filters for a column" not in text
    assert "To build" not in text


def test_folders_that_are_no_partitions_are_named_without_what_is_common():
    reporter = LakeReporter(("lake",), ValidateOptions(), AdviseOptions())
    path = FIXTURES / "pyarrow_types.parquet"
    found = FileLookedAt(validate(path, deep=False), inspect(path), None)
    for path in ("/data/lake/x/1.parquet", "/data/lake/y/2.parquet", "/data/lake/3.parquet"):
        reporter.add(path, found)
    assert [each.name for each in reporter.report().partitions] == [".", "x", "y"]


@pytest.mark.parametrize(
    "expected",
    [
        ["year=9/day=2", "year=10/day=1", "year=10/day=10"],
        ["day=__HIVE_DEFAULT_PARTITION__", "day=-1", "day=2", "day=010", "day=10"],
        ["day=2026-11-02", "day=2026-11-10"],
        # A column of text may have numbers.
        ["size=10", "size=2", "size=XL"],
        ["2025/10", "2026/2", "2026/10"],
        [".", "x", "y"],
    ],
    ids=",".join,
)
def test_partitions_are_in_the_order_of_their_numbers(expected):
    reporter = LakeReporter(("lake",), ValidateOptions(), AdviseOptions())
    path = FIXTURES / "pyarrow_types.parquet"
    found = FileLookedAt(validate(path, deep=False), inspect(path), None)
    for name in sorted(expected):
        reporter.add(os.path.normpath(f"/lake/{name}/1.parquet"), found)
    assert [each.name for each in reporter.report().partitions] == expected


def test_columns_with_filters_in_some_files_alone(run):
    result, html = run("lake/day=1", "-c", "id", "--no-deep")
    assert result.code == 0
    text = Document(html).text
    assert (
        "note Some files have filters for a column, and others have none id : 1 of 2 files have them; none in"
        " lake/day=1/a.parquet pbloom build lake/day=1 -c id --in-place"
    ) in text
    assert "Files None has errors or warnings: those with the highest FPP come first. " in text
    _, html = run("lake/day=1", "-c", "country", "--no-deep")
    text = Document(html).text
    assert "Some files have" not in text
    assert "Files None has a filter, an error or a warning. " in text


def test_no_step_completes_filters_that_another_strips(run, tmp_path):
    """Without advice, too, a finding says that they are of no use."""
    for number in range(3):
        path = tmp_path / f"{number}.parquet"
        table = pa.table({"few": np.arange(ROWS) % 3, "id": np.arange(ROWS)})
        pq.write_table(table, path, row_group_size=ROWS // 4)
    pb.build(tmp_path / "0.parquet", columns=["few", "id"], in_place=True)
    text = Document(run(tmp_path, "--no-deep")[1]).text.replace(str(tmp_path), "LAKE")
    assert "pbloom strip LAKE/0.parquet -c few --in-place" in text
    assert "pbloom build LAKE -c id --in-place" in text
    assert "pbloom build LAKE -c few" not in text


def test_filters_are_completed_in_the_files_that_have_the_column(run, tmp_path):
    numbers = np.random.default_rng(4).permutation(ROWS)
    for number, name in enumerate(("id", "id", "other")):
        pq.write_table(pa.table({name: numbers}), tmp_path / f"{number}.parquet")
    pb.build(tmp_path / "0.parquet", columns="id", in_place=True)
    (build,) = re.findall(
        "others have none: id (pbloom .*? --union-by-name)", steps_on(run(tmp_path, "--no-deep")[1])
    )
    assert outcome(*shlex.split(build)[1:]).code == 0


def test_no_step_completes_filters_that_are_optional(run, tmp_path):
    rng = np.random.default_rng(4)
    files = tmp_path / "files"
    files.mkdir()
    for name in ("a", "b"):
        table = pa.table({"id": rng.permutation(8_000), "price": rng.random(8_000)})
        pq.write_table(table, files / name, row_group_size=1_000, use_dictionary=False)
        pb.build(files / name, columns=["id", "price"] if name == "a" else "id", in_place=True)
    _, html = run(files / "a", files / "b")
    assert "price optional : 1 of 2 files have them" in Document(html).text
    assert "What to do next Nothing: all filters that are advised are there" in Document(html).text


def test_filters_that_the_advice_skips_are_not_completed(run, tmp_path):
    """They are named, with what it says."""
    numbers = np.random.default_rng(4).permutation(16_000)
    files = tmp_path / "files"
    files.mkdir()
    table = pa.table({"id": numbers, "few": numbers % 7})
    for name in ("a", "b"):
        pq.write_table(table, files / name, row_group_size=1_000, use_dictionary=False)
    for columns, completed in (("id,few", "id"), ("few", None)):
        outcome("strip", files / "a", "--in-place")
        outcome("build", files / "a", "-c", columns, "--in-place")
        _, html = run(files / "a", files / "b")
        text = Document(html).text.replace(str(files), "LAKE")
        somewhere = text.partition("Some files have filters for a column, and others have none")[2]
        assert "few skip : 1 of 2 files have them; none in LAKE/b" in somewhere
        command = f" pbloom build LAKE/a LAKE/b -c {completed} --fpp 0.01 --in-place"
        assert (command in somewhere) == (completed is not None)
        assert ",few --in-place" not in text
        assert "pbloom build LAKE/a LAKE/b -c few --in-place" not in text


def test_filters_that_are_larger_than_the_column_are_not_completed(run, tmp_path, monkeypatch):
    """In short stripes, those of ORC have room for many more values than there are."""
    rng = np.random.default_rng(1)
    table = pa.table({"id": rng.integers(0, 1 << 40, 20_000)})
    (tmp_path / "lake").mkdir()
    monkeypatch.chdir(tmp_path)
    pq.write_table(table, "lake/a.parquet", row_group_size=5_000, use_dictionary=False)
    orc.write_table(table, "lake/b.orc", stripe_size=1 << 16)
    pb.build("lake/a.parquet", columns="id", in_place=True)
    page = run("lake")[1]
    note = "others have none id optional : 1 of 2 files have them; none in lake/b.orc Advice Files"
    assert note in Document(page).text
    assert "What to do next Nothing: " in steps_on(page)


@pytest.mark.parametrize("has_others", [False, True])
def test_a_note_keeps_to_the_budget(run, tmp_path, monkeypatch, has_others):
    """What it pays for has the command of the advice; what it leaves out, or is optional, has none."""
    rng = np.random.default_rng(5)
    (tmp_path / "lake").mkdir()
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        table = pa.table({name: rng.integers(0, 1 << 40, 20_000) for name in ("id", "code")})
        table = table.append_column("price", pa.array(rng.random(20_000)))
        if has_others and number == 2:
            table = table.append_column("more", table["id"])
        path = f"lake/{number}.parquet"
        pq.write_table(table, path, row_group_size=5_000, use_dictionary=False)
    pb.build("lake/0.parquet", columns=["id", "code", "price"], in_place=True)
    budget = "7.5%" if has_others else "9%"
    text = Document(run("lake", "--budget", budget)[1]).text
    step = text.partition("What to do next ")[2].partition(" Columns ")[0]
    note = text.partition("and others have none ")[2].partition("Advice Files")[0]
    commands = re.findall("pbloom build .*?--in-place", step)
    assert "left out : 1 of 3" in note
    assert "price optional : 1 of 3" in note
    assert commands == re.findall("pbloom build .*?--in-place", note)
    (command,) = commands
    if has_others:
        assert command == "pbloom build lake --auto --budget 7.5% --no-config --in-place"
    else:
        assert re.fullmatch("pbloom build lake -c (id|code) --fpp 0.[13] --in-place", command)


@pytest.mark.parametrize(
    ("num_without", "named"), [(1, "LAKE/1"), (2, "LAKE/1 LAKE/2"), (6, "FILE")]
)
def test_filters_are_not_completed_in_files_of_a_table_whose_advice_skips_them(
    run, tmp_path, num_without, named
):
    """Those of other tables are, by their names."""
    rng = np.random.default_rng(4)
    files = tmp_path / "files"
    files.mkdir()
    for number in range(num_without + 1):
        table = pa.table({"id": rng.permutation(8_000), "price": rng.random(8_000)})
        path = files / str(number)
        pq.write_table(table, path, row_group_size=1_000, use_dictionary=False)
        pb.build(path, columns="id" if number else ["id", "price"], in_place=True)
    # A price in order needs no filter.
    table = table.append_column("more", table["id"])
    table = table.set_column(1, "price", pa.array(np.arange(8_000.0)))
    pq.write_table(table, files / "old", row_group_size=1_000, use_dictionary=False)
    pb.build(files / "old", columns=["id", "more"], in_place=True)
    page = run(*sorted(files.iterdir()))[1]
    text = Document(page).text.replace(str(files), "LAKE")
    of_all = f"price optional skip : 1 of {num_without + 2} files have them"
    completed = f" pbloom build {named} -c price --in-place Advice "
    assert re.search(f"{of_all}; none in [^;]*{completed}", text)
    assert "What to do next Nothing: " in text


@pytest.mark.parametrize("is_of_orc", [True, False])
def test_filters_that_are_right_are_not_called_wrong_for_those_of_another_table(
    run, tmp_path, is_of_orc
):
    lake = tmp_path / "lake"
    lake.mkdir()
    ids = np.random.default_rng(1).integers(0, 1 << 40, 4 * ROWS)
    table = pa.table({"id": ids})
    good = lake / ("good.orc" if is_of_orc else "good.parquet")
    if is_of_orc:
        orc.write_table(table, str(good), row_index_stride=ROWS)
    else:
        pq.write_table(table, good, row_group_size=ROWS)
    pb.build(good, columns="id", in_place=True)
    bad = lake / "bad.parquet"
    pq.write_table(table.append_column("x", table["id"]), bad, row_group_size=ROWS)
    small = {"columns": "id", "max_bytes": 64, "force": True}
    pb.build(bad, in_place=True, **small)
    text = Document(run(lake)[1]).text
    assert len(re.findall("id (?:INT64|LONG) rebuild filters that are there are wrong", text)) == 1
    assert re.search(f"{good} Column Verdict .*? id (INT64|LONG) keep every ", text)


def test_each_table_has_its_own_advice_on_a_column(run, tmp_path):
    numbers = np.random.default_rng(4).permutation(16_000)
    tables = {"a": {"id": numbers}, "b": {"id": numbers % 7, "n": numbers}, "c": {}}
    tables["c"] = tables["b"]
    for name, columns in tables.items():
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=1_000, use_dictionary=False)
    _, html = run(*(tmp_path / f"{name}.parquet" for name in tables))
    text = Document(html).text.replace(str(tmp_path), "LAKE")
    advice = text.partition("Advice Files with the same columns")[2]
    of_a, of_others = advice.split("LAKE/b.parquet and 1 more")
    assert "id INT64 build a look-up reads" in of_a
    assert "id INT64 skip a filter rules out next to nothing" in of_others
    assert re.search("^.* id none of 3 skip n none of 2 build ", text)


@pytest.mark.parametrize("name", ["a.parquet", "."])
def test_what_a_budget_chose_is_kept(run, tmp_path, name):
    """The budget may be given; no file says so."""
    numbers = np.random.default_rng(4).permutation(16_000)
    files = tmp_path / "files"
    files.mkdir()
    table = pa.table({"id": numbers, "other": numbers[::-1]})
    pq.write_table(table, files / "a.parquet", row_group_size=1_000, use_dictionary=False)
    outcome("build", files / "a.parquet", "-c", "id", "--fpp", "0.5", "--in-place")
    path = str(files if name == "." else files / name)

    def text(*options):
        return Document(run(path, *options)[1]).text.replace(path, "PATH")

    chosen = (
        " -c id --fpp 0.01 --in-place --existing replace If a budget chose the rates of those that are too small, say so: --budget of pbloom report,"
        " or max-fpp of the column in pbloom.toml."
    )
    page = text()
    assert chosen in page
    assert "missing or too small: other pbloom build PATH -c other --fpp 0.01 --in-place " in page
    kept = text("--budget", "10KiB")
    assert "pbloom build PATH -c id --fpp 0.01 --in-place" not in kept
    assert "If a budget chose" not in kept
    assert "8.2 KiB of the 10.0 KiB budget used, across all files" in kept
    assert "id: filters that are there stay, and take 8.2 KiB" in kept
    assert "other: left out: needs at least" in kept
    # Nobody is sent to spend more.
    assert "PB302 high-fpp" in kept
    assert "pbloom advise PATH" in page
    assert "What to do next Nothing: " in kept
    assert "pbloom advise" not in kept
    # What writers were told of others would spend more than there is.
    assert (page.count("Writer settings"), kept.count("Writer settings")) == (2, 1)
    report = pb.report(files / "a.parquet", budget=10 << 10)
    assert [each.verdict for each in report.advice.columns] == ["build", "left out"]


def test_a_required_filter_that_is_missing_is_built_not_rebuilt(run):
    path, required = "lake/day=1/a.parquet", ("-c", "id", "--require", "id")
    for names in ((path,), (path, "lake/day=2/<b>d.parquet")):
        text = Document(run(*names, *required)[1]).text
        assert "PB310 required-missing" in text
        assert re.search(r"id (INT64 )?.* build ", text)
        assert "rebuild" not in text


@pytest.mark.parametrize("is_alone", [True, False])
@pytest.mark.parametrize(
    ("policy", "done"),
    [
        ("", "rebuild"),
        ("max-fpp = 0.5", "keep"),
        ("[validate.columns.id]\nmax-fpp = 0.5", "keep"),
        ("max-fpp = 0.5\n[validate.columns.id]\nmax-fpp = 0.01", "rebuild"),
    ],
)
def test_what_a_policy_accepts_is_kept(tmp_path, is_alone, policy, done):
    lake, config, page = tmp_path / "lake", tmp_path / "pbloom.toml", tmp_path / "page.html"
    lake.mkdir()
    for name in "ab":
        ids = np.random.default_rng(ord(name)).permutation(1 << 20)[:ROWS]
        pq.write_table(pa.table({"id": ids}), lake / f"{name}.parquet", row_group_size=ROWS // 4)
        pb.build(lake / f"{name}.parquet", columns="id", fpp=0.5, in_place=True)
    config.write_text(f"[validate]\n{policy}\n")
    files = lake / "a.parquet" if is_alone else lake
    outcome("report", files, "-o", page, "--config", config)
    text = Document(page.read_text()).text
    assert re.findall(r"id INT64 .*?(build|keep|rebuild) ", text)[0] == done
    assert (f"pbloom build {files} -c id --fpp 0.01 --in-place " in text) == (done == "rebuild")
    if is_alone:
        (found,) = pb.report(files, policy=pb.read_policy(config)).advice.columns
        assert bool(found.too_small) == (done == "rebuild")


def test_what_is_required_and_values_that_are_not_shown(run):
    result, html = run("lake/day=1", "-c", "country", "--no-deep", "--require", "country")
    assert result.stdout.endswith("; 4 errors in 0 filters: not ok\n")
    assert "PB310 required-missing" in html
    _, shown = run("lake/day=1", "-c", "id")
    _, hidden = run("lake/day=1", "-c", "id", "--no-values")
    assert "for example 1001603, " in shown
    assert "for example sha256:" in hidden
    assert "1001603" not in hidden
