"""Encrypted files of other writers get filters, and other readers read tables and filters as before.

pyarrow, Polars and parquet-java write in all modes that they have; pyarrow and Polars read equal
tables before and after, parquet-java equal rows; parquet-java and Arrow C++ decrypt every filter,
and parquet-java drops the row groups that the values say.
"""

import json
import math
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from make.encrypted_files import filters, values
from make.kms_lab import LabKms, secret_of
from oracle.programs import FileKeys
from oracle.stored import Leaf, Stored

import parquet_bloom as pb
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.files import open_file

ROWS, ROW_GROUP = 3000, 1000
FOOTER_KEY, OWN = b"footer key of 16", b"k" * 16
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int64()),
        "name": [f"name {i // 3}" if i % 7 else None for i in range(ROWS)],
        "amount": [i / 4 if i % 5 else None for i in range(ROWS)],
        "tags": [[f"tag {i + k}" for k in range(i % 4)] for i in range(ROWS)],
    }
)
COLUMNS = {
    "id": "INT64",
    "name": "BYTE_ARRAY",
    "amount": "DOUBLE",
    "tags.list.element": "BYTE_ARRAY",
}


@dataclass
class Made:
    """A file as its writer left it. `keys` are ours, `file_keys` those of the judges, None if these
    cannot be asked; `read` gives the table by a reader of the writer's."""

    name: str
    path: Path
    keys: Keys
    file_keys: FileKeys | None
    read: Any = None
    out: Path = field(default_factory=Path)


# ------------------------------------------------------------------------------------------------
# Writers


