"""`to_arrow()` of probe: the rows of the report's values and groups, made column by column."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

import parquet_bloom as pb
from parquet_bloom.verbs.documents import VerbReport


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Files with a filter in Parquet and ORC; without one, without the column, without rows."""
    table = pa.table({"id": np.arange(30_000), "n": range(30_000)})
    pq.write_table(table, tmp_path / "plain.parquet", row_group_size=10_000)
    po.write_table(table, tmp_path / "plain.orc")
    for kind in ("parquet", "orc"):
        pb.build(tmp_path / f"plain.{kind}", tmp_path / f"built.{kind}", columns="id")
    pq.write_table(table.select(["n"]), tmp_path / "lacking.parquet")
    pq.write_table(table.slice(0, 0), tmp_path / "empty.parquet")
    return sorted(tmp_path.iterdir())


@pytest.mark.parametrize(
    "values",
    [[5, 40_000, 25_000], [], 5, [pb.literal("7")], np.arange(29_000, 31_000)],
    ids=["some", "none", "one", "literal", "many"],
)
def test_the_rows_are_those_of_the_answers(files: list[Path], values: Any) -> None:
    for path in files:
        if path.name.startswith("lacking"):
            continue
        report = pb.probe(path, "id", values)
        table = report.to_arrow()
        rows = [{name: row.get(name) for name in table.column_names} for row in report._items()]
        assert table.to_pylist() == rows
        assert table.schema == pb.probe(path, "id", [1, 2]).to_arrow().schema


def test_a_row_is_no_object(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """There are millions of them for thousands of values in hundreds of files."""
    made: list[dict[str, Any]] = []

    def items(report: VerbReport) -> Iterator[dict[str, Any]]:
        for row in one_by_one(report):
            made.append(row)
            yield row

    one_by_one = VerbReport._items
    monkeypatch.setattr(VerbReport, "_items", items)
    several = pb.probe(
        [path for path in files if path.suffix == ".parquet"], "id", np.arange(5_000)
    )
    table = several.to_arrow()
    assert table.num_rows > 30_000
    assert len(made) < 5_100
