"""Replace a block blob in Azure.

    larger   blocks of the old version are named again, what else stays is copied by the store (Put Block
             From URL), what is new is sent (Put Block), and Put Block List puts all together
    small    one Put Blob

Either with If-Match: the store answers 412 if the blob is not the one that was read. Stores that do not
know If-Match there are found out by `check_conditions`, unless they are Azure's.

While blocks are there that are not committed, nobody can send others whose names have another length. They
vanish when anybody replaces the blob, or after a week. So whoever fails puts the old blocks back, which
gives the blob another ETag, but no other content.
"""

from __future__ import annotations

import errno
import hashlib
import os
from base64 import b64decode, b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import count
from operator import attrgetter
from typing import Final
from urllib.parse import urlencode
from xml.sax.saxutils import escape

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import Address, Listed
from parquet_bloom.storage.objects.adapter import (
    NO_ETAG,
    SENT_BYTES,
    Adapter,
    ObjectState,
    OutcomeError,
)
from parquet_bloom.storage.objects.azure_client import AZURE, AzureClient, answered_at, parsed
from parquet_bloom.storage.objects.listing import list_below
from parquet_bloom.storage.objects.object_source import ObjectSource, quoted
from parquet_bloom.storage.objects.pieces import Composition, NewObject, Piece, equal_cuts
from parquet_bloom.storage.objects.replacement import Commit, reporting
from parquet_bloom.storage.objects.requests import IN_FLIGHT, ChangedError
from parquet_bloom.storage.objects.sending import Attempts
from parquet_bloom.storage.temporary_files import Leftover
from parquet_bloom.storage.traffic import GET, HEAD, PUT, Requests, Traffic

# What is not larger is sent as a whole.
WHOLE_BYTES: Final = 4 << 20

# Of which nothing can be put together from blocks.
_KINDS: Final = {"AppendBlob": "an append blob", "PageBlob": "a page blob"}
# By which a store may say that it does not copy from itself.
_NO_COPIES: Final = {400, 401, 403, 404, 405, 409, 501}
_NO_SOURCE: Final = "CannotVerifyCopySource"
_LEFT: Final = "blocks were left, which `pbloom clean-temp --uploads` discards; "


class AzureAdapter(Adapter):
    failures = AZURE
    stores_without_tags = frozenset(
        (
            "BlobTagsNotSupportedForAccountType",
            "FeatureNotYetSupportedForHierarchicalNamespaceAccounts",
            "NotImplemented",
        )
    )

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
        self._check_kind(self.state())

    def _check_kind(self, seen: ObjectState) -> None:
        kind, problem = seen.properties.get("x-ms-blob-type"), ""
        if kind in _KINDS:
            problem = f"is {_KINDS[kind]}, expected a block blob"
        elif "x-ms-encryption-key-sha256" in seen.properties:
            problem = "blobs encrypted with a customer's key are read-only"
        if problem:
            raise RewriteError(f"{self.address}: not changed in place: {problem}")

    def ignores_condition_in(self) -> str:
        scratch = self.beside()
        ways: tuple[tuple[str, dict[str, str], dict[str, str], bytes], ...] = (
            ("Put Blob", {}, {"x-ms-blob-type": "BlockBlob"}, b""),
            ("Put Block List", {"comp": "blocklist"}, {}, _block_list(())),
        )
        for request, query, headers, body in ways:
            given = headers | {"If-Match": NO_ETAG}
            put = partial(self._client.ask, "PUT", PUT, query, given, body, key=scratch)
            if not self.refuses(put):
                self._client.ask("DELETE", PUT, key=scratch)
                return request
        return ""

    def is_no_object(self, error: Exception) -> bool:
        return AZURE.status(error) in (404, 412)

    def state(self) -> ObjectState:
        head = self._client.ask("HEAD", HEAD).headers
        return ObjectState(quoted(head.get("ETag")), int(head.get("Content-Length", 0)), head)

    def assemble(self, new: NewObject, old: ObjectState) -> None:
        self._new = new
        self._keep(old)
        if new.size <= WHOLE_BYTES:
            self._put()
        else:
            self._put_together()

    def _keep(self, old: ObjectState) -> None:
        self._kept = _properties(old.properties) | self._tags(old.properties)
        self._scope = {
            name: self._kept[name] for name in ("x-ms-encryption-scope",) if name in self._kept
        }
        self._began = answered_at(old.properties)

    def _tags(self, head: Mapping[str, str]) -> dict[str, str]:
        answer = self.tags_by(
            lambda: self._client.ask("GET", GET, {"comp": "tags"}),
            "index tags",
            "allow tags/read and tags/write, as the role Storage Blob Data Owner does, or make a SAS"
            " with t",
            # An account with a hierarchical namespace has none.
            may_have="x-ms-resource-type" not in head,
        )
        if answer is None:
            return {}
        tags = [
            (tag.findtext("Key", ""), tag.findtext("Value", ""))
            for tag in parsed(answer).iter("Tag")
        ]
        return {"x-ms-tags": urlencode(tags)} if tags else {}

    def finish(self, attempts: Attempts) -> str | None:
        headers = self._last_headers | self._condition
        kind = PUT + Requests(bytes_up=0 if self._query else len(self._body))
        made = self._client.ask("PUT", kind, self._query, headers, self._body, attempts)
        return quoted(made.headers.get("ETag"))

    def is_new(self, now: ObjectState) -> bool:
        return self._has(now.properties)

    def settle(self, error: BaseException | None) -> None:
        if error is None or not (self._has_staged or self._staging.doubts):
            return
        if isinstance(error, OutcomeError | RewriteError | ChangedError):
            # Of the blob that is there now, others know.
            return
        # Report the first error, not this one.
        try:
            self._put_back()
        except AZURE.kinds as failed:
            self.left = "" if AZURE.is_unmet(failed) else _LEFT

    def discard(self, old: ObjectState, name_bytes: int) -> None:
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
        names = self._staged(cut_into_blocks(self._new.pieces, self._committed))
        self._query, self._body = {"comp": "blocklist"}, _block_list(names)
        self._last_headers = self._kept
        self._has = partial(self._consists_of, names)

    def _consists_of(self, names: Sequence[tuple[str, str]], head: Mapping[str, str]) -> bool:
        """These blocks, of which those that were sent are nobody else's."""
        try:
            return [name for name, _ in self._listed()] == [name for _, name in names]
        except ValueError:
            return False

    def _blocks(self) -> Sequence[CommittedBlock]:
        """The blocks of the old version, if it consists of such that can be named again."""
        blocks, at = [], 0
        try:
            for name, size in self._listed():
                blocks.append(CommittedBlock(name, at, at + size))
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
        self._names = BlockNames(self._name_bytes, self._began)
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
        body = self._new.read_at(block.start, block.end - block.start)
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
        whole = Composition()
        whole.add(Piece(0, self._old_size, is_old=True))
        self._names = BlockNames(self._name_bytes, self._began)
        blocks = cut_into_blocks(whole, self._committed)
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


