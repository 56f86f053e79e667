"""Objects in S3 that are changed in place: what is sent, what is kept, and that after any failure the
object is the old version or the new one, and the message says which."""

import os
import re
import signal
import subprocess
import sys
from base64 import b64decode
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from conftest import FIXTURES, ROOT
from make.commands import PATIENCE_SECONDS, outcome
from make.object_server import Fault
from make.s3_server import OWNER, Lost
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.storage.objects import conditions, s3_adapter, s3_client, s3_parts, stores

FIXTURE = FIXTURES / "pyarrow_types.parquet"
OLD = FIXTURE.read_bytes()
NAME = "lake/day=1/x y.parquet"
URL = "s3://lake/day=1/x%20y.parquet"
# What a build asks to commit, once it is known that the store honours conditions.
COMMIT = ["HEAD", "TAGS", "ACL", "CREATE", "COPY", "PART", "COMPLETE"]
NOTHING = "nothing was written"
CHANGED = f"{URL}: changed by others while it was read: nothing was written; try again"


@pytest.fixture(autouse=True)
def old(s3, request):
    s3.put(NAME, OLD)
    # Whether it honours conditions has a test of its own.
    if "unknown_store" not in request.fixturenames:
        conditions._honouring[s3.endpoint, "lake"] = True


@pytest.fixture
def unknown_store():
    """It is not known whether it honours conditions."""


def build(s3, **options):
    return pb.build(URL, columns=["int64"], in_place=True, storage_options=s3.options, **options)


@cache
def made_locally(tmp_path, layout="append"):
    path = tmp_path / "local.parquet"
    path.write_bytes(OLD)
    pb.build(path, columns=["int64"], in_place=True, layout=layout)
    return path.read_bytes()


def is_new(data):
    return len(data) > len(OLD) and data.startswith(OLD) and data.endswith(b"PAR1")


def written(s3):
    """What was sent to change an object, in order; parts are sent at the same time."""
    kinds = " ".join(kind for kind in s3.kinds() if kind not in ("GET", "LIST"))
    return kinds.replace("PART COPY", "COPY PART").split()


# ------------------------------------------------------------------------------------------------
# What it becomes


@pytest.mark.parametrize("layout", ["append", "replace"])
def test_a_build_is_what_a_local_one_is(s3, tmp_path, layout):
    report = build(s3, layout=None if layout == "append" else layout)
    assert s3.objects == {NAME: made_locally(tmp_path, layout)}
    assert (report.path, report.output, report.size_after) == (URL, URL, len(s3.objects[NAME]))
    assert written(s3) == COMMIT
    kept = len(OLD) if layout == "append" else len(OLD) - 8 - int.from_bytes(OLD[-8:-4], "little")
    assert s3.received == len(s3.objects[NAME]) - kept == report.requests.bytes_up
    assert (report.requests.head, report.requests.put) == (1, 4)
    assert s3.uploads == {}


def test_strip_gives_the_old_object_back(s3):
    build(s3)
    s3.forget()
    s3.received = 0
    report = pb.strip(URL, in_place=True, storage_options=s3.options)
    assert s3.objects == {NAME: OLD}
    assert written(s3) == ["HEAD", "TAGS", "ACL", "CREATE", "COPY", "COMPLETE"]
    assert s3.received == report.requests.bytes_up == 0


def test_a_small_object_is_sent_as_a_whole(s3, tmp_path, monkeypatch):
    monkeypatch.setattr(s3_parts, "LEAST_BYTES", 5 << 20)
    build(s3)
    assert s3.objects == {NAME: made_locally(tmp_path)}
    assert written(s3) == ["HEAD", "TAGS", "ACL", "PUT"]


