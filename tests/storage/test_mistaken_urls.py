"""URLs as people write them: each answers about what it names, or says in one line what is wrong."""

import gzip
from dataclasses import replace

import pytest
from conftest import FIXTURES
from make.commands import outcome
from make.object_server import Fault

import parquet_bloom as pb
from parquet_bloom.storage.objects import sending

FIXTURE = FIXTURES / "pyarrow_filters.parquet"
DATA = FIXTURE.read_bytes()
OTHER = (FIXTURES / "java_filters.parquet").read_bytes()
DOTS = "one of dots (//, /./, /../)"
UNREACHABLE = f"a key with an empty part, or {DOTS}, cannot be reached"


def words(server):
    given = [f"{name}={value}" for name, value in server.options.items()]
    return [word for each in given for word in ("--storage-option", each)]


def inspected(server, *urls):
    return outcome("inspect", *urls, *words(server), "--summary")


def complaint(server, url):
    result = inspected(server, url)
    assert (result.code, result.stdout) == (2, "")
    return result.complaint


def size_of(server, url):
    return pb.inspect(url, storage_options=server.options).size


@pytest.mark.parametrize(
    ("key", "url"),
    {
        "a b": "a b",
        "a%20b": "a%2520b",
        "a+b": "a+b",
        "a#b": "a#b",
        "a?b": "a%3Fb",
        "ü€": "ü€",
        "é": "%C3%A9",
        "a&b=c;d": "a&b=c;d",
        "[1]": "%5B1%5D",
        "a*b": "a%2Ab",
        "d=2020-01-01 00%3A00": "d=2020-01-01 00%253A00",
        " a": " a",
        'a"b\\c': 'a"b\\c',
    }.items(),
)
def test_keys_that_a_url_has_to_escape(server, key, url):
    """No other object is taken for it, and none beside it."""
    server.put(f"lake/d/{key}.parquet", DATA)
    for other in ("1", "axb", "aab", "a", "b"):
        server.put(f"lake/d/{other}.parquet", OTHER)
    assert size_of(server, f"s3://lake/d/{url}.parquet") == len(DATA)
    result = inspected(server, f"s3://lake/d/{url}.parquet")
    assert (result.code, result.stderr) == (0, "")
    assert "1 file" in result.stdout


def test_encoded_wildcards_beside_others(server):
    for key in ("[x]/a*1", "[x]/a*2", "[x]/ab1", "x/a*1"):
        server.put(f"lake/{key}.parquet", DATA)
    from parquet_bloom.storage.paths import expand

    def found(name):
        inputs, errors = expand([name], server.options)
        assert errors == []
        return [str(each.path) for each in inputs]

    ones = [f"s3://lake/%5Bx%5D/a%2A{number}.parquet" for number in (1, 2)]
    assert found("s3://lake/%5Bx%5D/a%2A*.parquet") == ones
    assert found("s3://lake/%5Bx%5D/a%2a[12].parquet") == ones
    assert found("s3://lake/[x]/*") == ["s3://lake/x/a%2A1.parquet"]
    assert found(ones[0]) == ones[:1]
    assert len(found("s3://lake/%5Bx%5D/")) == 3


def test_what_follows_a_question_mark_is_not_ignored(server):
    server.put("lake/a.parquet", DATA)
    server.put("lake/a.parquet?x.parquet", OTHER)
    hint = "if it is part of a key, write the question mark before it as %3F"
    for query, name in {"?x.parquet": "x.parquet", "?.parquet": ".parquet", "?v": "v"}.items():
        said = complaint(server, f"s3://lake/a.parquet{query}")
        assert said == f"s3://lake/a.parquet: no storage option {name}; {hint}"
    assert "no storage option versionid" in complaint(server, "s3://lake/a.parquet?versionId=1")
    assert size_of(server, "s3://lake/a.parquet%3Fx.parquet") == len(OTHER)
    assert server.count() == 1


@pytest.mark.parametrize("key", ["/d/a", "d//a", "d/./a", "d/../a", "../a"])
def test_keys_with_empty_parts_or_dots(server, key):
    """For obstore, `/d/a` and `d/a` are one."""
    server.put(f"lake/{key}.parquet", OTHER)
    server.put("lake/d/a.parquet", DATA)
    url = f"s3://lake/{key}.parquet"
    assert complaint(server, url) == f"{url}: {UNREACHABLE}"
    result = outcome("build", url, "-c", "string", "--in-place", "--dry-run")
    assert (result.code, server.asked) == (2, [])
    if key == "d//a":
        assert complaint(server, "s3://lake/d/") == (
            "s3://lake/d/: contains an object whose key has an empty part, one of dots, or a"
            " control character (//, /./, /../), so it cannot be listed: name folders or files next"
            " to it"
        )
    assert size_of(server, "s3://lake/d/a.parquet") == len(DATA)


