"""What only objects in S3 have: access control lists, tags, checksums, and what proxies answer. All else
that is so when they are replaced is tested in test_replacement."""

import sys
from base64 import b64decode
from contextlib import suppress

import pytest
from make.object_server import Fault
from make.replacements import NAME, NOTHING, OLD, PLACE, WAYS, honours_conditions, in_xml, is_new
from make.s3_server import OWNER

import parquet_bloom as pb
from parquet_bloom.storage.objects import replacement, s3_adapter, s3_client, sending, stores

URL = f"s3://{PLACE}"
DENIED = in_xml("AccessDenied")


@pytest.fixture(autouse=True)
def old(s3):
    s3.put(NAME, OLD)
    honours_conditions(s3)


@pytest.fixture
def unknown_store(s3, old):
    """It is not known whether it honours conditions."""
    replacement._ignored_in.clear()


def build(s3, **options):
    return pb.build(URL, columns=["int64"], in_place=True, storage_options=s3.options, **options)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_dry_run_needs_the_library_that_replaces_too(s3, monkeypatch, dry_run):
    for module in (s3_adapter, s3_client):
        monkeypatch.delitem(sys.modules, module.__name__)
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(pb.UnsupportedError) as raised:
        build(s3, dry_run=dry_run)
    assert str(raised.value) == (
        f"{URL}: to be replaced: needs boto3, which is not installed: pip install 'parquet-bloom[s3]'"
    )
    assert s3.objects[NAME] == OLD


# ------------------------------------------------------------------------------------------------
# What is kept

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
    monkeypatch.setattr(s3_adapter, "LEAST_BYTES", least)
    s3.store_it(NAME, OLD, PROPERTIES, "team=a%20b&z=1")
    build(s3)
    found = {name.lower(): value for name, value in s3.properties[NAME].items()}
    assert found == {name.lower(): value for name, value in PROPERTIES.items()}
    assert s3.tags[NAME] in ("team=a+b&z=1", "team=a%20b&z=1")


@pytest.mark.parametrize("least", [1000, 5 << 20], ids=["parts", "whole"])
def test_amazon_gets_checksums(s3, monkeypatch, unknown_store, least):
    """And is not asked whether it honours conditions."""
    monkeypatch.setattr(s3_adapter, "LEAST_BYTES", least)
    monkeypatch.setattr(s3_client, "_is_aws", lambda endpoint: True)
    build(s3)
    assert is_new(s3.objects[NAME])
    way = WAYS["s3 parts" if least == 1000 else "s3 whole"]
    asked = [kind for kind in s3.kinds() if kind not in ("GET", "LIST")]
    assert sorted(asked) == sorted(way.asks)
    sent = [asked.headers for asked in s3.asked if asked.kind in ("PART", "PUT")]
    assert all("x-amz-checksum-crc32" in headers for headers in sent)


@pytest.mark.parametrize("least", [1000, 5 << 20], ids=["parts", "whole"])
def test_other_stores_get_the_checksum_that_all_know(s3, monkeypatch, least):
    """A bucket with object lock takes nothing without."""
    monkeypatch.setattr(s3_adapter, "LEAST_BYTES", least)
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
    stores._opened.cache_clear()
    pb.build(URL, columns=["int64"], in_place=True, storage_options=options)
    pb.clean_temp(URL, uploads_older_than=86_400, storage_options=options)
    stores._opened.cache_clear()
    assert {"GET", "HEAD", "TAGS", "ACL", "CREATE", "COPY", "COMPLETE", "UPLOADS"} <= set(
        s3.kinds()
    )
    unpaid = {
        each.kind for each in s3.asked if each.headers.get("x-amz-request-payer") != "requester"
    }
    assert unpaid == set()


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
    monkeypatch.setattr(s3_adapter, "LEAST_BYTES", least)
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
    s3.faults.append(Fault(status, in_xml(code), kind="ACL"))
    build(s3)
    assert is_new(s3.objects[NAME])


