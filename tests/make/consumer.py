"""What a consumer writes, and which mistakes of theirs mypy finds: `make lint` checks it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import parquet_bloom as pb

report: pb.BuildReport = pb.build("a.parquet", "b.parquet", columns="user_id", row_groups=0)
document: dict[str, Any] = report.to_dict()
sizes: list[int] = [each.num_bytes for each in report.filters]
with pb.open("b.parquet") as file:
    names: tuple[str, ...] = file.columns
    rows: int = sum(part.num_rows for part in file.parts)
    for answer in file.probe("user_id", np.int64(42)):
        verdict: str = answer.verdict
    filter: pb.ColumnFilter = file.bloom_filter(0, "user_id", dialect="murmur3", seed=7)
    mean: float = float(filter.check_many(np.arange(3)).mean())
    found: bool = filter.check(pb.literal("42"))
for result in pb.probe("b.parquet", "user_id", [42, pb.literal("0x2a", "bytes")]).results:
    shown: tuple[object, str, int] = (result.value, result.verdict, result.rows_to_read)
summary: pb.InspectionSummary = pb.inspect_summary(["a.parquet", "lake"], columns="user_id")
share: float = summary.columns[0].filter_share + len(summary.to_dict())
sound: bool = pb.validate("b.parquet", require="user_id", ignore=["PB301"]).ok
columns: tuple[str, ...] = pb.advise("a.parquet", value_sample={"user_id": [1, 2]}).recommended
several: pb.FilesReport[pb.ProbeReport] = pb.probe(["a.parquet"], "user_id", 42, explain=True)
absent: list[bool] = [each.is_absent for each in several.reports]
first: pb.ProbeReport = several[0]
sought: pb.ValuesReport = pb.probe_values("lake", "user_id", [42, 43])
by_name: pb.FileInspection = pb.inspect(path="a.parquet", columns="user_id")
probed: pb.ProbeReport = pb.probe(path=Path("a.parquet"), column="user_id", values=[42])
built: pb.BuildReport = pb.build(source="a.parquet", output="b.parquet", columns="user_id")
paths: Sequence[Path] = sorted(Path("lake").glob("*.parquet"))
listed: Iterable[str] = map(str, paths)
inspected: pb.FilesReport[pb.FileInspection] = pb.inspect(paths)
of_table: pb.FilesReport[pb.ProbeReport] = pb.probe("users", "id", [1], table="delta")
of_view: pb.FilesReport[pb.FileInspection] = pb.inspect(path="users", table=pb.TableView(version=3))
of_tables: pb.FilesReport[pb.AdviceReport] = pb.advise(["users", "orders"], table="auto")
of_none: pb.ValidationReport = pb.validate("a.parquet", table=None)
stripped: pb.FilesReport[pb.StripReport] = pb.strip(source=listed, dry_run=True)
in_lists: list[int] = [
    each.num_filters for each in pb.build(["lake/*.parquet"], "out", columns="id").reports
]
pb.probe("b.parquet", column="user_id", vals=42)  # type: ignore[call-overload]
pb.strip(path="a.parquet")  # type: ignore[call-overload]
pb.inspect([7])  # type: ignore[list-item]
pb.build("a.parquet", "b.parquet", columns=7)  # type: ignore[call-overload]
pb.build("a.parquet", "b.parquet", columns="user_id", existing="no")  # type: ignore[call-overload]
pb.probe(7, "user_id", 42)  # type: ignore[call-overload]
pb.inspect("users", table="hudi")  # type: ignore[call-overload]
pb.literal(42)  # type: ignore[arg-type]
pb.nothing  # type: ignore[attr-defined]  # noqa: B018
