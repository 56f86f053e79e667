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


def row(name: str) -> list[str]:
    """The cells of the row of the page that begins with this."""
    (line,) = (line for line in PAGE.read_text().splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


RATES = [float(cell.removesuffix(" %")) / 100 for cell in row("rate")]


def test_the_table():
    assert row("bits per distinct value") == [f"{bits_per_value(rate):.1f}" for rate in RATES]
    for exact, name in (
        (True, f"KiB for {VALUES:,} distinct values"),
        (False, "as a power of two"),
    ):
        blocks = [Size(rate, exact_blocks=exact).blocks_for(VALUES) for rate in RATES]
        assert row(name) == [f"{each * BLOCK_BYTES / 1024:.0f}" for each in blocks]


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
