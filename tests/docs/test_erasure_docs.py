"""Every command and every example of docs/erasure.md runs, in their order, over plain files, a Delta table and an
Iceberg table."""

import re
import shlex
from pathlib import Path
from runpy import run_path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT
from deltalake import write_deltalake
from make.commands import outcome
from make.iceberg_tables import use_catalog
from pyarrow import orc
from pyiceberg.catalog import load_catalog

import parquet_bloom as pb
from parquet_bloom.verbs.account import SCHEMA

PAGE = (ROOT / "docs" / "erasure.md").read_text()
IDS = [7, 8]


def rows(start: int) -> pa.Table:
    return pa.table({"user_id": pa.array(range(start, 60, 2), pa.int64())})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_catalog(tmp_path, monkeypatch, "lab")
    pq.write_table(pa.table({"user_id": IDS}), tmp_path / "ids.parquet")
    for name in ("lake", "grown", "people"):
        (tmp_path / name).mkdir()
    pq.write_table(rows(10), tmp_path / "grown/new.parquet")
    pq.write_table(pa.table({"name": ["a"]}), tmp_path / "grown/old.parquet")
    (tmp_path / "emails.csv").write_text("email\na@b.org\n")
    people = rows(10).append_column("email", pa.array([f"{n}@b.org" for n in range(25)]))
    pq.write_table(people, tmp_path / "people/a.parquet")
    catalog = load_catalog("lab")
    catalog.create_namespace("lake")
    table = catalog.create_table("lake.events", rows(0).schema)
    for start in range(2):
        pq.write_table(rows(start), tmp_path / f"lake/{start}.parquet", row_group_size=5)
        write_deltalake(tmp_path / "delta", rows(start), mode="append")
        table.append(rows(start))
    return tmp_path


def run(kind: str, text: str) -> None:
    if kind == "python":
        Path("example.py").write_text(text)
        run_path("example.py")
        return
    for line in text.splitlines():
        expected = re.search(r"# exit code (\d)$", line)
        command, _, kept_in = line.partition(" > ")
        ended = outcome(*shlex.split(command, comments=True)[1:])
        if kept_in:
            Path(kept_in).write_text(ended.stdout)
        assert ended.code == int(expected[1] if expected else 0), (line, ended.stderr)


def states(path: Path) -> dict[str, str]:
    table = pq.read_table(path, filters=[("state", "!=", "asked")])
    return dict(zip(table["value"].to_pylist(), table["state"].to_pylist(), strict=True))


def test_its_commands_and_examples_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for kind, text in re.findall(r"^```(sh|python)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        run(kind, text)
        if "by-email" in text and kind == "python":
            assert capsys.readouterr().out.endswith("\nTrue\n")
    assert states(folder / "before.parquet") == {"7": "found", "8": "found"}
    assert states(folder / "by-email.parquet") == {"a@b.org": "absent"}
    for name in ("after", "proof", "delta", "iceberg", "grown", "by-id"):
        assert states(folder / f"{name}.parquet") == {"7": "absent", "8": "absent"}, name
    (proof, *_) = pq.read_table(folder / "proof.parquet").to_pylist()
    assert (proof["index"], proof["generation"]) == ("users.index", 1)
    assert (proof["num_files"], proof["files_by_index"], proof["files_read"]) == (2, 2, 0)
    for path in (folder / "lake").iterdir():
        file = pb.inspect(path)
        assert [part.num_rows for part in file.parts] == [4, 5, 5, 5, 5, 5]
        assert file.num_filters == 6
    left = pa.concat_tables([pq.read_table(path) for path in (folder / "lake").iterdir()])
    assert sorted(left["user_id"].to_pylist()) == sorted({*range(60)} - {*IDS})


def test_its_example_writes_files_of_either_format_and_of_text_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    lake = folder / "lake"
    text = rows(0).cast(pa.schema([("user_id", pa.string())]))
    pq.write_table(text, lake / "text.parquet")
    categories = pa.table({"user_id": text["user_id"].combine_chunks().dictionary_encode()})
    pq.write_table(categories, lake / "categories.parquet")
    orc.write_table(rows(1), lake / "o.orc", compression="zstd")
    (folder / "ids.txt").write_text("7\n8\n")
    account = ("--report", "before.parquet")
    assert outcome("find", "lake", "-c", "user_id", "--ids", "ids.txt", *account).code == 0
    (example,) = (
        each
        for each in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
        if ".new" in each
    )
    # What cannot be written leaves nothing behind.
    pq.write_table(pa.table({"user_id": ["7", "x"]}), "ids.parquet")
    with pytest.raises(pa.ArrowInvalid):
        run("python", example)
    assert not [*lake.glob("*.new")]
    pq.write_table(pa.table({"user_id": IDS}), "ids.parquet")
    run("python", example)
    assert outcome("find", "lake", "-c", "user_id", "--ids", "ids.txt").code == 1
    for name in ("text", "categories"):
        assert pq.read_table(lake / f"{name}.parquet").num_rows == 29
    assert orc.ORCFile(lake / "o.orc").compression == "ZSTD"


def test_every_column_of_the_account_is_described() -> None:
    (section,) = re.findall(r"^## The account\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    first_cells = "".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE))
    assert re.findall(r"`(\w+)`", first_cells) == SCHEMA.names
