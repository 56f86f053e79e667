"""Manifests: what files they list, and what is said of those that are damaged."""

import gzip
import io
import json
import tracemalloc
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from parquet_bloom.errors import FormatError
from parquet_bloom.storage.address import Address, Listed
from parquet_bloom.storage.manifest import inputs_in
from parquet_bloom.storage.paths import is_changed_since
from parquet_bloom.storage.shard import Shard
from parquet_bloom.storage.stream import open_stream

MOMENT = datetime(2026, 11, 20, 6, tzinfo=UTC)


def inputs(data, name="manifest", **options):
    stream = io.BufferedReader(io.BytesIO(data))
    return inputs_in(name, stream, **options)


def paths(data, name="manifest", **options):
    return [found.path for found in inputs(data, name, **options)]


def refusal(data, name="manifest"):
    with pytest.raises(FormatError) as caught:
        inputs(data, name)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(f"{name}: ")


def written(kind, table):
    data = io.BytesIO()
    (orc if kind == "orc" else pq).write_table(table, data)
    return data.getvalue()


# ------------------------------------------------------------------------------------------------
# Paths, one per line


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines(pack):
    text = b"lake/a b.parquet\r\n\n  \n#1.pq\nlake/a b.parquet\ns3://b/k/x.orc\n/abs/*[1].parquet"
    assert paths(pack(text)) == ["lake/a b.parquet", "#1.pq", "s3://b/k/x.orc", "/abs/*[1].parquet"]


def test_names_that_are_not_utf8():
    assert paths(b"\xff.parquet\n") == ["\udcff.parquet"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_paths_that_zero_bytes_end(pack):
    """As of `git diff -z` and `find -print0`: any other byte may be in a name."""
    names = ['say "a".parquet', '{"path": "x"}', "two\nlines.orc", " ", "\udcff.pq", "x" * 70_000]
    text = "\0".join([*names, "", names[0], ""])
    assert paths(pack(text.encode("utf-8", "surrogateescape"))) == names


def test_a_zero_byte_is_no_path():
    few = "has zero bytes, expected one behind each path, or none at all"
    assert refusal(b"a.parquet\n\nb\0.parquet\n") == few
    late = b"a.parquet\n" * 7000 + b"b\0.parquet\n"
    assert refusal(late) == "line 7001: has a zero byte, expected a path"
    assert refusal("a.parquet\n".encode("utf-16")) == "in UTF-16, expected UTF-8"


def test_what_is_called_like_a_table_and_is_none_is_no_list():
    for name in ("files.parquet", "files.orc", "s3://lake/FILES.PARQUET", "files.parquet.gz"):
        assert refusal(b"<html>404</html>", name) == (
            "not a Parquet or ORC file, expected one, or another name for a list of paths"
        )


@pytest.mark.parametrize(
    "data", [b"", b"\n \n", gzip.compress(b"")], ids=["empty", "blank", "packed"]
)
def test_a_manifest_without_files(data):
    with pytest.raises(FileNotFoundError, match="lists no files"):
        inputs(data)


def test_a_shard_may_have_no_files():
    assert [len(inputs(b"a.parquet\n", shard=Shard(index, 2))) for index in range(2)] in (
        [0, 1],
        [1, 0],
    )


def test_places_are_whole_paths_and_lead_out_of_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = b"x/a.parquet\ny/a.parquet\n../z/a.parquet\n/r/./a.parquet\ns3://b/../../k%20/a.parquet\nhdfs://h/a.pq\n"
    above = str(tmp_path.parent).lstrip("/")
    assert [found.place for found in inputs(names)] == [
        *("x/a.parquet", "y/a.parquet", f"{above}/z/a.parquet", "r/a.parquet"),
        *("k /a.parquet", "h/a.pq"),
    ]


def test_options_of_stores_are_not_shown():
    (found,) = paths(b"s3://key:secret@b/a.parquet?region=eu-west-1\n", options={"timeout": "5s"})
    assert isinstance(found, Address)
    assert str(found) == "s3://b/a.parquet"
    assert found.options == {
        "timeout": "5s", "region": "eu-west-1", "access_key_id": "key", "secret_access_key": "secret",
    }  # fmt: skip


def test_shards_go_by_what_is_shown():
    """So that a signature that changes moves no file."""
    for shard in (Shard(index, 5) for index in range(5)):
        signed = paths(b"https://h/a.parquet?sig=1\n", shard=shard)
        assert signed == paths(b"https://h/a.parquet?sig=2\n", shard=shard)
        assert signed == [path for path in ["https://h/a.parquet"] if shard.takes(path)]


# ------------------------------------------------------------------------------------------------
# JSON lines


def test_json_lines():
    lines = [
        {"path": "s3://b/x.parquet", "size": 5, "etag": "abc", "modified": "2026-11-20T06:00:00Z"},
        {"path": "lake/q.parquet", "size": None, "other": [1]},
    ]
    data = "\n\n".join(map(json.dumps, lines)).encode()
    for name in ("manifest", "files.json", "files.jsonl"):
        known, unknown = paths(data, name)
        assert known.listed == Listed(5, "abc", MOMENT)
        assert unknown == "lake/q.parquet"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"path": "a"', "expected JSON: Expecting ',' delimiter"),
        ("[]", "expected an object, found a list"),
        ('{"file": "a"}', "path: expected that of a file, found None"),
        ('{"path": " "}', "path: expected that of a file, found ' '"),
        ('{"path": "a", "size": -1}', "size: expected a number of bytes, found -1"),
        ('{"path": "a", "size": "1"}', "size: expected a number of bytes, found '1'"),
        ('{"path": "a", "etag": 1}', "etag: expected text, found 1"),
        ('{"path": "a", "modified": "now"}', "modified: expected a time in ISO 8601, found 'now'"),
    ],
)
def test_a_wrong_line(line, problem):
    data = f'{{"path": "b"}}\n\n{line}\n'.encode()
    assert refusal(data) == f"line 3: {problem}"


