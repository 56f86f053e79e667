"""What Spark's UI calls the jobs of a verb: `add filters: 120 files, 3.1 GiB`, not `collect at job.py:57`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from parquet_bloom.spark.failures import leaving
from parquet_bloom.spark.versions import is_connect

# By which `cancelJobGroup` ends what runs here; a caller's own group stays.
GROUP: Final = "pbloom"

_GROUP, _DESCRIPTION = "spark.jobGroup.id", "spark.job.description"


@contextmanager
def described(spark: SparkSession, text: str) -> Iterator[None]:
    """Call the jobs of this thread by `text` meanwhile, and then what they were called before. Over Connect
    they get it as a tag, in which a comma is a semicolon."""
    with _tagged(spark, text) if is_connect(spark) else _as_properties(spark, text):
        yield


def group_of(spark: SparkSession) -> str:
    """The group of the jobs that this thread starts, in a classic session."""
    return str(spark.sparkContext.getLocalProperty(_GROUP))


@contextmanager
def _tagged(spark: SparkSession, text: str) -> Iterator[None]:
    tag = text.replace(",", ";")
    is_own = tag not in spark.getTags()
    spark.addTag(tag)

    def untag() -> None:
        if is_own:
            spark.removeTag(tag)

    with leaving(untag):
        yield


@contextmanager
def _as_properties(spark: SparkSession, text: str) -> Iterator[None]:
    context = spark.sparkContext
    before = {name: context.getLocalProperty(name) for name in (_GROUP, _DESCRIPTION)}
    context.setLocalProperty(_GROUP, before[_GROUP] or GROUP)
    context.setLocalProperty(_DESCRIPTION, text)

    def restore() -> None:
        for name, value in before.items():
            # None takes it away, as in Java.
            context.setLocalProperty(name, value)  # type: ignore[arg-type]

    with leaving(restore):
        yield
