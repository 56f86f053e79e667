"""Ask the filters of a file about values: which groups of rows remain to be read?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from parquet_bloom.container import WHERE_KNOWN, Answer, Explanation
from parquet_bloom.files import open as open_file
from parquet_bloom.options import ProbeOptions

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.vocabulary import Dialect, Format, LiteralType, Verdict


@dataclass(frozen=True, slots=True)
class ProbedValue:
    """The verdict on one value in a file: `absent` only if it is absent in every group."""

    value: str
    verdict: Verdict
    groups: tuple[Answer, ...]
    rows_to_read: int

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(group.verdict for group in self.groups)


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """The verdicts on all values in one file, and the bytes read for them. `unverified`: why the
    footer of an encrypted file may have been replaced, None if it cannot have been. `explanations`:
    value by value, None if not asked for."""

    path: str
    format: Format
    column: str
    results: tuple[ProbedValue, ...]
    bytes_read: int
    unverified: str | None = None
    explanations: tuple[Explanation, ...] | None = field(default=None, metadata=WHERE_KNOWN)

    @property
    def is_absent(self) -> bool:
        """Whether no value can be in the file."""
        return all(result.verdict == "absent" for result in self.results)


def probe(
    path: str | os.PathLike[str],
    column: str,
    values: Sequence[str],
    *,
    read_as: LiteralType | None = None,
    dialect: Dialect | None = None,
    seed: int | None = None,
    keys: Keys | None = None,
    explain: bool = False,
) -> ProbeReport:
    """The verdicts on literals (see parquet_bloom.values.literals) of `column` in one file.

    Reads the footer, and of each filter the header and the one block that the hash selects; in an
    ORC file, all filters of the column.

    read_as: read the literals as this type. dialect: ask the filters of this dialect; by default,
    those that bloom_filter_offset leads to, of any dialect. seed: of the hash of `murmur3` filters,
    if the file does not say. keys: for encrypted files. explain: give the hash and bits of every form
    that a value may be stored in.

    Raises ColumnError, ValueTypeError, FormatError, UnsupportedError, EncryptionError if a key is
    wrong, OSError.
    """
    options = ProbeOptions(
        column=column,
        values=tuple(values),
        read_as=read_as,
        dialect=dialect,
        seed=seed,
        explain=explain,
    )
    with open_file(path, keys) as file:
        return probe_file(file, options)


def probe_file(file: Container, options: ProbeOptions) -> ProbeReport:
    """As probe, for an open file."""
    column = file.column(options.column)
    probers = file.probers(column, options.dialect, options.seed)
    asked = [file.read_literal(column, text, options.read_as) for text in options.values]
    answers: list[list[Answer]] = [[] for _ in asked]
    explanations: list[list[Explanation]] = [[] for _ in asked]
    # Part by part, so that each filter is read once for all values.
    for prober in probers:
        for place, value in enumerate(asked):
            if options.explain:
                found, explained = prober.explained(value)
                explanations[place] += explained
            else:
                found = prober.answers(value)
            answers[place] += found
    return ProbeReport(
        path=file.path,
        format=file.format,
        column=column.name,
        results=tuple(map(_probed, options.values, answers)),
        bytes_read=file.source.bytes_read,
        unverified=file.unverified,
        explanations=tuple(chain.from_iterable(explanations)) if options.explain else None,
    )


def _probed(value: str, answers: Sequence[Answer]) -> ProbedValue:
    rows = sum(each.num_rows for each in answers if each.verdict != "absent")
    found = (each.verdict for each in answers)
    verdict: Verdict = max(found, key=("absent", "unknown", "maybe").index, default="absent")
    return ProbedValue(value, verdict, tuple(answers), rows)
