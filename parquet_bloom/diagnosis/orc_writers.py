"""Why stored values are missing from the filter of an ORC index group.

What writers are known to have hashed instead (see orc.wrong_keys) is looked up where it can be had
from the stored values, and claimed only where luck cannot explain what is found (see evidence).
Where it cannot be had any more, the writer and the type are all there is to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.diagnosis.evidence import Trial
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.keys import wrong as wrong_keys
from parquet_bloom.orc.keys.key_form import KeyForm
from parquet_bloom.orc.keys.key_hashes import Hashes, lookup_hashes
from parquet_bloom.orc.shown_values import selected
from parquet_bloom.orc.writers import CPP, Generation

# More distinct values prove no more.
MAX_SAMPLE: Final = 1_000

_NUMBERS = ("BYTE", "SHORT", "INT", "LONG", "DATE", "FLOAT", "DOUBLE")
_TIMESTAMPS = ("TIMESTAMP", "TIMESTAMP_INSTANT")

# By the type of column.
_BY_CPP = {
    "BYTE": ("cpp-byte", "ORC C++ hashes the first eighth of each batch as other numbers"),
    "CHAR": ("cpp-char", "ORC C++ hashes a CHAR with what lies behind its text in memory"),
    "FLOAT": ("cpp-float", "ORC C++ hashes the double that a FLOAT came as, which is not stored"),
}


@dataclass(frozen=True, slots=True)
class Lacking:
    """An index group whose filter lacks values.

    `values`: all that are not null, an Arrow array; `is_missing`: which are not found, bool, shape
    (n,); `first_row` is counted from the start of the file.
    """

    column: OrcColumn
    key_form: KeyForm
    generation: Generation
    filter: KHashFilter
    values: Any = field(repr=False)
    is_missing: NDArray[np.bool_] = field(repr=False)
    first_row: int
    num_rows: int


@dataclass(frozen=True, slots=True)
class _Hypothesis:
    """`hashes`: of what the writer may have hashed instead of the missing values."""

    name: str
    explanation: str
    hashes: Callable[[], Hashes]


def diagnose(lacking: Lacking) -> Diagnosis | None:
    """What the writer did instead; None if nothing fits."""
    for hypothesis in _hypotheses(lacking):
        try:
            hashes = np.unique(hypothesis.hashes())
        except UnsupportedError:
            continue
        hits = int(lacking.filter.check_hashes(hashes).sum())
        trial = Trial(hits, hashes.size, lacking.filter.fpp)
        if trial.is_convincing:
            return Diagnosis(hypothesis.name, hypothesis.explanation, trial.hits, trial.tried)
    if lacking.generation.writer == CPP and lacking.column.kind in _BY_CPP:
        return Diagnosis(*_BY_CPP[lacking.column.kind], hits=0, tried=0)
    return None


def _hypotheses(lacking: Lacking) -> Iterator[_Hypothesis]:
    column, key_form = lacking.column, lacking.key_form
    values = selected(lacking.values, lacking.is_missing, MAX_SAMPLE)
    if column.kind in (*_NUMBERS, *_TIMESTAMPS):
        other = replace(key_form, logical_shifts=not key_form.logical_shifts)
        yield _Hypothesis(
            "logical-shifts",
            "integers are hashed with logical shifts, as ORC C++ 1.6.0 to 1.6.11 and 1.7.0 did",
            lambda: _usual(column, values, other),
        )
    match column.kind:
        case "TIMESTAMP" | "TIMESTAMP_INSTANT":
            yield _Hypothesis(
                "rounded-towards-1970",
                "milliseconds before 1970 are rounded up, as pyarrow has them",
                lambda: wrong_keys.rounded_towards_1970(values),
            )
            yield _Hypothesis(
                "other-clock",
                "timestamps are hashed by the clock that belongs to the other kind of stream",
                lambda: _usual(column, values, replace(key_form, utf8=not key_form.utf8)),
            )
        # What shares a number with its neighbours is known only where there are no nulls.
        case "BYTE" if len(lacking.values) == lacking.num_rows:
            for rows in wrong_keys.BATCH_ROWS:
                yield _Hypothesis(
                    "cpp-byte",
                    "the first eighth of each batch is hashed as eight values packed into one, as"
                    " by ORC C++",
                    partial(wrong_keys.packed_bytes, lacking.values, lacking.first_row, rows),
                )
        case "FLOAT":
            yield _Hypothesis(
                "shortest-double",
                "a FLOAT is hashed as the double of the same digits, which it came as",
                lambda: wrong_keys.shortest_doubles(values),
            )
            yield _Hypothesis(
                "float-bits",
                "a FLOAT is hashed as its 32 bits, as the first specification has it",
                lambda: wrong_keys.float_bits(values),
            )
        case "CHAR":
            yield _Hypothesis(
                "without-blanks",
                "a CHAR is hashed without the blanks behind its text",
                lambda: wrong_keys.without_blanks(values),
            )
        case "DECIMAL":
            yield _Hypothesis(
                "unscaled",
                "a DECIMAL is hashed as its unscaled number, as in file version 1.9999",
                lambda: wrong_keys.unscaled(values),
            )


def _usual(column: OrcColumn, values: Any, key_form: KeyForm) -> Hashes:
    return lookup_hashes(column, values, key_form)[:, 0].copy()
