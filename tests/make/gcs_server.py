"""A server like Google Cloud Storage: it is read as an ObjectServer, and written to by the JSON API, with
generations, conditions, composition and uploads in parts.

`kind` of what is asked: LOOK (an object's resource), INSERT, BEGIN, PART, STATUS and CANCEL (of an upload
in parts), COMPOSE, DELETE, TOKEN, besides those of an ObjectServer.
"""

import base64
import gzip
import hashlib
import json
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import Any
from urllib.parse import unquote, urlsplit

import google_crc32c
from make.object_server import SECRET, Asked, Fault, Handler, ObjectServer
from make.s3_server import WritingHandler

Answer = tuple[int, str, dict[str, str]]
CLASSES = {"STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE"}


@dataclass
class Upload:
    name: str
    resource: dict[str, Any]
    parameters: dict[str, str]
    size: int
    data: bytes = b""


class GoogleServer(ObjectServer):
    """`resources`: what is said of each object. `is_lax`: conditions of requests that write are not
    looked at. `most`: bytes of a part that are kept, if not all."""

    def __init__(self) -> None:
        self.handler = GoogleHandler
        super().__init__()
        self.resources: dict[str, dict[str, Any]] = {}
        self.uploads: dict[str, Upload] = {}
        self.done: dict[str, Answer] = {}
        self.received, self.is_lax = 0, False
        self.most: int | None = None
        self.writing = Lock()
        self._numbers = count(1_700_000_000_000_001)

    def clear(self) -> None:
        """As if it were new."""
        super().clear()
        for each in (self.resources, self.uploads, self.done):
            each.clear()
        self.received, self.is_lax, self.most = 0, False, None

    @property
    def options(self) -> dict[str, str]:
        return {"base_url": self.endpoint, "bearer_token": SECRET}

    def put(self, name: str, data: bytes, **said: Any) -> None:
        super().put(name, data)
        generation = str(next(self._numbers))
        bucket, _, key = name.partition("/")
        self.resources[name] = {
            "kind": "storage#object",
            "bucket": bucket,
            "storageClass": "STANDARD",
            "crc32c": _encoded(google_crc32c.value(data).to_bytes(4, "big")),
            "md5Hash": _md5(data),
            **said,
            "name": key,
            "size": str(len(data)),
            "generation": generation,
            "metageneration": "1",
        }
        self.properties[name] = {"x-goog-generation": generation}
        if "contentEncoding" in said:
            self.properties[name]["Content-Encoding"] = said["contentEncoding"]

    def put_together(self, name: str, data: bytes, parts: int, **said: Any) -> None:
        self.put(name, data, **said)
        self.resources[name]["componentCount"] = parts
        del self.resources[name]["md5Hash"]
        self._etags[name] = f'"{self.resources[name]["generation"]}"'

    def say(self, name: str, **said: Any) -> None:
        """Change what is said of an object."""
        resource = self.resources[name]
        resource |= {**said, "metageneration": str(int(resource["metageneration"]) + 1)}

    def kinds(self) -> list[str]:
        return [asked.kind for asked in self.asked]


