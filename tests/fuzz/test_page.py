"""What docs/reliability.md shows is what the last runs found."""

import json

import pytest
from fuzz import campaign, damaged_orc, faults, memory, page
from interleavings import run

TABLES = {
    "damage": damaged_orc.table,
    "faults": faults.table,
    "fuzz": campaign.table,
    "interleavings": run.table,
    "memory": memory.table,
}


@pytest.mark.parametrize("name", TABLES)
def test_the_page_shows_the_last_result(name):
    text = page.PAGE.read_text()
    lines = json.loads(page.result(name).read_text())
    assert page.with_table(text, name, TABLES[name](lines)) == text


def test_memory_was_measured_for_every_verb():
    lines = json.loads(page.result("memory").read_text())
    assert [line["verb"] for line in lines] == list(memory.VERBS)


def test_every_command_was_given_as_many_damaged_files():
    lines = json.loads(page.result("damage").read_text())
    assert [(line["command"], line["damaged"]) for line in lines] == [
        (command, area) for command in damaged_orc.COMMANDS for area in sorted(damaged_orc.AREAS)
    ]
    assert len({line["files"] for line in lines if line["damaged"] == "values"}) == 1
