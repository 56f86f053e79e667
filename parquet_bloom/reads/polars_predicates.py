"""Predicates that polars pushes to its sources, as a tree of what can be decided.

polars shows an expression as JSON, whose form it does not promise. Only these nodes are read, and only of versions up
to NEWEST; everything else is ANYTHING, which excludes nothing.

    {"BinaryExpr": {"left": …, "op": "And" | "Or" | "Eq", "right": …}}
    {"Column": "user_id"}
    {"Literal": {"Scalar": {"Int64": 42}}}, {"Literal": {"Dyn": {"Int": 42}}}
    {"Literal": {"Scalar": {"String": "x"}}}

Casts are nodes of their own, so a comparison is only read where the literal is of the column's type.
"""

from __future__ import annotations

import json
import warnings
from typing import Any, Final, NamedTuple

import polars as pl

from parquet_bloom.container.conditions import In
from parquet_bloom.reads.predicates import ANYTHING, Predicate, all_of, any_of

NEWEST: Final = 2

_AND: Final = ("And", "LogicalAnd")
_OR: Final = ("Or", "LogicalOr")
_INTEGERS: Final = {f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)}


class Pushed(NamedTuple):
    """The tree of an expression; `is_all`: whether it says all that the expression does."""

    tree: Predicate
    is_all: bool


def pushed_by_polars(expression: pl.Expr) -> Pushed:
    """What an expression says, as far as it can be read."""
    if int(pl.__version__.split(".")[0]) > NEWEST:
        return Pushed(ANYTHING, False)
    with warnings.catch_warnings():
        # That the form is not promised.
        warnings.simplefilter("ignore")
        try:
            found = json.loads(expression.meta.serialize(format="json"))
        except (pl.exceptions.PolarsError, ValueError, RecursionError):
            return Pushed(ANYTHING, False)
    return _read(found)


def _read(node: Any) -> Pushed:
    match node:
        case {"BinaryExpr": {"left": left, "op": operator, "right": right}} if len(node) == 1:
            if operator == "Eq":
                found = _equal(left, right) or _equal(right, left)
                return Pushed(ANYTHING, False) if found is None else Pushed(found, True)
            if operator in (*_AND, *_OR):
                both = [_read(left), _read(right)]
                trees = [each.tree for each in both]
                tree = all_of(trees) if operator in _AND else any_of(trees)
                return Pushed(tree, all(each.is_all for each in both))
    return Pushed(ANYTHING, False)


def _equal(column: Any, literal: Any) -> In | None:
    match column, literal:
        case {"Column": str(name)}, {"Literal": {"Scalar": {"String": str(text)}}}:
            return In(name, (text,))
        case {"Column": str(name)}, {"Literal": {"Dyn": {"Int": int(number)}}}:
            return In(name, (number,))
        case {"Column": str(name)}, {"Literal": {"Scalar": dict(typed)}} if len(typed) == 1:
            ((kind, number),) = typed.items()
            if kind in _INTEGERS and type(number) is int:
                return In(name, (number,))
    return None
