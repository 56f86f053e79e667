"""Findings as JUnit XML: a suite for each file, a test for each rule."""

import xml.etree.ElementTree as ET

import pytest
from make.reports import BROKEN, FAILURE, LENGTHS, LOST, SOUND, report

from parquet_bloom.container import Place
from parquet_bloom.render.findings_for_ci import junit_xml
from parquet_bloom.rules.finding import finding
from parquet_bloom.rules.policy import FAIL_ON, Policy
from parquet_bloom.rules.rule import rules_of
from parquet_bloom.verbs.several import Failure

# What Jenkins' junit-10.xsd and pytest's reports allow: attributes that must be there, others that
# may, and elements inside.
GRAMMAR = {
    "testsuites": (set(), {"name", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors"}, {"skipped"}, {"testcase"}),
    "testcase": ({"name"}, {"classname"}, {"failure", "error", "skipped", "system-out"}),
    "failure": (set(), {"message", "type"}, set()),
    "error": (set(), {"message", "type"}, set()),
    "skipped": (set(), {"message", "type"}, set()),
    "system-out": (set(), set(), set()),
}

NUM_RULES = len(rules_of("parquet"))
OF_PAGES = ["PB124", "PB125", "PB126", "PB127", "PB130"]
NUM_OF_PAGES = str(len(OF_PAGES))


def check_grammar(element):
    needed, allowed, inside = GRAMMAR[element.tag]
    assert needed <= set(element.keys()) <= needed | allowed, element.tag
    for child in element:
        assert child.tag in inside, f"{child.tag} in {element.tag}"
        check_grammar(child)


DEFAULT = Policy()


def parsed(reports, failures=(), policy=DEFAULT):
    root = ET.fromstring(junit_xml(reports, failures, policy))
    check_grammar(root)
    return root


def outcomes(suite):
    """The elements of each test that did not just pass, by its rule."""
    return {case.get("name").split()[0]: list(case) for case in suite if len(case)}


def counts(element):
    return [element.get(name) for name in ("tests", "failures", "errors", "skipped")]


def test_suites_tests_and_counts():
    root = parsed([BROKEN, SOUND], [FAILURE])
    assert root.get("name") == "pbloom validate"
    assert [suite.get("name") for suite in root] == [
        "data/a.parquet", "data/b.parquet", "data/none.parquet",
    ]  # fmt: skip
    num_rules = str(NUM_RULES)
    assert [counts(suite) for suite in root] == [
        [num_rules, "2", "0", NUM_OF_PAGES], [num_rules, "0", "0", NUM_OF_PAGES], ["1", "0", "1", "0"],
    ]  # fmt: skip
    assert counts(root) == [str(2 * NUM_RULES + 1), "2", "1", None]


def test_there_is_a_test_for_each_rule():
    (suite,) = parsed([SOUND])
    assert [case.get("name") for case in suite] == [
        f"{rule.id} {rule.name}" for rule in rules_of("parquet")
    ]
    assert {case.get("classname") for case in suite} == {"data/b.parquet"}


def test_what_fails_is_a_failure_and_the_rest_output():
    (suite,) = parsed([BROKEN])
    found = outcomes(suite)
    assert set(found) == {"PB111", "PB401", "PB309", "PB206", *OF_PAGES}
    (lost,) = found["PB401"]
    assert (lost.tag, lost.get("type")) == ("failure", "error")
    assert lost.get("message") == (
        "column name, row group 1: 10 of 12 values are not in the filter (expected 0, found 10)"
    )
    assert lost.text == (
        f"error PB401 false-negatives: {lost.get('message')}\n"
        "    the values are found if they are hashed with their length:"
        " 9 of 10 values that were tried are found that way"
    )
    (order,) = found["PB206"]
    assert order.tag == "system-out"
    assert order.text == (
        "note PB206 out-of-order: column user.id, row group 2: filters are out of order"
    )


@pytest.mark.parametrize(
    ("fail_on", "failing"),
    [
        ("error", {"PB111", "PB401"}),
        ("warning", {"PB111", "PB401", "PB309"}),
        ("note", {"PB111", "PB401", "PB309", "PB206"}),
        # The exit code is for servers; people still see what is wrong.
        ("never", {"PB111", "PB401"}),
    ],
)
def test_the_policy_says_what_fails(fail_on, failing):
    (suite,) = parsed([BROKEN], policy=Policy(fail_on=FAIL_ON[fail_on]))
    found = outcomes(suite)
    assert {rule for rule, (element,) in found.items() if element.tag == "failure"} == failing
    assert suite.get("failures") == str(len(failing))


def test_all_places_of_a_rule_are_in_its_failure():
    other = finding("PB111", "bloom_filter_length is missing", place=Place(0), column="name")
    (suite,) = parsed([report(*LENGTHS, other)])
    (failure,) = outcomes(suite)["PB111"]
    assert [line.split(": ")[1] for line in failure.text.splitlines()] == [
        "column user.id, row groups 0, 1, 2; the first", "column name, row group 0",
    ]  # fmt: skip


def test_what_was_not_asked_is_skipped():
    (suite,) = parsed([report(values=0, ok=True)], policy=Policy(ignore=frozenset(["PB206"])))
    assert {rule: element.get("message") for rule, (element,) in outcomes(suite).items()} == {
        "PB206": "ignored",
        # Not PB402 and PB407, which the bits alone can break; nor PB611, which is for ORC.
        **dict.fromkeys(
            ["PB116", "PB123", "PB209", "PB210", "PB211", "PB401", "PB403", "PB404", "PB405", "PB406",
             "PB408", "PB705", "PB706", "PB707"],
            "no value was looked up",
        ),
        **dict.fromkeys(OF_PAGES, "no page was decoded"),
    }  # fmt: skip
    assert suite.get("skipped") == "20"


def test_a_finding_without_values_is_not_skipped():
    (suite,) = parsed([report(LOST, values=0)])
    assert [element.tag for element in outcomes(suite)["PB401"]] == ["failure"]


def test_a_file_that_cannot_be_checked_is_an_error():
    (suite,) = parsed([], [FAILURE])
    (case,) = suite
    assert (case.get("name"), case.get("classname")) == ("can be checked", "data/none.parquet")
    (error,) = case
    assert error.attrib == {"type": "error", "message": FAILURE.message}
    assert error.text == FAILURE.message


def test_what_xml_cannot_hold_is_escaped():
    odd = "a\x00\x1b\x85\n\t<&>\"'\ufffe\udc80\U0001f600"
    shown = "a\\x00\\x1b\\x85\\n\\t<&>\"'\\ufffe\\udc80\U0001f600"
    root = parsed([report(finding("PB111", odd, column=odd), path=odd)], [Failure(odd, odd)])
    suite, failed = root
    assert (suite.get("name"), suite[0].get("classname")) == (shown, shown)
    (failure,) = outcomes(suite)["PB111"]
    quoted = '"{}"'.format(shown.replace('"', '""'))
    assert failure.text == f"error PB111 length-missing: column {quoted}: {shown}"
    assert failure.get("message") == f"column {quoted}: {shown}"
    assert failed[0][0].text == shown


def test_no_file_at_all():
    assert counts(parsed([])) == ["0", "0", "0", None]
