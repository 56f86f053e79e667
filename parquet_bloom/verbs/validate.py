"""Prove filters right, or say what is wrong with them.

Footer and headers first, then the bits, then (`deep`) every stored value; one finding for each rule
that is broken. The rules are in parquet_bloom.rules, and explained in docs/rules.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from xxhash import xxh3_128_digest

from parquet_bloom.errors import EncryptionError, FormatError, TamperedError, UnsupportedError
from parquet_bloom.files import open as open_file
from parquet_bloom.filters.sizing import MAX_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.legacy.chunk_filters import headers_at
from parquet_bloom.legacy.presence import suspects
from parquet_bloom.native import _kernel
from parquet_bloom.parallel import Progress, work_in_order
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.parquet.membership import (
    Membership,
    check_membership,
    membership_room,
    stores_values,
)
from parquet_bloom.rules import older, portability, quality, security, structure, truth
from parquet_bloom.rules.catalogue import Checked, Diagnosis, Finding, ValidationReport
from parquet_bloom.rules.policy import Policy
from parquet_bloom.rules.view import (
    FilterView,
    chunk_finding,
    known_non_null,
    may_have_values,
    not_checked,
    without_place,
)
from parquet_bloom.storage.source import LocalSource

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.orc.file import OrcFile


def validate(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    deep: bool = True,
    diagnose: bool = False,
    policy: Policy | None = None,
    require: Sequence[str] = (),
    max_fpp: float | None = None,
    max_bytes: int | None = None,
    fail_on: str | None = None,
    ignore: Sequence[str] = (),
    threads: int | None = None,
    keys: Keys | None = None,
    progress: Progress | None = None,
) -> ValidationReport:
    """Check the filters of `columns` (dotted leaf paths; of an ORC file, names of columns; default:
    all).

    deep: look up every stored value; otherwise only footer and filters are read. diagnose: where
    values are missing, say what the writer did instead. keys: for encrypted files. progress: called
    with (filters done, filters in all).

    policy: what is required, ignored and fatal, by default only errors (see read_policy). On top of
    it, `require` columns with a filter in every row group or stripe, a highest FPP, a largest bitset in bytes,
    rules to `ignore` by id or name, and `fail_on`: error, warning, note or never.

    Raises ConfigError for words that are none, ColumnError, FormatError for files whose footer
    cannot be read or that change meanwhile, EncryptionError for those whose footer or
    ColumnMetaData does not open, UnsupportedError, OSError. What is wrong with filters and pages is
    a finding, not an error.
    """
    policy = (policy or Policy()).with_options(
        require=require, max_fpp=max_fpp, max_bytes=max_bytes, fail_on=fail_on, ignore=ignore
    )
    with open_file(path, keys) as file:
        if file.format == "orc":
            # Only who has ORC files needs protobuf and pyarrow imported.
            from parquet_bloom.verbs.orc.validate import orc_findings

            findings, checked = orc_findings(
                file, columns, policy, deep=deep, diagnose=diagnose, threads=threads,
                progress=progress,
            )  # fmt: skip
        else:
            validation = _Validation(file, policy, deep, diagnose)
            findings = validation.run(file.leaves(columns), threads, progress)
            checked = Checked(validation.num_filters, validation.num_values)
        _check_unchanged(file)
    kept = tuple(finding for finding in findings if not policy.ignores(finding))
    return ValidationReport(
        path=file.path,
        ok=not any(policy.fails(finding) for finding in kept),
        findings=kept,
        checked=checked,
        format=file.format,
    )


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of one filter; `is_right`: all values were looked up and found."""

    findings: list[Finding]
    num_values: int
    is_right: bool
    twin: truth.Twin | None


