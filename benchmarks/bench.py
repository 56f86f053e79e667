"""pbloom against what one would use without it: `python -m benchmarks.bench [--write]`.

Prints tables. Each figure is the median of several rounds; within a round the contenders take
turns. README.md says what is measured; --write replaces its tables, and the first
one in the README of the project.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import machine
from benchmarks.processes import PBLOOM, Cost, ask, module, run
from benchmarks.tables import NO_GOAL, Table, at_least, at_most, megabytes

README = Path(__file__).with_name("README.md")
PROJECT_README = README.parent.parent / "README.md"
BEGIN, END = "<!-- results -->\n", "<!-- /results -->\n"

# What this benchmark is to prove.
TIMES_FASTER_THAN_A_REWRITE = 10
SHARE_OF_DECODING = {"id": 1.0, "country": 0.1}
SHARE_OF_ARROW_INSERT = 0.5
PEAK_MEGABYTES = 300
HELP_SECONDS = 0.3
TIMES_SLOWER_THAN_BUILD = 2
WIDE_SECONDS = 2
TIMES_ENCRYPTED = 2
SHARE_OF_COMMAND = 0.8

SMALL_FILES = 2000
HUGE_ROWS = 45_000_000


class Files:
    """Seeded files in one folder, made when they are asked for and kept as long as the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, kind: str, rows: int) -> Path:
        file = self.folder / f"{kind}-{rows}.parquet"
        if not file.exists():
            run(module("data", kind, rows, file))
        return file

    def make_folder(self, kind: str, amount: int) -> Path:
        folder = self.folder / f"{kind}-{amount}"
        if not folder.exists():
            run(module("data", kind, amount, folder))
        return folder

    @contextmanager
    def output(self) -> Iterator[Path]:
        """A path for one output, which is removed; nothing of it is left to be written to disk
        while the next one is measured."""
        file = self.folder / "output.parquet"
        yield file
        file.unlink(missing_ok=True)
        os.sync()


Command = Callable[[Path], list[str]]


def build_command(source: Path) -> Command:
    return lambda output: [
        *(PBLOOM, "build", str(source), "-c", "id"),
        *("-o", str(output), "--overwrite"),
    ]


def rewrite_command(writer: str, source: Path) -> Command:
    return lambda output: module("rewrites", writer, source, output, "id")


def costs(commands: Mapping[str, Command], files: Files, rounds: int) -> dict[str, list[Cost]]:
    """What each command costs in each round. A command is made for the path of its output."""
    spent: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            with files.output() as output:
                spent[name].append(run(command(output)))
    return spent


def typical(costs: Sequence[Cost]) -> Cost:
    return Cost(*(median(each) for each in zip(*map(astuple, costs), strict=True)))


def compare_rewrites(files: Files, rows: int, rounds: int) -> Table:
    source = files.make("events", rows)
    rewrites = {
        "pyarrow": rewrite_command("pyarrow", source),
        "DuckDB": rewrite_command("duckdb", source),
        "DataFusion": rewrite_command("datafusion", source),
        "DataFusion, zstd level 1": rewrite_command("datafusion_1", source),
    }
    commands = {
        "pbloom build": build_command(source),
        **rewrites,
        "cp, no filter": lambda output: ["cp", str(source), str(output)],
    }
    filters = {name: count_filters(files, command) for name, command in commands.items()}
    spent = costs(commands, files, rounds)
    ours = typical(spent["pbloom build"]).wall

    def row(name: str) -> list[str]:
        cost = typical(spent[name])
        goal = at_least(cost.wall / ours, TIMES_FASTER_THAN_A_REWRITE, "x")
        return [
            name,
            f"{cost.wall:.2f} s",
            f"{min(cost.wall for cost in spent[name]):.2f} s",
            f"{cost.cpu:.2f} s",
            megabytes(cost.peak),
            filters[name],
            f"{cost.wall / ours:.1f}x",
            *(goal if name in rewrites else NO_GOAL),
        ]

    return Table(
        "A filter for one column of a file",
        f"{rows / 1e6:g} M rows of 10 columns, {megabytes(source.stat().st_size)}, zstd; the column"
        f" is one of unique strings. Whole processes, {rounds} rounds.",
        ("", "wall", "fastest", "CPU", "peak memory", "filters", "wall / pbloom"),
        [row(name) for name in commands],
    )


