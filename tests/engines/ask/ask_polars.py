"""Ask polars."""

from decimal import Decimal

import polars as pl
from asking import Question, answer


def ask(question: Question) -> list[int]:
    frame = pl.scan_parquet(question.path)
    kind = frame.collect_schema()["v"]
    if kind == pl.Binary:
        value = pl.lit(question.stored)
    elif kind == pl.String:
        value = pl.lit(question.literal)
    elif kind.is_decimal():
        value = pl.lit(Decimal(question.literal))
    elif kind.is_float():
        value = pl.lit(float(question.literal))
    elif question.type == "INT96":
        text = question.literal.removesuffix("Z")
        value = pl.lit(text).str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="ns").cast(kind)
    elif question.logical.startswith("TIME(MILLIS"):
        value = pl.lit(question.number * 1_000_000).cast(kind)
    elif question.logical.startswith("TIME(MICROS"):
        value = pl.lit(question.number * 1_000).cast(kind)
    elif kind.is_integer():
        value = pl.lit(int(question.literal), kind)
    else:
        value = pl.lit(question.number).cast(kind)
    return frame.filter(pl.col("v") == value).select("n").collect()["n"].to_list()


answer("", ask)
