"""The footer: read without loss, edited by splicing, checked against the file."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, SHARED, missing

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.footer import FilterPlace, Footer
from parquet_bloom.parquet.footer.inner_names import BARE_VARIANT, ENTRIES, KEY
from parquet_bloom.parquet.footer.schema import find_column, leaf_columns
from parquet_bloom.parquet.thrift import ttypes

PUBLIC = SHARED / "data" / "parquet-testing"
SAMPLES = sorted(FIXTURES.glob("*.parquet"))


def footer_of(path):
    with open_file(path) as file:
        return file.footer


def without_filters(metadata):
    """Every number that pyarrow reads, but for the filters'."""
    described = metadata.to_dict()
    for group in described["row_groups"]:
        for column in group["columns"]:
            column.pop("bloom_filter_offset", None)
            column.pop("bloom_filter_length", None)
            column["has_bloom_filter"] = None
    described.pop("serialized_size")
    return str(described)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_agrees_with_pyarrow(path):
    footer, metadata = footer_of(path), pq.read_metadata(path)
    assert footer.created_by == metadata.created_by
    assert footer.num_rows == metadata.num_rows
    assert footer.num_row_groups == metadata.num_row_groups
    assert [leaf.name for leaf in footer.leaves] == [
        metadata.schema.column(index).path for index in range(metadata.num_columns)
    ]
    for index, leaf in enumerate(footer.leaves):
        column = metadata.schema.column(index)
        assert leaf.type.physical == column.physical_type
        assert leaf.max_definition_level == column.max_definition_level
        assert leaf.max_repetition_level == column.max_repetition_level
        for group in range(footer.num_row_groups):
            chunk, other = footer.chunk(group, leaf), metadata.row_group(group).column(index)
            assert chunk.num_values == other.num_values
            assert chunk.data_page_offset == other.data_page_offset
            assert chunk.total_compressed_size == other.total_compressed_size
            assert chunk.bloom_filter_offset == other.bloom_filter_offset
            assert chunk.bloom_filter_length == other.bloom_filter_length


@pytest.mark.parametrize("offset", [0, 4, 127, 2**31 - 1, 2**31, 2**32, 2**40, 2**62])
def test_an_edit_changes_two_fields_of_one_chunk_and_nothing_else(offset):
    footer = footer_of(FIXTURES / "pyarrow_types.parquet")
    place = FilterPlace(offset, 2**31 - 1)
    edited = Footer(footer.with_filters({(1, 3): place}), footer.start, "edited")
    assert edited.chunk(1, edited.leaves[3]).bloom_filter_offset == offset
    assert edited.chunk(1, edited.leaves[3]).bloom_filter_length == 2**31 - 1
    start, end = (footer.chunks.one(field, 1, 3) for field in ("meta_start", "meta_end"))
    edited_end = edited.chunks.one("meta_end", 1, 3)
    grown = len(edited.raw) - len(footer.raw)
    assert edited.raw[:start] == footer.raw[:start]
    assert edited.raw[edited_end:] == footer.raw[end:]
    assert edited_end == end + grown
    assert edited.with_filters({(1, 3): None}) == footer.raw


def test_a_generated_struct_reads_what_was_spliced():
    footer = footer_of(FIXTURES / "pyarrow_types.parquet")
    every = {
        (group, leaf.index): FilterPlace(10**10 * group + leaf.index, 47)
        for group in range(footer.num_row_groups)
        for leaf in footer.leaves
    }
    decoded, _ = compact.decode(ttypes.FileMetaData, footer.with_filters(every))
    for group, row_group in enumerate(decoded.row_groups):
        for index, column in enumerate(row_group.columns):
            assert column.meta_data.bloom_filter_offset == 10**10 * group + index
            assert column.meta_data.bloom_filter_length == 47


@pytest.mark.parametrize(
    "name", ["unknown-logical-type.parquet", "column_chunk_key_value_metadata.parquet"]
)
def test_unknown_fields_survive(name, tmp_path):
    """Files whose footers lose bytes when they go through generated structs."""
    if not PUBLIC.exists():
        missing("../shared/data/parquet-testing")
    footer = footer_of(PUBLIC / name)
    place = {(0, 0): FilterPlace(4, 47)}
    edited = footer.with_filters(place)
    assert len(edited) == len(footer.raw) + 4
    assert Footer(edited, footer.start, name).with_filters({(0, 0): None}) == footer.raw


def test_what_lies_where():
    """Pages and page indexes are occupied; the gap before the footer is not."""
    footer = footer_of(FIXTURES / "pyarrow_types.parquet")
    chunk = footer.chunk(0, footer.leaves[0])
    end = chunk.pages_start + chunk.total_compressed_size
    assert footer.layout.overlaps_data(0, 4)
    assert footer.layout.overlaps_data(chunk.pages_start, chunk.pages_start + 1)
    assert footer.layout.overlaps_data(end - 1, end)
    assert footer.layout.overlaps_data(footer.start - 1, footer.start + 1)
    last = max(
        start + length
        for field, size in [
            ("data_page_offset", "total_compressed_size"),
            ("offset_index_offset", "offset_index_length"),
            ("column_index_offset", "column_index_length"),
        ]
        for start, length in zip(footer.chunks.every(field), footer.chunks.every(size), strict=True)
    )
    assert not footer.layout.overlaps_data(last, footer.start)


