"""The memory budget: what the verbs take at most, and what they say to what does not fit."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.filters import bitset_at
from make.footers import MAGIC, pointer, with_footer, with_meta
from make.runaway_files import (
    claims,
    columns,
    empty_strings,
    empty_suffixes,
    numbers,
    orc_columns,
    orc_index,
    orc_nulls,
    orc_streams,
    orc_stripes,
    orc_zeros,
    repeated_entry,
    row_groups,
    strings,
)

import parquet_bloom as pb
from parquet_bloom import parallel
from parquet_bloom.parallel import DEFAULT_MEMORY, LEAST_MEMORY, memory, work_in_order
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.footer import footer
from parquet_bloom.parquet.thrift.ttypes import CompressionCodec
from parquet_bloom.rules import examine_parquet
from parquet_bloom.storage.source import LocalSource

MOST_BESIDE = 200 << 20
MILLION = 1_000_000

NO_ROOM = "expected at most 268435456: does not fit the memory budget; --memory raises it"

# With 256 MiB: of these strings, one fits at a time, and none of the next; of the numbers, what is
# made of them must not take several times as much.
FITTING: dict[str, Callable[[], bytes]] = {
    "strings": lambda: strings(4, 240 * MILLION),
    "numbers": lambda: numbers(20 * MILLION),
}
REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "a string": (
        lambda: strings(1, 300 * MILLION),
        f"ZSTD: a page takes 300009173 bytes, {NO_ROOM}",
    ),
    "claims beyond the codec": (
        lambda: claims(2**31 - 1, CompressionCodec.SNAPPY),
        "SNAPPY: 10 bytes, which cannot decompress to 2147483647 bytes",
    ),
    "claims without a limit": (
        lambda: claims(2**31 - 1, CompressionCodec.BROTLI),
        f"BROTLI: a page takes 2147483657 bytes, {NO_ROOM}",
    ),
}


# What the tests have taken counts for the processes that they start, but not for those of these.
_LAUNCHER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stderr=subprocess.STDOUT)
_, status, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
print(process.returncode, usage.ru_maxrss, file=sys.stderr)
"""


def _run(*arguments: object) -> tuple[int, str, int]:
    """The exit code, both streams, and the most memory in bytes of a process of its own."""
    command = [sys.executable, "-m", "parquet_bloom", *map(str, arguments)]
    found = subprocess.run(
        [sys.executable, "-c", _LAUNCHER, *command], capture_output=True, text=True, check=True
    )
    return int(found.stderr.split()[0]), found.stdout, int(found.stderr.split()[1]) << 10


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", FITTING)
def test_what_fits_in_turn(tmp_path: Path, kind: str) -> None:
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    path.write_bytes(FITTING[kind]())
    names = ",".join(pb.open(path).columns)
    rebuild = ("--drop-bad", "--rebuild", "--max-bytes", "64", "--dry-run")
    for arguments in (
        ("build", path, "-c", names, "-o", out),
        ("advise", path),
        ("validate", out),
        ("repair", out, *rebuild),
    ):
        code, said, taken = _run(*arguments, "--memory", "256MiB")
        assert code == 0, said
        assert taken <= LEAST_MEMORY + MOST_BESIDE, arguments[0]


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_does_not_fit(tmp_path: Path, kind: str) -> None:
    make, reason = REFUSED[kind]
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    path.write_bytes(make())
    where = f"{path}: row group 0, column a0: {reason}"
    code, said, taken = _run("build", path, "-c", "a0", "-o", out, "--memory", "256MiB")
    assert (code, said) == (2, f"pbloom: {where}\n")
    assert taken <= MOST_BESIDE
    code, said, taken = _run("advise", path, "--memory", "256MiB")
    assert reason.partition(";")[0] in said
    assert taken <= MOST_BESIDE
    assert not out.exists()


@pytest.mark.parametrize("dialect", ["murmur3", "statistics"])
def test_filters_of_legacy_dialects(tmp_path: Path, dialect: str) -> None:
    """Which are sized by the number of distinct values, that is, by all hashes."""
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    path.write_bytes(numbers(20 * MILLION))
    build = ("build", path, "-c", "a0", "--dialect", dialect, "-o", out, "--memory", "256MiB")
    code, said, taken = _run(*build)
    if dialect == "statistics":
        assert (code, "row group 0, column a0: its pages and hashes take " in said) == (2, True)
    else:
        assert code == 0, said
    assert taken <= LEAST_MEMORY + MOST_BESIDE


