"""`pb.read_plan`: what is left of files, and what excluded the rest."""

from __future__ import annotations

import json
import random
import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from make.footers import with_meta
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.parquet.thrift import ttypes

EXCLUDED = [
    "num_files", "files_by_partitions", "files_by_index", "files_by_statistics", "files_by_filters",
    "files_without_column", "files_not_asked", "row_groups_by_index", "row_groups_by_statistics", "row_groups_by_filters",
]  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Four files of two row groups: the first has small numbers, the last no filters."""
    folder = tmp_path / "lake"
    folder.mkdir()
    for file in range(4):
        even = 2 * np.random.default_rng(file).permutation(2000)[:1000]
        even[:1000:500], even[1:1000:500] = 0, 4000
        numbers = even % 100 if file == 0 else even
        path = folder / f"{file}.parquet"
        pq.write_table(pa.table({"id": numbers, "n": numbers}), path, row_group_size=500)
        if file < 3:
            pb.build(path, columns="id", in_place=True, fpp=1e-5)
    return folder


def counts(plan: pb.ReadPlan) -> dict[str, int]:
    document = plan.to_dict()
    return {name: document[name] for name in EXCLUDED if document[name]}


def check_told(plan: pb.ReadPlan, rows: pa.Table) -> dict[str, Any]:
    """That rows say the same as a plan of all that both say; returns it all."""
    told: dict[str, Any] = json.loads(rows.schema.metadata[b"parquet_bloom"])
    document = plan.to_dict()
    both = {*told} & {*document}
    others = {"by_chance", "without_filter", "undecided", "without_zone", "why_not_asked"}
    assert both == {*EXCLUDED} | others
    assert {*told} - both == {"files_read", "row_groups_read", "pages_read", "bytes_read"}
    assert {name: told[name] for name in both} == {name: document[name] for name in both}
    return told


def chunk_bytes(path: Path) -> int:
    """Of all columns of a file."""
    groups = pq.read_metadata(path)
    return sum(
        groups.row_group(group).column(column).total_compressed_size
        for group in range(groups.num_row_groups)
        for column in range(groups.num_columns)
    )


def tables_in(report: Any) -> list[list[list[str]]]:
    """The cells of the tables that a notebook shows."""
    return [
        [
            re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row)
            for row in re.findall("<tr>(.*?)</tr>", table)
        ]
        for table in re.findall("<table>(.*?)</table>", report._repr_html_())
    ]


def test_by_statistics_and_by_filters(lake: Path) -> None:
    plan = pb.read_plan(lake, {"id": 1001})
    assert counts(plan) == {
        "num_files": 4, "files_by_statistics": 1, "files_by_filters": 2,
        "row_groups_by_statistics": 2, "row_groups_by_filters": 4,
    }  # fmt: skip
    assert (plan.files_left, plan.row_groups_left, plan.rows_left) == (1, 2, 1000)
    sizes = {path.name: chunk_bytes(path) for path in sorted(lake.iterdir())}
    last = pb.PlannedRowGroups(str(lake / "3.parquet"), (0, 1), 1000, sizes["3.parquet"])
    assert (plan.left, plan.bytes_left) == ((last,), last.bytes)
    assert repr(plan) == (
        "<ReadPlan: 2 row groups left in 1 of 4 files; excluded by statistics: 1 file, 2 row groups;"
        " excluded by filters: 2 files, 4 row groups; 2 row groups in 1 file have no filter on id: pbloom advise says"
        " whether it deserves one, pbloom build adds it>"
    )
    assert plan.without_filter == (pb.WithoutFilter("id", 1, 2),)
    assert plan._repr_html_().startswith("<p>&lt;ReadPlan: 2 row groups left in 1 of 4 files;")
    summed, left = tables_in(plan)
    by_filters = sizes["1.parquet"] + sizes["2.parquet"]
    assert summed == [
        ["", "files", "row groups", "rows", "bytes"],
        ["in all", "4", "8", "4,000", f"{sum(sizes.values()):,}"],
        ["excluded by statistics", "1", "2", "1,000", f"{sizes['0.parquet']:,}"],
        ["excluded by filters", "2", "4", "2,000", f"{by_filters:,}"],
        ["left", "1", "2", "1,000", f"{last.bytes:,}"],
    ]
    assert left[0][1:] == ["row_groups", "rows", "bytes", "excluded_by"]
    assert [row[1:3] + row[4:] for row in left[1:]] == [
        ["0, 1", "1000", ""],
        ["0, 1", "1000", "statistics"],
        ["0, 1", "1000", "filters"],
        ["0, 1", "1000", "filters"],
    ]
    table = plan.to_arrow()
    assert table["excluded_by"].to_pylist() == [None, "statistics", "filters", "filters"]
    assert table.schema == pb.read_plan(lake, {}).to_arrow().schema
    assert [each["path"] for each in plan.to_dict()["excluded"]] == table["path"].to_pylist()[1:]


@pytest.mark.parametrize(
    ("filters", "by_statistics", "by_filters"),
    [
        # What statistics exclude, filters are not asked about, whatever comes first.
        ([("n", ">", 4000), ("id", "==", 1001)], 8, 0),
        ([("id", "==", 1001), ("n", ">", 4000)], 8, 0),
        ([[("id", "==", 1001), ("n", ">", 4000)], [("id", "==", 1003)]], 2, 4),
        ({"n": []}, 8, 0),
        ([("id", "==", 1001), ("n", "in", [])], 8, 0),
        ([[("id", "==", 1001)], [("n", ">", 4000)]], 2, 4),
        ([[("id", "==", 1001)], [("n", ">=", 0)]], 0, 0),
    ],
)
def test_of_several_conditions(
    lake: Path, filters: Any, by_statistics: int, by_filters: int
) -> None:
    plan = pb.read_plan(lake, filters)
    assert plan.row_groups_by_statistics == by_statistics
    assert plan.row_groups_by_filters == by_filters
    assert plan.row_groups_left == 8 - by_statistics - by_filters


def test_it_is_what_reads_leave(lake: Path) -> None:
    filters = {"id": [2, 1001]}
    plan = pb.read_plan(lake, filters)
    groups = [(each.path, number) for each in plan.left for number in each.row_groups]
    table = pb.row_groups(lake, filters)
    assert groups == [*zip(table["path"].to_pylist(), table["row_group"].to_pylist(), strict=True)]
    assert plan.rows_left == sum(table["rows"].to_pylist())
    told = check_told(plan, pb.rows(lake, filters))
    assert told["by_chance"] != []
    assert told["row_groups_read"] == plan.row_groups_left


@pytest.fixture
def renamed(tmp_path: Path) -> Path:
    """Three files, two of which have the column by another name."""
    folder = tmp_path / "renamed"
    folder.mkdir()
    for number, name in enumerate(("user_id", "userid", "USER_ID")):
        table = pa.table({name: ["u1", "u2"], "n": [number, number]})
        pq.write_table(table, folder / f"{number}.parquet")
    return folder


def test_files_without_the_column(renamed: Path) -> None:
    """Their rows are not among those of pb.rows, whatever is in them."""
    plan = pb.read_plan(renamed, {"user_id": "u1"})
    assert counts(plan) == {"num_files": 3, "files_without_column": 2}
    # Some engines find the column in the last one.
    assert len(plan.left) == 3
    assert repr(plan) == (
        "<ReadPlan: 3 row groups left in 3 of 3 files; nothing excluded;"
        " 2 files without a column of the conditions: null there>"
    )
    summed, _ = tables_in(plan)
    assert [row[:4] for row in summed[1:]] == [["in all", "3", "3", "6"], ["left", "3", "3", "6"]]


@pytest.mark.parametrize(
    ("filters", "num_without", "num_read", "num_rows"),
    [
        ({"user_id": "u1"}, 2, 1, 1),
        ({"user_id": "u1", "n": [1, 2]}, 2, 0, 0),
        ([("user_id", "!=", "u1")], 2, 1, 1),
        # Null is in no list, so that rows with it match.
        ([("user_id", "not in", ["u1"])], 2, 3, 5),
        ([[("user_id", "==", "u1")], [("n", "==", 2)]], 2, 3, 3),
        ({"n": 2}, 0, 1, 2),
        ({}, 0, 3, 6),
    ],
    ids=str,
)
def test_they_are_read_only_where_null_matches(
    renamed: Path, filters: Any, num_without: int, num_read: int, num_rows: int
) -> None:
    found = pb.rows(renamed, filters)
    told = json.loads(found.schema.metadata[b"parquet_bloom"])
    assert told["files_without_column"] == num_without
    assert (told["files_read"], told["row_groups_read"]) == (num_read, num_read)
    assert found.num_rows == num_rows
    assert pb.read_plan(renamed, filters).files_without_column == num_without


def test_a_field_that_structs_lack(tmp_path: Path) -> None:
    for number, name in enumerate(("x", "y")):
        table = pa.table({"s": [{name: 1, "z": 2}], "list": [[1]]})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    assert pb.read_plan(tmp_path, {"s.x": 1}).files_without_column == 1
    for filters in ({"s.z": 2}, [("s", "!=", 2)], [("list", "!=", 2)]):
        assert pb.read_plan(tmp_path, filters).files_without_column == 0


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A file of 20 row groups of even numbers, whose filters have a rate of about 1 %."""
    path = tmp_path / "many.parquet"
    numbers = 2 * np.random.default_rng(1).permutation(20_000)
    pq.write_table(pa.table({"id": numbers, "n": numbers}), path, row_group_size=1000)
    pb.build(path, columns="id", in_place=True, fpp=0.01)
    return path


