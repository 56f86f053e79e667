"""What only blobs in Azure have: blocks that stay or are left, leases, index tags, kinds of credentials. All
else that is so when they are replaced is tested in test_replacement."""

import json
import os
from base64 import b64decode, b64encode
from hashlib import md5
from urllib.parse import parse_qs, urlsplit

import pytest
from make.azure_server import KEY, TOKEN
from make.commands import outcome
from make.object_server import Fault, Lost
from make.replacements import (
    NAME,
    NOTHING,
    OLD,
    PLACE,
    honours_conditions,
    in_xml,
    is_new,
    made_locally,
    put_blocks,
)

import parquet_bloom as pb
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects import (
    azure_adapter,
    azure_client,
    replacement,
    sending,
)
from parquet_bloom.storage.traffic import PUT, Traffic

URL = f"az://{PLACE}"
# What a build asks to commit, besides HEAD, once it is known that the store honours conditions: of a
# blob that was sent as a whole, and of one that has blocks.
COPYING = ["TAGS", "BLOCKS", "COPY", "BLOCK", "COMMIT"]
NAMING = ["TAGS", "BLOCKS", "BLOCK", "COMMIT"]
WHOLE = ["TAGS", "PUT"]
CHANGED = f"{URL}: changed by another writer while it was read: nothing was written; try again"


@pytest.fixture(autouse=True)
def old(azure):
    azure.put(NAME, OLD)
    honours_conditions(azure)


@pytest.fixture
def unknown_store(azure, old):
    """It is not known whether it honours conditions."""
    replacement._ignored_in.clear()


def build(azure, **options):
    given = {"storage_options": azure.options} | options
    return pb.build(URL, columns=["int64"], in_place=True, **given)


def written(azure):
    """What was asked to change a blob, in order; blocks are sent at the same time."""
    kinds = " ".join(kind for kind in azure.kinds() if kind not in ("GET", "HEAD", "LIST"))
    return kinds.replace("BLOCK COPY", "COPY BLOCK").split()


# ------------------------------------------------------------------------------------------------
# What it becomes


def test_an_account_with_folders(azure, monkeypatch):
    """abfss: the account is in the URL, the requests are the same."""
    url = "abfss://lake@account.dfs.core.windows.net/day=1/x%20y%25.parquet"
    azure.has_tags = False
    honours_conditions(azure, "lake@account.dfs.core.windows.net")
    options = {name: value for name, value in azure.options.items() if name != "account_name"}
    pb.build(url, columns=["int64"], in_place=True, storage_options=options)
    assert is_new(azure.objects[NAME])
    assert written(azure) == COPYING