@pytest.mark.parametrize("url", ["s3://", "s3:///lake/a.parquet", "gs://", "az:///a.parquet"])
def test_nothing_is_named(server, url):
    server.put("lake/a.parquet", DATA)
    assert complaint(server, url) == f"{url}: names no bucket, container or server"
    assert server.asked == []


def test_folders_as_jobs_leave_them(server, tmp_path):
    marks = (
        "_SUCCESS",
        ".a.parquet.crc",
        "_metadata",
        "a.crc",
        "_temporary/0/b.parquet",
        "c.parquet/",
    )
    for name in marks:
        server.put(f"lake/d/{name}", b"")
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    for name in ("a.parquet", "part-0.c000.snappy.parquet"):
        server.put(f"lake/d/{name}", DATA)
    result = inspected(server, "s3://lake/d", FIXTURE, FIXTURE.as_uri())
    assert (result.code, result.stderr) == (0, "")
    assert "3 files" in result.stdout  # The fixture is named twice.
    assert complaint(server, "s3://lake/d/_SUCCESS") == (
        "s3://lake/d/_SUCCESS: not a Parquet file: 0 bytes, expected 12 or more; it is empty: take another copy"
    )
    for name in ("d/*.nope", "d/x*", "d/a.parquet/", "e/"):
        assert (
            complaint(server, f"s3://lake/{name}") == f"s3://lake/{name}: no Parquet or ORC files"
        )


@pytest.mark.parametrize("glob", ["", "*", "*.parquet", "**/*.parquet"])
def test_an_empty_object_is_no_mark(server, tmp_path, glob):
    """As with local files: a writer that was killed may have left it. Folders have marks, with a slash or without."""
    for name in ("a.parquet", "x.parquet/a.parquet"):
        server.put(f"lake/d/{name}", DATA)
    for name in ("_SUCCESS", "x.parquet", "y.parquet/"):
        server.put(f"lake/d/{name}", b"")
    assert inspected(server, f"s3://lake/d/{glob}").stderr == ""
    server.put("lake/d/b.parquet", b"")
    problem = "not a Parquet file: 0 bytes, expected 12 or more"
    result = inspected(server, f"s3://lake/d/{glob}")
    assert (result.code, result.complaint) == (
        2,
        f"s3://lake/d/b.parquet: {problem}; it is empty: take another copy",
    )
    (tmp_path / "b.parquet").touch()
    found = pb.find(
        [f"s3://lake/d/{glob}", str(tmp_path)], "string", "x", storage_options=server.options
    )
    assert {each.reason for each in found.unknown} == {problem}
    assert len(found.unknown) == 2


def test_files_of_a_host(tmp_path, monkeypatch):
    """`file://a/b` is not the file `a/b`, and neither `/b`."""
    monkeypatch.chdir(FIXTURES)
    for url in (f"file://fixtures{FIXTURE}", f"file://{FIXTURE.name}", f"file://x/{FIXTURE.name}"):
        host = url[7:].partition("/")[0]
        result = outcome("inspect", url)
        assert (result.code, result.complaint) == (
            2,
            f"{url}: is on the host {host}, expected file:///PATH",
        )
    for url in (FIXTURE.as_uri(), f"file://localhost{FIXTURE}", f"file:{FIXTURE}"):
        assert pb.inspect(url).size == len(DATA)


# ------------------------------------------------------------------------------------------------
# Web servers


@pytest.fixture
def web(server):
    server.put("ok/a.parquet", DATA)
    return server


def asked(web, place="ok/a.parquet"):
    return outcome("inspect", f"{web.endpoint}/{place}", "--summary")


def refused(web, place="ok/a.parquet"):
    result = asked(web, place)
    assert (result.code, result.stdout) == (2, "")
    return result.complaint.removeprefix(f"{web.endpoint}/{place.partition('?')[0]}: ")


def test_redirects(web):
    web.faults.append(Fault(302, headers={"Location": "/ok/a.parquet"}))
    assert asked(web, "from/a.parquet").code == 0
    assert [each.path for each in web.asked] == ["from/a.parquet", "ok/a.parquet"]
    loop = Fault(302, headers={"Location": "/from/a.parquet"}, times=1000)
    web.faults[:] = [loop]
    assert refused(web, "from/a.parquet").startswith("no answer: ")