def _properties(head: Mapping[str, str]) -> dict[str, str]:
    found = {told: head[said] for said, told in _KEPT.items() if said in head}
    found |= {name: head[name] for name in head if name.lower().startswith("x-ms-meta-")}
    if head.get("x-ms-access-tier-inferred") != "true" and head.get("x-ms-access-tier") in _TIERS:
        found["x-ms-access-tier"] = head["x-ms-access-tier"]
    return found


# ------------------------------------------------------------------------------------------------
# The blocks of a new version
#
#     old version   | block 1 | block 2 | block 3 |
#     new version   | block 1 | block 2 | copied  | sent |
#
# Blocks of the old version that lie whole in what stays are named again, what else stays is copied by the
# store, and what is new is sent; together with it, old bytes that are too few to be worth a request.
#
# The name of a new block says that it is ours, and since when; of two replacements, no names are equal:
#
#     | pbloom | seconds since 1970 | random | number |
#     0        6                    10       17 or more, of 20 or more

MOST_BLOCKS: Final = 50_000

# What is copied at once, while one waits for the answer.
COPIED_BYTES: Final = 256 << 20
# Fewer bytes of the old version that follow new ones are sent with them.
LEAST_BYTES: Final = 64 << 10


# The names of blocks, in bytes; all of a blob that are not committed have one length, which is that of the
# old version's, if it has such. Else it is that of Azure's own libraries for Python and JavaScript, whose
# blocks are then not refused. Shorter ones than the least leave no room for what makes them nobody else's.
NAME_BYTES: Final = 48
LEAST_NAME_BYTES: Final = 20
_MARK: Final = b"pbloom"
_NUMBER_BYTES: Final = 3


class BlockNames:
    """Names of new blocks, in base 64, of a replacement that `began` at so many seconds since 1970."""

    def __init__(self, num_bytes: int, began: int) -> None:
        head = _MARK + began.to_bytes(4, "big")
        self._head = head + os.urandom(num_bytes - len(head) - _NUMBER_BYTES)
        self._numbers = count()

    def next(self) -> str:
        """For several threads."""
        return b64encode(self._head + next(self._numbers).to_bytes(_NUMBER_BYTES, "big")).decode()


def began(name: str) -> int | None:
    """When the replacement began that gave a block its `name`; None if the name is of others."""
    try:
        found = b64decode(name, validate=True)
    except ValueError:
        return None
    if not found.startswith(_MARK) or len(found) < LEAST_NAME_BYTES:
        return None
    return int.from_bytes(found[len(_MARK) : len(_MARK) + 4], "big")


