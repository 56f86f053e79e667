"""Checkpoints of every kind, and compacted commits: the same table as the commits that they stand for."""

import json
import subprocess
import sys
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable as Judge
from make.delta_tables import (
    actions,
    adds,
    build,
    inline_vector,
    live,
    make_table,
    newest,
    rewrite_log,
    with_features,
)

import parquet_bloom as pb
from parquet_bloom.tables.delta.log import read_snapshot
from parquet_bloom.tables.open import open_table


@pytest.fixture
def table(tmp_path):
    """With deletion vectors, tags and partitions, and a file that was removed."""
    table = make_table(tmp_path / "events", partition_by=["day"])
    with_features(table, ["domainMetadata"], ["deletionVectors", "v2Checkpoint"], {"delta.x": "y"})
    more = {"deletionVector": inline_vector({3}), "tags": {"a": "b c"}}
    rewrite_log(table, lambda action: {"add": action["add"] | more} if "add" in action else action)
    # In the order of its own: both columns of the key count.
    path, add = next(iter(adds(table, 0).items()))
    remove = {"path": path, "deletionVector": add["deletionVector"], "dataChange": True}
    newer = add | {"deletionVector": inline_vector({3, 4})}
    log = table / "_delta_log" / f"{3:020}.json"
    log.write_text(json.dumps({"add": newer}) + "\n" + json.dumps({"remove": remove}) + "\n")
    return table


def snapshot(table):
    found = read_snapshot(open_table(table)._folder)
    known = {key: dropped(add) for key, add in found.adds.items()}
    return found.version, known, dropped(found.protocol), found.configuration


def dropped(action):
    """Without nulls, and what a checkpoint sets to false."""
    return {
        name: sorted(value) if isinstance(value, list) else value
        for name, value in action.items()
        if value is not None and name != "dataChange"
    }


def classic(table):
    """A checkpoint by deltalake; its rows, and the place that it had."""
    Judge(table).create_checkpoint()
    (name,) = (table / "_delta_log").glob("*.checkpoint.parquet")
    rows = pq.read_table(name)
    name.unlink()
    (table / "_delta_log" / "_last_checkpoint").unlink()
    return rows, name


def keep_only(rows, *kinds):
    """The rows of these actions."""
    masks = [rows[kind].is_valid().to_pylist() for kind in kinds]
    return rows.filter(pa.array([any(each) for each in zip(*masks, strict=True)]))


def as_one_file(table):
    rows, name = classic(table)
    pq.write_table(rows, name, row_group_size=2)


def in_parts(table):
    rows, name = classic(table)
    start = name.name.partition(".parquet")[0]
    for part in range(3):
        chosen = rows.take(list(range(part, len(rows), 3)))
        pq.write_table(chosen, name.with_name(f"{start}.{part + 1:010}.{3:010}.parquet"))


def sidecars(table, rows):
    """Adds and removes go there; the actions that name them."""
    folder = table / "_delta_log" / "_sidecars"
    folder.mkdir()
    files = keep_only(rows, "add", "remove").select(["add", "remove"])
    found = []
    for part in range(2):
        name = f"{uuid.uuid4()}.parquet"
        pq.write_table(files.take(list(range(part, len(files), 2))), folder / name)
        size = (folder / name).stat().st_size
        found.append({"path": name, "sizeInBytes": size, "modificationTime": 1})
    return found


def with_sidecars(table):
    rows, name = classic(table)
    named = sidecars(table, rows)
    rest = keep_only(rows, "protocol", "metaData").to_pylist(maps_as_pydicts="strict")
    more = {
        "checkpointMetadata": pa.struct({"version": pa.int64()}),
        "sidecar": pa.struct(
            {"path": pa.string(), "sizeInBytes": pa.int64(), "modificationTime": pa.int64()}
        ),
    }
    schema = pa.schema(
        [
            *(field for field in rows.schema if field.name not in more),
            *(pa.field(name, kind) for name, kind in more.items()),
        ]
    )
    lines = [*rest, {"checkpointMetadata": {"version": 3}}, *({"sidecar": each} for each in named)]
    place = name.with_name(name.name.replace("parquet", f"{uuid.uuid4()}.parquet"))
    pq.write_table(pa.Table.from_pylist(lines, schema), place)


