"""A budget for filters: never exceeded, and never far from the best choice."""

import itertools
import json
import random
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from make.commands import outcome

import parquet_bloom as pb
from parquet_bloom.advice.budget import (
    LEAST_SAVED,
    RATES,
    Claim,
    Offer,
    allot,
    enough_for_all,
    highest_rate,
    offers_of,
    rates_of,
    settle,
)
from parquet_bloom.advice.lookups import ExpectedReads, in_units
from parquet_bloom.advice.samples import StoredSample
from parquet_bloom.advice.sketch import ColumnSketch, RungCounts
from parquet_bloom.filters.rates import exact_percent, percent
from parquet_bloom.options import AdviseOptions, BuildOptions, Destination
from parquet_bloom.render.wording import size
from parquet_bloom.verbs.build import build_file


def ladder(*rungs):
    return tuple(Offer(0.1, num_bytes, 0.0, saved, 0.1) for num_bytes, saved in rungs)


def saved(taken):
    return sum(offer.saved for offer in taken if offer)


def taken_bytes(taken):
    return sum(offer.num_bytes for offer in taken if offer)


def best(budget, ladders):
    choices = itertools.product(*((None, *each) for each in ladders))
    return max(saved(taken) for taken in choices if taken_bytes(taken) <= budget)


def test_what_saves_most_is_taken():
    ladders = [ladder((10, 50), (20, 60)), ladder((10, 40), (20, 75))]
    assert [offer and offer.num_bytes for offer in allot(20, ladders)] == [10, 10]
    assert [offer and offer.num_bytes for offer in allot(30, ladders)] == [10, 20]
    assert [offer and offer.num_bytes for offer in allot(9, ladders)] == [None, None]
    assert [offer and offer.num_bytes for offer in allot(99, ladders)] == [20, 20]


def test_a_small_step_does_not_shut_out_a_large_one():
    """The trap of every greedy choice: best by the byte, and next to nothing."""
    ladders = [ladder((1, 2)), ladder((1000, 1000))]
    assert saved(allot(1000, ladders)) == 1000


def test_what_is_left_is_used():
    """The second step of the first does not fit, its third way does."""
    ladders = [ladder((10, 100), (14, 101)), ladder((20, 90))]
    assert [offer and offer.num_bytes for offer in allot(25, ladders)] == [14, None]


def small_ladders(draw):
    for _ in range(draw.randint(1, 5)):
        sizes = sorted(draw.sample(range(1, 60), draw.randint(1, 4)))
        gains = sorted(draw.sample(range(1, 200), len(sizes)))
        yield ladder(*zip(sizes, gains, strict=True))


@pytest.mark.parametrize("seed", range(300))
def test_the_best_within_a_budget_of_few_bytes(seed):
    draw = random.Random(seed)
    ladders = list(small_ladders(draw))
    budget = draw.randint(1, 120)
    taken = allot(budget, ladders)
    assert taken_bytes(taken) <= budget
    assert all(offer is None or offer in of for offer, of in zip(taken, ladders, strict=True))
    assert saved(taken) == best(budget, ladders)
    assert taken == allot(budget, ladders)


def test_hardly_less_than_the_best_within_a_budget_of_many_bytes():
    """More than there are cells."""
    shares = []
    for seed in range(200):
        draw = random.Random(seed)
        ladders = [
            ladder(*((2**k * size, gain * (1 - 0.4**k)) for k in range(1, 5)))
            for size, gain in (
                (draw.randint(5_000, 30_000), draw.randint(1, 100)) for _ in range(4)
            )
        ]
        budget = draw.randint(60_000, 900_000)
        if (most := best(budget, ladders)) > 0:
            shares.append(saved(allot(budget, ladders)) / most)
    assert np.mean(shares) > 0.9999
    assert min(shares) > 0.99


def test_of_many_columns_neither_the_small_ones_nor_a_large_one_is_shut_out():
    """What small ones take is rounded up to much more than all of them need."""
    many = [ladder((1, 1))] * 3_000
    assert saved(allot(6_000, many)) == 3_000
    large = ladder((6_000, 4_000))
    assert saved(allot(6_000, [*many, large])) == 4_000


