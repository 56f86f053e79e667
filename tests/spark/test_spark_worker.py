"""What an outcome says of a file, without Spark."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.encrypting import FOOTER_KEY, Recipe, encrypt
from make.filters import bitset, with_bitset
from make.spark_requests import build_request, probe_request, strip_request
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.options import ValidateOptions
from parquet_bloom.orc.writer import StripesChange
from parquet_bloom.spark.outcome import Report, Totals
from parquet_bloom.spark.plan import LakeFile
from parquet_bloom.spark.request import Request
from parquet_bloom.spark.worker import MOST_WRITTEN_OUT, work_on_file


@pytest.fixture
def path(tmp_path):
    """Two row groups; the second has no values."""
    path = tmp_path / "a.parquet"
    table = pa.table({"id": pa.array([*range(1000), *[None] * 1000], pa.int64())})
    pq.write_table(table, path, row_group_size=1000)
    return path


def built(path, columns=("id",), **options):
    return work_on_file(build_request(columns, **options), LakeFile(str(path)))


def test_added_and_then_unchanged_although_a_chunk_can_have_none(path):
    outcome = built(path)
    assert (outcome.status, outcome.filters) == ("added", 1)
    assert outcome.message == "no non-null values"
    before = path.read_bytes()
    outcome = built(path)
    assert (outcome.status, outcome.filters, outcome.bytes) == ("unchanged", 0, 0)
    assert outcome.message == "has a filter already; no non-null values"
    assert path.read_bytes() == before


def test_only_missing_reads_no_page_again(path, monkeypatch):
    built(path)
    monkeypatch.setattr("parquet_bloom.spark.worker.build_opened", None)
    outcome = built(path, only_missing=True)
    assert (outcome.status, outcome.message) == ("unchanged", "each column has filters")


def test_filters_that_stay_or_go_because_no_other_is_allowed(path):
    plain = path.read_bytes()
    added = built(path).bytes
    full = path.read_bytes()
    outcome = built(path, existing="replace", max_bytes=64)
    assert (outcome.status, outcome.filters, outcome.bytes) == ("skipped", 0, 0)
    assert outcome.message.startswith(
        "FPP 100 % at 64 bytes, the most allowed: misses the target of 1 %; what is there"
    )
    assert path.read_bytes() == full
    # One that lacks values is not better.
    path.write_bytes(with_bitset(full, bytes(len(bitset(full)))))
    outcome = built(path, existing="replace", max_bytes=64)
    assert (outcome.status, outcome.filters, outcome.bytes) == ("removed", 0, -added)
    assert path.read_bytes() == plain


def test_skipped_where_no_chunk_can_have_one(tmp_path):
    pq.write_table(pa.table({"id": pa.array([None], pa.int64())}), tmp_path / "a.parquet")
    outcome = built(tmp_path / "a.parquet")
    assert (outcome.status, outcome.message) == ("skipped", "no non-null values")


def listed(path):
    """As a run lists it before its first attempt."""
    with open_file(path) as file:
        return LakeFile(str(path), file.source.size, file.source.version)


def has_others():
    """Of a task at which there was an attempt before."""
    return True


@pytest.mark.parametrize("status", ["added", "removed"])
def test_what_somebody_else_has_done_meanwhile(path, status):
    """The run does not claim what none of its attempts can have changed."""
    request = build_request(("id",))
    if status == "removed":
        work_on_file(request, listed(path))
        request = strip_request()
    before = listed(path)
    other, ours = work_on_file(request, before), work_on_file(request, before)
    assert (other.status, ours.status, ours.filters) == (status, "unchanged", 0)
    assert (ours.size_before, ours.bytes, ours.size) == (before.size, other.bytes, other.size)
    assert "attempt" not in (ours.message or "")
    assert json.loads(ours.document)["output"] is None


@pytest.mark.parametrize("only_missing", [False, True])
def test_what_an_attempt_has_done_that_left_no_account(path, only_missing):
    request = build_request(("id",), only_missing=only_missing)
    before = listed(path)
    first = work_on_file(request, before)
    second = work_on_file(request, before, has_others)
    assert (first.status, first.filters, first.message) == ("added", 1, "no non-null values")
    assert (second.status, second.filters) == ("added", 1)
    assert second.message == "added by an attempt of this run that left no account"
    assert (second.bytes, second.size, second.version) == (first.bytes, first.size, first.version)


def test_the_document_of_what_an_attempt_has_done_that_left_no_account(path):
    """Its sizes are those of the run, and it says that notes are missing."""
    for request, status in ((build_request(("id",)), "added"), (strip_request(), "removed")):
        before = listed(path)
        done = work_on_file(request, before), work_on_file(request, before, has_others)
        first, second = (json.loads(each.document) for each in done)
        assert done[1].filters == (None if status == "removed" else done[0].filters)
        sizes = {
            "output",
            "size_before",
            "size_after",
            *({"bytes_added", "bytes_removed"} & {*first}),
        }
        assert len(sizes) == 4
        assert [second[each] for each in sizes] == [first[each] for each in sizes]
        assert (second["output"], second["notes"]) == (
            str(path),
            [
                f"{status} by an attempt of this run that left no account: what it noted is not known"
            ],
        )
    again = json.loads(work_on_file(strip_request(), listed(path)).document)
    assert (again["output"], again["bytes_removed"]) == (None, 0)


def probed(path, values):
    """The outcome, its document, and what the local verb says of each value; of the file, both say the same."""
    outcome = work_on_file(probe_request("id", values), LakeFile(str(path)))
    document, local = json.loads(outcome.document), pb.probe(path, "id", values).to_dict()
    assert {name: document[name] for name in local} | {"results": None} == local | {"results": None}
    return outcome, document, {each.pop("value"): each for each in local["results"]}


MANY = [*range(-150, 0), 2**40]


@pytest.mark.parametrize("values", [[5], [5, *MANY], [2**70]], ids=["one", "many", "not held"])
def test_a_probe_counts_filters_and_not_what_is_absent_without_one(values, path, tmp_path):
    """Where there are nulls only or no rows, and of values that the column cannot hold."""
    assert [probed(path, values)[0].filters, built(path).filters] == [0, 1]
    assert probed(path, values)[0].filters == (values != [2**70])
    empty = tmp_path / "empty.parquet"
    pq.write_table(pq.read_table(path).slice(0, 0), empty)
    assert probed(empty, values)[0].filters == 0
    orc.write_table(pa.table({"id": pa.array([None] * 9, pa.int64())}), tmp_path / "a.orc")
    assert probed(tmp_path / "a.orc", values)[0].filters == 0


@pytest.mark.parametrize(
    ("filtered", "values", "named", "num_absent", "num_others"),
    [
        # One that the column cannot hold is absent also where there is no filter.
        ("none", MANY, {str(2**40)}, 0, 150),
        ("the first row group", [5, *MANY], {"5", str(2**40)}, 0, 150),
        ("all row groups", [5, *MANY], {"5"}, 151, None),
        # Most cannot be in the column.
        ("none", [*range(40), *range(2**40, 2**40 + 90)], set(map(str, range(40))), 90, None),
    ],
)
def test_a_probe_of_many_values_says_once_what_is_so_of_most(
    filtered, values, named, num_absent, num_others, tmp_path
):
    path, options = tmp_path / "a.parquet", {"fpp": 1e-6, "in_place": True}
    table = pa.table({"id": pa.array(range(1000), pa.int32())})
    pq.write_table(table, path, row_group_size=500)
    if filtered != "none":
        some = [0] if filtered == "the first row group" else None
        pb.build(path, columns=["id"], row_groups=some, **options)
    outcome, document, answers = probed(path, values)
    results = {each.pop("value"): each for each in document["results"]}
    others = document["others"]
    assert (results.keys(), document["num_absent"], outcome.ok) == (named, num_absent, True)
    assert (others and others.pop("num_values")) == num_others
    for value in answers.keys() - named:
        results[value] = others or answers[value]
        assert others or answers[value]["verdict"] == "absent"
    assert results == answers
    few = values[:MOST_WRITTEN_OUT]
    assert probed(path, few)[1] == pb.probe(path, "id", few).to_dict()


def test_validate_says_what_the_command_calls_a_file(tmp_path):
    """Also in totals: where no key is given, nobody knows whether filters are right."""
    plain, keys = tmp_path / "plain.parquet", {"id": FOOTER_KEY, "x": b"9876543210987654"}
    pq.write_table(pa.table({"id": range(100), "x": range(100)}), plain)
    pb.build(plain, columns=["x"], in_place=True)
    for name, columns in {"locked": ("id", "x"), "partly": ("id",)}.items():
        recipe = Recipe(columns={each: keys[each] for each in columns}, plaintext_footer=True)
        (tmp_path / f"{name}.parquet").write_bytes(encrypt(plain.read_bytes(), recipe).data)
    pq.write_table(pa.table({"x": range(100)}), tmp_path / "without.parquet")
    wrong, (chunk,) = (
        bytearray(plain.read_bytes()),
        pb.inspect(plain, columns=["x"]).row_groups[0].columns,
    )
    end = chunk.filter.offset + chunk.filter.length
    wrong[end - chunk.filter.num_bytes : end] = bytes(chunk.filter.num_bytes)
    (tmp_path / "wrong.parquet").write_bytes(wrong)
    totals, states = Totals(), {}
    for path in sorted(tmp_path.iterdir()):
        outcome = work_on_file(Request("validate", ValidateOptions(threads=1)), LakeFile(str(path)))
        states[path.stem] = outcome.state
        assert outcome.state == pb.validate(path).state
        totals.add(outcome)
    assert states == {
        "locked": "unknown",
        "partly": "ok where readable",
        "plain": "ok",
        "without": "without filters",
        "wrong": "not ok",
    }
    report = Report("validate", "0", datetime.now(UTC), totals.all(), 1.0)
    assert report.to_dict()["states"] == dict.fromkeys(sorted(states.values()), 1)
    told = "5 read, 1 not ok, 1 ok where readable, 1 unknown, 1 without filters"
    assert (report.counts_in_words, report.num_not_ok, report.ok) == (told, 1, False)


# ------------------------------------------------------------------------------------------------
# ORC


@pytest.fixture
def orc_path(tmp_path):
    """One stripe of two index groups, the second without values; a column that never gets any."""
    path = tmp_path / "a.orc"
    ids = pa.array([*range(1000), *[None] * 500], pa.int64())
    table = pa.table({"id": ids, "flag": [True] * 1500})
    orc.write_table(table, path, row_index_stride=1000, compression="zstd")
    return path


@pytest.mark.parametrize("verify", [True, False])
def test_two_attempts_at_an_orc_file_give_the_same_bytes(orc_path, tmp_path, verify):
    before = orc_path.read_bytes()
    outcome = built(orc_path, verify=verify)
    assert (outcome.status, outcome.filters, outcome.message) == ("added", 2, None)
    assert outcome.bytes == orc_path.stat().st_size - len(before) > 0
    after = orc_path.read_bytes()
    other = tmp_path / "b.orc"
    other.write_bytes(before)
    assert built(other, verify=verify).status == "added"
    assert other.read_bytes() == after
    outcome = built(orc_path)
    assert (outcome.status, outcome.filters, outcome.bytes) == ("unchanged", 0, 0)
    assert outcome.message == "has a filter already"
    assert orc_path.read_bytes() == after


@pytest.mark.parametrize("options", [{}, {"only_missing": True}, {"orc_streams": "both"}])
def test_what_an_attempt_at_an_orc_file_has_done_that_left_no_account(orc_path, options):
    """The filters of each index group are counted, also then."""
    request, before = build_request(("id",), **options), listed(orc_path)
    first = work_on_file(request, before)
    second = work_on_file(request, before, has_others)
    assert (first.status, first.filters, first.message) == ("added", 2, None)
    assert (second.status, second.filters) == ("added", 2)
    assert second.message == "added by an attempt of this run that left no account"
    assert (second.bytes, second.size, second.version) == (first.bytes, first.size, first.version)


def test_an_attempt_that_comes_second_finds_it_done(orc_path, monkeypatch):
    """Both have begun before either was done."""
    verify = StripesChange.verify
    done = []

    def meanwhile(change, written):
        verify(change, written)
        if not done:
            done.append(None)
            done[0] = built(orc_path)

    monkeypatch.setattr(StripesChange, "verify", meanwhile)
    second = built(orc_path)
    assert (done[0].status, done[0].filters) == ("added", 2)
    assert (second.status, second.message) == ("unchanged", "has a filter already")
    assert pb.validate(orc_path, require=["id"]).findings == ()
    assert [path.name for path in orc_path.parent.iterdir()] == ["a.orc"]


def test_only_missing_reads_no_stream_again(orc_path, monkeypatch):
    assert built(orc_path, only_missing=True).status == "added"
    monkeypatch.setattr("parquet_bloom.spark.worker.build_opened", None)
    outcome = built(orc_path, only_missing=True)
    assert (outcome.status, outcome.message) == ("unchanged", "each column has filters")


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ({"columns": ["flag"]}, "skipped", "BOOLEAN: "),
        ({"columns": ["ids"]}, "refused", "{path}: no column ids"),
        ({"max_bytes": 1 << 20}, "refused", "{path}: max_bytes is not supported for an ORC file"),
        (
            {"exact_blocks": True},
            "refused",
            "{path}: exact_blocks is not supported for an ORC file",
        ),
        ({"dry_run": True}, "added", "dry run"),
    ],
)
def test_what_becomes_of_an_orc_file_else(orc_path, options, status, message):
    before = orc_path.read_bytes()
    outcome = built(orc_path, **options)
    assert outcome.status == status
    assert outcome.message.startswith(message.format(path=orc_path))
    assert orc_path.read_bytes() == before


def test_orc_filters_that_stay_because_no_other_is_allowed(orc_path):
    built(orc_path)
    full = orc_path.read_bytes()
    outcome = built(orc_path, existing="replace", ndv=1)
    assert (outcome.status, outcome.filters, outcome.bytes) == ("skipped", 0, 0)
    assert "the largest index group has 1000 values" in outcome.message
    assert orc_path.read_bytes() == full


def test_orc_filters_that_are_stripped(orc_path):
    added = built(orc_path).bytes
    outcome = stripped(orc_path)
    assert (outcome.status, outcome.filters, outcome.bytes) == ("removed", 2, -added)
    assert pb.inspect(orc_path).filter_bytes == 0
    before = orc_path.read_bytes()
    outcome = stripped(orc_path)
    assert (outcome.status, outcome.filters, outcome.bytes) == ("unchanged", 0, 0)
    assert json.loads(outcome.document)["removed"] == []
    assert orc_path.read_bytes() == before


def stripped(path):
    return work_on_file(strip_request(), LakeFile(str(path)))


def test_a_probe_of_many_values_without_filters_in_index_groups(orc_path):
    _, document, answers = probed(orc_path, MANY)
    assert (document["results"], document["num_absent"]) == ([], 0)
    assert document["others"] == {"num_values": 151, **answers["-1"]}
    assert all(each == answers["-1"] for each in answers.values())
