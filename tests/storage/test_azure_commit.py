"""Blobs in Azure that are changed in place: what is sent, what is kept, and that after any failure the
blob is the old version or the new one, and the message says which."""

import json
import os
import re
import signal
import subprocess
import sys
from base64 import b64decode, b64encode
from functools import cache
from hashlib import md5
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pyarrow as pa
import pytest
from conftest import FIXTURES, ROOT
from make.azure_server import KEY, TOKEN
from make.commands import outcome
from make.object_server import Fault
from make.s3_server import Lost
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects import (
    azure_adapter,
    azure_blocks,
    azure_client,
    azure_settings,
    conditions,
    sending,
)
from parquet_bloom.storage.objects.azure_blocks import Committed, Names, began, blocks_of
from parquet_bloom.storage.objects.pieces import Piece, Pieces
from parquet_bloom.storage.traffic import PUT, Traffic

FIXTURE = FIXTURES / "pyarrow_types.parquet"
OLD = FIXTURE.read_bytes()
NAME = "lake/day=1/x y.parquet"
URL = "az://lake/day=1/x%20y.parquet"
# What a build asks to commit, besides HEAD, once it is known that the store honours conditions: of a
# blob that was sent as a whole, and of one that has blocks.
COPYING = ["TAGS", "BLOCKS", "COPY", "BLOCK", "COMMIT"]
NAMING = ["TAGS", "BLOCKS", "BLOCK", "COMMIT"]
WHOLE = ["TAGS", "PUT"]
NOTHING = "nothing was written"
CHANGED = f"{URL}: changed by others while it was read: nothing was written; try again"


@pytest.fixture(autouse=True)
def old(azure, request):
    azure.put(NAME, OLD)
    # Whether it honours conditions has a test of its own.
    if "unknown_store" not in request.fixturenames:
        conditions._honouring[azure.endpoint, "lake"] = True


@pytest.fixture
def unknown_store():
    """It is not known whether it honours conditions."""


def put_blocks(azure, name_bytes=48, cuts=(40_000, 80_000)):
    """The blob, uploaded in blocks by others. No name is text."""
    names = [(bytes([255, number]) * name_bytes)[:name_bytes] for number in range(len(cuts) + 1)]
    bounds = zip((0, *cuts), (*cuts, len(OLD)), strict=True)
    azure.put_blocks(
        NAME,
        [
            (b64encode(name).decode(), OLD[start:end])
            for name, (start, end) in zip(names, bounds, strict=True)
        ],
    )


def build(azure, **options):
    given = {"storage_options": azure.options} | options
    return pb.build(URL, columns=["int64"], in_place=True, **given)


@cache
def made_locally(tmp_path, layout="append"):
    path = tmp_path / "local.parquet"
    path.write_bytes(OLD)
    pb.build(path, columns=["int64"], in_place=True, layout=layout)
    return path.read_bytes()


def is_new(data):
    return len(data) > len(OLD) and data.startswith(OLD) and data.endswith(b"PAR1")


def written(azure):
    """What was asked to change a blob, in order; blocks are sent at the same time."""
    kinds = " ".join(kind for kind in azure.kinds() if kind not in ("GET", "HEAD", "LIST"))
    return kinds.replace("BLOCK COPY", "COPY BLOCK").split()


# ------------------------------------------------------------------------------------------------
# What it becomes


@pytest.mark.parametrize("layout", ["append", "replace"])
@pytest.mark.parametrize("has_blocks", [False, True], ids=["copied", "named"])
def test_a_build_is_what_a_local_one_is(azure, tmp_path, layout, has_blocks):
    if has_blocks:
        put_blocks(azure)
    report = build(azure, layout=None if layout == "append" else layout)
    assert azure.objects == {NAME: made_locally(tmp_path, layout)}
    assert (report.path, report.output, report.size_after) == (URL, URL, len(azure.objects[NAME]))
    # What stays of a block that does not stay whole is copied.
    expected = NAMING if has_blocks and layout == "append" else COPYING
    assert written(azure) == expected
    kept = len(OLD) if layout == "append" else len(OLD) - 8 - int.from_bytes(OLD[-8:-4], "little")
    assert azure.received == len(azure.objects[NAME]) - kept == report.requests.bytes_up
    assert (report.requests.head, report.requests.put) == (3, len(expected) - 2)
    assert len({len(name) for name, _ in azure.blocks[NAME]}) == 1
    assert azure.staged == {}


def test_strip_gives_the_old_blob_back(azure):
    build(azure)
    azure.forget()
    azure.received = 0
    report = pb.strip(URL, in_place=True, storage_options=azure.options)
    assert azure.objects == {NAME: OLD}
    assert written(azure) == ["TAGS", "BLOCKS", "COMMIT"]
    assert azure.received == report.requests.bytes_up == 0


def test_a_small_blob_is_sent_as_a_whole(azure, tmp_path, monkeypatch):
    monkeypatch.setattr(azure_adapter, "WHOLE_BYTES", 4 << 20)
    build(azure)
    assert azure.objects == {NAME: made_locally(tmp_path)}
    assert written(azure) == WHOLE


