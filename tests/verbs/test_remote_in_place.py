"""Objects changed in place: they become what a local file would, or stay as they were."""

import os
import re
import tempfile
from contextlib import nullcontext

import pyarrow as pa
import pytest
from conftest import FIXTURES
from make.commands import outcome
from make.footers import without_lengths
from make.kms_lab import LabKms
from make.kms_lab import write as write_encrypted
from make.object_store import BUCKET, BUILD, FIXTURE, NAME, OPTIONS, URL, check_untouched, raising

import parquet_bloom as pb

# As messages have it.
SHOWN = f"{URL.partition('?')[0]}?QUERY"
HIDDEN = re.compile(r"bucket/lake/day=1/\.x\.parquet\.[0-9a-f]{16}\.pbloom-tmp")


def put(store, path):
    store.put(NAME, path.read_bytes())


def local(tmp_path, data):
    path = tmp_path / "local.parquet"
    path.write_bytes(data)
    return path


def verbs_on(store, pattern):
    return [verb for verb, path in store.requests if re.fullmatch(pattern, path)]


# ------------------------------------------------------------------------------------------------
# What it becomes


def test_build_makes_what_it_makes_of_a_local_file(store, tmp_path):
    path = local(tmp_path, FIXTURE.read_bytes())
    there, here = (pb.build(each, in_place=True, **BUILD) for each in (URL, path))
    assert there.output == there.path == URL
    assert there.filters == here.filters
    assert (there.size_before, there.size_after) == (here.size_before, here.size_after)
    assert store.objects == {NAME: path.read_bytes()}
    assert verbs_on(store, HIDDEN.pattern) == ["upload", *["write"] * 4, "info", "delete"]
    assert all(url.endswith(OPTIONS) for url in store.urls)


def test_strip_gives_the_original_back(store):
    stripped = FIXTURES / "pyarrow_types.parquet"
    put(store, stripped)
    pb.build(URL, columns=["int64"], in_place=True)
    assert store.objects[NAME] != stripped.read_bytes()
    report = pb.strip(URL, in_place=True)
    assert (report.output, len(report.removed)) == (URL, len(pb.inspect(stripped).row_groups))
    assert store.objects == {NAME: stripped.read_bytes()}


def test_repair_makes_what_it_makes_of_a_local_file(store, tmp_path):
    broken = without_lengths(FIXTURE.read_bytes())
    store.put(NAME, broken)
    path = local(tmp_path, broken)
    there, here = pb.repair(URL, in_place=True), pb.repair(path, in_place=True, layout="append")
    assert there.output == URL
    assert len(there.repaired) > 0
    assert there.repaired == here.repaired
    assert store.objects == {NAME: path.read_bytes()}


@pytest.mark.parametrize(
    "work",
    [
        lambda: pb.build(URL, columns=["int64"], in_place=True),
        lambda: pb.repair(URL, in_place=True),
        lambda: pb.build(URL, in_place=True, dry_run=True, **BUILD),
    ],
)
def test_what_has_all_is_not_written(store, work):
    before = FIXTURE.read_bytes()
    work()
    assert store.objects == {NAME: before}
    assert {verb for verb, _ in store.requests} <= {"open", "info", "list"}


def test_strip_without_filters_copies_nothing(store, monkeypatch):
    monkeypatch.setattr(tempfile, "mkstemp", None)
    put(store, FIXTURES / "pyarrow_types.parquet")
    report = pb.strip(URL, in_place=True)
    assert (report.output, report.removed, report.bytes_removed) == (None, (), 0)
    assert {verb for verb, _ in store.requests} <= {"open", "info", "list"}


def test_readers_find_the_old_or_the_new_version(store):
    seen = []
    store.faults.append(lambda verb, path: seen.append((verb, store.objects[NAME])))
    pb.build(URL, in_place=True, **BUILD)
    old, new = FIXTURE.read_bytes(), store.objects[NAME]
    assert {data for _, data in seen} == {old, new}
    assert [verb for verb, data in seen if data == new] == ["delete"]


def test_a_second_attempt_meanwhile_does_no_harm(store):
    def again(verb, path):
        if verb == "copy":
            store.faults.clear()
            pb.build(URL, in_place=True, **BUILD)

    store.faults.append(again)
    pb.build(URL, in_place=True, **BUILD)
    assert verbs_on(store, re.escape(NAME)).count("copy") == 2
    assert list(store.objects) == [NAME]
    assert pb.validate(URL).ok


def test_the_command(store):
    result = outcome("build", URL, "--in-place", "-c", "int64", "--existing", "replace")
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"{URL}: 3 filters, ")
    assert list(store.objects) == [NAME]


