"""What a run does to plan its tasks, on the executors: rows with one document each come back.

begin            take up a run under its id, or start it: look the names up, and list
list_folders     list what was handed back
listed_files     the files of the plan or of a manifest, and those that earlier runs left as they are to be
leave_complete   cut the plan anew, with what is known of these
settle           the plan is whole: keep it
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any, Final

import pyarrow as pa

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import SparkError
from parquet_bloom.index.states import is_own
from parquet_bloom.spark.failures import TOLD, as_told
from parquet_bloom.spark.index_request import KnownIndex
from parquet_bloom.spark.index_units import AS_KNOWN, known_files, known_version
from parquet_bloom.spark.listing import (
    ENOUGH_FOLDERS,
    NOT_THERE,
    STANDS_FOR_NOTHING,
    FolderToList,
    Named,
    as_lake_file,
    is_text,
    listed_below,
    look_up,
    not_text,
    why_empty,
    why_nothing,
)
from parquet_bloom.spark.manifests import (
    GivenManifest,
    Listing,
    completed,
    listed_in,
    looked_up,
    size_of,
)
from parquet_bloom.spark.outcome import NOT_PASSED_ON, Outcome, Status, rows_of
from parquet_bloom.spark.plan import (
    BOUNDS,
    KNOWN_AT_ONCE,
    Bounds,
    LakeFile,
    Plan,
    SheetWriter,
    planned,
)
from parquet_bloom.spark.rows import RowFields, packed, unpacked
from parquet_bloom.spark.run import Account, LakeRun, as_document
from parquet_bloom.spark.schemas import ACCOUNT, CONTROL, SEEN, Batches, giving, numbers_in
from parquet_bloom.spark.versions import arrow_schema
from parquet_bloom.storage.folder import Found
from parquet_bloom.storage.source import is_url

# Folders that are still to be listed, in one file of the run.
_UNIT = pa.schema([("path", pa.string()), ("name", pa.string()), ("root", pa.string())])

# Local folders that one task lists, at least.
LOCAL_AT_ONCE = 8

# Accounts of earlier runs that one task reads.
ACCOUNTS_AT_ONCE = 16

# Files whose earlier outcomes one task compares.
COMPARED_AT_ONCE: Final = 100_000

# Of a file that is not opened.
LEFT_SO = "as an earlier run left it"

# What an earlier run may have left as this one is to leave it.
_DONE = {"added", "removed", "unchanged", "skipped"}


@dataclass(frozen=True, slots=True)
class Search:
    """What a run is about: `names`, each with what executors open for it, or `files`, or those in a
    `manifest`. since: only files changed since then, in seconds since 1970. most_files, most_bytes:
    only the first ones, for a trial.
    as_folders: not the files, but the folders that names stand for or have files in. skips_complete:
    whether a file that an earlier run has left so is not opened again. index: whose files, if they are as it knows
    them, are not opened. besides: the folder of an index, in which none of the files may be."""

    names: tuple[tuple[str, str], ...] = ()
    files: tuple[LakeFile, ...] | None = None
    manifest: GivenManifest | None = None
    since: float | None = None
    most_files: int | None = None
    most_bytes: int | None = None
    as_folders: bool = False
    skips_complete: bool = False
    bounds: Bounds = BOUNDS
    index: KnownIndex | None = None
    besides: str | None = None

    @property
    def of_many(self) -> Search:
        """The same for one of many listings, of which each need not keep several executors busy."""
        return replace(self, bounds=replace(self.bounds, first_files=self.bounds.files // 4))

    @property
    def to_compare(self) -> Search:
        """The same for a listing that is compared with earlier outcomes before tasks are cut."""
        many, size = KNOWN_AT_ONCE, 1 << 62
        bounds = Bounds(many, size, many, size, huge=size, part=size)
        return replace(self, bounds=bounds)

    @property
    def is_empty(self) -> bool:
        return not (self.names or self.files or self.manifest or self.index)

    @property
    def is_trial(self) -> bool:
        """Whether it is about the first files only, which one task finds."""
        return (self.most_files, self.most_bytes) != (None, None)

    @property
    def is_limited(self) -> bool:
        return self.is_trial or self.since is not None

    @property
    def num_segments(self) -> int:
        """Of the index that knows files."""
        return 0 if self.index is None else self.index.num_segments

    @property
    def has_rows(self) -> bool:
        """Whether files come as rows of SEEN, of which many tasks make the sheets."""
        return self.manifest is not None and not self.is_trial


@dataclass(frozen=True, slots=True)
class Planning:
    """What the functions here are sent: the run, what it is about and, once it is listed, its plan."""

    run: LakeRun
    search: Search
    plan: Plan = Plan()
    round: int = 0
    units: tuple[str, ...] = ()
    earlier: tuple[tuple[str, str], ...] = ()


# ------------------------------------------------------------------------------------------------
# Listing


@giving(CONTROL)
def begin(request: Planning, batches: Batches) -> Iterator[RowFields]:
    """One document: the plan, and whether it is whole; if not, the folders that were handed back, and the
    accounts of earlier runs that say what may be complete."""
    list(batches)
    account = Account(request.run)
    try:
        run = _marks(_taken_up(account, request), request.search)
    except SparkError as error:
        yield _document(as_told(error))
        return
    known = account.get("plan.json")
    if known is not None:
        plan = json.loads(known)
        done = sum(name.startswith("task-") for name in account.outcome_names())
        is_done = done >= Plan.of(plan).num_sheets
        yield _document({"run": run, "plan": plan, "is_settled": True, "is_done": is_done})
        return
    search = request.search
    earlier = list(_earlier(account, request)) if search.skips_complete else []
    # Such sheets are cut anew.
    try:
        listed = _begun(account, search.to_compare if earlier or search.index else search)
    except TOLD as error:
        yield _document(as_told(error))
        return
    plan = Plan.of(listed["plan"])
    if not listed["left"]:
        plan += Plan(missing=without_files(listed["folders"], listed["found"]))
        listed |= {"plan": plan.as_fields(), "folders": []}
    is_compared = bool(earlier or search.has_rows or search.index)
    # If there is nothing but names, the next attempt at the run looks again.
    is_settled = not (listed["left"] or is_compared or (plan.missing and not plan.num_files))
    if is_settled:
        _settle(account, plan)
    manifest = search.manifest if search.has_rows else None
    num_bytes = 0 if manifest is None else size_of(manifest)
    about = {"run": run, "is_settled": is_settled, "earlier": earlier}
    yield _document({**about, "manifest_bytes": num_bytes, **listed})


def without_files(names: Iterable[str], found: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The names of folders in which no file was found, and what to say of them."""
    return tuple((name, why_empty(name)) for name in sorted({*names} - {*found}))


