"""Values of the example files of the ORC project, by many writers, against the rows that they are said
to hold, and against ORC C++ where it can read them."""

import gzip
import json
from datetime import datetime
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from conftest import SHARED
from pyarrow import orc

from parquet_bloom.files import open_file
from parquet_bloom.orc.columns import above
from parquet_bloom.orc.values import groups

EXAMPLES = SHARED / "data" / "orc-examples"
STEMS = sorted(path.name.removesuffix(".jsn.gz") for path in EXAMPLES.glob("*.jsn.gz"))
# LZO has no library; this one holds no objects, but text.
WITHOUT = {"TestVectorOrcFile.testLzo", "TestOrcFile.testTimestamp"}
PROXY = [stem for stem in STEMS if stem not in WITHOUT]

EPOCH = datetime(1970, 1, 1)


def raw(file, column):
    """All values of a column."""
    found = []
    for part in range(file.num_parts):
        (chunk,) = file.chunks(part, [column])
        for group in groups(file, chunk):
            values = group.values.tolist()
            assert group.num_values == len(values)
            found += values
    return found


def stored(file, column):
    """The same as in JSON."""
    found = raw(file, column)
    if column.kind == "BINARY":
        return [list(each) for each in found]
    return (
        [each.decode() for each in found] if column.kind in ("STRING", "VARCHAR", "CHAR") else found
    )


def below(values, path):
    """The values of the last column of a path, of those of the first."""
    for parent, column in pairwise(path):
        values = [each for each in values if each is not None]
        field = column.name.rpartition(".")[2]
        if parent.kind == "STRUCT":
            values = [each[field] for each in values]
        elif parent.kind == "UNION":
            values = [each["value"] for each in values if str(each["tag"]) == field]
        else:
            elements = [element for each in values for element in each]
            values = elements if parent.kind == "LIST" else [each[field[1:]] for each in elements]
    return [each for each in values if each is not None]


def seconds_and_nanos(text):
    whole, _, fraction = text.partition(".")
    return (datetime.fromisoformat(whole) - EPOCH).total_seconds(), int(fraction.ljust(9, "0"))


def expected_of(column, values):
    match column.kind:
        case "TIMESTAMP":
            return [seconds_and_nanos(each) for each in values]
        case "FLOAT":
            return [float(np.float32(each)) for each in values]
        case "DOUBLE":
            return [float(each) for each in values]
        case "DECIMAL":
            return [Decimal(each) for each in values]
        case "DATE":
            return [np.datetime64(each).astype(int) for each in values]
    return values


@pytest.mark.parametrize("stem", PROXY)
def test_rows_of_the_examples(stem):
    with gzip.open(EXAMPLES / f"{stem}.jsn.gz", "rt") as lines:
        rows = [json.loads(line, parse_float=Decimal) for line in lines]
    with open_file(EXAMPLES / f"{stem}.orc") as file:
        columns = file.tail.columns
        for column in file.select(None):
            if column.kind in ("LIST", "MAP", "STRUCT", "UNION"):
                continue
            path = [*[*above(columns, column)][::-1], column]
            expected = expected_of(column, below(rows, path))
            assert stored(file, column) == expected, column.name


@pytest.mark.skipif(not STEMS, reason="no ../shared")
def test_text_instead_of_rows():
    with gzip.open(EXAMPLES / "TestOrcFile.testTimestamp.jsn.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    with open_file(EXAMPLES / "TestOrcFile.testTimestamp.orc") as file:
        (root,) = file.tail.columns
        values = stored(file, root)
    assert values == [seconds_and_nanos(each) for each in rows]


def flat(column):
    """The values of a column of Arrow without nulls, as Python has them."""
    if pa.types.is_timestamp(column.type):
        return [divmod(each, 10**9) for each in column.cast(pa.int64()).drop_null().to_pylist()]
    if pa.types.is_date(column.type):
        return column.cast(pa.int32()).drop_null().to_pylist()
    return [
        each.encode() if isinstance(each, str) else each for each in column.drop_null().to_pylist()
    ]


# Without a STRUCT at the root, or empty: ORC C++ cannot read them. LZO has no library, and the demo files
# are long.
NOT_FOR_CPP = {
    "TestOrcFile.testTimestamp.orc",
    "TestOrcFile.testWithoutCompressionBlockSize.orc",
    "zero.orc",
}
FILES = sorted(
    path.name
    for path in EXAMPLES.glob("*.orc")
    if path.name not in NOT_FOR_CPP and "Lzo" not in path.name and "demo" not in path.name
)


@pytest.mark.parametrize("name", FILES)
def test_orc_cpp_reads_the_same(name):
    """Of flat columns."""
    table = orc.ORCFile(EXAMPLES / name).read()
    with open_file(EXAMPLES / name) as file:
        for column in file.select(None):
            if column.parent or column.kind in ("LIST", "MAP", "STRUCT", "UNION"):
                continue
            found = raw(file, column)
            if column.kind == "DECIMAL" and not column.precision:
                # ORC C++ cuts them.
                continue
            assert found == flat(table.column(column.name)), column.name
