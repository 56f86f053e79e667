"""Replace an object in Amazon S3, or in a store like it.

    larger   a multipart upload: the store copies the parts that stay (UploadPartCopy), what is new is
             sent, and CompleteMultipartUpload puts both together
    small    one PutObject

Either with If-Match: the store answers 412 if the object is not the one that was read. Stores that do
not know If-Match there are found out by `conditions`, unless they are Amazon's.
"""

from __future__ import annotations

import errno
import hashlib
from base64 import b64encode
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.adapter import Adapter, NewObject, Seen
from parquet_bloom.storage.objects.conditions import NO_ETAG
from parquet_bloom.storage.objects.object_source import ObjectSource, quoted
from parquet_bloom.storage.objects.s3_client import BOTO3, S3Client
from parquet_bloom.storage.objects.s3_parts import Part, equal_parts_of, parts_of
from parquet_bloom.storage.objects.sending import Attempts
from parquet_bloom.storage.traffic import GET, HEAD, PUT, Requests

# What is not larger is sent as a whole if the store would have little to copy.
WHOLE_BYTES: Final = 32 << 20
# Of the end of an object, to recognize it by.
COMPARED_BYTES: Final = 1 << 20

_CHECKSUM: Final = {"ChecksumCRC32"}


class S3Adapter(Adapter):
    failures = BOTO3

    def __init__(self, address: Address, old: ObjectSource, unconditional: bool) -> None:
        super().__init__(address, old, unconditional)
        self._client = S3Client(address, old.traffic)
        self.endpoint = self._client.endpoint or ""
        self.is_own = self._client.is_aws
        host = urlsplit(self.endpoint).hostname or ""
        # Which takes parts of one size, and no conditions for copies.
        self._is_r2 = host.endswith(".r2.cloudflarestorage.com")
        self._kept: dict[str, Any] = {}
        self._upload: dict[str, Any] = {}
        self._etag_end = ""

    def honours_conditions(self) -> bool:
        scratch: dict[str, Any] = {"Key": self.beside()}
        if not self._is_refused("put_object", Body=b"", **scratch):
            self._client.ask("delete_object", PUT, **scratch)
            return False
        made = self._client.ask("create_multipart_upload", PUT, **scratch)
        upload = scratch | {"UploadId": made["UploadId"]}
        is_refused = True
        try:
            part = self._client.ask("upload_part", PUT, PartNumber=1, Body=b"", **upload)
            parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
            is_refused = self._is_refused(
                "complete_multipart_upload", MultipartUpload=parts, **upload
            )
        finally:
            if is_refused:
                with suppress(*BOTO3.kinds):
                    self._client.ask("abort_multipart_upload", PUT, **upload)
        if not is_refused:
            self._client.ask("delete_object", PUT, **scratch)
        return is_refused

    def _is_refused(self, operation: str, **arguments: Any) -> bool:
        try:
            self._client.ask(operation, PUT, IfMatch=NO_ETAG, **arguments)
        except BOTO3.kinds as error:
            if BOTO3.is_unmet(error) or BOTO3.code(error) == "NoSuchKey":
                return True
            raise
        return False

    def look(self) -> Seen:
        head = self._client.ask("head_object", HEAD)
        return Seen(quoted(head.get("ETag")), int(head.get("ContentLength", 0)), head)

    def assemble(self, new: NewObject, old: Seen) -> None:
        self._new = new
        self._kept = kept(self._client, old.said)
        parts = equal_parts_of(new.pieces) if self._is_r2 else parts_of(new.pieces)
        if new.size <= WHOLE_BYTES and not any(part.copied for part in parts):
            self._put()
        else:
            self._put_together(parts)

    def finish(self, attempts: Attempts) -> None:
        condition = {"IfMatch": self.version} if self.is_conditional else {}
        self._client.ask(self._operation, self._cost, attempts, **self._last, **condition)

    def is_new(self, now: Seen) -> bool:
        expected = self._new.last(COMPARED_BYTES)
        if not expected:
            return str(now.version).endswith(self._etag_end)
        bounds = f"bytes={now.size - len(expected)}-{now.size - 1}"
        answer = self._client.ask("get_object", GET, Range=bounds, IfMatch=now.said["ETag"])
        return bool(answer["Body"].read() == expected)

    def cancel(self) -> str:
        if self._upload:
            try:
                self._client.ask("abort_multipart_upload", PUT, **self._upload)
            except BOTO3.kinds as error:
                if BOTO3.code(error) != "NoSuchUpload":
                    return f"and the upload cannot be aborted ({self._upload['UploadId']})"
        return ""

    def settle(self, error: BaseException | None) -> None:
        if error is not None and BOTO3.status(error) == 403 and has_grants(self._kept):
            raise PermissionError(
                errno.EACCES,
                f"writing was refused ({BOTO3.said(error)}): its access control list is kept, which"
                " takes s3:PutObjectAcl, too",
            ) from None

    # --------------------------------------------------------------------------------------------
    # The last request, and the upload that it completes

    def _put(self) -> None:
        body = self._new.whole()
        self._operation, self._cost = "put_object", PUT + Requests(bytes_up=len(body))
        self._last: dict[str, Any] = self._kept | self._checksum(body) | {"Body": body}

    def _put_together(self, parts: Sequence[Part]) -> None:
        checksum: dict[str, Any] = {}
        whole: dict[str, Any] = {}
        if self.is_own:
            checksum = {"ChecksumAlgorithm": "CRC32", "ChecksumType": "FULL_OBJECT"}
            whole = {"ChecksumType": "FULL_OBJECT", "MpuObjectSize": self._new.size}
        made = self._client.ask("create_multipart_upload", PUT, **checksum, **self._kept)
        self._upload = {"UploadId": made["UploadId"]}
        self._operation, self._cost = "complete_multipart_upload", PUT
        self._etag_end = f'-{len(parts)}"'
        self._last = self._upload | whole | {"MultipartUpload": {"Parts": self._sent(parts)}}

    def _sent(self, parts: Sequence[Part]) -> list[dict[str, Any]]:
        """What completes the upload."""
        self._new.will_read((part.start, part.end) for part in parts if not part.copied)
        return self.all_of(self._ask_for, enumerate(parts, 1))

    def _ask_for(self, numbered: tuple[int, Part]) -> dict[str, Any]:
        number, part = numbered
        made = self._copy(part, number) if part.copied else self._send(part, number)
        checksum = {name: made[name] for name in _CHECKSUM & made.keys()}
        return {"PartNumber": number, "ETag": made["ETag"]} | checksum

    def _send(self, part: Part, number: int) -> dict[str, Any]:
        body = self._new.read(part.start, part.end)
        kind = PUT + Requests(bytes_up=len(body))
        given = self._checksum(body) | self._upload
        return self._client.ask("upload_part", kind, PartNumber=number, Body=body, **given)

    def _checksum(self, body: bytes) -> dict[str, Any]:
        """Which buckets with object lock demand; other stores do not all know the new ones."""
        if self.is_own:
            return {"ChecksumAlgorithm": "CRC32"}
        digest = hashlib.md5(body, usedforsecurity=False).digest()
        return {"ContentMD5": b64encode(digest).decode()}

    def _copy(self, part: Part, number: int) -> dict[str, Any]:
        assert part.copied is not None
        condition: dict[str, Any] = {} if self._is_r2 else {"CopySourceIfMatch": self.version}
        answer = self._client.ask(
            "upload_part_copy",
            PUT,
            PartNumber=number,
            CopySource={"Bucket": self.address.host, "Key": self.address.key},
            CopySourceRange=f"bytes={part.copied.start}-{part.copied.end - 1}",
            **condition,
            **self._upload,
        )
        result: dict[str, Any] = answer["CopyPartResult"]
        return result


