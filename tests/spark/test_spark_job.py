"""Which files a job is about, and how it is done: every file once, huge ones in parts, and what
cannot be is said before anything starts. Runs on classic, and once more on Connect."""

import os
import shutil
from pathlib import Path

import pytest
from make.commands import outcome
from make.lake_files import GROUPS, contents, everything_is_huge, snapshot, write, write_table

import parquet_bloom as pb
from parquet_bloom import spark as lake
from parquet_bloom.errors import SparkError
from parquet_bloom.spark import job, listing, packing

pytestmark = pytest.mark.interop

# Names that mean something else in a URI, in a glob or in a partition.
NAMES = [
    "day=2026-11-20/a b.parquet",
    "day=2026-11-20/100%.parquet",
    "day=2026-11-20/a%20b.parquet",
    "city=São Paulo%2F東京/ü=1.parquet",
    "x[1]{2,3}.parquet",
    "why?*.parquet",
    "a+b#c&d;e,f'g.parquet",
    "back\\slash.pq",
]


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """A lake of files with odd names."""
    folder = tmp_path_factory.mktemp("odd lake")
    for name in NAMES:
        write(folder / name)
    write(folder / "sub" / "no suffix")
    (folder / "none").mkdir()
    return folder


def listed(spark, *names):
    files, nothing = listing.list_files(spark, [str(name) for name in names])
    assert files == sorted(files, key=lambda file: file.path)
    for file in files:
        status = os.stat(file.path)
        assert file.size == status.st_size
        assert abs(file.modified.timestamp() - status.st_mtime) < 0.01
    return [file.path for file in files], nothing


def all_of(folder):
    return sorted(str(folder / name) for name in NAMES)


def test_a_folder(spark, odd):
    assert listed(spark, odd) == (all_of(odd), [])
    assert listed(spark, f"{odd}/") == (all_of(odd), [])
    assert listed(spark, odd.as_uri()) == (all_of(odd), [])
    assert listed(spark, f"file:{odd}") == (all_of(odd), [])


def test_files_of_a_frame(spark, odd, tmp_path):
    """inputFiles() gives URIs."""
    folder = shutil.copytree(odd, tmp_path / "a lake")
    uris = spark.read.option("recursiveFileLookup", "true").parquet(str(folder)).inputFiles()
    uris = [uri for uri in uris if "suffix" not in uri]
    assert any("%2520" in uri for uri in uris)
    report = lake.build(spark, uris, columns=["id"])
    assert [each.path for each in report.outcomes] == all_of(folder)
    assert report.counts == {"added": len(NAMES)}


def test_globs(spark, odd):
    found, nothing = listed(spark, f"{odd}/day=*/*.parquet", f"{odd}/city=*", f"{odd}/none/*")
    assert found == sorted(str(odd / name) for name in NAMES[:4])
    assert nothing == [f"{odd}/none/*"]
    assert listed(spark, f"{odd}/{{x,why}}*") == (
        sorted(str(odd / each) for each in NAMES[4:6]),
        [],
    )


def test_a_file_that_is_named_need_not_be_called_so(spark, odd):
    path = str(odd / "sub" / "no suffix")
    assert listed(spark, path) == ([path], [])
    assert listed(spark, Path(path).as_uri()) == ([path], [])
    assert listed(spark, odd / "sub") == ([], [str(odd / "sub")])
    assert listed(spark, odd / "sub" / "*") == ([], [str(odd / "sub" / "*")])
    for name in (f"/{path}", os.path.relpath(path), f"{odd}/sub/no*", f"{odd}/sub/./no suffix"):
        assert listed(spark, name) == ([path], [])


def test_each_file_once(spark, odd):
    names = [odd, odd / NAMES[0], odd / "day=2026-11-20", f"{odd}/*/*.parquet", odd.as_uri()]
    assert listed(spark, *names) == (all_of(odd), [])


def test_names_without_files(spark, odd, monkeypatch):
    """One among many does not cost a job for each of them."""
    asked, list_some = [], listing._listed

    def counted(spark, names):
        asked.append(len(names))
        return list_some(spark, names)

    monkeypatch.setattr(listing, "_listed", counted)
    here = [str(odd / NAMES[place % 4]) for place in range(64)]
    names = [*here[:40], str(odd / "gone"), *here[40:]]
    assert listed(spark, *names) == (sorted(set(here)), [str(odd / "gone")])
    assert len(asked) < 18
    names = [str(odd / NAMES[0]), str(odd / "none"), "", str(odd / "gone")]
    assert listed(spark, *names) == (names[:1], names[1:])
    assert listed(spark) == ([], [])


