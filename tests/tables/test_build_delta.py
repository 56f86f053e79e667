"""Filters in Delta tables: what is appended, what is committed, what a second run finds, and how it is
undone; whoever reads the table meanwhile finds the same rows."""

import json
import os
import re

import pyarrow as pa
import pytest
from deltalake import DeltaTable as Judge
from deltalake import WriterProperties, write_deltalake
from deltalake.exceptions import DeltaError
from make.commands import files_in, outcome
from make.delta_tables import (
    actions,
    adds,
    build,
    configure,
    destroy_other_groups,
    live,
    make_table,
    newest,
    rewrite_log,
    rows_of,
)
from oracle.delta_readers import by_query_builder, rows_at

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.tables.delta.table import DeltaTable
from parquet_bloom.tables.open import open_table
from parquet_bloom.tables.table import MIN_FILE_SIZE
from parquet_bloom.verbs.table_step import SkippedColumn
from parquet_bloom.vocabulary import LACKS_COLUMN

NOT_COMMITTED = "the new sizes are not committed: the same again without --no-commit (in Python, commit=False) commits them"


@pytest.fixture
def table(tmp_path):
    return make_table(tmp_path / "events", partition_by=["day"])


def all_rows(count=900):
    found = rows_of(0, count)
    return sorted(zip(found["id"].to_pylist(), found["n"].to_pylist(), strict=True))


def test_build_appends_and_commits(table):
    before, sizes = files_in(table), live(table)
    report = build(table)
    assert (report.table, report.version, report.committed) == ("delta", 2, 3)
    assert {file.action for file in report.files} == {"appended"}
    assert {file.file: file.size for file in report.files} == live(table)
    after = files_in(table)
    for name, size in sizes.items():
        # Cut to its old size, each file is what it was.
        assert after[name][:size] == before[name]
        assert len(after[name]) == live(table)[name] > size
    assert sorted(after.keys() - before.keys()) == ["_delta_log/00000000000000000003.json"]
    assert all(after[name] == before[name] for name in before if name.startswith("_delta_log"))


def test_only_size_and_data_change_differ(table):
    old = adds(table, 0) | adds(table, 1) | adds(table, 2)
    build(table)
    info, *rest = actions(table, 3)
    assert info["commitInfo"]["operation"] == "ADD BLOOM FILTERS"
    new = adds(table, 3)
    assert len(rest) == len(new) == len(old) == 6
    for path, add in new.items():
        expected = old[path] | {"size": live(table)[path], "dataChange": False}
        assert list(add.items()) == list(expected.items())


def test_every_version_has_its_rows(table):
    build(table, commit=False)
    assert rows_at(table) == all_rows()
    build(table)
    build(table, columns=["n"])
    pb.strip_table(table)
    assert newest(table) == 5
    for version in range(6):
        assert rows_at(table, version) == all_rows(min(900, 300 * (version + 1)))


def test_query_engines_skip_row_groups(tmp_path):
    table = make_table(tmp_path / "events", commits=1)
    (name,) = live(table)
    build(table)
    # Row 150 is in the second of three row groups, whose ids are in no order.
    wanted, number = rows_of(150, 1)["id"][0].as_py(), 150
    destroy_other_groups(table / name, 1)
    assert by_query_builder(table, None, f"id = '{wanted}'") == [(wanted, number)]
    pb.strip_table(table)
    with pytest.raises(Exception, match=r"(?i)parquet|decompress|snappy|page|thrift"):
        by_query_builder(table, None, f"id = '{wanted}'")


def test_dry_run_writes_nothing(table):
    before = files_in(table)
    report = build(table, dry_run=True)
    assert files_in(table) == before
    assert (report.committed, report.num_filters) == (None, 12)
    assert report.bytes_added > 0
    assert [note.partition(" ")[0] for note in report.notes] == [
        "deltalake's",
        "deltalake's",
        "Spark",
        "Trino",
    ]


def test_a_second_run_commits_and_a_third_does_nothing(table):
    first = build(table, commit=False)
    assert first.committed is None
    assert NOT_COMMITTED in first.notes
    appended = files_in(table)
    second = build(table)
    assert (second.committed, second.num_filters) == (3, 0)
    assert {file.action for file in second.files} == {"appended before"}
    committed = files_in(table)
    assert {name: data for name, data in committed.items() if name in appended} == appended
    third = build(table)
    assert (third.committed, third.version) == (None, 3)
    assert {file.action for file in third.files} == {"unchanged"}
    assert files_in(table) == committed


