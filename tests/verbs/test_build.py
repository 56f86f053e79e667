"""build: what it adds, what it leaves alone, and what it refuses."""

import os
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from make.footers import footer_start
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom import parallel as chunk_pool
from parquet_bloom.container.data_file import DataFile
from parquet_bloom.files import open_file
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.filters import builder as filter_builder

ROWS = 3000
GROUP = 1000


@pytest.fixture
def source(tmp_path):
    """3 row groups: `id` unique, `low` of 5 values, `flag` boolean, `empty` all null."""
    rng = np.random.default_rng(7)
    table = pa.table(
        {
            "id": rng.permutation(ROWS).astype(np.int64),
            "low": [f"v{i % 5}" for i in range(ROWS)],
            "flag": [i % 2 == 0 for i in range(ROWS)],
            "empty": pa.array([None] * ROWS, pa.string()),
        }
    )
    path = tmp_path / "source.parquet"
    pq.write_table(table, path, row_group_size=GROUP, use_dictionary=["low", "empty"])
    return path


def bitsets(path, column):
    with pb.open(path) as file:
        return [
            file.bloom_filter(group, column).bits.to_bytes() for group in range(file.num_row_groups)
        ]


def test_everything_before_the_footer_stays(source, tmp_path):
    out = tmp_path / "out.parquet"
    report = pb.build(source, out, columns=["id"])
    before, after = source.read_bytes(), out.read_bytes()
    footer_start = len(before) - 8 - int.from_bytes(before[-8:-4], "little")
    assert after[:footer_start] == before[:footer_start]
    assert [item.offset for item in report.filters] == [
        footer_start + sum(item.length for item in report.filters[:i]) for i in range(3)
    ]
    assert (report.size_before, report.size_after) == (len(before), len(after))
    assert report.bytes_added == len(after) - len(before)
    assert pq.read_table(out).equals(pq.read_table(source))


def test_filters_lie_row_group_by_row_group_in_schema_order(source, tmp_path):
    report = pb.build(source, tmp_path / "out.parquet", columns=["low", "id"])
    assert [(item.row_group, item.column) for item in report.filters] == [
        (group, column) for group in range(3) for column in ("id", "low")
    ]


def test_pyarrow_sees_offset_and_length(source, tmp_path):
    report = pb.build(source, tmp_path / "out.parquet", columns=["low"])
    metadata = pq.read_metadata(tmp_path / "out.parquet")
    for item in report.filters:
        column = metadata.row_group(item.row_group).column(1)
        assert (column.bloom_filter_offset, column.bloom_filter_length) == (
            item.offset,
            item.length,
        )


def test_the_header_is_the_formats(source, tmp_path):
    """numBytes, BLOCK, XXHASH, UNCOMPRESSED: the same bytes as in parquet-testing's samples."""
    report = pb.build(source, tmp_path / "out.parquet", columns=["low"])
    dumped = pb.dump(tmp_path / "out.parquet", "low", 0)
    assert report.filters[0].num_bytes == 64
    assert dumped.header.hex() == "15800" + "11c1c00001c1c00001c1c000000"


def test_no_value_is_lost(source, tmp_path):
    pb.build(source, tmp_path / "out.parquet", columns=["id", "low"])
    table = pq.ParquetFile(source)
    with pb.open(tmp_path / "out.parquet") as file:
        for group in range(3):
            values = table.read_row_group(group)
            for column in ("id", "low"):
                stored = file.bloom_filter(group, column)
                assert stored.check_many(values[column].to_numpy()).all()


def test_boolean_and_all_null_chunks_are_skipped_with_a_reason(source, tmp_path):
    report = pb.build(source, tmp_path / "out.parquet", columns=["flag", "empty"])
    assert report.filters == ()
    assert {(item.column, item.reason) for item in report.skipped} == {
        ("flag", "BOOLEAN: two values need no filter"),
        ("empty", "no non-null values"),
    }
    assert (tmp_path / "out.parquet").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("fpp", [0.3, 0.1, 0.01, 0.001, 1e-5])
def test_each_filter_is_the_smallest_power_of_two_within_the_target(source, tmp_path, fpp):
    report = pb.build(source, tmp_path / "out.parquet", columns=["id"], fpp=fpp)
    with pb.open(tmp_path / "out.parquet") as file:
        for item in report.filters:
            found = file.bloom_filter(item.row_group, "id").bits
            assert found.fpp == item.fpp <= fpp
            assert found.num_blocks & (found.num_blocks - 1) == 0
            assert found.num_bytes == 64 or found.fold().fpp > fpp


