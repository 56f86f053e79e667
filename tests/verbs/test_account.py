"""What became of every value that was looked for: found, absent by which proof, or unknown why."""

import errno
import json
import os
import random
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from make.delta_tables import delete_rows, make_table, rows_of, stored_vector, with_features

import parquet_bloom as pb
from parquet_bloom.errors import ValueTypeError
from parquet_bloom.verbs.account import SCHEMA


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    for number in range(4):
        ids = range(100 * number, 100 * number + 50)
        # The last two have no min/max statistics, by which alone the first one answers,
        # and the last no filters, either.
        pq.write_table(
            pa.table({"id": ids}), folder / f"{number}.parquet", row_group_size=20,
            write_statistics=number < 2,
        )  # fmt: skip
        if number < 3:
            pb.build(folder / f"{number}.parquet", in_place=True, columns=["id"], fpp=1e-9)
    return folder


def of_ids(account: pa.Table) -> pa.Table:
    """Without the files that were asked."""
    return account.filter(pc.not_equal(account["state"], "asked"))


def states(table: pa.Table) -> list[tuple[str | None, str]]:
    return list(zip(table["value"].to_pylist(), table["state"].to_pylist(), strict=True))


def test_found_and_absent(lake: Path) -> None:
    ids = [125, 60, 125]
    (lake / "3.parquet.bak").write_bytes(b"not asked")
    account = pb.find(lake, "id", ids).account(ids)
    assert account.schema == SCHEMA
    assert of_ids(account).to_pylist() == [
        dict.fromkeys(SCHEMA.names)
        | {
            "value": "125",
            "state": "found",
            "path": str(lake / "1.parquet"),
            "row_group": 1,
            "row_in_row_group": 5,
            "row": 25,
            "may_be_deleted": False,
            "deleted": False,
        },
        dict.fromkeys(SCHEMA.names)
        | {
            "value": "60",
            "state": "absent",
            "num_files": 4,
            "files_by_index": 0,
            "files_by_statistics": 1,
            "files_by_filters": 1,
            "files_read": 2,
            "row_groups_by_statistics": 5,
            "row_groups_by_filters": 3,
            "row_groups_read": 4,
            "files_left_out": 1,
            "files_without_column": 0,
        },
    ]


