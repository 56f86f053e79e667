"""What requests cost, with 30 ms added to each: `python -m benchmarks.stores [OLDER]`.

Prints a table of requests, bytes and seconds for one object of 100 row groups on a server of this
machine, which runs in a process of its own; with the folder of an OLDER version, whose kernel is built,
side by side with that one, and how many times as fast this one is. The older one is told of the server
as pyarrow is. If datafusion is installed, it looks up a value, too, with the same filters. Each figure
is the best of several runs, which take turns; `CPU` is that of the process that asks.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks import tables
from benchmarks.serving import ROOT, Server, serving

ROWS = 2_000
GROUPS = 100
DELAY_SECONDS = 0.03
ROUNDS = 3
# The values are in no order, so that only filters tell which row groups have one.
STEP = 7_919
VALUE = f"user-{STEP:08d}"

COMMANDS = {
    "inspect": ["inspect"],
    "probe, 1 value": ["probe", "-c", "s", "-v", VALUE],
    "probe, 10 values": ["probe", "-c", "s", *(f"-vuser-{number:08d}" for number in range(10))],
    "validate --no-deep": ["validate", "--no-deep"],
    "build --dry-run": ["build", "-c", "c3", "--dry-run", "--in-place"],
}
TIMES_AS_FAST = {title: 5 if title.startswith("build") else 10 for title in COMMANDS}

DATAFUSION = "datafusion, WHERE s ="


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process asked of the server, and took: bytes that came, seconds on the clock and of
    all processors."""

    requests: int
    num_bytes: int
    wall: float
    cpu: float


def make(path: str) -> None:
    """44 MB, 26 MB of which are 100 filters."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import parquet_bloom as pb

    rows = np.arange(ROWS * GROUPS, dtype=np.int64)
    columns: dict[str, object] = {f"c{number}": rows * (number + 3) for number in range(9)}
    columns["s"] = [f"user-{row:08d}" for row in (rows * STEP % rows.size).tolist()]
    pq.write_table(
        pa.table(columns),
        f"{path}.plain",
        row_group_size=ROWS,
        use_dictionary=False,
        compression="none",
    )
    pb.build(f"{path}.plain", path, columns=["s"], ndv=100_000)


def look_up(port: str) -> None:
    """As DataFusion does it, in a process of its own."""
    from datafusion import SessionConfig, SessionContext
    from datafusion.object_store import AmazonS3

    pruning = {
        f"datafusion.execution.parquet.{name}": "true"
        for name in ("bloom_filter_on_read", "pruning", "enable_page_index", "pushdown_filters")
    }
    context = SessionContext(SessionConfig(pruning))
    store = AmazonS3(
        bucket_name="lake",
        region="x",
        access_key_id="KEY",
        secret_access_key="secret",
        endpoint=f"http://127.0.0.1:{port}",
        allow_http=True,
    )
    context.register_object_store("s3://", store, "lake")
    context.register_parquet("t", "s3://lake/x.parquet")
    (batch,) = context.sql(f"SELECT s, c1 FROM t WHERE s = '{VALUE}'").collect()
    assert batch.to_pydict() == {"s": [VALUE], "c1": [4]}, batch


def run(server: Server, tree: Path, command: list[str]) -> Cost:
    environment = os.environ | {
        "PYTHONPATH": str(tree),
        "AWS_ACCESS_KEY_ID": "KEY",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    # Versions in Git's worktrees are not compiled otherwise, and an import takes twice the time.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    server.asked()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command], cwd=tree, env=environment, capture_output=True, check=False
    )
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # validate has findings: the filters are larger than they need to be.
    assert done.returncode in (0, 1), done.stderr.decode()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    asked = server.asked()
    return Cost(asked.requests, asked.down, wall, cpu)


def compare(server: Server, trees: list[Path]) -> list[list[str]]:
    url = f"s3://lake/x.parquet?endpoint_override=127.0.0.1:{server.port}&scheme=http&region=x"
    rows = []
    for title, (verb, *options) in COMMANDS.items():
        command = ["-m", "parquet_bloom", verb, url, *options]
        rounds = [[run(server, tree, command) for tree in trees] for _ in range(ROUNDS)]
        best = [min(found, key=lambda each: each.wall) for found in zip(*rounds, strict=True)]
        row = [title, *(cell for each in best for cell in cells(each))]
        if len(trees) > 1:
            times = best[1].wall / best[0].wall
            row += [f"{times:.1f}x", *tables.at_least(times, TIMES_AS_FAST[title], "x")]
        else:
            row += tables.NO_GOAL
        rows.append(row)
    return rows


def compare_datafusion(server: Server) -> list[list[str]]:
    """One look-up of a value against the whole query."""
    url = f"s3://lake/x.parquet?endpoint_override=127.0.0.1:{server.port}&scheme=http&region=x"
    contenders = {
        "pbloom probe": ["-m", "parquet_bloom", "probe", url, "-c", "s", "-v", VALUE],
        DATAFUSION: ["-m", "benchmarks.stores", "--look-up", str(server.port)],
    }
    rounds = [[run(server, ROOT, each) for each in contenders.values()] for _ in range(ROUNDS)]
    best = [min(found, key=lambda each: each.wall) for found in zip(*rounds, strict=True)]
    ours, theirs = best
    goal = f"≤ {theirs.requests}", "met" if ours.requests <= theirs.requests else "missed"
    return [
        [title, *cells(each), *(goal if each is ours else tables.NO_GOAL)]
        for title, each in zip(contenders, best, strict=True)
    ]


def cells(cost: Cost) -> list[str]:
    return [
        f"{cost.requests:,}",
        f"{cost.num_bytes / 1e6:.1f} MB",
        f"{cost.wall:.2f} s",
        f"{cost.cpu:.2f} s",
    ]


def main() -> None:
    if sys.argv[1:2] == ["--look-up"]:
        look_up(sys.argv[2])
        return
    if sys.argv[1:2] == ["--make"]:
        make(sys.argv[2])
        return
    trees = [ROOT, *map(Path, sys.argv[1:])]
    costs = ["requests", "down", "wall", "CPU"]
    header = ["", *costs]
    if len(trees) > 1:
        header += [*(f"older: {each}" for each in costs), "times as fast"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.parquet"
        # In a process of its own: children begin with the memory of their parent.
        subprocess.run([sys.executable, "-m", "benchmarks.stores", "--make", str(file)], check=True)
        with serving({"lake/x.parquet": file}, DELAY_SECONDS) as server:
            note = (
                "An object of 44 MB with 100 row groups of 10 columns and 100 filters of 256 KiB, on"
                f" a server that waits {DELAY_SECONDS * 1000:.0f} ms before it answers a request."
                f" Whole processes, {ROUNDS} rounds."
            )
            print(tables.Table("An object store", note, header, compare(server, trees)), flush=True)
            if find_spec("datafusion") is None:
                print("\nDataFusion is not installed: no look-up of its own.")
                return
            note = (
                "One value in the same object, by the filters alone, and by DataFusion, whose query"
                " reads its rows, too."
            )
            rows = compare_datafusion(server)
            print()
            print(tables.Table("Look-ups in an object store", note, ["", *costs], rows))


if __name__ == "__main__":
    main()