def test_a_claim_takes_no_memory(tmp_path: Path) -> None:
    """Even if it fits, only what is decompressed takes any."""
    path = tmp_path / "in.parquet"
    path.write_bytes(claims(900 * MILLION, CompressionCodec.BROTLI))
    code, said, taken = _run("build", path, "-c", "a0,a1,a2,a3", "--dry-run")
    assert (code, "row group 0, column a0: BROTLI: " in said) == (2, True)
    assert taken <= MOST_BESIDE


@pytest.mark.parametrize(
    "verb",
    [
        *("advise", "build", "diff", "dump", "inspect", "probe", "repair", "report", "strip"),
        "validate",
    ],
)
def test_the_option(source: Path, verb: str) -> None:
    """It is for this command only."""
    more: dict[str, tuple[object, ...]] = {
        "build": ("-c", "a", "--dry-run"),
        "diff": (source,),
        "dump": ("-c", "a", "--unparsed"),
        "probe": ("-c", "a", "-v", "7"),
        "repair": ("--dry-run",),
        "report": ("-o", source.with_name("report.html")),
        "strip": ("--dry-run",),
    }
    arguments = more.get(verb, ())
    result = outcome(verb, source, *arguments, "--memory", "2GiB")
    assert (result.code == 0) == (verb != "dump"), result
    assert memory() == DEFAULT_MEMORY
    result = outcome(verb, source, *arguments, "--memory", "255MiB")
    assert result.code == 2
    assert "expected 256.0 MiB or more" in result.stderr
    assert memory() == DEFAULT_MEMORY


def test_the_budget_of_a_process() -> None:
    with pytest.raises(ValueError, match=r"^memory: 1, expected 268435456 bytes or more$"):
        pb.set_memory(1)
    try:
        pb.set_memory(LEAST_MEMORY)
        assert memory() == LEAST_MEMORY
    finally:
        pb.set_memory(DEFAULT_MEMORY)


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A file of eight chunks that point to one filter."""
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"a": range(8), "b": range(8)}), path, row_group_size=2)
    pb.build(path, in_place=True, columns=["a", "b"])
    data = path.read_bytes()
    place = dict(
        zip(("bloom_filter_offset", "bloom_filter_length"), pointer(data, 0, 0), strict=True)
    )
    for group in range(4):
        for column in range(2):
            data = with_meta(data, group, column, **place)
    path.write_bytes(data)
    return path


@pytest.fixture
def reads(shared: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """How often bits of that filter are read: the offset and length of each read."""
    start, end = bitset_at(shared.read_bytes(), 0, 0)
    found: list[tuple[int, int]] = []
    real = LocalSource.read_at

    def read_at(source: LocalSource, offset: int, length: int) -> bytes:
        if source.path == str(shared) and start <= offset < end:
            found.append((offset, length))
        return real(source, offset, length)

    monkeypatch.setattr(LocalSource, "read_at", read_at)
    return found


@pytest.mark.parametrize("deep", [True, False])
def test_a_filter_that_many_chunks_point_to_is_read_once(
    shared: Path, monkeypatch: pytest.MonkeyPatch, deep: bool
) -> None:
    """Not 128 MiB for each of thousands of chunks."""
    read: list[object] = []
    real = bloom.bits

    def bits(source: Any, stored: Any) -> Any:
        read.append(stored)
        return real(source, stored)

    monkeypatch.setattr(bloom, "bits", bits)
    # Too large to be looked at together with another one.
    monkeypatch.setattr(examine_parquet, "_TOGETHER", 0)
    report = pb.validate(shared, deep=deep)
    assert (len(read), report.checked.filters) == (1, 8)
    found = [(each.row_group, each.column) for each in report.findings if each.rule == "PB107"]
    assert sorted(found) == [(group, column) for group in range(4) for column in "ab"]


def test_repair_reads_it_once_without_values(shared: Path, reads: list[tuple[int, int]]) -> None:
    report = pb.repair(shared, dry_run=True)
    assert (len(reads), len(report.repaired)) == (1, 8)


@pytest.mark.parametrize("how", ["drop_bad", "rebuild"])
def test_repair_reads_it_once_more_for_the_values(
    shared: Path, reads: list[tuple[int, int]], how: str
) -> None:
    report = pb.repair(shared, in_place=True, **{how: True})
    # Two of the chunks have the filter's values, of which one keeps it.
    assert (len(reads), len(report.repaired)) == (2, 7)
    assert not [each for each in pb.validate(shared).findings if each.severity == "error"]


# ------------------------------------------------------------------------------------------------
# One budget for all calls


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets a budget that may be less than the least."""
    return lambda num_bytes: monkeypatch.setattr(parallel._budget, "limit", num_bytes)


