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
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from botocore.exceptions import ClientError

from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.commit import (
    NOTHING,
    NewObject,
    ToldError,
    changed_meanwhile,
)
from parquet_bloom.storage.objects.conditions import NO_ETAG, check_conditions
from parquet_bloom.storage.objects.object_source import ObjectSource, quoted
from parquet_bloom.storage.objects.requests import ChangedError
from parquet_bloom.storage.objects.s3_client import (
    BOTO3,
    FAILURES,
    Client,
    code_of,
    failure,
    status_of,
)
from parquet_bloom.storage.objects.s3_parts import Part, equal_parts_of, parts_of
from parquet_bloom.storage.objects.s3_properties import has_grants, kept
from parquet_bloom.storage.objects.sending import Found, is_written
from parquet_bloom.storage.temporary_files import hidden_name
from parquet_bloom.storage.traffic import GET, HEAD, PUT, Requests

# What is not larger is sent as a whole if the store would have little to copy.
WHOLE_BYTES: Final = 32 << 20
AT_ONCE: Final = 4
# Of the end of an object, to recognize it by.
COMPARED_BYTES: Final = 1 << 20


_CHECKSUM: Final = {"ChecksumCRC32"}


class S3Commit:
    """A Commit."""

    def __init__(self, address: Address, old: ObjectSource, unconditional: bool) -> None:
        """Raises RewriteError, OSError if there is no such profile."""
        self.address = address
        try:
            self._client = Client(address, old.traffic)
        except (*FAILURES, ValueError) as error:
            raise failure(address, error, NOTHING) from None
        self._is_conditional = self._client.is_aws or not unconditional

    def check(self) -> None:
        if self._client.is_aws or not self._is_conditional:
            return
        honours = partial(honours_conditions, self._client)
        try:
            check_conditions(self.address, self._client.endpoint or "", honours)
        except FAILURES as error:
            raise failure(self.address, error, NOTHING) from None

    def commit(self, new: NewObject) -> None:
        try:
            _Replacing(self._client, new, self._is_conditional).run()
        except ToldError:
            raise
        except ChangedError:
            raise changed_meanwhile(self.address) from None
        except FAILURES as error:
            if status_of(error) == 412:
                raise changed_meanwhile(self.address) from None
            raise failure(self.address, error, NOTHING) from None


def honours_conditions(client: Client) -> bool:
    """Whether the store refuses to replace an object that is not there; one that does not makes it,
    and it is removed. Raises FAILURES."""
    folder, slash, name = client.address.key.rpartition("/")
    scratch: dict[str, Any] = {"Key": f"{folder}{slash}{hidden_name(name)}"}
    if not _is_refused(client, "put_object", Body=b"", **scratch):
        client.ask("delete_object", PUT, **scratch)
        return False
    upload = scratch | {
        "UploadId": client.ask("create_multipart_upload", PUT, **scratch)["UploadId"]
    }
    is_refused = True
    try:
        part = client.ask("upload_part", PUT, PartNumber=1, Body=b"", **upload)
        parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
        is_refused = _is_refused(
            client, "complete_multipart_upload", MultipartUpload=parts, **upload
        )
    finally:
        if is_refused:
            with suppress(*FAILURES):
                client.ask("abort_multipart_upload", PUT, **upload)
    if not is_refused:
        client.ask("delete_object", PUT, **scratch)
    return is_refused


def _is_refused(client: Client, operation: str, **arguments: Any) -> bool:
    try:
        client.ask(operation, PUT, IfMatch=NO_ETAG, **arguments)
    except ClientError as error:
        if status_of(error) == 412 or code_of(error) == "NoSuchKey":
            return True
        raise
    return False


