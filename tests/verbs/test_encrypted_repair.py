"""Leaks are repaired: the pointer goes, the bits are overwritten, and on request sealed ones come."""

import pytest
from make.encrypted_files import OWN, PLAIN, SHARED_KEY, encrypted, filters, keys_of, values
from make.encrypting import FOOTER_KEY, Recipe, encrypt

import parquet_bloom as pb
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.files import open_file

COLUMNS = ["int64", "string"]

RECIPES = {
    "sealed": Recipe(columns={"int64": OWN, "string": SHARED_KEY}, filters="plaintext"),
    "signed": Recipe(
        columns={"int64": OWN, "string": SHARED_KEY}, filters="plaintext", plaintext_footer=True
    ),
    "signed, shown": Recipe(
        columns={"int64": OWN, "string": SHARED_KEY}, filters="plaintext", plaintext_footer=True,
        copies=("bloom_filter_offset", "bloom_filter_length"),
    ),
}  # fmt: skip


@pytest.fixture(params=RECIPES)
def leak(request, tmp_path):
    """A file as arrow-rs wrote it, its keys, and the bits that lie in it for all to see."""
    recipe = RECIPES[request.param]
    plain = tmp_path / "plain.parquet"
    pb.build(PLAIN, plain, columns=[*COLUMNS, "double"])
    path = encrypted(tmp_path, recipe, plain)
    bits = {key: found for key, found in filters(plain).items() if key[1] in COLUMNS}
    assert len(bits) == 6
    assert all(found in path.read_bytes() for found in bits.values())
    return path, keys_of(recipe), bits


def blocks_in(data, bits):
    """Blocks of the bitsets that are in the file; those with few bits can be there by chance."""
    return [
        block
        for found in bits.values()
        for block in (found[at : at + 32] for at in range(0, len(found), 32))
        if any(block) and block in data
    ]


def test_a_leak_is_of_no_use(leak):
    path, keys, _ = leak
    for group in pb.inspect(path, columns=COLUMNS, keys=keys).row_groups:
        for column in group.columns:
            assert column.filter is None
            assert column.reason.endswith("is encrypted, but its filter is in plaintext")
    report = pb.probe(path, "int64", [5], keys=keys)
    assert report.results[0].verdict == "unknown"
    with pytest.raises(pb.FilterError, match="is in plaintext"):
        pb.dump(path, "int64", 0, keys=keys)


def test_repair_drops_the_pointer_and_overwrites_the_bits(leak):
    path, keys, bits = leak
    before = path.read_bytes()
    report = pb.repair(path, keys=keys, in_place=True)
    found = {(repaired.row_group, repaired.column) for repaired in report.repaired}
    assert found == bits.keys()
    assert {(repaired.action, repaired.rule) for repaired in report.repaired} == {
        ("pointer dropped", "PB501")
    }
    assert blocks_in(path.read_bytes(), bits) == []
    assert {name for _, name in filters(path, keys)} == {"double"}
    assert "PB501" not in {found.rule for found in pb.validate(path, keys=keys).findings}
    with open_file(path, keys) as file:
        after, end = path.read_bytes(), file.footer.start
    changed = [at for at in range(end) if before[at] != after[at]]
    assert all(after[at] == 0 for at in changed)
    assert sum(map(len, bits.values())) * 0.5 < len(changed)
    assert len(changed) <= sum(map(len, bits.values())) + 16 * len(bits)


def test_rebuild_seals_them(leak):
    path, keys, bits = leak
    report = pb.repair(path, keys=keys, in_place=True, rebuild=True)
    assert {repaired.action for repaired in report.repaired} == {"rebuilt"}
    assert blocks_in(path.read_bytes(), bits) == []
    assert {key: found for key, found in filters(path, keys).items() if key in bits} == bits
    assert pb.validate(path, columns=COLUMNS, keys=keys).ok


