"""The lake of docs/reading.md, in which two rows are of the user that all recipes look for."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import parquet_bloom as pb

ROWS, USER = 2, 42


def make_lake(folder: Path) -> None:
    """`lake/` and `users.index` in a folder."""
    lake = folder / "lake"
    lake.mkdir(parents=True)
    ids = [USER] * ROWS + [number for number in range(2_000) if number != USER]
    random.Random(1).shuffle(ids)
    for number in range(4):
        part = ids[number::4]
        table = pa.table(
            {
                "user_id": part,
                "day": [number] * len(part),
                "country": ["DE" if id % 3 else "FR" for id in part],
            }
        )
        path = lake / f"{number}.parquet"
        pq.write_table(table, path, row_group_size=100)
        pb.build(path, columns=["user_id", "country"], in_place=True)
    pb.Index.build(folder / "users.index", [lake], "user_id").close()
