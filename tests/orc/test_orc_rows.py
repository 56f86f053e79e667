"""Rows of ORC files: those that pyarrow reads and filters, and none that it does not."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime
from decimal import Decimal
from operator import attrgetter
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pyorc
import pytest
from make.orc_defect_files import edited
from make.orc_files import LEAVES, all_types
from make.s3_server import S3Server
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.orc.reader import OrcReader

ROWS = 3000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three stripes of four index groups, with filters for some columns."""
    folder = tmp_path_factory.mktemp("rows")
    orc.write_table(
        all_types(ROWS), folder / "p.orc", stripe_size=1, batch_size=1000,
        row_index_stride=300, compression="uncompressed", dictionary_key_size_threshold=0.8,
    )  # fmt: skip
    pb.build(folder / "p.orc", folder / "a.orc", columns=["long", "string", "decimal9"])
    with pb.open(folder / "a.orc") as file:
        assert file.num_parts == 3
    return folder / "a.orc"


@pytest.fixture(scope="module")
def table(path: Path) -> pa.Table:
    return orc.read_table(path)


def values_in(row: dict[str, Any], leaf: str) -> list[Any]:
    """Of a leaf column, in one row."""
    found: list[Any] = [row]
    for name in leaf.split("."):
        match name:
            case "_elem":
                found = [each for values in found for each in values]
            case "_key":
                found = [key for values in found for key, _ in values]
            case "_value":
                found = [value for values in found for _, value in values]
            case _:
                found = [values[name] for values in found]
        found = [each for each in found if each is not None]
    return found


@pytest.mark.parametrize("places", [None, "row-group", "page"])
def test_rows_that_hold_values_of_any_type_are_found(
    path: Path, table: pa.Table, tmp_path: Path, places: Any
) -> None:
    index = tmp_path / "index" if places else None
    if index is not None:
        pb.Index.build(index, path, list(LEAVES), places=places).close()
    rows = table.to_pylist()
    for leaf in LEAVES:
        chance = random.Random(leaf)
        of_rows = [values_in(row, leaf) for row in rows]
        asked = list(dict.fromkeys(chance.choice([e for e in of_rows if e])[0] for _ in range(3)))
        report = pb.find(path, leaf, asked, columns=["struct", "short"], index=index)
        expected = [number for number, each in enumerate(of_rows) if {*each} & {*asked}]
        assert [row.row for row in report.rows] == expected, leaf
        assert report.unknown == ()
        assert report.values.equals(table.select(["struct", "short"]).take(expected)), leaf


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_those_that_pyarrow_leaves(path: Path, table: pa.Table, seed: int) -> None:
    chance = random.Random(seed)
    some = 0
    for _ in range(12):
        name = chance.choice(["byte", "long", "double", "string", "date", "timestamp", "decimal9"])
        values = [chance.choice(table[name]) for _ in range(chance.choice((1, 3, 40)))]
        values = [each for each in values if each.is_valid] or [pc.max(table[name])]
        operator = chance.choice(("==", "in", "<", ">=", "!="))
        if operator == "in":
            condition: Any = (name, "in", pa.array(values, table.schema.field(name).type))
            wanted = pc.field(name).isin(condition[2])
        else:
            condition = (name, operator, values[0].as_py())
            field, value = pc.field(name), values[0]
            wanted = {
                "==": field == value,
                "<": field < value,
                ">=": field >= value,
                "!=": field != value,
            }[operator]
        columns = chance.sample(table.column_names, 4)
        found = pb.rows(path, [condition], columns)
        expected = table.filter(wanted).select(columns)
        assert found.schema.equals(expected.schema)
        assert repr(found.to_pylist()) == repr(expected.to_pylist()), condition
        some += 0 < found.num_rows < ROWS
    assert some > 6


