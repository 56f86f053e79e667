"""Where nothing explains a filter, `--diagnose` says so, and what was tried."""

import json
import random
import re

import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from make import wrong_writers as wrong
from make.commands import outcome
from make.defects_older import OLDER
from make.diagnosing import insert_only
from make.encrypted_files import keys_of
from make.encrypting import Recipe, encrypt
from make.filters import bits_of, bitset, with_bits, with_bitset
from make.footers import pointer, with_meta
from make.orc_defects import ORC
from make.parquet_files import built, written
from make.wrong_writers import make_column
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.diagnosis.hashes import XXH64, hashed
from parquet_bloom.diagnosis.hypotheses import HashSearch
from parquet_bloom.diagnosis.layouts import Bitset, bits_set_of
from parquet_bloom.parquet.thrift.ttypes import Statistics
from parquet_bloom.verbs.validate import validate


def of_other_values(path, num_blocks: int | None = None):
    """A filter of values that are not stored."""
    wrong.write(path, make_column("int64"))
    others = np.random.default_rng(7).integers(1 << 40, 1 << 41, 500).tolist()
    bits = bits_of(others, num_blocks or wrong.header(path).num_blocks)
    path.write_bytes(with_bits(path.read_bytes(), bits))
    return path


def found_in(path):
    (found,) = (each for each in validate(path, diagnose=True).findings if each.rule == "PB401")
    return found


@pytest.mark.parametrize(("num_blocks", "is_known"), [(1, True), (2, False), (4, True)])
def test_two_blocks_tell_little_of_how_they_were_chosen(num_blocks, is_known):
    """A missing value is in the other block, whatever chose that."""
    search = HashSearch((), Bitset(np.zeros((num_blocks, 8), np.uint32), num_blocks))
    assert ("to find more values than chance would" in search.none_is_nearest) == is_known


def test_what_was_tried(tmp_path):
    path = of_other_values(tmp_path / "file.parquet")
    found = found_in(path)
    assert found.diagnosis is None
    assert re.match(
        r"none of \d,\d{3} combinations explains it; none of them is seen to find more values than chance would;"
        r" by its fill, the filter has about (49\d|50\d) values: they may be hashed in a way that was not tried,"
        r" or be those of another file \(pbloom diff --diagnose finds out, given both\), or the bits may be damaged; tried on 386 missing values \[",
        found.undiagnosed,
    )
    for kind in ("other forms of the values", "other layouts of the bits"):
        assert kind in found.undiagnosed
    assert (
        "56 other hashes (XXH64 with the seeds 1 to 15, 17, 31, 42, 104, 123, 1234, 12345, 104729, 1361930890, 1575457558,"
        " 2538058380, 2654435769, 3405691582, 3735928559, 4294967295, 11400714819323198485, 18446744073709551615;"
        " Murmur3 x64_128 with 0 to 1, 42, 104729, 1361930890, 1575457558, 2538058380, 4294967295; XXH64 of XXH64,"
        " XXH32, XXH3, FNV-1a, djb2), "
    ) in found.undiagnosed
    assert (
        "filters of other chunks, lost or changed blocks, pages, first and last rows that were not inserted]"
        in found.undiagnosed
    )


def test_the_nearest_is_named(tmp_path):
    """A writer that hashes text in upper case, but for every third value something else."""
    column = make_column("text")
    path = wrong.write(tmp_path / "file.parquet", column)
    upper = [plain.decode().upper().encode() for plain in column.plain]
    insert_only(path, [plain for n, plain in enumerate(upper) if n % 3])
    said = (
        "; the nearest, upper-case (the writer hashed each value in upper case), finds 266 of 400, where chance would"
        " find 0; tried on "
    )
    assert said in found_in(path).undiagnosed


def test_all_missing_values_are_negative(tmp_path):
    """Whatever was done to these."""
    column = make_column("int64")
    path = wrong.write(tmp_path / "file.parquet", column)
    insert_only(path, [plain for plain in column.plain if plain[-1] < 0x80])
    said = "all bits are those of the other values; all missing values are negative, unlike others; tried on "
    assert said in found_in(path).undiagnosed
    insert_only(path, column.plain[::2])
    assert "negative" not in found_in(path).undiagnosed


LEFT_OUT = "; the missing 50 % were inserted in no form: all bits are those of the other values"


