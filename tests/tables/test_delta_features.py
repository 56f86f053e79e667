"""Every feature of Delta tables: the `add` of each file is as it was, but for its size, before and after
checkpoints, and readers find the same rows in every version."""

import datetime
import json

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable as Judge
from deltalake import QueryBuilder
from deltalake.exceptions import DeltaProtocolError
from make.commands import outcome
from make.delta_features import (
    FEATURES,
    VALUES,
    change_data_feed,
    in_commit_timestamps,
    inline_vectors,
    make_mapped,
    make_partitioned,
    mapped_field,
    mapped_table,
    parquet_bytes,
)
from make.delta_tables import (
    actions,
    adds,
    build,
    current_adds,
    delete_rows,
    destroy_other_groups,
    inline_vector,
    live,
    make_table,
    newest,
    rows_of,
    with_features,
)
from oracle.delta_readers import by_query_builder, rows_at

import parquet_bloom as pb
from parquet_bloom.tables.open import open_table


def check_adds(before, after, sizes):
    assert after.keys() == before.keys()
    for path, add in after.items():
        known = {name: value for name, value in before[path].items() if value is not None}
        found = {name: value for name, value in add.items() if value is not None}
        assert found == known | {"size": sizes[path], "dataChange": False}


@pytest.mark.every(3)
@pytest.mark.parametrize("has_checkpoint", [False, True], ids=["json", "checkpoint"])
@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.__name__)
def test_adds_differ_in_size_and_data_change_only(tmp_path, feature, has_checkpoint):
    table = make_table(tmp_path / "events", partition_by=["day"])
    feature(table)
    # Datasets and Polars take the features that are Arrow's own; a query engine takes them all.
    rows = {version: by_query_builder(table, version) for version in range(newest(table) + 1)}
    before, start = current_adds(table), newest(table)
    if has_checkpoint:
        Judge(table).create_checkpoint()
    report = build(table)
    assert report.committed == start + 1
    check_adds(before, adds(table, start + 1), live(table))
    if has_checkpoint:
        Judge(table).create_checkpoint()
    assert build(table, columns=["n"]).committed == start + 2
    check_adds(before, adds(table, start + 2), live(table))
    assert pb.strip_table(table).committed == start + 3
    check_adds(before, adds(table, start + 3), live(table))
    last = rows[start]
    for version in range(start + 4):
        assert by_query_builder(table, version) == rows.get(version, last)


def test_deleted_rows_are_counted_and_stay_deleted(tmp_path):
    table = make_table(tmp_path / "events", commits=1)
    inline_vectors(table)
    report = build(table)
    assert [file.num_deleted for file in report.files] == [3]
    assert len(by_query_builder(table)) == 297


def test_in_commit_timestamps_go_on(tmp_path):
    """Even if the clock that made the last one was ahead."""
    table = make_table(tmp_path / "events")
    with_features(
        table, ["inCommitTimestamp"], configuration={"delta.enableInCommitTimestamps": "true"}
    )
    in_commit_timestamps(table)
    last = actions(table, 2)[0]["commitInfo"]["inCommitTimestamp"]
    Judge(table).create_checkpoint()
    build(table)
    build(table, columns=["n"])
    times = [actions(table, version)[0]["commitInfo"]["inCommitTimestamp"] for version in (3, 4)]
    assert times == [last + 1, last + 2]
    moments = [
        datetime.datetime.fromtimestamp(time / 1000, datetime.UTC) for time in (last, times[1])
    ]
    assert [open_table(table, as_of=moment).version for moment in moments] == [2, 4]


# ------------------------------------------------------------------------------------------------
# Partitions


