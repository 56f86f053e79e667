"""What a small lake gets with one version of Spark: run.py runs it in the environment of that version.

    python work.py classic
    python work.py sc://127.0.0.1:15002

Prints a JSON document: which versions met, and for each step `yes`, `refused` where this Spark cannot do it
and it is said so, or what went wrong, in one line.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyarrow import orc
from pyspark.sql import SparkSession

import parquet_bloom as pb
from parquet_bloom import spark as lake
from parquet_bloom.spark.failures import said

MASTER = "local[2,4]"
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
ROWS, FILES = 2000, 6


class Lake:
    """Files of both formats in two folders, a Delta table, and copies of them that Spark does not see;
    where Spark is, and a session there."""

    def __init__(self, folder: Path, where: str) -> None:
        self.files, self.copies, self.table = (folder / name for name in ("a b", "copies", "table"))
        self.index = folder / "of ids"
        self.where = where
        self.session = connected(where)
        for number in range(FILES):
            write(self.files / f"d={number % 2}" / f"{number}.parquet", number)
        write(self.files / "d=1" / "last.orc", FILES)
        shutil.copytree(self.files, self.copies)
        write_table(self.table)

    @property
    def spark(self) -> tuple[int, int]:
        """The version of what plans and runs, which for Connect is the server."""
        major, minor, _ = self.session.version.split(".", 2)
        return int(major), int(minor)

    @property
    def paths(self) -> list[Path]:
        return sorted(path for path in self.files.rglob("[!.]*.*") if path.is_file())

    def copy_of(self, path: Path) -> Path:
        return self.copies / path.relative_to(self.files)


def connected(where: str) -> SparkSession:
    if where != "classic":
        return SparkSession.builder.remote(where).getOrCreate()
    builder = SparkSession.builder.master(MASTER)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def java(session: SparkSession) -> str:
    query = "SELECT reflect('java.lang.System', 'getProperty', 'java.version')"
    return str(session.sql(query).collect()[0][0])


def ids(number: int) -> list[int]:
    """Of the rows of one file: no other file has them, and each spreads over the same range."""
    return [(number + row * (FILES + 1)) * 7919 for row in range(ROWS)]


def write(path: Path, number: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    names = [f"name {each}" for each in ids(number)]
    table = pa.table({"id": ids(number), "name": names})
    if path.suffix == ".orc":
        orc.write_table(table, path)
    else:
        pq.write_table(table, path, use_dictionary=False, row_group_size=ROWS // 2)


def write_table(folder: Path) -> None:
    """A Delta table of one file."""
    write(folder / "a.parquet", 0)
    columns = [
        {"name": name, "type": type, "nullable": True, "metadata": {}}
        for name, type in (("id", "long"), ("name", "string"))
    ]
    schema = json.dumps({"type": "struct", "fields": columns})
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "t", "format": {"provider": "parquet", "options": {}}, "schemaString": schema,
                "partitionColumns": [], "configuration": {}, "createdTime": 0,
            }
        },
        {
            "add": {
                "path": "a.parquet", "partitionValues": {}, "modificationTime": 0,
                "size": (folder / "a.parquet").stat().st_size, "dataChange": True,
            }
        },
    ]  # fmt: skip
    (folder / "_delta_log").mkdir()
    log = "".join(json.dumps(action) + "\n" for action in actions)
    (folder / "_delta_log" / f"{0:020}.json").write_text(log)


class Refused(Exception):
    """This Spark cannot do it, and says so."""


def expect(found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"{found!r}, expected {expected!r}")


def expect_refusal(ask: Callable[[], object], message: str) -> Refused:
    """To be raised, as it was refused in one line with this message."""
    try:
        ask()
    except Exception as error:
        if message in said(error):
            return Refused()
        raise
    raise AssertionError(f"not refused, expected {message!r}")


# ------------------------------------------------------------------------------------------------
# The steps, in this order


def ship(at: Lake) -> None:
    expect(lake.ship(at.session), lake.ship(at.session))


def advise(at: Lake) -> None:
    report = lake.advise(at.session, str(at.files), columns=["id"])
    judged = {column["column"] for each in report.documents() for column in each["columns"]}
    expect((report.troubles, judged), ((), {"id"}))


def build(at: Lake) -> None:
    """What Spark builds is what this machine builds, byte for byte; and nothing is built twice."""
    report = lake.build(at.session, str(at.files), columns=["id"])
    expect(dict(report.counts), {"added": FILES + 1})
    for path in at.paths:
        pb.build(at.copy_of(path), columns=["id"], in_place=True)
        expect(path.read_bytes() == at.copy_of(path).read_bytes(), True)
    again = lake.build(at.session, str(at.files), columns=["id"])
    expect(dict(again.counts), {"unchanged": FILES + 1})


def probe(at: Lake) -> None:
    for value, files in ((ids(3)[7], 1), (-1, 0)):
        report = lake.probe(at.session, str(at.files), "id", [value])
        verdicts = [each["results"][0]["verdict"] for each in report.documents()]
        expect((verdicts.count("maybe"), len(verdicts)), (files, FILES + 1))


def validate(at: Lake) -> None:
    report = lake.validate(at.session, str(at.files))
    expect([each["ok"] for each in report.documents()], [True] * (FILES + 1))


def inspect(at: Lake) -> None:
    report = lake.inspect(at.session, str(at.files))
    expect(report.filters, sum(pb.inspect(path).num_filters for path in at.paths))


def report(at: Lake) -> None:
    """The outcomes as a DataFrame."""
    inspected = lake.inspect(at.session, str(at.files))
    found = inspected.to_df(at.session)
    expect([tuple(row) for row in found.groupBy("status").count().collect()], [("read", FILES + 1)])


def missing(at: Lake) -> None:
    """What there is none of is told apart from the rest, and does not stop it."""
    names = [str(at.files / "d=0"), str(at.files / "no.parquet"), str(at.files / "x*")]
    found = lake.inspect(at.session, names)
    expect(dict(found.counts), {"read": FILES // 2, "error": 2})


def table(at: Lake) -> None:
    lake.build_table(at.session, at.table, columns=["id"], min_file_size=0)
    (path,) = at.table.glob("*.parquet")
    commit = (at.table / "_delta_log" / f"{1:020}.json").read_text()
    sizes = [
        action["add"]["size"] for action in map(json.loads, commit.splitlines()) if "add" in action
    ]
    expect((sizes, pb.inspect(path).num_filters), ([path.stat().st_size], 2))


def index(at: Lake) -> None:
    """It says what the index of this machine says; and nothing is read twice."""
    report = lake.index(at.session, str(at.files), index=at.index, columns="id")
    expect(dict(report.counts), {"read": FILES + 1})
    with pb.Index.build(at.copies / "index", at.files, "id") as local, pb.Index(at.index) as found:
        expect([each.problem for each in found.check(deep=True).findings], [])
        values = ids(2)[::100]
        for of_spark, of_this in zip(
            found.probe("id", values).results, local.probe("id", values).results, strict=True
        ):
            true = {each.path for each in of_spark.files} & {each.path for each in of_this.files}
            expect(str(at.files / "d=0" / "2.parquet") in true, True)
    again = lake.index(at.session, index=at.index)
    expect(dict(again.counts), {"unchanged": FILES + 1})


def files_for(at: Lake) -> None:
    values = at.session.createDataFrame([(each,) for each in ids(3)[::50]], "id long")
    found = lake.files_for(at.session, at.index, "id", values).where("verdict = 'maybe'")
    path = str(at.files / "d=1" / "3.parquet")
    expect(found.where(f"path = '{path}'").select("id").distinct().count(), ROWS // 50)


def bloom(at: Lake) -> None:
    """spark.read.format("bloom")"""
    source = at.session.read.format("bloom")
    if at.spark < (4, 0):
        _ = expect_refusal(import_source, "expected PySpark 4.0 or later")
        message = "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: bloom."
        raise expect_refusal(lambda: source.load(str(at.files)), message)
    found = source.load(str(at.files)).where("column = 'id'")
    expect(found.where("fpp IS NULL").count(), 0)
    expect(found.count(), sum(pb.inspect(path).num_filters for path in at.paths))


def import_source() -> None:
    import_module("parquet_bloom.spark.data_source")


def pushdown(at: Lake) -> None:
    at.session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    source = at.session.read.format("bloom").option("pushdown", "true")
    if at.spark < (4, 1):
        message = "option pushdown: expected Spark 4.1 or later" if at.spark >= (4, 0) else "bloom"
        raise expect_refusal(lambda: source.load(str(at.files)).count(), message)
    found = source.load(str(at.files)).where("column = 'id' AND row_group = 0")
    expect(found.count(), FILES)


def strip(at: Lake) -> None:
    lake.strip(at.session, str(at.files))
    expect([pb.inspect(path).num_filters for path in at.paths], [0] * (FILES + 1))


def clean_temp(at: Lake) -> None:
    expect(lake.clean_temp(at.session, str(at.files)).troubles, ())


def command(at: Lake) -> None:
    """In a process, and a session, of its own."""
    place = ["--master", MASTER] if at.where == "classic" else ["--remote", at.where]
    words = ["spark", "build", str(at.files), "-c", "name", *place]
    run = [sys.executable, "-m", "parquet_bloom", *words]
    ended = subprocess.run(run, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(ended.stderr.splitlines()[-1])
    for path in at.paths:
        expect(pb.validate(path, require=["name"]).ok, True)


Step = Callable[[Lake], None]
STEPS: dict[str, Step] = {
    "ship": ship,
    "advise": advise,
    "build": build,
    "probe": probe,
    "validate": validate,
    "inspect": inspect,
    "report": report,
    "missing names": missing,
    "build --table": table,
    "index": index,
    "files_for": files_for,
    'format("bloom")': bloom,
    "pushdown": pushdown,
    "strip": strip,
    "clean-temp": clean_temp,
    "command": command,
}


def done(step: Step, at: Lake) -> str:
    try:
        step(at)
    except Refused:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {said(error)}"
    return "yes"


def main(where: str) -> None:
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    versions: dict[str, Any] = {
        "spark": pyspark.__version__,
        "python": platform.python_version(),
        "pandas": pd.__version__,
        "pyarrow": pa.__version__,
    }
    with TemporaryDirectory() as name:
        os.chdir(name)
        at = Lake(Path(name), where)
        versions |= {"server": at.session.version, "java": java(at.session)}
        steps = {title: done(step, at) for title, step in STEPS.items()}
        at.session.stop()
    sys.stdout.write(json.dumps({"versions": versions, "steps": steps}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
