"""Postscripts, footers and stripes: what is read, and what is refused in one line."""

import subprocess
import sys
from functools import partial

import pyarrow as pa
import pyorc
import pytest
from conftest import FIXTURES
from make.handmade_orc import (
    DATA,
    LZO,
    NONE,
    ZLIB,
    ZSTD,
    Stream,
    Stripe,
    filter_of,
    forge,
    index_of,
    row_index,
    table,
    write,
)
from make.orc_defect_files import edited
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.container.data_file import DataFile
from parquet_bloom.files import open_file
from parquet_bloom.orc.file import OrcContainer
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.reader import MAX_INDEX_GROUPS
from parquet_bloom.orc.stripe import BLOOM_FILTER_UTF8, ROW_INDEX

PARQUET = FIXTURES / "spark_filters.parquet"

STATISTICS = {"numberOfValues": 10, "hasNull": False}
INDEX = [
    Stream(ROW_INDEX, 1, row_index(STATISTICS)),
    Stream(BLOOM_FILTER_UTF8, 1, index_of([filter_of([1, 2])])),
]
STRIPE = Stripe(10, [*INDEX, Stream(DATA, 1, b"data")])
TYPES = table(id="LONG")


def read_filters(path):
    with open_file(path) as file:
        for stripe in range(file.num_stripes):
            file.filters(stripe, file.column("id"))