@pytest.mark.parametrize("column", VALUES)
def test_partitions_with_every_kind_of_value(tmp_path, column):
    table = make_partitioned(tmp_path / "events", column)
    before, expected = current_adds(table), rows_at(table)
    report = build(table)
    assert {file.action for file in report.files} == {"appended"}
    for path, add in adds(table, 1).items():
        assert add["partitionValues"] == before[path]["partitionValues"]
        assert {**before[path], "size": add["size"], "dataChange": False} == add
    assert rows_at(table) == rows_at(table, 0) == expected
    # Each value chooses the files that have it.
    for file in open_table(table).files():
        chosen = build(table, where={column: file.partition[column]}).files
        assert file.name in {each.file for each in chosen}


# ------------------------------------------------------------------------------------------------
# Column mapping


@pytest.fixture
def mapped(tmp_path):
    return make_mapped(tmp_path / "events")


def test_column_mapping(mapped):
    table, names = mapped
    before, rows = current_adds(table), by_query_builder(table)
    report = build(table, columns=["id", "who.name", "tags.list.element"])
    assert report.columns == ("id", "who.name", "tags.list.element")
    assert report.num_filters == 12
    check_adds(before, adds(table, 1), live(table))
    assert by_query_builder(table) == by_query_builder(table, 0) == rows
    assert pb.inspect_summary([table / "part-0.parquet"]).files_with_filters == 1
    columns = pb.inspect_summary(table, table="delta").columns
    assert {each.column for each in columns if each.files_with_filters} == {*report.columns}
    assert build(table, where={"day": "2026-11-01"}).committed is None
    physical = pb.probe(table / "part-0.parquet", f"{names['who']}.{names['name']}", [rows[0][0]])
    assert physical.results[0].verdict == "maybe"
    # Reports call columns as the table does, too.
    found = pb.open_table(table)
    for file in found.files():
        with found.open(file) as opened:
            assert {"id", "n", "tags.list.element", "who.name"} <= {*opened.columns}
            assert not {*names.values()} & {*opened.columns}
            assert {answer.verdict for answer in opened.probe("id", "nobody")} == {"absent"}
    result = outcome("inspect", table, "--table", "delta", "--summary")
    assert result.stdout.splitlines()[1].startswith("id\t1 of 1\t4 of 4\t4\t")
    assert result.stdout.splitlines()[-2] == "no filters: n"
    assert {each.column for each in build(table, columns=["id"]).skipped} == {"id"}


def test_engines_that_lose_rows_are_named_with_the_columns_of_the_table(tmp_path):
    names = {"hash": "col-1", "raw": "col-2", "n": "col-3"}
    data = pa.table({"col-1": [b"\xff"] * 9, "col-2": [b"a"] * 9, "col-3": [1] * 9})
    kinds = {"hash": "binary", "raw": "binary", "n": "long"}
    fields = [mapped_field(name, kinds[name], names, at) for at, name in enumerate(names, 1)]
    table = mapped_table(tmp_path / "events", "name", fields, parquet_bytes(data))
    expected = (
        "columns hash, raw: DuckDB 1.5 loses rows even with correct filters: it looks up the text that it shows"
        " for bytes, such as \\xFF for 0xff"
    )
    for dry_run in (True, False):
        report = build(table, columns=["n", "hash", "raw"], dry_run=dry_run)
        assert [note for note in report.notes if note.startswith("column")] == [expected]
    # Nothing is built, and nothing new is to be known.
    assert build(table, columns=["n", "hash", "raw"]).notes == ()


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (
            "day",
            "column day: is a partition column, whose values are not in the files; find and probe take, beside a --column, --where day=VALUE (in Python, pb.TableView(where=…))",
        ),
        ("who.nam", "no column who.nam; did you mean who.name?"),
        ("nobody", "no column nobody; the table has id, n, tags.list.element, who.name"),
    ],
)
def test_column_mapping_takes_the_names_of_the_table(mapped, column, problem):
    table, _ = mapped
    with pytest.raises(pb.ColumnError) as raised:
        build(table, columns=[column])
    assert str(raised.value) == f"{table}: {problem}"


# ------------------------------------------------------------------------------------------------
# Deletion vectors of others meanwhile


