"""build, inspect, probe, dump and strip on filters inside Statistics, by the command."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.statistics_files import with_field, with_struct

import parquet_bloom as pb
from parquet_bloom.commands.pbloom import cli
from parquet_bloom.files import open_file
from parquet_bloom.legacy.presence import FIELD_IDS
from parquet_bloom.legacy.statistics.filter_struct import StatisticsStruct
from parquet_bloom.legacy.statistics.strategies import STRATEGIES
from parquet_bloom.parquet.footer import compact
from parquet_bloom.vocabulary import BitsetEncoding, HeaderLayout, words

ROWS = 400


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("commands") / "source.parquet"
    table = pa.table(
        {
            "id": np.arange(ROWS) * 3,
            "name": [f"name {i}" for i in range(ROWS)],
            "flag": [i % 2 == 0 for i in range(ROWS)],
        }
    )
    pq.write_table(table, path, row_group_size=200)
    return path


def answer(*arguments):
    """The JSON document of a command that went well."""
    result = outcome(*arguments, "--json")
    assert (result.code, result.stderr) == (0, "")
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def built(source, tmp_path_factory):
    output = tmp_path_factory.mktemp("built") / "out.parquet"
    report = answer("build", source, "--dialect", "statistics", "-c", "id,name,flag", "-o", output)
    return output, report


def test_build_reports_what_became_a_part_of_the_footer(source, built):
    output, report = built
    assert [(each["row_group"], each["column"]) for each in report["filters"]] == [
        (0, "id"),
        (0, "name"),
        (1, "id"),
        (1, "name"),
    ]
    assert {each["offset"] for each in report["filters"]} == {None}
    assert {each["num_bytes"] for each in report["filters"]} == {160}
    assert all(0.03 < each["fpp"] < 0.07 for each in report["filters"])
    assert [each["reason"] for each in report["skipped"]] == [
        "BOOLEAN: two values need no filter"
    ] * 2
    assert report["notes"] == []
    assert report["size_after"] == output.stat().st_size
    assert report["bytes_added"] == output.stat().st_size - source.stat().st_size


def test_strip_gives_the_old_file_back(source, built, tmp_path):
    output, _ = built
    bare = tmp_path / "bare.parquet"
    report = answer("strip", output, "-o", bare)
    assert bare.read_bytes() == source.read_bytes()
    assert report["removed"][0] == {
        "row_group": 0, "column": "id", "num_filters": 1, "offset": None,
    }  # fmt: skip
    assert len(report["removed"]) == 4


def test_strip_takes_all_three_dialects_of_a_chunk(source, tmp_path):
    paths = [tmp_path / f"{i}.parquet" for i in range(4)]
    pb.build(source, paths[0], columns=["id"])
    pb.build(paths[0], paths[1], columns=["id"], dialect=pb.Murmur3())
    pb.build(paths[1], paths[2], columns=["id"], dialect=pb.StatisticsFilter(field_id=7))
    report = pb.strip(paths[2], paths[3])
    assert len(report.removed) == 6
    assert paths[3].read_bytes() == source.read_bytes()


def test_strip_of_other_columns_leaves_them(built, tmp_path):
    output, _ = built
    pb.strip(output, tmp_path / "out.parquet", columns=["name"])
    found = answer("inspect", tmp_path / "out.parquet")
    others = {
        column["column"]: len(column["legacy_filters"])
        for column in found["row_groups"][0]["columns"]
    }
    assert others == {"id": 1, "name": 0, "flag": 0}


def test_probe_asks_the_filters_when_told_to(built):
    output, _ = built
    values = ["-v", "0", "-v", "1197", "-v", "1"]
    found = answer("probe", output, "-c", "id", *values, "--dialect", "statistics")
    verdicts = [[each["verdict"] for each in result["row_groups"]] for result in found["results"]]
    assert verdicts[0][0] == verdicts[1][1] == "maybe"
    assert "absent" in {*verdicts[0], *verdicts[1], *verdicts[2]}
    found = answer("probe", output, "-c", "id", "-v", "0")
    assert [each["verdict"] for each in found["results"][0]["row_groups"]] == verdicts[0]
    found = answer("probe", output, "-c", "id", "-v", "1", "--dialect", "xxhash")
    assert [each["verdict"] for each in found["results"][0]["row_groups"]] == ["unknown"] * 2


def test_dump_has_the_longs(built):
    output, _ = built
    with open_file(output) as file:
        from parquet_bloom.legacy.statistics.stored import read_stored

        stored = read_stored(file.footer, file.chunk(0, "id"))
    dumped = outcome(
        "dump", output, "-c", "id", "-g", "0", "--dialect", "statistics", "--format", "json"
    )
    assert dumped.code == 0
    assert json.loads(dumped.stdout)["bitset"] == stored.struct.bitset.hex()


# ------------------------------------------------------------------------------------------------
# Options


def test_the_choices_are_those_of_the_library():
    choices = {
        option.name: tuple(option.type.choices)
        for option in cli.commands["build"].params
        if hasattr(option.type, "choices")
    }
    assert choices["header_layout"] == words(HeaderLayout)
    assert choices["strategy"] == tuple(STRATEGIES)
    assert choices["encoding"] == words(BitsetEncoding)
    assert choices["field_id"] == tuple(map(str, FIELD_IDS))


def build(source, tmp_path, *arguments):
    output = tmp_path / "out.parquet"
    result = outcome("build", source, "-o", output, *arguments)
    return result.code, result.output, output


def in_footer(path, column):
    """What the first chunk's filter says of itself."""
    (found,) = answer("inspect", path, "-c", column)["row_groups"][0]["columns"][0][
        "legacy_filters"
    ]
    return found


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_option_counts(source, tmp_path, strategy):
    arguments = (
        "--dialect statistics --expected-entries 1000 --fpp 0.01 --encoding java --field-id 7"
    )
    code, out, output = build(
        source, tmp_path, "-c", "id", *arguments.split(), "--strategy", strategy
    )
    assert code == 0
    assert (
        "note: field 7 of Statistics: DataFusion and Polars fail to open the file; readers of"
        in out
    )
    found = in_footer(output, "id")
    assert (found["hash"], found["layout"], found["pointer"]) == (
        strategy,
        "java",
        "Statistics field 7",
    )
    # 9,585 bits are needed.
    assert found["num_bytes"] == 1200


