"""Hypotheses of what a writer did instead, and the search for one that the bits confirm.

A hypothesis is one or two deviations from the format: another key form of the values, another hash,
another layout of its bits, another choice of where the bitset is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import product
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.diagnosis.diagnosis import GIVEN_BOTH, Deviation, Diagnosis
from parquet_bloom.diagnosis.evidence import (
    MAX_CHANCE,
    MAX_LOG_LUCK,
    MAX_LOG_LUCK_OF_NEAREST,
    MIN_TRIED,
    NOTHING_TRIED,
    Trial,
)
from parquet_bloom.diagnosis.hashes import OTHER_HASHES, XXH64, Hash, hashed
from parquet_bloom.diagnosis.key_forms import AS_STORED, KeyForm
from parquet_bloom.diagnosis.layouts import (
    AS_DESCRIBED,
    INVERTED,
    OTHER_PRODUCTS,
    STANDARD,
    BitLayout,
    Bitset,
    BitsetChoice,
    as_bitset,
    other_counts,
    with_other_salts,
    without_unset_bits,
)
from parquet_bloom.diagnosis.moved import are_alike, moved
from parquet_bloom.diagnosis.ranges import ranges
from parquet_bloom.diagnosis.refutations import is_refuted
from parquet_bloom.diagnosis.samples import (
    StoredValue,
    hashes_of_blocks,
    stored_among,
    stored_values,
)
from parquet_bloom.filters.hashers import Hashes
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk

# A few values refute nearly every hypothesis; one that explains these is tried on all of them.
FIRST_VALUES = 32
FIRST_SHARE = 0.9

# If fewer are missing, of those that no chance finds, the writer hashed others as it should.
SHARE_OF_ALL = 0.8

# How many of those that find some of them are tried on all, to name the nearest.
NEAREST = 8

EACH_VALUE = "each value"
AGAINST_IT = ", but other values, or bits, speak against it"
MISSING_ONLY = "the missing values, but not the others,"


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Values in this key form, hashed like this, looked up in this layout of these bytes."""

    key_form: KeyForm = AS_STORED
    hash: Hash = XXH64
    layout: BitLayout = STANDARD
    choice: BitsetChoice = AS_DESCRIBED

    @property
    def is_of_values_only(self) -> bool:
        """Whether hash and places are those of the format."""
        return self.hash is XXH64 and self.is_placed_as_usual

    @property
    def is_placed_as_usual(self) -> bool:
        """Whether the places are those of the format."""
        return self.layout is STANDARD and self.choice is AS_DESCRIBED

    @property
    def name(self) -> str:
        """`text+murmur3`"""
        parts: Sequence[Deviation] = (self.key_form, self.hash, self.layout, self.choice)
        return "+".join(part.name for part in parts if part.name)

    def look_up(self, described: Bitset, hashes: Hashes) -> Trial:
        """Look up hashes, shape (n,); `described`: the bitset that the header describes."""
        return self.layout.look_up(self.choice.bitset or described, hashes)

    def what_was_done(self, whose: str = EACH_VALUE) -> str:
        """`hashed each value as text, and counted the bits of each word from the highest`. `whose`: of which
        values it is said."""
        how = ", ".join(filter(None, (self.key_form.clause, self.hash.clause)))
        hashed = f"hashed {whose} {how}" if how else ""
        return ", and ".join(filter(None, (hashed, self.layout.clause, self.choice.clause)))

    def in_words(self, whose: str = EACH_VALUE) -> str:
        """The same with whoever did it: `the writer hashed each value as text`; `all bits are inverted`."""
        done = self.what_was_done(whose)
        return done if self.layout.is_accident else f"the writer {done}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A hypothesis that the bits confirm. `whose`: of which values it is said, EACH_VALUE or MISSING_ONLY; `blocks`:
    of which of the filter's `num_blocks`; `same`: the clauses of others that these values do not tell from it."""

    hypothesis: Hypothesis
    trial: Trial
    whose: str
    blocks: range
    num_blocks: int
    same: tuple[str, ...] = ()

    @property
    def diagnosis(self) -> Diagnosis:
        hypothesis, trial = self.hypothesis, self.trial
        done = hypothesis.in_words(self.whose)
        if self.same:
            done += f" (or {' or '.join(self.same)}, which is the same for these values)"
        if len(self.blocks) < self.num_blocks:
            (which,) = ranges(self.blocks)
            blocks, look = ("block", "looks") if len(self.blocks) == 1 else ("blocks", "look")
            done = f"{blocks} {which} of {self.num_blocks:,} {look} as if {done}"
        return Diagnosis(hypothesis.name, done, trial.hits, trial.tried)


