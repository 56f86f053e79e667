"""The Parquet files of a lake, found by Spark with whatever credentials it has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import unquote

from parquet_bloom.paths import SUFFIXES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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

    Spark lists them, hidden ones left out, and reads none. In folders a file is taken for Parquet
    if it is called so.
    """
    found = _listed(spark, names)
    if found is not None:
        return sorted(found.values(), key=lambda file: file.path), []
    # Spark takes all or none of several names.
    each = {name: _listed(spark, [name]) for name in names}
    files = {path: file for found in each.values() if found for path, file in found.items()}
    nothing = [name for name, found in each.items() if not found]
    return sorted(files.values(), key=lambda file: file.path), nothing


def _listed(spark: SparkSession, names: Sequence[str]) -> dict[str, LakeFile] | None:
    """The files behind all `names`; None if there are none behind one of them."""
    from pyspark.errors import AnalysisException

    if not all(names):
        return None
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        rows = reader.load(list(names)).select("path", "length", "modificationTime").collect()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
    named = {opened_by_executors(name) for name in names}
    files = {}
    for path, size, modified in rows:
        file = LakeFile(opened_by_executors(path), size, modified.astimezone(UTC))
        if file.path in named or file.path.endswith(SUFFIXES):
            files[file.path] = file
    return files or None


def opened_by_executors(path: str) -> str:
    """The same file as pyarrow and the operating system name it; Spark has names of Hadoop's."""
    if path.startswith("file:///"):
        return unquote(path[7:], errors="surrogateescape")
    if path.startswith("file:/"):
        return path[5:]
    if path.startswith("dbfs:/"):
        return "/dbfs/" + path[6:].lstrip("/")
    scheme, colon, rest = path.partition("://")
    if colon and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        return f"{_SCHEMES.get(scheme, scheme)}://{rest}"
    return path
