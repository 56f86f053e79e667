"""URLs with signatures, keys and passwords, wherever a command takes a path: nothing of them is written."""

import pickle
import time
import traceback

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome

import parquet_bloom as pb
from parquet_bloom.commands.conformance import conformance
from parquet_bloom.commands.index import index
from parquet_bloom.commands.pbloom import cli
from parquet_bloom.errors import RewriteError, without_secrets

# Each takes a session of its own; their options are of the same types.
ON_SPARK = "spark"

COMMANDS = {
    **{(name,): cli.commands[name] for name in cli.commands},
    **{("index", name): each for name, each in index.commands.items()},
    **{("conformance", name): each for name, each in conformance.commands.items()},
}
GIVEN = {"column": ("-c", "id"), "values": ("-v", "7"), "index": ("--index", "ix")}

SECRET = "SECRETX"
NOBODY = "127.0.0.1:1"
URLS = {
    "signed": f"http://{NOBODY}/x.parquet?X-Amz-Expires=9&X-Amz-Signature={SECRET}",
    "keys": f"s3://b/k.parquet?secret_key={SECRET}&access_key=AK&endpoint_override={NOBODY}&scheme=http",
    "password": f"http://user:{SECRET}@{NOBODY}/x.parquet",
    "unlisted": f"ftp://{NOBODY}/d/?password={SECRET}",
}


def is_place(param):
    of_path = isinstance(param.type, click.Path | click.File)
    return of_path or (param.metavar or "").strip("[].") in ("FILE", "DIR", "PATH")


def places():
    for path, command in COMMANDS.items():
        if isinstance(command, click.Group) or path == (ON_SPARK,):
            continue
        for param in command.params:
            if is_place(param):
                yield path, param


def words(command, place, url):
    """A call in which everything else that it needs is there."""
    found = []
    for param in command.params:
        if param is place:
            found += [url] if isinstance(param, click.Argument) else [param.opts[0], url]
        elif isinstance(param, click.Argument):
            found.append("e.parquet")
        elif param.name in GIVEN and not ("ids" in place.opts[0] or "values" in place.opts[0]):
            found += GIVEN[param.name]
    return found


def name_of(each):
    return each if isinstance(each, str) else " ".join(getattr(each, "opts", each))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": range(100)}), "e.parquet")
    pb.Index.build("ix", ["e.parquet"], ["id"])


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize(("path", "param"), [*places()], ids=name_of)
def test_no_message_has_what_a_url_must_not_show(path, param, url):
    for more in ((), ("--debug",)):
        result = outcome(*more, *path, *words(COMMANDS[path], param, URLS[url]))
        assert SECRET not in result.output


def test_messages_say_that_there_was_a_query():
    signed = URLS["signed"]
    result = outcome("build", "e.parquet", "-c", "id", "-o", signed)
    assert result.complaint == (
        f"--output: 'http://{NOBODY}/x.parquet?QUERY' is a URL, expected a local path; upload it from there: web"
        " servers are read-only"
    )
    result = outcome("build", "e.parquet", "-c", "id", "-o", URLS["keys"])
    assert result.complaint == (
        "--output: 's3://b/k.parquet?QUERY' is a URL, expected a local path; objects are changed with --in-place"
    )
    result = outcome("build", "e.parquet", "-c", "id", "--in-place", "--keys", signed)
    assert result.complaint == (
        f"--keys: 'http://{NOBODY}/x.parquet?QUERY' is a URL, expected a local path"
    )
    result = outcome("index", "remove", "--index", "ix", signed)
    assert result.complaint == f"http://{NOBODY}/x.parquet?QUERY: not in the index ix"


CALLS = {
    "build": lambda url: pb.build("e.parquet", url, columns=["id"]),
    "recover": pb.recover,
    "strip": lambda url: pb.strip("e.parquet", url),
    "remove": lambda url: pb.Index("ix").remove(url),
    "index": lambda url: pb.Index.build(url, ["e.parquet"], ["id"]),
}


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("verb", CALLS)
def test_no_exception_has_it(verb, url):
    with pytest.raises((pb.ParquetBloomError, OSError)) as raised:
        CALLS[verb](URLS[url])
    assert SECRET not in "".join(traceback.format_exception_only(raised.value))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://h/x?sv=1&se=2026-01-01T00:00:00Z&sig=a%2Bb: no", "https://h/x?QUERY: no"),
        ("'s3://b/my k?secret_key=a/b+c=' is", "'s3://b/my k?QUERY' is"),
        ("https://h/a?k=1 and gs://b/c?token; x", "https://h/a?QUERY and gs://b/c?QUERY; x"),
        ("s3://KEY:WORD@b/k: gone", "s3://b/k: gone"),
        ("no a?https://h/x?sig=1?2", "no a?https://h/x?QUERY"),
    ],
)
def test_what_is_taken_out(text, shown):
    assert without_secrets(text) == shown
    assert str(RewriteError(text)) == str(pickle.loads(pickle.dumps(RewriteError(text)))) == shown


@pytest.mark.parametrize(
    "text", ["s3://a/" * 50_000, "s3://a?" * 50_000, f"{':/' * 100_000}?", f"s3://{':' * 100_000}"]
)
def test_long_messages_take_no_time(text):
    """A file may say what its columns are called."""
    began = time.process_time()
    without_secrets(text)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "text",
    [
        "s3://b/k: no column a?b; did you mean b?",
        "pbloom probe 'https://h/x?QUERY' -c a?b",
        "abfss://c@account.dfs.core.windows.net/k: gone",
        "file:///tmp/a?b.parquet: no such file",
        "lake/?.parquet: no Parquet or ORC files",
    ],
)
def test_what_is_left(text):
    assert without_secrets(text) == text
