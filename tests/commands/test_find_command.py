"""`pbloom find`: what it prints and writes, and its exit codes."""

import errno
import json
import os
import re
import shutil
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import on_a_terminal, outcome
from pyarrow import orc

import parquet_bloom as pb


@pytest.fixture
def path(tmp_path, monkeypatch):
    table = pa.table({"id": [7, 8, 7], "at": pa.array([1, 2, None], pa.timestamp("ms", "UTC"))})
    monkeypatch.chdir(tmp_path)
    pq.write_table(table, "a.parquet", row_group_size=2)
    return "a.parquet"


def test_values_of_columns(path):
    found = outcome("find", path, "-c", "id", "-v", "7", "--columns", "at,id")
    assert found.code == 0
    assert found.stdout.splitlines()[:3] == [
        "id\tfile\trow group\trow\tat\tid",
        "7\ta.parquet\t0\t0\t1970-01-01T00:00:00.001Z\t7",
        "7\ta.parquet\t1\t2\tnull\t7",
    ]
    document = json.loads(
        outcome("find", path, "-c", "id", "-v", "8", "--columns", "at", "--json").stdout
    )
    assert [row["values"] for row in document["rows"]] == [{"at": "1970-01-01T00:00:00.002Z"}]
    assert "values" not in document
    plain = json.loads(outcome("find", path, "-c", "id", "-v", "8", "--json").stdout)
    assert "values" not in plain["rows"][0]


def test_one_value_gives_way_on_a_narrow_terminal_and_several_stay(tmp_path, monkeypatch):
    names = [f"a_rather_long_name_{at}" for at in range(2)]
    monkeypatch.chdir(tmp_path)
    table = pa.table({"user_id": range(9), **{name: ["x" * 16] * 9 for name in names}})
    pq.write_table(table, tmp_path / "a.parquet")
    asked = ("find", "a.parquet", "-c", "user_id", "--columns", ",".join(names))
    ids = [word for at in range(9) for word in ("-v", at)]
    heads = on_a_terminal(64, *asked, *ids)[0].split()
    assert heads == ["user_id", "file", *names]
    # What was asked for is never left out.
    assert on_a_terminal(60, *asked, *ids)[:2] == [
        "user_id: 0  file: a.parquet  row group: 0  row: 0",
        f"  {names[0]}: {'x' * 16}",
    ]
    same = pa.table({"user_id": [7] * 9, **{name: ["x" * 16] * 9 for name in names}})
    pq.write_table(same, tmp_path / "a.parquet")
    assert on_a_terminal(60, *asked, "-v", 7)[0].split()[0] == "file"


def test_few_rows_name_the_whole_file(path):
    """A name without its middle may be that of any file of a table."""
    name = f"day=2026-11-01/part-00000-{'0' * 36}.parquet"
    os.mkdir("day=2026-11-01")
    os.rename(path, name)
    assert on_a_terminal(80, "find", name, "-c", "id", "-v", 8)[:3] == [
        "id: 8",
        f"  file: {name}",
        "  row group: 0  row: 1",
    ]


def test_how_many_of_several_values_are_in_no_file(path):
    asked = ("-c", "id", "-v", "7", "-v", "9", "-v", "10", "-v", "9")
    last = outcome("find", path, *asked).stdout.splitlines()[-1]
    assert last.endswith("B; 2 of 3 values in no file: 9, 10")
    pq.write_table(pa.table({"other": [1]}), "b.parquet")
    found = outcome("find", path, "b.parquet", *asked)
    assert found.stdout.splitlines()[-1].endswith("B; 1 of 3 values found; 1 of 2 files unknown")
    alone = outcome("find", path, "-c", "id", "-v", "9")
    assert (alone.code, "in no" in alone.stdout) == (1, False)


def test_which_of_many_values_are_in_no_file(path):
    """Their names would be a screen of their own: it is said what has them."""
    pq.write_table(pa.table({"id": range(7, 19)}), "ids.parquet")
    asked = ("find", path, "-c", "id", "--ids", "ids.parquet")
    last = outcome(*asked).stdout.splitlines()[-1]
    assert last.endswith("B; 10 of 12 values in no file: 9, 10, 11, 12, 13, 14, 15, 16, 17, 18")
    pq.write_table(pa.table({"id": range(7, 20)}), "ids.parquet")
    last = outcome(*asked).stdout.splitlines()[-1]
    assert last.endswith("B; 11 of 13 values in no file (--report FILE lists them)")
    last = outcome(*asked, "--report", "account.parquet").stdout.splitlines()[-1]
    assert last.endswith("B; 11 of 13 values in no file (account.parquet lists them)")
    account = pq.read_table("account.parquet").to_pylist()
    assert [each["value"] for each in account if each["state"] == "absent"] == [
        *map(str, range(9, 20))
    ]
    assert outcome(*asked, "--only", "absent").complaint == (
        "--only: no such option; --report FILE has what became of each value, also of those that are in no file"
    )
    # Each takes a report of its own.
    pq.write_table(pa.table({"id": [7], "at": [7]}), "both.parquet")
    said = outcome("find", "both.parquet", "-c", "id", "-c", "at", "--ids", "ids.parquet").stdout
    assert said.count("; 12 of 13 values in no file\n") == 2


