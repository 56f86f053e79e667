"""Requests to the Blob service of Azure about one blob: the same store, with the same credentials, as
obstore reads.

They are sent by what Azure's own library sends requests with. Its clients of blobs do not do: they fail
on blocks whose names are not text, and they copy without a condition for the source.

Spec: https://learn.microsoft.com/rest/api/storageservices/blob-service-rest-api
"""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Final, TypedDict
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit
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
from obstore.store import AzureStore

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import Address, is_on
from parquet_bloom.storage.objects.failures import ChangeFailures
from parquet_bloom.storage.objects.sending import Attempts, Renewable, Sender, prefix_of
from parquet_bloom.storage.objects.stores import checks_certificates, open_store, proxies_in
from parquet_bloom.storage.traffic import Requests, Traffic

VERSION: Final = "2023-11-03"

_CODE: Final = re.compile(rb"<Code>\s*(\w+)\s*</Code>")
_REFUSALS: Final = {
    "BlobImmutableDueToPolicy": "an immutability policy or a legal hold protects it",
    "AuthenticationFailed": "the key, SAS or token is wrong, or has expired",
    "AuthorizationPermissionMismatch": "allow blobs/read and blobs/write, or make a SAS with rw",
    "InvalidBlobOrBlock": "blocks of another upload, in progress or left by a killed run, have names of"
    " another length: try again later, or discard those of killed builds with `pbloom clean-temp --uploads`",
    "InvalidAuthenticationInfo": "the token is wrong, or has expired",
    "LeaseIdMissing": "it is leased",
}
# A signature holds for so long.
_SIGNED: Final = timedelta(hours=1)


class AzureClient:
    """Requests about one blob, counted in `traffic`, repeated if their failure may pass."""

    def __init__(self, address: Address, traffic: Traffic) -> None:
        """Raises RewriteError for credentials that are only for reading, OSError."""
        self.address = address
        access = Renewable(lambda: _Access(AzureSettings(address), self._json))
        self._sender = Sender(prefix_of(address), traffic, AZURE, access)
        if access.now().kind == "fabric":
            raise RewriteError(
                f"{address}: not changed in place: with a session token of Fabric, objects are"
                " read-only"
            )
        options = {name.lower(): value for name, value in address.options.items()}
        proxies = proxies_in(options)
        self._proxies = {"proxies": proxies} if proxies else {}
        # Connections are not shared by processes.
        self._http = _http(checks_certificates(options), os.getpid())

    @property
    def settings(self) -> AzureSettings:
        return self._access.settings

    @property
    def _access(self) -> _Access:
        return self._sender.signed.now()

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

        def work(access: _Access) -> HttpResponse:
            pairs = [*(query or {}).items(), *access.signature(where, "rcwtd")]
            sent = {"x-ms-version": VERSION, **(headers or {})}
            if access.is_bearer:
                sent["Authorization"] = f"Bearer {access.token.now()}"
            url = _with_query(access.settings.url(where), pairs)
            return self._answer(HttpRequest(method, url, headers=sent, content=body))

        return self._sender.send(work, kind, attempts)

    def as_source(self) -> dict[str, str]:
        """The headers by which the store is told to copy from the blob."""
        access = self._access
        pairs = access.signature(self.address.key, "r")
        headers = {"x-ms-copy-source": _with_query(access.settings.url(self.address.key), pairs)}
        if access.is_bearer:
            headers["x-ms-copy-source-authorization"] = f"Bearer {access.token.now()}"
        return headers

    def _answer(self, request: HttpRequest) -> HttpResponse:
        response: HttpResponse = self._http.send_request(request, **self._proxies)
        if not 200 <= response.status_code < 300:
            raise HttpResponseError(response=response)
        return response

    def _json(self, request: HttpRequest) -> _Granted:
        try:
            answer: _Granted = self._answer(request).json()
            return answer
        except HttpResponseError as error:
            if AZURE.may_pass(error):
                raise
            problem = f"{AZURE.status(error)}"
        except ValueError:
            problem = "no JSON came"
        raise PermissionError(errno.EACCES, f"the credentials got no token ({problem})")


