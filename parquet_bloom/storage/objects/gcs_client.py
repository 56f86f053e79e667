"""Google Cloud Storage by its JSON API, for the store of an address: the same store, with the same
credentials, as obstore reads.

Spec: https://cloud.google.com/storage/docs/json_api/v1/objects
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import quote, urlsplit

import google.auth.compute_engine
import google.auth.credentials
import google.auth.exceptions
import google.auth.transport.requests
import google.oauth2.credentials
import google.oauth2.service_account
import requests
from requests import RequestException
from urllib3.exceptions import NewConnectionError

from parquet_bloom.storage.address import Address, is_on
from parquet_bloom.storage.objects.failures import ChangeFailures
from parquet_bloom.storage.objects.sending import (
    Attempts,
    Renewable,
    Returned,
    Sender,
    prefix_of,
)
from parquet_bloom.storage.objects.stores import checks_certificates, proxies_in
from parquet_bloom.storage.store_environment import environment_of
from parquet_bloom.storage.traffic import HEAD, PUT, Requests, Traffic, count

_ENDPOINT: Final = "https://storage.googleapis.com"
_SCOPES: Final = ("https://www.googleapis.com/auth/devstorage.read_write",)
# Where gcloud leaves what a user has logged in with.
_LOGIN: Final = ".config/gcloud/application_default_credentials.json"

# What is said of an object, named as in the API.
Resource: TypeAlias = dict[str, Any]

# Seconds to connect, and for an answer.
_TIMEOUTS: Final = (10, 300)
# What each object's resource has, of what is looked at.
_ALWAYS: Final = {"crc32c", "generation", "metageneration", "size"}
_BOUNDARY: Final = "pbloom-7e1f0c9d52a84b36"


class Refused(Exception):
    """An answer that is none of those expected."""

    def __init__(self, response: requests.Response) -> None:
        self.status = int(response.status_code)
        self.reason = _reason(response)
        self.headers = response.headers
        super().__init__(f"{self.status} {self.reason}")


def _reason(response: requests.Response) -> str:
    """Google's word for the problem; none if there is none."""
    try:
        return str(response.json()["error"]["errors"][0]["reason"])
    except (ValueError, LookupError, TypeError):
        return ""


class _GoogleFailures(ChangeFailures):
    kinds = (Refused, RequestException, google.auth.exceptions.GoogleAuthError, OSError)
    # Whose words may hold the secret URL of an upload.
    own_os_errors = RequestException

    def status(self, error: BaseException) -> int:
        # Without a token, nothing was asked.
        no_token = 401 if isinstance(error, google.auth.exceptions.GoogleAuthError) else 0
        return error.status if isinstance(error, Refused) else no_token

    def code(self, error: BaseException) -> str:
        return error.reason if isinstance(error, Refused) else type(error).__name__

    def headers(self, error: BaseException) -> Mapping[str, str]:
        return error.headers if isinstance(error, Refused) else {}

    def is_broken(self, error: BaseException) -> bool:
        if not isinstance(error, RequestException) or isinstance(
            error, requests.exceptions.SSLError
        ):
            return False
        # Of urllib3, which says that there is no such server.
        inner = getattr(error.args[0] if error.args else None, "reason", None)
        return not isinstance(inner, NewConnectionError)

    def may_be_stale(self, error: BaseException) -> bool:
        # A generation that is gone, for which others have written another.
        return self.status(error) == 404

    def as_os_error(self, address: Address, error: BaseException, what: str) -> OSError:
        if isinstance(error, google.auth.exceptions.GoogleAuthError):
            said = f"the credentials give no access ({self.code(error)}); {what}"
            return PermissionError(errno.EACCES, said, str(address))
        return super().as_os_error(address, error, what)


GOOGLE: Final = _GoogleFailures()


