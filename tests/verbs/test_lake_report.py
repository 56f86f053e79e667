"""`pbloom report` of many files: what the page adds up, what it keeps, and what it never leaves out in silence."""

import os
import re
import shlex
from dataclasses import replace
from decimal import Decimal
from html import unescape

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from make.browser import Document
from make.commands import outcome
from make.delta_tables import make_table, table_of
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.options import AdviseOptions, ValidateOptions
from parquet_bloom.render.lake_report import render_lake_report
from parquet_bloom.render.report import MOST_PLACES, MOST_STEPS
from parquet_bloom.rules.finding import finding
from parquet_bloom.verbs.advise import MAX_IN_NEED
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

ROWS = 2000

# Under all steps, if any has a command.
NO_OTHERS = (
    "Other commands under Findings and Advice need not be run as well, but for those of notes."
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four files in two partitions: one without filters, one whose filter lost values, one cut short, and one with a
    name that is HTML."""
    folder = tmp_path_factory.mktemp("lake")
    for place, name in enumerate(("day=1/a", "day=1/b", "day=2/c", "day=2/<b>d")):
        path = folder / "lake" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        ids = np.random.default_rng(place).permutation(1 << 20)[:ROWS]
        table = pa.table({"id": ids, "country": ["DE"] * ROWS})
        pq.write_table(table, path, row_group_size=ROWS // 2)
        if place:
            pb.build(path, columns=["id"], in_place=True)
    lost, cut = folder / "lake/day=1/b.parquet", folder / "lake/day=2/c.parquet"
    found = inspect(lost).row_groups[1].columns[0].filter
    data = bytearray(lost.read_bytes())
    start = found.offset + found.header_bytes
    data[start : start + 512] = bytes(512)
    lost.write_bytes(data)
    cut.write_bytes(cut.read_bytes()[:-9])
    return folder


@pytest.fixture
def run(folder, tmp_path, monkeypatch):
    """What the command says, and the page's text."""
    monkeypatch.chdir(folder)

    def run(*arguments):
        page = tmp_path / "page.html"
        result = outcome("report", *arguments, "-o", page, "--no-config", "--overwrite")
        return result, page.read_text(encoding="utf-8") if page.exists() else None

    return run


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


def test_what_to_do_next(tmp_path):
    """What loses rows comes first, each command once, at the rate that is advised; nothing, where all is well."""
    files, page = tmp_path / "files", tmp_path / "page.html"
    files.mkdir()

    def steps():
        outcome("report", files, "-o", page, "--overwrite", "--require", "id,code", "--no-config")
        html = page.read_text()
        part = html.partition('id="next"')[2].partition("</section>")[0]
        return Document(f"<body>{part}</body>").text.replace(str(files), "LAKE")

    for number in range(4):
        ids = np.random.default_rng(number).permutation(1 << 20)[:ROWS]
        table = pa.table({"id": ids, "code": ids[::-1], "at": np.arange(ROWS)})
        pq.write_table(table, files / f"{number}.parquet", row_group_size=ROWS // 2)
    pb.build(files, columns="id", in_place=True)
    lost = files / "2.parquet"
    whole = lost.read_bytes()
    filter = inspect(lost).row_groups[1].columns[0].filter
    start = filter.offset + filter.header_bytes
    lost.write_bytes(whole[:start] + bytes(512) + whole[start + 512 :])
    assert steps().endswith(
        "What to do next error Stored values are not in the filter 1 time in 1 file"
        " pbloom repair LAKE/2.parquet --rebuild --in-place"
        " error A required filter is missing 8 times in 4 files"
        f" pbloom build LAKE -c code --fpp 0.01 --in-place {NO_OTHERS}"
    )
    header = inspect(lost).row_groups[0].columns[0].filter.offset
    lost.write_bytes(whole[:header] + bytes(8) + lost.read_bytes()[header + 8 :])
    assert (
        "error There is no filter header at bloom_filter_offset 1 time in 1 file"
        " pbloom repair LAKE/2.parquet --rebuild --in-place"
        " error Stored values are not in the filter 1 time in 1 file A command above does this, too."
        " error A required"
    ) in steps()
    lost.write_bytes(whole)
    pb.build(files, columns="code", in_place=True)
    # That one file has more than is advised is no reason to do anything.
    for path in (lost, files):
        assert steps().endswith(
            "What to do next Nothing: all filters that are advised are there, and right."
        )
        pb.build(path, columns="at", in_place=True)


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


def test_what_helps_with_files_that_cannot_be_read_is_not_the_same_for_all(run, folder, tmp_path):
    whole = (folder / "lake" / "day=1" / "a.parquet").read_bytes()
    for name, data in {"a": whole, "cut": whole[:-9], "more": whole + bytes(9)}.items():
        (tmp_path / f"{name}.parquet").write_bytes(data)
    steps = steps_on(run(tmp_path)[1]).replace(str(tmp_path), "LAKE")
    assert "LAKE/cut.parquet: if it was one, its end is lost: take another copy. LAKE/more" in steps
    assert (
        f"follow a whole file: `head -c {len(whole)} LAKE/more.parquet` is that file. build"
        in steps
    )


def test_what_cannot_be_read_is_not_to_be_built(run, tmp_path):
    names = [tmp_path / name for name in ("bad.parquet", "a.parquet", "b.parquet")]
    numbers = np.random.default_rng(3).permutation(4_000)
    for part, name in enumerate(names):
        table = pa.table({"id": numbers[part::3]})
        pq.write_table(table, name, row_group_size=500, use_dictionary=False)
    names[0].write_bytes(b"not a file")
    _, html = run(*names)
    build = f"pbloom build {names[1]} {names[2]} -c id --fpp 0.01 --in-place"
    assert re.findall("pbloom build /.*?--in-place", Document(html).text) == [build, build]


def write_unread(path, seed, is_damaged=True, filters=("id",)):
    """Of an id and another column, a value of which has changed, if any: by its checksum, the page cannot be read."""
    rng = np.random.default_rng(seed)
    table = pa.table({name: rng.integers(0, 1 << 40, 8_000) for name in ("id", "other")})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        table, path, row_group_size=2_000, use_dictionary=False, compression="none",
        write_page_checksum=True,
    )  # fmt: skip
    pb.build(path, columns=[*filters], in_place=True)
    if is_damaged:
        data, value = path.read_bytes(), np.asarray(table["other"])[100].tobytes()
        assert data.count(value) == 1
        path.write_bytes(data.replace(value, bytes(8)))


UNREAD = "row group 0, column other: page at NUMBER: checksum HASH, expected HASH; --ignore-checksums reads it anyway"
ANOTHER_COPY = (
    "Take another copy of the file, or see with pbloom validate --pages what else is damaged."
)


def without_numbers(text):
    return re.sub("[0-9a-f]{8}", "HASH", re.sub(r"page at \d+", "page at NUMBER", text))


def test_values_that_could_not_be_read_are_told_of_first(run, tmp_path, monkeypatch):
    """Those of a column without filters are in no finding, and no command builds filters of them."""
    write_unread(tmp_path / "lake/day=1/a.parquet", 1, is_damaged=False)
    write_unread(tmp_path / "lake/day=2/b.parquet", 2)
    monkeypatch.chdir(tmp_path)
    unread = f"lake/day=2/b.parquet: {UNREAD}"
    step = (
        " What to do next error 1 file with values that could not be read: lake/day=2/b.parquet"
        f" R{UNREAD[1:]}. {ANOTHER_COPY} "
    )
    for counts in ("no findings in 8 filters and 16,000", "1 note in 12 filters and 24,000"):
        result, html = run("lake")
        text = without_numbers(Document(html).text)
        assert (result.code, without_numbers(result.complaint)) == (2, unread)
        summary = f"{counts} values; 1 file with values that could not be read: not ok"
        assert result.stdout.endswith(f"; {summary}\n")
        assert f" lake ✕ {summary} " in text
        assert step in text
        assert f"1 file left out, as the values could not all be read {unread}" in text
        commands = {*re.findall("pbloom build .*?--in-place", text.partition("Verdict Why")[0])}
        if counts.startswith("no findings in 8"):
            (build,) = commands
            assert build == "pbloom build lake/day=1/a.parquet -c other --fpp 0.01 --in-place"
            assert outcome(*shlex.split(build)[1:]).code == 0
        else:
            assert commands == set()
    assert run("lake", "-c", "id")[0].code == 0
    assert run("lake", "--no-deep")[0].code == 0


def test_damage_that_is_left_out_of_the_advice_makes_no_filter_wrong(run, tmp_path):
    """The page of id is damaged in one file, and the filters of both are right."""
    for day, path in enumerate((tmp_path / "lake/a.parquet", tmp_path / "lake/b.parquet")):
        write_unread(path, day, is_damaged=False)
    data = path.read_bytes()
    path.write_bytes(data[:4] + bytes(20) + data[24:])
    result, html = run(tmp_path / "lake")
    text = Document(html).text
    assert result.code == 2
    assert "PB116" in text
    assert "filters that are there are wrong" not in text


def test_a_command_for_a_folder_says_that_it_fails_for_what_could_not_be_read(
    run, tmp_path, monkeypatch
):
    for number in range(MAX_IN_NEED + 2):
        write_unread(tmp_path / f"lake/{number}.parquet", number, is_damaged=not number)
    monkeypatch.chdir(tmp_path)
    note = " For files that could not be read, this fails until other copies are there. "
    build = "pbloom build lake -c other --fpp 0.01 --in-place"
    assert f": other {build}{note}" in steps_on(run("lake")[1])
    assert outcome(*shlex.split(build)[1:]).code == 2
    write_unread(tmp_path / "lake/0.parquet", 0, is_damaged=False)
    steps = steps_on(run("lake")[1])
    assert build in steps
    assert note not in steps


def test_values_that_could_not_be_read_in_any_file(run, tmp_path, monkeypatch):
    for number in range(2):
        write_unread(tmp_path / f"lake/{number}.parquet", number)
    monkeypatch.chdir(tmp_path)
    result, html = run("lake")
    text = without_numbers(Document(html).text)
    each = [f"lake/{number}.parquet: {UNREAD}" for number in range(2)]
    whys = f"{each[0]}. {each[1]}. {ANOTHER_COPY}"
    assert f"could not be read: lake/0.parquet, lake/1.parquet {whys} " in text
    assert f"Advice 2 files left out, as the values could not all be read {' '.join(each)}" in text
    complaints = [without_numbers(each) for each in result.stderr.splitlines()]
    assert complaints == [f"pbloom: {message}" for message in each]


def test_no_command_builds_filters_of_pages_that_cannot_be_read(run, tmp_path, monkeypatch):
    """A rule is about both files, and what is advised for the other one is the same in other words."""
    (tmp_path / "policy.toml").write_text("[validate]\nmax-fpp = 0.0001\n")
    for number in range(2):
        path = tmp_path / f"lake/{number}.parquet"
        write_unread(path, number, is_damaged=number == 1, filters=("other",))
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.html"
    outcome("report", "lake", "-c", "other", "--config", "policy.toml", "-o", page)
    text = Document(page.read_text()).text
    assert (
        "The false positive probability is above the limit that was set 8 times in 2 files" in text
    )
    again = "pbloom build lake/0.parquet -c other --fpp 0.0001 --in-place --existing replace"
    steps = text.partition("What to do next ")[2].partition(" Columns ")[0]
    assert re.findall("pbloom build .*?(?: If|$)", steps) == [f"{again} If"]
    assert {*re.findall(r"pbloom build (\S+) ", text.partition("Verdict Why")[0])} == {
        "lake/0.parquet"
    }
    assert outcome(*shlex.split(again)[1:]).code == 0


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


@pytest.mark.parametrize("filters", [("id",), ("id", "other")])
def test_values_of_one_file_that_could_not_be_read(run, tmp_path, filters):
    path = tmp_path / "a.parquet"
    write_unread(path, 1, filters=filters)
    result, html = run(path)
    text = without_numbers(Document(html).text)
    assert (result.code, without_numbers(result.complaint)) == (2, f"{path}: {UNREAD}")
    assert result.stdout.endswith("; values could not be read: not ok\n")
    assert f"{path} ✕ " in text
    # Of columns that have filters, a finding says so.
    step = f"What to do next error Values could not be read R{UNREAD[1:]}. {ANOTHER_COPY} "
    assert (step in text) == (filters == ("id",))
    assert "What to do next error " in text


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
    result, html = run(path, "lake/day=1")
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
    said = f"{table}: a Delta table, of which --table delta takes the live files; this is about all files in its folder, of which none is changed in place without it"
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


@pytest.fixture
def grown(tmp_path):
    """Two files of before a column was added, and one of after."""
    for number in range(3):
        columns = {"id": np.random.default_rng(number).permutation(1 << 20)[:ROWS]}
        if number == 2:
            columns["code"] = columns["id"][::-1]
        path = tmp_path / "grown" / f"{number}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), path, row_group_size=ROWS // 4)
    pb.build(tmp_path / "grown", columns="code", union_by_name=True, in_place=True)
    return tmp_path / "grown"


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


def test_what_cannot_be_read_at_all_leaves_no_page(run):
    result, html = run("lake/day=2/c.parquet", "nowhere.parquet")
    assert (result.code, html) == (2, None)
    assert len(result.stderr.splitlines()) == 2
    assert run("lake/day=3")[1] is None


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
def test_no_step_builds_what_the_advice_on_a_file_skips(run, tmp_path, is_of_orc):
    """Another schema or format is another table, with the same name of a column."""
    lake = tmp_path / "lake"
    lake.mkdir()
    rng = np.random.default_rng(1)
    texts = pa.array([each.tobytes() for each in rng.integers(0, 256, (ROWS, 8), np.uint8)])
    ids = pa.table({"id": rng.integers(0, 1 << 40, ROWS), "s": texts})
    pq.write_table(ids, lake / "a.parquet", row_group_size=ROWS // 4)
    if is_of_orc:
        # No reader of ORC looks for binary values in filters.
        orc.write_table(ids, str(lake / "b.orc"), row_index_stride=ROWS // 2)
    else:
        table = pa.table({"id": np.arange(ROWS), "x": rng.integers(0, 1 << 40, ROWS)})
        pq.write_table(table, lake / "b.parquet", row_group_size=ROWS // 4)
    assert outcome("build", lake, "--auto", "--in-place").code == 0
    page = run(lake)[1]
    assert "What to do next Nothing: " in steps_on(page)
    text = Document(page).text
    column = "s" if is_of_orc else "id"
    without = f"{column} skip : 1 of 2 files have them; none in {lake}/b."
    assert without in text
    assert "pbloom build" not in text.partition("Some files have")[2].partition("Advice")[0]


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
    assert "8.2 KiB of the budget of 10.0 KiB are used, over all files" in kept
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


@pytest.fixture
def traced(tmp_path):
    """Writes a lake: files whose filters are too small, so many, three good ones, and one that lacks ten values, as
    bytes of a page have changed, which has no checksum."""

    def write(num_small):
        lake = tmp_path / "traced"
        for number in range(num_small + 4):
            ids = np.random.default_rng(number).integers(0, 1 << 40, ROWS)
            path = lake / f"{number}.parquet"
            path.parent.mkdir(exist_ok=True)
            pq.write_table(
                pa.table({"id": ids}), path, row_group_size=ROWS // 4, use_dictionary=False,
                compression="none", write_statistics=False,
            )  # fmt: skip
            pb.build(path, columns="id", fpp=0.5 if number < num_small else 0.01, in_place=True)
        start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
        data = bytearray(path.read_bytes())
        data[start + 1000 : start + 1080] = bytes(range(100, 180))
        path.write_bytes(data)
        return lake, path

    return write


def steps_on(page):
    part = page.partition('id="next"')[2].partition("</section>")[0]
    return Document(f"<body>{part}</body>").text


# What gives way to another filter, in any command.
REPLACING = re.compile(
    r"pbloom (?:strip|advise|(?:build|repair) [^<]*--(?:existing|rebuild)) ?[^<]*"
)


@pytest.mark.parametrize(("num_small", "named"), [(2, "0.parquet LAKE/1.parquet"), (6, "FILE")])
def test_no_command_replaces_the_only_trace_of_a_changed_page(run, traced, num_small, named):
    lake, path = traced(num_small)
    page = run(lake)[1]
    steps = steps_on(page).replace(str(lake), "LAKE")
    look = f"pbloom validate LAKE/{path.name} -c id --pages --diagnose --no-config Until it is known why they do not"
    assert look in steps
    rebuild = f"{named} -c id --fpp 0.01 --in-place --existing replace"
    assert rebuild in steps
    commands = [unescape(each) for each in REPLACING.findall(page.partition("Writer settings")[0])]
    assert commands
    assert not [each for each in commands if path.name in each or f"{lake} " in each]


@pytest.mark.parametrize("with_table", [False, True])
def test_filters_that_are_too_small_wait_where_those_that_are_not_to_be_replaced_go_too(
    run, traced, with_table
):
    """Of several tables, of which all columns are built again; and of one file."""
    lake, path = traced(1)
    asked = lake
    if with_table:
        pq.write_table(pa.table({"id": [1, 2], "other": [1, 2]}), lake / "new.parquet")
    else:
        asked = path
        pb.build(path, columns="id", row_groups=[3], fpp=0.5, existing="replace", in_place=True)
    steps = steps_on(run(asked)[1])
    assert "build Filters that are too small stay for now: id Until it is known why" in steps
    assert "--existing" not in steps


def test_steps_keep_to_the_files_that_were_looked_at(run, tmp_path):
    ids = np.random.default_rng(3).permutation(4_000)
    for number in range(7):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"id": ids}), path, row_group_size=500, use_dictionary=False)

    def steps(*arguments):
        return steps_on(run(*arguments)[1]).replace(str(tmp_path), "LAKE")

    build = " missing or too small: id pbloom build {} -c id --fpp 0.01 --in-place"
    assert f"{build} --since 1d".format("LAKE") in steps(tmp_path, "--since", "1d")
    assert build.format("FILE") in steps(*tmp_path.glob("*.parquet"))
    for asked in (tmp_path, path):
        assert steps(asked, "-g", "0,1,2").endswith(
            "id Only some row groups were looked at: a page about all of them has the command."
        )
    listed = tmp_path / "list.txt"
    listed.write_text("".join(f"{each}\n" for each in tmp_path.glob("*.parquet")))
    assert build.format("--manifest LAKE/list.txt") in steps("--manifest", listed)


def test_the_step_for_a_table_takes_its_small_files_too(run, tmp_path):
    table = make_table(tmp_path / "table", commits=2)
    build = f"pbloom build {table} -c id --fpp 0.01 --table delta --all-sizes"
    text = Document(run("--table", "delta", table)[1]).text
    assert text.count(build) == 2
    assert outcome(*shlex.split(build)[1:]).code == 0
    old = steps_on(run("--table", "delta", table, "--version", "1")[1])
    assert (
        "No command changes what was looked at: of a table that is the newest version alone" in old
    )
    assert "pbloom build" not in old


def test_what_is_wrong_with_an_old_version_says_why_no_command_mends_it(run, tmp_path):
    table = make_table(tmp_path / "table", commits=2)
    page = run("--table", "delta", table, "--version", "1", "--require", "id")[1]
    why = "No command changes what was looked at: of a table that is the newest version alone"
    assert f"A required filter is missing 6 times in 2 files {why}" in steps_on(page)
    assert f"next: {why}" in Document(page).text


def test_help_in_words_is_said_of_each_rule(run, tmp_path):
    """Of a table's folder, where no command is above."""
    table = make_table(tmp_path / "table", commits=2)
    path = next(table.glob("*.parquet"))
    built = tmp_path / "built.parquet"
    pb.build(path, built, columns="id")
    found = inspect(built).row_groups[0].columns[0].filter
    data = bytearray(built.read_bytes())
    data[found.offset : found.offset + 8] = bytes(8)
    path.write_bytes(data)
    steps = steps_on(run(table, "--require", "n")[1])
    assert "no filter header at bloom_filter_offset 1 time in 1 file Ask for the page" in steps
    assert "A required filter is missing 6 times in 2 files Ask for the page with" in steps


def test_files_are_named_in_one_command_for_two_rules(run, tmp_path):
    """And not built again by another."""
    ids = np.random.default_rng(1).integers(0, 1 << 40, 4 * ROWS)
    for number, (most, parts) in enumerate([(1024, [0]), (1024, [0]), (64, None), (64, None)]):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"id": ids}), path, row_group_size=2 * ROWS)
        pb.build(path, columns="id", in_place=True)
        small = {"max_bytes": most, "row_groups": parts, "force": True, "existing": "replace"}
        pb.build(path, columns="id", in_place=True, **small)
    steps = steps_on(run(tmp_path)[1])
    assert steps.count("pbloom build ") == 1