def test_a_column_that_is_not_there(path):
    found = outcome("find", path, "-c", "id", "-v", "7", "--columns", "more")
    assert (found.code, found.complaint) == (2, "no column more; the input has id, at")


def test_rows_as_parquet(path):
    arguments = ("find", path, "-c", "id", "-v", "7", "--columns", "at", "-o", "rows.parquet")
    assert outcome(*arguments).code == 0
    table = pq.read_table("rows.parquet")
    assert table.to_pydict() == {
        "value": ["7", "7"],
        "path": [path] * 2,
        "row_group": [0, 1],
        "row_in_row_group": [0, 0],
        "row": [0, 2],
        "deleted": [False, False],
        "values.at": table["values.at"].to_pylist(),
    }
    assert table["values.at"].type == pa.timestamp("ms", "UTC")
    assert "already exists" in outcome(*arguments).complaint
    assert outcome(*arguments, "--overwrite").code == 0
    over = outcome("find", path, "-c", "id", "-v", "7", "-o", path, "--overwrite")
    assert "is the input itself" in over.complaint
    assert outcome("find", path, "-c", "id", "-v", "9", "-o", "none.parquet").code == 1
    assert pq.read_table("none.parquet").num_rows == 0


def test_one_output_is_about_one_column(path):
    found = outcome("find", path, "-c", "id,at", "-v", "7", "-o", "rows.parquet")
    message = "--output: expected one --column; another one takes a call of its own"
    assert (found.code, found.complaint) == (2, message)


def test_the_total_of_one_of_several_columns_names_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": [7, 8], "a,b": [1, 2]}), "two.parquet")
    found = outcome("find", "two.parquet", "-c", 'id,"a,b"', "-v", "7")
    heads, row, of_id, of_other = found.stdout.splitlines()
    assert (heads.split("\t")[0], row.split("\t")[0]) == ("id", "7")
    assert of_id.startswith("id: 1 row in 1 file: ")
    assert of_other.startswith('"a,b": 0 rows in 1 file: ')
    alone = outcome("find", "two.parquet", "-c", "id", "-v", "7")
    assert alone.stdout.splitlines()[-1].startswith("1 row in 1 file: ")


@pytest.mark.parametrize("values", [("-v", "7", "-v", "x"), ("-v", "x")])
def test_columns_of_two_types_take_a_call_each(tmp_path, monkeypatch, values):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": [7, 8], "name": ["x", "y"]}), "two.parquet")
    found = outcome("find", "two.parquet", "-c", "id,name", *values)
    hint = "each value is looked for in each --column: a column of another type takes a call of its own"
    assert found.code == 2
    assert found.stderr.splitlines()[-1] == f"pbloom: {hint}"
    assert hint not in outcome("find", "two.parquet", "-c", "id", *values).stderr


def test_the_account_of_every_id(path):
    arguments = ("find", path, "-c", "id", "-v", "8", "-v", "9", "--report", "account.parquet")
    assert outcome(*arguments).code == 0
    table = pq.read_table("account.parquet")
    assert table["value"].to_pylist() == ["8", "9", None]
    assert table["state"].to_pylist() == ["found", "absent", "asked"]
    assert "already exists" in outcome(*arguments).complaint
    found = outcome("find", path, "-c", "id,at", "-v", "7", "--report", "more.parquet")
    assert (found.code, "--report: expected one --column" in found.stderr) == (2, True)


