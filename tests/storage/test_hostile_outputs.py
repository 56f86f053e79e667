"""Outputs that cannot be written, and what else goes wrong on the way to one.

The source and every output that was there before stay as they were, and nothing temporary is left.
"""

import errno
import os
import shutil
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import missing
from make.commands import files_in, outcome, pbloom, verdicts
from make.dying import builds, no_link

import parquet_bloom as pb
from parquet_bloom.errors import ParquetBloomError, RewriteError
from parquet_bloom.storage import local_output, rename


def test_an_output_that_exists(source: Path) -> None:
    output = source.with_name("out.parquet")
    output.write_bytes(b"precious")
    for verb in (("build", source, "-c", "a"), ("strip", source)):
        assert outcome(*verb, "-o", output).complaint.startswith(f"{output}: already exists")
    assert output.read_bytes() == b"precious"
    assert len(os.listdir(source.parent)) == 2


@pytest.mark.parametrize("name", ["f.parquet", "link", "hard", "../in/f.parquet"])
def test_the_output_is_the_input(source: Path, plain: bytes, name: str) -> None:
    source.with_name("link").symlink_to(source)
    os.link(source, source.with_name("hard"))
    for verb in (("build", source, "-c", "a"), ("strip", source)):
        result = outcome(*verb, "-o", source.parent / name, "--overwrite")
        assert "is the input itself" in result.complaint
    assert source.read_bytes() == plain
    assert len(os.listdir(source.parent)) == 3


def test_the_output_folder_is_the_inputs(source: Path, plain: bytes) -> None:
    result = outcome("build", source, "-c", "a", "--output-dir", source.parent, "--overwrite")
    assert "is the input itself" in result.complaint
    assert files_in(source.parent) == {source.name: plain}


def test_two_inputs_with_one_output(source: Path, plain: bytes, filtered: bytes) -> None:
    """--overwrite is about what was there before, not about what this command has just written."""
    folders = [source.parent / name for name in "pq"]
    for folder, data in zip(folders, (plain, filtered), strict=True):
        folder.mkdir()
        (folder / "x.parquet").write_bytes(data)
    inputs = [folder / "x.parquet" for folder in folders]
    out = source.parent / "out"
    for overwrite in ([], ["--overwrite"]):
        shutil.rmtree(out, ignore_errors=True)
        result = outcome("build", *inputs, "-c", "a", "--output-dir", out, *overwrite)
        assert result.code == 2
        assert str(out / "x.parquet") in result.complaint


def test_an_output_that_is_an_input_still_to_come(source: Path, plain: bytes) -> None:
    out = source.parent / "out"
    out.mkdir()
    table = pa.table({"a": pa.array([99], pa.int64())})
    pq.write_table(table, out / "f.parquet")
    before = (out / "f.parquet").read_bytes()
    arguments = (source, out / "f.parquet", "-c", "a", "--output-dir", out, "--overwrite")
    assert outcome("build", *arguments).code == 2
    assert (out / "f.parquet").read_bytes() == before


def test_an_output_folder_that_is_missing(source: Path) -> None:
    """The line names the folder that the user named, no temporary file."""
    output = source.parent / "none" / "out.parquet"
    complaint = outcome("build", source, "-c", "a", "-o", output).complaint
    assert str(output.parent) in complaint
    assert ".pbloom-tmp" not in complaint


def test_an_output_below_a_file(source: Path, plain: bytes) -> None:
    complaint = outcome("build", source, "-c", "a", "-o", source / "out.parquet").complaint
    assert str(source) in complaint
    assert ".pbloom-tmp" not in complaint
    assert files_in(source.parent) == {source.name: plain}


def test_dumping_onto_the_file_itself(source: Path, filtered: bytes) -> None:
    source.write_bytes(filtered)
    assert outcome("dump", source, "-c", "a", "-o", source).code == 2
    assert source.read_bytes() == filtered


def test_an_empty_column_is_not_every_column(source: Path, filtered: bytes) -> None:
    """`-c "$COLUMN"` with the variable unset must not strip the whole file."""
    source.write_bytes(filtered)
    for column in ("", ","):
        for arguments in (
            ("strip", source, "-c", column, "--in-place"),
            ("inspect", source, "-c", column),
            ("build", source, "-c", column, "-o", source.with_name("out.parquet")),
        ):
            assert outcome(*arguments).code == 2
    assert files_in(source.parent) == {source.name: filtered}


