"""What goes wrong around a job, on one line; and who interrupts it is heard."""

import errno
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.spark_session import IS_CONNECT
from oracle.parquet_java import QUICK
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext, java_gateway
from pyspark.errors import PySparkException

import parquet_bloom as pb
from parquet_bloom import spark as lake
from parquet_bloom.errors import SparkError
from parquet_bloom.program import EndedError
from parquet_bloom.spark import java
from parquet_bloom.spark import session as session_module
from parquet_bloom.spark.failures import (
    failing,
    for_executors,
    in_one_line,
    leaving,
    naming_variables,
    said,
    untold_ends,
)
from parquet_bloom.spark.lake_index import IndexJob
from parquet_bloom.spark.session import session
from parquet_bloom.storage.table_formats import COPIES


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "RuntimeError"),
        ("one\n  two", "one"),
        (
            "An error occurred while calling o1.save.\n: java.io.IOException: no space\n\tat x.y",
            "java.io.IOException: no space",
        ),
        ("[X] thrown:\nTraceback (most recent call last):\n  x\nKeyError: 5\n\tat a", "KeyError: 5"),
        (
            "Traceback (most recent call last):\n  x\nKeyError: 5\n\nJVM stacktrace:\na.b.CError\n\tat a",
            "KeyError: 5",
        ),
        ("Error while instantiating:\n\tat x\nCaused by: a: b\nCaused by: c: d",
         "Error while instantiating: c: d"),
    ],
)  # fmt: skip
def test_one_line_of_what_spark_says(text, line):
    assert said(RuntimeError(text)) == line
    with pytest.raises(SparkError) as error, failing("the job"):
        raise RuntimeError(text)
    assert str(error.value) == f"the job: {line}"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "s3://b/k: refused: set AWS_PROFILE, or the storage option skip_signature=true for a public bucket",
            (
                "s3://b/k: refused: set AWS_PROFILE, or the executors' variable AWS_SKIP_SIGNATURE=true for a public"
                " bucket"
            ),
        ),
        (
            "az://b/k: no answer; the storage option endpoint=URL names another host",
            "az://b/k: no answer; the executors' variable AZURE_ENDPOINT=URL names another host",
        ),
        (
            "s3://b/k: in another region: set AWS_REGION, or the storage option region=NAME",
            "s3://b/k: in another region: set AWS_REGION",
        ),
        ("https://b/k: set the storage option a=b", "https://b/k: set the storage option a=b"),
        ("/b/k: set the storage option a=b", "/b/k: set the storage option a=b"),
        (
            f"/b/k: not changed in place; compact it{COPIES}",
            "/b/k: not changed in place; compact it",
        ),
    ],
)
def test_what_executors_take_in_the_place_of_storage_options(message, told):
    assert for_executors(message) == told
    assert said(RuntimeError(f"Traceback (most recent call last):\nOSError: {message}")) == (
        f"OSError: {told}"
    )


def test_the_command_names_variables_in_the_place_of_options(spark, tmp_path, monkeypatch):
    def refused(*_, **__):
        reason = "reading was refused: set AWS_PROFILE, or the storage option region=NAME; the storage option a=b"
        raise PermissionError(errno.EACCES, reason, "s3://b/i")

    monkeypatch.setattr(IndexJob, "run", refused)
    pq.write_table(pa.table({"id": range(9)}), tmp_path / "a.parquet")
    result = outcome("spark", "index", tmp_path, "-c", "id", "--index", tmp_path / "i")
    assert (result.code, result.complaint) == (
        2,
        "s3://b/i: reading was refused: set AWS_PROFILE, or the variable AWS_REGION=NAME; the variable AWS_A=b",
    )
    with pytest.raises(OSError, match="nobody"), naming_variables():
        raise OSError(errno.EIO, "nobody", "s3://b/i")