def single(
    key_forms: Sequence[KeyForm],
    layouts: Sequence[BitLayout],
    choices: Iterable[BitsetChoice],
    num_blocks: int,
) -> Iterator[Hypothesis]:
    """One deviation each, the likelier ones first."""
    yield from map(Hypothesis, key_forms)
    yield from (Hypothesis(hash=hash) for hash in OTHER_HASHES)
    yield from (
        Hypothesis(layout=layout)
        for layout in (*layouts, *OTHER_PRODUCTS, *moved(num_blocks), INVERTED)
    )
    yield from (Hypothesis(choice=choice) for choice in choices)
    yield from (Hypothesis(layout=layout) for layout in other_counts(num_blocks))


def double(key_forms: Sequence[KeyForm], layouts: Sequence[BitLayout]) -> Iterator[Hypothesis]:
    """Two deviations each."""
    for key_form, hash in product(key_forms, OTHER_HASHES):
        yield Hypothesis(key_form=key_form, hash=hash)
    for hash, layout in product(OTHER_HASHES, layouts):
        yield Hypothesis(hash=hash, layout=layout)
    for key_form, layout in product(key_forms, layouts):
        yield Hypothesis(key_form=key_form, layout=layout)


# With fewer, a choice between two blocks can be luck, whose bound is that of the evidence: log2(1e14).
MANY_FOR_A_CHOICE = 47


class HashSearch:
    """Tries hypotheses on values in random order; `bitset`: the one that the header describes.
    `num_tried`: how many so far."""

    def __init__(self, values: Sequence[StoredValue], bitset: Bitset) -> None:
        self.num_tried = 0
        self._values = values
        self.bitset = bitset
        self._shares: list[tuple[float, Hypothesis]] = []
        self._converted: dict[tuple[KeyForm, int], list[bytes]] = {}
        self._hashed: dict[tuple[KeyForm, Hash, int], Hashes] = {}

    @property
    def none_is_nearest(self) -> str:
        """That none explains more than the others, in words."""
        if self.bitset.num_blocks == 2 and len(self._values) < MANY_FOR_A_CHOICE:
            return (
                "no way to choose blocks can be told from chance, which chooses the right one of 2 for half of the"
                " values"
            )
        return "none of them is seen to find more values than chance would"

    def convincing(self, hypotheses: Iterable[Hypothesis]) -> list[tuple[Hypothesis, Trial]]:
        """Those that luck cannot explain, the one that explains most values first."""
        if len(self._values) < MIN_TRIED:
            return []
        likely = (hypothesis for hypothesis in hypotheses if not self._is_refuted(hypothesis))
        tried = [(hypothesis, self.trial(hypothesis)) for hypothesis in likely]
        found = [(hypothesis, trial) for hypothesis, trial in tried if trial.is_convincing]
        return sorted(found, key=lambda pair: -pair[1].share)

    def trial(self, hypothesis: Hypothesis, is_left_out: NDArray[np.bool_] | None = None) -> Trial:
        """On all values, or all but some; one that the hypothesis does not apply to is not found."""
        hashes = self.hashes(hypothesis)
        num_without = len(self._values) - hashes.size
        if is_left_out is not None:
            hashes = hashes[~is_left_out]
        found = hypothesis.look_up(self.bitset, hashes)
        return replace(found, tried=found.tried + num_without)

    def hashes(self, hypothesis: Hypothesis) -> Hashes:
        """The hash of every value that the hypothesis applies to."""
        return self._hashes(hypothesis, len(self._values))

    def shown_by_bits(self, share_missing: float) -> Iterator[Hypothesis]:
        """What the bits say of the salts, and of those that no word has. `share_missing`: of all values of the
        chunk, 0 to 1."""
        hashes = self.hashes(Hypothesis())
        if hashes.size:
            shown = with_other_salts(self.bitset, hashes, share_missing)
            for layout in (*shown, *without_unset_bits(self.bitset)):
                yield Hypothesis(layout=layout)

    def nearest(self) -> list[Hypothesis]:
        """Those that find most of the first few values, of all that were tried."""
        return [hypothesis for _, hypothesis in nlargest(NEAREST, self._shares, itemgetter(0))]

    def _is_refuted(self, hypothesis: Hypothesis) -> bool:
        """Whether the first few values are not found, or have no such key form."""
        self.num_tried += 1
        hashes = self._hashes(hypothesis, FIRST_VALUES)
        found = hypothesis.layout.share_found(hypothesis.choice.bitset or self.bitset, hashes)
        share = found * hashes.size / min(FIRST_VALUES, len(self._values))
        if share:
            self._shares.append((share, hypothesis))
        return share < FIRST_SHARE

    def _hashes(self, hypothesis: Hypothesis, count: int) -> Hashes:
        key_form, hash = hypothesis.key_form, hypothesis.hash
        if (key_form, hash, count) not in self._hashed:
            if (key_form, count) not in self._converted:
                self._converted[key_form, count] = converted(self._values[:count], key_form)
            self._hashed[key_form, hash, count] = hashed(self._converted[key_form, count], hash)
        return self._hashed[key_form, hash, count]


