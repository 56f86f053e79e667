"""Prove filters right, or say what is wrong with them.

The rules are in parquet_bloom.rules; `pbloom rule` and docs/rules.md explain them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from parquet_bloom.arguments import SomeNames, SomeNumbers
from parquet_bloom.container import WHERE_KNOWN, number_of
from parquet_bloom.container.protocols import Container
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError
from parquet_bloom.files import FORMATS
from parquet_bloom.options import ValidateOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.rules.examine import examine
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.next_commands import NextCommands
from parquet_bloom.rules.policy import Policy, policy_given
from parquet_bloom.rules.rule import Severity
from parquet_bloom.storage.source import LocalSource
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.several import one_of, read_each, reads_several
from parquet_bloom.vocabulary import FailOn, Format, TableChoice

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import TableView
    from parquet_bloom.storage.traffic import Requests


@dataclass(frozen=True, slots=True)
class Checked:
    """How many filters and stored values were checked (the entries of a dictionary once); `values`
    is None if none were to be looked up, and `pages`, which were decoded, if none were to be;
    `pages_without_checksum`: of these, those in which values that have changed cannot be told;
    `encrypted_chunks`: those that there is no key for, so that nobody saw their filters, None if there are none."""

    filters: int
    values: int | None
    pages: int | None = field(default=None, metadata=WHERE_KNOWN)
    pages_without_checksum: int | None = field(default=None, metadata=WHERE_KNOWN)
    encrypted_chunks: int | None = field(default=None, metadata=WHERE_KNOWN)


@dataclass(frozen=True, slots=True, repr=False)
class ValidationReport(VerbReport):
    """One file. `ok`: no finding at or above the severity that fails it, in what could be seen."""

    _rows: ClassVar = ("findings",)
    _shown_first: ClassVar = (
        *("part", "group", "rule", "severity", "column", "message"),
        *("expected", "found", "next"),
    )

    path: str
    format: Format
    ok: bool
    findings: tuple[Finding, ...]
    checked: Checked
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was checked, and nothing found: who expects filters must not read `ok`."""
        return (
            not self.findings
            and not self.checked.filters
            and not self.checked.pages
            and not self.is_unknown
        )

    @property
    def is_unknown(self) -> bool:
        """Whether no filter was checked, and there may be some that no key was given for."""
        return bool(self.checked.encrypted_chunks) and not self.checked.filters

    @property
    def state(self) -> str:
        """`ok` if all filters are, `ok where readable` if those are that were checked and others have no key,
        `not ok`, `unknown` if no key was given for any, `ok without filters` if something else was checked,
        or `without filters`."""
        if self.is_empty:
            return "without filters"
        if not self.ok:
            return "not ok"
        if self.is_unknown:
            return "unknown"
        if self.checked.encrypted_chunks:
            return "ok where readable"
        return "ok" if self.checked.filters else "ok without filters"

    @property
    def worst(self) -> Finding | None:
        """The first of the most severe findings; None if there are none."""
        return max(self.findings, key=lambda each: each.severity, default=None)

    @property
    def counts(self) -> str:
        """`1 error, 2 notes`; `no findings`"""
        numbers = Counter(each.severity for each in self.findings)
        told = (
            number_of(numbers[each], each)
            for each in sorted(Severity, reverse=True)
            if numbers[each]
        )
        return ", ".join(told) or "no findings"

    def _as_row(self) -> dict[str, Any]:
        # `ok` is also what has no filters.
        worst = self.worst and self.worst.line
        first = {"path": self.path, "ok": self.ok, "state": self.state, "worst": worst}
        return first | VerbReport._as_row(self)