def problem(path):
    """What is wrong with the file, without its name."""
    with pytest.raises(pb.ParquetBloomError) as raised:
        read_filters(path)
    message = str(raised.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return type(raised.value).__name__, message.removeprefix(f"{path}: ")


@pytest.mark.parametrize("codec", [NONE, ZLIB, ZSTD])
def test_a_file_is_read(tmp_path, codec):
    path = write(tmp_path / "a.orc", forge(TYPES, [STRIPE, STRIPE], codec=codec))
    with open_file(path) as file:
        assert isinstance(file, OrcContainer)
        assert (file.format, file.num_rows, file.num_stripes) == ("orc", 20, 2)
        assert file.columns == ("id",)
        first, second = file.stripe(0), file.stripe(1)
        assert (first.first_row, second.first_row) == (0, 10)
        assert second.place.offset == first.place.end
        assert [stream.name for stream in first.streams] == [
            "ROW_INDEX",
            "BLOOM_FILTER_UTF8",
            "DATA",
        ]
        assert first.streams[2].offset == first.place.data_start
        assert file.generation.created_by == "ORC Java 2.3.0"
        assert file.tail.metadata_start == file.tail.footer_start == second.place.end


WRITTEN = [kind for kind in pyorc.CompressionKind if kind.name != "LZO"]


@pytest.mark.parametrize("compression", WRITTEN, ids=lambda kind: kind.name)
def test_every_codec_of_another_writer_is_read(tmp_path, compression):
    path = tmp_path / "a.orc"
    with open(path, "wb") as out, pyorc.Writer(
        out, "struct<id:bigint,name:string>", compression=compression, row_index_stride=1000,
        bloom_filter_columns=("id",), compression_block_size=64 << 10,
    ) as writer:  # fmt: skip
        writer.writerows([(number, f"n{number}") for number in range(2500)])
    with open_file(path) as file:
        assert file.tail.compression.name == compression.name
        stored = file.filters(0, file.column("id"))
        assert [filter.num_bits for filter in stored.filters] == [6272] * 3
        index = file.row_index(0, file.column("name"))
        assert [entry.statistics.num_values for entry in index] == [1000, 1000, 500]
        assert index[2].statistics.min == "n2000"


def test_a_file_of_hive_0_11_has_its_magic_at_the_start_alone(tmp_path):
    path = write(tmp_path / "a.orc", forge(TYPES, [STRIPE], magic=b""))
    with pb.open(path) as file:
        assert file.num_rows == 10
    data = path.read_bytes()
    write(path, b"XYZ" + data[3:])
    assert problem(path)[0] == "NotSupportedFileError"


def test_a_file_may_start_as_it_likes(tmp_path):
    """As ORC Java has it: the postscript decides."""
    path = write(tmp_path / "a.orc", b"XYZ" + forge(TYPES, [STRIPE])[3:])
    with pb.open(path) as file:
        assert file.num_rows == 10


def test_blocks_are_256_kib_unless_the_postscript_says_otherwise(tmp_path):
    data = forge(TYPES, [], postscript={"compressionBlockSize": None})
    with open_file(write(tmp_path / "a.orc", data)) as file:
        assert file.tail.compression.block_bytes == 262_144


def test_parquet_files_are_what_they_were():
    with open_file(PARQUET) as file:
        assert file.format == "parquet"
        assert file.source.bytes_read == 8 + 4 + len(file.footer.raw)


def test_parquet_files_load_nothing_of_orc():
    code = (
        f"import sys; import parquet_bloom as pb; pb.inspect({str(PARQUET)!r}); pb.probe({str(PARQUET)!r},"
        " 'int32', 1); print([name for name in sys.modules if name.startswith('google.protobuf')"
        " or name.startswith('parquet_bloom.orc') or name == 'pyarrow'])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_a_key_is_no_use_to_an_orc_file(tmp_path):
    """Who replaces an encrypted file by another one must not go unnoticed."""
    path = write(tmp_path / "a.orc", forge(TYPES, [STRIPE]))
    keys = pb.Keys(footer=b"0123456789012345")
    with pytest.raises(pb.EncryptionError, match="neither encrypted nor signed"):
        pb.open(path, keys)


@pytest.mark.parametrize("data", [b"", b"O", b"ORC", b"hello, world", b"PAR1" + bytes(20)])
def test_what_is_neither_is_said_not_to_be_what_it_is_called(tmp_path, data):
    kind, message = problem(write(tmp_path / "a.orc", data))
    assert kind == "NotSupportedFileError"
    found = "does not start with ORC"
    if len(data) <= 3:
        found = f"{len(data)} bytes, expected more"
    assert message == f"not an ORC file: {found}"
    kind, message = problem(write(tmp_path / "a", data))
    assert kind == "NotSupportedFileError"
    assert "not a Parquet file: " in message


def test_a_truncated_file_is_said_to_be_one(tmp_path):
    data = forge(TYPES, [STRIPE])
    path = write(tmp_path / "a.orc", data[:-1])
    # The last byte is now the C of ORC: 67.
    assert problem(path) == (
        "FooterError",
        f"truncated or not an ORC file: {data[-2]} bytes before the last one, expected a postscript",
    )  # fmt: skip


@pytest.mark.parametrize("end", [b"\x50\x01\x02", b"\x18\x80\x80\x10\x04", b"\x08\x00\x02"])
def test_bytes_that_are_a_postscript_by_chance_are_none(tmp_path, end):
    """Of a field that nobody knows, of a compressionBlockSize alone, and of a footer of no bytes."""
    data = forge(TYPES, [STRIPE])[:-100] + end
    assert problem(write(tmp_path / "a.orc", data)) == (
        "FooterError",
        f"truncated or not an ORC file: {end[-1]} bytes before the last one, expected a postscript",
    )


@pytest.mark.parametrize(
    ("forged", "expected"),
    [
        ({"postscript": {"footerLength": 10**6}},
         "FooterError: postscript: damaged: footer, metadata and statistics of 1000000 bytes, expected at most"),
        ({"postscript": {"metadataLength": 2**64 - 1}},
         "FooterError: postscript: damaged: footer, metadata and statistics of"),
        ({"postscript": {"footerLength": 3}}, "FooterError: footer: damaged: 3 bytes, not a Footer"),
        ({"codec": ZLIB, "postscript": {"compressionBlockSize": 1 << 23}},
         "FooterError: postscript: compressionBlockSize is 8388608, expected 1 to 8388607"),
        ({"codec": LZO}, "UnsupportedError: footer: codec LZO is not supported"),
        ({"postscript": {"compression": 77}}, "UnsupportedError: footer: codec 77 is not supported"),
        ({"footer": {"types": []}}, "FooterError: footer: no types in the footer"),
    ],
)  # fmt: skip
def test_a_tail_that_cannot_be_is_refused(tmp_path, forged, expected):
    path = write(tmp_path / "a.orc", forge(TYPES, [STRIPE], **forged))
    assert ": ".join(problem(path)).startswith(expected)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({"offset": 2}, "footer: stripe 0 at 2 to"),
        ({"dataLength": 10**5}, "footer: stripe 0 at 3 to"),
        ({"indexLength": 2**64 - 1}, "footer: stripe 0 at 3 to"),
        (
            {"footerLength": 1},
            "footer: 40 bytes between the stripes and the tail: the file has lost bytes, or",
        ),
        (
            {"offset": 4, "footerLength": 40},
            "stripe 0: footer: damaged: 40 bytes, not a StripeFooter",
        ),
    ],
)
def test_a_stripe_that_cannot_be_is_refused(tmp_path, place, expected):
    stripe = Stripe(10, STRIPE.streams, place=place)
    kind, message = problem(write(tmp_path / "a.orc", forge(TYPES, [stripe])))
    assert (kind, message[: len(expected)]) == ("FooterError", expected)


