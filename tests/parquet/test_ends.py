"""A file that is valid at two lengths: filters follow the whole old file, which a cut gives back."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from make.commands import outcome
from make.encrypting import FOOTER_KEY, Recipe, encrypt
from make.parquet_files import open_parquet, written
from make.wrong_bytes import read_back_wrongly

import parquet_bloom as pb
from parquet_bloom.errors import RewriteError, UnsupportedError
from parquet_bloom.parquet.edit import ends as module

ROWS = 300
TABLE = pa.table(
    {
        "id": [f"id-{number}" for number in range(ROWS)],
        "number": range(ROWS),
        "half": [number / 2 for number in range(ROWS)],
    }
)
A_KEY = b"the key of id..."
KEYS = pb.Keys(footer=FOOTER_KEY, columns={"id": A_KEY})

# And, where they are, what other projects test with; but for what is damaged or not supported.
DAMAGED = {
    *("claim2gib", "datapage_v1-corrupt-checksum", "nested-unsigned-malformed"),
    "dict-page-offset-zero",
}
SHARED = (FIXTURES.parent.parent / "shared" / "data").rglob("*.parquet")
VALID = [
    *sorted(FIXTURES.glob("*.parquet")),
    *(path for path in sorted(SHARED) if path.stem not in DAMAGED),
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file.parquet"
    path.write_bytes(written(TABLE, row_group_size=100))
    return path


def appended(path, columns, keys=None, **options):
    pb.build(path, in_place=True, columns=columns, layout="append", keys=keys, **options)
    return path.read_bytes()


def ends(path, keys=None):
    return pb.inspect(path, keys=keys).earlier_ends


def answers(path, keys=None):
    return [
        pb.probe(path, column, [value], keys=keys).results[0].verdict
        for column, value in (("id", "id-7"), ("number", 7), ("half", 3.5))
    ]


@pytest.mark.every(4)
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.parquet")), ids=lambda path: path.stem)
def test_every_fixture_comes_back(path, tmp_path):
    with pb.open(path) as file:
        columns = file.columns
    old, target = path.read_bytes(), tmp_path / "file.parquet"
    try:
        report = pb.build(path, target, columns=columns, layout="append", existing="replace")
    except UnsupportedError:
        pytest.fail("every fixture can get filters")
    new = target.read_bytes()
    assert new[: len(old)] == old
    itself = tmp_path / "itself.parquet"
    itself.write_bytes(old)
    pb.build(itself, append_in_place=True, columns=columns, existing="replace")
    assert itself.read_bytes() == (new if report.filters else old)
    if not report.filters:
        assert new == old
        return
    assert ends(target) == (len(old),)
    assert not [each for each in pb.validate(target).findings if each.rule == "PB119"]
    if pq.ParquetFile(path).metadata.num_row_groups and "codec_lz4" not in path.stem:
        assert pq.read_metadata(target).num_rows == pq.read_metadata(path).num_rows
    had = {each.column for each in pb.strip(path, dry_run=True).removed}
    pb.strip(target, in_place=True)
    if not had:
        assert target.read_bytes() == old


@pytest.mark.every(6)
@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_strip_gives_back_every_file_in_every_layout(path, tmp_path):
    """Without filters of its own, byte for byte; else what is left of it without them."""
    with pb.open(path) as file:
        columns = file.columns
    old, target = path.read_bytes(), tmp_path / "file.parquet"
    pb.strip(path, tmp_path / "bare")
    bare = (tmp_path / "bare").read_bytes()
    layouts = {
        "append": {"layout": "append", "in_place": True},
        "replace": {"layout": "replace", "in_place": True},
        "in place": {"append_in_place": True},
    }
    for name, options in layouts.items():
        target.write_bytes(old)
        report = pb.build(target, columns=columns, **options)
        assert (target.read_bytes() != old) == bool(report.filters)
        pb.strip(target, in_place=True)
        # Filters of the old file that are followed by its footer, which stays, keep their bytes.
        if name == "replace" or not report.filters or bare == old:
            assert target.read_bytes() == bare, name
        assert not pb.strip(target, in_place=True, dry_run=True).removed
    if not pb.strip(path, dry_run=True).removed:
        assert bare == old


def test_nothing_is_appended_for_no_filters(file, tmp_path):
    old = file.read_bytes()
    options = {"columns": "id", "max_bytes": 64, "layout": "append"}
    pb.build(file, tmp_path / "same", **options)
    assert (tmp_path / "same").read_bytes() == old
    appended(file, "id")
    twice = file.read_bytes()
    pb.build(file, tmp_path / "twice", columns="id", layout="append")
    assert (tmp_path / "twice").read_bytes() == twice


def test_a_file_that_nothing_was_appended_to_has_one_end(file):
    assert ends(file) is None
    pb.build(file, in_place=True, columns="id")
    assert ends(file) is None
    assert "ends" not in outcome("inspect", file).output


def test_both_ends_are_right(file, tmp_path):
    old = file.read_bytes()
    new = appended(file, ["id", "number"])
    assert new.startswith(old)
    assert pq.read_table(file).equals(TABLE)
    assert answers(file) == ["maybe", "maybe", "unknown"]
    assert pb.probe(file, "id", "nobody").is_absent
    assert pb.validate(file).findings == ()
    assert ends(file) == (len(old),)
    line = f"2 ends: cut at {len(old):,} bytes, the file is as it was before filters were appended"
    assert line in outcome("inspect", file).output.splitlines()
    pb.strip(file, in_place=True)
    assert file.read_bytes() == old


def test_filters_that_stay_move_to_the_new_end(file):
    """By default, too: a file to which filters were appended is appended to."""
    old = file.read_bytes()
    appended(file, "id")
    pb.build(file, in_place=True, columns="number")
    assert ends(file) == (len(old),)
    assert answers(file) == ["maybe", "maybe", "unknown"]
    together = file.read_bytes()
    pb.strip(file, in_place=True)
    assert file.read_bytes() == old
    assert appended(file, ["id", "number"])[: len(old)] == old
    # No bytes are left behind by building twice.
    assert len(file.read_bytes()) == len(together)


def test_building_again_cuts_back_to_the_first_end(file):
    once = appended(file, "id")
    again = appended(file, "id", existing="replace")
    assert again == once


def test_a_file_becomes_an_ordinary_one(file):
    old = file.read_bytes()
    appended(file, "id")
    pb.build(file, in_place=True, columns="number", layout="replace")
    assert ends(file) is None
    assert answers(file) == ["maybe", "maybe", "unknown"]
    pb.strip(file, in_place=True)
    assert file.read_bytes() == old


def test_a_part_of_the_filters_is_removed(file):
    old = file.read_bytes()
    appended(file, ["id", "number"])
    pb.strip(file, in_place=True, columns="id")
    assert ends(file) == (len(old),)
    assert answers(file) == ["unknown", "maybe", "unknown"]
    pb.strip(file, in_place=True)
    assert file.read_bytes() == old


def test_filters_of_the_old_file_come_back_with_it(file):
    """What was appended is removed, and nothing else: both footers agree about the rest."""
    pb.build(file, in_place=True, columns="id")
    old = file.read_bytes()
    appended(file, "number")
    pb.strip(file, in_place=True, columns="number")
    assert file.read_bytes() == old
    appended(file, ["id", "number"], existing="replace")
    assert ends(file) == (len(old),)


def test_an_end_with_filters_that_go_goes_too(file):
    """Else whoever cut the file there would find them again."""
    bare = file.read_bytes()
    pb.build(file, in_place=True, columns="id")
    appended(file, ["id", "number"], existing="replace")
    pb.strip(file, in_place=True, columns="id")
    assert answers(file) == ["unknown", "maybe", "unknown"]
    assert ends(file) is None
    pb.strip(file, in_place=True)
    assert file.read_bytes() == bare


def test_repair_leaves_the_old_file_whole(file):
    old = file.read_bytes()
    data = bytearray(appended(file, "id"))
    with open_parquet(file) as opened:
        place = opened.chunk(0, "id").bloom_filter_offset
    data[place + 20 : place + 52] = bytes(32)
    file.write_bytes(data)
    assert not pb.validate(file).ok
    pb.repair(file, in_place=True, rebuild=True)
    assert pb.validate(file).ok
    assert ends(file)[0] == len(old)
    pb.strip(file, in_place=True)
    assert file.read_bytes() == old


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_encrypted_files(file, plaintext_footer):
    recipe = Recipe(columns={"id": A_KEY}, plaintext_footer=plaintext_footer)
    file.write_bytes(encrypt(file.read_bytes(), recipe).data)
    old = file.read_bytes()
    assert appended(file, ["id", "number"], KEYS).startswith(old)
    assert ends(file, KEYS) == (len(old),)
    assert answers(file, KEYS) == ["maybe", "maybe", "unknown"]
    assert pb.validate(file, keys=KEYS).ok
    pb.build(file, in_place=True, columns="half", keys=KEYS)
    assert ends(file, KEYS) == (len(old),)
    assert answers(file, KEYS) == ["maybe", "maybe", "maybe"]
    pb.strip(file, in_place=True, keys=KEYS)
    assert file.read_bytes() == old


def test_without_a_key_what_is_hidden_stays_where_it_is(file):
    """A third end, as nobody can say whether the hidden column has filters."""
    recipe = Recipe(columns={"id": A_KEY}, plaintext_footer=True)
    file.write_bytes(encrypt(file.read_bytes(), recipe).data)
    appended(file, "id", KEYS)
    once = file.read_bytes()
    some = pb.Keys(footer=FOOTER_KEY)
    assert appended(file, "number", some).startswith(once)
    assert answers(file, KEYS) == ["maybe", "maybe", "unknown"]
    assert ends(file, KEYS)[-1] == len(once)


def test_without_a_key_what_is_hidden_is_not_cut_off(file):
    recipe = Recipe(columns={"id": A_KEY}, plaintext_footer=True)
    file.write_bytes(encrypt(file.read_bytes(), recipe).data)
    appended(file, ["id", "number"], KEYS)
    report = pb.strip(file, in_place=True, keys=pb.Keys(footer=FOOTER_KEY))
    assert {each.column for each in report.left} == {"id"}
    assert answers(file, KEYS) == ["maybe", "unknown", "unknown"]
    assert pb.validate(file, keys=KEYS).ok


FOREIGN = b"bytes of another program"


@pytest.mark.parametrize("layout", [None, "append", "replace"])
def test_what_another_program_appended_is_never_cut_off(file, layout):
    """It wrote the footer again, behind bytes of its own that the footer knows nothing of."""
    data = appended(file, "id")
    length = int.from_bytes(data[-8:-4], "little")
    file.write_bytes(data + FOREIGN + data[-8 - length :])
    assert pb.validate(file).ok
    assert ends(file) is None
    pb.build(file, in_place=True, columns="number", layout=layout)
    assert FOREIGN in file.read_bytes()
    assert answers(file) == ["maybe", "maybe", "unknown"]
    pb.strip(file, in_place=True)
    assert FOREIGN in file.read_bytes()
    assert answers(file) == ["unknown"] * 3


def test_an_end_that_is_another_file(file):
    """Such as a file that was written over a longer one with the same pages."""
    data = appended(file, "id")
    old = ends(file)[0]
    # Another name of a column in the old footer.
    at = data.rindex(b"number", 0, old)
    file.write_bytes(data[:at] + b"nomber" + data[at + 6 :])
    (found,) = pb.validate(file).findings
    assert (found.rule, found.found) == ("PB119", str(old))
    assert found.message == (
        f"cut at {old}, the file looks complete, but is not what it was before something was appended"
    )
    assert ends(file) is None
    before = file.read_bytes()
    pb.strip(file, in_place=True)
    assert pq.read_table(file).equals(TABLE)
    assert file.read_bytes() != before[:old]


def test_what_is_wrong_at_the_old_end_is_noticed(file, monkeypatch):
    old = file.read_bytes()
    read_back_wrongly(monkeypatch, len(old) - 20)
    with pytest.raises(RewriteError) as error:
        appended(file, "id")
    assert str(error.value) == (
        f"{file}: verification failed, not written: cut at {len(old)}, it is not as it was"
    )
    assert file.read_bytes() == old


def test_a_dry_run_says_where_filters_would_be(file):
    before = file.read_bytes()
    planned = pb.build(file, in_place=True, columns="id", layout="append", dry_run=True)
    assert planned.filters[0].offset == len(before)
    assert file.read_bytes() == before


@pytest.mark.parametrize("layout", ["append", "replace"])
def test_refused_where_it_means_nothing(layout, file, tmp_path):
    orc = tmp_path / "file.orc"
    orc.write_bytes((FIXTURES / "java_original.orc").read_bytes())
    with pytest.raises(UnsupportedError, match="layout is not supported for an ORC file"):
        pb.build(orc, in_place=True, columns="number", layout=layout)
    with pytest.raises(UnsupportedError, match="layout is not supported for murmur3 filters"):
        pb.build(file, in_place=True, columns="id", layout=layout, dialect="murmur3")


def test_an_unknown_layout():
    with pytest.raises(ValueError, match="layout: behind, expected replace, append"):
        pb.build("file.parquet", "other", columns="id", layout="behind")


def with_candidates(file, count):
    """A footer of another file before that of `file`, and a length and the magic `count` times, each of
    which leads to it."""
    data = file.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-length - 8 : -8]
    gap = bytearray(footer.replace(b"parquet-cpp-arrow", b"parquet-cpp-arroW"))
    for _ in range(count):
        gap += len(gap).to_bytes(4, "little") + b"PAR1"
    file.write_bytes(data[: -length - 8] + gap + data[-length - 8 :])


def test_bytes_that_look_like_many_ends(file, monkeypatch):
    """Each may take a footer to read, so only so many are looked at."""
    with_candidates(file, 50)
    seen = []
    real = module._version
    monkeypatch.setattr(module, "_version", lambda *given: seen.append(given) or real(*given))
    for most, looked_at in ((1_000, 50), (50, 50), (20, 20), (1, 1)):
        monkeypatch.setattr(module, "MOST_FALSE_ENDS", most)
        assert ends(file) is None
        assert len(seen) == looked_at
        seen.clear()
    monkeypatch.setattr(module, "MOST_FALSE_ENDS", 1_000)
    monkeypatch.setattr(module, "MOST_FALSE_BYTES", 5_000)
    assert ends(file) is None
    assert 0 < len(seen) < 10


def test_magic_without_a_length_counts_too(file, monkeypatch):
    data = file.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    file.write_bytes(data[: -length - 8] + b"PAR1" * 500 + data[-length - 8 :])
    seen = []
    real = module.found_from_the_back

    def found(*given):
        for each in real(*given):
            seen.append(each)
            yield each

    monkeypatch.setattr(module, "found_from_the_back", found)
    monkeypatch.setattr(module, "MOST_FALSE_ENDS", 100)
    assert ends(file) is None
    assert len(seen) == 100


def test_ends_before_a_few_that_only_look_like_one(file):
    appended(file, "id")
    first = ends(file)
    appended(file, "number")
    assert ends(file)[0] == first[0]