class GoogleClient:
    """Requests about the objects of a bucket, counted in `traffic`, repeated if their failure may pass.
    All raise GOOGLE's kinds."""

    def __init__(self, address: Address, traffic: Traffic) -> None:
        self._traffic = traffic
        found = _settings(address.options)
        account = _account(found)
        self.endpoint = (found.get("base_url") or account.get("gcs_base_url") or _ENDPOINT).rstrip(
            "/"
        )
        host = urlsplit(self.endpoint).hostname or ""
        self.is_google = host == "googleapis.com" or host.endswith(".googleapis.com")
        # Connections are not shared by processes.
        whose = os.getpid(), environment_of(address.store)
        session = _session(tuple(sorted(found.items())), whose)
        self._sender = Sender(prefix_of(address), traffic, GOOGLE, session)
        self._objects = f"/b/{quote(address.host, safe='')}/o"
        self._uploads = f"{self.endpoint}/upload/storage/v1{self._objects}"

    def describe(self, name: str) -> Resource:
        """What is said of an object: its resource."""
        return self._ask(HEAD, "GET", self._place(name), _resource)

    def insert(
        self,
        resource: Resource,
        body: bytes,
        parameters: Mapping[str, str],
        attempts: Attempts | None = None,
    ) -> Resource:
        """Write an object in one request."""
        head = (
            f"--{_BOUNDARY}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"
            f"{json.dumps(resource)}\r\n--{_BOUNDARY}\r\nContent-Type: {_type_of(resource)}\r\n\r\n"
        )
        return self._ask(
            Requests(put=1, bytes_up=len(body)),
            "POST",
            self._uploads,
            _resource,
            attempts,
            params={"uploadType": "multipart", **parameters},
            data=b"".join((head.encode(), body, f"\r\n--{_BOUNDARY}--\r\n".encode())),
            headers={"Content-Type": f"multipart/related; boundary={_BOUNDARY}"},
        )

    def begin(self, resource: Resource, size: int, parameters: Mapping[str, str]) -> str:
        """Begin to write an object in several requests, each to the URL that this returns, which is a
        secret."""
        return self._ask(
            PUT,
            "POST",
            self._uploads,
            _location,
            params={"uploadType": "resumable", **parameters},
            json=resource,
            headers={
                "X-Upload-Content-Length": str(size),
                "X-Upload-Content-Type": _type_of(resource),
            },
        )

    def go_on(
        self,
        upload: str,
        start: int,
        body: bytes,
        size: int,
        md5: str | None,
        attempts: Attempts | None = None,
    ) -> tuple[int, Resource]:
        """Send a part of an object of `size` bytes; `md5`, of all of it, with the last part. Returns the
        number of bytes that the store has now, and the resource of the object if that is all."""
        end = start + len(body)
        checksum = {} if md5 is None else {"X-Goog-Hash": f"md5={md5}"}
        has_failed = False

        def work(session: requests.Session) -> requests.Response:
            nonlocal has_failed
            at = start
            if has_failed:
                # A part may have come in part.
                count(self._traffic, PUT)
                answer = self._answered(
                    session, "PUT", upload, 308, headers={"Content-Range": f"bytes */{size}"}
                )
                at = _there(answer, size)
                if not start <= at < end:
                    return answer
            has_failed = True
            bounds = {"Content-Range": f"bytes {at}-{end - 1}/{size}"}
            rest = body[at - start :]
            headers = bounds | checksum
            return self._answered(session, "PUT", upload, 308, data=rest, headers=headers)

        def read(session: requests.Session) -> tuple[int, Resource]:
            answer = work(session)
            return _there(answer, size), {} if answer.status_code == 308 else _resource(answer)

        kind = Requests(put=1, bytes_up=len(body))
        return self._sender.send(read, kind, attempts)

    def cancel(self, upload: str) -> None:
        """Of what `begin` has begun. 499 is the answer if there was something to cancel."""
        self._ask(PUT, "DELETE", upload, _nothing, also=499)

    def compose(
        self,
        name: str,
        request: Resource,
        parameters: Mapping[str, str],
        attempts: Attempts | None = None,
    ) -> Resource:
        """Put objects together, in the store."""
        url = f"{self._place(name)}/compose"
        return self._ask(PUT, "POST", url, _resource, attempts, params=parameters, json=request)

    def delete(self, name: str, generation: str | None) -> None:
        """`generation`: if given, it leaves no earlier version behind."""
        parameters = {} if generation is None else {"generation": generation}
        self._ask(PUT, "DELETE", self._place(name), _nothing, params=parameters)

    def _place(self, name: str) -> str:
        return f"{self.endpoint}/storage/v1{self._objects}/{quote(name, safe='')}"

    def _ask(
        self,
        kind: Requests,
        method: str,
        url: str,
        read: Callable[[requests.Response], Returned],
        attempts: Attempts | None = None,
        *,
        also: int = 200,
        **given: object,
    ) -> Returned:
        """What `read` makes of the answer. `also`: a status that is one, besides those of success."""
        return self._sender.send(
            lambda session: read(self._answered(session, method, url, also, **given)),
            kind,
            attempts,
        )

    def _answered(
        self, session: requests.Session, method: str, url: str, also: int, **given: object
    ) -> requests.Response:
        response: requests.Response = session.request(
            method, url, timeout=_TIMEOUTS, allow_redirects=False, **given
        )
        if not 200 <= response.status_code < 300 and response.status_code != also:
            raise Refused(response)
        return response


