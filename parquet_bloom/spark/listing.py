"""The Parquet and ORC files of a lake, listed by its executors.

    one task       looks at the names, and expands folders until there are enough of them
    many tasks     list folders with all that is below, and hand back what is left of very many
    ...            until nothing is handed back

What is found goes into the sheets of the plan; the driver learns how much it was.
"""

from __future__ import annotations

import errno
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from glob import glob
from typing import Final
from urllib.parse import quote, unquote

from parquet_bloom.dataclass import dataclass
from parquet_bloom.spark.plan import LakeFile
from parquet_bloom.storage.folder import Found
from parquet_bloom.storage.listing import (
    find_file,
    find_local,
    find_lost_link,
    list_folder,
    list_objects,
    match_objects,
)
from parquet_bloom.storage.manifest import shown
from parquet_bloom.storage.paths import NO_FILES, check_folder, expand, not_listed, passed_over
from parquet_bloom.storage.source import (
    has_data_suffix,
    has_wildcard,
    is_data_file,
    is_hidden,
    is_object,
    is_of_index,
    is_url,
)
from parquet_bloom.vocabulary import NO_OBJECT

# Not escaped in a URL, besides letters, digits and `-._~`.
_UNESCAPED = "/:@!$&'()*+,;="

# Hadoop's schemes, and what others call them.
_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}

# What is escaped in a URI; Spark, which gives URIs, does not take them.
_ESCAPED = re.compile("(?:%[0-9A-Fa-f]{2})+")

# The start of a URI, up to its path.
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:/")

# Alternatives in a glob, the innermost.
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")

# So many folders are enough for the tasks of a listing.
ENOUGH_FOLDERS: Final = 64
# A task hands back the folders that it has not listed yet after so many files.
MOST_FILES: Final = 500_000

# What is wrong with a name that stands for no file: that of a file or folder, or of a glob or a folder that is there.
NOT_THERE: Final = "no such file or folder"
STANDS_FOR_NOTHING: Final = (NOT_THERE, NO_FILES, NO_OBJECT)

# One or more files, folders and globs.
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True)
class FolderToList:
    """A folder that is to be listed, because of `name`. `root`: the real path below which links lead
    nowhere new; None behind a URL."""

    path: str
    name: str
    root: str | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """What names stand for: `files`, `folders`, and the names that stand for nothing."""

    files: tuple[Found, ...]
    folders: tuple[FolderToList, ...]
    nothing: tuple[str, ...]


def look_up(names: Sequence[tuple[str, str]]) -> Named:
    """What names stand for, each given with what executors open for it; every file and folder once. A
    file that is named, or that a glob for files matches, need not be called like one. Raises
    OSError."""
    files: dict[str, Found] = {}
    folders: dict[str, FolderToList] = {}
    nothing = []
    for name, place in names:
        found = list(_in_store(name, place) if is_url(place) else _local(name, place))
        if not found:
            nothing.append(name)
        for each in found:
            if isinstance(each, FolderToList):
                folders.setdefault(_real(each.path), each)
            else:
                files.setdefault(_real(each.path), each)
    folders = {real: folder for real, folder in folders.items() if not _is_in(real, folders)}
    alone = [file for real, file in files.items() if not _is_listed(real, folders)]
    by_path = sorted(alone, key=lambda file: file.path)
    of_folders = sorted(folders.values(), key=lambda folder: folder.path)
    return Named(tuple(by_path), tuple(of_folders), tuple(nothing))


def why_nothing(name: str) -> str:
    """What is wrong with a name that stands for nothing."""
    return NO_FILES if not name or _is_pattern(name) else NOT_THERE


def why_empty(name: str) -> str:
    """What is wrong with the name of a folder in which no file was found;
    that of an object that is not there is taken for one."""
    return NO_OBJECT if is_object(_opened_for(name)) and has_data_suffix(name) else NO_FILES


def errors_here(names: Sequence[str]) -> list[OSError]:
    """An error for each of the names, if all are of files and folders that would be on this machine, and none is
    there; what a glob or a URL means, executors find out."""
    if any(map(_may_be_there, map(located, names))):
        return []
    files, errors = expand(names)
    gone = os.strerror(errno.ENOENT)
    return [*errors, *(FileNotFoundError(errno.ENOENT, gone, file.path) for file in files)]


