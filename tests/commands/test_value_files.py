"""Values from files: text, CSV and Parquet."""

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from make.commands import outcome
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.commands.pbloom import cli

COMMAND = ("find", "a.parquet", "-c", "id")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table({"id": [7, 8, 9], "at": pa.array([1, 2, 10**15], pa.timestamp("ns"))})
    pq.write_table(table, "a.parquet")
    return tmp_path


def rows(found):
    assert found.code == 0, found
    return [line.split("\t")[0] for line in found.stdout.splitlines()[1:-1]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ids.txt", "7\n9\n"),
        ("ids.txt", "7\r\n9"),
        ("ids.txt", "\ufeff7\n9\n"),
        ("ids.csv", "id\n7\n9\n"),
        ("IDS.CSV", 'x,id\n"a,\n",7\n\nb,9\n'),
        ("ids.tsv", "x\tid\na,\t7\nb\t9\n"),
    ],
)
@pytest.mark.parametrize("option", ["--ids", "--values-from"])
def test_text_and_csv(folder, name, text, option):
    (folder / name).write_bytes(text.encode())
    assert rows(outcome(*COMMAND, option, name)) == ["7", "9"]


def test_parquet(folder):
    pq.write_table(pa.table({"x": ["a", "b"], "id": pa.array([7, 9], pa.uint8())}), "ids")
    assert rows(outcome(*COMMAND, "--ids", "ids", "-v", "8")) == ["7", "8", "9"]
    pq.write_table(pa.table({"moments": pa.array([2, 10**15], pa.timestamp("ns"))}), "at.parquet")
    found = outcome("find", "a.parquet", "-c", "at", "--ids", "at.parquet")
    assert len(rows(found)) == 2


@pytest.mark.parametrize(
    "kind", [pa.float64(), pa.float32(), pa.decimal128(20, 0), pa.decimal128(22, 2)]
)
def test_integers_that_were_written_as_other_numbers(folder, kind):
    """pandas makes floats of integers with gaps."""
    pq.write_table(pa.table({"id": pa.array([7, 10], pa.int64()).cast(kind, safe=False)}), "ids")
    found = outcome(*COMMAND, "--ids", "ids", "--json")
    (row,) = json.loads(found.stdout)["rows"]
    assert (found.code, row["row"]) == (0, 0)
    assert outcome("probe", "a.parquet", "-c", "id", "--ids", "ids").code == 0
    pq.write_table(pa.table({"id": [7.0, 2.0**53]}), "ids")
    found = outcome("probe", "a.parquet", "-c", "id", "--ids", "ids")
    problem = "expected an integer, as floats from 2**53 on may have been rounded"
    assert (found.code, found.complaint) == (
        2,
        f"a.parquet: column id: 9007199254740992.0: cannot be a value of INT64: {problem}",
    )


@pytest.mark.parametrize("as_series", [pa.array, np.array, pd.Series, pl.Series])
def test_short_floats_are_not_taken_for_integers_that_they_round(folder, as_series):
    """16777217 would be looked for as 16777216."""
    rounded = as_series(np.array([7, 2**24 + 1], np.float32))
    problem = "expected an integer, as such floats from 2**24 on may have been rounded"
    report = pb.find("a.parquet", "id", rounded)
    assert len(report.rows) == 1
    assert [each.reason for each in report.unknown] == [
        f"column id: 16777216.0: cannot be a value of INT64: {problem}"
    ]
    pq.write_table(pa.table({"id": pa.array([2.0**24], pa.float32())}), "ids")
    found = outcome("probe", "a.parquet", "-c", "id", "--ids", "ids")
    assert found.complaint == (
        f"a.parquet: column id: 16777216.0: cannot be a value of INT64: {problem}"
    )


def test_integers_that_pandas_wrote_as_text(folder):
    pd.DataFrame({"id": [7, None, 10]}).dropna().to_csv("ids.csv", index=False)
    assert rows(outcome(*COMMAND, "--ids", "ids.csv")) == ["7.0"]
    Path("ids").write_text("7.0\n9007199254740992.0\n")
    problem = "expected an integer, as floats from 2**53 on may have been rounded"
    assert outcome("probe", "a.parquet", "-c", "id", "--ids", "ids").complaint == (
        f"a.parquet: column id: ids: line 2: 9007199254740992.0: cannot be a value of INT64: {problem}"
    )


