"""Ask the filters of a column about values, row group by row group.

An answer costs the filter's header and the one block that the hash selects; for many values, the
filter is read whole. An encrypted filter always is, to make sure that nobody has changed it, and so is
a legacy one, to find out what it is.

A filter in any doubt is unusable: doubt never makes a value `absent`. One in which no bit is set is, too, if there
may be values; where the block of a value is empty, so much of the filter is read that this is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from parquet_bloom.container import Answer, Explanation, GroupAnswers
from parquet_bloom.errors import (
    FilterError,
    FooterError,
    MissingKeyError,
    ParquetBloomError,
    TamperedError,
    without_place,
)
from parquet_bloom.filters.look_up import LookUp, in_block, unasked
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parallel import read_once
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.clear import FIRST_BYTES, NO_BIT_SET, are_clear, is_clear_from
from parquet_bloom.parquet.filters.legacy_kind import NOT_OF_DIALECT, private_or_reason
from parquet_bloom.values.encode import NAN, OF_BOOLEAN
from parquet_bloom.vocabulary import (
    NOT_HELD,
    NULLS_NOT_SHOWN,
    NULLS_OF_TYPE,
    NULLS_SHOWN,
    ONLY_NULLS,
    is_no_filter,
)

if TYPE_CHECKING:
    from parquet_bloom.container.column_filter import ColumnFilter
    from parquet_bloom.parquet.filters.asked import Asked
    from parquet_bloom.parquet.filters.legacy_kind import LegacyFilter
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.parquet.open_file import OpenFile
    from parquet_bloom.parquet.pages.runs import Run
    from parquet_bloom.storage.source import Source
    from parquet_bloom.values.encode import Encodings
    from parquet_bloom.vocabulary import Dialect, Verdict

# To read so much of a filter takes about as long as to read one block by itself.
BYTES_PER_VALUE: Final = 16 << 10

# Why NaN is `absent`, which has no bytes to look up.
NO_NAN: Final = "nan_count is 0"
NO_ROWS: Final = "the row group has no rows"

# What is said of a value that was looked up, whether it was not found or was.
_KNOWN: Final[tuple[tuple[Verdict, None], ...]] = (("absent", None), ("maybe", None))


class ChunkProber:
    """Asks the filter of one chunk, which is opened for the first value."""

    def __init__(
        self,
        file: OpenFile,
        chunk: ColumnChunk,
        dialect: Dialect | None,
        seed: int | None,
    ) -> None:
        self._file = file
        self._chunk = chunk
        self._dialect = dialect
        self._seed = seed

    def answers(self, asked: Asked) -> tuple[GroupAnswers]:
        """What the filter says about each value."""
        filter, reason = None, None
        if len(asked.unknown) < len(asked):
            filter, reason = self._found
        found, fpp, is_full = None, None, False
        try:
            if filter is not None:
                is_whole = self._is_read_whole(filter, asked)
                found = self._found_in(filter, asked, is_whole)
                fpp = filter.bits.fpp if is_whole else None
                is_full = fpp == 1 if is_whole else _seems_full(filter)
        except ParquetBloomError as error:
            reason = self._why(error)
        known = _KNOWN if found is not None else (self._doubted(reason),) * 2
        verdicts = [*known, *map(self._doubted, asked.doubts.reasons)]
        picks = asked.doubts.picks(found)
        if not asked.is_many:
            # A file can have a million groups, and most are asked for one value.
            used = sorted({*picks})
            verdicts = [verdicts[pick] for pick in used]
            picks = tuple([used.index(pick) for pick in picks])
        distinct = tuple([self._answer(*each) for each in verdicts])
        return (GroupAnswers(distinct, picks, fpp, is_full, found is not None),)

    def _is_read_whole(self, filter: LegacyFilter | _StoredFilter, asked: Asked) -> bool:
        """Whether that is quicker than to read blocks."""
        is_small = not isinstance(filter, _StoredFilter) or (
            filter.num_bytes <= BYTES_PER_VALUE * len(asked)
        )
        return asked.is_many and is_small

    def _found_in(
        self, filter: LegacyFilter | _StoredFilter, asked: Asked, is_whole: bool
    ) -> Sequence[bool] | NDArray[np.bool_]:
        """Whether each value may be in the filter; of no meaning for the unknown."""
        if is_whole:
            stored = asked.stored
            if isinstance(filter, _StoredFilter):
                return stored.found(filter.check_hashes(stored.hashes))
            return stored.found(filter.check_run(stored.run))
        return [any(map(filter.check, each.plain)) for each in asked.encodings]

    def explained(
        self, asked: Asked
    ) -> tuple[tuple[GroupAnswers], Sequence[tuple[Explanation, ...]]]:
        """The same, and a look-up of all bytes that may be stored for each value."""
        each = range(len(asked))
        pairs = [self._explained(asked.values[index], asked.encodings[index]) for index in each]
        answers = [answer for answer, _ in pairs]
        filter = self._found[0] if len(asked.unknown) < len(asked) else None
        told = GroupAnswers(answers, each, None, _seems_full(filter), filter is not None)
        return (told,), [why for _, why in pairs]

    def _explained(
        self, value: Any, encodings: Encodings
    ) -> tuple[Answer, tuple[Explanation, ...]]:
        looks, reason = self._looks(encodings)
        if looks is None:
            verdict, doubt = self._doubted(reason)
            why = doubt or (NO_ROWS if self._has_no_rows else NO_NAN)
            answer, reason = self._answer(verdict, doubt), why
            looks = [self._unasked(each) for each in encodings.plain]
        else:
            answer = self._answer("absent" if all(look.clear for look in looks) else "maybe")
        pairs = zip(encodings.plain, looks, strict=True)
        explanations = [(b"", LookUp("", ()))] if encodings.unknown else pairs
        return answer, tuple(
            Explanation(answer.place, value, plain=each.hex(), reason=reason, **asdict(look))
            for each, look in explanations
        )

    def _looks(self, encodings: Encodings) -> tuple[list[LookUp] | None, str | None]:
        """The look-up of each encoding; or None, and why nothing can be asked."""
        if encodings.unknown:
            return None, encodings.unknown
        filter, reason = self._found
        if filter is None:
            return None, reason
        try:
            return [filter.look_up(each) for each in encodings.plain], None
        except ParquetBloomError as error:
            return None, self._why(error)

    def _why(self, error: ParquetBloomError) -> str:
        """Answers have fields for the place."""
        return without_place(error, self._file.path, self._chunk.where)

    def _doubted(self, why: str | None) -> tuple[Verdict, str | None]:
        """What is said of a value that no filter tells anything about. NaN may be known not to be there, and no value
        is where there are no rows, or only nulls in them."""
        if self._file.footer.row_count_doubt:
            return "unknown", why
        if self._has_no_rows:
            return "absent", None
        if why in NOT_HELD:
            return "absent", why
        is_missing = why in (NAN, OF_BOOLEAN) or (why is not None and is_no_filter(why))
        if is_missing and self._has_only_nulls:
            return "absent", NULLS_OF_TYPE if self._chunk.may_have_values else NULLS_SHOWN
        if why == ONLY_NULLS:
            return "unknown", NULLS_NOT_SHOWN
        if why == NAN:
            with suppress(FooterError):
                if self._file.footer.lacks_nan(self._chunk.row_group, self._chunk.leaf):
                    return "absent", None
        return "unknown", why

    @property
    def _has_no_rows(self) -> bool:
        return bloom.has_no_rows(self._file.footer, self._chunk)

    @read_once
    def _has_only_nulls(self) -> bool:
        if not self._chunk.seems_null:
            return False
        from parquet_bloom.parquet.pages.chunk_values import is_known_to_be_null

        return is_known_to_be_null(self._file.source, self._file.footer, self._chunk)

    def _answer(self, verdict: Verdict, reason: str | None = None) -> Answer:
        at, groups = self._chunk.row_group, self._file.footer.row_groups
        return Answer(
            self._chunk.place, verdict, reason, groups.num_rows[at], groups.first_rows[at]
        )

    def column_filter(self) -> ColumnFilter:
        """The filter, read whole. Raises FilterError if there is none, and as the look-ups."""
        from parquet_bloom.container.column_filter import ColumnFilter
        from parquet_bloom.parquet.filters.asked import stored_of

        chunk = self._chunk
        filter, reason = self._find()
        if filter is None:
            raise FilterError(f"{self._file.path}: {chunk.where}: {reason}")
        dialect = "xxhash" if isinstance(filter, _StoredFilter) else filter.dialect
        check = filter.check_run

        def ask(values: Any) -> NDArray[np.bool_]:
            stored = stored_of(chunk.leaf.type, values)
            return stored.found(check(stored.run))

        return ColumnFilter(chunk.place, chunk.leaf.name, dialect, filter.bits, ask)

    def _unasked(self, plain: bytes) -> LookUp:
        """What can be said about a look-up without the filter."""
        if self._dialect in (None, "xxhash"):
            return unasked(_kernel.xxh64(plain))
        return LookUp("", ())

    @read_once
    def _found(self) -> tuple[LegacyFilter | _StoredFilter | None, str]:
        """The filter, or None and why there is none that can be used: one of an encrypted column that does not open
        is damaged, too, as its key has opened the rest of the chunk."""
        if doubt := self._file.footer.row_count_doubt:
            return None, doubt
        try:
            filter, reason = self._find()
        except MissingKeyError:
            return None, self._chunk.no_key
        except ParquetBloomError as error:
            return None, self._why(error)
        if filter is None or isinstance(filter, _StoredFilter) or filter.bits.bits_set:
            return filter, reason
        if not self._chunk.may_have_values:
            return filter, reason
        return None, NO_BIT_SET

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
        """The filter at bloom_filter_offset: of the current format, or a published legacy one. If there
        is none, a private one, about which `inspect` would tell, too."""
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
        if found is not None:
            return found, ""
        return private_or_reason(self._file, self._chunk, bloom.no_filter_reason(self._chunk))

    def _current(self) -> _StoredFilter | None:
        source, footer = self._file.source, self._file.footer
        stored = bloom.read_usable_header(source, footer, self._chunk)
        return None if stored is None else _StoredFilter(source, footer, stored)


_ALL_SET: Final = b"\xff" * BLOCK_BYTES


def _seems_full(filter: LegacyFilter | _StoredFilter | None) -> bool:
    return isinstance(filter, _StoredFilter) and filter.seems_full is True


class _StoredFilter:
    """A filter of the current format. Only the blocks that are asked for are read; and more, if they are empty.
    Look-ups raise FilterError if no bit is set although there may be values."""

    def __init__(self, source: Source, footer: Footer, stored: bloom.StoredFilter) -> None:
        self._footer, self._stored = footer, stored
        self._read = bloom.bits(source, stored)
        self.num_bytes = stored.num_bytes
        # Whether each block that was looked at had all bits set, None before the first. Of a filter that is half
        # full, one block in 2^256 has.
        self.seems_full: bool | None = None

    @read_once
    def bits(self) -> SplitBlockBloomFilter:
        """The whole filter."""
        return SplitBlockBloomFilter.from_bytes(self._read(0, self.num_bytes))

    @read_once
    def _seems_lost(self) -> bool:
        """Whether no bit is set, although there may be values."""
        first = min(FIRST_BYTES, self.num_bytes)
        if not self._stored.chunk.may_have_values or not are_clear(self._read(0, first)):
            return False
        # A bound is a value, mostly; then its block tells, and the rest need not be read.
        blocks = (self._read_block(_kernel.xxh64(plain)) for plain in self._bounds())
        if not all(are_clear(block.bitset) for _, block in blocks):
            return False
        return is_clear_from(self._read, first, self.num_bytes)

    def _bounds(self) -> Sequence[bytes]:
        chunk = self._stored.chunk
        with suppress(FooterError):
            found = self._footer.stored_bounds(chunk.row_group, chunk.leaf, takes_deprecated=True)
            return found or ()
        return ()

    def check_run(self, run: Run) -> NDArray[np.bool_]:
        return run.found_in(self.bits)

    def check_hashes(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        found = self.bits.check_hashes(hashes)
        if not found.any():
            self._check_not_lost()
        return found

    def check(self, plain: bytes) -> bool:
        _, block = self._block(_kernel.xxh64(plain))
        return block.check_value(plain)

    def look_up(self, plain: bytes) -> LookUp:
        hash = _kernel.xxh64(plain)
        index, block = self._block(hash)
        return in_block(hash, index, block, self._stored.num_blocks)

    def _read_block(self, hash: int) -> tuple[int, SplitBlockBloomFilter]:
        return bloom.read_block(self._read, self._stored, hash)

    def _block(self, hash: int) -> tuple[int, SplitBlockBloomFilter]:
        index, block = self._read_block(hash)
        if are_clear(block.bitset):
            self._check_not_lost()
        self.seems_full = self.seems_full is not False and block.bitset == _ALL_SET
        return index, block

    def _check_not_lost(self) -> None:
        if self._seems_lost:
            raise FilterError(f"{self._stored.where}: {NO_BIT_SET}")
