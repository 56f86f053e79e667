"""Seconds and nanoseconds of ORC, on every code path, against the rules in Python."""

from array import array
from collections.abc import Iterator
from random import Random

import pytest
from make.code_paths import choose

from parquet_bloom.native import _kernel

BILLION = 1_000_000_000
MOST_SECONDS = (1 << 53) - 1

# Around what vectors hold.
COUNTS = [1, 3, 7, 8, 9, 16, 33, 100]


@pytest.fixture(params=_kernel.CODE_PATHS, autouse=True)
def code_path(request: pytest.FixtureRequest) -> Iterator[None]:
    before = _kernel.code_path()
    choose(request.param)
    yield
    _kernel.choose_code_path(before)


def int64s(numbers: list[int]) -> memoryview:
    return memoryview(array("q", numbers))


def settled(second: int, stored: int) -> tuple[int, int]:
    zeros = stored & 7
    nano = (stored >> 3) * 10 ** (zeros + 1 if zeros else 0)
    if second < 0 and nano > 999_999:
        second -= 1
    return (second - 1, nano + BILLION) if nano < 0 else (second, nano)


def stored_nanos(random: Random) -> int:
    zeros = random.randrange(8)
    most = BILLION // 10 ** (zeros + 1 if zeros else 0) - 1
    return random.choice([0, most, -most, random.randint(-most, most)]) << 3 | zeros


@pytest.mark.parametrize("count", COUNTS)
def test_times_are_settled(count: int) -> None:
    random = Random(count)
    seconds = [random.choice([-1, 0, 1, random.randint(-(1 << 40), 1 << 40)]) for _ in range(count)]
    nanos = [stored_nanos(random) for _ in range(count)]
    found, rests = int64s(seconds), int64s(nanos)
    _kernel.orc_settle(found, rests)
    expected = [settled(*pair) for pair in zip(seconds, nanos, strict=True)]
    assert list(zip(found, rests, strict=True)) == expected


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(
    "damage", [BILLION << 3, -BILLION << 3, 10_000_000 << 3 | 1, -10 << 3 | 7, (1 << 63) - 8]
)
def test_nanoseconds_of_a_second_or_more(count: int, damage: int) -> None:
    for at in {0, count // 2, count - 1}:
        nanos = [8] * count
        nanos[at] = damage
        with pytest.raises(ValueError, match=r"^nanoseconds is damaged$"):
            _kernel.orc_settle(int64s([5] * count), int64s(nanos))


@pytest.mark.parametrize("count", COUNTS)
def test_seconds_are_shifted(count: int) -> None:
    seconds = [MOST_SECONDS - at if at % 2 else at - MOST_SECONDS for at in range(count)]
    found = int64s(seconds)
    _kernel.orc_shift(found, 1_420_070_400)
    assert list(found) == [second + 1_420_070_400 for second in seconds]
    for at in {0, count // 2, count - 1}:
        for large in (MOST_SECONDS + 1, -MOST_SECONDS - 1):
            with pytest.raises(OverflowError, match=r"^a time is too large$"):
                _kernel.orc_shift(int64s([*[0] * at, large, *[0] * (count - at - 1)]), 1)


@pytest.mark.parametrize("count", COUNTS)
def test_milliseconds_and_whether_any_is_near(count: int) -> None:
    random = Random(count)
    seconds = [random.randint(1000, 1 << 40) * random.choice([1, -1]) for _ in range(count)]
    nanos = [random.choice([0, 999_999, 1_000_000, BILLION - 1]) for _ in range(count)]
    millis, is_near = _kernel.orc_millis(int64s(seconds), int64s(nanos), -5000, 5000)
    expected = [
        second * 1000 + nano // 1_000_000 for second, nano in zip(seconds, nanos, strict=True)
    ]
    assert (list(millis), is_near) == (expected, False)
    for at in {0, count // 2, count - 1}:
        for second, nano, near in [
            (-5, 1, True),
            (4, BILLION - 1, True),
            (5, 1, False),
            (0, 0, False),
        ]:
            seconds[at], nanos[at] = second, nano
            found = _kernel.orc_millis(int64s(seconds), int64s(nanos), -5000, 5000)
            assert found[1] is near
        seconds[at] = 1 << 40
