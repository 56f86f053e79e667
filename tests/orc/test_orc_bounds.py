"""Minimum and maximum of index groups exclude stripes, and never a row that pyarrow would find."""

import datetime
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyorc
import pytest
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.container.conditions import Compared, In
from parquet_bloom.orc.bounds import may_hold, may_hold_any
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.keys import AskedValues
from parquet_bloom.orc.row_index import GroupStatistics
from parquet_bloom.orc.writers import Generation

DAY = datetime.date(2026, 11, 27)
OF: dict[str, Callable[[int], Any]] = {
    "long": lambda n: n,
    "byte": lambda n: n % 100,
    "text": lambda n: f"user {n:05}",
    "double": lambda n: n / 4,
    "float": lambda n: n / 4,
    "day": lambda n: DAY + datetime.timedelta(n),
    "time": lambda n: datetime.datetime(2026, 1, 1) + datetime.timedelta(n),
    "bool": lambda n: n % 2 == 0,
}
TYPES = {
    "long": pa.int64(),
    "byte": pa.int8(),
    "text": pa.string(),
    "double": pa.float64(),
    "float": pa.float32(),
    "day": pa.date32(),
    "time": pa.timestamp("ns"),
    "bool": pa.bool_(),
}
OPERATORS = {"<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}


def write(path: Path, chance: random.Random, rows: int = 4000) -> pa.Table:
    """Values that ascend roughly, some null, floats also NaN, infinite and zeros of both signs."""
    columns: dict[str, list[Any]] = {}
    for name, of in OF.items():
        values = [of(max(0, n + chance.randrange(-300, 300))) for n in range(rows)]
        for at in range(0, rows, chance.choice((3, 50, 1001))):
            values[at] = None
        columns[name] = values
    for at in chance.sample(range(rows), 3):
        columns["double"][at] = chance.choice((float("nan"), float("inf"), -0.0))
    table = pa.table({name: pa.array(columns[name], TYPES[name]) for name in OF})
    orc.write_table(table, path, stripe_size=16384, row_index_stride=1000)
    return table


@pytest.mark.parametrize("seed", range(2))
def test_no_row_is_lost(tmp_path: Path, seed: int) -> None:
    chance, path = random.Random(seed), tmp_path / "a.orc"
    table = write(path, chance)
    if seed:
        pb.build(path, columns=["long", "text"], in_place=True)
    in_all = pb.row_groups(path, {}).num_rows
    assert in_all > 1
    excluded = 0
    for _ in range(40):
        name = chance.choice([*OF])
        value = OF[name](
            chance.randrange(-500, 4500) if name != "byte" else chance.randrange(-9, 109)
        )
        if name in ("double", "float") and chance.random() < 0.2:
            value = chance.choice((0.0, -0.0, 0.1, 1e30))
        operator = chance.choice(["==", *OPERATORS])
        filters = [(name, operator, value)]
        column = table[name]
        # What pyarrow takes for the type of a column.
        literal = pa.scalar(value, TYPES["double"] if name == "float" else TYPES[name])
        compare = OPERATORS.get(operator, pc.equal)
        wanted = table.filter(compare(column, literal))
        assert str(pb.rows(path, filters, [name])[name].to_pylist()) == str(
            wanted[name].to_pylist()
        )
        excluded += pb.row_groups(path, filters).num_rows < in_all
    assert excluded > 12


def test_stripes_are_excluded_by_their_groups(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    numbers = [*range(1000), *range(5000, 6000)]
    orc.write_table(
        pa.table({"n": numbers, "null": pa.nulls(2000, pa.int64())}), path, row_index_stride=1000
    )
    assert pb.row_groups(path, {"n": [999, 3000]}).num_rows == 1
    # Between the bounds of the stripe, in those of no group.
    assert pb.row_groups(path, {"n": [-1, 3000, 6000]}).num_rows == 0
    assert pb.row_groups(path, [("n", ">=", 6000)]).num_rows == 0
    assert pb.row_groups(path, {"null": 3}).num_rows == 0


JAVA, CPP, TRINO = (Generation(writer, 9, "", (0, 12)) for writer in (0, 1, 4))
OLD = replace(JAVA, version=0)


def column(kind: str, **attributes: str) -> OrcColumn:
    return OrcColumn(1, "c", kind, (), 0, 0, 0, 0, attributes)


def statistics(kind: str, low: Any, high: Any, **more: Any) -> GroupStatistics:
    told = {"num_values": 5, "has_null": False, "sum": 1.0} | more
    return GroupStatistics(kind=kind, min=low, max=high, **told)


@pytest.mark.parametrize(
    ("kind", "value", "found", "is_excluded"),
    [
        ("LONG", 5, statistics("int", 6, 9), True),
        ("LONG", 5, statistics("int", 6, None), False),
        ("LONG", 5, statistics("int", 9, 6), False),
        ("LONG", 5, statistics("string", "6", "9"), False),
        ("LONG", 5, None, False),
        ("LONG", True, statistics("int", 6, 9), False),
        ("LONG", 5, statistics("int", None, None, num_values=0), True),
        ("DOUBLE", 5.0, statistics("double", 6.0, 9.0), True),
        ("DOUBLE", 5.0, statistics("double", 6.0, 9.0, sum="nan"), False),
        ("DOUBLE", 5.0, statistics("double", 6.0, 9.0, sum=None), False),
        ("DOUBLE", 5.0, statistics("double", "nan", "nan"), False),
        ("DOUBLE", 0.0, statistics("double", -0.0, -0.0), False),
        ("DOUBLE", 2**53 + 1, statistics("double", 6.0, 9.0), False),
        ("FLOAT", 0.1, statistics("double", 6.0, 9.0), False),
        ("STRING", "a", statistics("string", "b", "c"), True),
        ("STRING", "a", statistics("string", "b\\xff", "c"), False),
        ("STRING", "a", statistics("string", "b", "\ufffd"), False),
        ("STRING", b"a", statistics("string", "b", "c"), False),
        ("STRING", "\ue000", statistics("string", "\U00010000", "\U00010001"), True),
        ("CHAR", "a", statistics("string", "b", "c"), False),
        ("DATE", DAY, statistics("date", "2026-12-01", "2026-12-02"), True),
        ("DATE", DAY, statistics("date", "1400-01-01", "1500-01-01"), False),
        ("DATE", datetime.date(1500, 1, 1), statistics("date", "2026-12-01", "2026-12-02"), False),
        ("DATE", datetime.datetime(2026, 1, 1), statistics("date", "2026-12-01", "2026-12-02"), False),
        ("TIMESTAMP", DAY, statistics("timestamp", 5, 6), False),
        ("DECIMAL", 5, statistics("decimal", "6", "9"), False),
    ],
)  # fmt: skip
def test_only_what_is_certain_is_excluded(
    kind: str, value: Any, found: GroupStatistics | None, is_excluded: bool
) -> None:
    for generation in (JAVA, CPP):
        holds = may_hold(generation, column(kind), In("c", [value]))
        assert (holds is not None and not holds(found)) == is_excluded
        if is_excluded:
            holds = may_hold_any(generation, column(kind), AskedValues(column(kind), [value]))
            assert holds is not None
            # Of a group without values, streams can tell as much.
            assert holds(found) == (found is not None and found.num_values == 0)
    for generation in (OLD, TRINO):
        assert may_hold(generation, column(kind), In("c", [value])) is None
    ntz = column(kind, **{"spark.sql.catalyst.type": "timestamp_ntz"})
    assert may_hold(JAVA, ntz, In("c", [value])) is None


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("LONG", 5, statistics("int", 5, 9)),
        ("DOUBLE", 5.0, statistics("double", 6.0, 9.0, sum="nan")),
        ("FLOAT", 0.1, statistics("double", float(np.float32(0.1)), 9.0)),
        ("DOUBLE", -0.0, statistics("double", 0.0, 9.0)),
        ("STRING", b"\xff", statistics("string", "b", "c")),
        ("CHAR", "a", statistics("string", "b", "c")),
        ("DATE", datetime.date(1500, 1, 1), statistics("date", "2026-12-01", "2026-12-02")),
        ("DECIMAL", 5, statistics("decimal", "6", "9")),
        ("TIMESTAMP", datetime.datetime(2026, 1, 1), statistics("timestamp", 5, 6)),
    ],
)
def test_so_it_is_of_values_as_they_are_stored(
    kind: str, value: Any, found: GroupStatistics
) -> None:
    typed = replace(column(kind), length=9, precision=9)
    for generation in (JAVA, CPP):
        holds = may_hold_any(generation, typed, AskedValues(typed, [value]))
        assert holds is None or holds(found)