def by_chance(path: Path, num_values: int) -> float:
    """How many row groups its filters leave on average."""
    rates = [
        chunk.filter.fpp for group in pb.inspect(path).row_groups for chunk in group.columns[:1]
    ]
    return sum(1 - (1 - rate) ** num_values for rate in rates)


@pytest.mark.parametrize("num_values", [30, 1200])
def test_what_filters_leave_by_chance(many: Path, num_values: int) -> None:
    """Of many values, any filter finds one: what is left then tells nothing."""
    absent = 2 * np.arange(num_values) + 1001
    plan = pb.read_plan(many, {"id": [*absent, absent[0]]})
    (told,) = plan.by_chance
    expected = pytest.approx(by_chance(many, num_values))
    assert told == pb.LeftByChance("id", num_values, 20, expected)
    assert plan.to_dict()["by_chance"] == [
        {
            "column": "id",
            "num_values": num_values,
            "row_groups_asked": 20,
            "false_row_groups": expected,
        }
    ]
    help = ": a lower fpp of filters, an index or fewer values leave fewer"
    assert repr(plan).endswith(
        f"; by chance alone, filters would leave {told.false_row_groups:.2g} of 20 row groups without any of"
        f" {num_values:,} values of id{help if num_values == 1200 else ''}>"
    )
    assert abs(plan.row_groups_left - told.false_row_groups) < 5


