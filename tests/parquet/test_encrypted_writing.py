"""Filters put into encrypted files, and taken out of them: sealed, and nothing else changed."""

import os
import re

import pytest
from conftest import FIXTURES
from make.encrypted_files import (
    OWN,
    PLAIN,
    RECIPES,
    SHARED_KEY,
    body_of,
    columns_of,
    encrypted,
    filters,
    keys_of,
    meta_data,
    values,
)
from make.encrypting import FOOTER_KEY, UNIQUE, Recipe

import parquet_bloom as pb
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.files import open_file
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.footer import FilterPlace
from parquet_bloom.parquet.thrift import ttypes

NAMES = ("int32", "int64", "double", "string", "binary", "flba", "date")


@pytest.mark.every(4)
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize(
    "plain", ["pyarrow_types", "java_types_v2", "duckdb_nested", "pyarrow_nulls_v2"]
)
def test_the_filters_are_those_of_the_plain_file_and_sealed(plain, recipe, tmp_path):
    plain = FIXTURES / f"{plain}.parquet"
    how = RECIPES[recipe](plain)
    source, keys, columns = encrypted(tmp_path, how, plain), keys_of(how), columns_of(plain)
    before = source.read_bytes()
    out, plain_out = tmp_path / "out.parquet", tmp_path / "plain.parquet"
    report = pb.build(source, out, columns=columns, keys=keys)
    plain_report = pb.build(plain, plain_out, columns=columns)

    assert source.read_bytes() == before
    assert filters(out, keys) == filters(plain_out) != {}
    assert values(out, keys) == values(plain)
    assert meta_data(out, keys) == meta_data(source, keys)
    assert [skip.reason for skip in report.skipped] == [
        skip.reason for skip in plain_report.skipped
    ]
    sealed = set(how.columns) if how.columns is not None else set(columns)
    made = filters(plain_out)
    open_bits = {bits for (_, name), bits in made.items() if name not in sealed}
    for built, plain_built in zip(report.filters, plain_report.filters, strict=True):
        assert built.fpp == plain_built.fpp
        assert built.length == plain_built.length + (64 if built.column in sealed else 0)
        bits = made[built.row_group, built.column]
        assert (bits in out.read_bytes()) == (bits in open_bits), built.column
    assert pb.validate(out, keys=keys).ok

    # What was there is there, in the same places.
    body = body_of(source)
    assert out.read_bytes()[: len(body)] == body
    assert out.read_bytes()[:4] == out.read_bytes()[-4:] == before[:4]


@pytest.mark.parametrize("recipe", RECIPES)
def test_strip_takes_back_what_build_did(recipe, tmp_path):
    how = RECIPES[recipe](PLAIN)
    source, keys = encrypted(tmp_path, how), keys_of(how)
    out, back = tmp_path / "out.parquet", tmp_path / "back.parquet"
    report = pb.build(source, out, columns=columns_of(PLAIN), keys=keys)
    stripped = pb.strip(out, back, keys=keys)
    assert len(stripped.removed) == len(report.filters) > 0
    with open_file(source, keys) as was, open_file(back, keys) as now:
        chunks = [(filter.row_group, was.column(filter.column).index) for filter in report.filters]
        assert now.footer.without_filters(chunks) == was.footer.without_filters(chunks)
        assert now.footer.start == was.footer.start
    # Zeros behind structs are not written again.
    assert back.stat().st_size <= source.stat().st_size


@pytest.mark.parametrize("recipe", RECIPES)
def test_replaced_in_place(recipe, tmp_path):
    how = RECIPES[recipe](FIXTURES / "java_filters.parquet")
    source, keys = encrypted(tmp_path, how, FIXTURES / "java_filters.parquet"), keys_of(how)
    names = sorted({name for _, name in filters(source, keys)} - {"boolean"})
    report = pb.build(
        source, columns=names, keys=keys, existing="replace", in_place=True, fpp=0.001
    )
    assert {found.column for found in report.filters} == set(names)
    assert pb.validate(source, columns=names, keys=keys).ok
    assert filters(source, keys).keys() == filters(FIXTURES / "java_filters.parquet").keys()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["encrypted.parquet"]


