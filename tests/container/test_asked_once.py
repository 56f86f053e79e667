"""Of many values, those that cannot be held, and what that costs."""

import gc
import weakref

from parquet_bloom.container.asked_once import those_held, those_not_held
from parquet_bloom.errors import ValueTypeError


class OnStack:
    """What a call works with."""


def no_text(values: list[object]) -> None:
    for value in values:
        if isinstance(value, str):
            raise ValueTypeError(f"{value}: no number")


def test_those_that_are_refused_are_told_one_by_one():
    values = [*range(3000)]
    for at in (0, 1, 700, 1500, 2999):
        values[at] = f"x{at}"
    problems = those_not_held(no_text, values)
    assert [*problems.items()] == [(at, f"x{at}: no number") for at in (0, 1, 700, 1500, 2999)]
    assert those_held(no_text, values) == [at for at in range(3000) if at not in problems]
    assert those_not_held(no_text, [5] * 9) == {}


def test_what_many_refused_values_cost():
    """Little more than a call each; and nothing of it is kept but the text."""
    alive: list[weakref.ref[OnStack]] = []

    def refuse(values: list[object]) -> None:
        on_stack = OnStack()
        alive.append(weakref.ref(on_stack))
        try:
            no_text(values)
        except ValueTypeError as error:
            raise ValueTypeError(f"{error} here") from None

    problems = those_not_held(refuse, ["x"] * 10_000)
    gc.collect()
    assert len(problems) == 10_000
    assert len(alive) < 10_600
    assert not any(ref() for ref in alive)
