"""Connect passes the suite that classic Spark passes, test for test: in a process of its own.

`make cluster` runs all of it (PBLOOM_CLUSTER=full); `make test` one test of each way in which a verb
uses a session: Connect changes nothing about what Spark prunes, nor about what executors find.
"""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from conftest import ROOT, missing
from oracle.parquet_java import ParquetJava

pytestmark = [pytest.mark.cluster, pytest.mark.interop]

VERBS = "test_spark_verbs.py"
SUITE = [
    f"{VERBS}::test_each_file_has_one_outcome",
    f"{VERBS}::test_verbs_that_only_read",
    "test_spark_meter.py::test_a_task_that_is_done_is_told_while_another_runs",
]
if os.environ.get("PBLOOM_CLUSTER") == "full":
    SUITE = [VERBS, "test_spark_pruning.py", "test_spark_orc_pruning.py", "test_spark_job.py"]
    SUITE += ["test_spark_orc.py", "test_spark_data_source.py", "test_spark_meter.py"]


def test_connect_passes_the_same_suite(tmp_path: Path) -> None:
    if not ParquetJava.is_here():
        missing(ParquetJava.needs)
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, f"--junitxml={report}", *(str(Path(__file__).with_name(name)) for name in SUITE)],
        cwd=ROOT, env=os.environ | {"PBLOOM_SPARK": "connect"}, capture_output=True, text=True,
        check=False, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
    (suite,) = ET.parse(report).getroot().iter("testsuite")
    counts = {name: int(suite.get(name, "-1")) for name in ("errors", "failures", "skipped")}
    assert counts == {"errors": 0, "failures": 0, "skipped": 0}
    assert int(suite.get("tests", "-1")) >= len(SUITE)
    printed = next(suite.iter("property"))
    assert printed.get("value") == "pyspark.sql.connect.session"
