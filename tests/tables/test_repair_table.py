"""Wrong filters in the files of tables: repaired by appending, so that no reader of any version finds a byte
changed."""

import json

import pytest
from deltalake import DeltaTable
from make.commands import files_in, outcome
from make.delta_tables import actions, build, live, make_table, newest, table_of
from make.filters import bitset_at, with_bitset
from make.footers import with_meta, without_lengths
from make.iceberg_tables import CATALOG, NAME, load, path_of, use_catalog
from make.iceberg_tables import live as iceberg_live
from make.iceberg_tables import make_table as make_iceberg_table
from make.repairs import REPAIRS, A, cleared, errors, with_length
from oracle.delta_readers import rows_at

import parquet_bloom as pb
from parquet_bloom.verbs.table_runner import NOT_COMMITTED

COLUMNS = {"a": "long", "s": "string", "b": "boolean", "f": "binary"}


@pytest.fixture
def write_table(tmp_path):
    """A table of one file for each of these contents."""

    def write(*contents):
        paths = []
        for number, data in enumerate(contents):
            paths.append(tmp_path / f"{number}.parquet")
            paths[-1].write_bytes(data)
        return table_of(tmp_path / "events", *paths, **COLUMNS)

    return write


def at(path, data):
    path.write_bytes(data)
    return path


def repair(table, **options):
    return pb.repair_table(table, **{"min_file_size": 0, **options})


def cut(data, size, tmp_path):
    path = tmp_path / "cut.parquet"
    path.write_bytes(data[:size])
    return path


@pytest.mark.parametrize(
    ("rule", "make", "expected"), REPAIRS, ids=[f"{n} {each[0]}" for n, each in enumerate(REPAIRS)]
)
def test_what_is_repaired_is_appended(sound, write_table, rule, make, expected):
    broken = make(sound)
    table = write_table(broken, sound)
    path = table / "part-0.parquet"
    report = repair(table)
    assert (report.version, report.committed, report.left) == (0, 1, ())
    assert [(file.file, file.action) for file in report.files] == [
        ("part-0.parquet", "appended"), ("part-1.parquet", "unchanged"),
    ]  # fmt: skip
    assert {each.rule for each in report.repaired} == {rule}
    done = {(each.column, each.action): each.num_chunks for each in report.repaired}
    wanted = [(column, action) for _, column, action in expected]
    assert done == {key: wanted.count(key) for key in wanted}
    data = path.read_bytes()
    assert data.startswith(broken)
    assert live(table) == {"part-0.parquet": len(data), "part-1.parquet": len(sound)}
    assert report.bytes_added == len(data) - len(broken)
    assert errors(path) == set()
    before = files_in(table)
    again = repair(table)
    assert (again.committed, again.repaired) == (None, ())
    assert files_in(table) == before


def test_rows_at_both_versions(sound, write_table):
    table = write_table(without_lengths(sound))
    expected = DeltaTable(table).to_pyarrow_table()
    repair(table, rebuild=True, columns="a")
    for version in (0, 1):
        assert DeltaTable(table, version=version).to_pyarrow_table() == expected
    info = actions(table, 1)[0]["commitInfo"]
    assert info["operation"] == "REPAIR BLOOM FILTERS"


def with_false_negatives(data):
    """Half of the bits of a filter are gone."""
    start, end = bitset_at(data, 0, A)
    half = (end - start) // 2
    return with_bitset(data, bytes(half) + data[start + half : end])


@pytest.mark.parametrize(
    ("options", "action", "num_filters"),
    [({"drop_bad": True}, "pointer dropped", 0), ({"rebuild": True}, "rebuilt", 1)],
)
def test_filters_that_lack_values(sound, write_table, options, action, num_filters):
    """Are gone, or others are there, for whoever reads the table as it is now."""
    table = write_table(with_false_negatives(sound))
    path = table / "part-0.parquet"
    assert repair(table).committed is None
    assert errors(path) == {"PB401"}
    report = repair(table, **options)
    (done,) = report.repaired
    assert (done.column, done.action, done.rule, done.num_chunks) == ("a", action, "PB401", 1)
    assert sum(file.num_filters for file in report.files) == num_filters
    assert (report.committed, report.looked_up) == (1, True)
    assert errors(path) == set()
    if num_filters:
        with pb.open(path) as file:
            assert file.bloom_filter(0, "a") is not None


def test_filters_that_exclude_nothing_are_not_wrong_and_are_counted(sound, write_table):
    start, end = bitset_at(sound, 0, A)
    full = with_bitset(sound, b"\xff" * (end - start))
    table = write_table(full, full, sound)
    ran = outcome("repair", table, "--table", "auto", "--rebuild", "--min-file-size", "0")
    counts = "; 0 filters repaired, 0 still wrong, 2 exclude next to nothing, 0 B added; "
    assert (ran.code, counts in ran.stdout) == (0, True), ran
    assert [repair(table, rebuild=rebuild).useless for rebuild in (True, False)] == [2, 0]


def test_strip_does_not_bring_wrong_filters_back(sound, write_table):
    """What was appended to the repaired file goes, what repaired it stays."""
    table = write_table(with_false_negatives(sound), sound)
    repair(table, drop_bad=True)
    sizes = live(table)
    stripped = pb.strip_table(table)
    assert stripped.committed is None
    assert [(file.action, file.reason) for file in stripped.files] == [
        ("unchanged", "its first filters were repaired or replaced, and stay so"),
        ("unchanged", None),
    ]
    assert build(table, columns=["f"]).committed == 2
    assert [file.action for file in pb.strip_table(table).files] == ["taken back", "taken back"]
    assert live(table) == sizes
    assert outcome("validate", table, "--table", "auto", "--no-config").code == 0


