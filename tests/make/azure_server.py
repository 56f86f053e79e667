"""A server like the Blob service of Azure, to write to: conditions, blocks, copies of blocks, index tags,
leases and policies.

`kind` of what is asked: PUT, DELETE, BLOCKS (the list of blocks is read), BLOCK, COPY, COMMIT, TAGS,
TOKEN, besides those of an ObjectServer.
"""

import json
import re
from itertools import count
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from make.object_server import Asked, ObjectServer
from make.s3_server import WritingHandler

KEY = "c2VjcmV0IG9mIHRoZSBhY2NvdW50"
TOKEN = "eyJhbGciOiJub25lIn0"

# What is said of a blob, and the header by which it is told.
KEPT = {
    "Cache-Control": "x-ms-blob-cache-control",
    "Content-Disposition": "x-ms-blob-content-disposition",
    "Content-Encoding": "x-ms-blob-content-encoding",
    "Content-Language": "x-ms-blob-content-language",
    "Content-MD5": "x-ms-blob-content-md5",
    "Content-Type": "x-ms-blob-content-type",
    "x-ms-access-tier": "x-ms-access-tier",
    "x-ms-encryption-scope": "x-ms-encryption-scope",
}
# The words of Azure for what an ObjectServer says.
CODES = {"NoSuchKey": "BlobNotFound", "PreconditionFailed": "ConditionNotMet"}

# With which Azure begins what it says in XML.
BOM = '\ufeff<?xml version="1.0" encoding="utf-8"?>'

Answer = tuple[int, str, dict[str, str]]


class AzureServer(ObjectServer):
    """`refusal`: of all that writes, a status and a code; `copy_refusal`: of what the store should copy;
    `is_lax`: conditions of requests that write are not looked at; `has_tags`: whether there is such a
    thing."""

    def __init__(self) -> None:
        self.handler = AzureHandler
        super().__init__()
        self._numbers = count(1)
        self.tags: dict[str, str] = {}
        # Of each blob, the names of its blocks, and their bytes; and those of no blob yet.
        self.blocks: dict[str, list[tuple[str, bytes]]] = {}
        self.staged: dict[str, dict[str, bytes]] = {}
        self.clear()

    def clear(self) -> None:
        """As if it were new."""
        super().clear()
        for each in (self.tags, self.blocks, self.staged):
            each.clear()
        self.is_lax, self.has_tags, self.received = False, True, 0
        self.refusal: tuple[int, str] | None = None
        self.copy_refusal: tuple[int, str] | None = None

    def put(self, name: str, data: bytes) -> None:
        super().put(name, data)
        # Another one, whatever the content.
        self._etags[name] = f'"0x8D{next(self._numbers):08X}"'
        self.blocks[name] = []
        for each in (self.staged, self.properties, self.tags):
            each.pop(name, None)

    def put_blocks(self, name: str, blocks: list[tuple[str, bytes]]) -> None:
        self.put(name, b"".join(data for _, data in blocks))
        self.blocks[name] = blocks

    @property
    def options(self) -> dict[str, str]:
        """What reaches this server."""
        return {"account_name": "account", "account_key": KEY, "endpoint": self.endpoint}

    def kinds(self) -> list[str]:
        return [asked.kind for asked in self.asked]


