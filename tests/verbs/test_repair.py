"""repair without a look at the values: each repair, what stays as it was, what must not be touched."""

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.footers import edited, footer_start, meta_of, pointer, with_meta, without_lengths
from make.repairs import (
    A_DROPPED,
    COLUMNS,
    GROUPS,
    REPAIRS,
    A,
    B,
    S,
    done,
    errors,
    overlapping,
    rules,
    with_length,
    with_offset,
    without_pointers,
)

import parquet_bloom as pb
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.verbs.repair import repair

# ------------------------------------------------------------------------------------------------
# Without the values


@pytest.mark.parametrize(("rule", "make", "expected"), REPAIRS, ids=[each[0] for each in REPAIRS])
def test_only_the_footer_changes(
    sound: bytes, write: Callable[[bytes], Path], rule: str, make: Callable[[bytes], bytes],
    expected: list[tuple[int, str, str]],
) -> None:  # fmt: skip
    broken = make(sound)
    path = write(broken)
    report = repair(path, in_place=True)
    assert (done(report), rules(report), report.left) == (expected, {rule}, ())
    repaired = path.read_bytes()
    assert footer_start(repaired) == footer_start(broken)
    assert repaired[: footer_start(repaired)] == broken[: footer_start(broken)]
    assert without_pointers(repaired) == without_pointers(broken)
    assert report.bytes_added == len(repaired) - len(broken)
    assert errors(path) == set()
    places = {
        (item.row_group, COLUMNS[item.column]): (item.offset, item.length)
        for item in report.repaired
    }
    for key in [(group, column) for group in range(GROUPS) for column in (A, S, B)]:
        assert pointer(repaired, *key) == places.get(key, pointer(broken, *key))


@pytest.mark.parametrize(
    ("rule", "make"), [each[:2] for each in REPAIRS], ids=[m[0] for m in REPAIRS]
)
def test_a_second_repair_has_nothing_to_do(
    sound: bytes, write: Callable[[bytes], Path], rule: str, make: Callable[[bytes], bytes]
) -> None:
    path = write(make(sound))
    repair(path, in_place=True)
    before = os.stat(path)
    report = repair(path, in_place=True)
    after = os.stat(path)
    assert (report.repaired, report.left, report.bytes_added) == ((), (), 0)
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("make", [each[1] for each in REPAIRS], ids=[each[0] for each in REPAIRS])
@pytest.mark.parametrize("options", [{}, {"drop_bad": True}, {"rebuild": True}], ids=str)
def test_a_dry_run_reports_the_same_and_writes_nothing(
    sound: bytes, write: Callable[[bytes], Path], make: Callable[[bytes], bytes],
    options: dict[str, bool],
) -> None:  # fmt: skip
    path = write(make(sound))
    dry = repair(path, dry_run=True, **options)
    assert os.listdir(path.parent) == [path.name]
    real = repair(path, path.with_name("out.parquet"), **options)
    assert replace(dry, seconds=0) == replace(real, seconds=0, output=None, dry_run=True)


def test_lengths_come_back_as_they_were(sound: bytes, write: Callable[[bytes], Path]) -> None:
    path = write(without_lengths(sound))
    assert len(path.read_bytes()) < len(sound)
    repair(path, in_place=True)
    assert path.read_bytes() == sound