# ------------------------------------------------------------------------------------------------
# Keys


def test_one_columns_key_and_the_footers_are_enough(tmp_path):
    other = b"nobody tells us!"
    recipe = Recipe(columns={"int64": OWN, "string": other, "double": other, "int32": SHARED_KEY})
    source, keys = encrypted(tmp_path, recipe), Keys(footer=FOOTER_KEY, columns={"int64": OWN})
    out = tmp_path / "out.parquet"
    report = pb.build(source, out, columns=["int64", "int32"], keys=keys)
    assert {found.column for found in report.filters} == {"int64", "int32"}
    assert report.skipped == ()
    assert filters(out, keys_of(recipe)).keys() == {
        (row_group, name) for row_group in range(3) for name in ("int32", "int64")
    }
    for row_group in range(3):
        was, now = (sealed_meta_data(path, keys, row_group) for path in (source, out))
        assert now["string"] == was["string"] is not None
        assert now["double"] == was["double"] is not None
        assert now["int64"] != was["int64"]


def sealed_meta_data(path, keys, row_group):
    with open_file(path, keys) as file:
        footer, _ = compact.decode(ttypes.FileMetaData, file.footer.raw)
        names = [leaf.name for leaf in file.footer.leaves]
    columns = footer.row_groups[row_group].columns
    return {
        name: column.encrypted_column_metadata for name, column in zip(names, columns, strict=True)
    }


@pytest.mark.parametrize("others", [[], ["int32"], ["string"]], ids=["alone", "plain", "sealed"])
@pytest.mark.parametrize("signed", [False, True])
def test_without_one_of_the_columns_keys_nothing_is_written(signed, others, tmp_path):
    """Whatever else is asked for, as for strip."""
    recipe = Recipe(
        columns={"int64": OWN, "string": SHARED_KEY},
        plaintext_footer=signed,
        key_ids={"int64": b"k7"},
    )
    source = encrypted(tmp_path, recipe)
    with pytest.raises(pb.MissingKeyError) as raised:
        pb.build(
            source,
            tmp_path / "out.parquet",
            columns=[*others, "int64"],
            keys=Keys(footer=FOOTER_KEY),
        )
    assert str(raised.value) == (
        f"{source}: row group 0, column int64: encrypted: no key for column int64 (key id 'k7')"
    )
    assert os.listdir(tmp_path) == ["encrypted.parquet"]


def test_a_column_that_gets_no_filter_needs_no_key(tmp_path):
    source = encrypted(tmp_path, Recipe(columns={"boolean": OWN}))
    report = pb.build(
        source,
        tmp_path / "out.parquet",
        columns=["boolean", "int64"],
        keys=Keys(footer=FOOTER_KEY),
    )
    assert {skip.reason for skip in report.skipped} == {"BOOLEAN: two values need no filter"}
    assert {found.column for found in report.filters} == {"int64"}


def test_without_the_footers_key_a_signed_file_is_not_touched(tmp_path):
    source = encrypted(tmp_path, Recipe(columns={"int64": OWN}, plaintext_footer=True))
    keys = Keys(columns={"int64": OWN})
    for work in (
        lambda: pb.build(source, columns=["int64"], keys=keys, in_place=True),
        lambda: pb.build(source, columns=["int32"], in_place=True),
        lambda: pb.strip(source, keys=keys, in_place=True),
        lambda: pb.repair(source, keys=keys, in_place=True),
    ):
        with pytest.raises(
            pb.MissingKeyError, match=r"encrypted\.parquet: the footer is signed and cannot be"
        ):
            work()


