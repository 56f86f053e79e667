"""Columns of every type that Arrow has and Parquet or ORC can hold, for pyarrow of any version."""

import decimal

import pyarrow as pa
import values

# Days that fit 64 bits of nanoseconds.
NEAR = (-106_751, 106_750)


def column(kind, items, make=None):
    made = [None if each is None else each if make is None else make(each) for each in items]
    return pa.array(values.with_nulls(made), kind)


def raw(kind, width, items):
    """Numbers as the days, clocks and moments that Python's own types cannot hold."""
    return pa.array(values.with_nulls(items), width).cast(kind)


def numbers():
    for bits in (8, 16, 32, 64):
        yield f"int{bits}", lambda bits=bits: column(f"int{bits}", values.integers(bits))
        yield f"uint{bits}", lambda bits=bits: column(f"uint{bits}", values.integers(bits, False))
    yield "float", lambda: column(pa.float32(), values.floats(4))
    yield "double", lambda: column(pa.float64(), values.floats(8))
    for precision, scale in ((1, 0), (4, 2), (9, 2), (10, 0), (18, 6), (19, 0), (28, 10), (38, 38)):
        yield (
            f"decimal_{precision}_{scale}",
            lambda p=precision, s=scale: column(pa.decimal128(p, s), values.decimals(p, s)),
        )


def halves():
    yield (
        "half",
        lambda: pa.array(list(map(half, values.with_nulls(values.floats(2)))), pa.float16()),
    )


def half(number):
    import numpy as np

    return None if number is None else np.float16(number)


def wide_decimals():
    for precision, scale in ((39, 3), (76, 20)):
        yield (
            f"decimal_{precision}_{scale}",
            lambda p=precision, s=scale: column(pa.decimal256(p, s), values.decimals(p, s)),
        )


def bytes_and_texts():
    yield "text", lambda: column(pa.string(), values.texts())
    yield "large_text", lambda: column(pa.large_string(), values.texts())
    yield "category", lambda: column(pa.string(), values.few_texts()).dictionary_encode()
    yield "binary", lambda: column(pa.binary(), values.binaries())


def fixed():
    for length in (1, 3, 12, 16):
        yield (
            f"fixed_{length}",
            lambda length=length: column(pa.binary(length), values.binaries(length)),
        )
    yield (
        "uuid",
        lambda: pa.ExtensionArray.from_storage(
            pa.uuid(), column(pa.binary(16), values.uuids(), lambda each: each.bytes)
        ),
    )


def dates():
    yield "date", lambda: raw(pa.date32(), pa.int32(), values.days())


def clocks():
    for unit in ("s", "ms", "us", "ns"):
        kind, width = (
            (pa.time32(unit), pa.int32()) if unit in ("s", "ms") else (pa.time64(unit), pa.int64())
        )
        yield f"time_{unit}", lambda k=kind, w=width, u=unit: raw(k, w, values.clocks(u))


def moments(units=("s", "ms", "us", "ns")):
    for unit in units:
        for zone in (None, "UTC", "America/New_York"):
            name = f"timestamp_{unit}_{(zone or 'local').rpartition('/')[2].lower()}"
            kind = pa.timestamp(unit, zone)
            yield name, lambda k=kind, u=unit: raw(k, pa.int64(), values.moments(u))


def near_moments():
    """Not beyond what ORC and INT96 readers take for nanoseconds: 1677 to 2262."""
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC"):
            name = f"near_{unit}_{(zone or 'local').lower()}"
            kind = pa.timestamp(unit, zone)
            yield name, lambda k=kind, u=unit: raw(k, pa.int64(), values.moments(u, *NEAR))


def nested():
    numbers, texts = values.integers(64), values.texts()
    rows = range(values.ROWS)
    lists = [None if row % 11 == 0 else texts[row : row + row % 4] for row in rows]
    pairs = [
        None if row % 13 == 0 else {"a": numbers[row], "b": {"c": texts[row] if row % 3 else None}}
        for row in rows
    ]
    yield "list_of_text", lambda: pa.array(lists, pa.list_(pa.string()))
    yield (
        "list_of_struct",
        lambda: pa.array(
            [None if row % 11 == 0 else pairs[row : row + row % 3] for row in rows],
            pa.list_(pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))])),
        ),
    )
    yield (
        "struct",
        lambda: pa.array(
            pairs, pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))])
        ),
    )
    yield (
        "map",
        lambda: pa.array(
            [[(texts[row] + str(k), numbers[row - k]) for k in range(row % 3)] for row in rows],
            pa.map_(pa.string(), pa.int64()),
        ),
    )


PARQUET = (
    numbers,
    halves,
    wide_decimals,
    bytes_and_texts,
    fixed,
    dates,
    clocks,
    moments,
    near_moments,
    nested,
)
# What ORC has, and readers of every age.
SIMPLE = ORC = (numbers, bytes_and_texts, dates, near_moments, nested)


def table(makers, is_written):
    """The columns that this version can make and `is_written` says it can write; and the others."""
    decimal.getcontext().prec = 100
    columns, refused = {}, {}
    for name, make in (pair for maker in makers for pair in maker()):
        try:
            made = make()
            is_written(pa.table({name: made}))
            columns[name] = made
        except Exception as error:
            refused[name] = f"{type(error).__name__}: {error}"
    return pa.table(columns), refused
