"""Delta tables whose files are not changed, and damaged logs: one line each, and nothing is written."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable as Judge
from make.commands import files_in, outcome
from make.delta_tables import (
    build,
    configure,
    last_action,
    live,
    make_table,
    rewrite_log,
    with_features,
    write_commit,
)

import parquet_bloom as pb
from parquet_bloom.tables.open import open_table
from parquet_bloom.vocabulary import TableChoice, words


@pytest.fixture
def table(tmp_path):
    return make_table(tmp_path / "events", commits=2)


def refused(table, kind=pb.RewriteError, **options):
    """What build says; nothing is changed."""
    before = files_in(table)
    with pytest.raises(kind) as raised:
        build(table, **options)
    with pytest.raises(kind):
        pb.strip_table(table)
    assert files_in(table) == before
    message = str(raised.value)
    assert message.startswith(f"{table}: ")
    assert "\n" not in message
    return message.removeprefix(f"{table}: ")


@pytest.mark.parametrize(
    "feature",
    ["catalogManaged", "checkpointProtection", "icebergCompatV1", "icebergCompatV2", "new-feature"],
)
def test_features_that_are_not_known(table, feature):
    with_features(table, [feature])
    assert refused(table) == (
        f"not changed: its writers need the feature {feature}, which pbloom does not know"
    )


@pytest.mark.parametrize("dry_run", [False, True])
def test_writers_cannot_be_told(table, dry_run):
    before = files_in(table)
    with pytest.raises(pb.UnsupportedError) as raised:
        build(table, set_properties=True, dry_run=dry_run)
    assert str(raised.value) == (
        f"{table}: Delta Lake defines no property that asks for Bloom filters: set"
        " parquet.bloom.filter.enabled#NAME=true in each job that writes, or build with `--since` after it"
    )
    assert files_in(table) == before


def test_several_features_that_are_not_known(table):
    with_features(table, ["b", "a"])
    assert refused(table) == (
        "not changed: its writers need the features a, b, which pbloom does not know"
    )


def test_features_of_readers_that_are_not_known(table):
    with_features(table, reader=["deletionVectors", "newReading"])
    message = "its readers need the feature newReading, which pbloom does not know"
    assert refused(table, pb.UnsupportedError) == message


@pytest.mark.parametrize(
    ("protocol", "kind", "message"),
    [
        (
            {"minReaderVersion": 4, "minWriterVersion": 7},
            pb.UnsupportedError,
            "its protocol needs readers of version 4, expected up to 3",
        ),
        (
            {"minReaderVersion": 1, "minWriterVersion": 8},
            pb.RewriteError,
            "not changed: its protocol needs writers of version 8, expected up to 7",
        ),
    ],
)
def test_protocols_to_come(table, protocol, kind, message):
    write_commit(table, {"protocol": protocol})
    assert refused(table, kind) == message


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "delta.coordinatedCommits.commitCoordinator-preview",
            "dynamodb",
            "its commits go through a catalog, which pbloom does not support",
        ),
        (
            "delta.universalFormat.enabledFormats",
            "iceberg",
            (
                "it is also an Iceberg table (UniForm), whose metadata would keep the old sizes:"
                " drop"
                " delta.universalFormat.enabledFormats and delta.enableIcebergCompat… first"
            ),
        ),
        (
            "delta.enableIcebergCompatV2",
            "true",
            (
                "it is also an Iceberg table (UniForm), whose metadata would keep the old sizes:"
                " drop"
                " delta.universalFormat.enabledFormats and delta.enableIcebergCompat… first"
            ),
        ),
    ],
)
def test_what_others_keep_in_step(table, name, value, message):
    configure(table, {name: value})
    assert refused(table) == f"not changed: {message}"


def test_a_way_to_map_columns_that_is_not_known(table):
    configure(table, {"delta.columnMapping.mode": "uuid"})
    expected = "delta.columnMapping.mode is uuid, expected none, name, id"
    assert refused(table, pb.UnsupportedError) == expected


def test_a_path_that_no_file_can_have(table):
    add = {"path": "a%00b.parquet", "partitionValues": {}, "size": 7, "dataChange": True}
    write_commit(table, {"add": add})
    report = build(table)
    assert report.committed is not None
    (failed,) = [file for file in report.files if file.action == "failed"]
    assert failed.reason.endswith("has a character that no path can have, expected a path")


def test_uniform_that_is_off(table):
    configure(table, {"delta.enableIcebergCompatV1": "false"})
    assert build(table).committed == 3


def test_everything_that_stands_in_the_way_is_said_at_once(table):
    with_features(table, ["catalogManaged"])
    configure(table, {"delta.coordinatedCommits.x": "y"})
    assert refused(table) == (
        "not changed: its writers need the feature catalogManaged, which pbloom does not know; its"
        " commits go through a catalog, which pbloom does not support"
    )


def test_in_commit_timestamps_without_one(table):
    with_features(
        table, ["inCommitTimestamp"], configuration={"delta.enableInCommitTimestamps": "true"}
    )
    assert refused(table) == (
        "not changed: the time of version 1, which the next one has to follow, is not in its"
        " commit: let another writer commit first"
    )


@pytest.mark.parametrize(
    "place", ["file:///lake/x.parquet", "s3://lake/x", "dbfs:/lake/x", "/lake/x", "../x"]
)
def test_files_outside_of_the_table(table, place):
    add = {
        "path": place,
        "partitionValues": {},
        "size": 10,
        "modificationTime": 1,
        "dataChange": True,
    }
    write_commit(table, {"add": add})
    assert refused(table) == (
        f"not changed: its file {place} is outside of its folder, as in a shallow clone: build the"
        " filters in the table that owns it"
    )


def test_a_path_with_two_records(table):
    (first, _) = live(table)
    vector = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 4, "cardinality": 1}
    add = {"path": first, "partitionValues": {}, "size": 1, "dataChange": True}
    write_commit(table, {"add": add | {"deletionVector": vector}})
    assert refused(table) == f"not changed: its file {first} has two live records, expected one"


def parsed_checkpoint(table):
    """Put statistics into the second form only."""
    Judge(table).create_checkpoint()
    (name,) = (table / "_delta_log").glob("*.checkpoint.parquet")
    found = pq.read_table(name)
    adds = found["add"].combine_chunks()
    fields = {field.name: adds.field(field.name) for field in adds.type}
    rows = [
        None if each is None else {"numRecords": 300} for each in fields.pop("stats").to_pylist()
    ]
    fields["stats_parsed"] = pa.array(rows, pa.struct({"numRecords": pa.int64()}))
    changed = pa.StructArray.from_arrays(fields.values(), fields.keys(), mask=adds.is_null())
    pq.write_table(found.set_column(found.column_names.index("add"), "add", changed), name)


def test_statistics_that_would_be_lost(table):
    parsed_checkpoint(table)
    assert len(open_table(table).files()) == 2
    assert refused(table) == (
        "not changed: its checkpoint has statistics as structs only, which would be lost: set"
        " delta.checkpoint.writeStatsAsJson to true, and let its writer make a checkpoint"
    )


# ------------------------------------------------------------------------------------------------
# Damaged logs


def commit_file(table, version):
    return table / "_delta_log" / f"{version:020}.json"


def test_gap(table):
    make_table(table, commits=1)
    commit_file(table, 1).unlink()
    assert refused(table) == (
        "_delta_log: commit 1 is missing, and no complete checkpoint has it: version 2 cannot be"
        " read"
    )


def test_half_a_checkpoint(table):
    """Is none: what it would have is read from commits, which are all there or not."""
    Judge(table).create_checkpoint()
    (name,) = (table / "_delta_log").glob("*.checkpoint.parquet")
    name.rename(name.with_name(name.name.replace("parquet", "0000000001.0000000002.parquet")))
    (table / "_delta_log" / "_last_checkpoint").unlink()
    assert len(open_table(table).files()) == 2
    commit_file(table, 0).unlink()
    assert refused(table) == (
        "_delta_log: commit 0 is missing, and no complete checkpoint has it: version 1 cannot be"
        " read"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1: "),
        ("[1]", "line 1: expected an action"),
        ("\udcff", "line 1: "),
        ("[" * 100_000, "line 1: nested too deeply"),
        *(
            (text, f"an action that does not follow the protocol: {text}")
            for text in (
                '{"add": 5}',
                '{"add": {}}',
                '{"add": {"path": 7, "size": 7}}',
                '{"add": {"path": "x", "size": true}}',
                '{"add": {"path": "x", "size": 7, "deletionVector": {"storageType": "u"}}}',
                '{"add": {"path": "x", "size": 7, "partitionValues": {"day": 7}}}',
                '{"remove": {"path": [1]}}',
                '{"metaData": 7}',
                '{"metaData": {"schemaString": "7", "configuration": 7}}',
                '{"protocol": 7}',
                '{"protocol": {"writerFeatures": 7}}',
                '{"protocol": {"writerFeatures": [7]}}',
                '{"commitInfo": 7}',
            )
        ),
        *(
            (
                json.dumps({"metaData": {"schemaString": text}}),
                "its schema does not follow the protocol",
            )
            for text in ("{", "7", '{"fields": [{}]}', '{"fields": [{"name": 7, "type": "x"}]}')
        ),
    ],
)
def test_damaged_commits(table, text, said):
    commit_file(table, 2).write_bytes(text.encode(errors="surrogateescape"))
    before = files_in(table)
    result = outcome("build", table, "--table", "auto", "-c", "id", "--all-sizes")
    assert result.code == 2
    assert result.complaint.startswith(f"{table}: ")
    assert said in result.complaint
    assert files_in(table) == before


def test_damaged_checkpoint(table):
    Judge(table).create_checkpoint()
    (name,) = (table / "_delta_log").glob("*.checkpoint.parquet")
    name.write_bytes(b"PAR1 nothing PAR1")
    assert refused(table, pb.FormatError).startswith(
        f"_delta_log/{name.name}: a checkpoint that cannot be read: "
    )


def test_an_empty_log(table):
    for name in (table / "_delta_log").iterdir():
        name.unlink()
    assert refused(table, pb.FormatError) == "_delta_log: no commit and no checkpoint"


def test_no_protocol(table):
    rewrite_log(table, lambda action: {} if "protocol" in action else action)
    assert refused(table, pb.FormatError) == "_delta_log: neither protocol nor metadata"


# ------------------------------------------------------------------------------------------------
# What is no Delta table


def test_no_table(tmp_path):
    expected = (
        "neither _delta_log nor metadata/*.metadata.json in it, expected the folder of a table"
    )
    assert refused(tmp_path) == expected


def test_no_name_is_not_the_current_folder(table, monkeypatch):
    """As of a variable that is not set: nobody has named the table that is there."""
    before = Judge(str(table)).version()
    monkeypatch.chdir(table)
    for ask in (pb.build_table, pb.strip_table, pb.repair_table, pb.open_table):
        given = {"columns": "id"} if ask is pb.build_table else {}
        with pytest.raises(FileNotFoundError, match="an empty name, expected that of a table"):
            ask("", **given)
    assert Judge(str(table)).version() == before


def test_another_kind(tmp_path):
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "v1.metadata.json").touch()
    for change in (build, pb.strip_table):
        with pytest.raises(pb.RewriteError) as raised:
            change(tmp_path, kind="delta")
        assert str(raised.value) == (
            f"{tmp_path}: no _delta_log in it, expected the folder of a Delta table"
        )


@pytest.mark.parametrize(
    ("url", "scheme"), [("hdfs://host/x", "hdfs"), ("https://host/x", "https")]
)
def test_tables_that_are_nowhere_to_be_written(url, scheme):
    with pytest.raises(pb.UnsupportedError) as raised:
        build(url)
    assert str(raised.value) == (
        f"{url}: a folder behind {scheme}:// is not supported, expected a local folder, s3://, gs:// or"
        " az://"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "hudi"}, f"table: hudi, expected {', '.join(words(TableChoice))}"),
        ({"min_file_size": -1}, "min_file_size: -1, expected 0 or more"),
        ({"where": {"day": 5}}, "where: day: 5, expected text, as the table has it, or None"),
        ({"where": {"day": [5]}}, "where: day: [5], expected text, as the table has it, or None"),
        ({"columns": 5}, "columns: 5, expected a name or a list of names"),
        ({"storage_options": "x"}, "storage_options: a str, expected text by name"),
    ],
)
def test_wrong_arguments(table, options, message):
    with pytest.raises((TypeError, ValueError)) as raised:
        build(table, **options)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"version": True}, "version: True, expected a whole number"),
        ({"as_of": "2026-11-20"}, "as_of: '2026-11-20', expected a datetime"),
        ({"catalog": 3}, "catalog: 3, expected one name"),
        (
            {"catalog": "prod", "storage_options": "x"},
            "storage_options: a str, expected text by name",
        ),
    ],
)
def test_wrong_arguments_of_a_view(table, options, message):
    with pytest.raises(TypeError) as raised:
        open_table(table, **options)
    assert str(raised.value) == message


@pytest.mark.parametrize("place", [None, 3, b"lake", ["lake"]])
def test_what_is_no_place_of_a_table(place):
    with pytest.raises(TypeError) as raised:
        open_table(place)
    expected = "expected one path or URL, as str or os.PathLike"
    assert str(raised.value) == f"table: {place!r}, {expected}"


@pytest.mark.parametrize("change", [pb.build_table, pb.repair_table])
def test_no_column_is_not_those_that_the_properties_name(table, change):
    """A list that was made, and came out empty, is not a list that was not given."""
    configure(table, {"parquet.bloom.filter.enabled#n": "true"})
    with pytest.raises(ValueError, match=r"^columns: none, expected at least one$"):
        change(table, columns=[], min_file_size=0)


def test_metadata_of_the_last_commit_counts(table):
    assert json.loads(last_action(table, "metaData")["schemaString"])["type"] == "struct"
    configure(table, {"parquet.bloom.filter.enabled#n": "true"})
    configure(table, {"parquet.bloom.filter.enabled#n": "false"})
    with pytest.raises(pb.UnsupportedError, match="no column to build: its properties name none"):
        pb.build_table(table)
