"""Bounds and counts in ORC files that exclude stored values, PB614: in the row index, the metadata and the footer."""

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyorc
import pytest
from make.commands import outcome
from make.handmade_orc import Stripe
from make.orc_defect_files import edited, stream
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.stripe import FILTER_KINDS, ROW_INDEX
from parquet_bloom.orc.wire import bytes_field, replaced
from parquet_bloom.rules.finding import Finding

STRIDE = 1000
DAY = datetime.date(2026, 11, 27)
NOON = datetime.datetime(2026, 11, 27, 12, 0, 0, 123_456)
Change = Callable[[Any], None]


def write(path: Path, column: pa.Array, **options: Any) -> Path:
    """A file of one column, whose statistics are not compressed."""
    orc.write_table(
        pa.table({"a": column}), path, row_index_stride=STRIDE, batch_size=STRIDE, **options
    )
    return path


def with_statistics(path: Path, change: Change, group: int = 1) -> Path:
    """Change the statistics of an index group in the row index."""

    def edit(stripes: list[Stripe], footer: dict[str, Any]) -> None:
        found = stream(stripes[0], 1, ROW_INDEX)
        index = orc_pb2.RowIndex.FromString(found.data)
        change(index.entry[group].statistics)
        found.data = index.SerializeToString()

    path.write_bytes(edited(path.read_bytes(), edit))
    return path


def found_in(path: Path, **options: Any) -> list[Finding]:
    report = pb.validate(path, pages=True, **options)
    assert {each.rule for each in report.findings} <= {"PB614"}
    return [*report.findings]


def setting(**fields: Any) -> Change:
    """Set `intStatistics__minimum`, or what a field becomes."""

    def change(statistics: Any) -> None:
        for path, value in fields.items():
            *above, name = path.split("__")
            message = statistics
            for each in above:
                message = getattr(message, each)
            if isinstance(value, list):
                getattr(message, name)[:] = value
            else:
                setattr(message, name, value(getattr(message, name)) if callable(value) else value)

    return change


def two_groups(of: Callable[[int], Any], type: Any) -> pa.Array:
    return pa.array([of(row) for row in range(2 * STRIDE)], type)


NUMBERS = two_groups(lambda row: row, pa.int64())
TEXTS = two_groups(lambda row: f"user {row:05}", pa.string())
TIMES = two_groups(lambda row: NOON + datetime.timedelta(seconds=row), pa.timestamp("us"))
MILLIS = int(NOON.replace(tzinfo=datetime.UTC).timestamp() * 1000) + 1_000_000

