"""Objects in Google Cloud Storage that are changed in place: what is sent, what is kept, and that after any
failure the object is the old version or the new one, and the message says which."""

import base64
import gzip
import json
import os
import re
import signal
import subprocess
import sys
from functools import cache

import google_crc32c
import pyarrow as pa
import pytest
from conftest import FIXTURES, ROOT
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from make.commands import outcome
from make.object_server import SECRET, Fault
from make.s3_server import Lost
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.spark.cleaning import CleanOptions, sweep
from parquet_bloom.spark.request import Request
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects import (
    conditions,
    gcs_adapter,
    gcs_client,
    gcs_sending,
    stores,
)
from parquet_bloom.storage.objects.folders import ObjectFolder
from parquet_bloom.storage.paths import expand
from parquet_bloom.storage.temporary_files import is_left

FIXTURE = FIXTURES / "pyarrow_types.parquet"
OLD = FIXTURE.read_bytes()
NAME = "lake/day=1/x y%.parquet"
KEY = "day=1/x y%.parquet"
URL = "gs://lake/day=1/x%20y%25.parquet"
# What a build asks to commit, once it is known that the store honours conditions: the old object and an
# end, put together; an object that is sent as a whole, in one request or in parts.
APPEND = ["LOOK", "INSERT", "COMPOSE", "DELETE"]
# Where conditions may be ignored.
BESIDE = ["LOOK", "INSERT", "COMPOSE", "LOOK", "COMPOSE", "DELETE", "DELETE"]
WHOLE = ["LOOK", "INSERT"]
PARTS = ["LOOK", "BEGIN", "PART", "PART", "PART"]
NOTHING = "nothing was written"
CHANGED = f"{URL}: changed by others while it was read: nothing was written; try again"


@pytest.fixture(autouse=True)
def old(gcs, request):
    gcs.put(NAME, OLD)
    # Whether it honours conditions has a test of its own.
    if "unknown_store" not in request.fixturenames:
        conditions._honouring[gcs.endpoint, "lake"] = True


@pytest.fixture
def unknown_store():
    """It is not known whether it honours conditions."""


WAYS = {"append": APPEND, "whole": WHOLE, "parts": PARTS}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """How the new version comes to be: what is asked for it."""
    return take(monkeypatch, request.param)


