"""Ask the filters of a column about values, row group by row group, of whichever kind they are.

An answer costs a filter's header and the one block that the hash selects; an encrypted filter has to
be read whole to know that none of it has been changed, a legacy one to know what it is.

Whatever is dubious about a filter makes it unusable, never a reason for `absent`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar

from parquet_bloom.container import Answer, Explanation
from parquet_bloom.errors import MissingKeyError, ParquetBloomError, TamperedError
from parquet_bloom.filters.look_up import LookUp, in_block, unasked
from parquet_bloom.native import _kernel
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.legacy_kind import NOT_OF_DIALECT
from parquet_bloom.vocabulary import NO_FILTER, NO_KEY

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.parquet.legacy_kind import LegacyKind
    from parquet_bloom.storage.source import Source
    from parquet_bloom.values.encode import Encodings
    from parquet_bloom.vocabulary import Dialect, Verdict

Gathered = TypeVar("Gathered")


@dataclass(frozen=True, slots=True)
class Asked:
    """A value to look up: `text`, as it was written, if it was, and the bytes that it may be stored
    as."""

    text: str
    encodings: Encodings


class OpenFile(Protocol):
    """What a ParquetFile is to this module, which it imports."""

    @property
    def source(self) -> Source: ...
    @property
    def footer(self) -> Footer: ...
    @property
    def legacy(self) -> LegacyKind | None: ...


class AskedFilter(Protocol):
    """A filter of any kind."""

    def check(self, plain: bytes) -> bool:
        """False if the value with these stored bytes was certainly never inserted."""

    def look_up(self, plain: bytes) -> LookUp:
        """The same, bit by bit."""


def probers(
    file: OpenFile, leaf: LeafColumn, dialect: Dialect | None, seed: int | None
) -> Iterator[ChunkProber]:
    """For each row group. Raises FooterError if row groups are missing from the footer."""
    file.footer.check_row_counts()
    first_row = 0
    for row_group in range(file.footer.num_row_groups):
        chunk = file.footer.chunk(row_group, leaf)
        num_rows = file.footer.row_group_num_rows(row_group)
        yield ChunkProber(chunk, num_rows, first_row, _Finder(file, chunk, dialect, seed))
        first_row += num_rows


class ChunkProber:
    """Asks the filter of one chunk, which is opened for the first value."""

    def __init__(self, chunk: ColumnChunk, num_rows: int, first_row: int, finder: _Finder) -> None:
        self._place = chunk.place
        self._num_rows = num_rows
        self._first_row = first_row
        self._finder = finder

    def answers(self, asked: Asked) -> tuple[Answer]:
        """What the filter says of a value. Raises TamperedError."""
        plain = asked.encodings.plain
        found, reason = self._gathered(
            asked, lambda filter: any(filter.check(each) for each in plain)
        )
        return (self._answer(found, reason),)

    def explained(self, asked: Asked) -> tuple[tuple[Answer], tuple[Explanation, ...]]:
        """The same, and how each of the bytes that the value may be stored as meets the filter."""
        plain = asked.encodings.plain
        looks, reason = self._gathered(
            asked, lambda filter: [filter.look_up(each) for each in plain]
        )
        found = None if looks is None else any(not look.clear for look in looks)
        answer = self._answer(found, reason)
        if looks is None:
            looks = [self._finder.unasked(each) for each in plain]
        is_listed = not asked.encodings.unknown
        pairs = zip(plain, looks, strict=True) if is_listed else [(b"", LookUp("", ()))]
        return (answer,), tuple(
            Explanation(answer.place, asked.text, plain=each.hex(), reason=reason, **asdict(look))
            for each, look in pairs
        )

    def _answer(self, found: bool | None, reason: str | None) -> Answer:
        verdict: Verdict = "unknown" if found is None else "maybe" if found else "absent"
        return Answer(self._place, verdict, reason, self._num_rows, self._first_row)

    def _gathered(
        self, asked: Asked, gather: Callable[[AskedFilter], Gathered]
    ) -> tuple[Gathered | None, str | None]:
        """What the filter gives; None, and why, if it cannot be asked. Raises TamperedError."""
        if asked.encodings.unknown:
            return None, asked.encodings.unknown
        filter, reason = self._finder.found
        if filter is None:
            return None, reason
        try:
            return gather(filter), None
        except TamperedError:
            raise
        except ParquetBloomError as error:
            return None, str(error)


class _Finder:
    """Finds the filter of a chunk that is asked for."""

    def __init__(
        self, file: OpenFile, chunk: ColumnChunk, dialect: Dialect | None, seed: int | None
    ) -> None:
        self._file = file
        self._chunk = chunk
        self._dialect = dialect
        self._seed = seed

    @cached_property
    def found(self) -> tuple[AskedFilter | None, str]:
        """The filter; None, and why there is none that can be used. Raises TamperedError."""
        try:
            return self._find()
        except MissingKeyError:
            return None, NO_KEY
        except TamperedError:
            raise
        except ParquetBloomError as error:
            return None, str(error)

    def unasked(self, plain: bytes) -> LookUp:
        """What is known of a look-up without the filter."""
        if self._dialect in (None, "xxhash"):
            return unasked(_kernel.xxh64(plain))
        return LookUp("", ())

    def _find(self) -> tuple[AskedFilter | None, str]:
        match self._dialect:
            case None:
                return self._where_readers_look()
            case "xxhash":
                return self._of_today(), bloom.no_filter_reason(self._chunk)
            case legacy:
                kind = self._file.legacy
                if kind is None:
                    return None, NOT_OF_DIALECT
                found = kind.find(self._file, self._chunk, legacy, self._seed)
                return found, NOT_OF_DIALECT

    def _where_readers_look(self) -> tuple[AskedFilter | None, str]:
        """What bloom_filter_offset leads to: a filter of today, or a legacy one that is published."""
        kind = self._file.legacy
        try:
            found = self._of_today()
        except (MissingKeyError, TamperedError):
            raise
        except ParquetBloomError:
            published = None if kind is None else kind.published(self._file, self._chunk)
            if published is None:
                raise
            return published, ""
        reason = bloom.no_filter_reason(self._chunk)
        if found is None and kind is not None and reason == NO_FILTER:
            reason = kind.reason_for_none(self._file, self._chunk)
        return found, reason

    def _of_today(self) -> _StoredFilter | None:
        source = self._file.source
        stored = bloom.read_usable_header(source, self._file.footer, self._chunk)
        return None if stored is None else _StoredFilter(source, stored)


class _StoredFilter:
    """A filter of the format's own kind, of which only blocks are read that are asked for."""

    def __init__(self, source: Source, stored: bloom.StoredFilter) -> None:
        self._stored = stored
        self._read = bloom.bits(source, stored)

    def check(self, plain: bytes) -> bool:
        _, block = bloom.read_block(self._read, self._stored, _kernel.xxh64(plain))
        return block.check_value(plain)

    def look_up(self, plain: bytes) -> LookUp:
        hash = _kernel.xxh64(plain)
        index, block = bloom.read_block(self._read, self._stored, hash)
        return in_block(hash, index, block, self._stored.num_blocks)
