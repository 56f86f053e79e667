"""What became of the files of a lake."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple
from datetime import UTC, datetime
from typing import Literal, Self, get_args

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import to_arrow_schema

from parquet_bloom.dataclass import dataclass
from parquet_bloom.spark.failures import failing
from parquet_bloom.spark.schemas import OUTCOME, RowFields
from parquet_bloom.storage.paths import NO_FILES

Status = Literal["added", "removed", "read", "unchanged", "skipped", "refused", "error"]

# What was asked for was not done.
TROUBLE: frozenset[Status] = frozenset({"refused", "error"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file.

    `status`: filters were `added` or `removed` (also if they were to be replaced, and no new one is
    allowed); the file was `read` by a verb that writes nothing; it is `unchanged`, as there was
    nothing to do; it was `skipped`, as nothing in it can have a filter, or `refused`, as it should
    not be changed; or there was an `error`. `message` says why. `filters`: how many were added,
    removed or found, in ORC files those of all index groups; `bytes`: how much the file grew.
    `seconds` on the executor, in task attempt `attempt` (from 0). `document`: what the same verb on
    one file prints with `--json`, a line for each column of a probe; None for an error.
    """

    path: str
    status: Status
    filters: int = 0
    bytes: int = 0
    seconds: float = 0.0
    attempt: int = 0
    message: str | None = None
    document: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What became of all files, sorted by path; the run `run_id` began at `started_at` and took
    `seconds`."""

    verb: str
    run_id: str
    started_at: datetime
    outcomes: tuple[Outcome, ...]
    seconds: float

    @classmethod
    def of(
        cls, verb: str, outcomes: Iterable[Outcome], nothing: Iterable[str], started_at: datetime
    ) -> Self:
        """The report of a run that ends now; `nothing`: names without files."""
        missing = [Outcome(name, "error", message=f"{name}: {NO_FILES}") for name in nothing]
        everything = sorted([*missing, *outcomes], key=lambda outcome: outcome.path)
        seconds = (datetime.now(UTC) - started_at).total_seconds()
        return cls(verb, uuid.uuid4().hex, started_at, tuple(everything), seconds)

    @property
    def counts(self) -> dict[Status, int]:
        """How many files have each status, if any has."""
        counted = Counter(outcome.status for outcome in self.outcomes)
        return {status: counted[status] for status in get_args(Status) if counted[status]}

    @property
    def troubles(self) -> tuple[Outcome, ...]:
        """The files that were refused or failed."""
        return tuple(outcome for outcome in self.outcomes if outcome.status in TROUBLE)

    @property
    def filters(self) -> int:
        return sum(outcome.filters for outcome in self.outcomes)

    @property
    def bytes(self) -> int:
        return sum(outcome.bytes for outcome in self.outcomes)

    def documents(self) -> Iterator[RowFields]:
        """What the same verb on one file prints with `--json`, for each file that has it."""
        yield from map(json.loads, self.lines())

    def lines(self) -> Iterator[str]:
        """The same as text; of a probe, one for each file and column."""
        for outcome in self.outcomes:
            if outcome.document is not None:
                yield from outcome.document.split("\n")

    def summary(self) -> str:
        """One line."""
        counts = ", ".join(f"{count:,} {status}" for status, count in self.counts.items())
        return (
            f"{self.verb}: {len(self.outcomes):,} files in {self.seconds:.1f} s: {counts or 'none'};"
            f" {self.filters:,} filters, {self.bytes:,} bytes"
        )

    def to_arrow(self) -> pa.Table:
        """One row for each file, as parquet_bloom.spark.OUTCOME has it."""
        rows = [asdict(outcome) for outcome in self.outcomes]
        return pa.Table.from_pylist(rows, schema=to_arrow_schema(OUTCOME))

    def to_df(self, spark: SparkSession) -> DataFrame:
        """The same as a DataFrame. It is data: using it does not repeat the job."""
        return spark.createDataFrame([astuple(outcome) for outcome in self.outcomes], OUTCOME)


def append_report(spark: SparkSession, report: Report, folder: str) -> None:
    """Add the rows of `report`, after the columns run_id, verb and started_at, to the Parquet files
    in `folder`: a history for dashboards. Raises SparkError."""
    with failing(f"{folder}: the report is not written"):
        rows = report.to_df(spark).select(
            f.lit(report.run_id).alias("run_id"),
            f.lit(report.verb).alias("verb"),
            f.lit(report.started_at).alias("started_at"),
            "*",
        )
        rows.coalesce(1).write.mode("append").parquet(folder)
