"""Objects in stores: versions, failures, listings, schemes, and what nobody must see."""

import html
import json
import os
import pickle
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote, urlencode

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, ROOT
from make.commands import PATIENCE_SECONDS, outcome
from make.kms_lab import LabKms
from make.kms_lab import write as write_encrypted
from make.object_server import SECRET, Fault
from obstore.exceptions import GenericError

import parquet_bloom as pb
from parquet_bloom import parallel
from parquet_bloom.render.wording import size
from parquet_bloom.storage import open_source, with_options
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.left_out import LeftOut
from parquet_bloom.storage.objects import gcs_client, read_ahead, requests, s3_client, sending
from parquet_bloom.storage.objects.folders import ObjectFolder
from parquet_bloom.storage.objects.object_source import ObjectSource
from parquet_bloom.storage.objects.read_ahead import GAP_BYTES, PIECE_BYTES, join_ranges
from parquet_bloom.storage.paths import expand
from parquet_bloom.storage.traffic import GET, HEAD, Traffic
from parquet_bloom.tables.ends import sizes_of

FIXTURE = FIXTURES / "pyarrow_filters.parquet"
NAME = "lake/day=1/x.parquet"
URL = f"s3://{NAME}"


@pytest.fixture
def store(server):
    server.put(NAME, FIXTURE.read_bytes())
    return server


def opened(store, url=URL):
    return open_source(with_options(url, store.options))


def words(store, *more):
    """Options of a command that reach the store."""
    given = [f"{name}={value}" for name, value in {**store.options, **dict(more)}.items()]
    return [word for each in given for word in ("--storage-option", each)]


@contextmanager
def failing(error, message):
    with pytest.raises(error) as raised:
        yield
    found = raised.value
    assert f"{found.filename}: {found.strerror}" == message
    assert "\n" not in found.strerror


# ------------------------------------------------------------------------------------------------
# The version that was opened

LONG = bytes(range(256)) * 4096


@pytest.fixture(params=["conditions", "no conditions", "no ETags"])
def other(request, server):
    """Stores that look at If-Match, that do not, and one without ETags."""
    server.has_conditions = request.param == "conditions"
    server.has_etags = request.param != "no ETags"
    server.put("lake/long", LONG)
    return server


def test_reads_are_of_one_version(other):
    source = opened(other, "s3://lake/long")
    assert source.read_at(5, 10) == LONG[5:15]
    other.put("lake/long", LONG[::-1])
    with failing(OSError, "s3://lake/long: changed while it was read: read it again"):
        source.read_at(5, 10)
    source.will_read([(0, 100)])
    with failing(OSError, "s3://lake/long: changed while it was read: read it again"):
        source.read_at(0, 100)
    with pytest.raises(pb.RewriteError, match="changed while it was read"):
        source.check_unchanged()


def test_a_shorter_object_is_another(other):
    source = opened(other, "s3://lake/long")
    other.put("lake/long", b"short")
    with failing(OSError, "s3://lake/long: changed while it was read: read it again"):
        source.read_at(1000, 10)


def test_every_request_names_the_version(store, hundred_groups):
    store.put("lake/groups.parquet", hundred_groups.read_bytes())
    pb.validate("s3://lake/groups.parquet", storage_options=store.options)
    first, *others = store.asked
    assert first.if_match is None
    assert {each.if_match for each in others} == {store.etag("lake/groups.parquet")}


@pytest.mark.parametrize("verb", ["probe", "validate", "build"])
def test_a_change_in_the_midst_ends_the_verb(store, hundred_groups, verb):
    """And nothing is said about what the file was or is."""
    data = hundred_groups.read_bytes()
    store.put("lake/g.parquet", data)
    change = Fault(skip=1, do=lambda: store.put("lake/g.parquet", data + b"PAR1"))
    store.faults.append(change)
    verbs = {
        "probe": lambda: pb.probe("s3://lake/g.parquet", "s", ["x"], storage_options=store.options),
        "validate": lambda: pb.validate("s3://lake/g.parquet", storage_options=store.options),
        "build": lambda: pb.build(
            "s3://lake/g.parquet",
            columns=["c1"],
            dry_run=True,
            in_place=True,
            storage_options=store.options,
        ),
    }
    with failing(OSError, "s3://lake/g.parquet: changed while it was read: read it again"):
        verbs[verb]()


def test_an_object_that_was_replaced_since_it_was_listed_is_opened(store):
    (found,), _ = expand(["s3://lake/day=1"], store.options)
    data = (FIXTURES / "pyarrow_types.parquet").read_bytes()
    store.put(NAME, data)
    assert open_source(found.path).size == len(data)


def test_one_that_is_gone_since_is_not(store):
    (found,), _ = expand(["s3://lake/day=1"], store.options)
    store.objects.clear()
    with failing(FileNotFoundError, f"{URL}: no such object"):
        open_source(found.path)


@pytest.mark.parametrize("data", [b"", b"P", bytes(300_000)])
def test_any_size_is_opened(server, data):
    server.put("lake/x", data)
    source = opened(server, "s3://lake/x")
    assert (source.size, source.read_at(0, len(data))) == (len(data), data)
    with pytest.raises(pb.FormatError, match=f"bytes 0 to {len(data) + 1}: expected"):
        source.read_at(0, len(data) + 1)
    with pytest.raises(pb.NotSupportedFileError):
        pb.open("s3://lake/x", storage_options=server.options)


# ------------------------------------------------------------------------------------------------
# Failures


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_what_may_pass_is_asked_again(store, status):
    store.faults.append(Fault(status, times=2))
    report = pb.inspect(URL, storage_options=store.options)
    assert report.row_groups == pb.inspect(FIXTURE).row_groups
    assert (report.requests.retries, report.requests.get) == (2, store.count())


@pytest.mark.parametrize("cut", [0, 1, 1000])
def test_a_body_that_was_cut_is_asked_for_again(store, cut):
    store.faults.append(Fault(cut=cut, times=2))
    report = pb.inspect(URL, storage_options=store.options)
    assert report.row_groups == pb.inspect(FIXTURE).row_groups
    assert report.requests.retries == 2


