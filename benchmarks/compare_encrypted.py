"""Building on an encrypted file, against the same one that is not."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.contenders import Files, costs, typical
from benchmarks.processes import ask, module
from benchmarks.tables import NO_GOAL, Table, at_most, megabytes

TIMES_ENCRYPTED = 2


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
