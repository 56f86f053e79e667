"""What verbs keep of every column chunk, so that a file of very many is refused before they fill the
memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from parquet_bloom.container import number_of
from parquet_bloom.parallel import check_fits, memory

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Column, Overview

# The most bytes for each chunk, as measured; the JSON document of a report counts, too.
TO_INSPECT: Final = 2_400
TO_PROBE: Final = 800
TO_DIFF: Final = 2_400
TO_VALIDATE: Final = 3_000
TO_ADVISE: Final = 1_200
TO_CHANGE: Final = 2_400
TO_REPORT: Final = 6_000

# What a probe keeps of the answers of every group, where a chunk may have many; of which of them is
# about one value; of what led to it; and what an answer about one value takes in a document.
OF_ANSWERS: Final = 1_200
OF_PICK: Final = 1
OF_EXPLANATION: Final = 1_200
IN_DOCUMENT: Final = 420

# What the document of a footer takes, in which every field is a dictionary, for each of its bytes.
OF_FIELD_BYTE: Final = 250

# What advice takes of every column, however many chunks it has.
OF_COLUMN: Final = 4_000


def check_room(
    file: Overview, columns: Sequence[Column], parts: Sequence[int] | None, each: int
) -> None:
    """Raise UnsupportedError if `each` bytes for every chunk of these columns in these parts, or in
    all for None, exceed the memory budget. Raises ColumnError if there is no such part."""
    num_parts = len(file.select_parts(parts))
    # A name may have megabytes, and its column may be in thousands of parts.
    names = 2 * sum([len(column.name) for column in columns])
    taken = (len(columns) * each + names) * num_parts
    if taken > memory():
        chunks = number_of(len(columns) * num_parts, "column chunk")
        check_fits(f"{file.path}: {chunks} take", taken)


def check_groups_room(file: Overview, num_groups: int, each: int) -> int:
    """The same for groups, of which a chunk may have many: how much they take."""
    if num_groups * each > memory():
        groups = number_of(num_groups, file.units.group)
        check_fits(f"{file.path}: {groups} take", num_groups * each)
    return num_groups * each


def check_columns_room(file: Overview, columns: Sequence[Column], each: int) -> None:
    """Raise UnsupportedError if `each` bytes for every one of these columns exceed the memory budget."""
    check_fits(f"{file.path}: {number_of(len(columns), 'column')} take", len(columns) * each)
