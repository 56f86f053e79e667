"""Two ORC files' filters side by side: which index groups have one, and which bits differ.

Two filters are the same if they have as many bits and hashes, the bits are the same, and the keys
of both were made in one way: streams of one kind, with one bloomEncoding. Where they lie, how they
are compressed and who built them does not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.filters.verdict import NO_FILTER
from parquet_bloom.orc.bloom import StoredIndex
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import ENCRYPTED, OrcFile

Status = Literal["same", "only in a", "only in b", "different", "unreadable"]

# A column's dotted name, and how many before it have the same.
_Name = tuple[str, int]


@dataclass(frozen=True, slots=True)
class OrcFilterSide:
    """One of two filters. `stream`: the kind of the stream that it is in; `fill` and `fpp` are
    computed from the bits."""

    stream: str
    bloom_encoding: int
    num_bits: int
    num_hashes: int
    fill: float
    fpp: float


@dataclass(frozen=True, slots=True)
class OrcFilterDiff:
    """The filters of one column in one index group; a side is None if it has none, or one that
    cannot be read.

    `bits_only_a`: how many bits are set in `a` only; None if the filters have different sizes.
    `reason`: what differs, in words; empty if nothing does.
    """

    stripe: int
    index_group: int
    column: str
    status: Status
    a: OrcFilterSide | None
    b: OrcFilterSide | None
    bits_only_a: int | None
    bits_only_b: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class OrcFileDiff:
    """Two files. `filters`: of all index groups that have one in either; `columns_only_a`: columns
    that the other one lacks; `row_index_stride_a`: rows of an index group, 0: there is no index."""

    path_a: str
    path_b: str
    format: Literal["orc"]
    same: bool
    num_stripes_a: int
    num_stripes_b: int
    row_index_stride_a: int
    row_index_stride_b: int
    columns_only_a: tuple[str, ...]
    columns_only_b: tuple[str, ...]
    filters: tuple[OrcFilterDiff, ...]


def diff_orc(a: OrcFile, b: OrcFile, columns: Sequence[str] | None) -> OrcFileDiff:
    """Compare the filters of `columns` (dotted names; default: all), stripes and index groups by
    their ordinals. Raises as verbs.diff.diff."""
    side_a, side_b = _Side(a), _Side(b)
    wanted = _wanted(a, b, columns)
    names = [name for name in {**side_a.columns, **side_b.columns} if name[0] in wanted]
    only_a = tuple(name[0] for name in names if name not in side_b.columns)
    only_b = tuple(name[0] for name in names if name not in side_a.columns)
    filters = tuple(
        found
        for stripe in range(max(a.num_stripes, b.num_stripes))
        for name in names
        for found in _diff_stripe(stripe, name, side_a, side_b)
    )
    strides = a.tail.row_index_stride, b.tail.row_index_stride
    alike = a.num_stripes == b.num_stripes and strides[0] == strides[1] and not only_a + only_b
    return OrcFileDiff(
        path_a=a.path,
        path_b=b.path,
        format="orc",
        same=alike and all(found.status == "same" for found in filters),
        num_stripes_a=a.num_stripes,
        num_stripes_b=b.num_stripes,
        row_index_stride_a=strides[0],
        row_index_stride_b=strides[1],
        columns_only_a=only_a,
        columns_only_b=only_b,
        filters=filters,
    )


def _wanted(a: OrcFile, b: OrcFile, columns: Sequence[str] | None) -> set[str]:
    """The names of columns. Raises ColumnError for one that neither file has."""
    in_a, in_b = ({column.name for column in file.columns[1:]} for file in (a, b))
    if columns is None:
        return in_a | in_b
    return {(b if name in in_b - in_a else a).column(name).name for name in columns}


@dataclass(frozen=True, slots=True)
class _NoFilters:
    """Why a column has none in a stripe, or why they cannot be read."""

    reason: str
    is_unreadable: bool = False


class _Side:
    """One of the two files."""

    def __init__(self, file: OrcFile) -> None:
        self._file = file
        self.columns: dict[_Name, OrcColumn] = {}
        seen: Counter[str] = Counter()
        for column in file.columns[1:]:
            self.columns[column.name, seen[column.name]] = column
            seen[column.name] += 1

    def num_index_groups(self, stripe: int) -> int:
        if stripe >= self._file.num_stripes:
            return 0
        return self._file.stripe(stripe).num_index_groups

    def read(self, stripe: int, name: _Name) -> StoredIndex | _NoFilters:
        if stripe >= self._file.num_stripes:
            return _NoFilters("no such stripe")
        if name not in self.columns:
            return _NoFilters("no such column")
        column = self.columns[name]
        if self._file.tail.is_encrypted_column(column):
            # Whether it has filters is encrypted, too.
            return _NoFilters(ENCRYPTED, is_unreadable=True)
        try:
            return self._file.filters(stripe, column) or _NoFilters(NO_FILTER)
        except ParquetBloomError as error:
            return _NoFilters(str(error).removeprefix(f"{self._file.path}: "), is_unreadable=True)


def _diff_stripe(stripe: int, name: _Name, side_a: _Side, side_b: _Side) -> Iterator[OrcFilterDiff]:
    """What is said of each index group; nothing if neither file has filters."""
    a, b = side_a.read(stripe, name), side_b.read(stripe, name)
    found = (a, b)
    if all(isinstance(one, _NoFilters) and not one.is_unreadable for one in found):
        return
    num_groups = max(side.num_index_groups(stripe) for side in (side_a, side_b))
    for index_group in range(num_groups):
        of_a, of_b = (_in_group(one, index_group) for one in found)
        if isinstance(of_a, _Filter) and isinstance(of_b, _Filter):
            yield _compared(stripe, index_group, name[0], of_a, of_b)
        else:
            yield _one_sided(stripe, index_group, name[0], of_a, of_b)


@dataclass(frozen=True, slots=True)
class _Filter:
    index: StoredIndex
    bits: KHashFilter

    @property
    def described(self) -> OrcFilterSide:
        return OrcFilterSide(
            stream=self.index.stream.name,
            bloom_encoding=self.index.bloom_encoding,
            num_bits=self.bits.num_bits,
            num_hashes=self.bits.num_hashes,
            fill=self.bits.fill,
            fpp=self.bits.fpp,
        )


def _in_group(found: StoredIndex | _NoFilters, index_group: int) -> _Filter | _NoFilters:
    if isinstance(found, _NoFilters):
        return found
    if index_group >= len(found.filters):
        return _NoFilters("no such index group")
    return _Filter(found, found.filters[index_group])


def _one_sided(
    stripe: int, index_group: int, column: str, a: _Filter | _NoFilters, b: _Filter | _NoFilters
) -> OrcFilterDiff:
    found = {"a": a, "b": b}
    status: Status = "only in b" if isinstance(a, _NoFilters) else "only in a"
    if any(isinstance(one, _NoFilters) and one.is_unreadable for one in found.values()):
        status = "unreadable"
    return OrcFilterDiff(
        stripe=stripe,
        index_group=index_group,
        column=column,
        status=status,
        a=a.described if isinstance(a, _Filter) else None,
        b=b.described if isinstance(b, _Filter) else None,
        bits_only_a=None,
        bits_only_b=None,
        reason="; ".join(
            f"{side}: {one.reason}" for side, one in found.items() if isinstance(one, _NoFilters)
        ),
    )


def _compared(stripe: int, index_group: int, column: str, a: _Filter, b: _Filter) -> OrcFilterDiff:
    says_a, says_b = _says(a), _says(b)
    reasons = [
        f"{what} is {says_a[what]} in a, {says_b[what]} in b"
        for what in says_a
        if says_a[what] != says_b[what]
    ]
    only_a = only_b = None
    if a.bits.num_bits == b.bits.num_bits:
        only_a, only_b = a.bits.bits_outside(b.bits), b.bits.bits_outside(a.bits)
        if only_a or only_b:
            reasons.append(f"{only_a} bits are set in a only, {only_b} in b only")
    return OrcFilterDiff(
        stripe=stripe,
        index_group=index_group,
        column=column,
        status="different" if reasons else "same",
        a=a.described,
        b=b.described,
        bits_only_a=only_a,
        bits_only_b=only_b,
        reason="; ".join(reasons),
    )


def _says(filter: _Filter) -> dict[str, str]:
    """What must be the same beside the bits."""
    return {
        "the stream": filter.index.stream.name,
        "bloomEncoding": str(filter.index.bloom_encoding),
        "the number of bits": str(filter.bits.num_bits),
        "the number of hashes": str(filter.bits.num_hashes),
    }
