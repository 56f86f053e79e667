"""What digests.json and facts.json.xz record, and what of it is not as it was: the case, which bytes
of the file, which value of which fact."""

import json
import lzma
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from digest_cases import Case, about, text

DIGESTS = Path(__file__).with_name("digests.json")
FACTS = Path(__file__).with_name("facts.json.xz")

MOST_LINES = 12


def recorded() -> dict[str, Case]:
    lines = json.loads(DIGESTS.read_text(encoding="utf-8"))["cases"]
    facts = json.loads(lzma.decompress(FACTS.read_bytes()))
    return {name: Case(line, *facts.get(name, ([], {}))) for name, line in lines.items()}


def behind(case: Case) -> tuple[list[dict[str, str]], dict[str, str]]:
    """What is behind the line of a case, as it is recorded: of the values their texts."""
    facts = [{name: text(value) for name, value in fact.items()} for fact in case.facts]
    return facts, dict(case.parts)


def write_facts(facts: dict[str, Any]) -> None:
    told = json.dumps(facts).encode()
    FACTS.write_bytes(lzma.compress(told, preset=9))


def differences(expected: dict[str, Case], found: dict[str, Case]) -> Iterator[str]:
    """Of each case that is not as it was a line, and some about what has changed in it."""
    missing = Case("no such case")
    for name in sorted(expected.keys() | found.keys()):
        was, now = expected.get(name, missing), found.get(name, missing)
        if was.line != now.line:
            yield f"{name}: expected {was.line}, found {now.line}"
            lines = [*_of_bytes(was, now), *_of_facts(was, now)]
            yield from (f"    {line}" for line in lines[:MOST_LINES])
            if lines[MOST_LINES:]:
                yield f"    and {len(lines) - MOST_LINES} more"


def _of_bytes(was: Case, now: Case) -> Iterator[str]:
    """Which filters, and which parts of a file that is as long as it was, have other bytes."""
    for part in was.parts:
        if part in now.parts and was.parts[part] != now.parts[part]:
            yield f"other bytes: {part}"


def _of_facts(was: Case, now: Case) -> Iterator[str]:
    before, after = _by_key(behind(was)[0]), _by_key(behind(now)[0])
    for key in sorted(before.keys() | after.keys()):
        one, other = before.get(key), after.get(key)
        if one is None or other is None:
            told = ", ".join(f"{name} {value}" for name, value in (one or other or {}).items())
            yield f"{'new' if one is None else 'gone'}: {told}"
        elif one != other:
            changes = [
                f"{name} {one.get(name)}, now {other.get(name)}"
                for name in {**one, **other}
                if one.get(name) != other.get(name)
            ]
            yield f"{key[0]}: {'; '.join(changes)}"


def _by_key(facts: list[dict[str, str]]) -> dict[tuple[str, int], dict[str, str]]:
    """Facts by what they are about; of several about the same, by their order."""
    seen: Counter[str] = Counter()
    found = {}
    for fact in sorted(facts, key=lambda fact: [*fact.values()]):
        key = about(fact)
        found[key, seen[key]] = fact
        seen[key] += 1
    return found
