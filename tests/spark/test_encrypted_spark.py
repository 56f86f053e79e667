"""Spark writes encrypted tables, their files get filters in place, and Spark, which has run on, reads
the rows that it wrote; by the filters alone it skips the row groups that do not have a value.
"""

import base64
import json
import os
from itertools import product

import pytest
from conftest import IS_LONG, missing
from make import spark_encryption
from make.commands import outcome
from make.kms_lab import secret_of
from make.spark_encryption import (
    MASTER_KEYS,
    PROPERTIES,
    ROW_GROUP,
    ROWS,
    look_up,
    open_view,
    sql,
    write,
)
from oracle.parquet_java import ParquetJava

import parquet_bloom as pb
from parquet_bloom.container import OneFilter
from parquet_bloom.files import open_file

pytestmark = [pytest.mark.cluster, pytest.mark.interop]

KEYS = pb.Keys(master_keys=MASTER_KEYS)
COLUMNS = ["id", "name", "amount", "place.city", "tags.list.element"]
# Spark does not push down what it asks of a list.
ASKED = {
    "id": ("id = 274", "id = 275"),
    "name": ("name = 'user 274'", "name = 'user 275'"),
    "amount": ("amount = 68.5D", "amount = 68.75D"),
    "place.city": ("place.city = 'city 274'", "place.city = 'city 275'"),
}
WITHOUT_FILTERS = {"parquet.filter.bloom.enabled": "false"}

COLUMN_KEYS = {
    "footer.key": "footer",
    "column.keys": "users:id,name;places:place.city,tags.list.element",
}
KEYS_OF = {
    "column keys": COLUMN_KEYS,
    "column keys and the footer key": {**COLUMN_KEYS, "complete.columns": "true"},
    "uniform key": {"uniform.key": "footer"},
}
# Which columns are encrypted, and how many keys do it.
ENCRYPTED = {
    "column keys": (set(COLUMNS) - {"amount"}, 4),
    "column keys and the footer key": (set(COLUMNS), 5),
    "uniform key": (set(COLUMNS), 1),
}


def properties(**settings):
    return {f"parquet.encryption.{name}": value for name, value in settings.items()}


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    if not ParquetJava.is_here():
        missing(ParquetJava.needs)
    with spark_encryption.spark(tmp_path_factory.mktemp("spark")) as call:
        yield call


def files_of(*tables):
    return [path for table in tables for path in sorted(table.glob("*.parquet"))]


def check_look_ups(spark, tables, columns):
    """Each table has the row once; one row group of each is scanned, or none if there is no row."""
    rows, count = sorted((table.name, 274) for table in tables), len(tables)
    assert spark(look_up, tables, "id = 274", WITHOUT_FILTERS) == (rows, ROWS * count)
    for present, absent in (ASKED[column] for column in columns):
        assert spark(look_up, tables, present, {}) == (rows, ROW_GROUP * count), present
        assert spark(look_up, tables, absent, {}) == ([], 0), absent


# ------------------------------------------------------------------------------------------------
# Every mode


ALGORITHMS = ("AES_GCM_V1", "AES_GCM_CTR_V1")
BITS, MATERIAL, WRAPPING = ("128", "256"), ("internal", "external"), ("double", "single")
FOOTERS = ("encrypted footer", "plaintext footer")
# Footer and columns have a key each, but for one column that is not encrypted.
MOST_INVOLVED = ("encrypted footer", "column keys")


