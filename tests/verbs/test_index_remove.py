"""What an index is about: files, folders and globs that are to be forgotten, that are gone, or that have moved."""

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome, run_printed

import parquet_bloom as pb


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """00.parquet to 11.parquet, of two row groups."""
    folder = tmp_path / "lake"
    folder.mkdir()
    random = np.random.default_rng(7)
    for number in range(12):
        table = pa.table({"id": random.integers(0, 1 << 40, 200)})
        pq.write_table(table, folder / f"{number:02}.parquet", row_group_size=100)
    return folder


def test_remove_forgets_until_the_next_add(lake, tmp_path):
    value = pq.read_table(lake / "04.parquet")["id"][0].as_py()
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        assert index.remove(lake / "04.parquet").removed == 1
        assert index.probe("id", value).is_absent
        assert index.add().added == 1
        assert not index.probe("id", value).is_absent
        assert index.remove(lake).files == 0
        assert index.add().files == 0
        with pytest.raises(FileNotFoundError):
            index.remove(lake)


@pytest.mark.parametrize("source", ["lake", "lake/*.parquet", "./la*/"])
@pytest.mark.parametrize("command", ["add", "add moved", "check", "probe -c id -v VALUE"])
def test_what_is_printed_of_a_folder_that_was_moved_helps(
    lake, tmp_path, monkeypatch, source, command
):
    monkeypatch.chdir(tmp_path)
    value = pq.read_table(lake / "04.parquet")["id"][0].as_py()
    pb.Index.build("an index", source, "id").close()
    lake.rename("moved")
    words = command.replace("VALUE", str(value)).split()
    told = outcome("index", *words, "--index", "an index")
    assert told.code != 0
    forget, add = run_printed(told.output)
    assert forget == f"pbloom index remove --index 'an index' {shlex.quote(str(tmp_path / source))}"
    assert (
        add == f"pbloom index add --index 'an index' {'moved' if 'moved' in words else 'FILE...'}"
    )
    told = outcome("index", "probe", "--index", "an index", "-c", "id", "-v", value)
    assert (told.code, "moved/04.parquet" in told.stdout) == (0, True)
    assert outcome("index", "check", "--index", "an index").code == 0


def test_a_file_that_is_gone_is_forgotten_by_what_check_prints(lake, tmp_path):
    named, index = [lake / "04.parquet", lake / "05.parquet"], tmp_path / "index"
    pb.Index.build(index, named, "id").close()
    named[0].unlink()
    told = outcome("index", "check", "--index", index)
    assert told.code == 1
    assert run_printed(told.stdout.replace("FILE...", ""))[0].endswith("04.parquet")
    assert outcome("index", "check", "--index", index).code == 0


def test_an_index_that_is_about_nothing_any_more_says_so(lake, tmp_path):
    index = tmp_path / "index"
    pb.Index.build(index, lake, "id").close()
    told = f"{index}: is about no file or folder any more: `pbloom index add --index {index} FILE...` names some"
    for words in (("remove", lake), ("add",), ("add", "--quiet"), ("check",), ("check", "--deep")):
        found = outcome("index", *words, "--index", index)
        assert (found.code, found.complaint) == (0, told)
    assert outcome("index", "add", "--index", index, lake).stderr == ""


def test_remove_says_what_comes_back(lake, tmp_path):
    index, one = tmp_path / "an index", lake / "04.parquet"
    pb.Index.build(index, [lake, f"{lake}/0*", one], "id").close()
    quoted = shlex.quote(str(index))
    told = f"what is still there comes back with the next `pbloom index add --index {quoted}`, which looks at {lake}, "
    removed = outcome("index", "remove", "--index", index, f"{lake}/*.parquet")
    assert (removed.code, removed.complaint) == (0, f"{told}{lake}/0*, {one}")
    assert run_printed(removed.stderr)
    removed = outcome("index", "remove", "--index", index, one)
    assert (removed.code, removed.complaint) == (0, f"{told}{lake}/0*")
    for name in (f"{lake}/0*", lake):
        assert told not in outcome("index", "remove", "--index", index, name).stderr


def test_names_that_mean_nothing_in_the_index_are_said(lake, tmp_path):
    """What others mean is forgotten; whatever the kind of name."""
    index = tmp_path / "index"
    pb.Index.build(index, lake, "id").close()
    known = [lake / "00.parquet", f"{lake}/01*", f"{lake}/./02.parquet"]
    unknown = [f"{lake}/00.parquett", f"{lake}/nothing*", tmp_path / "elsewhere"]
    removed = outcome("index", "remove", "--index", index, *known, *unknown)
    assert removed.code == 0
    said, still = removed.stderr.splitlines()
    assert said == f"pbloom: {', '.join(map(str, unknown))}: not in the index {index}"
    assert still.startswith("pbloom: what is still there comes back")
    outcome("index", "add", "--index", index)
    as_json = outcome("index", "remove", "--index", index, lake, *unknown, "--json")
    found = json.loads(as_json.stdout)
    assert (found["not_known"], found["files"]) == ([*map(str, unknown)], 0)


