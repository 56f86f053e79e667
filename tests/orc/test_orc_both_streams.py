"""A file by ORC Java with both kinds of streams: their values are found in either."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from conftest import FIXTURES

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.orc.keys import AskedValues
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8, FILTER_KINDS
from parquet_bloom.verbs.probe import probe

FILE = FIXTURES / "java_original.orc"
ROWS, STRIDE = 1020, 1000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(row):
    """Instants a fortnight apart, as the clocks in New York showed them."""
    from zoneinfo import ZoneInfo

    instant = EPOCH + timedelta(milliseconds=1_000_000_007 * row)
    return instant.astimezone(ZoneInfo("America/New_York")).replace(tzinfo=None)


VALUES = {
    "number": lambda row: 7919 * row,
    "moment": moment,
}
COLUMNS = pytest.mark.parametrize("column", VALUES)


@pytest.fixture(scope="module")
def file():
    with open_file(FILE) as opened:
        yield opened


def found_in(file, column, kind, rows):
    """Of each row, the index groups in whose filter of this kind its value is."""
    stripe, of = file.stripe(0), file.column(column)
    (stream,) = stripe.streams_of(of.id, (kind,))
    stored = file.filters_in(stripe, of, stream)
    for row in rows:
        hashes = AskedValues(of, [VALUES[column](row)]).hashes(stored.key_form).of(0)
        yield (
            row,
            {
                group
                for group, filter in enumerate(stored.filters)
                if filter.check_hashes(hashes).any()
            },
        )


@COLUMNS
@pytest.mark.parametrize("kind", FILTER_KINDS)
def test_every_value_is_found_in_both_streams(file, column, kind):
    found = list(found_in(file, column, kind, range(ROWS)))
    assert all(row // STRIDE in groups for row, groups in found)
    both = sum(len(groups) == 2 for _, groups in found)
    assert both < 0.07 * ROWS


@COLUMNS
@pytest.mark.parametrize("kind", FILTER_KINDS)
def test_what_is_not_stored_is_found_as_seldom_as_was_asked(file, column, kind):
    found = found_in(file, column, kind, range(ROWS, 3 * ROWS))
    assert 0.02 < np.mean([0 in groups for _, groups in found]) < 0.08


def test_the_streams_hash_timestamps_differently(file):
    rows = range(0, ROWS, 3)
    of = file.column("moment")
    old, new = (
        file.filters_in(file.stripe(0), of, stream)
        for stream in file.stripe(0).streams_of(of.id, FILTER_KINDS)
    )
    assert (old.key_form.utf8, new.key_form.utf8) == (False, True)
    assert old.key_form.writer_timezone == "America/New_York"
    # By the other stream's keys nothing is found.
    wrong = [
        old.filters[row // STRIDE].check_hashes(
            AskedValues(of, [moment(row)]).hashes(new.key_form).of(0)
        ).any()
        for row in rows
    ]  # fmt: skip
    assert np.mean(wrong) < 0.1


def test_numbers_have_the_same_bits_in_both(file):
    of = file.column("number")
    old, new = (
        file.filters_in(file.stripe(0), of, stream)
        for stream in file.stripe(0).streams_of(of.id, FILTER_KINDS)
    )
    assert [bytes(a.bitset) for a in old.filters] == [bytes(a.bitset) for a in new.filters]


def test_the_command_asks_the_newer_stream():
    (result,) = probe(FILE, "moment", pb.literal("1970-01-12T08:46:40.007")).results
    assert result.groups[0].verdict == "maybe"
    assert [group.verdict for group in probe(FILE, "flag", True).results[0].groups] == [
        "unknown", "unknown",
    ]  # fmt: skip


def test_empty_filters_of_booleans(file):
    stored = file.filters(0, file.column("flag"))
    assert [filter.bits_set for filter in stored.filters] == [0, 0]


def test_inspect_lists_both_streams():
    for column in pb.inspect(FILE).stripes[0].columns:
        assert [stream.stream for stream in column.streams] == ["BLOOM_FILTER", "BLOOM_FILTER_UTF8"]
        assert column.filter.stream == "BLOOM_FILTER_UTF8"
    assert (BLOOM_FILTER, BLOOM_FILTER_UTF8) == FILTER_KINDS