def count_filters(files: Files, command: Command) -> str:
    """How many row groups of the output have a filter for the column. This run warms up, too."""
    with files.output() as output:
        run(command(output))
        inspection = ask([PBLOOM, "inspect", "--json", "-c", "id", str(output)])
    chunks = [column for group in inspection["row_groups"] for column in group["columns"]]
    return f"{sum(chunk['filter'] is not None for chunk in chunks)} of {len(chunks)}"


COLUMNS = {
    "id": "unique strings of 25 bytes",
    "country": "200 strings, dictionary",
    "city": "20,000 strings, dictionary",
    "user_id": "unique int64",
    "amount": "unique double",
    "score": "double, 30 % null",
    "parent": "int64, 50 % null",
}


def compare_decoding(files: Files, rows: int, rounds: int) -> Table:
    source = files.make("events", rows)
    seconds = ask(module("decoding", source, rounds, *COLUMNS))
    return Table(
        "Values into a filter, against decoding them",
        f"The same file, one column. `build(dry_run=True, threads=1)` against"
        f" `ParquetFile.read(use_threads=False)`. One process, {rounds} rounds.",
        ("", "pyarrow", "as dictionary", "pbloom", "pbloom / pyarrow", "in CPU time"),
        [decoding_row(column, seconds[column]) for column in COLUMNS],
    )


def decoding_row(column: str, seconds: Mapping[str, Sequence[tuple[float, float]]]) -> list[str]:
    wall = {name: median(wall for wall, _ in each) for name, each in seconds.items()}
    cpu = {name: median(cpu for _, cpu in each) for name, each in seconds.items()}
    share = wall["pbloom"] / wall["pyarrow"]
    limit = SHARE_OF_DECODING.get(column)
    return [
        f"{column}: {COLUMNS[column]}",
        *(
            f"{1000 * wall[name]:.1f} ms" if name in wall else ""
            for name in ("pyarrow", "pyarrow, dictionary", "pbloom")
        ),
        f"{share:.3f}x",
        f"{cpu['pbloom'] / cpu['pyarrow']:.3f}x",
        *(NO_GOAL if limit is None else at_most(share, limit, "x")),
    ]


def compare_kernels(rounds: int) -> Table:
    return Table(
        "Hash and insert, hash and check",
        f"A million values, nanoseconds per value. Half of the checks find theirs. {rounds} rounds.",
        ("", "filter", "Arrow C++", "pbloom", "without AVX2", "pbloom / Arrow"),
        [kernel_row(case) for case in ask(module("kernel", rounds))],
    )


def kernel_row(case: Mapping[str, Any]) -> list[str]:
    medians = {name: median(each) for name, each in case["nanoseconds"].items()}
    share = medians["pbloom"] / medians["Arrow C++"]
    has_goal = case["values"] == "int64" and case["verb"] == "insert"
    return [
        f"{case['verb']} {case['values']}",
        f"{case['num_bytes'] >> 10:,} KiB",
        *(f"{medians[name]:.1f} ns" for name in ("Arrow C++", "pbloom", "pbloom without AVX2")),
        f"{share:.2f}x",
        *(at_most(share, SHARE_OF_ARROW_INSERT, "x") if has_goal else NO_GOAL),
    ]


