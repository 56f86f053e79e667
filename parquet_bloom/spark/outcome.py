"""What became of the files of a lake."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from parquet_bloom.storage.paths import NO_FILES

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Status = Literal["added", "removed", "read", "unchanged", "skipped", "refused", "error"]

# What is not done, though somebody asked for it.
TROUBLE: frozenset[Status] = frozenset({"refused", "error"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file.

    `status`: filters were `added` or `removed` (also those that were to be replaced, where no other
    is allowed), or the file was `read` for a verb that writes nothing; nothing was to do and it is
    `unchanged`; it was `skipped`, as nothing in it can have a filter, `refused`, as it should not be
    changed, or there was an `error`. `message` says why. `filters`: how many were added, removed or
    found, of ORC files those of all index groups; `bytes`: how much the file grew; both 0 where
    nothing was done. `seconds` on the executor, in task attempt `attempt` (from 0).
    `document` is what the same verb on one file prints with `--json`, None for an error.
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
    """What became of all files, in the order of their paths; `run_id` names the run, which began at
    `started_at` and took `seconds`."""

    verb: str
    run_id: str
    started_at: datetime
    outcomes: tuple[Outcome, ...]
    seconds: float

    @classmethod
    def of(
        cls, verb: str, outcomes: Iterable[Outcome], nothing: Iterable[str], started_at: datetime
    ) -> Self:
        """Of a run that ends now; `nothing`: names behind which there were no files."""
        missing = [Outcome(name, "error", message=f"{name}: {NO_FILES}") for name in nothing]
        everything = sorted([*missing, *outcomes], key=lambda outcome: outcome.path)
        seconds = (datetime.now(UTC) - started_at).total_seconds()
        return cls(verb, uuid.uuid4().hex, started_at, tuple(everything), seconds)

    @property
    def counts(self) -> dict[Status, int]:
        """How many files have each status; those that none has are left out."""
        counted = Counter(outcome.status for outcome in self.outcomes)
        return {status: counted[status] for status in get_args(Status) if counted[status]}

    @property
    def troubles(self) -> tuple[Outcome, ...]:
        """The files with which something is wrong."""
        return tuple(outcome for outcome in self.outcomes if outcome.status in TROUBLE)

    @property
    def filters(self) -> int:
        return sum(outcome.filters for outcome in self.outcomes)

    @property
    def bytes(self) -> int:
        return sum(outcome.bytes for outcome in self.outcomes)

    def documents(self) -> Iterator[dict[str, Any]]:
        """What the same verb on one file prints with `--json`, for each file that has it."""
        for outcome in self.outcomes:
            if outcome.document is not None:
                yield json.loads(outcome.document)

    def summary(self) -> str:
        """One line."""
        counts = ", ".join(f"{count:,} {status}" for status, count in self.counts.items())
        return (
            f"{self.verb}: {len(self.outcomes):,} files in {self.seconds:.1f} s: {counts or 'none'};"
            f" {self.filters:,} filters, {self.bytes:,} bytes"
        )

    def to_arrow(self) -> pa.Table:
        """One row for each file, as parquet_bloom.spark.OUTCOME has it."""
        import pyarrow as pa
        from pyspark.sql.pandas.types import to_arrow_schema

        from parquet_bloom.spark.schemas import OUTCOME

        schema = to_arrow_schema(OUTCOME)
        columns = [[getattr(each, name) for each in self.outcomes] for name in schema.names]
        return pa.table(columns, schema=schema)

    def to_df(self, spark: SparkSession) -> DataFrame:
        """The same as a DataFrame; it is data, and nothing is done again."""
        from parquet_bloom.spark.schemas import OUTCOME

        rows = [tuple(getattr(each, name) for name in OUTCOME.names) for each in self.outcomes]
        return spark.createDataFrame(rows, OUTCOME)
