"""Replace an object by pieces of itself and a new end, without moving what stays.

What is new is collected in a local file and verified together with the old object. Then the store is
told to put both together, and to do so only if the object is still the one that was read:

    check      whether the store honours conditions, before anything is done
    look       is it still the version that was read? What is said of it?
    assemble   what stays is copied by the store, what is new is sent: no reader sees it yet
    finish     one last request, on the condition that nobody else has written
    look again if its answer was lost: did it replace the object?

Until the last request readers see the old version, and after it the new one. Whatever happens, what is
told is what became of the object. How each step is done is the store's: see `adapter`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Final, Self, cast
from urllib.parse import urlsplit

from parquet_bloom.errors import RewriteError, UnsafeStoreError
from parquet_bloom.storage import own_library
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.local_output import Output
from parquet_bloom.storage.objects.adapter import (
    NOTHING,
    Adapter,
    ObjectState,
    OutcomeError,
    changed_meanwhile,
)
from parquet_bloom.storage.objects.failures import ChangeFailures
from parquet_bloom.storage.objects.object_source import ObjectSource, version_named
from parquet_bloom.storage.objects.pieces import Composition, NewObject, Piece
from parquet_bloom.storage.objects.requests import ChangedError
from parquet_bloom.storage.objects.sending import Attempts
from parquet_bloom.storage.source import LocalSource, Source, naming


def adapter_of(address: Address) -> type[Adapter]:
    """Raises UnsupportedError without the store's own library."""
    _, name = address.store.adapter or ("", "")
    return cast(type[Adapter], own_library(address, name, "to be replaced"))


def _adapter_for(address: Address, old: ObjectSource, unconditional: bool) -> Adapter:
    """Raises UnsupportedError without the store's own library, RewriteError, OSError."""
    adapter = adapter_of(address)
    try:
        with reporting(address, adapter.failures):
            return adapter(address, old, unconditional)
    except ValueError as error:
        # Settings that its library does not take.
        raise adapter.failures.as_os_error(address, error, NOTHING) from None


@contextmanager
def reporting(
    address: Address, failures: ChangeFailures, became: Callable[[], str] = lambda: NOTHING
) -> Iterator[None]:
    """What fails within raises RewriteError if the object is another one by now, and else OSError; both
    say what `became` of the object."""
    try:
        yield
    except OutcomeError:
        raise
    except ChangedError:
        raise changed_meanwhile(address) from None
    except failures.kinds as error:
        if failures.is_unmet(error):
            raise changed_meanwhile(address) from None
        raise failures.as_os_error(address, error, became()) from None


# ------------------------------------------------------------------------------------------------
# Whether a store looks at the conditions of requests that write. One that does not would overwrite what
# others have written, so whoever does not know asks it to replace, on a condition that cannot hold, an
# object that is not there.

# In which request those that were asked do not look at it, by endpoint and bucket; and who is asking them.
_ignored_in: dict[tuple[str, str], str] = {}
_asking: Final[dict[tuple[str, str], Lock]] = {}


def check_conditions(
    address: Address, endpoint: str, ignored_in: Callable[[], str], condition: str = "If-Match"
) -> None:
    """`ignored_in`: asks the store; once for each bucket in this process. `condition`: as the store calls
    it. Raises UnsafeStoreError if it ignores that in a request, and what `ignored_in` raises."""
    place = endpoint, address.host
    # One of the threads that would ask the same at the same time; others need not wait for its answer.
    with _asking.setdefault(place, Lock()):
        if place not in _ignored_in:
            _ignored_in[place] = ignored_in()
    if request := _ignored_in[place]:
        raise UnsafeStoreError(
            f"{address}: not changed in place: the store at {urlsplit(endpoint).netloc} ignores"
            f" {condition} in {request}, so a concurrent write could be lost: if nobody else writes, use"
            " unconditional=True"
        )


# ------------------------------------------------------------------------------------------------


