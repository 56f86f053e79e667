"""Advice that was followed: asked again with the same options, nothing is to be done."""

import shlex
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from make.commands import outcome

import parquet_bloom as pb

FILES, ROWS, GROUP = 6, 2_000, 500


@pytest.fixture(scope="module", params=["parquet", "orc"])
def lake(request, tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp(request.param), np.random.default_rng(7)
    for number in range(FILES):
        table = pa.table(
            {
                "order id": rng.integers(0, 1 << 60, ROWS),
                "session": [f"s-{each:x}" for each in rng.integers(0, 1 << 40, ROWS)],
                "user": rng.integers(0, 5_000, ROWS) * 7919,
                "day": np.full(ROWS, number),
                "amount": rng.random(ROWS),
            }
        )
        if request.param == "parquet":
            pq.write_table(table, folder / f"{number}.parquet", row_group_size=GROUP)
        else:
            po.write_table(table, folder / f"{number}.orc", row_index_stride=GROUP)
    return folder


# What was built before the advice, and from which files on.
BEFORE = {
    "nothing": [],
    "one column, in full": [(0, ("-c", "order id", "--fpp", "0.0001"))],
    "one that nobody would build": [(0, ("-c", "amount"))],
    "some files": [(3, ("-c", "session,user", "--fpp", "0.001"))],
    "what excludes little": [(0, ("-c", "user,session", "--fpp", "0.9"))],
}
OPTIONS = {
    "plain": (),
    "a rate": ("--fpp", "0.2"),
    "a low rate": ("--fpp", "0.0001"),
    "an engine": ("--engine", "duckdb"),
    "a column": ("-c", "user,amount"),
    "a small budget": ("--budget", "7000"),
    "a budget": ("--budget", "30000"),
    "a large budget": ("--budget", "1MiB"),
    "a budget and a rate": ("--budget", "30000", "--fpp", "0.05"),
}


def copy_of(lake, before, folder):
    shutil.copytree(lake, folder)
    for first, arguments in BEFORE[before]:
        paths = sorted(folder.iterdir())[first:]
        assert outcome("build", *paths, *arguments, "--in-place").code == 0
    return folder


def next_commands(lines):
    return [line.removeprefix("next: ") for line in lines if line.startswith("next: ")]


@pytest.mark.every(4)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("options", OPTIONS)
def test_nothing_is_to_be_done_once_advice_was_followed(lake, tmp_path, before, options):
    folder = copy_of(lake, before, tmp_path / "lake")
    advise = ("advise", folder, *OPTIONS[options])
    for command in next_commands(outcome(*advise).stdout.splitlines()):
        name, *arguments = shlex.split(command)
        result = outcome(*arguments)
        assert (name, result.code) == ("pbloom", 0)
    lines = outcome(*advise).stdout.splitlines()
    verdicts = {row[2] for row in (line.split("\t") for line in lines) if len(row) > 2}
    assert next_commands(lines) == []
    assert not {"build", "rebuild"} & verdicts


def filters_of(folder, column):
    """What tells the filters of a column from others of it."""
    return [
        (each.filter_bytes, each.filter.fpp)
        for path in sorted(folder.iterdir())
        for part in pb.inspect(path, columns=column).parts
        for each in part.columns
    ]


def bytes_of(folder):
    return sum(pb.inspect(path).filter_bytes for path in folder.iterdir())


@pytest.mark.every(3)
@pytest.mark.parametrize("budget", [7_000, 30_000, 1 << 20])
@pytest.mark.parametrize("before", [name for name in BEFORE if name != "what excludes little"])
def test_filters_that_stay_count(lake, tmp_path, before, budget):
    """What is used is what is there in the end, to the byte, and above the budget only where it was before."""
    folder = copy_of(lake, before, tmp_path / "lake")
    there = bytes_of(folder)
    advised, *_ = pb.advise(folder, budget=budget).reports
    result = outcome("build", folder, "--auto", "--budget", budget, "--in-place")
    assert result.code == 0
    assert advised.budget.used == bytes_of(folder) <= max(budget, there)
    again, *_ = pb.advise(folder, budget=budget).reports
    assert (again.budget.used, again.budget.columns) == (advised.budget.used, ())
    assert sum(each.filter_bytes for each in again.budget.kept) == again.budget.used


@pytest.mark.parametrize("existing", ["keep", "replace"])
def test_filters_of_columns_that_are_not_named_count(lake, tmp_path, existing):
    """They stay, and what is named gets what they leave of the budget; only its own are given back."""
    folder = copy_of(lake, "one column, in full", tmp_path / "lake")
    there = bytes_of(folder)
    budget = there + 10_000
    named = {"columns": "user", "budget": budget}
    few = ("-c", "user", "--budget", budget)
    (first,) = pb.advise(folder, **named).reports
    assert [(each.column, each.filter_bytes) for each in first.budget.kept] == [("order id", there)]
    assert (first.budget.there, [each.column for each in first.columns]) == (there, ["user"])
    assert outcome("build", folder, "--auto", *few, "--in-place").code == 0
    assert there < bytes_of(folder) == first.budget.used <= budget
    (again,) = pb.advise(folder, **named, existing=existing).reports
    assert (again.budget.there, again.budget.used) == (first.budget.used, first.budget.used)
    more = {"columns": "user", "budget": 2 * budget, "existing": existing}
    (larger,) = pb.advise(folder, **more).reports
    ready = ("--existing", existing, "--in-place")
    assert outcome("build", folder, "--auto", *few[:-1], 2 * budget, *ready).code == 0
    assert bytes_of(folder) == larger.budget.used <= 2 * budget
    assert (bytes_of(folder) > first.budget.used) == (existing == "replace")
    assert sum(size for size, _ in filters_of(folder, "order id")) == there


def test_what_others_leave_is_too_little(lake, tmp_path):
    folder = copy_of(lake, "one column, in full", tmp_path / "lake")
    named = ("advise", folder, "-c", "user", "--budget")
    told = outcome(*named, bytes_of(folder) + 1_000).stdout
    assert "; the budget is too small\n" in told
    assert "\nuser: left out: needs at least " in told
    assert ", and 1,000 of the budget are left\n" in told
    assert "next: " not in told
    assert "-c COLUMN" not in told
    enough = next(line for line in told.splitlines() if " has room for all of them" in line)
    assert "; build filters for user" in outcome(*named, enough.split()[1]).stdout


def test_what_others_leave_is_enough_for_one_of_several(lake, tmp_path):
    """Whoever names it gets it."""
    folder = copy_of(lake, "one column, in full", tmp_path / "lake")
    probed = pb.advise(folder, budget=bytes_of(folder) + 100).reports[0].budget
    needs = {each.column: each.needs for each in probed.left_out}
    budget = bytes_of(folder) + max(needs.values())
    told = outcome("advise", folder, "--budget", budget).stdout.splitlines()
    hint = "with -c COLUMN, that column alone gets what the filters that stay leave of the budget"
    assert hint in told
    (left_out,) = (line.partition(": ")[0] for line in told if ": left out: " in line)
    alone = outcome("advise", folder, "--budget", budget, "-c", left_out).stdout
    assert f"; build filters for {left_out}" in alone


@pytest.mark.parametrize("name", ["a.parquet", "a.orc"])
def test_filters_of_other_parts_count(tmp_path, name):
    """Those of the column that is asked about, too."""
    path, out = tmp_path / name, tmp_path / f"b.{name}"
    rows = pa.table({"id": np.random.default_rng(8).permutation(60_000)})
    if name == "a.parquet":
        pq.write_table(rows, path, row_group_size=20_000)
    else:
        po.write_table(rows, path, stripe_size=1 << 16, batch_size=1_000)
    pb.build(path, out, columns="id")
    parts = [each.columns[0].filter_bytes for each in pb.inspect(out).parts]
    assert len(parts) > 1
    plan = pb.advise(out, row_groups=[0], budget=1 << 20).budget
    assert plan.there == plan.used == sum(parts)
    assert [each.filter_bytes for each in plan.kept] == [sum(parts)]


def test_filters_that_are_to_stay_are_not_replaced_with_others(lake, tmp_path):
    """What a budget chose is named where only some of it is built again."""
    folder = copy_of(lake, "nothing", tmp_path / "lake")
    for columns, rate in (("user", "0.9"), ("session", "0.05")):
        assert outcome("build", folder, "-c", columns, "--fpp", rate, "--in-place").code == 0
    advise = ("advise", folder, "--budget", "30000")
    planned = pb.advise(folder, budget=30_000).reports[0].budget
    assert [each.column for each in planned.kept] == ["session"]
    rates = {each.column: each.fpp for each in planned.columns}
    assert {"order id", "user"} == rates.keys()
    there = filters_of(folder, "session")
    commands = [shlex.split(each) for each in next_commands(outcome(*advise).stdout.splitlines())]
    for columns, replaces in ((["order id"], False), (["user"], True)):
        at_rate = ["--fpp", repr(rates[columns[0]])]
        replacing = ["--existing", "replace"] * replaces
        named = ["-c", *columns, "--in-place", *at_rate, *replacing]
        assert ["pbloom", "build", str(folder), *named] in commands
    for _, *arguments in commands:
        assert outcome(*arguments).code == 0
    assert filters_of(folder, "session") == there
    assert bytes_of(folder) == planned.used


@pytest.mark.every(3)
@pytest.mark.parametrize("budget", [7_000, 30_000])
@pytest.mark.parametrize("before", BEFORE)
def test_filters_that_are_replaced_do_not_count(lake, tmp_path, before, budget):
    """Columns that have filters have some in the end, at the highest rate if need be."""
    folder = copy_of(lake, before, tmp_path / "lake")
    there = bytes_of(folder)
    build = ("build", folder, "--auto", "--budget", budget, "--existing", "replace", "--in-place")
    assert outcome(*build).code == 0
    (report,) = pb.advise(folder, budget=budget).reports
    assert report.budget.used == bytes_of(folder)
    assert report.budget.used <= max(budget, there)
    if before == "one column, in full":
        assert report.budget.used <= budget


def test_a_column_is_kept_or_left_out_but_never_both(lake, tmp_path):
    folder = copy_of(lake, "one column, in full", tmp_path / "lake")
    there = pb.advise(folder, budget=1 << 20).reports[0].budget.kept[0].filter_bytes
    heading, used, *lines = outcome("advise", folder, "--budget", "10000").stdout.splitlines()
    assert heading.endswith("; keep the filters of order id")
    assert used == (
        f"{there / 1024:.1f} KiB used, across all files: more than the 9.8 KiB budget; strip"
        " removes filters that are there, build does not"
    )
    said = [line for line in lines if line.startswith("order id: ")]
    assert said == [
        f"order id: filters that are there stay, and take {there / 1024:.1f} KiB",
    ]
