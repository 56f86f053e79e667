"""Requests to the Blob service of Azure about one blob: the same store, with the same credentials, as
obstore reads.

They are sent by what Azure's own library sends requests with. Its clients of blobs do not do: they fail
on blocks whose names are not text, and they copy without a condition for the source.

Spec: https://learn.microsoft.com/rest/api/storageservices/blob-service-rest-api
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode
from xml.etree import ElementTree

from azure.core import PipelineClient
from azure.core.exceptions import (
    AzureError,
    HttpResponseError,
    IncompleteReadError,
    ServiceRequestTimeoutError,
    ServiceResponseError,
)
from azure.core.pipeline.transport import RequestsTransport
from azure.core.rest import HttpRequest, HttpResponse
from azure.storage.blob import BlobSasPermissions, generate_blob_sas

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.azure_settings import Settings
from parquet_bloom.storage.objects.azure_token import Token
from parquet_bloom.storage.objects.sending import Attempts, Failures, send
from parquet_bloom.storage.traffic import Requests, Traffic

VERSION: Final = "2023-11-03"

_CODE: Final = re.compile(rb"<Code>\s*(\w+)\s*</Code>")
_REFUSALS: Final = {
    "BlobImmutableDueToPolicy": "an immutability policy or a legal hold keeps it as it is",
    "AuthenticationFailed": "the key, SAS or token is wrong, or has expired",
    "AuthorizationPermissionMismatch": "allow blobs/read and blobs/write, or make a SAS with rw",
    "InvalidBlobOrBlock": "blocks that others send now, or a killed run has left, have names of another"
    " length: try again later, or discard those of killed builds with clean-temp --uploads",
    "InvalidAuthenticationInfo": "the token is wrong, or has expired",
    "LeaseIdMissing": "somebody holds a lease on it",
}
# A signature holds for so long.
_SIGNED: Final = timedelta(hours=1)


class AzureClient:
    """Requests about one blob, counted in `traffic`, repeated if their failure may pass."""

    def __init__(self, address: Address, traffic: Traffic) -> None:
        """Raises RewriteError for credentials that are only for reading, OSError."""
        self.address = address
        self._traffic = traffic
        self.settings = Settings(address)
        self._kind = self.settings.credential()
        if self._kind == "fabric":
            raise RewriteError(
                f"{address}: not changed in place: with a session token of Fabric, objects are only"
                " read"
            )
        options = {name.lower(): value for name, value in address.options.items()}
        self._proxies: dict[str, Any] = {}
        if proxy := options.get("proxy_url"):
            self._proxies = {"proxies": {"http": proxy, "https": proxy}}
        is_checked = options.get("allow_invalid_certificates", "").lower() != "true"
        # Connections are not shared by processes.
        self._http = _http(is_checked, os.getpid())
        self._token = Token(self.settings, self._kind, self._json)

    def ask(
        self,
        method: str,
        kind: Requests,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        attempts: Attempts | None = None,
        key: str | None = None,
    ) -> HttpResponse:
        """The answer to a request about the blob, or about the one of another `key`. Raises
        AZURE's kinds."""
        where = self.address.key if key is None else key

        def work() -> HttpResponse:
            pairs = [*(query or {}).items(), *self._signature(where, "rcwtd")]
            sent = {"x-ms-version": VERSION, **(headers or {})}
            if self._is_bearer:
                sent["Authorization"] = f"Bearer {self._token.now()}"
            url = _with_query(self.settings.url(where), pairs)
            return self._answer(HttpRequest(method, url, headers=sent, content=body))

        return send(work, kind, self._traffic, AZURE, attempts)

    def as_source(self) -> dict[str, str]:
        """The headers by which the store is told to copy from the blob."""
        pairs = self._signature(self.address.key, "r")
        headers = {"x-ms-copy-source": _with_query(self.settings.url(self.address.key), pairs)}
        if self._is_bearer:
            headers["x-ms-copy-source-authorization"] = f"Bearer {self._token.now()}"
        return headers

    @property
    def _is_bearer(self) -> bool:
        return self._kind not in ("none", "access_key", "sas_token")

    def _signature(self, key: str, permissions: str) -> list[tuple[str, str]]:
        """What proves in the query of a URL that the account allows it."""
        if self._kind == "sas_token":
            return self.settings.shared_access_signature()
        if self._kind != "access_key":
            return []
        signed = generate_blob_sas(
            self.settings.of("account_name"),
            self.settings.container,
            key,
            account_key=self.settings.of("account_key"),
            permission=BlobSasPermissions.from_string(permissions),
            expiry=datetime.now(UTC) + _SIGNED,
        )
        return parse_qsl(signed)

    def _answer(self, request: HttpRequest) -> HttpResponse:
        response: HttpResponse = self._http.send_request(request, **self._proxies)
        if not 200 <= response.status_code < 300:
            raise HttpResponseError(response=response)
        return response

    def _json(self, request: HttpRequest) -> Mapping[str, Any]:
        try:
            answer: Mapping[str, Any] = self._answer(request).json()
            return answer
        except HttpResponseError as error:
            if AZURE.may_pass(error):
                raise
            problem = f"{AZURE.status(error)}"
        except ValueError:
            problem = "no JSON came"
        raise PermissionError(errno.EACCES, f"the credentials got no token ({problem})")


