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

import base64
import errno
import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.adapter import (
    SENT_BYTES,
    Adapter,
    ObjectState,
    OutcomeError,
    changed_meanwhile,
)
from parquet_bloom.storage.objects.gcs_client import GOOGLE, GoogleClient, Resource
from parquet_bloom.storage.objects.object_source import ObjectSource
from parquet_bloom.storage.objects.pieces import NewObject
from parquet_bloom.storage.objects.sending import Attempts

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

# Of CRC-32C: Castagnoli's polynomial, its bits reversed; and the polynomial 1.
_POLYNOMIAL: Final = 0x82F63B78
_ONE: Final = 1 << 31


class GoogleAdapter(Adapter):
    failures = GOOGLE
    condition = "ifGenerationMatch"

    def __init__(self, address: Address, old: ObjectSource, unconditional: bool) -> None:
        super().__init__(address, old, unconditional)
        self.version = old.generation
        if self.version is None:
            raise RewriteError(
                f"{address}: not changed in place: the store gives it no generation, so a"
                " concurrent change could go unnoticed"
            )
        self._client = GoogleClient(address, old.traffic)
        self.endpoint, self.is_own = self._client.endpoint, self._client.is_google
        self._sending: Sending | None = None
        self._temporaries: list[Temporary] = []

    def ignores_condition_in(self) -> str:
        scratch = self.beside()
        condition = {"ifGenerationMatch": NO_GENERATION}
        resource = {"name": scratch}
        request = ""
        if self.refuses(lambda: self._client.insert(resource, b"", condition)):
            self._client.insert(resource, b"", {})
            sources = {"sourceObjects": [{"name": scratch}], "destination": {}}
            other = self.beside()
            if not self.refuses(lambda: self._client.compose(other, sources, condition)):
                self._client.delete(other, None)
                request = "objects.compose"
        else:
            request = "objects.insert"
        self._client.delete(scratch, None)
        return request

    def state(self) -> ObjectState:
        found = self._client.describe(self.address.key)
        return ObjectState(found["generation"], int(found["size"]), found)

    def assemble(self, new: NewObject, old: ObjectState) -> None:
        self._new = new
        kept = _kept(old.properties)
        # The key, not the version of it: the newest encrypts.
        key = old.properties.get("kmsKeyName", "").partition("/cryptoKeyVersions/")[0]
        self._encryption = {"kmsKeyName": key} if key else {}
        condition = {
            "ifGenerationMatch": str(self.version),
            "ifMetagenerationMatch": old.properties["metageneration"],
        }
        parameters = self._encryption | condition
        # A temporary object could not be removed, either.
        is_retained = self._is_retained(old.properties)
        if new.size > WHOLE_BYTES and not is_retained and self._is_appended():
            self._append(old.properties, kept, parameters)
        else:
            whole = {"name": self.address.key, **kept}
            self._sending = sending = Sending(self._client, new, whole, 0, parameters)
            self._last: Callable[[Attempts], Resource] = sending.run
            self._expected: Callable[[], Mapping[str, str]] = lambda: {"md5Hash": sending.md5}

    def finish(self, attempts: Attempts) -> None:
        # The answer has another ETag than those by which objects are read.
        if problem := self._problem(self._last(attempts)):
            raise OutcomeError(self.address, f"was written, but not correctly: {problem}")

    def is_new(self, now: ObjectState) -> bool:
        return self._expected().items() <= now.properties.items()

    def cancel(self) -> str:
        is_over = self._sending is None or self._sending.cancel()
        return "" if not self._left_over() and is_over else "which cannot be cancelled"

    def settle(self, error: BaseException | None) -> None:
        if error is None and (left := self._left_over()):
            raise OutcomeError(
                self.address,
                f"was written, but the temporary object {left.name} could not be removed"
                f" ({GOOGLE.summary(left.problem)})",
            )

    def _left_over(self) -> Temporary | None:
        """The last of the temporary objects that cannot be removed."""
        left = [each for each in self._temporaries if not each.remove()]
        return left[-1] if left else None

    def _is_retained(self, said: Mapping[str, Any]) -> bool:
        """Whether new objects of the bucket cannot be removed for some time. Raises RewriteError if
        this one cannot be replaced yet."""
        refused = f"{self.address}: not changed in place: it is"
        if said.get("temporaryHold") or said.get("eventBasedHold"):
            raise RewriteError(f"{refused} under a hold")
        retention = said.get("retention", {}).get("retainUntilTime")
        times = [each for each in (said.get("retentionExpirationTime"), retention) if each]
        for until in times:
            if datetime.fromisoformat(until) > datetime.now(UTC):
                raise RewriteError(f"{refused} retained until {until}")
        return bool(times)

    def _problem(self, said: Resource) -> str:
        """How what the store says of an object differs from what was to be made; empty if it does not.
        Of objects that were put together, no store says an MD5."""
        for name, value in {"size": str(self._new.size), **self._expected()}.items():
            if said.get(name, value) != value:
                return f"{name}: expected {value}, the store says {said[name]}"
        return ""

    # --------------------------------------------------------------------------------------------
    # The old object, and an end

    def _is_appended(self) -> bool:
        """Whether the new version is the old one and an end."""
        first, *rest = self._new.pieces
        return bool(rest) and first.is_old and (first.start, first.end) == (0, self._new.old.size)

    def _append(
        self,
        old: Mapping[str, Any],
        kept: Resource,
        parameters: Mapping[str, str],
    ) -> None:
        """Send the end as a temporary object, to be put together with the old one."""
        # Only objects of one storage class can be put together.
        resource = {name: kept[name] for name in {"storageClass"} & kept.keys()}
        if "eventBasedHold" in old:
            resource["eventBasedHold"] = False
        end = self._temporary()
        self._sending = Sending(
            self._client,
            self._new,
            resource | {"name": end.name},
            self._new.old.size,
            self._encryption,
        )
        said = end.made(self._sending.run(Attempts()))
        expected = {"crc32c": joined_crc32c(old["crc32c"], said["crc32c"], int(said["size"]))}
        self._expected = lambda: expected
        sources = [self._old_source(), end.as_source()]
        if not self.is_conditional:
            whole = self._temporary()
            request = {"sourceObjects": sources, "destination": resource}
            if self._problem(
                whole.made(self._client.compose(whole.name, request, self._encryption))
            ):
                raise changed_meanwhile(self.address)
            sources = [whole.as_source()]
        request = {"sourceObjects": sources, "destination": kept}
        self._last = partial(self._client.compose, self.address.key, request, parameters)

    def _temporary(self) -> Temporary:
        self._temporaries.append(made := Temporary(self._client, self.beside()))
        return made

    def _old_source(self) -> Resource:
        return {"name": self.address.key, "generation": self.version}


