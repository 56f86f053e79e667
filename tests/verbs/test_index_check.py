"""What is wrong with an index, and what is only out of date."""

import json
import os
import re
import shlex
import shutil
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome, run_printed

import parquet_bloom as pb
from parquet_bloom.index import map_writer, slices_writer
from parquet_bloom.index.manifest import Manifest, existing
from parquet_bloom.render.wording import size
from parquet_bloom.storage import open_folder
from parquet_bloom.verbs import index_change

FILES = 4


def write(path: Path, first: int) -> None:
    """A file whose size does not depend on its values."""
    ids = pa.array(range(first, first + 900), pa.int64())
    pq.write_table(
        pa.table({"id": ids, "even": pa.array([id // 2 * 2 for id in range(first, first + 900)])}),
        path, row_group_size=300, use_dictionary=False, compression="none", data_page_size=500,
        write_batch_size=50, write_statistics=False,
    )  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    for number in range(FILES):
        write(folder / f"{number}.parquet", 1_000_000 + 700 * number)
    return folder


@pytest.fixture(params=["file", "row-group", "page"])
def index(lake: Path, tmp_path: Path, request: pytest.FixtureRequest) -> pb.Index:
    return pb.Index.build(tmp_path / "index", lake, ["id", "even"], places=request.param)


def problems(report: pb.IndexCheck) -> list[tuple[str, str]]:
    assert report.ok == (report.findings == () and report.failed == 0)
    return [(finding.problem, finding.message) for finding in report.findings]


def test_nothing_is_wrong(index):
    report = index.check(deep=True)
    assert problems(report) == []
    assert (report.files, report.unneeded) == (FILES, 0)
    assert report.keys >= 900 * FILES + 450 * FILES
    assert report.values >= report.keys
    assert index.check().values == 0


def test_what_an_add_would_see(index, lake):
    shutil.copy(lake / "0.parquet", lake / "1.parquet")
    (lake / "2.parquet").unlink()
    shutil.copy(lake / "0.parquet", lake / "new.parquet")
    for deep in (False, True):
        assert problems(index.check(deep=deep)) == [
            ("new", f"{lake}/new.parquet: not in the index"),
            ("changed", f"{lake}/1.parquet: not in the index as it is now"),
            (
                "gone",
                f"{lake}/2.parquet: is not there any more, or in no place that the index is about",
            ),
        ]
    index.add()
    assert problems(index.check(deep=True)) == []
    index.compact(everything=True)
    assert problems(index.check(deep=True)) == []


def test_what_is_unknown_in_every_answer_is_named(lake, tmp_path):
    (lake / "0.parquet").write_bytes(b"no file")
    pq.write_table(pa.table({"id": [1]}), lake / "9.parquet")
    with pb.Index.build(tmp_path / "index", lake, ["id", "even"]) as index:
        report, deep = index.check(), index.check(deep=True)
    assert problems(report) == problems(deep) == []
    assert deep.not_indexed == report.not_indexed
    assert (deep.failed, deep.ok) == (report.failed, report.ok) == (1, False)
    found = [(Path(each.path).name, each.column) for each in report.not_indexed]
    assert found == [("0.parquet", "even"), ("0.parquet", "id"), ("9.parquet", "even")]
    for more in ((), ("--deep",)):
        told = outcome("index", "check", "--index", tmp_path / "index", *more)
        assert told.code == 2
        unknown = "2 of them not fully indexed (1 cannot be read in full)"
        assert f": 0 findings: 5 files, {unknown}, " in told.stdout
        # What is wrong with all columns of a file is said once.
        assert (
            f"{lake}/0.parquet: even, id: not indexed: not a Parquet file: 7 bytes" in told.stderr
        )
        assert len(told.stderr.splitlines()) == 2
        assert f"{lake}/9.parquet: even: not indexed: no column even" in told.stderr
    # Another one is there by now.
    write(lake / "0.parquet", 0)
    changed = outcome("index", "check", "--index", tmp_path / "index")
    assert changed.code == 1
    assert ": 1 finding: 5 files, 2 of them not fully indexed, " in changed.stdout


def test_values_that_changed_behind_the_back_of_the_file_system(index, lake):
    """The same size, time and inode: only the values tell."""
    path = lake / "3.parquet"
    before, other = os.stat(path), lake / "other"
    write(other, 5_000_000)
    path.write_bytes(other.read_bytes())
    other.unlink()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert problems(index.check()) == []
    found = problems(index.check(deep=True))
    lost = [
        ("lost", f"{path}: {column}: row group {group}: {count} values not found")
        for column, count in (("even", 150), ("id", 300))
        for group in range(3)
    ]
    if index._asked.places == "file":
        lost = [
            ("lost", f"{path}: {column}: {count} values not found")
            for column, count in (("even", 450), ("id", 900))
        ]
    assert [each for each in found if each[0] == "lost"] == sorted(lost, key=found.index)
    assert [problem for problem, _ in found].count("unexplained") == 2
    # Nothing in common: all that the index knows of the file.
    assert ("unexplained", f"{path}: id: 900 keys of no value") in found
    # No `add` sees that: a new index helps.
    checked = ("index", "check", "--index", index.path, "--deep")
    *_, command = outcome(*checked).stdout.splitlines()
    assert command.startswith(
        f"next: pbloom index build --overwrite --index {index.path} -c id,even "
    )
    assert outcome(*shlex.split(command)[2:]).code == 0
    assert outcome(*checked).code == 0


@pytest.mark.parametrize(
    ("column", "form", "suffix"),
    [
        ("id", "map", "map"), ("even", "map", "map"), ("id", "map", "units"),
        ("id", "slices", "slices-*"), ("id", "slices", "units"),
    ],
)  # fmt: skip
def test_damage_is_found_wherever_it_is(lake, tmp_path, column, form, suffix):
    """In what engines alone go by, too."""
    if form == "slices":
        pb.build([*lake.iterdir()], in_place=True, columns=[column])
    places = "page" if column == "even" else "row-group"
    pb.Index.build(tmp_path / "index", lake, column, form=form, places=places).close()
    (path,) = (tmp_path / "index").glob(f"*.{suffix}.parquet")
    whole = path.read_bytes()
    random = np.random.default_rng(3)
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    tail = range(footer - 200, len(whole), 5)
    for at in {0, 4, 30, len(whole) - 1, *tail, *random.integers(0, footer, 40).tolist()}:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        found = problems(check(tmp_path))
        assert {problem for problem, _ in found} == {"damaged"}, at
        assert all(message.startswith(f"{path}: ") for _, message in found), found
    path.write_bytes(whole[:-5] + b"\1" + whole[-4:])
    expected = f"{path}: byte {len(whole) - 5:,} is not what pbloom writes there: "
    expected += "engines may not find what is in it"
    assert problems(check(tmp_path)) == [("damaged", expected)]
    path.write_bytes(whole[:-1])
    assert problems(check(tmp_path)) == [
        (
            "damaged",
            f"{path}: {len(whole) - 1:,} bytes, expected the {len(whole):,} of the manifest",
        )
    ]
    path.unlink()
    assert problems(check(tmp_path)) == [("damaged", f"{path}: is not there")]


@pytest.mark.parametrize("form", ["map", "slices"])
def test_files_of_many_row_groups_are_whole(lake, tmp_path, monkeypatch, form):
    for name, number in {"PER_PAGE": 16, "_PAGES_PER_GROUP": 2, "_MOST_GROUPS": 4}.items():
        monkeypatch.setattr(map_writer, name, number)
    monkeypatch.setattr(slices_writer, "_GROUP_BYTES", 2000)
    monkeypatch.setattr(slices_writer, "_MOST_GROUPS", 5)
    if form == "slices":
        pb.build([*lake.iterdir()], in_place=True, columns=["id", "even"])
    with pb.Index.build(tmp_path / "index", lake, ["id", "even"], form=form) as index:
        assert problems(index.check()) == []
    paths = (tmp_path / "index").glob(f"*.{form}*.parquet")
    assert all(pq.ParquetFile(path).num_row_groups > 2 for path in paths)


def check(folder: Path) -> pb.IndexCheck:
    with pb.Index(folder / "index") as index:
        return index.check()


def test_files_that_nothing_needs(lake, tmp_path):
    folder = tmp_path / "index"
    with pb.Index.build(folder, lake, "id") as index:
        (folder / "0123456789abcdef.map.parquet").write_bytes(b"of a writer that died")
        (folder / "somebody's notes.parquet").write_bytes(b"")
        write(lake / "new.parquet", 7)
        index.add()
        report = index.check()
        assert (problems(report), report.unneeded) == ([], 2)
        # Somebody may still read the first manifest, or be about to name the file.
        report = index.compact()
        assert (report.removed, report.unneeded) == (0, 1 + 2 + 4)
        report = index.compact(older_than=0)
        assert (report.unneeded, report.bytes_unneeded) == (0, 0)
        # That file, two manifests, and what was merged.
        assert report.removed == 1 + 2 + 4
        assert index.check().unneeded == 0
        assert sorted(path.suffixes[0] for path in folder.iterdir()) == [
            ".json", ".map", ".parquet", ".units"
        ]  # fmt: skip


def about(folder: Path) -> str:
    """The line that says what an index is about."""
    manifest = max(folder.glob("manifest-*"))
    made = time.gmtime(json.loads(manifest.read_bytes())["index"]["made"])
    segments = [path for path in folder.iterdir() if path.stem.endswith((".map", ".units"))]
    num_bytes = sum(path.stat().st_size for path in segments if "0123" not in path.name)
    return f"{folder}: id by row group: map of {size(num_bytes)}, as indexed {time.strftime('%Y-%m-%d %H:%M', made)} UTC\n"


@pytest.mark.parametrize("form", ["map", "slices"])
def test_keys_of_what_is_gone_stay_until_all_is_merged(lake, tmp_path, form):
    """Of one file of many, whose segment is merged only by --all."""
    folder = tmp_path / "index"
    for number in range(FILES, 9):
        write(lake / f"{number}.parquet", 1_000_000 + 700 * number)
    if form == "slices":
        pb.build([*lake.iterdir()], in_place=True, columns=["id"])
    per_file, of = (900, "keys") if form == "map" else (3, "filters")
    with pb.Index.build(folder, lake, "id", form=form) as index:
        before = {path.name for path in folder.glob("*.parquet")}
        write(lake / "2.parquet", 5_000_000)
        if form == "slices":
            pb.build(lake / "2.parquet", in_place=True, columns=["id"])
        index.add()
        index.compact(older_than=0)
        report = index.check(deep=True)
        assert (problems(report), report.columns, report.places) == ([], ("id",), "row-group")
        assert getattr(report, of) == 10 * per_file
        assert getattr(report, f"{of}_gone") == per_file
        assert report.keys_gone + report.filters_gone == per_file
        assert index.probe("id", 1_000_000 + 1850).absent == 1
        report = index.compact(everything=True, older_than=0)
        assert (report.merged, report.merged_into, report.segments) == (2, 1, 1)
        report = index.check(deep=True)
        assert (report.keys_gone, report.filters_gone, getattr(report, of)) == (0, 0, 9 * per_file)
    # And no file that had them.
    assert not before & {path.name for path in folder.glob("*.parquet")}


def test_the_command(lake, tmp_path):
    folder = tmp_path / "index"
    pb.Index.build(folder, lake, "id").close()
    run = outcome("index", "check", "--index", folder, "--deep")
    assert (run.code, run.stdout) == (
        0,
        about(folder) + f"{folder}: 0 findings: 4 files, 3,600 keys, 3,600 values looked up\n",
    )
    (lake / "2.parquet").unlink()
    run = outcome("index", "check", "--index", folder)
    assert run.code == 1
    assert run.stdout.splitlines()[1:] == [
        f"gone: {lake}/2.parquet: is not there any more, or in no place that the index is about",
        f"{folder}: 1 finding: 4 files, 3,600 keys; the files were not read: --deep does that",
        f"next: pbloom index add --index {folder}",
    ]
    outcome("index", "add", "--index", folder)
    (folder / "0123456789abcdef.map.parquet").write_bytes(b"of a writer that died")
    run = outcome("index", "check", "--index", folder)
    size = (folder / "manifest-0000000001.json").stat().st_size + 21
    assert (run.code, run.stdout) == (
        0,
        about(folder)
        + f"{folder}: 0 findings: 3 files, 3,600 keys; the files were not read: --deep does that;"
        + " 900 of 3,600 keys are of files that are gone, have changed, are damaged, or were indexed twice at a time"
        + ":"
        + f" `pbloom index compact --index {folder} --all` removes them;"
        + f" 2 files not needed, {size} B: `pbloom index compact --index {folder}` removes them once they are an hour old"
        + " (--older-than)\n",
    )
    (folder / "0123456789abcdef.map.parquet").unlink()
    run = outcome("index", "check", "--index", folder)
    assert run.stdout.endswith(
        f"; 1 file not needed, {size - 21} B: `pbloom index compact --index {folder}` removes it once it is an hour old (--older-than)\n"
    )
    run = outcome("index", "compact", "--index", folder, "--all")
    assert run.code == 0
    first, second = run.stdout.splitlines()
    assert first.startswith(
        f"{folder}: 1 segment written anew, without what is gone, 1 now; 2,700 keys written, "
    )
    assert second.startswith("4 files left that nothing needs, ")
    assert second.endswith(
        ": a later run removes what nothing has needed for an hour, or for --older-than"
    )
    run = outcome("index", "compact", "--index", folder, "--older-than", "0")
    assert run.stdout.startswith(f"{folder}: 1 segment, nothing to merge; 4 files removed, ")
    assert len(run.stdout.splitlines()) == 1


def test_many_files_that_changed_hide_nothing_else(lake, tmp_path):
    folder = tmp_path / "index"
    pb.Index.build(folder, lake, "id").close()
    (lake / "2.parquet").unlink()
    for number in range(23):
        shutil.copy(lake / "0.parquet", lake / f"new-{number:02}.parquet")
    run = outcome("index", "check", "--index", folder)
    assert run.stdout.splitlines()[1:] == [
        *(f"new: {lake}/new-{number:02}.parquet: not in the index" for number in range(20)),
        "new: 3 more: --json shows all",
        f"gone: {lake}/2.parquet: is not there any more, or in no place that the index is about",
        f"{folder}: 24 findings: 4 files, 3,600 keys; the files were not read: --deep does that",
        f"next: pbloom index add --index {folder}",
    ]
    document = json.loads(outcome("index", "check", "--index", folder, "--json").stdout)
    assert len(document["findings"]) == 24


def test_named_files_alone_are_checked(lake, tmp_path, monkeypatch):
    """By the names that were given; what the index knows in a folder and is no more, is gone."""
    monkeypatch.chdir(tmp_path)
    (lake / "old").mkdir()
    (lake / "3.parquet").rename(lake / "old" / "3.parquet")
    write(lake / "old" / "4.parquet", 1_000_000)
    with pb.Index.build("index", "lake", "id") as index:
        (lake / "0.parquet").unlink()
        os.utime(lake / "1.parquet", ns=(0, 0))
        (lake / "old" / "4.parquet").unlink()
        shutil.copy(lake / "1.parquet", lake / "new.parquet")
        named = index.check(files=["lake/2.parquet", "lake/old"], deep=True)
        assert problems(named) == [
            (
                "gone",
                f"{lake}/old/4.parquet: is not there any more, or in no place that the index is about",
            )
        ]
        assert (named.files, named.files_checked, named.values) == (FILES + 1, 3, 2 * 900)
        assert index.check(files=lake / "2.parquet").ok
        assert problems(index.check(files="lake/*.parquet")) == [
            ("new", "lake/new.parquet: not in the index"),
            ("changed", "lake/1.parquet: not in the index as it is now"),
        ]
        assert len(index.check().findings) == 4
        with pytest.raises(FileNotFoundError, match=r"lake/0\.parquet"):
            index.check(files="lake/0.parquet")
        with pytest.raises(TypeError, match=r"^files: None, expected the tables$"):
            index.check(table="auto")
    run = outcome("index", "check", "--index", "index", "lake/new.parquet", "lake/2.parquet")
    assert (run.code, run.stdout.splitlines()[1:]) == (
        1,
        [
            "new: lake/new.parquet: not in the index",
            "index: 1 finding: 1 of 5 files, 4,500 keys; the files were not read: --deep does that",
            "next: pbloom index add --index index lake/new.parquet lake/2.parquet",
        ],
    )


def test_add_is_named_only_if_it_mends_all(lake, tmp_path, monkeypatch):
    folder, key = tmp_path / "index", "ascii:0123456789abcdef"
    pb.Index.build(folder, lake, "id", hash_key=key).close()
    write(lake / "new.parquet", 7)
    check = ("index", "check", "--index", folder)
    assert "next: " not in outcome(*check, "--json").stdout

    def last(*options: str) -> str:
        return outcome(*check, *options).stdout.splitlines()[-1]

    add = f"next: pbloom index add --index {folder}"
    assert last() == add
    assert last("--hash-key", key) == f"{add} --hash-key KEYSPEC"
    monkeypatch.setenv("SECRET", key)
    assert last("--hash-key", "env:SECRET", "--deep") == f"{add} --hash-key env:SECRET"
    monkeypatch.setenv("PBLOOM_HASH_KEY", key)
    assert last("--uniform-key", "env:SECRET") == f"{add} --uniform-key env:SECRET"
    (path,) = folder.glob("*.map.parquet")
    path.write_bytes(b"damaged")
    anew = f"next: pbloom index build --overwrite --index {folder} -c id {lake}"
    assert last() == anew


def test_a_file_that_cannot_be_read_is_tried_again_and_nothing_else_comes_of_it(lake, tmp_path):
    """What it fails of may pass. Until then, nothing is written anew, and no command is said to mend it."""
    folder, link = tmp_path / "index", lake / "link.parquet"
    link.symlink_to(tmp_path / "elsewhere.parquet")
    index, reason = ("--index", folder), "No such file or directory"
    built = outcome("index", "build", *index, "-c", "id", lake)
    assert (built.code, f"{FILES + 1} added, 0 changed" in built.stdout) == (2, True)
    before = {*folder.iterdir()}
    for _ in range(2):
        checked = outcome("index", "check", *index)
        assert checked.stdout.splitlines()[1] == f"unread: {link}: {reason}; index add tries again"
        assert (checked.code, "next: " in checked.stdout) == (2, False)
        assert "of which cannot be read in full, " in checked.stdout
        added = outcome("index", "add", *index)
        counts = "1 of which cannot be read in full: 0 added, 0 changed, 0 removed"
        assert (added.code, counts in added.stdout) == (2, True)
        assert added.complaint == f"{link}: id: not indexed: {reason}"
        assert {*folder.iterdir()} == before
    for named in ((), (lake,)):
        asked = outcome("index", "probe", *index, "-c", "id", "-v", -5, *named)
        assert asked.stdout.splitlines()[-1] == f"{link}: may hold any value: {reason}"
        assert (asked.code, "not up to date" in asked.stderr) == (2, False)
    write(tmp_path / "elsewhere.parquet", 77_000_000)
    with pb.Index(folder) as index:
        change = index.add()
        assert (change.added, change.changed, change.failed, change.unknown) == (0, 1, 0, 0)
        assert index.check(deep=True).ok
        assert index.probe("id", 77_000_001).results[0].verdict == "maybe"


@pytest.mark.parametrize("damaged", ["*.map.parquet", "*.units.parquet", "manifest-*.json"])
def test_a_damaged_index_is_built_anew(lake, tmp_path, damaged):
    folder = tmp_path / "index"
    pb.Index.build(folder, lake, "id").close()
    (path,) = folder.glob(damaged)
    path.write_bytes(path.read_bytes()[:100])
    build = ("index", "build", "--index", folder, "-c", "id", lake)
    assert outcome(*build).complaint == (
        f"{folder}: is an index already, expected a new folder, also for other columns; pbloom index add adds files to"
        " it, --overwrite makes it anew"
    )
    assert outcome(*build, "--overwrite").code == 0
    with pb.Index(folder) as index:
        assert problems(index.check(deep=True)) == []
        assert index.probe("id", 1_000_001).results[0].verdict == "maybe"
        # Not before nobody can read the old one any more.
        assert index.compact().removed == 0
        assert index.compact(older_than=0).removed == 3
        assert problems(index.check(deep=True)) == []
    assert len([*folder.iterdir()]) == 3


def test_files_are_not_added_to_an_index_of_others_that_was_made_meanwhile(
    lake, tmp_path, monkeypatch
):
    index, other, commit = tmp_path / "index", tmp_path / "other", index_change.commit
    other.mkdir()
    write(other / "0.parquet", 5)
    pb.Index.build(index, lake, "id").close()
    write(lake / "new.parquet", 9)

    def late(*arguments, **options):
        monkeypatch.setattr(index_change, "commit", commit)
        pb.Index.build(index, other, "id", overwrite=True).close()
        return commit(*arguments, **options)

    monkeypatch.setattr(index_change, "commit", late)
    with (
        pb.Index(index) as old,
        pytest.raises(pb.RewriteError, match="another index was made here"),
    ):
        old.add()
    with pb.Index(index) as new:
        assert problems(new.check(deep=True)) == []


@pytest.fixture
def of_two(lake, tmp_path) -> pb.Index:
    """An index over two folders, with a file in each that is new."""
    other = tmp_path / "other"
    other.mkdir()
    write(other / "0.parquet", 5)
    made = pb.Index.build(tmp_path / "index", [lake, other], "id")
    write(lake / "new.parquet", 9)
    write(other / "new.parquet", 9)
    return made


def removing(index: Path, source: Path):
    """Progress, at whose first step somebody else removes a source."""
    removed = []

    def step(done: int, total: int) -> None:
        if not removed:
            removed.append(source)
            with pb.Index(index) as other:
                other.remove(source)

    return step


def test_an_add_is_not_lost_to_the_removal_of_a_source(of_two, lake, tmp_path):
    """Nor does what was removed come back."""
    index = tmp_path / "index"
    with of_two:
        of_two.add(progress=removing(index, tmp_path / "other"))
    with pb.Index(index) as now:
        paths = {unit.path for unit, _ in now._asked.units("id")}
        assert paths == {str(path) for path in lake.rglob("*.parquet")}
        assert problems(now.check(deep=True)) == []
        assert now._asked.manifest.sources == (str(lake),)
        assert now.add().added == 0


def test_a_folder_that_is_away_by_then_is_not_forgotten(of_two, lake, tmp_path):
    """It may be mounted elsewhere, when somebody removes another one."""
    index, files = tmp_path / "index", {str(path) for path in lake.glob("?.parquet")}
    remove = removing(index, tmp_path / "other")

    def away(done: int, total: int) -> None:
        remove(done, total)
        if done == total:
            lake.rename(tmp_path / "away")
            lake.mkdir()

    with of_two, pytest.raises(FileNotFoundError, match=r"Index\.remove forgets what is gone"):
        of_two.add(progress=away)
    with pb.Index(index) as now:
        assert {unit.path for unit, _ in now._asked.units("id")} == files


def test_an_index_that_has_no_identity_yet_may_be_another_one(of_two, tmp_path, monkeypatch):
    """As versions made it that gave it none."""
    index, has_identity = tmp_path / "index", Manifest.has_identity
    monkeypatch.setattr(Manifest, "has_identity", lambda one, _: has_identity(one, ""))
    with of_two, pytest.raises(pb.RewriteError, match="another index was made here"):
        of_two.add(progress=removing(index, tmp_path / "other"))


def test_an_index_keeps_its_identity_until_it_is_made_anew(of_two, lake, tmp_path):
    identity = of_two._asked.manifest.identity
    assert identity
    with of_two:
        of_two.add()
        of_two.remove(tmp_path / "other")
        of_two.compact(everything=True)
        assert existing(open_folder(of_two.path)).identity == identity
    pb.Index.build(tmp_path / "index", lake, "id", overwrite=True).close()
    assert existing(open_folder(str(tmp_path / "index"))).identity not in ("", identity)


def test_what_an_index_was_built_with_is_in_the_command_that_builds_it_anew(lake, tmp_path):
    folder, other = tmp_path / "index", tmp_path / "other.parquet"
    write(other, 0)
    pb.Index.build(folder, [lake, other], ["id", "even"], places="page").close()
    expected = []
    for path in folder.glob("*.map.parquet"):
        expected.append(f"{path}: 7 bytes, expected the {path.stat().st_size:,} of the manifest")
        path.write_bytes(b"damaged")
    assert outcome("index", "check", "--index", folder).stdout.splitlines()[-1] == (
        f"next: pbloom index build --overwrite --index {folder} -c id,even --places page {lake} {other}"
    )
    anew = "; pbloom index build --overwrite, with its files and columns, makes the index anew"
    complaint = outcome("index", "probe", "--index", folder, "-c", "id", "-v", 5).complaint
    assert complaint in [each + anew for each in expected]
    path.with_name("manifest-0000000001.json").write_bytes(b"damaged")
    assert outcome("index", "check", "--index", folder).complaint == (
        f"{folder}/manifest-0000000001.json: damaged: its CRC-32 is wrong{anew}"
    )


@pytest.mark.parametrize(
    ("form", "suffix"),
    [("map", "map"), ("map", "units"), ("slices", "slices-*"), ("slices", "units")],
)
def test_no_answer_is_from_an_index_that_lacks_a_file(lake, tmp_path, form, suffix):
    """Whether the answer needs the file or not: `absent` would take no units."""
    if form == "slices":
        pb.build(sorted(lake.iterdir()), in_place=True, columns="id")
    folder = tmp_path / "index"
    pb.Index.build(folder, lake, ["id", "even"] if form == "map" else "id", form=form).close()
    path = segment_file(folder, "id", suffix)
    path.unlink()
    told = f"{path}: is not there"
    for value in (5, 1_000_001):
        with pb.Index(folder) as index, pytest.raises(pb.FormatError, match=f"^{re.escape(told)}$"):
            index.probe("id", value)
    anew = "; pbloom index build --overwrite, with its files and columns, makes the index anew"
    asked = ("--index", folder, "-c", "id", "-v", 5)
    for words in (("index", "probe", *asked), ("find", *asked), ("index", "probe", *asked, lake)):
        result = outcome(*words)
        assert (result.code, result.stdout, result.complaint) == (2, "", told + anew)
    # Whether anything is new or not; and not the file whose name is next to it.
    for _ in range(2):
        assert outcome("index", "add", "--index", folder).complaint == told + anew
        write(lake / "new.parquet", 8_000_000)
    if form == "map":
        with pb.Index(folder) as index:
            assert index.probe("even", 5).results[0].verdict == "absent"


def segment_file(folder: Path, column: str, suffix: str) -> Path:
    """Of the one segment of a column."""
    manifest = existing(open_folder(folder))
    (segment,) = (each for each in manifest.segments if each.column == column)
    (path,) = folder.glob(f"{segment.units.name.partition('.')[0]}.{suffix}.parquet")
    return path


@pytest.mark.parametrize("source", ["lake", "lake/*.parquet", "each file"])
@pytest.mark.parametrize("damage", ["file", "column"])
def test_a_file_that_was_restored_as_it_was_is_tried_again(lake, tmp_path, source, damage):
    """With its inode, size and time, as `cp -p` does, so that nothing but reading it tells."""
    folder, path = tmp_path / "index", lake / "2.parquet"
    whole, status = path.read_bytes(), path.stat()

    def write_again(data: bytes) -> None:
        path.write_bytes(data)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    first_page = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    at = len(whole) - 4 if damage == "file" else first_page
    write_again(whole[:at] + b"\xff" * 4 + whole[at + 4 :])
    sources = sorted(map(str, lake.iterdir())) if source == "each file" else [tmp_path / source]
    index = ("--index", folder)
    assert outcome("index", "build", *index, "-c", "id,even", *sources).code == 2
    check = ("index", "check", *index, "--deep")
    assert "next: " not in (still := outcome(*check).stdout)
    assert ": 0 findings: " in still
    write_again(whole)
    added = outcome("index", "add", *index)
    told = f"`pbloom index check --index {folder}` names all, and with --deep tries them again"
    assert (added.code, added.complaint.endswith(told)) == (2, True)
    checked = outcome(*check)
    columns = "even, id" if damage == "file" else "id"
    message = "can be read by now: index remove, then index add, reads it again"
    assert checked.stdout.splitlines()[1] == f"readable: {path}: {columns}: {message}"
    assert checked.code == 2
    with pb.Index(folder) as opened:
        report = opened.check(files=path, deep=True)
        assert (problems(report), report.readable) == (
            [("readable", f"{path}: {columns}: {message}")],
            (str(path),),
        )
        assert opened.check().findings == ()
    remove, add = run_printed(checked.stdout[checked.stdout.index("next: ") :])
    assert remove == f"pbloom index remove --index {folder} {path}"
    assert add == f"pbloom index add --index {folder}{f' {path}' * (source == 'each file')}"
    checked = outcome(*check)
    assert (checked.code, ": 0 findings: 4 files, " in checked.stdout) == (0, True)
