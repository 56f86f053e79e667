"""Every defective ORC file, by the id of the rule that must find it."""

import io
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyorc
from make.handmade_orc import DATA, Stream, Stripe, index_of
from make.orc_defect_files import (
    ROWS,
    STRIDE,
    A,
    OrcDefect,
    edited,
    filter_with,
    numbers,
    sound,
    stored_filters,
    stream,
    values,
    with_filters,
    with_first_filter,
    with_stream,
    with_streams,
    written,
)

from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc.bloom import OrcKeyForm, read_filters
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8, ROW_INDEX

# ------------------------------------------------------------------------------------------------
# PB60x: what is no index, no stream or no filter


def index_behind_data() -> bytes:
    def change(stripe: Stripe) -> None:
        stripe.streams = [*stripe.streams[1:], stripe.streams[0]]

    return with_streams(change)


def lengths_disagree() -> bytes:
    """The stripe says that its index is a byte shorter than the streams of it."""

    def change(stripe: Stripe) -> None:
        index = sum(len(each.data) for each in stripe.streams if each.kind in (6, 7, 8))
        data = sum(len(each.data) for each in stripe.streams) - index
        stripe.place = {"indexLength": index - 1, "dataLength": data + 1}

    return with_streams(change)


def of_another_row_count() -> bytes:
    return edited(sound(), lambda stripes, footer: footer.update(numberOfRows=1))


def pre_release() -> bytes:
    """Hive of spring 2015: expected entries, FPP and words, in a BLOOM_FILTER stream."""
    words = b"".join(b"\x18" + b"\x81\x01" for _ in range(10))
    message = b"\x08\x90\x4e" + b"\x11" + struct.pack("<d", 0.05) + words
    data = 2 * (b"\x0a" + bytes([len(message)]) + message)

    def change(stripe: Stripe) -> None:
        found = stream(stripe, A)
        found.kind, found.data = BLOOM_FILTER, data

    return with_streams(change)


def of_unknown_column() -> bytes:
    def change(stripe: Stripe) -> None:
        last = max(n for n, each in enumerate(stripe.streams) if each.kind == BLOOM_FILTER_UTF8)
        extra = Stream(BLOOM_FILTER_UTF8, 9, index_of(stored_filters()))
        stripe.streams = [*stripe.streams[: last + 1], extra, *stripe.streams[last + 1 :]]

    return with_streams(change)


def without_row_index() -> bytes:
    def change(stripe: Stripe) -> None:
        stripe.streams = [
            each for each in stripe.streams if (each.kind, each.column) != (ROW_INDEX, A)
        ]

    return with_streams(change)


def damaged_row_index() -> bytes:
    def change(stripe: Stripe) -> None:
        found = stream(stripe, A, ROW_INDEX)
        found.data = b"\xff" * len(found.data)

    return with_streams(change)


def narrow_row_index() -> bytes:
    """The least value of the first index group of `a` is below what the row index says."""

    def change(stripe: Stripe) -> None:
        found = stream(stripe, A, ROW_INDEX)
        index = orc_pb2.RowIndex.FromString(found.data)
        index.entry[0].statistics.intStatistics.minimum += 1
        found.data = index.SerializeToString()

    return with_streams(change)


def twice() -> bytes:
    def change(stripe: Stripe) -> None:
        at = stripe.streams.index(stream(stripe, A))
        stripe.streams = [*stripe.streams[: at + 1], *stripe.streams[at:]]

    return with_streams(change)


def cut_data() -> bytes:
    """The data of `a` is there in part only."""

    def change(stripe: Stripe) -> None:
        found = stream(stripe, A, DATA)
        found.data = b"\xff" * len(found.data)

    return with_streams(change)


def halves() -> bytes:
    """The second filter is twice as large as the first one."""
    first, _ = stored_filters()
    return with_filters(first, filter_with(numbers(1), 2 * first.num_bits, first.num_hashes))


def other_bits() -> list[int]:
    return [*stored_filters()[0].words.tolist()[:-1], 1]


