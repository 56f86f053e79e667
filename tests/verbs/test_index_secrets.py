"""What an index has of secrets: nothing of encrypted columns, and hashes that nobody can try without a key."""

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.encrypted_files import OWN, encrypted, keys_of
from make.encrypting import Recipe

import parquet_bloom as pb
from parquet_bloom.errors import EncryptionError, MissingKeyError
from parquet_bloom.native import _kernel
from parquet_bloom.verbs.index_change import add_to_index
from parquet_bloom.verbs.index_check import check_index
from parquet_bloom.verbs.index_probe import probe_index
from parquet_bloom.verbs.index_sql import index_sql
from parquet_bloom.vocabulary import NO_KEY

KEY, OTHER = bytes(range(16)), bytes(range(1, 17))
RECIPE = Recipe(columns={"int64": OWN}, plaintext_footer=True)


def test_the_vectors_of_the_paper():
    assert _kernel.siphash(bytes(range(15)), KEY) == 0xA129CA6149BE45E5
    assert _kernel.siphash(b"", KEY) == 0x726FDB47DD0E0E31
    words = np.array([0x0706050403020100, 0], np.uint64)
    assert _kernel.siphash_words(words, KEY).tolist() == [
        0x93F5F5799A932462, _kernel.siphash(bytes(8), KEY)
    ]  # fmt: skip
    with pytest.raises(ValueError, match="15 bytes, expected 16"):
        _kernel.siphash(b"", KEY[1:])


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    for number in range(3):
        ids = range(1000 * number, 1000 * number + 1000)
        pq.write_table(pa.table({"id": ids}), folder / f"{number}.parquet", row_group_size=500)
    return folder


def test_values_are_found_by_hashes_with_a_key(lake, tmp_path):
    with pb.Index.build(tmp_path / "index", lake, "id", hash_key=KEY) as index:
        for values in ([1700], range(3000)):
            for value, result in zip(values, index.probe("id", values).results, strict=True):
                found = {file.path: file.row_groups for file in result.files}
                assert value % 1000 // 500 in found[str(lake / f"{value // 1000}.parquet")]
        pq.write_table(pa.table({"id": [5000]}), lake / "3.parquet")
        assert index.add().added == 1
        assert not index.probe("id", 5000).is_absent
        assert index.compact(everything=True).merged == 2
        assert not index.probe("id", 5000).is_absent
        assert index.check(deep=True).findings == ()
        query = index.sql("id", [1700])
        assert query != pb.Index.build(tmp_path / "open", lake, "id").sql("id", [1700])
        assert (str(lake / "1.parquet"), 1) in {
            (path, group) for _, _, path, group, _ in duckdb.sql(query).fetchall()
        }
        assert KEY.hex() not in query
        assert repr(KEY) not in repr(vars(index._asked))


def test_hashes_with_a_key_are_others(lake, tmp_path):
    hashes = []
    for key in (None, KEY, OTHER):
        folder = tmp_path / f"{len(hashes)}"
        pb.Index.build(folder, lake, "id", hash_key=key).close()
        (path,) = folder.glob("*.map.parquet")
        hashes.append({*(pq.read_table(path)["k"].to_numpy() >> 3).tolist()})
    assert not hashes[0] & hashes[1]
    assert not hashes[1] & hashes[2]


def test_another_key_is_an_error_and_never_absent(lake, tmp_path):
    spec = f"hex:{KEY.hex()}"
    pb.Index.build(tmp_path / "index", lake, "id", hash_key=spec).close()
    pb.Index(tmp_path / "index", hash_key=KEY).close()
    with pytest.raises(MissingKeyError, match="made with a key, expected hash_key=KEYSPEC"):
        pb.Index(tmp_path / "index")
    for act in (pb.Index, add_to_index):
        with pytest.raises(EncryptionError, match="the index was made with another one"):
            act(tmp_path / "index", hash_key=OTHER)
    with pytest.raises(MissingKeyError):
        index_sql(tmp_path / "index", "id", [5])
    with pytest.raises(MissingKeyError):
        check_index(tmp_path / "index", deep=True)
    assert check_index(tmp_path / "index").findings == ()
    pb.Index.build(tmp_path / "open", lake, "id").close()
    with pytest.raises(EncryptionError, match="the index was made without one"):
        probe_index(tmp_path / "open", "id", 5, hash_key=KEY)
    with pytest.raises(EncryptionError, match="hash key: 3 bytes, expected 16"):
        pb.Index.build(tmp_path / "short", lake, "id", hash_key=b"abc")
    assert not (tmp_path / "short").exists()


