"""A server like Amazon S3, to write to: conditions, multipart uploads, copies of parts, and tags.

`kind` of what is asked: PUT, DELETE, CREATE, PART, COPY, COMPLETE, ABORT, TAGS, REMOVE (of several
objects), UPLOADS and PARTS, which are listings, besides those of an ObjectServer.
"""

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from io import BufferedIOBase, BytesIO
from itertools import count
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from botocore import loaders
from make.object_server import Asked, Handler, Lost, ObjectServer

# Each session would look for the descriptions of S3, and read them, which takes a tenth of a second: one loader
# for all, before botocore.session takes the name.
loaders.create_loader = cache(loaders.create_loader)

OWNER = "75aa57f09aa0c8caeab4f8c24e99d10f8e7faeebf76c078efc7c6caea54ba06a"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
TYPES = {"ID": "CanonicalUser", "URI": "Group"}
# What is allowed, and the header that says to whom.
GRANTS = {
    "FULL_CONTROL": "x-amz-grant-full-control",
    "READ": "x-amz-grant-read",
    "READ_ACP": "x-amz-grant-read-acp",
}

# Headers that an object keeps.
KEPT = (
    *GRANTS.values(),
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
    "x-amz-server-side-encryption",
    "x-amz-server-side-encryption-aws-kms-key-id",
    "x-amz-storage-class",
    "x-amz-website-redirect-location",
)


@dataclass
class Upload:
    name: str
    headers: dict[str, str]
    tags: str
    parts: dict[int, bytes] = field(default_factory=dict)
    # Seconds since 1970; when the last part came, None for all at the beginning.
    begun: float = field(default_factory=time.time)
    sent: float | None = None


class S3Server(ObjectServer):
    """`least`: the bytes of a part that is not the last. `is_lax`: conditions of requests that write
    are not looked at; `has_tags`: whether there is such a thing."""

    def __init__(self) -> None:
        self.handler = WritingHandler
        super().__init__()
        self.least = 5 << 20
        self.is_lax = False
        self.has_tags = True
        self.tags: dict[str, str] = {}
        self.uploads: dict[str, Upload] = {}
        self.received = 0
        self._numbers = count(1)

    def clear(self) -> None:
        """As if it were new."""
        super().clear()
        for each in (self.tags, self.uploads):
            each.clear()
        self.least, self.is_lax, self.has_tags, self.received = 5 << 20, False, True, 0

    def store_it(self, name: str, data: bytes, headers: dict[str, str], tags: str) -> None:
        self.put(name, data)
        self.properties[name], self.tags[name] = headers, tags

    def kinds(self) -> list[str]:
        return [asked.kind for asked in self.asked]


def _chunks(sent: BufferedIOBase) -> Iterator[bytes]:
    """Each with its size before it; behind the last one there may be headers."""
    while size := int(sent.readline().partition(b";")[0], 16):
        yield sent.read(size)
        sent.readline()
    while sent.readline().strip():
        pass


