"""docs/tables.md and docs/iceberg.md: their commands are run, their figures and reasons are those of the code."""

import re

import pyarrow as pa
from conftest import ROOT
from deltalake import DeltaTable, write_deltalake
from make.commands import outcome
from make.documents import blocks, without_times
from make.iceberg_tables import use_catalog
from pyiceberg.catalog import load_catalog

from parquet_bloom.engines.reading import engine_notes
from parquet_bloom.tables.table import MIN_FILE_SIZE

PAGE = (ROOT / "docs" / "tables.md").read_text()
ICEBERG = (ROOT / "docs" / "iceberg.md").read_text()


def make_events(folder):
    """Two commits of two partitions each, whose files have names that can be printed."""
    for commit in range(2):
        numbers = [2 * number + commit for number in range(2000)]
        rows = pa.table(
            {
                "user_id": [f"user-{number:08}" for number in numbers],
                "amount": pa.array(numbers, pa.int64()),
                "day": [f"2026-11-{number // 2 % 2 + 1:02}" for number in numbers],
            }
        )
        write_deltalake(folder, rows, partition_by=["day"], mode="append")
    log = sorted((folder / "_delta_log").glob("*.json"))
    for number, commit in enumerate(log):
        text = commit.read_text()
        for name in re.findall(r'"path":"(day=[^"]+)"', text):
            short = f"{name.partition('/')[0]}/part-{number}.parquet"
            (folder / name).rename(folder / short)
            text = text.replace(name, short)
        commit.write_text(text)
    assert len(DeltaTable(folder).file_uris()) == 4


def make_iceberg_events(folder, monkeypatch):
    """In the catalog `prod`: two snapshots of one file each."""
    use_catalog(folder, monkeypatch, "prod")
    catalog = load_catalog("prod")
    catalog.create_namespace("lake")
    for number in range(2):
        numbers = range(1000 * number, 1000 * (number + 1))
        rows = pa.table(
            {
                "user_id": [f"user-{number:08}" for number in numbers],
                "amount": pa.array(numbers, pa.int64()),
                "day": ["2026-11-01"] * 1000,
            }
        )
        catalog.create_table_if_not_exists("lake.events", rows.schema).append(rows)


def shown(text):
    """Without times, and sizes and snapshots, which another writer makes otherwise."""
    text = re.sub(r"version \d{5,}", "version #", without_times(text))
    return re.sub(r"[\d.]+ (KiB|%)", r"# \1", text)


def test_their_commands_are_run(tmp_path, monkeypatch):
    (tmp_path / "lake").mkdir()
    make_iceberg_events(tmp_path, monkeypatch)
    make_events(tmp_path / "lake" / "events")
    monkeypatch.chdir(tmp_path)
    for block in blocks(PAGE + ICEBERG, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            program, *arguments = command.split()
            assert program == "pbloom"
            run = outcome(*arguments)
            assert (run.code, shown(run.stdout)) == (0, shown(expected)), run.stderr


def test_it_names_the_readers_of_iceberg_that_a_dry_run_names():
    names = ("Sail", "PyIceberg", "Polars", "Daft", "chDB", "Spark", "S3FileIO", "iceberg-rust")
    for name in names:
        assert name in ICEBERG
        assert any(name in sentence for sentence in engine_notes("in an Iceberg table"))


def test_its_first_and_its_daily_command_build_filters_in_its_table(tmp_path, monkeypatch):
    (tmp_path / "lake").mkdir()
    make_events(tmp_path / "lake" / "events")
    monkeypatch.chdir(tmp_path)
    found = re.findall(r"^ *pbloom (build .*)$", PAGE, re.MULTILINE)
    first, daily = (each for each in found if "--all-sizes" in each)
    assert PAGE.index(first) < PAGE.index("##")
    assert "; 4 filters, " in outcome(*daily.split(), "--dry-run").stdout
    assert "; 4 filters, " in outcome(*first.split()).stdout


def test_what_it_says_of_sizes():
    assert MIN_FILE_SIZE == 4 << 20
    assert "below 4 MiB" in PAGE
    (of_trino,) = engine_notes("longer than recorded")
    assert "up to 3 MB" in of_trino
    assert "up to 3 MB" in PAGE


def test_it_names_the_readers_that_a_dry_run_names():
    for sentence in engine_notes("in a Delta table"):
        for name in ("QueryBuilder", "Sail", "Polars", "chDB", "Daft", "Spark", "Delta Kernel"):
            assert name not in sentence or name in PAGE
