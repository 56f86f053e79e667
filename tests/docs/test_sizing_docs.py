"""The figures of docs/sizing.md."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT

import parquet_bloom as pb
from parquet_bloom.filters.sizing import BLOCK_BYTES, Size, bits_per_value

PAGE = ROOT / "docs" / "sizing.md"
VALUES = 100_000


def row(name: str, below: int = 0) -> list[str]:
    """The cells of the only row of the page that begins with this, or of one below it, without the first."""
    lines = PAGE.read_text().splitlines()
    (place,) = (place for place, line in enumerate(lines) if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in lines[place + below].strip("|").split("|")][1:]


RATES = [float(cell.removesuffix(" %")) / 100 for cell in row("rate")]


def test_bits_per_value():
    assert row("bits per distinct value") == [f"{bits_per_value(rate):.1f}" for rate in RATES]


@pytest.mark.parametrize(
    ("values", "unit", "name", "digits"),
    [
        (VALUES, 1 << 10, "KiB", 0),
        (10 * VALUES, 1 << 20, "MiB", 1),
        (100 * VALUES, 1 << 20, "MiB", 1),
    ],
)
def test_sizes(values, unit, name, digits):
    """As calculated, and in the row below as a power of two."""
    for is_exact, below, shown in ((True, 0, digits), (False, 1, 0)):
        blocks = [Size(rate, exact_blocks=is_exact).blocks_for(values) for rate in RATES]
        assert row(f"{name} for {values:,} distinct values", below) == [
            f"{each * BLOCK_BYTES / unit:.{shown}f}" for each in blocks
        ]


@pytest.mark.parametrize("step", [1, 7919])
@pytest.mark.parametrize("rate", RATES)
def test_exact_blocks_take_what_is_calculated_or_a_step_more(tmp_path, rate, step):
    path, out = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(pa.table({"a": np.arange(VALUES) * step}), path, use_dictionary=False)
    (built,) = pb.build(path, out, columns="a", fpp=rate, exact_blocks=True).filters
    calculated = BLOCK_BYTES * Size(rate, exact_blocks=True).blocks_for(VALUES)
    assert built.fpp <= rate
    assert any(
        built.num_bytes == pytest.approx(size, rel=0.005)
        for size in (calculated, 1.02 * calculated)
    )
