"""Journals: whole, torn and wrong ones, and what recovery makes of them."""

import errno
import fcntl
import json
import os
import stat
from hashlib import sha256
from pathlib import Path

import pytest
from make.commands import files_in

import parquet_bloom as pb
from parquet_bloom.errors import FormatError, RewriteError
from parquet_bloom.storage import journal
from parquet_bloom.storage.journal import Journal

MODIFIED_NS = 1_600_000_000_000_000_003


@pytest.fixture
def left(source: Path, plain: bytes) -> Path:
    """A file with half an end and a journal, as a kill leaves them."""
    os.utime(source, ns=(MODIFIED_NS, MODIFIED_NS))
    descriptor = os.open(source, os.O_RDWR)
    journal.write_journal(Journal.of(descriptor), journal.journal_of(source))
    os.pwrite(descriptor, bytes(1000), len(plain))
    os.close(descriptor)
    return source


def text_of(path: Path) -> bytes:
    return journal.journal_of(path).read_bytes()


def signed(fields: object) -> bytes:
    line = json.dumps(fields).encode()
    return line + b"\n" + sha256(line).hexdigest().encode() + b"\n"


def test_what_is_in_a_journal(left: Path, plain: bytes) -> None:
    place = left.with_name(f".{left.name}.pbloom-journal")
    assert place.read_bytes() == signed(
        {
            "version": 1,
            "size": len(plain),
            "end_sha256": sha256(plain).hexdigest(),
            "mtime_ns": MODIFIED_NS,
        }
    )


def test_a_file_is_cut_back(left: Path, plain: bytes) -> None:
    report = pb.recover(left)
    assert (report.action, report.size_before, report.size_after) == (
        "cut back", len(plain) + 1000, len(plain)
    )  # fmt: skip
    assert files_in(left.parent) == {left.name: plain}
    assert left.stat().st_mtime_ns == MODIFIED_NS
    assert pb.recover(left).action == "nothing"


