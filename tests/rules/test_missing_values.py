"""What a finding says about missing values: literals that `probe -v` takes, and their rows."""

import json
import re
import shlex
import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.defects import ALL
from make.filters import bits_of, with_bits
from make.orc_defects import ORC
from make.pages import byte_arrays, data_page, dictionary_page
from make.parquet_files import forged
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.container.missing_rows import MissingRows
from parquet_bloom.container.missing_rows import missing_rows as missing_rows_of
from parquet_bloom.files import open_file
from parquet_bloom.orc.values import groups
from parquet_bloom.parquet.filters.membership import rows_of_missing
from parquet_bloom.parquet.pages.pages import chunk_runs
from parquet_bloom.parquet.thrift.ttypes import Encoding
from parquet_bloom.render.findings import missing_rows
from parquet_bloom.rules.policy import Policy
from parquet_bloom.values.literals import as_examples
from parquet_bloom.verbs.validate import validate

LOST = ("PB401", "PB705")


def asked(path, found):
    """What `probe` says of each example in the place of the finding."""
    with open_file(path) as file:
        column = file.column(found.column)
        prober = file.prober(column, found.place.part)
        for literal in found.examples:
            answers = [*prober.answers(file.encode(column, [pb.literal(literal)]))]
            answer = answers[found.place.group or 0]
            yield literal, answer.distinct[answer.picks[0]].verdict


@pytest.mark.parametrize("defect", [each for each in ALL if each.rule in LOST], ids=str)
def test_probe_finds_none_of_the_examples_of_a_parquet_file(defect, tmp_path):
    path = defect.make(tmp_path)
    report = validate(path, policy=Policy(**defect.policy or {}), keys=defect.keys)
    lost = [each for each in report.findings if each.rule in LOST]
    assert lost
    for found in lost:
        assert found.examples
        assert found.rows is not None
        if found.rule == "PB401":
            assert {verdict for _, verdict in asked(path, found)} == {"absent"}


@pytest.mark.parametrize("findings_format", ["text", "json", "sarif", "junit", "github"])
def test_values_can_be_named_by_their_hashes_alone(findings_format, tmp_path):
    """In every format, by an option, a key of the configuration, or an argument."""
    path = next(each for each in ALL if each.rule == "PB401").make(tmp_path)
    (shown, *_) = [each.examples for each in validate(path).findings if each.rule == "PB401"]
    hashes = [f"sha256:{sha256(each.encode()).hexdigest()[:16]}" for each in shown]
    (hidden, *_) = [
        each.examples for each in validate(path, no_values=True).findings if each.rule == "PB401"
    ]
    assert list(hidden) == hashes != []
    (tmp_path / "pbloom.toml").write_text("[validate]\nno-values = true\n")
    verb = ("validate", path, "--format", findings_format)
    plain = outcome(*verb, "--no-config").stdout
    assert "sha256:" not in plain
    for options in (("--no-config", "--no-values"), ("--config", tmp_path / "pbloom.toml")):
        found = outcome(*verb, *options).stdout
        assert hashes[0] in found
        for value, hash in zip(shown, hashes, strict=True):
            found = found.replace(hash, value)
        assert without_options(found) == without_options(plain)


def without_options(text):
    """Without what commands take again of where a policy is from, and of values that are not to be named."""
    return re.sub(r" --no-config| --no-values| --config \S+?pbloom\.toml", "", text)


