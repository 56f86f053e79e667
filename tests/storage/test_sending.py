"""Requests that fail: how often and when they are sent again, and with whose credentials. Asked of whatever
library sends them; the clocks stand still."""

import random
from email.utils import formatdate

import pytest
from make.object_server import SECRET, Fault
from make.replacements import OLD, in_xml

import parquet_bloom as pb
from parquet_bloom.storage.objects import failures, pace, s3_client, sending, stores
from parquet_bloom.storage.objects.failures import ChangeFailures
from parquet_bloom.storage.objects.sending import Renewable, Sender
from parquet_bloom.storage.traffic import GET, Traffic

PREFIX, URL, NAME = "s3://lake/day=1", "s3://lake/day=1/x.parquet", "lake/day=1/x.parquet"
OTHER = "lake/day=2/x.parquet"


class Answer(Exception):
    def __init__(self, status, code="", **headers):
        self.status, self.code, self.headers = status, code, headers


class Answers(ChangeFailures):
    kinds = (Answer,)

    def status(self, error):
        return error.status

    def code(self, error):
        return error.code

    def is_broken(self, error):
        return error.code == "broken"

    def headers(self, error):
        return error.headers


class Waits(list):
    """What is waited, in the place of waiting."""

    def sleep(self, seconds):
        self.append(seconds)

    def monotonic(self):
        return 0.0

    def time(self):
        return 1_800_000_000.0


@pytest.fixture
def waits(monkeypatch):
    waits = Waits()
    for module in (sending, pace, failures):
        monkeypatch.setattr(module, "time", waits)
    monkeypatch.setattr(sending, "PACE", pace.Pace())
    return waits


class Store:
    """Fails as it is told, then answers with who has signed. What signs is a number, one more each time."""

    def __init__(self, *fails, has_held=True):
        self._fails, self.asked, self.made = list(fails), [], 0
        self.traffic, self.signed = Traffic(), Renewable(self._make)
        self.signed.has_held = has_held

    def _make(self):
        self.made += 1
        return self.made

    def send(self):
        return Sender(PREFIX, self.traffic, Answers(), self.signed).send(self._work, GET)

    def _work(self, signed):
        self.asked.append(signed)
        if self._fails:
            raise self._fails.pop(0)
        return signed


@pytest.mark.parametrize("status", sorted(failures.TEMPORARY))
def test_what_may_pass_is_sent_again(waits, status):
    store = Store(*[Answer(status)] * 10)
    assert store.send() == 1
    assert (store.traffic.requests.get, store.traffic.requests.retries) == (11, 10)


def test_each_wait_is_a_random_part_of_twice_the_last(waits, monkeypatch):
    # The store does not ask for less.
    for _ in range(50):
        assert Store(*[Answer(500)] * 10).send() == 1
    rounds = [waits[start : start + 10] for start in range(0, 500, 10)]
    for attempt, longest in enumerate(sending.PAUSES):
        each = [waited[attempt] for waited in rounds]
        assert 0 <= min(each) < 0.2 * longest
        assert 0.8 * longest < max(each) <= longest
    assert all(sum(waited) <= 51.2 for waited in rounds)


def test_the_waits_can_be_repeated(waits):
    for _ in range(2):
        random.seed(34)
        Store(*[Answer(500)] * 5).send()
    assert waits[:5] == waits[5:]


def test_it_ends_after_ten_times(waits):
    store = Store(*[Answer(503, "SlowDown")] * 99)
    with pytest.raises(Answer):
        store.send()
    assert len(store.asked) == 11


@pytest.mark.parametrize(
    "failure", [Answer(400, "Strange"), Answer(403, "AccessDenied"), Answer(404), Answer(412)]
)
def test_what_stays_is_asked_once(waits, failure):
    store = Store(failure)
    with pytest.raises(Answer):
        store.send()
    assert (store.asked, waits) == ([1], [])


@pytest.mark.parametrize("said", ["17", formatdate(1_800_000_017, usegmt=True)])
def test_the_store_says_when_to_come_back(waits, said):
    assert Store(Answer(429, **{"Retry-After": said})).send() == 1
    assert max(waits) == 17


def test_a_store_that_says_nothing_sensible(waits):
    assert Store(Answer(500, **{"Retry-After": "soon"})).send() == 1
    assert waits[0] <= sending.PAUSES[0]


def test_no_longer_than_is_waited_in_all(waits):
    store = Store(Answer(503, **{"retry-after": "40"}), Answer(503, **{"retry-after": "40"}))
    with pytest.raises(Answer):
        store.send()
    assert (len(store.asked), max(waits)) == (2, 40)


@pytest.mark.parametrize(
    ("failure", "is_slower"),
    [(Answer(503), True), (Answer(429), True), (Answer(400, "SlowDown"), True),
     (Answer(500), False), (Answer(0, "broken"), False)],
)  # fmt: skip
def test_complaints_slow_all_requests_of_the_prefix(waits, failure, is_slower):
    Store(failure).send()
    waits.clear()
    Store().send()
    assert bool(waits) == is_slower


# ------------------------------------------------------------------------------------------------
# Credentials that expire

