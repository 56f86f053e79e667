"""Requests that change objects, sent by a store's own library: counted, repeated if their failure may
pass, and if the answer to the last one is lost, what became of the object."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from typing import Final, TypeVar

from parquet_bloom.dataclass import dataclass
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects import requests
from parquet_bloom.storage.objects.commit import NewObject, ToldError
from parquet_bloom.storage.objects.logs import unlogged
from parquet_bloom.storage.objects.requests import EXPIRED, count
from parquet_bloom.storage.traffic import Requests, Traffic

Answer = TypeVar("Answer")


# No such object, in the words of S3, Azure and Google.
_GONE: Final = {"404", "BlobNotFound", "NoSuchKey", "notFound"}


@dataclass(frozen=True, slots=True)
class Failures:
    """What the requests of a library fail with: exceptions of these `kinds`; the `status` of an answer,
    0 if there was none; the store's own word for the problem, or what else to call it in a message;
    whether the same request `may_pass`."""

    kinds: tuple[type[Exception], ...]
    status: Callable[[BaseException], int]
    code: Callable[[BaseException], str]
    may_pass: Callable[[BaseException], bool]

    def said(self, error: BaseException) -> str:
        """`412 PreconditionFailed`, or what broke."""
        # Nothing else of it: messages may hold signed URLs.
        code, status = self.code(error), self.status(error)
        return f"{status} {'' if code == str(status) else code}".rstrip() if status else code

    def told(self, address: Address, error: BaseException, what: str) -> OSError:
        """The OSError for one of them, which ends in `what` became of the object."""
        path, said = str(address), self.said(error)
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


def send(
    work: Callable[[], Answer],
    kind: Requests,
    traffic: Traffic,
    failures: Failures,
    doubts: list[BaseException] | None = None,
    before: Callable[[], object] = lambda: None,
) -> Answer:
    """What `work` returns, which sends one request of a `kind`. Raises one of the kinds of `failures`.
    `doubts`: gets failures of requests that the store may have done nevertheless. `before`: done before
    each attempt; what it raises ends them."""
    retry = Requests()
    for pause in (*requests.PAUSES, None):
        before()
        count(traffic, kind + retry)
        try:
            with unlogged():
                return work()
        except failures.kinds as error:
            if doubts is not None and not 400 <= failures.status(error) < 500:
                doubts.append(error)
            if pause is None or not failures.may_pass(error):
                raise
        time.sleep(pause)
        retry = Requests(retries=1)
    raise AssertionError


@dataclass(frozen=True, slots=True)
class Found:
    """The object, when it is looked at: its size, whether it is the old version, and how to tell whether
    it is the new one if it has its size."""

    size: int
    is_old: bool
    is_new: Callable[[], bool]


def is_written(
    new: NewObject, look: Callable[[], Found], doubt: BaseException, failures: Failures
) -> bool:
    """Whether the object is the new version, or else the old one, after a last request that may have
    been done. Raises ToldError if nobody can say."""
    try:
        found = look()
        if found.is_old:
            return False
        if found.size == new.size and found.is_new():
            return True
        what = f"and the object is another one by now, of {found.size} bytes"
    except failures.kinds as error:
        what = (
            f"and the object cannot be looked at ({failures.said(error)}): it is either the old"
            f" version, of {new.old.size} bytes, or the new one, of {new.size} bytes"
        )
    raise ToldError(
        errno.EIO,
        f"no answer came to the last request ({failures.said(doubt)}), {what}",
        str(new.address),
    )