def test_values_that_were_inserted_in_no_form(tmp_path):
    """Every second value, or half of them; but not those that may be there in another form, or were."""
    column = make_column("int64")
    path = wrong.write(tmp_path / "file.parquet", column)
    insert_only(path, column.plain[::2])
    apart = f"{LEFT_OUT}, and one value in 2 is missing, at equal distances; tried on 200 missing values ["
    assert apart in found_in(path).undiagnosed
    insert_only(path, random.Random(1).sample(column.plain, 200))
    assert f"{LEFT_OUT}; tried on 200 missing values [" in found_in(path).undiagnosed
    others = [plain[3:] + b"other" + plain[:3] for plain in column.plain[1::2]]
    insert_only(path, column.plain[::2] + others)
    assert "in no form" not in found_in(path).undiagnosed
    # A bit of each is lost.
    path = wrong.write(tmp_path / "other.parquet", column, fpp=1e-9)
    bits = np.frombuffer(wrong.read_bits(path), "<u4").reshape(-1, 8).copy()
    bits[::2, 3] = 0
    wrong.overwrite(path, bits.tobytes())
    assert "in no form" not in (found_in(path).undiagnosed or "")


def test_few_values_that_were_inserted_leave_no_bits_to_explain(tmp_path):
    """All bits are theirs, so that the filter is neither another file's nor damaged."""
    column = make_column("int64")
    path = wrong.write(tmp_path / "file.parquet", column)
    said = (
        "none of them is seen to find more values than chance would; the missing 90 % were inserted in no form: all bits"
        " are those of the other values"
    )
    insert_only(path, column.plain[3::10])
    apart = f"; {said}, and one value in 10 was inserted, at equal distances; tried on 360 missing values ["
    assert apart in found_in(path).undiagnosed
    insert_only(path, random.Random(1).sample(column.plain, 40))
    assert f"; {said}; tried on 360 missing values [" in found_in(path).undiagnosed


@pytest.mark.parametrize("lost", [6, 20, 40, 100])
def test_the_nearest_of_two_mistakes_is_named(tmp_path, lost):
    """However much of all it explains: text in upper case, and the last values not at all."""
    column = make_column("text")
    path = wrong.write(tmp_path / "file.parquet", column)
    insert_only(path, [plain.decode().upper().encode() for plain in column.plain[:-lost]])
    said = (
        "; the nearest, upper-case (the writer hashed each value in upper case), finds"
        f" {400 - lost} of 400, where chance would find "
    )
    assert said in found_in(path).undiagnosed


@pytest.mark.parametrize(
    ("writer", "named"),
    [
        (
            wrong.Writer(hash=lambda plain: wrong.xxh64(plain, 42)),
            "xxh64-seed (the writer hashed each value using XXH64 with seed 42 instead of 0)",
        ),
        (
            wrong.Writer(form=lambda plain: plain[:13]),
            "truncated (the writer hashed each value only by its first 13 bytes)",
        ),
    ],
)
def test_the_nearest_is_named_with_its_seed_or_length(tmp_path, writer, named):
    column = make_column("email")
    path = wrong.write(tmp_path / "file.parquet", column)
    wrong.overwrite(path, writer.bitset(column.plain[:-100], wrong.header(path).num_blocks))
    assert f"; the nearest, {named}, finds 300 of 400, where" in found_in(path).undiagnosed


def test_every_output_says_it(tmp_path):
    path = of_other_values(tmp_path / "file.parquet")
    asked = ("validate", path, "--diagnose", "--format")
    sentence = found_in(path).undiagnosed
    assert f"\n      {sentence}\n" in outcome(*asked, "text", "--verbose").stdout
    shorter = f"{sentence.partition(' [')[0]}, in ways that --verbose lists"
    assert f"\n      {shorter}\n" in outcome(*asked, "text").stdout
    (found,) = (
        each
        for each in json.loads(outcome(*asked, "json").stdout)["findings"]
        if each["rule"] == "PB401"
    )
    assert (found["diagnosis"], found["undiagnosed"]) == (None, sentence)
    assert sentence.capitalize() in outcome(*asked, "sarif").stdout
    assert sentence in outcome(*asked, "github").stdout.replace("%3A", ":").replace("%2C", ",")


def test_who_did_not_ask_is_not_told(tmp_path):
    path = of_other_values(tmp_path / "file.parquet")
    (found,) = (each for each in validate(path).findings if each.rule == "PB401")
    assert found.undiagnosed is None
    document = json.loads(outcome("validate", path, "--format", "json").stdout)
    assert not any("undiagnosed" in each for each in document["findings"])


def test_a_filter_that_finds_most_values_tells_nothing(tmp_path):
    path = of_other_values(tmp_path / "file.parquet", num_blocks=4)
    assert found_in(path).undiagnosed.startswith("no diagnosis: ")
    assert found_in(path).undiagnosed.endswith(
        " % of absent values pass the filter, so a match could be luck"
    )


def test_too_few_values(tmp_path):
    path = tmp_path / "file.parquet"
    data = built(written(pa.table({"a": [17, 23, 42]})), ["a"])
    path.write_bytes(with_bits(data, bits_of([17, 23], 2)))
    said = "no diagnosis: 1 missing value, too few to prove anything: expected 4"
    assert found_in(path).undiagnosed == said