def test_a_folded_filter_is_the_one_built_at_that_size(source, tmp_path):
    """From an upper bound of 1000 values down to the 5 there are, without a dictionary to count."""
    table = pq.read_table(source, columns=["low"])
    plain = tmp_path / "plain.parquet"
    pq.write_table(table, plain, row_group_size=GROUP, use_dictionary=False)
    pb.build(plain, tmp_path / "folded.parquet", columns=["low"])
    fresh = SplitBlockBloomFilter.empty(2)
    fresh.insert_hashes(np.array([_kernel.xxh64(f"v{i}".encode()) for i in range(5)], np.uint64))
    assert bitsets(tmp_path / "folded.parquet", "low") == [fresh.to_bytes()] * 3


@pytest.mark.parametrize("column", ["id", "low"])
def test_measured_fpp_is_the_reported_one(source, tmp_path, column):
    """10^6 random values that are not there; binomial, 5 sigma."""
    report = pb.build(source, tmp_path / "out.parquet", columns=[column], fpp=0.05)
    rng = np.random.default_rng(11)
    hashes = _kernel.xxh64_fixed(rng.integers(1 << 40, 1 << 62, 10**6).view(np.uint8), 8)
    with pb.open(tmp_path / "out.parquet") as file:
        for item in report.filters:
            measured = file.bloom_filter(item.row_group, column).bits.check_hashes(hashes).mean()
            sigma = (item.fpp * (1 - item.fpp) / hashes.size) ** 0.5
            assert abs(measured - item.fpp) < 5 * sigma + 1e-9


def test_a_saturated_filter_is_not_written_unless_forced(source, tmp_path):
    report = pb.build(source, tmp_path / "a.parquet", columns=["id"], max_bytes=64)
    assert report.filters == ()
    assert report.skipped[0].reason == (
        "FPP 100 % at 64 bytes, the most allowed: misses the target of 1 %"
    )
    forced = pb.build(source, tmp_path / "b.parquet", columns=["id"], max_bytes=64, force=True)
    assert [item.num_bytes for item in forced.filters] == [64] * 3


def test_filters_that_outweigh_their_data_are_noted(tmp_path):
    """Numbers in a row take little with deltas. The last three rows have a filter of a few bytes, which
    are not worth mentioning."""
    path = tmp_path / "a.parquet"
    table = pa.table({"a": np.arange(5_003), "b": np.arange(5_003) * 7919 % 5_003})
    pq.write_table(
        table, path, row_group_size=2_500, use_dictionary=False, compression="none",
        column_encoding={"a": "DELTA_BINARY_PACKED", "b": "PLAIN"},
    )  # fmt: skip
    report = pb.build(path, in_place=True, columns=["a", "b"], fpp=1e-5)
    note = "column a: 2 filters are larger than the data that readers could skip (PB306)"
    assert report.notes == (note,)
    found = [each.column for each in pb.validate(path).findings if each.rule == "PB306"]
    assert found == ["a", "a"]


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_filters_that_exclude_little_are_noted(tmp_path, format):
    """What was asked for is built, and it is said at once what validate will say."""
    path, out = tmp_path / f"a.{format}", tmp_path / f"b.{format}"
    table = pa.table({"a": np.arange(4_000) * 7919, "b": ["same"] * 4_000})
    {"parquet": pq, "orc": orc}[format].write_table(table, path)
    for fpp, rule in ((0.05, None), (0.4, "PB302"), (0.9, "PB301")):
        report = pb.build(path, out, columns=["a", "b"], fpp=fpp, overwrite=True)
        notes = [note for note in report.notes if "absent values" in note]
        found = {each.rule for each in pb.validate(out).findings} & {"PB301", "PB302"}
        assert found == ({rule} if rule else set())
        (built, *_) = (each for each in report.filters if each.column == "a")
        share = f"{100 * built.fpp:.2g} %"
        rule = f"{rule}, unless --max-fpp of validate allows it" if rule == "PB302" else rule
        text = f"column a: up to {share} of absent values pass its filters ({rule})"
        assert notes == ([text] if rule else [])


def test_max_bytes_that_is_no_power_of_two_is_rounded_down(source, tmp_path):
    report = pb.build(source, tmp_path / "out.parquet", columns=["id"], max_bytes=1000, force=True)
    assert [item.num_bytes for item in report.filters] == [512] * 3


