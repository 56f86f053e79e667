"""What is in a folder of an object store, which is a prefix of keys: a few small listings."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import obstore

from parquet_bloom.storage.address import Address, Listed
from parquet_bloom.storage.local_output import Leftover, is_left
from parquet_bloom.storage.objects.requests import Result, ask, submit
from parquet_bloom.storage.objects.stores import store_of
from parquet_bloom.storage.traffic import Requests, Traffic

HEAD, LIST, PUT = Requests(head=1), Requests(list=1), Requests(put=1)


class ObjectFolder:
    """A prefix of whole segments."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._prefix = f"{key}/" if (key := address.key.strip("/")) else ""
        self._store = store_of(address)

    def has_folder(self, name: str) -> bool:
        """Raises OSError."""
        return next(self._pages(f"{self._prefix}{name}"), None) is not None

    def has_file(self, name: str) -> bool:
        """Raises OSError."""
        try:
            self._asked(HEAD, lambda: obstore.head(self._store, f"{self._prefix}{name}"))
        except FileNotFoundError:
            return False
        return True

    def names_in(self, name: str) -> list[str]:
        """The names in its folder `name`; none if there is no such folder. Raises OSError."""
        return [
            meta["path"].rpartition("/")[2]
            for page in self._pages(f"{self._prefix}{name}")
            for meta in page
        ]

    def leftovers(self, older_than: float) -> Iterator[Leftover]:
        """The leftovers in it of at least that many seconds. Raises OSError."""
        found = self._asked(LIST, lambda: obstore.list_with_delimiter(self._store, self._prefix))
        for meta in found["objects"]:
            key, size = meta["path"], meta["size"]
            if is_left(key.rpartition("/")[2], meta["last_modified"].timestamp(), older_than):
                place = self._address.found(key, Listed(size, meta["e_tag"]))
                yield Leftover(place, size, partial(self._remove, key))

    def _remove(self, key: str) -> None:
        """Raises OSError."""
        try:
            self._asked(PUT, lambda: obstore.delete(self._store, key))
        except PermissionError:
            raise PermissionError(
                errno.EACCES, "removing was refused", str(self._address)
            ) from None

    def _pages(self, prefix: str) -> Iterator[Any]:
        pages = iter(obstore.list(self._store, prefix))
        while page := self._asked(LIST, lambda: next(pages, None)):
            yield page

    def _asked(self, kind: Requests, work: Callable[[], Result]) -> Result:
        return submit(lambda: ask(self._address, kind, work, Traffic())).result()
