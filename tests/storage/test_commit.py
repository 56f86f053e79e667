"""The moment when a new version takes its name: what others do meanwhile, and what fails after it."""

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Never

import pyarrow as pa
import pytest
from conftest import missing
from make.commands import files_in, outcome
from make.footers import without_lengths
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.errors import RewriteError
from parquet_bloom.storage import journal, local_output, ownership, rename
from parquet_bloom.storage.temporary_files import TEMPORARY_SUFFIX

THEIRS = b"what somebody else wrote"
ARGUMENTS = {"build": ("-c", "a", "--existing", "replace"), "strip": (), "repair": ()}


@pytest.fixture
def orc_source(source: Path) -> Path:
    orc.write_table(pa.table({"a": [1, 2, 3]}), source)
    return source


@pytest.fixture
def broken(source: Path, filtered: bytes) -> Path:
    """A file that every verb changes."""
    source.write_bytes(without_lengths(filtered))
    return source


def _io_error(*_: Any, **__: Any) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def _replaced_before(real: Callable[[str, str], bool]) -> Callable[[str, str], bool]:
    """An exchange before which somebody else replaces the file, once."""

    def exchange(new: str, old: str) -> bool:
        if Path(new).read_bytes() != THEIRS:
            theirs = Path(old).with_name("theirs")
            theirs.write_bytes(THEIRS)
            os.replace(theirs, old)
        return real(new, old)

    return exchange