def test_what_a_build_costs(s3, hundred_groups, monkeypatch):
    """Of 42 MB, what is new is sent, and the column read."""
    monkeypatch.setattr(s3_parts, "LEAST_BYTES", 5 << 20)
    s3.put("lake/day=1/groups.parquet", data := hundred_groups.read_bytes())
    url = "s3://lake/day=1/groups.parquet"
    report = pb.build(url, columns=["c3"], in_place=True, storage_options=s3.options)
    groups = pb.inspect(hundred_groups, columns=["c3"]).row_groups
    column = sum(chunk.chunk_bytes for group in groups for chunk in group.columns)
    assert s3.objects["lake/day=1/groups.parquet"].startswith(data)
    assert s3.received == report.bytes_added == report.requests.bytes_up
    assert s3.bytes_down <= column + (1 << 20)
    assert s3.count() <= 105
    assert written(s3) == COMMIT


PROPERTIES = {
    "Cache-Control": "max-age=60",
    "Content-Disposition": "inline",
    "Content-Encoding": "identity",
    "Content-Language": "de",
    "Content-Type": "application/x-parquet",
    "Expires": "Wed, 21 Oct 2026 07:28:00 GMT",
    "x-amz-meta-who": "me",
    "x-amz-server-side-encryption": "aws:kms",
    "x-amz-server-side-encryption-aws-kms-key-id": "arn:key",
    "x-amz-storage-class": "STANDARD_IA",
    "x-amz-website-redirect-location": "/other",
}


@pytest.mark.parametrize("least", [1000, 5 << 20], ids=["parts", "whole"])
def test_what_is_said_of_an_object_is_kept(s3, monkeypatch, least):
    monkeypatch.setattr(s3_parts, "LEAST_BYTES", least)
    s3.store_it(NAME, OLD, PROPERTIES, "team=a%20b&z=1")
    build(s3)
    found = {name.lower(): value for name, value in s3.properties[NAME].items()}
    assert found == {name.lower(): value for name, value in PROPERTIES.items()}
    assert s3.tags[NAME] in ("team=a+b&z=1", "team=a%20b&z=1")


@pytest.mark.parametrize("least", [1000, 5 << 20], ids=["parts", "whole"])
def test_amazon_gets_checksums(s3, monkeypatch, unknown_store, least):
    """And is not asked whether it honours conditions."""
    monkeypatch.setattr(s3_parts, "LEAST_BYTES", least)
    monkeypatch.setattr(s3_client, "_is_aws", lambda endpoint: True)
    build(s3)
    assert is_new(s3.objects[NAME])
    assert written(s3) == (COMMIT if least == 1000 else ["HEAD", "TAGS", "ACL", "PUT"])
    sent = [asked.headers for asked in s3.asked if asked.kind in ("PART", "PUT")]
    assert all("x-amz-checksum-crc32" in headers for headers in sent)


@pytest.mark.parametrize("least", [1000, 5 << 20], ids=["parts", "whole"])
def test_other_stores_get_the_checksum_that_all_know(s3, monkeypatch, least):
    """A bucket with object lock takes nothing without."""
    monkeypatch.setattr(s3_parts, "LEAST_BYTES", least)
    build(s3)
    sent = [asked for asked in s3.asked if asked.kind in ("PUT", "PART")]
    assert sent
    for asked in sent:
        assert len(b64decode(asked.headers["Content-MD5"])) == 16


@pytest.mark.parametrize("place", ["option", "environment"])
def test_whoever_asks_pays(unknown_store, s3, monkeypatch, place):
    options = dict(s3.options)
    if place == "option":
        options["request_payer"] = "true"
    else:
        monkeypatch.setenv("AWS_REQUEST_PAYER", "true")
    stores._store.cache_clear()
    pb.build(URL, columns=["int64"], in_place=True, storage_options=options)
    pb.clean_temp(URL, uploads_older_than=86_400, storage_options=options)
    stores._store.cache_clear()
    assert {"GET", "HEAD", "TAGS", "ACL", "CREATE", "COPY", "COMPLETE", "UPLOADS"} <= set(
        s3.kinds()
    )
    unpaid = {
        each.kind for each in s3.asked if each.headers.get("x-amz-request-payer") != "requester"
    }
    assert unpaid == set()