class _Replacing:
    """One replacement. What it raises besides ToldError happened before the last request."""

    def __init__(self, client: Client, new: NewObject, is_conditional: bool) -> None:
        self._client, self._new, self._is_conditional = client, new, is_conditional
        host = urlsplit(client.endpoint or "").hostname or ""
        # Which takes parts of one size, and no conditions for copies.
        self._is_r2 = host.endswith(".r2.cloudflarestorage.com")
        self._condition: dict[str, Any] = {"IfMatch": new.etag} if is_conditional else {}

    def run(self) -> None:
        new = self._new
        self._check_still(head := self._client.ask("head_object", HEAD))
        said = kept(self._client, head)
        parts = equal_parts_of(new.pieces) if self._is_r2 else parts_of(new.pieces)
        try:
            if new.size <= WHOLE_BYTES and not any(part.copied for part in parts):
                self._put(said)
            else:
                self._upload(parts, said)
        except ClientError as error:
            if status_of(error) == 403 and has_grants(said):
                raise PermissionError(
                    errno.EACCES,
                    f"writing was refused ({BOTO3.said(error)}): its access control list is kept, which"
                    " takes s3:PutObjectAcl, too",
                ) from None
            raise

    def _check_still(self, head: Mapping[str, Any]) -> None:
        if quoted(head.get("ETag")) != self._new.etag:
            raise changed_meanwhile(self._new.address)

    def _put(self, said: dict[str, Any]) -> None:
        self._new.will_read([(0, self._new.size)])
        body = self._new.read(0, self._new.size)
        kind = PUT + Requests(bytes_up=len(body))
        self._finish("put_object", kind, said | self._checksum(body) | {"Body": body}, None)

    def _upload(self, parts: Sequence[Part], said: dict[str, Any]) -> None:
        is_aws = self._client.is_aws
        checksum: dict[str, Any] = {}
        if is_aws:
            checksum = {"ChecksumAlgorithm": "CRC32", "ChecksumType": "FULL_OBJECT"}
        made = self._client.ask("create_multipart_upload", PUT, **checksum, **said)
        upload: dict[str, Any] = {"UploadId": made["UploadId"]}
        try:
            sent = self._sent(parts, upload)
        except BaseException:
            self._abort(upload)
            raise
        whole: dict[str, Any] = upload | {"MultipartUpload": {"Parts": sent}}
        if is_aws:
            whole |= {"ChecksumType": "FULL_OBJECT", "MpuObjectSize": self._new.size}
        self._finish("complete_multipart_upload", PUT, whole, upload, f'-{len(parts)}"')

    def _sent(self, parts: Sequence[Part], upload: dict[str, Any]) -> list[dict[str, Any]]:
        """What completes the upload."""
        self._new.will_read((part.start, part.end) for part in parts if not part.copied)
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="pbloom-part") as threads:
            asked = [
                threads.submit(self._copy if part.copied else self._send, part, number, upload)
                for number, part in enumerate(parts, 1)
            ]
            try:
                return [
                    {"PartNumber": number, "ETag": each.result()["ETag"]}
                    | {name: each.result()[name] for name in _CHECKSUM & each.result().keys()}
                    for number, each in enumerate(asked, 1)
                ]
            finally:
                threads.shutdown(cancel_futures=True)

    def _send(self, part: Part, number: int, upload: dict[str, Any]) -> dict[str, Any]:
        body = self._new.read(part.start, part.end)
        kind = PUT + Requests(bytes_up=len(body))
        return self._client.ask(
            "upload_part", kind, PartNumber=number, Body=body, **self._checksum(body), **upload
        )

    def _checksum(self, body: bytes) -> dict[str, Any]:
        """Which buckets with object lock demand; other stores do not all know the new ones."""
        if self._client.is_aws:
            return {"ChecksumAlgorithm": "CRC32"}
        digest = hashlib.md5(body, usedforsecurity=False).digest()
        return {"ContentMD5": b64encode(digest).decode()}

    def _copy(self, part: Part, number: int, upload: dict[str, Any]) -> dict[str, Any]:
        assert part.copied is not None
        address = self._new.address
        condition: dict[str, Any] = {} if self._is_r2 else {"CopySourceIfMatch": self._new.etag}
        answer = self._client.ask(
            "upload_part_copy",
            PUT,
            PartNumber=number,
            CopySource={"Bucket": address.host, "Key": address.key},
            CopySourceRange=f"bytes={part.copied.start}-{part.copied.end - 1}",
            **condition,
            **upload,
        )
        result: dict[str, Any] = answer["CopyPartResult"]
        return result

    def _abort(self, upload: dict[str, Any]) -> bool:
        """Whether nothing can come of the upload any more."""
        try:
            self._client.ask("abort_multipart_upload", PUT, **upload)
        except FAILURES as error:
            return code_of(error) == "NoSuchUpload"
        return True

    # --------------------------------------------------------------------------------------------
    # The last request, and what became of it

    def _finish(
        self,
        operation: str,
        kind: Requests,
        arguments: dict[str, Any],
        upload: dict[str, Any] | None,
        etag_end: str = "",
    ) -> None:
        doubts: list[BaseException] = []
        try:
            if not self._is_conditional:
                self._check_still(self._client.ask("head_object", HEAD))
            self._client.ask(operation, kind, doubts, **arguments, **self._condition)
        except FAILURES:
            is_over = upload is None or self._abort(upload)
            if doubts and self._is_there(etag_end, doubts[0]):
                return
            if is_over or not doubts:
                raise
            raise ToldError(
                errno.EIO,
                f"no answer came to the last request ({BOTO3.said(doubts[0])}), and the upload cannot be"
                f" aborted ({upload and upload['UploadId']}): so far nothing was written",
                str(self._new.address),
            ) from None
        except BaseException:
            if upload is not None:
                self._abort(upload)
            raise

    def _is_there(self, etag_end: str, doubt: BaseException) -> bool:
        """As is_written."""
        return is_written(self._new, partial(self._found, etag_end), doubt, BOTO3)

    def _found(self, etag_end: str) -> Found:
        head = self._client.ask("head_object", HEAD)
        is_old = quoted(head.get("ETag")) == self._new.etag
        return Found(
            head["ContentLength"], is_old, partial(self._ends_as_it_should, head, etag_end)
        )

    def _ends_as_it_should(self, head: Mapping[str, Any], etag_end: str) -> bool:
        size = self._new.size
        expected = self._new.last(COMPARED_BYTES)
        if not expected:
            return str(quoted(head["ETag"])).endswith(etag_end)
        bounds = f"bytes={size - len(expected)}-{size - 1}"
        answer = self._client.ask("get_object", GET, Range=bounds, IfMatch=head["ETag"])
        return bool(answer["Body"].read() == expected)
