"""Compare the filters of two files: which there are, what is said about them, which bits differ.

Two filters are the same if their bits and these attributes are: in Parquet, what header and footer
say, a length being what follows from the header or not; in ORC, which streams there are (of two, the
bits are those that readers take), bloomEncoding, and the numbers of bits and hashes. Their positions,
their compression and who built them do not matter.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field, replace
from hashlib import sha256
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

from parquet_bloom.arguments import SomeNames, SomeNumbers
from parquet_bloom.container import (
    WHERE_KNOWN,
    Bits,
    FilterDescription,
    Located,
    NoFilters,
    Place,
    ReadFilter,
)
from parquet_bloom.container.room import TO_DIFF, check_room
from parquet_bloom.dataclass import dataclass
from parquet_bloom.diagnosis.diagnosis import FILTER_OF_ANOTHER_FILE, GIVEN_BOTH, Diagnosis
from parquet_bloom.diagnosis.evidence import MAX_CHANCE
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.files import FORMATS, open_file
from parquet_bloom.filters.difference import difference
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.options import DiffOptions, ValidateOptions
from parquet_bloom.parallel import work_in_order
from parquet_bloom.rules.examine import examine
from parquet_bloom.storage.near_names import telling_near_names
from parquet_bloom.storage.traffic import in_all
from parquet_bloom.threads import threads_to_read
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.vocabulary import UNKNOWN

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.rules.finding import Finding
    from parquet_bloom.storage.traffic import Requests
    from parquet_bloom.vocabulary import DiffStatus, Format

# The rules about what the stored values say of the bits, or why they say nothing; and about bits that say nothing of
# any value.
SAID_OF_BITS = frozenset(
    ["PB116", "PB211", "PB301", "PB303", "PB401", "PB402", "PB403", "PB404", "PB405", "PB406", "PB408", "PB611"]
)  # fmt: skip

_Findings = Mapping[tuple["Place | None", "str | None"], "Sequence[Finding]"]

# A column's dotted path, and how many columns before it have the same one.
_Name = tuple[str, int]


@dataclass(frozen=True, slots=True)
class FilterDiff(Located):
    """The filters of one column in one group; a side is None if it has no readable filter. The
    offset, length and stored bytes of an ORC filter are those of its stream.

    `fold`: the ratio of their sizes, None unless it is a whole number. `bits_only_a`: how many bits
    are set in `a` only, once the larger filter is folded to the size of the other; None if they
    cannot be compared. `reason`: what differs, in words; empty if nothing does. `wrong_a`: what the
    values stored in `a` say against its filter, if they were looked up.
    """

    place: Place
    column: str
    status: DiffStatus
    a: FilterDescription | None
    b: FilterDescription | None
    fold: int | None = field(default=None, metadata=WHERE_KNOWN)
    bits_only_a: int | None = None
    bits_only_b: int | None = None
    reason: str = ""
    wrong_a: tuple[Finding, ...] | None = None
    wrong_b: tuple[Finding, ...] | None = None


@dataclass(frozen=True, slots=True, repr=False)
class FileDiff(VerbReport):
    """Two files. `filters`: one per group that has a filter in either file; `columns_only_a`: columns
    that the other file lacks; `notes`: legacy filters, which are not compared; `row_index_stride_a`:
    rows per index group, 0 without an index. `requests`: sent for both, None if neither is in an object
    store."""

    _rows: ClassVar = ("filters",)
    _shown_first: ClassVar = ("part", "group", "column", "status", "reason")

    path_a: str
    path_b: str
    format: Format
    same: bool
    num_parts_a: int
    num_parts_b: int
    columns_only_a: tuple[str, ...]
    columns_only_b: tuple[str, ...]
    filters: tuple[FilterDiff, ...]
    notes: tuple[str, ...] = ()
    row_index_stride_a: int | None = field(default=None, metadata=WHERE_KNOWN)
    row_index_stride_b: int | None = field(default=None, metadata=WHERE_KNOWN)
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)


def diff(
    a: str | os.PathLike[str],
    b: str | os.PathLike[str],
    *,
    columns: SomeNames | None = None,
    row_groups: SomeNumbers | None = None,
    diagnose: bool = False,
    ignore_checksums: bool = False,
    threads: int | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> FileDiff:
    """Compare the filters of `columns` (dotted paths; default: all) in `row_groups` (default: all),
    which are the stripes of ORC files.

    Row groups, stripes and index groups are matched by their ordinals. diagnose: of filters
    that both files have, be they the same, look up the values that each file stores, and say what is wrong with its
    filter and what its writer did instead. ignore_checksums: as for build. keys and storage_options are for both
    files. All others as for inspect.

    Raises ColumnError for a column or a row group that neither file has, FormatError,
    UnsupportedError (also for files of different formats), EncryptionError if a key is wrong,
    OSError. A filter that cannot be read is not an error.
    """
    options = DiffOptions.of(locals())
    with (
        telling_near_names(),
        open_file(a, keys, storage_options) as file_a,
        open_file(b, keys, storage_options) as file_b,
    ):
        if file_a.format != file_b.format:
            raise UnsupportedError(
                f"{file_a.path} and {file_b.path}: {file_a.format} and {file_b.format},"
                " expected files of one format"
            )
        if options.ignore_checksums:
            file_a.ignore_checksums()
            file_b.ignore_checksums()
        wanted = _wanted(file_a, file_b, options.columns)
        side_a, side_b = _Side("a", file_a, wanted), _Side("b", file_b, wanted)
        names = list({**side_a.columns, **side_b.columns})
        only_a = tuple(name[0] for name in names if name not in side_b.columns)
        only_b = tuple(name[0] for name in names if name not in side_a.columns)
        longer = max(file_a, file_b, key=lambda file: file.num_parts)
        parts = longer.select_parts(options.parts)
        check_room(longer, [*side_a.columns.values(), *side_b.columns.values()], parts, TO_DIFF)
        for side in (side_a, side_b):
            side.will_read(parts)
        filters = _diff_parts(list(product(parts, names)), side_a, side_b, options.threads)
        if options.diagnose:
            filters = _diagnosed(filters, side_a, side_b, options)
        # How many there are is of no concern to who asks about some.
        alike = options.parts is not None or file_a.num_parts == file_b.num_parts
        return FileDiff(
            path_a=file_a.path,
            path_b=file_b.path,
            format=file_a.format,
            same=alike
            and not only_a + only_b
            and file_a.row_index_stride == file_b.row_index_stride
            and all(found.status == "same" for found in filters),
            num_parts_a=file_a.num_parts,
            num_parts_b=file_b.num_parts,
            columns_only_a=only_a,
            columns_only_b=only_b,
            filters=filters,
            notes=(*side_a.notes(), *side_b.notes()),
            row_index_stride_a=file_a.row_index_stride,
            row_index_stride_b=file_b.row_index_stride,
            requests=in_all([file_a.source.requests, file_b.source.requests]),
        )


def _diff_parts(
    items: Sequence[tuple[int, _Name]], a: _Side, b: _Side, threads: int | None
) -> tuple[FilterDiff, ...]:
    """The diffs of some columns, each in one part."""

    def room(item: tuple[int, _Name]) -> int:
        return a.room(*item) + b.room(*item)

    def compare(item: tuple[int, _Name]) -> list[FilterDiff]:
        return list(_diff_part(*item, a, b))

    threads = threads_to_read(threads, [a.file.source, b.file.source], items, room)
    with closing(work_in_order(items, compare, room, threads)) as found:
        return tuple(each for _, of_part in found for each in of_part)


def _diagnosed(
    filters: Sequence[FilterDiff], a: _Side, b: _Side, options: DiffOptions
) -> tuple[FilterDiff, ...]:
    """The same with what is wrong with either side of those that were compared: a filter that is the same in both can
    be wrong for the values of one."""
    compared = [found for found in filters if found.a and found.b]
    if not compared:
        return tuple(filters)
    wanted = ValidateOptions(
        columns=tuple(dict.fromkeys(found.column for found in compared)),
        parts=options.parts and tuple({found.place.part for found in compared}),
        diagnose=True,
        threads=options.threads,
    )
    in_a, in_b = _wrong(a.file, wanted), _wrong(b.file, wanted)
    in_a, in_b = _traced(in_a, in_b, wanted, a, b), _traced(in_b, in_a, wanted, b, a)
    return tuple(
        replace(
            found,
            wrong_a=_about(found.place, found.column, in_a),
            wrong_b=_about(found.place, found.column, in_b),
        )
        if found.a and found.b
        else found
        for found in filters
    )


def _about(place: Place, column: str, by_place: _Findings) -> tuple[Finding, ...]:
    """What is wrong with a stripe is wrong with each of its groups."""
    places = dict.fromkeys((Place(place.part), place))
    return tuple(each for place in places for each in by_place.get((place, column), ()))


def _traced(
    findings: _Findings, in_other: _Findings, wanted: ValidateOptions, side: _Side, other: _Side
) -> _Findings:
    """The same; of a filter that lacks values and that nothing in its own file explains, where in the other file it
    is, if it is right there."""
    unexplained = {at for at, found in findings.items() if any(map(_is_unexplained, found))}
    columns = {column for _, column in unexplained}
    names = [name for name in side.columns if name[0] in columns]
    there: dict[tuple[str, bytes], list[_Folded]] = defaultdict(list)
    for name, found, digest in other.digests(wanted.parts, names):
        if not _about(found.place, name, in_other):
            there[name, digest].append(found)
    traced = dict(findings)
    for name, own, digest in side.digests(wanted.parts, names) if there else ():
        at = own.place, name
        # Neither is the other one folded if they are alike only once both are.
        alike = [each for each in there.get((name, digest), ()) if min(own.by, each.by) == 1]
        if alike and at in unexplained and traced[at] is findings[at]:
            nearest = min(alike, key=lambda each: each.place != own.place)
            said = _of_other(own, nearest, other.letter)
            traced[at] = [_explained(each, said) for each in findings[at]]
    return traced


@dataclass(frozen=True, slots=True)
class _Folded:
    """The filter at `place`, folded `by`; by 1, as it is."""

    place: Place
    by: int


def _foldings(bits: Bits) -> Iterator[tuple[int, Bits]]:
    """A filter as it is, unless it is empty, and folded by 2, by 4 and so on, until so many bits are set that others
    may have the same."""
    by = 1
    if bits.fill:
        yield by, bits
    while isinstance(bits, SplitBlockBloomFilter) and bits.num_blocks % 2 == 0:
        bits, by = bits.fold(), 2 * by
        if not 0 < bits.fpp <= MAX_CHANCE:
            break
        yield by, bits


def _is_unexplained(finding: Finding) -> bool:
    return finding.rule == "PB401" and finding.diagnosis is None


def _of_other(own: _Folded, found: _Folded, letter: str) -> Diagnosis:
    larger = f"folded by {own.by}, " if own.by > 1 else ""
    smaller = f", folded by {found.by}" if found.by > 1 else ""
    return Diagnosis(
        FILTER_OF_ANOTHER_FILE,
        f"{larger}the filter is that of {found.place} in {letter}, which lacks no value there{smaller}",
        0,
        0,
    )


def _explained(finding: Finding, said: Diagnosis) -> Finding:
    if not _is_unexplained(finding):
        return finding
    return replace(finding, diagnosis=said, undiagnosed=None)


def _wrong(file: Container, options: ValidateOptions) -> _Findings:
    found: defaultdict[tuple[Place | None, str | None], list[Finding]] = defaultdict(list)
    examination = FORMATS[file.format].examination(file, options)
    for finding in examine(examination).findings:
        if finding.rule in SAID_OF_BITS:
            if finding.undiagnosed:
                finding = replace(finding, undiagnosed=finding.undiagnosed.replace(GIVEN_BOTH, ""))
            found[finding.place, finding.column].append(finding)
    return found


def _wanted(file_a: Container, file_b: Container, columns: Sequence[str] | None) -> set[str] | None:
    """The names of `columns`; None for all. Raises ColumnError for one that neither file has."""
    if columns is None:
        return None
    in_a, in_b = set(file_a.columns), set(file_b.columns)
    files = [(file_b if name in in_b - in_a else file_a, name) for name in columns]
    return {column.name for file, name in files for column in file.select([name])}


class _Side:
    """One of the two files; messages call it by its letter."""

    def __init__(self, letter: str, file: Container, wanted: set[str] | None) -> None:
        self.letter = letter
        self.file = file
        self.columns: dict[_Name, Any] = {}
        seen: Counter[str] = Counter()
        # The keys of others are of no concern.
        names = None if wanted is None else [name for name in file.columns if name in wanted]
        for column in file.select(names):
            self.columns[column.name, seen[column.name]] = column
            seen[column.name] += 1

    def will_read(self, parts: Sequence[int]) -> None:
        """Say that the filters in these parts will be read."""
        there = [part for part in parts if part < self.file.num_parts]
        self.file.will_read_filters(there, list(self.columns.values()))

    def room(self, part: int, name: _Name) -> int:
        """The most memory that `read` takes, in bytes."""
        if part >= self.file.num_parts or name not in self.columns:
            return 0
        return self.file.room_for_filters(part, self.columns[name])

    def read(self, part: int, name: _Name) -> Sequence[ReadFilter] | NoFilters:
        if part >= self.file.num_parts:
            return NoFilters(f"no such {self.file.units.part}")
        if name not in self.columns:
            return NoFilters("no such column")
        return self.file.read_filters(part, self.columns[name])

    def digests(
        self, parts: Sequence[int] | None, names: Iterable[_Name]
    ) -> Iterator[tuple[str, _Folded, bytes]]:
        """Columns, places and digests of the bits of filters that have any, in these parts, or in all; of each as it
        is, and as it is if it is folded."""
        for part, name in product(range(self.file.num_parts) if parts is None else parts, names):
            found = self.read(part, name)
            for group, each in enumerate(() if isinstance(found, NoFilters) else found):
                place = self.place(part, group)
                for by, bits in _foldings(each.bits):
                    yield name[0], _Folded(place, by), sha256(bits.words.data).digest()

    def place(self, part: int, group: int) -> Place:
        units = self.file.units
        return Place(part, group if units.has_groups else None, units)

    def notes(self) -> Iterator[str]:
        """What is not compared."""
        found = self.file.private_filters(tuple(self.columns.values()))
        for dialect, count in sorted(found.items()):
            yield f"legacy filters in {self.letter}, which are not compared: {count} {dialect}"


def _diff_part(part: int, name: _Name, a: _Side, b: _Side) -> Iterator[FilterDiff]:
    """The diff of each group; none if neither file has filters."""
    found = a.read(part, name), b.read(part, name)
    for group in range(max(map(_num_groups, found))):
        place = a.place(part, group)
        of_a, of_b = (_in_group(side, group, place) for side in found)
        if isinstance(of_a, ReadFilter) and isinstance(of_b, ReadFilter):
            yield _compared(place, name[0], of_a, of_b)
        else:
            yield _one_sided(place, name[0], of_a, of_b)


def _num_groups(side: Sequence[ReadFilter] | NoFilters) -> int:
    return side.unreadable if isinstance(side, NoFilters) else len(side)


def _in_group(
    side: Sequence[ReadFilter] | NoFilters, group: int, place: Place
) -> ReadFilter | NoFilters:
    if isinstance(side, NoFilters):
        return side
    return side[group] if group < len(side) else NoFilters(f"no such {place.units.group}")


def _one_sided(
    place: Place, column: str, a: ReadFilter | NoFilters, b: ReadFilter | NoFilters
) -> FilterDiff:
    missing = {side: one for side, one in (("a", a), ("b", b)) if isinstance(one, NoFilters)}
    status: DiffStatus = "only in b" if "a" in missing else "only in a"
    if any(one.unreadable for one in missing.values()):
        status = "unreadable"
    return FilterDiff(
        place=place,
        column=column,
        status=status,
        a=a.description if isinstance(a, ReadFilter) else None,
        b=b.description if isinstance(b, ReadFilter) else None,
        reason="; ".join(f"{side}: {one.reason}" for side, one in missing.items()),
    )


def _compared(place: Place, column: str, a: ReadFilter, b: ReadFilter) -> FilterDiff:
    said = [
        f"{what} is {a.says[what]} in a, {b.says[what]} in b"
        for what in a.says
        if a.says[what] != b.says[what]
    ]
    unknown = [
        f"{what} is unknown in both" for what in a.says if a.says[what] == b.says[what] == UNKNOWN
    ]
    bits = difference(a.bits, b.bits)
    reasons = [*said, *bits.reasons, *unknown]
    status: DiffStatus = "different" if reasons else "same"
    if unknown:
        status = "unreadable"
    elif bits.is_folded and not said:
        status = "folded"
    return FilterDiff(
        place=place,
        column=column,
        status=status,
        a=a.description,
        b=b.description,
        fold=bits.fold,
        bits_only_a=bits.only_a,
        bits_only_b=bits.only_b,
        reason="; ".join(reasons),
    )
