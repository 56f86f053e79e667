"""What a page of `pbloom report` about many files says is to be done next."""

import os
import re
import shlex
from functools import partial
from html import unescape

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.browser import Document
from make.commands import outcome
from make.delta_tables import make_table, table_of
from make.lake_pages import NO_OTHERS, ROWS, page_of, steps_on, write_grown, write_lake
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.render.report import MOST_PLACES, MOST_STEPS
from parquet_bloom.verbs.advise import MAX_IN_NEED
from parquet_bloom.verbs.inspect import inspect
from parquet_bloom.verbs.lake_report import (
    MAX_EXAMPLES,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    write_lake(folder)
    return folder


@pytest.fixture
def run(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    return partial(page_of, tmp_path / "page.html")


@pytest.fixture
def grown(tmp_path):
    return write_grown(tmp_path)


def test_what_to_do_next(tmp_path):
    """What loses rows comes first, each command once, at the rate that is advised; nothing, where all is well."""
    files, page = tmp_path / "files", tmp_path / "page.html"
    files.mkdir()

    def steps():
        outcome("report", files, "-o", page, "--overwrite", "--require", "id,code", "--no-config")
        html = page.read_text()
        part = html.partition('id="next"')[2].partition("</section>")[0]
        return Document(f"<body>{part}</body>").text.replace(str(files), "LAKE")

    for number in range(4):
        ids = np.random.default_rng(number).permutation(1 << 20)[:ROWS]
        table = pa.table({"id": ids, "code": ids[::-1], "at": np.arange(ROWS)})
        pq.write_table(table, files / f"{number}.parquet", row_group_size=ROWS // 2)
    pb.build(files, columns="id", in_place=True)
    lost = files / "2.parquet"
    whole = lost.read_bytes()
    filter = inspect(lost).row_groups[1].columns[0].filter
    start = filter.offset + filter.header_bytes
    lost.write_bytes(whole[:start] + bytes(512) + whole[start + 512 :])
    assert steps().endswith(
        "What to do next error Stored values are not in the filter 1 time in 1 file"
        " pbloom repair LAKE/2.parquet --rebuild --in-place"
        " error A required filter is missing 8 times in 4 files"
        f" pbloom build LAKE -c code --fpp 0.01 --in-place {NO_OTHERS}"
    )
    header = inspect(lost).row_groups[0].columns[0].filter.offset
    lost.write_bytes(whole[:header] + bytes(8) + lost.read_bytes()[header + 8 :])
    assert (
        "error There is no filter header at bloom_filter_offset 1 time in 1 file"
        " pbloom repair LAKE/2.parquet --rebuild --in-place"
        " error Stored values are not in the filter 1 time in 1 file A command above does this, too."
        " error A required"
    ) in steps()
    lost.write_bytes(whole)
    pb.build(files, columns="code", in_place=True)
    # That one file has more than is advised is no reason to do anything.
    for path in (lost, files):
        assert steps().endswith(
            "What to do next Nothing: all filters that are advised are there, and right."
        )
        pb.build(path, columns="at", in_place=True)


@pytest.mark.parametrize("is_of_orc", [True, False])
def test_no_step_builds_what_the_advice_on_a_file_skips(run, tmp_path, is_of_orc):
    """Another schema or format is another table, with the same name of a column."""
    lake = tmp_path / "lake"
    lake.mkdir()
    rng = np.random.default_rng(1)
    texts = pa.array([each.tobytes() for each in rng.integers(0, 256, (ROWS, 8), np.uint8)])
    ids = pa.table({"id": rng.integers(0, 1 << 40, ROWS), "s": texts})
    pq.write_table(ids, lake / "a.parquet", row_group_size=ROWS // 4)
    if is_of_orc:
        # No reader of ORC looks for binary values in filters.
        orc.write_table(ids, str(lake / "b.orc"), row_index_stride=ROWS // 2)
    else:
        table = pa.table({"id": np.arange(ROWS), "x": rng.integers(0, 1 << 40, ROWS)})
        pq.write_table(table, lake / "b.parquet", row_group_size=ROWS // 4)
    assert outcome("build", lake, "--auto", "--in-place").code == 0
    page = run(lake)[1]
    assert "What to do next Nothing: " in steps_on(page)
    text = Document(page).text
    column = "s" if is_of_orc else "id"
    without = f"{column} skip : 1 of 2 files have them; none in {lake}/b."
    assert without in text
    assert "pbloom build" not in text.partition("Some files have")[2].partition("Advice")[0]


@pytest.fixture
def traced(tmp_path):
    """Writes a lake: files whose filters are too small, so many, three good ones, and one that lacks ten values, as
    bytes of a page have changed, which has no checksum."""

    def write(num_small):
        lake = tmp_path / "traced"
        for number in range(num_small + 4):
            ids = np.random.default_rng(number).integers(0, 1 << 40, ROWS)
            path = lake / f"{number}.parquet"
            path.parent.mkdir(exist_ok=True)
            pq.write_table(
                pa.table({"id": ids}), path, row_group_size=ROWS // 4, use_dictionary=False,
                compression="none", write_statistics=False,
            )  # fmt: skip
            pb.build(path, columns="id", fpp=0.5 if number < num_small else 0.01, in_place=True)
        start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
        data = bytearray(path.read_bytes())
        data[start + 1000 : start + 1080] = bytes(range(100, 180))
        path.write_bytes(data)
        return lake, path

    return write


# What gives way to another filter, in any command.
REPLACING = re.compile(
    r"pbloom (?:strip|advise|(?:build|repair) [^<]*--(?:existing|rebuild)) ?[^<]*"
)


@pytest.mark.parametrize(("num_small", "named"), [(2, "0.parquet LAKE/1.parquet"), (6, "FILE")])
def test_no_command_replaces_the_only_trace_of_a_changed_page(run, traced, num_small, named):
    lake, path = traced(num_small)
    page = run(lake)[1]
    steps = steps_on(page).replace(str(lake), "LAKE")
    look = f"pbloom validate LAKE/{path.name} -c id --pages --diagnose --no-config Until it is known why they do not"
    assert look in steps
    rebuild = f"{named} -c id --fpp 0.01 --in-place --existing replace"
    assert rebuild in steps
    commands = [unescape(each) for each in REPLACING.findall(page.partition("Writer settings")[0])]
    assert commands
    assert not [each for each in commands if path.name in each or f"{lake} " in each]


@pytest.mark.parametrize("with_table", [False, True])
def test_filters_that_are_too_small_wait_where_those_that_are_not_to_be_replaced_go_too(
    run, traced, with_table
):
    """Of several tables, of which all columns are built again; and of one file."""
    lake, path = traced(1)
    asked = lake
    if with_table:
        pq.write_table(pa.table({"id": [1, 2], "other": [1, 2]}), lake / "new.parquet")
    else:
        asked = path
        pb.build(path, columns="id", row_groups=[3], fpp=0.5, existing="replace", in_place=True)
    steps = steps_on(run(asked)[1])
    assert "build Filters that are too small stay for now: id Until it is known why" in steps
    assert "--existing" not in steps


def test_steps_keep_to_the_files_that_were_looked_at(run, tmp_path):
    ids = np.random.default_rng(3).permutation(4_000)
    for number in range(7):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"id": ids}), path, row_group_size=500, use_dictionary=False)

    def steps(*arguments):
        return steps_on(run(*arguments)[1]).replace(str(tmp_path), "LAKE")

    build = " missing or too small: id pbloom build {} -c id --fpp 0.01 --in-place"
    assert f"{build} --since 1d".format("LAKE") in steps(tmp_path, "--since", "1d")
    assert build.format("FILE") in steps(*tmp_path.glob("*.parquet"))
    for asked in (tmp_path, path):
        assert steps(asked, "-g", "0,1,2").endswith(
            "id Only some row groups were looked at: a page about all of them has the command."
        )
    listed = tmp_path / "list.txt"
    listed.write_text("".join(f"{each}\n" for each in tmp_path.glob("*.parquet")))
    assert build.format("--manifest LAKE/list.txt") in steps("--manifest", listed)


def test_the_step_for_a_table_takes_its_small_files_too(run, tmp_path):
    table = make_table(tmp_path / "table", commits=2)
    build = f"pbloom build {table} -c id --fpp 0.01 --table delta --all-sizes"
    text = Document(run("--table", "delta", table)[1]).text
    # As a step, for the findings, and among the settings for writers.
    assert text.count(build) == 3
    assert outcome(*shlex.split(build)[1:]).code == 0
    old = steps_on(run("--table", "delta", table, "--version", "1")[1])
    assert (
        "No command changes what was looked at: of a table that is the newest version alone" in old
    )
    assert "pbloom build" not in old


def test_what_is_wrong_with_an_old_version_says_why_no_command_mends_it(run, tmp_path):
    table = make_table(tmp_path / "table", commits=2)
    page = run("--table", "delta", table, "--version", "1", "--require", "id")[1]
    why = "No command changes what was looked at: of a table that is the newest version alone"
    assert f"A required filter is missing 6 times in 2 files {why}" in steps_on(page)
    assert f"next: {why}" in Document(page).text


def test_help_in_words_is_said_of_each_rule(run, tmp_path):
    """Of a table's folder, where no command is above."""
    table = make_table(tmp_path / "table", commits=2)
    path = next(table.glob("*.parquet"))
    built = tmp_path / "built.parquet"
    pb.build(path, built, columns="id")
    found = inspect(built).row_groups[0].columns[0].filter
    data = bytearray(built.read_bytes())
    data[found.offset : found.offset + 8] = bytes(8)
    path.write_bytes(data)
    steps = steps_on(run(table, "--require", "n")[1])
    assert "no filter header at bloom_filter_offset 1 time in 1 file Ask for the page" in steps
    assert "A required filter is missing 6 times in 2 files Ask for the page with" in steps


def test_files_are_named_in_one_command_for_two_rules(run, tmp_path):
    """And not built again by another."""
    ids = np.random.default_rng(1).integers(0, 1 << 40, 4 * ROWS)
    for number, (most, parts) in enumerate([(1024, [0]), (1024, [0]), (64, None), (64, None)]):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"id": ids}), path, row_group_size=2 * ROWS)
        pb.build(path, columns="id", in_place=True)
        small = {"max_bytes": most, "row_groups": parts, "force": True, "existing": "replace"}
        pb.build(path, columns="id", in_place=True, **small)
    steps = steps_on(run(tmp_path)[1])
    assert steps.count("pbloom build ") == 1