@pytest.mark.parametrize("highest", [1.0, 0.01, 0.001])
@pytest.mark.parametrize("seed", range(10))
def test_what_is_enough_for_all_is_and_hardly_less_would_be(seed, highest):
    """At a rate of at most `highest`, or the lowest of the ladder."""
    draw = random.Random(seed)
    claims = [
        Claim(
            tuple(
                replace(offer, num_bytes=100 * offer.num_bytes, rate=rate)
                for offer, rate in zip(of, (0.1, 0.01, 0.001, 0.0001), strict=False)
            ),
            is_required=draw.random() < 0.2,
            beside=draw.choice([0, 500]),
        )
        for of in small_ladders(draw)
    ]
    least = sum(claim.beside + claim.ladder[0].num_bytes for claim in claims)
    goals = [max(highest, claim.ladder[-1].rate) for claim in claims]

    def is_enough(budget):
        pairs = zip(settle(budget, claims), goals, strict=True)
        return all(offer and offer.rate <= goal for offer, goal in pairs)

    enough = enough_for_all(least - 1, claims, highest)
    assert enough >= least
    assert is_enough(enough)
    below = range(enough - 1 - enough // 100, enough)
    assert not all(map(is_enough, below))


def test_what_is_enough_for_all_is_no_more_than_all_need():
    claims = [Claim(ladder((10, 50), (1_000, 60))), Claim(ladder((10, 40)))]
    claims = [
        replace(claim, ladder=tuple(replace(one, rate=1 / one.num_bytes) for one in claim.ladder))
        for claim in claims
    ]
    assert enough_for_all(15, claims) == 20


def column_of(rungs, groups=10, chunk_bytes=10_000):
    column = ColumnSketch(StoredSample(is_ordered=True))
    column.counts = replace(column.counts, groups=groups, chunk_bytes=chunk_bytes)
    column.rungs = {rate: RungCounts(rate, size, in_units(fpp)) for rate, size, fpp in rungs}
    return column


READS = ExpectedReads(100, 100, 10.0, 1.09, 0.1, 1.0, 1.0, 10.0)


def test_a_ladder_says_what_each_rate_reads():
    rungs = [(0.1, 400, 1.0), (0.01, 800, 0.1), (0.5, 200, 5.0)]
    found = offers_of(column_of(rungs), READS)
    assert [(offer.rate, offer.num_bytes) for offer in found] == [
        (0.5, 200),
        (0.1, 400),
        (0.01, 800),
    ]
    # 1 holds the value, and of the other 9 as many are read as the mean FPP says.
    assert [offer.groups_read for offer in found] == pytest.approx([5.5, 1.9, 1.09])
    assert [offer.saved for offer in found] == pytest.approx([4.5, 8.1, 8.91])


def test_a_ladder_leaves_out_what_nobody_would_take():
    rungs = [
        *((0.5, 0, 10.0), (0.3, 100, 1.0), (0.1, 100, 1.0)),
        *((0.01, 200, 1.0 - LEAST_SAVED / 2), (0.001, 99_999, 0.001)),
    ]
    (only,) = offers_of(column_of(rungs), READS)
    assert (only.rate, only.num_bytes) == (0.1, 100)


def test_what_is_left_of_a_budget_buys_no_low_rate_that_saves_next_to_nothing():
    rungs = [(0.1, 400, 1.0), (0.01, 800, 0.1), (0.003, 800, 0.1), (0.001, 1600, 0.03)]
    found = offers_of(column_of(rungs), READS)
    # Those of 0.3 % are the same filters.
    assert [offer.rate for offer in found] == [0.1, 0.003]
    rungs[-1] = (0.001, 1600, 0.0)
    (*_, last) = offers_of(
        column_of(rungs), ExpectedReads(100, 100, 100.0, 1.99, 1.0, 1.0, 1.0, 100.0)
    )
    assert last.rate == 0.001


def test_no_filter_outgrows_its_dictionary_but_the_smallest():
    column = column_of([(0.1, 400, 1.0), (0.01, 800, 0.1), (0.001, 1600, 0.0)])
    column.rungs[0.001].past_dictionary_bytes = 801
    found = offers_of(column, ExpectedReads(100, 100, 100.0, 10.9, 9.9, 1.0, 1.0, 100.0))
    assert [offer.rate for offer in found] == [0.1, 0.01]
    for rung in column.rungs.values():
        rung.past_dictionary_bytes = rung.filter_bytes
    (only,) = offers_of(column, READS)
    assert only.rate == 0.1


def test_what_a_budget_builds_is_smaller_than_the_dictionaries(tmp_path):
    """400 of 1,400 customers in each file: 1,024 bytes do, and more would be spent for a tenth of a percent."""
    for number in range(24):
        rng = np.random.default_rng(number)
        few = rng.choice(1_400, 400, replace=False)
        customers = [f"{each:04}" for each in rng.choice(few, 4_000)]
        table = pa.table({"id": rng.integers(0, 1 << 60, 4_000), "customer": customers})
        pq.write_table(table, tmp_path / f"{number}.parquet", use_dictionary=["customer"])
    (table,) = pb.advise(str(tmp_path), columns=["customer"], budget=1 << 20)
    (column,) = table.budget.columns
    assert column.fpp >= 0.003
    assert column.filter_bytes <= 24 * 1024
    pb.build(str(tmp_path), in_place=True, advice=table)
    found = pb.validate(str(tmp_path), columns="customer")
    assert {each.rule for report in found for each in report.findings} & {"PB305"} == set()


@pytest.mark.parametrize("more", [0, 1, 12])
def test_a_tiny_last_row_group_keeps_no_other_from_lower_rates(more, tmp_path):
    """A filter of 32 bytes or more is no smaller than a dictionary of one value, at whatever rate; one of 12 numbers
    outgrows theirs from 64 bytes on."""
    path = tmp_path / "events.parquet"
    numbers = np.random.default_rng(2).integers(0, 1 << 30, 4_000 + more, np.int32)
    pq.write_table(pa.table({"id": numbers}), path, row_group_size=500)
    (column,) = pb.advise(path, budget=1 << 20).budget.columns
    header = 16
    expected = 8 * (1024 + header) + (more and 64 + header)
    assert (column.fpp, column.filter_bytes) == (0.003, expected)


def test_rates_are_those_of_the_ladder_and_the_target():
    assert rates_of(AdviseOptions(), "id") == (0.01, 0.001, 0.0001)
    assert rates_of(AdviseOptions(fpp=0.02), "id") == (0.02,)
    assert rates_of(AdviseOptions(budget=1), "id") == RATES
    assert rates_of(AdviseOptions(budget=1, fpp=0.02), "id") == (0.02,)
    shown = AdviseOptions(budget=1, fpp=0.02, rates=True)
    assert rates_of(shown, "id") == (0.1, 0.02, 0.01, 0.001, 0.0001)


@pytest.mark.parametrize(
    ("options", "rates", "highest"),
    [
        ({}, (0.0005, 0.0001), 0.0005),
        ({"budget": 1}, (0.0005, 0.0003, 0.0001), 0.0005),
        ({"fpp": 0.02}, (0.02,), 0.02),
    ],
)
def test_what_a_policy_accepts_of_a_column_limits_its_ladder(options, rates, highest):
    wanted = AdviseOptions(accepted_rates={None: 0.5, "id": 0.0005}, **options)
    assert rates_of(wanted, "id") == rates
    assert highest_rate(wanted, "id") == highest
    # Of others, it accepts more than is usual.
    assert rates_of(wanted, "time") == rates_of(AdviseOptions(**options), "time")
    assert highest_rate(wanted, "time") == 0.5


# ------------------------------------------------------------------------------------------------
# Of files


@pytest.fixture(scope="module", params=["parquet", "orc"])
def lake(request, tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp(request.param), np.random.default_rng(3)
    for number in range(8):
        rows = 3_000
        table = pa.table(
            {
                "id": rng.integers(0, 1 << 60, rows),
                "text": [f"user-{each:x}" for each in rng.integers(0, 1 << 40, rows)],
                "half": rng.integers(0, 3_000, rows) + (1 << 20),
            }
        )
        if request.param == "parquet":
            pq.write_table(table, folder / f"{number}.parquet", row_group_size=1_500)
        else:
            po.write_table(table, folder / f"{number}.orc", row_index_stride=1_500)
    return folder


def filters_of(folder):
    """By column, the bytes of all filters in these files."""
    found = Counter()
    for path in folder.iterdir():
        report = pb.inspect(path)
        for column in (column for part in report.parts for column in part.columns):
            if column.filter:
                found[column.column] += column.filter_bytes
    return found


@pytest.mark.parametrize("budget", [8_000, 40_000, 150_000, 10_000_000])
def test_what_is_built_takes_what_the_plan_says(lake, tmp_path, budget):
    """To the byte, and no more than the budget."""
    advisor = pb.Advisor(AdviseOptions(budget=budget))
    for path in sorted(lake.iterdir()):
        advisor.add(path)
    (report,) = advisor.tables()
    plan = report.budget
    assert plan.used == sum(each.filter_bytes for each in plan.columns) <= budget
    assert {each.column for each in plan.columns} == set(report.recommended)
    result = outcome("build", lake, "--auto", "--budget", budget, "--output-dir", tmp_path / "out")
    assert result.code == 0
    expected = {each.column: each.filter_bytes for each in plan.columns}
    assert filters_of(tmp_path / "out") == expected


@pytest.mark.parametrize("budget", [8_000, 40_000, 150_000])
def test_what_is_recommended_is_built_by_one_call_within_the_budget(lake, tmp_path, budget):
    """At the rate of each column, as the command builds it, and as the plan says, to the byte."""
    (report,) = pb.advise(lake, budget=budget).reports
    built = pb.build(lake, tmp_path / "out", advice=report)
    assert built.ok
    again = pb.build(lake, tmp_path / "again", advice=pb.advise(lake, budget=budget))
    assert again.ok
    assert filters_of(tmp_path / "again") == filters_of(tmp_path / "out")
    assert filters_of(tmp_path / "out") == {
        each.column: each.filter_bytes for each in report.budget.columns
    }
    assert sum(filters_of(tmp_path / "out").values()) <= budget


def test_a_report_is_built_at_the_rate_that_it_was_asked_for(lake, tmp_path):
    path = min(lake.iterdir())
    out = tmp_path / f"out{path.suffix}"
    report = pb.advise(path, fpp=0.2)
    pb.build(path, out, advice=report)
    sizes = {each.column: each.filter_bytes for each in report.columns if each.verdict == "build"}
    assert Counter({name: filters for name, filters in sizes.items()}) == filters_of(tmp_path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"columns": "id"}, r"^advice: expected neither columns nor fpp with it$"),
        ({"fpp": 0.1}, r"^advice: expected neither columns nor fpp with it$"),
        ({"advice": ("id",)}, r"^advice: \('id',\), expected what advise returned, with a report$"),
    ],
)
def test_advice_that_cannot_be(lake, tmp_path, given, message):
    path = min(lake.iterdir())
    with pytest.raises(TypeError, match=message):
        pb.build(path, tmp_path / "out", **{"advice": pb.advise(path), **given})
    assert list(tmp_path.iterdir()) == []