def element(name, **fields):
    return ttypes.SchemaElement(**{"name": name, "repetition_type": 0} | fields)


def test_levels_count_optional_and_repeated_steps():
    optional, repeated, required = 1, 2, 0
    leaves = leaf_columns(
        [
            element("root", num_children=2),
            element("a", num_children=1, repetition_type=optional),
            element("list", num_children=1, repetition_type=repeated),
            element("b", type=1, repetition_type=optional),
            element("c", type=6, repetition_type=required),
        ]
    )
    assert [
        (leaf.name, leaf.max_definition_level, leaf.max_repetition_level) for leaf in leaves
    ] == [("a.list.b", 3, 1), ("c", 0, 0)]


@pytest.mark.parametrize(
    "annotation",
    [
        {"logicalType": ttypes.LogicalType(MAP=ttypes.MapType()), "converted_type": 1},
        {"converted_type": 1},
        {"converted_type": 2},
    ],
)
def test_groups_tell_the_keys_of_a_map_from_its_values(annotation):
    """Also those of writers who annotated the map as MAP_KEY_VALUE."""
    leaves = leaf_columns(
        [
            element("root", num_children=2),
            element("m", num_children=1, repetition_type=1, **annotation),
            element("map", num_children=2, repetition_type=2, converted_type=2),
            element("k", num_children=1, repetition_type=0),
            element("part", type=1, repetition_type=0),
            element("v", type=1, repetition_type=1),
            element("c", type=6, repetition_type=0),
        ]
    )
    assert [leaf.groups for leaf in leaves] == [
        ("MAP", ENTRIES, KEY, ""),
        ("MAP", ENTRIES, ""),
        ("",),
    ]


@pytest.mark.parametrize(
    ("names", "is_variant"),
    [
        (["metadata", "value", "typed_value"], True),
        (["value", "metadata", "typed_value"], True),
        (["metadata", "typed_value"], True),
        (["value", "typed_value"], False),
        (["metadata", "value", "b"], False),
        (["metadata", "value"], False),
        (["typed_value"], False),
        (["metadata", "value", "b", "typed_value"], False),
        ([], False),
    ],
)
def test_a_variant_without_annotation_is_known_by_its_form(names, is_variant):
    """As Spark writes it with spark.sql.parquet.variant.annotateLogicalType.enabled=false."""
    leaves = leaf_columns(
        [
            element("root", num_children=2),
            element("v", num_children=len(names), repetition_type=1),
            *(element(name, type=6, repetition_type=1) for name in names),
            element("c", type=6, repetition_type=0),
        ]
    )
    expected = (BARE_VARIANT if is_variant else "", "")
    assert [leaf.groups for leaf in leaves] == [*[expected] * len(names), ("",)]


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        ([], "schema: empty"),
        ([element("root", num_children=2), element("a", type=1)], "ends inside a group"),
        ([element("root", num_children=0), element("a", type=1)], "2 elements, expected 1"),
        ([element("root", num_children=1), element("a", type=99)], "unknown physical type 99"),
        (
            [element("root", num_children=1), element("a", type=7, type_length=-1)],
            "type_length -1 is negative",
        ),
        ([element("root", num_children=1)] + [element("g", num_children=1)] * 600, "nested deeper"),
    ],
)
def test_schemas_that_are_no_tree(elements, message):
    with pytest.raises(pb.FooterError, match=message):
        leaf_columns(elements)


CONVERTED = [
    (6, 0, "STRING"), (6, 4, "ENUM"), (6, 19, "JSON"), (6, 20, "BSON"), (1, 6, "DATE"),
    (1, 7, "TIME(MILLIS,true)"), (2, 8, "TIME(MICROS,true)"), (2, 9, "TIMESTAMP(MILLIS,true)"),
    (2, 10, "TIMESTAMP(MICROS,true)"), (1, 11, "INTEGER(8,false)"), (2, 14, "INTEGER(64,false)"),
    (1, 15, "INTEGER(8,true)"), (2, 18, "INTEGER(64,true)"), (7, 21, "INTERVAL"),
]  # fmt: skip


@pytest.mark.parametrize(("physical", "converted", "spelling"), CONVERTED)
def test_the_older_annotations(physical, converted, spelling):
    length = 12 if physical == 7 else None
    leaf = element("a", type=physical, type_length=length, converted_type=converted)
    (column,) = leaf_columns([element("root", num_children=1), leaf])
    assert str(column.type.logical) == spelling


