"""Which filters inside Statistics to write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from parquet_bloom.arguments import mapping_given, number_if_given, rate_given
from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import engine_note
from parquet_bloom.legacy.presence import FIELD_IDS, PRIVATE_FIELD
from parquet_bloom.legacy.statistics.strategies import STRATEGIES
from parquet_bloom.vocabulary import BitsetEncoding, StrategyName, check_word

DEFAULT_FPP: Final = 0.05

# Arrow C++ opens no file with a longer list in its footer, even though it ignores the list.
MAX_WORDS: Final = 1_000_000

# What the historic fields are now.
NAMES_TODAY: Final = {5: "max_value", 7: "is_max_value_exact"}


@dataclass(frozen=True, slots=True)
class Expected:
    """What a StatisticsFilter is sized for. entries: the expected number of distinct values in a chunk,
    None to count them. fpp: the target false positive rate, 0 to 1, exclusive."""

    entries: int | None = None
    fpp: float = DEFAULT_FPP


@dataclass(frozen=True, slots=True)
class StatisticsFilter:
    """Filters inside the Statistics of column chunks, the dialect of parquet-format pull request 28.

    strategy: how values are hashed, see legacy.statistics.strategies. expected_entries: size for
    this many distinct values per chunk; None counts them. fpp: the target false positive rate, 0 to
    1, exclusive. encoding: `list` of longs, `binary` with little-endian ones, or `java`, a long[] as
    Java serializes it. field_id: in Statistics; 31420 is ours, and all readers ignore it; with the
    historic 5 and 7, some do not open the file. of_columns: another Expected for single
    columns, by their dotted paths.

    Raises ValueError for anything else.
    """

    strategy: StrategyName = "hive"
    expected_entries: int | None = None
    fpp: float = DEFAULT_FPP
    encoding: BitsetEncoding = "list"
    field_id: int = PRIVATE_FIELD
    of_columns: Mapping[str, Expected] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_word("strategy", self.strategy, StrategyName)
        check_word("encoding", self.encoding, BitsetEncoding)
        if self.field_id not in FIELD_IDS:
            expected_ids = ", ".join(map(str, FIELD_IDS))
            raise ValueError(f"field_id: {self.field_id}, expected {expected_ids}")
        of_columns = mapping_given("of_columns", self.of_columns, "a pb.Expected")
        for expected in (Expected(self.expected_entries, self.fpp), *of_columns.values()):
            if not isinstance(expected, Expected):
                raise TypeError(f"of_columns: {expected!r}, expected a pb.Expected")
            number_if_given("expected_entries", expected.entries)
            if rate_given("fpp", expected.fpp) is None:
                raise TypeError("fpp: None, expected a number")
            if expected.entries is not None and expected.entries < 1:
                raise ValueError(f"expected_entries: {expected.entries}, expected 1 or more")
            # Checks the rate.
            STRATEGIES[self.strategy].size(expected.entries or 1, expected.fpp)

    def expected_of(self, column: str) -> Expected:
        """What to expect of the chunks of a column."""
        return self.of_columns.get(column, Expected(self.expected_entries, self.fpp))

    @property
    def notes(self) -> tuple[str, ...]:
        """What users of the file have to know."""
        if self.field_id not in NAMES_TODAY:
            return ()
        note = (
            f"field {self.field_id} of Statistics: {engine_note('a struct in Statistics')}; readers of"
            f" today find no {NAMES_TODAY[self.field_id]} there"
        )
        return (note,)
