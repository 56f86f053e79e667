"""The judge of writers: whether the filters of a file know every value that its pages hold, and are bit for bit what
they should be.

Pages and headers are read as the package reads them; the bits are judged by the specification in `split_block`.
"""

from __future__ import annotations

import json
import struct as packing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any, Final

from parquet_bloom.conformance.adapter import Session, said
from parquet_bloom.conformance.case import Level
from parquet_bloom.conformance.report import Result
from parquet_bloom.conformance.split_block import BLOCK, bitset, has, rate
from parquet_bloom.conformance.written_columns import distinct_values
from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ConfigError, FilterError, ParquetBloomError
from parquet_bloom.filters.rates import percent
from parquet_bloom.parquet.filters.bloom import StoredFilter, read_header
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.pages import chunk_runs
from parquet_bloom.storage import open_source

# What is looked at in each column, and whether a writer must, or should, do it right.
CHECKS: Final[Mapping[str, Level]] = {
    "values": "must",
    "header": "must",
    "bits": "should",
    "zeros": "should",
    "nan": "should",
    "size": "should",
    "rate": "may",
}
# Of these nothing is known where the header leads to no bits.
_BY_BITS: Final = frozenset(("values", "bits", "zeros", "nan", "rate"))
UNKNOWN: Final = "unknown writer"
# A filter of so few bytes is never too large.
SMALL: Final = 1024
# A filter that lets more of the absent values through is of little use.
MOST_PASSED: Final = 0.5
_FORMS: Final = {"FLOAT": "<f", "DOUBLE": "<d", "FLOAT16": "<e"}


def write_results(
    folder: Path,
    columns: Sequence[Mapping[str, Any]],
    session: Session | None,
    written: Path,
    progress: Callable[[int, int], None],
) -> Iterator[Result]:
    """The results of each column of a manifest, which the session writes into the folder `written`, or somebody has
    already. Raises AdapterError."""
    for number, column in enumerate(columns):
        output = output_of(written, column["id"])
        reason, is_declined = "", False
        if session is not None:
            reason, is_declined = _write(folder, column, session, output)
        distinct = distinct_values(json.loads((folder / column["values"]).read_bytes()))
        yield from judged(column, distinct, output, reason, is_declined)
        progress(number + 1, len(columns))


def result_ids(columns: Sequence[str]) -> list[str]:
    """Of the results of these columns."""
    return [f"{check}/{column}" for column in columns for check in CHECKS]


def check_written(written: Path, columns: Sequence[Mapping[str, Any]]) -> None:
    """Raise ConfigError if no column is in a folder, which somebody else has written: it may be another one,
    or none."""
    if not written.is_dir():
        raise ConfigError(f"{written}: no such folder")
    outputs = [output_of(written, column["id"]) for column in columns]
    if not any(output.exists() for output in outputs):
        raise ConfigError(f"{written}: nothing to judge, expected files such as {outputs[0].name}")


def output_of(written: Path, column: str) -> Path:
    """The file of a column."""
    return written / f"{column}.parquet"


def created_by(written: Path) -> str:
    """What the first file of a folder says that wrote it."""
    for path in sorted(written.glob("*.parquet"))[:1]:
        with suppress(ParquetBloomError), OpenFile(open_source(path)) as file:
            return file.footer.created_by or UNKNOWN
    return UNKNOWN


def _write(
    folder: Path, column: Mapping[str, Any], session: Session, output: Path
) -> tuple[str, bool]:
    """Why the column is not there, empty if it is; and whether the engine says that it cannot write it."""
    values = str((folder / column["values"]).absolute())
    question = {"id": column["id"], "values": values, "output": str(output.absolute())}
    answer = session.ask(question)
    if "written" in answer:
        return "", False
    return said(answer), "skip" in answer


