"""Replace a block blob in Azure.

    larger   blocks of the old version are named again, what else stays is copied by the store (Put Block
             From URL), what is new is sent (Put Block), and Put Block List puts all together
    small    one Put Blob

Either with If-Match: the store answers 412 if the blob is not the one that was read. Stores that do not
know If-Match there are found out by `conditions`, unless they are Azure's.

While blocks are there that are not committed, nobody can send others whose names have another length. They
vanish when anybody replaces the blob, or after a week. So whoever fails puts the old blocks back, which
gives the blob another ETag, but no other content.
"""

from __future__ import annotations

import errno
import hashlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final
from urllib.parse import urlencode
from xml.sax.saxutils import escape

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.adapter import Adapter, NewObject, Seen, ToldError
from parquet_bloom.storage.objects.azure_blocks import (
    LEAST_NAME_BYTES,
    NAME_BYTES,
    Block,
    Committed,
    Names,
    blocks_of,
    sent,
)
from parquet_bloom.storage.objects.azure_client import AZURE, AzureClient, parsed, time_of
from parquet_bloom.storage.objects.conditions import NO_ETAG
from parquet_bloom.storage.objects.object_source import ObjectSource, quoted
from parquet_bloom.storage.objects.pieces import Piece, Pieces
from parquet_bloom.storage.objects.requests import ChangedError
from parquet_bloom.storage.objects.sending import Attempts
from parquet_bloom.storage.traffic import GET, HEAD, PUT, Requests

# What is not larger is sent as a whole.
WHOLE_BYTES: Final = 4 << 20

# Of which nothing can be put together from blocks.
_KINDS: Final = {"AppendBlob": "an append blob", "PageBlob": "a page blob"}
# By which a store may say that it does not copy from itself.
_NO_COPIES: Final = {400, 401, 403, 404, 405, 409, 501}
_NO_SOURCE: Final = "CannotVerifyCopySource"
_LEFT: Final = "blocks were left, which clean-temp --uploads discards; "


