"""An index over many files, against DuckDB over the same: `python -m benchmarks.compare_index [FILES]`.

The files are links to one of 3,000 rows, so that a lake of 100,000 takes no room; the index is told that each has
3,000 values of its own: 300 million pairs, made of hashes as `pbloom index build` makes them of pages.
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.links import link
from benchmarks.processes import PBLOOM, ask, module, run
from benchmarks.tables import NO_GOAL, Row, Table, at_least, at_most, megabytes

if TYPE_CHECKING:
    from parquet_bloom.index.manifest import Segment

FILES = 100_000
VALUES = 3_000
NO_VALUE = 1
# Of filters: 10.9 bits for each value, and many more.
SMALL_BLOCKS, LARGE_BLOCKS = 128, 4096
COMMANDS = {"1 value": 1, "100 values": 100}


def compare_index(num_files: int, rounds: int = 5) -> Table:
    with TemporaryDirectory() as folder:
        lake, index = Path(folder) / "lake", Path(folder) / "index"
        built = ask(module("compare_index", "make", lake, index, num_files))
        asked = ask(module("compare_index", "ask", index, num_files))
        slices = Path(folder) / "slices"
        sliced = ask(module("compare_index", "slice", lake, slices, num_files))
        rows = [*_of_building(built), *_of_asking(asked), *_of_slices(sliced)]
        start = median(run([PBLOOM, "--help"]).cpu for _ in range(rounds))
        for name, count in COMMANDS.items():
            values = [f"-v{VALUES * at + 7}" for at in range(count)]
            command = [PBLOOM, "index", "probe", "--index", str(index), "-c", "id", *values]
            cpu = median(run(command).cpu for _ in range(rounds))
            more = 1000 * (cpu - start)
            goal = at_most(more, 20 if count == 1 else 30, " ms")
            rows.append([f"pbloom index probe, {name}, beyond --help", f"{more:.0f} ms", *goal])
            if count == 1:
                of_duckdb = run(module("compare_index", "duckdb", lake)).cpu
                times = of_duckdb / cpu
                rows.append(["DuckDB, SELECT of 1 value", f"{of_duckdb:.1f} s", *NO_GOAL])
                rows.append(["the same / pbloom", f"{times:.0f}x", *at_least(times, 100, "x")])
    return Table(
        "An index",
        f"{num_files:,} files of {VALUES:,} values each; CPU time.",
        ("", "found"),
        rows,
    )


def _of_building(built: dict[str, float]) -> list[Row]:
    return [
        [
            "keys sorted and written, from hashes",
            f"{built['speed'] / 1e6:.0f} M/s",
            *at_least(built["speed"] / 1e6, 30, " M/s"),
        ],
        ["the map", megabytes(built["size"]), *NO_GOAL],
        ["bits for each pair", f"{built['bits']:.1f}", *at_most(built["bits"], 23, "")],
        [
            "the same of values in 16 files each",
            f"{built['folded']:.1f}",
            *at_most(built["folded"], 20, ""),
        ],
        ["peak memory", megabytes(built["peak"]), *NO_GOAL],
    ]


def _of_asking(asked: dict[str, float]) -> list[Row]:
    return [
        ["open, 1 value", f"{1000 * asked['one']:.2f} ms", *NO_GOAL],
        ["open, 100 values", f"{1000 * asked['hundred']:.1f} ms", *NO_GOAL],
        [
            "open, 10,000 values",
            f"{1000 * asked['many']:.0f} ms",
            *at_most(asked["many"], 0.1, " s"),
        ],
        [
            "places too many for each value",
            f"{asked['false']:.2f}",
            *at_most(asked["false"], 0.2, ""),
        ],
    ]


def _of_slices(sliced: dict[str, float]) -> list[Row]:
    speed, size = sliced["speed"] / 1e6, sliced["size"]
    return [
        ["slices of filters of 128 KiB, turned and written", f"{speed:.0f} MB/s", *at_least(speed, 300, " MB/s")],
        ["slices of filters of 4 KiB without the names of files, over these", f"{size:.3f}x", *at_most(size, 1.03, "x")],
        ["slices open, 1 value", f"{1000 * sliced['one']:.2f} ms", *NO_GOAL],
        ["slices open, 100 values", f"{1000 * sliced['hundred']:.1f} ms", *at_most(1000 * sliced["hundred"], 40, " ms")],
        ["slices open, 10,000 values", f"{1000 * sliced['many']:.0f} ms", *NO_GOAL],
        ["the same, with the files named, 1 value", f"{1000 * sliced['probe']:.1f} ms", *NO_GOAL],
        ["places too many for each value", f"{sliced['false']:.0f}", *NO_GOAL],
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------
# In processes of their own


def make(lake: Path, index: Path, num_files: int) -> dict[str, float]:
    """Links to a file, and an index that has other values in each."""
    import resource
    from dataclasses import replace

    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from parquet_bloom.index.building import NewSegment
    from parquet_bloom.index.collecting import KeyCollector, KeyRoom
    from parquet_bloom.index.kinds import parquet_kind
    from parquet_bloom.index.manifest import IndexedColumn, Manifest, commit
    from parquet_bloom.index.states import listed, state_of
    from parquet_bloom.index.units import Unit
    from parquet_bloom.native import _kernel
    from parquet_bloom.storage import open_folder
    from parquet_bloom.values.types import LeafType

    tiny = lake.with_name("tiny.parquet")
    lake.mkdir(parents=True)
    index.mkdir()
    pq.write_table(pa.table({"id": pa.array(range(VALUES), pa.int64())}), tiny)
    link(tiny, lake, num_files)
    files, _ = listed([str(lake)], None, None, state_of)
    segment = NewSegment(
        IndexedColumn("id", parquet_kind(LeafType("INT64"))), KeyCollector(KeyRoom.within_budget())
    )
    folder = open_folder(str(index))
    hashing = 0.0
    began = time.process_time()
    for number, file in enumerate(files):
        started = time.process_time()
        values = np.arange(VALUES * number, VALUES * (number + 1), dtype="<i8")
        hashes = _kernel.xxh64_fixed(values.view(np.uint8), 8)
        segment.units.append(Unit(file.path, file.size, file.version or "", 0, number, 1, VALUES))
        hashing += time.process_time() - started
        segment.keys.add(hashes, number)
    written = segment.written(folder)
    taken = time.process_time() - began - hashing
    start = Manifest(columns=("id",), places="row-group", sources=(str(lake),), made=time.time())
    commit(folder, lambda _: replace(start, segments=(written,)))
    assert written.map is not None
    keys, size = written.map.num_keys, written.map.size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return {
        "speed": keys / taken,
        "size": size,
        "bits": 8 * size / keys,
        "folded": folded_bits(num_files),
        "peak": peak,
    }


def folded_bits(num_files: int, in_each: int = 16, share: int = 16) -> float:
    """Bits for each pair in a map of as many, but that each value is in so many files: one of `share` parts of it, by
    hashes."""
    from io import BytesIO

    import numpy as np

    from parquet_bloom.index.keys import MOST_PLACES, bits_for
    from parquet_bloom.index.map_writer import MapWriter, are_to_fold

    random = np.random.default_rng(1)
    num_pairs = num_files * VALUES
    hashes = random.integers(0, (1 << 64) // share, num_pairs // share // in_each, np.uint64)
    places = random.integers(0, num_files, (in_each, hashes.size), np.uint64)
    bits = bits_for(num_pairs, num_files)
    keys = bits.narrow([(hashes & ~np.uint64(MOST_PLACES - 1) | places).ravel()])
    writer = MapWriter(BytesIO(), "map", bits, num_pairs, are_to_fold(keys, bits))
    writer.add(keys)
    written = writer.close()
    return 8 * written.size / written.num_keys


def ask_open(index: Path, num_files: int) -> dict[str, float]:
    """What an index that is open takes, and how many places too many it tells."""
    import numpy as np

    import parquet_bloom as pb

    random = np.random.default_rng(1)
    wanted = random.integers(0, num_files * VALUES, 10_000)
    with pb.Index(index) as found:
        found.probe("id", wanted)
        times = {}
        for name, count in (("one", 1), ("hundred", 100), ("many", 10_000)):
            began = time.process_time()
            report = found.probe("id", wanted[:count])
            times[name] = time.process_time() - began
    places = sum(len(file.row_groups) for result in report.results for file in result.files)
    assert all(result.files for result in report.results)
    return {**times, "false": places / len(wanted) - 1}


def slice_filters(lake: Path, index: Path, num_files: int) -> dict[str, float]:
    """An index of filters that have other values in each file."""
    import numpy as np

    import parquet_bloom as pb
    from parquet_bloom.index.kinds import asked_hashes
    from parquet_bloom.index.manifest import Manifest, commit
    from parquet_bloom.storage import open_folder

    index.mkdir()
    speed, _, _ = sliced(lake, index, num_files // 20, LARGE_BLOCKS)
    _, size, segment = sliced(lake, index, num_files, SMALL_BLOCKS)
    made = Manifest(columns=("id",), segments=(segment,), made=time.time())
    commit(open_folder(str(index)), lambda _: made)
    wanted = np.random.default_rng(1).integers(0, num_files * VALUES, 10_000)
    found = {"speed": speed, "size": size}
    with pb.Index(index) as opened:
        (known,) = opened._asked.of_column("id")
        assert known.slices is not None
        hashes = asked_hashes(segment.kind, wanted).hashes
        known.slices.places(int(hashes[1]))
        for name, count in (("hundred", 100), ("many", 10_000)):
            began = time.process_time()
            positions, _ = known.slices.places_of_many(hashes[:count])
            found[name] = time.process_time() - began
        found["false"] = positions.size / len(wanted) - 1
        began = time.process_time()
        known.slices.places(int(hashes[0]))
        found["one"] = time.process_time() - began
        began = time.process_time()
        opened.probe("id", wanted[:1])
        found["probe"] = time.process_time() - began
    return found


def sliced(
    lake: Path, index: Path, num_files: int, num_blocks: int
) -> tuple[float, float, Segment]:
    """Bytes of filters in a second, how many times their bytes were written but for the names of files,
    and the segment."""
    import numpy as np

    from parquet_bloom.filters.split_block import SplitBlockBloomFilter
    from parquet_bloom.index.building import NewSlices
    from parquet_bloom.index.collecting import KeyRoom
    from parquet_bloom.index.kinds import parquet_kind
    from parquet_bloom.index.manifest import IndexedColumn
    from parquet_bloom.index.states import listed, state_of
    from parquet_bloom.index.units import Unit
    from parquet_bloom.index.values_reader import FoundFilter
    from parquet_bloom.native import _kernel
    from parquet_bloom.storage import open_folder
    from parquet_bloom.values.types import LeafType

    files, _ = listed([str(lake)], None, None, state_of)
    taken = 0.0
    with KeyRoom.within_budget() as room:
        segment = NewSlices(IndexedColumn("id", parquet_kind(LeafType("INT64"))), room)
        for number, file in enumerate(files[:num_files]):
            values = np.arange(VALUES * number, VALUES * (number + 1), dtype="<i8")
            filter = SplitBlockBloomFilter.empty(num_blocks)
            filter.insert_hashes(_kernel.xxh64_fixed(values.view(np.uint8), 8))
            bits = filter.to_bytes()
            unit = Unit(file.path, file.size, file.version or "", 0, 0, 0, VALUES)
            began = time.process_time()
            segment.add(unit, [(VALUES, FoundFilter(len(bits), partial(bytes, bits)))])
            taken += time.process_time() - began
        began = time.process_time()
        written = segment.written(open_folder(str(index)))
        taken += time.process_time() - began
    num_bytes = 32 * num_blocks * num_files
    return num_bytes / taken, (written.num_bytes - written.units.size) / num_bytes, written


def select(lake: Path) -> None:
    import duckdb

    duckdb.execute("SET threads = 1")
    duckdb.sql(
        f"SELECT count(*) FROM read_parquet('{lake}/**/*.parquet') WHERE id = {-NO_VALUE}"
    ).fetchall()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", lake, index, count]:
            print(json.dumps(make(Path(lake), Path(index), int(count))))
        case ["ask", index, count]:
            print(json.dumps(ask_open(Path(index), int(count))))
        case ["slice", lake, index, count]:
            print(json.dumps(slice_filters(Path(lake), Path(index), int(count))))
        case ["duckdb", lake]:
            select(Path(lake))
        case arguments:
            print(compare_index(int(arguments[0]) if arguments else FILES))