def test_ndv_sizes_without_folding(source, tmp_path):
    report = pb.build(source, tmp_path / "out.parquet", columns=["low"], ndv=100_000)
    assert [item.num_bytes for item in report.filters] == [1 << 18] * 3


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_an_ndv_that_is_too_low_is_refused_unless_forced(tmp_path, format):
    """In both formats: what the user says is no reason to write filters that exclude nothing."""
    path, out = tmp_path / f"a.{format}", tmp_path / f"b.{format}"
    table = pa.table({"a": np.arange(8_000) * 7919})
    {"parquet": pq, "orc": orc}[format].write_table(table, path)
    report = pb.build(path, out, columns="a", ndv=1_000)
    assert (report.filters, len(report.skipped)) == ((), 1)
    assert re.search("^FPP .* sized for (an NDV of )?1000", report.skipped[0].reason)
    assert pb.build(path, out, columns="a", ndv=1_000, force=True, overwrite=True).filters
    # A little less than there are is as good as bad luck.
    assert pb.build(path, out, columns="a", ndv=7_500, overwrite=True).filters


def test_exact_blocks_save_what_rounding_wastes(source, tmp_path):
    rounded = pb.build(source, tmp_path / "a.parquet", columns=["id"])
    exact = pb.build(source, tmp_path / "b.parquet", columns=["id"], exact_blocks=True)
    for one, other in zip(rounded.filters, exact.filters, strict=True):
        assert other.fpp <= 0.01
        assert 1000 * 10.5 / 8 < other.num_bytes < 1000 * 11.5 / 8 < one.num_bytes
    with pb.open(tmp_path / "b.parquet") as file:
        assert all(file.bloom_filter(0, "id").check(int(v)) for v in
                   pq.ParquetFile(source).read_row_group(0)["id"].to_numpy())  # fmt: skip


def test_exact_blocks_are_never_more_than_a_power_of_two_that_keeps_the_rate(tmp_path):
    """Here, 128 KiB are less than calculated, and are enough for these hashes."""
    path, sizes = tmp_path / "a.parquet", []
    pq.write_table(pa.table({"a": np.arange(98_900) * 7919}), path, use_dictionary=False)
    for exact in (False, True):
        out = tmp_path / f"{exact}.parquet"
        (built,) = pb.build(path, out, columns="a", exact_blocks=exact).filters
        assert built.fpp <= 0.01
        sizes.append(built.num_bytes)
    assert sizes == [128 << 10, 128 << 10]