def take(monkeypatch, way):
    if way != "append":
        monkeypatch.setattr(gcs_adapter, "WHOLE_BYTES", 5 << 20)
    if way == "parts":
        monkeypatch.setattr(gcs_sending, "SENT_BYTES", len(OLD) // 2)
    return WAYS[way]


def build(gcs, **options):
    return pb.build(URL, columns=["int64"], in_place=True, storage_options=gcs.options, **options)


@cache
def made_locally(tmp_path, layout="append"):
    path = tmp_path / "local.parquet"
    path.write_bytes(OLD)
    pb.build(path, columns=["int64"], in_place=True, layout=layout)
    return path.read_bytes()


def is_new(data):
    return len(data) > len(OLD) and data.startswith(OLD) and data.endswith(b"PAR1")


def written(gcs):
    """What was asked to change an object, in order."""
    return [kind for kind in gcs.kinds() if kind not in ("GET", "LIST")]


# ------------------------------------------------------------------------------------------------
# What it becomes


def test_a_build_is_what_a_local_one_is(gcs, tmp_path):
    report = build(gcs)
    assert gcs.objects == {NAME: made_locally(tmp_path)}
    assert (report.path, report.output, report.size_after) == (URL, URL, len(gcs.objects[NAME]))
    assert written(gcs) == APPEND
    assert gcs.received == len(gcs.objects[NAME]) - len(OLD) == report.requests.bytes_up
    assert (report.requests.head, report.requests.put) == (1, 3)
    assert gcs.resources[NAME]["componentCount"] == 2
    assert "md5Hash" not in gcs.resources[NAME]


def test_what_is_not_appended_is_sent_as_a_whole(gcs, tmp_path):
    report = build(gcs, layout="replace")
    assert gcs.objects == {NAME: made_locally(tmp_path, "replace")}
    assert written(gcs) == WHOLE
    assert gcs.received == len(gcs.objects[NAME]) == report.requests.bytes_up
    # The old bytes are read for it; the footer and the end are there already.
    assert report.requests.bytes_down <= 2 * len(OLD)


def test_strip_gives_the_old_object_back(gcs):
    build(gcs)
    gcs.forget()
    gcs.received = 0
    report = pb.strip(URL, in_place=True, storage_options=gcs.options)
    assert gcs.objects == {NAME: OLD}
    assert written(gcs) == WHOLE
    assert gcs.received == report.requests.bytes_up == len(OLD)


@pytest.mark.parametrize("most", [None, 10_000], ids=["parts", "parts of parts"])
def test_what_is_large_is_sent_in_parts(gcs, tmp_path, monkeypatch, most):
    """Of which the store may keep less than was sent."""
    take(monkeypatch, "parts")
    gcs.most = most
    build(gcs)
    assert gcs.objects == {NAME: made_locally(tmp_path)}
    if most is None:
        assert written(gcs) == PARTS
    else:
        assert gcs.count("PART") == -(-len(gcs.objects[NAME]) // most)
    assert gcs.uploads == {}
    assert "md5Hash" in gcs.resources[NAME]


@pytest.mark.parametrize("fault", ["lost answer", "cut off before", "last answer lost"])
def test_of_a_part_that_failed_the_rest_is_sent(gcs, monkeypatch, fault):
    take(monkeypatch, "parts")
    again = ["PART"] if fault == "cut off before" else []
    at = 4 if fault == "last answer lost" else 2
    gcs.faults.append(Lost(kind="PART", skip=at - 2, before=fault == "cut off before"))
    build(gcs)
    assert is_new(gcs.objects[NAME])
    assert written(gcs) == [*PARTS[: at + 1], "STATUS", *again, *PARTS[at + 1 :]]


def test_a_lost_answer_to_an_earlier_part_leaves_no_doubt(gcs, monkeypatch):
    take(monkeypatch, "parts")
    other = Fault(kind="PART", skip=1, do=lambda: gcs.put(NAME, OLD[::-1]))
    gcs.faults[:] = [Lost(kind="PART"), other]
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs)
    assert str(raised.value) == CHANGED
    assert (gcs.objects, gcs.uploads) == ({NAME: OLD[::-1]}, {})


def test_a_store_that_keeps_nothing_of_a_part(gcs, monkeypatch):
    take(monkeypatch, "parts")
    gcs.most = 0
    with pytest.raises(OSError, match="has only") as raised:
        build(gcs)
    assert raised.value.filename == URL
    assert raised.value.strerror == (
        f"the store has only 0 of {len(OLD) // 2} bytes that were sent; nothing was written"
    )
    assert (gcs.objects, gcs.uploads) == ({NAME: OLD}, {})


def test_what_a_build_costs(gcs, hundred_groups, monkeypatch):
    """Of 42 MB, what is new is sent, and the column read."""
    monkeypatch.setattr(gcs_adapter, "WHOLE_BYTES", 5 << 20)
    gcs.put("lake/day=1/groups.parquet", data := hundred_groups.read_bytes())
    url = "gs://lake/day=1/groups.parquet"
    report = pb.build(url, columns=["c3"], in_place=True, storage_options=gcs.options)
    groups = pb.inspect(hundred_groups, columns=["c3"]).row_groups
    column = sum(chunk.chunk_bytes for group in groups for chunk in group.columns)
    assert gcs.objects["lake/day=1/groups.parquet"].startswith(data)
    assert gcs.received == report.bytes_added == report.requests.bytes_up
    assert gcs.bytes_down <= column + (1 << 20)
    assert gcs.count() <= 105
    assert written(gcs) == APPEND


def test_an_orc_file(gcs, tmp_path):
    path = tmp_path / "local.orc"
    orc.write_table(pa.table({"int64": range(1000)}), path)
    gcs.put("lake/x.orc", path.read_bytes())
    pb.build("gs://lake/x.orc", columns=["int64"], in_place=True, storage_options=gcs.options)
    pb.build(path, columns=["int64"], in_place=True)
    assert gcs.objects["lake/x.orc"] == path.read_bytes()


PROPERTIES = {
    "cacheControl": "max-age=60",
    "contentDisposition": "inline",
    "contentEncoding": "identity",
    "contentLanguage": "de",
    "contentType": "application/x-parquet",
    "customTime": "2026-10-21T07:28:00Z",
    "metadata": {"who": "me", "ä": "ö"},
    "storageClass": "NEARLINE",
}


def test_what_is_said_of_an_object_is_kept(gcs, way):
    contexts = {"custom": {"team": {"value": "a", "createTime": "2026-10-21T07:28:00Z"}}}
    key = "projects/p/locations/l/keyRings/r/cryptoKeys/k"
    gcs.put(NAME, OLD, contexts=contexts, kmsKeyName=f"{key}/cryptoKeyVersions/7", **PROPERTIES)
    build(gcs)
    assert written(gcs) == way
    found = gcs.resources[NAME]
    assert {name: found[name] for name in PROPERTIES} == PROPERTIES
    assert found["contexts"] == {"custom": {"team": {"value": "a"}}}
    assert found["kmsKeyName"] == f"{key}/cryptoKeyVersions/1"


def test_an_object_without_a_type(gcs, way):
    build(gcs)
    assert written(gcs) == way
    found = gcs.resources[NAME]
    # What objects without a type are served as, too.
    assert found.get("contentType", "application/octet-stream") == "application/octet-stream"
    assert found.keys() & PROPERTIES.keys() <= {"contentType", "storageClass"}


def test_the_temporary_object_is_hidden_and_encrypted_like_the_old_one(gcs):
    gcs.put(NAME, OLD, kmsKeyName="k/cryptoKeyVersions/1", storageClass="COLDLINE")
    seen = {}

    def look():
        seen.update(gcs.resources)

    gcs.faults.append(Fault(kind="COMPOSE", do=look))
    build(gcs)
    (temporary,) = seen.keys() - {NAME}
    assert re.fullmatch(r"lake/day=1/\.x y%\.parquet\.[0-9a-f]{16}\.pbloom-tmp", temporary)
    assert seen[temporary]["kmsKeyName"] == "k/cryptoKeyVersions/1"
    assert seen[temporary]["storageClass"] == "COLDLINE"
    assert len(gcs.objects) == 1


# ------------------------------------------------------------------------------------------------
# What is refused


@pytest.mark.parametrize("hold", ["temporaryHold", "eventBasedHold"])
def test_a_hold(gcs, hold):
    gcs.put(NAME, OLD, **{hold: True})
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs)
    assert str(raised.value) == f"{URL}: not changed in place: it is under a hold"
    assert (gcs.objects, written(gcs)) == ({NAME: OLD}, ["LOOK"])


