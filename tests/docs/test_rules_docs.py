"""docs/rules.md is what the rules make of it; each rule says what is behind it, and a way out."""

import re
from urllib.parse import urlsplit

import pytest
from conftest import ROOT
from make.defects import DEFECTS

from parquet_bloom.commands.rule import page, section
from parquet_bloom.engines.writers import known_troubles
from parquet_bloom.rules.rule import Rule, rules

TEXT = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
ALL = list(rules().values())

TITLES = {
    "structure": "Structure",
    "portability": "Portability",
    "quality": "Quality",
    "truth": "Truth",
    "security": "Security",
    "orc": "ORC",
    "legacy": "Legacy filters",
}

WAYS_OUT = ("`pbloom", "writer", "Rewrite the file", "Get the data from another copy", "Store")

each_rule = pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)


def test_the_page_is_what_make_docs_writes():
    assert page() == TEXT


def test_rules_are_in_order_below_their_kind():
    expected = []
    for kind, title in TITLES.items():
        expected.append(f"## {title}")
        expected += [f"### {each.heading} ({each.severity})" for each in ALL if each.kind == kind]
    assert re.findall(r"^##+ .*$", TEXT, re.MULTILINE) == expected


@each_rule
def test_every_rule_is_one_paragraph_with_a_link_and_a_way_out(rule: Rule):
    assert "\n\n" not in rule.text
    assert re.search(r"\]\(https://", rule.text)
    assert any(way in rule.text for way in WAYS_OUT) or rule.repair != "nothing"
    assert len(section(rule)) > 200


@each_rule
def test_the_text_says_what_repair_does(rule: Rule):
    says = f"`repair{' --rebuild` builds' if rule.repair == 'rebuild' else ''}"
    assert (rule.repair != "nothing") == (says in section(rule).splitlines()[2])


def test_links_are_well_formed():
    links = re.findall(r"\]\(([^)]*)\)", TEXT)
    assert len(links) >= len(ALL)
    for link in links:
        if link == "validating.md#repair":
            continue
        parts = urlsplit(link)
        assert parts.scheme == "https", link
        assert re.fullmatch(r"[a-z0-9.-]+\.[a-z]+", parts.netloc), link
        assert re.fullmatch(r"/[\w./#-]+", parts.path), link
        assert link.isascii()


def test_a_link_that_is_named_by_a_number_leads_there():
    for name, link in re.findall(r"\[([^\]]*#\d+|GH-\d+)\]\((https://github[^)]*)\)", TEXT):
        if name.startswith("GH-"):
            continue
        assert link.endswith(f"/{name.rsplit('#', 1)[1]}"), (name, link)


def test_lines_fit():
    too_long = [line for line in TEXT.splitlines() if len(line) > 100 and "](http" not in line]
    assert too_long == []


def test_the_rules_about_values_are_those_that_only_a_deep_validation_finds():
    """What `--no-deep` leaves out."""
    listed = TEXT.split("left out with `--no-deep`:")[1].split("\n\n")[1]
    named = re.findall(r"PB\d{3}", listed)
    assert named == [rule.id for rule in ALL if rule.needs_values]
    assert set(named) == {rule.id for rule in ALL if all(each.deep for each in DEFECTS[rule.id])}


def test_the_rules_about_pages_are_those_that_take_all_of_them():
    (listed,) = re.findall(r"^(PB.*) take `--pages`", TEXT, re.MULTILINE)
    named = re.findall(r"PB\d{3}", listed)
    assert named == [rule.id for rule in ALL if rule.needs_pages]
    assert set(named) == {
        rule.id for rule in ALL if all(getattr(each, "pages", False) for each in DEFECTS[rule.id])
    }


def test_the_section_on_writers_names_the_table():
    assert (ROOT / "parquet_bloom/engines/catalogue").is_dir()
    assert "parquet_bloom/engines/catalogue" in rules()["PB205"].text
    links = {trouble.link for trouble in known_troubles()}
    assert links <= set(re.findall(r"https://[^)]*", rules()["PB205"].text))