class _Access:
    """What proves that the account allows a request: a key, a signature or a token, by `kind`."""

    def __init__(self, settings: AzureSettings, ask: Callable[[HttpRequest], _Granted]) -> None:
        """`ask`: for tokens."""
        self.settings, self.kind = settings, settings.credential()
        self.token = Token(settings, self.kind, ask)

    @property
    def is_bearer(self) -> bool:
        return self.kind not in ("none", "access_key", "sas_token")

    def signature(self, key: str, permissions: str) -> list[tuple[str, str]]:
        """What goes into the query of a URL."""
        if self.kind == "sas_token":
            return self.settings.shared_access_signature()
        if self.kind != "access_key":
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


def _with_query(url: str, pairs: list[tuple[str, str]]) -> str:
    return f"{url}?{urlencode(pairs, quote_via=quote)}" if pairs else url


@lru_cache(maxsize=64)
def _http(is_checked: bool, process: int) -> PipelineClient[HttpRequest, HttpResponse]:
    # Attempts are made by `sending`, where they are counted: no policy makes others, or logs them.
    transport = RequestsTransport(
        connection_timeout=10, read_timeout=300, connection_verify=is_checked
    )
    return PipelineClient("", policies=[], transport=transport)


class _AzureFailures(ChangeFailures):
    kinds = (AzureError, OSError)

    def status(self, error: BaseException) -> int:
        # One that did not come whole is none.
        if isinstance(error, HttpResponseError) and not isinstance(error, IncompleteReadError):
            return error.status_code or 0
        return 0

    def code(self, error: BaseException) -> str:
        if not isinstance(error, HttpResponseError) or not self.status(error):
            return type(error).__name__
        response: HttpResponse = error.response
        found = _CODE.search(response.content)
        return response.headers.get("x-ms-error-code") or (found[1].decode() if found else "")

    def headers(self, error: BaseException) -> Mapping[str, str]:
        if not isinstance(error, HttpResponseError) or error.response is None:
            return {}
        return dict(error.response.headers)

    def is_broken(self, error: BaseException) -> bool:
        return isinstance(
            error, ServiceResponseError | ServiceRequestTimeoutError | IncompleteReadError
        )

    def is_unmet(self, error: BaseException) -> bool:
        return super().is_unmet(error) and not self.code(error).startswith("Lease")

    def may_be_stale(self, error: BaseException) -> bool:
        # Blocks are gone when others have replaced the blob.
        return self.code(error) == "InvalidBlockList"

    def as_os_error(self, address: Address, error: BaseException, what: str) -> OSError:
        code = self.code(error)
        if code not in _REFUSALS:
            return super().as_os_error(address, error, what)
        said = f"writing was refused ({self.summary(error)}): {_REFUSALS[code]}; {what}"
        return PermissionError(errno.EACCES, said, str(address))


AZURE: Final = _AzureFailures()


def answered_at(headers: Mapping[str, str]) -> int:
    """When the store answered, by its own clock, in seconds since 1970."""
    said = headers.get("Date")
    return int(parsedate_to_datetime(said).timestamp() if said else time.time())


def parsed(answer: HttpResponse) -> ElementTree.Element:
    """The XML of an answer. Raises OSError."""
    try:
        return ElementTree.fromstring(answer.content)
    except ElementTree.ParseError:
        raise OSError(errno.EIO, "the store's answer is not as expected") from None


# ------------------------------------------------------------------------------------------------
# Where a blob is and whose credentials hold for it: as obstore, which reads it, takes them from the options
# and the environment