def test_the_budget_can_be_for_some_columns_alone(lake, tmp_path):
    (report,) = _tables_of(lake, AdviseOptions(budget=40_000))
    *others, left_out = [each.column for each in report.budget.columns]
    (among,) = _tables_of(lake, AdviseOptions(columns=tuple(others), budget=40_000))
    build = ("build", lake, "--auto", "-c", ",".join(others), "--budget", 40_000)
    assert outcome(*build, "--output-dir", tmp_path / "out").code == 0
    assert filters_of(tmp_path / "out") == {
        each.column: each.filter_bytes for each in among.budget.columns
    }
    assert left_out not in filters_of(tmp_path / "out")


@pytest.mark.parametrize("rates", [False, True])
def test_a_rate_that_is_asked_for_stays_within_a_budget(lake, rates):
    """Columns for which there is no room at this rate are left out, as no others are offered."""
    options = AdviseOptions(fpp=0.01, rates=rates)
    (plain,) = _tables_of(lake, options)
    sizes = {each.column: each.filter_bytes for each in plain.columns}
    most = max(sizes[name] for name in plain.recommended)
    (among,) = _tables_of(lake, replace(options, budget=most))
    assert {each.fpp for each in among.budget.columns} == {0.01}
    # Not the largest, if that saves no 0.01 more.
    (only,) = among.budget.columns
    assert only.filter_bytes == sizes[only.column] <= most
    assert len(among.budget.left_out) == len(plain.recommended) - 1 > 0
    (none,) = _tables_of(lake, replace(options, budget=1_000))
    assert none.budget.columns == ()
    assert [each.reason for each in none.budget.left_out] == [
        f"needs at least {sizes[name]:,} bytes, and 1,000 of the budget are left"
        for name in plain.recommended
    ]


