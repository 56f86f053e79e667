"""The command that helps next with the files of a table: one that tables take."""

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make import delta_tables, iceberg_tables
from make.commands import outcome
from make.delta_features import make_mapped
from make.iceberg_tables import CATALOG, NAME, use_catalog

import parquet_bloom as pb
from parquet_bloom.container.in_commands import AsTable, command_for
from parquet_bloom.errors import ColumnError
from parquet_bloom.files import open_file
from parquet_bloom.render.wording import MOST_SHOWN
from parquet_bloom.rules.rule import rules
from parquet_bloom.tables.open import open_table


@pytest.fixture(params=["delta", "iceberg"])
def table(request, tmp_path, monkeypatch):
    """The words that name a table of two small files."""
    if request.param == "delta":
        # As a shell has to quote it.
        made = delta_tables.make_table(tmp_path / "my events", commits=2)
        return str(made), "--table", "delta"
    use_catalog(tmp_path, monkeypatch)
    iceberg_tables.make_table(commits=1)
    return NAME, "--table", "iceberg", "--catalog", CATALOG


def next_of(*arguments):
    """The one command that is advised, as words."""
    result = outcome(*arguments)
    (command,) = {
        line.strip().partition("next: ")[2]
        for line in result.stdout.splitlines()
        if "next: " in line
    }
    program, *words = shlex.split(command)
    assert program == "pbloom"
    return words


def test_what_is_required_is_built(table):
    name, *options = table
    check = ("validate", *table, "--no-config", "--require", "id")
    result = outcome(*check)
    assert result.code == 1
    words = next_of(*check)
    assert words == ["build", name, "-c", "id", *options, "--all-sizes"]
    assert outcome(*words).code == 0
    assert outcome(*check).code == 0


@pytest.mark.parametrize("is_mapped", [False, True])
def test_a_partition_is_to_be_required_no_longer(tmp_path, is_mapped):
    """Even where the paths of the files do not name it."""
    table = tmp_path / "events"
    if is_mapped:
        make_mapped(table)
    else:
        delta_tables.make_table(table, partition_by=["day"], commits=1)
    told = outcome("validate", table, "--table", "delta", "--no-config", "--require", "day")
    assert told.code == 1
    said = "no column of exactly this name; it is a partition: its values are in the table, not in the files"
    assert said in told.stdout
    assert "next: require it no longer: a partition needs no filter" in told.stdout
    assert "write the file" not in told.stdout


@pytest.mark.parametrize("output", ["json", "sarif", "github", "junit"])
def test_every_output_names_it(table, output):
    name, *options = table
    result = outcome("validate", *table, "--no-config", "--require", "id", "--format", output)
    command = shlex.join(["pbloom", "build", name, "-c", "id", *options, "--all-sizes"])
    shown = json.dumps(command)[1:-1] if output in ("json", "sarif") else command
    assert shown in result.stdout.replace("%3A", ":").replace("&#39;", "'").replace("&apos;", "'")
    assert "--in-place" not in result.stdout


def test_files_are_opened_as_those_of_their_table(table):
    """In Python, too."""
    catalog = CATALOG if "--catalog" in table else None
    found = open_table(table[0], catalog=catalog)
    with found.open_file(found.files()[0]) as file:
        assert file.in_commands == AsTable(table[0], table[2], table[1:], table[1:], is_small=True)
    with open_file(found.files()[0].path) as file:
        assert file.in_commands.place == found.files()[0].path


def test_one_file_leads_on(tmp_path):
    """Many are summed up without a command."""
    made = delta_tables.make_table(tmp_path / "events", commits=1)
    table = (str(made), "--table", "delta")
    assert next_of("inspect", *table) == ["advise", *table]
    assert next_of("validate", *table, "--no-config") == ["advise", *table, "--no-config"]
    words = next_of("probe", *table, "-c", "id", "-v", "x")
    assert words == ["advise", str(made), "-c", "id", "--table", "delta"]
    build = ("build", str(made), "-c", "id", "--table", "delta", "--all-sizes")
    assert outcome(*build).code == 0
    assert "next: " not in outcome("probe", *table, "-c", "id", "-v", "x").stdout


