"""Change the filters of a file again and again, in every way, and take them all out at the end.

    PYTHONPATH=tests python tests/fuzz/sequences.py [SEQUENCES]

Each sequence (10,000) is 3 to 8 verbs over one file, drawn at random: build in every layout and dialect, of
some columns and row groups, what is there kept or replaced; strip of some filters, repair of bits that were
cleared, recover after a kill. Four files in turn take the same steps: a plain Parquet file, one with a sealed
and one with a signed footer, and an ORC file. After each step

    rows        are those of before, at each end of the file
    values      are never `absent` where they are
    bits        are those of the specification
    unused      filters that stay, and their bytes, are as many as strip says

and at the end strip gives back the old file, byte for byte; an encrypted one whose footer was written anew,
and so sealed or signed with fresh random numbers, has the old size and says the same; an ORC file has the old
data streams. What murmur3 filters in front of their pages leave behind is told. Two columns that are replaced
in turn do not let a file grow.

Prints the lines of a table, and writes sequences.json and the table into docs/reliability.md if nothing
failed.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import random
import struct
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import xxhash
from fuzz import page
from make.encrypting import FOOTER_KEY, Recipe, encrypt
from make.footers import footer_start
from make.parquet_files import open_parquet
from oracle import specification
from oracle.arrow import bitsets
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.container import OneFilter
from parquet_bloom.files import open_file
from parquet_bloom.storage import journal

ROWS, GROUP, STRIDE = 60, 25, 10
COLUMNS = ("a", "b", "c")
A_KEY = b"the key of a...."
KEYS = pb.Keys(footer=FOOTER_KEY, columns={"a": A_KEY})

PLAIN, SEALED, SIGNED, ORC = "Parquet", "sealed footer", "signed footer", "ORC"
KINDS = (PLAIN, SEALED, SIGNED, ORC)
FAILED = "failed"

# All columns with the key of the footer, or one with a key of its own, one with that, and one without.
OWN_KEYS = (None, {"a": A_KEY, "b": None})

# Of one process, which makes its files once.
AT_A_TIME = 50

STRAY = b"bytes of another program"


class Broken(AssertionError):
    """A promise is."""


@cache
def table() -> pa.Table:
    draw = random.Random(1)
    return pa.table(
        {
            "a": [draw.randrange(1 << 40) for _ in range(ROWS)],
            "b": [f"{draw.randrange(1000):03}" for _ in range(ROWS)],
            "c": [None if draw.random() < 0.3 else draw.randrange(9) / 2 for _ in range(ROWS)],
        }
    )


@cache
def originals() -> dict[str, list[bytes]]:
    """The files that sequences begin with, the same for each kind of Parquet file."""
    plain = []
    for settings in ({}, {"write_page_index": True}, {"use_dictionary": False}):
        out = io.BytesIO()
        pq.write_table(table(), out, row_group_size=GROUP, **settings)
        plain.append(out.getvalue())
    end = footer_start(plain[0])
    plain.append(plain[0][:end] + STRAY + plain[0][end:])
    of_orc = io.BytesIO()
    orc.write_table(table(), of_orc, row_index_stride=STRIDE)
    sealed = {kind: [encrypted(kind, columns) for columns in OWN_KEYS] for kind in (SEALED, SIGNED)}
    return {PLAIN: plain, **sealed, ORC: [of_orc.getvalue()]}


def encrypted(kind: str, columns: dict[str, bytes | None] | None) -> bytes:
    out = io.BytesIO()
    pq.write_table(table(), out, row_group_size=GROUP)
    return encrypt(out.getvalue(), Recipe(columns=columns, plaintext_footer=kind == SIGNED)).data


@dataclass
class Subject:
    """A file that changes. `steps`: what was done to it; `leaves`: whether what it is told to do may leave
    filters between its pages."""

    path: Path
    kind: str
    original: bytes
    steps: list[str] = field(default_factory=list)
    leaves: bool = False

    @property
    def keys(self) -> pb.Keys | None:
        if self.kind not in (SEALED, SIGNED):
            return None
        return KEYS if self.has_own_keys else pb.Keys(footer=FOOTER_KEY)

    @property
    def has_own_keys(self) -> bool:
        return self.original == originals().get(self.kind, [b"", b""])[-1] and self.kind in (
            SEALED,
            SIGNED,
        )

    @property
    def is_parquet(self) -> bool:
        return self.kind != ORC

    def check(self) -> None:
        data = self.path.read_bytes()
        self._check_rows(data)
        for end in (
            pb.inspect(self.path, keys=self.keys).earlier_ends or () if self.is_parquet else ()
        ):
            self._check_rows(data[:end])
        self.check_present()
        if self.is_parquet:
            self._check_bits()

    def _check_rows(self, data: bytes) -> None:
        """Pages stay where they are: those with a key of their own pyarrow could not read."""
        if self.keys is not None and not data.startswith(
            self.original[: footer_start(self.original)]
        ):
            raise Broken("other pages")
        if self.has_own_keys:
            return
        if self.kind == ORC:
            found = orc.read_table(io.BytesIO(data))
        else:
            properties = None if self.keys is None else decryption()
            found = pq.read_table(io.BytesIO(data), decryption_properties=properties)
        if not found.equals(table()):
            raise Broken("other rows")

    def check_present(self) -> None:
        for name in COLUMNS:
            self._check_present(name)

    def _check_present(self, name: str) -> None:
        column = table()[name].to_pylist()
        stored = sorted({value for value in column if value is not None})
        report = pb.probe(self.path, name, stored, keys=self.keys)
        width = GROUP if self.is_parquet else STRIDE
        for value, answer in zip(stored, report.results, strict=True):
            for number, group in enumerate(answer.groups):
                rows = column[number * width : (number + 1) * width]
                if value in rows and group.verdict == "absent":
                    raise Broken(f"{name} {value!r} is absent")

    def _check_bits(self) -> None:
        if self.kind == PLAIN:
            found = bitsets_of(self.path)
        else:
            found = {}
            with open_file(self.path, self.keys) as file:
                for group in range(file.num_row_groups):
                    for name in COLUMNS:
                        if file.chunk(group, name).bloom_filter_offset is not None:
                            found[group, name] = bytes(
                                file.bloom_filter(OneFilter(group, name)).bitset
                            )
        for (group, name), bits in found.items():
            if bits != expected(group, name, len(bits)):
                raise Broken(f"other bits of {name} in row group {group}")


def bitsets_of(path: Path) -> dict[tuple[int, str], bytes]:
    return bitsets(path)


@cache
def decryption() -> Any:
    return pe.create_decryption_properties(footer_key=FOOTER_KEY)


@cache
def expected(group: int, name: str, num_bytes: int) -> bytes:
    """The bits that the specification wants."""
    rows = table()[name].to_pylist()[group * GROUP : (group + 1) * GROUP]
    stored = {encoded for value in rows if value is not None for encoded in plain(value)}
    hashes = map(xxhash.xxh64_intdigest, stored)
    return specification.bitset(specification.filter_of(hashes, num_bytes // 32))


def plain(value: str | float) -> Iterator[bytes]:
    if isinstance(value, str):
        yield value.encode()
    elif isinstance(value, int):
        yield value.to_bytes(8, "little")
    else:
        yield struct.pack("<d", value)
        if value == 0:
            yield struct.pack("<d", -value)


# --- the steps --------------------------------------------------------------------------------------


def some(draw: random.Random) -> list[str]:
    return sorted(draw.sample(COLUMNS, draw.choice((1, 1, 2, 3))))


def groups(draw: random.Random) -> list[int] | None:
    return draw.choice((None, None, None, [0], [2, 1]))


def build(subject: Subject, draw: random.Random) -> str:
    columns, row_groups = some(draw), groups(draw)
    existing = draw.choice(("keep", "replace", "replace"))
    layout = draw.choice(
        ({}, {"layout": "replace"}, {"layout": "append"}, {"append_in_place": True})
    )
    fpp = draw.choice((0.3, 0.01, 0.0001))
    if not subject.is_parquet:
        layout, row_groups = {}, None
    given: dict[str, Any] = {"columns": columns, "existing": existing, "fpp": fpp, **layout}
    if "append_in_place" not in layout:
        given["in_place"] = True
    pb.build(subject.path, row_groups=row_groups, keys=subject.keys, force=True, **given)
    return f"build {given} {row_groups}"


def build_legacy(subject: Subject, draw: random.Random) -> str:
    columns, existing = some(draw), draw.choice(("keep", "replace"))
    dialect: Any = draw.choice(
        (
            pb.StatisticsFilter(),
            pb.Murmur3(),
            pb.Murmur3(placement="chunk"),
            pb.Murmur3(header_layout="thrift"),
        )
    )
    if subject.kind != PLAIN:
        return "nothing"
    report = pb.build(
        subject.path, columns=columns, existing=existing, dialect=dialect, in_place=True
    )
    if dialect == pb.Murmur3(placement="chunk") and report.filters:
        subject.leaves = True
    return f"build {columns} {existing} {dialect}"


def strip_some(subject: Subject, draw: random.Random) -> str:
    columns, row_groups = some(draw), groups(draw)
    if not subject.is_parquet:
        row_groups = None
    pb.strip(subject.path, columns=columns, row_groups=row_groups, in_place=True, keys=subject.keys)
    return f"strip {columns} {row_groups}"


def strip_all(subject: Subject, draw: random.Random) -> str:
    taken_out(subject)
    return "strip"


def repair(subject: Subject, draw: random.Random) -> str:
    """Of bits that were cleared: some, or all, by which no value may be absent; nobody can clear encrypted ones."""
    layout = draw.choice((None, "replace", "append"))
    chosen, at, is_lost = draw.random(), draw.random(), draw.random() < 0.5
    if not subject.is_parquet:
        layout = None
    if subject.kind == PLAIN and (found := places(subject.path)):
        start, end = found[int(chosen * len(found))]
        data = bytearray(subject.path.read_bytes())
        bits = start + (end - start) % 32
        block = bits + 32 * int(at * ((end - bits) // 32))
        cleared = (bits, end) if is_lost else (block, block + 32)
        data[slice(*cleared)] = bytes(cleared[1] - cleared[0])
        subject.path.write_bytes(data)
        if is_lost:
            subject.check_present()
    done = draw.choice(({"rebuild": True}, {"drop_bad": True}))
    pb.repair(subject.path, in_place=True, layout=layout, keys=subject.keys, **done)
    return f"repair {layout} {done}"


def places(path: Path) -> list[tuple[int, int]]:
    with open_parquet(path) as file:
        offsets = file.footer.chunks.every("bloom_filter_offset")
        lengths = file.footer.chunks.every("bloom_filter_length")
        pairs = zip(offsets, lengths, strict=True)
        return [(start, start + length) for start, length in pairs if length > 32]


def recover(subject: Subject, draw: random.Random) -> str:
    """A kill while an end was appended."""
    before, share = subject.path.read_bytes(), draw.random()
    columns = some(draw)
    if not subject.is_parquet:
        return "nothing"
    pb.build(
        subject.path, columns=columns, existing="replace", append_in_place=True, keys=subject.keys
    )
    after = subject.path.read_bytes()
    if not after.startswith(before):
        raise Broken("an end was not appended")
    subject.path.write_bytes(before)
    descriptor = os.open(subject.path, os.O_RDWR)
    try:
        journal.write_journal(journal.Journal.of(descriptor), journal.journal_of(subject.path))
    finally:
        os.close(descriptor)
    subject.path.write_bytes(after[: len(before) + int(share * (len(after) - len(before)))])
    pb.recover(subject.path)
    if subject.path.read_bytes() != before:
        raise Broken("recover gave other bytes")
    return f"recover of {columns}"


Step = Callable[[Subject, random.Random], str]
STEPS: Sequence[Step] = (
    build,
    build,
    build,
    build,
    build_legacy,
    strip_some,
    strip_some,
    strip_all,
    repair,
    recover,
)


# --- the end ----------------------------------------------------------------------------------------


def taken_out(subject: Subject) -> str:
    """Strip all filters, and say what came back."""
    before = subject.path.read_bytes()
    report = pb.strip(subject.path, in_place=True, keys=subject.keys)
    after = subject.path.read_bytes()
    if subject.kind == ORC:
        if streams(after) != streams(subject.original):
            raise Broken("other data streams")
        return "its data streams"
    again = pb.strip(subject.path, in_place=True, keys=subject.keys)
    if again.removed or again.bytes_removed or subject.path.read_bytes() != after:
        raise Broken("a second strip changes something")
    if (again.unused_filters, again.unused_bytes) != (report.unused_filters, report.unused_bytes):
        raise Broken(
            f"a second strip says {again.unused_filters} filters in {again.unused_bytes} bytes"
        )
    if after == subject.original:
        if report.unused_filters or report.unused_bytes:
            raise Broken("unused bytes are told, and there are none")
        return "the old bytes"
    if subject.leaves and report.unused_bytes:
        return "the old file with unused bytes, which are told"
    if before.startswith(subject.original) or subject.kind == PLAIN:
        raise Broken(
            f"{len(after) - len(subject.original)} bytes more than the old file, {report.unused_bytes} told"
        )
    if len(after) != len(subject.original):
        raise Broken(f"{len(after)} bytes, the old file had {len(subject.original)}")
    old = subject.path.with_name("old.parquet")
    old.write_bytes(subject.original)
    if said(old, subject.keys) != said(subject.path, subject.keys):
        raise Broken("another footer")
    return "the old size, sealed anew"


def said(path: Path, keys: pb.Keys | None) -> bytes:
    with open_parquet(path, keys) as file:
        return file.footer.without_filters(())


def streams(data: bytes) -> list[bytes]:
    """The data streams of an ORC file."""
    with TemporaryDirectory(dir=in_memory()) as folder:
        path = Path(folder, "x.orc")
        path.write_bytes(data)
        with open_file(path) as file:
            return [
                data[each.offset : each.offset + each.length]
                for index in range(file.num_parts)
                for each in file.stripe(index).streams
                if not each.is_index
            ]


def check_growth(subject: Subject) -> None:
    """Two columns that are replaced in turn: from the second turn on, the file is as long as before."""
    before, sizes = subject.path.read_bytes(), []
    for _ in range(3):
        for name in ("a", "b"):
            pb.build(
                subject.path,
                columns=[name],
                existing="replace",
                in_place=True,
                force=True,
                keys=subject.keys,
            )
        sizes.append(subject.path.stat().st_size)
    if sizes[1] != sizes[2]:
        raise Broken(f"it grows: {sizes}")
    subject.check()
    subject.path.write_bytes(before)


def sequence(number: int, folder: Path) -> tuple[str, int, str]:
    """The kind of the file, how many steps it took, and what came of them."""
    kind, seed = KINDS[number % len(KINDS)], number // len(KINDS)
    draw = random.Random(seed)
    chosen = draw.randrange(12)
    files = originals()[kind]
    subject = Subject(
        folder / ("file.orc" if kind == ORC else "file.parquet"), kind, files[chosen % len(files)]
    )
    subject.path.write_bytes(subject.original)
    count = draw.randint(3, 8)
    try:
        for _ in range(count):
            step, own = draw.choice(STEPS), random.Random(draw.random())
            subject.steps.append(step.__name__)
            subject.steps[-1] = step(subject, own)
            subject.check()
        subject.steps.append("replaced in turn")
        check_growth(subject)
        subject.steps.append("the end")
        came = taken_out(subject)
    except Exception as error:  # noqa: BLE001
        told = f"{error}" if isinstance(error, Broken) else traceback.format_exc()
        return kind, count, f"{FAILED}: {number}: {told}\n  " + "\n  ".join(subject.steps)
    return kind, count, came


def some_sequences(numbers: Sequence[int]) -> list[tuple[str, int, str]]:
    with TemporaryDirectory(prefix="pbloom-sequences-", dir=in_memory()) as folder:
        return [sequence(number, Path(folder)) for number in numbers]


def outcomes(count: int, processes: int = 1) -> page.Lines:
    """The lines of the table: what came of the sequences with each kind of file. Prints whatever went
    wrong."""
    parts = [range(first, min(first + AT_A_TIME, count)) for first in range(0, count, AT_A_TIME)]
    lines = {kind: {"file": kind, "sequences": 0, "steps": 0, "came back": {}} for kind in KINDS}
    for found in run(parts, processes):
        for kind, steps, came in found:
            line: dict[str, Any] = lines[kind]
            if came.startswith(FAILED):
                sys.stderr.write(f"{came}\n")
                came = FAILED
            line["sequences"] += 1
            line["steps"] += steps
            line["came back"][came] = line["came back"].get(came, 0) + 1
    return list(lines.values())


def run(parts: Sequence[range], processes: int) -> Iterator[list[tuple[str, int, str]]]:
    if processes == 1:
        yield from map(some_sequences, parts)
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(some_sequences, parts)


def table_of(lines: page.Lines) -> str:
    """The lines, and how many sequences they are, in Markdown."""
    shown = ["| file | sequences | verbs | came back in the end |", "|-|-:|-:|-|"]
    for line in lines:
        came = ", ".join(f"{count:,} {what}" for what, count in sorted(line["came back"].items()))
        shown.append(f"| {line['file']} | {line['sequences']:,} | {line['steps']:,} | {came} |")
    total = sum(line["sequences"] for line in lines)
    return "\n".join(shown) + f"\n\n{total:,} sequences, {num_failures(lines):,} failures.\n"


def num_failures(lines: page.Lines) -> int:
    return sum(line["came back"].get(FAILED, 0) for line in lines)


def in_memory() -> str | None:
    """A folder that needs no disk, if there is one."""
    folder = Path("/dev/shm")
    return str(folder) if folder.is_dir() else None


def main(count: int = 10_000) -> None:
    lines = outcomes(count, os.cpu_count() or 1)
    sys.stdout.write(table_of(lines))
    if num_failures(lines):
        sys.exit("a promise is broken; nothing was written")
    page.write("sequences", lines, table_of)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