def _taken_up(account: Account, request: Planning) -> LakeRun:
    """The run as it was started, perhaps by somebody who died. Raises SparkError if it was another."""
    run, marks = request.run, _marks(request.run, request.search)
    began = account.get("started.json")
    if began is None:
        account.put("started.json", as_document(marks))
        account.mark("started")
        began = account.get("started.json") or b"{}"
    first = json.loads(began)
    if any(first[each] != marks[each] for each in ("verb", "asked", "manifest")):
        raise SparkError(
            f"{run.audit}: run {run.id} was asked for something else, {first['verb']} that began at"
            f" {first['started_at']}{_difference(first, marks)}: expected the same verb, options and names,"
            " or another run id"
        )
    return run.since(first["started_at"])


def _difference(first: RowFields, now: RowFields) -> str:
    """`, which differs in columns`: the first of what was asked for otherwise; the message has the verb."""
    if first["manifest"] != now["manifest"]:
        return ", of another manifest"
    # Earlier versions have not kept them.
    before = dict(first.get("asked_parts", ()))
    names = (name for name, digest in now["asked_parts"] if before.get(name) != digest)
    name = next(names, "verb")
    return "" if name == "verb" else f", which differs in {name}"


def _marks(run: LakeRun, search: Search) -> RowFields:
    manifest = None if search.manifest is None else search.manifest.path
    return {
        "verb": run.verb,
        "asked": run.asked,
        "asked_parts": [list(each) for each in run.asked_parts],
        "manifest": manifest,
        "started_at": run.started_at.isoformat(),
    }


def _begun(account: Account, search: Search) -> RowFields:
    """Look the names up, and list as much as one task should."""
    lister = _Lister(account, search, "0-0")
    if search.files is not None:
        for file in search.files:
            lister.sheets.add(file)
        return lister.listed([])
    if search.manifest is not None:
        if search.is_trial:
            _take_first(search.manifest, lister)
        return lister.listed([])
    named = look_up(search.names)
    if search.as_folders:
        for path in _folders_of(named):
            lister.sheets.add(LakeFile(path))
        for name in named.nothing:
            lister.miss(*_missing_folder(name, dict(search.names)[name]))
        return lister.listed([])
    for found in named.files:
        if not lister.take_named(found):
            break
    left = [] if lister.is_full else _listed_at_once(named.folders, lister, search)
    # If there are enough files without them, nobody knows whether folders have any.
    listed = [] if lister.is_full else named.folders
    return lister.listed(left, named.nothing, [folder.name for folder in listed])