def _may_be_there(place: str) -> bool:
    return is_url(place) or _is_pattern(place) or os.path.lexists(place)


def _real(path: str) -> str:
    return path.rstrip("/") if is_url(path) else os.path.realpath(path)


def _is_in(real: str, folders: Iterable[str]) -> bool:
    """Whether a folder is below another one that is listed."""
    above = os.path.dirname(real)
    while above != real:
        if above in folders:
            return not any(map(is_hidden, os.path.relpath(real, above).split("/")))
        real, above = above, os.path.dirname(above)
    return False


def _is_listed(real: str, folders: Iterable[str]) -> bool:
    """Whether a file is found by the listing of a folder."""
    folder, name = os.path.split(real)
    if not is_data_file(name) or is_hidden(name):
        return False
    return folder in folders or _is_in(folder, folders)


def _local(given: str, path: str) -> Iterator[Found | FolderToList]:
    if not _is_pattern(path) or os.path.lexists(path):
        yield from _at(given, path)
        return
    for pattern in alternatives(path):
        by_suffix = not pattern.rpartition("/")[2].strip("*")
        matches = sorted(glob(pattern, recursive=True))
        _check_all_seen(pattern, matches)
        for match in matches:
            name = os.path.basename(match.rstrip("/"))
            if is_hidden(name) or is_of_index(name):
                continue
            for found in _at(given, match):
                if isinstance(found, FolderToList) or not by_suffix or is_data_file(name):
                    yield found


def _check_all_seen(pattern: str, matches: Sequence[str]) -> None:
    """Raise PermissionError for a folder into which a glob would look and nobody may: it passes over it without a
    word, and what is there would be taken for absent."""
    for folder, reason in passed_over(pattern).items():
        raise not_listed(folder, reason)
    if not matches:
        # That there is no such folder, is said of the glob.
        with suppress(FileNotFoundError):
            check_folder(pattern)


def _is_pattern(name: str) -> bool:
    return has_wildcard(name) or _BRACES.search(name) is not None


def alternatives(pattern: str) -> list[str]:
    """The globs for a glob with alternatives in braces, which Hadoop has and Python lacks."""
    braces = _BRACES.search(pattern)
    if braces is None:
        return [pattern]
    ends = pattern[: braces.start()], pattern[braces.end() :]
    each = (each.join(ends) for each in braces[1].split(","))
    return [alternative for one in each for alternative in alternatives(one)]


def _at(given: str, path: str) -> Iterator[Found | FolderToList]:
    """The local file or folder at a path; nothing if there is none."""
    found = find_lost_link(path) or find_local(path)
    if found is not None:
        yield found
    elif os.path.isdir(path):
        yield FolderToList(path.rstrip("/") or "/", given, os.path.realpath(path))


def _in_store(given: str, url: str) -> Iterator[Found | FolderToList]:
    """What is behind a URL. Whether a folder is there, only listing it tells."""
    if _is_pattern(url):
        if not is_object(url):
            scheme = url.partition("://")[0]
            what = f"globs are not supported on {scheme}://: name files or folders"
            raise OSError(errno.ENOTSUP, what, url)
        for pattern in alternatives(url):
            yield from match_objects(pattern)
        return
    found = find_file(url)
    # An empty object may mark a folder.
    is_file = found is not None and (found.size or is_data_file(found.path))
    yield found if found is not None and is_file else FolderToList(url.rstrip("/"), given)


def listed_below(
    folders: Sequence[FolderToList],
    take: Callable[[FolderToList, Found], bool],
    enough_folders: int | None = None,
) -> list[FolderToList]:
    """List folders with all that is below, those next to each other together, and give every file to
    `take` until it returns False; returns the folders that are handed back: all that are known when there
    are `enough_folders` of them, or what is left after MOST_FILES. Raises OSError."""
    left = deque(folders)
    known: set[str] = set()
    num_files = 0
    while left and num_files < MOST_FILES:
        if enough_folders is not None and len(left) >= enough_folders:
            break
        folder = left.popleft()
        found, below = _contents(folder, known, deep=enough_folders is None)
        if enough_folders is None:
            left.extendleft(reversed(below))
        else:
            left.extend(below)
        for file in found:
            num_files += 1
            if not take(folder, file):
                return []
    return list(left)


