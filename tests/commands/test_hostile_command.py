"""The command among users, shells and names: signals, closed pipes, and what paints a terminal."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import missing
from make.commands import PATIENCE_SECONDS, Outcome, build_refused, files_in, outcome, verdicts
from make.footers import edited
from make.hostile_files import ABSENT_VALUE
from make.pages import HONEST
from make.parquet_files import Column, forge

import parquet_bloom as pb
from parquet_bloom.errors import quoted_name
from parquet_bloom.options import names_in
from parquet_bloom.parquet.thrift import ttypes

ROWS = 4


def test_one_bad_file_among_good_ones(tmp_path: Path, plain: bytes, expected: bytes) -> None:
    for name, data in (("a", plain), ("b", plain[:-3]), ("c", plain)):
        (tmp_path / f"{name}.parquet").write_bytes(data)
    result = outcome("build", tmp_path / "*.parquet", "-c", "a", "--in-place")
    assert result.code == 2
    assert result.complaint.startswith(f"{tmp_path}/b.parquet: ")
    assert files_in(tmp_path) == {
        "a.parquet": expected, "b.parquet": plain[:-3], "c.parquet": expected,
    }  # fmt: skip


def test_a_glob_without_files_among_good_ones(source: Path) -> None:
    result = outcome("inspect", source.parent / "none*.parquet", source, source.parent / "no")
    assert result.code == 2
    assert str(source) in result.stdout
    assert len(result.stderr.splitlines()) == 2


def test_a_glob_that_matches_folders(source: Path) -> None:
    """Spark writes folders named `x.parquet`: the same answer quoted and unquoted."""
    folder = source.parent / "table.parquet"
    folder.mkdir()
    shutil.copy(source, folder / "part-0.parquet")
    result = outcome("inspect", source.parent / "t*.parquet")
    assert result.code == 0, result
    assert str(folder / "part-0.parquet") in result.stdout


def test_files_with_other_schemas(source: Path, plain: bytes) -> None:
    """A literal that one file's column cannot hold: that file is named, the others answer."""
    text = source.with_name("text.parquet")
    pq.write_table(pa.table({"a": ["x"]}), text)
    result = outcome("probe", source, text, "-c", "a", "-v", "x")
    assert result.code == 2
    assert result.complaint.startswith(f"{source}: ")
    assert str(text) in result.stdout


