"""URLs of objects: what is shown of them, and what is needed to read there and must not be shown.

    s3://bucket/key   s3a s3n          Amazon S3 and stores like it
    gs://bucket/key   gcs              Google Cloud Storage
    az://container/key   azure         Azure, with the account from options or environment
    abfss://container@account.dfs.core.windows.net/key   abfs
    http://host/path   https           any web server; there is nothing to list

Keys are percent-encoded where a URL has to, as pyarrow and Spark do. Other URLs, such as `hdfs://`, are
read through pyarrow, see `remote`.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from parquet_bloom.storage.source import is_object
from parquet_bloom.storage.store_kinds import STORE_BY_SCHEME, STORES, Store

if TYPE_CHECKING:
    from datetime import datetime

    # Here and below, urllib.parse is only for URLs of objects: to import it takes longer than to read a
    # local file.
    from urllib.parse import SplitResult

# Not escaped in the URL of a key. An asterisk in a key would be taken for a glob.
UNESCAPED = "/:@!$&'(),;=+"

# The options whose values are no secrets.
_SHOWN: Final = frozenset(
    (
        *("allow_http", "allow_invalid_certificates", "connect_timeout", "proxy_excludes"),
        *("read_timeout", "timeout"),
        *("account_name", "default_region", "region", "request_payer", "skip_signature"),
        *("unsigned_payload", "use_azure_cli", "use_emulator", "virtual_hosted_style_request"),
    )
)
# Those that are unless there is a name, a password or a signature in them.
_SHOWN_URLS: Final = frozenset(
    ("proxy_url", *(name for store in STORES for name in store.endpoint_options))
)

# What pyarrow calls it in the query of a URL, and obstore as an option.
_PYARROW_OPTIONS = {"access_key": "access_key_id", "secret_key": "secret_access_key"}


class Listed(NamedTuple):
    """What a listing or a manifest says of an object, None where it does not: its size in bytes, its ETag,
    and when it was last changed."""

    size: int | None
    etag: str | None
    modified: datetime | None = None


class Options(dict[str, str]):
    """Options of a store. Their values may be secrets: no text has them, only the names."""

    def __repr__(self) -> str:
        return f"<options: {', '.join(self) or 'none'}>"

    @property
    def arguments(self) -> tuple[str, ...]:
        """What gives a command the same options, with a word in place of a value that may be secret."""
        pairs = (f"{name}={_shown(name, value)}" for name, value in self.items())
        return tuple(word for each in pairs for word in ("--storage-option", each))


class Address(str):
    """The URL of an object or folder, without what must not be shown: that is in `options` of the
    store, and in the `query` of a web server's URL. `listed`: None unless it was found in a listing.
    What leaves the process by a pickle is the plain URL, and `vars` has nothing of it."""

    __slots__ = ("listed", "options", "query")

    options: Options
    query: str
    listed: Listed | None

    @classmethod
    def of(cls, url: str, options: Mapping[str, str] | None = None) -> Self:
        """`options`: of the store; those in the query of `url`, or of what is an address, go before them."""
        if isinstance(url, cls):
            return url._with(options) if options else url
        from urllib.parse import urlsplit

        try:
            split = urlsplit(url)
        except ValueError as error:
            raise OSError(errno.EINVAL, f"not a URL: {error}", url.partition("?")[0]) from None
        store = STORE_BY_SCHEME.get(split.scheme.lower())
        is_http = store is not None and not store.has_folders
        host = split.netloc.rpartition("@")[2] if is_http or ":" in split.netloc else split.netloc
        # `#` may be part of a key.
        rest, _, query = url.partition("://")[2].partition("?")
        place = rest[len(split.netloc) :]
        found = cls(f"{split.scheme}://{host}{place}")
        found.query = query if is_http else ""
        found.listed = None
        found.options = Options(
            {**(options or {}), **({} if is_http else _options_in(query, split))}
        )
        return found

    def found(self, key: str, listed: Listed | None = None) -> Self:
        """An object of the same store, with what a listing says of it."""
        from urllib.parse import quote

        copy = self.other(f"{self.scheme}://{self.host}/{quote(key, safe=UNESCAPED)}")
        copy.listed = listed
        return copy

    def other(self, url: str) -> Self:
        """Another URL, in the same store."""
        copy = type(self)(url)
        copy.query, copy.options, copy.listed = self.query, self.options, None
        return copy

    def _with(self, options: Mapping[str, str]) -> Self:
        """The same, with options of the store where it has none of that name."""
        copy = self.other(self)
        copy.listed = self.listed
        copy.options = Options({**options, **self.options})
        return copy

    @property
    def in_full(self) -> tuple[str, Mapping[str, str]]:
        """What `of` makes the same address of, in another process, too: a URL and options. To be shown to nobody."""
        return f"{self}?{self.query}" if self.query else str(self), self.options

    @property
    def in_commands(self) -> str:
        """As a command names it: with a word in place of the query, without which a signed URL is refused."""
        return f"{self}?QUERY" if self.query else str(self)

    @property
    def undecoded(self) -> str:
        """For those who take what follows the bucket for the key, and decode nothing: polars, DuckDB, Hadoop. Of a
        web server, the whole URL, which is to be shown to nobody."""
        if not self.store.has_folders:
            return self.in_full[0]
        return f"{self.scheme}://{self.host}/{self.key}"

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)

    @property
    def parent(self) -> Self | None:
        """The folder above; None for a bucket."""
        folder, slash, _ = self.partition("://")[2].rpartition("/")
        return self.other(f"{self.scheme}://{folder}") if slash else None

    @property
    def scheme(self) -> str:
        return self.partition("://")[0]

    @property
    def store(self) -> Store:
        """What kind of store it is in."""
        return STORE_BY_SCHEME[self.scheme.lower()]

    @property
    def is_unsigned(self) -> bool:
        """Whether an option keeps requests from being signed."""
        names = ("skip_signature", f"{self.store.prefix}skip_signature")
        return any(name.lower() in names and is_on(value) for name, value in self.options.items())

    @property
    def host(self) -> str:
        """The bucket, container or server."""
        return self.partition("://")[2].partition("/")[0]

    @property
    def key(self) -> str:
        from urllib.parse import unquote

        return unquote(self.partition("://")[2].partition("/")[2])


def _shown(option: str, value: str) -> str:
    prefixes = (store.prefix for store in STORES)
    name = reduce(str.removeprefix, prefixes, option.lower())
    if name in _SHOWN_URLS:
        return value if re.fullmatch(r"https?://[^@?#]*", value) else "URL"
    return value if name in _SHOWN else "VALUE"


def is_on(value: str) -> bool:
    """Whether the value of an option or variable switches something on."""
    return value.lower() in ("1", "on", "true", "y", "yes")


def _options_in(query: str, split: SplitResult) -> dict[str, str]:
    """The options that pyarrow takes in a URL, as obstore names them."""
    from urllib.parse import parse_qsl, unquote

    # With what is no option: a key that has a `?` must not be cut there.
    pairs = parse_qsl(query, keep_blank_values=True)
    found = {_PYARROW_OPTIONS.get(name, name): value for name, value in pairs}
    scheme = found.pop("scheme", "https")
    if (endpoint := found.pop("endpoint_override", None)) is not None:
        found["endpoint"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
    if split.username is not None and split.password is not None:
        found["access_key_id"] = unquote(split.username)
        found["secret_access_key"] = unquote(split.password)
    return found


def in_same_store(path: str, other: str) -> str:
    """The path or URL `other`, with the options of the store of `path`."""
    return path.other(other) if isinstance(path, Address) and is_object(other) else other
