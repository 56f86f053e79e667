"""Requests that change objects, sent by a store's own library: counted, and repeated if their failure may
pass."""

from __future__ import annotations

import errno
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field
from typing import Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects import requests
from parquet_bloom.storage.objects.logs import unlogged
from parquet_bloom.storage.objects.requests import EXPIRED, TEMPORARY, Returned, count
from parquet_bloom.storage.traffic import Requests, Traffic

# No such object, in the words of S3, Azure and Google.
_GONE: Final = {"404", "BlobNotFound", "NoSuchKey", "notFound"}


class Failures(ABC):
    """What the requests of a library fail with: exceptions of these `kinds`."""

    kinds: tuple[type[Exception], ...]

    @abstractmethod
    def status(self, error: BaseException) -> int:
        """The status of the answer; 0 if none came."""

    @abstractmethod
    def code(self, error: BaseException) -> str:
        """The store's word for the problem, or the name of the exception."""

    @abstractmethod
    def is_broken(self, error: BaseException) -> bool:
        """Whether no answer came, but one may come to the same request."""

    def may_pass(self, error: BaseException) -> bool:
        """Whether the same request may succeed."""
        status = self.status(error)
        return status in TEMPORARY if status else self.is_broken(error)

    def is_unmet(self, error: BaseException) -> bool:
        """Whether a condition does not hold: the object is another one by now."""
        return self.status(error) == 412

    def may_be_stale(self, error: BaseException) -> bool:
        """Whether the object may be another one by now, which a look at it tells."""
        return False

    def summary(self, error: BaseException) -> str:
        """`412 PreconditionFailed`, or what broke."""
        # Nothing else of it: messages may hold signed URLs.
        code, status = self.code(error), self.status(error)
        return f"{status} {'' if code == str(status) else code}".rstrip() if status else code

    def as_os_error(self, address: Address, error: BaseException, what: str) -> OSError:
        """The OSError for one of them, which ends in `what` became of the object."""
        path, said = str(address), self.summary(error)
        status, code = self.status(error), self.code(error)
        if isinstance(error, OSError) and not status:
            kind = type(error) if type(error) in (PermissionError, FileNotFoundError) else OSError
            return kind(error.errno or errno.EIO, f"{error.strerror or error}; {what}", path)
        if code in EXPIRED:
            return PermissionError(
                errno.EACCES, f"the credentials have expired ({said}): renew them; {what}", path
            )
        if status in (401, 403):
            return PermissionError(errno.EACCES, f"writing was refused ({said}); {what}", path)
        if status == 404 and code in _GONE:
            return FileNotFoundError(errno.ENOENT, f"is no longer there; {what}", path)
        if status:
            return OSError(errno.EIO, f"the store answered {said}; {what}", path)
        return OSError(errno.EIO, f"no answer: {said}; {what}", path)


@dataclass(frozen=True, slots=True)
class Attempts:
    """Of one request. `before`: done before each, whose errors end them; `doubts`: gets the failures of
    those that the store may have done nevertheless."""

    before: Callable[[], None] = lambda: None
    doubts: list[BaseException] = field(default_factory=list)


def send(
    work: Callable[[], Returned],
    kind: Requests,
    traffic: Traffic,
    failures: Failures,
    attempts: Attempts | None = None,
) -> Returned:
    """What `work` returns, which sends one request of a `kind`. Raises one of the kinds of `failures`, and
    what is raised before an attempt."""
    attempts = attempts or Attempts()
    retry = Requests()
    for pause in (*requests.PAUSES, None):
        attempts.before()
        count(traffic, kind + retry)
        try:
            with unlogged():
                return work()
        except failures.kinds as error:
            if not 400 <= failures.status(error) < 500:
                attempts.doubts.append(error)
            if pause is None or not failures.may_pass(error):
                raise
        time.sleep(pause)
        retry = Requests(retries=1)
    raise AssertionError
