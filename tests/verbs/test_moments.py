"""A moment with or without a zone means the same to every verb, whatever it comes in: without a zone it is in UTC for
a column in UTC, and with one it is no value of a column of local time."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

import parquet_bloom as pb

FIRST: Final = datetime(2024, 1, 1)
# The row that is sought.
ROW: Final = 6
LOCAL: Final = FIRST + timedelta(hours=ROW)
IN_UTC: Final = LOCAL.replace(tzinfo=UTC)

WITHOUT_ZONE: Final[dict[str, Any]] = {
    "datetime": LOCAL,
    "datetimes": [LOCAL],
    "datetime64": np.datetime64(LOCAL, "us"),
    "datetime64[h]": np.datetime64(LOCAL, "h"),
    "numpy array": np.array([LOCAL], "M8[us]"),
    "many in a numpy array": np.full(400, np.datetime64(LOCAL, "us")),
    "pandas": pd.Timestamp(LOCAL),
    "Series of pandas": pd.Series([LOCAL]),
    "Series of polars": pl.Series([LOCAL]),
    "pyarrow": pa.scalar(LOCAL, pa.timestamp("us")),
    "array of pyarrow": pa.array([LOCAL], pa.timestamp("ms")),
}
WITH_ZONE: Final[dict[str, Any]] = {
    "datetime": IN_UTC,
    "datetime in another zone": IN_UTC.astimezone(timezone(timedelta(hours=2))),
    "many datetimes": [IN_UTC] * 400,
    "pandas": pd.Timestamp(IN_UTC),
    "Series of pandas": pd.Series([IN_UTC]).dt.tz_convert("Europe/Berlin"),
    "Series of polars": pl.Series([IN_UTC]),
    "pyarrow": pa.scalar(IN_UTC, pa.timestamp("us", "UTC")),
    "array of pyarrow": pa.array([IN_UTC], pa.timestamp("ms", "Europe/Berlin")),
}


def probed(path: str, value: Any) -> bool:
    return bool(pb.probe(path, "at", value).results[0].verdict == "maybe")


def probed_by_value(path: str, value: Any) -> bool:
    return pb.probe_values(path, "at", value).results[0].verdict == "maybe"


def checked(path: str, value: Any) -> bool:
    if not path.endswith(".parquet"):
        return probed(path, value)
    values = value if hasattr(value, "__len__") else [value]
    with pb.open(path) as file:
        filter = file.bloom_filter(row_group=0, column="at")
        assert filter is not None
        return bool(filter.check_many(values)[0])


def found(path: str, value: Any) -> bool:
    return {row.row for row in pb.find(path, "at", value).rows} == {ROW}


def found_by_index(path: str, value: Any) -> bool:
    place = f"{path}.index"
    if not Path(place).exists():
        pb.Index.build(place, path, "at").close()
    with pb.Index(place) as index:
        in_files = index.probe("at", value).results[0].verdict == "maybe"
    return in_files and {row.row for row in pb.find(None, "at", value, index=place).rows} == {ROW}


def read(path: str, value: Any) -> bool:
    return pb.rows(path, {"at": value}, ["row"])["row"].to_pylist() == [ROW]


def read_from(path: str, value: Any) -> bool:
    one = value[0] if hasattr(value, "__len__") else value
    table = pb.rows(path, [("at", ">=", one), ("at", "<=", one)], ["row"])
    return table["row"].to_pylist() == [ROW]


def left(path: str, value: Any) -> bool:
    return pb.row_groups(path, {"at": value})["row_group"].to_pylist()[:1] == [0]


def in_dataset(path: str, value: Any) -> bool:
    if path.endswith(".orc"):
        return left(path, value)  # As there are no datasets of it.
    return ROW in pb.dataset(path, {"at": value}).to_table()["row"].to_pylist()


ASKED: Final[list[Callable[[str, Any], bool]]] = [
    probed, probed_by_value, checked, found, found_by_index, read, read_from,
]  # fmt: skip
# What engines compare by themselves, in zones of their own: nothing is left out, and nothing refused.
LEFT: Final[list[Callable[[str, Any], bool]]] = [left, in_dataset]
VERBS: Final = [*ASKED, *LEFT]
FORMATS: Final = ("parquet", "orc")


@pytest.fixture(scope="module", params=FORMATS)
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file in UTC, and one of local time."""
    folder = tmp_path_factory.mktemp("moments")
    moments = [FIRST + timedelta(hours=hour) for hour in range(400)]
    for name, zone in (("utc", "UTC"), ("local", None)):
        table = pa.table({"at": pa.array(moments, pa.timestamp("us", zone)), "row": range(400)})
        source = folder / f"{name}-without.{request.param}"
        if request.param == "parquet":
            pq.write_table(table, source, row_group_size=100)
        else:
            po.write_table(table, source)
        pb.build(source, folder / name, columns="at")
        (folder / name).rename(folder / f"{name}.{request.param}")
        source.unlink()
    return folder


