"""`pbloom conformance read` and `fetch`: adapters that answer, die and babble; reports, badges, what is known."""

import hashlib
import io
import json
import re
import shlex
import sys
import tarfile
import xml.etree.ElementTree as ET
from functools import cache
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from conftest import ROOT
from make.commands import outcome
from make.documents import blocks

import parquet_bloom as pb
from parquet_bloom.conformance import suite
from parquet_bloom.conformance.adapter import MOST_READ, Greeting, Session, _answer
from parquet_bloom.conformance.readers import read_results
from parquet_bloom.conformance.report import Report, Result
from parquet_bloom.errors import AdapterError
from parquet_bloom.render.conformance import write_report

ADAPTERS = files("parquet_bloom.conformance") / "adapters"
SCHEMAS = files("parquet_bloom.conformance") / "schema"
SOME = ("legal/last-group", "semantics/or", "unknown/hash")

# Answers as it is told by the case and the form of the file, and otherwise that there is no row.
TOLD = """
import json, os, sys
print(json.dumps({"engine": "Told", "version": "1", "dialect": "*"}), flush=True)
told = json.loads(sys.argv[1])
for line in sys.stdin:
    question = json.loads(line)
    form = os.path.basename(question["path"]).removesuffix(".parquet")
    answer = told.get(question["id"] + " " + form, {"rows": []})
    if "exit" in answer:
        print("Segmentation fault, as they say", file=sys.stderr)
        os._exit(answer["exit"])
    print(json.dumps({"id": question["id"]} | answer) if "said" not in answer else answer["said"], flush=True)
"""
LAST, NOBODY = {"rows": [2002]}, {"error": "no page"}


def command(*words):
    return shlex.join([sys.executable, *map(str, words)])


@pytest.fixture
def judged(tmp_path):
    program = tmp_path / "told.py"
    program.write_text(TOLD)

    def judged(told, *more, case="legal/last-group"):
        adapter = command(program, json.dumps(told))
        return outcome("conformance", "read", "--adapter", adapter, "--case", case, *more)

    return judged


def of_last(**forms):
    """What is answered about the four forms of the case."""
    right = {"plain": LAST, "plain_damaged": NOBODY, "filtered": LAST, "filtered_damaged": LAST}
    return {
        f"legal/last-group {form.replace('_', '-')}": each for form, each in (right | forms).items()
    }


class Told:
    """The same in this process."""

    greeting = Greeting("Told", "1")

    def __init__(self, told):
        self.told = told

    def ask(self, question):
        form = Path(question["path"]).stem
        return {"id": question["id"], **self.told.get(f"{question['id']} {form}", {"rows": []})}


@pytest.mark.parametrize(
    ("forms", "verdict", "found"),
    [
        ({}, "uses", ""),
        ({"filtered_damaged": NOBODY}, "ignores", ""),
        ({"plain_damaged": LAST}, "ignores", "something else than filters excludes row groups"),
        ({"filtered": {"rows": []}}, "loses", "rows [], expected [2002]"),
        ({"filtered": {"rows": [0]}}, "loses", "rows [0], expected [2002]"),
        ({"filtered": {"rows": [2002, 0]}}, "differs", "rows [0, 2002], expected [2002]"),
        ({"filtered": {"rows": [2002, 2002]}}, "differs", "rows [2002, 2002], expected [2002]"),
        ({"filtered": NOBODY}, "fails", "no page"),
        ({"filtered": {"error": "/files/readers/a: no page"}}, "fails", "suite/readers/a: no page"),
        ({"plain": {"skip": "not today"}}, "not applicable", "not today"),
        ({"plain": NOBODY}, "not applicable", "no page"),
        (
            {"plain": {"rows": []}},
            "loses",
            "without filters: rows [], expected [2002], found with filters",
        ),
        (
            {"plain": {"rows": []}, "filtered": {"rows": []}},
            "not applicable",
            "rows [], expected [2002]",
        ),
        ({"plain": {"rows": [2002, 0]}}, "not applicable", "rows [0, 2002], expected [2002]"),
    ],
)
def test_verdicts(forms, verdict, found):
    (case,) = [case.document() for case in suite.cases() if case.id == "legal/last-group"]
    told = Told(of_last(**forms))
    (result,) = read_results(Path("/files"), [case], told, lambda done, of: None)
    assert (result.verdict, result.found) == (verdict, found)


def test_an_adapter_that_dies_or_babbles_is_started_again(tmp_path):
    program = tmp_path / "told.py"
    program.write_text(TOLD)
    other = '{"id": "other", "rows": []}'
    told = {
        "a x": {"exit": 3},
        "b x": {"said": "2002"},
        "c x": {"said": other},
        "f x": {"said": '{"id": "f", "rows": [], "skip": ""}'},
        "d x": {"rows": 1},
    }
    with Session([sys.executable, program, json.dumps(told)], 60) as session:
        assert session.greeting == Greeting("Told", "1")
        found = [session.ask({"id": id, "path": "x"}) for id in "abcdef"]
    assert found == [
        {"error": "the adapter ended, exit code 3: Segmentation fault, as they say"},
        {"error": "expected one line with an answer in JSON, found: 2002"},
        {"error": f"id: expected that of the question, found: {other}"},
        {"error": "rows: expected a list of integers, found 1"},
        {"id": "e", "rows": []},
        {
            "error": 'expected one of rows, written, error, skip, found: {"id": "f", "rows": [], "skip": ""}'
        },
    ]