class _Validation:
    def __init__(self, file: ParquetFile, policy: Policy, deep: bool, diagnose: bool) -> None:
        self.policy = policy
        self.num_filters = 0
        self.num_values = 0
        self._file = file
        self._look_up = _look_up if deep else _no_look_up
        self._look_up_older = older.look_up if deep else _no_look_up_older
        self._has_values = _has_values if deep else may_have_values
        self._diagnose = _diagnosis if diagnose else _no_diagnosis
        self._stored: dict[ChunkKey, bloom.StoredFilter] = {}
        self._right: set[ChunkKey] = set()

    def run(
        self, leaves: Sequence[LeafColumn], threads: int | None, progress: Progress | None
    ) -> list[Finding]:
        file = self._file
        findings = [*structure.check_footer(file, leaves), *security.check_signature(file)]
        findings += security.check_plain_columns(file, leaves)
        findings += security.check_locked(file, leaves)
        for chunk in _pointing(file, leaves):
            findings += self._read_header(chunk)
        findings += self._check_older(leaves)
        filters = self._in_order()
        findings += portability.check_order(filters)
        readable = [chunk for chunk, stored in filters if self._is_readable(chunk, stored)]
        findings += self._check_filters(readable, threads, progress)
        findings += portability.check_writer(
            file.footer.created_by, [(chunk, self._is_right(chunk)) for chunk, _ in filters]
        )
        findings += quality.check_columns(file, leaves, self._has_values)
        findings += quality.check_required(file, self.policy, self._has_values)
        findings += quality.check_share(file, list(self._stored.values()))
        findings += security.check_copies(file, leaves)
        return findings

    def _read_header(self, chunk: ColumnChunk) -> Iterator[Finding]:
        if chunk.has_file_path:
            yield not_checked(chunk, "the column chunk lies in another file")
            return
        if headers_at(self._file, chunk):
            return
        stored, problems = structure.read_header(self._file, chunk)
        yield from problems
        if stored is not None:
            yield from self._check_header(chunk, stored)

    def _check_older(self, leaves: Sequence[LeafColumn]) -> Iterator[Finding]:
        """Filters of older dialects, in columns that are not encrypted."""
        for chunk in suspects(self._file.footer, leaves):
            if chunk.meta_start is None or chunk.has_file_path or chunk.has_crypto_metadata:
                continue
            found = older.look_at(self._file, chunk)
            yield from found.findings
            self.num_filters += found.num_filters
            looked = self._look_up_older(self._file, chunk, found)
            yield from looked.findings
            self.num_values += looked.num_values

    def _is_readable(self, chunk: ColumnChunk, stored: bloom.StoredFilter) -> bool:
        """Whether the bits can be looked at. Without an end, they could take all of the memory."""
        return (
            structure.is_readable(self._file, stored)
            and stored.num_bytes <= MAX_BYTES
            and not bloom.is_leaked(chunk, stored)
        )

    def _check_header(self, chunk: ColumnChunk, stored: bloom.StoredFilter) -> Iterator[Finding]:
        self.num_filters += 1
        self._stored[chunk.key] = stored
        yield from structure.check_header(self._file, chunk, stored)
        yield from portability.check_header(chunk, stored)
        yield from portability.check_type(chunk)
        yield from security.check_plaintext(chunk, stored)
        if stored.num_bytes > MAX_BYTES:
            yield not_checked(chunk, f"a bitset of more than {MAX_BYTES} bytes")

    def _in_order(self) -> list[tuple[ColumnChunk, bloom.StoredFilter]]:
        leaves = self._file.footer.leaves
        return [
            (self._file.footer.chunk(row_group, leaves[column]), stored)
            for (row_group, column), stored in sorted(self._stored.items())
        ]

    def _check_filters(
        self, chunks: Sequence[ColumnChunk], threads: int | None, progress: Progress | None
    ) -> list[Finding]:
        findings: list[Finding] = []
        twins = []
        done = count(1)
        for chunk, outcome in work_in_order(chunks, self._check_filter, self._room, threads):
            findings += outcome.findings
            self.num_values += outcome.num_values
            if outcome.is_right:
                self._right.add(chunk.key)
            if outcome.twin is not None:
                twins.append(outcome.twin)
            if progress:
                progress(next(done), len(chunks))
        return [*findings, *truth.check_twins(twins)]

    def _is_right(self, chunk: ColumnChunk) -> bool:
        return chunk.key in self._right

    def _room(self, chunk: ColumnChunk) -> int:
        return membership_room(self._stored[chunk.key].num_bytes)

    def _check_filter(self, chunk: ColumnChunk) -> _Outcome:
        stored = self._stored[chunk.key]
        try:
            bits = bloom.read_bitset(self._file.source, stored)
        except TamperedError as error:
            finding = security.does_not_open(self._file, chunk, error)
            return _Outcome([finding], 0, False, None)
        membership, findings = self._look_up(self._file, chunk, bits)
        view = FilterView(
            file=self._file,
            chunk=chunk,
            stored=stored,
            bits=bits,
            policy=self.policy.for_column(chunk.leaf.name),
            num_values=membership.num_values if membership else known_non_null(self._file, chunk),
        )
        findings += [*quality.check_filter(view), *truth.check_clear(view)]
        if membership is not None:
            findings += portability.check_forms(view, membership)
            diagnosis = self._diagnose(view, membership) if membership.missing else None
            findings += truth.check_values(view, membership, diagnosis)
        is_right = membership is not None and not membership.missing
        return _Outcome(
            findings=findings,
            num_values=membership.num_values if membership else 0,
            is_right=is_right,
            twin=_twin(view, is_right),
        )


