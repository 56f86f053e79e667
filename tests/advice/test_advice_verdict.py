"""The rules of the verdict, one by one, and the words for them."""

from dataclasses import replace

import pytest

from parquet_bloom.advice.lookups import ExpectedReads
from parquet_bloom.advice.sketch import ColumnCounts, UnreadFiles
from parquet_bloom.advice.verdict import Evidence, judge


def reads(by_statistics, with_filter, stored=1000, there=None):
    if_absent = 0.01 * by_statistics
    return ExpectedReads(
        1000, stored, by_statistics, with_filter, if_absent, 1, 1, there or by_statistics
    )


GOOD = Evidence(
    counts=ColumnCounts(
        groups=20,
        filters=20,
        filter_bytes=1_000_000,
        chunk_bytes=10_000_000,
        only_dictionary=False,
        already=0,
    ),
    ndv=1_000_000,
    limit="within 134,217,728 bytes",
    users=("Spark", "DuckDB", "Trino", "Iceberg", "ClickHouse", "Impala"),
    seldom_asked="",
    is_measured=False,
    reads=reads(20, 1.1),
)


def judged(**changes):
    """The verdict and the reason if GOOD were otherwise."""
    counted = {name: changes.pop(name) for name in [*changes] if hasattr(GOOD.counts, name)}
    return judge(replace(GOOD, counts=replace(GOOD.counts, **counted), **changes))


def test_a_good_column_is_built():
    reason = "a look-up reads 1.10 of 20 row groups with a filter, 20 with min/max alone"
    assert judged() == ("build", reason)


def test_it_says_what_was_not_judged():
    """A look-up reads it, and the figures are not about it."""
    why = "encrypted, no key"
    good = "a look-up reads 1.10 of 20 row groups with a filter, 20 with min/max alone"
    several = "; 12 row groups in 2 more files were not judged (encrypted, no key), and a look-up may read each of them"
    one = (
        "; 1 row group in 1 more file was not judged (encrypted, no key), and a look-up may read it"
    )
    assert judged(unread=UnreadFiles(2, "a", why, 12)) == ("build", good + several)
    assert judged(unread=UnreadFiles(1, "a", why, 1)) == ("build", good + one)
    needless = judged(unread=UnreadFiles(1, "a", why, 1), reads=reads(1, 1), already=1)
    nothing = "min/max alone leaves 1.00 of 20 row groups to read, so a filter would save nothing"
    assert needless == (
        "skip", f"{nothing}{one}; 1 row group has a filter, which pbloom strip removes"
    )  # fmt: skip