def _closing(*arguments: object, lines: int) -> tuple[int, str]:
    """Read so many lines of stdout and close it; exit code and stderr."""
    process = subprocess.Popen(
        [sys.executable, "-m", "parquet_bloom", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    for _ in range(lines):
        process.stdout.readline()
    process.stdout.close()
    complaints = process.stderr.read()
    process.stderr.close()
    return process.wait(), complaints


@pytest.mark.parametrize("lines", [0, 1])
def test_a_reader_that_has_seen_enough(tmp_path: Path, filtered: bytes, lines: int) -> None:
    """`pbloom inspect … | head -1`: nobody wants to hear of it, and it is no `absent` either."""
    for number in range(100):
        (tmp_path / f"{number}.parquet").write_bytes(filtered)
    code, complaints = _closing("inspect", tmp_path, lines=lines)
    assert complaints == ""
    assert code != 1


@pytest.mark.parametrize(
    "asked", [("help", "build"), ("spark", "build", "--help"), ("--version",), ("--help",)]
)
def test_help_that_nobody_reads(asked: tuple[str, ...]) -> None:
    assert _closing(*asked, lines=0) == (128 + signal.SIGPIPE, "")


def test_standard_output_that_is_full(source: Path) -> None:
    if not Path("/dev/full").exists():
        missing("/dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "parquet_bloom", "inspect", source],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert Outcome(done.returncode, "", done.stderr).complaint == (
        f"standard output: {os.strerror(errno.ENOSPC)}"
    )
    assert done.returncode == 2


# DEL, C1, the ends of lines that are none in ASCII, and what changes the direction of text.
OBEYED = "\x7f\x80\x85\x9b\u200e\u2028\u2029\u202a\u202e\u2066\u2069"


@pytest.mark.parametrize("output_format", ["json", "sarif", "github", "text", "junit"])
def test_what_a_terminal_obeys_is_escaped_in_every_format(
    tmp_path: Path, output_format: str
) -> None:
    path = tmp_path / f"a{OBEYED}ü€.parquet"
    pq.write_table(pa.table({f"b{OBEYED}": ["x"]}), path)
    ran = outcome("validate", path, "--require", f"b{OBEYED}", "--format", output_format)
    assert ran.code == 1
    assert not set(ran.stdout) & set(OBEYED)
    assert "ü€" in ran.stdout or output_format == "sarif"
    if output_format == "json":
        found = json.loads(ran.stdout)
        assert (found["path"], found["findings"][0]["column"]) == (str(path), f"b{OBEYED}")


@pytest.mark.parametrize(("closed", "code"), [(">&-", 2), ("2>&-", 0), (">&- 2>&-", 2)])
def test_outputs_that_are_closed(source: Path, closed: str, code: int) -> None:
    """Never 1: nothing is wrong with the file."""
    program = f'"$0" -m parquet_bloom validate "$1" {closed}'
    done = subprocess.run(
        ["sh", "-c", program, sys.executable, source], capture_output=True, check=False
    )
    assert done.returncode == code


def test_standard_output_that_is_closed(source: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$0" -m parquet_bloom inspect "$1" >&-', sys.executable, source],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert Outcome(done.returncode, "", done.stderr).complaint


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted(source: Path, plain: bytes, number: int) -> None:
    """A signal in the middle of a build: no temporary file, and the exit code of the signal."""
    program = (
        "import os, signal, time\n"
        "from parquet_bloom.cli import main\n"
        "from parquet_bloom.storage import local_output\n"
        "copy = local_output.copy_range\n"
        "signalled, wake = os.pipe()\n"
        "os.set_blocking(wake, False)\n"
        "signal.set_wakeup_fd(wake)\n"
        "def slow(*arguments):\n"
        "    print('copying', flush=True)\n"
        "    os.read(signalled, 1)\n"
        # For the main thread to hear of it.
        "    time.sleep(1)\n"
        "    return copy(*arguments)\n"
        "local_output.copy_range = slow\n"
        "main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, "build", source, "-c", "a", "--in-place", "--threads", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "copying\n"
    assert len(os.listdir(source.parent)) == 2
    process.send_signal(number)
    _, complaints = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode in (128 + number, -number)
    assert "Traceback" not in complaints
    assert files_in(source.parent) == {source.name: plain}


NAMES = [
    b"caf\xc3\xa9.parquet", b"\xff\xfe.parquet", b"new\nline.parquet", b"tab\t.parquet",
    b"[x].parquet", b"a*b?.parquet", b"part:1.parquet", b"s3:x.parquet", b"2024-01-01T10:00.parquet",
    b"a%20b#c?d.parquet", b"-c.parquet", b" .parquet",
]  # fmt: skip


def test_names_of_files(tmp_path: Path, plain: bytes, expected: bytes) -> None:
    """All of them in one command each, and each shown by itself."""
    paths = [os.fsencode(tmp_path) + b"/" + name for name in NAMES]
    for path in paths:
        with open(path, "wb") as file:
            file.write(plain)
    built, document, groups = (
        _in_folder(tmp_path, *arguments, b"--", *NAMES)
        for arguments in (
            (b"build", b"-c", b"a", b"--in-place"),
            (b"inspect", b"--json"),
            (b"probe", b"-c", b"a", b"-v", b"7", b"--groups-to-read"),
        )
    )
    shown = [_in_folder(tmp_path, b"inspect", b"--", name) for name in NAMES]
    done = [built, document, groups, *shown]
    assert [(item.returncode, item.stderr) for item in done] == [(0, b"")] * len(done)
    for path in paths:
        with open(path, "rb") as file:
            assert file.read() == expected
    documents = [json.loads(line) for line in document.stdout.splitlines()]
    assert [each["num_rows"] for each in documents] == [ROWS] * len(NAMES)
    assert groups.stdout.count(b"\n") == len(NAMES)
    assert len({item.stdout.count(b"\n") for item in shown}) == 1


def _in_folder(folder: Path, *arguments: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [os.fsencode(sys.executable), b"-m", b"parquet_bloom", *arguments],
        cwd=folder, capture_output=True, check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
    )  # fmt: skip


COLUMN_NAMES = [
    "",
    "a.b",
    "ü",
    "名前",
    "new\nline",
    "tab\t",
    "a,b",
    " ",
    "\x1b[31mred",
    '"',
    "x" * 5000,
]


@pytest.mark.parametrize("name", COLUMN_NAMES, ids=range(len(COLUMN_NAMES)))
def test_names_of_columns(write: Callable[[bytes], Path], name: str) -> None:
    path = write(forge(Column([HONEST], 3, name=name), Column([HONEST], 3, name="other")))
    pb.build(path, in_place=True, columns=[name])
    assert verdicts(path, name, 2) == ["maybe"]
    shown = outcome("inspect", path)
    assert shown.code == 0
    assert len(shown.stdout.splitlines()) == 4
    assert "\x1b" not in shown.stdout
    assert (
        json.loads(outcome("inspect", path, "--json").stdout)["row_groups"][0]["columns"][0][
            "column"
        ]
        == name
    )
    typed = '"' + name.replace('"', '""') + '"'
    assert outcome("probe", path, "-c", typed, "-v", "2").code == 0
    assert outcome("probe", path, "-c", typed, "-v", str(ABSENT_VALUE)).code == 1
    if not name:
        # Rather an unset variable than a column.
        refused = outcome("probe", path, "-c", name, "-v", "2")
        assert (refused.code, refused.complaint) == (
            2,
            "--column: an empty name, expected a leaf column, or '\"\"' for one that is called so",
        )
        return
    assert outcome("dump", path, "-c", typed).code == 0
    # Of several names that are quoted where they have to be, each is itself.
    assert names_in(f"{quoted_name(name)},other") == [name, "other"]


def test_names_that_need_quotes_are_shown_so(write: Callable[[bytes], Path]) -> None:
    names = ("a,b", "", "x\ny", "it's,so", "tab\tname")
    path = write(forge(*(Column([HONEST], 3, name=name) for name in names)))
    several = path.with_name("several.parquet")
    several.write_bytes(
        forge(*(Column([HONEST], 3, name=name) for name in ("a", "c", "e", "wok", "email, work")))
    )
    for typed, quoted in (
        ("a,b", "'\"a,b\"'"),
        ("it's,so", """'"it'"'"'s,so"'"""),
        ("tabname", r"$'tab\tname'"),
        ("xy", """$'"x\\ny"'"""),
    ):
        for verb in (("inspect",), ("probe", "-v", "2"), ("build", "--in-place")):
            refused = outcome(*verb, path, "-c", typed)
            first = refused.stderr.splitlines()[0]
            assert first.endswith(f": no column {typed.split(',')[0]}; did you mean {quoted}?")
    assert outcome("inspect", path, "-c", "zz").complaint.endswith(
        """: no column zz; the file has "a,b", "", "x\\ny", "it's,so", tab\\tname"""
    )
    with pytest.raises(pb.ColumnError, match=r'no column b; did you mean "a,b"\?$'):
        pb.inspect(path, columns=["b"])
    with pytest.raises(pb.ColumnError, match=r'"a,c, e"; did you mean \["a", "c", "e"\]\?$'):
        pb.inspect(several, columns="a,c, e")
    for typed, meant in (('"a,c,e"', "a,c,e"), ("work", """'"email, work"'""")):
        refused = outcome("inspect", several, "-c", typed)
        assert refused.complaint.endswith(f"; did you mean {meant}?")
    assert outcome("build", path, "-c", '"","x\ny"', "--in-place").code == 0
    _, _, *rows, others = outcome("inspect", path).stdout.splitlines()
    assert [row.split("\t")[1] for row in rows] == ['""', "x\\ny"]
    assert others == """"a,b", "it's,so", tab\\tname: no filter"""
    assert outcome("probe", path, "-c", "x\ny", "-v", "2").code == 0


@pytest.mark.parametrize(
    ("names", "typed", "meant"),
    [
        (("my col",), "my", "'my col'"),
        (("x;y",), "x", "'x;y'"),
        (("tab\tname", "a", "b"), "tab", "$'tab\\tname', b, a"),
        (("größe",), "grösse", "größe"),
        (("user.id", "user-id"), "user_id", "user.id, user-id"),
    ],
)
def test_columns_that_were_meant_are_quoted_one_by_one(tmp_path, names, typed, meant):
    pq.write_table(pa.table({name: [1] for name in names}), tmp_path / "a.parquet")
    refused = outcome("inspect", tmp_path / "a.parquet", "-c", typed)
    assert refused.complaint.endswith(f": no column {typed}; did you mean {meant}?")


def test_a_column_name_with_a_comma_can_be_built(write: Callable[[bytes], Path]) -> None:
    path = write(forge(Column([HONEST], 3, name="a,b")))
    assert outcome("build", path, "-c", '"a,b"', "--in-place").code == 0
    assert verdicts(path, "a,b", 2) == ["maybe"]


def test_two_columns_of_one_name(write: Callable[[bytes], Path]) -> None:
    path = write(forge(Column([HONEST], 3), Column([HONEST], 3)))
    assert "2 leaf columns" in build_refused(path)
    assert outcome("inspect", path).code == 0
    assert "2 leaf columns" in outcome("probe", path, "-c", "a", "-v", "1").complaint


def test_a_writer_that_paints_the_terminal(write: Callable[[bytes], Path], plain: bytes) -> None:
    """created_by goes to a terminal: escapes, line breaks and turned text stay out of it."""

    def paint(footer: ttypes.FileMetaData) -> None:
        footer.created_by = "\x1b]0;owned\x07\nPAR1 \u202egnp.\u2066"

    result = outcome("inspect", write(edited(plain, paint)))
    assert "\x1b" not in result.stdout
    assert "\nPAR1" not in result.stdout
    assert "PAR1 \\u202egnp.\\u2066" in result.stdout


@pytest.mark.parametrize(
    "options",
    [
        ("--fpp", "nan"), ("--fpp", "1e-400"), ("--fpp", "0"), ("--ndv", "0"), ("--ndv", "-1"),
        ("--ndv", "9" * 400), ("--max-bytes", "0"), ("--max-bytes", "²"), ("--max-bytes", "-5"),
        ("--max-bytes", "1GiB"), ("--threads", "0"), ("-g", "99"), ("-g", "-1"), ("-g", "9" * 30),
        ("-c", "b"), ("--existing", "never"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense(source: Path, plain: bytes, options: tuple[str, str]) -> None:
    output = source.with_name("out.parquet")
    result = outcome("build", source, "-c", "a", "-o", output, *options)
    assert result.code == 2, result
    assert "internal error" not in result.stderr
    assert files_in(source.parent) == {source.name: plain}


def test_the_smallest_fpp(source: Path) -> None:
    result = outcome("build", source, "-c", "a", "--fpp", "1e-300", "--in-place")
    assert result.code == 0
    assert verdicts(source, "a", 7)[0] in ("maybe", "unknown")


@pytest.mark.parametrize(
    "option",
    [
        *(("build", "--fpp", "0.٣"), ("build", "--ndv", "٣"), ("build", "--max-bytes", "٣KiB")),
        *(("advise", "--budget", "٣%"), ("advise", "--budget", "1.٣KiB"), ("advise", "-g", "٣")),
        *(
            ("inspect", "--since", "٣d"),
            ("inspect", "--threads", "٣"),
            ("inspect", "--shard", "٣/٣"),
        ),
    ],
    ids=" ".join,
)
def test_numbers_have_the_digits_of_ascii(
    write: Callable[[bytes], Path], option: tuple[str, str, str]
) -> None:
    """Others are taken for what they are in no other tool."""
    verb, name, number = option
    path = write(forge(Column([HONEST], 3)))
    refused = outcome(verb, path, name, number)
    assert refused.code == 2
    assert f"'{number}': " in refused.complaint
    assert "expected" in refused.complaint


@pytest.mark.parametrize("text", [",", "", "a,", ",a"])
@pytest.mark.parametrize(
    ("verb", "option", "expected"),
    [
        ("advise", "--engine", "an engine, such as spark"),
        ("validate", "--ignore", "a rule, such as PB302"),
    ],
)
def test_an_empty_name_is_refused_as_what_it_should_be(
    write: Callable[[bytes], Path], verb: str, option: str, expected: str, text: str
) -> None:
    refused = outcome(verb, write(forge(Column([HONEST], 3))), option, text)
    assert refused.code == 2
    assert refused.complaint == f"{option}: an empty name, expected {expected}"