def test_the_step_for_a_column_that_some_files_lack_does_not_fail(run, grown):
    outcome("strip", grown, "--in-place")
    asked = (grown, "--require", "id,code")
    steps = steps_on(run(*asked)[1])
    (build,) = re.findall("times in . files (pbloom build .*?--union-by-name)", steps)
    assert outcome(*shlex.split(build)[1:]).code == 0
    assert "2 times in 2 files write the file with this column; if other" in steps_on(
        run(*asked)[1]
    )
    assert "What to do next Nothing: " in steps_on(run(*asked, "--union-by-name")[1])


@pytest.mark.parametrize("name", ["a.parquet", "."])
def test_filters_of_no_use_have_the_command_that_strips_them(run, tmp_path, name):
    for file in "ab":
        table = pa.table({"at": np.arange(ROWS)})
        pq.write_table(table, tmp_path / f"{file}.parquet", row_group_size=ROWS // 4)
        pb.build(tmp_path / f"{file}.parquet", columns="at", in_place=True)
    path = os.path.normpath(tmp_path / name)
    page = run(path)[1]
    strip = f"pbloom strip {path} -c at --in-place"
    text = Document(page).text
    assert f"have filters, which pbloom strip removes {strip} " in text
    # They do no harm.
    assert strip not in steps_on(page)
    assert outcome(*shlex.split(strip)[1:]).code == 0
    assert "strip" not in Document(run(path)[1]).text


def test_filters_of_no_use_are_not_stripped_from_files_without_the_column(run, tmp_path):
    lake = tmp_path / "lake"
    lake.mkdir()
    numbers = np.random.default_rng(8).permutation(ROWS)
    for name, columns in (("a", {"id": numbers, "at": np.arange(ROWS)}), ("b", {"id": numbers})):
        pq.write_table(pa.table(columns), lake / f"{name}.parquet", row_group_size=ROWS // 4)
        pb.build(lake / f"{name}.parquet", columns=[*columns], in_place=True)
    text = Document(run(lake)[1]).text
    (strip,) = set(re.findall("pbloom strip removes (pbloom strip .*?--in-place)", text))
    assert strip == f"pbloom strip {lake}/a.parquet -c at --in-place"
    for number in range(MAX_IN_NEED):
        (lake / f"a{number}.parquet").write_bytes((lake / "a.parquet").read_bytes())
    assert "removes pbloom strip FILE -c at --in-place" in Document(run(lake)[1]).text
    for number in range(MAX_IN_NEED):
        (lake / f"a{number}.parquet").unlink()
    assert outcome(*shlex.split(strip)[1:]).code == 0
    assert "pbloom strip" not in Document(run(lake)[1]).text


def test_a_rule_and_the_advice_strip_the_same_files(run, tmp_path):
    """All of them, where those that break the rule are too many to be named."""
    lake = tmp_path / "lake"
    lake.mkdir()
    for number in range(8):
        table = pa.table({"few": np.arange(ROWS) % 3})
        pq.write_table(table, lake / f"{number}.parquet", row_group_size=ROWS // 4)
        if number < 7:
            pb.build(lake / f"{number}.parquet", columns="few", in_place=True)
    text = Document(run(lake)[1]).text
    assert text.count(f"next: pbloom strip {lake} -c few --in-place") == 1
    assert {*re.findall("pbloom strip (?!removes).*?--in-place", text)} == {
        f"pbloom strip {lake} -c few --in-place"
    }


@pytest.mark.parametrize("name", ["a.parquet", "."])
def test_no_step_asks_for_advice_on_filters_that_another_builds_again(run, tmp_path, name):
    """Of one column, some are an error (PB301), others but a warning (PB302)."""
    ids = np.random.default_rng(1).integers(0, 1 << 40, 20_000)
    pq.write_table(pa.table({"id": ids}), tmp_path / "a.parquet", row_group_size=5_000)
    small = {"columns": "id", "in_place": True, "force": True, "existing": "replace"}
    pb.build(tmp_path / "a.parquet", max_bytes=2048, **small)
    pb.build(tmp_path / "a.parquet", max_bytes=1024, row_groups=[2], **small)
    steps = steps_on(run(os.path.normpath(tmp_path / name))[1])
    assert re.search("More than a tenth .* 3 times (in 1 file )?A command above does this", steps)
    assert "pbloom advise" not in steps
    assert "--existing replace" in steps


def narrowed(ids):
    """In a type of their own, by which files of a table are judged apart."""
    return (ids % (1 << 31)).astype(np.int32)


@pytest.mark.parametrize("is_table", [False, True], ids=["files", "table"])
def test_steps_of_several_schemas_build_each_column_once(tmp_path, monkeypatch, is_table):
    """Where one of them builds all columns that are advised, it stands in the place of those that name some."""
    monkeypatch.chdir(tmp_path)
    paths = [tmp_path / f"{number}.parquet" for number in range(3)]
    for number, path in enumerate(paths):
        ids = np.random.default_rng(number).integers(0, 1 << 40, ROWS)
        table = pa.table({"id": ids, "code": ids} if number else {"id": narrowed(ids)})
        pq.write_table(table, path, row_group_size=ROWS // 4, use_dictionary=False)
        pb.build(path, columns="id", in_place=True, max_bytes=64 if number else 256, force=True)
    table = ("--table", "delta") if is_table else ()
    if is_table:
        table_of(tmp_path / "table", *paths, id="long", code="long")
    lake, options = ("table", "--table delta --all-sizes") if is_table else (".", "--in-place")

    def steps():
        page = outcome("report", lake, *table, "-o", "-", "--no-config").stdout
        return Document(page).text.partition("What to do next ")[2].partition(" Columns ")[0]

    build = f"pbloom build {lake} --auto --no-config {options} --existing replace"
    assert re.findall(f"pbloom .*? (?:replace|{options}(?! --))", steps()) == [build]
    assert outcome(*shlex.split(build)[1:]).code == 0
    assert "pbloom " not in steps()


def test_steps_within_a_budget_build_each_column_once(tmp_path, monkeypatch):
    """Where it leaves a column out of a table that has no filters for it, nothing is wrong with any there."""
    monkeypatch.chdir(tmp_path)
    paths = [tmp_path / f"{number}.parquet" for number in range(4)]
    for number, path in enumerate(paths):
        ids = np.random.default_rng(number).integers(0, 1 << 40, ROWS)
        table = pa.table({"id": ids, "code": ids} if number else {"id": narrowed(ids)})
        pq.write_table(table, path, row_group_size=ROWS // 4, use_dictionary=False)
        if number:
            pb.build(path, columns="id", in_place=True, max_bytes=64, force=True)
    table_of(tmp_path / "table", *paths, id="long", code="long")
    asked = ("report", "table", "--table", "delta", "--budget", "3.5%", "-o", "-", "--no-config")
    text = Document(outcome(*asked).stdout).text
    assert "left out" in text
    steps = text.partition("What to do next ")[2].partition(" Columns ")[0]
    assert re.findall("pbloom build .*? replace", steps) == [
        "pbloom build table --auto --budget 3.5% --no-config --table delta --all-sizes --existing replace"
    ]


def test_what_is_required_of_several_schemas_has_a_step_of_its_own(tmp_path, monkeypatch):
    """`build --auto` knows nothing of it."""
    monkeypatch.chdir(tmp_path)
    for number in range(2):
        ids = np.random.default_rng(number).integers(0, 1 << 40, ROWS)
        table = pa.table({"few": ids % 3, ("code", "name")[number]: ids})
        pq.write_table(table, f"{number}.parquet", row_group_size=ROWS // 4)
    asked = ("report", ".", "-o", "-", "--require", "few")
    steps = Document(outcome(*asked).stdout).text.partition("What to do next ")[2]
    commands = [f"pbloom build . {which} --in-place" for which in ("-c few", "--auto")]
    assert re.findall("pbloom build .*? --in-place", steps.partition(" Columns ")[0]) == commands
    for command in commands:
        assert outcome(*shlex.split(command)[1:]).code == 0
    assert "What to do next Nothing: " in Document(outcome(*asked).stdout).text


def test_steps_name_the_files_of_several_schemas_that_a_rule_is_about(tmp_path, monkeypatch):
    """In place of advice on all of them, which would have them built again."""
    monkeypatch.chdir(tmp_path)
    for number in range(4):
        ids = np.random.default_rng(number).integers(0, 1 << 40, ROWS)
        table = pa.table({"id": ids, ("code", "name")[number % 2]: ids})
        path = f"{number}.parquet"
        pq.write_table(table, path, row_group_size=ROWS // 4, use_dictionary=False)
        small = {"max_bytes": 256, "force": True} if number < 2 else {}
        pb.build(path, columns="id", in_place=True, **small)
        pb.build(path, columns=("code", "name")[number % 2], in_place=True)
    page = outcome("report", ".", "-o", "-", "--no-config").stdout
    steps = Document(page).text.partition("What to do next ")[2].partition(" Columns ")[0]
    assert re.findall("pbloom build .*? replace", steps) == [
        f"pbloom build {number}.parquet -c id --fpp 0.01 --in-place --existing replace"
        for number in range(2)
    ]
    assert "pbloom advise" not in steps


@pytest.mark.parametrize("num_files", [1, 2])
@pytest.mark.parametrize("num_limits", [2, MOST_STEPS + 1, MOST_PLACES + 2])
def test_a_step_has_all_commands_that_its_rule_needs(tmp_path, num_limits, num_files):
    """Nothing says that others need not be run while there are more; of several files, each has the rate that is its
    own."""
    limits = {f"c{number}": 2048 + 16 * number for number in range(num_limits)}
    config = tmp_path / "pbloom.toml"
    config.write_text(
        "".join(f"[validate.columns.{name}]\nmax-bytes = {limits[name]}\n" for name in limits)
    )
    numbers = np.random.default_rng(9).permutation(num_files * ROWS)
    paths = [tmp_path / f"{number}.parquet" for number in range(num_files)]
    for number, path in enumerate(paths):
        columns = dict.fromkeys(limits, numbers[number::num_files])
        pq.write_table(pa.table(columns), path, use_dictionary=False)
        pb.build(path, columns=[*limits], in_place=True)
    page = outcome("report", *paths, "-o", "-", "--config", config).stdout
    steps = steps_on(page)
    builds = re.findall(r"pbloom (build .*?--max-bytes \S+ --in-place(?: --fpp \S+)?)", steps)
    # Of few columns, the second file is an example, too.
    num_builds = num_limits + (num_files > 1 and num_limits < MAX_EXAMPLES)
    num_commands = num_builds + (num_files > 1)
    assert len(builds) == min(num_builds, MOST_STEPS)
    assert ("more command" in steps) == (num_commands > MOST_STEPS)
    assert (NO_OTHERS in steps) == (num_commands <= MOST_STEPS)
    others = "next: other files may take other rates: pbloom validate has all commands"
    findings = Document(page).text.rpartition(" Findings ")[2]
    assert (others in findings) == (num_files > 1 and num_commands <= MOST_PLACES)
    # Among the findings, all are, or how many more there are.
    shown = [name for name in limits if f"-c {name} --existing replace" in findings]
    assert shown == [*limits][:MOST_PLACES]
    assert ("more command" in findings) == (num_commands > MOST_PLACES)
    assert all(outcome(*shlex.split(each)).code == 0 for each in builds)
