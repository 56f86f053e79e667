"""What has to be so wherever an object is replaced, in each of the ways in which a store does it: what is
sent, and that after any failure the object is the old version or the new one, and the message says
which. What only one store has is tested beside, in test_s3_adapter and so on."""

import re
import signal
import sys
import time
from itertools import count
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from azure.core.exceptions import ServiceRequestError
from botocore import exceptions as of_boto3
from make import killed
from make.commands import outcome
from make.object_server import SECRET, Fault, Lost
from make.replacements import (
    GOOGLE,
    NAME,
    NOTHING,
    OLD,
    S3,
    WAYS,
    is_new,
    made_locally,
    replaced,
)
from pyarrow import orc
from requests.exceptions import SSLError

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.options import BuildOptions, Destination
from parquet_bloom.storage import open_source, with_options
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.listing import find_file
from parquet_bloom.storage.objects import (
    azure_adapter,
    azure_client,
    gcs_adapter,
    gcs_client,
    replacement,
    requests,
    s3_adapter,
    s3_client,
    sending,
)
from parquet_bloom.storage.paths import expand
from parquet_bloom.storage.temporary_files import is_left
from parquet_bloom.verbs.build import build_opened

# One of each store.
STORES = ("s3 parts", "azure copied", "google append")


@pytest.fixture(params=WAYS)
def there(request, monkeypatch):
    """An object, and a way to replace it."""
    return replaced(request, monkeypatch, request.param)


@pytest.fixture(params=STORES)
def store(request, monkeypatch):
    return replaced(request, monkeypatch, request.param)


def problem_of(there, *faults, **options):
    """What a build says that fails; nothing if it does not."""
    there.server.faults[:] = faults
    try:
        there.build(**options)
    except pb.RewriteError as error:
        said = str(error)
    except OSError as error:
        said, path = error.strerror, error.filename
        assert path == there.url
    else:
        return ""
    assert "\n" not in said
    return said


# ------------------------------------------------------------------------------------------------
# What it becomes


def test_a_build_is_what_a_local_one_is(there):
    report = there.build()
    assert there.server.objects == {NAME: made_locally()}
    assert (report.path, report.output) == (there.url, there.url)
    assert report.size_after == len(made_locally())
    assert there.written() == there.way.asks
    sent = len(made_locally()) - (0 if there.way.is_whole else len(OLD))
    assert there.server.received == sent == report.requests.bytes_up
    reads = {"HEAD", "LOOK", "TAGS", "ACL", "BLOCKS"}
    assert report.requests.put == len([kind for kind in there.way.asks if kind not in reads])
    assert report.requests.head == there.kind.num_looks
    assert there.pending() == {}


def test_the_version_that_was_put_in_its_place_is_known(there):
    """But for Google, whose answer has another ETag than the object."""
    with open_file(Address.of(there.url, there.options)) as file:
        build_opened(file, BuildOptions(columns=("int64",)), Destination(in_place=True))
        told = file.source.successor
    source = open_source(Address.of(there.url, there.options))
    listed = find_file(Address.of(there.url, there.options)).version
    assert told == (None if there.kind is GOOGLE else source.version)
    assert listed == source.version


def test_after_a_lost_answer_nobody_tells_the_version(there):
    with open_file(Address.of(there.url, there.options)) as file:
        there.server.faults[:] = there.lost()
        build_opened(file, BuildOptions(columns=("int64",)), Destination(in_place=True))
        assert file.source.successor is None
    assert there.server.objects == {NAME: made_locally()}


def test_a_footer_in_the_place_of_the_old_one(there):
    report = there.build(layout="replace")
    assert there.server.objects == {NAME: made_locally("replace")}
    assert there.written() == there.way.replaces
    stays = len(OLD) - 8 - int.from_bytes(OLD[-8:-4], "little")
    is_whole = there.way.is_whole or there.kind is GOOGLE
    sent = len(made_locally("replace")) - (0 if is_whole else stays)
    assert there.server.received == sent == report.requests.bytes_up
    # The old bytes are read for it, at most; the footer and the end are there already.
    assert report.requests.bytes_down <= 2 * len(OLD)
    assert there.pending() == {}


