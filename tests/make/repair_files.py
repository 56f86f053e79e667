"""Fixtures: the files that are repaired."""

import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from make.filters import bits_of, stored_filter, with_filter_bytes
from make.parquet_files import built, written
from make.repairs import GROUPS, LIKE_A_FILTER, ROWS, A


@pytest.fixture(scope="session")
def bare() -> bytes:
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
    return written(table, row_group_size=ROWS, write_page_index=True)


@pytest.fixture(scope="session")
def sound(bare: bytes) -> bytes:
    """The same with filters of `a` and `s`, one behind the other."""
    return built(bare, "as")


@pytest.fixture
def zero(tmp_path: Path) -> Path:
    """A filter that has the zero that is stored, and not the one of the other sign."""
    data = written(pa.table({"a": [0.0, 1.5, -2.5]}))
    bits = bits_of((struct.pack("<d", value) for value in (0.0, 1.5, -2.5)), 2)
    path = tmp_path / "zero.parquet"
    path.write_bytes(with_filter_bytes(data, 0, A, stored_filter(bits)))
    return path
