"""The Parquet files of a lake, found by Spark with whatever credentials it has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from parquet_bloom.paths import SUFFIXES

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


def list_files(spark: SparkSession, names: Sequence[str]) -> tuple[list[LakeFile], list[str]]:
    """The Parquet files behind files, folders and globs, sorted and once each; and the names
    behind which there are none.

    Spark lists them, hidden and empty ones left out, and reads none. In folders a file is taken for
    Parquet if it is called so. A name with a scheme is a URI, as `inputFiles()` gives them.
    """
    files = _listed_at_all(spark, names)
    nothing = []
    if len(names) > 1:
        obvious = set(files).union(*(_parents(path) for path in files))
        for name in names:
            if opened_by_executors(name).rstrip("/") not in obvious:
                # A glob, or there is nothing.
                found = _listed(spark, [name]) or {}
                files |= found
                nothing += [] if found else [name]
    elif not files:
        nothing = list(names)
    return sorted(files.values(), key=lambda file: file.path), nothing


def _parents(path: str) -> Iterator[str]:
    """The folders above a file."""
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)


def _listed_at_all(spark: SparkSession, names: Sequence[str]) -> dict[str, LakeFile]:
    """The files behind those of `names` behind which there are any: Spark takes all or none of
    several, and so halves are tried."""
    files = _listed(spark, names)
    if files is not None:
        return files
    if len(names) < 2:
        return {}
    middle = len(names) // 2
    return _listed_at_all(spark, names[:middle]) | _listed_at_all(spark, names[middle:])


def _listed(spark: SparkSession, names: Sequence[str]) -> dict[str, LakeFile] | None:
    """The files behind all `names`; None if one of them is not there."""
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
    named = {opened_by_executors(name) for name in names}
    files = {}
    for path, size, modified in rows:
        file = LakeFile(_spelled_by_executors(path), size, modified.astimezone(UTC))
        if file.path in named or file.path.endswith(SUFFIXES):
            files[file.path] = file
    return files


# What is escaped in a URI; Spark, which gives URIs, does not take them.
_ESCAPED = re.compile("(?:%[0-9A-Fa-f]{2})+")


def _as_pattern(name: str) -> str:
    """A name as Spark takes it; what was escaped is no wildcard."""
    return _ESCAPED.sub(_protected, name) if "://" in name else name


def _protected(escapes: re.Match[str]) -> str:
    return re.sub(r"[][{}*?\\]", r"\\\g<0>", _unescaped(escapes))


def _unescaped(escapes: re.Match[str]) -> str:
    return unquote(escapes[0], errors="surrogateescape")


def opened_by_executors(name: str) -> str:
    """What executors open for a file or folder that somebody names."""
    return _spelled_by_executors(_ESCAPED.sub(_unescaped, name) if "://" in name else name)


def _spelled_by_executors(path: str) -> str:
    """A path of Spark's, in which nothing is escaped, as the operating system or, of a URL, pyarrow
    names it."""
    if path.startswith("file:/"):
        return "/" + path[6:].lstrip("/")
    if path.startswith("dbfs:/"):
        return "/dbfs/" + path[6:].lstrip("/")
    scheme, colon, rest = path.partition("://")
    if colon and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        return f"{_SCHEMES.get(scheme, scheme)}://{quote(rest, safe=_UNESCAPED)}"
    return path
