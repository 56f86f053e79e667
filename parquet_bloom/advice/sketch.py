"""What is known of a table, in memory that does not grow with its files, and how two such parts are merged.

Of each column, a sketch has

    counts        sums and maxima
    distinct      the smallest hashes of its values: how many there are           (see ndv)
    sample        the values of the smallest hashes, or those that the user looks up, and how many groups
                  hold each of them                                               (see samples)
    searched      how many groups are left of each where dictionaries are searched, if these have values that no
                  row there has, or only some groups have all values in one
    groups        the ranges of the groups with the smallest hashes               (see groups)
    rungs         the size of all filters at each rate of a ladder                (see budget)

All of it follows from the set of files. However they are split among tasks, and in whatever order their
sketches are merged, the same bytes come out. Up to the limits of each part, a sketch is exact.

In bytes, before they are compressed, a column of numbers takes up to 400 KiB, one of texts of 64 bytes 1.2 MiB;
longer ones count with up to order.KEY_BYTES bytes, with which a column takes 13 MiB. One with `searched` takes up to
twice as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, field, replace
from typing import Any, Self

import numpy as np

from parquet_bloom.advice import groups
from parquet_bloom.advice.groups import GroupSample, SeenGroup
from parquet_bloom.advice.lookups import (
    ExpectedReads,
    LookUps,
    MinMax,
    expected_reads,
    in_units,
    read_in_vain,
)
from parquet_bloom.advice.ndv import DistinctHashes
from parquet_bloom.advice.order import Keys
from parquet_bloom.advice.packed import Array, key_arrays, keys_of, packed, unpacked
from parquet_bloom.advice.samples import (
    CountedValues,
    GivenSample,
    Sample,
    SamplePart,
    StoredSample,
)
from parquet_bloom.container.in_commands import AsTable, InCommands
from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import EngineUse
from parquet_bloom.engines.settings import InTable, WantedFilter, WriterSettings, all_settings
from parquet_bloom.errors import FormatError
from parquet_bloom.filters.sizing import growth_of_size
from parquet_bloom.storage.traffic import Requests, in_all
from parquet_bloom.vocabulary import Format

# With more columns than this, fewer values, hashes and groups are kept of each.
MANY_COLUMNS = 256
LEAST_KEPT = 256

# What `build` would refuse is nearly always the same in all files.
MOST_OBSTACLES = 16


def limit_for(limit: int, num_columns: int) -> int:
    """How much each of so many columns may keep; `limit` is for up to MANY_COLUMNS."""
    return max(LEAST_KEPT, limit * MANY_COLUMNS // max(MANY_COLUMNS, num_columns))


@dataclass(frozen=True, slots=True)
class Rung:
    """The filter of one group that `build` would write at this rate: `num_bytes` of its bitset, `stored_bytes` with
    its header; without one, 0 bytes and an FPP of 1."""

    rate: float
    num_bytes: int
    stored_bytes: int
    fpp: float

    @classmethod
    def none(cls, rate: float) -> Self:
        return cls(rate, 0, 0, 1.0)


@dataclass(slots=True)
class GroupSurvey:
    """What was found in one group of a column.

    `num_values`: with nulls in Parquet, without them in ORC; `bitset_bytes`, `filter_bytes` with the header, and
    `fpp`: of the filter that `build` would write, 0 and 1 if it would write none; `rungs`: the same at each rate of
    the ladder; `dictionary`: the number of entries of the dictionary page that rows refer to if it has all values,
    else 0; None in a format without such pages; `dictionary_bytes`: its size, None where it has not all values;
    `in_dictionary`: all entries of the dictionary, if it is known to have others, too, else None; `room`: the values
    that a filter of ORC is sized for, 0 where it is as small as its values allow; `in_alp`: whether any page is in
    that encoding, as the footer says; `has_filter`: one is there; `has_too_small`: one that is too small for the
    values, as its length says, in ORC its bits; `has_unreadable`: one that no reader can use, or without a bit for
    the values; `fpp_there`: of the one that is there, as far as that is known, 1 without one that can be used;
    `is_ignored`: no reader asks a filter of this group, whose FPPs then are 1.
    """

    num_values: int
    distinct: DistinctHashes
    sample: SamplePart
    bounds: MinMax | None = None
    bitset_bytes: int = 0
    filter_bytes: int = 0
    fpp: float = 1.0
    rungs: Sequence[Rung] = ()
    dictionary: int | None = None
    dictionary_bytes: int | None = None
    in_dictionary: SamplePart | None = None
    in_alp: bool = False
    room: int = 0
    has_filter: bool = False
    has_too_small: bool = False
    has_unreadable: bool = False
    fpp_there: float = 1.0
    is_ignored: bool = False

    @property
    def ndv(self) -> int:
        """Distinct values. The entries of a dictionary are distinct, however many they are."""
        if self.dictionary and not self.distinct.is_exact:
            return self.dictionary
        return min(self.distinct.count, self.num_values)


@dataclass(slots=True)
class ColumnCounts:
    """A column of one file, or of several together.

    Of all chunks: `num_values`, `chunk_bytes` as stored, `already` (groups with a filter),
    `dictionary_bytes` (the most that a dictionary of all values of one chunk can take), `group_rows` (the most
    rows of a row group, 0 in ORC). Of the
    `groups` with a non-null value: `filters` and `filter_bytes` that `build` would write, with their headers,
    `largest_filter` (its bitset), `room` (the values that these filters of ORC are sized for, together), `group_ndv`
    (the most distinct values in one group), and `only_dictionary`: dictionary pages have all values, None in a format
    without them; `with_dictionary`: the groups in which they have; `with_unused`: those of these whose dictionary is
    known to have others, too. `not_shredded`: groups in which a field of a VARIANT has values outside the column;
    `in_alp`: groups with pages in that encoding; `too_small`: those that have a filter that is too small for them, as
    far as lengths say, in ORC bits; `bytes_there`: of the filters that are there, with their headers; `fpp_there`:
    the sum of their FPPs in FPP_UNITs, with 1 for each of the `groups` without one that can be used; `with_filter`:
    those of the `groups` that have one; `unreadable`: those with one that no reader can use, or without a bit;
    `ignored`: those of which no reader asks a filter; `files`: those that have any of the `groups`.
    """

    num_values: int = 0
    chunk_bytes: int = 0
    already: int = 0
    dictionary_bytes: int = 0
    group_rows: int = 0
    groups: int = 0
    filters: int = 0
    filter_bytes: int = 0
    largest_filter: int = 0
    room: int = 0
    group_ndv: int = 0
    only_dictionary: bool | None = True
    with_dictionary: int = 0
    with_unused: int = 0
    not_shredded: int = 0
    in_alp: int = 0
    too_small: int = 0
    bytes_there: int = 0
    fpp_there: int = 0
    with_filter: int = 0
    unreadable: int = 0
    ignored: int = 0
    files: int = 0

    @property
    def mean_room(self) -> float:
        """Of a filter: files may differ in the rows of their index groups, and filters with them."""
        return self.room / max(1, self.filters)

    @property
    def needs_some(self) -> bool:
        """Whether filters are missing or too small, if the column is to have any."""
        return self.with_filter < self.filters or self.too_small > 0

    def merge(self, other: ColumnCounts) -> None:
        """Add what was counted elsewhere."""
        self.num_values += other.num_values
        self.chunk_bytes += other.chunk_bytes
        self.already += other.already
        self.dictionary_bytes = max(self.dictionary_bytes, other.dictionary_bytes)
        self.group_rows = max(self.group_rows, other.group_rows)
        self.groups += other.groups
        self.filters += other.filters
        self.filter_bytes += other.filter_bytes
        self.largest_filter = max(self.largest_filter, other.largest_filter)
        self.room += other.room
        self.group_ndv = max(self.group_ndv, other.group_ndv)
        self.only_dictionary = other.only_dictionary and self.only_dictionary
        self.with_dictionary += other.with_dictionary
        self.with_unused += other.with_unused
        self.not_shredded += other.not_shredded
        self.in_alp += other.in_alp
        self.too_small += other.too_small
        self.bytes_there += other.bytes_there
        self.fpp_there += other.fpp_there
        self.with_filter += other.with_filter
        self.unreadable += other.unreadable
        self.ignored += other.ignored
        self.files += other.files


@dataclass(slots=True)
class RungCounts:
    """The filters of all groups with values at this rate: their sizes, and the sum of their FPPs in
    FPP_UNITs; `missing` groups have no filter yet, and theirs would have `missing_bytes`; `fpp_beside`: the sum of
    FPPs where these alone are built, beside the filters that can be used; `past_dictionary_bytes`: of filters that
    are no smaller than a dictionary which has all values; `worse_there`: groups whose filter lets more pass than the
    one of this rate would, as far as that is known."""

    rate: float
    filter_bytes: int = 0
    fpp: int = 0
    missing: int = 0
    missing_bytes: int = 0
    past_dictionary_bytes: int = 0
    fpp_beside: int = 0
    worse_there: int = 0

    @property
    def is_past_dictionary(self) -> bool:
        """Whether most of it is no smaller than dictionaries;
        a small one of the last group says nothing of others."""
        return 2 * self.past_dictionary_bytes > self.filter_bytes


@dataclass(frozen=True, slots=True)
class Subject:
    """A column to be judged, by its name. `engines`: who uses its filters; `seldom_asked`: see
    verdict.Evidence; `wanted`: the filter to get, as far as its type tells; `max_bytes`: its largest size."""

    name: str
    physical_type: str
    logical_type: str | None
    engines: tuple[EngineUse, ...]
    seldom_asked: str
    wanted: WantedFilter
    max_bytes: int

    def settings(
        self, format: Format, named: InCommands, usual: float, rate: float, counts: ColumnCounts
    ) -> tuple[WriterSettings, ...]:
        """For other writers, of a file or table that is named so, from what was counted; at a rate that may be lower
        than the `usual` one, for which sizes were counted."""
        wanted = replace(
            self.wanted,
            path=named.place,
            table=InTable(named.kind, named.appending) if isinstance(named, AsTable) else None,
            fpp=rate,
            ndv=counts.group_ndv,
            rows=counts.group_rows,
            num_bytes=counts.largest_filter * growth_of_size(usual, rate),
            dictionary_bytes=counts.dictionary_bytes,
            only_dictionary=bool(counts.only_dictionary),
        )
        return all_settings(format, wanted, self.max_bytes)

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """From what asdict made, by way of JSON."""
        wanted = document["wanted"]
        names = {each: tuple(wanted[each]) for each in ("column_path", "keys")}
        return cls(
            **{
                **document,
                "engines": tuple(EngineUse(**use) for use in document["engines"]),
                "wanted": WantedFilter(**{**wanted, **names}),
            }
        )


class ColumnSketch:
    """One column of one file, or of several."""

    def __init__(self, sample: Sample, num_columns: int = 1) -> None:
        """`num_columns`: of the table."""
        self.counts = ColumnCounts()
        # By their rates.
        self.rungs: dict[float, RungCounts] = {}
        self.sample = sample
        # None as long as that is the same, as all groups have such dictionaries, or as none has.
        self.searched: Sample | None = None
        self._distinct = DistinctHashes()
        self._groups = GroupSample(limit_for(groups.LIMIT, num_columns))
        # The NDV and its error where they are better known than by the hashes.
        self._known_ndv: tuple[int, float | None] | None = None

    def add(self, id: int, group: GroupSurvey) -> None:
        """Add what was found in a group of a file. Call it once for each, from one thread."""
        num_distinct, size = group.ndv, group.filter_bytes
        # In a stripe with values elsewhere, a group without any gets a filter all the same.
        self.counts.merge(ColumnCounts(num_values=group.num_values, filter_bytes=size))
        is_useful = group.has_filter and not group.has_unreadable
        for rung in group.rungs:
            fpp = in_units(rung.fpp) if num_distinct else 0
            beside = in_units(group.fpp_there) if num_distinct and is_useful else fpp
            missing_bytes = 0 if group.has_filter else rung.stored_bytes
            missing, size_there = int(missing_bytes > 0), group.dictionary_bytes
            is_past = size_there is not None and rung.num_bytes >= size_there
            past = rung.stored_bytes if is_past else 0
            size_at = rung.stored_bytes
            is_worse = group.has_filter and num_distinct > 0 and group.fpp_there > rung.fpp
            self._add_rung(
                RungCounts(
                    rung.rate, size_at, fpp, missing, missing_bytes, past, beside, int(is_worse)
                )
            )
        if num_distinct == 0:
            return
        only_dictionary = None if group.dictionary is None else group.dictionary > 0
        has_dictionary = bool(only_dictionary)
        has_unused = has_dictionary and group.in_dictionary is not None
        if has_unused or self._will_differ(1, int(has_dictionary)):
            self.searched = self._searched_so_far()
        self.counts.merge(
            ColumnCounts(
                groups=1,
                filters=int(size > 0),
                largest_filter=group.bitset_bytes,
                room=group.room if size > 0 else 0,
                group_ndv=num_distinct,
                only_dictionary=only_dictionary,
                with_dictionary=int(has_dictionary),
                with_unused=int(has_unused),
                in_alp=int(group.in_alp),
                too_small=int(group.has_too_small),
                fpp_there=in_units(group.fpp_there),
                with_filter=int(group.has_filter),
                unreadable=int(group.has_unreadable),
                ignored=int(group.is_ignored),
            )
        )
        # It is exact if one group has all values in a dictionary, however large.
        is_exact = only_dictionary or group.distinct.is_exact
        self._known_ndv = (num_distinct, None) if self.counts.groups == 1 and is_exact else None
        fpps = in_units(group.fpp), in_units(group.fpp_there)
        self._groups.add(SeenGroup(id, group.bounds, *fpps, has_dictionary))
        self._distinct.merge(group.distinct)
        # Of the same kind, as for `merge`.
        sample: Any = self.sample
        searched: Any = self.searched
        group.sample.finish(sample, group.fpp, group.fpp_there)
        if searched is not None:
            entries = group.in_dictionary if has_unused else None
            (entries or group.sample).finish_search(searched, has_dictionary)

    def _will_differ(self, groups: int, with_dictionary: int) -> bool:
        """Whether some groups have dictionaries with all values and others have not, with these."""
        so_far = self.counts
        return 0 < so_far.with_dictionary + with_dictionary < so_far.groups + groups

    def _searched_so_far(self) -> Sample:
        counts = self.counts
        return self.searched or self.sample.searched(counts.with_dictionary == counts.groups)

    def merge(self, other: ColumnSketch) -> None:
        """Add the column of other files."""
        # A value sample of the user is one of all files, so samples are of the same kind.
        its_searched: Any = None
        will_differ = self._will_differ(other.counts.groups, other.counts.with_dictionary)
        if will_differ or self.searched or other.searched:
            self.searched, its_searched = self._searched_so_far(), other._searched_so_far()
        self.counts.merge(other.counts)
        if other.counts.groups:
            is_sole = self.counts.groups == other.counts.groups
            self._known_ndv = other._known_ndv if is_sole else None
        for rung in other.rungs.values():
            self._add_rung(rung)
        self._groups.merge(other._groups)
        self._distinct.merge(other._distinct)
        sample: Any = self.sample
        searched: Any = self.searched
        sample.merge(other.sample)
        if searched is not None:
            searched.merge(its_searched)

    def _add_rung(self, rung: RungCounts) -> None:
        whole = self.rungs.setdefault(rung.rate, RungCounts(rung.rate))
        whole.filter_bytes += rung.filter_bytes
        whole.fpp += rung.fpp
        whole.missing += rung.missing
        whole.missing_bytes += rung.missing_bytes
        whole.past_dictionary_bytes += rung.past_dictionary_bytes
        whole.fpp_beside += rung.fpp_beside
        whole.worse_there += rung.worse_there

    def pack(self, limit: int) -> None:
        """Once a file is read: save memory, and keep no more than `limit` hashes."""
        self.counts.files = int(self.counts.groups > 0)
        self._known_ndv = self.ndv
        self._distinct.pack(limit)
        self.sample.pack()
        if self.searched is not None:
            self.searched.pack()

    @property
    def is_measured(self) -> bool:
        """Whether the user gave the values that are looked up."""
        return isinstance(self.sample, GivenSample)

    @property
    def ndv(self) -> tuple[int, float | None]:
        """The distinct non-null values of the whole column, and the relative standard error, None
        if the number is exact."""
        if self._known_ndv is not None:
            return self._known_ndv
        count = min(self._distinct.count, self.counts.num_values)
        return count, self._distinct.relative_error

    def expected_reads(self) -> ExpectedReads | None:
        """How many groups a look-up reads; None if there is nothing to look up."""
        # Of the same kind, as for `merge`.
        sample: Any = self.sample
        seen, values = self._groups, sample.look_ups()
        reads = self._reads(seen.fpps, values)
        if reads is None:
            return None
        if self.counts.with_filter:
            there = self._reads(seen.fpps_there, values.with_those_there())
            assert there is not None, "the same values"
            reads = replace(reads, with_those_there=there.with_filter)
        if self.searched is None:
            return reads
        others = [group.bounds for group in seen.groups if not group.has_dictionary]
        share = len(seen.bounds) / self.counts.groups
        in_vain = read_in_vain(others, values, sample.found_in(self.searched), share)
        # Where dictionaries have so many values that those counted are none of rows, they are taken to tell nothing.
        left = reads.by_statistics if in_vain is None else reads.holding + in_vain
        return replace(reads, in_dictionaries=min(reads.by_statistics, left))

    def _reads(self, fpps: Sequence[float], values: LookUps) -> ExpectedReads | None:
        return expected_reads(self._groups.bounds, fpps, values, self.counts.groups)

    # --------------------------------------------------------------------------------------------

    def packed(self) -> tuple[dict[str, Any], list[Array]]:
        """All of it, for `of`."""
        seen = self._groups.groups
        samples = [self.sample] if self.searched is None else [self.sample, self.searched]
        packed_samples = [_packed_sample(each) for each in samples]
        has_bounds = np.array([group.bounds is not None for group in seen], np.uint8)
        bounds = [group.bounds for group in seen if group.bounds]
        ends, end_parts = key_arrays(
            Keys.of([end for each in bounds for end in (each.low, each.high)])
        )
        document = {
            "counts": asdict(self.counts),
            "rungs": [asdict(self.rungs[rate]) for rate in sorted(self.rungs)],
            "ndv": self._known_ndv,
            "is_exact": self._distinct.is_exact,
            "limits": [self._distinct.limit, self._groups.limit],
            "samples": [description for description, _ in packed_samples],
            "ends": ends,
        }
        arrays = [
            self._distinct.kept,
            *(each for _, parts in packed_samples for each in parts),
            np.array([group.id for group in seen], np.uint64),
            np.array([group.fpp for group in seen], np.int64),
            np.array([group.fpp_there for group in seen], np.int64),
            np.array([group.has_dictionary for group in seen], np.uint8),
            *(has_bounds, *end_parts),
        ]
        return document, arrays

    @classmethod
    def of(cls, document: dict[str, Any], arrays: Iterator[Array]) -> Self:
        """The sketch again, from the next of the arrays."""
        hash_limit, group_limit = document["limits"]
        kept = next(arrays)
        sample, *searched = [_sample_of(each, arrays) for each in document["samples"]]
        of_each = ("ids", "fpps", "fpps_there", "has_dictionary", "has_bounds")
        of_groups = [next(arrays).tolist() for _ in of_each]
        low_high = iter(keys_of(document["ends"], arrays).tolist())
        seen = [
            SeenGroup(
                id,
                MinMax(next(low_high), next(low_high)) if is_bounded else None,
                fpp,
                fpp_there,
                bool(has_dictionary),
            )
            for id, fpp, fpp_there, has_dictionary, is_bounded in zip(*of_groups, strict=True)
        ]
        found = cls(sample)
        found.searched = next(iter(searched), None)
        found._distinct = DistinctHashes.of(kept, document["is_exact"], hash_limit)
        found._groups = GroupSample(group_limit, seen)
        found.counts = ColumnCounts(**document["counts"])
        for rung in document["rungs"]:
            found._add_rung(RungCounts(**rung))
        known = document["ndv"]
        found._known_ndv = None if known is None else (known[0], known[1])
        return found


def _packed_sample(sample: Sample) -> tuple[dict[str, Any], list[Array]]:
    """All of it, for _sample_of."""
    counted = sample.counted
    keys, key_parts = key_arrays(counted.keys)
    # Of a value sample, nothing is left out.
    stored = [sample.is_ordered, sample.limit] if isinstance(sample, StoredSample) else None
    description = {"stored": stored, "keys": keys}
    fpps = counted.held_fpp, counted.held_fpp_there
    return description, [counted.ids, counted.held, *fpps, *key_parts]


def _sample_of(description: dict[str, Any], arrays: Iterator[Array]) -> Sample:
    """The sample again, from the next of the arrays."""
    ids, held, *fpps = [next(arrays) for _ in range(4)]
    counted = CountedValues(ids, keys_of(description["keys"], arrays), held, *fpps)
    stored = description["stored"]
    return StoredSample.of(counted, *stored) if stored else GivenSample.of(counted)


@dataclass(slots=True)
class UnreadFiles:
    """The `files` in which a column cannot have filters, with so many `groups`: what their footers say of it, and
    the `reason` in the first of them in the order of paths."""

    files: int = 0
    path: str = ""
    reason: str = ""
    groups: int = 0
    counts: ColumnCounts = field(default_factory=ColumnCounts)

    def merge(self, other: UnreadFiles) -> None:
        """Add other files."""
        if other.files and (not self.files or other.path < self.path):
            self.path, self.reason = other.path, other.reason
        self.files += other.files
        self.groups += other.groups
        self.counts.merge(other.counts)


@dataclass(frozen=True, slots=True, order=True)
class Obstacle:
    """What `build` would refuse, and in which file, as the n-th of its obstacles."""

    path: str
    number: int
    text: str


@dataclass(slots=True)
class TableSketch:
    """Files with the same columns, at least one.

    `key`: what the files of a table have in common, and those of others do not; `path`: the first of
    them in order, to which `subjects` belong; `columns`: of the files in which each can have filters;
    `unread`: of the others; `elsewhere`: where there is a budget, by column, the bytes of the filters that files have
    beside those of the columns and parts to be judged; `largest`: what limits the size of a filter, a number and the
    same in words; `size` in bytes; `requests`: sent to object stores, None where nobody counts them.
    """

    key: str
    format: Format
    path: str
    subjects: tuple[Subject, ...]
    columns: list[ColumnSketch]
    unread: list[UnreadFiles]
    elsewhere: dict[str, int]
    largest: tuple[int, str]
    files: int
    num_rows: int
    num_groups: int
    size: int
    obstacles: tuple[Obstacle, ...]
    requests: Requests | None

    def merge(self, other: TableSketch) -> None:
        """Add other files of the same table. Raises ValueError for those of another one."""
        if self.key != other.key:
            raise ValueError(f"sketch: of table {other.key}, expected {self.key}")
        if other.path < self.path:
            self.path, self.subjects = other.path, other.subjects
        self.merge_at(range(len(self.columns)), other)

    def merge_at(self, places: Iterable[int], other: TableSketch) -> None:
        """Add other files, whose columns are those at these places."""
        for place, column, unread in zip(places, other.columns, other.unread, strict=True):
            self.columns[place].merge(column)
            self.unread[place].merge(unread)
        for name, num_bytes in other.elsewhere.items():
            self.elsewhere[name] = self.elsewhere.get(name, 0) + num_bytes
        self.largest = max(self.largest, other.largest)
        self.files += other.files
        self.num_rows += other.num_rows
        self.num_groups += other.num_groups
        self.size += other.size
        self.obstacles = _first_of_each((*self.obstacles, *other.obstacles))
        self.requests = in_all((self.requests, other.requests))

    def counts(self, place: int) -> ColumnCounts:
        """Of the files in which that column can have filters; of all, if it can in none."""
        return self.unread[place].counts if self.reason(place) else self.columns[place].counts

    def reason(self, place: int) -> str:
        """Why no file can have filters for that column, else empty."""
        unread = self.unread[place]
        return unread.reason if unread.files == self.files else ""

    def to_bytes(self) -> bytes:
        """The sketch for `from_bytes`; of equal sketches, the same bytes."""
        columns = [column.packed() for column in self.columns]
        document = {
            "key": self.key,
            "format": self.format,
            "path": self.path,
            "subjects": [asdict(subject) for subject in self.subjects],
            "columns": [of_column for of_column, _ in columns],
            "unread": [asdict(each) for each in self.unread],
            "elsewhere": sorted(self.elsewhere.items()),
            "largest": self.largest,
            "counts": [self.files, self.num_rows, self.num_groups, self.size],
            "obstacles": [asdict(obstacle) for obstacle in self.obstacles],
            "requests": self.requests and asdict(self.requests),
        }
        return packed(document, (array for _, arrays in columns for array in arrays))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Raises FormatError for what to_bytes did not make, or another version of this package."""
        document, arrays = unpacked(data)
        try:
            files, num_rows, num_groups, size = document["counts"]
            number, words = document["largest"]
            return cls(
                key=document["key"],
                format=document["format"],
                path=document["path"],
                subjects=tuple(map(Subject.of, document["subjects"])),
                columns=[ColumnSketch.of(each, arrays) for each in document["columns"]],
                unread=[
                    UnreadFiles(**{**each, "counts": ColumnCounts(**each["counts"])})
                    for each in document["unread"]
                ],
                elsewhere={name: int(num_bytes) for name, num_bytes in document["elsewhere"]},
                largest=(number, words),
                files=files,
                num_rows=num_rows,
                num_groups=num_groups,
                size=size,
                obstacles=tuple(Obstacle(**each) for each in document["obstacles"]),
                requests=document["requests"] and Requests(**document["requests"]),
            )
        except (LookupError, TypeError, ValueError, ArithmeticError, StopIteration) as error:
            raise FormatError(f"sketch: damaged: {error!r}") from None


def _first_of_each(obstacles: Sequence[Obstacle]) -> tuple[Obstacle, ...]:
    """Each text once, in the first file that has it; the first few of them."""
    first: dict[str, Obstacle] = {}
    for obstacle in sorted(obstacles):
        first.setdefault(obstacle.text, obstacle)
    return tuple(first.values())[:MOST_OBSTACLES]
