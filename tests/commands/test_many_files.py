"""Many files: a line at most for each, what is alike said once, and a total; one file: everything."""

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Condition, current_thread
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import files_in, outcome
from make.defects_files import sound
from make.footers import with_pointer, without_lengths
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom import threads
from parquet_bloom.program import EndedError
from parquet_bloom.render.reports import Complaints
from parquet_bloom.storage.local_output import Replacement

FILES = 24
ROWS = 300


@pytest.fixture(params=["parquet", "orc"])
def ending(request):
    return request.param


@pytest.fixture
def lake(ending, tmp_path, monkeypatch):
    """More than a few files, each with ids of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").mkdir()
    for number in range(FILES):
        ids = np.arange(ROWS) + number * ROWS
        table = pa.table({"user_id": ids, "flag": ids % 2 == 0})
        path = tmp_path / "lake" / f"{number:02}.{ending}"
        if ending == "orc":
            orc.write_table(table, path)
        else:
            pq.write_table(table, path)
    return "lake"


@pytest.fixture
def built(lake):
    assert outcome("build", lake, "-c", "user_id", "--in-place").code == 0
    return lake


def said(*arguments, code=0):
    """The lines on stdout and stderr."""
    result = outcome(*arguments)
    assert result.code == code, result
    return result.stdout.splitlines(), result.stderr.splitlines()


def added(lines):
    return [line.partition("; ")[0] for line in lines]


def test_quietly_no_file_has_a_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        table = pa.table({"id": [1, 2], "x": [3, 4]})
        pq.write_table(table, f"{name}.parquet", use_dictionary=False)
    both, to_build = ("a.parquet", "b.parquet"), ("-c", "id", "--in-place")
    lines, _ = said("build", *both, *to_build, "-q")
    assert lines == ["2 files: 2 built; 2 filters, 172 B added"]
    (reason, total), _ = said("build", "a.parquet", *to_build, "--quiet")
    assert reason.startswith("a.parquet: skipped id, row group 0: has a filter already; ")
    assert total == "1 file: 1 skipped; no filter built"
    lines, _ = said("repair", "a.parquet", "--in-place", "-q")
    assert lines[-1].startswith("1 file: 1 unchanged; 0 filters repaired, ")
    lines, _ = said("validate", *both, "-q")
    assert lines == ["2 files: 2 ok; no findings in 2 filters and 4 values"]
    (found, total), errors = said("validate", *both, "none", "-q", "--require", "x", code=2)
    assert found.startswith("a.parquet, b.parquet: error PB310 required-missing: column x: ")
    assert total == "3 files: 2 not ok, 1 failed; 2 errors in 2 filters and 4 values"
    assert errors == ["pbloom: none: No such file or directory"]
    lines, _ = said("strip", "a.parquet", "--in-place", "-q")
    assert lines[-1] == "1 file: 1 stripped; 1 filter removed, 86 B less"


@pytest.mark.parametrize("other", ["--json", "--verbose", "--format=sarif"])
def test_what_shows_every_file_is_not_quiet(other):
    _, (error,) = said("validate", "a.parquet", "-q", other, code=2)
    assert error == "pbloom: --quiet: expected without --json, --verbose or --format"


def test_a_total_for_what_went_well(lake):
    lines, errors = said("build", lake, "-c", "user_id", "--in-place")
    assert (added(lines), errors) == (["24 files: 24 built"], [])
    filters, _ = lines[0].partition("; ")[2].split(", ")
    assert filters == "24 filters"
    lines, _ = said("strip", lake, "--in-place")
    assert (
        lines[0]
        == "24 files: note: filters are removed no matter who built them, the file's own writer included"
    )
    assert lines[1].startswith("24 files: 24 stripped; 24 filters removed, ")


@pytest.fixture
def pairs(monkeypatch):
    """As if 24 were very many: no file is synced but at the same time as another."""
    both = Barrier(2, timeout=30)
    fsync = os.fsync

    def sync(descriptor):
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            both.wait()
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(threads, "MANY", FILES)


@pytest.mark.parametrize(
    ("change", "done"),
    [
        (["build", "-c", "user_id", "--existing", "replace"], "built"),
        (["strip"], "stripped"),
    ],
)
def test_many_small_files_are_replaced_several_at_a_time(built, pairs, change, done):
    check_replaced(built, change, done)


@pytest.mark.parametrize("ending", ["parquet"], indirect=True)
def test_many_small_files_are_repaired_several_at_a_time(built, pairs):
    for file in Path(built).iterdir():
        file.write_bytes(without_lengths(file.read_bytes()))
    check_replaced(built, ["repair"], "repaired")


def check_replaced(built, change, done):
    """In place, it is what becomes of files one by one elsewhere."""
    verb, *options = change
    shutil.copytree(built, "one")
    assert said(verb, "one", *options, "--output-dir", "alone")[1] == []
    lines, errors = said(verb, built, *options, "--in-place")
    assert (lines[-1].partition("; ")[0], errors) == (f"{FILES} files: {FILES} {done}", [])
    assert files_in(Path(built)) == files_in(Path("alone"))


@pytest.mark.parametrize("option", ["--dry-run", "--threads=1"])
def test_others_are_changed_one_by_one(built, monkeypatch, option):
    monkeypatch.setattr(threads, "MANY", FILES)
    own, seen = current_thread(), set()
    flush = Replacement.flush
    monkeypatch.setattr(
        Replacement, "flush", lambda output: (seen.add(current_thread()), flush(output))
    )
    said("build", built, "-c", "user_id", "--existing", "replace", "--in-place", option)
    assert seen == (set() if option == "--dry-run" else {own})


def test_a_few_files_have_a_line_each(built, ending):
    lines, _ = said("build", f"{built}/00.{ending}", f"{built}/01.{ending}", "-c", "user_id",
                    "--dry-run")  # fmt: skip
    assert lines == [
        f"lake/00.{ending}: no filter built",
        f"lake/01.{ending}: no filter built",
        "2 files: skipped user_id: has a filter already; validate proves it, and --existing replace rebuilds it for the rate of --fpp",
        "2 files: 2 skipped; no filter built; dry run: nothing was written",
    ]


def test_a_file_without_new_filters_is_called_a_copy(built, ending, tmp_path):
    copy = tmp_path / "copy"
    (line, _), _ = said("build", f"{built}/00.{ending}", "-c", "user_id", "-o", copy)
    assert line.startswith(f"{copy}: no filter built, a copy of lake/00.{ending}, ")
    total = said("build", built, "-c", "user_id", "--output-dir", tmp_path / "copies")[0][-1]
    assert total == f"{FILES} files: {FILES} skipped; no filter built, {FILES} copies written"
    assert copy.read_bytes() == Path(f"{built}/00.{ending}").read_bytes()


def test_one_file_is_shown_in_full(built, ending):
    lines, _ = said("build", f"{built}/00.{ending}", "-c", "user_id", "--dry-run")
    part = "stripe" if ending == "orc" else "row group"
    assert lines[1:] == [
        f"skipped user_id, {part} 0: has a filter already; validate proves it, and --existing replace rebuilds it for the rate of --fpp"
    ]


def test_what_is_alike_is_said_once(built, ending):
    outcome("strip", f"{built}/07.{ending}", "--in-place")
    lines, _ = said("build", built, "-c", "user_id", "--dry-run")
    assert lines[0] == "23 of 24 files, such as lake/00." + ending + (
        ": skipped user_id: has a filter already; validate proves it, and --existing replace rebuilds it for the rate of --fpp"
    )
    assert lines[1].startswith("24 files: 23 skipped, 1 built; 1 filter, ")


def test_how_many_filters_are_replaced_is_said_of_each_file(tmp_path, monkeypatch):
    said = "replaced the filters of 2 column chunks for good, whoever built them"
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        pq.write_table(pa.table({"id": range(200)}), f"{name}.parquet", row_group_size=100)
        pb.build(f"{name}.parquet", columns="id", in_place=True)
    rebuild = ("-c", "id", "--existing", "replace", "--in-place")
    several = outcome("build", "a.parquet", "b.parquet", *rebuild).stdout
    assert f"\n2 files: note: each {said}\n" in several
    assert f"\nnote: {said}\n" in outcome("build", "a.parquet", *rebuild).stdout


def test_what_a_column_is_skipped_for_is_one_line_with_all_numbers(tmp_path, monkeypatch):
    """Of all stripes of all files, also where another column has the same numbers in one of them."""
    monkeypatch.chdir(tmp_path)
    for name, each in (("a", 2), ("b", 3)):
        few = [[number * each + at for at in range(each)] for number in range(9_000)]
        lists = {"l": few, "m": [*few[:-1], [*few[-1], 0]]}
        orc.write_table(pa.table(lists), f"{name}.orc", stripe_size=1, batch_size=4_500)
    ask = ("-c", "l._elem,m._elem", "--in-place", "--ndv", "100")
    end = "values, and filters are sized for 100; --ndv sizes them for more"
    assert outcome("build", "a.orc", *ask).stdout.splitlines()[1:] == [
        f"skipped l._elem, stripes 0, 1: FPP 100 %: the largest index group has 9000 {end}",
        f"skipped m._elem, stripes 0, 1: FPP 100 %: the largest index group has 9000 to 9001 {end}",
    ]
    skipped = outcome("build", "a.orc", "b.orc", *ask).stdout.splitlines()[2:-1]
    assert skipped == [
        f"2 files: skipped l._elem: FPP 100 %: the largest index group has 9000 to 13500 {end}",
        f"2 files: skipped m._elem: FPP 100 %: the largest index group has 9000 to 13501 {end}",
    ]


def test_verbose_shows_each_file_as_if_it_were_alone(built, ending):
    lines, _ = said("build", built, "-c", "user_id", "--dry-run", "--verbose")
    assert len(lines) == 2 * FILES
    path = f"{built}/00.{ending}"
    for verb in ("inspect", "validate"):
        alone, _ = said(verb, path, "--verbose")
        assert said(verb, built, "--verbose")[0][: len(alone)] == alone


def test_equal_errors_are_one(lake, ending):
    for name in ("userid", "USER_ID"):
        lines, errors = said("build", lake, "-c", name, "--in-place", code=2)
        assert errors == [
            f"pbloom: 24 files, such as lake/00.{ending}: no column {name}; did you mean user_id?"
        ]
        assert lines == ["24 files: 24 failed"]


def test_errors_are_not_grouped_for_programs(lake, ending):
    for option in ("--json", "--verbose"):
        lines, errors = said("inspect", lake, "-c", "USER_ID", option, code=2)
        assert lines == []
        assert errors == [
            f"pbloom: lake/{number:02}.{ending}: no column USER_ID; did you mean user_id?"
            for number in range(FILES)
        ]


def test_an_error_of_few_files_names_them(lake, ending, tmp_path):
    for number in (3, 4):
        (tmp_path / lake / f"{number:02}.{ending}").write_bytes(b"nothing of the kind")
    lines, errors = said("validate", lake, code=2)
    assert len(errors) == 1
    assert errors[0].startswith(f"pbloom: lake/03.{ending}, lake/04.{ending}: not a")
    assert added(lines) == ["24 files: 22 without filters, 2 failed"]


def test_an_error_of_all_of_few_files_names_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"{letter}.parquet" for letter in "abcdefghijk"]
    for files, named in (
        (names[:2], "a.parquet, b.parquet"),
        (names[:10], ", ".join(names[:10])),
        (names, "11 files, such as a.parquet"),
    ):
        lines, errors = said("inspect", *files, code=2)
        assert errors == [f"pbloom: {named}: No such file or directory"]
        assert lines == [f"{len(files)} files: {len(files)} failed"]


def test_what_is_not_there_is_counted(lake, ending):
    lines, errors = said("inspect", lake, "gone/a.parquet", "empty/*.parquet", code=2)
    assert errors == [
        "pbloom: gone/a.parquet: no such file: there is no folder gone",
        "pbloom: empty: no such folder",
    ]
    assert lines[-1].startswith("26 files: 24 without, 2 failed; 0 filters ")


def test_outputs_that_exist_are_one_error(built, ending, tmp_path):
    said("strip", built, "--output-dir", "out")
    use = "already exists: use --overwrite to replace it, or --resume to go on with the others"
    _, errors = said("strip", built, "--output-dir", "out", code=2)
    assert errors == [f"pbloom: 24 files, such as out/00.{ending}: {use}"]
    (tmp_path / "out" / f"00.{ending}").unlink()
    (tmp_path / "out" / f"07.{ending}").unlink()
    _, errors = said("strip", built, "--output-dir", "out", code=2)
    assert errors == [f"pbloom: 22 of 24 files, such as out/01.{ending}: {use}"]


def test_unverified_footers_are_one_complaint(capsys):
    with Complaints(3) as complaints:
        for path in ("lake/a", "lake/b", "c"):
            complaints.add_if_unverified(path, SimpleNamespace(unverified="no key"))
    assert capsys.readouterr().err == (
        "pbloom: lake/a, lake/b, c: footer signature not verified: no key\n"
    )
    with Complaints(1) as complaints:
        complaints.add_if_unverified("a: b", SimpleNamespace(unverified="no key"))
        assert capsys.readouterr().err == "pbloom: a: b: footer signature not verified: no key\n"


def test_messages_about_names_with_colons_are_grouped(capsys):
    with Complaints(2) as complaints:
        complaints.add("x: y/a: b", "x: y/a: b: damaged")
        complaints.add("x: y/c", "x: y/c: damaged")
    assert capsys.readouterr().err == "pbloom: x: y/a: b, x: y/c: damaged\n"


def test_findings_in_many_files_are_one_line(built, ending):
    why = {
        "parquet": "two values need no filter",
        "orc": "filters of ORC Java are empty, those of ORC C++ wrong",
    }
    lines, _ = said("validate", built, "--require", "flag", code=1)
    assert lines == [
        (
            "24 files: error PB310 required-missing: column flag: a filter is required of a column that gets none, so"
            f" require it no longer: BOOLEAN: {why[ending]}"
        ),
        "24 files: 24 not ok; 24 errors in 24 filters and 7,200 values",
    ]
    lines, _ = said("validate", built)
    assert lines == [f"24 files: 24 ok; no findings in 24 filters and {FILES * ROWS:,} values"]


def test_the_next_command_is_for_all_files(ending, tmp_path, monkeypatch):
    """Whose names may be part of other words."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "a b"):
        (orc if ending == "orc" else pq).write_table(pa.table({"a data": range(ROWS)}), name)
    lines, _ = said("validate", "a", "a b", "--no-config", "--require", "a data", code=1)
    assert lines[-2] == (
        "2 files: error PB310 required-missing: column a data: a filter is required; next: pbloom build"
        " a 'a b' -c 'a data' --in-place"
    )
    since = ("--since", "2020-01-01", "--no-config", "--require", "a data")
    assert said("validate", "a", "a b", *since, code=1)[0][-2] == lines[-2]


