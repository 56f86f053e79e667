"""Columns of tables that map them: by id, whatever files call them; and names that several have."""

import shlex
import shutil

import pyarrow as pa
import pytest
from make.commands import outcome
from make.delta_features import mapped_field, mapped_table, parquet_bytes
from make.delta_tables import build
from make.footers import edited
from make.variant import shredded

import parquet_bloom as pb


def numbered(name, number, kind=None):
    return pa.field(name, kind or pa.string(), metadata={"PARQUET:field_id": str(number)})


def table_of(folder, mode, fields, data):
    """A table of one file."""
    return mapped_table(folder, mode, fields, parquet_bytes(data))


@pytest.fixture
def swapped(tmp_path):
    """A table whose file calls `a` what is `b` by now, and the other way around, as tables that Iceberg
    has written before can have; and the like inside of a struct, of a list and of a map."""
    names = {name: name for name in ("a", "b", "who", "x", "y", "tags", "pairs", "late")}
    inner = {
        "type": "struct",
        "fields": [mapped_field("x", "string", names, 5), mapped_field("y", "string", names, 4)],
    }
    tags = {"type": "array", "elementType": inner, "containsNull": True}
    pairs = {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True}
    fields = [
        mapped_field("b", "string", names, 1),
        mapped_field("a", "string", names, 2),
        mapped_field("tags", tags, names, 6),
        mapped_field("pairs", pairs, names, 7),
        mapped_field("late", "string", names, 8),
    ]
    element = numbered("element", 99, pa.struct([numbered("x", 4), numbered("y", 5)]))
    schema = pa.schema(
        [
            numbered("a", 1),
            numbered("b", 2),
            numbered("tags", 6, pa.list_(element)),
            numbered("couples", 7, pa.map_(pa.string(), pa.string())),
            numbered("gone", 9),
        ]
    )
    row = {
        "a": "is b",
        "b": "is a",
        "tags": [{"x": "is y", "y": "is x"}],
        "couples": [("a key", "a value")],
        "gone": "nothing",
    }
    return table_of(
        tmp_path / "events", "id", fields, pa.Table.from_pylist([row] * 9, schema=schema)
    )


STORED = {
    "a": "is a",
    "b": "is b",
    "tags.list.element.x": "is x",
    "tags.list.element.y": "is y",
    "pairs.key_value.key": "a key",
    "pairs.key_value.value": "a value",
}


@pytest.mark.parametrize("column", STORED)
def test_columns_are_found_by_their_ids(swapped, column):
    assert build(swapped, columns=[column]).num_filters == 1
    table = pb.open_table(swapped)
    (file,) = table.files()
    with table.open(file) as opened:
        assert {*opened.columns} == STORED.keys()
        for value in STORED.values():
            (answer,) = opened.probe(column, value)
            assert answer.verdict == ("maybe" if value == STORED[column] else "absent")
    with table.open_file(file) as opened:
        assert opened.lacks("late")


def test_a_file_without_ids_is_not_read_by_its_names(tmp_path):
    names = {"a": "a"}
    data = pa.table({"a": ["x"]})
    table = table_of(tmp_path / "events", "id", [mapped_field("a", "string", names, 1)], data)
    (file,) = build(table, columns=["a"]).files
    assert (file.action, file.reason) == (
        "failed",
        "no field ids, expected them in a table whose delta.columnMapping.mode is id",
    )


def test_a_file_of_two_columns_with_one_id_fails(tmp_path):
    data = pa.table([["x"], ["y"]], schema=pa.schema([numbered("a", 1), numbered("b", 1)]))
    names = {"a": "a"}
    table = table_of(tmp_path / "events", "id", [mapped_field("a", "string", names, 1)], data)
    (file,) = build(table, columns=["a"]).files
    assert (file.action, file.reason) == ("failed", "two columns of the ids of a, expected one")


@pytest.mark.parametrize("mode", ["name", "id", "none"])
def test_a_name_of_two_columns_is_no_columns(tmp_path, mode):
    """A dot can be part of a name."""
    names = (
        {"a.b": "p", "a": "q", "b": "r"} if mode != "none" else {"a.b": "a.b", "a": "a", "b": "b"}
    )
    inner = {"type": "struct", "fields": [mapped_field("b", "string", names, 3)]}
    fields = [mapped_field("a.b", "string", names, 1), mapped_field("a", inner, names, 2)]
    schema = pa.schema(
        [numbered(names["a.b"], 1), numbered(names["a"], 2, pa.struct([numbered(names["b"], 3)]))]
    )
    data = pa.table([["one"], [{names["b"]: "two"}]], schema=schema)
    place = table_of(tmp_path / "events", mode, fields, data)
    with pytest.raises(pb.ColumnError) as raised:
        build(place, columns=["a.b"])
    assert str(raised.value) == f"{place}: column a.b: several columns have this name, expected one"
    table = pb.open_table(place)
    (file,) = table.files()
    with table.open(file) as opened, pytest.raises(pb.ColumnError) as raised:
        opened.probe("a.b", "one")
    assert str(raised.value) == (
        f"{file.path}: column a.b: 2 leaf columns have this path, expected one by its index: #0, #1"
    )


