"""Bloom filters in Parquet and ORC files that already exist.

    import parquet_bloom as pb

    pb.build("in.parquet", "out.parquet", columns=["user_id"], fpp=0.01)
    pb.probe("out.parquet", "user_id", [42, 43])
    with pb.open("out.parquet") as file:
        file.bloom_filter(row_group=0, column="user_id").check_many(array)

Public is what `dir(pb)` has; how the modules inside are named and what is in them may change.
"""

from __future__ import annotations

# As type checkers know it: typing and importlib are loaded by what needs them.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from parquet_bloom.container import Answer as Answer
    from parquet_bloom.container import BuiltFilters as BuiltFilters
    from parquet_bloom.container import Explanation as Explanation
    from parquet_bloom.container import FilterDescription as FilterDescription
    from parquet_bloom.container import LeftChunk as LeftChunk
    from parquet_bloom.container import Place as Place
    from parquet_bloom.container import RemovedFilters as RemovedFilters
    from parquet_bloom.container.column_filter import ColumnFilter as ColumnFilter
    from parquet_bloom.container.data_file import OrcFile as OrcFile
    from parquet_bloom.container.data_file import ParquetFile as ParquetFile
    from parquet_bloom.diagnosis.diagnosis import Diagnosis as Diagnosis
    from parquet_bloom.encryption.keys import Keys as Keys
    from parquet_bloom.encryption.keys_file import read_keys as read_keys
    from parquet_bloom.errors import ColumnError as ColumnError
    from parquet_bloom.errors import ConfigError as ConfigError
    from parquet_bloom.errors import EncryptionError as EncryptionError
    from parquet_bloom.errors import FilterError as FilterError
    from parquet_bloom.errors import FooterError as FooterError
    from parquet_bloom.errors import FormatError as FormatError
    from parquet_bloom.errors import LeftOutWarning as LeftOutWarning
    from parquet_bloom.errors import MissingKeyError as MissingKeyError
    from parquet_bloom.errors import NotSupportedFileError as NotSupportedFileError
    from parquet_bloom.errors import PageError as PageError
    from parquet_bloom.errors import ParquetBloomError as ParquetBloomError
    from parquet_bloom.errors import RewriteError as RewriteError
    from parquet_bloom.errors import TableFolderWarning as TableFolderWarning
    from parquet_bloom.errors import TamperedError as TamperedError
    from parquet_bloom.errors import UnsupportedError as UnsupportedError
    from parquet_bloom.errors import ValueTypeError as ValueTypeError
    from parquet_bloom.files import open as open
    from parquet_bloom.filters.split_block import SplitBlockBloomFilter as SplitBlockBloomFilter
    from parquet_bloom.legacy.murmur3.dialect import Murmur3 as Murmur3
    from parquet_bloom.legacy.statistics.dialect import Expected as Expected
    from parquet_bloom.legacy.statistics.dialect import StatisticsFilter as StatisticsFilter
    from parquet_bloom.options import AdviseOptions as AdviseOptions
    from parquet_bloom.options import TableView as TableView
    from parquet_bloom.parallel import set_memory as set_memory
    from parquet_bloom.reads.pruning import LeftByChance as LeftByChance
    from parquet_bloom.reads.pruning import WithoutFilter as WithoutFilter
    from parquet_bloom.rules.finding import Finding as Finding
    from parquet_bloom.rules.policy import ColumnPolicy as ColumnPolicy
    from parquet_bloom.rules.policy import Policy as Policy
    from parquet_bloom.rules.policy import read_policy as read_policy
    from parquet_bloom.rules.rule import Severity as Severity
    from parquet_bloom.storage.cache import Cache as Cache
    from parquet_bloom.tables.open import open_table as open_table
    from parquet_bloom.tables.table import TableFile as TableFile
    from parquet_bloom.values.types import literal as literal
    from parquet_bloom.verbs.advise import AdviceReport as AdviceReport
    from parquet_bloom.verbs.advise import Advisor as Advisor
    from parquet_bloom.verbs.advise import TableAdvisor as TableAdvisor
    from parquet_bloom.verbs.advise import advise as advise
    from parquet_bloom.verbs.advise import advise_sketches as advise_sketches
    from parquet_bloom.verbs.advise import merged_sketches as merged_sketches
    from parquet_bloom.verbs.asked_files import AskedFile as AskedFile
    from parquet_bloom.verbs.build import BuildReport as BuildReport
    from parquet_bloom.verbs.build import build as build
    from parquet_bloom.verbs.build_table import TableBuildReport as TableBuildReport
    from parquet_bloom.verbs.build_table import build_table as build_table
    from parquet_bloom.verbs.clean_temp import CleaningReport as CleaningReport
    from parquet_bloom.verbs.clean_temp import clean_temp as clean_temp
    from parquet_bloom.verbs.dataset import dataset as dataset
    from parquet_bloom.verbs.diff import FileDiff as FileDiff
    from parquet_bloom.verbs.diff import FilterDiff as FilterDiff
    from parquet_bloom.verbs.diff import diff as diff
    from parquet_bloom.verbs.dump import Dump as Dump
    from parquet_bloom.verbs.dump import dump as dump
    from parquet_bloom.verbs.dump_footer import FooterDump as FooterDump
    from parquet_bloom.verbs.dump_footer import dump_footer as dump_footer
    from parquet_bloom.verbs.find import find as find
    from parquet_bloom.verbs.found import FindReport as FindReport
    from parquet_bloom.verbs.found import FoundRow as FoundRow
    from parquet_bloom.verbs.found import UnknownFile as UnknownFile
    from parquet_bloom.verbs.found import UnverifiedFile as UnverifiedFile
    from parquet_bloom.verbs.index import Index as Index
    from parquet_bloom.verbs.index_change import IndexChange as IndexChange
    from parquet_bloom.verbs.index_change import NotIndexed as NotIndexed
    from parquet_bloom.verbs.index_check import IndexCheck as IndexCheck
    from parquet_bloom.verbs.index_check import IndexFinding as IndexFinding
    from parquet_bloom.verbs.index_compact import IndexCompaction as IndexCompaction
    from parquet_bloom.verbs.index_probe import IndexedFile as IndexedFile
    from parquet_bloom.verbs.index_probe import IndexedValue as IndexedValue
    from parquet_bloom.verbs.index_probe import IndexReport as IndexReport
    from parquet_bloom.verbs.inspect import FileInspection as FileInspection
    from parquet_bloom.verbs.inspect import inspect as inspect
    from parquet_bloom.verbs.inspect_summary import InspectionSummary as InspectionSummary
    from parquet_bloom.verbs.inspect_summary import inspect_summary as inspect_summary
    from parquet_bloom.verbs.polars_source import polars_source as polars_source
    from parquet_bloom.verbs.probe import ProbedValue as ProbedValue
    from parquet_bloom.verbs.probe import ProbeReport as ProbeReport
    from parquet_bloom.verbs.probe import probe as probe
    from parquet_bloom.verbs.read_plan import PlannedRowGroups as PlannedRowGroups
    from parquet_bloom.verbs.read_plan import ReadPlan as ReadPlan
    from parquet_bloom.verbs.read_plan import read_plan as read_plan
    from parquet_bloom.verbs.recover import RecoveryReport as RecoveryReport
    from parquet_bloom.verbs.recover import recover as recover
    from parquet_bloom.verbs.repair import RepairReport as RepairReport
    from parquet_bloom.verbs.repair import repair as repair
    from parquet_bloom.verbs.repair_table import TableRepairReport as TableRepairReport
    from parquet_bloom.verbs.repair_table import repair_table as repair_table
    from parquet_bloom.verbs.report import FileReport as FileReport
    from parquet_bloom.verbs.report import report as report
    from parquet_bloom.verbs.row_groups import row_groups as row_groups
    from parquet_bloom.verbs.rows import rows as rows
    from parquet_bloom.verbs.several import Failure as Failure
    from parquet_bloom.verbs.several import FilesReport as FilesReport
    from parquet_bloom.verbs.strip import StripReport as StripReport
    from parquet_bloom.verbs.strip import strip as strip
    from parquet_bloom.verbs.strip_table import TableStripReport as TableStripReport
    from parquet_bloom.verbs.strip_table import strip_table as strip_table
    from parquet_bloom.verbs.validate import ValidationReport as ValidationReport
    from parquet_bloom.verbs.validate import validate as validate
    from parquet_bloom.verbs.values_in_files import NotAsked as NotAsked
    from parquet_bloom.verbs.values_in_files import ValueInFile as ValueInFile
    from parquet_bloom.verbs.values_in_files import ValueInFiles as ValueInFiles
    from parquet_bloom.verbs.values_in_files import ValuesReport as ValuesReport
    from parquet_bloom.verbs.values_in_files import probe_values as probe_values