def test_conf_of_the_document(source, tmp_path):
    """Its four keys, with the default of 0.05."""
    keys = ["parquet.enable.bloom.filter=true", "parquet.expected.entries=1000"]
    conf = [argument for key in keys for argument in ("--conf", key)]
    code, _, output = build(source, tmp_path, "--dialect", "statistics", "-c", "id", *conf)
    assert code == 0
    # 6,235 bits are needed.
    assert in_footer(output, "id")["num_bytes"] == 784


def test_conf_may_name_the_columns(source, tmp_path):
    keys = [
        "parquet.bloom.filter.enable.column.names=name,id",
        "parquet.bloom.filter.expected.entries=100,1000",
    ]
    conf = [argument for key in keys for argument in ("--conf", key)]
    code, _, output = build(source, tmp_path, "--dialect", "statistics", *conf)
    assert code == 0
    assert in_footer(output, "id")["num_bytes"] == 784
    assert in_footer(output, "name")["num_bytes"] == 80


STATISTICS = ("--dialect", "statistics", "-c", "id")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-c", "id", "--strategy", "hive"), "--strategy: expected --dialect statistics"),
        ((*STATISTICS, "--seed", "5"), "--seed: expected --dialect murmur3"),
        ((*STATISTICS, "--ndv", "5"), "--ndv: expected --expected-entries"),
        ((*STATISTICS, "--max-bytes", "64"), "--max-bytes: the rate alone sets the size"),
        ((*STATISTICS, "--conf", "parquet.x=1"), "pbloom: parquet.x: no such key: expected "),
        (
            (*STATISTICS, "--conf", "parquet.expected.entries=1"),
            "--conf: expected parquet.enable.bloom.filter=true",
        ),
        (
            (*STATISTICS, "--conf", "parquet.bloom.filter.enable.column.names=id"),
            "--column: --conf names columns, too: expected one of the two",
        ),
        (
            (*STATISTICS, "--conf", "parquet.enable.bloom.filter=true", "--fpp", "0.1"),
            "--fpp: --conf sets it, too: expected one of the two",
        ),
        ((*STATISTICS, "--field-id", "6"), "--field-id: '6': expected 31420, 7 or 5\n"),
        ((*STATISTICS, "--force"), "--force is not supported for statistics filters\n"),
        ((*STATISTICS, "--existing", "keep", "-c", "nope"), "nope"),
    ],
)
def test_options_that_do_not_go_together(source, tmp_path, arguments, message):
    code, out, output = build(source, tmp_path, *arguments)
    assert code == 2
    assert message in out
    assert "Traceback" not in out
    assert not output.exists()