def _kept(said: Mapping[str, Any]) -> Resource:
    """What is said of an object, which a new version is told again."""
    kept: Resource = {name: said[name] for name in _KEPT if name in said}
    if contexts := said.get("contexts", {}).get("custom"):
        values = {name: {"value": each["value"]} for name, each in contexts.items()}
        kept["contexts"] = {"custom": values}
    return kept


# ------------------------------------------------------------------------------------------------
# CRC-32C as Google writes it: base64 of four bytes, the highest first


def joined_crc32c(first: str, second: str, size: int) -> str:
    """Of two contents one after the other, from those of each; the second has `size` bytes.

    Source: zlib's crc32_combine: the first one times x to the number of bits that follow, plus the
    second."""
    power, square, bits = _ONE, _ONE >> 1, 8 * size
    while bits:
        if bits & 1:
            power = _times(power, square)
        square = _times(square, square)
        bits >>= 1
    whole = _times(_number(first), power) ^ _number(second)
    return base64.b64encode(whole.to_bytes(4, "big")).decode()


def _number(text: str) -> int:
    return int.from_bytes(base64.b64decode(text), "big")


def _times(first: int, second: int) -> int:
    """Of two polynomials over two elements, modulo Castagnoli's."""
    product = 0
    for bit in range(31, -1, -1):
        if first >> bit & 1:
            product ^= second
        second = second >> 1 ^ (_POLYNOMIAL if second & 1 else 0)
    return product


# ------------------------------------------------------------------------------------------------
# What is sent: a new version or its end, and the temporary objects beside it


class Sending:
    """The new version, from `start` on, as an object with a `resource`: in one request, or in parts."""

    def __init__(
        self,
        client: GoogleClient,
        new: NewObject,
        resource: Resource,
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

    def run(self, attempts: Attempts) -> Resource:
        """What the store says of the object. `attempts`: of the last request. Raises GOOGLE's kinds, and
        what is raised before an attempt."""
        size = self._new.size - self._start
        self._new.will_read([(self._start, self._new.size)])
        if size <= SENT_BYTES:
            body = self._new.read_at(self._start, size)
            self._md5.update(body)
            resource = {**self._resource, "md5Hash": self.md5}
            return self._client.insert(resource, body, self._parameters, attempts)
        self._upload = self._client.begin(self._resource, size, self._parameters)
        at = hashed = 0
        while True:
            end = min(at + SENT_BYTES, size)
            body = self._new.read_at(self._start + at, end - at)
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

    def made(self, said: Resource) -> Resource:
        """It is there, and the store has `said` this of it."""
        self._generation = said["generation"]
        return said

    def as_source(self) -> Resource:
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
