"""`pbloom clean-temp`: what it prints, and its exit codes."""

import errno
import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.object_server import Fault
from make.s3_server import S3Server, Upload

import parquet_bloom as pb
from parquet_bloom.storage import leftovers, temporary_files
from parquet_bloom.storage.temporary_files import Leftover

BEGUN = 1_700_000_000
OLD = "2023-11-14 22:13:20 UTC"
LEFT = f".a.parquet.{'0' * 16}.pbloom-tmp"
URL = "s3://lake/a.parquet"


@pytest.fixture
def options(s3: S3Server) -> list[str]:
    """Of a store with an object, an upload to it, and a temporary object."""
    s3.put("lake/a.parquet", b"PAR1")
    s3.uploads["1"] = Upload("lake/a.parquet", {}, "", {1: b"12345"}, BEGUN)
    return [part for item in s3.options.items() for part in ("--storage-option", "=".join(item))]


def test_uploads(s3: S3Server, options: list[str]) -> None:
    what = f"{URL}: upload of 5 B, begun {OLD}"
    result = outcome("clean-temp", "s3://lake/", "--uploads", "1d", "--dry-run", *options)
    assert (result.code, result.output.splitlines()) == (
        0,
        [f"{what}: would be aborted", "1 upload; 5 B; dry run: nothing was removed"],
    )
    result = outcome("clean-temp", "s3://lake/", *options)
    assert (result.code, result.output) == (0, "nothing to remove\n")
    s3.faults.append(Fault(403, "<Error><Code>AccessDenied</Code></Error>", kind="ABORT"))
    result = outcome("clean-temp", "s3://lake/", "--uploads", "1d", *options)
    assert (result.code, result.stdout) == (2, "")
    assert result.complaint == (
        f"{URL}: aborting was refused (403 AccessDenied): allow s3:AbortMultipartUpload"
    )
    assert len(s3.uploads) == 1
    result = outcome("clean-temp", "s3://lake/", "--uploads", "1w", "--stats", *options)
    assert (result.code, result.stdout.splitlines()) == (0, [f"{what}: aborted", "1 upload; 5 B"])
    # Two listings: of uploads, and of temporary objects.
    assert result.complaint.startswith("5 requests to object stores (1 get, 1 head, 2 list, 1 put)")
    assert s3.uploads == {}


def test_files_are_named_as_the_folder_is_and_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"lake/{day}/{LEFT}" for day in ("d3", "d1", "d2")]
    for name in names:
        Path(name).parent.mkdir(parents=True)
        Path(name).write_bytes(b"1234")
        os.utime(name, (BEGUN, BEGUN))
    *lines, _ = outcome("clean-temp", "lake").stdout.splitlines()
    assert [line.partition(": ")[0] for line in lines] == sorted(names)
    assert not any(map(os.path.exists, names))


def test_files_as_json(tmp_path: Path) -> None:
    place = tmp_path / LEFT
    place.write_bytes(b"1234")
    os.utime(place, (BEGUN, BEGUN))
    document = {
        "path": str(tmp_path),
        "num_younger": 0,
        "dry_run": True,
        "leftovers": [
            {
                "kind": "temporary file",
                "file": str(place),
                "since": "2023-11-14T22:13:20Z",
                "num_bytes": 4,
                "problem": None,
            }
        ],
    }
    result = outcome("clean-temp", tmp_path, "--dry-run", "--json")
    assert (result.code, json.loads(result.output)) == (0, document)
    result = outcome("clean-temp", tmp_path)
    assert result.output.splitlines() == [
        f"{place}: temporary file of 4 B, last written {OLD}: removed",
        "1 temporary file; 4 B",
    ]
    result = outcome("clean-temp", tmp_path, "--json")
    assert json.loads(result.output) == document | {"leftovers": [], "dry_run": False}


def test_what_is_wrong(s3: S3Server, options: list[str], tmp_path: Path) -> None:
    for age in ("23h", "0s", "soon"):
        result = outcome("clean-temp", "s3://lake/", "--uploads", age, *options)
        assert result.code == 2
        assert len(s3.uploads) == 1
    result = outcome("clean-temp", "s3://lake/", "--uploads", "23h", *options)
    assert result.stderr.splitlines()[-1] == (
        "pbloom: --uploads: 23h: expected at least 1d: other programs keep uploads open for hours"
    )
    result = outcome("clean-temp", "")
    assert (result.code, result.output) == (2, "pbloom: an empty name, expected a file or folder\n")
    (tmp_path / LEFT).touch()
    result = outcome("clean-temp", tmp_path / "gone", tmp_path, "--older-than", "0s")
    assert (result.code, result.complaint) == (2, f"{tmp_path}/gone: no such file or folder")
    assert result.stdout.splitlines()[-1] == "1 temporary file; 0 B"


