"""The obstore store of an address: from its options, and from the usual environment.

obstore reads the environment variables of each cloud's own tools, and the metadata of the machine. A
profile of AWS, which it does not know, comes from boto3 if that is installed.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, cast

from obstore import store as obstore_classes
from obstore.exceptions import BaseError, UnknownConfigurationKeyError
from obstore.store import ObjectStore

from parquet_bloom.errors import install, similar
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.logs import unlogged
from parquet_bloom.storage.objects.sending import Renewable
from parquet_bloom.storage.source import has_wildcard
from parquet_bloom.storage.store_environment import (
    environment_of,
    find_endpoint,
    named_endpoint,
    without_empty,
)
from parquet_bloom.storage.store_kinds import STORE_BY_SCHEME, STORES, Store

# Of the client, for all stores; the rest are options of the store.
_CLIENT_OPTIONS: Final = {
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "proxy_ca_certificate",
    "proxy_excludes",
    "proxy_url",
    "read_timeout",
    "timeout",
}

# A piece of 8 MiB may take its time on a slow line; what stalls is given up before.
_CLIENT: Final[dict[str, str]] = {
    "connect_timeout": "10s",
    "read_timeout": "30s",
    "timeout": "300s",
}

_COMMON_NAMES = (
    "access_key_id",
    "account_key",
    "account_name",
    "application_credentials",
    "base_url",
    "endpoint",
    "region",
    "sas_key",
    "secret_access_key",
    "service_account",
    "session_token",
    "skip_signature",
    "virtual_hosted_style_request",
    *sorted(_CLIENT_OPTIONS),
)

# Of what is not set that goes with the rest, by the end of what obstore says.
_UNSET: Final = {
    "Missing SecretAccessKey": "the access key is set without its secret: set AWS_SECRET_ACCESS_KEY, or the storage"
    " option secret_access_key=SECRET",
    "Missing AccessKeyId": "a secret is set without its access key: set AWS_ACCESS_KEY_ID, or the storage option"
    " access_key_id=KEY",
    "Account must be specified": "which storage account is not said: set AZURE_STORAGE_ACCOUNT_NAME, or the storage"
    " option account_name=NAME",
}


# The first that is set names the profile.
_PROFILE_VARIABLES: Final = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE")

_OF_OLD_VERSION: Final = "the newest version is read; a presigned https:// URL reads another one"


def open_store(address: Address) -> ObjectStore:
    """The store of `opened_store`, as it is now."""
    return opened_store(address).now()


def opened_store(address: Address) -> Renewable[ObjectStore]:
    """The store; one for all objects with the same options, as long as the environment says the same. Raises OSError
    that names `address`."""
    _check(address)
    root = f"{address.scheme.lower()}://{address.host}"
    given = tuple(sorted(address.options.items()))
    try:
        return _opened(root, given, address.query, environment_of(address.store))
    except UnknownConfigurationKeyError as error:
        name = str(error).split("'")[1]
        problem = f"no storage option {name}; {_meant_by(name, address.store)}"
        raise OSError(errno.EINVAL, problem, str(address)) from None
    except _ProfileError as error:
        raise OSError(errno.EINVAL, str(error), str(address)) from None
    except (BaseError, ValueError) as error:
        said = str(error).partition("\n")[0]
        if unset := next((what for each, what in _UNSET.items() if said.endswith(each)), None):
            raise PermissionError(errno.EACCES, unset, str(address)) from None
        raise OSError(errno.EINVAL, _about_options(said, address.options), str(address)) from None


def _meant_by(name: str, store: Store) -> str:
    """What to do in place of an option that a store does not have."""
    if name.lower() == "versionid":
        return _OF_OLD_VERSION
    of_store = store.endpoint_options[:1] if "endpoint" in name else ()
    if close := of_store or [each for each in similar(name, _COMMON_NAMES) if each != name]:
        return f"did you mean {', '.join(close)}?"
    if not store.has_folders:
        return f"those of {store.title} are {', '.join(sorted(_CLIENT_OPTIONS))}"
    return "if it is part of a key, write the question mark before it as %3F"


# What values are to be, by obstore's words.
_EXPECTED: Final = {"Duration": "a duration, such as 30s", "boolean": "true or false"}


def _about_options(said: str, options: Mapping[str, str]) -> str:
    """What obstore says of the values of options, without these, as they may be secrets; with the name of the one
    that it cannot read, or of those that have the same value."""
    before, found, kind = said.rpartition(" as ")
    wrong = [f"{name}=…" for name, value in options.items() if before.endswith(f'"{value}"')]
    if found and wrong:
        return f"the storage option {' or '.join(wrong)}: expected {_EXPECTED.get(kind, kind)}"
    for value in filter(None, options.values()):
        said = said.replace(value, "…")
    return f"storage options: {said}"


# What obstore puts into headers, and panics if it cannot.
_IN_HEADERS: Final = frozenset(
    ("access_key_id", "session_token", "token", "region", "default_region")
)


def _broken_over_lines(address: Address) -> Iterator[str]:
    """The options and variables that no header can have, as secrets of CI that end in a line break."""
    if address.store.name != "s3":
        return
    variables = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    for name, value in (*address.options.items(), *variables.items()):
        if name.lower().removeprefix("aws_") in _IN_HEADERS and not value.isprintable():
            yield name


def _check(address: Address) -> None:
    """Raise OSError for what obstore would take for another place."""
    if not address.host:
        raise OSError(errno.EINVAL, "names no bucket, container or server", str(address))
    if address.store.has_folders and has_wildcard(address.host):
        raise OSError(errno.EINVAL, "a wildcard in the name of a bucket or container", str(address))
    name, endpoint = named_endpoint(address.store, address.options) or ("", None)
    # At which obstore would panic.
    if endpoint is not None and re.match(r"https?://[^/?#]", endpoint) is None:
        what = f"{name}: {endpoint!r}, expected http:// or https:// and a host"
        raise OSError(errno.EINVAL, what, str(address))
    if broken := next(_broken_over_lines(address), None):
        what = f"{broken}: has a line break or another control character, expected one line"
        raise OSError(errno.EINVAL, what, str(address))
    key = address.key.rstrip("/") if address.store.has_folders else address.key.strip("/")
    if key and not {"", ".", ".."}.isdisjoint(key.split("/")):
        what = "a key with an empty part, or one of dots (//, /./, /../), cannot be reached"
        raise OSError(errno.EINVAL, what, str(address))


def _is_known(option: str) -> bool:
    """Whether any kind of store has such an option."""
    return any(_has_option(store, option) for store in STORES if store.has_folders)


def _has_option(store: Store, option: str) -> bool:
    opened_by: Any = getattr(obstore_classes, store.opened_by)
    try:
        opened_by("any", config={option: ""})
    except UnknownConfigurationKeyError:
        return False
    except (BaseError, ValueError):
        # Of its value, or what goes with it.
        return True
    return True


def _is_endpoint(store: Store, option: str) -> bool:
    return option.lower().removeprefix(store.prefix) in store.endpoint_options


@lru_cache(maxsize=64)
def _opened(
    root: str, given: tuple[tuple[str, str], ...], query: str, environment: bytes
) -> Renewable[ObjectStore]:
    # New credentials are for the same place.
    endpoint = find_endpoint(STORE_BY_SCHEME[root.partition("://")[0]], dict(given))
    return Renewable(lambda: _store(root, given, query, endpoint))


def _store(
    root: str, given: tuple[tuple[str, str], ...], query: str, endpoint: str | None
) -> ObjectStore:
    # obstore's types know some names of options; it takes more. Credentials of a file or of the environment are
    # read here.
    options: Any = dict(given)
    client = _CLIENT | {name: options.pop(name) for name in _CLIENT_OPTIONS & options.keys()}
    scheme, _, host = root.partition("://")
    store = STORE_BY_SCHEME[scheme]
    opened_by = getattr(obstore_classes, store.opened_by)
    if (endpoint or root).startswith("http://"):
        client.setdefault("allow_http", "true")
    # Requests are sent again by `sending`.
    settings: dict[str, Any] = {"client_options": client, "retry_config": {"max_retries": 0}}
    if not store.has_folders:
        # Options are for all URLs of a command, of which others may be in stores.
        if unknown := next((name for name in options if not _is_known(name)), None):
            raise UnknownConfigurationKeyError(f"Configuration key: {unknown!r}")
        url = f"{root}/?{query}" if query else root
        return cast(ObjectStore, opened_by.from_url(url, **settings))
    if endpoint is not None:
        # One name for it, the last: what the environment says by that would go before what an option says by another.
        options = {name: value for name, value in options.items() if not _is_endpoint(store, name)}
        options[f"{store.prefix}{store.endpoint_options[-1]}"] = endpoint
    variable = next(filter(os.environ.get, _PROFILE_VARIABLES), None)
    if store.name == "s3" and variable and not _has_keys(options):
        settings |= _from_profile(variable, options)
    with without_empty(store):
        if scheme.startswith("abfs") and "@" in host:
            return cast(ObjectStore, opened_by.from_url(f"{root}/", config=options, **settings))
        return cast(ObjectStore, opened_by(host, config=options, **settings))


def proxies_in(options: Mapping[str, str]) -> dict[str, str]:
    """The proxies of requests, by scheme, that options without a prefix name."""
    proxy = options.get("proxy_url")
    return {"http": proxy, "https": proxy} if proxy else {}


def checks_certificates(options: Mapping[str, str]) -> bool:
    return options.get("allow_invalid_certificates", "").lower() != "true"


def has_keys(address: Address) -> bool:
    """Whether keys of S3, or a profile with some, are set."""
    is_profile_set = any(map(os.environ.get, _PROFILE_VARIABLES))
    return address.store.name == "s3" and (is_profile_set or _has_keys(address.options))


def _has_keys(options: Mapping[str, str]) -> bool:
    names = {name.lower().removeprefix("aws_") for name in options}
    return bool(names & {"access_key_id", "skip_signature"} or os.environ.get("AWS_ACCESS_KEY_ID"))


class _ProfileError(Exception):
    """A profile that cannot be read."""


def _from_profile(variable: str, options: dict[str, str]) -> dict[str, object]:
    """What the profile that is set by a `variable` says; its region goes to the options. Raises _ProfileError without
    boto3, or without such a profile."""
    profile = os.environ[variable]
    try:
        import boto3
        from botocore.exceptions import BotoCoreError
    except ImportError:
        raise _ProfileError(
            f"{variable} is {profile}, which boto3 reads: {install('s3')}"
        ) from None
    from obstore.auth.boto3 import Boto3CredentialProvider

    try:
        with unlogged():
            session = boto3.Session(profile_name=profile)
            provider = Boto3CredentialProvider(session)
    except (BotoCoreError, ValueError) as error:
        raise _ProfileError(f"{variable} is {profile}: {error}") from None
    if session.region_name and not {"region", "aws_region"} & options.keys():
        options["region"] = session.region_name

    def credentials() -> object:
        with unlogged():
            return provider()

    return {"credential_provider": credentials}