def test_the_next_command_is_for_the_files_that_need_it(ending, tmp_path, monkeypatch):
    """Where it would change others. What changes nothing is for all; and if too many need it, it names none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").mkdir()
    table = pa.table({"n": np.random.default_rng(1).permutation(22_000)})
    for number in range(8):
        name = f"lake/{number}.{ending}"
        (orc if ending == "orc" else pq).write_table(table, name)
        outcome("build", name, "-c", "n", "--fpp", "0.8" if number < 2 else "0.01", "--in-place")
    rebuild = "next: pbloom build {} -c n --existing replace --in-place"

    def commands(*names):
        lines, _ = said("validate", *names, "--no-config", "--fail-on", "never")
        return [line[line.index("next: ") :] for line in lines if " PB301 " in line]

    assert commands("lake") == [rebuild.format(f"lake/0.{ending} lake/1.{ending}")]
    for number in range(2, 7):
        name = f"lake/{number}.{ending}"
        outcome("build", name, "-c", "n", "--fpp", "0.8", "--existing", "replace", "--in-place")
    assert commands("lake") == [rebuild.format("FILE")]
    (tmp_path / "lake" / f"7.{ending}").unlink()
    assert commands("lake") == [rebuild.format("lake")]
    for name in Path("lake").iterdir():
        outcome("build", name, "-c", "n", "--fpp", "0.3", "--existing", "replace", "--in-place")
    high = said("validate", "lake", "--no-config")[0][-2]
    assert high.endswith("; next: pbloom advise lake -c n --union-by-name --no-config")


@pytest.mark.parametrize("broken", ["0 broken", "z broken"])
def test_the_next_command_leaves_out_what_could_not_be_read(ending, tmp_path, monkeypatch, broken):
    """Whether it comes first or last."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (orc if ending == "orc" else pq).write_table(pa.table({"n": range(ROWS)}), name)
    Path(broken).write_bytes(b"PAR1")
    names = sorted(["a", "b", broken])
    lines, _ = said("validate", *names, "gone", "--no-config", "--require", "n", code=2)
    assert lines[-2] == (
        "a, b: error PB310 required-missing: column n: a filter is required; next: pbloom build"
        " a b -c n --in-place"
    )
    Path("lake").mkdir()
    lake = [Path(name).rename(f"lake/{name}.{ending}") for name in names]
    lines, _ = said("validate", "lake", "--no-config", "--require", "n", code=2)
    a, b = (path for path in lake if "broken" not in path.name)
    assert lines[-2].endswith(f"; next: pbloom build {a} {b} -c n --in-place")


