"""Columns in lists and maps: one name for each, whatever their writers have called the inside of these."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome

import parquet_bloom as pb
from parquet_bloom.parquet.footer.schema import find_column, leaf_columns
from parquet_bloom.parquet.thrift import ttypes

OPTIONAL, REPEATED = 1, 2
LIST, MAP = 3, 1


def group(name, *below, repetition=OPTIONAL, kind=None):
    annotation = {"converted_type" if isinstance(kind, int) else "logicalType": kind}
    first = ttypes.SchemaElement(
        name=name, repetition_type=repetition, num_children=len(below), **annotation
    )
    return [first, *(element for each in below for element in each)]


def value(name, repetition=OPTIONAL):
    return [ttypes.SchemaElement(name=name, type=6, repetition_type=repetition)]


def repeated(name, *below):
    return group(name, *below, repetition=REPEATED)


def leaves_of(*fields):
    return leaf_columns(group("root", *fields))


def found(leaves, name):
    try:
        return find_column(leaves, name).dotted
    except pb.ColumnError:
        return None


SPELLINGS = ["tags.list.element", "tags.list.item", "tags.bag.array_element", "tags.bag.array"]


@pytest.mark.parametrize("stored", [*SPELLINGS, "tags.what.ever"])
@pytest.mark.parametrize("asked", SPELLINGS)
def test_an_element_of_a_list(stored, asked):
    tags, around, inner = stored.split(".")
    leaves = leaves_of(value("id"), group(tags, repeated(around, value(inner)), kind=LIST))
    assert leaves[1].standard == ("tags", "list", "element")
    assert found(leaves, asked) == found(leaves, stored) == stored
    assert found(leaves, "tags") is found(leaves, "tags.element") is None
    assert found(leaves, "tags.some.thing") is None


@pytest.mark.parametrize(
    ("around", "key", "inner"),
    [
        ("key_value", "key", "value"),
        ("map", "key", "value"),
        ("entries", "keys", "values"),
        ("a", "b", "c"),
    ],
)
def test_an_entry_of_a_map(around, key, inner):
    leaves = leaves_of(group("m", repeated(around, value(key), value(inner)), kind=MAP))
    assert [leaf.standard for leaf in leaves] == [
        ("m", "key_value", "key"),
        ("m", "key_value", "value"),
    ]
    for name in ("m.key_value.key", "m.map.key", "m.entries.keys"):
        assert found(leaves, name) == f"m.{around}.{key}"
    for name in ("m.key_value.value", "m.map.value", "m.entries.values"):
        assert found(leaves, name) == f"m.{around}.{inner}"


def test_lists_in_lists_and_structs():
    inner = group("item", repeated("list", group("item", value("list"), value("item"))), kind=LIST)
    leaves = leaves_of(group("s", group("a", repeated("list", inner), kind=LIST)))
    assert [".".join(leaf.standard) for leaf in leaves] == [
        "s.a.list.element.list.element.list",
        "s.a.list.element.list.element.item",
    ]
    # The last ones are fields of a struct.
    assert found(leaves, "s.a.list.element.list.item.item") == leaves[1].dotted
    assert found(leaves, "s.a.list.element.list.item.element") is None


@pytest.mark.parametrize(
    "field",
    [
        # A struct with fields of these names, and lists in which what repeats is the element itself.
        group("tags", group("list", value("item"))),
        group("tags", repeated("list", value("item"))),
        group("tags", group("list", value("item")), kind=LIST),
        group("tags", repeated("list", value("item"), value("other")), kind=LIST),
        group("tags", repeated("list", value("item", REPEATED)), kind=LIST),
        group("tags", repeated("array", value("item")), kind=LIST),
        group("tags", repeated("tags_tuple", value("item")), kind=LIST),
        group("tags", value("list", REPEATED), kind=LIST),
    ],
)
def test_what_is_no_list_of_three_levels_has_its_own_names(field):
    leaves = leaves_of(field)
    assert leaves[0].standard == leaves[0].path
    assert found(leaves, leaves[0].dotted) == leaves[0].dotted
    assert found(leaves, "tags.list.element") is None


def test_a_name_of_its_own_comes_first_and_one_of_two_is_none():
    own = group("tags", repeated("list", value("item")), kind=LIST)
    other = group("tags", repeated("bag", value("array")), kind=LIST)
    leaves = leaves_of(own, other)
    assert found(leaves, "tags.list.item") == "tags.list.item"
    assert found(leaves, "tags.bag.array") == "tags.bag.array"
    assert found(leaves, "tags.list.element") is None


def test_names_with_dots_are_no_way_into_a_list():
    leaves = leaves_of(group("a.b", repeated("list", value("item")), kind=LIST))
    assert found(leaves, "a.b.list.item") == "a.b.list.item"
    assert found(leaves, "a.list.element") is None


def test_the_inside_of_a_variant_keeps_its_names():
    array = group("typed_value", repeated("list", value("item")), kind=LIST)
    (leaf,) = leaves_of(group("v", array, kind=ttypes.LogicalType(VARIANT=ttypes.VariantType())))
    assert leaf.standard == leaf.path
    assert found([leaf], "v.typed_value.list.element") is None


# ------------------------------------------------------------------------------------------------
# A folder of files of two writers

ASKED = ["tags.list.element", "tags.list.item"]


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "lake"
    folder.mkdir()
    rows = pa.table({"id": [1, 2], "tags": [["a"], ["b", "c"]]})
    for name, compliant in (("old", False), ("new", True)):
        pq.write_table(rows, folder / f"{name}.parquet", use_compliant_nested_type=compliant)
    return folder


@pytest.mark.parametrize("column", ASKED)
def test_all_files_of_a_folder_have_the_column(lake, column, tmp_path):
    built = outcome("build", lake, "-c", column, "--in-place")
    assert (built.code, built.stderr) == (0, "")
    for other in ASKED:
        reports = [pb.probe(path, other, "nobody") for path in sorted(lake.iterdir())]
        assert [report.results[0].verdict for report in reports] == ["absent", "absent"]
        report = pb.find(lake, other, ["b"], columns=["id"])
        assert (report.num_rows, report.unknown) == (2, ())
        plan = pb.read_plan(lake, [(other, "==", "b")])
        assert "without a column" not in repr(plan)
    with pb.Index.build(tmp_path / "index", lake, [column]) as index:
        assert [len(answer.files) for answer in index.probe(column, ["b"]).results] == [2]


@pytest.mark.parametrize("column", ASKED)
def test_a_policy_is_for_the_column_in_all_files(lake, column):
    """Also what only settings of the column's own say, and that a filter which is required is not to be taken away."""
    outcome("build", lake, "-c", column, "--in-place")
    said = outcome("validate", lake, "--require", column)
    assert said.code == 0
    assert "pbloom strip" not in said.stdout
    config = lake.parent / "pbloom.toml"
    config.write_text(f'[validate.columns."{column}"]\nmax-bytes = 8\n')
    said = outcome("validate", lake, "--config", config, "--json")
    assert said.stdout.count("PB312") == 2
    assert said.stderr == ""