def test_a_key_of_zeros_opens_and_seals_nothing(tmp_path):
    source = encrypted(tmp_path, Recipe(footer_key=bytes(16)))
    keys = Keys(footer=bytes(16))
    assert pb.inspect(source, keys=keys).encrypted
    refusal = "footer key: refusing to encrypt with a key of zeros"
    chunk = f"{source}: row group 0, column int64"
    with pytest.raises(pb.EncryptionError, match=rf"^{re.escape(chunk)}: {refusal}"):
        pb.build(source, columns=["int64"], keys=keys, in_place=True)
    with pytest.raises(pb.EncryptionError, match=rf"^{re.escape(str(source))}: {refusal}"):
        pb.strip(source, tmp_path / "out.parquet", keys=keys)
    assert os.listdir(tmp_path) == ["encrypted.parquet"]


# ------------------------------------------------------------------------------------------------
# What encryption is for


def nonces(path, keys):
    """Of all that a build of all columns seals: footer or signature, ColumnMetaData, filters."""
    with open_file(path, keys) as file:
        data, footer = path.read_bytes(), file.footer
        found = []
        decoded, _ = compact.decode(ttypes.FileMetaData, footer.raw)
        for group in decoded.row_groups:
            for chunk, leaf in zip(group.columns, footer.leaves, strict=True):
                if chunk.encrypted_column_metadata and leaf.type.physical != "BOOLEAN":
                    found.append(chunk.encrypted_column_metadata[4:16])
        for row_group in range(file.num_row_groups):
            for leaf in footer.leaves:
                chunk = footer.chunk(row_group, leaf)
                if chunk.bloom_filter_offset is not None and chunk.has_crypto_metadata:
                    start = chunk.bloom_filter_offset
                    header = 4 + int.from_bytes(data[start : start + 4], "little")
                    found += [data[start + 4 : start + 16]]
                    found += [data[start + header + 4 : start + header + 16]]
    if data[-4:] == b"PAR1":
        return [*found, data[-36:-24]]
    _, end = compact.decode(ttypes.FileCryptoMetaData, data[footer.start :])
    return [*found, data[footer.start + end + 4 : footer.start + end + 16]]


@pytest.mark.parametrize("recipe", RECIPES)
def test_no_nonce_is_used_twice(recipe, tmp_path):
    """Nor kept: what is sealed again is sealed with another one, in every run."""
    how = RECIPES[recipe](PLAIN)
    source, keys, columns = encrypted(tmp_path, how), keys_of(how), columns_of(PLAIN)
    seen = nonces(source, keys)
    for name in ("one", "two"):
        out = tmp_path / name
        pb.build(source, out, columns=columns, keys=keys)
        found = nonces(out, keys)
        assert len(set(found)) == len(found)
        assert not set(found) & set(seen)
        seen += found


def test_what_is_not_edited_is_not_sealed_again(tmp_path):
    recipe = Recipe(columns=dict.fromkeys(NAMES[:3], OWN))
    source, keys = encrypted(tmp_path, recipe), keys_of(recipe)
    out = tmp_path / "out.parquet"
    pb.build(source, out, columns=["int32"], row_groups=[1], keys=keys)
    assert sealed_meta_data(out, keys, 0) == sealed_meta_data(source, keys, 0)
    was, now = sealed_meta_data(source, keys, 1), sealed_meta_data(out, keys, 1)
    assert {name for name in was if was[name] != now[name]} == {"int32"}


def test_no_bit_is_in_plaintext_while_it_is_built(tmp_path, monkeypatch):
    """The temporary file holds no more than the file itself."""
    recipe, written = Recipe(), []
    source, keys = encrypted(tmp_path, recipe), keys_of(recipe)
    plain_out = tmp_path / "plain.parquet"
    pb.build(PLAIN, plain_out, columns=["string"])
    pwrite = os.pwrite

    def spy(descriptor, data, offset):
        written.append(bytes(data))
        return pwrite(descriptor, data, offset)

    monkeypatch.setattr(os, "pwrite", spy)
    pb.build(source, tmp_path / "out.parquet", columns=["string"], keys=keys)
    assert sum(map(len, written)) > 1000
    for bits in filters(plain_out).values():
        assert not any(bits in data for data in written)
        # No block of it, either.
        assert not any(bits[at : at + 32] in data for data in written
                       for at in range(0, len(bits), 32) if any(bits[at : at + 32]))  # fmt: skip


