"""What `pbloom advise` shows on a terminal: nothing squeezed into the last column of a table."""

import re
import shlex
from html import unescape
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import on_a_terminal, outcome
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.errors import quoted_name
from parquet_bloom.render.wording import size
from parquet_bloom.vocabulary import AdviceToDo, words

ROWS = 30_000


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("terminal") / "t.parquet"
    numbers = np.random.default_rng(4).permutation(ROWS)
    pq.write_table(
        pa.table({"user_id": numbers, "status": numbers % 5, "when": np.sort(numbers)}),
        path,
        row_group_size=ROWS // 5,
        use_dictionary=False,
    )
    return path


def test_help_has_every_verdict():
    told = re.findall(
        "^    ([a-z]+(?: [a-z]+)?)  ", outcome("advise", "--help").stdout, re.MULTILINE
    )
    assert sorted(told) == sorted(words(AdviceToDo))


def unfolded(lines):
    """The text of lines that may go on, indented, on the next ones."""
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_reasons_have_lines_of_their_own(path, columns):
    *piped, next_line = outcome("advise", path).stdout.splitlines()
    assert next_line == f"next: pbloom build {path} -c user_id --in-place"
    rows = [row.split("\t") for row in piped[2:]]
    reasons = {f"{verdict} {column}": reason for column, _, verdict, *_, reason in rows}
    lines = on_a_terminal(columns, "advise", path, "--verbose")
    assert unfolded(lines).startswith(piped[0])
    whole = (f"{column}: {reason}" for column, reason in reasons.items())
    assert unfolded(lines).endswith(f"{' '.join(whole)} {next_line}")
    lines = on_a_terminal(columns, "advise", path)
    whole = (f"{column}: {reason}" for column, reason in reasons.items())
    assert unfolded(lines).endswith(f"{' '.join(whole)} {next_line}")
    assert lines.pop() == next_line
    assert max(map(len, lines)) <= max(columns, len(f"{path}:"))
    start = next(at for at, line in enumerate(lines) if line.startswith("column "))
    table = lines[start : start + 2 + len(reasons)]
    assert [line.split()[0] for line in table][2:] == [column for column, *_ in rows]
    assert any(line.startswith("user_id") and "5.00 → 1.0" in line for line in table)


def test_many_columns_are_summed_up_by_verdict(tmp_path):
    """The first screen has all that is to be done, and no column hides another's verdict."""
    numbers = np.random.default_rng(6).permutation(2_000)
    columns = {f"id_{n:02}": numbers + n for n in range(41)}
    columns |= {"price": numbers / 7, "day": np.sort(numbers)}
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=500, use_dictionary=False)
    lines = on_a_terminal(80, "advise", path)
    at = next(at for at, line in enumerate(lines) if line.startswith("verdict "))
    assert [line.split()[:2] for line in lines[at + 2 : at + 5]] == [
        *(["build", "41"], ["optional", "1"], ["skip", "1"])
    ]
    assert lines[at + 2].endswith("3.99 → 1.00")
    ids = ", ".join(f"id_{n:02}" for n in range(10))
    assert f"build filters for {ids}, … (41 in all)" in unfolded(lines[:at])
    text = unfolded(lines[at + 5 :])
    assert text.startswith("build all 41: a look-up reads 1.00 of 4 row groups")
    assert " optional price: floating-point numbers are rarely looked up by equality; a " in text
    assert "-c NAME shows a column, --verbose shows all. note: once they are built, " in text
    assert text.endswith(f" accepts them next: pbloom build {path} --auto --in-place")
    *every, _ = on_a_terminal(80, "advise", path, "--verbose")
    assert sum(line.split()[2:3] == ["build"] for line in every) == 41
    assert sum(line.startswith("build id_") for line in every) == 41


def test_a_clause_about_columns_of_several_verdicts_is_said_once(tmp_path):
    """That they need no filter, for some, is not to be compared word by word."""
    random = np.random.default_rng(6)
    rows, window = 8_000, np.repeat(np.arange(8) * 40, 1_000)
    columns = {f"id_{n:02}": random.integers(0, 4_000, rows) for n in range(2)}
    columns |= {f"day_{n:02}": window + random.integers(0, 420, rows) for n in range(2)}
    path = tmp_path / "t.parquet"
    table = pa.table({name: [f"v{each}" for each in column] for name, column in columns.items()})
    pq.write_table(table, path, row_group_size=1_000)
    text = unfolded(on_a_terminal(80, "advise", path))
    build, optional, note = re.search(
        "(build id_00.*) (optional day_00.*) (note: .*) next:", text
    ).groups()
    read = "a look-up reads # of # row groups with a filter, # with min/max alone"
    told = [re.sub(r"(?<!_)\b[\d.]+( to [\d.]+)?", "#", each) for each in (build, optional)]
    assert told == [
        f"build id_00, id_01: {read}; the filters are # % of the column's size",
        f"optional day_00, day_01: a filter saves less than half of what min/max leaves to read; {read}",
    ]
    assert note == (
        "note: columns id_00, id_01, day_00, day_01: Spark, Trino, Iceberg and Impala search the dictionaries instead,"
        " which have all values; dictionaries: ClickHouse since 26.8 looks there if they take 1 MiB or less"
    )
    every = unfolded(on_a_terminal(80, "advise", path, "--verbose"))
    assert every.count("search the dictionaries instead") == 4
    columns |= {f"more_{n}": columns["id_00"] + n for n in range(40)}
    pq.write_table(
        pa.table({name: columns[name].astype(str) for name in columns}), path, row_group_size=1_000
    )
    assert "note: all 44 columns: Spark, " in unfolded(on_a_terminal(80, "advise", path))


