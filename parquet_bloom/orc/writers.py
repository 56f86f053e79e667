"""The writer of an ORC file, and what it implies for the filters.

It decides three things: the key form, whether a filter can miss a stored value, and whether readers
use the filter at all.

| writer, version                     | what is different                                          |
|-------------------------------------|------------------------------------------------------------|
| Java before HIVE-8732 (1)           | minimum and maximum of text in another order               |
| Java before HIVE-12055 (3)          | text in the charset of the writer's machine                |
| Java before ORC-101 (5)             | BLOOM_FILTER streams: timestamps as instants               |
| Java ORC-135 (6)                    | readers ignore filters of DECIMAL of up to 18 digits       |
| Java before ORC-517 (7)             | minimum and maximum of the same may be wrong               |
| C++ 1.6.0 to 1.6.11, 1.7.0          | integers hashed with logical shifts (ORC-1024)             |
| C++                                 | BYTE, CHAR and FLOAT may be hashed from other values than  |
|                                     | stored; of FLOAT, it depends on who calls it;              |
|                                     | timestamps before 1970 rounded up (ORC-763)                |
| any, file version 1.9999            | DECIMAL of up to 18 digits hashed as numbers, which        |
|                                     | readers look up as text                                    |

Sources: orc-core, OrcFile.WriterVersion, RecordReaderImpl, BloomFilterIO; ORC C++, ColumnWriter.cc,
sargs/PredicateLeaf.cc, Reader.cc.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.orc.stripe import BLOOM_FILTER_UTF8
from parquet_bloom.orc.wire import decode_text

if TYPE_CHECKING:
    from parquet_bloom.orc.bloom import StoredIndex
    from parquet_bloom.orc.columns import OrcColumn
    from parquet_bloom.orc.tail import Tail

JAVA: Final = 0
CPP: Final = 1
_WRITERS = ("ORC Java", "ORC C++", "Presto", "ORC Go", "Trino", "cuDF")

# Values of PostScript.writerVersion for JAVA.
HIVE_8732: Final = 1
HIVE_12055: Final = 3
ORC_135: Final = 6
ORC_517: Final = 7

# The last defined bloomEncoding: UTF-8 text and timestamps in UTC.
UTF8_UTC: Final = 1

# Why readers ignore the filter of an index group with a NaN.
NAN_SUM: Final = "the sum is NaN"

# ORC Java and C++ ask a filter of elements if a program names their column; test_orc_readers.
NOT_PUSHED_DOWN: Final = "predicates on elements of lists and maps are not pushed down"

UNSTABLE = (1, 9999)
# Decimal digits that fit 64 bits.
LONG_DIGITS: Final = 18

_TEXTS = ("STRING", "CHAR", "VARCHAR")
_TIMESTAMPS = ("TIMESTAMP", "TIMESTAMP_INSTANT")
# Types whose filters no reader uses: it has no predicates on them, or none that uses a filter.
_UNUSED = ("BOOLEAN", "BINARY", "STRUCT", "LIST", "MAP", "UNION")

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Generation:
    """The writer of a file. `version`: its writerVersion; `software`: its own version string, empty
    if not recorded; `file_version`: (0, 12) for all current writers."""

    writer: int
    version: int
    software: str
    file_version: tuple[int, ...]

    @property
    def created_by(self) -> str:
        """`ORC Java 2.3.0`, `ORC C++ 2.2.2`, `ORC Java, version 4`."""
        name = _WRITERS[self.writer] if self.writer < len(_WRITERS) else f"writer {self.writer}"
        return f"{name} {self.software}" if self.software else f"{name}, version {self.version}"

    @property
    def has_unknown_shifts(self) -> bool:
        """Whether this is an unknown version of ORC C++."""
        return self.writer == CPP and _VERSION.match(self.software) is None

    @property
    def has_logical_shifts(self) -> bool:
        found = _VERSION.match(self.software)
        if self.writer != CPP or found is None:
            return False
        version = tuple(int(part) for part in found.groups())
        return (1, 6, 0) <= version <= (1, 6, 11) or version == (1, 7, 0)


def read_generation(tail: Tail) -> Generation:
    return Generation(
        writer=tail.footer.writer,
        version=tail.postscript.writerVersion,
        software=decode_text(tail.footer.softwareVersion),
        file_version=tuple(tail.postscript.version),
    )


def doubt(generation: Generation, column: OrcColumn, stored: StoredIndex) -> str:
    """Why filters of this column may miss a stored value; empty if they can be trusted."""
    return _doubt_about_keys(column, stored) or (
        "" if stored.is_marked else doubt_about_writer(generation, column)
    )


def _doubt_about_keys(column: OrcColumn, stored: StoredIndex) -> str:
    key_form, encoding = stored.key_form, stored.bloom_encoding
    if key_form.utf8 and encoding > UTF8_UTC:
        return f"bloomEncoding is {encoding}, expected at most {UTF8_UTC}"
    if column.kind != "TIMESTAMP":
        return ""
    if key_form.utf8 and encoding < UTF8_UTC:
        return "the time zone of the keys is unknown: bloomEncoding is 0"
    if not (key_form.utf8 or key_form.writer_timezone):
        return "the time zone of the keys is unknown: no writerTimezone"
    return ""


def doubt_about_writer(generation: Generation, column: OrcColumn) -> str:
    """Why filters by this writer may miss a stored value; empty if they can be trusted,
    or pbloom has built them since."""
    if generation.has_unknown_shifts:
        return "written by an unknown version of ORC C++, so its hash is unknown"
    if generation.writer == CPP and column.kind in ("BYTE", "CHAR", "FLOAT"):
        # A FLOAT is right if the caller gave the double that it is, as pyarrow does and pyorc does not: the file has
        # the version of ORC C++ only.
        return f"{column.kind} filters of ORC C++ may miss stored values"
    is_unstable = generation.writer == JAVA and generation.file_version == UNSTABLE
    if is_unstable and _is_short_decimal(column):
        return "DECIMAL filters in the unstable file version 1.9999 use another key form"
    return ""


def _is_short_decimal(column: OrcColumn) -> bool:
    return column.kind == "DECIMAL" and column.precision <= LONG_DIGITS


def doubts_text(generation: Generation, column: OrcColumn, stored: StoredIndex) -> bool:
    """Whether only ASCII text was hashed as stored."""
    is_old = generation.writer == JAVA and generation.version < HIVE_12055
    return is_old and column.kind in _TEXTS and not (stored.key_form.utf8 or stored.is_marked)


def doubts_before_1970(generation: Generation, column: OrcColumn, stored: StoredIndex) -> bool:
    """Whether timestamps before 1970 were hashed as different ones."""
    return generation.writer == CPP and column.kind in _TIMESTAMPS and not stored.is_marked


def ignored(
    generation: Generation,
    column: OrcColumn,
    kind: int,
    bloom_encoding: int,
    *,
    has_statistics: bool = True,
) -> tuple[str, ...]:
    """Why readers do not use a filter of this column in a stream of this kind: one line per reason,
    none if they do. `has_statistics`: the row index has statistics for every index group."""
    java, cpp = ignored_by(generation, column, kind, bloom_encoding, has_statistics=has_statistics)
    if java and java == cpp:
        return (f"ignored by ORC Java and C++: {java}",)
    if reason := not_asked(column):
        return (f"asked by no engine: {reason}; pbloom find uses the filters",)
    lines = (("Java", java), ("C++", cpp))
    return tuple(f"ignored by ORC {reader}: {reason}" for reader, reason in lines if reason)


def ignored_groups(num_groups: int) -> tuple[str, ...]:
    """The same of a filter that readers use but for this number of index groups, whose sum is no number."""
    groups = number_of(num_groups, "index group")
    return (f"ignored by ORC Java and C++ in {groups}: {NAN_SUM}",) if num_groups else ()


def ignored_by(
    generation: Generation,
    column: OrcColumn,
    kind: int,
    bloom_encoding: int,
    *,
    has_statistics: bool = True,
) -> tuple[str, str]:
    """The reasons of ORC Java and of ORC C++; empty for a reader that uses the filter."""
    if reason := _ignored_by_all(generation, column, has_statistics):
        return reason, reason
    java = _ignored_by_java(generation, column, kind, bloom_encoding)
    return java, _ignored_by_cpp(kind, bloom_encoding)


def not_asked(column: OrcColumn) -> str:
    """Why no engine has ORC Java or C++ ask the filters of a column of values; empty if some may."""
    return NOT_PUSHED_DOWN if column.is_in_list else ""


def _ignored_by_all(generation: Generation, column: OrcColumn, has_statistics: bool) -> str:
    if generation.has_logical_shifts or generation.has_unknown_shifts:
        return f"{generation.created_by} may have hashed integers wrongly (ORC-1024)"
    if column.kind in _UNUSED:
        return f"no predicate on {column.kind} uses a filter"
    return "" if has_statistics else "no statistics in the row index"


def _ignored_by_java(
    generation: Generation, column: OrcColumn, kind: int, bloom_encoding: int
) -> str:
    if generation.writer == JAVA:
        if column.kind == "TIMESTAMP" and generation.version < ORC_135:
            return "timestamps from before ORC-135"
        if _is_short_decimal(column) and generation.version == ORC_135:
            return "short decimals of an ORC-135 writer"
    is_odd = bloom_encoding > UTF8_UTC or (bloom_encoding < UTF8_UTC and column.kind == "TIMESTAMP")
    return _odd_encoding(bloom_encoding) if kind == BLOOM_FILTER_UTF8 and is_odd else ""


def _ignored_by_cpp(kind: int, bloom_encoding: int) -> str:
    if kind != BLOOM_FILTER_UTF8:
        return "a BLOOM_FILTER stream, expected BLOOM_FILTER_UTF8"
    return "" if bloom_encoding == UTF8_UTC else _odd_encoding(bloom_encoding)


def _odd_encoding(bloom_encoding: int) -> str:
    return f"bloomEncoding is {bloom_encoding}, expected {UTF8_UTC}"