def judged(
    column: Mapping[str, Any],
    distinct: Sequence[int],
    output: Path,
    reason: str = "",
    is_declined: bool = False,
) -> Iterator[Result]:
    """A result for each check; if there is no file to be read, that of the header says so. `distinct`: how many
    values each leaf is to have; `reason`: why no file is expected; `is_declined`: as the engine says."""
    all_found: Mapping[str, Sequence[str]] = dict.fromkeys(CHECKS, ())
    unreadable, lost, is_empty = "", False, False
    bare: Sequence[str] = ()
    bitless = ""
    if not reason:
        try:
            file = JudgedFile.of(output)
        except FileNotFoundError:
            unreadable = "no such file"
        except (ParquetBloomError, OSError) as error:
            unreadable = str(error).replace(str(output), output.name)
        else:
            is_empty = not file.has_filters and not file.has_values
            reason = file.differs(column["rows"], distinct)
            if not reason and not file.has_filters and not is_empty:
                reason = "no chunk has a filter"
            all_found = {check: (*file.found(check),) for check in CHECKS}
            lost, bare, bitless = bool(all_found["values"]), file.bare, file.bitless
    for check, level in CHECKS.items():
        result = partial(Result, f"{check}/{column['id']}", level, about=column["about"])
        found, more = _with_others(all_found[check])
        if reason:
            yield result("not applicable", reason, is_declined=is_declined)
        elif unreadable and check != "header":
            yield result("not applicable", unreadable, is_declined=True)
        elif unreadable:
            yield result("fails", unreadable)
        elif is_empty and check != "size":
            yield result("not applicable", "no values, and no filter", is_declined=True)
        elif check in ("zeros", "nan") and not column["is_float"]:
            found_none = "no floating-point numbers"
            yield result("not applicable", found_none, is_declined=True)
        elif check in _BY_BITS and bitless and not found:
            yield result("not applicable", bitless, is_declined=True)
        elif check == "values" and lost:
            yield result("loses", found, more=(*more, *bare))
        elif check == "values":
            found, more = _with_others(bare)
            yield result("right", found, more=more)
        else:
            yield result("fails" if found else "right", found, more=more)