# What is in the environment, by the option for which it stands. The first that is set holds.
_VARIABLES: Final = {
    "account_name": ("AZURE_STORAGE_ACCOUNT_NAME",),
    "account_key": (
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_MASTER_KEY",
    ),
    "authority_host": ("AZURE_STORAGE_AUTHORITY_HOST", "AZURE_AUTHORITY_HOST"),
    "client_id": ("AZURE_STORAGE_CLIENT_ID", "AZURE_CLIENT_ID"),
    "client_secret": ("AZURE_STORAGE_CLIENT_SECRET", "AZURE_CLIENT_SECRET"),
    "credential_type": ("AZURE_CREDENTIAL_TYPE",),
    "encryption_key": ("AZURE_ENCRYPTION_KEY",),
    "endpoint": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
    "fabric_session_token": ("AZURE_FABRIC_SESSION_TOKEN",),
    "federated_token_file": ("AZURE_FEDERATED_TOKEN_FILE",),
    "msi_endpoint": ("AZURE_MSI_ENDPOINT", "AZURE_IDENTITY_ENDPOINT"),
    "msi_resource_id": ("AZURE_MSI_RESOURCE_ID",),
    "object_id": ("AZURE_OBJECT_ID",),
    "sas_key": ("AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN"),
    "skip_signature": ("AZURE_SKIP_SIGNATURE",),
    "tenant_id": (
        "AZURE_STORAGE_TENANT_ID",
        "AZURE_STORAGE_AUTHORITY_ID",
        "AZURE_TENANT_ID",
        "AZURE_AUTHORITY_ID",
    ),
    "token": ("AZURE_STORAGE_TOKEN",),
    "use_azure_cli": ("AZURE_USE_AZURE_CLI",),
    "use_emulator": ("AZURE_STORAGE_USE_EMULATOR",),
    "use_fabric_endpoint": ("AZURE_USE_FABRIC_ENDPOINT",),
}

# Of the emulator, as documented.
_EMULATOR: Final = {
    "account_name": "devstoreaccount1",
    "account_key": "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
}

# Of Azure in all its clouds.
_PUBLIC: Final = "core.windows.net"
_OWN: Final = (
    f".{_PUBLIC}",
    ".core.usgovcloudapi.net",
    ".core.chinacloudapi.cn",
    ".storage.azure.net",
)


class AzureSettings:
    """Of the store of an `address`: its `endpoint`, which has the account, the `container`, and what
    else is set, by `of`."""

    def __init__(self, address: Address) -> None:
        """Raises OSError, as open_store, and RewriteError for what can only be read."""
        store = open_store(address)
        assert isinstance(store, AzureStore)
        given: Mapping[str, object] = store.config
        self._values = {
            name: value
            for name, variables in _VARIABLES.items()
            if (value := str(given.get(name) or next(filter(None, map(os.getenv, variables)), "")))
        }
        self.container = str(given.get("container_name") or address.host)
        if self.is_set("use_emulator"):
            self._values = _EMULATOR | self._values
            root = os.getenv("AZURITE_BLOB_STORAGE_URL") or "http://127.0.0.1:10000"
            self.endpoint = f"{root.rstrip('/')}/{self.of('account_name')}"
        else:
            service = "fabric.microsoft.com" if self.is_set("use_fabric_endpoint") else _PUBLIC
            own = f"https://{self.of('account_name')}.blob.{service}"
            self.endpoint = (self.of("endpoint") or own).rstrip("/")
        # Emulators and gateways are found out by `check_conditions`.
        self.is_azure = (urlsplit(self.endpoint).hostname or "").endswith(_OWN)
        if self.of("encryption_key"):
            raise RewriteError(
                f"{address}: not changed in place: blobs encrypted with a customer's key are"
                " read-only"
            )

    def of(self, name: str) -> str:
        """An option; empty if it is not set."""
        return self._values.get(name, "")

    def is_set(self, name: str) -> bool:
        return is_on(self.of(name))

    def url(self, key: str) -> str:
        return f"{self.endpoint}/{quote(self.container)}/{quote(key, safe='~/')}"

    def credential(self) -> str:
        """Which kind holds, in obstore's words for `credential_type`; `none` for public containers."""
        if self.is_set("skip_signature"):
            return "none"
        if self.of("credential_type") not in ("", "auto"):
            return self.of("credential_type")
        if self.is_set("use_emulator"):
            return (
                "sas_token" if self.of("sas_key") and not self.of("account_key") else "access_key"
            )
        for kind, names in _KINDS.items():
            if all(map(self.of, names)):
                return kind
        return "azure_cli" if self.is_set("use_azure_cli") else "managed_identity"

    def shared_access_signature(self) -> list[tuple[str, str]]:
        """As pairs for a query."""
        pairs = unquote(self.of("sas_key")).lstrip("?").split("&")
        return [(name, value) for name, _, value in (pair.partition("=") for pair in pairs) if name]


