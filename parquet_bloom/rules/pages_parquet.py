"""PB124 to PB127, PB130: what the pages of a column chunk hold, against what footer, page index and headers say.

Every page is decoded, and one is in memory at a time. Statistics may be wider than the values, unless they say that
they are exact, but not narrower.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.diagnosis.diagnosis import CHECKSUM_IGNORED, NOTHING_TELLS
from parquet_bloom.errors import FormatError, TamperedError, UnsupportedError, without_place
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.value_order import KeyOf, key_of, number_kind
from parquet_bloom.parquet.pages.page_places import index_range
from parquet_bloom.parquet.pages.page_reader import DATA_PAGES
from parquet_bloom.parquet.pages.pages import DecodedPage, PageValues, decoded_pages
from parquet_bloom.parquet.pages.runs import FixedRun
from parquet_bloom.parquet.sealed.modules import PLAIN
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import Encoding, PageType
from parquet_bloom.rules.finding import Finding, chunk_finding
from parquet_bloom.values.literals import as_examples, format_literal

if TYPE_CHECKING:
    from parquet_bloom.parquet.file import ParquetContainer
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.values.types import LeafType


# Of a value and of a bound, so many are compared. Nobody writes bounds as long, and a value may fill a page.
_MOST_BYTES: Final = 1 << 16


# Whose deprecated bounds are in the order of the values, if that is signed.
_HAD_BOUNDS: Final = ("INT32", "INT64", "FLOAT", "DOUBLE")

# So many bytes more are read by readers that know of writers that left out the header of the dictionary page.
# Source: parquet-cpp PARQUET-816.
_ROOM_FOR_HEADERS: Final = 100


class _Bound(NamedTuple):
    """A value, and its place in the order of the column."""

    key: Any
    stored: bytes


class _Told(NamedTuple):
    """A bound as statistics have it; `name`: `min` or `max`, as the field is called that it was in before."""

    name: str
    stored: bytes | None
    is_exact: bool | None
    deprecated: bytes | None


@dataclass(slots=True)
class _Held:
    """What pages hold: values with nulls, without them, rows,
    and the least and the greatest value that has a place in the order."""

    num_values: int = 0
    num_stored: int = 0
    num_rows: int = 0
    least: _Bound | None = None
    greatest: _Bound | None = None

    def add(self, other: _Held) -> None:
        self.num_values += other.num_values
        self.num_stored += other.num_stored
        self.num_rows += other.num_rows
        self.reach(other.least, other.greatest)

    def reach(self, least: _Bound | None, greatest: _Bound | None) -> None:
        if least is not None and (self.least is None or least.key < self.least.key):
            self.least = least
        if greatest is not None and (self.greatest is None or greatest.key > self.greatest.key):
            self.greatest = greatest

    @property
    def num_nulls(self) -> int:
        return self.num_values - self.num_stored


@dataclass(slots=True)
class _Claims:
    """What is wrong, by rule and message: the first example, and in which pages."""

    chunk: ColumnChunk
    found: dict[tuple[str, str], tuple[object, object, tuple[str, ...]]] = field(
        default_factory=dict
    )
    pages: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def compare(
        self, rule: str, what: str, said: object, held: object, page: int | None = None
    ) -> None:
        """What is not said is not wrong."""
        if said is not None and said != held:
            self.add(rule, what, said, held, page)

    def add(
        self,
        rule: str,
        what: str,
        said: object = None,
        held: object = None,
        page: int | None = None,
        examples: tuple[str, ...] = (),
    ) -> None:
        self.found.setdefault((rule, what), (held, said, examples))
        if page is not None:
            self.pages.setdefault((rule, what), []).append(page)

    def findings(self) -> Iterator[Finding]:
        for (rule, what), (expected, found, examples) in self.found.items():
            pages = self.pages.get((rule, what), [])
            where = f" of page {pages[0]}" if pages else ""
            if len(pages) > 1:
                where += f", and of {number_of(len(pages) - 1, 'other page')}"
            yield chunk_finding(
                rule,
                self.chunk,
                f"{what}{where}",
                expected=expected,
                found=found,
                examples=examples,
            )


_BY_CHECKSUMS = "the checksums of its pages are right, so the filter is what is wrong"
_BY_TAGS = "its pages decrypt as they were encrypted, so the filter is what is wrong"
_BY_WHAT_IS_SAID = f"its pages agree with headers, footer and page index, so {NOTHING_TELLS}"


class CheckedPages(NamedTuple):
    """What is wrong with the pages of a chunk, of which so many were decoded; `num_unsummed`: those of them in
    which nothing would tell other bytes that fit, neither a checksum nor a tag of encryption. `unread`: why not all
    were decoded, if so; `have_checksums`: whether all of them have one; `are_ignored`: whether one was wrong."""

    findings: list[Finding]
    num_pages: int
    num_unsummed: int
    unread: FormatError | TamperedError | UnsupportedError | None
    have_checksums: bool
    are_ignored: bool

    @property
    def proof(self) -> str | None:
        """What they prove of a filter that lacks values in them; None if they may be what is wrong."""
        if self.findings or self.unread is not None:
            return None
        if self.are_ignored:
            return CHECKSUM_IGNORED
        if self.have_checksums:
            return _BY_CHECKSUMS
        return _BY_WHAT_IS_SAID if self.num_unsummed else _BY_TAGS

    @property
    def doubt(self) -> str:
        """What they leave open of such a filter; empty if nothing."""
        return self.proof or "" if self.proof in (CHECKSUM_IGNORED, _BY_WHAT_IS_SAID) else ""

    @property
    def is_all(self) -> bool:
        """Whether the checksums and tags say all that there is to say, and a look at what pages hold nothing more."""
        return self.proof not in (None, _BY_WHAT_IS_SAID)


def check_pages(file: ParquetContainer, chunk: ColumnChunk) -> CheckedPages:
    """Decode every page of a chunk. Raises OSError."""
    check, unread = _ChunkCheck(file, chunk), None
    try:
        check.read()
    except (FormatError, TamperedError, UnsupportedError) as error:
        unread = error
    num_unsummed = 0 if check.have_tags else check.num_pages - check.num_checksums
    return CheckedPages(
        [*check.claims.findings()],
        check.num_pages,
        num_unsummed,
        unread,
        have_checksums=check.num_checksums == check.num_pages,
        are_ignored=file.footer.checksums.were_ignored(chunk.key),
    )


def unread_finding(
    file: ParquetContainer,
    chunk: ColumnChunk,
    error: FormatError | TamperedError | UnsupportedError,
) -> Finding:
    """Why pages could not be read."""
    reason = without_place(error, file.path, chunk.where)
    if isinstance(error, UnsupportedError):
        return chunk_finding("PB408", chunk, f"the pages were not decoded: {reason}")
    return chunk_finding("PB116", chunk, reason)


class _ChunkCheck:
    """The check of one chunk."""

    def __init__(self, file: ParquetContainer, chunk: ColumnChunk) -> None:
        self._file, self._chunk = file, chunk
        self.claims = _Claims(chunk)
        self.num_pages = 0
        self._num_checksums = 0
        self._held = _Held()
        self._sizes = [0, 0]
        self._uses: Counter[tuple[int, int]] = Counter()
        self._starts: dict[int, int] = {}
        is_known = file.footer.is_ordered(chunk.leaf) is not False
        self._key = key_of(chunk.leaf.type) if is_known else None
        # That of the deprecated bounds is always signed.
        kind = number_kind(chunk.leaf.type) or ""
        self._has_one_order = kind[1:2] in ("i", "f") and chunk.leaf.physical_type in _HAD_BOUNDS
        # Writers do not agree on what is a null below a list.
        self._has_nulls = chunk.leaf.max_repetition_level == 0

    @property
    def have_tags(self) -> bool:
        """Whether encryption tells pages that were altered."""
        has_untagged = self._file.footer.protection.has_untagged_pages
        return self._chunk.has_crypto_metadata and not has_untagged

    @property
    def num_checksums(self) -> int:
        """The pages that have one."""
        are_computed = self._file.footer.checksums.are_computed(self._chunk.key)
        return self._num_checksums if are_computed else 0

    def read(self) -> None:
        file, chunk, footer = self._file, self._chunk, self._file.footer
        meta_data = footer.column_meta_data(chunk)
        places = self._index("offset_index", ttypes.OffsetIndex)
        bounds = self._index("column_index", ttypes.ColumnIndex)
        locations = None if places is None else places.page_locations or []
        # Impala lists pages that it did not write.
        listed = [at for at, each in enumerate(locations or ()) if each.compressed_page_size]
        ordinal = 0
        for page in decoded_pages(file.source, footer, chunk):
            self.num_pages += 1
            self._num_checksums += page.header.crc is not None
            self._count(page)
            if page.header.type not in DATA_PAGES:
                continue
            held = self._held_by(page)
            self._check_header(page, held, ordinal)
            number = ordinal if locations is None else _at(listed, ordinal)
            if locations is not None and number is not None:
                self._check_place(page, locations[number], ordinal)
            if bounds is not None and number is not None:
                self._check_bounds(bounds, number, held, ordinal)
            self._held.add(held)
            ordinal += 1
        compare = self.claims.compare
        if locations is not None:
            compare("PB126", "number of pages in the OffsetIndex", len(listed), ordinal)
        if bounds is not None and bounds.null_pages is not None:
            num_listed = ordinal if locations is None else len(locations)
            num_bounds = len(bounds.null_pages)
            compare("PB126", "number of pages in the ColumnIndex", num_bounds, num_listed)
        self._check_chunk(meta_data)

    def _index(self, kind: str, struct: type) -> Any:
        """The page index of a kind; None if there is none that can be read."""
        start, end = index_range(self._file, self._chunk, kind)
        if start == end:
            return None
        name = kind.title().replace("_", "")
        try:
            return compact.decode(struct, self._file.source.read_at(start, end - start))[0]
        except (FormatError, _kernel.ScanError):
            self.claims.add("PB126", f"the bytes at {start} are no {name}")
            return None

    # --------------------------------------------------------------------------------------------
    # A page

    def _count(self, page: DecodedPage) -> None:
        header = page.header
        self._sizes[0] += page.size
        self._sizes[1] += page.size - header.compressed_page_size + header.uncompressed_page_size
        use = _use(header.type, _details(header).encoding)
        self._uses[use] += 1
        self._starts.setdefault(use[0], page.start)

    def _held_by(self, page: DecodedPage) -> _Held:
        held = _Held(page.num_values, page.num_stored, page.num_rows)
        leaf = self._chunk.leaf.type
        # Booleans are packed in another way than all else, and nobody skips pages by them.
        for part in page.parts if leaf.physical != "BOOLEAN" else ():
            if self._key is not None:
                held.reach(*_reach(part, leaf, self._key))
        return held

    def _check_header(self, page: DecodedPage, held: _Held, ordinal: int) -> None:
        details, compare = _details(page.header), self.claims.compare
        if page.header.type == PageType.DATA_PAGE_V2:
            compare("PB124", "num_rows in the header", details.num_rows, held.num_rows, ordinal)
            if self._has_nulls:
                compare(
                    "PB124", "num_nulls in the header", details.num_nulls, held.num_nulls, ordinal
                )
        self._check_statistics("in the header", details.statistics, held, ordinal)

    def _check_place(self, page: DecodedPage, said: Any, ordinal: int) -> None:
        compare = self.claims.compare
        compare("PB126", "offset in the OffsetIndex", said.offset, page.start, ordinal)
        compare(
            "PB126",
            "compressed_page_size in the OffsetIndex",
            said.compressed_page_size,
            page.size,
            ordinal,
        )
        compare(
            "PB126",
            "first_row_index in the OffsetIndex",
            said.first_row_index,
            self._held.num_rows,
            ordinal,
        )

    def _check_bounds(self, bounds: Any, number: int, held: _Held, ordinal: int) -> None:
        is_null = _at(bounds.null_pages, number)
        self.claims.compare(
            "PB125", "null_pages in the ColumnIndex", is_null, held.num_stored == 0, ordinal
        )
        told = ttypes.Statistics(null_count=_at(bounds.null_counts, number))
        if is_null is False:
            told.min_value = _at(bounds.min_values, number)
            told.max_value = _at(bounds.max_values, number)
        self._check_statistics("in the ColumnIndex", told, held, ordinal)

    # --------------------------------------------------------------------------------------------
    # The chunk

    def _check_chunk(self, meta_data: Any) -> None:
        chunk, held, compare = self._chunk, self._held, self.claims.compare
        num_rows = self._file.footer.row_group_num_rows(chunk.row_group)
        compare("PB124", "num_rows of the row group", num_rows, held.num_rows)
        self._check_statistics("of the column chunk", meta_data.statistics, held, None)
        if not held.num_values:
            # Some writers count a dictionary that nobody reads, and others do not.
            return
        if chunk.modules is PLAIN:
            self._check_sizes(meta_data)
        if chunk.dictionary_page_offset:
            first = self._starts.get(PageType.DATA_PAGE)
            if first is not None:
                compare("PB127", "data_page_offset", meta_data.data_page_offset, first)
        self._check_encodings(meta_data)

    def _check_sizes(self, meta_data: ttypes.ColumnMetaData) -> None:
        size, uncompressed = self._sizes
        said = meta_data.total_compressed_size
        lacking = 0 if said is None else size - said
        room = _ROOM_FOR_HEADERS if self._file.footer.leaves_out_headers else 0
        rule = "PB130" if lacking > room else "PB127"
        self.claims.compare(rule, "total_compressed_size", said, size)
        said = meta_data.total_uncompressed_size
        self.claims.compare("PB127", "total_uncompressed_size", said, uncompressed)

    def _check_encodings(self, meta_data: ttypes.ColumnMetaData) -> None:
        # Not all writers list that of the dictionary.
        used = {encoding for kind, encoding in self._uses if kind == PageType.DATA_PAGE}
        said = {*(meta_data.encodings or ())}
        if Encoding.PLAIN_DICTIONARY in said:
            said.add(Encoding.RLE_DICTIONARY)
        if said and not used <= said:
            self.claims.add("PB127", "encodings", _named(said), _named(used))
        if meta_data.encoding_stats is not None:
            counts: Counter[tuple[int, int]] = Counter()
            for each in meta_data.encoding_stats:
                if None not in (each.page_type, each.encoding):
                    counts[_use(each.page_type, each.encoding)] += each.count or 0
            if +counts != self._uses:
                self.claims.add("PB127", "encoding_stats", _counted(+counts), _counted(self._uses))

    def _check_statistics(self, where: str, told: Any, held: _Held, ordinal: int | None) -> None:
        """Of a page or of the chunk, whose values are `held`."""
        if told is None:
            return
        if self._has_nulls and (told.null_count or 0) >= 0:
            self.claims.compare(
                "PB125", f"null_count {where}", told.null_count, held.num_nulls, ordinal
            )
        least = _Told("min", told.min_value, told.is_min_value_exact, told.min)
        self._check_bound(least, where, held.least, ordinal, _is_above)
        greatest = _Told("max", told.max_value, told.is_max_value_exact, told.max)
        self._check_bound(greatest, where, held.greatest, ordinal, _is_below)

    def _check_bound(
        self,
        told: _Told,
        where: str,
        held: _Bound | None,
        ordinal: int | None,
        excludes: Callable[[Any, Any], bool],
    ) -> None:
        key = self._key_of(told.stored)
        if key is None:
            return
        what = f"{told.name}_value {where}"
        if held is not None and excludes(key, held.key):
            self.claims.add(
                "PB125", f"{what} excludes a value", page=ordinal, examples=self._shown(held.stored)
            )
        elif held is not None and told.is_exact and key != held.key and _is_whole(told, held):
            self.claims.add(
                "PB125",
                f"{what} is no value, though is_{told.name}_value_exact",
                page=ordinal,
                examples=self._shown(held.stored),
            )
        elif self._has_one_order and self._key_of(told.deprecated) not in (None, key):
            self.claims.add("PB125", f"{what} is not its {told.name}", page=ordinal)

    def _key_of(self, stored: bytes | None) -> Any:
        """The place of a bound; None if it has none."""
        if self._key is None or not isinstance(stored, bytes):
            return None
        return self._key(stored[:_MOST_BYTES])

    def _shown(self, stored: bytes) -> tuple[str, ...]:
        """None of an encrypted column: they would end up in logs."""
        if self._chunk.has_crypto_metadata:
            return ()
        return as_examples([format_literal(self._chunk.leaf.type, stored)])


def _details(header: ttypes.PageHeader) -> Any:
    """The struct that belongs to the type of a page."""
    if header.type == PageType.DICTIONARY_PAGE:
        return header.dictionary_page_header
    is_v2 = header.type == PageType.DATA_PAGE_V2
    return header.data_page_header_v2 if is_v2 else header.data_page_header


def _at(values: Sequence[Any] | None, ordinal: int) -> Any:
    return values[ordinal] if values is not None and ordinal < len(values) else None


def _is_whole(told: _Told, held: _Bound) -> bool:
    """Whether no more of a bound or of the value than was compared is there."""
    return max(len(told.stored or b""), len(held.stored)) < _MOST_BYTES


def _is_above(bound: Any, value: Any) -> bool:
    return bool(bound > value)


def _is_below(bound: Any, value: Any) -> bool:
    return bool(bound < value)


# ------------------------------------------------------------------------------------------------
# Encodings


def _use(kind: int, encoding: int) -> tuple[int, int]:
    """A page and its encoding, without what differs between versions of writers: what they call dictionaries, and
    whether they tell data pages of both versions apart."""
    is_dictionary = kind == PageType.DICTIONARY_PAGE
    if encoding == Encoding.PLAIN_DICTIONARY:
        encoding = Encoding.PLAIN if is_dictionary else Encoding.RLE_DICTIONARY
    return PageType.DICTIONARY_PAGE if is_dictionary else PageType.DATA_PAGE, encoding


def _named(encodings: Iterable[int]) -> str:
    names = Encoding._VALUES_TO_NAMES
    return ", ".join(names.get(each, str(each)) for each in sorted(encodings))


def _counted(uses: Counter[tuple[int, int]]) -> str:
    kinds = PageType._VALUES_TO_NAMES
    found = (
        f"{count} {kinds.get(kind, kind)} {_named([encoding])}"
        for (kind, encoding), count in sorted(uses.items())
    )
    return ", ".join(found)


# ------------------------------------------------------------------------------------------------
# Values


def _reach(part: PageValues, leaf: LeafType, key: KeyOf) -> tuple[_Bound | None, _Bound | None]:
    """The least and the greatest value of a part of a page; None if none has a place in the order."""
    if (kind := number_kind(leaf)) and isinstance(part.run, FixedRun):
        return _reach_of_numbers(part, part.run.numbers(kind))
    least = greatest = None
    for stored in _values(part):
        place = key(stored)
        if place is None:
            continue
        if least is None or place < least.key:
            least = _Bound(place, stored)
        if greatest is None or place > greatest.key:
            greatest = _Bound(place, stored)
    return least, greatest


def _values(part: PageValues) -> Iterator[bytes]:
    """Each value, or each entry of the dictionary that there is, once; of long ones, the beginning."""
    is_used = None if part.used is None else np.frombuffer(part.used, np.bool_)
    at = 0
    # Few at a time: where they are takes as much room as short values do.
    for some in part.run.parts():
        count = len(some)
        wanted = range(count) if is_used is None else np.flatnonzero(is_used[at : at + count]).data
        yield from some.take(wanted, _MOST_BYTES)
        at += count


def _reach_of_numbers(
    part: PageValues, numbers: NDArray[Any]
) -> tuple[_Bound | None, _Bound | None]:
    if part.used is not None:
        numbers = numbers[np.frombuffer(part.used, np.bool_)]
    if numbers.dtype.kind == "f":
        numbers = numbers[~np.isnan(numbers)]
    if not numbers.size:
        return None, None
    least, greatest = numbers.min(), numbers.max()
    return _Bound(least.item(), least.tobytes()), _Bound(greatest.item(), greatest.tobytes())
