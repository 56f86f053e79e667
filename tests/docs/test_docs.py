"""README and docs say what is so: their commands are run, their tables compared with the code."""

import re
import shutil
import subprocess
import sys
from dataclasses import fields

import pytest
from conftest import ROOT, missing
from make.documents import WRITER, blocks, figures

from parquet_bloom.commands.pbloom import cli
from parquet_bloom.container import (
    UNITS,
    Answer,
    BuiltFilters,
    Explanation,
    FilterDescription,
    LeftChunk,
    RemovedFilters,
)
from parquet_bloom.container.descriptions import (
    ChunkDescription,
    FilterBytes,
    FilterStream,
    GroupDescription,
    GroupFilter,
    LegacyDescription,
    PartDescription,
)
from parquet_bloom.container.footer_fields import FooterDescription, Stretch
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.engines.reading import EngineUse
from parquet_bloom.engines.settings import WriterSettings
from parquet_bloom.index.manifest import TableSource
from parquet_bloom.orc.row_index import GroupStatistics
from parquet_bloom.rules.finding import Finding
from parquet_bloom.values.literals import TYPES
from parquet_bloom.verbs.advise import (
    AdviceReport,
    BudgetedColumn,
    BudgetPlan,
    ColumnAdvice,
    LeftOut,
    RateOffer,
)
from parquet_bloom.verbs.build import BuildReport
from parquet_bloom.verbs.build_table import TableBuildReport
from parquet_bloom.verbs.clean_temp import CleaningReport, FoundLeftover
from parquet_bloom.verbs.diff import FileDiff, FilterDiff
from parquet_bloom.verbs.find import FindReport, FoundRow, UnknownFile
from parquet_bloom.verbs.index_change import IndexChange, NotIndexed
from parquet_bloom.verbs.index_check import IndexCheck, IndexFinding
from parquet_bloom.verbs.index_compact import IndexCompaction
from parquet_bloom.verbs.index_probe import IndexedFile, IndexedValue, IndexReport
from parquet_bloom.verbs.inspect import FileInspection
from parquet_bloom.verbs.inspect_summary import ColumnSummary, InspectionSummary
from parquet_bloom.verbs.keys import key_of
from parquet_bloom.verbs.probe import ProbedValue, ProbeReport
from parquet_bloom.verbs.recover import RecoveryReport
from parquet_bloom.verbs.repair import LeftFilter, RepairedFilter, RepairReport
from parquet_bloom.verbs.strip import StripReport
from parquet_bloom.verbs.strip_table import TableStripReport
from parquet_bloom.verbs.table_runner import TableCommit
from parquet_bloom.verbs.table_step import ChangedFile, SkippedColumn
from parquet_bloom.verbs.validate import Checked, ValidationReport
from parquet_bloom.verbs.values_in_files import NotAsked, ValueInFile, ValueInFiles, ValuesReport

README = (ROOT / "README.md").read_text()
JSON = (ROOT / "docs" / "json.md").read_text()


def test_the_readme_shows_the_writer_of_its_figures():
    assert f"written by parquet-cpp-arrow version {WRITER};" in README


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where `make demo` has been."""
    folder = tmp_path_factory.mktemp("readme")
    subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "demo.py")],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder


def test_the_commands_print_what_the_readme_shows(folder):
    pbloom = [sys.executable, "-m", "parquet_bloom"]
    for name in ("with-filter.parquet", "without.parquet", "words.npy"):
        (folder / "demo" / name).unlink(missing_ok=True)
    for block in blocks(README, "console"):
        command, *expected = block.splitlines()
        program, *arguments = command.removeprefix("$ ").split()
        run = subprocess.run(
            [*(pbloom if program == "pbloom" else [program]), *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, (command, run.stderr)
        assert figures(run.stdout) == figures("".join(f"{line}\n" for line in expected))


def test_the_python_example_runs(folder):
    (example,) = blocks(README, "python")
    subprocess.run([sys.executable, "-c", example], cwd=folder, check=True)


def test_make_has_the_targets_that_the_readme_names():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"\bmake (\w+)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_every_command_is_in_the_readme():
    for command in cli.commands:
        assert f"pbloom {command}" in README


# What is about a chunk, whatever groups there are in it.
OF_CHUNKS = {BuiltFilters, LeftChunk, LeftFilter, RemovedFilters, RepairedFilter}


def keys_of(field, report):
    """As both formats name it."""
    places = ("part",) if report in OF_CHUNKS else ("part", "group")
    names = {"place": places}.get(field.name, (field.name,))
    return {key_of(name, units) for units in UNITS.values() for name in names}


@pytest.mark.parametrize(
    ("section", "reports"),
    {
        "build": (BuildReport, BuiltFilters, LeftChunk),
        "build --table": (TableBuildReport, TableCommit, ChangedFile, SkippedColumn),
        "inspect": (
            FileInspection,
            PartDescription,
            ChunkDescription,
            FilterDescription,
            LegacyDescription,
            FilterStream,
            GroupDescription,
            GroupStatistics,
            GroupFilter,
            InspectionSummary,
            ColumnSummary,
        ),
        "probe": (
            *(ProbeReport, ProbedValue, Answer, Explanation),
            *(ValuesReport, ValueInFiles, ValueInFile, NotAsked),
        ),
        "find": (FindReport, FoundRow, UnknownFile),
        "index build": (IndexChange, NotIndexed),
        "index check": (IndexCheck, IndexFinding),
        "index compact": (IndexCompaction,),
        "index probe": (IndexReport, IndexedValue, IndexedFile, TableSource),
        "dump --format json": (FilterBytes,),
        "dump --footer": (FooterDescription, Stretch),
        "strip": (StripReport, RemovedFilters, LeftChunk),
        "strip --table": (TableStripReport,),
        "advise": (
            *(AdviceReport, ColumnAdvice, EngineUse, WriterSettings),
            *(BudgetPlan, BudgetedColumn, LeftOut, RateOffer),
        ),
        "clean-temp": (CleaningReport, FoundLeftover),
        "diff": (FileDiff, FilterDiff, FilterDescription),
        "recover": (RecoveryReport,),
        "repair": (RepairReport, RepairedFilter, LeftFilter),
        "validate": (ValidationReport, Finding, Checked, Diagnosis),
    }.items(),
)
def test_every_json_key_is_documented(section, reports):
    text = JSON.split(f"## `pbloom {section}`")[1].split("\n## ")[0]
    documented = set(re.findall(r"`(\w+)`", text))
    for report in reports:
        for field in fields(report):
            keys = keys_of(field, report)
            # What not every format has need not be called by the names of both.
            named = keys & documented if field.metadata.get("where_known") else keys <= documented
            assert field.name in documented or named, f"{report.__name__}.{field.name}"


def test_every_type_option_is_documented():
    text = (ROOT / "docs" / "types.md").read_text()
    for name in TYPES:
        assert f"`{name}`" in text


def test_links_lead_somewhere():
    for page in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").glob("*.md")),
    ]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_nothing_of_one_machine_is_in_the_project():
    """No absolute paths of a home or work folder in what is committed."""
    if shutil.which("git") is None:
        missing("git")
    run = subprocess.run(
        ["git", "grep", "-nIE", r"/(home|root|Users|work)/[a-z]"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = [
        line for line in run.stdout.splitlines() if not line.startswith("tests/docs/test_docs.py")
    ]
    assert found == []
