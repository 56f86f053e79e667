"""The memory budget: what the verbs take at most, and what they say to what does not fit."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.footers import pointer, with_meta
from make.runaway_files import claims, numbers, strings

import parquet_bloom as pb
from parquet_bloom.parallel import DEFAULT_MEMORY, LEAST_MEMORY, memory
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.thrift.ttypes import CompressionCodec
from parquet_bloom.rules import examine_parquet

MOST_BESIDE = 200 << 20
MILLION = 1_000_000

NO_ROOM = "expected at most 268435456: does not fit the memory budget; --memory allows for more"

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
        "SNAPPY: 10 bytes, from which 2147483647 bytes cannot come",
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


@pytest.mark.parametrize("kind", FITTING)
def test_what_fits_in_turn(tmp_path: Path, kind: str) -> None:
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    path.write_bytes(FITTING[kind]())
    columns = ",".join(pb.open(path).columns)
    rebuild = ("--drop-bad", "--rebuild", "--max-bytes", "64", "--dry-run")
    for arguments in (
        ("build", path, "-c", columns, "-o", out),
        ("advise", path),
        ("validate", out),
        ("repair", out, *rebuild),
    ):
        code, said, taken = _run(*arguments, "--memory", "256MiB")
        assert code == 0, said
        assert taken <= LEAST_MEMORY + MOST_BESIDE, arguments[0]


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


@pytest.mark.parametrize("verb", ["advise", "build", "repair", "report", "validate"])
def test_the_option(source: Path, verb: str) -> None:
    """It is for this command only."""
    arguments = {"build": ("-c", "a", "--dry-run"), "repair": ("--dry-run",)}.get(verb, ())
    if verb == "report":
        arguments = ("-o", source.with_name("report.html"))
    assert outcome(verb, source, *arguments, "--memory", "2GiB").code == 0
    assert memory() == DEFAULT_MEMORY
    result = outcome(verb, source, *arguments, "--memory", "255MiB")
    assert result.code == 2
    assert "267386880 is not in the range x>=268435456" in result.stderr
    assert memory() == DEFAULT_MEMORY


def test_the_budget_of_a_process() -> None:
    with pytest.raises(ValueError, match=r"^memory: 1, expected 268435456 bytes or more$"):
        pb.set_memory(1)
    try:
        pb.set_memory(LEAST_MEMORY)
        assert memory() == LEAST_MEMORY
    finally:
        pb.set_memory(DEFAULT_MEMORY)


def test_a_filter_that_many_chunks_point_to_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not 128 MiB for each of thousands of chunks."""
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
    read: list[object] = []
    real = bloom.read_bitset

    def read_bitset(source: Any, stored: Any) -> Any:
        read.append(stored)
        return real(source, stored)

    monkeypatch.setattr(bloom, "read_bitset", read_bitset)
    # Too large to be looked at together with another one.
    monkeypatch.setattr(examine_parquet, "_TOGETHER", 0)
    report = pb.validate(path, deep=False)
    assert (len(read), report.checked.filters) == (1, 8)
    shared = [(each.row_group, each.column) for each in report.findings if each.rule == "PB107"]
    assert sorted(shared) == [(group, column) for group in range(4) for column in "ab"]
