"""Requests that obstore sends to object stores: by a few threads of the process, and with their failures as
OSErrors of one line.

obstore would repeat by itself, but not say how often: see `sending`. Its errors are dumps of many lines, of which the
first has the status and the store's own words.

Everything runs in threads of its own, because Ctrl-C does not interrupt a request. obstore does not
survive a fork: a child that uses it hangs, and then its parent, too.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import (
    BaseError,
    NotFoundError,
    NotSupportedError,
    PreconditionError,
)

from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.failures import (
    DENIED,
    EXPIRED,
    Failures,
    host_of,
    is_refused,
    not_trusted,
    why_refused,
)
from parquet_bloom.storage.objects.sending import Renewable, Returned, Sender, prefix_of
from parquet_bloom.storage.objects.signed_urls import (
    SIGN_ANEW,
    has_expired,
    is_signed,
    why_signed_refused,
)
from parquet_bloom.storage.objects.stores import has_keys, opened_store
from parquet_bloom.storage.source import NoStoreError
from parquet_bloom.storage.store_environment import find_endpoint, place_of
from parquet_bloom.storage.traffic import HEAD, LIST, Requests, Traffic
from parquet_bloom.vocabulary import NO_OBJECT, NO_OBJECT_OR_FOLDER

if TYPE_CHECKING:
    from obstore.store import ObjectStore

IN_FLIGHT: Final = 16

_STATUS = re.compile(r"status code: (\d{3}) ?([^:]*)(?:: (.*))?", re.DOTALL)
_CODE = re.compile(r"<Code>\s*(\w+)\s*</Code>")
_MESSAGE = re.compile(r"<Message>([^<]{1,200})</Message>")
_REGION = re.compile(r"<Region>\s*([\w-]+)\s*</Region>")
# Of requests that are signed for another region than that of the bucket.
_WRONG_REGION: Final = "AuthorizationHeaderMalformed"
# Tokens, signatures and queries.
_LIKE_SECRET = re.compile(r"\S{32}|[=?&]|://")
_KEYS_REFUSED: Final = "the keys that are set are not known there"
# Bodies and connections that broke.
_BROKEN = ("HTTP error", "error decoding", "body error", "timed out", "operation timeout")
# Where a machine asks for credentials of its own, if it has none.
_METADATA: Final = "169.254."
# What answers without TLS, in the words of rustls.
_NO_TLS: Final = "InvalidMessage("
# There is no such server.
_NOBODY = ("dns error", "ConnectionRefused", "InvalidCertificate", _NO_TLS)

# Objects of which only what is said of them can be read, in the words of S3 and Azure.
_ARCHIVED: Final = "is archived, and cannot be read until it is restored"
_UNREADABLE: Final = {"InvalidObjectState": _ARCHIVED, "BlobArchived": _ARCHIVED}
_NO_BUCKET: Final = "NoSuchBucket"
_NO_KEY: Final = (
    "is encrypted with a customer's key (SSE-C): to read it, set the storage option"
    " server_side_encryption=sse-c and the storage option sse_customer_key_base64=KEY"
)


class ChangedError(OSError):
    """The object is not the one that was opened."""


class NoSuchRangeError(OSError):
    """The object ends before the range."""


class _Threads:
    """The pool of this process, made when it is first needed."""

    def __init__(self) -> None:
        self._making = Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def submit(self, work: Callable[[], Returned]) -> Future[Returned]:
        """Raises OSError in a process that was forked after the pool was made."""
        with self._making:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="pbloom-request")
                self._process = os.getpid()
        if self._process != os.getpid():
            raise OSError(
                errno.ENOTSUP,
                "object stores cannot be used in a process that was forked after its parent used"
                " them: start processes by spawn or forkserver",
            )
        return self._pool.submit(work)


_threads = _Threads()


def submit(work: Callable[[], Returned]) -> Future[Returned]:
    """Let a thread do `work`, at most IN_FLIGHT at a time. Raises OSError after a fork."""
    return _threads.submit(work)


class _ObstoreFailures(Failures):
    kinds = (BaseError, OSError)

    def status(self, error: BaseException) -> int:
        return _answer(_line(error))[0]

    def code(self, error: BaseException) -> str:
        return _answer(_line(error))[2]

    def is_broken(self, error: BaseException) -> bool:
        # By which obstore begins all that goes wrong with a web server.
        line = _line(error).removeprefix("Generic HTTP error")
        return any(each in line for each in _BROKEN) and not any(
            each in str(error) for each in _NOBODY
        )

    def headers(self, error: BaseException) -> Mapping[str, str]:
        # obstore's errors have none: a store that is asked too often gets the pace of its prefix and waits that
        # double, up to 50 seconds, in the place of its own Retry-After.
        return {}

    def may_pass(self, error: BaseException) -> bool:
        if isinstance(error, ChangedError) or _METADATA in _line(error):
            return False
        return super().may_pass(error)


OBSTORE: Final = _ObstoreFailures()


def ask(
    address: Address,
    kind: Requests,
    work: Callable[[ObjectStore], Returned],
    traffic: Traffic,
    store: Renewable[ObjectStore] | None = None,
) -> Returned:
    """What `work` returns, which sends one request of a `kind` to the store; sent again if its failure may
    pass: see `sending`. `store`: None for the one that the address and the environment say now.

    Raises OSError that names `address`: FileNotFoundError, PermissionError, ChangedError, NoStoreError,
    NoSuchRangeError, others.
    """
    sender = Sender(prefix_of(address), traffic, OBSTORE, store or opened_store(address))
    try:
        answer = sender.send(work, kind)
    except ChangedError:
        raise
    except OBSTORE.kinds as error:
        found = _failure(address, error, kind)
        if isinstance(found, FileNotFoundError) and not OBSTORE.code(error):
            _check_lists(address, kind)
        raise found from None
    if kind == LIST:
        _listing.add(bucket_of(address))
    return answer


# The buckets that have been listed, each at its place.
_listing: Final[set[tuple[tuple[str | None, ...], str]]] = set()


def bucket_of(address: Address) -> tuple[tuple[str | None, ...], str]:
    """The same for whatever says the same of its store."""
    return place_of(address), address.host


def _check_lists(address: Address, kind: Requests) -> None:
    """Where a request of this kind was answered by 404 without a store's code, as any web server does: raise
    NoStoreError if the endpoint answers a listing of the bucket alike. To HEAD a store gives no code either."""
    if (
        not address.store.has_folders
        or find_endpoint(address.store, address.options) is None
        or bucket_of(address) in _listing
    ):
        return
    if kind == LIST:
        raise no_store(address, "a store's code, such as NoSuchBucket, with 404, found none")

    def first(store: ObjectStore) -> object:
        return next(iter(obstore.list(store, chunk_size=1)), None)

    try:
        ask(address, LIST, first, Traffic())
    except NoStoreError:
        raise
    except OSError:
        # Which are a store's words, or say nothing yet.
        return


def _answer(line: str) -> tuple[int, str, str]:
    """The status in the first line of an error, its name, and the store's code for it."""
    found = _STATUS.search(line)
    if found is None:
        return 0, "", ""
    code = _CODE.search(found[3] or "")
    return int(found[1]), found[2].strip(), code[1] if code else ""


