"""What only objects in Google Cloud Storage have: generations, uploads in parts, what is put together beside
the object, holds and retention, kinds of credentials. All else that is so when they are replaced is
tested in test_replacement."""

import base64
import gzip
import json
import re

import google_crc32c
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from make.object_server import SECRET, Fault, Lost
from make.replacements import (
    NAME,
    OLD,
    PLACE,
    WAYS,
    honours_conditions,
    in_json,
    is_new,
    made_locally,
    replaced,
)

import parquet_bloom as pb
from parquet_bloom.spark.cleaning import CleanOptions, sweep
from parquet_bloom.spark.plan import LakeFile
from parquet_bloom.spark.request import Request
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects import (
    gcs_adapter,
    gcs_client,
    stores,
)
from parquet_bloom.storage.objects.folders import ObjectFolder

KEY = "day=1/x y%.parquet"
URL = f"gs://{PLACE}"
# What is asked where conditions may be ignored.
BESIDE = WAYS["google append"].unconditionally
CHANGED = f"{URL}: changed by another writer while it was read: nothing was written; try again"


@pytest.fixture(autouse=True)
def old(gcs):
    gcs.put(NAME, OLD)
    honours_conditions(gcs)


@pytest.fixture(params=[name for name in WAYS if name.startswith("google")])
def way(request, monkeypatch):
    """How the new version comes to be."""
    return replaced(request, monkeypatch, request.param).way


@pytest.fixture
def parts(request, monkeypatch):
    """All is sent in parts: what is asked for that."""
    return list(replaced(request, monkeypatch, "google parts").way.asks)


def build(gcs, **options):
    return pb.build(URL, columns=["int64"], in_place=True, storage_options=gcs.options, **options)


def written(gcs):
    """What was asked to change an object, in order."""
    return [kind for kind in gcs.kinds() if kind not in ("GET", "LIST")]


# ------------------------------------------------------------------------------------------------
# What it becomes


def test_what_is_put_together_has_no_digest(gcs):
    build(gcs)
    assert gcs.resources[NAME]["componentCount"] == 2
    assert "md5Hash" not in gcs.resources[NAME]


@pytest.mark.parametrize("most", [None, 10_000], ids=["parts", "parts of parts"])
def test_what_is_large_is_sent_in_parts(gcs, parts, most):
    """Of which the store may keep less than was sent."""
    gcs.most = most
    build(gcs)
    assert gcs.objects == {NAME: made_locally()}
    if most is None:
        assert written(gcs) == parts
    else:
        assert gcs.count("PART") == -(-len(gcs.objects[NAME]) // most)
    assert gcs.uploads == {}
    assert "md5Hash" in gcs.resources[NAME]


@pytest.mark.parametrize("fault", ["lost answer", "cut off before", "last answer lost"])
def test_of_a_part_that_failed_the_rest_is_sent(gcs, parts, fault):
    again = ["PART"] if fault == "cut off before" else []
    at = 4 if fault == "last answer lost" else 2
    gcs.faults.append(Lost(kind="PART", skip=at - 2, before=fault == "cut off before"))
    build(gcs)
    assert is_new(gcs.objects[NAME])
    assert written(gcs) == [*parts[: at + 1], "STATUS", *again, *parts[at + 1 :]]


def test_a_lost_answer_to_an_earlier_part_leaves_no_doubt(gcs, parts):
    other = Fault(kind="PART", skip=1, do=lambda: gcs.put(NAME, OLD[::-1]))
    gcs.faults[:] = [Lost(kind="PART"), other]
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs)
    assert str(raised.value) == CHANGED
    assert (gcs.objects, gcs.uploads) == ({NAME: OLD[::-1]}, {})


def test_a_store_that_keeps_nothing_of_a_part(gcs, parts):
    gcs.most = 0
    with pytest.raises(OSError, match="has only") as raised:
        build(gcs)
    assert raised.value.filename == URL
    assert raised.value.strerror == (
        f"the store has only 0 of {len(OLD) // 2} bytes that were sent; nothing was written"
    )
    assert (gcs.objects, gcs.uploads) == ({NAME: OLD}, {})


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
    assert written(gcs) == list(way.asks)
    found = gcs.resources[NAME]
    assert {name: found[name] for name in PROPERTIES} == PROPERTIES
    assert found["contexts"] == {"custom": {"team": {"value": "a"}}}
    assert found["kmsKeyName"] == f"{key}/cryptoKeyVersions/1"