def test_an_account_with_folders(azure, monkeypatch):
    """abfss: the account is in the URL, the requests are the same."""
    url = "abfss://lake@account.dfs.core.windows.net/day=1/x%20y.parquet"
    azure.has_tags = False
    conditions._honouring[azure.endpoint, "lake@account.dfs.core.windows.net"] = True
    options = {name: value for name, value in azure.options.items() if name != "account_name"}
    pb.build(url, columns=["int64"], in_place=True, storage_options=options)
    assert is_new(azure.objects[NAME])
    assert written(azure) == COPYING


def test_what_a_build_costs(azure, hundred_groups, monkeypatch):
    """Of 42 MB, what is new is sent, and the column read."""
    monkeypatch.setattr(azure_adapter, "WHOLE_BYTES", 4 << 20)
    azure.put("lake/day=1/groups.parquet", data := hundred_groups.read_bytes())
    url = "az://lake/day=1/groups.parquet"
    report = pb.build(url, columns=["c3"], in_place=True, storage_options=azure.options)
    groups = pb.inspect(hundred_groups, columns=["c3"]).row_groups
    column = sum(chunk.chunk_bytes for group in groups for chunk in group.columns)
    assert azure.objects["lake/day=1/groups.parquet"].startswith(data)
    assert azure.received == report.bytes_added == report.requests.bytes_up
    assert azure.bytes_down <= column + (1 << 20)
    assert (azure.count(), azure.count("HEAD"), azure.count("LIST")) == (101, 3, 6)
    assert written(azure) == COPYING


@pytest.mark.parametrize(
    "status",
    [(403, "CannotVerifyCopySource"), (500, "CannotVerifyCopySource"), (501, "NotImplemented")],
)
def test_a_store_that_does_not_copy_from_itself(azure, tmp_path, status, monkeypatch):
    """What stays goes through here, in blocks of the size of what is sent."""
    monkeypatch.setattr(azure_blocks, "SENT_BYTES", 50_000)
    azure.copy_refusal = status
    report = build(azure)
    assert azure.objects == {NAME: made_locally(tmp_path)}
    assert azure.received == report.requests.bytes_up == len(azure.objects[NAME])
    assert [len(data) for _, data in azure.blocks[NAME]][:2] == [len(OLD) // 2, len(OLD) // 2 + 1]


@pytest.mark.parametrize("name_bytes", [19, 20, 64])
def test_names_of_blocks_have_one_length(azure, name_bytes):
    """Blocks whose names are so short that they could be somebody else's are not named again."""
    put_blocks(azure, name_bytes)
    build(azure)
    assert is_new(azure.objects[NAME])
    assert written(azure) == (NAMING if name_bytes > 19 else COPYING)
    assert {len(b64decode(name)) for name, _ in azure.blocks[NAME]} == {
        name_bytes if name_bytes > 19 else 48
    }


@pytest.mark.parametrize("name", ["b", "\u00fc", ""])
def test_blocks_with_names_that_are_none(azure, name):
    azure.put_blocks(NAME, [(name, OLD)])
    build(azure)
    assert is_new(azure.objects[NAME])
    assert written(azure) == COPYING


def test_blocks_that_are_not_the_whole_blob(azure):
    """As of a blob that was written through another interface."""
    put_blocks(azure)
    del azure.blocks[NAME][-1]
    azure.blocks[NAME] = [(b64encode(bytes(24)).decode(), data) for _, data in azure.blocks[NAME]]
    build(azure)
    assert is_new(azure.objects[NAME])
    assert written(azure) == COPYING


PROPERTIES = {
    "Cache-Control": "max-age=60",
    "Content-Disposition": "inline",
    "Content-Encoding": "identity",
    "Content-Language": "de",
    "Content-Type": "application/x-parquet",
    "x-ms-access-tier": "Cool",
    "x-ms-encryption-scope": "ours",
    "x-ms-meta-WhoElse": "me",
}


@pytest.mark.parametrize("kinds", [COPYING, WHOLE], ids=["blocks", "whole"])
def test_what_is_said_of_a_blob_is_kept(azure, monkeypatch, kinds):
    monkeypatch.setattr(azure_adapter, "WHOLE_BYTES", 4 << 20 if kinds == WHOLE else 1000)
    # A digest of the old version would be wrong.
    azure.properties[NAME] = PROPERTIES | {"Content-MD5": "b2xk"}
    azure.tags[NAME] = "team=a%20b&z=1"
    build(azure)
    assert written(azure) == kinds
    found = azure.properties[NAME]
    digest = b64encode(md5(azure.objects[NAME]).digest()).decode()
    assert found == PROPERTIES | ({"Content-MD5": digest} if kinds == WHOLE else {})
    assert azure.tags[NAME] == "team=a+b&z=1"
    scopes = [asked.headers.get("x-ms-encryption-scope") for asked in azure.asked]
    assert set(scopes[-len(kinds) + (2 if kinds == COPYING else 1) :]) == {"ours"}


def test_what_the_account_says_is_not_repeated(azure):
    azure.properties[NAME] = {"x-ms-access-tier": "Hot", "x-ms-access-tier-inferred": "true"}
    build(azure)
    assert azure.properties[NAME] == {}
    assert azure.tags[NAME] == ""


def test_tags_that_cannot_be_read(azure):
    azure.faults.append(Fault(403, code("AuthorizationPermissionMismatch"), kind="TAGS"))
    with pytest.raises(PermissionError) as raised:
        build(azure)
    assert raised.value.filename == URL
    assert raised.value.strerror == (
        "its index tags would be lost, as they cannot be read (403 AuthorizationPermissionMismatch):"
        " allow tags/read and tags/write, as the role Storage Blob Data Owner does, or make a SAS with"
        " t; nothing was written"
    )
    assert azure.objects == {NAME: OLD}


def test_tags_where_there_are_folders(azure):
    """Accounts with a hierarchical namespace have none, whoever may read them."""
    azure.properties[NAME] = {"x-ms-resource-type": "file"}
    azure.faults.append(Fault(403, code("AuthorizationPermissionMismatch"), kind="TAGS"))
    build(azure)
    assert is_new(azure.objects[NAME])


def code(name):
    return f"<Error><Code>{name}</Code></Error>"


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({"x-ms-blob-type": "PageBlob"}, "is a page blob, expected a block blob"),
        ({"x-ms-blob-type": "AppendBlob"}, "is an append blob, expected a block blob"),
        (
            {"x-ms-encryption-key-sha256": "x"},
            "blobs encrypted with a customer's key are only read",
        ),
    ],
)
def test_blobs_that_are_only_read(azure, properties, problem):
    azure.properties[NAME] = properties
    with pytest.raises(pb.RewriteError) as raised:
        build(azure)
    assert str(raised.value) == f"{URL}: not changed in place: {problem}"
    assert azure.objects == {NAME: OLD}
    assert written(azure) == []


