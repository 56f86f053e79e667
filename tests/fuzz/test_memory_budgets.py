"""Every verb keeps its memory budget: the short form of `make memory`, in a process of its own."""

import subprocess
import sys
from pathlib import Path

from conftest import ROOT

CHECKS = Path(__file__).with_name("memory_checks.py")


def test_the_short_form() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(CHECKS)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1200
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
    assert "6 passed" in done.stdout
