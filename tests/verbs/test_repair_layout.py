"""repair in the place of the old footer, or behind the file: both give the same filters."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from make.commands import outcome
from make.filters import filter_header, with_filter_bytes
from make.footers import footer_start, with_meta
from make.repairs import S, cleared, done, errors, into_footer, with_length
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.errors import FooterError, UnsupportedError

Write = Callable[[bytes], Path]

BROKEN = {
    "length": lambda data: with_length(data, 1),
    "dropped": cleared,
    "into the footer": into_footer,
}


@pytest.mark.parametrize("rebuild", [False, True])
@pytest.mark.parametrize("broken", BROKEN)
def test_the_old_file_stays_whole(
    sound: bytes, write: Write, tmp_path: Path, broken: str, rebuild: bool
) -> None:
    path = write(BROKEN[broken](sound))
    old = path.read_bytes()
    reports = {
        layout: pb.repair(path, tmp_path / layout, layout=layout, rebuild=rebuild)
        for layout in ("append", "replace")
    }
    assert done(reports["append"]) == done(reports["replace"]) != []
    appended, replaced = (tmp_path / layout for layout in ("append", "replace"))
    assert appended.read_bytes()[: len(old)] == old
    assert replaced.read_bytes()[: len(old)] != old
    assert errors(appended) == errors(replaced) == set()
    values = list(range(50))
    found = [pb.probe(each, "a", values).results for each in (appended, replaced)]
    assert found[0] == found[1]
    # In place of the footer unless it is said otherwise.
    usual = pb.repair(path, tmp_path / "usual", rebuild=rebuild)
    assert usual.size_after == reports["replace"].size_after
    assert (tmp_path / "usual").read_bytes() == replaced.read_bytes()


def test_strip_gives_back_the_file_before_a_repair(sound: bytes, write: Write) -> None:
    path = write(sound)
    pb.strip(path, path.with_name("plain"))
    plain = path.with_name("plain").read_bytes()
    pb.build(path.with_name("plain"), path, columns=["a", "s"], layout="append", overwrite=True)
    appended = path.read_bytes()
    path.write_bytes(with_length(appended, 1))
    report = pb.repair(path, in_place=True, layout="append")
    assert done(report) == [(0, "a", "length set")]
    assert path.read_bytes()[: len(appended)] == with_length(appended, 1)
    assert pb.inspect(path).earlier_ends == (len(plain), len(appended))
    pb.strip(path, in_place=True)
    assert path.read_bytes() == plain


def test_nothing_to_repair_appends_nothing(sound: bytes, write: Write) -> None:
    path = write(sound)
    assert pb.repair(path, in_place=True, layout="append").bytes_added == 0
    assert path.read_bytes() == sound


def behind_the_data(data: bytes) -> bytes:
    """The last filter, of `s`, has no length, and a header that says that it takes 64 bytes of the
    footer, too. `a` has a wrong length."""
    start = footer_start(data)
    header = filter_header(64 + 64)
    changed = with_filter_bytes(data, 1, S, header + b"\x01" * 64)
    assert footer_start(changed) == start + len(header) + 64
    return with_length(with_meta(changed, 1, S, bloom_filter_length=None), 1)


def test_a_filter_that_reaches_into_the_footer_does_not_become_whole(
    sound: bytes, write: Write
) -> None:
    """Behind a footer that stays, 64 of its bytes would be bits."""
    path = write(behind_the_data(sound))
    assert pb.probe(path, "s", ["value 1"]).results[0].verdicts[1] == "unknown"
    before = path.read_bytes()
    problem = (
        r"column s: filter at \d+ extends to \d+, past \d+, where the data ends: repair it first"
    )
    for change in (
        lambda: pb.repair(path, in_place=True, layout="append", columns=["a"]),
        lambda: pb.build(path, in_place=True, layout="append", columns=["f"]),
        lambda: pb.build(path, append_in_place=True, columns=["f"]),
    ):
        with pytest.raises(FooterError, match=problem):
            change()
        assert path.read_bytes() == before
    report = pb.repair(path, in_place=True, layout="append")
    assert {(1, "s", "pointer dropped")} <= set(done(report))
    assert errors(path) == set()


def test_orc_has_no_layout(tmp_path: Path) -> None:
    orc.write_table(pa.table({"i": range(10)}), tmp_path / "a.orc")
    with pytest.raises(UnsupportedError, match=r"layout is not supported for an ORC file$"):
        pb.repair(tmp_path / "a.orc", in_place=True, layout="append")
    run = outcome("repair", str(tmp_path / "a.orc"), "--in-place", "--layout", "replace")
    assert (run.code, run.complaint) == (
        2,
        f"{tmp_path / 'a.orc'}: --layout is not supported for an ORC file",
    )


def test_no_other_word_is_taken(sound: bytes, write: Write) -> None:
    with pytest.raises(ValueError, match=r"^layout: prepend, expected replace, append$"):
        pb.repair(write(sound), in_place=True, layout="prepend")


def test_the_command_appends(sound: bytes, write: Write) -> None:
    path = write(cleared(sound))
    run = outcome("repair", str(path), "--in-place", "--layout", "append")
    assert run.code == 0
    assert path.read_bytes().startswith(cleared(sound))
    assert errors(path) == set()