def as_json(table):
    rows, name = classic(table)
    lines = [
        {kind: without_nulls(value) for kind, value in row.items() if value is not None}
        for row in keep_only(rows, "protocol", "metaData").to_pylist(maps_as_pydicts="strict")
    ]
    lines += [{"checkpointMetadata": {"version": 3}}]
    lines += [{"sidecar": each} for each in sidecars(table, rows)]
    place = name.with_name(name.name.replace("parquet", f"{uuid.uuid4()}.json"))
    place.write_text("".join(json.dumps(line) + "\n" for line in lines))


def without_nulls(value):
    return {name: each for name, each in value.items() if each is not None}


def compacted(table):
    """Commits 1 to 3 as one, which has the last action of each file."""
    last = {}
    for version in (1, 2, 3):
        for action in actions(table, version):
            kind, found = next(iter(action.items()))
            if kind in ("add", "remove"):
                vector = found.get("deletionVector", {}).get("pathOrInlineDv")
                last[found["path"], vector] = action
    text = "".join(json.dumps(action) + "\n" for action in last.values())
    (table / "_delta_log" / f"{1:020}.{3:020}.compacted.json").write_text(text)


KINDS = {
    as_one_file: range(4),
    in_parts: range(4),
    with_sidecars: range(4),
    as_json: range(4),
    # The newest commit is always there.
    compacted: range(1, 3),
}


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_it_stands_for_its_commits(table, make):
    expected = snapshot(table)
    assert len(expected[1]) == 6
    make(table)
    for version in KINDS[make]:
        (table / "_delta_log" / f"{version:020}.json").unlink()
    assert snapshot(table) == expected


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_build_behind_it(table, make):
    before = snapshot(table)[1]
    make(table)
    report = build(table)
    assert (report.version, report.committed) == (3, 4)
    version, after, *_ = snapshot(table)
    assert version == newest(table) == 4
    assert after == {key: add | {"size": live(table)[add["path"]]} for key, add in before.items()}


def test_an_incomplete_checkpoint_is_none(table):
    expected = snapshot(table)
    in_parts(table)
    next((table / "_delta_log").glob("*.checkpoint.*")).unlink()
    assert snapshot(table) == expected


def test_a_sidecar_that_is_missing(table):
    with_sidecars(table)
    name = next((table / "_delta_log" / "_sidecars").iterdir())
    name.unlink()
    with pytest.raises(FileNotFoundError) as raised:
        open_table(table)
    assert str(name) in str(raised.value)


def test_a_sidecar_elsewhere(table):
    _rows, name = classic(table)
    place = name.with_name(name.name.replace("parquet", f"{uuid.uuid4()}.json"))
    place.write_text(json.dumps({"sidecar": {"path": "../../x.parquet"}}) + "\n")
    with pytest.raises(pb.RewriteError) as raised:
        open_table(table)
    assert str(raised.value) == (
        f"{table}: the sidecar ../../x.parquet is not in _delta_log/_sidecars, expected a name"
    )


def test_older_versions_are_read_from_before_the_checkpoint(table):
    as_one_file(table)
    assert len(open_table(table, version=1).files()) == 4


def test_compacted_commits_beyond_a_version_are_not_read(table):
    compacted(table)
    assert len(open_table(table, version=2).files()) == 6
    assert {file.num_deleted for file in open_table(table, version=2).files()} == {1}
    assert {file.num_deleted for file in open_table(table).files()} == {1, 2}


def test_no_other_thread_holds_their_bytes():
    """One that lets go of them when Python is about to end aborts the process."""
    code = """
import os
from io import BytesIO
import pyarrow as pa
import pyarrow.parquet as pq
from parquet_bloom.tables.delta.checkpoint import actions_in
sink = BytesIO()
pq.write_table(pa.table({"add": [{"path": "a"}], "remove": [{"path": "b"}]}), sink)
threads = os.listdir("/proc/self/task")
assert list(actions_in(sink.getvalue(), "here")) == [{"add": {"path": "a"}, "remove": {"path": "b"}}]
assert os.listdir("/proc/self/task") == threads
"""
    subprocess.run([sys.executable, "-c", code], check=True)