@pytest.mark.parametrize(
    "status",
    [(403, "CannotVerifyCopySource"), (500, "CannotVerifyCopySource"), (501, "NotImplemented")],
)
def test_a_store_that_does_not_copy_from_itself(azure, status, monkeypatch):
    """What stays goes through here, in blocks of the size of what is sent."""
    monkeypatch.setattr(azure_adapter, "SENT_BYTES", 50_000)
    azure.copy_refusal = status
    report = build(azure)
    assert azure.objects == {NAME: made_locally()}
    assert azure.received == report.requests.bytes_up == len(azure.objects[NAME])
    assert [len(data) for _, data in azure.blocks[NAME]][:2] == [len(OLD) // 2, len(OLD) // 2 + 1]


@pytest.mark.parametrize("name_bytes", [0, 19, 20, 48, 64])
@pytest.mark.parametrize("layout", ["append", "replace"])
def test_names_of_blocks_have_one_length(azure, name_bytes, layout):
    """Blocks whose names are so short that they could be somebody else's are not named again."""
    if name_bytes:
        put_blocks(azure, name_bytes)
    build(azure, layout=layout)
    assert azure.objects == {NAME: made_locally(layout)}
    is_named = name_bytes > 19 and layout == "append"
    assert written(azure) == (NAMING if is_named else COPYING)
    assert {len(b64decode(name)) for name, _ in azure.blocks[NAME]} == {
        name_bytes if name_bytes > 19 else 48
    }
    assert azure.staged == {}


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
    azure.faults.append(Fault(403, in_xml("AuthorizationPermissionMismatch"), kind="TAGS"))
    with pytest.raises(PermissionError) as raised:
        build(azure)
    assert raised.value.filename == URL
    assert raised.value.strerror == (
        "its index tags cannot be read and would be lost (403 AuthorizationPermissionMismatch):"
        " allow tags/read and tags/write, as the role Storage Blob Data Owner does, or make a SAS with"
        " t; nothing was written"
    )
    assert azure.objects == {NAME: OLD}


def test_tags_where_there_are_folders(azure):
    """Accounts with a hierarchical namespace have none, whoever may read them."""
    azure.properties[NAME] = {"x-ms-resource-type": "file"}
    azure.faults.append(Fault(403, in_xml("AuthorizationPermissionMismatch"), kind="TAGS"))
    build(azure)
    assert is_new(azure.objects[NAME])


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({"x-ms-blob-type": "PageBlob"}, "is a page blob, expected a block blob"),
        ({"x-ms-blob-type": "AppendBlob"}, "is an append blob, expected a block blob"),
        (
            {"x-ms-encryption-key-sha256": "x"},
            "blobs encrypted with a customer's key are read-only",
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
        ((412, "LeaseIdMissing"), "it is leased"),
        ((403, "AuthenticationFailed"), "the key, SAS or token is wrong, or has expired"),
        ((401, "InvalidAuthenticationInfo"), "the token is wrong, or has expired"),
        (
            (403, "AuthorizationPermissionMismatch"),
            "allow blobs/read and blobs/write, or make a SAS with rw",
        ),
        (
            (409, "BlobImmutableDueToPolicy"),
            "an immutability policy or a legal hold protects it",
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


# ------------------------------------------------------------------------------------------------
# Others write meanwhile


def shown(error):
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)


def test_blocks_that_others_discarded(azure):
    """Whoever replaces a blob discards blocks that come to nothing; a store may notice that first."""
    azure.faults.append(
        Fault(400, in_xml("InvalidBlockList"), kind="COMMIT", do=lambda: azure.put(NAME, OLD[::-1]))
    )
    with pytest.raises(pb.RewriteError) as raised:
        build(azure)
    assert str(raised.value) == CHANGED
    # Nothing is put back over what others know of.
    assert azure.count("COMMIT") == 1
    azure.put(NAME, OLD)
    azure.faults[:] = [Fault(400, in_xml("InvalidBlockList"), kind="COMMIT")]
    with pytest.raises(OSError, match="400 InvalidBlockList; nothing was written"):
        build(azure)


def words(azure):
    return [
        word
        for name, value in azure.options.items()
        for word in ("--storage-option", f"{name}={value}")
    ]


def test_stats_count_what_is_sent(azure):
    result = outcome("build", URL, "--in-place", "-c", "int64", "--stats", *words(azure))
    sent = len(azure.objects[NAME]) - len(OLD)
    assert f"{sent / 1024:.1f} KiB sent" in result.stderr
    kinds = "3 get, 3 head, 6 list, 3 put"
    assert f"{len(azure.asked)} requests to object stores ({kinds})" in result.stderr


# ------------------------------------------------------------------------------------------------
# Failures


@pytest.mark.parametrize("kind", ["TAGS", "BLOCKS"])
@pytest.mark.parametrize("has_blocks", [False, True], ids=["copied", "named"])
def test_what_is_no_xml(azure, kind, has_blocks):
    """What changes nothing and says that it is done is believed, whatever it says besides."""
    if has_blocks:
        put_blocks(azure)
    azure.faults.append(Fault(200, "{}", kind=kind))
    with pytest.raises(OSError, match="not as expected; nothing was written"):
        build(azure)
    assert azure.objects == {NAME: OLD}


def test_credentials_that_expire(azure):
    azure.faults.append(Fault(403, in_xml("ExpiredToken"), kind="COMMIT", times=2))
    with pytest.raises(PermissionError) as raised:
        build(azure)
    assert (raised.value.filename, raised.value.strerror) == (
        URL,
        "the credentials have expired (403 ExpiredToken): renew them; nothing was written",
    )


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
    azure.faults.append(Fault(503, in_xml("ServerBusy"), kind=kind, times=len(sending.PAUSES) + 1))
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
        Fault(503, kind="COMMIT", times=len(sending.PAUSES)),
    ]
    with pytest.raises(pb.RewriteError) as raised:
        build(azure)
    assert str(raised.value) == CHANGED
    assert azure.objects == {NAME: OLD[::-1]}


def test_a_lease_that_comes_in_the_midst(azure):
    azure.faults.append(Fault(412, in_xml("LeaseIdMissing"), kind="COMMIT", times=2))
    with pytest.raises(PermissionError) as raised:
        build(azure)
    assert raised.value.strerror == (
        "writing was refused (412 LeaseIdMissing): it is leased; blocks were left, which"
        " `pbloom clean-temp --uploads` discards; nothing was written"
    )
    assert azure.objects == {NAME: OLD}


def test_where_conditions_are_ignored_nothing_is_put_back(unknown_store, azure):
    azure.is_lax = True
    azure.faults.append(Fault(403, in_xml("AuthorizationFailure"), kind="COMMIT"))
    with pytest.raises(
        OSError, match="blocks were left, which `pbloom clean-temp --uploads` discards"
    ):
        build(azure, unconditional=True)
    assert azure.kinds().count("COMMIT") == 1


def test_blocks_of_others_with_names_of_another_length(azure):
    put_block(azure, 36)
    with pytest.raises(PermissionError) as raised:
        build(azure)
    assert raised.value.strerror == (
        "writing was refused (400 InvalidBlobOrBlock): blocks of another upload, in progress or"
        " left by a killed run, have names of another length: try again later, or discard those of"
        " killed builds with `pbloom clean-temp --uploads`; nothing was written"
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


@pytest.mark.parametrize("skip", [1, 2], ids=["check", "commit"])
@pytest.mark.parametrize("status", [403, 404, 503])
def test_a_blob_that_cannot_be_looked_at(azure, skip, status):
    azure.faults.append(Fault(status, in_xml("Some"), kind="HEAD", skip=skip, times=99))
    with pytest.raises(OSError, match="nothing was written") as raised:
        build(azure)
    answered = f"the store answered {status} Some"
    if status == 403:
        answered = "writing was refused (403 Some)"
    assert shown(raised.value) == f"{URL}: {answered}; {NOTHING}"
    assert azure.objects == {NAME: OLD}


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
            (variable, *_) = azure_client._VARIABLES[name]
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
    assert source.path == "/lake/day%3D1/x%20y%25.parquet"
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
        "az account get-access-token returned no token: run az login; nothing was written"
    )


def test_a_public_container(azure):
    """The store does not know why it should copy."""
    options = {"account_name": "account", "endpoint": azure.endpoint, "skip_signature": "true"}
    build(azure, storage_options=options)
    assert is_new(azure.objects[NAME])
    assert azure.received == len(azure.objects[NAME])


def test_the_emulator(azure, monkeypatch):
    monkeypatch.setenv("AZURITE_BLOB_STORAGE_URL", azure.endpoint)
    settings = azure_client.AzureSettings(Address.of(URL, {"use_emulator": "true"}))
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
        f"{URL}: not changed in place: with a session token of Fabric, objects are read-only"
    )


def test_where_a_blob_is(azure):
    def place(url, **options):
        settings = azure_client.AzureSettings(Address.of(url, options | {"token": TOKEN}))
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


SECRETS = (KEY, TOKEN, "sig=", "a%2Bb", "a+b")
REFUSED = {
    "403": {"status": 403, "body": in_xml("AuthorizationFailure"), "times": 99},
    "409": {"status": 409, "body": in_xml("BlobBeingRehydrated"), "times": 99},
}


@pytest.mark.parametrize("kind", ["key", "sas", "token"])
def test_secrets_are_in_no_message(azure, tmp_path, kind):
    options = {"account_name": "account", "endpoint": azure.endpoint}
    options |= credentials(azure, tmp_path)[kind]
    for each in COPYING:
        for fault in (
            *(Fault(kind=each, **given) for given in REFUSED.values()),
            Lost(kind=each, times=99, before=True),
        ):
            azure.put(NAME, OLD)
            azure.faults[:] = [fault]
            try:
                build(azure, storage_options=options)
            except OSError as error:
                text = f"{shown(error)} {error!r}"
                assert not [word for word in SECRETS if word in text]
