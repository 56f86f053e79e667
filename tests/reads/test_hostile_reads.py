"""Damaged files and predicates about them: an answer or one line, never a traceback."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquet_bloom as pb

FILTERS = [
    {"id": 42},
    {"id": list(range(300))},
    {"text": ["key 7", "none"]},
    [("id", "<", 3)],
    [[("text", ">=", "key 9")], [("amount", "==", 0.5)]],
]


def stored(path: Path) -> bytes:
    ids = list(range(200))
    table = pa.table(
        {"id": ids, "text": [f"key {id}" for id in ids], "amount": [id / 2 for id in ids]}
    )
    pq.write_table(table, path, row_group_size=20)
    pb.build(path, columns=["id", "text"], in_place=True)
    return path.read_bytes()


def row_groups(path: Path, filters: object) -> None:
    assert pb.row_groups(path, filters).num_rows <= 10_000


def answer(read: Callable[[Path, Any], object], path: Path, filters: object) -> str:
    """The words of a refusal; empty for an answer."""
    try:
        read(path, filters)
    except pb.ParquetBloomError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("seed", range(8))
def test_other_bytes_in_the_footer_and_the_filters(tmp_path: Path, seed: int) -> None:
    chance, path = random.Random(seed), tmp_path / "a.parquet"
    data = stored(path)
    first = min(
        pq.read_metadata(path).row_group(0).column(0).bloom_filter_offset or 0, len(data) - 4000
    )
    answers = refusals = 0
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(chance.choice((1, 1, 3))):
            damaged[chance.randrange(first, len(data))] = chance.randrange(256)
        if chance.random() < 0.2:
            del damaged[chance.randrange(first, len(data)) :]
        path.write_bytes(damaged)
        found = answer(row_groups, path, chance.choice(FILTERS))
        assert "\n" not in found
        answers += not found
        refusals += bool(found)
    assert answers > 20
    assert refusals > 20


READS: dict[str, Callable[[Path, Any], object]] = {
    "rows": pb.rows,
    "read_plan": pb.read_plan,
    "dataset": pb.dataset,
    "find": lambda path, _: pb.find(path, "id", 42, columns=["text"]),
    "polars": lambda path, filters: pb.polars_source(path, filters).collect(),
}


@pytest.mark.parametrize("seed", range(4))
def test_other_bytes_anywhere(tmp_path: Path, seed: int) -> None:
    """What pyarrow reads of a dataset later, it says itself."""
    chance, path = random.Random(seed), tmp_path / "a.parquet"
    data = stored(path)
    ends = Counter[str]()
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(chance.choice((1, 2, 20))):
            damaged[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(damaged)
        for name, read in READS.items():
            found = answer(read, path, chance.choice(FILTERS))
            # Of no column, it is said that no file has it.
            assert not found or str(path) in found or found.startswith("no column "), name
            assert "\n" not in found
            ends["refusals" if found else "answers"] += 1
    assert ends["answers"] > 50
    assert ends["refusals"] > 50


def test_bounds_that_are_the_wrong_way_round_exclude_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [0x0101010101010101, 0x0202020202020202]}), path)
    low, high = b"\x01" * 8, b"\x02" * 8
    data = path.read_bytes()
    assert pb.row_groups(path, {"id": 5}).num_rows == 0
    path.write_bytes(data.replace(low, b"-" * 8).replace(high, low).replace(b"-" * 8, high))
    assert pb.row_groups(path, {"id": 5}).num_rows == 1