def test_an_adapter_that_says_something_else_each_time_is_not_started_again_for_all(tmp_path):
    """Unless an answer was among it."""
    program = tmp_path / "told.py"
    program.write_text(TOLD)
    stray = {f"{number} x": {"said": "reading"} for number in range(9)}
    adapter = [sys.executable, program, json.dumps(stray)]
    why = "expected one line with an answer in JSON, found: reading"
    with Session(adapter, 60) as session:
        for number in range(4):
            assert session.ask({"id": str(number), "path": "x"}) == {"error": why}
        found = f"nothing was judged: none of the first 5 lines is an answer: {why}"
        with pytest.raises(AdapterError, match=re.escape(found)):
            session.ask({"id": "4", "path": "x"})
    with Session(adapter, 60) as session:
        assert session.ask({"id": "right", "path": "x"}) == {"id": "right", "rows": []}
        found = [session.ask({"id": str(number), "path": "x"}) for number in range(6)]
    assert found == [{"error": why}] * 6


PANIC = [
    "thread 'main' panicked at src/bloom.rs:17:5:",
    "index out of bounds: the len is 3 but the index is 7",
    "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
]


@pytest.mark.parametrize("more", [0, 100])
def test_all_that_is_written_to_standard_error_is_in_the_report(tmp_path, more):
    """People see both ends of what is long."""
    lines = [PANIC[0], *[f"{number}: frame" for number in range(more)], *PANIC[1:]]
    program = tmp_path / "panics.py"
    program.write_text(
        TOLD.replace('"Segmentation fault, as they say"', "sys.argv[2]").replace(
            "os._exit", "sys.stderr.flush(); os._exit"
        )
    )
    told = of_last(filtered={"exit": 101})
    adapter = command(program, json.dumps(told), "\n".join(lines))
    asked = ("conformance", "read", "--adapter", adapter, "--case", "legal/last-group")
    (result,) = json.loads(outcome(*asked, "--json").stdout)["results"]
    assert result["found"] == f"the adapter ended, exit code 101: {' '.join(lines)}"
    shown = outcome(*asked).stdout.splitlines()[-2]
    assert f"exit code 101: {PANIC[0]}" in shown
    assert f"{PANIC[2]}; about: " in shown
    assert len(shown) < MOST_READ + 100


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("1", '"1", a string'),
        (True, "true, a boolean"),
        ([1], "[1], a list"),
        ({"n": 1}, '{"n": 1}, an object'),
        (None, "null"),
        (1.5, "1.5"),
        (float("nan"), "NaN"),
    ],
)
def test_rows_are_integers(row, found):
    line = json.dumps({"id": "a", "rows": [2, row]}).encode()
    assert _answer(line) == {"error": f"rows: expected integers, found {found}"}


def test_a_number_that_is_written_as_a_fraction_is_an_integer():
    answer = _answer(b'{"id": "a", "rows": [10.0, 2.0, 1e3]}')
    assert json.dumps(answer["rows"]) == "[10, 2, 1000]"


def test_what_people_see(judged, tmp_path):
    result = judged(of_last(filtered={"rows": []}))
    assert result.stdout == (
        "Told 1: 0 of 1 as they must be, suite 1.0\n"
        "group\tmust\tshould\tuses filters\tnot applicable\n"
        "legal\t0/1\t\t0/1\t\n"
        "all\t0/1\t\t0/1\t\n"
        "loses: legal/last-group: rows [], expected [2002]; about: the value is in the last row group\n"
        "next: pbloom conformance fetch -o suite, whose files pbloom probe --explain looks into\n"
    )
    assert (result.code, result.stderr) == (1, "")


def test_cases_in_which_filters_are_not_used_are_named(judged):
    """As they are right, nothing else says which they are; where filters can be of no use, they are not among them."""
    told = of_last(filtered_damaged=NOBODY) | {
        "legal/first-group plain": {"rows": [1]},
        "legal/first-group filtered": {"rows": [1]},
        "legal/first-group filtered-damaged": {"rows": [1]},
        "semantics/or plain": {"rows": RIGHT_OF_OR},
        "semantics/or filtered": {"rows": RIGHT_OF_OR},
    }
    result = judged(told, *asked_also("first-group"), "--case", "semantics/or")
    line = "filters not used in 1 of 2 cases where they can be: legal/last-group"
    assert (result.code, result.stdout.splitlines()[-1]) == (0, line)


def test_cases_in_which_something_else_excludes_row_groups_are_named_apart(judged):
    """Nobody knows whether that reader uses filters in them."""
    result = judged(of_last(plain_damaged=LAST))
    assert (result.code, result.stdout.splitlines()[-1]) == (
        0,
        "something else than filters excludes row groups in 1 of 1 case where filters can: legal/last-group",
    )


