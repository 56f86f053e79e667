"""The shapes of the report's charts."""

import pytest

from parquet_bloom.render.charts import histogram_chart, map_chart, strip_chart


def test_map_chart():
    chart = map_chart([0, 0, 0.5, 1, 0.5, 0.5, 0.25, 0])
    assert (chart.columns, chart.rows) == (4, 2)
    assert (chart.lowest, chart.highest, chart.num_empty, chart.num_full) == (0, 1, 3, 1)
    assert [(shade.kind, shade.path) for shade in chart.shades] == [
        ("empty", "M0 0h2v1h-2zM3 1h1v1h-1z"),
        ("part", "M2 1h1v1h-1z"),
        ("part", "M2 0h1v1h-1zM0 1h2v1h-2z"),
        ("full", "M3 0h1v1h-1z"),
    ]
    assert chart.shades[1].opacity < chart.shades[2].opacity


@pytest.mark.parametrize(
    ("cells", "shape"), [(1, (1, 1)), (2, (2, 1)), (5, (4, 2)), (512, (32, 16)), (500, (32, 16))]
)
def test_shape_of_a_map(cells, shape):
    chart = map_chart([0.3] * cells)
    assert (chart.columns, chart.rows) == shape


def test_nearly_empty_and_nearly_full_are_neither():
    chart = map_chart([1e-9, 1 - 1e-9])
    assert [shade.kind for shade in chart.shades] == ["part", "part"]
    assert (chart.num_empty, chart.num_full) == (0, 0)


def test_histogram_chart():
    counts, expected = [0] * 257, [0.0] * 257
    counts[10], counts[11] = 3, 1
    expected[10], expected[11] = 2.0, 2.0
    chart = histogram_chart(counts, expected)
    assert chart.bars == "M0.0 96v-96.00h159.0v96.00zM160.0 96v-32.00h159.0v32.00z"
    assert chart.curve == "M80.0 32.00L240.0 32.00"
    assert (chart.low, chart.high, chart.most) == (10, 11, 3)


def test_strip_chart():
    assert strip_chart([True, False]) == "M0.00 8v-8.00h50.00V8z"
    assert strip_chart([True, False] * 100).startswith("M0.00 8v-4.00h1.00V8zM1.00 8v-4.00h1.00")