@pytest.mark.parametrize("handled", [failing, in_one_line])
def test_an_interrupt_behind_an_error_is_what_counts(handled):
    def cancelled():
        try:
            raise KeyboardInterrupt
        finally:
            raise PySparkException("cancelled")

    with pytest.raises(KeyboardInterrupt) as raised, handled("the job"):
        cancelled()
    assert type(raised.value) is KeyboardInterrupt


def test_java_may_have_ended_when_this_is_ended(monkeypatch):
    """As `timeout` ends both: what stops the session finds nobody."""

    def stop():
        raise Py4JError("org.apache.spark.sql.classic.SparkSession does not exist in the JVM")

    monkeypatch.setattr(session_module, "_settings", lambda *_: {})
    monkeypatch.setattr(session_module, "_started", lambda *_: SimpleNamespace(stop=stop))
    end = EndedError(15)
    with pytest.raises(EndedError) as raised, session("local[1]", None, {}):
        raise end
    assert raised.value is end
    with pytest.raises(SparkError) as error, session("local[1]", None, {}):
        pass
    expected = "Spark: org.apache.spark.sql.classic.SparkSession does not exist in the JVM"
    assert str(error.value) == expected


GONE = "the JVM of Spark's driver has gone"


def ask_nobody():
    """As PySpark asks a Java that has gone."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    where = PythonParameters(port=0, eager_load=False)
    client = ClientServer(java_parameters=JavaParameters(port=port), python_parameters=where)
    client.jvm.System.gc()


def lose_answer():
    raise Py4JNetworkError("Answer from Java side is empty")


@pytest.mark.parametrize("ask", [ask_nobody, lose_answer])
@pytest.mark.parametrize("handled", [failing, in_one_line])
def test_java_has_gone(handled, ask):
    with pytest.raises(SparkError) as error, handled("the job"):
        ask()
    assert str(error.value) == f"the job: {GONE}"


def test_other_connections_are_none_to_java():
    with pytest.raises(SparkError) as error, failing("the job"):
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
    assert str(error.value) == "the job: [Errno 111] Connection refused"
    with pytest.raises(ConnectionRefusedError), in_one_line("the job"):
        raise ConnectionRefusedError


def test_java_was_told_to_end():
    with pytest.raises(SparkError) as error, failing("the job"):
        raise PySparkException(
            "x.SparkException: Job 2 cancelled because SparkContext was shut down"
        )
    assert str(error.value) == "the job: Spark's driver was shut down"


def test_nobody_who_tidies_up_hides_what_went_wrong():
    with pytest.raises(SparkError) as error, leaving(ask_nobody):
        raise SparkError("the job failed")
    assert str(error.value) == "the job failed"
    with pytest.raises(ConnectionRefusedError), leaving(ask_nobody):
        pass


def test_only_a_java_that_hangs_up_is_untold(monkeypatch):
    """By the server to which it sends its accumulators."""
    told = []
    server = SimpleNamespace(handle_error=lambda *about: told.append(about))
    context = SimpleNamespace(_accumulatorServer=server)
    monkeypatch.setattr(SparkContext, "_active_spark_context", context)
    with java.starting():
        pass
    for error in (EOFError, ConnectionResetError, ValueError):
        try:
            raise error
        except (EOFError, OSError, ValueError):
            server.handle_error(error, "an address")
    assert told == [(ValueError, "an address")]


def test_a_session_leaves_the_handler_of_interrupts(monkeypatch):
    """PySpark's would ask Java to cancel while the same thread waits for Java."""
    before = signal.getsignal(signal.SIGINT)

    def start():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        return "a session"

    try:
        assert session_module._started(SimpleNamespace(getOrCreate=start), None) == "a session"
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("name", ["", "py4j.clientserver", "py4j.java_gateway"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, EndedError(15), Py4JNetworkError(), OSError])
def test_py4j_logs_no_traceback_of_an_end(caplog, name, error):
    logger = logging.getLogger(name)
    with untold_ends():
        try:
            raise error
        except (KeyboardInterrupt, Py4JNetworkError, OSError):
            logger.exception("While sending.")
        try:
            try:
                raise error
            finally:
                raise BrokenPipeError
        except OSError:
            logger.exception("While sending once more.")
    assert len(caplog.records) == (2 if error is OSError else 0)
    logger.error("As before.")
    assert caplog.messages[-1] == "As before."


