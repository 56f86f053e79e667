"""Why stored values are missing from the filter of an ORC index group.

What writers are known to have hashed instead is looked up where it can be had from the stored
values; a claim is made only where luck cannot explain what is found (see evidence). Where it cannot
be had any more, the writer and the type are all there is to tell.

    ORC C++  BYTE        the batch narrowed in its own memory before it was hashed
             CHAR        the text without blanks, read on over its end
             FLOAT       doubles as they came, before they were narrowed (pyorc)
             TIMESTAMP   before 1970, rounded towards 1970 (pyarrow)
             1.6, 1.7    integers hashed with logical shifts (ORC-1024)

Sources: ORC C++, ColumnWriter.cc; Arrow C++, adapters/orc/util.cc; ORC-1024.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from parquet_bloom.diagnosis.evidence import Trial
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.native import _kernel
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.filter_form import FilterForm
from parquet_bloom.orc.keys import Hashes, lookup_hashes, text_hashes
from parquet_bloom.orc.timestamp_keys import instant_moments
from parquet_bloom.orc.writers import CPP, Generation
from parquet_bloom.rules.catalogue import Diagnosis

# Rows that pyarrow and pyorc hand over at a time unless they are told otherwise.
BATCH_ROWS: Final = 1024

# More distinct values prove no more.
MAX_SAMPLE: Final = 1_000

_INTEGERS = ("BYTE", "SHORT", "INT", "LONG", "DATE", "FLOAT", "DOUBLE")
_TIMESTAMPS = ("TIMESTAMP", "TIMESTAMP_INSTANT")

_CPP_DEFECTS = {
    "BYTE": Diagnosis(
        "cpp-byte", "ORC C++ hashes the first eighth of each batch of a BYTE column as other"
        " numbers", 0, 0,
    ),
    "CHAR": Diagnosis(
        "cpp-char", "ORC C++ hashes a CHAR with what lies behind its text in memory", 0, 0
    ),
    "FLOAT": Diagnosis(
        "cpp-float", "ORC C++ hashes a FLOAT as the double that it came as, which is not stored",
        0, 0,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lacking:
    """An index group whose filter lacks values.

    `values`: all that are not null, an Arrow array; `missing`: which are not found, bool, shape
    (n,); `num_rows`, and `first_row` counted from the start of the file.
    """

    column: OrcColumn
    form: FilterForm
    generation: Generation
    filter: KHashFilter
    values: Any = field(repr=False)
    missing: NDArray[np.bool_] = field(repr=False)
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
        except (UnsupportedError, pa.ArrowException):
            continue
        found = lacking.filter.check_hashes(hashes)
        trial = Trial(int(found.sum()), hashes.size, lacking.filter.fpp)
        if trial.is_convincing:
            return Diagnosis(hypothesis.name, hypothesis.explanation, trial.hits, trial.tried)
    is_theirs = lacking.generation.writer == CPP
    return _CPP_DEFECTS.get(lacking.column.kind) if is_theirs else None


def _hypotheses(lacking: Lacking) -> Iterator[_Hypothesis]:
    column, form = lacking.column, lacking.form
    values = lacking.values.filter(pa.array(lacking.missing)).unique()[:MAX_SAMPLE]
    if column.kind in (*_INTEGERS, *_TIMESTAMPS):
        other = replace(form, logical_shifts=not form.logical_shifts)
        yield _Hypothesis(
            "logical-shifts", "integers are hashed with logical shifts, as ORC C++ 1.6.0 to 1.6.11"
            " and 1.7.0 did", lambda: _usual(column, values, other),
        )  # fmt: skip
    match column.kind:
        case "TIMESTAMP" | "TIMESTAMP_INSTANT":
            yield _Hypothesis(
                "rounded-towards-1970", "milliseconds before 1970 are rounded up, as pyarrow does",
                lambda: _rounded_towards_1970(values),
            )  # fmt: skip
            yield _Hypothesis(
                "other-clock", "timestamps are hashed by the clock that the other kind of stream"
                " has", lambda: _usual(column, values, replace(form, utf8=not form.utf8)),
            )  # fmt: skip
        case "BYTE":
            if len(lacking.values) == lacking.num_rows:
                yield _Hypothesis(
                    "cpp-byte", "the first eighth of each batch is hashed as eight values packed"
                    " into one, as ORC C++ does", lambda: _packed_bytes(lacking),
                )  # fmt: skip
        case "FLOAT":
            yield _Hypothesis(
                "shortest-double", "a FLOAT is hashed as the DOUBLE of the same digits, which it"
                " was before it was narrowed", lambda: _shortest_doubles(values),
            )  # fmt: skip
            yield _Hypothesis(
                "float-bits", "a FLOAT is hashed as its 32 bits, as the first specification has it",
                lambda: _kernel.wang(values.to_numpy().view(np.int32).astype(np.int64)),
            )  # fmt: skip
        case "CHAR":
            yield _Hypothesis(
                "without-blanks", "a CHAR is hashed without the blanks behind its text",
                lambda: text_hashes(pc.utf8_rtrim(values.cast(pa.string()), " ")),
            )  # fmt: skip
        case "DECIMAL":
            yield _Hypothesis(
                "unscaled", "a DECIMAL is hashed as its unscaled number, as in file version 1.9999",
                lambda: _unscaled(values),
            )  # fmt: skip


def _usual(column: OrcColumn, values: Any, form: FilterForm) -> Hashes:
    return lookup_hashes(column, values, form)[:, 0]


def _rounded_towards_1970(values: Any) -> Hashes:
    """ORC C++ gets seconds and nanoseconds that are both rounded towards 1970."""
    before = values.view(pa.int64()).to_numpy()
    per_milli = {"s": 0, "ms": 1, "us": 1_000, "ns": 1_000_000}[values.type.unit]
    if not per_milli:
        return _kernel.wang(instant_moments(values).millis)
    return _kernel.wang(-(-before // per_milli))


def _packed_bytes(lacking: Lacking) -> Hashes:
    """What lies in the first eighth of each batch once its values have been narrowed to bytes in
    the memory that they came in."""
    numbers = lacking.values.to_numpy().astype("<i8")
    first, last = lacking.first_row, lacking.first_row + lacking.num_rows
    cuts = [first, *range(first - first % BATCH_ROWS + BATCH_ROWS, last, BATCH_ROWS), last]
    packed = []
    for start, end in pairwise(cuts):
        batch = numbers[start - first : end - first].copy()
        narrow = batch.astype(np.int8)
        batch.view(np.int8)[: len(batch)] = narrow
        packed.append(batch[: -(-len(batch) // 8)])
    return _kernel.wang(np.concatenate(packed).astype(np.int64))


def _shortest_doubles(values: Any) -> Hashes:
    doubles = values.cast(pa.string()).cast(pa.float64()).to_numpy()
    return _kernel.wang(doubles.view(np.int64))


def _unscaled(values: Any) -> Hashes:
    numbers = values.cast(pa.decimal128(38, values.type.scale))
    # The low half of the 128 bits: those of short decimals are all there is.
    halves = np.frombuffer(numbers.buffers()[1], np.int64)[2 * numbers.offset :]
    return _kernel.wang(np.ascontiguousarray(halves[: 2 * len(numbers) : 2]))
