"""List objects: those in a folder, or those that a glob matches. A listing says the size and version
of each, so that to open one takes a single request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from glob import escape
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import obstore

from parquet_bloom.storage.address import Address, Listed
from parquet_bloom.storage.folder import Found
from parquet_bloom.storage.globs import matches
from parquet_bloom.storage.objects.object_source import version_told
from parquet_bloom.storage.objects.requests import ask, bucket_of, no_store, submit
from parquet_bloom.storage.source import has_wildcard, is_data_file, is_hidden, is_of_index
from parquet_bloom.storage.store_environment import find_endpoint
from parquet_bloom.storage.temporary_files import hidden_name
from parquet_bloom.storage.traffic import HEAD, LIST, Requests, Traffic, count

if TYPE_CHECKING:
    from obstore import ListResult, ObjectMeta
    from obstore.store import ObjectStore

    from parquet_bloom.storage.left_out import LeftOut

# Stores answer with so many at a time.
_PAGE = 1000

_ENCODED: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_ESCAPED: Final = re.compile(r"\[([*?[])\]")


def objects_in(folder: Address, left_out: LeftOut | None = None) -> list[tuple[Address, str]]:
    """The Parquet and ORC files below a folder, and their places in it, sorted; hidden ones are
    skipped. left_out: see paths.expand. Raises OSError."""
    key = folder.key.strip("/")
    start = f"{key}/" if key else ""
    found = []
    for meta in _listed(folder, key):
        place = meta["path"].removeprefix(start)
        if _is_wanted(place.split("/")):
            found.append((meta, place))
        elif left_out is not None and meta["size"]:
            left_out.add(str(folder.found(meta["path"])), place)
    return _without_marks(folder, found)


def objects_matching(
    pattern: Address, left_out: LeftOut | None = None
) -> list[tuple[Address, str]]:
    """The objects that a glob matches, and the Parquet and ORC files in folders that it matches;
    with their places below the folder in which the glob starts, or in the folder that was matched.
    Raises OSError."""
    return _without_marks(pattern, list(_matching(pattern, left_out)))


def one_deeper(pattern: Address) -> Address | None:
    """A Parquet or ORC file that a glob would match if its folders were as deep, among the first objects that the
    store lists. Raises OSError."""
    segments, fixed = _split(pattern)
    prefix = "/".join(_literal(each) for each in segments[:fixed])

    def first_page(store: ObjectStore) -> Sequence[ObjectMeta]:
        return next(iter(obstore.list(store, prefix or None, chunk_size=_PAGE)), ())

    for meta in submit(lambda: ask(pattern, LIST, first_page, Traffic())).result():
        names = meta["path"].split("/")[fixed:]
        if meta["size"] and _is_wanted(names) and fnmatchcase(names[-1], segments[-1]):
            return pattern.found(meta["path"])
    return None


def _without_marks(
    beside: Address, found: Sequence[tuple[ObjectMeta, str]]
) -> list[tuple[Address, str]]:
    """Without empty objects that are no data files by their names, or only mark a folder: their key ends with a
    slash, which the listing does not tell, or others are below, as some writers make it."""
    marks = {
        meta["path"]
        for meta, _ in found
        if not meta["size"]
        and (
            not is_data_file(meta["path"].rpartition("/")[2])
            or found_at(beside.found(meta["path"])) is None
        )
    }
    above = tuple(f"{meta['path']}/" for meta, _ in found if not meta["size"])
    if above:
        marks.update(
            *(_folders_above(meta["path"]) for meta, _ in found if meta["path"].startswith(above))
        )
    return [(_address(beside, meta), place) for meta, place in found if meta["path"] not in marks]


def _is_mark(beside: Address, meta: ObjectMeta) -> bool:
    """The same of one object, of whose neighbours nothing is known: whoever is empty is asked for,
    and what is below. Raises OSError."""
    if meta["size"]:
        return False
    if not is_data_file(meta["path"].rpartition("/")[2]):
        return True
    below = _listed_beside(beside, f"{meta['path']}/", Traffic())
    has_any = bool(below["objects"] or below["common_prefixes"])
    return has_any or found_at(beside.found(meta["path"])) is None


def _folders_above(key: str) -> Iterator[str]:
    return (key[:at] for at, character in enumerate(key) if character == "/")


def _matching(
    pattern: Address, left_out: LeftOut | None = None
) -> Iterator[tuple[ObjectMeta, str]]:
    """The same, each with what the listing says. What `left_out` takes is in a folder that the glob matches."""
    segments, fixed = _split(pattern)
    is_of_folder = matches([], segments[fixed:])
    for meta in _listed(pattern, "/".join(_literal(each) for each in segments[:fixed])):
        names = meta["path"].split("/")
        skipped = "/".join(names[fixed:]) if is_of_folder else ""
        for length in range(fixed + 1, len(names) + 1):
            if not matches(names[fixed:length], segments[fixed:]):
                continue
            below = names[length:]
            if (below and not _is_wanted(below)) or is_of_index(names[-1]):
                skipped = skipped or "/".join(below)
                continue
            yield meta, "/".join(below) if below else names[-1]
            break
        else:
            if skipped and left_out is not None and meta["size"]:
                left_out.add(str(pattern.found(meta["path"])), skipped)


def _split(pattern: Address) -> tuple[list[str], int]:
    """The segments of a glob, and how many come before those with wildcards."""
    # A glob is not percent-encoded throughout: `[` and `*` are its own.
    raw = pattern.partition("://")[2].partition("/")[2]
    segments = _ENCODED.sub(lambda each: escape(unquote(each[0])), raw).strip("/").split("/")
    wild = (number for number, each in enumerate(segments) if has_wildcard(_literal(each, "")))
    return segments, next(wild, len(segments) - 1)


def _literal(segment: str, wildcard: str = r"\1") -> str:
    """A segment of a glob, with each escaped wildcard as it is in a name."""
    return _ESCAPED.sub(wildcard, segment)


def _is_wanted(segments: Sequence[str]) -> bool:
    return is_data_file(segments[-1]) and not any(map(is_hidden, segments))


def _listed(address: Address, prefix: str) -> list[ObjectMeta]:
    """The objects below a prefix, which is whole segments, sorted."""
    metas = list_below(address, prefix, Traffic())
    if not metas:
        check_is_store(address)
    return sorted(metas, key=lambda meta: meta["path"])


def _address(beside: Address, meta: ObjectMeta) -> Address:
    return beside.found(meta["path"], Listed(meta["size"], meta["e_tag"], meta["last_modified"]))


def found_at(address: Address) -> Found | None:
    """The object with this URL; None if there is none. Raises OSError."""

    def look(store: ObjectStore) -> ObjectMeta:
        return obstore.head(store, address.key)

    try:
        return _as_found(address, submit(partial(ask, address, HEAD, look, Traffic())).result())
    except FileNotFoundError:
        return None
    except PermissionError:
        # Only other answers than that to HEAD have a body, which may say more: that the key is wrong.
        _listed_beside(address, f"{address.key}/", Traffic())
        raise


def found_matching(pattern: Address) -> Iterator[Found]:
    """As objects_matching, without hidden ones."""
    for meta, _ in _matching(pattern):
        name = meta["path"].rpartition("/")[2]
        if not (is_hidden(name) or _is_mark(pattern, meta)):
            yield _as_found(pattern, meta)


def found_in(folder: Address) -> tuple[list[Found], list[str]]:
    """The data files directly in a folder, and the folders in it, both sorted. Raises OSError."""
    key = folder.key.strip("/")
    prefix = f"{key}/" if key else ""
    listed = _listed_beside(folder, prefix or None, Traffic())
    names = sorted(each.strip("/") for each in listed["common_prefixes"])
    if not (names or listed["objects"]):
        check_is_store(folder)
    folders: list[str] = [
        folder.found(name) for name in names if not is_hidden(name.rpartition("/")[2])
    ]
    return _found(folder, prefix, listed["objects"]), folders


def found_below(folder: Address) -> Iterator[Found]:
    """The data files below a folder, page by page. Raises OSError."""
    key = folder.key.strip("/")
    prefix = f"{key}/" if key else ""
    last: str | None = None

    def page(store: ObjectStore) -> Sequence[ObjectMeta]:
        listed = obstore.list(store, prefix or None, offset=last, chunk_size=_PAGE)
        return next(iter(listed), ())

    while True:
        metas = submit(partial(ask, folder, LIST, page, Traffic())).result()
        if not metas and last is None:
            check_is_store(folder)
        yield from _found(folder, prefix, metas)
        # obstore fills pages, all but the last one.
        if len(metas) < _PAGE:
            return
        last = max(meta["path"] for meta in metas)


def _found(folder: Address, prefix: str, metas: Iterable[ObjectMeta]) -> list[Found]:
    """Those of the objects that are data files, sorted."""
    return [
        _as_found(folder, meta)
        for meta in sorted(metas, key=lambda meta: meta["path"])
        if _is_wanted(meta["path"].removeprefix(prefix).split("/")) and not _is_mark(folder, meta)
    ]


def _as_found(beside: Address, meta: ObjectMeta) -> Found:
    size, changed = meta["size"], meta["last_modified"]
    path = beside.found(meta["path"])
    return Found(path, size, version_told(size, meta["e_tag"], changed), changed.timestamp())


# The buckets, each at its place, in which not everything is there that is asked for.
_stores: Final[set[tuple[tuple[str | None, ...], str]]] = set()


def check_is_store(address: Address) -> None:
    """Where a listing is empty: raise OSError if whatever is asked for is there, or nobody says. obstore takes any
    XML for a listing, so a web server at an endpoint, or a page that asks to log in, would be an empty folder."""
    bucket = bucket_of(address)
    if bucket in _stores or find_endpoint(address.store, address.options) is None:
        return
    folder = address.other(f"{address.scheme}://{address.host}")
    try:
        is_there = found_at(folder.found(hidden_name("nothing"))) is not None
    except PermissionError:
        # Whoever refuses has looked at what was asked.
        is_there = False
    except OSError as error:
        # It is there, and nothing is said of it.
        is_there = "Header missing" in str(error)
        if not is_there:
            raise OSError(error.errno, error.strerror, str(address)) from None
    if is_there:
        raise no_store(address, "404 for a key that is in none, found 200")
    _stores.add(bucket)


def list_below(address: Address, prefix: str, traffic: Traffic) -> Sequence[ObjectMeta]:
    """All objects whose keys begin with the whole segments of `prefix`. Raises OSError that names
    `address`."""

    def all_pages(store: ObjectStore) -> Sequence[ObjectMeta]:
        # From the start if one fails: a listing must not lack what a page had.
        return obstore.list(store, prefix or None, chunk_size=_PAGE).collect()

    metas = submit(lambda: ask(address, LIST, all_pages, traffic)).result()
    _count_pages(len(metas), traffic)
    return metas


def list_beside(address: Address, prefix: str, traffic: Traffic) -> Sequence[ObjectMeta]:
    """The same, without those in folders there."""
    return _listed_beside(address, prefix, traffic)["objects"]


def _listed_beside(
    address: Address, prefix: str | None, traffic: Traffic
) -> ListResult[Sequence[ObjectMeta]]:
    def all_pages(store: ObjectStore) -> ListResult[Sequence[ObjectMeta]]:
        return obstore.list_with_delimiter(store, prefix)

    found = submit(lambda: ask(address, LIST, all_pages, traffic)).result()
    _count_pages(len(found["objects"]) + len(found["common_prefixes"]), traffic)
    return found


def _count_pages(num_found: int, traffic: Traffic) -> None:
    """All but the first, which was counted when it was asked for."""
    count(traffic, Requests(list=max(0, num_found - 1) // _PAGE))
