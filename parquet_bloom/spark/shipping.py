"""Sends the installed package to executors that lack it, in classic sessions and over Connect."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

from pyspark.sql import SparkSession

from parquet_bloom.errors import SparkError
from parquet_bloom.native import _kernel
from parquet_bloom.spark.versions import add_archive, session_given

# The setting that says what was shipped; `--conf` takes no name without the prefix.
_SETTING = "spark.parquet_bloom.archive"

# What the package needs and executors may lack; they must have pyarrow and numpy.
DEPENDENCIES = ("cramjam", "orjson", "thrift", "xxhash")

# What reads encrypted files, ORC files and object stores, if that is installed here.
OPTIONAL = ("cffi", "cryptography", "obstore", "protobuf")

# Not shipped: what the kernel is compiled from, and what Python makes itself.
_SOURCES = {".c", ".h", ".pxi", ".pyc", ".pyx"}

# The earliest time in a zip, for all files: when they were written must make no difference.
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def ship(spark: SparkSession) -> str:
    """Give the package as it is installed here, with its compiled kernel and the dependencies that
    executors may lack, to the executors of this session; returns the folder there that has it.

    Call it before the first job. The verbs put that folder first on the executors' path, so that
    they run this version whatever is installed there. The executors need the same Python and
    platform as this process, with pyarrow and numpy. Raises SparkError if files are missing.
    """
    archive, folder = _archive(_installed())
    if shipped(session_given(spark)) != folder:
        add_archive(spark, f"{archive}#{folder}")
        spark.conf.set(_SETTING, folder)
    return folder


def shipped(spark: SparkSession) -> str | None:
    """The folder on the executors in which `ship` put the package; None if it did not."""
    return spark.conf.get(_SETTING, None)


def _installed() -> dict[str, bytes]:
    """Every file to ship, by its name below the folder, sorted."""
    packages = (*DEPENDENCIES, *filter(_is_installed, OPTIONAL))
    found = {name: path for package in packages for name, path in _recorded(package)}
    # Not recorded by an editable install.
    root = Path(__file__).parents[1]
    ours = [path for path in root.rglob("*") if path.suffix not in _SOURCES and path.is_file()]
    for path in (*ours, Path(_kernel.__file__)):
        found[path.relative_to(root.parent).as_posix()] = path
    try:
        return {name: found[name].read_bytes() for name in sorted(found)}
    except OSError as error:
        raise SparkError(
            f"{error.filename}: is part of the installation, but: {error.strerror}"
        ) from None


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _recorded(package: str) -> Iterator[tuple[str, Path]]:
    """The files in the installer's record, except scripts, which are outside of the folder."""
    try:
        files = distribution(package).files
    except PackageNotFoundError:
        raise SparkError(f"{package}: is not installed, expected it to be shipped") from None
    if files is None:
        raise SparkError(f"{package}: its installation has no list of files, expected RECORD")
    for file in files:
        if ".." not in file.parts and file.suffix not in _SOURCES:
            yield file.as_posix(), Path(str(file.locate()))


def _archive(files: dict[str, bytes]) -> tuple[Path, str]:
    """A zip of `files`, and its name without the suffix: the same for the same files."""
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    folder = f"parquet_bloom-{digest.hexdigest()[:16]}"
    archive = _folder() / f"{folder}.zip"
    if not archive.exists():
        with zipfile.ZipFile(archive, "w") as zipped:
            for name, content in files.items():
                entry = zipfile.ZipInfo(name, _LONG_AGO)
                zipped.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return archive, folder


@cache
def _folder() -> Path:
    """A folder for as long as this process lives: executors that join later fetch from it, too."""
    folder = Path(tempfile.mkdtemp(prefix="parquet_bloom-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
