"""What strip gives back: the old bytes after every mixture of layouts, or how many stay."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.encrypting import FOOTER_KEY, Recipe, encrypt
from make.filters import bitset, with_bitset
from make.footers import footer_start, without_lengths
from make.parquet_files import open_parquet, written

import parquet_bloom as pb
from parquet_bloom.files import open_file

TABLE = pa.table(
    {
        "a": range(300),
        "b": [str(number) for number in range(300)],
        "c": [number / 7 for number in range(300)],
    }
)
A_KEY = b"the key of a...."
KEYS = pb.Keys(footer=FOOTER_KEY, columns={"a": A_KEY})
STRAY = b"bytes of another program"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file.parquet"
    path.write_bytes(written(TABLE, row_group_size=100))
    return path


def build(columns, **options):
    def step(path, keys):
        place = {} if "append_in_place" in options else {"in_place": True}
        pb.build(path, columns=list(columns), keys=keys, force=True, **place, **options)

    return step


def strip(columns):
    return lambda path, keys: pb.strip(path, in_place=True, columns=list(columns), keys=keys)


APPENDED = {"append_in_place": True}
AGAIN = {"existing": "replace"}

SEQUENCES = {
    "one layout, then another": (build("a"), build("b", **APPENDED)),
    "another, then one": (build("a", **APPENDED), build("b", layout="replace")),
    "a part is stripped": (build("ab"), strip("a")),
    "the other part": (build("ab"), strip("b")),
    "replaced": (build("ab"), build("a", **AGAIN)),
    "replaced in row groups": (build("ab"), build("a", row_groups=[1], **AGAIN)),
    "replaced, appended": (build("a"), build("ab", layout="append", **AGAIN)),
    "appended three times, then a part": (
        *(build("a", **APPENDED), build("abc", **AGAIN, **APPENDED)),
        *(build("ac", **AGAIN, **APPENDED), strip("ab")),
    ),
}


@pytest.mark.parametrize("steps", SEQUENCES.values(), ids=SEQUENCES)
def test_the_old_bytes_come_back(steps, file):
    old = file.read_bytes()
    for step in steps:
        step(file, None)
        assert pq.read_table(file).equals(TABLE)
    report = pb.strip(file, in_place=True)
    assert file.read_bytes() == old
    assert (report.unused_filters, report.unused_bytes) == (0, 0)


@pytest.mark.parametrize("plaintext_footer", [False, True])
@pytest.mark.parametrize("steps", SEQUENCES.values(), ids=SEQUENCES)
def test_encrypted_files_are_as_long_as_before(steps, plaintext_footer, file):
    recipe = Recipe(columns={"a": A_KEY, "b": None}, plaintext_footer=plaintext_footer)
    old = encrypt(file.read_bytes(), recipe).data
    file.write_bytes(old)
    for step in steps:
        step(file, KEYS)
    is_whole = file.read_bytes().startswith(old)
    pb.strip(file, in_place=True, keys=KEYS)
    assert (file.read_bytes() == old) == is_whole
    assert file.stat().st_size == len(old)
    assert file.read_bytes()[: footer_start(old)] == old[: footer_start(old)]


def test_an_earlier_end_alone_has_filters(file):
    """The only one was wrong, and repair appended a footer without it."""
    old = file.read_bytes()
    build("a", row_groups=[0])(file, None)
    data = file.read_bytes()
    file.write_bytes(with_bitset(data, bytes(len(bitset(data)))))
    pb.repair(file, in_place=True, layout="append", drop_bad=True)
    assert pb.inspect(file).num_filters == 0
    pb.strip(file, in_place=True, columns=["b"])
    assert file.read_bytes() != old
    pb.strip(file, in_place=True)
    assert file.read_bytes() == old


def test_bytes_of_another_program_stay(file):
    data = file.read_bytes()
    end = footer_start(data)
    old = data[:end] + STRAY + data[end:]
    file.write_bytes(old)
    for step in (build("ab"), strip("a"), build("b", **AGAIN)):
        step(file, None)
    assert file.stat().st_size == len(old) + report_bytes(file)
    pb.strip(file, in_place=True)
    assert file.read_bytes() == old


def report_bytes(path):
    """What the filters take, in the file and in the footer."""
    with open_file(path) as file:
        lengths = [file.chunk(group, "b").bloom_filter_length for group in range(3)]
    stripped = path.with_name("stripped")
    pb.strip(path, stripped)
    with open_parquet(path) as file, open_parquet(stripped) as bare:
        return sum(lengths) + len(file.footer.raw) - len(bare.footer.raw)


def test_replacing_in_turn_does_not_let_a_file_grow(file):
    sizes = set()
    build("ab")(file, None)
    for _ in range(3):
        for column in "ab":
            build(column, **AGAIN)(file, None)
        sizes.add(file.stat().st_size)
    assert len(sizes) == 1


def test_an_older_strip_left_filters_that_go_now(file):
    """Nothing points to the first filter, and the footer between them belongs to no end."""
    old = file.read_bytes()
    build("ab")(file, None)
    with open_parquet(file) as opened:
        end = opened.footer.start
    left = file.read_bytes()[:end] + old[footer_start(old) :]
    file.write_bytes(left)
    report = pb.strip(file, in_place=True)
    assert (report.removed, report.bytes_removed) == ((), len(left) - len(old))
    assert file.read_bytes() == old


def test_what_stays_in_front_of_pages_is_told(file):
    old = file.read_bytes()
    murmur3 = pb.Murmur3(placement="chunk")
    built = pb.build(file, in_place=True, columns=["b", "c"], dialect=murmur3)
    taken = sum(each.length for each in built.filters)
    report = pb.strip(file, in_place=True)
    assert (report.unused_filters, report.unused_bytes) == (6, taken)
    assert file.stat().st_size > len(old) + taken - 100
    again = pb.strip(file, in_place=True)
    assert (again.bytes_removed, again.unused_filters, again.unused_bytes) == (0, 6, taken)
    assert "6 unused filters, " in outcome("strip", file, "--in-place").stdout
    assert pq.read_table(file).equals(TABLE)


def test_legacy_filters_behind_the_data_move_up(file):
    old = file.read_bytes()
    pb.build(file, in_place=True, columns=["a", "b"], dialect="murmur3")
    build("c")(file, None)
    pb.strip(file, in_place=True, columns="a")
    found = pb.probe(file, "b", ["7"], dialect="murmur3").results[0]
    assert [group.verdict for group in found.groups] == ["maybe", "absent", "absent"]
    assert pb.probe(file, "c", [1.0]).results[0].verdict == "maybe"
    pb.strip(file, in_place=True)
    assert file.read_bytes() == old


@pytest.mark.parametrize("dialect", ["murmur3", "statistics"])
def test_legacy_filters_after_an_appended_end(dialect, file):
    old = file.read_bytes()
    build("a", **APPENDED)(file, None)
    pb.build(file, in_place=True, columns=["b"], dialect=dialect)
    assert not [each for each in pb.validate(file).findings if each.rule == "PB119"]
    assert pb.probe(file, "a", [7]).results[0].verdict == "maybe"
    pb.strip(file, in_place=True)
    assert file.read_bytes() == old


def damaged(file, at):
    """Without the header of one of three filters."""
    with open_parquet(file) as opened:
        place = opened.chunk(at, "b").bloom_filter_offset
    data = file.read_bytes()
    file.write_bytes(data[:place] + b"\xff" + data[place + 1 :])


@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.parametrize("is_built_again", [False, True])
def test_a_filter_without_a_header_goes_where_nothing_else_can_be(is_built_again, at, file):
    old = file.read_bytes()
    build("b")(file, None)
    size = file.stat().st_size
    damaged(file, at)
    if is_built_again:
        build("b", **AGAIN)(file, None)
        assert file.stat().st_size == size
    report = pb.strip(file, in_place=True)
    assert file.read_bytes() == old
    assert (report.unused_filters, report.unused_bytes, report.notes) == (0, 0, ())


@pytest.mark.parametrize("layout", ["replace", "append"])
def test_a_filter_without_a_header_that_repair_replaced_is_told(layout, file):
    """It changes nothing in front of the footer, and only an earlier one still tells that there was a filter."""
    old = file.read_bytes()
    build("b")(file, None)
    damaged(file, 0)
    with open_parquet(file) as opened:
        length = opened.chunk(0, "b").bloom_filter_length
    pb.repair(file, in_place=True, rebuild=True, layout=layout)
    report = pb.strip(file, in_place=True)
    told = f"{length} bytes behind the data stay, as nothing says what is there"
    assert report.notes == ((told,) if layout == "replace" else ())
    assert file.stat().st_size == len(old) + length * (layout == "replace")


def test_a_filter_without_a_header_and_length_is_counted_once(file):
    """The one before it stays, and is known."""
    build("b")(file, None)
    damaged(file, 2)
    with open_parquet(file) as opened:
        *known, unknown = [opened.chunk(at, "b").bloom_filter_length for at in range(3)]
    file.write_bytes(without_lengths(file.read_bytes()))
    report = pb.strip(file, in_place=True)
    assert (report.unused_filters, report.unused_bytes) == (2, sum(known))
    assert report.notes == (f"{unknown} bytes behind the data stay, as nothing says what is there",)


def test_beside_bytes_of_another_program_it_stays(file):
    data = file.read_bytes()
    end = footer_start(data)
    file.write_bytes(data[:end] + STRAY + data[end:])
    build("b")(file, None)
    damaged(file, 2)
    length = len(file.read_bytes())
    assert outcome("strip", file, "--dry-run").stdout.splitlines()[1:] == [
        (
            "3 unused filters, 688 B: stay in the file, as data follows them, or it is uncertain what else is there:"
            " rewriting the file with any writer removes them"
        ),
        "note: filters are removed no matter who built them, the file's own writer included",
        f"note: {len(STRAY)} bytes behind the data stay, as nothing says what is there",
    ]
    assert len(file.read_bytes()) == length