@pytest.mark.parametrize(
    "work",
    [
        lambda path, keys: pb.build(
            path, columns=COLUMNS, keys=keys, in_place=True, existing="replace"
        ),
        lambda path, keys: pb.strip(path, columns=COLUMNS, keys=keys, in_place=True),
    ],
)
def test_who_takes_a_leak_away_takes_its_bits(leak, work):
    path, keys, bits = leak
    work(path, keys)
    assert blocks_in(path.read_bytes(), bits) == []
    with open_file(path, keys) as file:
        for row_group, name in bits:
            file.footer.chunk(row_group, file.column(name))
    assert "PB501" not in {found.rule for found in pb.validate(path, keys=keys).findings}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_strip_takes_the_bits_of_a_leak_where_there_are_older_filters_too(recipe, tmp_path):
    built, plain = tmp_path / "built.parquet", tmp_path / "plain.parquet"
    pb.build(PLAIN, built, columns=COLUMNS)
    pb.build(built, plain, columns=["double"], dialect=pb.Murmur3())
    path = encrypted(tmp_path, recipe, plain)
    bits = filters(plain)
    report = pb.strip(path, keys=keys_of(recipe), in_place=True)
    removed = [found.column for found in report.removed]
    assert sorted(removed) == 3 * ["double"] + 3 * ["int64"] + 3 * ["string"]
    assert blocks_in(path.read_bytes(), bits) == []
    assert report.left == ()
    assert values(path, keys_of(recipe)) == values(PLAIN)


TAKERS = {
    "repair": lambda path, keys: pb.repair(path, keys=keys, in_place=True).left,
    "strip": lambda path, keys: pb.strip(path, keys=keys, in_place=True).left,
    "build": lambda path, keys: pb.build(
        path, columns=COLUMNS, keys=keys, in_place=True, existing="replace"
    ).notes[2:],
}


@pytest.mark.parametrize("work", TAKERS)
@pytest.mark.parametrize("disputed", ["longer", "shared", "within", "unknown"], indirect=True)
def test_bits_that_several_filters_claim_are_overwritten_when_none_of_them_stays(disputed, work):
    path, keys, bits = disputed
    left = TAKERS[work](path, keys)
    assert blocks_in(path.read_bytes(), bits) == []
    assert left == ()
    assert values(path, keys) == values(PLAIN)


@pytest.mark.parametrize("disputed", ["shared"], indirect=True)
@pytest.mark.parametrize("work", TAKERS)
def test_bits_that_another_filter_needs_stay_and_the_report_says_so(disputed, work, tmp_path):
    path, keys, bits = disputed
    said = {
        "repair": lambda: [
            (each.row_group, each.column, each.rule, each.reason)
            for each in pb.repair(path, keys=keys, columns=["string"], in_place=True).left
        ],
        "strip": lambda: [
            (each.row_group, each.column, each.reason)
            for each in pb.strip(path, keys=keys, columns=["string"], in_place=True).left
        ],
        "build": lambda: list(
            pb.build(path, keys=keys, columns=["string"], existing="replace", in_place=True).notes[
                2:
            ]
        ),
    }[work]()
    with open_file(path, keys) as file:
        start = file.chunk(0, "int64").bloom_filter_offset
        end = start + file.chunk(0, "int64").bloom_filter_length
    reason = (
        f"bytes {start} to {end - 1} of its plaintext filter remain, because something else uses"
        " them"
    )
    assert (
        said
        == {
            "repair": [(0, "string", "PB501", reason)],
            "strip": [(0, "string", reason)],
            "build": [f"row group 0, column string: {reason}"],
        }[work]
    )
    assert bits[0, "int64"] in path.read_bytes()
    assert blocks_in(path.read_bytes(), {1: bits[1, "string"]}) == []


def test_a_missing_length_is_that_of_both_envelopes(tmp_path):
    """Writers before parquet-java 1.14 did not say it."""

    def edit(footer):
        for group in footer.row_groups:
            for chunk in group.columns:
                chunk.meta_data.bloom_filter_length = None

    plain, path = tmp_path / "plain.parquet", tmp_path / "short.parquet"
    pb.build(PLAIN, plain, columns=COLUMNS)
    path.write_bytes(encrypt(plain.read_bytes(), Recipe(edit=edit)).data)
    keys = Keys(footer=FOOTER_KEY)
    assert filters(path, keys) == filters(plain)
    assert {found.rule for found in pb.validate(path, keys=keys).findings} >= {"PB111"}
    report = pb.repair(path, keys=keys, in_place=True)
    assert {repaired.action for repaired in report.repaired} == {"length set"}
    assert filters(path, keys) == filters(plain)
    with open_file(path, keys) as file:
        for name in COLUMNS:
            chunk = file.chunk(0, name)
            (built,) = [
                found
                for found in pb.inspect(path, columns=[name], row_groups=[0], keys=keys)
                .row_groups[0]
                .columns
            ]
            assert chunk.bloom_filter_length == built.filter.stored_bytes
    assert "PB111" not in {found.rule for found in pb.validate(path, keys=keys).findings}
