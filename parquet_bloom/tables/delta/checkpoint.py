"""A checkpoint: the actions that make up a table, as rows of a Parquet file.

Each row has one action: a column for each kind, null but for one. The columns of actions that are not
replayed, and statistics in a second form, are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloom.errors import FormatError
from parquet_bloom.tables.delta.action import PARSED, Action

KINDS: Final = ("add", "remove", "metaData", "protocol", "sidecar")

# The number of rows tells whether there are statistics at all.
_DROPPED: Final = ("add.partitionValues_parsed.", f"add.{PARSED}.")
_PROOF: Final = f"add.{PARSED}.numRecords"
_BATCH: Final = 4096


def actions_in(data: bytes, where: str) -> Iterator[Action]:
    """Each action as the JSON of a commit has it; an `add` that has statistics in the second form only
    has them in `stats_parsed`. Raises FormatError."""
    try:
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            names = [file.schema.column(index).path for index in range(len(file.schema))]
            wanted = list(filter(_is_read, names))
            # Most of the time goes into objects of Python, and a thread that lets go of the bytes when it is about to
            # end aborts the process.
            for batch in file.iter_batches(_BATCH, columns=wanted, use_threads=False):
                types = {each.name: each.type for each in batch.schema}
                for row in batch.to_pylist():
                    yield {
                        kind: _plain(value, types[kind])
                        for kind, value in row.items()
                        if value is not None
                    }
    except (pa.ArrowException, OSError) as error:
        said = str(error).partition("\n")[0]
        raise FormatError(f"{where}: a checkpoint that cannot be read: {said}") from None


def _is_read(path: str) -> bool:
    if path.partition(".")[0] not in KINDS:
        return False
    return path == _PROOF or not path.startswith(_DROPPED)


def _plain(value: Any, kind: pa.DataType) -> Any:
    """What JSON has for a value of an Arrow type: a missing field for a null one."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {
            each.name: _plain(value[each.name], each.type)
            for each in kind
            if value[each.name] is not None
        }
    if pa.types.is_map(kind):
        return {key: _plain(each, kind.item_type) for key, each in value}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_plain(each, kind.value_type) for each in value]
    return value