@pytest.mark.parametrize("by", ["bucket", "object"])
def test_retention(gcs, by):
    until = "2999-01-01T00:00:00.000Z"
    said = {"retentionExpirationTime": until}
    if by == "object":
        said = {"retention": {"mode": "Locked", "retainUntilTime": until}}
    gcs.put(NAME, OLD, **said)
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs)
    assert str(raised.value) == f"{URL}: not changed in place: it is retained until {until}"
    assert (gcs.objects, written(gcs)) == ({NAME: OLD}, ["LOOK"])


def test_where_new_objects_are_retained_there_is_no_temporary_one(gcs):
    gcs.put(NAME, OLD, retentionExpirationTime="2020-01-01T00:00:00.000Z")
    build(gcs)
    assert written(gcs) == WHOLE
    assert is_new(gcs.objects[NAME])


def test_a_store_without_generations(gcs):
    gcs.properties[NAME] = {}
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs)
    assert str(raised.value) == (
        f"{URL}: not changed in place: the store gives it no generation, by which to tell whether"
        " others have changed it"
    )


def test_without_google_auth(gcs, monkeypatch):
    for name in ("gcs_client", "gcs_adapter"):
        monkeypatch.delitem(sys.modules, f"parquet_bloom.storage.objects.{name}")
    monkeypatch.setitem(sys.modules, "google.auth.compute_engine", None)
    with pytest.raises(pb.UnsupportedError) as raised:
        build(gcs)
    assert str(raised.value) == (
        f"{URL}: to be replaced, needs google-auth, which is not installed:"
        " pip install 'parquet_bloom[gcs]'"
    )
    assert gcs.objects == {NAME: OLD}


@pytest.mark.parametrize("data", [OLD, gzip.compress(OLD)], ids=["plain", "compressed"])
def test_what_the_store_would_decompress_is_not_read(gcs, data):
    """It sends all of it, and other bytes than those that are stored."""
    gcs.put(NAME, data, contentEncoding="gzip")
    for verb in (build, lambda gcs: pb.inspect(URL, storage_options=gcs.options)):
        with pytest.raises(OSError, match="gzip") as raised:
            verb(gcs)
        assert raised.value.filename == URL
        assert raised.value.strerror == (
            "the store decompresses what has Content-Encoding: gzip, and sends no ranges of it: clear"
            " that, or set Cache-Control: no-transform"
        )
    assert gcs.objects == {NAME: data}


def test_what_the_store_must_not_decompress(gcs, tmp_path):
    gcs.put(NAME, OLD, contentEncoding="gzip", cacheControl="no-transform")
    build(gcs)
    assert gcs.objects == {NAME: made_locally(tmp_path)}
    assert gcs.resources[NAME]["contentEncoding"] == "gzip"