NARROW: dict[str, tuple[pa.Array, Change, str]] = {
    "minimum": (
        NUMBERS, setting(intStatistics__minimum=1001),
        "the minimum in the row index is above the value in row 1000 (found 1001); for example 1000",
    ),
    "maximum": (
        NUMBERS, setting(intStatistics__maximum=5),
        "the maximum in the row index is below the value in row 1999 (found 5); for example 1999",
    ),
    "BYTE": (
        two_groups(lambda row: row % 100, pa.int8()), setting(intStatistics__minimum=1),
        "the minimum in the row index is above the value in row 1000 (found 1); for example 0",
    ),
    "DOUBLE": (
        two_groups(lambda row: row / 4, pa.float64()), setting(doubleStatistics__minimum=250.125),
        "the minimum in the row index is above the value in row 1000 (found 250.125); for example 250",
    ),
    "FLOAT": (
        two_groups(lambda row: row / 4, pa.float32()), setting(doubleStatistics__maximum=1),
        "the maximum in the row index is below the value in row 1999 (found 1); for example 499.75",
    ),
    "STRING": (
        TEXTS, setting(stringStatistics__minimum=b"user 01000 "),
        "the minimum in the row index is above the value in row 1000 (found user 01000 ); for example user 01000",
    ),
    "upper bound": (
        TEXTS,
        lambda told: (
            told.stringStatistics.ClearField("maximum"), setting(stringStatistics__upperBound=b"user 01")(told)
        ),
        "the maximum in the row index is below the value in row 1999 (found user 01); for example user 01999",
    ),
    "DATE": (
        two_groups(lambda row: DAY + datetime.timedelta(row), pa.date32()),
        setting(dateStatistics__minimum=lambda day: day + 1),
        "the minimum in the row index is above the value in row 1000 (found 2029-08-24); for example 2029-08-23",
    ),
    "DECIMAL": (
        two_groups(lambda row: Decimal(row).scaleb(-2), pa.decimal128(30, 2)),
        setting(decimalStatistics__minimum=b"10.01"),
        "the minimum in the row index is above the value in row 1000 (found 10.01); for example 10.00",
    ),
    "milliseconds": (
        TIMES, setting(timestampStatistics__minimumUtc=lambda millis: millis + 1),
        "the minimum in the row index is above the value in row 1000 (found 2026-11-27 12:16:40.124456000)"
        + "; for example 2026-11-27 12:16:40.123456000",
    ),
    "nanoseconds": (
        TIMES, setting(timestampStatistics__maximumNanos=456_000),
        "the maximum in the row index is below the value in row 1999 (found 2026-11-27 12:33:19.123455999)"
        + "; for example 2026-11-27 12:33:19.123456000",
    ),
    "BOOLEAN": (
        two_groups(lambda row: row == 1500, pa.bool_()), setting(bucketStatistics__count=[0]),
        "the maximum in the row index is below the value in row 1500 (found only false); for example true",
    ),
    "number of values": (
        NUMBERS, setting(numberOfValues=0), "numberOfValues in the row index is another (expected 1000, found 0)",
    ),
    "no number of values": (
        NUMBERS, lambda told: told.ClearField("numberOfValues"),
        "numberOfValues in the row index is another (expected 1000, found 0)",
    ),
    "no minimum": (
        NUMBERS, lambda told: told.intStatistics.ClearField("minimum"),
        "the minimum in the row index is missing, though there are values",
    ),
    "no upper bound": (
        TEXTS, lambda told: told.stringStatistics.ClearField("maximum"),
        "the maximum in the row index is missing, though there are values",
    ),
    "no time": (
        TIMES, lambda told: told.timestampStatistics.ClearField("minimumUtc"),
        "the minimum in the row index is missing, though there are values",
    ),
    "nulls": (
        two_groups(lambda row: row if row % 3 else None, pa.int64()), setting(hasNull=False),
        "hasNull in the row index is false, though there are 333 nulls",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NARROW)
def test_what_excludes_values_is_found(tmp_path: Path, name: str) -> None:
    column, change, said = NARROW[name]
    path = write(tmp_path / "a.orc", column)
    assert found_in(path) == []
    (found,) = found_in(with_statistics(path, change))
    assert (str(found.place), found.column) == ("stripe 0, index group 1", "a")
    examples = f"; for example {', '.join(found.examples)}" if found.examples else ""
    assert found.statement + examples == said


WIDE: dict[str, tuple[pa.Array, Change]] = {
    "numbers": (NUMBERS, setting(intStatistics__minimum=-5, intStatistics__maximum=5000)),
    "a cut text": (TEXTS, setting(stringStatistics__minimum=b"user", stringStatistics__maximum=b"uses")),
    "no text": (TEXTS, setting(stringStatistics__maximum=b"user 01\xef\xbf\xbd")),
    "more digits": (
        two_groups(lambda row: Decimal(row).scaleb(-2), pa.decimal128(30, 2)),
        setting(decimalStatistics__minimum=b"10.004", decimalStatistics__maximum=b"19.986"),
    ),
    "no number": (
        two_groups(lambda row: Decimal(row), pa.decimal128(30, 0)), setting(decimalStatistics__minimum=b"1x"),
    ),
    "NaN": (
        two_groups(lambda row: row / 4, pa.float64()),
        setting(doubleStatistics__minimum=900, doubleStatistics__sum=float("nan")),
    ),
    "milliseconds alone": (TIMES, lambda told: told.timestampStatistics.ClearField("maximumNanos")),
    "in the zone of the writer": (TIMES, setting(timestampStatistics__minimum=MILLIS + 5_000_000)),
    "before 1970": (
        two_groups(lambda row: NOON.replace(year=1960), pa.timestamp("us")),
        setting(timestampStatistics__minimumUtc=lambda millis: millis + 1),
    ),
    "nulls": (NUMBERS, setting(hasNull=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", WIDE)
def test_what_excludes_none_is_sound(tmp_path: Path, name: str) -> None:
    column, change = WIDE[name]
    assert found_in(with_statistics(write(tmp_path / "a.orc", column), change)) == []


def test_every_bit_that_loses_a_row_is_found(tmp_path: Path) -> None:
    """`find` is asked for the least and the greatest value."""
    path = write(tmp_path / "a.orc", two_groups(lambda row: 10 * row + 77, pa.int64()))
    whole = path.read_bytes()
    with open_file(path) as file:
        (index,) = file.stripe(0).streams_of(1, (ROW_INDEX,))
    lost = 0
    # Of the first of two entries.
    for bit in range(8 * (index.length // 2)):
        data = bytearray(whole)
        data[index.offset + bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        if any(pb.find(path, "a", value).num_rows != 1 for value in (77, 77 + 10 * 999)):
            lost += 1
            broken = {each.rule for each in pb.validate(path, pages=True).findings}
            assert broken & {"PB613", "PB614"}, bit
    assert lost > 8


# ------------------------------------------------------------------------------------------------
# The stripe and the file


def with_tail(path: Path, change: Change, *, of_file: bool) -> Path:
    """Change the statistics of column 1, of all stripes or of the file, whose tail is written again."""
    data = path.read_bytes()
    with open_file(path) as file:
        tail = file.tail
    metadata = orc_pb2.Metadata.FromString(data[tail.metadata_start : tail.footer_start])
    footer = orc_pb2.Footer.FromString(tail.footer_raw)
    change(footer.statistics[1] if of_file else metadata.stripeStats[0].colStats[1])
    told = b"".join(bytes_field(7, each.SerializeToString()) for each in footer.statistics)
    parts = [metadata.SerializeToString(), replaced(tail.footer_raw, {7: told})]
    postscript = orc_pb2.PostScript.FromString(tail.postscript_raw)
    postscript.metadataLength, postscript.footerLength = map(len, parts)
    end = postscript.SerializeToString()
    path.write_bytes(data[: tail.metadata_start] + b"".join(parts) + end + bytes([len(end)]))
    return path


def test_statistics_of_a_type_that_are_gone(tmp_path: Path) -> None:
    """As one changed bit of their tag leaves it: engines lose all rows of the index group."""
    gone = with_statistics(
        write(tmp_path / "a.orc", NUMBERS), lambda told: told.ClearField("intStatistics")
    )
    assert [each.message for each in found_in(gone)] == [
        f"the {name} in the row index is missing, though there are values"
        for name in ("minimum", "maximum")
    ]


@pytest.mark.parametrize(
    ("of_file", "where"),
    [(False, "of the stripe in the metadata"), (True, "of the file in the footer")],
)
def test_bounds_of_stripe_and_file(tmp_path: Path, of_file: bool, where: str) -> None:
    path = write(tmp_path / "a.orc", NUMBERS)
    (found,) = found_in(with_tail(path, setting(intStatistics__maximum=500), of_file=of_file))
    assert found.message == f"the maximum {where} is below the value in row 999"
    assert (str(found.place), found.found, found.examples) == ("stripe 0", "500", ("999",))
    (found,) = found_in(
        with_tail(path, setting(intStatistics__maximum=5000, numberOfValues=1999), of_file=of_file)
    )
    expected = "at least 2000" if of_file else "2000"
    assert found.statement == f"numberOfValues {where} is another (expected {expected}, found 1999)"


def test_a_stripe_of_some_has_not_all_values_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.orc", pa.array(range(20_000)), stripe_size=1)
    with open_file(path) as file:
        assert file.num_stripes > 1
    assert found_in(path) == []


def test_statistics_that_were_not_collected(tmp_path: Path) -> None:
    """ORC Java has none of stripes and files where it writes no row index."""

    def edit(stripes: list[Stripe], footer: dict[str, Any]) -> None:
        stripes[0].streams = [each for each in stripes[0].streams if each.kind != ROW_INDEX]
        none = orc_pb2.ColumnStatistics(numberOfValues=0)
        footer.update(rowIndexStride=0, statistics=[none, none])

    path = write(tmp_path / "a.orc", NUMBERS)
    path.write_bytes(edited(path.read_bytes(), edit))
    assert found_in(path) == []


# ------------------------------------------------------------------------------------------------
# What is read


def test_columns_without_filters_are_read_with_pages(tmp_path: Path) -> None:
    path = with_statistics(write(tmp_path / "a.orc", NUMBERS), setting(intStatistics__minimum=1500))
    assert pb.find(path, "a", 1400).num_rows == 0
    assert pb.validate(path).state == "without filters"
    report = pb.validate(path, pages=True)
    assert [each.rule for each in report.findings] == ["PB614"]
    assert (report.checked.pages, report.checked.pages_without_checksum) == (2, 2)
    built = tmp_path / "b.orc"
    pb.build(path, built, columns=["a"])
    for pages in (False, True):
        assert [each.rule for each in pb.validate(built, pages=pages).findings] == ["PB614"]
    assert pb.validate(built, deep=False).ok


def test_what_is_shown_hides_values(tmp_path: Path) -> None:
    path = with_statistics(write(tmp_path / "a.orc", NUMBERS), setting(intStatistics__maximum=1234))
    ran = outcome("validate", "--pages", path)
    assert ran.code == 1
    assert "is below the value in row 1999 (found 1234); for example 1999" in ran.stdout
    assert (
        "next: look at the rows: if they are right, have a writer write the file again"
        in ran.stdout
    )
    hidden = outcome("validate", "--pages", "--no-values", path)
    assert "1234" not in hidden.stdout
    assert "for example sha256:" in hidden.stdout


def test_a_filter_beside_is_not_called_wrong(tmp_path: Path) -> None:
    path = write(tmp_path / "a.orc", NUMBERS, bloom_filter_columns=[1])
    with_statistics(path, setting(intStatistics__maximum=1234))
    (found,) = pb.validate(path, ignore=["PB309"]).findings
    assert (found.rule, found.is_against_filter, found.next) == ("PB614", False, None)


def damaged(path: Path) -> Path:
    """The values cannot be read, nor the row index."""
    data = bytearray(path.read_bytes())
    with open_file(path) as file:
        streams = file.stripe(0).streams_of(1)
        for each in (each for each in streams if each.kind not in FILTER_KINDS):
            data[each.offset : each.offset + each.length] = b"\xff" * each.length
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("columns", [None, [1]])
def test_what_cannot_be_read_is_said_once(tmp_path: Path, columns: list[int] | None) -> None:
    path = write(tmp_path / "a.orc", NUMBERS, bloom_filter_columns=columns)
    report = pb.validate(damaged(path), pages=True)
    assert sorted(each.rule for each in report.findings) == ["PB611", "PB613"]


# ------------------------------------------------------------------------------------------------
# Sound files


def text(chance: random.Random) -> str:
    letters = chance.choice(("ab", "é中😀￿ z", "\t !a"))
    return "".join(chance.choices(letters, k=chance.choice((0, 1, 3, 30))))


def number(chance: random.Random) -> float:
    usual = chance.choice((0.0, -0.0, chance.random(), 0.1))
    return chance.choice((float("nan"), float("inf"), usual)) if chance.random() < 0.3 else usual


def moment(chance: random.Random) -> int:
    return (
        chance.randrange(-(10**16), 10**17)
        if chance.random() < 0.5
        else chance.randrange(-(10**7), 10**7)
    )


OF: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    "byte": (pa.int8(), lambda chance: chance.randrange(-128, 128)),
    "int": (pa.int32(), lambda chance: chance.randrange(-(2**31), 2**31)),
    "long": (pa.int64(), lambda chance: chance.randrange(-(2**62), 2**62)),
    "float": (pa.float32(), number),
    "double": (pa.float64(), number),
    "string": (pa.string(), text),
    "binary": (pa.binary(), lambda chance: chance.randbytes(9)),
    "bool": (pa.bool_(), lambda chance: chance.random() < 0.01),
    "date": (pa.date32(), lambda chance: chance.randrange(-700_000, 800_000)),
    "time": (pa.timestamp("us"), moment),
    "instant": (pa.timestamp("us", "UTC"), moment),
    "short": (pa.decimal128(9, 2), lambda chance: Decimal(chance.randrange(-999, 999)).scaleb(-2)),
    "decimal": (pa.decimal128(38, 9), lambda chance: Decimal(chance.randrange(-(10**37), 10**37)).scaleb(-9)),
    "list": (pa.list_(pa.int64()), lambda chance: [chance.choice((None, 7, 8))] * chance.randrange(3)),
    "map": (pa.map_(pa.string(), pa.float64()), lambda chance: [(text(chance), number(chance))]),
    "struct": (
        pa.struct([("x", pa.int64()), ("y", pa.string())]),
        lambda chance: {"x": chance.choice((None, chance.randrange(9))), "y": text(chance)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_files_of_pyarrow_are_sound(tmp_path: Path, seed: int) -> None:
    chance, path = random.Random(seed), tmp_path / "a.orc"
    rows, nulls = chance.choice((1, 700, 2500)), chance.choice((0, 0.1, 0.9))
    columns = {
        name: pa.array([None if chance.random() < nulls else of(chance) for _ in range(rows)], type)
        for name, (type, of) in OF.items()
    }
    orc.write_table(
        pa.table(columns), path, row_index_stride=STRIDE, batch_size=100,
        stripe_size=chance.choice((1, 10**6)), compression=chance.choice(("zlib", "uncompressed")),
        dictionary_key_size_threshold=chance.choice((0, 1)),
    )  # fmt: skip
    assert found_in(path) == []


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_files_of_pyorc_are_sound(tmp_path: Path, zone: str) -> None:
    """But for a FLOAT that is not the double which pyorc gives ORC C++."""
    chance, path = random.Random(zone), tmp_path / "a.orc"
    schema = "struct<c:char(5),v:varchar(9),t:timestamp,i:timestamp with local time zone,n:smallint,f:float>"
    with path.open("wb") as out, pyorc.Writer(out, schema, row_index_stride=STRIDE) as writer:
        for row in range(2 * STRIDE):
            texts = (chance.choice(("a\tb", "a", "a b", "zz\x01")) for _ in range(2))
            time = NOON.replace(tzinfo=datetime.UTC) - datetime.timedelta(
                hours=chance.randrange(10**6)
            )
            writer.write((*texts, time, time, row, 0.1))
    assert {each.column for each in found_in(path)} == {"f"}


NESTED = {
    "struct<l:array<int>>": (None, [], [1, None], [2]),
    "struct<m:map<string,int>>": (None, {}, {"a": None}, {"b": 2}),
    "struct<s:struct<x:int,y:struct<z:string>>>": (None, (None, None), (1, ("a",)), (2, (None,))),
    "struct<l:array<struct<x:int>>>": (None, [None, (1,)], [(None,)], []),
    "struct<u:uniontype<int,string>>": (1, "a", 2, "b"),
    "struct<s:struct<u:uniontype<int,string>>>": ((1,), ("a",), (2,), ("b",)),
}


@pytest.mark.parametrize("schema", NESTED)
def test_nested_values_of_pyorc_are_sound(tmp_path: Path, schema: str) -> None:
    chance, path = random.Random(schema), tmp_path / "a.orc"
    with path.open("wb") as out, pyorc.Writer(out, schema, row_index_stride=STRIDE) as writer:
        writer.writerows([(chance.choice(NESTED[schema]),) for _ in range(2500)])
    assert found_in(path) == []


def test_a_null_in_a_union_is_counted_by_pyorc(tmp_path: Path) -> None:
    """As a value of its first variant. Of more than one batch, it reads other values than it has written."""
    path = tmp_path / "a.orc"
    with path.open("wb") as out, pyorc.Writer(out, "struct<a:uniontype<int,string>>") as writer:
        writer.writerows([(1,), ("x",), (None,), (2,)])
    assert found_in(path) == []
