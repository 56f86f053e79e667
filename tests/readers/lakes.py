"""Tables of every feature, whose states readers are asked about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable as Judge
from make import delta_features, delta_tables, iceberg_features, iceberg_tables
from make.delta_tables import destroy_other_groups, rows_of
from oracle.delta_readers import by_query_builder
from oracle.iceberg_readers import by_pyiceberg
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, MonthTransform, TruncateTransform
from pyiceberg.types import LongType, NestedField, StringType

import parquet_bloom as pb

Rows = list[tuple[str, int]]


class Lake(ABC):
    """A table. `base`: the newest version that others wrote; `rows`: that it has, as ours have."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.base = rows, self.versions()[-1]

    @abstractmethod
    def versions(self) -> list[int]: ...

    @abstractmethod
    def place(self) -> dict[str, str]:
        """What readers open."""

    @abstractmethod
    def build(self, **options: Any) -> None: ...

    @abstractmethod
    def strip(self) -> None: ...

    @abstractmethod
    def files(self) -> Iterable[Path]:
        """The live ones."""

    def destroy(self, name: str) -> None:
        """Overwrite the pages of all row groups that do not have this `id`."""
        num_destroyed = 0
        for path in self.files():
            file = pq.ParquetFile(path)
            kept = -1
            for group in range(file.num_row_groups):
                for column in file.read_row_group(group).columns:
                    if (
                        column.type in (pa.string(), pa.large_string())
                        and name in column.to_pylist()
                    ):
                        kept = group
            destroy_other_groups(path, kept)
            num_destroyed += file.num_row_groups - (kept >= 0)
        assert num_destroyed > 0


@dataclass(frozen=True)
class Case:
    """`feature`: of its row in the page; `kind`: of it, if there are several. `make`: a table in a
    folder; returns its newest rows if a reader that judges cannot tell them."""

    feature: str
    make: Callable[[Path], Rows | None]
    kind: str = ""
    has_checkpoints: bool = False

    @property
    def name(self) -> str:
        return f"{self.feature}: {self.kind}" if self.kind else self.feature


class DeltaLake(Lake):
    def __init__(self, folder: Path, case: Case) -> None:
        self._table, self._has_checkpoints = folder / "events", case.has_checkpoints
        case.make(self._table)
        super().__init__(by_query_builder(self._table))
        self._checkpoint()

    def versions(self) -> list[int]:
        return list(range(delta_tables.newest(self._table) + 1))

    def place(self) -> dict[str, str]:
        return {"table": "delta", "path": str(self._table), "metadata": ""}

    def build(self, **options: Any) -> None:
        report = delta_tables.build(self._table, **options)
        assert {file.action for file in report.files} <= {"appended", "appended before"}, report
        self._checkpoint()

    def strip(self) -> None:
        assert pb.strip_table(self._table).committed
        self._checkpoint()

    def files(self) -> Iterable[Path]:
        return [self._table / unquote(path) for path in delta_tables.live(self._table)]

    def _checkpoint(self) -> None:
        if self._has_checkpoints:
            Judge(self._table).create_checkpoint()


class IcebergLake(Lake):
    """In the catalog that the process has by now."""

    def __init__(self, folder: Path, case: Case) -> None:
        rows = case.make(folder)
        super().__init__(rows or by_pyiceberg(iceberg_tables.load()))

    def versions(self) -> list[int]:
        return [each.snapshot_id for each in iceberg_tables.load().snapshots()]

    def place(self) -> dict[str, str]:
        table = iceberg_tables.load()
        return {
            "table": "iceberg",
            "path": str(iceberg_tables.path_of(table.location())),
            "metadata": table.metadata_location,
        }

    def build(self, **options: Any) -> None:
        report = iceberg_tables.build(**options)
        assert {file.action for file in report.files} <= {"appended", "appended before"}, report

    def strip(self) -> None:
        assert iceberg_tables.strip().committed

    def files(self) -> Iterable[Path]:
        return [iceberg_tables.path_of(path) for path in iceberg_tables.live()]


# ------------------------------------------------------------------------------------------------
# Cases


def _featured(feature: Callable[[Path], None]) -> Callable[[Path], None]:
    def make(table: Path) -> None:
        feature(delta_tables.make_table(table, partition_by=["day"]))

    return make


def _delta_partitions(column: str) -> Callable[[Path], None]:
    def make(table: Path) -> None:
        delta_features.make_partitioned(table, column)

    return make


def _mapped(table: Path) -> None:
    delta_features.make_mapped(table)


def _plain(_: Path) -> None: ...


