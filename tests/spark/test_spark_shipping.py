"""What travels to the executors, and what they make of it; on a real cluster in
test_spark_cluster.py."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import parquet_bloom
from parquet_bloom.errors import SparkError
from parquet_bloom.native import _kernel
from parquet_bloom.spark import shipping


class Conf(dict):
    set = dict.__setitem__


class Session:
    """What ship uses of a session of Connect."""

    __module__ = "pyspark.sql.connect.session"

    def __init__(self):
        self.conf = Conf()
        self.added = []

    def addArtifacts(self, *paths, archive):
        assert archive
        self.added += paths


@pytest.mark.long
def test_shipping_twice_adds_one_archive():
    session = Session()
    assert shipping.shipped(session) is None
    folder = shipping.ship(session)
    assert shipping.ship(session) == folder == shipping.shipped(session)
    [added] = session.added
    path, _, fragment = added.partition("#")
    assert fragment == folder == Path(path).stem
    again = Session()
    assert shipping.ship(again) == folder
    assert again.added == [added]


def test_the_archive_has_the_code_and_the_kernel_and_what_they_need():
    path, _ = shipping._archive(shipping._installed())
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        kernel = f"parquet_bloom/native/{Path(_kernel.__file__).name}"
        assert archive.read(kernel) == Path(_kernel.__file__).read_bytes()
        assert (
            archive.read("parquet_bloom/spark/shipping.py") == Path(shipping.__file__).read_bytes()
        )
    assert names == sorted(set(names))
    tops = {name.partition("/")[0].partition(".")[0] for name in names}
    assert {
        "cffi",
        "_cffi_backend",
        "cramjam",
        "cryptography",
        "google",
        "orjson",
        "thrift",
        "xxhash",
    } <= tops
    assert not {Path(name).suffix for name in names} & {".pyc", ".pyx", ".pxi", ".c", ".h"}


def test_the_archive_alone_is_enough(tmp_path):
    """To build without any site-packages, to open ORC files, and to decrypt."""
    path, _ = shipping._archive(shipping._installed())
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path)
    code = (
        "import parquet_bloom, parquet_bloom.encryption.cipher, parquet_bloom.verbs.build\n"
        "from parquet_bloom.orc.proto import orc_pb2\n"
        "assert orc_pb2.Footer.FromString(b'\\x08\\x03').headerLength == 3\n"
        "from cryptography.hazmat.primitives.ciphers.aead import AESGCM\n"
        "AESGCM(bytes(16)).encrypt(bytes(12), b'', None)\n"
        "import sys; print(parquet_bloom.__file__, 'site' in sys.modules)"
    )
    run = subprocess.run(
        [os.path.realpath(sys.executable), "-I", "-S", "-c",
         f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.split() == [f"{tmp_path}/parquet_bloom/__init__.py", "False"]


def test_the_name_depends_on_the_content_alone(monkeypatch, tmp_path):
    first, name = shipping._archive({"a": b"1", "b": b"2"})
    monkeypatch.setattr(shipping, "_folder", lambda: tmp_path)
    second, same = shipping._archive({"a": b"1", "b": b"2"})
    assert (first != second, name) == (True, same)
    assert first.read_bytes() == second.read_bytes()
    others = [{"a": b"1", "b": b"3"}, {"a": b"12", "b": b""}, {"ab": b"1", "": b"2"}]
    assert name not in [shipping._archive(other)[1] for other in others]


def test_a_package_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(shipping, "DEPENDENCIES", ("no-such-package",))
    with pytest.raises(SparkError, match=r"^no-such-package: is not installed, expected it"):
        shipping.ship(Session())


def test_a_package_without_a_list_of_files(monkeypatch):
    class Bare:
        files = None

    monkeypatch.setattr(shipping, "distribution", lambda name: Bare)
    with pytest.raises(SparkError, match=r"^cramjam: its installation has no list of files"):
        shipping.ship(Session())


def test_a_file_that_has_gone(monkeypatch, tmp_path):
    gone = tmp_path / "gone.py"
    monkeypatch.setattr(shipping, "_recorded", lambda package: [("gone.py", gone)])
    with pytest.raises(SparkError) as raised:
        shipping.ship(Session())
    assert (
        str(raised.value) == f"{gone}: is part of the installation, but: No such file or directory"
    )


def test_a_worker_that_has_loaded_another_version(tmp_path):
    """Spark uses Python workers again: what one has imported stays."""
    code = (
        "import sys, parquet_bloom\n"
        "from pyspark import SparkFiles\n"
        "from parquet_bloom.spark.request import on_executor\n"
        f"SparkFiles._root_directory, SparkFiles._is_running_on_worker = {str(tmp_path)!r}, True\n"
        "list(on_executor('json', 'dumps', {}, 'archive')([]))\n"
    )
    (tmp_path / "archive" / "parquet_bloom").mkdir(parents=True)
    (tmp_path / "archive" / "parquet_bloom" / "__init__.py").touch()
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr.splitlines()[-1] == (
        f"ImportError: {os.path.realpath(parquet_bloom.__file__)}: was already loaded by this"
        " Python worker, expected what was shipped: ship before the first job of an application"
    )
