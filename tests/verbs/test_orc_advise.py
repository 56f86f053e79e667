"""`pbloom advise` on ORC files: the look-up model against brute force, and the verdicts."""

import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from make.commands import outcome
from make.orc_advice_files import (
    GROUPS,
    ROWS,
    STRIDE,
    TYPES,
    column,
    fpps_of,
    write,
    write_column,
)
from make.orc_defects import empty, encrypted
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.advice.orc_survey import OrcSurveyor, spread
from parquet_bloom.files import open_file
from parquet_bloom.native import _kernel
from parquet_bloom.verbs.advise import advise


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# ------------------------------------------------------------------------------------------------
# The model


def expected(values, fpps, low_of=min, high_of=max):
    """Index groups that look-ups of all distinct values read, by brute force."""
    groups = [values[start : start + STRIDE] for start in range(0, len(values), STRIDE)]
    groups = [[value for value in group if value is not None] for group in groups]
    by_statistics, with_filter = [], []
    for value in {value for group in groups for value in group}:
        around = [low_of(group) <= value <= high_of(group) for group in groups]
        held = [value in group for group in groups]
        by_statistics.append(sum(around))
        reads = [
            1 if is_held else fpp
            for is_around, is_held, fpp in zip(around, held, fpps, strict=True)
            if is_around
        ]
        with_filter.append(sum(reads))
    return np.mean(by_statistics), np.mean(with_filter), sum(fpps)


@pytest.mark.parametrize("kind", TYPES)
def test_reads_by_statistics_and_with_filters(kind):
    """Against brute force, with nulls; statistics are those that the writer stored."""
    type, values = TYPES[kind]
    values = [None if row % 13 == 5 else value for row, value in enumerate(values)]
    write_column(type, values)
    (found,) = advise("a.orc").columns
    by_statistics, with_filter, if_absent = expected(values, fpps_of("a.orc", "x"))
    assert found.physical_type == kind
    assert found.num_values == sum(value is not None for value in values)
    assert (found.ndv, found.ndv_exact) == (len(set(values)) - 1, True)
    assert (found.groups, found.values_asked) == (GROUPS, found.ndv)
    assert 1.5 < by_statistics < GROUPS - 1
    assert found.groups_statistics == pytest.approx(by_statistics)
    assert found.groups_filter == pytest.approx(with_filter)
    assert found.groups_filter_absent == pytest.approx(if_absent * by_statistics / GROUPS, rel=0.5)


def test_the_sizes_are_those_that_build_writes():
    write(compression="uncompressed")
    report = advise("a.orc", fpp=0.05)
    built = pb.build("a.orc", "b.orc", columns=["id", "low"], fpp=0.05)
    for filters in built.filters:
        advice = column(report, filters.column)
        assert advice.filter_bytes == filters.length
        assert advice.filter_share == advice.filter_bytes / report.size
        with open_file("a.orc") as file:
            column_id = file.column(filters.column).id
            (data,) = file.stripe(0).streams_of(column_id, (1,))
        assert advice.chunk_bytes == data.length
    assert (report.num_rows, report.num_groups, report.fpp) == (ROWS, GROUPS, 0.05)


def test_index_groups_without_values():
    """They get filters all the same, unless the whole stripe has none."""
    values = [None] * 3 * STRIDE + list(range(ROWS - 3 * STRIDE))
    write(x=pa.array(values, pa.int64()), none=pa.nulls(ROWS, pa.int64()))
    report = advise("a.orc")
    x = column(report, "x")
    (built,) = pb.build("a.orc", "b.orc", columns=["x"]).filters
    assert x.groups == GROUPS - 3
    assert built.num_filters == GROUPS
    # In a compressed file, 3 bytes precede what does not get smaller.
    assert x.filter_bytes == built.length
    none = column(report, "none")
    assert (none.reason, none.filter_bytes, none.settings) == ("no non-null values", 0, ())