def test_of_a_few_values_blocks_tell(many: Path) -> None:
    plans = [pb.read_plan(many, {"id": 2 * value + 1001}) for value in range(200)]
    told = [each for plan in plans for each in plan.by_chance]
    assert {(each.num_values, each.row_groups_asked) for each in told} == {(1, 20)}
    mean = sum(each.false_row_groups for each in told) / 200
    assert mean == pytest.approx(by_chance(many, 1), rel=0.1)
    assert "by chance" not in repr(plans[0])


def test_of_large_filters_blocks_tell_too(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": 2 * np.arange(300_000)}), path)
    pb.build(path, columns="id", in_place=True, fpp=0.02)
    (told,) = pb.read_plan(path, {"id": 2 * np.arange(20) + 1001}).by_chance
    (row_group,) = pb.inspect(path).row_groups
    assert row_group.columns[0].filter.num_bytes > 20 * (16 << 10)
    assert told.false_row_groups == pytest.approx(by_chance(path, 20), rel=0.5)
    # A filter that is read whole tells by some of its blocks.
    (told,) = pb.read_plan(path, {"id": 2 * np.arange(60) + 1001}).by_chance
    assert told.false_row_groups == pytest.approx(by_chance(path, 60), rel=0.1)


def test_each_condition_has_its_own(many: Path) -> None:
    either = [[("id", "in", [1001, 1003])], [("id", "==", 1005), ("n", ">", 0)]]
    told = pb.read_plan(many, either).by_chance
    assert [(each.column, each.num_values) for each in told] == [("id", 2), ("id", 1)]
    for nothing in ({"n": 3}, {}, {"id": []}, [("id", ">", 3)]):
        assert pb.read_plan(many, nothing).by_chance == ()


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_row_groups_without_a_filter_are_those_that_are_left(tmp_path: Path, kind: str) -> None:
    """In any order of conditions, and not those with a single value, as a filter tells no more of them."""
    for number in range(4):
        data = pa.table({
            "id": np.arange(4000) * 4 + number, "day": np.full(4000, number // 2),
            "n": [number // 2, 9] * 2000,
        })  # fmt: skip
        path = tmp_path / f"{number}.{kind}"
        if kind == "orc":
            orc.write_table(data, path, bloom_filter_columns=[1], bloom_filter_fpp=1e-5)
        else:
            pq.write_table(data, path)
            pb.build(path, columns="id", in_place=True)
    for order in (reversed, list):
        conditions = {"id": 4 * 77, "day": 0, "n": 0}
        plan = pb.read_plan(tmp_path, dict(order([*conditions.items()])))
        assert (plan.files_left, plan.row_groups_left) == (1, 1)
        assert plan.without_filter == (pb.WithoutFilter("n", 1, 1),)
        either = [order([("id", "==", 4 * 77), ("n", "==", 0)]), [("day", "==", 1)]]
        plan = pb.read_plan(tmp_path, [list(each) for each in order(either)])
        assert (plan.files_left, plan.row_groups_left) == (3, 3)
        assert plan.without_filter == (pb.WithoutFilter("n", 1, 1),)
    assert pb.read_plan(tmp_path, {"day": 0}).without_filter == ()
    assert pb.read_plan(tmp_path, {"n": 0}).without_filter == (pb.WithoutFilter("n", 2, 2),)
    alike = [[("n", "==", 9), ("day", "==", 0)], [("n", "==", 9)]]
    assert pb.read_plan(tmp_path, alike).without_filter == (pb.WithoutFilter("n", 4, 4),)


def test_of_stripes(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"id": 2 * np.arange(30_000)}), path, bloom_filter_columns=[1])
    (stripe,) = pb.inspect(path).stripes
    # Of three index groups, the others are not within bounds.
    (told,) = pb.read_plan(path, {"id": 2 * np.arange(20) + 1001}).by_chance
    assert (told.num_values, told.row_groups_asked) == (20, 1)
    assert pb.read_plan(path, {"id": 2.5}).undecided == ("id",)
    assert pb.read_plan(path, {"id": 3}).without_filter == ()
    orc.write_table(pa.table({"id": [1, 2]}), tmp_path / "b.orc")
    without = pb.read_plan(tmp_path, {"id": 2}).without_filter
    assert without == (pb.WithoutFilter("id", 1, 1),)
    expected = 1 - (1 - stripe.columns[0].filter.fpp) ** 20
    assert told.false_row_groups == pytest.approx(expected, rel=0.02)


def test_by_an_index(lake: Path, tmp_path: Path) -> None:
    index = tmp_path / "ids.index"
    pb.Index.build(index, lake, "id")
    held = pq.read_table(lake / "2.parquet")["id"].to_pylist()[600]
    plan = pb.read_plan(lake, {"id": 1001}, index=index)
    assert counts(plan) == {"num_files": 4, "files_by_index": 4}
    assert repr(plan) == "<ReadPlan: 0 row groups left in 0 of 4 files; excluded by index: 4 files>"
    # Nobody has opened them.
    size = f"{sum(path.stat().st_size for path in lake.iterdir()):,}"
    assert tables_in(plan)[0][1:] == [
        ["in all", "4", "", "", size],
        ["excluded by index", "4", "", "", size],
        ["left", "0", "0", "0", "0"],
    ]
    plan = pb.read_plan(lake / "2.parquet", {"id": held}, index=index)
    assert counts(plan) == {"num_files": 1, "row_groups_by_index": 1}
    assert plan.row_groups_left == 1


def test_a_gap_among_the_values_leaves_everything(lake: Path) -> None:
    """Engines disagree on what it is equal to; who does not see it wonders why nothing is skipped."""
    for condition in (
        ("id", "in", [1001, None]),
        ("id", "in", [1.5, np.nan]),
        ("id", "!=", 3),
        # As pandas makes of integers with gaps, which have been dropped.
        ("id", "in", [1001.0, 4.0]),
    ):
        plan = pb.read_plan(lake, [condition, ("n", "<", 100)])
        assert plan.undecided == ("id",)
        assert plan.to_dict()["undecided"] == ["id"]
        assert repr(plan) == (
            "<ReadPlan: 8 row groups left in 4 of 4 files; nothing excluded; id: nothing to ask files,"
            " as of !=, not in, null, NaN and values of another type>"
        )
    told = json.loads(pb.rows(lake, {"id": [1001.0, 4.0]}).schema.metadata[b"parquet_bloom"])
    assert told["undecided"] == ["id"]
    assert pb.read_plan(lake, [("id", "==", 3), ("id", "!=", 4)]).undecided == ()
    assert pb.read_plan(lake, [[("id", "==", None)], [("n", "==", 4)]]).undecided == ("id", "n")


def test_moments_without_a_zone_are_in_utc_to_rows_alone(tmp_path: Path) -> None:
    path, moment = tmp_path / "a.parquet", datetime(2026, 1, 1)
    table = pa.table({"at": pa.array([moment], pa.timestamp("us", "UTC")), "id": [1]})
    pq.write_table(table, path)
    filters = [("at", "<", moment), ("id", "!=", 3)]
    plan = pb.read_plan(path, filters)
    assert repr(plan) == (
        "<ReadPlan: 1 row group left in 1 of 1 file; nothing excluded;"
        " id: nothing to ask files, as of !=, not in, null, NaN and values of another type;"
        " at: in UTC, so that only pb.rows asks about moments without a zone, which it takes as UTC: give them one>"
    )
    assert (plan.undecided, plan.without_zone) == (("at", "id"), ("at",))
    told = json.loads(pb.rows(path, filters).schema.metadata[b"parquet_bloom"])
    assert (told["files_by_statistics"], told["undecided"]) == (1, ["id"])
    assert told["without_zone"] == ["at"]
    with_zone = pb.read_plan(path, [("at", "<", moment.replace(tzinfo=UTC))])
    assert (with_zone.files_by_statistics, with_zone.without_zone) == (1, ())


def test_without_conditions_nobody_is_asked(lake: Path) -> None:
    plan = pb.read_plan(lake, {})
    assert counts(plan) == {"num_files": 4, "files_not_asked": 4}
    assert plan.why_not_asked == ("the conditions say nothing that files can answer",)
    assert repr(plan) == (
        "<ReadPlan: 8 row groups left in 4 of 4 files; nothing excluded;"
        " 4 not asked: the conditions say nothing that files can answer>"
    )


def test_where_the_index_has_told_nobody_is_asked(lake: Path, tmp_path: Path) -> None:
    index = tmp_path / "ids.index"
    pb.Index.build(index, lake, "id", places="file")
    plan = pb.read_plan(lake, {"id": 0}, index=index)
    assert repr(plan) == (
        "<ReadPlan: 8 row groups left in 4 of 4 files; nothing excluded; 4 not asked: the index has told>"
    )


@pytest.mark.parametrize(
    ("values", "is_in_vain"),
    # Excluded: nothing, a file of four, and nothing of what nobody asked.
    [({"id": [0, 4000]}, True), ({"n": 4000}, False), ({}, False), ([("id", "!=", 0)], False)],
    ids=str,
)
def test_nearly_all_is_left(lake: Path, values: Any, is_in_vain: bool) -> None:
    """Who asks for users that are everywhere wonders why filters do not help."""
    told = "; nearly all is left: nothing is gained over reading without asking, unless few rows match>"
    assert repr(pb.read_plan(lake, values)).endswith(told) == is_in_vain
    assert not repr(pb.read_plan(lake / "1.parquet", values)).endswith(told)


def test_of_many_files_some_tell(tmp_path: Path) -> None:
    for number in range(47):
        pq.write_table(pa.table({"id": [1, number]}), tmp_path / f"{number:02}.parquet")
    plan = pb.read_plan(tmp_path, {"id": 1})
    assert repr(plan) == (
        "<ReadPlan: 47 row groups left in 47 of 47 files; nothing excluded; 31 not asked:"
        " of the files asked first, 16 of 16 row groups are left; 16 row groups in 16 files have no filter on id:"
        " pbloom advise says whether it deserves one, pbloom build adds it;"
        " nearly all is left: nothing is gained over reading without asking, unless few rows match>"
    )


def test_by_partitions_of_a_table(tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2, 3], "country": ["AT", "DE", "FR"]})
    write_deltalake(tmp_path / "t", rows, partition_by=["country"])
    where = {"country": ["AT", "DE"], "id": [1, 3]}
    plan = pb.read_plan(tmp_path / "t", where, table="delta")
    assert counts(plan) == {
        "num_files": 3, "files_by_partitions": 1, "files_by_statistics": 1,
        "row_groups_by_statistics": 1,
    }  # fmt: skip
    assert pb.row_groups(tmp_path / "t", where, table="delta").num_rows == 1
    assert pb.row_groups(tmp_path / "t", {"country": "DE"}, table="delta").num_rows == 1
    assert len(pb.dataset(tmp_path / "t", {"country": "DE"}, table="delta").files) == 1
    assert repr(plan).endswith(
        "; excluded by partitions: 1 file; excluded by statistics: 1 file, 1 row group>"
    )


