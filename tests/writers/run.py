"""Look up every value in files of many writers: none may be absent.

    python tests/writers/run.py [WRITER…]

Each writer has an environment of its own in `.writers`, with old versions of what it needs, and writes its
files there; then this environment reads them, builds filters and asks. Prints a line for each writer,
and all that is wrong; keeps the figures in results.json, and in docs/reliability.md.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = ROOT / ".writers"
sys.path[:0] = [str(ROOT), str(HERE.parent)]

from pyarrow import ArrowException
from writers import look_up, page

from parquet_bloom.errors import ParquetBloomError

# What the programs are given: a file of every type, and one of simple types.
SEED, SIMPLE = (FOLDER / "pyarrow" / "files" / f"{name}.parquet" for name in ("default", "simple"))


@dataclass(frozen=True)
class Writer:
    """`needs`: what pip or npm installs; nothing, if the project's own environment has it. `given`:
    what the program gets before and after its folder."""

    name: str
    program: str
    needs: tuple[str, ...] = ()
    seeds: tuple[Path, ...] = ()

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    def command(self) -> list[str]:
        """The program in its environment, which is made first."""
        if self.program.endswith(".mjs"):
            self._install("installed", ["npm", "install", "--silent", "--prefix", str(self.folder)])
            return ["node", str(HERE / self.program)]
        if not self.needs:
            return [sys.executable, str(HERE / self.program)]
        python = self.folder / "venv" / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", self.folder / "venv"], check=True)
        self._install("installed", [str(python), "-m", "pip", "install", "-q"])
        return [str(python), str(HERE / self.program)]

    def _install(self, mark: str, command: list[str]) -> None:
        if not (self.folder / mark).exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            subprocess.run([*command, *self.needs], check=True)
            (self.folder / mark).touch()

    def files(self) -> tuple[str, list[Path]]:
        """The version, and the files; written again if a program has changed."""
        files, version = self.folder / "files", self.folder / "version"
        sources = [HERE / self.program, HERE / "values.py", HERE / "arrow_columns.py"]
        state = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
        if not version.exists() or version.read_text().split("\n")[1:] != [state]:
            shutil.rmtree(files, ignore_errors=True)
            files.mkdir(parents=True)
            command = [
                *self.command(),
                *map(str, self.seeds[:1]),
                str(files),
                *map(str, self.seeds[1:]),
            ]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            version.write_text(f"{done.stdout.strip().splitlines()[-1]}\n{state}")
        found = [path for path in sorted(files.iterdir()) if path.suffix in (".parquet", ".orc")]
        return version.read_text().split("\n")[0], [path for path in found if path.stem != "simple"]


def pinned(
    package: str, version: str, program: str, *more: str, seeds: tuple[Path, ...] = ()
) -> Writer:
    return Writer(f"{package}-{version}", program, (f"{package}=={version}", *more), seeds)


WRITERS = (
    # The first writes what some others are given.
    Writer("pyarrow", "pyarrow_files.py"),
    pinned("pyarrow", "21.0.0", "pyarrow_files.py", "numpy"),
    pinned("pyarrow", "18.1.0", "pyarrow_files.py", "numpy"),
    pinned("pyarrow", "14.0.2", "pyarrow_files.py", "numpy<2"),
    Writer("duckdb", "duckdb_files.py", seeds=(SEED,)),
    pinned("duckdb", "1.0.0", "duckdb_files.py", seeds=(SEED,)),
    Writer("fastparquet", "fastparquet_files.py", ("fastparquet",)),
    pinned("fastparquet", "2023.10.1", "fastparquet_files.py", "numpy<2", "pandas<2.2"),
    Writer("polars", "polars_files.py", seeds=(SEED, SIMPLE)),
    pinned("polars", "0.20.31", "polars_files.py", seeds=(SEED, SIMPLE)),
    Writer("datafusion", "datafusion_files.py", seeds=(SEED,)),
    pinned("datafusion", "43.1.0", "datafusion_files.py", seeds=(SEED,)),
    Writer("pyspark", "spark_files.py", seeds=(SIMPLE,)),
    pinned("pyspark", "3.5.3", "spark_files.py", "setuptools", seeds=(SIMPLE,)),
    Writer("chdb", "chdb_files.py", ("chdb",), (SEED,)),
    Writer("hyparquet-writer", "hyparquet_files.mjs", ("hyparquet-writer",)),
    Writer("pyorc", "pyorc_files.py"),
)


def main(wanted: list[str]) -> int:
    failed = False
    results = json.loads(page.RESULTS.read_text()) if page.RESULTS.exists() else {}
    WRITERS[0].files()
    for writer in WRITERS:
        if wanted and not writer.name.startswith(tuple(wanted)):
            continue
        found = figures(writer)
        print(
            f"{writer.name} {found['version']}: {found['look_ups']}, {found['absent']} absent",
            flush=True,
        )
        failed = failed or bool(found["absent"] or found["own"]["absent"])
        results[writer.name] = found
        order = [each.name for each in WRITERS]
        results = {name: results[name] for name in order if name in results}
        page.RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        page.PAGE.write_text(page.page(results))
    return int(failed)


def figures(writer: Writer) -> dict[str, Any]:
    """What came of its files, for results.json; what is wrong is printed."""
    version, files = writer.files()
    tally = look_up.Tally()
    with TemporaryDirectory(prefix="pbloom-writers-") as scratch:
        for path in files:
            try:
                look_up.take(tally, path, Path(scratch))
            except (ParquetBloomError, ArrowException) as error:
                tally.errors.append(f"{path.name}: {error}")
    for wrong in [*tally.errors, *tally.absent[:20], *tally.own_absent[:20]]:
        print(f"{writer.name}: {wrong}", file=sys.stderr)
    return {
        "version": version,
        "created_by": sorted(tally.created_by),
        "files": tally.files,
        "filters": tally.filters,
        "look_ups": dict(sorted(tally.look_ups.items())),
        "absent": len(tally.absent) + len(tally.errors),
        "unknown": dict(sorted(tally.unknown.items())),
        "elsewhere": {"look_ups": tally.elsewhere, "absent": tally.excluded},
        "own": {
            "filters": tally.own_filters,
            "look_ups": tally.own_look_ups,
            "absent": len(tally.own_absent),
            "convicted": tally.own_convicted,
            "findings": dict(sorted(tally.own_findings.items())),
        },
        "findings": dict(sorted(tally.findings.items())),
        "unread": sorted(tally.unread),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
