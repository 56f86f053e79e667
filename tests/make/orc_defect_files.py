"""What defective ORC files are made of: a sound one, and how one thing in it is made wrong.

`sound()` is a real file, by pyarrow, in which nothing is wrong by any rule: two stripes of two index
groups, `a` of integers and `s` of texts with filters, `t` of texts without. It is taken apart into
streams, one thing in it is made wrong, and it is put together again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import pyarrow as pa
from make.handmade_orc import Stream, Stripe, forge, index_of
from pyarrow import orc

from parquet_bloom.files import open_file
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc.arrays import Numbers
from parquet_bloom.orc.bloom import OrcKeyForm, read_filters
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcContainer
from parquet_bloom.orc.keys import insertion_hashes
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.stripe import BLOOM_FILTER_UTF8

STRIDE = 1000
STRIPE_ROWS = 2 * STRIDE
ROWS = 2 * STRIPE_ROWS
A, S = 1, 2

# How writers of today make keys.
TODAY = OrcKeyForm()

Edit = Callable[[list[Stripe], dict[str, Any]], None]


@dataclass(frozen=True)
class OrcDefect:
    """One thing that is wrong: `make()` is a file that has it.

    `rule` must be found in `stripe` and `index_group` and `column` (None: at no place in particular)
    with this policy; `deep`: only where the values are looked up. `beside`: rules of errors that
    cannot but be broken, too.
    """

    name: str
    rule: str
    make: Callable[[], bytes]
    stripe: int | None = 0
    index_group: int | None = 0
    column: str | None = "a"
    policy: dict[str, Any] = field(default_factory=dict)
    deep: bool = False
    beside: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.rule} {self.name}"


# ------------------------------------------------------------------------------------------------
# A sound file, and its parts


@cache
def values() -> pa.Table:
    random = np.random.default_rng(6)
    numbers = random.integers(-(2**62), 2**62, ROWS)
    texts = [random.bytes(24).hex() for _ in range(ROWS)]
    return pa.table({"a": numbers, "s": texts, "t": [2 * text for text in texts]})


def written(values: pa.Table, columns: Sequence[int], **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    orc.write_table(
        values, sink, row_index_stride=STRIDE, batch_size=STRIPE_ROWS, stripe_size=1,
        bloom_filter_columns=list(columns), bloom_filter_fpp=0.01, **options,
    )  # fmt: skip
    return sink.getvalue().to_pybytes()


@cache
def sound() -> bytes:
    return written(values(), [A, S])


def opened(data: bytes, read: Callable[[OrcContainer], Any]) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.orc"
        path.write_bytes(data)
        with open_file(path) as file:
            return read(cast("OrcContainer", file))


def edited(data: bytes, edit: Edit) -> bytes:
    """The same file with other stripes, or other fields of its footer."""
    stripes, footer, postscript = opened(data, _parts)
    edit(stripes, footer)
    types = footer.pop("types")
    postscript |= footer.pop("postscript", {})
    stride = footer.pop("rowIndexStride")
    return forge(types, stripes, stride=stride, footer=footer, postscript=postscript)


def _parts(file: OrcContainer) -> tuple[list[Stripe], dict[str, Any], dict[str, Any]]:
    stripes = []
    for index in range(file.num_stripes):
        stripe = file.stripe(index)
        streams = [
            Stream(each.kind, each.column, file.source.read_at(each.offset, each.length))
            for each in stripe.streams
        ]
        columns = {"columns": list(stripe.footer.columns)}
        stripes.append(Stripe(stripe.num_rows, streams, footer=columns))
    found = file.tail.footer
    footer = {
        "types": list(found.types),
        "rowIndexStride": found.rowIndexStride,
        "writer": found.writer,
        "softwareVersion": found.softwareVersion,
    }
    return stripes, footer, {"writerVersion": file.tail.postscript.writerVersion}


def stream(stripe: Stripe, column: int, kind: int = BLOOM_FILTER_UTF8) -> Stream:
    return next(each for each in stripe.streams if (each.kind, each.column) == (kind, column))


def with_streams(edit: Callable[[Stripe], None]) -> bytes:
    """The sound file with another first stripe."""
    return edited(sound(), lambda stripes, footer: edit(stripes[0]))


def with_stream(edit: Callable[[bytes], bytes], column: int = A) -> bytes:
    """The sound file with other bytes as the filters of a column in its first stripe."""

    def change(stripe: Stripe) -> None:
        found = stream(stripe, column)
        found.data = edit(found.data)

    return with_streams(change)


def with_first_filter(**fields: Any) -> bytes:
    """With other fields in the message of the first filter; None: it is not there."""

    def change(data: bytes) -> bytes:
        index = orc_pb2.BloomFilterIndex.FromString(data)
        message = index.bloomFilter[0]
        for name, value in fields.items():
            message.ClearField(name)
            if isinstance(value, list):
                message.bitset.extend(value)
            elif value is not None:
                setattr(message, name, value)
        return index.SerializeToString()

    return with_stream(change)


def with_filters(*filters: KHashFilter) -> bytes:
    return with_stream(lambda data: index_of(filters))


def stored_filters() -> tuple[KHashFilter, ...]:
    """Those of `a` in the first stripe."""
    stripes, _, _ = opened(sound(), _parts)
    return read_filters(stream(stripes[0], A).data, BLOOM_FILTER_UTF8, 2, "here")


def filter_with(
    numbers: Iterable[int],
    num_bits: int = 9600,
    num_hashes: int = 7,
    form: OrcKeyForm = TODAY,
) -> KHashFilter:
    """A filter of the size of the stored ones with these values of `a`."""
    made = KHashFilter.empty(num_bits, num_hashes)
    made.insert_hashes(insertion_hashes(_column_a(), Numbers(np.array([*numbers], np.int64)), form))
    return made


@cache
def _column_a() -> OrcColumn:
    return opened(sound(), lambda file: file.column("a"))


def numbers(group: int, stripe: int = 0) -> list[int]:
    """The values of `a` in an index group of a stripe."""
    return values()["a"][stripe * STRIPE_ROWS + group * STRIDE :][:STRIDE].to_pylist()
