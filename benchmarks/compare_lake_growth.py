"""What the driver of a lake holds, and what a file costs, with more and more files: one curve for each verb on
Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from benchmarks.contenders import Files
from benchmarks.lake_growth import VERBS, Taken
from benchmarks.processes import ask, module
from benchmarks.tables import NO_GOAL, Table, at_most, megabytes

SHORT = (2_000, 20_000)
LONG = (20_000, 200_000)
# In the long form; of the others, the short one has said how they grow.
LONG_VERBS = ("build", "validate")

# Of the driver, Python and the old generation together, and of the JVM: from one number of files to ten times
# as many.
MOST_BYTES, MOST_MILLISECONDS = 70e6, 0.1

# What the driver holds of a table are its files.
HOLD_FILES = ("build --table",)


def measure_lake_growth(
    files: Files, counts: Sequence[int] = SHORT, verbs: Sequence[str] = tuple(VERBS)
) -> Iterator[Table]:
    """Two tables of the same runs."""
    taken = {verb: _taken(files, verb, counts) for verb in verbs}
    steps = [
        (verb, before, after) for verb, each in taken.items() for before, after in pairwise(each)
    ]
    about = " to ".join(f"{count:,}" for count in counts)
    yield Table(
        f"What the driver holds: {about} files",
        "Tiny files, hard links to one of 10 KB. *driver*: the most resident memory of its Python; *JVM*: the old"
        " generation after a collection, while there is a report; *results*: what all tasks have sent to the driver;"
        " *account*: the folder of the run, with a document for each file. *grows*: driver and JVM together.",
        ("", "driver", "of the most", "JVM", "of the most", "results", "account", "grows"),
        [_memory(*step) for step in steps],
    )
    yield Table(
        f"What a file costs: {about} files",
        "CPU time of the same runs, with that of the JVM and of Python, workers and driver; *a file*: of those that"
        " the larger lake has more.",
        ("", "JVM", "of the most", "Python", "of the most", "Python, a file", "JVM, a file"),
        [_times(*step) for step in steps],
    )


def _taken(files: Files, verb: str, counts: Sequence[int]) -> list[Taken]:
    plain, filtered = (
        files.make_folder(kind, 1) / "part-00000.parquet"
        for kind in ("tiny-files", "tiny-files-with-filters")
    )
    with files.output() as folder:
        measured = ask(module("lake_growth", verb, plain, filtered, folder, *counts))
    return [Taken(**each) for each in measured]


def _memory(verb: str, before: Taken, after: Taken) -> list[str]:
    grown = after.driver + after.old - before.driver - before.old
    return [
        verb,
        megabytes(before.driver),
        megabytes(after.driver),
        megabytes(before.old),
        megabytes(after.old),
        f"{after.results / 1e6:.1f} MB",
        f"{after.account / 1e6:.1f} MB",
        megabytes(grown),
        *(NO_GOAL if verb in HOLD_FILES else at_most(grown / 1e6, MOST_BYTES / 1e6, " MB")),
    ]


def _times(verb: str, before: Taken, after: Taken) -> list[str]:
    more = after.files - before.files
    jvm = max(0.0, after.jvm - before.jvm) / more * 1000
    return [
        verb,
        f"{before.jvm:.1f} s",
        f"{after.jvm:.1f} s",
        f"{before.python:.1f} s",
        f"{after.python:.1f} s",
        f"{(after.python - before.python) / more * 1000:.2f} ms",
        f"{jvm:.3f} ms",
        *(NO_GOAL if verb in HOLD_FILES else at_most(jvm, MOST_MILLISECONDS, " ms")),
    ]