def test_filters_that_are_there_for_nothing_can_be_removed():
    sorted_by_it = {"reads": reads(1, 1)}
    nothing = "min/max alone leaves 1.00 of 20 row groups to read, so a filter would save nothing"
    assert judged(**sorted_by_it) == ("skip", nothing)
    for already, there in ((1, "1 row group has a filter"), (20, "20 row groups have filters")):
        reason = f"{nothing}; {there}, which pbloom strip removes"
        assert judged(**sorted_by_it, already=already) == ("skip", reason)


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        ({"groups": 0}, "skip", "no non-null values"),
        ({"users": ()}, "skip", "no engine uses filters on such a column"),
        (
            {"users": (), "engines": ("Spark",)},
            "skip",
            "Spark does not use filters on such a column",
        ),
        (
            {"users": (), "engines": ("Spark", "DuckDB")},
            "skip",
            "Spark and DuckDB do not use filters on such a column",
        ),
        (
            {"users": (), "engines": ("Polars", "Spark"), "ignoring": ("Polars",)},
            "skip",
            "Polars and Spark do not use filters on such a column",
        ),
        (
            {"users": (), "engines": ("Polars",), "ignoring": ("Polars",)},
            "skip",
            "Polars uses no filters in such files",
        ),
        (
            {"users": (), "engines": ("Polars", "pyarrow"), "ignoring": ("Polars", "pyarrow")},
            "skip",
            "Polars and pyarrow use no filters in such files",
        ),
        (
            {"users": ("Spark", "Trino"), "engines": ("Spark", "Trino"), "only_dictionary": True},
            "skip",
            "not needed for Spark and Trino: all values are in dictionaries, which are searched",
        ),
        (
            {"filters": 0, "limit": "in 9 bytes"},
            "skip",
            "the target FPP of 1 % is out of reach in 9 bytes",
        ),
        ({"reads": None}, "skip", "no values that a reader could look up"),
        (
            {"reads": reads(1.4, 1.0)},
            "skip",
            "min/max alone leaves 1.40 of 20 row groups to read, so",
        ),
        ({"reads": reads(20, 18.1)}, "skip", "a filter rules out next to nothing: a look-up reads"),
        ({"reads": reads(20, 17.9)}, "optional", "a filter saves less than half of what min/max"),
        ({"reads": reads(20, 11.1)}, "optional", "a filter saves less than half of what min/max"),
        ({"reads": reads(20, 9.99)}, "build", "a look-up reads 9.99 of 20 row groups"),
        ({"reads": reads(20, 9.999)}, "build", "a look-up reads 10 of 20 row groups"),
        ({"reads": reads(2.9, 1.0)}, "optional", "min/max leaves few row groups"),
        ({"reads": reads(3.1, 1.0)}, "build", "a look-up reads 1.00 of 20 row groups"),
        ({"groups": 3, "reads": reads(3, 1.02)}, "build", "a look-up reads 1.02 of 3"),
        (
            {"groups": 2, "reads": reads(2, 1.01)},
            "build",
            "a look-up reads 1.01 of 2 row groups",
        ),
        ({"groups": 1, "reads": reads(1, 1)}, "optional", "one row group: a filter can only"),
        ({"groups": 1, "ndv": 100}, "skip", "one row group with 100 distinct values"),
        ({"groups": 1, "ndv": 1}, "skip", "one row group with 1 distinct value"),
        (
            {"files": 20, "reads": reads(20, 1.1)},
            "build",
            "a look-up reads 1.10 of 20 row groups in 20 files with a filter, 20 with min/max alone",
        ),
        ({"groups": 1, "ndv": 101, "reads": reads(1, 1)}, "optional", "one row group: a"),
        ({"seldom_asked": "dreams"}, "optional", "dreams are rarely looked up by equality; a "),
        ({"seldom_asked": "dreams", "is_measured": True}, "build", "a look-up reads 1.10 of 20"),
        ({"filter_bytes": 10_000_001}, "optional", "the filters are larger than the column"),
        (
            {"is_measured": True, "groups": 1, "reads": reads(1.0, 0.4)},
            "build",
            "a look-up reads 0.40 of 1 row group with a filter, 1.00 with min/max alone",
        ),
        (
            {"is_measured": True, "groups": 1, "reads": reads(1.0, 1.0)},
            "skip",
            "min/max alone leaves 1.00 of 1 row group to read, so",
        ),
        ({"is_measured": True, "reads": reads(1.0, 0.01)}, "optional", "min/max leaves few row"),
    ],
)
def test_each_rule(change, verdict, words):
    found, reason = judged(**change)
    assert (found, reason[: len(words)]) == (verdict, words)


READ = "and today a look-up reads about {} of 20 row groups, with filters of that size"


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"filter_bytes": 2_000_001}, "; the filters are 20 % of the column's size"),
        (
            {
                "filter_bytes": 4_000_001,
                "largest_filter": 200_000,
                "room": 200_000,
                "group_ndv": 2_041,
            },
            "; the filters are 40 % of the column's size, and 8.4 % with --ndv 2100: no row group has more than 2,041"
            + " distinct values",
        ),
        (
            {"filter_bytes": 4_000_001, "room": 200_000, "group_ndv": 5_001},
            "; the filters are 40 % of the column's size",
        ),
        ({"filter_bytes": 1_000_000, "room": 200_000, "group_ndv": 2_041}, ""),
        (
            {"filter_bytes": 4_000_001, "are_kept": True, "bytes_there": 3_000_000},
            "; the filters that are there are 30 % of the column's size",
        ),
        ({"filter_bytes": 10_000_001, "are_kept": True, "bytes_there": 2_000_000}, ""),
        ({"filters": 18}, "; the target FPP of 1 % is out of reach in 2 row groups"),
        ({"filters": 19}, "; the target FPP of 1 % is out of reach in 1 row group"),
        (
            {"with_filter": 5, "reads": reads(20, 1.1, there=8.53)},
            f"; 5 of the row groups already have a filter, {READ.format('8.53')}",
        ),
        (
            {"with_filter": 1, "reads": reads(20, 1.1, there=10.6)},
            f"; 1 of the row groups already has a filter, {READ.format('11')}",
        ),
    ],
)
def test_notes(change, note):
    assert judged(**change)[1] == judged()[1] + note