def test_a_connect_server_that_nobody_runs():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(SparkError) as error, session("unused", f"sc://127.0.0.1:{port}", {}):
        pass
    assert str(error.value) == f"no Spark session: sc://127.0.0.1:{port}: Connection refused"


def test_what_nobody_can_list(spark):
    with pytest.raises(SparkError, match=r"^the Spark job failed: .*foo://x/y") as error:
        lake.inspect(spark, "foo://x/y")
    assert "\n" not in str(error.value)


def test_an_audit_that_cannot_be_written(spark, tmp_path):
    pq.write_table(pa.table({"id": range(9)}), tmp_path / "a.parquet")
    result = outcome("spark", "inspect", tmp_path, "--audit", "/proc/nothing")
    assert result.code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("pbloom: the Spark job failed: ")
    assert "'/proc/nothing'" in line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('x\njava.io.IOException: Cannot run program "/no/python": error=2', "no program /no/python: "),
        ("Traceback\n x\nModuleNotFoundError: No module named 'pyarrow'", "no package pyarrow: "),
        ("Traceback\n x\nModuleNotFoundError: No module named 'parquet_bloom'",
         "no package parquet_bloom: send it with --ship"),
    ],
)  # fmt: skip
def test_any_job_says_what_executors_lack(text, line):
    with pytest.raises(SparkError) as error, failing("the job"):
        raise RuntimeError(text)
    assert str(error.value).startswith(f"executors: {line}")


NO_SESSION = r"^spark: a PosixPath, expected a SparkSession as the first argument$"


@pytest.mark.parametrize("verb", [lake.inspect, lake.clean_temp])
def test_what_is_no_session(verb, tmp_path):
    with pytest.raises(TypeError, match=NO_SESSION):
        verb(tmp_path, tmp_path)


@pytest.mark.parametrize(
    "verb",
    [
        partial(lake.build, columns="id"),
        lake.validate,
        partial(lake.index, index="new.index", columns="id"),
    ],
)
def test_a_session_that_was_forgotten(verb, tmp_path):
    with pytest.raises(TypeError, match=NO_SESSION):
        verb(tmp_path)


def test_what_is_no_frame(tmp_path):
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    pb.Index.build(tmp_path / "i", tmp_path / "a.parquet", "id").close()
    with pytest.raises(TypeError, match=r"^values: a list, expected a DataFrame of Spark$"):
        lake.files_for(None, tmp_path / "i", "id", [1, 2])


@pytest.mark.skipif(IS_CONNECT, reason="what a stopped session of Connect is")
def test_a_session_that_was_stopped(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "_jsc", None)
    for ask in (lake.inspect, lake.build):
        with pytest.raises(SparkError, match=r"^spark: the session was stopped, expected one that"):
            ask(spark, tmp_path, columns="id")
    with pytest.raises(SparkError, match=r"^spark: the session was stopped"):
        lake.check_executors(spark)


