"""Replace an object in Google Cloud Storage.

    old object whole, then what is new   what is new is sent as a temporary object beside the old one,
                                         the store puts both together (compose), and the temporary
                                         object is deleted
    anything else, and small objects     sent as a whole: the store copies no part of an object

Either with ifGenerationMatch: the store answers 412 if the object is not the one that was read; and with
ifMetagenerationMatch, so that nothing is lost of what others say of it. Google honours both always. Other
servers are first asked to replace, on a condition that cannot hold, an object that is not there.
"""

from __future__ import annotations

import base64
import errno
import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.commit import (
    NOTHING,
    NewObject,
    ToldError,
    changed_meanwhile,
)
from parquet_bloom.storage.objects.conditions import check_conditions
from parquet_bloom.storage.objects.crc32c import joined
from parquet_bloom.storage.objects.gcs_client import (
    FAILURES,
    JSON_API,
    Client,
    Refused,
    failure,
    status_of,
)
from parquet_bloom.storage.objects.object_source import ObjectSource
from parquet_bloom.storage.objects.requests import ChangedError
from parquet_bloom.storage.objects.sending import Found, is_written
from parquet_bloom.storage.temporary_files import hidden_name

# What is not larger is sent as a whole. To put it together would take three requests.
WHOLE_BYTES: Final = 5 << 20
# What is sent at once, and held in memory meanwhile: a multiple of 256 KiB.
SENT_BYTES: Final = 32 << 20

# Of no object.
NO_GENERATION: Final = "1"

# What an object's resource says that a new one takes.
_KEPT: Final = (
    "cacheControl",
    "contentDisposition",
    "contentEncoding",
    "contentLanguage",
    "contentType",
    "customTime",
    "metadata",
    "storageClass",
)


class GoogleCommit:
    """A Commit."""

    def __init__(self, address: Address, old: ObjectSource, unconditional: bool) -> None:
        """Raises RewriteError, OSError if there are no such credentials."""
        self.address = address
        if old.generation is None:
            raise RewriteError(
                f"{address}: not changed in place: the store gives it no generation, by which to tell"
                " whether others have changed it"
            )
        self._generation = old.generation
        try:
            self._client = Client(address, old.traffic)
        except (*FAILURES, ValueError) as error:
            raise failure(address, error, NOTHING) from None
        self._is_conditional = self._client.is_google or not unconditional

    def check(self) -> None:
        if self._client.is_google or not self._is_conditional:
            return
        honours = partial(honours_conditions, self._client, self.address.key)
        try:
            check_conditions(self.address, self._client.endpoint, honours, "ifGenerationMatch")
        except FAILURES as error:
            raise failure(self.address, error, NOTHING) from None

    def commit(self, new: NewObject) -> None:
        try:
            _Replacing(self._client, new, self._generation, self._is_conditional).run()
        except ToldError:
            raise
        except ChangedError:
            raise changed_meanwhile(self.address) from None
        except FAILURES as error:
            if status_of(error) == 412:
                raise changed_meanwhile(self.address) from None
            raise failure(self.address, error, NOTHING) from None


def honours_conditions(client: Client, key: str) -> bool:
    """Whether the store refuses to replace an object that is not there; one that does not makes it,
    and it is removed. Raises FAILURES."""
    scratch = _beside(key)
    condition = {"ifGenerationMatch": NO_GENERATION}
    resource = {"name": scratch}
    is_refused = _is_refused(lambda: client.insert(resource, b"", condition))
    if is_refused:
        client.insert(resource, b"", {})
        sources = {"sourceObjects": [{"name": scratch}], "destination": {}}
        other = _beside(key)
        is_refused = _is_refused(lambda: client.compose(other, sources, condition))
        if not is_refused:
            client.delete(other, None)
    client.delete(scratch, None)
    return is_refused


