"""How what each verb costs grows with the number of column chunks."""

from __future__ import annotations

from pathlib import Path

from benchmarks.contenders import Command, Files, costs, typical
from benchmarks.processes import PBLOOM
from benchmarks.tables import NO_GOAL, Table, at_most

CHUNKS = (5_000, 20_000, 100_000)

# Seconds of CPU at the most chunks.
GOALS = {"inspect --json": 2.0, "report --no-deep": 5.0}


def measure_growth(files: Files, rounds: int) -> Table:
    """The CPU time of each verb, on files with more and more column chunks."""
    paths = {chunks: files.make("chunks", chunks) for chunks in CHUNKS}
    spent = {chunks: costs(_commands(path), files, rounds) for chunks, path in paths.items()}
    cpu = {
        verb: [typical(spent[chunks][verb]).cpu for chunks in CHUNKS] for verb in spent[CHUNKS[0]]
    }
    return Table(
        "Many column chunks",
        "Files of row groups of 500 columns, each chunk with a filter of 64 bytes. CPU time of whole"
        f" processes, {rounds} rounds; the last column is what 20 times as many chunks cost.",
        ("", *(f"{chunks:,}" for chunks in CHUNKS), "growth"),
        [
            [
                f"pbloom {verb}",
                *(f"{seconds:.2f} s" for seconds in each),
                f"{each[-1] / each[0]:.1f}x",
                *(at_most(each[-1], GOALS[verb], " s") if verb in GOALS else NO_GOAL),
            ]
            for verb, each in cpu.items()
        ],
    )


def _commands(path: Path) -> dict[str, Command]:
    value = ("-c", "column-0", "-v", "7", "--json")
    one_column = ("-c", "column-1", "--existing", "replace")

    def to(output: Path) -> list[str]:
        return ["-o", str(output), "--overwrite"]

    return {
        "inspect --json": lambda output: [PBLOOM, "inspect", "--json", str(path)],
        "validate --no-deep": lambda output: [PBLOOM, "validate", "--no-deep", str(path)],
        "probe": lambda output: [PBLOOM, "probe", str(path), *value],
        "report --no-deep": lambda output: [
            *(PBLOOM, "report", "--no-deep", str(path)),
            *to(output),
        ],
        "build, one column": lambda output: [PBLOOM, "build", str(path), *one_column, *to(output)],
        "strip": lambda output: [PBLOOM, "strip", str(path), *to(output)],
        "diff": lambda output: [PBLOOM, "diff", str(path), str(path)],
    }
