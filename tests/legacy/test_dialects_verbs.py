"""The verbs on files with filters of older dialects."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.footers import footer_start
from make.older_files import DRAFTS, STORED, bitset, draft_of, file_of, murmur3, plain_header, texts

import parquet_bloom as pb
from parquet_bloom.errors import FilterError

ROWS = 1000


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("verbs") / "source.parquet"
    table = pa.table({"id": range(ROWS), "name": [f"name {i}" for i in range(ROWS)]})
    pq.write_table(table, path, row_group_size=500)
    return path


@pytest.fixture(scope="module")
def mixed(source, tmp_path_factory):
    """`id` has a Murmur3 filter and one of today, `name` one inside its Statistics."""
    path = tmp_path_factory.mktemp("verbs") / "mixed.parquet"
    pb.build(source, path, columns=["id"], dialect=pb.Murmur3(seed=7))
    pb.build(path, columns=["id"], in_place=True)
    pb.build(path, columns=["name"], in_place=True, dialect=pb.StatisticsFilter("guava-64"))
    return path


@pytest.fixture
def published(tmp_path):
    """A file whose bloom_filter_offset leads to a filter of 2018."""
    return file_of(tmp_path, STORED, draft_of("2018, 12 bytes"))


def run(*arguments):
    """Exit code, standard output and error of the command."""
    result = outcome(*arguments)
    return result.code, result.stdout, result.stderr


# ------------------------------------------------------------------------------------------------
# inspect


def test_inspect_shows_filters_beside_those_of_today(mixed):
    report = pb.inspect(mixed)
    id, name = report.row_groups[1].columns
    assert (id.filter.dialect, id.filter.hash) == ("xxhash", "XXHASH")
    (older,) = id.legacy_filters
    assert (older.dialect, older.pointer, older.layout) == ("murmur3", "note", "12-byte")
    assert older.hash == "MURMUR3 seed 7, mask"
    assert (older.stored_bytes, older.header_bytes, older.num_bytes) == (1036, 12, 1024)
    assert older.fpp < 0.03
    assert abs(older.ndv_estimate - 500) < 10
    assert (name.filter, name.reason) == (None, "no filter")
    (inside,) = name.legacy_filters
    assert (inside.dialect, inside.pointer) == ("statistics", "Statistics field 31420")
    assert (inside.hash, inside.offset) == ("guava-64", None)
    shown = [
        found.stored_bytes
        for group in report.row_groups
        for column in group.columns
        for found in (column.filter, *column.legacy_filters)
        if found
    ]
    assert report.filter_bytes == sum(shown)


def test_inspect_shows_what_field_14_leads_to(published):
    (column,) = pb.inspect(published).row_groups[0].columns
    assert column.legacy_filters == ()
    found = column.filter
    assert (found.dialect, found.hash) == ("murmur3", "MURMUR3 seed 1361930890, mask")
    assert (found.algorithm, found.compression, found.length) == ("BLOCK", "UNCOMPRESSED", None)
    assert (found.header_bytes, found.num_bytes, found.num_blocks) == (12, 1024, 32)


def test_inspect_says_why_an_older_filter_cannot_be_used(tmp_path):
    stored = plain_header(1024, 12) + bitset(STORED, 32, murmur3(99))
    (column,) = pb.inspect(file_of(tmp_path, STORED, stored)).row_groups[0].columns
    assert column.filter is None
    assert "are not found by any known hash" in column.reason


def test_inspect_says_why_a_note_leads_nowhere(source, tmp_path):
    path = tmp_path / "damaged.parquet"
    pb.build(source, path, columns=["id"], dialect=pb.Murmur3())
    data = path.read_bytes()
    at = data.index((1024).to_bytes(4, "little") + bytes(8))
    path.write_bytes(data[:at] + b"\x01" + data[at + 1 :])
    (older,) = pb.inspect(path, columns=["id"]).row_groups[0].columns[0].legacy_filters
    assert (older.dialect, older.layout, older.fpp) == ("murmur3", None, None)
    assert older.reason.endswith(f"note: no 12-byte header of 1036 bytes in all at {at}")


@pytest.mark.parametrize(
    ("seed", "complaint"),
    [
        ("\n-", "not a note about a filter"),
        ("\n-9", "an impossible note: '{"),
        (":", "not a note about a fi"),
    ],
)
def test_a_damaged_note_says_where_in_one_line(source, tmp_path, seed, complaint):
    path = tmp_path / "damaged.parquet"
    number = 10 ** (len(seed) - 1)
    pb.build(source, path, columns=["id"], dialect=pb.Murmur3(seed=number))
    path.write_bytes(
        path.read_bytes().replace(f'"seed":{number}'.encode(), f'"seed":{seed}'.encode())
    )
    with pytest.raises(FilterError) as found:
        pb.build(path, in_place=True, columns=["name"], dialect=pb.Murmur3())
    where = f"{path}: row group 0, column id: pbloom.murmur3"
    assert str(found.value).startswith(f"{where}: {complaint}")
    assert "\n" not in str(found.value)
    (finding, _) = pb.validate(path).findings
    assert (finding.rule, finding.message[:16]) == ("PB702", "pbloom.murmur3: ")


def test_inspect_prints_a_row_for_each(mixed, published):
    _, out, _ = run("inspect", mixed, "-g", 0)
    rows = [line.split("\t") for line in out.splitlines()[2:]]
    assert [row[1] for row in rows] == ["id", "id", "name", "name"]
    assert rows[1][-1] == "murmur3, by note: MURMUR3 seed 7, mask"
    assert rows[3][5] == "in the footer"
    assert rows[3][-1] == "statistics, by Statistics field 31420: guava-64"
    _, out, _ = run("inspect", published)
    assert out.splitlines()[2].endswith("\tmurmur3: MURMUR3 seed 1361930890, mask")


def test_histograms_are_drawn_of_older_filters(published):
    _, out, _ = run("inspect", published, "--histogram", "--json")
    (occupancy,) = json.loads(out)["occupancy"]
    assert sum(occupancy["histogram"]) == occupancy["num_blocks"] == 32


# ------------------------------------------------------------------------------------------------
# probe


@pytest.mark.parametrize(
    ("column", "dialect", "verdicts"),
    [
        ("id", None, ["maybe", "absent"]),
        ("id", "xxhash", ["maybe", "absent"]),
        ("id", "murmur3", ["maybe", "absent"]),
        ("id", "statistics", ["unknown", "unknown"]),
        ("name", None, ["maybe", "absent"]),
        ("name", "statistics", ["maybe", "absent"]),
        ("name", "murmur3", ["unknown", "unknown"]),
    ],
)
def test_probe_asks_the_filters_of_a_dialect(mixed, column, dialect, verdicts):
    values = [17, -4711] if column == "id" else ["name 17", "x"]
    results = pb.probe(mixed, column, values, dialect=dialect).results
    assert [each.verdict for each in results] == verdicts
    if dialect not in (None, "xxhash") and "unknown" in verdicts:
        assert results[0].groups[0].reason == "no filter of this dialect"


@pytest.mark.parametrize(
    ("dialects", "asked"),
    [
        ([pb.Murmur3()], "murmur3"),
        ([pb.StatisticsFilter()], "statistics"),
        ([pb.StatisticsFilter(), pb.Murmur3()], "murmur3"),
    ],
)
def test_older_filters_are_recognised_where_there_is_no_other(source, tmp_path, dialects, asked):
    """As `inspect` and `validate` do."""
    path = tmp_path / "older.parquet"
    path.write_bytes(source.read_bytes())
    for dialect in dialects:
        pb.build(path, columns=["id"], row_groups=[1], in_place=True, dialect=dialect)
    (stored, absent) = pb.probe(path, "id", [ROWS - 1, -1]).results
    assert [group.verdict for group in stored.groups] == ["unknown", "maybe"]
    assert [group.verdict for group in absent.groups] == ["unknown", "absent"]
    assert [group.reason for group in absent.groups] == ["no filter", None]
    assert pb.dump(path, "id", 1).bitset == pb.dump(path, "id", 1, dialect=asked).bitset
    with pb.open(path) as file:
        assert file.bloom_filter(1, "id").dialect == asked
    (result,) = pb.probe(path, "id", [-1], dialect="xxhash").results
    assert [group.reason for group in result.groups] == ["no filter", "no filter"]
    for call in (lambda: pb.dump(path, "id", 1, dialect="xxhash"), lambda: pb.dump(path, "id", 0)):
        with pytest.raises(FilterError, match=r": no filter$"):
            call()


def test_an_older_filter_that_cannot_be_used_says_why(source, tmp_path):
    path = tmp_path / "a.parquet"
    pb.build(source, path, columns=["id"], row_groups=[1], dialect=pb.Murmur3(seed=7))
    path.write_bytes(path.read_bytes().replace(b'"seed":7', b'"seed":8'))
    (result,) = pb.probe(path, "id", [-1]).results
    assert result.verdict == "unknown"
    assert "checksum" in result.groups[1].reason
    with pytest.raises(FilterError, match="checksum") as caught:
        pb.dump(path, "id", 1)
    assert str(caught.value).count(str(path)) == 1


@pytest.mark.parametrize("publish_offset", [False, True], ids=["private", "published"])
def test_a_seed_that_the_note_confirms_finds_the_filter(source, tmp_path, publish_offset):
    """Another one is an error that says which it is."""
    path = tmp_path / "a.parquet"
    dialect = pb.Murmur3(seed=7, publish_offset=publish_offset)
    pb.build(source, path, columns=["id"], dialect=dialect)
    for seed in (None, 7):
        (found, other) = pb.probe(path, "id", [17, -1], dialect="murmur3", seed=seed).results
        assert (found.verdict, other.verdict) == ("maybe", "absent")
        assert pb.dump(path, "id", 0, dialect="murmur3", seed=seed).stored.hash.startswith(
            "MURMUR3 seed 7,"
        )
    told = "legacy filter: expected seed 8, found 7"
    (result,) = pb.probe(path, "id", [-1], dialect="murmur3", seed=8).results
    assert (result.verdict, result.groups[0].reason) == ("unknown", told)
    with pytest.raises(FilterError, match=f"^{path}: row group 0, column id: {told}$"):
        pb.dump(path, "id", 0, dialect="murmur3", seed=8)


def test_a_damaged_note_does_not_matter_to_who_gives_the_seed(source, tmp_path):
    path = tmp_path / "a.parquet"
    pb.build(source, path, columns=["id"], dialect=pb.Murmur3(seed=7, publish_offset=True))
    path.write_bytes(path.read_bytes().replace(b'"seed":7', b'"seed":8'))
    (result,) = pb.probe(path, "id", [-1], dialect="murmur3", seed=7).results
    assert result.verdict == "absent"
    (result,) = pb.probe(path, "id", [-1], dialect="murmur3").results
    assert "checksum" in result.groups[0].reason


@pytest.mark.parametrize(
    ("seed", "dialect"), [(1, None), (1, "xxhash"), (1, "statistics"), (-1, "murmur3")]
)
def test_a_seed_is_for_murmur3_alone(mixed, seed, dialect):
    with pytest.raises(ValueError, match=f"^seed: {seed}, expected 0 to 4294967295"):
        pb.probe(mixed, "id", [1], dialect=dialect, seed=seed)


@pytest.mark.parametrize("verb", ["probe", "dump"])
def test_a_dialect_that_there_is_not(mixed, verb):
    arguments = {"probe": ["id", 1], "dump": ["id", 0]}
    with pytest.raises(ValueError, match=r"^dialect: murmur, expected xxhash, murmur3"):
        getattr(pb, verb)(mixed, *arguments[verb], dialect="murmur")


def test_the_command_refuses_what_does_not_go_together(mixed):
    for arguments, complaint in (
        (("--seed", 1), "--seed: expected with --dialect murmur3 only"),
        (("--dialect", "orc"), "--dialect: 'orc': expected xxhash, murmur3 or statistics"),
        (
            ("--dialect", "murmur3", "--seed", 1 << 32),
            "expected a whole number, 0 to 4,294,967,295",
        ),
    ):
        code, out, error = run("probe", mixed, "-c", "id", "-v", 1, *arguments)
        assert (code, out) == (2, "")
        assert complaint in error


def test_the_command_asks_a_dialect(mixed):
    code, out, _ = run("probe", mixed, "-c", "name", "-v", "x", "--dialect", "statistics")
    assert code == 1
    assert out.splitlines()[2].split("\t")[:2] == ["x", "absent"]


def test_explanations_show_old_hashes_and_blocks(mixed, published):
    (found,) = explained(published, "a", "value 7")
    assert found.hash == f"{murmur3()(b'value 7'):016x}"
    assert (found.block, found.num_blocks) == (murmur3()(b"value 7") >> 32 & 31, 32)
    assert (found.clear, found.reason) == ((), None)
    (found, _) = explained(mixed, "id", -1, "murmur3")
    assert found.hash == f"{murmur3(7)((-1).to_bytes(8, 'little', signed=True)):016x}"
    assert found.clear
    (found, _) = explained(mixed, "name", "x", "murmur3")
    assert (found.reason, found.hash, found.bits) == ("no filter of this dialect", "", ())


@pytest.mark.parametrize("strategy", ["hive", "guava-32", "guava-64"])
def test_explanations_show_the_bits_of_filters_inside_statistics(source, tmp_path, strategy):
    path = tmp_path / "a.parquet"
    path.write_bytes(source.read_bytes())
    dialect = pb.StatisticsFilter(strategy=strategy)
    pb.build(path, columns=["name"], in_place=True, dialect=dialect)
    asked = ["name 17", *(f"nobody {number}" for number in range(9))]
    report = pb.probe(path, "name", asked, dialect="statistics", explain=True)
    here, *others = [each for each in report.explanations if each.row_group == 0]
    assert [not each.clear for each in (here, *others)] == [
        result.groups[0].verdict == "maybe" for result in report.results
    ]
    assert len(here.hash) == (32 if strategy == "guava-64" else 16)
    assert (here.clear, here.block, here.plain) == ((), None, b"name 17".hex())
    for each in (here, *others):
        assert 0 < len(each.bits) <= each.num_hashes
        assert set(each.clear) <= set(each.bits) <= set(range(each.num_bits))
    assert any(each.clear for each in others)


def explained(path, column, value, dialect=None):
    return pb.probe(path, column, [value], dialect=dialect, explain=True).explanations


@pytest.mark.parametrize("draft", DRAFTS)
def test_explanations_agree_with_probes(draft, tmp_path):
    path = file_of(tmp_path, STORED, draft_of(draft))
    asked = ["value 1", *(text.decode() for text in texts(50, "other"))]
    verdicts = [each.verdict for each in pb.probe(path, "a", asked).results]
    report = pb.probe(path, "a", asked, explain=True)
    assert [each.verdict for each in report.results] == verdicts
    assert ["absent" if each.clear else "maybe" for each in report.explanations] == verdicts


@pytest.mark.parametrize("draft", DRAFTS)
def test_an_open_file_asks_what_is_published(draft, tmp_path):
    path = file_of(tmp_path, STORED, draft_of(draft))
    asked = ["value 1", *(text.decode() for text in texts(50, "other"))]
    with pb.open(path) as file:
        answers = [file.probe("a", value) for value in asked]
    assert answers == [each.groups for each in pb.probe(path, "a", asked).results]
    assert {answer.verdict for (answer,) in answers} == {"maybe", "absent"}


# ------------------------------------------------------------------------------------------------
# diff


def test_diff_says_what_it_does_not_compare(source, mixed):
    notes = (
        "legacy filters in b, which are not compared: 2 murmur3",
        "legacy filters in b, which are not compared: 2 statistics",
    )
    assert pb.diff(source, mixed).notes == notes
    assert pb.diff(source, mixed, columns=["name"]).notes == notes[1:]
    assert pb.diff(source, source).notes == ()
    code, out, _ = run("diff", mixed, mixed, "-c", "id")
    assert code == 0
    assert out.splitlines() == [
        f"note: legacy filters in {side}, which are not compared: 2 murmur3" for side in "ab"
    ]


# ------------------------------------------------------------------------------------------------
# dump


def test_dump_gives_header_and_bits_as_stored(published):
    dumped = pb.dump(published, "a", 0)
    stored = draft_of("2018, 12 bytes")
    assert dumped.in_format("raw") == stored
    lines = dumped.in_format("hex").decode().split("\n")
    assert lines[0] == stored[:12].hex()
    assert "".join(lines[1:]) == stored[12:].hex()
    found = json.loads(dumped.in_format("json"))
    assert (found["dialect"], found["layout"]) == ("murmur3", "12-byte")
    assert (found["pointer"], found["length"]) == ("bloom_filter_offset", 1036)
    assert found["header"] + found["bitset"] == stored.hex()


def test_dump_gives_words(mixed, published, tmp_path):
    path = tmp_path / "words.npy"
    path.write_bytes(pb.dump(published, "a", 0).in_format("npy"))
    words = np.load(path)
    assert (words.dtype, words.shape) == (np.uint32, (32, 8))
    assert words.tobytes() == draft_of("2018, 12 bytes")[12:]
    path.write_bytes(pb.dump(mixed, "name", 0, dialect="statistics").in_format("npy"))
    assert (np.load(path).dtype, np.load(path).ndim) == (np.uint64, 1)


def test_dump_takes_the_dialect_that_is_asked_for(mixed):
    assert pb.dump(mixed, "id", 0).stored.dialect == "xxhash"
    assert pb.dump(mixed, "id", 0, dialect="murmur3").stored.hash == "MURMUR3 seed 7, mask"
    with pytest.raises(FilterError, match="row group 0, column id: no filter of this dialect"):
        pb.dump(mixed, "id", 0, dialect="statistics")
    code, out, _ = run("dump", mixed, "-c", "name", "--dialect", "statistics", "--format", "json")
    assert code == 0
    assert json.loads(out)["offset"] is None


# ------------------------------------------------------------------------------------------------
# repair, build, strip


@pytest.mark.parametrize("options", [{}, {"drop_bad": True}, {"rebuild": True}])
def test_repair_leaves_older_filters_alone_and_says_so(published, tmp_path, options):
    output = tmp_path / "out.parquet"
    report = pb.repair(published, output, **options)
    assert output.read_bytes() == published.read_bytes()
    assert report.repaired == ()
    (left,) = report.left
    assert left.rule == "PB701"
    assert left.reason.endswith("the filter stays, right or wrong: strip removes it")


def test_build_puts_one_of_today_in_the_place_of_an_older_one(published, tmp_path):
    output = tmp_path / "out.parquet"
    kept = pb.build(published, output, columns=["a"])
    assert [each.reason for each in kept.skipped] == ["has a filter already"]
    pb.build(published, output, columns=["a"], existing="replace", overwrite=True)
    (column,) = pb.inspect(output).row_groups[0].columns
    assert column.filter.dialect == "xxhash"
    # What is said of readers of bytes is true of filters of today only.
    assert {found.rule for found in pb.validate(output).findings} == {"PB212"}


def test_strip_takes_the_pointer_away(published, tmp_path):
    output = tmp_path / "out.parquet"
    pb.strip(published, output)
    (column,) = pb.inspect(output).row_groups[0].columns
    assert (column.filter, column.reason) == (None, "no filter")
    data = output.read_bytes()
    # Nobody is sure how much of it there is, so that its bytes stay.
    assert footer_start(data) == footer_start(published.read_bytes())


def test_spark_verbs_have_no_dialects():
    code, _, error = run("spark", "build", "x", "--dialect", "murmur3")
    assert code == 2
    assert error == "pbloom: --dialect: no such option; pbloom build has it\n"
