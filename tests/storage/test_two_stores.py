"""Two stores have an object of the same name: each read asks the one that its URL names, and asks it for what the URL
says."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.object_server import ObjectServer

import parquet_bloom as pb
from parquet_bloom.storage import open_source

QUERY = "X-Amz-Signature=a%2Fb&X-Amz-Date=1"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bytes]:
    """A file with a value and its filter."""
    folder = tmp_path_factory.mktemp("data")

    def made(value: str) -> bytes:
        plain, built = folder / f"{value} plain.parquet", folder / f"{value}.parquet"
        if not built.exists():
            pq.write_table(pa.table({"k": [value, f"{value} {value}"]}), plain)
            pb.build(plain, built, columns=["k"])
        return built.read_bytes()

    return made


@pytest.fixture
def other(server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectServer]:
    """The store that the environment names."""
    other = ObjectServer()
    with other.running():
        monkeypatch.setenv("AWS_ENDPOINT_URL", other.endpoint)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "KEY")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        yield other


def by_command(*words: object) -> str:
    result = outcome(*words)
    assert (result.code, result.stderr) == (0, ""), result
    return result.stdout


def only(reports: Any) -> Any:
    assert reports.failures == ()
    (report,) = reports
    return report


def in_polars(url: str) -> int:
    return pb.polars_source(url).filter(pl.col("k") == "right").collect().height


def in_dataset(url: str) -> int:
    found = pb.dataset(url, {"k": "right"})
    assert found.to_table().num_rows == 2
    # As Dask and Ray send it to others.
    return sum(
        pickle.loads(pickle.dumps(each)).to_table().num_rows for each in found.get_fragments()
    )


def indexed(url: str, index: Path) -> Path:
    pb.Index.build(index, [url], columns=["k"]).close()
    return index


def by_index(url: str, index: Path) -> bool:
    with pb.Index(index) as asked:
        return asked.probe("k", "right", files=[url]).is_absent


# What each says of the file with the value, and of the other.
READS: dict[str, tuple[Callable[[str, Path], object], object]] = {
    "probe": (lambda url, _: only(pb.probe([url], "k", "right")).results[0].verdict, "maybe"),
    "inspect": (lambda url, _: only(pb.inspect([url])).num_rows, 2),
    "validate": (lambda url, _: only(pb.validate([url])).checked.filters, 1),
    "find": (lambda url, _: len(pb.find(url, "k", "right").rows), 1),
    "find with a cache": (
        lambda url, _: len(pb.find(url, "k", "right", cache=pb.Cache()).rows),
        1,
    ),
    "rows": (lambda url, _: pb.rows(url, {"k": "right"}).num_rows, 1),
    "row_groups": (lambda url, _: len(pb.row_groups(url, {"k": "right"})), 1),
    "dataset": (lambda url, _: in_dataset(url), 2),
    "polars_source": (lambda url, _: in_polars(url), 1),
    "index": (lambda url, folder: by_index(url, indexed(url, folder / "index")), False),
    "find by an index": (
        lambda url, folder: len(
            pb.find(url, "k", "right", index=indexed(url, folder / "index")).rows
        ),
        1,
    ),
    "rows by an index": (
        lambda url, folder: (
            pb.rows(url, {"k": "right"}, index=indexed(url, folder / "index")).num_rows
        ),
        1,
    ),
    "dataset by an index": (
        lambda url, folder: pb.dataset(
            url, {"k": "right"}, index=indexed(url, folder / "index")
        ).count_rows(),
        2,
    ),
}
COMMANDS = {
    "find": ("find", "-c", "k", "-v", "right"),
    "probe": ("probe", "-c", "k", "-v", "right"),
    "inspect": ("inspect",),
    "validate": ("validate", "--fail-on", "error"),
    "advise": ("advise",),
}


@pytest.fixture(params=["object", "folder", "glob", "web"])
def url(
    request: pytest.FixtureRequest, server: ObjectServer, other: ObjectServer, data: Any
) -> str:
    for store, value in ((server, "right"), (other, "wrong")):
        store.put("two/d/x.parquet", data(value))
    if request.param == "web":
        return f"{server.endpoint}/two/d/x.parquet?{QUERY}"
    name = {"object": "x.parquet", "folder": "", "glob": "*.parquet"}[request.param]
    place = server.endpoint.removeprefix("http://")
    return f"s3://two/d/{name}?endpoint_override={place}&scheme=http&region=us-east-1"


def check(server: ObjectServer, other: ObjectServer, url: str) -> None:
    """Who was asked, and for what."""
    assert other.asked == []
    assert server.asked
    if url.startswith("http"):
        assert {each.query for each in server.asked} == {QUERY}


@pytest.mark.every(2)
@pytest.mark.parametrize("name", READS)
def test_in_python(name, url, server, other, tmp_path):
    read, expected = READS[name]
    assert read(url, tmp_path) == expected
    check(server, other, url)


@pytest.mark.parametrize("name", COMMANDS)
def test_by_commands(name, url, server, other):
    verb, *words = COMMANDS[name]
    shown = by_command(verb, url, *words)
    assert "Signature" not in shown
    check(server, other, url)


@pytest.fixture
def asked_before(server: ObjectServer, other: ObjectServer, data: Any) -> str:
    """A URL that was read, of an object that the environment's store has."""
    for store, value in ((server, "right"), (other, "wrong")):
        store.put("two/d/x.parquet", data(value))
    url = "s3://two/d/x.parquet"
    assert pb.find(url, "k", "right").rows == ()
    assert pb.polars_source(url).collect()["k"].to_list() == ["wrong", "wrong wrong"]
    return url


