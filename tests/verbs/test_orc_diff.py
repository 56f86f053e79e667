"""Two ORC files' filters side by side."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import FIXTURES
from make.commands import outcome
from make.orc_defects import encrypted
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.container import OneFilter
from parquet_bloom.files import open_file
from parquet_bloom.orc.stripe import FILTER_KINDS
from parquet_bloom.orc.writer import stream_message
from parquet_bloom.verbs.diff import diff

ROWS, STRIDE = 2500, 1000
# (1000, 0.01) makes 9600 bits and 7 hashes, (1000, 0.05) 6272 and 4.
SIZES = {0.01: (9600, 7), 0.05: (6272, 4)}


def write(path, fpp=0.01, filtered=(1, 2), stride=STRIDE, first=0, rows=ROWS, compression="zlib"):
    """id: LONG, name: STRING; the filters of these column ids."""
    ids = range(first, first + rows)
    table = pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{id}" for id in ids]})
    orc.write_table(
        table, path, row_index_stride=stride, bloom_filter_columns=list(filtered),
        bloom_filter_fpp=fpp, compression=compression,
    )  # fmt: skip
    return path


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return outcome("diff", *arguments)


def test_the_same(here):
    a, b = write("a.orc"), write("b.orc")
    report = diff(a, b)
    assert report.same
    assert [(each.stripe, each.index_group, each.column) for each in report.filters] == [
        (0, group, name) for name in ("id", "name") for group in range(3)
    ]
    side = report.filters[0].a
    assert side == report.filters[0].b
    assert (side.stream, side.bloom_encoding) == ("BLOOM_FILTER_UTF8", 1)
    assert (side.num_bits, side.num_hashes) == SIZES[0.01]
    assert {(each.status, each.bits_only_a, each.bits_only_b) for each in report.filters} == {
        ("same", 0, 0)
    }
    result = run(a, b)
    assert (result.code, result.output) == (0, "")


def test_only_in_one(here):
    a, b = write("a.orc"), write("b.orc", filtered=[1])
    report = diff(a, b)
    assert not report.same
    found = [each for each in report.filters if each.status != "same"]
    assert {(each.column, each.status, each.b, each.reason) for each in found} == {
        ("name", "only in a", None, "b: no filter")
    }
    assert [each.index_group for each in found] == [0, 1, 2]
    assert {each.status for each in diff(b, a, columns=["name"]).filters} == {"only in b"}
    result = run(a, b)
    assert result.code == 1
    fpps = [each.a.fpp for each in found]
    mean = f"{float(f'{100 * sum(fpps) / 3:.2g}'):g} %"
    assert result.output.splitlines()[1:] == [
        f"0\t0-2\tname\tonly in a\t3.5 KiB\t\t{mean}\t\t\t\tb: no filter"
    ]


def test_other_bits(here):
    a, b = write("a.orc", rows=2000), write("b.orc", rows=2000, first=1000)
    (first, second) = diff(a, b, columns=["id"]).filters
    assert (first.status, second.status) == ("different", "different")
    with open_file(a) as file_a, open_file(b) as file_b:
        bits_a, bits_b = (
            file.bloom_filter(OneFilter(0, "id", 0)).bits for file in (file_a, file_b)
        )
        only_a, only_b = bits_a.bits_outside(bits_b), bits_b.bits_outside(bits_a)
    assert 0 < only_a < bits_a.bits_set
    assert (first.bits_only_a, first.bits_only_b) == (only_a, only_b)
    assert first.reason == f"bits set only in a: {only_a}, only in b: {only_b}"
    lines = run(a, b, "-c", "id").output.splitlines()
    assert lines.pop() == "next: pbloom diff a.orc b.orc --diagnose -c id"
    assert [line.split("\t")[:4] for line in lines[1:]] == [
        ["0", "0", "id", "different"], ["0", "1", "id", "different"]
    ]  # fmt: skip
    assert lines[1].split("\t")[-3:] == [str(only_a), str(only_b), first.reason]


def test_a_second_stream(here):
    """That old readers take, and others do not."""
    a, b = write("a.orc", filtered=()), write("b.orc", filtered=())
    pb.build(a, columns="id", orc_streams="both", in_place=True)
    pb.build(b, columns="id", in_place=True)
    reason = "the stream is BLOOM_FILTER and BLOOM_FILTER_UTF8 in a, BLOOM_FILTER_UTF8 in b"
    assert {(each.status, each.reason) for each in diff(a, b, columns=["id"]).filters} == {
        ("different", reason)
    }
    pb.build(b, columns="id", orc_streams="both", existing="replace", in_place=True)
    assert diff(a, b).same


def test_another_size(here):
    a, b = write("a.orc"), write("b.orc", fpp=0.05)
    (found, *_) = diff(a, b).filters
    assert (found.status, found.bits_only_a, found.bits_only_b) == ("different", None, None)
    assert found.reason == (
        "the number of bits is 9600 in a, 6272 in b; the number of hashes is 7 in a, 4 in b"
    )
    rows = [line.split("\t")[:4] for line in run(a, b, "-c", "id").output.splitlines()[1:]]
    assert rows == [["0", str(group), "id", "different"] for group in range(3)]


def test_another_stream(here):
    """The same bits in a stream of the other kind: keys of timestamps would be others."""
    a = write("a.orc", compression="uncompressed")
    with open_file(a) as file:
        length = file.stripe(0).stream_of(file.column("id").id, FILTER_KINDS).length
    data = Path(a).read_bytes()
    stored = [stream_message(kind, 1, length) for kind in (8, 7)]
    assert data.count(stored[0]) == 1
    Path("b.orc").write_bytes(data.replace(*stored))
    found = diff(a, "b.orc", columns=["id"]).filters[0]
    assert (found.status, found.bits_only_a, found.bits_only_b) == ("different", 0, 0)
    assert found.reason == "the stream is BLOOM_FILTER_UTF8 in a, BLOOM_FILTER in b"


def test_another_encoding(here):
    """What readers do not look at, or take for other keys, is not the same."""
    a = write("a.orc", compression="uncompressed")
    data = Path(a).read_bytes()
    encoding = bytes.fromhex("1206 0802 1000 18")
    assert data.count(encoding + b"\1") == 2
    Path("b.orc").write_bytes(data.replace(encoding + b"\1", encoding + b"\0", 1))
    found = diff(a, "b.orc")
    assert {(each.column, each.status, each.reason) for each in found.filters} == {
        ("id", "different", "bloomEncoding is 1 in a, 0 in b"), ("name", "same", "")
    }  # fmt: skip


def test_encrypted_columns(here):
    """Whether they have filters is encrypted, too."""
    Path("a.orc").write_bytes(encrypted())
    report = diff("a.orc", "a.orc")
    assert not report.same
    assert {(each.status, each.reason) for each in report.filters if each.column == "a"} == {
        ("unreadable", "a: encrypted; b: encrypted")
    }
    assert {each.status for each in report.filters if each.column != "a"} == {"same"}


def test_another_stride_and_stripes(here):
    a, b = write("a.orc"), write("b.orc", stride=500)
    report = diff(a, b, columns=["id"])
    assert (report.row_index_stride_a, report.row_index_stride_b) == (1000, 500)
    assert [each.status for each in report.filters] == ["different"] * 3 + ["only in b"] * 2
    assert report.filters[-1].reason == "a: no such index group"
    assert run(a, b).output.splitlines()[0] == "row index stride: 1000 in a, 500 in b"
    a, b = write("a.orc", filtered=[]), write("b.orc", filtered=[], stride=500)
    assert (diff(a, b).same, diff(a, b).filters, diff(a, a).same) == (False, (), True)


def test_other_stripes(here):
    a = write("a.orc", rows=100)
    table = pa.table({"id": pa.array([], pa.int64()), "name": pa.array([], pa.string())})
    orc.write_table(table, "b.orc", row_index_stride=STRIDE, bloom_filter_columns=[1])
    report = diff(a, "b.orc")
    assert (report.num_parts_a, report.num_parts_b, report.same) == (1, 0, False)
    assert [(each.status, each.reason) for each in report.filters] == [
        ("only in a", "b: no such stripe")
    ] * 2
    assert run(a, "b.orc").output.startswith("stripes: 1 in a, 0 in b\n")


def test_other_columns(here):
    a = write("a.orc")
    orc.write_table(pa.table({"id": pa.array(range(ROWS), pa.int64())}), "b.orc",
                    row_index_stride=STRIDE, bloom_filter_columns=[1], bloom_filter_fpp=0.01)  # fmt: skip
    report = diff(a, "b.orc")
    assert (report.columns_only_a, report.columns_only_b) == (("name",), ())
    assert {(each.column, each.status) for each in report.filters} == {
        ("id", "same"), ("name", "only in a")
    }  # fmt: skip
    assert diff(a, "b.orc", columns=["id"]).same
    with pytest.raises(pb.ColumnError, match=r"^a\.orc: no column nam; did you mean name\?"):
        diff(a, "b.orc", columns=["nam"])


def test_what_cannot_be_read_is_different(here):
    a = write("a.orc")
    data = bytearray(Path(a).read_bytes())
    with open_file(a) as file:
        stream = file.stripe(0).stream_of(file.column("id").id, FILTER_KINDS)
    data[stream.offset : stream.offset + 3] = b"\xff\xff\xff"
    Path("b.orc").write_bytes(data)
    report = diff(a, "b.orc")
    assert not report.same
    found = [each for each in report.filters if each.column == "id"]
    assert {each.status for each in found} == {"unreadable"}
    assert found[0].a.num_bits == 9600
    assert found[0].b is None
    assert found[0].reason.startswith("b: stripe 0: BLOOM_FILTER_UTF8 of column 1: ")
    assert run(a, "b.orc").code == 1


def test_json(here):
    a, b = write("a.orc"), write("b.orc", filtered=[1])
    (line,) = run(a, b, "--json").output.splitlines()
    document = json.loads(line)
    assert list(document) == [
        "path_a", "path_b", "format", "same", "num_stripes_a", "num_stripes_b", "columns_only_a",
        "columns_only_b", "filters", "notes", "row_index_stride_a", "row_index_stride_b",
    ]  # fmt: skip
    assert (document["format"], document["same"]) == ("orc", False)
    last = document["filters"][-1]
    assert list(last) == [
        "stripe", "index_group", "column", "status", "a", "b", "bits_only_a", "bits_only_b",
        "reason", "wrong_a", "wrong_b",
    ]  # fmt: skip
    assert list(last["a"]) == [
        "dialect", "offset", "length", "stored_bytes", "num_filters", "num_bytes", "fill", "fpp",
        "worst_fpp", "ndv_estimate", "encrypted", "stream", "bloom_encoding", "num_hashes",
        "num_bits", "marked",
    ]  # fmt: skip
    assert (last["stripe"], last["index_group"], last["column"], last["b"]) == (0, 2, "name", None)


def test_all(here):
    a, b = write("a.orc"), write("b.orc")
    lines = run(a, b, "--all").output.splitlines()
    assert [line.split("\t")[:4] for line in lines] == [
        ["stripe", "index groups", "column", "filter"], ["0", "0-2", "id", "same"],
        ["0", "0-2", "name", "same"],
    ]  # fmt: skip


@pytest.mark.parametrize("is_first", [False, True])
def test_a_parquet_file_and_an_orc_file(here, is_first):
    names = [write("a.orc"), FIXTURES / "pyarrow_filters.parquet"]
    result = run(*names[:: 1 if is_first else -1])
    assert result.code == 2
    assert len(result.stderr.splitlines()) == 1
    formats = ("orc", "parquet") if is_first else ("parquet", "orc")
    assert result.stderr.endswith(": {} and {}, expected files of one format\n".format(*formats))
