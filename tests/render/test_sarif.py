"""Findings as SARIF: against the schema, and against what GitHub's code scanning asks for."""

import json
import tomllib
from dataclasses import replace
from email.message import Message
from hashlib import sha256
from pathlib import Path

import jsonschema
import pytest
from conftest import FIXTURES, ROOT
from make.reports import BROKEN, FAILURE, LENGTHS, LOST, ORDER, SHARE, SOUND, report

import parquet_bloom
from parquet_bloom.container import Place
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.render import findings_for_ci
from parquet_bloom.render.findings_for_ci import MAX_RESULTS, sarif_log
from parquet_bloom.rules.finding import finding
from parquet_bloom.rules.rule import rules
from parquet_bloom.verbs.several import Failure
from parquet_bloom.verbs.validate import validate

SCHEMAS = Path(__file__).parent / "schemas"
SCHEMA = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
SARIF = jsonschema.Draft202012Validator(
    SCHEMA, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
)


def run_of(reports, failures=()):
    log = sarif_log(reports, failures)
    SARIF.validate(json.loads(json.dumps(log)))
    (run,) = log["runs"]
    return run


def result_of(found, **about):
    (result,) = run_of([report(found, **about)])["results"]
    return result


def location_of(path):
    (location,) = result_of(SHARE, path=path)["locations"]
    return location["physicalLocation"]["artifactLocation"]


def test_the_schema_is_the_one_that_the_readme_names():
    digest = sha256((SCHEMAS / "sarif-2.1.0.json").read_bytes()).hexdigest()
    assert digest in (SCHEMAS / "README.md").read_text()
    assert SCHEMA["title"] == "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (["runs", 0, "results", 0, "level"], "fatal"),
        (["runs", 0, "results", 0, "message"], {}),
        (["runs", 0, "results", 0, "locations", 0, "physicalLocation", "artifactLocation"],
         {"uri": "a b"}),
        (["runs", 0, "tool", "driver", "name"], None),
        (["runs", 0, "invocations", 0], {}),
        (["version"], "2.0"),
    ],
)  # fmt: skip
def test_the_schema_refuses_what_is_wrong(place, value):
    log = json.loads(json.dumps(sarif_log([BROKEN], [FAILURE])))
    inner = log
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    assert not SARIF.is_valid(log)


def test_every_rule_and_severity_is_in_the_schema():
    run = run_of([report(*(finding(rule, "text") for rule in rules()))])
    told = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in told] == list(rules())
    assert {rule["defaultConfiguration"]["level"] for rule in told} == {
        "error", "warning", "note",
    }  # fmt: skip


def test_the_findings_of_real_files_are_in_the_schema():
    reports = [validate(path) for path in sorted(FIXTURES.glob("*_filters.parquet"))]
    results = run_of(reports)["results"]
    assert len(results) == sum(len(each.findings) for each in reports) > 10


@pytest.mark.parametrize("home", ["https://someone.github.io/x", "https://OWNER.github.io/x"])
def test_where_the_tool_lives(home, monkeypatch):
    about = Message()
    about["Project-URL"] = "Source, https://elsewhere/x"
    about["Project-URL"] = f"Documentation, {home}"
    monkeypatch.setattr(findings_for_ci, "metadata", lambda name: about)
    driver = run_of([BROKEN])["tool"]["driver"]
    assert driver.get("informationUri") == (home if "someone" in home else None)


def test_the_tool():
    driver = run_of([BROKEN])["tool"]["driver"]
    assert driver["name"] == "pbloom"
    assert driver["version"] == driver["semanticVersion"] == parquet_bloom.__version__
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    # Nothing leads to pages that are nowhere yet.
    has_home = "//OWNER" not in urls["Documentation"]
    assert driver.get("informationUri") == (urls["Documentation"] if has_home else None)
    assert [rule["id"] for rule in driver["rules"]] == ["PB111", "PB206", "PB309", "PB401"]
    help = driver["rules"][0].pop("help")
    assert help["markdown"] == rules()["PB111"].text
    assert help["text"].startswith("There is a `bloom_filter_offset` but no `bloom_filter_length`.")
    assert "parquet-java #3249 <https://github.com/apache/parquet-java/issues/3249>" in help["text"]
    assert driver["rules"][0] == {
        "id": "PB111",
        "name": "LengthMissing",
        "shortDescription": {"text": "bloom_filter_length is missing."},
        "fullDescription": {"text": "bloom_filter_length is missing."},
        "defaultConfiguration": {"level": "error"},
    }


def test_a_result():
    result = result_of(LOST)
    fingerprint = result.pop("partialFingerprints")["primaryLocationLineHash"]
    assert result == {
        "ruleId": "PB401",
        "ruleIndex": 0,
        "level": "error",
        "message": {
            "text": "column name, row group 1: 10 of 12 values are not in the filter"
            " (expected 0, found 10). Diagnosis: the values are found if they are hashed with"
            " their length: 9 of 10 values that were tried are found that way."
        },
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {
                        "uri": "data/a.parquet", "uriBaseId": "%SRCROOT%", "index": 0,
                    },
                    "region": {"startLine": 1},
                },
                "logicalLocations": [{"fullyQualifiedName": "column name, row group 1"}],
            }
        ],
        "properties": {
            "row_group": 1,
            "stripe": None,
            "index_group": None,
            "column": "name",
            "expected": "0",
            "found": "10",
            "rows": None,
            "next": None,
            "diagnosis": {
                "hypothesis": "length-prefix",
                "explanation": "the values are found if they are hashed with their length",
                "hits": 9,
                "tried": 10,
            },
        },
    }  # fmt: skip
    assert len(fingerprint) == 34
    assert fingerprint.endswith(":1")


