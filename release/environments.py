"""Runs the tests without Spark on another Python, or with the oldest packages that pyproject.toml allows.

    python release/environments.py 3.12 3.13    # all of PYTHONS, unless some are named
    python release/environments.py lowest

Each has an environment in .release. The package is the one in this folder: its kernel is for every Python. What is
not here, Debian's unstable may have.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from debian import ARCHITECTURES, Debian
from make_wheels import ROOT, run

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LOWEST = "lowest"

EXTRAS = ("encryption", "orc", "report", "zstd", "s3", "azure", "gcs", "polars")
# What the tests take beside the package, the newest of each.
TESTED_WITH = (
    *("pytest>=9", "pytest-xdist", "hypothesis", "jsonschema", "PyYAML", "google-crc32c"),
    *("datafusion", "duckdb", "pyorc", "deltalake", "setuptools"),
)

TESTS = (
    "test_extras.py",
    "test_codecs.py",
    "filters",
    "native",
    "reads/test_partitions.py",
    "values",
    "verbs/test_build.py",
    "verbs/test_documents.py",
    "verbs/test_orc_build.py",
    "verbs/test_report.py",
    "verbs/test_validate.py",
    "commands/test_cli.py",
)
# What asks pyarrow or polars for more than the oldest one has, to judge our files and rows by it.
NEWER = (
    "tests/commands/test_cli.py::test_build_json",
    "tests/values/test_values.py::test_pyarrow_stores_these_bytes",
    "tests/reads/test_partitions.py::test_they_are_of_the_type_that_files_have",
    "tests/reads/test_partitions.py::test_times_without_a_zone_have_none",
    "tests/verbs/test_build.py::test_pyarrow_sees_offset_and_length",
)


def python_of(version: str) -> str | None:
    """A program of that version."""
    return python_here(version) or python_of_debian(version)


def python_of_debian(version: str) -> str | None:
    name = f"python{version}"
    debian = Debian(ARCHITECTURES[platform.machine()], ROOT / ".release" / "debian-sid", "sid")
    try:
        debian.install(name, f"{name}-venv", "libstdc++6")
    except (OSError, subprocess.CalledProcessError):
        return None
    return str(debian.program(name))


def python_here(version: str) -> str | None:
    """On the path or among those of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    others = sorted(pyenv.glob(f"{version}.*/bin/python3"))
    found = shutil.which(f"python{version}") or (others and str(others[-1])) or None
    if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode:
        # A shim of pyenv for a version that is not chosen.
        return str(others[-1]) if others else None
    return found


def install(name: str, program: str) -> Path:
    """The Python of an environment with what the package and its tests need."""
    folder = ROOT / ".release" / f"python-{name}"
    python = folder / "bin" / "python"
    run(program, "-m", "venv", "--clear", "--without-pip", folder)
    resolution = ("--resolution", "lowest-direct") if name == LOWEST else ()
    extras = [option for extra in EXTRAS for option in ("--extra", extra)]
    pip = ("uv", "pip", "install", "--quiet", "--python", python)
    run(*pip, *resolution, "-r", ROOT / "pyproject.toml", *extras)
    run(*pip, *TESTED_WITH)
    return python


def passes(name: str, python: Path) -> bool:
    tests = [str(ROOT / "tests" / each) for each in TESTS]
    skipped = [f"--deselect={each}" for each in NEWER] if name == LOWEST else []
    return not subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *skipped, *tests],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    ).returncode


def main(names: list[str]) -> int:
    failed = 0
    for name in names or PYTHONS:
        program = python_of(PYTHONS[0] if name == LOWEST else name)
        if program is None:
            print(f"Python {name}: neither here nor in Debian", flush=True)
            # Who names one wants it.
            failed += bool(names)
            continue
        print(f"{name}: {program}", flush=True)
        failed += not passes(name, install(name, program))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
