"""`repair` on ORC files: filters that lose rows go or are built again, and nothing else changes."""

import json
import random
import re
from dataclasses import fields

import numpy as np
import pytest
import readers
from click.testing import CliRunner
from conftest import FIXTURES, ROOT, missing
from orc_defect_files import ROWS, STRIDE, A, S, edited, opened, sound, stream, with_streams
from orc_defects import (
    ORC,
    by_pyarrow,
    by_pyorc,
    cut_data,
    encrypted,
    exchanged,
    index_behind_data,
    narrow,
    pre_release,
    zeros,
)
from pyarrow import orc
from readers import ParquetJava

import parquet_bloom as pb
from parquet_bloom.cli import cli
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8, FILTER_KINDS
from parquet_bloom.verbs.orc.repair import (
    FATAL,
    SHORTCOMINGS,
    UNMENDABLE,
    LeftOrcFilters,
    OrcRepairReport,
    RepairedOrcFilters,
)
from parquet_bloom.verbs.repair import repair
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
    with pb.open(path) as file:
        return [
            (index, each.kind, each.column, file.source.read_at(each.offset, each.length))
            for index in range(file.num_stripes)
            for each in file.stripe(index).streams
            if each.kind not in FILTER_KINDS
        ]


def filter_streams(path):
    with pb.open(path) as file:
        return [
            (index, each.kind, each.column)
            for index in range(file.num_stripes)
            for each in file.stripe(index).streams
            if each.kind in FILTER_KINDS
        ]


def columns_with_filters(path):
    return {(stripe, column) for stripe, _, column in filter_streams(path)}


def errors(path):
    return {each.rule for each in validate(path).findings if each.severity == "error"}


MENDABLE = [each for each in ORC if each.rule in FATAL | SHORTCOMINGS]


@pytest.mark.parametrize("defect", MENDABLE, ids=str)
def test_rebuilding_mends(defect, write, tmp_path):
    path, output = write(defect.make()), tmp_path / "b.orc"
    report = repair(path, output, rebuild=True)
    (first, *_) = [each for each in report.repaired if each.stripe == defect.stripe]
    assert (first.action, first.rule, first.column) == ("rebuilt", defect.rule, defect.column)
    assert report.left == ()
    found = {each.rule for each in validate(output).findings}
    assert not found & (FATAL | SHORTCOMINGS)
    assert streams_of(path) == streams_of(output)
    assert columns_with_filters(path) == columns_with_filters(output)


@pytest.mark.parametrize("defect", [each for each in MENDABLE if each.rule in FATAL], ids=str)
def test_dropping_mends_by_doing_without(defect, write, tmp_path):
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


@pytest.mark.parametrize("defect", [each for each in ORC if each.rule in UNMENDABLE], ids=str)
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
    assert first.reason.endswith(UNMENDABLE[defect.rule])
    assert path.read_bytes() == data


def test_nothing_is_mended_by_a_footer_alone(write):
    data = pre_release()
    path = write(data)
    report = repair(path, in_place=True)
    assert report.repaired == ()
    (left,) = report.left
    assert left == LeftOrcFilters(
        0, (), "a", "PB603",
        "filters in the layout of Hive before release 1.2, whose hash is not known: readers of"
        " today lose nearly every row; rebuild mends it, drop-bad removes the filters",
    )  # fmt: skip
    assert path.read_bytes() == data


def test_dropping_leaves_what_loses_nothing_of_its_own(write):
    """A filter that is right is not dropped for a shortcoming."""
    data = by_pyarrow(zeros())
    path = write(data)
    report = repair(path, in_place=True, drop_bad=True)
    (left,) = report.left
    assert (left.rule, left.index_groups) == ("PB403", (0,))
    assert left.reason.endswith("; rebuild mends it")
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


def test_wrong_filters_of_data_that_is_damaged_are_dropped(write):
    """Nobody can build them again."""

    def change(stripes, footer):
        found = stream(stripes[0], A)
        found.data = b"\xff" + found.data

    path = write(edited(cut_data(), change))
    report = repair(path, in_place=True, rebuild=True)
    (done,) = report.repaired
    assert (done.action, done.rule, done.stripe) == ("filters dropped", "PB602", 0)
    assert "; not rebuilt: " in done.reason


def test_max_bytes_has_no_meaning(write):
    with pytest.raises(pb.UnsupportedError, match="max_bytes: has no meaning for an ORC file"):
        repair(write(sound()), dry_run=True, max_bytes=1 << 20)


