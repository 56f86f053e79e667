"""Ask the filters of a column about values, row group by row group.

An answer costs the filter's header and the one block that the hash selects. An encrypted filter is
read whole, to make sure that nobody has changed it, and so is a legacy one, to find out what it is.

A filter in any doubt is unusable: doubt never makes a value `absent`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from parquet_bloom.container import Answer, Explanation
from parquet_bloom.errors import MissingKeyError, ParquetBloomError, TamperedError
from parquet_bloom.filters.look_up import LookUp, in_block, unasked
from parquet_bloom.native import _kernel
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.legacy_kind import NOT_OF_DIALECT
from parquet_bloom.vocabulary import NO_FILTER, NO_KEY

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.legacy_kind import LegacyFilter
    from parquet_bloom.parquet.open_file import OpenFile
    from parquet_bloom.storage.source import Source
    from parquet_bloom.values.encode import Encodings
    from parquet_bloom.vocabulary import Dialect, Verdict

Gathered = TypeVar("Gathered")


@dataclass(frozen=True, slots=True)
class Asked:
    """A value to look up: its literal, "" if it came without one, and the bytes that may be stored
    for it."""

    text: str
    encodings: Encodings


class ChunkProber:
    """Asks the filter of one chunk, which is opened for the first value."""

    def __init__(
        self,
        file: OpenFile,
        chunk: ColumnChunk,
        first_row: int,
        dialect: Dialect | None,
        seed: int | None,
    ) -> None:
        self._num_rows = file.footer.row_group_num_rows(chunk.row_group)
        self._file = file
        self._chunk = chunk
        self._first_row = first_row
        self._dialect = dialect
        self._seed = seed

    def answers(self, asked: Asked) -> tuple[Answer]:
        """What the filter says about a value. Raises TamperedError."""
        plain = asked.encodings.plain
        found, reason = self._gathered(
            asked, lambda filter: any(filter.check(each) for each in plain)
        )
        return (self._answer(found, reason),)

    def explained(self, asked: Asked) -> tuple[tuple[Answer], tuple[Explanation, ...]]:
        """The answer, and a look-up of all bytes that may be stored. Raises TamperedError."""
        plain = asked.encodings.plain
        looks, reason = self._gathered(
            asked, lambda filter: [filter.look_up(each) for each in plain]
        )
        found = None if looks is None else any(not look.clear for look in looks)
        answer = self._answer(found, reason)
        if looks is None:
            looks = [self._unasked(each) for each in plain]
        is_listed = not asked.encodings.unknown
        pairs = zip(plain, looks, strict=True) if is_listed else [(b"", LookUp("", ()))]
        return (answer,), tuple(
            Explanation(answer.place, asked.text, plain=each.hex(), reason=reason, **asdict(look))
            for each, look in pairs
        )

    def _answer(self, found: bool | None, reason: str | None) -> Answer:
        verdict: Verdict = "unknown" if found is None else "maybe" if found else "absent"
        return Answer(self._chunk.place, verdict, reason, self._num_rows, self._first_row)

    def _gathered(
        self, asked: Asked, gather: Callable[[LegacyFilter | _StoredFilter], Gathered]
    ) -> tuple[Gathered | None, str | None]:
        """The result of `gather`; or None, and why nothing can be asked. Raises TamperedError."""
        if asked.encodings.unknown:
            return None, asked.encodings.unknown
        filter, reason = self._found
        if filter is None:
            return None, reason
        try:
            return gather(filter), None
        except TamperedError:
            raise
        except ParquetBloomError as error:
            return None, str(error)

    def _unasked(self, plain: bytes) -> LookUp:
        """What can be said about a look-up without the filter."""
        if self._dialect in (None, "xxhash"):
            return unasked(_kernel.xxh64(plain))
        return LookUp("", ())

    @cached_property
    def _found(self) -> tuple[LegacyFilter | _StoredFilter | None, str]:
        """The filter, or None and why there is none that can be used. Raises TamperedError."""
        try:
            return self._find()
        except MissingKeyError:
            return None, NO_KEY
        except TamperedError:
            raise
        except ParquetBloomError as error:
            return None, str(error)

    def _find(self) -> tuple[LegacyFilter | _StoredFilter | None, str]:
        match self._dialect:
            case None:
                return self._where_readers_look()
            case "xxhash":
                return self._current(), bloom.no_filter_reason(self._chunk)
            case legacy:
                kind = self._file.legacy
                if kind is None:
                    return None, NOT_OF_DIALECT
                found = kind.find(self._file, self._chunk, legacy, self._seed)
                return found, NOT_OF_DIALECT

    def _where_readers_look(self) -> tuple[LegacyFilter | _StoredFilter | None, str]:
        """The filter at bloom_filter_offset: of the current format, or a published legacy one."""
        kind = self._file.legacy
        try:
            found = self._current()
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

    def _current(self) -> _StoredFilter | None:
        source = self._file.source
        stored = bloom.read_usable_header(source, self._file.footer, self._chunk)
        return None if stored is None else _StoredFilter(source, stored)


class _StoredFilter:
    """A filter of the current format. Only the blocks that are asked for are read."""

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
