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
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar
from xml.sax.saxutils import escape

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.azure_blocks import (
    LEAST_NAME_BYTES,
    NAME_BYTES,
    Block,
    Committed,
    Names,
    blocks_of,
    sent,
)
from parquet_bloom.storage.objects.azure_client import (
    AZURE,
    FAILURES,
    Client,
    code_of,
    parsed,
    status_of,
    time_of,
)
from parquet_bloom.storage.objects.azure_properties import kept
from parquet_bloom.storage.objects.commit import (
    NOTHING,
    NewObject,
    ToldError,
    changed_meanwhile,
)
from parquet_bloom.storage.objects.conditions import NO_ETAG, check_conditions
from parquet_bloom.storage.objects.object_source import ObjectSource, quoted
from parquet_bloom.storage.objects.pieces import Piece, Pieces
from parquet_bloom.storage.objects.requests import ChangedError
from parquet_bloom.storage.objects.sending import Found, is_written
from parquet_bloom.storage.temporary_files import hidden_name
from parquet_bloom.storage.traffic import GET, HEAD, PUT, Requests

# What is not larger is sent as a whole.
WHOLE_BYTES: Final = 4 << 20
AT_ONCE: Final = 4

# Of which nothing can be put together from blocks.
_KINDS: Final = {"AppendBlob": "an append blob", "PageBlob": "a page blob"}
_REFUSALS: Final = {
    "BlobImmutableDueToPolicy": "an immutability policy or a legal hold keeps it as it is",
    "AuthenticationFailed": "the key, SAS or token is wrong, or has expired",
    "AuthorizationPermissionMismatch": "allow blobs/read and blobs/write, or make a SAS with rw",
    "InvalidBlobOrBlock": "blocks that others send now, or a killed run has left, have names of another"
    " length: try again later, or discard those of killed builds with clean-temp --uploads",
    "InvalidAuthenticationInfo": "the token is wrong, or has expired",
    "LeaseIdMissing": "somebody holds a lease on it",
}
# By which a store may say that it does not copy from itself.
_NO_COPIES: Final = {400, 401, 403, 404, 405, 409, 501}
_NO_SOURCE: Final = "CannotVerifyCopySource"
_LEFT: Final = "blocks were left, which clean-temp --uploads discards; "


Result = TypeVar("Result")


class AzureCommit:
    """A Commit."""

    def __init__(self, address: Address, old: ObjectSource, unconditional: bool) -> None:
        """Raises RewriteError, OSError."""
        self.address, self._old = address, old
        self._client = self._trying(partial(Client, address, old.traffic))
        self._is_conditional = self._client.settings.is_azure or not unconditional

    def check(self) -> None:
        self._trying(self._check)

    def commit(self, new: NewObject) -> None:
        replacing = _Replacing(self._client, new, self._is_conditional)
        self._trying(replacing.run, lambda: f"{replacing.left}{NOTHING}")

    def put_back(self, old: NewObject, name_bytes: int) -> None:
        """Let the store discard blocks that are not committed, whose names have so many bytes: `old` is
        the version that is there."""
        replacing = _Replacing(self._client, old, self._is_conditional)
        self._trying(partial(replacing.put_back, name_bytes))

    def _check(self) -> None:
        head = self._client.ask("HEAD", HEAD).headers
        kind, problem = head.get("x-ms-blob-type"), ""
        if kind in _KINDS:
            problem = f"is {_KINDS[kind]}, expected a block blob"
        elif "x-ms-encryption-key-sha256" in head:
            problem = "blobs encrypted with a customer's key are only read"
        if problem:
            raise RewriteError(f"{self.address}: not changed in place: {problem}")
        if self._is_conditional and not self._client.settings.is_azure:
            honours = partial(honours_conditions, self._client)
            check_conditions(self.address, self._client.settings.endpoint, honours)

    def _trying(
        self, work: Callable[[], Result], became: Callable[[], str] = lambda: NOTHING
    ) -> Result:
        """`became`: what to say of the blob after a failure."""
        try:
            return work()
        except ToldError:
            raise
        except ChangedError:
            raise changed_meanwhile(self.address) from None
        except FAILURES as error:
            raise self._told(error, became()) from None

    def _told(self, error: Exception, became: str) -> Exception:
        code = code_of(error)
        if status_of(error) == 412 and not code.startswith("Lease"):
            return changed_meanwhile(self.address)
        if code in _REFUSALS:
            return PermissionError(
                errno.EACCES,
                f"writing was refused ({AZURE.said(error)}): {_REFUSALS[code]}; {became}",
                str(self.address),
            )
        return AZURE.told(self.address, error, became)


