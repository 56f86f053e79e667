"""The same bytes are written, and the same answers given, as when digests.json was made.

make_digests.py makes it, and nothing else does.
"""

import json
from importlib.metadata import version

import pytest
from differences import DIGESTS, behind, differences, recorded
from digest_cases import GROUPS, Case, cases_of, group_of, told

RECORDED = recorded()


def others() -> list[str]:
    """The libraries that are not those that the digests were made with."""
    made_with = json.loads(DIGESTS.read_text(encoding="utf-8"))["made_with"]
    return [
        f"made with {name} {then}, here {version(name)}"
        for name, then in made_with.items()
        if version(name) != then
    ]


@pytest.mark.parametrize("group", GROUPS)
def test_nothing_has_changed(group: str) -> None:
    expected = {name: case for name, case in RECORDED.items() if group_of(name) == group}
    different = list(differences(expected, cases_of(group)))
    if different:
        pytest.fail("\n".join([*different, *others()]), pytrace=False)


def test_every_case_is_in_a_group() -> None:
    assert {group_of(name) for name in RECORDED} ^ set(GROUPS) == set()


def test_the_facts_are_those_that_the_digests_are_of() -> None:
    for name, case in RECORDED.items():
        if case.facts and "literal" not in case.facts[0]:
            assert case.line.endswith(told(case.facts)), name


# A filter that is larger by a block, a literal that is not found any more, one byte of a file.
WRITTEN = Case(
    "64 aa; 1 bb",
    [{"row_group": 1, "column": "s", "offset": 32, "length": 16, "num_bytes": 32}],
    {"of 64 bytes, 0 to 4": "0", "filter, row_group 1, column s": "0"},
)
CHANGES = {
    "a field": (
        WRITTEN,
        WRITTEN._replace(line="64 aa; 1 cc", facts=[{**WRITTEN.facts[0], "num_bytes": 64}]),
        "row_group 1, column s: num_bytes 32, now 64",
    ),
    "bytes": (
        WRITTEN,
        WRITTEN._replace(
            line="64 ab; 1 bb", parts={**WRITTEN.parts, "filter, row_group 1, column s": "1"}
        ),
        "other bytes: filter, row_group 1, column s",
    ),
    "a verdict": (
        Case("ma", [{"literal": "5", "verdicts": "ma"}]),
        Case("aa", [{"literal": "5", "verdicts": "aa"}]),
        "literal 5: verdicts ma, now aa",
    ),
    "a finding": (Case("nothing"), Case("PB1", [{"rule": "PB1", "column": "s"}]), "new: rule PB1, column s"),
    "a refusal": (WRITTEN, Case("refused"), "gone: row_group 1, column s, offset 32, length 16, num_bytes 32"),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_a_failure_says_what_has_changed(what: str) -> None:
    was, now, line = CHANGES[what]
    recorded = was._replace(facts=behind(was)[0])
    assert list(differences({"a | b": recorded}, {"a | b": now}))[1:] == [f"    {line}"]