def _tables_of(lake, options):
    advisor = pb.Advisor(options)
    for path in sorted(lake.iterdir()):
        advisor.add(path)
    return list(advisor.tables())


def test_more_budget_saves_more(lake):
    read = []
    for budget in (10_000, 40_000, 150_000, 10_000_000):
        advisor = pb.Advisor(AdviseOptions(budget=budget))
        for path in sorted(lake.iterdir()):
            advisor.add(path)
        (report,) = advisor.tables()
        read.append(sum(each.groups_saved for each in report.budget.columns))
    assert read == sorted(read)
    assert read[0] < read[-1]


def test_the_budget_changes_only_what_the_filters_to_build_cost_and_save(lake):
    path = min(lake.iterdir())
    plain, budgeted = pb.advise(path), pb.advise(path, budget=1 << 20)
    built = {each.column: each for each in budgeted.budget.columns}
    for column, usual in zip(budgeted.columns, plain.columns, strict=True):
        if column.column in built:
            wanted = built[column.column]
            assert (column.fpp, column.filter_bytes) == (wanted.fpp, wanted.filter_bytes)
            assert column.groups_filter == wanted.groups_filter
        of_rate = (
            "fpp",
            "filter_bytes",
            "filter_share",
            "groups_filter",
            "groups_filter_absent",
            "settings",
            "reason",
        )
        same = {name: getattr(usual, name) for name in of_rate}
        assert column.verdict == usual.verdict
        assert replace(column, **same) == usual
    assert plain.budget is None
    assert "budget" not in plain.to_dict()


