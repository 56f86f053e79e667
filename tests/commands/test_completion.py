"""`pbloom completion`: the script, and what it asks of the command."""

import os
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import missing
from make.commands import outcome
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.commands.completion import MENDED


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where events.parquet and events.orc are, with columns of every sort of name."""
    monkeypatch.chdir(tmp_path)
    table = pa.table({"user_id": [1], "user name": ["a"], "day": [2], "a,b": [3]})
    pq.write_table(table, "events.parquet")
    orc.write_table(table.select(["user_id", "day"]), "events.orc")
    return tmp_path


def completed(*words):
    """The words that the last one can become, as bash is told."""
    run = subprocess.run(
        [sys.executable, "-m", "parquet_bloom"],
        env=os.environ
        | {
            "_PBLOOM_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(["pbloom", *words]),
            "COMP_CWORD": str(len(words)),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == ""
    return run.stdout.split("\n")[:-1] if run.stdout.strip() else []


def test_commands(folder):
    assert completed("in") == ["plain,inspect", "plain,index"]
    assert completed("spark", "cl") == ["plain,clean-temp"]


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


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
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


# What each shell is asked, as when somebody types the word and presses Tab, and what it answers to
# `va`, and to `day,us` after -c; those for which it is one word, to `--format=te`, too.
SHELLS = {
    "bash": """
        eval "$(pbloom completion bash)"
        COMP_WORDS=(pbloom va) COMP_CWORD=1
        _pbloom_completion pbloom va pbloom
        echo "${COMPREPLY[@]}"
        COMPREPLY=() COMP_WORDS=(pbloom probe events.parquet -c day,us) COMP_CWORD=4
        _pbloom_completion pbloom day,us -c
        printf '%s\\n' "${COMPREPLY[@]}"
    """,
    # zsh completes on a terminal only.
    "zsh": """
        compdef() { echo "$@" > /dev/null }
        _describe() { shift 2; print -rl -- ${(P)1%%:*}; }
        compset() { test "$2" = --format=; }
        compadd() { print -rl -- "$3"${(P)^@[-1]}; }
        eval "$(pbloom completion zsh)"
        words=(pbloom va) CURRENT=2; _pbloom_completion
        words=(pbloom validate --format=te) CURRENT=3; _pbloom_completion
        words=(pbloom probe events.parquet -c day,us) CURRENT=5; _pbloom_completion
    """,
    "fish": """
        pbloom completion fish | source
        complete -C 'pbloom va' | string split -f 1 \\t
        complete -C 'pbloom validate --format=te'
        complete -C 'pbloom probe events.parquet -c day,us'
    """,
}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_runs_the_script(folder, shell):
    if shutil.which(shell) is None:
        missing(shell)
    (folder / "bin").mkdir()
    program = folder / "bin" / "pbloom"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m parquet_bloom "$@"\n')
    program.chmod(0o755)
    run = subprocess.run(
        [shell, "-c", SHELLS[shell]],
        env=os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    command, *formats, one, other = run.stdout.splitlines()
    assert command == "validate"
    assert formats == ([] if shell == "bash" else ["--format=text"])
    # Some sort, some do not.
    assert sorted((one, other)) == ["day,user name", "day,user_id"]
