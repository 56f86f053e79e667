"""An index over many files: what it answers, and what it says after files have changed."""

import errno
import json
import os
import shutil
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyorc
import pytest
from make.commands import on_a_terminal, outcome
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.errors import ColumnError, FormatError, RewriteError, ValueTypeError
from parquet_bloom.verbs import listed_files
from parquet_bloom.verbs.find import are_held

FILES = 12
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NULL = "nulls are not inserted into Bloom filters"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of three row groups with several pages each."""
    folder = tmp_path_factory.mktemp("lake")
    random = np.random.default_rng(7)
    for number in range(FILES):
        ids = random.integers(0, 1 << 40, 1500)
        names = pa.array([f"user {id % 90}" for id in ids.tolist()]).dictionary_encode()
        table = pa.table({"id": ids, "name": names, "score": ids / 3})
        pq.write_table(
            table, folder / f"{number:02}.parquet", row_group_size=500, data_page_size=800,
            write_batch_size=50,
        )  # fmt: skip
    return folder


@pytest.fixture
def lake(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "lake"))


@pytest.mark.every(2)
@pytest.mark.parametrize("places", ["file", "row-group", "page"])
@pytest.mark.parametrize("column", ["id", "name", "score"])
def test_every_value_is_found_where_it_is(lake, tmp_path, places, column):
    with pb.Index.build(tmp_path / "index", lake, [column], places=places) as index:
        for path in sorted(lake.iterdir())[:3]:
            groups = [pq.ParquetFile(path).read_row_group(at)[column] for at in range(3)]
            for at, group in enumerate(groups):
                values = group.to_pylist()[:60]
                for few in (values, values * 5):
                    for result in index.probe(column, few).results:
                        (file,) = [each for each in result.files if each.path == str(path)]
                        assert file.verdict == result.verdict == "maybe"
                        assert places == "file" or at in file.row_groups
                        assert (places == "page") == bool(file.pages)


def test_pages_are_those_of_the_column(lake, tmp_path):
    path = lake / "05.parquet"
    with pb.Index.build(tmp_path / "index", lake, "id", places="page") as index:
        with pb.open(path) as file:
            assert file.num_parts == 3
        values = pq.ParquetFile(path).read_row_group(1)["id"].to_pylist()
        found = [index.probe("id", value).results[0].files for value in values]
    answers = [file.pages for files in found for file in files if file.path == str(path)]
    assert len(answers) == 500
    # Values of a row group are in its pages in turn; some are found in others, too, by chance.
    at = 0
    for pages in answers:
        at = min(page for group, page in pages if group == 1 and page >= at)
    assert at == 2
    assert sum(len(pages) == 1 for pages in answers) > 450


def test_pages_are_told_by_their_row_groups(tmp_path):
    values = [number % 4 for number in range(3 * 96)]
    pq.write_table(
        pa.table({"id": values}), tmp_path / "a.parquet", row_group_size=96, data_page_size=64,
        write_batch_size=16, use_dictionary=False,
    )  # fmt: skip
    pq.write_table(pa.table({"id": [7]}), tmp_path / "b.parquet")
    orc.write_table(pa.table({"id": [8] * 21_000}), tmp_path / "c.orc")
    index = tmp_path / "index"
    pb.Index.build(index, tmp_path, "id", places="page").close()
    told = outcome(
        "index", "probe", "--index", index, "-c", "id", "-v", "3", "-v", "7", "-v", "8"
    ).stdout
    assert [
        line.split("\t")[1] for line in told.splitlines() if line.startswith(f"{tmp_path}/")
    ] == [
        "maybe, row group 0: pages 0, 1, 2, 3, 4, 5; row group 1: pages 0, 1, 2, 3, … (18 in all)",
        "maybe, row group 0: page 0",
        "maybe, stripe 0: index groups 0, 1, 2",
    ]


@pytest.mark.parametrize(
    "command",
    [
        ("inspect",),
        ("validate",),
        ("probe", "-c", "id", "-v", "1"),
        ("find", "-c", "id", "-v", "1"),
    ],
    ids=" ".join,
)
def test_an_index_is_no_lake(lake, tmp_path, command):
    index = tmp_path / "index"
    pb.Index.build(index, lake, "id").close()
    told = outcome(*command, index)
    assert (told.code, told.complaint) == (
        2,
        f"{index}: an index, expected Parquet or ORC files;"
        + " pbloom index probe --index asks it, pbloom index check --index proves it and says what is in it",
    )


def test_other_values_are_absent(lake, tmp_path):
    with pb.Index.build(tmp_path / "index", lake, ["id", "name"]) as index:
        report = index.probe("name", ["nobody", "user 3"])
        assert [each.verdict for each in report.results] == ["absent", "maybe"]
        assert not report.is_absent
        assert report.num_files == FILES
        found = index.probe("id", list(range(1 << 41, (1 << 41) + 2000)))
        maybes = sum(each.verdict == "maybe" for each in found.results)
        # One in eight by chance, and hashes are short: this seed's.
        assert maybes < 400
        assert len(found.results) == 2000


@pytest.mark.parametrize(
    "name", ["lake", "./lake/", "lake/*", "lake/05.parquet", "{}", "file://{}"]
)
def test_files_are_called_as_they_were_given(lake, tmp_path, monkeypatch, name):
    """Whether an index is asked about them or not; without files, as the index has them:
    it is asked from anywhere."""
    monkeypatch.chdir(tmp_path)
    name = name.format(lake)
    id = pq.read_table(lake / "05.parquet")["id"][0].as_py()
    with pb.Index.build("index", "lake", "id") as index:
        report = pb.find(name, "id", id, index="index")
        alone = pb.find(name, "id", id)
        assert report.files_by_index == report.num_files - 1
        assert (report.rows, report.unknown) == (alone.rows, alone.unknown)
        assert [file.path for file in report.asked] == [file.path for file in alone.asked]
        (result,) = index.probe("id", id, files=name).results
        assert [file.path for file in result.files] == [alone.rows[0].path]
        # One file, by two names.
        twice = pb.find([name, lake, lake / "05.parquet"], "id", id, index="index")
        assert (twice.num_files, len(twice.rows)) == (FILES, 1)
        assert [row.path for row in pb.find(None, "id", id, index="index").rows] == [
            str(lake / "05.parquet")
        ]
        (lake / "05.parquet").touch()
        changed = index.probe("id", id, files=name).files_unknown
        assert [file.path for file in changed] == [alone.rows[0].path]


def test_new_values_are_in_no_file(lake, tmp_path):
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        there = pq.read_table(lake / "05.parquet")["id"].to_pylist()[:300]
        assert not index.new_values("id", there).any()
        others = list(range(1 << 41, (1 << 41) + 300))
        assert index.new_values("id", others).sum() > 240
        shutil.copy(lake / "02.parquet", lake / "90.parquet")
        assert not index.new_values("id", others, files=lake).any()


def _as_they_were_asked(monkeypatch, change):
    """`change` is called between the answer of the index and the look into the files."""

    def after(*args, **options):
        change()
        return are_held(*args, **options)

    monkeypatch.setattr("parquet_bloom.verbs.index.are_held", after)


def _without(path, values):
    """Write a file anew without the rows of some ids."""
    table = pq.read_table(path)
    pq.write_table(table.filter(pc.invert(pc.is_in(table["id"], pa.array(values)))), path)


@pytest.mark.parametrize("is_array", [False, True], ids=["few", "many"])
def test_new_values_are_about_the_files_as_indexed(lake, tmp_path, is_array):
    """What has changed since is no answer: a row may have moved into a file that the index does not know."""
    moved, kept, *_ = pq.read_table(lake / "03.parquet")["id"].to_pylist()
    nobody = list(range(1 << 41, (1 << 41) + 300))
    values = [moved, kept, pq.read_table(lake / "04.parquet")["id"][0].as_py(), *nobody]
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        asked = np.array(values) if is_array else values
        expected = [False] * 3 + [True] * 300
        assert index.new_values("id", asked, verify=True).tolist() == expected
        shutil.copy(lake / "03.parquet", lake / "90.parquet")
        _without(lake / "03.parquet", [moved])
        new = index.new_values("id", asked, verify=True)
        assert new[:3].tolist() == [False] * 3
        # But for those for which the index takes some of what 03 held.
        assert new[3:].sum() > 280
        (lake / "03.parquet").unlink()
        assert index.new_values("id", asked, verify=True).tolist() == new.tolist()


@pytest.mark.parametrize("is_listed", [False, True], ids=["as_indexed", "as_listed"])
def test_new_values_of_a_file_that_changes_meanwhile_are_not_proved(
    lake, tmp_path, monkeypatch, is_listed
):
    moved = pq.read_table(lake / "03.parquet")["id"][0].as_py()
    files = lake if is_listed else None

    def move():
        shutil.copy(lake / "03.parquet", lake / "90.parquet")
        _without(lake / "03.parquet", [moved])

    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        _as_they_were_asked(monkeypatch, move)
        assert not index.new_values("id", [moved], files=files, verify=True).any()


@pytest.mark.parametrize("is_listed", [False, True], ids=["as_indexed", "as_listed"])
def test_all_new_values_are_about_one_moment(tmp_path, monkeypatch, is_listed):
    """Those that the index knows as new, and those that are looked for in the files."""
    folder, nobody = tmp_path / "filtered", list(range(50_000, 50_300))
    folder.mkdir()
    pq.write_table(pa.table({"id": range(1000)}), folder / "a.parquet")
    pb.build(folder / "a.parquet", columns=["id"], in_place=True, fpp=0.2)
    files = folder if is_listed else None

    def come():
        pq.write_table(pa.table({"id": nobody}), folder / "b.parquet")
        with pb.Index(tmp_path / "index") as other:
            other.add()

    with pb.Index.build(tmp_path / "index", folder, "id", form="slices") as index:
        assert 0 < index.new_values("id", nobody).sum() < len(nobody)
        _as_they_were_asked(monkeypatch, come)
        assert index.new_values("id", nobody, files=files, verify=True).all()
    with pb.Index(tmp_path / "index") as index:
        assert not index.new_values("id", nobody, files=files, verify=True).any()


def test_a_closed_index_refuses(lake, tmp_path):
    index = pb.Index.build(tmp_path / "index", lake, "id")
    for _ in range(2):
        index.close()
    asks = [
        lambda: index.probe("id", 1),
        lambda: index.new_values("id", [1]),
        lambda: index.sql("id", 1),
        lambda: index.add(),
        lambda: index.remove(lake),
        lambda: index.compact(),
        lambda: index.check(),
        lambda: index.__enter__(),
    ]
    for ask in asks:
        with pytest.raises(ValueError, match=r"^\S*/index: is closed, expected an open index$"):
            ask()
    assert (index.columns, index.generation) == (("id",), 1)


def test_what_is_not_there_is_not_added(lake, tmp_path):
    pb.Index.build(tmp_path / "index", lake, "id").close()
    with pb.Index(tmp_path / "index") as index:
        for name in ("nowhere", "lake/*.orc"):
            with pytest.raises(FileNotFoundError, match=name.replace("*", r"\*")):
                index.add(tmp_path / name)
        assert index.generation == 1


@pytest.mark.parametrize("source", ["lake", "lake/*.parquet"])
@pytest.mark.parametrize("is_left", [True, False], ids=["empty", "gone"])
def test_a_folder_whose_files_are_all_gone_may_not_be_mounted(lake, tmp_path, source, is_left):
    pb.Index.build(tmp_path / "index", tmp_path / source, "id").close()
    value = pq.read_table(lake / "04.parquet")["id"][0].as_py()
    lake.rename(tmp_path / "elsewhere")
    if is_left:
        lake.mkdir()
    told = rf"; the index has {FILES} files of it: Index.remove forgets .*, then Index.add adds .*: '.*lake"
    with pb.Index(tmp_path / "index") as index:
        for files in ((), tmp_path / source):
            with pytest.raises(FileNotFoundError, match=told):
                index.add(files)
        assert index.generation == 1
        assert index.probe("id", value).results[0].verdict == "unknown"
        index.remove([tmp_path / source, lake])
        for ask in (
            lambda: index.probe("id", value),
            lambda: index.new_values("id", [value]),
            lambda: pb.find(None, "id", value, index=tmp_path / "index"),
        ):
            with pytest.raises(FileNotFoundError, match="the index has no files with id, expected"):
                ask()


def test_a_file_that_was_named_may_go(lake, tmp_path):
    files = [lake / "01.parquet", lake / "02.parquet"]
    pb.Index.build(tmp_path / "index", files, "id").close()
    files[0].unlink()
    with pb.Index(tmp_path / "index") as index:
        assert index.add().removed == 1


def test_an_index_is_about_the_moment_at_which_files_were_listed(lake, tmp_path):
    """What comes while they are read is not in it; and nobody looks where files are forgotten, or segments merged."""

    def made(index: pb.Index) -> float:
        return index.probe("id", 5).made

    began: list[float] = []

    def note(done: int, _: int) -> None:
        began.append(time.time())

    index = pb.Index.build(tmp_path / "index", lake, "id", progress=note)
    assert made(index) < began[0]
    shutil.copy(lake / "01.parquet", lake / "new.parquet")
    began.clear()
    index.add(progress=note)
    last = made(index)
    assert last < began[0]
    index.remove(lake / "02.parquet")
    assert index.compact(everything=True).merged == 2
    assert (made(index), index.generation) == (last, 4)
    found = pb.find(None, "id", 5, index=index.path)
    assert (found.made, index.check().made) == (last, last)
    index.close()


def test_a_file_in_whose_folder_s_place_is_a_file_is_gone(lake, tmp_path):
    (lake / "moved").mkdir()
    (lake / "03.parquet").rename(lake / "moved" / "03.parquet")
    value = pq.read_table(lake / "moved")["id"][0].as_py()
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        shutil.rmtree(lake / "moved")
        (lake / "moved").write_text("a file")
        (file,) = index.probe("id", value).results[0].files
        (found,) = pb.find(None, "id", value, index=tmp_path / "index").unknown
        assert file.reason == found.reason
        assert file.reason.startswith("gone since it was indexed")
        assert index.add().removed == 1


@pytest.mark.parametrize("places", ["file", "row-group", "page"])
def test_of_a_file_that_is_gone_its_own_values_are_unknown(lake, tmp_path, places):
    """It may have another name now."""
    there, others = (
        pq.read_table(lake / name)["id"].to_pylist()[:200] for name in ("03.parquet", "04.parquet")
    )
    nobody = list(range(1 << 41, (1 << 41) + 200))
    with pb.Index.build(tmp_path / "index", lake, "id", places=places) as index:
        assert index.probe("id", nobody).results.absent.sum() > 150
        (lake / "03.parquet").rename(lake / "moved.parquet")
        for values in ([there[0]], there):
            for result in index.probe("id", values).results:
                (gone,) = (file for file in result.files if file.path.endswith("03.parquet"))
                assert gone.verdict == "unknown"
                assert gone.reason.startswith("gone since it was indexed, perhaps moved")
        assert not index.new_values("id", there).any()
        assert not index.new_values("id", there, verify=True).any()
        assert {each.verdict for each in index.probe("id", others).results} == {"maybe"}
        assert index.new_values("id", nobody).sum() > 150
        assert index.add().removed == 1
        assert {each.verdict for each in index.probe("id", there).results} == {"maybe"}


def test_add_sees_what_is_new_changed_and_gone(lake, tmp_path):
    pb.Index.build(tmp_path / "index", lake, "id").close()
    other = pq.read_table(lake / "02.parquet")["id"][0].as_py()
    gone = pq.read_table(lake / "01.parquet")["id"][0].as_py()
    (lake / "01.parquet").unlink()
    shutil.copy(lake / "02.parquet", lake / "90.parquet")
    shutil.copy(lake / "02.parquet", lake / "03.parquet")
    with pb.Index(tmp_path / "index") as index:
        # Nobody has looked at the new ones, and 03 is no candidate.
        (result,) = index.probe("id", other).results
        assert [Path(file.path).name for file in result.files] == ["02.parquet"]
        (result,) = index.probe("id", gone).results
        assert {file.verdict for file in result.files} == {"unknown"}
        # A listing tells.
        (result,) = index.probe("id", other, files=lake).results
        verdicts = {Path(file.path).name: file.verdict for file in result.files}
        assert verdicts == {
            "02.parquet": "maybe", "03.parquet": "unknown", "90.parquet": "unknown"
        }  # fmt: skip
        change = index.add()
        assert (change.added, change.changed, change.removed) == (1, 1, 1)
        assert change.files == FILES
        assert change.generation == index.generation == 2
        (result,) = index.probe("id", other, files=lake).results
        assert [Path(file.path).name for file in result.files] == [
            "02.parquet", "03.parquet", "90.parquet"
        ]  # fmt: skip
        assert {file.verdict for file in result.files} == {"maybe"}
        assert index.add().generation == 2


def test_its_own_files_are_not_looked_at(lake):
    with pb.Index.build(lake / "index", lake, "id") as index:
        assert index.add().generation == 1


def test_a_source_can_lose_all_its_files(lake, tmp_path):
    """If they are forgotten first."""
    with pytest.raises(FileNotFoundError):
        pb.Index.build(tmp_path / "index", tmp_path / "nothing", "id")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(lake / "01.parquet", tmp_path / name)
    with pb.Index.build(tmp_path / "index", [tmp_path / "a", tmp_path / "b"], "id") as index:
        (tmp_path / "b" / "01.parquet").unlink()
        assert index.remove(tmp_path / "b" / "01.parquet").removed == 1
        assert index.add().files == 1
        shutil.copy(lake / "02.parquet", tmp_path / "b")
        assert index.add().files == 2


def test_a_candidate_in_another_state_is_unknown(lake, tmp_path):
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        value = pq.read_table(lake / "04.parquet")["id"][0].as_py()
        shutil.copy(lake / "02.parquet", lake / "04.parquet")
        (result,) = index.probe("id", value).results
        assert result.verdict == "unknown"
        assert [file.reason for file in result.files] == ["not in the index as it is now"]


def test_an_empty_name_is_not_all_files(lake, tmp_path):
    """As of an unset variable."""
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        for names in ("", ["", lake / "04.parquet"]):
            with pytest.raises(FileNotFoundError, match="an empty name, expected a file"):
                index.remove(names)
        with pytest.raises(FileNotFoundError, match="files: none, expected at least one"):
            index.remove([])
        assert index.add().removed == 0
        with pytest.raises(FileNotFoundError, match="an empty name, expected a file"):
            pb.find(["", lake], "id", 1, index=tmp_path / "index")
        with pytest.raises(FileNotFoundError, match="an empty name, expected a file"):
            index.probe("id", 1, files="")


def test_a_file_that_was_changed_under_the_same_state_is_found_by_reading_it(tmp_path):
    path, other = tmp_path / "a.parquet", tmp_path / "other"
    pq.write_table(pa.table({"id": [361]}), path)
    pq.write_table(pa.table({"id": [362]}), other)
    before = path.stat()
    with pb.Index.build(tmp_path / "index", path, "id") as index:
        with path.open("r+b") as file:
            file.write(other.read_bytes())
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_size == before.st_size
        assert index.add().changed == 0
        assert index.check().ok
        assert index.probe("id", 362, files=path).is_absent
        messages = [finding.message for finding in index.check(deep=True).findings]
        assert messages == [
            f"{path}: id: row group 0: 1 value not found",
            f"{path}: id: 1 key of no value",
        ]
        # As docs/lake-index.md says.
        index.remove(path)
        index.add(path)
        assert not index.probe("id", 362, files=path).is_absent


@pytest.mark.parametrize("is_compacted", [False, True])
def test_a_type_of_which_no_file_is_left_has_no_part_in_answers(tmp_path, is_compacted):
    lake = tmp_path / "lake"
    lake.mkdir()
    pq.write_table(pa.table({"id": ["a name"]}), lake / "was text.parquet")
    pq.write_table(pa.table({"id": [1]}), lake / "number.parquet")
    problem = "^'a name': cannot be a value of INT64: expected an integer"
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        # There is one file that may hold it.
        assert index.probe("id", "a name").results[0].verdict == "maybe"
        (lake / "was text.parquet").unlink()
        pq.write_table(pa.table({"id": [2]}), lake / "was text.parquet")
        index.add()
        if is_compacted:
            index.compact(everything=True)
        for ask in (index.probe, index.new_values, index.sql):
            with pytest.raises(ValueTypeError, match=problem):
                ask("id", "a name")
        assert index.probe("id", 2).results[0].verdict == "maybe"
        assert index.check(deep=True).ok
    with pytest.raises(ValueTypeError, match=problem):
        pb.find(None, "id", "a name", index=tmp_path / "index")


@pytest.mark.parametrize("form", ["map", "slices"])
@pytest.mark.parametrize("count", [1, 5, 2000])
def test_what_is_said_of_a_damaged_index_names_what_mends_it(lake, tmp_path, form, count):
    index, ids = tmp_path / "index", tmp_path / "ids.txt"
    if form == "slices":
        pb.build(lake / "04.parquet", columns=["id"], in_place=True)
    pb.Index.build(index, lake / "04.parquet", "id", form=form).close()
    (path,) = [*index.glob("*.map.parquet"), *index.glob("*.slices-*.parquet")]
    path.write_bytes(path.read_bytes()[:4] + b"\0" * 3000 + path.read_bytes()[3004:])
    ids.write_text("\n".join(map(str, range(count))))
    asked = outcome("index", "probe", "--index", index, "-c", "id", "--ids", ids)
    assert asked.code == 2
    assert "damaged" in asked.complaint
    assert asked.complaint.endswith(
        "; pbloom index build --overwrite, with its files and columns, makes the index anew"
    )
    if form == "map":
        assert asked.complaint.startswith(f"{path}: a page at 4 is damaged: its CRC-32 is wrong; ")


def test_what_cannot_be_indexed_is_unknown(lake, tmp_path):
    pq.write_table(pa.table({"other": [1]}), lake / "95.parquet")
    (lake / "96.parquet").write_bytes(b"PAR1 this is no file PAR1")
    pq.write_table(pa.table({"id": ["text"]}), lake / "97.parquet")
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        (result,) = index.probe("id", 5).results
        reasons = {Path(file.path).name: file.reason for file in result.files}
        assert result.verdict == "unknown"
        assert set(reasons) == {"95.parquet", "96.parquet", "97.parquet"}
        lacks = "no column id; the file has other; null there with union_by_name=True"
        assert reasons["95.parquet"] == lacks
        # A number is no text; another reader might make one of it.
        (result,) = index.probe("id", "text").results
        assert {Path(file.path).name for file in result.files if file.verdict == "maybe"} == {
            "97.parquet"
        }
        change = index.add()
        assert change.not_indexed == ()
        assert change.generation == 1


def test_what_may_pass_is_tried_again(lake, tmp_path, monkeypatch):
    value = pq.read_table(lake / "04.parquet")["id"][0].as_py()
    opened = listed_files.open_file

    def failing(path, keys, opener):
        if str(path).endswith("04.parquet"):
            raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT), str(path))
        return opened(path, keys, opener=opener)

    monkeypatch.setattr(listed_files, "open_file", failing)
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        assert index.probe("id", value).results[0].verdict == "unknown"
        monkeypatch.undo()
        assert index.add().changed == 1
        assert index.probe("id", value).results[0].verdict == "maybe"


@pytest.mark.parametrize("layout", ["replace", "append"])
def test_filters_put_into_files_are_another_state(lake, tmp_path, layout):
    value = pq.read_table(lake / "04.parquet")["id"][0].as_py()
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        for change in (
            lambda path: pb.build(path, in_place=True, columns="id", layout=layout),
            lambda path: pb.strip(path, in_place=True),
        ):
            for path in lake.iterdir():
                change(path)
            assert {each.verdict for each in index.probe("id", value, files=lake).results} == {
                "unknown"
            }
            assert index.add().changed == FILES
            (result,) = index.probe("id", value, files=lake).results
            assert [Path(file.path).name for file in result.files] == ["04.parquet"]
            assert [row.row for row in pb.find(lake, "id", value, index=index.path).rows] == [0]


def test_an_empty_text_is_shown_in_quotes(tmp_path):
    pq.write_table(pa.table({"s": ["", "a"]}), tmp_path / "a.parquet")
    pb.Index.build(tmp_path / "index", tmp_path / "a.parquet", "s").close()
    found = outcome("index", "probe", "--index", tmp_path / "index", "-c", "s", "-v", "")
    assert found.stdout.splitlines()[1] == "'': maybe in 1 file"


def test_nan_and_null_are_unknown(lake, tmp_path):
    with pb.Index.build(tmp_path / "index", lake, "score") as index:
        report = index.probe("score", [float("nan"), None, 1e300])
        assert [each.verdict for each in report.results] == ["unknown", "unknown", "absent"]
        assert (report.absent, report.maybe, report.unknown) == (1, 0, 2)
        # Who takes the files from the answer reads them all.
        for value, reason in zip(report.results, ("NaN has many encodings", NULL), strict=False):
            assert [Path(file.path) for file in value.files] == sorted(lake.iterdir())
            assert {file.reason for file in value.files} == {reason}
        (result,) = index.probe("score", float("nan"), files=lake / "03.parquet").results
        assert [Path(file.path).name for file in result.files] == ["03.parquet"]
    found = outcome("index", "probe", "--index", tmp_path / "index", "-c", "score", "-v", "nan")
    assert found.code == 2
    assert found.stdout.count("unknown\tNaN has many encodings") == FILES


def test_what_goes_wrong_is_one_line(lake, tmp_path):
    pb.Index.build(tmp_path / "index", lake, "id").close()
    with pytest.raises(
        RewriteError,
        match=r"is an index already, expected a new folder, also for other columns; add of pb\.Index adds files to it, ov",
    ):
        pb.Index.build(tmp_path / "index", lake, "id")
    with pytest.raises(FileNotFoundError, match="no index"):
        pb.Index(lake)
    with pb.Index(tmp_path / "index") as index:
        with pytest.raises(ColumnError, match="no column nam"):
            index.probe("nam", 5)
        with pytest.raises(ValueTypeError):
            index.probe("id", "text")


def verdict_or_error(index: Path, value: int) -> str:
    """What an index says of a value, or where its error is."""
    try:
        with pb.Index(index) as found:
            return found.probe("id", value).results[0].verdict
    except FormatError as error:
        return str(index) if str(error).startswith(str(index)) else str(error)


@pytest.mark.parametrize("suffix", ["map.parquet", "units.parquet", "json"])
def test_damage_is_an_error_and_never_absent(lake, tmp_path, suffix):
    value = pq.read_table(lake / "04.parquet")["id"][0].as_py()
    pb.Index.build(tmp_path / "index", lake, "id").close()
    (path,) = (tmp_path / "index").glob(f"*{suffix}")
    whole = path.read_bytes()
    random = np.random.default_rng(5)
    for at in random.integers(0, len(whole), 60).tolist():
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        assert verdict_or_error(tmp_path / "index", value) in ("maybe", str(path.parent))
        path.write_bytes(whole[:at])
        with pytest.raises(FormatError), pb.Index(tmp_path / "index") as index:
            index.probe("id", value)


def test_the_files_are_parquet(lake, tmp_path):
    pb.Index.build(tmp_path / "index", lake, ["id", "name"]).close()
    for path in (tmp_path / "index").glob("*.map.parquet"):
        keys = pq.read_table(path)["k"].to_numpy()
        assert (np.diff(keys) > 0).all()
        assert len(pb.inspect(path).row_groups) >= 1
    for path in (tmp_path / "index").glob("*.units.parquet"):
        units = pq.read_table(path)
        assert units["path"].to_pylist() == sorted(map(str, lake.iterdir()))


ORC_COLUMNS = {
    "id": pa.array(range(-300, 700), pa.int64()),
    "small": pa.array([at % 100 for at in range(1000)], pa.int8()),
    "name": pa.array([f"user {at}" for at in range(1000)]),
    "score": pa.array([at / 3 for at in range(-500, 500)], pa.float64()),
    "price": pa.array([Decimal(at) / 100 for at in range(1000)], pa.decimal128(9, 2)),
    "day": pa.array([date(1969, 1, 1) + timedelta(at) for at in range(1000)]),
    "at": pa.array([datetime(1969, 11, 1) + timedelta(hours=at, microseconds=at)
                    for at in range(1000)], pa.timestamp("ns")),
}  # fmt: skip


@pytest.fixture(scope="module")
def orc_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of 500 rows each, in index groups of 100; and the same values in Parquet."""
    folder = tmp_path_factory.mktemp("orc")
    table = pa.table(ORC_COLUMNS)
    for number in range(2):
        part = table.slice(500 * number, 500)
        orc.write_table(part, folder / f"{number}.orc", row_index_stride=100)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=100)
    return folder


