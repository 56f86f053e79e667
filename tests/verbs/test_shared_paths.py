"""Leaf columns with the same path: each is named, asked and built by its index."""

import pytest
from make.commands import outcome
from make.pages import HONEST, data_page, int64s
from make.parquet_files import Column, forge

import parquet_bloom as pb
from parquet_bloom.files import open_file

SEVEN = data_page(int64s(7, 8, 9), 3)
AMBIGUOUS = "column a: 2 leaf columns have this path, expected one by its index: #0, #2"


@pytest.fixture
def path(tmp_path):
    """1, 2, 3 in the first `a`, 7, 8, 9 in the second."""
    path = tmp_path / "shared.parquet"
    columns = Column([HONEST], 3, "a"), Column([HONEST], 3, "b"), Column([SEVEN], 3, "a")
    path.write_bytes(forge(*columns))
    return path


def test_each_has_a_name_of_its_own(path):
    with open_file(path) as file:
        assert file.columns == ("a#0", "b", "a#2")
        for name in ("#2", "a#2"):
            assert file.column(name).index == 2
        assert file.column("#1").name == "b"


def test_the_shared_name_is_refused_with_the_indexes(path):
    for call in (
        lambda: pb.build(path, in_place=True, columns=["a"]),
        lambda: pb.inspect(path, columns=["a"]),
        lambda: pb.probe(path, "a", [1]),
        lambda: pb.dump(path, "a", 0),
        lambda: pb.validate(path, columns=["a"]),
        lambda: pb.advise(path, columns=["a"]),
        lambda: pb.strip(path, in_place=True, columns=["a"]),
        lambda: pb.repair(path, in_place=True, columns=["a"]),
        lambda: pb.diff(path, path, columns=["a"]),
    ):
        with pytest.raises(pb.ColumnError) as caught:
            call()
        assert str(caught.value) == f"{path}: {AMBIGUOUS}"


def test_settings_of_other_writers_name_no_shared_path(path):
    """They would get all of these columns filters; what is for all columns anyway is shown."""
    by_column = [{each.writer for each in column.settings} for column in pb.advise(path).columns]
    assert by_column[0] == by_column[2] == {"pbloom", "DuckDB", "DataFusion"}
    assert by_column[1] > {"pbloom", "pyarrow", "Spark"}


def test_each_has_a_command_of_its_own(path):
    commands = [each.settings[0].text for each in pb.advise(path).columns]
    assert [each.split()[4] for each in commands] == ["'a#0'", "b", "'a#2'"]


def test_one_of_them_goes_through_every_verb(path):
    data = path.read_bytes()
    assert pb.advise(path, columns=["#2"]).columns[0].column == "a#2"
    report = pb.build(path, in_place=True, columns=["#2"])
    assert [each.column for each in report.filters] == ["a#2"]
    assert [each.verdict for each in pb.probe(path, "#2", [7, 1]).results] == ["maybe", "absent"]
    assert pb.probe(path, "a#0", [7]).results[0].verdict == "unknown"
    described = pb.inspect(path).row_groups[0].columns
    assert [(each.column, each.filter is not None) for each in described] == [
        ("a#0", False),
        ("b", False),
        ("a#2", True),
    ]
    with pb.open(path) as file:
        bits = file.bloom_filter(0, "a#2").bits.to_bytes()
    assert pb.dump(path, "#2", 0).bitset == bits
    assert pb.diff(path, path, columns=["#2"]).filters[0].column == "a#2"
    assert pb.validate(path, columns=["#2"]).checked.values == 3
    pb.repair(path, in_place=True, columns=["#2"], rebuild=True)
    assert pb.strip(path, in_place=True, columns=["#2"]).removed[0].column == "a#2"
    assert path.read_bytes() == data


def test_a_requirement_is_met_by_all_that_share_the_name(path):
    pb.build(path, in_place=True, columns=["#2"])
    policy = pb.Policy(require=["a", "#2"])
    [found] = pb.validate(path, policy=policy).findings
    assert (found.rule, found.column) == ("PB310", "a#0")


def test_the_command_takes_an_index(path):
    assert outcome("build", str(path), "-c", "#2,b", "--in-place").code == 0
    assert outcome("probe", str(path), "-c", "#2", "-v", "1").code == 1
    refused = outcome("probe", str(path), "-c", "a", "-v", "1")
    assert (refused.code, refused.stderr) == (2, f"pbloom: {path}: {AMBIGUOUS}\n")