# ------------------------------------------------------------------------------------------------
# The command


def run(*arguments):
    return CliRunner().invoke(cli, ["repair", *map(str, arguments)])


def test_files_of_both_formats_in_one_run(write, tmp_path):
    path = write(exchanged())
    other = write((FIXTURES / "pyarrow_filters.parquet").read_bytes(), "b.parquet")
    before = other.read_bytes()
    ran = run(path, other, "--rebuild", "--in-place")
    assert ran.exit_code == 0
    first, second, third = ran.output.splitlines()
    assert re.fullmatch(
        rf"{re.escape(str(path))}: filters of 1 columns of stripes repaired, 0 left,"
        r" \d+ B (added|removed), \d\.\d\d s", first,
    )  # fmt: skip
    assert second.startswith("rebuilt: column a, stripe 0: PB401 false-negatives: for example ")
    assert third.startswith(f"{other}: 0 filters repaired, 0 left")
    assert other.read_bytes() == before
    ran = CliRunner().invoke(cli, ["validate", str(path), str(other), "--json"])
    assert ran.exit_code == 0
    found = [json.loads(line) for line in ran.output.splitlines()]
    assert [each["format"] for each in found] == ["orc", "parquet"]


def test_what_is_left_is_a_no(write):
    ran = run(write(index_behind_data()), "--rebuild", "--in-place")
    assert ran.exit_code == 1
    assert ran.output.splitlines()[1].startswith("left: stripe 0: PB601 contradictory-stripe: an")


def test_encrypted_columns_are_trouble_in_one_line(write):
    ran = run(write(encrypted()), "--rebuild", "--in-place")
    assert ran.exit_code == 2
    assert "Traceback" not in ran.output


def test_the_report_as_json(write):
    ran = run(write(exchanged()), "--rebuild", "--in-place", "--json")
    report = json.loads(ran.output)
    assert set(report) == {field.name for field in fields(OrcRepairReport)}
    (done,) = report["repaired"]
    length = done.pop("length")
    assert done.pop("offset") + length < report["size_after"]
    assert re.match(r"\d+ of 1,000 stored values are not in the filter", done.pop("reason"))
    assert done == {
        "stripe": 0, "index_groups": [0, 1], "column": "a", "action": "rebuilt", "rule": "PB401",
    }  # fmt: skip


def test_every_key_is_documented():
    text = (ROOT / "docs" / "json.md").read_text().split("## `pbloom repair`")[1].split("\n## ")[0]
    keys = {
        field.name
        for kind in (OrcRepairReport, RepairedOrcFilters, LeftOrcFilters)
        for field in fields(kind)
    }
    assert keys <= set(re.findall(r"`(\w+)`", text))


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


# ------------------------------------------------------------------------------------------------
# What readers see


def test_the_values_are_the_same(write, tmp_path):
    path = write(by_pyarrow(narrow()))
    repair(path, tmp_path / "b.orc", rebuild=True)
    assert orc.read_table(path).equals(orc.read_table(tmp_path / "b.orc"))


@pytest.mark.interop
def test_orc_java_loses_no_rows_any_more(write, tmp_path):
    """BYTE by ORC C++, and FLOAT by pyorc, whose filters are of other numbers than are stored."""
    if not ParquetJava.is_here():
        missing(ParquetJava.needs)
    numbers = sorted(set(narrow().to_pylist()))
    # Between the smallest and the largest of each group, so that only the filter decides.
    floats = np.float32(np.arange(1, ROWS) / 7)
    asked = [float(value) for value in floats[10::400]]
    broken = {
        "byte": (write(by_pyarrow(narrow()), "byte.orc"), "LONG", numbers[1:-1]),
        "float": (write(by_pyorc("float", *(row / 7 for row in range(ROWS))), "float.orc"),
                  "FLOAT", asked),
    }  # fmt: skip
    queries, expected = [], []
    for name, (path, kind, literals) in broken.items():
        mended = tmp_path / f"{name}.mended.orc"
        repair(path, mended, rebuild=True)
        for file in (path, mended):
            queries += [(str(file), "a", kind, repr(value)) for value in literals]
            expected.append((file == mended, len(literals)))
    path = tmp_path / "queries.tsv"
    readers._write_queries(path, queries)
    rows = [int(found) for (found,) in ParquetJava(tmp_path)._java("OrcSearch", path)]
    for is_mended, count in expected:
        found, rows = rows[:count], rows[count:]
        if is_mended:
            assert min(found) >= STRIDE
        else:
            assert found.count(0) > count / 2
