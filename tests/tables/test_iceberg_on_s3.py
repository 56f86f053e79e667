"""Iceberg tables whose files are in S3: what the catalog tells PyIceberg of the store reaches our reading
and writing of them, too; and what becomes of objects that others change before the commit."""

import json

import polars as pl
import pyarrow.compute as pc
import pytest
from make.commands import outcome
from make.delta_tables import rows_of
from make.iceberg_rest import rest_catalog
from make.iceberg_tables import CATALOG, NAME, build, live, load, make_table, strip, use_catalog
from make.object_server import SECRET
from oracle.iceberg_readers import by_pyiceberg

import parquet_bloom as pb
from parquet_bloom.tables.iceberg.stores import options_for

WAREHOUSE = "s3://lake/ware house"


def store(s3):
    """As PyIceberg's configuration has it."""
    return {
        "s3.endpoint": s3.endpoint,
        "s3.region": "us-east-1",
        "s3.access-key-id": "KEY",
        "s3.secret-access-key": SECRET,
    }


@pytest.fixture
def sql(s3, tmp_path, monkeypatch):
    """An SQL catalog with the credentials in its configuration."""
    settings = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": WAREHOUSE}
    use_catalog(tmp_path, monkeypatch, settings=settings | store(s3))


@pytest.fixture
def rest(s3, tmp_path, monkeypatch):
    """A REST catalog that hands them out with each table."""
    with rest_catalog(tmp_path, WAREHOUSE, **store(s3)).running() as catalog:
        settings = {"type": "rest", "uri": catalog.uri}
        use_catalog(tmp_path, monkeypatch, settings=settings)
        yield catalog


def check_sizes(s3):
    assert live() == {name: len(s3.objects[name.removeprefix("s3://")]) for name in live()}


def check_all(s3):
    """Build, strip, build, and ask."""
    table = load()
    expected, before = by_pyiceberg(table), live()
    report = build()
    assert {file.action for file in report.files} == {"appended"}
    assert report.committed is not None
    check_sizes(s3)
    assert build().committed is None
    strip()
    assert live() == before
    build()
    assert all(by_pyiceberg(load(), each.snapshot_id) == expected for each in load().snapshots())
    place = (NAME, "--table", "auto", "--catalog", CATALOG)
    value = rows_of(5, 1)["id"][0].as_py()
    result = outcome("probe", *place, "-c", "id", "-v", value)
    assert result.code == 0
    assert "maybe row group 0, 100 rows to read" in result.stdout
    assert outcome("probe", *place, "-c", "id", "-v", "no one at all").code == 1
    assert outcome("validate", *place, "--no-config", "--require", "id").code == 0
    assert SECRET not in outcome("inspect", *place, "--json").output


def test_what_the_configuration_has(s3, sql):
    make_table(commits=1)
    check_all(s3)


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["config", "credentials"])
def test_what_the_catalog_hands_out(s3, rest, how):
    if how == "config":
        rest.config = store(s3)
    else:
        rest.credentials = [{"prefix": "s3://lake/", "config": store(s3)}]
    make_table(commits=1)
    check_all(s3)


def test_a_folder_without_its_catalog(s3, sql):
    """`pbloom build FOLDER`, with options of the store; a key with a space."""
    place = make_table(commits=1).location()
    options = [f"--storage-option={name}={value}" for name, value in s3.options.items()]
    result = outcome(
        "build", place, "--table", "iceberg", "-c", "id", "--all-sizes", "--no-commit", *options
    )
    assert result.code == 0, result
    assert "2 files: 2 appended" in result.stdout
    assert outcome("probe", place, "--table", "auto", "-c", "id", "-v", "x", *options).code == 0
    report = build()
    assert {file.action for file in report.files} == {"appended before"}
    check_sizes(s3)


def test_options_go_before_what_the_catalog_has(s3, sql):
    make_table(commits=1)
    place = (NAME, "--table", "auto", "--catalog", CATALOG, "-c", "id", "-v", "x")
    for options in ({"endpoint": "http://127.0.0.1:1"}, {"aws_endpoint_url": "http://127.0.0.1:1"}):
        given = [f"--storage-option={name}={value}" for name, value in options.items()]
        result = outcome("probe", *place, *given)
        assert result.code == 2
        assert "Connection refused" in result.complaint
        files = build(storage_options=options).files
        assert {file.action for file in files} == {"failed"}
        assert all("Connection refused" in file.reason for file in files)


@pytest.mark.parametrize("change", ["older", "gone"])
def test_objects_that_others_change_before_the_commit(s3, sql, change):
    """What is recorded must be there: a longer record than its file is unreadable for many."""
    make_table(commits=1)
    before = dict(s3.objects)
    report = build(commit=False)
    name = report.files[0].file
    recorded = live()
    key = name.removeprefix("s3://")

    def meddle(done, of_all):
        if done == of_all and change == "older":
            s3.put(key, before[key])
        elif done == of_all:
            s3.objects.pop(key, None)

    report = build(progress=meddle)
    files = {file.file: file for file in report.files}
    assert files[name].action == "gone"
    assert files[name].reason == "is shorter now than it was, or gone"
    (other,) = files.keys() - {name}
    assert live() == {name: recorded[name], other: files[other].size}


