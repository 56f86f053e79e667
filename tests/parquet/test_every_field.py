"""What the scan of a footer finds is what the generated structs decode, in every fixture: names, values,
and places, which leave no byte out."""

import re
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, ROOT

from parquet_bloom.container.footer_fields import FooterDescription, FooterField, Several
from parquet_bloom.files import open_file
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.definition import ENUMS, fields_of, required_of
from parquet_bloom.parquet.thrift import ttypes

FILES = sorted(FIXTURES.glob("*.parquet"))

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def described(path, **limits) -> tuple[FooterDescription, bytes]:
    """The footer of a file, and the file."""
    with open_file(path) as file:
        return file.describe_footer(**limits), path.read_bytes()


def fields_in(found: FooterField) -> list[FooterField]:
    return list(found.content.fields or ())


def items_in(found: FooterField) -> list[FooterField]:
    return list(found.content.items or ())


def below(found: FooterField) -> list[FooterField]:
    """A field, and all in it."""
    return [found, *(each for one in fields_in(found) + items_in(found) for each in below(one))]


# --- against the generated structs ----------------------------------------------------------------


def as_stored(value: Any, kind: Any) -> Any:
    """A value as the generated structs have it: enums are numbers there."""
    if isinstance(value, Several):
        return [as_stored(each, kind.item) for each in value]
    if kind.words is None:
        return value
    (number,) = (number for number, word in kind.words.items() if word == value)
    return number


def compare(found: FooterField, decoded: Any) -> None:
    """A struct, and what is in it, with the same decoded by the generated code."""
    known = fields_of(type(decoded))
    named = {each.number: each for each in fields_in(found) if each.stored is None}
    defaults = {each[0]: each[4] for each in decoded.thrift_spec if each}
    for number, (name, kind) in known.items():
        value = getattr(decoded, name)
        if number not in named:
            assert value == defaults[number], name
            continue
        field = named[number]
        assert (field.name, field.type) == (name, kind.name)
        if field.content.items is not None:
            assert field.content.items.count == len(value)
            for item, of_item in zip(items_in(field), value, strict=True):
                compare(item, of_item)
        elif field.content.fields is not None:
            compare(field, value)
        else:
            assert as_stored(field.content.value, kind) == value


@each_file
def test_names_and_values_are_those_of_the_structs(path):
    found, data = described(path)
    decoded, length = compact.decode(ttypes.FileMetaData, data[found.offset :])
    assert found.metadata.length == length
    assert (found.offset + found.length + 8, found.protection) == (len(data), "plain")
    compare(found.metadata, decoded)


# --- the places -----------------------------------------------------------------------------------


def leave_no_gap(found: FooterField) -> None:
    """What is in a struct or list lies side by side, up to its end."""
    inner = fields_in(found) or items_in(found)
    for before, after in pairwise(inner):
        assert before.offset + before.length == after.offset
    if inner:
        first, last = inner[0], inner[-1]
        is_struct = found.content.fields is not None
        gap = first.offset - found.offset - found.header_bytes
        assert gap == 0 if is_struct else 1 <= gap <= 5
        # A struct ends with a zero.
        assert last.offset + last.length + is_struct == found.offset + found.length
    for each in inner:
        leave_no_gap(each)


@each_file
def test_no_byte_is_left_out(path):
    found, _ = described(path)
    leave_no_gap(found.metadata)


def is_canonical(found: FooterField) -> bool:
    """Whether the structs would write it like that: polars writes the long header where the short one
    would do, and fastparquet's empty lists have items of no type."""
    several = found.content.items or found.content.value
    is_empty = isinstance(several, Several) and several.count == 0
    return found.stored is None and found.header_bytes <= 1 and not is_empty


