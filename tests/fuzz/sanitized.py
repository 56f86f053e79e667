"""Run the tests of bytes on a kernel with the address and undefined-behaviour sanitizers.

    python tests/fuzz/sanitized.py [arguments of pytest]

Needs gcc with libasan and libubsan. Leaks are not looked for: Python itself keeps memory to its end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined"

# What hands bytes to the kernel that nobody has checked.
TESTS = (
    "native",
    "filters",
    "fuzz/test_fuzz.py",
    "orc/test_orc_decoding.py",
    "orc/test_orc_keys.py",
    "parquet/test_compact.py",
    "parquet/test_encodings.py",
    "parquet/test_pages.py",
    "parquet/test_page_levels.py",
    "parquet/test_hostile_pages.py",
    "parquet/test_whole_pages.py",
    "parquet/test_footer.py",
    "parquet/test_chunk_table_groups.py",
)


def build(folder: Path) -> None:
    """A copy of the package with such a kernel."""
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "parquet_bloom", folder / "parquet_bloom", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE", "pyspark_bloom.py"):
        shutil.copy(ROOT / name, folder)
    environment = os.environ | {"CFLAGS": f"{FLAGS} -g -O1", "LDFLAGS": FLAGS}
    setup = "from setuptools import setup; setup()"
    command = [sys.executable, "-c", setup, "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, env=environment, check=True)


def library(name: str) -> str:
    found = subprocess.run(
        ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


def check_is_used(folder: Path, environment: dict[str, str]) -> None:
    """Exit unless this kernel is the one that the tests would import."""
    where = "from parquet_bloom.native import _kernel; print(_kernel.__file__)"
    command = [sys.executable, "-c", where]
    answer = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    if not Path(answer.stdout.strip()).is_relative_to(folder):
        sys.exit(f"{answer.stdout.strip()}: the tests' kernel, expected one in {folder}")


def main(arguments: list[str]) -> int:
    with TemporaryDirectory(prefix="pbloom-sanitized-") as scratch:
        build(Path(scratch))
        environment = os.environ | {
            "PYTHONPATH": scratch,
            # Or the package in the current folder comes first.
            "PYTHONSAFEPATH": "1",
            # The sanitizer has to come first; then exceptions of C++ in other libraries work.
            "LD_PRELOAD": f"{library('libasan.so')}:{library('libstdc++.so.6')}",
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
            # Python's own pools would hide the ends of small buffers.
            "PYTHONMALLOC": "malloc",
        }
        check_is_used(Path(scratch), environment)
        tests = [str(ROOT / "tests" / name) for name in TESTS]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        return subprocess.run(
            [*command, *(arguments or tests)], cwd=ROOT, env=environment, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
