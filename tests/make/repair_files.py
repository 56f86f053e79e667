"""Fixtures: the files that are repaired."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from make.hostile import (
    filter_header,
    with_filter_bytes,
)
from make.repairs import GROUPS, LIKE_A_FILTER, ROWS, A, built, written

import parquet_bloom as pb


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Two row groups of `a` integers, `s` texts and `b` booleans, all values once, and `f`, which is
    one value that looks like a filter; no filters."""
    numbers = np.random.default_rng(3).permutation(GROUPS * ROWS).astype(np.int64)
    table = pa.table(
        {
            "a": numbers,
            "s": [f"value {n}" for n in numbers],
            "b": [n % 2 == 0 for n in numbers],
            "f": [LIKE_A_FILTER] * len(numbers),
        }
    )
    folder = tmp_path_factory.mktemp("bare")
    return written(folder, table, row_group_size=ROWS, write_page_index=True)


@pytest.fixture(scope="session")
def sound(bare: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The same with filters of `a` and `s`, one behind the other."""
    return built(tmp_path_factory.mktemp("sound"), bare, "a", "s")


@pytest.fixture
def zero(tmp_path: Path) -> Path:
    """A filter that has the zero that is stored, and not the one of the other sign."""
    data = written(tmp_path, pa.table({"a": [0.0, 1.5, -2.5]}))
    bits = pb.SplitBlockBloomFilter.empty(2)
    for value in (0.0, 1.5, -2.5):
        bits.insert_value(np.float64(value).tobytes())
    path = tmp_path / "zero.parquet"
    path.write_bytes(with_filter_bytes(data, 0, A, filter_header(64) + bits.to_bytes()))
    return path