@pytest.mark.parametrize("options", [{"fpp": 0.5}, {"ndv": 9}, {"max_bytes": 64}], ids=str)
def test_the_dialect_alone_says_how_large_filters_are(source, tmp_path, options):
    output = tmp_path / "out.parquet"
    (name,) = options
    with pytest.raises(pb.UnsupportedError) as refused:
        pb.build(source, output, columns=["id"], dialect=pb.StatisticsFilter(), **options)
    complaint = "statistics filters: their size is set in StatisticsFilter"
    assert str(refused.value) == f"{source}: {name} is not supported for {complaint}"
    assert not output.exists()


@pytest.mark.parametrize(
    ("name", "dialect"),
    [("murmur3", pb.Murmur3()), ("statistics", pb.StatisticsFilter()), ("xxhash", None)],
)
def test_a_name_stands_for_the_usual_settings(source, tmp_path, name, dialect):
    outputs = [tmp_path / "named.parquet", tmp_path / "set.parquet"]
    for output, given in zip(outputs, (name, dialect), strict=True):
        pb.build(source, output, columns=["id"], dialect=given)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_no_dialect_of_that_name(source, tmp_path):
    message = (
        r"^dialect: 'sha1', expected a Murmur3, a StatisticsFilter or one of xxhash, murmur3,"
        r" statistics$"
    )
    with pytest.raises(TypeError, match=message):
        pb.build(source, tmp_path / "out.parquet", columns=["id"], dialect="sha1")


@pytest.mark.parametrize(
    ("existing", "code", "message"),
    [("keep", 0, "has a filter already"), ("error", 2, "has a filter already"), ("replace", 0, "")],
)
def test_what_is_there_already(built, tmp_path, existing, code, message):
    path, _ = built
    found, out, output = build(
        path, tmp_path, *STATISTICS, "--existing", existing, "--strategy", "guava-64"
    )
    assert found == code
    assert message in out
    if code == 0:
        assert in_footer(output, "id")["hash"] == ("guava-64" if existing == "replace" else "hive")


def test_in_place_with_nothing_to_do_nothing_is_written(built):
    path, _ = built
    before = path.stat()
    report = answer("build", path, "--in-place", *STATISTICS)
    assert (report["bytes_added"], report["filters"]) == (0, [])
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_a_dry_run_says_how_large_it_would_be(source, built):
    output, report = built
    dry = answer("build", source, "--dialect", "statistics", "-c", "id,name,flag", "--dry-run")
    assert dry["output"] is None
    assert dry["size_after"] == report["size_after"] == output.stat().st_size


# ------------------------------------------------------------------------------------------------
# Files that are not what they should be


@pytest.mark.parametrize(
    "struct",
    [
        StatisticsStruct("list", bytes(80), 640, 1100, 0),
        StatisticsStruct("binary", bytes(8), 64, 1, 77),
        StatisticsStruct("java", b"\xff" * 80, 640, 4, 0, "another"),
        StatisticsStruct("list", b"\xff" * 80, 640, 4, None),
    ],
)
def test_a_doubtful_filter_is_never_a_reason_for_absent(source, tmp_path, struct):
    path = tmp_path / "strange.parquet"
    with_struct(source, path, struct, "id")
    found = answer("probe", path, "-c", "id", "-v", "1", "--dialect", "statistics")
    group = found["results"][0]["row_groups"][0]
    assert group["verdict"] == "unknown"
    assert "Statistics field 31420: " in group["reason"]
    assert in_footer(path, "id")["reason"] == group["reason"]


def test_a_struct_that_is_none_is_reported_and_stripped(source, tmp_path):
    path, bare = tmp_path / "strange.parquet", tmp_path / "bare.parquet"
    with_field(source, path, "id", 31420, (compact.TYPE_STRUCT, b"\x00"))
    assert "no bitSet" in in_footer(path, "id")["reason"]
    answer("strip", path, "-o", bare)
    assert bare.read_bytes() == source.read_bytes()