DELTA = (
    Case("no feature", _featured(_plain)),
    *(Case("partitions", _delta_partitions(column), column) for column in delta_features.VALUES),
    Case("deletion vectors", _featured(delta_features.inline_vectors), "inline"),
    Case("deletion vectors", _featured(delta_features.stored_vectors), "in files"),
    Case("row tracking, in-commit timestamps", _featured(delta_features.row_tracking)),
    Case("change data feed", _featured(delta_features.change_data_feed)),
    Case("column mapping", _mapped),
    Case("generated columns", _featured(delta_features.generated_columns)),
    Case("clustering", _featured(delta_features.clustering)),
    Case("append-only", _featured(delta_features.append_only)),
    Case("tags", _featured(delta_features.tags)),
    Case("checkpoints before and after", _featured(_plain), has_checkpoints=True),
)


def _by_day(_: Path) -> None:
    iceberg_tables.make_table()


def _iceberg_partitions(column: str, transform: Any = None) -> Callable[[Path], None]:
    def make(_: Path) -> None:
        iceberg_features.make_partitioned(column, transform)

    return make


def _position_deletes(_: Path) -> None:
    table = iceberg_tables.make_table(commits=2)
    iceberg_tables.delete_positions(table, min(iceberg_tables.live()), [0, 5, 149])


def _equality_deletes(_: Path) -> Rows:
    """And the same rows again, to which the deletes do not apply."""
    table = iceberg_tables.make_table(commits=2)
    iceberg_tables.delete_equal(table, min(iceberg_tables.live()), [0, 2])
    iceberg_tables.load().append(rows_of(0, 50))
    left = [row for row in _named(rows_of(0, 600)) if row[1] not in (0, 2)]
    return sorted([*left, *_named(rows_of(0, 50))])


def _named(rows: Any) -> Rows:
    return list(zip(rows["id"].to_pylist(), rows["n"].to_pylist(), strict=True))


def _renamed(_: Path) -> None:
    """`id` and `old` have swapped their names, which old files still have the other way round."""
    schema = Schema(
        NestedField(1, "old", StringType(), required=False),
        NestedField(2, "n", LongType(), required=False),
        NestedField(3, "id", StringType(), required=False),
    )
    table = iceberg_tables.make_table(commits=0, schema=schema, spec=PartitionSpec())
    table.append(rows_of(0, 300).rename_columns(["old", "n", "id"]))
    for names in (("id", "other"), ("old", "id"), ("other", "old")):
        with iceberg_tables.load().update_schema() as change:
            change.rename_column(*names)
    iceberg_tables.load().append(rows_of(300, 300).rename_columns(["id", "n", "old"]))


def _changed_spec(_: Path) -> None:
    table = iceberg_tables.make_table(commits=1)
    with table.update_spec() as change:
        change.remove_field("day")
    iceberg_tables.load().append(rows_of(300, 300))


def _imported(folder: Path) -> None:
    """Files without field ids."""
    table = iceberg_tables.make_table(commits=0, spec=PartitionSpec())
    pq.write_table(rows_of(0, 300), folder / "imported.parquet", row_group_size=100)
    table.add_files([f"file://{folder}/imported.parquet"])


TRANSFORMS = {
    "days": ("ts", DayTransform()),
    "months": ("d", MonthTransform()),
    "truncated": ("i", TruncateTransform(10)),
    "buckets": ("l", BucketTransform(4)),
}

ICEBERG = (
    Case("no feature", _by_day),
    *(
        Case("partitions", _iceberg_partitions(column), type_name)
        for column, type_name in (
            (column, str(kind)) for column, (kind, _) in iceberg_features.VALUES.items()
        )
    ),
    *(
        Case("partitions", _iceberg_partitions(column, transform), kind)
        for kind, (column, transform) in TRANSFORMS.items()
    ),
    Case("position deletes", _position_deletes),
    Case("equality deletes", _equality_deletes),
    Case("columns that swapped names", _renamed),
    Case("a changed partition spec", _changed_spec),
    Case("files without field ids", _imported),
)

LAKES: dict[str, tuple[type[DeltaLake | IcebergLake], tuple[Case, ...]]] = {
    "delta": (DeltaLake, DELTA),
    "iceberg": (IcebergLake, ICEBERG),
}


@contextmanager
def lake(kind: str, case: Case, folder: Path) -> Iterator[Lake]:
    """The table of a case, in an empty folder."""
    with pytest.MonkeyPatch.context() as patch:
        if kind == "iceberg":
            iceberg_tables.use_catalog(folder, patch)
        yield LAKES[kind][0](folder, case)