@pytest.mark.parametrize("option", ["-o", "--output-dir"])
def test_the_command_writes_to_no_url_by_name(store, option):
    result = outcome("build", FIXTURE, option, f"{BUCKET}/out", "-c", "int64")
    assert result.code == 2
    assert f"'{BUCKET}/out' is a URL, expected a local path" in result.stderr
    assert store.requests == []


# ------------------------------------------------------------------------------------------------
# Encrypted files


@pytest.fixture
def with_material(tmp_path):
    """A file whose keys are in another one beside it; written before the store is installed."""
    return write_encrypted(tmp_path / "x.parquet", internal_key_material=False)


def test_key_material_stays_as_it_is(with_material, store):
    path = with_material
    material = "_KEY_MATERIAL_FOR_x.parquet.json"
    url = f"hdfs://{NAME}"
    put(store, path)
    store.put(NAME.replace("x.parquet", material), path.with_name(material).read_bytes())
    before = store.modified[NAME.replace("x.parquet", material)]
    keys = pb.Keys(kms_client=LabKms(None))
    there, here = (pb.build(each, columns=["a"], keys=keys, in_place=True) for each in (url, path))
    assert len(there.filters) == len(here.filters) > 0
    assert pb.validate(url, keys=keys).ok
    assert len(store.objects) == 2
    assert store.modified[NAME.replace("x.parquet", material)] == before


def body_and_filters(data):
    """All but the footer, which is sealed anew each time."""
    return data[: len(data) - 8 - int.from_bytes(data[-8:-4], "little")]


TAKERS = {
    "build": lambda file, keys: (
        pb.build(file, in_place=True, keys=keys, **(BUILD | {"columns": ["int64"]})).notes
    ),
    "strip": lambda file, keys: pb.strip(file, columns=["int64"], in_place=True, keys=keys).left,
    "repair": lambda file, keys: (
        pb.repair(file, columns=["int64"], in_place=True, keys=keys, layout="append").left
    ),
}


@pytest.mark.parametrize("verb", TAKERS)
@pytest.mark.parametrize("disputed", ["within"], indirect=True)
def test_what_stays_in_plaintext_is_told(disputed, verb, store):
    """Although its header is gone when the object is replaced."""
    path, keys, _ = disputed
    put(store, path)
    there, here = (TAKERS[verb](each, keys) for each in (URL, path))
    assert "because something else uses them" in str(here)
    assert there == here
    made, wanted = (body_and_filters(data) for data in (store.objects[NAME], path.read_bytes()))
    assert len(made) == len(wanted)
    assert verb == "build" or made == wanted


# ------------------------------------------------------------------------------------------------
# What goes wrong


@pytest.mark.parametrize(
    ("verb", "at"), [("upload", 1), ("write", 1), ("write", 3)], ids=["first", "data", "midway"]
)
@pytest.mark.parametrize(
    "error", [OSError("AWS Error ACCESS_DENIED\nmore"), PermissionError(13, "Permission denied")]
)
def test_an_upload_that_fails(store, verb, at, error):
    store.faults.append(raising(verb, error, at))
    with pytest.raises(OSError, match="not uploaded to") as raised:
        pb.build(URL, in_place=True, **BUILD)
    check_untouched(store)
    said = error.strerror or "AWS Error ACCESS_DENIED"
    assert raised.value.filename == URL
    assert re.fullmatch(f"not uploaded to {HIDDEN.pattern}: {said}", raised.value.strerror)


def test_a_complaint_is_one_line(store):
    store.faults.append(raising("write", OSError("AWS Error\nmore")))
    result = outcome("build", URL, "--in-place", "-c", "int64", "--existing", "replace")
    line = f"pbloom: {re.escape(SHOWN)}: not uploaded to {HIDDEN.pattern}: AWS Error\n"
    assert result.code == 2
    assert re.fullmatch(line, result.stderr)


def test_an_upload_that_loses_something(store, monkeypatch):
    put_whole = store.put
    monkeypatch.setattr(store, "put", lambda path, data: put_whole(path, data[:-1]))
    with pytest.raises(pb.RewriteError, match=r"uploaded: expected (\d+) bytes, found (\d+)$"):
        pb.build(URL, in_place=True, **BUILD)
    check_untouched(store)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            pa.ArrowNotImplementedError("CopyFile is not supported yet"),
            "CopyFile is not supported yet",
        ),
        (NotImplementedError("no copies"), "no copies"),
        (pa.ArrowException("out of order"), "out of order"),
        (OSError("AWS Error EntityTooLarge: 5 GB\nmore"), "AWS Error EntityTooLarge: 5 GB"),
    ],
)
def test_a_store_that_does_not_copy(store, error, said):
    store.faults.append(raising("copy", error))
    with pytest.raises(pb.RewriteError) as raised:
        pb.build(URL, in_place=True, **BUILD)
    assert str(raised.value) == f"{SHOWN}: not replaced, the file system could not copy: {said}"
    check_untouched(store)