# ------------------------------------------------------------------------------------------------
# Others write meanwhile


@pytest.mark.parametrize("content", [OLD[::-1], OLD, None], ids=["other", "same", "gone"])
def test_what_others_write_is_not_lost(gcs, way, content):
    def other():
        if content is None:
            gcs.objects.pop(NAME, None)
            gcs.resources.pop(NAME, None)
        else:
            gcs.put(NAME, content, metadata={"by": "others"})

    for kind in dict.fromkeys(way):
        if kind == "DELETE":
            # Then it is written.
            continue
        gcs.clear()
        gcs.put(NAME, OLD)
        gcs.faults.append(Fault(kind=kind, do=other))
        with pytest.raises((pb.RewriteError, FileNotFoundError)) as raised:
            build(gcs)
        said = str(raised.value)
        if isinstance(raised.value, FileNotFoundError):
            assert content is None
            assert raised.value.strerror == "is no longer there; nothing was written"
        else:
            assert said == CHANGED, kind
        assert gcs.objects == ({} if content is None else {NAME: content}), kind
        assert content is None or gcs.resources[NAME]["metadata"] == {"by": "others"}
        assert gcs.uploads == {}


def test_what_others_say_of_the_object_is_not_lost(gcs, way):
    gcs.faults.append(
        Fault(kind=way[-2 if way == APPEND else -1], do=lambda: gcs.say(NAME, metadata={"a": "b"}))
    )
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs)
    assert str(raised.value) == CHANGED
    assert gcs.objects == {NAME: OLD}
    assert gcs.resources[NAME]["metadata"] == {"a": "b"}


def test_of_two_builds_one_wins(gcs, way):
    last = "COMPOSE" if way == APPEND else way[-1]
    gcs.faults.append(Fault(kind=last, skip=way.count(last) - 1, do=lambda: build(gcs)))
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs)
    assert str(raised.value) == CHANGED
    assert list(gcs.objects) == [NAME]
    assert is_new(gcs.objects[NAME])
    assert pb.validate(URL, storage_options=gcs.options).ok
    assert gcs.uploads == {}


def test_the_command_says_it_in_a_line(gcs):
    gcs.faults.append(Fault(kind="COMPOSE", do=lambda: gcs.put(NAME, OLD[::-1])))
    words = [
        word
        for name, value in gcs.options.items()
        for word in ("--storage-option", f"{name}={value}")
    ]
    result = outcome("build", URL, "--in-place", "-c", "int64", *words)
    assert (result.code, result.stdout, result.stderr) == (2, "", f"pbloom: {CHANGED}\n")


# ------------------------------------------------------------------------------------------------
# Stores that do not know conditions


def test_a_store_is_asked_once_whether_it_honours_conditions(unknown_store, gcs):
    asks = ["INSERT", "INSERT", "COMPOSE", "DELETE"]
    build(gcs)
    assert written(gcs) == [*asks, *APPEND]
    assert len(gcs.objects) == 1
    gcs.forget()
    pb.strip(URL, in_place=True, storage_options=gcs.options)
    assert written(gcs) == WHOLE


@pytest.mark.parametrize("kind", ["INSERT", "COMPOSE"])
def test_a_store_that_ignores_conditions_is_refused(unknown_store, gcs, kind):
    def lax():
        gcs.is_lax = True

    gcs.faults.append(Fault(kind=kind, do=lax))
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs)
    host = gcs.endpoint.removeprefix("http://")
    assert str(raised.value) == (
        f"{URL}: not changed in place: the store at {host} replaces objects whatever ifGenerationMatch"
        " says, so that what others write meanwhile would be lost: use unconditional if nobody else"
        " writes"
    )
    assert gcs.objects == {NAME: OLD}


def test_google_is_not_asked(unknown_store, gcs, monkeypatch, way):
    init = gcs_adapter.GoogleClient.__init__

    def of_google(client, *given):
        init(client, *given)
        client.is_google = True

    monkeypatch.setattr(gcs_adapter.GoogleClient, "__init__", of_google)
    # Where it is of no use.
    build(gcs, unconditional=True)
    assert written(gcs) == way


def test_unconditional(unknown_store, gcs, way):
    gcs.is_lax = True
    build(gcs, unconditional=True)
    assert is_new(gcs.objects[NAME])
    assert written(gcs) == (BESIDE if way == APPEND else [*way[:-1], "LOOK", way[-1]])
    assert gcs.objects.keys() == {NAME}