@pytest.mark.parametrize("policy", [("--no-config",), ("--config", "other.toml")])
def test_what_helps_names_no_values_either(policy, tmp_path, monkeypatch):
    """And takes the policy from the same place."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.toml").write_text("[validate]\nfail-on = 'error'\n")
    path = next(each for each in ALL if each.rule == "PB401").make(tmp_path)
    shown = {value for each in validate(path).findings for value in each.examples}
    found = outcome("validate", path, *policy, "--no-values").stdout
    commands = re.findall("next: pbloom (validate .*)", found)
    assert commands
    for each in commands:
        assert {*policy, "--no-values"} <= {*shlex.split(each)}
        again = outcome(*shlex.split(each))
        assert again.code == 1
        assert not any(value in again.output for value in shown)


@pytest.mark.parametrize("defect", [each for each in ORC if each.rule in LOST], ids=str)
def test_probe_finds_none_of_the_examples_of_an_orc_file(defect, tmp_path):
    path = tmp_path / "a.orc"
    path.write_bytes(defect.make())
    lost = [each for each in validate(path).findings if each.rule in LOST]
    assert lost
    for found in lost:
        assert found.examples
        assert found.rows is not None
        verdicts = {verdict for _, verdict in asked(path, found)}
        assert verdicts <= {"absent", "unknown"}


# ------------------------------------------------------------------------------------------------
# Every type, from the file to a literal and back

MOMENT = datetime(2024, 1, 31, 10, 0, 0, 123456)

COLUMNS = {
    "int8": pa.array([-7], pa.int8()),
    "uint32": pa.array([2**32 - 1], pa.uint32()),
    "int64": pa.array([-(2**63)]),
    "uint64": pa.array([2**64 - 1], pa.uint64()),
    "float": pa.array([0.1], pa.float32()),
    "double": pa.array([-1.5e300]),
    "half": pa.array([np.float16(0.1)], pa.float16()),
    "text": pa.array(["naïve, 'quoted'"]),
    "hex text": pa.array(["0x41"]),
    "quoted": pa.array(['"a"']),
    "empty": pa.array([""]),
    "lines": pa.array(["a\nb"]),
    "like bytes": pa.array(["\\x41"]),
    "long": pa.array(["x" * 500]),
    "bytes": pa.array([b"\xff\0"]),
    "text as bytes": pa.array([b"0x41"]),
    "fixed": pa.array([b"abc"], pa.binary(3)),
    "date": pa.array([date(2024, 1, 31)]),
    "far date": pa.array([2**31 - 1], pa.int32()).cast(pa.date32()),
    "time ms": pa.array([time(10, 0, 0, 5000)], pa.time32("ms")),
    "time ns": pa.array([1], pa.time64("ns")),
    "instant": pa.array([MOMENT.replace(tzinfo=UTC)], pa.timestamp("us", "UTC")),
    "local": pa.array([MOMENT], pa.timestamp("us")),
    "nanos": pa.array([-1], pa.timestamp("ns")),
    "far instant": pa.array([2**63 - 1], pa.timestamp("ms", "UTC")),
    "decimal": pa.array([Decimal("-0.07")], pa.decimal128(12, 2)),
    "decimal of 38": pa.array([Decimal("1234567890123456789012345678901234.5678")]),
    "uuid": pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([uuid.UUID(int=7).bytes], pa.binary(16))
    ),
}


def without_bits(path, table):
    """A file with a filter for each column, in which no value is found. One bit of each filter is
    set, because nothing is said about values where none is."""
    plain = path.with_suffix(".plain")
    pq.write_table(table, plain, use_dictionary=False, store_decimal_as_integer=True)
    pb.build(plain, path, columns=table.column_names)
    data = bytearray(path.read_bytes())
    with open_file(path) as file:
        for name in table.column_names:
            stored = file.stored_filter(name, 0)
            start = stored.offset + len(stored.header)
            data[start : start + len(stored.bitset)] = b"\1" + bytes(len(stored.bitset) - 1)
    path.write_bytes(data)
    return path


@pytest.fixture(scope="module")
def lossy(tmp_path_factory):
    path = tmp_path_factory.mktemp("lossy") / "lossy.parquet"
    return without_bits(path, pa.table(COLUMNS))


@pytest.mark.parametrize("name", COLUMNS)
def test_probe_reads_the_example_as_the_stored_bytes(lossy, name):
    """`absent` could be said of any value: what is hashed tells that it is the stored one."""
    (found,) = [each for each in validate(lossy, columns=[name]).findings if each.rule == "PB401"]
    (literal,) = found.examples
    ran = outcome("probe", lossy, "-c", name, "-v", literal, "--explain", "--json")
    document = json.loads(ran.stdout)
    assert document["results"][0]["verdict"] == "absent"
    with open_file(lossy) as file:
        chunk = file.chunk(0, name)
        (part,) = chunk_runs(file.source, file.footer, chunk)
        (stored,) = part.run.values()
    assert document["explanations"][0]["plain"] == stored.hex()


@pytest.mark.parametrize(
    ("texts", "examples"),
    [
        (["a", "b" * 61, "c"], ("a", "c")),
        (["b" * 62, "b" * 61], ("b" * 61,)),
        (["b" * 4097], ()),
        ([], ()),
    ],
)
def test_examples_are_whole_or_not_there(texts, examples):
    assert as_examples(texts) == examples


# ------------------------------------------------------------------------------------------------
# Rows

# None: a null; a list: the values of one row.
FLAT = [7, None, 1, 2, None, 3, 4, 5, 6, None]
NESTED = [[1, 2], None, [], [3], [4, None, 5], [6, 7], [8]]

LAYOUTS = {
    "dictionary": {},
    "plain": {"use_dictionary": False},
    "version 2": {"use_dictionary": False, "data_page_version": "2.0"},
    "delta": {"use_dictionary": False, "column_encoding": "DELTA_BINARY_PACKED"},
    "many pages": {"use_dictionary": False, "data_page_size": 1, "write_batch_size": 2},
    "dictionary, many pages": {"data_page_size": 1, "write_batch_size": 2},
}


def rows_by_hand(values, missing, first_row):
    each = [value if isinstance(value, list) else [value] for value in values]
    rows = [first_row + row for row, inner in enumerate(each) if missing & {*(inner or ())}]
    flat = [value for inner in each for value in inner or () if value is not None]
    lost = [value in missing for value in flat]
    start = lost.index(True)
    return rows[0], rows[-1], len(rows), start > 0 and all(lost[start:])


@pytest.mark.parametrize("missing", [{1}, {3, 4}, {5, 6}, {7}, {1, 2, 3, 4, 5, 6, 7, 8}, {6, 7, 8}])
@pytest.mark.parametrize("values", [FLAT, NESTED, [1, 2, 3, 6, 7]], ids=["flat", "nested", "all"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_rows_of_missing_values(layout, values, missing, tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"a": pa.array([*values, *values])})
    pq.write_table(table, path, row_group_size=len(values), **LAYOUTS[layout])

    def is_found(run):
        return np.array([int.from_bytes(each, "little") not in missing for each in run.values()])

    with open_file(path) as file:
        chunk = next(iter(file.chunks(1, file.select(None))))
        found = rows_of_missing(file, chunk, is_found)
        assert rows_of_missing(file, chunk, lambda run: np.ones(len(run), bool)) is None
    wanted = rows_by_hand(values, missing, len(values))
    assert (found.first, found.last, found.count, found.only_at_end) == wanted
    assert 0 <= found.first_page <= found.last_page


@pytest.mark.parametrize("missing", [{1}, {3, 4}, {5, 6}, {7}, {6, 7, 8}])
@pytest.mark.parametrize("below", ["flat", "list", "struct", "map"])
def test_the_rows_of_missing_values_of_orc(below, missing, tmp_path):
    values = FLAT if below in ("flat", "struct") else NESTED
    column = pa.array([*values, *values], pa.int64() if values is FLAT else pa.list_(pa.int64()))
    if below == "struct":
        column = pa.array([value and {"b": value} for value in column.to_pylist()])
    if below == "map":
        pairs = [value and list(enumerate(value)) for value in column.to_pylist()]
        column = pa.array(pairs, pa.map_(pa.int64(), pa.int64()))
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"a": column}), path, row_index_stride=10_000)
    with open_file(path) as file:
        leaf = file.select(None)[-1]
        (group,) = groups(file, next(iter(file.chunks(0, [leaf]))))
        lost = np.array([value in missing for value in group.values.tolist()])
        found = missing_rows_of([(None, group.rows, lost)])
    first, last, count, only_at_end = rows_by_hand([*values, *values], missing, 0)
    assert found == MissingRows(first, last, count, only_at_end)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (MissingRows(17, 17, 1, False, 2, 2), "in row 17, page 2"),
        (MissingRows(17, 17, 1, True), "in row 17, only at the end of the row group"),
        (
            MissingRows(9600, 10999, 1400, True, 3, 5),
            "in 1,400 rows, 9600 to 10999, pages 3 to 5, only at the end of the row group",
        ),
    ],
)
def test_rows_in_words(rows, text):
    assert missing_rows(rows, "row group") == text


def test_a_filter_that_lacks_the_last_values_says_so(tmp_path):
    path = tmp_path / "end.parquet"
    words = [f"word {n}".encode() for n in range(30)]
    pages = [
        dictionary_page(byte_arrays(*words[:10]), 10),
        data_page(bytes([8, 11 << 1, 3]), 11, Encoding.RLE_DICTIONARY),
        data_page(byte_arrays(*words[10:20]), 10),
        data_page(byte_arrays(*words[20:]), 10),
    ]
    forged(path, pages, 31)
    path.write_bytes(with_bits(path.read_bytes(), bits_of([words[3], *words[10:25]], 8)))
    ran = outcome("validate", path, "--no-config")
    assert (
        "  error PB401 false-negatives: column values, row group 0: 5 of 21 stored values are not in"
        " the filter: readers lose their rows (expected 0, found 5); in 5 rows, 26 to 30, page 2,"
        " only at the end of the row group; for example word 25, word 26, word 27, word 28, word 29"
        in ran.stdout.splitlines()
    )
    ran = outcome("validate", path, "--no-config", "--json")
    (found,) = [each for each in json.loads(ran.stdout)["findings"] if each["rule"] == "PB401"]
    assert found["rows"] == {
        "first": 26,
        "last": 30,
        "count": 5,
        "only_at_end": True,
        "first_page": 2,
        "last_page": 2,
    }