__version__ = "0.1.0"

# Public names by module, loaded on first use, so that importing the package is cheap. Type checkers
# read the same above, which a test checks.
_NAMES = {
    "container": "Answer BuiltFilters Explanation FilterDescription LeftChunk Place RemovedFilters",
    "container.column_filter": "ColumnFilter",
    "container.data_file": "OrcFile ParquetFile",
    "diagnosis.diagnosis": "Diagnosis",
    "encryption.keys": "Keys",
    "encryption.keys_file": "read_keys",
    "errors": (
        "ColumnError ConfigError EncryptionError FilterError FooterError FormatError LeftOutWarning MissingKeyError"
        " NotSupportedFileError PageError ParquetBloomError RewriteError TableFolderWarning TamperedError"
        " UnsupportedError ValueTypeError"
    ),
    "files": "open",
    "filters.split_block": "SplitBlockBloomFilter",
    "legacy.murmur3.dialect": "Murmur3",
    "legacy.statistics.dialect": "Expected StatisticsFilter",
    "options": "AdviseOptions TableView",
    "parallel": "set_memory",
    "reads.pruning": "LeftByChance WithoutFilter",
    "rules.finding": "Finding",
    "rules.policy": "ColumnPolicy Policy read_policy",
    "rules.rule": "Severity",
    "storage.cache": "Cache",
    "tables.open": "open_table",
    "tables.table": "TableFile",
    "values.types": "literal",
    "verbs.advise": "AdviceReport Advisor TableAdvisor advise advise_sketches merged_sketches",
    "verbs.asked_files": "AskedFile",
    "verbs.build": "BuildReport build",
    "verbs.build_table": "TableBuildReport build_table",
    "verbs.clean_temp": "CleaningReport clean_temp",
    "verbs.dataset": "dataset",
    "verbs.diff": "FileDiff FilterDiff diff",
    "verbs.dump": "Dump dump",
    "verbs.dump_footer": "FooterDump dump_footer",
    "verbs.find": "find",
    "verbs.found": "FindReport FoundRow UnknownFile UnverifiedFile",
    "verbs.index": "Index",
    "verbs.index_change": "IndexChange NotIndexed",
    "verbs.index_check": "IndexCheck IndexFinding",
    "verbs.index_compact": "IndexCompaction",
    "verbs.index_probe": "IndexReport IndexedFile IndexedValue",
    "verbs.inspect": "FileInspection inspect",
    "verbs.inspect_summary": "InspectionSummary inspect_summary",
    "verbs.polars_source": "polars_source",
    "verbs.probe": "ProbeReport ProbedValue probe",
    "verbs.read_plan": "PlannedRowGroups ReadPlan read_plan",
    "verbs.recover": "RecoveryReport recover",
    "verbs.repair": "RepairReport repair",
    "verbs.report": "FileReport report",
    "verbs.row_groups": "row_groups",
    "verbs.rows": "rows",
    "verbs.several": "Failure FilesReport",
    "verbs.strip": "StripReport strip",
    "verbs.repair_table": "TableRepairReport repair_table",
    "verbs.strip_table": "TableStripReport strip_table",
    "verbs.validate": "ValidationReport validate",
    "verbs.values_in_files": "NotAsked ValueInFile ValueInFiles ValuesReport probe_values",
}
_HOME = dict(sorted((name, module) for module, names in _NAMES.items() for name in names.split()))

__all__ = list(_HOME)


if not TYPE_CHECKING:
    # Type checkers would take every name for a public one.
    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        return value


def __dir__() -> list[str]:
    return __all__