def test_calls_in_several_threads_share_it(limit: Callable[[int], None]) -> None:
    """No two chunks fit together, whichever call they are of."""
    limit(100)
    at_once: list[int] = []
    working: list[int] = []

    def work(chunk: int) -> int:
        working.append(chunk)
        sleep(0.002)
        at_once.append(len(working))
        working.remove(chunk)
        return chunk

    def call(first: int, threads: int) -> list[int]:
        chunks = range(first, first + 10)
        return [found for _, found in work_in_order(chunks, work, lambda chunk: 60, threads)]

    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(call, 10 * number, 1 + number % 2) for number in range(4)]
        assert [found for each in calls for found in each.result()] == list(range(40))
    assert at_once == [1] * 40


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_left_is_given_back(limit: Callable[[int], None], threads: int) -> None:
    """Also of a call that fails, or that nobody takes the rest of."""
    limit(100)

    def fail(chunk: int) -> int:
        return 1 // (2 - chunk)

    with pytest.raises(ZeroDivisionError):
        list(work_in_order(range(9), fail, lambda chunk: 40, threads))
    rest = work_in_order(range(9), str, lambda chunk: 40, threads)
    assert next(rest) == (0, "0")
    rest.close()
    assert not parallel._budget._held


@pytest.mark.parametrize("threads", [1, 2])
def test_a_call_within_a_call_does_not_wait_for_it(
    limit: Callable[[int], None], threads: int
) -> None:
    limit(100)

    def inner(chunk: int) -> list[tuple[int, str]]:
        return list(work_in_order([chunk], str, lambda chunk: 100, 1))

    found = list(work_in_order(range(3), inner, lambda chunk: 100, threads))
    assert found == [(chunk, [(chunk, str(chunk))]) for chunk in range(3)]


# ------------------------------------------------------------------------------------------------
# Footers, and what is said about chunks

NO_MORE = ": does not fit the memory budget"
CALLS: dict[str, Callable[[Path, Path], object]] = {
    "advise": lambda path, out: pb.advise(path),
    "build": lambda path, out: pb.build(path, out, columns=["a"]),
    "diff": lambda path, out: pb.diff(path, path),
    "inspect": lambda path, out: pb.inspect(path),
    "probe": lambda path, out: pb.probe(path, "a", [7]),
    "repair": lambda path, out: pb.repair(path, out),
    "report": lambda path, out: pb.report(path),
    "validate": lambda path, out: pb.validate(path),
}


@pytest.mark.parametrize("call", CALLS)
def test_more_chunks_than_fit(tmp_path: Path, limit: Callable[[int], None], call: str) -> None:
    """The footer does, and what the call keeps of each chunk does not."""
    path, out = tmp_path / "in.parquet", tmp_path / "out"
    path.write_bytes(row_groups(1000))
    limit(760_000)
    with pytest.raises(pb.UnsupportedError) as refused:
        CALLS[call](path, out)
    number = "2,000" if call == "diff" else "1,000"
    assert str(refused.value).startswith(f"{path}: {number} column chunks take ")
    assert str(refused.value).endswith(NO_MORE)
    assert not out.exists()


def test_advice_about_more_columns_than_fit(tmp_path: Path, limit: Callable[[int], None]) -> None:
    """Of which there are no chunks."""
    path = tmp_path / "in.parquet"
    path.write_bytes(columns(1000))
    limit(3_999_999)
    refused = rf"^{path}: 1,000 columns take 4000000 bytes, expected at most 3999999{NO_MORE}$"
    with pytest.raises(pb.UnsupportedError, match=refused):
        pb.advise(path)
    limit(4_000_000)
    assert len(pb.advise(path).columns) == 1000


