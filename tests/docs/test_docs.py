"""The pages say what is so: their tables are compared with the code."""

import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT, missing
from make.commands import outcome
from make.documents import blocks
from pyarrow import orc

import parquet_bloom as pb
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
from parquet_bloom.container.shown_names import key_of
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
    KeptFilters,
    LeftOut,
    RateOffer,
)
from parquet_bloom.verbs.build import BuildReport
from parquet_bloom.verbs.build_table import TableBuildReport
from parquet_bloom.verbs.clean_temp import CleaningReport, FoundLeftover
from parquet_bloom.verbs.diff import FileDiff, FilterDiff
from parquet_bloom.verbs.found import FindReport, FoundRow, UnknownFile
from parquet_bloom.verbs.index_change import IndexChange, NotIndexed
from parquet_bloom.verbs.index_check import IndexCheck, IndexFinding
from parquet_bloom.verbs.index_compact import IndexCompaction
from parquet_bloom.verbs.index_probe import IndexedFile, IndexedValue, IndexReport
from parquet_bloom.verbs.inspect import FileInspection
from parquet_bloom.verbs.inspect_summary import ColumnSummary, InspectionSummary
from parquet_bloom.verbs.probe import ProbedValue, ProbeReport
from parquet_bloom.verbs.recover import RecoveryReport
from parquet_bloom.verbs.repair import LeftFilter, RepairedFilter, RepairReport
from parquet_bloom.verbs.strip import StripReport
from parquet_bloom.verbs.strip_table import TableStripReport
from parquet_bloom.verbs.table_runner import TableCommit
from parquet_bloom.verbs.table_step import ChangedFile, SkippedColumn
from parquet_bloom.verbs.validate import Checked, ValidationReport
from parquet_bloom.verbs.values_in_files import NotAsked, ValueInFile, ValueInFiles, ValuesReport

JSON = (ROOT / "docs" / "json.md").read_text()


def test_every_command_is_on_the_page_about_them():
    page = (ROOT / "docs" / "command-line.md").read_text()
    assert re.findall(r"^\| `pbloom (\S+)` \|", page, re.MULTILINE) == list(cli.commands)


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.stem)
def test_a_block_that_is_pasted_alone_has_its_import(path):
    using = [code for code in blocks(path.read_text(), "python") if re.search(r"\bpb\.", code)]
    assert [code for code in using if "import parquet_bloom as pb" not in code] == []


def test_build_is_undone_as_the_page_says(tmp_path, monkeypatch):
    """Where some files, or row groups, had filters before."""
    monkeypatch.chdir(tmp_path)
    Path("lake").mkdir()
    names = [f"lake/{number}.parquet" for number in range(3)]
    for name in names:
        table = pa.table({"user_id": range(20), "name": map(str, range(20))})
        pq.write_table(table, name, row_group_size=10)
    pb.build(names[0], columns="user_id", in_place=True)
    pb.build(names[1], columns=["user_id", "name"], row_groups=1, in_place=True)
    before = [Path(name).read_bytes() for name in names]
    orc.write_table(table, "lake/c.orc", bloom_filter_columns=[1])
    of_writer = _with_filters("lake/c.orc")
    Path("before.jsonl").write_text(outcome("inspect", "lake", "--json").stdout)
    # As killed before it has said anything of the last file.
    for name in [*names, "lake/c.orc"]:
        pb.build(name, columns=["user_id", "name"], in_place=True)
    assert [Path(name).read_bytes() for name in names] != before
    (code,) = blocks((ROOT / "docs" / "command-line.md").read_text(), "python")
    assert _with_filters("lake/c.orc") != of_writer == [(0, "user_id")]
    exec(code, {})  # noqa: S102
    assert [Path(name).read_bytes() for name in names] == before
    assert _with_filters("lake/c.orc") == of_writer


def _with_filters(path):
    """The stripes and columns that have some."""
    return [
        (part.place.part, each.column)
        for part in pb.inspect(path).parts
        for each in part.columns
        if each.filter is not None
    ]


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
        "find": (FindReport, FoundRow, UnknownFile, TableSource),
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
            *(BudgetPlan, BudgetedColumn, KeptFilters, LeftOut, RateOffer),
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
            if field.metadata.get("in_python"):
                continue
            keys = keys_of(field, report)
            # What not every format has need not be called by the names of both.
            named = keys & documented if field.metadata.get("where_known") else keys <= documented
            assert field.name in documented or named, f"{report.__name__}.{field.name}"


def test_every_type_option_is_documented():
    text = (ROOT / "docs" / "types.md").read_text()
    for name in TYPES:
        assert f"`{name}`" in text


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