def test_one_budget_is_for_all_tables(lake, tmp_path):
    other = tmp_path / "other.parquet"
    numbers = np.random.default_rng(4).permutation(20_000)
    pq.write_table(pa.table({"key": numbers}), other, row_group_size=1_000)
    advisor = pb.Advisor(AdviseOptions(budget=30_000))
    for path in (*sorted(lake.iterdir()), other):
        advisor.add(path)
    plans = [report.budget for report in advisor.tables()]
    spent = sum(each.filter_bytes for plan in plans for each in plan.columns)
    assert {plan.used for plan in plans} == {spent}
    assert 0 < spent <= 30_000
    # Each file gets what is advised on its table.
    both = pb.advise([*sorted(lake.iterdir()), other], budget=30_000)
    assert [report.budget.used for report in both] == [spent, spent]
    built = pb.build([lake, other], tmp_path / "out", advice=both)
    assert built.ok
    rates = {each.column: each.fpp for plan in plans for each in plan.columns}
    assert {each.column for report in built for each in report.filters} == {*rates}
    # What is of neither fails, and nothing else does.
    third = tmp_path / "third.parquet"
    pq.write_table(pa.table({"neither": numbers}), third)
    built = pb.build([other, third], tmp_path / "more", advice=both)
    message = f"{third}: advice: no report is on files with its columns"
    assert [each.message for each in built.failures] == [message]
    with pytest.raises(
        TypeError, match=r"^advice: 'id', expected what advise returned, with a report$"
    ):
        pb.build(other, tmp_path / "out.parquet", advice="id")


