"""Values that are nowhere, as they look like several in one, or like a pattern."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome

import parquet_bloom as pb

SEVERAL = "'FR,XX' was looked up as one value; if it is several: -v FR -v XX"
NO_PATTERN = (
    "'D*' was looked up as is: filters hold whole values, so they cannot be asked for a pattern"
)


@pytest.fixture(autouse=True)
def _built(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"c": ["AT", "x,y"]}), "a.parquet")
    pb.build("a.parquet", in_place=True, columns="c")
    assert outcome("index", "build", "a.parquet", "-c", "c", "--index", "an.index").code == 0


@pytest.mark.parametrize(
    "asked",
    [
        ["probe", "a.parquet"],
        ["find", "a.parquet"],
        ["index", "probe", "--index", "an.index", "a.parquet"],
    ],
)
@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["FR,XX"], SEVERAL),
        (["FR", "D*"], NO_PATTERN),
        (["FR,X X"], "'FR,X X' was looked up as one value; if it is several: -v FR -v 'X X'"),
        (["50%"], "'50%' was looked up as is: filters hold whole values, so they cannot be asked for a pattern"),
    ],
)  # fmt: skip
def test_it_is_said_how_they_were_understood(asked, values, said):
    found = outcome(*asked, "-c", "c", *(word for each in values for word in ("-v", each)))
    assert (found.code, found.stderr) == (1, f"pbloom: {said}\n")


@pytest.mark.parametrize("values", [["x,y"], ["'FR,XX'"], ["FR"], ["*"], ["FR,"], ["AT", "D*"]])
def test_not_of_others(values):
    found = outcome(
        "probe", "a.parquet", "-c", "c", *(word for each in values for word in ("-v", each))
    )
    assert found.stderr == ""


def test_nor_of_those_in_files():
    with open("values.csv", "w") as file:
        file.write('c\n"FR,XX"\n')
    found = outcome("probe", "a.parquet", "-c", "c", "--values-from", "values.csv")
    assert (found.code, found.stderr) == (1, "")