def test_more_filters_to_compare_than_fit(tmp_path: Path, limit: Callable[[int], None]) -> None:
    """Of a single chunk."""
    path = tmp_path / "in.orc"
    path.write_bytes(orc_index(10_000))
    limit(5_999_999)
    refused = rf"^{path}: the filters of 10,000 index groups take 6000000 bytes, .*{NO_MORE}$"
    with pytest.raises(pb.UnsupportedError, match=refused):
        pb.diff(path, path)
    limit(6_000_000)
    assert pb.diff(path, path).format == "orc"


@pytest.mark.parametrize("stripes", [1, 4])
def test_more_answers_than_fit(tmp_path: Path, limit: Callable[[int], None], stripes: int) -> None:
    """Of a single chunk, or of chunks each of which fits."""
    path = tmp_path / "in.orc"
    path.write_bytes(orc_index(10_000 // stripes, stripes=stripes))
    limit(12_009_999)
    refused = rf"^{path}: 10,000 index groups take 12010000 bytes, .*{NO_MORE}$"
    with pytest.raises(pb.UnsupportedError, match=refused):
        pb.probe(path, "a0", 7)
    limit(12_010_000)
    assert len(pb.probe(path, "a0", 7).results[0].groups) == 10_000
    with pytest.raises(pb.UnsupportedError, match=" index groups take "):
        pb.probe(path, "a0", [7, 8], explain=True)


def test_more_answers_than_a_document_can_have(
    tmp_path: Path, limit: Callable[[int], None]
) -> None:
    """Which are few in memory, as many values have the same."""
    path = tmp_path / "in.orc"
    path.write_bytes(orc_index(1000))
    limit(20 * 1000 * 420 - 1)
    report = pb.probe(path, "a0", list(range(20)))
    refused = rf"^{path}: 20,000 answers take 8400000 bytes, expected at most 8399999{NO_MORE}$"
    with pytest.raises(pb.UnsupportedError, match=refused):
        report.to_dict()
    limit(20 * 1000 * 420)
    assert [len(each["index_groups"]) for each in report.to_dict()["results"]] == [1000] * 20


def test_advice_about_more_index_groups_than_fit(
    tmp_path: Path, limit: Callable[[int], None]
) -> None:
    path = tmp_path / "in.orc"
    path.write_bytes(orc_nulls(1040, 1))
    limit(1_247_999)
    refused = rf"^{path}: 1,040 index groups take 1248000 bytes, .*{NO_MORE}$"
    with pytest.raises(pb.UnsupportedError, match=refused):
        pb.advise(path)
    limit(1_248_000)
    assert pb.advise(path).num_groups == 1040


def test_of_many_chunks_only_filters_are_stripped(
    tmp_path: Path, limit: Callable[[int], None]
) -> None:
    limit(1_100_000)
    (tmp_path / "none.parquet").write_bytes(row_groups(1000))
    assert pb.strip(tmp_path / "none.parquet", tmp_path / "out").removed == ()
    path = tmp_path / "many.parquet"
    path.write_bytes(row_groups(1000, filters=True))
    refused = rf"^{path}: 1,000 column chunks with filters take 2400000 bytes, .*{NO_MORE}$"
    with pytest.raises(pb.UnsupportedError, match=refused):
        pb.strip(path, tmp_path / "out", overwrite=True)


def test_row_groups_that_do_not_fit_are_not_looked_at(
    tmp_path: Path, limit: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seconds for a million of them."""
    path = tmp_path / "in.parquet"
    path.write_bytes(row_groups(1000))
    limit(300_000)
    looked_at: list[object] = []
    monkeypatch.setattr(footer, "GroupTable", lambda raw, groups: looked_at.append(groups))
    with pytest.raises(pb.UnsupportedError, match="1,000 row groups of 1 column take "):
        pb.open(path)
    assert looked_at == []


FOOTERS: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "row groups": (
        lambda: row_groups(1000),
        300_000,
        "footer: 1,000 row groups of 1 column take ",
    ),
    "columns": (
        lambda: columns(1000),
        300_000,
        "schema: 1,001 elements take 1001000 bytes, expected at most 300000",
    ),
    "names": (
        lambda: columns(100, "n" * 10_000),
        300_000,
        "schema: the names of all columns take 8002400 bytes, expected at most 300000",
    ),
    "a length": (
        lambda: with_footer(MAGIC + bytes(300_000), bytes(200_000)),
        100_000,
        "footer: takes 200000 bytes, expected at most 100000",
    ),
    "columns of ORC": (
        lambda: orc_columns(1000),
        300_000,
        "footer: decoded, it takes up to ",
    ),
    "names in ORC": (
        lambda: orc_columns(100, b"n" * 10_000),
        800_000,
        "footer: the names of all columns take 8081608 bytes, expected at most 800000",
    ),
    "stripes": (
        lambda: orc_stripes(1000),
        1_000_000,
        "footer: 1,000 stripes take 3000000 bytes, expected at most 1000000",
    ),
    "streams": (
        lambda: orc_streams(1000),
        50_000,
        "stripe 0: footer: decoded, it takes up to ",
    ),
}


@pytest.mark.parametrize("kind", FOOTERS)
def test_a_footer_that_does_not_fit(
    tmp_path: Path, limit: Callable[[int], None], kind: str
) -> None:
    make, num_bytes, reason = FOOTERS[kind]
    path = tmp_path / "in"
    path.write_bytes(make())
    limit(num_bytes)
    for verb in ("inspect", "validate", "advise"):
        with pytest.raises(pb.UnsupportedError) as refused:
            getattr(pb, verb)(path)
        assert str(refused.value).startswith(f"{path}: {reason}")
        assert str(refused.value).endswith(NO_MORE)


def test_filters_of_orc_that_do_not_fit(tmp_path: Path, limit: Callable[[int], None]) -> None:
    """Empty ones take two bytes each in the file."""
    path = tmp_path / "in.orc"
    path.write_bytes(orc_index(2000))
    limit(1_000_000)
    (part,) = pb.inspect(path).parts
    assert part.columns[0].reason is not None
    assert part.columns[0].reason.endswith(
        "BLOOM_FILTER_UTF8: decoded, it takes up to 3012000 bytes, expected at most 1000000"
        + NO_MORE
    )


VALUES: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty strings": (lambda: empty_suffixes(10_000), "10000 values take 320018 bytes"),
    "zeros in ORC": (lambda: orc_zeros(512 * 20), "10240 values take 491520 bytes"),
    "filters of ORC": (lambda: orc_nulls(1040 * 8, 8), "1040 filters take "),
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_that_do_not_fit(tmp_path: Path, limit: Callable[[int], None], kind: str) -> None:
    """Although they take next to nothing in the file."""
    make, reason = VALUES[kind]
    path = tmp_path / "in"
    path.write_bytes(make())
    limit(200_000)
    try:
        (skipped,) = pb.build(path, tmp_path / "out", columns=["a0"]).skipped
        found = skipped.reason
    except pb.UnsupportedError as error:
        found = str(error)
    assert reason in found
    assert found.endswith(NO_MORE)


def test_lengths_are_decoded_a_part_at_a_time(tmp_path: Path, limit: Callable[[int], None]) -> None:
    path = tmp_path / "in.parquet"
    path.write_bytes(empty_strings(100_000))
    limit(200_000)
    (built,) = pb.build(path, tmp_path / "out", columns=["a0"]).filters
    assert built.num_values == 100_000


def test_rows_that_do_not_fit_are_not_told(tmp_path: Path, limit: Callable[[int], None]) -> None:
    """That a value is missing is, and which."""
    path = tmp_path / "in.parquet"
    path.write_bytes(repeated_entry(20_000))
    pb.build(path, columns=["a0"], in_place=True)
    data = bytearray(path.read_bytes())
    start, end = bitset_at(bytes(data), 0, 0)
    data[start:end] = b"\1" + bytes(end - start - 1)
    path.write_bytes(data)
    (found,) = [each for each in pb.validate(path).findings if each.rule == "PB401"]
    assert found.rows is not None
    limit(400_000)
    (found,) = [each for each in pb.validate(path).findings if each.rule == "PB401"]
    assert (found.rows, found.examples) == (None, ("1",))
