"""Who wrote a file: how its keys were made, whether its filters can be trusted, who looks at them."""

from types import SimpleNamespace

import pytest

from parquet_bloom.orc.bloom import OrcKeyForm
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8
from parquet_bloom.orc.writers import (
    CPP,
    JAVA,
    Generation,
    doubt,
    doubts_before_1970,
    doubts_text,
    ignored,
)

JAVA_NOW = Generation(JAVA, 9, "2.3.0", (0, 12))
CPP_NOW = Generation(CPP, 6, "2.2.2", (0, 12))
BAD_CPP = Generation(CPP, 6, "1.6.11", (0, 12))
OLD_CPP = Generation(CPP, 6, "", (0, 12))
UNSTABLE = Generation(JAVA, 9, "2.3.0", (1, 9999))


def java(version):
    return Generation(JAVA, version, "", (0, 12))


def column(kind, precision=0):
    return OrcColumn(1, "a", kind, (), 0, 0, precision, 0, {})


def stored(utf8=True, encoding=1, timezone="UTC", marked=False):
    form = OrcKeyForm(utf8=utf8, writer_timezone=timezone)
    return SimpleNamespace(key_form=form, bloom_encoding=encoding, is_marked=marked)


@pytest.mark.parametrize(
    ("generation", "name"),
    [
        (JAVA_NOW, "ORC Java 2.3.0"),
        (CPP_NOW, "ORC C++ 2.2.2"),
        (java(4), "ORC Java, version 4"),
        (Generation(2, 6, "", (0, 12)), "Presto, version 6"),
        (Generation(4, 6, "460", (0, 12)), "Trino 460"),
        (Generation(77, 6, "x", (0, 12)), "writer 77 x"),
    ],
)
def test_writers_have_names(generation, name):
    assert generation.created_by == name


@pytest.mark.parametrize(
    ("software", "logical"),
    [
        ("1.5.9", False), ("1.6.0", True), ("1.6.11", True), ("1.6.11-SNAPSHOT", True),
        ("1.6.12", False), ("1.7.0", True), ("1.7.1", False), ("2.2.2", False), ("", False),
    ],
)  # fmt: skip
def test_some_versions_of_cpp_hash_with_logical_shifts(software, logical):
    assert Generation(CPP, 6, software, (0, 12)).has_logical_shifts is logical
    assert not Generation(JAVA, 6, software, (0, 12)).has_logical_shifts


@pytest.mark.parametrize(
    ("generation", "of", "found", "reason"),
    [
        (JAVA_NOW, column("LONG"), stored(), ""),
        (JAVA_NOW, column("TIMESTAMP"), stored(), ""),
        (JAVA_NOW, column("TIMESTAMP"), stored(encoding=0),
         "the time zone of the keys is unknown: bloomEncoding is 0"),
        (JAVA_NOW, column("LONG"), stored(encoding=0), ""),
        (JAVA_NOW, column("LONG"), stored(encoding=2), "bloomEncoding is 2, expected at most 1"),
        (JAVA_NOW, column("TIMESTAMP"), stored(utf8=False, encoding=0), ""),
        (JAVA_NOW, column("TIMESTAMP"), stored(utf8=False, encoding=0, timezone=""),
         "the time zone of the keys is unknown: no writerTimezone"),
        (JAVA_NOW, column("TIMESTAMP_INSTANT"), stored(utf8=False, timezone=""), ""),
        (CPP_NOW, column("LONG"), stored(), ""),
        (CPP_NOW, column("BYTE"), stored(), "BYTE filters of ORC C++ may miss stored values"),
        (CPP_NOW, column("CHAR"), stored(), "CHAR filters of ORC C++ may miss stored values"),
        (CPP_NOW, column("FLOAT"), stored(),
         "FLOAT filters of ORC C++ may miss stored values"),
        (CPP_NOW, column("BYTE"), stored(marked=True), ""),
        (JAVA_NOW, column("BYTE"), stored(), ""),
        (BAD_CPP, column("LONG"), stored(), ""),
        (OLD_CPP, column("LONG"), stored(),
         "written by an unknown version of ORC C++, so its hash is unknown"),
        (OLD_CPP, column("LONG"), stored(marked=True), ""),
        (UNSTABLE, column("DECIMAL", 18), stored(),
         "DECIMAL filters in the unstable file version 1.9999 use another key form"),
        (UNSTABLE, column("DECIMAL", 19), stored(), ""),
        (UNSTABLE, column("DECIMAL", 18), stored(marked=True), ""),
        # What is odd about the keys is odd whoever built them.
        (CPP_NOW, column("LONG"), stored(encoding=2, marked=True),
         "bloomEncoding is 2, expected at most 1"),
    ],
)  # fmt: skip
def test_what_makes_a_filter_doubtful(generation, of, found, reason):
    assert doubt(generation, of, found) == reason