@pytest.mark.parametrize("kind", ["INSERT", "COMPOSE"])
def test_unconditional_looks_before_it_writes(unknown_store, gcs, kind):
    gcs.is_lax = True
    gcs.faults.append(Fault(kind=kind, do=lambda: gcs.put(NAME, OLD[::-1])))
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs, unconditional=True)
    assert str(raised.value) == CHANGED
    assert gcs.objects == {NAME: OLD[::-1]}


def test_unconditional_sends_the_conditions(gcs, way):
    """Of a store that honours them, nobody's version is lost."""
    last = "COMPOSE" if way == APPEND else way[-1]
    skip = 1 if way == APPEND else way.count(last) - 1
    if last != "PART":
        gcs.faults.append(Fault(kind=last, skip=skip, do=lambda: gcs.put(NAME, OLD[::-1])))
    else:
        gcs.faults.append(Fault(kind="LOOK", skip=1, do=lambda: gcs.put(NAME, OLD[::-1])))
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs, unconditional=True)
    assert str(raised.value) == CHANGED
    assert gcs.objects == {NAME: OLD[::-1]}


@pytest.mark.parametrize("rival", [OLD[::-1], bytes(len(OLD) + 5)], ids=["same size", "larger"])
@pytest.mark.parametrize("number", range(len(BESIDE)))
def test_unconditional_never_puts_the_end_after_what_others_write(
    unknown_store, gcs, tmp_path, monkeypatch, number, rival
):
    """Whenever they write it. Right before the last request it is lost, as is documented."""
    gcs.is_lax = True
    # A generation of a source is a condition, too, which not all look at.
    monkeypatch.setattr(gcs_adapter.GoogleAdapter, "_old_source", lambda adapter: {"name": KEY})
    kind, skip = BESIDE[number], BESIDE[:number].count(BESIDE[number])
    gcs.faults.append(Fault(kind=kind, skip=skip, do=lambda: gcs.put(NAME, rival)))
    last = BESIDE.index("DELETE") - 1
    if number < last:
        with pytest.raises(pb.RewriteError) as raised:
            build(gcs, unconditional=True)
        assert str(raised.value) == CHANGED
        assert gcs.objects == {NAME: rival}
        return
    build(gcs, unconditional=True)
    assert gcs.objects == {NAME: made_locally(tmp_path) if number == last else rival}


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("number", range(len(BESIDE)))
def test_unconditional_never_appends_twice(unknown_store, gcs, tmp_path, number, times):
    """When an answer is lost."""
    gcs.is_lax = True
    kind, skip = BESIDE[number], BESIDE[:number].count(BESIDE[number])
    gcs.faults.append(Lost(kind=kind, skip=skip, times=times))
    build(gcs, unconditional=True)
    assert gcs.objects == {NAME: made_locally(tmp_path)}


@pytest.mark.parametrize("field", ["size", "crc32c"])
def test_what_the_store_says_of_the_new_version_is_compared(gcs, monkeypatch, field):
    """Here it says that another object came of it."""
    compose = gcs_client.GoogleClient.compose

    def wrong(*given):
        return compose(*given) | {field: "AAAA"}

    monkeypatch.setattr(gcs_client.GoogleClient, "compose", wrong)
    said = said_of(gcs)
    expected = gcs.resources[NAME][field]
    assert said == (
        f"was written, but is not what it should be: {field}: expected {expected}, the store says AAAA"
    )
    assert gcs.objects.keys() == {NAME}


def test_a_generation_that_is_gone(gcs):
    """Some stores say so before they look at conditions."""
    gcs.faults.append(
        Fault(404, error("notFound"), kind="COMPOSE", do=lambda: gcs.put(NAME, OLD[::-1]))
    )
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs)
    assert str(raised.value) == CHANGED
    assert gcs.objects == {NAME: OLD[::-1]}


# ------------------------------------------------------------------------------------------------
# Failures


def error(reason):
    return json.dumps({"error": {"errors": [{"reason": reason}]}})


