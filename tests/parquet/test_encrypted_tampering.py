"""Whatever is wrong with a module, one line says which and where, and nothing is written.

AES-GCM cannot tell a wrong key, a wrong AAD prefix and changed bytes apart, so the message is the
same for all of them.
"""

import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.defects_security import sealed
from make.encrypting import (
    DICTIONARY,
    DICTIONARY_HEADER,
    FILTER_BITSET,
    FILTER_HEADER,
    FOOTER,
    FOOTER_KEY,
    META_DATA,
    PAGE,
    PAGE_HEADER,
    Recipe,
    aad,
    encrypt,
    gcm,
)
from make.footers import edited

import parquet_bloom as pb
from parquet_bloom.parquet.thrift import ttypes

COLUMN_KEYS = {"entries": b"key of entries..", "plain": b"the key of plain 24 byte"}


def options(footer=FOOTER_KEY, **columns):
    """Keys as they are given to a command."""
    keys = {**COLUMN_KEYS, **columns}
    named = [f"--column-key={name}=ascii:{key.decode()}" for name, key in keys.items()]
    return (f"--footer-key=ascii:{footer.decode()}", *named)


KEYS = options()
SEALED = Recipe(columns=COLUMN_KEYS)
SIGNED = replace(SEALED, plaintext_footer=True)