def test_a_body_that_was_compressed_on_the_way(web):
    """Its ranges are those of other bytes."""
    web.properties["ok/a.parquet"] = {"Content-Encoding": "gzip"}
    web.put("ok/a.parquet", gzip.compress(DATA, mtime=0))
    assert refused(web) == (
        "truncated or not a Parquet file: does not end with PAR1"
        "; if it was one, its end is lost: take another copy"
    )
    web.has_ranges = False
    assert refused(web) == "the server sends no ranges of bytes"


def test_a_page_instead_of_a_file(web):
    web.put("ok/a.parquet", b"<html>please log in</html>")
    assert refused(web) == (
        "truncated or not a Parquet file: does not end with PAR1, but as HTML does; it may be what a server said instead"
        " of sending the file: take another copy"
    )


@pytest.mark.parametrize("size", ["*", "5", "99999999"])
def test_ranges_that_cannot_be(web, size):
    web.faults.append(
        Fault(
            206,
            DATA[-12:].decode("latin-1"),
            headers={"Content-Range": f"bytes 0-11/{size}"},
            times=99,
        )
    )
    assert refused(web)


def test_signed_urls_keep_their_query(web):
    query = "X-Amz-Signature=a%2Fb&X-Amz-Date=1"
    assert asked(web, f"ok/a.parquet?{query}").code == 0
    result = asked(web, f"no/a.parquet?{query}")
    assert (result.code, "Signature" in result.output) == (2, False)


def test_a_web_server_has_no_globs(web):
    assert refused(web, "ok/*.parquet") == "no such object"
    assert refused(web, "ok//a.parquet") == UNREACHABLE


@pytest.mark.parametrize("endpoint", ["minio:9000", "", "foo", "http://", "ftp://host"])
def test_an_endpoint_that_is_no_url(server, endpoint):
    """obstore panics at these."""
    options = server.options | {"endpoint": endpoint}
    with pytest.raises(OSError, match="endpoint") as raised:
        pb.inspect("s3://lake/a.parquet", storage_options=options)
    said = f"endpoint: {endpoint!r}, expected http:// or https:// and a host"
    assert raised.value.strerror == said
    with pytest.raises(OSError, match="endpoint") as raised:
        pb.inspect(f"s3://lake/a.parquet?endpoint={endpoint}")
    assert raised.value.strerror == said


