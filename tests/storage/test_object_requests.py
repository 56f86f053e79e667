"""How many requests a verb sends to an object store, and how many bytes come: both formats."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.storage.objects import read_ahead, replacement
from parquet_bloom.storage.paths import expand

MIB = 1 << 20
FILTERS = 100 * (256 << 10)
FEW = ["user-00000005"]
MANY = [f"user-{number:08d}" for number in range(0, 2000, 2)]


@pytest.fixture
def listed(server, hundred_groups):
    """A listed object of 100 row groups, and the same file at hand."""
    server.put("lake/d=1/groups.parquet", hundred_groups.read_bytes())
    (found,), errors = expand(["s3://lake/d=1"], server.options)
    assert (str(found.path), errors) == ("s3://lake/d=1/groups.parquet", [])
    assert (server.count("LIST"), len(server.asked)) == (1, 1)
    server.forget()
    return found.path, hundred_groups


QUICK = {
    "inspect": lambda path: pb.inspect(path).row_groups,
    "probe of 1": lambda path: pb.probe(path, "s", FEW).results,
    "probe of 1,000": lambda path: pb.probe(path, "s", MANY).results,
    "validate --no-deep": lambda path: [
        (each.rule, each.message, each.found) for each in pb.validate(path, deep=False).findings
    ],
}


@pytest.mark.parametrize("verb", QUICK)
def test_reading_filters_takes_five_requests(server, listed, verb):
    there, here = listed
    assert QUICK[verb](there) == QUICK[verb](here)
    assert len(server.asked) <= 5
    assert server.count() == len(server.asked)
    assert server.bytes_down <= FILTERS + MIB
    assert server.most_at_once <= 16


def test_building_reads_the_column_once(server, listed):
    there, here = listed
    options = {"columns": ["c3"], "dry_run": True, "in_place": True}
    report = pb.build(there, **options)
    assert report.filters == pb.build(here, layout="append", **options).filters
    column = sum(
        chunk.chunk_bytes
        for group in pb.inspect(here, columns=["c3"]).row_groups
        for chunk in group.columns
    )
    assert server.count() == len(server.asked) <= 105
    assert server.bytes_down <= column + MIB
    assert report.requests.get == server.count()
    assert report.requests.bytes_down == server.bytes_down


@pytest.mark.parametrize("verb", ["build", "validate"])
def test_several_threads_of_one_chunk_ask_no_more(server, tmp_path, monkeypatch, verb):
    """Pieces of 1 MiB, of which few are held, read by three threads in turn."""
    monkeypatch.setattr(read_ahead, "PIECE_BYTES", MIB)
    monkeypatch.setattr(read_ahead, "HELD_BYTES", 3 * MIB)
    numbers = np.random.default_rng(1).integers(0, 1 << 60, 1_000_000)
    path = tmp_path / "one.parquet"
    options = {"compression": "none", "use_dictionary": False, "data_page_size": 1 << 16}
    pq.write_table(pa.table({"a": numbers}), tmp_path / "p", row_group_size=len(numbers), **options)
    pb.build(tmp_path / "p", path, columns=["a"])
    server.put("lake/one.parquet", path.read_bytes())
    asked = []
    for threads in (1, 3):
        server.forget()
        options = {"threads": threads, "storage_options": server.options}
        if verb == "validate":
            assert pb.validate("s3://lake/one.parquet", **options).checked.values == len(numbers)
        else:
            options |= {"columns": ["a"], "dry_run": True, "in_place": True, "existing": "replace"}
            assert pb.build("s3://lake/one.parquet", **options).filters
        asked.append(sorted((each.kind, each.range) for each in server.asked))
    assert asked[0] == asked[1]
    assert 8 <= len(asked[0]) <= 13
    assert not read_ahead.held.num_bytes


def test_validating_reads_filters_and_values(server, listed):
    there, here = listed
    assert pb.validate(there).checked == pb.validate(here).checked
    assert server.count() <= 110


def test_a_copy_is_the_same(server, listed, tmp_path):
    there, here = listed
    for path, name in ((there, "there"), (here, "here")):
        pb.build(path, tmp_path / name, columns=["c1"])
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


def test_large_filters_are_asked_for_single_blocks(server, tmp_path):
    """32 MiB for one value are more than 4 requests are worth."""
    path = tmp_path / "large.parquet"
    pq.write_table(pa.table({"a": range(20)}), tmp_path / "p", row_group_size=10)
    pb.build(tmp_path / "p", path, columns=["a"], ndv=13_000_000, verify=False)
    data = path.read_bytes()
    assert len(data) > 32 * MIB
    server.put("lake/large.parquet", data)
    report = pb.probe("s3://lake/large.parquet", "a", [5], storage_options=server.options)
    assert report.results == pb.probe(path, "a", [5]).results
    # One for a bound, as half a million blocks with ten values in them begin with zeros.
    assert server.count() <= 6
    assert server.bytes_down <= MIB


def test_pages_of_nulls_are_fetched_together(server, tmp_path):
    """Which show that no filter is needed."""
    path, size = tmp_path / "nulls.parquet", 20_000
    numbers = np.random.default_rng(1).integers(0, 1 << 60, 20 * size)
    ids = pa.array(numbers, mask=np.arange(20 * size) // size % 2 == 1)
    table = pa.table({"a": numbers, "id": ids})
    options = {"compression": "none", "use_dictionary": False}
    pq.write_table(table, tmp_path / "p", row_group_size=size, **options)
    assert len(pb.build(tmp_path / "p", path, columns=["id"]).skipped) == 10
    server.put("lake/nulls.parquet", path.read_bytes())
    server.delay = 0.05
    report = pb.probe("s3://lake/nulls.parquet", "id", [-5], storage_options=server.options)
    assert report.is_absent
    assert report.results == pb.probe(path, "id", [-5]).results
    assert len(server.asked) <= 12
    assert server.most_at_once >= 4


def test_a_name_without_a_listing_takes_one_request_to_open(server, hundred_groups):
    server.put("lake/groups.parquet", hundred_groups.read_bytes())
    with pb.open("s3://lake/groups.parquet", storage_options=server.options) as file:
        assert file.num_row_groups == 100
    assert [(each.kind, each.range) for each in server.asked] == [("GET", "bytes=-262144")]


def test_a_long_footer_takes_one_more(server, tmp_path):
    path = tmp_path / "wide.parquet"
    columns = {f"a_column_with_quite_a_long_name_{number}": [1] for number in range(1000)}
    pq.write_table(pa.table(columns), path)
    server.put("lake/wide.parquet", path.read_bytes())
    with pb.open("s3://lake/wide.parquet", storage_options=server.options) as file:
        assert len(file.columns) == 1000
    first, second = server.asked
    assert first.range == "bytes=-262144"
    start, end = second.range.removeprefix("bytes=").split("-")
    assert int(end) + 1 == path.stat().st_size - 262144 > int(start)


def test_a_second_column_takes_no_more_than_the_first(s3, hundred_groups, monkeypatch):
    """The filters of the first one are read once, to be compared, in few requests."""
    replacement._ignored_in[s3.endpoint, "lake"] = ""
    s3.put("lake/groups.parquet", hundred_groups.read_bytes())
    for column in ("c3", "c5"):
        s3.forget()
        url, options = "s3://lake/groups.parquet", {"storage_options": s3.options}
        report = pb.build(url, columns=[column], in_place=True, **options)
        assert report.num_filters == 100
        assert s3.count() <= 100 + 1 + 6
        assert s3.bytes_down <= FILTERS + 2 * MIB
    assert pb.validate(url, deep=False, **options).ok


def test_orc_reads_the_footer_of_a_stripe_with_the_indexes_of_the_next(server, tmp_path):
    """One request for each, and one for the first; the last footer comes with that of the file."""
    table = pa.table({"i": range(600_000), "s": [f"{row * 7919:015d}" for row in range(600_000)]})
    path = tmp_path / "a.orc"
    orc.write_table(table, tmp_path / "p", stripe_size=1 << 20)
    pb.build(tmp_path / "p", path, columns=["i"])
    server.put("lake/a.orc", path.read_bytes())
    url, options = "s3://lake/a.orc", server.options
    there, here = pb.inspect(url, storage_options=options), pb.inspect(path)
    assert there.stripes == here.stripes
    assert len(here.stripes) > 5
    assert there.requests.get == len(server.asked) <= 1 + len(here.stripes)
    server.forget()
    there = pb.probe(url, "i", [5], storage_options=options)
    assert there.results == pb.probe(path, "i", [5]).results
    assert len(server.asked) <= 1 + len(here.stripes)
    assert server.bytes_down < 2 * MIB


def test_orc_reads_footers_of_stripes_and_then_filters(server, tmp_path):
    path = tmp_path / "a.orc"
    table = pa.table({"i": range(60_000), "s": [f"user-{row}" for row in range(60_000)]})
    orc.write_table(table, tmp_path / "p", stripe_size=1 << 16)
    pb.build(tmp_path / "p", path, columns=["i", "s"])
    server.put("lake/a.orc", path.read_bytes())
    url, options = "s3://lake/a.orc", server.options
    there, here = pb.inspect(url, storage_options=options), pb.inspect(path)
    stripes = len(here.stripes)
    assert stripes > 5
    assert there.stripes == here.stripes
    assert there.requests.get == len(server.asked) <= 1 + 2 * stripes
    server.forget()
    there = pb.probe(url, "s", ["user-5"], storage_options=options)
    assert there.results == pb.probe(path, "s", ["user-5"]).results
    assert len(server.asked) <= 1 + 2 * stripes
    findings = pb.validate(url, storage_options=options).checked
    assert findings == pb.validate(path).checked
    dry = {"columns": ["i"], "existing": "replace", "dry_run": True, "in_place": True}
    assert pb.build(url, storage_options=options, **dry).filters == pb.build(path, **dry).filters


def test_datafusion_asks_no_less_to_look_up_a_value(server, tmp_path):
    """By the same filters: the values are in no order, so that nothing else tells where one is."""
    import datafusion
    from datafusion.object_store import AmazonS3

    rows = range(20_000)
    table = pa.table({"s": [f"user-{row * 7919 % 20_000:08d}" for row in rows], "row": rows})
    pq.write_table(table, tmp_path / "p", row_group_size=1000, use_dictionary=False)
    pb.build(tmp_path / "p", tmp_path / "a.parquet", columns=["s"], ndv=100_000, verify=False)
    server.put("lake/a.parquet", (tmp_path / "a.parquet").read_bytes())
    url = "s3://lake/a.parquet"
    (result,) = pb.probe(url, "s", ["user-00007919"], storage_options=server.options).results
    assert result.verdicts.count("maybe") == 1
    asked = len(server.asked)
    server.forget()
    context = datafusion.SessionContext()
    options = {"region": "x", "access_key_id": "KEY", "secret_access_key": "secret"}
    store = AmazonS3(bucket_name="lake", endpoint=server.endpoint, allow_http=True, **options)
    context.register_object_store("s3://", store, "lake")
    context.register_parquet("t", url)
    (batch,) = context.sql("SELECT row FROM t WHERE s = 'user-00007919'").collect()
    assert batch.to_pydict() == {"row": [1]}
    # The filter of each row group is a request of its own.
    assert len(server.asked) >= 20 > asked
    assert server.bytes_down < 20 * (256 << 10) + MIB