def test_filters_of_orc(tmp_path):
    """Exchanged ones, and an accident, which no writer makes."""
    said = {}
    for defect in ORC:
        if defect.name in ("one bit cleared", "of the other index group"):
            path = tmp_path / "file.orc"
            path.write_bytes(defect.make())
            said[defect.name] = validate(path, diagnose=True).findings[0].undiagnosed
    assert said == {
        "one bit cleared": "no diagnosis: 1 missing value, too few to prove anything: expected 4; 6 of its 7 bits are"
        " set, where about 4 would be of a value that was never inserted: either the filter is wrong, or bytes of the"
        " values became others that fit, as ORC files have no checksums",
        "of the other index group": "nothing explains it; tried on 989 missing values:"
        " logical-shifts, bits-inverted, bytes-lost, closed-early, opened-late",
    }


def test_older_filters(tmp_path):
    (defect,) = (each for each in OLDER if each.name == "bits that got lost")
    path = defect.make(tmp_path)

    def said(**options):
        found = validate(path, **options).findings
        return {each.undiagnosed for each in found if each.rule == "PB705"}

    assert said() == {None}
    assert said(diagnose=True) == {
        "no diagnosis: legacy filters are only read as their dialects define them"
    }


def test_few_missing_values_may_be_the_fault_of_a_page(tmp_path):
    """400 bytes of a page without compression are others now."""
    data = bytearray(built(written(pa.table({"n": np.arange(5000) * 7919})), ["n"]))
    data[10_000:10_400] = np.random.default_rng(3).bytes(400)
    path = tmp_path / "file.parquet"
    path.write_bytes(data)
    found = found_in(path)
    assert found.rows.count in (50, 51)
    assert re.search(
        r"; 1\d\d of their 4\d\d bits are set, where about 1\d\d would be of values that were never inserted:"
        " with so few missing, bytes of a page without a checksum may have changed, and not the filter$",
        found.undiagnosed,
    )
    # None that repairs, after which no trace would be left.
    for options in ({}, {"diagnose": True}):
        (found,) = validate(path, **options).findings
        assert found.next == f"pbloom validate {path} -c n --pages --diagnose"


@pytest.mark.parametrize("last", [b"u102999", b"u102998"])
def test_so_may_few_be_in_the_last_rows(tmp_path, last):
    """A writer that closes its filter too early leaves out more."""
    values = pa.table({"id": [f"u{100_000 + row}" for row in range(3000)]})
    data = built(written(values, compression="none", use_dictionary=False), ["id"])
    at = data.index(b"\7\0\0\0" + last) + 4
    path = tmp_path / "file.parquet"
    path.write_bytes(data[:at] + b"u10Z999" + data[at + 7 :])
    (found,) = (each for each in validate(path).findings if each.rule == "PB401")
    assert found.rows.only_at_end is (last == b"u102999")
    assert found.next == f"pbloom validate {path} -c id --pages --diagnose"


def test_so_may_bits_be_of_values_that_are_there_no_more(tmp_path):
    """Those of pages that were overwritten with other values that are stored."""
    values = np.arange(5000) * 7919
    there = written(pa.table({"n": values}))
    bits = bits_of([*values, 17, 23], 512)
    path = tmp_path / "file.parquet"
    path.write_bytes(with_bits(built(there, ["n"]), bits))
    (found,) = validate(path).findings
    look = f"validate {path} -c n --pages --diagnose"
    assert (found.rule, found.next) == ("PB405", f"pbloom {look}")
    *_, said, build = outcome(*look.split()).stdout.splitlines()
    assert build == f"  next: pbloom build {path} -c n --existing replace --in-place"
    assert said == (
        "      its pages agree with headers, footer and page index, so either the filter is wrong, or bytes became others that"
        " fit, which takes checksums to tell"
    )


def foreign_bits_of(path, values, bits: bytes) -> str:
    """What is said of bits that come from no stored value."""
    path.write_bytes(with_bits(built(written(pa.table({"n": values})), ["n"]), bits))
    (said,) = (each.message for each in validate(path).findings if each.rule == "PB405")
    return said.partition(" come from no stored value: ")[2]


OTHERWISE = "the filter was not cleared first, or has values from elsewhere"


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        (320, 960, "20 blocks in a row, from block 10 of 512 on, have all bits set: overwritten"),
        (330, 970, "19 blocks in a row, from block 11 of 512 on, have all bits set: overwritten"),
        (0, 70, "2 blocks in a row, from block 0 of 512 on, have all bits set: overwritten"),
        (16352, 16384, "1 block in a row, from block 511 of 512 on, has all bits set: overwritten"),
        (330, 360, OTHERWISE),
    ],
)
def test_blocks_that_were_overwritten_with_ones(tmp_path, start, end, said):
    """They lack no value, and find all that belong there."""
    values = np.arange(5000) * 7919
    bits = bits_of(values.tolist(), 512)
    ones = bits[:start] + b"\xff" * (end - start) + bits[end:]
    assert foreign_bits_of(tmp_path / "file.parquet", values, ones) == said


