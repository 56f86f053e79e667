"""Filters go into ORC files that exist: what is written, what stays as it was, what is reported."""

import json
import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.orc_defect_files import sound, stored_filters, with_filters, with_stream
from make.orc_defects import ORC, damaged_row_index, pre_release
from make.orc_files import differing
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.container import LeftChunk, OneFilter, Place
from parquet_bloom.errors import ColumnError, RewriteError, UnsupportedError
from parquet_bloom.files import open_file
from parquet_bloom.orc import wire
from parquet_bloom.orc.arrays import Numbers
from parquet_bloom.orc.keys import lookup_hashes
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8, FILTER_KINDS, ROW_INDEX
from parquet_bloom.orc.values import groups
from parquet_bloom.storage.local_output import Output

STRIDE, STRIPE, ROWS = 1000, 2500, 6000
BITS, HASHES = 9600, 7
FILTER_BYTES = 1206


def write(path, codec="uncompressed", **options):
    """Three stripes, of 2,500 rows and of 1,000: id, unique; name, in which rows 2,500 to 4,999 are
    null; tags, of ten elements each."""
    ids = [n * 7919 % ROWS for n in range(ROWS)]
    names = [None if STRIPE <= n < 2 * STRIPE else f"name {ids[n]}" for n in range(ROWS)]
    tags = [[10 * n + each for each in range(10)] for n in range(ROWS)]
    table = pa.table({"id": ids, "name": names, "tags": tags})
    options = {"row_index_stride": STRIDE, "stripe_size": 1, "batch_size": STRIPE} | options
    orc.write_table(table, path, compression=codec, **options)
    return path


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "in.orc")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out.orc"


def streams(path, column):
    """By stripe the kinds of the index streams of a column."""
    with open_file(path) as file:
        id = file.column(column).id
        return [
            [
                each.kind
                for each in file.stripe(index).streams
                if each.column == id and each.is_index
            ]
            for index in range(file.num_stripes)
        ]


def parts(path):
    """What filters are none of: row indexes, data, statistics, and footers without their places."""
    with open_file(path) as file:
        tail, source = file.tail, file.source
        found = []
        for index, place in enumerate(tail.stripes):
            stripe = file.stripe(index)
            found += [
                (each.kind, each.column, source.read_at(each.offset, each.length))
                for each in stripe.streams
                if each.kind not in FILTER_KINDS
            ]
            found.append(place.num_rows)
        found.append(
            source.read_at(tail.statistics_start, tail.footer_start - tail.statistics_start)
        )
        found.append(tail.columns)
        return found


def test_the_report_and_the_streams(path, out):
    report = pb.build(path, out, columns=["id", "name"])
    assert (report.path, report.output) == (str(path), str(out))
    assert (report.size_before, report.size_after) == (path.stat().st_size, out.stat().st_size)
    assert report.bytes_added == report.size_after - report.size_before
    assert report.notes == ()
    assert [(each.stripe, each.column, each.num_values, each.num_filters) for each in report.filters] == [
        (0, "id", 2500, 3), (0, "name", 2500, 3), (1, "id", 2500, 3), (2, "id", 1000, 1),
        (2, "name", 1000, 1),
    ]  # fmt: skip
    assert report.skipped == (LeftChunk(Place(1), "name", "no non-null values"),)
    with open_file(out) as file:
        for built in report.filters:
            column = file.column(built.column)
            (stream,) = file.stripe(built.stripe).streams_of(column.id, FILTER_KINDS)
            stored = file.filters(built.stripe, column)
            assert (stream.offset, stream.length) == (built.offset, built.length)
            assert stored.is_marked
            assert {(each.num_bits, each.num_hashes) for each in stored.filters} == {(BITS, HASHES)}
            assert (built.num_bits, built.num_hashes) == (BITS, HASHES)
            assert built.fpp == max(each.fpp for each in stored.filters)
            assert file.stripe(built.stripe).bloom_encoding(column.id) == 1
        assert file.stripe(1).bloom_encoding(file.column("name").id) == 0
    assert streams(out, "id") == [[ROW_INDEX, BLOOM_FILTER_UTF8]] * 3
    assert streams(out, "name") == [
        [ROW_INDEX, BLOOM_FILTER_UTF8],
        [ROW_INDEX],
        [ROW_INDEX, BLOOM_FILTER_UTF8],
    ]
    assert streams(out, "tags") == [[ROW_INDEX]] * 3