(RIGHT_OF_OR,) = ([*case.rows] for case in suite.cases() if case.id == "semantics/or")


def reported(count, *more, kind="read"):
    """Of a reader that loses rows in so many cases of one group, and in these; and declines one."""
    many = [(f"types/t{number}", f"t = {number}") for number in range(count)]
    results = [
        Result(id, "must", "loses", "rows [], expected [1]", about=about)
        for id, about in [*many, *more]
    ]
    others = (
        Result("types/right", "must", "uses"),
        Result("types/declined", "must", "not applicable", is_declined=True),
    )
    return Report("1.0", kind, "Told", "1", "", (*results, *others))


@pytest.mark.parametrize(
    ("count", "lines"),
    [
        (
            21,
            [
                "loses: types: 20 of 22, such as types/t1: rows [], expected [1]; about: t = 1",
                "loses: types/t0: rows [], expected [1]; about: t = 0 (known)",
                "loses: legal/large: rows [], expected [1]; about: a large filter",
                "--json shows all, --case GROUP those of one group",
                "21 not as expected:",
                "types: 20, such as types/t1: expected right, found loses",
                "legal/large: expected right, found loses",
            ],
        ),
        (
            1,
            [
                "loses: types/t0: rows [], expected [1]; about: t = 0 (known)",
                "loses: legal/large: rows [], expected [1]; about: a large filter",
                "1 not as expected:",
                "legal/large: expected right, found loses",
            ],
        ),
    ],
)
def test_many_failures_are_summed_up_by_group(capsys, count, lines):
    report = reported(count, ("legal/large", "a large filter"))
    write_report(report, "must", {"types/t0": LOSES})
    shown = capsys.readouterr().out.splitlines()
    assert sorted(shown[-len(lines) :]) == sorted(lines)


@pytest.mark.parametrize(
    ("kind", "those"),
    [("read", "--case GROUP those of one group"), ("write", "--case COLUMN those of one column")],
)
def test_where_many_failures_are_shown(capsys, kind, those):
    write_report(reported(21, ("legal/large", "a large filter"), kind=kind), "must", None)
    assert capsys.readouterr().out.splitlines()[-1] == f"--json shows all, {those}"


def test_all_cases_of_a_group_are_shown_if_no_other_is_asked(capsys):
    """Which is what the line about many promises."""
    write_report(reported(30), "must", {})
    shown = capsys.readouterr().out
    assert shown.count("loses: types/t") == 30
    assert shown.count(": expected right, found loses") == 30
    assert "--json shows all" not in shown


LOSES = {"verdict": "loses", "issue": "https://example.com/1"}


@pytest.mark.parametrize(
    ("known", "filtered", "code", "last"),
    [
        ({"legal/last-group": LOSES}, {"rows": []}, 0, "As expected."),
        ({"legal/last-group": {"verdict": "differs"}}, {"rows": [2002, 0]}, 0, "As expected."),
        ({"legal/last-group": LOSES}, NOBODY, 1, "legal/last-group: expected loses, found fails"),
        ({"legal/last-group": LOSES}, LAST, 1, "legal/last-group: expected loses, found uses"),
    ],
)
def test_only_news_count(judged, tmp_path, known, filtered, code, last):
    (tmp_path / "known.json").write_text(json.dumps(known))
    jsonschema.validate(known, schema("known"))
    result = judged(of_last(filtered=filtered), "--expect", tmp_path / "known.json")
    assert (result.code, result.stdout.splitlines()[-1]) == (code, last)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[]", 'expected {"CASE": {"verdict": "loses", "issue": "https://…"}}'),
        ('{"a": 1}', 'expected {"CASE": {"verdict": "loses", "issue": "https://…"}}'),
        (
            '{"legal/absent": {"verdict": "slow"}}',
            "legal/absent: verdict 'slow', expected loses, differs, fails or not applicable",
        ),
        ("{", 'expected {"CASE": {"verdict": "loses", "issue": "https://…"}}'),
    ],
)
def test_what_is_known_is_checked_first(judged, tmp_path, text, complaint):
    (tmp_path / "known.json").write_text(text)
    result = judged({}, "--expect", tmp_path / "known.json")
    assert (result.code, result.complaint) == (2, f"{tmp_path / 'known.json'}: {complaint}")


@pytest.mark.parametrize(
    ("known", "complaint"),
    [
        ("legal/first", "no such case; did you mean legal/first-group?"),
        ("types/nosuch", "no such case; `pbloom conformance list` names them"),
        ("legal/absent", "is not asked with this --case"),
    ],
)
def test_what_is_known_is_about_cases_that_are_asked(judged, tmp_path, known, complaint):
    path = tmp_path / "known.json"
    path.write_text(json.dumps({known: LOSES}))
    result = judged(of_last(), "--expect", path)
    assert (result.code, result.complaint) == (2, f"{path}: {known}: {complaint}")