def test_an_object_without_a_type(gcs, way):
    build(gcs)
    assert written(gcs) == list(way.asks)
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
    assert written(gcs) == ["LOOK", "INSERT"]
    assert is_new(gcs.objects[NAME])


def test_a_store_without_generations(gcs):
    gcs.properties[NAME] = {}
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs)
    assert str(raised.value) == (
        f"{URL}: not changed in place: the store gives it no generation, so a concurrent change"
        " could go unnoticed"
    )


@pytest.mark.parametrize("data", [OLD, gzip.compress(OLD)], ids=["plain", "compressed"])
def test_what_the_store_would_decompress_is_not_read(gcs, data):
    """It sends all of it, and other bytes than those that are stored."""
    gcs.put(NAME, data, contentEncoding="gzip")
    for verb in (build, lambda gcs: pb.inspect(URL, storage_options=gcs.options)):
        with pytest.raises(OSError, match="gzip") as raised:
            verb(gcs)
        assert raised.value.filename == URL
        assert raised.value.strerror == (
            "the store decompresses objects with Content-Encoding: gzip, and serves no ranges of"
            " them: clear that, or set Cache-Control: no-transform"
        )
    assert gcs.objects == {NAME: data}


def test_what_the_store_must_not_decompress(gcs):
    gcs.put(NAME, OLD, contentEncoding="gzip", cacheControl="no-transform")
    build(gcs)
    assert gcs.objects == {NAME: made_locally()}
    assert gcs.resources[NAME]["contentEncoding"] == "gzip"


# ------------------------------------------------------------------------------------------------
# Others write meanwhile


def test_what_others_say_of_the_object_is_not_lost(gcs, way):
    gcs.faults.append(Fault(kind=way.last, do=lambda: gcs.say(NAME, metadata={"a": "b"})))
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs)
    assert str(raised.value) == CHANGED
    assert gcs.objects == {NAME: OLD}
    assert gcs.resources[NAME]["metadata"] == {"a": "b"}


# ------------------------------------------------------------------------------------------------
# Stores that do not know conditions


def test_unconditional_sends_the_conditions(gcs, way):
    """Of a store that honours them, nobody's version is lost."""
    if way.last != "PART":
        skip = way.unconditionally.count(way.last) - 1
        gcs.faults.append(Fault(kind=way.last, skip=skip, do=lambda: gcs.put(NAME, OLD[::-1])))
    else:
        gcs.faults.append(Fault(kind="LOOK", skip=1, do=lambda: gcs.put(NAME, OLD[::-1])))
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs, unconditional=True)
    assert str(raised.value) == CHANGED
    assert gcs.objects == {NAME: OLD[::-1]}


@pytest.mark.parametrize("rival", [OLD[::-1], bytes(len(OLD) + 5)], ids=["same size", "larger"])
@pytest.mark.parametrize("number", range(len(BESIDE)))
def test_unconditional_never_puts_the_end_after_what_others_write(gcs, monkeypatch, number, rival):
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
    assert gcs.objects == {NAME: made_locally() if number == last else rival}


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("number", range(len(BESIDE)))
def test_unconditional_never_appends_twice(gcs, number, times):
    """When an answer is lost."""
    gcs.is_lax = True
    kind, skip = BESIDE[number], BESIDE[:number].count(BESIDE[number])
    gcs.faults.append(Lost(kind=kind, skip=skip, times=times))
    build(gcs, unconditional=True)
    assert gcs.objects == {NAME: made_locally()}


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
        f"was written, but not correctly: {field}: expected {expected}, the store says AAAA"
    )
    assert gcs.objects.keys() == {NAME}