@dataclass(frozen=True, slots=True)
class CommittedBlock:
    """A block of the old version, which begins at `start`; its name is in base 64."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """The bytes [start, end) of the new version: a block of the old one, by its `name`; or what the store
    copies, `copied` of the old one; or else what is sent."""

    start: int
    end: int
    name: str | None = None
    copied: Piece | None = None


def cut_into_blocks(pieces: Composition, committed: Sequence[CommittedBlock]) -> list[Block]:
    """`committed`: those of the old version, in order, without gaps; or none, if it has none."""
    least = LEAST_BYTES
    blocks = list(_StagedBlocks(pieces, committed, least))
    while len(blocks) > MOST_BLOCKS:
        blocks = list(_StagedBlocks(pieces, (), least))
        least *= 8
    return blocks


class _StagedBlocks:
    def __init__(
        self, pieces: Composition, committed: Sequence[CommittedBlock], least: int
    ) -> None:
        self._pieces, self._committed, self._least = pieces, committed, least
        # Half of all blocks are for what is between.
        self._most_copied = max(COPIED_BYTES, 2 * pieces.size // MOST_BLOCKS)

    def __iter__(self) -> Iterator[Block]:
        at = sent_from = 0
        for piece in self._pieces:
            if piece.is_old and (at == sent_from or piece.size >= self._least):
                yield from sent(sent_from, at, self._pieces.size)
                yield from self._old(piece, at)
                sent_from = at + piece.size
            at += piece.size
        yield from sent(sent_from, at, self._pieces.size)

    def _old(self, piece: Piece, at: int) -> Iterator[Block]:
        """A piece that is at `at` in the new version."""
        shift, done = at - piece.start, piece.start
        for block in self._whole_in(piece):
            yield from self._copied(done, block.start, shift)
            yield Block(block.start + shift, block.end + shift, name=block.name)
            done = block.end
        yield from self._copied(done, piece.end, shift)

    def _whole_in(self, piece: Piece) -> Iterator[CommittedBlock]:
        first = bisect_left(self._committed, piece.start, key=attrgetter("start"))
        last = bisect_right(self._committed, piece.end, key=attrgetter("end"))
        yield from self._committed[first:last]

    def _copied(self, start: int, end: int, shift: int) -> Iterator[Block]:
        for first, last in equal_cuts(start, end, self._most_copied):
            yield Block(first + shift, last + shift, copied=Piece(first, last, is_old=True))


def sent(start: int, end: int, size: int) -> Iterator[Block]:
    """What is sent of a version of so many bytes."""
    for first, last in equal_cuts(start, end, max(SENT_BYTES, 2 * size // MOST_BLOCKS)):
        yield Block(first, last)


# ------------------------------------------------------------------------------------------------
# Blocks that killed replacements have left: of no version of their blob, and in the way of others, who
# cannot send blocks whose names have another length.
#
# No listing has them: each blob is asked. Their names say that they are ours, and since when. They are
# discarded by putting the blob's own blocks in the place of themselves, if it is still the one that was
# looked at; that gives it another ETag, and discards blocks of others, too. So where there are such, or
# younger ones, nothing is done: somebody is at work.


def unfinished_blocks(address: Address, older_than: float) -> Iterator[Leftover]:
    """Those of the blob at `address`, and of those below it as a folder, whose replacement began at least
    `older_than` seconds ago. Raises OSError."""
    with ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="pbloom-blocks") as threads:
        for left in threads.map(partial(_left, older_than=older_than), _blobs(address)):
            yield from left


def _blobs(address: Address) -> Iterator[Address]:
    key = address.key.strip("/")
    traffic = Traffic()
    # Which of both it is, nobody knows.
    if key:
        yield address
    for meta in list_below(address, f"{key}/" if key else "", traffic):
        yield address.found(meta["path"], Listed(meta["size"], meta["e_tag"]))


def _left(blob: Address, older_than: float) -> list[Leftover]:
    try:
        answer = AzureClient(blob, Traffic()).ask(
            "GET", GET, {"comp": "blocklist", "blocklisttype": "uncommitted"}
        )
        blocks = [
            (block.findtext("Name", ""), int(block.findtext("Size", "0")))
            for block in parsed(answer).iter("Block")
        ]
    except (*AZURE.kinds, ValueError) as error:
        # A folder, or no longer there; or a blob of another kind.
        if AZURE.status(error) in (404, 409):
            return []
        if AZURE.status(error) in (401, 403):
            said = f"listing blocks was refused ({AZURE.summary(error)}): allow blobs/read"
            raise PermissionError(errno.EACCES, said, str(blob)) from None
        raise AZURE.as_os_error(blob, error, "the search for blocks was not completed") from None
    before = answered_at(answer.headers) - older_than
    times = [began(name) for name, _ in blocks]
    old = [since for since in times if since is not None and since <= before]
    if not blocks or len(old) < len(blocks):
        return []
    name_bytes = len(b64decode(blocks[0][0]))
    size = sum(size for _, size in blocks)
    return [Leftover(blob, size, min(old), partial(_discard, blob, name_bytes), "upload")]


def _discard(blob: Address, name_bytes: int) -> None:
    """Raises OSError."""
    source = ObjectSource(blob)
    with closing(source):
        try:
            with reporting(blob, AZURE):
                adapter = AzureAdapter(blob, source, unconditional=False)
            steps = Commit(adapter)
            steps.check()
            with reporting(blob, AZURE):
                adapter.discard(steps.unchanged_state(), name_bytes)
        except RewriteError as error:
            raise OSError(errno.EBUSY, str(error).removeprefix(f"{blob}: "), str(blob)) from None