@pytest.mark.parametrize("codec", ["uncompressed", "zlib", "snappy", "lz4", "zstd"])
def test_all_else_stays_as_it_was(tmp_path, out, codec):
    path = write(tmp_path / "in.orc", codec)
    pb.build(path, out, columns=["id", "name"], orc_streams="both")
    assert parts(out) == parts(path)
    assert orc.read_table(out).equals(orc.read_table(path))


def test_every_value_is_found(path, out):
    """And others as seldom as the target says: within four standard deviations."""
    columns = ["id", "name", "tags._elem"]
    pb.build(path, out, columns=columns, ndv=10 * STRIDE)
    with open_file(out) as file:
        assert differing(file, columns) == {"id": (0, 7), "name": (0, 4), "tags._elem": (0, 7)}
        for name in columns:
            column = file.column(name)
            for stripe in range(file.num_stripes):
                stored = file.filters(stripe, column)
                if stored is None:
                    continue
                (chunk,) = file.chunks(stripe, [column])
                for group, filter in zip(groups(file, chunk), stored.filters, strict=True):
                    hashes = lookup_hashes(column, group.values, stored.key_form)
                    assert filter.check_hashes(hashes[:, 0].copy()).all()
    count = 100_000
    strangers = Numbers(np.arange(1 << 40, (1 << 40) + count))
    pb.build(path, out, columns=["id"], fpp=0.02, overwrite=True)
    with open_file(out) as file:
        filter = file.bloom_filter(OneFilter(0, "id", 0))
        hashes = lookup_hashes(
            file.column("id"), strangers, file.filters(0, file.column("id")).key_form
        )
    assert (filter.bits.num_bits, filter.bits.num_hashes) == (8192, 6)
    # 1,000 values, 6 bits each.
    expected = (1 - (1 - 1 / 8192) ** 6000) ** 6
    assert expected < 0.0205
    found = filter.bits.check_hashes(hashes[:, 0].copy()).sum()
    assert abs(found - expected * count) < 4 * np.sqrt(expected * count) + 0.05 * expected * count


def test_both_streams(path, out):
    """The older one before the other, of which readers take the last."""
    pb.build(path, out, columns=["id"], orc_streams="both")
    assert streams(out, "id") == [[ROW_INDEX, BLOOM_FILTER, BLOOM_FILTER_UTF8]] * 3
    with open_file(out) as file:
        assert differing(file, ["id"]) == {"id": (0, 14)}


def test_filters_that_are_there(path, out):
    pb.build(path, out, columns=["id"])
    first = out.read_bytes()
    again = pb.build(out, in_place=True, columns=["id", "name"])
    assert {each.column for each in again.filters} == {"name"}
    assert [skip.reason for skip in again.skipped] == [
        "has a filter already", "has a filter already", "no non-null values", "has a filter already",
    ]  # fmt: skip
    with pytest.raises(RewriteError, match="stripe 0, column id: has a filter already"):
        pb.build(out, in_place=True, columns=["id"], existing="error")
    larger = pb.build(out, in_place=True, columns=["id"], fpp=0.0001, existing="replace")
    assert [each.num_bits for each in larger.filters] == [19200] * 3
    assert (
        larger.notes[0]
        == "replaced the filters of 1 column in 3 stripes for good, whoever built them"
    )
    assert streams(out, "id") == [[ROW_INDEX, BLOOM_FILTER_UTF8]] * 3
    pb.strip(out, columns=["name"], in_place=True)
    pb.build(out, in_place=True, columns=["id"], existing="replace")
    assert out.read_bytes() == first


def test_nothing_to_do(path, out):
    """In place the file is not touched; elsewhere it is a copy."""
    pb.build(path, in_place=True, columns=["id"])
    before = path.stat()
    report = pb.build(path, in_place=True, columns=["id"])
    assert (report.filters, report.bytes_added, report.output) == ((), 0, None)
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert pb.strip(path, columns=["name"], in_place=True).removed == ()
    assert path.stat().st_ino == before.st_ino
    pb.build(path, out, columns=["id"])
    assert out.read_bytes() == path.read_bytes()


