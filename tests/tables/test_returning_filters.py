"""Filters that a commit brings into sight, and that another run has appended: nobody knows why that one did not commit,
or why its commit was taken back. So their values are looked up first, and readers see none that lacks some."""

import json

import pyarrow.parquet as pq
import pytest
from make import delta_tables, iceberg_tables
from make.commands import outcome
from make.filters import bitset_at, pointer, with_bitset, with_header
from make.footers import without_lengths
from make.iceberg_tables import path_of, use_catalog
from make.repairs import A

import parquet_bloom as pb

ID, N = 0, 1
OUT_OF_SIGHT = "; it had been appended before, and stays out of sight"


class DeltaLake:
    def __init__(self, tmp_path, monkeypatch):
        self._folder = delta_tables.make_table(tmp_path / "events", commits=2)
        self.place = (self._folder, "--table", "delta")

    def build(self, **options):
        return delta_tables.build(self._folder, **options)

    def strip(self):
        return pb.strip_table(self._folder)

    @property
    def sizes(self):
        return {self._folder / name: size for name, size in delta_tables.live(self._folder).items()}


class Iceberg:
    def __init__(self, tmp_path, monkeypatch):
        use_catalog(tmp_path, monkeypatch)
        iceberg_tables.make_table(commits=2)
        self.place = (
            iceberg_tables.NAME, "--table", "iceberg", "--catalog", iceberg_tables.CATALOG,
        )  # fmt: skip

    def build(self, **options):
        return iceberg_tables.build(**options)

    def strip(self):
        return iceberg_tables.strip()

    @property
    def sizes(self):
        return {path_of(name): size for name, size in iceberg_tables.live().items()}


@pytest.fixture(params=[DeltaLake, Iceberg])
def lake(request, tmp_path, monkeypatch):
    return request.param(tmp_path, monkeypatch)


@pytest.fixture
def delta(tmp_path, monkeypatch):
    return DeltaLake(tmp_path, monkeypatch)


def a_file(lake):
    """Of a lake; one that has 100 rows in its first row group."""
    return next(p for p in sorted(lake.sizes) if pq.read_metadata(p).row_group(0).num_rows == 100)


def damage(path, column=ID):
    """Every other byte of the bits of the first filter of a column."""
    data = path.read_bytes()
    start, end = bitset_at(data, 0, column)
    bits = bytearray(data[start:end])
    bits[1::2] = bytes(len(bits[1::2]))
    path.write_bytes(with_bitset(data, bytes(bits), 0, column))


def damage_pages(path, column):
    """So that nobody can read the values of the first chunk of a column."""
    start = pq.read_metadata(path).row_group(0).column(column).data_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + 8] = b"\xff" * 8
    path.write_bytes(data)