def _line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).partition("\n\nDebug source")[0]


def changed(address: Address) -> ChangedError:
    return ChangedError(errno.ESTALE, "changed while it was read: read it again", str(address))


def _failure(address: Address, error: BaseException, kind: Requests) -> OSError:
    """The OSError for what obstore says of a request of this kind."""
    line, path = _line(error), str(address)
    status, name, code = _answer(line)
    shown = f"{status} {code or name}".strip()
    if isinstance(error, PreconditionError) or status == 412:
        return changed(address)
    if status == 416:
        return NoSuchRangeError(errno.EINVAL, "the range is not there", path)
    if _METADATA in line or "metadata.google" in line:
        return PermissionError(
            errno.EACCES, f"no credentials found: {address.store.credentials}", path
        )
    if (is_refused(status, code) or code in EXPIRED) and is_signed(address):
        return PermissionError(errno.EACCES, _signed_refused(address, shown, code, line), path)
    if code in EXPIRED:
        return PermissionError(
            errno.EACCES, f"the credentials have expired ({shown}): renew them", path
        )
    if isinstance(error, NotFoundError) or status == 404:
        is_bucket = code == _NO_BUCKET and address.store.has_folders
        nothing = f"no bucket {address.host}" if is_bucket else _nothing_at(address)
        why = _bucket_in_endpoint(address) or _as_in_store(address, code)
        return FileNotFoundError(errno.ENOENT, nothing + why, path)
    if code in _UNREADABLE:
        return OSError(errno.EACCES, f"{_UNREADABLE[code]} ({shown})", path)
    if status == 400 and "Server Side Encryption" in line:
        return PermissionError(errno.EACCES, f"{_NO_KEY} ({shown})", path)
    if is_refused(status, code):
        refused = _refused(address, shown, code, kind)
        return PermissionError(errno.EACCES, refused + _as_in_store(address, code), path)
    if "without LOCATION" in line or status in (301, 307) or code == _WRONG_REGION:
        return OSError(errno.EREMOTE, _in_region(address, line), path)
    if address.store.name == "gs" and "Content-Length Header missing" in line:
        return OSError(
            errno.ENOTSUP,
            "the store decompresses objects with Content-Encoding: gzip, and serves no ranges of"
            " them: clear that, or set Cache-Control: no-transform",
            path,
        )
    if isinstance(error, NotSupportedError) or "non-partial response" in line:
        return OSError(
            errno.ENOTSUP, f"the server sends no ranges of bytes{_elsewhere(address)}", path
        )
    if "invalid path" in line:
        return OSError(
            errno.EINVAL,
            "contains an object whose key has an empty part, one of dots, or a control character"
            " (//, /./, /../), so it cannot be listed: name folders or files next to it",
            path,
        )
    if status:
        sentence = _sentence(address, line)
        said = f": {sentence}" if sentence else ""
        return OSError(errno.EIO, f"the store answered {shown}{said}", path)
    if "InvalidCertificate" in str(error):
        return OSError(errno.EIO, not_trusted(address), path)
    if _NO_TLS in str(error):
        no_tls = "what answers does not speak TLS: expected http:// in place of https://"
        return OSError(errno.EIO, f"no answer{_from(address)}: {no_tls}", path)
    silence = "it was reached, and sent nothing in time" if _is_silent(error) else _UNREACHED
    said = _JARGON.sub("", _without_url(error, line)) or silence
    return OSError(errno.EIO, f"no answer{_from(address)}: {said}{_elsewhere(address)}", path)


