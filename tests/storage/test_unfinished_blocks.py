"""Blocks in Azure that killed runs have left: which are found, and that they are discarded without a change
of the blob."""

import time
from base64 import b64encode

import pytest
from conftest import FIXTURES
from make.commands import outcome
from make.object_server import Fault, Lost

import parquet_bloom as pb
from parquet_bloom.storage.objects import azure_adapter, replacement
from parquet_bloom.storage.objects.azure_adapter import BlockNames

NAME = "lake/day=1/x y.parquet"
URL = "az://lake/day=1/x%20y.parquet"
FOLDER = "az://lake/day=1/"
DAY = 86_400
OLD = (FIXTURES / "pyarrow_types.parquet").read_bytes()
PROPERTIES = {"Content-Type": "application/x-parquet", "x-ms-meta-who": "me"}


@pytest.fixture(autouse=True)
def old(azure, monkeypatch):
    monkeypatch.setattr(azure_adapter, "WHOLE_BYTES", 1000)
    azure.put(NAME, OLD)
    azure.properties[NAME], azure.tags[NAME] = dict(PROPERTIES), "team=a+b"
    replacement._ignored_in[azure.endpoint, "lake"] = ""


def put_blocks(azure, name=NAME):
    """The blob, uploaded in blocks."""
    halves = OLD[:50_000], OLD[50_000:]
    names = (b64encode(bytes([number]) * 48).decode() for number in range(2))
    azure.put_blocks(name, list(zip(names, halves, strict=True)))
    azure.properties[name] = dict(PROPERTIES)


def stage(azure, name=NAME, age=2 * DAY, blocks=(b"12345", b"678")):
    """Blocks that a replacement has sent, which began so long ago."""
    names = BlockNames(24, int(time.time()) - age)
    azure.staged.setdefault(name, {}).update((names.next(), block) for block in blocks)


def clean(azure, path=FOLDER, uploads_older_than=DAY, **options):
    return pb.clean_temp(
        path, uploads_older_than=uploads_older_than, storage_options=azure.options, **options
    )


def found(report):
    return [(left.kind, left.file, left.num_bytes, left.problem) for left in report.leftovers]


@pytest.mark.parametrize("has_blocks", [False, True], ids=["whole", "blocks"])
@pytest.mark.parametrize("path", [URL, FOLDER, "az://lake"])
def test_what_a_killed_build_leaves_is_found(azure, monkeypatch, has_blocks, path):
    """Its last request gets no answer, nor do those that would put the old blocks back."""
    if has_blocks:
        put_blocks(azure)
    azure.faults.append(Lost(kind="COMMIT", times=99, before=True))
    with pytest.raises(
        OSError, match="blocks were left, which `pbloom clean-temp --uploads` discards"
    ):
        pb.build(URL, columns=["int64"], in_place=True, storage_options=azure.options)
    azure.faults.clear()
    assert found(clean(azure, path)) == []
    size = sum(map(len, azure.staged[NAME].values()))
    now = time.time
    monkeypatch.setattr(
        "make.object_server.Handler.date_time_string",
        lambda self, timestamp=None: time.strftime(
            "%a, %d %b %Y %H:%M:%S GMT", time.gmtime(now() + DAY + 5)
        ),
    )
    report = clean(azure, path, dry_run=True)
    assert (found(report), report.dry_run) == ([("upload", URL, size, None)], True)
    assert azure.staged.keys() == {NAME}
    assert found(clean(azure, path)) == [("upload", URL, size, None)]
    assert (azure.staged, azure.objects) == ({}, {NAME: OLD})
    assert azure.properties[NAME] == PROPERTIES
    assert len(azure.blocks[NAME]) == (2 if has_blocks else 1)
    assert found(clean(azure, path)) == []


def test_only_what_is_old_and_ours_is_discarded(azure):
    """Nothing of others, nothing young, nothing elsewhere, and nothing without a word."""
    for name in (
        "day=10/a",
        "day=1/busy",
        "day=1/young",
        "day=1/others",
        "day=1/deep/er/a",
        "day=1/b",
    ):
        azure.put(f"lake/{name}", OLD)
    stage(azure)
    stage(azure, "lake/day=1/deep/er/a")
    stage(azure, "lake/day=10/a")
    stage(azure, "lake/day=1/busy")
    stage(azure, "lake/day=1/busy", age=60)
    stage(azure, "lake/day=1/young", age=DAY - 60)
    stage(azure, "lake/day=1/others")
    azure.staged["lake/day=1/others"][b64encode(bytes(24)).decode()] = b"theirs"
    before = {name: azure.etag(name) for name in azure.objects}
    assert pb.clean_temp(FOLDER, storage_options=azure.options).leftovers == ()
    gone = {"lake/day=1/deep/er/a", NAME}
    assert {left.file for left in clean(azure).leftovers} == {
        f"az://{name.replace(' ', '%20')}" for name in gone
    }
    assert not azure.staged.keys() & gone
    assert {name for name in azure.objects if azure.etag(name) != before[name]} == gone
    assert set(azure.objects.values()) == {OLD}


def test_a_blob_that_others_replace_meanwhile(azure):
    stage(azure)
    azure.faults.append(Fault(kind="COMMIT", do=lambda: azure.put(NAME, OLD[::-1])))
    (left,) = clean(azure).leftovers
    assert left.problem == (
        f"{URL}: changed by another writer while it was read: nothing was written; try again"
    )
    assert azure.objects == {NAME: OLD[::-1]}


def test_a_store_that_ignores_conditions(azure):
    replacement._ignored_in.clear()
    azure.is_lax = True
    stage(azure)
    (left,) = clean(azure).leftovers
    assert "ignores If-Match in Put Blob, so a concurrent write could be lost" in left.problem
    assert azure.objects == {NAME: OLD}


def test_looking_that_is_refused(azure):
    azure.faults.append(Fault(403, kind="BLOCKS"))
    with pytest.raises(PermissionError) as raised:
        clean(azure, URL)
    assert raised.value.strerror == "listing blocks was refused (403): allow blobs/read"
    azure.faults.append(Fault(500, kind="BLOCKS", times=99))
    with pytest.raises(
        OSError, match="the store answered 500; the search for blocks was not completed"
    ):
        clean(azure, URL)


def test_the_command(azure):
    stage(azure)
    words = [f"--storage-option={name}={value}" for name, value in azure.options.items()]
    done = outcome("clean-temp", FOLDER, "--uploads", "1d", *words)
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{URL}: upload of 8 B, begun ")
    assert done.stdout.endswith(" UTC: aborted\n1 upload; 8 B\n")
