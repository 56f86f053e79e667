"""Bloom filters in Parquet files that already exist.

    import parquet_bloom as pb

    pb.build("in.parquet", "out.parquet", columns=["user_id"], fpp=0.01)
    with pb.open("out.parquet") as file:
        file.probe("user_id", 123)
        file.bloom_filter(row_group=0, column="user_id").check_many(array)

The names below are loaded when they are first used, so that importing the package is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parquet_bloom.container import Answer, Explanation
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.encryption.keys_file import read_keys
    from parquet_bloom.errors import (
        ColumnError,
        ConfigError,
        EncryptionError,
        FilterError,
        FooterError,
        FormatError,
        MissingKeyError,
        NotSupportedFileError,
        PageError,
        ParquetBloomError,
        RewriteError,
        TamperedError,
        UnsupportedError,
        ValueTypeError,
    )
    from parquet_bloom.files import open
    from parquet_bloom.filters.split_block import SplitBlockBloomFilter
    from parquet_bloom.legacy.murmur3.dialect import Murmur3
    from parquet_bloom.legacy.statistics.dialect import StatisticsFilter
    from parquet_bloom.orc.column_filter import OrcColumnFilter
    from parquet_bloom.orc.file import OrcFile
    from parquet_bloom.parquet.column_filter import ColumnFilter
    from parquet_bloom.parquet.file import ParquetFile
    from parquet_bloom.rules.catalogue import Diagnosis, Finding, Severity, ValidationReport
    from parquet_bloom.rules.policy import ColumnPolicy, Policy, read_policy
    from parquet_bloom.verbs.advise import AdviceReport, Advisor, advise
    from parquet_bloom.verbs.build import BuildReport, build
    from parquet_bloom.verbs.diff import FileDiff, FilterDiff, diff
    from parquet_bloom.verbs.dump import Dump, dump
    from parquet_bloom.verbs.inspect import FileInspection, inspect
    from parquet_bloom.verbs.orc.advise import OrcAdviceReport
    from parquet_bloom.verbs.orc.build import OrcBuildReport
    from parquet_bloom.verbs.orc.repair import OrcRepairReport
    from parquet_bloom.verbs.orc.strip import OrcStripReport
    from parquet_bloom.verbs.probe import ProbedValue, ProbeReport, probe
    from parquet_bloom.verbs.repair import RepairReport, repair
    from parquet_bloom.verbs.report import FileReport, report
    from parquet_bloom.verbs.strip import StripReport, strip
    from parquet_bloom.verbs.validate import validate

__version__ = "0.1.0"

_HOME = {
    "AdviceReport": "verbs.advise",
    "Advisor": "verbs.advise",
    "Answer": "container",
    "BuildReport": "verbs.build",
    "ColumnError": "errors",
    "ColumnFilter": "parquet.column_filter",
    "ColumnPolicy": "rules.policy",
    "ConfigError": "errors",
    "Diagnosis": "rules.catalogue",
    "Dump": "verbs.dump",
    "EncryptionError": "errors",
    "Explanation": "container",
    "FileDiff": "verbs.diff",
    "FileInspection": "verbs.inspect",
    "FileReport": "verbs.report",
    "FilterDiff": "verbs.diff",
    "FilterError": "errors",
    "Finding": "rules.catalogue",
    "FooterError": "errors",
    "FormatError": "errors",
    "Keys": "encryption.keys",
    "MissingKeyError": "errors",
    "Murmur3": "legacy.murmur3.dialect",
    "NotSupportedFileError": "errors",
    "OrcAdviceReport": "verbs.orc.advise",
    "OrcBuildReport": "verbs.orc.build",
    "OrcColumnFilter": "orc.column_filter",
    "OrcFile": "orc.file",
    "OrcRepairReport": "verbs.orc.repair",
    "OrcStripReport": "verbs.orc.strip",
    "PageError": "errors",
    "ParquetBloomError": "errors",
    "ParquetFile": "parquet.file",
    "Policy": "rules.policy",
    "ProbeReport": "verbs.probe",
    "ProbedValue": "verbs.probe",
    "RepairReport": "verbs.repair",
    "RewriteError": "errors",
    "Severity": "rules.catalogue",
    "SplitBlockBloomFilter": "filters.split_block",
    "StatisticsFilter": "legacy.statistics.dialect",
    "StripReport": "verbs.strip",
    "TamperedError": "errors",
    "UnsupportedError": "errors",
    "ValidationReport": "rules.catalogue",
    "ValueTypeError": "errors",
    "advise": "verbs.advise",
    "build": "verbs.build",
    "diff": "verbs.diff",
    "dump": "verbs.dump",
    "inspect": "verbs.inspect",
    "open": "files",
    "probe": "verbs.probe",
    "read_keys": "encryption.keys_file",
    "read_policy": "rules.policy",
    "repair": "verbs.repair",
    "report": "verbs.report",
    "strip": "verbs.strip",
    "validate": "verbs.validate",
}

__all__ = [
    "AdviceReport",
    "Advisor",
    "Answer",
    "BuildReport",
    "ColumnError",
    "ColumnFilter",
    "ColumnPolicy",
    "ConfigError",
    "Diagnosis",
    "Dump",
    "EncryptionError",
    "Explanation",
    "FileDiff",
    "FileInspection",
    "FileReport",
    "FilterDiff",
    "FilterError",
    "Finding",
    "FooterError",
    "FormatError",
    "Keys",
    "MissingKeyError",
    "Murmur3",
    "NotSupportedFileError",
    "OrcAdviceReport",
    "OrcBuildReport",
    "OrcColumnFilter",
    "OrcFile",
    "OrcRepairReport",
    "OrcStripReport",
    "PageError",
    "ParquetBloomError",
    "ParquetFile",
    "Policy",
    "ProbeReport",
    "ProbedValue",
    "RepairReport",
    "RewriteError",
    "Severity",
    "SplitBlockBloomFilter",
    "StatisticsFilter",
    "StripReport",
    "TamperedError",
    "UnsupportedError",
    "ValidationReport",
    "ValueTypeError",
    "advise",
    "build",
    "diff",
    "dump",
    "inspect",
    "open",
    "probe",
    "read_keys",
    "read_policy",
    "repair",
    "report",
    "strip",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value
