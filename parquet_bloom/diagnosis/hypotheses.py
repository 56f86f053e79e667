"""Hypotheses of what a writer did instead, and the search for one that the bits confirm.

A hypothesis is one or two deviations from the format: another key form of the values, another hash,
another layout of its bits, another view of where the bitset is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.diagnosis.bitsets import AS_SAID, View
from parquet_bloom.diagnosis.diagnosis import Deviation, Diagnosis
from parquet_bloom.diagnosis.evidence import MIN_SHARE, MIN_TRIED, Trial
from parquet_bloom.diagnosis.hashes import OTHER_HASHES, XXH64, Hash
from parquet_bloom.diagnosis.key_forms import AS_STORED, KeyForm
from parquet_bloom.diagnosis.layouts import STANDARD, BitLayout, Bitset
from parquet_bloom.diagnosis.samples import StoredValue
from parquet_bloom.filters.hashers import Hashes

# A few values refute nearly every hypothesis; one that explains these is tried on all of them.
FIRST_VALUES = 32
FIRST_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Values in this key form, hashed like this, looked up in this layout of these bytes."""

    key_form: KeyForm = AS_STORED
    hash: Hash = XXH64
    layout: BitLayout = STANDARD
    view: View = AS_SAID

    @property
    def is_of_values_only(self) -> bool:
        """Whether hash and places are those of the format."""
        return self.hash is XXH64 and self.layout is STANDARD and self.view is AS_SAID

    def diagnosis(self, trial: Trial) -> Diagnosis:
        parts: Sequence[Deviation] = (self.key_form, self.hash, self.layout, self.view)
        name = "+".join(part.name for part in parts if part.name)
        return Diagnosis(name, f"the writer {self.what_was_done}", trial.hits, trial.tried)

    @property
    def what_was_done(self) -> str:
        """`hashed each value as text, and counted the bits of each word from the highest`"""
        how = ", ".join(filter(None, (self.key_form.clause, self.hash.clause)))
        hashed = f"hashed each value {how}" if how else ""
        return ", and ".join(filter(None, (hashed, self.layout.clause, self.view.clause)))


def single(
    key_forms: Sequence[KeyForm], layouts: Sequence[BitLayout], views: Iterable[View]
) -> Iterator[Hypothesis]:
    """One deviation each, the likelier ones first."""
    yield from map(Hypothesis, key_forms)
    yield from (Hypothesis(hash=hash) for hash in OTHER_HASHES)
    yield from (Hypothesis(layout=layout) for layout in layouts)
    yield from (Hypothesis(view=view) for view in views)


def double(key_forms: Sequence[KeyForm], layouts: Sequence[BitLayout]) -> Iterator[Hypothesis]:
    """Two deviations each."""
    for key_form, hash in product(key_forms, OTHER_HASHES):
        yield Hypothesis(key_form=key_form, hash=hash)
    for hash, layout in product(OTHER_HASHES, layouts):
        yield Hypothesis(hash=hash, layout=layout)
    for key_form, layout in product(key_forms, layouts):
        yield Hypothesis(key_form=key_form, layout=layout)


class Search:
    """Tries hypotheses on values in random order; `bitset` is the one that the header describes."""

    def __init__(self, values: Sequence[StoredValue], bitset: Bitset) -> None:
        self._values = values
        self._bitset = bitset
        self._converted: dict[tuple[KeyForm, int], list[bytes]] = {}
        self._hashed: dict[tuple[KeyForm, Hash, int], Hashes] = {}

    def convincing(self, hypotheses: Iterable[Hypothesis]) -> list[tuple[Hypothesis, Trial]]:
        """Those that luck cannot explain, the one that explains most values first."""
        if len(self._values) < MIN_TRIED:
            return []
        likely = (hypothesis for hypothesis in hypotheses if not self._is_refuted(hypothesis))
        tried = [(hypothesis, self.trial(hypothesis)) for hypothesis in likely]
        found = [(hypothesis, trial) for hypothesis, trial in tried if trial.is_convincing]
        return sorted(found, key=lambda pair: -pair[1].share)

    def trial(self, hypothesis: Hypothesis, is_left_out: NDArray[np.bool_] | None = None) -> Trial:
        """On all values, or all but some."""
        hashes = self.hashes(hypothesis)
        if is_left_out is not None:
            hashes = hashes[~is_left_out]
        return hypothesis.layout.look_up(hypothesis.view.bitset or self._bitset, hashes)

    def hashes(self, hypothesis: Hypothesis) -> Hashes:
        """The hash of every value that the hypothesis applies to."""
        return self._hashes(hypothesis, len(self._values))

    def _is_refuted(self, hypothesis: Hypothesis) -> bool:
        """Whether the first few values are not found, or have no such key form."""
        hashes = self._hashes(hypothesis, FIRST_VALUES)
        bitset = hypothesis.view.bitset or self._bitset
        return not hashes.size or hypothesis.layout.share_found(bitset, hashes) < FIRST_SHARE

    def _hashes(self, hypothesis: Hypothesis, count: int) -> Hashes:
        key_form, hash = hypothesis.key_form, hypothesis.hash
        if (key_form, hash, count) not in self._hashed:
            if (key_form, count) not in self._converted:
                self._converted[key_form, count] = converted(self._values[:count], key_form)
            self._hashed[key_form, hash, count] = hashed(self._converted[key_form, count], hash)
        return self._hashed[key_form, hash, count]


def converted(values: Sequence[StoredValue], key_form: KeyForm) -> list[bytes]:
    """The values in this key form; none unless (nearly) all have it."""
    plain = [plain for value in values if (plain := key_form.convert(value)) is not None]
    return plain if len(plain) >= MIN_SHARE * len(values) else []


def hashed(plain: Sequence[bytes], hash: Hash) -> Hashes:
    """The hash of each, shape (n,); none unless (nearly) all have one."""
    hashes = [number for each in plain if (number := hash.function(each)) is not None]
    return np.array(hashes if len(hashes) >= MIN_SHARE * len(plain) else [], np.uint64)
