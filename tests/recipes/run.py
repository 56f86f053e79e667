"""Run the recipes of docs/reading.md whose libraries are not installed with the others.

    python tests/recipes/run.py [LIBRARY…]    # all of LIBRARIES, unless some are named

Each library has an environment of its own in .recipes, with the newest version that there was when it was made.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

from conftest import ROOT
from make.reading_lake import ROWS, make_lake
from make.recipes import recipes

HERE = ROOT / ".recipes"
LIBRARIES = {"daft": "daft", "ray": "ray[data]"}


def python_of(name: str) -> str:
    """That of an environment which has a library, and what we need. Raises subprocess.CalledProcessError."""
    folder = HERE / name
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, LIBRARIES[name], *project["dependencies"]], check=True)
        (folder / "installed").touch()
    return str(python)


def main(names: list[str]) -> int:
    failed = []
    with TemporaryDirectory() as folder:
        make_lake(Path(folder))
        for recipe in recipes():
            if recipe.module not in names:
                continue
            run = subprocess.run(
                [python_of(recipe.module), "-W", "ignore", "-c", recipe.code],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), "RAY_AUTH_MODE": "disabled"},
                capture_output=True,
                text=True,
                check=False,
            )
            found = run.stdout.split()[-1:]
            is_right = found == [str(ROWS)]
            sys.stdout.write(f"{recipe.module}: {'right' if is_right else run.stderr[-2000:]}\n")
            failed += [] if is_right else [recipe.module]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(LIBRARIES)))
