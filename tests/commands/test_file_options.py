"""Which files a command works on: a manifest, a time, and shards that together are one run."""

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome

import parquet_bloom as pb
from parquet_bloom.render.hints import BY_NAME
from parquet_bloom.storage.shard import Shard

FILES = 12
SHARDS = 3


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """Files of four folders, of which each has one of a name."""
    monkeypatch.chdir(tmp_path)
    for number in range(FILES):
        folder = tmp_path / "lake" / f"day={number % 4}"
        folder.mkdir(parents=True, exist_ok=True)
        ids = [f"user-{number}-{row}" for row in range(50 + number)]
        pq.write_table(pa.table({"user_id": ids}), folder / f"part-{number // 4}.parquet")
    return tmp_path / "lake"


def names(lake):
    return sorted(str(path.relative_to(Path.cwd())) for path in lake.rglob("*.parquet"))


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def documents(text):
    found = [json.loads(line) for line in text.splitlines()]
    for document in found:
        document.pop("seconds", None)
    return sorted(json.dumps(document) for document in found)


def run(*arguments):
    result = outcome(*arguments)
    assert result.code in (0, 1), result
    return documents(result.stdout)


def run_shards(*arguments):
    found = [run(*arguments, "--shard", f"{index}/{SHARDS}") for index in range(SHARDS)]
    assert sum(map(bool, found)) > 1
    return sorted(document for each in found for document in each)


@pytest.fixture(params=["names", "manifest"])
def asked(request, lake, tmp_path):
    if request.param == "names":
        return ["lake"]
    (tmp_path / "files.txt").write_text("\n".join(names(lake)))
    return ["--manifest", "files.txt"]


BUILD = ("build", "-c", "user_id", "--json")


def test_shards_write_what_one_run_writes(asked):
    one = run(*BUILD, *asked, "--output-dir", "out")
    written = contents("out")
    assert len(one) == len(written) == FILES
    shutil.rmtree("out")
    assert run_shards(*BUILD, *asked, "--output-dir", "out") == one
    assert contents("out") == written


CHANGES = {
    "build": BUILD,
    "repair": ("repair", "--rebuild", "--json"),
    "strip": ("strip", "--json"),
}


@pytest.mark.parametrize("verb", CHANGES)
def test_shards_change_what_one_run_changes(verb, asked, lake):
    if verb != "build":
        run(*BUILD, "lake", "--in-place")
    shutil.copytree(lake, "copy")
    one = run(*CHANGES[verb], *asked, "--in-place")
    changed = contents(lake)
    shutil.rmtree(lake)
    os.rename("copy", lake)
    assert run_shards(*CHANGES[verb], *asked, "--in-place") == one
    assert contents(lake) == changed


READS = {
    "inspect": ("inspect", "--json"),
    "probe": ("probe", "-c", "user_id", "-v", "user-3-1", "--json"),
    "validate": ("validate", "--json"),
}


@pytest.mark.parametrize("verb", READS)
def test_shards_answer_what_one_run_answers(verb, asked):
    run(*BUILD, "lake", "--in-place")
    one = run(*READS[verb], *asked)
    assert len(one) == FILES
    assert run_shards(*READS[verb], *asked) == one


def test_a_manifest_on_standard_input(lake):
    lines = "\n".join(json.dumps({"path": name}) for name in names(lake))
    result = outcome("inspect", "--json", "--manifest", "-", input=lines)
    assert documents(result.stdout) == run("inspect", "--json", "lake")


def test_advice_about_a_manifest(asked):
    assert run("advise", "--json", *asked) == run("advise", "--json", "lake")


def test_a_file_that_is_not_there_is_one_bad_file_among_many(lake):
    Path("files.txt").write_text("\n".join([*names(lake), "lake/gone.parquet"]))
    result = outcome("inspect", "--json", "--manifest", "files.txt")
    assert (result.code, len(result.stdout.splitlines())) == (2, FILES)
    assert "lake/gone.parquet" in result.complaint


