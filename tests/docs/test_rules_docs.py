"""docs/rules.md explains every rule, under its name and severity, and links to what is behind it."""

import re
from urllib.parse import urlsplit

import pytest
from conftest import ROOT
from make.defects import DEFECTS

from parquet_bloom.rules.catalogue import NEED_VALUES, RULES
from parquet_bloom.rules.known_writers import KNOWN

TEXT = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
KINDS = {
    "1": "Structure",
    "2": "Portability",
    "3": "Quality",
    "4": "Truth",
    "5": "Security",
    "6": "ORC",
    "7": "Older",
}

# From each heading of a rule to the next heading.
SECTIONS = dict(
    re.findall(r"^### (PB\d{3}) [^\n]*\n\n(.*?)(?=\n##|\Z)", TEXT, re.MULTILINE | re.DOTALL)
)

MENDS = ("`pbloom", "writer", "Write the file again", "The data must come from elsewhere", "Store")


def test_every_rule_has_its_heading_in_order_and_no_other_has():
    headings = re.findall(r"^### (.*)$", TEXT, re.MULTILINE)
    assert headings == [f"{rule.id} {rule.name} ({rule.severity})" for rule in RULES.values()]


def test_rules_stand_below_their_kind():
    order = re.findall(r"^##+ (\w+)", TEXT, re.MULTILINE)
    expected = []
    for digit, kind in KINDS.items():
        expected += [kind, *(rule for rule in RULES if rule[2] == digit)]
    assert order == expected


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_one_paragraph_with_a_link_and_a_way_out(rule):
    text = SECTIONS[rule].strip()
    assert "\n\n" not in text
    assert re.search(r"\]\(https://", text)
    assert any(way in text for way in MENDS)
    assert len(text) > 200


def test_links_are_well_formed():
    links = re.findall(r"\]\(([^)]*)\)", TEXT)
    assert len(links) >= len(RULES)
    for link in links:
        if link == "../README.md":
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


def test_the_rules_about_values_are_named_as_such():
    """What `--no-deep` leaves out: the rules that only a deep validation finds broken."""
    listed = TEXT.split("needs the stored values:")[1].split(".")[0]
    named = set(re.findall(r"PB\d{3}", listed))
    for first, last in re.findall(r"(PB\d{3}) to (PB\d{3})", listed):
        named |= {rule for rule in RULES if first <= rule <= last}
    assert named == {rule for rule in RULES if all(each.deep for each in DEFECTS[rule])}
    assert named == NEED_VALUES


def test_the_section_on_writers_names_the_table():
    assert (ROOT / "parquet_bloom/rules/known_writers.py").exists()
    assert "parquet_bloom/rules/known_writers.py" in SECTIONS["PB205"]
    links = {trouble.link for trouble in KNOWN}
    assert links & set(re.findall(r"https://[^)]*", SECTIONS["PB205"]))