# ------------------------------------------------------------------------------------------------
# Which options come of which properties

KEYS = {"s3.access-key-id": "K", "s3.secret-access-key": "S", "s3.session-token": "T"}
OURS = {"access_key_id": "K", "secret_access_key": "S", "session_token": "T"}


@pytest.mark.parametrize(
    ("properties", "given", "expected"),
    [
        (KEYS, {}, OURS),
        (
            KEYS | {"client.access-key-id": "other", "client.region": "x"},
            {},
            OURS | {"region": "x"},
        ),
        # Not the token of other keys.
        (
            KEYS | {"s3.region": "x"},
            {"aws_access_key_id": "A"},
            {"region": "x", "aws_access_key_id": "A"},
        ),
        (KEYS, {"skip_signature": "true"}, {"skip_signature": "true"}),
        (KEYS, {"timeout": "9s"}, OURS | {"timeout": "9s"}),
        ({"s3.endpoint": "localhost:9000"}, {}, {"endpoint": "https://localhost:9000"}),
        ({"s3.anonymous": "True"}, {}, {"skip_signature": "true"}),
        ({"s3.endpoint": ""}, {}, {}),
        # Options that say something else are the user's word.
        ({"s3.role-arn": "arn"}, {"region": "x"}, {"region": "x"}),
        ({"adls.account-key": "K", "gcs.oauth2.token": "T"}, {}, {}),
    ],
)
def test_options_of_s3(properties, given, expected):
    assert options_for(NAME, "s3://lake/a", properties, given) == expected


def test_options_of_other_stores():
    azure = {"adls.account-name": "A", "adls.sas-token": "S", "adls.tenant-id": "T"}
    options = {"account_name": "A", "sas_key": "S", "tenant_id": "T"}
    assert options_for(NAME, "abfss://c@a.dfs.core.windows.net/a", azure, {}) == options
    assert options_for(NAME, "/local/file", KEYS, {}) == {}
    given = {"azure_account_key": "K"}
    assert options_for(NAME, "abfss://c@a/x", azure, given) == {"account_name": "A"} | given


@pytest.mark.parametrize(
    ("url", "properties", "named", "expected"),
    [
        (
            "s3://lake/a",
            {"s3.role-arn": "arn", "s3.profile-name": "me"},
            "s3.role-arn and s3.profile-name",
            "AWS_ACCESS_KEY_ID or AWS_PROFILE",
        ),
        (
            "gs://lake/a",
            {"gcs.oauth2.token": "secret"},
            "gcs.oauth2.token",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ),
        (
            "abfss://lake@a/a",
            {"adls.connection-string": "secret"},
            "adls.connection-string",
            "AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY or AZURE_STORAGE_TOKEN",
        ),
    ],
)
def test_properties_that_are_not_followed(url, properties, named, expected, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(pb.UnsupportedError) as raised:
        options_for(NAME, url, properties, {})
    assert str(raised.value) == (
        f"{NAME}: its catalog has {named}, which pbloom does not follow: set {expected} in the environment"
    )
    monkeypatch.setenv("AWS_PROFILE", "me")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "file")
    monkeypatch.setenv("AZURE_STORAGE_SAS_KEY", "key")
    assert options_for(NAME, url, properties, {}) == {}


@pytest.mark.parametrize("catalog", ["sql", "rest"])
def test_every_read_has_what_the_catalog_says(s3, catalog, request, tmp_path, monkeypatch):
    """Nothing in the environment, and no options."""
    found = request.getfixturevalue(catalog)
    if found is not None:
        found.config = store(s3)
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    make_table(commits=1)
    view = pb.TableView(kind="iceberg", catalog=CATALOG)
    value = rows_of(5, 1)["id"][0].as_py()
    wanted = {"id": value}
    assert pb.rows(NAME, wanted, table=view).num_rows == 1
    assert len(pb.find(NAME, "id", value, table=view).rows) == 1
    assert pb.row_groups(NAME, wanted, table=view).num_rows
    dataset = pb.dataset(NAME, wanted, table=view)
    assert dataset.filter(pc.field("id") == value).count_rows() == 1
    source = pb.polars_source(NAME, table=view)
    assert source.filter(pl.col("id") == value).collect().height == 1
    index, asked = str(tmp_path / "index"), ("-c", "id", "-v", value, "--json")
    table = (NAME, "--table", "iceberg", "--catalog", CATALOG)
    assert outcome("index", "build", *table, "-c", "id", "--index", index).code == 0
    result = outcome("index", "probe", *table, *asked, "--index", index)
    assert (result.code, result.stderr) == (0, ""), result
    assert json.loads(result.stdout)["results"][0]["verdict"] == "maybe"
    assert outcome("find", *asked, "--index", index).code == 0
    assert outcome("index", "add", "--index", index).code == 0
    result = outcome("index", "check", "--index", index)
    assert (result.code, result.stderr) == (0, ""), result
    assert pb.rows(None, wanted, index=index).num_rows == 1
