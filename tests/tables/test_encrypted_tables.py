"""Tables of encrypted files: filters are encrypted, and nothing of the old version is overwritten."""

import pytest
from make.commands import files_in
from make.delta_tables import build, live, table_of
from make.encrypted_files import PLAIN, encrypted
from make.encrypting import FOOTER_KEY, Recipe

import parquet_bloom as pb

KEY = b"the key of a col"
KEYS = pb.Keys(footer=FOOTER_KEY, columns={"int64": KEY})


@pytest.mark.parametrize("plaintext_footer", [True, False])
def test_encrypted_files(tmp_path, plaintext_footer):
    recipe = Recipe(columns={"int64": KEY}, plaintext_footer=plaintext_footer)
    path = encrypted(tmp_path, recipe)
    pb.strip(path, in_place=True, keys=KEYS)
    table = table_of(tmp_path / "table", path, int64="long")
    old = (table / "part-0.parquet").read_bytes()
    report = build(table, columns=["int64"], keys=KEYS)
    assert report.committed == 1
    new = (table / "part-0.parquet").read_bytes()
    assert new.startswith(old)
    assert len(new) == live(table)["part-0.parquet"]
    checked = pb.validate(table / "part-0.parquet", keys=KEYS)
    assert (checked.ok, checked.checked.filters) == (True, report.num_filters)
    assert build(table, columns=["int64"], keys=KEYS).committed is None
    assert pb.strip_table(table, keys=KEYS).committed == 2
    without = build(table, columns=["int64"])
    assert [file.action for file in without.files] == ["failed"]


def test_plaintext_filters_are_not_overwritten(tmp_path):
    """Older versions of the table have them: zeros would say of every value that it is absent."""
    plain = tmp_path / "plain.parquet"
    pb.build(PLAIN, plain, columns=["int64"], existing="replace")
    path = encrypted(tmp_path, Recipe(filters="plaintext"), plain)
    table = table_of(tmp_path / "table", path, int64="long")
    before = files_in(table)
    report = build(table, columns=["int64"], existing="replace", keys=pb.Keys(footer=FOOTER_KEY))
    assert [file.action for file in report.files] == ["failed"]
    assert "are a plaintext filter of an encrypted column" in report.files[0].reason
    assert files_in(table) == before


def test_plaintext_filters_are_not_repaired(tmp_path):
    plain = tmp_path / "plain.parquet"
    pb.build(PLAIN, plain, columns=["int64"], existing="replace")
    path = encrypted(tmp_path, Recipe(filters="plaintext"), plain)
    table = table_of(tmp_path / "table", path, int64="long")
    before = files_in(table)
    keys = pb.Keys(footer=FOOTER_KEY)
    report = pb.repair_table(table, min_file_size=0, keys=keys)
    assert [file.action for file in report.files] == ["failed"]
    assert "are a plaintext filter of an encrypted column" in report.files[0].reason
    assert (report.committed, files_in(table)) == (None, before)