def test_only_files_to_read_are_the_answer(built, ending):
    lines, _ = said("probe", built, "-c", "user_id", "-v", str(5 * ROWS))
    group = "row group 0" if ending == "parquet" else "stripe/index group 0/0"
    assert f"lake/05.{ending}: maybe {group}, 300 rows to read" in lines
    assert len(lines) < 6
    total = lines[-1]
    assert total.startswith(
        f"24 files: {FILES - len(lines) + 1} absent, {len(lines) - 1} to read; "
    )
    assert f"{(len(lines) - 1) * ROWS:,} of 7,200 rows to read" in total


def test_unknown_verdicts_are_explained_once(lake):
    lines, _ = said("probe", lake, "-c", "user_id", "-v", "5")
    assert lines[0].startswith("24 files: unknown: no ")
    assert added(lines)[1] == "24 files: 24 unknown"


def test_inspect_gives_each_of_a_few_files_a_line(built, ending):
    files = [f"{built}/{number:02d}.{ending}" for number in range(20)]
    *lines, total = said("inspect", *files)[0]
    part = "stripe" if ending == "orc" else "row group"
    assert [line.split(": 300 rows in 1 ")[0] for line in lines] == files
    assert lines[0].startswith(f"lake/00.{ending}: 300 rows in 1 {part}, ")
    assert total.startswith("20 files: 20 with filters; 20 filters take ")
    (total,), _ = said("inspect", built)
    assert total.startswith("24 files: 24 with filters; 24 filters take ")
    assert len(said("inspect", built, "--verbose")[0]) > FILES