@pytest.mark.parametrize("which", [("--where", "day=2026-11-01"), ("--since", "0"), ()])
def test_what_was_not_judged_is_not_built(which, tmp_path):
    made = delta_tables.make_table(tmp_path / "events", commits=2, partition_by=["day"])
    table = (str(made), "--table", "delta")
    words = next_of("advise", *table, "-c", "id", *which)
    assert words == ["build", str(made), "-c", "id", "--table", "delta", "--all-sizes", *which]


def test_all_tables_that_were_judged_are_built(tmp_path):
    tables = [str(delta_tables.make_table(tmp_path / name, commits=1)) for name in "ab"]
    words = next_of("advise", *tables, "--table", "delta", "-c", "id")
    assert words == ["build", *tables, "-c", "id", "--table", "delta", "--all-sizes"]
    assert outcome(*words).code == 0
    assert "; keep the filters of id\n" in outcome("advise", *tables, *words[3:-1]).stdout


def test_options_of_stores_come_again(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)
    iceberg_tables.make_table(commits=1)
    given = ("--storage-option", "region=x", "--storage-option", "secret_access_key=hush")
    table = (NAME, "--table", "iceberg", "--catalog", CATALOG)
    words = next_of("validate", *table, *given, "--no-config", "--require", "id")
    again = (*given[:3], "secret_access_key=VALUE")
    assert words == ["build", NAME, "-c", "id", *table[1:], *again, "--all-sizes"]


def lake_of_two_schemas(folder):
    """A table whose later files have one column more, as shuffled numbers."""
    numbers = np.random.default_rng(6).permutation(30_000)
    paths = [folder / f"{number}.parquet" for number in range(4)]
    for number, path in enumerate(paths):
        rows = pa.table({"a": numbers + number, "b": numbers[::-1] + number, "c": numbers * 3})
        few = rows if number > 1 else rows.drop_columns("c")
        pq.write_table(few, path, row_group_size=5_000, use_dictionary=False)
    return str(delta_tables.table_of(folder / "events", *paths, a="long", b="long", c="long"))


def filters_in(table):
    """By name of file and column, the bytes and the rates of its filters."""
    found = {}
    for report in pb.inspect(table, table="delta").reports:
        for each in (each for group in report.row_groups for each in group.columns if each.filter):
            key = Path(report.path).name, each.column
            found.setdefault(key, []).append((each.filter_bytes, each.filter.fpp))
    return found


def bytes_in(filters):
    return sum(size for each in filters.values() for size, _ in each)


@pytest.mark.parametrize("budget", [60 << 10, 150 << 10, 1 << 20])
def test_a_budget_is_spent_on_a_table_by_one_command(budget, tmp_path):
    """Each file gets those of the columns that it has, at their rates, within the budget to the byte."""
    made = lake_of_two_schemas(tmp_path)
    planned = pb.advise(made, table="delta", budget=budget)
    words = next_of("advise", made, "--table", "delta", "--budget", budget)
    again = ("--table", "delta", "--all-sizes", "--budget", str(budget))
    assert words == ["build", made, "--auto", *again]
    before = shutil.copytree(made, tmp_path / "copy")
    assert outcome(*words).code == 0
    found = filters_in(made)
    (report,) = planned.reports
    assert report.files == 4
    assert report.budget.used == bytes_in(found) <= budget
    rates = {each.column: each.fpp for each in report.budget.columns}
    for number in range(4):
        name = f"part-{number}.parquet"
        lacking = set() if number > 1 else {"c"}
        assert {column for file, column in found if file == name} == rates.keys() - lacking
        for column in rates.keys() - lacking:
            assert max(fpp for _, fpp in found[name, column]) <= rates[column]
    assert "next: " not in outcome("advise", made, "--table", "delta", "--budget", budget).stdout
    built = pb.build_table(before, advice=planned, min_file_size=0)
    assert built.committed is not None
    assert filters_in(before) == found


def test_filters_of_other_columns_of_a_table_count(tmp_path):
    """Of those that are named, only what these leave of the budget can be built."""
    made = lake_of_two_schemas(tmp_path)
    asked = (made, "--table", "delta", "-c", "a")
    assert outcome("build", made, "--table", "delta", "-c", "b", "--all-sizes").code == 0
    there = bytes_in(filters_in(made))
    assert "next: " not in outcome("advise", *asked, "--budget", there + 100).stdout
    words = next_of("advise", *asked, "--budget", there + 80_000)
    assert outcome(*words).code == 0
    (used,) = {each.budget.used for each in pb.advise(made, table="delta", budget=1).reports}
    assert there < bytes_in(filters_in(made)) == used <= there + 80_000