def converted(values: Sequence[StoredValue], key_form: KeyForm) -> list[bytes]:
    """Those values that have this key form, in it."""
    return [plain for value in values if (plain := key_form.convert(value)) is not None]


def explanations(
    file: ParquetContainer, chunk: ColumnChunk, search: HashSearch, hypotheses: Iterable[Hypothesis]
) -> Iterator[Explanation]:
    """Those hypotheses that luck cannot explain, the best first."""
    convincing = [
        (hypothesis, trial)
        for hypothesis, trial in search.convincing(hypotheses)
        if not is_refuted(file, chunk, search.bitset, hypothesis.layout, hypothesis.choice)
    ]
    for hypothesis, trial in convincing:
        trial = _beside_what_is_right(file, chunk, search, hypothesis, trial)
        if not trial.is_convincing:
            continue
        if blocks := _blocks_explained(file, chunk, search, hypothesis):
            whose = _whose(file, chunk, search.bitset, hypothesis)
            same = tuple(_same_as(search, hypothesis, [each for each, _ in convincing]))
            yield Explanation(hypothesis, trial, whose, blocks, search.bitset.num_blocks, same)


def _same_as(
    search: HashSearch, hypothesis: Hypothesis, others: Iterable[Hypothesis]
) -> Iterator[str]:
    """The clauses of the forms of those of the others that differ in nothing else, nor in the bytes of any value; and
    of those that have nearly all bits in the same places. How the sign of a number is taken says its type."""
    for each in others:
        if are_alike(hypothesis.layout, each.choice):
            yield each.choice.clause
        clause = each.key_form.clause
        if "taken as" not in clause and _differ_in_form_alone(search, each, hypothesis):
            yield clause


def _differ_in_form_alone(search: HashSearch, one: Hypothesis, other: Hypothesis) -> bool:
    is_alone = (
        one.key_form is not other.key_form
        and one.hash is other.hash
        and one.layout is other.layout
        and one.choice is other.choice
    )
    return is_alone and np.array_equal(search.hashes(one), search.hashes(other))


def _whose(
    file: ParquetContainer, chunk: ColumnChunk, bitset: Bitset, hypothesis: Hypothesis
) -> str:
    """Of which values it is said, by those that are found as they are stored: what a key form leaves unchanged says
    nothing, and what is found both ways may be another value's. Raises as chunk_runs."""
    if not hypothesis.is_placed_as_usual:
        return EACH_VALUE
    key_form, hash = hypothesis.key_form, hypothesis.hash
    changed = [
        value
        for value in stored_values(file, chunk)
        if hash is not XXH64 or key_form.convert(value) != value.plain
    ]
    hashes = hashed([value.plain for value in changed], XXH64)
    is_found = STANDARD.finds(bitset, hashes)
    found = [value for value, is_ in zip(changed, is_found.tolist(), strict=True) if is_]
    otherwise = hashed(converted(found, key_form), hash)
    kept = len(found) - int(STANDARD.finds(bitset, otherwise).sum())
    by_luck = Trial(kept, len(changed), STANDARD.look_up(bitset, hashes).chance)
    return EACH_VALUE if by_luck.is_luck else MISSING_ONLY


def _blocks_explained(
    file: ParquetContainer, chunk: ColumnChunk, search: HashSearch, hypothesis: Hypothesis
) -> range:
    """The blocks whose values are all found that way, missing or not: a writer that puts bits elsewhere does so in
    all blocks, and damage may have the same effect on some in a row. Empty if there are none. Raises as
    chunk_runs."""
    bitset = search.bitset
    every = range(bitset.num_blocks)
    if hypothesis.is_placed_as_usual:
        return every
    if HashSearch(stored_values(file, chunk), bitset).trial(hypothesis).is_convincing:
        return every
    blocks = STANDARD.block(search.hashes(Hypothesis()), bitset.num_blocks)
    run = range(int(blocks.min()), int(blocks.max()) + 1)
    is_meant = np.zeros(bitset.num_blocks, np.bool_)
    is_meant[run.start : run.stop] = True
    own = hashes_of_blocks(file, chunk, is_meant)
    return run if hypothesis.look_up(bitset, own).is_convincing else range(0)


