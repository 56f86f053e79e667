"""Where and with what the figures were taken."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("parquet-bloom", "pyarrow", "duckdb", "datafusion", "numpy")


def description() -> list[str]:
    """Lines of Markdown; nothing that names the machine or its folders."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    processors = len(os.sched_getaffinity(0))
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return [
        f"- {datetime.now(UTC):%Y-%m-%d}, {processor()}, {processors} processors, {memory:.0f} GiB",
        f"- Linux {platform.release()}, Python {platform.python_version()}, {versions}",
    ]


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def load() -> str:
    return " ".join(f"{average:.1f}" for average in os.getloadavg())
