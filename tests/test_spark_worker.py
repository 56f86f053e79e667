"""What an outcome says of a file, without Spark."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloom.spark.worker import outcome_of

OPTIONS = {
    "columns": ["id"], "fpp": 0.01, "ndv": None, "max_bytes": 1 << 20, "exact_blocks": False,
    "existing": "keep", "force": False, "verify": True, "dry_run": False, "only_missing": False,
    "keys_file": None,
}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    """Two row groups; the second has no values."""
    path = tmp_path / "a.parquet"
    table = pa.table({"id": pa.array([*range(1000), *[None] * 1000], pa.int64())})
    pq.write_table(table, path, row_group_size=1000)
    return path


def built(path, **options):
    return outcome_of({"verb": "build", "options": OPTIONS | options}, str(path))


def test_added_and_then_unchanged_although_a_chunk_can_have_none(path):
    outcome = built(path)
    assert (outcome.status, outcome.filters) == ("added", 1)
    assert outcome.message == "no non-null values"
    before = path.read_bytes()
    outcome = built(path)
    assert (outcome.status, outcome.filters, outcome.bytes) == ("unchanged", 0, 0)
    assert outcome.message == "has a filter already; no non-null values"
    assert path.read_bytes() == before


def test_only_missing_reads_no_page_again(path, monkeypatch):
    built(path)
    monkeypatch.setattr("parquet_bloom.verbs.build.build_with", None)
    outcome = built(path, only_missing=True)
    assert (outcome.status, outcome.message) == ("unchanged", "each column has filters")


def test_filters_that_go_because_no_other_is_allowed(path):
    plain = path.read_bytes()
    added = built(path).bytes
    outcome = built(path, existing="replace", max_bytes=64)
    assert (outcome.status, outcome.filters) == ("removed", 0)
    assert outcome.bytes == -added
    assert "at 64 bytes, the most allowed" in outcome.message
    assert path.read_bytes() == plain


def test_skipped_where_no_chunk_can_have_one(tmp_path):
    pq.write_table(pa.table({"id": pa.array([None], pa.int64())}), tmp_path / "a.parquet")
    outcome = built(tmp_path / "a.parquet")
    assert (outcome.status, outcome.message) == ("skipped", "no non-null values")
