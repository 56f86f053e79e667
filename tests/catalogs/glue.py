"""AWS Glue with tables in S3, as ministack has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import boto3
from make.ministack import running_ministack

TITLE = f"Glue and S3 of ministack {version('ministack')}"


@contextmanager
def running(folder: Path) -> Iterator[Mapping[str, str]]:
    """PyIceberg's settings of the catalog, whose tables are in a bucket."""
    with running_ministack("s3,glue") as options:
        keys = {
            "aws_access_key_id": options["access_key_id"],
            "aws_secret_access_key": options["secret_access_key"],
            "region_name": options["region"],
        }
        boto3.client("s3", endpoint_url=options["endpoint"], **keys).create_bucket(Bucket="lake")
        yield {
            "type": "glue",
            "warehouse": "s3://lake/ware house",
            "glue.endpoint": options["endpoint"],
            "s3.endpoint": options["endpoint"],
            "client.region": options["region"],
            "client.access-key-id": options["access_key_id"],
            "client.secret-access-key": options["secret_access_key"],
        }