FAULTS = {
    "401": lambda kind: Fault(401, error("authError"), kind=kind, times=9),
    "409": lambda kind: Fault(409, error("conflict"), kind=kind),
    "412": lambda kind: Fault(412, error("conditionNotMet"), kind=kind),
    "429 once": lambda kind: Fault(429, error("rateLimitExceeded"), kind=kind),
    "503": lambda kind: Fault(503, error("backendError"), kind=kind, times=99),
    "cut body": lambda kind: Fault(kind=kind, cut=9),
    "cut off before": lambda kind: Lost(kind=kind, before=True),
    "lost answer": lambda kind: Lost(kind=kind),
    "all lost": lambda kind: Lost(kind=kind, times=99),
    "none done": lambda kind: Lost(kind=kind, times=99, before=True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_object_is_the_old_one_or_the_new_one_and_the_message_says_which(
    gcs, tmp_path, way, fault
):
    new = made_locally(tmp_path)
    for kind in dict.fromkeys(way):
        gcs.clear()
        gcs.put(NAME, OLD)
        gcs.faults[:] = [FAULTS[fault](kind)]
        try:
            build(gcs)
        except (pb.RewriteError, OSError) as raised:
            said = str(raised)
            assert "\n" not in said
            assert SECRET not in said
            assert "/session/" not in said
            if kind == "DELETE":
                assert "was written, but the temporary object day=1/.x y%.parquet." in said
                assert gcs.objects[NAME] == new
                continue
            assert NOTHING in said or "either the old version" in said, (kind, said)
            if NOTHING in said:
                assert gcs.objects == {NAME: OLD}, (kind, said)
        else:
            assert gcs.objects == {NAME: new}, kind
        assert gcs.objects[NAME] in (OLD, new)
        assert len(gcs.objects) == 1
        # An upload whose URL was lost stays, without a part.
        assert kind == "BEGIN" or gcs.uploads == {}, kind


def said_of(gcs, *faults):
    gcs.faults[:] = faults
    with pytest.raises(OSError, match=r"written|version|another") as raised:
        build(gcs)
    assert raised.value.filename == URL
    return raised.value.strerror


def test_the_messages(gcs):
    said = {
        fault: said_of(gcs, FAULTS[fault]("COMPOSE"))
        for fault in ("401", "409", "503", "none done")
    }
    assert said == {
        "401": "writing was refused (401 authError); nothing was written",
        "409": "the store answered 409 conflict; nothing was written",
        "503": "the store answered 503 backendError; nothing was written",
        "none done": "no answer: ConnectionError; nothing was written",
    }


def test_a_store_that_answers_something_else(gcs):
    said = said_of(gcs, Fault(502, "<html>Bad gateway</html>", kind="COMPOSE", times=99))
    assert said == "the store answered 502; nothing was written"
    said = said_of(gcs, Fault(200, "<html>Hello</html>", kind="LOOK", times=99))
    assert said == "no answer: JSONDecodeError; nothing was written"
    for body in ("{}", "[1]"):
        said = said_of(gcs, Fault(200, body, kind="LOOK"))
        assert said == "the answer is not one of Google's JSON API; nothing was written"


def test_a_store_that_takes_no_uploads_in_parts(gcs, monkeypatch):
    take(monkeypatch, "parts")
    said = said_of(gcs, Fault(200, "{}", kind="BEGIN"))
    assert said == "the answer is not one of Google's JSON API; nothing was written"
    assert gcs.objects == {NAME: OLD}


def test_a_temporary_object_that_cannot_be_removed(gcs, tmp_path):
    said = said_of(gcs, Fault(403, error("retentionPolicyNotMet"), kind="DELETE"))
    assert gcs.objects.pop(NAME) == made_locally(tmp_path)
    (left,) = gcs.objects
    assert said == (
        f"was written, but the temporary object {left.removeprefix('lake/')} could not be removed"
        " (403 retentionPolicyNotMet)"
    )


def test_a_lost_answer_and_an_object_that_cannot_be_looked_at(gcs):
    said = said_of(gcs, Lost(kind="COMPOSE", times=99), Fault(403, kind="LOOK", skip=1, times=99))
    new = gcs.objects[NAME]
    assert said == (
        "no answer came to the last request (ConnectionError), and the object cannot be looked at"
        f" (403): it is either the old version, of {len(OLD)} bytes, or the new one, of {len(new)} bytes"
    )
    assert is_new(new)


@pytest.mark.parametrize("content", [OLD[::-1], None], ids=["other size", "same size"])
def test_a_lost_answer_and_another_version(gcs, tmp_path, way, content):
    new = content or bytes(len(made_locally(tmp_path)))
    last = "COMPOSE" if way == APPEND else way[-1]
    skip = way.count(last) - 1
    said = said_of(
        gcs,
        Lost(kind=last, skip=skip, times=99),
        Lost(kind="STATUS", times=99),
        Fault(kind="LOOK", skip=1, do=lambda: gcs.put(NAME, new)),
    )
    assert said == (
        "no answer came to the last request (ConnectionError), and the object is another one by now,"
        f" of {len(new)} bytes"
    )
    assert gcs.objects == {NAME: new}


def test_a_request_that_may_still_be_done(gcs):
    """As what it needs cannot be removed."""
    said = said_of(
        gcs,
        Lost(kind="COMPOSE", times=99, before=True),
        Fault(403, error("forbidden"), kind="DELETE", times=9),
    )
    assert said == (
        "no answer came to the last request (ConnectionError), which cannot be cancelled: so far"
        " nothing was written"
    )


SIGNALS = {
    signal.SIGKILL: [*APPEND, "BEGIN", "PART"],
    # The command does not wait for the threads that write.
    signal.SIGINT: ["INSERT", "COMPOSE"],
}


@pytest.mark.parametrize(
    ("number", "kind"), [(number, kind) for number, kinds in SIGNALS.items() for kind in kinds]
)
def test_a_kill_leaves_the_old_object_or_the_new_one(gcs, tmp_path, number, kind):
    made = made_locally(tmp_path)
    small = kind not in APPEND
    options = [f"--storage-option={name}={value}" for name, value in gcs.options.items()]
    arguments = ["pbloom", "build", URL, "--in-place", "-c", "int64", *options]
    code = (
        "import sys\n"
        "from parquet_bloom.cli import main\n"
        "from parquet_bloom.storage.objects import conditions, gcs_adapter, gcs_sending\n"
        f"gcs_adapter.WHOLE_BYTES = {5 << 20 if small else 1000}\n"
        f"gcs_sending.SENT_BYTES = {len(OLD) // 2 if small else 1 << 20}\n"
        f"conditions._honouring[{gcs.endpoint!r}, 'lake'] = True\n"
        f"sys.argv = {arguments!r}\n"
        "main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    gcs.faults.append(Fault(kind=kind, do=lambda: process.send_signal(number)))
    _, said = process.communicate(timeout=30)
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert (process.returncode, said) == (130, "pbloom: interrupted\n")
    assert gcs.objects[NAME] in (OLD, made)
    left = gcs.objects.keys() - {NAME}
    assert all(is_left(name.rpartition("/")[2], 0, 0) for name in left)
    gcs.faults.clear()
    build(gcs)
    # Which finds only the object.
    (found,), errors = expand(["gs://lake/day=1/"], gcs.options)
    assert (str(found.path), errors) == (URL, [])
    assert pb.validate(URL, storage_options=gcs.options).ok


@pytest.mark.parametrize("by", ["options", "environment"])
def test_what_is_left_is_found_and_removed(gcs, monkeypatch, by):
    left = f"lake/day=1/.x y%.parquet.{'0' * 16}.pbloom-tmp"
    others = [f"lake/day=1/deeper/{left[11:]}", "lake/day=1/.x.parquet.pbloom-tmp"]
    for name in (left, *others):
        gcs.put(name, b"half")
    if by == "options":
        (found,) = ObjectFolder(Address.of("gs://lake/day=1/", gcs.options)).leftovers(0)
        assert (found.path, found.size) == (
            f"gs://{left.replace(' ', '%20').replace('%.', '%25.')}",
            4,
        )
        found.remove()
    else:
        # As an executor of Spark does.
        stores._store.cache_clear()
        monkeypatch.setenv("GOOGLE_BASE_URL", gcs.endpoint)
        monkeypatch.setenv("GOOGLE_BEARER_TOKEN", SECRET)
        batch = pa.record_batch({"path": ["gs://lake/day=1"]})
        rows = list(sweep(Request("clean_temp", CleanOptions(0.0, frozenset())), [batch]))
        assert [row["status"] for each in rows for row in each.to_pylist()] == ["removed"]
        pb.build(URL, columns=["int64"], in_place=True)
        assert is_new(gcs.objects[NAME])
        stores._store.cache_clear()
    assert gcs.objects.keys() == {NAME, *others}


def test_what_is_left_and_cannot_be_removed(gcs):
    gcs.put(f"lake/day=1/.x.{'0' * 16}.pbloom-tmp", b"half")
    (found,) = ObjectFolder(Address.of("gs://lake/day=1/", gcs.options)).leftovers(0)
    gcs.faults.append(Fault(403, kind="DELETE"))
    with pytest.raises(PermissionError) as raised:
        found.remove()
    assert raised.value.strerror == "removing was refused"
    assert list(ObjectFolder(Address.of("gs://lake/day=1/", gcs.options)).leftovers(1e9)) == []


METHODS = {
    "LOOK": "look",
    "INSERT": "insert",
    "COMPOSE": "compose",
    "DELETE": "delete",
    "BEGIN": "begin",
    "PART": "go_on",
}


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
def test_an_interrupt_leaves_the_old_object_or_the_new_one(
    gcs, tmp_path, monkeypatch, way, is_done
):
    for kind in dict.fromkeys(way):
        gcs.clear()
        gcs.put(NAME, OLD)
        method = getattr(gcs_client.GoogleClient, METHODS[kind])
        last = way.count(kind)
        calls = []

        def interrupted(client, *given, method=method, last=last, calls=calls):
            calls.append(given)
            if len(calls) < last:
                return method(client, *given)
            if len(calls) == last:
                if is_done:
                    method(client, *given)
                raise KeyboardInterrupt
            return method(client, *given)

        monkeypatch.setattr(gcs_client.GoogleClient, METHODS[kind], interrupted)
        with pytest.raises(KeyboardInterrupt):
            build(gcs)
        monkeypatch.setattr(gcs_client.GoogleClient, METHODS[kind], method)
        is_last = kind in ("COMPOSE", "PART") or (way == WHOLE and kind == "INSERT")
        is_written = kind == "DELETE" or (is_done and is_last)
        assert gcs.objects[NAME] == (made_locally(tmp_path) if is_written else OLD), kind
        assert len(gcs.objects) == 1 or (kind, is_done) == ("DELETE", False)
        assert (kind, is_done) == ("BEGIN", True) or gcs.uploads == {}


# ------------------------------------------------------------------------------------------------
# The store and its credentials


def account(gcs, **more):
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    return {
        "type": "service_account",
        "client_email": "a@example.org",
        "private_key_id": "1",
        "private_key": key.decode(),
        "token_uri": f"{gcs.endpoint}/token",
    } | more


def authorization(settings):
    headers = {}
    credentials = gcs_client._credentials(settings)
    credentials.before_request(
        gcs_client.google.auth.transport.requests.Request(), "GET", "", headers
    )
    return headers["authorization"]


def test_a_service_account(gcs, tmp_path):
    text = json.dumps(account(gcs))
    path = tmp_path / "account.json"
    path.write_text(text)
    for settings in (
        {"service_account_key": text},
        {"service_account": str(path)},
        {"application_credentials": str(path)},
    ):
        assert authorization(settings) == f"Bearer {SECRET}"
    assert gcs.count("TOKEN") == 3


def test_a_token_that_is_given():
    assert authorization({"bearer_token": "abc"}) == "Bearer abc"
    for word in ("true", "1", "True"):
        assert gcs_client._credentials({"bearer_token": "abc", "skip_signature": word}) is None


def test_a_user_that_has_logged_in(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert type(gcs_client._credentials({})).__module__.startswith("google.auth.compute_engine")
    login = tmp_path / ".config/gcloud/application_default_credentials.json"
    login.parent.mkdir(parents=True)
    said = {"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r"}
    login.write_text(json.dumps(said))
    assert gcs_client._credentials({}).refresh_token == "r"


@pytest.mark.parametrize("by", ["option", "environment"])
def test_a_service_account_that_names_the_server(gcs, tmp_path, monkeypatch, by):
    path = tmp_path / "account.json"
    said = {"gcs_base_url": gcs.endpoint, "disable_oauth": True, "client_email": ""}
    path.write_text(json.dumps(said | {"private_key": "", "private_key_id": ""}))
    options = {"allow_http": "true"}
    if by == "option":
        options["google_service_account_path"] = str(path)
    else:
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(path))
    pb.build(URL, columns=["int64"], in_place=True, storage_options=options)
    assert is_new(gcs.objects[NAME])


def test_each_request_has_the_token(gcs):
    build(gcs)
    signed = [asked.headers.get("authorization") for asked in gcs.asked if asked.kind != "LIST"]
    assert set(signed) == {f"Bearer {SECRET}"}


def test_credentials_that_give_no_token(gcs, monkeypatch):
    # As Google answers when the key was revoked.
    settings = {"base_url": gcs.endpoint, "service_account_key": json.dumps(account(gcs))}
    monkeypatch.setattr(gcs_client, "_settings", lambda options: settings)
    gcs.faults.append(Fault(400, json.dumps({"error": "invalid_grant"}), kind="TOKEN", times=99))
    with pytest.raises(PermissionError) as raised:
        build(gcs)
    assert raised.value.strerror == (
        "the credentials give no access (RefreshError); nothing was written"
    )
    assert gcs.objects == {NAME: OLD}


def test_crc32c_of_two_contents():
    def of(data):
        return base64.b64encode(google_crc32c.value(data).to_bytes(4, "big")).decode()

    for size in (0, 1, 5, 1000, 123_457):
        end = bytes(range(256)) * (size // 256) + OLD[: size % 256]
        assert gcs_adapter.joined_crc32c(of(OLD), of(end), size) == of(OLD + end)