def test_columns_are_named_where_build_does_not_judge(tmp_path):
    """That is by a sample: without one, a table with many columns is judged again."""
    numbers = np.random.default_rng(8).permutation(4_000)
    names = [f"c{number}" for number in range(MOST_SHOWN + 1)]
    path, sample = tmp_path / "a.parquet", tmp_path / "sample.csv"
    pq.write_table(pa.table(dict.fromkeys(names, numbers)), path, row_group_size=1_000)
    made = delta_tables.table_of(tmp_path / "events", path, **dict.fromkeys(names, "long"))
    sample.write_text("\n".join([",".join(names), *([",".join(["7"] * len(names))] * 2)]))
    table = ("--table", "delta", "--all-sizes")
    judged = next_of("advise", made, "--table", "delta")
    assert judged == ["build", str(made), "--auto", *table]
    sampled = next_of("advise", made, "--table", "delta", "--value-sample", sample)
    assert sampled == ["build", str(made), "-c", ",".join(names), *table]
    both = ("--value-sample", sample, "--budget", "1MiB")
    assert "next: " not in outcome("advise", made, "--table", "delta", *both).stdout


@pytest.mark.parametrize("way", ["command", "python"])
def test_files_with_their_columns_in_other_types_are_another_schema(way, tmp_path):
    """Each file gets what was said of those with its types, and the next command has nothing to do."""
    numbers = np.random.default_rng(7).permutation(6_000)
    narrow = numbers.astype(np.int32)
    schemas = {"x": numbers, "y": numbers % 2}, {"x": narrow % 2, "y": narrow}
    paths = [tmp_path / f"{number}.parquet" for number in range(6)]
    for number, path in enumerate(paths):
        pq.write_table(pa.table(schemas[number // 3]), path, row_group_size=2_000)
    made = str(delta_tables.table_of(tmp_path / "events", *paths, x="long", y="long"))
    if way == "command":
        words = next_of("advise", made, "--table", "delta")
        assert outcome(*words).code == 0
    else:
        pb.build_table(made, advice=pb.advise(made, table="delta"), min_file_size=0)
    assert [*filters_in(made)] == [
        (f"part-{number}.parquet", "xxxyyy"[number]) for number in range(6)
    ]
    assert "next: " not in outcome("advise", made, "--table", "delta").stdout


def lake_of_columns(folder, *names):
    """A table with these columns of shuffled numbers."""
    numbers = np.random.default_rng(8).permutation(30_000)
    path = folder.with_suffix(".parquet")
    columns = {name: np.roll(numbers, place) for place, name in enumerate(names)}
    pq.write_table(pa.table(columns), path, row_group_size=5_000, use_dictionary=False)
    return str(delta_tables.table_of(folder, path, **dict.fromkeys(names, "long")))


@pytest.mark.parametrize("budget", [(), ("--budget", "50%")])
def test_each_of_several_tables_gets_what_is_advised_of_it(budget, tmp_path):
    first = lake_of_columns(tmp_path / "first", "id", "a")
    second = lake_of_columns(tmp_path / "second", "id", "user_id")
    small = str(delta_tables.make_table(tmp_path / "small"))
    words = next_of("advise", first, second, "--table", "delta", *budget)
    assert words[:4] == ["build", first, second, "--auto"]
    words.remove("--all-sizes")
    build, *others = words
    result = outcome(build, small, *others, "--min-file-size", "100KiB", "--json")
    assert result.code == 0
    said = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(each["path"], each["columns"]) for each in said] == [
        (small, []),
        (first, ["id", "a"]),
        (second, ["id", "user_id"]),
    ]
    assert {column for _, column in filters_in(first)} == {"id", "a"}
    assert {column for _, column in filters_in(second)} == {"id", "user_id"}
    assert not filters_in(small)


@pytest.mark.parametrize("way", ["command", "python"])
def test_a_table_judged_with_another_needs_none_of_its_columns(way, tmp_path):
    """As files of the one have the columns of the other."""
    wide = lake_of_two_schemas(tmp_path)
    narrow = lake_of_columns(tmp_path / "narrow", "a", "b")
    if way == "command":
        result = outcome("build", wide, narrow, "--auto", "--table", "delta", "--all-sizes")
        assert (result.code, result.stderr) == (0, "")
    else:
        advice = pb.advise([wide, narrow], table="delta")
        assert [each.tables for each in advice.reports] == [(wide, narrow)]
        done = pb.build_table(wide, advice=advice, min_file_size=0)
        assert done.columns == ("a", "b", "c")
        done = pb.build_table(narrow, advice=advice, min_file_size=0)
        assert (done.columns, done.skipped) == (("a", "b"), ())
    assert {column for _, column in filters_in(wide)} == {"a", "b", "c"}
    assert {column for _, column in filters_in(narrow)} == {"a", "b"}


def test_only_files_that_are_appended_to_are_judged(tmp_path):
    made = lake_of_two_schemas(tmp_path)
    sizes = sorted(path.stat().st_size for path in Path(made).glob("*.parquet"))
    least = ("--min-file-size", sizes[2])
    result = outcome("build", made, "--table", "delta", "--auto", "--budget", "40KiB", *least)
    assert result.code == 0
    found = filters_in(made)
    assert {file for file, _ in found} == {"part-2.parquet", "part-3.parquet"}
    assert 20 << 10 < bytes_in(found) <= 40 << 10
    nothing = outcome("build", made, "--table", "delta", "--auto", "--min-file-size", "1GiB")
    assert (nothing.code, nothing.stderr) == (0, "")
    assert "4 too small" in nothing.stdout


def test_nothing_is_appended_where_nothing_is_recommended(tmp_path):
    made = lake_of_two_schemas(tmp_path)
    asked = ("build", made, "--table", "delta", "--all-sizes", "--auto", "--engine", "polars")
    result = outcome(*asked)
    assert result.code == 0
    why = f"`pbloom advise {made} --table delta --engine polars` says why"
    assert result.stderr.count(f": no column that advise would build; {why}\n") == 1
    assert "4 files: unchanged: no filters are advised for it\n" in result.stdout


def test_advice_for_a_table_is_refused_with_columns_and_about_other_files(tmp_path):
    made = lake_of_two_schemas(tmp_path)
    advice = pb.advise(made, table="delta")
    for more in ({"columns": "a"}, {"fpp": 0.1}):
        with pytest.raises(TypeError, match="advice: expected neither columns nor fpp with it"):
            pb.build_table(made, advice=advice, min_file_size=0, **more)
    with pytest.raises(TypeError, match="advice: 'a', expected what advise returned"):
        pb.build_table(made, advice="a", min_file_size=0)
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"z": np.random.default_rng(1).permutation(9_000)}), other, 1_000)
    with pytest.raises(ColumnError, match="no column z"):
        pb.build_table(made, advice=pb.advise([other]), min_file_size=0)


