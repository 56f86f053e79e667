"""The same bytes are written, and the same answers given, as when digests.json was made.

make_digests.py makes it, and nothing else does.
"""

import json
from importlib.metadata import version
from pathlib import Path

import pytest
from digest_cases import GROUPS, cases_of, differences, group_of

DIGESTS = json.loads(Path(__file__).with_name("digests.json").read_text(encoding="utf-8"))


def others() -> list[str]:
    """The libraries that are not those that the digests were made with."""
    return [
        f"made with {name} {then}, here {version(name)}"
        for name, then in DIGESTS["made_with"].items()
        if version(name) != then
    ]


@pytest.mark.parametrize("group", GROUPS)
def test_nothing_has_changed(group: str) -> None:
    expected = {case: value for case, value in DIGESTS["cases"].items() if group_of(case) == group}
    different = list(differences(expected, cases_of(group)))
    if different:
        pytest.fail("\n".join([*different, *others()]), pytrace=False)


def test_every_case_is_in_a_group() -> None:
    assert {group_of(case) for case in DIGESTS["cases"]} ^ set(GROUPS) == set()
