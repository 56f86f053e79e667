"""What the failure of a request to a store means, whichever library says so: it may pass, it was asked too
often, its credentials have expired, or it stays."""

from __future__ import annotations

import errno
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urlsplit

from parquet_bloom.storage.address import Address
from parquet_bloom.storage.store_environment import find_endpoint

TEMPORARY: Final = {408, 429, 500, 502, 503, 504}
# S3's words for the same, which may come with another status.
_PASSING: Final = {"RequestTimeout", "SlowDown"}
# Slower, please: in the words of HTTP. S3 says 503 SlowDown, Azure 503 ServerBusy, Google 429.
_THROTTLING: Final = {429, 503}

EXPIRED: Final = {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"}
# What S3 and Azure say besides of keys and tokens that have been replaced.
_REPLACED: Final = {
    "AuthenticationFailed",
    "InvalidAccessKeyId",
    "InvalidAuthenticationInfo",
    "InvalidToken",
}

# Who asks is known, and may not, in the words of S3.
DENIED: Final = "AccessDenied"
# Who asks is not known, in the words of S3, and what may be wrong.
_MISTAKEN: Final = {
    "InvalidAccessKeyId": "the store knows no such access key",
    "InvalidToken": "the session token is none of this access key: set AWS_SESSION_TOKEN, or the storage option"
    " session_token, to the one that came with the key, or to nothing if none did",
    "RequestTimeTooSkewed": "the clock of this machine is wrong",
    "SignatureDoesNotMatch": "the secret is not that of the access key, or the clock of this machine is wrong",
}

# No such object, in the words of S3, Azure and Google.
_GONE: Final = {"404", "BlobNotFound", "NoSuchKey", "notFound"}


# Nobody knows who asks, as was asked for.
_UNSIGNED: Final = "requests are not signed, because of the storage option skip_signature"


def is_refused(status: int, code: str) -> bool:
    """Whether the store says that who asks may not, or is not known: also as a bad request, as AWS does of tokens."""
    return status in (401, 403) or code in _MISTAKEN


def why_refused(address: Address, code: str, permissions: str) -> str:
    """What is behind a refusal with this code of the store: that nobody signed the request; `permissions`, if it
    knows who asks; empty if it says neither."""
    if address.is_unsigned:
        return _UNSIGNED
    return permissions if code == DENIED else _MISTAKEN.get(code, "")


def host_of(address: Address) -> str:
    """What the options of the store say, or its title, if they may; without a name and a password."""
    if not address.store.endpoint_options:
        return ""
    endpoint = find_endpoint(address.store, address.options) or ""
    return urlsplit(endpoint).netloc.rpartition("@")[2] or address.store.title


def not_trusted(address: Address, trust: str = "") -> str:
    """Of a server whose certificate nobody here knows; `trust`: how to let a library know it."""
    return (
        f"the certificate of {host_of(address) or address.host} is not trusted: {trust}if it must be, set the storage"
        " option allow_invalid_certificates=true"
    )


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

    @abstractmethod
    def headers(self, error: BaseException) -> Mapping[str, str]:
        """Of the answer, by names in any case; empty if the library does not show them."""

    def may_pass(self, error: BaseException) -> bool:
        """Whether the same request may succeed."""
        status = self.status(error)
        if not status:
            return self.is_broken(error)
        return status in TEMPORARY or self.code(error) in _PASSING

    def is_throttled(self, error: BaseException) -> bool:
        """Whether the store is asked too often."""
        return self.status(error) in _THROTTLING or self.code(error) == "SlowDown"

    def has_expired(self, error: BaseException) -> bool:
        """Whether the same request may succeed with new credentials."""
        status, code = self.status(error), self.code(error)
        # An answer to HEAD has no words; S3 refuses one with a token that has expired by 400.
        is_wordless = status == 400 and code in ("", "400")
        return status == 401 or is_wordless or code in EXPIRED or code in _REPLACED

    def retry_after(self, error: BaseException) -> float:
        """How many seconds to wait at least, as the answer says; 0 if it does not."""
        said = {name.lower(): value for name, value in self.headers(error).items()}
        return _seconds(said.get("retry-after", ""))


def _seconds(said: str) -> float:
    """A value of Retry-After: seconds, or a date."""
    if said.isdigit():
        return float(said)
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except ValueError:
        return 0.0


# In the words of OpenSSL, which every library passes on.
_UNKNOWN_ISSUER: Final = "CERTIFICATE_VERIFY_FAILED"


class ChangeFailures(Failures):
    """Of requests that change objects."""

    # Those of its exceptions that are OSErrors. Their words may hold signed URLs.
    own_os_errors: type[Exception] | tuple[()] = ()
    # The variable that names a file of certificates to it, whatever obstore has read by.
    trusted_by = "REQUESTS_CA_BUNDLE"

    def is_unmet(self, error: BaseException) -> bool:
        """Whether a condition does not hold: the object is another one by now."""
        return self.status(error) == 412

    def may_be_stale(self, error: BaseException) -> bool:
        """Whether the object may be another one by now, which a look at it tells."""
        return False

    def request(self, error: BaseException) -> str:
        """The store's word for what was asked of it, GetObjectAcl; empty if nobody says."""
        return ""

    def summary(self, error: BaseException) -> str:
        """`412 PreconditionFailed`, or what broke."""
        # Nothing else of it: messages may hold signed URLs.
        code, status = self.code(error), self.status(error)
        return f"{status} {'' if code == str(status) else code}".rstrip() if status else code

    def as_os_error(self, address: Address, error: BaseException, what: str) -> OSError:
        """The OSError for one of them, which ends in `what` became of the object."""
        path, said = str(address), self.summary(error)
        status, code = self.status(error), self.code(error)
        if _UNKNOWN_ISSUER in str(error):
            trust = f"set {self.trusted_by} to a file with that of its authority, or, "
            return OSError(errno.EIO, f"{not_trusted(address, trust)}; {what}", path)
        is_its_own = isinstance(error, self.own_os_errors)
        if isinstance(error, OSError) and not is_its_own and not status:
            kind = type(error) if type(error) in (PermissionError, FileNotFoundError) else OSError
            return kind(error.errno or errno.EIO, f"{error.strerror or error}; {what}", path)
        if code in EXPIRED:
            return PermissionError(
                errno.EACCES, f"the credentials have expired ({said}): renew them; {what}", path
            )
        if is_refused(status, code):
            why = why_refused(address, code, address.store.to_write)
            refused = f"writing was refused ({said})" + (f": {why}" if why else "")
            return PermissionError(errno.EACCES, f"{refused}; {what}", path)
        if status == 404 and code in _GONE:
            return FileNotFoundError(errno.ENOENT, f"is no longer there; {what}", path)
        if status:
            asked = self.request(error)
            to_what = f" to {asked}" if asked else ""
            return OSError(errno.EIO, f"the store answered {said}{to_what}; {what}", path)
        return OSError(errno.EIO, f"no answer: {said}; {what}", path)