@reads_several
def validate(
    path: Any,
    *,
    columns: SomeNames | None = None,
    row_groups: SomeNumbers | None = None,
    deep: bool = True,
    diagnose: bool = False,
    pages: bool = False,
    policy: Policy | None = None,
    require: SomeNames = (),
    max_fpp: float | None = None,
    max_bytes: int | None = None,
    fail_on: FailOn | None = None,
    ignore: SomeNames = (),
    no_values: bool = False,
    union_by_name: bool = False,
    ignore_checksums: bool = False,
    threads: int | None = None,
    table: TableChoice | TableView | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> ValidationReport:
    """Check the filters of `columns` (dotted paths; default: all) in `row_groups` (default: all),
    which are the stripes of an ORC file; what is wrong with a file as a whole is found anyway.

    A list of paths, a folder, a glob, and a URL that ends with / stand for several files: then this returns a
    FilesReport, with the report on each, and the errors of files that failed.

    deep: look up every stored value; otherwise only footers and filters are read. diagnose: where
    values are missing, say what the writer did wrong. pages: decode every page of a Parquet file, and compare counts,
    statistics, sizes and places with what footer and page index say; of an ORC file, read the values of all index
    groups, and compare them with the statistics. progress: called with (filters done, filters in
    all); in ORC files, a column in a stripe counts as one, and so do small filters whose values are not
    looked up; or, of several files, with (files done, files in all). ignore_checksums as for build, all
    others as for inspect. union_by_name: several files are those of one schema, and one that has no such column, in
    upper or lower case, needs no filter for it, if any of them has it.

    policy: what is required, ignored and fatal (see read_policy); by default, errors are fatal. It is
    extended by `require`, columns that need a filter in every row group or stripe, and are checked beside `columns`;
    `max_fpp`; `max_bytes`, of a bitset; `ignore`, rules by id or name; `no_values`, to name values by hashes; and
    `fail_on`: error, warning, note or never.

    Raises ConfigError for unknown words, ColumnError, FormatError if the footer cannot be read or the
    file changes meanwhile, EncryptionError if footer or ColumnMetaData cannot be decrypted,
    UnsupportedError, OSError. What is wrong with filters and pages is a finding, not an error.
    """
    required = policy_given(policy).with_options(
        require=require, max_fpp=max_fpp, max_bytes=max_bytes, fail_on=fail_on, ignore=ignore,
        no_values=no_values,
    )  # fmt: skip
    options = ValidateOptions.of(locals(), policy=required)
    is_one = table is None and one_of(path) is not None
    report: ValidationReport = read_each(
        path,
        options,
        partial(validate_file, progress=progress if is_one else None),
        table=table,
        keys=keys,
        storage_options=storage_options,
        progress=None if is_one else progress,
    )
    return report


def validate_file(
    file: Container, options: ValidateOptions, progress: Progress | None = None
) -> ValidationReport:
    """The same for an open file."""
    policy: Policy = (options.policy or Policy()).as_called(file)
    unite(file, options)
    options = replace(options, columns=columns_to_check(file, options), policy=policy)
    if options.ignore_checksums:
        file.ignore_checksums()
    examination = FORMATS[file.format].examination(file, options)
    examined = examine(examination, progress)
    _check_unchanged(file)
    kept = tuple(finding for finding in examined.findings if not policy.ignores(finding))
    commands = NextCommands(
        file,
        policy,
        examination.may_be_built,
        examination.room_for,
        examination.columns_with_filters,
        examined.fpp_within_limit,
        examined.proofs,
        has_decoded=options.pages,
    )
    if not examined.has_lost_bytes:
        commands.add_to(kept)
    if policy.no_values:
        for finding in kept:
            finding.hide_values()
    return ValidationReport(
        path=file.path,
        format=file.format,
        ok=not any(policy.fails(finding) for finding in kept),
        findings=kept,
        checked=Checked(
            examined.num_filters,
            examined.num_values if options.deep else None,
            examined.num_pages if options.pages else None,
            examined.num_unsummed if options.pages else None,
            examined.num_locked or None,
        ),
        requests=file.source.requests,
    )


def columns_to_check(file: Container, options: ValidateOptions) -> tuple[str, ...] | None:
    """What was asked for, and what the call requires besides, as far as the file has it; None: all."""
    if options.columns is None or not options.require:
        return options.columns
    own = options.policy.called_otherwise(file)
    required = (own.get(name, name) for name in options.require)
    return (*options.columns, *(name for name in required if name in file.columns))


def required_besides(file: Container, options: ValidateOptions) -> list[str]:
    """Columns of a validated file that the policy requires, and whose filters were not checked, as others were asked
    for."""
    asked = columns_to_check(file, options)
    required = (options.policy or Policy()).as_called(file).required_columns()
    if asked is None or not required:
        return []
    checked = {column.name for column in file.select(asked)}
    return [name for name in required if name in file.columns and name not in checked]


def unite(file: Container, options: ValidateOptions) -> None:
    """Take what the file lacks of the columns that are asked about for null, if they go by their names."""
    if options.union_by_name:
        file.unite_by_name((*(options.columns or ()), *options.required))


def _check_unchanged(file: Container) -> None:
    """Raise FormatError if the file was written to meanwhile: the findings would be about no file.

    Another file under its name does not matter: the one that was opened is still there.
    """
    source = file.source
    if isinstance(source, LocalSource):
        now, before = os.fstat(source.descriptor), source.status
        if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise FormatError(f"{file.path}: changed while it was read")