def test_a_newer_deletion_vector_is_taken(tmp_path):
    table = make_table(tmp_path / "events", commits=1)
    inline_vectors(table)
    (path,) = live(table)
    found = open_table(table)
    delete_rows(table, path, inline_vector(range(100)))
    from parquet_bloom.tables.table import NewSize

    whole = (table / path).read_bytes()
    size, end = len(whole), whole[-8 - int.from_bytes(whole[-8:-4], "little") :]
    with open(table / path, "ab") as file:
        file.write(end)
    done = found.commit({path: NewSize(size, size + len(end))}, "TEST")
    assert (done.version, done.left) == (2, {})
    assert adds(table, 2)[path]["deletionVector"] == inline_vector(range(100))


# ------------------------------------------------------------------------------------------------
# Others who look at commits


def test_the_change_data_feed_has_nothing_new(tmp_path):
    table = make_table(tmp_path / "events")
    change_data_feed(table)

    def changes():
        return len(pa.table(Judge(table).load_cdf(starting_version=0).read_all()))

    assert changes() == 900
    build(table)
    pb.strip_table(table)
    assert changes() == 900


BY_BUILDER = "deltalake's QueryBuilder (DataFusion)"
BY_DATASET = "deltalake's to_pyarrow_dataset"
IN_USE = "the filters once the new sizes are committed"


@pytest.mark.parametrize("num_vectors", [0, 1])
def test_a_dry_run_names_those_who_will_use_the_filters(tmp_path, num_vectors):
    """One deletion vector is enough for QueryBuilder to use none."""
    table = make_table(tmp_path / "events", commits=2)
    with_features(table, reader=["deletionVectors"])
    for path in [*live(table)][:num_vectors]:
        delete_rows(table, path, inline_vector({3}))
    users, *others = build(table, dry_run=True).notes
    if num_vectors == 0:
        assert users == f"{BY_BUILDER} and Sail use {IN_USE}"
    else:
        assert f"Sail uses {IN_USE}" in others
        assert users == (
            f"{BY_BUILDER} reads the same rows without the filters, as there are deletion vectors"
        )
    if num_vectors:
        assert f"{BY_DATASET} cannot read a table with deletion vectors" in others
        assert (
            "Daft cannot read a table with deletion vectors, or reads deleted rows, too, where"
            " delta.enableDeletionVectors is not true"
        ) in others
    else:
        assert others[0] == f"{BY_DATASET} cannot read a table with the feature deletionVectors"
    build(table)
    explained = QueryBuilder().register("t", Judge(table))
    plan = explained.execute("explain analyze select * from t where id = 'user 007919'")
    pruned = str(pa.table(plan.read_all()).to_pylist())
    assert "row_groups_pruned_bloom_filter=6 total" in pruned
    assert ("bloom_filter=6 total → 1 matched" in pruned) == (num_vectors == 0)


def test_a_dry_run_names_those_who_cannot_read_mapped_columns(tmp_path):
    table, _ = make_mapped(tmp_path / "events")
    arguments = ("-c", "id", "--all-sizes", "--dry-run", "--json")
    notes = json.loads(outcome("build", table, "--table", "delta", *arguments).stdout)["notes"]
    assert f"{BY_DATASET} reads nulls in a table with column mapping, or cannot read it" in notes
    assert "Polars cannot read a table with column mapping" in notes
    assert "chDB reads the same rows without the filters" in notes
    assert "Daft reads the same rows without the filters, but no files without field ids" in notes
    with pytest.raises(DeltaProtocolError, match="column mapping"):
        pl.read_delta(str(table))


