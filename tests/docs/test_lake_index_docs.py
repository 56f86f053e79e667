"""Every command of docs/lake-index.md runs, on a small lake."""

import shlex
from pathlib import Path
from runpy import run_path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT
from deltalake import write_deltalake
from make.commands import outcome
from make.documents import blocks

import parquet_bloom as pb

PAGE = (ROOT / "docs" / "lake-index.md").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    (folder / "lake").mkdir()
    for number in range(3):
        pq.write_table(pa.table({"user_id": range(number, 90)}), folder / "plain")
        pb.build(folder / "plain", folder / f"lake/{number}.parquet", columns=["user_id"])
    (folder / "ids.txt").write_text("42\n1000\n")
    write_deltalake(folder / "events", pa.table({"user_id": range(90)}))
    return folder


def test_its_commands_and_its_example_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for command in "".join(blocks(PAGE, "sh")).splitlines():
        run = outcome(*shlex.split(command, comments=True)[1:])
        assert run.code == 0, (command, run.stderr)
        assert "unknown" not in run.stdout
    example = "\n".join([*blocks(PAGE, "python"), "print(new.tolist())"])
    Path("example.py").write_text(example)
    run_path("example.py")
    first, _, new = capsys.readouterr().out.splitlines()
    assert new == "[False, True]"
    assert first == "42 maybe " + str(
        [str(folder / f"lake/{number}.parquet") for number in range(3)]
    )
