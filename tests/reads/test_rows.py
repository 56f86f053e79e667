"""`pb.rows`: the rows that pyarrow's filter leaves of the whole table, out of few pages."""

from __future__ import annotations

import json
import random
import uuid
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import IS_LONG
from make.awkward_files import TYPES, awkward_lake, conditions
from make.reading_engines import _OF_PYARROW
from make.s3_server import S3Server

import parquet_bloom as pb
from parquet_bloom.errors import ColumnError, ParquetBloomError, ValueTypeError
from parquet_bloom.parquet.footer.top_fields import TopField

COLUMNS = [name for name in TYPES if name not in ("n", "l")] + ["n.x", "n.y"]


def expression(condition: tuple[str, str, Any]) -> Any:
    column, operator, value = condition
    field = pc.field(*column.split("."))
    if operator in ("in", "not in"):
        return field.isin(value) if operator == "in" else ~field.isin(value)
    return _OF_PYARROW[operator](field, value)


def by_pyarrow(paths: list[str], any_of: list[list[tuple[str, str, Any]]]) -> list[pa.Table] | None:
    try:
        wanted = None
        for all_of in any_of:
            part = expression(all_of[0])
            for each in all_of[1:]:
                part &= expression(each)
            wanted = part if wanted is None else wanted | part
        return [pq.read_table(path).filter(wanted) for path in paths]
    except (pa.ArrowException, OverflowError, TypeError):
        return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4 if IS_LONG else 2))