@pytest.mark.parametrize("options", [{}, {"table": "delta"}], ids=str)
@pytest.mark.parametrize(
    ("filters", "told"),
    [
        (
            [("country", "!=", "DE")],
            (
                "2 row groups left in 2 of 3 files; excluded by partitions: 1 file;"
                " 2 not asked: partitions have told"
            ),
        ),
        (
            [("country", "not in", ["DE", "AT"])],
            (
                "1 row group left in 1 of 3 files; excluded by partitions: 2 files;"
                " 1 not asked: partitions have told"
            ),
        ),
        (
            {"country": ["DE"]},
            (
                "1 row group left in 1 of 3 files; excluded by partitions: 2 files;"
                " 1 not asked: partitions have told"
            ),
        ),
        (
            [("country", "!=", "DE"), ("id", "!=", 9)],
            (
                "2 row groups left in 2 of 3 files; excluded by partitions: 1 file;"
                " 2 not asked: the conditions say nothing that files can answer; id: nothing to ask files,"
                " as of !=, not in, null, NaN and values of another type"
            ),
        ),
        # Files of other countries are asked for the id.
        (
            [[("country", "==", "DE")], [("id", "==", 2)]],
            (
                "2 row groups left in 2 of 3 files; excluded by statistics: 1 file, 1 row group;"
                " 1 not asked: partitions have told"
            ),
        ),
        (
            [
                [("country", "!=", "DE"), ("id", "==", 2)],
                [("country", "==", "DE"), ("id", "==", 0)],
            ],
            ("1 row group left in 1 of 3 files; excluded by statistics: 2 files, 2 row groups"),
        ),
    ],
    ids=str,
)
def test_by_what_partitions_are_not(
    tmp_path: Path, options: dict[str, str], filters: Any, told: str
) -> None:
    """A plan and rows say the same, and blame no column that partitions decide."""
    for number, country in enumerate(("AT", "DE", "FR")):
        rows = pa.table({"id": [number]})
        if options:
            rows = rows.append_column("country", pa.array([country]))
            write_deltalake(tmp_path / "t", rows, mode="append", partition_by=["country"])
        else:
            (tmp_path / "t" / f"country={country}").mkdir(parents=True)
            pq.write_table(rows, tmp_path / "t" / f"country={country}" / "0.parquet")
    plan = pb.read_plan(tmp_path / "t", filters, **options)
    assert repr(plan) == f"<ReadPlan: {told}>"
    check_told(plan, pb.rows(tmp_path / "t", filters, **options))