class AzureAdapter(Adapter):
    failures = AZURE

    def __init__(self, address: Address, old: ObjectSource, unconditional: bool) -> None:
        super().__init__(address, old, unconditional)
        self._client = AzureClient(address, old.traffic)
        self.endpoint = self._client.settings.endpoint
        self.is_own = self._client.settings.is_azure
        self._old_size = old.size
        self._condition = {"If-Match": self.version or ""} if self.is_conditional else {}
        self._is_copying = True
        self._name_bytes = NAME_BYTES
        self._has_staged = False
        # Of requests for blocks, which may be there nevertheless.
        self._staging = Attempts()
        self._check_kind(self.look())

    def _check_kind(self, seen: Seen) -> None:
        kind, problem = seen.said.get("x-ms-blob-type"), ""
        if kind in _KINDS:
            problem = f"is {_KINDS[kind]}, expected a block blob"
        elif "x-ms-encryption-key-sha256" in seen.said:
            problem = "blobs encrypted with a customer's key are only read"
        if problem:
            raise RewriteError(f"{self.address}: not changed in place: {problem}")

    def honours_conditions(self) -> bool:
        scratch = self.beside()
        ways: tuple[tuple[dict[str, str], dict[str, str], bytes], ...] = (
            ({}, {"x-ms-blob-type": "BlockBlob"}, b""),
            ({"comp": "blocklist"}, {}, _block_list(())),
        )
        for query, headers, body in ways:
            condition = {"If-Match": NO_ETAG}
            try:
                self._client.ask("PUT", PUT, query, headers | condition, body, key=scratch)
            except AZURE.kinds as error:
                if AZURE.status(error) not in (404, 412):
                    raise
            else:
                self._client.ask("DELETE", PUT, key=scratch)
                return False
        return True

    def look(self) -> Seen:
        head = self._client.ask("HEAD", HEAD).headers
        return Seen(quoted(head.get("ETag")), int(head.get("Content-Length", 0)), head)

    def assemble(self, new: NewObject, old: Seen) -> None:
        self._new = new
        self._keep(old)
        if new.size <= WHOLE_BYTES:
            self._put()
        else:
            self._put_together()

    def _keep(self, old: Seen) -> None:
        self._kept = kept(self._client, old.said)
        self._scope = {
            name: self._kept[name] for name in ("x-ms-encryption-scope",) if name in self._kept
        }
        self._began = time_of(old.said)

    def finish(self, attempts: Attempts) -> None:
        headers = self._last_headers | self._condition
        kind = PUT + Requests(bytes_up=0 if self._query else len(self._body))
        self._client.ask("PUT", kind, self._query, headers, self._body, attempts)

    def is_new(self, now: Seen) -> bool:
        return self._has(now.said)

    def settle(self, error: BaseException | None) -> None:
        if error is None or not (self._has_staged or self._staging.doubts):
            return
        if isinstance(error, ToldError | RewriteError | ChangedError):
            # Of the blob that is there now, others know.
            return
        # Report the first error, not this one.
        try:
            self._put_back()
        except AZURE.kinds as failed:
            self.left = "" if AZURE.is_unmet(failed) else _LEFT

    def discard(self, old: Seen, name_bytes: int) -> None:
        """Let the store discard all blocks that are not committed, whose names have so many bytes: put
        the old version in the place of itself."""
        self._keep(old)
        self._committed = self._blocks()
        self._name_bytes = name_bytes
        self._put_back()

    # --------------------------------------------------------------------------------------------
    # The last request, and the blocks that it names

    def _put(self) -> None:
        self._query: dict[str, str] = {}
        self._body = self._new.whole()
        digest = b64encode(hashlib.md5(self._body, usedforsecurity=False).digest()).decode()
        headers = {"x-ms-blob-type": "BlockBlob", "x-ms-blob-content-md5": digest}
        self._last_headers = self._kept | headers
        self._has: Callable[[Mapping[str, str]], bool] = lambda head: (
            head.get("Content-MD5") == digest
        )

    def _put_together(self) -> None:
        self._committed = self._blocks()
        names = self._staged(blocks_of(self._new.pieces, self._committed))
        self._query, self._body = {"comp": "blocklist"}, _block_list(names)
        self._last_headers = self._kept
        self._has = partial(self._consists_of, names)

    def _consists_of(self, names: Sequence[tuple[str, str]], head: Mapping[str, str]) -> bool:
        """These blocks, of which those that were sent are nobody else's."""
        try:
            return [name for name, _ in self._listed()] == [name for _, name in names]
        except ValueError:
            return False

    def _blocks(self) -> Sequence[Committed]:
        """The blocks of the old version, if it consists of such that can be named again."""
        blocks, at = [], 0
        try:
            for name, size in self._listed():
                blocks.append(Committed(name, at, at + size))
                at += size
            lengths = {len(b64decode(block.name)) for block in blocks}
        except ValueError:
            return ()
        if at != self._old_size or len(lengths) != 1 or min(lengths) < LEAST_NAME_BYTES:
            return ()
        (self._name_bytes,) = lengths
        return blocks

    def _listed(self) -> list[tuple[str, int]]:
        """The names and sizes of the blocks that the blob consists of. Raises ValueError."""
        answer = self._client.ask("GET", GET, {"comp": "blocklist", "blocklisttype": "committed"})
        blocks = parsed(answer).iter("Block")
        return [(block.findtext("Name", ""), int(block.findtext("Size", ""))) for block in blocks]

    def _staged(self, blocks: Sequence[Block]) -> list[tuple[str, str]]:
        """What the list of blocks has of each."""
        self._names = Names(self._name_bytes, self._began)
        new = (block for block in blocks if block.name is None and block.copied is None)
        self._new.will_read((block.start, block.end) for block in new)
        return [name for names in self.all_of(self._stage, blocks) for name in names]

    def _stage(self, block: Block) -> list[tuple[str, str]]:
        if block.name is not None:
            return [("Committed", block.name)]
        if block.copied is not None and self._is_copying:
            try:
                return [self._copy(block)]
            except AZURE.kinds as error:
                if AZURE.status(error) not in _NO_COPIES and AZURE.code(error) != _NO_SOURCE:
                    raise
                self._is_copying = False
        return [self._send(part) for part in sent(block.start, block.end, self._new.size)]

    def _copy(self, block: Block) -> tuple[str, str]:
        assert block.copied is not None
        bounds = f"bytes={block.copied.start}-{block.copied.end - 1}"
        headers = {"x-ms-source-range": bounds, "x-ms-source-if-match": self.version or ""}
        return self._put_block(PUT, self._client.as_source() | headers, b"")

    def _send(self, block: Block) -> tuple[str, str]:
        body = self._new.read(block.start, block.end)
        return self._put_block(PUT + Requests(bytes_up=len(body)), {}, body)

    def _put_block(self, kind: Requests, headers: dict[str, str], body: bytes) -> tuple[str, str]:
        name = self._names.next()
        query = {"comp": "block", "blockid": name}
        self._client.ask("PUT", kind, query, headers | self._scope, body, self._staging)
        self._has_staged = True
        return "Uncommitted", name

    def _put_back(self) -> None:
        """What was sent as a whole is copied by the store."""
        if not self.is_conditional:
            raise OSError(errno.ENOTSUP, "the store may ignore If-Match")
        whole = Pieces()
        whole.add(Piece(0, self._old_size, is_old=True))
        self._names = Names(self._name_bytes, self._began)
        blocks = blocks_of(whole, self._committed)
        names = [("Committed", each.name) if each.name else self._copy(each) for each in blocks]
        headers = {**self._kept, **self._condition}
        self._client.ask("PUT", PUT, {"comp": "blocklist"}, headers, _block_list(names))


