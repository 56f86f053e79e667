"""Renew the tables of docs/conformance.md from tests/engines/results/suite; `make docs` runs it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parquet_bloom.conformance.report import Report, Result
from parquet_bloom.conformance.suite import VERSION, cases
from parquet_bloom.conformance.writers import CHECKS

PAGE = Path(__file__).parent / "conformance.md"
RESULTS = Path(__file__).parent.parent / "tests" / "engines" / "results" / "suite"
# In the order of the tables: those that use filters first.
NAMES = (
    "duckdb",
    "datafusion",
    "spark",
    "parquet-java",
    "clickhouse",
    "rugo",
    "hyparquet",
    "polars",
    "pyarrow",
    "arrow-cpp",
    "daft",
    "parquetjs",
)

# Of the cases that an engine fails.
MOST = 12

LEVELS = {case.id: case.level for case in cases()}
CAN_USE = {case.id: case.use != "never" for case in cases()}


def reports(kind: str) -> Iterator[Report]:
    for name in NAMES:
        path = RESULTS / f"{name}.json"
        found = json.loads(path.read_text(encoding="utf-8")).get(kind) if path.exists() else None
        if found:
            results = tuple(_result(id, said) for id, said in found["results"].items())
            yield Report(VERSION, kind, found["engine"], found["version"], found["inside"], results)


def _result(id: str, said: str) -> Result:
    verdict, _, found = said.partition(": ")
    level: Any = LEVELS.get(id) or CHECKS[id.partition("/")[0]]
    return Result(id, level, verdict, found, CAN_USE.get(id, False))


def _share(counts: tuple[int, int]) -> str:
    right, of = counts
    return "" if not of else f"{right}/{of}" if right == of else f"**{right}/{of}**"


def readers() -> Iterator[str]:
    """A row for each engine: what is as it must be in each group, what should be, what uses filters."""
    found = list(reports("read"))
    groups = found[0].groups
    yield f"| reader | {' | '.join(groups)} | should | uses filters |"
    yield "|---|" + "---|" * (len(groups) + 2)
    for report in found:
        cells = [_share(report.tally("must", group)) for group in groups]
        used, able = report.uses()
        cells += [_share(report.tally("should")), f"{used} of {able}" if used else ""]
        yield f"| {_title(report)} | {' | '.join(cells)} |"


def writers() -> Iterator[str]:
    """A row for each engine, a column for each check of what must or should be."""
    checks = {check: level for check, level in CHECKS.items() if level != "may"}
    yield f"| writer | {' | '.join(checks)} |"
    yield "|---|" + "---|" * len(checks)
    for report in reports("write"):
        cells = [_share(report.tally(level, check)) for check, level in checks.items()]
        yield f"| {_title(report)} | {' | '.join(cells)} |"


def _title(report: Report) -> str:
    inside = f" ({report.inside})" if report.inside else ""
    return f"{report.engine} {report.version}{inside}"


_DOES = {"loses": "loses rows of", "differs": "finds rows too many in", "fails": "fails at"}


def losses() -> Iterator[str]:
    """A line for each engine: the cases in which its rows are wrong, or it fails where it must not; reports for it
    are in docs/upstream."""
    for report in reports("read"):
        of_verdict: dict[str, list[str]] = {}
        for each in report.broken("must"):
            of_verdict.setdefault(each.verdict, []).append(each.id)
        for verdict, ids in of_verdict.items():
            yield f"- **{_title(report)}** {_DOES[verdict]} {', '.join(_shortened(ids))}"


def _shortened(ids: list[str]) -> list[str]:
    """Of very many, the first."""
    more = [f"{len(ids) - MOST} more"] if len(ids) > MOST + 1 else []
    return [f"`{each}`" for each in (ids[:MOST] if more else ids)] + more


def renewed(text: str) -> str:
    """The page with its tables as they are now."""
    for name, lines in {"readers": readers, "writers": writers, "losses": losses}.items():
        begin, end = f"<!-- {name}, by make docs -->\n", f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = before + begin + "\n" + "\n".join(lines()) + "\n\n" + end + rest.split(end)[1]
    return text


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
