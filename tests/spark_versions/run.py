"""Do everything that `parquet_bloom.spark` does to a small lake, with each version of Spark, classic and
Connect, and with each Python that is here.

    python tests/spark_versions/run.py [VERSION…]    # all of SPARKS, unless some are named

Each version has an environment of its own in .sparks, with the newest release that there was when it
was made, and this package. What came of it is kept in results.json, and a table of it in docs/spark.md.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from conftest import ROOT
from spark_versions import page

HERE = ROOT / ".sparks"
WORK = Path(__file__).with_name("work.py")
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
# Longer than all steps take, and than a server takes to start, on a busy machine; in seconds.
PATIENCE, START = 900, 120


@dataclass(frozen=True)
class Spark:
    """`pythons` on which it runs, of those on which this package does; `server`: the version whose
    Connect server it talks to, if it brings none itself."""

    version: str
    pythons: tuple[str, ...]
    server: str = ""


SPARKS = {
    spark.version: spark
    for spark in (
        # Its Connect server is no part of PySpark; it needs distutils, which Python 3.12 has not.
        Spark("3.5", ("3.11",), server="4.0"),
        Spark("4.0", ("3.11", "3.12", "3.13")),
        Spark("4.1", ("3.11", "3.12", "3.13", "3.14")),
        Spark("4.2", ("3.11", "3.12", "3.13", "3.14")),
        Spark("4.3", ("3.11", "3.12", "3.13", "3.14")),
    )
}


@dataclass(frozen=True)
class Environment:
    """One version of Spark with one Python."""

    version: str
    python: str

    @property
    def program(self) -> Path:
        return self._folder / "bin" / "python"

    @property
    def spark_home(self) -> Path:
        (found,) = self._folder.glob("lib/python*/site-packages/pyspark")
        return found

    @property
    def _folder(self) -> Path:
        return HERE / f"{self.version}-python{self.python}"

    def install(self) -> None:
        """With the package as it is now. Raises subprocess.CalledProcessError."""
        if not self._folder.exists():
            _run(f"python{self.python}", "-m", "venv", str(self._folder))
        pip = (str(self.program), "-m", "pip", "--quiet", "install")
        package = wheel(self.python)
        _run(*pip, f"{package}[all,spark]", f"pyspark=={self.version}.*")
        _run(*pip, "--force-reinstall", "--no-deps", str(package))

    def work(self, where: str) -> dict[str, Any]:
        """What WORK prints. Raises RuntimeError if it dies."""
        run = [str(self.program), str(WORK), where]
        done = subprocess.run(
            run, env=_variables(), capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(run)}: {done.stderr}")
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    @contextmanager
    def server(self) -> Iterator[str]:
        """The URL of a Connect server of this version."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        settings = {
            "spark.connect.grpc.binding.port": str(port),
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
        }
        words = ["--class", SERVER, "--master", "local[2,4]"]
        words += [word for item in settings.items() for word in ("--conf", "=".join(item))]
        home = {"SPARK_HOME": str(self.spark_home), "PYSPARK_PYTHON": str(self.program)}
        with TemporaryDirectory() as folder, open(f"{folder}/log", "wb") as log:
            process = subprocess.Popen(
                [str(self.spark_home / "bin" / "spark-submit"), *words],
                env=_variables() | home, cwd=folder, stdout=log, stderr=log,
            )  # fmt: skip
            try:
                _wait(process, port)
                yield f"sc://127.0.0.1:{port}"
            finally:
                process.terminate()
                process.wait()


@cache
def wheel(python: str) -> Path:
    """The package as it is now. Raises subprocess.CalledProcessError."""
    # What setuptools finds there, it packs, too.
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    folder = HERE / "wheels" / python
    shutil.rmtree(folder, ignore_errors=True)
    _run(
        f"python{python}",
        "-m",
        "pip",
        "--quiet",
        "wheel",
        "--no-deps",
        "-w",
        str(folder),
        str(ROOT),
    )
    (found,) = folder.glob("*.whl")
    return found


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def _variables() -> dict[str, str]:
    """Of this process, without those that would lead to another Spark or another package."""
    others = {"PYTHONPATH", "SPARK_HOME", "PYSPARK_PYTHON"}
    kept = {name: value for name, value in os.environ.items() if name not in others}
    return kept | {"SPARK_LOCAL_IP": "127.0.0.1", "LC_ALL": "C.UTF-8"}


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + START
    while process.poll() is None and time.monotonic() < end:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError("the Connect server does not start")


def pythons(spark: Spark) -> list[str]:
    """The Pythons that are here, on which this version runs."""
    return [each for each in spark.pythons if _is_here(each)]


@cache
def _is_here(python: str) -> bool:
    program = shutil.which(f"python{python}")
    if program is None:
        return False
    # The names that pyenv leaves for all its versions may lead to none.
    return subprocess.run([program, "-V"], capture_output=True, check=False).returncode == 0


def run(spark: Spark, python: str) -> dict[str, Any]:
    """What came of it, classic and Connect."""
    here = Environment(spark.version, python)
    here.install()
    serving = Environment(spark.server or spark.version, python)
    if spark.server:
        serving.install()
    with serving.server() as url:
        return {"classic": here.work("classic"), "Connect": here.work(url)}


def show(name: str, found: dict[str, Any], seconds: float) -> bool:
    """Print what is not as it should be; whether all is."""
    wrong = [
        f"{kind}, {step}: {said}"
        for kind, each in found.items()
        for step, said in each["steps"].items()
        if said not in page.FINE
    ]
    sys.stdout.write(f"{name}: {seconds:.0f} s\n" + "".join(f"    {line}\n" for line in wrong))
    sys.stdout.flush()
    return not wrong


def main(wanted: Sequence[str]) -> int:
    results = json.loads(page.RESULTS.read_text()) if page.RESULTS.exists() else {}
    is_fine = True
    for version in wanted or SPARKS:
        for python in pythons(SPARKS[version]):
            name, start = f"{version}, Python {python}", time.monotonic()
            results[name] = run(SPARKS[version], python)
            is_fine = show(name, results[name], time.monotonic() - start) and is_fine
            page.RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    page.PAGE.write_text(page.page(results), encoding="utf-8")
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