def test_what_an_account_takes_for_right_is_said(path):
    """Where bits ruled a value out that min/max statistics do not."""
    pq.write_table(pa.table({"id": [7, 9, 7]}), path)
    account = ("--report", "account.parquet", "--overwrite", "--storage-option", "region=x")
    asked = ("find", path, "-c", "id", "-v", "8", *account)
    assert outcome(*asked).stderr == ""
    pb.build(path, columns="id", in_place=True)
    said = "`absent` rests on bits that were not checked against the values here, those of "
    filters = f"filters (`pbloom validate --pages {path} --storage-option region=x` does that)"
    assert outcome(*asked).complaint == said + filters
    assert outcome(*asked[:6]).stderr == ""
    in_json = outcome(*asked, "--json")
    assert in_json.complaint == said + filters
    assert json.loads(in_json.stdout)["absent"] == ["8"]
    pb.Index.build("i", path, "id").close()
    by_index = (
        "the index (`pbloom index check --index i --deep --storage-option region=x` does that)"
    )
    assert outcome(*asked, "--index", "i").complaint == said + by_index
    # There are no pages in these.
    orc.write_table(pa.table({"id": [7, 9, 7]}), "a.orc", bloom_filter_columns=[1])
    told = outcome(asked[0], "a.orc", *asked[2:]).complaint
    assert told == f"{said}filters (`pbloom validate a.orc --storage-option region=x` does that)"
    both = filters.replace(f" {path} ", f" {path} a.orc ")
    assert outcome(*asked[:2], "a.orc", *asked[2:]).complaint == said + both


@pytest.mark.parametrize("option", ["--report", "--output"])
def test_a_name_of_another_format_is_refused(path, option):
    found = outcome("find", path, "-c", "id", "-v", "7", option, "rows.csv")
    told = f"{option}: rows.csv: is written as Parquet, expected rows.parquet"
    assert (found.code, found.complaint) == (2, told)


def test_files_that_are_not_asked_because_of_their_names(path, tmp_path):
    for name in ("a.parquet.bak", "A.data", "_old.parquet", "export.csv"):
        (tmp_path / name).write_bytes(b"some")
    found = outcome("find", ".", "-c", "id", "-v", "9")
    some = "A.data, _old.parquet, a.parquet.bak"
    told = f"4 files left out, such as {some}; their names are not those of data files: to include them, name them one by one"
    assert (found.code, found.complaint) == (1, told)
    for how in ([], ["--by-value"], ["--only", "absent"], ["--json"]):
        asked = outcome("probe", ".", "-c", "id", "-v", "9", *how)
        assert told in asked.stderr
    document = json.loads(outcome("find", ".", "-c", "id", "-v", "9", "--json").stdout)
    assert document["left_out"] == ["A.data", "_old.parquet", "a.parquet.bak", "export.csv"]


def test_a_folder_that_cannot_be_listed_may_hold_any_value(path, monkeypatch):
    """Nobody may be kept from anything here who is root."""
    pb.build(path, columns=["id"], in_place=True)
    assert outcome("probe", ".", "-c", "id", "-v", "9").code == 1
    Path("secret").mkdir()
    scandir = os.scandir

    def refusing(folder):
        if str(folder).endswith("secret"):
            raise PermissionError(errno.EACCES, "Permission denied", folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    asked = outcome("probe", ".", "-c", "id", "-v", "9")
    told = "secret: a folder that cannot be listed: Permission denied"
    assert (asked.code, asked.complaint) == (2, told)
    # It is no file: nobody knows how many are in it.
    shutil.copy(path, "other.parquet")
    asked = outcome("probe", ".", "-c", "id", "-v", "9")
    assert asked.stdout.splitlines()[-1].startswith("2 files: 2 absent, 1 folder not listed; ")
    found = outcome("find", ".", "-c", "id", "-v", "9").stdout.splitlines()[-1]
    assert " in 2 files: " in found
    assert "; 1 folder not listed" in found
    assert "unknown" not in found
    Path("other.parquet").unlink()
    # Of one that is hidden, too, but who changes files leaves it as it is.
    Path("secret").rename(".secret")
    asked = outcome("probe", ".", "-c", "id", "-v", "9")
    assert (asked.code, asked.complaint) == (2, f".{told}")
    assert "unknown" in outcome("find", ".", "-c", "id", "-v", "9").stderr
    changed = outcome("strip", ".", "--in-place")
    assert (changed.code, changed.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gone.parquet", os.strerror(errno.ENOENT)),
        ("gone", "no such folder"),
        ("x/*", "no such folder"),
    ],
)
@pytest.mark.parametrize("indexed", [[], ["--index", "ids"]])
def test_a_name_that_means_nothing_is_unknown_beside_others(path, name, reason, indexed):
    """An answer about the others, which does not look complete."""
    given = f"{name}/" if name == "gone" else name
    shown = given if "*" not in given else "x"
    if indexed:
        pb.Index.build("ids", path, "id").close()
    asked = ("-c", "id", "-v", "8", *indexed)
    found = outcome("find", path, given, *asked)
    assert (found.code, found.complaint) == (2, f"{shown}: unknown: {reason}")
    row, total = found.stdout.splitlines()[1:]
    assert row == "8\ta.parquet\t0\t1"
    assert total.startswith("1 row in 1 file: ")
    excluded = "" if indexed else "; excluded: 1 row group by statistics"
    assert total.endswith(f" B{excluded}; 1 of 2 files unknown")
    document = json.loads(outcome("find", path, given, *asked[:2], "-v", "9", "--json").stdout)
    assert (document["num_files"], document["absent"]) == (2, [])
    alone = outcome("find", given, *asked)
    assert (alone.code, alone.stdout) == (2, "")
    assert outcome("find", path, "", *asked).complaint == "an empty name, expected a file"


