"""S3 Inventory: the objects of a bucket as S3 lists them every day or week, without a LIST.

`manifest.json` names the files of an inventory, all of one format:

    CSV       without a header; `fileSchema` names the columns; keys are URL-encoded, spaces as `+`
    Parquet   columns have names as `last_modified_date`
    ORC       the same

    {"sourceBucket": "lake", "destinationBucket": "arn:aws:s3:::inventories", "fileFormat": "CSV",
     "fileSchema": "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, LastModifiedDate, ETag",
     "files": [{"key": "lake/daily/data/939c6d46.csv.gz", "size": 56291, "MD5checksum": "…"}]}

Of all objects, those count that are found in a folder, too: Parquet and ORC files that are not
hidden. Old versions and delete markers do not.

A table with columns `path`, and perhaps `size`, `etag` and `modified`, is read like one, and each row
counts.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/storage-inventory-location.html and
storage-inventory.html there; for the `+`, https://github.com/cloud-custodian/cloud-custodian/issues/1997.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from csv import reader
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote_plus

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, orc
from pyarrow import parquet as pq

from parquet_bloom.errors import FormatError
from parquet_bloom.storage.address import UNESCAPED, Listed, in_same_store
from parquet_bloom.storage.batch import Batch, moment_of
from parquet_bloom.storage.source import is_data_file, is_hidden, is_url
from parquet_bloom.storage.stream import decompressed, open_stream

if TYPE_CHECKING:
    from typing import BinaryIO

# What columns are called here, and by S3 in CSV, but for capitals and in Parquet for underscores.
_COLUMNS: Final = {
    "path": "path",
    "bucket": "bucket",
    "key": "key",
    "size": "size",
    "etag": "etag",
    "modified": "modified",
    "lastmodifieddate": "modified",
    "islatest": "is_latest",
    "isdeletemarker": "is_delete_marker",
}

# The first columns of every inventory, and of one of all versions. Which others there are, only
# manifest.json says.
_FIRST: Final = ("Bucket", "Key")
_OF_VERSIONS: Final = (*_FIRST, "VersionId", "IsLatest", "IsDeleteMarker")

# What is known of files, by what it is called here.
_Columns = dict[str | None, Any]

# How many rows of Parquet are decoded at a time, and bytes of CSV.
_ROWS: Final = 50_000
_CSV_BYTES: Final = 4 << 20


def batches_of_rows(name: str, stream: BinaryIO, head: bytes) -> Iterator[Batch]:
    """The files in the rows of a table; `head`: its first bytes. Raises FormatError, OSError."""
    if head.startswith(b"PAR1"):
        return _batches(name, _parquet(stream))
    if head.startswith(b"ORC"):
        return _batches(name, _orc(stream))
    return _batches(name, _csv(stream, _names_in(stream)), are_escaped=True)


def batches_of_inventory(
    name: str, document: bytes, options: Mapping[str, str] | None
) -> Iterator[Batch]:
    """The files in all tables of an inventory; `document`: its manifest.json. Raises FormatError,
    OSError."""
    try:
        found = json.loads(document)
        kind, schema = str(found["fileFormat"]).lower(), str(found["fileSchema"])
        bucket = str(found["destinationBucket"]).rpartition(":")[2]
        keys = [str(file["key"]) for file in found["files"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        expected = (
            "expected the manifest.json of an S3 Inventory, or a line with a path for each file"
        )
        raise FormatError(f"{name}: {expected}") from None
    if kind not in ("csv", "orc", "parquet"):
        raise FormatError(f"{name}: fileFormat: expected CSV, ORC or Parquet, found {kind}")
    for key in keys:
        place = _located(name, bucket, key)
        with closing(open_stream(place, options)) as stream:
            if kind == "csv":
                columns = [each.strip() for each in schema.split(",")]
                yield from _batches(place, _csv(decompressed(stream), columns), are_escaped=True)
            else:
                yield from _batches(place, _parquet(stream) if kind == "parquet" else _orc(stream))


def _located(name: str, bucket: str, key: str) -> str:
    """Where a table is that a manifest.json names: in the bucket or, beside a local manifest.json, where a
    copy of the inventory has it."""
    if not is_url(name):
        folder, file = os.path.dirname(name), os.path.basename(key)
        for place in (os.path.join(folder, file), os.path.join(folder, os.pardir, "data", file)):
            if os.path.exists(place):
                return place
    return in_same_store(name, f"s3://{bucket}/{quote(key, safe=UNESCAPED)}")


# ------------------------------------------------------------------------------------------------
# Tables in batches


def _parquet(stream: BinaryIO) -> Iterator[pa.RecordBatch]:
    file = pq.ParquetFile(stream)
    yield from file.iter_batches(_ROWS, columns=_wanted(file.schema_arrow.names))


def _orc(stream: BinaryIO) -> Iterator[pa.RecordBatch]:
    file = orc.ORCFile(stream)
    for stripe in range(file.nstripes):
        yield file.read_stripe(stripe, columns=_wanted(file.schema.names))


def _csv(stream: BinaryIO, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """`columns`: all that there are; what is after a header has been read."""
    yield from csv.open_csv(
        stream,
        csv.ReadOptions(use_threads=False, block_size=_CSV_BYTES, column_names=list(columns)),
        csv.ParseOptions(newlines_in_values=False),
        csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()) | _sizes(columns),
            include_columns=_wanted(columns),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )


def _sizes(columns: Sequence[str]) -> dict[str, pa.DataType]:
    return {each: pa.int64() for each in columns if _word(each) == "size"}


def _names_in(stream: Any) -> Sequence[str]:
    """The columns of a CSV file without a manifest.json: from its header, which is read, or as every
    inventory begins."""
    line = stream.peek(1).split(b"\n", 1)[0].rstrip(b"\r")
    values = next(reader([line.decode()]), [])
    if {"path", "key"} & {_word(each) for each in values}:
        stream.readline()
        return values
    first_columns = _OF_VERSIONS if _is_of_versions(values) else _FIRST
    others = [f"column {number}" for number in range(len(first_columns), len(values))]
    return [*first_columns, *others][: len(values)]


def _is_of_versions(values: Sequence[str]) -> bool:
    return len(values) >= len(_OF_VERSIONS) and {*map(str.lower, values[3:5])} <= {"true", "false"}


def _word(column: str) -> str | None:
    """What a column is called here; None for one that says nothing of use."""
    return _COLUMNS.get(column.replace("_", "").lower())


def _wanted(columns: Sequence[str]) -> list[str]:
    return [column for column in columns if _word(column) is not None]


# ------------------------------------------------------------------------------------------------
# From rows to files


def _batches(
    name: str, tables: Iterator[pa.RecordBatch], are_escaped: bool = False
) -> Iterator[Batch]:
    """`are_escaped`: whether keys are URL-encoded."""
    try:
        for table in tables:
            columns = {_word(each): table.column(each) for each in _wanted(table.schema.names)}
            if "path" in columns:
                yield _of_paths(name, columns)
            elif {"bucket", "key"} <= columns.keys():
                yield _of_objects(name, columns, unquote_plus if are_escaped else str)
            else:
                expected = "expected a column path, or columns Bucket and Key"
                raise FormatError(f"{name}: {expected}")
    except pa.ArrowException as error:
        raise FormatError(f"{name}: {str(error).splitlines()[0]}") from None


def _of_paths(name: str, columns: _Columns) -> Batch:
    paths = columns["path"].cast(pa.string()).to_pylist()
    if not all(paths):
        raise FormatError(f"{name}: expected a path in each row, found one without")
    return Batch(paths, partial(_listed, name, _facts(columns)))


def _of_objects(name: str, columns: _Columns, decoded: Callable[[str], str]) -> Batch:
    columns = _live(columns)
    paths, rows = [], []
    pairs = zip(columns["bucket"].to_pylist(), columns["key"].to_pylist(), strict=True)
    for row, (bucket, escaped) in enumerate(pairs):
        key = decoded(escaped)
        if is_data_file(key.rpartition("/")[2]) and not _is_hidden(key):
            paths.append(f"s3://{bucket}/{quote(key, safe=UNESCAPED)}")
            rows.append(row)
    facts = _facts(columns)
    return Batch(paths, lambda index: _listed(name, facts, rows[index]))


def _live(columns: _Columns) -> _Columns:
    """The rows of objects that are there."""
    wanted = pc.is_valid(columns["key"])
    for word, flag in (("is_latest", "true"), ("is_delete_marker", "false")):
        if word in columns:
            wanted = pc.and_(wanted, pc.equal(pc.utf8_lower(columns[word].cast(pa.string())), flag))
    return {word: column.filter(wanted) for word, column in columns.items()}


def _is_hidden(key: str) -> bool:
    below = f"/{key}"
    return ("/_" in below or "/." in below) and any(map(is_hidden, key.split("/")))


def _facts(columns: _Columns) -> _Columns:
    """What is known of files, as Python can have it."""
    facts: _Columns = {
        word: columns[word] for word in ("size", "etag", "modified") if word in columns
    }
    if "size" in facts:
        facts["size"] = facts["size"].cast(pa.int64())
    if "modified" in facts and pa.types.is_timestamp(facts["modified"].type):
        zone = facts["modified"].type.tz
        facts["modified"] = facts["modified"].cast(pa.timestamp("us", zone), safe=False)
    return facts


def _listed(name: str, facts: _Columns, row: int) -> Listed:
    found = {word: column[row].as_py() for word, column in facts.items()}
    try:
        modified = moment_of(found.get("modified"))
    except ValueError:
        problem = f"modified: expected a time in ISO 8601, found {found['modified']!r}"
        raise FormatError(f"{name}: {problem}") from None
    return Listed(found.get("size"), found.get("etag"), modified)