STRUCTURE = (
    OrcDefect(
        "index behind data", "PB601", index_behind_data, column=None, index_group=None,
    ),
    OrcDefect("a stripe is lost", "PB115", of_another_row_count, None, None, None),
    OrcDefect("lengths", "PB601", lengths_disagree, column=None, index_group=None),
    OrcDefect("no message", "PB602", lambda: with_stream(lambda data: b"\xff" + data),
              index_group=None),
    OrcDefect("of spring 2015", "PB603", pre_release, index_group=None),
    OrcDefect("one too few", "PB604", lambda: with_filters(stored_filters()[0]),
              index_group=None),
    OrcDefect("no bits", "PB605", lambda: with_first_filter(utf8bitset=None)),
    OrcDefect("12 bytes", "PB605", lambda: with_first_filter(utf8bitset=bytes(12))),
    OrcDefect("another bitset", "PB606", lambda: with_first_filter(bitset=other_bits())),
    OrcDefect("no hashes", "PB607", lambda: with_first_filter(numHashFunctions=0)),
    OrcDefect("10,000 hashes", "PB607", lambda: with_first_filter(numHashFunctions=10_000)),
    OrcDefect("column 9", "PB608", of_unknown_column, column=None, index_group=None),
    OrcDefect("no ROW_INDEX", "PB609", without_row_index, index_group=None),
    OrcDefect("the stream twice", "PB610", twice, index_group=None),
    OrcDefect("other data", "PB611", cut_data, index_group=None, deep=True),
    OrcDefect("no RowIndex", "PB613", damaged_row_index, index_group=None),
    OrcDefect("a minimum that is one too much", "PB614", narrow_row_index, deep=True),
    OrcDefect("behind another", "PB612", lambda: sound() + sound(), None, None, None),
)  # fmt: skip


# ------------------------------------------------------------------------------------------------
# PB62x, PB651: what readers do not ask


def by(**fields: Any) -> bytes:
    return edited(sound(), lambda stripes, footer: footer.update(fields))


def with_encoding(bloom_encoding: int | None, column: int = A) -> bytes:
    def change(stripe: Stripe) -> None:
        encodings = stripe.footer["columns"]
        encodings[column].ClearField("bloomEncoding")
        if bloom_encoding is not None:
            encodings[column].bloomEncoding = bloom_encoding

    return with_streams(change)


def by_old_java(column: pa.Array, version: int) -> bytes:
    """The filters of today in a file of another writerVersion."""
    data = written(pa.table({"a": column, "s": values()["s"]}), [A])
    more = {"writer": 0, "postscript": {"writerVersion": version}}
    return edited(data, lambda stripes, footer: footer.update(more))


def moments() -> pa.Array:
    return pa.array(range(1, ROWS + 1), pa.int64()).cast(pa.timestamp("ms"))


def short_decimals() -> pa.Array:
    return pa.array([Decimal(number) for number in range(ROWS)], pa.decimal128(18, 0))


def without_statistics(stripe: Stripe) -> None:
    found = stream(stripe, A, ROW_INDEX)
    index = orc_pb2.RowIndex.FromString(found.data)
    for entry in index.entry:
        entry.ClearField("statistics")
    found.data = index.SerializeToString()


def as_bloom_filter(stripe: Stripe) -> None:
    found = stream(stripe, A)
    filters = read_filters(found.data, BLOOM_FILTER_UTF8, 2, "here")
    found.kind, found.data = BLOOM_FILTER, index_of(filters, BLOOM_FILTER)


def encrypted() -> bytes:
    variant = orc_pb2.EncryptionVariant(root=A)
    return by(encryption=orc_pb2.Encryption(variants=[variant]))


def instants() -> bytes:
    column = moments().cast(pa.timestamp("ms", "UTC"))
    return written(pa.table({"a": column, "s": values()["s"]}), [A])


def lists() -> bytes:
    column = pa.array([[number] for number in values()["a"].to_pylist()])
    return written(pa.table({"a": column, "s": values()["s"]}), [A + 1])


def booleans() -> bytes:
    column = pa.array([n % 3 == 0 for n in range(ROWS)])
    return written(pa.table({"a": column, "s": values()["s"]}), [A])