@pytest.mark.parametrize("condition", [("==", 3), ("!=", 1), (">", 2)], ids=str)
def test_by_the_dates_of_a_table(tmp_path: Path, condition: tuple[str, int]) -> None:
    """Whose type the table tells, and not a name that looks like one."""
    days = [date(2026, 1, number) for number in (1, 3)]
    write_deltalake(tmp_path / "t", pa.table({"id": [1, 2], "day": days}), partition_by=["day"])
    operator, number = condition
    filters = [("day", operator, date(2026, 1, number))]
    plan = pb.read_plan(tmp_path / "t", filters, table="delta")
    assert counts(plan) == {"num_files": 2, "files_by_partitions": 1, "files_not_asked": 1}
    check_told(plan, pb.rows(tmp_path / "t", filters, table="delta"))


@pytest.mark.parametrize(
    ("name", "texts", "condition", "expected"),
    [
        ("day", ["2026-01-01", "2026-01-02"], ("==", "2026-01-02"), [1]),
        ("day", ["2026-01-01", "2026-01-02"], (">", "2026-01-01"), [1]),
        ("day", ["2026-01-01", "2026-01-02"], ("in", ["2026-01-03"]), []),
        ("day", ["2026-01-01", "2026-01-02"], (">", date(2026, 1, 1)), [1]),
        ("day", ["2026-01-01", "2026-01-02"], ("!=", np.datetime64("2026-01-01")), [1]),
        ("n", ["01", "2", "-3"], ("in", [1, -3]), [0, 2]),
        ("n", ["01", "2", "-3"], ("<=", 1), [0, 2]),
        ("country", ["AT", "DE"], ("==", "DE"), [1]),
        ("country", ["AT", "DE"], ("!=", "DE"), [0]),
        ("country", ["AT", "DE", "FR"], ("not in", ["DE", "AT", "XX"]), [2]),
        ("n", ["01", "2"], ("not in", [2, 3]), [0]),
        # What some engines compare in another way than as text.
        ("day", ["2026-01-01", "2026-01-02"], ("==", "2026-1-2"), [0, 1]),
        ("day", ["2026-01-01", "2026-1-2"], ("==", "2026-01-02"), [1]),
        ("day", ["2026-01-01", "2026-1-2"], ("==", date(2026, 1, 1)), [0, 1]),
        ("day", ["2026-01-01", "2026-01-02"], ("==", datetime(2026, 1, 1)), [0, 1]),
        ("code", ["007", "x"], ("==", "7"), [0, 1]),
        ("code", ["1.0", "2.0"], ("==", 1), [0, 1]),
        ("n", ["1", "2"], ("==", "1"), [0, 1]),
        ("code", ["007", "x"], ("!=", "007"), [0, 1]),
        ("n", ["1", "__HIVE_DEFAULT_PARTITION__"], ("==", 2), [1]),
        # To pandas, what is missing differs from anything.
        ("n", ["1", "__HIVE_DEFAULT_PARTITION__"], ("!=", 1), [1]),
    ],
)
def test_by_the_names_of_folders(
    tmp_path: Path, name: str, texts: list[str], condition: tuple[str, Any], expected: list[int]
) -> None:
    """Files in others are not opened."""
    paths = [tmp_path / f"{name}={text}" / "0.parquet" for text in texts]
    for path in paths:
        path.parent.mkdir()
        pq.write_table(pa.table({"id": [3, 4]}), path)
    every = [[(name, *condition), ("id", "==", 3)]]
    plan = pb.read_plan(tmp_path, every)
    wanted = [str(path) for path in paths if paths.index(path) in expected]
    assert {each.path for each in plan.left} == {*wanted}
    assert plan.files_by_partitions == len(texts) - len(expected)
    assert {*pb.row_groups(tmp_path, every)["path"].to_pylist()} == {*wanted}
    assert {*pb.dataset(tmp_path, every).files} == {*wanted}
    first = min(paths)
    for path in {*map(str, paths)} - {str(first), *wanted}:
        Path(path).write_bytes(b"no Parquet")
    again = pb.read_plan(tmp_path, every)
    assert (again.left, counts(again)) == (plan.left, counts(plan))
    assert pb.dataset(tmp_path, every).to_table().num_rows == 2 * len(expected)


