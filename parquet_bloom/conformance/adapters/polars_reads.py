"""Ask polars, whose SQL casts to few types: a value is made of its literal where there is one."""

from decimal import Decimal

import polars as pl
from answering import Question, answer


def value(kind: pl.DataType, question: Question) -> pl.Expr:
    stored, literal = question.one()
    if kind == pl.Binary:
        return pl.lit(stored)
    if kind == pl.String:
        return pl.lit(literal)
    if kind.is_decimal():
        return pl.lit(Decimal(literal))
    if kind.is_float():
        return pl.lit(float(literal))
    if question.type == "INT96":
        text = pl.lit(literal.removesuffix("Z"))
        return text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="ns").cast(kind)
    if kind.is_integer():
        return pl.lit(int(literal), kind)
    # Polars counts times in nanoseconds.
    unit = (
        10**6 if "TIME(MILLIS" in question.type else 10**3 if "TIME(MICROS" in question.type else 1
    )
    return pl.lit(unit * int.from_bytes(stored, "little", signed=True)).cast(kind)


def ask(question: Question) -> list[int]:
    frame = pl.scan_parquet(question.files)
    if question.op == "=" and question.column == "v":
        kind = frame.collect_schema()["v"]
        return (
            frame.filter(pl.col("v") == value(kind, question)).select("n").collect()["n"].to_list()
        )
    return frame.sql(question.query("self", lambda: "")).collect()["n"].to_list()


answer("Polars", pl.__version__, ask, "polars")