def test_the_proof_names_the_index(lake: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    pb.Index.build(index, lake, "id").close()
    pq.write_table(pa.table({"id": [9000]}), lake / "new.parquet")
    (absent,) = of_ids(pb.find(lake, "id", 60, index=index).account(60)).to_pylist()
    assert {name: absent[name] for name in SCHEMA.names[9:20]} == {
        "index": str(index),
        "generation": 1,
        "num_files": 5,
        "files_by_index": 4,
        "files_by_statistics": 1,
        "files_by_filters": 0,
        "files_read": 0,
        "row_groups_by_statistics": 1,
        "row_groups_by_filters": 0,
        "row_groups_read": 0,
        "files_left_out": 0,
    }


def asked(account: pa.Table) -> list[tuple[str, int, str | None, str]]:
    rows = account.filter(pc.equal(account["state"], "asked")).to_pylist()
    assert {row["value"] for row in rows} <= {None}
    return [
        (Path(row["path"]).name, row["size"], row["version"], row["answered_by"]) for row in rows
    ]


def states_of(paths: Iterable[Path]) -> list[tuple[str, int, str]]:
    found = [(path.name, path.stat()) for path in sorted(paths)]
    return [
        (name, each.st_size, f"{each.st_size}:{each.st_mtime_ns}:{each.st_ino}")
        for name, each in found
    ]


def test_each_file_that_was_asked_is_there_in_its_state(lake: Path) -> None:
    now = states_of(lake.iterdir())
    by = ["statistics", "values", "filters", "values"]
    expected = [(*each, how) for each, how in zip(now, by, strict=True)]
    report = pb.find(lake, "id", [125, 60])
    assert asked(report.account([125, 60])) == expected
    (lake / "2.parquet").write_bytes(b"no file")
    del expected[2]
    assert asked(pb.find(lake, "id", [125, 60]).account([125, 60])) == expected
    assert "asked" not in report.to_dict()


def test_what_an_index_ruled_out_is_there_if_it_was_named(lake: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    pb.Index.build(index, lake, "id").close()
    now = states_of(lake.iterdir())
    by = ["index", "values", "index", "index"]
    expected = [(*each, how) for each, how in zip(now, by, strict=True)]
    assert asked(pb.find(lake, "id", 125, index=index).account(125)) == expected
    assert asked(pb.find(None, "id", 125, index=index).account(125)) == expected[1:2]


def test_what_is_true_of_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_795_766_400.5)
    make_table(tmp_path / "events", commits=2)
    monkeypatch.chdir(tmp_path)
    report = pb.find("events", "id", ["x", "y", "x"], table="delta")
    account = report.account(["x", "y", "x"])
    assert of_ids(account)["state"].to_pylist() == ["absent", "absent"]
    assert json.loads(account.schema.metadata[b"parquet_bloom"]) == {
        "pbloom": pb.__version__,
        "time": "2026-11-27T08:00:00Z",
        "column": "id",
        "values": 2,
        "union_by_name": False,
        "made": None,
        "inputs": ["events"],
        "tables": [{"name": "events", "kind": "delta", "catalog": None, "version": 1}],
        "index": None,
        "generation": None,
        "num_files": report.num_files,
        "files_by_index": 0,
        "files_by_statistics": 2,
        "files_by_filters": 0,
        "files_read": 0,
        "row_groups_by_statistics": 6,
        "row_groups_by_filters": 0,
        "row_groups_read": 0,
        "files_left_out": 0,
        "files_without_column": 0,
        "left_out": [],
    }


def test_a_file_that_cannot_be_asked_leaves_no_value_absent(lake: Path) -> None:
    (lake / "bad.parquet").write_bytes(b"no file")
    report = pb.find(lake, "id", [125, 60])
    account = of_ids(report.account([125, 60]))
    assert states(account) == [("125", "found"), ("60", "unknown"), (None, "unknown")]
    assert account["reason"].to_pylist()[1] == "1 file could not be asked"
    assert account["path"].to_pylist()[2] == str(lake / "bad.parquet")
    assert account["num_files"].to_pylist() == [None] * 3
    counted = report.files_by_statistics, report.files_by_filters, report.files_read
    assert (report.num_files, report.files_by_index, counted) == (5, 0, (1, 1, 2))


def test_a_folder_that_cannot_be_listed_leaves_no_value_absent(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lake / "closed").mkdir()
    listed = os.scandir

    def scandir(path: str) -> object:
        if path == f"{lake}/closed":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    report = pb.find(lake, "id", 60)
    reason = "a folder that cannot be listed: Permission denied"
    assert report.unknown == (pb.UnknownFile(f"{lake}/closed", reason),)
    assert (report.num_files, report.is_absent) == (5, False)


def test_a_path_that_is_no_text(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.parquet")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "plain.parquet")
    (tmp_path / "plain.parquet").rename(path)
    account = pb.find([path], "id", 1).account(1)
    assert account["path"].to_pylist() == [f"{tmp_path}/\\udcff.parquet"] * 2


@pytest.mark.parametrize("places", [None, "file", "row-group", "page"])
def test_every_id_is_accounted_for(places: str | None, tmp_path: Path) -> None:
    """Many at once, and in random files: found where they are, and absent otherwise."""
    rng = random.Random(str(places))
    stored: dict[int, set[tuple[str, int]]] = {}
    folder = tmp_path / "lake"
    folder.mkdir()
    for number in range(6):
        ids = [rng.randrange(4000) for _ in range(1000)]
        path = folder / f"{number}.parquet"
        pq.write_table(
            pa.table({"id": ids}), path, row_group_size=400, write_page_index=number % 2 == 0,
            data_page_size=1, write_batch_size=50, use_dictionary=number > 3,
        )  # fmt: skip
        if number % 3:
            pb.build(path, in_place=True, columns=["id"])
        for row, each in enumerate(ids):
            stored.setdefault(each, set()).add((str(path), row))
    index = None
    if places is not None:
        index = tmp_path / "index"
        pb.Index.build(index, folder, "id", places=places).close()
    asked = rng.sample(range(5000), 700)
    account = of_ids(pb.find(folder, "id", asked, index=index).account(asked))
    found: dict[int, set[tuple[str, int]]] = {}
    for row in account.to_pylist():
        rows = found.setdefault(int(row["value"]), set())
        if row["state"] == "found":
            rows.add((row["path"], row["row"]))
        else:
            assert row["state"] == "absent"
    assert found == {each: stored.get(each, set()) for each in asked}


def test_rows_that_a_table_has_deleted_are_still_in_its_files(tmp_path: Path) -> None:
    table = make_table(tmp_path / "table", commits=2)
    ids = rows_of(0, 2)["id"]
    (path,) = [row.path for row in pb.find(table, "id", ids[0], table="delta").rows]
    with_features(table, reader=["deletionVectors"])
    delete_rows(table, Path(path).name, stored_vector(table, [0]))
    account = pb.find(table, "id", ids, table="delta", columns="n").account(ids)
    account = of_ids(account)
    assert account["state"].to_pylist() == ["found", "found"]
    assert account["may_be_deleted"].to_pylist() == [True, True]


def test_what_was_not_looked_for_is_not_accounted_for(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1, 2]}), path)
    for sought, value in (([1], 2), ([1], 1.0), (np.array([1, 3]), "1.0")):
        report = pb.find(path, "id", sought)
        with pytest.raises(
            ValueTypeError, match=f"^values: {value}: not looked for, expected what find was given$"
        ):
            report.account([1, value])
        assert report.account(sought)["state"][0].as_py() == "found"


def test_what_was_not_looked_for_is_not_even_unknown(tmp_path):
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    report = pb.find(tmp_path, "id", [1, 9])
    assert not report.absent
    assert states(report.account([1, 9]))[:2] == [("1", "found"), ("9", "unknown")]
    with pytest.raises(ValueTypeError, match=r"^values: 5: not looked for"):
        report.account([5])