def test_a_budget_for_many_columns_is_told_by_rate(tmp_path):
    numbers = np.random.default_rng(6).permutation(2_000)
    path = tmp_path / "t.parquet"
    columns = {f"id_{n:02}": numbers + n for n in range(41)}
    pq.write_table(pa.table(columns), path, row_group_size=500, use_dictionary=False)
    command = ("advise", path, "--budget", "60KiB")
    told = [line for line in outcome(*command).stdout.splitlines() if ": filters for" in line]
    by_rate = {line.partition(", with ")[0].partition(": ")[2] for line in told}
    assert len(told) == 41 > len(by_rate) > 1
    text = unfolded(on_a_terminal(80, *command))
    assert text.count(": each: filters for ") == len(by_rate)
    built = outcome("build", path, "--auto", "--budget", "60KiB", "--dry-run")
    assert built.stderr.count(": each: filters for ") == len(by_rate)


def test_details_do_not_repeat_the_reasons(path):
    lines = on_a_terminal(80, "advise", path, "--details")
    assert sum("a look-up reads 1.0" in line for line in lines) == 1
    assert [line for line in lines if len(line) > 80 and "row groups read" in line] == []
    details = lines[lines.index("user_id: build") :]
    assert [line.split(":")[0] for line in details[1:5]] == [
        *("  at 10 %", "  at 1 %", "  at 0.1 %", "  at 0.01 %")
    ]
    assert details[5] == "  the same filters at 10 % and 1 %"
    assert details[6].startswith("  used by Spark, DuckDB, ")
    assert not [line for line in details if line.startswith(("status", "when"))]


def test_rates_are_summed_up_over_all_columns_to_build(tmp_path):
    numbers = np.random.default_rng(7).permutation(4000)
    table = pa.table({"a": numbers, "b": numbers[::-1], "c": np.arange(4000)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=1000)
    report = pb.advise(tmp_path / "t.parquet", rates=True)
    assert report.recommended == ("a", "b")
    a, b = (each for each in report.columns if each.verdict == "build")
    lines = outcome("advise", tmp_path / "t.parquet", "--details").stdout.splitlines()
    at = lines.index("2 columns to build: a, b")
    heads, without, *rates, advised = (line.split("\t") for line in lines[at + 1 : at + 8])
    assert heads == ["rate", "filters", "of all files", "row groups read"]
    assert without == [
        "no filters",
        "",
        "",
        f"{(a.groups_statistics + b.groups_statistics) / 2:.2f}",
    ]
    for row, ours, theirs in zip(rates, a.rates, b.rates, strict=True):
        assert row[1] == size(ours.filter_bytes + theirs.filter_bytes)
        assert row[3] == f"{(ours.groups_filter + theirs.groups_filter) / 2:.2f}"
    assert advised[1:] == rates[1][1:]
    asked = outcome("advise", tmp_path / "t.parquet", "--details", "--fpp", "0.1").stdout
    assert "build filters for a (at 10 %), b (at 10 %)" in asked
    assert asked.count(" (as asked)") == 2
    assert "recommended" not in asked


def test_rates_that_cost_the_same_are_explained(tmp_path):
    numbers = np.random.default_rng(7).permutation(9000)
    said = "Where rates have the same size, the filters are the same: each has a power of two for its size."
    for rows, is_said in ((1500, True), (1000, False)):
        path = tmp_path / f"{rows}.parquet"
        pq.write_table(pa.table({"a": numbers[: 3 * rows]}), path, row_group_size=rows)
        lines = outcome("advise", path, "--details").stdout.splitlines()
        at = next(at for at, line in enumerate(lines) if line.startswith("as recommended"))
        sizes = [line.split("\t")[1] for line in lines[at - 4 : at]]
        assert (len({*sizes}) < 4) == is_said
        assert (lines[at + 1] == said) == is_said
        assert (said in lines) == is_said


def test_each_column_says_which_rates_have_the_same_filters(tmp_path):
    """The sizes of all columns together differ where those of one of them are the same."""
    rng = np.random.default_rng(7)
    table = pa.table({"a": rng.permutation(4500), "b": rng.integers(0, 1 << 40, 4500) % 3000})
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, row_group_size=1500)
    lines = outcome("advise", path, "--details").stdout.splitlines()
    expected = []
    for column in pb.advise(path, rates=True).columns:
        by_size = {}
        for each in column.rates:
            by_size.setdefault(each.filter_bytes, []).append(f"{100 * each.fpp:g} %")
        alike = [rates for rates in by_size.values() if len(rates) > 1]
        expected += [f"  the same filters at {' and '.join(rates)}" for rates in alike]
    assert [line for line in lines if line.startswith("  the same filters")] == expected != []


