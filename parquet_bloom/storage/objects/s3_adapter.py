"""Replace an object in Amazon S3, or in a store like it.

    larger   a multipart upload: the store copies the parts that stay (UploadPartCopy), what is new is
             sent, and CompleteMultipartUpload puts both together
    small    one PutObject

Either with If-Match: the store answers 412 if the object is not the one that was read. Stores that do
not know If-Match there are found out by `check_conditions`, unless they are Amazon's.
"""

from __future__ import annotations

import errno
import hashlib
import time
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Final
from urllib.parse import urlencode, urlsplit

from parquet_bloom.dataclass import dataclass
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.adapter import (
    NO_ETAG,
    SENT_BYTES,
    Adapter,
    ObjectState,
)
from parquet_bloom.storage.objects.object_source import ObjectSource, quoted
from parquet_bloom.storage.objects.pieces import Composition, NewObject, Piece, equal_cuts
from parquet_bloom.storage.objects.s3_client import BOTO3, Fields, S3Client
from parquet_bloom.storage.objects.sending import Attempts
from parquet_bloom.storage.temporary_files import Leftover, is_temporary
from parquet_bloom.storage.traffic import GET, HEAD, LIST, PUT, Requests, Traffic

# What is not larger is sent as a whole if the store would have little to copy.
WHOLE_BYTES: Final = 32 << 20
# Of the end of an object, to recognize it by.
COMPARED_BYTES: Final = 1 << 20

_CHECKSUM: Final = {"ChecksumCRC32"}


class S3Adapter(Adapter):
    failures = BOTO3
    stores_without_tags = frozenset(("NotImplemented", "NoSuchTagSet", "MethodNotAllowed"))

    def __init__(self, address: Address, old: ObjectSource, unconditional: bool) -> None:
        super().__init__(address, old, unconditional)
        self._client = S3Client(address, old.traffic)
        self.endpoint = self._client.endpoint or ""
        self.is_own = self._client.is_aws
        host = urlsplit(self.endpoint).hostname or ""
        # Which takes parts of one size, and no conditions for copies.
        self._is_r2 = host.endswith(".r2.cloudflarestorage.com")
        self._kept: Fields = {}
        self._upload: Fields = {}
        self._etag_end = ""

    def ignores_condition_in(self) -> str:
        scratch: Fields = {"Key": self.beside()}
        if not self._is_refused("put_object", Body=b"", **scratch):
            self._client.ask("delete_object", PUT, **scratch)
            return "PutObject"
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
        if is_refused:
            return ""
        self._client.ask("delete_object", PUT, **scratch)
        return "CompleteMultipartUpload"

    def is_no_object(self, error: Exception) -> bool:
        return BOTO3.code(error) == "NoSuchKey"

    def _is_refused(self, operation: str, **arguments: object) -> bool:
        return self.refuses(
            lambda: self._client.ask(operation, PUT, None, IfMatch=NO_ETAG, **arguments)
        )

    def state(self) -> ObjectState:
        head = self._client.ask("head_object", HEAD)
        return ObjectState(quoted(head.get("ETag")), int(head.get("ContentLength", 0)), head)

    def assemble(self, new: NewObject, old: ObjectState) -> None:
        self._new = new
        said = {name: old.properties[name] for name in _KEPT if name in old.properties}
        self._kept = said | self._tags() | _grants(self._client)
        parts = cut_into_equal_parts(new.pieces) if self._is_r2 else cut_into_parts(new.pieces)
        if new.size <= WHOLE_BYTES and not any(part.copied for part in parts):
            self._put()
        else:
            self._put_together(parts)

    def finish(self, attempts: Attempts) -> str | None:
        condition = {"IfMatch": self.version} if self.is_conditional else {}
        made = self._client.ask(self._operation, self._cost, attempts, **self._last, **condition)
        return quoted(made.get("ETag"))

    def is_new(self, now: ObjectState) -> bool:
        expected = self._new.last(COMPARED_BYTES)
        if not expected:
            return str(now.version).endswith(self._etag_end)
        bounds = f"bytes={now.size - len(expected)}-{now.size - 1}"
        answer = self._client.ask("get_object", GET, Range=bounds, IfMatch=now.properties["ETag"])
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
        has_grants = not self._kept.keys().isdisjoint(_GRANTS.values())
        if error is not None and BOTO3.status(error) == 403 and has_grants:
            raise PermissionError(
                errno.EACCES,
                f"writing was refused ({BOTO3.summary(error)}): its access control list is kept,"
                " which also needs s3:PutObjectAcl",
            ) from None

    def _tags(self) -> Fields:
        answer = self.tags_by(
            lambda: self._client.ask("get_object_tagging", GET), "tags", "allow s3:GetObjectTagging"
        )
        tags = [(tag["Key"], tag["Value"]) for tag in answer["TagSet"]] if answer else []
        return {"Tagging": urlencode(tags)} if tags else {}

    # --------------------------------------------------------------------------------------------
    # The last request, and the upload that it completes

    def _put(self) -> None:
        body = self._new.whole()
        self._operation, self._cost = "put_object", PUT + Requests(bytes_up=len(body))
        self._last: Fields = self._kept | self._checksum(body) | {"Body": body}

    def _put_together(self, parts: Sequence[UploadPart]) -> None:
        checksum: Fields = {}
        whole: Fields = {}
        if self.is_own:
            checksum = {"ChecksumAlgorithm": "CRC32", "ChecksumType": "FULL_OBJECT"}
            whole = {"ChecksumType": "FULL_OBJECT", "MpuObjectSize": self._new.size}
        made = self._client.ask("create_multipart_upload", PUT, **checksum, **self._kept)
        self._upload = {"UploadId": made["UploadId"]}
        self._operation, self._cost = "complete_multipart_upload", PUT
        self._etag_end = f'-{len(parts)}"'
        self._last = self._upload | whole | {"MultipartUpload": {"Parts": self._sent(parts)}}

    def _sent(self, parts: Sequence[UploadPart]) -> list[Fields]:
        """What completes the upload."""
        self._new.will_read((part.start, part.end) for part in parts if not part.copied)
        return self.all_of(self._ask_for, enumerate(parts, 1))

    def _ask_for(self, numbered: tuple[int, UploadPart]) -> Fields:
        number, part = numbered
        made = self._copy(part, number) if part.copied else self._send(part, number)
        checksum = {name: made[name] for name in _CHECKSUM & made.keys()}
        return {"PartNumber": number, "ETag": made["ETag"]} | checksum

    def _send(self, part: UploadPart, number: int) -> Fields:
        body = self._new.read_at(part.start, part.end - part.start)
        kind = PUT + Requests(bytes_up=len(body))
        given = self._checksum(body) | self._upload
        return self._client.ask("upload_part", kind, PartNumber=number, Body=body, **given)

    def _checksum(self, body: bytes) -> Fields:
        """Which buckets with object lock demand; other stores do not all know the new ones."""
        if self.is_own:
            return {"ChecksumAlgorithm": "CRC32"}
        digest = hashlib.md5(body, usedforsecurity=False).digest()
        return {"ContentMD5": b64encode(digest).decode()}

    def _copy(self, part: UploadPart, number: int) -> Fields:
        assert part.copied is not None
        condition: Fields = {} if self._is_r2 else {"CopySourceIfMatch": self.version}
        answer = self._client.ask(
            "upload_part_copy",
            PUT,
            PartNumber=number,
            CopySource={"Bucket": self.address.host, "Key": self.address.key},
            CopySourceRange=f"bytes={part.copied.start}-{part.copied.end - 1}",
            **condition,
            **self._upload,
        )
        result: Fields = answer["CopyPartResult"]
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
# What a grant allows, and how an upload is told.
_GRANTS: Final = {
    "FULL_CONTROL": "GrantFullControl",
    "READ": "GrantRead",
    "READ_ACP": "GrantReadACP",
    "WRITE_ACP": "GrantWriteACP",
}
_GRANTEES: Final = {"ID": "id", "URI": "uri", "EmailAddress": "emailAddress"}


