"""`pbloom recover`: files, folders, globs; what it prints, and its exit codes."""

import errno
import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from make.commands import outcome
from make.parquet_files import written

from parquet_bloom.storage import journal
from parquet_bloom.storage.journal import Journal


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A sound file, one that has to be cut back, in a hidden folder, and one with a torn journal."""
    for name in ("sound.parquet", ".hidden/cut.parquet", "torn.parquet"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"whole")
    (tmp_path / "sound.parquet").write_bytes(written(pa.table({"a": [1, 2, 3]})))
    cut = tmp_path / ".hidden" / "cut.parquet"
    descriptor = os.open(cut, os.O_RDWR)
    journal.write_journal(Journal.of(descriptor), journal.journal_of(cut))
    os.close(descriptor)
    cut.write_bytes(b"whole, and more")
    journal.journal_of(tmp_path / "torn.parquet").touch()
    return tmp_path


def test_one_file(lake: Path) -> None:
    cut = lake / ".hidden" / "cut.parquet"
    done = f"{cut}: cut back from 15 to 5 bytes\n"
    dry = outcome("recover", cut, "--dry-run")
    assert (dry.code, dry.output) == (0, done.replace(": ", " (dry run): ", 1))
    assert outcome("recover", cut).output == done
    assert cut.read_bytes() == b"whole"
    torn = lake / "torn.parquet"
    assert outcome("recover", torn).output == (
        f"{torn}: journal removed; nothing had been appended\n"
    )


def test_one_without_a_journal(tmp_path: Path) -> None:
    """Of one that cannot be read, nobody is told that there is nothing to recover."""
    sound, cut, text = (tmp_path / name for name in ("sound.parquet", "cut.parquet", "a.txt"))
    sound.write_bytes(written(pa.table({"a": [1, 2, 3]})))
    cut.write_bytes(sound.read_bytes()[:-10])
    text.write_bytes(b"text")
    result = outcome("recover", sound)
    assert (result.code, result.output) == (
        0,
        f"{sound}: no journal beside it: nothing to recover; pbloom strip takes filters of finished builds out again\n",
    )
    result = outcome("recover", cut)
    assert (result.code, result.stdout) == (2, "")
    assert result.complaint == (
        f"{cut}: truncated or not a Parquet file: does not end with PAR1; if it was one, its end is lost: take another"
        " copy"
    )
    result = outcome("recover", cut, sound, text)
    assert result.code == 2
    assert (
        f"pbloom: {text}: not a Parquet file: 4 bytes, expected 12 or more; what is in another"
        in result.stderr
    )
    assert result.stdout.splitlines()[-1] == ("3 files: 1 without a journal, 2 failed; 0 B cut off")


def test_a_command_that_reads_says_that_it_cuts_a_file_back(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    file.write_bytes(written(pa.table({"a": [1, 2, 3]})))
    size = file.stat().st_size
    descriptor = os.open(file, os.O_RDWR)
    journal.write_journal(Journal.of(descriptor), journal.journal_of(file))
    os.close(descriptor)
    with file.open("ab") as appended:
        appended.write(b"and")
    result = outcome("inspect", file)
    assert result.code == 0
    assert result.complaint == (
        f"{file}: had the unfinished end of a build that was killed: cut back from {size + 3:,} to {size:,} bytes"
    )
    assert outcome("inspect", file).stderr == ""


def test_a_folder(lake: Path) -> None:
    lines = [
        f"{lake}/torn.parquet: journal removed; nothing had been appended",
        f"{lake}/.hidden/cut.parquet: cut back from 15 to 5 bytes",
    ]
    dry = outcome("recover", lake, "--dry-run")
    assert (dry.code, dry.output.splitlines()) == (
        0,
        [
            *lines,
            "2 files: 1 journal removed, 1 cut back; 10 B cut off; dry run: nothing was written",
        ],
    )
    result = outcome("recover", lake, lake / "torn.parquet")
    assert result.output.splitlines() == [
        *lines,
        "2 files: 1 journal removed, 1 cut back; 10 B cut off",
    ]
    assert sorted(os.listdir(lake)) == [".hidden", "sound.parquet", "torn.parquet"]
    assert os.listdir(lake / ".hidden") == ["cut.parquet"]
    result = outcome("recover", lake)
    assert (result.code, result.output) == (0, "no journals: nothing to recover\n")


def test_json(lake: Path) -> None:
    result = outcome("recover", lake, "--json")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {
            "path": f"{lake}/torn.parquet", "action": "journal removed",
            "size_before": 5, "size_after": 5, "dry_run": False,
        },
        {
            "path": f"{lake}/.hidden/cut.parquet", "action": "cut back",
            "size_before": 15, "size_after": 5, "dry_run": False,
        },
    ]  # fmt: skip
    result = outcome("recover", lake, "--json")
    assert (result.code, result.output) == (0, "")


def test_globs(lake: Path) -> None:
    result = outcome("recover", lake / "*.parquet", lake / ".h*")
    assert result.output.splitlines()[-1] == (
        "3 files: 1 without a journal, 1 journal removed, 1 cut back; 10 B cut off"
    )


def test_what_is_not_there(lake: Path) -> None:
    result = outcome("recover", lake / "none", lake / "no*ne", "s3://bucket/file", "")
    assert (result.code, result.stdout) == (2, "")
    assert sorted(result.stderr.splitlines()) == [
        f"pbloom: {lake}/no*ne: No such file or directory",
        f"pbloom: {lake}/none: No such file or directory",
        "pbloom: an empty name, expected a local file",
        "pbloom: s3://bucket/file: is a URL, expected a local file",
    ]


@pytest.mark.parametrize("closed", [".", ".hidden"])
def test_a_folder_that_cannot_be_listed(
    lake: Path, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    listed = os.scandir

    def scandir(path: str) -> object:
        if Path(path) == lake / closed:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    result = outcome("recover", lake, lake / "none")
    assert result.code == 2
    assert result.stderr.splitlines() == [
        f"pbloom: {lake / closed}: a folder that cannot be listed: Permission denied",
        f"pbloom: {lake}/none: No such file or directory",
    ]
    assert ("1 journal removed" in result.stdout) is (closed != ".")


def test_one_that_is_refused_among_others(lake: Path) -> None:
    cut = lake / ".hidden" / "cut.parquet"
    cut.write_bytes(b"other")
    result = outcome("recover", lake)
    assert result.code == 2
    assert result.complaint.startswith(f"{cut}: was changed or replaced after a build was killed")
    assert result.stdout.splitlines()[-1] == ("2 files: 1 journal removed, 1 failed; 0 B cut off")
    assert cut.read_bytes() == b"other"


def test_no_journal_is_a_file_that_was_left_out(tmp_path: Path) -> None:
    """It holds no rows, and goes where the file is cut back."""
    cut = tmp_path / "lake" / "cut.parquet"
    for command in (("inspect",), ("find", "-c", "a", "-v", "1"), ("strip", "--in-place")):
        cut.parent.mkdir(exist_ok=True)
        cut.write_bytes(written(pa.table({"a": [1, 2, 3]})))
        descriptor = os.open(cut, os.O_RDWR)
        journal.write_journal(Journal.of(descriptor), journal.journal_of(cut))
        os.pwrite(descriptor, b"more", cut.stat().st_size)
        os.close(descriptor)
        told = outcome(*command, cut.parent).stderr
        assert not journal.is_left(cut)
        assert "left out" not in told