@pytest.mark.parametrize("said", ["500 InternalError", "429 TooManyRequests"])
def test_no_access_control_list_is_lost_where_a_store_fails(s3, said):
    """It may be asked again later, and says then that there is one."""
    s3.properties[NAME] = dict(SHARED)
    status, code = said.split()
    s3.faults.append(Fault(int(status), in_xml(code), kind="ACL", times=99))
    with pytest.raises(OSError, match="GetObjectAcl") as raised:
        build(s3)
    assert raised.value.strerror == (
        f"its access control list cannot be read and would be lost ({said} to GetObjectAcl): an output"
        " elsewhere can be written without one; nothing was written"
    )
    assert s3.objects == {NAME: OLD}


def test_a_store_that_fails_for_one_list_is_asked_less_often_for_the_next(s3, monkeypatch):
    """A run over a thousand objects would wait half a minute for each."""
    monkeypatch.setattr(sending, "PAUSES", (0.0,) * 5)

    def asked():
        s3.asked.clear()
        with suppress(OSError):
            build(s3)
        return [each.kind for each in s3.asked].count("ACL")

    s3.faults.append(Fault(500, in_xml("InternalError"), kind="ACL", times=6 + 3))
    assert [asked(), asked(), asked()] == [6, 3, 1]
    assert is_new(s3.objects[NAME])
    s3.put(NAME, OLD)
    s3.faults.append(Fault(500, in_xml("InternalError"), kind="ACL", times=6))
    assert asked() == 6


def test_a_failure_names_what_was_asked(s3):
    s3.faults.append(Fault(500, in_xml("InternalError"), kind="TAGS", times=99))
    with pytest.raises(OSError, match="GetObjectTagging") as raised:
        build(s3)
    assert raised.value.strerror == (
        "the store answered 500 InternalError to GetObjectTagging; nothing was written"
    )


def test_a_session_token_of_another_key_is_refused(s3):
    """AWS says so of a bad request."""
    s3.faults.append(Fault(400, in_xml("InvalidToken"), kind="CREATE", times=99))
    with pytest.raises(PermissionError) as raised:
        build(s3)
    assert raised.value.strerror == (
        "writing was refused (400 InvalidToken): the session token is none of this access key: set"
        " AWS_SESSION_TOKEN, or the storage option session_token, to the one that came with the key, or to nothing"
        " if none did; nothing was written"
    )


def test_access_control_lists_that_must_not_be_written(s3):
    s3.properties[NAME] = dict(SHARED)
    s3.faults.append(Fault(403, DENIED, kind="CREATE"))
    with pytest.raises(PermissionError) as raised:
        build(s3)
    assert raised.value.strerror == (
        "writing was refused (403 AccessDenied): its access control list is kept, which also needs"
        " s3:PutObjectAcl; nothing was written"
    )
    assert s3.objects == {NAME: OLD}


def test_tags_that_cannot_be_read(s3):
    s3.faults.append(Fault(403, DENIED, kind="TAGS"))
    with pytest.raises(PermissionError) as raised:
        build(s3)
    assert raised.value.filename == URL
    assert raised.value.strerror == (
        "its tags cannot be read and would be lost (403 AccessDenied): allow"
        " s3:GetObjectTagging; nothing was written"
    )
    assert s3.objects == {NAME: OLD}


# ------------------------------------------------------------------------------------------------
# Failures

MISSING = {
    "CREATE": "the store's answer to CreateMultipartUpload has no UploadId",
    "TAGS": "the store's answer to GetObjectTagging has no TagSet",
    "COPY": "the store's answer to UploadPartCopy has no ETag",
    "PART": "the store's answer to UploadPart has no ETag",
    "HEAD": "the store's answer to HeadObject has no ETag",
}


@pytest.mark.every(2)
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


def test_an_object_without_an_etag_is_only_read(s3):
    """Nothing would tell whether others have changed it."""
    s3.has_etags = False
    with pytest.raises(pb.RewriteError, match="not changed in place: the store gives it no ETag"):
        build(s3)
    assert s3.objects == {NAME: OLD}