def test_without_boto3(s3, monkeypatch):
    for name in ("s3_client", "s3_adapter"):
        monkeypatch.delitem(sys.modules, f"parquet_bloom.storage.objects.{name}")
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(pb.UnsupportedError) as raised:
        build(s3)
    assert str(raised.value) == (
        f"{URL}: to be replaced, needs boto3, which is not installed: pip install 'parquet_bloom[s3]'"
    )
    assert s3.objects == {NAME: OLD}


def test_web_servers_are_only_read():
    url = "https://127.0.0.1/x.parquet"
    with pytest.raises(pb.RewriteError) as raised:
        pb.build(url, columns=["int64"], in_place=True)
    assert str(raised.value) == (
        f"{url}: not changed in place: web servers are only read: write a local copy with an output,"
        " and upload it"
    )


def test_stripes_are_copied_by_the_store(s3, tmp_path):
    path = tmp_path / "local.orc"
    rows = range(100_000)
    noise = pa.array(np.random.default_rng(1).integers(0, 1 << 60, len(rows)))
    orc.write_table(pa.table({"a": rows, "b": noise}), path, stripe_size=200_000)
    s3.put("lake/day=1/x.orc", old := path.read_bytes())
    url = "s3://lake/day=1/x.orc"
    there = pb.build(url, columns=["a"], in_place=True, storage_options=s3.options)
    pb.build(path, columns=["a"], in_place=True)
    assert s3.objects["lake/day=1/x.orc"] == path.read_bytes() != old
    assert "COPY" in s3.kinds()
    assert s3.received == there.requests.bytes_up < there.bytes_added + 20_000
    assert pb.validate(url, storage_options=s3.options).ok


def test_a_store_without_tags(s3):
    s3.has_tags = False
    build(s3)
    assert is_new(s3.objects[NAME])


EVERYBODY = "http://acs.amazonaws.com/groups/global/AllUsers"
SHARED = {
    "x-amz-grant-full-control": f'id="{OWNER}", id="aabbcc"',
    "x-amz-grant-read": f'uri="{EVERYBODY}"',
}


@pytest.mark.parametrize("least", [1000, 5 << 20], ids=["parts", "whole"])
def test_who_may_read_an_object_is_kept(s3, monkeypatch, least):
    monkeypatch.setattr(s3_parts, "LEAST_BYTES", least)
    s3.properties[NAME] = dict(SHARED)
    build(s3)
    assert is_new(s3.objects[NAME])
    assert s3.properties[NAME].items() >= SHARED.items()


def test_an_object_of_its_owner_alone_is_said_to_be_nobodys(s3):
    """Buckets without access control lists refuse any."""
    build(s3)
    assert not any("grant" in name.lower() for asked in s3.asked for name in asked.headers)


@pytest.mark.parametrize(("status", "code"), [(403, "AccessDenied"), (501, "NotImplemented")])
def test_access_control_lists_that_cannot_be_read(s3, status, code):
    s3.faults.append(Fault(status, f"<Error><Code>{code}</Code></Error>", kind="ACL"))
    build(s3)
    assert is_new(s3.objects[NAME])


def test_access_control_lists_that_must_not_be_written(s3):
    s3.properties[NAME] = dict(SHARED)
    s3.faults.append(Fault(403, DENIED, kind="CREATE"))
    with pytest.raises(PermissionError) as raised:
        build(s3)
    assert raised.value.strerror == (
        "writing was refused (403 AccessDenied): its access control list is kept, which takes"
        " s3:PutObjectAcl, too; nothing was written"
    )
    assert s3.objects == {NAME: OLD}


def test_tags_that_cannot_be_read(s3):
    s3.faults.append(Fault(403, "<Error><Code>AccessDenied</Code></Error>", kind="TAGS"))
    with pytest.raises(PermissionError) as raised:
        build(s3)
    assert raised.value.filename == URL
    assert raised.value.strerror == (
        "its tags would be lost, as they cannot be read (403 AccessDenied): allow"
        " s3:GetObjectTagging; nothing was written"
    )
    assert s3.objects == {NAME: OLD}