def of_two_blocks(
    file: ParquetContainer,
    chunk: ColumnChunk,
    filter: SplitBlockBloomFilter,
    layouts: Iterable[BitLayout],
) -> Iterator[Explanation]:
    """The ways of choosing one of two blocks that all values are found by, not only those that are missing: these are
    in the other block, whatever chose that. Raises as chunk_runs."""
    if filter.num_blocks != 2 or filter.fpp > MAX_CHANCE:
        return
    search = HashSearch(stored_values(file, chunk), as_bitset(filter))
    for hypothesis in (Hypothesis(layout=layout) for layout in layouts):
        trial = search.trial(hypothesis)
        if trial.is_beyond_luck:
            yield Explanation(hypothesis, trial, EACH_VALUE, range(2), filter.num_blocks)


def nearest_in_words(
    file: ParquetContainer,
    chunk: ColumnChunk,
    search: HashSearch,
    otherwise: str,
) -> str:
    """Which of those that explain too little explains most, in words; if none does, that, and `otherwise`."""
    found = [
        (
            hypothesis,
            _beside_what_is_right(file, chunk, search, hypothesis, search.trial(hypothesis)),
        )
        for hypothesis in search.nearest()
    ]
    hypothesis, trial = min(found, key=lambda pair: pair[1].log_luck, default=(None, NOTHING_TRIED))
    if hypothesis is None or trial.log_luck > MAX_LOG_LUCK_OF_NEAREST:
        return f"{search.none_is_nearest}{otherwise}"
    whose = _whose(file, chunk, search.bitset, hypothesis)
    return (
        f"the nearest, {hypothesis.name} ({hypothesis.in_words(whose)}), finds"
        f" {trial.hits:,} of {trial.tried:,}, where chance would find {trial.tried * trial.chance:,.0f}"
        f"{AGAINST_IT * trial.is_convincing}"
    )


def whose_bits(filter: SplitBlockBloomFilter, share_missing: float) -> str:
    """What it may mean that hardly a value is found, and that nothing explains it. `share_missing`: of all values of
    the chunk, 0 to 1."""
    if share_missing < SHARE_OF_ALL * (1 - filter.fpp):
        return ""
    return (
        f"; by its fill, the filter has about {number_of(round(filter.ndv_estimate), 'value')}: they may be hashed in"
        f" a way that was not tried, or be those of another file{GIVEN_BOTH}, or the bits may be damaged"
    )


def _beside_what_is_right(
    file: ParquetContainer,
    chunk: ColumnChunk,
    search: HashSearch,
    hypothesis: Hypothesis,
    trial: Trial,
) -> Trial:
    """Other bytes of a value can be another stored value, rightly found: without these. And nothing if the values
    that are not missing are found that way, too. Raises as chunk_runs."""
    if hypothesis.is_of_values_only:
        trial = search.trial(hypothesis, stored_among(file, chunk, search.hashes(hypothesis)))
    if hypothesis.key_form is AS_STORED or trial.is_luck:
        return trial
    has_both = _has_both_forms(file, chunk, search.bitset, hypothesis.key_form)
    return NOTHING_TRIED if has_both else trial


def _has_both_forms(
    file: ParquetContainer, chunk: ColumnChunk, bitset: Bitset, key_form: KeyForm
) -> bool:
    """Whether most values are found as they are stored, and most of these in the other form, too, and luck finds no
    such number: the writer inserted both, as `build` does for FLOAT16. Raises as chunk_runs."""
    forms = [(each.plain, key_form.convert(each)) for each in stored_values(file, chunk)]
    changed = [(plain, other) for plain, other in forms if other is not None and other != plain]
    as_stored = hashed([plain for plain, _ in changed], XXH64)
    otherwise = hashed([other for _, other in changed], XXH64)
    is_own = ~stored_among(file, chunk, otherwise)
    as_stored, otherwise = as_stored[is_own], otherwise[is_own]
    both = STANDARD.look_up(bitset, otherwise[STANDARD.finds(bitset, as_stored)])
    # What a filter has lost may be either form. Of other bytes, some may be those of another value.
    return all(
        trial.share > MAX_CHANCE and trial.log_luck <= MAX_LOG_LUCK
        for trial in (STANDARD.look_up(bitset, as_stored), both)
    )
