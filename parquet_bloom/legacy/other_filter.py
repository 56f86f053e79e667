"""What the verbs may ask of a filter of an older dialect, whichever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parquet_bloom.filters.k_hash import KHashFilter
    from parquet_bloom.filters.split_block import SplitBlockBloomFilter
    from parquet_bloom.parquet.pages.runs import Run


class OtherFilter(Protocol):
    """A filter of one column chunk, in a place of its own, whose hash is known.

    `pointer`: what leads to it, in a few words. `offset`: where it lies in the file, None inside the
    footer; `stored_bytes`: what it takes there, `header_bytes` of them for its header. `form`:
    that of its header; `hash`: what values are hashed by, in words. `bits`: the filter in memory.
    """

    @property
    def dialect(self) -> str: ...
    @property
    def pointer(self) -> str: ...
    @property
    def form(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def offset(self) -> int | None: ...
    @property
    def stored_bytes(self) -> int: ...
    @property
    def header_bytes(self) -> int: ...
    @property
    def bits(self) -> SplitBlockBloomFilter | KHashFilter: ...

    def check(self, plain: bytes) -> bool:
        """False if the value with these stored bytes was certainly never inserted."""

    def check_run(self, run: Run) -> NDArray[np.bool_]:
        """The same for each value of a run: shape (n,). Damage is a PageError."""

    def header_and_bitset(self) -> tuple[bytes, bytes]:
        """Both as they are stored."""