def test_rows_are_looked_for_in_groups_that_statistics_leave(tmp_path: Path) -> None:
    path, built = tmp_path / "a.orc", tmp_path / "b.orc"
    numbers = [n // 2 * 2 for n in range(6000)]
    table = pa.table(
        {"n": numbers, "t": [f"{n:05}" for n in numbers], "null": pa.nulls(6000, pa.int64())}
    )
    orc.write_table(table, path, row_index_stride=1000, stripe_size=1, batch_size=3000)
    pb.build(path, built, columns=["n", "t"], fpp=1e-6)
    for name, value, other in (("n", 4444, 4443), ("t", "04444", "04443")):
        for each, by_filters in ((path, 0), (built, 1)):
            report = pb.find(each, name, value)
            assert [row.row for row in report.rows] == [4444, 4445]
            read = (
                report.row_groups_by_statistics,
                report.row_groups_by_filters,
                report.row_groups_read,
            )
            # A stripe is decoded from its start.
            assert (read, report.pages_read) == ((1, 0, 1), 2)
            report = pb.find(each, name, [other, value[:0] if name == "t" else -7])
            read = (
                report.row_groups_by_statistics,
                report.row_groups_by_filters,
                report.row_groups_read,
            )
            assert read == (1, by_filters, 1 - by_filters)
            assert report.is_absent
    report = pb.find(path, "null", 3)
    # Whose streams show it, and no filter.
    assert (report.row_groups_by_statistics, report.files_by_statistics) == (2, 1)


def test_comparisons_reach_to_their_ends() -> None:
    found = statistics("int", 6, 9)
    for operator, value, is_excluded in (
        ("<", 6, True), ("<=", 6, False), (">", 9, True), (">=", 9, False), ("<", 7, False), (">", 8, False),
    ):  # fmt: skip
        holds = may_hold(CPP, column("LONG"), Compared("c", operator, value))
        assert holds is not None
        assert holds(found) != is_excluded


def test_floats_are_found_beyond_the_doubles_that_they_were(tmp_path: Path) -> None:
    """ORC C++ takes bounds from the double that pyorc gives it: the FLOAT nearest to 0.1 is above, to 0.7 below."""
    path = tmp_path / "a.orc"
    with (
        path.open("wb") as out,
        pyorc.Writer(out, "struct<a:float>", row_index_stride=1000) as writer,
    ):
        writer.writerows([(0.1,)] * 1000 + [(0.7,)] * 1000 + [(3e38,)] * 1000)
    for number in (0.1, 0.7, 3e38):
        assert pb.find(path, "a", number).num_rows == 1000
        assert pb.rows(path, {"a": float(np.float32(number))}).num_rows == 1000
    assert pb.find(path, "a", 0.5).num_rows == 0


def test_texts_are_found_beyond_a_nul(tmp_path: Path) -> None:
    """ORC C++ compares texts up to a NUL that both have, and then their lengths."""
    path = tmp_path / "a.orc"
    texts = ["\0b", "\0d", "\0a", "\0ef"]
    orc.write_table(pa.table({"a": texts}), path, row_index_stride=1000)
    for text in texts:
        assert pb.find(path, "a", text).num_rows == 1
