"""A filter for a file: against a rewrite, against decoding; memory and start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.contenders import (
    Command,
    Files,
    build_command,
    costs,
    overwrite_command,
    replace_command,
    rewrite_command,
    typical,
)
from benchmarks.processes import PBLOOM, ask, module, run
from benchmarks.tables import NO_GOAL, Table, at_least, at_most, megabytes

TIMES_FASTER_THAN_A_REWRITE = 15
SHARE_OF_DECODING = 1.0
SHARE_OF_DECODING_A_DICTIONARY = 0.05
SHARE_OF_LIBZSTD = 1.3
SHARE_OF_LIBZSTD_STRINGS = 1.35
PEAK_MEGABYTES = 300


def compare_rewrites(files: Files, rows: int, rounds: int) -> Table:
    return compare_rewrites_of(
        files.make("events", rows), rows, files, rounds, TIMES_FASTER_THAN_A_REWRITE
    )


def compare_rewrites_of(source: Path, rows: int, files: Files, rounds: int, times: float) -> Table:
    """`times`: how much faster than each rewrite the command should be."""
    rewrites = {
        "pyarrow": rewrite_command("pyarrow", source),
        "DuckDB": rewrite_command("duckdb", source),
        "DataFusion": rewrite_command("datafusion", source),
        "DataFusion, zstd level 1": rewrite_command("datafusion_1", source),
    }
    commands = {
        "pbloom build": build_command(source),
        "pbloom build --overwrite": overwrite_command(source),
        "pbloom build --in-place": replace_command(source, "--in-place"),
        "pbloom build --append-in-place": replace_command(source, "--append-in-place"),
        **rewrites,
        "cp, no filter": lambda output: ["cp", str(source), str(output)],
    }
    filters = {name: count_filters(files, command) for name, command in commands.items()}
    spent = costs(commands, files, rounds)
    ours = typical(spent["pbloom build"]).wall

    def row(name: str) -> list[str]:
        cost = typical(spent[name])
        goal = at_least(cost.wall / ours, times, "x")
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
        f" is one of unique strings. Whole processes, {rounds} rounds. What takes the place of another"
        " file is synced to disk first, and so is what is appended to one.",
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
DICTIONARIES = ("country", "city")
ENCODED = {
    "short": "strings of 6 to 30 bytes",
    "long": "strings of 20 to 200 bytes",
    "int32": "unique int32",
    "delta": "int64, DELTA_BINARY_PACKED",
    "lengths": "strings of 25 bytes, DELTA_LENGTH_BYTE_ARRAY",
    "prefixes": "sorted strings, DELTA_BYTE_ARRAY",
    "streams": "double, BYTE_STREAM_SPLIT",
}
# Strings of 110 bytes on average.
ENCODED_ROWS_SHARE = 0.2


def compare_decoding(files: Files, rows: int, rounds: int) -> Table:
    source = files.make("events", rows)
    encoded = files.make("encodings", int(rows * ENCODED_ROWS_SHARE))
    seconds = ask(module("decoding", source, rounds, *COLUMNS))
    seconds |= ask(module("decoding", encoded, rounds, *ENCODED))
    return Table(
        "Values into a filter, against decoding them",
        f"The same file, one column; and a fifth of its rows in other encodings."
        f" `build(dry_run=True, threads=1)` against `ParquetFile.read(use_threads=False)`, and against"
        f" libzstd, which decompresses the same pages from memory and does nothing else: with AVX-512, we"
        f" want at most {SHARE_OF_LIBZSTD_STRINGS:g}x of that for strings and {SHARE_OF_LIBZSTD:g}x for"
        f" numbers, in CPU time. *read* only reads the same pages from the file, *kernel* only hashes and"
        f" inserts the same values from memory: the least that it can take is all three. One process,"
        f" {rounds} rounds.",
        (
            *("", "read", "libzstd", "kernel", "pyarrow", "as dictionary", "pbloom"),
            *("pbloom / libzstd, CPU", "/ all three", "pbloom / pyarrow", "in CPU time"),
        ),
        [
            decoding_row(column, about, seconds[column])
            for column, about in (COLUMNS | ENCODED).items()
        ],
    )


def compare_unpacking(rounds: int) -> Table:
    found = ask(module("unpacking", rounds))
    medians = {
        name: {path: median(each) for path, each in case["nanoseconds"].items()}
        for name, case in found.items()
    }
    delta, *others = medians
    paths = list(medians[delta])[::-1]

    def row(name: str) -> list[str]:
        share = max(medians[name][path] / medians[delta][path] for path in paths)
        return [
            name,
            f"{found[name]['bytes']:.1f}",
            *(f"{medians[name][path]:.2f} ns" for path in paths),
            f"{share:.2f}x",
            *(at_most(share, 1, "x") if name in others else NO_GOAL),
        ]

    return Table(
        "Numbers out of their encoding",
        "A million numbers in one page, without a filter: CPU time per value with the instructions of this processor, and"
        f" with fewer; the share is the largest of them. One value in a hundred is an exception of ALP. {rounds} rounds.",
        ("", "bytes per value", *(f"pbloom, {path}" for path in paths), "/ DELTA_BINARY_PACKED"),
        [row(name) for name in medians],
    )


def decoding_row(
    column: str, about: str, seconds: Mapping[str, Sequence[tuple[float, float]]]
) -> list[str]:
    wall = {name: median(wall for wall, _ in each) for name, each in seconds.items()}
    cpu = {name: median(cpu for _, cpu in each) for name, each in seconds.items()}
    share = wall["pbloom"] / wall["pyarrow"]
    is_dictionary = column in DICTIONARIES
    least = sum(cpu[name] for name in ("read", "libzstd", "kernel"))
    limit = SHARE_OF_DECODING_A_DICTIONARY if is_dictionary else SHARE_OF_DECODING
    return [
        f"{column}: {about}",
        *(
            f"{1000 * wall[name]:.1f} ms" if name in wall else ""
            for name in ("read", "libzstd", "kernel", "pyarrow", "pyarrow, dictionary", "pbloom")
        ),
        "-" if is_dictionary else f"{cpu['pbloom'] / cpu['libzstd']:.2f}x",
        "-" if is_dictionary else f"{cpu['pbloom'] / least:.2f}x",
        f"{share:.3f}x",
        f"{cpu['pbloom'] / cpu['pyarrow']:.3f}x",
        *at_most(share, limit, "x"),
    ]


def measure_memory(files: Files, rows: int, rounds: int) -> Table:
    sources = {
        f"{rows / 1e6:g} M rows of 10 columns": files.make("events", rows),
        f"{rows / 1e6:g} M strings": files.make("many-row-groups", rows),
        f"{10 * rows / 1e6:g} M strings": files.make("many-row-groups", 10 * rows),
        f"{16 * rows / 1e6:g} M int64, one row group": files.make("one-chunk", 16 * rows),
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
