"""`pbloom inspect --histogram`: charts on a terminal, counts in a pipe, a key in JSON."""

import io
import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import on_a_terminal, outcome

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.options import InspectOptions
from parquet_bloom.render.histogram import MOST_CHARTS, HistogramWriter, chart
from parquet_bloom.verbs.occupancy import inspect_occupancy


def histogram(**blocks):
    """257 counts; `b12=3` is 3 blocks with 12 bits set."""
    counts = [0] * 257
    for bits, count in blocks.items():
        counts[int(bits[1:])] = count
    return counts


def test_chart():
    counts = histogram(b10=2, b11=8, b12=5)
    expected = histogram(b10=4, b11=6.4, b12=4, b13=0.6)
    assert chart(counts, expected, 42) == [
        "bits set  blocks  expected",
        "      10       2         4  ███▌   │",
        "      11       8         6  ███████████│██",
        "      12       5         4  ███████│▊",
        "      13       0         1   │",
    ]


def test_chart_of_many_bits_joins_neighbours():
    counts = histogram(b0=1, b40=3, b256=2)
    lines = chart(counts, counts, 60)
    assert len(lines) == 1 + 16
    assert lines[1].split()[:3] == ["0-16", "1", "1"]
    assert lines[3].split()[:3] == ["34-50", "3", "3"]
    assert lines[16].split()[:3] == ["255-256", "2", "2"]


@pytest.mark.parametrize("width", [50, 80, 200])
def test_the_longest_bar_fills_the_line(width):
    counts = histogram(b3=1_000_000, b4=10)
    lines = chart(counts, counts, width)
    assert max(map(len, lines)) == width


