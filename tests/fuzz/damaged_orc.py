"""Damage ORC files, run every command on them, and compare with what ORC C++ reads.

    PYTHONPATH=tests python tests/fuzz/damaged_orc.py [FILES [COMMAND...]]

Each command (all six) gets FILES files (10,000), in which a few bytes of one stream are others: values,
a row index, or filters. It must end with an answer or with one line, and soon. And no value may be
`absent`

    probe       that the file had, unless its filters are damaged, which `validate` must then find
    build       that ORC C++ still reads from the new file, whatever became of the damaged one

The commands run in one process and ORC C++ in another, since damage can kill it. Prints the lines of a
table, and writes damage.json and the table into docs/reliability.md if nothing failed.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from fuzz import page
from make.commands import outcome
from make.orc_files import LEAVES, all_types
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.orc.columns import above
from parquet_bloom.orc.stripe import FILTER_KINDS, ROW_INDEX
from parquet_bloom.verbs.probe import ProbedValue, probe

STRIDE = 20
ROWS = 3 * STRIDE
# Low enough for `absent` to mean that a bit is missing.
FPP = 0.0001

COMMANDS = ("probe", "validate", "inspect", "build", "strip", "advise")
AREAS = ("values", "row index", "filters")

# Of so many files, one is looked at whole.
WHOLE = 10

# The columns that hold no 7.
TIMES = ("date", "timestamp")

# The files in the folder, and what marks an outcome that must not be.
DAMAGED, NEW = "damaged.orc", "new.orc"
FAILED = "failed"

# For a machine on which much else is going on.
PATIENCE_SECONDS = 60
MOST_BYTES = 4 << 30

# Codec, dictionaries, file version. In a codec's chunks, most damage ends at the codec.
KINDS = (
    ("uncompressed", 0.0, "0.12"),
    ("uncompressed", 1.0, "0.12"),
    ("uncompressed", 0.0, "0.11"),
    ("uncompressed", 1.0, "0.11"),
    ("zlib", 0.0, "0.12"),
    ("snappy", 1.0, "0.12"),
    ("zstd", 0.0, "0.12"),
    ("lz4", 1.0, "0.12"),
)


@dataclass(frozen=True)
class Sound:
    """A file that `build` has made: its bytes, its rows, and of each area the streams that the values
    of a column depend on: its name, and their offsets and lengths."""

    data: bytes
    table: pa.Table
    streams: dict[str, list[tuple[str, int, int]]]

    @classmethod
    def make(cls, folder: Path, kind: tuple[str, float, str]) -> Sound:
        codec, threshold, version = kind
        path = folder / "sound.orc"
        orc.write_table(
            all_types(ROWS), path, row_index_stride=STRIDE, compression=codec,
            dictionary_key_size_threshold=threshold, file_version=version,
        )  # fmt: skip
        pb.build(path, columns=list(LEAVES), in_place=True, fpp=FPP)
        kinds = {ROW_INDEX: "row index", **dict.fromkeys(FILTER_KINDS, "filters")}
        streams: dict[str, list[tuple[str, int, int]]] = {area: [] for area in AREAS}
        with open_file(path) as file:
            columns, stripe = file.tail.columns, file.stripe(0)
            for name in LEAVES:
                leaf = file.column(name)
                for each in stripe.streams_of(leaf.id):
                    streams[kinds.get(each.kind, "values")].append((name, each.offset, each.length))
                for parent in above(columns, leaf):
                    for each in stripe.streams_of(parent.id):
                        if not each.is_index:
                            streams["values"].append((name, each.offset, each.length))
        streams = {area: [each for each in found if each[2]] for area, found in streams.items()}
        return cls(path.read_bytes(), orc.read_table(path), streams)


def damaged(random: random.Random, data: bytes, start: int, length: int) -> bytes:
    """A few of the bytes from `start` on are others."""
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        at = start + random.randrange(length)
        end = min(at + random.choice((1, 1, 1, 2, 8, 64)), start + length)
        kind = random.randrange(4)
        if kind == 0:
            found[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            found[at:end] = random.randbytes(end - at)
        elif kind == 2:
            found[at:end] = bytes([random.choice((0, 0x7F, 0x80, 0xFF))]) * (end - at)
        else:
            other = start + random.randrange(length - (end - at) + 1)
            found[at:end] = found[other : other + end - at]
    return bytes(found)


def values_of(table: pa.Table, name: str) -> Iterator[pa.Array]:
    """The values of a column by index group."""
    top, *below = name.split(".")
    for start in range(0, ROWS, STRIDE):
        array = table[top].slice(start, STRIDE).combine_chunks()
        for step in below:
            if step == "_elem":
                array = array.flatten()
            elif step in ("_key", "_value"):
                entries = pc.list_flatten(array.cast(pa.list_(pa.struct(
                    [("k", array.type.key_type), ("v", array.type.item_type)]
                ))))  # fmt: skip
                array = entries.field(0 if step == "_key" else 1)
            else:
                array = pc.struct_field(array, step)
        # Damage need not leave text behind.
        is_text = pa.types.is_string(array.type)
        yield (array.cast(pa.binary()) if is_text else array).drop_null()


def lost(path: Path, table: pa.Table, name: str) -> str:
    """A value of the table that is `absent` from its index group; empty if there is none."""
    for group, values in enumerate(values_of(table, name)):
        for result in asked(path, name, values):
            if result.groups[group].verdict == "absent":
                return f"{name}: {result.value} is absent from index group {group}"
    return ""


def asked(path: Path, name: str, values: pa.Array) -> Iterator[ProbedValue]:
    """What `probe` says of each value but those that the type has no room for, as damage may leave a
    number of more digits than its DECIMAL has."""
    if len(values) == 0:
        return
    try:
        yield from probe(path, name, values).results
    except pb.ValueTypeError:
        for at in range(len(values) if len(values) > 1 else 0):
            yield from asked(path, name, values.slice(at, 1))


# ------------------------------------------------------------------------------------------------
# In processes of their own


@dataclass(frozen=True)
class Case:
    """One damaged file for one command: everything follows from the number."""

    command: str
    number: int

    @property
    def kind(self) -> int:
        return self.number % len(KINDS)

    @property
    def area(self) -> str:
        return AREAS[self.number // len(KINDS) % len(AREAS)]

    @property
    def is_whole(self) -> bool:
        """Whether the command looks at every column, and not only at the one that is damaged: for
        some of each kind and area, as it takes five times as long."""
        return self.number // (len(KINDS) * len(AREAS)) % WHOLE == 0

    def write(self, sound: Sound, path: Path) -> str:
        """The name of the column that is damaged."""
        chance = random.Random(f"{self}")
        name, start, length = chance.choice(sound.streams[self.area])
        path.write_bytes(damaged(chance, sound.data, start, length))
        return name


class Died(Exception):
    """A process ended, or had to be ended, before it answered."""


class Servant:
    """A process that calls `work` for each request; a new one if the last one died."""

    def __init__(self, work: Callable[..., Any], *given: Any) -> None:
        self._start = multiprocessing.get_context("spawn")
        self._work, self._given = work, given
        self._process: Any = None

    def ask(self, *request: Any) -> Any:
        """Raises Died."""
        if self._process is None:
            self._ours, theirs = self._start.Pipe()
            given = (theirs, self._work, self._given)
            self._process = self._start.Process(target=serve, args=given, daemon=True)
            self._process.start()
            theirs.close()
        try:
            self._ours.send(request)
            if self._ours.poll(PATIENCE_SECONDS):
                return self._ours.recv()
            self._process.kill()
            how = f"no answer within {PATIENCE_SECONDS} s"
        except (EOFError, ConnectionError):
            self._process.join()
            how = f"exit code {self._process.exitcode}"
        self._process = None
        raise Died(how)

    def dismiss(self) -> None:
        if self._process is not None:
            self._process.kill()


def serve(requests: Connection, work: Callable[..., Any], given: tuple[Any, ...]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    # A crash is expected, and is reported by its exit code.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        requests.send(work(*given, *requests.recv()))


def read_by_cpp(path: Path, name: str) -> pa.Table | None:
    """The column as ORC C++ reads it; None if it refuses to."""
    try:
        return orc.ORCFile(path).read([name])
    except (OSError, pa.ArrowException, ValueError):
        return None


def run(sounds: Sequence[Sound], case: Case, folder: Path) -> tuple[str, str]:
    """The column that is damaged, and what came of it. What must not be ends the process."""
    path, output = folder / DAMAGED, folder / NEW
    sound = sounds[case.kind]
    name = case.write(sound, path)
    output.unlink(missing_ok=True)
    column = () if case.is_whole else ("-c", name, "--threads", "1")
    options = {
        "probe": ("-c", name, "-v", "2020-01-01" if name in TIMES else "7", "--json"),
        "build": ("-c", name, *column[2:], "--existing", "replace", "-o", output),
        "strip": (*column, "-o", output),
        "validate": (*column, "--no-config"),
    }
    found = said(case.command, path, *options.get(case.command, column))
    if case.command != "probe" or found == "refused":
        return name, found
    if value := lost(path, sound.table, name):
        assert case.area == "filters", value
        assert said("validate", path, "--no-config") == "findings", f"not found: {value}"
        return name, "absent, and validate finds it"
    return name, found


def said(command: str, path: Path, *options: object) -> str:
    """What the command came to; raises AssertionError for anything but an answer or one line."""
    found = outcome(command, path, *options)
    if found.code == 2:
        assert found.complaint.startswith(f"{path}: "), found
        return "refused"
    assert found.code in (0, 1), found
    return "findings" if command == "validate" and found.code else "answered"


def judged(cpp: Servant, name: str, folder: Path) -> str:
    """What ORC C++ says of filters that were built from damaged values."""
    try:
        table = cpp.ask(folder / NEW, name.partition(".")[0])
    except Died:
        return "built, ORC C++ dies"
    if table is None:
        return "built, ORC C++ refuses"
    value = lost(folder / NEW, table, name)
    return f"{FAILED}: ORC C++ reads what {value}" if value else "built, as ORC C++ reads"


# ------------------------------------------------------------------------------------------------
# The table


def damage(files: int, commands: Sequence[str], folder: Path) -> Iterator[tuple[Case, str]]:
    """Every case, and what came of it."""
    sounds = [Sound.make(folder, kind) for kind in KINDS]
    ours, cpp = Servant(run, sounds), Servant(read_by_cpp)
    try:
        for command in commands:
            for number in range(files):
                case = Case(command, number)
                try:
                    name, found = ours.ask(case, folder)
                except Died as how:
                    name, found = "", f"{FAILED}: {how}"
                if command == "build" and found == "answered":
                    found = judged(cpp, name, folder)
                yield case, found
    finally:
        ours.dismiss()
        cpp.dismiss()


def outcomes(files: int, commands: Sequence[str], folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of the table: what came of each command and area. Prints whatever went wrong."""
    counts: dict[str, Counter[str]] = {}
    for case, found in damage(files, commands, folder):
        if found.startswith(FAILED):
            sys.stderr.write(f"{case}: {found}\n")
            found = FAILED
        counts.setdefault(case.area, Counter())[found] += 1
        if case.number == files - 1:
            for area, each in sorted(counts.items()):
                line = {"command": case.command, "damaged": area, "files": each.total()}
                yield line | {"outcomes": dict(sorted(each.items()))}
            counts.clear()