def test_an_age_that_no_clock_knows(tmp_path: Path) -> None:
    result = outcome("clean-temp", tmp_path, "--older-than", "9999999999w")
    assert (result.code, result.stderr.splitlines()[-1]) == (
        2,
        "pbloom: --older-than: 9999999999w: too long ago",
    )


def test_nothing_could_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / LEFT).touch()

    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    monkeypatch.setattr(os, "unlink", refuse)
    result = outcome("clean-temp", tmp_path, "--older-than", "0s")
    assert (result.code, result.stdout) == (2, "")
    assert result.complaint == f"{tmp_path / LEFT}: Permission denied"


@pytest.mark.parametrize(
    ("since", "shown"), [(-1e12, "0001-01-01 00:00:00 UTC"), (1e13, "9999-12-31 23:59:59 UTC")]
)
def test_a_time_that_no_calendar_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, since: float, shown: str
) -> None:
    """As file systems in memory keep it."""
    (tmp_path / LEFT).touch()
    left = Leftover(str(tmp_path / LEFT), 0, since, (tmp_path / LEFT).unlink)
    monkeypatch.setattr(leftovers, "files_left", lambda path, older_than: iter([left]))
    monkeypatch.setattr(temporary_files, "time", SimpleNamespace(time=lambda: 2e13))
    result = outcome("clean-temp", tmp_path)
    assert (result.code, result.stderr) == (0, "")
    assert shown in result.stdout
    assert not (tmp_path / LEFT).exists()


def test_younger_ones_are_counted(tmp_path: Path) -> None:
    places = [tmp_path / f".{name}.parquet.{'0' * 16}.pbloom-tmp" for name in "ab"]
    for place in places:
        place.touch()
    # As a clock ahead of ours dates it.
    os.utime(places[1], (4e9, 4e9))
    result = outcome("clean-temp", tmp_path)
    left = "2 temporary files are younger than --older-than, by default an hour"
    assert (result.code, result.output) == (0, f"nothing to remove; {left}\n")
    os.utime(places[0], (BEGUN, BEGUN))
    result = outcome("clean-temp", tmp_path)
    left = "1 temporary file is younger than --older-than, by default an hour"
    assert result.stdout.splitlines()[1:] == [f"1 temporary file; 0 B; {left}"]
    assert list(tmp_path.iterdir()) == places[1:]
    assert json.loads(outcome("clean-temp", tmp_path, "--json").output)["num_younger"] == 1


def test_an_age_of_numpy(tmp_path: Path) -> None:
    (tmp_path / LEFT).touch()
    assert len(pb.clean_temp(tmp_path, older_than=np.int64(0)).leftovers) == 1
    with pytest.raises(TypeError, match="expected a number of seconds"):
        pb.clean_temp(tmp_path, older_than=np.bool_(True))


@pytest.mark.parametrize("verb", [("build", "-c", "n"), ("strip",), ("repair",)])
def test_what_changes_the_files_of_a_folder_names_what_killed_runs_left(
    tmp_path, monkeypatch, verb
):
    """Beside what it writes, and older than what another run may be at."""
    monkeypatch.chdir(tmp_path)
    for folder in ("lake/a", "lake/b", "out/a"):
        Path(folder).mkdir(parents=True)
        Path(folder, LEFT).write_bytes(b"12345")
        os.utime(Path(folder, LEFT), (BEGUN, BEGUN))
    pq.write_table(pa.table({"n": range(10)}), "lake/a/a.parquet")

    def said(*arguments):
        result = outcome(*verb, *arguments)
        assert result.code == 0
        return result.stderr

    left = "killed runs have left 1 temporary file, 5 B: `pbloom clean-temp {}` removes what is older than an hour\n"
    assert said("lake", "--in-place") == f"pbloom: {left.format('lake')}"
    assert said("lake", "--output-dir", "out", "--json") == f"pbloom: {left.format('out')}"
    old = (BEGUN, BEGUN)
    os.utime("lake/a/a.parquet", old)
    pq.write_table(pa.table({"n": range(10)}), "lake/new.parquet")
    for where, told in ((("--in-place",), "lake"), (("--output-dir", "out", "--overwrite"), "out")):
        assert said("lake", *where, "--since", "1d") == f"pbloom: {left.format(told)}"
    assert said("lake/a/a.parquet", "--in-place") == said("lake", "--dry-run") == ""
    os.utime(Path("lake/a", LEFT))
    assert said("lake", "--in-place") == ""
