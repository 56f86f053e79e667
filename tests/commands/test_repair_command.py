"""pbloom repair: what it prints, files with random damage, and what other readers make of the result."""

import json
import os
import random
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES, ROOT, SHARED, missing
from make.commands import outcome
from make.footers import footer_start, pointer, with_meta, without_lengths
from make.parquet_files import built
from make.repairs import GROUPS, A, S, errors, stored_values, with_length, with_offset
from oracle import stored
from oracle.arrow import bitsets, describe, leaves_of
from oracle.arrow_cpp import ArrowCpp
from oracle.parquet_java import ParquetJava

import parquet_bloom as pb
from parquet_bloom.verbs.repair import LeftFilter, RepairedFilter, RepairReport, repair

# ------------------------------------------------------------------------------------------------
# The command


def test_the_command_says_what_it_did(sound: bytes, write: Callable[[bytes], Path]) -> None:
    path = write(with_offset(without_lengths(sound), -1))
    result = outcome("repair", path, "--in-place")
    assert (result.code, result.stderr) == (0, "")
    lost = "missing: parquet-java 1.14.0 to 1.15.2 (Spark 4.0, Iceberg 1.9) loses rows"
    first = footer_start(sound) - 1
    assert re.sub(r"\d\.\d\d s", "# s", result.stdout) == (
        f"{path}: 3 filters repaired, 1 dropped, 7 B added, # s\n"
        "pointer dropped: column a, row group 0: PB101 offset-outside-data: bloom_filter_offset"
        f" points outside the data (expected 4 to {first}, found -1)\n"
        "length set: column s, row groups 0, 1: PB111 length-missing: bloom_filter_length is"
        f" {lost} (expected 272 to 528)\n"
        "length set: column a, row group 1: PB111 length-missing: bloom_filter_length is"
        f" {lost} (expected 528)\n"
        "note: no filter is left where one was dropped, and any bytes of it stay in the file:"
        f" pbloom build {path} -c a --in-place adds a new one\n"
        "note: no stored value was looked up: --drop-bad and --rebuild do that, and so does"
        f" pbloom validate {path}\n"
    )


def test_so_it_says_of_several_files(sound: bytes, write: Callable[[bytes], Path]) -> None:
    """What is dropped in some comes back by a build that leaves the others as they are."""
    path = write(with_offset(sound, -1))
    folder = path.parent / "lake"
    folder.mkdir()
    path.rename(folder / "a.parquet")
    (folder / "b.parquet").write_bytes(sound)
    result = outcome("repair", folder, "--in-place")
    note = next(line for line in result.stdout.splitlines() if "note: no filter is left" in line)
    command = f"pbloom build {folder}/a.parquet -c a --in-place"
    assert note == (
        f"{folder}/a.parquet: note: no filter is left where one was dropped, and any bytes of it stay in the file:"
        f" {command} adds a new one"
    )
    assert outcome(*command.split()[1:]).code == 0
    assert len(pb.inspect(folder / "a.parquet").parts) == 2
    assert pb.validate(folder / "a.parquet", require=["a"]).ok


def test_exit_codes(sound: bytes, write: Callable[[bytes], Path], zero: Path) -> None:
    """0: nothing is left; 1: something is; 2: trouble."""
    path = write(without_lengths(sound))
    assert outcome("repair", path, "--dry-run").code == 0
    assert outcome("repair", path, zero, "--dry-run", "--drop-bad").code == 1
    assert outcome("repair", path, zero, "--dry-run", "--rebuild").code == 0
    assert outcome("repair", path, zero, path.parent / "none", "--dry-run", "--drop-bad").code == 2
    assert outcome("repair", path).code == 2


def test_options_reach_the_library(sound: bytes, write: Callable[[bytes], Path]) -> None:
    path = write(with_offset(sound, 1))
    out = path.with_name("out.parquet")
    options = ("--rebuild", "--fpp", "0.3", "--max-bytes", "64", "--threads", "1")
    result = outcome("repair", path, "-o", out, "-c", "a", "-g", "0", *options)
    assert result.code == 0
    assert "not rebuilt: FPP" in result.stdout
    assert outcome("repair", path, "-o", out, *options).complaint.startswith(
        f"{out}: already exists"
    )


def test_json(sound: bytes, write: Callable[[bytes], Path], zero: Path) -> None:
    path = write(with_length(sound, -1))
    result = outcome("repair", path, zero, "--dry-run", "--drop-bad", "--json")
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    # Local files take no requests.
    assert {*first, "requests"} == {field.name for field in fields(RepairReport)}
    offset, length = pointer(sound, 0, A)
    assert first["repaired"] == [
        {
            "row_group": 0,
            "column": "a",
            "action": "length set",
            "num_filters": 1,
            "rule": "PB112",
            "reason": "bloom_filter_length cuts the filter short: readers that trust it lose rows"
            f" (expected {length}, found {length - 1})",
            "offset": offset,
            "length": length,
        }
    ]
    assert [item["rule"] for item in second["left"]] == ["PB403"]


def test_every_key_is_documented() -> None:
    text = (ROOT / "docs" / "json.md").read_text().split("## `pbloom repair`")[1].split("\n## ")[0]
    documented = set(re.findall(r"`([\w ]+)`", text))
    keys = {
        field.name
        for report in (RepairReport, RepairedFilter, LeftFilter)
        for field in fields(report)
    }
    assert keys - {"place", "groups"} | {"row_group", "stripe", "index_groups"} <= documented
    assert {"length set", "length removed", "pointer dropped", "rebuilt"} <= documented