def test_a_chart_on_a_narrow_terminal_still_has_a_bar():
    lines = chart(histogram(b3=7), histogram(b3=7), 10)
    assert lines[1] == "       3       7         7  █████████│"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Two row groups; the filter of `a` in the second is half empty, that of `b` no filter."""
    folder = tmp_path_factory.mktemp("histogram")
    ids = np.random.default_rng(7).integers(0, 1 << 40, 4000)
    table = pa.table({"a": ids, "b": ids, "c": ids})
    pq.write_table(table, folder / "in.parquet", row_group_size=2000)
    out = folder / "out.parquet"
    pb.build(folder / "in.parquet", out, columns=["a", "b"])
    data = bytearray(out.read_bytes())
    a, b, _ = (column.filter for column in pb.inspect(out).row_groups[1].columns)
    middle = a.offset + a.header_bytes + a.num_bytes // 2
    data[middle : middle + a.num_bytes // 2] = bytes(a.num_bytes // 2)
    data[b.offset : b.offset + 3] = b"xyz"
    out.write_bytes(data)
    return out


def unfolded(lines):
    return " ".join(" ".join(lines).split())


def occupancies(path):
    found = []
    with open_file(path) as file:
        inspect_occupancy(file, InspectOptions(), lambda one, _: found.append(one))
    return found


def test_in_a_pipe(path):
    run = outcome("inspect", path, "--histogram", "-c", "a,b")
    title, header, *lines, last = run.stdout.splitlines()
    rows = [line for line in lines if "\t" in line]
    said = [line for line in lines if "\t" not in line]
    assert lines == rows + said
    assert [line.partition(" in ")[0] for line in said] == [
        f"row group {group}, column {column}: 4.0 KiB"
        for group, column in ((0, "a"), (0, "b"), (1, "a"))
    ]
    assert unfolded(on_a_terminal(70, "inspect", path, "--histogram")).count(said[2]) == 1
    assert title == f"{path}: blocks by number of bits set, of 256, and how many are expected"
    assert header == "row group\tcolumn\tbits set\tblocks\texpected"
    counts = {}
    for row in rows:
        group, column, bits, blocks, _ = row.split("\t")
        counts.setdefault((int(group), column), {})[int(bits)] = int(blocks)
    assert rows == [
        f"{one.row_group}\t{one.column}\t{bits}\t{blocks}\t{expected:.1f}"
        for one in occupancies(path)
        for bits, (blocks, expected) in enumerate(zip(one.histogram, one.expected, strict=True))
        if blocks or expected >= 0.5
    ]
    with pb.open(path) as file:
        for (group, column), found in counts.items():
            words = file.bloom_filter(group, column).words.reshape(-1, 8)
            bits = np.bitwise_count(words).sum(axis=1)
            there = {place: count for place, count in found.items() if count}
            assert there == dict(zip(*np.unique_counts(bits), strict=True))
    assert list(counts) == [(0, "a"), (0, "b"), (1, "a")]
    assert last.startswith("row group 1, column b: no filter header at ")


def test_in_json(path):
    plain, with_key = (
        json.loads(outcome("inspect", path, "--json", *more).stdout)
        for more in ([], ["--histogram"])
    )
    occupancy = with_key.pop("occupancy")
    assert with_key == plain
    assert [(one["row_group"], one["column"]) for one in occupancy] == [
        (0, "a"),
        (0, "b"),
        (1, "a"),
    ]
    assert list(occupancy[0]) == [
        "row_group", "column", "num_blocks", "measured_fpp", "histogram", "expected", "spread",
        "spread_error", "map",
    ]  # fmt: skip
    assert len(occupancy[0]["histogram"]) == len(occupancy[0]["expected"]) == 257
    assert sum(occupancy[0]["histogram"]) == occupancy[0]["num_blocks"] == 128


def test_on_a_terminal(path):
    lines = on_a_terminal(140, "inspect", path, "--histogram", "-c", "a")
    titles = [place for place, line in enumerate(lines) if line.startswith("row group")]
    assert len(titles) == 2
    sound, broken = lines[titles[0]], lines[titles[1]]
    assert sound.startswith("row group 0, column a: 4.0 KiB in 128 blocks; fill ")
    assert "uneven" not in sound
    assert broken.endswith(" times the expected: uneven")
    charts = lines[titles[0] + 1 : titles[1] - 1], lines[titles[1] + 1 :]
    for header, *bars in charts:
        assert header == "bits set  blocks  expected"
        assert max(len(bar) for bar in bars) == 140
        assert sum(int(bar.split()[1]) for bar in bars) == 128
        assert all("│" in bar for bar in bars)
    assert charts[1][1].split()[:2] == ["0-8", "64"]


class Terminal(io.TextIOWrapper):
    def isatty(self):
        return True


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_without_block_characters(path, monkeypatch, encoding):
    out = Terminal(io.BytesIO(), encoding=encoding, errors="backslashreplace")
    monkeypatch.setattr(sys, "stdout", out)
    writer = HistogramWriter(str(path))
    with open_file(path) as file:
        selection = InspectOptions(columns=("a",), parts=(0,))
        writer.finish(inspect_occupancy(file, selection, writer.take))
    out.flush()
    text = out.buffer.getvalue().decode(encoding)
    assert ("█" in text, "#" in text, "\\u" in text) == (
        (True, False, False) if encoding == "utf-8" else (False, True, False)
    )
    assert ("│" in text) == ("|" not in text) == (encoding == "utf-8")


def test_without_a_filter(path):
    run = outcome("inspect", path, "--histogram", "-c", "c")
    assert run.code == 0
    assert run.stdout.splitlines()[1:] == ["row group\tcolumn\tbits set\tblocks\texpected"]


def test_a_terminal_shows_a_screen_of_them(tmp_path):
    path = tmp_path / "a.parquet"
    names = [f"c{number:02}" for number in range(MOST_CHARTS + 2)]
    pq.write_table(pa.table({name: range(1000) for name in names}), path)
    pb.build(path, columns=names, in_place=True)
    asked = ("inspect", path, "--histogram")
    short, full = (on_a_terminal(80, *asked, *more) for more in ((), ("--verbose",)))
    assert sum("column c" in line for line in short) == MOST_CHARTS
    assert short[-1] == "And 2 more filters: -c NAME draws those of a column, --verbose all."
    assert sum("column c" in line for line in full) == len(names)
    assert sum("column c" in line for line in outcome(*asked).stdout.splitlines()) == len(names)
