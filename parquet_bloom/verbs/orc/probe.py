"""Ask an ORC file's filters about values: which index groups remain to be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.filters.verdict import Verdict, verdict_on_all
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import Asked, IndexGroupVerdict, OrcFile, StripeProbe
from parquet_bloom.orc.keys.key_form import KeyForm
from parquet_bloom.orc.keys.key_hashes import encode_literal
from parquet_bloom.orc.stripe import Stripe


@dataclass(frozen=True, slots=True)
class OrcProbedValue:
    """The verdict on one value in a file: `absent` only if it is absent in every index group."""

    value: str
    verdict: Verdict
    index_groups: tuple[IndexGroupVerdict, ...]
    rows_to_read: int

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(group.verdict for group in self.index_groups)


@dataclass(frozen=True, slots=True)
class OrcProbeReport:
    """The verdicts on all values in one file, and the bytes that were read for them."""

    path: str
    format: Literal["orc"]
    column: str
    results: tuple[OrcProbedValue, ...]
    bytes_read: int

    @property
    def is_absent(self) -> bool:
        """Whether no value can be in the file."""
        return all(result.verdict == "absent" for result in self.results)


@dataclass(frozen=True, slots=True)
class BitExplanation:
    """How one hash of a value meets the filter of one index group.

    `bits`: the positions that the hash sets; `clear`: those that are clear, any of which proves
    that the value was not inserted. `reason`: why the filter was not asked.
    """

    stripe: int
    index_group: int
    value: str
    hash: str
    num_hashes: int | None
    num_bits: int | None
    bits: tuple[int, ...]
    clear: tuple[int, ...]
    reason: str | None


def probe_orc(
    file: OrcFile, column: str, values: Sequence[str], *, read_as: str | None = None
) -> OrcProbeReport:
    """The verdicts on literals (see parquet_bloom.values.literals) of `column`.

    read_as: read the literals as this type, one of literals.TYPES. Raises ColumnError,
    ValueTypeError, FooterError, UnsupportedError, OSError.
    """
    found = file.column(column)
    asked = [_asked(file, found, value, read_as) for value in values]
    results = tuple(
        _probed(value, verdicts)
        for value, verdicts in zip(values, file.probe_asked(found, asked), strict=True)
    )
    return OrcProbeReport(file.path, file.format, found.name, results, file.source.bytes_read)


def _asked(file: OrcFile, column: OrcColumn, value: str, read_as: str | None) -> Asked:
    """A literal to look up. Raises ValueTypeError, naming file and column."""
    try:
        encode_literal(column, value, KeyForm(), read_as)
    except ValueTypeError as error:
        raise ValueTypeError(f"{file.path}: column {column.name}: {error}") from None
    hashes = partial(encode_literal, column, value, read_as=read_as)
    # Bytes in hexadecimal can be any text.
    is_ascii = value.isascii() and value[:2].lower() != "0x" and read_as != "bytes"
    return Asked(hashes, is_ascii)


def _probed(value: str, groups: tuple[IndexGroupVerdict, ...]) -> OrcProbedValue:
    verdict = verdict_on_all({group.verdict for group in groups})
    rows = sum(group.num_rows for group in groups if group.verdict != "absent")
    return OrcProbedValue(value, verdict, groups, rows)


def explain_orc(
    file: OrcFile, column: str, values: Sequence[str], *, read_as: str | None = None
) -> tuple[BitExplanation, ...]:
    """Why probe says what it says: every hash of each value, and its bits."""
    found = file.column(column)
    return tuple(
        explanation
        for value in values
        for explanation in _explain_value(file, found, value, _asked(file, found, value, read_as))
    )


def _explain_value(
    file: OrcFile, column: OrcColumn, value: str, asked: Asked
) -> Iterator[BitExplanation]:
    for index in range(file.num_stripes):
        stripe = file.stripe(index)
        yield from _explain_stripe(stripe, StripeProbe(file, stripe, column), value, asked)


def _explain_stripe(
    stripe: Stripe, probe: StripeProbe, value: str, asked: Asked
) -> Iterator[BitExplanation]:
    stored, keys = probe.asked_with(asked)
    for group, verdict in enumerate(probe.verdicts(asked)):
        if stored is None or keys.unknown:
            yield BitExplanation(stripe.index, group, value, "", None, None, (), (), verdict.reason)
            continue
        for hash in keys.hashes:
            yield _explain_hash(verdict, value, hash, stored.filters[group])


def _explain_hash(
    verdict: IndexGroupVerdict, value: str, hash: int, filter: KHashFilter
) -> BitExplanation:
    alone = KHashFilter.empty(filter.num_bits, filter.num_hashes)
    alone.insert_hashes(np.array([hash], np.uint64))
    bits = _positions(alone)
    stored = set(_positions(filter))
    return BitExplanation(
        stripe=verdict.stripe,
        index_group=verdict.index_group,
        value=value,
        hash=f"{hash:016x}",
        num_hashes=filter.num_hashes,
        num_bits=filter.num_bits,
        bits=bits,
        clear=tuple(bit for bit in bits if bit not in stored),
        reason=verdict.reason,
    )


def _positions(filter: KHashFilter) -> tuple[int, ...]:
    """The bits that are set, counted from the lowest of the first word."""
    unpacked = np.unpackbits(np.frombuffer(filter.bitset, np.uint8), bitorder="little")
    return tuple(np.flatnonzero(unpacked).tolist())
