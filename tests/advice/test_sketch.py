"""Sketches of tables: the same bytes and the same advice however files are split and parts are merged."""

import random
import shutil
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from make.sketches import sketch_of

import parquet_bloom as pb
from parquet_bloom.advice import groups, ndv, sketch
from parquet_bloom.advice.groups import GroupSample, SeenGroup
from parquet_bloom.advice.lookups import LookUps, MinMax, expected_reads, in_units
from parquet_bloom.advice.orc_survey import OrcSurveyor
from parquet_bloom.advice.order import Keys
from parquet_bloom.advice.packed import MAGIC, key_arrays, keys_of, packed, unpacked
from parquet_bloom.advice.parquet_survey import ParquetSurveyor
from parquet_bloom.advice.sketch import TableSketch
from parquet_bloom.options import AdviseOptions, BuildOptions
from parquet_bloom.verbs.advise import (
    Advisor,
    TableAdvisor,
    advise_sketches,
    merged_sketches,
    options_to_build,
)

FILES = 14
WRITERS = {"parquet": pq.write_table, "orc": po.write_table}


def rows_of(number):
    """One file has no values, one has few rows, and the others differ in size."""
    rng = np.random.default_rng(number)
    rows = 0 if number == 3 else 7 if number == 4 else 400 + 50 * number
    numbers = rng.integers(0, 5_000, rows)
    return pa.table(
        {
            "id": numbers * 3,
            "sorted": np.sort(rng.integers(0, 100, rows)) + 100 * number,
            "text": pa.array([f"{each:x}" * 12 for each in numbers], pa.string()),
            "price": pa.array(
                rng.choice([0.0, -0.0, np.nan, 1.5, 2.5, np.inf], rows), pa.float64()
            ),
            "amount": pa.array([Decimal(int(each)) for each in numbers], pa.decimal128(30, 0)),
            "rare": pa.array(numbers, pa.int64(), mask=np.full(rows, number % 5 > 0)),
            "raw": pa.array([str(each).encode() for each in numbers], pa.binary()),
        }
    )