def test_strip_gives_the_old_object_back(there):
    there.build()
    there.server.forget()
    there.server.received = 0
    report = pb.strip(there.url, in_place=True, storage_options=there.options)
    assert there.server.objects == {NAME: OLD}
    assert there.written() == there.way.strips
    is_whole = there.way.is_whole or there.kind is GOOGLE
    assert there.server.received == report.requests.bytes_up == (len(OLD) if is_whole else 0)


# At most so many GET, and just so many HEAD and LIST.
REQUESTS = {"s3": (105, 1, 6), "az": (101, 3, 6), "gs": (105, 0, 6)}


def test_what_a_build_costs(store, hundred_groups, monkeypatch):
    """Of 42 MB, what is new is sent, and the column read."""
    for module, name, value in (
        (s3_adapter, "LEAST_BYTES", 5 << 20),
        (azure_adapter, "WHOLE_BYTES", 4 << 20),
        (gcs_adapter, "WHOLE_BYTES", 5 << 20),
    ):
        monkeypatch.setattr(module, name, value)
    server = store.server
    server.put("lake/day=1/groups.parquet", data := hundred_groups.read_bytes())
    url = f"{store.kind.scheme}://lake/day=1/groups.parquet"
    report = pb.build(url, columns=["c3"], in_place=True, storage_options=store.options)
    groups = pb.inspect(hundred_groups, columns=["c3"]).row_groups
    column = sum(chunk.chunk_bytes for group in groups for chunk in group.columns)
    assert server.objects["lake/day=1/groups.parquet"].startswith(data)
    assert server.received == report.bytes_added == report.requests.bytes_up
    assert server.bytes_down <= column + (1 << 20)
    gets, heads, lists = REQUESTS[store.kind.scheme]
    assert server.count() <= gets
    assert (server.count("HEAD"), server.count("LIST")) == (heads, lists)
    assert store.written() == store.way.asks


def test_stripes_are_copied_by_the_store(store, tmp_path, monkeypatch):
    """Google copies no parts of objects: there, the whole file is sent."""
    monkeypatch.setattr(azure_adapter, "LEAST_BYTES", 1000)
    path = tmp_path / "local.orc"
    rows = range(100_000)
    noise = pa.array(np.random.default_rng(1).integers(0, 1 << 60, len(rows)))
    orc.write_table(pa.table({"a": rows, "b": noise}), path, stripe_size=200_000)
    store.server.put("lake/day=1/x.orc", old := path.read_bytes())
    url = f"{store.kind.scheme}://lake/day=1/x.orc"
    there = pb.build(url, columns=["a"], in_place=True, storage_options=store.options)
    pb.build(path, columns=["a"], in_place=True)
    new = store.server.objects["lake/day=1/x.orc"]
    assert new == path.read_bytes() != old
    copies = store.kind is not GOOGLE
    assert ("COPY" in store.server.kinds()) == copies
    assert store.server.received == there.requests.bytes_up
    assert store.server.received <= (there.bytes_added + 20_000 if copies else len(new))
    assert pb.validate(url, storage_options=store.options).ok


def test_without_the_stores_own_library(store, monkeypatch):
    missing, library, extra = store.kind.library
    own = rf"objects\.{store.kind.server}_(adapter|client)$|^{re.escape(missing)}\b"
    for name in list(sys.modules):
        if re.search(own, name):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(pb.UnsupportedError) as raised:
        store.build()
    assert str(raised.value) == (
        f"{store.url}: to be replaced: needs {library}, which is not installed:"
        f" pip install 'parquet-bloom[{extra}]'"
    )
    assert store.server.objects == {NAME: OLD}


def test_web_servers_are_only_read():
    url = "https://127.0.0.1/x.parquet"
    with pytest.raises(pb.RewriteError) as raised:
        pb.build(url, columns=["int64"], in_place=True)
    assert str(raised.value) == (
        f"{url}: not changed in place: web servers are read-only: write a local copy with an"
        " output, and upload it"
    )


# ------------------------------------------------------------------------------------------------
# Others write meanwhile

CONTENTS = {"other": OLD[::-1], "shorter": OLD[:-1], "same": OLD, "gone": None}


def others(there, content):
    def write():
        if content is None:
            for each in (there.server.objects, getattr(there.server, "resources", {})):
                each.pop(NAME, None)
        else:
            there.server.put(NAME, content)
            there.theirs = there.version()

    return write