class AzureHandler(WritingHandler):
    sends = ("PUT", "BLOCK")

    def do_GET(self) -> None:
        kinds = {"tags": "TAGS", "blocklist": "BLOCKS"}
        if (kind := kinds.get(self._query().get("comp", ""))) is not None:
            self._write(kind)
        elif "oauth2" in self.path:
            self._write("TOKEN")
        else:
            self._do("GET")

    def do_POST(self) -> None:
        self._write("TOKEN")

    def do_PUT(self) -> None:
        is_copy = "x-ms-copy-source" in self.headers
        kinds = {"block": "COPY" if is_copy else "BLOCK", "blocklist": "COMMIT"}
        self._write(kinds.get(self._query().get("comp", ""), "PUT"))

    def do_DELETE(self) -> None:
        self._write("DELETE")

    def _send(
        self,
        asked: Asked,
        status: int,
        body: bytes | memoryview,
        headers: dict[str, str] | None = None,
        cut: int | None = None,
    ) -> None:
        if status >= 400 and (found := re.search(rb"<Code>(\w+)</Code>", body)):
            code = found[1].decode()
            headers = {"x-ms-error-code": CODES.get(code, code)}
        super()._send(asked, status, body, headers, cut)

    def _problem(self, name: str) -> Answer | None:
        """Why it is not written."""
        if self.store.refusal is not None:
            return error(*self.store.refusal)
        wanted = self.headers.get("If-Match")
        if self.store.is_lax:
            return None
        if self.headers.get("If-None-Match") == "*" and name in self.store.objects:
            return error(409, "BlobAlreadyExists")
        if wanted is None:
            return None
        is_there = name in self.store.objects and wanted == self.store.etag(name)
        return None if is_there else error(412, "ConditionNotMet")

    def _finished(self, name: str) -> Answer:
        store = self.store
        kept = {said: self.headers[told] for said, told in KEPT.items() if told in self.headers}
        names = [each for each in self.headers if each.lower().startswith("x-ms-meta-")]
        store.properties[name] = kept | {each: self.headers[each] for each in names}
        store.tags[name] = self.headers.get("x-ms-tags", "")
        return 201, "", {"ETag": store.etag(name)}

    def _is_list(self, options: dict[str, str]) -> bool:
        return options.get("comp") == "list"

    def _list(self, asked: Asked, options: dict[str, str]) -> None:
        prefix, delimiter = options.get("prefix", ""), options.get("delimiter")
        found: dict[str, str] = {}
        for full, data in sorted(self.store.objects.items()):
            key = full.partition("/")[2]
            if not key.startswith(prefix) or full.partition("/")[0] != asked.path:
                continue
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                folder = escape(prefix + rest.partition(delimiter)[0] + delimiter)
                found[folder] = f"<BlobPrefix><Name>{folder}</Name></BlobPrefix>"
                continue
            etag = self.store.etag(full).strip('"')
            found[key] = (
                f"<Blob><Name>{escape(key)}</Name><Properties>"
                "<Last-Modified>Thu, 01 Jan 2026 00:00:00 GMT</Last-Modified>"
                f"<Etag>{etag}</Etag><Content-Length>{len(data)}</Content-Length>"
                "<Content-Type>x</Content-Type></Properties></Blob>"
            )
        xml = f"<EnumerationResults><Blobs>{''.join(found.values())}</Blobs><NextMarker/></EnumerationResults>"
        self._send(asked, 200, xml.encode(), {"Content-Type": "application/xml"})

    def _tags(self, name: str, body: bytes) -> Answer:
        if not self.store.has_tags:
            return error(409, "FeatureNotYetSupportedForHierarchicalNamespaceAccounts")
        pairs = "".join(
            f"<Tag><Key>{escape(key)}</Key><Value>{escape(value)}</Value></Tag>"
            for key, value in parse_qsl(self.store.tags.get(name, ""))
        )
        return 200, f"{BOM}<Tags><TagSet>{pairs}</TagSet></Tags>", {}

    def _blocks(self, name: str, body: bytes) -> Answer:
        lists = {
            "CommittedBlocks": self.store.blocks.get(name, ()),
            "UncommittedBlocks": self.store.staged.get(name, {}).items(),
        }
        wanted = self._query()["blocklisttype"]
        found = "".join(
            f"<{title}>{''.join(block(*each) for each in blocks)}</{title}>"
            for title, blocks in lists.items()
            if wanted == "all" or title.lower().startswith(wanted)
        )
        return 200, f"{BOM}<BlockList>{found}</BlockList>", {}

    def _put(self, name: str, body: bytes) -> Answer:
        if problem := self._problem(name):
            return problem
        assert self.headers["x-ms-blob-type"] == "BlockBlob"
        self.store.put(name, body)
        return self._finished(name)

    def _delete(self, name: str, body: bytes) -> Answer:
        self.store.objects.pop(name, None)
        return 202, "", {}

    def _block(self, name: str, body: bytes) -> Answer:
        if self.store.refusal is not None:
            return error(*self.store.refusal)
        number, staged = self._query()["blockid"], self.store.staged.setdefault(name, {})
        if set(map(len, staged)) - {len(number)}:
            return error(400, "InvalidBlobOrBlock")
        staged[number] = body
        return 201, "", {}

    def _copy(self, name: str, body: bytes) -> Answer:
        if self.store.copy_refusal is not None:
            return error(*self.store.copy_refusal)
        split = urlsplit(self.headers["x-ms-copy-source"])
        source = unquote(split.path).lstrip("/")
        signed = parse_qs(split.query)
        bearer = self.headers.get("x-ms-copy-source-authorization")
        if "sig" not in signed and bearer != f"Bearer {TOKEN}":
            return error(403, "CannotVerifyCopySource")
        if source not in self.store.objects:
            return error(404, "CannotVerifyCopySource")
        if self.headers["x-ms-source-if-match"] != self.store.etag(source):
            return error(412, "SourceConditionNotMet")
        first, last = self.headers["x-ms-source-range"].removeprefix("bytes=").split("-")
        return self._block(name, self.store.objects[source][int(first) : int(last) + 1])

    def _commit(self, name: str, body: bytes) -> Answer:
        if problem := self._problem(name):
            return problem
        committed = dict(self.store.blocks.get(name, ()))
        places = {"Committed": committed, "Uncommitted": self.store.staged.get(name, {})}
        wanted = [(each.tag, each.text or "") for each in ElementTree.fromstring(body)]
        lengths = {len(number) for _, number in wanted}
        if len(lengths) > 1 or any(number not in places[place] for place, number in wanted):
            return error(400, "InvalidBlockList")
        self.store.put_blocks(name, [(number, places[place][number]) for place, number in wanted])
        return self._finished(name)

    def _token(self, name: str, body: bytes) -> Answer:
        given = {"access_token": TOKEN, "expires_in": 3600, "expires_on": "4000000000"}
        return 200, json.dumps(given), {}


def block(name: str, data: bytes) -> str:
    return f"<Block><Name>{name}</Name><Size>{len(data)}</Size></Block>"


def error(status: int, code: str) -> Answer:
    return status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>", {}