# The buckets, by endpoint, whose store failed to say an access control list however often it was asked. It will of
# the next object: of that, as of a thousand others in one run, half a minute would be lost to find out the same.
_silent: Final[set[tuple[str | None, str]]] = set()
_AGAIN_WHERE_SILENT: Final = 2


def _grants(client: S3Client) -> dict[str, str]:
    """None for what every object has, full control of its owner: buckets without access control lists
    refuse any other. Those that may not be read are not kept, as in most buckets there are none."""
    bucket = client.endpoint, client.address.host
    attempts = Attempts(again=_AGAIN_WHERE_SILENT) if bucket in _silent else None
    try:
        answer = client.ask("get_object_acl", GET, attempts)
    except BOTO3.kinds as error:
        status = BOTO3.status(error)
        if not status:
            raise
        if (status < 500 and not BOTO3.may_pass(error)) or status == 501:
            return {}
        _silent.add(bucket)
        raise OSError(
            errno.EIO,
            f"its access control list cannot be read and would be lost ({BOTO3.summary(error)} to GetObjectAcl):"
            " an output elsewhere can be written without one",
        ) from None
    _silent.discard(bucket)
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


# ------------------------------------------------------------------------------------------------
# The parts of a new version: all but the last have at least 5 MiB. What the store can copy is one part, or
# few; around it, what is too small to be a part is read and sent together with its neighbour.

LEAST_BYTES: Final = 5 << 20
MOST_BYTES: Final = 5 << 30
MOST_PARTS: Final = 10_000