def test_other_columns_make_a_third_end(table):
    build(table)
    sizes = live(table)
    before = files_in(table)
    build(table, columns=["n"])
    after = files_in(table)
    for name, size in sizes.items():
        assert after[name][:size] == before[name]
        with open_file(table / name) as file:
            assert file.earlier_ends[-1] == size
            assert len(file.earlier_ends) == 2


def test_strip_commits_the_old_sizes_and_leaves_the_bytes(table):
    sizes = live(table)
    build(table)
    build(table, columns=["n"])
    before = files_in(table)
    report = pb.strip_table(table)
    assert (report.version, report.committed) == (4, 5)
    assert {file.action for file in report.files} == {"taken back"}
    assert live(table) == sizes
    after = files_in(table)
    assert all(after[name] == before[name] for name in before)
    assert actions(table, 5)[0]["commitInfo"]["operation"] == "REMOVE BLOOM FILTERS"
    again = pb.strip_table(table)
    assert (again.committed, {file.action for file in again.files}) == (None, {"unchanged"})
    assert build(table).committed == 6
    assert files_in(table)[next(iter(sizes))] == before[next(iter(sizes))]


def test_strip_dry_run(table):
    build(table)
    before = files_in(table)
    assert pb.strip_table(table, dry_run=True).committed is None
    assert files_in(table) == before


def test_strip_takes_the_options_of_the_build_that_it_undoes(table):
    options = {"verify": False, "unconditional": True, "threads": 2}
    build(table, **options)
    report = pb.strip_table(table, **options)
    assert {file.action for file in report.files} == {"taken back"}
    with pytest.raises(ValueError, match=r"^threads: 0, expected 1 or more$"):
        pb.strip_table(table, threads=0)
    words = ("--table", "auto", "--no-verify", "--unconditional", "--threads", "2")
    assert outcome("build", table, "-c", "id", "--all-sizes", *words).code == 0
    result = outcome("strip", table, *words)
    assert (result.code, result.stderr) == (0, ""), result
    assert "6 files: 6 taken back; " in result.stdout


def test_where(table):
    report = build(table, where={"day": "2026-11-01"})
    assert len(report.files) == 3
    assert all(file.file.startswith("day=2026-11-01/") for file in report.files)
    assert len(adds(table, 3)) == 3
    assert len(build(table, where={"day": ["2026-11-01", "2026-11-02"]}).files) == 6


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ({"day": "2026-11-03"}, "day=2026-11-03: no live file, expected 2026-11-01, 2026-11-02"),
        ({"day": None}, "day=__HIVE_DEFAULT_PARTITION__: no live file, expected 2026-11-01, 2026-"),
        ({"days": "x"}, "no partition column days; did you mean day?"),
        ({"id": "x"}, "no partition column id; the table has day"),
    ],
)
def test_where_nothing_is(table, where, problem):
    with pytest.raises(pb.ParquetBloomError) as raised:
        build(table, where=where)
    assert str(raised.value).startswith(f"{table}: {problem}")


def test_where_the_name_of_null_is_a_text(table):
    """Both are wanted: a file that is left out would seem to have none of its values."""
    names = {"2026-11-01": "__HIVE_DEFAULT_PARTITION__", "2026-11-02": None}

    def renamed(action):
        if "add" in action:
            values = action["add"]["partitionValues"]
            values["day"] = names[values["day"]]
        return action

    rewrite_log(table, renamed)
    wanted = build(table, where={"day": "__HIVE_DEFAULT_PARTITION__"}, dry_run=True)
    assert len(wanted.files) == 6
    assert len(build(table, where={"day": None}, dry_run=True).files) == 3


@pytest.mark.parametrize("guess", ["part-0.parquet", 0, None])
def test_a_wrong_guess_at_a_file(table, guess):
    with pytest.raises(TypeError, match=r"^file: .*, expected one of the table's files\(\)$"):
        open_table(table).open(guess)


def test_small_files_are_left(table):
    report = pb.build_table(table, columns="id")
    assert report.committed is None
    file = report.files[0]
    assert (file.action, file.reason) == (
        "too small",
        f"{file.recorded:,} bytes, fewer than 4,194,304",
    )
    assert f" {len(report.files)} files ({len(report.files)} too small), " in repr(report)
    assert repr(report).endswith(f"; too small: {file.reason}; min_file_size=0 takes them>")
    assert "min_file_size" not in repr(build(table, dry_run=True))
    assert repr(open_table(table)) == f"<DeltaTable {table}: version 2, partitioned by day>"


