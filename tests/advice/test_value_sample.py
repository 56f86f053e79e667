"""Look-up values from a file."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.advice.samples import read_value_sample


def sample(tmp_path, text, *columns):
    path = tmp_path / "values.txt"
    path.write_text(text, encoding="utf-8", newline="")
    return read_value_sample(path, columns)


@pytest.mark.parametrize("text", ["1\n2\n2\n", "1\r\n2\r\n2", "1\n2\n2"])
def test_one_column_has_a_value_on_each_line(tmp_path, text):
    assert sample(tmp_path, text, "a") == {"a": ["1", "2", "2"]}


def test_a_line_is_a_value_as_it_is(tmp_path):
    text = 'a,b\n"x"\n\nü\n \none\u2028line\x0b\x85\n\n'
    assert sample(tmp_path, text, "s") == {"s": ["a,b", '"x"', "ü", " ", "one\u2028line\x0b\x85"]}


def test_several_columns_are_csv(tmp_path):
    text = 'a,"b,c"\n1,x\n,"y,\nz"\n2\n'
    assert sample(tmp_path, text) == {"a": ["1", "2"], "b,c": ["x", "y,\nz"]}
    assert sample(tmp_path, text, "a", "b,c") == sample(tmp_path, text)


def test_a_byte_order_mark_is_no_text(tmp_path):
    assert sample(tmp_path, "\ufeff1\r\n2\r\n", "a") == {"a": ["1", "2"]}
    assert sample(tmp_path, "\ufeffa,b\r\n1,2\r\n") == {"a": ["1"], "b": ["2"]}


def test_a_column_without_a_name_is_left_out(tmp_path):
    """Such as the index that pandas writes."""
    assert sample(tmp_path, ",a\n0,7\n1,8\n") == {"a": ["7", "8"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected the names of columns"),
        ("a\n1,2\n", "line 2: more cells than columns in line 1"),
        ("a,b,a\n1,2,3\n", "line 1: a column is named twice"),
    ],
)
def test_what_is_no_table_is_an_error(tmp_path, text, message):
    with pytest.raises(pb.ColumnError, match=f"^{tmp_path}/values.txt: {message}$"):
        sample(tmp_path, text)


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.txt", "a\n1\n1\n", ["1", "1"]),
        ("a", '"a"\r\n1\r\n', ["1"]),
        ("a.txt", "n,a\n7,1\n8,2\n", ["1", "2"]),
        ("a.csv", "n,a\n7,1\n8,2\n", ["1", "2"]),
        ("A.TSV", "n\ta\n7\t1,5\n", ["1,5"]),
        # Of other columns.
        ("a.txt", "n\n1\n", ["n", "1"]),
    ],
)
def test_a_header_with_the_one_column_is_no_value(tmp_path, name, text, found):
    """The same file is of use with and without --column."""
    path = tmp_path / name
    path.write_text(text, newline="")
    assert read_value_sample(path, ["a"]) == {"a": found}


def test_what_is_called_csv_has_a_header(tmp_path):
    path = tmp_path / "values.csv"
    path.write_text("17\n18\n")
    with pytest.raises(pb.ColumnError) as found:
        read_value_sample(path, ["a"])
    assert str(found.value) == (
        f"{path}: line 1: 17: expected names of a; if it is a value, do not call the file .csv"
    )


def test_a_list_of_values_has_no_header(tmp_path):
    """Which says nothing about its first value."""
    with pytest.raises(pb.ColumnError, match=r"values.txt: line 1: 17: expected names of a, b$"):
        sample(tmp_path, "17\n18\n", "a", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a\n"1\n', "expected CSV: unexpected end of data"),
        ("a,b\n1,\n2,\n", "no values for column b, expected at least one"),
        ("a\n", "no values for column a, expected at least one"),
    ],
)
def test_what_has_no_values_is_an_error(tmp_path, text, message):
    with pytest.raises(pb.ValueTypeError, match=f"^{tmp_path}/values.txt: {message}$"):
        sample(tmp_path, text)


@pytest.mark.parametrize("text", ["", "\n\r\n"])
def test_an_empty_file_is_no_sample(tmp_path, text):
    with pytest.raises(pb.ValueTypeError, match=r"no values for column a, expected at least one$"):
        sample(tmp_path, text, "a")


@pytest.mark.parametrize("columns", [(), ("a",)])
def test_bytes_that_are_no_text_are_an_error(tmp_path, columns):
    path = tmp_path / "values.txt"
    path.write_bytes(b"a\n1\n\xff\xfe\n")
    with pytest.raises(pb.ValueTypeError, match=f"^{path}: byte 4: expected UTF-8$"):
        read_value_sample(path, columns)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.parquet"
    values = [(row * 7919) % 40_000 for row in range(40_000)]
    pq.write_table(pa.table({"a": values}), path, row_group_size=4000, use_dictionary=False)
    return path


def test_the_command_measures_with_the_values_of_the_file(tmp_path, table):
    (tmp_path / "ids").write_text("17\n20000\n123456\n")
    result = outcome("advise", table, "-c", "a", "--value-sample", tmp_path / "ids", "--json")
    report = json.loads(result.stdout)
    (column,) = report["columns"]
    assert (result.code, report["recommended"]) == (0, ["a"])
    assert (column["basis"], column["values_asked"], column["values_stored"]) == (
        "value sample", 3, 2,
    )  # fmt: skip
    # Two of three are in one of ten row groups each, and min/max excludes the third.
    assert column["row_groups_statistics"] == pytest.approx(20 / 3, abs=0.1)
    assert column["row_groups_filter"] == pytest.approx(2 / 3, abs=0.1)


def test_the_command_says_what_is_wrong_with_the_sample(tmp_path, table):
    (tmp_path / "ids").write_text("seventeen\n")
    result = outcome("advise", table, "-c", "a", "--value-sample", tmp_path / "ids")
    assert result.code == 2
    assert "value sample: column a: seventeen: cannot be a value of INT64" in result.complaint
    result = outcome("advise", table, "-c", "a", "--value-sample", tmp_path / "none")
    assert (result.code, result.complaint) == (2, f"{tmp_path}/none: No such file or directory")


def test_the_command_says_what_the_first_line_is_taken_for(tmp_path, table):
    list_of_values, with_header = tmp_path / "values", tmp_path / "with_header"
    list_of_values.write_text("17\n18\n")
    with_header.write_text("a\n17\n")
    taken_for_names = outcome("advise", table, "--value-sample", list_of_values)
    assert taken_for_names.complaint == (
        f"{table}: value sample: no column 17; the file has a; line 1 was read as names of columns; with one --column,"
        " each line is a value of it"
    )
    assert outcome("advise", table, "-c", "a", "--value-sample", with_header).code == 0
    assert outcome("advise", table, "--value-sample", with_header).code == 0
    with_header.write_text("id\n17\n")
    taken_for_a_value = outcome("advise", table, "-c", "a", "--value-sample", with_header)
    assert taken_for_a_value.complaint == (
        f"{table}: value sample: column a: id: cannot be a value of INT64: expected an integer; if this is a header,"
        " it is not the name of the column"
    )
    assert (taken_for_names.code, taken_for_a_value.code) == (2, 2)


def test_auto_builds_what_is_recommended(tmp_path, table):
    output = tmp_path / "out.parquet"
    assert outcome("build", table, "--auto", "-o", output).code == 0
    assert len(pb.inspect(output).row_groups[0].columns) == 1
    assert pb.inspect(output).filter_bytes > 0
    assert pb.validate(output).ok
    assert outcome("build", table, "--auto", "-c", "a", "-o", output).code == 2
    assert outcome("build", table, "-o", output).code == 2


def test_details_name_engines_and_writers(table):
    text = outcome("advise", table, "--details").stdout
    for name in ("used by Spark", "not used by pyarrow:", "DataFusion:", "Iceberg:", "DuckDB:"):
        assert f"  {name}" in text
    assert f"pbloom build {table} -c a --fpp 0.01 -o out.parquet" in text


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_an_integer_of_too_many_bits_is_nowhere(tmp_path, form):
    path, rows = tmp_path / f"a.{form}", 40_000
    table = pa.table({"id": pa.array([row * 7919 % rows for row in range(rows)], pa.int32())})
    if form == "orc":
        orc.write_table(table, path)
    else:
        pq.write_table(table, path, row_group_size=rows // 4)
    asked = {}
    for name, values in {
        "one": [7],
        "more": [7, 1 << 40, 1 << 70, pb.literal("-5000000000")],
    }.items():
        (asked[name],) = pb.advise(path, value_sample={"id": values}).columns
    one, more = asked["one"], asked["more"]
    assert (one.values_asked, one.values_stored) == (1, 1)
    assert (more.values_asked, more.values_stored) == (4, 1)
    # Neither statistics nor filters leave anything to read for the three others.
    assert 4 * more.groups_statistics == one.groups_statistics == 4
    assert 4 * more.groups_filter == pytest.approx(one.groups_filter)
    options = pb.AdviseOptions(value_sample={"id": [7, 1 << 40, 1 << 70, -5_000_000_000]})
    advisor = pb.TableAdvisor(options)
    advisor.add(path)
    (merged,) = pb.advise_sketches(advisor.sketches().values(), options)
    assert merged.columns[0].groups_filter == pytest.approx(more.groups_filter)