def test_an_index_says_of_when_its_answer_is(path):
    index = ("index", "build", "--index", "ids.index", "-c", "id", path)
    assert outcome(*index).code == 0
    pq.write_table(pa.table({"id": [9]}), "late.parquet")
    asked = ("find", "--index", "ids.index", "-c", "id", "-v", "9")
    (made,) = re.findall(r"as indexed .* UTC", outcome("index", "probe", *asked[1:]).stdout)
    found = outcome(*asked)
    assert (found.code, found.complaint) == (
        1,
        (
            "files that were added or changed since then may be missing here: name the folder, too, or run `pbloom index add --index"
            " ids.index` first"
        ),
    )
    assert found.stdout.startswith(f"0 rows in 1 file, {made}: 0 row groups of 0 files read")
    of_find, of_probe = (
        json.loads(outcome(*verb, "--json").stdout)
        for verb in (asked, ("index", "probe", *asked[1:]))
    )
    assert of_find["made"] == of_probe["made"]
    listed = outcome(*asked, ".")
    assert (listed.code, listed.stderr, "indexed" in listed.stdout) == (0, "", False)


def test_a_terminal_shows_no_more_rows_than_fit(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"n": range(60)}), path)
    values = [word for number in range(45) for word in ("-v", number)]
    lines = on_a_terminal(80, "find", path, "-c", "n", *values)
    assert len(lines) == 2 + 40 + 2
    assert lines[-2] == "And 5 more rows: --json, --output and a pipe show all."
    assert len(outcome("find", path, "-c", "n", *values).stdout.splitlines()) == 1 + 45 + 1


def test_what_is_stored_beside_what_was_asked_for(path):
    pq.write_table(pa.table({"x": [0.0, -0.0]}), path)
    rows = outcome("find", path, "-c", "x", "-v", "0.0", "--columns", "x").stdout.splitlines()[1:3]
    assert [row.split("\t")[::4] for row in rows] == [["0.0", "0.0"], ["0.0", "-0.0"]]


def test_what_was_asked_for_is_shown_on_a_narrow_terminal(path):
    asked = ("find", path, "-c", "id", "--columns", "at,id")
    assert on_a_terminal(40, *asked, "-v", 8)[:2] == [
        "id: 8  file: a.parquet  row group: 0",
        "  row: 1  at: 1970-01-01T00:00:00.002Z",
    ]
    table = pa.table({"id": [1] * 5, "when": ["2026-11-27T07:40:00"] * 5})
    pq.write_table(table, path)
    heading = on_a_terminal(36, *asked[:4], "-v", 1, "--columns", "when")[0]
    assert heading.split() == ["id", "file", "row", "when"]


@pytest.mark.parametrize(
    ("width", "heads"), [(60, ["url", "file", "row", "group", "row"]), (40, ["url", "file", "row"])]
)
def test_long_values_are_shortened_and_the_place_stays(width, heads, tmp_path):
    path = tmp_path / "urls.parquet"
    urls = [f"https://shop.example.com/{'catalog/' * 9}{number}" for number in range(5)]
    pq.write_table(pa.table({"url": urls}), path)
    asked = ("find", path, "-c", "url", *(word for url in urls for word in ("-v", url)))
    heading, _, *rows = on_a_terminal(width, *asked)[: 2 + len(urls)]
    assert heading.split() == heads
    assert all(len(row) <= width and "…" in row for row in rows)
    assert [row.split()[-1] for row in rows] == list("01234")


