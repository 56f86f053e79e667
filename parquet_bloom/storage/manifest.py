"""Manifests: files that list the files to work on, so that no folder or bucket has to be listed.

    text              one path or URL per line, or each ended by a zero byte, as `git diff -z` and `find -print0` do
    JSON lines        an object per line: {"path": …, "size": …, "etag": …, "modified": …}
    CSV, Parquet, ORC rows of an S3 Inventory, or with columns of these names, see `inventory`
    manifest.json     an S3 Inventory, of which it names the files

All may be compressed with gzip. The first bytes tell them apart, and the name, of which CSV ends in `.csv`
or `.csv.gz`. A manifest is read in batches: nothing of it is held but the files that somebody wants.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from parquet_bloom.errors import FormatError
from parquet_bloom.storage.address import Address, Listed
from parquet_bloom.storage.batch import Batch, moment_of
from parquet_bloom.storage.paths import Input
from parquet_bloom.storage.source import has_data_suffix, is_object, is_url, local_name
from parquet_bloom.storage.stream import decompressed, head_of

if TYPE_CHECKING:
    from typing import BinaryIO

    from parquet_bloom.storage.shard import Shard

# How many lines are read at a time. Of 10 million, batches of 1,000 to 100,000 take as long.
_BATCH: Final = 10_000
# Paths end well before that.
_START: Final = 1 << 16
# What PowerShell 5 writes has a zero byte in each character.
_OF_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")

_NOTHING: Final = Listed(None, None)

OfLine = TypeVar("OfLine")


def inputs_in(
    name: str,
    stream: BinaryIO,
    options: Mapping[str, str] | None = None,
    shard: Shard | None = None,
) -> list[Input]:
    """The files that a manifest lists, each once and in its order; `shard`: only those in it. Nobody looks
    whether they are there. The place of each is its whole path, below no root: files of two folders
    may have the same name.

    `name`: of the manifest, for messages. `options`: of object stores.

    Raises FormatError for a line or row that is none, with its number; OSError, also for a manifest that
    lists no file, and for a path that cannot be one.
    """
    found: dict[str, Input] = {}
    for paths, listed in batches_in(name, stream, options):
        for index, given in enumerate(paths):
            path = shown(given)
            if path in found or (shard is not None and not shard.takes(path)):
                continue
            if is_object(given):
                path = Address.of(given, options or {})
                path.listed = listed(index)
            found[path] = Input(path, _place(path))
    return list(found.values())


def batches_in(
    name: str, stream: BinaryIO, options: Mapping[str, str] | None = None
) -> Iterator[Batch]:
    """The files that a manifest lists, some at a time and in its order. Arguments and errors as for
    inputs_in."""
    is_empty = True
    try:
        for batch in _batches(name, stream, options):
            is_empty = is_empty and not batch.paths
            yield batch
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"{name}: not decompressed: {error}") from None
    if is_empty:
        raise FileNotFoundError(errno.ENOENT, "lists no files", name)


def shown(path: str) -> str:
    """As reports show it: without what must not be shown."""
    if not is_object(path):
        return path
    is_plain = path.partition("://")[0].islower() and "?" not in path and "@" not in path
    return path if is_plain else str(Address.of(path))


def _place(path: str) -> str:
    """The whole path, relative, and with nothing in it that leads out of a folder."""
    if isinstance(path, Address):
        return os.path.normpath(f"/{path.host}/{path.key}").lstrip("/")
    if is_url(path):
        return os.path.normpath(f"/{path.partition('://')[2]}").lstrip("/")
    place = os.path.normpath(local_name(path))
    if place.split(os.sep)[0] == os.pardir:
        place = os.path.abspath(place)
    return place.lstrip(os.sep)


# ------------------------------------------------------------------------------------------------
# What kind of manifest it is


def _batches(name: str, stream: BinaryIO, options: Mapping[str, str] | None) -> Iterator[Batch]:
    stream = decompressed(stream)
    head = head_of(stream)
    if head.startswith((b"PAR1", b"ORC")) or name.removesuffix(".gz").endswith(".csv"):
        from parquet_bloom.storage.inventory import batches_of_rows

        return batches_of_rows(name, stream, head)
    if has_data_suffix(name.removesuffix(".gz")):
        # Such as the page of an error, whose lines are no paths.
        raise FormatError(
            f"{name}: not a Parquet or ORC file, expected one, or another name for a list of paths"
        )
    start = stream.read(_START)
    if b"\0" in start:
        return map(_of_paths, _batched(_ended_by_zero(name, start, stream)))
    lines = _lines(start, stream)
    if not start.startswith(b"{"):
        return map(_of_paths, _batched(_paths(name, lines)))
    first = next(lines)
    if name.removesuffix(".gz").endswith(".json") and b'"path"' not in first:
        from parquet_bloom.storage.inventory import batches_of_inventory

        return batches_of_inventory(name, b"".join((first, *lines)), options)
    return map(_of_objects, _batched(_objects(name, chain([first], lines))))


def _lines(start: bytes, stream: BinaryIO) -> Iterator[bytes]:
    """Those of what was read already, and of what follows it."""
    *whole, rest = start.split(b"\n")
    yield from (line + b"\n" for line in whole)
    if rest := rest + stream.readline():
        yield rest
    yield from stream


def _batched(items: Iterator[OfLine]) -> Iterator[list[OfLine]]:
    while batch := list(islice(items, _BATCH)):
        yield batch


def _of_paths(paths: list[str]) -> Batch:
    return Batch(paths, lambda index: _NOTHING)


def _of_objects(objects: list[dict[str, Any]]) -> Batch:
    def listed(index: int) -> Listed:
        found = objects[index]
        return Listed(found.get("size"), found.get("etag"), moment_of(found.get("modified")))

    return Batch([found["path"] for found in objects], listed)


def _paths(name: str, lines: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        path = line.rstrip(b"\r\n")
        if not path.strip():
            continue
        if b"\0" in path:
            raise FormatError(f"{name}: line {number}: has a zero byte, expected a path")
        yield _decoded(path)


def _ended_by_zero(name: str, start: bytes, stream: BinaryIO) -> Iterator[str]:
    if start.startswith(_OF_UTF_16):
        raise FormatError(f"{name}: in UTF-16, expected UTF-8")
    *paths, rest = start.split(b"\0")
    yield from map(_decoded, filter(None, paths))
    while more := stream.read(_START):
        *paths, rest = (rest + more).split(b"\0")
        yield from map(_decoded, filter(None, paths))
    if rest:
        raise FormatError(f"{name}: has zero bytes, expected one behind each path, or none at all")


def _decoded(path: bytes) -> str:
    """As Python has the names of files, of which any may be."""
    return path.decode("utf-8", "surrogateescape")


def _objects(name: str, lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The objects, checked: a wrong one is told before anything is done."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            what = str(error).partition(": ")[0]
            raise FormatError(f"{name}: line {number}: expected JSON: {what}") from None
        problem = _problem(found)
        if problem is not None:
            raise FormatError(f"{name}: line {number}: {problem}")
        yield found


def _problem(found: Any) -> str | None:
    """What is wrong with what is said of a file."""
    if not isinstance(found, dict):
        return f"expected an object, found a {type(found).__name__}"
    path, size, etag = found.get("path"), found.get("size", 0), found.get("etag", "")
    if not isinstance(path, str) or not path.strip() or "\0" in path:
        return f"path: expected that of a file, found {path!r}"
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 0):
        return f"size: expected a number of bytes, found {size!r}"
    if etag is not None and not isinstance(etag, str):
        return f"etag: expected text, found {etag!r}"
    try:
        moment_of(found.get("modified"))
    except ValueError:
        return f"modified: expected a time in ISO 8601, found {found['modified']!r}"
    return None