def test_a_setting_that_spark_refuses(spark, tmp_path):
    result = outcome("spark", "inspect", tmp_path, "--conf", "spark.sql.shuffle.partitions=x")
    assert (result.code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("pbloom: Spark: [INVALID_CONF_VALUE.")


def test_only_errors_of_spark_are_taken_for_such():
    with pytest.raises(ValueError, match=r"^ours$"), in_one_line("Spark"):
        raise ValueError("ours")
    with pytest.raises(SparkError, match=r"^Spark: \[X\] no column;$"), in_one_line("Spark"):
        raise PySparkException("[X] no column;\n'Project\n+- x")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("WARNING: x\nException in thread \"main\" org.apache.spark.SparkException: no master\n\tat a.b",
         "no Spark session: no master"),
        ("Invalid maximum heap size: -Xmx1x\nError: Could not create the Java Virtual Machine.",
         "no Spark session: Invalid maximum heap size: -Xmx1x"),
        ("Error: A JNI error has occurred\nException in thread \"main\" java.lang.OutOfMemoryError: heap",
         "no Spark session: heap"),
        ("nothing that is known", None),
    ],
)  # fmt: skip
def test_why_java_does_not_start(said, why, capfd):
    def start():
        java_gateway.Popen(["sh", "-c", f"echo '{said}' >&2; exit 1"]).wait()
        raise RuntimeError("[JAVA_GATEWAY_EXITED]")

    with pytest.raises((SparkError, RuntimeError)) as error, java.starting():
        start()
    assert str(error.value) == (why or "[JAVA_GATEWAY_EXITED]")
    assert capfd.readouterr().err == ("" if why else f"{said}\n")


def test_what_java_says_once_it_has_started(capfd):
    with java.starting():
        started = java_gateway.Popen(["sh", "-c", "echo one >&2; cat >&2"], stdin=subprocess.PIPE)
    started.stdin.write(b"two\n")
    started.stdin.close()
    started.wait()
    said = ""
    while "two" not in said:
        said += capfd.readouterr().err
    assert said == "one\ntwo\n"


def is_running(process):
    try:
        process.wait(timeout=0.02)
    except subprocess.TimeoutExpired:
        return True
    return False


def command_at_work(folder, temporary):
    """A command in the middle of a job, in a group of processes of its own."""
    for number in range(40):
        pq.write_table(pa.table({"id": range(100_000)}), folder / f"{number}.parquet")
    process = subprocess.Popen(
        [sys.executable, "-m", "parquet_bloom", "spark", "build", str(folder), "-c", "id",
         "--existing", "replace", "--force", "--fpp", "0.0001"],
        env=os.environ | {"JDK_JAVA_OPTIONS": " ".join(QUICK), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while is_running(process) and not any(folder.glob(".*pbloom-tmp")):
        time.sleep(0.01)
    return process


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "why"),
    [(signal.SIGKILL, GONE), (signal.SIGTERM, "Spark's driver was shut down")],
)
def test_a_command_whose_java_is_killed(tmp_path, tmp_path_factory, number, why):
    """The account of what was done stays, and is named."""
    process = command_at_work(tmp_path, tmp_path_factory.mktemp("tmp"))
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (virtual_machine,) = [
        int(each) for each in children if "java" in Path(f"/proc/{each}/comm").read_text()
    ]
    os.kill(virtual_machine, number)
    _, complaints = process.communicate(timeout=300)
    assert process.returncode == 2, complaints
    assert "Traceback" not in complaints
    last = complaints.splitlines()[-1]
    told = re.fullmatch(
        rf"pbloom: the Spark job failed: {why}; what was done is in (\S+): --audit with this folder and --run-id"
        r" (\w+) go on with it",
        last,
    )
    assert told is not None, last
    assert (Path(told[1]) / "_runs" / told[2] / "started.json").exists()


@pytest.mark.long
def test_an_interrupted_command_ends_as_others_do(tmp_path, tmp_path_factory):
    """^C in the middle of a job, from a terminal: to all processes of the command. The account of what was
    done stays, and is named."""
    process = command_at_work(tmp_path, tmp_path_factory.mktemp("tmp"))
    os.killpg(process.pid, signal.SIGINT)
    _, complaints = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGINT, complaints
    assert "Traceback" not in complaints
    last = complaints.splitlines()[-1]
    told = re.fullmatch(
        r"pbloom: interrupted; what was done is in (\S+): --audit with this folder and --run-id (\w+) go on"
        " with it",
        last,
    )
    assert told is not None, last
    assert (Path(told[1]) / "_runs" / told[2] / "started.json").exists()
