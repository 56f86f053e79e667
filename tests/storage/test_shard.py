"""Shards: each file is in one, whatever other files there are."""

import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloom.storage.shard import Shard

PATHS = st.lists(st.text(min_size=1), max_size=20, unique=True)


def shards(count):
    return [Shard(index, count) for index in range(count)]


@settings(derandomize=True, deadline=None)
@given(PATHS, st.integers(1, 50))
def test_each_path_is_in_one_shard(paths, count):
    taken = [path for shard in shards(count) for path in paths if shard.takes(path)]
    assert sorted(taken) == sorted(paths)


@settings(derandomize=True, deadline=None)
@given(PATHS, st.integers(1, 50))
def test_it_is_what_the_docs_say(paths, count):
    """So that others can tell, too: a scheduler, or SQL."""
    for path in paths:
        hashed = xxhash.xxh64_intdigest(path.encode("utf-8", "surrogatepass"))
        (found,) = (shard.index for shard in shards(count) if shard.takes(path))
        assert found == hashed % count


def test_names_that_are_not_utf8_are_in_one_shard():
    path = b"lake/\xff.parquet".decode("utf-8", "surrogateescape")
    assert sum(shard.takes(path) for shard in shards(7)) == 1


@pytest.mark.parametrize("count", [3, 10, 100])
def test_shards_are_of_like_size(count):
    paths = [
        f"s3://lake/events/day={number % 30}/part-{number:05}.parquet" for number in range(20_000)
    ]
    sizes = [sum(map(shard.takes, paths)) for shard in shards(count)]
    expected = len(paths) / count
    # Four standard deviations of a random split.
    assert max(abs(size - expected) for size in sizes) < 4 * expected**0.5
