"""Values as users give them: Python, numpy, pandas, polars and pyarrow values, and literals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.values.encode import Encodings, encode, plain_value
from parquet_bloom.values.literals import encode_literal
from parquet_bloom.values.types import LeafType, literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

# What text is a value of, in arrays of bytes.
_TEXTS = ("", "BSON", "ENUM", "JSON", "STRING", "UUID")


def encode_given(leaf: LeafType, value: Any) -> Encodings:
    """The stored bytes of a value, or of a literal. Raises ValueTypeError for what cannot be a value
    of the column."""
    if isinstance(value, literal):
        return encode_literal(leaf, value.text, value.read_as)
    try:
        return encode(leaf, value)
    except ValueTypeError as error:
        holds_text = leaf.physical.endswith("BYTE_ARRAY") and leaf.logical_name in _TEXTS
        if holds_text or not isinstance(value, str):
            raise
        raise ValueTypeError(f"{error}, or pb.literal(…) to read it from text") from None


def values_of(values: Any) -> list[Any] | NDArray[Any]:
    """Each value of a list or another iterable, of a numpy or pyarrow array, of a pandas or polars
    Series. Text, bytes, and all that is not iterable are one value.

    Raises TypeError for dictionaries and tables.
    """
    is_table = hasattr(values, "columns") or hasattr(values, "column_names")
    if is_table or isinstance(values, Mapping):
        expected = "one column of it" if is_table else "one value, or a list or an array of values"
        raise TypeError(f"values: a {type(values).__name__}, expected {expected}")
    if isinstance(values, str | bytes | bytearray) or not isinstance(values, Iterable):
        return [values]
    if isinstance(values, memoryview) and values.format == "B":
        return [values]
    # polars' Series, and what pandas keeps in another way than numpy.
    if hasattr(values, "to_arrow"):
        values = _in_arrow(values)
    elif convert := getattr(getattr(values, "array", None), "__arrow_array__", None):
        values = convert()
    if not (hasattr(values, "to_pylist") or hasattr(values, "__array__")):
        return list(values)
    from parquet_bloom.values.arrays import from_array, from_arrow

    return from_arrow(values) if hasattr(values, "to_pylist") else from_array(values)


def _in_arrow(values: Any) -> Any:
    """A Series of polars as an array of pyarrow; as a list, if it is of a type that only polars has, such as
    integers of 128 bits."""
    try:
        return values.to_arrow()
    except ValueError:
        return values.to_list()


def texts_of(values: Any) -> list[str]:
    """Values as reports show them: the text of a literal, bytes as `0x…`, `null`."""
    # At once, as one by one is far slower; but not times, which lose nanoseconds.
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    return list(map(_text_of, values.tolist() if kind and kind in "iufSU" else values))


def _text_of(value: Any) -> str:
    if isinstance(value, literal):
        return value.text
    value = plain_value(value)
    if value is None:
        return "null"
    return (
        f"0x{bytes(value).hex()}"
        if isinstance(value, bytes | bytearray | memoryview)
        else str(value)
    )
