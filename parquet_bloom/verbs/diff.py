"""Two files' filters side by side: where they are, what their headers say, which bits differ.

Two filters are the same if their headers say the same, their bits are the same, and the footer
tells their lengths equally right; where they lie, and how many bytes a header takes, does not count.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.files import open as open_file
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.legacy.presence import hidden_dialects
from parquet_bloom.native import _kernel
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.file import NO_KEY, ParquetFile
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.rules import structure

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.verbs.orc.diff import OrcFileDiff

Status = Literal["same", "only in a", "only in b", "different", "folded", "unreadable"]

# A leaf column's dotted path, and how many before it have the same.
_Name = tuple[str, int]


@dataclass(frozen=True, slots=True)
class FilterSide:
    """One of two filters. `length` is what the footer says, None if nothing; `fill` and `fpp` are
    computed from the bits."""

    offset: int
    length: int | None
    header_bytes: int
    num_bytes: int
    num_blocks: int
    algorithm: str
    hash: str
    compression: str
    fill: float
    fpp: float


@dataclass(frozen=True, slots=True)
class FilterDiff:
    """The filters of one column chunk; a side is None if it has none, or one that cannot be read.

    `fold`: how many times the larger one is as large, None unless that is a whole number.
    `bits_only_a`: how many bits are set in `a` only, after the larger one was folded to the size of
    the other; None if that cannot be said. `reason`: what differs, in words; empty if nothing does.
    """

    row_group: int
    column: str
    status: Status
    a: FilterSide | None
    b: FilterSide | None
    fold: int | None
    bits_only_a: int | None
    bits_only_b: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class FileDiff:
    """Two files. `filters`: of all column chunks that have one in either; `columns_only_a`: leaf
    columns that the other one lacks; `notes`: filters of older dialects, which are not compared."""

    path_a: str
    path_b: str
    format: Literal["parquet"]
    same: bool
    num_row_groups_a: int
    num_row_groups_b: int
    columns_only_a: tuple[str, ...]
    columns_only_b: tuple[str, ...]
    filters: tuple[FilterDiff, ...]
    notes: tuple[str, ...] = ()


def diff(
    a: str | os.PathLike[str],
    b: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    keys: Keys | None = None,
) -> FileDiff | OrcFileDiff:
    """Compare the filters of `columns` (dotted leaf paths, of ORC dotted names; default: all).

    Row groups are compared by their ordinals, stripes and index groups likewise. keys: for
    encrypted files, of both. Raises ColumnError for a column that neither file has, FormatError,
    UnsupportedError, also for a Parquet file and an ORC file, EncryptionError for what does not
    open, OSError. A filter that cannot be read is not an error.
    """
    with open_file(a, keys) as file_a, open_file(b, keys) as file_b:
        if file_a.format == "parquet" and file_b.format == "parquet":
            return _diff_parquet(file_a, file_b, columns)
        if file_a.format == "orc" and file_b.format == "orc":
            from parquet_bloom.verbs.orc.diff import diff_orc

            return diff_orc(file_a, file_b, columns)
        raise UnsupportedError(
            f"{file_a.path} and {file_b.path}: a Parquet file and an ORC file, whose filters have"
            " nothing in common: expected two of a kind"
        )


def _diff_parquet(
    file_a: ParquetFile, file_b: ParquetFile, columns: Sequence[str] | None
) -> FileDiff:
    side_a, side_b = _Side(file_a), _Side(file_b)
    wanted = _wanted(file_a, file_b, columns)
    names = [name for name in {**side_a.leaves, **side_b.leaves} if name[0] in wanted]
    only_a = tuple(name[0] for name in names if name not in side_b.leaves)
    only_b = tuple(name[0] for name in names if name not in side_a.leaves)
    pointing = side_a.pointing | side_b.pointing
    filters = tuple(
        _diff_filters(row_group, name, side_a, side_b)
        for row_group in range(max(file_a.num_row_groups, file_b.num_row_groups))
        for name in names
        if (row_group, name) in pointing
    )
    alike = file_a.num_row_groups == file_b.num_row_groups and not only_a and not only_b
    return FileDiff(
        path_a=file_a.path,
        path_b=file_b.path,
        format="parquet",
        same=alike and all(found.status == "same" for found in filters),
        num_row_groups_a=file_a.num_row_groups,
        num_row_groups_b=file_b.num_row_groups,
        columns_only_a=only_a,
        columns_only_b=only_b,
        filters=filters,
        notes=(*_notes("a", file_a, wanted), *_notes("b", file_b, wanted)),
    )


def _notes(side: str, file: ParquetFile, wanted: set[str]) -> Iterator[str]:
    """What there is in one file that nobody compares."""
    leaves = [leaf for leaf in file.footer.leaves if leaf.name in wanted]
    found = Counter(
        dialect
        for row_group in range(file.num_row_groups)
        for leaf in leaves
        for dialect in hidden_dialects(file.footer, file.footer.chunk(row_group, leaf))
    )
    for dialect, count in sorted(found.items()):
        yield f"{count} filters of the dialect {dialect} in {side} are not compared"


def _wanted(file_a: ParquetFile, file_b: ParquetFile, columns: Sequence[str] | None) -> set[str]:
    """The names of leaf columns. Raises ColumnError for one that neither file has."""
    if columns is None:
        return {*file_a.columns, *file_b.columns}
    in_b = set(file_b.columns) - set(file_a.columns)
    return {(file_b if name in in_b else file_a).leaf(name).name for name in columns}


class _Side:
    """One of the two files."""

    def __init__(self, file: ParquetFile) -> None:
        self._file = file
        self.leaves: dict[_Name, LeafColumn] = {}
        seen: Counter[str] = Counter()
        for leaf in file.footer.leaves:
            self.leaves[leaf.name, seen[leaf.name]] = leaf
            seen[leaf.name] += 1
        names = list(self.leaves)
        chunks = file.footer.chunks
        pairs = zip(
            chunks.every("bloom_filter_offset"), chunks.every("has_crypto_metadata"), strict=True
        )
        # Whether an encrypted chunk has a filter is encrypted, too.
        self.pointing = {
            (index // len(names), names[index % len(names)])
            for index, (offset, is_encrypted) in enumerate(pairs)
            if offset != _kernel.ABSENT or (is_encrypted and self._is_locked(index))
        }

    def _is_locked(self, index: int) -> bool:
        """Of a chunk counted row group by row group."""
        row_group, column = divmod(index, len(self._file.footer.leaves))
        return self._file.footer.chunk(row_group, self._file.footer.leaves[column]).is_locked

    def read(self, row_group: int, name: _Name) -> _Filter | _NoFilter:
        if (row_group, name) not in self.pointing:
            return _NoFilter(self._reason_for_none(row_group, name), is_unreadable=False)
        chunk = self._file.footer.chunk(row_group, self.leaves[name])
        if chunk.has_file_path:
            return _NoFilter("the column chunk lies in another file", is_unreadable=True)
        if chunk.bloom_filter_offset is None:
            return _NoFilter(NO_KEY, is_unreadable=True)
        stored, problems = structure.read_header(self._file, chunk)
        if stored is None:
            return _NoFilter(problems[0].message, is_unreadable=True)
        if stored.num_bytes <= 0 or stored.num_bytes % BLOCK_BYTES:
            return _NoFilter(f"numBytes is {stored.num_bytes}", is_unreadable=True)
        if stored.end > self._file.footer.start:
            return _NoFilter("the filter reaches into the footer", is_unreadable=True)
        return _Filter(stored, bloom.read_bitset(self._file.source, stored))

    def _reason_for_none(self, row_group: int, name: _Name) -> str:
        if row_group >= self._file.num_row_groups:
            return "no such row group"
        return "no filter" if name in self.leaves else "no such column"


@dataclass(frozen=True, slots=True)
class _NoFilter:
    """Why there is none, or why it cannot be read."""

    reason: str
    is_unreadable: bool


@dataclass(frozen=True, slots=True)
class _Filter:
    stored: bloom.StoredFilter
    bits: SplitBlockBloomFilter

    @property
    def described(self) -> FilterSide:
        stored = self.stored
        return FilterSide(
            offset=stored.offset,
            length=stored.length,
            header_bytes=stored.header_bytes,
            num_bytes=stored.num_bytes,
            num_blocks=stored.num_blocks,
            algorithm=stored.algorithm,
            hash=stored.hash,
            compression=stored.compression,
            fill=self.bits.fill,
            fpp=self.bits.fpp,
        )

    @property
    def says(self) -> dict[str, str]:
        """What header and footer say, but for places and sizes."""
        stored = self.stored
        if stored.length is None:
            length = "missing"
        else:
            length = "right" if stored.length == stored.end - stored.offset else "wrong"
        return {
            "algorithm": stored.algorithm,
            "hash": stored.hash,
            "compression": stored.compression,
            "bloom_filter_length": length,
        }


def _diff_filters(row_group: int, name: _Name, side_a: _Side, side_b: _Side) -> FilterDiff:
    a, b = side_a.read(row_group, name), side_b.read(row_group, name)
    if isinstance(a, _Filter) and isinstance(b, _Filter):
        return _compare(row_group, name, a, b)
    found = {"a": a, "b": b}
    status: Status = "only in b" if isinstance(a, _NoFilter) else "only in a"
    if any(isinstance(one, _NoFilter) and one.is_unreadable for one in found.values()):
        status = "unreadable"
    return FilterDiff(
        row_group=row_group,
        column=name[0],
        status=status,
        a=a.described if isinstance(a, _Filter) else None,
        b=b.described if isinstance(b, _Filter) else None,
        fold=None,
        bits_only_a=None,
        bits_only_b=None,
        reason="; ".join(
            f"{side}: {one.reason}" for side, one in found.items() if isinstance(one, _NoFilter)
        ),
    )


def _compare(row_group: int, name: _Name, a: _Filter, b: _Filter) -> FilterDiff:
    bits = _compare_bits(a.bits, b.bits)
    reasons = [
        f"{what} is {a.says[what]} in a, {b.says[what]} in b"
        for what in a.says
        if a.says[what] != b.says[what]
    ]
    status: Status = "different" if reasons or bits.reason else "same"
    if bits.is_folded and not reasons:
        status = "folded"
    if bits.reason:
        reasons.append(bits.reason)
    unknown = [what for what in a.says if a.says[what] == b.says[what] == bloom.UNKNOWN]
    if unknown:
        status = "unreadable"
        reasons += [f"{what} is unknown in both" for what in unknown]
    return FilterDiff(
        row_group=row_group,
        column=name[0],
        status=status,
        a=a.described,
        b=b.described,
        fold=bits.fold,
        bits_only_a=bits.only_a,
        bits_only_b=bits.only_b,
        reason="; ".join(reasons),
    )


@dataclass(frozen=True, slots=True)
class _Bits:
    """How two bitsets compare; `fold`, `only_a` and `only_b` as in FilterDiff."""

    fold: int | None
    only_a: int | None
    only_b: int | None
    reason: str

    @property
    def is_folded(self) -> bool:
        """Whether one is exactly the other, folded."""
        return self.fold is not None and self.fold > 1 and not self.only_a and not self.only_b


def _compare_bits(a: SplitBlockBloomFilter, b: SplitBlockBloomFilter) -> _Bits:
    small, large = sorted((a, b), key=lambda bits: bits.num_blocks)
    fold, rest = divmod(large.num_blocks, small.num_blocks)
    if rest:
        return _Bits(None, None, None, f"{a.num_bytes} bytes in a, {b.num_bytes} in b")
    folded_a, folded_b = (
        bits if bits.num_blocks == small.num_blocks else bits.fold(fold) for bits in (a, b)
    )
    only_a, only_b = folded_a.bits_outside(folded_b), folded_b.bits_outside(folded_a)
    return _Bits(fold, only_a, only_b, _in_words(a, b, fold, only_a, only_b))


def _in_words(
    a: SplitBlockBloomFilter, b: SplitBlockBloomFilter, fold: int, only_a: int, only_b: int
) -> str:
    """How the bits differ; empty if they do not."""
    large, small = ("a", "b") if a.num_blocks > b.num_blocks else ("b", "a")
    differing = f"{only_a} bits are set in a only, {only_b} in b only"
    if fold == 1:
        return differing if only_a or only_b else ""
    if only_a or only_b:
        return f"{large} is {fold} times as large as {small}: folded by {fold}, {differing}"
    return f"{small} is {large}, folded by {fold}"
