"""How the files of a lake are called: by Spark, and by who opens them."""

import pytest

from parquet_bloom.spark.listing import opened_by_executors


@pytest.mark.parametrize(
    ("name", "opened"),
    [
        ("/lake/a b.parquet", "/lake/a b.parquet"),
        ("file:/lake/a%20b.parquet", "/lake/a%20b.parquet"),
        ("file:///lake/a%20b.parquet", "/lake/a b.parquet"),
        ("dbfs:/lake/a.parquet", "/dbfs/lake/a.parquet"),
        ("s3a://lake/d=1/a%20b%25.parquet", "s3://lake/d=1/a%20b%25.parquet"),
        ("s3n://lake/a b?.parquet", "s3://lake/a%20b%3F.parquet"),
        ("gcs://lake/ä.parquet", "gs://lake/%C3%A4.parquet"),
        ("abfss://box@account/a.parquet", "abfss://box@account/a.parquet"),
    ],
)
def test_what_executors_open(name, opened):
    """Paths as they are, URLs escaped as pyarrow wants them, under pyarrow's schemes."""
    assert opened_by_executors(name) == opened
