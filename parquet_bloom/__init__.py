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
    from parquet_bloom.column_filter import ColumnFilter
    from parquet_bloom.errors import (
        ColumnError,
        FilterError,
        FooterError,
        FormatError,
        NotSupportedFileError,
        PageError,
        ParquetBloomError,
        RewriteError,
        UnsupportedError,
        ValueTypeError,
    )
    from parquet_bloom.files import ParquetFile, RowGroupVerdict, open
    from parquet_bloom.filters.split_block import SplitBlockBloomFilter
    from parquet_bloom.verbs.build import BuildReport, build
    from parquet_bloom.verbs.dump import DumpedFilter, dump
    from parquet_bloom.verbs.inspect import FileInspection, inspect
    from parquet_bloom.verbs.probe import ProbeReport, explain, probe
    from parquet_bloom.verbs.strip import StripReport, strip

__version__ = "0.1.0"

_HOME = {
    "BuildReport": "verbs.build",
    "ColumnError": "errors",
    "ColumnFilter": "column_filter",
    "DumpedFilter": "verbs.dump",
    "FileInspection": "verbs.inspect",
    "FilterError": "errors",
    "FooterError": "errors",
    "FormatError": "errors",
    "NotSupportedFileError": "errors",
    "PageError": "errors",
    "ParquetBloomError": "errors",
    "ParquetFile": "files",
    "ProbeReport": "verbs.probe",
    "RewriteError": "errors",
    "RowGroupVerdict": "files",
    "SplitBlockBloomFilter": "filters.split_block",
    "StripReport": "verbs.strip",
    "UnsupportedError": "errors",
    "ValueTypeError": "errors",
    "build": "verbs.build",
    "dump": "verbs.dump",
    "explain": "verbs.probe",
    "inspect": "verbs.inspect",
    "open": "files",
    "probe": "verbs.probe",
    "strip": "verbs.strip",
}

__all__ = [
    "BuildReport",
    "ColumnError",
    "ColumnFilter",
    "DumpedFilter",
    "FileInspection",
    "FilterError",
    "FooterError",
    "FormatError",
    "NotSupportedFileError",
    "PageError",
    "ParquetBloomError",
    "ParquetFile",
    "ProbeReport",
    "RewriteError",
    "RowGroupVerdict",
    "SplitBlockBloomFilter",
    "StripReport",
    "UnsupportedError",
    "ValueTypeError",
    "build",
    "dump",
    "explain",
    "inspect",
    "open",
    "probe",
    "strip",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value