@pytest.mark.parametrize("unconditional", [False, True])
def test_the_end_is_put_after_the_version_that_was_read(gcs, monkeypatch, unconditional):
    """By its generation, which says it once: a condition of the source would say the same."""
    compose, first = gcs_client.GoogleClient.compose, []

    def composed(client, name, request, *given):
        first.append(request["sourceObjects"][0])
        return compose(client, name, request, *given)

    monkeypatch.setattr(gcs_client.GoogleClient, "compose", composed)
    source = {"name": KEY, "generation": gcs.resources[NAME]["generation"]}
    gcs.is_lax = unconditional
    build(gcs, unconditional=unconditional)
    assert first[0] == source


def test_a_generation_that_is_gone(gcs):
    """Some stores say so before they look at conditions."""
    gcs.faults.append(
        Fault(404, in_json("notFound"), kind="COMPOSE", do=lambda: gcs.put(NAME, OLD[::-1]))
    )
    with pytest.raises(pb.RewriteError) as raised:
        build(gcs)
    assert str(raised.value) == CHANGED
    assert gcs.objects == {NAME: OLD[::-1]}


# ------------------------------------------------------------------------------------------------
# Failures


def said_of(gcs, *faults):
    gcs.faults[:] = faults
    with pytest.raises(OSError, match=r"written|version|another") as raised:
        build(gcs)
    assert raised.value.filename == URL
    return raised.value.strerror


def test_a_store_that_answers_something_else(gcs):
    said = said_of(gcs, Fault(502, "<html>Bad gateway</html>", kind="COMPOSE", times=99))
    assert said == "the store answered 502; nothing was written"
    said = said_of(gcs, Fault(200, "<html>Hello</html>", kind="LOOK", times=99))
    assert said == "no answer: JSONDecodeError; nothing was written"
    for body in ("{}", "[1]"):
        said = said_of(gcs, Fault(200, body, kind="LOOK"))
        assert said == "the answer is not one of Google's JSON API; nothing was written"


def test_a_store_that_takes_no_uploads_in_parts(gcs, parts):
    said = said_of(gcs, Fault(200, "{}", kind="BEGIN"))
    assert said == "the answer is not one of Google's JSON API; nothing was written"
    assert gcs.objects == {NAME: OLD}


def test_a_temporary_object_that_cannot_be_removed(gcs):
    said = said_of(gcs, Fault(403, in_json("retentionPolicyNotMet"), kind="DELETE"))
    assert gcs.objects.pop(NAME) == made_locally()
    (left,) = gcs.objects
    assert said == (
        f"was written, but the temporary object {left.removeprefix('lake/')} could not be removed"
        " (403 retentionPolicyNotMet)"
    )


def test_a_request_that_may_still_be_done(gcs):
    """As what it needs cannot be removed."""
    said = said_of(
        gcs,
        Lost(kind="COMPOSE", times=99, before=True),
        Fault(403, in_json("forbidden"), kind="DELETE", times=9),
    )
    assert said == (
        "there was no answer to the last request (ConnectionError), which cannot be cancelled: so"
        " far"
        " nothing was written"
    )


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
        stores._opened.cache_clear()
        monkeypatch.setenv("GOOGLE_BASE_URL", gcs.endpoint)
        monkeypatch.setenv("GOOGLE_BEARER_TOKEN", SECRET)
        request = Request("clean_temp", CleanOptions(0.0))
        outcomes = sweep(request, [LakeFile("gs://lake/day=1")])
        assert [outcome.status for outcome in outcomes] == ["removed"]
        pb.build(URL, columns=["int64"], in_place=True)
        assert is_new(gcs.objects[NAME])
        stores._opened.cache_clear()
    assert gcs.objects.keys() == {NAME, *others}


def test_what_is_left_and_cannot_be_removed(gcs):
    gcs.put(f"lake/day=1/.x.{'0' * 16}.pbloom-tmp", b"half")
    (found,) = ObjectFolder(Address.of("gs://lake/day=1/", gcs.options)).leftovers(0)
    gcs.faults.append(Fault(403, kind="DELETE"))
    with pytest.raises(PermissionError) as raised:
        found.remove()
    assert raised.value.strerror == "removing was refused"
    assert list(ObjectFolder(Address.of("gs://lake/day=1/", gcs.options)).leftovers(1e9)) == []


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