@pytest.mark.parametrize("name", READS)
def test_what_the_environment_says_now_counts(
    name, asked_before, server, other, tmp_path, monkeypatch
):
    """Not what it said at the first call."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    other.asked.clear()
    read, expected = READS[name]
    assert read(asked_before, tmp_path) == expected
    check(server, other, asked_before)


def test_a_cache_tells_stores_of_the_environment_apart(asked_before, server, other, monkeypatch):
    """Though size, ETag and name are the same."""
    cache = pb.Cache()
    monkeypatch.setattr(server, "etag", other.etag)
    for store, found in ((other, 0), (server, 1), (other, 0)):
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.endpoint)
        assert len(pb.find(asked_before, "k", "right", cache=cache).rows) == found


def test_a_file_stays_in_the_store_where_it_was_opened(asked_before, server, other, monkeypatch):
    source = open_source(asked_before)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    source.check_unchanged()
    assert server.asked == []


@pytest.mark.parametrize(
    "option", ["endpoint", "endpoint_url", "aws_endpoint_url_s3", "AWS_ENDPOINT"]
)
def test_an_endpoint_of_an_option_goes_before_all_of_the_environment(
    option, asked_before, server, other, monkeypatch
):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", other.endpoint)
    found = pb.find(asked_before, "k", "right", storage_options={option: server.endpoint})
    assert len(found.rows) == 1


def test_an_index_by_commands(url, server, other, tmp_path):
    index = tmp_path / "index"
    by_command("index", "build", url, "-c", "k", "--index", index)
    shown = by_command("index", "probe", url, "-c", "k", "-v", "right", "--json", "--index", index)
    assert [each["verdict"] for each in json.loads(shown)["results"]] == ["maybe"]
    # Without the URL, that of the index counts.
    for verb in (("index", "probe"), ("find",)):
        by_command(*verb, "-c", "k", "-v", "right", "--json", "--index", index)
    by_command("index", "check", "--index", index)
    assert pb.rows(None, {"k": "right"}, index=index).num_rows == 1
    assert pb.dataset(None, {"k": "right"}, index=index).count_rows() == 2
    by_command("index", "add", "--index", index)
    check(server, other, url)


@pytest.mark.parametrize(
    "key",
    ["a b", "a%20b", "a%b", "a#b", "a?b", "ü", "it's", 'a"b', "[1]", "a*b", "p=a b", "p=a%20b"],
)
def test_keys_that_a_url_has_to_escape(key, server, data):
    """Nobody is given another object, such as the one whose key is what a URL has of this one."""
    server.put(f"two/{key}/{key}.parquet", data("right"))
    for each in {quote(key), unquote(key), "1", "axb"} - {key}:
        server.put(f"two/{each}/{each}.parquet", data("wrong"))
    folder = f"s3://two/{quote(key)}/"
    options = {"storage_options": server.options}
    for url in (folder, f"{folder}{quote(key)}.parquet"):
        (path,) = pb.find(url, "k", "right", **options).found_in
        assert unquote(path) == f"s3://two/{key}/{key}.parquet"
        assert pb.rows(url, {"k": "right"}, **options).num_rows == 1
        assert pb.dataset(url, {"k": "right"}, **options).count_rows() == 2
        source = pb.polars_source(url, **options)
        assert source.filter(pl.col("k") == "right").collect().height == 1


@pytest.mark.parametrize(
    ("engine", "named"),
    {
        "duckdb": "read_parquet('s3://two/it''s a%20index/",
        "polars": "read_parquet('s3://two/it''s a%20index/",
        "datafusion": "'s3://two/it''s%20a%2520index/",
        "spark": "parquet.`s3://two/it''s a%20index/",
    }.items(),
)
def test_an_index_whose_key_a_url_has_to_escape(engine, named, s3, data):
    s3.put("two/x.parquet", data("right"))
    place = "s3://two/it's%20a%2520index"
    options = {"storage_options": s3.options}
    with pb.Index.build(place, "s3://two/x.parquet", "k", **options) as index:
        assert f" {named}" in index.sql("k", "right", engine=engine)


def test_urls_that_look_alike(server, other, data):
    """No answer could tell one from the other."""
    for store, value in ((server, "right"), (other, "wrong")):
        store.put("two/x.parquet", data(value))
    ours = f"s3://two/x.parquet?endpoint={quote(server.endpoint)}"
    problem = "named twice with different options, which are not shown: ask each by itself"
    result = outcome("find", ours, "s3://two/x.parquet", "-c", "k", "-v", "right")
    assert result.code == 2
    assert f"s3://two/x.parquet: unknown: {problem}" in result.stderr
    signed = [f"{server.endpoint}/two/x.parquet?sign={number}" for number in range(2)]
    with pytest.raises(OSError, match=problem):
        pb.dataset(signed, {"k": "right"})
    assert pb.rows([ours, ours], {"k": "right"}).num_rows == 1
