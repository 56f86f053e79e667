"""boto3's client for the store of an address: the same store, with the same credentials, as obstore
reads."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from threading import Lock
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import boto3
from botocore import UNSIGNED
from botocore.client import BaseClient
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
    SSLError,
)

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import Address, is_on
from parquet_bloom.storage.objects.failures import ChangeFailures
from parquet_bloom.storage.objects.logs import unlogged
from parquet_bloom.storage.objects.sending import Attempts, Renewable, Sender, prefix_of
from parquet_bloom.storage.objects.stores import checks_certificates, proxies_in
from parquet_bloom.storage.store_environment import environment_of, find_endpoint
from parquet_bloom.storage.traffic import Requests, Traffic

_making: Final = Lock()

# What is said of an object or upload, and what an operation takes: named as in S3's API.
Fields: TypeAlias = dict[str, Any]

# What is needed of answers.
_ANSWERS: Final = {
    "complete_multipart_upload": ("ETag",),
    "create_multipart_upload": ("UploadId",),
    "get_object_tagging": ("TagSet",),
    "head_object": ("ETag",),
    "put_object": ("ETag",),
    "upload_part": ("ETag",),
    "upload_part_copy": ("CopyPartResult", "ETag"),
}


class S3Client:
    """Requests about one object, counted in `traffic`, repeated if their failure may pass."""

    def __init__(self, address: Address, traffic: Traffic) -> None:
        self.address = address
        options = _plain(address.options)
        if any(name.startswith("sse_customer") for name in options):
            raise RewriteError(
                f"{address}: not changed in place: objects encrypted with a customer's key (SSE-C)"
                " are read-only"
            )
        self.endpoint = find_endpoint(address.store, address.options)
        self.is_aws = _is_aws(self.endpoint)
        # Connections are not shared by processes.
        whose = os.getpid(), environment_of(address.store)
        # Threads that begin at the same time would each make one, which takes 20 MB.
        with _making, unlogged():
            client = _client(tuple(sorted(options.items())), self.endpoint, address.host, whose)
        self._sender = Sender(prefix_of(address), traffic, BOTO3, client)
        self._bucket = {"Bucket": address.host} | _payer(options)
        self._object = self._bucket | {"Key": address.key}

    def ask(
        self,
        operation: str,
        kind: Requests,
        attempts: Attempts | None = None,
        **arguments: object,
    ) -> Fields:
        """The answer to an operation on the object. Raises BOTO3's kinds."""
        return self._sent(operation, kind, self._object | arguments, attempts)

    def ask_bucket(self, operation: str, kind: Requests, **arguments: object) -> Fields:
        """The answer to an operation on its bucket. Raises BOTO3's kinds."""
        return self._sent(operation, kind, self._bucket | arguments, None)

    def _sent(
        self, operation: str, kind: Requests, arguments: Fields, attempts: Attempts | None
    ) -> Fields:
        def answered(client: BaseClient) -> Fields:
            work: Callable[..., Fields] = getattr(client, operation)
            answer = work(**arguments)
            _check_answer(operation, answer)
            return answer

        return self._sender.send(answered, kind, attempts)


def _check_answer(operation: str, found: Fields) -> None:
    """Raise OSError if something else speaks there: boto3 takes whatever comes with status 200."""
    for name in _ANSWERS.get(operation, ()):
        if name not in found:
            said = operation.title().replace("_", "")
            raise OSError(errno.EIO, f"the store's answer to {said} has no {name}")
        found = found[name]


class _Boto3Failures(ChangeFailures):
    kinds = (ClientError, BotoCoreError, OSError)
    own_os_errors = BotoCoreError
    trusted_by = "AWS_CA_BUNDLE"

    def status(self, error: BaseException) -> int:
        if not isinstance(error, ClientError):
            return 0
        return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))

    def code(self, error: BaseException) -> str:
        if isinstance(error, ClientError):
            return str(error.response.get("Error", {}).get("Code", ""))
        return type(error).__name__

    def is_broken(self, error: BaseException) -> bool:
        return isinstance(error, HTTPClientError) and not isinstance(
            error, EndpointConnectionError | SSLError
        )

    def headers(self, error: BaseException) -> Mapping[str, str]:
        if not isinstance(error, ClientError):
            return {}
        return dict(error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {}))

    def request(self, error: BaseException) -> str:
        return str(error.operation_name) if isinstance(error, ClientError) else ""

    def as_os_error(self, address: Address, error: BaseException, what: str) -> OSError:
        if isinstance(error, NoCredentialsError | PartialCredentialsError):
            return PermissionError(errno.EACCES, f"no credentials found; {what}", str(address))
        return super().as_os_error(address, error, what)


BOTO3: Final = _Boto3Failures()


def _plain(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower().removeprefix("aws_"): value for name, value in options.items()}


def _payer(options: Mapping[str, str]) -> dict[str, str]:
    """What each request says if whoever asks pays for it."""
    said = options.get("request_payer") or os.environ.get("AWS_REQUEST_PAYER", "")
    return {"RequestPayer": "requester"} if is_on(said) else {}


def _is_aws(endpoint: str | None) -> bool:
    host = urlsplit(endpoint or "").hostname or ""
    return endpoint is None or host.endswith((".amazonaws.com", ".amazonaws.com.cn"))


# Each takes 12 MB, and there is a new one whenever the environment has new credentials.
@lru_cache(maxsize=16)
def _client(
    given: tuple[tuple[str, str], ...], endpoint: str | None, bucket: str, whose: object
) -> Renewable[BaseClient]:
    return Renewable(lambda: _new_client(given, endpoint, bucket))


def _new_client(
    given: tuple[tuple[str, str], ...], endpoint: str | None, bucket: str
) -> BaseClient:
    options = dict(given)

    def first(*names: str) -> str | None:
        return next((options[name] for name in names if name in options), None)

    is_virtual = options.get("virtual_hosted_style_request", "").lower() == "true"
    if endpoint and is_virtual:
        # There it has the bucket in it; boto3 puts it there itself.
        endpoint = endpoint.replace(f"://{bucket}.", "://", 1)
    # Attempts are made by `sending`, where they are counted. New checksums are not known to all stores.
    settings: Fields = {
        "retries": {"total_max_attempts": 1},
        # As many as there are files at a time; more would be closed after each request.
        "max_pool_connections": 16,
        "connect_timeout": 10,
        "read_timeout": 300,
        "request_checksum_calculation": "when_required",
        "response_checksum_validation": "when_required",
        # Only what obstore heeds, too: what was read must not be written elsewhere.
        "ignore_configured_endpoint_urls": True,
        "s3": {"addressing_style": "virtual" if is_virtual else "path" if endpoint else "auto"},
    }
    if options.get("skip_signature", "").lower() == "true":
        settings["signature_version"] = UNSIGNED
    if proxies := proxies_in(options):
        settings["proxies"] = proxies
    region = first("region", "default_region") or os.environ.get("AWS_REGION") or None
    session = boto3.Session(
        aws_access_key_id=first("access_key_id"),
        aws_secret_access_key=first("secret_access_key"),
        aws_session_token=first("session_token", "token"),
        region_name=region,
    )
    return session.client(
        "s3",
        endpoint_url=endpoint,
        verify=None if checks_certificates(options) else False,
        region_name=None if session.region_name else "us-east-1",
        config=Config(**settings),
    )