def test_failures_are_written_as_they_are_expected(judged, tmp_path):
    """With the links that are there, and what fails at a level that was asked for before."""
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    garbage = "broken/garbage"
    told = of_last(filtered={"rows": []}) | {
        f"{garbage} plain": {"rows": [1001]},
        f"{garbage} filtered": NOBODY,
    }
    asked = ("--case", garbage)
    assert judged(told, *asked, "--level", "should", "--write-expect", first).code == 1
    found = json.loads(first.read_text())
    assert found == {"legal/last-group": {"verdict": "loses"}, garbage: {"verdict": "fails"}}
    first.write_text(json.dumps(found | {"legal/last-group": LOSES}))
    result = judged(told, *asked, "--expect", first, "--write-expect", second)
    assert (result.code, result.stdout.splitlines()[-1]) == (0, "As expected.")
    assert json.loads(second.read_text()) == found | {"legal/last-group": LOSES}


def test_levels(judged):
    """A file that is damaged should be read; rows must not be lost in it."""
    id = "broken/garbage"
    refusing = {f"{id} plain": {"rows": [1001]}, f"{id} filtered": NOBODY}
    result = judged(refusing, case=id)
    more = "1 more failure with --level should, which shows what was found"
    assert (result.code, result.stdout.splitlines()[-1]) == (0, more)
    asked = judged(refusing, "--level", "should", case=id)
    last = f"fails: {id}: no page; about: 0xFF instead of a header"
    assert (asked.code, asked.stdout.splitlines()[-2]) == (1, last)
    for rows in ([], [1001, 1001]):
        assert judged(refusing | {f"{id} filtered": {"rows": rows}}, case=id).code == 1


def schema(name):
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text())


@pytest.mark.parametrize(
    ("forms", "color"),
    [
        ({}, "brightgreen"),
        ({"filtered": NOBODY}, "orange"),
        ({"filtered": {"rows": []}}, "red"),
        ({"filtered": {"rows": [2002, 2002]}}, "red"),
    ],
)
def test_report_and_badge(judged, tmp_path, forms, color):
    report, badge = tmp_path / "report.json", tmp_path / "badge.json"
    options = ("--report", report, "--badge", badge, "--json")
    result = judged(of_last(**forms), *options)
    assert report.read_text() == result.stdout
    jsonschema.validate(json.loads(report.read_text()), schema("report"))
    found = json.loads(badge.read_text())
    jsonschema.validate(found, schema("badge"))
    right = int(color == "brightgreen")
    assert (found["color"], found["message"]) == (color, f"{right}/1 must, {right} used")
    assert (
        judged(of_last(), *options).complaint
        == f"{report}: already exists: use --overwrite to replace it"
    )
    assert judged(of_last(), *options, "--overwrite").code == 0