# In obstore's order: what each kind needs.
_KINDS: Final = {
    "fabric": ("fabric_session_token",),
    "bearer_token": ("token",),
    "access_key": ("account_key",),
    "workload_identity": ("client_id", "tenant_id", "federated_token_file"),
    "client_secret": ("client_id", "client_secret", "tenant_id"),
    "sas_token": ("sas_key",),
}


# ------------------------------------------------------------------------------------------------
# Tokens of Microsoft Entra: given, or for a service principal, a workload, a managed identity, or who is
# logged in to the command line of Azure. What reads blobs asks for them in the same way, but does not hand
# them out.
#
# Spec: https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow,
# https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token

_RESOURCE: Final = "https://storage.azure.com"
_SCOPE: Final = f"{_RESOURCE}/.default"
_AUTHORITY: Final = "https://login.microsoftonline.com"
_MACHINE: Final = "http://169.254.169.254/metadata/identity/oauth2/token"
# Before it expires, a token is renewed by so many seconds.
_EARLY: Final = 300


class _Granted(TypedDict, total=False):
    """What the JSON of an answer says."""

    access_token: str
    expires_in: float | str
    expires_on: float | str


class Token:
    """The token of a kind of credential, renewed when it expires. For several threads."""

    def __init__(
        self, settings: AzureSettings, kind: str, ask: Callable[[HttpRequest], _Granted]
    ) -> None:
        self._settings, self._kind, self._ask = settings, kind, ask
        self._renewing = Lock()
        self._token, self._until = "", 0.0

    def now(self) -> str:
        """Raises OSError, and what `ask` raises."""
        if self._kind == "bearer_token":
            return self._settings.of("token")
        with self._renewing:
            if time.time() > self._until:
                try:
                    self._token, expires = getattr(self, f"_{self._kind}")()
                except (KeyError, ValueError):
                    raise PermissionError(errno.EACCES, "the credentials got no token") from None
                self._until = expires - _EARLY
            return self._token

    def _client_secret(self) -> tuple[str, float]:
        return self._of_application(client_secret=self._settings.of("client_secret"))

    def _workload_identity(self) -> tuple[str, float]:
        return self._of_application(
            client_assertion_type="urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            client_assertion=Path(self._settings.of("federated_token_file")).read_text(),
        )

    def _of_application(self, **proof: str) -> tuple[str, float]:
        of = self._settings.of
        authority = (of("authority_host") or _AUTHORITY).rstrip("/")
        form = {"client_id": of("client_id"), "scope": _SCOPE, "grant_type": "client_credentials"}
        answer = self._ask(
            HttpRequest(
                "POST", f"{authority}/{of('tenant_id')}/oauth2/v2.0/token", data=form | proof
            )
        )
        return answer["access_token"], time.time() + float(answer["expires_in"])

    def _managed_identity(self) -> tuple[str, float]:
        of = self._settings.of
        query = {"api-version": "2019-08-01", "resource": _RESOURCE}
        # The same one as obstore names.
        for option in ("msi_resource_id", "object_id", "client_id"):
            if of(option):
                query["msi_res_id" if option == "msi_resource_id" else option] = of(option)
                break
        headers = {"metadata": "true"}
        if secret := os.getenv("IDENTITY_HEADER"):
            headers["x-identity-header"] = secret
        url = f"{of('msi_endpoint') or _MACHINE}?{urlencode(query)}"
        answer = self._ask(HttpRequest("GET", url, headers=headers))
        return answer["access_token"], float(answer["expires_on"])

    def _azure_cli(self) -> tuple[str, float]:
        command = ("az", "account", "get-access-token", "--output", "json", "--scope", _SCOPE)
        try:
            said = subprocess.run(command, check=True, capture_output=True).stdout
            answer = json.loads(said)
            return answer["accessToken"], float(
                answer.get("expires_on") or time.time() + 2 * _EARLY
            )
        except (OSError, subprocess.SubprocessError):
            raise PermissionError(
                errno.EACCES, "az account get-access-token returned no token: run az login"
            ) from None