def ways_with(footer, keys):
    """Two ways of sixteen: with those of the other keys and the other footer, any two of the six meet
    as they can, and nearly any three. `make cluster` has all sixteen with each."""
    number = list(KEYS_OF).index(keys)
    half = (FOOTERS.index(footer) + number) % 2
    return [
        (ALGORITHMS[a], BITS[b], MATERIAL[c], WRAPPING[d])
        for a, b, c, d in product(range(2), repeat=4)
        if ((a + b) % 2 == (c + d) % 2 == half and (a + c) % 2 == number // 2)
        or os.environ.get("PBLOOM_CLUSTER") == "full"
    ]


def write_in_each_way(spark, folder, ways, footer, keys):
    """Tables, one for each of the ways."""
    tables = [folder / "_".join(way) for way in ways]
    for table, (algorithm, bits, material, wrapping) in zip(tables, ways, strict=True):
        settings = {
            **KEYS_OF[keys],
            "plaintext.footer": str(footer == "plaintext footer").lower(),
            "algorithm": algorithm,
            "data.key.length.bits": bits,
            "key.material.store.internally": str(material == "internal").lower(),
            "double.wrapping": str(wrapping == "double").lower(),
        }
        spark(write, table, properties(**settings))
    return tables


def check_mode(path, way, footer, keys):
    """The file is what Spark was told to write, and filters are encrypted as their columns are."""
    algorithm, bits, material, wrapping = way
    stored = path.read_bytes()
    assert stored[:4] == stored[-4:] == (b"PAR1" if footer == "plaintext footer" else b"PARE")
    beside = path.with_name(f"_KEY_MATERIAL_FOR_{path.name}.json")
    assert beside.exists() == (material == "external")
    stored += beside.read_bytes() if beside.exists() else b""
    assert (b"keyEncryptionKeyID" in stored) == (wrapping == "double")
    with open_file(path, KEYS) as file:
        assert file.footer.protection.has_untagged_pages == (algorithm == "AES_GCM_CTR_V1")
        chunks = {name: file.chunk(0, name) for name in file.columns}
    secrets = {secret_of(each.modules.key) for each in chunks.values() if each.has_crypto_metadata}
    assert {len(secret) for secret in secrets} == {int(bits) // 8}
    filters = pb.inspect(path, keys=KEYS).row_groups[0].columns
    encrypted = {each.column for each in filters if each.filter.encrypted}
    assert (encrypted, len(secrets)) == ENCRYPTED[keys]


@pytest.mark.parametrize(
    ("footer", "keys"), list(product(FOOTERS, KEYS_OF)) if IS_LONG else [MOST_INVOLVED]
)
def test_every_mode(spark, footer, keys, tmp_path):
    ways = ways_with(footer, keys)
    tables = write_in_each_way(spark, tmp_path, ways, footer, keys)
    spark(open_view, tables, {})
    before = spark(sql, "SELECT * FROM view")
    assert len(before) == ROWS * len(ways)
    assert spark(look_up, tables, "id = 274", {})[1] == ROWS * len(ways)
    for path, way in zip(files_of(*tables), ways, strict=True):
        report = pb.build(path, columns=COLUMNS, in_place=True, fpp=0.001, keys=KEYS)
        assert len(report.filters) == len(COLUMNS) * ROWS // ROW_GROUP
        check_mode(path, way, footer, keys)
    assert spark(sql, "SELECT * FROM view") == before
    spark(open_view, tables, {})
    assert spark(sql, "SELECT * FROM view") == before
    check_look_ups(spark, tables, ASKED)


# ------------------------------------------------------------------------------------------------
# As people work


MASTER_KEY_OPTIONS = [
    f"--master-key={name}=base64:{base64.b64encode(key).decode()}"
    for name, key in MASTER_KEYS.items()
]
# Spark keeps a client, and the key-encryption keys that it has wrapped, for each token.
CLIENTS = {
    "LabKms": {},
    "LabWrapKms": {"kms.client.class": "LabWrapKms", "key.access.token": "for LabWrapKms"},
}


@pytest.mark.every(2)
@pytest.mark.parametrize("given", ["master keys", "properties of the job"])
@pytest.mark.parametrize("client", CLIENTS)
def test_the_command(spark, client, given, tmp_path):
    """On a table of two files; with master keys as options, or with what the job was given."""
    own, table = properties(**CLIENTS[client]), tmp_path / "table"
    job = {**own, **properties(**COLUMN_KEYS)}
    for _ in range(2):
        spark(write, table, job)
    spark(open_view, [table], own)
    before = spark(sql, "SELECT * FROM view")
    for path in files_of(table):
        assert (b"encryptedKey" in path.read_bytes()) == (client == "LabWrapKms")
    settings, keys = tmp_path / "job.json", MASTER_KEY_OPTIONS
    if given == "properties of the job":
        whole = PROPERTIES | {f"spark.hadoop.{name}": value for name, value in job.items()}
        settings.write_text(json.dumps(whole))
        settings.chmod(0o600)
        keys = ["--keys", settings]
    columns = ["-c", ",".join(COLUMNS), "--fpp", "0.001"]
    built = outcome("build", *files_of(table), *columns, "--in-place", *keys)
    assert (built.code, built.stderr) == (0, "")
    assert spark(sql, "SELECT * FROM view") == before
    assert len(before) == 2 * ROWS
    found, scanned = spark(look_up, [table], "id = 274", own)
    assert (found, scanned) == ([("table", 274)] * 2, 2 * ROW_GROUP)


def test_a_table_of_the_catalogue(spark, tmp_path):
    """Its files get filters between two queries and an insertion, without REFRESH."""
    table = tmp_path / "table"
    spark(write, table, properties(**COLUMN_KEYS))
    settings = ", ".join(f"'{k}' = '{v}'" for k, v in properties(**COLUMN_KEYS).items())
    spark(sql, f"CREATE TABLE events USING parquet OPTIONS ({settings}) LOCATION '{table}'")
    before = spark(sql, "SELECT * FROM events")
    (path,) = files_of(table)
    pb.build(path, columns=COLUMNS, in_place=True, fpp=0.001, keys=KEYS)
    assert spark(sql, "SELECT * FROM events") == before
    spark(sql, "INSERT INTO events SELECT * FROM events WHERE id = 274")
    assert spark(sql, "SELECT name FROM events WHERE id = 274") == ["Row(name='user 274')"] * 2
    for path in files_of(table):
        assert path.read_bytes()[:4] == b"PARE"
        pb.build(path, columns=COLUMNS, in_place=True, fpp=0.001, keys=KEYS)
    twice = [row for row in before if "'user 274'" in row]
    assert len(before) == ROWS
    assert spark(sql, "SELECT * FROM events") == sorted(before + twice)
    assert spark(sql, "SELECT name FROM events WHERE id = 274") == ["Row(name='user 274')"] * 2
    assert spark(look_up, [table], "id = 274", {}) == ([("table", 274)] * 2, ROW_GROUP + 1)


@pytest.mark.every(2)
@pytest.mark.parametrize("footer", ["false", "true"], ids=FOOTERS)
def test_filters_of_spark_are_replaced(spark, footer, tmp_path):
    """Spark has made them for many more values than there are."""
    table = tmp_path / "table"
    own = {"parquet.bloom.filter.expected.ndv#id": "100000"}
    settings = {**COLUMN_KEYS, "plaintext.footer": footer}
    spark(write, table, {**properties(**settings), **own})
    spark(open_view, [table], {})
    before = spark(sql, "SELECT * FROM view")
    (path,) = files_of(table)
    sizes = []
    for _ in range(2):
        report = pb.validate(path, keys=KEYS)
        assert [found for found in report.findings if found.severity == "error"] == []
        assert report.checked.filters == ROWS // ROW_GROUP
        sizes.append(pb.inspect(path, keys=KEYS).row_groups[0].columns[0].filter.num_bytes)
        check_look_ups(spark, [table], ["id"])
        pb.build(path, columns=["id"], in_place=True, existing="replace", fpp=0.001, keys=KEYS)
    assert sizes == [131072, 256]
    assert spark(sql, "SELECT * FROM view") == before
    assert len(before) == ROWS


@pytest.mark.parametrize("footer", ["false", "true"], ids=FOOTERS)
def test_what_filters_exclude_is_not_read(spark, footer, tmp_path):
    """The other row groups do not open any more, and Spark finds the row all the same."""
    table = tmp_path / "table"
    spark(write, table, properties(**COLUMN_KEYS, **{"plaintext.footer": footer}))
    (path,) = files_of(table)
    pb.build(path, columns=["id"], in_place=True, fpp=0.001, keys=KEYS)
    data = bytearray(path.read_bytes())
    with open_file(path, KEYS) as file:
        for row_group in range(file.num_row_groups):
            chunk = file.chunk(row_group, "id")
            if not file.bloom_filter(OneFilter(row_group, "id")).check(274):
                start, size = chunk.data_page_offset, chunk.total_compressed_size
                data[start : start + size] = bytes(size)
    path.write_bytes(data)
    assert spark(look_up, [table], "id = 274", {}) == ([("table", 274)], ROW_GROUP)
    with pytest.raises(RuntimeError, match="FAILED_READ_FILE"):
        spark(look_up, [table], "id = 274", WITHOUT_FILTERS)