@pytest.mark.every(3)
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
def test_what_others_write_is_not_lost(there, content):
    """The same content is another version, unless its version is its content."""
    is_same = content == OLD and there.kind.versions_are_content
    gone = "is no longer there; nothing was written"
    for kind in there.way.until_last:
        there.reset()
        said = problem_of(there, Fault(kind=kind, do=others(there, content)))
        if is_same:
            assert (said, there.server.objects) == ("", {NAME: made_locally()})
            continue
        assert said == there.changed or (content is None and said == gone), kind
        assert content is not None or there.kind is not S3 or said == gone
        assert there.server.objects == ({} if content is None else {NAME: content}), kind
        assert content is None or there.version() == there.theirs
        assert there.pending() == {}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
def test_what_others_write_before_it_is_read(store, content):
    store.server.faults.append(Fault(kind="LIST", do=others(store, content)))
    if content == OLD:
        store.build()
        assert store.server.objects == {NAME: made_locally()}
        return
    with pytest.raises(FileNotFoundError if content is None else (pb.ParquetBloomError, OSError)):
        store.build()
    assert store.server.objects == ({} if content is None else {NAME: content})


@pytest.mark.parametrize("name", ["s3 parts", "azure copied"])
def test_what_is_copied_is_of_the_version_that_was_read(request, monkeypatch, name):
    """Else it could be mixed with another, where that one is gone again before the last request."""
    there = replaced(request, monkeypatch, name)
    assert problem_of(there, Fault(kind="COPY", do=others(there, OLD[::-1]))) == there.changed
    assert there.way.last not in there.server.kinds()


def test_of_two_builds_one_wins(there):
    last = Fault(kind=there.way.last, skip=there.way.nth, do=there.build)
    assert problem_of(there, last) == there.changed
    assert list(there.server.objects) == [NAME]
    assert is_new(there.server.objects[NAME])
    assert pb.validate(there.url, storage_options=there.options).ok
    assert there.pending() == {}


def test_the_command_says_it_in_a_line(store):
    store.server.faults.append(Fault(kind=store.way.last, do=others(store, OLD[::-1])))
    result = outcome("build", store.url, "--in-place", "-c", "int64", *store.words)
    assert (result.code, result.stdout, result.stderr) == (2, "", f"pbloom: {store.changed}\n")


# ------------------------------------------------------------------------------------------------
# Stores that do not know conditions


def lax(there):
    """From now on, conditions of requests that write are not looked at."""
    there.server.is_lax = True


def test_a_store_is_asked_once_whether_it_honours_conditions(store):
    replacement._ignored_in.clear()
    store.build()
    assert store.written() == (*store.kind.unmet, *store.way.asks)
    assert len(store.server.objects) == 1
    store.server.forget()
    pb.strip(store.url, in_place=True, storage_options=store.options)
    assert store.written() == store.way.strips


@pytest.mark.parametrize("number", [0, -1], ids=["whole", "put together"])
def test_a_store_that_ignores_conditions_is_refused(store, number):
    replacement._ignored_in.clear()
    # Of what tries it out, the end of an upload is the last but one, which is aborted.
    tried = [kind for kind in store.kind.unmet if kind not in ("ABORT", "DELETE")][number]
    said = problem_of(store, Fault(kind=tried, do=lambda: lax(store)))
    host = store.server.endpoint.removeprefix("http://")
    assert said == (
        f"{store.url}: not changed in place: the store at {host} ignores"
        f" {store.kind.condition} in {store.kind.replacing[number]}, so a concurrent write could be lost: if nobody else writes, use"
        " unconditional=True"
    )
    assert (store.server.objects, store.pending()) == ({NAME: OLD}, {})


def test_the_clouds_own_store_is_not_asked(there):
    """And whoever says unconditional there gets conditions."""
    replacement._ignored_in.clear()
    with there.kind.as_its_own():
        there.build(unconditional=True)
    assert there.server.objects == {NAME: made_locally()}
    assert there.written() == there.way.asks


def test_unconditional(there):
    replacement._ignored_in.clear()
    lax(there)
    there.build(unconditional=True)
    assert there.server.objects == {NAME: made_locally()}
    assert there.written() == there.way.unconditionally
    looks = there.kind.num_looks + 1
    assert there.server.count("HEAD") == (looks if there.kind.look == "HEAD" else 0)