def test_the_copy_in_a_plaintext_footer_tells_nothing_new(tmp_path):
    recipe = Recipe(columns={"int64": OWN, "int32": SHARED_KEY}, plaintext_footer=True)
    source, keys, out = encrypted(tmp_path, recipe), keys_of(recipe), tmp_path / "out.parquet"
    pb.build(source, out, columns=["int64", "int32", "double"], keys=keys)
    assert shown(out) == {"double"}
    pb.build(
        source, out, columns=["int64", "double"], keys=keys, overwrite=True,
        expose_filter_location=True,
    )  # fmt: skip
    assert shown(out) == {"double", "int64"}
    pb.build(out, columns=["int64"], keys=keys, in_place=True, existing="replace", fpp=0.0001)
    assert shown(out) == {"double", "int64"}
    assert pb.validate(out, keys=keys).ok
    kept = pb.build(out, columns=["int64"], keys=keys, dry_run=True, expose_filter_location=True)
    assert [note.partition(":")[0] for note in kept.notes] == [
        "the locations of filters that were kept are not exposed"
    ]
    pb.strip(out, columns=["int64"], keys=keys, in_place=True)
    assert shown(out) == {"double"}


def shown(path):
    """The columns of which a plaintext footer says where their filters lie; the sealed
    ColumnMetaData must say the same."""
    footer, _ = compact.decode(ttypes.FileMetaData, plaintext_footer(path))
    found = set()
    for group in footer.row_groups:
        for column in group.columns:
            if column.meta_data.bloom_filter_offset is not None:
                found.add(".".join(column.meta_data.path_in_schema))
    return found


def plaintext_footer(path):
    return path.read_bytes()[len(body_of(path)) :]


def test_dump_gives_out_bits_when_asked(tmp_path):
    recipe = Recipe()
    source, keys, out = encrypted(tmp_path, recipe), keys_of(recipe), tmp_path / "out.parquet"
    pb.build(source, out, columns=["int64"], keys=keys)
    bits = filters(out, keys)[0, "int64"]
    sealed = pb.dump(out, "int64", 0, keys=keys)
    assert sealed.in_format("raw") in out.read_bytes()
    assert len(sealed.header + sealed.bitset) == sealed.stored.length
    assert bits not in sealed.in_format("raw")
    assert bits.hex() not in sealed.in_format("json").decode()
    with pytest.raises(pb.FilterError, match="is encrypted"):
        sealed.in_format("npy")
    opened = pb.dump(out, "int64", 0, keys=keys, decrypt=True)
    assert opened.bitset == bits
    pb.build(PLAIN, tmp_path / "plain", columns=["int64"])
    assert opened.header == pb.dump(tmp_path / "plain", "int64", 0).header
    assert opened.in_format("npy").endswith(bits)


def test_findings_show_no_value_of_an_encrypted_column(tmp_path):
    """False negatives are told without examples, which go to logs."""
    recipe = Recipe(columns={"string": SHARED_KEY})
    source, keys, out = encrypted(tmp_path, recipe), keys_of(recipe), tmp_path / "out.parquet"
    pb.build(source, out, columns=["string"], keys=keys)
    other = pb.dump(out, "string", 1, keys=keys, decrypt=True)
    with open_file(out, keys) as file:
        chunk = file.chunk(0, "string")
        sealed = b"".join(chunk.modules.seal_filter(other.header, memoryview(other.bitset)))
        place = FilterPlace(file.footer.start, len(sealed))
        tail = file.footer.tail({(0, chunk.leaf.index): place})
        out.write_bytes(out.read_bytes()[: file.footer.start] + sealed + tail)
    report = pb.validate(out, keys=keys, diagnose=True)
    (found,) = [each for each in report.findings if each.rule == "PB401"]
    assert re.search(
        r"stored values are not in the filter: readers lose their rows$", found.message
    )


