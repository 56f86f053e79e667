"""Files with columns in ALP: every bit of their values, and what the verbs do with them."""

import json
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from conftest import FIXTURES, SHARED, missing
from make.filters import bits_of, stored_filter, with_filter_bytes
from make.pages import data_page, dictionary_page, levels_v1, page, v2
from make.parquet_files import Column, forge, open_parquet
from oracle.specification import alp, rle_run

import parquet_bloom as pb
from parquet_bloom.parquet.pages.pages import page_rows
from parquet_bloom.parquet.thrift.ttypes import Encoding, FieldRepetitionType, PageType, Type

OPTIONAL = FieldRepetitionType.OPTIONAL


def stored_and_rows(path: Path) -> tuple[bytes, list[int]]:
    """All values as they are stored, and the row of each."""
    with open_parquet(path) as file:
        (leaf,) = file.footer.leaves
        stored, rows, before = b"", [], 0
        for group in range(file.num_row_groups):
            for part in page_rows(file.source, file.footer, file.footer.chunk(group, leaf)):
                stored += b"".join(part.run.values())
                rows += (before + part.rows).tolist()
            before += file.footer.row_group_num_rows(group)
    return stored, rows


def check_file(path: Path, expected: Sequence[bytes | None]) -> None:
    """`expected`: what was stored in each row."""
    stored, rows = stored_and_rows(path)
    assert rows == [row for row, value in enumerate(expected) if value is not None]
    assert stored == b"".join(value for value in expected if value is not None)
    # So that pages were inserted by the kernel, too.
    built = pb.build(path, dry_run=True, columns=["v"], existing="replace")
    assert sum(each.num_values for each in built.filters) == len(rows)


@pytest.mark.parametrize("name", ["rugo_double", "rugo_float"])
def test_fixtures(name: str) -> None:
    path = FIXTURES / "alp" / f"{name}.parquet"
    texts = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["stored"]
    check_file(path, [text and bytes.fromhex(text) for text in texts])


def test_advice() -> None:
    path = FIXTURES / "alp" / "rugo_float.parquet"
    (advice,) = pb.advise(path, engines=["duckdb"]).columns
    assert advice.reason.endswith("; few engines read ALP: DuckDB up to 2.0 cannot open the file")
    (advice,) = pb.advise(path).columns
    assert advice.reason.endswith("; rugo since 0.5.6 and arrow-rs since 60 read it")


def test_shared_files() -> None:
    """By rugo, and by an encoder for what rugo does not write: other vectors, NaN of all kinds, DataPageV2."""
    files = sorted((SHARED / "data" / "alp").glob("*.parquet"))
    if not files:
        missing("../shared/data/alp")
    for path in files:
        told = np.load(path.with_suffix(".npz"))
        rows = zip(told["valid"], told["bits"], strict=True)
        check_file(path, [bits.tobytes() if is_there else None for is_there, bits in rows])
    assert len(files) == 34


def doubles(*numbers: float) -> list[bytes]:
    return [struct.pack("<d", number) for number in numbers]


FIRST = doubles(0.5, 1.5)
SECOND = doubles(2.25, -0.0, 7.125, float("nan"))
THIRD = doubles(3.5)
ROWS = [0.5, 1.5, 0.5, None, 2.25, -0.0, 7.125, float("nan"), None, 3.5]


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A dictionary, a page that refers to it, then ALP in data pages of both versions; and integers beside it."""
    levels = levels_v1(rle_run(1, 3, 1) + rle_run(0, 1, 1))
    header = v2(2, Encoding.ALP, num_nulls=1, definition_levels_byte_length=4)
    dictionary = levels + bytes([1]) + rle_run(0, 1, 1) + rle_run(1, 1, 1) + rle_run(0, 1, 1)
    third = rle_run(0, 1, 1) + rle_run(1, 1, 1) + alp(THIRD, 10, 1, 0)
    pages = [
        dictionary_page(b"".join(FIRST), 2),
        data_page(dictionary, 4, Encoding.RLE_DICTIONARY),
        data_page(levels_v1(rle_run(1, 4, 1)) + alp(SECOND, 3, 3, 0), 4, Encoding.ALP),
        page(PageType.DATA_PAGE_V2, third, data_page_header_v2=header),
    ]
    start = 4 + len(pages[0])
    encodings = [Encoding.PLAIN, Encoding.RLE_DICTIONARY, Encoding.ALP]
    meta = {"dictionary_page_offset": 4, "data_page_offset": start, "encodings": encodings}
    price = Column(pages, len(ROWS), "price", Type.DOUBLE, repetition=OPTIONAL, meta=meta)
    ids = Column([data_page(np.arange(10).astype("<i8").tobytes(), 10)], 10, "id")
    path = tmp_path / "mixed.parquet"
    path.write_bytes(forge(price, ids))
    return path


def test_every_verb(mixed: Path, tmp_path: Path) -> None:
    pb.build(mixed, in_place=True, columns=["price", "id"])
    results = pb.probe(mixed, "price", [1.5, 7.125, 3.5, 0.0, 4.5]).results
    assert [each.verdict for each in results] == ["maybe"] * 4 + ["absent"]
    assert pb.validate(mixed).findings == ()
    found = pb.find(mixed, "price", [7.125, 0.5, 4.5], columns=["price", "id"])
    assert [(each.row, each.value) for each in found.rows] == [(0, 0.5), (2, 0.5), (6, 7.125)]
    values = {"price": [0.5, 0.5, 7.125], "id": [0, 2, 6]}
    assert found.values.to_pydict() == values
    left = pb.rows(mixed, [("price", "in", [7.125, 0.5])], ["price", "id"])
    assert left.to_pydict() == values
    everything = pb.rows(mixed, [("id", ">=", 0)], ["price"])["price"].to_numpy()
    assert everything.tobytes() == np.array([np.nan if x is None else x for x in ROWS]).tobytes()
    index = pb.Index.build(tmp_path / "index", mixed, columns=["price"])
    assert [each.verdict for each in index.probe("price", [3.5, 4.5]).results] == [
        "maybe",
        "absent",
    ]


def test_a_filter_that_lacks_them(mixed: Path) -> None:
    """It was made of the dictionary alone, and of the other numbers as they are in big-endian files."""
    wrong = [value[::-1] for value in (*SECOND, *THIRD)]
    filter = stored_filter(bits_of([*FIRST, *wrong], 4))
    mixed.write_bytes(with_filter_bytes(mixed.read_bytes(), 0, 0, filter))
    (found,) = pb.validate(mixed, diagnose=True).findings
    assert (found.rule, found.examples) == ("PB401", ("2.25", "-0.0", "7.125", "nan", "3.5"))
    assert found.diagnosis.hypothesis == "big-endian"
