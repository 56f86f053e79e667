"""Many values in many files: judged by each file's own answers, one by one."""

import json
import random
from math import prod

import numpy as np
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from make.commands import on_a_terminal, outcome

import parquet_bloom as pb
from parquet_bloom.container.asked_once import those_not_held
from parquet_bloom.filters.rates import percent
from parquet_bloom.verbs import held_values

SEED = 20261126


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Files of some 300 values each with filters that are often wrong, one without, one in ORC, one damaged."""
    folder = tmp_path_factory.mktemp("lake")
    numbers = random.Random(SEED)
    for name in "abc":
        table = pa.table({"id": [numbers.randrange(10_000) for _ in range(300)]})
        pq.write_table(table, folder / "plain", row_group_size=100)
        pb.build(folder / "plain", folder / f"{name}.parquet", columns="id", fpp=0.02)
    (folder / "plain").rename(folder / "plain.parquet")
    po.write_table(
        pa.table({"id": [numbers.randrange(10_000) for _ in range(300)]}), folder / "d.orc"
    )
    pb.build(folder / "d.orc", in_place=True, columns="id", fpp=0.02)
    (folder / "damaged.parquet").write_bytes(b"PAR1 and more")
    return folder


WITH_FILTERS = ("a.parquet", "b.parquet", "c.parquet", "d.orc")


def asked(number):
    """Some numbers; several times the same one, and one that cannot be looked up, among them."""
    numbers = random.Random(SEED + 1)
    return [None, 5, 5, *(numbers.randrange(10_000) for _ in range(number))]


@pytest.mark.parametrize("number", [4, 300])
def test_value_by_value_as_each_file_says(lake, number):
    names = [*(lake / name for name in WITH_FILTERS), lake / "plain.parquet"]
    values = asked(number)
    report = pb.probe_values(names, "id", values)
    reports = [pb.probe(name, "id", values) for name in names]
    for at, result in enumerate(report.results):
        each = [(one.path, one.results[at]) for one in reports]
        verdicts = {value.verdict for _, value in each}
        assert result.verdict == next(
            verdict for verdict in ("maybe", "unknown", "absent") if verdict in verdicts
        )
        left = {path: [g for g in value.groups if g.verdict != "absent"] for path, value in each}
        left = {path: groups for path, groups in left.items() if groups and "plain" not in path}
        assert [file.path for file in result.files] == [*left]
        for file in result.files:
            groups = left[file.path]
            assert file.row_groups == tuple(dict.fromkeys(group.place.part for group in groups))
            assert file.rows_to_read == sum(group.num_rows for group in groups)
            assert file.verdict == ("unknown" if values[at] is None else "maybe")
    assert report.files_unknown == (pb.NotAsked(str(names[-1]), "no filter"),)
    counted = [result.verdict for result in report.results]
    found = (report.absent, report.maybe, report.unknown)
    assert found == tuple(map(counted.count, ("absent", "maybe", "unknown")))
    assert not report.is_absent
    assert (report.num_groups, report.num_filters) == (13, 10)


def test_a_value_that_is_given_twice_has_two_answers(lake):
    twice = pb.probe_values([lake / name for name in WITH_FILTERS], "id", [-1, -1])
    assert (twice.absent, [result.value for result in twice.results]) == (2, [-1, -1])


def test_what_the_rates_make_of_many_values(lake):
    names = [lake / name for name in WITH_FILTERS]
    values = asked(300)[1:]
    rates = [
        column.filter.fpp
        for name in names
        for part in pb.inspect(name).parts
        for column in part.columns
    ]
    report = pb.probe_values(names, "id", values)
    assert (report.num_groups, report.false_groups) == (10, pytest.approx(sum(rates)))
    assert report.false_maybe == pytest.approx(1 - prod(1 - rate for rate in rates))
    assert report.worst_fpp == max(rates)
    assert pb.probe_values([*names, lake / "plain.parquet"], "id", values).num_groups == 13
    # Of a few values, only blocks are read.
    few = pb.probe_values(names[:1], "id", 5)
    assert (few.false_groups, few.false_maybe, few.worst_fpp, few.maybe_by_chance) == (None,) * 4


def with_filters(folder, tables):
    """A folder of files with these ids each, of whose filters 10 % of other values pass about."""
    folder.mkdir()
    for number, ids in enumerate(tables):
        pq.write_table(pa.table({"id": ids}), folder / "plain")
        pb.build(folder / "plain", folder / f"{number:02}.parquet", columns="id", fpp=0.1)
    (folder / "plain").unlink()
    return folder


IN_NO_FILE = range(1_000_000, 1_003_000)


def among_maybes(report):
    """How many of IN_NO_FILE are `maybe`."""
    return sum(
        1 for each in report.results if each.verdict == "maybe" and each.value >= IN_NO_FILE[0]
    )


def test_copies_do_not_make_more_values_be_maybe_by_chance(tmp_path):
    """All say it of the same values: what holds for one file is the least that is claimed, and all the same for 20."""
    ids = range(1_000)
    one, copies = (with_filters(tmp_path / str(count), [ids] * count) for count in (1, 20))
    values = [*ids, *IN_NO_FILE]
    alone, of_copies = (pb.probe_values(folder, "id", values) for folder in (one, copies))
    assert (alone.absent, alone.maybe) == (of_copies.absent, of_copies.maybe)
    assert of_copies.worst_fpp == alone.worst_fpp
    false = among_maybes(alone)
    least, most = alone.maybe_by_chance
    assert least == pytest.approx(most)
    assert least == pytest.approx(false, rel=0.2)
    assert of_copies.maybe_by_chance[0] == pytest.approx(least)
    assert of_copies.maybe_by_chance[1] > false

    (tmp_path / "ids").write_text("".join(f"{each}\n" for each in values))
    command = ("-c", "id", "--values-from", tmp_path / "ids", "--by-value")
    about = float(f"{least:.2g}")
    assert (
        f"a chance of {percent(alone.worst_fpp)}: so about {about:.0f} of the {alone.maybe:,} are in no file"
        in (outcome("probe", one, *command).stdout)
    )
    assert f": so at least about {about:.0f} of the {alone.maybe:,} are in no file" in (
        outcome("probe", copies, *command).stdout
    )


def test_files_without_a_value_in_common_have_the_most_maybes_by_chance(tmp_path):
    folder = with_filters(
        tmp_path / "lake", [range(at, at + 1_000) for at in range(0, 4_000, 1_000)]
    )
    report = pb.probe_values(folder, "id", [*range(4_000), *IN_NO_FILE])
    least, most = report.maybe_by_chance
    assert most == pytest.approx(among_maybes(report), rel=0.1)
    assert least < most / 3


def test_snapshots_that_grow_are_between(tmp_path):
    folder = with_filters(tmp_path / "lake", [range(1_000 + 40 * day) for day in range(10)])
    report = pb.probe_values(folder, "id", [*range(1_360), *IN_NO_FILE])
    least, most = report.maybe_by_chance
    assert 0.8 * least < among_maybes(report) < most


def test_a_file_that_cannot_be_asked_may_hold_any_value(lake):
    report = pb.probe_values(str(lake), "id", [1 << 40])
    assert (report.absent, report.unknown, report.num_files) == (0, 1, 6)
    assert [file.path.removeprefix(f"{lake}/") for file in report.files_unknown] == [
        "damaged.parquet",
        "plain.parquet",
    ]
    with pytest.raises(pb.NotSupportedFileError):
        pb.probe_values([lake / "damaged.parquet"], "id", 5)
    with pytest.raises(pb.ValueTypeError, match=r"a\.parquet: column id: x: cannot be a value"):
        pb.probe_values([lake / "a.parquet"], "id", pb.literal("x"))


def test_the_rows_of_the_report(lake):
    table = pb.probe_values([lake / "a.parquet"], "id", asked(300)).to_arrow()
    assert table.column_names == [
        *("value", "verdict", "path", "row_groups", "rows_to_read", "reason")
    ]


def test_the_command_answers_in_one_screen(lake, tmp_path, monkeypatch):
    (tmp_path / "ids").write_text("".join(f"{number}\n" for number in asked(500)[1:]))
    names = [str(lake / name) for name in WITH_FILTERS]
    found = outcome("probe", *names, "-c", "id", "--values-from", tmp_path / "ids", "--by-value")
    report = pb.probe_values(names, "id", [*dict.fromkeys(asked(500)[1:])])
    first, chance, absent, heads, *rows, more = found.stdout.splitlines()
    assert first.startswith(
        f"id in 4 files: {len(report.results)} values, {report.absent} in no file, {report.maybe} maybe in some; "
    )
    assert chance.startswith(
        f"by chance alone, a value that is in no file is maybe in {report.false_groups:.2g} of 10 filters, and in"
    )
    worst, all_apart = report.worst_fpp, report.false_maybe
    least, most = (report.absent * rate / (1 - rate) for rate in (worst, all_apart))
    assert report.maybe_by_chance == (least, most)
    assert chance.endswith(
        f"at least one with a chance of {percent(worst)} (if all filters have the same values) to {percent(all_apart)}"
        f" (if no two have one in common): so about {round(least):.2g} to {round(most):.2g} of the {report.maybe} are in no file;"
        " `pbloom find --report FILE` looks into the files, an index (`pbloom index build`) excludes more"
    )
    assert absent.endswith(f"… ({report.absent} in all)")
    parts = "stripes or row groups"
    assert heads.split("\t") == ["value", "verdict", "files", parts, "rows to read", "in"]
    assert len(rows) == 4
    assert more == f"and {report.maybe - 4} more: --verbose, --output and --json show all"
    assert found.code == 0
    assert found.stderr == ""
    monkeypatch.chdir(lake)
    shown = on_a_terminal(
        60, "probe", *WITH_FILTERS, "-c", "id", "--ids", tmp_path / "ids", "--by-value"
    )
    assert shown[-1] == more
    assert len(shown) < 24


def test_filters_are_counted_where_there_are_some(lake, tmp_path):
    (tmp_path / "ids").write_text("".join(f"{number}\n" for number in asked(500)[1:]))
    names = (lake / "a.parquet", lake / "plain.parquet")
    found = outcome("probe", *names, "-c", "id", "--values-from", tmp_path / "ids", "--by-value")
    assert " of 3 filters, and in at least one " in found.stdout.splitlines()[1]
    assert ": 491 values, 0 certainly in no file, " in found.stdout.splitlines()[0]


def test_parts_are_called_as_their_format_calls_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table({"id": [1, 3]})
    po.write_table(table, "a.orc", bloom_filter_columns=[1])
    pq.write_table(table, "a.parquet")
    pb.build("a.parquet", columns="id", in_place=True)
    asked = ("-c", "id", "-v", "3", "--by-value")
    for names, called in (
        (["a.orc"], "stripes"),
        (["a.parquet"], "row groups"),
        (["a.orc", "a.parquet"], "stripes or row groups"),
    ):
        assert f"\tfiles\t{called}\trows to read\t" in outcome("probe", *names, *asked).stdout


def test_values_alone_come_with_the_totals_of_all(lake, tmp_path):
    """Else nobody would know how many of the others are maybe by chance only. They do not get among the values."""
    (tmp_path / "ids").write_text("".join(f"{number}\n" for number in asked(500)[1:]))
    names = [str(lake / name) for name in WITH_FILTERS]
    command = ("probe", *names, "-c", "id", "--values-from", tmp_path / "ids")
    totals = outcome(*command, "--by-value").stdout.splitlines()[:2]
    assert totals[1].startswith("by chance alone, ")
    alone = outcome(*command, "--only", "absent")
    assert alone.stderr.splitlines() == [f"pbloom: {line}" for line in totals]
    kept = outcome(*command, "--only", "absent", "-o", tmp_path / "absent")
    assert (tmp_path / "absent").read_text() == alone.stdout
    assert kept.stdout.splitlines() == [f"{tmp_path / 'absent'}: {line}" for line in totals]
    assert kept.stderr == ""


def test_a_file_and_verbose_have_a_line_for_each_value(lake, tmp_path):
    (tmp_path / "ids").write_text("".join(f"{number}\n" for number in asked(500)[1:]))
    names = [str(lake / name) for name in WITH_FILTERS]
    command = ("probe", *names, "-c", "id", "--values-from", tmp_path / "ids", "--by-value")
    verbose = outcome(*command, "--verbose").stdout
    report = pb.probe_values(names, "id", [*dict.fromkeys(asked(500)[1:])])
    _, _, _, *rows = verbose.splitlines()
    assert [row.split("\t")[:3] for row in rows] == [
        [str(each.value), each.verdict, str(len(each.files))] for each in report.results
    ]
    assert outcome(*command, "-o", tmp_path / "answer").code == 0
    assert (tmp_path / "answer").read_text() == verbose


def test_a_parquet_file_has_a_row_for_each_value_and_file(lake, tmp_path):
    (tmp_path / "ids").write_text("".join(f"{number}\n" for number in asked(60)[1:]))
    names = [str(lake / name) for name in WITH_FILTERS]
    table, command = tmp_path / "in.parquet", ("--values-from", tmp_path / "ids", "-c", "id")
    found = outcome("probe", *names, *command, "--by-value", "-o", table)
    report = pb.probe_values(names, "id", [*dict.fromkeys(asked(60)[1:])])
    rows = report.to_arrow()
    assert pq.read_table(table).equals(rows)
    totals = outcome("probe", *names, *command, "--by-value").stdout.splitlines()[0]
    assert totals.startswith(f"id in {len(names)} files: 61 values, {report.absent} in no file, ")
    assert found.output == f"{table}: {rows.num_rows} rows; {totals}\n"
    assert found.code == 0
    again = outcome("probe", *names, *command, "--by-value", "-o", table)
    assert again.output == f"pbloom: {table}: already exists: use --overwrite to replace it\n"
    refused = outcome("probe", *names, *command, "-o", tmp_path / "other.parquet")
    assert refused.complaint.startswith("--output: a table of Parquet: expected --by-value and")
    unknown = outcome(
        "probe", *names, str(lake / "plain.parquet"), *command, "--by-value", "-o", table, "--overwrite",
    )  # fmt: skip
    assert unknown.complaint == (
        f"{lake}/plain.parquet: may hold any value, so none is absent: no filter; pbloom advise says whether it deserves one, pbloom build adds it"
    )
    rows = pq.read_table(table).to_pylist()
    assert {row["verdict"] for row in rows} == {"maybe", "unknown"}
    *others, of_file = rows
    assert None not in [row["value"] for row in others]
    assert {name: each for name, each in of_file.items() if each is not None} == {
        "verdict": "unknown", "path": f"{lake}/plain.parquet", "reason": "no filter"
    }  # fmt: skip


def test_the_command_names_what_may_hold_any_value(lake):
    names = [str(lake / name) for name in ("plain.parquet", "damaged.parquet")]
    found = outcome("probe", *names, "-c", "id", "-v", "5", "--by-value")
    assert found.code == 2
    # The complaint says once what helps.
    reason = found.complaint.removeprefix(f"{names[1]}: ").partition("; ")[0]
    first, *unknown = found.stdout.splitlines()
    assert first.startswith(
        "id in 2 files, 2 unknown: 1 value, 0 certainly in no file, 0 maybe in some, 1 unknown; "
    )
    assert unknown == [
        f"{names[0]}: may hold any value: no filter; pbloom advise says whether it deserves one, pbloom build adds it",
        f"{names[1]}: may hold any value: {reason}",
    ]


@pytest.mark.parametrize("how", [("--by-value",), ("--only", "absent"), ("--by-value", "--json")])
def test_values_that_no_file_can_hold_are_refused(lake, how):
    names = [str(lake / name) for name in WITH_FILTERS if name.endswith(".parquet")]
    found = outcome("probe", *names, "-c", "id", "-v", "abc", "-v", "", *how)
    assert (found.code, found.stdout) == (2, "")
    assert found.complaint == (
        f"{', '.join(names)}: column id: abc: cannot be a value of INT64: expected an integer; nor can an"
        " empty text"
    )


def test_row_groups_without_rows_keep_nobody_from_the_chance(lake, tmp_path):
    pq.write_table(pq.read_table(lake / "a.parquet").slice(0, 0), tmp_path / "empty.parquet")
    alone = pb.probe_values([lake / "a.parquet"], "id", asked(300))
    report = pb.probe_values([lake / "a.parquet", tmp_path / "empty.parquet"], "id", asked(300))
    assert report.num_files == 2
    assert report.false_maybe == alone.false_maybe is not None


def test_nothing_anywhere(lake):
    found = outcome("probe", lake / "a.parquet", "-c", "id", "-v", "123456789", "--by-value")
    assert found.code == 1
    assert found.stdout.splitlines()[1:] == ["in no file: 123456789"]


def test_why_values_are_unknown_is_in_the_repr_and_in_the_table(lake):
    damaged = lake / "damaged.parquet"
    names = [lake / "a.parquet", damaged]
    report = pb.probe_values(names, "id", [10_001])
    reason = f"1 file unknown: {damaged}: {report.files_unknown[0].reason}"
    said = "0 absent, 0 maybe, 1 unknown"
    assert repr(report) == f"<ValuesReport id in 2 files: {said}; {reason}>"
    row, of_file = report.to_arrow().to_pylist()
    assert (row["verdict"], row["path"], row["reason"]) == ("unknown", None, reason)
    assert (of_file["value"], of_file["verdict"], of_file["path"]) == (
        None,
        "unknown",
        str(damaged),
    )
    report = pb.probe_values([*names, lake / "plain.parquet"], "id", [10_001])
    row, *of_files = report.to_arrow().to_pylist()
    assert len(of_files) == 2
    assert row["reason"].startswith(f"2 files unknown, such as {damaged}: ")


def test_no_values_are_in_no_file(tmp_path):
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "a.parquet")
    for values in ([], pa.array([], pa.int64()), np.array([], np.int64)):
        report = pb.probe_values(tmp_path, "id", values)
        assert (report.num_files, report.absent, report.maybe, len(report.results)) == (1, 0, 0, 0)
        assert report.to_arrow().num_rows == 0


def test_nothing_is_counted_of_files_that_may_hold_any_value(lake):
    """Not even none: they have to be read."""
    asked = ("-c", "id", "-v", "77", "--by-value", "--verbose")
    plain, damaged = lake / "plain.parquet", lake / "damaged.parquet"
    lines = outcome("probe", plain, damaged, *asked).stdout.splitlines()
    assert lines[1:3] == [
        "value\tverdict\tfiles\trow groups\trows to read\tin",
        "77\tunknown\t\t\t\t2 unknown files",
    ]
    document = json.loads(outcome("probe", plain, *asked[:-1], "--json").stdout)
    # It says so of no filters at all, and so of no chance.
    assert (document["num_filters"], repr(document["false_maybe"])) == (0, "0.0")


def test_what_no_file_can_hold_is_tried_once_for_all_files(tmp_path, monkeypatch):
    """Each of thousands of values in each of thousands of files took hours, and all memory."""
    tried = []

    def counting(*given):
        tried.append(given)
        return those_not_held(*given)

    monkeypatch.setattr(held_values, "those_not_held", counting)
    for name, more in (("a", 0), ("b", 1), ("c", 2)):
        table = pa.table({"id": [more], "n": [more]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    (tmp_path / "ids.txt").write_text("x\ny\n")
    ran = outcome(
        "probe", tmp_path, "-c", "id", "--ids", tmp_path / "ids.txt", "--by-value", "-v", "z"
    )
    assert ran.code == 2
    assert "cannot be a value of INT64" in ran.stderr
    assert len(tried) == 1
    with pytest.raises(pb.ValueTypeError, match="cannot be a value of INT64"):
        pb.probe_values(tmp_path, "n", ["x", "y"])
    assert len(tried) == 2
    # Of a column that differs, or of other values, nothing is known.
    pq.write_table(pa.table({"id": ["x"], "n": [1]}), tmp_path / "d.parquet")
    assert pb.probe_values(tmp_path, "id", ["x", "y"]).files_unknown