SCHEMA = (
    "struct<char:char(6),varchar:varchar(6),time:timestamp,instant:timestamp with local time zone,"
    "yes:boolean,list:array<struct<a:int,b:string>>,map:map<string,array<double>>,none:struct<x:int>>"
)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_every_type_of_another_writer(tmp_path: Path, zone: str) -> None:
    """Of ORC C++, with CHAR, nested nulls, and clocks of other zones, with gaps and before 1970."""
    chance = random.Random(zone)

    def moment() -> datetime:
        second = chance.randrange(-2_000_000_000, 4_000_000_000)
        return datetime.fromtimestamp(second, UTC).replace(microsecond=chance.randrange(1000))

    def row(number: int) -> tuple[Any, ...]:
        found = [
            f"c{number % 7}", f"ü{number % 5}", moment(), moment(), number % 2 == 0,
            [None if each == 2 else (number, None if each else "b") for each in range(number % 4)],
            {f"k{number}": [None, 0.5 * number][: number % 3], "e": None}, (number,),
        ]  # fmt: skip
        return tuple(None if chance.random() < 0.2 else each for each in found)

    path = tmp_path / "a.orc"
    with path.open("wb") as file:
        writer = pyorc.Writer(
            file, SCHEMA, struct_repr=pyorc.StructRepr.TUPLE, row_index_stride=100,
            timezone=ZoneInfo(zone),
        )  # fmt: skip
        writer.writerows(row(number) for number in range(450))
        writer.close()
    table = orc.read_table(path)
    for condition, wanted in (
        (("yes", "==", True), pc.field("yes") == True),
        (("varchar", "in", ["ü3", "ü4"]), pc.field("varchar").isin(["ü3", "ü4"])),
        (("none.x", ">=", 400), pc.field("none", "x") >= 400),
    ):
        found = pb.rows(path, [condition])
        assert found.schema.equals(table.schema)
        assert found.to_pylist() == table.filter(wanted).to_pylist()
    report = pb.find(path, "char", "c3", columns="char")
    stored = table["char"].to_pylist()
    assert [row.row for row in report.rows] == [
        at for at, each in enumerate(stored) if each and each.rstrip() == "c3"
    ]
    assert len(report.rows) > 20