def measure_memory(files: Files, rows: int, rounds: int) -> Table:
    sources = {
        f"{rows / 1e6:g} M rows of 10 columns": files.make("events", rows),
        f"{rows / 1e6:g} M strings": files.make("many-row-groups", rows),
        f"{10 * rows / 1e6:g} M strings": files.make("many-row-groups", 10 * rows),
        f"{16 * rows / 1e6:g} M int64, one row group": files.make("one-row-group", 16 * rows),
    }
    spent = costs({name: build_command(file) for name, file in sources.items()}, files, rounds)

    def row(name: str) -> list[str]:
        cost = typical(spent[name])
        return [
            name,
            megabytes(sources[name].stat().st_size),
            f"{cost.wall:.2f} s",
            megabytes(cost.peak),
            *at_most(cost.peak / 1e6, PEAK_MEGABYTES, " MB"),
        ]

    return Table(
        "Memory of pbloom build",
        f"One filter per row group; a row group has about a million rows unless it is said"
        f" otherwise. Whole processes, {rounds} rounds.",
        ("", "file", "wall", "peak memory"),
        [row(name) for name in sources],
    )


def measure_validation(files: Files, rows: int, rounds: int) -> Table:
    """Every value looked up, against building the same filters; and a file of many columns."""
    columns = "id,user_id,country,amount"
    source, wide = files.make("events", rows), files.make("wide", 1000)
    filtered = files.folder / f"events-{rows}-with-filters.parquet"
    build = [PBLOOM, "build", str(source), "-c", columns, "--overwrite", "-o"]
    run([*build, str(filtered)])
    spent = costs(
        {
            "pbloom build, 4 columns": lambda output: [*build, str(output)],
            "pbloom validate": lambda output: [PBLOOM, "validate", str(filtered)],
            "pbloom validate --no-deep": lambda output: [
                *(PBLOOM, "validate", "--no-deep"),
                str(filtered),
            ],
            "the same, 100,000 column chunks": lambda output: [
                *(PBLOOM, "validate", "--no-deep"),
                str(wide),
            ],
        },
        files,
        rounds,
    )
    wall = {name: typical(each).wall for name, each in spent.items()}
    built = wall["pbloom build, 4 columns"]
    goals = {
        "pbloom validate": at_most(
            wall["pbloom validate"] / built, TIMES_SLOWER_THAN_BUILD, "x build"
        ),
        "the same, 100,000 column chunks": at_most(
            wall["the same, 100,000 column chunks"], WIDE_SECONDS, " s"
        ),
    }
    return Table(
        "Validation",
        f"The file of {rows / 1e6:g} M rows with filters for `{columns}`, and one of 100 row groups"
        f" of 1,000 columns, 10 of which have filters. Whole processes, {rounds} rounds.",
        ("", "wall", "peak memory", "wall / build"),
        [
            [
                name,
                f"{wall[name]:.2f} s",
                megabytes(typical(each).peak),
                f"{wall[name] / built:.2f}x" if "chunks" not in name else "",
                *goals.get(name, NO_GOAL),
            ]
            for name, each in spent.items()
        ],
    )


def measure_encryption(files: Files, rows: int, rounds: int) -> Table:
    """Building on an encrypted file, against building on the same one that is not."""
    kinds = ("events", "events-gcm", "events-ctr")
    plain, gcm, ctr = (files.make(kind, rows) for kind in kinds)
    keys = ask(module("kms"))
    contenders = {
        "not encrypted": [str(plain)],
        "AES_GCM_V1": [str(gcm), *keys],
        "AES_GCM_CTR_V1": [str(ctr), *keys],
        "AES_GCM_V1, a KMS client of pyarrow": [str(gcm), "--kms", "benchmarks.kms:BenchmarkKms"],
    }
    # As a module, so that the KMS client is found in the folder that this runs in.
    build = [sys.executable, "-m", "parquet_bloom", "build", "--overwrite"]

    def rows_of(columns: str) -> Iterator[list[str]]:
        commands = {
            name: lambda output, options=options: [
                *(*build, *options, "-c", columns),
                *("-o", str(output)),
            ]
            for name, options in contenders.items()
        }
        spent = costs(commands, files, rounds)
        wall = {name: typical(each).wall for name, each in spent.items()}
        for name, seconds in wall.items():
            share = seconds / wall["not encrypted"]
            yield [
                columns,
                name,
                f"{seconds:.2f} s",
                megabytes(typical(spent[name]).peak),
                f"{share:.2f}x",
                *(NO_GOAL if name == "not encrypted" else at_most(share, TIMES_ENCRYPTED, "x")),
            ]

    return Table(
        "Building on encrypted files",
        f"The file of {rows / 1e6:g} M rows, its footer and each column encrypted with a key of its"
        f" own. Whole processes, {rounds} rounds.",
        ("filters", "", "wall", "peak memory", "wall / not encrypted"),
        [*rows_of("id"), *rows_of("id,user_id,country,amount")],
    )