def _with_others(found: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The first, with the number of the others, and these; empty if nothing is found."""
    first, *others = found or ("",)
    return first + (f"; {len(others)} more" if others else ""), (*others,)


@dataclass(frozen=True, slots=True)
class JudgedChunk:
    """A chunk with a filter, or one that has none: `header` is None."""

    where: str
    leaf: int
    form: str
    values: frozenset[bytes]
    header: StoredFilter | None
    bits: bytes
    overlaps: bool
    page_bytes: int

    def found(self, check: str) -> str:
        """What is wrong, or empty."""
        if self.header is None:
            return ""
        why: str = getattr(self, f"_{check}")(self.header)
        return f"{self.where}: {why}" if why else ""

    def _values(self, header: StoredFilter) -> str:
        if not self.is_usable:
            return ""
        lost = sorted(
            value for value in self.values if not self.is_nan(value) and not has(self.bits, value)
        )
        if not lost:
            return ""
        return f"{len(lost)} of {len(self.values)} values are not in the filter, one of them 0x{lost[0].hex()[:64]}"

    def _header(self, header: StoredFilter) -> str:
        size = header.num_bytes
        if size < BLOCK or size % BLOCK:
            return f"numBytes is {size}, expected a multiple of {BLOCK}"
        kinds = header.algorithm, header.hash, header.compression
        if kinds != ("BLOCK", "XXHASH", "UNCOMPRESSED"):
            return f"{', '.join(kinds)}, expected BLOCK, XXHASH, UNCOMPRESSED"
        if len(self.bits) != size or self.overlaps:
            return "the filter overlaps pages, indexes or the footer"
        expected = header.header_bytes + size
        if header.length is None:
            return f"no bloom_filter_length, expected {expected}"
        return (
            ""
            if header.length == expected
            else f"bloom_filter_length is {header.length}, expected {expected}"
        )

    def _bits(self, header: StoredFilter) -> str:
        if not self.is_usable:
            return ""
        most = bitset((*self.values, *self._equal), len(self.bits) // BLOCK)
        extra = sum(
            (bits & ~allowed & 0xFF).bit_count()
            for bits, allowed in zip(self.bits, most, strict=True)
        )
        return f"{extra} bits are set without a value" if extra else ""

    def _zeros(self, header: StoredFilter) -> str:
        zeros = self._forms_of(0.0, -0.0)
        if not self.is_usable or not self.values & set(zeros):
            return ""
        lacking = [
            value for value in zeros if value not in self.values and not has(self.bits, value)
        ]
        return "the zero of the other sign is not in it" if lacking else ""

    def _nan(self, header: StoredFilter) -> str:
        usual = self._forms_of(float("nan"))
        present = (
            [value for value in self.values if self.is_nan(value) and has(self.bits, value)]
            if self.is_usable
            else []
        )
        return (
            "a NaN is in it, the usual one is not"
            if present and not has(self.bits, usual[0])
            else ""
        )

    def _size(self, header: StoredFilter) -> str:
        size = header.num_bytes
        if not self.values:
            return "a filter for a chunk without values"
        if size & (size - 1):
            return f"{size} bytes, which is no power of two"
        return (
            f"{size} bytes for a chunk of {self.page_bytes}"
            if size > max(SMALL, self.page_bytes)
            else ""
        )

    def _rate(self, header: StoredFilter) -> str:
        passed = rate(self.bits) if self.is_usable else 0
        if passed <= MOST_PASSED:
            return ""
        return f"finds {percent(passed)} of absent values, expected at most {percent(MOST_PASSED)}"

    @property
    def is_usable(self) -> bool:
        return len(self.bits) >= BLOCK and len(self.bits) % BLOCK == 0

    @property
    def _equal(self) -> list[bytes]:
        """What may be in it besides the values: the other zero, and the usual NaN."""
        zeros = self._forms_of(0.0, -0.0)
        found = zeros if self.values & set(zeros) else []
        return found + (self._forms_of(float("nan")) if any(map(self.is_nan, self.values)) else [])

    def _forms_of(self, *numbers: float) -> list[bytes]:
        return [packing.pack(self.form, number) for number in numbers] if self.form else []

    def is_nan(self, value: bytes) -> bool:
        if not self.form:
            return False
        (number,) = packing.unpack(self.form, value)
        return isnan(number)


@dataclass(frozen=True, slots=True)
class JudgedFile:
    num_rows: int
    num_leaves: int
    chunks: list[JudgedChunk]

    @classmethod
    def of(cls, path: Path) -> JudgedFile:
        """Raises FormatError, UnsupportedError, FilterError; OSError."""
        with OpenFile(open_source(path)) as file:
            rows = sum(map(file.footer.row_group_num_rows, range(file.num_row_groups)))
            chunks = [
                _judged_chunk(file, chunk)
                for group in range(file.num_row_groups)
                for chunk in file.chunks(group, file.leaves)
            ]
            num_leaves = len(file.leaves)
        return cls(rows, num_leaves, chunks)

    def differs(self, num_rows: int, distinct: Sequence[int]) -> str:
        """Why it cannot hold what it should, empty if nothing says so. `distinct`: how many values each leaf is to
        have. Values are counted and not compared, since an engine may store them as another type of its own."""
        if self.num_rows != num_rows:
            return f"{number_of(self.num_rows, 'row')}, expected {num_rows:,}"
        if self.num_leaves != len(distinct):
            return f"{number_of(self.num_leaves, 'leaf column')}, expected {len(distinct)}"
        found = [self._num_distinct(leaf) for leaf in range(self.num_leaves)]
        for count, expected in zip(sorted(found), sorted(distinct), strict=True):
            if count != expected:
                return f"{number_of(count, 'distinct value')}, expected {expected:,}"
        return ""

    def _num_distinct(self, leaf: int) -> int:
        """Without NaN, of which an engine may make one of many."""
        of_leaf = [chunk for chunk in self.chunks if chunk.leaf == leaf]
        return len({each for chunk in of_leaf for each in chunk.values if not chunk.is_nan(each)})

    @property
    def has_filters(self) -> bool:
        return any(chunk.header is not None for chunk in self.chunks)

    @property
    def has_values(self) -> bool:
        return any(chunk.values for chunk in self.chunks)

    @property
    def bare(self) -> list[str]:
        """Each chunk that has values and no filter: nothing is lost there, and nothing judged."""
        bare = [each.where for each in self.chunks if each.header is None and each.values]
        return [f"{where}: no filter" for where in bare]

    @property
    def bitless(self) -> str:
        """The first chunk whose header leads to no bits that could be looked into, as its check says; empty if there
        is none."""
        where = (each.where for each in self.chunks if each.header and not each.is_usable)
        return next((f"{each}: no bits of such a size" for each in where), "")

    def found(self, check: str) -> Iterator[str]:
        yield from filter(None, (chunk.found(check) for chunk in self.chunks))


def _judged_chunk(file: OpenFile, chunk: ColumnChunk) -> JudgedChunk:
    runs = chunk_runs(file.source, file.footer, chunk)
    values = frozenset(bytes(value) for each in runs for value in each.run.values())
    header = read_header(file.source, file.footer, chunk)
    bits, overlaps = b"", False
    if header is not None:
        if not 0 <= header.num_bytes <= file.footer.start:
            raise FilterError(f"{chunk.where}: numBytes is {header.num_bytes}")
        overlaps = file.footer.layout.overlaps_data(header.offset, header.end)
        if header.end <= file.footer.start:
            bits = file.source.read_at(header.offset + header.header_bytes, header.num_bytes)
    type = chunk.leaf.type
    form = _FORMS.get(type.logical_name or type.physical, "")
    size = chunk.total_uncompressed_size or 0
    return JudgedChunk(chunk.where, chunk.leaf.index, form, values, header, bits, overlaps, size)
