"""pbloom rule: one rule, some, or all of them."""

import json
import re

import pytest
from conftest import ROOT
from make.commands import on_a_terminal, outcome

from parquet_bloom.commands.rule import section
from parquet_bloom.rules import next_commands
from parquet_bloom.rules.finding import OTHER_VALUES
from parquet_bloom.rules.rule import Rule, Severity, find_rule, rules


def test_a_rule_by_its_id():
    ran = outcome("rule", "PB111")
    heading, facts, *text = ran.stdout.splitlines()
    assert heading == "PB111 length-missing (error): bloom_filter_length is missing"
    assert facts == "Parquet · repair sets the length · next: pbloom repair FILE --in-place"
    assert " ".join(text) == rules()["PB111"].plain_text.replace("`", "")
    assert "parquet-java #3249 <https://github.com/apache/parquet-java/issues/3249>" in " ".join(
        text
    )
    assert all(len(line) <= 80 for line in text)


def test_several_by_name_and_id():
    ran = outcome("rule", "false-negatives", "pb602")
    first, second = ran.stdout.split("\n\n")
    assert first.splitlines()[1] == (
        "Parquet, ORC · needs the values · repair --drop-bad drops the filter, --rebuild builds"
        " another · next: pbloom validate FILE -c COLUMN --pages --diagnose, then pbloom repair FILE --rebuild --in-place"
    )
    assert second.startswith("PB602 damaged-filter-stream (error): ")


def test_where_pages_may_be_what_is_wrong_they_are_looked_at_before_the_filter_goes():
    """What a rule names first is what findings name, and its page and its document say so, too."""
    look = next_commands._LOOK_CLOSER
    assert look == "pbloom validate FILE -c COLUMN --pages --diagnose"
    with_first = {each.id: each for each in rules().values() if each.first is not None}
    assert set(with_first) == {"PB401", OTHER_VALUES}
    for rule in with_first.values():
        assert rule.steps == (look, rule.command)
        assert f"\n\nNext: `{look}`,\nthen `{rule.command}`\n\n" in section(rule)
        (document,) = map(json.loads, outcome("rule", rule.id, "--json").stdout.splitlines())
        assert (document["first"], document["next"]) == rule.steps


def test_without_a_name_all_are_listed():
    header, *lines = outcome("rule").stdout.splitlines()
    assert header == "rule\tname\tseverity\twhat is wrong"
    assert [line.split("\t")[0] for line in lines] == list(rules())


def test_the_page_in_markdown():
    assert outcome("rule", "--markdown").stdout == (ROOT / "docs" / "rules.md").read_text()
    assert outcome("rule", "PB305", "--markdown").stdout.startswith(
        "### PB305 dictionary-suffices (note)\n\n*Parquet*\n\nNext: `pbloom strip FILE -c COLUMN"
        " --in-place`\n\nEvery data page"
    )


def test_json():
    (document,) = map(json.loads, outcome("rule", "PB408", "--json").stdout.splitlines())
    text = (ROOT / "docs" / "json.md").read_text().split("## `pbloom rule`")[1].split("\n## ")[0]
    assert all(f"`{key}`" in text for key in document)
    assert (document["rule"], document["formats"]) == ("PB408", ["parquet", "orc"])
    assert (document["needs_values"], document["repair"]) == (True, "nothing")
    assert not document["needs_pages"]
    assert len(outcome("rule", "--json").stdout.splitlines()) == len(rules())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["false-negative"], "no such rule 'false-negative'; did you mean false-negatives, "),
        (["xyz"], "no such rule 'xyz'; `pbloom rule` lists them"),
        (["PB111", "--json", "--markdown"], "expected at most one of --json and --markdown"),
    ],
)
def test_what_is_no_rule(arguments, complaint):
    ran = outcome("rule", *arguments)
    assert ran.code == 2
    assert complaint in ran.stderr


def test_a_rule_has_words_that_there_are():
    facts = {"kind": "truth", "severity": Severity.NOTE, "title": "t", "prose": "p"}
    with pytest.raises(ValueError, match="PB999: repair: mend, expected set length, "):
        Rule("PB999", name="n", formats=("parquet",), repair="mend", **facts)
    with pytest.raises(ValueError, match="PB999: formats: avro, expected parquet, orc"):
        Rule("PB999", name="n", formats=("avro",), repair="drop", **facts)


def test_ids_are_not_names_and_names_are_unique():
    assert find_rule("PB101") is find_rule("offset-outside-data")
    assert len({rule.name for rule in rules().values()}) == len(rules())


def test_no_rule_sends_anybody_to_pages_that_are_not_installed():
    shown = outcome("rule", *rules()).stdout
    assert "docs/" not in re.sub("<https:[^>]*>", "", shown)


def test_on_a_terminal_of_80_columns_titles_are_whole():
    """What has no room is left out, and said to be."""
    heads, _, *lines, left_out = on_a_terminal(80, "rule")
    assert heads.split() == ["rule", "what", "is", "wrong"]
    assert [line[7:] for line in lines] == [each.title for each in rules().values()]
    assert left_out == "Left out for lack of room, but not in a pipe: name, severity."