def test_filters_stay_where_only_worse_ones_can_be_built(path):
    """Proven to have every value, in each of their streams."""
    pb.build(path, in_place=True, columns=["id"], orc_streams="both")
    before = path.read_bytes()
    given = {"columns": ["id"], "existing": "replace", "ndv": 10, "in_place": True}
    report = pb.build(path, **given)
    reason = (
        "FPP 100 %: the largest index group has 1000 values, and filters are sized for 10; --ndv sizes them for more;"
        " what is there is better, and stays"
    )
    assert {each.reason for each in report.skipped} == {reason}
    assert (report.filters, report.notes, report.state) == ((), (), "skipped")
    assert path.read_bytes() == before
    # The last bits of the first filter.
    with open_file(path) as file:
        stripe = file.stripe(1)
        stream = stripe.stream_of(file.column("id").id, FILTER_KINDS)
    data = bytearray(before)
    data[stream.offset + FILTER_BYTES - 300 : stream.offset + FILTER_BYTES - 100] = bytes(200)
    path.write_bytes(data)
    report = pb.build(path, **given)
    gone, doubt = report.notes
    assert gone == "removed the filters of 1 column in 1 stripe for good, with none in their place"
    assert doubt.startswith("stripe 1, column id: the filter that it had lacks values in rows 2500")
    assert report.state == "stripped"
    both = [ROW_INDEX, BLOOM_FILTER, BLOOM_FILTER_UTF8]
    assert streams(path, "id") == [both, [ROW_INDEX], both]
    assert pb.validate(path, deep=True).ok


def test_filters_stay_whose_values_cannot_be_read(path, monkeypatch):
    """Nobody knows that they are wrong."""
    pb.build(path, in_place=True, columns=["id"])
    before = path.read_bytes()

    def unread(file, chunk):
        raise UnsupportedError(f"{chunk.where}: codec ODD is not supported")

    monkeypatch.setattr("parquet_bloom.orc.build.batches", unread)
    report = pb.build(path, in_place=True, columns=["id", "name"], existing="replace")
    assert (report.filters, report.notes, report.state) == ((), (), "skipped")
    assert {(each.column, each.reason) for each in report.skipped} == {
        ("id", "codec ODD is not supported; what is there stays"),
        ("name", "codec ODD is not supported"),
    }
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("filters", "goes"),
    [
        (lambda: with_stream(lambda data: b"\xff" + data), True),
        (pre_release, True),
        (lambda: with_filters(stored_filters()[0]), True),
        (sound, False),
    ],
)
def test_filters_that_are_damaged_go_even_if_the_values_cannot_be_read(
    tmp_path, monkeypatch, filters, goes
):
    path = tmp_path / "a.orc"
    path.write_bytes(filters())

    def unread(file, chunk):
        raise UnsupportedError(f"{chunk.where}: codec ODD is not supported")

    monkeypatch.setattr("parquet_bloom.orc.build.batches", unread)
    report = pb.build(path, in_place=True, columns="a", existing="replace")
    stays = "codec ODD is not supported; what is there stays"
    first = "codec ODD is not supported" if goes else stays
    assert [each.reason for each in report.skipped] == [first, stays]
    has_some = [not set(FILTER_KINDS).isdisjoint(kinds) for kinds in streams(path, "a")]
    assert has_some == [not goes, True]


def test_filters_stay_that_there_is_no_memory_to_look_at(path, monkeypatch):
    pb.build(path, in_place=True, columns=["id"])

    def no_memory(self, *arguments):
        raise UnsupportedError("too little memory")

    monkeypatch.setattr("parquet_bloom.orc.build.batches", no_memory)
    monkeypatch.setattr("parquet_bloom.orc.reader.OrcReader.filters", no_memory)
    report = pb.build(path, in_place=True, columns=["id"], existing="replace")
    assert {each.reason for each in report.skipped} == {"too little memory; what is there stays"}