def path_in(files: Path, name: str) -> str:
    (path,) = files.glob(f"{name}.*[ct]")
    return str(path)


@pytest.mark.every(3)
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("given", WITHOUT_ZONE)
@pytest.mark.parametrize("column", ["utc", "local"])
def test_without_a_zone(
    files: Path, column: str, given: str, verb: Callable[[str, Any], bool]
) -> None:
    assert verb(path_in(files, column), WITHOUT_ZONE[given])


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("given", WITH_ZONE)
def test_with_a_zone(files: Path, given: str, verb: Callable[[str, Any], bool]) -> None:
    assert verb(path_in(files, "utc"), WITH_ZONE[given])


@pytest.mark.parametrize("verb", ASKED)
@pytest.mark.parametrize("given", WITH_ZONE)
def test_a_zone_where_there_is_none(
    files: Path, given: str, verb: Callable[[str, Any], bool]
) -> None:
    with pytest.raises(pb.ValueTypeError, match=r"expected (a local timestamp,|one) without"):
        verb(path_in(files, "local"), WITH_ZONE[given])


@pytest.mark.parametrize("verb", LEFT)
@pytest.mark.parametrize("given", WITH_ZONE)
def test_what_excludes_nothing(files: Path, given: str, verb: Callable[[str, Any], bool]) -> None:
    assert verb(path_in(files, "local"), WITH_ZONE[given])


@pytest.mark.parametrize("verb", [found, read])
def test_with_and_without_a_zone(files: Path, verb: Callable[[str, Any], bool]) -> None:
    for both in ([LOCAL, IN_UTC], [IN_UTC, LOCAL]):
        assert verb(path_in(files, "utc"), both)


def test_a_column_that_pyarrow_shows_in_a_zone(tmp_path: Path) -> None:
    moments = pa.array([LOCAL], pa.timestamp("us", "Europe/Berlin"))
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"at": moments, "row": [ROW]}), path)
    assert all(read(str(path), value) for value in [LOCAL, IN_UTC, moments])


@pytest.mark.parametrize("column", ["utc", "local"])
@pytest.mark.parametrize("given", WITHOUT_ZONE)
def test_rows_read_only_where_it_can_be(tmp_path: Path, column: str, given: str) -> None:
    moments = [FIRST + timedelta(hours=hour) for hour in range(400)]
    kind = pa.timestamp("us", "UTC" if column == "utc" else None)
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({"at": pa.array(moments, kind), "row": range(400)}), path, row_group_size=100
    )
    value = WITHOUT_ZONE[given]
    one = value[0] if hasattr(value, "__len__") else value
    for filters in ({"at": value}, [("at", "==", one)], [("at", "<=", one), ("at", ">=", one)]):
        found = pb.rows(path, filters, ["row"])
        read = json.loads(found.schema.metadata[b"parquet_bloom"])
        assert (found["row"].to_pylist(), read["row_groups_read"]) == ([ROW], 1)
    # Whoever reads these has zones of their own.
    groups = len(pb.row_groups(path, {"at": value}))
    assert groups == (4 if column == "utc" else 1)


@pytest.mark.parametrize("index", ["map", "slices"])
def test_rows_of_an_index_leave_files_closed(tmp_path: Path, index: Any) -> None:
    for number in range(3):
        moments = [FIRST + timedelta(days=number, hours=hour) for hour in range(24)]
        table = pa.table({"at": pa.array(moments, pa.timestamp("us", "UTC")), "row": range(24)})
        pq.write_table(table, tmp_path / "plain.parquet", write_statistics=False)
        pb.build(tmp_path / "plain.parquet", tmp_path / f"{number}.parquet", columns="at")
    (tmp_path / "plain.parquet").unlink()
    place = tmp_path / "at.index"
    pb.Index.build(place, tmp_path, "at", form=index).close()
    found = pb.rows(None, {"at": LOCAL}, ["row"], index=place)
    read = json.loads(found.schema.metadata[b"parquet_bloom"])
    assert (found["row"].to_pylist(), read["files_read"]) == ([ROW], 1)


def test_what_rows_say(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"at": pa.array([LOCAL], pa.timestamp("us"))}), path)
    with pytest.raises(pb.ValueTypeError) as raised:
        pb.rows(path, {"at": IN_UTC})
    assert str(raised.value) == (
        f"{path}: filters: column at: a timestamp with a zone, expected one without, as the column is timestamp[us]"
    )
