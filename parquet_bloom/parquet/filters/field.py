"""Values of a field of a VARIANT, looked up in the filter of its typed leaf.

    v (VARIANT) | metadata | value | typed_value | a | value | typed_value   the filter of this one is asked
                             …                         …       and is believed where these have nothing of the field

A value that is `absent` is in no row for which `cast(v:a as T) = value` holds, where T is the type of the
typed leaf, or one to which that is cast without making values equal. What has another type is in a residual,
be it the same number or text that reads as that number: there, `absent` becomes `maybe`. The residual of an
object around the field does not matter in rows in which that object is shredded in part, as it then has other
fields only. And a value that looks like one of another type is not looked up at all: 40 may be asked of a
cast to an integer, which 40.4 becomes, too.

Spec: parquet-format, VariantShredding.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from parquet_bloom.container import Answer, Explanation, GroupAnswers, number_of
from parquet_bloom.container.asked_once import AskedOnce
from parquet_bloom.errors import ParquetBloomError, UnsupportedError, ValueTypeError
from parquet_bloom.parallel import read_once
from parquet_bloom.parquet.filters.agreed import has_nanoseconds, is_agreed
from parquet_bloom.parquet.filters.asked import Asked
from parquet_bloom.parquet.footer.schema import level_of
from parquet_bloom.parquet.footer.shredded import TYPED
from parquet_bloom.parquet.pages.pages import chunk_runs, definition_levels
from parquet_bloom.values.encode import Encodings
from parquet_bloom.values.given import plain_value, show_values
from parquet_bloom.values.literals import encode_given, look_of
from parquet_bloom.values.types import LeafType, literal
from parquet_bloom.vocabulary import NOT_HELD

if TYPE_CHECKING:
    from parquet_bloom.parquet.filters.probe import ChunkProber
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.parquet.footer.shredded import ShreddedField
    from parquet_bloom.parquet.open_file import OpenFile
    from parquet_bloom.vocabulary import Verdict

# What engines may read as a number, date or time, although we do not.
_DIGITS: Final = frozenset("0123456789")
_AROUND_DIGITS: Final = _DIGITS | {*" .:/+-TZ"}

# The null of VARIANT, which no value is equal to.
_NULL: Final = b"\0"

# Of the field's columns, as they are stored: to read more takes longer than a filter may save.
_MOST_READ: Final = 1 << 20

# Why a filter is not believed.
NOT_COUNTED: Final = "nobody has counted how many values of the field are not shredded"


class FieldProber:
    """Asks the filter of the typed leaf in one row group, and believes it as far as that goes."""

    def __init__(self, prober: ChunkProber, elsewhere: Elsewhere) -> None:
        self._prober = prober
        self._elsewhere = elsewhere

    def answers(self, asked: Asked) -> tuple[GroupAnswers]:
        (group,) = self._prober.answers(asked)
        return (self._believed(group),)

    def explained(
        self, asked: Asked
    ) -> tuple[tuple[GroupAnswers], Sequence[tuple[Explanation, ...]]]:
        """The same, and the look-ups in the filter."""
        (group,), explanations = self._prober.explained(asked)
        return (self._believed(group),), explanations

    def _believed(self, group: GroupAnswers) -> GroupAnswers:
        if all(each.verdict != "absent" for each in group.distinct):
            return group
        doubt = self._elsewhere.doubt
        if doubt is None:
            return group
        distinct = [
            Answer(each.place, *doubt, each.num_rows, each.first_row)
            if each.verdict == "absent"
            else each
            for each in group.distinct
        ]
        # Most values that are not there are not excluded.
        return group._replace(distinct=distinct, fpp=None)


def check_shredded(file: OpenFile, field: ShreddedField, parts: Iterable[int]) -> None:
    """Raise UnsupportedError if a row group has values of a field that are not shredded, into which nothing here
    looks."""
    for part in parts:
        doubt = Elsewhere(file, field, part).doubt
        if doubt is not None:
            raise UnsupportedError(
                f"{file.path}: row group {part}, column {field.name}: {doubt[1]}: look for the rows"
                " with an engine"
            )


class Elsewhere:
    """What a row group has of a field outside of its typed leaf."""

    def __init__(self, file: OpenFile, field: ShreddedField, part: int) -> None:
        self._file, self._field, self._part = file, field, part

    @property
    def counts(self) -> list[tuple[str, LeafColumn, int | None]]:
        """How many values each residual has that has any, as the footer says; None where it does not."""
        found = [(name, leaf, self._count(leaf)) for name, leaf in self._field.residuals]
        return [each for each in found if each[2] != 0]

    @read_once
    def doubt(self) -> tuple[Verdict, str] | None:
        """What a value is that the filter has not got, and why; None if it is absent. Small residuals are read."""
        left = [(name, self._left(name, leaf, count)) for name, leaf, count in self.counts]
        if any(count is None for _, count in left):
            return "unknown", NOT_COUNTED
        reasons = [
            f"{number_of(count, 'value')} of {name or 'the field'}"
            f" {'is' if count == 1 else 'are'} not {'wholly ' if name else ''}shredded"
            for name, count in reversed(left)
            if count
        ]
        return ("maybe", " and ".join(reasons)) if reasons else None

    def _count(self, leaf: LeafColumn) -> int | None:
        chunk = self._chunk(leaf)
        num_rows = self._file.footer.row_group_num_rows(self._part)
        if chunk.num_values != num_rows or chunk.null_count is None:
            return None
        count = chunk.num_values - chunk.null_count
        return count if 0 <= count <= chunk.num_values else None

    def _chunk(self, leaf: LeafColumn) -> ColumnChunk:
        return self._file.footer.chunk(self._part, leaf)

    def _left(self, name: str, leaf: LeafColumn, count: int | None) -> int | None:
        """How many values of a residual may be of the field; all of them where it is too large to be read, or
        cannot be."""
        chunks = [self._chunk(each) for each in (leaf, self._field)]
        if sum(chunk.total_compressed_size or 0 for chunk in chunks) > _MOST_READ:
            return count
        try:
            return self._read(name, leaf)
        except ParquetBloomError:
            return count

    def _read(self, name: str, leaf: LeafColumn) -> int:
        source, footer, chunk = self._file.source, self._file.footer, self._chunk(leaf)
        if all(
            value == _NULL
            for each in chunk_runs(source, footer, chunk)
            for value in each.run.values()
        ):
            return 0
        is_there = definition_levels(source, footer, chunk) == leaf.max_definition_level
        level = level_of(footer.elements(), (*leaf.path[:-1], TYPED)) if name else None
        if level is not None:
            # Where there is a typed object, too, the residual has other fields only.
            typed = definition_levels(source, footer, self._chunk(self._field))
            is_there &= typed < level
        return int(is_there.sum())


# ------------------------------------------------------------------------------------------------
# What can be asked


class AskedOfField(Asked):
    """Values to look up in the filters of a field, one by one. What its typed leaf cannot hold, or holds otherwise,
    is `unknown`: it can be in a residual, and casts make other values equal to it."""

    is_many = False

    @read_once
    def encodings(self) -> Sequence[Encodings]:
        return [_encoded(self._leaf, value) for value in self._values]


asked_of_field: Final[AskedOnce[LeafType, AskedOfField]] = AskedOnce(AskedOfField)


def _encoded(leaf: LeafType, value: object) -> Encodings:
    looked_up = _as_it_looks(value)
    if leaf.physical != "BOOLEAN" and not _is_told_apart(leaf, looked_up):
        (text,) = show_values([value])
        return Encodings(
            (),
            f"{text}: a cast of {leaf} may make other values equal to it: expected {_expected(leaf)}",
        )
    try:
        found = encode_given(leaf, value)
    except ValueTypeError as error:
        return Encodings((), str(error))
    if found.unknown in NOT_HELD:
        # Its typed leaf does not, but a residual may.
        return Encodings((), f"{show_values([value])[0]}: {found.unknown}")
    return found


def _as_it_looks(value: object) -> object:
    """The value of a literal; of one without a type, what it would be in a query, where 40.5 is a decimal."""
    if not isinstance(value, literal):
        return plain_value(value)
    if value.read_as == "string":
        return value.text
    found = look_of(value.text)
    if isinstance(found, str) and {*value.text} <= _AROUND_DIGITS and _DIGITS & {*value.text}:
        return None
    if value.read_as != "float" and "e" not in value.text.lower():
        return found
    if isinstance(found, Decimal) and found.is_finite():
        return float(found)
    return float(found) if type(found) is int else found


def _is_told_apart(leaf: LeafType, value: object) -> bool:
    """Whether a cast to the type of `value`, as that looks, keeps it apart from all other values of the leaf."""
    if leaf.is_float and not isinstance(value, float):
        return False
    if leaf.logical_name == "DECIMAL" and leaf.logical and leaf.logical.scale:
        exponent = value.as_tuple().exponent if isinstance(value, Decimal) else 0
        if not isinstance(exponent, int) or -exponent < leaf.logical.scale:
            return False
    return is_agreed(leaf, [value]) and not has_nanoseconds(leaf)


def _expected(leaf: LeafType) -> str:
    match leaf.logical_name:
        case "DECIMAL" if leaf.logical:
            return f"{leaf.logical.scale} digits after the point"
        case "TIMESTAMP" if leaf.logical and not has_nanoseconds(leaf):
            return f"a time with{'' if leaf.logical.utc else 'out'} a zone"
        case "DATE":
            return "a date"
        case "STRING":
            return "text, in quotes if it looks like something else"
    if leaf.is_float:
        return "a floating-point number, as by --type float, that the type has exactly"
    return "an integer" if leaf.physical in ("INT32", "INT64") else "another column"