def test_small_files_say_what_takes_them(table):
    result = outcome("build", table, "--table", "auto", "-c", "id", "--where", "day=2026-11-01")
    line, why = result.stdout.splitlines()
    assert line.startswith(
        f"{table}: 3 files: 3 too small (--all-sizes includes them); 0 filters, 0 B added; version 2 stays, "
    )
    assert why.startswith("3 files: too small: ")
    assert why.endswith(
        " bytes, fewer than 4,194,304: Trino can fail on small files that have grown, until the commit and in"
        " older versions; without Trino, give --all-sizes"
    )
    dry = outcome("build", table, "--table", "auto", "-c", "id", "--dry-run").stdout.splitlines()
    assert [line.partition(":")[0] for line in dry] == [str(table), "6 files"]
    assert "requests" not in build(table).to_dict()


def test_properties_name_the_columns(tmp_path):
    table = make_table(tmp_path / "events", commits=1)
    configure(
        table,
        {
            "parquet.bloom.filter.enabled#id": "true",
            "parquet.bloom.filter.fpp#id": "0.2",
            "write.parquet.bloom-filter-enabled.column.n": "true",
            "write.parquet.bloom-filter-enabled.column.day": "false",
        },
    )
    report = pb.build_table(table, min_file_size=0)
    assert report.columns == ("id", "n")
    with pb.open(table / report.files[0].file) as file:
        sizes = {name: file.bloom_filter(0, name).num_bytes for name in ("id", "n")}
    assert sizes == {"id": 64, "n": 256}


@pytest.mark.parametrize(
    ("limits", "given", "size"),
    [
        ({"parquet.bloom.filter.max.bytes": "64"}, {}, 64),
        ({"write.parquet.bloom-filter-max-bytes": "100"}, {}, 64),
        ({"parquet.bloom.filter.max.bytes": "64"}, {"max_bytes": 1024}, 128),
        ({"parquet.bloom.filter.max.bytes": "64"}, {"columns": "id"}, 128),
        ({"parquet.bloom.filter.max.bytes": "1"}, {}, 64),
        ({"parquet.bloom.filter.max.bytes": "9" * 20}, {}, 128),
        ({"parquet.bloom.filter.max.bytes": "1 MiB"}, {}, 128),
        ({"parquet.bloom.filter.max.bytes": "-1"}, {}, 128),
    ],
)
def test_properties_limit_the_largest_bitset(tmp_path, limits, given, size):
    """Where they name the columns, and nobody says otherwise."""
    table = make_table(tmp_path / "events", commits=1)
    configure(table, {"parquet.bloom.filter.enabled#id": "true"} | limits)
    report = pb.build_table(table, min_file_size=0, force=True, **given)
    with pb.open(table / report.files[0].file) as file:
        assert file.bloom_filter(0, "id").num_bytes == size


def test_columns_that_do_not_fit_the_limit_of_the_table(tmp_path):
    table = make_table(tmp_path / "events", commits=1)
    configure(
        table,
        {"parquet.bloom.filter.enabled#id": "true", "parquet.bloom.filter.max.bytes": "64"},
    )
    report = pb.build_table(table, min_file_size=0)
    assert (report.committed, report.num_filters) == (None, 0)
    assert all("at 64 bytes, the most allowed" in each.reason for each in report.skipped)


def test_deltalake_sets_properties_if_it_is_told_not_to_know_them(tmp_path):
    """As docs/tables.md says."""
    table = make_table(tmp_path / "events", commits=1)
    asked = {"parquet.bloom.filter.enabled#id": "true"}
    with pytest.raises(DeltaError, match="Error parsing property"):
        Judge(table).alter.set_table_properties(asked)
    with pytest.raises(DeltaError, match="Error parsing property"):
        write_deltalake(tmp_path / "other", pa.table({"id": [1]}), configuration=asked)
    Judge(table).alter.set_table_properties(asked, raise_if_not_exists=False)
    assert pb.build_table(table, min_file_size=0).columns == ("id",)


