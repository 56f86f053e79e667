"""Damaged files with filters of older dialects: one clear error, or a right answer."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.footers import footer_start
from make.older_files import (
    STORED,
    bitset,
    file_of,
    page_header,
    plain_header,
    thrift_header,
    with_other_note,
)

import parquet_bloom as pb
from parquet_bloom.errors import FilterError, ParquetBloomError
from parquet_bloom.legacy.murmur3.pointers import decoded

MUTANTS = 150
NOTE = (
    '{"offset":4,"length":44,"pages":4,"header":"12-byte","hash":"MURMUR3","seed":1,'
    '"selection":"mask","crc32":4173345149}'
)


def attempt(work):
    """What it gives; None for an error of ours."""
    try:
        return work()
    except ParquetBloomError:
        return None


def every_verb(path, output):
    """Whatever reads the filters of `a`."""
    for dialect in (None, "murmur3", "statistics"):
        attempt(lambda dialect=dialect: pb.probe(path, "a", ["value 1", "x"], dialect=dialect))
        attempt(lambda dialect=dialect: pb.dump(path, "a", 0, dialect=dialect).in_format("json"))
        attempt(lambda dialect=dialect: pb.dump(path, "a", 0, dialect=dialect).in_format("npy"))
    attempt(lambda: pb.inspect(path))
    attempt(lambda: pb.probe(path, "a", ["value 1"], explain=True))
    attempt(lambda: pb.validate(path))
    for work in (
        lambda: pb.strip(path, output, overwrite=True),
        lambda: pb.repair(path, output, overwrite=True, rebuild=True),
        lambda: pb.build(path, output, columns=["a"], existing="replace", overwrite=True),
        lambda: pb.build(
            path, output, columns=["a"], existing="replace", overwrite=True,
            dialect=pb.Murmur3(placement="chunk", publish_offset=True),
        ),
    ):  # fmt: skip
        attempt(work)


@pytest.fixture(scope="module", params=["murmur3", "statistics"])
def noted(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "noted.parquet"
    pq.write_table(pa.table({"a": ["value 1", "value 2"]}), path, write_page_index=True)
    dialect = {
        "murmur3": pb.Murmur3(placement="chunk", publish_offset=True),
        "statistics": pb.StatisticsFilter(field_id=7),
    }[request.param]
    pb.build(path, columns=["a"], in_place=True, dialect=dialect)
    return path.read_bytes()


def test_damaged_footers_give_clear_errors(noted, tmp_path):
    path, output = tmp_path / "mutant.parquet", tmp_path / "out.parquet"
    chance = random.Random(1)
    for _ in range(MUTANTS):
        mutant = bytearray(noted)
        for _ in range(chance.randint(1, 3)):
            mutant[chance.randrange(footer_start(noted), len(noted) - 8)] = chance.randrange(256)
        path.write_bytes(mutant)
        every_verb(path, output)


@pytest.mark.parametrize(
    "header", [plain_header, thrift_header, page_header], ids=lambda make: make.__name__
)
def test_a_damaged_header_never_hides_a_value(header, tmp_path):
    """Of a filter that nobody has noted, the values tell what it is."""
    built = header(1024, 12) if header is plain_header else header(1024)
    path, output = tmp_path / "old.parquet", tmp_path / "out.parquet"
    file_of(tmp_path, STORED, built + bitset(STORED, 32))
    data = path.read_bytes()
    start = data.index(built)
    chance = random.Random(2)
    for number in range(MUTANTS):
        mutant = bytearray(data)
        mutant[start + chance.randrange(len(built))] = chance.randrange(256)
        path.write_bytes(mutant)
        (found,) = pb.probe(path, "a", ["value 7"]).results
        assert found.verdict != "absent"
        if number % 10 == 0:
            every_verb(path, output)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        "7",
        '"text"',
        "[" * 10_000,
        NOTE.replace("4,", '"4",', 1),
        NOTE.replace("4,", "4.0,", 1),
        NOTE.replace("4,", "true,", 1),
        NOTE.replace("4,", "-4,", 1),
        NOTE.replace("44", "1e400"),
        NOTE.replace('"seed":1', '"seed":4294967296'),
        NOTE.replace('"seed":1', '"seed":2'),
        NOTE.replace(',"crc32"', ', "crc32"'),
        NOTE.replace("12-byte", "13-byte"),
        NOTE.replace("MURMUR3", "HIVE"),
        NOTE.replace("mask", "first"),
        NOTE.replace('"mask"', '["mask"]'),
        NOTE.replace('"hash"', '"hush"'),
        NOTE.replace("}", ',"more":1}'),
    ],
    ids=lambda text: text[:40],
)
def test_what_is_no_note_is_an_error(text):
    with pytest.raises(
        FilterError,
        match=r"^pbloom\.murmur3: (not a note about a filter|an impossible note|damaged)",
    ):
        decoded(text)


def test_a_note_says_all_that_the_header_cannot():
    note = decoded(NOTE)
    assert (note.offset, note.length, note.pages) == (4, 44, 4)
    assert note.scheme.name == "MURMUR3 seed 1, mask"
    assert note.encoded() == NOTE


def test_a_note_is_worthless_where_the_pages_have_moved(tmp_path):
    """Whatever moved them did not know of it, and something else may lie where it leads."""
    path = tmp_path / "noted.parquet"
    pq.write_table(pa.table({"a": range(100), "b": range(100)}), path)
    pb.build(path, columns=["b"], in_place=True, dialect=pb.Murmur3())
    path.write_bytes(with_other_note(path.read_bytes(), "pages"))
    (result,) = pb.probe(path, "b", [-1], dialect="murmur3").results
    assert result.verdict == "unknown"
    assert "note: of a chunk with pages at " in result.groups[0].reason