def test_what_is_not_there_is_in_the_report(spark, odd, tmp_path):
    (tmp_path / "empty.parquet").touch()
    names = [odd / "z", odd / NAMES[0], tmp_path / "empty.parquet", odd / "a"]
    report = lake.inspect(spark, names)
    found = [(each.path, each.status, each.message) for each in report.outcomes]
    assert found == sorted(
        [(str(odd / NAMES[0]), "read", None)]
        + [
            (str(name), "error", f"{name}: no Parquet or ORC files")
            for name in (odd / "z", odd / "a", tmp_path / "empty.parquet")
        ]
    )
    assert lake.inspect(spark, []).outcomes == ()
    assert (
        lake.inspect(spark, odd / "none").troubles[0].message
        == f"{odd}/none: no Parquet or ORC files"
    )


# ------------------------------------------------------------------------------------------------
# Huge files


def test_huge_files_are_built_in_parts(spark, tmp_path, monkeypatch):
    """Beside small ones, and with the bytes of the local build."""
    folder = tmp_path / "lake"
    write(folder / "huge.parquet", rows=20_000)
    write(folder / "part=1" / "also huge.parquet", rows=24_000)
    for place in range(3):
        write(folder / f"small {place}.parquet", 7 * place, rows=40)
    damaged = bytearray(write(folder / "damaged.parquet", rows=20_000).read_bytes())
    damaged[4:24] = b"\xff" * 20
    (folder / "damaged.parquet").write_bytes(damaged)
    local = shutil.copytree(folder, tmp_path / "local")
    everything_is_huge(monkeypatch)
    in_parts, work = [], job._work

    def seen(spark, pieces, num_tasks):
        in_parts.extend({piece.file.path for piece in pieces if piece.parts > 1})
        return work(spark, pieces, num_tasks)

    monkeypatch.setattr(job, "_work", seen)
    report = lake.build(spark, folder, columns=["id", "name"])
    assert sorted(os.path.basename(path) for path in in_parts) == [
        "also huge.parquet", "damaged.parquet", "huge.parquet",
    ]  # fmt: skip
    assert [(os.path.basename(each.path), each.status, each.filters) for each in report.outcomes] == [
        ("damaged.parquet", "error", 0), ("huge.parquet", "added", 2 * GROUPS),
        ("also huge.parquet", "added", 2 * GROUPS), ("small 0.parquet", "added", 2 * GROUPS),
        ("small 1.parquet", "added", 2 * GROUPS), ("small 2.parquet", "added", 2 * GROUPS),
    ]  # fmt: skip
    outcome("build", local, "--in-place", "-c", "id,name")
    assert contents(folder) == contents(local)
    before = snapshot(folder)
    again = lake.build(spark, folder, columns=["id", "name"])
    assert again.counts == {"unchanged": 5, "error": 1}
    assert snapshot(folder) == before
    assert lake.build(spark, folder, columns=["id"], existing="replace", fpp=0.1).counts == {
        "added": 5, "error": 1,
    }  # fmt: skip
    outcome("build", local, "--in-place", "-c", "id", "--existing", "replace", "--fpp", "0.1")
    assert contents(folder) == contents(local)


# ------------------------------------------------------------------------------------------------
# One job


def counting(on_executor, folder):
    """`on_executor`, but each run on an executor leaves a file that says how many rows it got."""

    def counted(module, function, request, archive):
        mapped = on_executor(module, function, request, archive)

        def with_count(batches):
            import os
            import uuid

            batches = list(batches)
            rows = sum(batch.num_rows for batch in batches)
            with open(os.path.join(folder, f"{function} {rows} {uuid.uuid4()}"), "w"):
                yield from mapped(iter(batches))

        return with_count

    return counted


def counts_in(folder, function):
    """How many rows the function got, in all."""
    names = [path.name.split() for path in folder.iterdir()]
    return sum(int(rows) for name, rows, _ in names if name == function)


def test_everything_is_done_once(spark, tmp_path, monkeypatch):
    """Not by a second action of the library, nor by whoever looks at the report."""
    counts = tmp_path / "counts"
    counts.mkdir()
    monkeypatch.setattr(job, "on_executor", counting(job.on_executor, str(counts)))
    table = write_table(tmp_path / "table")
    report = lake.build(spark, table, columns=["id"])
    frame = report.to_df(spark)
    assert frame.orderBy("path").count() == len(frame.join(frame, "path").collect()) == 3
    assert counts_in(counts, "work") == 3
    lake.clean_temp(spark, table)
    assert counts_in(counts, "sweep") == 1
    everything_is_huge(monkeypatch)
    lake.build(spark, table / "part=0", columns=["name"])
    assert counts_in(counts, "work") == 3
    assert counts_in(counts, "build_part") == 16
    # The version that each part saw, and a filter for each row group.
    assert counts_in(counts, "write_parts") == 16 + GROUPS


def test_as_many_tasks_as_are_asked_for(spark, tmp_path, monkeypatch):
    assert job.parallelism(spark) == 2
    table, tasks, work = write_table(tmp_path / "table"), [], job._work

    def seen(spark, pieces, num_tasks):
        frame = work(spark, pieces, num_tasks)
        tasks.append((num_tasks, sorted(row.task for row in frame.collect())))
        return frame

    monkeypatch.setattr(job, "_work", seen)
    monkeypatch.setattr(packing, "WAVES", 1)
    for slots in (1, 2, 50):
        assert lake.inspect(spark, table, tasks=slots).counts == {"read": 2, "error": 1}
    assert tasks == [(1, [0, 0, 0]), (2, [0, 1, 1]), (3, [0, 1, 2])]