def test_a_share_is_said_to_be_of_all_files_that_were_judged(tmp_path):
    for number in range(2):
        pq.write_table(pa.table({"a": range(ROWS)}), tmp_path / f"{number}.parquet")
    one, several = tmp_path / "0.parquet", tmp_path
    for path, shown, narrow in (
        (one, "of the file", "of file"),
        (several, "of all files", "of files"),
    ):
        assert outcome("advise", path).stdout.splitlines()[1].split("\t")[5] == shown
        (head,) = (line for line in on_a_terminal(80, "advise", path) if line.startswith("column "))
        assert f" {narrow}  groups read" in head


def test_a_narrow_terminal_has_what_filters_cost_and_save(tmp_path):
    numbers = np.random.default_rng(4).permutation(ROWS)
    path = tmp_path / "t.parquet"
    names = {"session.identifier_of_the_visit": numbers, "event_timestamp_in_utc": numbers[::-1]}
    pq.write_table(pa.table(names), path, row_group_size=ROWS // 5)
    for columns, left_out in ((80, "type"), (66, "type, NDV"), (200, "")):
        lines = on_a_terminal(columns, "advise", path)
        (head,) = (line for line in lines if line.startswith("column "))
        assert all(name in head for name in ("filters", "of file", "groups read"))
        told = [line for line in lines if line.startswith("Left out for lack of room")]
        expected = [f"Left out for lack of room, but not in a pipe: {left_out}."]
        assert told == expected * bool(left_out)


def test_a_caveat_is_in_brackets(tmp_path):
    path = tmp_path / "text.parquet"
    names = [f"user-{n}" for n in np.random.default_rng(5).permutation(ROWS)]
    table = pa.table({"name": names})
    pq.write_table(table, path, row_group_size=ROWS // 5, use_dictionary=False)
    lines = outcome("advise", path, "--details").stdout.splitlines()
    users = "  used by Spark (not for CHAR(n) and collated columns), DuckDB, "
    assert [line for line in lines if line.startswith(users)]
    assert (
        "  not used by Polars: no support for filters yet, but pb.polars_source skips row groups by them"
        in lines
    )


def test_the_verdict_for_an_engine(tmp_path):
    pq.write_table(
        pa.table({"id": np.random.default_rng(3).integers(0, 10**6, 20_000)}),
        tmp_path / "a.parquet",
        row_group_size=2000,
    )

    def verdicts(*options):
        _, _, row, *_ = outcome("advise", tmp_path / "a.parquet", *options).stdout.splitlines()
        return row.split("\t")[2], row.split("\t")[-1]

    assert (
        verdicts()[0]
        == verdicts("--engine", "duckdb")[0]
        == verdicts("--engine", "SPARK,DuckDB")[0]
    )
    assert verdicts("--engine", "spark") == (
        "skip",
        (
            "not needed for Spark: all values are in dictionaries, which are searched instead of the filters, so a"
            " look-up reads 1.01 of 10 row groups"
        ),
    )
    assert verdicts("--engine", "polars") == (
        "skip",
        "Polars (no support for filters yet, but pb.polars_source skips row groups by them) uses no filters in such files",
    )  # fmt: skip
    auto = ("build", tmp_path / "a.parquet", "--auto", "--dry-run", "--engine")
    assert ": 10 filters, " in outcome(*auto, "spark,duckdb").stdout
    none = outcome(*auto, "Spark")
    assert ": no filter built, " in none.stdout
    assert f"`pbloom advise {tmp_path / 'a.parquet'} --engine Spark` says why" in none.stderr
    for command in (("advise", tmp_path / "a.parquet", "--engine"), auto):
        wrong = outcome(*command, "sprak")
        assert (wrong.code, wrong.complaint) == (2, "no engine 'sprak'; did you mean Spark?")
        wrong = outcome(*command, "postgres")
        assert (wrong.code, wrong.complaint[:38]) == (2, "no engine 'postgres'; expected 'ORC Ja")
        assert outcome(*command, "orc-java").code == outcome(*command, "ORC Java").code
        wrong = outcome(*command, "Java")
        assert wrong.complaint == "no engine 'Java'; did you mean 'ORC Java'?"
        wrong = outcome(*command, "duckdb=1.5")
        assert wrong.complaint == (
            "no engine 'duckdb=1.5'; did you mean DuckDB? No version can be given: the advice says since which one"
            " filters are used"
        )
    with pytest.raises(ValueError, match="no engine 'Excel'; expected 'ORC Java', Spark, "):
        pb.advise(tmp_path / "a.parquet", engines="Excel")


def test_the_next_command_builds_what_is_recommended(path, tmp_path):
    """The columns of one table by name, those of a budget and of several tables as they are chosen again."""
    numbers = np.random.default_rng(8).permutation(4_000)

    def written(*names):
        columns = pa.table([numbers] * len(names), list(names))
        pq.write_table(
            columns, tmp_path / "other.parquet", row_group_size=500, use_dictionary=False
        )
        return tmp_path / "other.parquet"

    def said(*arguments):
        return re.findall("^next: (.*)$", outcome("advise", *arguments).stdout, re.MULTILINE)

    small, large = ("--max-bytes", "64"), ("--max-bytes", "65536")
    for names, quoted in (
        (["lead", "id", " lead"], """'lead,id," lead"'"""),
        ([""], """'""'"""),
        (["a,b"], """'"a,b"'"""),
    ):
        other = written(*names)
        assert said(other) == [f"pbloom build {other} -c {quoted} --in-place"]
        settings = pb.advise(other).columns[-1].settings[0].text
        assert shlex.split(settings)[4] == quoted_name(names[-1])
    within = outcome("advise", written("user id", "who.e,mail"), "--budget", "1")
    assert within.stdout.splitlines()[3].startswith('"who.e,mail": left out: ')
    other = written("a,b")
    assert said(path, "-c", "user_id", "--fpp", "0.001", *large) == [
        f"pbloom build {path} -c user_id --in-place --fpp 0.001 --max-bytes 65536"
    ]
    again = "--engine duckdb,trino --budget 1000000"
    auto = f"pbloom build {path} {other} --auto --in-place"
    assert said(path, other) == [auto]
    assert said(path, other, *again.split()) == [f"{auto} {again}"]
    assert said(path, "-c", "user_id,when", "--budget", "1MiB") == [
        f"pbloom build {path} --auto -c user_id,when --in-place --budget 1048576"
    ]
    for nothing in (("-c", "status"), small, ("-g", "0,1")):
        assert said(path, *nothing) == []
    assert said(path, "--details") == said(path)


def test_filters_that_are_too_small_are_built_again_where_they_are(tmp_path):
    """In all files only where these are not known one by one: those that are right come out as they are."""
    numbers = np.random.default_rng(8).permutation(8_000)
    for at, name in enumerate(("a", "b")):
        table = pa.table({"id": numbers[at::2]})
        path = tmp_path / f"{name}.parquet"
        pq.write_table(table, path, row_group_size=500, use_dictionary=False)
        small = {"max_bytes": 64, "force": True} if name == "a" else {}
        pb.build(path, columns="id", in_place=True, **small)

    def said(*arguments):
        return outcome("advise", *arguments).stdout.splitlines()[-1].removeprefix("next: ")

    command = f"pbloom build {tmp_path}/a.parquet -c id --in-place --existing replace"
    # Which files are meant is said by their names.
    assert said(tmp_path) == said(tmp_path, "--since", "2d") == command
    pq.write_table(pa.table({"only": numbers}), tmp_path / "c.parquet", row_group_size=500)
    auto = f"pbloom build {tmp_path} --auto --in-place --existing replace"
    assert said(tmp_path) == auto
    assert said(tmp_path, "--since=2d") == f"{auto} --since=2d"
    assert outcome(*auto.split()[1:]).code == 0
    assert "; keep the filters of id\n" in outcome("advise", tmp_path).stdout


@pytest.mark.parametrize("num_files", [2, 7])
@pytest.mark.parametrize("budget", [(), ("--budget", "1MiB")])
def test_what_is_to_be_kept_is_kept_in_other_schemas_too(tmp_path, num_files, budget):
    """Where files are too many to be named, all of them are meant that have the column."""
    numbers = np.random.default_rng(8).permutation(4_000)
    for folder, names in {"a": ("id", "kept", "new"), "b": ("other",)}.items():
        (tmp_path / folder).mkdir()
        for number in range(num_files):
            path = tmp_path / folder / f"{number}.parquet"
            table = pa.table(dict.fromkeys(names, numbers))
            pq.write_table(table, path, row_group_size=500, use_dictionary=False)
            good = [name for name in names if name in ("kept", "other")]
            pb.build(path, columns=good, in_place=True, fpp=0.05)
            if folder == "a":
                pb.build(path, columns="id", in_place=True, max_bytes=64, force=True)

    def bits():
        found = []
        for path in sorted(tmp_path.glob("*/*")):
            with pb.open(path) as file:
                chunks = product(range(file.num_row_groups), {"kept", "other"} & {*file.columns})
                found += [file.bloom_filter(*chunk).bits.to_bytes() for chunk in chunks]
        return found

    there = bits()
    assert len(there) == 16 * num_files
    lines = outcome("advise", tmp_path, *budget).stdout.splitlines()
    commands = [line.removeprefix("next: ") for line in lines if line.startswith("next: ")]
    again, auto = commands
    within = " --budget 1048576" * bool(budget)
    assert auto == f"pbloom build {tmp_path} --auto --in-place{within}"
    if num_files == 7:
        rate = " --fpp 0.003" * bool(budget)
        by_name = f"-c id --in-place{rate} --existing replace --union-by-name"
        assert again == f"pbloom build {tmp_path} {by_name}"
    for command in commands:
        assert outcome(*command.split()[1:]).code == 0
    assert bits() == there
    after = outcome("advise", tmp_path, *budget).stdout
    assert "\tbuild\t" not in after
    assert "\trebuild\t" not in after
    assert "next: " not in after


@pytest.mark.parametrize(
    ("num_small", "budget"), [(2, ()), (6, ()), (6, ("--budget", "1MiB"))], ids=str
)
def test_where_formats_differ_on_a_column_it_is_built_again(tmp_path, num_small, budget):
    """By the names of its files, if these are few; else good filters of it go, too, which is said."""
    rng = np.random.default_rng(8)
    for number in range(num_small):
        path = tmp_path / f"{number}.parquet"
        table = pa.table({"id": rng.integers(0, 1 << 40, 4_000)})
        pq.write_table(table, path, row_group_size=500, use_dictionary=False)
        pb.build(path, columns="id", in_place=True, max_bytes=64, force=True)
    for name in "ab":
        orc.write_table(pa.table({"id": rng.integers(0, 1 << 40, 4_000)}), f"{tmp_path}/{name}.orc")
    pb.build(tmp_path / "a.orc", columns="id", in_place=True)
    lines = outcome("advise", tmp_path, *budget).stdout.splitlines()
    told = [line for line in lines if line.startswith(("next: ", "note: "))]
    note = "note: with --existing replace, filters of id that are good enough are built again, too"
    everything = f"next: pbloom build {tmp_path} --auto"
    if num_small == 2:
        files = f"{tmp_path}/0.parquet {tmp_path}/1.parquet"
        again = f"next: pbloom build {files} -c id --in-place --existing replace"
        assert told == [again, f"{everything} --in-place"]
    elif budget:
        within = "--in-place --budget 1048576 --existing replace"
        assert told == [note, f"{everything} {within}"]
    else:
        assert told == [note, f"{everything} -c id --in-place --existing replace"]
    page = outcome("report", tmp_path, "-o", "-", "--no-config", *budget).stdout
    said = "With --existing replace, filters of id that are good enough are built again, too."
    assert (said in page) == (num_small == 6)


def test_files_without_the_column_do_not_fail_in_what_is_next(tmp_path):
    for name, column in {"a": "other", "b": "new", "c": "new"}.items():
        numbers = np.random.default_rng(8).permutation(4_000)
        pq.write_table(
            pa.table({column: numbers}), tmp_path / f"{name}.parquet", row_group_size=500
        )

    def said(*arguments):
        result = outcome("advise", *arguments, "-c", "new")
        assert result.stderr == (
            f"pbloom: {tmp_path}/a.parquet: no column new; the file has other\n"
            "pbloom: where a file has no such column, in whatever case, and others have, --union-by-name takes it as"
            " null there\n"
        )
        return result.stdout.splitlines()[-1].removeprefix("next: ")

    command = f"pbloom build {tmp_path} -c new --in-place --union-by-name"
    assert said(tmp_path) == command
    budget = "--budget 1048576"
    within = f"pbloom build {tmp_path} --auto -c new --in-place {budget} --union-by-name"
    assert said(tmp_path, *budget.split()) == within
    names = [f"{tmp_path}/{name}.parquet" for name in "abc"]
    assert said(*names) == f"pbloom build {names[1]} {names[2]} -c new --in-place"
    for each in (f"{within} --dry-run", command):
        assert outcome(*each.split()[1:]).code == 0


def test_details_have_the_rates_that_a_budget_chose(tmp_path):
    """None of them is among the rates that are shown anyway."""
    numbers = np.random.default_rng(6).permutation(30_000)
    path = tmp_path / "t.parquet"
    table = pa.table({"a": numbers, "b": numbers + 1})
    pq.write_table(table, path, row_group_size=5_000, use_dictionary=False)
    told = outcome("advise", path, "--budget", "30KiB", "--details").stdout
    assert "build filters for a (at 50 %), b (at 50 %)" in told
    assert "\nas recommended\t28.2 KiB\t" in told
    assert told.count("  at 50 %: 14.1 KiB, ") == told.count(" row groups read (recommended)") == 2


def test_a_budget_for_several_tables_is_told_of_each(tmp_path):
    """Who got it, and what the others need."""
    numbers = np.random.default_rng(6).permutation(30_000)
    for name in ("a", "b"):
        table = pa.table({f"in_{name}": numbers})
        pq.write_table(table, tmp_path / name, row_group_size=5_000, use_dictionary=False)
    names = (tmp_path / "a", tmp_path / "b")
    found = outcome("advise", *names, "--budget", "20KiB")
    lines = [line for line in found.stdout.splitlines() if "\t" not in line]
    assert [line.replace(f"{tmp_path}/", "") for line in lines] == [
        "a: 30,000 rows in 6 row groups, 122.2 KiB; build filters for in_a (at 50 %)",
        "b: 30,000 rows in 6 row groups, 122.2 KiB; the budget is too small",
        "2 schemas: budget: 14.1 KiB of the 20.0 KiB budget used, across all files",
        (
            "a: in_a: filters for 50 %, with an FPP of 42 %, take 14.1 KiB; a look-up reads 3.10 row groups, 2.89"
            " fewer than by min/max"
        ),
        "b: in_b: left out: needs at least 14,432 bytes, and 6,048 of the budget are left",
        "b: --budget 98508 has room for all of them, with a mean FPP of at most 0.34 % in any column",
        "b: with -c COLUMN --union-by-name, that column alone gets the whole budget",
        "2 schemas: 1 with columns to build, 1 without columns to build; 2 files",
        "judged apart, by what differs:",
        "  a: in_a INT64; no in_b",
        "  b: in_b INT64; no in_a",
        "next: pbloom build a b --auto --in-place --budget 20480",
    ]


def schemas_in(folder, *tables):
    for number, table in enumerate(tables):
        pq.write_table(pa.table(table), folder / f"{number}.parquet")
    lines = [line.replace(f"{folder}/", "") for line in answers(folder)]
    return lines[lines.index("judged apart, by what differs:") + 1 :]


def answers(folder, *options):
    return outcome("advise", folder, *options).stdout.splitlines()


def test_what_is_judged_apart_is_shown_with_what_differs(tmp_path):
    """By schema as in one table; where there are too many, those with columns to build have a line."""
    number, text = pa.array([1, 2]), pa.array(["a", "b"])
    assert schemas_in(
        tmp_path,
        {"id": number, "same": text, "a,b": text},
        {"id": number.cast("i4"), "same": text},
        {"id": number.cast("u4"), "same": text, "other": number},
    ) == [
        "  0.parquet: id INT64, \"a,b\" STRING; no other",
        "  1.parquet: id INT32; no \"a,b\", other",
        "  2.parquet: id INTEGER(32,false), other INT64; no \"a,b\"",
    ]  # fmt: skip
    rows = [line.split("\t")[:2] for line in answers(tmp_path) if "\t" in line]
    assert rows == [
        ["column", "type"], ["id", "INT64"], ["same", "STRING"], ["a,b", "STRING"],
        ["column", "type"], ["id", "INT32"], ["same", "STRING"],
        ["column", "type"], ["id", "INTEGER(32,false)"], ["same", "STRING"], ["other", "INT64"],
    ]  # fmt: skip
    *_, total, _, _, _, _ = answers(tmp_path)
    assert total == "3 schemas: 3 without columns to build; 3 files"
    assert answers(tmp_path, "--details")[-5:] == [
        "", "judged apart, by what differs:", *answers(tmp_path)[-3:],
    ]  # fmt: skip
    for count in range(7):
        pq.write_table(pa.table({f"c{count}": number}), tmp_path / f"{count + 3}.parquet")
    found = outcome("advise", tmp_path)
    assert found.complaint == "--verbose shows the columns of each schema, and why"
    assert "\t" not in found.stdout
    assert found.stdout.splitlines()[-1] == "  and 5 more schemas"


def test_schemas_may_differ_in_what_types_do_not_show(tmp_path):
    number, short, long = (
        pa.array([1]),
        pa.array([b"ab"], pa.binary(2)),
        pa.array([b"a"], pa.binary(1)),
    )
    tables = ({"id": number, "at": number}, {"at": number, "id": number})
    assert schemas_in(tmp_path, *tables) == [
        "  0.parquet: columns in the order id, at",
        "  1.parquet: columns in the order at, id",
    ]
    assert schemas_in(tmp_path, {"id": short}, {"id": long}) == [
        f"  {name}.parquet: values of another length, another annotation that is not known, or names with"
        " dots for structs"
        for name in range(2)
    ]
    amount = {"id": pa.array([1], pa.decimal128(9, 2))}
    pq.write_table(pa.table(amount), tmp_path / "1.parquet")
    pq.write_table(pa.table(amount), tmp_path / "0.parquet", store_decimal_as_integer=True)
    assert answers(tmp_path)[-2:] == [
        f"  {tmp_path}/0.parquet: id INT32 DECIMAL(9,2)",
        f"  {tmp_path}/1.parquet: id FIXED_LEN_BYTE_ARRAY DECIMAL(9,2)",
    ]


def test_details_end_with_the_command_that_builds(path, tmp_path):
    """As the answer without them does."""
    for options in ((), ("--budget", "50%"), ("--fpp", "0.1")):
        short = outcome("advise", path, *options).stdout.splitlines()[-1]
        *_, blank, last = outcome("advise", path, *options, "--details").stdout.splitlines()
        assert (blank, last) == ("", short)
        assert short.startswith("next: pbloom build ")
    nothing = outcome("advise", path, "-c", "user_id", "--engine", "polars", "--details").stdout
    assert "next: " not in nothing


def test_what_cannot_be_read_is_not_to_be_built(path, tmp_path):
    """Wherever it stands; a folder is built as it is."""
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"not a file")
    for names in ((bad, path), (path, bad), (tmp_path / "gone.parquet", path)):
        said = outcome("advise", *names)
        assert said.code == 2
        assert said.stdout.splitlines()[-1] == f"next: pbloom build {path} -c user_id --in-place"


def test_who_loses_rows_of_a_column_to_build_is_noted(tmp_path):
    """As `build` notes it, for the engines that are asked about."""
    path = tmp_path / "sessions.parquet"
    numbers = np.random.default_rng(5).permutation(ROWS)
    sessions = pa.array([int(each).to_bytes(8) for each in numbers], pa.binary(8))
    table = pa.table({"session": sessions, "other": sessions, "number": numbers})
    pq.write_table(table, path, row_group_size=ROWS // 5, use_dictionary=False)
    note = (
        "note: column{}: DuckDB 1.5 loses rows even with correct filters: it looks up the text that it shows for bytes,"
        " such as \\xFF for 0xff"
    )
    for options, said in (
        ((), [note.format("s session, other")]),
        (("-c", "session", "--engine", "duckdb"), [note.format(" session")]),
        (("--engine", "trino"), []),
        (("-c", "number"), []),
    ):
        *lines, next_line = outcome("advise", path, *options).stdout.splitlines()
        assert next_line.startswith("next: pbloom build ")
        assert [line for line in lines if line.startswith("note: ")] == said
    (use,) = (use for use in pb.advise(path).columns[0].engines if use.engine == "DuckDB")
    assert note.format(" session").endswith(f": {use.loses}")
    assert use.reason.endswith(use.loses)


def test_since_when_an_engine_uses_filters_is_said_where_it_is_asked_about(tmp_path):
    path = tmp_path / "days.parquet"
    days = pa.array(np.random.default_rng(5).permutation(ROWS).astype("int32")).cast(pa.date32())
    members = pa.StructArray.from_arrays([days], ["day"])
    table = pa.table({"day": days, "of": members, "number": days.cast(pa.int32())})
    pq.write_table(table, path, row_group_size=ROWS // 5, use_dictionary=False)
    for options, said in (
        (("--engine", "duckdb"), ["note: columns day, of.day: used by DuckDB (since 2.0)"]),
        (("--engine", "spark"), []),
        ((), []),
    ):
        lines = outcome("advise", path, *options).stdout.splitlines()
        assert [line for line in lines if line.startswith("note: column")] == said
        built = outcome("build", path, "--auto", *options, "--dry-run").stderr
        assert built == "".join(f"pbloom: {path}: {line}\n" for line in said)
    details = outcome("advise", path, "--details").stdout
    assert details.count("  used by Spark, DuckDB (since 2.0), ") == 2
    assert details.count("  used by Spark, DuckDB, ") == 1
    said = {each.column: each.engines for each in pb.advise(path).columns}
    since = {name: use.reason for name, of in said.items() for use in of if use.engine == "DuckDB"}
    assert since == {"day": "since 2.0", "of.day": "since 2.0", "number": ""}


def test_no_engine_that_searches_dictionaries_is_noted_as_one_that_uses_filters(tmp_path):
    path = tmp_path / "names.parquet"
    names = pa.array(np.random.default_rng(5).permutation(ROWS).astype(str))
    for dictionary, said in (
        (False, ["note: column name: used by Spark (not for CHAR(n) and collated columns)"]),
        (True, []),
    ):
        table = pa.table({"name": names})
        pq.write_table(table, path, row_group_size=ROWS // 5, use_dictionary=dictionary)
        lines = outcome("advise", path, "--engine", "spark,duckdb").stdout.splitlines()
        assert [line for line in lines if line.startswith("note: ")] == said


def test_figures_are_of_filters_that_are_recommended(tmp_path):
    path = tmp_path / "amounts.parquet"
    numbers = np.random.default_rng(6).permutation(ROWS)
    table = pa.table({"amount": numbers / 7, "id": numbers})
    pq.write_table(table, path, row_group_size=ROWS // 5, use_dictionary=False)
    details = outcome("advise", path, "--details").stdout
    optional, built = details.split("\namount: optional\n")[1].split("\nid: build\n")
    assert "  at 1 %: " in optional
    assert "recommended" not in optional
    assert " row groups read (recommended)\n" in built
    asked = outcome("advise", path, "-c", "amount", "--details", "--fpp", "0.03").stdout
    assert re.search("\n  at 3 %: .* read \\(as asked\\)\n", asked)
    *_, left = outcome("advise", path, "-c", "id", "--budget", "64").stdout.splitlines()
    assert (left.split("\t")[2], *left.split("\t")[4:7]) == ("left out", "", "", "")
    heading = outcome("advise", path, "--engine", "polars,pyarrow").stdout.splitlines()[0]
    assert heading.endswith("; no filter recommended for Polars, pyarrow")
    # What is there and does is kept, and nothing else is recommended; what is too small is built again.
    for fpp, said in ((0.01, 0), (0.3, 1)):
        pb.build(path, in_place=True, columns="id", fpp=fpp, existing="replace")
        there = outcome("advise", path, "-c", "id", "--details").stdout
        assert f"\nid: {('keep', 'rebuild')[said]}\n" in there
        assert there.count("(recommended)") == said


def test_a_manifest_is_named_again_by_what_helps_next(tmp_path):
    """With its options, by which the same columns are chosen within a budget, too."""
    numbers = np.random.default_rng(6).permutation(24_000)
    for at in range(8):
        table = pa.table({"id": numbers[at::8]})
        pq.write_table(table, tmp_path / f"{at}.parquet", row_group_size=500)
    listed = tmp_path / "my list.txt"
    listed.write_text("".join(f"{tmp_path}/{at}.parquet\n" for at in range(8)))
    asked = ("--manifest", listed)

    def said(verb, *options):
        lines = outcome(verb, *asked, *options).stdout.splitlines()
        return next(line.partition("next: pbloom ")[2] for line in lines if "next: " in line)

    named = f"build --manifest '{listed}'"
    assert said("advise", "--since", "2d") == f"{named} -c id --in-place --since 2d"
    assert said("advise", "--budget", "20KiB") == f"{named} --auto --in-place --budget 20480"
    assert said("validate", "--require", "id") == f"{named} -c id --in-place"
    why = outcome("build", *asked, "--auto", "--engine", "polars", "--dry-run").stderr
    assert f"`pbloom advise --manifest '{listed}' --engine polars` says why" in why
    page = tmp_path / "page.html"
    assert outcome("report", *asked, "-o", page).code == 0
    shown = f"pbloom build --manifest '{listed}' -c id --fpp 0.01 --in-place"
    assert shown in unescape(page.read_text())
    assert outcome(*shlex.split(said("advise"))).code == 0
    assert "; keep the filters of id\n" in outcome("advise", *asked).stdout


def test_a_page_is_not_called_after_columns_that_some_files_lack(tmp_path):
    numbers = np.random.default_rng(6).permutation(8_000)
    for at in range(2):
        pq.write_table(pa.table({"a": numbers, "b": numbers}), tmp_path / f"{at}.parquet")
    assert outcome("build", tmp_path / "0.parquet", "-c", "a,b", "--in-place").code == 0
    page = tmp_path / "page.html"
    assert outcome("report", tmp_path, "-o", page).code == 0
    assert f"{tmp_path.name} and " not in page.read_text()


def test_commands_in_settings_can_be_pasted(tmp_path):
    """Whatever their columns are called: neither are control characters lost, nor ends lines within quotes."""
    numbers = np.random.default_rng(5).permutation(3_000)
    names = ["tab\tname", "two\nlines", "it's"]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({name: numbers for name in names}), path, row_group_size=500)
    lines = outcome("advise", path, "--details").stdout.splitlines()
    commands = [lines[at + 1].strip() for at, line in enumerate(lines) if line == "  pbloom:"]
    assert [each.partition(" -c ")[2].partition(" --fpp")[0] for each in commands] == [
        r"$'tab\tname'", r"""$'"two\nlines"'""", """'it'"'"'s'""",
    ]  # fmt: skip


def test_a_share_that_is_less_than_a_byte_is_a_budget_of_one(path):
    """As a budget of none is refused."""
    for budget, said in (("0.000001%", "1 B budget (0.000001% of the files)"), ("1", "1 B budget")):
        lines = outcome("advise", path, "--budget", budget).stdout.splitlines()
        assert lines[1] == f"0 B of the {said} used, across all files"


def test_commands_for_very_many_columns_are_whole_where_all_is_wanted(tmp_path):
    """On a terminal and in a pull request, they would bury what they help against."""
    path = tmp_path / "wide.parquet"
    names = [f"a_column_of_many_{number:03}" for number in range(120)]
    pq.write_table(pa.table({name: np.arange(300) for name in names}), path)
    pb.build(path, in_place=True, columns=names, fpp=0.05)
    asked = ("validate", path, "--max-fpp", "0.001")
    options = "--existing replace --fpp 0.001 --in-place"
    whole = f"  next: pbloom build {path} -c {','.join(names)} {options}"
    assert outcome(*asked).stdout.splitlines()[-1] == whole
    assert on_a_terminal(100, *asked, "--verbose", code=1)[-1] == whole
    short = f"next: pbloom build {path} -c {','.join(names[:10])},… (120 columns: "
    on_terminal = on_a_terminal(100, *asked, code=1)[-1]
    assert on_terminal == f"  {short}--verbose and a pipe show all) {options}"
    annotation, _ = outcome(*asked, "--format", "github").stdout.splitlines()
    assert annotation.endswith(f"%0A{short}--format json has all) {options}")