def test_inspect_names_some_of_the_files_without_filters(built, ending):
    """Where neither all are without, nor each has a line."""
    paths = [f"{built}/{number:02d}.{ending}" for number in range(7)]
    for count, more in ((2, ""), (7, " and 2 more files")):
        for path in paths[:count]:
            outcome("strip", path, "--in-place")
        named, total = said("inspect", built)[0]
        assert named == f"without: {', '.join(paths[: min(count, 5)])}{more}"
        assert total.startswith(f"24 files: {24 - count} with filters, {count} without; ")
    assert "without:" not in "".join(said("inspect", *paths)[0])
    # Where those with filters are fewer, they are what was looked for.
    for number in range(7, 21):
        outcome("strip", f"{built}/{number:02d}.{ending}", "--in-place")
    few, total = said("inspect", built)[0]
    assert few == f"with filters: {built}/21.{ending}, {built}/22.{ending}, {built}/23.{ending}"
    assert total.startswith("24 files: 21 without, 3 with filters; ")


def test_a_file_of_filters_that_cannot_be_used_is_not_one_without(tmp_path):
    paths = [tmp_path / name for name in ("a.parquet", "b.parquet")]
    for path in paths:
        path.write_bytes(with_pointer(sound(), 8, None))
    asked = "inspect", *paths, "-c", "a", "-g", "0"
    assert said(*asked)[0][-1].startswith(
        "2 files: 2 without usable ones; 0 usable filters in what was asked for take 0 B of "
    )
    assert "2 files, 8,000 rows: 0 usable filters take 0 B of " in said(*asked, "--summary")[0][-1]


def test_a_file_without_filters_is_one_line(lake, ending):
    line, next_command = said("inspect", f"{lake}/00.{ending}")[0]
    assert line.endswith("; no filters")
    assert next_command == f"next: pbloom advise lake/00.{ending}"