def test_a_finding_about_the_file_has_no_logical_location():
    result = result_of(SHARE)
    assert result["message"] == {"text": "3 filters take 29% of the file."}
    assert set(result["locations"][0]) == {"physicalLocation"}


def test_results_lead_to_their_rules_and_files():
    run = run_of([SOUND, BROKEN])
    assert [
        (result["ruleId"], result["level"], result["properties"]["row_group"])
        for result in run["results"]
    ] == [
        ("PB111", "error", 0), ("PB111", "error", 1), ("PB111", "error", 2),
        ("PB401", "error", 1), ("PB309", "warning", None), ("PB206", "note", 2),
    ]  # fmt: skip
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert run["artifacts"][place["index"]]["location"]["uri"] == place["uri"]
    assert [item["location"]["uri"] for item in run["artifacts"]] == [
        "data/b.parquet", "data/a.parquet",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a.parquet", "a.parquet"),
        ("./out//a b#1.parquet", "out/a%20b%231.parquet"),
        ("../a:b.parquet", "../a%3Ab.parquet"),
        ("year=2024/100%.parquet", "year%3D2024/100%25.parquet"),
        ("\u00fc\udcff.parquet", "%C3%BC%FF.parquet"),
    ],
)
def test_relative_paths(path, uri):
    assert location_of(path) == {"uri": uri, "uriBaseId": "%SRCROOT%", "index": 0}


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/data/a b.parquet", "file:///data/a%20b.parquet"),
        ("file:///data/a%20b.parquet", "file:///data/a%20b.parquet"),
        # As Spark writes it.
        ("file:/data/a b.parquet", "file:///data/a%20b.parquet"),
        ("s3://bucket/year=2024/a b.parquet", "s3://bucket/year=2024/a%20b.parquet"),
        ("https://host:1/a%20b.parquet?x=1&y=2", "https://host:1/a%20b.parquet?x=1&y=2"),
    ],
)
def test_absolute_paths_and_urls(path, uri):
    assert location_of(path) == {"uri": uri, "index": 0}


def test_base_of_relative_paths_is_described():
    assert run_of([])["originalUriBaseIds"] == {
        "%SRCROOT%": {"description": {"text": "The folder that pbloom was run in."}}
    }


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        ("a{0}", "a{{0}}"),
        ("[x](http://a.example)", r"\[x](http://a.example)"),
        ("[x] (y)", "[x] (y)"),
        ("a\x1b\nb", r'"a\x1b\nb"'),
    ],
)
def test_what_means_something_in_a_message_is_escaped(column, shown):
    result = result_of(finding("PB310", "missing", column=column))
    assert result["message"]["text"].startswith(f"column {shown}: missing. Next: ")
    assert result["properties"]["column"] == column


def fingerprints(*reports):
    return [
        result["partialFingerprints"]["primaryLocationLineHash"]
        for result in run_of(reports)["results"]
    ]


def test_fingerprints_outlive_all_but_rule_file_row_group_and_column():
    (same,) = fingerprints(report(LOST))
    later = replace(LOST, message="other", found="11", diagnosis=Diagnosis("x", "y", 1, 2))
    assert fingerprints(report(SHARE, path="c"), report(later))[0] == same
    others = fingerprints(
        report(replace(LOST, rule="PB402")),
        report(replace(LOST, place=Place(2))),
        report(replace(LOST, column="other")),
        report(LOST, path="data/b.parquet"),
    )
    assert len({same, *others}) == 5


def test_fingerprints_are_those_of_the_version_before():
    """GitHub would close every alert and open it again."""
    assert fingerprints(report(LOST)) == ["0105df25a53768931d1d7340aff94fce:1"]


def test_a_file_that_is_named_twice_is_one_artifact():
    run = run_of([report(LOST), report(LOST, path="./data/a.parquet")])
    assert len(run["artifacts"]) == 1
    first, second = (result["locations"] for result in run["results"])
    assert first == second


def test_findings_in_one_place_are_counted():
    first, second = fingerprints(report(LOST, LOST))
    assert first.removesuffix(":1") == second.removesuffix(":2")


def test_files_that_could_not_be_checked():
    run = run_of([SOUND], [FAILURE, Failure("b{.parquet", "b{.parquet: damaged.")])
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert [
        (
            item["level"],
            item["message"]["text"],
            item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        )
        for item in invocation["toolExecutionNotifications"]
    ] == [
        ("error", "data/none.parquet: No such file or directory.", "data/none.parquet"),
        ("error", "b{{.parquet: damaged.", "b%7B.parquet"),
    ]


def test_all_is_well():
    run = run_of([SOUND])
    assert run["invocations"] == [
        {"executionSuccessful": True, "toolExecutionNotifications": []}
    ]  # fmt: skip
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])


def test_no_more_results_than_github_takes():
    many = [replace(ORDER, place=Place(number)) for number in range(MAX_RESULTS)]
    log = sarif_log([report(*many), report(*LENGTHS, path="data/b.parquet")], [])
    (run,) = log["runs"]
    assert len(run["results"]) == MAX_RESULTS == 25_000
    assert [result["ruleId"] for result in run["results"][:4]] == [*["PB111"] * 3, "PB206"]
    assert run["results"][-1]["properties"]["row_group"] == MAX_RESULTS - 4
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notification == {
        "level": "warning",
        "message": {"text": "Of 25,003 findings, only the 25,000 most severe are here."},
    }
    SARIF.validate({**log, "runs": [{**run, "results": run["results"][:10]}]})