def test_blocks_that_values_may_have_filled_were_not_overwritten(tmp_path):
    """Bits of others in all blocks, besides one that has all of its bits; and so many values that some blocks are as
    good as full."""
    values = np.arange(5000) * 7919
    bits = bits_of([*values.tolist(), *range(1, 1000)], 512)
    ones = b"\xff" * 32 + bits[32:]
    assert foreign_bits_of(tmp_path / "others.parquet", values, ones) == OTHERWISE
    bits = bits_of([*values.tolist(), 1, 2], 32)
    ones = bits[:32] + b"\xff" * 32 + bits[64:]
    assert foreign_bits_of(tmp_path / "full.parquet", values, ones) == OTHERWISE


def test_so_may_one_be(tmp_path):
    """One byte of a page is another."""
    values = pa.table({"id": [f"u{100_000 + row}" for row in range(3000)]})
    data = built(written(values, compression="none", use_dictionary=False), ["id"])
    path = tmp_path / "file.parquet"
    path.write_bytes(data.replace(b"u101500", b"u101Z00"))
    (found,) = validate(path, diagnose=True).findings
    assert found.undiagnosed == (
        "no diagnosis: 1 missing value, too few to prove anything: expected 4; 4 of its 8 bits are set, where about 4 would"
        " be of a value that was never inserted: with so few missing, bytes of a page without a checksum may have"
        " changed, and not the filter"
    )


@pytest.mark.parametrize("lacking", [3, 4])
def test_what_each_of_several_filters_lacks_was_left_out(tmp_path, lacking):
    """One value of each is too few to prove anything; that it is the last of each is no accident."""
    numbers = random.Random(5).sample(range(10**9), 30 * lacking)
    path = tmp_path / "file.parquet"
    wrong.write_table(path, pa.table({"values": numbers}), row_group_size=30)
    for group in range(lacking):
        inserted = numbers[30 * group : 30 * group + 29]
        wrong.overwrite(path, bits_of(inserted, wrong.header(path, group).num_blocks), group)
    said = "no diagnosis: 1 missing value, too few to prove anything: expected 4; "
    left_out = "; 4 filters of the column lack nothing but their last value: the writer may have left it out"
    found = [
        each.undiagnosed for each in validate(path, diagnose=True).findings if each.rule == "PB401"
    ]
    assert len(found) == lacking
    assert all(each.startswith(said) for each in found)
    assert {each.endswith(left_out) for each in found} == {lacking == 4}
    assert any("may have changed" in each for each in found) == (lacking == 3)


def test_a_bit_that_was_lost_is_one_of_the_filter(tmp_path):
    """All but one of the bits of the values are set."""
    data = built(written(pa.table({"n": np.arange(1000) * 7919})), ["n"])
    bits = bytearray(bitset(data))
    at = next(place for place in range(700, len(bits)) if bits[place])
    bits[at] &= bits[at] - 1
    path = tmp_path / "file.parquet"
    path.write_bytes(with_bitset(data, bytes(bits)))
    (found,) = validate(path, diagnose=True).findings
    assert found.undiagnosed == (
        "no diagnosis: 1 missing value, too few to prove anything: expected 4; 7 of its 8 bits are set, where about 3 would"
        " be of a value that was never inserted: bits of the filter may have been lost"
    )


def test_no_bits_were_lost_where_rather_few_are_set(tmp_path):
    """As luck has it of some values that a writer left out."""
    inserted, others = ((np.arange(1000) * 7919 + first).tolist() for first in (0, 1))
    bits = bits_of(inserted, 128)
    words = Bitset(np.frombuffer(bits, np.uint32).reshape(-1, 8), 128)
    hashes = hashed([value.to_bytes(8, "little") for value in others], XXH64)
    few = [at for at in range(1000) if bits_set_of(words, hashes[at : at + 1]).hits == 1][:15]
    path = tmp_path / "file.parquet"
    values = [*inserted[:500], *(others[at] for at in few), *inserted[500:]]
    path.write_bytes(with_bits(built(written(pa.table({"n": values})), ["n"]), bits))
    assert re.search(
        "; 15 of their 120 bits are set, where about 2. would be of values that were never inserted: with so few missing",
        found_in(path).undiagnosed,
    )


def test_so_are_those_of_an_empty_block(tmp_path):
    """Too few to prove where."""
    values = (np.arange(150) * 7919).tolist()
    bits = bits_of(values, 16)
    data = with_bits(
        built(written(pa.table({"n": values})), ["n"]), bits[:96] + bytes(32) + bits[128:]
    )
    path = tmp_path / "file.parquet"
    path.write_bytes(data)
    found = found_in(path)
    assert found.rows.count == 11
    assert found.undiagnosed.endswith(
        "; 0 of their 88 bits are set, where about 21 would be of values that were never inserted: bits of the filter may"
        " have been lost"
    )


