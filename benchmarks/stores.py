"""What requests cost, with 30 ms added to each: `python -m benchmarks.stores [OLDER]`.

Prints a table of requests, bytes and seconds for one object of 100 row groups on a server of this
machine; with the folder of an OLDER version, whose kernel is built, side by side with that one, which
is told of the server as pyarrow is. Each figure is the best of three runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import parquet_bloom as pb

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from make.object_server import ObjectServer

ROWS = 2_000
GROUPS = 100
DELAY_SECONDS = 0.03
ROUNDS = 3

COMMANDS = {
    "inspect": ["inspect"],
    "probe, 1 value": ["probe", "-c", "s", "-v", "user-00000005"],
    "probe, 10 values": ["probe", "-c", "s", *(f"-vuser-{number:08d}" for number in range(10))],
    "validate --no-deep": ["validate", "--no-deep"],
    "build --dry-run": ["build", "-c", "c3", "--dry-run", "--in-place"],
}


def make(folder: Path) -> bytes:
    """44 MB, 26 MB of which are 100 filters."""
    rows = np.arange(ROWS * GROUPS, dtype=np.int64)
    columns: dict[str, object] = {f"c{number}": rows * (number + 3) for number in range(9)}
    columns["s"] = [f"user-{row:08d}" for row in rows.tolist()]
    plain, path = folder / "plain.parquet", folder / "x.parquet"
    pq.write_table(
        pa.table(columns), plain, row_group_size=ROWS, use_dictionary=False, compression="none"
    )
    pb.build(plain, path, columns=["s"], ndv=100_000)
    return path.read_bytes()


def run(server: ObjectServer, tree: Path, arguments: list[str]) -> tuple[int, int, float]:
    """Requests, bytes that came, seconds."""
    url = f"s3://lake/x.parquet?endpoint_override=127.0.0.1:{server.port}&scheme=http&region=x"
    environment = os.environ | {
        "PYTHONPATH": str(tree),
        "AWS_ACCESS_KEY_ID": "KEY",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    server.forget()
    started = time.perf_counter()
    verb, *options = arguments
    done = subprocess.run(
        [sys.executable, "-m", "parquet_bloom", verb, url, *options],
        cwd=tree,
        env=environment,
        capture_output=True,
        check=False,
    )
    seconds = time.perf_counter() - started
    # validate has findings: the filters are larger than they need to be.
    assert done.returncode in (0, 1), done.stderr.decode()
    return len(server.asked), server.bytes_down, seconds


def main() -> None:
    trees = [ROOT, *map(Path, sys.argv[1:])]
    names = ["this version", *(["older"] if len(trees) > 1 else [])]
    server = ObjectServer()
    with tempfile.TemporaryDirectory() as folder:
        server.put("lake/x.parquet", make(Path(folder)))
    server.delay = DELAY_SECONDS
    print("| | " + " | ".join(f"{name}: requests | MB | s" for name in names) + " |")
    with server.running():
        for title, arguments in COMMANDS.items():
            cells = []
            rounds = [[run(server, tree, arguments) for tree in trees] for _ in range(ROUNDS)]
            for found in zip(*rounds, strict=True):
                requests, num_bytes, seconds = min(found, key=lambda each: each[2])
                cells.append(f"{requests:,} | {num_bytes / 1e6:.1f} | {seconds:.2f}")
            print(f"| {title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