@pytest.mark.parametrize(
    ("physical", "length", "annotation"),
    [
        (7, 3, {"FLOAT16": ttypes.Float16Type()}),
        (3, None, {"FLOAT16": ttypes.Float16Type()}),
        (7, 15, {"UUID": ttypes.UUIDType()}),
        (2, None, {"DATE": ttypes.DateType()}),
        (1, None, {"INTEGER": ttypes.IntType(bitWidth=64, isSigned=True)}),
        (4, None, {"DECIMAL": ttypes.DecimalType(precision=3, scale=1)}),
        (6, None, {"DECIMAL": ttypes.DecimalType(precision=0, scale=0)}),
    ],
)
def test_annotations_that_do_not_fit_are_ignored(physical, length, annotation):
    leaf = element(
        "a", type=physical, type_length=length, logicalType=ttypes.LogicalType(**annotation)
    )
    (column,) = leaf_columns([element("root", num_children=1), leaf])
    assert column.type.logical is None


def test_an_older_decimal_takes_precision_and_scale_from_the_element():
    (leaf,) = leaf_columns(
        [
            element("root", num_children=1),
            element("a", type=7, type_length=5, converted_type=5, precision=9, scale=2),
        ]
    )
    assert str(leaf.type) == "FIXED_LEN_BYTE_ARRAY(5) DECIMAL(9,2)"


def columns_named(*names):
    return leaf_columns(
        [element("root", num_children=len(names)), *(element(name, type=1) for name in names)]
    )


@pytest.mark.parametrize(
    ("names", "wanted", "message"),
    [
        (["user_id", "b"], "userid", r"^no column userid; did you mean user_id\?$"),
        (["x", "y"], "quite_else", "the file has x, y"),
        # On the same path, but for what stands in it for a list; and what it would be in.
        (
            ["user_id", "user.list.element.id"],
            "user.id",
            r" mean user\.list\.element\.id, user_id\?$",
        ),
        (["user_id", "user"], "User.id", r" mean user, user_id\?$"),
        (["user.x.id", "user.id"], "user.ID", r" mean user\.id\?$"),
        (
            ["a", "a"],
            "a",
            r"column a: 2 leaf columns have this path, expected one by its index: #0, #1$",
        ),
        (["a", "b"], "#2", "^column #2: expected an index up to 1$"),
        (["a", "b"], "#x", "^no column #x; the file has a, b$"),
        # Flat, with a dot in the name.
        (["a.b", "c"], "a", r"^no column a; did you mean a\.b\?$"),
    ],
)
def test_columns_that_are_not_there(names, wanted, message):
    with pytest.raises(pb.ColumnError, match=message):
        find_column(columns_named(*names), wanted)


@pytest.mark.parametrize(
    ("names", "such_as"), [(["b", "c"], "a.b, a.c"), (["b,c", "d"], '"a.b,c", a.d')]
)
def test_a_group_is_no_column(names, such_as):
    group = element("a", num_children=len(names))
    members = [element(name, type=1) for name in names]
    columns = leaf_columns([element("root", num_children=1), group, *members])
    with pytest.raises(pb.ColumnError) as caught:
        find_column(columns, "a")
    assert str(caught.value) == f"column a: a group, expected a leaf column such as {such_as}"


def test_a_hundred_thousand_chunks_are_scanned_without_decoding(monkeypatch):
    """Wide files: nothing but the schema goes through generated structs."""
    footer = footer_of(FIXTURES / "pyarrow_types.parquet")
    monkeypatch.setattr("parquet_bloom.parquet.footer.schema._latest", [(b"", ())])
    decoded = []
    original = compact.decode
    monkeypatch.setattr(
        compact, "decode", lambda kind, *rest: (decoded.append(kind), original(kind, *rest))[1]
    )
    copy = Footer(footer.raw, footer.start, "copy")
    assert copy.chunks.every("bloom_filter_offset") == footer.chunks.every("bloom_filter_offset")
    assert set(decoded) == {ttypes.SchemaElement}


@pytest.mark.parametrize(("length", "is_kept"), [(100, True), (100_000, False)])
def test_the_schema_that_the_next_file_may_have_is_decoded_once(tmp_path, length, is_kept):
    """A long one would take memory that the next file may want."""
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"a" * length: [1]}), path)
    first, second = footer_of(path).leaves, footer_of(path).leaves
    assert first == second
    assert (first is second) == is_kept
    assert [leaf.name for leaf in footer_of(FIXTURES / "pyarrow_pages_v1.parquet").leaves] != [
        leaf.name for leaf in first
    ]


def test_metadata_as_pyarrow_reads_it_is_the_same_but_for_the_filters(tmp_path):
    for path in SAMPLES:
        out = tmp_path / path.name
        with pb.open(path) as file:
            pb.build(path, out, columns=file.columns, existing="replace")
        assert without_filters(pq.read_metadata(out)) == without_filters(pq.read_metadata(path))
