"""Rates of false positives, those of several look-ups together, and shares as people read them."""

from __future__ import annotations

from math import expm1, inf, log1p
from typing import Final

# Smaller ones are all the same to people.
LEAST_SHARE: Final = 1e-6


def never_false(fpp: float, num_values: int = 1) -> float:
    """The logarithm of how likely a filter of this rate is to find none by chance of so many values that it does not
    hold. The sum of several is that of all."""
    if fpp < 1:
        return num_values * log1p(-fpp)
    return -inf if num_values else 0.0


def at_least_once(never: float) -> float:
    """How likely anything is found by chance, where never_false is in all `never`."""
    # And not -0.0 where nothing can be.
    return 0.0 - expm1(never)


def percent(fraction: float, digits: int = 2) -> str:
    """`1.1 %`, with two significant digits; `< 0.0001 %` for less than one in a million."""
    if 0 < fraction < LEAST_SHARE:
        return f"< {_decimal(LEAST_SHARE, 1)} %"
    return f"{_decimal(fraction, digits)} %"


def exact_percent(fraction: float) -> str:
    """A rate that somebody chose: `1.25 %`, `0.00001 %`."""
    return f"{_decimal(fraction, 12)} %"


def percent_beyond(limit: float, fraction: float, digits: int = 2) -> str:
    """As percent, with as many more digits as it takes to differ from exact_percent of a limit that it is not."""
    shown = (percent(fraction, each) for each in range(digits, 17))
    return next((text for text in shown if text != exact_percent(limit)), percent(fraction, digits))


def parse_percent(percent: str) -> float:
    """What exact_percent was given."""
    return round(float(percent.removesuffix(" %")) / 100, 15)


def _decimal(fraction: float, digits: int) -> str:
    """As a percentage, without an exponent."""
    text = f"{100 * fraction:.{digits}g}"
    _, _, exponent = text.partition("e")
    if not exponent:
        return text
    places = max(0, digits - 1 - int(exponent))
    plain = f"{float(text):.{places}f}"
    return plain.rstrip("0").rstrip(".") if places else plain