@pytest.mark.parametrize("verb", ARGUMENTS)
def test_a_source_that_is_replaced_after_the_last_look(
    broken: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """It changes places with the new version, and back."""
    monkeypatch.setattr(local_output, "exchange", _replaced_before(rename.exchange))
    size = broken.stat().st_size
    result = outcome(verb, broken, "--in-place", *ARGUMENTS[verb])
    assert result.code == 2
    assert result.complaint == (
        f"{broken}: changed while it was read: {size} bytes when opened, {len(THEIRS)} bytes now;"
        " nothing was written"
    )
    assert files_in(broken.parent) == {broken.name: THEIRS}


def test_an_orc_source_that_is_replaced_after_the_last_look(
    orc_source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_output, "exchange", _replaced_before(rename.exchange))
    with pytest.raises(RewriteError, match="changed while it was read"):
        pb.build(orc_source, in_place=True, columns=["a"])
    assert files_in(orc_source.parent) == {orc_source.name: THEIRS}


def test_nothing_of_theirs_is_removed_if_it_cannot_be_put_back(
    broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    replacing = _replaced_before(rename.exchange)

    def exchange(one: str, other: str) -> bool:
        calls.append(one)
        return replacing(one, other) if len(calls) == 1 else bool(_io_error())

    monkeypatch.setattr(local_output, "exchange", exchange)
    with pytest.raises(OSError, match=r"Input/output error"):
        pb.strip(broken, in_place=True)
    assert Path(calls[0]).read_bytes() == THEIRS


def test_a_journal_that_is_left_before_the_last_look(
    source: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a build that appended meanwhile and was killed: it would not fit the new version."""
    flush, place = local_output.Replacement.flush, journal.journal_of(source)

    def flushed(output: local_output.Replacement) -> None:
        flush(output)
        with open(source, "rb") as file:
            journal.write_journal(journal.Journal.of(file.fileno()), place)

    monkeypatch.setattr(local_output.Replacement, "flush", flushed)
    with pytest.raises(RewriteError) as error:
        pb.build(source, in_place=True, columns=["a"])
    assert str(error.value) == (
        f"{source}: another build was killed in the meantime and left a journal, {place}: run it again"
    )
    assert files_in(source.parent) == {source.name: plain, place.name: place.read_bytes()}


def test_a_file_system_that_cannot_exchange(
    source: Path, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rename, "_call", lambda: None)
    pb.build(source, in_place=True, columns=["a"])
    assert files_in(source.parent) == {source.name: expected}


def _unlink(real: Callable[..., None], suffix: str) -> Callable[..., None]:
    """Fails for hidden files whose name ends with `suffix`."""

    def unlink(path: Any, *more: Any, **named: Any) -> None:
        if str(path).endswith(suffix):
            _io_error()
        real(path, *more, **named)

    return unlink


def test_the_old_file_cannot_be_removed(
    source: Path, plain: bytes, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody must think that nothing happened."""
    monkeypatch.setattr(os, "unlink", _unlink(os.unlink, TEMPORARY_SUFFIX))
    result = outcome("build", source, "-c", "a", "--in-place")
    names = [name for name in os.listdir(source.parent) if name != source.name]
    assert result.code == 2
    assert result.complaint == (
        f"{source}: was written, but {source.with_name(names[0])} could not be removed:"
        " Input/output error"
    )
    assert files_in(source.parent) == {source.name: expected, names[0]: plain}


def test_the_checksum_of_the_old_file_cannot_be_removed(
    source: Path, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.with_name(f".{source.name}.crc").write_bytes(b"crc\0")
    suffix = ".crc" + TEMPORARY_SUFFIX
    monkeypatch.setattr(os, "unlink", _unlink(os.unlink, suffix))
    complaint = outcome("build", source, "-c", "a", "--in-place").complaint
    assert complaint.startswith(f"{source}: was written, but {source.parent}/.")
    assert complaint.endswith(
        f"{suffix}, the checksum of the old file, could not be removed: Input/output error"
    )
    assert source.read_bytes() == expected


def test_the_folder_cannot_be_synced(
    source: Path, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            _io_error()
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    result = outcome("build", source, "-c", "a", "--in-place")
    assert (result.code, result.complaint) == (
        2, f"{source}: was written, but its folder could not be synced: Input/output error"
    )  # fmt: skip
    assert files_in(source.parent) == {source.name: expected}


@pytest.mark.parametrize("in_place", [True, False])
def test_a_file_that_cannot_be_closed(
    source: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch, in_place: bool
) -> None:
    """As on NFS, where the disk turns out to be full only then: before the file has its name."""
    real = os.close

    def close(descriptor: int) -> None:
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        is_written = os.get_blocking(descriptor) and name.endswith(TEMPORARY_SUFFIX)
        real(descriptor)
        if is_written:
            _io_error()

    monkeypatch.setattr(os, "close", close)
    output = source.with_name("out.parquet")
    result = outcome("build", source, "-c", "a", *(["--in-place"] if in_place else ["-o", output]))
    where = source if in_place else output
    assert (result.code, result.complaint) == (2, f"{where}: Input/output error")
    assert files_in(source.parent) == {source.name: plain}


@pytest.mark.parametrize("in_place", [True, False])
def test_a_source_that_cannot_be_closed(
    source: Path, expected: bytes, monkeypatch: pytest.MonkeyPatch, in_place: bool
) -> None:
    """By then the new version is there, and nothing that was only read can be lost."""
    real, failed = os.close, []

    def close(descriptor: int) -> None:
        is_source = os.fstat(descriptor).st_ino == inode
        real(descriptor)
        if is_source:
            failed.append(descriptor)
            _io_error()

    inode = source.stat().st_ino
    monkeypatch.setattr(os, "close", close)
    output = source.with_name("out.parquet")
    result = outcome("build", source, "-c", "a", *(["--in-place"] if in_place else ["-o", output]))
    assert (result.code, result.stderr, len(failed)) == (0, "", 1)
    assert (source if in_place else output).read_bytes() == expected


IMPORTS = """
import os, pty, sys
from parquet_bloom.storage import local_output
before = []
def exchange(*names, real=local_output.exchange):
    done = real(*names)
    before.append(set(sys.modules))
    return done
local_output.exchange = exchange
os._exit = lambda code: print("imported:", *sorted(set(sys.modules) - before[0]), file=sys.stderr)
out, sys.stdout = sys.stdout, open(pty.openpty()[1], "w")
from parquet_bloom.cli import main
main()
"""


@pytest.mark.parametrize("verb", ARGUMENTS)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_nothing_is_imported_after_the_file_was_replaced(
    broken: Path, verb: str, form: tuple[str, ...]
) -> None:
    """An import that failed then would hide what was done."""
    arguments = [verb, broken, "--in-place", *ARGUMENTS[verb], *form]
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == "imported:", done


@pytest.mark.parametrize("verb", ARGUMENTS)
@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (None, "import of ctypes halted; None in sys.modules"),
        # What Python makes of the folder of a package that it cannot look into.
        (
            module_from_spec(ModuleSpec("ctypes", None, is_package=True)),
            "module 'ctypes' has no attribute 'CDLL'",
        ),
    ],
)
def test_a_module_that_cannot_be_imported(
    broken: Path, monkeypatch: pytest.MonkeyPatch, verb: str, module: ModuleType | None, reason: str
) -> None:
    """As when the disk fails on which Python lies: nothing that a report would help with."""
    before = files_in(broken.parent)
    monkeypatch.setitem(sys.modules, "ctypes", module)
    rename._call.cache_clear()
    result = outcome(verb, broken, "--in-place", *ARGUMENTS[verb])
    message = f"part of the installation is missing or cannot be read: {reason}"
    assert (result.code, result.complaint) == (2, message)
    assert files_in(broken.parent) == before


def test_a_system_that_starts_no_more_threads(
    source: Path, plain: bytes, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    build = ("build", source, "-c", "a", "--in-place")
    result = outcome(*build, "--threads", "2")
    assert (result.code, result.complaint) == (
        2, "the system starts no more threads; --threads 1 needs none"
    )  # fmt: skip
    assert files_in(source.parent) == {source.name: plain}
    assert outcome(*build, "--threads", "1").code == 0
    assert files_in(source.parent) == {source.name: expected}


@pytest.fixture
def ordinary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write any file: be somebody who may not, and who cannot give files away."""

    def access(path: str, mode: int, **_: bool) -> bool:
        return mode != os.W_OK or bool(os.stat(path).st_mode & stat.S_IWUSR)

    def fchown(*_: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "access", access)
    monkeypatch.setattr(os, "fchown", fchown)


@pytest.mark.usefixtures("ordinary")
@pytest.mark.parametrize("verb", ARGUMENTS)
def test_a_write_protected_file_is_not_replaced(broken: Path, verb: str) -> None:
    """A rename asks for no more than its folder."""
    broken.chmod(0o444)
    before = files_in(broken.parent)
    result = outcome(verb, broken, *ARGUMENTS[verb], "--in-place")
    said = f"{broken}: not changed in place: you may not write it (mode 444, owner "
    assert (result.code, result.complaint.startswith(said)) == (2, True)
    assert outcome(verb, broken, *ARGUMENTS[verb], "--in-place", "--dry-run") == result
    assert outcome(verb, broken, *ARGUMENTS[verb], "--dry-run").code == 0
    assert files_in(broken.parent) == before
    output = broken.with_name("out.parquet")
    assert outcome(verb, broken, *ARGUMENTS[verb], "-o", output).code == 0
    assert stat.S_IMODE(output.stat().st_mode) == 0o444


@pytest.mark.usefixtures("ordinary")
@pytest.mark.parametrize("verb", ARGUMENTS)
def test_a_write_protected_output_is_not_overwritten(broken: Path, verb: str) -> None:
    output = broken.with_name("out.parquet")
    output.write_bytes(b"somebody else's")
    write = (verb, broken, *ARGUMENTS[verb], "--overwrite")
    in_folder = ("--output-dir", broken.parent / "out")
    copy = broken.parent / "out" / broken.name
    assert outcome(*write, *in_folder, "--dry-run").code == 0
    assert not copy.parent.exists()
    assert outcome(*write, *in_folder).code == 0
    for path, where in ((output, ("-o", output)), (copy, in_folder)):
        path.chmod(0o444)
        before = path.read_bytes()
        result = outcome(*write, *where)
        assert result.complaint == (
            f"{path}: not overwritten: you may not write it (mode 444, owner {path.owner()}): allow it with chmod, or"
            " name another output"
        )
        assert outcome(*write, *where, "--dry-run") == result
        assert path.read_bytes() == before
        path.chmod(0o644)
        assert outcome(*write, *where).code == 0


@pytest.mark.usefixtures("ordinary")
@pytest.mark.parametrize("verb", ARGUMENTS)
def test_a_dry_run_foresees_that_a_folder_takes_nothing_new(
    broken: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    folder, opened = broken.parent, os.open

    def open_file(path: str, flags: int, *mode: int, **more: Any) -> int:
        if flags & os.O_CREAT and not os.stat(folder).st_mode & stat.S_IWUSR:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(path, flags, *mode, **more)

    monkeypatch.setattr(os, "open", open_file)
    folder.chmod(0o555)
    wheres = {"--in-place": broken, "-o": folder / "b.parquet", "--output-dir": folder / "out"}
    for option, path in wheres.items():
        where = (option,) if path == broken else (option, path)
        result = outcome(verb, broken, *ARGUMENTS[verb], *where)
        named = path / broken.name if option == "--output-dir" else path
        said = f"{named}: Permission denied: nothing new can be made in {folder}"
        assert (result.code, result.complaint) == (2, said)
        assert outcome(verb, broken, *ARGUMENTS[verb], *where, "--dry-run") == result
    assert outcome(verb, broken, *ARGUMENTS[verb], "--dry-run").code == 0
    folder.chmod(0o755)
    assert outcome(verb, broken, *ARGUMENTS[verb], "--in-place", "--dry-run").code == 0


def test_a_dry_run_foresees_that_an_output_exists(broken: Path) -> None:
    write = ("build", broken, *ARGUMENTS["build"], "-o", broken.with_name("out.parquet"))
    assert outcome(*write).code == 0
    result = outcome(*write)
    assert result.complaint.endswith("out.parquet: already exists: use --overwrite to replace it")
    assert outcome(*write, "--dry-run") == result
    assert outcome(*write, "--dry-run", "--overwrite").code == 0


def test_a_dry_run_foresees_that_a_table_owns_the_file(broken: Path) -> None:
    log = broken.parent / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").touch()
    write = ("build", broken, *ARGUMENTS["build"])
    result = outcome(*write, "--in-place")
    assert f"{broken}: belongs to the Delta Lake table " in result.complaint
    assert outcome(*write, "--in-place", "--dry-run") == result
    assert outcome(*write, "--dry-run").code == 0


@pytest.mark.usefixtures("ordinary")
def test_an_answer_does_not_overwrite_what_is_write_protected(source: Path) -> None:
    output = source.with_name("answer.txt")
    output.write_text("kept")
    output.chmod(0o444)
    result = outcome("inspect", source, "-o", output, "--overwrite")
    said = f"{output}: not overwritten: you may not write it (mode 444, owner "
    assert (result.code, result.complaint.startswith(said)) == (2, True)
    assert output.read_text() == "kept"


@pytest.mark.usefixtures("ordinary")
def test_a_write_protected_file_that_stays_as_it_is_is_no_trouble(source: Path) -> None:
    source.chmod(0o444)
    assert pb.strip(source, in_place=True).notes == ()


@pytest.mark.usefixtures("ordinary")
def test_an_owner_that_is_lost_is_named(broken: Path) -> None:
    """A file that somebody else may write."""
    if os.geteuid() != 0:
        missing("root, who may give files away")
    os.chown(broken, 12345, 23456)
    assert pb.repair(broken, in_place=True).notes == (
        "its owner could not be kept: root instead of 12345",
        "its group could not be kept: root instead of 23456",
    )


def test_a_file_is_written_though_its_owner_cannot_be_looked_up(
    broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def ask(path: str) -> Never:
        written.append(path)
        raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    before = broken.read_bytes()
    monkeypatch.setattr(ownership, "os", SimpleNamespace(**{**vars(os), "stat": ask}))
    assert pb.repair(broken, in_place=True).notes == ()
    assert written
    assert broken.read_bytes() != before


@pytest.mark.parametrize("verb", ARGUMENTS)
@pytest.mark.parametrize("others", [1, 2])
def test_other_names_of_a_file_that_is_changed_in_place(
    broken: Path, verb: str, others: int
) -> None:
    for number in range(others):
        os.link(broken, broken.with_name(f"{number}.link"))
    note = (
        "note: another hard link to this file keeps the old version, unless it is changed, too\n",
        "note: 2 other hard links to this file keep the old version, unless they are changed, too\n",
    )[others - 1]
    arguments = (verb, broken, *ARGUMENTS[verb])
    assert note not in outcome(*arguments, "-o", broken.with_name("out.parquet")).stdout
    assert note in outcome(*arguments, "--in-place").stdout
    # The new file has one name.
    assert "note: another" not in outcome(*arguments, "--in-place").stdout


def test_other_names_of_an_orc_file_that_is_changed_in_place(orc_source: Path) -> None:
    os.link(orc_source, orc_source.with_name("link"))
    note = "another hard link to this file keeps the old version, unless it is changed, too"
    assert pb.build(orc_source, in_place=True, columns=["a"]).notes == (note,)
    os.link(orc_source, orc_source.with_name("other"))
    # A file that stays as it is keeps its names.
    assert pb.build(orc_source, in_place=True, columns=["a"]).notes == ()
    assert pb.strip(orc_source, in_place=True).notes == (note,)