@pytest.fixture(scope="module", params=WRITERS)
def lake(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    for number in range(FILES):
        path = folder / f"{number:02}.{request.param}"
        if request.param == "parquet":
            pq.write_table(rows_of(number), path, row_group_size=100 + 400 * (number % 3))
        else:
            po.write_table(rows_of(number), path, row_index_stride=1_000)
    return sorted(map(str, folder.iterdir()))


@pytest.fixture
def little(monkeypatch):
    """Far less is kept than there is."""
    monkeypatch.setattr(sketch, "LEAST_KEPT", 8)
    monkeypatch.setattr(groups, "LIMIT", 12)
    monkeypatch.setattr(ndv, "LIMIT", 100)
    for surveyor in (ParquetSurveyor, OrcSurveyor):
        monkeypatch.setattr(surveyor, "num_drawn", 40)


@pytest.fixture(params=["all is kept", "little is kept"])
def kept(request):
    if request.param == "little is kept":
        request.getfixturevalue("little")


def split(paths, draw):
    """In random parts, each in a random order."""
    paths = draw.sample(paths, len(paths))
    cuts = sorted(draw.sample(range(1, len(paths)), draw.randint(1, 5)))
    return [paths[start:end] for start, end in zip([0, *cuts], [*cuts, len(paths)], strict=True)]


def merged_in_any_order(parts, draw):
    """Two at a time, as a tree of tasks would."""
    parts = list(parts)
    while len(parts) > 1:
        pair = [parts.pop(draw.randrange(len(parts))) for _ in range(2)]
        parts.append(merged_sketches(pair))
    return parts[0]


@pytest.mark.every(2)
@pytest.mark.usefixtures("kept")
def test_any_split_and_any_order_give_the_same_bytes(lake):
    options = AdviseOptions(budget=100_000)
    whole = sketch_of(lake, options)
    for seed in range(4):
        draw = random.Random(seed)
        parts = [sketch_of(part, options) for part in split(lake, draw)]
        assert merged_in_any_order(parts, draw) == whole
        assert merged_sketches(draw.sample(parts, len(parts))) == whole


def test_filters_of_columns_that_are_not_judged_merge(lake, tmp_path):
    """Files have them in columns of their own."""
    copies = [shutil.copy(path, tmp_path) for path in lake]
    for path in copies[::2]:
        pb.build(path, in_place=True, columns="text")
    for path in copies[1::3]:
        pb.build(path, in_place=True, columns="amount")
    options = AdviseOptions(columns=("id",), budget=100_000)
    whole = sketch_of(copies, options)
    there = TableSketch.from_bytes(whole).elsewhere
    assert list(there) == ["amount", "text"]
    assert sum(there.values()) == sum(pb.inspect(path).filter_bytes for path in copies)
    draw = random.Random(9)
    parts = [sketch_of(part, options) for part in split(copies, draw)]
    assert merged_in_any_order(parts, draw) == whole
    assert not TableSketch.from_bytes(sketch_of(copies, AdviseOptions(columns=("id",)))).elsewhere


def test_from_bytes_and_back(lake):
    whole = sketch_of(lake, AdviseOptions(budget=1000))
    assert TableSketch.from_bytes(whole).to_bytes() == whole == merged_sketches([whole])


@pytest.mark.usefixtures("kept")
def test_merged_parts_give_the_advice_of_one_run(lake):
    options = AdviseOptions(budget=50_000)
    advisor = TableAdvisor(options)
    for path in lake:
        advisor.add(path)
    (expected,) = advisor.tables()
    parts = [sketch_of(part, options) for part in split(lake, random.Random(5))]
    (found,) = advise_sketches([merged_sketches(parts)], options)
    assert found == expected
    assert found.files == FILES
    assert "build" in {column.verdict for column in found.columns}
    assert found.to_dict() == expected.to_dict()


def test_a_value_sample_merges(lake):
    sample = {"id": [3, 3, 9, 9_999_999], "text": ["aaaaaaaaaaaa"]}
    options = AdviseOptions(value_sample=sample)
    parts = [sketch_of(part, options) for part in split(lake, random.Random(1))]
    whole = sketch_of(lake, options)
    assert merged_in_any_order(parts, random.Random(2)) == whole
    (report,) = advise_sketches([whole], options)
    by_name = {column.column: column for column in report.columns}
    assert (by_name["id"].basis, by_name["id"].values_asked) == ("value sample", 4)
    assert by_name["sorted"].basis == "stored values"


def test_files_that_cannot_be_read_leave_no_trace(tmp_path):
    """Even if values of them were drawn before the damage was found."""
    for name in ("a", "b"):
        pq.write_table(
            pa.table({"x": range(ord(name), 1000), "y": range(ord(name), 1000)}),
            tmp_path / name, compression="none", use_dictionary=False,
        )  # fmt: skip
    damaged = bytearray((tmp_path / "b").read_bytes())
    damaged[pq.read_metadata(tmp_path / "b").row_group(0).column(1).data_page_offset] = 0xFF
    (tmp_path / "b").write_bytes(damaged)
    advisor = TableAdvisor()
    advisor.add(tmp_path / "a")
    with pytest.raises(pb.PageError):
        advisor.add(tmp_path / "b")
    assert list(advisor.sketches().values()) == [sketch_of([tmp_path / "a"], AdviseOptions())]


def test_tables_do_not_mix(lake, tmp_path):
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"id": ["a"]}), other)
    parts = [sketch_of([path], AdviseOptions()) for path in (lake[0], other)]
    with pytest.raises(ValueError, match=r"^sketch: of table \w{32}, expected \w{32}$"):
        merged_sketches(parts)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"PAR1" + data,
        lambda data: data[: len(MAGIC)],
        lambda data: data[:-10],
        lambda data: data[: len(MAGIC)] + bytes(100),
        lambda data: packed({"key": "of nothing else"}, []),
        lambda data: packed(unpacked(data)[0], [np.zeros(3, np.int64)]),
    ],
)
def test_what_is_no_sketch_is_refused(lake, damage):
    data = damage(sketch_of(lake[:1], AdviseOptions()))
    with pytest.raises(pb.FormatError, match=r"^sketch: "):
        TableSketch.from_bytes(data)


@pytest.mark.parametrize(
    "keys",
    [
        [],
        [None, None],
        [1, None, -(1 << 63)],
        [1, 1 << 64, -(1 << 300)],
        [1.5, None, float("-inf"), -0.0],
        [b"", b"\xff" * 64, None],
        [Decimal("1.50"), None, Decimal("-1E+30")],
    ],
)
def test_keys_and_back(keys):
    kind, arrays = key_arrays(Keys.of(keys))
    found = keys_of(kind, iter(arrays)).tolist()
    assert found == keys
    assert list(map(repr, found)) == list(map(repr, keys))


