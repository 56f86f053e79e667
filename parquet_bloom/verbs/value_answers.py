"""The answers about many values, in the order in which they were asked; each is made when it is looked at."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, overload

from parquet_bloom.container import number_of
from parquet_bloom.native.lazy import Array
from parquet_bloom.values.given import python_values

AnswerT_co = TypeVar("AnswerT_co", covariant=True)


class ValueAnswers(Sequence[AnswerT_co]):
    """One for each of `values`."""

    def __init__(self, values: Sequence[Any] | Array) -> None:
        self._values = values

    @abstractmethod
    def _of(self, number: int, value: Any) -> AnswerT_co:
        """About the value of this number, which is this one of Python."""

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, index: int) -> AnswerT_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[AnswerT_co, ...]: ...
    def __getitem__(self, index: int | slice) -> AnswerT_co | tuple[AnswerT_co, ...]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return tuple(map(self._of, numbers, python_values(self._values[index])))
        return self._of(numbers, *python_values(self._values[numbers : numbers + 1]))

    def __iter__(self) -> Iterator[AnswerT_co]:
        return map(self._of, range(len(self)), python_values(self._values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {number_of(len(self), 'value')}>"