def test_two_outputs_with_one_path_are_seen_by_every_shard(lake):
    globs = ["lake/day=0/*.parquet", "lake/day=1/*.parquet"]
    for index in range(SHARDS):
        result = outcome(*BUILD, *globs, "--output-dir", "out", "--shard", f"{index}/{SHARDS}")
        assert result.code == 2
        assert "would be the output of both" in result.complaint
    assert not Path("out").exists()


def test_a_shard_without_files(lake):
    (name,) = names(lake)[:1]
    index = next(index for index in range(2) if not Shard(index, 2).takes(name))
    result = outcome("validate", name, "--shard", f"{index}/2")
    assert (result.code, result.stdout) == (0, "")
    assert result.complaint == f"nothing to do: no files in shard {index}/2"


def test_since(lake):
    now = datetime.now(UTC)
    for number, name in enumerate(names(lake)):
        time = (now - timedelta(hours=number + 0.5)).timestamp()
        os.utime(name, (time, time))
    assert len(run("inspect", "--json", "lake", "--since", "3h")) == 3
    moment = (now - timedelta(hours=5)).isoformat()
    assert len(run("inspect", "--json", "lake", "--since", moment)) == 5
    Path("files.txt").write_text("\n".join(names(lake)))
    assert len(run("inspect", "--json", "--manifest", "files.txt", "--since", "3h")) == 3
    result = outcome("inspect", "lake", "--since", "1m")
    assert (result.code, result.stdout) == (0, "")
    assert result.complaint.startswith("nothing to do: no files changed since 20")


@pytest.mark.parametrize(
    "narrowed",
    [("--since", "1d", "--in-place"), ("--output-dir", "out", "--resume"), ("--shard", "{}", "--in-place")],
)  # fmt: skip
def test_a_column_is_known_that_others_of_the_files_have(tmp_path, monkeypatch, narrowed):
    """Not among those that the command works on, but among those that were named."""
    monkeypatch.chdir(tmp_path)
    Path("lake").mkdir()
    pq.write_table(pa.table({"id": [1], "email": ["a"]}), "lake/a.parquet")
    pq.write_table(pa.table({"id": [2]}), "lake/n.parquet")
    os.utime("lake/a.parquet", (1, 1))
    Path("out").mkdir()
    shutil.copy("lake/a.parquet", "out")
    number = next(each for each in range(9) if Shard(each, 9).takes("lake/n.parquet"))
    assert not Shard(number, 9).takes("lake/a.parquet")
    words = [each.format(f"{number}/9") for each in narrowed]
    build = ("build", "lake", "--union-by-name", *words, "-c")
    result = outcome(*build, "id,email", "--json")
    assert result.code == 0, result
    (document,) = documents(result.stdout)
    assert json.loads(document)["path"] == "lake/n.parquet"
    if "--resume" in words:
        Path("out/n.parquet").unlink()
    wrong = outcome(*build, "id,emali")
    assert (wrong.code, wrong.stdout) == (2, "")
    assert "2 files: no column emali; did you mean email?" in wrong.stderr


def test_of_nothing_to_do_no_file_is_asked_for_columns(lake):
    for name in names(lake):
        os.utime(name, (1, 1))
    result = outcome(
        "build", "lake", "-c", "none", "--union-by-name", "--since", "1d", "--in-place"
    )
    assert (result.code, result.complaint[:14]) == (0, "nothing to do:")


