"""Fuzz every target in turn.

    python tests/fuzz/campaign.py SECONDS

SECONDS: for each. Ends at the first input that breaks a promise, which is kept in .fuzz; otherwise
writes fuzz.json, and its table into docs/reliability.md.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from fuzz import page
from fuzz.targets import TARGETS

RUN = Path(__file__).with_name("run.py")
FOLDER = Path(".fuzz")

# What libFuzzer says at its end, and in each line about its progress.
_DONE = re.compile(r"Done (\d+) runs in (\d+) second")
_REACHED = re.compile(r"cov: (\d+)")


def fuzzed(target: str, seconds: int) -> dict[str, Any]:
    """The line of the table for one target; shows what libFuzzer says."""
    options = (f"-max_total_time={seconds}", f"-artifact_prefix={FOLDER / target}-")
    command = (sys.executable, str(RUN), target, str(FOLDER / target), *options)
    said = []
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            sys.stderr.write(line)
            said.append(line)
    if process.returncode:
        sys.exit(process.returncode)
    text = "".join(said)
    done, *_ = _DONE.findall(text)
    # The kernel is C, whose lines are not counted.
    reached = max(map(int, _REACHED.findall(text)), default=0)
    found = {"target": target, "executions": int(done[0]), "seconds": int(done[1])}
    return found | {"reached": reached}


def table(lines: page.Lines) -> str:
    shown = ["| target | executions | seconds | branches reached |", "|-|-:|-:|-:|"]
    for line in lines:
        reached = f"{line['reached']:,}" if line["reached"] else "not counted"
        figures = f"{line['executions']:,} | {line['seconds']:,} | {reached}"
        shown.append(f"| `{line['target']}` | {figures} |")
    total = sum(line["executions"] for line in lines)
    return "\n".join(shown) + f"\n\n{total:,} executions.\n"


def main(seconds: int) -> None:
    FOLDER.mkdir(exist_ok=True)
    lines = [fuzzed(target, seconds) for target in TARGETS]
    sys.stdout.write(table(lines))
    page.write("fuzz", lines, table)


if __name__ == "__main__":
    main(int(sys.argv[1]))
