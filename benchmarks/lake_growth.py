"""What one verb on Spark takes of lakes of more and more files.

A program of its own, `python -m benchmarks.lake_growth VERB PLAIN FILTERED FOLDER FILES...`: the lakes are hard
links to the file PLAIN or FILTERED, the one with filters, made in FOLDER. Prints JSON: an instance of Taken for each
number of files.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.links import link, register
from benchmarks.spark import (
    Session,
    forget_peak,
    local_session,
    old_generation,
    peak,
    result_bytes,
)

# On which Spark and the package are loaded, before anything is measured.
FIRST = 100


@dataclass(frozen=True, slots=True)
class Taken:
    """CPU seconds of the JVM and of Python, which are the driver and the workers; bytes: the most that the
    driver's Python had resident, what the JVM still holds afterwards while there is a report, what all tasks sent to
    the driver, and the account of the run."""

    files: int
    jvm: float
    python: float
    driver: int
    old: int
    results: int
    account: int


@dataclass(frozen=True, slots=True)
class Verb:
    """`run`: its report, for a session, the folder of a lake and one for the account. `again`: what is measured
    is the second run, for which nothing is left to do."""

    run: Callable[[Any, str, str], object]
    has_filters: bool = True
    is_table: bool = False
    again: bool = False


def _on_lake(verb: str, *arguments: object, **options: object) -> Callable[[Any, str, str], object]:
    def run(spark: Any, folder: str, audit: str) -> object:
        from parquet_bloom import spark as lake

        return getattr(lake, verb)(spark, folder, *arguments, audit=audit, **options)

    return run


def _build_table(spark: Any, folder: str, _: str) -> object:
    from parquet_bloom import spark as lake

    return lake.build_table(spark, folder, columns="id", min_file_size=0)


def _read_filters(spark: Any, folder: str, _: str) -> object:
    return spark.read.format("bloom").load(folder).groupBy("hash").count().collect()


build = _on_lake("build", columns="id")
VERBS = {
    "build": Verb(build, has_filters=False),
    "build again": Verb(build, has_filters=False, again=True),
    "build --table": Verb(_build_table, has_filters=False, is_table=True),
    "strip": Verb(_on_lake("strip")),
    "inspect": Verb(_on_lake("inspect")),
    "validate": Verb(_on_lake("validate")),
    "probe": Verb(_on_lake("probe", "id", ["user-000000001"])),
    "advise": Verb(_on_lake("advise", columns="id"), has_filters=False),
    "advise --budget": Verb(_on_lake("advise", columns="id", budget=1 << 20), has_filters=False),
    "clean-temp": Verb(_on_lake("clean_temp")),
    'format("bloom")': Verb(_read_filters),
}


def taken(session: Session, verb: Verb, lake: Path, audit: Path, count: int) -> Taken:
    spark = session.spark
    if verb.again:
        verb.run(spark, str(lake), str(audit))
    forget_peak()
    sent, before = result_bytes(spark), session.spent()
    report = verb.run(spark, str(lake), str(audit))
    spent = session.spent() - before
    most, held = peak(), old_generation(spark)
    del report
    account = sum(file.stat().st_size for file in audit.rglob("*") if file.is_file())
    results = result_bytes(spark) - sent
    return Taken(count, spent.jvm, spent.python, most, held, results, account)


def measured(session: Session, verb: Verb, file: Path, folder: Path, count: int) -> Taken:
    lake, audit = folder / "lake", folder / "audit"
    try:
        link(file, lake, count)
        if verb.is_table:
            register(lake)
        return taken(session, verb, lake, audit, count)
    finally:
        for made in (lake, audit):
            shutil.rmtree(made, ignore_errors=True)


def main(name: str, plain: Path, filtered: Path, folder: Path, counts: Sequence[int]) -> None:
    verb = VERBS[name]
    file = filtered if verb.has_filters else plain
    with local_session() as session:
        measured(session, verb, file, folder, FIRST)
        each = [measured(session, verb, file, folder, count) for count in counts]
    print(json.dumps(list(map(asdict, each))))


if __name__ == "__main__":
    name, plain, filtered, folder, *counts = sys.argv[1:]
    main(name, Path(plain), Path(filtered), Path(folder), list(map(int, counts)))
