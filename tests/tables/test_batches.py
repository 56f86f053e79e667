"""Which files of a table one commit records: as many as may be, whole partitions if they are small enough."""

import pytest

from parquet_bloom.tables.batches import by_partition, in_batches
from parquet_bloom.tables.table import TableFile


def batches(groups, most):
    return ["".join(batch) for batch in in_batches(groups, most)]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([], []),
        (["aa", "b"], ["aab"]),
        (["aaa", "bb"], ["aaa", "bb"]),
        (["aaaa", "b", "c"], ["aaaa", "bc"]),
        # What is too large is cut by itself, and its rest goes with those that follow.
        (["a", "bbbbbbbbb", "cc", "d"], ["a", "bbbb", "bbbb", "bccd"]),
        (["aaaaaaaa", "bbbb"], ["aaaa", "aaaa", "bbbb"]),
    ],
)
def test_groups_stay_whole_if_they_can(groups, expected):
    assert batches(groups, 4) == expected


def test_partitions_are_in_order():
    """Wherever their files are, and whatever these are called; null comes first."""
    days = ["2", None, "10", "2", None]
    files = [TableFile(f"{number}.parquet", "", 1, {"day": day}) for number, day in enumerate(days)]
    found = [[file.name[0] for file in group] for group in by_partition(files)]
    assert found == [["1", "4"], ["2"], ["0", "3"]]
    assert by_partition([TableFile("a", "", 1), TableFile("b", "", 1)]) == [
        [TableFile("a", "", 1), TableFile("b", "", 1)]
    ]