def compare_lake(files: Files, rounds: int) -> Table:
    """A job on Spark against the command on the same files."""
    small = files.make_folder("small-files", SMALL_FILES)
    huge = files.make_folder("huge", HUGE_ROWS)
    cases = {
        f"{SMALL_FILES:,} files, {megabytes(folder_size(small))}": small,
        f"one file, {megabytes(folder_size(huge))}": huge,
    }
    arguments = [text for folder in cases.values() for text in ("id", folder)]
    measured = ask(module("lake", rounds, *arguments))

    def row(name: str, seconds: Sequence[Mapping[str, float]]) -> list[str]:
        command, job, tasks = (
            median(each[kind] for each in seconds) for kind in ("command", "job", "tasks")
        )
        return [
            name,
            f"{command:.1f} s",
            f"{job:.1f} s",
            f"{tasks:.1f} s",
            f"{command / tasks:.2f}x",
            *at_least(command / tasks, SHARE_OF_COMMAND, "x"),
        ]

    return Table(
        "A lake on Spark",
        f"A filter for one column of ten. The command runs once for each processor, on its share of"
        f" the files, or with all its threads on one; Spark has as many tasks at a time in a warm"
        f" local session. `tasks`: their time without what is before and between them."
        f" {rounds} rounds.",
        ("", "pbloom build", "Spark job", "tasks", "command / tasks"),
        [row(name, seconds) for name, seconds in zip(cases, measured, strict=True)],
    )


def folder_size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def measure_start(rounds: int) -> Table:
    run([PBLOOM, "--help"])
    cost = typical([run([PBLOOM, "--help"]) for _ in range(rounds)])
    goal = at_most(cost.wall, HELP_SECONDS, " s")
    row = ("pbloom --help", f"{cost.wall:.3f} s", *goal)
    return Table("Start", f"Whole processes, {rounds} rounds.", ("", "wall"), [row])


def tables(files: Files, rows: int, rounds: int) -> Iterator[Table]:
    yield compare_rewrites(files, rows, rounds)
    yield compare_decoding(files, rows, 2 * rounds + 1)
    if shutil.which("g++"):
        yield compare_kernels(2 * rounds + 1)
    else:
        print("no g++: the kernels are not compared\n")
    yield measure_memory(files, rows, min(rounds, 3))
    yield measure_validation(files, rows, rounds)
    yield measure_encryption(files, rows, rounds)
    yield compare_lake(files, min(rounds, 3))
    yield measure_start(2 * rounds + 1)


def show(text: object) -> str:
    print(text, end="\n\n", flush=True)
    return str(text)


def write_between_marks(readme: Path, blocks: Sequence[str]) -> None:
    before, _, rest = readme.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    readme.write_text(before + BEGIN + "\n" + "\n\n".join(blocks) + "\n\n" + END + after)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the main file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, help="folder to keep the files in")
    parser.add_argument("--write", action="store_true", help="replace the tables of both README.md")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.data or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        command = f"python -m benchmarks.bench --rows {options.rows} --rounds {options.rounds}"
        before = machine.load()
        blocks = [show(table) for table in tables(Files(folder), options.rows, options.rounds)]
        about = [
            *machine.description(),
            f"- Load average before and after: {before}; {machine.load()}",
            f"- `{command}`",
        ]
    show("\n".join(about))
    if options.write:
        write_between_marks(README, ["\n".join(about), *blocks])
        write_between_marks(PROJECT_README, [*blocks[:1], "\n".join(about)])


if __name__ == "__main__":
    main()