def test_both_zeros_and_the_canonical_nan_are_there(tmp_path):
    negative_nan = np.array([0xFFC12345], np.uint32).view(np.float32)
    table = pa.table(
        {
            "plus": pa.array([0.0, 1.0]),
            "minus": pa.array([-0.0, 1.0]),
            "nan": pa.array([negative_nan[0], 1.0], pa.float32()),
            "neither": pa.array([2.0, 1.0]),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet", use_dictionary=["plus"])
    pb.build(tmp_path / "in.parquet", tmp_path / "out.parquet", columns=table.column_names)

    def has(column, plain):
        with pb.open(tmp_path / "out.parquet") as file:
            hashes = np.array([_kernel.xxh64(plain)], np.uint64)
            return bool(file.bloom_filter(0, column).bits.check_hashes(hashes)[0])

    plus, minus = bytes(8), bytes(7) + b"\x80"
    assert [has(c, z) for c in ("plus", "minus", "neither") for z in (plus, minus)] == (
        [True] * 4 + [False] * 2
    )
    assert has("nan", bytes.fromhex("0000c07f"))
    assert not has("nan", bytes.fromhex("0000c0ff"))


def test_what_to_do_with_existing_filters_is_one_of_three(source, tmp_path):
    with pytest.raises(ValueError, match="existing: keen, expected keep, replace, error"):
        pb.build(source, tmp_path / "out.parquet", columns=["id"], existing="keen")


def test_existing_filters_are_kept_replaced_or_an_error(source, tmp_path):
    first, kept, replaced = (tmp_path / name for name in ("1.parquet", "2.parquet", "3.parquet"))
    pb.build(source, first, columns=["id"], fpp=0.1)
    report = pb.build(first, kept, columns=["id", "low"])
    assert {item.reason for item in report.skipped} == {"has a filter already"}
    assert bitsets(kept, "id") == bitsets(first, "id")
    pb.build(first, replaced, columns=["id"], fpp=0.001, existing="replace")
    pb.build(source, tmp_path / "fresh.parquet", columns=["id"], fpp=0.001)
    assert replaced.read_bytes() == (tmp_path / "fresh.parquet").read_bytes()
    with pytest.raises(pb.RewriteError, match="row group 0, column id: has a filter already"):
        pb.build(first, tmp_path / "4.parquet", columns=["id"], existing="error")


def without_some_values(path, *columns):
    """Clears the last block of the filters of these columns."""
    with open_file(path) as file:
        ends = [
            chunk.bloom_filter_offset + chunk.bloom_filter_length
            for group in range(file.num_row_groups)
            for chunk in (file.chunk(group, column) for column in columns)
        ]
    data = bytearray(path.read_bytes())
    for end in ends:
        data[end - 32 : end] = bytes(32)
    path.write_bytes(data)


def test_filters_in_whose_place_none_is_built_are_told_apart(source, tmp_path):
    first = tmp_path / "1.parquet"
    pb.build(source, first, columns=["id", "low"])
    without_some_values(first, "id", "low")
    found = pb.build(
        first, columns=["id", "low"], existing="replace", max_bytes=64, fpp=1e-9, in_place=True
    )
    built = {(each.place.part, each.column) for each in found.filters}
    notes = [note for note in found.notes if note.endswith(("built them", "their place"))]
    assert notes == ["removed the filters of 6 column chunks for good, with none in their place"]
    assert not built
    assert found.bytes_added < 0
    assert found.state == "stripped"


def test_filters_that_go_for_good_are_counted(source, tmp_path):
    """In place, unless the file keeps the end that they are before."""
    first = tmp_path / "1.parquet"
    pb.build(source, first, columns=["id"])
    replace = {"columns": ["id", "low"], "existing": "replace"}
    end = "the filters of 3 column chunks for good, whoever built them"
    dry = {"in_place": True, "dry_run": True}
    kept = (
        pb.build(first, tmp_path / "2.parquet", **replace),
        pb.build(first, layout="append", **dry, **replace),
        pb.build(first, columns=["id", "low"], **dry),
    )
    assert not any("for good" in note for report in kept for note in report.notes)
    assert f"would replace {end}" in pb.build(first, **dry, **replace).notes
    assert f"replaced {end}" in pb.build(first, in_place=True, **replace).notes


def test_replacing_one_of_two_keeps_the_others_bits_and_no_unused_bytes(source, tmp_path):
    both, out = tmp_path / "both.parquet", tmp_path / "out.parquet"
    pb.build(source, both, columns=["id", "low"])
    pb.build(both, out, columns=["id"], existing="replace")
    for column in ("id", "low"):
        assert bitsets(out, column) == bitsets(both, column)
    assert out.stat().st_size == both.stat().st_size
    with open_file(out) as file:
        start = footer_start(source.read_bytes())
        assert file.chunk(0, "low").bloom_filter_offset == start


@pytest.mark.parametrize("layout", ["replace", "append"])
def test_a_filter_stays_where_only_a_worse_one_can_be_built(source, tmp_path, layout):
    """What was copied is the filter that was there, wherever its bytes are by then."""
    first, out = tmp_path / "first.parquet", tmp_path / "out.parquet"
    pb.build(source, first, columns=["low", "id"])
    before = bitsets(first, "id")
    given = {"columns": ["id", "low"], "existing": "replace", "fpp": 1e-4, "max_bytes": 64}
    report = pb.build(first, out, layout=layout, **given)
    assert {item.column for item in report.filters} == {"low"}
    reasons = {(item.column, item.reason) for item in report.skipped}
    assert reasons == {
        (
            "id",
            "FPP 100 % at 64 bytes, the most allowed: misses the target of 0.01 %; what is there is better, and stays",
        )
    }
    assert bitsets(out, "id") == before
    assert pb.validate(out, deep=True).ok
    bytes_before = first.read_bytes()
    alone = pb.build(first, in_place=True, layout=layout, **{**given, "columns": ["id"]})
    assert (alone.filters, alone.bytes_added, alone.state) == ((), 0, "skipped")
    assert first.read_bytes() == bytes_before
    assert not any("for good" in note for note in alone.notes)


def test_a_filter_that_lacks_values_goes_even_if_none_comes(source, tmp_path):
    """Its bytes may be overwritten by another one, so its pointer must not stay."""
    first, out = tmp_path / "first.parquet", tmp_path / "out.parquet"
    pb.build(source, first, columns=["id", "low"])
    without_some_values(first, "id")
    report = pb.build(first, out, columns=["id", "low"], existing="replace", fpp=1e-4, max_bytes=64)
    assert {item.column for item in report.skipped} == {"id"}
    with open_file(out) as file:
        assert {file.chunk(group, "id").bloom_filter_offset for group in range(3)} == {None}
        assert all(verdict.verdict == "maybe" for verdict in DataFile(file).probe("low", "v1"))
        assert all(verdict.verdict == "absent" for verdict in DataFile(file).probe("low", "v7"))


def test_only_the_row_groups_that_were_asked_for(source, tmp_path):
    report = pb.build(source, tmp_path / "out.parquet", columns=["id"], row_groups=[2, 0])
    assert [item.row_group for item in report.filters] == [0, 2]
    with pytest.raises(pb.ColumnError, match="row group 3: expected 0 to 2"):
        pb.build(source, tmp_path / "b.parquet", columns=["id"], row_groups=[3])


def test_the_bytes_do_not_depend_on_threads_or_on_verification(source, tmp_path):
    outputs = []
    for index, options in enumerate([{"threads": 1}, {"threads": 5}, {"verify": False}]):
        out = tmp_path / f"{index}.parquet"
        pb.build(source, out, columns=["id", "low"], **options)
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]


def test_large_filters_are_not_held_together(source, monkeypatch):
    """While one waits to be written and beside it there is no room, the next does not begin: room for
    its pages is 2 MiB at least."""
    began, taken = [], []
    build_filter = filter_builder.build_filter
    monkeypatch.setattr(chunk_pool._budget, "limit", 3 << 20)
    monkeypatch.setattr("parquet_bloom.parquet.pages.pages.memory", lambda: 1 << 30)
    monkeypatch.setattr(
        filter_builder, "build_filter", lambda *args: (began.append(1), build_filter(*args))[1]
    )
    pb.build(
        source,
        columns=["id"],
        dry_run=True,
        threads=4,
        progress=lambda done, total: taken.append((done, len(began))),
    )
    assert taken == [(1, 1), (2, 2), (3, 3)]


@pytest.fixture
def both_encodings(tmp_path):
    """Two columns in three row groups, each with a dictionary and with pages that do without it."""
    rng = np.random.default_rng(5)
    table = pa.table(
        {
            "number": rng.integers(0, 1 << 60, 30_000),
            "text": [f"text {number}" for number in rng.permutation(30_000)],
        }
    )
    path = tmp_path / "both.parquet"
    pq.write_table(
        table,
        path,
        compression="zstd",
        row_group_size=10_000,
        dictionary_pagesize_limit=10_000,
        data_page_size=4_000,
    )
    return path, table


def test_a_dictionary_outlasts_the_pages_that_are_decompressed_behind_it(both_encodings, tmp_path):
    path, table = both_encodings
    out = tmp_path / "out.parquet"
    pb.build(path, out, columns=["number", "text"], threads=1)
    with pb.open(out) as file:
        for column in table.column_names:
            for group in range(3):
                values = table[column].slice(10_000 * group, 10_000).to_numpy()
                assert file.bloom_filter(group, column).check_many(values).all()


@pytest.mark.parametrize(("kept", "num_made"), [(filter_builder.KEPT_BYTES, 1), (0, 6)])
def test_a_thread_keeps_its_memory_unless_it_is_large(both_encodings, monkeypatch, kept, num_made):
    path, _ = both_encodings
    made = []
    new = filter_builder.ChunkBuffers
    monkeypatch.setattr(filter_builder, "KEPT_BYTES", kept)
    monkeypatch.setattr(filter_builder, "ChunkBuffers", lambda: (made.append(1), new())[1])
    pb.build(path, columns=["number", "text"], threads=1, dry_run=True)
    assert len(made) == num_made


def test_a_dry_run_reports_the_same_and_writes_nothing(source, tmp_path):
    dry = pb.build(source, columns=["id", "low"], dry_run=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source.parquet"]
    real = pb.build(source, tmp_path / "out.parquet", columns=["id", "low"])
    assert replace(dry, seconds=0) == replace(real, seconds=0, output=None, dry_run=True)


def test_progress_counts_chunks(source, tmp_path):
    seen = []
    pb.build(
        source,
        tmp_path / "o.parquet",
        columns=["id", "low"],
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(done, 6) for done in range(1, 7)]


def test_in_place_replaces_the_file_and_keeps_its_mode(source):
    os.chmod(source, 0o640)
    (source.parent / f".{source.name}.crc").write_bytes(b"stale")
    expected = pq.read_table(source)
    report = pb.build(source, in_place=True, columns=["id"])
    assert report.output == str(source)
    assert os.stat(source).st_mode & 0o777 == 0o640
    assert [path.name for path in source.parent.iterdir()] == ["source.parquet"]
    assert pq.read_table(source).equals(expected)
    assert len(bitsets(source, "id")) == 3


def test_in_place_with_nothing_to_do_leaves_the_file_alone(source):
    before = os.stat(source)
    report = pb.build(source, in_place=True, columns=["flag"])
    after = os.stat(source)
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert (report.bytes_added, report.size_after) == (0, before.st_size)


def test_in_place_writes_through_a_link(source, tmp_path):
    link = tmp_path / "link.parquet"
    link.symlink_to(source)
    pb.build(link, in_place=True, columns=["id"])
    assert link.is_symlink()
    assert len(bitsets(source, "id")) == 3


@pytest.mark.parametrize("fixture", sorted(FIXTURES.glob("*.parquet")), ids=lambda path: path.stem)
def test_strip_undoes_build(fixture, tmp_path):
    """On every fixture without filters of its own: the bytes of the original come back."""
    if fixture.stem.endswith("_filters"):
        return
    built, stripped = tmp_path / "built.parquet", tmp_path / "stripped.parquet"
    with pb.open(fixture) as file:
        columns = file.columns
    report = pb.build(fixture, built, columns=columns, force=True)
    assert report.filters or fixture.stem.startswith("pyarrow_empty")
    pb.strip(built, stripped)
    assert stripped.read_bytes() == fixture.read_bytes()


@pytest.fixture
def changed(tmp_path):
    """Writes a file whose filter lacks ten values, as bytes of a page have changed, which has no checksum; with
    statistics if asked for, which say so, too."""

    def write(fpp=0.01, statistics=False):
        path = tmp_path / "changed.parquet"
        ids = np.random.default_rng(5).integers(0, 1 << 40, 8_000)
        pq.write_table(
            pa.table({"id": ids}), path, row_group_size=2_000, use_dictionary=False, compression="none",
            write_statistics=statistics,
        )  # fmt: skip
        pb.build(path, columns="id", fpp=fpp, in_place=True)
        start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
        data = bytearray(path.read_bytes())
        data[start + 1000 : start + 1080] = bytes(range(100, 180))
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize("fpp", [0.0001, 0.01, 0.3])
@pytest.mark.parametrize("dry_run", [False, True])
def test_filters_that_lack_values_are_not_replaced_in_silence(changed, fpp, dry_run):
    """Nobody could tell any more that these were others. Whatever their size, and that of the new ones."""
    again = {"columns": "id", "existing": "replace", "in_place": True, "dry_run": dry_run}
    path = changed(fpp)
    _, said = pb.build(path, **again).notes
    assert re.match(
        r"row group 1, column id: the filter that it had lacks values in rows 2\d+ to 2\d+: ", said
    )
    assert said.endswith("bytes became others that fit, which takes checksums to tell")
    if not dry_run:
        assert len(pb.build(path, **again).notes) == 1


def test_a_filter_that_lacks_values_does_not_go_in_silence(changed):
    """Where none comes in its place, and those that lack nothing stay."""
    gone, said = pb.build(
        changed(), columns="id", existing="replace", max_bytes=64, in_place=True
    ).notes
    assert gone == "removed the filters of 1 column chunk for good, with none in their place"
    assert said.startswith("row group 1, column id: the filter that it had lacks values in rows 2")


def test_a_filter_that_is_the_only_trace_of_a_changed_page_is_not_replaced(changed, tmp_path):
    """As repair leaves it."""
    path = changed(statistics=True)
    before = path.read_bytes()
    worse = {"columns": "id", "existing": "replace", "max_bytes": 64}
    with pytest.raises(
        pb.RewriteError,
        match=r"row group 1, column id: \d+ of 2,000 stored values are not in the filter: .* bytes of the pages may"
        r" have changed, and not the filter: PB\d+ .*: take another copy of the file$",
    ):
        pb.build(path, columns="id", existing="replace", in_place=True)
    # None would come in its place.
    with pytest.raises(pb.RewriteError, match=r"take another copy of the file$"):
        pb.build(path, **worse, in_place=True)
    assert path.read_bytes() == before
    assert pb.repair(path, rebuild=True, dry_run=True).state == "still wrong"
    pb.build(path, tmp_path / "none.parquet", **worse)
    # This one stays where it is.
    pb.build(path, tmp_path / "new.parquet", columns="id", existing="replace")
