"""Ask the filters of a column about values, stripe by stripe: which index groups remain to be read.

Where the writer of a file, or the statistics beside a filter, cast doubt on whether it has every
value, the answer is `unknown` instead of `absent`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from parquet_bloom.container import STRIPES, Answer, Explanation, Place
from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.filters.look_up import LookUp, in_k_hash
from parquet_bloom.orc import writers
from parquet_bloom.orc.bloom import KeyForm
from parquet_bloom.orc.row_index import IndexEntry, fits

if TYPE_CHECKING:
    from parquet_bloom.orc.bloom import StoredIndex
    from parquet_bloom.orc.columns import OrcColumn
    from parquet_bloom.orc.keys.key_hashes import KeyHashes
    from parquet_bloom.orc.reader import OrcReader
    from parquet_bloom.orc.stripe import OrcChunk
    from parquet_bloom.vocabulary import LiteralType


@dataclass(frozen=True, slots=True)
class Asked:
    """A value to look up, and its hashes by key form. `text`: the literal, if it was one; `is_ascii`:
    it is the same in every charset. Raises ValueTypeError if the column cannot hold the value, even
    where there is no filter."""

    text: str
    hashes: Callable[[KeyForm], KeyHashes] = field(repr=False)
    is_ascii: bool

    def __post_init__(self) -> None:
        self.hashes(KeyForm())


def asked_value(column: OrcColumn, value: Any) -> Asked:
    """A Python or numpy value to look up. Raises ValueTypeError."""
    from parquet_bloom.orc.keys.key_hashes import encode

    is_ascii = not isinstance(value, str | bytes) or value.isascii()
    return Asked("", cache(partial(encode, column, value)), is_ascii)


def asked_literal(column: OrcColumn, text: str, read_as: LiteralType | None) -> Asked:
    """A literal to look up. Raises ValueTypeError."""
    from parquet_bloom.orc.keys.key_hashes import encode_literal

    # Hexadecimal bytes can be any text.
    is_ascii = text.isascii() and text[:2].lower() not in ("0x", "\\x") and read_as != "bytes"
    return Asked(text, cache(partial(encode_literal, column, text, read_as=read_as)), is_ascii)


@dataclass(frozen=True, slots=True)
class _Question:
    """Filters, and the hashes of a value, uint64 of shape (n,), to look up in them."""

    stored: StoredIndex
    hashes: Any


class StripeProber:
    """Asks the filters of one chunk. Unless they are given, they are read for the first value."""

    def __init__(self, file: OrcReader, chunk: OrcChunk, stored: StoredIndex | None = None) -> None:
        self._file = file
        self._stripe, self._column = chunk.stripe, chunk.column
        self._given = stored

    def answers(self, asked: Asked) -> tuple[Answer, ...]:
        """The answer of each index group about a value."""
        question = self._question(asked)
        groups = range(self._stripe.num_index_groups)
        return tuple(self._answer(question, group) for group in groups)

    def answer(self, asked: Asked, group: int) -> Answer:
        """The answer of one index group about a value."""
        return self._answer(self._question(asked), group)

    def explained(self, asked: Asked) -> tuple[tuple[Answer, ...], tuple[Explanation, ...]]:
        """The answers, and how each hash of the value meets the filter of each index group."""
        question = self._question(asked)
        answers = self.answers(asked)
        return answers, tuple(
            Explanation(answer.place, asked.text, reason=answer.reason, **asdict(look))
            for group, answer in enumerate(answers)
            for look in _looks(question, group)
        )

    def _answer(self, question: _Question | str, group: int) -> Answer:
        stripe = self._stripe
        if isinstance(question, str):
            is_absent, doubt = False, question
        else:
            is_absent = not question.stored.filters[group].check_hashes(question.hashes).any()
            doubt = self._doubt_about_group(question.stored, group) if is_absent else ""
        return Answer(
            Place(stripe.index, group, STRIPES),
            "unknown" if doubt else "absent" if is_absent else "maybe",
            doubt or None,
            stripe.group_num_rows(group),
            stripe.first_row + stripe.group_first_row(group),
        )

    def _question(self, asked: Asked) -> _Question | str:
        """What to ask the filters, or why they cannot be asked."""
        stored, reason = self._stored
        if stored is None:
            return reason
        keys = asked.hashes(stored.key_form)
        if unknown := keys.unknown or self._doubt(stored, asked):
            return unknown
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
            return f"text in a charset that {generation.created_by} did not record"
        return writers.doubt(generation, self._column, stored)

    @cached_property
    def _row_index(self) -> tuple[tuple[IndexEntry, ...] | None, str]:
        """The entries, or why they cannot be read, which casts doubt on the filters, too."""
        try:
            return self._file.row_index(self._stripe.index, self._column), ""
        except ParquetBloomError as error:
            return None, str(error)

    def _doubt_about_group(self, stored: StoredIndex, group: int) -> str:
        """Why a filter without the bits of a value does not prove that it is absent."""
        entries, problem = self._row_index
        if problem:
            return problem
        statistics = entries[group].statistics if entries else None
        if statistics is not None and not fits(statistics, self._column):
            return f"{statistics.kind} statistics, which cannot belong to {self._column.type}"
        if statistics is not None and statistics.num_values == 0:
            return ""
        if stored.filters[group].bits_set == 0:
            return "no bit is set, although the index group may have values"
        if not writers.doubts_before_1970(self._file.generation, self._column, stored):
            return ""
        low = statistics.min if statistics else None
        is_later = isinstance(low, int) and low >= 0
        return "" if is_later else "timestamps before 1970, which ORC C++ rounded up"


def _looks(question: _Question | str, group: int) -> list[LookUp]:
    """How each hash meets one filter."""
    if isinstance(question, str):
        return [LookUp("", ())]
    filter, hashes = question.stored.filters[group], question.hashes
    return [in_k_hash(filter, hashes[at : at + 1]) for at in range(len(hashes))]