def test_since_for_objects(server, lake):
    """Their times are those of the listing; the server says that all are of 2026-11-20."""
    server.put("lake/a.parquet", (lake / "day=0" / "part-0.parquet").read_bytes())
    options = [f"--storage-option={name}={value}" for name, value in server.options.items()]
    before = outcome("inspect", "--json", "s3://lake/", "--since", "2000-01-01", *options)
    assert (before.code, len(before.stdout.splitlines())) == (0, 1)
    server.forget()
    after = outcome("inspect", "--json", "s3://lake/", "--since", "2100-01-01", *options)
    assert (after.code, after.stdout) == (0, "")
    assert [each.kind for each in server.asked] == ["LIST"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["inspect"], "expected FILE; see pbloom inspect --help"),
        (["inspect", "lake", "--manifest", "a"], "expected FILE or --manifest, not both"),
        (["inspect", "lake", "--shard", "3/3"], "3/3: expected 0/3 to 2/3: shards are counted from 0"),
        (["inspect", "lake", "--shard", "0/0"], "0/0: expected at least one, as in 0/1"),
        (["inspect", "lake", "--shard", "1"], "'1': expected a number from 0, and of how many"),
        (["build", "lake", "--auto", "--in-place", "--shard", "0/3"], "--shard: not with --auto"),
        (["build", "lake", "-c", "a", "-o", "b", "--shard", "0/3"], "--output takes one input"),
        (["build", "lake", "--table", "delta", "--shard", "0/3"], "--shard: not with --table"),
        (["strip", "--manifest", "a", "--table", "delta"], "--manifest: not with --table"),
        (["inspect", "lake", "--since", "7"], "--since: 7: expected a time or an age, or with --table"),
        (["inspect", "lake", "--since", "soon"], "'soon': expected a time such as 2026-11-20, or an age: a number and s, m, h, d or w"),
    ],
)  # fmt: skip
def test_what_is_refused(lake, arguments, problem):
    result = outcome(*arguments)
    assert result.code == 2
    assert problem in result.stderr


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        ("missing", "missing: No such file or directory"),
        ("wrong.jsonl", "wrong.jsonl: line 1: path: expected that of a file, found None"),
        ("empty", "empty: lists no files"),
        ("", "--manifest: an empty name, expected a file"),
    ],
)
def test_a_manifest_that_cannot_be_read(lake, manifest, problem):
    Path("wrong.jsonl").write_text('{"file": "a"}\n')
    Path("empty").touch()
    result = outcome("inspect", "--manifest", manifest)
    assert (result.code, result.complaint) == (2, problem)


def test_outputs_behind_file_urls(lake, tmp_path):
    before = sorted(tmp_path.iterdir())
    asked = ("build", f"{lake}/day=0", "-c", "user_id")
    result = outcome(*asked, "--output-dir", f"file://{tmp_path}/a%20b")
    assert (result.code, result.stderr) == (0, "")
    named = ["part-0.parquet", "part-1.parquet", "part-2.parquet"]
    assert sorted(contents("a b")) == named
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "a b"])
    reports = pb.build(lake / "day=0", f"file://{tmp_path}/c%20d", columns=["user_id"])
    assert [report.output for report in reports] == [str(tmp_path / "c d" / name) for name in named]
    result = outcome(*asked, "--output-dir", "file://host/a")
    assert result.complaint == (
        "--output-dir: 'file://host/a' is on the host host, expected file:///PATH"
    )


def test_a_name_that_begins_with_a_dash_is_no_option_of_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": [1, 2, 3]}), "-dash.parquet")
    found = outcome("validate", "--", "-dash.parquet").stdout.splitlines()
    assert found == [
        "./-dash.parquet: no filters, so nothing was checked",
        "  next: pbloom advise ./-dash.parquet",
    ]
    found = outcome("validate", ".", "--require", "id").stdout.splitlines()
    assert found[-1] == "  next: pbloom build ./-dash.parquet -c id --in-place"
    assert outcome("advise", "./-dash.parquet").code == 0
    assert outcome("diff", "--", "-dash.parquet", "-dash.parquet").code == 0


def test_a_column_called_nearly_as_another_is_lacking_all_the_same(tmp_path):
    """Some files have it: what is called nearly the same in others is not what was meant."""
    for name, column in {"a": "user", "b": "users"}.items():
        pq.write_table(pa.table({column: [1, 2]}), tmp_path / f"{name}.parquet")
    found = outcome("probe", tmp_path, "-c", "users", "-v", "1")
    assert f"{tmp_path}/a.parquet: no column users; did you mean user?" in found.stderr
    assert f"pbloom: {BY_NAME}\n" in found.stderr
    assert BY_NAME not in outcome("probe", tmp_path, "-c", "usersx", "-v", "1").stderr
