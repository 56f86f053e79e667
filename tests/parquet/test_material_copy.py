"""External key material follows a file to its new name, and nobody else's is touched."""

import os
import shutil

import pytest
from make.kms_lab import LabKms, write

import parquet_bloom as pb
from parquet_bloom.storage.local_output import NewFile


def keys():
    return pb.Keys(kms_client=LabKms(None))


def material(path):
    return path.with_name(f"_KEY_MATERIAL_FOR_{path.name}.json")


@pytest.fixture
def one(tmp_path):
    path = tmp_path / "one.parquet"
    write(path, internal_key_material=False)
    return path


@pytest.fixture
def two(tmp_path):
    path = tmp_path / "two.parquet"
    write(path, internal_key_material=False)
    return path


def built(path, output, **options):
    return pb.build(path, output, columns=["a"], keys=keys(), **options)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_it_is_copied_with_its_mode(one, tmp_path):
    material(one).chmod(0o640)
    out = tmp_path / "out.parquet"
    built(one, out)
    assert material(out).read_bytes() == material(one).read_bytes()
    assert material(out).stat().st_mode & 0o777 == 0o640
    assert pb.validate(out, keys=keys()).ok


def test_other_material_is_not_replaced_unasked(one, two, tmp_path):
    out = tmp_path / "out.parquet"
    shutil.copy(material(two), material(out))
    before = names(tmp_path)
    with pytest.raises(pb.RewriteError) as error:
        built(one, out)
    assert str(error.value) == (
        f"{material(out)}: already exists, with other key material: use overwrite=True to replace it"
    )
    assert material(out).read_bytes() == material(two).read_bytes()
    assert names(tmp_path) == before
    built(one, out, overwrite=True)
    assert material(out).read_bytes() == material(one).read_bytes()
    assert pb.validate(out, keys=keys()).ok


def test_the_same_material_may_be_there(one, tmp_path):
    out = tmp_path / "out.parquet"
    shutil.copy(material(one), material(out))
    built(one, out)
    assert pb.validate(out, keys=keys()).ok


def test_in_place_it_stays_as_it_is(one, tmp_path):
    before = material(one).stat()
    built_in_place = pb.build(one, columns=["a"], keys=keys(), in_place=True)
    assert len(built_in_place.filters) > 0
    assert material(one).stat() == before
    assert names(tmp_path) == [material(one).name, "one.parquet"]


def test_behind_a_link_it_lies_beside_the_file(one, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    link = tmp_path / "link.parquet"
    link.symlink_to(folder / "out.parquet")
    built(one, link)
    assert names(folder) == [material(one).name.replace("one", "out"), "out.parquet"]
    assert not material(link).exists()


@pytest.fixture
def someone_else(monkeypatch, two, tmp_path):
    """Writes out.parquet, and what belongs to it, just before it gets its name from us."""
    out, take_name = tmp_path / "out.parquet", NewFile._take_name

    def late(self, replaced):
        if self.path == str(out):
            shutil.copy(two, out)
        take_name(self, replaced)

    monkeypatch.setattr(NewFile, "_take_name", late)
    return out


def test_without_the_file_it_goes_again(one, someone_else):
    with pytest.raises(pb.RewriteError, match="was created in the meantime"):
        built(one, someone_else)
    assert not material(someone_else).exists()


def test_that_of_someone_who_was_faster_stays(one, two, someone_else, monkeypatch):
    verify = "parquet_bloom.parquet.edit.change.FilterChange.check"

    def late(self, new):
        shutil.copy(material(two), material(someone_else))

    monkeypatch.setattr(verify, late)
    with pytest.raises(pb.RewriteError, match=r"KEY_MATERIAL.*: was created in the meantime"):
        built(one, someone_else)
    assert material(someone_else).read_bytes() == material(two).read_bytes()
    assert not someone_else.exists()


def test_what_was_replaced_comes_back_without_the_file(one, two, tmp_path, monkeypatch):
    out = tmp_path / "out.parquet"
    shutil.copy(two, out)
    shutil.copy(material(two), material(out))
    replace = os.replace

    def failing(source, target):
        if target == str(out):
            raise PermissionError(13, "Permission denied", str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(PermissionError):
        built(one, out, overwrite=True)
    assert material(out).read_bytes() == material(two).read_bytes()
    assert pb.inspect(out, keys=keys()).encrypted
