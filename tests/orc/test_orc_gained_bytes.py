"""Files that were put behind others, or into which bytes were put: nobody may be led to lose any of them."""

import re
import subprocess
from functools import partial

import pyarrow as pa
import pytest
from pyarrow import orc

import parquet_bloom as pb


def written(path, start, rows=20_000):
    """Of one form, whatever the start: all stripes are at the same places."""
    ids = pa.table({"id": [f"{start + row:09}" for row in range(rows)]})
    orc.write_table(ids, path, compression="uncompressed")
    pb.build(path, columns="id", in_place=True)
    return path.read_bytes()


def refused(path, message):
    data = path.read_bytes()
    for change in (
        pb.strip,
        pb.repair,
        partial(pb.repair, rebuild=True),
        partial(pb.build, columns="id"),
        partial(pb.build, columns="id", existing="replace"),
    ):
        with pytest.raises(pb.FooterError, match=f"^{re.escape(f'{path}: {message}')}$"):
            change(path, in_place=True)
        assert path.read_bytes() == data


@pytest.mark.parametrize("rows", [20_000, 70_000], ids=["of one form", "of another form"])
def test_a_file_behind_another_is_not_lost(tmp_path, rows):
    """Readers find stripes of the first where those of the second should be, or nothing that is one."""
    first, last = written(tmp_path / "1.orc", 0, rows), written(tmp_path / "2.orc", 1 << 20)
    both = tmp_path / "both.orc"
    both.write_bytes(first + last)
    head, tail = f"head -c {len(first)} {both}", f"tail -c +{len(first) + 1} {both}"
    message = f"another file ends at byte {len(first)}, where that of the footer begins: `{head}` is the one, `{tail}` the other"
    for command, part in ((head, first), (tail, last)):
        assert subprocess.run(command.split(), capture_output=True, check=True).stdout == part
    refused(both, message)
    if rows == 20_000:
        (found,) = pb.validate(both).findings
        assert (found.rule, found.message, found.next) == ("PB612", message, None)
        report = pb.probe(both, "id", [f"{1 << 20:09}"])
        assert [(each.verdict, each.groups[0].reason) for each in report.results] == [
            ("unknown", message)
        ]
    else:
        with pytest.raises(pb.FooterError, match=re.escape(message)):
            pb.validate(both)


@pytest.mark.parametrize("at", [1000, -800], ids=["in a stripe", "in front of the tail"])
def test_a_file_that_has_gained_bytes_is_refused(tmp_path, at):
    path = tmp_path / "a.orc"
    data = written(path, 0)
    path.write_bytes(data[:at] + 17 * b"x" + data[at:])
    message = "footer: 17 bytes between the stripes and the tail: the file has lost bytes, or gained some: take another copy of it"
    refused(path, message)
