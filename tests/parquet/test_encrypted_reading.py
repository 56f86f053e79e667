"""Encrypted files are read as the plain ones that they were made of, however they are encrypted."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, SHARED, missing
from make.encrypted_files import OWN, RECIPES, filters, keys_of, meta_data, mixed, values
from make.encrypting import FOOTER_KEY, Recipe, encrypt

import parquet_bloom as pb
from parquet_bloom.container import OneFilter
from parquet_bloom.container.data_file import DataFile
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.files import open_file
from parquet_bloom.parquet.sealed.encrypted_footer import SealedModules

PUBLIC = SHARED / "data" / "parquet-testing"
PUBLIC_KEYS = {"kf": FOOTER_KEY, "kc1": b"1234567890123450", "kc2": b"1234567890123451"}


SAMPLES = [
    "pyarrow_nested_v2", "pyarrow_types_dictionary", "java_fallback_v2", "duckdb_types_v2",
    "spark_filters", "pyarrow_checksums", "pyarrow_empty_row_group", "pyarrow_codec_zstd",
    "polars_types", "java_filters", "pyarrow_nulls_v2", "pyarrow_pages_v2",
]  # fmt: skip


@pytest.mark.every(2)
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_read_is_what_was_encrypted(name, recipe, tmp_path):
    path = FIXTURES / f"{name}.parquet"
    how = RECIPES[recipe](path)
    encrypted = tmp_path / "encrypted.parquet"
    encrypted.write_bytes(encrypt(path.read_bytes(), how).data)
    keys = keys_of(how)
    assert values(encrypted, keys) == values(path)
    assert meta_data(encrypted, keys) == meta_data(path)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", ["java_filters", "duckdb_filters", "spark_filters"])
def test_filters_are_read_as_they_were(name, recipe, tmp_path):
    path = FIXTURES / f"{name}.parquet"
    how = RECIPES[recipe](path)
    encrypted = tmp_path / "encrypted.parquet"
    encrypted.write_bytes(encrypt(path.read_bytes(), how).data)
    assert filters(encrypted, keys_of(how)) == filters(path) != {}


# ------------------------------------------------------------------------------------------------
# Files of other writers


def public(name):
    path = PUBLIC / f"{name}.parquet.encrypted"
    if not PUBLIC.exists():
        missing("../shared/data/parquet-testing")
    return path


def public_keys(name):
    key_ids = {name: PUBLIC_KEYS[name] for name in ("kc1", "kc2")}
    prefix = b"tester" if name.endswith("_aad") else None
    return Keys(footer=PUBLIC_KEYS["kf"], key_ids=key_ids, aad_prefix=prefix)


PUBLIC_NAMES = [
    "encrypt_columns_and_footer",
    "encrypt_columns_and_footer_aad",
    "encrypt_columns_and_footer_bloom_filter",
    "encrypt_columns_and_footer_ctr",
    "encrypt_columns_plaintext_footer",
    "uniform_encryption",
]


def test_every_public_encrypted_file_is_tested():
    if not PUBLIC.exists():
        missing("../shared/data/parquet-testing")
    there = {path.name.removesuffix(".parquet.encrypted") for path in PUBLIC.glob("*.encrypted")}
    assert there == set(PUBLIC_NAMES)


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_public_files_open(name):
    report = pb.inspect(public(name), keys=public_keys(name))
    assert report.encrypted
    assert report.num_rows == (2000 if name.endswith("bloom_filter") else 50)
    assert {column.reason for column in report.row_groups[0].columns if not column.filter} <= {
        "no filter",
        "no filter: BOOLEAN columns get none",
    }
    assert all(chunk.num_values for chunk in report.row_groups[0].columns)


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_public_files_hold_what_their_maker_says(name):
    """parquet-cpp, encryption tests: int32 i, float 1.1 i, double 1.1111111 i; 50 rows. The file
    with filters: i + 0.25 and i + 0.5, 2000 rows."""
    with open_file(public(name), public_keys(name)) as file:
        index = {leaf.name: leaf.index for leaf in file.footer.leaves}
    found = values(public(name), public_keys(name))
    numbers = np.arange(2000 if name.endswith("bloom_filter") else 50)
    if name.endswith("bloom_filter"):
        floats, doubles = numbers + np.float32(0.25), numbers + 0.5
    else:
        floats, doubles = numbers.astype("<f4") * np.float32(1.1), numbers * 1.1111111
    assert b"".join(found[0, index["float_field"]]) == floats.astype("<f4").tobytes()
    assert b"".join(found[0, index["double_field"]]) == doubles.astype("<f8").tobytes()


def test_all_values_of_the_public_filters_hit():
    """arrow, cpp/src/parquet/encryption/bloom_filter_encryption_test.cc."""
    name = "encrypt_columns_and_footer_bloom_filter"
    numbers = range(2000)
    keys = public_keys(name)
    with open_file(public(name), keys) as file:
        for column, values in (
            ("double_field", [i + 0.5 for i in numbers]),
            ("float_field", [i + 0.25 for i in numbers]),
        ):
            assert file.bloom_filter(OneFilter(0, column)).check_many(values).all()
            chunk = file.chunk(0, column)
            assert (chunk.bloom_filter_offset, chunk.bloom_filter_length) in {
                (29667, 2212),
                (31879, 2212),
            }
        assert DataFile(file).probe("double_field", 77.5)[0].verdict == "maybe"
        assert DataFile(file).probe("double_field", 77.75)[0].verdict == "absent"
    report = pb.probe(public(name), "float_field", [5.25, 5.5], keys=keys)
    assert [result.verdict for result in report.results] == ["maybe", "absent"]


def test_the_public_filters_are_those_that_their_values_make(tmp_path):
    """Built again at the same size, every bit is where it was."""
    name = "encrypt_columns_and_footer_bloom_filter"
    path, keys = public(name), public_keys(name)
    columns = ["double_field", "float_field"]
    out = tmp_path / "out.parquet"
    report = pb.build(
        path, out, columns=columns, existing="replace", fpp=0.05, max_bytes=2048, keys=keys
    )
    assert [found.num_bytes for found in report.filters] == [2048, 2048]
    assert filters(out, keys) == filters(path, keys)


def test_the_public_filters_are_right():
    report = pb.validate(
        public("encrypt_columns_and_footer_bloom_filter"),
        keys=public_keys("encrypt_columns_and_footer_bloom_filter"),
    )
    assert report.findings == ()
    assert (report.checked.filters, report.checked.values) == (2, 4000)


# ------------------------------------------------------------------------------------------------
# Without keys


@pytest.fixture
def signed(tmp_path):
    """A signed footer, and columns of each kind; with filters."""
    path = FIXTURES / "java_filters.parquet"
    recipe = Recipe(columns=mixed(path), plaintext_footer=True)
    encrypted = tmp_path / "signed.parquet"
    encrypted.write_bytes(encrypt(path.read_bytes(), recipe).data)
    return encrypted, recipe


def test_without_keys_plaintext_columns_are_read(signed):
    path, recipe = signed
    plain = {
        (group.row_group, column.column): column
        for group in pb.inspect(FIXTURES / "java_filters.parquet").row_groups
        for column in group.columns
    }
    for group in pb.inspect(path).row_groups:
        for column in group.columns:
            if column.column in recipe.columns:
                of_footer = recipe.columns[column.column] is None
                why = "encrypted, no key" + ": its key is the footer's" * of_footer
                assert (column.filter, column.reason) == (None, why)
            else:
                was = plain[group.row_group, column.column]
                assert column.filter is None or column.filter.fpp == was.filter.fpp
                assert column.reason == was.reason


def test_the_key_of_one_column_opens_this_one(signed):
    path, recipe = signed
    with_filter = {name for _, name in filters(FIXTURES / "java_filters.parquet")}
    name = min(name for name in with_filter if recipe.columns.get(name) == OWN)
    keys = Keys(columns={name: OWN})
    with open_file(path, keys) as file:
        assert filters(FIXTURES / "java_filters.parquet")[0, name] == (
            file.bloom_filter(OneFilter(0, name)).words.tobytes()
        )
        other = min(name for name in with_filter if recipe.columns.get(name, OWN) is None)
        with pytest.raises(pb.MissingKeyError, match=f"column {other}: encrypted: no key for the"):
            file.bloom_filter(OneFilter(0, other))
        first, *_ = answers(file, other, 1)
        answer = first.distinct[first.picks[0]]
        why = "encrypted, no key: its key is the footer's"
        assert (answer.verdict, answer.reason) == ("unknown", why)


def test_a_probe_opens_each_filter_once_for_all_values(signed):
    path, recipe = signed
    with_filter = {name for _, name in filters(FIXTURES / "java_filters.parquet")}
    name = min(name for name in with_filter if recipe.columns.get(name) == OWN)
    keys = Keys(columns={name: OWN})
    with open_file(path, keys) as one, open_file(path, keys) as three:
        alone = answers(one, name, 1)
        assert answers(three, name, 3) == [each for each in alone for _ in range(3)]
        assert three.source.bytes_read == one.source.bytes_read


@pytest.mark.parametrize(
    ("ask", "opened"),
    [
        (lambda *given: pb.probe(*given[:2], 1, keys=given[2]), ["b"]),
        (lambda *given: pb.row_groups(given[0], {given[1]: 1}, keys=given[2]), ["b"]),
        (lambda *given: list(pb.find(*given[:2], 1, keys=given[2]).rows), ["b"]),
        (lambda path, name, keys: pb.validate(path, keys=keys), ["a", "b", "c"]),
    ],
    ids=["probe", "row_groups", "find", "validate"],
)
def test_what_is_said_of_other_columns_is_not_decrypted(ask, opened, tmp_path, monkeypatch):
    names = ["a", "b", "c"]
    pq.write_table(pa.table({name: range(10) for name in names}), tmp_path / "a")
    pb.build(tmp_path / "a", in_place=True, columns=names)
    recipe = Recipe(columns=dict.fromkeys(names, OWN))
    path = tmp_path / "a.parquet"
    path.write_bytes(encrypt((tmp_path / "a").read_bytes(), recipe).data)
    columns, found = set(), SealedModules.open_meta_data

    def counted(modules, sealed):
        columns.add(names[modules.column])
        return found(modules, sealed)

    monkeypatch.setattr(SealedModules, "open_meta_data", counted)
    ask(path, "b", keys_of(recipe))
    assert sorted(columns) == opened


def answers(file, column, times):
    """Of every row group, asked so often about some value."""
    is_text = file.column(column).physical_type == "BYTE_ARRAY"
    asked = file.encode(file.column(column), [b"1" if is_text else 1])
    probers = [file.prober(file.column(column), part) for part in range(file.num_parts)]
    return [answer for prober in probers for _ in range(times) for answer in prober.answers(asked)]


def test_without_the_footer_key_a_sealed_footer_is_an_error(tmp_path):
    path = tmp_path / "sealed.parquet"
    path.write_bytes(encrypt((FIXTURES / "java_filters.parquet").read_bytes(), Recipe()).data)
    with pytest.raises(
        pb.MissingKeyError, match=r"sealed\.parquet: the footer is encrypted: no key"
    ):
        pb.open(path)


def test_plain_files_take_keys_of_columns_and_need_none():
    path = FIXTURES / "java_filters.parquet"
    keys = Keys(columns={"int64": OWN}, key_ids={"k": OWN}, master_keys={"m": OWN})
    assert filters(path, keys) == filters(path)
    assert not pb.inspect(path).encrypted
    assert pb.inspect(path).unverified is None
    assert pq.read_metadata(path).num_rows == pb.inspect(path).num_rows


@pytest.mark.parametrize("keys", [{"footer": FOOTER_KEY}, {"uniform": OWN}, {"aad_prefix": b"t"}])
def test_who_has_a_key_of_the_footer_wants_an_encrypted_file(keys):
    path = FIXTURES / "java_filters.parquet"
    with pytest.raises(pb.EncryptionError) as error:
        pb.open(path, Keys(**keys))
    assert str(error.value) == (
        f"{path}: the footer is neither encrypted nor signed, although a key or"
        " an AAD prefix was given for it: ask files that are meant to be plain without these"
    )
