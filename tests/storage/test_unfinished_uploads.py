"""Uploads to S3 that killed runs have left: which are found, and which are aborted."""

import os
import threading
import time

import pytest
from conftest import FIXTURES
from make.object_server import Fault, Lost
from make.s3_server import Upload

import parquet_bloom as pb
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects import replacement, s3_adapter

NAME = "lake/day=1/x y.parquet"
URL = "s3://lake/day=1/x%20y.parquet"
FOLDER = "s3://lake/day=1/"
DAY = 86_400
OLD = (FIXTURES / "pyarrow_types.parquet").read_bytes()


@pytest.fixture(autouse=True)
def old(s3):
    s3.put(NAME, OLD)


def begin(s3, name=NAME, age=2 * DAY, parts=(b"12345", b"678")):
    """The number of a new upload."""
    number = f"upload-{next(s3._numbers)}"
    upload = Upload(name, {}, "", dict(enumerate(parts, 1)), int(time.time()) - age)
    s3.uploads[number] = upload
    return number


def clean(s3, path=FOLDER, uploads_older_than=DAY, **options):
    return pb.clean_temp(
        path, uploads_older_than=uploads_older_than, storage_options=s3.options, **options
    )


def found(report):
    return [(left.kind, left.file, left.num_bytes, left.problem) for left in report.leftovers]


def test_what_a_killed_build_leaves_is_found(s3):
    """Its last request gets no answer, nor do those that would abort it."""
    replacement._ignored_in[s3.endpoint, "lake"] = ""
    s3.faults += [Lost(kind=kind, times=99, before=True) for kind in ("COMPLETE", "ABORT")]
    with pytest.raises(OSError, match="cannot be aborted"):
        pb.build(URL, columns=["int64"], in_place=True, storage_options=s3.options)
    s3.faults.clear()
    (upload,) = s3.uploads.values()
    assert found(clean(s3)) == []
    assert found(clean(s3, URL)) == []
    upload.begun -= DAY + 1
    sizes = sum(map(len, upload.parts.values()))
    report = clean(s3, dry_run=True)
    assert (found(report), report.dry_run) == ([("upload", URL, sizes, None)], True)
    assert report.leftovers[0].since == time.strftime(
        "%Y-%m-%dT%H:%M:%SZ", time.gmtime(upload.begun)
    )
    assert len(s3.uploads) == 1
    assert found(clean(s3)) == [("upload", URL, sizes, None)]
    assert (s3.uploads, s3.objects) == ({}, {NAME: OLD})


def test_only_what_is_old_and_there_is_aborted(s3):
    """Nothing young, nothing elsewhere, nothing to a key without an object, and none without a word."""
    s3.put("lake/day=10/a.parquet", OLD)
    s3.put("lake/day=1/deep/er/a.parquet", OLD)
    gone = {begin(s3), begin(s3), begin(s3, "lake/day=1/deep/er/a.parquet")}
    gone.add(begin(s3, f"lake/day=1/.x.parquet.{'0' * 16}.pbloom-tmp", parts=()))
    kept = {
        begin(s3, age=DAY - 60),
        begin(s3, age=DAY - 60, parts=()),
        begin(s3, "lake/day=10/a.parquet"),
        begin(s3, "lake/day=1/part-0.parquet"),
        busy := begin(s3),
    }
    s3.uploads[busy].sent = time.time() - DAY + 60
    assert pb.clean_temp(FOLDER, storage_options=s3.options).leftovers == ()
    assert s3.uploads.keys() == gone | kept
    assert len(clean(s3, dry_run=True).leftovers) == 4
    assert s3.uploads.keys() == gone | kept
    assert len(clean(s3).leftovers) == 4
    assert s3.uploads.keys() == kept
    # By the whole bucket, and by the key.
    assert len(clean(s3, "s3://lake").leftovers) == 1
    again = begin(s3)
    assert len(clean(s3, URL).leftovers) == 1
    assert again not in s3.uploads


def test_many_take_several_pages(s3):
    s3.page = 2
    for _ in range(5):
        begin(s3, parts=(b"1", b"2", b"3"))
    report = clean(s3, URL)
    assert found(report) == [("upload", URL, 3, None)] * 5
    assert s3.uploads == {}
    assert s3.count("UPLOADS") == 3
    assert s3.count("PARTS") == 10
    assert s3.count("ABORT") == 5
    # One more, because nothing else was left there.
    assert s3.count("HEAD") == 6