def test_the_command_takes_the_key_as_others_do(lake, tmp_path):
    (tmp_path / "key").write_bytes(KEY)
    index, key = ("--index", tmp_path / "index"), ("--hash-key", f"file:{tmp_path}/key,raw")
    assert outcome("index", "build", *index, "-c", "id", lake, *key).code == 0
    add = f"or run `pbloom index add --index {tmp_path}/index --hash-key {key[1]}` first"
    for asked in (("index", "probe"), ("find",)):
        run = outcome(*asked, *index, "-c", "id", "-v", 7, *key)
        assert (run.code, run.complaint.endswith(add)) == (0, True), run.complaint
    assert outcome("index", "add", *index, *key).code == 0
    refused = outcome("index", "probe", *index, "-c", "id", "-v", 7)
    expected = f"{tmp_path}/index: its hashes are made with a key, expected --hash-key"
    assert (refused.code, refused.complaint) == (2, expected)


def test_an_index_with_a_key_is_not_made_anew_without_one_by_mistake(lake, tmp_path, monkeypatch):
    folder, key = tmp_path / "index", f"hex:{KEY.hex()}"
    pb.Index.build(folder, lake, "id", hash_key=KEY).close()
    (map_file,) = folder.glob("*.map.parquet")
    map_file.write_bytes(b"damaged")
    anew = f"next: pbloom index build --overwrite --index {folder} -c id {lake}"
    check = ("index", "check", "--index", folder)
    assert outcome(*check).stdout.splitlines()[-1] == f"{anew} --hash-key KEYSPEC"
    monkeypatch.setenv("SECRET", key)
    told = outcome(*check, "--hash-key", "env:SECRET").stdout.splitlines()[-1]
    assert told == f"{anew} --hash-key env:SECRET"

    build = ("index", "build", "--overwrite", "--index", folder, "-c", "id", lake)
    refused = f"{folder}: its hashes are made with a key, expected --hash-key, or a new folder for an index without a key"
    assert (outcome(*build).code, outcome(*build).complaint) == (2, refused)
    with pytest.raises(MissingKeyError, match="expected hash_key=KEYSPEC, or a new folder"):
        pb.Index.build(folder, lake, "id", overwrite=True)
    assert [*folder.glob("manifest-*")] == [folder / "manifest-0000000001.json"]
    assert outcome(*build, "--hash-key", "env:SECRET").code == 0
    # Of a damaged manifest, the one before says so, too.
    (folder / "manifest-0000000002.json").write_bytes(b"damaged")
    assert outcome(*build).complaint == refused
    (folder / "manifest-0000000001.json").unlink()
    assert outcome(*build).code == 0


def test_encrypted_columns_are_left_out_unless_they_are_wanted(tmp_path):
    path, keys = encrypted(tmp_path, RECIPE), keys_of(RECIPE)
    values = pb.open(path, keys)
    assert values.num_rows
    with pb.Index.build(tmp_path / "index", path, ["int64", "string"], keys=keys) as index:
        (result,) = index.probe("int64", 5).results
        (file,) = result.files
        assert (file.verdict, file.reason) == (
            "unknown", "encrypted: an index would hold hashes of its values in the open"
        )  # fmt: skip
        assert index.probe("string", "nobody").is_absent
    checked = outcome("index", "check", "--index", tmp_path / "index")
    assert (
        "values in the open; index build --include-encrypted --overwrite makes an index with it"
        in checked.complaint
    )
    wanted = tmp_path / "wanted"
    with pb.Index.build(wanted, path, "int64", keys=keys, include_encrypted=True) as index:
        assert index.check(deep=True, keys=keys).findings == ()
        assert index.probe("int64", 123_456_789).is_absent
        report = index.check(deep=True)
        assert [each.problem for each in report.findings] == ["unread"]
    with pb.Index.build(tmp_path / "locked", path, "int64", include_encrypted=True) as index:
        assert index.probe("int64", 5).results[0].verdict == "unknown"


def test_filters_of_encrypted_columns_are_left_out_unless_they_are_wanted(tmp_path):
    keys, path = keys_of(RECIPE), tmp_path / "with-filters.parquet"
    pb.build(encrypted(tmp_path, RECIPE), path, columns=["int64"], keys=keys)
    with pb.Index.build(tmp_path / "index", path, "int64", form="slices", keys=keys) as index:
        (file,) = index.probe("int64", 5).results[0].files
        assert (file.verdict, file.reason) == (
            "unknown", "encrypted: an index would hold hashes of its values in the open"
        )  # fmt: skip
    wanted = tmp_path / "wanted"
    with pb.Index.build(
        wanted, path, "int64", form="slices", keys=keys, include_encrypted=True
    ) as index:
        report = index.check(deep=True, keys=keys)
        assert (report.findings, report.filters > 0) == ((), True)
        assert index.probe("int64", 123_456_789).is_absent
    locked = tmp_path / "locked"
    with pb.Index.build(locked, path, "int64", form="slices", include_encrypted=True) as index:
        (file,) = index.probe("int64", 5).results[0].files
        assert (file.verdict, file.reason) == ("unknown", NO_KEY)