# ------------------------------------------------------------------------------------------------
# Refusals


def test_without_ordinals_nothing_is_sealed(tmp_path):
    """Some readers take the position for it, others 0. A plaintext column can have a filter."""
    recipe = Recipe(columns={"int64": OWN}, ordinals=lambda position: None)
    path, keys = encrypted(tmp_path, recipe), keys_of(recipe)
    data = path.read_bytes()
    with pytest.raises(pb.UnsupportedError, match=r"row group 0, column int64: .* ordinal None"):
        pb.build(path, columns=["int64"], keys=keys, in_place=True)
    assert path.read_bytes() == data
    pb.build(path, columns=["int32"], keys=keys, in_place=True)
    assert filters(path, keys).keys() == {(row_group, "int32") for row_group in range(3)}
    assert values(path, keys) == values(PLAIN)


def test_ordinals_that_are_not_positions_are_those_of_the_data(tmp_path):
    recipe = Recipe(columns={"int64": OWN}, ordinals=lambda position: 2 - position)
    path = encrypted(tmp_path, recipe)
    with pytest.raises(pb.TamperedError, match="row group 0, column int64: ColumnMetaData: "):
        pb.inspect(path, keys=keys_of(recipe))


def edited_crypto(tmp_path, edit):
    """A file whose FileCryptoMetaData has been edited."""
    path = encrypted(tmp_path, Recipe(), name="edited.parquet")
    data, start = path.read_bytes(), len(body_of(path))
    crypto, end = compact.decode(ttypes.FileCryptoMetaData, data[start:])
    edit(crypto)
    footer = compact.encode(crypto) + data[start:-8][end:]
    path.write_bytes(data[:start] + footer + len(footer).to_bytes(4, "little") + b"PARE")
    return path


def of_duckdb(crypto):
    assert crypto.encryption_algorithm.AES_GCM_V1.aad_file_unique == UNIQUE
    crypto.encryption_algorithm.AES_GCM_V1.aad_file_unique = None


def of_nobody(crypto):
    crypto.encryption_algorithm = ttypes.EncryptionAlgorithm()


@pytest.mark.parametrize(
    ("edit", "error", "message"),
    [
        (of_duckdb, pb.UnsupportedError, "as DuckDB does"),
        (of_nobody, pb.UnsupportedError, "unknown encryption algorithm"),
    ],
)
def test_dialects_are_refused(edit, error, message, tmp_path):
    path = edited_crypto(tmp_path, edit)
    with pytest.raises(error, match=rf"edited\.parquet: the footer is encrypted: .*{message}"):
        pb.build(path, columns=["int64"], keys=Keys(footer=FOOTER_KEY), in_place=True)


def test_a_supplied_prefix_must_be_supplied(tmp_path):
    recipe = Recipe(aad_prefix=b"table", stores_prefix=False)
    path = encrypted(tmp_path, recipe)
    with pytest.raises(pb.MissingKeyError, match="AAD prefix"):
        pb.inspect(path, keys=Keys(footer=FOOTER_KEY))
    with pytest.raises(pb.TamperedError, match="wrong key, wrong AAD prefix or altered bytes"):
        pb.inspect(path, keys=Keys(footer=FOOTER_KEY, aad_prefix=b"tables"))


def test_a_footer_without_its_prefix_shows_what_is_not_encrypted(tmp_path):
    recipe = Recipe(
        columns={"int64": OWN}, plaintext_footer=True, aad_prefix=b"t", stores_prefix=False
    )
    path = encrypted(tmp_path, recipe)
    (first, *_) = pb.inspect(path, columns=["int64"]).row_groups
    assert first.columns[0].reason == (
        "encrypted, no key: no AAD prefix given, and the file does not store its own"
    )
    assert pb.probe(path, "int32", [1]).results[0].verdict == "unknown"