EXPIRED = [
    Answer(400, "ExpiredToken"),
    Answer(403, "InvalidAccessKeyId"),
    Answer(403, "AuthenticationFailed"),
    Answer(401, "authError"),
    Answer(400, ""),
    Answer(400, "400"),
]


@pytest.mark.parametrize("failure", EXPIRED, ids=str)
def test_credentials_that_have_expired_are_taken_anew(waits, failure):
    store = Store(failure)
    assert (store.send(), store.asked) == (2, [1, 2])
    assert (store.traffic.requests.get, store.traffic.requests.retries) == (2, 1)
    assert not waits


def test_new_ones_that_are_no_better_are_taken_once(waits):
    store = Store(EXPIRED[0], EXPIRED[0], EXPIRED[0])
    with pytest.raises(Answer):
        store.send()
    assert (store.asked, store.made) == ([1, 2], 2)


def test_credentials_that_have_never_held_have_not_expired(waits):
    store = Store(EXPIRED[0], has_held=False)
    with pytest.raises(Answer):
        store.send()
    assert (store.asked, store.made) == ([1], 1)


def test_many_requests_with_expired_ones_take_them_anew_once(waits):
    store = Store()
    signed = store.signed
    assert all(signed.renew(1) for _ in range(16))
    assert (store.made, signed.now()) == (2, 2)


def test_a_request_may_be_refused_and_pass_after_it_has_expired(waits):
    store = Store(Answer(500), EXPIRED[0], Answer(500))
    assert (store.send(), store.asked) == (2, [1, 1, 2, 2])


@pytest.fixture
def profile(monkeypatch, tmp_path):
    """Credentials in a file that somebody else renews; gives what does."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "credentials"
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(path))
    monkeypatch.setenv("AWS_PROFILE", "lake")

    def renew(key):
        path.write_text(f"[lake]\naws_access_key_id={key}\naws_secret_access_key={SECRET}\n")

    renew("OLD")
    stores._opened.cache_clear()
    s3_client._client.cache_clear()
    yield renew
    stores._opened.cache_clear()
    s3_client._client.cache_clear()


def keys_in(server):
    """Whose key has signed each request, in their order."""
    headers = [
        {name.lower(): value for name, value in each.headers.items()} for each in server.asked
    ]
    signed = [each["authorization"].partition("Credential=")[2] for each in headers]
    return [each.partition("/")[0] for each in signed]


def expiring(server, profile, kind, skip):
    """After so many requests of a `kind` the old credentials have expired, and new ones are in the file.
    Gives the options of the store, and where the number of the refused request will be."""
    refused = []

    def expire():
        refused.append(len(server.asked) - 1)
        profile("NEW")

    server.faults.append(Fault(400, in_xml("ExpiredToken"), kind=kind, skip=skip, do=expire))
    return {"endpoint": server.endpoint, "region": "us-east-1"}, refused


def test_reading_goes_on_with_new_credentials(server, hundred_groups, profile):
    options, refused = expiring(server, profile, "GET", 2)
    server.put(NAME, hundred_groups.read_bytes())
    report = pb.inspect(URL, storage_options=options)
    assert report.row_groups == pb.inspect(hundred_groups).row_groups
    assert report.requests.retries == 1
    assert refused
    keys = keys_in(server)
    assert (keys[0], keys[-1], set(keys)) == ("OLD", "NEW", {"OLD", "NEW"})


@pytest.mark.parametrize("kind", ["HEAD", "CREATE", "COPY", "PART", "COMPLETE"])
def test_writing_goes_on_with_new_credentials(s3, profile, kind):
    options, refused = expiring(s3, profile, kind, 1)
    urls = URL, f"s3://{OTHER}"
    for url in urls:
        s3.put(url.removeprefix("s3://"), OLD)
        pb.build(url, columns=["int64"], in_place=True, storage_options=options)
    (number,) = refused
    assert s3.asked[number].kind == kind
    keys = keys_in(s3)
    assert set(keys[: number + 1]) == {"OLD"}
    # Parts are sent at the same time, and boto3 itself asks for the region of a bucket that refuses a HEAD.
    assert "NEW" in keys[number + 1 : number + 3]
    assert s3.objects[NAME] == s3.objects[OTHER] != OLD


@pytest.mark.parametrize("is_file", [False, True], ids=["variables", "profile"])
@pytest.mark.parametrize("verb", ["probe", "build"])
def test_credentials_that_are_set_right_after_a_refusal(s3, profile, monkeypatch, verb, is_file):
    """They hold in the same process."""

    def name(key):
        if is_file:
            profile(key)
        else:
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)

    def ask():
        options = {"endpoint": s3.endpoint, "region": "us-east-1"}
        if verb == "probe":
            pb.probe(URL, "int64", 1, storage_options=options)
        else:
            pb.build(URL, columns=["int64"], in_place=True, storage_options=options)

    s3.put(NAME, OLD)
    name("WRONG")
    kind = "GET" if verb == "probe" else "CREATE"
    s3.faults.append(Fault(403, in_xml("SignatureDoesNotMatch"), kind=kind))
    with pytest.raises(PermissionError):
        ask()
    assert {*keys_in(s3)} == {"WRONG"}
    s3.asked.clear()
    name("RIGHT")
    ask()
    assert {*keys_in(s3)} == {"RIGHT"}
