"""The suite: all cases, its files in a folder with a manifest, and the same as one archive.

manifest.json        what is in it: cases, writers' columns, the SHA-256 of each file
readers/GROUP/CASE/  plain.parquet, plain-damaged.parquet, filtered.parquet, filtered-damaged.parquet
writers/COLUMN.json  what is to be written
adapters/            programs that ask engines, and let them write
schema/              JSON Schemas of the manifest, of reports, of what is known of an engine, of badges
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shlex
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

from parquet_bloom.conformance.case import Case
from parquet_bloom.conformance.legal_cases import broken, encrypted, legal, unknown
from parquet_bloom.conformance.nested_cases import nested
from parquet_bloom.conformance.semantic_cases import semantics
from parquet_bloom.conformance.typed_cases import several, types
from parquet_bloom.conformance.written_columns import WrittenColumn, columns
from parquet_bloom.errors import ConfigError
from parquet_bloom.storage.paths import with_parent

# A minor version adds cases, a major one changes what is expected; ids are never used again.
VERSION: Final = "1.0"
NAME: Final = f"parquet-bloom-conformance-{VERSION}"
MANIFEST: Final = "manifest.json"
_SHIPPED: Final = ("adapters", "schema")


@cache
def cases() -> tuple[Case, ...]:
    """For readers, in the order of the groups."""
    groups = (legal, semantics, types, nested, several, encrypted, unknown, broken)
    return tuple(case for group in groups for case in group())


def suite_files(
    chosen: Sequence[Case] | None = None, told: Sequence[WrittenColumn] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Each file by its name, of all cases and columns or of some; the manifest comes last."""
    chosen = cases() if chosen is None else chosen
    told = columns() if told is None else told
    sums: dict[str, str] = {}
    for name, data in _files(chosen, told):
        sums[name] = hashlib.sha256(data).hexdigest()
        yield name, data
    document = {
        "version": VERSION,
        "specification": "https://github.com/apache/parquet-format/blob/master/BloomFilter.md",
        "cases": [case.document() for case in chosen],
        "columns": [column.document() for column in told],
        "sha256": dict(sorted(sums.items())),
    }
    yield MANIFEST, json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def _files(chosen: Sequence[Case], told: Sequence[WrittenColumn]) -> Iterator[tuple[str, bytes]]:
    # Some cases are about the same files.
    of_paths = {case.path(form): (case, form) for case in chosen for form in case.forms}
    for case, form in of_paths.values():
        yield from case.written(form).items()
    for column in told:
        yield column.path, column.data()
    for folder in _SHIPPED:
        for each in sorted(
            files(__package__).joinpath(folder).iterdir(), key=lambda each: each.name
        ):
            if each.is_file():
                yield f"{folder}/{each.name}", each.read_bytes()


def fetch(
    folder: Path, chosen: Sequence[Case] | None = None, told: Sequence[WrittenColumn] | None = None
) -> int:
    """Write the suite into a folder, which may not have anything in it; how many files. Raises ConfigError if
    it has; OSError."""
    check_new(folder)
    count = 0
    for name, data in suite_files(chosen, told):
        with_parent(folder / name).write_bytes(data)
        count += 1
    return count


def check_new(folder: Path) -> None:
    """Raise ConfigError for a folder that has anything in it; OSError."""
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder}: is not empty, expected a new folder")


def archive() -> bytes:
    """The same as one .tar.gz, whose bytes are the same everywhere."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in suite_files():
            entry = tarfile.TarInfo(f"{NAME}/{name}")
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), 9, mtime=0)


def _way_to_one(folder: Path) -> str:
    """`fetch` refuses a folder that has something else in it."""
    if folder.exists() and any(folder.iterdir()):
        return "expected a folder that `pbloom conformance fetch -o FOLDER` has written"
    return f"`pbloom conformance fetch -o {shlex.quote(str(folder))}` writes one"


def opened(folder: Path, what: Literal["cases", "columns"]) -> Mapping[str, Any]:
    """The manifest of a suite in a folder, in which the files of its cases, or of its columns, are what it says.
    Raises ConfigError; OSError."""
    path = folder / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_bytes())
        version, sums = str(manifest["version"]), dict(manifest["sha256"])
        for case in manifest["cases"]:
            _ = [case[key] for key in ("id", "about", "level", "use", "type", "key", "rows")]
            _ = [case["files"]["plain"], case["files"]["filtered"]]
            _ = [case["ask"][key] for key in ("op", "column", "stored", "literal")]
            _ = case["ask"]["sql"].get("*")
        for column in manifest["columns"]:
            _ = [column[key] for key in ("id", "about", "values", "rows", "is_float")]
    except FileNotFoundError:
        raise ConfigError(f"{folder}: no suite in it: {_way_to_one(folder)}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigError(f"{path}: is no manifest of a suite") from None
    if version.partition(".")[0] != VERSION.partition(".")[0]:
        raise ConfigError(f"{path}: version {version}, expected {VERSION}")
    asked = _paths(manifest[what])
    for name, expected in sums.items():
        is_asked = name in asked or name.rpartition("/")[0] in asked
        if is_asked and hashlib.sha256((folder / name).read_bytes()).hexdigest() != expected:
            raise ConfigError(f"{folder / name}: is not the file that the manifest names")
    return manifest


def _paths(documents: Iterable[Mapping[str, Any]]) -> set[str]:
    """The files, and folders of several, of cases or columns as the manifest has them."""
    of_columns = {each["values"] for each in documents if "values" in each}
    return of_columns.union(*(each["files"].values() for each in documents if "files" in each))