def test_an_encryption_key_is_refused(azure):
    key = b64encode(bytes(32)).decode()
    with pytest.raises((pb.RewriteError, OSError)) as raised:
        build(azure, storage_options=azure.options | {"encryption_key": key})
    assert key not in str(raised.value)


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        ((412, "LeaseIdMissing"), "somebody holds a lease on it"),
        ((403, "AuthenticationFailed"), "the key, SAS or token is wrong, or has expired"),
        ((401, "InvalidAuthenticationInfo"), "the token is wrong, or has expired"),
        (
            (403, "AuthorizationPermissionMismatch"),
            "allow blobs/read and blobs/write, or make a SAS with rw",
        ),
        (
            (409, "BlobImmutableDueToPolicy"),
            "an immutability policy or a legal hold keeps it as it is",
        ),
    ],
)
def test_what_the_store_refuses(azure, refusal, reason):
    azure.refusal = refusal
    with pytest.raises(PermissionError) as raised:
        build(azure)
    status, name = refusal
    assert raised.value.strerror == f"writing was refused ({status} {name}): {reason}; {NOTHING}"
    assert azure.objects == {NAME: OLD}


def test_without_azures_library(azure, monkeypatch):
    for name in [name for name in sys.modules if re.search(r"objects\.azure_|^azure\b", name)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "azure", None)
    with pytest.raises(pb.UnsupportedError) as raised:
        build(azure)
    assert str(raised.value) == (
        f"{URL}: to be replaced, needs azure-storage-blob, which is not installed:"
        " pip install 'parquet_bloom[azure]'"
    )
    assert azure.objects == {NAME: OLD}


def test_stripes_are_copied_by_the_store(azure, tmp_path, monkeypatch):
    monkeypatch.setattr(azure_blocks, "LEAST_BYTES", 1000)
    path = tmp_path / "local.orc"
    rows = range(100_000)
    noise = pa.array(np.random.default_rng(1).integers(0, 1 << 60, len(rows)))
    orc.write_table(pa.table({"a": rows, "b": noise}), path, stripe_size=200_000)
    azure.put("lake/day=1/x.orc", old := path.read_bytes())
    url = "az://lake/day=1/x.orc"
    there = pb.build(url, columns=["a"], in_place=True, storage_options=azure.options)
    pb.build(path, columns=["a"], in_place=True)
    assert azure.objects["lake/day=1/x.orc"] == path.read_bytes() != old
    assert "COPY" in azure.kinds()
    assert azure.received == there.requests.bytes_up < there.bytes_added + 20_000
    assert pb.validate(url, storage_options=azure.options).ok


# ------------------------------------------------------------------------------------------------
# How a version is cut


def committed(*sizes):
    found, at = [], 0
    for number, size in enumerate(sizes):
        found.append(Committed(f"n{number}", at, at + size))
        at += size
    return found


def cut(pieces, blocks=(), least=0):
    made = Pieces()
    for piece in pieces:
        made.add(Piece(*piece))
    found = blocks_of(made, blocks)
    assert [block.start for block in found] == [0, *(block.end for block in found[:-1])]
    assert found[-1].end == made.size
    return [
        block.name or ((block.copied.start, block.copied.end) if block.copied else "sent")
        for block in found
    ]


