"""How the data files of an Iceberg table are reached: by what the catalog gives PyIceberg for the object
store, as far as nobody says otherwise.

Source: PyIceberg, pyiceberg.io and its configuration, "FileIO"; Iceberg, open API, LoadTableResult.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.storage.source import OBJECT_SCHEMES
from parquet_bloom.vocabulary import StoreKind

# Our options of a store, and the properties that are the same; the first of these that is there counts.
_NAMES: Final[Mapping[StoreKind, Mapping[str, tuple[str, ...]]]] = {
    "s3": {
        "endpoint": ("s3.endpoint",),
        "region": ("s3.region", "client.region"),
        "access_key_id": ("s3.access-key-id", "client.access-key-id"),
        "secret_access_key": ("s3.secret-access-key", "client.secret-access-key"),
        "session_token": ("s3.session-token", "client.session-token"),
        "skip_signature": ("s3.anonymous",),
        "virtual_hosted_style_request": ("s3.force-virtual-addressing",),
        "proxy_url": ("s3.proxy-uri",),
    },
    "az": {
        "account_name": ("adls.account-name",),
        "account_key": ("adls.account-key",),
        "sas_key": ("adls.sas-token",),
        "tenant_id": ("adls.tenant-id",),
        "client_id": ("adls.client-id",),
        "client_secret": ("adls.client-secret",),
        "token": ("adls.token",),
    },
    "gs": {},
    "http": {},
}

# Source: object_store, AmazonS3ConfigKey and AzureConfigKey.
_ALIASES: Final[Mapping[StoreKind, Mapping[str, str]]] = {
    "s3": {"default_region": "region", "endpoint_url": "endpoint", "token": "session_token"},
    "az": {
        "access_key": "account_key",
        "authority_id": "tenant_id",
        "bearer_token": "token",
        "master_key": "account_key",
        "sas_token": "sas_key",
    },
    "gs": {},
    "http": {},
}

# What says who asks. Those of two sources must not be mixed.
_CREDENTIALS: Final[Mapping[StoreKind, frozenset[str]]] = {
    "s3": frozenset(("access_key_id", "secret_access_key", "session_token", "skip_signature")),
    "az": frozenset(_NAMES["az"]) - {"account_name"},
    "gs": frozenset(),
    "http": frozenset(),
}

# Where whoever has no options of a store says who asks.
_ENVIRONMENT: Final[Mapping[StoreKind, tuple[str, ...]]] = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"),
    "az": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_TOKEN"),
    "gs": ("GOOGLE_APPLICATION_CREDENTIALS",),
    "http": (),
}

# Properties that lead to credentials, or to a store, in a way that there is no option for.
_UNKNOWN: Final[Mapping[StoreKind, tuple[str, ...]]] = {
    "s3": (
        *("s3.role-arn", "client.role-arn", "s3.profile-name", "client.profile-name"),
        *("s3.signer", "s3.signer.uri"),
    ),
    "az": ("adls.connection-string", "adls.credential", "adls.account-host"),
    "gs": ("gcs.oauth2.token", "gcs.service.host"),
    "http": (),
}

_EXPECTED: Final[Mapping[StoreKind, str]] = {
    "s3": "access_key_id, secret_access_key and session_token",
    "az": "account_name and account_key, or sas_key",
    "gs": "service_account, a file of credentials",
    "http": "",
}

_FLAGS: Final = {"skip_signature", "virtual_hosted_style_request"}


def options_for(
    where: str, name: str, properties: Mapping[str, str], given: Mapping[str, str]
) -> dict[str, str]:
    """The options of the store of a file, by its name in the table. `properties`: of the table's FileIO;
    `given`: by the user, which go before them. Raises UnsupportedError for properties that are needed to
    reach it and cannot be followed."""
    kind = OBJECT_SCHEMES.get(name.partition("://")[0].lower())
    if kind is None:
        return dict(given)
    plain = {_plain(option, kind) for option in given}
    found = dict(_found(kind, properties))
    if plain & _CREDENTIALS[kind]:
        found = {key: value for key, value in found.items() if key not in _CREDENTIALS[kind]}
    elif not given and not any(os.environ.get(each) for each in _ENVIRONMENT[kind]):
        unknown = [each for each in _UNKNOWN[kind] if properties.get(each)]
        if unknown:
            raise UnsupportedError(
                f"{where}: its catalog has {' and '.join(unknown)}, which pbloom does not follow:"
                f" expected {_EXPECTED[kind]} as storage options (--storage-option NAME=VALUE)"
            )
    return {key: value for key, value in found.items() if key not in plain} | dict(given)


def properties_for(options: Mapping[str, str]) -> dict[str, str]:
    """The properties of a FileIO for options of a store."""
    found = {}
    for kind, names in _NAMES.items():
        for key, value in options.items():
            if (plain := _plain(key, kind)) in names:
                found[names[plain][0]] = value
    return found


def _found(kind: StoreKind, properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for option, names in _NAMES[kind].items():
        value = next((each for name in names if (each := properties.get(name))), None)
        if value is None:
            continue
        if option in _FLAGS:
            value = str(value).lower()
        elif option == "endpoint" and "://" not in value:
            value = f"https://{value}"
        yield option, str(value)


def _plain(option: str, kind: StoreKind) -> str:
    """The one of the names that obstore takes for an option which is in `_NAMES`."""
    name = option.lower()
    for prefix in ("aws_", "azure_storage_", "azure_"):
        name = name.removeprefix(prefix)
    return _ALIASES[kind].get(name, name)