def _refused(address: Address, shown: str, code: str, kind: Requests) -> str:
    """That a request of this kind was, and why, as far as the code tells."""
    is_written = kind.put > 0
    doing, needed = (
        ("writing", address.store.to_write) if is_written else ("reading", address.store.to_read)
    )
    why = why_refused(address, code, needed)
    if not why and not code and has_keys(address):
        # An answer to HEAD never has a code.
        why = f"{_KEYS_REFUSED}, or {needed}" if kind == HEAD else _by_no_store(address)
    return f"{doing} was refused ({shown}): {why or address.store.credentials}"


def _by_no_store(address: Address) -> str:
    """Of a refusal without a code, for a request that a store would have refused with one."""
    return f"{_KEYS_REFUSED}, and what answers at {host_of(address)} gives no code of a store{_elsewhere(address)}"


def _signed_refused(address: Address, shown: str, code: str, line: str) -> str:
    if has_expired(address, line):
        return f"the signed URL has expired ({shown}): {SIGN_ANEW}"
    return f"reading was refused ({shown}): {why_signed_refused(code)}"


def _in_region(address: Address, line: str) -> str:
    """That the bucket is in another region than requests are for, which the answer may name."""
    found = _REGION.search(line)
    where = f"the region {found[1]}" if found else "another region"
    if not address.store.has_folders:
        return (
            f"the bucket is in {where}: expected a URL that is signed for that, and names its host"
        )
    name = found[1] if found else "NAME"
    return f"the bucket is in {where}: set AWS_REGION, or the storage option region={name}"