def test_properties_that_change_nothing_are_told(tmp_path):
    table = make_table(tmp_path / "events", partition_by=["day"], commits=1)
    configure(
        table,
        {
            "parquet.bloom.filter.enabled#id": "true",
            "parquet.bloom.filter.fpp#id": "abc",
            "parquet.bloom.filter.enabled#nn": "true",
            "parquet.bloom.filter.enabled#day": "true",
            "parquet.bloom.filter.enabled#n": "yes",
            "parquet.bloom.filter.max.bytes": "1 MiB",
        },
    )
    fails = "it is left out here, and writers that heed it fail"
    expected = [
        "the table's properties name nn, which is no column; did you mean n?",
        "the table's properties name day, which is a partition column, whose values are not in the files",
        f"the table's property parquet.bloom.filter.fpp#id is abc, expected a rate between 0 and 1: {fails}",
        "the table's property parquet.bloom.filter.enabled#n is yes, expected true or false: it asks for no filter",
        f"the table's property parquet.bloom.filter.max.bytes is 1 MiB, expected a number of bytes: {fails}",
    ]
    run = outcome("build", table, "--table", "delta", "--all-sizes", "--dry-run", "--json")
    assert json.loads(run.stdout)["notes"][:5] == expected
    shown = outcome("build", table, "--table", "delta", "--all-sizes")
    assert [f"note: {each}" for each in expected] == shown.stdout.splitlines()[1:6]
    # Nobody asked for what they say.
    notes = pb.build_table(table, columns="n", min_file_size=0).notes
    assert not any("propert" in each for each in notes)


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        (
            {"parquet.bloom.filter.enabled#idd": "true"},
            "its properties name idd, which is no column; did you mean id?",
        ),
        (
            {"parquet.bloom.filter.enabled#id": "on"},
            "its property parquet.bloom.filter.enabled#id is on, expected true or false: it asks for no filter"
            + "; its properties name none, as parquet.bloom.filter.enabled#NAME=true would: expected columns=",
        ),
    ],
)
def test_properties_that_name_no_column_at_all(table, properties, said):
    configure(table, properties)
    with pytest.raises(pb.UnsupportedError) as raised:
        pb.build_table(table)
    assert str(raised.value) == f"{table}: no column to build: {said}"


def test_without_columns_and_properties(table):
    with pytest.raises(pb.UnsupportedError) as raised:
        pb.build_table(table)
    assert str(raised.value) == (
        f"{table}: no column to build: its properties name none, as"
        " parquet.bloom.filter.enabled#NAME=true would: expected columns="
    )


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("idd", "no column idd; did you mean id?"),
        ("id.x", "no column id.x; did you mean id?"),
        (
            "day",
            "column day: is a partition column, whose values are not in the files; find and probe take, beside a --column, --where day=VALUE (in Python, pb.TableView(where=…))",
        ),
    ],
)
def test_columns_that_are_not_in_the_files(table, column, problem):
    with pytest.raises(pb.ColumnError) as raised:
        build(table, columns=[column])
    assert str(raised.value) == f"{table}: {problem}"


def test_fields_that_no_struct_has(tmp_path):
    """Only in lists and maps files may have names that the table does not know."""
    nested = pa.table({"id": [1], "s": [{"a": 1}], "tags": [["x"]]})
    write_deltalake(tmp_path / "nested", nested)
    with pytest.raises(pb.ColumnError, match=r"no column s\.aa; did you mean s\.a\?"):
        build(tmp_path / "nested", columns=["id", "s.aa"])
    for change in (build, pb.repair_table):
        report = change(tmp_path / "nested", columns=["id", "tags.element"], min_file_size=0)
        (file,) = report.files
        assert (file.action, file.reason) == (
            "failed",
            "no column tags.element; did you mean tags.list.element?",
        )
    options = ("--table", "delta", "--all-sizes", "-c", "tags.element")
    assert outcome("build", tmp_path / "nested", *options).code == 2
    # A name for other files may stand beside the table's.
    report = build(tmp_path / "nested", columns=["tags.list.element", "tags.array"], dry_run=True)
    assert [file.action for file in report.files] == ["appended"]


def test_files_from_before_a_column(tmp_path):
    table = make_table(tmp_path / "events", commits=1)
    more = rows_of(300, 10).append_column("late", [list(range(10))])
    write_deltalake(table, more, mode="append", schema_mode="merge")
    report = build(table, columns=["late"])
    assert sorted((file.action, file.reason) for file in report.files) == [
        ("appended", None),
        ("unchanged", "has none of these columns"),
    ]
    assert report.skipped == (SkippedColumn("late", LACKS_COLUMN, 3),)


def test_files_that_call_the_inside_of_a_list_otherwise(tmp_path):
    """As deltalake does in the files of which it makes a table, and in those that it appends."""
    from deltalake import write_deltalake

    table = tmp_path / "events"
    rows = pa.table({"id": [1, 2], "tags": [["a"], ["b", "c"]]})
    write_deltalake(table, rows)
    write_deltalake(table, rows, mode="append")
    for columns in (
        ["tags.list.element"],
        ["tags.list.item"],
        ["tags.list.item", "tags.list.element"],
    ):
        report = build(table, columns=columns, dry_run=True)
        assert (report.num_filters, report.skipped) == (2, ())


