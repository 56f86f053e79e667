"""Objects that are sent to Google Cloud Storage: a new version or its end, and the temporary objects beside
it."""

from __future__ import annotations

import base64
import errno
import hashlib
from collections.abc import Mapping
from typing import Any, Final

from parquet_bloom.storage.objects.commit import NewObject
from parquet_bloom.storage.objects.gcs_client import FAILURES, Client, Last, status_of
from parquet_bloom.storage.temporary_files import hidden_name

# What is sent at once, and held in memory meanwhile: a multiple of 256 KiB.
SENT_BYTES: Final = 32 << 20


def beside(key: str) -> str:
    """The name of a temporary object."""
    folder, slash, name = key.rpartition("/")
    return f"{folder}{slash}{hidden_name(name)}"


class Sending:
    """The new version, from `start` on, as an object with a `resource`: in one request, or in parts."""

    def __init__(
        self,
        client: Client,
        new: NewObject,
        resource: Mapping[str, Any],
        start: int,
        parameters: Mapping[str, str],
    ) -> None:
        self._client, self._new, self._start = client, new, start
        self._resource, self._parameters = resource, parameters
        self._upload: str | None = None
        self._md5 = hashlib.md5(usedforsecurity=False)

    @property
    def md5(self) -> str:
        """Of what was sent so far, as Google writes it."""
        return base64.b64encode(self._md5.digest()).decode()

    def run(self, last: Last) -> dict[str, Any]:
        """What the store says of the object. `last`: of its last request. Raises FAILURES, and what
        `last` does."""
        size = self._new.size - self._start
        self._new.will_read([(self._start, self._new.size)])
        if size <= SENT_BYTES:
            body = self._new.read(self._start, self._new.size)
            self._md5.update(body)
            resource = {**self._resource, "md5Hash": self.md5}
            return self._client.insert(resource, body, self._parameters, last)
        self._upload = self._client.begin(self._resource, size, self._parameters)
        at = hashed = 0
        while True:
            end = min(at + SENT_BYTES, size)
            body = self._new.read(self._start + at, self._start + end)
            self._md5.update(body[hashed - at :])
            hashed = end
            is_last = end == size
            last.doubts.clear()
            there, found = self._client.go_on(
                self._upload,
                at,
                body,
                size,
                self.md5 if is_last else None,
                last if is_last else Last(),
            )
            if found:
                self._upload = None
                return found
            if not at < there <= end:
                raise OSError(
                    errno.EIO, f"the store has only {there} of {end} bytes that were sent"
                )
            at = there

    def cancel(self) -> bool:
        """Whether nothing can come of it any more. One request cannot be cancelled."""
        if self._upload is not None:
            try:
                self._client.cancel(self._upload)
            except FAILURES as error:
                return status_of(error) in (404, 410)
        return True


class Temporary:
    """A temporary object beside that of a `key`, which is there as soon as it may have been sent."""

    def __init__(self, client: Client, key: str) -> None:
        self._client, self.name = client, beside(key)
        self._is_there = True
        self._generation: str | None = None

    def made(self, said: dict[str, Any]) -> dict[str, Any]:
        """It is there, and the store has `said` this of it."""
        self._generation = said["generation"]
        return said

    def as_source(self) -> dict[str, Any]:
        """Of what is put together."""
        return {"name": self.name, "generation": self._generation}

    def remove(self) -> bool:
        """Whether it is not there any more; else there is a `problem`."""
        if self._is_there:
            try:
                self._client.delete(self.name, self._generation)
            except FAILURES as error:
                self.problem = error
                self._is_there = status_of(error) != 404
            else:
                self._is_there = False
        return not self._is_there
