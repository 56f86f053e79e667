"""`pbloom report`: what it gathers, and the page that it writes."""

import re
import shlex
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import IS_LONG
from make import troubled
from make.browser import Document
from make.commands import outcome
from make.defects_files import sound
from make.troubled import COLUMNS, SCRIPT

import parquet_bloom as pb
from parquet_bloom.filters.occupancy import measured_fpp
from parquet_bloom.render.report import MOST_COLUMNS, render_report, visible
from parquet_bloom.rules.policy import Policy
from parquet_bloom.verbs.report import MAX_ADVISED, MAX_PICTURES, NOT_DEEP, report
from parquet_bloom.verbs.validate import validate


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return troubled.write(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def found(path):
    return report(path)


@pytest.fixture(scope="module")
def page(path, found, tmp_path_factory):
    page = tmp_path_factory.mktemp("page") / "report.html"
    page.write_text(render_report(found, ("--in-place",)), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def document(page):
    """The page as it is written."""
    return Document(page.read_text(encoding="utf-8"))


def test_columns(path, found):
    assert [column.column for column in found.columns] == list(COLUMNS)
    inspection = pb.inspect(path)
    with pb.open(path) as file:
        for place, summary in enumerate(found.columns):
            chunks = [group.columns[place] for group in inspection.row_groups]
            stored = [chunk.filter for chunk in chunks if chunk.filter]
            measured = [
                measured_fpp(file.bloom_filter(group, summary.column).bits)
                for group, chunk in enumerate(chunks)
                if chunk.filter
            ]
            assert summary.filters == tuple(chunk.filter is not None for chunk in chunks)
            assert summary.num_filters == len(stored)
            assert summary.chunk_bytes == sum(chunk.chunk_bytes for chunk in chunks)
            assert summary.filter_bytes == sum(one.header_bytes + one.num_bytes for one in stored)
            assert summary.worst_fpp == max((one.fpp for one in stored), default=None)
            assert summary.worst_measured_fpp == max(measured, default=None)
            if stored:
                assert summary.mean_fpp == pytest.approx(np.mean([one.fpp for one in stored]))
                assert summary.mean_measured_fpp == pytest.approx(np.mean(measured))
                assert summary.ndv_estimate == max(one.ndv_estimate for one in stored)
    assert [column.num_filters for column in found.columns] == [3, 4, 4, 4, 2, 4, 0, 0]
    assert found.num_filters == len(found.pictures) == 21
    assert found.columns[7].reason == "no filter: BOOLEAN columns get none"


def test_all_is_gathered(path, found):
    assert found.inspection == pb.inspect(path)
    assert found.validation.checked.filters == 21
    rules = {finding.rule for finding in found.validation.findings}
    assert {"PB102", "PB301", "PB307", "PB401"} <= rules
    assert [advice.column for advice in found.advice.columns] == list(COLUMNS)
    assert found.no_advice is None


def test_the_page_says_what_to_do_next(path, found):
    text = Document(render_report(found)).text
    commands = {finding.next for finding in found.validation.findings} - {None}
    assert shlex.join(["pbloom", "repair", str(path), "--rebuild", "--in-place"]) in commands
    for command in commands:
        assert f"next: {visible(command)}" in text
    # Of the first screen: filters that are wrong before those that are missing, and no notes.
    steps = text.partition("What to do next ")[2].partition(" Columns Findings ")[0]
    assert steps.startswith("error ")
    assert " note " not in steps
    assert "Stored values are not in the filter" in steps
    rebuild = visible(shlex.join(["pbloom", "repair", str(path), "--rebuild", "--in-place"]))
    assert steps.count(rebuild) == 1


def test_pictures_are_in_order_of_columns(found):
    places = [
        (COLUMNS.index(one.occupancy.column), one.occupancy.row_group) for one in found.pictures
    ]
    assert places == sorted(places)
    assert [one.occupancy.is_even for one in found.pictures if one.occupancy.column == "half"] == [
        False
    ] * 4
    assert all(one.occupancy.is_even for one in found.pictures if one.occupancy.column == "id")


def test_not_deep(path):
    shallow = report(path, deep=False, columns=["half", "flag"])
    assert (shallow.advice, shallow.no_advice) == (None, NOT_DEEP)
    assert [column.column for column in shallow.columns] == ["half", "flag"]
    assert "PB401" not in {finding.rule for finding in shallow.validation.findings}
    text = Document(render_report(shallow)).text
    assert "Stored values were not looked up: only the footer and the filters were read." in text
    assert f"Advice None: {NOT_DEEP}" in text


def test_the_target_of_the_advice(path):
    wanted = report(path, columns=["id"], fpp=0.25)
    assert wanted.advice.fpp == 0.25
    assert "For a target FPP of 25 %." in Document(render_report(wanted)).text


def test_damaged_pages_leave_the_rest(tmp_path):
    """What advise cannot read is a finding of validate, and no reason to write no page."""
    source = tmp_path / "in.parquet"
    table = pa.table({"a": np.arange(1000)})
    pq.write_table(
        table, source, use_dictionary=False, compression="none", write_page_checksum=True
    )
    path = tmp_path / "damaged.parquet"
    pb.build(source, path, columns=["a"])
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    path.write_bytes(data)
    damaged = report(path)
    assert damaged.advice is None
    assert "checksum" in damaged.no_advice
    text = Document(render_report(damaged)).text
    assert "error PB116 damaged-pages" in text
    assert f"Advice None: {damaged.no_advice}" in text


def test_a_file_without_row_groups(tmp_path):
    path = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    text = Document(render_report(report(path))).text
    for part in ("no filters, so nothing was checked", "The file has no usable filter"):
        assert part in text


def test_text_of_the_page(path, found, document):
    text = document.text
    shown = visible(path.name)
    for part in (
        shown,
        "Rows 8,000",
        "Row groups 4",
        "Columns 8",
        "Filters 21",
        "parquet-cpp-arrow version",
        "half INT64 4 of 4",
        "part INT64 2 of 4",
        "country STRING none",
        "flag BOOLEAN none BOOLEAN columns get none",
        "error PB401 false-negatives Stored values are not in the filter 4 times",
        "error PB102 no-filter-header",
        "full 4 filters error",
        "\N{MULTIPLICATION SIGN} expected uneven",
        "Writer settings pbloom",
    ):
        assert part in text, part
    for column in found.columns[:6]:
        assert f"≈ {column.ndv_estimate:,.0f}" in text
    for advice in found.advice.columns:
        assert visible(advice.reason) in text


def test_texts_of_the_file_are_escaped(page, document):
    html = page.read_text(encoding="utf-8")
    assert SCRIPT not in html
    assert escape(SCRIPT).replace("&#x27;", "&#39;") in html
    assert "a\\u202eb\\x1b[31m\\tc" in html
    assert not set(html) & set("\x1b\u202e\t")
    assert "&lt;b&gt;trouble\\x1b[31m.parquet" in html
    assert {element.tag for element in document.elements} == {
        "a", "body", "br", "code", "dd", "defs", "details", "div", "dl", "dt", "figcaption",
        "figure", "footer", "h1", "h2", "h3", "h4", "head", "header", "html", "li", "main", "meta",
        "nav", "ol", "p", "path", "pattern", "pre", "section", "span", "strong", "style", "summary",
        "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr", "ul",
    }  # fmt: skip


def test_the_page_needs_nothing_else(page, document):
    policy = next(e for e in document.elements if "http-equiv" in e.attributes)
    assert policy.attributes == {
        "http-equiv": "Content-Security-Policy",
        "content": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    }
    html = page.read_text(encoding="utf-8")
    assert "://" not in html
    assert set(re.findall(r"url\((.)", html)) == {"#"}
    for element in document.elements:
        assert not {"src", "srcset", "action", "data"} & set(element.attributes)
        assert not [name for name in element.attributes if name.startswith("on")]
        assert element.attributes.get("href", "#").startswith("#")


def test_links_lead_to_parts_of_the_page(document):
    ids = {element.attributes["id"] for element in document.elements if "id" in element.attributes}
    links = {e.attributes["href"][1:] for e in document.elements if "href" in e.attributes}
    assert links == {"columns", "findings", "occupancy", "advice"}
    assert links <= ids


def test_a_name_that_is_not_utf_8(found):
    odd = replace(found, inspection=replace(found.inspection, path="/data/\udcff.parquet"))
    assert b"<h1>\\udcff.parquet</h1>" in render_report(odd).encode()


def test_filters_that_are_there_are_kept_or_rebuilt(found, document):
    """Of those to build; a wrong one goes before a missing one."""
    shown = dict(re.findall(r"(\w+) INT64 \d of 4 .*? (build|keep|rebuild) ", document.text))
    assert shown == {"id": "rebuild", "tc": "keep", "half": "rebuild", "part": "build",
                     "full": "rebuild"}  # fmt: skip
    assert document.text.count(" keep ") == 4
    (wrong,) = re.findall(r" id INT64 rebuild (.*?) every row group already", document.text)
    assert wrong == (
        "filters that are there are wrong: PB102 no-filter-header: see findings 1 row group has a filter that cannot"
        " be used: pbloom validate says why, pbloom repair --rebuild builds new ones;"
    )
    assert {advice.verdict for advice in found.advice.columns[:6]} == {"build"}


def test_a_long_name_is_cut(found):
    long = replace(found.columns[0], column="x" * 5000)
    html = render_report(replace(found, columns=(long,)))
    assert "x" * 1000 + "…" in html
    assert "x" * 1001 not in html


def test_columns_with_trouble_are_unfolded(found, document):
    unfolded = [
        "open" in element.attributes
        for element in document.elements
        if element.attributes.get("class") == "of-column"
    ]
    assert len(found.pictures) == 21
    assert unfolded == [True, False, False, True, False, True]
    few = replace(found, pictures=found.pictures[:12])
    assert render_report(few).count('<details class="of-column" open>') == 4


def test_lines_of_settings_stay_lines(found):
    html = render_report(found)
    (spark,) = {
        settings.text
        for advice in found.advice.columns
        if advice.column == "id"
        for settings in advice.settings
        if settings.writer == "Spark"
    }
    assert spark.count("\n") > 1
    shown = escape(spark).replace("&quot;", "&#34;")
    assert f"<pre>\n{shown}\n</pre>" in html


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """More columns than are shown, every fifth with a filter, the last one's full."""
    folder = tmp_path_factory.mktemp("wide")
    names = [f"c{place}" for place in range(MOST_COLUMNS + 50)]
    table = pa.table({name: np.arange(100) for name in names})
    pq.write_table(table, folder / "in.parquet", store_schema=False)
    pb.build(folder / "in.parquet", folder / "out.parquet", columns=names[4::5])
    data = bytearray((folder / "out.parquet").read_bytes())
    last = pb.inspect(folder / "out.parquet").row_groups[0].columns[-1].filter
    start = last.offset + last.header_bytes
    data[start : start + last.num_bytes] = b"\xff" * last.num_bytes
    (folder / "out.parquet").write_bytes(data)
    return report(folder / "out.parquet")


def test_a_wide_file_has_a_page_of_some_columns(wide):
    text = Document(render_report(wide)).text
    assert f"… and {50} more columns, not shown here." in text
    assert f"… and {60 - MAX_PICTURES} more filters, not shown here" in text
    assert f"… and {MOST_COLUMNS + 50 - MAX_ADVISED} more columns, not looked into here" in text
    rows = re.findall(r"(c\d+) INT64", text)[:MOST_COLUMNS]
    assert rows[:61] == [f"c{place}" for place in range(4, 300, 5)] + ["c0"]


def test_filters_with_trouble_are_shown_first(wide):
    assert len(wide.pictures) == MAX_PICTURES
    shown = [picture.occupancy.column for picture in wide.pictures]
    assert shown == [f"c{place}" for place in [*range(4, 239, 5), 299]]


def test_filters_are_advised_on_first(wide):
    advised = {advice.column for advice in wide.advice.columns}
    assert len(advised) == MAX_ADVISED
    assert advised >= {f"c{place}" for place in range(4, 300, 5)}


def test_a_page_about_very_many_chunks_is_of_bearable_size(wide):
    columns = tuple(
        replace(column, column=f"{column.column}_{copy}")
        for copy in range(333 if IS_LONG else 67)
        for column in wide.columns
    )
    findings = tuple(
        replace(wide.validation.findings[0], column=column.column) for column in columns
    )
    huge = replace(wide, columns=columns, validation=replace(wide.validation, findings=findings))
    html = render_report(huge)
    assert len(html) < 2_000_000
    assert "more places, not shown here" in html


@pytest.fixture
def run(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return outcome("report", path, *arguments)

    return run


def test_command(run, path, page):
    result = run("-o", "report.html")
    assert (result.code, result.stderr) == (0, "")
    written = Path("report.html")
    assert written.read_bytes() == page.read_bytes()
    assert re.fullmatch(
        r"report\.html: \d+\.\d KiB; \d+ errors, .* in 21 filters and .* values: not ok\n",
        result.stdout,
    )
    assert [file.name for file in Path().iterdir()] == ["report.html"]


def test_one_command_builds_what_is_advised(tmp_path, monkeypatch):
    """Not what is there; nor in the whole file what was looked at in part of it."""
    monkeypatch.chdir(tmp_path)
    numbers = np.random.default_rng(3).permutation(4_000)
    table = pa.table(
        {"id": numbers, "other, id": numbers + 1, "old": numbers, "n": np.sort(numbers)}
    )
    pq.write_table(table, "my ids.parquet", row_group_size=1_000, use_dictionary=False)
    pb.build("my ids.parquet", columns="old", in_place=True)

    def commands(*arguments):
        page = outcome("report", "my ids.parquet", "-o", "-", *arguments).stdout
        return re.findall("To build what is advised: (.*?--in-place)", Document(page).text)

    command = """pbloom build 'my ids.parquet' -c 'id,"other, id"' --fpp 0.01 --in-place"""
    assert commands() == [command]
    advised = outcome("advise", "my ids.parquet").stdout
    assert 'build filters for id, "other, id"; keep the filters of old\n' in advised
    assert commands("-g", "0") == commands("--no-deep") == []
    assert outcome(*shlex.split(command)[1:]).code == 0
    assert commands() == []
    small = {"columns": "id", "max_bytes": 64, "force": True, "existing": "replace"}
    pb.build("my ids.parquet", in_place=True, **small)
    page = outcome("report", "my ids.parquet", "-o", "-").stdout
    again = "pbloom build 'my ids.parquet' -c id --fpp 0.01 --in-place --existing replace"
    assert f"To build what is advised: {again} " in Document(page).text


@pytest.mark.parametrize("names", [("a.parquet",), ("a.parquet", "b.parquet")])
def test_filters_that_the_advice_skips_are_stripped(tmp_path, monkeypatch, names):
    monkeypatch.chdir(tmp_path)
    table = pa.table({"few": np.arange(8_000) % 7})
    for name in names:
        small = {"few": {"ndv": 7, "fpp": 0.5}}
        pq.write_table(table, name, row_group_size=2_000, bloom_filter_options=small)
    outcome("report", *names, "-o", "page.html", "--no-config")
    text = Document((tmp_path / "page.html").read_text()).text
    assert "The bitset is smaller than 64 bytes" in text
    assert f" pbloom strip {' '.join(names)} -c few --in-place " in text
    assert "--existing replace" not in text


def test_command_to_standard_output(run, page):
    assert run("-o", "-").stdout_bytes == page.read_bytes()


def test_command_with_options(run):
    run("-o", "report.html", "--no-deep", "-c", "half", "--fpp", "0.5", "--threads", "1")
    text = Document(Path("report.html").read_text(encoding="utf-8")).text
    assert "Columns 1" in text
    assert NOT_DEEP in text


def test_command_overwrites_only_when_told(run):
    written = Path("report.html")
    written.write_text("mine")
    result = run("-o", "report.html")
    assert result.code == 2
    assert "report.html: already exists" in result.stderr
    assert written.read_text() == "mine"
    assert run("-o", "report.html", "--overwrite", "--no-deep").code == 0
    assert written.read_text().startswith("<!DOCTYPE html>")


def test_command_tells_at_once_that_the_output_exists(tmp_path):
    """Before it has even looked whether the file is one."""
    (tmp_path / "no.parquet").write_text("no Parquet")
    (tmp_path / "report.html").write_text("mine")
    arguments = ["report", str(tmp_path / "no.parquet"), "-o", str(tmp_path / "report.html")]
    result = outcome(*arguments)
    assert "already exists" in result.stderr


def test_command_keeps_what_appeared_meanwhile(run, found, monkeypatch):
    def slow(*arguments, **options):
        Path("report.html").write_text("mine")
        return found

    monkeypatch.setattr("parquet_bloom.commands.report.report_file", slow)
    assert run("-o", "report.html").code == 2
    assert Path("report.html").read_text() == "mine"


def test_command_never_overwrites_its_input(path, tmp_path):
    page = tmp_path / "page.html"
    page.write_bytes(path.read_bytes())
    result = outcome("report", page, "-o", page, "--overwrite")
    assert result.code == 2
    assert "is the input itself" in result.stderr
    assert page.read_bytes() == path.read_bytes()


def test_command_needs_an_output(run):
    result = run()
    assert result.code == 2
    assert result.complaint == "expected --output FILE; see pbloom report --help"


def test_findings_are_those_of_the_policy(tmp_path):
    """As `pbloom validate` finds them in the same folder."""
    path = tmp_path / "sound.parquet"
    path.write_bytes(sound())
    assert report(path).validation.findings == ()
    strict = Policy(max_fpp=1e-9, ignore=frozenset({"PB304"}))
    assert report(path, policy=strict).validation == validate(path, policy=strict, diagnose=True)
    (tmp_path / "pbloom.toml").write_text("[validate]\nmax-fpp = 1e-9\n")
    options = ("report", path, "-o", tmp_path / "page.html", "--overwrite")
    told = outcome(*options, "--config", tmp_path / "pbloom.toml").stdout
    assert told.endswith("4 errors in 4 filters and 8,000 values: not ok\n")
    assert outcome(*options, "--no-config").stdout.endswith("8,000 values: ok\n")