def test_ends_that_are_not_recorded_are_not_added_by_others(tmp_path):
    table = make_table(tmp_path / "events", commits=1)
    more = rows_of(300, 10).append_column("late", [list(range(10))])
    write_deltalake(table, more, mode="append", schema_mode="merge")
    build(table, columns=["id"], commit=False)
    report = build(table, columns=["late"])
    (appended,) = [file for file in report.files if file.action == "appended"]
    assert report.bytes_added == appended.bytes_added
    assert report.bytes_added + report.bytes_returning == appended.size - appended.recorded


def test_bytes_added_are_those_of_the_run(table):
    """Neither where nothing is added to it, nor where more is."""
    first = build(table, columns=["id"], commit=False)
    assert (first.bytes_added > 0, first.bytes_returning) == (True, 0)
    tried = build(table, columns=["id"], dry_run=True)
    assert (tried.bytes_added, tried.bytes_returning) == (0, first.bytes_added)
    before = sum(file.size for file in first.files)
    printed = outcome("build", str(table), "--table", "delta", "-c", "n", "--all-sizes", "--json")
    second = json.loads(printed.stdout)
    assert {file["action"] for file in second["files"]} == {"appended"}
    after = sum(file["size"] for file in second["files"])
    assert second["bytes_added"] == after - before > 0
    assert second["bytes_returning"] == first.bytes_added
    assert sum(file["bytes_added"] for file in second["files"]) == second["bytes_added"]


def test_classic_checkpoints(table):
    Judge(table).create_checkpoint()
    before = adds(table, 0) | adds(table, 1) | adds(table, 2)
    report = build(table)
    assert report.committed == 3
    for path, add in adds(table, 3).items():
        # A checkpoint does not tell null from nothing.
        known = {name: value for name, value in before[path].items() if value is not None}
        assert add == known | {"size": live(table)[path], "dataChange": False}
    Judge(table).create_checkpoint()
    assert build(table).committed is None
    assert rows_at(table) == all_rows()


def test_a_broken_file_does_not_keep_others(table):
    name = min(live(table))
    (table / name).write_bytes(b"PAR1 nothing")
    report = build(table)
    assert report.committed == 3
    assert [file.file for file in report.files if file.action == "failed"] == [name]
    assert len(adds(table, 3)) == 5


def test_a_file_of_another_size_is_refused(table):
    name = min(live(table))
    size = live(table)[name]
    with open(table / name, "ab") as file:
        file.write((table / name).read_bytes()[-size:])
    report = build(table)
    failed = next(file for file in report.files if file.file == name)
    assert (failed.action, failed.reason) == (
        "failed",
        (
            f"{2 * size:,} bytes, expected the {size:,} that the table records, or these and filters that"
            " were appended"
        ),
    )
    assert name not in adds(table, 3)


@pytest.mark.parametrize("change", [build, pb.repair_table, pb.strip_table])
def test_a_file_whose_end_is_lost_is_told_by_its_record(table, change):
    """What is left of it begins with the file that it was before, which older versions have."""
    name, first = min(live(table).items())
    build(table)
    size = live(table)[name]
    os.truncate(table / name, size - 5)
    said = (
        f"{size - 5:,} bytes, expected the {size:,} of its record: its end is lost: take another copy of the file; its"
        f" first {first:,} bytes are a whole file, with all of its rows if an older version of the table records that"
        " size"
    )
    options = {} if change is not pb.repair_table else {"drop_bad": True, "min_file_size": 0}
    failed = next(file for file in change(table, **options).files if file.file == name)
    assert (failed.action, failed.reason) == ("failed", said)
    assert f"{name}: {said}\n" in outcome("inspect", table, "--table", "delta").stderr


def test_a_file_that_was_cut_back_behind_the_table(table):
    """To what older versions record, and not the newest."""
    name, first = min(live(table).items())
    build(table)
    size = live(table)[name]
    os.truncate(table / name, first)
    failed = next(file for file in pb.strip_table(table).files if file.file == name)
    assert failed.reason.startswith(f"{first:,} bytes, expected the {size:,} of its record: its")
    assert f"; its first {first:,} bytes are a whole file, with all of its rows if" in failed.reason