# ------------------------------------------------------------------------------------------------
# Tables and inventories

OBJECTS = {
    "bucket": "lake",
    "key": ["d=1/a b+c.parquet", "e.orc", "e.orc", "_tmp/x.parquet", "_d=1/y.pq", "gone.pq", "x.csv", "empty.pq"],
    "version_id": ["v"] * 8,
    "is_latest": [True, True, False, True, True, True, True, True],
    "is_delete_marker": [False] * 5 + [True] + [False] * 2,
    "size": [12, 13, 14, 1, 15, None, 1, 0],
    "last_modified_date": [MOMENT] * 8,
    "e_tag": [f"e{number}" for number in range(8)],
}  # fmt: skip
OBJECTS["bucket"] = ["lake"] * 8
EXPECTED = {
    "s3://lake/d=1/a%20b+c.parquet": Listed(12, "e0", MOMENT),
    "s3://lake/e.orc": Listed(13, "e1", MOMENT),
    "s3://lake/_d=1/y.pq": Listed(15, "e4", MOMENT),
    "s3://lake/empty.pq": Listed(0, "e7", MOMENT),
}
SCHEMA = "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, LastModifiedDate, ETag"


def table_of_objects():
    return pa.table(OBJECTS).set_column(
        6, "last_modified_date", pa.array(OBJECTS["last_modified_date"], pa.timestamp("ms"))
    )


def csv_of_objects():
    """As S3 writes it: no header, all quoted, URL-encoded keys."""
    rows = zip(*OBJECTS.values(), strict=True)
    return "".join(",".join(map(cell, row)) + "\n" for row in rows).encode()


def cell(value):
    if isinstance(value, str):
        value = value.replace("+", "%2B").replace(" ", "+").replace("=", "%3D")
    if isinstance(value, datetime):
        value = "2026-11-20T06:00:00.000Z"
    if isinstance(value, bool):
        value = str(value).lower()
    return f'"{"" if value is None else value}"'


def manifest_json(kind, schema, *keys):
    return json.dumps(
        {
            "sourceBucket": "lake",
            "destinationBucket": "arn:aws:s3:::inventories",
            "version": "2016-11-30",
            "creationTimestamp": "1514944800000",
            "fileFormat": kind,
            "fileSchema": schema,
            "files": [{"key": key, "size": 1, "MD5checksum": "x"} for key in keys],
        },
        indent=4,
    ).encode()