def test_only_columns_that_are_asked_for(sound, write_table):
    table = write_table(without_lengths(sound))
    report = repair(table, columns=["s"])
    assert [(each.column, each.num_chunks) for each in report.repaired] == [("s", 2)]
    with pytest.raises(pb.ColumnError) as raised:
        repair(table, columns=["nothing"])
    assert str(raised.value) == f"{table}: no column nothing; the table has a, b, f, s"


def test_a_run_that_did_not_commit_is_recognized(sound, write_table):
    table = write_table(without_lengths(sound))
    before = files_in(table)
    tried = repair(table, dry_run=True)
    assert (tried.committed, [file.action for file in tried.files]) == (None, ["appended"])
    assert files_in(table) == before
    first = repair(table, commit=False)
    assert (first.committed, newest(table)) == (None, 0)
    assert first.notes[-1] == NOT_COMMITTED
    appended = files_in(table)
    second = repair(table)
    assert (second.committed, [file.action for file in second.files]) == (1, ["appended before"])
    assert files_in(table)["part-0.parquet"] == appended["part-0.parquet"]
    assert repair(table).committed is None


def test_what_was_stripped_stays_out_of_sight(tmp_path):
    """Behind the recorded end are right filters, which nobody sees and nobody repairs."""
    table = make_table(tmp_path / "events", commits=1)
    expected = rows_at(table)
    build(table)
    pb.strip_table(table)
    before = files_in(table)
    report = repair(table)
    assert (report.committed, {file.action for file in report.files}) == (None, {"unchanged"})
    assert files_in(table) == before
    assert rows_at(table) == expected


def test_filters_that_come_into_sight_are_named(tmp_path):
    table = make_table(tmp_path / "events", commits=1)
    build(table)
    pb.strip_table(table)
    told = "filters of id, which were appended before, are in the files, too: {} them into sight"
    for later in ({"dry_run": True}, {"commit": False}):
        assert told.format("a commit brings") in build(table, columns=["n"], **later).notes
    report = build(table, columns=["n"])
    note = told.format("the commit has brought")
    assert report.notes[0] == note
    assert report.committed == 3
    assert note not in build(table, columns=["n"], existing="replace").notes
    with pb.open(table / report.files[0].file) as file:
        assert all(file.bloom_filter(0, name) is not None for name in ("id", "n"))


def test_what_is_left(sound, write_table):
    """A length beside no header that would tell: said, with what repairs it, and the exit code is 1."""
    table = write_table(sound, with_meta(sound, 0, A, bloom_filter_offset=3))
    result = outcome("repair", table, "--table", "auto", "--all-sizes")
    assert result.code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{table}: 2 files: 1 unchanged, 1 appended; 1 filter dropped, ")
    assert "; version 1 records it, " in lines[0]
    assert lines[1].startswith("pointer dropped: column a: 1 column chunk: ")
    assert lines[-1] == (
        "note: no stored value was looked up: --drop-bad and --rebuild do that, and so does pbloom"
        f" validate {table} --table delta"
    )


def test_the_command_on_several_tables(sound, write_table, tmp_path):
    table = write_table(with_length(sound, 1))
    other = make_table(tmp_path / "other", commits=1)
    arguments = ("repair", table, other, "--table", "delta", "--all-sizes")
    documents = [json.loads(line) for line in outcome(*arguments, "--json").stdout.splitlines()]
    assert [document["committed"] for document in documents] == [1, None]
    (repaired,) = documents[0]["repaired"]
    assert {name: repaired[name] for name in ("column", "action", "rule", "num_chunks")} == {
        "column": "a", "action": "length set", "rule": "PB113", "num_chunks": 1,
    }  # fmt: skip
    again = outcome(*arguments)
    assert again.code == 0
    data = with_length(sound, 1)
    third = table_of(tmp_path / "third", at(tmp_path / "3.parquet", data), **COLUMNS)
    dry = outcome("repair", third, *arguments[3:], "--dry-run", "-q").stdout.splitlines()
    assert dry[-1].startswith("1 table: 1 would change; 1 filter repaired, ")
    assert again.stdout.splitlines()[-1].startswith(
        "2 tables: 2 unchanged; 0 filters repaired, 0 B added"
    )


@pytest.mark.parametrize("option", ["--output-dir=x", "--layout=append", "--overwrite"])
def test_options_that_are_only_about_files(option):
    result = outcome("repair", "x", "--table", "auto", option)
    assert result.code == 2
    assert result.stderr.rstrip().endswith(f"{option.partition('=')[0]}: not with --table")


def test_small_files_are_left(sound, write_table):
    table = write_table(cleared(sound))
    report = pb.repair_table(table)
    assert ([file.action for file in report.files], report.committed) == (["too small"], None)


def test_an_iceberg_table(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)
    make_iceberg_table(commits=1)
    pb.build_table(NAME, catalog=CATALOG, columns=["id"], min_file_size=0)
    # Wrong from the first, as far as the table knows.
    sizes = iceberg_live()
    name = min(sizes)
    data = path_of(name).read_bytes()
    start, end = bitset_at(data, 0, 0)
    path_of(name).write_bytes(data[:start] + bytes(end - start) + data[end:])
    report = pb.repair_table(NAME, catalog=CATALOG, min_file_size=0, rebuild=True)
    assert report.committed == load().current_snapshot().snapshot_id
    assert [(each.column, each.action) for each in report.repaired] == [("id", "rebuilt")]
    assert iceberg_live()[name] == path_of(name).stat().st_size > sizes[name]
    assert errors(path_of(name)) == set()
    assert load().current_snapshot().summary.operation.value == "replace"