def test_the_clock_of_the_store_decides(s3, monkeypatch):
    """One that is a week ahead here makes nothing old."""
    begin(s3, age=60)
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 7 * DAY)
    monkeypatch.setattr(
        "make.object_server.Handler.date_time_string",
        lambda self, timestamp=None: time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(now())),
    )
    assert clean(s3).leftovers == ()


def test_one_that_was_finished_meanwhile_is_none(s3):
    begin(s3)
    s3.faults.append(Fault(kind="ABORT", do=s3.uploads.clear))
    assert clean(s3).leftovers == ()
    begin(s3)
    s3.faults[:] = [Fault(kind="PARTS", do=s3.uploads.clear)]
    assert clean(s3).leftovers == ()


DENIED = "<Error><Code>AccessDenied</Code></Error>"


def test_what_is_refused(s3):
    kept = {begin(s3), begin(s3)}
    for kind in ("UPLOADS", "HEAD", "PARTS"):
        s3.faults[:] = [Fault(403, DENIED, kind=kind)]
        with pytest.raises(PermissionError, match="listing uploads was refused") as raised:
            clean(s3)
        code = "403" if kind == "HEAD" else "403 AccessDenied"
        assert str(raised.value).endswith(
            f"listing uploads was refused ({code}): allow s3:ListBucketMultipartUploads,"
            f" s3:ListMultipartUploadParts and s3:GetObject: '{FOLDER}'"
        )
    s3.faults[:] = [Fault(501, "<Error><Code>NotImplemented</Code></Error>", kind="UPLOADS")]
    with pytest.raises(
        OSError,
        match="the store answered 501 NotImplemented to ListMultipartUploads; the search for uploads",
    ):
        clean(s3)
    # One that cannot be aborted does not keep the others.
    s3.faults[:] = [Fault(403, DENIED, kind="ABORT")]
    said = "aborting was refused (403 AccessDenied): allow s3:AbortMultipartUpload"
    problems = [left.problem for left in clean(s3).leftovers]
    assert problems == [f"{URL}: {said}", None]
    assert len(s3.uploads.keys() & kept) == 1


def test_ages_that_cannot_be(s3):
    begin(s3)
    for age in (0, DAY - 1, -1, float("nan"), float("inf")):
        with pytest.raises(
            ValueError, match=r"uploads_older_than: .*, expected 86400 or more seconds"
        ):
            clean(s3, uploads_older_than=age)
    with pytest.raises(TypeError, match="uploads_older_than: '2d', expected a number of seconds"):
        clean(s3, uploads_older_than="2d")
    with pytest.raises(ValueError, match="older_than: -1, expected 0 or more seconds"):
        clean(s3, older_than=-1)
    assert len(s3.uploads) == 1


@pytest.mark.parametrize(
    ("url", "why"),
    {
        "gs://lake/": ": Google discards them after a week",
        "https://example.org/": "",
        "lake/day=1": "",
    }.items(),
)
def test_there_are_none_elsewhere(s3, url, why):
    with pytest.raises(pb.UnsupportedError) as raised:
        clean(s3, url)
    assert (
        str(raised.value) == f"{url}: unfinished uploads are looked for in S3 and Azure only{why}"
    )


# ------------------------------------------------------------------------------------------------
# Temporary files


LEFT = f".x y.parquet.{'0' * 16}.pbloom-tmp"
OTHER = f".z.parquet.{'1' * 16}.pbloom-tmp"


def test_temporary_objects(s3):
    names = [f"lake/day=1/{LEFT}", f"lake/day=1/{OTHER}", f"lake/day=1/_a/.b/{LEFT}"]
    others = ["lake/day=1/.x.pbloom-tmp", f"lake/day=10/{LEFT}", f"lake/day=1/x{LEFT}"]
    for name in [*names, *others]:
        s3.put(name, b"1234")
    kept = {NAME, *others}
    place = f"{FOLDER}.x%20y.parquet.{'0' * 16}.pbloom-tmp"
    assert found(clean(s3, URL, None)) == [("temporary file", place, 4, None)]
    assert s3.objects.keys() == {*kept, *names[1:]}
    assert len(clean(s3, FOLDER, None, dry_run=True).leftovers) == 2
    assert s3.objects.keys() == {*kept, *names[1:]}
    assert len(clean(s3, FOLDER, None).leftovers) == 2
    assert s3.objects.keys() == kept
    (problem,) = {str(error) for error in [_error(lambda: clean(s3, "s3://lake/day=*/", None))]}
    assert problem == "[Errno 22] a glob, expected a folder or a file: 's3://lake/day=*/'"


