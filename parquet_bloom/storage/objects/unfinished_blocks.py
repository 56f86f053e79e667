"""Blocks in Azure that killed replacements have left: of no version of their blob, and in the way of
others, who cannot send blocks whose names have another length.

No listing has them: each blob is asked. Their names say that they are ours, and since when. They are
discarded by putting the blob's own blocks in the place of themselves, if it is still the one that was
looked at; that gives it another ETag, and discards blocks of others, too. So where there are such, or
younger ones, nothing is done: somebody is at work.
"""

from __future__ import annotations

import errno
from base64 import b64decode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import Address, Listed
from parquet_bloom.storage.objects.azure_adapter import AzureAdapter
from parquet_bloom.storage.objects.azure_blocks import began
from parquet_bloom.storage.objects.azure_client import AZURE, AzureClient, parsed, time_of
from parquet_bloom.storage.objects.listing import list_below
from parquet_bloom.storage.objects.object_source import ObjectSource
from parquet_bloom.storage.objects.replacement import Commit, telling
from parquet_bloom.storage.objects.requests import IN_FLIGHT
from parquet_bloom.storage.objects.stores import store_of
from parquet_bloom.storage.temporary_files import Leftover
from parquet_bloom.storage.traffic import GET, Traffic


def unfinished_blocks(address: Address, older_than: float) -> Iterator[Leftover]:
    """Those of the blob at `address`, and of those below it as a folder, whose replacement began at least
    `older_than` seconds ago. Raises OSError."""
    with ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="pbloom-blocks") as threads:
        for left in threads.map(partial(_left, older_than=older_than), _blobs(address)):
            yield from left


def _blobs(address: Address) -> Iterator[Address]:
    key = address.key.strip("/")
    traffic = Traffic()
    store = store_of(address)
    # Which of both it is, nobody knows.
    if key:
        yield address
    for meta in list_below(address, store, f"{key}/" if key else "", traffic):
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
            said = f"looking for blocks was refused ({AZURE.said(error)}): allow blobs/read"
            raise PermissionError(errno.EACCES, said, str(blob)) from None
        raise AZURE.told(blob, error, "blocks were not looked for to the end") from None
    before = time_of(answer.headers) - older_than
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
            with telling(blob, AZURE):
                adapter = AzureAdapter(blob, source, unconditional=False)
            steps = Commit(adapter)
            steps.check()
            with telling(blob, AZURE):
                adapter.discard(steps.look(), name_bytes)
        except RewriteError as error:
            raise OSError(errno.EBUSY, str(error).removeprefix(f"{blob}: "), str(blob)) from None
