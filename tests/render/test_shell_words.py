"""Names in commands that are shown, followed by a shell."""

import shlex
import subprocess

import pytest

from parquet_bloom.errors import quoted_name
from parquet_bloom.render.report import visible
from parquet_bloom.render.shell_words import in_short
from parquet_bloom.render.terminal import printable


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("tab\tname", r"$'tab\tname'"),
        ("a\nb\\n c", r"$'a\nb\\n c'"),
        ("it's\r\x1b7", """'it'"'"$'s\\r\\0337'"""),
        ("\udcff\x859 é", r"$'\377\u00859 é'"),
        ("it's\\n d", """'it'"'"'s\\n d'"""),
        ("plain", "plain"),
    ],
)
def test_what_is_shown_is_what_is_meant(name, shown):
    command = shlex.join(["pbloom", "build", name])
    assert printable(f"a\tb; next: {command}") == f"a\\tb; next: pbloom build {shown}"
    assert printable(f"did you mean {shlex.quote(name)}?") == f"did you mean {shown}?"
    assert visible(command) == f"pbloom build {shown}"
    script = f"printf %s {shown}"
    ran = subprocess.run(
        ["bash", "-c", script], check=True, capture_output=True, env={"LC_ALL": "C.UTF-8"}
    )
    assert ran.stdout == name.encode(errors="surrogateescape")


def test_of_very_many_columns_in_a_command_people_see_the_first():
    names = ["it's", "a,b", *(f"column_{number:03}" for number in range(100))]
    listed = ",".join(map(quoted_name, names))
    command = shlex.join(["pbloom", "build", "it's.parquet", "-c", listed, "--fpp", "0.1"])
    short = (
        """next: pbloom build 'it'"'"'s.parquet' -c it's,"a,b","""
        f"{','.join(names[2:10])},… (102 columns: a pipe shows all) --fpp 0.1"
    )
    said = f"100 errors; next: {command}; next: {command}"
    assert in_short(said, "a pipe shows all") == f"100 errors; {short}; {short}"
    few = shlex.join(
        ["pbloom", "build", "FILE", "-c", ",".join(f"{'c' * 200}{n}" for n in range(10))]
    )
    prose = f"{'a column -c a,b; ' * 100}of the file"
    for whole in (f"next: {command[:900]}", f"next: {few}", prose):
        assert in_short(whole, "a pipe shows all") == whole


def test_prose_is_not_for_a_shell():
    assert printable("column 'a\tb': no filter") == r"column 'a\tb': no filter"


def test_what_cannot_be_seen_is_escaped():
    """All format characters, in names as in commands."""
    unseen = "\u00ad \u200b \u200d \u202e \u2060 \ufeff \U000e0041 \u2028"
    assert printable(f"a{unseen}b 数é") == (
        r"a\xad \u200b \u200d \u202e \u2060 \ufeff \U000e0041 \u2028b 数é"
    )
    assert visible(unseen) == printable(unseen)
