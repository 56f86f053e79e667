"""Reads the columns of one file, group by group, by the Surveyor of the format.

What is found goes into a sketch of each column (see sketch), whose memory is bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count, islice
from typing import Any, Protocol, TypeAlias, TypeVar

from parquet_bloom.advice.groups import group_id
from parquet_bloom.advice.samples import GivenValue, Sample
from parquet_bloom.advice.sketch import ColumnCounts, ColumnSketch, GroupSurvey, Subject
from parquet_bloom.container.protocols import Chunk, Column, Container
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.parallel import Progress, work_in_order
from parquet_bloom.threads import threads_for_values

# ------------------------------------------------------------------------------------------------
# What depends on the format

ColumnT_contra = TypeVar("ColumnT_contra", contravariant=True)
ChunkT_contra = TypeVar("ChunkT_contra", contravariant=True)


class Surveyor(Protocol[ColumnT_contra, ChunkT_contra]):
    """Reads one open file; the columns and chunks below are those of the file."""

    @property
    def file(self) -> Container: ...
    @property
    def parts(self) -> Sequence[int]:
        """The ordinals of those to read."""

    @property
    def num_rows(self) -> int:
        """Of these parts."""

    @property
    def num_groups(self) -> int: ...
    @property
    def num_drawn(self) -> int:
        """The most distinct stored values to draw from each column."""

    @property
    def largest_filter(self) -> tuple[int, str]:
        """What limits the size of a filter: a number, the same in words."""

    def subject(self, column: ColumnT_contra) -> Subject: ...
    def is_ordered(self, column: ColumnT_contra) -> bool:
        """Whether min/max statistics can rule out values of this type."""

    def given(self, column: ColumnT_contra, value: object) -> GivenValue:
        """A value or literal that is looked up. Raises ValueTypeError."""

    def reason_for_none(self, column: ColumnT_contra) -> str:
        """Why a column cannot have filters, as far as the footer tells; else empty."""

    def num_values(self, column: ColumnT_contra) -> int:
        """Of these parts according to the footer; 0 if it does not say."""

    def count(self, counts: ColumnCounts, chunk: ChunkT_contra) -> None:
        """Count what the footer says of a chunk, except for its values."""

    def bytes_there(self, chunk: ChunkT_contra) -> int:
        """The size of the filters that a chunk has, with their headers."""

    def will_read(self, chunks: Sequence[ChunkT_contra]) -> None:
        """Fetch ahead what reading them takes, if the file is remote."""

    def room(self, chunk: ChunkT_contra) -> int:
        """The most memory that reading a chunk takes, in bytes."""

    def read(self, chunk: ChunkT_contra, sample: Sample) -> Sequence[GroupSurvey]:
        """Survey each group of a chunk; called from any thread.

        Raises UnsupportedError if it cannot have filters, FormatError for damage.
        """


AnySurveyor: TypeAlias = Surveyor[Any, Any]


def bytes_elsewhere(surveyor: AnySurveyor, columns: Sequence[Column]) -> dict[str, int]:
    """By column, the size of the filters that the file has beside those of these columns in the parts to read."""
    file, parts = surveyor.file, {*surveyor.parts}
    names = {column.name for column in columns}
    elsewhere: Counter[str] = Counter()
    for column in file.select(None):
        others = parts if column.name in names else ()
        for part in (each for each in range(file.num_parts) if each not in others):
            elsewhere[column.name] += sum(map(surveyor.bytes_there, file.chunks(part, [column])))
    return {name: num_bytes for name, num_bytes in elsewhere.items() if num_bytes}


def survey_columns(
    surveyor: AnySurveyor,
    columns: Sequence[Column],
    samples: Sequence[Sample],
    threads: int | None,
    progress: Progress | None,
) -> Iterator[tuple[ColumnSketch, str]]:
    """Each column in turn, and why it cannot have filters, else "".

    Several threads read the chunks; what they find is added in order.
    """
    file = surveyor.file
    reasons = [surveyor.reason_for_none(column) for column in columns]
    chunks = [
        [(part, chunk) for part in surveyor.parts for chunk in file.chunks(part, [column])]
        for column in columns
    ]
    ahead = [
        (part, chunk, sample)
        for of_column, reason, sample in zip(chunks, reasons, samples, strict=True)
        if not reason
        for part, chunk in of_column
    ]

    def read(item: tuple[int, Chunk, Sample]) -> Sequence[GroupSurvey] | str:
        try:
            return surveyor.read(*item[1:])
        except UnsupportedError as error:
            return str(error).removeprefix(f"{file.path}: ")

    surveyor.will_read([chunk for _, chunk, _ in ahead])
    done = count(1)
    threads = threads_for_values(threads, file.source, len(ahead))
    with closing(work_in_order(ahead, read, lambda item: surveyor.room(item[1]), threads)) as found:
        for column, of_column, reason, sample in zip(
            columns, chunks, reasons, samples, strict=True
        ):
            sketch = ColumnSketch(sample, len(columns))
            for _, chunk in of_column:
                surveyor.count(sketch.counts, chunk)
            for (part, _, _), groups in islice(found, 0 if reason else len(of_column)):
                if isinstance(groups, str):
                    reason = reason or groups
                elif not reason:
                    for number, group in enumerate(groups):
                        sketch.add(group_id(file.path, part, number), group)
                if progress:
                    progress(next(done), len(ahead))
            if reason:
                sketch.counts.num_values = surveyor.num_values(column)
            yield sketch, reason
