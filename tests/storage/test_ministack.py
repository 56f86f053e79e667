"""A second opinion on what S3 is: ministack, an emulator by others that honours conditions."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import boto3
import pytest
from conftest import FIXTURES, missing

import parquet_bloom as pb
from parquet_bloom.storage import open_source, with_options
from parquet_bloom.storage.paths import expand

FIXTURE = FIXTURES / "pyarrow_filters.parquet"
URL = "s3://lake/day=1/a%20b%25.parquet"
KEY = "day=1/a b%.parquet"
PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def options():
    """What reaches a server with the bucket `lake`."""
    program = shutil.which("ministack", path=Path(sys.executable).parent)
    if program is None:
        missing("ministack")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # By default it listens to everyone.
    environment = os.environ | {"BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(port)}
    environment |= {"SERVICES": "s3", "LOG_LEVEL": "ERROR"}
    with subprocess.Popen(
        [program], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            until = time.monotonic() + PATIENCE_SECONDS
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    assert time.monotonic() < until
                    time.sleep(0.05)
            yield {
                "endpoint": f"http://127.0.0.1:{port}",
                "region": "us-east-1",
                "access_key_id": "KEY",
                "secret_access_key": "secret",
            }
        finally:
            server.terminate()


@pytest.fixture
def bucket(options):
    client = boto3.client(
        "s3",
        endpoint_url=options["endpoint"],
        region_name=options["region"],
        aws_access_key_id=options["access_key_id"],
        aws_secret_access_key=options["secret_access_key"],
    )
    client.create_bucket(Bucket="lake")
    client.put_object(Bucket="lake", Key=KEY, Body=FIXTURE.read_bytes())
    return client


def test_it_reads_the_same(bucket, options):
    here = pb.inspect(FIXTURE)
    (found,), errors = expand(["s3://lake/day=*/"], options)
    assert (str(found.path), errors) == (URL, [])
    there = pb.inspect(found.path)
    assert (there.row_groups, there.requests.num_requests) == (here.row_groups, 1)
    probed = pb.probe(URL, "int64", [5, 7], storage_options=options)
    assert probed.results == pb.probe(FIXTURE, "int64", [5, 7]).results


def test_a_change_is_noticed(bucket, options):
    bucket.put_object(Bucket="lake", Key="x", Body=bytes(500_000))
    source = open_source(with_options("s3://lake/x", options))
    bucket.put_object(Bucket="lake", Key="x", Body=b"1" * 500_000)
    with pytest.raises(OSError, match="changed while it was read: read it again"):
        source.read_at(0, 10)


def test_what_is_changed_in_place_is_what_was_read(bucket, options, tmp_path):
    """Although another library writes it."""
    verb = {"columns": ["int64"], "existing": "replace"}
    pb.build(FIXTURE, tmp_path / "here.parquet", **verb)
    report = pb.build(URL, in_place=True, storage_options=options, **verb)
    assert report.output == URL
    stored = bucket.get_object(Bucket="lake", Key=KEY)["Body"].read()
    assert stored == (tmp_path / "here.parquet").read_bytes()
    with pytest.raises(OSError, match="storage option sse_kms_key_id: not supported where files"):
        pb.strip(URL, in_place=True, storage_options={**options, "sse_kms_key_id": "k"})


def test_no_bucket(options):
    with pytest.raises(FileNotFoundError) as raised:
        pb.inspect("s3://nothing/x.parquet", storage_options=options)
    assert raised.value.strerror == "no bucket nothing"
