"""Where a blob is and whose credentials hold for it: as obstore, which reads it, takes them from the
options and the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.stores import store_of

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


class Settings:
    """Of the store of an `address`: its `endpoint`, which has the account, the `container`, and what
    else is set, by `of`."""

    def __init__(self, address: Address) -> None:
        """Raises OSError, as store_of, and RewriteError for what can only be read."""
        store: Any = store_of(address)
        given: Mapping[str, Any] = store.config
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
        # Emulators and gateways are found out by `conditions`.
        self.is_azure = (urlsplit(self.endpoint).hostname or "").endswith(_OWN)
        if self.of("encryption_key"):
            raise RewriteError(
                f"{address}: not changed in place: blobs encrypted with a customer's key are only read"
            )

    def of(self, name: str) -> str:
        """An option; empty if it is not set."""
        return self._values.get(name, "")

    def is_set(self, name: str) -> bool:
        return self.of(name).lower() in ("1", "true", "on", "yes", "y")

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