class WritingHandler(Handler):
    """`sends`: kinds of requests whose bodies count as received."""

    store: Any
    sends: tuple[str, ...] = ("PUT", "PART")

    def handle_expect_100(self) -> bool:
        """Which is waited for, for a second."""
        is_fine = super().handle_expect_100()
        self.wfile.flush()
        return is_fine

    def do_GET(self) -> None:
        query = self._query()
        listings = {"tagging": "TAGS", "acl": "ACL", "uploads": "UPLOADS", "uploadId": "PARTS"}
        kind = next((kind for name, kind in listings.items() if name in query), None)
        if kind is not None:
            self._write(kind)
        else:
            super().do_GET()

    def do_PUT(self) -> None:
        query = self._query()
        is_copy = "x-amz-copy-source" in self.headers
        self._write("PUT" if "partNumber" not in query else "COPY" if is_copy else "PART")

    def do_POST(self) -> None:
        query = self._query()
        kind = "REMOVE" if "delete" in query else "CREATE" if "uploads" in query else "COMPLETE"
        self._write(kind)

    def do_DELETE(self) -> None:
        self._write("ABORT" if "uploadId" in self._query() else "DELETE")

    def _query(self) -> dict[str, str]:
        parsed = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        return {name: values[0] for name, values in parsed.items()}

    def _body(self) -> bytes:
        """What is sent, also as the SDK of AWS for C++ does, with a checksum at its end."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b"".join(_chunks(self.rfile))
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "aws-chunked":
            return b"".join(_chunks(BytesIO(body)))
        return body

    def _write(self, kind: str) -> None:
        store, name = self.store, unquote(urlsplit(self.path).path).lstrip("/")
        body = self._body()
        store.received += len(body) if kind in self.sends else 0
        asked = Asked(
            kind, name, if_match=self.headers.get("If-Match"), headers=dict(self.headers.items())
        )
        store.asked.append(asked)
        fault = next((each for each in store.faults if each.takes(kind)), None)
        if fault is not None and fault.do is not None:
            fault.do()
        if fault is not None and fault.status:
            self._send(asked, fault.status, fault.body.encode(), fault.headers)
            return
        if isinstance(fault, Lost) and fault.before:
            self.close_connection = True
            return
        status, answer, headers = getattr(self, f"_{kind.lower()}")(name, body)
        if isinstance(fault, Lost):
            self.close_connection = True
            return
        self._send(asked, status, answer.encode(), headers, cut=fault.cut if fault else None)

    def _problem(self, name: str) -> tuple[int, str, dict[str, str]] | None:
        """Why the conditions of a request that writes do not hold."""
        wanted, is_new = self.headers.get("If-Match"), self.headers.get("If-None-Match") == "*"
        if is_new and name in self.store.objects and not self.store.is_lax:
            return _error(412, "PreconditionFailed")
        if wanted is None or self.store.is_lax:
            return None
        if name not in self.store.objects:
            return _error(404, "NoSuchKey")
        return None if wanted == self.store.etag(name) else _error(412, "PreconditionFailed")

    def _kept(self) -> dict[str, str]:
        names = [name for name in self.headers if name.lower().startswith("x-amz-meta-")]
        return {name: self.headers[name] for name in [*KEPT, *names] if name in self.headers}

    def _tags(self, name: str, body: bytes) -> tuple[int, str, dict[str, str]]:
        if not self.store.has_tags:
            return _error(501, "NotImplemented")
        tags = parse_qs(self.store.tags.get(name, ""))
        pairs = "".join(
            f"<Tag><Key>{key}</Key><Value>{values[0]}</Value></Tag>" for key, values in tags.items()
        )
        return 200, f"<Tagging><TagSet>{pairs}</TagSet></Tagging>", {}

    def _acl(self, name: str, body: bytes) -> tuple[int, str, dict[str, str]]:
        """That of the owner, or what was said when the object was written."""
        said = self.store.properties.get(name, {})
        grants = [
            (allowed, *grantee.strip().split("="))
            for allowed, header in GRANTS.items()
            for grantee in said.get(header, "").split(",")
            if grantee
        ]
        texts = (
            f'<Grant><Grantee xmlns:xsi="{XSI}" xsi:type="{TYPES[kind]}"><{kind}>{escape(name)}</{kind}>'
            f"</Grantee><Permission>{allowed}</Permission></Grant>"
            for allowed, word, quoted in grants or [("FULL_CONTROL", "id", f'"{OWNER}"')]
            for kind, name in [("ID" if word == "id" else "URI", quoted.strip('"'))]
        )
        owner = f"<Owner><ID>{OWNER}</ID></Owner>"
        grants_text = f"<AccessControlList>{''.join(texts)}</AccessControlList>"
        return 200, f"<AccessControlPolicy>{owner}{grants_text}</AccessControlPolicy>", {}

    def _put(self, name: str, body: bytes) -> tuple[int, str, dict[str, str]]:
        if problem := self._problem(name):
            return problem
        self.store.store_it(name, body, self._kept(), self.headers.get("x-amz-tagging", ""))
        return 200, "", {"ETag": self.store.etag(name)}

    def _delete(self, name: str, body: bytes) -> tuple[int, str, dict[str, str]]:
        self.store.objects.pop(name, None)
        return 204, "", {}

    def _remove(self, name: str, body: bytes) -> tuple[int, str, dict[str, str]]:
        keys = [each.text or "" for each in ElementTree.fromstring(body).findall(".//{*}Key")]
        for key in keys:
            self.store.objects.pop(f"{name.rstrip('/')}/{key}", None)
        done = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        return 200, f"<DeleteResult>{done}</DeleteResult>", {}

    def _create(self, name: str, body: bytes) -> tuple[int, str, dict[str, str]]:
        number = f"upload-{next(self.store._numbers)}"
        tags = self.headers.get("x-amz-tagging", "")
        self.store.uploads[number] = Upload(name, self._kept(), tags)
        xml = f"<InitiateMultipartUploadResult><UploadId>{number}</UploadId></InitiateMultipartUploadResult>"
        return 200, xml, {}

    def _part(self, name: str, body: bytes) -> tuple[int, str, dict[str, str]]:
        query = self._query()
        if query["uploadId"] not in self.store.uploads:
            return _error(404, "NoSuchUpload")
        self.store.uploads[query["uploadId"]].parts[int(query["partNumber"])] = body
        return 200, "", {"ETag": _md5(body)}

    def _copy(self, name: str, body: bytes) -> tuple[int, str, dict[str, str]]:
        source = unquote(self.headers["x-amz-copy-source"]).lstrip("/")
        if source not in self.store.objects:
            return _error(404, "NoSuchKey")
        wanted = self.headers.get("x-amz-copy-source-if-match")
        if wanted not in (None, self.store.etag(source)):
            return _error(412, "PreconditionFailed")
        first, last = self.headers["x-amz-copy-source-range"].removeprefix("bytes=").split("-")
        data = self.store.objects[source][int(first) : int(last) + 1]
        status, answer, headers = self._part(name, data)
        if status != 200:
            return status, answer, headers
        return 200, f"<CopyPartResult><ETag>{headers['ETag']}</ETag></CopyPartResult>", {}

    def _complete(self, name: str, body: bytes) -> tuple[int, str, dict[str, str]]:
        number = self._query()["uploadId"]
        if number not in self.store.uploads:
            return _error(404, "NoSuchUpload")
        if problem := self._problem(name):
            return problem
        upload = self.store.uploads[number]
        wanted = [
            (int(each.findtext("{*}PartNumber", "")), each.findtext("{*}ETag", ""))
            for each in ElementTree.fromstring(body).iter()
            if each.tag.endswith("}Part") or each.tag == "Part"
        ]
        if [(key, _md5(part)) for key, part in sorted(upload.parts.items())] != wanted:
            return _error(400, "InvalidPart")
        parts = [part for _, part in sorted(upload.parts.items())]
        if any(len(part) < self.store.least for part in parts[:-1]):
            return _error(400, "EntityTooSmall")
        del self.store.uploads[number]
        self.store.store_it(name, b"".join(parts), upload.headers, upload.tags)
        etag = hashlib.md5(b"".join(hashlib.md5(part).digest() for part in parts)).hexdigest()
        self.store._etags[name] = f'"{etag}-{len(parts)}"'
        xml = f"<CompleteMultipartUploadResult><ETag>{self.store.etag(name)}</ETag></CompleteMultipartUploadResult>"
        return 200, xml, {}

    def _uploads(self, name: str, body: bytes) -> tuple[int, str, dict[str, str]]:
        """By key and then by number; as many as in a page of objects."""
        query = self._query()
        start = query.get("prefix", "")
        # Of two uploads to one key, the earlier one comes first.
        found = sorted(
            (upload.name.partition("/")[2], upload.begun, number)
            for number, upload in self.store.uploads.items()
            if upload.name.startswith(f"{name.rstrip('/')}/{start}")
        )
        if "key-marker" in query:
            marks = query["key-marker"], query["upload-id-marker"]
            at = next(i for i, (key, _, number) in enumerate(found) if (key, number) == marks)
            found = found[at + 1 :]
        page, more = found[: self.store.page], len(found) > self.store.page
        texts = [
            f"<Upload><Key>{escape(key)}</Key><UploadId>{number}</UploadId>"
            f"<Initiated>{_time(begun)}</Initiated></Upload>"
            for key, begun, number in page
        ]
        if more:
            texts.append(
                f"<NextKeyMarker>{escape(page[-1][0])}</NextKeyMarker>"
                f"<NextUploadIdMarker>{page[-1][2]}</NextUploadIdMarker>"
            )
        is_more = f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>"
        xml = f"<ListMultipartUploadsResult>{is_more}{''.join(texts)}</ListMultipartUploadsResult>"
        return 200, xml, {}

    def _parts(self, name: str, body: bytes) -> tuple[int, str, dict[str, str]]:
        query = self._query()
        if query["uploadId"] not in self.store.uploads:
            return _error(404, "NoSuchUpload")
        after = int(query.get("part-number-marker", 0))
        upload = self.store.uploads[query["uploadId"]]
        parts, sent = upload.parts, upload.sent or upload.begun
        last = max(parts, default=0)
        found = sorted(number for number in parts if number > after)
        page, more = found[: self.store.page], len(found) > self.store.page
        texts = [
            f"<Part><PartNumber>{number}</PartNumber><Size>{len(parts[number])}</Size>"
            f"<LastModified>{_time(upload.begun if number < last else sent)}</LastModified></Part>"
            for number in page
        ]
        if more:
            texts.append(f"<NextPartNumberMarker>{page[-1]}</NextPartNumberMarker>")
        is_more = f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>"
        return 200, f"<ListPartsResult>{is_more}{''.join(texts)}</ListPartsResult>", {}

    def _abort(self, name: str, body: bytes) -> tuple[int, str, dict[str, str]]:
        if self.store.uploads.pop(self._query()["uploadId"], None) is None:
            return _error(404, "NoSuchUpload")
        return 204, "", {}


def _md5(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S.000Z}"


def _error(status: int, code: str) -> tuple[int, str, dict[str, str]]:
    return status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>", {}