SLOW = "<Error><Code>SlowDown</Code><Message>Please\nreduce</Message></Error>"
EXPIRED = "<Error><Code>ExpiredToken</Code><Message>The token has expired.</Message></Error>"
DENIED = "<Error><Code>AccessDenied</Code></Error>"
WRONG_KEY = "<Error><Code>SignatureDoesNotMatch</Code></Error>"
NO_BUCKET = "<Error><Code>NoSuchBucket</Code></Error>"
KEYS = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or the storage option"
    " skip_signature=true for a public bucket"
)

NO_KEY = (
    "<Error><Code>InvalidRequest</Code><Message>The object was stored using a form of Server Side"
    " Encryption. The correct parameters must be provided to retrieve the object.</Message></Error>"
)
SSE_C = (
    "is encrypted with a customer's key (SSE-C): to read it, set the storage option"
    " server_side_encryption=sse-c and the storage option sse_customer_key_base64=KEY (400 InvalidRequest)"
)

REFUSALS = [
    (503, SLOW, OSError, "the store answered 503 SlowDown: Please reduce", 4),
    (500, "", OSError, "the store answered 500 Internal Server Error", 4),
    (
        400,
        EXPIRED,
        PermissionError,
        "the credentials have expired (400 ExpiredToken): renew them",
        1,
    ),
    (
        403,
        DENIED,
        PermissionError,
        "reading was refused (403 AccessDenied): the permissions s3:GetObject and s3:ListBucket are needed",
        1,
    ),
    (
        403,
        WRONG_KEY,
        PermissionError,
        (
            "reading was refused (403 SignatureDoesNotMatch): the secret is not that of the access key, or the"
            " clock of this machine is wrong"
        ),
        1,
    ),
    (
        401,
        "",
        PermissionError,
        (
            "reading was refused (401 Unauthorized): the keys that are set are not known there, and what answers at"
            " HOST gives no code of a store; the storage option endpoint=URL names another host"
        ),
        1,
    ),
    (
        400,
        "<Error><Code>InvalidToken</Code></Error>",
        PermissionError,
        (
            "reading was refused (400 InvalidToken): the session token is none of this access key: set"
            " AWS_SESSION_TOKEN, or the storage option session_token, to the one that came with the key, or to"
            " nothing if none did"
        ),
        1,
    ),
    (404, NO_BUCKET, FileNotFoundError, "no bucket lake", 1),
    (
        301,
        "",
        OSError,
        "the bucket is in another region: set AWS_REGION, or the storage option region=NAME",
        1,
    ),
    (
        400,
        "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-south-2</Region></Error>",
        OSError,
        "the bucket is in the region eu-south-2: set AWS_REGION, or the storage option region=eu-south-2",
        1,
    ),
    (400, "<Error><Code>Strange</Code></Error>", OSError, "the store answered 400 Strange", 1),
    (
        400,
        "<Error><Code>InvalidArgument</Code><Message>S3 API Requests must be made to API&#32;port.</Message></Error>",
        OSError,
        "the store answered 400 InvalidArgument: S3 API Requests must be made to API port",
        1,
    ),
    (
        403,
        "<Error><Code>InvalidObjectState</Code><Message>not valid for its class</Message></Error>",
        PermissionError,
        "is archived, and cannot be read until it is restored (403 InvalidObjectState)",
        1,
    ),
    (
        400,
        NO_KEY,
        PermissionError,
        SSE_C,
        1,
    ),
]


@pytest.mark.parametrize(
    ("status", "body", "error", "message", "times"), REFUSALS, ids=[each[3] for each in REFUSALS]
)
def test_refusals_are_one_line(store, status, body, error, message, times):
    store.faults.append(Fault(status, body, times=10))
    message = message.replace("HOST", f"127.0.0.1:{store.port}")
    with failing(error, f"{URL}: {message}"):
        pb.inspect(URL, storage_options=store.options)
    assert store.count() == times


@pytest.mark.parametrize(
    "said", [f"no {SECRET} here", "no a=b", "see https://h/x", "x" * 32, "of c2VjcmV0dG9rZW4"]
)
def test_what_a_store_says_of_secrets_is_not_shown(store, said):
    store.faults.append(Fault(400, f"<Error><Code>Odd</Code><Message>{said}</Message></Error>"))
    options = {**store.options, "session_token": "c2VjcmV0dG9rZW4"}
    with failing(OSError, f"{URL}: the store answered 400 Odd"):
        pb.inspect(URL, storage_options=options)


@pytest.mark.parametrize("variable", ["AWS_ACCESS_KEY_ID", "AWS_PROFILE"])
def test_keys_of_the_environment_that_are_refused_are_not_asked_for(monkeypatch, variable):
    """What answers to HEAD never has a code of a store."""
    address = Address.of(URL, {"endpoint": "http://h:9"})
    error = GenericError("response error: status code: 403 Forbidden: ")
    assert requests._failure(address, error, GET).strerror.endswith(KEYS)
    monkeypatch.setenv(variable, "x")
    unknown = "reading was refused (403 Forbidden): the keys that are set are not known there"
    assert requests._failure(address, error, HEAD).strerror == (
        f"{unknown}, or the permissions s3:GetObject and s3:ListBucket are needed"
    )
    assert requests._failure(address, error, GET).strerror == (
        f"{unknown}, and what answers at h:9 gives no code of a store; the storage option endpoint=URL"
        " names another host"
    )


BROKEN = "has a line break or another control character, expected one line"


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_REGION"])
def test_what_ends_in_a_line_break_goes_into_no_header(monkeypatch, name):
    """As secrets of CI do, at which obstore panics: that is no Exception."""
    monkeypatch.setenv(name, "abc\n")
    with failing(OSError, f"{URL}: {name}: {BROKEN}"):
        pb.inspect(URL, storage_options={"endpoint": "http://h:9"})
    monkeypatch.setenv(name, "abc")
    option = name.removeprefix("AWS_").lower()
    with failing(OSError, f"{URL}: {option}: {BROKEN}"):
        pb.inspect(URL, storage_options={"endpoint": "http://h:9", option: "abc\r"})


