"""What the driver sends to the executors."""

from collections.abc import Sequence
from typing import Any

from parquet_bloom.encryption.keys_file import KeyReferences
from parquet_bloom.options import (
    BuildOptions,
    Destination,
    ProbeOptions,
    StripOptions,
    ValidateOptions,
)
from parquet_bloom.rules.policy import Policy
from parquet_bloom.spark.request import Request


def build_request(
    columns: Sequence[str],
    only_missing: bool = False,
    verify: bool = True,
    dry_run: bool = False,
    keys_file: str | None = None,
    **options: Any,
) -> Request:
    """To build filters for `columns` in the places of files."""
    destination = Destination(in_place=True, verify=verify, dry_run=dry_run)
    of_build = BuildOptions(columns=tuple(columns), threads=1, **options)
    return Request("build", of_build, KeyReferences(keys_file), destination, only_missing)


def strip_request() -> Request:
    """To remove all filters of files in their places."""
    return Request("strip", StripOptions())


def probe_request(column: str, values: Sequence[Any]) -> Request:
    """To ask about values of one column."""
    return Request("probe", (ProbeOptions(column=column, values=tuple(values), threads=1),))


def validate_request(require: Sequence[str]) -> Request:
    """To check files, in which these columns are to have filters."""
    return Request("validate", ValidateOptions(policy=Policy().with_options(require=require)))