def test_older_versions_are_only_read(table):
    """Nothing changes them any more."""
    found = open_table(table[0], catalog=CATALOG if "--catalog" in table else None)
    version = str(found.version)
    check = ("validate", *table, "--version", version, "--no-config", "--require", "id")
    result = outcome(*check)
    assert result.code == 1
    assert "next: " not in result.stdout
    catalog = CATALOG if "--catalog" in table else None
    older = open_table(table[0], catalog=catalog, version=found.version)
    with older.open_file(found.files()[0]) as file:
        assert command_for(file.in_commands, "pbloom advise FILE", {}) == shlex.join(
            ["pbloom", "advise", *table, "--version", version]
        )


def test_tables_without_their_catalog_are_only_read(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)
    folder = iceberg_tables.path_of(iceberg_tables.make_table(commits=1).location())
    result = outcome("validate", folder, "--table", "auto", "--no-config", "--require", "id")
    assert result.code == 1
    assert "next: " not in result.stdout


def test_large_files_need_not_be_asked_for(tmp_path, monkeypatch):
    made = delta_tables.make_table(tmp_path / "events", commits=1)
    monkeypatch.setattr("parquet_bloom.tables.table.MIN_FILE_SIZE", 0)
    words = next_of("validate", made, "--table", "auto", "--no-config", "--require", "id")
    assert words == ["build", str(made), "-c", "id", "--table", "delta"]


