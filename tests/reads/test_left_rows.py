"""No row is left out that pyarrow, DuckDB or polars would return: random files of awkward types, random filters."""

from __future__ import annotations

import os
import random
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from make.awkward_files import TYPES, awkward_lake, conditions
from make.reading_engines import DuckDb, by_polars, by_pyarrow

import parquet_bloom as pb

LAKES = int(os.environ.get("PBLOOM_READ_LAKES", "2"))
PREDICATES = 90
COLUMNS = [name for name in TYPES if name not in ("n", "l")] + ["n.x", "n.y", "l.list.element"]
ENGINES = {"pyarrow": by_pyarrow, "polars": by_polars, "DuckDB": DuckDb()}


def rows_of(paths: list[str]) -> dict[tuple[str, int], frozenset[int]]:
    found = {}
    for path in paths:
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns=["row"])["row"].to_pylist()
            found[path, group] = frozenset(rows)
    return found


@pytest.mark.every(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(LAKES))
def test_no_row_is_lost(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    paths = awkward_lake(chance, tmp_path)
    rows = rows_of(paths)
    everything = frozenset().union(*rows.values())
    index = None
    if seed % 2:
        index = tmp_path / "lake.index"
        known = paths if chance.random() < 0.5 else paths[:-1]
        columns = chance.sample([name for name in COLUMNS if name != "bool"], 8)
        places, form = chance.choice(
            [
                *(("row-group", "map"), ("file", "map"), ("page", "map"), ("row-group", "slices")),
                *(("file", "slices"), ("row-group", "auto")),
            ]
        )
        pb.Index.build(index, known, columns, places=places, form=form)
    lost, excluded, asked = [], 0, 0
    for _ in range(PREDICATES):
        dnf = [
            [conditions(chance, COLUMNS) for _ in range(chance.choice((1, 1, 2)))]
            for _ in range(chance.choice((1, 1, 2)))
        ]
        left = None
        # Text for numbers, or numbers for text.
        with suppress(pb.ValueTypeError):
            left = pb.row_groups(paths, dnf, index=index)
        if left is None:
            continue
        groups = zip(left["path"].to_pylist(), left["row_group"].to_pylist(), strict=True)
        kept = frozenset().union(*(rows[group] for group in groups))
        excluded += kept != everything
        dataset = pb.dataset(paths, dnf, index=index)
        assert frozenset(dataset.to_table(columns=["row"])["row"].to_pylist()) == kept
        for name, engine in ENGINES.items():
            each = [[engine(paths, condition) for condition in all_of] for all_of in dnf]
            if any(None in all_of for all_of in each):
                continue
            wanted = frozenset().union(*(frozenset.intersection(*all_of) for all_of in each))
            asked += 1
            if not wanted <= kept:
                lost.append((name, dnf, sorted(wanted - kept)[:3]))
    assert lost == []
    assert asked > PREDICATES
    assert excluded > PREDICATES / 10
