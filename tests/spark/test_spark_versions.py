"""What differs between the versions of PySpark; `make spark-matrix` runs all of them."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires

import pyarrow as pa
import pytest
from conftest import ROOT

pytest.importorskip("pyspark")

import pyspark
from pyspark.sql import datasource
from pyspark.sql.types import StructType

from parquet_bloom.spark import shipping, versions
from parquet_bloom.spark.data_source import SourceOptions
from parquet_bloom.spark.meter import Meter


@pytest.fixture
def spark_3(monkeypatch):
    monkeypatch.setattr(versions, "_IS_3", True)


class Conf(dict):
    set = dict.__setitem__


class Session:
    """A session of either kind: what it is asked to add."""

    def __init__(self):
        self.conf = Conf()
        self.added = []
        self.sparkContext = self
        self._jsc = "runs"

    def addArchive(self, path):
        self.added.append(("application", path))

    def addArtifacts(self, path, *, archive):
        assert archive
        self.added.append(("session", path))


class ConnectSession(Session):
    __module__ = "pyspark.sql.connect.session"


def test_archives_are_the_sessions():
    for kind in (Session, ConnectSession):
        added = kind()
        versions.add_archive(added, "a.zip#a")
        assert added.added == [("session", "a.zip#a")]


@pytest.mark.usefixtures("spark_3")
def test_archives_were_the_applications(monkeypatch):
    monkeypatch.setattr(versions, "SparkSession", Session)
    classic, connect = Session(), ConnectSession()
    folder = shipping.ship(classic)
    versions.add_archive(connect, "a.zip#a")
    ((what, path),) = classic.added
    assert (what, path.endswith(f"{folder}.zip#{folder}")) == ("application", True)
    assert connect.added == [("session", "a.zip#a")]


def test_times_are_in_utc(monkeypatch):
    schema = StructType().add("id", "long", nullable=False).add("at", "timestamp")
    expected = pa.schema(
        [pa.field("id", pa.int64(), nullable=False), pa.field("at", pa.timestamp("us", "UTC"))]
    )
    assert versions.arrow_schema(schema).equals(expected)
    monkeypatch.setattr(versions, "to_arrow_schema", lambda schema: expected)
    assert versions.arrow_schema(schema) is expected


def test_progress_is_not_asked_of_a_session_that_does_not_tell():
    """What is known without it is told nevertheless."""
    told = []
    measured = Meter(ConnectSession(), lambda done, of: told.append((done, of)))
    measured.expect(30)
    with measured.tasks([10, 20]):
        pass
    assert told == [(0, 30), (30, 30)]


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


def test_the_extra_has_what_connect_needs():
    """Named one by one: that extra of PySpark 3.5 refuses NumPy 2."""
    asked = [each for each in requires("pyspark") or () if 'extra == "connect"' in each]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ours = project["dependencies"] + project["optional-dependencies"]["spark"]
    names = {re.match(r"[\w-]+", each)[0] for each in ours}
    assert asked
    assert {re.match(r"[\w-]+", each)[0] for each in asked} <= names
