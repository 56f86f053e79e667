"""A drill over a lake: filters, an index, three users to erase, and the proof that they are gone.

    python lake.py FOLDER [FILES [ROWS]]

Makes FOLDER with so many files of so many rows (100 of 100,000: some 200 MB), with a few hundred thousand users whose
visits are spread over all of them, and says what each step takes. Nothing needs a network.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import parquet_bloom as pb

USERS = 400_000
PAGES = ["/", "/search", "/cart", "/pay", "/help"]


@contextmanager
def step(name: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    print(f"{name}: {time.perf_counter() - started:.2f} s")


def make_lake(folder: Path, files: int, rows: int) -> None:
    random = np.random.default_rng(7)
    users = random.integers(0, 1 << 62, USERS)
    for number in range(files):
        visits = pa.table(
            {
                "user_id": random.choice(users, rows),
                "page": random.choice(PAGES, rows),
                "bytes": random.integers(0, 1 << 24, rows),
            }
        )
        path = folder / f"day={number:03}" / "visits.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(visits, path, row_group_size=rows // 4, use_dictionary=["page"])


def erase(paths: list[str], users: pa.Array) -> None:
    """Writes the files anew without these users, as an engine would, and gives them filters again."""
    for path in paths:
        rows = pq.read_table(path, partitioning=None)
        pq.write_table(rows.filter(pc.invert(pc.is_in(rows["user_id"], users))), f"{path}.new")
        os.replace(f"{path}.new", path)
    pb.build(paths, in_place=True, columns="user_id")


def main(name: str, files: int = 100, rows: int = 100_000) -> None:
    folder = Path(name)
    lake, index = folder / "lake", folder / "users.index"
    with step(f"{files * rows:,} visits in {files} files"):
        make_lake(lake, files, rows)
    with step("a filter in each row group"):
        built = pb.build(lake, in_place=True, columns="user_id")
    print(f"  {sum(report.bytes_added for report in built.reports):,} bytes")
    with step("an index of all of it"):
        pb.Index.build(index, lake, columns="user_id")

    users = pq.read_table(lake / "day=000" / "visits.parquet", partitioning=None)["user_id"][:3]
    with step("where are three users, by the filters?"):
        found = pb.find(lake, "user_id", users)
    with step("and by the index?"):
        by_index = pb.find(lake, "user_id", users, index=index)
    assert len(found.rows) == len(by_index.rows)
    paths = sorted({row.path for row in found.rows})
    print(f"  {len(found.rows)} rows in {len(paths)} of {files} files")

    with step(f"erase them from {len(paths)} files"):
        erase(paths, users)
    with step("bring the index up to date"), pb.Index(index) as opened:
        opened.add()
    with step("are they gone?"):
        proof = pb.find(lake, "user_id", users, index=index).account(users)
    states = proof["state"].to_pylist()[: len(users)]
    print(f"  {', '.join(states)}; files read: {proof['files_read'][0]}")
    pq.write_table(proof, folder / "proof.parquet")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
