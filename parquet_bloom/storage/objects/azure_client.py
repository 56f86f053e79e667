"""Requests to the Blob service of Azure about one blob: the same store, with the same credentials, as
obstore reads. obstore names no blocks.

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
from parquet_bloom.storage.objects.sending import Failures, send
from parquet_bloom.storage.traffic import Requests, Traffic

VERSION: Final = "2023-11-03"

# What a request fails with.
FAILURES: Final = (AzureError, OSError)

_TEMPORARY: Final = {408, 429, 500, 502, 503, 504}
_CODE: Final = re.compile(rb"<Code>\s*(\w+)\s*</Code>")
# A signature holds for so long.
_SIGNED: Final = timedelta(hours=1)


class Client:
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
        doubts: list[BaseException] | None = None,
        key: str | None = None,
    ) -> HttpResponse:
        """The answer to a request about the blob, or about the one of another `key`. Raises one of
        FAILURES. `doubts`: as in send()."""
        where = self.address.key if key is None else key

        def work() -> HttpResponse:
            pairs = [*(query or {}).items(), *self._signature(where, "rcwtd")]
            sent = {"x-ms-version": VERSION, **(headers or {})}
            if self._is_bearer:
                sent["Authorization"] = f"Bearer {self._token.now()}"
            url = _with_query(self.settings.url(where), pairs)
            return self._answer(HttpRequest(method, url, headers=sent, content=body))

        return send(work, kind, self._traffic, AZURE, doubts)

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
            if may_pass(error):
                raise
            problem = f"{status_of(error)}"
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


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed."""
    if status_of(error):
        return status_of(error) in _TEMPORARY
    return isinstance(
        error, ServiceResponseError | ServiceRequestTimeoutError | IncompleteReadError
    )


def status_of(error: BaseException) -> int:
    """The status of the answer; 0 if none came whole."""
    if isinstance(error, HttpResponseError) and not isinstance(error, IncompleteReadError):
        return error.status_code or 0
    return 0


def code_of(error: BaseException) -> str:
    """The store's word for the problem, or the name of the exception."""
    if not isinstance(error, HttpResponseError) or not status_of(error):
        return type(error).__name__
    response: Any = error.response
    found = _CODE.search(response.content)
    return response.headers.get("x-ms-error-code") or (found[1].decode() if found else "")


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


AZURE: Final = Failures(FAILURES, status_of, code_of, may_pass)