def _block_list(names: Iterable[tuple[str, str]]) -> bytes:
    """`names`: where a block is, and its name."""
    blocks = "".join(f"<{where}>{escape(name)}</{where}>" for where, name in names)
    return f'<?xml version="1.0" encoding="utf-8"?><BlockList>{blocks}</BlockList>'.encode()


# ------------------------------------------------------------------------------------------------
# What is said of a blob, which a new version is told again: properties, metadata, index tags

# What is said of a blob, and how a new version is told.
_KEPT: Final = {
    "Cache-Control": "x-ms-blob-cache-control",
    "Content-Disposition": "x-ms-blob-content-disposition",
    "Content-Encoding": "x-ms-blob-content-encoding",
    "Content-Language": "x-ms-blob-content-language",
    "Content-Type": "x-ms-blob-content-type",
    "x-ms-encryption-scope": "x-ms-encryption-scope",
}
# Others are set by the account, or not for those who write.
_TIERS: Final = {"Cool", "Cold", "Hot"}
# Accounts and stores without tags.
_NO_TAGS: Final = {
    "BlobTagsNotSupportedForAccountType",
    "FeatureNotYetSupportedForHierarchicalNamespaceAccounts",
    "NotImplemented",
}


def kept(client: AzureClient, head: Mapping[str, str]) -> dict[str, str]:
    """The headers that say it again; `head`: those of an answer about the blob. Raises AZURE's kinds,
    PermissionError if tags would be lost."""
    return _properties(head) | _tags(client, has_folders="x-ms-resource-type" in head)


def _properties(head: Mapping[str, str]) -> dict[str, str]:
    found = {told: head[said] for said, told in _KEPT.items() if said in head}
    found |= {name: head[name] for name in head if name.lower().startswith("x-ms-meta-")}
    if head.get("x-ms-access-tier-inferred") != "true" and head.get("x-ms-access-tier") in _TIERS:
        found["x-ms-access-tier"] = head["x-ms-access-tier"]
    return found


def _tags(client: AzureClient, has_folders: bool) -> dict[str, str]:
    """`has_folders`: of an account with a hierarchical namespace, which has no tags."""
    try:
        answer = client.ask("GET", GET, {"comp": "tags"})
    except AZURE.kinds as error:
        if AZURE.code(error) in _NO_TAGS or AZURE.status(error) in (405, 501):
            return {}
        if AZURE.status(error) == 403 and has_folders:
            return {}
        if AZURE.status(error) == 403:
            raise PermissionError(
                errno.EACCES,
                f"its index tags would be lost, as they cannot be read ({AZURE.said(error)}):"
                " allow tags/read and tags/write, as the role Storage Blob Data Owner does, or"
                " make a SAS with t",
            ) from None
        raise
    tags = [
        (tag.findtext("Key", ""), tag.findtext("Value", "")) for tag in parsed(answer).iter("Tag")
    ]
    return {"x-ms-tags": urlencode(tags)} if tags else {}