def test_so_may_adjacent_rows_of_an_index_group(tmp_path):
    """Of ORC, which has no checksums: what is seen after a look is all that can be known."""
    path = tmp_path / "file.orc"
    values = np.random.default_rng(0).permutation(30_000) * 7919
    orc.write_table(pa.table({"n": values}), path, compression="uncompressed")
    pb.build(path, columns="n", in_place=True)
    data = bytearray(path.read_bytes())
    data[90_000:93_000:3] = (each ^ 1 for each in data[90_000:93_000:3])
    path.write_bytes(data)
    # Some of the values are outside the bounds of their index group.
    *others, found = validate(path).findings
    assert {each.rule for each in others} == {"PB614"}
    assert (found.rule, found.place.group) == ("PB401", 1)
    assert 10_000 < found.rows.first < found.rows.last < 19_999
    assert found.next == f"pbloom validate {path} -c n --diagnose"
    *_, found = validate(path, diagnose=True).findings
    assert found.undiagnosed.startswith("nothing explains it; tried on ")
    assert re.search(
        r"; \d,\d{3} of their \d,\d{3} bits are set, where about \d,\d{3} would be of values that were never inserted:"
        r" either the filter is wrong, or bytes of the values became others that fit, as ORC files have no checksums$",
        found.undiagnosed,
    )
    # None that repairs, after which no trace would be left.
    assert found.next is None
    assert found.by_hand.startswith("take another copy of the file, or look at the rows of the")
    assert found.may_be_only_trace
    (done,) = pb.repair(path, in_place=True, rebuild=True).repaired
    assert done.action == "rebuilt"
    assert done.reason.endswith(
        f"; in rows {found.rows.first} to {found.rows.last}: either the filter was wrong, or bytes of the"
        " values became others that fit, as ORC files have no checksums: pbloom validate --diagnose may tell which, of a"
        " copy that still has the filter"
    )


def test_so_may_many_be_that_are_in_one_page(tmp_path):
    """One bit of a compressed page is another: what refers to it is other text, too, mostly to the end."""
    words = pa.array([f"u20_{number}" for number in range(3000)])
    plain = written(pa.table({"n": words}), compression="zstd", use_dictionary=False)
    data = bytearray(built(plain, ["n"]))
    data[900] ^= 1
    path = tmp_path / "file.parquet"
    path.write_bytes(data)
    (found,) = validate(path).findings
    assert found.rule == "PB401"
    assert found.rows.count > 300
    assert found.next == f"pbloom validate {path} -c n --pages --diagnose"


@pytest.mark.parametrize(("first", "is_damage"), [(0, False), (500, True), (2500, True)])
def test_so_may_those_of_several_pages_behind_others(tmp_path, first, is_damage):
    """Two fifths of the rows, in pages that follow each other. Those from the first on may be what a writer had in a
    dictionary."""
    values = np.arange(5000) * 7919
    path = tmp_path / "file.parquet"
    data = written(pa.table({"n": values}), data_page_size=8000, use_dictionary=False)
    there = np.delete(values, slice(first, first + 2000))
    path.write_bytes(with_bits(built(data, ["n"]), bits_of(there, 512)))
    (found,) = validate(path).findings
    assert (found.rule, found.rows.first) == ("PB401", first)
    assert found.rows.last_page > found.rows.first_page
    look, repair = f"validate {path} -c n --pages --diagnose", f"repair {path} --rebuild --in-place"
    assert found.next == f"pbloom {look if is_damage else repair}"


LOOK_FIRST = (
    "take another copy of the file, or look at the rows of the missing values: pbloom repair --rebuild only if these values"
    " are right"
)


@pytest.mark.parametrize(
    ("checksums", "said"),
    [
        (True, "; the checksums of its pages are right, so the filter is what is wrong"),
        (
            False,
            "so either the filter is wrong, or bytes became others that fit, which takes checksums to tell",
        ),
    ],
)
@pytest.mark.parametrize("lost", [3, 40])
def test_pages_that_nothing_is_wrong_with_put_it_on_the_filter(tmp_path, checksums, said, lost):
    values = np.arange(5000) * 7919
    path = tmp_path / "file.parquet"
    data = written(pa.table({"n": values}), write_page_checksum=checksums)
    path.write_bytes(
        with_bits(built(data, ["n"]), bits_of([*values[:2000], *values[2000 + lost :]], 512))
    )
    (found,) = validate(path).findings
    command = f"pbloom validate {path} -c n --pages --diagnose"
    assert (found.rule, found.next) == ("PB401", command)
    assert "next" in outcome(*command.split()[1:]).stdout
    (without_pages,) = validate(path, diagnose=True).findings
    (found,) = validate(path, pages=True, diagnose=True).findings
    assert found.undiagnosed.endswith(said)
    assert (without_pages == found) is checksums
    assert ("may have changed, and not the filter" in found.undiagnosed) is not checksums
    repair = f"pbloom repair {path} --rebuild --in-place"
    assert (found.next, found.by_hand) == ((repair, None) if checksums else (None, LOOK_FIRST))
    shown = outcome(*command.split()[1:], "--no-config").stdout
    assert f"\n  next: {repair if checksums else LOOK_FIRST}\n" in shown
    (done,) = pb.repair(path, in_place=True, rebuild=True).repaired
    assert done.reason.endswith(f"found {lost})" if checksums else said)
    assert (f"in rows 2000 to {1999 + lost}: its pages agree" in done.reason) is not checksums