@pytest.mark.every(2)
@pytest.mark.parametrize("places", ["row-group", "page"])
@pytest.mark.parametrize("column", ORC_COLUMNS)
def test_values_of_orc_are_found_where_they_are(orc_lake, tmp_path, column, places):
    values = ORC_COLUMNS[column].to_pylist()
    with pb.Index.build(tmp_path / "index", orc_lake, column, places=places) as index:
        results = index.probe(column, values).results
        assert {each.verdict for each in results} == {"maybe"}
        for at, result in enumerate(results):
            found = {Path(file.path).name: file for file in result.files}
            here = found[f"{at // 500}.orc"]
            assert (here.verdict, here.row_groups) == ("maybe", (0,))
            if places == "page":
                assert (0, at % 500 // 100) in here.pages
            assert found[f"{at // 500}.parquet"].verdict == "maybe"
        few = index.probe(column, values[7]).results[0]
        assert few.files == results[7].files
        query = index.sql(column, [values[7]])
        rows = duckdb.sql(query).fetchall()
        assert {str(orc_lake / "0.orc"), str(orc_lake / "0.parquet")} <= {row[2] for row in rows}
        if column == "name":
            others = index.probe(column, [f"nobody {at}" for at in range(100)]).results
            # One in eight by chance, in either format.
            assert sum(each.verdict == "absent" for each in others) > 60


def test_times_are_found_whatever_the_time_zone_of_their_writer(tmp_path):
    """What is hashed of a TIMESTAMP depends on the zone, where its clock was changed."""
    seconds = [-2_600_000_000, -3_000, 0.25, 1_603_587_000, 1_616_895_000]
    shown = {}
    for zone in ("Europe/Berlin", "America/New_York", "UTC"):
        path = tmp_path / f"{zone[-6:]}.orc"
        with path.open("wb") as out, pyorc.Writer(
            out, "struct<t:timestamp>", timezone=ZoneInfo(zone)
        ) as writer:  # fmt: skip
            writer.writerows((EPOCH + timedelta(seconds=each),) for each in seconds)
        shown[str(path)] = orc.read_table(path)["t"].cast(pa.timestamp("us")).to_pylist()
    with pb.Index.build(tmp_path / "index", tmp_path / "*.orc", "t") as index:
        assert index.add().not_indexed == ()
        for path, walls in shown.items():
            for result in index.probe("t", walls).results:
                assert path in [each.path for each in result.files if each.verdict == "maybe"]


def test_what_orc_hashes_of_no_value_is_unknown(tmp_path):
    with (tmp_path / "a.orc").open("wb") as out, pyorc.Writer(
        out, "struct<yes:boolean,tags:array<int>>"
    ) as writer:  # fmt: skip
        writer.write((True, [1, 2]))
    with pb.Index.build(tmp_path / "index", tmp_path, ["yes", "tags", "tags._elem"]) as index:
        (result,) = index.probe("tags", 2).results
        (file,) = result.files
        assert file.reason == "LIST: the elements are column tags._elem"
        (result,) = index.probe("yes", True).results
        (file,) = result.files
        why = "values of BOOLEAN columns are not looked up"
        assert (result.verdict, file.reason) == ("unknown", why)
        assert index.probe("tags._elem", 2).results[0].verdict == "maybe"


def test_a_named_file_that_is_not_there_is_unknown_beside_others(lake, tmp_path):
    named = [lake / "01.parquet", lake / "98.parquet"]
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        report = index.probe("id", -5, files=named)
        (file,) = report.files_unknown
        assert (file.path, file.reason) == (str(named[1]), "No such file or directory")
        assert (report.num_files, report.unknown) == (2, 1)
        assert not index.new_values("id", -5, files=named, verify=True).any()
        with pytest.raises(FileNotFoundError, match=r"No such file.*98\.parquet"):
            index.probe("id", -5, files=named[1])


def test_a_manifest_says_which_files_are_asked(lake, tmp_path):
    value = pq.read_table(lake / "02.parquet")["id"][0].as_py()
    pb.Index.build(tmp_path / "index", lake, "id").close()
    shutil.copy(lake / "02.parquet", lake / "90.parquet")
    wanted = [lake / f"{number}.parquet" for number in ("02", "90")]
    (tmp_path / "list").write_text("".join(f"{path}\n" for path in wanted))
    ask = ("index", "probe", "--index", tmp_path / "index", "-c", "id", "-v", value)
    done = outcome(*ask, "--manifest", tmp_path / "list", "--json")
    (result,) = json.loads(done.stdout)["results"]
    assert [(file["path"], file["verdict"]) for file in result["files"]] == [
        (str(wanted[0]), "maybe"), (str(wanted[1]), "unknown")
    ]  # fmt: skip
    both = outcome(*ask, wanted[0], "--manifest", tmp_path / "list")
    assert both.code == 2
    assert "expected FILE or --manifest, not both" in both.stderr


def test_a_column_that_no_file_has_is_a_mistake(lake, tmp_path):
    pq.write_table(pa.table({"late": [1]}), lake / "98.parquet")
    with pytest.raises(
        ColumnError, match=r"98\.parquet: no column nope; the file has late; no other"
    ):
        pb.Index.build(tmp_path / "index", lake, ["id", "nope"])
    assert not (tmp_path / "index").exists()
    with pb.Index.build(tmp_path / "index", lake, ["id", "late"]) as index:
        assert index.probe("late", 1).results[0].verdict == "maybe"


def test_which_values_are_new_is_verified_in_the_files(lake, tmp_path):
    held = pq.read_table(lake, columns=["score", "name"])
    scores = held["score"].to_numpy()[:40]
    asked = [*scores, *(scores[:300] + 0.5), float("nan"), None]
    expected = [
        value is not None and not np.isnan(value) and value not in scores for value in asked
    ]
    pq.write_table(pa.table({"other": [1]}), lake / "98.parquet")
    with pb.Index.build(tmp_path / "index", lake, ["score", "name"], places="file") as index:
        # A file of which nothing is known may hold any of them.
        assert not index.new_values("score", asked).any()
        assert not index.new_values("score", asked, verify=True).any()
        (lake / "98.parquet").unlink()
        index.add()
        new = index.new_values("score", asked, verify=True)
        assert new.tolist() == expected
        assert not (index.new_values("score", asked) & ~new).any()
        # As it is now: in a state that the index does not know, of which the filters are asked.
        pq.write_table(held.slice(0, 10), lake / "00.parquet")
        names = ["user 0", "user nobody"]
        assert index.new_values("name", names, files=lake, verify=True).tolist() == [False, True]


@pytest.mark.parametrize("pattern", ["", "**/*.parquet"])
def test_an_index_in_a_lake_is_none_of_its_data(lake, tmp_path, pattern):
    """Neither for another index nor for a verb that would change its files."""
    pb.Index.build(lake / "index", lake, "id").close()
    files = lake / pattern
    with pb.Index.build(tmp_path / "other", files, "id") as other:
        report = other.probe("id", -1)
    assert (report.num_files, report.is_absent) == (FILES, True)
    assert outcome("build", "--in-place", "-c", "id,k", files).stdout.count("index") == 0
    with pb.Index(lake / "index") as index:
        index.add()
        assert index.check(deep=True).findings == ()


def test_many_values_are_told_on_a_screen(tmp_path):
    """How many are in no file, and some of both; all of them in JSON."""
    lake, index = tmp_path / "lake", tmp_path / "index"
    lake.mkdir()
    for number in range(5):
        pq.write_table(
            pa.table({"n": [*range(20 * number, 20 * number + 40)]}), lake / f"{number}.parquet"
        )
    pb.Index.build(index, lake, "n").close()
    values = [f"--value={value}" for value in range(100, 160)]
    lines = outcome("index", "probe", "--index", index, "-c", "n", *values).stdout.splitlines()
    assert lines[0].split(",")[1].startswith(" as indexed 20")
    assert lines[1] == "60 values: 40 in no file, 20 maybe in some"
    assert lines[2] == f"in no file: {', '.join(map(str, range(120, 130)))}, … (40 in all)"
    assert lines[3:5] == ["value\tverdict\tfiles\tin", f"100\tmaybe\t1\t{lake}/4.parquet"]
    assert lines[14:] == ["and 10 more: --verbose, --output and --json show all"]
    in_full = outcome("index", "probe", "--index", index, "-c", "n", *values, "--verbose")
    assert in_full.stdout.splitlines()[2:] == [
        "value\tverdict\tfiles\tin",
        *(f"{value}\tmaybe\t1\t{lake}/4.parquet" for value in range(100, 120)),
        *(f"{value}\tabsent\t0\t" for value in range(120, 160)),
    ]
    for name in ("5.parquet", "6.parquet"):
        pq.write_table(pa.table({"n": [1]}), lake / name)

    def headline(value: int) -> str:
        asked = outcome("index", "probe", "--index", index, "-c", "n", "-v", value, lake)
        return asked.stdout.splitlines()[1]

    assert headline(25) == "25: maybe in 2 files, unknown in 2"
    assert headline(400) == "400: unknown in 2 files"
    result = outcome("index", "probe", "--index", index, "-c", "n", *values, "--json")
    assert len(json.loads(result.stdout)["results"]) == 60


def test_of_many_files_that_may_hold_a_value_a_terminal_shows_some(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("lake")
    for number in range(23):
        pq.write_table(pa.table({"n": [7]}), f"lake/{number:02}.parquet")
    pb.Index.build("ix", "lake", "n").close()
    asked = ("index", "probe", "--index", "ix", "-c", "n", "-v", "7", "lake")
    rows = [f"lake/{number:02}.parquet\tmaybe, row group 0" for number in range(23)]
    assert outcome(*asked).stdout.splitlines()[3:] == rows
    for more, shown in ((), 20), (("--verbose",), 23):
        lines = on_a_terminal(200, *asked, *more)
        assert sum("maybe, row group 0" in line for line in lines) == shown
        told = "  and 3 more: --verbose, --output and --json show all"
        assert (told in lines) == (shown < 23)


def test_of_many_values_the_unknown_are_named_and_why(tmp_path, monkeypatch):
    """Only what a file that is gone held is unknown: neither the value nor the file is among the first."""
    monkeypatch.chdir(tmp_path)
    lake = tmp_path / "lake"
    lake.mkdir()
    for number in range(15):
        pq.write_table(pa.table({"id": [number]}), lake / f"{number:02}.parquet")
    assert outcome("index", "build", "--index", "ix", "-c", "id", "lake").code == 0
    (lake / "14.parquet").unlink()
    asked = ["index", "probe", "--index", "ix", "-c", "id", *(f"-v{value}" for value in range(20))]
    result = outcome(*asked)
    reason = (
        f"{lake}/14.parquet: may hold some of the values: gone since it was indexed, perhaps moved:"
        " index add brings the index up to date, or says what does"
    )
    assert result.code == 2
    assert (
        result.stdout.splitlines()[1]
        == "20 values: 5 certainly in no file, 14 maybe in some, 1 unknown"
    )
    assert result.stdout.splitlines()[-2:] == [
        "and 5 more (unknown: 14): --verbose, --output and --json show all",
        reason,
    ]
    alone = outcome(*asked, "--only", "absent")
    assert alone.stdout.split() == ["15", "16", "17", "18", "19"]
    assert alone.stderr.splitlines()[0] == f"pbloom: {reason}"
    now = outcome(*asked, "lake/00.parquet")
    assert "may hold some" not in now.stdout


def test_of_many_values_a_file_of_another_type_is_named(tmp_path, monkeypatch):
    """It can hold only some of them."""
    monkeypatch.chdir(tmp_path)
    lake = tmp_path / "lake"
    lake.mkdir()
    pq.write_table(pa.table({"id": [*range(30)]}), lake / "a.parquet")
    pq.write_table(pa.table({"id": [datetime(2026, 1, 1)]}), lake / "b.parquet")
    assert outcome("index", "build", "--index", "ix", "-c", "id", "lake").code == 0
    result = outcome(
        "index", "probe", "--index", "ix", "-c", "id", *(f"-v{value}" for value in range(20))
    )
    assert result.code == 2
    assert result.stdout.splitlines()[-1] == (
        f"{lake}/b.parquet: may hold some of the values: 0: cannot be a value of INT64"
        " TIMESTAMP(MICROS,false): expected a timestamp such as 2024-01-31T10:00:00"
    )


@pytest.fixture
def patchy(tmp_path, monkeypatch):
    """An index over files with and without the column, and one that cannot be read."""
    monkeypatch.chdir(tmp_path)
    lake = tmp_path / "lake"
    lake.mkdir()
    for number in range(2):
        ids = range(100 * number, 100 * number + 20)
        pq.write_table(pa.table({"id": ids}), lake / f"{number}.parquet")
    pq.write_table(pa.table({"other": [1]}), lake / "lacks.parquet")
    (lake / "bad.parquet").write_bytes(b"no Parquet")
    assert outcome("index", "build", "--index", "ix", "-c", "id", "lake").code == 2
    return lake


def test_candidates_are_told_from_files_that_may_hold_any_value(patchy):
    lacks = (
        f"{patchy}/lacks.parquet: may hold any value: no column id; the file has other; null there with"
        " --union-by-name"
    )
    asked = ["index", "probe", "--index", "ix", "-c", "id"]
    few = outcome(*asked, "-v", "7", "-v", "50")
    assert few.code == 2
    header, *lines = few.stdout.splitlines()
    assert header.startswith("id in 4 files, as indexed 20")
    assert lines == [
        "7: maybe in 1 file, unknown in 2",
        "file\twhere",
        f"{patchy}/0.parquet\tmaybe, row group 0",
        "50: unknown in 2 files",
        f"{patchy}/bad.parquet: may hold any value: not a Parquet file: 10 bytes, expected 12 or more",
        lacks,
    ]
    many = outcome(*asked, *(f"--value={value}" for value in range(10, 110)))
    assert many.code == 2
    lines = many.stdout.splitlines()
    assert lines[1] == "100 values: 0 certainly in no file, 20 maybe in some, 80 unknown"
    assert lines[2].startswith("in no file, unless in one of those below: 20, 21, 22, ")
    assert lines[2].endswith(", … (80 in all)")
    assert lines[4] == f"10\tmaybe\t1\t{patchy}/0.parquet"
    assert lines[14] == "and 10 more: --verbose, --output and --json show all"
    assert lines[16:] == [lacks]
    now = outcome(*asked, "-v", "7", patchy / "0.parquet")
    assert now.stdout.startswith("id in 1 file, as they are now: ")
    assert now.code == 0
    assert outcome(*asked, "-v", "50", patchy / "0.parquet").code == 1


def test_a_column_that_no_file_has_is_one_whatever_cannot_be_read(patchy):
    """No index is left that knows nothing."""
    told = outcome("index", "build", "--index", "none", "-c", "region", "lake")
    assert told.code == 2
    assert told.stdout == ""
    assert told.stderr == (
        f"pbloom: {patchy}/lacks.parquet: no column region; the file has other; no other of the"
        " files has it\n"
    )
    assert not os.path.exists("none")
    # What cannot be read may have it, if none can.
    alone = outcome("index", "build", "--index", "alone", "-c", "region", "lake/bad.parquet")
    assert (alone.code, os.path.exists("alone")) == (2, True)


def test_a_document_says_how_many_values_have_which_verdict(patchy):
    asked = ["index", "probe", "--index", "ix", "-c", "id", "--json", "-v", "7", "-v", "50"]
    document = json.loads(outcome(*asked).stdout)
    counts = ("absent", "maybe", "unknown", "as_indexed")
    assert [document[key] for key in counts] == [0, 1, 1, True]
    paths = [f"{patchy}/{name}.parquet" for name in ("0", "bad", "lacks")]
    assert [file["path"] for file in document["results"][0]["files"]] == paths
    assert [file["path"] for file in document["files_unknown"]] == paths[1:]
    document = json.loads(outcome(*asked, patchy / "0.parquet").stdout)
    assert [document[key] for key in counts] == [1, 1, 0, False]
    with pb.Index("ix") as index:
        assert repr(index.probe("id", [7, 50])) == (
            "<IndexReport ix: id in 4 files as indexed: 0 absent, 1 maybe, 1 unknown>"
        )


def test_of_a_file_that_has_changed_only_its_own_values_are_unknown(lake, tmp_path):
    """As they were in it: what is in it now, the index does not know."""
    index = tmp_path / "index"
    pb.Index.build(index, lake, "id").close()
    value = pq.read_table(lake / "04.parquet")["id"][0].as_py()
    shutil.copy(lake / "02.parquet", lake / "04.parquet")
    asked = outcome("index", "probe", "--index", index, "-c", "id", "-v", value, "-v", 1 << 41)
    assert asked.code == 2
    assert asked.stdout.splitlines()[1:] == [
        f"{value}: unknown in 1 file",
        "file\twhere\treason",
        f"{lake}/04.parquet\tunknown\tnot in the index as it is now",
        f"{1 << 41}: absent",
    ]
    with pb.Index(index) as opened:
        reports = [opened.probe("id", sought) for sought in (value, 1 << 41)]
    # It has come across the file, or has not.
    assert [report.is_outdated for report in reports] == [True, False]
    found = pb.find(None, "id", 1 << 41, index=index)
    assert f"in {found.num_files} files as indexed; " in repr(found)


@pytest.mark.parametrize("count", [1, 100], ids=["few", "many"])
def test_after_a_build_in_place_it_is_said_that_the_index_is_not_up_to_date(
    tmp_path, monkeypatch, count
):
    """Nothing that looks like an absence is said, and what helps."""
    monkeypatch.chdir(tmp_path)
    os.mkdir("lake")
    for name in ("a", "b"):
        pq.write_table(pa.table({"id": [f"{name} {n}" for n in range(20)]}), f"lake/{name}.parquet")
    assert outcome("index", "build", "--index", "ix", "-c", "id", "lake").code == 0
    assert outcome("build", "-c", "id", "--in-place", "lake").code == 0
    values = [f"-va {number}" for number in range(count)]
    asked = ("index", "probe", "--index", "ix", "-c", "id", "lake", *values)
    told = outcome(*asked)
    assert told.code == 2
    first = ", ".join(f"a {number}" for number in range(10))
    counts = "100 values: 0 certainly in no file, 0 maybe in some, 100 unknown"
    nowhere = f"unknown in all files: {first}, … (100 in all)"
    assert told.stdout.splitlines()[1:] == [
        *(["a 0: unknown in 2 files"] if count == 1 else [counts, nowhere]),
        "2 files: may hold any value: not in the index as it is now",
    ]
    hint = "pbloom: ix: not up to date: `pbloom index add --index ix` reads what was added or changed in the places that the index is about; name those that were never added, or were removed, too\n"
    assert told.stderr == hint
    alone = outcome(*asked, "--only", "absent")
    assert (alone.stdout, alone.stderr.splitlines(True)[-1]) == ("", hint)
    assert outcome(*asked, "--json").stderr == ""
    assert outcome("index", "add", "--index", "ix").code == 0
    assert outcome(*asked).stderr == ""


@pytest.mark.parametrize("count", [1, 100], ids=["few", "many"])
def test_a_value_that_a_type_cannot_hold_leaves_the_others_to_be_asked(tmp_path, count):
    """Few values are asked one by one, many as arrays."""
    lake = tmp_path / "lake"
    lake.mkdir()
    columns = {"text": ["a", "b"], "numbers": [1, 2]}
    for name, values in columns.items():
        pq.write_table(pa.table({"id": values}), lake / f"{name}.parquet")
    with pb.Index.build(tmp_path / "index", lake, "id") as index:

        def said(value):
            assert value.files
            return {Path(file.path).stem: file.verdict for file in value.files}

        results = index.probe("id", ["a", 2, "nobody", 7] * count).results
        assert [*map(said, results)] == [
            {"text": "maybe", "numbers": "unknown"},
            {"numbers": "maybe", "text": "unknown"},
            {"numbers": "unknown"},
            {"text": "unknown"},
        ] * count
        reason = (
            "'nobody': cannot be a value of INT64: expected an integer, or pb.literal(…) to read"
        )
        assert results[2].files[0].reason.startswith(reason)
        with pytest.raises(ValueTypeError, match=r"^0\.5: cannot be a value of "):
            index.probe("id", ["a", 2, 0.5] * count)


def test_a_file_that_may_hold_any_value_stands_for_none_of_them(tmp_path):
    lake = tmp_path / "lake"
    lake.mkdir()
    for name, values in {"text": ["a"], "numbers": [1, 2]}.items():
        pq.write_table(pa.table({"id": values}), lake / f"{name}.parquet")
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        os.utime(lake / "text.parquet", ns=(1, 1))
        report = index.probe("id", [7, 2], files=lake)
        assert [file.path for file in report.files_unknown] == [f"{lake}/text.parquet"]
        assert report.results.by_themselves == [1]


def test_nulls_of_no_type_hide_no_other_file(tmp_path):
    """As pandas writes a column in which nothing is known yet."""
    lake = tmp_path / "lake"
    lake.mkdir()
    pq.write_table(pa.table({"id": ["a", "b"]}), lake / "text.parquet")
    pq.write_table(pa.table({"id": [None, None]}), lake / "nulls.parquet")
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        verdicts = [each.verdict for each in index.probe("id", ["a", "nobody"]).results]
        assert verdicts == ["maybe", "absent"]
    assert [row.path for row in pb.find(None, "id", "a", index=tmp_path / "index").rows] == [
        f"{lake}/text.parquet"
    ]


def test_a_file_that_cannot_be_read_is_trouble_once(tmp_path):
    lake, index = tmp_path / "lake", tmp_path / "index"
    lake.mkdir()
    pq.write_table(pa.table({"id": [1]}), lake / "a.parquet")
    assert outcome("index", "build", "--index", index, "-c", "id", lake).code == 0
    (lake / "b.parquet").touch()
    pq.write_table(pa.table({"other": [1]}), lake / "c.parquet")
    added = outcome("index", "add", "--index", index)
    files = f"{index}: 3 files, 2 of them not fully indexed (1 cannot be read in full)"
    said = f"{files}: 2 added, 0 changed, 0 removed\n"
    assert (added.code, added.stdout) == (2, said)
    assert f"{lake}/b.parquet: id: not indexed: " in added.stderr
    again = outcome("index", "add", "--index", index)
    nothing_new = f"{files}: 0 added, 0 changed, 0 removed\n"
    assert (again.code, again.stdout) == (2, nothing_new)
    told = (
        "1 file that cannot be read in full: unchanged since that was found, and not tried again;"
    )
    names_all = f"`pbloom index check --index {index}` names all, and with --deep tries them again"
    assert again.stderr == f"pbloom: {told} {names_all}\n"
    checked = outcome("index", "check", "--index", index)
    assert (checked.code, f"{lake}/b.parquet: id: not indexed: " in checked.stderr) == (2, True)
    assert f": 0 findings: {files.partition(': ')[2]}, 1 key; " in checked.stdout
    # Whatever becomes of the segments.
    with pb.Index(index) as opened:
        opened.compact(everything=True)
        assert (opened.add().failed, opened.add().failed_before) == (1, 1)
    (lake / "b.parquet").write_bytes(b"no Parquet")
    changed = outcome("index", "add", "--index", index, "--json")
    document = json.loads(changed.stdout)
    assert (changed.code, document["changed"], document["failed"]) == (2, 1, 1)
    pq.write_table(pa.table({"id": [2]}), lake / "b.parquet")
    mended = outcome("index", "add", "--index", index)
    assert (mended.code, mended.stderr) == (0, "")
    assert ": 3 files, 1 of them not fully indexed: 0 added, 1 changed" in mended.stdout


def test_of_many_files_that_cannot_be_read_the_document_has_all(tmp_path):
    """What is shown are some, and what shows the rest."""
    lake, index = tmp_path / "lake", tmp_path / "index"
    lake.mkdir()
    pq.write_table(pa.table({"id": [1]}), lake / "00.parquet")
    for number in range(1, 24):
        (lake / f"{number:02}.parquet").touch()
    outcome("index", "build", "--index", index, "-c", "id", lake)
    again = outcome("index", "add", "--index", index)
    check = f"pbloom index check --index {index} --json"
    assert f"and not tried again; `{check}` names all, and with --deep" in again.stderr
    shown = outcome("index", "check", "--index", index).stderr.splitlines()
    assert (len(shown), shown[-1]) == (21, "pbloom: 3 more that are not indexed: --json shows all")
    assert len(json.loads(outcome(*check.split()[1:]).stdout)["not_indexed"]) == 23


def test_files_that_failed_count_until_they_are_gone(tmp_path):
    lake, index = tmp_path / "lake", tmp_path / "index"
    lake.mkdir()
    pq.write_table(pa.table({"id": [1]}), lake / "a.parquet")
    for name in "bc":
        (lake / f"{name}.parquet").write_bytes(b"no file")
    built = outcome("index", "build", "--index", index, "-c", "id", lake)
    assert (built.code, "3 files, 2 of which cannot be read in full: 3 added" in built.stdout) == (
        2,
        True,
    )
    (lake / "b.parquet").unlink()
    with pb.Index(index) as opened:
        found = opened.add()
        assert (found.removed, found.failed, found.failed_before) == (1, 1, 1)
    # Forgetting is done.
    removed = outcome("index", "remove", "--index", index, lake / "a.parquet")
    assert (removed.code, "cannot be read" in removed.stderr) == (0, False)
    (lake / "c.parquet").unlink()
    assert outcome("index", "add", "--index", index).code == 0


def test_no_line_for_each_file_that_is_not_indexed(lake, tmp_path):
    index = tmp_path / "index"
    assert outcome("index", "build", "--index", index, "-c", "id", lake, "-q").stderr == ""
    for number in range(88, 99):
        pq.write_table(pa.table({"other": [1]}), lake / f"{number}.parquet")
    lacks = "id: not indexed: no column id; the file has other"
    added = outcome("index", "add", "--index", index, "--quiet")
    assert added.code == 0
    assert added.complaint == f"11 of {FILES + 11} files, such as {lake}/88.parquet: {lacks}"
    total = f"{index}: {FILES + 11} files, 11 of them not fully indexed: 11 added, 0 changed, 0 removed\n"
    assert added.stdout == total
    both = outcome("index", "add", "--index", index, "--quiet", "--json")
    assert both.complaint == "--quiet: expected without --json"


def test_files_that_lack_a_column_are_told_of_with_the_way_out(lake, tmp_path):
    index = tmp_path / "index"
    pq.write_table(pa.table({"other": [1]}), lake / "other.parquet")
    built = outcome("index", "build", "--index", index, "-c", "id", lake)
    assert built.code == 0
    assert built.stderr.splitlines()[-1] == (
        "pbloom: where a file has no such column, it is `unknown` to index probe and find, unless their"
        " --union-by-name takes the column as null there"
    )
    asked = ("index", "probe", "--index", index, "-c", "id", "-v", "-5")
    assert [outcome(*asked, *by_name).code for by_name in ((), ("--union-by-name",))] == [2, 1]


def test_a_damaged_page_ends_the_command_with_2(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": range(1000)}), "a.parquet", use_dictionary=False)
    data = bytearray(Path("a.parquet").read_bytes())
    data[4:12] = b"\xff" * 8
    Path("a.parquet").write_bytes(data)
    built = outcome("index", "build", "--index", "ix", "-c", "id", "a.parquet")
    assert built.code == 2
    assert built.stdout.startswith(
        "ix: 1 file, 1 of which cannot be read in full: 1 added, 0 changed, 0 removed"
    )
    asked = outcome("index", "probe", "--index", "ix", "-c", "id", "-v", "5000")
    assert (asked.code, "unknown" in asked.stdout) == (2, True)


def test_files_that_are_left_out_by_their_names_are_named(lake, tmp_path):
    index = tmp_path / "index"
    shutil.copy(lake / "04.parquet", lake / "part-0")
    shutil.copy(lake / "04.parquet", lake / ".hidden.parquet")
    (lake / "_SUCCESS").touch()
    build = ("index", "build", "--index", index, "-c", "id", "--overwrite")
    told = f"1 file left out: {lake / 'part-0'}; its name is not that of a data file: to include it, name it itself"
    for asked in ((*build, lake), ("index", "add", "--index", index), (*build, lake, "-q")):
        assert outcome(*asked).complaint == told
    run = outcome("index", "add", "--index", index, "--json")
    assert (run.stderr, json.loads(run.stdout)["left_out"]) == ("", [str(lake / "part-0")])
    shutil.copy(lake / "part-0", lake / "part-1")
    assert outcome("index", "add", "--index", index, lake / "part-0").complaint == told.replace(
        "part-0", "part-1"
    )


def test_an_answer_without_files_says_that_nobody_has_looked(lake, tmp_path):
    index = tmp_path / "index"
    pb.Index.build(index, lake, "id").close()
    value = pq.read_table(lake / "04.parquet")["id"][0].as_py()
    told = (
        "files that were added or changed since then may be missing here: name the folder, too, or run"
        f" `pbloom index add --index {index}` first\n"
    )
    asked = ("index", "probe", "--index", index, "-c", "id")
    assert told in outcome(*asked, "-v", 1 << 41).stderr
    assert told in outcome(*asked, "-v", value, "-v", 1 << 41).stderr
    # A value that is found may be in others, too.
    assert told in outcome(*asked, "-v", value).stderr
    assert outcome(*asked, "-v", 1 << 41, "--json").stderr == ""
    assert outcome(*asked, "-v", 1 << 41, lake).stderr == ""


@pytest.mark.parametrize("form", ["map", "slices"])
@pytest.mark.parametrize("is_compacted", [False, True], ids=["segments", "compacted"])
def test_gone_files_of_several_segments(tmp_path, form, is_compacted):
    folder, nobody = tmp_path / "filtered", 50_000
    folder.mkdir()

    def write(number):
        path = folder / f"{number}.parquet"
        ids = range(1000 * number, 1000 * number + 600)
        pq.write_table(pa.table({"id": ids}), path, row_group_size=200)
        pb.build(path, columns=["id"], in_place=True, fpp=1e-6)
        return path

    first, *_ = map(write, range(3))
    with pb.Index.build(tmp_path / "index", folder, "id", form=form) as index:
        second = write(9)
        index.add()
        if is_compacted:
            index.compact(everything=True)
        for path in (first, second):
            path.rename(folder / f"moved-{path.name}")
        asked = [0, 9001, 1000, nobody]
        verdicts = [each.verdict for each in index.probe("id", asked).results]
        assert verdicts == ["unknown", "unknown", "maybe", "absent"]
        assert index.new_values("id", asked, verify=True).tolist() == [False, False, False, True]
        assert index.add().removed == 2
        verdicts = [each.verdict for each in index.probe("id", asked).results]
        assert verdicts == ["maybe", "maybe", "maybe", "absent"]
        assert index.check(deep=True).findings == ()