class GoogleHandler(WritingHandler):
    store: Any

    def do_GET(self) -> None:
        if self.path.startswith("/storage/v1/"):
            self._write("LOOK")
        else:
            Handler.do_GET(self)

    def do_POST(self) -> None:
        path, query = urlsplit(self.path).path, self._query()
        if path == "/token":
            self._write("TOKEN")
        elif path.startswith("/upload/"):
            self._write({"multipart": "INSERT", "resumable": "BEGIN"}[query["uploadType"]])
        else:
            assert path.endswith("/compose")
            self._write("COMPOSE")

    def do_PUT(self) -> None:
        if "Content-Range" in self.headers:
            self._write("STATUS" if "*" in self.headers["Content-Range"] else "PART")
        else:
            self._write("PUT")

    def do_DELETE(self) -> None:
        self._write("CANCEL" if "/session/" in self.path else "DELETE")

    def _object(self, asked: Asked, fault: Fault | None) -> None:
        """What is said to be compressed comes whole and decompressed, unless it may be compressed."""
        said = self.store.resources.get(asked.path, {})
        allowed = self.headers.get("Accept-Encoding", "") + said.get("cacheControl", "")
        if said.get("contentEncoding") != "gzip" or "gzip" in allowed or "no-transform" in allowed:
            super()._object(asked, fault)
            return
        data = self.store.objects[asked.path]
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("ETag", self.store.etag(asked.path))
        self.send_header("Last-Modified", self.date_time_string(0))
        self.send_header("x-goog-generation", said["generation"])
        self.end_headers()
        self.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data))

    # --------------------------------------------------------------------------------------------
    # What is asked; `path` is that of the URL

    def _token(self, path: str, body: bytes) -> Answer:
        return 200, json.dumps({"access_token": SECRET, "expires_in": 3600}), {}

    def _look(self, path: str, body: bytes) -> Answer:
        name = self._name(path)
        if name not in self.store.objects:
            return _error(404, "notFound")
        return 200, json.dumps(self.store.resources[name]), {}

    def _insert(self, path: str, body: bytes) -> Answer:
        boundary = self.headers["Content-Type"].partition("boundary=")[2].encode()
        _, said, data, _ = body.split(b"--" + boundary)
        resource = json.loads(said.partition(b"\r\n\r\n")[2])
        media = data.partition(b"\r\n\r\n")[0].strip().decode().removeprefix("Content-Type: ")
        if resource.setdefault("contentType", media) != media:
            return _error(400, "invalid")
        payload = data.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
        self.store.received += len(payload)
        if resource.pop("md5Hash", _md5(payload)) != _md5(payload):
            return _error(400, "invalid")
        return self._stored(
            f"{self._bucket()}/{resource['name']}", payload, resource, self._query()
        )

    def _put(self, name: str, body: bytes) -> Answer:
        """Of the XML API, which obstore takes."""
        wanted = self.headers.get("x-goog-if-generation-match")
        generation = self.store.resources.get(name, {}).get("generation", "0")
        if wanted not in (None, generation) and not self.store.is_lax:
            return 412, "<Error><Code>PreconditionFailed</Code></Error>", {}
        self.store.put(name, body)
        return 200, "", {"ETag": self.store.etag(name)}

    def _begin(self, path: str, body: bytes) -> Answer:
        number = f"upload-{next(self.store._numbers)}"
        resource = json.loads(body)
        size = int(self.headers["X-Upload-Content-Length"])
        name = f"{self._bucket()}/{resource['name']}"
        self.store.uploads[number] = Upload(name, resource, self._query(), size)
        return 200, "", {"Location": f"{self.store.endpoint}/upload/session/{number}"}

    def _part(self, path: str, body: bytes) -> Answer:
        number = path.rpartition("/")[2]
        if number not in self.store.uploads:
            return _error(404, "notFound")
        upload = self.store.uploads[number]
        bounds, _, size = self.headers["Content-Range"].removeprefix("bytes ").partition("/")
        start, last = map(int, bounds.split("-"))
        if (int(size), last - start + 1, start) != (upload.size, len(body), len(upload.data)):
            return _error(400, "invalid")
        upload.data += body if self.store.most is None else body[: self.store.most]
        if len(upload.data) < upload.size:
            return self._status(path, b"")
        if self.headers["X-Goog-Hash"] != f"md5={_md5(upload.data)}":
            return _error(400, "invalid")
        del self.store.uploads[number]
        answer = self._stored(upload.name, upload.data, upload.resource, upload.parameters)
        self.store.done[number] = answer
        return answer

    def _status(self, path: str, body: bytes) -> Answer:
        number = path.rpartition("/")[2]
        if number in self.store.done:
            found: Answer = self.store.done[number]
            return found
        if number not in self.store.uploads:
            return _error(404, "notFound")
        there = len(self.store.uploads[number].data)
        return 308, "", {"Range": f"bytes=0-{there - 1}"} if there else {}

    def _cancel(self, path: str, body: bytes) -> Answer:
        if self.store.uploads.pop(path.rpartition("/")[2], None) is None:
            return _error(404, "notFound")
        return 499, "", {}

    def _compose(self, path: str, body: bytes) -> Answer:
        store, name = self.store, self._name(path.removesuffix("/compose"))
        request = json.loads(body)
        parts = []
        for source in request["sourceObjects"]:
            place = f"{self._bucket()}/{source['name']}"
            if place not in store.objects:
                return _error(404, "notFound")
            generation = store.resources[place]["generation"]
            if source.get("generation", generation) != generation:
                return _error(404, "notFound")
            wanted = source.get("objectPreconditions", {}).get("ifGenerationMatch", generation)
            if wanted != generation and not store.is_lax:
                return _error(412, "conditionNotMet")
            parts.append((store.resources[place], store.objects[place]))
        if len({said["storageClass"] for said, _ in parts}) > 1 or not 1 <= len(parts) <= 32:
            return _error(400, "invalid")
        data = b"".join(data for _, data in parts)
        number = sum(said.get("componentCount", 1) for said, _ in parts)
        return self._stored(name, data, request["destination"], self._query(), number)

    def _delete(self, path: str, body: bytes) -> Answer:
        name = self._name(path)
        said = self.store.resources.get(name, {})
        if self._query().get("generation", said.get("generation")) != said.get("generation"):
            return _error(404, "notFound")
        if problem := self._held(name):
            return problem
        if name not in self.store.objects:
            return _error(404, "notFound")
        del self.store.objects[name], self.store.resources[name]
        return 204, "", {}

    # --------------------------------------------------------------------------------------------

    def _bucket(self) -> str:
        return unquote(urlsplit(self.path).path.partition("/b/")[2].partition("/")[0])

    def _name(self, path: str) -> str:
        """In a path that is not yet decoded, which keys have slashes in."""
        if "/o/" not in self.path:
            # That of an object that is read.
            return path
        key = urlsplit(self.path).path.partition("/o/")[2].removesuffix("/compose")
        return f"{self._bucket()}/{unquote(key)}"

    def _held(self, name: str) -> Answer | None:
        said = self.store.resources.get(name, {})
        if said.get("temporaryHold") or said.get("eventBasedHold"):
            return _error(403, "objectUnderActiveHold")
        if said.get("retentionExpirationTime", "") > "2026":
            return _error(403, "retentionPolicyNotMet")
        return None

    def _stored(
        self,
        name: str,
        data: bytes,
        resource: dict[str, Any],
        parameters: dict[str, str],
        parts: int | None = None,
    ) -> Answer:
        store = self.store
        with store.writing:
            now = store.resources.get(name, {})
            for condition, key in (
                ("ifGenerationMatch", "generation"),
                ("ifMetagenerationMatch", "metageneration"),
            ):
                wanted = parameters.get(condition)
                if wanted not in (None, now.get(key, "0")) and not store.is_lax:
                    return _error(412, "conditionNotMet")
            if problem := self._held(name):
                return problem
            said = {key: value for key, value in resource.items() if key != "name"}
            if said.get("storageClass", "STANDARD") not in CLASSES:
                return _error(400, "invalid")
            if "kmsKeyName" in parameters:
                if "/cryptoKeyVersions/" in parameters["kmsKeyName"]:
                    return _error(400, "invalid")
                said["kmsKeyName"] = f"{parameters['kmsKeyName']}/cryptoKeyVersions/1"
            if parts is None:
                store.put(name, data, **said)
            else:
                store.put_together(name, data, parts, **said)
            return 200, json.dumps(store.resources[name]), {}


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _md5(data: bytes) -> str:
    return _encoded(hashlib.md5(data, usedforsecurity=False).digest())


def _error(status: int, reason: str) -> Answer:
    problem = {"code": status, "message": reason, "errors": [{"reason": reason}]}
    return status, json.dumps({"error": problem}), {}