OLD_PIECE = (0, 1000, True)


def test_old_blocks_that_stay_whole_are_named(monkeypatch):
    monkeypatch.setattr(azure_blocks, "LEAST_BYTES", 100)
    new = (0, 50, False)
    assert cut([OLD_PIECE, new], committed(400, 600)) == ["n0", "n1", "sent"]
    assert cut([(0, 999, True), new], committed(400, 600)) == ["n0", (400, 999), "sent"]
    assert cut([new, (1, 1000, True)], committed(400, 600)) == ["sent", (1, 400), "n1"]
    assert cut([new, (901, 1000, True), new], committed(400, 600)) == ["sent"]
    assert cut([(5, 6, True), new], committed(400, 600)) == [(5, 6), "sent"]
    assert cut([OLD_PIECE]) == [(0, 1000)]


def test_large_blocks_are_cut(monkeypatch):
    monkeypatch.setattr(azure_blocks, "COPIED_BYTES", 400)
    monkeypatch.setattr(azure_blocks, "SENT_BYTES", 30)
    new = (0, 50, False)
    assert cut([OLD_PIECE, new]) == [(0, 333), (333, 666), (666, 1000), "sent", "sent"]


def test_no_more_blocks_than_a_blob_can_have(monkeypatch):
    monkeypatch.setattr(azure_blocks, "MOST_BLOCKS", 10)
    monkeypatch.setattr(azure_blocks, "LEAST_BYTES", 1)
    assert cut([OLD_PIECE, (0, 1, False)], committed(*[100] * 10)) == [(0, 1000), "sent"]
    mixed = [
        piece for at in range(0, 1000, 50) for piece in ((at, at + 25, True), (at, at + 25, False))
    ]
    assert len(cut(mixed)) <= 10


# ------------------------------------------------------------------------------------------------
# Others write meanwhile


@pytest.mark.parametrize("kind", [*COPYING, "LIST"])
@pytest.mark.parametrize("content", [OLD, OLD[::-1], None], ids=["same", "other", "gone"])
def test_what_others_write_is_not_lost(azure, kind, content):
    def other():
        if content is None:
            del azure.objects[NAME]
        else:
            azure.put(NAME, content)

    azure.faults.append(Fault(kind=kind, do=other))
    if kind == "LIST" and content == OLD:
        # Before anything was read.
        build(azure)
        assert is_new(azure.objects[NAME])
        return
    with pytest.raises((pb.ParquetBloomError, OSError)) as raised:
        build(azure)
    if kind != "LIST":
        gone = f"{URL}: is no longer there; nothing was written"
        assert shown(raised.value) in ([CHANGED] if content is not None else [CHANGED, gone])
    assert azure.objects == ({} if content is None else {NAME: content})


def shown(error):
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)


def test_of_two_builds_one_wins(azure):
    azure.faults.append(Fault(kind="COMMIT", do=lambda: build(azure)))
    with pytest.raises(pb.RewriteError) as raised:
        build(azure)
    assert str(raised.value) == CHANGED
    assert is_new(azure.objects[NAME])
    assert pb.validate(URL, storage_options=azure.options).ok


def test_blocks_that_others_discarded(azure):
    """Whoever replaces a blob discards blocks that come to nothing; a store may notice that first."""
    azure.faults.append(
        Fault(400, code("InvalidBlockList"), kind="COMMIT", do=lambda: azure.put(NAME, OLD[::-1]))
    )
    with pytest.raises(pb.RewriteError) as raised:
        build(azure)
    assert str(raised.value) == CHANGED
    azure.put(NAME, OLD)
    azure.faults[:] = [Fault(400, code("InvalidBlockList"), kind="COMMIT")]
    with pytest.raises(OSError, match="400 InvalidBlockList; nothing was written"):
        build(azure)


def words(azure):
    return [
        word
        for name, value in azure.options.items()
        for word in ("--storage-option", f"{name}={value}")
    ]


def test_the_command_says_it_in_a_line(azure):
    azure.faults.append(Fault(kind="COMMIT", do=lambda: azure.put(NAME, OLD[::-1])))
    result = outcome("build", URL, "--in-place", "-c", "int64", *words(azure))
    assert (result.code, result.stdout, result.stderr) == (2, "", f"pbloom: {CHANGED}\n")


def test_stats_count_what_is_sent(azure):
    result = outcome("build", URL, "--in-place", "-c", "int64", "--stats", *words(azure))
    sent = len(azure.objects[NAME]) - len(OLD)
    assert f"{sent / 1024:.1f} KiB sent" in result.stderr
    kinds = "3 get, 3 head, 6 list, 3 put"
    assert f"{len(azure.asked)} requests to object stores ({kinds})" in result.stderr


# ------------------------------------------------------------------------------------------------
# Stores that do not know conditions


def test_a_store_is_asked_once_whether_it_honours_conditions(unknown_store, azure):
    build(azure)
    assert written(azure) == ["PUT", "COMMIT", *COPYING]
    assert len(azure.objects) == 1
    azure.forget()
    pb.strip(URL, in_place=True, storage_options=azure.options)
    assert written(azure) == ["TAGS", "BLOCKS", "COMMIT"]


