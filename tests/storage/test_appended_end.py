"""An end that is appended to a file where it is: what is written, and what becomes of it when anything
fails or anybody else is at work."""

import errno
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES
from make.commands import files_in, outcome, pbloom
from make.encrypted_files import PLAIN, encrypted
from make.encrypting import FOOTER_KEY, Recipe
from make.wrong_bytes import read_back_wrongly

import parquet_bloom as pb
from parquet_bloom.errors import RewriteError, UnsupportedError
from parquet_bloom.program import EndedError
from parquet_bloom.storage import journal
from parquet_bloom.storage.local_output import AppendedEnd

MODIFIED_NS = 1_600_000_000_000_000_003
APPEND = ("-c", "a", "--append-in-place")


@pytest.fixture
def file(source: Path) -> Path:
    os.utime(source, ns=(MODIFIED_NS, MODIFIED_NS))
    return source


@pytest.fixture
def appended(file: Path) -> bytes:
    """What the file must become."""
    output = file.parent.parent / "appended.parquet"
    pb.build(file, output, columns=["a"], layout="append")
    return output.read_bytes()


def is_as_before(file: Path, plain: bytes) -> bool:
    return files_in(file.parent) == {file.name: plain} and file.stat().st_mtime_ns == MODIFIED_NS


def test_it_is_the_file_that_append_makes(file: Path, plain: bytes, appended: bytes) -> None:
    inode = file.stat().st_ino
    report = pb.build(file, append_in_place=True, columns=["a"])
    assert (report.output, report.size_after, report.notes) == (str(file), len(appended), ())
    assert files_in(file.parent) == {file.name: appended}
    assert file.stat().st_ino == inode
    assert appended.startswith(plain)


def test_ends_behind_ends(file: Path, plain: bytes) -> None:
    """Nothing is cut off, and filters stay where they are."""
    pb.build(file, append_in_place=True, columns=["a"])
    once = file.read_bytes()
    pb.build(file, append_in_place=True, columns=["s"])
    twice = file.read_bytes()
    assert twice.startswith(once)
    pb.build(file, append_in_place=True, columns=["a", "s"], existing="replace")
    assert file.read_bytes().startswith(twice)
    assert pb.inspect(file).earlier_ends == (len(plain), len(once), len(twice))
    assert pb.validate(file).ok
    # As it always was, `layout` append cuts back to the first end.
    pb.build(file, in_place=True, columns=["l.list.element"], layout="append")
    assert pb.inspect(file).earlier_ends == (len(plain),)
    pb.strip(file, in_place=True)
    assert file.read_bytes() == plain


