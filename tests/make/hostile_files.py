"""Fixtures: the files that are attacked."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquet_bloom as pb

# In no row group of any file here.
ABSENT_VALUE = 123456


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Two row groups of an integer, a nullable text and a list; no filters."""
    path = tmp_path_factory.mktemp("plain") / "plain.parquet"
    table = pa.table(
        {
            "a": pa.array([7, 1, 2, 3], pa.int64()),
            "s": ["x", "y", None, "z"],
            "l": pa.array([[1], [], [2, 3], None], pa.list_(pa.int32())),
        }
    )
    pq.write_table(
        table, path, row_group_size=2, compression="snappy", use_dictionary=["s"],
        write_statistics=["a"],
    )  # fmt: skip
    return path.read_bytes()


@pytest.fixture(scope="session")
def filtered(plain: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The same with filters for `a` and `s` in both row groups."""
    path = tmp_path_factory.mktemp("filtered") / "filtered.parquet"
    path.write_bytes(plain)
    pb.build(path, in_place=True, columns=["a", "s"])
    return path.read_bytes()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], Path]:
    """Puts bytes into a file of their own folder, where a stray file would be seen."""
    folder = tmp_path / "in"
    folder.mkdir()

    def write(data: bytes) -> Path:
        path = folder / "f.parquet"
        path.write_bytes(data)
        return path

    return write


@pytest.fixture
def source(write: Callable[[bytes], Path], plain: bytes) -> Path:
    return write(plain)


@pytest.fixture(scope="session")
def expected(filtered: bytes, plain: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What build writes for column `a` of the plain file."""
    folder = tmp_path_factory.mktemp("expected")
    (folder / "in").write_bytes(plain)
    pb.build(folder / "in", folder / "out", columns=["a"])
    return (folder / "out").read_bytes()