def _check_unchanged(file: ParquetFile | OrcFile) -> None:
    """Raise FormatError if somebody wrote into the file meanwhile: what was found is of no file.

    Another file that took its name is no matter, the one that was opened is still there.
    """
    source = file.source
    if isinstance(source, LocalSource):
        now, before = os.fstat(source.descriptor), source.status
        if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise FormatError(f"{file.path}: changed while it was read")


def _twin(view: FilterView, is_right: bool) -> truth.Twin | None:
    """None if it means nothing that two filters are the same."""
    if view.chunk.leaf.type.physical == "BOOLEAN" or view.bits.bits_set == 0:
        return None
    return truth.Twin(view.chunk, xxh3_128_digest(view.bits.bitset), is_right)


def _pointing(file: ParquetFile, leaves: Sequence[LeafColumn]) -> Iterator[ColumnChunk]:
    """The chunks whose footer points to a filter; the others are not even decoded."""
    offsets = file.footer.chunks.every("bloom_filter_offset")
    width = len(file.footer.leaves)
    for row_group in range(file.num_row_groups):
        for leaf in leaves:
            index = row_group * width + leaf.index
            if offsets[index] != _kernel.ABSENT:
                yield file.footer.chunk(row_group, leaf)


def _no_look_up_older(file: ParquetFile, chunk: ColumnChunk, found: older.Older) -> older.Looked:
    return older.Looked()


_LookUp = tuple[Membership | None, list[Finding]]


def _no_look_up(file: ParquetFile, chunk: ColumnChunk, bits: SplitBlockBloomFilter) -> _LookUp:
    return None, []


def _look_up(file: ParquetFile, chunk: ColumnChunk, bits: SplitBlockBloomFilter) -> _LookUp:
    """What the values say; None, and why, if they cannot be looked up."""
    if chunk.leaf.type.physical == "BOOLEAN":
        return None, []
    try:
        return check_membership(file, chunk, bits), []
    except UnsupportedError as error:
        return None, [not_checked(chunk, without_place(error, file, chunk))]
    except (FormatError, TamperedError) as error:
        return None, [chunk_finding("PB116", chunk, without_place(error, file, chunk))]


def _has_values(file: ParquetFile, chunk: ColumnChunk) -> bool:
    """Whether a chunk has values that are not null; where the footer does not tell, its pages do."""
    known = known_non_null(file, chunk)
    return stores_values(file, chunk) if known is None else known > 0


def _no_diagnosis(view: FilterView, membership: Membership) -> Diagnosis | None:
    return None


def _diagnosis(view: FilterView, membership: Membership) -> Diagnosis | None:
    """What the writer did instead; None also if indices, which membership does without, are damaged."""
    from parquet_bloom.diagnosis.diagnose import diagnose

    try:
        return diagnose(view.file, view.chunk, view.stored, membership)
    except (EncryptionError, FormatError, UnsupportedError):
        return None
