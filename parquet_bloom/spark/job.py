"""One job over many files: packed on the driver, done on the executors, one outcome for each file.

The result is collected before anything is given back. A DataFrame whose rows came of changing files
would do it again whenever somebody looks at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from parquet_bloom.spark.bootstrap import on_executor
from parquet_bloom.spark.failures import failing
from parquet_bloom.spark.listing import LakeFile
from parquet_bloom.spark.outcome import Outcome
from parquet_bloom.spark.packing import LEAST_HUGE, Piece, huge_files, is_worth_parts, pack
from parquet_bloom.spark.request import Request
from parquet_bloom.spark.shipping import shipped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Where the function of a verb is that does not look at file by file.
OWN_FUNCTIONS = {
    "advise": ("parquet_bloom.spark.worker", "advise"),
    "clean_temp": ("parquet_bloom.spark.cleaning", "sweep"),
}
FILE_BY_FILE = ("parquet_bloom.spark.worker", "work")

# Of a small job's numbers, enough for each slot to get some.
MANY_NUMBERS = 1 << 20


def check_tasks(tasks: int | None) -> None:
    """Raise TypeError or ValueError unless so many can run at the same time."""
    if not isinstance(tasks, int | None):
        raise TypeError(f"tasks: {tasks!r}, expected a whole number")
    if tasks is not None and tasks < 1:
        raise ValueError(f"tasks: {tasks}, expected 1 or more")


def run_job(
    spark: SparkSession,
    files: Sequence[LakeFile],
    request: Request,
    tasks: int | None,
) -> list[Outcome]:
    """Do what is requested to every file; the outcomes by path.

    `tasks`: how many can run at the same time; None: Spark is asked. Raises SparkError if the job
    fails as a whole.
    """
    if not files:
        return []
    with failing("the Spark job failed"):
        slots = tasks or parallelism(spark)
        in_parts = _in_parts_at_best(spark, huge_files(files, slots, LEAST_HUGE), slots, request)
        pieces, num_tasks = pack(files, slots, in_parts)
        rows = _outcomes(spark, pieces, num_tasks, request).toArrow().to_pylist()
    return sorted((Outcome(**row) for row in rows), key=lambda outcome: outcome.path)


def _in_parts_at_best(
    spark: SparkSession, files: Sequence[LakeFile], slots: int, request: Request
) -> set[str]:
    """Those of huge files that are done earlier in parts, for which footers are read."""
    if not files or request.verb != "build" or request.destination.dry_run:
        return set()
    from parquet_bloom.spark.schemas import SHARE

    shares = on_executor("parquet_bloom.spark.parts", "column_shares", request, shipped(spark))
    pieces = [Piece(file, 0, 1, task) for task, file in enumerate(files)]
    rows = _work(spark, pieces, len(pieces)).mapInArrow(shares, SHARE).toArrow().to_pylist()
    return {row["path"] for row in rows if is_worth_parts(row["share"], slots)}


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at the same time: the partitions that Spark gives a range of its own."""
    from pyspark.sql import functions as f

    numbers = spark.range(MANY_NUMBERS).select(f.spark_partition_id().alias("partition"))
    return max(1, numbers.distinct().count())


def _outcomes(
    spark: SparkSession, pieces: Sequence[Piece], num_tasks: int, request: Request
) -> DataFrame:
    """Rows of OUTCOME; nothing has been done yet."""
    from parquet_bloom.spark.schemas import OUTCOME

    whole = [piece for piece in pieces if piece.parts == 1]
    parts = [piece for piece in pieces if piece.parts > 1]
    archive = shipped(spark)
    done = []
    if whole:
        module, function = OWN_FUNCTIONS.get(request.verb, FILE_BY_FILE)
        work = on_executor(module, function, request, archive)
        done.append(_work(spark, whole, num_tasks).mapInArrow(work, OUTCOME))
    if parts:
        done.append(_in_parts(spark, parts, num_tasks, request, archive))
    return done[0] if len(done) == 1 else done[0].unionAll(done[1])


def _in_parts(
    spark: SparkSession,
    pieces: Sequence[Piece],
    num_tasks: int,
    request: Request,
    archive: str | None,
) -> DataFrame:
    """Huge files: filters in many tasks, and each file written by one."""
    from pyspark.sql import functions as f

    from parquet_bloom.spark.schemas import BUILT, OUTCOME

    module = "parquet_bloom.spark.parts"
    build_part = on_executor(module, "build_part", request, archive)
    write_parts = on_executor(module, "write_parts", request, archive)
    num_files = len({piece.file.path for piece in pieces})
    return (
        _work(spark, pieces, num_tasks)
        .mapInArrow(build_part, BUILT)
        .repartitionById(num_files, f.col("file"))
        .sortWithinPartitions("file", "row_group", "column")
        .mapInArrow(write_parts, OUTCOME)
    )


def _work(spark: SparkSession, pieces: Sequence[Piece], num_tasks: int) -> DataFrame:
    """Rows of WORK, each in the partition of its task."""
    from pyspark.sql import functions as f

    from parquet_bloom.spark.schemas import WORK

    numbers = _numbered(piece.file.path for piece in pieces)
    rows = [
        (piece.file.path, piece.part, piece.parts, numbers[piece.file.path], piece.task)
        for piece in pieces
    ]
    return spark.createDataFrame(rows, WORK).repartitionById(num_tasks, f.col("task"))


def _numbered(paths: Iterable[str]) -> dict[str, int]:
    return {path: number for number, path in enumerate(dict.fromkeys(paths))}
