"""The short form of `make faults`: some commands, some of their faults; and what it must not let pass."""

import json
import os
import random

import pytest
from conftest import missing
from fuzz import faults, page
from fuzz.tracing import KILLED, CannotTraceError, Done, Traced

from parquet_bloom.storage import journal

DRAWN = 12
TRIED = [
    "build parquet in place",
    "build parquet appended in place",
    "strip orc overwritten",
    "repair parquet new",
    "build Delta Lake in place",
    "find parquet overwritten",
]

NEW, OLD = b"the new version", b"what was there"
LINE = "pbloom: in: No space left on device\n"


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return {case.name: case for case in faults.cases(tmp_path_factory.mktemp("faults"))}


@pytest.mark.every(3)
@pytest.mark.parametrize("name", TRIED)
def test_some_faults(cases, name):
    case = cases[name]
    case.prepare()
    with Traced(case.arguments, case.folder) as traced:
        try:
            found = case.record(traced)
        except CannotTraceError as error:
            missing(f"strace and leave to trace: {error}")
        # Without those of memory: where Python waits for ever, so do they.
        found = [fault for fault in found if fault.kind != "ENOMEM"]
        outcomes = {
            case.outcome(traced, fault) for fault in random.Random(name).sample(found, DRAWN)
        }
    assert outcomes >= {"old", "refused"}


@pytest.fixture
def case(cases, tmp_path):
    """A case with the folder as it is before the command."""
    (tmp_path / "source").write_bytes(b"the source")
    case = faults.Case("strip", (), tmp_path / "source", "overwritten", tmp_path / "work")
    case.prepare()
    case.new, case.stdout = NEW, "done, 0.1 s\n"
    return case


def ended(code=2, stdout="", stderr=LINE):
    return Done(code, stdout, stderr, is_met=True, calls=frozenset())


def test_what_may_be_left_of_a_failure(case):
    assert case.judge(ended(), is_killed=False) == "refused"
    case.output.write_bytes(NEW)
    assert case.judge(ended(0, "done, 2.7 s\n", ""), is_killed=False) == "done"
    told = "pbloom: out: was written, but its folder could not be synced: Input/output error\n"
    assert case.judge(ended(2, "", told), is_killed=False) == "told"


@pytest.mark.parametrize(
    ("done", "output", "left", "problem"),
    [
        (ended(), NEW[:7], None, "neither the old file nor the new one"),
        (ended(), None, None, "neither the old file nor the new one"),
        (ended(), OLD, ".out.0123456789abcdef.pbloom-tmp", "left"),
        (ended(0, "done, 0.1 s\n", ""), OLD, None, "exit code 0, and nothing done"),
        (ended(0, "done", ""), NEW, None, "done"),
        (ended(0, "done, 0.1 s\n", LINE), NEW, None, "exit code 0, and a complaint"),
        (ended(1), OLD, None, "exit code 1"),
        (ended(stderr=""), OLD, None, "not one line"),
        (ended(stderr="Traceback\n"), OLD, None, "not a complaint"),
        (ended(stderr="pbloom: internal error\n"), OLD, None, "an internal error"),
        (ended(), NEW, None, "No space left on device"),
        (ended(None), OLD, None, "no end"),
    ],
)
def test_what_must_not_be_left_of_a_failure(case, done, output, left, problem):
    case.output.unlink()
    if output is not None:
        case.output.write_bytes(output)
    if left is not None:
        (case.folder / left).touch()
    with pytest.raises(AssertionError, match=problem):
        case.judge(done, is_killed=False)


@pytest.mark.parametrize(("name", "problem"), [("out.part", "left"), ("in", "source changed")])
def test_what_must_not_be_left_of_a_kill(case, name, problem):
    (case.folder / name).write_bytes(b"half")
    with pytest.raises(AssertionError, match=problem):
        case.judge(ended(-9, "", ""), is_killed=True)


def test_what_a_kill_leaves_becomes_the_old_file(tmp_path):
    """By its journal, or it is none that may be left."""
    (tmp_path / "source").write_bytes(OLD)
    folder = tmp_path / "work"
    case = faults.Case("build", (), tmp_path / "source", "appended in place", folder)
    case.new = OLD + NEW
    case._check_killed = lambda found, left: None
    case.prepare()
    descriptor = os.open(case.output, os.O_RDWR)
    journal.write_journal(journal.Journal.of(descriptor), journal.journal_of(case.output))
    os.close(descriptor)
    assert case.judge(ended(-9, "", ""), is_killed=True) == "old"
    case.output.write_bytes(OLD + NEW[:5])
    os.utime(case.output, ns=(1, 1))
    assert case.judge(ended(-9, "", ""), is_killed=True) == "recovered"
    with pytest.raises(AssertionError, match="neither the old file nor the new one"):
        case.judge(ended(), is_killed=False)
    case.output.write_bytes(OLD)
    with pytest.raises(AssertionError, match=r"left \['.in.pbloom-journal'\]"):
        case.judge(ended(), is_killed=False)
    journal.journal_of(case.output).unlink()
    case.output.write_bytes(OLD + NEW[:5])
    with pytest.raises(AssertionError, match="neither the old file nor the new one"):
        case.judge(ended(-9, "", ""), is_killed=True)


def test_every_case_is_in_the_last_result(cases):
    lines = json.loads(page.result("faults").read_text())
    assert [f"{line['verb']} {line['format']} {line['target']}" for line in lines] == list(cases)
    assert all(line[KILLED].get("new") for line in lines if "importing" not in line["target"])