@pytest.mark.parametrize("data", [b"short", FIXTURE.read_bytes()[::-1]], ids=["size", "content"])
@pytest.mark.parametrize("when", ["upload", "info"])
def test_an_object_that_changes_meanwhile(store, data, when):
    def fault(verb, path):
        if verb == when and HIDDEN.fullmatch(path):
            store.faults.clear()
            store.put(NAME, data)

    store.faults.append(fault)
    with pytest.raises(pb.RewriteError) as raised:
        pb.build(URL, in_place=True, **BUILD)
    assert str(raised.value) == (
        f"{SHOWN}: changed while it was read:"
        f" {FIXTURE.stat().st_size} bytes when opened, {len(data)} bytes now; nothing was written"
    )
    check_untouched(store, data)


def test_an_object_that_changes_while_a_local_copy_is_made(store, tmp_path):
    def fault(verb, path):
        if verb == "open" and ("open", path) in store.requests[:-1]:
            store.faults.clear()
            store.put(NAME, store.objects[NAME])

    store.faults.append(fault)
    with pytest.raises(pb.RewriteError, match="changed while it was read"):
        pb.build(URL, tmp_path / "out.parquet", **BUILD)
    assert not (tmp_path / "out.parquet").exists()


def test_etags_tell_what_the_clock_does_not(store):
    """The times of S3 are seconds."""

    def fault(verb, path):
        if verb == "upload":
            before = store.modified[NAME]
            store.put(NAME, store.objects[NAME])
            store.modified[NAME] = before

    store.faults.append(fault)
    has_etags = store.etags[NAME] is not None
    expected = pytest.raises(pb.RewriteError, match="changed") if has_etags else nullcontext()
    with expected:
        pb.build(URL, in_place=True, **BUILD)
    assert (store.objects[NAME] == FIXTURE.read_bytes()) == has_etags


def test_an_object_that_goes_meanwhile(store):
    def fault(verb, path):
        if verb == "upload":
            del store.objects[NAME]

    store.faults.append(fault)
    with pytest.raises(OSError, match=f"not opened again: Path does not exist '{NAME}'") as raised:
        pb.build(URL, in_place=True, **BUILD)
    assert raised.value.filename == URL
    assert store.objects == {}


@pytest.mark.parametrize("verb", ["upload", "write", "info", "copy"])
def test_an_interrupt_leaves_nothing(store, verb):
    def fault(asked, path):
        if asked == verb and (verb == "copy" or HIDDEN.fullmatch(path)):
            raise KeyboardInterrupt

    store.faults.append(fault)
    with pytest.raises(KeyboardInterrupt):
        pb.build(URL, in_place=True, **BUILD)
    check_untouched(store)


def test_a_temporary_object_that_stays_is_named(store):
    store.faults.append(raising("delete", OSError("AWS Error ACCESS_DENIED")))
    with pytest.raises(OSError, match="replaced, but") as raised:
        pb.build(URL, in_place=True, **BUILD)
    (left,) = set(store.objects) - {NAME}
    assert raised.value.filename == URL
    assert raised.value.strerror == (
        f"replaced, but {left} could not be removed: AWS Error ACCESS_DENIED"
    )
    assert store.objects[NAME] == store.objects[left] != FIXTURE.read_bytes()


def test_what_went_wrong_first_is_told(store):
    store.faults.append(raising("copy", OSError("no copy")))
    store.faults.append(raising("delete", OSError("no delete")))
    with pytest.raises(pb.RewriteError, match="could not copy: no copy"):
        pb.build(URL, in_place=True, **BUILD)


def test_no_room_for_the_local_file(store, monkeypatch):
    def full(descriptor, data, offset):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left") as raised:
        pb.build(URL, in_place=True, **BUILD)
    assert raised.value.filename == f"{URL}: temporary file in {tempfile.gettempdir()}"
    check_untouched(store)


def test_a_new_version_that_is_wrong_is_not_written(store, monkeypatch):
    pwrite = os.pwrite

    def flipped(descriptor, data, offset):
        is_footer = bytes(data).endswith(b"PAR1")
        return (
            pwrite(descriptor, data, offset)
            if is_footer
            else pwrite(descriptor, bytes(len(data)), offset)
        )

    monkeypatch.setattr(os, "pwrite", flipped)
    with pytest.raises(
        pb.RewriteError, match=re.escape(f"{SHOWN}: verification failed, not written")
    ):
        pb.build(URL, in_place=True, **BUILD)
    check_untouched(store)
