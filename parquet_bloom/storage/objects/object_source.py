"""An object that is read in ranges. One request opens it, if any does: that for its last bytes, where the footer
is. Every other one is of the version that was opened, or fails."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Final

import obstore

from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.read_ahead import HELD_BYTES, PIECE_BYTES, Prefetch
from parquet_bloom.storage.objects.requests import (
    NoSuchRangeError,
    ask,
    changed,
    submit,
)
from parquet_bloom.storage.objects.stores import opened_store
from parquet_bloom.storage.source import changed as changed_before_writing
from parquet_bloom.storage.source import check_length
from parquet_bloom.storage.traffic import GET, HEAD, Requests, Traffic, count

if TYPE_CHECKING:
    from obstore import GetOptions, ObjectMeta, SuffixRange
    from obstore.store import ObjectStore

# Covers most footers, and filters in front of them.
TAIL_BYTES: Final = 256 << 10


class ObjectSource:
    """An object behind a URL, for several threads."""

    is_remote: Final = True
    held_ahead: Final = HELD_BYTES

    def __init__(self, address: Address, size: int | None = None) -> None:
        """`size`: of an object that is never replaced, whose last bytes are of no use by themselves: unless they are
        all of it, no request opens it. Raises OSError."""
        # As text, what may be shown.
        self.path: str = address
        self.address = address
        self.bytes_read = 0
        self.successor: str | None = None
        self.traffic = Traffic()
        self._counting = Lock()
        self._etag: str | None = None
        self._modified: datetime | None = None
        # The store's own name of the version that was opened, if it keeps several.
        self.generation: str | None = None
        self.size = 0
        # Where it is read from whatever the environment says later.
        self._store = submit(partial(opened_store, address)).result()
        if size is not None and size > TAIL_BYTES:
            self.size, tail = size, memoryview(b"")
        else:
            tail = submit(self._opened).result()
        self._tail, self._tail_start = tail, self.size - len(tail)
        self._ahead = Prefetch(self._get)

    @property
    def requests(self) -> Requests:
        return self.traffic.requests

    @property
    def version(self) -> str:
        """What changes with the content: size, and ETag or else the time of the last change."""
        return version_named(self.size, self._etag or self._modified)

    @property
    def etag(self) -> str | None:
        """As `If-Match` takes it; None if the store has none."""
        return self._etag

    def read_at(self, offset: int, length: int) -> bytes:
        check_length(self.path, offset, length, max(0, min(length, self.size - offset)))
        with self._counting:
            self.bytes_read += length
        parts = list(self._parts(offset, offset + length))
        return bytes(parts[0]) if len(parts) == 1 else b"".join(parts)

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Begin to fetch these ranges [start, end), in this order. Raises OSError."""
        self._ahead.will_read((start, min(end, self._tail_start)) for start, end in ranges)

    def window(self) -> ObjectSource:
        """Whoever reads small neighbours says so by `will_read`."""
        return self

    def check_unchanged(self) -> None:
        meta = submit(self._look).result()
        if self._version_in(meta) != (self.size, self._etag, self._modified):
            raise changed_before_writing(self.path, self.size, meta["size"])

    def check_one_version(self) -> None:
        """Every answer was of the version that was opened."""

    def close(self) -> None:
        self._ahead.close()

    # --------------------------------------------------------------------------------------------
    # From what is there

    def _parts(self, offset: int, end: int) -> Iterator[memoryview]:
        """The bytes [offset, end), as they are held or come."""
        while offset < end:
            if offset >= self._tail_start:
                start, held = self._tail_start, self._tail
            elif (found := self._ahead.at(offset)) is not None:
                start, held = found
            else:
                # Nobody said that this would be read.
                until = min(end, self._tail_start, self._ahead.next_start(offset) or end)
                yield from self._fetched(offset, until)
                offset = until
                continue
            part = held[offset - start : end - start]
            offset += len(part)
            yield part

    def _fetched(self, start: int, end: int) -> Iterator[memoryview]:
        cuts = [*range(start, end, PIECE_BYTES), end]
        asked = [submit(partial(self._get, *piece)) for piece in pairwise(cuts)]
        return (each.result() for each in asked)

    # --------------------------------------------------------------------------------------------
    # Requests, in threads of their own

    def _opened(self) -> memoryview:
        """The tail; what comes with it says which version this is."""
        listed = self.address.listed
        if listed is not None and listed.size is not None:
            self.size, self._etag = listed.size, quoted(listed.etag)
            try:
                return self._tail_of_known()
            except (FileNotFoundError, PermissionError):
                raise
            except OSError:
                # It was replaced since it was listed.
                self._etag = None
        if self.address.store.has_suffix_ranges:
            # Of an empty object there is no range.
            with suppress(NoSuchRangeError):
                return self._answer({"suffix": TAIL_BYTES}, None)
        self.size, self._etag, self._modified = self._version_in(self._head())
        return self._tail_of_known()

    def _tail_of_known(self) -> memoryview:
        if not self.size:
            return memoryview(b"")
        return self._answer((max(0, self.size - TAIL_BYTES), self.size), self.size)

    def _get(self, start: int, end: int) -> memoryview:
        try:
            return self._answer((start, end), self.size)
        except NoSuchRangeError:
            raise changed(self.address) from None

    def _answer(self, wanted: tuple[int, int] | SuffixRange, size: int | None) -> memoryview:
        """The bytes of one range; `size`: of the object, None if this answer tells."""
        options: GetOptions = {"range": wanted}
        if self._etag is not None and not self._etag.startswith("W/"):
            options["if_match"] = self._etag

        def got(store: ObjectStore) -> tuple[ObjectMeta, tuple[int, int], memoryview]:
            answer = obstore.get(store, self.address.key, options=options)
            # Before its bytes come: web servers do not look at If-Match, some stores neither.
            self._check_version(answer.meta, size)
            data = memoryview(answer.bytes())
            return answer.meta, answer.range, data

        meta, found, data = ask(self.address, GET, got, self.traffic, self._store)
        count(self.traffic, Requests(bytes_down=len(data)))
        self.generation = self.generation or meta["version"]
        if size is None:
            self.size, self._etag, self._modified = self._version_in(meta)
            wanted = max(0, self.size - TAIL_BYTES), self.size
        elif self._modified is None:
            _, etag, self._modified = self._version_in(meta)
            self._etag = self._etag or etag
        assert isinstance(wanted, tuple)
        if tuple(found) != wanted or len(data) != wanted[1] - wanted[0]:
            raise OSError(
                errno.EIO,
                f"asked for bytes {wanted[0]} to {wanted[1]}, got {found[0]} to {found[1]}, of"
                f" which {len(data)} arrived",
                self.path,
            )
        return data

    def _check_version(self, meta: ObjectMeta, size: int | None) -> None:
        if size is None:
            return
        found_size, etag, modified = self._version_in(meta)
        is_same = found_size == size and etag == (self._etag if self._etag else etag)
        if self._etag is None and self._modified is not None:
            is_same = is_same and modified == self._modified
        if not is_same:
            raise changed(self.address)

    def _look(self) -> ObjectMeta:
        """What is said of the object now."""
        if self.address.store.has_folders or not self.size:
            return self._head()
        # A signed URL is signed for GET alone.
        last = self.size - 1, self.size

        def got(store: ObjectStore) -> ObjectMeta:
            answer = obstore.get(store, self.address.key, options={"range": last})
            answer.bytes()
            return answer.meta

        try:
            return ask(self.address, GET, got, self.traffic, self._store)
        except NoSuchRangeError:
            raise changed(self.address) from None

    def _head(self) -> ObjectMeta:
        return ask(
            self.address,
            HEAD,
            lambda store: obstore.head(store, self.address.key),
            self.traffic,
            self._store,
        )

    def _version_in(self, meta: ObjectMeta) -> tuple[int, str | None, datetime]:
        return meta["size"], quoted(meta["e_tag"]), meta["last_modified"]


def version_named(size: int, since: object) -> str:
    """Source.version of an object of that ETag or, if it has none, that time of its last change."""
    return f"{size}:{since}"


def quoted(etag: str | None) -> str | None:
    """As If-Match takes it: in some listings it has no quotes."""
    return etag if etag is None or etag.startswith(('"', "W/")) else f'"{etag}"'


def version_told(size: int, etag: str | None, modified: object) -> str:
    """The version of an object, as a listing tells it, too."""
    return f"{size}:{quoted(etag) or modified}"