def test_stripes_are_not_in_each_other(tmp_path):
    second = Stripe(10, STRIPE.streams, place={"offset": 3})
    kind, message = problem(write(tmp_path / "a.orc", forge(TYPES, [STRIPE, second])))
    assert kind == "FooterError"
    assert message.startswith("footer: stripe 1 at 3 to")


def test_more_index_groups_than_anybody_has_are_refused(tmp_path):
    stripe = Stripe(MAX_INDEX_GROUPS + 1, STRIPE.streams)
    path = write(tmp_path / "a.orc", forge(TYPES, [stripe], stride=1))
    expected = f"stripe 0: {MAX_INDEX_GROUPS + 1} index groups, expected at most {MAX_INDEX_GROUPS}"
    assert problem(path) == ("FooterError", expected)


MORE = [*STRIPE.streams, Stream(DATA, 1, b"more")]
INDEX_BYTES = sum(len(stream.data) for stream in INDEX)


@pytest.mark.parametrize(
    ("streams", "place", "expected"),
    [
        ([INDEX[0], MORE[2], INDEX[1]], {}, "an index stream is listed after a data stream"),
        (MORE, {"indexLength": INDEX_BYTES - 1, "dataLength": 9},
         f"index streams of {INDEX_BYTES} bytes, expected {INDEX_BYTES - 1}"),
        # The stripe footer stays where it is: what is counted no more moves the start.
        (MORE, {"offset": 7, "dataLength": 4},
         f"streams of {INDEX_BYTES + 8} bytes, expected {INDEX_BYTES + 4}"),
        ([INDEX[0], INDEX[1], INDEX[1]], {},
         "column 1 has two streams of one kind: BLOOM_FILTER_UTF8, BLOOM_FILTER_UTF8"),
    ],
)  # fmt: skip
def test_streams_that_readers_look_for_in_different_places(tmp_path, streams, place, expected):
    data = forge(TYPES, [Stripe(10, streams, place=place)])
    assert problem(write(tmp_path / "a.orc", data)) == ("FilterError", f"stripe 0: {expected}")


@pytest.mark.parametrize("stride", [0, 100])
def test_without_a_row_index_a_stripe_is_one_index_group(tmp_path, stride):
    bare = Stripe(250, [Stream(DATA, 1, b"data")])
    with open_file(write(tmp_path / "a.orc", forge(TYPES, [bare], stride=stride))) as file:
        stripe = file.stripe(0)
        assert (stripe.num_index_groups, stripe.group_first_row(0), stripe.group_num_rows(0)) == (
            1,
            0,
            250,
        )
        assert file.filters(0, file.column("id")) is None
        assert file.row_index(0, file.column("id")) is None