def test_what_to_build_follows_from_the_report(lake):
    options = AdviseOptions(budget=1 << 20)
    (report,) = advise_sketches([sketch_of(lake, options)], options)
    wanted = options_to_build(report, BuildOptions(existing="replace"))
    assert wanted.existing == "replace"
    assert wanted.columns == tuple(each.column for each in report.budget.columns) != ()
    assert dict(wanted.fpp_of) == {each.column: each.fpp for each in report.budget.columns}
    (report,) = advise_sketches([sketch_of(lake, AdviseOptions())], AdviseOptions())
    wanted = options_to_build(report, BuildOptions())
    assert (wanted.columns, wanted.fpp_of) == (report.recommended, ())


def test_files_have_the_reports_that_they_had(lake):
    """Those of an Advisor, which also keeps what is known of each file."""
    advisor = Advisor()
    for path in lake:
        advisor.add(path)
    (table,) = advisor.tables()
    reports = list(advisor.reports())
    assert [report.path for report in reports] == lake
    assert sum(report.num_rows for report in reports) == table.num_rows
    verdicts = [column.verdict for column in table.columns if column.eligible]
    for report in reports:
        found = [
            c.verdict for c, of in zip(report.columns, table.columns, strict=True) if of.eligible
        ]
        assert found == verdicts


# ------------------------------------------------------------------------------------------------
# Very many groups


def test_the_size_does_not_grow_with_the_groups(tmp_path, monkeypatch):
    """Nor with the values: once everything is full, ten times as much takes as many bytes."""
    monkeypatch.setattr(sketch, "LEAST_KEPT", 64)
    monkeypatch.setattr(groups, "LIMIT", 64)
    monkeypatch.setattr(ndv, "LIMIT", 64)
    monkeypatch.setattr(ParquetSurveyor, "num_drawn", 64)
    monkeypatch.setattr(sketch, "packed", lambda document, arrays: b"".join(map(bytes, arrays)))
    numbers = np.random.default_rng(1).permutation(200_000)
    sizes = []
    for rows in (20_000, 200_000):
        path = tmp_path / f"{rows}.parquet"
        pq.write_table(pa.table({"id": numbers[:rows]}), path, row_group_size=200)
        sizes.append(len(sketch_of([path], AdviseOptions())))
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("width", [0.0, 0.02, 0.5, 1.0])
def test_sampled_groups_tell_the_reads_within_their_error(width):
    """Ranges from those of a sorted column to the whole; five standard errors."""
    total, limit = 20_000, 1_000
    rng = np.random.default_rng(8)
    lows = rng.random(total) * (1 - width)
    bounds = [MinMax(low, low + max(width, 1 / total)) for low in lows.tolist()]
    values = LookUps(
        keys=Keys.of_numbers(rng.random(2_000)),
        times=np.ones(2_000, np.int64),
        held=np.full(2_000, 1),
        held_fpp=np.full(2_000, 0.01),
        held_fpp_there=np.full(2_000, 1.0),
    )
    exact = expected_reads(bounds, [0.01] * total, values, total)
    sample = GroupSample(limit)
    for id, each in enumerate(bounds):
        sample.add(SeenGroup(groups.group_id("f", 0, id), each, in_units(0.01), in_units(1.0)))
    found = expected_reads(sample.bounds, sample.fpps, values, total)
    assert len(sample.groups) == limit
    error = total / (2 * limit**0.5)
    assert abs(found.by_statistics - exact.by_statistics) < 5 * error
    assert abs(found.with_filter - exact.with_filter) < 5 * 0.01 * error
    # The mean over many values is far better than that of one.
    if width < 0.1:
        assert found.by_statistics == pytest.approx(exact.by_statistics, rel=0.25)


@pytest.mark.parametrize("seed", range(4))
def test_the_same_groups_are_kept_in_any_order(seed):
    draw = random.Random(seed)
    fpps = in_units(0.5), in_units(1.0)
    seen = [
        SeenGroup(groups.group_id(f"{n % 50}", n, 0), MinMax(n, n + 1), *fpps) for n in range(500)
    ]
    seen += seen[:20]
    wholes = []
    for _ in range(3):
        parts = [GroupSample(40) for _ in range(5)]
        for each in draw.sample(seen, len(seen)):
            draw.choice(parts).add(each)
        first, *others = parts
        for other in others:
            first.merge(other)
        wholes.append(list(first.groups))
    assert wholes[0] == wholes[1] == wholes[2]
    assert [group.fpp for group in wholes[0]] == [in_units(0.5)] * 40