PORTABILITY = (
    OrcDefect("BOOLEAN", "PB621", booleans, index_group=None),
    OrcDefect("C++ 1.6.11", "PB621", lambda: by(softwareVersion=b"1.6.11"), index_group=None,
              deep=False),
    OrcDefect("C++ without a version", "PB621", lambda: by(softwareVersion=b""),
              index_group=None),
    OrcDefect("TIMESTAMP of before ORC-135", "PB622",
              lambda: by_old_java(moments(), 5), index_group=None),
    OrcDefect("short DECIMAL of ORC-135", "PB622",
              lambda: by_old_java(short_decimals(), 6), index_group=None),
    OrcDefect("bloomEncoding 0", "PB623", lambda: with_encoding(None), index_group=None),
    OrcDefect(
        "no statistics", "PB621", lambda: with_streams(without_statistics), index_group=None
    ),
    OrcDefect("bloomEncoding 2", "PB621", lambda: with_encoding(2), index_group=None),
    OrcDefect("BLOOM_FILTER alone", "PB623", lambda: with_streams(as_bloom_filter),
              index_group=None),
    OrcDefect("bitset in BLOOM_FILTER_UTF8", "PB624", lambda: with_first_filter(
        utf8bitset=None, bitset=stored_filters()[0].words.tolist())),
    OrcDefect("filters of two sizes", "PB625", halves, index_group=None),
    OrcDefect("TIMESTAMP_INSTANT", "PB626", instants, index_group=None),
    OrcDefect("FLOAT by pyarrow", "PB627", lambda: by_pyarrow(
        pa.array([(row + 1) / 7 for row in range(ROWS)], pa.float32())), index_group=None),
    OrcDefect("elements of a list", "PB628", lists, column="a._elem", index_group=None),
    OrcDefect("an encrypted column", "PB651", encrypted, index_group=None),
)  # fmt: skip


# ------------------------------------------------------------------------------------------------
# PB3xx


def full(share: float) -> KHashFilter:
    """So many of the bits are set."""
    random = np.random.default_rng(1)
    bits = random.random(9600) < share
    return KHashFilter.from_bytes(np.packbits(bits, bitorder="little").tobytes(), 7)


def in_one_stripe() -> bytes:
    def change(stripe: Stripe) -> None:
        stripe.streams = [each for each in stripe.streams if each != stream(stripe, A)]

    return with_streams(change)


def mostly_filters() -> bytes:
    column = pa.array(range(80 * STRIDE))
    return written(pa.table({"a": column}), [A])


QUALITY = (
    OrcDefect("saturated", "PB301", lambda: with_filters(full(0.95), stored_filters()[1])),
    OrcDefect("too full", "PB302", lambda: with_filters(full(0.8), stored_filters()[1])),
    OrcDefect("every bit", "PB303", lambda: with_filters(full(2), stored_filters()[1])),
    OrcDefect("one of two stripes", "PB307", in_one_stripe, stripe=None, index_group=None),
    OrcDefect("small integers", "PB309", mostly_filters, stripe=None, column=None,
              index_group=None),
    OrcDefect("none", "PB310", sound, column="t", index_group=None, policy={"require": ("t",)}),
    OrcDefect("in one stripe", "PB310", in_one_stripe, index_group=None,
              policy={"require": ("a",)}),
    OrcDefect("no such column", "PB310", sound, stripe=None, index_group=None, column="none",
              policy={"require": ("none",)}),
    OrcDefect("1 in 100", "PB311", sound, policy={"max_fpp": 0.001}),
    OrcDefect("1,200 bytes", "PB312", sound, policy={"max_bytes": 1000}),
)  # fmt: skip


# ------------------------------------------------------------------------------------------------
# PB4xx


def one_bit_cleared() -> bytes:
    first, second = stored_filters()
    bits = bytearray(first.bitset)
    at = next(place for place, byte in enumerate(bits) if byte)
    bits[at] &= bits[at] - 1
    return with_filters(KHashFilter.from_bytes(bits, first.num_hashes), second)