# ------------------------------------------------------------------------------------------------
# Others write meanwhile


@pytest.mark.parametrize("kind", [*COMMIT, "LIST"])
@pytest.mark.parametrize("content", [OLD[::-1], OLD[:-1], None], ids=["other", "shorter", "gone"])
def test_what_others_write_is_not_lost(s3, kind, content):
    def other():
        if content is None:
            del s3.objects[NAME]
        else:
            s3.put(NAME, content)

    s3.faults.append(Fault(kind=kind, do=other))
    if kind == "LIST" and content is not None:
        with pytest.raises((pb.ParquetBloomError, OSError)):
            build(s3)
    elif content is None:
        with pytest.raises(FileNotFoundError) as gone:
            build(s3)
        assert kind == "LIST" or gone.value.strerror == "is no longer there; nothing was written"
    else:
        with pytest.raises(pb.RewriteError) as raised:
            build(s3)
        assert str(raised.value) == CHANGED
    assert s3.objects == ({} if content is None else {NAME: content})
    assert s3.uploads == {}


def test_of_two_builds_one_wins(s3):
    s3.faults.append(Fault(kind="COMPLETE", do=lambda: build(s3)))
    with pytest.raises(pb.RewriteError) as raised:
        build(s3)
    assert str(raised.value) == CHANGED
    assert is_new(s3.objects[NAME])
    assert pb.validate(URL, storage_options=s3.options).ok
    assert s3.uploads == {}


def test_the_command_says_it_in_a_line(s3):
    s3.faults.append(Fault(kind="COMPLETE", do=lambda: s3.put(NAME, OLD[::-1])))
    words = [
        word
        for name, value in s3.options.items()
        for word in ("--storage-option", f"{name}={value}")
    ]
    result = outcome("build", URL, "--in-place", "-c", "int64", *words)
    assert (result.code, result.stdout, result.stderr) == (2, "", f"pbloom: {CHANGED}\n")


# ------------------------------------------------------------------------------------------------
# Stores that do not know conditions


def test_a_store_is_asked_once_whether_it_honours_conditions(unknown_store, s3):
    asks = ["PUT", "CREATE", "PART", "COMPLETE", "ABORT"]
    build(s3)
    assert written(s3) == [*asks, *COMMIT]
    assert len(s3.objects) == 1
    s3.forget()
    pb.strip(URL, in_place=True, storage_options=s3.options)
    assert written(s3) == ["HEAD", "TAGS", "ACL", "CREATE", "COPY", "COMPLETE"]


@pytest.mark.parametrize("kind", ["PUT", "COMPLETE"])
def test_a_store_that_ignores_conditions_is_refused(unknown_store, s3, kind):
    def lax():
        s3.is_lax = True

    s3.faults.append(Fault(kind=kind, do=lax))
    with pytest.raises(pb.RewriteError) as raised:
        build(s3)
    host = s3.endpoint.removeprefix("http://")
    assert str(raised.value) == (
        f"{URL}: not changed in place: the store at {host} replaces objects whatever If-Match says,"
        " so that what others write meanwhile would be lost: use unconditional if nobody else writes"
    )
    assert (s3.objects, s3.uploads) == ({NAME: OLD}, {})


def test_unconditional(unknown_store, s3):
    s3.is_lax = True
    build(s3, unconditional=True)
    assert is_new(s3.objects[NAME])
    assert written(s3) == [*COMMIT[:-1], "HEAD", "COMPLETE"]


def test_unconditional_looks_before_it_writes(unknown_store, s3):
    s3.is_lax = True
    s3.faults.append(Fault(kind="PART", do=lambda: s3.put(NAME, OLD[::-1])))
    with pytest.raises(pb.RewriteError) as raised:
        build(s3, unconditional=True)
    assert str(raised.value) == CHANGED
    assert (s3.objects, s3.uploads) == ({NAME: OLD[::-1]}, {})