def test_unconditional_looks_before_it_writes(there):
    lax(there)
    for kind in there.way.until_last:
        if kind == there.way.last and not there.way.nth and kind != "COMPOSE":
            continue
        there.reset()
        said = problem_of(there, Fault(kind=kind, do=others(there, OLD[::-1])), unconditional=True)
        assert said == there.changed, kind
        assert (there.server.objects, there.pending()) == ({NAME: OLD[::-1]}, {})


def test_unconditional_looks_before_each_attempt(there):
    """What others write after an attempt that was lost on its way is not."""
    lax(there)
    nth = there.way.unconditionally.count(there.way.last) - 1
    lost = [
        Lost(kind=there.way.last, skip=nth, before=True),
        there.looks_again(),
        Fault(kind=there.kind.look, skip=there.kind.num_looks, do=others(there, OLD[::-1])),
    ]
    said = problem_of(there, *lost, unconditional=True)
    assert said == (
        f"there was no answer to the last request ({there.kind.broken}), and the object has since"
        f" become another one, of {len(OLD)} bytes"
    )
    assert there.server.objects == {NAME: OLD[::-1]}


@pytest.mark.parametrize("is_done", [False, True], ids=["not done", "done"])
def test_unconditional_after_a_lost_answer(there, is_done):
    lax(there)
    nth = there.way.unconditionally.count(there.way.last) - 1
    there.server.faults.append(Lost(kind=there.way.last, skip=nth, before=not is_done))
    there.build(unconditional=True)
    assert (there.server.objects, there.pending()) == ({NAME: made_locally()}, {})


# ------------------------------------------------------------------------------------------------
# Failures

FAULTS = {
    "denied": lambda there: {**there.fails(there.denied), "times": 99},
    "409": lambda there: {**there.fails(409), "times": 99},
    "412": lambda there: there.fails(412),
    "429 once": lambda there: {"status": 429, "body": there.error("TooMany")},
    "503 once": lambda there: there.fails(503),
    "503": lambda there: {**there.fails(503), "times": 99},
    "500": lambda there: {"status": 500, "times": 99},
}
LOST = {
    "cut off before": {"before": True},
    "lost answer": {},
    "all lost": {"times": 99},
    "none done": {"before": True, "times": 99},
}
PASSING = {"429 once", "503 once", "cut off before", "lost answer", "cut body"}


def has_come(upload):
    """Whether the store has something of it."""
    return upload.parts if hasattr(upload, "parts") else upload.data


def fault_at(there, name, **where):
    if name == "cut body":
        return Fault(cut=9, **where)
    if name in LOST:
        return Lost(**LOST[name], **where)
    return Fault(**FAULTS[name](there.kind), **where)


@pytest.mark.every(8)
@pytest.mark.parametrize("name", [*FAULTS, *LOST, "cut body"])
def test_the_object_is_the_old_one_or_the_new_one_and_the_message_says_which(there, name):
    for kind in dict.fromkeys(there.way.asks):
        there.reset()
        said = problem_of(there, fault_at(there, name, kind=kind))
        if said:
            assert name not in PASSING, (kind, said)
            assert SECRET not in said
            assert "/session/" not in said
            if kind == "DELETE":
                assert "was written, but the temporary object day=1/.x y%.parquet." in said
                assert there.server.objects[NAME] == made_locally()
                continue
            assert said.endswith((NOTHING, f"{NOTHING}; try again")), (kind, said)
            assert there.server.objects == {NAME: OLD}, (kind, said)
        else:
            assert there.server.objects == {NAME: made_locally()}, kind
            is_optional = kind in (*there.kind.optional, there.way.last)
            assert name in PASSING or is_optional, kind
            assert kind != there.way.last or name in (*PASSING, "all lost")
        # An upload whose number was lost stays, without a part.
        assert kind in ("CREATE", "BEGIN") or there.pending() == {}, kind
        assert not any(map(has_come, there.pending().values()))


