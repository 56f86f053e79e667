"""ORC files behind URLs, changed in place: they become what a local file would."""

import pyarrow as pa
from make.object_store import NAME, URL
from pyarrow import orc

import parquet_bloom as pb


def test_build_and_strip_make_what_they_make_of_a_local_file(store, tmp_path):
    path = tmp_path / "local.orc"
    table = pa.table(
        {"id": [n * 7919 % 3000 for n in range(3000)], "name": [f"{n}" for n in range(3000)]}
    )
    orc.write_table(table, path, row_index_stride=1000, compression="uncompressed")
    original = path.read_bytes()
    store.put(NAME, original)
    there, here = (pb.build(each, in_place=True, columns=["id", "name"]) for each in (URL, path))
    assert there.output == there.path == URL
    assert there.filters == here.filters
    assert store.objects == {NAME: path.read_bytes()}
    assert len(pb.strip(URL, in_place=True).removed) == 2
    assert store.objects == {NAME: original}
