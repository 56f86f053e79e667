"""Replace an object in Google Cloud Storage.

    old object whole, then what is new   what is new is sent as a temporary object beside the old one,
                                         the store puts both together (compose), and the temporary
                                         object is deleted
    anything else, and small objects     sent as a whole: the store copies no part of an object

Either with ifGenerationMatch: the store answers 412 if the object is not the one that was read; and with
ifMetagenerationMatch, so that nothing is lost of what others say of it. Google honours both always. Other
servers are first asked to replace, on a condition that cannot hold, an object that is not there.

Where nobody knows whether they are honoured (`unconditional`), both are sent nevertheless, and the old
object and its end are put together beside it first: if that is what it should be, it takes the place of
the object. So there is no moment at which the end comes after what others have written, nor one after
which it comes twice.
"""

from __future__ import annotations

import errno
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
    Last,
    Refused,
    failure,
    status_of,
)
from parquet_bloom.storage.objects.gcs_sending import Sending, Temporary, beside
from parquet_bloom.storage.objects.object_source import ObjectSource
from parquet_bloom.storage.objects.requests import ChangedError
from parquet_bloom.storage.objects.sending import Found, is_written

# What is not larger is sent as a whole. To put it together would take three requests.
WHOLE_BYTES: Final = 5 << 20

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
    scratch = beside(key)
    condition = {"ifGenerationMatch": NO_GENERATION}
    resource = {"name": scratch}
    is_refused = _is_refused(lambda: client.insert(resource, b"", condition))
    if is_refused:
        client.insert(resource, b"", {})
        sources = {"sourceObjects": [{"name": scratch}], "destination": {}}
        other = beside(key)
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


class _Replacing:
    """One replacement. What it raises besides ToldError happened before the last request."""

    def __init__(
        self, client: Client, new: NewObject, generation: str, is_conditional: bool
    ) -> None:
        """`is_conditional`: whether the store is known to honour conditions."""
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
        condition = {
            "ifGenerationMatch": self._generation,
            "ifMetagenerationMatch": old["metageneration"],
        }
        # A temporary object could not be removed, either.
        is_retained = self._is_retained(old)
        if self._is_appended() and self._new.size > WHOLE_BYTES and not is_retained:
            self._append(old, kept, encryption, condition)
        else:
            self._send(kept, encryption | condition)

    def _check_still(self, found: Mapping[str, Any]) -> None:
        if found["generation"] != self._generation:
            raise changed_meanwhile(self._new.address)

    def _look_again(self) -> None:
        """Right before each attempt of the last request, where its conditions may not be looked at."""
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

    # --------------------------------------------------------------------------------------------
    # As a whole

    def _send(self, kept: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        sending = Sending(self._client, self._new, {"name": self._key, **kept}, 0, parameters)
        self._finish(sending.run, sending.cancel, lambda: {"md5Hash": sending.md5})

    # --------------------------------------------------------------------------------------------
    # The old object, and an end

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
        # Only objects of one storage class can be put together.
        resource = {name: kept[name] for name in {"storageClass"} & kept.keys()}
        if "eventBasedHold" in old:
            resource["eventBasedHold"] = False
        end = Temporary(self._client, self._key)
        temporaries = [end]
        sending = Sending(
            self._client, self._new, resource | {"name": end.name}, self._new.old.size, encryption
        )
        try:
            said = end.made(sending.run(Last()))
            expected = {"crc32c": joined(old["crc32c"], said["crc32c"], int(said["size"]))}
            sources = [self._old_source(), end.as_source()]
            if not self._is_conditional:
                temporaries.append(whole := Temporary(self._client, self._key))
                request = {"sourceObjects": sources, "destination": resource}
                said = whole.made(self._client.compose(whole.name, request, encryption))
                if self._problem(said, expected):
                    raise changed_meanwhile(self._new.address)
                sources = [whole.as_source()]
        except BaseException as error:
            sending.cancel()
            _remove(temporaries)
            if status_of(error) == 404:
                # A generation that is gone, for which others have written another.
                self._check_still(self._client.look(self._key))
            raise
        request = {"sourceObjects": sources, "destination": kept}
        parameters = {**encryption, **condition}
        self._finish(
            lambda last: self._client.compose(self._key, request, parameters, last),
            lambda: _remove(temporaries) is None,
            lambda: expected,
        )
        if left := _remove(temporaries):
            raise ToldError(
                errno.EIO,
                f"was written, but the temporary object {left.name} could not be removed"
                f" ({JSON_API.said(left.problem)})",
                str(self._new.address),
            )

    def _old_source(self) -> dict[str, Any]:
        condition = {"ifGenerationMatch": self._generation}
        return {
            "name": self._key,
            "generation": self._generation,
            "objectPreconditions": condition,
        }

    # --------------------------------------------------------------------------------------------
    # The last request, and what became of it

    def _finish(
        self,
        ask: Callable[[Last], Mapping[str, Any]],
        cancel: Callable[[], bool],
        expected: Callable[[], Mapping[str, str]],
    ) -> None:
        """`cancel`: whether nothing can come of the request any more. `expected`: what the store says
        of the new version's content, besides its size."""
        last = Last(self._look_again)
        try:
            said = ask(last)
        except (*FAILURES, RewriteError) as error:
            is_over = cancel()
            if last.doubts and self._is_there(expected(), last.doubts[0]):
                return
            if is_over or not last.doubts:
                if status_of(error) == 404:
                    self._check_still(self._client.look(self._key))
                raise
            raise ToldError(
                errno.EIO,
                f"no answer came to the last request ({JSON_API.said(last.doubts[0])}), which cannot"
                " be cancelled: so far nothing was written",
                str(self._new.address),
            ) from None
        except BaseException:
            cancel()
            raise
        if problem := self._problem(said, expected()):
            cancel()
            raise ToldError(
                errno.EIO,
                f"was written, but is not what it should be: {problem}",
                str(self._new.address),
            )

    def _problem(self, said: Mapping[str, Any], expected: Mapping[str, str]) -> str:
        """How what the store says of an object differs from what was to be made; empty if it does not.
        Of objects that were put together, no store says an MD5."""
        for name, value in {"size": str(self._new.size), **expected}.items():
            if said.get(name, value) != value:
                return f"{name}: expected {value}, the store says {said[name]}"
        return ""

    def _is_there(self, expected: Mapping[str, str], doubt: BaseException) -> bool:
        """As is_written."""

        def found() -> Found:
            now = self._client.look(self._key)
            is_new = expected.items() <= now.items()
            is_old = now["generation"] == self._generation
            return Found(int(now["size"]), is_old, lambda: is_new)

        return is_written(self._new, found, doubt, JSON_API)


def _remove(temporaries: list[Temporary]) -> Temporary | None:
    """The last one that could not be removed."""
    left = [each for each in temporaries if not each.remove()]
    return left[-1] if left else None