def _error(call):
    with pytest.raises((OSError, pb.UnsupportedError)) as raised:
        call()
    return raised.value


def test_temporary_files(tmp_path):
    hidden = tmp_path / ".hidden" / "deeper"
    hidden.mkdir(parents=True)
    elsewhere = tmp_path.with_name("elsewhere")
    elsewhere.mkdir()
    (tmp_path / "link").symlink_to(elsewhere)
    places = [tmp_path / LEFT, tmp_path / OTHER, hidden / LEFT]
    for place in [*places, elsewhere / LEFT, tmp_path / "x y.parquet", tmp_path / f"x{LEFT}"]:
        place.write_bytes(b"1234")
        os.utime(place, (0, 0))
    os.utime(places[0])
    (left,) = pb.clean_temp(tmp_path / "x y.parquet", older_than=0, dry_run=True).leftovers
    assert (left.file, left.num_bytes) == (str(places[0]), 4)
    assert {left.file for left in pb.clean_temp(tmp_path).leftovers} == {
        str(places[1]),
        str(places[2]),
    }
    assert places[0].exists()
    (left,) = pb.clean_temp(tmp_path.as_uri(), older_than=0).leftovers
    assert left.file == str(places[0])
    assert sorted(os.listdir(tmp_path)) == [".hidden", "link", "x y.parquet", f"x{LEFT}"]
    assert (elsewhere / LEFT).exists()
    missing = _error(lambda: pb.clean_temp(tmp_path / "gone"))
    assert missing.strerror == "no such file or folder"
    assert str(_error(lambda: pb.clean_temp("https://example.org/a.parquet"))) == (
        "https://example.org/a.parquet: web servers are read-only: nothing is left there"
    )


def test_what_was_to_become_a_file(tmp_path):
    """Where the file is not there, or a link leads to it."""
    left = tmp_path / LEFT
    left.write_bytes(b"1234")
    (folder := tmp_path / "below").mkdir()
    (link := folder / "link.parquet").symlink_to(tmp_path / "x y.parquet")
    for name in (tmp_path / "x y.parquet", link):
        (found,) = pb.clean_temp(name, older_than=0, dry_run=True).leftovers
        assert found.file == str(left)


def test_nothing_is_named():
    for name, error, text in (
        ("", FileNotFoundError, "[Errno 2] an empty name, expected a file or folder"),
        (b"x", TypeError, "path: b'x', expected one path or URL, as str or os.PathLike"),
        (None, TypeError, "path: None, expected one path or URL, as str or os.PathLike"),
    ):
        with pytest.raises(error) as raised:
            pb.clean_temp(name)
        assert str(raised.value) == text


class Forgetful:
    """A store that says that there is more, and not from where."""

    def ask_bucket(self, operation, kind, **after):
        return {"Uploads": [{"Key": "a"}], "IsTruncated": True}

    def ask(self, operation, kind, **after):
        return {"Parts": [{"Size": 1}], "IsTruncated": True}


def test_what_a_store_lists_without_saying_where_it_goes_on_is_listed_once():
    assert [upload for upload, _ in s3_adapter._listed(Forgetful(), "a")] == [{"Key": "a"}]
    assert list(s3_adapter._parts(Forgetful(), "upload")) == [{"Size": 1}]


def test_a_store_that_does_not_answer_keeps_no_other_waiting():
    slow, quick = Address.of("s3://slow/a"), Address.of("s3://quick/a")
    asked, answers = [], threading.Event()

    def ignored_in():
        asked.append("slow")
        answers.wait(30)
        return ""

    first = threading.Thread(
        target=replacement.check_conditions, args=(slow, "http://x", ignored_in), daemon=True
    )
    first.start()
    again = threading.Thread(
        target=replacement.check_conditions, args=(slow, "http://x", ignored_in), daemon=True
    )
    again.start()
    other = threading.Thread(
        target=replacement.check_conditions, args=(quick, "http://x", lambda: ""), daemon=True
    )
    other.start()
    other.join(10)
    is_kept = other.is_alive()
    answers.set()
    for each in (first, again, other):
        each.join(10)
    assert (is_kept, asked) == (False, ["slow"])
