"""What a store depends on besides its options, which whoever keeps one looks at again."""

import json

import pytest

from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.gcs_client import GoogleClient
from parquet_bloom.storage.store_environment import environment_of, place_of
from parquet_bloom.storage.store_kinds import STORE_BY_SCHEME
from parquet_bloom.storage.traffic import Traffic


@pytest.mark.parametrize(
    ("scheme", "variable", "counts"),
    [
        ("s3", "AWS_ENDPOINT_URL", True),
        ("s3", "AWS_SECRET_ACCESS_KEY", True),
        ("s3", "AWS_PROFILE", True),
        ("s3", "AZURE_STORAGE_SAS_KEY", False),
        ("gs", "GOOGLE_APPLICATION_CREDENTIALS", True),
        ("gs", "SERVICE_ACCOUNT", True),
        ("az", "AZURE_STORAGE_ACCOUNT_NAME", True),
        ("az", "IDENTITY_HEADER", True),
        ("https", "https_proxy", True),
        ("https", "SSL_CERT_FILE", True),
        ("https", "EDITOR", False),
    ],
)
def test_variables(scheme, variable, counts, monkeypatch):
    store = STORE_BY_SCHEME[scheme]
    monkeypatch.delenv(variable, raising=False)
    before = environment_of(store)
    monkeypatch.setenv(variable, "/x")
    assert (environment_of(store) != before) is counts
    monkeypatch.delenv(variable)
    assert environment_of(store) == before


@pytest.mark.parametrize(
    ("scheme", "name", "variable"),
    [
        ("s3", ".aws/credentials", "AWS_SHARED_CREDENTIALS_FILE"),
        ("s3", ".aws/config", "AWS_CONFIG_FILE"),
        (
            "gs",
            ".config/gcloud/application_default_credentials.json",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ),
    ],
)
@pytest.mark.parametrize("is_named", [False, True])
def test_files(scheme, name, variable, is_named, monkeypatch, tmp_path):
    store = STORE_BY_SCHEME[scheme]
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", "/nowhere" if is_named else str(tmp_path))
    if is_named:
        monkeypatch.setenv(variable, str(path))
    states = [environment_of(store)]
    for text in ("old", "newer"):
        path.write_text(text)
        states.append(environment_of(store))
    assert len({*states}) == 3
    assert environment_of(store) == states[-1]


def test_credentials_do_not_tell_places_apart(monkeypatch):
    def place(**options):
        return place_of(Address.of("az://lake/x.parquet", options))

    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    nowhere = place()
    assert place(sas_key="secret") == nowhere
    places = [nowhere, place(endpoint="http://a"), place(account_name="a")]
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "b")
    assert len({*places, place(), place(endpoint="http://a")}) == 5


def test_a_login_at_google_that_is_another(monkeypatch, tmp_path):
    path = tmp_path / "login.json"
    login = {"type": "authorized_user", "client_id": "a", "client_secret": "b"}
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))

    def token():
        client = GoogleClient(Address.of("gs://lake/x.parquet"), Traffic())
        return client._sender.signed.now().auth._credentials.refresh_token

    for each in ("old", "old", "newer"):
        path.write_text(json.dumps({**login, "refresh_token": each}))
        assert token() == each