def test_what_is_advised_on_a_table_that_grew(tmp_path):
    """The newer files have all columns of the older ones, and one more."""
    lake, numbers = tmp_path / "lake", np.random.default_rng(7).permutation(16_000)
    lake.mkdir()
    for number in range(8):
        ids = numbers[number::8]
        columns = {"id": ids} if number < 4 else {"id": ids, "code": ids[::-1]}
        pq.write_table(pa.table(columns), lake / f"{number}.parquet", use_dictionary=False)
    advice = pb.advise(lake)
    assert [each.recommended for each in advice] == [("id",), ("id", "code")]
    built = pb.build(lake, in_place=True, advice=advice)
    assert built.ok
    assert [[each.column for each in report.filters] for report in built] == 4 * [["id"]] + 4 * [
        ["id", "code"]
    ]


def test_a_rate_for_each_column_of_an_orc_file(tmp_path):
    rng = np.random.default_rng(5)
    path, out = tmp_path / "a.orc", tmp_path / "b.orc"
    po.write_table(pa.table({"a": rng.random(5_000), "b": rng.random(5_000)}), path)
    options = BuildOptions(columns=("a", "b"), fpp=0.01, fpp_of=(("a", 0.1),))
    report = build_file(path, options, Destination(output=out))
    sizes = {built.column: built.num_bytes for built in report.filters}
    assert sizes["a"] < sizes["b"]
    assert pb.validate(out).ok


def test_which_columns_of_several_tables_have_room_alone(tmp_path):
    """A name that two have is not alone; a share would be one of other files."""
    rng = np.random.default_rng(1)
    for name, rows in ("a", 50_000), ("b", 20_000):
        columns = {"id": rng.permutation(rows), name: rng.permutation(rows)}
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=rows // 10, use_dictionary=False)
    plans = [each.budget for each in pb.advise(tmp_path, budget="4%").reports]
    assert [each.column for each in plans[0].left_out] == ["id", "a"]
    assert [each.alone for each in plans] == [("a",), ()]
    told = outcome("advise", tmp_path, "--budget", "4%").stdout
    (hint,) = re.findall(r"with (-c .*), that column alone gets the whole budget", told)
    assert hint == f"-c a --budget {plans[0].bytes} --union-by-name"
    followed = outcome("advise", tmp_path, *hint.split())
    assert (followed.code, "a: filters for " in followed.stdout) == (0, True)


