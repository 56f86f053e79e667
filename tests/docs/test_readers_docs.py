"""docs/tables.md has the tables that the last `make readers` came to, and no reader finds other rows."""

import json

from conftest import ROOT
from readers import page
from readers.lakes import LAKES
from readers.run import READERS, STATES

RESULTS = json.loads(page.RESULTS.read_text())
RIGHT = dict.fromkeys(STATES, "same")


def cases():
    for kind, found in RESULTS.items():
        for case, answers in found["cases"].items():
            for reader, states in answers.items():
                yield kind, case, reader, states


def test_the_page_has_the_tables_of_the_results():
    assert page.page() == page.PAGE.read_text()


def test_every_reader_was_asked_about_every_table():
    for kind, (_, tables) in LAKES.items():
        readers = {name for name, reader in READERS.items() if kind in reader.tables}
        assert RESULTS[kind]["versions"].keys() == readers
        assert list(RESULTS[kind]["cases"]) == [case.name for case in tables]
        for answers in RESULTS[kind]["cases"].values():
            assert answers.keys() == readers


def test_none_finds_other_rows_than_before():
    wrong = [
        (kind, case, reader)
        for kind, case, reader, states in cases()
        if {state: states[state] for state in STATES} != RIGHT
    ]
    assert wrong == []


def test_filters_are_used_by_those_who_are_said_to():
    """And by nobody else, so that what was overwritten would have been found."""
    users = {
        (kind, reader) for kind, _, reader, states in cases() if states.get("filters") == "uses"
    }
    assert users == {("delta", "query"), ("delta", "pysail"), ("iceberg", "pysail")}


def test_a_wrong_answer_stands_out():
    states = {"before": "right", **RIGHT, "filters": "ignores"}
    assert page.word(states) == "equal"
    assert page.word(states | {"filters": "uses"}) == "equal, skips"
    assert page.word(states | {"rebuilt": "0 rows"}) == "**wrong** when rebuilt"


def test_make_readers_runs_it():
    makefile = (ROOT / "Makefile").read_text()
    path = "tests:parquet_bloom/conformance/adapters"
    assert f"\tPYTHONPATH={path} $(BIN)/python tests/readers/run.py $(READERS)\n" in makefile