@pytest.mark.parametrize(
    ("call", "in_place"),
    [
        *(
            (call, in_place)
            for call in ("pwrite", "copy_file_range", "fchmod")
            for in_place in (False, True)
        ),
        # A new output is not synced.
        ("fsync", True),
        ("fdatasync", True),
    ],
)
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails(
    source: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch, call: str, error: int,
    in_place: bool,
) -> None:  # fmt: skip
    def fails(*_: Any) -> int:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, call, fails)
    if call == "copy_file_range":
        # For file systems without a disk.
        monkeypatch.setattr(os, "major", lambda device: 0)
    # Only what is larger is synced ahead.
    monkeypatch.setattr("parquet_bloom.storage.new_version.COPIED_AT_ONCE", 0)
    output = source.with_name("out.parquet")
    where = ["--in-place"] if in_place else ["-o", output]
    result = outcome("build", source, "-c", "a", *where)
    assert result.code == 2
    assert files_in(source.parent) == {source.name: plain}
    assert result.complaint == f"{source if in_place else output}: {os.strerror(error)}"


def test_a_source_that_cannot_be_read(
    source: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named, not what its copy would have been."""

    def fails(*_: Any) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "preadv", fails)
    monkeypatch.setattr(os, "major", lambda device: 8)
    read = os.pread

    def fails_at_the_start(file: int, length: int, at: int) -> bytes:
        return read(file, length, at) if at or length == 4 else fails()

    monkeypatch.setattr(os, "pread", fails_at_the_start)
    result = outcome("build", source, "-c", "a", "-o", source.with_name("out.parquet"))
    assert result.code == 2
    assert result.complaint == f"{source}: {os.strerror(errno.EIO)}"
    assert files_in(source.parent) == {source.name: plain}


def test_a_disk_that_fills_up(source: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short writes first, then none: whatever fits, the old file stays."""
    real = os.pwrite
    monkeypatch.setattr(os, "copy_file_range", _unsupported)
    writing = threading.Lock()  # The data are copied and the filters appended at the same time.
    for room in range(0, len(plain) + 2000, 97):
        left = [room]

        def pwrite(descriptor: int, data: bytes, offset: int, left: list[int] = left) -> int:
            with writing:
                if left[0] == 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                written = real(descriptor, memoryview(data)[: min(left[0], 50)], offset)
                left[0] -= written
                return written

        monkeypatch.setattr(os, "pwrite", pwrite)
        result = outcome("build", source, "-c", "a", "--in-place")
        assert os.listdir(source.parent) == [source.name]
        if result.code == 0:
            break
        assert result.complaint
        assert source.read_bytes() == plain
    assert verdicts(source, "a", 7) == ["maybe", "absent"]


def _unsupported(*_: Any) -> int:
    raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))