def with_changed_values(path, fpp):
    """An index group has ten values that are not in its filter: bytes of them are others, and fit."""
    numbers = np.random.default_rng(5).random(4 * STRIDE)
    orc.write_table(
        pa.table({"x": numbers}), path, row_index_stride=STRIDE, compression="uncompressed"
    )
    pb.build(path, columns="x", fpp=fpp, in_place=True)
    data = bytearray(path.read_bytes())
    start = data.index(numbers[2_500:2_510].tobytes())
    data[start : start + 80] = np.random.default_rng(7).random(10).tobytes()
    path.write_bytes(data)


@pytest.mark.parametrize("fpp", [0.0001, 0.01, 0.3])
@pytest.mark.parametrize("dry_run", [False, True])
def test_filters_that_lack_values_are_not_replaced_in_silence(tmp_path, fpp, dry_run):
    """Nobody could tell any more that these were others. Whatever their size, and that of the new ones."""
    path = tmp_path / "x.orc"
    with_changed_values(path, fpp)
    again = {"columns": "x", "existing": "replace", "in_place": True, "dry_run": dry_run}
    _, said = pb.build(path, **again).notes
    assert re.match(
        r"stripe 0, column x: the filter that it had lacks values in rows 250[01] to 250[89]: either the filter was"
        r" wrong, or bytes of the values became others that fit, as ORC files have no checksums: ",
        said,
    )
    if not dry_run:
        assert len(pb.build(path, **again).notes) == 1


def test_filters_that_lack_values_do_not_go_in_silence(tmp_path):
    """Where none come in their place."""
    path = tmp_path / "x.orc"
    with_changed_values(path, 0.01)
    gone, said = pb.build(path, columns="x", existing="replace", ndv=5, in_place=True).notes
    assert gone == "removed the filters of 1 column in 1 stripe for good, with none in their place"
    assert said.startswith("stripe 0, column x: the filter that it had lacks values in rows 2500")


def test_none_are_built_behind_a_row_index_that_is_damaged(tmp_path):
    """No reader gets to them; `advise` says as much."""
    path = tmp_path / "a.orc"
    path.write_bytes(damaged_row_index())
    before = path.read_bytes()
    told = outcome("build", path, "-c", "a", "--existing", "replace", "--in-place")
    assert told.code == 2
    assert re.search(
        r"column a: ROW_INDEX: damaged: .*, or name other columns with -c$", told.complaint
    )
    assert path.read_bytes() == before
    assert outcome("build", path, "-c", "s", "--in-place").code == 0


@pytest.mark.parametrize("defect", ORC, ids=str)
def test_only_filters_that_lack_values_are_said_to(tmp_path, defect):
    """Those of other writers, too, whose keys are others; in columns and stripes whose filters are replaced."""
    path = tmp_path / "a.orc"
    path.write_bytes(defect.make())
    lacking = {
        (each.place.part, each.column)
        for each in pb.validate(path).findings
        if each.rows is not None and each.definition.concerns_repair
    }
    with pb.open(path) as file:
        every = [name for name in file.columns if file.columns.count(name) == 1]
    try:
        report = pb.build(path, columns=every, existing="replace", in_place=True)
    except pb.ParquetBloomError:
        return
    said = {
        (int(found[1]), found[2])
        for note in report.notes
        if (found := re.match(r"stripe (\d+), column (\S+): the filter that it had lacks", note))
    }
    replaced = {(each.place.part, each.column) for each in report.filters}
    assert said & replaced == lacking & replaced


def test_a_replaced_filter_goes_even_if_no_other_comes(path):
    """One that lets as much pass is no reason to keep it."""
    pb.build(path, in_place=True, columns=["tags._elem"], force=True)
    report = pb.build(path, in_place=True, columns=["tags._elem"], existing="replace")
    assert report.filters == ()
    assert report.bytes_added < -3 * FILTER_BYTES
    assert streams(path, "tags._elem") == [[ROW_INDEX]] * 3


def test_filters_that_miss_the_target(path, out):
    """Ten elements to a row are ten times the values that a filter is made for."""
    report = pb.build(path, out, columns=["tags._elem"])
    assert (report.filters, len(report.skipped)) == ((), 3)
    assert report.skipped[0].reason == (
        "FPP 99.6 %: the largest index group has 10000 values, and filters are sized for 1000; --ndv"
        " sizes them for more"
    )
    forced = pb.build(path, out, columns=["tags._elem"], force=True, overwrite=True)
    assert [each.num_bits for each in forced.filters] == [BITS] * 3
    sized = pb.build(path, out, columns=["tags._elem"], ndv=10_000, overwrite=True)
    assert [(each.num_bits, each.num_hashes) for each in sized.filters] == [(95_872, 7)] * 3


