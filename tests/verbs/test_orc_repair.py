"""`repair` on ORC files: filters that lose rows go or are built again, and nothing else changes."""

import random

import pyarrow as pa
import pytest
from make.handmade_orc import index_of
from make.orc_defect_files import (
    ROWS,
    A,
    S,
    edited,
    opened,
    sound,
    stream,
    with_streams,
    written,
)
from make.orc_defects import (
    ORC,
    by_pyarrow,
    cut_data,
    damaged_row_index,
    narrow,
    pre_release,
    without_row_index,
    zeros,
)
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.container import Place
from parquet_bloom.files import open_file
from parquet_bloom.filters.k_hash import KHashFilter, hive_size
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8, FILTER_KINDS
from parquet_bloom.rules.rule import rules
from parquet_bloom.verbs.repair import LeftFilter, repair
from parquet_bloom.verbs.validate import validate


@pytest.fixture
def write(tmp_path):
    def write(data: bytes, name: str = "a.orc"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def streams_of(path):
    """What each stream but the filters' holds."""
    with open_file(path) as file:
        return [
            (index, each.kind, each.column, file.source.read_at(each.offset, each.length))
            for index in range(file.num_stripes)
            for each in file.stripe(index).streams
            if each.kind not in FILTER_KINDS
        ]


def filter_streams(path):
    with open_file(path) as file:
        return [
            (index, each.kind, each.column)
            for index in range(file.num_stripes)
            for each in file.stripe(index).streams
            if each.kind in FILTER_KINDS
        ]


def columns_with_filters(path):
    return {(stripe, column) for stripe, _, column in filter_streams(path)}


# By what `repair` does about them.
DROPPED = {rule.id for rule in rules().values() if rule.repair == "drop"}
REBUILT = {rule.id for rule in rules().values() if rule.repair == "rebuild"}
LEFT = {rule.id: rule.instead for rule in rules().values() if rule.instead}


def errors(path):
    return {each.rule for each in validate(path).findings if each.severity == "error"}


REPAIRABLE = [each for each in ORC if each.rule in DROPPED | REBUILT]


@pytest.mark.parametrize("defect", REPAIRABLE, ids=str)
def test_rebuilding_repairs(defect, write, tmp_path):
    path, output = write(defect.make()), tmp_path / "b.orc"
    report = repair(path, output, rebuild=True)
    (first, *_) = [each for each in report.repaired if each.stripe == defect.stripe]
    assert (first.action, first.rule, first.column) == ("rebuilt", defect.rule, defect.column)
    assert report.left == ()
    found = {each.rule for each in validate(output).findings}
    assert not found & (DROPPED | REBUILT)
    assert streams_of(path) == streams_of(output)
    assert columns_with_filters(path) == columns_with_filters(output)


@pytest.mark.parametrize("defect", [each for each in REPAIRABLE if each.rule in DROPPED], ids=str)
def test_dropping_repairs_by_doing_without(defect, write, tmp_path):
    path, output = write(defect.make()), tmp_path / "b.orc"
    report = repair(path, output, drop_bad=True)
    done = {(each.stripe, 1, each.action) for each in report.repaired}
    assert (defect.stripe, 1, "filters dropped") in done
    assert all(each.offset is each.length is None for each in report.repaired)
    assert errors(output) == set()
    assert streams_of(path) == streams_of(output)
    gone = {(stripe, column) for stripe, column, _ in done}
    kept = [each for each in filter_streams(path) if (each[0], each[2]) not in gone]
    assert filter_streams(output) == kept
    assert report.size_after == output.stat().st_size == report.size_before + report.bytes_added


@pytest.mark.parametrize("defect", [each for each in ORC if each.rule in LEFT], ids=str)
def test_the_rest_is_left_with_the_reason(defect, write, tmp_path):
    data = defect.make()
    path = write(data)
    if defect.rule == "PB651":
        with pytest.raises(pb.UnsupportedError, match="has encrypted columns"):
            repair(path, in_place=True, rebuild=True)
        return
    report = repair(path, in_place=True, rebuild=True)
    assert report.repaired == ()
    (first, *_) = report.left
    assert (first.stripe, first.column, first.rule) == (defect.stripe, defect.column, defect.rule)
    assert first.reason.endswith(LEFT[defect.rule])
    assert path.read_bytes() == data


def test_nothing_is_repaired_by_a_footer_alone(write):
    data = pre_release()
    path = write(data)
    report = repair(path, in_place=True)
    assert report.repaired == ()
    (left,) = report.left
    assert left == LeftFilter(
        Place(0), "a", "PB603",
        "filters in the layout of Hive before release 1.2, whose hash is unknown: today's readers"
        " lose nearly every row; --rebuild repairs it, --drop-bad removes the filters",
        num_filters=2, groups=(),
    )  # fmt: skip
    assert left.stripe == 0
    assert path.read_bytes() == data


def test_dropping_leaves_what_loses_nothing_of_its_own(write):
    """A filter that is right is not dropped for a shortcoming."""
    data = by_pyarrow(zeros())
    path = write(data)
    before = path.stat().st_ino
    report = repair(path, in_place=True, drop_bad=True)
    assert path.stat().st_ino == before
    (left,) = report.left
    assert (left.rule, left.num_filters, left.groups) == ("PB403", 1, (0,))
    assert left.reason.endswith("; --rebuild repairs it")
    assert path.read_bytes() == data


def test_a_sound_file_stays_as_it_is(write):
    path = write(sound())
    report = repair(path, in_place=True, rebuild=True)
    assert (report.repaired, report.left, report.bytes_added) == ((), (), 0)
    assert path.read_bytes() == sound()


def test_only_the_columns_and_stripes_that_are_asked_for(write, tmp_path):
    path = write(by_pyarrow(narrow()))
    assert repair(path, dry_run=True, rebuild=True, columns=["s"]).repaired == ()
    report = repair(path, tmp_path / "b.orc", rebuild=True, row_groups=[1])
    assert [each.stripe for each in report.repaired] == [1]
    found = {each.stripe for each in validate(tmp_path / "b.orc").findings}
    assert found == {0}


def test_filters_for_old_readers_are_built_for_them_again(write):
    """Both streams of a column, one of which is wrong."""

    def both(stripe):
        found = stream(stripe, A)
        at = stripe.streams.index(found)
        wrong = type(found)(BLOOM_FILTER, A, stream(stripe, S).data)
        stripe.streams = [*stripe.streams[:at], wrong, *stripe.streams[at:]]

    path = write(with_streams(both))
    assert "PB401" in errors(path)
    repair(path, in_place=True, rebuild=True)
    assert errors(path) == set()
    assert [each for each in filter_streams(path) if each[0] == 0] == [
        (0, BLOOM_FILTER, A), (0, BLOOM_FILTER_UTF8, A), (0, BLOOM_FILTER_UTF8, S),
    ]  # fmt: skip


def damaged_stream(stripe):
    found = stream(stripe, A)
    found.data = b"\xff" + found.data


def without_hashes(stripe):
    found = stream(stripe, A)
    index = orc_pb2.BloomFilterIndex.FromString(found.data)
    index.bloomFilter[0].numHashFunctions = 101
    found.data = index.SerializeToString()


def of_lists():
    """Twenty values in each row: too many for a filter that is sized for the rows."""
    rows = [list(range(20 * row, 20 * row + 20)) for row in range(ROWS)]
    data = written(pa.table({"a": pa.array(rows, pa.list_(pa.int64()))}), [2])

    def clear(stripes, footer):
        empty = KHashFilter.empty(9600, 7)
        stream(stripes[0], 2).data = index_of([empty, empty])

    return edited(data, clear)


@pytest.mark.parametrize(
    ("data", "rule", "reason", "left"),
    [
        (lambda: edited(cut_data(), lambda stripes, _: damaged_stream(stripes[0])), "PB602", "DATA: a run is damaged",
         ["PB611"]),
        (lambda: edited(without_row_index(), lambda stripes, _: damaged_stream(stripes[0])), "PB602",
         "no row index", []),
        (of_lists, "PB402", "the largest index group has 20000 values", []),
    ],
)  # fmt: skip
def test_what_cannot_be_built_again_is_dropped_if_it_loses_rows(write, data, rule, reason, left):
    path = write(data())
    report = repair(path, in_place=True, rebuild=True)
    (done,) = report.repaired
    assert (done.action, done.rule, done.stripe) == ("filters dropped", rule, 0)
    assert reason in done.reason.split("; not rebuilt: ")[1]
    # Without filters, nothing else says that their data are damaged.
    assert [each.rule for each in report.left] == left
    assert all(each.reason.endswith("; take another copy of the file") for each in report.left)
    assert (0, done.column) not in {
        (each.stripe, each.column) for each in validate(path, max_bytes=1).findings
        if each.rule == "PB312"
    }  # fmt: skip


def test_what_cannot_be_built_again_stays_if_it_loses_nothing(write):
    path = write(edited(cut_data(), lambda stripes, _: without_hashes(stripes[0])))
    before = filter_streams(path)
    report = repair(path, in_place=True, rebuild=True)
    assert report.repaired == ()
    (first, *_) = report.left
    assert first.rule == "PB607"
    assert "; not rebuilt: " in first.reason
    assert filter_streams(path) == before


def sizes(path):
    with open_file(path) as file:
        stored = [file.filters(index, file.column("a")) for index in range(file.num_stripes)]
    return {(each.num_bits, each.num_hashes) for index in stored for each in index.filters}


def lose_values(path):
    """Some bytes of a filter are empty."""
    with open_file(path) as file:
        there = next(each for each in file.stripe(0).streams if each.kind == BLOOM_FILTER_UTF8)
    data = bytearray(path.read_bytes())
    at = there.offset + there.length // 3
    data[at : at + 20] = bytes(20)
    path.write_bytes(data)


@pytest.mark.parametrize("size", [{"ndv": 500, "fpp": 0.001}, {"ndv": 3000}, {"fpp": 0.03}])
def test_rebuilding_keeps_the_size_that_somebody_chose(size, tmp_path):
    """Otherwise filters that were made small, as they were too large, are large again."""
    path = tmp_path / "a.orc"
    values = [row % 400 * 7919 for row in range(5000)]
    orc.write_table(
        pa.table({"a": values}), path, compression="uncompressed", row_index_stride=1000
    )
    pb.build(path, columns=["a"], in_place=True, **size)
    before, chosen = path.read_bytes(), sizes(path)
    lose_values(path)
    assert errors(path)
    report = repair(path, in_place=True, rebuild=True)
    assert [each.action for each in report.repaired] == ["rebuilt"]
    assert sizes(path) == chosen
    assert path.read_bytes() == before
    lose_values(path)
    repair(path, in_place=True, rebuild=True, fpp=0.01)
    assert sizes(path) == {hive_size(1000, 0.01)}
    assert not errors(path)


def test_rebuilding_keeps_no_size_that_is_not_enough(tmp_path):
    path = tmp_path / "a.orc"
    values = [row * 7919 for row in range(5000)]
    orc.write_table(
        pa.table({"a": values}), path, compression="uncompressed", row_index_stride=1000
    )
    pb.build(path, columns=["a"], in_place=True, ndv=100, force=True)
    lose_values(path)
    assert errors(path)
    repair(path, in_place=True, rebuild=True)
    assert sizes(path) == {hive_size(1000, 0.01)}
    assert not errors(path)


def test_strip_tells_of_damage_that_nothing_tells_of_without_filters(write, tmp_path):
    """As the row indexes were compared: who does not verify reads none."""
    path = write(damaged_row_index())
    (note,) = pb.strip(path, tmp_path / "b.orc").notes
    assert note.startswith("stripe 0, column a: ROW_INDEX: damaged: ")
    assert note.endswith(
        " (PB613), and without filters nothing tells: take another copy of the file"
    )
    assert pb.strip(path, tmp_path / "c.orc", columns=["s"]).notes == ()
    assert pb.strip(path, tmp_path / "d.orc", verify=False).notes == ()
    assert pb.strip(write(sound(), "sound.orc"), in_place=True).notes == ()


def test_columns_that_share_their_name_are_left(write):
    def change(stripes, footer):
        footer["types"][0].fieldNames[:] = [b"a", b"a", b"t"]
        damaged_stream(stripes[0])

    data = edited(sound(), change)
    path = write(data)
    report = repair(path, in_place=True, rebuild=True)
    assert report.repaired == ()
    assert "PB602" in {each.rule for each in report.left}
    assert report.left[0].reason.endswith("several columns have this name")
    assert path.read_bytes() == data


def test_max_bytes_is_not_supported(write):
    with pytest.raises(pb.UnsupportedError, match="max_bytes is not supported for ORC files"):
        repair(write(sound()), dry_run=True, max_bytes=1 << 20)


# ------------------------------------------------------------------------------------------------
# Whatever comes


def index_bytes():
    """Where the indexes and footers of stripes lie in the sound file."""
    places = opened(sound(), lambda file: file.tail.stripes)
    spans = [(each.offset, each.data_start) for each in places]
    return [*spans, *((each.footer_start, each.end) for each in places)]


@pytest.mark.parametrize("seed", range(60))
def test_no_value_seems_absent_after_a_repair(write, tmp_path, seed):
    """Bytes of filters, row indexes and stripe footers are changed at random."""
    rng = random.Random(seed)
    data = bytearray(sound())
    for _ in range(rng.randint(1, 6)):
        data[rng.randrange(*rng.choice(index_bytes()))] ^= 1 << rng.randrange(8)
    path, output = write(bytes(data)), tmp_path / "b.orc"
    try:
        left = {each.rule for each in repair(path, output, rebuild=True).left}
    except pb.ParquetBloomError:
        assert not output.exists()
        return
    assert errors(output) <= left