def test_the_command_says_what_fits_and_what_does_not(lake):
    kib = 12 if next(lake.iterdir()).suffix == ".orc" else 20
    budget = f"{kib}KiB"
    result = outcome("advise", lake, "--budget", budget)
    lines = result.stdout.splitlines()
    assert lines[1].endswith(f" of the {kib}.0 KiB budget used, across all files")
    shown = [line for line in lines if ": filters for " in line or ": left out: " in line]
    assert len(shown) >= 2
    # Of what is built they are notes.
    built = outcome("build", lake, "--auto", "--budget", budget, "--dry-run")
    about = lines[0].partition(": ")[0]
    hint = "with -c COLUMN, that column alone gets the whole budget"
    enough, *hints = lines[2 + len(shown) : 4 + len(shown)]
    assert hints == [hint]
    notes = [f"pbloom: {about}: note: {line}" for line in (lines[1], *shown, enough, hint)]
    assert built.stderr.splitlines() == notes
    alone = outcome("advise", lake, "--budget", "20KiB", "-c", "id").stdout
    assert ": filters for " in alone
    assert hint not in alone + outcome("advise", lake, "--budget", "1MiB").stdout
    # What is said to be enough is.
    words, room, fpp = enough.partition(" has room for all of them, with a mean FPP of at most ")
    assert room
    told = outcome("advise", lake, *words.split()).stdout
    assert ": left out: " not in told
    # Filters at the target, not whatever is the least that has room.
    rates = re.findall(r": filters for (\S+) %, with an FPP of (\S+) %, take ", told)
    assert all(float(rate) <= 1 for rate, _ in rates)
    assert fpp == f"{max((each for _, each in rates), key=float)} % in any column"
    few = outcome("advise", lake, "--budget", "100").stdout
    assert (": left out: " in few, hint in few) == (True, False)
    (document, *_) = outcome("advise", lake, "--budget", budget, "--json").stdout.splitlines()
    found = json.loads(document)["budget"]
    assert found["bytes"] == kib << 10
    assert found.keys() == {
        "bytes",
        "used",
        "there",
        "for_all",
        "for_all_fpp",
        "columns",
        "left_out",
        "kept",
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["-c", "id", "--budget", "1MiB"],
            "--budget: expected with --auto, which chooses columns and rates, of those of --column",
        ),
        (
            ["-c", "id", "--engine", "spark"],
            "--engine: expected with --auto, which chooses columns and rates, of those of --column",
        ),
        (["--auto", "--budget", "1MiB", "--ndv", "5"], "--budget: expected without --ndv"),
        (["--auto", "--budget", "0"], "'0': expected 1 B or more"),
        (["--auto", "--budget", "much"], "'much': not a size"),
        (
            ["--auto", "--budget", "0%"],
            "'0%': not a share: expected more than 0% and at most 100%, such as 0.5%",
        ),
        (["--auto", "--budget", "101%"], "'101%': not a share"),
        (["--auto", "--budget", "-1%"], "'-1%': not a share"),
        (["--auto", "--budget", "1/2%"], "'1/2%': not a share"),
        (["--auto", "--budget", "1.%"], "'1.%': not a share"),
    ],
)
def test_budgets_that_cannot_be(lake, tmp_path, arguments, expected):
    result = outcome("build", lake, "--output-dir", tmp_path, *arguments)
    assert result.code == 2
    assert expected in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.every(2)
@pytest.mark.parametrize(("share", "part"), [("2%", 0.02), ("0.5%", 0.005), ("0.5 %", 0.005)])
def test_a_share_of_the_files_is_a_budget(lake, tmp_path, share, part):
    """Of all of them, in bytes, which the output says, too; documents have no shares."""
    num_bytes = int(sum(path.stat().st_size for path in lake.iterdir()) * part)
    (of_bytes,) = pb.advise(lake, budget=num_bytes).reports
    (of_share,) = pb.advise(lake, budget=share).reports
    assert of_share == of_bytes
    assert of_share.budget.bytes == num_bytes
    said = outcome("advise", lake, "--budget", share).stdout.splitlines()
    expected = outcome("advise", lake, "--budget", num_bytes).stdout.splitlines()
    asked = share.replace(" ", "")
    in_bytes = f" of the {size(num_bytes)} budget"
    assert in_bytes in expected[1]
    expected[1] = expected[1].replace(in_bytes, f"{in_bytes} ({asked} of the files)")
    assert said[:-1] == expected[:-1]
    option = f" --budget {asked}"
    assert said[-1] == expected[-1].replace(f" --budget {num_bytes}", option)
    out = tmp_path / "out"
    built = outcome("build", lake, "--auto", "--budget", share, "--output-dir", out)
    assert built.code == 0
    assert sum(filters_of(out).values()) == of_bytes.budget.used <= num_bytes


def test_the_budget_is_told_of_tables_that_have_a_share(lake, tmp_path):
    path = tmp_path / "nothing.parquet"
    pq.write_table(pa.table({"only": [1] * 9}), path)
    auto = ("--auto", "--budget", "20KiB", "--dry-run")
    said = outcome("build", lake, path, *auto).stderr.splitlines()
    assert sum(" of the 20.0 KiB budget used, " in line for line in said) == 1
    none = f"pbloom: {path}: no column that advise would build; "
    assert [line.startswith(none) for line in said if str(path) in line.partition("; ")[0]] == [
        True
    ]