# ------------------------------------------------------------------------------------------------
# Whatever comes


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", range(60))
def test_no_stored_value_is_absent_after_values_were_looked_up(
    sound: bytes, write: Callable[[bytes], Path], seed: int
) -> None:
    """Bytes of filters and of the footer's places are changed at random."""
    rng = random.Random(seed)
    data = bytearray(sound)
    for _ in range(rng.randint(1, 40)):
        data[rng.randrange(pointer(sound, 0, A)[0], footer_start(sound))] ^= 1 << rng.randrange(8)
    broken = bytes(data)
    for group in range(GROUPS):
        for column in (A, S):
            if rng.random() < 0.5:
                name = rng.choice(["bloom_filter_offset", "bloom_filter_length"])
                number = rng.choice([-1, 0, 100, 1 << 30, None, rng.randrange(len(sound))])
                broken = with_meta(broken, group, column, **{name: number})
    path = write(broken)
    options = rng.choice([("--drop-bad",), ("--rebuild",)])
    result = outcome("repair", path, "--in-place", *options)
    assert (result.code, result.stderr) == (0, "")
    assert errors(path) == set()
    with pb.open(path) as file:
        for group in range(GROUPS):
            for value in stored_values(path, group):
                assert file.probe("a", value)[group].verdict != "absent"


@pytest.mark.parametrize("seed", range(120))
def test_a_damaged_footer_gives_one_line_or_a_sound_one(
    sound: bytes, write: Callable[[bytes], Path], seed: int
) -> None:
    rng = random.Random(seed)
    data = bytearray(sound)
    for _ in range(rng.randint(1, 3)):
        data[rng.randrange(footer_start(sound), len(sound) - 8)] = rng.randrange(256)
    path = write(bytes(data))
    output = path.with_name("out.parquet")
    result = outcome("repair", path, "-o", output)
    if result.code == 2:
        assert result.complaint.startswith(f"{path}: ")
        assert os.listdir(path.parent) == [path.name]
        return
    assert result.code == 0
    structural = {rule for rule in errors(output, deep=False) if rule < "PB115"}
    assert structural == set()


# ------------------------------------------------------------------------------------------------
# Other readers


FILES = ["pyarrow_types", "java_types", "duckdb_types", "datafusion_types"]


def mended_fixture(folder: Path, name: str) -> tuple[Path, Path]:
    """A fixture with filters and no lengths, and that file repaired."""
    source = FIXTURES / f"{name}.parquet"
    columns = [column["column"] for column in describe(source)["columns"]]
    broken, repaired = folder / f"{name}-broken.parquet", folder / f"{name}-repaired.parquet"
    broken.write_bytes(without_lengths(built(source.read_bytes(), columns)))
    repair(broken, repaired)
    return broken, repaired


@pytest.mark.interop
def test_parquet_java_finds_every_value(tmp_path: Path, parquet_java: ParquetJava) -> None:
    asked, homes, files = [], [], {}
    for name in FILES:
        broken, repaired = mended_fixture(tmp_path, name)
        before, after = broken.read_bytes(), repaired.read_bytes()
        start = footer_start(before)
        assert before[:start] == after[:start]
        assert without_lengths(after) == before
        files[name] = broken, repaired
        described = describe(FIXTURES / f"{name}.parquet")["columns"]
        for column, leaf in zip(described, leaves_of(repaired, described).values(), strict=True):
            for home, row_group in enumerate(column["row_groups"]):
                for literal in row_group["present"]:
                    for value in stored.stored_values(leaf, literal):
                        asked.append((repaired, value))
                        homes.append((home, leaf, literal))
    assert len(asked) > 500
    lost: dict[tuple[Any, ...], bool] = {}
    for home, kept in zip(homes, parquet_java.kept(asked), strict=True):
        assert not isinstance(kept, str), (home, kept)
        # A decimal is asked in every length that it may have: one of them must be found.
        lost[home] = lost.get(home, True) and home[0] not in kept
    assert [home for home, is_lost in lost.items() if is_lost] == []
    by_java = parquet_java.bitsets(*(repaired for _, repaired in files.values()))
    rows = parquet_java.rows(*(path for pair in files.values() for path in pair))
    for broken, repaired in files.values():
        assert by_java[repaired] == bitsets(repaired) != {}
        assert rows[repaired] == rows[broken]
        assert rows[repaired][0] > 0


@pytest.mark.interop
def test_arrow_cpp_reads_every_filter(tmp_path: Path, arrow_cpp: ArrowCpp) -> None:
    for name in FILES:
        _, repaired = mended_fixture(tmp_path, name)
        assert arrow_cpp.bitsets(repaired) == bitsets(repaired)


def test_a_file_of_parquet_testing_gets_its_length() -> None:
    path = SHARED / "data" / "parquet-testing" / "data_index_bloom_encoding_stats.parquet"
    if not path.exists():
        missing("../shared/data/parquet-testing")
    report = repair(path, dry_run=True, drop_bad=True)
    assert [(item.rule, item.action, item.length) for item in report.repaired] == [
        ("PB111", "length set", 1040)
    ]
    assert report.left == ()
