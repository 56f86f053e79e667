"""What takes turns: commands, the files that they work on, and what they cost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from statistics import median

from benchmarks.processes import PBLOOM, Cost, module, run


class Files:
    """Seeded files in one folder, made when they are asked for and kept as long as the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, kind: str, rows: int) -> Path:
        ending = "orc" if kind.endswith("-orc") else "parquet"
        file = self.folder / f"{kind}-{rows}.{ending}"
        if not file.exists():
            run(module("data", kind, rows, file))
        return file

    def make_folder(self, kind: str, amount: int) -> Path:
        folder = self.folder / f"{kind}-{amount}"
        if not folder.exists():
            run(module("data", kind, amount, folder))
        return folder

    @contextmanager
    def output(self) -> Iterator[Path]:
        """A path for one output, a file or a folder, which is removed; nothing of it is left to be
        written to disk while the next one is measured."""
        file = self.folder / "output.parquet"
        yield file
        if file.is_dir():
            shutil.rmtree(file)
        file.unlink(missing_ok=True)
        os.sync()


Command = Callable[[Path], list[str]]


def build_command(source: Path, column: str = "id") -> Command:
    return lambda output: [
        *(PBLOOM, "build", str(source), "-c", column),
        *("-o", str(output), "--overwrite"),
    ]


def replace_command(source: Path, way: str, column: str = "id") -> Command:
    """Build in a copy of `source`, which is made and on disk before."""

    def command(output: Path) -> list[str]:
        shutil.copyfile(source, output)
        os.sync()
        return [PBLOOM, "build", str(output), "-c", column, way]

    return command


def overwrite_command(source: Path, column: str = "id") -> Command:
    """Build in the place of another file."""

    def command(output: Path) -> list[str]:
        output.touch()
        return build_command(source, column)(output)

    return command


def rewrite_command(writer: str, source: Path) -> Command:
    return lambda output: module("rewrites", writer, source, output, "id")


def costs(commands: Mapping[str, Command], files: Files, rounds: int) -> dict[str, list[Cost]]:
    """What each command costs in each round. A command is made for the path of its output."""
    spent: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            with files.output() as output:
                spent[name].append(run(command(output)))
    return spent


def typical(costs: Sequence[Cost]) -> Cost:
    return Cost(*(median(each) for each in zip(*map(astuple, costs), strict=True)))
