"""Where rows have to be looked at, the places are in what is printed by default, of one file and of several."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from make.commands import outcome
from pyarrow import orc

from parquet_bloom.files import open_file

ROWS, STRIDE, WIDTH = 6000, 1000, 18
DATA = 1


def with_changed(path: Path, *rows: int) -> Path:
    """A file in which the texts of these rows were others when filters were built."""
    random = np.random.default_rng(1)
    texts = [random.bytes(WIDTH // 2).hex() for _ in range(ROWS)]
    orc.write_table(
        pa.table({"s": texts}), path, row_index_stride=STRIDE, bloom_filter_columns=[1],
        bloom_filter_fpp=1e-6,
    )  # fmt: skip
    with open_file(path) as file:
        start = file.stripe(0).streams_of(1, (DATA,))[0].offset
    data = bytearray(path.read_bytes())
    for row in rows:
        # Among the others, so that no bounds tell.
        data[start + row * WIDTH + WIDTH - 1] ^= 1
    path.write_bytes(data)
    return path


def said(*arguments: object) -> str:
    ran = outcome("validate", "--diagnose", "--no-config", "--ignore", "PB309", *arguments)
    assert ran.code == 1
    return ran.stdout


def test_one_file_names_all_places(tmp_path: Path) -> None:
    path = with_changed(tmp_path / "a.orc", 50, 60, 1060, 1070)
    lines = said(path).splitlines()
    assert (
        "      rows to look at: stripe 0, index group 0, rows 50 to 60 (2); stripe 0, index group 1, rows 1060 to"
        " 1070 (2)"
    ) in lines
    # In full, each has a line of its own.
    assert "rows to look at" not in said("--verbose", path)


def test_one_place_is_in_the_statement(tmp_path: Path) -> None:
    text = said(with_changed(tmp_path / "a.orc", 50))
    assert "in row 50;" in text
    assert "rows to look at" not in text


def test_several_files_name_the_places_of_each(tmp_path: Path) -> None:
    first = with_changed(tmp_path / "a.orc", 50, 3080)
    second = with_changed(tmp_path / "b.orc", 1060)
    text = said(first, second)
    places = f"{first}, stripe 0, index group 0, row 50; stripe 0, index group 3, row 3080; {second}, stripe 0"
    assert f"; rows to look at: {places}, index group 1, row 1060; next: take another copy" in text
    # What the values say of each filter is not mixed with that of others.
    assert re.search(r"expected 4; \d+ of its 20 bits are set", text)


@pytest.mark.parametrize("name", ["one", "several"])
def test_the_first_ten_are_named(tmp_path: Path, name: str) -> None:
    paths = [
        with_changed(tmp_path / f"{letter}.orc", *(STRIDE * group + 5 for group in range(6)))
        for letter in ("ab" if name == "several" else "a")
    ]
    text = said(*paths)
    assert text.count("index group") >= 6
    assert ("and 2 more (--verbose)" in text) is (name == "several")