TABLES = {
    "CSV": (lambda: gzip.compress(csv_of_objects()), "1.csv.gz", SCHEMA),
    "ORC": (lambda: written("orc", table_of_objects()), "1.orc", "struct<bucket:string>"),
    "Parquet": (lambda: written("parquet", table_of_objects()), "1.parquet", "message s3.inventory {}"),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("folder", ["2026-11-20T06-00Z", "data"])
def test_an_inventory(kind, folder, tmp_path):
    """As S3 lays it out, and with all files in one folder."""
    make, name, schema = TABLES[kind]
    for each in ("data", folder):
        (tmp_path / each).mkdir(exist_ok=True)
    (tmp_path / "data" / name).write_bytes(make())
    place = tmp_path / folder / "manifest.json"
    place.write_bytes(manifest_json(kind, schema, f"lake/daily/data/{name}"))
    with open_stream(str(place)) as stream:
        found = inputs_in(str(place), stream)
    assert {str(each.path): each.path.listed for each in found} == EXPECTED


@pytest.mark.parametrize("kind", ["orc", "parquet"])
def test_a_table_of_an_inventory_alone(kind):
    found = paths(written(kind, table_of_objects()))
    assert {str(each): each.listed for each in found} == EXPECTED


def test_a_csv_file_of_an_inventory_alone():
    """Nobody knows its columns but for those that each inventory begins with; so nothing is known of its
    objects, of which old ones and markers are left out."""
    found = paths(gzip.compress(csv_of_objects()), "1.csv.gz")
    assert list(map(str, found)) == [*EXPECTED]
    assert {each.listed for each in found} == {Listed(None, None)}


def test_an_inventory_of_current_versions_alone():
    assert paths(b'"lake","a.parquet","5"\n"lake","b.parquet","6"\n', "1.csv") == [
        "s3://lake/a.parquet",
        "s3://lake/b.parquet",
    ]


def test_an_inventory_behind_a_url(server):
    make, name, schema = TABLES["Parquet"]
    server.put(f"inventories/lake/daily/data/{name}", make())
    document = manifest_json("Parquet", schema, f"lake/daily/data/{name}")
    server.put("inventories/lake/daily/2026-11-20T06-00Z/manifest.json", document)
    url = "s3://inventories/lake/daily/2026-11-20T06-00Z/manifest.json"
    server.forget()
    with open_stream(url, server.options) as stream:
        found = inputs_in(url, stream, server.options)
    assert {str(each.path): each.path.listed for each in found} == EXPECTED
    assert {each.kind for each in server.asked} <= {"GET", "HEAD"}


def test_lines_behind_a_url(server):
    """More than is read at once."""
    text = "".join(f"s3://lake/{number:0250}.parquet\n" for number in range(10_000))
    server.put("lake/files.txt", text.encode())
    with open_stream("s3://lake/files.txt", server.options) as stream:
        found = inputs_in("s3://lake/files.txt", stream, server.options)
    assert "".join(f"{each.path}\n" for each in found) == text


@pytest.mark.parametrize("header", ["path,size,modified,etag", "PATH,Size,LastModifiedDate,e_tag"])
def test_a_table_with_paths(header):
    data = f'{header}\n"lake/a,b.dat",5,,\ns3://b/c.parquet,7,2026-11-20T06:00Z,x\n'.encode()
    local, remote = paths(data, "files.csv")
    assert local == "lake/a,b.dat"
    assert remote.listed == Listed(7, "x", MOMENT)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"path,size\na,x\n", "In CSV column #1: Row #1: CSV conversion error to int64: invalid value 'x'"),
        (b"path,size\na,1\nb\n", "CSV parse error: Row #2: Expected 2 columns, got 1: b"),
        (b"path,size\n,1\n", "expected a path in each row, found one without"),
        (b"path,modified\ns3://b/a,now\n", "modified: expected a time in ISO 8601, found 'now'"),
        (b"a.parquet\n", "expected a column path, or columns Bucket and Key"),
    ],
)  # fmt: skip
def test_a_wrong_table(data, problem):
    assert refusal(data, "files.csv") == problem


def test_a_parquet_file_that_is_no_manifest():
    data = written("parquet", pa.table({"a": [1]}))
    assert refusal(data) == "expected a column path, or columns Bucket and Key"
    assert "footer" in refusal(data[:30]) or "magic" in refusal(data[:30])


@pytest.mark.parametrize(
    "document", [b'{"a": 1}', b"{", manifest_json("XML", SCHEMA).replace(b"XML", b"CSV")[:-3]]
)
def test_a_document_that_is_no_inventory(document):
    expected = "expected the manifest.json of an S3 Inventory, or a line with a path for each file"
    assert refusal(document, "manifest.json") == expected


def test_a_format_that_no_inventory_has():
    assert refusal(manifest_json("XML", SCHEMA), "manifest.json") == (
        "fileFormat: expected CSV, ORC or Parquet, found xml"
    )


@pytest.mark.parametrize("name", ["files.txt", "files.csv.gz"])
def test_what_is_cut_short(name):
    data = gzip.compress(b"".join(b"lake/%d.parquet\n" % number for number in range(5000)))[:-100]
    assert refusal(data, name).startswith("not decompressed: ")


@pytest.mark.parametrize("kind", ["lines", "json", "parquet"])
def test_only_the_files_of_the_shard_are_held(kind):
    """Of 50,000, which as Python has them take 20 MB and more."""
    names = [f"s3://lake/events/part-{number:08}.parquet" for number in range(50_000)]
    data = {
        "lines": lambda: "\n".join(names).encode(),
        "json": lambda: "\n".join(json.dumps({"path": name}) for name in names).encode(),
        "parquet": lambda: written("parquet", pa.table({"path": names})),
    }[kind]()
    tracemalloc.start()
    found = inputs(data, shard=Shard(0, 250))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 100 < len(found) < 300
    assert most < 10 << 20


# ------------------------------------------------------------------------------------------------
# Changed since


def test_changed_since(tmp_path):
    later = datetime(2026, 11, 20, 6, 0, 1, tzinfo=UTC)
    path = Address.of("s3://b/a.parquet")
    path.listed = Listed(5, None, MOMENT)
    assert is_changed_since(path, MOMENT)
    assert not is_changed_since(path, later)
    path.listed = Listed(5, None)
    assert is_changed_since(path, later)
    assert is_changed_since("hdfs://h/a.parquet", later)
    assert is_changed_since(str(tmp_path / "missing"), later)
