"""docs/reliability.md has the table that the last `make writers` came to, and nothing in it is wrong."""

import json

from conftest import ROOT
from writers import page

RESULTS = json.loads(page.RESULTS.read_text())


def test_the_page_has_the_table_of_the_results():
    assert page.page() == page.PAGE.read_text()


def test_no_value_that_is_there_seemed_absent():
    assert {name: each["absent"] for name, each in RESULTS.items() if each["absent"]} == {}
    assert {
        name: each["own"]["absent"] for name, each in RESULTS.items() if each["own"]["absent"]
    } == {}


def test_enough_was_asked_of_enough_writers():
    assert len({each["version"] for each in RESULTS.values()}) >= 10
    assert sum(sum(each["look_ups"].values()) for each in RESULTS.values()) >= 1_000_000


def test_make_writers_runs_it():
    makefile = (ROOT / "Makefile").read_text()
    assert "\t$(BIN)/python tests/writers/run.py $(WRITERS)\n" in makefile
