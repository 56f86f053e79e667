"""Ask the filters of a column about values, stripe by stripe: which index groups remain to be read.

Where the writer of a file, or the statistics beside a filter, cast doubt on whether it has every
value, the answer is `unknown` instead of `absent`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from parquet_bloom.container import (
    STRIPES,
    Answer,
    AnswerToAll,
    Explanation,
    GroupAnswers,
    Place,
)
from parquet_bloom.container.column_filter import ColumnFilter
from parquet_bloom.container.conditions import Condition, In
from parquet_bloom.container.doubts import Doubts
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.filters.look_up import LookUp, in_k_hash
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.orc import writers
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.row_index import IndexEntry, fits
from parquet_bloom.parallel import read_once
from parquet_bloom.values.given import plain_value
from parquet_bloom.vocabulary import NO_FILTER, NOT_HELD, NULLS_IN_STRIPE

if TYPE_CHECKING:
    from parquet_bloom.orc.bloom import StoredIndex
    from parquet_bloom.orc.keys import AskedValues, KeyHashes
    from parquet_bloom.orc.reader import OrcReader
    from parquet_bloom.orc.stripe import OrcChunk
    from parquet_bloom.vocabulary import Verdict

# Of types that all engines compare as they are stored: what a value of a condition has to be.
_COMPARED_ALIKE: Final[dict[str, type[Any]]] = {
    "SHORT": int,
    "INT": int,
    "LONG": int,
    "STRING": str,
}


def askable(column: OrcColumn, condition: Condition) -> list[object] | None:
    """The values to look up for a condition; None if filters cannot tell where it holds."""
    kind = _COMPARED_ALIKE.get(column.kind)
    if kind is None or not isinstance(condition, In):
        return None
    values = [plain_value(value) for value in condition.values]
    are_asked = all(isinstance(value, kind) and not isinstance(value, bool) for value in values)
    return values if are_asked else None


@dataclass(frozen=True)
class _Question:
    """Filters, and the hashes of values to look up in them. `unknown`: why some values cannot be."""

    stored: StoredIndex
    hashes: KeyHashes
    unknown: Mapping[int, str]

    @cached_property
    def doubts(self) -> Doubts:
        return Doubts(self.hashes.num_values, self.unknown, is_many=True)


class StripeProber:
    """Asks the filters of one chunk. Unless they are given, they are read for the first value."""

    def __init__(self, file: OrcReader, chunk: OrcChunk, stored: StoredIndex | None = None) -> None:
        self._file = file
        self._chunk, self._stripe, self._column = chunk, chunk.stripe, chunk.column
        self._given = stored

    def answers(self, asked: AskedValues) -> Iterator[GroupAnswers]:
        """What each index group answers."""
        question = self._question(asked)
        for group in range(self._stripe.num_index_groups):
            yield self._answers(question, asked, group)

    def explained(
        self, asked: AskedValues
    ) -> tuple[Sequence[GroupAnswers], Sequence[tuple[Explanation, ...]]]:
        """The same, and how each hash of a value meets the filter of each index group."""
        question = self._question(asked)
        answers = list(self.answers(asked))
        return answers, [
            tuple(
                Explanation(answer.place, value, reason=answer.reason, **asdict(look))
                for group, (distinct, picks, *_) in enumerate(answers)
                for answer in [distinct[picks[index]]]
                for look in _looks(question, index, group)
            )
            for index, value in enumerate(asked.values)
        ]

    def column_filter(self, group: int) -> ColumnFilter:
        """The filter of one index group; the prober has been given the filters of the chunk."""
        stored, _ = self._stored
        assert stored is not None

        def ask(values: Sequence[object]) -> NDArray[np.bool_]:
            from parquet_bloom.orc.keys import AskedValues

            asked = AskedValues(self._column, values)
            answers = self._answers(self._question(asked), asked, group)
            may_be = np.array([each.verdict != "absent" for each in answers.distinct], np.bool_)
            return may_be[np.array(answers.picks, np.intp)]

        place = Place(self._stripe.index, group, STRIPES)
        return ColumnFilter(place, self._column.name, "orc", stored.filters[group], ask)

    def _answers(
        self, question: _Question | AnswerToAll, asked: AskedValues, group: int
    ) -> GroupAnswers:
        """What one index group answers."""
        if isinstance(question, AnswerToAll):
            return self._without_filter(question, asked, group)
        filter = question.stored.filters[group]
        picks = question.doubts.picks(question.hashes.found_in(filter))
        known = [self._answer(group, "maybe")] * 2
        if 0 in picks:
            doubt = self._doubt_about_group(question.stored, group)
            known[0] = self._answer(group, "unknown" if doubt else "absent", doubt or None)
        unknown = [
            self._answer(group, "absent" if why in NOT_HELD else "unknown", why)
            for why in question.doubts.reasons
        ]
        return GroupAnswers([*known, *unknown], picks, filter.fpp, filter.fpp == 1, True)

    def _without_filter(self, told: AnswerToAll, asked: AskedValues, group: int) -> GroupAnswers:
        """The same answer about all values, but those that the column cannot hold."""
        answers, picks = [self._answer(group, *told)], [0] * len(asked)
        if told.verdict == "unknown" and not self._file.doubt_about_rows:
            reasons = [*dict.fromkeys(asked.not_held.values())]
            answers += [self._answer(group, "absent", why) for why in reasons]
            for at, why in asked.not_held.items():
                picks[at] = 1 + reasons.index(why)
        return GroupAnswers(answers, picks)

    def _answer(self, group: int, verdict: Verdict, reason: str | None = None) -> Answer:
        stripe = self._stripe
        first_row = stripe.first_row + stripe.group_first_row(group)
        place = Place(stripe.index, group, STRIPES)
        return Answer(place, verdict, reason, stripe.group_num_rows(group), first_row)

    def _question(self, asked: AskedValues) -> _Question | AnswerToAll:
        """What to ask the filters, or what is said of all values where these cannot be asked, and why."""
        if doubt := self._file.doubt_about_rows:
            return AnswerToAll("unknown", doubt)
        stored, reason = self._stored
        if stored is None:
            if reason == NO_FILTER and not asked.never_absent and self._has_only_nulls:
                return AnswerToAll("absent", NULLS_IN_STRIPE)
            # Where a filter could not tell either, none should be built.
            return AnswerToAll("unknown", asked.never_absent or reason)
        keys = asked.hashes(stored.key_form)
        generation = self._file.generation
        unknown: dict[int, str] = {}
        if doubt := writers.doubt(generation, self._column, stored):
            unknown = dict.fromkeys(range(len(asked)), doubt)
        if writers.doubts_text(generation, self._column, stored):
            why = f"text in a charset that {generation.created_by} did not record"
            unknown |= dict.fromkeys(asked.not_ascii, why)
        return _Question(stored, keys, unknown | dict(keys.unknown))

    @read_once
    def _stored(self) -> tuple[StoredIndex | None, str]:
        """The filters, or None and why there are none that can be used."""
        if self._given is not None:
            return self._given, ""
        return self._file.usable_filters(self._stripe.index, self._column)

    @read_once
    def _row_index(self) -> tuple[tuple[IndexEntry, ...] | None, str]:
        """The entries, or why they cannot be read, which casts doubt on the filters, too."""
        try:
            return self._file.row_index(self._stripe.index, self._column), ""
        except ParquetBloomError as error:
            return None, self._file.why(error, self._stripe.index, self._column)

    @read_once
    def _has_only_nulls(self) -> bool:
        from parquet_bloom.orc.membership import is_known_to_be_null

        entries, _ = self._row_index
        return bool(entries) and is_known_to_be_null(self._file, self._chunk, entries or ())

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


def _looks(question: _Question | AnswerToAll, index: int, group: int) -> list[LookUp]:
    """How each hash of a value meets one filter."""
    if isinstance(question, AnswerToAll) or index in question.unknown:
        return [LookUp("", ())]
    filter, hashes = question.stored.filters[group], question.hashes.of(index)
    return [in_k_hash(filter, hashes[at : at + 1]) for at in range(len(hashes))]
