"""What others log at DEBUG of requests of ours: nothing that is a secret."""

import logging

import boto3
import pytest
from conftest import FIXTURES
from make.azure_server import KEY
from make.object_server import SECRET, Fault

import parquet_bloom as pb

OLD = (FIXTURES / "pyarrow_types.parquet").read_bytes()
TOKEN = "FwoGZXIvYXdzEBYaD"
SIGNED = "c2lnbmVk"

STORES = {
    "s3": ("s3", {"session_token": TOKEN}),
    "azure with a key": ("az", {}),
    "azure with a signature": ("az", {"account_key": "", "sas_key": f"sv=1&sig={SIGNED}"}),
    "google": ("gs", {}),
}


@pytest.fixture
def logged(caplog):
    """All that is logged."""
    caplog.set_level(1)
    return caplog


@pytest.mark.parametrize("name", STORES)
def test_secrets_are_in_no_log(request, logged, name):
    scheme, more = STORES[name]
    server = request.getfixturevalue({"s3": "s3", "az": "azure", "gs": "gcs"}[scheme])
    server.put("lake/x.parquet", OLD)
    options = {key: value for key, value in (server.options | more).items() if value}
    url = f"{scheme}://lake/x.parquet"
    pb.build(url, columns=["int64"], in_place=True, storage_options=options)
    assert len(server.objects["lake/x.parquet"]) > len(OLD)
    text = "\n".join(record.getMessage() for record in logged.records)
    for secret in (SECRET, TOKEN, KEY, SIGNED, "Signature=", "sig=", "upload_id="):
        assert secret not in text


CREDENTIALS = f"""
<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>OURS</AccessKeyId>
<SecretAccessKey>{SECRET}</SecretAccessKey><SessionToken>{TOKEN}</SessionToken>
<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>"""


def test_credentials_of_a_profile_are_in_no_log(s3, logged, tmp_path, monkeypatch):
    s3.put("lake/x.parquet", OLD)
    proof = tmp_path / "proof"
    proof.write_text(SIGNED)
    config = tmp_path / "config"
    config.write_text(
        f"[profile ours]\nrole_arn = arn:aws:iam::1:role/ours\nweb_identity_token_file = {proof}\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "ours")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", s3.endpoint)
    # To read, and to write.
    given = Fault(status=200, body=CREDENTIALS, kind="COMPLETE", times=2)
    s3.faults.append(given)
    options = {"endpoint": s3.endpoint, "region": "us-east-1"}
    pb.build("s3://lake/x.parquet", columns=["int64"], in_place=True, storage_options=options)
    assert given.times == 0
    assert len(s3.objects["lake/x.parquet"]) > len(OLD)
    text = "\n".join(record.getMessage() for record in logged.records)
    for secret in (SECRET, TOKEN, SIGNED):
        assert secret not in text


def test_what_others_ask_by_the_same_library_is_logged(s3, logged):
    s3.put("lake/x.parquet", OLD)
    pb.build("s3://lake/x.parquet", columns=["int64"], in_place=True, storage_options=s3.options)
    logged.clear()
    client = boto3.client(
        "s3",
        endpoint_url=s3.endpoint,
        region_name="us-east-1",
        aws_access_key_id="KEY",
        aws_secret_access_key="theirs",
    )
    client.head_object(Bucket="lake", Key="x.parquet")
    assert {"botocore.auth", "botocore.endpoint"} <= {record.name for record in logged.records}
    assert logging.getLogger("botocore.auth").isEnabledFor(logging.DEBUG)