@pytest.mark.parametrize("mode", ["name", "id", "none"])
def test_fields_of_a_variant(tmp_path, mode):
    """Of which only files know: 40 is in the first row group, and one value of the last is not shredded."""
    groups = [[(0, 40), (1, 41)], [(2, 42), (3, 43)], [(4, 44), (5, "text")]]
    names = {"n": "col-n", "v": "col-v"} if mode != "none" else {"n": "n", "v": "v"}

    def rename(footer):
        for number, name in enumerate(names, 1):
            (element,) = (each for each in footer.schema if each.name == name)
            element.name, element.field_id = names[name], number
        for chunk in (chunk for group in footer.row_groups for chunk in group.columns):
            path = chunk.meta_data.path_in_schema
            path[0] = names[path[0]]

    fields = [mapped_field("n", "integer", names, 1), mapped_field("v", "variant", names, 2)]
    features = ["variantType", "variantShredding", "columnMapping"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
    protocol |= {"readerFeatures": features, "writerFeatures": features}
    data = edited(shredded(groups), rename)
    place = mapped_table(tmp_path / "events", mode, fields, data, protocol)
    assert build(place, columns=["v:a"]).num_filters == 3
    table = pb.open_table(place)
    (file,) = table.files()
    with table.open(file) as opened:
        found = [(each.verdict, each.reason) for each in opened.probe("v:a", 42)]
    assert found == [
        ("absent", None),
        ("maybe", None),
        ("maybe", "1 value of the field is not shredded"),
    ]
    for lacking in ("v:b", "n:a"):
        (file,) = build(place, columns=[lacking]).files
        assert (file.action, file.reason) == ("unchanged", "has none of these columns")
    assert build(place, columns=["v"], existing="replace").num_filters == 3


@pytest.fixture
def mapped(tmp_path):
    """A table of one file, which calls `user_id` otherwise."""
    names = {"user_id": "col-5bc8"}
    values = [f"user {number * 7919 % 100_003:06}" for number in range(400)]
    fields = [mapped_field("user_id", "string", names, 1)]
    data = parquet_bytes(pa.table({"col-5bc8": values}), row_group_size=100)
    return mapped_table(tmp_path / "events", "name", fields, data)


def test_settings_for_writers_have_the_names_of_the_table(mapped):
    command = f"pbloom build {mapped} -c user_id --fpp 0.01 --table delta"
    (advised,) = pb.advise(mapped, table="delta").reports[0].columns
    (settings,) = advised.settings
    assert (settings.writer, settings.text) == ("pbloom", f"{command} --all-sizes")
    said = outcome("advise", mapped, "--table", "delta", "--details").stdout
    assert "col-5bc8" not in said
    assert f"\n  pbloom:\n    {command} --all-sizes\n" in said
    assert outcome(*shlex.split(settings.text)[1:]).code == 0
    older = outcome("advise", mapped, "--table", "delta", "--version", "0", "--details").stdout
    assert "pbloom:\n" not in older


def test_pages_have_the_names_of_the_table(mapped, tmp_path):
    assert outcome("report", mapped, "--table", "delta", "-o", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    assert f"pbloom build {mapped} -c user_id --fpp 0.01 --table delta --all-sizes" in page
    assert "col-5bc8" not in page
    assert "-o out.parquet" not in page


def test_settings_of_several_tables_name_none_of_them(mapped, tmp_path):
    other = shutil.copytree(mapped, tmp_path / "other")
    (report,) = pb.advise([mapped, other], table="delta").reports
    (settings,) = report.columns[0].settings
    assert settings.text == "pbloom build TABLE -c user_id --fpp 0.01 --table delta --all-sizes"


def test_a_file_by_itself_leads_to_the_table_that_has_named_its_columns(tmp_path):
    path = tmp_path / "part-0.parquet"
    name = "col-5bc8a3f0-7f0e-4c55-9d1b-0123456789ab"
    path.write_bytes(parquet_bytes(pa.table({name: [1, 2], "n": [1, 2]})))
    told = outcome("probe", path, "-c", "user_id", "-v", "1").complaint
    assert told == (
        f"{path}: no column user_id; the file has {name}, n; a Delta table has given its columns such names:"
        " --table delta, with the table's folder, takes those that it shows"
    )
