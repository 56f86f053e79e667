"""What filters a file has: of each column in each part what is stored and what the bits come to, or
why there is none."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from parquet_bloom.container import WHERE_KNOWN, Located, Place
from parquet_bloom.files import open as open_file
from parquet_bloom.options import Selection
from parquet_bloom.vocabulary import Format

if TYPE_CHECKING:
    from parquet_bloom.container import Bits
    from parquet_bloom.container.descriptions import ChunkDescription, Inspectable
    from parquet_bloom.encryption.keys import Keys

# Takes a filter while its bits are in memory: where it is, the position of its column among those
# inspected, what is said of it, and the bits.
Visit = Callable[[Place, int, "ChunkDescription", "Bits"], None]


@dataclass(frozen=True, slots=True)
class PartInspection(Located):
    """One part. Of a stripe: `num_groups`, of which there is one without an index, and
    `writer_timezone`, empty if the writer notes none."""

    place: Place
    num_rows: int
    columns: tuple[ChunkDescription, ...]
    offset: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_groups: int | None = field(default=None, metadata=WHERE_KNOWN)
    writer_timezone: str | None = field(default=None, metadata=WHERE_KNOWN)


@dataclass(frozen=True, slots=True)
class FileInspection:
    """One file. `filter_bytes` are those of the filters inspected; `filter_share` is of `size`.

    `unverified`: why the footer of an encrypted file can be another one than was written, None if
    it cannot. Of an ORC file: `compression`, and `row_index_stride`, the rows of an index group, 0
    without an index.
    """

    path: str
    format: Format
    size: int
    created_by: str
    encrypted: bool
    num_rows: int
    num_parts: int
    parts: tuple[PartInspection, ...]
    filter_bytes: int
    filter_share: float
    unverified: str | None = None
    compression: str | None = field(default=None, metadata=WHERE_KNOWN)
    row_index_stride: int | None = field(default=None, metadata=WHERE_KNOWN)

    @property
    def row_groups(self) -> tuple[PartInspection, ...]:
        """The parts, by the name that Parquet has for them; none of an ORC file."""
        return tuple(part for part in self.parts if part.row_group is not None)

    @property
    def stripes(self) -> tuple[PartInspection, ...]:
        """The parts, by the name that ORC has for them; none of a Parquet file."""
        return tuple(part for part in self.parts if part.stripe is not None)

    @property
    def num_filters(self) -> int:
        """Those that can be used, of whatever dialect."""
        return sum(column.num_filters for part in self.parts for column in part.columns)


def inspect(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    row_groups: Sequence[int] | None = None,
    index_groups: bool = False,
    keys: Keys | None = None,
) -> FileInspection:
    """Describe the filters of `columns` (dotted paths; default: all) in `row_groups`, of an ORC
    file the stripes with these numbers.

    index_groups: each index group of an ORC file, too. keys: for encrypted files. Raises
    ColumnError, FormatError, UnsupportedError, OSError, and EncryptionError for what does not open.
    A filter that cannot be used is not an error, nor one without a key: its chunk has a `reason`.
    """
    with open_file(path, keys) as file:
        selection = Selection(
            columns=None if columns is None else tuple(columns),
            parts=None if row_groups is None else tuple(row_groups),
        )
        return inspect_file(file, selection, index_groups=index_groups)


def inspect_file(
    file: Inspectable,
    selection: Selection,
    *,
    index_groups: bool = False,
    visit: Visit | None = None,
) -> FileInspection:
    """The same of an open file. `visit` gets every filter that bloom_filter_offset leads to, so
    that nobody has to read it again. Raises as inspect."""
    if index_groups:
        file.check_has_groups()
    columns = file.select(selection.columns)
    parts = tuple(
        _inspect_part(file, part, columns, index_groups, visit)
        for part in file.parts(selection.parts)
    )
    filter_bytes = sum(column.filter_bytes for part in parts for column in part.columns)
    return FileInspection(
        path=file.path,
        format=file.format,
        size=file.source.size,
        created_by=file.created_by,
        encrypted=file.is_encrypted,
        num_rows=file.num_rows,
        num_parts=file.num_parts,
        parts=parts,
        filter_bytes=filter_bytes,
        filter_share=filter_bytes / file.source.size,
        unverified=file.unverified,
        compression=file.compression,
        row_index_stride=file.row_index_stride,
    )


def _inspect_part(
    file: Inspectable, part: int, columns: Sequence[Any], groups: bool, visit: Visit | None
) -> PartInspection:
    about = file.describe_part(part)
    return PartInspection(
        place=Place(part, units=file.units),
        num_rows=about.num_rows,
        columns=tuple(
            _inspect_chunk(file, chunk, position, groups, visit)
            for position, chunk in enumerate(file.chunks(part, columns))
        ),
        offset=about.offset,
        num_groups=about.num_groups,
        writer_timezone=about.writer_timezone,
    )


def _inspect_chunk(
    file: Inspectable, chunk: Any, position: int, groups: bool, visit: Visit | None
) -> ChunkDescription:
    if visit is None:
        return file.describe(chunk, groups)
    seen: list[Bits] = []
    found = file.describe(chunk, groups, seen.append)
    for bits in seen:
        visit(chunk.place, position, found, bits)
    return found
