"""`dump --footer`: the document, what is unknown in it, what is encrypted, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from make.commands import outcome
from make.encrypted_files import PLAIN, RECIPES, encrypted, keys_of
from make.footers import (
    edited,
    footer_start,
    meta_of,
    with_extension,
    with_footer,
    with_meta,
    with_meta_field,
)
from make.parquet_files import built, written

import parquet_bloom as pb
from parquet_bloom.parallel import DEFAULT_MEMORY
from parquet_bloom.parquet.footer import compact
from parquet_bloom.render.dump_footer import write_footer
from parquet_bloom.verbs import dump_footer as verb

FILE = FIXTURES / "java_filters.parquet"
TABLE = pa.table({"a": list(range(100)), "b": [f"v{row}" for row in range(100)]})


@pytest.fixture
def saved(tmp_path):
    """Writes bytes to a file."""

    def save(data: bytes) -> Path:
        path = tmp_path / "file.parquet"
        path.write_bytes(data)
        return path

    return save


def meta_data(document: dict[str, Any], row_group: int = 0, column: int = 0) -> dict[str, Any]:
    """That of one chunk."""
    groups = document["metadata"]["fields"]["row_groups"]["items"]
    chunk = groups[row_group]["fields"]["columns"]["items"][column]
    found = chunk["fields"]["meta_data"]
    return found["fields"] | {"unknown": found.get("unknown")}


def text_of(report: pb.FooterDump, capsys) -> str:
    write_footer(report)
    return capsys.readouterr().out


# --- the document ---------------------------------------------------------------------------------


def test_the_document_has_names_words_and_places(saved):
    data = built(written(TABLE), ["a"])
    document = pb.dump_footer(saved(data)).to_dict()
    start = footer_start(data)
    assert {name: document[name] for name in ("magic", "protection", "offset", "length")} == {
        "magic": "PAR1",
        "protection": "plain",
        "offset": start,
        "length": len(data) - 8 - start,
    }
    assert document["size"] == len(data)
    found = meta_data(document)
    assert found["codec"]["value"] == "UNCOMPRESSED"
    assert found["codec"]["type"] == "CompressionCodec"
    assert found["path_in_schema"]["value"] == ["a"]
    judge = pq.ParquetFile(pa.BufferReader(data)).metadata.row_group(0).column(0)
    offset = found["bloom_filter_offset"]
    assert offset["value"] == judge.bloom_filter_offset
    place = slice(offset["offset"] + offset["header_bytes"], offset["offset"] + offset["length"])
    assert data[place] == compact.zigzag(offset["value"])
    assert found["bloom_filter_length"]["id"] == 15
    high = found["statistics"]["fields"]["max_value"]
    assert (high["value"], high["decoded"]) == ("6300000000000000", "99")
    assert found["unknown"] is None


@pytest.mark.parametrize("whole", [0, 100, verb.WHOLE_BYTES])
def test_parts_are_the_document(monkeypatch, whole):
    monkeypatch.setattr(verb, "WHOLE_BYTES", whole)
    monkeypatch.setattr(verb, "PART", 7)
    report = pb.dump_footer(FILE)
    assert json.loads(b"".join(report.json_parts())) == report.to_dict()


def test_the_command_prints_the_document():
    (line,) = outcome("dump", FILE, "--footer", "--json").stdout.splitlines()
    assert json.loads(line) == pb.dump_footer(FILE).to_dict()


def test_some_columns_and_row_groups():
    report = pb.dump_footer(FIXTURES / "java_nested.parquet", columns="old_names.bag.array_element")
    fields = report.to_dict()["metadata"]["fields"]
    schema = [each["fields"]["name"]["value"] for each in fields["schema"]["items"]]
    assert schema == ["fixture", "old_names", "bag", "array_element"]
    (index,) = {
        each["index"]
        for group in fields["row_groups"]["items"]
        for each in group["fields"]["columns"]["items"]
    }
    assert [each["index"] for each in fields["column_orders"]["items"]] == [index]
    assert len(fields["row_groups"]["items"]) == fields["row_groups"]["count"] == 3
    some = pb.dump_footer(FILE, columns=["int8", "json"], row_groups=[2, 0]).to_dict()
    groups = some["metadata"]["fields"]["row_groups"]
    assert ([each["index"] for each in groups["items"]], groups["count"]) == ([0, 2], 3)
    chunks = groups["items"][1]["fields"]["columns"]
    assert [each["column"] for each in chunks["items"]] == ["int8", "json"]
    assert chunks["count"] == 12


def test_what_is_not_there():
    with pytest.raises(pb.ColumnError, match="int9"):
        pb.dump_footer(FILE, columns="int9")
    with pytest.raises(pb.ColumnError, match="row group 3: expected 0 to 2"):
        pb.dump_footer(FILE, row_groups=3)
    with pytest.raises(ValueError, match="columns: none"):
        pb.dump_footer(FILE, columns=[])


def test_a_table_has_a_row_for_each_field():
    report = pb.dump_footer(FILE, columns="int8", row_groups=1)
    table = report.to_arrow()
    rows = {row["field"]: row for row in table.to_pylist()}
    codec = rows["row_groups[1].columns[1].meta_data.codec"]
    assert (codec["path"], codec["type"], codec["value"]) == (
        str(FILE),
        "CompressionCodec",
        "SNAPPY",
    )
    assert rows["row_groups[1].columns[1].meta_data.path_in_schema"]["value"] == '["int8"]'
    other = pb.dump_footer(FIXTURES / "pyarrow_types.parquet").to_arrow()
    assert table.schema == other.schema
    assert f"{len(rows) - 50:,} more" in report._repr_html_()
    assert repr(report) == f"<FooterDump {FILE}: plain, 3,699 bytes at 61811>"


# --- what the format does not know ----------------------------------------------------------------

A_MAP = compact.TYPE_MAP, bytes([1, 0x88, 1, ord("k"), 1, ord("v")])
A_STRUCT = compact.TYPE_STRUCT, bytes([0x15, 14, 0x18, 1, ord("x"), 0])
SOME_STRUCTS = compact.TYPE_LIST, bytes([0x2C, 0x15, 2, 0, 0x15, 4, 0])
LISTED = compact.TYPE_SET, bytes([0x35, 2, 3, 4])


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ((compact.TYPE_I32, compact.zigzag(-7)), "99 unknown: i32 -7, bytes 0x0d"),
        ((compact.TYPE_TRUE, b""), "99 unknown: bool true, bytes 0x"),
        ((compact.TYPE_BYTE, b"\xff"), "99 unknown: i8 -1, bytes 0xff"),
        (
            (compact.TYPE_DOUBLE, bytes(6) + b"\xf8\x7f"),
            "99 unknown: double nan, bytes 0x000000000000f87f",
        ),
        ((compact.TYPE_BINARY, b"\3abc"), '99 unknown: binary "abc", bytes 0x03616263'),
        (
            (compact.TYPE_BINARY, b"\2\xff\0"),
            "99 unknown: binary 0xff00, bytes 0x02ff00",
        ),
        ((compact.TYPE_BINARY, b"\1\n"), '99 unknown: binary "\\n", bytes 0x010a'),
        (LISTED, "99 unknown: set<i32> [1, -2, 2], bytes 0x35020304"),
        (A_MAP, "99 unknown: map, bytes 0x0188016b0176"),
        ((compact.TYPE_UUID, bytes(16)), f"99 unknown: uuid 0x{bytes(16).hex()}, bytes 0x{bytes(16).hex()}"),
        (A_STRUCT, "99 unknown: struct, bytes 0x150e18017800"),
        (SOME_STRUCTS, "99 unknown: list<struct>, 2 items, bytes 0x2c150200150400"),
    ],
)  # fmt: skip
def test_an_unknown_field(saved, capsys, value, line):
    path = saved(with_meta_field(written(TABLE), 99, value))
    report = pb.dump_footer(path)
    lines = [each.split(maxsplit=2)[2] for each in text_of(report, capsys).splitlines()[2:]]
    assert line in lines
    (unknown,) = meta_data(report.to_dict())["unknown"]
    assert (unknown["id"], unknown["name"]) == (99, None)
    assert unknown["bytes"] == value[1].hex()
    place = slice(
        unknown["offset"] + unknown["header_bytes"], unknown["offset"] + unknown["length"]
    )
    assert path.read_bytes()[place] == value[1]
    json.dumps(unknown, allow_nan=False)


def test_what_is_in_an_unknown_field(saved, capsys):
    text = text_of(pb.dump_footer(saved(with_meta_field(written(TABLE), 99, A_STRUCT))), capsys)
    assert "  1 unknown: i32 7, bytes 0x0e\n" in text
    assert '  2 unknown: binary "x", bytes 0x0178\n' in text
    report = pb.dump_footer(saved(with_meta_field(written(TABLE), 99, SOME_STRUCTS)))
    (unknown,) = meta_data(report.to_dict())["unknown"]
    values = [each["unknown"][0]["value"] for each in unknown["items"]]
    assert values == [1, 2]


def test_a_field_of_another_type(saved):
    """As in files by Dremio."""
    data = with_meta_field(written(TABLE), 14, (compact.TYPE_LIST, bytes([0x15, 2])))
    found = meta_data(pb.dump_footer(saved(data)).to_dict())
    (other,) = found["unknown"]
    assert (other["id"], other["name"]) == (14, "bloom_filter_offset")
    assert (other["note"], other["value"]) == ("expected i64, found list<i32>", [1])
    assert "bloom_filter_offset" not in found


@pytest.mark.parametrize("field", [32767, -16384])
def test_an_extension(saved, field):
    document = pb.dump_footer(saved(with_extension(written(TABLE), field))).to_dict()
    (other,) = document["metadata"]["unknown"]
    assert (other["id"], other["value"]) == (field, "abcd")
    assert other["note"] == "an extension, such as a second footer in FlatBuffers"


def test_a_field_that_comes_again(saved):
    """In front of the version comes another one."""
    data = written(TABLE)
    start = footer_start(data)
    again = bytes([0x15, 18, compact.TYPE_I32]) + compact.zigzag(1)
    assert data[start] == 0x15
    path = saved(with_footer(data[:start], again + data[start + 1 : -8]))
    metadata = pb.dump_footer(path).to_dict()["metadata"]
    assert metadata["fields"]["version"]["value"] == 2
    (other,) = metadata["unknown"]
    assert (other["name"], other["value"]) == ("version", 9)
    assert other["note"] == "comes again: readers take the last one"


def test_values_that_are_wrong(saved):
    data = with_meta(written(TABLE), 0, 0, codec=77)

    def spoil(footer: Any) -> None:
        statistics = meta_of(footer, 0, 0).statistics
        statistics.min_value, statistics.max_value = b"abc", bytes(9)
        meta_of(footer, 0, 1).statistics.min_value = b"\xff"

    document = pb.dump_footer(saved(edited(data, spoil))).to_dict()
    found = meta_data(document)
    assert (found["codec"]["value"], found["codec"]["note"]) == (77, "no CompressionCodec")
    low = found["statistics"]["fields"]["min_value"]
    assert (low["value"], low["note"], low.get("decoded")) == ("616263", "expected 8 bytes", None)
    text = meta_data(document, 0, 1)["statistics"]["fields"]["min_value"]
    assert (text["value"], text["decoded"]) == ("ff", "\\xff")


def test_a_number_of_too_many_bits(saved):
    number = compact.TYPE_I32, compact.zigzag(1 << 40)
    found = meta_data(pb.dump_footer(saved(with_meta_field(written(TABLE), 15, number))).to_dict())
    length = found["bloom_filter_length"]
    assert (length["value"], length["note"]) == (1 << 40, "does not fit 32 bits")


def test_bytes_that_nobody_reads(saved, capsys):
    data = written(TABLE)
    start = footer_start(data)
    report = pb.dump_footer(saved(with_footer(data[:start], data[start:-8] + b"12345")))
    assert report.to_dict()["rest"] == {"offset": len(data) - 8, "length": 5}
    assert (
        text_of(report, capsys).splitlines()[-1].split()
        == f"{len(data) - 8} 5 ignored by readers".split()
    )


def test_a_struct_of_too_many_fields(saved):
    many = compact.TYPE_STRUCT, b"\x11" * 1100 + b"\0"
    path = saved(with_meta_field(written(TABLE), 99, many))
    report = pb.dump_footer(path)
    with pytest.raises(pb.FooterError, match=f"^{path}: byte [0-9]+: "):
        report.to_dict()
    result = outcome("dump", path, "--footer")
    assert result.code == 2
    assert result.complaint.startswith(f"{path}: byte ")


# --- encryption -----------------------------------------------------------------------------------


def bounds(report: pb.FooterDump) -> dict[str, str]:
    """What statistics say, whether they are encrypted or not."""
    return {
        row.field.replace("encrypted_column_metadata", "meta_data"): row.decoded
        for row in report.rows
        if row.decoded is not None
    }


@pytest.mark.every(2)
@pytest.mark.parametrize("name", RECIPES)
def test_with_keys_everything_is_decrypted(tmp_path, name):
    recipe = RECIPES[name](PLAIN)
    path = encrypted(tmp_path, recipe)
    keys = keys_of(recipe)
    report = pb.dump_footer(path, keys=keys)
    document = report.to_dict()
    assert document["protection"] == ("signed" if recipe.plaintext_footer else "encrypted")
    assert document["magic"] == ("PAR1" if recipe.plaintext_footer else "PARE")
    assert (document["crypto_metadata"] is None) == recipe.plaintext_footer
    assert document["signature"] == (
        {"offset": path.stat().st_size - 36, "length": 28} if recipe.plaintext_footer else None
    )
    assert json.loads(b"".join(report.json_parts())) == document
    assert bounds(report) == bounds(pb.dump_footer(PLAIN))


def test_what_is_decrypted_is_where_its_ciphertext_is(tmp_path):
    recipe = RECIPES["columns"](PLAIN)
    path = encrypted(tmp_path, recipe)
    data = path.read_bytes()
    report = pb.dump_footer(path, keys=keys_of(recipe))
    metadata = report.footer.metadata
    # GCM encrypts as CTR does, from counter 2 on; the nonce is in front.
    nonce = data[metadata.offset - 12 : metadata.offset] + b"\0\0\0\2"
    decryptor = Cipher(AES(recipe.footer_key), CTR(nonce)).decryptor()
    plain = decryptor.update(data[metadata.offset : metadata.offset + metadata.length])
    (name,) = (row for row in report.rows if row.field == "created_by")
    start = name.offset - metadata.offset
    assert plain[start : start + name.length].endswith(name.value.encode())


def test_without_a_key(tmp_path):
    recipe = RECIPES["columns, signed"](PLAIN)
    path = encrypted(tmp_path, recipe)
    report = pb.dump_footer(path)
    assert report.unverified
    notes = {row.note for row in report.rows if row.field.endswith("encrypted_column_metadata")}
    assert all(note.startswith("encrypted: no key for ") for note in notes)
    assert "encrypted: no key for column int64 (the file names no key)" in notes
    sealed = encrypted(tmp_path, RECIPES["columns"](PLAIN), name="sealed.parquet")
    result = outcome("dump", sealed, "--footer")
    assert (result.code, result.stdout) == (2, "")
    assert result.complaint == (
        f"{sealed}: the footer is encrypted: no key for the footer (the file names no key);"
        " --footer-key, --uniform-key or --keys gives it"
    )


# --- what is refused ------------------------------------------------------------------------------


def test_an_orc_file():
    path = FIXTURES / "java_original.orc"
    message = (
        f"{path}: the footer of an ORC file is not Thrift: `pbloom inspect --index-groups` shows"
    )
    with pytest.raises(pb.UnsupportedError) as caught:
        pb.dump_footer(path)
    assert str(caught.value).startswith(message)


def test_a_document_that_does_not_fit(monkeypatch, tmp_path):
    """In parts it does."""
    path = tmp_path / "long.parquet"
    pq.write_table(TABLE.replace_schema_metadata({"k": "v" * 2_000_000}), path)
    report = pb.dump_footer(path)
    pb.set_memory(256 << 20)
    try:
        for make in (report.to_dict, report.to_arrow):
            with pytest.raises(pb.UnsupportedError, match="the document of the footer takes"):
                make()
        assert sum(map(len, report.json_parts())) > 2_000_000
    finally:
        pb.set_memory(DEFAULT_MEMORY)
