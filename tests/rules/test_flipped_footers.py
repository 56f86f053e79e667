"""Single bits of a footer, flipped: validate has an error, or raises one,
wherever pyarrow cannot read the file any more.

The judge is pyarrow, but for what only it minds: the schema of Arrow in the key-value metadata, which this file
does not have, and a codec that is valid and not supported there.
"""

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import IS_LONG
from make.footers import footer_start

import parquet_bloom as pb

NOT_SUPPORTED = "it is currently not supported by the C++ implementation"


@pytest.fixture(scope="module")
def small() -> bytes:
    """Two row groups with nulls, a list, a page index, and filters."""
    sink = io.BytesIO()
    rows = range(60)
    table = pa.table(
        {
            "id": [None if row % 9 == 0 else row * 7 for row in rows],
            "text": [f"text {row}" for row in rows],
            "list": [[row, row + 1] for row in rows],
        }
    )
    pq.write_table(
        table,
        sink,
        row_group_size=30,
        store_schema=False,
        write_page_index=True,
        bloom_filter_options={"id": {"ndv": 30, "fpp": 0.01}},
    )
    return sink.getvalue()


def problem_of_pyarrow(data: bytes) -> str | None:
    try:
        pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False).validate(full=True)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        return str(error)
    return None


def has_error(path: Path) -> bool:
    try:
        return not pb.validate(path, pages=True).ok
    except pb.FormatError:
        return True


@pytest.mark.parametrize("part", range(8) if IS_LONG else (0, 5))
def test_what_pyarrow_refuses_is_an_error(small: bytes, part: int, tmp_path: Path) -> None:
    path = tmp_path / "flipped.parquet"
    start, step = footer_start(small), 1 if IS_LONG else 9
    missed, num_refused = {}, 0
    for at in range(start + part % step, len(small) - 8, step):
        flipped = bytearray(small)
        flipped[at] ^= 1 << part
        problem = problem_of_pyarrow(bytes(flipped))
        if problem is None or NOT_SUPPORTED in problem:
            continue
        num_refused += 1
        path.write_bytes(flipped)
        if not has_error(path):
            missed[at - start] = problem
    assert missed == {}
    assert num_refused > 10


def test_the_file_itself_is_sound(small: bytes, tmp_path: Path) -> None:
    path = tmp_path / "sound.parquet"
    path.write_bytes(small)
    assert pb.validate(path, pages=True).ok
