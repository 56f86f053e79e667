"""Draw docs/terminal.svg: what a terminal shows of the commands in README.md; `make pictures` runs it.

The file that they are about is made by the first program of docs/tutorial.md.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "terminal.svg"
COLUMNS = 96

# As rich's own, without fonts from the network.
FORMAT = """<svg class="{unique_id}" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font: {char_height}px/{line_height}px monospace; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
<rect fill="#1c1f26" x="1" y="1" width="{width}" height="{height}" rx="8"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Those of README.md that are about the file."""
    lines = "".join(blocks(ROOT / "README.md", "sh")).splitlines()
    return [
        line.partition("#")[0].rstrip() for line in lines if "events" in line or "filtered" in line
    ]


def on_a_terminal(command: str, folder: Path) -> str:
    """What a terminal shows, with its colours; nothing of a progress bar, as stderr is none."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    environment = {
        name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")
    }
    run = subprocess.Popen(
        [sys.executable, "-m", "parquet_bloom", *shlex.split(command)[1:]],
        cwd=folder, stdout=theirs, stderr=subprocess.DEVNULL,
        env=environment | {"TERM": "xterm-256color", "PYTHONUTF8": "1", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while data := os.read(ours, 1 << 16):
            shown += data
    except OSError:  # The terminal has been closed at its other end.
        pass
    os.close(ours)
    if run.wait() > 1:
        raise SystemExit(f"{command}: exit code {run.returncode}")
    return shown.decode().replace("\r\n", "\n")


def main() -> None:
    (program, *_) = blocks(ROOT / "docs" / "tutorial.md", "python")
    console = Console(
        record=True,
        width=COLUMNS,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
    )
    with TemporaryDirectory() as name:
        subprocess.run([sys.executable, "-c", program], cwd=name, check=True)
        for command in commands():
            console.print(Text("$ ", "bold green") + Text(command, "bold"), soft_wrap=True)
            console.print(Text.from_ansi(on_a_terminal(command, Path(name)).rstrip("\n")))
            console.print()
    picture = console.export_svg(code_format=FORMAT, theme=MONOKAI, unique_id="terminal")
    PICTURE.write_text(picture)


if __name__ == "__main__":
    main()