@dataclass(frozen=True, slots=True)
class UploadPart:
    """The bytes [start, end) of the new version. `copied`: of the old version, if the store copies
    them; else they are sent."""

    start: int
    end: int
    copied: Piece | None = None


def cut_into_parts(pieces: Composition) -> list[UploadPart]:
    found: list[UploadPart] = []
    at = sent_from = 0
    for piece in pieces:
        end = at + piece.size
        if piece.is_old:
            # Of this piece, what completes the part before it.
            waiting = at - sent_from
            taken = min(max(0, LEAST_BYTES - waiting), piece.size) if waiting else 0
            if piece.size - taken >= LEAST_BYTES:
                found += _sent(sent_from, at + taken)
                found += _copied(at + taken, piece.part(taken, piece.size))
                sent_from = end
        at = end
    return [*found, *_sent(sent_from, at)]


def _sent(start: int, end: int) -> Iterator[UploadPart]:
    yield from (UploadPart(*part) for part in equal_cuts(start, end, SENT_BYTES))


def _copied(start: int, piece: Piece) -> Iterator[UploadPart]:
    for first, last in equal_cuts(start, start + piece.size, MOST_BYTES):
        yield UploadPart(first, last, piece.part(first - start, last - start))


def cut_into_equal_parts(pieces: Composition) -> list[UploadPart]:
    """Parts of one size but for the last, which is not larger: some stores take no others. Those that
    lie in what the store can copy are copied."""
    size = max(SENT_BYTES, -(-pieces.size // MOST_PARTS))
    found = []
    for start in range(0, pieces.size, size):
        end = min(start + size, pieces.size)
        within = list(pieces.between(start, end))
        is_copied = len(within) == 1 and within[0].is_old
        found.append(UploadPart(start, end, within[0] if is_copied else None))
    return found


# ------------------------------------------------------------------------------------------------
# Uploads that were begun and neither completed nor aborted: readers do not see them, and their parts are
# paid for. A listing has the key of each and when it began, but nothing that says which program began it.
# Ours are to keys at which there is an object, which they would replace, or to hidden names, where a store
# is asked whether it honours conditions. Committers of Hadoop and Spark, which keep uploads open for hours,
# make new objects.


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
                f"listing uploads was refused ({BOTO3.summary(error)}): allow"
                " s3:ListBucketMultipartUploads, s3:ListMultipartUploadParts and s3:GetObject",
                str(address),
            ) from None
        raise BOTO3.as_os_error(
            address, error, "the search for uploads was not completed"
        ) from None


def _listed(client: S3Client, key: str) -> Iterator[tuple[Fields, float]]:
    """What a listing says of each, and when it said so."""
    folder = f"{key.rstrip('/')}/" if key.strip("/") else ""
    ask = partial(client.ask_bucket, "list_multipart_uploads", LIST, Prefix=key.rstrip("/"))
    for page in _pages(ask, {"KeyMarker": "", "UploadIdMarker": ""}):
        now = _time_of(page)
        for upload in page.get("Uploads", []):
            # Prefixes of a store are any text: `a` is one of `ab`.
            if upload["Key"].startswith(folder) or upload["Key"] == key:
                yield upload, now


def _pages(ask: Callable[..., Fields], marks: Mapping[str, object]) -> Iterator[Fields]:
    """All pages of a listing. `marks`: what says where it goes on, and what that is if a page lacks it."""
    after: Fields = {}
    while True:
        page = ask(**after)
        yield page
        before, after = after, {name: page.get(f"Next{name}", none) for name, none in marks.items()}
        # Not every store goes on from there, or says from where.
        if not page.get("IsTruncated") or after == before or not any(after.values()):
            return


def _time_of(answer: Fields) -> float:
    """When the store answered, by its own clock: by a wrong one here, young uploads could be old."""
    said = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    return parsedate_to_datetime(said).timestamp() if said else time.time()


def _left(place: Address, upload: Fields, before: float) -> Iterator[Leftover]:
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


def _parts(client: S3Client, upload: str) -> Iterator[Fields]:
    ask = partial(client.ask, "list_parts", GET, UploadId=upload)
    for page in _pages(ask, {"PartNumberMarker": 0}):
        yield from page.get("Parts", [])


def _abort(client: S3Client, upload: str) -> None:
    """Raises OSError."""
    try:
        client.ask("abort_multipart_upload", PUT, UploadId=upload)
    except BOTO3.kinds as error:
        path = str(client.address)
        if BOTO3.status(error) == 404:
            raise FileNotFoundError(errno.ENOENT, "no such upload", path) from None
        if BOTO3.status(error) in (401, 403):
            said = f"aborting was refused ({BOTO3.summary(error)}): allow s3:AbortMultipartUpload"
            raise PermissionError(errno.EACCES, said, path) from None
        raise BOTO3.as_os_error(client.address, error, "perhaps not aborted") from None