@pytest.mark.parametrize(
    ("adapter", "complaint"),
    [
        ("no-such-program", "no-such-program: No such file or directory\n"),
        (
            "my.py",
            "my.py: No such file or directory: expected a program, such as --adapter 'python my.py'\n",
        ),
        (
            "./mine",
            "./mine: Permission denied: expected a program, which `chmod +x ./mine` makes of it: --adapter ./mine\n",
        ),
        (command("-c", "print(1)"), "expected a first line such as"),
        (command("-c", ""), "found: the adapter ended, exit code 0"),
        (
            command("-c", "import time; time.sleep(60)"),
            "found: no answer within 0.3 s: does it flush each line?",
        ),
        ("", "an empty command"),
        ("'", "No closing quotation"),
    ],
)
def test_what_is_no_adapter(adapter, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("my.py", "mine"):
        (tmp_path / name).touch(mode=0o644)
    result = outcome(
        "conformance", "read", "--adapter", adapter, "--case", "legal/absent", "--timeout", "0.3"
    )
    assert result.code == 2
    assert complaint in result.stderr
    assert "Traceback" not in result.output


def test_that_nothing_was_judged_is_no_success(judged):
    result = judged(of_last(plain={"error": "not today"}))
    complaint = "nothing was judged: legal/last-group: not today"
    assert (result.code, result.complaint) == (2, complaint)
    assert judged(of_last(plain={"skip": "no SQL"})).complaint == "nothing was judged: no SQL"
    no_reason = "nothing was judged: skip, without a reason"
    assert judged(of_last(plain={"skip": None})).complaint == no_reason


@pytest.mark.parametrize(
    ("rows", "id", "wrong"),
    [
        ([], "legal/absent", 35),
        ([2002], "legal/last-group", 35),
        ([2002], "encrypted/last-group", 2),
    ],
)
def test_an_adapter_that_gives_the_same_rows_to_all_questions_is_not_judged(rows, id, wrong):
    """Although it is right where these are expected."""
    group = id.partition("/")[0]
    asked = [case.document() for case in suite.cases() if case.id.startswith(f"{group}/")]
    constant = Told({})
    constant.ask = lambda question: {"id": question["id"], "rows": rows}
    found = f"rows {rows} whatever it is asked, which is wrong in {wrong} of {wrong + 1} cases"
    with pytest.raises(AdapterError, match=re.escape(found)):
        list(read_results(Path("/"), asked, constant, lambda done, of: None))
    (only,) = [case for case in asked if case["id"] == id]
    (result,) = read_results(Path("/"), [only], constant, lambda done, of: None)
    assert result.verdict == "ignores"


def test_an_adapter_that_is_wrong_without_filters_is_shown(judged):
    """Unlike one that says it cannot be asked that."""
    told = of_last() | {
        "legal/absent plain": {"error": ""},
        "legal/large plain": {"skip": "too large"},
        "legal/blocks-3 plain": {"error": "NameError: x\n  at 3"},
        "legal/blocks-7 plain": {"error": "NameError: x\n  at 3"},
    }
    lines = [
        "3 cases not judged:",
        "  legal/absent: error, without a reason",
        "  legal/blocks-3, legal/blocks-7: NameError: x at 3",
    ]
    result = judged(told, *asked_also("absent", "large", "blocks-3", "blocks-7"))
    assert result.stdout.splitlines()[-3:] == lines
    assert "1 of 1 as they must be, 3 cases not judged, suite 1.0\n" in result.stdout
    complaint = "3 of 4 were not judged: legal/absent: error, without a reason"
    assert (result.code, result.complaint) == (2, complaint)


def asked_also(*names):
    return [word for name in names for word in ("--case", f"legal/{name}")]


def test_what_is_not_judged_is_in_the_report_and_on_the_badge(judged, tmp_path):
    """Which is not green if that is much of it."""
    told = of_last() | {"legal/absent plain": {"error": "no"}, "legal/large plain": {"skip": "no"}}
    badge = tmp_path / "badge.json"
    result = judged(told, *asked_also("absent", "large"), "--json", "--badge", badge)
    assert result.code == 0
    report, shown = json.loads(result.stdout), json.loads(badge.read_text())
    jsonschema.validate(report, schema("report"))
    jsonschema.validate(shown, schema("badge"))
    assert report["summary"]["not_judged"] == 1
    assert (shown["color"], shown["message"]) == ("yellow", "1/1 must, 1 used, 1 not judged")


def test_a_case_that_is_not_judged_any_more_is_news(judged, tmp_path):
    """Unless it is known, or the adapter skips it; and so is one that is judged again."""
    known, now = tmp_path / "known.json", tmp_path / "now.json"
    known.write_text("{}")
    both = asked_also("absent")
    failing = of_last(plain={"error": "timeout"})
    sound = {"legal/absent plain": {"rows": []}}
    result = judged(failing | sound, *both, "--expect", known, "--write-expect", now)
    news = ["1 not as expected:", "legal/last-group: expected right, found not applicable"]
    assert (result.code, result.stdout.splitlines()[-2:]) == (1, news)
    skipping = of_last(plain={"skip": "no SQL"})
    assert judged(skipping | sound, *both, "--expect", known).code == 0
    written = json.loads(now.read_text())
    jsonschema.validate(written, schema("known"))
    assert written == {"legal/last-group": {"verdict": "not applicable"}}
    assert judged(failing | sound, *both, "--expect", now).code == 0
    result = judged(of_last() | sound, *both, "--expect", now)
    last = "legal/last-group: expected not applicable, found uses"
    assert (result.code, result.stdout.splitlines()[-1]) == (1, last)


@pytest.mark.parametrize(
    ("id", "is_wrong", "asked", "verdicts"),
    [
        ("legal/last-group", "filtered", "filtered.parquet -c v -v 60", ["absent", "absent", "maybe"]),
        (
            "legal/in-first-and-last-group", "filtered", "filtered.parquet -c v -v 40 -v 60",
            ["maybe", "absent", "absent", "absent", "absent", "maybe"],
        ),
        (
            "several/both-files", "filtered", "filtered -c v -v 10",
            ["maybe", "absent", "verdict", "absent", "maybe"],
        ),
        # Who finds the rows with filters alone is at fault where there are none.
        ("legal/last-group", "plain", "plain.parquet -c v -v 60", ["unknown"] * 3),
    ],
)  # fmt: skip
def test_the_case_that_is_looked_into(judged, tmp_path, id, is_wrong, asked, verdicts):
    """The first that is not right, asks for values and needs no key; the command finds them in the filters."""
    folder = tmp_path / "suite"
    ids = ("encrypted/last-group", "semantics/or", id)
    suite.fetch(folder, [case for case in suite.cases() if case.id in ids], [])
    told = {
        f"{case.id} {form}": {"rows": [] if form == is_wrong else [*case.rows]}
        for case in suite.cases()
        for form in case.forms
        if case.id in ids
    }
    (program,) = tmp_path.glob("told.py")
    adapter = command(program, json.dumps(told))
    result = outcome("conformance", "read", folder, "--adapter", adapter)
    *_, broken, last = result.stdout.splitlines()
    assert broken.startswith("loses: ")
    assert last == f"next: pbloom probe {folder}/readers/{id}/{asked} --explain"
    shown = outcome(*shlex.split(last.removeprefix("next: pbloom ")))
    lines = [line.split("\t") for line in shown.stdout.splitlines()[2:]]
    assert [line[2] for line in lines if len(line) > 2] == verdicts


def test_a_test_for_each_case(judged, tmp_path):
    """Of JUnit: what makes the exit code 1 fails, what is not judged or known is skipped."""
    known = tmp_path / "known.json"
    known.write_text(json.dumps({"legal/large": LOSES}))
    told = of_last(filtered={"rows": []}) | {
        "legal/large plain": {"rows": [1]},
        "legal/absent plain": {"error": "no \x01"},
        "broken/garbage plain": {"rows": [1001]},
        "broken/garbage filtered": NOBODY,
    }
    asked = (*asked_also("absent", "large"), "--case", "broken/garbage", "--format", "junit")
    large = "loses: rows [], expected [1]"
    lost = "loses: rows [], expected [2002] (expected right)"
    about = "about: the value is in the last row group"
    expected = {
        "legal/last-group": [("failure", lost, f"{lost}\n{about}")],
        "legal/large": [("failure", f"{large} (expected right)", f"{large} (expected right)\nabout: {ABOUT_LARGE}")],
        "legal/absent": [("skipped", "not applicable: no \\x01", None)],
        "broken/garbage": [("system-out", None, "fails: no page\nabout: 0xFF instead of a header")],
    }  # fmt: skip
    result = judged(told, *asked)
    assert result.code == 1
    assert cases_of(result.stdout) == expected
    assert counts_of(result.stdout) == {"legal": ("3", "2", "0", "1"), "broken": ("1", "0", "0", "0")}  # fmt: skip
    result = judged(told, *asked, "--expect", known)
    gone = "not applicable: no \\x01 (expected right)"
    expected |= {
        "legal/large": [("skipped", f"known: {large}", None)],
        "legal/absent": [("failure", gone, f"{gone}\nabout: {ABOUT_ABSENT}")],
    }
    assert cases_of(result.stdout) == expected
    assert judged(told, "--format", "json").stdout == judged(told, "--json").stdout
    both = judged(told, "--format", "junit", "--json")
    assert (both.code, both.complaint) == (2, "expected at most one of --json and --format")


ABOUT_LARGE, ABOUT_ABSENT = (
    case.about for id in ("legal/large", "legal/absent") for case in suite.cases() if case.id == id
)


@pytest.mark.parametrize(
    ("told", "skipped", "why"),
    [
        (None, 0, "expected a first line such as "),
        ({"rows": []}, 0, "the adapter answers rows [] whatever it is asked, which is wrong in 35 of 36 cases"),
        ({"rows": 1}, 36, "nothing was judged: legal/first-group, legal/last-group, "),
        ({"skip": "no SQL"}, 36, "nothing was judged: no SQL"),
        ({"said": "reading"}, 0, "none of the first 5 lines is an answer: "),
    ],
)  # fmt: skip
def test_an_adapter_at_fault_is_an_error_of_junit(tmp_path, told, skipped, why):
    """Of a file without a test, or with none but skipped ones, CI servers say that nothing has failed."""
    program = tmp_path / "adapter.py"
    program.write_text("" if told is None else TOLD.replace('{"rows": []}', "told"))
    adapter = command(program, json.dumps(told))
    asked = ("--adapter", adapter, "--case", "legal", "--format", "junit")
    result = outcome("conformance", "read", *asked)
    assert result.code == 2
    assert why in result.complaint
    found = cases_of(result.stdout)
    assert found.pop("adapter") == [("error", result.complaint, result.complaint)]
    assert [each[0][0] for each in found.values()] == ["skipped"] * skipped
    assert counts_of(result.stdout)["adapter"] == ("1", "0", "1", "0")


def test_a_writer_at_fault_is_an_error_of_junit():
    asked = ("--adapter", command("-c", ""), "--case", "few", "--format", "junit")
    result = outcome("conformance", "write", *asked)
    (error,) = ET.fromstring(result.stdout).iter("error")
    assert (result.code, error.get("message")) == (2, result.complaint)


def cases_of(text):
    root = ET.fromstring(text)
    assert root.get("name") == "pbloom conformance read"
    return {
        case.get("name"): [(each.tag, each.get("message"), each.text) for each in case]
        for case in root.iter("testcase")
    }


def counts_of(text):
    names = ("tests", "failures", "errors", "skipped")
    return {
        suite.get("name"): tuple(map(suite.get, names))
        for suite in ET.fromstring(text).iter("testsuite")
    }


def test_a_case_that_is_not_there(judged):
    complaint = judged({}, case="legal/first").complaint
    assert complaint == "legal/first: no such case or group; did you mean legal/first-group?"
    complaint = judged({}, case="int64").complaint
    assert complaint == (
        "int64: no such case or group; did you mean types/int64-integer-64-true-plain,"
        " types/int64-integer-64-true-dictionary, types/int64-integer-64-false-plain?"
    )
    complaint = judged({}, case="lega").complaint
    assert complaint == "lega: no such case or group; did you mean legal?"
    complaint = judged({}, case="seman").complaint
    assert complaint.startswith("seman: no such case or group; did you mean semantics, semantics/")
    complaint = judged({}, case="frobnicate").complaint
    assert complaint == ("frobnicate: no such case or group; `pbloom conformance list` names them")
    complaint = judged({}, case="few-texts").complaint
    expected = "is for writers, expected `pbloom conformance write --case few-texts`"
    assert complaint == f"few-texts: {expected}"
    asked = outcome("conformance", "write", "--adapter", "x", "--case", "legal")
    expected = "is for readers, expected `pbloom conformance read --case legal`"
    assert (asked.code, asked.complaint) == (2, f"legal: {expected}")


def test_what_is_listed_can_be_asked():
    kind, *rows = outcome("conformance", "list").stdout.splitlines()
    assert kind == "kind\tcase\tabout"
    assert rows[0] == "read\tlegal/first-group\tthe value is in the first of three row groups"
    some = outcome("conformance", "list", "unknown", "few-texts").stdout.splitlines()[1:]
    assert some == [
        each for each in rows if each.startswith(("read\tunknown/", "write\tfew-texts\t"))
    ]
    documents = map(json.loads, outcome("conformance", "list", "--json").stdout.splitlines())
    assert ["\t".join(each.values()) for each in documents] == rows
    manifest = json.loads(everything()[suite.MANIFEST])
    told = {"read": manifest["cases"], "write": manifest["columns"]}
    assert rows == [
        f"{kind}\t{each['id']}\t{each['about']}" for kind, asked in told.items() for each in asked
    ]


@pytest.mark.parametrize("engine", ["duckdb", "datafusion", "polars", "pyarrow"])
@pytest.mark.interop
def test_engines_that_are_here(engine):
    """Each by its adapter; what all cases say of it is in docs/conformance.md."""
    adapter = command(ADAPTERS / f"{engine}_reads.py")
    chosen = [word for case in SOME for word in ("--case", case)]
    result = outcome("conformance", "read", "--adapter", adapter, *chosen, "--json")
    found = {each["id"]: each["verdict"] for each in json.loads(result.stdout)["results"]}
    uses = "uses" if engine in ("duckdb", "datafusion") else "ignores"
    ored = "not applicable" if engine == "pyarrow" else "ignores"
    assert found == dict(zip(SOME, (uses, ored, uses), strict=True))
    assert result.code == 0


# --- the suite itself -----------------------------------------------------------------------------


@cache
def everything():
    return dict(suite.suite_files())


def test_the_manifest_is_about_all_files():
    manifest = json.loads(everything()[suite.MANIFEST])
    jsonschema.validate(manifest, schema("manifest"))
    assert manifest["sha256"].keys() == everything().keys() - {suite.MANIFEST}
    for name, data in everything().items():
        assert (
            name == suite.MANIFEST or manifest["sha256"][name] == hashlib.sha256(data).hexdigest()
        )


def test_the_files_are_the_same_everywhere():
    """If this fails, what is released as this version has changed: then it is another one."""
    parts = (
        f"{name} {hashlib.sha256(data).hexdigest()}"
        for name, data in sorted(everything().items())
        if name.startswith(("readers/", "writers/"))
    )
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    assert digest == DATA


DATA = "04412783c1a4b2e6c37fd7b593762d1011da48db4c1c876fd877571f6fadd532"


# An adapter that finds no file.
NO_FILE = "--case", "legal/absent", "--adapter", command(
    "-c",
    """
import json, sys
print(json.dumps({"engine": "x", "version": "1"}), flush=True)
for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({"id": question["id"], "error": "no file " + question["path"]}), flush=True)
""",
)  # fmt: skip


def test_fetch(tmp_path, monkeypatch):
    monkeypatch.setattr(suite, "suite_files", lambda *chosen: iter(everything().items()))
    folder = tmp_path / "suite"
    result = outcome("conformance", "fetch", "-o", folder)
    assert result.stdout == f"{folder}: {len(everything())} files, suite 1.0\n"
    assert outcome("conformance", "fetch", "-o", folder).complaint == (
        f"{folder}: is not empty, expected a new folder"
    )
    assert suite.opened(folder, "cases")["version"] == "1.0"
    monkeypatch.chdir(tmp_path)
    asked = outcome("conformance", "read", "suite", *NO_FILE)
    found = "nothing was judged: legal/absent: no file suite/readers/legal/absent/plain.parquet"
    assert asked.complaint == found
    altered = folder / "readers" / "legal" / "absent" / "plain.parquet"
    altered.write_bytes(altered.read_bytes()[:-1] + b"2")
    result = outcome("conformance", "read", folder, "--adapter", "true")
    assert result.complaint == f"{altered}: is not the file that the manifest names"
    # Who judges a writer reads the columns alone.
    altered.unlink()
    written = outcome("conformance", "write", folder, "--written", tmp_path)
    assert written.complaint.startswith(f"{tmp_path}: nothing to judge, expected files such as ")


PAGE = (ROOT / "docs" / "conformance.md").read_text()


@pytest.mark.interop
def test_the_page_shows_what_the_commands_print(tmp_path, monkeypatch):
    monkeypatch.setattr(suite, "suite_files", lambda *chosen: iter(everything().items()))
    monkeypatch.chdir(tmp_path)
    (block,) = blocks(PAGE, "console")
    for text in re.split(r"^\$ pbloom ", block, flags=re.MULTILINE)[1:]:
        line, expected = text.split("\n", 1)
        words = [sys.executable if word == "python" else word for word in shlex.split(line)]
        words = [word.replace("python ", f"{sys.executable} ") for word in words]
        result = outcome(*words)
        assert without_version(result.stdout) == without_version(expected)
        assert result.code == 0


def without_version(text):
    return re.sub(r"DuckDB [\d.]+|\d+ files", "#", text)


def test_the_question_of_the_page_is_asked(tmp_path):
    asked = []

    class Asked(Told):
        greeting = Greeting("DuckDB", "2.0.0", "duckdb")

        def ask(self, question):
            asked.append(question)
            return super().ask(question)

    (case,) = (each for each in suite.cases() if each.id == "legal/last-group")
    [*read_results(tmp_path, [case.document()], Asked(of_last()), lambda *_: None)]
    shown = json.loads(PAGE.split("Then, for each line\n")[1].split("\n\n")[0])
    assert shown | {"path": ""} in [each | {"path": ""} for each in asked]


@pytest.mark.interop
def test_the_adapter_of_the_page(tmp_path):
    (program,) = blocks(PAGE, "python")
    (tmp_path / "adapter.py").write_text(program)
    (tmp_path / "answering.py").write_bytes((ADAPTERS / "answering.py").read_bytes())
    adapter = command(tmp_path / "adapter.py")
    result = outcome(
        "conformance", "read", "--adapter", adapter, "--case", "types/int32-date-plain", "--json"
    )
    assert [each["verdict"] for each in json.loads(result.stdout)["results"]] == ["uses"]


def test_the_page_names_all_groups_and_the_number_of_cases():
    groups = dict.fromkeys(case.id.partition("/")[0] for case in suite.cases())
    table = PAGE.split("## The groups")[1]
    assert re.findall(r"^\| (\w+) \|", table, re.MULTILINE) == ["group", *groups]
    assert f"A suite of {len(suite.cases())} cases" in PAGE


@pytest.mark.parametrize(
    ("manifest", "complaint"),
    [
        ("[]", "is no manifest of a suite"),
        ("{", "is no manifest of a suite"),
        (
            '{"version": "1.0", "sha256": {}, "cases": [{"id": "a"}], "columns": []}',
            "is no manifest of a suite",
        ),
        (
            '{"version": "1.0", "sha256": {}, "cases": [], "columns": [1]}',
            "is no manifest of a suite",
        ),
        (
            '{"version": "2.1", "sha256": {}, "cases": [], "columns": []}',
            "version 2.1, expected 1.0",
        ),
    ],
)
def test_what_is_no_suite(tmp_path, manifest, complaint):
    path = tmp_path / "manifest.json"
    path.write_text(manifest)
    result = outcome("conformance", "read", tmp_path, "--adapter", "true")
    assert (result.code, result.complaint) == (2, f"{path}: {complaint}")


def test_no_suite_names_the_command_that_writes_one(tmp_path):
    folder = tmp_path / "no suite"
    result = outcome("conformance", "read", folder, "--adapter", "true")
    assert (result.code, result.complaint) == (
        2,
        f"{folder}: no suite in it: `pbloom conformance fetch -o '{folder}'` writes one",
    )
    folder.mkdir()
    (folder / "other").touch()
    result = outcome("conformance", "read", folder, "--adapter", "true")
    assert result.complaint == (
        f"{folder}: no suite in it: expected a folder that `pbloom conformance fetch -o FOLDER` has written"
    )


def test_encrypted_files_are_as_this_package_reads_them(tmp_path):
    """Which DuckDB does not, and pyarrow without their filters."""
    for case in suite.cases():
        if case.id.startswith("encrypted/"):
            path = tmp_path / "a.parquet"
            (data,) = case.written("filtered").values()
            path.write_bytes(data)
            keys = pb.Keys(footer=case.files[0].key)
            (value,) = case.ask.values
            with pb.open(path, keys=keys) as file:
                answers = file.probe("v", int(value.literal))
            absent = [each.row_group for each in answers if each.verdict == "absent"]
            assert absent == list(case.excluded)
            findings = pb.validate(path, keys=keys).findings
            assert [each.rule for each in findings if each.severity == "error"] == []


def test_the_archive_has_the_same_files(monkeypatch):
    some = {name: data for name, data in everything().items() if "unknown/" in name}
    monkeypatch.setattr(suite, "suite_files", lambda: iter(some.items()))
    packed = suite.archive()
    assert packed == suite.archive()
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        assert {entry.name: tar.extractfile(entry).read() for entry in tar} == {
            f"parquet-bloom-conformance-1.0/{name}": data for name, data in some.items()
        }