def test_parts_are_called_as_their_format_calls_them(path):
    orc.write_table(pa.table({"id": [7, 8]}), "a.orc")
    heads = {
        ("a.orc",): ("stripe", "1 stripe"),
        (path,): ("row group", "2 row groups"),
        ("a.orc", path): ("stripe or row group", "3 stripes or row groups"),
    }
    for files, (head, read) in heads.items():
        found = outcome("find", *files, "-c", "id", "-v", "7").stdout.splitlines()
        assert found[0].split("\t")[2] == head
        assert f": {read} of " in found[-1]
    assert outcome("index", "build", "--index", "index", "-c", "id", "a.orc", path).code == 0
    asked = outcome("index", "probe", "--index", "index", "-c", "id", "-v", "7").stdout
    assert [line.partition("\t")[2] for line in asked.splitlines()[-2:]] == [
        "maybe, stripe 0",
        "maybe, row groups 0, 1",
    ]


@pytest.mark.parametrize("name", ["floats.parquet", "floats.orc"])
@pytest.mark.parametrize("others", [[], ["-v", "1"]])
def test_nan_cannot_be_looked_for(path, name, others):
    """As in Python: a document of unknown files could be taken for an answer about them."""
    table = pa.table({"x": [1.0, float("nan")], "text": ["nan", "1"]})
    (orc if name.endswith("orc") else pq).write_table(table, name)
    asked = ("find", name, *others, "-v", "nan")
    found = outcome(*asked, "-c", "x", "--json")
    problem = "nan: cannot be looked for: NaN has many encodings"
    assert (found.code, found.stdout, found.complaint) == (2, "", problem)
    with pytest.raises(pb.ValueTypeError, match=f"^{problem}$"):
        pb.find(name, "x", pb.literal("nan"))
    assert outcome(*asked, "-c", "text").code == 0
    # Of a file whose column is text, the rows are there.
    pq.write_table(table.select(["text"]).rename_columns(["x"]), "other.parquet")
    found = outcome("find", name, "other.parquet", "-c", "x", "-v", "nan", "--json")
    document = json.loads(found.stdout)
    assert (found.code, len(document["rows"])) == (2, 1)
    assert document["unknown"] == [{"path": name, "reason": problem}]


def test_a_temporary_file_of_a_killed_run_is_not_asked(path, tmp_path):
    name = f".a.parquet.{'0' * 16}.pbloom-tmp"
    (tmp_path / name).write_bytes(b"some")
    told = (
        f"1 file left out: {name}; its name is not that of a data file: to include it, name it itself;"
        " pbloom clean-temp removes temporary files that killed runs have left"
    )
    for verb in ("find", "probe"):
        assert outcome(verb, ".", "-c", "id", "-v", "9").complaint == told


def test_help_says_where_files_are_that_no_join_by_value_has(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c"):
        pq.write_table(pa.table({"id": [1, 2, 3]}), f"{name}.parquet")
    pb.build("a.parquet", in_place=True, columns="id")
    (tmp_path / "c.parquet").write_bytes(b"PAR1")
    asked = ("a.parquet", "b.parquet", "c.parquet", "-c", "id", "-v", "2")
    helped = " ".join(outcome("probe", "--help").stdout.split())
    assert "a join by value lacks these, so read what `value IS NULL` has, too." in helped
    outcome("probe", *asked, "--by-value", "-o", "may.parquet")
    joined = "SELECT path FROM 'may.parquet' JOIN (SELECT 2 AS value) USING (value)"
    assert duckdb.sql(joined).fetchall() == [("a.parquet",)]
    others = "SELECT path FROM 'may.parquet' WHERE value IS NULL ORDER BY ALL"
    assert duckdb.sql(others).fetchall() == [("b.parquet",), ("c.parquet",)]
    helped = " ".join(outcome("find", "--help").stdout.split())
    assert "A join by value lacks these: `value IS NULL` has them, and `state` tells" in helped
    outcome("find", *asked, "--report", "account.parquet")
    others = "SELECT path, state FROM 'account.parquet' WHERE value IS NULL ORDER BY ALL"
    assert duckdb.sql(others).fetchall() == [
        ("a.parquet", "asked"),
        ("b.parquet", "asked"),
        ("c.parquet", "unknown"),
    ]


def test_find_goes_by_bounds_where_probe_asks_filters_alone(tmp_path, monkeypatch):
    """As the help of probe says."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": range(100)}), "a.parquet")
    outcome("build", "a.parquet", "-c", "id", "--fpp", "0.5", "--in-place")
    beyond = range(1_000, 1_100)
    probed = outcome(
        "probe", "a.parquet", "-c", "id", *(f"-v{each}" for each in beyond), "--only", "maybe"
    )
    assert probed.code == 0
    for value in probed.stdout.split():
        found = outcome("find", "a.parquet", "-c", "id", "-v", value)
        assert (found.code, "1 row group by statistics" in found.stdout) == (1, True)
    assert "goes by both" in outcome("probe", "--help").stdout
