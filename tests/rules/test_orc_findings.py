"""Findings of ORC files, in all that `validate` prints: stripes and index groups."""

import json
import xml.etree.ElementTree as ET

import pytest
from conftest import FIXTURES
from make.commands import outcome
from make.orc_defect_files import sound
from make.orc_defects import exchanged
from make.reports import report

from parquet_bloom.container import STRIPES, Place
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.render.findings import grouped, place_of
from parquet_bloom.render.findings_for_ci import sarif_log
from parquet_bloom.rules.finding import finding
from parquet_bloom.rules.rule import rules_of


def lost(stripe, index_group, **more):
    place = Place(stripe, index_group, STRIPES)
    return finding("PB401", "values are lost", place=place, column="a", **more)


@pytest.mark.parametrize(
    ("places", "text"),
    [
        ([(0, None)], "column a, stripe 0"),
        ([(2, None), (0, None)], "column a, stripes 0, 2"),
        ([(1, 3)], "column a, stripe 1, index group 3"),
        ([(1, 3), (1, 0)], "column a, stripe 1, index groups 0, 3"),
        ([(1, 3), (0, 3), (0, 4)], "column a, stripes 0, 1, in 3 index groups"),
        (
            [(0, group) for group in range(12)],
            "column a, stripe 0, index groups 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … (12 in all)",
        ),
    ],
)
def test_places(places, text):
    assert place_of([lost(*place) for place in places]) == text


def test_a_place_without_a_column():
    assert place_of([finding("PB601", "text", place=Place(4, units=STRIPES))]) == "stripe 4"
    assert place_of([finding("PB309", "text")]) == ""


def test_a_diagnosis_that_rests_on_the_writer_counts_no_values():
    (group,) = grouped(
        [lost(0, each, diagnosis=Diagnosis("cpp-char", "C++ did it", 0, 0)) for each in range(2)]
    )
    assert group.diagnosis == "C++ did it"


def results(*findings):
    return sarif_log([report(*findings)], [])["runs"][0]["results"]


def test_sarif_tells_index_groups_apart():
    first, second, third, fourth = results(
        lost(0, 1), lost(1, 1), lost(0, None), finding("PB401", "lost", place=Place(0), column="a")
    )
    assert first["message"]["text"] == "column a, stripe 0, index group 1: values are lost."
    name = first["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]
    assert name == "column a, stripe 0, index group 1"
    properties = first["properties"]
    assert [properties[key] for key in ("row_group", "stripe", "index_group")] == [None, 0, 1]
    prints = {
        each["partialFingerprints"]["primaryLocationLineHash"]
        for each in (first, second, third, fourth)
    }
    assert len(prints) == 4


# ------------------------------------------------------------------------------------------------
# The command, on files of both formats

PARQUET = FIXTURES / "pyarrow_filters.parquet"


@pytest.fixture
def printed(tmp_path, monkeypatch):
    """What validate prints of a defective ORC file, a sound one and one of Parquet; the exit code
    says that one of them is not right."""
    monkeypatch.chdir(tmp_path)
    for name, data in {
        "a.orc": exchanged(), "b.orc": sound(), "c.parquet": PARQUET.read_bytes(),
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)

    def run(form):
        arguments = ["validate", "a.orc", "b.orc", "c.parquet", "--format", form, "--no-config"]
        ran = outcome(*arguments)
        assert ran.code == 1
        return ran.output

    return run


def test_text(printed):
    lines = printed("text").splitlines()
    assert lines[0] == "a.orc: 2 errors in 8 filters and 8,000 values: not ok"
    assert lines[1] == "b.orc: no findings in 8 filters and 8,000 values: ok"
    assert lines[2].startswith("c.parquet: ")
    assert lines[3].startswith(
        "a.orc: error PB401 false-negatives: column a, stripe 0, index groups 0, 1; the first: "
    )


def test_json(printed):
    first, second, third = map(json.loads, printed("json").splitlines())
    assert [each["format"] for each in (first, second, third)] == ["orc", "orc", "parquet"]
    assert [(each["stripe"], each["index_group"]) for each in first["findings"]] == [(0, 0), (0, 1)]
    assert all("row_group" in each and "stripe" not in each for each in third["findings"])


def test_junit(printed):
    suites = ET.fromstring(printed("junit"))
    names = [case.get("name") for case in suites[0]]
    assert names == [f"{rule.id} {rule.name}" for rule in rules_of("orc")]
    assert [suite.get("failures") for suite in suites] == ["1", "0", "0"]
    assert [suite.get("tests") for suite in suites] == [
        str(len(rules_of(format))) for format in ("orc", "orc", "parquet")
    ]


def test_github(printed):
    lines = printed("github").splitlines()
    assert lines[0].startswith(
        "::error file=a.orc,title=PB401 false-negatives::column a, stripe 0, index groups 0, 1; the first: "
    )


def test_sarif(printed):
    run = json.loads(printed("sarif"))["runs"][0]
    assert [each["location"]["uri"] for each in run["artifacts"]] == ["a.orc", "b.orc", "c.parquet"]
    assert [each["properties"]["index_group"] for each in run["results"][:2]] == [0, 1]


def test_rules_are_for_one_format_or_both():
    of_parquet, of_orc = set(rules_of("parquet")), set(rules_of("orc"))
    assert {rule.id[2] for rule in of_parquet - of_orc} == set("123457")
    assert {rule.id[2] for rule in of_orc - of_parquet} == {"6"}
    assert {"PB310", "PB401"} <= {rule.id for rule in of_parquet & of_orc}
