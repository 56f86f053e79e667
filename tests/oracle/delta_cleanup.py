"""Which files Delta Lake's VACUUM would delete, and which its cleanup of the log.

What these commands do, in Python, not a copy of their code: without checkpoints of several parts or
of version 2, and without rounding to days.
Source: PROTOCOL.md, "Action Reconciliation", "Deletion Vectors", "Metadata Cleanup".
"""

import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

LOG = "_delta_log"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")
_LOG_FILE = re.compile(r"(\d{20})\.(json|crc|checkpoint\..*parquet)")
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


@dataclass
class State:
    """The actions of files that are live, and of those that were, by path and deletion vector."""

    adds: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    removes: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    partition_columns: list[str] = field(default_factory=list)


def state_of(table: Path) -> State:
    """At the newest version, from the newest checkpoint on."""
    state, start = State(), -1
    if checkpoints := _numbered(table, _CHECKPOINT):
        start = max(checkpoints)
        _apply(state, pq.read_table(checkpoints[start]).to_pylist())
    for version, commit in sorted(_numbered(table, _COMMIT).items()):
        if version > start:
            _apply(state, _actions(commit))
    return state


def _numbered(table: Path, pattern: re.Pattern[str]) -> dict[int, Path]:
    names = ((pattern.fullmatch(path.name), path) for path in (table / LOG).iterdir())
    return {int(found[1]): path for found, path in names if found}


def _actions(commit: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in commit.read_text().splitlines()]


def _apply(state: State, actions: list[dict[str, Any]]) -> None:
    for action in actions:
        if remove := action.get("remove"):
            state.adds.pop(_key(remove), None)
            state.removes[_key(remove)] = remove
        if metadata := action.get("metaData"):
            state.partition_columns = metadata["partitionColumns"]
    for action in actions:
        if add := action.get("add"):
            state.removes.pop(_key(add), None)
            state.adds[_key(add)] = add


def _key(action: dict[str, Any]) -> tuple[str, str]:
    vector = action.get("deletionVector") or {}
    parts = (vector.get(name) for name in ("storageType", "pathOrInlineDv", "offset"))
    return action["path"], str(tuple(parts))


def vacuumed(table: Path, before: float) -> set[str]:
    """The files, by their names below the table, that are older than this time, in seconds since 1970,
    and that nothing refers to which is live or was removed since."""
    state = state_of(table)
    kept = set(_names_kept(state, before))
    return {
        name
        for name, path in _listed(table, table, state.partition_columns)
        if path.stat().st_mtime < before and name not in kept
    }


def vacuumed_lite(table: Path, before: float) -> set[str]:
    """The same of those files only that commits have removed, without a listing."""
    state = state_of(table)
    removed = [
        action["remove"]
        for commit in _numbered(table, _COMMIT).values()
        for action in _actions(commit)
        if "remove" in action and _is_expired(action["remove"], before)
    ]
    names = {name for remove in removed for name in _names(remove)}
    return names - set(_names_kept(state, before))


def _names_kept(state: State, before: float) -> Iterator[str]:
    for add in state.adds.values():
        yield from _names(add)
    for remove in state.removes.values():
        if not _is_expired(remove, before):
            yield from _names(remove)


def _is_expired(remove: dict[str, Any], before: float) -> bool:
    return (remove.get("deletionTimestamp") or 0) < before * 1000


def _names(action: dict[str, Any]) -> Iterator[str]:
    """The data file, and that of its deletion vector."""
    yield unquote(action["path"])
    vector = action.get("deletionVector") or {}
    if vector.get("storageType") == "u":
        text = vector["pathOrInlineDv"]
        prefix, encoded = text[:-20], text[-20:]
        numbers = [0] * 4
        for at, letter in enumerate(encoded):
            numbers[at // 5] = numbers[at // 5] * 85 + _Z85.index(letter)
        name = uuid.UUID(bytes=b"".join(number.to_bytes(4, "big") for number in numbers))
        yield f"{prefix}/deletion_vector_{name}.bin".lstrip("/")


def _listed(table: Path, folder: Path, columns: list[str]) -> Iterator[tuple[str, Path]]:
    for path in folder.iterdir():
        if _is_hidden(path.name, columns):
            continue
        if path.is_dir():
            yield from _listed(table, path, columns)
        else:
            yield str(path.relative_to(table)), path


def _is_hidden(name: str, columns: list[str]) -> bool:
    if name.startswith(("_delta_index", "_change_data", *(f"{column}=" for column in columns))):
        return False
    return name.startswith((".", "_"))


def log_expired(table: Path, before: float) -> set[str]:
    """The files of the log, by name, that are older than this time and that the newest checkpoint makes
    superfluous. A commit whose clock is behind that of an earlier one counts as one that comes after
    it."""
    checkpoints = _numbered(table, _CHECKPOINT)
    if not checkpoints:
        return set()
    times: dict[int, float] = {}
    last = 0.0
    for version, commit in sorted(_numbered(table, _COMMIT).items()):
        last = times[version] = max(last + 0.001, commit.stat().st_mtime)
    return {
        path.name
        for path in (table / LOG).iterdir()
        if (found := _LOG_FILE.fullmatch(path.name))
        and (version := int(found[1])) < max(checkpoints)
        and times.get(version, path.stat().st_mtime) <= before
    }