def test_what_fails_before_it_is_built_counts_as_failed(ending, tmp_path, monkeypatch):
    """--auto reads the files twice, and complains once."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(7)
    for number in range(3):
        table = pa.table({"id": random.integers(0, 1 << 40, ROWS)})
        (orc if ending == "orc" else pq).write_table(table, f"{number}.{ending}")
    Path(f"bad.{ending}").write_bytes(b"neither of them")
    command = ("build", ".", "missing", "--auto", "--dry-run")
    lines, errors = said(*command, code=2)
    # Filters of ORC files would be larger than such a column.
    assert (
        added(lines)[-1]
        == f"5 files: 3 {'built' if ending == 'parquet' else 'unchanged'}, 2 failed"
    )
    named = [error.split(": ")[1] for error in errors]
    assert sorted(named[:2]) == [f"bad.{ending}", "missing"]
    assert len(errors) == (2 if ending == "parquet" else 3)
    assert sorted(said(*command, "--json", code=2)[1]) == sorted(errors)
    lines, _ = said("build", f"0.{ending}", f"bad.{ending}", "--auto", "--dry-run", code=2)
    assert added(lines)[-1].endswith(", 1 failed")


def test_a_file_is_complained_about_once_for_all_columns(built, ending):
    Path(f"lake/bad.{ending}").write_bytes(b"neither of them")
    lines, errors = said("probe", built, "-c", "user_id,nothing", "-v", "1", code=2)
    bad, other = errors
    assert bad.startswith(f"pbloom: lake/bad.{ending}: ")
    assert other == (
        f"pbloom: 24 of 25 files, such as lake/00.{ending}: no column nothing; the file has user_id,"
        " flag"
    )
    assert [line.split("; ")[0] for line in lines if line.startswith("25 files")] == [
        "25 files: 23 absent, 1 to read, 1 failed",
        "25 files: 25 failed",
    ]


def test_the_summary_is_by_column(built, ending):
    outcome("strip", f"{built}/07.{ending}", "--in-place")
    lines, _ = said("inspect", built, "--summary")
    rows = [line.split("\t") for line in lines]
    chunks = "stripes" if ending == "orc" else "chunks"
    assert rows[0] == [
        "column", "files", chunks, "filters", "bytes", "of the files", "FPP", "worst FPP",
    ]  # fmt: skip
    assert rows[1][:4] == ["user_id", "23 of 24", "23 of 24", "23"]
    assert lines[2] == "no filters: flag"
    assert lines[3].startswith("24 files, 7,200 rows: 23 filters take ")


def test_the_summary_in_json_is_one_document(built):
    (line,), _ = said("inspect", built, "--summary", "--json")
    document = json.loads(line)
    files = [json.loads(line) for line in said("inspect", built, "--json")[0]]
    parts = [part for file in files for part in file.get("row_groups") or file["stripes"]]
    chunks = [part["columns"][0]["filter"] for part in parts]
    size = sum(file["size"] for file in files)
    filter_bytes = sum(file["filter_bytes"] for file in files)
    column = document.pop("columns")[0]
    assert document == {
        "files": 24,
        "files_with_filters": 24,
        "size": size,
        "num_rows": FILES * ROWS,
        "num_filters": 24,
        "filter_bytes": filter_bytes,
        "filter_share": filter_bytes / size,
    }
    assert column == {
        "column": "user_id",
        "files": 24,
        "files_with_filters": 24,
        "chunks": 24,
        "chunks_with_filters": 24,
        "chunks_unusable": 0,
        "chunks_hidden": 0,
        "num_filters": 24,
        "filter_bytes": filter_bytes,
        "filter_share": filter_bytes / size,
        "fpp": pytest.approx(sum(each["fpp"] for each in chunks) / 24),
        "worst_fpp": max(each["worst_fpp"] for each in chunks),
    }


def test_the_summary_in_python(built, ending):
    (line,), _ = said("inspect", built, "--summary", "--json")
    summary = pb.inspect_summary(built, threads=3)
    assert summary.to_dict() == json.loads(line)
    files = sorted(Path(built).glob(f"*.{ending}"))
    assert pb.inspect_summary(files) == pb.inspect_summary(f"lake/*.{ending}") == summary
    table = summary.to_arrow()
    assert table.column_names[:3] == ["column", "files", "files_with_filters"]
    assert table["num_filters"].to_pylist() == [24, 0]
    assert repr(summary).startswith("<InspectionSummary: files=24, files_with_filters=24, size=")
    assert "<td>user_id</td><td>24</td>" in summary._repr_html_()
    with pytest.raises(FileNotFoundError, match=r"no such folder: 'nothing'$"):
        pb.inspect_summary([built, "nothing/*"])
    with pytest.raises(pb.ColumnError, match=r"no column userid; did you mean user_id\?$"):
        pb.inspect_summary(built, columns="userid")
    assert pb.inspect_summary(built, columns="flag").num_filters == 0


def test_the_summary_tells_of_files_that_cannot_be_read(built, ending):
    summary = pb.inspect_summary(built)
    broken = Path(built) / f"05a.{ending}"
    broken.write_bytes(b"no file")
    found = pb.inspect_summary(built)
    assert replace(found, failures=()) == summary
    (failure,) = found.failures
    assert failure.path == str(broken)
    assert repr(found) == f"{repr(summary)[:-1]}, 1 failed>"
    assert failure.message.startswith(f"{broken}: not a")
    with pytest.raises(pb.NotSupportedFileError, match=re.escape(f"{broken}: not a")):
        pb.inspect_summary([broken])


def test_the_summary_of_one_file(built, ending):
    lines, _ = said("inspect", f"{built}/00.{ending}", "--summary")
    assert lines[-1].startswith("1 file, 300 rows: 1 filter takes ")


def test_the_summary_names_filters_that_cannot_be_read(tmp_path):
    damaged = tmp_path / "a.parquet"
    damaged.write_bytes(with_pointer(sound(), 8, None))
    before = tmp_path / "0.parquet"
    before.write_bytes(sound())
    lines, _ = said("inspect", tmp_path, "--summary")
    assert (
        lines[-3]
        == f"filters that cannot be read: a (1 of 4 chunks); pbloom inspect {damaged} says why"
    )
    (column,) = pb.inspect_summary(damaged, columns="a").columns
    assert (column.chunks_with_filters, column.chunks_unusable) == (1, 1)


def test_files_with_other_columns_are_shown_by_schema(lake, ending, tmp_path):
    other = tmp_path / f"other.{ending}"
    table = pa.table({"other": np.arange(10)})
    if ending == "orc":
        orc.write_table(table, other)
    else:
        pq.write_table(table, other)
    lines, _ = said("advise", lake, other)
    assert lines[0].startswith(f"lake/00.{ending} and 23 more: 7,200 rows in ")
    assert lines[-4].startswith("2 schemas: ")
    assert lines[-4].endswith("; 25 files")
    (tmp_path / f"bad.{ending}").write_bytes(b"nothing of the kind")
    lines, _ = said("advise", lake, other, f"bad.{ending}", "gone", code=2)
    assert lines[-4].startswith("2 schemas: ")
    assert lines[-4].endswith("; 27 files, 2 of them failed")
    assert said("advise", lake, other, "--verbose")[0][-3:] == lines[-3:]


def test_an_interrupted_command_says_what_is_done(lake, monkeypatch):
    from parquet_bloom.verbs import build

    original = build.build_file
    monkeypatch.setattr(
        build, "build_file", lambda path, *rest, **more: original(stopping(path), *rest, **more)
    )

    def stopping(path):
        if "03" in path:
            raise KeyboardInterrupt
        return path

    result = outcome("build", lake, "-c", "user_id", "--in-place")
    assert result.code == 130
    assert result.stdout.startswith("24 files: 3 built, 21 not reached; 3 filters, ")
    assert result.stderr == "pbloom: interrupted\n"


def with_filters(lake):
    """How many of the files have any."""
    return sum(bool(pb.inspect(path).num_filters) for path in Path(lake).iterdir())


# Interrupts the program while the first file waits for others that are done, of which nobody has heard.
MEANWHILE = """
import os, signal, sys
from threading import Semaphore
from parquet_bloom.cli import main
from parquet_bloom import threads
from parquet_bloom.verbs import build
threads.MANY = 2
build_file, done, first = build.build_file, Semaphore(0), min(os.listdir("lake"))
def building(path, *rest, **more):
    if path.endswith(first):
        for _ in range(5):
            done.acquire()
        os.kill(os.getpid(), signal.SIGINT)
    report = build_file(path, *rest, **more)
    done.release()
    return report