# ------------------------------------------------------------------------------------------------
# What is said of an object, which a new version is told again: properties, tags, and who may read it

# What HeadObject says that an upload takes under the same name.
_KEPT: Final = (
    "BucketKeyEnabled",
    "CacheControl",
    "ContentDisposition",
    "ContentEncoding",
    "ContentLanguage",
    "ContentType",
    "Expires",
    "Metadata",
    "ObjectLockLegalHoldStatus",
    "ObjectLockMode",
    "ObjectLockRetainUntilDate",
    "SSEKMSKeyId",
    "ServerSideEncryption",
    "StorageClass",
    "WebsiteRedirectLocation",
)
# Stores without tags.
_NO_TAGS: Final = {"NotImplemented", "NoSuchTagSet", "MethodNotAllowed"}
# What a grant allows, and how an upload is told.
_GRANTS: Final = {
    "FULL_CONTROL": "GrantFullControl",
    "READ": "GrantRead",
    "READ_ACP": "GrantReadACP",
    "WRITE_ACP": "GrantWriteACP",
}
_GRANTEES: Final = {"ID": "id", "URI": "uri", "EmailAddress": "emailAddress"}


def kept(client: S3Client, head: Mapping[str, Any]) -> dict[str, Any]:
    """What an upload takes to say it again; `head`: what HeadObject says. Raises BOTO3's kinds,
    PermissionError if tags would be lost."""
    said = {name: head[name] for name in _KEPT if name in head}
    return said | _tags(client) | _grants(client)


def has_grants(said: Mapping[str, Any]) -> bool:
    return not said.keys().isdisjoint(_GRANTS.values())


def _tags(client: S3Client) -> dict[str, str]:
    try:
        tags = client.ask("get_object_tagging", GET)["TagSet"]
    except BOTO3.kinds as error:
        if BOTO3.code(error) in _NO_TAGS or BOTO3.status(error) in (405, 501):
            return {}
        if BOTO3.status(error) == 403:
            raise PermissionError(
                errno.EACCES,
                f"its tags would be lost, as they cannot be read ({BOTO3.said(error)}): allow"
                " s3:GetObjectTagging",
            ) from None
        raise
    return {"Tagging": urlencode([(tag["Key"], tag["Value"]) for tag in tags])} if tags else {}


def _grants(client: S3Client) -> dict[str, str]:
    """None for what every object has, full control of its owner: buckets without access control lists
    refuse any other. Those that cannot be read are not kept, as in most buckets there are none."""
    try:
        answer = client.ask("get_object_acl", GET)
    except BOTO3.kinds as error:
        if 400 <= BOTO3.status(error) < 500 or BOTO3.status(error) == 501:
            return {}
        raise
    owner = answer.get("Owner", {}).get("ID")
    found: dict[str, list[str]] = defaultdict(list)
    is_more = False
    for grant in answer.get("Grants", ()):
        grantee, allowed = grant.get("Grantee", {}), _GRANTS.get(grant.get("Permission"))
        names = [(word, grantee[name]) for name, word in _GRANTEES.items() if grantee.get(name)]
        if allowed is None or not names:
            continue
        found[allowed] += [f'{word}="{name}"' for word, name in names[:1]]
        is_more = is_more or (allowed, names[0]) != ("GrantFullControl", ("id", owner))
    return {allowed: ", ".join(grantees) for allowed, grantees in found.items()} if is_more else {}
