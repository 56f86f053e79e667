"""What the footer says of one column chunk."""

from __future__ import annotations

from parquet_bloom.container import Place, record
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.parquet.sealed.modules import LockedModules, Modules


@record
class ColumnChunk:
    """What the footer says of one column chunk, in the format's names; None where it says nothing.

    `meta_start` is where its ColumnMetaData begins in the footer's text (see opened_chunks), and
    `modules` tells how its pages and its filter lie in the file.
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

    @property
    def key(self) -> ChunkKey:
        """Which chunk of the file it is."""
        return self.row_group, self.leaf.index

    @property
    def column(self) -> LeafColumn:
        return self.leaf

    @property
    def place(self) -> Place:
        return Place(self.row_group)

    @property
    def has_filters(self) -> bool:
        return self.bloom_filter_offset is not None

    @property
    def pages_start(self) -> int | None:
        """The offset of the first page, the dictionary page where there is one.

        Some writers leave dictionary_page_offset out or write 0; then the dictionary page, if any,
        is what data_page_offset points to.
        """
        data, dictionary = self.data_page_offset, self.dictionary_page_offset
        if data is not None and dictionary is not None and 0 < dictionary < data:
            return dictionary
        return data

    @property
    def is_locked(self) -> bool:
        """Whether it is encrypted and there is no key to it; then little is known of it."""
        return isinstance(self.modules, LockedModules)

    @property
    def where(self) -> str:
        """How a message names this chunk."""
        return f"row group {self.row_group}, column {self.leaf.name}"