build.build_file = building
sys.argv = ["pbloom", "build", "lake", "-c", "user_id", "--in-place"]
main()
"""


def run(program):
    return subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )


def test_what_other_threads_have_done_meanwhile_is_counted(lake):
    ran = run(MEANWHILE)
    assert (ran.returncode, ran.stderr) == (-2, "pbloom: interrupted\n")
    number = with_filters(lake)
    assert number >= 6
    left = f", {FILES - number} not reached" * (number < FILES)
    assert ran.stdout.startswith(f"{FILES} files: {number} built{left}; {number} filters, ")


# Interrupts the program where the fourth file has just taken its name.
INTERRUPTED = """
import os, signal, sys
from parquet_bloom.cli import main
from parquet_bloom.storage.local_output import Replacement
take_name, taken = Replacement._take_name, []
def taking(self, replaced):
    take_name(self, replaced)
    taken.append(self)
    if len(taken) == 4:
        os.kill(os.getpid(), signal.{number})
Replacement._take_name = taking
sys.argv = ["pbloom", "build", "lake", "-c", "user_id", "--in-place", "--threads", "1"]
main()
"""


@pytest.mark.parametrize(
    ("number", "code", "said"), [("SIGINT", -2, "pbloom: interrupted\n"), ("SIGTERM", 143, "")]
)
def test_a_file_that_has_its_name_is_counted(lake, number, code, said):
    ran = run(INTERRUPTED.replace("{number}", number))
    assert (ran.returncode, ran.stderr) == (code, said)
    assert with_filters(lake) == 4
    assert ran.stdout.startswith(f"{FILES} files: 4 built, {FILES - 4} not reached; 4 filters, ")


@pytest.mark.parametrize(
    ("interruption", "code", "said"),
    [(KeyboardInterrupt(), 130, "pbloom: interrupted\n"), (EndedError(15), 143, "")],
)
def test_a_lock_that_is_interrupted_is_no_internal_error(
    lake, monkeypatch, interruption, code, said
):
    """It is released, though it was not had again: RuntimeError."""
    from parquet_bloom.verbs import build

    def stopping(path, *rest, **more):
        interrupted = Condition()
        interrupted._acquire_restore = interrupt
        with interrupted:
            interrupted.wait(0)

    def interrupt(state):
        raise interruption

    monkeypatch.setattr(build, "build_file", stopping)
    result = outcome("build", lake, "-c", "user_id", "--in-place")
    assert (result.code, result.stderr) == (code, said)


def test_an_error_behind_which_no_interruption_is(lake, monkeypatch):
    from parquet_bloom.verbs import build

    def failing(path, *rest, **more):
        try:
            raise RuntimeError("first")
        except RuntimeError:
            raise RuntimeError("second") from None

    monkeypatch.setattr(build, "build_file", failing)
    result = outcome("build", lake, "-c", "user_id", "--in-place")
    assert result.code == 2
    assert "internal error, please report what --debug shows: RuntimeError: second" in result.stderr


def test_repair_of_sound_files(built):
    lines, _ = said("repair", built, "--dry-run")
    assert lines == [
        (
            "24 files: 24 unchanged; 0 filters repaired, 0 B added; no stored value was"
            " looked up: --drop-bad and --rebuild do that; dry run: nothing was written"
        )
    ]


@pytest.mark.parametrize("verb", ["build", "strip"])
def test_files_that_are_given_twice(lake, verb):
    """By their name, by a way that could lead elsewhere, by that of a link: each is changed once, and a dry run
    counts it once, too. A hard link keeps the old file."""
    options = ("-c", "user_id", "--in-place")
    links = Path("links")
    links.mkdir()
    names = []
    for file in sorted(Path(lake).iterdir()):
        link = links / file.name
        link.symlink_to(file.resolve())
        names += [file, file, Path(".", lake, "..", file), link]
    if verb == "strip":
        said("build", lake, *options)
    done = {"build": "built", "strip": "stripped"}[verb]
    for way in ("--dry-run", "--in-place"):
        result = outcome(verb, *names, *options, way)
        assert result.code == 0
        assert f"{FILES} files: {FILES} {done}; {FILES} filters" in result.stdout
        assert result.stderr.startswith(
            f"pbloom: {2 * FILES} of {3 * FILES} files left out: links to others of them: lake/../lake/"
        )
    assert all(link.is_symlink() for link in links.iterdir())
    total = said("inspect", lake, "--summary")[0][-1]
    assert (f"{FILES} filters" in total) == (verb == "build"), total


@pytest.mark.parametrize(
    ("verb", "told"),
    [
        (("advise",), f"and {FILES - 1} more: "),
        (("inspect", "--summary"), f"{FILES} files, "),
        (("report", "--no-deep", "-o", "page.html"), f"{FILES} files"),
    ],
)
def test_files_that_are_given_twice_are_summed_up_once(lake, verb, told):
    link = Path("links", "other")
    link.parent.mkdir()
    link.symlink_to(min(Path(lake).iterdir()).resolve())
    result = outcome(*verb, lake, Path(lake, "..", lake), link)
    page = Path("page.html").read_text() if "page.html" in verb else result.stdout
    assert told in page
    left = f"{FILES + 1} of {2 * FILES + 1} files left out: links to others of them: "
    assert result.stderr.startswith(f"pbloom: {left}{lake}/../{lake}/")


def test_a_file_goes_before_a_link_to_it_however_they_are_listed(lake):
    first = min(Path(lake).iterdir())
    Path(lake, f"00-link{first.suffix}").symlink_to(first.name)
    Path(lake, "0").mkdir()
    Path(lake, "0", f"a{first.suffix}").symlink_to(first.resolve())
    result = outcome("build", lake, "-c", "user_id", "--in-place", "--json")
    assert [json.loads(line)["path"] for line in result.stdout.splitlines()] == sorted(
        str(path) for path in Path(lake).iterdir() if path.is_file() and not path.is_symlink()
    )
    links = f"lake/0/a{first.suffix}, lake/00-link{first.suffix}"
    files = f"2 of {FILES + 2} files left out: links to others of them"
    assert result.complaint == f"{files}: {links}"


@pytest.mark.parametrize("before", ["", "./", "lake/../", "file://"])
@pytest.mark.parametrize("verb", [("build", "-c", "user_id"), ("strip",), ("repair",)])
def test_nothing_is_said_to_be_written_where_nothing_was(lake, verb, before):
    """However a file is called, a dry run or in place; a copy is one all the same."""
    first, second = (
        f"{before}{path.resolve() if 'file' in before else path}"
        for path in sorted(Path(lake).iterdir())[:2]
    )
    if verb[0] == "build":
        result = outcome(*verb, first, second, "--in-place", "--json")
        said = [json.loads(line) for line in result.stdout.splitlines()]
        assert [each["output"] for each in said] == [first, second]
    for how, is_dry in (((), False), (("--dry-run",), True)):
        result = outcome(*verb, first, second, "--in-place", "--json", *how)
        for line in result.stdout.splitlines():
            document = json.loads(line)
            assert (document["output"], document["dry_run"]) == (None, is_dry)
    shown = outcome(*verb, first, second, "--in-place").stdout
    assert "cop" not in shown
    assert "dry" not in shown
    assert outcome(*verb, first, "--in-place").stdout.startswith(f"{first}: ")
    copied = outcome(*verb, first, "-o", "copy", "--json")
    assert json.loads(copied.stdout)["output"] == "copy"


def test_copies_are_made_of_links_too(lake):
    link = Path("links", "other.parquet")
    link.parent.mkdir()
    link.symlink_to(min(Path(lake).iterdir()).resolve())
    result = outcome("build", lake, link, "-c", "user_id", "--output-dir", "out")
    assert (result.code, result.stderr) == (0, "")
    assert len(list(Path("out").iterdir())) == FILES + 1


def test_that_only_some_was_asked_for_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": range(9), "day": range(9)}), "a.parquet")
    pb.build("a.parquet", in_place=True, columns=["id"], unconditional=True)
    assert outcome("inspect", "a.parquet").stdout.splitlines()[0].endswith(" %)")
    for asked, there in (
        (("-c", "day"), "day"),
        (("-c", "day", "-g", "0"), "what was asked for"),
    ):
        head = outcome("inspect", "a.parquet", *asked).stdout.splitlines()[0]
        assert head.endswith(f"; no filters in {there}")
        said = f"a.parquet: no filters in {there}, so nothing was checked"
        ended = outcome("validate", "a.parquet", *asked, "--no-config")
        helps = "  next: pbloom advise a.parquet -c day --no-config"
        assert ended.stdout.splitlines() == [said, helps]
        ended = outcome("validate", "a.parquet", *asked, "--no-config", "--format", "github")
        assert ended.stdout == f"pbloom: {said}\n"


def test_where_filters_of_many_files_say_little_probe_says_what_says_more(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("lake")
    for number in range(3):
        table = pa.table({"id": [f"{number} {at}" for at in range(50)]})
        pq.write_table(table, f"lake/{number}.parquet", write_statistics=False)
    some = [f"-v{number} 7" for number in range(3)]
    many = [f"-v{number} {at}" for number in range(3) for at in range(4)]
    asked = ("probe", "lake", "-c", "id")
    assert outcome(*asked, *some).complaint == (
        "there are no filters to ask: `pbloom find` reads the column, `pbloom index build` makes an index of its"
        " values, `pbloom advise` tells whether filters pay off"
    )
    assert outcome("build", "lake", "-c", "id", "--in-place", "--fpp", "0.001").code == 0
    assert outcome(*asked, *some).stderr == ""
    assert outcome(*asked, *many).complaint == (
        "of so many values, most files may hold some: --by-value tells which may be where, `pbloom find` reads the"
        " rows, an index (`pbloom index build`) excludes more"
    )
    for quiet in ("--verbose", "--json", "--by-value"):
        assert outcome(*asked, *many, quiet).stderr == ""
    assert outcome(*asked, *(f"-v0 {at}" for at in range(12))).stderr == ""


def test_values_with_one_verdict_are_printed_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("lake").mkdir()
    for number in range(2):
        ids = pa.table({"id": range(1000 * number, 1000 * number + 1000)})
        pq.write_table(ids, f"lake/{number}.parquet")
    pb.build("lake", in_place=True, columns=["id"], fpp=1e-6)
    pb.Index.build("ix", ["lake"], "id").close()
    Path("ids.csv").write_text("id\n7\n5000\n1500\n6000\n")
    asked = ("-c", "id", "--ids", "ids.csv", "--only")
    for command in (("probe", "lake", *asked), ("index", "probe", "--index", "ix", *asked)):
        assert outcome(*command, "absent").stdout == "5000\n6000\n"
        assert outcome(*command, "maybe").stdout == "7\n1500\n"
        assert outcome(*command, "unknown").stdout == ""
        assert "without" in outcome(*command, "absent", "--json").complaint
    pq.write_table(pa.table({"id": [5000]}), "lake/2.parquet")
    unknown = outcome("probe", "lake", *asked, "absent")
    assert unknown.stdout == ""
    totals, doubt = unknown.stderr.splitlines()
    assert totals.startswith(
        "pbloom: id in 3 files, 1 unknown: 4 values, 0 certainly in no file, 2 maybe in some, 2 unknown; "
    )
    assert doubt == (
        "pbloom: lake/2.parquet: may hold any value, so none is absent: no filter; pbloom advise says whether it deserves one, pbloom build adds it"
    )
    assert outcome("probe", "lake", *asked, "unknown").stdout == "5000\n6000\n"
    unknown = outcome("index", "probe", "--index", "ix", *asked, "absent", "lake")
    assert unknown.stdout == ""
    assert unknown.stderr.splitlines() == [
        "pbloom: lake/2.parquet: may hold any value, so none is absent: not in the index as it is now",
        "pbloom: ix: not up to date: `pbloom index add --index ix` reads what was added or changed in the places that the index is about; name those that were never added, or were removed, too",
    ]


def test_a_table_is_named_where_files_were_expected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("events/_delta_log").mkdir(parents=True)
    found = outcome("build", "events", "-c", "id")
    assert found.code == 2
    assert found.complaint == (
        "events: is a Delta table, expected --table delta, or --output-dir for copies of its files"
    )


def test_folders_of_outputs_are_made_for_what_is_written(ending, tmp_path):
    """Those of files that fail are not."""
    writer = orc if ending == "orc" else pq
    for number in range(3):
        (tmp_path / f"lake/day={number}").mkdir(parents=True)
        table = pa.table({"b" if number else "a": range(ROWS)})
        writer.write_table(table, tmp_path / f"lake/day={number}/f.{ending}")
    out = tmp_path / "out"
    for column, made in (("none", None), ("a", ["day=0"]), ("b", ["day=0", "day=1", "day=2"])):
        command = ("build", tmp_path / "lake", "-c", column, "--output-dir", out, "--overwrite")
        assert outcome(*command, "--dry-run").code == outcome(*command).code == 2
        found = sorted(each.name for each in out.iterdir()) if out.exists() else None
        assert found == made
    with pytest.raises(pb.ColumnError):
        pb.build(tmp_path / "lake", tmp_path / "none", columns="none")
    assert not (tmp_path / "none").exists()


def test_a_summary_says_which_files_its_rows_leave_out(tmp_path, monkeypatch):
    """They have no filters, and the share in the last line is of all files."""
    monkeypatch.chdir(tmp_path)
    ids = np.random.default_rng(1).permutation(3_000)
    for name, values in (("a", ids), ("b", []), ("c", [None] * 9)):
        pq.write_table(pa.table({"id": pa.array(values, pa.int64())}), f"{name}.parquet")
    outcome("build", ".", "-c", "id", "--in-place")
    _, row, *below = outcome("inspect", ".", "--summary").stdout.splitlines()
    assert row.split("\t")[:3] == ["id", "1 of 1", "1 of 1"]
    assert below[0] == "note: a row does not count the files without values of its column"
    assert below[1].startswith("3 files, 3,009 rows: 1 filter takes ")
    _, _, *below = outcome("inspect", "a.parquet", "--summary").stdout.splitlines()
    assert len(below) == 1


def test_columns_of_which_some_row_groups_were_built_were_not_skipped_as_a_whole(tmp_path):
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for number, path in enumerate(files):
        pq.write_table(pa.table({"id": range(400), "no": range(400)}), path, row_group_size=100)
        pb.build(path, columns="id", row_groups=[0, number + 1], in_place=True)
        pb.build(path, columns="no", in_place=True)
    told = outcome("build", *files, "-c", "id,no", "--in-place").stdout
    assert "\n2 files: skipped some row groups of id: has a filter already; " in told
    assert "\n2 files: skipped no: has a filter already; " in told


def test_values_of_which_a_file_knows_nothing_are_named_beside_those_that_it_may_hold(tmp_path):
    """One that is in a row group whose filter cannot be read is not absent."""
    data, other = tmp_path / "a.parquet", tmp_path / "b.parquet"
    for path, first in (data, 0), (other, 1000):
        table = pa.table({"id": range(first, first + 200)})
        pq.write_table(table, path, row_group_size=100)
        pb.build(path, columns="id", in_place=True)
    broken = bytearray(data.read_bytes())
    offset = pb.inspect(data).parts[0].columns[0].filter.offset
    broken[offset : offset + 4] = b"\xff" * 4
    data.write_bytes(broken)
    said = outcome("probe", data, other, "-c", "id", "-v", 5, "-v", 150).stdout.splitlines()
    assert said[0] == f"{data}: maybe 150 (unknown: 5): row groups 0, 1, 200 rows to read"
    assert said[1] == f"{other}: absent"


def test_what_judges_files_together_names_all_that_were_given(ending, tmp_path, monkeypatch):
    """Of one file, or of those with a finding, the advice is another; and others may lack the column."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").mkdir()
    values = np.random.default_rng(2).permutation(22_000)
    for number in range(12):
        names = ("n", "m") if number < 11 else ("m",)
        table = pa.table(dict.fromkeys(names, values))
        (orc if ending == "orc" else pq).write_table(table, f"lake/{number:02}.{ending}")
    for number in range(2):
        outcome("build", f"lake/{number:02}.{ending}", "-c", "n", "--fpp", "0.3", "--in-place")
    every = sorted(map(str, Path("lake").iterdir()))

    def commands(*given):
        text = outcome("validate", *given, "--fail-on", "never", "--no-config").stdout
        return set(re.findall(r"next: (pbloom advise .*? --no-config)", text))

    lake = "pbloom advise lake -c n --union-by-name --no-config"
    assert commands("lake") == commands("lake", "--format", "github") == {lake}
    assert lake in commands("lake", "--verbose")
    assert commands(*every[1:4]) == {lake.replace("lake", " ".join(every[1:4]))}
    assert commands(*every) == {lake.replace("lake", "FILES")}
    assert commands(every[0]) == {f"pbloom advise {every[0]} -c n --no-config"}
    assert outcome(*shlex.split(lake)[1:]).code == 0