def test_what_no_engine_asks_is_told(tmp_path):
    """In the same words by `build`, `inspect`, `validate` and `advise`."""
    numbers = pa.array([[number] for number in range(3300)])
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"l": numbers, "m": numbers}), path, row_index_stride=1000)
    reason = "predicates on elements of lists and maps are not pushed down"
    assert pb.advise(path).columns[1].reason.endswith(f": {reason}")
    line = f"asked by no engine: {reason}; pbloom find uses the filters"
    names = ["l._elem", "m._elem"]
    report = pb.build(path, columns=names, in_place=True)
    assert report.notes == (f"columns l._elem, m._elem: {line}",)
    assert pb.inspect(path).stripes[0].columns[1].notes == (line,)
    found = pb.validate(path).findings
    assert [(each.rule, each.severity, each.column) for each in found] == [
        ("PB628", "note", name) for name in names
    ]
    assert {each.message for each in found} == {line.removeprefix("asked by no engine: ")}
    assert [found.row for found in pb.find(path, "l._elem", 7).rows] == [7]


def test_why_nothing_is_built_of_no_rows(tmp_path):
    table = pa.table({"id": pa.array([], pa.int64())})
    orc.write_table(table, tmp_path / "a.orc")
    with pq.ParquetWriter(tmp_path / "a.parquet", table.schema):
        pass
    for name, part in (("a.orc", "stripe"), ("a.parquet", "row group")):
        report = pb.build(tmp_path / name, columns=["id"], dry_run=True)
        assert (report.filters, report.skipped) == ((), ())
        assert report.notes == (f"the file has no {part}, and so no rows to build filters of",)


def test_room_for_ten_times_as_many_values_is_told(tmp_path, out):
    """Stripes are shorter than index groups may be: each of these has 400 to 500 rows."""
    path = write(tmp_path / "in.orc", row_index_stride=10_000, batch_size=500)
    report = pb.build(path, out, columns=["id", "name"])
    told = [note for note in report.notes if note.startswith("column ")]
    assert len(told) == 2
    share, smaller = r"the filters are [\d,.]+ % of its size", r"and [\d.]+ % with --ndv 5\d0"
    because = "as each has room for 10,000 values"
    ends = "which is enough for each index group"
    assert re.fullmatch(f"column id: {share}, {because}, {smaller}, {ends}", told[0])
    # Which is what it says.
    ndv = int(told[0].partition("--ndv ")[2].partition(",")[0])
    less = pb.build(path, out, columns="id", ndv=ndv, overwrite=True)
    assert less.notes == ()
    with open_file(out) as file:
        chunks = [
            chunk
            for part in range(file.num_parts)
            for chunk in file.chunks(part, [file.column("id")])
        ]
        share = less.bytes_added / sum(chunk.stored_bytes for chunk in chunks)
    said = float(told[0].partition(" and ")[2].partition(" %")[0])
    assert 100 * share == pytest.approx(said, rel=0.1)
    assert max(each.fpp for each in less.filters) < 0.02


def test_what_is_told_of_few_values_counts_whole_words_and_what_is_around_them(tmp_path, out):
    """By `build` and by `advise`: 4 values take 5 bytes of bits, a filter 8 and 6 more, a stream another 17."""
    path, rng = tmp_path / "in.orc", np.random.default_rng(1)
    few = np.concatenate([np.resize(rng.integers(0, 1 << 30, 4), 1_000) for _ in range(40)])
    orc.write_table(pa.table({"few": few}), path, stripe_size=1, batch_size=1_000)
    (note,) = pb.build(path, out, columns=["few"]).notes
    (advice,) = pb.advise(path).columns
    less = pb.build(path, out, columns=["few"], ndv=4, overwrite=True)
    written = sum(each.length for each in less.filters)
    assert written == 40 * (8 + 6 + 17)
    told = [
        re.search(r"and ([\d.]+) % with --ndv [45][,:]", each) for each in (note, advice.reason)
    ]
    real = 100 * written / advice.chunk_bytes
    # What tells a length takes two bytes more where filters are large.
    assert [float(each[1]) for each in told] == pytest.approx([real, real], rel=0.1)


