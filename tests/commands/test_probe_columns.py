"""`probe -c a,b`: the same values asked of each column, and an answer for each."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import on_a_terminal, outcome
from pyarrow import orc

import parquet_bloom as pb


def copied(name):
    """The name of another file of the same content."""
    return shutil.copy(name, f"copy.{name}")


@pytest.fixture(params=["parquet", "orc"])
def name(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = f"a.{request.param}"
    table = pa.table({"id": range(100), "other": range(1000, 1100), "a,b": range(100)})
    (pq if request.param == "parquet" else orc).write_table(table, name)
    pb.build(name, in_place=True, columns=["id", "other", "a,b"])
    return name


def test_spaces_around_commas_are_no_part_of_names(name):
    asked = ("probe", name, "-v", "7", "-c")
    assert outcome(*asked, 'other , "a,b" , id ') == outcome(*asked, 'other,"a,b",id')
    assert outcome(*asked, 'other," id"').code == outcome(*asked, 'other,"id "').code == 2


def test_a_partition_is_no_column(name):
    Path("lake/id2=1").mkdir(parents=True)
    Path("lake/id2=2").mkdir()
    for folder in ("lake/id2=1", "lake/id2=2"):
        shutil.copy(name, f"{folder}/{name}")
    partition = "it is a partition: its values are in the paths, not in the files"
    told = f"pbloom: lake/id2=1/{name}, lake/id2=2/{name}: no column id2; {partition}"
    for command in (["build", "-c", "id2", "--in-place"], ["probe", "-c", "id2", "-v", "7"]):
        found = outcome(*command, "lake")
        assert (found.code, found.stderr.splitlines()) == (2, [told])
    file, _ = documents("validate", "lake", "--require", "id2")
    message = f"a filter is required but there is no column of exactly this name; {partition}"
    assert message in [finding["message"] for finding in file["findings"]]
    # A name that is alike is still one, in a folder that is called otherwise.
    found = outcome("probe", f"lake/id2=1/{name}", "-c", "id=", "-v", "7")
    assert found.complaint == f"lake/id2=1/{name}: no column id=; did you mean id, id2?"


def documents(*arguments):
    return [json.loads(line) for line in outcome(*arguments, "--json").stdout.splitlines()]


def test_one_document_for_each_file_and_column(name):
    files = [name, copied(name)]
    found = documents("probe", *files, "-c", "other,id", "-v", "7")
    assert [each["path"] for each in found] == 2 * files
    assert [each["column"] for each in found] == ["other", "other", "id", "id"]
    verdicts = [each["results"][0]["verdict"] for each in found]
    assert verdicts == ["absent", "absent", "maybe", "maybe"]


def test_each_document_is_that_of_its_column_alone(name):
    """The bytes read included."""
    both = documents("probe", name, "-c", "id", "-c", "other", "-v", "7", "-v", "1007")
    alone = [
        documents("probe", name, "-c", column, "-v", "7", "-v", "1007")[0]
        for column in ("id", "other")
    ]
    assert both == alone


def test_text_names_the_column(name):
    titles = [
        line.split(", ")[0]
        for line in outcome("probe", name, "-c", "id,other", "-v", "7").stdout.splitlines()
        if line.startswith(name)
    ]
    assert titles == [f"{name}: id", f"{name}: other"]


def test_several_files_are_summed_up_column_by_column(name):
    lines = outcome("probe", name, copied(name), "-c", "id,other", "-v", "7").stdout.splitlines()
    assert [line for line in lines if line.startswith("column ")] == ["column id", "column other"]
    assert [line.split("; ")[0] for line in lines if line.startswith("2 files")] == [
        "2 files: 2 to read",
        "2 files: 2 absent",
    ]


def test_names_without_files_are_complained_about_once(name):
    result = outcome("probe", name, "nothing*", "-c", "id,other", "-v", "7", "--json")
    assert (result.code, result.complaint) == (2, "nothing*: no Parquet or ORC files")


def test_the_exit_code_is_no_only_if_no_column_has_any(name):
    assert outcome("probe", name, "-c", "other,id", "-v", "7").code == 0
    assert outcome("probe", name, "-c", "other,id", "-v", "-7").code == 1


def test_a_name_with_a_comma_is_quoted(name):
    (found,) = documents("probe", name, "-c", '"a,b"', "-v", "7")
    assert (found["column"], found["results"][0]["verdict"]) == ("a,b", "maybe")


def test_a_column_twice_is_asked_once(name):
    assert len(documents("probe", name, "-c", "id,id", "-v", "7")) == 1


def test_a_column_that_is_missing_does_not_keep_the_first_from_answering(name):
    result = outcome("probe", name, "-c", "id,nothing", "-v", "7", "--json")
    assert result.code == 2
    assert json.loads(result.stdout)["column"] == "id"
    assert result.complaint.startswith(f"{name}: ")


def test_groups_to_read_are_those_of_one_column(name):
    result = outcome("probe", name, "-c", "id,other", "-v", "7", "--groups-to-read")
    assert (result.code, result.stdout) == (2, "")
    assert "expected --groups-to-read with one --column" in result.stderr


@pytest.mark.parametrize("ending", ["parquet", "orc"])
def test_filters_that_may_be_full_are_told(tmp_path, ending):
    """By the one block that is read. Nothing is said of a value in a filter that has clear bits."""
    path, built = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    numbers = pa.table({"id": [7 * number for number in range(4_000)]})
    if ending == "parquet":
        pq.write_table(numbers, path, row_group_size=2_000)
        pb.build(path, built, columns="id", max_bytes=64, force=True)
    else:
        orc.write_table(numbers, path)
        pb.build(path, built, columns="id", ndv=1, fpp=0.5, force=True)
    where = "row groups 0, 1" if ending == "parquet" else "stripe 0, index group 0"
    note = (
        f"note, {where}: all bits that were read are set, so filters may be full and exclude nothing:"
        " `pbloom validate` tells"
    )
    for more in ((), ("--explain",), ("-v", "14")):
        assert note in outcome("probe", built, "-c", "id", "-v", "7", *more).stdout.splitlines()
    (found,) = pb.probe(built, "id", 7).results
    assert {(each.verdict, each.reason) for each in found.groups} == {("maybe", None)}
    summed_up = outcome("probe", path, built, "-c", "id", "-v", "7").stdout
    assert f"{built}: {note}" in summed_up.splitlines()
    pb.build(path, built, columns="id", overwrite=True)
    assert "note, " not in outcome("probe", built, "-c", "id", "-v", "7").stdout


def test_a_terminal_sums_up_many_values(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = "a.parquet"
    pq.write_table(pa.table({"id": range(0, 100, 2)}), path)
    pb.build(path, columns="id", in_place=True)
    values = [word for number in range(0, 200, 2) for word in ("-v", number)]
    asked = ("probe", path, "-c", "id", *values)
    lines = on_a_terminal(80, *asked)
    assert lines[1] == "100 values: 50 maybe, 50 absent; 50 of 50 rows to read"
    assert len(lines) == 2 + 2 + 40 + 1
    assert lines[-1] == "And 60 more rows: --verbose shows all."
    assert len(outcome(*asked).stdout.splitlines()) == 2 + 100
    assert len(on_a_terminal(80, *asked, "--verbose")) == 1 + 2 + 100


def test_an_explanation_names_its_column(name):
    found = outcome("probe", name, "-c", 'id,"a,b"', "-v", "7", "--explain").stdout.splitlines()
    assert [line for line in found if "\t" not in line] == [f"{name}: id", f'{name}: "a,b"']
