"""The configuration keys of the writer of filters inside Statistics."""

import pytest

from parquet_bloom.errors import ConfigError
from parquet_bloom.legacy.statistics.dialect import Expected, StatisticsFilter
from parquet_bloom.legacy.statistics.hive_conf import HiveConf, read_conf

DEFAULT = Expected(None, 0.05)
COLUMNS = "parquet.bloom.filter.enable.column.names"


def test_nothing_is_enabled_by_default():
    assert read_conf([]) == HiveConf(False, {}, DEFAULT)


def test_the_four_keys_of_the_document():
    conf = read_conf(
        [
            "parquet.enable.bloom.filter=true",
            "parquet.bloom.filter.fpp.value=0.01",
            "parquet.bloom.filter.fpp.provided=true",
            "parquet.expected.entries=5000",
        ]
    )
    assert conf == HiveConf(True, {}, Expected(5000, 0.01))
    applied = conf.applied_to(StatisticsFilter("guava-64", encoding="java"))
    assert applied == StatisticsFilter("guava-64", 5000, 0.01, "java")


def test_the_name_that_the_code_had():
    assert read_conf(["parquet.bloom.filter.value=0.2"]).others == Expected(None, 0.2)


def test_the_documents_name_goes_first():
    keys = ["parquet.bloom.filter.fpp.value=0.1", "parquet.bloom.filter.value=0.2"]
    assert read_conf(keys).others.fpp == read_conf(keys[::-1]).others.fpp == 0.1


def test_a_rate_that_is_not_provided_is_the_default():
    """The document takes `provided` for the rate itself, with the default 0.05."""
    keys = ["parquet.bloom.filter.fpp.value=0.01", "parquet.bloom.filter.fpp.provided=false"]
    assert read_conf(keys).others.fpp == 0.05


def test_the_later_lists():
    conf = read_conf(
        [
            "parquet.bloom.filter.enable.column.names=id, user.name",
            "parquet.bloom.filter.expected.entries=1000,200",
            "parquet.bloom.filter.false.positive.probability=0.01,0.1",
        ]
    )
    assert conf.enabled
    assert conf.columns == ("id", "user.name")
    assert conf.of_columns == {"id": Expected(1000, 0.01), "user.name": Expected(200, 0.1)}
    applied = conf.applied_to(StatisticsFilter())
    assert applied.expected_of("user.name") == Expected(200, 0.1)
    assert applied.expected_of("other") == DEFAULT


def test_a_list_of_one_is_for_all():
    conf = read_conf(
        [
            "parquet.bloom.filter.enable.column.names=a,b",
            "parquet.bloom.filter.expected.entries=7",
            "parquet.bloom.filter.fpp.value=0.3",
        ]
    )
    assert conf.of_columns == {"a": Expected(7, 0.3), "b": Expected(7, 0.3)}


def test_columns_may_be_named_and_not_enabled():
    keys = ["parquet.bloom.filter.enable.column.names=a", "parquet.enable.bloom.filter=FALSE"]
    assert not read_conf(keys).enabled


def test_the_last_of_a_key_counts():
    keys = ["parquet.expected.entries=1", " parquet.expected.entries = 2 "]
    assert read_conf(keys).others.entries == 2


RATE = "expected more than 0 and less than 1"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("parquet.enable.bloom.filter", "parquet.enable.bloom.filter: expected KEY=VALUE"),
        (
            "parquet.enable.bloom.filter=yes",
            "parquet.enable.bloom.filter: yes, expected true or false",
        ),
        (
            "parquet.bloom.filter.fpp.provided=0.05",
            "parquet.bloom.filter.fpp.provided: 0.05, expected true or false",
        ),
        *(
            (
                f"parquet.bloom.filter.fpp.value={text}",
                f"parquet.bloom.filter.fpp.value: {text}, {RATE}",
            )
            for text in ("0", "1", "-0.1", "nan", "x", "")
        ),
        *(
            (
                f"parquet.expected.entries={text}",
                f"parquet.expected.entries: {text}, expected a number of 1 or more",
            )
            for text in ("0", "-1", "1.5", "1e3", "many", "", "9" * 19)
        ),
        (
            "parquet.bloom.filter.enable.column.names=a,a",
            "parquet.bloom.filter.enable.column.names: a,a, expected each column once",
        ),
        (
            "parquet.bloom.filter.enable.column.names=a,,b",
            "parquet.bloom.filter.enable.column.names: a,,b, expected each column once",
        ),
        (
            "parquet.bloom.filter.expected.entries=5",
            f"parquet.bloom.filter.expected.entries: expected the columns in {COLUMNS}",
        ),
    ],
)
def test_what_has_no_meaning(setting, message):
    with pytest.raises(ConfigError) as found:
        read_conf([setting])
    assert str(found.value) == message


def test_an_unknown_key_names_those_that_there_are():
    with pytest.raises(ConfigError) as found:
        read_conf(["parquet.bloom.filter.fpp=0.1"])
    assert str(found.value).startswith(
        "parquet.bloom.filter.fpp: no such key: expected parquet.enable.bloom.filter, "
    )


def test_lists_of_other_lengths():
    names = "parquet.bloom.filter.enable.column.names=a,b,c"
    with pytest.raises(ConfigError) as found:
        read_conf([names, "parquet.bloom.filter.expected.entries=1,2"])
    assert str(found.value) == (
        "parquet.bloom.filter.expected.entries: 2 values, expected one for each of 3 columns"
    )
