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
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.adapter import (
    Adapter,
    NewObject,
    Seen,
    ToldError,
    changed_meanwhile,
)
from parquet_bloom.storage.objects.gcs_client import GOOGLE, GoogleClient
from parquet_bloom.storage.objects.gcs_sending import Sending, Temporary
from parquet_bloom.storage.objects.object_source import ObjectSource
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
                f"{address}: not changed in place: the store gives it no generation, by which to tell"
                " whether others have changed it"
            )
        self._client = GoogleClient(address, old.traffic)
        self.endpoint, self.is_own = self._client.endpoint, self._client.is_google
        self._sending: Sending | None = None
        self._temporaries: list[Temporary] = []

    def honours_conditions(self) -> bool:
        scratch = self.beside()
        condition = {"ifGenerationMatch": NO_GENERATION}
        resource = {"name": scratch}
        is_refused = _is_refused(lambda: self._client.insert(resource, b"", condition))
        if is_refused:
            self._client.insert(resource, b"", {})
            sources = {"sourceObjects": [{"name": scratch}], "destination": {}}
            other = self.beside()
            is_refused = _is_refused(lambda: self._client.compose(other, sources, condition))
            if not is_refused:
                self._client.delete(other, None)
        self._client.delete(scratch, None)
        return is_refused

    def look(self) -> Seen:
        found = self._client.look(self.address.key)
        return Seen(found["generation"], int(found["size"]), found)

    def assemble(self, new: NewObject, old: Seen) -> None:
        self._new = new
        kept = _kept(old.said)
        # The key, not the version of it: the newest encrypts.
        key = old.said.get("kmsKeyName", "").partition("/cryptoKeyVersions/")[0]
        self._encryption = {"kmsKeyName": key} if key else {}
        condition = {
            "ifGenerationMatch": str(self.version),
            "ifMetagenerationMatch": old.said["metageneration"],
        }
        parameters = self._encryption | condition
        # A temporary object could not be removed, either.
        is_retained = self._is_retained(old.said)
        if new.size > WHOLE_BYTES and not is_retained and self._is_appended():
            self._append(old.said, kept, parameters)
        else:
            whole = {"name": self.address.key, **kept}
            self._sending = sending = Sending(self._client, new, whole, 0, parameters)
            self._last: Callable[[Attempts], Mapping[str, Any]] = sending.run
            self._expected: Callable[[], Mapping[str, str]] = lambda: {"md5Hash": sending.md5}

    def finish(self, attempts: Attempts) -> None:
        if problem := self._problem(self._last(attempts)):
            raise ToldError(self.address, f"was written, but is not what it should be: {problem}")

    def is_new(self, now: Seen) -> bool:
        return self._expected().items() <= now.said.items()

    def cancel(self) -> str:
        is_over = self._sending is None or self._sending.cancel()
        return "" if not self._left_over() and is_over else "which cannot be cancelled"

    def settle(self, error: BaseException | None) -> None:
        if error is None and (left := self._left_over()):
            raise ToldError(
                self.address,
                f"was written, but the temporary object {left.name} could not be removed"
                f" ({GOOGLE.said(left.problem)})",
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

    def _problem(self, said: Mapping[str, Any]) -> str:
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
        kept: Mapping[str, Any],
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

    def _old_source(self) -> dict[str, Any]:
        condition = {"ifGenerationMatch": self.version}
        return {
            "name": self.address.key,
            "generation": self.version,
            "objectPreconditions": condition,
        }


def _is_refused(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except GOOGLE.kinds as error:
        if GOOGLE.is_unmet(error):
            return True
        raise
    return False


def _kept(said: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of an object, which a new version is told again."""
    kept: dict[str, Any] = {name: said[name] for name in _KEPT if name in said}
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
