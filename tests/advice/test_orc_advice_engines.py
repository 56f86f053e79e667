"""Which readers of ORC ask the filters that `build` gives a column."""

import pytest

from parquet_bloom.advice.orc_survey import uses_of
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.writers import CPP, JAVA, Generation

JAVA_9 = Generation(JAVA, 9, "2.3.0", (0, 12))


def uses(kind, generation=JAVA_9, precision=0, is_in_list=False):
    """By reader, of a column below another one below the root."""
    column = OrcColumn(2, "a.b", kind, (), 1, 0, precision, 0, {}, is_in_list)
    return {use.engine: use.reason for use in uses_of(generation, column)}


@pytest.mark.parametrize(
    "kind",
    ["BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "STRING", "CHAR", "VARCHAR", "DATE",
     "DECIMAL"],
)  # fmt: skip
def test_what_all_of_them_ask(kind):
    found = uses(kind)
    assert found == {
        "ORC Java": "",
        "Spark": "",
        "ORC C++": "",
        "pyarrow": "its reader takes no predicates",
    }


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_INSTANT"])
def test_what_spark_does_not_ask(kind):
    """Seen in test_spark_orc_pruning."""
    found = uses(kind)
    assert found["ORC C++"] == ""
    assert bool(found["ORC Java"]) == (kind == "TIMESTAMP_INSTANT")
    assert (
        found["Spark"]
        == "turns the look-up of a TIMESTAMP into a range, which no filter can answer"
    )


def test_no_elements_of_lists_and_maps():
    reason = "predicates on elements of lists and maps are not pushed down"
    found = uses("LONG", is_in_list=True)
    assert (found["ORC Java"], found["ORC C++"]) == (reason, reason)
    bytes_in_list = uses("BINARY", is_in_list=True)
    assert bytes_in_list["ORC C++"] == "no predicate on BINARY uses a filter"


@pytest.mark.parametrize(
    ("kind", "generation", "java", "cpp"),
    [
        ("BINARY", JAVA_9, "no predicate on BINARY uses a filter", None),
        ("TIMESTAMP", Generation(JAVA, 5, "", (0, 12)), "timestamps from before ORC-135", ""),
        ("DECIMAL", Generation(JAVA, 6, "", (0, 12)), "short decimals of an ORC-135 writer", ""),
        (
            "LONG",
            Generation(CPP, 6, "1.6.11", (0, 12)),
            "ORC C++ 1.6.11 may have hashed integers wrongly (ORC-1024)",
            None,
        ),
    ],
)
def test_what_some_do_not_ask(kind, generation, java, cpp):
    """None: for the same reason."""
    found = uses(kind, generation, precision=9)
    assert (found["ORC Java"], found["ORC C++"]) == (java, java if cpp is None else cpp)
