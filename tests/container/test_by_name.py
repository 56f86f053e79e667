"""Columns that go by their names: which a file certainly has not got, and what verbs make of it in both formats."""

import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.container.by_name import is_without
from parquet_bloom.verbs.row_search import RowSearch
from parquet_bloom.vocabulary import NULL_BY_NAME


@pytest.mark.parametrize(
    ("name", "columns", "path", "is_so"),
    [
        ("id", ["other"], "a", True),
        ("id", [], "a", True),
        ("id", ["ID"], "a", False),
        ("id", ["id.x"], "a", False),
        ("user.id", ["other", "user.name"], "a", True),
        ("User.id", ["other", "user.name"], "a", True),
        ("user.id", ["other", "user.ID"], "a", False),
        ("user.id", ["other", "user.id.x"], "a", False),
        ("user.id", ["user"], "a", False),
        ("user.home.city", ["user.name", "user.home.zip"], "a", True),
        ("user.home.city", ["user.name", "user.home"], "a", False),
        ("user.home.city", ["user.name"], "a", True),
        ("user.home.city", ["user._col0", "user._col1"], "a", False),
        ("user.id", ["users.id"], "a", True),
        ("v:a", ["v"], "a", False),
        ("user.id#3", ["user.name"], "a", False),
        ("v:a", ["w"], "a", True),
        ("v:a", ["v:A"], "a", False),
        ("#3", ["x"], "a", False),
        ("id", ["_col0", "_col1"], "a", False),
        ("id", ["_col0", "x"], "a", True),
        ("id", ["x"], "/id=7/b", False),
        ("id", ["x"], "s3://b/ID%3D7/b", False),
        ("id", ["x"], "s3://b/day=7/id=b", True),
        ("id", ["x"], "file:/lake/id=7/b", False),
    ],
)
def test_which_columns_a_file_certainly_has_not_got(name, columns, path, is_so):
    assert is_without(name, columns, path) == is_so


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_a_field_that_a_struct_got_later_is_a_column_like_others(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write = (pq if kind == "parquet" else orc).write_table
    write(pa.table({"id": [1, 2], "geo": [{"ip": 1}, {"ip": 2}]}), f"old.{kind}")
    write(pa.table({"id": [3, 4], "geo": [{"ip": 3, "asn": 7}, None]}), f"new.{kind}")
    build = ("build", ".", "-c", "id,geo.asn", "--in-place")
    assert "no column geo.asn" in outcome(*build, "--dry-run").stderr
    found = outcome(*build, "--union-by-name")
    assert (found.code, found.stderr) == (0, "")
    assert f"old.{kind}: note: column geo.asn: {NULL_BY_NAME}" in found.stdout
    assert pb.probe(f"old.{kind}", "id", 9).is_absent
    required = ("validate", ".", "--require", "geo.asn")
    assert [outcome(*required, *by_name).code for by_name in ([], ["--union-by-name"])] == [1, 0]
    assert pb.probe(".", "geo.asn", 9, union_by_name=True).is_absent
    assert pb.find(".", "geo.asn", [9], union_by_name=True).is_absent
    assert not pb.find(".", "geo.asn", [7], union_by_name=True).is_absent


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_validate_names_it_where_it_helps(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write = (pq if kind == "parquet" else orc).write_table
    for name, column in {"a": "id", "b": "ID", "c": "other"}.items():
        write(pa.table({column: [1, 2]}), f"{name}.{kind}")
    pb.build(f"a.{kind}", in_place=True, columns="id")
    asked = ("validate", ".", "--require", "id")
    # Whether the option is given or not, it does not help a file with the name in another case.
    of_another = (
        f"b.{kind}: error PB310 required-missing: column id: a filter is required but there is no column of exactly"
        " this name; did you mean ID?; next: require the one that was meant, or write the file with this column"
    )
    lines = outcome(*asked).stdout.splitlines()
    assert of_another in lines
    assert [each for each in lines if each.startswith(f"c.{kind}: error") and each.endswith(
        "there is no such column; next: write the file with this column; if other files have it, --union-by-name"
        " requires no filter of this one"
    )]  # fmt: skip
    united = outcome(*asked, "--union-by-name").stdout
    assert of_another in united.splitlines()
    assert "PB310" not in united.replace(of_another, "")


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_what_is_in_a_list_may_be_called_otherwise(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write = (pq if kind == "parquet" else orc).write_table
    write(pa.table({"of": [{"tags": [{"a": 1}]}], "id": [1]}), f"old.{kind}")
    write(pa.table({"of": [{"tags": [{"a": 1, "b": 2}]}], "id": [1]}), f"new.{kind}")
    column = {"parquet": "of.tags.list.element.b", "orc": "of.tags._elem.b"}[kind]
    found = outcome("build", ".", "-c", column, "--in-place", "--union-by-name")
    # The option was given, and is no help.
    assert (found.code, len(found.stderr.splitlines())) == (2, 1)
    assert f"old.{kind}: no column {column}" in found.stderr


HINT = "where a file has no such column, in whatever case, and others have, --union-by-name takes it as null there"


@pytest.fixture(params=["parquet", "orc"])
def names(request, tmp_path, monkeypatch):
    """A file with both columns, and one with the other alone."""
    monkeypatch.chdir(tmp_path)
    write = (pq if request.param == "parquet" else orc).write_table
    found = [f"{name}.{request.param}" for name in "ab"]
    write(pa.table({"id": [5, 7], "other": [1, 2]}), found[0])
    write(pa.table({"other": [1, 2]}), found[1])
    pb.build(found[0], in_place=True, columns="id")
    return found


def test_probe_takes_it_as_null(names):
    report = pb.probe(names, "id", 9, union_by_name=True)
    assert (report.is_absent, len(report)) == (True, 2)
    (result,) = report.reports[1].results
    assert {group.reason for group in result.groups} == {NULL_BY_NAME}
    assert report.reports[1].caveat == NULL_BY_NAME
    found = outcome("probe", *names, "-c", "id", "-v", "9", "--union-by-name")
    assert (found.code, found.stderr) == (1, "")
    assert f"{names[1]}: note: {NULL_BY_NAME}" in found.stdout.splitlines()
    values = pb.probe_values(names, "id", [9, 7], union_by_name=True)
    assert (values.absent, values.maybe, values.files_without_column) == (1, 1, 1)
    found = outcome("probe", *names, "-c", "id", "-v", "9", "--union-by-name", "--by-value")
    assert found.code == 1
    assert (
        "0 maybe in some, 1 file without the column: null there by union-by-name;" in found.stdout
    )


@pytest.mark.parametrize("arguments", [("id", "b"), ("nix", "a"), ("nix", "ab")])
def test_a_column_that_none_of_the_files_has_is_an_error(names, arguments, tmp_path):
    column, which = arguments
    files = [name for name in names if name[0] in which]
    one = files[0] if len(files) == 1 else files
    told = f"{files[0]}: no column {column}; the file has "
    if len(files) > 1:
        told = f"2 files: no column {column}; the files have id, other"
    for verb in (pb.probe, pb.probe_values):
        with pytest.raises(pb.ColumnError, match=told):
            verb(one, column, 9, union_by_name=True)
    with pytest.raises(pb.ColumnError, match=told):
        pb.build(one, tmp_path / "out", columns=column, union_by_name=True)
    for command in (("probe", "-v", "9"), ("build", "--output-dir", "out")):
        found = outcome(*command, *files, "-c", column, "--union-by-name")
        assert (found.code, found.complaint.startswith(told)) == (2, True)
    assert not (tmp_path / "out").exists()


def test_build_takes_the_columns_that_each_file_has(names, tmp_path):
    report = pb.build(
        names, tmp_path / "out", columns=["id", "other"], existing="replace", union_by_name=True
    )
    assert [[each.column for each in one.filters] for one in report] == [["id", "other"], ["other"]]
    assert report.reports[1].notes == (f"column id: {NULL_BY_NAME}",)
    found = outcome("build", *names, "-c", "id", "--in-place", "--union-by-name")
    assert (found.code, found.stderr) == (0, "")
    assert f"{names[1]}: note: column id: {NULL_BY_NAME}" in found.stdout.splitlines()


def test_strip_takes_the_columns_that_each_file_has(names, tmp_path):
    pb.build(names, in_place=True, columns="other")
    strip = ("strip", *names, "-c", "id,other", "--in-place")
    # The hint names the option that helps.
    found = outcome(*strip, "--dry-run")
    assert (found.code, found.stderr.splitlines()) == (
        2, [f"pbloom: {names[1]}: no column id; the file has other", f"pbloom: {HINT}"]
    )  # fmt: skip
    report = pb.strip(names, tmp_path / "out", columns=["id", "other"], union_by_name=True)
    assert [{each.column for each in one.removed} for one in report] == [{"id", "other"}, {"other"}]
    assert report.reports[1].notes == (f"column id: {NULL_BY_NAME}",)
    found = outcome(*strip, "--union-by-name")
    assert (found.code, found.stderr) == (0, "")
    assert f"{names[1]}: note: column id: {NULL_BY_NAME}" in found.stdout.splitlines()
    assert [pb.inspect(each).num_filters for each in names] == [0, 0]
    with pytest.raises(pb.ColumnError, match="2 files: no column nix; the files have id, other"):
        pb.strip(names, tmp_path / "none", columns="nix", union_by_name=True)
    found = outcome("strip", *names, "-c", "nix", "--in-place", "--union-by-name")
    assert (found.code, found.complaint) == (2, "2 files: no column nix; the files have id, other")


def test_validate_requires_no_filter_for_a_column_that_others_have(names):
    for ok in (False, True):
        report = pb.validate(names, require="id", union_by_name=ok)
        assert [each.ok for each in report] == [True, ok]
    found = outcome("validate", *names, "--require", "id", "--union-by-name", "-c", "id")
    assert (found.code, found.stderr) == (0, "")
    found = outcome("validate", *names, "--require", "id")
    assert (found.code, found.complaint) == (1, HINT)
    told = "2 files: no column nix; the files have id, other"
    with pytest.raises(pb.ColumnError, match=told):
        pb.validate(names, require="nix", union_by_name=True)
    found = outcome("validate", *names, "--require", "nix", "--union-by-name")
    assert (found.code, found.complaint) == (2, told)
    assert outcome("validate", *names, "--require", "nix").stderr == ""


def test_the_option_is_named_where_it_would_help(names):
    for command in (("probe", "-v", "9"), ("build", "--dry-run")):
        found = outcome(*command, *names, "-c", "id")
        assert (found.code, found.stderr.splitlines()) == (
            2, [f"pbloom: {names[1]}: no column id; the file has other", f"pbloom: {HINT}"]
        )  # fmt: skip
        assert HINT not in outcome(*command, *names, "-c", "nix").stderr
        assert HINT not in outcome(*command, names[1], "-c", "id").stderr


def test_the_option_is_not_named_for_a_column_in_another_case(names):
    """It does not help there; for one that is only called nearly the same it does."""
    write = pq.write_table if names[0].endswith("parquet") else orc.write_table
    for column, is_named in {"ID": False, "idx": True}.items():
        write(pa.table({column: [5]}), names[1])
        for command in (("probe", "-v", "9"), ("build", "--dry-run"), ("strip", "--dry-run")):
            found = outcome(*command, *names, "-c", "id")
            said = [f"pbloom: {names[1]}: no column id; did you mean {column}?"]
            said += [f"pbloom: {HINT}"] * is_named
            assert (found.code, found.stderr.splitlines()) == (2, said)


def test_a_damaged_file_is_nothing_to_go_by(names):
    shutil.copy(names[1], "c")
    with open(names[0], "wb") as file:
        file.write(b"no file")
    with pytest.raises(pb.ColumnError, match=f"{names[1]}: no column id; the file has other"):
        pb.probe([*names, "c"], "id", 9, union_by_name=True)


def test_a_file_without_it_that_changes_meanwhile_is_unknown_for_that(names, monkeypatch):
    """None has the column: what was null in one is taken back, and not in the other, of which nothing was said."""
    shutil.copy(names[1], names[0])
    find_in = RowSearch._found_in

    def found_in(search, file, places):
        if file.path == names[1]:
            raise OSError(f"{file.path}: changed while it was read")
        return find_in(search, file, places)

    monkeypatch.setattr(RowSearch, "_found_in", found_in)
    report = pb.find(names, "id", [5], union_by_name=True)
    assert [(each.path, each.reason) for each in report.unknown] == [
        (names[1], "changed while it was read"),
        (names[0], "no column id; the file has other"),
    ]
    assert (report.files_without_column, report.files_asked) == (0, 0)


def test_it_is_not_for_tables(names):
    with pytest.raises(TypeError, match=r"^union_by_name: not with table, which says what is null"):
        pb.probe(names, "id", 9, union_by_name=True, table="auto")


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_columns_are_chosen_in_the_files_that_have_them(kind, tmp_path, monkeypatch):
    """As `build --auto` builds them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    for name, columns in {"a": ("id",), "b": ("id", "new"), "c": ("other",)}.items():
        table = pa.table({each: rng.integers(0, 1 << 40, 20_000) for each in columns})
        if kind == "parquet":
            pq.write_table(table, f"{name}.parquet", row_group_size=4_000)
        else:
            orc.write_table(table, f"{name}.orc", row_index_stride=4_000)
    asked = ("-c", "id,new", "--union-by-name")
    advised = outcome("advise", ".", *asked)
    assert (advised.code, advised.stderr) == (0, "")
    assert [
        line.split("; ")[-1] for line in advised.stdout.splitlines() if " rows in " in line
    ] == [
        "build filters for id",
        "build filters for id, new",
        "none of the columns that were asked about",
    ]
    command = "pbloom build . --auto -c id,new --in-place --union-by-name"
    assert advised.stdout.splitlines()[-1] == f"next: {command}"
    built = outcome(*command.split()[1:])
    assert (built.code, built.stderr) == (0, "")
    assert [each.split(", ")[0] for each in built.stdout.splitlines()[:3]] == [
        f"a.{kind}: 5 filters",
        f"b.{kind}: 10 filters",
        f"c.{kind}: no filter built",
    ]
    assert "next: " not in outcome("advise", ".", *asked).stdout


def test_advice_on_columns_by_name_from_python(names):
    reports = pb.advise(names, columns="id", union_by_name=True).reports
    assert [[each.column for each in report.columns] for report in reports] == [["id"], []]
    sample = pb.advise(names, columns="id", union_by_name=True, value_sample={"id": [5]}).reports
    assert [report.columns[0].basis for report in sample if report.columns] == ["value sample"]
    # What a policy requires, and none has, is nothing to advise on.
    policy = pb.Policy(columns={"gone": pb.ColumnPolicy(required=True)})
    for files in (names, names[0]):
        assert pb.advise(files, columns="id", union_by_name=True, policy=policy)
        with pytest.raises(pb.ColumnError, match=r"no column idd; did you mean id\?"):
            pb.advise(files, columns="idd", union_by_name=True)


def test_what_near_column_any_of_the_files_has_is_named(names):
    told = "2 files: no column idd; did you mean id?"
    for options in ({}, {"union_by_name": True}):
        with pytest.raises(pb.ColumnError, match=re.escape(told)):
            pb.find(names[::-1], "idd", 9, **options)
    for command in ("find", "probe"):
        found = outcome(command, *names[::-1], "-c", "idd", "-v", "9", "--union-by-name")
        assert (found.code, found.complaint) == (2, told)
