"""Whether this commit can be released: the same version everywhere, fresh pages, no large file,
licences that allow it.

    python release/ready.py

After `make wheel`, whose archives are looked at, too; in an environment with the package and all its extras.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MOST_BYTES = 5_000_000
NUM_WHEELS = 4
# In addresses of the repository and its site.
PLACEHOLDER = re.compile(rb"\bOWNER[/.]")

# Extras that users install; what only developers do is not distributed with anything.
OF_USERS = (
    "all",
    "azure",
    "encryption",
    "gcs",
    "iceberg",
    "orc",
    "polars",
    "report",
    "s3",
    "spark",
    "zstd",
)
ALLOWED = re.compile(
    r"apache|\bmit\b|bsd|isc|python software foundation|\bpsf|mpl|mozilla|unlicense|zlib",
    re.IGNORECASE,
)


def git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def versions() -> Iterator[str]:
    """Of the metadata, the package, the changelog and the archives."""
    wanted = PROJECT["version"]
    source = ast.parse((ROOT / "parquet_bloom" / "__init__.py").read_text())
    found = [
        node.value.value
        for node in source.body
        if isinstance(node, ast.Assign)
        and getattr(node.targets[0], "id", "") == "__version__"
        and isinstance(node.value, ast.Constant)
    ]
    if found != [wanted]:
        yield f"parquet_bloom/__init__.py: __version__ {found}, expected {wanted}"
    if not re.search(
        rf"^## {re.escape(wanted)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    ):
        yield f"CHANGELOG.md: no section {wanted}"


def undecided() -> Iterator[str]:
    """What only those who release can say; CONTRIBUTING.md says how."""
    version = PROJECT["version"]
    if f"\n## {version} (unreleased)\n" in (ROOT / "CHANGELOG.md").read_text():
        yield f"CHANGELOG.md: {version} is unreleased, expected its date"
    for name in git("ls-files").splitlines():
        text = (ROOT / name).read_bytes()
        if name.endswith(".md") and f"Until {version} is on PyPI".encode() in text:
            yield f"{name}: says that it is not on PyPI yet"
        if found := PLACEHOLDER.search(text):
            line = 1 + text.count(b"\n", 0, found.start())
            yield f"{name}: line {line}: OWNER, expected the account that the repository belongs to"


def archives() -> Iterator[str]:
    """Of this version, one for each machine, of no commit but this."""
    names = [path.name for path in DIST.glob("*")]
    begin = f"parquet_bloom-{PROJECT['version']}"
    if f"{begin}.tar.gz" not in names:
        yield f"dist: no {begin}.tar.gz: make wheel"
    wheels = [name for name in names if name.startswith(f"{begin}-cp311-abi3-")]
    if len(wheels) != NUM_WHEELS:
        yield f"dist: {len(wheels)} wheels of this version, expected {NUM_WHEELS}: make wheel"
    committed = float(git("log", "-1", "--format=%ct"))
    if names and min(path.stat().st_mtime for path in DIST.iterdir()) < committed:
        yield "dist: older than the commit: make wheel"


def pages() -> Iterator[str]:
    """Those that are generated, after `make docs`, and whatever else is not committed."""
    for line in git("status", "--porcelain").splitlines():
        yield f"{line[3:]}: not committed as it is now"


def files() -> Iterator[str]:
    for name in git("ls-files").splitlines():
        if (size := (ROOT / name).lstat().st_size) > MOST_BYTES:
            yield f"{name}: {size:,} bytes, expected at most {MOST_BYTES:,}"


def required() -> set[str]:
    """The packages that users may get, by what each of them requires."""
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *(each for name in OF_USERS for each in extras[name])]
    seen: set[str] = set()
    while wanted:
        requirement = wanted.pop()
        name = re.split(r"[\s\[<>=!~;(]", requirement)[0].lower().replace("_", "-")
        if name in seen or name == "parquet-bloom" or "extra ==" in requirement:
            continue
        try:
            wanted += distribution(name).requires or ()
        except PackageNotFoundError:
            # For another system, or another Python.
            continue
        seen.add(name)
    return seen


def licences() -> Iterator[str]:
    for name in sorted(required()):
        metadata = distribution(name).metadata
        said = [
            metadata.get("License-Expression") or "",
            *(each for each in metadata.get_all("Classifier") or () if each.startswith("License")),
            (metadata.get("License") or "")[:200],
        ]
        if not any(ALLOWED.search(each) for each in said):
            yield f"{name}: its licence is {' '.join(filter(None, said)) or 'not said'}"


CHECKS: tuple[Callable[[], Iterator[str]], ...] = (
    versions,
    undecided,
    archives,
    pages,
    files,
    licences,
)


def main() -> int:
    wrong = [line for check in CHECKS for line in check()]
    print("\n".join(wrong) or f"{PROJECT['version']} can be released")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
