"""How fast a store is asked, by a clock that only the pace itself moves."""

from itertools import pairwise

import pytest

from parquet_bloom.storage.objects import pace
from parquet_bloom.storage.objects.pace import Pace

HERE, THERE = "s3://lake/day=1", "s3://lake/day=2"


class Clock:
    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        assert seconds > 0
        self.now += seconds

    def time(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    return clock


def gaps(paced, clock, times):
    """Seconds between requests, none of which is answered yet."""
    starts = [paced.wait(HERE) for _ in range(times)]
    assert starts[-1] <= clock.now
    return [round(after - before, 6) for before, after in pairwise(starts)]


def test_a_store_that_does_not_complain_is_asked_at_once(clock):
    assert gaps(Pace(), clock, 5) == [0, 0, 0, 0]
    assert clock.now == 1000


def test_each_complaint_doubles_the_time_between_requests(clock):
    paced = Pace()
    for expected in (0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1, 1):
        paced.slow_down(HERE, clock.now)
        assert gaps(paced, clock, 3) == [expected, expected]


def test_other_prefixes_are_asked_as_fast_as_before(clock):
    paced = Pace()
    paced.slow_down(HERE, clock.now)
    assert [paced.wait(THERE) for _ in range(3)] == [1000] * 3


def test_requests_under_way_that_are_refused_count_once(clock):
    """Sixteen at a time would have the pace at a second between two, for one moment of too many."""
    paced = Pace()
    for _ in range(16):
        paced.slow_down(HERE, 999.0)
    assert gaps(paced, clock, 2) == [0.02]


def test_answers_make_it_quicker_until_there_is_no_pace(clock):
    paced = Pace()
    paced.slow_down(HERE, clock.now)
    paced.speed_up(HERE)
    assert gaps(paced, clock, 2) == [0.018]
    for _ in range(13):
        paced.speed_up(HERE)
    assert gaps(paced, clock, 3) == [0, 0]
    assert not paced._gaps


def refused(paced, clock, requests_a_second):
    """How many of 1,000 requests a store refuses that answers so many a second; each is sent until it is
    answered. Without a pace, 2 ms pass between two."""
    times, num_refused, answered = [], 0, 0
    while answered < 1000:
        sent = paced.wait(HERE) if paced else clock.now
        clock.now += 0.002
        times = [each for each in times if each > clock.now - 1]
        if len(times) < requests_a_second:
            times.append(clock.now)
            answered += 1
            if paced:
                paced.speed_up(HERE)
        else:
            num_refused += 1
            if paced:
                paced.slow_down(HERE, sent)
    return num_refused


def test_few_requests_are_sent_in_vain(clock):
    assert refused(None, clock, 50) > 5000
    assert refused(Pace(), clock, 50) < 250
