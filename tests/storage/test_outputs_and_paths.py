"""Outputs take their name whole, in the right order, with what belongs to it; paths and URLs."""

import errno
import os
import shutil
import stat
import subprocess
import sys
from contextlib import closing, nullcontext
from operator import itemgetter
from pathlib import Path

import pytest
from conftest import FIXTURES, missing

import parquet_bloom as pb
from parquet_bloom.errors import FormatError, RewriteError
from parquet_bloom.storage import local_output, open_source, paths
from parquet_bloom.storage.folder import LocalFolder
from parquet_bloom.storage.left_out import LeftOut
from parquet_bloom.storage.local_output import COPY_CHUNK, default_mode, output_to
from parquet_bloom.storage.paths import expand, outputs_in, with_parent
from parquet_bloom.storage.source import Cut, is_url, local_path
from parquet_bloom.storage.temporary_files import hidden_name, is_temporary, leftovers_below


@pytest.fixture
def calls(monkeypatch):
    """The calls that sync or give a name, in order."""
    made = []

    def record(name):
        real = getattr(os, name)

        def call(*arguments, **named):
            folder = name == "fsync" and stat.S_ISDIR(os.fstat(arguments[0]).st_mode)
            made.append("fsync of the folder" if folder else name)
            return real(*arguments, **named)

        monkeypatch.setattr(os, name, call)

    for name in ("fdatasync", "fsync", "link", "replace", "rename"):
        record(name)
    return made


def written(target, overwrite=False, data=b"new"):
    with output_to(target, overwrite, 0o640, 0) as output:
        output.append(data)
        output.flush()
        output.commit()


@pytest.mark.parametrize(
    ("copy", "ahead"), [("copy_prefix", []), ("copy_meanwhile", ["fdatasync"])]
)
def test_what_replaces_a_file_is_synced_first_and_its_folder_last(tmp_path, calls, copy, ahead):
    num_bytes = COPY_CHUNK + 1
    target = tmp_path / "f"
    target.write_bytes(b"old")
    (tmp_path / "source").write_bytes(bytes(num_bytes))
    source = open_source(tmp_path / "source")
    with output_to(target, True, 0o640, num_bytes) as output:
        getattr(output, copy)(source)
        output.append(b", new")
        output.flush()
        output.commit()
    source.close()
    assert target.read_bytes() == bytes(num_bytes) + b", new"
    calls.remove("rename")  # of the checksum that is not there
    assert calls == [*ahead, "fsync", "replace", "fsync of the folder"]


def test_a_new_file_is_not_synced(tmp_path, calls):
    written(tmp_path / "f")
    calls.remove("rename")
    assert calls == ["link"]
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["f"]


def test_a_checksum_goes_before_the_name_is_taken(tmp_path, calls):
    (tmp_path / "f").write_bytes(b"old")
    (tmp_path / ".f.crc").write_bytes(b"crc")
    written(tmp_path / "f", overwrite=True)
    assert calls.index("rename") < calls.index("replace")
    assert os.listdir(tmp_path) == ["f"]


def test_a_checksum_comes_back_if_the_name_is_taken_by_another(tmp_path):
    (tmp_path / ".f.crc").write_bytes(b"crc")
    with pytest.raises(RewriteError, match="was created in the meantime"):
        _with_another_meanwhile(tmp_path / "f")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "f": b"another's", ".f.crc": b"crc",
    }  # fmt: skip


