"""Objects that are sent to Google Cloud Storage: a new version or its end, and the temporary objects beside
it."""

from __future__ import annotations

import base64
import errno
import hashlib
from collections.abc import Mapping
from typing import Any, Final

from parquet_bloom.storage.objects.adapter import NewObject
from parquet_bloom.storage.objects.gcs_client import GOOGLE, GoogleClient
from parquet_bloom.storage.objects.sending import Attempts

# What is sent at once, and held in memory meanwhile: a multiple of 256 KiB.
SENT_BYTES: Final = 32 << 20


class Sending:
    """The new version, from `start` on, as an object with a `resource`: in one request, or in parts."""

    def __init__(
        self,
        client: GoogleClient,
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

    def run(self, attempts: Attempts) -> dict[str, Any]:
        """What the store says of the object. `attempts`: of the last request. Raises GOOGLE's kinds, and
        what is raised before an attempt."""
        size = self._new.size - self._start
        self._new.will_read([(self._start, self._new.size)])
        if size <= SENT_BYTES:
            body = self._new.read(self._start, self._new.size)
            self._md5.update(body)
            resource = {**self._resource, "md5Hash": self.md5}
            return self._client.insert(resource, body, self._parameters, attempts)
        self._upload = self._client.begin(self._resource, size, self._parameters)
        at = hashed = 0
        while True:
            end = min(at + SENT_BYTES, size)
            body = self._new.read(self._start + at, self._start + end)
            self._md5.update(body[hashed - at :])
            hashed = end
            is_last = end == size
            attempts.doubts.clear()
            there, found = self._client.go_on(
                self._upload,
                at,
                body,
                size,
                self.md5 if is_last else None,
                attempts if is_last else None,
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
            except GOOGLE.kinds as error:
                return GOOGLE.status(error) in (404, 410)
        return True


class Temporary:
    """A temporary object, which is there as soon as it may have been sent."""

    def __init__(self, client: GoogleClient, name: str) -> None:
        self._client, self.name = client, name
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
            except GOOGLE.kinds as error:
                self.problem = error
                self._is_there = GOOGLE.status(error) != 404
            else:
                self._is_there = False
        return not self._is_there