@pytest.mark.parametrize(
    "command", sorted({rule.command or "" for rule in rules().values()} - {""})
)
def test_every_command_of_the_catalogue(tmp_path, command):
    """Is taken for a table, or none is named."""
    made = delta_tables.make_table(tmp_path / "events", commits=1)
    named = open_table(made).in_commands
    limit = "16KiB" if "--max-bytes" in command else "0.01"
    values = {"COLUMN": "id", "COLUMNS": "id,n", "ROW_GROUP": "0", "LIMIT": limit}
    found = command_for(named, command, values)
    is_for_files = "strip" in command or "--dialect" in command
    assert (found is None) == is_for_files
    if found is not None:
        words = shlex.split(found)[1:]
        assert "--in-place" not in words
        assert outcome(*words).code == 0
    with open_file(next(Path(made).glob("*.parquet"))) as file:
        as_file = command_for(file.in_commands, command, values)
    assert (as_file is None) == ("--in-place" in command)


@pytest.mark.parametrize("named", ["folder", "files", "among others"])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_files_of_a_table_that_was_not_asked_as_one_are_not_to_be_changed(tmp_path, named, format):
    """It would be refused, as is said of a table's folder."""
    made, other = tmp_path / "events", tmp_path / "other.parquet"
    sign = {"delta": "_delta_log/00000000000000000000.json", "iceberg": "metadata/v1.metadata.json"}
    (made / sign[format]).parent.mkdir(parents=True)
    (made / sign[format]).write_text("{}")
    for number, path in enumerate((made / "0.parquet", made / "1.parquet", other)):
        rows = pa.table({"id": np.random.default_rng(number).integers(0, 1 << 60, 3_000)})
        pq.write_table(rows, path, row_group_size=1_000, use_dictionary=False)
    files = sorted(made.glob("*.parquet"))
    names = {"folder": [made], "files": files, "among others": [other, *files]}[named]
    advised = outcome("advise", *names, "-c", "id")
    assert "build filters for id" in advised.stdout
    assert "next: " not in advised.stdout
    assert (f"--table {format} takes the live files" in advised.stderr) == (named == "folder")
    assert "next: pbloom build" in outcome("advise", other, "-c", "id").stdout


@pytest.mark.parametrize("named", ["folder", "files", "folder among others"])
def test_neither_are_they_by_what_findings_say(tmp_path, named):
    made = delta_tables.make_table(tmp_path / "events", commits=2)
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"id": ["a"]}), other)
    files = sorted(made.glob("*.parquet"))
    names = {"folder": [made], "files": files, "folder among others": [other, made]}[named]
    check = ("--require", "id", "--no-config")
    said = outcome("validate", *names, *check).stdout.splitlines()
    found = [line.partition("next: ")[2] for line in said if "next: " in line]
    assert found == [f"pbloom build {other} -c id --in-place"] * (other in names)
    page = tmp_path / "page.html"
    assert outcome("report", *names, *check, "-o", page).code == 0
    assert "Ask for the page with --table" in page.read_text()
    assert "--in-place" not in page.read_text()


@pytest.mark.parametrize("order", [1, -1])
def test_all_files_that_were_judged_are_built(tmp_path, monkeypatch, order):
    """Small ones among others, too, whichever comes first."""
    numbers = np.random.default_rng(6).permutation(30_000)
    sizes = {"a": 30_000, "b": 3_000}
    for name, size in sizes.items():
        rows = pa.table({"id": numbers[:size]})
        pq.write_table(rows, tmp_path / name, row_group_size=size // 3, use_dictionary=False)
    paths = [tmp_path / name for name in [*sizes][::order]]
    monkeypatch.setattr("parquet_bloom.tables.table.MIN_FILE_SIZE", 50_000)
    assert sorted(path.stat().st_size < 50_000 for path in paths) == [False, True]
    made = str(delta_tables.table_of(tmp_path / "events", *paths, id="long"))
    words = next_of("advise", made, "--table", "delta")
    assert words == ["build", made, "-c", "id", "--table", "delta", "--all-sizes"]