class Commit:
    """The steps of one replacement, whatever the store."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter, self._address = adapter, adapter.address
        self._failures = adapter.failures

    def check(self) -> None:
        """Before anything is done: raise UnsafeStoreError if the store may lose what others write."""
        adapter = self._adapter
        if adapter.is_conditional and not adapter.is_own:
            with reporting(self._address, self._failures):
                check_conditions(
                    self._address, adapter.endpoint, adapter.ignores_condition_in, adapter.condition
                )

    def run(self, new: NewObject) -> str | None:
        """Returns the new ETag, None if nobody tells. Raises RewriteError, OSError: see `reporting`."""
        adapter = self._adapter
        with reporting(self._address, self._failures, lambda: f"{adapter.left}{NOTHING}"):
            try:
                etag = self._replace(new)
            except BaseException as error:
                adapter.settle(error)
                raise
            adapter.settle(None)
            return etag

    def unchanged_state(self) -> ObjectState:
        """At the version that was read. Raises RewriteError if it is another one by now."""
        seen = self._adapter.state()
        if seen.version != self._adapter.version:
            raise changed_meanwhile(self._address)
        return seen

    def _replace(self, new: NewObject) -> str | None:
        old = self.unchanged_state()
        last = Attempts(self._look_again)
        try:
            self._adapter.assemble(new, old)
            return self._adapter.finish(last)
        except BaseException as error:
            still_open = self._adapter.cancel()
            if last.doubts and self._is_of_requests(error):
                if self._is_written(new, last.doubts[0]):
                    return None
                if still_open:
                    what = f"{still_open}: so far {NOTHING}"
                    raise self._no_answer(last.doubts[0], what) from None
            if self._failures.may_be_stale(error):
                self.unchanged_state()
            raise

    def _is_of_requests(self, error: BaseException) -> bool:
        """Not an interrupt, or what says more already."""
        kinds = (*self._failures.kinds, RewriteError)
        return isinstance(error, kinds) and not isinstance(error, OutcomeError)

    def _look_again(self) -> None:
        """Right before the last request, where its condition may not be looked at."""
        if not self._adapter.is_conditional:
            self.unchanged_state()

    def _is_written(self, new: NewObject, doubt: BaseException) -> bool:
        """Whether the object is the new version, or else the old one, after a last request that may have
        been done. Raises OutcomeError if nobody can say."""
        try:
            now = self._adapter.state()
            if now.version == self._adapter.version:
                return False
            if now.size == new.size and self._adapter.is_new(now):
                return True
            what = f"and the object has since become another one, of {now.size} bytes"
        except self._failures.kinds as error:
            what = (
                f"and the object cannot be examined ({self._failures.summary(error)}): it is either"
                " the"
                f" old version, of {new.old.size} bytes, or the new one, of {new.size} bytes"
            )
        raise self._no_answer(doubt, what)

    def _no_answer(self, doubt: BaseException, what: str) -> OutcomeError:
        said = self._failures.summary(doubt)
        return OutcomeError(
            self._address, f"there was no answer to the last request ({said}), {what}"
        )


class ObjectReplacement(Output):
    """An output that replaces the object that `old` has read. Its local file has no name, so that none
    is left behind."""

    def __init__(self, old: ObjectSource, prefix: int, unconditional: bool) -> None:
        address = old.address
        super().__init__(f"{address}: temporary file in {tempfile.gettempdir()}", prefix)
        if old.etag is None or old.etag.startswith("W/"):
            raise RewriteError(
                f"{address}: not changed in place: the store gives it no ETag, so a concurrent"
                " change could go unnoticed"
            )
        self._old = old
        self._steps = Commit(_adapter_for(address, old, unconditional))
        self._pieces = Composition()
        self._pieces.add(Piece(0, prefix, is_old=True))
        self._new_bytes = 0

    def __enter__(self) -> Self:
        # What it raises names the object, not the local file.
        self._steps.check()
        return super().__enter__()

    def _create(self) -> int:
        descriptor, name = tempfile.mkstemp(prefix="pbloom-")
        os.unlink(name)
        self.temporary = f"/dev/fd/{descriptor}"
        return descriptor

    def _clean_up(self, *, failed: bool) -> None:
        """The file has no name."""

    def copy_prefix(self, source: Source) -> None:
        """The store does."""

    def append(self, data: bytes | memoryview) -> int:
        offset = self.size
        self._pieces.add(self._written(data))
        self.size = self._pieces.size
        return offset

    def append_from(self, source: Source, start: int, end: int) -> None:
        if source is self._old:
            self._pieces.add(Piece(start, end, is_old=True))
            self.size = self._pieces.size
            return
        at = self._new_bytes
        self._copy(source, start, end - start, at)
        self._new_bytes += end - start
        self._pieces.add(Piece(at, self._new_bytes, is_old=False))
        self.size = self._pieces.size

    def will_append_from(self, source: Source, ranges: Iterable[tuple[int, int]]) -> None:
        """The store copies what is in the old version."""
        if source is not self._old:
            super().will_append_from(source, ranges)

    def erase(self, start: int, end: int) -> None:
        end = min(end, self.prefix)
        if start < end:
            self._pieces.replace(start, end, self._written(bytes(end - start)))

    def _written(self, data: bytes | memoryview) -> Piece:
        start = self._new_bytes
        self._write_at(start, data)
        self._new_bytes += memoryview(data).nbytes
        return Piece(start, self._new_bytes, is_old=False)

    def flush(self) -> None:
        """The local file is only read by this process."""

    def opened(self) -> Source:
        return NewObject(self._pieces, self._old, self._end())

    def _end(self) -> LocalSource:
        with naming(self._target):
            return LocalSource(self.temporary)

    def commit(self, replaced: Source | None = None) -> None:
        end = self._end()
        try:
            etag = self._steps.run(NewObject(self._pieces, self._old, end))
        finally:
            with suppress(OSError):
                end.close()
        if replaced is not None and etag is not None:
            replaced.successor = version_named(self.size, etag)