@pytest.mark.parametrize("error", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_without_links_another_file_is_not_replaced_either(tmp_path, monkeypatch, error):
    def link(*_):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(RewriteError, match="was created in the meantime"):
        _with_another_meanwhile(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"another's"
    (tmp_path / "f").unlink()
    written(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["f"]


def test_nor_where_a_name_can_only_be_reserved(tmp_path, monkeypatch):
    def link(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    monkeypatch.setattr(local_output, "rename_to_free", lambda *_: False)
    with pytest.raises(RewriteError, match="was created in the meantime"):
        _with_another_meanwhile(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"another's"
    (tmp_path / "f").unlink()
    written(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["f"]


def test_a_file_that_ends_too_early_is_an_error(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(bytes(10))
    with closing(open_source(path)) as source:
        os.truncate(path, 7)
        message = rf"^{path}: bytes 4 to 10: expected 6 bytes, found 3$"
        for read in (source.read_at, source.window().read_at, Cut(source, 10).read_at):
            with pytest.raises(FormatError, match=message):
                read(4, 6)


def test_nothing_is_read_past_a_cut(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(bytes(10))
    with closing(open_source(path)) as source:
        cut = Cut(source, 7)
        assert cut.read_at(4, 3) == bytes(3)
        with pytest.raises(FormatError, match=r"expected 6 bytes, found 3$"):
            cut.read_at(4, 6)


def _with_another_meanwhile(target):
    with output_to(target, False, 0o640, 0) as output:
        target.write_bytes(b"another's")
        output.flush()
        output.commit()


def test_a_replacement_keeps_mode_and_attributes(tmp_path):
    target = tmp_path / "f"
    target.write_bytes(b"old")
    target.chmod(0o604)
    try:
        os.setxattr(target, "user.origin", b"lake")
    except OSError:
        missing("extended attributes")
    written(target, overwrite=True)
    assert os.getxattr(target, "user.origin") == b"lake"
    assert stat.S_IMODE(target.stat().st_mode) == 0o604


def test_an_owner_that_may_not_be_given_is_no_trouble(tmp_path, monkeypatch):
    target = tmp_path / "f"
    target.write_bytes(b"old")
    real = os.stat

    def another_owner(path, *rest, **named):
        status = list(real(path, *rest, **named))
        if path == target:
            status[4:6] = 12345, 12345
        return os.stat_result(status)

    def fchown(*_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "stat", another_owner)
    monkeypatch.setattr(os, "fchown", fchown)
    written(target, overwrite=True)
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize(
    ("refused", "make", "name"),
    [
        ("open", written, "f"),
        ("makedirs", with_parent, "in/it/f"),
        ("makedirs", lambda target: LocalFolder(str(target)).making("f").__enter__(), "in"),
    ],
)
def test_the_folder_that_takes_nothing_new_is_named(tmp_path, monkeypatch, refused, make, name):
    """A file that is to be replaced may well be one that can be written."""

    def refuse(path, *_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(os, refused, refuse)
    with pytest.raises(PermissionError) as raised:
        make(tmp_path / name)
    message = f"Permission denied: nothing new can be made in {tmp_path}"
    assert (raised.value.errno, raised.value.strerror) == (errno.EACCES, message)
    assert tmp_path in Path(raised.value.filename).parents


class Unseen:
    """A file in a folder that nobody looks at."""

    def __init__(self, found):
        self.name, self.is_file = found.name, found.is_file

    def stat(self):
        raise AssertionError(f"{self.name} was looked at")


def test_the_names_in_a_folder_take_no_look_at_its_files(tmp_path, monkeypatch):
    """The newest manifest is found by its name, among all segments of an index."""
    for name in ("b", "a"):
        (tmp_path / name).touch()
    (tmp_path / "c").mkdir()
    (tmp_path / "d").symlink_to("nothing")
    folder = LocalFolder(str(tmp_path))
    assert [entry.name for entry in folder.entries("")] == ["a", "b"]
    with os.scandir(tmp_path) as found:
        unseen = [Unseen(each) for each in found]
    monkeypatch.setattr(os, "scandir", lambda path: nullcontext(unseen))
    assert folder.file_names("") == ["a", "b"]
    with pytest.raises(AssertionError):
        folder.entries("")


def test_a_file_is_no_folder_and_a_missing_one_is_empty(tmp_path):
    folder = LocalFolder(str(tmp_path))
    (tmp_path / "a").touch()
    for listed in (folder.entries, folder.file_names):
        assert listed("nothing") == []
        with pytest.raises(NotADirectoryError):
            listed("a")
    in_a_file = LocalFolder(str(tmp_path / "a"))
    assert in_a_file.entries("metadata") == []
    with pytest.raises(NotADirectoryError, match="a file, expected a folder"):
        in_a_file.entries("")


@pytest.mark.parametrize("below", ["", "deep"])
def test_no_folder_of_outputs_is_made_in_the_place_of_a_file(tmp_path, below):
    (tmp_path / "a").touch()
    (tmp_path / "link").symlink_to("nothing")
    for name, what in (("a", "a file"), ("link", "a broken link")):
        with pytest.raises(NotADirectoryError, match=f"{what}, expected a folder") as caught:
            with_parent(tmp_path / name / below / "b.parquet")
        assert caught.value.filename == str(tmp_path / name)


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127, "\udcff" * 255])
def test_names_of_255_bytes(tmp_path, name):
    target = tmp_path / name
    written(target)
    written(target, overwrite=True, data=b"newer")
    assert target.read_bytes() == b"newer"


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("file:///a%20b/c%23d.parquet", "/a b/c#d.parquet"),
        ("file://localhost/a.parquet", "/a.parquet"),
        ("file:/a%20b.parquet", "/a%20b.parquet"),
        ("file:a.parquet", "file:a.parquet"),
        ("part:1.parquet", "part:1.parquet"),
        ("a%20b#c?d.parquet", "a%20b#c?d.parquet"),
    ],
)
def test_local_paths(path, local):
    assert not is_url(path)
    assert local_path(path) == Path(local)


@pytest.mark.parametrize("path", ["s3://bucket/f.parquet", "gs://b/f", "abfs+x://b/f"])
def test_urls(path):
    assert is_url(path)


def test_a_pattern_for_folders_and_files_finds_each_file_once(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("a/x.parquet", "a/b/y.parquet", "z.parquet"):
        (tmp_path / name).write_bytes(b"")
    inputs, errors = expand([f"{tmp_path}/**"])
    assert sorted(Path(path).name for path, _ in inputs) == ["x.parquet", "y.parquet", "z.parquet"]
    assert errors == []


@pytest.mark.parametrize("name", ["", "/*", "/**"])
def test_folders_are_searched_by_name_and_patterns_name_files(tmp_path, name):
    """Nothing but its contents makes a file an ORC file; a folder of thousands is not read."""
    (tmp_path / "b").mkdir()
    for file in ("b/x.orc", "y.parquet", "000000_0", "_z.orc", ".z.orc"):
        (tmp_path / file).write_bytes(b"ORC")
    inputs, errors = expand([f"{tmp_path}{name}"])
    found = {str(Path(path).relative_to(tmp_path)) for path, _ in inputs}
    assert found == {"b/x.orc", "y.parquet"} | ({"000000_0", "_z.orc"} if name else set())
    assert errors == []


def test_a_folder_is_searched_in_the_order_of_the_parts_of_paths(tmp_path, monkeypatch):
    for name in ("a/y.parquet", "a/z.parquet/part.orc", "a-b/x.parquet", "a.parquet", "_c=1/x.pq"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for name in ("_hidden/x.parquet", "a/.x.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "linked").symlink_to("a")
    (tmp_path / "b.parquet").symlink_to("a.parquet")
    (tmp_path / "gone.parquet").symlink_to("nowhere")
    (tmp_path / "loop.parquet").symlink_to("loop.parquet")
    (tmp_path / "to.parquet").symlink_to("a")
    names = ["_c=1/x.pq", "a/y.parquet", "a/z.parquet/part.orc"]
    names += ["a-b/x.parquet", "a.parquet", "b.parquet", "gone.parquet", "loop.parquet"]
    for folder in (str(tmp_path), f"{tmp_path}/", f"file://{tmp_path}"):
        inputs, errors = expand([folder])
        assert [tuple(each) for each in inputs] == [(f"{tmp_path}/{name}", name) for name in names]
        assert errors == []
    monkeypatch.chdir(tmp_path)
    assert [tuple(each) for each in expand(["."])[0]] == [(name, name) for name in names]


def test_a_folder_without_files(tmp_path):
    (tmp_path / "x.txt").touch()
    _, (error,) = expand([str(tmp_path)])
    assert (error.strerror, error.filename) == ("no Parquet or ORC files", str(tmp_path))


@pytest.mark.parametrize(
    ("glob", "said"),
    [
        ("lake/*.parquet", "lake/day=1/a.parquet: name the folder lake or 'lake/**/*.parquet'"),
        ("lake/*/*/*.parquet", "lake/day=1/a.parquet: name the folder lake or 'lake/**/*.parquet'"),
        ("lake/d=*/b.*", "lake/day=1/b.orc: name the folder lake or 'lake/**/b.*'"),
        ("*.orc", "lake/day=1/b.orc: name the folder . or '**/*.orc'"),
        ("my */x/*", "lake/day=1/a.parquet: name the folder . or '**/*'"),
        ("my files/*/*", "my files/e.pq: name the folder 'my files' or 'my files/**/*'"),
        ("lake/*.pq", ""),
        ("lake/*.csv", ""),
        ("lake/*/*/", ""),
    ],
)
def test_a_glob_of_another_depth(tmp_path, monkeypatch, glob, said):
    monkeypatch.chdir(tmp_path)
    names = ["lake/day=1/b.orc", "lake/day=1/a.parquet", "lake/day=2/d.parquet", "my files/e.pq"]
    for name in [*names, "lake/_old/0.parquet", "lake/_old/0.pq", "lake/.pq", "lake/day=1/c.csv"]:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    inputs, (error,) = expand([glob])
    assert (inputs, error.filename) == ([], glob)
    assert error.strerror == "no Parquet or ORC files" + f"; there is {said}" * bool(said)


def test_a_glob_of_another_depth_is_not_looked_for_everywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(5):
        Path(f"lake/{number}").mkdir(parents=True)
    Path("lake/4/a.parquet").touch()
    monkeypatch.setattr(paths, "MOST_SEARCHED", 5)
    (error,) = expand(["lake/*.parquet"])[1]
    assert error.strerror == "no Parquet or ORC files"
    monkeypatch.setattr(paths, "MOST_SEARCHED", 6)
    (error,) = expand(["lake/*.parquet"])[1]
    assert "there is lake/4/a.parquet" in error.strerror


def test_globs_of_file_urls(tmp_path):
    folder = tmp_path / "a b" / "x*y"
    folder.mkdir(parents=True)
    (tmp_path / "a b" / "xzy").mkdir()
    for name in ("x*y/a.parquet", "xzy/b.parquet"):
        (tmp_path / "a b" / name).touch()
    above = f"file://{tmp_path}/a%20b"
    for glob, found in (
        (f"{above}/*/*.parquet", ["x*y/a.parquet", "xzy/b.parquet"]),
        # What is percent-encoded is only a character.
        (f"{above}/x%2Ay/*", ["x*y/a.parquet"]),
        (f"file:{tmp_path}/a b/xz*", ["xzy/b.parquet"]),
    ):
        inputs, errors = expand([glob])
        assert ([path for path, _ in inputs], errors) == (
            [f"{tmp_path}/a b/{name}" for name in found],
            [],
        )
    _, (error,) = expand([f"{above}/none/*.parquet"])
    assert (error.filename, error.strerror) == (f"{tmp_path}/a b/none", "no such folder")
    _, (error,) = expand([f"{above}/none*/*.parquet"])
    assert error.strerror.startswith(
        f"no Parquet or ORC files; there is {tmp_path}/a b/x*y/a.parquet: name the folder '{tmp_path}/a b' or "
    )


def test_what_is_left_out_of_a_folder_because_of_its_name(tmp_path):
    names = ["_old/a.parquet", ".hidden/b.csv", "day=1/.c.parquet", "A.data", "d.parquet.new"]
    without_rows = ["_delta_log/1.checkpoint.parquet", "_SUCCESS", ".a.parquet.crc", "_metadata"]
    without_rows += [
        "pbloom.toml",
        "deletion_vector_ad927f1e-b18a-4ff6-a03a-1213af3b24a2.bin",
        "00000-0-deletes.puffin",
        "metadata/v1.metadata.json",
        "index/0123456789abcdef.map.parquet",
    ]
    for name in [*names, *without_rows, "a.parquet", "metadata/e.csv"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"some")
    (tmp_path / ".empty").touch()
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / ".#a.csv").symlink_to("user@host.1")
    (tmp_path / "linked").symlink_to("_old")
    left_out = LeftOut()
    inputs, _ = expand([str(tmp_path), f"{tmp_path}/d.parquet.new"], None, left_out)
    paths = left_out.besides(map(itemgetter(0), inputs))
    found = {str(Path(path).relative_to(tmp_path)) for path in paths}
    assert found == {*names, "metadata/e.csv", "linked", "gone"} - {"d.parquet.new"}
    assert left_out.unlisted == []

    # Of whoever reads, nobody expects what is hidden.
    read = LeftOut(is_proof=False)
    expand([str(tmp_path)], None, read)
    told = {str(Path(path).relative_to(tmp_path)) for path in read.paths}
    assert told == {"A.data", "d.parquet.new", "metadata/e.csv", "linked", "gone"}


def test_the_account_of_a_run_on_spark_is_none_of_the_lake(tmp_path):
    """But what is only called like it may have rows: nothing here has begun the run `other`."""
    own = ["started.json", "plan.json", "sheet-0-0-91c46c35-000000", "began-000000-0"]
    account = [f"_runs/nightly 1/{name}" for name in own]
    account += [
        "_runs/nightly 1/bits-0a-000000",
        "run_id=nightly 1/task-000000.parquet",
        "run_id=nightly 1/missing.parquet",
    ]
    others = [
        "_runs/nightly 1/a.parquet",
        "_runs/other/plan.json",
        "run_id=nightly 1/task-1.parquet",
    ]
    others += ["run_id=other/task-000000.parquet"]
    for name in [*account, *others]:
        for folder in ("_pbloom", "deep/.audit"):
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / name).write_bytes(b"some")
    left_out = LeftOut()
    expand([str(tmp_path)], None, left_out)
    assert sorted(left_out.besides([])) == sorted(
        f"{tmp_path}/{folder}/{name}" for name in others for folder in ("_pbloom", "deep/.audit")
    )


def test_a_suffix_in_upper_case_is_one_of_a_data_file(tmp_path):
    for name in ("A.PARQUET", "b.Orc", "c.PQ", "d.PARQUETS", ".PARQUET"):
        (tmp_path / name).touch()
    inputs, errors = expand([str(tmp_path)])
    assert ([place for _, place in inputs], errors) == (["A.PARQUET", "b.Orc", "c.PQ"], [])


def test_outputs_are_below_their_folder_as_inputs_were_below_theirs(tmp_path):
    (tmp_path / "in" / "day=1").mkdir(parents=True)
    for name in ("in/day=1/x.parquet", "y.parquet"):
        (tmp_path / name).write_bytes(b"")
    inputs, _ = expand([f"{tmp_path}/i*", f"{tmp_path}/y.parquet", "s3://bucket/z.parquet"])
    assert list(outputs_in(Path("out"), inputs).values()) == [
        Path("out/day=1/x.parquet"), Path("out/y.parquet"), Path("out/z.parquet"),
    ]  # fmt: skip


def test_an_output_that_is_a_link_to_an_input(tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("a.parquet", "b.parquet"):
        (tmp_path / name).write_bytes(b"")
    os.link(tmp_path / "b.parquet", tmp_path / "out" / "a.parquet")
    inputs, _ = expand([f"{tmp_path}/a.parquet", f"{tmp_path}/b.parquet"])
    with pytest.raises(RewriteError, match=r"out/a\.parquet: is the input itself"):
        outputs_in(tmp_path / "out", inputs)


def test_the_mode_of_a_new_file_leaves_the_umask_alone(monkeypatch):
    """Other threads make files meanwhile."""
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", None)
        assert default_mode() == 0o640
    finally:
        monkeypatch.undo()
        os.umask(before)


def test_the_mode_where_the_system_does_not_tell(monkeypatch):
    def refuse(*_):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    before = os.umask(0o027)
    try:
        monkeypatch.setattr("builtins.open", refuse)
        assert default_mode() == 0o640
    finally:
        monkeypatch.undo()
        assert os.umask(before) == 0o027


def test_a_relative_name_is_of_the_folder_in_which_it_was_given(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    with output_to("a.parquet", False, 0o644, 0) as output:
        output.append(b"new")
        monkeypatch.chdir(elsewhere)
        output.flush()
        output.commit()
    assert (tmp_path / "a.parquet").read_bytes() == b"new"
    assert not list(elsewhere.iterdir())


def test_a_folder_that_goes_while_leftovers_are_looked_for(tmp_path, monkeypatch):
    """Others below it are still found; the folder itself must be there."""
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / hidden_name("x.parquet")).touch()
    scan = os.scandir

    def scandir(folder="."):
        if folder == str(tmp_path / "b") or folder == tmp_path / "b":
            shutil.rmtree(tmp_path / "b", ignore_errors=True)
        return scan(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    found = leftovers_below(str(tmp_path), 0)
    assert sorted(Path(left.path).parent.name for left in found) == ["a", "c"]
    with pytest.raises(FileNotFoundError):
        list(leftovers_below(str(tmp_path / "nothing"), 0))


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
@pytest.mark.parametrize(
    "ask",
    [
        pb.open,
        pb.clean_temp,
        pb.open_table,
        lambda name: pb.build(FIXTURES / "pyarrow_filters.parquet", name, columns="id"),
    ],
)
def test_a_name_that_no_path_can_have(ask, name):
    with pytest.raises(OSError, match="has a character that no path can have") as raised:
        ask(f"/tmp/{name}")
    assert raised.value.filename == ascii(f"/tmp/{name}")[1:-1]


def test_a_temporary_file_is_told_from_that_of_a_name_with_other_bytes():
    temporary = hidden_name("x\udcff.parquet")
    assert is_temporary(temporary, of="x\udcff.parquet")
    assert not is_temporary(temporary, of="x\udcfe.parquet")


def test_a_long_name_is_cut_between_characters():
    temporary = hidden_name("日" * 80)
    assert temporary.startswith("." + "日" * 66 + ".")
    assert is_temporary(temporary, of="日" * 80)


def test_a_name_that_the_locale_cannot_spell(tmp_path):
    path = tmp_path / "日本.parquet"
    shutil.copy(FIXTURES / "pyarrow_types.parquet", path)
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    ran = subprocess.run(
        [sys.executable, "-m", "parquet_bloom", "build", path, "-c", "int64", "--in-place"],
        capture_output=True, text=True, check=False, env=os.environ | plain,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
