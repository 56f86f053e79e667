"""What a file is to a verb, whichever format it has.

    Container   a file: parts, columns, and what is done with their filters
    part        a row group, or a stripe
    group       what readers skip: the row group itself, or one index group of a stripe
    Chunk       one column in one part
    Place       a part, and in it a group where it is about one
    Change      what becomes of a file, see storage.new_version, which writes it

`parquet.file` and `orc.file` are the containers, `files.open` chooses. Verbs, renderers, commands
and Spark know nothing else of a format.
"""

from __future__ import annotations

from parquet_bloom.container.changes import (
    BuildChange,
    BuiltFilters,
    LeftChunk,
    RemovedFilters,
    RepairChange,
    Repairs,
    StripChange,
)
from parquet_bloom.container.filters import (
    Answer,
    Bits,
    Explanation,
    FilterDescription,
    NoFilters,
    ReadFilter,
)
from parquet_bloom.container.places import (
    ROW_GROUPS,
    STRIPES,
    UNITS,
    Located,
    Place,
    Units,
    number_of,
)
from parquet_bloom.container.protocols import (
    Chunk,
    Column,
    Container,
    Prober,
)
from parquet_bloom.container.records import (
    WHERE_KNOWN,
    record,
)

__all__ = [
    "ROW_GROUPS",
    "STRIPES",
    "UNITS",
    "WHERE_KNOWN",
    "Answer",
    "Bits",
    "BuildChange",
    "BuiltFilters",
    "Chunk",
    "Column",
    "Container",
    "Explanation",
    "FilterDescription",
    "LeftChunk",
    "Located",
    "NoFilters",
    "Place",
    "Prober",
    "ReadFilter",
    "RemovedFilters",
    "RepairChange",
    "Repairs",
    "StripChange",
    "Units",
    "number_of",
    "record",
]
