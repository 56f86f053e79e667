"""Columns that were renamed, swapped, dropped and added again: every verb takes the table's name, and
finds the column by its field id in each file."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.iceberg_tables import (
    CATALOG,
    NAME,
    build,
    live,
    load,
    make_table,
    path_of,
    use_catalog,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.types import (
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.vocabulary import NULL_IN_TABLE

PLACE = (NAME, "--table", "auto", "--catalog", CATALOG)
ROOT = PartitionSpec()


@pytest.fixture(autouse=True)
def catalog(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)


def evolve(*changes):
    """One change of the schema after the other."""
    for method, *arguments in changes:
        with load().update_schema() as update:
            getattr(update, method)(*arguments)


def append(**columns):
    """A new file; its path."""
    before = live()
    table = load()
    table.append(pa.table(columns, schema=table.schema().as_arrow()))
    (path,) = live().keys() - before.keys()
    return path


def swapped():
    """An old file that calls `m` what is `n` now, and the other way around, and has another `day`; and a
    new one, in which `late` is, too."""
    names = ("m", "n", "day")
    schema = Schema(
        *(NestedField(i, name, StringType(), required=False) for i, name in enumerate(names, 1))
    )
    make_table(commits=0, schema=schema, spec=ROOT)
    old = append(m=["old n"], n=["old m"], day=["monday"])
    evolve(("rename_column", "m", "x"), ("rename_column", "n", "m"), ("rename_column", "x", "n"))
    evolve(
        ("delete_column", "day"),
        ("add_column", "day", StringType()),
        ("add_column", "late", StringType()),
    )
    return old, append(n=["new n"], m=["new m"], day=["tuesday"], late=["later"])


def documents(*arguments):
    """Of each file, by its name in the table."""
    result = outcome(*arguments, "--json")
    assert result.code in (0, 1), result
    found = [json.loads(line) for line in result.stdout.splitlines()]
    return {f"file://{each['path']}": each for each in found}


def verdicts(column, value, paths):
    """What is said about each file."""
    found = documents("probe", *PLACE, "-c", column, "-v", value)
    assert {each["column"] for each in found.values()} == {column}
    return [found[path]["results"][0]["verdict"] for path in paths]


def test_probe_asks_the_column_with_the_field_id():
    files = swapped()
    report = build(columns=["m", "n", "day"])
    assert (report.columns, report.num_filters) == (("m", "n", "day"), 5)
    for column, value, expected in (
        ("m", "old m", ["maybe", "absent"]),
        ("m", "new m", ["absent", "maybe"]),
        ("m", "old n", ["absent", "absent"]),
        ("n", "old n", ["maybe", "absent"]),
        ("n", "new n", ["absent", "maybe"]),
        ("n", "new m", ["absent", "absent"]),
        # Dropped and added again.
        ("day", "monday", ["absent", "absent"]),
        ("day", "tuesday", ["absent", "maybe"]),
        ("late", "later", ["absent", "unknown"]),
    ):
        assert verdicts(column, value, files) == expected, (column, value)


def test_a_column_that_a_file_lacks():
    """The table has null there, whatever the file has by the same name."""
    old, _ = swapped()
    build(columns=["day"])
    result = outcome("probe", *PLACE, "-c", "day", "-v", "monday")
    assert result.code == 1
    assert f"{path_of(old)}: absent" in result.stdout
    result = outcome("probe", *PLACE, "-c", "day", "-v", "monday", "--explain")
    assert result.code == 1
    assert NULL_IN_TABLE in result.stdout
    result = outcome("probe", *PLACE, "-c", "day", "-v", "monday", "--groups-to-read")
    assert result.stdout == ""
    table = pb.open_table(NAME, catalog=CATALOG)
    for file in table.files():
        with table.open(file) as opened:
            (answer,) = opened.probe("day", "monday")
            assert opened.columns == (("n", "m") if file.name == old else ("n", "m", "day", "late"))
        assert answer.verdict == "absent"
        assert answer.reason == (NULL_IN_TABLE if file.name == old else None)


def test_python_finds_columns_as_the_table_does():
    old, _ = swapped()
    build(columns=["m", "n"])
    table = pb.open_table(NAME, catalog=CATALOG)
    (file,) = [each for each in table.files() if each.name == old]
    with table.open(file) as opened:
        assert [answer.verdict for answer in opened.probe("m", "old m")] == ["maybe"]
        assert opened.bloom_filter(0, "m").check("old m")
        assert not opened.bloom_filter(0, "m").check("old n")
        with pytest.raises(pb.ColumnError) as raised:
            opened.probe("x", "old m")
    assert str(raised.value) == f"{file.path}: no column x; the file has n, m"
    # An older version has the names of then.
    before = pb.open_table(NAME, catalog=CATALOG, version=load().snapshots()[0].snapshot_id)
    (file,) = before.files()
    with before.open(file) as opened:
        assert opened.columns == ("m", "n", "day")


def test_branches_and_tags_name_versions():
    """Of a tag, columns are called as they were then; of a branch, as they are now."""
    old, new = swapped()
    first, last = (each.snapshot_id for each in load().snapshots())
    with load().manage_snapshots() as refs:
        refs.create_branch(first, "audit").create_tag(first, "q1")
    for version, column, columns in [
        ("q1", "m", ("m", "n", "day")),
        ("audit", "n", ("n", "m")),
    ]:
        table = pb.open_table(NAME, catalog=CATALOG, version=version)
        (file,) = table.files()
        assert (table.version, file.name) == (first, old)
        with table.open(file) as opened:
            assert tuple(opened.columns) == columns
        (row,) = pb.find(
            NAME, column, "old n", table=pb.TableView(catalog=CATALOG, version=version)
        ).rows
        assert f"file://{row.path}" == old
        options = ("--table", "iceberg", "--catalog", CATALOG, "--version", version)
        assert (table.in_commands.reading, table.in_commands.changing) == (options, None)
        assert (
            "old n"
            in outcome("find", *PLACE, "--version", version, "-c", column, "-v", "old n").stdout
        )
    main = pb.open_table(NAME, catalog=CATALOG, version="main")
    assert (main.version, {file.name for file in main.files()}) == (last, {old, new})
    refused = f"{NAME}: no branch or tag q2, expected main, audit, q1, or the number of a snapshot"
    assert outcome("inspect", *PLACE, "--version", "q2").complaint == refused


def test_inspect_and_validate_and_advise():
    old, new = swapped()
    build(columns=["m", "day"])
    found = documents("inspect", *PLACE)
    columns = {
        path: [(each["column"], each["reason"]) for each in report["row_groups"][0]["columns"]]
        for path, report in found.items()
    }
    none = "no filter"
    assert columns[old] == [("n", none), ("m", None)]
    assert columns[new] == [("n", none), ("m", None), ("day", None), ("late", none)]
    found = documents("inspect", *PLACE, "-c", "day")
    assert [len(found[path]["row_groups"][0]["columns"]) for path in (old, new)] == [0, 1]
    result = outcome("inspect", *PLACE, "--summary")
    assert "m\t2 of 2\t2 of 2" in result.stdout
    assert "day\t1 of 1\t1 of 1" in result.stdout
    assert result.stdout.endswith("\n")
    found = documents("validate", *PLACE, "--no-config", "--require", "day", "--require", "n")
    problems = {
        path: [(each["rule"], each["column"], each["next"]) for each in report["findings"]]
        for path, report in found.items()
    }
    # The old file calls `n` otherwise, the table does not; and of one column nothing can be taken back.
    too_large = "PB305"
    command = f"pbloom build {NAME} -c n --table iceberg --catalog {CATALOG} --all-sizes"
    assert problems[old] == [(too_large, "m", None), ("PB310", "n", command)]
    assert [each[:2] for each in problems[new]][-1] == ("PB310", "n")
    found = documents("advise", *PLACE, "-c", "m", "-c", "day")
    assert [[each["column"] for each in found[path]["columns"]] for path in (old, new)] == [
        ["m"],
        ["m", "day"],
    ]


def test_reports_of_changes_have_the_table_s_names():
    old, new = swapped()
    build(columns=["m"])
    report = build(columns=["m", "n"])
    assert [(each.column, each.num_chunks) for each in report.skipped] == [("m", 2)]
    with open(path_of(old), "r+b") as file, open_file(path_of(old)) as opened:
        place = opened.chunk(0, "n").bloom_filter_offset
        file.seek(place + 20)
        file.write(bytes(12))
    report = pb.repair_table(NAME, catalog=CATALOG, rebuild=True, min_file_size=0, columns="m")
    assert {each.column for each in report.repaired} == {"m"}, report
    assert verdicts("m", "old m", (old, new)) == ["maybe", "absent"]


def test_columns_that_the_table_has_not():
    swapped()
    for arguments in (("inspect",), ("validate",), ("advise",), ("probe", "-v", "x")):
        verb, *more = arguments
        result = outcome(verb, *PLACE, "-c", "x", *more)
        assert result.code == 2
        assert result.complaint == f"{NAME}: no column x; the table has day, late, m, n"


NESTED = Schema(
    NestedField(1, "tags", ListType(10, StringType(), element_required=False), required=False),
    NestedField(
        2, "m", MapType(11, StringType(), 12, LongType(), value_required=False), required=False
    ),
    NestedField(
        3,
        "s",
        StructType(
            NestedField(13, "a", StringType(), required=False),
            NestedField(14, "b", StringType(), required=False),
        ),
        required=False,
    ),
)


def test_nested_columns():
    """Lists, maps and structs that were renamed, and fields of a struct that swapped names."""
    make_table(commits=0, schema=NESTED, spec=ROOT)
    old = append(tags=[["x"]], m=[[("k", 1)]], s=[{"a": "old b", "b": "old a"}])
    evolve(
        ("rename_column", "tags", "labels"),
        ("rename_column", "m", "tags"),
        ("rename_column", "s.a", "c"),
        ("rename_column", "s.b", "a"),
        ("rename_column", "s.c", "b"),
        ("rename_column", "s", "t"),
    )
    new = append(labels=[["y"]], tags=[[("l", 2)]], t=[{"b": "new b", "a": "new a"}])
    columns = ["labels.element", "tags.key", "tags.value", "t.a", "t.b"]
    assert build(columns=columns).num_filters == 10
    for column, value, expected in (
        ("labels.element", "x", ["maybe", "absent"]),
        ("labels.element", "y", ["absent", "maybe"]),
        ("tags.key", "k", ["maybe", "absent"]),
        ("tags.value", "2", ["absent", "maybe"]),
        ("t.a", "old a", ["maybe", "absent"]),
        ("t.a", "old b", ["absent", "absent"]),
        ("t.b", "new b", ["absent", "maybe"]),
    ):
        assert verdicts(column, value, (old, new)) == expected, (column, value)
    result = outcome("probe", *PLACE, "-c", "tags.element", "-v", "x")
    assert result.code == 2


def imported(tmp_path, rows):
    """A file of others, without field ids."""
    pq.write_table(rows, tmp_path / "imported.parquet")
    load().add_files([f"file://{tmp_path}/imported.parquet"])
    return f"file://{tmp_path}/imported.parquet"


TWO = Schema(
    NestedField(1, "a", StringType(), required=False),
    NestedField(2, "b", StringType(), required=False),
)


def test_files_without_field_ids(tmp_path):
    make_table(commits=0, schema=TWO, spec=ROOT)
    path = imported(tmp_path, pa.table({"a": ["one"], "b": ["two"]}))
    evolve(("rename_column", "a", "x"), ("rename_column", "b", "a"), ("rename_column", "x", "b"))
    build(columns=["a", "b"])
    # What PyIceberg reads, and what the name mapping says: it now knows both names of both.
    (row,) = load().scan().to_arrow().to_pylist()
    for column, value in row.items():
        expected = ["unknown" if value is None else "maybe"]
        assert verdicts(column, value or "one", [path]) == expected, row


def test_neither_field_ids_nor_a_mapping(tmp_path):
    make_table(commits=0, schema=TWO, spec=ROOT)
    path = path_of(imported(tmp_path, pa.table({"a": ["one"], "b": ["two"]})))
    with load().transaction() as change:
        change.remove_properties("schema.name-mapping.default")
    problem = (
        "no field ids, expected them or a name mapping of the table (schema.name-mapping.default)"
    )
    (file,) = build(columns=["a"]).files
    assert (file.action, file.reason) == ("failed", problem)
    result = outcome("probe", *PLACE, "-c", "a", "-v", "two")
    assert (result.code, result.complaint) == (2, f"{path}: {problem}")


def test_a_field_id_of_two_columns(tmp_path):
    table = make_table(commits=0, schema=TWO, spec=ROOT)
    path = append(a=["one"], b=["two"])
    first = table.schema().as_arrow().field("a")
    schema = pa.schema([first, first.with_name("b")])
    pq.write_table(pa.table({"a": ["one"], "b": ["two"]}, schema=schema), path_of(path))
    table = pb.open_table(NAME, catalog=CATALOG)
    with open_file(path_of(path)) as file, pytest.raises(pb.FormatError) as raised:
        table.names.called(file)
    assert str(raised.value) == f"{path_of(path)}: two columns of field id 1, expected one"


def test_settings_for_writers_have_the_names_of_the_table():
    """Whichever file is read first."""
    schema = Schema(
        NestedField(1, "id", LongType(), required=False),
        NestedField(2, "email", StringType(), required=False),
        NestedField(3, "tags", ListType(4, StringType())),
    )
    make_table(commits=0, schema=schema, spec=ROOT)
    mails = [f"user {number * 7919 % 100_003:06}" for number in range(400)]
    append(id=range(400), email=mails, tags=[[mail] for mail in mails])
    evolve(("rename_column", "email", "mail"))
    report = pb.advise(NAME, table=pb.TableView(catalog=CATALOG)).reports[0]
    for column in ("mail", "tags.element"):
        settings = {
            each.writer: each.text
            for advised in report.columns
            for each in advised.settings
            if advised.column == column
        }
        assert list(settings) == ["pbloom", "Iceberg"]
        command = f"pbloom build {NAME} -c {column} --fpp 0.01 --table iceberg --catalog {CATALOG}"
        assert settings["pbloom"] == f"{command} --all-sizes"
        named = (
            f"SET TBLPROPERTIES ('write.parquet.bloom-filter-enabled.column.{column}' = 'true', "
        )
        assert named in settings["Iceberg"]
    assert "email" not in outcome("advise", *PLACE, "--details").stdout
