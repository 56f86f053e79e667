"""Items of a report that are put together when they are looked at, as they can be many."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

from parquet_bloom.container import number_of

ItemT_co = TypeVar("ItemT_co", covariant=True)


class LazyItems(Sequence[ItemT_co]):
    """`noun`: what one is called."""

    noun: str

    @property
    @abstractmethod
    def _items(self) -> tuple[ItemT_co, ...]:
        """All of them, the same each time."""

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> ItemT_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ItemT_co, ...]: ...
    def __getitem__(self, index: int | slice) -> ItemT_co | tuple[ItemT_co, ...]:
        return self._items[index]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {number_of(len(self), self.noun)}>"