def _with_query(url: str, pairs: list[tuple[str, str]]) -> str:
    return f"{url}?{urlencode(pairs, quote_via=quote)}" if pairs else url


@lru_cache(maxsize=64)
def _http(is_checked: bool, process: int) -> PipelineClient[HttpRequest, HttpResponse]:
    # Attempts are made here, where they are counted: no policy makes others, or logs them.
    transport = RequestsTransport(
        connection_timeout=10, read_timeout=300, connection_verify=is_checked
    )
    return PipelineClient("", policies=[], transport=transport)


class _AzureFailures(Failures):
    kinds = (AzureError, OSError)

    def status(self, error: BaseException) -> int:
        # One that did not come whole is none.
        if isinstance(error, HttpResponseError) and not isinstance(error, IncompleteReadError):
            return error.status_code or 0
        return 0

    def code(self, error: BaseException) -> str:
        if not isinstance(error, HttpResponseError) or not self.status(error):
            return type(error).__name__
        response: Any = error.response
        found = _CODE.search(response.content)
        return response.headers.get("x-ms-error-code") or (found[1].decode() if found else "")

    def is_broken(self, error: BaseException) -> bool:
        return isinstance(
            error, ServiceResponseError | ServiceRequestTimeoutError | IncompleteReadError
        )

    def is_unmet(self, error: BaseException) -> bool:
        return super().is_unmet(error) and not self.code(error).startswith("Lease")

    def may_be_stale(self, error: BaseException) -> bool:
        # Blocks are gone when others have replaced the blob.
        return self.code(error) == "InvalidBlockList"

    def told(self, address: Address, error: BaseException, what: str) -> OSError:
        code = self.code(error)
        if code not in _REFUSALS:
            return super().told(address, error, what)
        said = f"writing was refused ({self.said(error)}): {_REFUSALS[code]}; {what}"
        return PermissionError(errno.EACCES, said, str(address))


AZURE: Final = _AzureFailures()


def time_of(headers: Mapping[str, str]) -> int:
    """When the store answered, by its own clock, in seconds since 1970."""
    said = headers.get("Date")
    return int(parsedate_to_datetime(said).timestamp() if said else time.time())


def parsed(answer: HttpResponse) -> ElementTree.Element:
    """The XML of an answer. Raises OSError."""
    try:
        return ElementTree.fromstring(answer.content)
    except ElementTree.ParseError:
        raise OSError(errno.EIO, "the store's answer is not what it should be") from None
