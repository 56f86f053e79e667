"""Remove filters from an ORC file: their streams, and what stripe footers say about them."""

from __future__ import annotations

from parquet_bloom.container import STRIPES, Place, RemovedFilters, StripChange
from parquet_bloom.options import Selection
from parquet_bloom.orc.footers import FilterStreams
from parquet_bloom.orc.reader import OrcReader
from parquet_bloom.orc.stripe import FILTER_KINDS
from parquet_bloom.orc.writer import Streams, StripesChange


class OrcStrip(StripesChange, StripChange):
    """No filters for what is selected."""

    def __init__(self, file: OrcReader, selection: Selection) -> None:
        super().__init__(file)
        names = {column.id: column.name for column in file.select(selection.columns)}
        self._gone: dict[int, dict[int, FilterStreams]] = {}
        self.removed: list[RemovedFilters] = []
        wanted = file.select_parts(selection.parts)
        file.will_read_stripes(wanted)
        for index in wanted:
            stripe = file.stripe(index)
            for stream in stripe.streams:
                if stream.kind not in FILTER_KINDS or stream.column not in names:
                    continue
                self._gone.setdefault(index, {})[stream.column] = {}
                removed = RemovedFilters(
                    place=Place(index, units=STRIPES),
                    column=names[stream.column],
                    num_filters=stripe.num_index_groups,
                    offset=stream.offset,
                    stream=stream.name,
                    length=stream.length,
                )
                self.removed.append(removed)

    @property
    def is_idle(self) -> bool:
        return not self.removed

    def streams_of(self, stripe: int) -> Streams:
        return self._gone.get(stripe, {})
