"""CONTRIBUTING names what is there: files, targets of make, floors, and in its map each module once."""

import re
from collections import Counter
from pathlib import Path

from conftest import ROOT
from test_architecture import FLOORS

from parquet_bloom.commands.pbloom import COMMANDS

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
PACKAGE = ROOT / "parquet_bloom"
MAP = PAGE.split("## The map")[1].split("## How to add")[0]

# A path, whose parts in capitals stand for any name.
PATH = re.compile(r"[\w.]+(/[\w.]+)*/|[\w.]+(/[\w.]+)+|\w+\.(md|py|toml)")
KERNEL = (".c", ".py", ".pyx")
# Written by tools, and programs that run beside an engine.
GENERATED = {"proto", "thrift", "adapters"}


def in_backticks(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def there(path: str) -> list[Path]:
    pattern = re.sub(r"[A-Z]{4,}", "*", path) if "/" in path else path
    return [found for root in (ROOT, PACKAGE) for found in root.glob(pattern)]


def test_every_path_is_there():
    paths = [name for name in in_backticks(PAGE) if PATH.fullmatch(name)]
    assert len(paths) > 100
    ours = [path for path in paths if path.split("/")[0] != ".venv" and path != "pbloom.toml"]
    assert [path for path in ours if not there(path)] == []


def test_every_name_in_a_file_is_there():
    names = re.findall(r"`(\w+)`,?\s+(?:of\s+|in\s+|\()`([a-z_0-9/]+\.py)`", PAGE)
    assert len(names) > 15
    for name, path in names:
        (file,) = there(path)
        assert re.search(rf"\b{name}\b", file.read_text()), (name, path)


def test_make_has_the_targets():
    targets = set(re.findall(r"\bmake ([a-z-]+)", PAGE))
    makefile = (ROOT / "Makefile").read_text()
    found = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert {"lint", "test", "docs"} <= targets
    assert {target for target in targets if f"`make {target}" in PAGE} <= found


def test_the_picture_has_every_room_on_its_floor():
    picture = PAGE.split("```text\n")[1].split("```")[0].splitlines()
    assert len(picture) == len(FLOORS)
    for line, rooms in zip(reversed(picture), FLOORS, strict=True):
        drawn = set(line.split("│")[1].split())
        assert drawn - {"…"} <= rooms, line
        assert "…" in drawn or drawn == rooms, line


def rows() -> list[tuple[list[str], list[str]]]:
    """What each row of the map is about, and what it names there."""
    lines = MAP.split("| beside it")[0].splitlines()
    cells = [re.split(r" \| |\| ", line) for line in lines if line.startswith("| `")]
    return [(in_backticks(first), in_backticks(second)) for _, first, second in cells]


def modules_of(room: str) -> set[str]:
    """The names that the row of a room has to have; commands are named once, in the list of verbs."""
    folder = PACKAGE / room
    kinds = KERNEL if room == "native/" else (".py",)
    found = {path.stem for path in folder.iterdir() if path.suffix in kinds}
    commands = {name.replace("-", "_") for name in COMMANDS}
    of_commands = commands | {"pbloom"} if room in ("commands/", "verbs/") else set()
    return found - {"__init__"} - of_commands


def test_the_map_names_every_module_of_a_room_once():
    for (room, *_), names in rows():
        if room.endswith("/"):
            counts = Counter(name for name in names if re.fullmatch(r"\w+", name))
            assert set(counts) ^ modules_of(room) == set(), room
            assert max(counts.values()) == 1, room


def test_the_map_names_every_room_once():
    folders = {path.parent for path in PACKAGE.rglob("*.py")} - {PACKAGE}
    rooms = {f"{path.relative_to(PACKAGE)}/" for path in folders if path.name not in GENERATED} | {
        path.name for path in PACKAGE.glob("*.py") if path.name != "__main__.py"
    }
    named = Counter(name for places, _ in rows() for name in places)
    assert set(named) ^ rooms == set()
    assert max(named.values()) == 1
