"""The tests of the kernel, on the package that is installed, wherever that is.

    python release/kernel_tests.py

In an environment with the package, pytest and hypothesis.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

ROOT = Path(__file__).parents[1]

# -P, and a folder without the package: what is installed is tested, not what lies here.
COMMAND = (
    *("-P", "-m", "pytest", "-q", "-r", "f", "-p", "no:cacheprovider", "--noconftest"),
    *("-p", "make.code_paths", "-p", "make.foreign_kernel", "-p", "make.memory_end"),
    *("-c", str(ROOT / "pyproject.toml"), str(ROOT / "tests" / "native")),
)

if __name__ == "__main__":
    command = [sys.executable, *COMMAND]
    sys.exit(subprocess.run(command, cwd=gettempdir(), check=False).returncode)