@pytest.mark.parametrize("kind", ["PUT", "COMMIT"])
def test_a_store_that_ignores_conditions_is_refused(unknown_store, azure, kind):
    def lax():
        azure.is_lax = True

    azure.faults.append(Fault(kind=kind, do=lax))
    with pytest.raises(pb.RewriteError) as raised:
        build(azure)
    host = azure.endpoint.removeprefix("http://")
    assert str(raised.value) == (
        f"{URL}: not changed in place: the store at {host} replaces objects whatever If-Match says,"
        " so that what others write meanwhile would be lost: use unconditional if nobody else writes"
    )
    assert azure.objects == {NAME: OLD}


def test_unconditional(unknown_store, azure):
    azure.is_lax = True
    build(azure, unconditional=True)
    assert is_new(azure.objects[NAME])
    assert written(azure) == COPYING


def test_unconditional_looks_before_it_writes(unknown_store, azure):
    azure.is_lax = True
    azure.faults.append(Fault(kind="BLOCK", do=lambda: azure.put(NAME, OLD[::-1])))
    with pytest.raises(pb.RewriteError) as raised:
        build(azure, unconditional=True)
    assert str(raised.value) == CHANGED
    assert azure.objects == {NAME: OLD[::-1]}


def test_azure_itself_is_not_asked(unknown_store, azure, monkeypatch):
    monkeypatch.setattr(azure_settings, "_OWN", ("127.0.0.1",))
    build(azure)
    assert written(azure) == COPYING


# ------------------------------------------------------------------------------------------------
# Failures