def test_equal_values_of_other_bits_and_decimals_of_other_scales(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    numbers = pa.array([0.0, -0.0, 1.5, float("nan"), None])
    decimals = pa.array(
        [Decimal("1.50"), Decimal("1.5"), None, Decimal(0), Decimal(2)], pa.decimal128(9, 2)
    )
    orc.write_table(pa.table({"d": numbers, "e": decimals}), path)
    assert [row.row for row in pb.find(path, "d", 0.0).rows] == [0, 1]
    assert [row.row for row in pb.find(path, "d", -0.0).rows] == [0, 1]
    assert [row.row for row in pb.find(path, "e", [Decimal("1.5"), 2]).rows] == [0, 1, 4]


def test_stripes_are_decoded_up_to_the_last_index_group_that_may_have_the_value(
    path: Path, table: pa.Table
) -> None:
    """Of the second stripe three of four, and as many of the column that is asked for."""
    value = next(each for each in table["long"][1600:].to_pylist() if each is not None)
    report = pb.find(path, "long", value, columns="short")
    assert len(report.rows) == 1
    assert (report.row_groups_read, report.pages_read) == (1, 3 + 3)
    assert pb.find(path, "long", 7).pages_read == 0


def test_rows_of_a_store(path: Path, table: pa.Table, s3: S3Server) -> None:
    s3.put("lake/a.orc", path.read_bytes())
    value = next(each for each in table["long"].to_pylist() if each is not None)
    there = pb.rows("s3://lake/a.orc", {"long": value}, storage_options=s3.options)
    assert there.num_rows == 1
    assert there.equals(pb.rows(path, {"long": value}))


def test_what_is_not_read(path: Path, tmp_path: Path) -> None:
    with pytest.raises(pb.ColumnError, match="no column lnog; did you mean long"):
        pb.rows(path, {"long": 1}, columns="lnog")
    union = tmp_path / "u.orc"
    with union.open("wb") as file:
        writer = pyorc.Writer(file, "struct<i:int,u:uniontype<int,string>>")
        writer.write((1, 2))
        writer.close()
    assert pb.rows(union, {"i": 1}, columns="i").to_pylist() == [{"i": 1}]
    with pytest.raises(pb.UnsupportedError, match=r"u\.orc: column u: UNION: rows are not read"):
        pb.rows(union, {"i": 1})
    (unknown,) = pb.find(path, "date", date(1500, 1, 1)).unknown
    assert "cannot be looked for: dates before 1582-10-15" in unknown.reason
    (unknown,) = pb.find(path, "list", 3).unknown
    assert "cannot be looked for: LIST: the elements are column list._elem" in unknown.reason
    orc.write_table(pa.table({"ok": [True]}), tmp_path / "b.orc")
    (unknown,) = pb.find(tmp_path / "b.orc", "ok", True).unknown
    assert unknown.reason == (
        "True: cannot be looked for: values of BOOLEAN columns are not looked up; pb.rows and engines read its rows"
    )
    assert pb.rows(tmp_path / "b.orc", {"ok": True}).to_pylist() == [{"ok": True}]


@pytest.mark.parametrize("trino", [False, True], ids=["bounds count", "bounds do not"])
def test_stripes_of_nulls_are_excluded_by_statistics(tmp_path: Path, trino: bool) -> None:
    """No filter is there that could exclude them."""
    path = tmp_path / "a.orc"
    table = pa.table({"n": pa.nulls(2000, pa.string()), "s": [f"{n:04}" for n in range(2000)]})
    orc.write_table(table, path, row_index_stride=1000, bloom_filter_columns=[2])
    if trino:
        path.write_bytes(edited(path.read_bytes(), lambda _, footer: footer.update(writer=4)))
    by_each = attrgetter("files_by_statistics", "files_by_filters")
    found = pb.find(path, "n", "x")
    assert (list(found.absent), by_each(found)) == (["x"], (1, 0))
    assert (found.row_groups_by_statistics, found.row_groups_by_filters) == (1, 0)
    assert by_each(pb.read_plan(path, {"n": "x"})) == (1, 0)
    assert (
        by_each(pb.find(path, "s", "0007x"))
        == by_each(pb.read_plan(path, {"s": "0007x"}))
        == (0, 1)
    )


@pytest.mark.parametrize("seed", range(3))
def test_damage_is_said_in_one_line(tmp_path: Path, seed: int) -> None:
    """pyarrow's own reader ends the process for some of these."""
    path = tmp_path / "a.orc"
    orc.write_table(
        all_types(1000), path, row_index_stride=200, compression=["zstd", "zlib", "lz4"][seed]
    )
    chance, data = random.Random(seed), path.read_bytes()
    broken, said = tmp_path / "broken.orc", list[str]()
    names = orc.ORCFile(path).schema.names
    for _ in range(25):
        damaged = bytearray(data)
        for _ in range(chance.choice((1, 3, 30))):
            damaged[chance.randrange(len(data))] = chance.randrange(256)
        broken.write_bytes(damaged)
        columns = chance.sample(names, 6)
        try:
            pb.rows(broken, [("long", ">=", 0)], columns=columns)
        except (pb.ParquetBloomError, OSError) as error:
            said.append(str(error))
        try:
            report = pb.find(broken, chance.choice(LEAVES), "5", columns=columns[:1])
        except pb.ValueTypeError as error:
            said.append(str(error))
        else:
            said += [each.reason for each in report.unknown]
    assert len(said) > 10
    assert not any("\n" in each for each in said)


def test_the_names_of_columns_are_made_once_for_all_that_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[OrcReader]()
    names = vars(OrcReader)["top_columns"].fget

    def counted(file: OrcReader) -> Any:
        made.append(file)
        return names(file)

    monkeypatch.setattr(OrcReader, "top_columns", property(counted))
    counts = set()
    for number in (2, 40):
        path = tmp_path / f"{number}.orc"
        orc.write_table(pa.table({f"c{each}": [6, 8] for each in range(number)}), path)
        made.clear()
        assert pb.rows(path, {"c0": 6}).num_columns == number
        counts.add(len(made))
    assert len(counts) == 1