def test_a_limit_of_the_file_size(source: Path, plain: bytes) -> None:
    """RLIMIT_FSIZE: SIGXFSZ must not kill before the temporary file is gone."""
    result = pbloom("build", source, "-c", "a", "--in-place", file_size=len(plain) // 2)
    assert result.code == 2
    assert result.complaint
    assert files_in(source.parent) == {source.name: plain}


def test_a_folder_that_cannot_be_synced(
    source: Path, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some network file systems refuse fsync of a folder; the file is there and complete."""
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    assert outcome("build", source, "-c", "a", "--in-place").code == 0
    assert files_in(source.parent) == {source.name: expected}


@pytest.mark.parametrize("renames", [True, False])
def test_a_file_system_without_hard_links(
    source: Path, expected: bytes, monkeypatch: pytest.MonkeyPatch, renames: bool
) -> None:
    """FAT, many FUSE file systems: a new output must be possible all the same."""
    monkeypatch.setattr(os, "link", no_link)
    if not renames:
        monkeypatch.setattr(rename, "_call", lambda: None)
    output = source.with_name("out.parquet")
    assert outcome("build", source, "-c", "a", "-o", output).code == 0
    assert output.read_bytes() == expected
    assert len(os.listdir(source.parent)) == 2


def test_a_read_only_folder(source: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def fails(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return real(path, flags, *rest, **named)

    monkeypatch.setattr(os, "open", fails)
    complaint = outcome("build", source, "-c", "a", "--in-place").complaint
    assert str(source.parent) in complaint
    assert ".pbloom-tmp" not in complaint
    assert files_in(source.parent) == {source.name: plain}


@pytest.mark.parametrize(("in_place", "links"), [(True, True), (False, True), (False, False)])
def test_killed_at_every_step(
    source: Path, plain: bytes, expected: bytes, in_place: bool, links: bool
) -> None:
    """The process ends before and after each call that touches the disk: old file, or new file."""
    output = source if in_place else source.with_name("out.parquet")
    outcomes = set()
    with builds(source, None if in_place else output, links) as die_at:
        for step in range(60):
            source.write_bytes(plain)
            for file in source.parent.iterdir():
                if file != source:
                    file.unlink()
            finished = die_at(step)
            assert source.read_bytes() in ((plain, expected) if in_place else (plain,))
            found = output.read_bytes() if output.exists() else None
            assert found in ((plain, expected) if in_place else (None, expected)), step
            outcomes.add(found)
            if finished:
                break
    assert finished
    assert outcomes == {plain if in_place else None, expected}


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def _replace(path: Path) -> None:
    """Other bytes of the same size and time under the same name."""
    status = path.stat()
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(other, path)


def _rewrite(path: Path) -> None:
    """Other bytes of the same size in the same inode."""
    with path.open("r+b") as file:
        file.seek(10)
        file.write(b"changed")
    os.utime(path, ns=(1, 1))


def _rewrite_and_restore_the_time(path: Path) -> None:
    status = path.stat()
    # The clock of a file system may stand still for some milliseconds.
    while path.stat().st_ctime_ns == status.st_ctime_ns:
        _rewrite(path)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize(
    "change",
    [_append, _truncate, _replace, _rewrite, _rewrite_and_restore_the_time, os.unlink],
    ids=lambda change: change.__name__.strip("_"),
)
@pytest.mark.parametrize("in_place", [True, False])
def test_the_source_changes_meanwhile(
    source: Path, change: Callable[[Path], None], in_place: bool
) -> None:
    output = source.with_name("out.parquet")
    changed: list[bytes | None] = []

    def progress(done: int, total: int) -> None:
        if done == 1:
            change(source)
            changed.append(source.read_bytes() if source.exists() else None)

    error = FileNotFoundError if change is os.unlink else ParquetBloomError
    with pytest.raises((error, RewriteError)):
        pb.build(
            source, None if in_place else output, columns=["a"], in_place=in_place,
            progress=progress,
        )  # fmt: skip
    left = {} if changed == [None] else {source.name: changed[0]}
    assert files_in(source.parent) == left


@pytest.mark.parametrize("links", [True, False])
def test_an_output_that_appears_meanwhile(
    source: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", no_link)
    output = source.with_name("out.parquet")
    with pytest.raises(RewriteError, match="was created in the meantime"):
        pb.build(
            source,
            output,
            columns=["a"],
            progress=lambda *_: output.write_bytes(b"precious") and None,
        )
    assert files_in(source.parent) == {source.name: plain, output.name: b"precious"}


def test_a_progress_that_fails(source: Path, plain: bytes) -> None:
    with pytest.raises(ZeroDivisionError):
        pb.build(source, in_place=True, columns=["a"], progress=lambda *_: 1 // 0 and None)
    assert files_in(source.parent) == {source.name: plain}


def test_links(source: Path, plain: bytes, expected: bytes) -> None:
    """In place, a symbolic link stays one, and its target changes; so for an output."""
    folder = source.parent / "elsewhere"
    folder.mkdir()
    link = folder / "link.parquet"
    link.symlink_to(source)
    pb.build(link, in_place=True, columns=["a"])
    assert link.is_symlink()
    assert source.read_bytes() == expected
    source.write_bytes(plain)
    dangling = folder / "dangling.parquet"
    dangling.symlink_to(source.with_name("new.parquet"))
    pb.build(source, dangling, columns=["a"])
    assert dangling.is_symlink()
    assert source.with_name("new.parquet").read_bytes() == expected
    assert sorted(os.listdir(folder)) == ["dangling.parquet", "link.parquet"]


def test_another_hard_link_keeps_the_old_file(source: Path, plain: bytes, expected: bytes) -> None:
    other = source.with_name("other")
    os.link(source, other)
    pb.build(source, in_place=True, columns=["a"])
    assert other.read_bytes() == plain
    assert source.read_bytes() == expected


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o777])
def test_the_mode_stays(source: Path, mode: int) -> None:
    source.chmod(mode)
    output = source.with_name("out.parquet")
    pb.build(source, output, columns=["a"])
    pb.build(source, in_place=True, columns=["a"])
    assert stat.S_IMODE(output.stat().st_mode) == mode
    assert stat.S_IMODE(source.stat().st_mode) == mode


def test_the_owner_stays(source: Path) -> None:
    """A private file that root touches must stay readable for its owner."""
    if os.geteuid() != 0:
        missing("root, who may give files away")
    os.chown(source, 12345, 23456)
    source.chmod(0o600)
    pb.build(source, in_place=True, columns=["a"])
    status = source.stat()
    assert (status.st_uid, status.st_gid) == (12345, 23456)


def test_a_hadoop_checksum_goes(source: Path) -> None:
    checksum = source.with_name(f".{source.name}.crc")
    checksum.write_bytes(b"crc\0")
    pb.build(source, in_place=True, columns=["a"])
    assert not checksum.exists()
    stale = source.with_name(".out.parquet.crc")
    stale.write_bytes(b"crc\0")
    pb.build(source, source.with_name("out.parquet"), columns=["a"])
    assert not stale.exists()


def test_a_checksum_stays_with_a_file_that_stays(
    source: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    checksum = source.with_name(f".{source.name}.crc")
    checksum.write_bytes(b"crc\0")

    def replace(*_: Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(local_output, "exchange", replace)
    assert outcome("build", source, "-c", "a", "--in-place").code == 2
    assert files_in(source.parent) == {source.name: plain, checksum.name: b"crc\0"}


def test_a_long_file_name(source: Path, expected: bytes) -> None:
    """Names may have 255 bytes; that of the temporary file must not need more."""
    path = source.rename(source.with_name("x" * 247 + ".parquet"))
    pb.build(path, in_place=True, columns=["a"])
    assert path.read_bytes() == expected


@pytest.mark.parametrize(
    ("kind", "marker", "place"),
    [
        ("Delta Lake", "_delta_log/0.json", "part=1/f.parquet"),
        ("Iceberg", "metadata/v1.metadata.json", "data/part=1/f.parquet"),
        ("Iceberg", "metadata/version-hint.text", "data/f.parquet"),
        ("Hudi", ".hoodie/hoodie.properties", "f.parquet"),
    ],
)
def test_files_of_tables(
    tmp_path: Path, plain: bytes, filtered: bytes, kind: str, marker: str, place: str
) -> None:
    for file, data in ((marker, b"{}"), (place, filtered)):
        (tmp_path / "t" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "t" / file).write_bytes(data)
    (tmp_path / "door").symlink_to(tmp_path / "t")
    (tmp_path / "link.parquet").symlink_to(tmp_path / "t" / place)
    (tmp_path / "own.parquet").write_bytes(plain)
    before = files_in(tmp_path)
    for path in (tmp_path / "t" / place, tmp_path / "door" / place, tmp_path / "link.parquet"):
        for verb in (("build", path, "-c", "a"), ("strip", path)):
            assert kind in outcome(*verb, "--in-place").complaint
        own = tmp_path / "own.parquet"
        assert kind in outcome("build", own, "-c", "a", "-o", path, "--overwrite").complaint
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("marker", ["_delta_log", ".hoodie", "metadata"])
def test_a_table_that_may_not_be_looked_at(
    tmp_path: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch, marker: str
) -> None:
    """Whoever may not see the log of a table could not see that there is one."""
    path = tmp_path / "f.parquet"
    path.write_bytes(plain)
    for name in ("stat", "listdir"):
        real = getattr(os, name)

        def refuse(place: Any = ".", real: Any = real, **named: Any) -> Any:
            if not isinstance(place, int) and Path(place) == tmp_path / marker:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
            return real(place, **named)

        monkeypatch.setattr(os, name, refuse)
    result = outcome("build", path, "-c", "a", "--in-place")
    assert (result.code, result.complaint) == (2, f"{tmp_path / marker}: Permission denied")
    assert path.read_bytes() == plain


def test_a_link_in_a_table(tmp_path: Path, plain: bytes) -> None:
    """The file lies elsewhere, but the table reads it by this name."""
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    (tmp_path / "own.parquet").write_bytes(plain)
    link = tmp_path / "t" / "f.parquet"
    link.symlink_to(tmp_path / "own.parquet")
    assert "Delta Lake" in outcome("build", link, "-c", "a", "--in-place").complaint
    assert link.read_bytes() == plain