FAULTS = {
    "403": lambda kind: Fault(403, code("AuthorizationFailure"), kind=kind, times=99),
    "409": lambda kind: Fault(409, code("BlobBeingRehydrated"), kind=kind, times=99),
    "412": lambda kind: Fault(412, code("ConditionNotMet"), kind=kind),
    "503 once": lambda kind: Fault(503, code("ServerBusy"), kind=kind),
    "503": lambda kind: Fault(503, code("ServerBusy"), kind=kind, times=99),
    "500": lambda kind: Fault(500, kind=kind, times=99),
    "not XML": lambda kind: Fault(200, "{}", kind=kind),
    "cut off before": lambda kind: Lost(kind=kind, before=True),
    "lost answer": lambda kind: Lost(kind=kind),
    "all lost": lambda kind: Lost(kind=kind, times=99),
    "none done": lambda kind: Lost(kind=kind, times=99, before=True),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("way", ["copied", "named", "whole"])
def test_the_blob_is_the_old_one_or_the_new_one_and_the_message_says_which(
    azure, tmp_path, monkeypatch, way, fault
):
    new = made_locally(tmp_path)
    if way == "whole":
        monkeypatch.setattr(azure_adapter, "WHOLE_BYTES", 4 << 20)
    for kind in {"copied": COPYING, "named": NAMING, "whole": WHOLE}[way]:
        if way == "named":
            put_blocks(azure)
        else:
            azure.put(NAME, OLD)
        azure.faults[:] = [FAULTS[fault](kind)]
        # A store that says that it is done is believed.
        if fault == "not XML" and kind in ("COPY", "BLOCK", "COMMIT", "PUT"):
            continue
        try:
            build(azure)
        except (pb.RewriteError, OSError) as error:
            said = shown(error)
            assert said.endswith((NOTHING, f"{NOTHING}; try again")), (kind, said)
            assert "\n" not in said
            assert azure.objects == {NAME: OLD}, (kind, said)
        else:
            assert azure.objects == {NAME: new}, kind
            assert fault not in ("403", "412", "500", "503", "none done") or kind == "COPY"
        azure.faults.clear()


def put_block(azure, name_bytes=48):
    """Somebody begins to upload a new version, in blocks whose names have a length of their own."""
    client = azure_client.AzureClient(Address.of(URL, azure.options), Traffic())
    query = {"comp": "block", "blockid": b64encode(bytes(name_bytes)).decode()}
    client.ask("PUT", PUT, query, {}, b"theirs")


@pytest.mark.parametrize("kind", ["COPY", "BLOCK", "COMMIT"])
@pytest.mark.parametrize("has_blocks", [False, True], ids=["copied", "named"])
def test_a_failure_leaves_no_blocks(azure, kind, has_blocks):
    """As others could not send blocks whose names have another length."""
    if has_blocks:
        put_blocks(azure)
    azure.properties[NAME], azure.tags[NAME] = dict(PROPERTIES), "team=a+b"
    before = azure.etag(NAME)
    azure.faults.append(
        Fault(503, code("ServerBusy"), kind=kind, times=len(sending.requests.PAUSES) + 1)
    )
    if has_blocks and kind == "COPY":
        build(azure)
        return
    with pytest.raises(OSError, match="503 ServerBusy; nothing was written"):
        build(azure)
    assert (azure.objects, azure.staged) == ({NAME: OLD}, {})
    assert (azure.properties[NAME], azure.tags[NAME]) == (PROPERTIES, "team=a+b")
    assert azure.etag(NAME) != before
    put_block(azure, 36)


@pytest.mark.parametrize("kind", ["TAGS", "BLOCKS"])
def test_what_sends_no_block_puts_nothing_back(azure, kind):
    azure.faults.append(Fault(500, kind=kind, times=99))
    before = azure.etag(NAME)
    with pytest.raises(OSError, match="nothing was written"):
        build(azure)
    assert azure.etag(NAME) == before
    assert "COMMIT" not in azure.kinds()


def test_what_others_have_written_is_not_put_back(azure):
    """Not by themselves either."""
    azure.faults += [
        Fault(kind="COMMIT", do=lambda: azure.put(NAME, OLD[::-1])),
        Fault(503, kind="COMMIT", times=len(sending.requests.PAUSES)),
    ]
    with pytest.raises(pb.RewriteError) as raised:
        build(azure)
    assert str(raised.value) == CHANGED
    assert azure.objects == {NAME: OLD[::-1]}


def test_a_lease_that_comes_in_the_midst(azure):
    azure.faults.append(Fault(412, code("LeaseIdMissing"), kind="COMMIT", times=2))
    with pytest.raises(PermissionError) as raised:
        build(azure)
    assert raised.value.strerror == (
        "writing was refused (412 LeaseIdMissing): somebody holds a lease on it; blocks were left, which"
        " clean-temp --uploads discards; nothing was written"
    )
    assert azure.objects == {NAME: OLD}


def test_where_conditions_are_ignored_nothing_is_put_back(unknown_store, azure):
    azure.is_lax = True
    azure.faults.append(Fault(403, code("AuthorizationFailure"), kind="COMMIT"))
    with pytest.raises(OSError, match="blocks were left, which clean-temp --uploads discards"):
        build(azure, unconditional=True)
    assert azure.kinds().count("COMMIT") == 1


def test_blocks_of_others_with_names_of_another_length(azure):
    put_block(azure, 36)
    with pytest.raises(PermissionError) as raised:
        build(azure)
    assert raised.value.strerror == (
        "writing was refused (400 InvalidBlobOrBlock): blocks that others send now, or a killed run has"
        " left, have names of another length: try again later, or discard those of killed builds with"
        " clean-temp --uploads; nothing was written"
    )
    # Theirs stay.
    assert list(azure.staged[NAME].values()) == [b"theirs"]


@pytest.mark.parametrize("has_blocks", [False, True], ids=["whole", "blocks"])
def test_others_can_send_blocks_while_a_build_runs(azure, has_blocks):
    """With names of the length of those that they sent before, or of that of Azure's libraries."""
    if has_blocks:
        put_blocks(azure, 36)
    azure.faults.append(Fault(kind="COMMIT", do=lambda: put_block(azure, 36 if has_blocks else 48)))
    build(azure)
    assert is_new(azure.objects[NAME])


def test_names_of_blocks_say_since_when():
    names = Names(24, 1_800_000_000)
    given = [names.next() for _ in range(1000)]
    assert len({*given, *(Names(20, 1_800_000_000).next() for _ in range(100))}) == 1100
    assert {began(name) for name in given} == {1_800_000_000}
    assert {len(b64decode(name)) for name in given} == {24}
    others = (bytes(24), b"pbloom" + bytes(13), b"pbloo" + bytes(24))
    assert {began(b64encode(name).decode()) for name in others} == {None}
    assert began("no base 64") is None


@pytest.mark.parametrize("skip", [1, 2], ids=["check", "commit"])
@pytest.mark.parametrize("status", [403, 404, 503])
def test_a_blob_that_cannot_be_looked_at(azure, skip, status):
    azure.faults.append(Fault(status, code("Some"), kind="HEAD", skip=skip, times=99))
    with pytest.raises(OSError, match="nothing was written") as raised:
        build(azure)
    answered = f"the store answered {status} Some"
    if status == 403:
        answered = "writing was refused (403 Some)"
    assert shown(raised.value) == f"{URL}: {answered}; {NOTHING}"
    assert azure.objects == {NAME: OLD}


def test_the_messages(azure):
    said = {}
    expired = Fault(403, code("ExpiredToken"), kind="COMMIT")
    faults = {name: FAULTS[name]("COMMIT") for name in ("403", "409", "503", "none done")}
    for name, fault in (faults | {"expired": expired}).items():
        azure.faults[:] = [fault]
        with pytest.raises(OSError, match="written") as raised:
            build(azure)
        assert raised.value.filename == URL
        said[name] = raised.value.strerror
    # As nothing of the blob may be written, or nothing arrives.
    left = "blocks were left, which clean-temp --uploads discards; "
    assert said == {
        "403": f"writing was refused (403 AuthorizationFailure); {left}nothing was written",
        "409": f"the store answered 409 BlobBeingRehydrated; {left}nothing was written",
        "503": f"the store answered 503 ServerBusy; {left}nothing was written",
        "none done": f"no answer: ServiceResponseError; {left}nothing was written",
        "expired": "the credentials have expired (403 ExpiredToken): renew them; nothing was written",
    }


def test_a_lost_answer_and_a_blob_that_cannot_be_looked_at(azure):
    azure.faults[:] = [Lost(kind="COMMIT", times=99), Fault(403, kind="HEAD", skip=3, times=99)]
    with pytest.raises(OSError, match="no answer") as raised:
        build(azure)
    new = azure.objects[NAME]
    assert raised.value.strerror == (
        "no answer came to the last request (ServiceResponseError), and the object cannot be looked at"
        f" (403): it is either the old version, of {len(OLD)} bytes, or the new one, of {len(new)} bytes"
    )
    assert is_new(new)


@pytest.mark.parametrize("data", [OLD[::-1], "same size"], ids=["other", "same size"])
def test_a_lost_answer_and_another_version(azure, tmp_path, data):
    new = made_locally(tmp_path)
    other = new[::-1] if data == "same size" else data
    azure.faults[:] = [
        Lost(kind="COMMIT", times=99),
        Fault(kind="HEAD", skip=3, do=lambda: azure.put(NAME, other)),
    ]
    with pytest.raises(OSError, match="no answer") as raised:
        build(azure)
    assert raised.value.strerror == (
        "no answer came to the last request (ServiceResponseError), and the object is another one by"
        f" now, of {len(other)} bytes"
    )
    assert azure.objects == {NAME: other}


SIGNALS = {
    signal.SIGKILL: COPYING,
    signal.SIGINT: ["COPY", "COMMIT"],
}


@pytest.mark.parametrize(
    ("number", "kind"), [(number, kind) for number, kinds in SIGNALS.items() for kind in kinds]
)
def test_a_kill_leaves_the_old_blob_or_the_new_one(azure, tmp_path, number, kind):
    made = made_locally(tmp_path)
    arguments = ["pbloom", "build", URL, "--in-place", "-c", "int64", *words(azure)]
    program = (
        "import sys\n"
        "from parquet_bloom.cli import main\n"
        "from parquet_bloom.storage.objects import azure_adapter, conditions\n"
        "azure_adapter.WHOLE_BYTES = 1000\n"
        f"conditions._honouring[{azure.endpoint!r}, 'lake'] = True\n"
        f"sys.argv = {arguments!r}\n"
        "main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    azure.faults.append(Fault(kind=kind, do=lambda: process.send_signal(number)))
    _, said = process.communicate(timeout=30)
    assert process.returncode == (-number if number == signal.SIGKILL else 130), said
    assert "Traceback" not in said
    assert azure.objects[NAME] in (OLD, made)
    azure.faults.clear()
    build(azure)
    assert re.fullmatch(rb"PAR1.*PAR1", azure.objects[NAME], re.DOTALL)
    assert pb.validate(URL, storage_options=azure.options).ok


@pytest.mark.parametrize("kind", COPYING)
def test_an_interrupt_leaves_the_old_blob(azure, monkeypatch, kind):
    answer = azure_client.AzureClient._answer

    def interrupted(client, request):
        response = answer(client, request)
        if kind != "COMMIT" and any(asked.kind == kind for asked in azure.asked):
            raise KeyboardInterrupt
        return response

    if kind == "COMMIT":
        azure.faults.append(Fault(503, kind=kind, times=99))
        monkeypatch.setattr(sending.time, "sleep", interrupt)
    monkeypatch.setattr(azure_client.AzureClient, "_answer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build(azure)
    assert azure.objects == {NAME: OLD}


def interrupt(seconds):
    raise KeyboardInterrupt


# ------------------------------------------------------------------------------------------------
# Credentials

SAS = "sv=2023-11-03&sp=rwt&sig=a%2Bb%3D"
APPLICATION = {"client_id": "us", "tenant_id": "here"}


def credentials(azure, tmp_path):
    (proof := tmp_path / "proof").write_text("PROOF")
    authority = {"authority_host": azure.endpoint}
    return {
        "key": {"account_key": KEY},
        "sas": {"sas_key": SAS},
        "token": {"token": TOKEN},
        "secret": APPLICATION | authority | {"client_secret": "ours"},
        "workload": APPLICATION | authority | {"federated_token_file": str(proof)},
        "machine": {"msi_endpoint": f"{azure.endpoint}/oauth2", "object_id": "x"},
    }


@pytest.mark.parametrize("kind", ["key", "sas", "token", "secret", "workload", "machine"])
@pytest.mark.parametrize("place", ["options", "environment"])
def test_credentials_are_those_that_read(azure, tmp_path, monkeypatch, kind, place):
    given = {"account_name": "account", "endpoint": azure.endpoint, "allow_http": "true"}
    given |= credentials(azure, tmp_path)[kind]
    if place == "environment":
        for name in set(given) - {"allow_http"}:
            (variable, *_) = azure_settings._VARIABLES[name]
            monkeypatch.setenv(variable, given.pop(name))
    build(azure, storage_options=given)
    assert is_new(azure.objects[NAME])
    assert written(azure)[-3:] == COPYING[-3:]
    by_token = kind not in ("key", "sas")
    for asked in azure.asked:
        if asked.kind in ("TOKEN", "GET", "HEAD", "LIST"):
            continue
        assert asked.headers.get("Authorization") == (f"Bearer {TOKEN}" if by_token else None)
        source = asked.headers.get("x-ms-copy-source")
        assert source is None or ("sig=" in source) != by_token
        if kind == "sas":
            assert source is None or source.endswith(SAS)
    # What reads asks for one, too, unless it has one yet.
    asks = azure.count("TOKEN")
    assert asks in (1, 2) if kind in ("secret", "workload", "machine") else asks == 0


def test_what_is_copied_is_signed_for_reading_alone(azure):
    build(azure)
    (copied,) = (asked for asked in azure.asked if asked.kind == "COPY")
    source = urlsplit(copied.headers["x-ms-copy-source"])
    assert source.path == "/lake/day%3D1/x%20y.parquet"
    assert parse_qs(source.query)["sp"] == ["r"]


def test_the_command_line_of_azure(azure, tmp_path, monkeypatch):
    answer = {"accessToken": TOKEN, "expires_on": 4_000_000_000, "tokenType": "Bearer"}
    answer |= {"expiresOn": "2096-10-02 07:06:40.000000", "subscription": "x", "tenant": "y"}
    (tmp_path / "answer").write_text(json.dumps(answer))
    (program := tmp_path / "az").write_text(f"#!/bin/sh\ncat {tmp_path}/answer\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    options = {"account_name": "account", "endpoint": azure.endpoint, "use_azure_cli": "true"}
    build(azure, storage_options=options)
    assert is_new(azure.objects[NAME])
    pb.strip(URL, in_place=True, storage_options=options)
    program.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(PermissionError) as raised:
        build(azure, storage_options=options)
    assert raised.value.strerror == (
        "az account get-access-token gives no token: run az login; nothing was written"
    )


def test_a_public_container(azure):
    """The store does not know why it should copy."""
    options = {"account_name": "account", "endpoint": azure.endpoint, "skip_signature": "true"}
    build(azure, storage_options=options)
    assert is_new(azure.objects[NAME])
    assert azure.received == len(azure.objects[NAME])


def test_the_emulator(azure, monkeypatch):
    monkeypatch.setenv("AZURITE_BLOB_STORAGE_URL", azure.endpoint)
    settings = azure_settings.Settings(Address.of(URL, {"use_emulator": "true"}))
    assert settings.url("a b%") == f"{azure.endpoint}/devstoreaccount1/lake/a%20b%25"
    assert (settings.credential(), settings.of("account_name")) == (
        "access_key",
        "devstoreaccount1",
    )


def test_a_session_of_fabric(azure, monkeypatch):
    monkeypatch.setenv("AZURE_FABRIC_SESSION_TOKEN", TOKEN)
    with pytest.raises(pb.RewriteError) as raised:
        build(azure)
    assert str(raised.value) == (
        f"{URL}: not changed in place: with a session token of Fabric, objects are only read"
    )


def test_where_a_blob_is(azure):
    def place(url, **options):
        settings = azure_settings.Settings(Address.of(url, options | {"token": TOKEN}))
        return settings.url("k"), settings.is_azure

    own = "https://a.blob.core.windows.net/c/k"
    assert place("az://c/k", account_name="a") == (own, True)
    assert place("abfss://c@a.dfs.core.windows.net/k") == (own, True)
    assert place("abfss://c@a.dfs.fabric.microsoft.com/k") == (
        "https://a.blob.fabric.microsoft.com/c/k",
        False,
    )
    china = "https://a.blob.core.chinacloudapi.cn"
    assert place("az://c/k", account_name="a", endpoint=china) == (f"{china}/c/k", True)
    evil = "https://core.windows.net.evil.org"
    assert place("az://c/k", account_name="a", endpoint=evil) == (f"{evil}/c/k", False)


def test_a_token_that_is_refused(azure):
    options = {
        "account_name": "account",
        "endpoint": azure.endpoint,
        "authority_host": azure.endpoint,
    }
    # As whom nobody has a token yet.
    options |= {"client_id": "them", "tenant_id": "here", "client_secret": "ours"}
    azure.faults.append(Fault(401, '{"error": "invalid_client"}', kind="TOKEN", skip=1, times=99))
    with pytest.raises(PermissionError) as raised:
        build(azure, storage_options=options)
    assert raised.value.strerror == "the credentials got no token (401); nothing was written"
    assert azure.objects == {NAME: OLD}


@pytest.mark.parametrize("kind", ["key", "sas", "token"])
def test_secrets_are_in_no_message(azure, tmp_path, kind):
    options = {"account_name": "account", "endpoint": azure.endpoint}
    options |= credentials(azure, tmp_path)[kind]
    for each in COPYING:
        for fault in ("403", "409", "none done"):
            azure.put(NAME, OLD)
            azure.faults[:] = [FAULTS[fault](each)]
            try:
                build(azure, storage_options=options)
            except OSError as error:
                text = f"{shown(error)} {error!r}"
                assert not [word for word in (KEY, TOKEN, "sig=", "a%2Bb", "a+b") if word in text]
