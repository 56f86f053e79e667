"""Why stored values are missing from the filter of an ORC index group, or bits are in it that come from none.

What writers are known to have hashed instead is looked up if it follows from the stored values, and
claimed only if luck cannot explain what is found (see evidence). Otherwise only the writer and the
type can tell.

    ORC C++   BYTE        the batch after it was narrowed in place
              FLOAT       the doubles before they were narrowed (pyorc)
              TIMESTAMP   before 1970: rounded towards 1970 (pyarrow)
    any       FLOAT       its 32 bits, as the first specification said
              CHAR        the text without its padding
              DECIMAL     the unscaled value (ORC Java, file version 1.9999)

Hashes are uint64, of any shape (m,).

Sources: ORC C++, ColumnWriter.cc; Arrow C++, adapters/orc/util.cc; orc-core, Decimal64TreeWriter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from functools import partial
from itertools import pairwise
from math import log, log1p
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.diagnosis.accidents import whose_bytes
from parquet_bloom.diagnosis.diagnosis import CLOSED_EARLY, NO_CHECKSUMS, OPENED_LATE, Diagnosis
from parquet_bloom.diagnosis.evidence import (
    MAX_LOG_LUCK,
    Trial,
    is_cut,
    nothing_else_is_there,
    too_few,
    too_full,
)
from parquet_bloom.diagnosis.ranges import longest_run
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.filters.hashers import Hashes
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.native import _kernel
from parquet_bloom.orc.arrays import Decimals, Numbers, Texts, Times, Values, selected
from parquet_bloom.orc.bloom import OrcKeyForm
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.keys import lookup_hashes, text_hashes
from parquet_bloom.orc.writers import CPP, Generation

# More distinct values prove no more.
MAX_SAMPLE: Final = 1_000

# Rows per batch: the default of pyarrow and pyorc, and that of writers whose batches are at least as
# large as an index group.
BATCH_ROWS: Final = (1024, 1 << 40)

_TIMESTAMPS = ("TIMESTAMP", "TIMESTAMP_INSTANT")
_NUMBERS = ("BYTE", "SHORT", "INT", "LONG", "DATE", "FLOAT", "DOUBLE", *_TIMESTAMPS)

# What ORC C++ does to columns of a kind, where no values can prove it.
_BY_CPP = {
    "BYTE": ("cpp-byte", "ORC C++ hashes the first eighth of each batch as other numbers"),
    "CHAR": ("cpp-char", "ORC C++ hashes a CHAR with whatever follows its text in memory"),
    "FLOAT": ("cpp-float", "ORC C++ hashes the double given for a FLOAT, which is not stored"),
}

_INVERTED = ("bits-inverted", "all bits are inverted")
_BYTES_LOST: Final = "bytes-lost"

# Fuller filters tell as little by a run of empty bytes.
_MOST_FILL: Final = 0.99

# Its name and explanation, and the hashes of what may have been hashed instead of missing values.
_Hypothesis = tuple[str, str, Callable[[], Hashes]]


@dataclass(frozen=True, slots=True)
class Lacking:
    """An index group whose filter lacks values.

    `values`: all that are not null; `is_missing`: which are not found, bool, shape
    (n,); `foreign_bits`: set, but by no value; `first_row` is counted from the start of the file;
    `may_be_damage`: they are few, or as those that damage leaves.
    """

    column: OrcColumn
    key_form: OrcKeyForm
    generation: Generation
    filter: KHashFilter
    values: Values = field(repr=False)
    is_missing: NDArray[np.bool_] = field(repr=False)
    foreign_bits: int
    first_row: int
    num_rows: int
    may_be_damage: bool = False


def diagnose(lacking: Lacking) -> Diagnosis | None:
    """What the writer did instead; None if nothing fits."""
    for explain in (_hashed_otherwise, _inverted, _bytes_lost, _cut_off):
        if found := explain(lacking):
            return found
    if lacking.generation.writer == CPP and lacking.column.kind in _BY_CPP:
        return Diagnosis(*_BY_CPP[lacking.column.kind], hits=0, tried=0)
    return None


def where_foreign_bits_are_from(group: Lacking) -> str | None:
    """What the writer hashed beside the values, which are all found, so `is_missing` is all of them here;
    None if nothing fits."""
    if found := _hashed_otherwise(group):
        return found.explanation
    if found_in_a_row := overwritten(group):
        return found_in_a_row
    # Of too few values, or with nulls between them, nothing is proven; but ORC C++ does this to each batch.
    is_usual = group.generation.writer == CPP and group.column.kind == "BYTE"
    return _BY_CPP["BYTE"][1] if is_usual else None


def _hashed_otherwise(lacking: Lacking) -> Diagnosis | None:
    """The hypothesis whose hashes, without those of stored values, which are rightly found, are found more often than
    luck finds any."""
    stored = lookup_hashes(lacking.column, lacking.values, lacking.key_form).ravel()
    for name, explanation, of_missing in _hypotheses(lacking):
        try:
            hashes = np.setdiff1d(of_missing(), stored)
        except UnsupportedError:
            continue
        hits = int(lacking.filter.check_hashes(hashes).sum())
        trial = Trial(hits, hashes.size, lacking.filter.fpp)
        if trial.is_convincing:
            return Diagnosis(name, explanation, trial.hits, trial.tried)
    return None


def _inverted(lacking: Lacking) -> Diagnosis | None:
    """Whether the missing values are found once all bits are inverted."""
    trial = _found_in(~_bytes_of(lacking.filter), lacking)
    if not trial.is_convincing:
        return None
    return Diagnosis(*_INVERTED, trial.hits, trial.tried)


def _bytes_lost(lacking: Lacking) -> Diagnosis | None:
    """Whether empty bytes in a row are no luck, and the missing values are found once these have all their bits."""
    found = _bytes_of(lacking.filter)
    first, count = longest_run(found == 0)
    if not (0 < count < found.size and _is_beyond_fill(count, lacking.filter)):
        first, count = _emptied(lacking)
    if not count:
        return None
    filled = found.copy()
    filled[first : first + count] = 0xFF
    trial = _found_in(filled, lacking)
    if not trial.is_convincing:
        return None
    where = _in_a_row(first, count, found.size)
    is_ = "is" if count == 1 else "are"
    explanation = (
        f"{where} {is_} empty: overwritten or never written; the missing values have bits there"
    )
    return Diagnosis(_BYTES_LOST, explanation, trial.hits, trial.tried)


def _is_beyond_fill(num_empty: int, filter: KHashFilter) -> bool:
    """Whether a filter that is as full elsewhere has so many empty bytes in a row by no luck."""
    num_bytes = filter.num_bits // 8
    fill = min(_MOST_FILL, filter.bits_set / (8 * (num_bytes - num_empty)))
    return log(num_bytes) + 8 * num_empty * log1p(-fill) <= MAX_LOG_LUCK


def _emptied(lacking: Lacking) -> tuple[int, int]:
    """The first byte and the number of empty ones in a row among which all bits are that values lack, closer together
    than by luck: of a filter with few bits, many bytes in a row are empty anyway. None: (0, 0)."""
    found = _bytes_of(lacking.filter)
    needed = KHashFilter.empty(lacking.filter.num_bits, lacking.filter.num_hashes)
    hashes = lookup_hashes(lacking.column, lacking.values, lacking.key_form)[:, 0]
    needed.insert_hashes(hashes.copy())
    lost = _bytes_of(needed) & ~found
    (places,) = np.nonzero(lost)
    if not places.size:
        return 0, 0
    first, count = int(places[0]), int(places[-1] - places[0]) + 1
    num_lost = int(np.unpackbits(lost).sum())
    by_luck = log(found.size) + (num_lost - 1) * log(count / found.size)
    is_empty = not found[first : first + count].any()
    return (first, count) if is_empty and by_luck <= MAX_LOG_LUCK else (0, 0)


def overwritten(group: Lacking) -> str | None:
    """That the bits of no stored value are in bytes in a row that have all of theirs. None if they are not, or values
    may have set them."""
    found = _bytes_of(group.filter)
    first, count = longest_run(found == 0xFF)
    explained = KHashFilter.empty(group.filter.num_bits, group.filter.num_hashes)
    explained.insert_hashes(lookup_hashes(group.column, group.values, group.key_form).ravel())
    foreign = found & ~_bytes_of(explained)
    is_elsewhere = foreign[:first].any() or foreign[first + count :].any()
    if not count or is_elsewhere or not explained.bits_set:
        return None
    if log(found.size) + 8 * count * log(explained.fill) > MAX_LOG_LUCK:
        return None
    has = "has" if count == 1 else "have"
    return f"{_in_a_row(first, count, found.size)} {has} all bits set: overwritten"


def _in_a_row(first: int, count: int, among: int) -> str:
    return f"{number_of(count, 'byte')} in a row, from byte {first:,} of {among:,} on,"


def _bytes_of(filter: KHashFilter) -> NDArray[np.uint8]:
    """Shape (n,): a view, not a copy."""
    return np.frombuffer(filter.bitset, np.uint8)


def _found_in(bitset: NDArray[np.uint8], lacking: Lacking) -> Trial:
    """How many of the missing values are found in a filter with these bytes, shape (n,)."""
    size = lacking.filter.num_hashes, lacking.filter.num_bits
    filter = KHashFilter.from_bytes(bitset.tobytes(), *size)
    missing = selected(lacking.values, lacking.is_missing, MAX_SAMPLE)
    hashes = np.unique(lookup_hashes(lacking.column, missing, lacking.key_form)[:, 0])
    return Trial(int(filter.check_hashes(hashes).sum()), hashes.size, filter.fpp)


def _cut_off(lacking: Lacking) -> Diagnosis | None:
    """Whether all values of the first rows of the index group are found, or of the last, and those that only the
    other rows have by luck, and have left no other bits."""
    if not nothing_else_is_there(lacking.foreign_bits, lacking.filter.num_hashes):
        return None
    filter, missing = lacking.filter, np.flatnonzero(lacking.is_missing)
    hashes = lookup_hashes(lacking.column, lacking.values, lacking.key_form)[:, 0]
    first, end = int(missing[0]), int(missing[-1]) + 1
    for said, found, others in (
        (CLOSED_EARLY, hashes[:first], hashes[first:]),
        (OPENED_LATE, hashes[end:], hashes[:end]),
    ):
        inside = np.unique(found)
        outside = np.setdiff1d(others, inside)
        trial = Trial(int(filter.check_hashes(outside).sum()), outside.size, filter.fpp)
        if is_cut(found.size, inside.size, filter.fpp, trial):
            return Diagnosis(*said, found.size, found.size)
    return None


def unexplained(lacking: Lacking) -> str:
    """What was tried, in words, where `diagnose` finds nothing."""
    of_writers = dict.fromkeys(name for name, _, _ in _hypotheses(lacking))
    tried = ", ".join((*of_writers, _INVERTED[0], _BYTES_LOST, CLOSED_EARLY[0], OPENED_LATE[0]))
    missing = int(lacking.is_missing.sum())
    if full := too_full(lacking.filter.fpp):
        return full
    said = (
        too_few(missing)
        or f"nothing explains it; tried on {number_of(missing, 'missing value')}: {tried}"
    )
    return said + changed_bytes(lacking) * lacking.may_be_damage


def changed_bytes(lacking: Lacking) -> str:
    """Whose bytes may have changed, by what is left of the bits of the missing values."""
    filter = lacking.filter
    missing = selected(lacking.values, lacking.is_missing, MAX_SAMPLE)
    theirs = KHashFilter.empty(filter.num_bits, filter.num_hashes)
    theirs.insert_hashes(lookup_hashes(lacking.column, missing, lacking.key_form)[:, 0].copy())
    tried = theirs.bits_set
    bits = Trial(tried - theirs.bits_outside(filter), tried, filter.fill)
    return whose_bytes(bits, int(lacking.is_missing.sum()), NO_CHECKSUMS)


def _hypotheses(lacking: Lacking) -> Iterator[_Hypothesis]:
    column, key_form = lacking.column, lacking.key_form
    missing = selected(lacking.values, lacking.is_missing, MAX_SAMPLE)

    def hashed(other: OrcKeyForm) -> Hashes:
        return lookup_hashes(column, missing, other)[:, 0].copy()

    if column.kind in _NUMBERS:
        yield (
            "logical-shifts",
            "integers are hashed with logical shifts, as ORC C++ 1.6.0 to 1.6.11 and 1.7.0 did",
            lambda: hashed(replace(key_form, logical_shifts=not key_form.logical_shifts)),
        )
    match missing:
        case Times():
            yield (
                "rounded-towards-1970",
                "milliseconds before 1970 are rounded up, as pyarrow has them",
                lambda: rounded_towards_1970(missing),
            )
            yield (
                "other-clock",
                "timestamps are hashed by the clock that belongs to the other kind of stream",
                lambda: hashed(replace(key_form, utf8=not key_form.utf8)),
            )
        case Numbers() if column.kind == "BYTE":
            yield from _of_bytes(lacking)
        case Numbers() if column.kind == "FLOAT":
            yield (
                "shortest-double",
                "a FLOAT is hashed as the double with the same digits, which the writer was given",
                lambda: shortest_doubles(missing),
            )
            yield (
                "float-bits",
                "a FLOAT is hashed as its 32 bits, as the first specification has it",
                lambda: float_bits(missing),
            )
        case Texts() if column.kind == "CHAR":
            yield (
                "without-blanks",
                "a CHAR is hashed without its padding",
                lambda: without_blanks(missing),
            )
        case Decimals():
            yield (
                "unscaled",
                "a DECIMAL is hashed as its unscaled number, as in file version 1.9999",
                lambda: unscaled(missing),
            )


def _of_bytes(lacking: Lacking) -> Iterator[_Hypothesis]:
    values = lacking.values
    # What shares a number with its neighbours is known only where there are no nulls.
    if not isinstance(values, Numbers) or len(values) < lacking.num_rows:
        return
    for rows in BATCH_ROWS:
        yield (
            "cpp-byte",
            "ORC C++ hashes the first eighth of each batch as eight values packed into one",
            partial(packed_bytes, values, lacking.first_row, rows),
        )


# ------------------------------------------------------------------------------------------------
# What was hashed instead: uint64, of any shape (m,)


def packed_bytes(values: Numbers, first_row: int, batch_rows: int) -> Hashes:
    """The hashes of the first eighth of each batch, whose values were narrowed to bytes in place: each
    number holds eight values, or fewer at the end of a batch.

    `values`: all rows of an index group that starts at row `first_row` of the file. The last batch
    ends with the group.
    """
    numbers = values.numbers.astype(np.int64)
    last_row = first_row + len(numbers)
    second_batch = first_row - first_row % batch_rows + batch_rows
    cuts = [first_row, *range(second_batch, last_row, batch_rows), last_row]
    packed = []
    for start, end in pairwise(cuts):
        batch = numbers[start - first_row : end - first_row].copy()
        narrow = batch.astype(np.int8)
        batch.view(np.int8)[: len(batch)] = narrow
        packed.append(batch[: -(-len(batch) // 8)])
    return _kernel.wang(np.concatenate(packed).astype(np.int64))


def rounded_towards_1970(values: Times) -> Hashes:
    """The hashes of timestamps in milliseconds, truncated instead of rounded down."""
    is_cut = (values.seconds < 0) & (values.nanos % 1_000_000 != 0)
    return _kernel.wang(values.millis + is_cut)


def shortest_doubles(values: Numbers) -> Hashes:
    """The hash of each FLOAT as the DOUBLE with the same shortest decimal digits."""
    doubles = values.numbers.astype(str).astype(np.float64)
    return _kernel.wang(doubles.view(np.int64))


def float_bits(values: Numbers) -> Hashes:
    """The hash of each FLOAT's bits as an integer."""
    return _kernel.wang(values.numbers.view(np.int32).astype(np.int64))


def without_blanks(values: Texts) -> Hashes:
    """The hashes of text without trailing spaces."""
    return text_hashes(Texts.of([text.rstrip(b" ") for text in values.tolist()]))


def unscaled(values: Decimals) -> Hashes:
    """The hash of the unscaled value of each DECIMAL of at most 18 digits."""
    # These fit the low half of the 128 bits.
    return _kernel.wang(values.words[:, 0].view(np.int64).copy())