@pytest.mark.parametrize(
    ("every", "with_nan", "verdict"), [(1, GROUPS, "skip"), (2, GROUPS // 2, "optional")]
)
def test_filters_of_index_groups_with_a_nan_are_not_asked(every, with_nan, verdict):
    values = np.random.default_rng(2).permutation(ROWS) / 7
    values[: GROUPS * STRIDE : every * STRIDE] = np.nan
    write(x=pa.array(values))
    report = advise("a.orc")
    (found,) = report.columns
    assert found.verdict == verdict
    groups = f"{with_nan} index groups have a NaN, where engines do not ask the filter"
    assert groups in found.reason
    # Of a value that is not stored, a filter leaves no more than these.
    assert found.groups_filter_absent == pytest.approx(with_nan, abs=0.2)
    note = f"column x: ignored by ORC Java and C++ in {with_nan} index groups: the sum is NaN"
    assert note in pb.build("a.orc", "b.orc", columns=["x"]).notes
    there = advise("b.orc").columns[0]
    assert (there.verdict, groups in there.reason) == (verdict, True)
    findings = pb.validate("b.orc").findings
    assert {(each.rule, each.message) for each in findings} == (
        {("PB621", "the sum is NaN in every index group")} if every == 1 else set()
    )


def test_many_distinct_values_are_estimated():
    """Counting goes by hashes, and those of ORC do not lie evenly."""
    for values in (np.arange(60_000), np.arange(60_000) - 30_000, np.arange(60_000) << 32):
        hashes = spread(_kernel.wang(values.astype(np.int64)))
        assert np.unique(hashes).size == 60_000
        counts = np.bincount((hashes >> np.uint64(60)).astype(np.int64), minlength=16)
        assert np.abs(counts / (60_000 / 16) - 1).max() < 0.1
    write(rows=60_000, stride=10_000)
    found = column(advise("a.orc", columns=["id"]), "id")
    assert not found.ndv_exact
    assert abs(found.ndv - 60_000) < 3 * found.ndv_error * 60_000
    assert (found.group_ndv, found.values_asked) == (10_000, OrcSurveyor.num_drawn)


def test_every_index_group_of_a_stripe_is_asked_for_the_values():
    values = np.random.default_rng(8).integers(0, 3000, 40_000)
    write(stride=1000, x=values)
    (found,) = advise("a.orc").columns
    groups = [set(values[start : start + 1000].tolist()) for start in range(0, 40_000, 1000)]
    held = np.mean([sum(value in group for group in groups) for value in set(values.tolist())])
    assert (found.ndv, found.values_asked) == (3000, OrcSurveyor.num_drawn)
    assert found.groups_filter == pytest.approx(held, rel=0.03)


def test_values_drawn_from_many_stripes_are_the_same():
    """Stripes are read by several threads; one thread finds no others."""
    random = np.random.default_rng(3)
    values = random.integers(0, 30_000, 40_000)
    orc.write_table(pa.table({"x": values}), "a.orc", row_index_stride=1000, stripe_size=1,
                    batch_size=8000, bloom_filter_columns=[1])  # fmt: skip
    with pb.open("a.orc") as file:
        assert file.num_stripes > 3
    one, several = (advise("a.orc", threads=threads).columns for threads in (1, 4))
    assert one == several
    (found,) = one
    groups = [set(values[start : start + 1000].tolist()) for start in range(0, 40_000, 1000)]
    held = np.mean([sum(value in group for group in groups) for value in set(values.tolist())])
    assert found.groups_filter == pytest.approx(held + 0.01 * (40 - held), rel=0.03)
    assert found.already == 40
    assert found.groups_filter_there == pytest.approx(held + 0.05 * (40 - held), rel=0.1)
    assert found.reason.startswith(
        "every index group already has a filter, and today a look-up reads about "
    )


# ------------------------------------------------------------------------------------------------
# Verdicts


def test_verdicts_speak_of_index_groups():
    report = advise(write())
    assert report.recommended == ("id",)
    said = {advice.column: (advice.verdict, advice.reason) for advice in report.columns}
    assert re.fullmatch(
        r"a look-up reads 1\.\d\d of 12 index groups with a filter, 12 with min/max alone; .*",
        said["id"][1],
    )
    assert said["seq"] == (
        "skip",
        "min/max alone leaves 1.00 of 12 index groups to read, so a filter would save nothing",
    )
    assert said["low"][0] == "skip"
    assert "row group" not in str(said)


def test_one_index_group_alone():
    write(stride=10_000)
    said = column(advise("a.orc"), "id")
    assert said.verdict == "optional"
    assert said.reason.startswith("one index group: a filter can only say that a value is not in")
    low = column(advise("a.orc"), "low")
    assert low.reason == "one index group with 5 distinct values"


NEVER = {
    "BOOLEAN": pa.array([True, False] * (ROWS // 2)),
    "LIST": pa.array([[1]] * ROWS),
    "STRUCT": pa.array([{"a": 1}] * ROWS),
}


@pytest.mark.parametrize("kind", NEVER)
def test_what_cannot_have_filters(kind):
    report = advise(write(x=NEVER[kind]))
    found = column(report, "x")
    assert (found.verdict, found.eligible, found.ndv, found.settings) == ("skip", False, None, ())
    assert found.reason.startswith(f"{kind}: ")
    assert found.num_values == ROWS


def test_what_no_reader_asks():
    values = [str(number).encode() for number in np.random.default_rng(6).permutation(ROWS)]
    lists = pa.array([[number] for number in range(ROWS)], pa.list_(pa.int64()))
    report = advise(write(b=pa.array(values, pa.binary()), l=lists))
    for name, reason in (
        ("b", "no predicate on BINARY uses a filter"),
        ("l._elem", "predicates on elements of lists and maps are not pushed down"),
    ):  # fmt: skip
        found = column(report, name)
        assert (found.verdict, found.reason) == (
            "skip", f"no engine uses filters on such a column: {reason}"
        )  # fmt: skip
        assert [(use.engine, use.uses, use.reason) for use in found.engines] == [
            ("ORC Java", False, reason),
            ("Spark", False, reason),
            ("ORC C++", False, reason),
            ("pyarrow", False, "its reader takes no predicates"),
        ]


@pytest.mark.parametrize("kind", ["double", "decimal(9,2)", "timestamp"])
def test_what_is_seldom_looked_up(kind):
    number = np.random.default_rng(7).permutation(ROWS)
    array = {
        "double": pa.array(number / 7),
        "decimal(9,2)": pa.array([Decimal(int(one)).scaleb(-2) for one in number]).cast(
            pa.decimal128(9, 2)
        ),
        "timestamp": pa.array(number * 10**9, pa.timestamp("us")),
    }[kind]
    (found,) = advise(write(x=array)).columns
    assert found.verdict == "optional"
    assert "are rarely looked up by equality" in found.reason


def test_members_of_structs_are_judged():
    members = [{"id": int(one), "s": "x"} for one in np.random.default_rng(2).permutation(ROWS)]
    report = advise(write(user=pa.array(members)))
    assert report.recommended == ("user.id",)
    assert [advice.column for advice in report.columns] == ["user", "user.id", "user.s"]


def test_without_a_row_index_there_is_nothing_to_skip():
    write_column("bigint", range(1000), stride=0)
    (found,) = advise("a.orc").columns
    assert (found.verdict, found.eligible, found.num_values) == ("skip", False, 1000)
    assert found.reason == (
        "stripe 0, column x: no row index, without which readers ignore filters"
    )
    result = outcome("build", "a.orc", "--auto", "-o", "b.orc")
    assert "no column that advise would build" in result.stderr


def test_files_with_encrypted_columns_get_no_filters():
    Path("a.orc").write_bytes(encrypted())
    assert {(advice.verdict, advice.reason) for advice in advise("a.orc").columns} == {
        ("skip", "has encrypted columns: the filters of such ORC files cannot be changed")
    }


def test_a_file_without_rows():
    report = advise(write(x=pa.array([], pa.int64())))
    assert (report.num_groups, report.columns[0].reason) == (0, "no non-null values")


def test_max_bytes_is_refused():
    write(x=pa.array(range(10)))
    with pytest.raises(
        pb.UnsupportedError, match=r"^a\.orc: max_bytes is not supported for ORC files$"
    ):
        advise("a.orc", max_bytes=1 << 20)
    result = outcome("advise", "a.orc", "--max-bytes", "1MiB")
    assert (result.code, result.stderr) == (
        2, "pbloom: a.orc: --max-bytes is not supported for ORC files\n",
    )  # fmt: skip


def test_stripes_of_few_rows_get_filters_for_full_index_groups(tmp_path):
    """As ORC Java sizes them, and `build`, unless it is told how many values to expect."""
    numbers = np.random.default_rng(1).permutation(1 << 20)[:8_192]
    source, built = tmp_path / "in.orc", tmp_path / "out.orc"
    with orc.ORCWriter(source, stripe_size=1, batch_size=1_024) as writer:
        for at in range(0, len(numbers), 1_024):
            writer.write(pa.table({"id": numbers[at : at + 1_024]}))
    (advice,) = pb.advise(source).columns
    report = pb.build(source, built, columns="id")
    assert [filter.num_values for filter in report.filters] == [1_024] * 8
    assert advice.filter_bytes == sum(each.length for each in report.filters)
    assert sum(each.num_bytes for each in report.filters) == 8 * 11_984
    small = pb.build(source, built, columns="id", ndv=1_024, overwrite=True)
    assert sum(each.num_bytes for each in small.filters) == 8 * 1_232


def test_what_an_ndv_saves_where_files_have_index_groups_of_different_sizes(tmp_path):
    rng = np.random.default_rng(2)
    for number, stride in enumerate([1_000, 10_000] * 2):
        table = pa.table({"few": rng.integers(0, 900, 20_000)})
        orc.write_table(
            table, tmp_path / f"{number}.orc", row_index_stride=stride, compression="zstd"
        )
    (advice,) = pb.advise(tmp_path).reports[0].columns
    told = re.search(r"and (\d+) % with --ndv (\d+): no index group", advice.reason)
    built = pb.build(tmp_path, tmp_path / "out", columns="few", ndv=int(told[2]))
    written = sum(filter.length for report in built.reports for filter in report.filters)
    with_room = advice.filter_bytes / float(
        re.search(r"before any compression, are ([\d,.]+) %", advice.reason)[1]
    )
    assert int(told[1]) == pytest.approx(written / with_room, abs=1)


# ------------------------------------------------------------------------------------------------
# Filters that are there, and who loses rows by them


def test_the_size_of_filters_that_are_there_is_told_and_not_that_of_new_ones(tmp_path):
    """Built with `--ndv`, they are small; of large ones, it says what they take and what that would."""
    rng, path = np.random.default_rng(2), tmp_path / "a.orc"
    few = np.concatenate(
        [rng.choice(1 << 15, 900, replace=False)[rng.integers(0, 900, 10_000)] for _ in range(6)]
    )
    orc.write_table(pa.table({"few": few}), path, stripe_size=1, batch_size=10_000)

    def told(**options):
        (advice,) = pb.advise(path, **options).columns
        return advice.to_do, advice.reason.partition("; the filters")[2], advice.lighter_ndv

    assert told()[:2] == (
        "build",
        ", before any compression, are 60 % of the column's size, and 5.5 % with --ndv 900: no index group has more than 900 distinct values",
    )
    pb.build(path, columns="few", in_place=True)
    large = " that are there are 60 % of the column's size, and 5.5 % with --ndv 900: no index group has more than 900"
    assert told() == ("keep", f"{large} distinct values", 900)
    pb.build(path, columns="few", ndv=900, existing="replace", in_place=True)
    assert told() == ("keep", "", None)


def written_for_policy(**columns):
    rng, rows = np.random.default_rng(5), 30_000
    ids = rng.permutation(1 << 20)[:rows]
    table = pa.table({"id": ids, "at": pa.array(ids * 1_000_003, pa.timestamp("us", "UTC"))})
    orc.write_table(table, "a.orc")
    if columns:
        pb.build("a.orc", in_place=True, **columns)


@pytest.mark.parametrize(
    ("fpp", "policy", "verdict", "bound"),
    [
        (0.3, None, "rebuild", "more than 10 % of absent ones pass), unless a budget chose them"),
        (0.3, {"max_fpp": 0.5}, "keep", ""),
        (0.03, None, "keep", ""),
        (
            0.03,
            {"max_fpp": 0.01},
            "rebuild",
            "more than 1 % of absent ones pass, the most that the policy accepts)",
        ),
        # As good as can be.
        (0.01, {"max_fpp": 0.01}, "keep", ""),
        (0.01, {"max_fpp": 0.001}, "rebuild", "more than 0.1 % of absent ones pass, "),
    ],
)
def test_filters_that_let_too_much_through_are_built_again(fpp, policy, verdict, bound):
    written_for_policy(columns=["id"], fpp=fpp)
    given = {"policy": pb.Policy(**policy)} if policy else {}
    report = pb.advise("a.orc", columns="id", **given)
    (found,) = report.columns
    assert (found.to_do, found.too_small) == (verdict, 3 * (verdict == "rebuild"))
    assert (
        f"3 index groups have filters that are too small for the values ({bound}" in found.reason
        or not bound
    )
    pb.build("a.orc", in_place=True, advice=report, existing="replace")
    (again,) = pb.advise("a.orc", columns="id", **given).columns
    assert again.to_do == "keep"


def test_what_a_budget_has_built_is_kept_within_it():
    """Bits let through a little more or less than their rate, which at 50 % would be an error."""
    written_for_policy()
    given = {"columns": "id", "budget": 15_000}
    planned = pb.advise("a.orc", **given)
    assert [each.fpp for each in planned.budget.columns] == [0.3]
    built = pb.build("a.orc", in_place=True, advice=planned)
    assert max(each.fpp for each in built.filters) > 0.3
    assert pb.validate("a.orc").ok
    again = pb.advise("a.orc", **given)
    assert (again.columns[0].to_do, again.budget.columns) == ("keep", ())
    assert again.columns[0].filter_bytes_there == planned.budget.used


@pytest.mark.parametrize("codec", ["uncompressed", "zlib", "zstd", "lz4"])
def test_a_budget_also_pays_for_the_heads_of_what_is_not_compressed(codec, tmp_path):
    """There is one for each 64 KiB, and nothing makes half-full filters smaller."""
    numbers = np.random.default_rng(4).integers(0, 1 << 60, 80_000)
    path, out = tmp_path / "in.orc", tmp_path / "out.orc"
    given = {"compression": codec, "compression_block_size": 1 << 16, "row_index_stride": 5_000}
    orc.write_table(pa.table({"id": numbers}), path, **given)
    plan = pb.advise(path, budget=1 << 20).budget
    # Not a byte less would do.
    assert pb.advise(path, budget=plan.used - 1).budget.used < plan.used
    built = pb.build(path, out, advice=pb.advise(path, budget=plan.used))
    assert sum(each.length for each in built.filters) == plan.used


def test_who_loses_rows_is_noted():
    written_for_policy()
    loses = (
        "ORC Java loses rows even with correct filters where its time zone is not UTC: it looks up the"
        " local time in place of the instant"
    )
    id, at = pb.advise("a.orc").columns
    assert {use.engine: use.loses for use in at.engines if use.loses} == {"ORC Java": loses}
    assert not any(use.loses for use in id.engines)
    Path("at.txt").write_text("1970-01-02 00:00:00Z\n")
    asked = "advise", "a.orc", "-c", "at", "--value-sample", "at.txt"
    assert f"note: column at: {loses}\n" in outcome(*asked).stdout
    assert "note:" not in outcome(*asked, "--engine", "ORC C++").stdout
    # Those that may be built, too: points in time are optional.
    found = outcome("advise", "a.orc", "-c", "at")
    assert ("\toptional\t" in found.stdout, f"note: column at: {loses}\n" in found.stdout) == (
        True,
        True,
    )


def test_filters_of_types_that_get_none_are_to_be_stripped(tmp_path):
    """Some writers have them nevertheless; of one without any, there is nothing to strip."""
    path = tmp_path / "a.orc"
    flags, lists = [True, False] * 1000, [[n] for n in range(2000)]
    columns = {"ok": flags, "st": [{"a": n} for n in range(2000)], "tags": lists, "none": flags}
    orc.write_table(pa.table(columns), path, row_index_stride=1000, bloom_filter_columns=[1, 2, 4])
    advice = {each.column: each for each in pb.advise(path).columns}
    strip = "2 index groups have filters, which pbloom strip removes"
    assert advice["ok"].reason == (
        f"BOOLEAN: filters of ORC Java are empty, those of ORC C++ wrong; {strip}"
    )
    assert advice["st"].reason == f"STRUCT: its filters are empty; {strip}"
    assert advice["tags"].reason == (
        "LIST: its filters hash only the number of elements; the elements are column tags._elem; "
        + strip
    )
    assert "strip" not in advice["none"].reason
    assert [each.column for each in advice.values() if each.is_needless] == ["ok", "st", "tags"]


def test_filters_that_cannot_be_read_are_those_of_a_whole_stripe(tmp_path):
    path = tmp_path / "a.orc"
    numbers = np.random.default_rng(6).permutation(6_000)
    orc.write_table(pa.table({"a": numbers}), path, row_index_stride=1_000)
    pb.build(path, columns="a", in_place=True)
    start = pb.inspect(path).parts[0].columns[0].filter.offset
    data = bytearray(path.read_bytes())
    data[start : start + 8] = b"\xff" * 8
    path.write_bytes(data)
    (found,) = pb.advise(path).columns
    assert (found.already, found.unreadable, found.to_do) == (6, 6, "rebuild")
    assert found.reason.startswith("6 index groups have filters that cannot be used: ")


def test_a_filter_without_a_bit_for_its_values_is_to_be_repaired(tmp_path):
    path = tmp_path / "a.orc"
    path.write_bytes(empty())
    found = pb.advise(path).columns[0]
    assert (found.already, found.unreadable, found.to_do) == (4, 1, "rebuild")
    # That index group is read, and of the others those that hold the value or pass.
    assert found.groups_filter_there == pytest.approx(1.7586, abs=0.0001)