def test_the_messages(there):
    kind, last = there.kind, {"kind": there.way.last, "skip": there.way.nth}
    left = (
        "blocks were left, which `pbloom clean-temp --uploads` discards; "
        if there.leaves_blocks
        else ""
    )
    faults = ("denied", "409", "503", "none done")
    said = {}
    for name in faults:
        there.reset()
        said[name] = problem_of(there, fault_at(there, name, **last))
    denied, codes = kind.denied, kind.codes
    words = {"COMPLETE": " to CompleteMultipartUpload", "PUT": " to PutObject"}
    asked = words[there.way.last] if kind is S3 else ""
    allow = ": the permission s3:PutObject is needed" if kind is S3 else ""
    assert said == {
        "denied": f"writing was refused ({denied} {codes[denied]}){allow}; {left}{NOTHING}",
        "409": f"the store answered 409 {codes[409]}{asked}; {left}{NOTHING}",
        "503": f"the store answered 503 {codes[503]}{asked}; {left}{NOTHING}",
        "none done": f"no answer: {kind.broken}; {left}{NOTHING}",
    }


def test_a_lost_answer_and_an_object_that_cannot_be_looked_at(there):
    said = problem_of(there, *there.lost(), there.looks_again(status=403, times=99))
    new = there.server.objects[NAME]
    assert is_new(new)
    assert said == (
        f"there was no answer to the last request ({there.kind.broken}), and the object cannot be"
        " examined"
        f" (403): it is either the old version, of {len(OLD)} bytes, or the new one, of {len(new)} bytes"
    )


@pytest.mark.every(3)
@pytest.mark.parametrize("is_as_large", [False, True], ids=["other size", "same size"])
def test_a_lost_answer_and_another_version(there, is_as_large):
    content = made_locally()[::-1] if is_as_large else OLD[::-1]
    said = problem_of(there, *there.lost(), there.looks_again(do=others(there, content)))
    assert said == (
        f"there was no answer to the last request ({there.kind.broken}), and the object has since"
        f" become another one, of {len(content)} bytes"
    )
    assert there.server.objects == {NAME: content}


# ------------------------------------------------------------------------------------------------
# Kills and interrupts

KILLED = {
    "s3 parts": (*WAYS["s3 parts"].asks,),
    "azure copied": (*WAYS["azure copied"].asks,),
    "google append": (*WAYS["google append"].asks,),
    "google parts": ("BEGIN", "PART"),
}
# The command does not wait for the threads that write.
INTERRUPTED = {
    "s3 parts": ("COPY", "COMPLETE"),
    "azure copied": ("COPY", "COMMIT"),
    "google append": ("INSERT", "COMPOSE"),
}
SETTINGS = (
    (s3_adapter, "LEAST_BYTES"),
    (azure_adapter, "WHOLE_BYTES"),
    (gcs_adapter, "WHOLE_BYTES"),
    (gcs_adapter, "SENT_BYTES"),
)


@pytest.fixture(scope="module")
def commands():
    with killed.commands() as commands:
        yield commands


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("name", "number", "kind"),
    [
        (name, number, kind)
        for number, ways in ((signal.SIGKILL, KILLED), (signal.SIGINT, INTERRUPTED))
        for name, kinds in ways.items()
        for kind in kinds
    ],
)
def test_a_kill_leaves_the_old_object_or_the_new_one(
    request, monkeypatch, commands, name, number, kind
):
    there = replaced(request, monkeypatch, name)
    made, server = made_locally(), there.server
    arguments = ["build", there.url, "--in-place", "-c", "int64", *there.words]
    settings = [(module.__name__, each, getattr(module, each)) for module, each in SETTINGS]
    settings.append((replacement.__name__, "_ignored_in", {(server.endpoint, "lake"): ""}))
    server.faults.append(Fault(kind=kind, do=lambda: commands.kill(number)))
    code, said = commands.run(arguments, settings)
    assert code == -number
    assert said == ("" if number == signal.SIGKILL else "pbloom: interrupted\n")
    assert server.objects[NAME] in (OLD, made)
    left = server.objects.keys() - {NAME}
    assert all(is_left(each.rpartition("/")[2], 0, 0) for each in left)
    server.faults.clear()
    there.build()
    assert re.fullmatch(rb"PAR1.*PAR1", server.objects[NAME], re.DOTALL)
    # Which finds only the object.
    (found,), errors = expand([f"{there.kind.scheme}://lake/day=1/"], there.options)
    assert (str(found.path), errors) == (there.url, [])
    assert pb.validate(there.url, storage_options=there.options).ok