def exchanged() -> bytes:
    return with_filters(*reversed(stored_filters()))


def with_more() -> bytes:
    return with_filters(filter_with([*numbers(0), *numbers(1)[:50]]), stored_filters()[1])


def with_too_many() -> bytes:
    """All values of two stripes, in a filter that has room for them."""
    everything = [value for place in range(4) for value in numbers(place % 2, place // 2)]
    first, second = (filter_with(everything, 38_400) for _ in range(2))
    return with_filters(first, second)


def empty() -> bytes:
    first, second = stored_filters()
    return with_filters(KHashFilter.empty(first.num_bits, first.num_hashes), second)


def by_pyarrow(column: pa.Array) -> bytes:
    return written(pa.table({"a": column, "s": values()["s"], "t": values()["t"]}), [A])


def narrow() -> pa.Array:
    """The first eighth of each index group has values that the rest of it has not."""
    numbers = [row % STRIDE - 128 for row in range(ROWS)]
    return pa.array([number if number < -3 else 7 for number in numbers], pa.int8())


def before_1970() -> pa.Array:
    """With digits that milliseconds do not have."""
    micros = [-(row * 10_000_019 + 2_000_001) for row in range(ROWS)]
    return pa.array(micros, pa.timestamp("us"))


def by_pyorc(type: str, *column: Any) -> bytes:
    out = io.BytesIO()
    with pyorc.Writer(
        out, f"struct<a:{type}>", row_index_stride=STRIDE, bloom_filter_columns=(A,),
        bloom_filter_fpp=0.01,
    ) as writer:  # fmt: skip
        writer.writerows((value,) for value in column)
    return out.getvalue()


def decimals_of_39_digits() -> bytes:
    """Numbers of any length, as Hive 0.11 has them."""

    def change(stripes: list[Stripe], footer: dict[str, Any]) -> None:
        footer["types"][A].scale = 39

    column = pa.array([Decimal(number) for number in range(ROWS)], pa.decimal128(18, 0))
    return edited(by_pyarrow(column), change)


def of_generation(software: bytes, *, logical_shifts: bool) -> bytes:
    """Filters of `a` with these shifts in a file by ORC C++ of this version."""
    form = OrcKeyForm(logical_shifts=logical_shifts)

    def change(stripes: list[Stripe], footer: dict[str, Any]) -> None:
        footer["softwareVersion"] = software
        for index, stripe in enumerate(stripes):
            filters = [filter_with(numbers(group, index), form=form) for group in range(2)]
            stream(stripe, A).data = index_of(filters)

    return edited(sound(), change)


def zeros() -> pa.Array:
    return pa.array([0.0, *range(1, ROWS)], pa.float64())


TRUTH = (
    OrcDefect("one bit cleared", "PB401", one_bit_cleared, deep=True),
    OrcDefect("of the other index group", "PB401", exchanged, index_group=1, deep=True),
    OrcDefect("BYTE by pyarrow", "PB401", lambda: by_pyarrow(narrow()), deep=True),
    OrcDefect("TIMESTAMP by pyarrow", "PB401", lambda: by_pyarrow(before_1970()), deep=True),
    OrcDefect("FLOAT by pyorc", "PB401",
              lambda: by_pyorc("float", *(row / 7 for row in range(ROWS))), deep=True,
              beside=frozenset({"PB614"})),
    OrcDefect("CHAR by pyorc", "PB401",
              lambda: by_pyorc("char(8)", *(f"n{row}" for row in range(ROWS))), deep=True),
    OrcDefect("no bit in ORC", "PB402", empty),
    OrcDefect("0.0 by pyarrow", "PB403", lambda: by_pyarrow(zeros()), deep=True),
    OrcDefect("50 values more", "PB405", with_more, deep=True),
    OrcDefect("values of two stripes", "PB409", with_too_many),
    OrcDefect("DECIMAL of 39 digits", "PB408", decimals_of_39_digits, index_group=None, deep=True),
)  # fmt: skip

ORC = (*STRUCTURE, *PORTABILITY, *QUALITY, *TRUTH)
