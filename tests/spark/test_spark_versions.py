"""What differs between the versions of PySpark."""

import re
import subprocess
import sys

import pytest

pytest.importorskip("pyspark")

import pyspark
from pyspark.errors import AnalysisException
from pyspark.sql import datasource

from parquet_bloom.spark import session, shipping, versions
from parquet_bloom.spark.data_source import SourceOptions


@pytest.fixture
def spark_3(monkeypatch):
    monkeypatch.setattr(versions, "_IS_3", True)


class Session:
    """A session of either kind: what it is asked to add."""

    conf = type("Conf", (dict,), {"set": dict.__setitem__})()

    def __init__(self):
        self.added = []
        self.sparkContext = self

    def addArchive(self, path):
        self.added.append(("application", path))

    def addArtifacts(self, path, *, archive):
        assert archive
        self.added.append(("session", path))


class ConnectSession(Session):
    __module__ = "pyspark.sql.connect.session"


class OldError(Exception):
    def getErrorClass(self):
        return "PATH_NOT_FOUND"


def test_conditions_had_another_name(spark_3):
    assert versions.error_condition(OldError()) == "PATH_NOT_FOUND"


def test_conditions_have_their_name():
    error = AnalysisException("a: no such path", errorClass="PATH_NOT_FOUND", messageParameters={})
    assert versions.error_condition(error) == "PATH_NOT_FOUND"


def test_archives_are_the_sessions():
    for kind in (Session, ConnectSession):
        added = kind()
        versions.add_archive(added, "a.zip#a")
        assert added.added == [("session", "a.zip#a")]


def test_archives_were_the_applications(spark_3):
    classic, connect = Session(), ConnectSession()
    folder = shipping.ship(classic)
    versions.add_archive(connect, "a.zip#a")
    ((what, path),) = classic.added
    assert (what, path.endswith(f"{folder}.zip#{folder}")) == ("application", True)
    assert connect.added == [("session", "a.zip#a")]


def test_progress_is_not_asked_of_a_session_that_does_not_tell():
    told = []
    with session.shown(ConnectSession(), lambda done, of: told.append((done, of))):
        pass
    assert told == []


def test_without_data_sources_there_is_one_line():
    code = (
        "import sys; sys.modules['pyspark.sql.datasource'] = None\n"
        "from parquet_bloom.errors import SparkError\n"
        "from parquet_bloom import spark\n"
        "try: import pyspark_bloom\n"
        "except SparkError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == (
        'format("bloom"): expected PySpark 4.0 or later, which has data sources in Python, found'
        f" {pyspark.__version__}: parquet_bloom.spark.inspect tells the same\n"
    )


def test_pushdown_where_spark_pushes_nothing(monkeypatch):
    monkeypatch.delattr(datasource.DataSourceReader, "pushFilters")
    message = f"option pushdown: expected Spark 4.1 or later, found {pyspark.__version__}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        SourceOptions.parse({"path": "a", "pushdown": "true"})
    assert not SourceOptions.parse({"path": "a", "pushdown": "false"}).pushdown