@pytest.mark.parametrize("options", [{}, {"pages": True}])
def test_a_wrong_checksum_that_was_ignored_is_said_to_be_there(tmp_path, options):
    """The page has one, so that it tells that bytes have changed."""
    values = np.arange(5000) * 7919
    data = built(
        written(pa.table({"n": values}), write_page_checksum=True, use_dictionary=False), ["n"]
    )
    path = tmp_path / "file.parquet"
    lost = values[2000:2020]
    path.write_bytes(data.replace(lost.tobytes(), (lost + 1).tobytes()))
    report = validate(path, diagnose=True, ignore_checksums=True, **options)
    (found,) = (each for each in report.findings if each.rule == "PB401")
    assert found.undiagnosed.endswith(
        " never inserted; a checksum of its pages is wrong and was ignored: bytes of a page may have changed, and not"
        " the filter"
    )
    assert (found.next, found.by_hand) == (None, LOOK_FIRST)
    assert not report.checked.pages_without_checksum


@pytest.mark.parametrize("option", ["rebuild", "drop_bad"])
@pytest.mark.parametrize("statistics", ["right", "too narrow"])
def test_so_they_do_of_values_anywhere(tmp_path, option, statistics):
    """As of one entry of a dictionary that has changed: its rows are not adjacent,
    and a writer may have left it out."""
    values = np.arange(5000) * 7919
    data = built(written(pa.table({"n": values})), ["n"])
    lost = np.delete(values, [0, 1700, 4000])
    data = with_bits(data, bits_of(lost, len(bitset(data)) // 32))
    if statistics == "too narrow":
        least, most = (int(each).to_bytes(8, "little") for each in (values[1], values[-1]))
        data = with_meta(data, 0, 0, statistics=Statistics(min_value=least, max_value=most))
    path = tmp_path / "file.parquet"
    path.write_bytes(data)
    (done,) = pb.repair(path, in_place=True, **{option: True}).repaired
    doubt = {
        "right": "its pages agree with headers, footer and page index, so either the filter is wrong, or bytes became others"
        " that fit, which takes checksums to tell",
        "too narrow": "bytes of the pages may have changed, and not the filter: PB125 narrow-statistics: min_value of the"
        " column chunk excludes a value",
    }
    assert done.reason.endswith(f"(expected 0, found 3); in rows 0 to 4000: {doubt[statistics]}")


def test_so_do_pages_that_decrypt(tmp_path):
    """Nobody without the key makes others that do."""
    values = np.arange(5000) * 7919
    data = built(written(pa.table({"n": values})), ["n"])
    path, recipe = tmp_path / "file.parquet", Recipe()
    path.write_bytes(encrypt(with_bits(data, bits_of(np.delete(values, 2000), 512)), recipe).data)
    (found,) = validate(path, pages=True, diagnose=True, keys=keys_of(recipe)).findings
    said = "; its pages decrypt as they were encrypted, so the filter is what is wrong"
    assert found.undiagnosed.endswith(said)


def test_nobody_is_sent_to_drop_what_pages_may_have_done_for_its_length(tmp_path):
    """Without the values, nobody knows whether that is wrong."""
    values = np.arange(5000) * 7919
    data = built(written(pa.table({"n": values})), ["n"])
    _, length = pointer(data)
    data = with_bits(data, bits_of(np.delete(values, 2000), len(bitset(data)) // 32))
    path = tmp_path / "file.parquet"
    path.write_bytes(with_meta(data, 0, 0, bloom_filter_length=length - 32))
    look = f"pbloom validate {path} -c n --pages --diagnose"
    assert {each.rule: each.next for each in validate(path).findings} == {
        "PB112": look,
        "PB401": look,
    }
    found = validate(path, pages=True, diagnose=True).findings
    assert {each.rule: each.by_hand for each in found} == {"PB112": None, "PB401": LOOK_FIRST}
    assert {each.next for each in found} == {None}
    (done,) = pb.repair(path, in_place=True, rebuild=True).repaired
    assert (done.action, "; in row 2000: its pages agree" in done.reason) == ("rebuilt", True)


def lacking(name, lost, column="n"):
    """A file with a filter that lacks the values at these places."""
    values = np.arange(5000) * 7919
    data = built(written(pa.table({column: values})), [column])
    with open(name, "wb") as file:
        file.write(with_bits(data, bits_of(np.delete(values, lost), len(bitset(data)) // 32)))


FEW, MANY = [0, 1700, 4000], slice(0, 2500)


def test_few_that_are_not_adjacent_are_looked_at_first(tmp_path, monkeypatch):
    """As of one entry of a dictionary that has changed; `next` says no other than the diagnosis."""
    monkeypatch.chdir(tmp_path)
    lacking("a.parquet", FEW)
    look = "pbloom validate a.parquet -c n --pages --diagnose"
    assert next_of("a.parquet") == next_of("a.parquet", diagnose=True) == [(look, None)]
    (found,) = validate("a.parquet", diagnose=True).findings
    assert found.undiagnosed.endswith(
        "bytes of a page without a checksum may have changed, and not the filter"
    )
    assert next_of("a.parquet", pages=True) == [(look, None)]
    assert next_of("a.parquet", pages=True, diagnose=True) == [(None, LOOK_FIRST)]


def next_of(path, **options):
    return [(each.next, each.by_hand) for each in validate(path, **options).findings]


def test_what_is_looked_at_first_is_not_repaired_with_others(tmp_path, monkeypatch):
    """Of a folder, in text and on the page about it."""
    monkeypatch.chdir(tmp_path)
    lacking("a.parquet", MANY)
    lacking("b.parquet", FEW)
    lacking("c.parquet", MANY)
    pb.build("b.parquet", "d.parquet", columns="n", existing="replace")
    told = [line.partition("; next: ")[2] for line in outcome("validate", ".").stdout.splitlines()]
    assert [*filter(None, told)] == [
        "pbloom validate a.parquet -c n --diagnose; next: pbloom repair a.parquet c.parquet --rebuild --in-place",
        "pbloom validate b.parquet -c n --pages --diagnose",
    ]
    told = outcome("validate", ".", "--pages", "--diagnose").stdout
    assert "; next: pbloom repair a.parquet c.parquet --rebuild --in-place\n" in told
    assert f"; next: {LOOK_FIRST}\n" in told
    assert outcome("report", ".", "-o", "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    assert "next: pbloom validate b.parquet -c n --pages --diagnose<" in page
    repairs = re.findall("pbloom repair [^<]*", page)
    assert {*repairs} == {"pbloom repair a.parquet c.parquet --rebuild --in-place"}


def test_one_of_several_wrong_files_is_diagnosed_before_all_are_repaired(tmp_path, monkeypatch):
    """As it is of a single one; the diagnosis is not asked for again."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c"):
        lacking(f"{name} 1.parquet", MANY, "my n")
    repair = "pbloom repair . --rebuild --in-place"
    look = "pbloom validate 'a 1.parquet' -c 'my n' --diagnose"
    told = outcome("validate", ".").stdout.splitlines()
    assert [line.split("; next: ")[1:] for line in told if "; next" in line] == [[look, repair]]
    told = outcome("validate", ".", "--diagnose").stdout.splitlines()
    assert [line.split("; next: ")[1:] for line in told if "; next" in line] == [[repair]]
    # Of one that is wrong among others, too.
    pb.repair("a 1.parquet", rebuild=True, in_place=True)
    pb.repair("b 1.parquet", rebuild=True, in_place=True)
    told = outcome("validate", ".").stdout.splitlines()
    look, repair = (
        each.replace("a 1", "c 1")
        for each in (look, "pbloom repair 'a 1.parquet' --rebuild --in-place")
    )
    assert [line.split("; next: ")[1:] for line in told if "; next" in line] == [[look, repair]]


def test_one_file_to_look_at_hides_no_repair_of_many_others(tmp_path, monkeypatch):
    """Of which the page does not know all."""
    monkeypatch.chdir(tmp_path)
    for number in range(7):
        lacking(f"{number}.parquet", MANY if number < 6 else FEW)
    outcome("report", ".", "-o", "page.html")
    page = (tmp_path / "page.html").read_text()
    steps = page.partition('id="next"')[2].partition("</section>")[0]
    assert re.findall("pbloom [^<]*", steps) == [
        "pbloom validate 6.parquet -c n --pages --diagnose",
        "pbloom repair FILE --rebuild --in-place",
    ]
    assert "where one names FILE, take other files" in steps


@pytest.mark.parametrize("lost", [[MANY, FEW], [MANY, FEW, MANY]])
def test_nor_with_others_of_its_table(tmp_path, lost):
    """Of which no single file is repaired."""
    values = np.arange(5000) * 7919
    for _ in lost:
        write_deltalake(tmp_path, pa.table({"n": values}), mode="append")
    pb.build_table(tmp_path, columns="n", min_file_size=0)
    for path, some in zip(tmp_path.glob("*.parquet"), lost, strict=True):
        data = path.read_bytes()
        path.write_bytes(with_bits(data, bits_of(np.delete(values, some), len(bitset(data)) // 32)))
    told = outcome("validate", tmp_path, "--table", "delta").stdout
    look = f"pbloom validate {tmp_path} -c n --pages --diagnose --table delta"
    assert re.findall("; next: (.*)", told) == [look]


def test_nor_is_it_in_one_file(tmp_path):
    """A repair of the file would take another column with it, and another row group of the same."""
    path, values = tmp_path / "a.parquet", np.arange(5000) * 7919
    table = pa.table({"n": values, "m": values})
    sound = built(written(table), ["n", "m"])

    def without(data, column, lost, row_group=0):
        bits = bits_of(np.delete(values, lost), len(bitset(data, row_group, column)) // 32)
        return with_bits(data, bits, row_group, column)

    path.write_bytes(without(without(sound, 0, FEW), 1, MANY))
    look = f"pbloom validate {path} -c n --pages --diagnose"
    repair = f"pbloom repair {path} -c m --rebuild --in-place"
    assert next_of(path) == [(look, None), (repair, None)]
    path.write_bytes(without(sound, 1, MANY))
    assert next_of(path) == [(f"pbloom repair {path} --rebuild --in-place", None)]


@pytest.mark.parametrize("is_damaged", [False, True])
def test_nor_to_build_another_for_its_size(tmp_path, is_damaged):
    """Nor that of another row group, which would take this one with it."""
    values = np.arange(5000) * 7919
    data = written(pa.table({"n": values}), row_group_size=2500, compression="none")
    data = with_bits(built(data, ["n"]), bits_of(values[:2500], 4096))
    if is_damaged:
        at = data.rindex(int(values[4000]).to_bytes(8, "little"), 0, pointer(data)[0])
        data = data[:at] + (1 << 60).to_bytes(8, "little") + data[at + 8 :]
    path = tmp_path / "file.parquet"
    path.write_bytes(data)
    size = ["PB206", "PB306", "PB309"]
    found = {each.rule: each.next for each in validate(path, ignore=size).findings}
    build = f"pbloom build {path} -c n --existing replace --in-place"
    look = f"pbloom validate {path} -c n --pages --diagnose"
    if not is_damaged:
        assert found == {"PB304": build}
        return
    assert found == dict.fromkeys(["PB304", "PB401"], look)
    found = {each.rule: each.next for each in validate(path, pages=True, diagnose=True).findings}
    assert (found["PB304"], found["PB401"]) == (None, None)


def test_pages_that_something_is_wrong_with_do_not(tmp_path):
    """The statistics of the chunk say otherwise."""
    data = bytearray(built(written(pa.table({"n": np.arange(5000)})), ["n"]))
    data[10_000:10_400] = np.random.default_rng(3).bytes(400)
    path = tmp_path / "file.parquet"
    path.write_bytes(data)
    found = {each.rule: each for each in validate(path, pages=True, diagnose=True).findings}
    assert len(found) > 1
    assert "the filter is wrong" not in found["PB401"].undiagnosed
    assert found["PB401"].next is None


@pytest.mark.parametrize("option", ["--rebuild", "--drop-bad"])
@pytest.mark.parametrize("checksums", [False, True])
def test_a_filter_stays_as_the_only_trace_of_pages_that_changed(tmp_path, option, checksums):
    """In a folder in which another one is repaired, as `validate` says of it."""
    values = pa.table({"n": np.arange(5000)})
    data = bytearray(built(written(values, compression="none"), ["n"]))
    data[10_000:10_400] = np.random.default_rng(3).bytes(400)
    (tmp_path / "a.parquet").write_bytes(data)
    other = built(written(values, write_page_checksum=checksums), ["n"])
    (tmp_path / "b.parquet").write_bytes(with_bits(other, bits_of(range(0, 5000, 2), 512)))
    ran = outcome("repair", tmp_path, option, "--in-place")
    assert ran.code == 1
    assert (tmp_path / "a.parquet").read_bytes() == data
    (left,) = pb.repair(tmp_path / "a.parquet", dry_run=True, rebuild=True).left
    assert left.rule == "PB401"
    assert re.search(
        "; bytes of the pages may have changed, and not the filter: PB125 narrow-statistics: .*:"
        " take another copy of the file; the filter stays$",
        left.reason,
    )
    assert "may have changed, and not the filter: PB125 narrow-statistics" in ran.stdout
    assert validate(tmp_path / "b.parquet").ok