def test_by_folders_and_the_query_of_polars(tmp_path: Path) -> None:
    for day in range(3):
        path = tmp_path / f"day=2026-01-0{day + 1}" / f"n={day}" / "0.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": [3, 4]}), path)
    source = pb.polars_source(tmp_path)
    asked = (pl.col("n") == 1) & (pl.col("id") == 3)
    assert source.filter(asked).collect().select("id", "n").rows() == [(3, 1)]
    assert source.filter((pl.col("n") == 1) | (pl.col("n") == 2)).collect().height == 4


@pytest.mark.parametrize(
    ("kind", "value"), [(pa.int64(), 1), (pa.string(), "a"), (pa.float64(), 1.0)], ids=str
)
def test_row_groups_with_only_nulls(tmp_path: Path, kind: pa.DataType, value: Any) -> None:
    path = tmp_path / "a.parquet"
    values = pa.array([None] * 10 + [value] * 10, kind)
    pq.write_table(pa.table({"x": values}), path, row_group_size=10)
    plan = pb.read_plan(path, {"x": value})
    assert [each.row_groups for each in plan.left] == [(1,)]
    # There is no filter.
    assert (plan.row_groups_by_statistics, plan.row_groups_by_filters) == (1, 0)
    assert pb.read_plan(path, [("x", "not in", [value])]).row_groups_left == 2


