"""What a filter saves, in a minute: `python -m benchmarks.demo`.

Makes demo/ in the current folder with a million rows, and runs the command on them step by step.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

import parquet_bloom as pb

FOLDER = Path("demo")
PLAIN = FOLDER / "events.parquet"
IN_ORC = FOLDER / "events.orc"
FILTERED = FOLDER / "events.bloom.parquet"

NUM_ROWS = 1_000_000
NUM_ROW_GROUPS = 8
SEED = 20240131
LAST_USER_ID = 1 << 40
COUNTRIES = ["AT", "BE", "CH", "DE", "DK", "ES", "FI", "FR", "IT", "NL", "NO", "PL", "PT", "SE"]
FIRST_TIMESTAMP = 1_704_067_200_000_000  # 2024-01-01T00:00:00Z in microseconds


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    print(f"A million events without filters, as pyarrow writes them: {PLAIN}, {IN_ORC}")
    user_ids = write_events()
    present, absent = choose_values(user_ids)

    heading("Add a filter for user_id. No data page is rewritten.")
    pbloom("build", PLAIN, "-c", "user_id", "-o", FILTERED)
    heading("Look at the filters.")
    pbloom("inspect", FILTERED, "-c", "user_id")
    heading(f"Ask for a user who is in one of {NUM_ROW_GROUPS} row groups.")
    pbloom("probe", FILTERED, "-c", "user_id", "-v", present)
    heading("Ask for a user who is in none. The exit code is 1: certainly absent.")
    pbloom("probe", FILTERED, "-c", "user_id", "-v", absent)

    heading("What is left to read")
    for value in (present, absent):
        print(f"user_id = {value:<13} {rows_to_read(value):>7,} of {NUM_ROWS:,} rows")


def write_events() -> np.ndarray:
    """Write PLAIN and IN_ORC; returns the user ids. Every row group spans the whole range of them, so that
    minimum and maximum cannot exclude any."""
    rng = np.random.default_rng(SEED)
    user_ids = rng.integers(0, LAST_USER_ID, NUM_ROWS)
    table = pa.table(
        {
            "user_id": user_ids,
            "session": sessions(rng),
            "country": np.array(COUNTRIES)[rng.integers(0, len(COUNTRIES), NUM_ROWS)],
            "ts": pa.array(timestamps(rng), pa.timestamp("us", tz="UTC")),
            "amount": rng.gamma(2.0, 20.0, NUM_ROWS).round(2),
        }
    )
    pq.write_table(table, PLAIN, compression="zstd", row_group_size=NUM_ROWS // NUM_ROW_GROUPS)
    orc.write_table(table, IN_ORC, compression="zstd")
    return user_ids


def sessions(rng: np.random.Generator) -> list[str]:
    """Random ids in the shape of a UUID."""
    digits = rng.bytes(16 * NUM_ROWS).hex()
    starts = range(0, len(digits), 32)
    return [
        f"{digits[i : i + 8]}-{digits[i + 8 : i + 12]}-{digits[i + 12 : i + 16]}"
        f"-{digits[i + 16 : i + 20]}-{digits[i + 20 : i + 32]}"
        for i in starts
    ]


def timestamps(rng: np.random.Generator) -> np.ndarray:
    """Microseconds since 1970, ascending."""
    return FIRST_TIMESTAMP + np.cumsum(rng.integers(1, 60_000_000, NUM_ROWS))


def choose_values(user_ids: np.ndarray) -> tuple[int, int]:
    """A user id that one row has, and the next one that no row has."""
    present = int(user_ids[NUM_ROWS // 2])
    beyond = np.arange(present, present + NUM_ROWS)
    return present, int(np.setdiff1d(beyond, user_ids)[0])


def pbloom(*arguments: object) -> None:
    """Show a command line and run it; exit code 1 is an answer."""
    words = [str(argument) for argument in arguments]
    print(f"$ {shlex.join(['pbloom', *words])}", flush=True)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    status = subprocess.run(["pbloom", *words], check=False, env=environment).returncode
    if status > 1:
        sys.exit(status)


def heading(text: str) -> None:
    print(f"\n{text}")


def rows_to_read(value: int) -> int:
    with pb.open(FILTERED) as file:
        verdicts = file.probe("user_id", value)
    return sum(verdict.num_rows for verdict in verdicts if verdict.verdict != "absent")


if __name__ == "__main__":
    main()