def table(lines: page.Lines) -> str:
    """The lines, and how many files they are, in Markdown."""
    shown = ["| command | damaged | files | |", "|-|-|-:|-|"]
    for line in lines:
        cells = ", ".join(f"{number:,} {what}" for what, number in line["outcomes"].items())
        shown.append(f"| `{line['command']}` | {line['damaged']} | {line['files']:,} | {cells} |")
    files, failures = sum(line["files"] for line in lines), num_failures(lines)
    return "\n".join(shown) + f"\n\n{files:,} files, {failures:,} failures.\n"


def num_failures(lines: page.Lines) -> int:
    return sum(line["outcomes"].get(FAILED, 0) for line in lines)


def main(files: int = 10_000, commands: Sequence[str] = COMMANDS) -> None:
    """Other commands keep their lines."""
    lines = []
    with TemporaryDirectory(prefix="pbloom-damaged-", dir=in_memory()) as scratch:
        for line in outcomes(files, commands, Path(scratch)):
            sys.stdout.write(table([line]).splitlines()[2] + "\n")
            sys.stdout.flush()
            lines.append(line)
    if num_failures(lines):
        sys.exit("a promise is broken; nothing was written")
    of_others = [line for line in page.known("damage") if line["command"] not in commands]
    both = [*lines, *of_others]
    page.write("damage", sorted(both, key=lambda line: COMMANDS.index(line["command"])), table)


def in_memory() -> str | None:
    """A folder that needs no disk, if there is one."""
    folder = Path("/dev/shm")
    return str(folder) if folder.is_dir() else None


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *([sys.argv[2:]] if sys.argv[2:] else []))