def test_a_budget_in_python_is_a_number_of_bytes_or_a_share(lake):
    path = min(lake.iterdir())
    for share in ("0%", "much%"):
        with pytest.raises(
            ValueError, match=f"^budget: '{share}': not a share: expected more than 0%"
        ):
            pb.advise(path, budget=share)
    with pytest.raises(ValueError, match=r"^budget: 0, expected 1 or more$"):
        pb.advise(path, budget=0)
    message = "budget: '1MiB', expected a number of bytes, or a share of the files, such as '1%'"
    with pytest.raises(TypeError, match=f"^{message}$"):
        pb.advise(path, budget="1MiB")


def test_what_the_budget_leaves_out_is_not_recommended_anywhere(lake):
    """The command, its JSON and Python say the same."""
    (report,) = pb.advise(lake, budget=8_000).reports
    left_out = [each.column for each in report.budget.left_out]
    assert left_out
    verdicts = {each.column: (each.verdict, each.fpp) for each in report.columns}
    assert {verdicts[name] for name in left_out} == {("left out", None)}
    assert {name: rate for name, (verdict, rate) in verdicts.items() if verdict == "build"} == {
        each.column: each.fpp for each in report.budget.columns
    }
    arguments = ("advise", lake, "--budget", 8_000)
    documents = map(json.loads, outcome(*arguments, "--json").stdout.splitlines())
    assert {
        (tuple(each["recommended"]), *((one["verdict"], one["fpp"]) for one in each["columns"]))
        for each in documents
    } == {(report.recommended, *verdicts.values())}
    rows = [row.split("\t") for row in outcome(*arguments).stdout.splitlines()]
    shown = {row[0]: row[2] for row in rows if row[0] in verdicts}
    assert shown == {name: verdict for name, (verdict, _) in verdicts.items()}
    details = outcome(*arguments, "--details").stdout.split("\n\n")
    for name in left_out:
        (found,) = (each for each in details if each.startswith(f"{name}: left out\n"))
        assert "recommended" not in found


def test_what_the_budget_leaves_out_is_not_called_to_build(lake):
    path = min(lake.iterdir())
    (left, *_) = pb.advise(path).recommended
    head = outcome("advise", path, "-c", left, "--budget", "100").stdout.splitlines()[0]
    assert head.endswith("; the budget is too small")
    rows = outcome("advise", path, "-c", left, "--budget", "100").stdout.splitlines()
    assert any(row.split("\t")[2:3] == ["left out"] for row in rows)


def test_the_reason_names_the_rate_of_the_budget(lake):
    path = min(lake.iterdir())
    budgeted = pb.advise(path, budget=1 << 20)
    reasons = {each.column: each.reason for each in budgeted.columns}
    for each in budgeted.budget.columns:
        assert each.fpp_expected <= each.fpp
        rates = f"{exact_percent(each.fpp)} (FPP {percent(each.fpp_expected)})"
        assert f"a filter for {rates}, " in reasons[each.column]
        assert "deserve a lower rate" not in reasons[each.column]


def test_an_engine_that_ignores_filters_reads_as_much_with_them(lake):
    path = min(lake.iterdir())
    (column, *_) = pb.advise(path).recommended
    (found,) = pb.advise(path, columns=column, engines="polars").columns
    assert found.verdict == "skip"
    assert found.groups_filter == found.groups_statistics > 1


def test_advice_on_some_row_groups_is_built_in_these(lake, tmp_path):
    """What a budget has room for in one row group of each file, it has not in all of them."""
    advice = pb.advise(lake, row_groups=0, budget="4%")
    (report,) = advice.reports
    assert report.row_groups == (0,)
    built = pb.build(lake, tmp_path / "built", advice=advice)
    added = sum(each.length for file in built.reports for each in file.filters)
    assert 0 < added <= report.budget.used <= report.budget.bytes
    assert {each.place.part for file in built.reports for each in file.filters} == {0}
    command = ("build", lake, "--auto", "-g", "0", "--budget", "4%", "--dry-run", "--json")
    documents = map(json.loads, outcome(*command).stdout.splitlines())
    filters = [each for document in documents for each in document["filters"]]
    assert sum(each["length"] for each in filters) == added
