"""How the data files of an Iceberg table are reached: by what the catalog gives PyIceberg for the object
store, as far as nobody says otherwise.

Source: PyIceberg, pyiceberg.io and its configuration, "FileIO"; Iceberg, open API, LoadTableResult.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.storage.store_kinds import STORE_BY_SCHEME


class _StoreProperties(NamedTuple):
    """What PyIceberg calls the options of a store. `names`: by our option, the properties that are the
    same, of which the first that is there counts; `aliases`: other names of our options; `credentials`:
    the options that say who asks, of which those of two sources must not be mixed, and `variables` of the
    environment that say it to whoever has no options; `unknown`: properties that lead to credentials, or
    to a store, in a way that there is no option for."""

    names: Mapping[str, tuple[str, ...]] = {}
    aliases: Mapping[str, str] = {}
    credentials: frozenset[str] = frozenset()
    variables: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


# By the name of a kind of store. Source of the aliases: object_store, AmazonS3ConfigKey and AzureConfigKey.
_PROPERTIES: Final[Mapping[str, _StoreProperties]] = {
    "s3": _StoreProperties(
        names={
            "endpoint": ("s3.endpoint",),
            "region": ("s3.region", "client.region"),
            "access_key_id": ("s3.access-key-id", "client.access-key-id"),
            "secret_access_key": ("s3.secret-access-key", "client.secret-access-key"),
            "session_token": ("s3.session-token", "client.session-token"),
            "skip_signature": ("s3.anonymous",),
            "virtual_hosted_style_request": ("s3.force-virtual-addressing",),
            "proxy_url": ("s3.proxy-uri",),
        },
        aliases={
            "default_region": "region",
            "endpoint_url": "endpoint",
            "token": "session_token",
        },
        credentials=frozenset(
            ("access_key_id", "secret_access_key", "session_token", "skip_signature")
        ),
        variables=("AWS_ACCESS_KEY_ID", "AWS_PROFILE"),
        unknown=(
            *("s3.role-arn", "client.role-arn", "s3.profile-name", "client.profile-name"),
            *("s3.signer", "s3.signer.uri"),
        ),
    ),
    "az": _StoreProperties(
        names={
            "account_name": ("adls.account-name",),
            "account_key": ("adls.account-key",),
            "sas_key": ("adls.sas-token",),
            "tenant_id": ("adls.tenant-id",),
            "client_id": ("adls.client-id",),
            "client_secret": ("adls.client-secret",),
            "token": ("adls.token",),
        },
        aliases={
            "access_key": "account_key",
            "authority_id": "tenant_id",
            "bearer_token": "token",
            "master_key": "account_key",
            "sas_token": "sas_key",
        },
        credentials=frozenset(
            ("account_key", "sas_key", "tenant_id", "client_id", "client_secret", "token")
        ),
        variables=(*("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_TOKEN"),),
        unknown=("adls.connection-string", "adls.credential", "adls.account-host"),
    ),
    "gs": _StoreProperties(
        variables=("GOOGLE_APPLICATION_CREDENTIALS",),
        unknown=("gcs.oauth2.token", "gcs.service.host"),
    ),
}

_FLAGS: Final = {"skip_signature", "virtual_hosted_style_request"}


def options_for(
    where: str, name: str, properties: Mapping[str, str], given: Mapping[str, str]
) -> dict[str, str]:
    """The options of the store of a file, by its name in the table. `properties`: of the table's FileIO;
    `given`: by the user, which go before them. Raises UnsupportedError for properties that are needed to
    reach it and cannot be followed."""
    store = STORE_BY_SCHEME.get(name.partition("://")[0].lower())
    if store is None:
        return dict(given)
    kind = _PROPERTIES.get(store.name, _StoreProperties())
    plain = {_plain(option, kind) for option in given}
    found = dict(_found(kind, properties))
    if plain & kind.credentials:
        found = {key: value for key, value in found.items() if key not in kind.credentials}
    elif not given and not any(map(os.environ.get, kind.variables)):
        unknown = [each for each in kind.unknown if properties.get(each)]
        if unknown:
            # Not options, which there are not everywhere.
            raise UnsupportedError(
                f"{where}: its catalog has {' and '.join(unknown)}, which pbloom does not follow:"
                f" set {' or '.join(kind.variables)} in the environment"
            )
    return {key: value for key, value in found.items() if key not in plain} | dict(given)


def properties_for(options: Mapping[str, str]) -> dict[str, str]:
    """The properties of a FileIO for options of a store."""
    return {
        kind.names[plain][0]: value
        for kind in _PROPERTIES.values()
        for key, value in options.items()
        if (plain := _plain(key, kind)) in kind.names
    }


def _found(kind: _StoreProperties, properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for option, names in kind.names.items():
        value = next((each for name in names if (each := properties.get(name))), None)
        if value is None:
            continue
        if option in _FLAGS:
            value = str(value).lower()
        elif option == "endpoint" and "://" not in value:
            value = f"https://{value}"
        yield option, str(value)


def _plain(option: str, kind: _StoreProperties) -> str:
    """The one of the names that obstore takes for an option which is in `names`."""
    name = option.lower()
    for prefix in ("aws_", "azure_storage_", "azure_"):
        name = name.removeprefix(prefix)
    return kind.aliases.get(name, name)
