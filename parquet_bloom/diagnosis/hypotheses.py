"""Hypotheses of what a writer did instead, and the search for one that the bits confirm.

A hypothesis is up to two deviations from what the format wants: other bytes of the value (forms),
another hash (hashes), other places for its bits (layouts), another place for the bitset (bitsets).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.diagnosis.bitsets import AS_SAID, View
from parquet_bloom.diagnosis.evidence import MIN_SHARE, MIN_TRIED, Trial
from parquet_bloom.diagnosis.form import AS_STORED, Form
from parquet_bloom.diagnosis.hashes import OTHER_HASHES, XXH64, Hash
from parquet_bloom.diagnosis.layouts import STANDARD, Bitset, Hashes, Layout
from parquet_bloom.diagnosis.samples import StoredValue
from parquet_bloom.rules.catalogue import Diagnosis

# A few values refute nearly every hypothesis; one that explains these is tried on all of them.
FIRST_VALUES = 32
FIRST_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Values in this form, hashed so, looked up in this layout of these bits."""

    form: Form = AS_STORED
    hash: Hash = XXH64
    layout: Layout = STANDARD
    view: View = AS_SAID

    @property
    def _deviations(self) -> list[Form | Hash | Layout | View]:
        return [part for part in (self.form, self.hash, self.layout, self.view) if part.name]

    @property
    def name(self) -> str:
        return "+".join(part.name for part in self._deviations)

    @property
    def is_of_values_only(self) -> bool:
        """Whether hash and places are those of the format."""
        return self.hash is XXH64 and self.layout is STANDARD and self.view is AS_SAID

    def diagnosis(self, trial: Trial) -> Diagnosis:
        clauses = " and ".join(part.clause for part in self._deviations)
        return Diagnosis(
            self.name,
            f"the missing values are found if each is {clauses}",
            trial.hits,
            trial.tried,
        )


def single(
    forms: Sequence[Form], layouts: Sequence[Layout], views: Iterable[View]
) -> Iterator[Hypothesis]:
    """One deviation each, the likelier ones first."""
    yield from (Hypothesis(form=form) for form in forms)
    yield from (Hypothesis(hash=hash) for hash in OTHER_HASHES)
    yield from (Hypothesis(layout=layout) for layout in layouts)
    yield from (Hypothesis(view=view) for view in views)


def double(forms: Sequence[Form], layouts: Sequence[Layout]) -> Iterator[Hypothesis]:
    """Two deviations each."""
    for form, hash in product(forms, OTHER_HASHES):
        yield Hypothesis(form=form, hash=hash)
    for hash, layout in product(OTHER_HASHES, layouts):
        yield Hypothesis(hash=hash, layout=layout)
    for form, layout in product(forms, layouts):
        yield Hypothesis(form=form, layout=layout)


class Search:
    """Tries hypotheses on values, which are in random order, and on the bitset of the header."""

    def __init__(self, values: Sequence[StoredValue], bitset: Bitset) -> None:
        self._values = values
        self._bitset = bitset
        self._converted: dict[tuple[Form, int], list[bytes]] = {}
        self._hashed: dict[tuple[Form, Hash, int], Hashes] = {}

    def convincing(self, hypotheses: Iterable[Hypothesis]) -> list[tuple[Hypothesis, Trial]]:
        """Those that luck cannot explain, what explains the most values first."""
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
        return hypothesis.layout.look_up(self._bits(hypothesis), hashes)

    def hashes(self, hypothesis: Hypothesis) -> Hashes:
        """The hash of every value that the hypothesis applies to."""
        return self._hashes(hypothesis, len(self._values))

    def _is_refuted(self, hypothesis: Hypothesis) -> bool:
        """Whether the first few values are not found, or have no such form."""
        hashes = self._hashes(hypothesis, FIRST_VALUES)
        if not hashes.size:
            return True
        return hypothesis.layout.share_found(self._bits(hypothesis), hashes) < FIRST_SHARE

    def _bits(self, hypothesis: Hypothesis) -> Bitset:
        return hypothesis.view.bitset or self._bitset

    def _hashes(self, hypothesis: Hypothesis, count: int) -> Hashes:
        form, hash = hypothesis.form, hypothesis.hash
        if (form, hash, count) not in self._hashed:
            if (form, count) not in self._converted:
                self._converted[form, count] = converted(self._values[:count], form)
            self._hashed[form, hash, count] = hashed(self._converted[form, count], hash)
        return self._hashed[form, hash, count]


def converted(values: Sequence[StoredValue], form: Form) -> list[bytes]:
    """The values in this form; none unless (nearly) all have it."""
    plain = [plain for value in values if (plain := form.convert(value)) is not None]
    return plain if len(plain) >= MIN_SHARE * len(values) else []


def hashed(plain: Sequence[bytes], hash: Hash) -> Hashes:
    """The hash of each, shape (n,); none unless (nearly) all have one."""
    hashes = [number for each in plain if (number := hash.function(each)) is not None]
    return np.array(hashes if len(hashes) >= MIN_SHARE * len(plain) else [], np.uint64)
