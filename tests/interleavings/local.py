"""Two of our commands and a stranger at one local file."""

import io
import os
from collections.abc import Hashable, Sequence
from functools import cache, partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from interleavings.files import USUAL, Can, FileSystem
from interleavings.outcomes import Command, Outcomes, sorted_out
from interleavings.search import Process, Scenario

import parquet_bloom as pb
from parquet_bloom.errors import ParquetBloomError, RewriteError
from parquet_bloom.storage.journal import SUFFIX
from parquet_bloom.storage.temporary_files import is_temporary

FILE: Final = "/sim/data/f.parquet"
CHECKSUM: Final = "/sim/data/.f.parquet.crc"
# In which two of these files differ.
FIRST_PAGES: Final = 80
# Another name of the same file, where cases do not count.
OTHER_CASE: Final = "/sim/data/F.parquet"


@cache
def parquet(first: int = 1) -> bytes:
    """A small file; each `first` makes another."""
    data = io.BytesIO()
    pq.write_table(pa.table({"a": [first, 2, 3], "b": ["x", "y", "z"]}), data)
    return data.getvalue()


def build(column: str, path: str = FILE, **options: Any) -> Command:
    def work(_: Any) -> Any:
        return pb.build(path, columns=[column], threads=1, **(options or {"in_place": True}))

    return Command(f"build {column} {options} {path}", work)


def append(column: str, path: str = FILE) -> Command:
    return build(column, path, append_in_place=True)


def strip() -> Command:
    return Command("strip", lambda _: pb.strip(FILE, in_place=True))


def replace(with_checksum: bool = False) -> Command:
    """Another program's: a new file under the old name."""

    def work(_: Any) -> None:
        _put(".f.parquet.theirs", parquet(7))
        if with_checksum:
            _put(".f.parquet.crc.theirs", b"theirs")
        os.rename("/sim/data/.f.parquet.theirs", FILE)
        if with_checksum:
            os.rename("/sim/data/.f.parquet.crc.theirs", CHECKSUM)

    return Command("replace", work, is_ours=False)


def remove() -> Command:
    return Command("remove", lambda _: os.unlink(FILE), is_ours=False)


def _put(name: str, data: bytes) -> None:
    descriptor = os.open(f"/sim/data/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(descriptor, data)
    os.close(descriptor)


def files_at_rest(world: FileSystem) -> Hashable:
    """Without what only a kill leaves."""
    found = world.contents().items()
    return tuple((path, data) for path, data in found if not _is_left(path))


def _without_checksums(found: Any) -> Hashable:
    """Without those that fit: a kill may have left them under a hidden name."""
    fitting = {(parquet(), b"ours"), (parquet(7), b"theirs")}
    files = dict(found)
    if (files.get(FILE), files.get(CHECKSUM)) in fitting:
        del files[CHECKSUM]
    return tuple(files.items())


def _without_any_checksum(found: Any) -> Hashable:
    return tuple((path, data) for path, data in found if path != CHECKSUM)


def _is_left(path: str) -> bool:
    name = os.path.basename(path)
    return is_temporary(name) or name.endswith(SUFFIX)


def scenario(
    commands: Sequence[Command], can: Can = USUAL, has_checksum: bool = False, kills: bool = True
) -> Scenario:
    files = {FILE: parquet()} | ({CHECKSUM: b"ours"} if has_checksum else {})

    def make(touched: Any) -> FileSystem:
        return FileSystem(touched, files, can)

    outcomes = Outcomes(make, files_at_rest)
    check = partial(_check, commands, outcomes)
    ours = [number for number, command in enumerate(commands) if command.is_ours]
    return Scenario(make, commands, check, ours if kills else ())


def _check(
    commands: Sequence[Command],
    outcomes: Outcomes,
    world: FileSystem,
    processes: Sequence[Process],
) -> None:
    sure, unsure = sorted_out(commands, processes, is_strict=True)
    killed = [c for c, p in zip(commands, processes, strict=True) if p.is_dead]
    left = [path for path in world.contents() if _is_left(path)]
    assert killed or not left, f"left without a kill: {left}"
    if killed:
        recover(world, sure)
    is_lost = any(not command.is_ours for command in sure) and _may_be_lost(world, killed)
    if is_lost:
        lost = [command for command in sure if not command.is_ours or len(sure) + len(killed) > 2]
        unsure += lost
        sure = [command for command in sure if command not in lost]
    found = files_at_rest(world)
    said = [_said(process) for process in processes]
    allowed = set(outcomes.allowed(sure, unsure))
    # Two renames of the stranger's are two steps.
    is_between = len(sure) > 1 and any(not command.is_ours for command in sure)
    strip_of = _without_any_checksum if is_lost or is_between else _without_checksums
    if killed or is_between:
        found, allowed = strip_of(found), {*map(strip_of, allowed)}
    assert found in allowed, f"no order of {said} comes to this"
    for command in killed:
        _again(command, world)
        found = files_at_rest(world)
        again = Command(f"{command.name} again", command.work)
        allowed = set(outcomes.allowed([*sure, again], unsure))
        found, allowed = strip_of(found), {*map(strip_of, allowed)}
        assert found in allowed, f"after another run: {said}"


def _may_be_lost(world: FileSystem, killed: Sequence[Command]) -> bool:
    """Whether what a stranger did, and what one of ours has done to that, may be lost, see the docs:
    between the last look and a rename, or under a hidden name by a kill."""
    if not world.can.exchange:
        return True
    hidden = [data for path, data in world.contents().items() if _is_left(path)]
    return bool(killed) and any(data[:FIRST_PAGES] == parquet(7)[:FIRST_PAGES] for data in hidden)


def _said(process: Process) -> str:
    if process.is_dead:
        return "killed"
    return "done" if process.error is None else str(process.error)


def recover(world: FileSystem, sure: Sequence[Command]) -> None:
    """Whatever has a journal; `sure`: what was done meanwhile."""
    for path in [*world.contents()]:
        if path.endswith(SUFFIX):
            try:
                pb.recover(FILE)
            except RewriteError as error:
                # What the message says.
                problem = str(error)
                assert not all(command.is_ours for command in sure), problem
                assert (
                    "delete the journal if the file is right" in problem
                    or FILE not in world.contents()
                )
                os.unlink(path)


def _again(command: Command, world: FileSystem) -> None:
    """If the file is there."""
    if FILE not in world.contents() and OTHER_CASE.casefold() not in world.contents():
        return
    try:
        command.work(world)
    except ParquetBloomError as error:
        raise AssertionError(f"cannot be run again: {error}") from None