THERE = f"every row group already has a filter, {READ.format('1.60')}; "
READS_THERE = reads(20, 1.1, there=1.6)


def of_new(reason):
    return reason.replace("with a filter", "with a new filter (--existing replace)")


def test_filters_that_are_there_come_first():
    assert judged(with_filter=20, reads=READS_THERE) == ("build", THERE + of_new(judged()[1]))


@pytest.mark.parametrize(
    ("too_small", "said"),
    [(1, "1 row group has a filter that is"), (20, "20 row groups have filters that are")],
)
def test_filters_that_are_too_small_come_first(too_small, said):
    why = (
        "too small for the values (more than 10 % of absent ones pass), unless a budget chose them: --existing"
        " replace builds new ones; "
    )
    found = judged(with_filter=20, too_small=too_small, reads=READS_THERE)
    assert found == ("build", f"{said} {why}{THERE}{of_new(judged()[1])}")


ALL = "all values are in dictionaries"
THESE = "dictionaries instead, which have all values"
CLICKHOUSE = "ClickHouse since 26.8 looks there if they take 1 MiB or less"


@pytest.mark.parametrize(
    ("users", "told"),
    [
        (("DuckDB",), ""),
        (("Spark", "DuckDB"), f"; Spark searches the {THESE}"),
        (("Spark", "DuckDB", "Iceberg"), f"; Spark and Iceberg search the {THESE}"),
        (("DuckDB", "ClickHouse"), f"; {ALL}: {CLICKHOUSE}"),
        (
            ("Spark", "DuckDB", "Trino", "Iceberg", "ClickHouse", "Impala"),
            f"; Spark, Trino, Iceberg and Impala search the {THESE}; dictionaries: {CLICKHOUSE}",
        ),
    ],
)
def test_dictionaries_tell_nothing_to_engines_that_do_not_look_there(users, told):
    """As of elements of lists, of which only DuckDB looks for any. What is saved comes first, and for whom it is
    not right behind it."""
    _, reason = judged(only_dictionary=True, users=users)
    assert reason == judged()[1] + told


@pytest.mark.parametrize(
    ("rows", "or_smaller"),
    [
        (499_999, ""),
        (500_000, ", or write smaller row groups, so that filters exclude some of them"),
    ],
)
def test_of_a_row_group_alone_there_is_no_comparison(rows, or_smaller):
    alone = {"groups": 1, "filters": 1, "with_filter": 1, "group_rows": rows}
    verdict, reason = judged(reads=reads(1, 1), **alone)
    assert verdict == "optional"
    assert reason == (
        "every row group already has a filter; one row group: a filter can only say that a value is not in it, which helps if the table"
        f" has more; name all its files to have them judged together{or_smaller}"
    )


def test_a_small_share_is_not_worth_a_word():
    assert "size" not in judged(filter_bytes=1_999_999)[1]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"groups": 1, "filters": 1, "reads": reads(1, 1), "already": 1},
        {"groups": 1, "ndv": 3},
        {"reads": reads(1.4, 1.0)},
        {"reads": reads(2.9, 1.0), "filters": 18, "already": 5},
    ],
)
def test_of_orc_it_is_about_index_groups(change):
    (_, of_parquet), (_, of_orc) = judged(**change), judged(**change, unit="index group")
    assert "row group" in of_parquet
    assert of_orc == of_parquet.replace("row group", "index group")


def test_dictionaries_are_not_enough_for_all_engines_that_are_named():
    """ClickHouse searches some dictionaries, in some versions."""
    for users in (("Spark", "DuckDB"), ("ClickHouse",)):
        verdict, reason = judged(users=users, engines=users, only_dictionary=True)
        assert verdict == "build"
        assert reason.endswith(f"; {users[0]} searches the {THESE}") or (
            f"; {ALL}: {users[0]} " in reason
        )
