"""A second opinion on what S3 is: ministack, an emulator by others that honours conditions."""

import time

import boto3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from make.ministack import running_ministack
from make.servers import PATIENCE_SECONDS

import parquet_bloom as pb
from parquet_bloom.storage import open_source, with_options
from parquet_bloom.storage.objects import s3_client
from parquet_bloom.storage.objects.s3_adapter import unfinished_uploads
from parquet_bloom.storage.paths import expand

FIXTURE = FIXTURES / "pyarrow_filters.parquet"
URL = "s3://lake/day=1/a%20b%25.parquet"
KEY = "day=1/a b%.parquet"


@pytest.fixture(scope="module")
def options():
    """What reaches a server with the bucket `lake`."""
    with running_ministack("s3") as found:
        yield found


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


@pytest.fixture
def large(bucket, tmp_path):
    """An object of more than the 5 MiB of a part, with all that an object has besides."""
    noise = np.random.default_rng(1).integers(0, 1 << 60, (2, 500_000))
    table = pa.table({"a": noise[0], "b": noise[1]})
    pq.write_table(table, tmp_path / "x", use_dictionary=False, compression="none")
    data = (tmp_path / "x").read_bytes()
    assert len(data) > 5 << 20
    bucket.put_object(Bucket="lake", Key=KEY, Body=data, Tagging="team=a%20b", **PROPERTIES)
    return data


PROPERTIES = {
    "ContentType": "application/x-parquet",
    "CacheControl": "max-age=60",
    "Metadata": {"who": "me"},
    "StorageClass": "STANDARD_IA",
}


@pytest.mark.parametrize("is_aws", [True, False], ids=["checksums", "no checksums"])
def test_what_is_changed_in_place_keeps_what_is_said_of_it(
    bucket, options, large, monkeypatch, is_aws
):
    monkeypatch.setattr(s3_client, "_is_aws", lambda endpoint: is_aws)
    report = pb.build(URL, columns=["a"], in_place=True, storage_options=options)
    assert report.requests.bytes_up == report.bytes_added
    assert pb.validate(URL, storage_options=options).ok
    found = bucket.head_object(Bucket="lake", Key=KEY)
    assert {name: found[name] for name in PROPERTIES} == PROPERTIES
    tags = bucket.get_object_tagging(Bucket="lake", Key=KEY)["TagSet"]
    assert tags == [{"Key": "team", "Value": "a b"}]
    pb.strip(URL, in_place=True, storage_options=options)
    assert bucket.get_object(Bucket="lake", Key=KEY)["Body"].read() == large
    assert [
        each["Key"] for each in bucket.list_objects_v2(Bucket="lake", Prefix="day")["Contents"]
    ] == [KEY]
    assert "Uploads" not in bucket.list_multipart_uploads(Bucket="lake")


def test_what_others_write_meanwhile_is_not_lost(bucket, options, large, monkeypatch):
    ask = s3_client.S3Client.ask

    def late(client, operation, *given, **more):
        if operation == "complete_multipart_upload" and more.get("Key", KEY) == KEY:
            bucket.put_object(Bucket="lake", Key=KEY, Body=b"other")
        return ask(client, operation, *given, **more)

    monkeypatch.setattr(s3_client.S3Client, "ask", late)
    with pytest.raises(
        pb.RewriteError, match="changed by another writer while it was read: nothing"
    ):
        pb.build(URL, columns=["a"], in_place=True, storage_options=options)
    assert bucket.get_object(Bucket="lake", Key=KEY)["Body"].read() == b"other"
    assert "Uploads" not in bucket.list_multipart_uploads(Bucket="lake")


def test_no_bucket(options):
    with pytest.raises(FileNotFoundError) as raised:
        pb.inspect("s3://nothing/x.parquet", storage_options=options)
    assert raised.value.strerror == "no bucket nothing"


def test_uploads_that_nobody_finished(bucket, options):
    """Of any age, as none here is old: dates in headers have no fractions of seconds."""
    url = with_options("s3://lake/day=1", options)
    for key in (KEY, "day=1/new.parquet", "day=10/a.parquet"):
        number = bucket.create_multipart_upload(Bucket="lake", Key=key)["UploadId"]
        where = {"Bucket": "lake", "Key": key, "UploadId": number}
        bucket.upload_part(**where, PartNumber=1, Body=b"12345")
    (left,) = unfinished_uploads(url, -1.0)
    assert (left.path, left.size, left.kind) == (URL, 5, "upload")
    assert abs(left.since - time.time()) < PATIENCE_SECONDS
    assert list(unfinished_uploads(url, PATIENCE_SECONDS)) == []
    left.remove()
    assert list(unfinished_uploads(url, -1.0)) == []
    with pytest.raises(FileNotFoundError):
        left.remove()
    kept = bucket.list_multipart_uploads(Bucket="lake")["Uploads"]
    assert [each["Key"] for each in kept] == ["day=1/new.parquet", "day=10/a.parquet"]