# Of each kind: how a message names it, the column to look at, and whose work needs it.
READS_FILTERS = (("dump",),)
READS_PAGES = (("build", "--in-place", "--existing", "replace"),)
ALL = (
    ("inspect",),
    ("probe", "-v", "5"),
    *READS_FILTERS,
    *READS_PAGES,
    ("validate",),
    ("strip", "--in-place"),
)
KINDS = {
    FOOTER: ("footer", "plain", ALL),
    META_DATA: ("ColumnMetaData", "plain", ALL),
    PAGE: ("data page", "plain", READS_PAGES),
    PAGE_HEADER: ("data page header", "plain", READS_PAGES),
    DICTIONARY: ("dictionary page", "entries", READS_PAGES),
    DICTIONARY_HEADER: ("dictionary page header", "entries", READS_PAGES),
    FILTER_HEADER: ("filter header", "plain", READS_FILTERS),
    FILTER_BITSET: ("filter bitset", "plain", READS_FILTERS),
}
COLUMNS = ["entries", "plain"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Two row groups whose chunks are of the same size, byte by byte."""
    folder = tmp_path_factory.mktemp("plain")
    numbers = range(1 << 40, (1 << 40) + 200)
    table = pa.table({"entries": list(numbers), "plain": list(numbers)})
    pq.write_table(
        table, folder / "made", row_group_size=100, use_dictionary=["entries"],
        compression="none", write_statistics=False,
    )  # fmt: skip
    pb.build(folder / "made", folder / "plain", columns=COLUMNS)
    return (folder / "plain").read_bytes()


def flipped(plain, recipe, kind):
    """One bit in the middle of the module of the second row group."""
    if kind == META_DATA:

        def edit(footer):
            chunk = footer.row_groups[1].columns[1]
            sealed = bytearray(chunk.encrypted_column_metadata)
            sealed[len(sealed) // 2] ^= 16
            chunk.encrypted_column_metadata = bytes(sealed)

        return encrypt(plain, replace(recipe, edit=edit)).data
    made = encrypt(plain, recipe)
    module = place_of(made, kind)
    data = bytearray(made.data)
    data[(module.start + module.end) // 2] ^= 16
    return bytes(data)


def flipped_tag(plain, recipe, kind):
    """The last bit of the module."""
    if kind == META_DATA:
        return shortened(plain, recipe, kind)
    made = encrypt(plain, recipe)
    data = bytearray(made.data)
    data[place_of(made, kind).end - 1] ^= 1
    return bytes(data)


def place_of(made, kind, row_group=1):
    if kind == FOOTER:
        return made.of(kind)
    return made.of(kind, row_group, COLUMNS.index(KINDS[kind][1]))


def swapped(plain, recipe, kind):
    """The module of the first row group, which is as large, in its place; and the other way."""
    if kind == META_DATA:

        def edit(footer):
            one, two = (group.columns[1] for group in footer.row_groups)
            sealed = two.encrypted_column_metadata
            two.encrypted_column_metadata = one.encrypted_column_metadata
            one.encrypted_column_metadata = sealed

        return encrypt(plain, replace(recipe, edit=edit)).data
    made = encrypt(plain, recipe)
    one, two = place_of(made, kind, 0), place_of(made, kind, 1)
    first, second = made.data[one.start : one.end], made.data[two.start : two.end]
    assert len(first) == len(second)
    assert first != second
    data = bytearray(made.data)
    data[one.start : one.end], data[two.start : two.end] = second, first
    return bytes(data)


def shortened(plain, recipe, kind):
    """Its length says that it is one byte shorter."""
    return relengthened(plain, recipe, kind, lambda length: length - 1)


def without_body(plain, recipe, kind):
    """Its length says that there is not even a nonce."""
    return relengthened(plain, recipe, kind, lambda length: 5)


def endless(plain, recipe, kind):
    """Its length leads far behind the end of the file."""
    return relengthened(plain, recipe, kind, lambda length: (1 << 31) - 7)


def relengthened(plain, recipe, kind, change):
    def lengthened(envelope):
        length = int.from_bytes(envelope[:4], "little")
        return change(length).to_bytes(4, "little") + envelope[4:]

    if kind == META_DATA:

        def edit(footer):
            chunk = footer.row_groups[1].columns[1]
            chunk.encrypted_column_metadata = lengthened(chunk.encrypted_column_metadata)

        return encrypt(plain, replace(recipe, edit=edit)).data
    made = encrypt(plain, recipe)
    module = place_of(made, kind)
    envelope = lengthened(made.data[module.start : module.end])
    return made.data[: module.start] + envelope + made.data[module.end :]


def with_another_key(plain, recipe, kind):
    return encrypt(plain, replace(recipe, strange_key=frozenset({kind}))).data


def with_another_prefix(plain, recipe, kind):
    return encrypt(plain, replace(recipe, strange_prefix=frozenset({kind}))).data


FAULTS = {
    fault.__name__: fault
    for fault in (
        flipped,
        flipped_tag,
        swapped,
        shortened,
        without_body,
        endless,
        with_another_key,
        with_another_prefix,
    )
}


def cases():
    for kind in KINDS:
        for name in FAULTS:
            for recipe in ("sealed", "signed"):
                # A signature has no length, and a footer is there once.
                lengths = name in ("shortened", "without_body", "endless")
                if kind == FOOTER and (name == "swapped" or (lengths and recipe == "signed")):
                    continue
                yield pytest.param(kind, name, recipe, id=f"{KINDS[kind][0]}, {name}, {recipe}")


@pytest.mark.every(2)
@pytest.mark.parametrize(("kind", "fault", "recipe"), list(cases()))
def test_one_line_says_what_does_not_open(plain, kind, fault, recipe, tmp_path):
    words, column, commands = KINDS[kind]
    made = FAULTS[fault](plain, {"sealed": SEALED, "signed": SIGNED}[recipe], kind)
    path = tmp_path / "tampered.parquet"
    path.write_bytes(made)
    for command, *more in commands:
        group = ["-g", "1"] if command == "dump" else []
        columns = [] if command in ("validate", "strip") else ["-c", column]
        result = outcome(command, path, *columns, *more, *group, *KEYS)
        assert result.code == 2, (command, result)
        line = result.complaint
        assert line.startswith(f"{path}: "), line
        assert words in line, line
        if kind != FOOTER:
            is_second = in_second_only(fault) or (command == "dump" and kind != META_DATA)
            # Of several columns that do not open, the one that is asked for.
            is_any = kind == META_DATA and fault.startswith("with_") and not columns
            first = COLUMNS[0] if is_any else column
            assert f"row group {int(is_second)}, column {first}: " in line, line
        assert result.stdout == ""
        for secret in (FOOTER_KEY, *COLUMN_KEYS.values()):
            assert secret.decode() not in line
    assert path.read_bytes() == made
    assert [entry.name for entry in tmp_path.iterdir()] == ["tampered.parquet"]


def in_second_only(fault):
    """Whether it is the second row group that does not open, and not the first one, too."""
    return fault in ("flipped", "flipped_tag", "shortened", "without_body", "endless")


IN_FILTERS = {FILTER_HEADER: "PB502", FILTER_BITSET: "PB502"}
IN_PAGES = dict.fromkeys((PAGE, PAGE_HEADER, DICTIONARY, DICTIONARY_HEADER), "PB116")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", [*IN_FILTERS, *IN_PAGES])
def test_validate_finds_it(plain, kind, fault, tmp_path):
    """What does not open of filters and pages is found where it is, beside what else there is."""
    words, column, _ = KINDS[kind]
    path = tmp_path / "tampered.parquet"
    path.write_bytes(FAULTS[fault](plain, SEALED, kind))
    result = outcome("validate", path, *KEYS)
    assert result.code == 1
    keys = pb.Keys(footer=FOOTER_KEY, columns=COLUMN_KEYS)
    findings = pb.validate(path, keys=keys).findings
    rule = (IN_FILTERS | IN_PAGES)[kind]
    assert {found.rule for found in findings if found.severity == "error"} == {rule}
    places = {(found.row_group, found.column) for found in findings if found.rule == rule}
    first = set() if in_second_only(fault) else {(0, column)}
    assert (
        {(1, column), *first}
        <= places
        <= {(0, name) for name in COLUMNS} | {(1, name) for name in COLUMNS}
    )
    assert all(words in found.message for found in findings if found.column == column)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", IN_FILTERS)
def test_a_filter_that_does_not_open_is_one_of_those_checked(plain, kind, fault, tmp_path):
    """Whether it is the header or the bits: a sum of errors in filters counts those with the errors."""
    path = tmp_path / "tampered.parquet"
    path.write_bytes(FAULTS[fault](plain, SEALED, kind))
    keys = pb.Keys(footer=FOOTER_KEY, columns=COLUMN_KEYS)
    assert pb.validate(path, keys=keys).checked.filters == 4


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", IN_FILTERS)
def test_a_filter_that_does_not_open_hides_no_others(plain, kind, fault, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words, _, _ = KINDS[kind]
    Path("a.parquet").write_bytes(FAULTS[fault](plain, SEALED, kind))
    keys = pb.Keys(footer=FOOTER_KEY, columns=COLUMN_KEYS)
    chunks = [each for part in pb.inspect("a.parquet", keys=keys).parts for each in part.columns]
    assert words in chunks[-1].reason
    assert chunks[0].filter is not None or not in_second_only(fault)
    said = outcome("inspect", "a.parquet", *KEYS)
    assert (said.code, said.stderr) == (0, "")
    assert "; usable filters take " in said.stdout or "; no usable filters" in said.stdout
    assert "\nnext: pbloom validate a.parquet " in said.stdout
    for names in (["a.parquet"], ["a.parquet", "a.parquet"]):
        page = outcome("report", *names, *KEYS, "-o", "page.html", "--overwrite")
        assert (page.code, page.stderr) == (0, "")
        text = Path("page.html").read_text()
        assert "PB502" in text
        assert words in text


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", IN_FILTERS)
def test_a_filter_that_does_not_open_leaves_only_its_row_group_undecided(
    plain, kind, fault, tmp_path, monkeypatch
):
    """As one in plaintext that is damaged: other filters are asked, and rows are found."""
    monkeypatch.chdir(tmp_path)
    words, _, _ = KINDS[kind]
    Path("a.parquet").write_bytes(FAULTS[fault](plain, SEALED, kind))
    keys = pb.Keys(footer=FOOTER_KEY, columns=COLUMN_KEYS)
    first, lacking = 1 << 40, 5
    (found, other) = pb.probe("a.parquet", "plain", [first, lacking], keys=keys).results
    asked = "maybe" if in_second_only(fault) else "unknown"
    assert found.verdicts == (asked, "unknown")
    assert other.verdicts == ("absent" if asked == "maybe" else "unknown", "unknown")
    assert other.groups[1].reason.startswith(words)
    assert "row group" not in other.groups[1].reason
    # With the look-up of each value, too.
    said = outcome("probe", "a.parquet", "-c", "plain", "-v", lacking, "--explain", *KEYS)
    assert (said.code, said.stderr) == (0, "")
    assert words in said.stdout
    left = pb.row_groups("a.parquet", [("plain", "in", [lacking])], keys=keys)
    assert left["row_group"].to_pylist() == ([1] if in_second_only(fault) else [0, 1])
    in_second = first + 150
    said = outcome("find", "a.parquet", "-c", "plain", "-v", in_second, *KEYS)
    assert (said.code, said.stderr) == (0, "")
    assert f"{in_second}\ta.parquet\t1\t150\n" in said.stdout


@pytest.mark.parametrize("kind", IN_FILTERS)
def test_an_index_of_filters_knows_those_that_open(plain, kind, tmp_path):
    path, index = tmp_path / "a.parquet", tmp_path / "index"
    path.write_bytes(flipped(plain, SEALED, kind))
    keys = pb.Keys(footer=FOOTER_KEY, columns=COLUMN_KEYS)
    with pb.Index.build(
        index, path, ["plain"], form="slices", include_encrypted=True, keys=keys
    ) as built:
        (answer,) = built.probe("plain", [1 << 40]).results
    (file,) = answer.files
    assert [*file.row_groups] == [0, 1]
    assert file.reason.startswith(f"row group 1: {KINDS[kind][0]}: cannot be decrypted")


@pytest.mark.parametrize("kind", [FILTER_HEADER, FILTER_BITSET])
def test_repair_drops_or_rebuilds_what_does_not_open(plain, kind, tmp_path):
    path, keys = tmp_path / "file.parquet", pb.Keys(footer=FOOTER_KEY, columns=COLUMN_KEYS)
    path.write_bytes(flipped(plain, SEALED, kind))
    dropped, rebuilt = tmp_path / "dropped", tmp_path / "rebuilt"
    (found,) = pb.repair(path, dropped, keys=keys).repaired
    assert (found.row_group, found.column, found.action) == (1, "plain", "pointer dropped")
    assert found.rule == "PB502"
    assert pb.validate(dropped, keys=keys).ok
    (found,) = pb.repair(path, rebuilt, keys=keys, rebuild=True).repaired
    assert (found.action, found.rule) == ("rebuilt", "PB502")
    report = pb.validate(rebuilt, keys=keys)
    assert report.ok
    assert report.checked.filters == 4


def test_filters_of_row_groups_with_the_same_ordinal_are_not_believed(plain, tmp_path):
    """They can be exchanged, and nothing shows it."""
    recipe = replace(SIGNED, ordinals=lambda position: 0, bound_to=lambda position: 0)
    made = encrypt(plain, recipe)
    data, keys = bytearray(made.data), pb.Keys(footer=FOOTER_KEY, columns=COLUMN_KEYS)
    for kind in (FILTER_HEADER, FILTER_BITSET):
        one, two = made.of(kind, 0, 1), made.of(kind, 1, 1)
        data[one.start : one.end], data[two.start : two.end] = (
            data[two.start : two.end], data[one.start : one.end],
        )  # fmt: skip
    path = tmp_path / "exchanged.parquet"
    path.write_bytes(data)
    with pb.open(path, keys) as file:
        for found in file.probe("plain", 1 << 40):
            assert found.verdict == "unknown"
            assert "another row group has the same ordinal" in found.reason
    assert not pb.validate(path, keys=keys, deep=False).ok


def test_a_sealed_filter_is_believed_whatever_is_said_of_other_columns(plain, tmp_path):
    """It opens as that of its chunk and as nothing else. One in plaintext could be anything."""

    def edit(footer):
        for group in footer.row_groups:
            (pages,) = [chunk.meta_data for chunk in group.columns if chunk.meta_data]
            pages.total_compressed_size = end - pages.data_page_offset

    recipe = Recipe(columns={"plain": COLUMN_KEYS["plain"]})
    end = encrypt(plain, recipe).of(FILTER_BITSET, 1, 1).end
    path = tmp_path / "file.parquet"
    path.write_bytes(encrypt(plain, replace(recipe, edit=edit)).data)
    keys = pb.Keys(footer=FOOTER_KEY, columns=recipe.columns)
    assert pb.probe(path, "plain", 1 << 40, keys=keys).results[0].verdicts == ("maybe", "absent")
    (found,) = pb.probe(path, "entries", 1 << 40, keys=keys).results
    assert found.verdict == "unknown"
    assert "overlaps pages, page indexes or the footer" in found.groups[0].reason
    assert not pb.validate(path, keys=keys, deep=False).ok


# ------------------------------------------------------------------------------------------------
# Wrong keys, as a user gives them


@pytest.mark.parametrize("recipe", [SEALED, SIGNED])
@pytest.mark.parametrize("command", ALL)
def test_wrong_keys(plain, recipe, command, tmp_path):
    path = tmp_path / "file.parquet"
    path.write_bytes(encrypt(plain, recipe).data)
    before = path.read_bytes()
    wrong = b"not the right 1."
    name, *more = command
    columns = [] if name in ("validate", "strip") else ["-c", "plain"]
    for keys, words in (
        (options(footer=wrong), "footer"),
        (options(plain=wrong), "row group 0, column plain: ColumnMetaData"),
    ):
        result = outcome(name, path, *columns, *more, *keys)
        assert result.code == 2
        line = result.complaint
        assert line.startswith(f"{path}: ")
        assert words in line
        assert "wrong key, wrong AAD prefix or altered bytes" in line
        assert "not the right" not in line
    assert path.read_bytes() == before


# ------------------------------------------------------------------------------------------------
# Damage anywhere


@pytest.mark.every(2)
@pytest.mark.parametrize("recipe", ["sealed", "signed"])
@pytest.mark.parametrize("with_keys", [True, False])
def test_a_byte_anywhere(plain, recipe, with_keys, tmp_path):
    """A signed footer can be read without keys, so anything can be in it: an answer or one line."""
    data = encrypt(plain, {"sealed": SEALED, "signed": SIGNED}[recipe]).data
    keys = pb.Keys(footer=FOOTER_KEY, columns=COLUMN_KEYS) if with_keys else None
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    chance = random.Random(7)
    places = [chance.randrange(4, len(data)) for _ in range(100)]
    places += [chance.randrange(start, len(data)) for _ in range(300)]
    path = tmp_path / "damaged.parquet"
    refused = []
    for at in places:
        damaged = bytearray(data)
        damaged[at] = chance.randrange(256)
        path.write_bytes(damaged)
        for work in (pb.inspect, pb.validate):
            try:
                work(path, keys=keys)
            except pb.ParquetBloomError as error:
                refused.append(str(error))
    assert all(message.startswith(f"{path}: ") for message in refused)
    assert not any("\n" in message for message in refused)
    # Whoever has the key sees every change of the footer.
    assert len(refused) >= 2 * 290 if with_keys else len(refused) > 50


@pytest.mark.parametrize("recipe", ["sealed", "signed"])
def test_cut_off_anywhere(plain, recipe, tmp_path):
    data = encrypt(plain, {"sealed": SEALED, "signed": SIGNED}[recipe]).data
    keys = pb.Keys(footer=FOOTER_KEY, columns=COLUMN_KEYS)
    path = tmp_path / "short.parquet"
    for size in range(0, len(data), 97):
        path.write_bytes(data[:size])
        with pytest.raises(pb.FormatError):
            pb.inspect(path, keys=keys)


@pytest.mark.parametrize(
    ("crypto", "why"),
    [
        (ttypes.ColumnCryptoMetaData(), ": crypto_metadata names no key"),
        (
            ttypes.ColumnCryptoMetaData(
                ENCRYPTION_WITH_COLUMN_KEY=ttypes.EncryptionWithColumnKey(path_in_schema=["x"])
            ),
            "",
        ),
    ],
)
def test_a_chunk_that_names_no_key_is_locked(plain, crypto, why, tmp_path):
    def edit(footer):
        footer.row_groups[0].columns[1].crypto_metadata = crypto

    path = tmp_path / "file.parquet"
    path.write_bytes(encrypt(plain, replace(SIGNED, edit=edit)).data)
    keys = pb.Keys(footer=FOOTER_KEY)
    column = pb.inspect(path, keys=keys).row_groups[0].columns[1]
    assert (column.filter, column.reason) == (None, f"encrypted, no key{why}")


@pytest.mark.parametrize(
    ("sealed", "said"),
    [
        (b"\x15", "ends inside a value"),
        (b"\x1c" * 66 + bytes(67), "structs nested too deep"),
    ],
)
def test_what_opens_and_is_no_column_meta_data(plain, sealed, said, tmp_path):
    def edit(footer):
        place = aad(SEALED, META_DATA, 1, 1)
        column = footer.row_groups[1].columns[1]
        column.encrypted_column_metadata = gcm(COLUMN_KEYS["plain"], sealed, place)

    path = tmp_path / "file.parquet"
    path.write_bytes(encrypt(plain, replace(SEALED, edit=edit)).data)
    with pytest.raises(pb.FooterError) as error:
        pb.inspect(path, keys=pb.Keys(footer=FOOTER_KEY, columns=COLUMN_KEYS))
    assert str(error.value) == (f"{path}: row group 1, column plain: no ColumnMetaData: {said}")
    # Who asks for the other column never opens it.
    found = pb.probe(path, "entries", 1 << 40, keys=pb.Keys(footer=FOOTER_KEY, columns=COLUMN_KEYS))
    assert found.results[0].verdicts == ("maybe", "absent")


@pytest.mark.parametrize(
    ("algorithm", "all_tell"), [("AES_GCM_V1", True), ("AES_GCM_CTR_V1", False)]
)
def test_what_encryption_tells_takes_no_checksums(plain, algorithm, all_tell, tmp_path):
    path, keys = tmp_path / "file.parquet", pb.Keys(footer=FOOTER_KEY, columns=COLUMN_KEYS)
    path.write_bytes(encrypt(plain, replace(SEALED, algorithm=algorithm)).data)
    checked = pb.validate(path, keys=keys, pages=True).checked
    assert checked.pages_without_checksum == (0 if all_tell else checked.pages)


def test_a_key_that_has_opened_nothing_is_doubted(tmp_path):
    """Of a chunk whose sealed ColumnMetaData somebody has taken out, under a footer that nobody verifies."""

    def without_sealed(footer):
        for group in footer.row_groups:
            group.columns[0].encrypted_column_metadata = None

    path = tmp_path / "file.parquet"
    shown = ("bloom_filter_offset", "bloom_filter_length")
    path.write_bytes(edited(sealed(copies=shown).data, without_sealed))
    (found,) = pb.probe(path, "a", 1, keys=pb.Keys(columns={"a": b"w" * 16})).results
    told = "cannot be decrypted with key of column a: wrong key, wrong AAD prefix or altered bytes"
    assert {each.reason for each in found.groups} == {f"filter header: {told}"}
