"""What is in a folder of an object store, which is a prefix of keys: a few small listings, and small
files that are read and made whole."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from math import ceil
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, BinaryIO, Final
from urllib.parse import quote

import obstore
from obstore.exceptions import AlreadyExistsError

from parquet_bloom.storage.address import UNESCAPED, Address, Listed
from parquet_bloom.storage.folder import Entry
from parquet_bloom.storage.objects.listing import check_is_store, list_below, list_beside
from parquet_bloom.storage.objects.requests import ask, submit
from parquet_bloom.storage.objects.sending import Returned
from parquet_bloom.storage.temporary_files import Leftover, is_left
from parquet_bloom.storage.traffic import GET, HEAD, LIST, PUT, Requests, Traffic, count

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore


# What is larger is sent in parts of this size.
_PART: Final = 5 << 20
# By which a store learns of an upload in parts, and that all have come. Azure only has to learn the latter.
_AROUND_PARTS: Final = {"az": 1}
_AROUND_PARTS_ELSEWHERE: Final = 2


class ObjectFolder:
    """A Folder; a prefix of whole segments."""

    def __init__(self, address: Address) -> None:
        self.path: str = address
        self._address = address
        self._prefix = f"{key}/" if (key := address.key.strip("/")) else ""
        self._traffic = Traffic()

    @property
    def requests(self) -> Requests:
        return self._traffic.requests

    def has_folder(self, name: str) -> bool:
        """Raises OSError."""
        prefix = f"{self._prefix}{name}"

        def first(store: ObjectStore) -> object:
            return next(iter(obstore.list(store, prefix)), None)

        return bool(self._asked(LIST, first))

    def has_file(self, name: str) -> bool:
        """Raises OSError."""
        try:
            self._asked(HEAD, lambda store: obstore.head(store, f"{self._prefix}{name}"))
        except FileNotFoundError:
            return False
        return True

    def names_in(self, name: str) -> list[str]:
        """The names in its folder `name`; none if there is no such folder. Raises OSError."""
        prefix = f"{self._prefix}{name}"
        found = list_below(self._address, prefix, self._traffic)
        return [meta["path"].rpartition("/")[2] for meta in found]

    def leftovers(self, older_than: float, deep: bool = False) -> Iterator[Leftover]:
        """The leftovers in it of at least that many seconds; `deep`: below it, too. Raises OSError."""
        listed = list_below if deep else list_beside
        metas = listed(self._address, self._prefix, self._traffic)
        if not metas:
            check_is_store(self._address)
        for meta in metas:
            key, size, since = meta["path"], meta["size"], meta["last_modified"].timestamp()
            if is_left(key.rpartition("/")[2], since, older_than):
                place = self._address.found(key, Listed(size, meta["e_tag"]))
                yield Leftover(place, size, since, partial(self._remove, place))

    def discard(self) -> None:
        """Remove all that is in it. Raises OSError."""
        for meta in list_below(self._address, self._prefix, self._traffic):
            self._remove(self._address.found(meta["path"]))

    def _remove(self, place: Address) -> None:
        """Raises OSError."""

        def delete(store: ObjectStore) -> None:
            obstore.delete(store, place.key)

        try:
            submit(lambda: ask(place, PUT, delete, Traffic())).result()
        except PermissionError:
            raise PermissionError(errno.EACCES, "removing was refused", str(place)) from None

    def entries(self, name: str) -> list[Entry]:
        found = list_beside(self._address, f"{self._prefix}{name}", self._traffic)
        if not found:
            check_is_store(self._address)
        return sorted(
            (
                Entry(
                    meta["path"].rpartition("/")[2],
                    meta["size"],
                    int(meta["last_modified"].timestamp() * 1000),
                )
                for meta in found
            ),
            key=lambda entry: entry.name,
        )

    def file_names(self, name: str) -> list[str]:
        """The names of the same."""
        return [entry.name for entry in self.entries(name)]

    def read(self, name: str) -> bytes:
        key = f"{self._prefix}{name}"
        data = self._asked(GET, lambda store: bytes(obstore.get(store, key).bytes()), name)
        count(self._traffic, Requests(bytes_down=len(data)))
        return data

    def put_if_absent(self, name: str, data: bytes) -> bool:
        key = f"{self._prefix}{name}"

        def put(store: ObjectStore) -> bool:
            try:
                obstore.put(store, key, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
            return True

        kind = PUT + Requests(bytes_up=len(data))
        # If an answer is lost and the request repeated, the file that is there may be this one.
        return self._asked(kind, put, name) or self.read(name) == data

    @contextmanager
    def making(self, name: str) -> Iterator[BinaryIO]:
        # A store wants to know how long an object is, or many requests for it.
        with TemporaryFile() as file:
            yield file
            size = file.tell()

            def put(store: ObjectStore) -> None:
                file.seek(0)
                obstore.put(store, f"{self._prefix}{name}", file, chunk_size=_PART)

            self._asked(self._to_send(size), put, name)

    def _to_send(self, size: int) -> Requests:
        """What it takes to send that many bytes."""
        if size <= _PART:
            return Requests(put=1, bytes_up=size)
        around = _AROUND_PARTS.get(self._address.store.name, _AROUND_PARTS_ELSEWHERE)
        return Requests(put=ceil(size / _PART) + around, bytes_up=size)

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._remove(self.path_of(name))

    def path_of(self, name: str) -> Address:
        key = quote(f"{self._prefix}{name}", safe=UNESCAPED)
        return self._address.other(f"{self._address.scheme}://{self._address.host}/{key}")

    def sizes_of(self, names: Sequence[str]) -> list[int | None]:
        """All of them are asked for at once, as far as requests may be."""
        return [each.result() for each in [submit(partial(self._size_of, name)) for name in names]]

    def _size_of(self, name: str) -> int | None:
        key = f"{self._prefix}{name}"

        def look(store: ObjectStore) -> ObjectMeta:
            return obstore.head(store, key)

        try:
            size: int = ask(self.path_of(name), HEAD, look, self._traffic)["size"]
        except FileNotFoundError:
            return None
        return size

    def _asked(
        self, kind: Requests, work: Callable[[ObjectStore], Returned], name: str = ""
    ) -> Returned:
        """The answer about `name` in it."""
        address = self.path_of(name) if name else self._address
        return submit(lambda: ask(address, kind, work, self._traffic)).result()