def test_the_rows_are_those_of_pyarrow(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    paths = awkward_lake(chance, tmp_path)
    index = None
    if seed % 2:
        index = tmp_path / "lake.index"
        columns = chance.sample([name for name in COLUMNS if name != "bool"], 8)
        pb.Index.build(index, paths, columns).close()
    compared = some = 0
    for _ in range(40):
        any_of = [
            [conditions(chance, COLUMNS) for _ in range(chance.choice((1, 1, 2)))]
            for _ in range(chance.choice((1, 1, 2)))
        ]
        wanted = by_pyarrow(paths, any_of)
        names = chance.sample(list(TYPES), 4)
        for at, path in enumerate(paths):
            try:
                found = pb.rows(path, any_of, ["row", *names], index=index)
            except (ParquetBloomError, ValueError):
                assert wanted is None
                continue
            if wanted is not None:
                compared += 1
                some += found.num_rows > 0
                table = wanted[at].select(["row", *names])
                assert found.schema.equals(table.schema), any_of
                assert repr(found.to_pylist()) == repr(table.to_pylist()), any_of
    assert compared > 60
    assert some > 15


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    for number in range(3):
        rows = np.arange(10_000 * number, 10_000 * (number + 1))
        table = pa.table({"id": rows, "half": rows // 2, "text": rows.astype(str)})
        pq.write_table(
            table, folder / f"{number}.parquet", row_group_size=5000, write_page_index=True,
            data_page_size=1, write_batch_size=500, use_dictionary=False, compression="none",
        )  # fmt: skip
    return folder


def read(table: pa.Table) -> dict[str, int]:
    found: dict[str, int] = json.loads(table.schema.metadata[b"parquet_bloom"])
    return found


def test_only_pages_with_rows_are_read_of_other_columns(lake: Path) -> None:
    found = pb.rows(lake, {"id": [12_345, 27_000]}, columns=["text"])
    assert found["text"].to_pylist() == ["12345", "27000"]
    # Two row groups of ten pages of `id`, and a page for each row.
    about = read(found)
    assert (about["files_read"], about["row_groups_read"], about["pages_read"]) == (2, 2, 22)
    assert about["bytes_read"] < 3 * (40_000 + 6000 + 8000)


@pytest.mark.parametrize(
    "values",
    [
        np.array([7, 29_999]),
        pa.array([7, 29_999]),
        pa.chunked_array([[7], [29_999]]),
        pl.Series([7, 29_999]),
        {7, 29_999},
        (np.int32(each) for each in (7, 29_999)),
    ],
    ids=lambda values: type(values).__name__,
)
def test_values_of_any_kind(lake: Path, values: Any) -> None:
    assert pb.rows(lake, {"id": values})["id"].to_pylist() == [7, 29_999]


def test_without_columns_all_are_read(lake: Path) -> None:
    found = pb.rows(lake, [("half", "==", 3), ("id", "!=", 6)])
    assert found.to_pylist() == [{"id": 7, "half": 3, "text": "7"}]
    nothing = pb.rows(lake, {"id": -1})
    assert nothing.num_rows == 0
    assert nothing.schema.equals(pq.read_schema(lake / "0.parquet"))
    assert [batch.num_rows for batch in found.to_batches()] == [1]


def test_files_that_lack_a_column(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"id": [1, 2], "more": [5, 6]}), tmp_path / "1.parquet")
    found = pb.rows(tmp_path, {"id": 1}, columns=["id", "more"])
    assert found["more"].to_pylist() == [None, 5]
    assert pb.rows(tmp_path, {"more": 5})["id"].to_pylist() == [1]
    assert pb.rows(tmp_path, [[("more", "in", [5])], [("id", "<", 2)]])["id"].to_pylist() == [1, 1]
    with pytest.raises(ColumnError, match="no column moer; did you mean more"):
        pb.rows(tmp_path, {"id": 1}, columns=["moer"])


def test_files_that_lack_a_field_of_a_struct(tmp_path: Path) -> None:
    """As one that lacks a column: there is null."""
    more = [{"x": 1, "y": {"z": 5}}, {"x": 2, "y": None}]
    pq.write_table(pa.table({"id": [1], "s": [{"x": 1}]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"id": [2, 3], "s": more}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"id": [4]}), tmp_path / "2.parquet")
    for filters, expected in (
        ([("s.y.z", "==", 5)], [2]),
        ([("s.y.z", "in", [5, 6]), ("s.x", "==", 1)], [2]),
        ([[("s.y.z", "==", 5)], [("s.x", "<", 2)]], [1, 2]),
        ([("s.y.z", "!=", 6)], [2]),
        # As pyarrow says of null.
        ([("s.y.z", "not in", [5])], [1, 3, 4]),
    ):
        assert pb.rows(tmp_path, filters, columns=["id"])["id"].to_pylist() == expected
    with pytest.raises(ColumnError, match=r"0\.parquet: no column s\.z; did you mean s\.x"):
        pb.rows(tmp_path, {"s.z": 5})
    pq.write_table(pa.table({"id": [5], "s": ["text"]}), tmp_path / "3.parquet")
    with pytest.raises(ValueTypeError, match=r"3\.parquet: filters: column s\.y\.z: string has no"):
        pb.rows(tmp_path, {"s.y.z": 5}, columns=["id"])


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "0.parquet"
    pq.write_table(pa.table({"id": [1]}), path)
    with pytest.raises(ValueTypeError, match="filters: "):
        pb.rows(path, [("id", "!=", "text")])
    with pytest.raises(ValueError, match="'is', expected one of"):
        pb.rows(path, [("id", "is", None)])


