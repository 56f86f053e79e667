"""docs/spark.md: its scripts and commands are run, and print what it shows."""

import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner
from conftest import ROOT
from spark_session import IS_CONNECT
from test_docs import comparable

from parquet_bloom.cli import cli
from parquet_bloom.spark.schemas import OUTCOME

TEXT = (ROOT / "docs" / "spark.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def without_seconds(text):
    return re.sub(r"; [\d.]+ s$", "", text, flags=re.MULTILINE)


@pytest.mark.skipif(IS_CONNECT, reason="the first script wants a classic session")
def test_ten_minutes(spark, tmp_path):
    def there(text):
        """With the lake in a folder of the test: Spark has a working directory of its own."""
        return text.replace("lake/events", f"{tmp_path}/lake/events")

    make_lake, lookup, from_python = map(there, blocks("python"))
    exec(compile(make_lake, "lake.py", "exec"), {})  # noqa: S102
    for block in blocks("console"):
        command, _, expected = block.partition("\n")
        program, *arguments = there(command).removeprefix("$ ").split()
        if program == "pbloom":
            printed = CliRunner().invoke(cli, arguments).stdout
        else:
            assert arguments == ["lookup.py"]
            printed = subprocess.run(
                [sys.executable, "-c", lookup],
                # A port that nobody else has.
                env=os.environ | {"SPARK_TESTING": "1"},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        assert comparable(without_seconds(printed)) == comparable(without_seconds(expected))
    exec(compile(from_python, "api.py", "exec"), {})  # noqa: S102


def test_every_field_of_an_outcome_is_described():
    text = TEXT.split("An outcome is ")[1].split("\n\n")[0]
    assert re.findall(r"`(\w+)`", text) == OUTCOME.names


def test_options_that_are_named_are_there():
    for name in set(re.findall(r"`?(--[a-z-]+)", TEXT)):
        assert any(
            name in option.opts
            for command in cli.commands["spark"].commands.values()
            for option in command.params
        ), name
