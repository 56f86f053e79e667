"""What a kind of store does so that its objects can be replaced; `replacement` has the steps.

Why not by obstore, which reads the objects? Its `put` takes the version that it replaces, and the request
has a condition that all three stores honour. That would do for a small object of which nothing special is
said. It does not do for others:

    the old bytes stay in the store. Parts are copied (S3, Azure), blocks are named again (Azure), objects
        are put together (Google). obstore has none of these: it sends an object whole
    the request that puts parts together has a condition, and so have the copies. obstore's uploads in
        parts and its `copy` have none
    what is said of an object is kept. obstore knows headers of the content, metadata, tags and the storage
        class; not access control lists, keys, locks, expiry, redirects, scopes, contexts or custom times,
        nor that somebody has changed an object's metadata (Google's metageneration)

So each store's own library replaces, small objects too: one way for each store.
"""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.failures import ChangeFailures
from parquet_bloom.storage.objects.object_source import ObjectSource
from parquet_bloom.storage.objects.pieces import NewObject
from parquet_bloom.storage.objects.sending import Attempts, Returned
from parquet_bloom.storage.temporary_files import hidden_name

VersionPart = TypeVar("VersionPart")

# Parts that are worked on at once.
AT_ONCE: Final = 4
# What is sent at once, and held in memory meanwhile: a multiple of 256 KiB, for Google.
SENT_BYTES: Final = 32 << 20

# Of no object.
NO_ETAG: Final = f'"{"0" * 32}"'


@dataclass(frozen=True, slots=True)
class ObjectState:
    """The object when it is looked at: its version, by the name that conditions take, its size, and all
    the `properties` that the store reports."""

    version: str | None
    size: int
    properties: Mapping[str, Any]


class OutcomeError(OSError):
    """Says what became of the object."""

    def __init__(self, address: Address, what: str) -> None:
        super().__init__(errno.EIO, what, str(address))


# What became of it, mostly.
NOTHING: Final = "nothing was written"


def changed_meanwhile(address: Address) -> RewriteError:
    return RewriteError(
        f"{address}: changed by another writer while it was read: {NOTHING}; try again"
    )


class Adapter(ABC):
    """One object of a kind of store, to be replaced once. All methods raise the kinds of `failures`."""

    failures: ChangeFailures
    # What the store calls the condition of a request that writes.
    condition: str = "If-Match"
    # Whether it is the cloud's own, which honours conditions; and where it is.
    is_own: bool
    endpoint: str
    # What is left behind, to say before what became of the object.
    left: str = ""
    # By which stores say that their objects have no tags.
    stores_without_tags: frozenset[str] = frozenset()

    def __init__(self, address: Address, old: ObjectSource, unconditional: bool) -> None:
        """`old` has read the object. Raises RewriteError for one that cannot be replaced, and the
        kinds of `failures`."""
        self.address, self.version = address, old.etag
        self._unconditional = unconditional

    @property
    def is_conditional(self) -> bool:
        """Whether nothing but the condition keeps others' versions safe: the store honours it, as is known
        or as it is asked first."""
        return self.is_own or not self._unconditional

    @abstractmethod
    def ignores_condition_in(self) -> str:
        """The request, in the store's word for it, that replaces an object that is not there, on a condition that
        cannot hold: what it makes is removed. Empty if the store refuses all of them."""

    @abstractmethod
    def state(self) -> ObjectState:
        """At the object, in one request."""

    @abstractmethod
    def assemble(self, new: NewObject, old: ObjectState) -> None:
        """Do all but the last request. Raises RewriteError, PermissionError if something that is said of
        the object would be lost."""

    @abstractmethod
    def finish(self, attempts: Attempts) -> str | None:
        """The last request, which replaces the object if it is still the version that was read. Returns
        the new one's ETag; None if the answer does not tell."""

    @abstractmethod
    def is_new(self, now: ObjectState) -> bool:
        """Whether an object of the right size is what the last request makes."""

    def cancel(self) -> str:
        """Let nothing come of what was assembled; why something still may, or nothing. Raises
        nothing."""
        return ""

    @abstractmethod
    def settle(self, error: BaseException | None) -> None:
        """In the end, when the object is the new version, or the old one because of an `error`. Raises
        what says more than that."""

    def refuses(self, ask: Callable[[], object]) -> bool:
        """Whether the store refuses a request whose condition cannot hold."""
        try:
            ask()
        except self.failures.kinds as error:
            if self.failures.is_unmet(error) or self.is_no_object(error):
                return True
            raise
        return False

    def is_no_object(self, error: Exception) -> bool:
        """Whether a store that refuses a condition on an object that is not there may say so by this."""
        return False

    def tags_by(
        self, ask: Callable[[], Returned], what: str, allow: str, may_have: bool = True
    ) -> Returned | None:
        """The answer to a request for `what` the object is tagged with; None if the store has no tags.
        Raises PermissionError, which says what to `allow`, if they would be lost: `may_have` some."""
        try:
            return ask()
        except self.failures.kinds as error:
            status = self.failures.status(error)
            if self.failures.code(error) in self.stores_without_tags or status in (405, 501):
                return None
            if status == 403 and not may_have:
                return None
            if status != 403:
                raise
            said = self.failures.summary(error)
            raise PermissionError(
                errno.EACCES, f"its {what} cannot be read and would be lost ({said}): {allow}"
            ) from None

    def all_of(
        self, work: Callable[[VersionPart], Returned], parts: Iterable[VersionPart]
    ) -> list[Returned]:
        """What `work` gives for each of some parts, in their order; some are worked on at once, and none
        any more once one has failed."""
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="pbloom-part") as threads:
            asked = [threads.submit(work, part) for part in parts]
            try:
                return [each.result() for each in asked]
            finally:
                threads.shutdown(cancel_futures=True)

    def beside(self) -> str:
        """A hidden key beside the object's, which nobody else has."""
        folder, slash, name = self.address.key.rpartition("/")
        return f"{folder}{slash}{hidden_name(name)}"
