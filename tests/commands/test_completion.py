"""`pbloom completion`: the script, and what it asks of the command."""

import os
import shlex
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import IS_LONG, missing
from make.commands import outcome
from make.shells import Shell
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.commands.completion import MENDED
from parquet_bloom.errors import quoted_name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where events.parquet and events.orc are, with columns of every sort of name."""
    monkeypatch.chdir(tmp_path)
    table = pa.table({"user_id": [1], "user name": ["a"], "day": [2], "a,b": [3]})
    pq.write_table(table, "events.parquet")
    orc.write_table(table.select(["user_id", "day"]), "events.orc")
    return tmp_path


def completed(*words):
    """The words that the last one can become, as zsh is told."""
    run = subprocess.run(
        [sys.executable, "-m", "parquet_bloom"],
        env=os.environ
        | {
            "_PBLOOM_COMPLETE": "zsh_complete",
            "COMP_WORDS": shlex.join(["pbloom", *words]),
            "COMP_CWORD": str(len(words)),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == ""
    lines = run.stdout.split("\n")
    return [f"{kind},{name}" for kind, name in zip(lines[::3], lines[1::3], strict=False) if kind]


def test_commands(folder):
    assert completed("in") == ["plain,inspect", "plain,index"]
    assert completed("spark", "cl") == ["plain,clean-temp"]
    assert completed("help", "in") == completed("in")
    assert completed("help", "index", "bu") == ["plain,build"]


def described(*words):
    """What fish shows beside the last word, if it can become only one."""
    run = subprocess.run(
        [sys.executable, "-m", "parquet_bloom"],
        env=os.environ
        | {
            "_PBLOOM_COMPLETE": "fish_complete",
            "COMP_WORDS": " ".join(["pbloom", *words]),
            "COMP_CWORD": words[-1],
        },
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = run.stdout.splitlines()
    return line.partition("\t")[2]


def test_what_commands_do_is_not_cut_short(folder):
    assert described("cl") == "Remove temporary files that killed runs have left"
    assert described("index", "add") == (
        "Bring an index up to date: add what is new or has changed, forget what is gone"
    )
    assert described("spark", "clean") == "Remove temporary files that killed attempts have left"


def test_options_and_their_words(folder):
    assert completed("validate", "--fa") == ["plain,--fail-on"]
    assert completed("validate", "--fail-on", "n") == ["plain,note", "plain,never"]


def test_rules():
    assert completed("rule", "PB31") == ["plain,PB310", "plain,PB311", "plain,PB312", "plain,PB313"]
    assert completed("rule", "required-m") == ["plain,required-missing"]
    assert "plain,required-missing" not in completed("rule", "")
    assert completed("validate", "--ignore", "PB302,PB31") == [
        f"plain,PB302,PB31{digit}" for digit in range(4)
    ]
    assert completed("validate", "--ignore", "PB310,PB31")[0] == "plain,PB310,PB311"
    assert completed("validate", "--ignore", "PB302,sat") == ["plain,PB302,saturated"]


def test_engines():
    assert completed("advise", "a.parquet", "--engine", "duckdb,s") == ["plain,duckdb,spark"]


def test_files_are_left_to_the_shell(folder):
    assert completed("inspect", "ev") == ["file,ev"]
    assert completed("build", "events.parquet", "-o", "ev") == ["file,ev"]
    assert completed("spark", "inspect", "ev") == ["file,ev"]


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["events.parquet", "events.orc"])
@pytest.mark.parametrize("command", ["probe", "dump", "build", "advise"])
def test_columns_of_the_file(folder, name, command):
    assert completed(command, name, "-c", "us")[0] == "plain,user_id"
    assert completed(command, name, "-c", "d") == ["plain,day"]


def test_columns_after_a_comma_and_with_one(folder):
    assert completed("build", "events.parquet", "-c", "day,user_") == ["plain,day,user_id"]
    assert completed("build", "events.parquet", "-c", "day,") == [
        'plain,day,user_id', 'plain,day,user name', 'plain,day,"a,b"',
    ]  # fmt: skip
    assert completed("build", "events.parquet", "-c", "a") == ['plain,"a,b"']
    assert completed("dump", "events.parquet", "-c", "a") == ['plain,"a,b"']


def test_columns_of_other_options(folder):
    assert completed("validate", "events.parquet", "--require", "us") == [
        "plain,user_id",
        "plain,user name",
    ]
    table = pa.table({"who": [{"id": 1, "name": "a"}], "when": [2]})
    pq.write_table(table, "nested.parquet")
    asked = ("find", "nested.parquet", "-c", "when", "--columns")
    assert completed(*asked, "w") == ["plain,who", "plain,when"]
    assert completed(*asked, "when,who") == ["plain,when,who"]


def test_columns_of_an_index(folder):
    pb.Index.build("ix", "events.parquet", columns=["user_id", "day"])
    assert completed("index", "probe", "--index", "ix", "-c", "") == ["plain,user_id", "plain,day"]
    assert completed("find", "--index", "ix", "-c", "d") == ["plain,day"]


def test_columns_of_the_first_file_of_a_folder(folder):
    assert completed("probe", ".", "-c", "d") == ["plain,day"]
    (folder / "lake" / "day=1").mkdir(parents=True)
    (folder / "lake" / "day=0").mkdir()
    assert completed("probe", "lake", "-c", "d") == []
    (folder / "events.orc").rename(folder / "lake" / "day=1" / "a.orc")
    (folder / "lake" / "a.parquet").symlink_to("nowhere")
    assert completed("probe", "lake", "-c", "us") == ["plain,user_id"]


def test_cases():
    groups = ["plain,unknown", "plain,unknown/algorithm", "plain,unknown/hash"]
    assert completed("conformance", "read", "--case", "unk") == [
        *groups,
        "plain,unknown/compression",
    ]
    assert completed("conformance", "write", "--case", "few-") == ["plain,few-texts"]
    assert completed("conformance", "read", "--case", "few-") == []
    assert completed("conformance", "list", "unknown/h") == ["plain,unknown/hash"]
    assert described("conformance", "list", "unknown/h") == "filters of an unknown hash"


def test_what_cannot_be_read_completes_nothing(folder):
    (folder / "bad.parquet").write_bytes(b"PAR1")
    for name in ("bad.parquet", "nothing.parquet", "s3://bucket/a.parquet"):
        assert completed("probe", name, "-c", "u") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script(shell):
    result = outcome("completion", shell)
    assert (result.code, result.stderr) == (0, "")
    assert f"_PBLOOM_COMPLETE={shell}_complete" in result.stdout
    by_click = subprocess.run(
        [sys.executable, "-m", "parquet_bloom"],
        env=os.environ | {"_PBLOOM_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=True,
    )
    script = result.stdout
    for text, instead in reversed(MENDED.get(shell, {}).items()):
        assert script.count(instead) == 1
        script = script.replace(instead, text)
    assert script == by_click.stdout


# Most of them would do something if a shell took them for more than a name, in one kind of quotes or without any.
NAMES = (
    "my col", "x;touch HACKED", "it's", '!z;touch HACKED;!', "g`touch HACKED`", "j\\';touch HACKED;'",
    "h$(touch HACKED)", "cost$usd", 'quo"te', "back\\slash", "(par)", "a&b", "#3", "*", "~root", "k=v", "l:m",
    "{n..o}", "u' ;touch HACKED;'", "f|g", "y>HACKED", "<p", "€r", "ü;touch HACKED",
)  # fmt: skip
# What shells are told on lines of their own.
UNTYPED = ("tab\tx;touch HACKED", "new\n;touch HACKED\n", "plain\nnew\n_", "")


@pytest.fixture
def shell(request, tmp_path):
    """Where m.parquet is, with columns of all these names, and another first."""
    if shutil.which(request.param) is None:
        missing(request.param)
    table = pa.table({name: [1] for name in (*NAMES, *UNTYPED, "day", "dusk,dawn")})
    pq.write_table(table, tmp_path / "m.parquet")
    with Shell(request.param, tmp_path) as shell:
        yield shell


in_shells = pytest.mark.parametrize("shell", ["bash", "zsh", "fish"], indirect=True)


@in_shells
def test_a_shell_takes_a_name_for_nothing_else(shell, tmp_path):
    for name in NAMES if IS_LONG else NAMES[:6]:
        # One is open behind a pair.
        for opening in [each for each in ("", "'", '"') if each != name[0]]:
            typed = name[0] if opening or name[0].isalnum() else f"\\{name[0]}"
            words = shell.words(f"pbloom dump m.parquet -c {opening}{typed}\t")
            assert words == ["dump", "m.parquet", "-c", quoted_name(name)], (name, opening)
    odd = tmp_path / "odd;touch HACKED;file"
    odd.touch()
    assert shell.words("pbloom inspect od\t") == ["inspect", odd.name]
    for name in UNTYPED[:2]:
        assert shell.words(f"pbloom dump m.parquet -c {name[0]}\t")[-1] == name[0]
    assert not (tmp_path / "HACKED").exists()


@in_shells
def test_a_shell_completes_commands_options_and_what_follows_an_equals_sign(shell):
    for line, words in (
        ("va\t m.parquet", ["validate", "m.parquet"]),
        ("validate --fail\tnev\t", ["validate", "--fail-on", "never"]),
        ("validate --format=te\t", ["validate", "--format=text"]),
        ("inspect m.par\t", ["inspect", "m.parquet"]),
        ("build m.parquet --column=my\t", ["build", "m.parquet", "--column=my col"]),
        ("build m.parquet --column='my\t", ["build", "m.parquet", "--column=my col"]),
        ("build m.parquet -c my\\ c\t", ["build", "m.parquet", "-c", "my col"]),
        ("build m.parquet -c day,my\t", ["build", "m.parquet", "-c", "day,my col"]),
        ("build m.parquet -c l:\t", ["build", "m.parquet", "-c", "l:m"]),
        # Two begin so, of which one needs quotes: nothing that was typed goes.
        ("build m.parquet -c d\t", ["build", "m.parquet", "-c", "day"]),
        ("build m.parquet -c du\t", ["build", "m.parquet", "-c", '"dusk,dawn"']),
    ):
        assert shell.words(f"pbloom {line}") == words


def test_bash_is_told_nothing_in_quotes_that_it_does_not_see():
    asked = {
        "COMP_LINE": "pbloom rule $'PB3",
        "COMP_WORD": "PB3",
        "_PBLOOM_COMPLETE": "bash_complete",
    }
    run = subprocess.run(
        [sys.executable, "-m", "parquet_bloom"],
        env=os.environ | asked,
        capture_output=True,
        check=True,
    )
    assert (run.stdout.strip(), run.stderr) == (b"", b"")
