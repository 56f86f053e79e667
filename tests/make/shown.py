"""Pages whose commands are shown with what a terminal prints; `python -m make.shown` writes them anew.

They run in a folder with the files of docs/tutorial.md: events.parquet and events.orc,
and filtered.parquet with filters.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from conftest import ROOT
from make.commands import outcome
from make.documents import blocks, figures

DOCS = ROOT / "docs"
PAGES = tuple(
    DOCS / f"{name}.md"
    for name in (
        *("tutorial", "command-line", "validating", "advise", "orc", "debugging-a-writer"),
        "how-a-filter-works",
    )
)
COLUMNS = 100

PROGRAM = re.compile(
    r"Save this as `(\S+)`(?:(?!```).)*```python\n(.*?)^```", re.MULTILINE | re.DOTALL
)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def make_files(folder: Path) -> None:
    """Those that the tutorial makes, by its own program and command."""
    with chdir(folder):
        (program, *_) = blocks((DOCS / "tutorial.md").read_text(), "python")
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
        outcome("build", "events.parquet", "-c", "user_id", "-o", "filtered.parquet")


def copy_for(page: Path, files: Path, folder: Path) -> None:
    """The files for a page, in a folder of its own, with the programs that it says to save, and without what it
    makes itself."""
    shutil.copytree(files, folder)
    if "-o filtered.parquet" in page.read_text():
        (folder / "filtered.parquet").unlink()
    for name, program in PROGRAM.findall(page.read_text()):
        (folder / name).write_text(program)


def shown(command: str, columns: int = COLUMNS) -> str:
    """What a terminal so wide shows after a command in the current folder."""
    words = shlex.split(command, comments=True)
    expected = re.search(r"# exit code (\d)$", command)
    if words[0] == "pbloom":
        with mock.patch("click.testing._NamedTextIOWrapper.isatty", _is_a_terminal):
            ended = outcome(*words[1:], environment={"COLUMNS": str(columns), "NO_COLOR": "1"})
        code, stdout, stderr = ended.code, ended.stdout, ended.stderr
    else:
        program = sys.executable if words[0] == "python" else words[0]
        run = subprocess.run([program, *words[1:]], capture_output=True, text=True, check=False)
        code, stdout, stderr = run.returncode, run.stdout, run.stderr
    assert code == int(expected[1] if expected else 0), (command, stderr)
    return "".join(f"{line.rstrip()}\n" for line in stdout.splitlines())


def _is_a_terminal(stream: object) -> bool:
    return getattr(stream, "name", "") == "<stdout>"


def rewritten(page: str) -> str:
    """The page with what its commands print now, in the current folder; what differs only in time stays."""
    return CONSOLE.sub(_rewritten_block, page)


def _rewritten_block(block: re.Match[str]) -> str:
    text = "".join(_rewritten_commands(block[1]))
    return block[0] if figures(text) == figures(block[1]) else f"```console\n{text}```"


def _rewritten_commands(block: str) -> Iterator[str]:
    for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
        yield f"$ {command}\n{shown(command)}"


def main() -> None:
    with TemporaryDirectory() as name:
        files = Path(name, "files")
        files.mkdir()
        make_files(files)
        for page in PAGES:
            folder = Path(name, page.stem)
            copy_for(page, files, folder)
            with chdir(folder):
                text = page.read_text()
                page.write_text(rewritten(text))


if __name__ == "__main__":
    main()