def honours_conditions(client: Client) -> bool:
    """Whether the store refuses to replace a blob that is not there; one that does not makes it, and it
    is removed. Raises FAILURES."""
    folder, slash, name = client.address.key.rpartition("/")
    scratch = f"{folder}{slash}{hidden_name(name)}"
    ways: tuple[tuple[dict[str, str], dict[str, str], bytes], ...] = (
        ({}, {"x-ms-blob-type": "BlockBlob"}, b""),
        ({"comp": "blocklist"}, {}, _block_list(())),
    )
    for query, headers, body in ways:
        try:
            client.ask("PUT", PUT, query, headers | {"If-Match": NO_ETAG}, body, key=scratch)
        except FAILURES as error:
            if status_of(error) not in (404, 412):
                raise
        else:
            client.ask("DELETE", PUT, key=scratch)
            return False
    return True


def _block_list(names: Iterable[tuple[str, str]]) -> bytes:
    """`names`: where a block is, and its name."""
    blocks = "".join(f"<{where}>{escape(name)}</{where}>" for where, name in names)
    return f'<?xml version="1.0" encoding="utf-8"?><BlockList>{blocks}</BlockList>'.encode()


class _Replacing:
    """One replacement. What it raises besides ToldError happened before the last request."""

    def __init__(self, client: Client, new: NewObject, is_conditional: bool) -> None:
        self._client, self._new, self._is_conditional = client, new, is_conditional
        self._condition = {"If-Match": new.etag} if is_conditional else {}
        # Of blocks, too.
        self._scope: dict[str, str] = {}
        self._is_copying = True
        self._name_bytes = NAME_BYTES
        self._has_staged = False
        # Failures of requests for blocks that may be there nevertheless.
        self._doubts: list[BaseException] = []
        # What failures say besides.
        self.left = ""

    def run(self) -> None:
        said = self._look()
        if self._new.size <= WHOLE_BYTES:
            self._put(said)
            return
        committed = self._committed()
        try:
            names = self._staged(blocks_of(self._new.pieces, committed))
            self._finish({"comp": "blocklist"}, said, _block_list(names), partial(self._has, names))
        except (ToldError, RewriteError, ChangedError):
            # Of the blob that is there now, others know.
            raise
        except BaseException:
            if self._has_staged or self._doubts:
                self._try_to_put_back(said, committed)
            raise

    def put_back(self, name_bytes: int) -> None:
        """Let the store discard all blocks that are not committed, whose names have so many bytes: put
        the old version in the place of itself. Raises FAILURES, RewriteError."""
        said, committed = self._look(), self._committed()
        self._name_bytes = name_bytes
        self._put_back(said, committed)

    def _look(self) -> dict[str, str]:
        """What is said of the blob, if it is still the one that was read."""
        head = self._client.ask("HEAD", HEAD).headers
        self._check_still(head)
        said = kept(self._client, head)
        self._scope = {name: said[name] for name in ("x-ms-encryption-scope",) if name in said}
        self._began = time_of(head)
        return said

    def _check_still(self, head: Mapping[str, str]) -> None:
        if quoted(head.get("ETag")) != self._new.etag:
            raise changed_meanwhile(self._new.address)

    def _committed(self) -> Sequence[Committed]:
        """The blocks of the old version, if it consists of such that can be named again."""
        blocks, at = [], 0
        try:
            for name, size in self._listed():
                blocks.append(Committed(name, at, at + size))
                at += size
            lengths = {len(b64decode(block.name)) for block in blocks}
        except ValueError:
            return ()
        if at != self._new.old.size or len(lengths) != 1 or min(lengths) < LEAST_NAME_BYTES:
            return ()
        (self._name_bytes,) = lengths
        return blocks

    def _listed(self) -> list[tuple[str, int]]:
        """The names and sizes of the blocks that the blob consists of. Raises ValueError."""
        answer = self._client.ask("GET", GET, {"comp": "blocklist", "blocklisttype": "committed"})
        blocks = parsed(answer).iter("Block")
        return [(block.findtext("Name", ""), int(block.findtext("Size", ""))) for block in blocks]

    def _put(self, said: dict[str, str]) -> None:
        self._new.will_read([(0, self._new.size)])
        body = self._new.read(0, self._new.size)
        digest = b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
        headers = {"x-ms-blob-type": "BlockBlob", "x-ms-blob-content-md5": digest}
        self._finish({}, said | headers, body, partial(self._has_digest, digest))

    # --------------------------------------------------------------------------------------------
    # Blocks

    def _staged(self, blocks: Sequence[Block]) -> list[tuple[str, str]]:
        """What the list of blocks has of each."""
        self._names = Names(self._name_bytes, self._began)
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="pbloom-block") as threads:
            new = (block for block in blocks if block.name is None and block.copied is None)
            self._new.will_read((block.start, block.end) for block in new)
            asked = [threads.submit(self._stage, block) for block in blocks]
            try:
                return [name for each in asked for name in each.result()]
            finally:
                threads.shutdown(cancel_futures=True)

    def _stage(self, block: Block) -> list[tuple[str, str]]:
        if block.name is not None:
            return [("Committed", block.name)]
        if block.copied is not None and self._is_copying:
            try:
                return [self._copy(block)]
            except FAILURES as error:
                if status_of(error) not in _NO_COPIES and code_of(error) != _NO_SOURCE:
                    raise
                self._is_copying = False
        return [self._send(part) for part in sent(block.start, block.end, self._new.size)]

    def _copy(self, block: Block) -> tuple[str, str]:
        assert block.copied is not None
        bounds = f"bytes={block.copied.start}-{block.copied.end - 1}"
        headers = {"x-ms-source-range": bounds, "x-ms-source-if-match": self._new.etag}
        return self._put_block(PUT, self._client.as_source() | headers, b"")

    def _send(self, block: Block) -> tuple[str, str]:
        body = self._new.read(block.start, block.end)
        return self._put_block(PUT + Requests(bytes_up=len(body)), {}, body)

    def _put_block(self, kind: Requests, headers: dict[str, str], body: bytes) -> tuple[str, str]:
        name = self._names.next()
        query = {"comp": "block", "blockid": name}
        self._client.ask("PUT", kind, query, headers | self._scope, body, self._doubts)
        self._has_staged = True
        return "Uncommitted", name

    def _try_to_put_back(self, said: Mapping[str, str], committed: Sequence[Committed]) -> None:
        # Report the first error, not this one.
        try:
            self._put_back(said, committed)
        except FAILURES as error:
            is_another = status_of(error) == 412 and not code_of(error).startswith("Lease")
            self.left = "" if is_another else _LEFT

    def _put_back(self, said: Mapping[str, str], committed: Sequence[Committed]) -> None:
        """As put_back. What was sent as a whole is copied by the store."""
        if not self._is_conditional:
            raise OSError(errno.ENOTSUP, "the store may ignore If-Match")
        whole = Pieces()
        whole.add(Piece(0, self._new.old.size, is_old=True))
        self._names = Names(self._name_bytes, self._began)
        blocks = blocks_of(whole, committed)
        names = [("Committed", each.name) if each.name else self._copy(each) for each in blocks]
        headers = {**said, **self._condition}
        self._client.ask("PUT", PUT, {"comp": "blocklist"}, headers, _block_list(names))

    # --------------------------------------------------------------------------------------------
    # The last request, and what became of it

    def _finish(
        self,
        query: dict[str, str],
        headers: dict[str, str],
        body: bytes,
        is_new: Callable[[Mapping[str, str]], bool],
    ) -> None:
        doubts: list[BaseException] = []
        kind = PUT + Requests(bytes_up=0 if query else len(body))
        try:
            if not self._is_conditional:
                self._check_still(self._client.ask("HEAD", HEAD).headers)
            self._client.ask("PUT", kind, query, headers | self._condition, body, doubts)
        except FAILURES as error:
            if doubts and is_written(self._new, partial(self._found, is_new), doubts[0], AZURE):
                return
            if code_of(error) == "InvalidBlockList":
                # Blocks are gone when others have replaced the blob.
                self._check_still(self._client.ask("HEAD", HEAD).headers)
            raise

    def _found(self, is_new: Callable[[Mapping[str, str]], bool]) -> Found:
        head = self._client.ask("HEAD", HEAD).headers
        is_old = quoted(head.get("ETag")) == self._new.etag
        return Found(int(head.get("Content-Length", 0)), is_old, partial(is_new, head))

    def _has(self, names: Sequence[tuple[str, str]], head: Mapping[str, str]) -> bool:
        """Whether the blob consists of these blocks, of which those that were sent are nobody else's."""
        try:
            return [name for name, _ in self._listed()] == [name for _, name in names]
        except ValueError:
            return False

    def _has_digest(self, digest: str, head: Mapping[str, str]) -> bool:
        return head.get("Content-MD5") == digest
