"""What is left to read, as a table."""

from __future__ import annotations

import os
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.encrypted_files import OWN, encrypted, keys_of
from make.encrypting import Recipe
from pyarrow import orc

import parquet_bloom as pb

SCHEMA = pa.schema({"path": pa.string(), "row_group": pa.int32(), "rows": pa.int64()})


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Three files of four row groups of 100 rows: ids 0, 7, 14, … shuffled, in the order of `t`."""
    ids = np.random.default_rng(1).permutation(1200) * 7
    folder = tmp_path / "lake"
    folder.mkdir()
    for number in range(3):
        part = slice(400 * number, 400 * (number + 1))
        table = pa.table({"id": ids[part], "t": np.arange(1200)[part]})
        path = folder / f"{number}.parquet"
        pq.write_table(table, path, row_group_size=100)
        pb.build(path, columns="id", in_place=True, fpp=0.0001)
    return folder


def left(lake: Path, filters: object, **options: object) -> list[tuple[str, int]]:
    table = pb.row_groups(lake, filters, **options)
    assert table.schema == SCHEMA
    names = [Path(path).stem for path in table["path"].to_pylist()]
    return list(zip(names, table["row_group"].to_pylist(), strict=True))


def place_of(lake: Path, value: int) -> tuple[str, int]:
    for path in sorted(lake.glob("*.parquet")):
        ids = pq.read_table(path)["id"].to_pylist()
        if value in ids:
            return path.stem, ids.index(value) // 100
    raise AssertionError(value)


def test_filters_leave_the_row_group_of_a_value(lake: Path) -> None:
    assert left(lake, {"id": 7}) == [place_of(lake, 7)]
    assert left(lake, {"id": 8}) == []
    assert left(lake, {"id": [7, 70]}) == sorted({place_of(lake, 7), place_of(lake, 70)})


def test_many_values_are_asked_at_once(lake: Path) -> None:
    wanted = np.array([7, *range(1, 4000, 7)])
    assert left(lake, {"id": wanted}) == [place_of(lake, 7)]


def test_statistics_leave_a_range(lake: Path) -> None:
    assert left(lake, {"t": 512}) == [("1", 1)]
    assert left(lake, [("t", "<", 100)]) == [("0", 0)]
    assert left(lake, [("t", "<=", 100)]) == [("0", 0), ("0", 1)]
    assert left(lake, [("t", ">", 1098)]) == [("2", 2), ("2", 3)]
    assert left(lake, [("t", ">=", 1099), ("t", "<", 1100)]) == [("2", 2)]
    assert left(lake, [[("t", "==", 3)], [("t", "==", 1003)]]) == [("0", 0), ("2", 2)]


def test_both_must_hold(lake: Path) -> None:
    name, group = place_of(lake, 7)
    start = 400 * int(name) + 100 * group
    assert left(lake, {"id": 7, "t": range(start, start + 100)}) == [(name, group)]
    assert left(lake, {"id": 7, "t": (start + 100) % 1200}) == []


def test_what_cannot_be_decided_excludes_nothing(lake: Path) -> None:
    everything = [(str(file), group) for file in range(3) for group in range(4)]
    for filters in ({"id": 7.0}, {"id": None}, {}, [("t", "!=", 3)], {"id": 2**70}):
        assert left(lake, filters) == everything
    assert pb.row_groups(lake, {})["rows"].to_pylist() == [100] * 12


def test_text_for_numbers_is_a_mistake_and_so_are_numbers_for_text(
    lake: Path, tmp_path: Path
) -> None:
    """Only if no file has a column of the other kind."""
    for filters in (
        {"id": "7"},
        {"id": ["7", "8"]},
        [("id", ">", "7")],
        [[("t", "==", 1)], [("id", "==", "7")]],
    ):
        for read in (pb.row_groups, pb.rows, pb.dataset):
            with pytest.raises(pb.ValueTypeError) as told:
                read(lake, filters)
            assert str(told.value) == (
                f"{lake}/0.parquet: filters: column id: '7' is text, expected a value of INT64"
            )
    moments = tmp_path / "moments.parquet"
    pq.write_table(pa.table({"day": [date(2026, 1, 2)], "at": [datetime(2026, 1, 2)]}), moments)
    for column, kind, of_python in (
        ("day", "DATE", "datetime.date"),
        ("at", "TIMESTAMP(MICROS,false)", "datetime.datetime"),
    ):
        expected = f"'2026-01-02' is text, expected a value of {kind}, such as {of_python}"
        with pytest.raises(pb.ValueTypeError, match=f": filters: column {column}: ") as told:
            pb.rows(moments, {column: "2026-01-02"})
        assert str(told.value).endswith(f": {expected}")
    names = tmp_path / "names"
    names.mkdir()
    for at in range(40):
        pq.write_table(pa.table({"id": ["7", "8"]}), names / f"{at:02}.parquet")
    with pytest.raises(pb.ValueTypeError, match="column id: 7 is a number, expected text, as the"):
        pb.row_groups(names, {"id": 7})
    pq.write_table(pa.table({"id": [7, 8]}), names / "39.parquet")
    for filters in ({"id": 7}, {"id": "7"}):
        assert pb.row_groups(names, filters).num_rows == 40


def test_an_index_opens_no_file_that_it_excludes(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, group = place_of(lake, 7)
    index = tmp_path / "ids.index"
    pb.Index.build(index, lake, "id")
    for path in lake.glob("*.parquet"):
        if path.stem != name:
            moment = path.stat()
            path.write_bytes(bytes(moment.st_size))
            os.utime(path, ns=(moment.st_atime_ns, moment.st_mtime_ns))
    assert left(lake, {"id": 7}, index=index) == [(name, group)]
    table = pb.row_groups(None, {"id": 7}, index=index)
    assert table["path"].to_pylist() == [str(lake / f"{name}.parquet")]
    # Who names a folder from where he is finds the files by such names.
    monkeypatch.chdir(lake.parent)
    of_user = pb.read_plan(lake.name, {"id": 7}, index=index)
    assert of_user.files_by_index == 2
    assert [each.path for each in of_user.left] == [f"{lake.name}/{name}.parquet"]


def test_an_index_is_not_believed_about_another_state(lake: Path, tmp_path: Path) -> None:
    index = tmp_path / "ids.index"
    pb.Index.build(index, lake, "id")
    pq.write_table(pa.table({"id": [8], "t": [0]}), lake / "1.parquet")
    pq.write_table(pa.table({"id": [8], "t": [0]}), lake / "3.parquet")
    assert left(lake, {"id": 8}, index=index) == [("1", 0), ("3", 0)]
    assert pb.row_groups(None, {"id": 8}, index=index)["path"].to_pylist() == [
        str(lake / "1.parquet")
    ]


def test_a_column_that_no_file_has_is_an_error(lake: Path) -> None:
    with pytest.raises(pb.ColumnError) as caught:
        pb.row_groups(lake, {"idd": 7})
    assert str(caught.value) == f"{lake}/0.parquet: no column idd; did you mean id?"


def test_a_column_that_some_files_have_is_null_in_the_others(lake: Path) -> None:
    pq.write_table(pa.table({"other": [1]}), lake / "9.parquet")
    assert left(lake, {"other": 1, "t": 3}) == [("0", 0), ("9", 0)]


def test_partitions_are_none_of_the_columns_of_files(tmp_path: Path) -> None:
    path = tmp_path / "id=5" / "a.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"id": [1], "t": [2]}), path)
    assert pb.row_groups(tmp_path, {"id": 5})["rows"].to_pylist() == [1]
    assert pb.row_groups(tmp_path, {"id": 5, "t": 3}).num_rows == 0


def test_a_file_that_cannot_be_read_is_an_error(lake: Path) -> None:
    (lake / "2.parquet").write_bytes(b"PAR1, but not for long")
    with pytest.raises(pb.FormatError, match=r"^\S+/lake/2.parquet: truncated or not a Parquet"):
        pb.row_groups(lake, {"id": 7})
    with pytest.raises(FileNotFoundError):
        pb.row_groups(lake / "none.parquet", {"id": 7})
    with pytest.raises(TypeError, match=r"^files: None, expected files or an index$"):
        pb.row_groups(None, {"id": 7})


def test_few_files_are_asked_where_little_is_excluded(tmp_path: Path) -> None:
    for number in range(64):
        pq.write_table(pa.table({"id": [number, 999]}), tmp_path / f"{number:02}.parquet")
    assert pb.row_groups(tmp_path, {"id": 999}).num_rows == 64
    # Only some of the last files can have it.
    assert pb.row_groups(tmp_path, [("id", "<", 2)]).num_rows == 2


def test_orc_files_are_asked_about_integers_and_text(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    table = pa.table({"id": [1, 2, 3], "s": ["x", "y", "z"], "f": [1.0, 2.0, 3.0]})
    orc.write_table(table, path)
    pb.build(path, columns=["id", "s", "f"], in_place=True, fpp=0.0001)
    assert pb.row_groups(path, {"id": 2, "s": "y"})["rows"].to_pylist() == [3]
    assert pb.row_groups(path, {"id": 2, "s": "a"}).num_rows == 0
    assert pb.row_groups(path, {"f": 2.5}).num_rows == 1
    assert pb.row_groups(path, {"f": 5.0}).num_rows == 0


@pytest.mark.parametrize("kind", ["int32", "uint32", "int64", "uint64"])
def test_many_integers_are_asked_by_bounds(tmp_path: Path, kind: str) -> None:
    """Those with the highest bit are the greatest, or the least."""
    top = np.iinfo(kind).max
    groups = [[top - 1000, top], [5, 900], [1000, 1100], [top // 2 - 9, top // 2]]
    path = tmp_path / "a.parquet"
    stored = np.array([each for group in groups for each in group], kind)
    pq.write_table(pa.table({"id": stored}), path, row_group_size=2)
    for asked, wanted in (
        ([*range(901, 1000), *range(1101, 1400)], []),
        ([*range(1100, 1400)], [2]),
        ([*range(300), top], [0, 1]),
    ):
        left = pb.row_groups(path, {"id": np.array(asked, kind)})
        assert left["row_group"].to_pylist() == wanted


KINDS = {
    "int": np.arange(-2000, 2000) * 3,
    "float": np.arange(-2000, 2000) * -0.5,
    "text": np.char.zfill(np.arange(4000).astype(str), 5),
}


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize(
    ("kind", "suffix"),
    [
        *((kind, suffix) for kind in KINDS for suffix in ("parquet", "encrypted")),
        ("int", "orc"),
        ("text", "orc"),
    ],
)
def test_a_filter_is_asked_about_the_values_within_bounds(
    tmp_path: Path, kind: str, suffix: str, few: bool
) -> None:
    """What it has by chance besides leaves no row group: so many values leave what each of them alone leaves."""
    path, values = tmp_path / f"plain.{suffix}", KINDS[kind]
    table = pa.table({"c": values[::2]})
    options: dict[str, Any] = {}
    if suffix == "orc":
        orc.write_table(table, path, row_index_stride=1000, stripe_size=1 << 14, batch_size=100)
    else:
        pq.write_table(table, path, row_group_size=100)
    if suffix == "encrypted":
        recipe = Recipe(columns={"c": OWN})
        path, options = encrypted(tmp_path, recipe, path), {"keys": keys_of(recipe)}
    pb.build(path, in_place=True, columns=["c"], fpp=0.2 if few else 0.005, **options)
    # Few are within the bounds of each; but for one zero, none is there.
    asked = [*values[1 :: 500 if few else 10], *[0.0] * (kind == "float")]
    alone = {found for each in asked for found in left(path, {"c": [each]}, **options)}
    assert left(path, {"c": asked}, **options) == sorted(alone)
    assert len(alone) < 15
