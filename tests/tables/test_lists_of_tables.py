"""Lists and maps of tables whose files have other names inside of them: by the table's name, each is one column."""

import json

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from make.commands import outcome
from make.delta_features import mapped_field, mapped_table, parquet_bytes
from make.delta_tables import build
from pyarrow import parquet

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.tables.iceberg.names import NamesById

ROWS = pa.table(
    {
        "id": [1, 2],
        "tags": [["a"], ["b", "c"]],
        "m": pa.array([[("k", "v")], [("l", "w")]], pa.map_(pa.string(), pa.string())),
    }
)
NO_COLUMN = "has none of these columns"
# The table's name, one that others have, and a value.
COLUMNS = [
    ("tags.list.element", "tags.list.item", "b"),
    ("m.key_value.key", "m.entries.key", "l"),
    ("m.key_value.value", "m.entries.value", "w"),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """By deltalake, which writes `list.item` and `entries` into the files of which it makes a table, and the format's
    names into those that it appends."""
    place = tmp_path_factory.mktemp("lake") / "events"
    for _ in range(2):
        write_deltalake(place, ROWS, mode="append")
    stored = {name for path in place.glob("*.parquet") for name in pb.open(path).columns}
    assert {each for pair in COLUMNS for each in pair[:2]} <= stored
    assert build(place, columns=[name for name, _, _ in COLUMNS]).num_filters == 6
    return place


def documents(verb, table, *arguments, code=0):
    result = outcome(verb, table, "--table", "delta", *arguments, "--json")
    assert (result.code, result.stderr) == (code, ""), result
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_summaries_know_one_column(table):
    (summary,) = documents("inspect", table, "--summary")
    found = {each["column"]: (each["files"], each["num_filters"]) for each in summary["columns"]}
    assert found == {"id": (2, 0)} | {name: (2, 2) for name, _, _ in COLUMNS}
    for advice in documents("advise", table):
        assert [each["column"] for each in advice["columns"]] == [*found]


@pytest.mark.parametrize("asked", [0, 1])
@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column[0])
def test_either_name_is_asked_in_all_files(table, column, asked, tmp_path):
    name, value = column[asked], column[2]
    for wanted, verdict in ((value, "maybe"), ("nobody", "absent")):
        answers = documents("probe", table, "-c", name, "-v", wanted, code=verdict == "absent")
        assert [each["results"][0]["verdict"] for each in answers] == [verdict] * 2
    report = pb.find(table, name, [value], table="delta", columns=["id"])
    assert (report.num_rows, report.unknown) == (2, ())
    assert report.values.column("id").to_pylist() == [2, 2]
    documents("validate", table, "--require", name)
    for advice in documents("advise", table, "-c", name):
        assert [each["column"] for each in advice["columns"]] == [column[0]]
    plan = pb.read_plan(table, [(name, "==", "nobody")], table="delta")
    assert (plan.row_groups_left, plan.files_without_column) == (0, 0)
    with pb.Index.build(tmp_path / "index", table, [name], table="delta") as index:
        assert [len(each.files) for each in index.probe(name, [value]).results] == [2]
    repaired = pb.repair_table(table, columns=[name], min_file_size=0)
    for again in (build(table, columns=[name]), repaired):
        assert [each.action for each in again.files] == ["unchanged"] * 2
        assert not any(each.reason == NO_COLUMN for each in again.files)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_columns(tmp_path, mode):
    """The column `tags` has taken the name of another one, which is called `old` by now, and still `tags` in files."""
    names = {"old": "tags", "tags": "col-1"}
    of_text = {"type": "array", "elementType": "string", "containsNull": True}
    fields = [mapped_field(name, of_text, names, at) for at, name in enumerate(names, 1)]
    numbered = [
        pa.field(name, pa.list_(pa.string()), metadata={"PARQUET:field_id": str(at)})
        for at, name in enumerate(names.values(), 1)
    ]
    place = tmp_path / "events"
    data = pa.table([[["x"]], [["y"]]], schema=pa.schema(numbered))
    mapped_table(place, mode, fields, parquet_bytes(data, use_compliant_nested_type=False))
    columns = {"old.list.element": "x", "tags.list.element": "y"}
    assert build(place, columns=[*columns]).num_filters == 2
    table = pb.open_table(place)
    (file,) = table.files()
    with table.open(file) as opened:
        assert opened.columns == tuple(columns)
        for name, value in columns.items():
            for spelled in (name, name.replace("element", "item")):
                assert [each.verdict for each in opened.probe(spelled, value)] == ["maybe"]
                assert [each.verdict for each in opened.probe(spelled, "nobody")] == ["absent"]
    for name, value in columns.items():
        report = pb.find(place, name, [value], table="delta", columns=[name.partition(".")[0]])
        assert report.values.to_pylist() == [{name.partition(".")[0]: [value]}]


@pytest.mark.parametrize("compliant", [True, False])
def test_a_name_mapping_of_iceberg(tmp_path, compliant):
    """By which Spark adds files of older writers, too; PyIceberg takes none with `list.item`."""
    path = tmp_path / "imported.parquet"
    parquet.write_table(ROWS, path, use_compliant_nested_type=compliant)
    mapped = {("id",): 1, ("tags", "element"): 2, ("m", "key"): 3, ("m", "value"): 4}
    names = NamesById({".".join(names): number for names, number in mapped.items()}, mapped)
    with open_file(path) as file:
        assert [*names.called(file).values()] == ["id", "tags.element", "m.key", "m.value"]