@pytest.mark.every(4)
@each_file
def test_each_struct_is_what_its_bytes_are(path):
    """Encoded again, it is these bytes: all of these writers write fields in the order of their ids."""
    found, data = described(path)
    structs = [each for each in below(found.metadata) if each.content.fields is not None]
    assert len(structs) > 10
    for each in structs:
        start, end = each.offset + each.header_bytes, each.offset + each.length
        decoded, length = compact.decode(getattr(ttypes, each.type), data[start:end])
        assert length == end - start
        if all(map(is_canonical, below(each))):
            assert compact.encode(decoded) == data[start:end], each


@each_file
def test_each_value_is_where_it_says(path):
    found, data = described(path)
    for each in below(found.metadata):
        value, end = each.content.value, each.offset + each.length
        if isinstance(value, bytes | str):
            stored = value.encode() if isinstance(value, str) else value
            if each.type in ("string", "binary"):
                assert data[end - len(stored) : end] == stored
        elif isinstance(value, int) and not isinstance(value, bool) and each.type != "i8":
            assert data[each.offset + each.header_bytes : end] == compact.zigzag(value)


# --- against pyarrow ------------------------------------------------------------------------------


def spelled(value: Any) -> set[str]:
    """How a literal may spell it."""
    if isinstance(value, bool):
        return {str(value).lower()}
    if isinstance(value, str):
        return {value or '""', f"\\x{value.encode().hex()}"}
    if isinstance(value, datetime):
        text = value.isoformat().replace("+00:00", "Z")
        return {text, re.sub(r"0+(Z?)$", r"\1", text)} if "." in text else {text}
    return {str(value), repr(value)} if isinstance(value, int | float | date | Decimal) else set()


@pytest.mark.every(2)
@each_file
def test_bounds_mean_what_pyarrow_reads(path):
    found, _ = described(path)
    judge = pq.read_metadata(path)
    for each in below(found.metadata):
        if each.type != "RowGroup":
            continue
        for chunk in (one for one in below(each) if one.type == "ColumnChunk"):
            statistics = judge.row_group(each.number).column(chunk.number).statistics
            bounds = {one.name: one.content.decoded for one in below(chunk) if one.content.decoded}
            if statistics is None or not statistics.has_min_max or "min_value" not in bounds:
                continue
            for name, value in (("min_value", statistics.min), ("max_value", statistics.max)):
                if expected := spelled(value):
                    assert bounds[name] in expected, chunk.name


# --- the definition -------------------------------------------------------------------------------


STRUCT = re.compile(r"^(?:struct|union) (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
REQUIRED = re.compile(r"^\s+(\d+): required ", re.MULTILINE)
FIELD = re.compile(r"^\s+\d+: (?:required |optional )?(\S+) (\w+)", re.MULTILINE)


def reachable(struct: Any, seen: set[str]) -> set[str]:
    """The names of the structs in a struct."""
    if struct.__name__ not in seen:
        seen.add(struct.__name__)
        for _, kind in fields_of(struct).values():
            inner = kind.item or kind
            if inner.struct is not None:
                reachable(inner.struct, seen)
    return seen


def test_the_types_are_those_of_the_definition():
    """Enums, too, which the generated structs do not have."""
    definition = (ROOT / "thrift" / "parquet.thrift").read_text()
    spelled = {
        name: {field: kind for kind, field in FIELD.findall(body)}
        for name, body in STRUCT.findall(definition)
    }
    used = set()
    structs = reachable(ttypes.FileMetaData, set()) | reachable(ttypes.FileCryptoMetaData, set())
    for name in structs:
        fields = dict(fields_of(getattr(ttypes, name)).values())
        assert {field: kind.name for field, kind in fields.items()} == spelled.get(name, {}), name
        used |= {(name, field) for field, kind in fields.items() if (kind.item or kind).words}
    assert used == set(ENUMS)


def test_the_required_fields_are_those_of_the_definition():
    definition = (ROOT / "thrift" / "parquet.thrift").read_text()
    for name, body in STRUCT.findall(definition):
        assert required_of(getattr(ttypes, name)) == {*map(int, REQUIRED.findall(body))}, name