PLACES = [
    ("s3://lake", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"),
    ("gs://lake", "Google_Base_URL", "GOOGLE_BASE_URL"),
    ("az://lake", "azure_storage_endpoint", "AZURE_ENDPOINT"),
]


@pytest.mark.parametrize(("store", "option", "variable"), PLACES)
@pytest.mark.parametrize("is_option", [True, False])
def test_an_endpoint_under_any_of_its_names(monkeypatch, store, option, variable, is_option):
    for name in ("AWS_ENDPOINT_URL", "GOOGLE_BASE_URL", "AZURE_STORAGE_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    options = {"skip_signature": "true"} | ({option: "minio:9000"} if is_option else {})
    if not is_option:
        monkeypatch.setenv(variable, "minio:9000")
    with pytest.raises(OSError, match="minio") as raised:
        pb.inspect(f"{store}/a.parquet", storage_options=options)
    name = "endpoint" if is_option else variable
    said = f"{name}: 'minio:9000', expected http:// or https:// and a host"
    assert (raised.value.strerror, raised.value.filename) == (said, f"{store}/a.parquet")


def test_an_endpoint_of_another_cloud(web, monkeypatch):
    """It is not asked for, so it need not be one."""
    for name in ("AWS_ENDPOINT_URL", "GOOGLE_BASE_URL", "AZURE_ENDPOINT"):
        monkeypatch.setenv(name, "minio:9000")
    result = outcome("inspect", f"{web.endpoint}/ok/a.parquet", "--summary")
    assert (result.code, result.stderr) == (0, "")


def test_wildcards_that_glob_has_escaped(server):
    server.put("lake/d/a*.parquet", DATA)
    server.put("lake/d/ab.parquet", OTHER)
    result = inspected(server, "s3://lake/d/a[*].parquet")
    assert (result.code, result.stderr) == (0, "")
    assert "1 file" in result.stdout
    result = inspected(server, "s3://lake/d/[a]*.parquet")
    assert "2 files" in result.stdout


@pytest.mark.parametrize("url", ["s3://buck*et/x.parquet", "s3://b[1]/x.parquet", "s3://b?x/"])
def test_a_wildcard_in_a_bucket(server, url):
    assert complaint(server, url).startswith("s3://b")


def test_brackets_that_are_no_host(server):
    with pytest.raises(OSError, match="URL") as raised:
        pb.inspect("s3://[b/x.parquet")
    assert (raised.value.strerror, raised.value.filename) == (
        "not a URL: Invalid IPv6 URL",
        "s3://[b/x.parquet",
    )


@pytest.mark.parametrize("body", ["<html><body><p>Log in</p></body></html>", "<a/>"])
@pytest.mark.parametrize(
    ("verb", "name"),
    [
        (["inspect"], ""),
        (["inspect"], "day=*/*.parquet"),
        (["find", "-c", "int64", "-v", "1"], ""),
        (["find", "-c", "int64", "-v", "1"], "day=*/*.parquet"),
        (["clean-temp"], ""),
        (["clean-temp"], "day=1/"),
    ],
)
def test_a_web_page_is_no_empty_folder(server, body, verb, name):
    """Its XML is no listing, and would be one of nothing."""
    server.faults += [Fault(200, body, kind=kind, times=99) for kind in ("LIST", "HEAD", "GET")]
    result = outcome(*verb, f"s3://lake/{name}", *words(server))
    assert result.code == 2
    assert (
        f"s3://lake/{name}: what answers at 127.0.0.1:{server.port} is no object store: expected 404 for a key that"
        " is in none, found 200; --storage-option endpoint=URL names another host"
    ) in result.stderr


def test_what_helps_with_bytes_behind_a_whole_object(server):
    """No command changes the object itself."""
    server.put("lake/a.parquet", DATA + DATA[: len(DATA) // 2])
    said = f" a whole file: `head -c {len(DATA)}` of a local copy is that file"
    assert said in complaint(server, "s3://lake/a.parquet")


NOT_FOUND = "<html><body>Error code: 404</body></html>"
VERBS = {
    "inspect": ["inspect"],
    "build": ["build", "-c", "int64", "--in-place"],
    "index": ["index", "add", "--index"],
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", ["a.parquet", "day=1/b.parquet", "c", "day=1/"])
def test_a_web_server_has_not_lost_an_object(server, verb, name):
    """Its 404 is as a store's, but for the code in it; there is none in an answer to HEAD."""
    server.faults += [
        Fault(404, NOT_FOUND, kind=kind, times=99) for kind in ("LIST", "HEAD", "GET")
    ]
    result = outcome(*VERBS[verb], f"s3://lake/{name}", *words(server))
    assert (result.code, result.complaint) == (2, (
        f"s3://lake/{name}: what answers at 127.0.0.1:{server.port} is no object store: expected a store's code, such"
        " as NoSuchBucket, with 404, found none; --storage-option endpoint=URL names another host"
    ))  # fmt: skip


@pytest.mark.parametrize("scheme", ["gs", "az"])
def test_a_web_server_is_neither_of_the_other_stores(server, scheme):
    server.faults += [
        Fault(404, NOT_FOUND, kind=kind, times=99) for kind in ("LIST", "HEAD", "GET")
    ]
    named = {"gs": "base_url", "az": "endpoint"}[scheme]
    options = {named: server.endpoint, "skip_signature": "true"}
    options |= {"account_name": "a"} if scheme == "az" else {}
    with pytest.raises(
        OSError, match=rf"is no object store: expected a store's code.* option {named}=URL"
    ):
        pb.inspect(f"{scheme}://lake/a.parquet", storage_options=options)


def test_a_store_that_gives_no_code_is_asked_for_its_list_once(server):
    server.put("lake/a.parquet", DATA)
    server.faults.append(Fault(404, kind="GET", times=2))
    for _ in range(2):
        assert complaint(server, "s3://lake/x.parquet").startswith(
            "s3://lake/x.parquet: no such object"
        )
    assert server.count("LIST") == 1


def test_a_bucket_that_is_not_there_is_named_with_the_object(server):
    gone = Fault(404, "<Error><Code>NoSuchBucket</Code></Error>", kind="LIST", times=9)
    server.faults += [gone, replace(gone, kind="GET")]
    for name in ("a.parquet", "day=1/a.parquet"):
        url = f"s3://lake/{name}"
        result = outcome("build", url, "-c", "int64", "--in-place", *words(server))
        assert (result.code, result.complaint) == (2, f"{url}: no bucket lake")


def test_the_bucket_is_in_the_endpoint_too(server):
    """Then a listing of the bucket is asked for as an object in it."""
    gone = "<Error><Code>NoSuchKey</Code></Error>"
    server.faults += [Fault(404, gone, kind=kind, times=99) for kind in ("LIST", "HEAD", "GET")]
    options = {**server.options, "endpoint": f"{server.endpoint}/lake"}
    for name in ("a.parquet", "day=1/"):
        with pytest.raises(FileNotFoundError) as raised:
            pb.inspect(f"s3://lake/{name}", storage_options=options)
        assert raised.value.strerror.endswith(
            "; the endpoint ends with /lake, expected it without the bucket"
        )


def test_a_web_page_has_no_ranges(server):
    server.faults += [Fault(200, "<a/>", kind=kind, times=99) for kind in ("LIST", "HEAD", "GET")]
    for verb in ("inspect", "build"):
        result = outcome(*VERBS[verb], "s3://lake/a.parquet", *words(server))
        assert (result.code, result.complaint) == (2, (
            "s3://lake/a.parquet: the server sends no ranges of bytes;"
            " --storage-option endpoint=URL names another host"
        ))  # fmt: skip


def test_a_web_page_is_no_folder_without_an_index(server):
    server.faults += [Fault(200, "<a/>", kind=kind, times=99) for kind in ("LIST", "HEAD", "GET")]
    result = outcome("index", "add", "--index", "s3://lake/users.index", *words(server))
    assert "s3://lake/users.index: what answers at " in result.complaint


def test_a_server_that_says_nothing_was_reached(server, monkeypatch):
    monkeypatch.setattr(sending, "PAUSES", ())
    server.delay = 1
    options = [*words(server), "--storage-option", "timeout=100ms"]
    result = outcome("inspect", "s3://lake/a.parquet", *options)
    assert (result.code, result.complaint) == (2, (
        f"s3://lake/a.parquet: no answer from 127.0.0.1:{server.port}: it was reached, and sent nothing in time;"
        " --storage-option endpoint=URL names another host"
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("status", "name"), [(405, "Method Not Allowed"), (500, "Internal Server Error")]
)
def test_what_neither_shows_nor_refuses_an_object_is_no_empty_folder(server, status, name):
    server.faults += [Fault(200, "<a/>", kind="LIST"), Fault(status, kind="HEAD", times=99)]
    assert complaint(server, "s3://lake/") == f"s3://lake/: the store answered {status} {name}"
    # Nor is it taken for a store from then on.
    server.faults[:] = [Fault(200, "<a/>", kind=kind, times=99) for kind in ("LIST", "HEAD")]
    assert "is no object store" in complaint(server, "s3://lake/")


def test_a_store_that_refuses_to_show_what_is_not_there(server):
    server.put("other/x.parquet", DATA)
    server.faults.append(Fault(403, kind="HEAD"))
    assert "no Parquet or ORC files" in complaint(server, "s3://lake/a/")


def test_a_web_page_is_no_bucket_of_google(server):
    server.faults += [Fault(200, "<a/>", kind=kind, times=99) for kind in ("LIST", "HEAD")]
    options = {"base_url": server.endpoint, "skip_signature": "true"}
    with pytest.raises(OSError, match=r"is no object store: expected 404 .* option base_url=URL"):
        pb.inspect(["gs://lake/"], storage_options=options)


def test_an_index_loses_no_files_by_it(server, tmp_path):
    server.put("lake/x.parquet", DATA)
    index = ["index", "add", "--index", tmp_path / "index", *words(server)]
    build = ["index", "build", "s3://lake/", "-c", "int64", *index[2:]]
    assert outcome(*build).code == 0
    server.faults += [Fault(200, "<a/>", kind=kind, times=99) for kind in ("LIST", "HEAD")]
    result = outcome(*index)
    assert result.code == 2
    assert "is no object store" in result.stderr
    server.faults.clear()
    assert "1 file" in outcome(*index).stdout


def test_a_folder_that_is_empty_is_asked_about_once(server):
    server.put("other/x.parquet", DATA)
    for _ in range(2):
        assert "no Parquet or ORC files" in complaint(server, "s3://lake/a/")
    assert server.count("HEAD") == 1


def test_a_folder_that_is_called_as_a_file(server):
    server.put("lake/events.parquet/part-0.parquet", DATA)
    url = "s3://lake/events.parquet"
    assert complaint(server, url) == (
        f"{url}: no such object; a folder that is called so is named with a / at its end"
    )
    assert inspected(server, f"{url}/").code == 0
