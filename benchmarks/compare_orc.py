"""Filters for an ORC file, against filters for the same data in Parquet, and against a rewrite.

ORC sets k bits for each value and Parquet eight; each index group of ORC has a filter of its own. So
what is compared is the time for each value and bit: that of the whole process, start and copy of the
file included, divided by the number of rows, none of which is null, and by the bits that each sets. A
rate of 0.8 means that ORC takes 1.25 times as long for each; equal times make it 0.875. *in CPU time*
is the same rate by what all processors spent, which does not wait for the disk.
"""

from __future__ import annotations

from benchmarks.contenders import Files, build_command, costs, rewrite_command, typical
from benchmarks.tables import NO_GOAL, Table, at_least, megabytes

SHARE_OF_PARQUET_RATE = 0.8

# The columns without nulls that neither writer puts into a dictionary, and what they are in ORC.
COLUMNS = {"id": "STRING", "user_id": "LONG", "amount": "DOUBLE", "ts": "TIMESTAMP"}

# Bits for each value, at the target of 1 %.
PARQUET_BITS, ORC_BITS = 8, 7


def compare_orc(files: Files, rows: int, rounds: int) -> Table:
    parquet, orc = files.make("events", rows), files.make("events-orc", rows)
    commands = {
        f"{kind}, {column} ({orc_type})": build_command(source, column)
        for column, orc_type in COLUMNS.items()
        for kind, source in (("Parquet", parquet), ("ORC", orc))
    }
    commands["a rewrite of ORC by pyarrow, id"] = rewrite_command("pyarrow_orc", orc)
    spent = costs(commands, files, rounds)

    def nanoseconds(name: str, bits: int, of: str = "wall") -> float:
        return 1e9 * float(getattr(typical(spent[name]), of)) / rows / bits

    def rate(name: str, of: str) -> float:
        parquet_time = nanoseconds(name.replace("ORC", "Parquet"), PARQUET_BITS, of)
        return parquet_time / nanoseconds(name, ORC_BITS, of)

    def row(name: str) -> list[str]:
        cost = typical(spent[name])
        figures = [name, f"{cost.wall:.2f} s", megabytes(cost.peak)]
        if not name.startswith("ORC"):
            bits = PARQUET_BITS if name.startswith("Parquet") else ORC_BITS
            return [*figures, f"{nanoseconds(name, bits):.1f} ns", "", "", *NO_GOAL]
        by_wall, by_cpu = rate(name, "wall"), rate(name, "cpu")
        goal = at_least(by_wall, SHARE_OF_PARQUET_RATE, "x")
        ours = f"{nanoseconds(name, ORC_BITS):.1f} ns"
        return [*figures, ours, f"{by_wall:.2f}x", f"{by_cpu:.2f}x", *goal]

    return Table(
        "Filters for an ORC file",
        f"{rows / 1e6:g} M rows of 10 columns, zstd, as pyarrow writes them: {megabytes(orc.stat().st_size)}"
        f" in ORC, {megabytes(parquet.stat().st_size)} in Parquet. Whole processes of `pbloom build`,"
        f" copy of the file included, {rounds} rounds. Each value sets {PARQUET_BITS} bits in Parquet and"
        f" {ORC_BITS} in ORC.",
        ("", "wall", "peak memory", "per value and bit", "rate / Parquet", "in CPU time"),
        [row(name) for name in commands],
    )