def test_parquet_from_standard_input():
    data = io.BytesIO()
    pq.write_table(pa.table({"id": [9]}), data)
    ended = CliRunner().invoke(cli, [*COMMAND, "--ids", "-"], input=data.getvalue())
    assert (ended.exit_code, ended.stdout.splitlines()[1].split("\t")[0]) == (0, "9")


def with_bad_name():
    """Parquet with a column whose name is no UTF-8."""
    data = io.BytesIO()
    pq.write_table(pa.table({"iZZ": [7]}), data, store_schema=False)
    return data.getvalue().replace(b"iZZ", b"i\xff\xff")


WRONG = {
    "bytes": (b"7\n\xff\n", "ids: byte 2: not UTF-8, expected values"),
    "gzip": (
        gzip.compress(b"7\n"),
        "ids: compressed by gzip, expected Parquet, or text in UTF-8 that is not compressed",
    ),
    "ORC": (
        b"ORC\xff",
        "ids: an ORC file, expected Parquet, or text in UTF-8 that is not compressed",
    ),
    "UTF-16": (
        "7\r\n".encode("utf-16"),
        "ids: text in UTF-16, expected Parquet, or text in UTF-8 that is not compressed",
    ),
    "no Parquet": (
        b"PAR1 and more",
        "ids: truncated or not a Parquet file: does not end with PAR1; if it was one, its end is lost: take another copy",
    ),
    "names of columns": (
        with_bad_name(),
        "ids: damaged or encrypted Parquet, expected values: take another copy, or write them as text",
    ),
    "nothing": (b"", "pbloom: ids: no values"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_file_of_values(folder, case):
    data, message = WRONG[case]
    (folder / "ids").write_bytes(data)
    found = outcome(*COMMAND, "--ids", "ids")
    assert found.code == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr


NOT_VALUES = {
    "s.txt": ("s\nx\n", "line 1: s: is the name of the column: if it is a header, call the file .csv; if it is a value, give it with --value"),
    "csv.txt": ("k,s\nx,1\n", "line 1: k,s: has the name of the column: if it is a header, call the file .csv; if it is a value, give it with --value"),
    "quoted.txt": ('"s"\n"x"\n', 'line 1: "s": has the name of the column: if it is a header, call the file .csv; if it is a value, give it with --value'),
    "blank.txt": ("x\n y\n", "line 2: blanks around the value, expected a value alone on each line; .csv and Parquet can hold others"),
    "tab.txt": ("x\t1\n", "line 1: a tab, expected a value alone on each line; .csv and Parquet can hold others"),
    "semicolon.csv": ("s;n\nx;1\n", "line 1: semicolons between the names, expected commas"),
    "comma.tsv": ("s,n\nx,1\n", "line 1: commas between the names, expected tabs"),
    "page.parquet": ("<html>404</html>", "page.parquet: not a Parquet file: does not start with PAR1, but as HTML does"),
    "page.orc": ("x\n", "expected Parquet, .csv, .tsv, or text with a value on each line"),
    "list.json": ('["x"]\n', "expected Parquet, .csv, .tsv, or text with a value on each line"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_VALUES)
def test_what_nobody_means_is_not_looked_for(folder, name):
    """Text columns can hold anything, so that it would be in no file."""
    pq.write_table(pa.table({"s": ["x", "y"]}), "text.parquet")
    text, told = NOT_VALUES[name]
    (folder / name).write_text(text)
    found = outcome("find", "text.parquet", "-c", "s", "--ids", name)
    assert (found.code, found.stdout) == (2, "")
    assert told in found.complaint


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
)
def test_text_in_parquet_is_read_as_a_type(folder, kind):
    pq.write_table(pa.table({"id": pa.array(["7", "9", "7"]).cast(kind)}), "ids.parquet")
    assert rows(outcome(*COMMAND, "--ids", "ids.parquet", "--type", "int")) == ["7", "9"]
    found = outcome(*COMMAND, "--ids", "ids.parquet")
    assert (found.code, found.complaint) == (
        2,
        (
            "ids.parquet: row 0: '7': cannot be a value of INT64: expected an integer, or --type TYPE to"
            " read it from text (values from .txt or .csv, where files have several types); nor can row 1: '9'"
        ),
    )


def test_integers_in_parquet_are_read_as_text(folder):
    pq.write_table(pa.table({"id": ["7", "9"]}), "text.parquet")
    pq.write_table(pa.table({"id": [9, 7, 9]}), "ids.parquet")
    command = ("find", "text.parquet", "-c", "id", "--ids", "ids.parquet")
    assert rows(outcome(*command, "--type", "string")) == ["7", "9"]
    found = outcome(*command)
    assert (found.code, found.complaint) == (
        2,
        (
            "text.parquet: column id: 9: cannot be a value of BYTE_ARRAY STRING: expected text or bytes, or values from .txt or"
            " .csv, which each file reads as its own type, or --type string where all have text; nor can 7"
        ),
    )


def test_what_is_not_of_its_type_is_said_before_a_file_is_opened(folder):
    (folder / "ids").write_text("7\nseven\n")
    (folder / "b.parquet").write_bytes(b"no file")
    for given, told in (
        (("--ids", "ids"), "ids: line 2: seven: not of type int: expected an integer"),
        (("-v", "0x7"), "0x7: not of type int: expected an integer"),
    ):
        found = outcome("probe", "b.parquet", "-c", "id", *given, "--type", "int")
        assert (found.code, found.stdout, found.stderr) == (2, "", f"pbloom: {told}\n")


@pytest.mark.parametrize("more", [(), ("--type", "int")])
def test_several_values_in_one_are_hinted_at(folder, more):
    for verb in ("find", "probe"):
        found = outcome(verb, *COMMAND[1:], "-v", "7, 9", *more)
        assert found.complaint.endswith(
            ": expected an integer; if these are several values, repeat -v for each"
        )
        found = outcome(verb, *COMMAND[1:], "-v", "7,nine", *more)
        assert found.complaint.endswith(": expected an integer")
    pq.write_table(pa.table({"id": ["7,9"]}), "text.parquet")
    assert rows(outcome("find", "text.parquet", "-c", "id", "-v", "7,9")) == ["7,9"]


def test_quotes_are_blamed_and_not_a_header(folder):
    (folder / "ids").write_text('"7"\n9\n')
    assert outcome(*COMMAND, "--ids", "ids").complaint == (
        'ids: line 1: "7": cannot be a value of INT64: expected an integer; leave out the quotes around it;'
        " unknown: a.parquet"
    )


def test_which_column_is_meant_has_to_be_clear(folder):
    (folder / "ids.csv").write_text("a,b\n1,2\n")
    found = outcome(*COMMAND, "--ids", "ids.csv")
    assert found.complaint == ("ids.csv: 2 columns, expected one called id, or --values-column")
    (folder / "ids.csv").write_text("id,id\n1,2\n")
    found = outcome(*COMMAND, "--ids", "ids.csv")
    assert found.complaint == "ids.csv: 2 columns called id, expected one"
    (folder / "ids.csv").write_text("id,b\n1\n")
    assert outcome(*COMMAND, "--ids", "ids.csv").complaint == (
        "ids.csv: line 2: 1 field, expected 2"
    )
    pq.write_table(pa.table({"id": [7, None]}), "ids.parquet")
    assert outcome(*COMMAND, "--ids", "ids.parquet").complaint == (
        "ids.parquet: column id: 1 null, expected values: leave out such rows"
    )


@pytest.mark.parametrize("text", ["7\n9\n", "7\n", "7"])
def test_no_value_is_lost_as_the_name_of_a_column(folder, text):
    (folder / "ids.csv").write_text(text)
    told = (
        "ids.csv: line 1: 7: expected the name of the column, id; if it is another name, use --values-column;"
        " if it is a value, do not call the file .csv"
    )
    found = outcome(*COMMAND, "--ids", "ids.csv", "--report", "account.parquet")
    assert (found.code, found.stdout, found.complaint) == (2, "", told)
    assert not (folder / "account.parquet").exists()
    (folder / "ids.csv").write_text("user\n7\n")
    assert rows(outcome(*COMMAND, "--ids", "ids.csv", "--values-column", "user")) == ["7"]


def test_the_column_with_the_values_is_named(folder):
    (folder / "ids.csv").write_text('key,note\n7,"a\nb"\n9,c\n')
    named = (*COMMAND, "--ids", "ids.csv", "--values-column")
    assert rows(outcome(*named, "key")) == ["7", "9"]
    assert outcome(*named, "kee").complaint == "ids.csv: no column kee; did you mean key?"
    (folder / "ids").write_text("7\n")
    assert outcome(*COMMAND, "--ids", "ids", "--values-column", "key").complaint == (
        "ids: no column key: expected CSV or Parquet, found text"
    )
    pq.write_table(pa.table({"key": [7], "id": [8]}), "ids.parquet")
    assert rows(outcome(*COMMAND, "--ids", "ids.parquet", "--values-column", "key")) == ["7"]


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n\r\n\r\n"])
def test_empty_lines_at_the_end_are_no_values(folder, end):
    (folder / "ids").write_bytes(f"7{end}".encode())
    assert rows(outcome(*COMMAND, "--ids", "ids")) == ["7"]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("ids", "7\nseven\n9\n", "line 2: seven: cannot be a value of INT64: expected an integer"),
        ("ids", "7\n\n8\n\n\n", 'line 2: blank, expected a value alone on each line; "" is an empty text'),
        ("ids.csv", 'id,x\n7,"a\n\n"\nx,\n', "line 5: x: cannot be a value of INT64: expected an integer"),
        ("ids.csv", "id,x\n7,a\n 9,b\n",
         "line 3:  9: cannot be a value of INT64: expected an integer; leave out the blanks around it"),
        ("ids.csv", "id,x\n7,a\n,b\n", "line 3: nothing in id, expected a value; -v '' asks for an empty text"),
        ("ids.csv", "id,x\n7," + "a" * 200_000, "line 2: no CSV: field larger than field limit (131072)"),
        ("ids.csv", 'id,x\n7,a\n\n9,"b\n5,c\n',
         'line 4: no CSV: a quote is opened and never closed, expected another " after the text'),
        ("ids.csv", 'id,x\n7,"b\n9,"c"\n',
         "line 2: a quoted text goes on to line 3, where it is no CSV: ',' expected after '\"'; expected a closing \" before"),
        ("ids.tsv", 'id\tx\n7\t"b"c\n', "line 2: no CSV: '\\t' expected after '\"'"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_by_its_number(folder, name, text, problem):
    (folder / name).write_text(text)
    found = outcome("probe", "a.parquet", "a.parquet", "-c", "id", "--values-from", name)
    assert found.complaint.endswith(f"{name}: {problem}")
    files = "find", "a.parquet", "a.parquet", "-c", "id", "--ids", name
    if "cannot be a value" in problem:
        told = f"pbloom: {name}: {problem}; unknown: a.parquet\n"
        for more in ((), ("--report", "account.parquet")):
            ended = outcome(*files, *more)
            assert (ended.code, ended.stderr) == (2, told)
        (unknown,) = json.loads(outcome(*files, "--json").stdout)["unknown"]
        assert unknown == {"path": "a.parquet", "reason": f"column id: {name}: {problem}"}
        # The other ids hide behind no bad line.
        account = pq.read_table("account.parquet")
        found = account.filter(pc.equal(account["state"], "found"))["value"].to_pylist()
        assert found[0] == "7"
        by_value = outcome("probe", "a.parquet", "-c", "id", "--ids", name, "--by-value")
        assert (by_value.code, by_value.stderr) == (2, told)


def test_bad_lines_hide_no_good_ones(folder):
    """Of some lines in a list; all files answer for the others, to find with an index and without,
    and value by value."""
    for number in range(4):
        pq.write_table(pa.table({"id": [10 * number, 10 * number + 3]}), f"lake{number}.parquet")
    files = sorted(map(str, Path().glob("lake*.parquet")))
    pb.build(files, columns="id", in_place=True)
    pb.Index.build("ix", files, "id").close()
    Path("ids").write_text("13\nabc\n1.5\nx\n99\ny\n")
    problem = "ids: line 2: abc: cannot be a value of INT64: expected an integer"
    problem += "; nor can line 3: 1.5, line 4: x, … (4 in all)"
    told = f"pbloom: {problem}; unknown: 4 files\n"
    asked = ("-c", "id", "--ids", "ids")
    tail = "; 1 of 6 values found, 1 in no file: 99; 4 files unknown for some of the values"
    for index, excluded in (
        ((), "3 row groups by statistics"),
        (("--index", "ix"), "3 files by the index"),
    ):
        found = outcome(
            "find", *files, *asked, *index, "--report", "account.parquet", "--overwrite"
        )
        unproven = "pbloom: `absent` rests on bits that were not checked against the values here, those of the index"
        unproven += " (`pbloom index check --index ix --deep` does that)\n"
        assert (found.code, found.stderr) == (2, told + (unproven if index else ""))
        _, row, end = found.stdout.splitlines()
        assert row == "13\tlake1.parquet\t0\t1"
        assert end.startswith("1 row in 1 of 4 files: 1 row group of 1 file read, ")
        assert end.endswith(f"B; excluded: {excluded}{tail}")
        report = pb.find(files, "id", [13, "abc"], index="ix" if index else None)
        assert (report.files_asked, report.files_unknown_of_some, report.files_read) == (4, 4, 1)
        assert report.files_by_statistics == (0 if index else 3)
        states = pq.read_table("account.parquet").select(["value", "state"]).to_pylist()
        assert {each["value"]: each["state"] for each in states if each["value"]} == {
            "13": "found", "99": "absent", **dict.fromkeys(("abc", "1.5", "x", "y"), "unknown")
        }  # fmt: skip
    by_value = outcome("probe", *files, *asked, "--by-value", "--json")
    assert (by_value.code, by_value.stderr) == (2, told)
    results = json.loads(by_value.stdout)["results"]
    assert {each["value"]: each["verdict"] for each in results} == {
        "13": "maybe", "99": "absent", **dict.fromkeys(("abc", "1.5", "x", "y"), "unknown")
    }  # fmt: skip
    assert {file["reason"] for file in results[1]["files"]} == {f"column id: {problem}"}
    absent = outcome("probe", *files, *asked, "--only", "absent")
    assert (absent.code, absent.stdout) == (2, "99\n")
    # An index that is asked alone answers for no list with such lines, and names them.
    assert outcome("index", "probe", "--index", "ix", *asked).complaint == problem
    given = pb.probe_values(files, "id", [13, "abc", 99])
    assert [each.verdict for each in given.results] == ["maybe", "unknown", "absent"]


def test_a_line_that_only_some_files_cannot_hold(folder):
    pq.write_table(pa.table({"id": ["seven"]}), "text.parquet")
    (folder / "ids").write_text("seven\n")
    found = outcome("find", "a.parquet", "text.parquet", "-c", "id", "--ids", "ids")
    assert (found.code, found.stdout.splitlines()[1]) == (2, "seven\ttext.parquet\t0\t0")
    problem = "ids: line 1: seven: cannot be a value of INT64: expected an integer"
    problem += "; if this is a header, call the file .csv"
    assert found.complaint == f"{problem}; unknown: a.parquet"


def test_a_row_that_only_some_files_cannot_hold(folder):
    pq.write_table(pa.table({"id": ["7"]}), "text.parquet")
    pq.write_table(pa.table({"id": ["7"]}), "ids.parquet")
    told = "ids.parquet: row 0: '7': cannot be a value of INT64: expected an integer, or --type TYPE to read it from text"
    told += " (values from .txt or .csv, where files have several types)"
    files = ("a.parquet", "text.parquet", "-c", "id")
    found = outcome("find", *files, "--ids", "ids.parquet")
    assert (found.code, found.complaint) == (2, f"{told}; unknown: a.parquet")
    as_json = json.loads(outcome("find", *files, "--ids", "ids.parquet", "--json").stdout)
    assert as_json["unknown"] == [{"path": "a.parquet", "reason": f"column id: {told}"}]
    assert outcome("index", "build", "--index", "ix", *files).code == 0
    probe = ("index", "probe", "--index", "ix", "-c", "id", "--ids", "ids.parquet")
    assert f"a.parquet\tunknown\t{told}" in outcome(*probe).stdout
    as_json = json.loads(outcome(*probe, "--json", "-o", "where.parquet").stdout)
    of_file = pq.read_table("where.parquet")["reason"].to_pylist()
    assert of_file == [each["reason"] for each in as_json["results"][0]["files"]] == [None, told]
    # As it says.
    (folder / "ids.txt").write_text("7\n")
    found = outcome("find", *files, "--ids", "ids.txt")
    assert (found.code, found.stdout.count("7\t")) == (0, 2)


def test_each_value_counts_once(folder):
    (folder / "ids").write_text("7\n5\n7\n5\n")
    pq.write_table(pa.table({"id": [7, 5, 7]}), "ids.parquet")
    for ids in ("ids", "ids.parquet"):
        assert "; 1 of 2 values in no file" in outcome(*COMMAND, "--ids", ids).stdout
        asked = outcome("probe", *COMMAND[1:], "--ids", ids, "--by-value").stdout
        assert asked.startswith("id in 1 file, 1 unknown: 2 values, ")


def test_the_answer_of_an_index_has_absent_values_too(folder):
    assert outcome("index", "build", "--index", "ids.index", "-c", "id", "a.parquet").code == 0
    (folder / "ids").write_text("5\n7\n")
    asked = ("index", "probe", "--index", "ids.index", "-c", "id", "--ids", "ids")
    assert outcome(*asked, "-o", "where.parquet").code == 0
    absent, found = pq.read_table(folder / "where.parquet").to_pylist()
    assert (absent["value"], absent["verdict"], absent["path"]) == ("5", "absent", None)
    assert (found["value"], found["verdict"]) == ("7", "maybe")


def test_every_file_of_values_is_read(folder):
    """click would drop all but the last."""
    pq.write_table(pa.table({"id": [1, 5]}), "ids.parquet")
    (folder / "a").write_text("1\n2\n")
    (folder / "b.csv").write_text("id\n2\n5\n")
    asked = ("find", "ids.parquet", "-c", "id", "--ids", "a", "--values-from", "b.csv", "-v", "7")
    assert rows(outcome(*asked)) == ["1", "5"]


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
def test_quotes_in_csv_are_part_of_a_text(folder, suffix):
    """In a list of literals they may stand around one; CSV has taken its own off."""
    path = f"text.{suffix}"
    write = pq.write_table if suffix == "parquet" else orc.write_table
    write(pa.table({"id": ['"x"', "x", "'"]}), path)
    pb.build(path, columns=["id"], in_place=True)
    (folder / "ids.csv").write_text('id\n"""x"""\n\'\n')
    assert rows(outcome("find", path, "-c", "id", "--ids", "ids.csv")) == ['"x"', "'"]
    (folder / "ids").write_text('"x"\n')
    found = outcome("find", path, "-c", "id", "--ids", "ids")
    assert [each.split("\t")[-1] for each in found.stdout.splitlines()[1:3]] == ["0", "1"]
    found = outcome("find", path, "-c", "id", "--ids", "ids", "--type", "string")
    assert [each.split("\t")[-1] for each in found.stdout.splitlines()[1:2]] == ["0"]


def test_quotes_in_csv_are_part_of_json(folder):
    pq.write_table(pa.table({"id": pa.array(['"x"', "7"], pa.json_())}), "json.parquet")
    (folder / "ids.csv").write_text('id\n"""x"""\n7\n')
    assert len(rows(outcome("find", "json.parquet", "-c", "id", "--ids", "ids.csv"))) == 2


def test_a_value_that_several_places_give_is_asked_once(folder):
    """But for what is in quotes, which CSV takes as it is."""
    (folder / "ids.csv").write_text("id\n9\n7\n")
    (folder / "ids.txt").write_text("7\n8\n")
    found = outcome(*COMMAND, "-v", "7", "--ids", "ids.csv", "--ids", "ids.txt")
    assert rows(found) == ["7", "8", "9"]
    lines = ("-v", "7", "--ids", "ids.csv", "--by-value", "--json")
    document = json.loads(outcome("probe", *COMMAND[1:], *lines).stdout)
    assert [each["value"] for each in document["results"]] == ["7", "9"]