def test_a_job_that_fails_as_a_whole(spark, tmp_path, monkeypatch):
    def nothing(module, function, request, archive):
        def fail(batches):
            raise RuntimeError("no such module")
            yield

        return fail

    monkeypatch.setattr(job, "on_executor", nothing)
    table = write_table(tmp_path / "table")
    before = snapshot(table)
    with pytest.raises(SparkError, match=r"^the Spark job failed: ") as raised:
        lake.build(spark, table, columns=["id"])
    assert "\n" not in str(raised.value)
    assert snapshot(table) == before


class NoSpark:
    """Whoever asks it for anything has not checked first."""

    def __getattr__(self, name):
        raise AssertionError(f"asked for {name}")


@pytest.mark.parametrize(
    ("verb", "options", "message"),
    [
        (lake.build, {"columns": []}, "columns: none, expected at least one"),
        (
            lake.build,
            {"columns": {"id": 0.1}},
            r"columns: \{'id': 0.1\}, expected a name or a list",
        ),
        (lake.build, {"columns": ["id"], "existing": "no"}, "existing: no, expected keep, replace"),
        (lake.build, {"columns": [1]}, "columns: 1, expected a name or a list of names"),
        (lake.build, {"columns": ["id"], "fpp": "0.01"}, "fpp: '0.01', expected a number"),
        (lake.build, {"columns": ["id"], "ndv": 1e6}, "ndv: 1000000.0, expected a whole number"),
        (
            lake.build,
            {"columns": ["id"], "keys": pb.Keys(footer=bytes(16))},
            "keys: a Keys, expected references such as env:VAR by name",
        ),
        (lake.inspect, {"keys_file": 5}, "keys_file: 5, expected one path, as str or os.PathLike"),
        (lake.validate, {"policy": "pbloom.toml"}, "policy: 'pbloom.toml', expected a pb.Policy;"),
        (lake.build, {"columns": ["id"], "tasks": 1.5}, "tasks: 1.5, expected a whole number"),
        (lake.build, {"columns": ["id"], "since": "2d"}, "since: '2d', expected a datetime"),
        (lake.probe, {"columns": [], "values": 42}, "columns: none, expected at least one"),
        (lake.probe, {"columns": [1], "values": 42}, "columns: 1, expected a name or a list of"),
        (lake.probe, {"columns": "id", "values": {"id": 42}}, "values: a dict, expected one value"),
        (lake.probe, {"columns": "id", "values": []}, "values: none, expected at least one"),
        (lake.build, {"columns": ["id"], "fpp": 0}, "fpp: 0, expected more than 0"),
        (lake.build, {"columns": ["id"], "fpp": 1.0}, "fpp: 1.0, expected more than 0"),
        (lake.build, {"columns": ["id"], "ndv": 0}, "ndv: 0, expected 1 or more"),
        (lake.build, {"columns": ["id"], "max_bytes": 63}, "max_bytes: 63, expected 64 to"),
        (lake.build, {"columns": ["id"], "tasks": 0}, "tasks: 0, expected 1 or more"),
        (lake.build, {"columns": ["id"], "dry_run": "no"}, "dry_run: 'no', expected True or False"),
        (lake.build, {"columns": ["id"], "only_missing": 1}, "only_missing: 1, expected True or"),
        (lake.validate, {"columns": []}, "columns: none, expected at least one"),
        (lake.build_table, {"columns": []}, "columns: none, expected at least one"),
        (lake.validate, {"deep": "no"}, "deep: 'no', expected True or False"),
        (lake.advise, {"fpp": 2}, "fpp: 2, expected more than 0"),
        (lake.advise, {"max_bytes": 1 << 40}, "max_bytes: 1099511627776, expected 64 to"),
        (lake.inspect, {"tasks": -1}, "tasks: -1, expected 1 or more"),
        (lake.clean_temp, {"tasks": 0}, "tasks: 0, expected 1 or more"),
        (lake.clean_temp, {"older_than": -1}, "older_than: -1, expected 0 or more seconds"),
        (lake.clean_temp, {"older_than": float("nan")}, "older_than: nan, expected 0 or more"),
        (lake.clean_temp, {"older_than": "1h"}, "older_than: '1h', expected a number of seconds"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_what_cannot_be_is_said_before_anything_starts(verb, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        verb(NoSpark(), "/lake", **options)


def test_the_session_is_as_it_was(spark, tmp_path):
    """Nothing is set in it, and nothing is left behind in its catalogue."""
    table = write_table(tmp_path / "table")
    before = spark.conf.getAll, spark.catalog.listTables()
    lake.build(spark, table, columns=["id"])
    pb.validate(table / "part=0/0.parquet")
    assert (spark.conf.getAll, spark.catalog.listTables()) == before
