"""Two of our commands and a stranger at one Delta table of one file, or of two that get a commit each."""

import json
import os
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from interleavings.files import USUAL, Can, FileSystem
from interleavings.local import parquet
from interleavings.outcomes import Command, Outcomes, sorted_out
from interleavings.search import Process, Scenario

import parquet_bloom as pb
from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.files import open_file
from parquet_bloom.storage.temporary_files import is_temporary

TABLE: Final = "/sim/table"
FILE: Final = f"{TABLE}/part-0.parquet"
SECOND: Final = f"{TABLE}/part-2.parquet"
LOG: Final = f"{TABLE}/_delta_log"


def _commit(*actions: dict[str, Any]) -> bytes:
    return "".join(json.dumps(action) + "\n" for action in actions).encode()


def _add(name: str, size: int) -> dict[str, Any]:
    add = {"path": name, "partitionValues": {}, "size": size}
    return {"add": add | {"modificationTime": 1, "dataChange": True}}


def _first(num_files: int) -> bytes:
    fields = [
        {"name": name, "type": type, "nullable": True, "metadata": {}}
        for name, type in (("a", "long"), ("b", "string"))
    ]
    metadata = {
        "id": "x",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
    }
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    adds = [_add("part-0.parquet", len(parquet())), _add("part-2.parquet", len(parquet(7)))]
    return _commit({"protocol": protocol}, {"metaData": metadata}, *adds[:num_files])


def build(column: str) -> Command:
    """Filters of another size for each column."""
    ndv = {"a": 10, "b": 200}[column]

    def work(_: Any) -> Any:
        return pb.build_table(
            TABLE, columns=[column], ndv=ndv, min_file_size=0, files_per_commit=1, threads=1
        )

    return Command(f"build {column}", work, _is_committed)


def strip() -> Command:
    return Command("strip", lambda _: pb.strip_table(TABLE, files_per_commit=1), _is_committed)


def _is_committed(report: Any) -> bool:
    """Or there was nothing to do."""
    return report.committed is not None or all(each.action == "unchanged" for each in report.files)


def add_file() -> Command:
    """Another program's commit, which is tried until it is the next."""
    return Command(
        "add a file", partial(_next, _add("part-1.parquet", len(parquet(7)))), is_ours=False
    )


def remove_file() -> Command:
    remove = {"path": "part-0.parquet", "deletionTimestamp": 1, "dataChange": True}
    return Command("remove the file", partial(_next, {"remove": remove}), is_ours=False)


def _next(action: dict[str, Any], _: Any) -> None:
    for version in range(1, 9):
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            descriptor = os.open(f"{LOG}/.theirs", flags)
            os.write(descriptor, _commit(action))
            os.close(descriptor)
            os.link(f"{LOG}/.theirs", f"{LOG}/{version:020}.json")
        except FileExistsError:
            continue
        finally:
            os.unlink(f"{LOG}/.theirs")
        return


def recorded(world: FileSystem) -> Hashable:
    """The columns that have filters in each live file, as it is recorded. Raises AssertionError for a
    file that cannot be opened at its recorded size, or as it is, or has other rows."""
    found = []
    for file in pb.open_table(TABLE).files():
        found.append((file.name, columns_with_filters(file.path, file.size)))
        columns_with_filters(file.path, None)
        first = parquet(1 if file.path == FILE else 7)
        assert world.contents()[file.path].startswith(first), f"other rows: {file.name}"
    return tuple(found)


def columns_with_filters(path: str, size: int | None) -> frozenset[str]:
    try:
        with open_file(path, size=size) as file:
            return frozenset(
                chunk.column.name
                for chunk in file.chunks(0, file.select(None))
                if chunk.has_filters
            )
    except ParquetBloomError as error:
        raise AssertionError(f"cannot be opened at {size or 'its'} size: {error}") from None


def scenario(
    commands: Sequence[Command], can: Can = USUAL, kills: bool = True, num_files: int = 1
) -> Scenario:
    """`num_files`: 1, or 2."""
    files = {
        FILE: parquet(),
        f"{TABLE}/part-1.parquet": parquet(7),
        f"{LOG}/{0:020}.json": _first(num_files),
    }
    if num_files > 1:
        files[SECOND] = parquet(7)

    def make(touched: Any) -> FileSystem:
        return FileSystem(touched, files, can)

    outcomes = Outcomes(make, recorded)
    ours = [number for number, command in enumerate(commands) if command.is_ours]
    checked = partial(check, commands, outcomes, recorded)
    return Scenario(make, commands, checked, ours if kills else ())


def check(
    commands: Sequence[Command],
    outcomes: Outcomes,
    look: Callable[[Any], Hashable],
    world: Any,
    processes: Sequence[Process],
) -> None:
    """`look`: what the table records, of each file. Where a command failed of some files, or another one
    could come between two of its commits, each file is compared by itself."""
    sure, unsure = sorted_out(commands, processes, is_strict=False)
    killed = [c for c, p in zip(commands, processes, strict=True) if p.is_dead]
    left = [path for path in world.contents() if is_temporary(os.path.basename(path))]
    assert killed or not left, f"left without a kill: {left}"
    said = [_said(process) for process in processes]
    failed = {c.name: _files(p, "failed") for c, p in zip(commands, processes, strict=True)}
    gone = {c.name: _files(p, "gone") for c, p in zip(commands, processes, strict=True)}
    is_whole = not (unsure or any(failed.values()) or any(map(_has_commits, processes)))
    explained = partial(_unexplained, outcomes, is_whole, failed, gone)
    problem = explained(look(world), sure, unsure)
    assert problem is None, f"no order of {said} comes to this: {problem}"
    for command in killed:
        report = command.work(world)
        assert all(each.action != "failed" for each in report.files), report.to_dict()
        again = Command(f"{command.name} again", command.work)
        problem = explained(look(world), [*sure, again], unsure)
        assert problem is None, f"after another run: {said}: {problem}"


def _unexplained(
    outcomes: Outcomes,
    is_whole: bool,
    failed: Mapping[str, Collection[str]],
    gone: Mapping[str, Collection[str]],
    found: Any,
    sure: Sequence[Command],
    unsure: Sequence[Command],
) -> Hashable | None:
    """What no order of the commands comes to. `failed`: the files that each failed of, as if these had not
    been there; `gone`: those that it left to whoever recorded them, with what it had appended or without.
    Then, and after a kill, each file is compared by itself: some may be done, others not."""
    if is_whole:
        return None if found in set(outcomes.allowed(sure, unsure)) else found
    strangers = [command for command in sure if not command.is_ours]
    names = {frozenset(dict(each)) for each in outcomes.allowed(strangers, [])}
    if frozenset(dict(found)) not in names:
        return found
    for name, columns in found:
        there = [command for command in sure if name not in failed.get(command.name, ())]
        did = [command for command in there if name not in gone.get(command.name, ())]
        may = [*unsure, *(command for command in there if command not in did)]
        if columns not in {dict(each).get(name) for each in outcomes.allowed(did, may)}:
            return name, columns
    return None


def _files(process: Process, action: str) -> set[str]:
    """Those of which it says that this became of them."""
    files = process.result.files if process.result is not None else ()
    return {each.file for each in files if each.action == action}


def _has_commits(process: Process) -> bool:
    """Whether it made several."""
    return process.result is not None and len(process.result.commits) > 1


def _said(process: Process) -> str:
    if process.is_dead:
        return "killed"
    if process.error is not None:
        return str(process.error)
    if process.result is None:
        return "done"
    files = ", ".join(f"{each.action} {each.reason or ''}" for each in process.result.files)
    return f"{process.result.committed}: {files}"
