"""The Parquet and ORC files of a lake, found by Spark with whatever credentials it has."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cache
from typing import Final
from urllib.parse import quote, unquote

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import SparkError
from parquet_bloom.spark.failures import failing
from parquet_bloom.storage.source import SUFFIXES, has_wildcard, is_url

# Not escaped in a URL, besides letters, digits and `-._~`.
_UNESCAPED = "/:@!$&'()*+,;="

# Hadoop's schemes, and what others call them.
_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}

# What is escaped in a URI; Spark, which gives URIs, does not take them.
_ESCAPED = re.compile("(?:%[0-9A-Fa-f]{2})+")

EPOCH: Final = datetime.fromtimestamp(0, UTC)

# The start of a URI, up to its path.
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:/")


@dataclass(frozen=True, slots=True)
class LakeFile:
    """One file; `path` as the executors open it, `size` in bytes; `modified`: 1970 if nobody asks."""

    path: str
    size: int
    modified: datetime = EPOCH


# One or more files, folders and globs.
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def list_files(spark: SparkSession, names: Sequence[str]) -> tuple[list[LakeFile], list[str]]:
    """The Parquet and ORC files that names of files, folders and globs stand for, sorted and once
    each; and the names that stand for none.

    Spark lists them, except for hidden and empty ones, and reads none. In folders, and by a glob
    that ends in `*`, files are told by their suffix. A name with a scheme is a URI, as `inputFiles()`
    gives them. Raises SparkError if Spark cannot list the files, or the JVM cannot read the names of
    local files.
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
    """Sorts names that this process sees first, then globs, then others, which may be missing: so
    fewer halves have to be tried."""
    is_glob = has_wildcard(name)
    return not is_glob and not os.path.lexists(located(name)), is_glob


def _search(spark: SparkSession, names: Sequence[str]) -> tuple[dict[str, LakeFile], list[str]]:
    """The files that `names` stand for, and those of `names` that stand for none.

    Spark lists all of several names or, if one is missing, none, and does not say which file belongs
    to which name. So the names that the files found do not explain are tried again, by halves.
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
    """The names that are not one of `files` or a folder above one, nor a glob for one of these."""
    known = set(files).union(*(_parents(path) for path in files))
    return [
        name
        for name in names
        if located(name) not in known
        and not (has_wildcard(name) and any(_matches(path, located(name)) for path in known))
    ]


def _parents(path: str) -> Iterator[str]:
    """The folders above a file."""
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)


def _matches(path: str, glob: str) -> bool:
    """Whether a glob, which has no braces and backslashes, is one for `path`."""
    # With the same number of slashes, no wildcard can match one.
    return path.count("/") == glob.count("/") and fnmatchcase(path, glob)


def _hidden_file(name: str) -> LakeFile | None:
    """The hidden file of that name: Spark leaves hidden files out even if they are named."""
    path = located(name)
    if not os.path.basename(path).startswith(("_", ".")) or not os.path.isfile(path):
        return None
    status = os.stat(path)
    modified = datetime.fromtimestamp(status.st_mtime, UTC)
    return LakeFile(path, status.st_size, modified) if status.st_size else None


def _once(files: Iterable[LakeFile]) -> list[LakeFile]:
    """The files sorted; of several names for one local file, as links give it, the first."""
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
    """Raise SparkError if the JVM would silently leave out files whose names it cannot read."""
    query = "SELECT reflect('java.lang.System', 'getProperty', 'sun.jnu.encoding')"
    encoding = spark.sql(query).collect()[0][0]
    if encoding is not None and encoding.upper() not in ("UTF-8", "UTF8"):
        raise SparkError(
            f"local files: the JVM reads file names as {encoding}, expected UTF-8: "
            "set LC_ALL=C.UTF-8 before Spark is started"
        )


def _listed(spark: SparkSession, names: Sequence[str]) -> dict[str, LakeFile] | None:
    """The files that `names` stand for, by location; None if one of the names is missing."""
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
    # A glob for files takes them whatever their suffix, unless it takes all that is in a folder.
    globs = {
        located(name)
        for name in names
        if has_wildcard(name) and name.rpartition("/")[2].strip("*") != ""
    }
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


def _as_pattern(name: str) -> str:
    """A name as Spark takes it, in which no escape or current folder is taken for a wildcard."""
    if "://" in name:
        return _ESCAPED.sub(lambda escapes: _literal(_unescaped(escapes)), name)
    if _SCHEME.match(name):
        return name
    return _collapsed(os.path.join(_literal(os.getcwd()), name))


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


def _without_escapes(name: str) -> str:
    return _ESCAPED.sub(_unescaped, name) if "://" in name else name


def _unescaped(escapes: re.Match[str]) -> str:
    return unquote(escapes[0], errors="surrogateescape")


def _collapsed(path: str) -> str:
    """An absolute path without `//`, `/./`, `/../` and a slash at the end, as Hadoop has it."""
    return "/" + os.path.normpath(path).lstrip("/")


def _literal(name: str) -> str:
    """A glob for that name alone."""
    return re.sub(r"[][{}*?\\]", r"\\\g<0>", name)


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
