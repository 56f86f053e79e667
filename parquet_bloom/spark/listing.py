"""The Parquet and ORC files of a lake, found by Spark with whatever credentials it has."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cache
from glob import has_magic
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from parquet_bloom.errors import SparkError
from parquet_bloom.spark.failures import failing
from parquet_bloom.storage.paths import SUFFIXES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What stands in a URL as it is, beside letters, digits and `-._~`.
_UNESCAPED = "/:@!$&'()*+,;="

# Schemes of Hadoop's for what others call differently.
_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}


@dataclass(frozen=True, slots=True)
class LakeFile:
    """One file; `path` is what the executors open, `size` in bytes."""

    path: str
    size: int
    modified: datetime


# Files, folders and globs, or one.
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def names_of(paths: Paths) -> list[str]:
    """What a user names, one by one."""
    one_by_one = [paths] if isinstance(paths, str | os.PathLike) else paths
    return [os.fspath(path) for path in one_by_one]


def list_files(spark: SparkSession, names: Sequence[str]) -> tuple[list[LakeFile], list[str]]:
    """The Parquet and ORC files behind files, folders and globs, sorted and once each; and the names
    behind which there are none.

    Spark lists them, hidden and empty ones left out, and reads none. In folders, and by a glob that
    ends in `*`, a file is taken for one if it is called so. A name with a scheme is a URI, as
    `inputFiles()` gives them. Raises SparkError for what Spark cannot list, and if the JVM cannot
    read names of local files.
    """
    with failing("the files are not listed"):
        files, nothing = _search(spark, sorted(dict.fromkeys(names), key=_last_if_doubtful))
        hidden = {name: file for name in nothing if (file := _hidden_file(name)) is not None}
        files |= {file.path: file for file in hidden.values()}
        if any(path.startswith("/") for path in [*files, *map(located, nothing)]):
            _check_encoding(spark)
    missing = set(nothing) - set(hidden)
    return _once(files.values()), [name for name in dict.fromkeys(names) if name in missing]


def _last_if_doubtful(name: str) -> tuple[bool, bool]:
    """Sorts names that this process sees, globs, and others, which may be missing, so that halves
    have as few kinds as can be."""
    is_glob = has_magic(name)
    return not is_glob and not os.path.lexists(located(name)), is_glob


def _search(spark: SparkSession, names: Sequence[str]) -> tuple[dict[str, LakeFile], list[str]]:
    """The files behind `names`, and those of `names` behind which there are none.

    Spark takes all or none of several, and does not say which file is whose; so halves are tried of
    those about which nothing is known.
    """
    files = _listed(spark, names) if names else {}
    if not files and (files is not None or len(names) == 1):
        return {}, list(names)
    if files is None:
        return _search_halves(spark, names)
    if len(names) == 1:
        return files, []
    doubtful = _unexplained(names, files)
    search = _search if len(doubtful) < len(names) else _search_halves
    more, nothing = search(spark, doubtful)
    return files | more, nothing


def _search_halves(
    spark: SparkSession, names: Sequence[str]
) -> tuple[dict[str, LakeFile], list[str]]:
    middle = len(names) // 2
    files, nothing = _search(spark, names[:middle])
    more_files, more_nothing = _search(spark, names[middle:])
    return files | more_files, nothing + more_nothing


def _unexplained(names: Sequence[str], files: Iterable[str]) -> list[str]:
    """Those of `names` that are none of `files`, no folder above one, and no glob for such."""
    known = set(files)
    known = known.union(*(_parents(path) for path in known))
    return [
        name
        for name in names
        if located(name) not in known
        and not (has_magic(name) and any(_matches(path, located(name)) for path in known))
    ]


def _parents(path: str) -> Iterator[str]:
    """The folders above a file."""
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)


def _matches(path: str, glob: str) -> bool:
    """Whether a glob without braces and backslashes is one for `path`."""
    # With as many slashes, no wildcard can match one.
    return path.count("/") == glob.count("/") and fnmatchcase(path, glob)


def _names_files(name: str) -> bool:
    """Whether a name is a glob for files whatever their suffix: not for all that is in a folder."""
    return has_magic(name) and name.rpartition("/")[2].strip("*") != ""


def _hidden_file(name: str) -> LakeFile | None:
    """A file that Spark leaves out in folders, and also if it is named."""
    path = located(name)
    if not os.path.basename(path).startswith(("_", ".")) or not os.path.isfile(path):
        return None
    status = os.stat(path)
    modified = datetime.fromtimestamp(status.st_mtime, UTC)
    return LakeFile(path, status.st_size, modified) if status.st_size else None


def _once(files: Iterable[LakeFile]) -> list[LakeFile]:
    """Sorted; of the names of one local file, as links give it, the first."""
    folder_of = cache(os.path.realpath)
    once: dict[str, LakeFile] = {}
    for file in sorted(files, key=lambda file: file.path):
        path = file.path
        if path.startswith("/"):
            folder, name = os.path.split(path)
            path = os.path.join(folder_of(folder), name)
            path = os.path.realpath(path) if os.path.islink(path) else path
        once.setdefault(path, file)
    return list(once.values())


def _check_encoding(spark: SparkSession) -> None:
    """Files whose names it cannot read the JVM leaves out, and says nothing."""
    query = "SELECT reflect('java.lang.System', 'getProperty', 'sun.jnu.encoding')"
    encoding = spark.sql(query).collect()[0][0]
    if encoding is not None and encoding.upper() not in ("UTF-8", "UTF8"):
        raise SparkError(
            f"local files: the JVM reads file names as {encoding}, expected UTF-8: "
            "set LC_ALL=C.UTF-8 before Spark is started"
        )


def _listed(spark: SparkSession, names: Sequence[str]) -> dict[str, LakeFile] | None:
    """The files behind all `names`, by location; None if one of them is not there."""
    from pyspark.errors import AnalysisException

    if not all(names):
        return None
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        frame = reader.load([_as_pattern(name) for name in names])
        rows = frame.select("path", "length", "modificationTime").collect()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
    named = {located(name) for name in names}
    globs = {located(name) for name in names if _names_files(name)}
    files = {}
    for path, size, modified in rows:
        place = _as_local(path)
        if (
            place.endswith(SUFFIXES)
            or place in named
            or any(_matches(place, glob) for glob in globs)
        ):
            files[place] = LakeFile(_spelled_by_executors(path), size, modified.astimezone(UTC))
    return files


# What is escaped in a URI; Spark, which gives URIs, does not take them.
_ESCAPED = re.compile("(?:%[0-9A-Fa-f]{2})+")


# What stands before a URI's path.
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:/")


def _as_pattern(name: str) -> str:
    """A name as Spark takes it; what was escaped is no wildcard, nor is the current folder."""
    if "://" in name:
        return _ESCAPED.sub(_protected, name)
    if _SCHEME.match(name):
        return name
    return _collapsed(os.path.join(_literal(os.getcwd()), name))


def located(name: str) -> str:
    """The one spelling of a file, folder or glob that somebody names: an absolute path or, where
    nothing is escaped, a URL; "" of an empty name."""
    path = _ESCAPED.sub(_unescaped, name) if "://" in name else name
    if name and not _SCHEME.match(name):
        path = os.path.join(os.getcwd(), name)
    path = _as_local(path)
    return _collapsed(path) if path.startswith("/") else path.rstrip("/")


def _collapsed(path: str) -> str:
    """An absolute path without `//`, `/./`, `/../` and a slash at the end, as Hadoop has it."""
    return "/" + os.path.normpath(path).lstrip("/")


def _protected(escapes: re.Match[str]) -> str:
    return _literal(_unescaped(escapes))


def _literal(name: str) -> str:
    """A name as a glob for itself alone."""
    return re.sub(r"[][{}*?\\]", r"\\\g<0>", name)


def _unescaped(escapes: re.Match[str]) -> str:
    return unquote(escapes[0], errors="surrogateescape")


def opened_by_executors(name: str) -> str:
    """What executors open for a file or folder that somebody names."""
    return _spelled_by_executors(_ESCAPED.sub(_unescaped, name) if "://" in name else name)


def _spelled_by_executors(path: str) -> str:
    """A path of Spark's, in which nothing is escaped, as the operating system or, of a URL, pyarrow
    names it."""
    scheme, colon, rest = _as_local(path).partition("://")
    if colon and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        return f"{_SCHEMES.get(scheme, scheme)}://{quote(rest, safe=_UNESCAPED)}"
    return _as_local(path)


def _as_local(path: str) -> str:
    """The same, of a local file as the operating system names it."""
    if path.startswith("file:/"):
        return "/" + path[6:].lstrip("/")
    if path.startswith("dbfs:/"):
        return "/dbfs/" + path[6:].lstrip("/")
    return path