@pytest.mark.parametrize("verb", ["build", "add", "remove"])
def test_an_index_that_may_not_be_written(s3, verb):
    """Whoever may read is not told that reading was refused."""
    for name in ("x", "y"):
        s3.put(f"lake/{name}.parquet", FIXTURE.read_bytes())
    options = words(s3)
    index = ("--index", "s3://lake/i")
    if verb != "build":
        built = outcome("index", "build", *index, "-c", "int64", "s3://lake/x.parquet", *options)
        assert built.code == 0, built
    s3.faults.append(Fault(403, DENIED, kind="PUT", times=100))
    column = ("-c", "int64") if verb == "build" else ()
    name = "s3://lake/x.parquet" if verb == "remove" else "s3://lake/y.parquet"
    run = outcome("index", verb, *index, *column, name, *options)
    assert run.code == 2
    assert run.complaint.startswith("s3://lake/i")
    said = "writing was refused (403 AccessDenied): the permission s3:PutObject is needed"
    assert run.complaint.partition(": ")[2] == said


@pytest.mark.parametrize("body", [DENIED, ""], ids=["denied", "wordless"])
@pytest.mark.parametrize("option", ["skip_signature", "aws_skip_signature"])
def test_who_asked_not_to_sign_is_not_told_to(store, body, option):
    store.faults.append(Fault(403, body))
    said = "requests are not signed, because of the storage option skip_signature"
    code = "403 AccessDenied" if body else "403 Forbidden"
    with failing(PermissionError, f"{URL}: reading was refused ({code}): {said}"):
        pb.inspect(URL, storage_options={**store.options, option: "true"})


def test_a_name_that_is_neither_an_object_nor_a_folder(store):
    run = outcome("inspect", "s3://lake/evv", *words(store))
    assert (run.code, run.complaint) == (2, "s3://lake/evv: no such object or folder")


def test_a_token_that_expires_in_the_midst(store, hundred_groups):
    store.put("lake/g.parquet", hundred_groups.read_bytes())
    store.faults.append(Fault(400, EXPIRED, times=100, skip=2))
    run = outcome("inspect", "s3://lake/g.parquet", *words(store))
    assert (run.code, run.complaint) == (
        2,
        "s3://lake/g.parquet: the credentials have expired (400 ExpiredToken): renew them",
    )


def test_nobody_listens(store):
    options = {**store.options, "endpoint": "http://127.0.0.1:1"}
    problem = "no answer from 127.0.0.1:1: Connection refused; the storage option endpoint=URL names another host"
    with failing(OSError, f"{URL}: {problem}"):
        pb.inspect(URL, storage_options=options)


def test_a_certificate_that_nobody_trusts_is_no_missing_host(store):
    said = "Generic S3 error: HTTP error: error sending request\n\nDebug source:\nInvalidCertificate(Other)"
    address = with_options(URL, {**store.options, "endpoint": "https://user:secret@minio.lan:9000"})
    found = requests._failure(Address.of(address), GenericError(said), GET)
    assert (found.filename, found.strerror) == (
        URL,
        (
            "the certificate of minio.lan:9000 is not trusted: if it must be, set the storage option"
            " allow_invalid_certificates=true"
        ),
    )


def test_a_server_without_tls_is_no_missing_host(store, monkeypatch):
    """Nor does asking again help."""
    # Not of the module itself: threads of others sleep meanwhile.
    monkeypatch.setattr(sending, "time", SimpleNamespace())
    problem = "what answers does not speak TLS: expected http:// in place of https://"
    endpoint = store.endpoint.replace("http:", "https:")
    with failing(OSError, f"{URL}: no answer from 127.0.0.1:{store.port}: {problem}"):
        pb.inspect(URL, storage_options={**store.options, "endpoint": endpoint})
    with failing(OSError, f"{endpoint}/x.parquet: no answer: {problem}"):
        pb.inspect(f"{endpoint}/x.parquet")


def test_a_server_without_ranges(server):
    server.put("lake/x.parquet", FIXTURE.read_bytes())
    server.has_ranges = False
    url = f"{server.endpoint}/lake/x.parquet"
    with failing(OSError, f"{url}: the server sends no ranges of bytes"):
        pb.inspect(url)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"regoin": SECRET}, "no storage option regoin; did you mean region?"),
        (
            {"versionId": SECRET},
            "no storage option versionid; the newest version is read; a presigned https:// URL reads another one",
        ),
        (
            {"timeout": SECRET * 2},
            "the storage option timeout=…: expected a duration, such as 30s",
        ),
        ({"allow_http": SECRET * 2}, "the storage option allow_http=…: expected true or false"),
        (
            {"conditional_put": SECRET * 2},
            "the storage option conditional_put=…: expected S3PutConditional",
        ),
    ],
)
def test_wrong_options(store, given, message):
    with pytest.raises(OSError, match=f"^\\[Errno 22\\] {message}") as raised:
        pb.inspect(URL, storage_options={**store.options, **given})
    assert SECRET not in str(raised.value)


