"""One job over many files: packed on the driver, done on the executors, one outcome for each file.

The result is collected before anything is returned: a DataFrame that changes files would change them
again each time it is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from parquet_bloom.spark.failures import failing
from parquet_bloom.spark.listing import LakeFile
from parquet_bloom.spark.outcome import Outcome
from parquet_bloom.spark.packing import LEAST_HUGE, FilePart, huge_files, is_worth_parts, pack
from parquet_bloom.spark.request import Request, on_executor
from parquet_bloom.spark.schemas import BUILT, OUTCOME, SHARE, WORK
from parquet_bloom.spark.shipping import shipped

# The functions of verbs that do not take files one by one.
OWN_FUNCTIONS = {
    "advise": ("parquet_bloom.spark.worker", "advise"),
    "change_in_table": ("parquet_bloom.spark.tables", "change_in_table"),
    "clean_temp": ("parquet_bloom.spark.cleaning", "sweep"),
}
FILE_BY_FILE = ("parquet_bloom.spark.worker", "work")
PARTS = "parquet_bloom.spark.parts"

# The rows of a tiny job, enough for each slot to get some.
MANY_NUMBERS = 1 << 20


def check_tasks(tasks: int | None) -> None:
    """Raise TypeError or ValueError for a number of tasks that cannot be."""
    if not isinstance(tasks, int | None):
        raise TypeError(f"tasks: {tasks!r}, expected a whole number")
    if tasks is not None and tasks < 1:
        raise ValueError(f"tasks: {tasks}, expected 1 or more")


def run_job(
    spark: SparkSession, files: Sequence[LakeFile], request: Request, tasks: int | None
) -> list[Outcome]:
    """Do what is requested with every file; the outcomes are sorted by path.

    `tasks`: how many can run at the same time; None: Spark is asked. Raises SparkError if the job
    fails as a whole.
    """
    if not files:
        return []
    with failing("the Spark job failed"):
        slots = tasks or parallelism(spark)
        in_parts = _better_in_parts(spark, huge_files(files, slots, LEAST_HUGE), slots, request)
        pieces, num_tasks = pack(files, slots, in_parts)
        rows = _outcomes(spark, pieces, num_tasks, request).toArrow().to_pylist()
    return sorted((Outcome(**row) for row in rows), key=lambda outcome: outcome.path)


def _better_in_parts(
    spark: SparkSession, files: Sequence[LakeFile], slots: int, request: Request
) -> set[str]:
    """The paths of those huge files that are done sooner in parts; this reads their footers."""
    if not files or request.verb != "build" or request.destination.dry_run:
        return set()
    shares = on_executor(PARTS, "column_shares", request, shipped(spark))
    pieces = [FilePart(file, 0, 1, task) for task, file in enumerate(files)]
    rows = _work(spark, pieces, len(pieces)).mapInArrow(shares, SHARE).toArrow().to_pylist()
    return {row["path"] for row in rows if is_worth_parts(row["share"], slots)}


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at the same time: the partitions that Spark gives a range by itself."""
    numbers = spark.range(MANY_NUMBERS).select(f.spark_partition_id().alias("partition"))
    return max(1, numbers.distinct().count())


def _outcomes(
    spark: SparkSession, pieces: Sequence[FilePart], num_tasks: int, request: Request
) -> DataFrame:
    """Rows of OUTCOME; nothing has been done yet."""
    whole = [piece for piece in pieces if piece.parts == 1]
    parts = [piece for piece in pieces if piece.parts > 1]
    frames = []
    if whole:
        module, function = OWN_FUNCTIONS.get(request.verb, FILE_BY_FILE)
        work = on_executor(module, function, request, shipped(spark))
        frames.append(_work(spark, whole, num_tasks).mapInArrow(work, OUTCOME))
    if parts:
        frames.append(_in_parts(spark, parts, num_tasks, request))
    return frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])


def _in_parts(
    spark: SparkSession, pieces: Sequence[FilePart], num_tasks: int, request: Request
) -> DataFrame:
    """Huge files: filters are built in many tasks, and each file is written by one."""
    build_part, write_parts = (
        on_executor(PARTS, function, request, shipped(spark))
        for function in ("build_part", "write_parts")
    )
    num_files = len({piece.file.path for piece in pieces})
    return (
        _work(spark, pieces, num_tasks)
        .mapInArrow(build_part, BUILT)
        .repartitionById(num_files, f.col("file"))
        .sortWithinPartitions("file", "row_group", "column")
        .mapInArrow(write_parts, OUTCOME)
    )


def _work(spark: SparkSession, pieces: Sequence[FilePart], num_tasks: int) -> DataFrame:
    """Rows of WORK, each in the partition of its task."""
    paths = dict.fromkeys(piece.file.path for piece in pieces)
    numbers = {path: number for number, path in enumerate(paths)}
    rows = [
        (file.path, file.size, piece.part, piece.parts, numbers[file.path], piece.task)
        for piece in pieces
        for file in [piece.file]
    ]
    return spark.createDataFrame(rows, WORK).repartitionById(num_tasks, f.col("task"))