def test_names_and_software_need_not_be_utf8(tmp_path):
    types = table(id="LONG", other="STRING")
    types[0].fieldNames[1] = b"\xff"
    data = forge(types, [], footer={"softwareVersion": b"\xfe"})
    with open_file(write(tmp_path / "a.orc", data)) as file:
        assert file.columns[1] == "\\xff"
        assert file.generation.software == "\\xfe"


def test_columns_below_an_encrypted_one_are_encrypted(tmp_path):
    encryption = orc_pb2.Encryption(variants=[orc_pb2.EncryptionVariant(root=1)])
    data = forge(TYPES, [STRIPE], footer={"encryption": encryption})
    path = write(tmp_path / "a.orc", data)
    assert problem(path) == ("UnsupportedError", "stripe 0, column id: encrypted")
    with open_file(path) as file:
        assert file.tail.is_encrypted
        (verdict,) = DataFile(file).probe("id", 5)
        assert (verdict.verdict, verdict.reason) == ("unknown", "encrypted")
    report = pb.inspect(path)
    (column,) = report.stripes[0].columns
    assert (column.filter, column.reason, column.notes) == (None, "encrypted", ())
    assert report.state == "unknown"


def test_index_streams_of_encrypted_columns_lie_behind_the_others(tmp_path):
    """What is not encrypted is read; the data begin behind both."""
    encryption = orc_pb2.Encryption(variants=[orc_pb2.EncryptionVariant(root=2)])
    stripe = Stripe(10, STRIPE.streams, encrypted=[Stream(ROW_INDEX, 2, b"sealed")])
    data = forge(table(id="LONG", secret="LONG"), [stripe], footer={"encryption": encryption})
    path = write(tmp_path / "a.orc", data)
    with open_file(path) as file:
        assert file.filters(0, file.column("id")) is not None
        place, data_stream = file.stripe(0).place, file.stripe(0).streams[2]
        assert data_stream.offset == place.data_start == 3 + INDEX_BYTES + 6
        (verdict,) = DataFile(file).probe("secret", 5)
        assert (verdict.verdict, verdict.reason) == ("unknown", "encrypted")


@pytest.mark.parametrize("num_rows", [0, 9, 11])
def test_stripes_that_do_not_add_up(tmp_path, num_rows):
    """Some writers recorded no rows for the file: what cannot be known is unknown."""
    path, out = tmp_path / "in.orc", tmp_path / "out.orc"
    orc.write_table(pa.table({"a": range(10)}), path)
    path.write_bytes(
        edited(path.read_bytes(), lambda stripes, footer: footer.update(numberOfRows=num_rows))
    )
    doubt = f"footer: the stripes hold 10 rows, the file {num_rows}"
    report = pb.build(path, out, columns=["a"])
    assert report.notes[0] == f"{doubt}: `probe` will answer `unknown`"
    answers = [answer for each in pb.probe(out, "a", [3, 99]).results for answer in each.groups]
    assert {(each.verdict, each.reason) for each in answers} == {("unknown", doubt)}
    found = [(each.rule, each.message) for each in pb.validate(out).findings if each.place is None]
    assert found == [("PB115", doubt)]
    for refused in (pb.advise, partial(pb.repair, in_place=True)):
        with pytest.raises(pb.FooterError, match=doubt):
            refused(out)
    assert pb.strip(out, in_place=True).num_filters == 1


def test_a_file_that_lost_its_only_stripe(tmp_path):
    path = write(tmp_path / "a.orc", forge(TYPES, [], footer={"numberOfRows": 1}))
    with pytest.raises(pb.FooterError, match="the stripes hold 0 rows, the file 1"):
        pb.probe(path, pb.open(path).columns[0], [1])
