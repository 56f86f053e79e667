"""What `probe --only` prints is read again as the same values."""

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from make.commands import outcome
from make.leaves import leaf

import parquet_bloom as pb
from parquet_bloom.commands.value_files import values_in
from parquet_bloom.render.value_lines import line_of
from parquet_bloom.values.encode import encode
from parquet_bloom.values.given import python_values
from parquet_bloom.values.literals import encode_given
from parquet_bloom.values.types import LiteralInFile, TextInFile, literal

COLUMN = "id"
OF_TEXT = ("STRING", "ENUM", "JSON", "BSON", "")

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text("\\x41'\" \tid,\n")
ODD = (
    "",
    "id",
    "id,n",
    '"id"',
    "a\tb",
    "a\nb",
    "'x'",
    '"',
    '""',
    "\\x41",
    "\\x",
    " x",
    "\u2028",
    "\ufeff",
    "\x00",
)


def read_again(line):
    file = io.BytesIO(f"{line}\n".encode())
    file.name = "again.txt"
    (value,) = values_in(file, None, [COLUMN], None)
    return value


def line(value):
    return line_of(value, *python_values([value]), COLUMN)


def in_columns(text):
    """The columns that hold text; in one without a type, 0x… means bytes."""
    hexed = text[:2].lower() == "0x"
    return [
        leaf(f"BYTE_ARRAY {name}".strip()) for name in OF_TEXT if name in OF_TEXT[:3] or not hexed
    ]


def with_examples(test):
    for text in ODD:
        test = example(text)(test)
    return given(TEXTS)(test)


@with_examples
@pytest.mark.parametrize("as_given", [TextInFile, lambda text: literal(text, "string")])
def test_every_text_is_read_again(as_given, text):
    for column in in_columns(text):
        assert encode_given(column, read_again(line(as_given(text)))) == encode(column, text)


@with_examples
def test_every_text_of_csv_is_read_again(text):
    given = LiteralInFile(text, None, "ids.csv", 2, is_verbatim=True)
    for column in in_columns(text):
        assert encode_given(column, read_again(line(given))) == encode_given(column, given)


def test_what_was_typed_stays_as_it_is():
    for text in ("42", "'x'", '"x"', "\\x41", "0x41", "2024-01-31"):
        assert line(literal(text)) == text
    assert line(literal("")) == "\\x"
    assert line(literal("'a\tb'")) == "\\x610962"


def test_the_command_reads_what_it_has_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = ["a\tb", "", "'x'", "plain", COLUMN]
    pq.write_table(pa.table({COLUMN: [*texts, *map(str, range(50))]}), "a.parquet")
    pq.write_table(pa.table({COLUMN: texts}), "asked.parquet")
    pb.build("a.parquet", columns=COLUMN, in_place=True)
    pb.Index.build("ix", "a.parquet", COLUMN).close()
    for command in (("probe", "a.parquet"), ("index", "probe", "--index", "ix")):
        asked = (*command, "-c", COLUMN, "--only", "maybe")
        (tmp_path / "again.txt").write_text(outcome(*asked, "--ids", "asked.parquet").stdout)
        found = outcome("find", "a.parquet", "-c", COLUMN, "--ids", "again.txt", "--json")
        assert sorted(row["row"] for row in json.loads(found.stdout)["rows"]) == [0, 1, 2, 3, 4]
        again = outcome(*asked, "--ids", "again.txt").stdout
        assert again == (tmp_path / "again.txt").read_text()