def test_only_some_stripes(path, out):
    report = pb.build(path, out, columns=["id"], row_groups=[2, 0, 2])
    assert [each.stripe for each in report.filters] == [0, 2]
    assert streams(out, "id") == [[ROW_INDEX, 8], [ROW_INDEX], [ROW_INDEX, 8]]
    with pytest.raises(ColumnError, match="stripe 3: expected 0 to 2"):
        pb.build(path, out, columns=["id"], row_groups=[3], overwrite=True)


def test_a_dry_run_says_what_would_be(path, out):
    dry = pb.build(path, columns=["id", "name"], dry_run=True)
    assert (dry.output, out.exists()) == (None, False)
    real = pb.build(path, out, columns=["id", "name"])
    assert (dry.filters, dry.skipped, dry.size_after) == (
        real.filters,
        real.skipped,
        real.size_after,
    )
    stripped = pb.strip(out, dry_run=True)
    assert (stripped.output, stripped.size_after) == (None, path.stat().st_size)
    assert out.stat().st_size == real.size_after


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(path, out, threads):
    told = []
    report = pb.build(
        path, out, columns=["id", "name"], threads=threads, progress=lambda *done: told.append(done)
    )
    assert told == [(done, 6) for done in range(1, 7)]
    assert [each.offset for each in report.filters] == sorted(
        each.offset for each in report.filters
    )
    other = out.with_name("other.orc")
    pb.build(path, other, columns=["id", "name"])
    assert out.read_bytes() == other.read_bytes()


def test_strip_gives_the_original_back(path, out):
    built = pb.build(path, out, columns=["id", "name"], orc_streams="both")
    report = pb.strip(out, in_place=True)
    assert out.read_bytes() == path.read_bytes()
    assert len(report.removed) == 2 * len(built.filters)
    assert report.removed[0].stream == "BLOOM_FILTER"
    assert report.bytes_removed == built.bytes_added


def with_unknown_fields(path):
    """The same file with fields that nobody knows in every message that is edited."""
    with open_file(path) as file:
        tail = file.tail
        data = file.source.read_at(0, file.source.size)
        stripes, places = b"", []
        for index, place in enumerate(tail.stripes):
            foot = file.stripe(index).footer_raw
            encodings = [f for f in wire.fields(foot) if f.number == 2]
            kept = b"".join(foot[f.start : f.end] for f in wire.fields(foot) if f.number != 2)
            marked = [
                wire.bytes_field(2, foot[f.value : f.end] + wire.number_field(99, 7))
                for f in encodings
            ]
            foot = (
                wire.number_field(999, index)
                + kept
                + b"".join(marked)
                + wire.bytes_field(998, b"?")
            )
            places.append((3 + len(stripes), len(foot)))
            stripes += data[place.offset : place.footer_start] + foot
        footer = b""
        for f in wire.fields(tail.footer_raw):
            payload = tail.footer_raw[f.value : f.end]
            if f.number == 3:
                offset, length = places.pop(0)
                edits = {1: wire.number_field(1, offset), 4: wire.number_field(4, length)}
                payload = wire.replaced(payload, edits) + wire.number_field(97, 1)
                footer += wire.bytes_field(3, payload)
            else:
                footer += tail.footer_raw[f.start : f.end]
        # A field of the stripes' number that is none of them, by its wire type.
        footer += wire.number_field(3, 9) + wire.bytes_field(777, b"later")
        footer = wire.replaced(footer, {2: wire.number_field(2, 3 + len(stripes))})
        edits = {1: wire.number_field(1, len(footer)), 55: wire.number_field(55, 3)}
        end = wire.replaced(tail.postscript_raw, edits)
        metadata = data[tail.statistics_start : tail.footer_start]
    path.write_bytes(b"ORC" + stripes + metadata + footer + end + bytes([len(end)]))
    return path