def test_what_is_written(
    file: Path, plain: bytes, appended: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new end, in one piece after the other, with the last bytes on their own at the end."""
    written: list[tuple[int, int]] = []
    synced: list[int] = []
    real = os.pwrite

    def pwrite(descriptor: int, data: Any, offset: int) -> int:
        written.append((offset, len(data)))
        return real(descriptor, data, offset)

    monkeypatch.setattr(os, "pwrite", pwrite)
    monkeypatch.setattr(os, "fdatasync", lambda _: synced.append(len(written)))
    pb.build(file, append_in_place=True, columns=["a"])
    ends = [offset + length for offset, length in written]
    assert [offset for offset, _ in written] == [len(plain), *ends[:-1]]
    assert written[-1] == (len(appended) - 8, 8)
    assert synced == [len(written) - 1]


def test_from_the_command(file: Path, appended: bytes) -> None:
    result = outcome("build", file, *APPEND, "--json")
    assert (result.code, result.stderr) == (0, "")
    assert f'"output":"{file}"' in result.stdout
    assert file.read_bytes() == appended


def test_a_dry_run(file: Path, plain: bytes) -> None:
    report = pb.build(file, append_in_place=True, columns=["a"], dry_run=True)
    assert (report.output, report.filters[0].offset) == (None, len(plain))
    assert is_as_before(file, plain)


def test_nothing_to_build(file: Path, plain: bytes) -> None:
    pb.build(file, append_in_place=True, columns=["a"])
    once = files_in(file.parent)
    assert pb.build(file, append_in_place=True, columns=["a"]).bytes_added == 0
    assert files_in(file.parent) == once


def test_filters_that_are_not_worth_writing(file: Path, plain: bytes) -> None:
    """Found out only when an end is there already."""
    file.write_bytes((FIXTURES / "pyarrow_nulls.parquet").read_bytes())
    os.utime(file, ns=(MODIFIED_NS, MODIFIED_NS))
    before = file.read_bytes()
    with pb.open(file) as opened:
        (column, *_) = [name for name in opened.columns if "null" in name] or opened.columns
    pb.build(file, append_in_place=True, columns=[column], max_bytes=64, fpp=1e-12)
    assert is_as_before(file, before)


def test_both_names_of_a_file(file: Path, appended: bytes, tmp_path: Path) -> None:
    os.link(file, tmp_path / "hard.parquet")
    (tmp_path / "link.parquet").symlink_to(file)
    report = pb.build(tmp_path / "link.parquet", append_in_place=True, columns=["a"])
    assert report.notes == ()
    assert (tmp_path / "hard.parquet").read_bytes() == appended
    assert (tmp_path / "link.parquet").is_symlink()
    assert os.listdir(file.parent) == [file.name]


def test_the_checksum_of_the_old_file_goes(file: Path, appended: bytes) -> None:
    file.with_name(f".{file.name}.crc").write_bytes(b"crc\0")
    pb.build(file, append_in_place=True, columns=["a"])
    assert files_in(file.parent) == {file.name: appended}


@pytest.mark.parametrize("plaintext_footer", [True, False])
def test_encrypted_and_signed_footers(tmp_path: Path, plaintext_footer: bool) -> None:
    key = b"the key of int64"
    recipe = Recipe(columns={"int64": key}, plaintext_footer=plaintext_footer)
    path = encrypted(tmp_path, recipe)
    keys = pb.Keys(footer=FOOTER_KEY, columns={"int64": key})
    pb.strip(path, in_place=True, keys=keys)
    old = path.read_bytes()
    pb.build(path, append_in_place=True, columns=["int64", "string"], keys=keys)
    assert path.read_bytes().startswith(old)
    assert pb.validate(path, keys=keys).ok
    pb.strip(path, in_place=True, keys=keys)
    assert path.read_bytes() == old


def test_what_must_be_overwritten_is_refused(tmp_path: Path) -> None:
    """A plaintext filter of an encrypted column, which stays readable where nothing is overwritten."""
    plain = tmp_path / "plain.parquet"
    pb.build(PLAIN, plain, columns=["int64"], existing="replace")
    path = encrypted(tmp_path, Recipe(filters="plaintext"), plain)
    before = path.read_bytes()
    with pytest.raises(RewriteError, match="are a plaintext filter of an encrypted column"):
        pb.build(
            path,
            append_in_place=True,
            columns=["int64"],
            existing="replace",
            keys=pb.Keys(footer=FOOTER_KEY),
        )
    assert path.read_bytes() == before


# ------------------------------------------------------------------------------------------------
# Refused


def test_refused_where_it_means_nothing(file: Path, plain: bytes, tmp_path: Path) -> None:
    orc = tmp_path / "file.orc"
    orc.write_bytes((FIXTURES / "java_original.orc").read_bytes())
    what = "append_in_place is not supported for"
    with pytest.raises(UnsupportedError, match=f"^{orc}: {what} an ORC file$"):
        pb.build(orc, append_in_place=True, columns="number")
    for dialect in ("murmur3", "statistics"):
        with pytest.raises(UnsupportedError, match=f"^{file}: {what} {dialect} filters$"):
            pb.build(file, append_in_place=True, columns="a", dialect=dialect)
    with pytest.raises(ValueError, match=r"^layout: replace, expected append with append_in_place"):
        pb.build(file, append_in_place=True, columns="a", layout="replace")
    with pytest.raises(RewriteError, match=r"^s3://b/f: expected a local file to append to"):
        pb.build("s3://b/f", append_in_place=True, columns="a")
    for more in ({"in_place": True}, {"output": tmp_path / "out"}):
        with pytest.raises(ValueError, match=r"^append_in_place: expected neither"):
            pb.build(file, append_in_place=True, columns="a", **more)
    assert is_as_before(file, plain)


def test_refused_by_the_command(file: Path, plain: bytes) -> None:
    for more in (("--in-place",), ("-o", "out"), ("--output-dir", "out")):
        result = outcome("build", file, *APPEND, *more)
        assert result.code == 2
        assert (
            "expected exactly one of --output, --output-dir, --in-place and --append-in-place"
            in result.stderr
        )
    result = outcome("build", file, *APPEND, "--layout", "replace")
    assert result.complaint == "layout: replace, expected append with append_in_place"
    result = outcome("strip", file)
    assert (
        "--output-dir DIRECTORY for copies of several files, or --in-place to change"
        in result.stderr
    )
    assert is_as_before(file, plain)


def test_a_file_of_a_table(file: Path, plain: bytes) -> None:
    (file.parent / "_delta_log").mkdir()
    result = outcome("build", file, *APPEND)
    assert result.complaint.startswith(f"{file}: belongs to the Delta Lake table {file.parent}")
    assert file.read_bytes() == plain


def test_a_folder_without_room_for_a_journal(
    file: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def opening(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if str(path).endswith(journal.SUFFIX):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", opening)
    assert outcome("build", file, *APPEND).complaint == (
        f"{file}: its journal, {journal.journal_of(file)}, could not be written: Permission denied"
    )
    assert is_as_before(file, plain)


# ------------------------------------------------------------------------------------------------
# Others


def test_two_builds_at_once(
    file: Path, plain: bytes, appended: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The second one, by whatever name of the file, ends in one line, and the first one as ever."""
    hard = tmp_path / "hard.parquet"
    os.link(file, hard)
    complaints: list[str] = []
    real = AppendedEnd.append

    def append(self: AppendedEnd, data: bytes) -> int:
        monkeypatch.setattr(AppendedEnd, "append", real)
        complaints.extend(outcome("build", name, *APPEND).complaint for name in (file, hard))
        complaints.append(outcome("strip", file, "--in-place").complaint)
        complaints.append(outcome("recover", file).complaint)
        return real(self, data)

    monkeypatch.setattr(AppendedEnd, "append", append)
    pb.build(file, append_in_place=True, columns=["a"])
    what = "another build is changing it or holds its lock: wait until it is done"
    assert complaints == [f"{name}: {what}" for name in (file, hard, file, file)]
    assert files_in(file.parent) == {file.name: appended}


@contextmanager
def _at_flush(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> Iterator[None]:
    """Something happens when the new end is about to be whole."""
    real = AppendedEnd.flush

    def flush(self: AppendedEnd) -> None:
        real(self)
        act()

    with monkeypatch.context() as patched:
        patched.setattr(AppendedEnd, "flush", flush)
        yield


def test_a_file_that_is_replaced_meanwhile(
    file: Path, plain: bytes, filtered: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one stays, and what was appended to is gone with its name."""

    def replace() -> None:
        file.with_name("theirs").write_bytes(filtered)
        os.replace(file.with_name("theirs"), file)

    with _at_flush(monkeypatch, replace):
        result = outcome("build", file, *APPEND, "--no-verify")
    assert result.code == 2
    assert "changed while it was read" in result.complaint
    assert files_in(file.parent) == {file.name: filtered}


def test_what_was_there_changes_meanwhile(
    file: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the same size, and after all was verified: it is not said to be done, and nothing is cut."""
    commit = AppendedEnd.commit

    def changed(output: AppendedEnd, *arguments: Any) -> None:
        os.pwrite(output._descriptor, bytes([plain[100] ^ 1]), 100)
        commit(output, *arguments)

    monkeypatch.setattr(AppendedEnd, "commit", changed)
    result = outcome("build", file, *APPEND)
    assert result.code == 2
    assert "changed while it was read" in result.complaint
    assert result.complaint.endswith(f": run `pbloom recover {file}`")
    assert journal.journal_of(file).exists()


def test_a_file_that_is_written_over_meanwhile(
    file: Path, filtered: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What others wrote is not cut, whatever it is; the journal tells that something happened."""
    with _at_flush(monkeypatch, lambda: file.write_bytes(filtered) and None):
        result = outcome("build", file, *APPEND, "--no-verify")
    assert result.complaint.endswith(f": run `pbloom recover {file}`")
    assert set(files_in(file.parent)) == {file.name, journal.journal_of(file).name}
    assert file.read_bytes() == filtered


def test_a_file_that_changes_while_filters_are_built(
    file: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = AppendedEnd._create

    def create(self: AppendedEnd) -> int:
        file.write_bytes(plain + b"more")
        return real(self)

    monkeypatch.setattr(AppendedEnd, "_create", create)
    result = outcome("build", file, *APPEND)
    assert "changed while it was read" in result.complaint
    assert files_in(file.parent) == {file.name: plain + b"more"}


# ------------------------------------------------------------------------------------------------
# Failures


@pytest.mark.parametrize("call", ["pwrite", "fdatasync", "fsync", "unlink"])
def test_any_call_that_fails_once(
    file: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Cut back; later calls work."""
    real, failed = getattr(os, call), []

    def failing(*given: Any, **named: Any) -> Any:
        if not failed:
            failed.append(given)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(*given, **named)

    monkeypatch.setattr(os, call, failing)
    result = outcome("build", file, *APPEND)
    assert (result.code, len(failed)) == (2, 1)
    assert result.complaint.startswith(f"{file}: ")
    assert result.complaint.endswith("Input/output error")
    assert is_as_before(file, plain)


def test_a_disk_that_is_full(file: Path, plain: bytes) -> None:
    """A real one: a file may be only so large."""
    result = pbloom("build", file, *APPEND, file_size=len(plain) + 100)
    assert result.complaint == f"{file}: File too large"
    assert is_as_before(file, plain)


def test_a_new_end_that_is_wrong(file: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    read_back_wrongly(monkeypatch, len(plain) - 20)
    assert outcome("build", file, *APPEND).complaint == (
        f"{file}: verification failed, not written: cut at {len(plain)}, it is not as it was"
    )
    assert is_as_before(file, plain)


def test_a_file_that_cannot_be_cut_back(
    file: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", full)
        patched.setattr(os, "ftruncate", fail)
        assert outcome("build", file, *APPEND).complaint == (
            f"{file}: No space left on device; its unfinished end could not be cut back"
            f" (Input/output error): run `pbloom recover {file}`"
        )
    assert file.stat().st_size > len(plain)
    assert outcome("recover", file).code == 0
    assert is_as_before(file, plain)


@pytest.mark.parametrize("end", [KeyboardInterrupt(), EndedError(signal.SIGTERM)], ids=repr)
@pytest.mark.parametrize("moment", ["append", "flush", "commit"])
def test_whoever_ends_the_program(
    file: Path,
    plain: bytes,
    monkeypatch: pytest.MonkeyPatch,
    end: BaseException,
    moment: str,
) -> None:
    real = getattr(AppendedEnd, moment)

    def ending(self: AppendedEnd, *given: Any) -> None:
        if moment != "commit":
            real(self, *given)
        raise end

    monkeypatch.setattr(AppendedEnd, moment, ending)
    with pytest.raises(type(end)):
        pb.build(file, append_in_place=True, columns=["a"])
    assert is_as_before(file, plain)


def test_an_end_between_the_journal_and_the_news_of_it(
    file: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal when the journal is gone: the old file, which is whole, and no complaint about it."""
    real = os.unlink

    def unlink(path: Any, *more: Any, **named: Any) -> None:
        real(path, *more, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "unlink", unlink)
    with pytest.raises(KeyboardInterrupt):
        pb.build(file, append_in_place=True, columns=["a"])
    assert is_as_before(file, plain)


def test_the_folder_cannot_be_synced(
    file: Path, appended: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sync(folder: str) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("parquet_bloom.storage.local_output.sync_folder", sync)
    assert outcome("build", file, *APPEND).complaint == (
        f"{file}: was written, but its folder could not be synced: Input/output error"
    )
    assert files_in(file.parent) == {file.name: appended}


def test_a_system_that_starts_no_more_threads(
    file: Path, appended: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that copies is not needed."""

    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert outcome("build", file, *APPEND, "--threads", "1").code == 0
    assert file.read_bytes() == appended