def by_pyarrow(folder):
    """Low-level: one key for all."""
    for algorithm in ("AES_GCM_V1", "AES_GCM_CTR_V1"):
        for plaintext_footer in (False, True):
            for size, prefix, stored in ((16, None, True), (24, b"t", True), (32, b"t", False)):
                key = FOOTER_KEY[:8] * (size // 8)
                more = {"aad_prefix": prefix, "store_aad_prefix": stored} if prefix else {}
                name = f"pyarrow {algorithm} {plaintext_footer} {size} {prefix} {stored}"
                path = folder / f"{name}.parquet".replace(" ", "_")
                version = {16: "1.0", 24: "2.0", 32: "2.0"}[size]
                pq.write_table(
                    TABLE, path, row_group_size=ROW_GROUP, data_page_version=version,
                    write_page_checksum=size == 24, write_page_index=True,
                    encryption_properties=pe.create_encryption_properties(
                        key, plaintext_footer=plaintext_footer, encryption_algorithm=algorithm,
                        **more,
                    ),
                )  # fmt: skip
                given = b"" if stored else prefix
                yield Made(
                    name, path, Keys(footer=key, aad_prefix=given or None),
                    FileKeys(key, {}, given), pyarrow_reader(key, given),
                )  # fmt: skip


def pyarrow_reader(key, prefix):
    def read(path):
        properties = pe.create_decryption_properties(key, aad_prefix=prefix or None)
        return pq.ParquetFile(path, decryption_properties=properties).read()

    return read


def by_key_tools(folder):
    """High-level: keys of columns, wrapped by a KMS."""
    settings = {
        "columns": {},
        "signed": {"plaintext_footer": True},
        "CTR": {"encryption_algorithm": "AES_GCM_CTR_V1"},
        "uniform": {"uniform_encryption": True},
        "256 bits": {"data_key_length_bits": 256},
        "192 bits": {"data_key_length_bits": 192},
        "single": {"double_wrapping": False},
        "external": {"internal_key_material": False},
        "external, signed": {"internal_key_material": False, "plaintext_footer": True},
    }
    for name, options in settings.items():
        path = folder / f"tools_{name}.parquet".replace(" ", "_").replace(",", "")
        factory, connection = pe.CryptoFactory(LabKms), pe.KmsConnectionConfig()
        if not options.get("uniform_encryption"):
            options = {"column_keys": {"m1": ["id", "name"], "m2": ["amount"]}, **options}
        properties = factory.file_encryption_properties(
            connection, pe.EncryptionConfiguration(footer_key="mf", **options), str(path)
        )
        pq.write_table(TABLE, path, row_group_size=ROW_GROUP, encryption_properties=properties)
        keys = Keys(kms_client=LabKms(connection))
        yield Made(f"key tools, {name}", path, keys, unwrapped(path, keys), key_tools_reader)


def key_tools_reader(path):
    factory, connection = pe.CryptoFactory(LabKms), pe.KmsConnectionConfig()
    properties = factory.file_decryption_properties(
        connection, pe.DecryptionConfiguration(), str(path)
    )
    return pq.ParquetFile(path, decryption_properties=properties).read()


def unwrapped(path, keys):
    """The keys themselves, for judges without a KMS."""
    with open_file(path, keys) as file:
        chunks = {name: file.chunk(0, name) for name in file.columns}
        found = {
            name: secret_of(chunk.modules.key)
            for name, chunk in chunks.items()
            if chunk.has_crypto_metadata
        }
        footer = secret_of(file.footer.protection._key)
    return FileKeys(footer, {name: key for name, key in found.items() if key != footer})


def by_polars(folder):
    frame = pl.from_arrow(TABLE)
    for columns in (None, {"id": OWN, "name": OWN[::-1], "tags.list.element": b"t" * 32}):
        for plaintext_footer in (False, True):
            for prefix, stored in ((None, False), (b"p", True), (b"p", False)):
                name = f"polars {bool(columns)} {plaintext_footer} {prefix} {stored}"
                path = folder / f"{name}.parquet".replace(" ", "_")
                prefixes = {"aad_prefix": prefix, "store_aad_prefix": stored} if prefix else {}
                encryption = pl.ParquetEncryptionProperties(
                    footer_key=FOOTER_KEY, column_keys=columns, plaintext_footer=plaintext_footer,
                    **prefixes,
                )  # fmt: skip
                frame.write_parquet(path, row_group_size=ROW_GROUP, encryption=encryption)
                given = prefix if prefix and not stored else b""
                yield Made(
                    name,
                    path,
                    Keys(footer=FOOTER_KEY, columns=columns, aad_prefix=given or None),
                    FileKeys(FOOTER_KEY, columns or {}, given),
                    polars_reader(columns, given),
                )


def polars_reader(columns, prefix):
    def read(path):
        properties = pl.ParquetDecryptionProperties(
            footer_key=FOOTER_KEY, column_keys=columns, aad_prefix=prefix or None
        )
        return pl.read_parquet(path, decryption=properties).to_arrow()

    return read


def by_parquet_java(java, folder):
    jobs, made = [], []
    columns = {"name": OWN, "id": OWN[::-1], "amount": b"", "tags.list.element": b"t" * 24}
    for words, own, prefix in (
        ("v1", {}, b""), ("v2", {}, b""), ("v1,signed", columns, b""), ("v2,signed", columns, b""),
        ("v1,ctr", columns, b"prefix"), ("v2,ctr,signed", columns, b"prefix"),
        ("v2,supplied", columns, b"prefix"), ("v1,supplied,signed", {}, b"prefix"),
    ):  # fmt: skip
        path = folder / f"java_{words}_{len(own)}.parquet".replace(",", "_")
        jobs.append((path, FileKeys(FOOTER_KEY, own, prefix), words))
        given = prefix if "supplied" in words else b""
        real = {name: key for name, key in own.items() if key}
        keys = Keys(footer=FOOTER_KEY, columns=real, aad_prefix=given or None)
        made.append(Made(f"java {words}", path, keys, FileKeys(FOOTER_KEY, real, given)))
    java.encrypt(jobs)
    return made


# ------------------------------------------------------------------------------------------------


def built(made, folder):
    for each in made:
        each.out = folder / "out" / each.path.name
        each.out.parent.mkdir(exist_ok=True)
        report = pb.build(
            each.path, each.out, columns=list(COLUMNS), keys=each.keys, existing="replace",
            fpp=0.001, expose_filter_location=True,
        )  # fmt: skip
        assert {found.column for found in report.filters} == set(COLUMNS), each.name
    return made


@pytest.fixture(scope="module")
def of_python(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encrypted")
    return built([*by_pyarrow(folder), *by_key_tools(folder), *by_polars(folder)], folder)


@pytest.fixture(scope="module")
def of_java(parquet_java, tmp_path_factory):
    folder = tmp_path_factory.mktemp("encrypted_java")
    return built(by_parquet_java(parquet_java, folder), folder)


@pytest.fixture(scope="module")
def all_made(of_python, of_java):
    return [*of_python, *of_java]


def test_tables_are_equal(of_python):
    for made in of_python:
        before = made.read(made.path)
        assert before.num_rows == ROWS, made.name
        assert made.read(made.out).equals(before), made.name


def test_rows_are_equal(parquet_java, all_made):
    keys = {path: made.file_keys for made in all_made for path in (made.path, made.out)}
    rows = parquet_java.rows(*keys, keys=keys)
    for made in all_made:
        count, digest = rows[made.path]
        if "pyarrow" in made.name and " 16 " not in made.name:
            # DataPageV2 of Arrow C++ in envelopes that parquet-java does not expect.
            assert count == 0, made.name
            assert rows[made.out] == (count, digest)
        else:
            assert (count, rows[made.out]) == (ROWS, (ROWS, digest)), (made.name, digest)


def test_every_filter_is_right(all_made):
    for made in all_made:
        report = pb.validate(made.out, keys=made.keys)
        assert [found for found in report.findings if found.severity == "error"] == [], made.name
        assert report.checked.filters == len(COLUMNS) * row_groups(made), made.name


def row_groups(made):
    with pb.open(made.out, made.keys) as file:
        return file.num_row_groups


def test_values_are_those_of_the_table(of_python):
    """What is hashed, page by page, is what pyarrow reads."""
    for made in of_python:
        table = made.read(made.path)
        found = values(made.path, made.keys)
        with open_file(made.path, made.keys) as file:
            index = file.column("id").index
            groups = file.num_row_groups
        stored = b"".join(value for g in range(groups) for value in found[g, index])
        expected = b"".join(value.as_py().to_bytes(8, "little") for value in table["id"])
        assert sorted_eights(stored) == sorted_eights(expected), made.name


def sorted_eights(data):
    return sorted({data[at : at + 8] for at in range(0, len(data), 8)})


def test_parquet_java_decrypts_every_filter(parquet_java, all_made):
    keys = {made.out: made.file_keys for made in all_made}
    found = parquet_java.bitsets(*keys, keys=keys)
    for made in all_made:
        assert found[made.out] == filters(made.out, made.keys), made.name


def test_arrow_cpp_decrypts_every_filter(arrow_cpp, all_made):
    for made in all_made:
        assert arrow_cpp.bitsets(made.out, made.file_keys) == filters(made.out, made.keys), (
            made.name
        )


def test_parquet_java_drops_the_row_groups(parquet_java, all_made):
    """By Bloom filters alone, and just those that the values say."""
    asked = []
    for made in all_made:
        for name, literal in (
            ("id", "1234"),
            ("id", "-5"),
            ("name", b"name 77"),
            ("amount", "7.5"),
        ):
            stored = stored_of(name, literal)
            with pb.open(made.out, made.keys) as file:
                found = [file.bloom_filter(g, name) for g in range(file.num_row_groups)]
            value = stored.data
            expected = frozenset(
                g for g, filter in enumerate(found) if filter.check(python_value(name, literal))
            )
            holding = holding_groups(made, name, value)
            assert holding <= expected
            asked.append((made, stored, expected))
    keys = {made.out: made.file_keys for made in all_made}
    answers = parquet_java.kept([(made.out, stored) for made, stored, _ in asked], keys)
    for (made, stored, expected), kept in zip(asked, answers, strict=True):
        assert kept == expected, (made.name, stored)
    # The filters do exclude something.
    assert sum(not expected for _, _, expected in asked) >= len(all_made)


def stored_of(name, literal):
    leaf = Leaf(name, COLUMNS[name], None, 0, repeated=False)
    value = python_value(name, literal)
    if name == "id":
        return Stored(leaf, value.to_bytes(8, "little", signed=True))
    return Stored(
        leaf, pa.scalar(value).as_buffer().to_pybytes() if name == "name" else double(value)
    )


def double(value):
    return struct.pack("<d", value)


def python_value(name, literal):
    return {"id": int, "amount": float, "name": lambda text: text.decode()}[name](literal)


def holding_groups(made, name, value):
    with open_file(made.out, made.keys) as file:
        index = file.column(name).index
    found = values(made.out, made.keys)
    return frozenset(group for (group, leaf), stored in found.items()
                     if leaf == index and value in stored)  # fmt: skip


def test_key_material_goes_with_the_new_file(of_python):
    """Readers look for it by the name of the file."""
    for made in of_python:
        beside = made.path.with_name(f"_KEY_MATERIAL_FOR_{made.path.name}.json")
        new = made.out.with_name(f"_KEY_MATERIAL_FOR_{made.out.name}.json")
        assert new.exists() == beside.exists() == ("external" in made.name), made.name
        if new.exists():
            assert json.loads(new.read_text()) == json.loads(beside.read_text())


def test_without_keys_plaintext_columns_are_read_and_pruned(of_python):
    (made,) = [made for made in of_python if made.name == "key tools, signed"]
    assert pq.ParquetFile(made.out).read(["tags"]).num_rows == ROWS
    report = pb.probe(made.out, "tags.list.element", ["tag 2000", "nowhere"])
    assert [result.verdict for result in report.results] == ["maybe", "absent"]
    assert math.isclose(report.results[0].rows_to_read, ROW_GROUP)
