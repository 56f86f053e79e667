"""A column chunk as the footer describes it."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from parquet_bloom.container import Place, slim_record
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.parquet.sealed.modules import LockedModules, Modules
from parquet_bloom.vocabulary import NO_KEY

# Levels of nulls take a few bytes for a page. To read more is no quick look.
_MOST_OF_NULLS: Final = 1 << 20


@slim_record
class ColumnChunk:
    """The footer's description of one column chunk, in the format's names; None for missing fields.

    `meta_start`: where its ColumnMetaData begins in the footer's text (see opened_chunks).
    `modules`: how its pages and its filter are stored.
    """

    row_group: int
    leaf: LeafColumn
    modules: Modules
    has_file_path: bool
    has_crypto_metadata: bool
    # From here on as in _kernel.CHUNK_FIELDS.
    meta_start: int | None
    meta_end: int | None
    type: int | None
    codec: int | None
    num_values: int | None
    total_uncompressed_size: int | None
    total_compressed_size: int | None
    data_page_offset: int | None
    index_page_offset: int | None
    dictionary_page_offset: int | None
    bloom_filter_offset: int | None
    bloom_filter_length: int | None
    null_count: int | None
    struct_in_statistics: int | None
    foreign_pointer: int | None

    @property
    def key(self) -> ChunkKey:
        return self.row_group, self.leaf.index

    @property
    def column(self) -> LeafColumn:
        return self.leaf

    @property
    def place(self) -> Place:
        return _place(self.row_group)

    @property
    def stored_bytes(self) -> int:
        return self.total_compressed_size or 0

    @property
    def has_filters(self) -> bool:
        return self.bloom_filter_offset is not None

    @property
    def num_filters(self) -> int:
        return 1

    @property
    def known_non_null(self) -> int | None:
        """How many of its values are not null; None if the footer does not say."""
        if self.num_values is None:
            return None
        num_values = max(0, self.num_values)
        if num_values == 0 or self.leaf.max_definition_level == 0:
            return num_values
        nulls = self.null_count
        return None if nulls is None or not 0 <= nulls <= num_values else num_values - nulls

    @property
    def may_have_values(self) -> bool:
        """False if it certainly has no values that are not null."""
        return self.known_non_null != 0

    @property
    def seems_null(self) -> bool:
        """Whether all is null by what the footer says, be it only the type,
        and the pages that show whether it is are few bytes."""
        is_of_nulls = self.leaf.type.logical_name == "UNKNOWN"
        return (is_of_nulls or not self.may_have_values) and self.stored_bytes <= _MOST_OF_NULLS

    @property
    def pages_start(self) -> int | None:
        """The offset of the first page: the dictionary page if there is one.

        Some writers omit dictionary_page_offset or write 0; data_page_offset then points to the
        dictionary page, if any.
        """
        data, dictionary = self.data_page_offset, self.dictionary_page_offset
        if data is not None and dictionary is not None and 0 < dictionary < data:
            return dictionary
        return data

    @property
    def is_locked(self) -> bool:
        """Whether it is encrypted and there is no key for it."""
        return isinstance(self.modules, LockedModules)

    @property
    def no_key(self) -> str:
        """Why nothing is known of it if it is locked."""
        detail = self.modules.detail if isinstance(self.modules, LockedModules) else ""
        return f"{NO_KEY}: {detail}" if detail else NO_KEY

    @property
    def missing_key_arguments(self) -> tuple[str, ...]:
        """The options that give a command its key, if it is locked for want of one of its own."""
        return self.modules.missing if isinstance(self.modules, LockedModules) else ()

    @property
    def where(self) -> str:
        """The chunk's name in messages."""
        return f"row group {self.row_group}, column {self.leaf.name}"


@lru_cache(maxsize=1024)
def _place(row_group: int) -> Place:
    return Place(row_group)