def test_fields_that_nobody_knows_stay(path, out):
    with_unknown_fields(path)
    assert orc.read_table(path).num_rows == ROWS
    pb.build(path, out, columns=["id", "name"])
    with open_file(out) as new, open_file(path) as old:
        numbers = [[f.number for f in wire.fields(each.tail.footer_raw)] for each in (old, new)]
        assert numbers[0] == numbers[1]
        assert numbers[1][-1] == 777
        assert [f.number for f in wire.fields(new.tail.postscript_raw)][-2:] == [55, 8000]
        for index in range(3):
            raw = new.stripe(index).footer_raw
            found = list(wire.fields(raw))
            assert (found[0].number, found[-1].number) == (999, 998)
            encodings = [raw[f.value : f.end] for f in found if f.number == 2]
            assert all(wire.number_field(99, 7) in each for each in encodings)
    pb.strip(out, in_place=True)
    assert out.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("damaged", ["append", "append_from"])
def test_what_was_written_wrong_does_not_take_the_name(path, out, monkeypatch, damaged):
    """One bit of each piece is turned in its turn; the file that is there stays."""
    genuine = getattr(Output, damaged)
    pieces = []

    def counting(self, *arguments):
        pieces.append(arguments)
        return genuine(self, *arguments)

    monkeypatch.setattr(Output, damaged, counting)
    pb.build(path, out, columns=["id"])
    good = out.read_bytes()
    for wrong in range(len(pieces)):
        left = wrong

        def turning(self, *arguments):
            nonlocal left
            at = self.size
            result = genuine(self, *arguments)
            if left == 0 and self.size > at:
                middle = (at + self.size) // 2
                byte = os.pread(self._descriptor, 1, middle)
                os.pwrite(self._descriptor, bytes([byte[0] ^ 1]), middle)
            left -= 1
            return result

        monkeypatch.setattr(Output, damaged, turning)
        with pytest.raises(RewriteError, match="verification failed, not written"):
            pb.build(path, out, columns=["id"], overwrite=True)
        assert out.read_bytes() == good
    assert sorted(each.name for each in path.parent.iterdir()) == ["in.orc", "out.orc"]


def test_options_that_have_no_meaning(path, out):
    for options in ({"max_bytes": 4096}, {"exact_blocks": True}, {"expose_filter_location": True}):
        with pytest.raises(UnsupportedError) as found:
            pb.build(path, out, columns=["id"], **options)
        assert str(found.value) == f"{path}: {next(iter(options))} is not supported for an ORC file"
    with pytest.raises(ValueError, match="orc_streams: old, expected utf8, both"):
        pb.build(path, out, columns=["id"], orc_streams="old")
    assert not out.exists()


def test_the_command(path, out, monkeypatch):
    monkeypatch.chdir(path.parent)
    result = outcome("build", "in.orc", "-c", "id,name,tags", "-o", "out.orc")
    assert (result.code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("out.orc: 11 filters, 13.1 KiB added (")
    assert lines[1:] == [
        "column\tfilters\tbytes\tbits of each\thashes\thighest FPP\tskipped",
        "id\t7\t8.3 KiB\t9600\t7\t1 %\t",
        "name\t4\t4.8 KiB\t9600\t7\t1 %\tstripe 1: no non-null values",
        (
            "skipped tags, stripes 0, 1, 2: LIST: its filters hash only the number of elements;"
            " the elements are column tags._elem"
        ),
    ]
    document = json.loads(outcome("build", "in.orc", "-c", "id", "--dry-run", "--json").stdout)
    assert set(document["filters"][0]) == {
        "stripe", "column", "num_values", "num_filters", "num_bytes", "fpp", "offset", "length",
        "num_bits", "num_hashes",
    }  # fmt: skip
    result = outcome("strip", "out.orc", "--in-place")
    assert result.stdout.startswith("out.orc: 11 filters removed, 13.1 KiB less,")
    assert out.read_bytes() == path.read_bytes()


def test_filters_of_one_size_are_what_writers_make(tmp_path):
    """An index group that is not full has a filter of the full size."""
    made = write(tmp_path / "native.orc", bloom_filter_columns=[1], bloom_filter_fpp=0.01)
    with open_file(made) as file:
        sizes = {
            (each.num_bits, each.num_hashes)
            for stripe in range(3)
            for each in file.filters(stripe, file.column("id")).filters
        }
    assert sizes == {(BITS, HASHES)}