@pytest.mark.parametrize("write", [pq.write_table, orc.write_table])
def test_row_groups_without_rows(tmp_path: Path, write: Any) -> None:
    path = tmp_path / "a"
    write(pa.table({"x": pa.array([], pa.int64())}), path)
    for conditions in ({"x": 1}, [("x", ">", 0)]):
        plan = pb.read_plan(path, conditions)
        assert repr(plan).startswith("<ReadPlan: 0 row groups left in 0 of 1 file; excluded by st")
        assert pb.row_groups(path, conditions).num_rows == 0


def test_a_row_group_has_rows_where_a_chunk_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    with pq.ParquetWriter(path, pa.schema({"x": pa.int64()})) as writer:
        for rows in ([], [1]):
            writer.write_table(pa.table({"x": pa.array(rows, pa.int64())}))
    plan = pb.read_plan(path, {"x": 1})
    assert (plan.left[0].row_groups, plan.row_groups_by_statistics) == ((1,), 1)
    path.write_bytes(with_meta(path.read_bytes(), 0, 0, num_values=1))
    assert pb.read_plan(path, {"x": 1}).row_groups_left == 2


def test_pages_must_have_only_nulls_too(tmp_path: Path) -> None:
    """Not only the footer."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1] * 10}), path)
    nulls = ttypes.Statistics(null_count=10)
    path.write_bytes(with_meta(path.read_bytes(), 0, 0, statistics=nulls))
    assert pb.read_plan(path, {"x": 1}).row_groups_left == 1


# ------------------------------------------------------------------------------------------------
# All counts, of random lakes


def of_file(chance: random.Random, number: int) -> pa.Table:
    """Even numbers and texts, some of them null; `b` is not in all files."""
    num_rows = chance.randrange(1, 60)

    def some(low: int) -> list[int | None]:
        return [
            None if chance.random() < 0.2 else low + 2 * chance.randrange(40)
            for _ in range(num_rows)
        ]

    columns = {"a": pa.array(some(0), pa.int64()), "n": pa.array([number] * num_rows)}
    if number % 3 != 2:
        texts = [None if value is None else f"k{value}" for value in some(number)]
        columns["b"] = pa.array(texts, pa.string())
    if chance.random() < 0.1:
        columns["a"] = pa.nulls(num_rows, pa.int64())
    return pa.table(columns)


COUNTRIES = ("AT", "DE", "FR")


def random_lake(chance: random.Random, folder: Path, kind: str, num_files: int) -> dict[str, Any]:
    """Arguments of reads; some of the files get filters."""
    for number in range(num_files):
        rows, country = of_file(chance, number), COUNTRIES[number % 3]
        if kind == "table":
            rows = rows.append_column("country", pa.array([country] * len(rows)))
            write_deltalake(
                folder, rows, mode="append", schema_mode="merge", partition_by=["country"]
            )
            continue
        path = folder / (f"country={country}" if kind == "folders" else ".") / f"{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, path, row_group_size=chance.randrange(5, 60))
        if chance.random() < 0.5:
            pb.build(path, columns="a", in_place=True, fpp=0.01)
    return {"table": "delta"} if kind == "table" else {}


def random_filters(chance: random.Random, kind: str) -> Any:
    of_column = {
        "a": lambda: chance.randrange(-3, 90),
        "b": lambda: f"k{chance.randrange(90)}",
        "n": lambda: chance.randrange(8),
        "country": lambda: chance.choice(COUNTRIES),
    }
    if kind == "files":
        del of_column["country"]

    def condition() -> tuple[str, str, Any]:
        name = chance.choice([*of_column])
        how, value = chance.choice(["==", "in", "<=", "!=", "not in"]), of_column[name]
        is_list = how in ("in", "not in")
        return name, how, [value() for _ in range(chance.randrange(1, 30))] if is_list else value()

    def all_of() -> list[tuple[str, str, Any]]:
        return [condition() for _ in range(chance.choice((1, 1, 2, 3)))]

    return [all_of() for _ in range(chance.choice((1, 1, 1, 2)))]


@pytest.mark.every(8)
@pytest.mark.parametrize("kind", ["files", "folders", "table"])
@pytest.mark.parametrize("seed", range(4))
def test_all_counts_of_a_random_lake_agree(tmp_path: Path, kind: str, seed: int) -> None:
    chance, lake, index = random.Random(seed), tmp_path / "lake", tmp_path / "ids.index"
    # Of many files, some tell whether to ask the others.
    given = random_lake(chance, lake, kind, 36 if seed == 3 and kind != "table" else 7)
    pb.Index.build(index, lake, "a", **given).close()
    for number in range(12):
        filters = random_filters(chance, kind)
        options = given | ({"index": index} if number % 2 else {})
        check_counts(lake, filters, options)


def check_counts(lake: Path, filters: Any, options: dict[str, Any]) -> None:
    plan = pb.read_plan(lake, filters, **options)
    # In whatever order conditions are.
    turned = [conditions[::-1] for conditions in filters[::-1]]
    assert counts(pb.read_plan(lake, turned, **options)) == counts(plan)
    found = pb.rows(lake, filters, **options)
    told = check_told(plan, found)
    left = pb.row_groups(lake, filters, **options).to_pylist()
    assert [(each["path"], each["row_group"]) for each in left] == [
        (each.path, group) for each in plan.left for group in each.row_groups
    ]
    assert plan.rows_left == sum(each["rows"] for each in left)
    assert (plan.files_left, plan.row_groups_left) == (len(plan.left), len(left))

    # Each file is in one of these, but for those without the column, which are left unless a table excludes them.
    asked = {column for all_of in filters for column, _, _ in all_of} - {"country"}
    files = {each.path: pq.ParquetFile(each.path) for each in plan.left}
    lacking = {path for path, file in files.items() if not asked <= {*file.schema_arrow.names}}
    by = ("partitions", "index", "statistics", "filters")
    excluded = sum(getattr(plan, f"files_by_{what}") for what in by)
    of_table = plan.files_without_column - len(lacking)
    assert plan.num_files == excluded + of_table + plan.files_left
    assert of_table == 0 or "table" in options

    # So is each row group of the files that are left, and it has been read, unless nothing matches null.
    groups = sum(file.num_row_groups for file in files.values())
    check_sums(plan)
    unread = plan.files_left - told["files_read"]
    assert 0 <= unread <= len(lacking)
    assert (unread == 0) == (told["row_groups_read"] == plan.row_groups_left)
    if excluded + of_table == 0:
        others = plan.row_groups_by_statistics + plan.row_groups_by_filters
        assert groups == plan.row_groups_left + plan.row_groups_by_index + others

    # What was left out would not have been found.
    every = pb.rows(
        lake,
        {},
        ["a", "b", "n", "country"][: 3 + ("country" in found.column_names)],
        **{name: value for name, value in options.items() if name == "table"},
    )
    assert found.num_rows == sum(matches(row, filters) for row in every.to_pylist())


def check_sums(plan: pb.ReadPlan) -> None:
    """That each row group of each file is in one place, as in the table that notebooks show."""
    of_files: dict[str, list[Any]] = {}
    for each in plan.row_groups:
        of_files.setdefault(each.path, []).append(each)
    assert len(of_files) == plan.num_files
    for path, shares in of_files.items():
        if shares[0].row_groups is None:
            (closed,) = shares
            assert (closed.rows, closed.bytes) == (None, Path(path).stat().st_size)
            continue
        metadata = pq.read_metadata(path)
        numbers = sorted(number for each in shares for number in each.row_groups)
        assert numbers == [*range(metadata.num_row_groups)]
        assert sum(each.rows for each in shares) == metadata.num_rows
        assert sum(each.bytes for each in shares) == chunk_bytes(Path(path))
    for by in ("index", "statistics", "filters"):
        some = [len(each.row_groups or ()) for each in plan.excluded if each.excluded_by == by]
        assert sum(some) == getattr(plan, f"row_groups_by_{by}")
    _, *rows = tables_in(plan)[0]
    for cells in zip(*(row[1:] for row in rows), strict=True):
        every, *parts = (int(cell.replace(",", "")) if cell else None for cell in cells)
        assert every == (None if None in parts else sum(parts))


def matches(row: dict[str, Any], filters: Any) -> bool:
    compare = {
        "==": lambda held, value: held == value,
        "!=": lambda held, value: held is not None and held != value,
        "<=": lambda held, value: held is not None and held <= value,
        "in": lambda held, value: held in value,
        "not in": lambda held, value: held not in value,
    }
    return any(
        all(compare[how](row[column], value) for column, how, value in all_of) for all_of in filters
    )