def check_all(lake):
    """Of each file as the table sees it."""
    for path, size in lake.sizes.items():
        assert path.stat().st_size == size
        assert pb.validate(path).ok, path
        ids = pq.read_table(path).column("id").to_pylist()
        with pb.open(path) as file:
            first = file.bloom_filter(0, "id")
            assert first.check_many(ids[: file.num_rows // file.num_row_groups]).all()


@pytest.mark.parametrize("is_taken_back", [True, False])
def test_filters_that_lack_values_are_built_anew(lake, is_taken_back):
    lake.build(commit=is_taken_back)
    path = a_file(lake)
    damage(path)
    assert not pb.validate(path).ok
    if is_taken_back:
        lake.strip()
    num_filters = sum(pq.read_metadata(each).num_row_groups for each in lake.sizes)
    tried = lake.build(dry_run=True)
    report = lake.build()
    for each in (tried, report):
        (found,) = each.repaired
        assert (found.column, found.action, found.rule) == ("id", "rebuilt", "PB401")
        assert (found.num_chunks, each.num_filters) == (1, 1)
        assert found.reason.endswith(OUT_OF_SIGHT)
    (skipped,) = report.skipped
    assert skipped.num_chunks == num_filters - 1
    assert sorted({file.action for file in report.files}) == ["appended", "appended before"]
    check_all(lake)
    assert lake.build().repaired == ()


def test_the_command_says_so(delta):
    delta.build()
    damage(a_file(delta))
    delta.strip()
    options = ("--all-sizes", "-c", "id")
    line, rebuilt, *_ = outcome("build", *delta.place, *options).stdout.splitlines()
    assert ": 2 files: 1 appended, 1 appended before; 1 filter, 5 more made visible, " in line
    assert rebuilt.startswith("rebuilt: column id: 1 column chunk: PB401 false-negatives: ")
    assert rebuilt.endswith(OUT_OF_SIGHT)
    delta.strip()
    damage(a_file(delta))
    result = outcome("build", *delta.place, *options, "--json")
    (found,) = json.loads(result.stdout)["repaired"]
    assert sorted(found) == ["action", "column", "num_chunks", "reason", "rule"]


def test_a_filter_without_a_header_is_built_anew(lake):
    lake.build()
    path = a_file(lake)
    path.write_bytes(with_header(path.read_bytes(), 0, 0xFF))
    lake.strip()
    (found,) = lake.build().repaired
    assert (found.column, found.action, found.rule[:3]) == ("id", "rebuilt", "PB1")
    check_all(lake)


@pytest.mark.parametrize("is_taken_back", [True, False])
def test_wrong_filters_of_other_columns_stay_out_of_sight(lake, is_taken_back):
    lake.build(columns=["id", "n"], commit=is_taken_back)
    path = a_file(lake)
    damage(path, N)
    if is_taken_back:
        lake.strip()
    report = lake.build()
    (found,) = report.repaired
    assert (found.column, found.action, found.rule) == ("n", "pointer dropped", "PB401")
    assert pointer(path.read_bytes(), 0, N) == (None, None)
    assert report.num_returning == sum(
        pointer(each.read_bytes(), part, N)[0] is not None
        for each in lake.sizes
        for part in range(pq.read_metadata(each).num_row_groups)
    )
    check_all(lake)
    assert lake.build(columns=["n"]).num_filters == 1


def test_what_cannot_be_looked_up_stays_out_of_sight(delta):
    delta.build(columns=["id", "n"], commit=False)
    path, others = a_file(delta), 5
    damage_pages(path, N)
    report = delta.build()
    (found,) = report.repaired
    assert (found.column, found.action, found.rule) == ("n", "pointer dropped", "PB116")
    assert (report.num_returning, report.num_filters) == (others, 0)
    # Of those that are asked for, the file says that it cannot have them.
    sizes = delta.sizes
    delta.strip()
    failed = [file for file in delta.build(columns=["n"]).files if file.action == "failed"]
    assert [delta.place[0] / file.file for file in failed] == [path]
    assert delta.sizes[path] < sizes[path]


def test_filters_in_place_of_visible_ones_are_looked_up_too(lake):
    """Of a column that has some as far as the record says, with a run that did not commit behind it."""
    lake.build()
    lake.build(existing="replace", fpp=0.001, commit=False)
    damage(a_file(lake))
    report = lake.build()
    (found,) = report.repaired
    assert (found.action, found.rule, report.num_filters) == ("rebuilt", "PB401", 1)
    check_all(lake)


def test_what_is_replaced_is_not_looked_up(delta):
    """Unless it is to stay."""
    delta.build()
    damage(a_file(delta))
    delta.strip()
    report = delta.build(existing="replace")
    assert (report.repaired, report.num_filters) == ((), 6)
    check_all(delta)


def test_a_filter_stays_if_it_is_proven_where_another_would_miss_the_target(delta):
    delta.build(fpp=1e-6)
    delta.strip()
    size = a_file(delta).stat().st_size
    wanted = {"existing": "replace", "fpp": 1e-9, "max_bytes": 64}
    assert {each.reason.rpartition("; ")[2] for each in delta.build(**wanted).skipped} == {
        "what is there is better, and stays"
    }
    assert a_file(delta).stat().st_size >= size
    delta.strip()
    damage(a_file(delta))
    delta.build(**wanted)
    assert pointer(a_file(delta).read_bytes(), 0, ID) == (None, None)
    assert pb.validate(a_file(delta)).ok


def test_repair_leaves_wrong_filters_out_of_sight(sound, tmp_path):
    path = tmp_path / "0.parquet"
    path.write_bytes(without_lengths(sound))
    columns = {"a": "long", "s": "string", "b": "boolean", "f": "binary"}
    table = delta_tables.table_of(tmp_path / "events", path, **columns)
    path = table / "part-0.parquet"
    delta_tables.build(table, columns=["f"], commit=False)
    data = path.read_bytes()
    start, end = bitset_at(data, 0, 3)
    path.write_bytes(with_bitset(data, bytes(end - start), 0, 3))
    report = pb.repair_table(table, columns=["a"], min_file_size=0)
    found = [(each.column, each.action, each.num_chunks) for each in report.repaired]
    assert found == [("a", "length set", 2), ("f", "pointer dropped", 1)]
    assert pointer(path.read_bytes(), 0, 3) == (None, None)
    assert pointer(path.read_bytes(), 0, A)[1] is not None
    assert "column f" not in str(pb.validate(path).findings)


def test_nothing_is_written_where_all_is_right(lake):
    """Whatever ended the run before its commit, no file is written again."""
    lake.build(commit=False)
    before = {path: path.read_bytes() for path in lake.sizes}
    report = lake.build()
    assert (report.repaired, report.num_filters) == ((), 0)
    assert {file.action for file in report.files} == {"appended before"}
    assert {path: path.read_bytes() for path in lake.sizes} == before


# ------------------------------------------------------------------------------------------------
# Their rate


@pytest.mark.parametrize("is_taken_back", [True, False])
def test_a_rate_that_they_miss_is_named(lake, is_taken_back):
    lake.build(fpp=0.5, commit=is_taken_back)
    if is_taken_back:
        lake.strip()
    wanted = 'and the target is 0.1 %: --existing replace (in Python, existing="replace") builds others for that rate'
    for options in ({"dry_run": True}, {}):
        (note,) = (each for each in lake.build(fpp=0.001, **options).notes if "target" in each)
        assert note.startswith("column id: up to ")
        assert note.endswith(
            f" % of absent values pass filters that were appended before, {wanted}"
        )
    lake.build(fpp=0.001, existing="replace")
    lake.strip()


@pytest.mark.parametrize("options", [{"fpp": 0.5}, {"fpp": 0.9}, {"fpp": 0.01, "ndv": 100}])
def test_nothing_is_said_of_those_that_are_good_enough(delta, options):
    delta.build(**options)
    delta.strip()
    assert not any("target" in each for each in delta.build(**options).notes)


def test_the_rate_of_filters_that_nobody_asked_for_is_nobodys(delta):
    delta.build(columns=["id", "n"], fpp=0.5)
    delta.strip()
    (note,) = (each for each in delta.build(fpp=0.001).notes if "target" in each)
    assert note.startswith("column id: ")