@pytest.mark.parametrize("change", [build, pb.strip_table])
def test_a_file_of_the_recorded_size_whose_end_was_overwritten(table, change):
    """To cut it would leave a file that no reader of the newest version finds an end of."""
    name, first = min(live(table).items())
    build(table)
    size = live(table)[name]
    with open(table / name, "r+b") as file:
        file.seek(size - 4)
        file.write(b"XXXX")
    failed = next(file for file in change(table).files if file.file == name)
    said = (
        f"{size:,} bytes, as its record has it, but no footer at its end: it was overwritten: take another copy of the"
        f" file; its first {first:,} bytes are a whole file, with all of its rows if an older version of the table"
        " records that size"
    )
    assert (failed.action, failed.reason) == ("failed", said)
    assert f"{name}: {said}\n" in outcome("validate", table, "--table", "delta").stderr


@pytest.mark.parametrize("change", [build, pb.strip_table])
def test_a_file_cut_within_what_was_appended_and_is_not_recorded(tmp_path, change):
    """What the table records is whole, and is said to be, however much is left of the rest."""
    ids = [f"{number:032}" for number in range(600_000)]
    write_deltalake(tmp_path / "events", pa.table({"id": ids}))
    table = tmp_path / "events"
    build(table, commit=False, fpp=0.0001)
    ((name, size),) = live(table).items()
    cut = size + (3 << 19)
    assert (table / name).stat().st_size > cut + 1000
    os.truncate(table / name, cut)
    (failed,) = change(table).files
    said = f"{3 << 19:,} bytes follow a whole file: `head -c {size} {table / name}` is that file"
    assert (failed.action, failed.reason, failed.size) == ("failed", said, size)
    assert (table / name).stat().st_size == cut


@pytest.mark.parametrize("record", ["first", "second"])
def test_bytes_behind_what_is_recorded(table, record):
    """Where to cut a file counts only if the table has it so."""
    name = min(live(table))
    build(table)
    second = (table / name).stat().st_size
    if record == "first":
        pb.strip_table(table)
    os.truncate(table / name, second + 5)
    failed = next(file for file in build(table, columns="n").files if file.file == name)
    command = f"`head -c {second} {table / name}` is that file"
    assert (failed.action, failed.reason) == ("failed", f"5 bytes follow a whole file: {command}")
    os.truncate(table / name, second)
    assert "failed" not in {file.action for file in build(table, columns="n").files}


def test_a_dry_run_warns_of_small_files_if_they_are_asked_for(tmp_path):
    """As the run itself does."""
    ids = [f"{number:032}" for number in range(200_000)]
    plain = WriterProperties(compression="UNCOMPRESSED")
    write_deltalake(tmp_path / "events", pa.table({"id": ids}), writer_properties=plain)
    (size,) = live(tmp_path / "events").values()
    assert size > MIN_FILE_SIZE
    trino = "Trino fails on files of up to 3 MB"
    for is_dry in (True, False):
        usual = pb.build_table(tmp_path / "events", columns="id", dry_run=is_dry)
        assert [file.action for file in usual.files] == ["appended"]
        assert not any(note.startswith(trino) for note in usual.notes)
    every = build(tmp_path / "events", existing="replace", dry_run=True)
    assert every.notes[-1].startswith(trino)


def test_plain_in_place_is_refused(table):
    with pytest.raises(pb.RewriteError, match="belongs to the Delta Lake table"):
        pb.build(table / min(live(table)), columns=["id"], in_place=True)


def test_versions(table):
    build(table)
    found = open_table(table, "delta", version=0)
    assert isinstance(found, DeltaTable)
    assert (found.version, len(found.files())) == (0, 2)
    with pytest.raises(pb.RewriteError) as raised:
        open_table(table, version=4)
    assert str(raised.value) == f"{table}: no version 4, expected 0 to 3"
    with pytest.raises(pb.RewriteError) as raised:
        open_table(table, version="q1")
    expected = "expected a number, 0 or more: in Delta Lake, versions have no names"
    assert str(raised.value) == f"{table}: version 'q1': {expected}"
    told = outcome("inspect", table, "--table", "delta", "--version=-1").complaint
    assert told == f"{table}: version '-1': {expected}"


# ------------------------------------------------------------------------------------------------
# The command


