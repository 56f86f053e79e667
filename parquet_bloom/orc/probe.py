"""Ask the filters of a column about values, stripe by stripe: which index groups remain to be read.

Where the writer of a file, or what stands beside a filter, leaves a doubt whether it holds every
value, the answer is `unknown` instead of `absent`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

from parquet_bloom.container import STRIPES, Answer, Explanation, Place
from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.filters.look_up import LookUp, in_k_hash
from parquet_bloom.orc import writers
from parquet_bloom.orc.keys.key_form import KeyForm
from parquet_bloom.orc.row_index import GroupStatistics, IndexEntry, fits

if TYPE_CHECKING:
    from parquet_bloom.filters.k_hash import KHashFilter
    from parquet_bloom.orc.bloom import StoredIndex
    from parquet_bloom.orc.columns import OrcColumn
    from parquet_bloom.orc.keys.key_hashes import KeyHashes
    from parquet_bloom.orc.stripe import Stripe
    from parquet_bloom.orc.writers import Generation
    from parquet_bloom.vocabulary import LiteralType, Verdict


@dataclass(frozen=True, slots=True)
class Asked:
    """A value to look up: its hashes in filters of each key form. `text`: as it was written, if it
    was; `is_ascii`: it is no text, or one that is the same in every charset."""

    text: str
    hashes: Callable[[KeyForm], KeyHashes] = field(repr=False)
    is_ascii: bool


class OpenFile(Protocol):
    """What an OrcFile is to this module, which it imports."""

    @property
    def generation(self) -> Generation: ...
    def usable_filters(self, stripe: int, column: OrcColumn) -> tuple[StoredIndex | None, str]: ...
    def row_index(self, stripe: int, column: OrcColumn) -> tuple[IndexEntry, ...] | None: ...


def asked_value(column: OrcColumn, value: Any) -> Asked:
    """A Python or numpy value to look up. Raises ValueTypeError."""
    from parquet_bloom.orc.keys.key_hashes import encode

    is_ascii = not isinstance(value, str | bytes) or value.isascii()
    return _asked("", partial(encode, column, value), is_ascii)


def asked_literal(column: OrcColumn, text: str, read_as: LiteralType | None) -> Asked:
    """A literal to look up. Raises ValueTypeError."""
    from parquet_bloom.orc.keys.key_hashes import encode_literal

    # Bytes in hexadecimal can be any text.
    is_ascii = text.isascii() and text[:2].lower() != "0x" and read_as != "bytes"
    return _asked(text, partial(encode_literal, column, text, read_as=read_as), is_ascii)


def _asked(text: str, hashes: Callable[[KeyForm], KeyHashes], is_ascii: bool) -> Asked:
    asked = Asked(text, cache(hashes), is_ascii)
    # What is no value of the column is an error even where there is nothing to ask.
    asked.hashes(KeyForm())
    return asked


@dataclass(frozen=True, slots=True)
class _Question:
    """The filters of a column in a stripe, and the hashes of a value, shape (n,); or why it is
    `unknown`."""

    stored: StoredIndex | None
    hashes: Any
    unknown: str = ""

    def looks(self, group: int) -> Iterator[LookUp]:
        """How each hash meets one filter; of none, nothing is known."""
        if self.stored is None or self.unknown:
            yield LookUp("", ())
            return
        for at in range(len(self.hashes)):
            yield in_k_hash(self.stored.filters[group], self.hashes[at : at + 1])


class StripeProber:
    """Asks the filters of one column in one stripe, which are read for the first value unless they
    are given."""

    def __init__(
        self, file: OpenFile, stripe: Stripe, column: OrcColumn, stored: StoredIndex | None = None
    ) -> None:
        self._file = file
        self._stripe = stripe
        self._column = column
        self._given = stored

    def answers(self, asked: Asked) -> tuple[Answer, ...]:
        """What the filter of each index group says of a value."""
        question = self._question(asked)
        groups = range(self._stripe.num_index_groups)
        return tuple(self._answer(question, group) for group in groups)

    def answer(self, asked: Asked, group: int) -> Answer:
        """What the filter of one index group says of a value."""
        return self._answer(self._question(asked), group)

    def explained(self, asked: Asked) -> tuple[tuple[Answer, ...], tuple[Explanation, ...]]:
        """The same of each index group, and how each hash of the value meets its filter."""
        question = self._question(asked)
        answers = self.answers(asked)
        return answers, tuple(
            Explanation(answer.place, asked.text, reason=answer.reason, **asdict(look))
            for group, answer in enumerate(answers)
            for look in question.looks(group)
        )

    def _answer(self, question: _Question, group: int) -> Answer:
        stripe = self._stripe
        return Answer(
            Place(stripe.index, group, STRIPES),
            *self._verdict(question, group),
            stripe.group_num_rows(group),
            stripe.first_row + stripe.group_first_row(group),
        )

    def _verdict(self, question: _Question, group: int) -> tuple[Verdict, str | None]:
        stored = question.stored
        if stored is None or question.unknown:
            return "unknown", question.unknown
        filter = stored.filters[group]
        if filter.check_hashes(question.hashes).any():
            return "maybe", None
        return self._absent(stored, group, filter)

    def _question(self, asked: Asked) -> _Question:
        """The filters, and the hashes to ask them for, or why there are none of these."""
        stored, reason = self._stored
        if stored is None:
            return _Question(None, None, reason)
        keys = asked.hashes(stored.form)
        if unknown := keys.unknown or self._doubt(stored, asked):
            return _Question(stored, None, unknown)
        import numpy as np

        return _Question(stored, np.array(keys.hashes, np.uint64))

    @cached_property
    def _stored(self) -> tuple[StoredIndex | None, str]:
        if self._given is not None:
            return self._given, ""
        return self._file.usable_filters(self._stripe.index, self._column)

    def _doubt(self, stored: StoredIndex, value: Asked) -> str:
        generation = self._file.generation
        if not value.is_ascii and writers.doubts_text(generation, self._column, stored):
            return f"text in a charset that {generation.created_by} did not note"
        return writers.doubt(generation, self._column, stored)

    def _absent(
        self, stored: StoredIndex, group: int, filter: KHashFilter
    ) -> tuple[Verdict, str | None]:
        """What it means that a filter does not have the bits of a value."""
        entries, doubt = self._row_index
        statistics = entries[group].statistics if entries else None
        doubt = doubt or self._doubt_about_group(stored, filter, statistics)
        return ("unknown", doubt) if doubt else ("absent", None)

    @cached_property
    def _row_index(self) -> tuple[tuple[IndexEntry, ...] | None, str]:
        """The entries, or why they cannot be read: then nothing here is as it should be."""
        try:
            return self._file.row_index(self._stripe.index, self._column), ""
        except ParquetBloomError as error:
            return None, str(error)

    def _doubt_about_group(
        self, stored: StoredIndex, filter: KHashFilter, statistics: GroupStatistics | None
    ) -> str:
        if statistics is not None and not fits(statistics, self._column):
            return f"{statistics.kind} statistics, which are not those of {self._column.type}"
        if statistics is not None and statistics.num_values == 0:
            return ""
        if filter.bits_set == 0:
            return "no bit is set, though the index group can have values"
        if not writers.doubts_before_1970(self._file.generation, self._column, stored):
            return ""
        low = statistics.min if statistics else None
        is_later = isinstance(low, int) and low >= 0
        return "" if is_later else "timestamps before 1970, which ORC C++ hashed as others"
