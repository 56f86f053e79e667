"""docs/conformance.md has the tables of what was found, and docs/upstream a report of whatever is not as it must
be."""

import importlib.util
import re

from conftest import ROOT

from parquet_bloom.conformance.suite import VERSION, cases, suite_files
from parquet_bloom.conformance.written_columns import columns

spec = importlib.util.spec_from_file_location("conformance_page", ROOT / "docs" / "conformance.py")
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)

UPSTREAM = ROOT / "docs" / "upstream"
REPORTS = {
    path.name: path.read_text() for path in UPSTREAM.glob("*.md") if path.name != "README.md"
}
# Its look-up is wrong of nearly everything.
SUMMED_UP = "@dsnp/parquetjs"


def test_the_tables_are_what_make_docs_writes():
    text = page.PAGE.read_text()
    assert page.renewed(text) == text
    assert "\t$(BIN)/python docs/conformance.py\n" in (ROOT / "Makefile").read_text()


def test_the_page_counts_what_there_is():
    text = page.PAGE.read_text()
    assert f"A suite of {len(cases())} cases" in text
    assert f"write {len(columns())} columns" in text
    assert f"suite: {sum(1 for _ in suite_files())} files, suite {VERSION}" in text


def test_the_page_names_cases_that_there_are():
    groups = {case.id.partition("/")[0] for case in cases()}
    named = set(re.findall(r"\b([a-z]+/[a-z0-9-]+)\b", page.PAGE.read_text()))
    of_groups = {each for each in named if each.partition("/")[0] in groups}
    assert len(of_groups) > 40
    assert of_groups <= {case.id for case in cases()}


def test_all_results_are_in_the_tables():
    assert {path.stem for path in page.RESULTS.glob("*.json")} <= {*page.NAMES}
    ids = [case.id for case in cases()]
    for report in page.reports("read"):
        assert [each.id for each in report.results] == ids


def test_what_is_not_as_it_must_be_has_a_report():
    reported = {
        id
        for text in REPORTS.values()
        if (line := re.search(r"^Cases: (.*)$", text, re.MULTILINE))
        for id in re.findall(r"`([a-z]+/[a-z0-9-]+)`", line[1])
    }
    for report in page.reports("read"):
        if report.engine != SUMMED_UP:
            assert {each.id for each in report.broken("must")} <= reported, report.engine


def test_reports_are_about_cases_that_there_are():
    ids = {case.id for case in cases()}
    for name, text in REPORTS.items():
        assert text.startswith("# "), name
        named = re.findall(r"`([a-z]+/[a-z0-9-]+)`", text)
        assert set(named) <= ids, name
    index = (UPSTREAM / "README.md").read_text()
    assert sorted(re.findall(r"^\| \[([\w.-]+)\]\(\1\)", index, re.MULTILINE)) == sorted(REPORTS)