def test_many_places_are_some_and_their_number(tmp_path):
    """Commands with all of them would fill a screen."""
    index, places = tmp_path / "index", [tmp_path / f"lake/{number}" for number in range(8)]
    for place in places:
        place.mkdir(parents=True)
        pq.write_table(pa.table({"id": [1]}), place / "a.parquet")
    pb.Index.build(index, places, "id").close()
    some = [str(place) for place in places[:3]]
    add = f"pbloom index add --index {index}"
    removed = outcome(
        "index", "remove", "--index", index, *(place / "a.parquet" for place in places)
    )
    assert removed.complaint == (
        f"what is still there comes back with the next `{add}`, which looks at {', '.join(some)} and 5 more places,"
        " which --json names"
    )
    outcome("index", "add", "--index", index)
    as_json = outcome("index", "remove", "--index", index, places[0] / "a.parquet", "--json")
    assert json.loads(as_json.stdout)["still_about"] == [str(places[0])]
    outcome("index", "add", "--index", index)
    (tmp_path / "lake").rename(tmp_path / "elsewhere")
    told = (
        f"`pbloom index remove --index {index} {' '.join(some)} PLACE...` with all 8 places, which `pbloom index check"
        f" --index {index} --json` names, forgets what is gone for good or has moved, then `{add} FILE...` adds what is"
        " elsewhere by now"
    )
    assert outcome("index", "add", "--index", index).complaint.endswith(f" of it: {told}")
    probed = outcome("index", "probe", "--index", index, "-c", "id", "-v", 1)
    assert probed.complaint == f"{places[0]}: is no more: {told}"
    checked = outcome("index", "check", "--index", index, "--json")
    assert json.loads(checked.stdout)["places_gone"] == [str(place) for place in places]
    # The one that is to be copied has all.
    assert outcome("index", "check", "--index", index).stdout.count(f" {places[7]}\n") == 1


def in_folders(lake: Path) -> None:
    """g/a/1.parquet, g/a/2.parquet, g/b/3.parquet"""
    for number, name in enumerate(("a/1", "a/2", "b/3")):
        path = lake / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": range(number * 100, number * 100 + 100)}), path)


@pytest.mark.parametrize("glob", ["*/*.parquet", "**", "[ab]", "**/*.parquet"])
def test_remove_forgets_the_files_of_a_glob_that_it_was_made_over(tmp_path, monkeypatch, glob):
    in_folders(tmp_path / "g")
    monkeypatch.chdir(tmp_path)
    with pb.Index.build("index", f"g/{glob}", "id") as index:
        found = index.remove(f"g/{glob}")
        assert (found.files, found.removed) == (0, 3)
        assert index._asked.manifest.sources == ()
        assert index.add().removed == 0


def test_what_another_source_means_too_stays_with_it(tmp_path):
    in_folders(tmp_path / "g")
    named = [tmp_path / "g/*/*.parquet", tmp_path / "g/a", tmp_path / "g/b/*"]
    with pb.Index.build(tmp_path / "index", named, "id") as index:
        assert index.remove(tmp_path / "g/*/*.parquet").removed == 0
        assert index.add().files == 3
        assert index.remove(tmp_path / "g/b/*").removed == 1
        assert index.add().files == 2


def test_remove_takes_a_glob_for_the_files_that_the_index_has(tmp_path):
    lake = tmp_path / "g"
    in_folders(lake)
    (lake / "a/deeper").mkdir()
    shutil.copy(lake / "a/1.parquet", lake / "a/deeper/4.parquet")
    shutil.copy(lake / "a/1.parquet", lake / "a/what is it[1].parquet")
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        (lake / "a/2.parquet").unlink()
        # Of which one is gone, and one deeper.
        assert index.remove(f"{lake}/a/[12].parquet").removed == 2
        assert (index.add().added, index.check().findings) == (1, ())
        assert index.remove(f"{lake}/a/what is it[1].parquet").removed == 1
        assert index.remove(f"{lake}/a/*").removed == 2
        with pytest.raises(FileNotFoundError, match="not in the index"):
            index.remove(f"{lake}/a/*.parquet")
        assert index.add().added == 3