def test_columns_are_named_once_for_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not once for each: of 20,000 columns, that took minutes."""
    path, width = tmp_path / "wide.parquet", 300
    pq.write_table(pa.table({f"c{number}": [number] for number in range(width)}), path)
    calls, called = [], TopField.called
    monkeypatch.setattr(
        TopField, "called", lambda field, leaves: calls.append(field) or called(field, leaves)
    )
    assert pb.rows(path, {"c7": 7}).num_columns == width
    assert len(calls) < 20 * width


def test_a_file_in_a_store_is_opened_once(s3: S3Server, tmp_path: Path) -> None:
    table = pa.table({name: np.arange(1 << 19) * 7 for name in ("id", "a", "b")})
    plain, path = tmp_path / "plain", tmp_path / "a.parquet"
    pq.write_table(
        table, plain, write_page_index=True, use_dictionary=False, data_page_size=1 << 15,
        compression="none", row_group_size=1 << 18,
    )  # fmt: skip
    pb.build(plain, path, columns=["id"])
    s3.put("lake/a.parquet", path.read_bytes())
    options: dict[str, Any] = {"storage_options": s3.options}
    found = pb.rows("s3://lake/a.parquet", {"id": 7 * 300_000}, ["a", "b"], **options)
    assert found.to_pylist() == [{"a": 7 * 300_000, "b": 7 * 300_000}]
    # The footer; the filters that statistics leave; page indexes; `id`; at once a page of `a` and of `b`.
    assert s3.kinds() == ["GET"] * 6
    s3.forget()
    assert pb.rows("s3://lake/a.parquet", {"id": 5}, ["a", "b"], **options).num_rows == 0
    assert s3.kinds() == ["GET"] * 2
    s3.forget()
    report = pb.find("s3://lake/a.parquet", "id", 7 * 300_000, columns=["a", "b"], **options)
    assert report.values.equals(found)
    assert s3.kinds() == ["GET"] * 6
    with pytest.raises(FileNotFoundError, match=r"lake/none\.parquet"):
        pb.rows("s3://lake/none.parquet", {"id": 5}, **options)


@pytest.mark.parametrize(
    ("condition", "held"),
    [
        (("id", "==", 5.0), [5]),
        (("id", "!=", 5.0), [7, 2**53 + 1]),
        (("id", ">", 7.0), [2**53 + 1]),
        (("id", "in", [5.0, 7.0]), [5, 7]),
    ],
)
def test_integers_given_as_floats(tmp_path: Path, condition: Any, held: list[int]) -> None:
    """Beside one that no float is, of which pyarrow would make a float, and fail."""
    pq.write_table(pa.table({"id": [5, 7, 2**53 + 1]}), tmp_path / "a.parquet")
    assert pb.rows(tmp_path / "a.parquet", [condition])["id"].to_pylist() == held


@pytest.mark.parametrize("filters", [{"n": 2.5}, {"n": [2.5]}, [("n", "<", 2.5)]])
def test_fractions_beside_large_integers_are_refused(tmp_path: Path, filters: Any) -> None:
    """pyarrow makes numbers of 64 bits of the column, which have 53 for the digits."""
    pq.write_table(pa.table({"n": [(1 << 53) + 1, 2]}), tmp_path / "n.parquet")
    expected = (
        "a fraction cannot be compared with integers of more than 53 bits: expected an integer"
    )
    with pytest.raises(pb.ValueTypeError, match=f"n.parquet: filters: {expected}$"):
        pb.rows(tmp_path / "n.parquet", filters)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_moments_of_pandas_keep_their_nanoseconds(tmp_path: Path, zone: str | None) -> None:
    pd = pytest.importorskip("pandas")
    held = pa.array([1_000_000_001, 1_000_000_000], pa.timestamp("ns", zone))
    pq.write_table(pa.table({"at": held}), tmp_path / "a.parquet")
    pb.build(tmp_path / "a.parquet", columns="at", in_place=True)
    moment = pd.Timestamp(1_000_000_001, tz=zone and "America/New_York")
    for wanted in (moment, [moment], (moment, None), {moment}):
        assert pb.rows(tmp_path / "a.parquet", {"at": wanted})["at"].to_pylist() == [
            held[0].as_py()
        ]


@pytest.mark.parametrize("value", ["abc", b"abc", uuid.UUID(int=5)])
def test_objects_of_polars_are_what_they_are(tmp_path: Path, value: Any) -> None:
    """Their array in Arrow has addresses."""
    path = tmp_path / "a.parquet"
    kind = pa.uuid() if isinstance(value, uuid.UUID) else None
    stored = value.bytes if isinstance(value, uuid.UUID) else value
    pq.write_table(pa.table({"id": pa.array([stored], kind)}), path)
    pb.build(path, columns="id", in_place=True)
    asked = pl.Series([value], dtype=pl.Object)
    assert [row.row for row in pb.find(path, "id", asked).rows] == [0]
    assert [each.verdict for each in pb.probe(path, "id", asked).results] == ["maybe"]
    assert pb.probe_values(path, "id", asked).absent == 0
    with pb.open(path) as file:
        assert file.bloom_filter(0, "id").check_many(asked).tolist() == [True]
    assert pb.rows(path, {"id": asked}).num_rows == 1


@pytest.mark.parametrize(
    ("filters", "held"),
    [
        ({"h": 5}, [5]),
        ({"h": 2**63 + 1}, [2**63 + 1]),
        ({"h": [2**63 + 1, 5, 6]}, [2**63 + 1, 5]),
        ({"h": [5, -1, None]}, [5]),
        ([("h", "not in", [5, -1])], [2**63 + 1]),
        ([("h", ">", 5)], [2**63 + 1]),
        ([("h", "!=", 2**63 + 1)], [5]),
        ({"h": np.array([2**63 + 1], np.uint64)}, [2**63 + 1]),
    ],
)
def test_integers_without_signs(tmp_path: Path, filters: Any, held: list[int]) -> None:
    """As hashes are."""
    pq.write_table(pa.table({"h": pa.array([2**63 + 1, 5], pa.uint64())}), tmp_path / "h.parquet")
    assert pb.rows(tmp_path / "h.parquet", filters)["h"].to_pylist() == held


def test_uuids_and_categories(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    one, other = uuid.UUID(int=5), uuid.UUID(int=7)
    ids = pa.array([one.bytes, other.bytes, None], pa.uuid())
    pq.write_table(pa.table({"id": ids, "name": ["a", "b", "c"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"name": ["d"]}), tmp_path / "b.parquet")
    for filters in (
        {"id": one},
        {"id": [one, uuid.UUID(int=9)]},
        {"id": [one.bytes]},
        {"id": pa.array([one.bytes], pa.uuid())},
        {"id": pl.Series([one], dtype=pl.Object)},
        [("id", "==", one)],
        {"name": pd.Series(["a", "z"], dtype="category")},
        {"name": pl.Series(["a", "z"], dtype=pl.Categorical)},
        {"name": pa.array(["a", "z"]).dictionary_encode()},
    ):
        assert pb.rows(tmp_path, filters)["name"].to_pylist() == ["a"], filters


@pytest.mark.parametrize(
    ("column", "wanted", "held"),
    [
        ("h", 5, [5]),
        ("h", 2**63 + 1, [2**63 + 1]),
        ("h", [2**63 + 1, 5], [2**63 + 1, 5]),
        ("h", np.uint64(2**63 + 1), [2**63 + 1]),
        ("h", 5.0, [5]),
        ("h", float(2**63), []),
        ("h", -1, []),
        ("h", [-1, 2**70, 5], [5]),
        ("h", [("h", ">=", 2**63)], [2**63 + 1]),
        ("h", [("h", ">", -1)], [2**63 + 1, 5]),
        ("h", [("h", "<", 2**64)], [2**63 + 1, 5]),
        ("h", pa.scalar(5), [5]),
        ("h", pa.array([5, -1]), [5]),
        ("i", [("i", "<", 2**80)], [1, 7]),
        ("i", [2**32 + 1, 7], [7]),
        ("i", [("i", "not in", [2**63, 7])], [1]),
    ],
)
def test_integers_are_of_the_type_of_the_column(
    tmp_path: Path, column: str, wanted: Any, held: list[int]
) -> None:
    """pyarrow takes an integer for one of 64 bits with a sign, and what is beside it for floats."""
    hashes = pa.array([2**63 + 1, 5], pa.uint64())
    pq.write_table(pa.table({"h": hashes, "i": pa.array([1, 7], pa.int32())}), tmp_path / "a")
    filters = wanted if type(wanted) is list and type(wanted[0]) is tuple else {column: wanted}
    assert pb.rows(tmp_path / "a", filters)[column].to_pylist() == held


@pytest.mark.parametrize("of_type", ["Timestamp", "datetime64", "both", "with datetime"])
def test_nanoseconds_among_others(tmp_path: Path, of_type: str) -> None:
    pd = pytest.importorskip("pandas")
    path, exact = tmp_path / "a", [1_000_000_001, 2_000_000_000]
    pq.write_table(pa.table({"at": pa.array(exact, pa.timestamp("ns"))}), path)
    of_numpy, of_pandas = np.datetime64(exact[0], "ns"), pd.Timestamp(exact[0])
    values = {
        "Timestamp": of_pandas,
        "datetime64": of_numpy,
        "both": [of_pandas, np.datetime64("2024-01"), np.datetime64(5, "h"), of_numpy],
        "with datetime": [datetime(1970, 1, 1), of_pandas],
    }[of_type]
    found = pb.rows(path, {"at": values})["at"]
    assert found.cast(pa.int64()).to_pylist() == exact[:1]


@pytest.mark.parametrize("unit", ["D", "M", "Y", "W", "h", "m", "s"])
def test_moments_of_numpy_of_any_unit(tmp_path: Path, unit: str) -> None:
    moment = np.datetime64("1970-01-01", unit)
    day = date(1970, 1, 1)
    pq.write_table(pa.table({"day": [day, date(2024, 1, 1)]}), tmp_path / "a")
    for wanted in (moment, [moment], np.array([moment])):
        assert pb.rows(tmp_path / "a", {"day": wanted})["day"].to_pylist() == [day]


def test_a_moment_that_pyarrow_lacks(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": pa.array([1], pa.timestamp("ns"))}), tmp_path / "a")
    with pytest.raises(
        ValueTypeError, match=r"^filters: column at: Unsupported datetime64 time unit$"
    ):
        pb.rows(tmp_path / "a", {"at": np.datetime64(1, "ps")})


SOME = uuid.UUID(int=5)


def kind_of(value: object) -> str | None:
    """No address, which every process has another of."""
    return None if isinstance(value, str) else type(value).__name__


@pytest.mark.parametrize(
    "wanted",
    [
        SOME,
        [SOME],
        str(SOME),
        [str(SOME)],
        pl.Series([str(SOME)]),
        SOME.bytes,
        [SOME.bytes],
        pa.scalar(SOME.bytes, pa.uuid()),
        pa.array([SOME.bytes], pa.uuid()),
        pl.Series([SOME], dtype=pl.Object),
        [("id", ">=", SOME)],
        [("id", "not in", [uuid.UUID(int=4)])],
    ],
    ids=kind_of,
)
def test_uuids_in_every_form(tmp_path: Path, wanted: Any) -> None:
    kinds = {"uuid": pa.uuid(), "nested": pa.struct({"id": pa.uuid()})}
    ids = pa.array([uuid.UUID(int=4).bytes, SOME.bytes], pa.uuid())
    nested = pa.StructArray.from_arrays([ids], fields=[*kinds["nested"]])
    pq.write_table(pa.table({"id": ids, "n": nested}), tmp_path / "a")
    is_list = isinstance(wanted, list) and isinstance(wanted[0], tuple)
    assert pb.rows(tmp_path / "a", wanted if is_list else {"id": wanted})["id"].to_pylist() == [
        SOME
    ]
    if not is_list:
        assert pb.rows(tmp_path / "a", {"n.id": wanted})["id"].to_pylist() == [SOME]


def test_text_that_is_no_uuid(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": pa.array([SOME.bytes], pa.uuid())}), path)
    for wanted in ("abc", ["abc"]):
        expected = "a.parquet: filters: 'abc' is no UUID, expected one as the column is$"
        with pytest.raises(ValueTypeError, match=expected):
            pb.rows(path, {"id": wanted})


def test_categories_are_their_values(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pq.write_table(pa.table({"k": ["abc", "d"]}), tmp_path / "a")
    of_arrow = pa.array(["abc"]).dictionary_encode()
    for wanted in (
        pd.Series(["abc"], dtype="category"),
        pd.Categorical(["abc"]),
        pl.Series(["abc"], dtype=pl.Categorical),
        of_arrow,
        pa.chunked_array([of_arrow]),
        of_arrow[0],
    ):
        assert pb.rows(tmp_path / "a", {"k": wanted})["k"].to_pylist() == ["abc"]


def test_fields_of_structs_and_of_nothing_else(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "s": [{"x": 5}]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"id": [2]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"id": [3], "l": [[1, 2]]}), tmp_path / "2.parquet")
    either = [[("s.x", "==", 5)], [("id", "==", 2)]]
    assert pb.rows(tmp_path, either)["id"].to_pylist() == [1, 2]
    expected = (
        r"2\.parquet: filters: column l\.list\.element: list<element: int64> has no field list, "
        r"expected a whole column or a field of structs$"
    )
    with pytest.raises(ValueTypeError, match=expected):
        pb.rows(tmp_path / "2.parquet", {"l.list.element": 1})