def _take_first(manifest: GivenManifest, lister: _Lister) -> None:
    """The first files of a manifest, each once."""
    taken = set()
    for listing in listed_in(manifest):
        if listing.file.path not in taken:
            taken.add(listing.file.path)
            if not lister.take_listing(looked_up(listing)):
                return


def _listed_at_once(
    folders: Sequence[FolderToList], lister: _Lister, search: Search
) -> Sequence[FolderToList]:
    if not search.is_trial:
        return listed_below(folders, lister.take, ENOUGH_FOLDERS)
    # Only one task knows when there are enough.
    while folders and not lister.is_full:
        folders = listed_below(folders, lister.take)
    return []


def _missing_folder(name: str, place: str) -> tuple[str, str]:
    """What to call it, and what to say of it."""
    problem = why_nothing(name)
    return place if problem == NOT_THERE else name, problem


def _folders_of(named: Named) -> list[str]:
    """Those that were named, and those in which files were."""
    folders = {folder.path for folder in named.folders}
    return sorted(folders | {os.path.dirname(file.path) for file in named.files})


class _Lister:
    """Puts the files of one listing into its sheets."""

    def __init__(self, account: Account, search: Search, name: str) -> None:
        self._account = account
        self._search = search
        # Of another attempt at the same, others may be known by now.
        self._name = f"{name}-{os.urandom(4).hex()}"
        self.sheets = SheetWriter(account, self._name, search.bounds)
        self.is_full = False
        self._num_files = self._num_bytes = 0
        self._found: set[str] = set()
        self._missing: list[tuple[str, str]] = []

    def take_named(self, file: Found) -> bool:
        return self.take_listing(Listing(as_lake_file(file), file.modified))

    def take(self, folder: FolderToList, file: Found) -> bool:
        self._found.add(folder.name)
        return self.take_named(file)

    def take_listing(self, listing: Listing) -> bool:
        """Whether more files are wanted. Raises RewriteError, see is_own."""
        search, file = self._search, listing.file
        if search.besides is not None and is_own(file.path, search.besides):
            return True
        if not listing.is_since(search.since):
            return True
        if not is_text(file.path):
            self.miss(*not_text(file.path))
            return True
        size, most_files, most_bytes = file.size or 0, search.most_files, search.most_bytes
        if most_bytes is not None and self._num_bytes + size > most_bytes:
            self.is_full = True
            return False
        self.sheets.add(file)
        self._num_files += 1
        self._num_bytes += size
        self.is_full = self._num_files == most_files
        return not self.is_full

    def miss(self, name: str, problem: str) -> None:
        """What stands for no file, or none that can be worked on."""
        self._missing.append((name, problem))

    def listed(
        self, left: Sequence[FolderToList], nothing: Iterable[str] = (), folders: Iterable[str] = ()
    ) -> RowFields:
        """What the driver learns; `folders`: the names that stand for folders."""
        sheets = self.sheets.close()
        missing = [*self._missing, *((name, why_nothing(name)) for name in nothing)]
        plan = Plan(() if not sheets.files else (sheets,), tuple(missing))
        return {
            "plan": plan.as_fields(),
            "left": list(self._handed_back(left)),
            "found": sorted(self._found),
            "folders": list(folders),
        }

    def _handed_back(self, left: Sequence[FolderToList]) -> Iterator[str]:
        """The names of the files that say which folders are left."""
        # To list a local folder takes less than a task of its own, while requests are waited for.
        least = LOCAL_AT_ONCE if left and not is_url(left[0].path) else 1
        share = max(least, -(-len(left) // ENOUGH_FOLDERS))
        for start in range(0, len(left), share):
            name = f"folders-{self._name}-{start:06}"
            rows = [asdict(folder) for folder in left[start : start + share]]
            self._account.put(name, packed(rows, _UNIT))
            yield name


@giving(CONTROL)
def list_folders(request: Planning, batches: Batches) -> Iterator[RowFields]:
    """A document for each task: what was listed."""
    account = Account(request.run)
    for number in numbers_in(batches):
        data = account.get(request.units[number])
        if data is None:
            raise FileNotFoundError(f"{request.units[number]}: the plan of the run is gone")
        folders = [FolderToList(**row) for row in unpacked(data)]
        lister = _Lister(account, request.search.of_many, f"{request.round}-{number}")
        try:
            yield _document(lister.listed(listed_below(folders, lister.take)))
        except TOLD as error:
            yield _document(as_told(error))


# ------------------------------------------------------------------------------------------------
# What earlier runs have done


def _earlier(account: Account, request: Planning) -> Iterator[tuple[str, str]]:
    """The accounts of earlier runs that were asked for the same, back to one that has all files. Those
    that are older than each file that is looked at know only what it was before."""
    for run in account.runs():
        if run.asked != request.run.asked or run.name == request.run.name:
            continue
        for name in account.outcome_names(run.name, request.search.since):
            yield run.name, name
        if run.is_finished:
            return


@giving(SEEN)
def listed_files(request: Planning, batches: Batches) -> Iterator[RowFields]:
    """Rows of SEEN: the files of each sheet, those of a manifest, and those of earlier accounts."""
    account, num_sheets = Account(request.run), request.plan.num_sheets
    for number in numbers_in(batches):
        if number < num_sheets:
            for each in planned(account, request.plan.sheet(number)):
                yield _seen(each.file)
        elif number == num_sheets:
            yield from _files_of_manifest(request.search)
        elif request.search.index is not None:
            yield from known_files(request.search.index, number - num_sheets - 1)
        else:
            start = (number - num_sheets - 1) * ACCOUNTS_AT_ONCE
            for run, name in request.earlier[start : start + ACCOUNTS_AT_ONCE]:
                yield from _earlier_files(account, run, name)


def _seen(file: LakeFile) -> RowFields:
    # For each file: asdict would take ten times as long.
    return {
        "folder": os.path.dirname(file.path),
        "path": file.path,
        "is_earlier": 0,
        "size": file.size,
        "version": file.version,
        "status": None,
        "message": None,
    }


def _files_of_manifest(search: Search) -> Iterator[RowFields]:
    if search.manifest is None or search.is_trial:
        return
    for listing in listed_in(search.manifest):
        if not is_text(listing.file.path):
            name, said = not_text(listing.file.path)
            yield _seen(LakeFile(name)) | {"status": "error", "message": f"{name}: {said}"}
        elif listing.is_since(search.since):
            yield _seen(listing.file)


def _earlier_files(account: Account, run: str, name: str) -> Iterator[RowFields]:
    columns = ["path", "size", "version", "status", "message"]
    for row in account.outcomes_of(run, name, columns):
        if row["version"] is not None and row["status"] in _DONE:
            yield {"folder": os.path.dirname(row["path"]), "is_earlier": 1, **row}


@giving(CONTROL)
def leave_complete(request: Planning, batches: Batches) -> Iterator[RowFields]:
    """A document for each task, which has rows of SEEN by path: its sheets, in which files that an
    earlier run left as they are to be are known already."""
    rows: Iterator[RowFields] = (row for batch in batches for row in batch.to_pylist())
    index = request.search.index
    if request.search.has_rows:
        rows = completed(rows, request.search.since)
    sheets = SheetWriter(Account(request.run), f"new-{os.urandom(4).hex()}", request.search.bounds)
    for _, of_path in groupby(rows, lambda row: row["path"]):
        # A manifest may list it twice.
        *others, last = of_path
        if last["is_earlier"]:
            continue
        file = LakeFile(last["path"], last["size"], last["version"])
        if last["status"] is not None:
            sheets.add_known(file, last["status"], last["message"])
            continue
        if index is not None:
            if version := known_version(index, others, file):
                sheets.add_known(replace(file, version=version), "unchanged", AS_KNOWN)
            else:
                sheets.add(file)
            continue
        same = [
            row
            for row in others
            if row["is_earlier"] and (row["size"], row["version"]) == (file.size, file.version)
        ]
        if same:
            sheets.add_known(file, *_still(same[0]))
        else:
            sheets.add(file)
    found = sheets.close()
    yield _document({"plan": Plan((found,) if found.files else ()).as_fields()})


def _still(row: RowFields) -> tuple[Status, str]:
    """The status and the message of a file that is as an earlier run left it."""
    if row["status"] in ("skipped", "unchanged"):
        return row["status"], row["message"] or LEFT_SO
    return "unchanged", LEFT_SO


@giving(CONTROL)
def settle(request: Planning, batches: Batches) -> Iterator[RowFields]:
    """No document: the plan is kept."""
    list(batches)
    _settle(Account(request.run), request.plan)
    return iter(())


def _settle(account: Account, plan: Plan) -> None:
    if plan.missing:
        missing = rows_of(account.run, outcomes_of_missing(plan))
        account.put_outcomes("missing", missing, arrow_schema(ACCOUNT))
    account.put("plan.json", as_document(plan.as_fields()))


def outcomes_of_missing(plan: Plan) -> Iterator[Outcome]:
    """Names are in the account like files."""
    for name, said in plan.missing:
        is_nothing = said in STANDS_FOR_NOTHING
        error_class = FileNotFoundError.__name__ if is_nothing else NOT_PASSED_ON
        yield Outcome(name, "error", message=f"{name}: {said}", error_class=error_class)


def _document(fields: Any) -> RowFields:
    return {"document": json.dumps(fields)}
