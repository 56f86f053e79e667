"""`--debug` and PBLOOM_DEBUG: the traceback of an error, which never shows a key."""

import re

import click
import pytest
from make.commands import outcome

from parquet_bloom.commands.key_options import key_options
from parquet_bloom.commands.sections import Command
from parquet_bloom.program import Program

LINE = "pbloom: nothing.parquet: No such file or directory\n"
KEY = "0123456789abcdef"

WAYS = {
    "before the command": (["--debug", "inspect", "nothing.parquet"], {}),
    "after the command": (["inspect", "nothing.parquet", "--debug"], {}),
    "variable": (["inspect", "nothing.parquet"], {"PBLOOM_DEBUG": "1"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_traceback_comes_before_the_line(way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments, environment = WAYS[way]
    result = outcome(*arguments, environment=environment)
    assert (result.code, result.stdout) == (2, "")
    first, *others, last = result.stderr.splitlines(keepends=True)
    assert (first, last) == ("Traceback (most recent call last):\n", LINE)
    assert any(re.search(r'/storage/source\.py", line \d+, in ', line) for line in others)
    assert others[-1].startswith("FileNotFoundError: ")


@pytest.mark.parametrize("environment", [{}, {"PBLOOM_DEBUG": "0"}, {"PBLOOM_DEBUG": ""}])
def test_one_line_is_the_default(environment, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PBLOOM_DEBUG", raising=False)
    result = outcome("inspect", "nothing.parquet", environment=environment)
    assert (result.code, result.stderr) == (2, LINE)


@click.group(cls=Program)
def cli():
    """A program as pbloom is one."""


@cli.command(cls=Command)
@key_options
def fail(keys):
    """Have a mistake of our own."""
    {}["missing\x1b[2J"]


def test_an_internal_error_says_how_to_see_more():
    result = outcome("fail", program=cli)
    expected = (
        "pbloom: internal error, please report what --debug shows: KeyError: 'missing\\x1b[2J'\n"
    )
    assert (result.code, result.stderr) == (2, expected)
    result = outcome("fail", "--debug", program=cli)
    assert result.stderr.endswith(expected)
    assert 'in fail\n    {}["missing' in result.stderr
    assert "\x1b" not in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--footer-key", KEY],
        ["--footer-key", f"hex:{KEY}"],
        ["--uniform-key", f"base64:{KEY}!"],
        ["--column-key", f"a={KEY}"],
        ["--master-key", f"{KEY}:m"],
        ["--key-id", KEY],
        ["--kms-token", KEY],
    ],
)
def test_no_traceback_shows_a_key(arguments):
    result = outcome("--debug", "fail", *arguments, program=cli)
    assert result.code == 2
    assert result.stderr.startswith("Traceback")
    assert KEY not in result.output
