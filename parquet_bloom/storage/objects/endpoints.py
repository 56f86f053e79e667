"""Where the store of an address is, if options or the environment name another place than its cloud's
own."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from parquet_bloom.storage.address import Address
from parquet_bloom.vocabulary import StoreKind


@dataclass(frozen=True, slots=True)
class _Names:
    """Of the endpoint, as obstore looks for it: first the options, which may begin with `prefix`, in any
    case; then the environment's variables."""

    prefix: str
    options: tuple[str, ...]
    variables: tuple[str, ...]


_NAMES: Final[Mapping[StoreKind, _Names]] = {
    "s3": _Names(
        "aws_",
        ("endpoint", "endpoint_url", "endpoint_url_s3"),
        ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    ),
    "gs": _Names("google_", ("base_url",), ("GOOGLE_BASE_URL",)),
    "az": _Names(
        "azure_",
        ("endpoint", "storage_endpoint"),
        ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
    ),
}


def endpoint_of(kind: StoreKind, options: Mapping[str, str]) -> str | None:
    """The endpoint that is set for stores of this kind; None if there is none."""
    names = _NAMES.get(kind)
    if names is None:
        return None
    plain = {name.lower().removeprefix(names.prefix): value for name, value in options.items()}
    given = next((plain[name] for name in names.options if name in plain), None)
    if given is not None:
        return given
    return next(filter(None, map(os.environ.get, names.variables)), None)


def check_endpoint(address: Address) -> None:
    """Raise OSError for an endpoint at which obstore would panic."""
    endpoint = endpoint_of(address.kind, address.options)
    if endpoint is not None and re.match(r"https?://[^/?#]", endpoint) is None:
        what = f"endpoint: {endpoint!r}, expected http:// or https:// and a host"
        raise OSError(errno.EINVAL, what, str(address))