def _contents(
    folder: FolderToList, known: set[str], *, deep: bool
) -> tuple[Iterable[Found], list[FolderToList]]:
    """The files in a folder that is not `known` yet, and the folders in it; `deep`: of an object store,
    all files below it instead."""
    if deep and is_object(folder.path):
        return list_objects(folder.path), []
    real = _real(folder.path)
    if real in known:
        return (), []
    known.add(real)
    try:
        files, below = list_folder(folder.path, folder.root)
    except FileNotFoundError:
        if is_object(folder.path):
            # There are no folders: it is the bucket that is not there.
            raise
        # Others remove folders of theirs meanwhile.
        return (), []
    return files, [FolderToList(path, folder.name, folder.root) for path in below]


def as_lake_file(found: Found) -> LakeFile:
    return LakeFile(found.path, found.size, found.version)


# ------------------------------------------------------------------------------------------------
# How files are called


def names_for_executors(names: Iterable[str]) -> list[tuple[str, str]]:
    """Each name once, with what executors open for it."""
    return [(name, _opened_for(name)) for name in dict.fromkeys(names)]


def _opened_for(name: str) -> str:
    if not is_url(name):
        return located(name)
    scheme, _, rest = name.partition("://")
    # Wildcards stay wildcards, unless they are escaped.
    ends = _ESCAPED.split(rest)
    escaped = [quote(_unescaped(each), safe="") for each in _ESCAPED.finditer(rest)]
    plain = [quote(each, safe=f"{_UNESCAPED}[]{{}}") for each in ends]
    spelled = "".join(a + b for a, b in zip(plain, [*escaped, ""], strict=True))
    return f"{_SCHEMES.get(scheme, scheme)}://{spelled}"


def located(name: str) -> str:
    """The one spelling of the file, folder or glob of that name: an absolute path or a URL without
    escapes; "" for an empty name."""
    path = _without_escapes(name)
    if name and not _SCHEME.match(name):
        path = os.path.join(os.getcwd(), name)
    path = _as_local(path)
    return _collapsed(path) if path.startswith("/") else path.rstrip("/")


def opened_by_executors(name: str) -> str:
    """What executors open for the file or folder of that name."""
    return _spelled_by_executors(_without_escapes(name))


def opened_in(folder: str, path: str) -> str:
    """What executors open for a path in a manifest, which starts in this folder if it is relative; a URL
    is escaped there."""
    path = _as_local(path)
    if not is_url(path):
        return _collapsed(os.path.join(folder, path))
    scheme, _, rest = shown(path).partition("://")
    return f"{_SCHEMES.get(scheme, scheme)}://{rest}"


def _without_escapes(name: str) -> str:
    return _ESCAPED.sub(_unescaped, name) if "://" in name else name


def _unescaped(escapes: re.Match[str]) -> str:
    return unquote(escapes[0], errors="surrogateescape")


def _collapsed(path: str) -> str:
    """An absolute path without `//`, `/./`, `/../` and a slash at the end, as Hadoop has it."""
    return "/" + os.path.normpath(path).lstrip("/")


def _spelled_by_executors(path: str) -> str:
    """A path that Spark gives, without escapes, as the operating system or, for a URL, pyarrow
    spells it."""
    path = _as_local(path)
    if not is_url(path):
        return path
    scheme, _, rest = path.partition("://")
    return f"{_SCHEMES.get(scheme, scheme)}://{quote(rest, safe=_UNESCAPED)}"


def _as_local(path: str) -> str:
    """A path as the operating system spells it, if it is local."""
    if path.startswith("file:/"):
        return "/" + path[6:].lstrip("/")
    if path.startswith("dbfs:/"):
        return "/dbfs/" + path[6:].lstrip("/")
    return path


def is_text(path: str) -> bool:
    return path.isascii() or path.encode(errors="ignore").decode() == path


def not_text(path: str) -> tuple[str, str]:
    """What to call a file, and what to say of it."""
    shown = os.fsencode(path).decode(errors="backslashreplace")
    return shown, "its name is not UTF-8, so that Spark cannot pass it on"