def test_without_obstore(monkeypatch):
    for name in list(sys.modules):
        if name.startswith("parquet_bloom.storage.objects"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.setitem(sys.modules, "obstore.exceptions", None)
    for url, extra in (("s3://b/k", "s3"), ("gs://b/k", "gcs"), ("abfss://c@a/k", "azure")):
        with pytest.raises(pb.UnsupportedError) as raised:
            pb.open(url)
        assert str(raised.value) == (
            f"{url}: needs obstore, which is not installed: pip install 'parquet-bloom[{extra}]'"
        )
    run = outcome("inspect", "s3://b/folder/")
    assert "pip install 'parquet-bloom[s3]'" in run.complaint


FORK = """
import os, sys
import parquet_bloom as pb
options = dict(each.split("=") for each in sys.argv[2:])
{before}
child = os.fork()
if child == 0:
    try:
        print(pb.inspect(sys.argv[1], storage_options=options).num_filters, flush=True)
    except OSError as error:
        print(error.strerror, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.parametrize("used_before", [False, True])
def test_a_process_that_was_forked(store, used_before):
    """A child of a process that used obstore must not wait for ever."""
    before = "pb.inspect(sys.argv[1], storage_options=options)" if used_before else ""
    given = [f"{name}={value}" for name, value in store.options.items()]
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK.format(before=before), URL, *given],
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert run.stdout.strip() == (
        "object stores cannot be used in a process that was forked after its parent used them: start"
        " processes by spawn or forkserver"
        if used_before
        else str(pb.inspect(FIXTURE).num_filters)
    )


# ------------------------------------------------------------------------------------------------
# Folders and globs

OBJECTS = [
    "lake/a.parquet",
    "lake/b.orc",
    "lake/day=1/c.parquet",
    "lake/day=1/notes.txt",
    "lake/_tmp/d.parquet",
    "lake/_d=1/e.parquet",
    "lake/.hidden.parquet",
    "lake/deep/er/f%2F g.pq",
    "lakes/h.parquet",
]


@pytest.fixture
def tree(server):
    for name in OBJECTS:
        server.put(f"bucket/{name}", b"data")
    server.put("bucket/lake/mark.parquet/", b"")
    return server


FOUND = [
    ("lake", ["_d=1/e.parquet", "a.parquet", "b.orc", "day=1/c.parquet", "deep/er/f%2F g.pq"]),
    ("lake/day=1/", ["c.parquet"]),
    ("lake/*.parquet", ["a.parquet"]),
    ("lake/day=*", ["c.parquet"]),
    ("lake/*/*.parquet", ["_d=1/e.parquet", "_tmp/d.parquet", "day=1/c.parquet"]),
    ("lake/**/*.pq", ["deep/er/f%2F g.pq"]),
    ("l*/[ah].parquet", ["a.parquet", "h.parquet"]),
    ("lake/day=1/notes.*", ["notes.txt"]),
]


@pytest.mark.parametrize(("name", "places"), FOUND, ids=[name for name, _ in FOUND])
@pytest.mark.parametrize("page", [1000, 2])
def test_listings(tree, name, places, page):
    tree.page = page
    inputs, errors = expand([f"s3://bucket/{name}"], tree.options)
    assert errors == []
    ends = sorted(str(each.place) for each in inputs)
    assert ends == sorted(Path(place).name if "*" in name else place for place in places)
    for each in inputs:
        assert each.path.key.endswith(str(each.place))
        assert each.path.listed.size == 4
        tree.forget()
        assert open_source(each.path).read_at(0, 4) == b"data"
        assert len(tree.asked) == 1


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        (
            "deep/*.pq",
            "; there is s3://bucket/lake/deep/er/f%252F%20g.pq: name the folder"
            + " s3://bucket/lake/deep/ or 's3://bucket/lake/deep/**/*.pq'",
        ),
        ("deep/*.orc", ""),
        ("none/*.pq", ""),
    ],
)
def test_files_deeper_than_a_glob_are_named(tree, name, hint):
    _, (error,) = expand([f"s3://bucket/lake/{name}"], tree.options)
    assert error.strerror == f"no Parquet or ORC files{hint}"
    assert tree.count("LIST") == 2
    _, (error,) = expand(["s3://bucket/none/?region=x"], tree.options)
    assert error.strerror == "no Parquet or ORC files"
    assert tree.count("LIST") == 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lake", [".hidden.parquet", "_tmp/d.parquet", "day=1/notes.txt"]),
        ("lake/**", [".hidden.parquet"]),
        ("lake/*.parquet", []),
    ],
)
def test_what_is_left_out_because_of_its_name(tree, name, expected):
    left_out = LeftOut()
    expand([f"s3://bucket/{name}"], tree.options, left_out)
    assert left_out.paths == [f"s3://bucket/lake/{place}" for place in expected]


def test_the_account_of_a_run_on_spark_is_none_of_the_lake(tree):
    for name in ("_runs/a b/started.json", "_runs/a b/plan.json", "run_id=a b/task-000000.parquet"):
        tree.put(f"bucket/lake/_pbloom/{name}", b"some")
    left_out = LeftOut()
    expand(["s3://bucket/lake"], tree.options, left_out)
    assert len(left_out.paths) == 6
    assert not any("_pbloom" in path for path in left_out.besides([]))


def test_a_name_with_a_suffix_is_not_looked_for(tree):
    (found,), _ = expand(["s3://bucket/lake/nothing.parquet"], tree.options)
    assert (found.path, tree.asked) == ("s3://bucket/lake/nothing.parquet", [])


@pytest.mark.parametrize("name", ["nothing/", "lake/*.avro", "nothing/**"])
def test_nothing_there(tree, name):
    inputs, (error,) = expand([f"s3://bucket/{name}"], tree.options)
    assert inputs == []
    assert (error.filename, error.strerror) == (f"s3://bucket/{name}", "no Parquet or ORC files")


def test_a_listing_that_breaks_off_begins_again(tree):
    tree.page = 2
    tree.faults.append(Fault(503, kind="LIST", skip=1))
    inputs, _ = expand(["s3://bucket/lake"], tree.options)
    assert len(inputs) == 5


def test_names_in_a_folder_whose_listing_breaks_off(tree):
    tree.page = 2
    folder = ObjectFolder(Address.of("s3://bucket/lake", tree.options))
    whole = sorted(folder.names_in(""))
    tree.faults.append(Fault(503, kind="LIST", skip=1))
    assert sorted(folder.names_in("")) == whole
    assert len(whole) > 2
    tree.faults.append(Fault(503, kind="LIST"))
    assert folder.has_folder("day=1")
    assert not folder.has_folder("day=2")


def test_each_page_of_a_listing_is_counted(tree):
    for number in range(2500):
        tree.put(f"bucket/many/{number:04}", b"data")
    folder = ObjectFolder(Address.of("s3://bucket", tree.options))
    tree.forget()
    assert len(folder.entries("many")) == len(folder.names_in("many")) == 2500
    assert folder.requests.list == tree.count("LIST") == 6


def test_folders_take_pages_of_a_listing_too(tree):
    for number in range(2500):
        tree.put(f"bucket/many/{number:04}/x", b"data")
    folder = ObjectFolder(Address.of("s3://bucket", tree.options))
    tree.forget()
    assert folder.entries("many") == []
    assert folder.requests.list == tree.count("LIST") == 3


def test_sizes_of_objects_by_any_of_their_urls(tree):
    query = urlencode(tree.options)
    paths = [f"{name}?{query}" for name in ("S3://bucket/lake/a.parquet", "s3://bucket/nothing")]
    assert sizes_of(paths) == [4, None]


def test_a_listing_that_is_refused(tree):
    tree.faults.append(Fault(403, DENIED, kind="LIST"))
    run = outcome("inspect", "s3://bucket/lake", *words(tree))
    assert (run.code, run.complaint) == (
        2,
        (
            "s3://bucket/lake: reading was refused (403 AccessDenied): the permissions s3:GetObject and"
            " s3:ListBucket are needed"
        ),
    )


def test_several_stores_in_one_command(store, tmp_path):
    url = f"{store.endpoint}/{NAME}?signature={SECRET}"
    names = [FIXTURE, url, f"{URL}?endpoint_override=127.0.0.1:{store.port}&scheme=http&region=x"]
    names[2] += f"&access_key=KEY&secret_key={SECRET}"
    run = outcome("inspect", "--json", "--stats", *names)
    documents = [json.loads(line) for line in run.stdout.splitlines()]
    shown = [each["path"] for each in documents]
    assert shown == [str(FIXTURE), f"{store.endpoint}/{NAME}", URL]
    assert [each["row_groups"] for each in documents] == [documents[0]["row_groups"]] * 3
    assert run.stderr == (
        "pbloom: 2 requests to object stores (2 get), 64.0 KiB received, 0 retries\n"
    )
    asked = [(each.path, "X-Amz" in str(each.headers) or each.headers) for each in store.asked]
    assert len(asked) == 2


# ------------------------------------------------------------------------------------------------
# Schemes


def test_schemes_of_s3(store):
    for scheme in ("s3", "s3a", "s3n", "S3"):
        report = pb.inspect(f"{scheme}://{NAME}", storage_options=store.options)
        assert report.num_filters == pb.inspect(FIXTURE).num_filters


def test_azure_has_no_suffixes(store):
    """A HEAD and a GET; a GET alone if a listing told the size."""
    store.has_suffixes = False
    options = {"account_name": "account", "endpoint": store.endpoint, "skip_signature": "true"}
    for url in (f"az://{NAME}", "abfss://lake@account.dfs.core.windows.net/day=1/x.parquet"):
        store.forget()
        report = pb.inspect(url, storage_options=options)
        assert report.row_groups == pb.inspect(FIXTURE).row_groups
        assert (report.requests.head, report.requests.get) == (1, 1)
        assert [each.kind for each in store.asked] == ["HEAD", "GET"]


def test_google(store):
    options = {"base_url": store.endpoint, "skip_signature": "true"}
    for scheme in ("gs", "gcs"):
        report = pb.inspect(f"{scheme}://{NAME}", storage_options=options)
        assert report.row_groups == pb.inspect(FIXTURE).row_groups


def test_a_profile_of_aws(store, tmp_path, monkeypatch):
    credentials = tmp_path / "credentials"
    credentials.write_text(
        f"[ours]\naws_access_key_id = OURS\naws_secret_access_key = {SECRET}\nregion = eu-west-1\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    monkeypatch.setenv("AWS_PROFILE", "ours")
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.endpoint)
    pb.inspect(URL)
    (asked,) = store.asked
    assert "Credential=OURS/" in asked.headers["authorization"]
    assert "/eu-west-1/s3/" in asked.headers["authorization"]
    # Endpoints of profiles are heeded neither where objects are read nor where they are written.
    config = tmp_path / "config"
    config.write_text(f"[profile ours]\nregion = eu-west-1\nendpoint_url = {store.endpoint}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    client = s3_client.S3Client(Address.of(URL), Traffic())._sender.signed.now()
    assert client.meta.endpoint_url == "https://s3.eu-west-1.amazonaws.com"
    monkeypatch.setenv("AWS_PROFILE", "theirs")
    for variable in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
        with failing(
            OSError, f"{URL}: {variable} is theirs: The config profile (theirs) could not be found"
        ):
            pb.inspect(URL)
        monkeypatch.delenv("AWS_PROFILE", raising=False)
        monkeypatch.setenv("AWS_DEFAULT_PROFILE", "theirs")


def test_empty_variables_are_not_set(store, tmp_path, monkeypatch):
    """As CI has them for secrets that are not there."""
    credentials = tmp_path / "credentials"
    credentials.write_text(f"[ours]\naws_access_key_id = OURS\naws_secret_access_key = {SECRET}\n")
    empty = (
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        *("AWS_REGION", "AWS_ENDPOINT_URL", "AWS_SKIP_SIGNATURE"),
    )
    for name in empty:
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    monkeypatch.setenv("AWS_PROFILE", "ours")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ENDPOINT", store.endpoint)
    pb.inspect(URL)
    (asked,) = store.asked
    assert "Credential=OURS/" in asked.headers["authorization"]
    assert "/eu-west-1/s3/" in asked.headers["authorization"]
    assert "x-amz-security-token" not in asked.headers
    assert {os.environ[name] for name in empty} == {""}


def test_empty_variables_of_google_are_not_set(store, monkeypatch):
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT", "SERVICE_ACCOUNT"):
        monkeypatch.setenv(name, "")
    options = {"base_url": store.endpoint, "skip_signature": "true"}
    assert pb.inspect(f"gs://{NAME}", storage_options=options).row_groups
    assert "service_account" not in gcs_client._settings(options)


def test_an_empty_region_is_not_set_for_changes_either(monkeypatch):
    monkeypatch.setenv("AWS_REGION", "")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert s3_client._new_client((), None, "lake").meta.region_name == "eu-west-1"


# ------------------------------------------------------------------------------------------------
# What nobody must see


def test_what_is_read_is_not_what_is_received(store):
    """Of all verbs alike, in text and in documents."""
    probed = pb.probe(URL, "int64", [99], storage_options=store.options)
    assert 0 < probed.bytes_read < probed.requests.bytes_down
    run = outcome("probe", URL, "-c", "int64", "-v", "99", "--stats", *words(store))
    assert run.stdout.splitlines()[0] == f"{URL}: int64, {probed.bytes_read:,} bytes read"
    assert f", {size(probed.requests.bytes_down)} received" in run.stderr
    run = outcome("probe", URL, "-c", "int64", "-v", "99", "--by-value", *words(store))
    assert f"; {size(probed.bytes_read)} read to find out" in run.stdout
    found = pb.find(URL, "int64", 99, storage_options=store.options)
    assert 0 < found.bytes_read < probed.requests.bytes_down


def shown_by(store) -> Iterator[str]:
    address = Address.of(URL, store.options)
    yield repr(address)
    yield repr(pickle.dumps(address))
    yield repr(expand(["s3://lake/day=1"], store.options))
    yield repr(pickle.dumps(expand(["s3://lake/day=1"], store.options)[0]))
    report = pb.inspect(URL, storage_options=store.options)
    yield repr(report) + json.dumps(report.to_dict()) + report._repr_html_()
    with pb.open(URL, storage_options=store.options) as file:
        yield repr(file)
    for status, body in ((403, DENIED), (404, ""), (500, SECRET * 0), (400, EXPIRED)):
        store.faults[:] = [Fault(status, body, times=4)]
        with pytest.raises(OSError, match="lake") as raised:
            pb.inspect(URL, storage_options=store.options)
        yield repr(raised.value)
    store.faults.clear()
    for arguments in (["inspect", "--verbose"], ["validate", "--json"], ["inspect", "--debug"]):
        run = outcome(*arguments, URL, "s3://lake/nothing.parquet", *words(store), "--stats")
        yield run.output


def test_secrets_are_in_no_text(store):
    for text in shown_by(store):
        assert SECRET not in text


def test_secrets_are_not_in_what_debuggers_show():
    address = Address.of(f"{URL}?region=x", {"secret_access_key": SECRET})
    assert not hasattr(address, "__dict__")
    assert repr(address.options) == "<options: secret_access_key, region>"
    assert repr(Address.of(URL).options) == "<options: none>"
    assert address.options == {"secret_access_key": SECRET, "region": "x"}
    assert address.other(URL).found("a").options is address.options


@pytest.mark.parametrize(
    ("variable", "option", "problem"),
    [
        (
            "AWS_ACCESS_KEY_ID",
            "access_key_id",
            (
                "the access key is set without its secret: set AWS_SECRET_ACCESS_KEY, or the storage option"
                " secret_access_key=SECRET"
            ),
        ),
        (
            "AWS_SECRET_ACCESS_KEY",
            "secret_access_key",
            "a secret is set without its access key: set AWS_ACCESS_KEY_ID, or the storage option access_key_id=KEY",
        ),
    ],
)
def test_half_of_the_credentials(store, monkeypatch, variable, option, problem):
    place = {"endpoint": store.endpoint, "region": "us-east-1"}
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    with failing(PermissionError, f"{URL}: {problem}"):
        pb.inspect(URL, storage_options={**place, option: SECRET})
    monkeypatch.setenv(variable, SECRET)
    with failing(PermissionError, f"{URL}: {problem}"):
        pb.inspect(URL, storage_options=place)


# ------------------------------------------------------------------------------------------------
# The command that helps next


def again(store):
    """The options that it has, with words for secrets."""
    return (
        f"--storage-option endpoint={store.endpoint} --storage-option region=us-east-1"
        " --storage-option access_key_id=VALUE --storage-option secret_access_key=VALUE"
    )


def test_the_next_command_is_about_the_same_store(s3):
    s3.put(NAME, (FIXTURES / "java_filters.parquet").read_bytes())
    (report,) = pb.validate([URL], policy=pb.Policy(), storage_options=s3.options)
    (command,) = {each.next for each in report.findings if each.rule == "PB207"}
    assert command == f"pbloom strip {URL} -c boolean --in-place {again(s3)}"
    _, *given = shlex.split(command)
    secrets = {f"{name}=VALUE": f"{name}={s3.options[name]}" for name in s3.options}
    assert outcome(*(secrets.get(each, each) for each in given)).code == 0
    assert s3.objects[NAME] != (FIXTURES / "java_filters.parquet").read_bytes()


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (
            ["probe", URL, "-c", "unfiltered", "-v", "1"],
            f"next: pbloom advise {URL} -c unfiltered {{}}\n",
        ),
        (
            ["diff", URL, "s3://lake/other.parquet"],
            f"next: pbloom diff {URL} s3://lake/other.parquet --diagnose {{}}\n",
        ),
        (
            ["index", "check", "s3://lake/day=1/", "--index", "s3://lake/i"],
            "next: pbloom index add --index s3://lake/i s3://lake/day=1/ {}\n",
        ),
        (
            ["build", "s3://lake/few/", "--auto", "--in-place", "--dry-run"],
            "no column that advise would build; `pbloom advise s3://lake/few/ {}` says why\n",
        ),
    ],
    ids=["probe", "diff", "index check", "build"],
)
def test_commands_that_are_named_are_about_the_same_store(s3, tmp_path, command, line):
    s3.put(NAME, FIXTURE.read_bytes())
    (first,) = pb.inspect(FIXTURE, columns="int64").row_groups[0].columns
    data = bytearray(FIXTURE.read_bytes())
    data[first.filter.offset + first.filter.length - 1] ^= 0xFF
    s3.put("lake/other.parquet", bytes(data))
    pq.write_table(pa.table({"int64": [1]}), tmp_path / "few.parquet")
    s3.put("lake/few/x.parquet", (tmp_path / "few.parquet").read_bytes())
    pb.Index.build("s3://lake/i", "s3://lake/few/", "int64", storage_options=s3.options).close()
    run = outcome(*command, *words(s3))
    assert line.format(again(s3)) in run.stdout + run.stderr, run.output


@pytest.mark.parametrize(
    ("option", "shown"),
    {
        "endpoint=http://minio:9000": "endpoint=http://minio:9000",
        "endpoint=http://me:hush@minio:9000": "endpoint=URL",
        "AWS_REGION=x": "AWS_REGION=x",
        "base_url=https://host/?sign=hush": "base_url=URL",
        "google_service_account=/hush": "google_service_account=VALUE",
        "account_name=me": "account_name=me",
        "azure_storage_sas_key=hush": "azure_storage_sas_key=VALUE",
        "skip_signature=true": "skip_signature=true",
        "newer=hush": "newer=VALUE",
    }.items(),
)
def test_which_values_are_shown(option, shown):
    name, _, value = option.partition("=")
    assert Address.of(URL, {name: value}).options.arguments == ("--storage-option", shown)


def test_names_are_shown_without_what_is_behind_the_question_mark(store, tmp_path):
    """Also where they stand for many files."""
    for name in ("x", "y"):
        store.put(f"lake/day=2/{name}.parquet", FIXTURE.read_bytes())
    place = f"endpoint={quote(store.endpoint)}&region=us-east-1"
    url = f"s3://lake/day=2/?{place}&access_key_id=KEY&secret_access_key={SECRET}"
    run = outcome("validate", url, "--require", "unfiltered")
    build = f"pbloom build s3://lake/day=2/ -c unfiltered --in-place {again(store)}"
    assert f"next: {build}\n" in run.stdout
    page = tmp_path / "page.html"
    assert outcome("report", url, "-o", page).code == 0
    assert '<p class="path name">s3://lake/day=2/</p>' in page.read_text()
    assert SECRET not in run.output + page.read_text()


def test_the_settings_of_pbloom_are_about_the_same_store(s3):
    s3.put(NAME, (FIXTURES / "spark_types.parquet").read_bytes())
    report = pb.advise(URL, storage_options=s3.options)
    (advised,) = (each for each in report.columns if each.column == "int32")
    (text,) = (each.text for each in advised.settings if each.writer == "pbloom")
    assert text == f"pbloom build {URL} -c int32 --fpp 0.01 -o out.parquet {again(s3)}"


def with_a_full_filter():
    """The fixture, with most bits of a filter set."""
    (group, *_) = pb.inspect(FIXTURE).row_groups
    (found,) = (each.filter for each in group.columns if each.column == "int64")
    start, data = found.offset + found.header_bytes, bytearray(FIXTURE.read_bytes())
    for at in range(start, start + found.num_bytes):
        data[at] |= 0xF7
    return bytes(data)


def test_commands_about_a_signed_url_say_what_is_missing(store, tmp_path):
    """Typed as they are shown, with the query in place of a word, they do what they are for."""
    store.put("lake/plain.parquet", (FIXTURES / "spark_types.parquet").read_bytes())
    store.put("lake/loose.parquet", (FIXTURES / "java_filters.parquet").read_bytes())
    query = f"X-Amz-Signature={SECRET}"
    plain, loose = (f"{store.endpoint}/lake/{name}.parquet" for name in ("plain", "loose"))
    assert f"next: pbloom advise '{plain}?QUERY'" in outcome("inspect", f"{plain}?{query}").stdout
    repaired = outcome("repair", f"{loose}?{query}", "--dry-run").stdout
    assert repaired.endswith(f"so does pbloom validate '{loose}?QUERY'\n")
    full = [f"{store.endpoint}/lake/full{number}.parquet" for number in range(2)]
    for number in range(2):
        store.put(f"lake/full{number}.parquet", with_a_full_filter())
    signed = [f"{each}?{query}" for each in full]
    look = f"pbloom validate '{full[0]}?QUERY' -c int64 --pages --diagnose"
    assert outcome("validate", signed[0]).stdout.endswith(f"  next: {look}\n")
    found = json.loads(outcome("validate", signed[0], "--json").stdout)["findings"]
    assert look in {each["next"] for each in found}
    of_both = (
        f"next: pbloom validate '{full[0]}?QUERY' '{full[1]}?QUERY' -c int64 --pages --diagnose\n"
    )
    assert of_both in outcome("validate", *signed).stdout
    _, *typed = shlex.split(look.replace("QUERY", query))
    assert "int64" in outcome(*typed).stdout
    page = tmp_path / "page.html"
    for urls in ([f"{plain}?{query}"], [f"{plain}?{query}", f"{loose}?{query}"]):
        assert outcome("report", *urls, "-o", page, "--overwrite").code in (0, 1)
        said = html.unescape(page.read_text())
        assert f"pbloom build '{plain}?QUERY' -c int32 --fpp 0.01 -o out.parquet" in said
        assert "No command changes what was looked at: web servers are read-only." in said
        assert "--in-place" not in said
        assert SECRET not in said


def test_no_command_changes_what_is_on_a_web_server_among_others(store):
    store.put("lake/plain.parquet", (FIXTURES / "spark_types.parquet").read_bytes())
    here, there = FIXTURES / "spark_types.parquet", f"{store.endpoint}/lake/plain.parquet"
    for names in ([here, there], [there, here]):
        run = outcome("advise", *names)
        assert "build filters for" in run.stdout
        assert "next: " not in run.stdout
    assert "next: pbloom build" in outcome("advise", here).stdout


def test_a_url_that_is_signed_for_get_alone(store, tmp_path):
    store.faults.append(Fault(403, DENIED, kind="HEAD", times=99))
    url = f"{store.endpoint}/{NAME}?X-Amz-Signature={SECRET}"
    pb.build(url, tmp_path / "there", columns=["int64"], existing="replace")
    pb.build(FIXTURE, tmp_path / "here", columns=["int64"], existing="replace")
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
    assert store.count("HEAD") == 0


@pytest.mark.parametrize("other", [FIXTURE.read_bytes()[:-5], FIXTURE.read_bytes()[::-1], b""])
def test_what_is_behind_a_url_is_looked_at_again(store, tmp_path, monkeypatch, other):
    url = f"{store.endpoint}/{NAME}"
    check = ObjectSource.check_unchanged

    def late(source):
        store.put(NAME, other)
        check(source)

    monkeypatch.setattr(ObjectSource, "check_unchanged", late)
    with pytest.raises((pb.RewriteError, OSError), match="changed while it was read"):
        pb.build(url, tmp_path / "there", columns=["int64"], existing="replace")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, NO_BUCKET, "no such object"),
        (
            403,
            DENIED,
            "reading was refused (403 AccessDenied): expected a URL that needs no password, or a signed one",
        ),
    ],
)
def test_a_store_that_answers_as_a_web_server_is_named_as_one(store, status, body, said):
    """As the command says it, so it works; who has a signed URL wants no other name."""
    url = f"{store.endpoint}/{NAME}"
    for query in ("", f"?X-Amz-Security-Token={SECRET}"):
        store.faults.append(Fault(status, body))
        named = f"{URL} with --storage-option endpoint={store.endpoint}"
        hint = "" if query else f"; to a store of S3's protocol, it is {named}"
        run = outcome("inspect", url + query)
        assert (run.code, run.complaint) == (2, f"{url}: {said}{hint}")
    assert outcome("inspect", URL, *words(store)).code == 0


@pytest.mark.parametrize(
    ("host", "named"),
    [
        ("lake.s3.eu-west-1.amazonaws.com", "s3://BUCKET/KEY"),
        ("s3.cn-north-1.amazonaws.com.cn", "s3://BUCKET/KEY"),
        ("storage.googleapis.com", "gs://BUCKET/KEY"),
    ],
)
def test_a_cloud_that_answers_as_a_web_server_needs_no_endpoint(host, named):
    error = GenericError(f"response error: status code: 403 Forbidden: {DENIED}")
    said = requests._failure(Address.of(f"https://{host}/a.parquet"), error, GET).strerror
    assert said.endswith(f"or a signed one; to the store, it is {named}")


def test_the_signature_of_a_url_is_not_shown(store):
    url = f"{store.endpoint}/lake/nothing.parquet?X-Amz-Signature={SECRET}"
    run = outcome("inspect", url)
    assert run.complaint == f"{store.endpoint}/lake/nothing.parquet: no such object"
    with pytest.raises(FileNotFoundError) as raised:
        pb.inspect(url)
    assert SECRET not in repr(raised.value) + str(raised.value.filename)


def test_options_are_text(store):
    with pytest.raises(TypeError, match=r"^storage_options: 'region': expected text, found int$"):
        pb.inspect(URL, storage_options={"region": 1})


# ------------------------------------------------------------------------------------------------
# Ranges


def test_pieces():
    far = GAP_BYTES + 1
    assert join_ranges([(0, 10), (20, 30)]) == [(0, 30)]
    assert join_ranges([(0, 10), (10 + far, 20 + far)]) == [(0, 10), (10 + far, 20 + far)]
    assert join_ranges([(10 + far, 20 + far), (0, 10)]) == [(10 + far, 20 + far), (0, 10)]
    assert join_ranges([(0, PIECE_BYTES), (PIECE_BYTES, PIECE_BYTES + 5)]) == [
        (0, PIECE_BYTES),
        (PIECE_BYTES, PIECE_BYTES + 5),
    ]
    assert join_ranges([(0, 2 * PIECE_BYTES + 1)]) == [
        (0, PIECE_BYTES),
        (PIECE_BYTES, 2 * PIECE_BYTES),
        (2 * PIECE_BYTES, 2 * PIECE_BYTES + 1),
    ]
    assert join_ranges([(5, 5), (0, 0)]) == []
    assert join_ranges([(0, 100), (50, 60)]) == [(0, 100)]


def test_memory_is_bounded(server, monkeypatch):
    """Whatever is wanted, and although nothing is ever given back in order."""
    monkeypatch.setattr(read_ahead, "PIECE_BYTES", 1000)
    monkeypatch.setattr(read_ahead, "GAP_BYTES", 10)
    monkeypatch.setattr(read_ahead, "HELD_BYTES", 5000)
    data = os.urandom(600_000)
    server.put("lake/long", data)
    source = opened(server, "s3://lake/long")
    ranges = [(start, start + 700) for start in range(0, 330_000, 1100)]
    most = 0
    for _ in range(2):
        source.will_read(ranges)
        for start, end in ranges:
            assert source.read_at(start, end - start) == data[start:end]
            most = max(most, read_ahead.held.num_bytes)
        # Once more, from anywhere, and across what was wanted.
        for start, _ in ranges[::-7]:
            assert source.read_at(start + 600, 500) == data[start + 600 : start + 1100]
    assert 3000 < most <= 5000
    source.close()
    assert read_ahead.held.num_bytes == 0
    assert requests.IN_FLIGHT == 16


def test_what_is_read_ahead_is_in_the_budget(store, monkeypatch):
    monkeypatch.setattr(parallel, "_budget", parallel._Budget())
    pb.inspect(FIXTURE)
    assert parallel._budget.aside == 0
    pb.inspect(URL, storage_options=store.options)
    assert parallel._budget.aside == read_ahead.HELD_BYTES < parallel.LEAST_MEMORY
    budget = parallel._budget
    assert budget.take(1, 1, is_first=True)
    assert not budget.take(1, budget.limit - budget.aside, is_first=False)
    assert budget.take(1, budget.limit - budget.aside - 1, is_first=False)


def test_key_material_beside_an_object_is_reached_like_it(store, tmp_path):
    path = write_encrypted(tmp_path / "e.parquet", internal_key_material=False)
    for each in tmp_path.iterdir():
        store.put(f"lake/{each.name}", each.read_bytes())
    keys = pb.Keys(kms_client=LabKms(None))
    there = pb.inspect("s3://lake/e.parquet", keys=keys, storage_options=store.options)
    assert there.row_groups == pb.inspect(path, keys=keys).row_groups
    assert any("_KEY_MATERIAL_FOR_" in each.path for each in store.asked)


def test_another_thread_wants_something_else(server):
    """What one waits for is not there any more, and comes all the same."""
    data = os.urandom(12_000_000)
    server.put("lake/long", data)
    source = opened(server, "s3://lake/long")
    server.delay = 0.1
    ranges = [(start, start + 100) for start in range(0, 11_000_000, 200_000)]
    source.will_read(ranges)
    with ThreadPoolExecutor(len(ranges)) as readers:
        found = [readers.submit(source.read_at, start, 100) for start, _ in ranges]
        time.sleep(0.05)
        source.will_read([(5, 10)])
        assert [each.result() for each in found] == [data[start:end] for start, end in ranges]
    source.close()
    assert read_ahead.held.num_bytes == 0
