"""A local file that is not there: one beside it that is called much the same is named."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome

from parquet_bloom.storage import near_names
from parquet_bloom.storage.near_names import near_name


@pytest.fixture
def lake(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").mkdir()
    for name in ("events.parquet", "lake/part-0.parquet", "lake/part-1.parquet", "other.orc"):
        (tmp_path / name).touch()


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("event.parquet", "events.parquet"),
        ("events.paruqet", "events.parquet"),
        ("events", "events.parquet"),
        ("Events.parquet", "events.parquet"),
        ("./event.parquet", "./events.parquet"),
        ("lake/part0.parquet", "lake/part-0.parquet"),
        ("lakes", "lake"),
        # Others of a series, and what has only the suffix.
        ("lake/part-2.parquet", None),
        ("users.parquet", None),
        ("events.parquet", None),
        ("nowhere/event.parquet", None),
        ("s3://bucket/event.parquet", None),
    ],
)
def test_what_is_near(name, near):
    assert near_name(name) == near


@pytest.mark.usefixtures("lake")
def test_an_index_is_not_meant_where_data_is(tmp_path):
    """For a lake that was moved."""
    pq.write_table(pa.table({"id": [1]}), "lake/part-0.parquet")
    Path("lake/part-1.parquet").unlink()
    assert outcome("index", "build", "--index", "lake.index", "-c", "id", "lake").code == 0
    Path("lake").rename("moved")
    told = outcome("index", "add", "--index", "lake.index").complaint
    assert told.startswith(
        f"{tmp_path}/lake: No such file or directory; the index has 1 file of it: "
    )


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize("other", ["events.csv", "events.gz"])
def test_data_is_meant_before_what_is_called_so_too(other):
    """Of both, what is spelled more alike is not the file that can be read."""
    Path(other).touch()
    assert near_name("events") == "events.parquet"


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize(
    "arguments",
    [
        "build event.parquet -c id -o out.parquet", "inspect event.parquet", "validate event.parquet",
        "find event.parquet -c id -v 1",
    ],
)  # fmt: skip
def test_commands_name_it(arguments):
    result = outcome(*arguments.split())
    complaint = "event.parquet: no such file; did you mean events.parquet?"
    assert (result.code, result.complaint) == (2, complaint)


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize("arguments", ["diff event.parquet other.orc", "dump event.parquet -c id"])
def test_where_a_file_is_opened_by_itself(arguments):
    said = "event.parquet: no such file; did you mean events.parquet?"
    assert outcome(*arguments.split()).complaint == said


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize(
    ("name", "near", "shown"),
    [
        ("my event.parquet", "my events.parquet", "'my events.parquet'"),
        ("line.parquet", "lin\te.parquet", r"$'lin\te.parquet'"),
    ],
)
def test_what_is_near_is_quoted_for_a_shell(name, near, shown, tmp_path):
    (tmp_path / near).touch()
    assert outcome("inspect", name).complaint == f"{name}: no such file; did you mean {shown}?"
    said = f"{name}: no such file; did you mean {shown}?"
    assert outcome("dump", name, "-c", "id").complaint == said


@pytest.mark.usefixtures("lake")
def test_only_a_few_names_of_a_folder_are_looked_at(monkeypatch):
    monkeypatch.setattr(near_names, "_MOST_NAMES", 0)
    assert near_name("event.parquet") is None


@pytest.mark.usefixtures("lake")
def test_only_for_a_few_names_one_is_looked_for():
    names = [f"{'x' * each}/a" for each in range(1, 21)]
    assert "did you mean" not in outcome("inspect", *names, "event.parquet").stderr
    assert "did you mean" in outcome("inspect", *names[1:], "event.parquet").stderr