def test_command(table):
    result = outcome("build", table, "--table", "auto", "-c", "id", "--all-sizes")
    assert result.code == 0, result
    line, note = result.stdout.splitlines()
    assert line.startswith(f"{table}: 6 files: 6 appended; 12 filters, ")
    assert "; version 3 records it, " in line
    assert note.startswith("note: Trino fails on files of up to 3 MB")
    result = outcome("build", table, "--table", "delta", "-c", "id", "--all-sizes", "--json")
    document = json.loads(result.stdout)
    assert document["committed"] is None
    assert document["skipped"] == [
        {"column": "id", "reason": "has a filter already", "num_chunks": 12}
    ]
    result = outcome("strip", table, "--table", "auto")
    assert result.code == 0
    assert result.stdout.startswith(f"{table}: 6 files: 6 taken back; ")
    assert "; version 4 records it, " in result.stdout
    options = ("--table", "auto", "-c", "id", "--all-sizes")
    quiet = outcome("build", table, *options, "--no-commit", "-q").stdout.splitlines()
    assert quiet[-1].startswith("1 table: 1 not committed; ")
    for way in ((), ("--no-commit",)):
        dry = outcome("build", table, *options, *way, "--dry-run", "-q").stdout.splitlines()
        assert dry[-1].startswith("1 table: 1 would change; 0 filters, ")
        assert dry[-1].endswith("; dry run: nothing was written")
    line, skipped, *_ = outcome("build", table, *options, "--no-commit").stdout.splitlines()
    assert "; 0 filters, " in line
    assert skipped == "skipped id, 12 column chunks: was appended before: a commit makes it visible"
    (line,) = outcome("build", table, *options).stdout.splitlines()
    assert line.startswith(f"{table}: 6 files: 6 appended before; 12 filters made visible, ")
    assert "; version 5 records it, " in line


def test_a_dry_run_counts_the_tables_that_would_change(table, tmp_path):
    other = make_table(tmp_path / "other", commits=1)
    build(other)
    options = ("--table", "delta", "--dry-run")
    told = outcome("build", table, other, *options, "-c", "id", "--all-sizes").stdout
    assert "\n2 tables: 1 would change, 1 unchanged; 12 filters, " in told
    told = outcome("strip", table, other, *options).stdout
    assert "\n2 tables: 1 unchanged, 1 would change; " in told
    (told,) = outcome("strip", other, *options, "-q").stdout.splitlines()
    assert re.fullmatch(
        "1 table: 1 would change; .* taken back; dry run: nothing was written", told
    )


def test_command_tells_what_failed(table):
    name = min(live(table))
    (table / name).write_bytes(b"")
    result = outcome("build", table, "--table", "auto", "-c", "id", "--all-sizes")
    assert result.code == 2
    assert f"{name}: failed: " in result.stdout


def test_command_on_several_tables(table, tmp_path):
    other = make_table(tmp_path / "other", commits=1)
    result = outcome("build", table, other, tmp_path, "--table", "auto", "-c", "id", "--all-sizes")
    assert result.code == 2
    assert result.complaint == (
        f"{tmp_path}: neither _delta_log nor metadata/*.metadata.json in it, expected the folder of a"
        " table"
    )
    assert "3 tables: 2 committed, 1 failed" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ("--table", "auto", "-c", "id", "--in-place"),
            "--in-place: not with --table, which changes the files of the table in any case",
        ),
        (
            ("-c", "id", "--in-place", "--no-commit"),
            "--no-commit: expected with --table only, such as --table auto",
        ),
        (
            ("-c", "id", "--in-place", "--where", "a=b"),
            "--where: expected with --table only, such as --table auto; of other files, name the folder of the partition, as in lake/day=1/",
        ),
        (
            ("--table", "auto", "--all-sizes", "--min-file-size", "1MiB"),
            "expected at most one of --min-file-size and --all-sizes",
        ),
        (("--table", "auto", "--where", "a"), "'a': expected COLUMN=VALUE"),
        (
            ("--table", "auto", "--where", "a in ('x y', 1)"),
            """"a in ('x y', 1)": expected COLUMN=VALUE, as in --where 'a=x y' --where a=1""",
        ),
        (
            ("--table", "auto", "--where", "a IS NULL"),
            "'a IS NULL': expected COLUMN=VALUE, as in --where a=__HIVE_DEFAULT_PARTITION__",
        ),
        (
            ("--table", "auto", "--where", "a>1"),
            "'a>1': expected COLUMN=VALUE; no other condition can be asked",
        ),
        (
            ("--table", "auto", "--where", "a BETWEEN 1 AND 2"),
            "'a BETWEEN 1 AND 2': expected COLUMN=VALUE; no other condition can be asked",
        ),
        (
            ("--table", "auto", "--where", "a = 1"),
            "'a = 1': expected COLUMN=VALUE, without blanks around =",
        ),
    ],
)
def test_command_takes_tables_or_files(table, arguments, problem):
    result = outcome("build", table, *arguments)
    assert result.code == 2
    assert result.stderr.rstrip().endswith(problem)


