"""What `pbloom conformance` found as JUnit XML: a suite for each group, a test for each case.

What makes the exit code 1 is a failure; a case that is not judged, or whose failure is known, is skipped; what fails
at a level that was not asked for, or has no filter in some chunks, is output of a test that passed. If the adapter is
at fault, so that the exit code is 2, that is the error of a test of its own.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from parquet_bloom.conformance.case import Level
from parquet_bloom.conformance.report import BAD, Failures, Report, Result
from parquet_bloom.render import junit


def junit_xml(report: Report, level: Level, known: Failures | None, why: str) -> bytes:
    """`why`: too little was judged, or empty."""
    suites = [*_suites(report, level, known), *([_adapter_suite(why)] if why else [])]
    return _document(report.kind, suites)


def error_xml(kind: str, why: str) -> bytes:
    """Of an adapter that leaves nothing to report."""
    return _document(kind, [_adapter_suite(why)])


def _document(kind: str, suites: list[ET.Element]) -> bytes:
    return junit.document(f"pbloom conformance {kind}", suites)


def _adapter_suite(why: str) -> ET.Element:
    suite = junit.suite("adapter")
    junit.err(junit.case(suite, "adapter"), why)
    return suite


def _suites(report: Report, level: Level, known: Failures | None) -> Iterator[ET.Element]:
    news = {each.id: each.known for each in report.news(known, level)}
    for group in report.groups:
        suite = junit.suite(group)
        for result in report.of(group):
            case = junit.case(suite, result.id)
            if result.id in news:
                _add_failure(case, result, news[result.id])
            elif not result.applies:
                junit.skip(case, f"{result.verdict}: {result.found}")
            elif result.id in (known or {}):
                junit.skip(case, f"known: {result.verdict}: {result.found}")
            elif result.verdict in BAD or result.found:
                junit.tell(case, _lines(result))
        yield suite


def _add_failure(case: ET.Element, result: Result, expected: str) -> None:
    first, *more = _lines(result)
    message = f"{first} (expected {expected})"
    junit.fail(case, result.verdict, message, [message, *more])


def _lines(result: Result) -> list[str]:
    """The verdict, what is wrong besides, and what the case is there for."""
    first = f"{result.verdict}: {result.found}".removesuffix(": ")
    return [first, *result.more, f"about: {result.about}"]
