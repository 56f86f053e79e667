"""The files of which filters would take so much that `validate` warns of it (PB309)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Self

from parquet_bloom.advice.table import SurveyedFile
from parquet_bloom.container.protocols import Column
from parquet_bloom.dataclass import dataclass
from parquet_bloom.filters.sizing import dominates

# For each key, so many files are remembered.
_MOST = 5


@dataclass(frozen=True, slots=True)
class FilteredFile:
    """A file of so many bytes, with those of its filters, by column: of those `there` now, and of those that `build`
    would add, by their rate."""

    path: str
    size: int
    there: Mapping[str, int]
    built: Mapping[str, Mapping[float, int]]

    @classmethod
    def of(cls, found: SurveyedFile, columns: Iterable[Column]) -> Self:
        there, built = {}, {}
        for column, each in zip(columns, found.columns, strict=True):
            there[column.name] = each.counts.bytes_there
            built[column.name] = {rate: at.filter_bytes for rate, at in each.at.items()}
        return cls(found.path, found.size, there, built)

    @property
    def highest_share(self) -> float:
        """With filters of all columns at the lowest rate."""
        return self.share({name: min(rates) for name, rates in self.built.items() if rates})

    def share(self, rates: Mapping[str, float]) -> float:
        """Of the file, 0 to 1, that its filters take once those of these columns are built at these rates; 0 where
        that is not much."""
        then = sum(
            self.built[name].get(rates[name], there) if name in rates else there
            for name, there in self.there.items()
        )
        size = self.size - sum(self.there.values()) + then
        return then / size if dominates(then, size) else 0.0


class HeaviestFiles:
    """Those of which filters of all columns would take most, by the key of their table."""

    def __init__(self) -> None:
        self._by_key: dict[str, list[FilteredFile]] = {}

    def add(self, key: str, file: FilteredFile) -> None:
        if file.highest_share:
            heaviest = [*self._by_key.get(key, ()), file]
            heaviest.sort(key=lambda each: each.highest_share, reverse=True)
            self._by_key[key] = heaviest[:_MOST]

    def among(self, keys: Iterable[str], rates: Mapping[str, float]) -> FilteredFile | None:
        """The one of these tables of which filters take most once those of these columns are built at these rates;
        None if that is not much of any."""
        files = [each for key in keys for each in self._by_key.get(key, ())]
        found = max(files, key=lambda each: each.share(rates), default=None)
        return found if found and found.share(rates) else None
