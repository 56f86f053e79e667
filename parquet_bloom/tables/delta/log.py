"""The log of a Delta table, replayed to what is live at one version.

    00000000000000000010.checkpoint.parquet                         all actions up to version 10
    00000000000000000010.checkpoint.0000000001.0000000002.parquet   in parts
    00000000000000000010.checkpoint.UUID.parquet (or .json)         whose actions are also in _sidecars
    00000000000000000011.json                                       a commit: one action on each line
    00000000000000000011.00000000000000000020.compacted.json        commits 11 to 20 as one

Spec: PROTOCOL.md, "Delta Log Entries", "Checkpoints", "Log Compaction Files", "Action Reconciliation".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError, RewriteError
from parquet_bloom.storage.folder import Entry, Folder
from parquet_bloom.tables.delta.action import (
    Action,
    FileKey,
    check,
    decoded,
    deletion_vector_id,
    is_ours,
)

LOG: Final = "_delta_log"
SIDECARS: Final = f"{LOG}/_sidecars"

_COMMIT = re.compile(r"(\d{20})\.json")
_COMPACTED = re.compile(r"(\d{20})\.(\d{20})\.compacted\.json")
_CLASSIC = re.compile(r"(\d{20})\.checkpoint\.parquet")
_PART = re.compile(r"(\d{20})\.checkpoint\.(\d{10})\.(\d{10})\.parquet")
_V2 = re.compile(r"(\d{20})\.checkpoint\.[0-9a-fA-F-]{36}\.(?:parquet|json)")

# While the log is read, others may clean it up.
_ATTEMPTS: Final = 3
# Of an action that is not as it should be.
_SHOWN: Final = 200


def commit_name(version: int) -> str:
    return f"{LOG}/{version:020d}.json"


@dataclass(slots=True)
class Snapshot:
    """What is live at `version`. `adds`: the last `add` of each file, as it was read;
    `in_commit_timestamp`: of that version, None without; `commit`: the file of that version, None if
    the log has it no more."""

    version: int = -1
    adds: dict[FileKey, Action] = field(default_factory=dict)
    protocol: Action = field(default_factory=dict)
    metadata: Action = field(default_factory=dict)
    in_commit_timestamp: int | None = None
    commit: Entry | None = None

    @property
    def configuration(self) -> dict[str, str]:
        return self.metadata.get("configuration") or {}

    def apply(self, action: Action) -> None:
        if add := action.get("add"):
            key = decoded(add["path"]), deletion_vector_id(add)
            self.adds[key] = _sharing(add, self.adds.get(key))
        elif remove := action.get("remove"):
            self.adds.pop((decoded(remove["path"]), deletion_vector_id(remove)), None)
        elif protocol := action.get("protocol"):
            self.protocol = protocol
        elif metadata := action.get("metaData"):
            self.metadata = metadata


def _sharing(add: Action, before: Action | None) -> Action:
    """An `add` whose values are those of the one before it where they are equal: after a commit that
    only changes sizes, two snapshots take little more memory than one."""
    if before is None or [*before] != [*add]:
        return add
    return before | {name: value for name, value in add.items() if before[name] != value}


class Log:
    """The log of the table in `folder`, as its listing was when this was made."""

    def __init__(self, folder: Folder) -> None:
        """Raises OSError."""
        self._folder = folder
        self._entries = folder.entries(LOG)
        self._commits = {int(found[1]): each for found, each in self._named(_COMMIT)}
        self._compacted = {
            int(found[1]): (int(found[2]), each.name) for found, each in self._named(_COMPACTED)
        }
        self._checkpoints = self._whole_checkpoints()

    def _named(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], Entry]]:
        for entry in self._entries:
            if found := pattern.fullmatch(entry.name):
                yield found, entry

    def _whole_checkpoints(self) -> dict[int, list[str]]:
        """The names of the files of each checkpoint that is complete."""
        parts: dict[tuple[int, int], list[str]] = {}
        for found, entry in self._named(_PART):
            parts.setdefault((int(found[1]), int(found[3])), []).append(entry.name)
        whole = {version: names for (version, count), names in parts.items() if len(names) == count}
        for pattern in (_V2, _CLASSIC):
            whole |= {int(found[1]): [each.name] for found, each in self._named(pattern)}
        return whole

    @property
    def newest(self) -> int:
        """The newest version. Raises FormatError if there is none."""
        known = [*self._commits, *self._checkpoints]
        if not known:
            raise FormatError(f"{self._folder.path}: {LOG}: no commit and no checkpoint")
        return max(known)

    def snapshot(self, version: int | None = None, known: Snapshot | None = None) -> Snapshot:
        """The table at this version, None for the newest one. `known`: an older snapshot of it, whose
        part of the log is not read again. Raises RewriteError if the log does not have it any more,
        FormatError, OSError."""
        target = self.newest if version is None else version
        if not 0 <= target <= self.newest:
            raise RewriteError(
                f"{self._folder.path}: no version {target:,}, expected 0 to {self.newest:,}"
            )
        if known is not None and self._goes_on_from(known, target):
            found = replace(known, adds=dict(known.adds))
        else:
            found = self._at_checkpoint(target)
        while found.version < target:
            end, name = self._next(found.version + 1, target)
            self._replay(name, found)
            found.version = end
        if not found.protocol or not found.metadata:
            raise FormatError(f"{self._folder.path}: {LOG}: neither protocol nor metadata")
        found.in_commit_timestamp = self.in_commit_timestamp(target)
        found.commit = self._commits.get(target)
        return found

    def _goes_on_from(self, known: Snapshot, target: int) -> bool:
        """Whether the log still has that version, the same one, and all commits behind it: others may
        have cleaned it up, or made another table in the same place."""
        after = range(known.version + 1, target + 1)
        return (
            known.version <= target
            and known.commit is not None
            and self._commits.get(known.version) == known.commit
            and all(version in self._commits for version in after)
        )

    def _at_checkpoint(self, target: int) -> Snapshot:
        """The table at its last checkpoint up to a version; empty if there is none."""
        start = max((each for each in self._checkpoints if each <= target), default=-1)
        found = Snapshot(start)
        for name in self._checkpoints.get(start, ()):
            self._replay(name, found)
        return found

    def _replay(self, name: str, snapshot: Snapshot) -> None:
        for action in self._actions(name):
            snapshot.apply(action)

    def _next(self, version: int, target: int) -> tuple[int, str]:
        """The last version and the name of the file to read next. Raises RewriteError at a gap."""
        end, name = self._compacted.get(version, (-1, ""))
        if version <= end <= target:
            return end, name
        if version not in self._commits:
            raise RewriteError(
                f"{self._folder.path}: {LOG}: commit {version:,} is missing, and no complete"
                f" checkpoint has it: version {target:,} cannot be read"
            )
        return version, self._commits[version].name

    def added(self, after: int, until: int) -> set[str]:
        """The names of the files that the versions behind `after`, up to `until`, have added; not those
        whose sizes were recorded anew from here. Raises RewriteError if the log does not have these
        versions any more, FormatError, OSError."""
        if not -1 <= after <= until:
            raise RewriteError(
                f"{self._folder.path}: no version {after:,}, expected 0 to {until:,}"
            )
        found: set[str] = set()
        version = after
        while version < until:
            if version + 1 not in self._commits and version + 1 not in self._compacted:
                known = min((each for each in self._commits if each > version), default=until + 1)
                raise RewriteError(
                    f"{self._folder.path}: {LOG}: commit {version + 1:,} is gone, so nobody knows what was"
                    f" added since version {after:,}: expected {known - 1:,} or later, or none for"
                    " all files"
                )
            first = version + 1
            version, name = self._next(first, until)
            found |= _added_by(list(self._actions(name)), is_one_commit=version == first)
        return found

    def in_commit_timestamp(self, version: int) -> int | None:
        """In milliseconds since 1970; None if the commit has none, or is not there any more. Raises
        OSError."""
        if version not in self._commits:
            return None
        # It is in the first action, but writers have had it elsewhere.
        for action in self._actions(self._commits[version].name):
            if "commitInfo" in action:
                found = action["commitInfo"].get("inCommitTimestamp")
                return found if type(found) is int else None
        return None

    def times(self, has_timestamps: bool) -> Iterator[tuple[int, int]]:
        """Each version that has a commit, and when that was made, in milliseconds since 1970.
        `has_timestamps`: whether commits may say so themselves. Raises OSError."""
        last = -1
        for version in sorted(self._commits):
            inside = self.in_commit_timestamp(version) if has_timestamps else None
            # Files that were copied may have the times of another order.
            last = max(last + 1, self._commits[version].modified) if inside is None else inside
            yield version, last

    def _actions(self, name: str) -> Iterator[Action]:
        where = f"{self._folder.path}: {LOG}/{name}"
        data = self._folder.read(f"{LOG}/{name}")
        if name.endswith(".json"):
            found = _lines(data, where)
        else:
            from parquet_bloom.tables.delta.checkpoint import actions_in

            found = actions_in(data, where)
        for action in _checked(found, where):
            if sidecar := action.get("sidecar"):
                yield from self._in_sidecar(sidecar["path"])
            else:
                yield action

    def _in_sidecar(self, path: str) -> Iterator[Action]:
        from parquet_bloom.tables.delta.checkpoint import actions_in

        name = decoded(path)
        if "/" in name:
            raise RewriteError(
                f"{self._folder.path}: the sidecar {name} is not in {SIDECARS}, expected a name"
            )
        where = f"{SIDECARS}/{name}"
        shown = f"{self._folder.path}: {where}"
        yield from _checked(actions_in(self._folder.read(where), shown), shown)


def _added_by(actions: Sequence[Action], is_one_commit: bool) -> set[str]:
    """The names of the files that are new. In one commit, a file that it removes as well has another
    deletion vector."""
    if any(map(is_ours, actions)):
        return set()
    added = {decoded(each["add"]["path"]) for each in actions if each.get("add")}
    removed = {decoded(each["remove"]["path"]) for each in actions if each.get("remove")}
    return added - removed if is_one_commit else added


def _checked(actions: Iterable[Action], where: str) -> Iterator[Action]:
    for action in actions:
        try:
            check(action)
        except (AttributeError, KeyError, TypeError):
            raise FormatError(
                f"{where}: an action that does not follow the protocol:"
                f" {json.dumps(action, default=str)[:_SHOWN]}"
            ) from None
        yield action


def _lines(data: bytes, where: str) -> Iterator[Action]:
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            action = json.loads(line)
        except ValueError as error:
            raise FormatError(f"{where}: line {number}: {error}") from None
        except RecursionError:
            raise FormatError(f"{where}: line {number}: nested too deeply") from None
        if not isinstance(action, dict):
            raise FormatError(f"{where}: line {number}: expected an action")
        yield action


def read_snapshot(
    folder: Folder, version: int | None = None, known: Snapshot | None = None
) -> Snapshot:
    """The table at a version, None for the newest one. Arguments and errors as for Log.snapshot."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return Log(folder).snapshot(version, known)
        except FileNotFoundError:
            continue
    return Log(folder).snapshot(version, known)
