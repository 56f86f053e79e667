"""Rates as people read them, and as commands take them."""

import pytest

from parquet_bloom.filters.rates import exact_percent, parse_percent, percent, percent_beyond


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.0, "0 %"),
        (1.8e-9, "< 0.0001 %"),
        (9.9e-7, "< 0.0001 %"),
        (1e-6, "0.0001 %"),
        (1.234e-5, "0.0012 %"),
        (0.0119, "1.2 %"),
        (1.0, "100 %"),
        (12.34, "1200 %"),
        (-0.05, "-5 %"),
    ],
)
def test_percent_has_no_exponent(fraction, text):
    assert percent(fraction) == text


@pytest.mark.parametrize("digits", range(1, 14))
def test_no_rate_has_an_exponent(digits):
    assert "e" not in percent(3.7 * 10**-digits)


def test_more_digits():
    assert percent(0.020123, 3) == "2.01 %"
    assert percent(0.02, 3) == "2 %"


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.01, "1 %"),
        (0.0125, "1.25 %"),
        (0.07, "7 %"),
        (1e-9, "0.0000001 %"),
        (1 / 3, "33.3333333333 %"),
    ],
)
def test_a_rate_that_was_chosen_is_exact(fraction, text):
    assert exact_percent(fraction) == text
    assert parse_percent(text) == pytest.approx(fraction, rel=1e-11)


@pytest.mark.parametrize("fraction", [0.01, 0.02, 0.0125, 0.07, 1e-4, 3e-6, 1e-9])
def test_it_comes_back(fraction):
    assert f"{parse_percent(exact_percent(fraction)):g}" == f"{fraction:g}"


@pytest.mark.parametrize(
    ("limit", "fraction", "shown"),
    [
        (0.01, 0.010035, "1.004 %"),
        (0.01, 0.0100000004, "1.00000004 %"),
        (0.01, 0.0304, "3.04 %"),
        (0.1, 0.10001, "10.001 %"),
        (0.01, 0.01, "1 %"),
    ],
)
def test_what_is_beyond_a_limit_looks_different(limit, fraction, shown):
    assert percent_beyond(limit, fraction, 3) == shown