def test_a_length_that_covers_the_next_filter_is_its_own_fault(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    """Only the chunk whose length is wrong is repaired, to the bytes of the sound file."""
    path = write(with_length(sound, 1))
    assert "PB106" in errors(path)
    repair(path, in_place=True)
    assert path.read_bytes() == edited(sound, lambda footer: None)


def test_everything_at_once(sound: bytes, write: Callable[[bytes], Path]) -> None:
    broken = with_offset(without_lengths(sound), 1 << 40, 0, A)
    broken = with_meta(broken, 0, S, bloom_filter_length=5)
    broken = with_meta(broken, 0, B, bloom_filter_length=7)
    path = write(broken)
    report = repair(path, in_place=True)
    assert [(item.row_group, item.column, item.action, item.rule) for item in report.repaired] == [
        (0, "a", "pointer dropped", "PB101"),
        (0, "s", "length set", "PB112"),
        (0, "b", "length removed", "PB114"),
        (1, "a", "length set", "PB111"),
        (1, "s", "length set", "PB111"),
    ]
    assert errors(path) == set()


# ------------------------------------------------------------------------------------------------
# Which chunks, which files


def test_only_the_chunks_that_were_asked_for(sound: bytes, write: Callable[[bytes], Path]) -> None:
    path = write(without_lengths(sound))
    assert done(repair(path, dry_run=True, columns=["s"], row_groups=[1])) == [
        (1, "s", "length set")
    ]
    with pytest.raises(pb.ColumnError, match="no column z; the file has"):
        repair(path, dry_run=True, columns=["z"])
    with pytest.raises(pb.ColumnError, match="row group 2"):
        repair(path, dry_run=True, row_groups=[2])


def test_no_length_is_set_that_the_rest_of_the_file_makes_useless(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    """The filter of `s` begins inside that of `a`, which nobody asked to mend."""
    broken = with_length(overlapping(sound), -1, 0, S)
    path = write(broken)
    report = repair(path, in_place=True, columns=["s"])
    assert [(item.column, item.action, item.rule) for item in report.repaired] == [
        ("s", "pointer dropped", "PB106")
    ]


def test_nothing_is_appended_where_another_pointer_leads(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    """What is built again would be taken for the filter of `s`."""
    broken = with_offset(with_offset(sound, 1), footer_start(sound), 0, S)
    path = write(broken)
    assert done(repair(path, dry_run=True, columns=["a"])) == A_DROPPED
    with pytest.raises(
        pb.FooterError,
        match=r"row group 0, column s: filter at \d+, which stays, extends past \d+, where",
    ):
        repair(path, dry_run=True, columns=["a"], rebuild=True)
    assert len(done(repair(path, dry_run=True, rebuild=True))) == 2


def test_a_column_chunk_in_another_file_is_not_ours(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    """As in a _metadata file: the offset leads somewhere in the file that is named."""

    def edit(footer: ttypes.FileMetaData) -> None:
        for row_group in footer.row_groups:
            for chunk in row_group.columns:
                chunk.file_path = "part-0.parquet"

    path = write(edited(with_offset(sound, 1 << 40), edit))
    assert done(repair(path, dry_run=True, rebuild=True)) == []


def lost_row_group(footer: ttypes.FileMetaData) -> None:
    del footer.row_groups[1]


def pages_past_the_end(footer: ttypes.FileMetaData) -> None:
    meta_of(footer, 1, B).total_compressed_size = 1 << 40


def signed(footer: ttypes.FileMetaData) -> None:
    algorithm = ttypes.AesGcmV1(aad_file_unique=b"x")
    footer.encryption_algorithm = ttypes.EncryptionAlgorithm(AES_GCM_V1=algorithm)


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (lost_row_group, "the row groups hold 200 rows, the file 400"),
        (pages_past_the_end, "extend past"),
        (signed, "expected a signature of 28"),
    ],
)
def test_footers_that_must_not_be_touched(
    sound: bytes, write: Callable[[bytes], Path], edit: Callable[[ttypes.FileMetaData], None],
    error: str,
) -> None:  # fmt: skip
    broken = edited(without_lengths(sound), edit)
    path = write(broken)
    assert error in outcome("repair", path, "--in-place").complaint
    assert path.read_bytes() == broken
    assert os.listdir(path.parent) == [path.name]


def test_a_file_that_has_lost_bytes_is_not_made_to_look_sound(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    """Without its filters nobody would see it; what was lost behind the data concerns filters alone."""
    path = write(sound[:100] + sound[1100:])
    found = {each.rule: each for each in pb.validate(path, deep=False).findings}
    assert found["PB116"].message.endswith(" lost bytes, or gained some: take another copy of it")
    assert {each.next for each in found.values()} == {None}
    before = path.read_bytes()
    for rebuild in (False, True):
        refused = r"^\S+: row group \d, column \w: .* lost bytes, or gained some: take another copy of it$"
        with pytest.raises(pb.PageError, match=refused):
            repair(path, in_place=True, rebuild=rebuild)
    with pytest.raises(pb.PageError, match=refused):
        pb.strip(path, in_place=True)
    # Bytes that it gained move all filters, too, but none past the end; without filters, pages alone tell.
    path.write_bytes(sound)
    pb.strip(path, in_place=True)
    bare = path.read_bytes()
    for damaged in (before, *(each[:100] + bytes(1000) + each[100:] for each in (sound, bare))):
        path.write_bytes(damaged)
        with pytest.raises(pb.PageError, match=refused):
            pb.build(path, in_place=True, columns="a", existing="replace")
        with pytest.raises(pb.PageError, match=refused):
            pb.advise(path)
        assert path.read_bytes() == damaged
    behind = min(
        offset for group in range(GROUPS) for column in (A, S, B)
        if (offset := pointer(sound, group, column)[0]) is not None
    )  # fmt: skip
    path = write(sound[:behind] + sound[behind + 3 :])
    assert "PB116" not in {each.rule for each in pb.validate(path, deep=False).findings}
    assert repair(path, in_place=True, rebuild=True).left == ()
    assert errors(path) == set()


@pytest.mark.parametrize(("first", "last"), [(1000, 20_000), (20_000, 1000), (5000, 5000)])
def test_files_without_filters_that_stand_behind_each_other(
    tmp_path: Path, first: int, last: int
) -> None:
    """Whichever is larger; where pages are in the place of others just like them,
    the one in front is the only sign."""
    parts = []
    for rows in (first, last):
        path = tmp_path / f"{rows}.parquet"
        pq.write_table(pa.table({"id": range(rows), "text": [f"v{n}" for n in range(rows)]}), path)
        assert pb.validate(path).findings == ()
        parts.append(path.read_bytes())
    both = tmp_path / "both.parquet"
    both.write_bytes(b"".join(parts))
    (found,) = (each for each in pb.validate(both, deep=False).findings if each.rule == "PB116")
    assert (found.severity, found.next) == ("error", None)
    size = len(parts[0])
    start = f"another file ends at byte {size}, where that of the footer begins: "
    head, tail = f"head -c {size} {both}", f"tail -c +{size + 1} {both}"
    assert found.message == f"{start}`{head}` is the one, `{tail}` the other"
    for command, part in ((head, parts[0]), (tail, parts[1])):
        assert subprocess.run(command.split(), capture_output=True, check=True).stdout == part
    if first == last:
        for change in (
            lambda: pb.build(both, tmp_path / "out", columns="id"),
            lambda: pb.strip(both, tmp_path / "out"),
            lambda: pb.repair(both, tmp_path / "out", rebuild=True),
        ):
            with pytest.raises(pb.PageError, match=re.escape(f"{both}: {start}")):
                change()


@pytest.mark.parametrize("make", [bytes, without_lengths], ids=["as it is", "without lengths"])
def test_a_file_behind_another_is_not_made_to_look_sound(
    tmp_path: Path, make: Callable[[bytes], bytes]
) -> None:
    """Of files of one form, the footer of the last one leads to the pages of the first."""
    first, last, both = (tmp_path / f"{name}.parquet" for name in ("first", "last", "both"))
    for path, start in ((first, 1 << 20), (last, 2 << 20)):
        ids = pa.table({"id": range(start, start + 20_000)})
        pq.write_table(ids, path, compression="none", use_dictionary=False)
    pb.build(last, columns="id", in_place=True)
    size = first.stat().st_size
    data = first.read_bytes() + make(last.read_bytes())
    both.write_bytes(data)
    assert pq.read_table(both) == pq.read_table(first)
    problem = (
        f"another file ends at byte {size}, where that of the footer begins: `head -c {size} {both}` is the one,"
        f" `tail -c +{size + 1} {both}` the other"
    )
    (found,) = (each for each in pb.validate(both).findings if each.rule == "PB116")
    assert (found.message, found.next) == (problem, None)
    change: Callable[..., object]
    for change in (
        repair,
        partial(repair, rebuild=True),
        pb.strip,
        partial(pb.build, columns="id", existing="replace"),
        partial(pb.build, columns="id", existing="replace", layout="append"),
    ):
        with pytest.raises(pb.PageError) as caught:
            change(both, in_place=True)
        place = "" if make is bytes else "row group 0, column id: "
        assert str(caught.value) == f"{both}: {place}{problem}"
        assert both.read_bytes() == data


@pytest.mark.parametrize("put", [b"PAR1PAR1", b"\x04\0\0\0PAR1PAR1"], ids=["bare", "with a length"])
def test_two_magics_do_not_make_two_files(
    sound: bytes, write: Callable[[bytes], Path], put: bytes
) -> None:
    """Where no footer ends, as in the text of another writer."""
    start = footer_start(sound)
    path = write(with_offset(sound[:start] + put + sound[start:], 100))
    repair(path, in_place=True, rebuild=True)
    assert errors(path) == set()


def test_files_of_tables_are_refused_in_place(sound: bytes, write: Callable[[bytes], Path]) -> None:
    path = write(without_lengths(sound))
    (path.parent / "_delta_log").mkdir()
    assert "Delta Lake" in outcome("repair", path, "--in-place").complaint


def test_with_nothing_to_do_an_output_is_a_copy(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    path = write(sound)
    output = path.with_name("out.parquet")
    assert done(repair(path, output, rebuild=True)) == []
    assert output.read_bytes() == sound


def test_with_nothing_to_do_in_place_nothing_is_copied(
    sound: bytes, write: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even to a temporary file, for which there may be no room, or no right."""
    path = write(sound)

    def refuse(*arguments: object) -> None:
        raise PermissionError(arguments)

    monkeypatch.setattr("parquet_bloom.storage.new_version.output_to", refuse)
    report = repair(path, in_place=True, rebuild=True)
    assert (report.output, report.size_after, report.bytes_added) == (None, len(sound), 0)
    with pytest.raises(PermissionError):
        repair(path, path.with_name("out.parquet"))


def test_what_was_written_is_verified(
    sound: bytes, write: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bits of a filter whose length is set must be those of the source."""
    path = write(without_lengths(sound))
    monkeypatch.setattr("parquet_bloom.parquet.edit.repair.bitset_digest", lambda file, stored: 0)
    assert "verification failed" in outcome("repair", path, "--in-place").complaint
    assert path.read_bytes() == without_lengths(sound)
    assert outcome("repair", path, "--in-place", "--no-verify").code == 0


def test_progress_counts_the_filters(sound: bytes, write: Callable[[bytes], Path]) -> None:
    seen: list[tuple[int, int]] = []
    path = write(with_offset(sound, 1))
    repair(path, dry_run=True, rebuild=True, progress=lambda *done: seen.append(done))
    assert seen == [(1, 3), (2, 3), (3, 3), (1, 1)]