@pytest.mark.every(3)
@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
def test_an_interrupt_leaves_the_old_object_or_the_new_one(there, is_done):
    """At any request."""
    send = sending.Sender.send
    for number in count():
        there.reset()
        sent, asked = count(), []

        def interrupted(sender, *given, number=number, sent=sent, asked=asked):
            # By whom the object is read.
            is_reading = sender.failures is requests.OBSTORE
            if is_reading or next(sent) != number:
                return send(sender, *given)
            if is_done:
                send(sender, *given)
            asked += there.server.kinds()
            raise KeyboardInterrupt

        with mock.patch.object(sending.Sender, "send", interrupted):
            try:
                there.build()
            except KeyboardInterrupt:
                pass
            else:
                break
        is_written = asked.count(there.way.last) > there.way.nth
        assert there.server.objects[NAME] == (made_locally() if is_written else OLD), asked
        last = asked[-1]
        # Nobody removes a temporary object twice; of an upload without an answer, none knows the number.
        is_left_over = is_written and not is_done and there.kind is GOOGLE
        assert len(there.server.objects) == 1 or is_left_over, asked
        is_unknown = is_done and last in ("CREATE", "BEGIN")
        assert is_unknown or there.pending() == {}, asked
    assert number > len(there.way.asks) // 2


def test_an_interrupt_while_it_waits(there, monkeypatch):
    def interrupt(seconds):
        raise KeyboardInterrupt

    # Of this module alone: other threads of the process sleep too, a session of Spark's among them.
    monkeypatch.setattr(
        sending, "time", SimpleNamespace(sleep=interrupt, monotonic=time.monotonic, time=time.time)
    )
    last = Fault(kind=there.way.last, skip=there.way.nth, times=99, **there.kind.fails(503))
    there.server.faults.append(last)
    with pytest.raises(KeyboardInterrupt):
        there.build()
    assert there.server.objects == {NAME: OLD}


# ------------------------------------------------------------------------------------------------
# Certificates

_SIGNED = f"https://store.lan/lake/a.parquet?uploadId={SECRET}"
_UNTRUSTED = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer certificate"


@pytest.mark.parametrize(
    ("url", "options", "failures", "error", "variable"),
    [
        (
            "s3://lake/a.parquet",
            {"endpoint": "https://store.lan"},
            s3_client.BOTO3,
            of_boto3.SSLError(endpoint_url=_SIGNED, error=_UNTRUSTED),
            "AWS_CA_BUNDLE",
        ),
        (
            "gs://lake/a.parquet",
            {"base_url": "https://store.lan"},
            gcs_client.GOOGLE,
            SSLError(f"{_SIGNED}: {_UNTRUSTED}"),
            "REQUESTS_CA_BUNDLE",
        ),
        (
            "az://lake/a.parquet",
            {"endpoint": "https://store.lan"},
            azure_client.AZURE,
            ServiceRequestError(f"{_SIGNED}: {_UNTRUSTED}"),
            "REQUESTS_CA_BUNDLE",
        ),
    ],
)
def test_a_certificate_that_only_obstore_trusts(url, options, failures, error, variable):
    """SSL_CERT_FILE is read by obstore alone, so that files are read and not changed."""
    found = failures.as_os_error(Address.of(with_options(url, options)), error, NOTHING)
    assert (found.filename, found.strerror) == (
        url,
        (
            f"the certificate of store.lan is not trusted: set {variable} to a file with that of its authority, or,"
            f" if it must be, set the storage option allow_invalid_certificates=true; {NOTHING}"
        ),
    )


@pytest.mark.parametrize("kind", ["ConnectTimeoutError", "ReadTimeoutError"])
def test_no_url_of_a_request_is_in_messages(kind):
    """These errors of boto3 are OSErrors, which else speak for themselves."""
    error = getattr(of_boto3, kind)(endpoint_url=_SIGNED, error="timed out")
    found = s3_client.BOTO3.as_os_error(Address.of("s3://lake/a.parquet"), error, NOTHING)
    assert found.strerror == f"no answer: {kind}; {NOTHING}"