# ------------------------------------------------------------------------------------------------
# Failures

DENIED = "<Error><Code>AccessDenied</Code></Error>"
SLOW = "<Error><Code>SlowDown</Code></Error>"
FAULTS = {
    "403": lambda kind: Fault(403, DENIED, kind=kind, times=9),
    "409": lambda kind: Fault(
        409, "<Error><Code>ConditionalRequestConflict</Code></Error>", kind=kind
    ),
    "412": lambda kind: Fault(412, "<Error><Code>PreconditionFailed</Code></Error>", kind=kind),
    "503 once": lambda kind: Fault(503, SLOW, kind=kind),
    "503": lambda kind: Fault(503, SLOW, kind=kind, times=99),
    "500": lambda kind: Fault(500, kind=kind, times=99),
    "cut off before": lambda kind: Lost(kind=kind, before=True),
    "lost answer": lambda kind: Lost(kind=kind),
    "all lost": lambda kind: Lost(kind=kind, times=99),
    "none done": lambda kind: Lost(kind=kind, times=99, before=True),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("least", [1000, 5 << 20], ids=["parts", "whole"])
def test_the_object_is_the_old_one_or_the_new_one_and_the_message_says_which(
    s3, tmp_path, monkeypatch, least, fault
):
    monkeypatch.setattr(s3_parts, "LEAST_BYTES", least)
    new = made_locally(tmp_path)
    kinds = COMMIT if least == 1000 else ["HEAD", "TAGS", "ACL", "PUT"]
    for kind in kinds:
        s3.put(NAME, OLD)
        s3.faults[:] = [FAULTS[fault](kind)]
        try:
            build(s3)
        except (pb.RewriteError, OSError) as error:
            said = str(error)
            assert NOTHING in said or "either the old version" in said, (kind, said)
            assert "\n" not in said
            if NOTHING in said:
                assert s3.objects == {NAME: OLD}, (kind, said)
        else:
            assert s3.objects == {NAME: new}, kind
        assert s3.objects[NAME] in (OLD, new)
        s3.faults.clear()
        # An upload whose number was lost stays, without a part.
        assert kind == "CREATE" or s3.uploads == {}, kind
        assert not any(upload.parts for upload in s3.uploads.values())
        s3.uploads.clear()


def test_the_messages(s3):
    said = {}
    for fault in ("403", "409", "503", "none done"):
        s3.faults[:] = [FAULTS[fault]("COMPLETE")]
        with pytest.raises(OSError, match="written") as raised:
            build(s3)
        assert raised.value.filename == URL
        said[fault] = raised.value.strerror
    assert said == {
        "403": "writing was refused (403 AccessDenied); nothing was written",
        "409": "the store answered 409 ConditionalRequestConflict; nothing was written",
        "503": "the store answered 503 SlowDown; nothing was written",
        "none done": "no answer: ConnectionClosedError; nothing was written",
    }


MISSING = {
    "CREATE": "the store's answer to CreateMultipartUpload has no UploadId",
    "TAGS": "the store's answer to GetObjectTagging has no TagSet",
    "COPY": "the store's answer to UploadPartCopy has no ETag",
    "PART": "the store's answer to UploadPart has no ETag",
    "HEAD": "the store's answer to HeadObject has no ETag",
}


@pytest.mark.parametrize("body", ["", "<html>Hello</html>", "<a/>"])
@pytest.mark.parametrize("kind", MISSING)
def test_answers_that_say_nothing(s3, kind, body):
    """As of a proxy before the store."""
    s3.faults.append(Fault(200, body, kind=kind))
    with pytest.raises(OSError, match="nothing was written") as raised:
        build(s3)
    assert raised.value.strerror == f"{MISSING[kind]}; {NOTHING}"
    assert (s3.objects, raised.value.filename) == ({NAME: OLD}, URL)


def test_an_answer_that_says_nothing_where_conditions_are_tried(unknown_store, s3):
    s3.faults.append(Fault(200, "", kind="CREATE"))
    with pytest.raises(OSError, match="has no UploadId; nothing was written"):
        build(s3)
    assert s3.objects == {NAME: OLD}


def test_a_last_answer_that_says_nothing_is_not_believed(s3):
    s3.faults.append(Fault(200, "", kind="COMPLETE"))
    with pytest.raises(OSError, match="nothing was written") as raised:
        build(s3)
    assert raised.value.strerror == (
        f"the store's answer to CompleteMultipartUpload has no ETag; {NOTHING}"
    )
    assert (s3.objects, s3.uploads) == ({NAME: OLD}, {})


def test_a_lost_answer_and_an_object_that_cannot_be_looked_at(s3):
    s3.faults[:] = [Lost(kind="COMPLETE", times=99), Fault(403, kind="HEAD", skip=1, times=99)]
    with pytest.raises(OSError, match="no answer") as raised:
        build(s3)
    new = s3.objects[NAME]
    assert raised.value.strerror == (
        "no answer came to the last request (ConnectionClosedError), and the object cannot be looked at"
        f" (403): it is either the old version, of {len(OLD)} bytes, or the new one, of {len(new)} bytes"
    )
    assert is_new(new)


def test_a_lost_answer_and_another_version(s3):
    def other():
        s3.put(NAME, OLD[::-1])

    s3.faults[:] = [Lost(kind="COMPLETE", times=99), Fault(kind="HEAD", skip=1, do=other)]
    with pytest.raises(OSError, match="no answer") as raised:
        build(s3)
    assert raised.value.strerror == (
        "no answer came to the last request (ConnectionClosedError), and the object is another one by"
        f" now, of {len(OLD)} bytes"
    )
    assert s3.objects == {NAME: OLD[::-1]}


@pytest.mark.parametrize("kind", COMMIT)
def test_a_kill_leaves_the_old_object_or_the_new_one(s3, tmp_path, kind):
    made = made_locally(tmp_path)
    code = (
        "import sys, parquet_bloom as pb\n"
        "from parquet_bloom.storage.objects import conditions, s3_parts\n"
        "s3_parts.LEAST_BYTES = 1000\n"
        f"conditions._honouring[{s3.endpoint!r}, 'lake'] = True\n"
        f"pb.build({URL!r}, columns=['int64'], in_place=True, storage_options={s3.options!r})\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    s3.faults.append(Fault(kind=kind, do=lambda: process.send_signal(signal.SIGKILL)))
    assert process.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    assert s3.objects[NAME] in (OLD, made)
    s3.faults.clear()
    build(s3)
    assert re.fullmatch(rb"PAR1.*PAR1", s3.objects[NAME], re.DOTALL)
    assert pb.validate(URL, storage_options=s3.options).ok


def test_an_interrupt_leaves_nothing(s3, monkeypatch):
    for kind in COMMIT:
        ask = s3_adapter.S3Client.ask
        names = {
            "HEAD": "head_object",
            "TAGS": "get_object_tagging",
            "ACL": "get_object_acl",
            "CREATE": "create_multipart_upload",
            "COPY": "upload_part_copy",
            "PART": "upload_part",
            "COMPLETE": "complete_multipart_upload",
        }

        def interrupted(client, operation, *args, wanted=names[kind], ask=ask, **given):
            if operation == wanted:
                raise KeyboardInterrupt
            return ask(client, operation, *args, **given)

        monkeypatch.setattr(s3_adapter.S3Client, "ask", interrupted)
        with pytest.raises(KeyboardInterrupt):
            build(s3)
        monkeypatch.setattr(s3_adapter.S3Client, "ask", ask)
        assert (s3.objects, s3.uploads) == ({NAME: OLD}, {})
