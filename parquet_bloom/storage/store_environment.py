"""What says, besides the options of a store, where it is and who asks: variables of the environment, and files.
Whoever keeps something of a store from one call to the next finds out here whether it still is the same one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Final

from parquet_bloom.storage.store_kinds import Store

if TYPE_CHECKING:
    from parquet_bloom.storage.address import Address

# The beginnings of variables that are read by whatever sends requests.
_OF_CLIENTS: Final = (
    *("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"),
    *("all_proxy", "https_proxy", "http_proxy", "no_proxy"),
    *("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_"),
)


_hiding: Final = Lock()


def find_endpoint(store: Store, options: Mapping[str, str]) -> str | None:
    """The endpoint that is set for a store of this kind: first in the options, then in the environment. None if there
    is none."""
    named = named_endpoint(store, options)
    return named and named[1]


def named_endpoint(store: Store, options: Mapping[str, str]) -> tuple[str, str] | None:
    """What sets the endpoint, `endpoint` for an option and a variable by its name; and the endpoint, as find_endpoint
    returns it."""
    plain = {name.lower().removeprefix(store.prefix): value for name, value in options.items()}
    given = next((plain[name] for name in store.endpoint_options if name in plain), None)
    if given is not None:
        return "endpoint", given
    variables = ((name, os.environ.get(name)) for name in store.endpoint_variables)
    return next(((name, value) for name, value in variables if value), None)


def environment_of(store: Store) -> bytes:
    """Changes with everything outside of the options that stores of this kind, and credentials for them, depend on. A
    digest: it may outlive secrets, and tells none."""
    from hashlib import sha256

    begins = (*store.variables, *_OF_CLIENTS)
    found = sorted((name, os.environ.get(name)) for name in os.environ if name.startswith(begins))
    files = [_state_of(os.environ.get(variable) or usual) for variable, usual in store.files]
    return sha256(repr((found, files)).encode()).digest()


@contextmanager
def without_empty(store: Store) -> Iterator[None]:
    """The environment of this process, without those variables of a kind of store that are set to nothing, as CI sets
    secrets that it does not have. The clouds' own libraries take them for unset; obstore, which reads the environment
    by itself, takes them for credentials, regions and files without a name."""
    with _hiding:
        empty = [
            name
            for name, value in os.environ.items()
            if not value and name.startswith(store.variables)
        ]
        for name in empty:
            del os.environ[name]
        try:
            yield
        finally:
            for name in empty:
                os.environ.setdefault(name, "")


def place_of(address: Address) -> tuple[str | None, ...]:
    """What tells stores apart that have the same URLs; credentials do not."""
    store, options = address.store, sorted(address.options.items())
    accounts = [value for name, value in options if "account" in name.lower()]
    named = map(os.environ.get, store.account_variables)
    return address.query, find_endpoint(store, address.options), *accounts, *named


def _state_of(path: str) -> tuple[str, tuple[int, int, int] | None]:
    """Of a file that may be there."""
    whole = os.path.expanduser(path)
    try:
        status = os.stat(whole)
    except OSError:
        return whole, None
    return whole, (status.st_ino, status.st_size, status.st_mtime_ns)
