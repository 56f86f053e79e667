"""A signal that ends the command while PySpark starts Java, in whose place is a script that sends it."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

STARTER = """#!/bin/sh
echo $$ > '{}'
kill -{} $PPID
exec sleep 600
"""


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [("INT", -2, "pbloom: interrupted\n"), ("TERM", 143, ""), ("HUP", 129, "")],
)
def test_nothing_that_it_has_started_goes_on(tmp_path, name, code, said):
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    number, folder = tmp_path / "number", tmp_path / "bin"
    folder.mkdir()
    for each in ("java", "spark-submit"):
        (folder / each).write_text(STARTER.format(number, name))
        (folder / each).chmod(0o755)
    ours = {"SPARK_HOME": str(tmp_path), "JAVA_HOME": str(tmp_path)}
    theirs = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
    # No pipe, whose end would have to be waited for if it went on.
    with (tmp_path / "said").open("w") as output:
        ended = subprocess.run(
            [sys.executable, "-m", "parquet_bloom", "spark", "build", "a.parquet", "-c", "id"],
            cwd=tmp_path, env=theirs | ours, stdout=output, stderr=output, check=False,
        )  # fmt: skip
    started = int(number.read_text())
    with suppress(ProcessLookupError):
        os.kill(started, signal.SIGKILL)
        pytest.fail("it goes on")
    assert (ended.returncode, (tmp_path / "said").read_text()) == (code, said)