@pytest.mark.parametrize(
    ("mode", "feature", "enabled", "is_using"),
    [
        ("name", ["deletionVectors"], "true", False),
        ("id", ["deletionVectors"], "true", False),
        ("none", ["deletionVectors"], "true", True),
        ("name", [], "true", True),
        ("name", ["deletionVectors"], "TRUE", True),
        ("name", ["deletionVectors"], "false", True),
        ("name", ["deletionVectors"], None, True),
    ],
)
def test_query_builder_uses_no_filters_of_mapped_columns_if_vectors_are_enabled(
    tmp_path, mode, feature, enabled, is_using
):
    """Even if no file has one. Pages that it reads in vain were destroyed."""
    rows = rows_of(0, 300)
    names = {name: name if mode == "none" else f"col-{name}" for name in ("id", "n")}
    numbers = {"id": 1, "n": 2}
    kinds = {"id": "string", "n": "long"}
    stored = pa.schema(
        pa.field(names[name], rows[name].type, metadata={"PARQUET:field_id": str(number)})
        for name, number in numbers.items()
    )
    data = pa.Table.from_arrays([rows["id"], rows["n"]], schema=stored)
    fields = [mapped_field(name, kinds[name], names, number) for name, number in numbers.items()]
    whole = parquet_bytes(data, row_group_size=100)
    table = mapped_table(tmp_path / "events", mode, fields, whole)
    properties = {"delta.enableDeletionVectors": enabled} if enabled else {}
    with_features(table, reader=["columnMapping", *feature], configuration=properties)

    (said,) = (note for note in build(table, dry_run=True).notes if BY_BUILDER in note)
    if is_using:
        assert said == f"{BY_BUILDER} and Sail use {IN_USE}"
    else:
        assert said == (
            f"{BY_BUILDER} reads the same rows without the filters, as there is column mapping, and"
            " delta.enableDeletionVectors is true"
        )
    build(table)
    destroy_other_groups(table / "part-0.parquet", 0)
    id = rows["id"][3].as_py()
    if is_using:
        assert by_query_builder(table, where=f"id = '{id}'") == [(id, 3)]
    else:
        with pytest.raises(Exception, match="Parquet"):
            by_query_builder(table, where=f"id = '{id}'")


def test_details_of_advice_say_of_the_table_what_a_dry_run_says(tmp_path):
    """Whoever uses the filters of a file may not use them in the table."""
    table = make_table(tmp_path / "events", commits=2)
    other = make_table(tmp_path / "others", commits=1)
    with_features(table, reader=["deletionVectors"])
    delete_rows(table, next(iter(live(table))), inline_vector({3}))
    notes = build(table, dry_run=True).notes
    of_readers = [note for note in notes if not note.startswith("Trino")]
    assert (
        f"{BY_BUILDER} reads the same rows without the filters, as there are deletion vectors"
        in notes
    )
    asked = ("--table", "delta", "-c", "id", "--details")
    said = outcome("advise", table, *asked).stdout
    assert "\nin the table:\n" + "".join(f"  {note}\n" for note in of_readers) in said
    (used,) = (line for line in said.splitlines() if line.startswith("  used by "))
    assert used.endswith("used by DuckDB, DataFusion, ClickHouse; in the table, as said below")
    of_both = outcome("advise", table, other, *asked).stdout
    for note in of_readers:
        assert f"  {table}: {note}\n" in of_both
    assert f"  {other}: {BY_BUILDER} and Sail use {IN_USE}\n" in of_both
    paths = [*other.glob("*.parquet")]
    assert "in the table" not in outcome("advise", *paths, "-c", "id", "--details").stdout


@pytest.mark.parametrize("feature", ["columnMapping", "v2Checkpoint"])
def test_a_dry_run_names_those_who_refuse_features(tmp_path, feature):
    """Whether or not the table makes use of them."""
    table = make_table(tmp_path / "events", commits=1)
    with_features(table, reader=[feature])
    refused = "cannot read a table with the reader features of this one"
    notes = build(table, dry_run=True).notes
    assert f"{BY_DATASET} and Polars {refused}" in notes
    with pytest.raises(DeltaProtocolError):
        Judge(table).to_pyarrow_dataset()
    with pytest.raises(DeltaProtocolError):
        pl.read_delta(str(table))
