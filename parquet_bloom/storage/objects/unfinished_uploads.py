"""Uploads to S3 that were begun and neither completed nor aborted: readers do not see them, and their
parts are paid for.

A listing has the key of each and when it began, but nothing that says which program began it. Ours are
to keys at which there is an object, which they would replace, or to hidden names, where a store is
asked whether it honours conditions. Committers of Hadoop and Spark, which keep uploads open for hours,
make new objects.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.s3_client import BOTO3, S3Client
from parquet_bloom.storage.temporary_files import Leftover, is_temporary
from parquet_bloom.storage.traffic import GET, HEAD, LIST, PUT, Traffic


def unfinished_uploads(address: Address, older_than: float) -> Iterator[Leftover]:
    """Those to the object at `address`, and below it as a folder, that began at least `older_than`
    seconds ago, got nothing since, and can be ours. Raises OSError."""
    try:
        client = S3Client(address, Traffic())
        for upload, now in _listed(client, address.key):
            before = now - older_than
            if upload["Initiated"].timestamp() <= before:
                yield from _left(address.found(upload["Key"]), upload, before)
    except (*BOTO3.kinds, ValueError) as error:
        if BOTO3.status(error) in (401, 403):
            raise PermissionError(
                errno.EACCES,
                f"looking for uploads was refused ({BOTO3.said(error)}): allow"
                " s3:ListBucketMultipartUploads, s3:ListMultipartUploadParts and s3:GetObject",
                str(address),
            ) from None
        raise BOTO3.told(address, error, "uploads were not looked for to the end") from None


def _listed(client: S3Client, key: str) -> Iterator[tuple[dict[str, Any], float]]:
    """What a listing says of each, and when it said so."""
    folder = f"{key.rstrip('/')}/" if key.strip("/") else ""
    after: dict[str, str] = {}
    while True:
        page = client.ask_bucket("list_multipart_uploads", LIST, Prefix=key.rstrip("/"), **after)
        now = _time_of(page)
        for upload in page.get("Uploads", []):
            # Prefixes of a store are any text: `a` is one of `ab`.
            if upload["Key"].startswith(folder) or upload["Key"] == key:
                yield upload, now
        before, after = (
            after,
            {
                "KeyMarker": page.get("NextKeyMarker", ""),
                "UploadIdMarker": page.get("NextUploadIdMarker", ""),
            },
        )
        # Not every store goes on from there, or says from where.
        if not page.get("IsTruncated") or after == before or not any(after.values()):
            return


def _time_of(answer: dict[str, Any]) -> float:
    """When the store answered, by its own clock: by a wrong one here, young uploads could be old."""
    said = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    return parsedate_to_datetime(said).timestamp() if said else time.time()


def _left(place: Address, upload: dict[str, Any], before: float) -> Iterator[Leftover]:
    """Nothing if it cannot be ours, got a part that is not `before`, or is no longer there."""
    client = S3Client(place, Traffic())
    if not is_temporary(place.key.rpartition("/")[2]) and not _is_object(client):
        return
    try:
        parts = list(_parts(client, upload["UploadId"]))
    except BOTO3.kinds as error:
        if BOTO3.code(error) == "NoSuchUpload":
            return
        raise
    if all(part["LastModified"].timestamp() <= before for part in parts):
        size = sum(part["Size"] for part in parts)
        remove = partial(_abort, client, upload["UploadId"])
        yield Leftover(str(place), size, upload["Initiated"].timestamp(), remove, "upload")


def _is_object(client: S3Client) -> bool:
    try:
        client.ask("head_object", HEAD)
    except BOTO3.kinds as error:
        if BOTO3.status(error) == 404:
            return False
        raise
    return True


def _parts(client: S3Client, upload: str) -> Iterator[dict[str, Any]]:
    after: dict[str, Any] = {}
    while True:
        page = client.ask("list_parts", GET, UploadId=upload, **after)
        yield from page.get("Parts", [])
        before, after = after, {"PartNumberMarker": page.get("NextPartNumberMarker", 0)}
        if not page.get("IsTruncated") or after == before or not any(after.values()):
            return


def _abort(client: S3Client, upload: str) -> None:
    """Raises OSError."""
    try:
        client.ask("abort_multipart_upload", PUT, UploadId=upload)
    except BOTO3.kinds as error:
        path = str(client.address)
        if BOTO3.status(error) == 404:
            raise FileNotFoundError(errno.ENOENT, "no such upload", path) from None
        if BOTO3.status(error) in (401, 403):
            said = f"aborting was refused ({BOTO3.said(error)}): allow s3:AbortMultipartUpload"
            raise PermissionError(errno.EACCES, said, path) from None
        raise BOTO3.told(client.address, error, "perhaps not aborted") from None
