"""Filters as users give them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import parquet_bloom as pb
from parquet_bloom.reads.predicates import predicate_of

ONE = "In('a', [1])"
TREES: list[tuple[Any, str]] = [
    ({"a": 1}, ONE),
    ({"a": [1, 2], "b": "x"}, "And([In('a', [1, 2]), In('b', ['x'])])"),
    ({"a": {1}}, ONE),
    ({}, "ANYTHING"),
    ([("a", "==", 1)], ONE),
    ([("a", "=", 1), ("b", ">=", 2)], "And([In('a', [1]), Compared('b', '>=', 2)])"),
    ([("a", "in", (1,))], ONE),
    ([[("a", "==", 1)], [("b", "<", 2)]], "Or([In('a', [1]), Compared('b', '<', 2)])"),
    ([("a", "==", 1), ("b", "!=", 2)], "And([In('a', [1]), NotIn('b', [2])])"),
    ([[("a", "==", 1)], [("b", "not in", [2])]], "Or([In('a', [1]), NotIn('b', [2])])"),
    ([("a", "not in", [1, None])], "ANYTHING"),
    ([("a", "is", None)], "ANYTHING"),
    ({"a": [1, None]}, "ANYTHING"),
    ({"a": [1.0, float("nan")]}, "ANYTHING"),
    ({"a": pd.Series([pd.Timestamp("2024-01-01"), pd.NaT])}, "ANYTHING"),
    ([("a", "<", float("nan"))], "ANYTHING"),
]


@pytest.mark.parametrize(("filters", "tree"), TREES, ids=str)
def test_filters_are_a_tree(filters: Any, tree: str) -> None:
    assert repr(predicate_of(filters)) == tree


MANY = [
    np.array([1, 2]),
    pa.array([1, 2]),
    pa.chunked_array([[1], [2]]),
    pd.Series([1, 2]),
    pl.Series([1, 2]),
    (number for number in (1, 2)),
    range(1, 3),
]


@pytest.mark.parametrize("values", MANY, ids=lambda values: type(values).__module__)
def test_values_are_of_any_library(values: Any) -> None:
    assert [int(value) for value in predicate_of({"a": values}).values] == [1, 2]


WRONG: list[tuple[Any, type[Exception], str]] = [
    (
        pc.field("a") == 1,
        TypeError,
        "filters: Expression, expected a dictionary of columns and values, or a list of (column, operator, value)",
    ),
    (
        "a == 1",
        TypeError,
        "filters: str, expected a dictionary of columns and values, or a list of (column, operator, value)",
    ),
    (
        [],
        ValueError,
        "filters: none, expected a dictionary of columns and values, or a list of (column, operator, value)",
    ),
    (
        [("a", "==", 1), [3]],
        TypeError,
        "filters: [3], expected (column, operator, value)",
    ),
    (
        [[("a", "==", 1)], [3]],
        TypeError,
        "filters: 3, expected (column, operator, value)",
    ),
    (
        [("a", "==", 1), 3],
        TypeError,
        "filters: 3, expected a dictionary of columns and values, or a list of (column, operator, value)",
    ),
    (
        [("a", "~", 1)],
        ValueError,
        "filters: column a: '~', expected one of ==, in, <, <=, >, >=, !=, not in",
    ),
    ([("a", "in", 1)], TypeError, "filters: column a: in 1, expected a list of values"),
    (
        [("a", "==", [1, 2])],
        TypeError,
        "filters: column a: == [1, 2], expected one value; in takes several",
    ),
    (
        [("a", "!=", (1, 2))],
        TypeError,
        "filters: column a: != (1, 2), expected one value; not in takes several",
    ),
    ({3: 1}, TypeError, "filters: 3, expected the name of a column"),
    (
        {"a": pb.literal("1")},
        TypeError,
        "filters: column a: pb.literal, expected what engines compare it with",
    ),
    (
        {"a": pa.table({"b": [1]})},
        TypeError,
        "filters: column a: values: a Table, expected one column of it",
    ),
    (
        [("a", "<", pb.literal("1"))],
        TypeError,
        "filters: column a: pb.literal, expected what engines compare it with",
    ),
]


@pytest.mark.parametrize(("filters", "kind", "text"), WRONG, ids=[text for *_, text in WRONG])
def test_what_is_no_filter_is_one_line(filters: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        predicate_of(filters)
    assert str(caught.value) == text


def test_a_moment_is_one_value() -> None:
    moment = dt.datetime(2024, 1, 1)
    assert predicate_of({"a": moment}).values == (moment,)