@pytest.mark.parametrize("kind", ["STRING", "CHAR", "VARCHAR", "LONG", "DECIMAL"])
def test_text_of_old_writers_may_be_in_any_charset(kind):
    of = column(kind)
    is_text = kind not in ("LONG", "DECIMAL")
    old = stored(utf8=False, encoding=0)
    assert doubts_text(java(2), of, old) is is_text
    assert not doubts_text(java(3), of, old)
    assert not doubts_text(java(2), of, stored())
    assert not doubts_text(java(2), of, stored(utf8=False, marked=True))
    assert not doubts_text(CPP_NOW, of, old)


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_INSTANT", "LONG"])
def test_timestamps_of_cpp_are_doubted_before_1970(kind):
    of = column(kind)
    assert doubts_before_1970(CPP_NOW, of, stored()) is (kind != "LONG")
    assert not doubts_before_1970(JAVA_NOW, of, stored())
    assert not doubts_before_1970(CPP_NOW, of, stored(marked=True))


ALL = "ignored by ORC Java and C++: "
BY_JAVA, BY_CPP = "ignored by ORC Java: ", "ignored by ORC C++: "
ORIGINAL = BY_CPP + "a BLOOM_FILTER stream, expected BLOOM_FILTER_UTF8"


@pytest.mark.parametrize(
    ("generation", "of", "kind", "encoding", "expected"),
    [
        (JAVA_NOW, column("LONG"), BLOOM_FILTER_UTF8, 1, ()),
        (JAVA_NOW, column("TIMESTAMP"), BLOOM_FILTER_UTF8, 1, ()),
        (JAVA_NOW, column("LONG"), BLOOM_FILTER, 0, (ORIGINAL,)),
        (JAVA_NOW, column("LONG"), BLOOM_FILTER_UTF8, 0,
         (BY_CPP + "bloomEncoding is 0, expected 1",)),
        (JAVA_NOW, column("TIMESTAMP"), BLOOM_FILTER_UTF8, 0,
         (ALL + "bloomEncoding is 0, expected 1",)),
        (JAVA_NOW, column("LONG"), BLOOM_FILTER_UTF8, 2, (ALL + "bloomEncoding is 2, expected 1",)),
        (BAD_CPP, column("LONG"), BLOOM_FILTER_UTF8, 1,
         (ALL + "ORC C++ 1.6.11 may have hashed integers wrongly (ORC-1024)",)),
        (BAD_CPP, column("STRING"), BLOOM_FILTER_UTF8, 1,
         (ALL + "ORC C++ 1.6.11 may have hashed integers wrongly (ORC-1024)",)),
        (OLD_CPP, column("STRING"), BLOOM_FILTER_UTF8, 1,
         (ALL + "ORC C++, version 6 may have hashed integers wrongly (ORC-1024)",)),
        (JAVA_NOW, column("BINARY"), BLOOM_FILTER_UTF8, 1,
         (ALL + "no predicate on BINARY uses a filter",)),
        (JAVA_NOW, column("BOOLEAN"), BLOOM_FILTER_UTF8, 1,
         (ALL + "no predicate on BOOLEAN uses a filter",)),
        (java(5), column("TIMESTAMP"), BLOOM_FILTER, 0,
         (BY_JAVA + "timestamps from before ORC-135", ORIGINAL)),
        (java(6), column("TIMESTAMP"), BLOOM_FILTER_UTF8, 1, ()),
        (java(6), column("DECIMAL", 18), BLOOM_FILTER_UTF8, 1,
         (BY_JAVA + "short decimals of an ORC-135 writer",)),
        (java(6), column("DECIMAL", 19), BLOOM_FILTER_UTF8, 1, ()),
        (java(7), column("DECIMAL", 18), BLOOM_FILTER_UTF8, 1, ()),
        (CPP_NOW, column("DECIMAL", 18), BLOOM_FILTER_UTF8, 1, ()),
    ],
)  # fmt: skip
def test_filters_that_readers_ignore(generation, of, kind, encoding, expected):
    assert ignored(generation, of, kind, encoding) == expected


def test_without_statistics_nobody_looks():
    of = column("LONG")
    found = ignored(JAVA_NOW, of, BLOOM_FILTER_UTF8, 1, has_statistics=False)
    assert found == (ALL + "no statistics in the row index",)