def _is_refused(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except Refused as error:
        if error.status == 412:
            return True
        raise
    return False


def _beside(key: str) -> str:
    """The name of a temporary object."""
    folder, slash, name = key.rpartition("/")
    return f"{folder}{slash}{hidden_name(name)}"


class _Replacing:
    """One replacement. What it raises besides ToldError happened before the last request."""

    def __init__(
        self, client: Client, new: NewObject, generation: str, is_conditional: bool
    ) -> None:
        self._client, self._new, self._generation = client, new, generation
        self._is_conditional = is_conditional
        self._key = new.address.key

    def run(self) -> None:
        old = self._client.look(self._key)
        self._check_still(old)
        kept: dict[str, Any] = {name: old[name] for name in _KEPT if name in old}
        if contexts := old.get("contexts", {}).get("custom"):
            values = {name: {"value": each["value"]} for name, each in contexts.items()}
            kept["contexts"] = {"custom": values}
        # The key, not the version of it: the newest encrypts.
        key = old.get("kmsKeyName", "").partition("/cryptoKeyVersions/")[0]
        encryption = {"kmsKeyName": key} if key else {}
        condition = {}
        if self._is_conditional:
            condition = {
                "ifGenerationMatch": self._generation,
                "ifMetagenerationMatch": old["metageneration"],
            }
        # A temporary object could not be removed, either.
        is_retained = self._is_retained(old)
        if self._is_appended() and self._new.size > WHOLE_BYTES and not is_retained:
            self._append(old, kept, encryption, condition)
        else:
            resource = {"name": self._key} | kept
            sending = _Sending(self._client, self._new, resource, 0, encryption | condition)
            run = partial(sending.run, self._look_again)
            self._finish(run, sending.cancel, lambda: {"md5Hash": sending.md5})

    def _check_still(self, found: Mapping[str, Any]) -> None:
        if found["generation"] != self._generation:
            raise changed_meanwhile(self._new.address)

    def _look_again(self) -> None:
        """Right before the last request, where it has no condition."""
        if not self._is_conditional:
            self._check_still(self._client.look(self._key))

    def _is_retained(self, old: Mapping[str, Any]) -> bool:
        """Whether new objects of the bucket cannot be removed for some time. Raises RewriteError if
        this one cannot be replaced yet."""
        address = self._new.address
        if old.get("temporaryHold") or old.get("eventBasedHold"):
            raise RewriteError(f"{address}: not changed in place: it is under a hold")
        retention = old.get("retention", {}).get("retainUntilTime")
        times = [each for each in (old.get("retentionExpirationTime"), retention) if each]
        for until in times:
            if datetime.fromisoformat(until) > datetime.now(UTC):
                raise RewriteError(f"{address}: not changed in place: it is retained until {until}")
        return bool(times)

    def _is_appended(self) -> bool:
        """Whether the new version is the old one and an end."""
        first, *rest = self._new.pieces
        return bool(rest) and first.is_old and (first.start, first.end) == (0, self._new.old.size)

    def _append(
        self,
        old: Mapping[str, Any],
        kept: Mapping[str, Any],
        encryption: Mapping[str, str],
        condition: Mapping[str, str],
    ) -> None:
        """Put the old object and a temporary one together."""
        name = _beside(self._key)
        # Only objects of one storage class can be put together.
        resource = {name: kept[name] for name in {"storageClass"} & kept.keys()}
        if "eventBasedHold" in old:
            resource["eventBasedHold"] = False
        start = self._new.old.size
        sending = _Sending(self._client, self._new, resource | {"name": name}, start, encryption)
        temporary = _Temporary(self._client, name)
        try:
            end = sending.run(lambda: None, [])
            temporary.generation = end["generation"]
            sources: list[dict[str, Any]] = [
                {"name": self._key},
                {"name": name, "generation": end["generation"]},
            ]
            if condition:
                sources[0]["objectPreconditions"] = {"ifGenerationMatch": self._generation}
            crc32c = joined(old["crc32c"], end["crc32c"], int(end["size"]))
        except BaseException:
            sending.cancel()
            temporary.remove()
            raise
        request = {"sourceObjects": sources, "destination": kept}

        def compose(doubts: list[BaseException]) -> None:
            self._look_again()
            self._client.compose(self._key, request, {**encryption, **condition}, doubts)

        self._finish(compose, temporary.remove, lambda: {"crc32c": crc32c})
        if not temporary.remove():
            raise ToldError(
                errno.EIO,
                f"was written, but the temporary object {name} could not be removed"
                f" ({JSON_API.said(temporary.problem)})",
                str(self._new.address),
            )

    # --------------------------------------------------------------------------------------------
    # The last request, and what became of it

    def _finish(
        self,
        ask: Callable[[list[BaseException]], object],
        cancel: Callable[[], bool],
        expected: Callable[[], Mapping[str, str]],
    ) -> None:
        """`cancel`: whether nothing can come of the request any more. `expected`: what the store says
        of the new version's content."""
        doubts: list[BaseException] = []
        try:
            ask(doubts)
        except FAILURES:
            is_over = cancel()
            if doubts and self._is_there(expected(), doubts[0]):
                return
            if is_over or not doubts:
                raise
            raise ToldError(
                errno.EIO,
                f"no answer came to the last request ({JSON_API.said(doubts[0])}), which cannot be"
                " cancelled: so far nothing was written",
                str(self._new.address),
            ) from None
        except BaseException:
            cancel()
            raise

    def _is_there(self, expected: Mapping[str, str], doubt: BaseException) -> bool:
        """As is_written."""

        def found() -> Found:
            now = self._client.look(self._key)
            is_new = expected.items() <= now.items()
            is_old = now["generation"] == self._generation
            return Found(int(now["size"]), is_old, lambda: is_new)

        return is_written(self._new, found, doubt, JSON_API)


class _Sending:
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

    def run(self, before_last: Callable[[], None], doubts: list[BaseException]) -> dict[str, Any]:
        """What the store says of the object. `before_last`: done before the last request; `doubts`: as
        send, of that. Raises FAILURES."""
        size = self._new.size - self._start
        self._new.will_read([(self._start, self._new.size)])
        if size <= SENT_BYTES:
            body = self._new.read(self._start, self._new.size)
            self._md5.update(body)
            resource = {**self._resource, "md5Hash": self.md5}
            before_last()
            return self._client.insert(resource, body, self._parameters, doubts)
        self._upload = self._client.begin(self._resource, size, self._parameters)
        at = hashed = 0
        while True:
            end = min(at + SENT_BYTES, size)
            body = self._new.read(self._start + at, self._start + end)
            self._md5.update(body[hashed - at :])
            hashed = end
            doubts.clear()
            md5 = None
            if end == size:
                md5 = self.md5
                before_last()
            there, found = self._client.go_on(self._upload, at, body, size, md5, doubts)
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


class _Temporary:
    """A temporary object, which is there as soon as it may have been sent."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name
        self._is_there = True
        self.generation: str | None = None

    def remove(self) -> bool:
        """Whether it is not there any more; else there is a `problem`."""
        if self._is_there:
            try:
                self._client.delete(self._name, self.generation)
            except FAILURES as error:
                self.problem = error
                self._is_there = status_of(error) != 404
            else:
                self._is_there = False
        return not self._is_there