def _type_of(resource: Resource) -> str:
    return str(resource.get("contentType", "application/octet-stream"))


def _nothing(answer: requests.Response) -> None:
    """There is nothing in it that is needed."""


def _location(answer: requests.Response) -> str:
    """Raises OSError."""
    if "Location" not in answer.headers:
        raise OSError(errno.EIO, "the answer is not one of Google's JSON API")
    return str(answer.headers["Location"])


def _there(answer: requests.Response, size: int) -> int:
    """How many bytes the store has of an upload of `size`."""
    if answer.status_code != 308:
        return size
    _, _, last = answer.headers.get("Range", "").rpartition("-")
    return int(last) + 1 if last.isdigit() else 0


def _resource(answer: requests.Response) -> Resource:
    """Of an object. Raises OSError if something else speaks there."""
    found = answer.json()
    if not isinstance(found, dict) or not found.keys() >= _ALWAYS:
        raise OSError(errno.EIO, "the answer is not one of Google's JSON API")
    return found


# ------------------------------------------------------------------------------------------------
# Where obstore finds the store and its credentials


def _settings(options: Mapping[str, str]) -> dict[str, str]:
    """The options, and what the environment has besides."""
    found = {}
    if account := os.environ.get("SERVICE_ACCOUNT"):
        found["service_account"] = account
    named = {
        name: value for name, value in os.environ.items() if value and name.startswith("GOOGLE_")
    }
    for name, value in (*named.items(), *options.items()):
        plain = name.lower().removeprefix("google_")
        found["service_account" if plain == "service_account_path" else plain] = value
    return found


def _account(settings: Mapping[str, str]) -> dict[str, Any]:
    """The service account that is given; nothing if none is."""
    if "service_account_key" in settings:
        return dict(json.loads(settings["service_account_key"]))
    if "service_account" in settings:
        return dict(json.loads(Path(settings["service_account"]).read_text()))
    return {}


def _credentials(settings: Mapping[str, str]) -> google.auth.credentials.Credentials | None:
    """google-auth's credentials; None if requests are not signed."""
    account = _account(settings)
    if is_on(settings.get("skip_signature", "")):
        return None
    if "bearer_token" in settings:
        return google.oauth2.credentials.Credentials(settings["bearer_token"])
    if account.get("disable_oauth"):
        return None
    if not account:
        login = Path.home() / _LOGIN
        place = settings.get("application_credentials") or (login if login.exists() else None)
        if place is None:
            return google.auth.compute_engine.Credentials(scopes=_SCOPES)
        account = json.loads(Path(place).read_text())
        if account.get("type") == "authorized_user":
            return google.oauth2.credentials.Credentials.from_authorized_user_info(account)
    return google.oauth2.service_account.Credentials.from_service_account_info(
        account, scopes=_SCOPES
    )


class _Signed:
    """What requests calls `auth`: puts a token on each request, a new one if it has expired; so netrc
    is not looked at."""

    def __init__(
        self, credentials: google.auth.credentials.Credentials | None, session: requests.Session
    ) -> None:
        """`session`: which asks for tokens."""
        self._credentials = credentials
        self._transport = google.auth.transport.requests.Request(session)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._credentials is not None:
            self._credentials.before_request(
                self._transport, request.method, request.url, request.headers
            )
        return request


@lru_cache(maxsize=64)
def _session(given: tuple[tuple[str, str], ...], whose: object) -> Renewable[requests.Session]:
    return Renewable(lambda: _signing(dict(given)))


def _signing(settings: Mapping[str, str]) -> requests.Session:
    session = _unsigned(settings)
    session.auth = _Signed(_credentials(settings), _unsigned(settings))
    return session


def _unsigned(settings: Mapping[str, str]) -> requests.Session:
    session = requests.Session()
    session.proxies = proxies_in(settings)
    session.verify = checks_certificates(settings)
    return session