def test_a_file_is_cut_back_on_disk_before_its_journal_goes(
    left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the folder is synced then: else a machine that goes down could bring the end back."""
    calls: list[str] = []
    fsync, unlink = os.fsync, os.unlink

    def synced(descriptor: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def removed(path: Path) -> None:
        calls.append("journal")
        unlink(path)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "unlink", removed)
    pb.recover(left)
    assert calls == ["file", "journal", "folder"]


def test_a_dry_run_changes_nothing(left: Path, plain: bytes) -> None:
    before = files_in(left.parent)
    report = pb.recover(left, dry_run=True)
    assert (report.action, report.size_after) == ("cut back", len(plain))
    assert files_in(left.parent) == before


def test_whoever_opens_it_recovers_it(left: Path, plain: bytes) -> None:
    assert pb.inspect(left).size == len(plain)
    assert files_in(left.parent) == {left.name: plain}
    assert left.stat().st_mtime_ns == MODIFIED_NS


def test_whoever_changes_it_recovers_it(left: Path, plain: bytes, expected: bytes) -> None:
    pb.build(left, in_place=True, columns=["a"])
    assert files_in(left.parent) == {left.name: expected}


def test_whoever_writes_over_it_recovers_it(left: Path, plain: bytes, tmp_path: Path) -> None:
    """Or its journal would fit nothing any more."""
    other = tmp_path / "other.parquet"
    other.write_bytes(plain)
    pb.build(other, left, columns=["a"], overwrite=True)
    assert os.listdir(left.parent) == [left.name]


def test_a_link_leads_to_the_journal(left: Path, plain: bytes, tmp_path: Path) -> None:
    link = tmp_path / "link.parquet"
    link.symlink_to(left)
    assert pb.recover(link).action == "cut back"
    assert files_in(left.parent) == {left.name: plain}


def test_a_journal_without_an_end(left: Path, plain: bytes) -> None:
    os.truncate(left, len(plain))
    assert pb.inspect(left).size == len(plain)
    assert pb.recover(left).action == "journal removed"
    assert files_in(left.parent) == {left.name: plain}
    assert left.stat().st_mtime_ns == MODIFIED_NS


def test_a_torn_journal_at_every_byte(left: Path) -> None:
    """It never was complete, so nothing was appended: whatever the file is, it stays."""
    text, data, place = text_of(left), left.read_bytes(), journal.journal_of(left)
    for cut in range(len(text)):
        for torn in (text[:cut], text[:cut] + bytes(len(text) - cut)):
            place.write_bytes(torn)
            assert Journal.parse(torn) is None
            assert pb.recover(left).action == "journal removed"
            assert files_in(left.parent) == {left.name: data}


def test_a_journal_with_any_other_byte(left: Path) -> None:
    text, data, place = text_of(left), left.read_bytes(), journal.journal_of(left)
    for at in range(len(text)):
        assert Journal.parse(text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]) is None
    place.write_bytes(text + b"\n")
    assert pb.recover(left).action == "journal removed"
    assert left.read_bytes() == data


def fits_not(path: Path) -> str:
    return (
        f"{path}: was changed or replaced after a build was killed: its journal,"
        f" {journal.journal_of(path)}, no longer matches: nothing was changed; delete the journal if"
        " the file is right"
    )


def refused(path: Path, message: str) -> None:
    """By recovery, and by whoever changes the file; nothing is touched."""
    before = files_in(path.parent)
    with pytest.raises(RewriteError) as error:
        pb.recover(path)
    assert str(error.value) == message
    with pytest.raises(RewriteError) as error:
        pb.build(path, in_place=True, columns=["a"])
    assert str(error.value) == message
    assert files_in(path.parent) == before


def test_a_file_that_was_replaced(left: Path, filtered: bytes) -> None:
    """By a longer one, which is read as ever."""
    left.write_bytes(filtered)
    assert len(filtered) > json.loads(text_of(left).splitlines()[0])["size"]
    refused(left, fits_not(left))
    assert pb.validate(left).ok


def test_a_file_that_was_cut(left: Path, plain: bytes) -> None:
    left.write_bytes(plain[:-1])
    refused(left, fits_not(left))
    with pytest.raises(FormatError) as error:
        pb.inspect(left)
    assert str(error.value) == fits_not(left)


def test_a_file_with_another_byte_at_its_old_end(left: Path, plain: bytes) -> None:
    data = bytearray(left.read_bytes())
    data[len(plain) - 5] ^= 1
    left.write_bytes(data)
    refused(left, fits_not(left))


def test_a_file_that_is_gone(left: Path) -> None:
    left.rename(left.with_name("away"))
    with pytest.raises(RewriteError) as error:
        pb.recover(left)
    assert str(error.value) == (
        f"{left}: no such file, but its journal is still there, {journal.journal_of(left)}: put the"
        " file"
        " back, or delete the journal"
    )


WHOLE = {"version": 1, "size": 0, "end_sha256": sha256(b"").hexdigest(), "mtime_ns": 0}


@pytest.mark.parametrize(
    "fields",
    [
        {**WHOLE, "version": 2},
        {**WHOLE, "size": "0"},
        {**WHOLE, "size": True},
        {**WHOLE, "end_bytes": 0},
        {"version": 1},
        {},
        None,
        [1],
        7,
    ],
    ids=str,
)
def test_a_journal_that_we_did_not_write(left: Path, fields: object) -> None:
    place = journal.journal_of(left)
    place.write_bytes(signed(fields))
    refused(
        left, f"{left}: {place}, the journal of a build, was not written by this version of pbloom"
    )


def test_sizes_that_cannot_be(left: Path) -> None:
    for size in (-1, 1 << 70):
        journal.journal_of(left).write_bytes(signed({**WHOLE, "size": size}))
        refused(left, fits_not(left))


def test_somebody_elses_journal_in_a_folder_of_all(
    left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They could not cut the file themselves."""
    real = os.lstat
    place = journal.journal_of(left)

    class Theirs:
        st_uid = 4711
        st_mode = real(place).st_mode

    monkeypatch.setattr(os, "lstat", lambda path: Theirs if path == place else real(path))
    left.parent.chmod(0o1777)
    refused(left, f"{left}: its journal, {place}, belongs to another user: not cut back")
    left.parent.chmod(0o777)
    assert pb.recover(left).action == "cut back"


def test_a_build_that_is_at_work(left: Path) -> None:
    message = f"{left}: another build is changing it or holds its lock: wait until it is done"
    descriptor = journal.open_locked(left, left)
    refused(left, message)
    with pytest.raises(FormatError) as error:
        pb.inspect(left)
    assert str(error.value) == message
    os.close(descriptor)
    assert pb.recover(left).action == "cut back"


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_where_nothing_can_be_written(
    left: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    real = os.open

    def opening(path: object, flags: int, *more: int, **named: int) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY):
            raise OSError(code, os.strerror(code), str(path))
        return real(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", opening)
    message = (
        f"{left}: has the unfinished end of a build that was killed, and cannot be written"
        f" ({os.strerror(code)}): run `pbloom recover {left}` where it can"
    )
    refused(left, message)
    with pytest.raises(FormatError) as error:
        pb.probe(left, "a", 7)
    assert str(error.value) == message


def test_the_command_that_cuts_back_can_be_pasted() -> None:
    assert journal.undone_by(Path("my lake/a.parquet")) == "`pbloom recover 'my lake/a.parquet'`"


def test_a_file_system_without_locks(left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    refused(
        left,
        f"{left}: its file system has no locks (No locks available), so appending is not safe: replace the file"
        " instead",
    )


def test_paths_beside_which_no_journal_can_be(tmp_path: Path, plain: bytes) -> None:
    """Broken files are what they were without journals."""
    path = tmp_path / ("x" * 250)
    path.write_bytes(plain[:-1])
    with pytest.raises(FormatError, match="PAR1"):
        pb.inspect(path)
    with pytest.raises(FileNotFoundError):
        pb.recover(tmp_path / "none")
    with pytest.raises(IsADirectoryError, match="is a folder, expected a file"):
        pb.recover(tmp_path)
    with pytest.raises(RewriteError, match=r"^s3://bucket/x: expected a local file"):
        pb.recover("s3://bucket/x")


def test_a_folder_in_place_of_a_journal(source: Path, plain: bytes) -> None:
    journal.journal_of(source).mkdir()
    assert pb.recover(source).action == "nothing"
    with pytest.raises(RewriteError, match="a build that was killed left a journal"):
        pb.build(source, append_in_place=True, columns=["a"])
    assert source.read_bytes() == plain
