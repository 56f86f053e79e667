"""Files that are closed: none is asked any more, nor is another one under its number."""

import gc
import os
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.container import OneFilter
from parquet_bloom.container.data_file import DataFile
from parquet_bloom.files import open_file


@pytest.fixture(params=["parquet", "orc"])
def alike(request, tmp_path):
    """Two files of the same layout with other values, 0 to 999 and 1000 to 1999."""
    paths = []
    for start in (0, 1000):
        table = pa.table({"a": pa.array(range(start, start + 1000), pa.int64())})
        path = tmp_path / f"from-{start}.{request.param}"
        if request.param == "parquet":
            pq.write_table(table, path, use_dictionary=False, compression="none")
        else:
            orc.write_table(table, path)
        pb.build(path, columns=["a"], in_place=True, ndv=1000)
        paths.append(path)
    return paths


def verdict(file, value):
    (answer,) = DataFile(file).probe("a", value)
    return answer.verdict


def num_open(path):
    """How often this process, in which other tests have left files open, has this one open."""
    folder = "/proc/self/fd"
    found = 0
    for number in os.listdir(folder):
        # The listing's own is gone by now.
        with suppress(FileNotFoundError):
            found += os.readlink(f"{folder}/{number}") == str(path)
    return found


def test_a_closed_file_is_not_asked(alike):
    """Its number is that of the other one by now, which is right about nothing that it has."""
    first, second = alike
    with open_file(first) as closed:
        number = closed.source.descriptor
    with open_file(second) as other:
        assert other.source.descriptor == number
        for ask in (
            verdict,
            lambda file, value: file.bloom_filter(OneFilter(0, "a")).check(value),
        ):
            with pytest.raises(ValueError, match=f"^{first}: is closed, expected an open file$"):
                ask(closed, 7)
        assert (verdict(other, 7), verdict(other, 1007)) == ("absent", "maybe")


def test_a_file_is_closed_once(alike):
    first, second = alike
    closed = pb.open(first)
    closed.close()
    with open_file(second) as other:
        closed.close()
        assert verdict(other, 1007) == "maybe"
        del closed
        assert verdict(other, 1007) == "maybe"


def test_a_file_that_nobody_has_any_more_is_closed(alike):
    first, _ = alike
    with pb.open(first):
        assert num_open(first) == 1
        for _ in range(20):
            assert pb.open(first).columns == ("a",)
            verdict(open_file(first), 7)
        gc.collect()
        assert num_open(first) == 1


def test_a_folder_leaves_nothing_open(tmp_path):
    with pytest.raises(IsADirectoryError):
        pb.open(tmp_path)
    assert num_open(tmp_path) == 0
