"""Tokens of Microsoft Entra for a store in Azure: given, or for a service principal, a workload, a
managed identity, or who is logged in to the command line of Azure.

What reads blobs asks for them in the same way, but does not hand them out.

Spec: https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow,
https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any, Final
from urllib.parse import urlencode

from azure.core.rest import HttpRequest

from parquet_bloom.storage.objects.azure_settings import Settings

_RESOURCE: Final = "https://storage.azure.com"
_SCOPE: Final = f"{_RESOURCE}/.default"
_AUTHORITY: Final = "https://login.microsoftonline.com"
_MACHINE: Final = "http://169.254.169.254/metadata/identity/oauth2/token"
# Before it expires, a token is renewed by so many seconds.
_EARLY: Final = 300

# Sends a request; returns what the JSON of the answer says.
Ask = Callable[[HttpRequest], Mapping[str, Any]]


class Token:
    """The token of a kind of credential, renewed when it expires. For several threads."""

    def __init__(self, settings: Settings, kind: str, ask: Ask) -> None:
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
                errno.EACCES, "az account get-access-token gives no token: run az login"
            ) from None
