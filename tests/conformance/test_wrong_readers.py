"""The suite finds what readers do wrong: each case is failed by one at least that does a single thing wrong, and
by none that does right."""

from functools import cache
from pathlib import Path

import pytest
from make import wrong_readers
from make.wrong_readers import BY_ID, Reader

from parquet_bloom.conformance.readers import read_results
from parquet_bloom.conformance.report import BAD, Report

# Of two thousand row groups, which takes as long as all others together.
LONG = "legal/2000-groups"
ASKED = [case.document() for id, case in BY_ID.items() if id != LONG]
WRONG = {
    name: kind
    for name, kind in vars(wrong_readers).items()
    if isinstance(kind, type) and issubclass(kind, Reader) and kind is not Reader
}


@cache
def results(kind):
    return tuple(read_results(Path("/"), ASKED, kind(), lambda done, of: None))


def verdicts(kind):
    return {each.id: each.verdict for each in results(kind)}


def failed(name):
    return {id for id, verdict in verdicts(WRONG[name]).items() if verdict in BAD}


def test_a_right_reader_fails_nothing_and_uses_what_can_be_used():
    found = verdicts(Reader)
    assert set(found.values()) == {"uses", "ignores"}
    comparisons = {
        id
        for id, case in BY_ID.items()
        if case.ask.op in ("=", "in") and case.excluded and id != LONG
    }
    assert {id for id, verdict in found.items() if verdict == "uses"} == comparisons


@pytest.mark.parametrize(
    ("name", "expected"),
    {
        "BelievesUnknownKinds": {"unknown/algorithm", "unknown/hash", "unknown/compression"},
        "TakesDamageForNothing": {id for id in BY_ID if id.startswith(("broken/", "unknown/"))},
        "TakesNoneForNothing": {"legal/some-groups"},
        "NeedsFilters": {"legal/first-group", "types/int32-date-plain"},
        "NeedsLength": {"legal/no-length"},
        "ReadsShort": {"legal/large"},
        "KnowsOneHeader": {"legal/header-extra-field", "legal/blocks-1"},
        "GroupZeroForAll": {"legal/last-group"},
        "FiltersInOrder": {"legal/filters-reversed"},
        "BlocksByRemainder": {"legal/blocks-3", "legal/blocks-7", "legal/blocks-13"},
        "StopsAtFirstGroup": {
            *("legal/first-and-last-group", "legal/in-first-and-last-group"),
            *("several/both-files", "several/in-both-files"),
        },
        "StopsAtFirstRow": {"legal/first-and-last-group", "legal/in-first-and-last-group"},
        "LooksForFirstHit": {f"legal/in-{id}" for id in ("same-group", "same-group-around", "two-groups")},
        "LooksUntilMiss": {"legal/in-same-group-around", "legal/in-two-groups"},
        "ReadsForEachHit": {"legal/in-same-group", "legal/in-same-group-around", "legal/in-two-groups"},
        "CountsWhatStatisticsLeave": {"legal/behind-statistics"},
        "CountsColumns": {"legal/behind-struct"},
        "Backwards": {"semantics/all-ones"},
        "FailsWithNothingLeft": {"legal/absent"},
        "AsksOneZero": {
            f"semantics/{sign}-zero-{type}" for sign in ("minus", "plus") for type in ("double", "float")
        },
        "HashesNarrow": {f"types/int32-integer-{n}-true-plain" for n in (8, 16)},
        "HashesWide": {
            *("types/int32-date-plain", "semantics/wider-literal", "semantics/cast-column"),
            *("several/widened", "several/widened-float"),
        },
        "Shortens": {"types/decimal-scale-bytes"},
        "FoldsCase": {"legal/text"},
        "HashesText": {"semantics/as-text", "semantics/double-literal", "semantics/between"},
        "TakesAnyLiteral": {
            f"semantics/{id}"
            for id in ("or", "not-equal", "not", "not-in", "distinct", "minus", "plus", "hex", "lower", "coalesce")
        },
        "LooksUpNull": {"semantics/null", "semantics/not-distinct-null", "semantics/not-null-only"},
        "Overflows": {"semantics/out-of-range"},
    }.items(),
)  # fmt: skip
def test_what_one_wrong_thing_fails(name, expected):
    assert expected <= failed(name)
    assert failed(name) < set(BY_ID), "it does more than one thing wrong"


def test_a_reader_that_spares_itself_large_filters_does_not_use_them():
    """It is right, as one that uses them where they only have to let a row group be read."""
    right, found = verdicts(Reader), verdicts(WRONG["SparesLarge"])
    assert {id: (right[id], found[id]) for id in found if found[id] != right[id]} == {
        "legal/large-excludes": ("uses", "ignores")
    }


@pytest.mark.parametrize("name", ["LooksForFirstHit", "LooksUntilMiss", "ReadsForEachHit"])
def test_what_is_done_wrong_with_lists_alone(name):
    """All others are as they must be."""
    assert {id.partition("-")[0] for id in failed(name)} == {"legal/in"}
    assert not failed(name) & {"legal/in", "legal/in-20", "legal/in-first-and-last-group"}


def test_a_reader_that_fails_without_filters_too_is_not_green():
    """No verdict about filters follows from that; that nearly all cases are open is said."""
    report = Report("1.0", "read", "reader", "1", "", results(WRONG["FailsAtFirst"]))
    assert failed("FailsAtFirst") == set()
    assert (report.num_judged, report.num_not_judged) == (1, len(ASKED) - 1)
    assert report.badge()["color"] == "yellow"
    assert report.badge()["message"] == f"1/1 must, 1 used, {len(ASKED) - 1} not judged"
    assert len(report.news({}, "must")) == len(ASKED) - 1


def test_each_case_is_failed_by_a_wrong_reader():
    assert set().union(*map(failed, WRONG)) == set(BY_ID) - {LONG}
    long, kind = [BY_ID[LONG].document()], WRONG["GroupZeroForAll"]
    (result,) = read_results(Path("/"), long, kind(), lambda done, of: None)
    assert result.verdict == "loses"
