"""URLs that are signed: whoever has one needs no key of the store, until it expires. What their queries say of that,
in the parameters of Amazon, Google and Azure."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import parse_qsl

from parquet_bloom.storage.address import Address

_SIGNATURES: Final = ("x-amz-signature", "x-goog-signature", "signature", "sig")
# Those that name one of several versions.
_VERSIONS: Final = ("versionid", "generation", "snapshot")
# Since when, and for how many seconds.
_SPANS: Final = (("x-amz-date", "x-amz-expires"), ("x-goog-date", "x-goog-expires"))
# When it expires: seconds since 1970, or a time.
_EXPIRES: Final = "expires"
_END: Final = "se"

# In the words of Amazon, Google and Azure.
_EXPIRED: Final = re.compile(
    r"Request has expired|signature expired|not valid in the specified time frame", re.IGNORECASE
)

SIGN_ANEW: Final = "sign it anew"
_MAY_BE: Final = "the signed URL has expired, or who signed it may not read there"
# Of a signature that is not that of the request.
_MISMATCH: Final = "SignatureDoesNotMatch"
_OTHER: Final = (
    "the signature is not that of this URL: pass the whole of it, in quotes, as it was signed"
)


def is_signed(address: Address) -> bool:
    """Whether it is the URL of a web server with a signature in its query."""
    return any(name in _SIGNATURES for name in _parameters(address))


def is_signed_anew(old: Address, new: Address) -> bool:
    """Whether both are signed URLs of the same version of one object."""
    if old != new or not (is_signed(old) and is_signed(new)):
        return False
    return all(_parameters(old).get(name) == _parameters(new).get(name) for name in _VERSIONS)


def has_expired(address: Address, answer: str) -> bool:
    """Whether a signed URL has, as its query or the `answer` says that refuses it."""
    end = _end(_parameters(address))
    return _EXPIRED.search(answer) is not None or (end is not None and end < datetime.now(UTC))


def why_signed_refused(code: str) -> str:
    """What may be behind the refusal of a signed URL that has not expired for certain."""
    return _OTHER if code == _MISMATCH else f"{_MAY_BE}: {SIGN_ANEW}"


def _parameters(address: Address) -> dict[str, str]:
    """Those of the query, by names in lower case."""
    return {name.lower(): value for name, value in parse_qsl(address.query)}


def _end(given: dict[str, str]) -> datetime | None:
    """When it expires; None if it does not say."""
    with suppress(ValueError, OverflowError):
        for since, seconds in _SPANS:
            if since in given and seconds in given:
                signed = datetime.strptime(given[since], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
                return signed + timedelta(seconds=int(given[seconds]))
        if _EXPIRES in given:
            return datetime.fromtimestamp(int(given[_EXPIRES]), UTC)
        if _END in given:
            end = datetime.fromisoformat(given[_END])
            return end.replace(tzinfo=end.tzinfo or UTC)
    return None