def _sentence(address: Address, line: str) -> str:
    """What a store says besides its code; nothing if it may repeat of the request what must not be shown."""
    found = _MESSAGE.search(line)
    if found is None:
        return ""
    from html import unescape

    said = " ".join(unescape(found[1]).split()).rstrip(".")
    hidden = (*address.options.values(), *re.split("[&=]", address.query))
    may_be_secret = _LIKE_SECRET.search(said) or any(
        len(each) > 3 and each in said for each in hidden
    )
    return "" if may_be_secret else said


def no_store(address: Address, expected: str) -> NoStoreError:
    """For a server whose answer was not as `expected`: `404 for a key that is in none, found 200`"""
    said = f"what answers at {host_of(address)} is no object store: expected {expected}"
    return NoStoreError(errno.EIO, said + _elsewhere(address), str(address))


def _nothing_at(address: Address) -> str:
    """Whose name has no suffix may be meant for a folder, which is one only with something in it."""
    may_be_folder = address.store.has_folders and "." not in address.key.rpartition("/")[2]
    return NO_OBJECT_OR_FOLDER if may_be_folder else NO_OBJECT


def _bucket_in_endpoint(address: Address) -> str:
    """That an endpoint ends with the bucket, which is in the URL of each object already; empty if it does not."""
    endpoint = find_endpoint(address.store, address.options)
    if endpoint is None or not urlsplit(endpoint).path.rstrip("/").endswith(f"/{address.host}"):
        return ""
    return f"; the endpoint ends with /{address.host}, expected it without the bucket"


# By the ends of their hosts: the clouds that answer in the words of S3, whose URLs may have the bucket in the host.
_SCHEME_IN: Final = {"amazonaws.com": "s3", "amazonaws.com.cn": "s3", "googleapis.com": "gs"}


def _as_in_store(address: Address, code: str) -> str:
    """How an object is named to a store that has answered as a web server, but in the words of S3. Whoever has a
    signed URL wants no other name."""
    if address.store.has_folders or address.query or code not in (_NO_BUCKET, DENIED):
        return ""
    cloud = next((_SCHEME_IN[end] for end in _SCHEME_IN if address.host.endswith(end)), None)
    if cloud:
        return f"; to the store, it is {cloud}://BUCKET/KEY"
    place = address.partition("://")[2].partition("/")[2]
    endpoint = f"the storage option endpoint={address.scheme}://{address.host}"
    return f"; to a store of S3's protocol, it is s3://{place} with {endpoint}"


# What obstore puts before the cause, of which it says the innermost in what it has for debugging.
_JARGON = re.compile(
    r"^(Generic \w+ error(: |$)|Error performing \w+ request(: |$)|HTTP error(: |$)|error sending request(: |$))*"
)
_INNERMOST = re.compile(
    r'message: "([^"]+)"|error: "failed to lookup address information: ([^"]+)"'
)


_UNREACHED: Final = "the host cannot be reached"


def _is_silent(error: BaseException) -> bool:
    """Whether the time that a request may take has passed since there was a connection."""
    return "TimedOut" in str(error) and "Connect" not in str(error)


def _from(address: Address) -> str:
    """The host that gave none, if the URL does not say it."""
    host = host_of(address)
    return host and f" from {host}"


def _elsewhere(address: Address) -> str:
    """How to name another host."""
    option = next(iter(address.store.endpoint_options), None)
    return f"; the storage option {option}=URL names another host" if option else ""


def _without_url(error: BaseException, line: str) -> str:
    """What else can be said in a line, without URLs that may have been signed."""
    found = _INNERMOST.search(str(error))
    said = re.sub(r"Error performing \w+ \S+ in \S+ - ", "", line.partition("\n")[0])
    said = re.sub(r"https?://\S+", "URL", said)
    return f"{said}: {found[1] or found[2]}" if found else said
