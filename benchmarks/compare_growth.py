"""How what each verb costs grows with the number of column chunks."""

from __future__ import annotations

from pathlib import Path

from benchmarks.contenders import Command, Files, costs, typical
from benchmarks.processes import PBLOOM, module
from benchmarks.tables import NO_GOAL, Table, at_most

CHUNKS = (5_000, 20_000, 100_000)

FOOTER = "pyarrow, footer as JSON"

# CPU time at the most chunks, relative to that of FOOTER, which does not look at filters.
GOALS = {"pbloom inspect --json": 1.0, "pbloom report --no-deep": 2.5}


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
        f" processes, {rounds} rounds. *growth* is what 20 times as many chunks cost; the goals are"
        " for what the most chunks cost, compared with pyarrow, which does not look at filters.",
        ("", *(f"{chunks:,}" for chunks in CHUNKS), "growth", "/ pyarrow"),
        [
            [
                verb,
                *(f"{seconds:.2f} s" for seconds in each),
                f"{each[-1] / each[0]:.1f}x",
                f"{each[-1] / cpu[FOOTER][-1]:.2f}x",
                *(_goal(verb, each[-1] / cpu[FOOTER][-1])),
            ]
            for verb, each in cpu.items()
        ],
    )


def _goal(verb: str, ratio: float) -> tuple[str, str]:
    return at_most(ratio, GOALS[verb], "x") if verb in GOALS else NO_GOAL


def _commands(path: Path) -> dict[str, Command]:
    value = ("-c", "column-0", "-v", "7", "--json")
    one_column = ("-c", "column-1", "--existing", "replace")

    def to(output: Path) -> list[str]:
        return ["-o", str(output), "--overwrite"]

    return {
        FOOTER: lambda output: module("footers", path),
        "pbloom inspect --json": lambda output: [PBLOOM, "inspect", "--json", str(path)],
        "pbloom validate --no-deep": lambda output: [PBLOOM, "validate", "--no-deep", str(path)],
        "pbloom validate": lambda output: [PBLOOM, "validate", str(path)],
        "pbloom probe": lambda output: [PBLOOM, "probe", str(path), *value],
        "pbloom report --no-deep": lambda output: [
            *(PBLOOM, "report", "--no-deep", str(path), "-o", "-"),
        ],
        "pbloom build, one column": lambda output: [
            *(PBLOOM, "build", str(path), *one_column),
            *to(output),
        ],
        "pbloom strip": lambda output: [PBLOOM, "strip", str(path), *to(output)],
        "pbloom repair --dry-run": lambda output: [PBLOOM, "repair", "--dry-run", str(path)],
        "pbloom advise": lambda output: [PBLOOM, "advise", str(path), "-c", "column-1"],
        "pbloom dump": lambda output: [PBLOOM, "dump", str(path), "-c", "column-1", "-g", "0"],
        "pbloom diff": lambda output: [PBLOOM, "diff", str(path), str(path)],
    }
