"""Iceberg tables in AWS Glue, as ministack has it: a commit that a rival was before is refused by the
version of Glue's table, and made anew. `make catalogs` has them in S3, too."""

from functools import cache

import pytest
from make.commands import outcome
from make.delta_tables import rows_of
from make.iceberg_tables import (
    CATALOG,
    NAME,
    QUICKLY,
    build,
    live,
    load,
    make_table,
    path_of,
    strip,
    use_catalog,
)
from make.ministack import running_ministack
from oracle.iceberg_readers import by_pyiceberg
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.glue import GlueCatalog

import parquet_bloom as pb


@pytest.fixture
def catalog(tmp_path, monkeypatch):
    """Nothing but the catalog's configuration says who asks, and where."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    with running_ministack("glue") as options:
        settings = {
            "type": "glue",
            "warehouse": f"file://{tmp_path}/warehouse",
            "glue.endpoint": options["endpoint"],
            "client.region": options["region"],
            "client.access-key-id": options["access_key_id"],
            "client.secret-access-key": options["secret_access_key"],
        }
        use_catalog(tmp_path, monkeypatch, settings=settings)
        # To make a client of AWS takes long.
        monkeypatch.setattr("make.iceberg_tables.load_catalog", cache(load_catalog))
        yield


def check_sizes():
    """What is recorded is there."""
    assert live() == {name: path_of(name).stat().st_size for name in live()}


@pytest.mark.usefixtures("catalog")
def test_glue(monkeypatch):
    table = make_table(commits=1, properties=QUICKLY)
    expected, before = by_pyiceberg(table), live()
    report = build()
    assert (report.committed, {file.action for file in report.files}) == (
        load().current_snapshot().snapshot_id,
        {"appended"},
    )
    check_sizes()
    assert strip().committed is not None
    assert (live(), by_pyiceberg(load())) == (before, expected)
    # A rival commits after the table was read for the commit, and before it is made.
    update, rivals = GlueCatalog._update_glue_table, [rows_of(900, 50)]

    def after_a_rival(self, *arguments, **more):
        if rivals:
            load().append(rivals.pop())
        return update(self, *arguments, **more)

    monkeypatch.setattr(GlueCatalog, "_update_glue_table", after_a_rival)
    report = build()
    assert report.committed == load().current_snapshot().snapshot_id
    assert (len(by_pyiceberg(load())), rivals) == (350, [])
    check_sizes()
    place = (NAME, "--table", "auto", "--catalog", CATALOG, "-c", "id")
    value = rows_of(5, 1)["id"][0].as_py()
    assert "maybe row group 0" in outcome("probe", *place, "-v", value).stdout
    with pytest.raises(pb.RewriteError) as raised:
        pb.build_table("lake.nothing", catalog=CATALOG, columns="id")
    assert str(raised.value) == f"lake.nothing: no such table in the catalog {CATALOG}"