def test_filters_of_single_columns_cannot_be_taken_back(tmp_path):
    """And nothing says that strip would: those of others go with them, and come back with them."""
    table = make_table(tmp_path / "events", commits=1)
    place = (table, "--table", "delta")
    build(table, columns=["id", "day"])
    result = outcome("strip", *place, "-c", "day")
    assert result.code == 2
    assert result.stderr.rstrip().endswith(
        "-c: not with --table: strip takes back all filters that were appended to a table's files, and those of "
        "single columns go only when a writer rewrites the files"
    )
    advised = outcome("advise", *place)
    assert (
        "3 row groups have filters, which go when a writer rewrites the files\n" in advised.stdout
    )
    assert outcome("report", *place, "-o", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    for told in (advised.output, outcome("advise", *place, "--json").output, page):
        assert "pbloom strip" not in told
    pb.strip_table(table)
    build(table)
    assert "no filters: n\n" in outcome("inspect", *place, "--summary").stdout


def test_an_empty_table_is_said_to_be_empty(tmp_path):
    """By all who read it; what was added later is none of an older version."""
    table, page = tmp_path / "events", tmp_path / "page.html"
    Judge.create(table, schema=rows_of(0, 1).schema)
    empty = f"{table}: 0 files: the table is empty at version 0"
    probed = ("-c", "id", "-v", "x")
    for command in (
        ("validate", "--require", "id", "--no-config"), ("inspect",), ("inspect", "--summary"), ("advise",),
        ("probe", *probed), ("probe", *probed, "--by-value"), ("report", "-o", page),
    ):  # fmt: skip
        for of_version in ((), ("--version", "0")):
            result = outcome(command[0], table, "--table", "delta", *command[1:], *of_version)
            assert result.code == (command[0] == "probe"), command
            assert result.stderr.splitlines()[0] == f"pbloom: {empty}", command
    assert result.stderr.splitlines()[1:] == [f"pbloom: {page}: not written"]
    assert not page.exists()
    found = outcome("find", table, "--table", "delta", *probed)
    assert (found.code, found.stderr) == (1, "")
    assert found.stdout.startswith("0 rows in 0 files: 0 row groups of 0 files read, 0 B")
    make_table(table, commits=1)
    late = ("advise", table, "--table", "delta")
    assert (
        outcome(*late, "--since", "1").complaint == "nothing to do: no files added since version 1"
    )
    assert outcome(*late).stderr == ""
    assert outcome(*late, "--version", "0").complaint == empty


def test_a_table_without_files_of_a_partition_is_not_said_to_be_empty(table):
    for command in (("inspect", "--summary"), ("probe", "-c", "id", "-v", "x"), ("advise",)):
        place = (command[0], table, "--table", "delta", *command[1:])
        result = outcome(*place, "--where", "day=never")
        assert result.code == 2
        assert "day=never: no live file, expected " in result.complaint


def test_an_empty_table_has_no_partition_that_could_be_named(tmp_path):
    table = tmp_path / "events"
    Judge.create(table, schema=rows_of(0, 1).schema, partition_by=["day"])
    told = outcome("inspect", table, "--table", "delta", "--where", "day=1").complaint
    assert told == f"{table}: day=1: no live file: the table is empty at version 0"


def test_what_was_appended_before_is_not_added_again(table):
    """Filters of all columns come back into sight, of those that nobody asked for, too."""
    options = ("--table", "delta", "--all-sizes")
    built = outcome("build", table, *options, "-c", "id,n").stdout
    (added,) = re.findall("; 24 filters, (.*) added; version 3 records it", built)
    assert outcome("strip", table, "--table", "delta").code == 0
    tried, *_, note = outcome(
        "build", table, *options, "-c", "id", "--no-commit"
    ).stdout.splitlines()
    assert f": 6 appended before; 0 filters, {added} appended before; version 4 stays, " in tried
    assert note == f"note: {NOT_COMMITTED}"
    back = outcome("build", table, *options, "-c", "id").stdout
    assert f"; 24 filters made visible, {added} appended before; version 5 records it, " in back
    summary = outcome("inspect", table, "--table", "delta", "--summary").stdout
    assert "6 files, 900 rows: 24 filters " in summary
    # One file that has nothing appended yet, among others.
    pb.strip_table(table)
    write_deltalake(table, rows_of(900, 100), mode="append")
    mixed = outcome("build", table, *options, "-c", "id").stdout
    expected = (
        rf"; 2 filters, 24 more made visible, .* KiB added, {added} appended before; version 8"
    )
    assert re.search(expected, mixed), mixed


def test_filters_return_in_python_too(table):
    build(table, columns=["id", "n"])
    pb.strip_table(table)
    assert build(table, commit=False).num_returning == 0
    report = build(table)
    assert (report.num_filters, report.num_returning) == (0, 12)
