"""Whoever does what is said next, gets well: no step is without a command, and none leads back to where it began."""

import json
import random
import re
import shlex
from collections import Counter
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from pyarrow import orc

import parquet_bloom as pb

ROWS = 2000
# By their names: of many values, of many in order, of few.
COLUMNS = ("id", "code", "at", "few")
SCHEMAS = (("id",), ("id", "code"), ("id", "at", "few"), ("code", "id"))


def values_of(name, rng, *, in_order):
    if name == "few":
        return rng.integers(0, 3, ROWS)
    values = rng.integers(0, 1 << 40, ROWS)
    return np.sort(values) if name == "at" or in_order else values


def write(path, schema, rng, chance):
    """A file with filters that are good, too small or missing, by chance, column by column."""
    # In some schemas, of which one command cannot make the same, filters of a column are of no use.
    in_order = schema == SCHEMAS[3]
    table = pa.table({name: values_of(name, rng, in_order=in_order) for name in schema})
    if path.suffix == ".orc":
        orc.write_table(table, str(path), row_index_stride=ROWS // 4)
    else:
        pq.write_table(table, path, row_group_size=ROWS // 4, use_dictionary=False)
    for name in schema:
        if (fpp := chance.choice((None, 0.01, 0.5))) is not None:
            pb.build(path, columns=name, fpp=fpp, in_place=True)


def test_what_is_required_of_many_files_is_built_where_others_lack_the_column(tmp_path):
    """Those are not required to have it."""
    lake = tmp_path / "lake"
    lake.mkdir()
    for number in range(12):
        pq.write_table(pa.table({"id": [number], "a": [1]}), lake / f"{number}.parquet")
    pq.write_table(pa.table({"a": [1]}), lake / "without.parquet")
    ask = ("validate", lake, "--require", "id", "--union-by-name", "--no-deep")
    (command,) = re.findall(r"next: (pbloom build [^;\n]*)", outcome(*ask).stdout)
    assert command == f"pbloom build {lake} -c id --in-place --union-by-name"
    assert outcome(*shlex.split(command)[1:]).code == 0
    assert outcome(*ask).code == 0


def make_lake(folder, seed):
    chance, rng = random.Random(seed), np.random.default_rng(seed)
    kinds = chance.sample(
        [(schema, ending) for schema in SCHEMAS for ending in ("parquet", "orc")],
        chance.choice((1, 2, 3)),
    )
    folder.mkdir()
    for number, (schema, ending) in enumerate(kinds):
        for file in range(chance.choice((1, 2, 6))):
            write(folder / f"{number}{file}.{ending}", schema, rng, chance)


def run(command):
    found = outcome(*shlex.split(command)[1:])
    assert found.code == 0, (command, found.stderr)


def run_all(commands):
    """None of them builds filters that another has built."""
    done = Counter()
    for command in commands:
        found = outcome(*shlex.split(command)[1:], "--json")
        assert found.code == 0, (command, found.stderr)
        for file in map(json.loads, found.stdout.splitlines()):
            done.update((file["path"], each["column"]) for each in _first_of_each(file))
    assert max(done.values()) == 1, (commands, done)


def _first_of_each(file):
    return {each["column"]: each for each in file.get("filters", ())}.values()


@pytest.mark.parametrize("budget", [(), ("--budget", "1MiB")], ids=["", "budget"])
@pytest.mark.parametrize("seed", range(10))
def test_what_is_advised_has_commands_that_do_it(tmp_path, seed, budget):
    lake = tmp_path / "lake"
    make_lake(lake, seed)
    for _ in range(3):
        told = outcome("advise", lake, *budget).stdout
        commands = re.findall("^next: (pbloom .*)$", told, re.MULTILINE)
        assert bool(commands) == bool(re.search("\t(build|rebuild)\t", told)), told
        if not commands:
            return
        for command in commands:
            run(command)
    raise AssertionError(told)


@pytest.mark.parametrize("options", [(), ("--budget", "1MiB"), ("--no-deep",)], ids=" ".join)
@pytest.mark.parametrize("seed", range(10))
def test_a_page_has_steps_until_nothing_is_left(tmp_path, seed, options):
    lake = tmp_path / "lake"
    make_lake(lake, seed)
    for _ in range(3):
        page = outcome("report", lake, "-o", "-", "--no-config", *options).stdout
        steps = page.partition('id="next"')[2].partition("</section>")[0]
        commands = [unescape(each) for each in re.findall("pbloom (?!report)[^<]*--[^<]*", steps)]
        commands = [each for each in commands if not each.startswith("pbloom advise ")]
        if not commands:
            assert ">rebuild<" not in page
            assert ">build<" not in page
            return
        run_all(commands)
    raise AssertionError(commands)


def heavy(path, is_in_order):
    """Filters take more than a quarter of the file, those of ORC for room that no index group needs."""
    rng = np.random.default_rng(1)
    ids = rng.integers(0, 1 << 40, 20_000)
    table = pa.table({"id": ids, "at": np.arange(20_000) if is_in_order else ids[::-1]})
    if path.suffix == ".orc":
        orc.write_table(table, str(path), stripe_size=1 << 16)
    else:
        pq.write_table(table, path, row_group_size=2_500, use_dictionary=False)
    pb.build(path, columns=["id", "at"], fpp=1e-4, in_place=True, force=True)


KEPT = (
    "note: filters take {} % of the file, and by this advice, none is too large for what it saves: build --existing"
    ' replace with a higher --fpp makes them smaller, and ignore = ["PB309"] in pbloom.toml accepts them'
)


@pytest.mark.parametrize(
    ("name", "is_in_order", "commands", "kept"),
    [
        ("a.orc", False, ["build {} -c id,at --in-place --ndv 1100 --existing replace"], None),
        (
            "a.orc",
            True,
            [
                "build {} -c id --in-place --ndv 1100 --existing replace",
                "strip {} -c at --in-place",
            ],
            None,
        ),
        ("a.parquet", False, [], 35),
        ("a.parquet", True, ["strip {} -c at --in-place"], 26),
    ],
)
def test_advice_says_what_makes_filters_that_take_too_much_smaller(
    tmp_path, name, is_in_order, commands, kept
):
    """`validate` sends there, and warns no more, unless there is a reason that no command mends."""
    path = tmp_path / name
    heavy(path, is_in_order)
    (found,) = [each for each in pb.validate(path).findings if each.rule == "PB309"]
    assert found.next == f"pbloom advise {path}"
    told = outcome(*shlex.split(found.next)[1:]).stdout
    assert re.findall("^next: pbloom (.*)$", told, re.MULTILINE) == [
        each.format(path) for each in commands
    ]
    for command in commands:
        run(f"pbloom {command.format(path)}")
    told = outcome("advise", path).stdout
    assert "next: " not in told
    assert re.findall("^note: filters take.*$", told, re.MULTILINE) == (
        [KEPT.format(kept)] if kept else []
    )
    rules = {each.rule for each in pb.validate(path).findings}
    assert ("PB309" in rules) == (kept is not None)


@pytest.mark.parametrize(
    ("name", "bits", "smaller"),
    [("a.orc", 62, "the --ndv that is named above"), ("a.parquet", 16, "a higher --fpp")],
)
def test_advice_says_before_they_are_built_that_filters_will_take_much(
    tmp_path, name, bits, smaller
):
    """And not `validate`, once they are."""
    path = tmp_path / name
    rng = np.random.default_rng(1)
    table = pa.table({each: rng.integers(0, 1 << bits, 40_000) for each in ("id", "other")})
    if path.suffix == ".orc":
        orc.write_table(table, str(path), batch_size=4000, stripe_size=1)
    else:
        pq.write_table(table, path, row_group_size=10_000, use_dictionary=False)
    told = outcome("advise", path).stdout
    (note,) = re.findall("^note: once they are built.*$", told, re.MULTILINE)
    assert re.search(rf"take up to \d+ % of {path}, which validate warns of \(PB309\); ", note)
    assert f": building with {smaller} makes them smaller, " in note
    (command,) = re.findall("^next: (.*)$", told, re.MULTILINE)
    # A large file beside it, in which they take little, is no excuse.
    other = path.with_stem("other")
    if path.suffix == ".orc":
        orc.write_table(pa.concat_tables([table] * 20), str(other), compression="uncompressed")
    else:
        pq.write_table(pa.concat_tables([table] * 20), other, use_dictionary=False)
    assert f"of {path}, which validate" in outcome("advise", path, other).stdout
    run(command)
    assert {each.rule for each in pb.validate(path).findings} == {"PB309"}
    assert "once they are built" not in outcome("advise", path).stdout


def test_what_makes_filters_lighter_adds_none(tmp_path):
    """Of a column that has them in one of two files."""
    rng = np.random.default_rng(3)
    for name, columns in ("a", ["id"]), ("b", ["id", "other"]):
        path = tmp_path / f"{name}.orc"
        table = pa.table({each: rng.integers(0, 1 << 40, 25_000) for each in ("id", "other")})
        orc.write_table(table, str(path), stripe_size=1000, batch_size=1000)
        pb.build(path, columns=columns, in_place=True)
    told = outcome("advise", tmp_path).stdout
    (command,) = re.findall("^next: (.*)$", told, re.MULTILINE)
    assert command == (f"pbloom build {tmp_path} -c id --in-place --ndv 1000 --existing replace")
    told = outcome("advise", tmp_path / "b.orc").stdout
    assert [
        each.split(" -c ")[1].split()[0] for each in re.findall("^next: .*$", told, re.MULTILINE)
    ] == ["id,other"]


@pytest.mark.parametrize("name", ["a.orc", "a.parquet"])
def test_nothing_adds_to_filters_that_take_too_much(tmp_path, name):
    """The advice that `validate` sends to is about the columns that have some; the whole says what comes on top."""
    path = tmp_path / name
    ids = np.random.default_rng(1).integers(0, 1 << 40, 40_000)
    table = pa.table({"id": ids, "at": ids[::-1]})
    if path.suffix == ".orc":
        orc.write_table(table, str(path))
    else:
        pq.write_table(table, path, row_group_size=10_000, use_dictionary=False)
    pb.build(path, columns=["at"], fpp=1e-7, in_place=True)
    (found,) = [each for each in pb.validate(path).findings if each.rule == "PB309"]
    assert found.next == f"pbloom advise {path} -c at"
    told = outcome(*shlex.split(found.next)[1:]).stdout
    assert "next: " not in told
    assert KEPT.partition("{}")[0] in told
    told = outcome("advise", path).stdout
    (note,) = re.findall("^note: filters take.*$", told, re.MULTILINE)
    assert " % of the file, those to build come on top, and by this advice, none is " in note
    assert re.findall("^next: pbloom (.*)$", told, re.MULTILINE) == [
        f"build {path} -c id --in-place"
    ]


@pytest.mark.parametrize(
    ("options", "command"),
    [
        (("--fpp", "0.0001"), "pbloom build lake --auto --fpp 0.0001 --in-place"),
        (("-c", "id,code"), "pbloom build lake -c id,code --fpp 0.01 --in-place --union-by-name"),
        (
            ("-c", "id,code", "--union-by-name", "--no-config"),
            "pbloom build lake --auto -c id,code --no-config --in-place --union-by-name",
        ),
        (
            ("-c", "id,code", "--union-by-name", "--budget", "9%"),
            "pbloom build lake --auto -c id,code --budget 9% --in-place --union-by-name",
        ),
    ],
)
def test_a_page_over_several_schemas_asks_for_what_was_asked(
    tmp_path, monkeypatch, options, command
):
    """The rate, and columns that some files lack."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    Path("lake").mkdir()
    for number, schema in enumerate((("id",), ("id", "code"))):
        table = pa.table({name: rng.integers(0, 1 << 40, ROWS) for name in schema})
        pq.write_table(table, f"lake/{number}.parquet", row_group_size=ROWS // 4)
    outcome("report", "lake", *options, "-o", "page.html")
    page = unescape(Path("page.html").read_text())
    assert {*re.findall(r'<p class="next">(pbloom [^<]*)', page)} == {command}
    run(command)