def test_the_step_for_a_column_that_some_files_lack_does_not_fail(run, grown):
    outcome("strip", grown, "--in-place")
    asked = (grown, "--require", "id,code")
    steps = steps_on(run(*asked)[1])
    (build,) = re.findall("times in . files (pbloom build .*?--union-by-name)", steps)
    assert outcome(*shlex.split(build)[1:]).code == 0
    assert "2 times in 2 files write the file with this column; if other" in steps_on(
        run(*asked)[1]
    )
    assert "What to do next Nothing: " in steps_on(run(*asked, "--union-by-name")[1])


@pytest.mark.parametrize("name", ["a.parquet", "."])
def test_filters_of_no_use_have_the_command_that_strips_them(run, tmp_path, name):
    for file in "ab":
        table = pa.table({"at": np.arange(ROWS)})
        pq.write_table(table, tmp_path / f"{file}.parquet", row_group_size=ROWS // 4)
        pb.build(tmp_path / f"{file}.parquet", columns="at", in_place=True)
    path = os.path.normpath(tmp_path / name)
    page = run(path)[1]
    strip = f"pbloom strip {path} -c at --in-place"
    text = Document(page).text
    assert f"have filters, which pbloom strip removes {strip} " in text
    # They do no harm.
    assert strip not in steps_on(page)
    assert outcome(*shlex.split(strip)[1:]).code == 0
    assert "strip" not in Document(run(path)[1]).text


def test_filters_of_no_use_are_not_stripped_from_files_without_the_column(run, tmp_path):
    lake = tmp_path / "lake"
    lake.mkdir()
    numbers = np.random.default_rng(8).permutation(ROWS)
    for name, columns in (("a", {"id": numbers, "at": np.arange(ROWS)}), ("b", {"id": numbers})):
        pq.write_table(pa.table(columns), lake / f"{name}.parquet", row_group_size=ROWS // 4)
        pb.build(lake / f"{name}.parquet", columns=[*columns], in_place=True)
    text = Document(run(lake)[1]).text
    (strip,) = set(re.findall("pbloom strip removes (pbloom strip .*?--in-place)", text))
    assert strip == f"pbloom strip {lake}/a.parquet -c at --in-place"
    for number in range(MAX_IN_NEED):
        (lake / f"a{number}.parquet").write_bytes((lake / "a.parquet").read_bytes())
    assert "removes pbloom strip FILE -c at --in-place" in Document(run(lake)[1]).text
    for number in range(MAX_IN_NEED):
        (lake / f"a{number}.parquet").unlink()
    assert outcome(*shlex.split(strip)[1:]).code == 0
    assert "pbloom strip" not in Document(run(lake)[1]).text


def test_a_rule_and_the_advice_strip_the_same_files(run, tmp_path):
    """All of them, where those that break the rule are too many to be named."""
    lake = tmp_path / "lake"
    lake.mkdir()
    for number in range(8):
        table = pa.table({"few": np.arange(ROWS) % 3})
        pq.write_table(table, lake / f"{number}.parquet", row_group_size=ROWS // 4)
        if number < 7:
            pb.build(lake / f"{number}.parquet", columns="few", in_place=True)
    text = Document(run(lake)[1]).text
    assert text.count(f"next: pbloom strip {lake} -c few --in-place") == 1
    assert {*re.findall("pbloom strip (?!removes).*?--in-place", text)} == {
        f"pbloom strip {lake} -c few --in-place"
    }


@pytest.mark.parametrize("name", ["a.parquet", "."])
def test_no_step_asks_for_advice_on_filters_that_another_builds_again(run, tmp_path, name):
    """Of one column, some are an error (PB301), others but a warning (PB302)."""
    ids = np.random.default_rng(1).integers(0, 1 << 40, 20_000)
    pq.write_table(pa.table({"id": ids}), tmp_path / "a.parquet", row_group_size=5_000)
    small = {"columns": "id", "in_place": True, "force": True, "existing": "replace"}
    pb.build(tmp_path / "a.parquet", max_bytes=2048, **small)
    pb.build(tmp_path / "a.parquet", max_bytes=1024, row_groups=[2], **small)
    steps = steps_on(run(os.path.normpath(tmp_path / name))[1])
    assert re.search("More than a tenth .* 3 times (in 1 file )?A command above does this", steps)
    assert "pbloom advise" not in steps
    assert "--existing replace" in steps


@pytest.mark.parametrize("is_table", [False, True], ids=["files", "table"])
def test_steps_of_several_schemas_build_each_column_once(tmp_path, monkeypatch, is_table):
    """Where one of them builds all columns that are advised, it stands in the place of those that name some."""
    monkeypatch.chdir(tmp_path)
    paths = [tmp_path / f"{number}.parquet" for number in range(3)]
    for number, path in enumerate(paths):
        ids = np.random.default_rng(number).integers(0, 1 << 40, ROWS)
        table = pa.table(dict.fromkeys(("id", "code")[: 2 if number else 1], ids))
        pq.write_table(table, path, row_group_size=ROWS // 4, use_dictionary=False)
        pb.build(path, columns="id", in_place=True, max_bytes=64 if number else 256, force=True)
    table = ("--table", "delta") if is_table else ()
    if is_table:
        table_of(tmp_path / "table", *paths, id="long", code="long")
    lake, options = ("table", "--table delta --all-sizes") if is_table else (".", "--in-place")

    def steps():
        page = outcome("report", lake, *table, "-o", "-", "--no-config").stdout
        return Document(page).text.partition("What to do next ")[2].partition(" Columns ")[0]

    build = f"pbloom build {lake} --auto --no-config {options} --existing replace"
    assert re.findall(f"pbloom .*? (?:replace|{options}(?! --))", steps()) == [build]
    assert outcome(*shlex.split(build)[1:]).code == 0
    assert "pbloom " not in steps()


def test_steps_within_a_budget_build_each_column_once(tmp_path, monkeypatch):
    """Where it leaves a column out of a table that has no filters for it, nothing is wrong with any there."""
    monkeypatch.chdir(tmp_path)
    paths = [tmp_path / f"{number}.parquet" for number in range(4)]
    for number, path in enumerate(paths):
        ids = np.random.default_rng(number).integers(0, 1 << 40, ROWS)
        table = pa.table(dict.fromkeys(("id", "code")[: 2 if number else 1], ids))
        pq.write_table(table, path, row_group_size=ROWS // 4, use_dictionary=False)
        if number:
            pb.build(path, columns="id", in_place=True, max_bytes=64, force=True)
    table_of(tmp_path / "table", *paths, id="long", code="long")
    asked = ("report", "table", "--table", "delta", "--budget", "3.5%", "-o", "-", "--no-config")
    text = Document(outcome(*asked).stdout).text
    assert "left out" in text
    steps = text.partition("What to do next ")[2].partition(" Columns ")[0]
    assert re.findall("pbloom build .*? replace", steps) == [
        "pbloom build table --auto --budget 3.5% --no-config --table delta --all-sizes --existing replace"
    ]


def test_what_is_required_of_several_schemas_has_a_step_of_its_own(tmp_path, monkeypatch):
    """`build --auto` knows nothing of it."""
    monkeypatch.chdir(tmp_path)
    for number in range(2):
        ids = np.random.default_rng(number).integers(0, 1 << 40, ROWS)
        table = pa.table({"few": ids % 3, ("code", "name")[number]: ids})
        pq.write_table(table, f"{number}.parquet", row_group_size=ROWS // 4)
    asked = ("report", ".", "-o", "-", "--require", "few")
    steps = Document(outcome(*asked).stdout).text.partition("What to do next ")[2]
    commands = [f"pbloom build . {which} --in-place" for which in ("-c few", "--auto")]
    assert re.findall("pbloom build .*? --in-place", steps.partition(" Columns ")[0]) == commands
    for command in commands:
        assert outcome(*shlex.split(command)[1:]).code == 0
    assert "What to do next Nothing: " in Document(outcome(*asked).stdout).text


def test_steps_name_the_files_of_several_schemas_that_a_rule_is_about(tmp_path, monkeypatch):
    """In place of advice on all of them, which would have them built again."""
    monkeypatch.chdir(tmp_path)
    for number in range(4):
        ids = np.random.default_rng(number).integers(0, 1 << 40, ROWS)
        table = pa.table({"id": ids, ("code", "name")[number % 2]: ids})
        path = f"{number}.parquet"
        pq.write_table(table, path, row_group_size=ROWS // 4, use_dictionary=False)
        small = {"max_bytes": 256, "force": True} if number < 2 else {}
        pb.build(path, columns="id", in_place=True, **small)
        pb.build(path, columns=("code", "name")[number % 2], in_place=True)
    page = outcome("report", ".", "-o", "-", "--no-config").stdout
    steps = Document(page).text.partition("What to do next ")[2].partition(" Columns ")[0]
    assert re.findall("pbloom build .*? replace", steps) == [
        f"pbloom build {number}.parquet -c id --fpp 0.01 --in-place --existing replace"
        for number in range(2)
    ]
    assert "pbloom advise" not in steps


@pytest.mark.parametrize("num_files", [1, 2])
@pytest.mark.parametrize("num_limits", [2, MOST_STEPS + 1, MOST_PLACES + 2])
def test_a_step_has_all_commands_that_its_rule_needs(tmp_path, num_limits, num_files):
    """Nothing says that others need not be run while there are more; of several files, each has the rate that is its
    own."""
    limits = {f"c{number}": 2048 + 16 * number for number in range(num_limits)}
    config = tmp_path / "pbloom.toml"
    config.write_text(
        "".join(f"[validate.columns.{name}]\nmax-bytes = {limits[name]}\n" for name in limits)
    )
    numbers = np.random.default_rng(9).permutation(num_files * ROWS)
    paths = [tmp_path / f"{number}.parquet" for number in range(num_files)]
    for number, path in enumerate(paths):
        columns = dict.fromkeys(limits, numbers[number::num_files])
        pq.write_table(pa.table(columns), path, use_dictionary=False)
        pb.build(path, columns=[*limits], in_place=True)
    page = outcome("report", *paths, "-o", "-", "--config", config).stdout
    steps = steps_on(page)
    builds = re.findall(r"pbloom (build .*?--max-bytes \S+ --in-place(?: --fpp \S+)?)", steps)
    # Of few columns, the second file is an example, too.
    num_builds = num_limits + (num_files > 1 and num_limits < MAX_EXAMPLES)
    num_commands = num_builds + (num_files > 1)
    assert len(builds) == min(num_builds, MOST_STEPS)
    assert ("more command" in steps) == (num_commands > MOST_STEPS)
    assert (NO_OTHERS in steps) == (num_commands <= MOST_STEPS)
    others = "next: other files may take other rates: pbloom validate has all commands"
    findings = Document(page).text.rpartition(" Findings ")[2]
    assert (others in findings) == (num_files > 1 and num_commands <= MOST_PLACES)
    # Among the findings, all are, or how many more there are.
    shown = [name for name in limits if f"-c {name} --existing replace" in findings]
    assert shown == [*limits][:MOST_PLACES]
    assert ("more command" in findings) == (num_commands > MOST_PLACES)
    assert all(outcome(*shlex.split(each)).code == 0 for each in builds)
