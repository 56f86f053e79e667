"""URLs that are signed: why they are refused, and what helps."""

import pytest
from conftest import FIXTURES
from make.commands import outcome
from make.object_server import SECRET, Fault

import parquet_bloom as pb

NAME = "lake/x.parquet"
DATA = (FIXTURES / "pyarrow_types.parquet").read_bytes()
DENIED = "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
LATE = "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"
OTHER = "<Error><Code>SignatureDoesNotMatch</Code></Error>"
OLD_TOKEN = (
    "<Error><Code>ExpiredToken</Code><Details>Request signature expired at: x</Details></Error>"
)
AZURE_LATE = (
    "<Error><Code>AuthenticationFailed</Code><AuthenticationErrorDetail>Signature not valid in the"
    " specified time frame</AuthenticationErrorDetail></Error>"
)
SIGNED = f"X-Amz-Signature={SECRET}"
ENDED = "the signed URL has expired"
MAYBE = f"reading was refused (403 AccessDenied): {ENDED}, or who signed it may not read there: sign it anew"


@pytest.fixture
def store(server):
    server.put(NAME, DATA)
    return server


@pytest.mark.parametrize(
    ("query", "status", "body", "said"),
    [
        (SIGNED, 403, DENIED, MAYBE),
        (f"sig={SECRET}", 403, DENIED, MAYBE),
        (f"X-Amz-Date=20990101T000000Z&X-Amz-Expires=60&{SIGNED}", 403, DENIED, MAYBE),
        (f"se=never&sig={SECRET}", 403, DENIED, MAYBE),
        (f"X-Amz-Date=99990101T000000Z&X-Amz-Expires=9999999999&{SIGNED}", 403, DENIED, MAYBE),
        (SIGNED, 403, LATE, f"{ENDED} (403 AccessDenied): sign it anew"),
        (
            f"X-Amz-Date=20200101T000000Z&X-Amz-Expires=60&{SIGNED}",
            403,
            DENIED,
            f"{ENDED} (403 AccessDenied): sign it anew",
        ),
        (
            f"X-Goog-Date=20200101T000000Z&X-Goog-Expires=60&X-Goog-Signature={SECRET}",
            400,
            "<Error><Code>ExpiredToken</Code></Error>",
            f"{ENDED} (400 ExpiredToken): sign it anew",
        ),
        (f"X-Goog-Signature={SECRET}", 400, OLD_TOKEN, f"{ENDED} (400 ExpiredToken): sign it anew"),
        (
            f"AWSAccessKeyId=A&Expires=1600000000&Signature={SECRET}",
            403,
            DENIED,
            f"{ENDED} (403 AccessDenied): sign it anew",
        ),
        (
            f"sv=2024&se=2020-01-01T00%3A00%3A00Z&sig={SECRET}",
            403,
            "",
            f"{ENDED} (403 Forbidden): sign it anew",
        ),
        (f"se=2020-01-01&sig={SECRET}", 403, "", f"{ENDED} (403 Forbidden): sign it anew"),
        (f"sig={SECRET}", 403, AZURE_LATE, f"{ENDED} (403 AuthenticationFailed): sign it anew"),
        (
            SIGNED,
            403,
            OTHER,
            (
                "reading was refused (403 SignatureDoesNotMatch): the signature is not that of this URL: pass the whole"
                " of it, in quotes, as it was signed"
            ),
        ),
        (
            SIGNED,
            301,
            "<Error><Code>PermanentRedirect</Code></Error>",
            "the bucket is in another region: expected a URL that is signed for that, and names its host",
        ),
        (
            SIGNED,
            400,
            "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>",
            "the bucket is in the region eu-west-1: expected a URL that is signed for that, and names its host",
        ),
    ],
)
def test_why_a_signed_url_is_refused(store, query, status, body, said):
    url = f"{store.endpoint}/{NAME}"
    store.faults.append(Fault(status, body, times=10))
    run = outcome("inspect", f"{url}?{query}")
    assert (run.code, run.complaint) == (2, f"{url}: {said}")
    assert store.count() == 1


def test_a_signed_url_and_an_object_in_one_command(store):
    """What only the store knows of the options is not said of the web server."""
    options = [
        word for pair in store.options.items() for word in ("--storage-option", "=".join(pair))
    ]
    signed = f"{store.endpoint}/{NAME}?{SIGNED}"
    run = outcome("inspect", signed, f"s3://{NAME}", *options, "--summary")
    assert (run.code, run.stderr) == (0, "")
    assert pb.inspect(signed, storage_options={"aws_region": "x", "timeout": "9s"}).size == len(
        DATA
    )


def test_an_option_that_no_store_has(store):
    url = f"{store.endpoint}/{NAME}"
    run = outcome("inspect", url, "--storage-option", "tiemout=9s")
    assert (
        run.complaint
        == f"{url}: no storage option tiemout; did you mean timeout, read_timeout, connect_timeout?"
    )
    run = outcome("inspect", url, "--storage-option", "xyz=9s")
    assert run.complaint == (
        f"{url}: no storage option xyz; those of web servers are allow_http, allow_invalid_certificates,"
        " connect_timeout, proxy_ca_certificate, proxy_excludes, proxy_url, read_timeout, timeout"
    )


@pytest.fixture
def signed(store, tmp_path):
    """An index over a signed URL, and the same URL as it is signed anew."""
    first, anew = (f"{store.endpoint}/{NAME}?{SIGNED}&X-Amz-Date={day}" for day in (1, 2))
    place = tmp_path / "i"
    pb.Index.build(place, [first], "int64").close()
    return place, anew


def test_an_index_over_a_url_that_is_signed_anew(store, signed):
    place, anew = signed
    run = outcome("index", "add", "--index", place, anew)
    assert (run.code, run.stderr) == (0, "")
    store.forget()
    run = outcome("index", "add", "--index", place)
    assert (run.code, run.stderr) == (0, "")
    assert [each.query for each in store.asked] == [anew.partition("?")[2]]


def test_another_version_is_not_the_same_signed_anew(signed):
    place, anew = signed
    url = anew.partition("?")[0]
    run = outcome("index", "add", "--index", place, f"{anew}&versionId=2")
    twice = "named twice with different options, which are not shown: ask each by itself"
    assert (run.code, run.complaint) == (2, f"{url}: {twice}")


def test_a_url_that_is_signed_anew_is_removed_from_an_index(store, signed):
    place, anew = signed
    run = outcome("index", "remove", "--index", place, anew)
    left = f"`pbloom index add --index {place} FILE...` names some"
    told = f"{place}: is about no file or folder any more: {left}"
    assert (run.code, run.complaint) == (0, told)
    assert "1 removed" in run.stdout
    store.forget()
    assert outcome("index", "add", "--index", place).code == 0
    assert store.asked == []
