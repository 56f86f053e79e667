"""What is locked, or does not open, stops no work on the rest; and the answer says what was left."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.encrypting import FILTER_HEADER, FOOTER_KEY, PAGE, PAGE_HEADER, Recipe, encrypt

import parquet_bloom as pb
from parquet_bloom.files import open_file

A_KEY, B_KEY = b"the key of a....", b"the key of b.........bit"
BOTH = pb.Keys(footer=FOOTER_KEY, columns={"a": A_KEY, "b": B_KEY})
B_ONLY = pb.Keys(footer=FOOTER_KEY, columns={"b": B_KEY})
FOOTER_ONLY = f"--footer-key=ascii:{FOOTER_KEY.decode()}"
RECIPE = Recipe(columns={"a": A_KEY, "b": B_KEY})
LOCATION = ("bloom_filter_offset", "bloom_filter_length")
LEAK = Recipe(columns=RECIPE.columns, filters="plaintext", plaintext_footer=True, copies=LOCATION)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Columns a, b and c with filters in two row groups."""
    folder = tmp_path_factory.mktemp("plain")
    numbers = list(range(1 << 40, (1 << 40) + 200))
    table = pa.table({"a": numbers, "b": [f"b{n}" for n in numbers], "c": numbers})
    pq.write_table(table, folder / "made", row_group_size=100)
    pb.build(folder / "made", folder / "plain", columns=["a", "b", "c"])
    return (folder / "plain").read_bytes()


def put(folder, data):
    path = folder / "file.parquet"
    path.write_bytes(data)
    return path


def flipped(made, kind, row_group=1):
    data = bytearray(made.data)
    data[made.of(kind, row_group, 0).start + 20] ^= 1
    return bytes(data)


def filtered(path, keys):
    return {
        (group.row_group, column.column)
        for group in pb.inspect(path, keys=keys).row_groups
        for column in group.columns
        if column.filter
    }


# ------------------------------------------------------------------------------------------------
# Other columns than the one that is asked for

WRONG_KEY = b"another key of a"
SEARCHES = [
    ("probe", "-v", str((1 << 40) + 5)),
    ("find", "-v", str((1 << 40) + 5), "--columns", "c"),
    ("inspect",),
    ("validate",),
    ("dump",),
]


@pytest.mark.parametrize("is_signed", [False, True], ids=["sealed", "signed"])
@pytest.mark.parametrize("search", SEARCHES, ids=" ".join)
def test_keys_of_other_columns_are_no_matter(plain, tmp_path, monkeypatch, search, is_signed):
    monkeypatch.chdir(tmp_path)
    recipe = Recipe(columns=RECIPE.columns, plaintext_footer=is_signed)
    put(tmp_path, encrypt(plain, recipe).data)
    command, *more = search

    def asked(column: str, key_of_a: bytes | None) -> tuple[int, str, str]:
        given = [] if key_of_a is None else [f"--column-key=a=ascii:{key_of_a.decode()}"]
        literals = ["-v", f"b{1 << 40}", *more[2:]] if more and column == "b" else more
        result = outcome(
            command, "file.parquet", "-c", column, *literals, FOOTER_ONLY,
            f"--column-key=b=ascii:{B_KEY.decode()}", *given,
        )  # fmt: skip
        return result.code, result.stdout.partition("\nnext: ")[0], result.stderr

    for column in ("b", "c"):
        answer = asked(column, A_KEY)
        assert (answer[0], answer[2]) == (0, "")
        assert asked(column, None) == asked(column, WRONG_KEY) == answer
    code, _, told = asked("a", WRONG_KEY)
    unknown = "unknown: " if command == "find" else ""
    assert (code, told) == (
        2,
        f"pbloom: file.parquet: {unknown}row group 0, column a: ColumnMetaData: cannot be decrypted with key of column a"
        + " (ascii:…): wrong key, wrong AAD prefix or altered bytes\n",
    )


def test_values_of_a_column_with_another_key_are_not_shown(plain, tmp_path):
    path = put(tmp_path, encrypt(plain, RECIPE).data)
    keys = pb.Keys(footer=FOOTER_KEY, columns={"a": WRONG_KEY, "b": B_KEY})
    found = pb.find(path, "b", [f"b{1 << 40}"], columns=["a"], keys=keys)
    (unknown,) = found.unknown
    assert (found.rows, unknown.reason.partition(" with ")[0]) == (
        (), "row group 0, column a: ColumnMetaData: cannot be decrypted",
    )  # fmt: skip


def test_an_index_knows_the_columns_whose_keys_are_right(plain, tmp_path):
    path = put(tmp_path, encrypt(plain, RECIPE).data)
    pq.write_table(pa.table({"a": [1], "b": ["b"]}), tmp_path / "plain.parquet")
    keys = pb.Keys(footer=FOOTER_KEY, columns={"a": WRONG_KEY, "b": B_KEY})
    index = tmp_path / "index"
    pb.Index.build(
        index, path.with_name("plain.parquet"), ["a", "b"], include_encrypted=True
    ).close()
    with pb.Index(index) as opened:
        report = opened.add(path, keys=keys)
        assert (report.failed, [each.column for each in report.not_indexed]) == (0, ["a"])
        assert [file.path for file in opened.probe("b", f"b{1 << 40}").results[0].files] == [
            str(path)
        ]


# ------------------------------------------------------------------------------------------------
# Work on the rest


@pytest.fixture
def without_lengths(plain, tmp_path):
    """As parquet-java 1.12 leaves it: the footer shows where filters begin, not where they end; of
    column a, which is encrypted, only who has its key knows that."""

    def edit(footer):
        for group in footer.row_groups:
            for chunk in group.columns[:2]:
                chunk.meta_data.bloom_filter_length = None

    recipe = Recipe(columns={"a": A_KEY}, plaintext_footer=True, copies=LOCATION[:1], edit=edit)
    return put(tmp_path, encrypt(plain, recipe).data)


FOOTERS = pb.Keys(footer=FOOTER_KEY)
CERTAIN_WORK = {
    "strip one": lambda path: pb.strip(path, columns=["b"], in_place=True, keys=FOOTERS),
    "strip all": lambda path: pb.strip(path, in_place=True, keys=FOOTERS),
    "replace": lambda path: pb.build(
        path, columns=["b"], in_place=True, existing="replace", keys=FOOTERS
    ),
}


@pytest.mark.parametrize("work", CERTAIN_WORK)
def test_a_locked_filter_of_unknown_length_stays_whole(work, without_lengths):
    before = without_lengths.read_bytes()
    with open_file(without_lengths) as file:
        start = file.footer.start
    CERTAIN_WORK[work](without_lengths)
    assert without_lengths.read_bytes()[:start] == before[:start]
    keys = pb.Keys(footer=FOOTER_KEY, columns={"a": A_KEY})
    expected = {
        "strip one": {"a", "c"},
        "strip all": {"a"},
        "replace": {"a", "b", "c"},
    }[work]
    assert filtered(without_lengths, keys) == {(g, name) for g in (0, 1) for name in expected}


def test_a_filter_that_does_not_open_loses_its_pointer(plain, tmp_path):
    path = put(tmp_path, flipped(encrypt(plain, RECIPE), FILTER_HEADER))
    report = pb.strip(path, columns=["a"], in_place=True, keys=BOTH)
    assert [(each.row_group, each.column) for each in report.removed] == [(0, "a"), (1, "a")]
    assert filtered(path, BOTH) == {(g, name) for g in (0, 1) for name in "bc"}


def test_a_filter_that_does_not_open_can_be_replaced(plain, tmp_path):
    path = put(tmp_path, flipped(encrypt(plain, RECIPE), FILTER_HEADER))
    pb.build(path, columns=["a"], existing="replace", in_place=True, keys=BOTH)
    assert pb.validate(path, keys=BOTH).ok
    assert filtered(path, BOTH) == {(g, name) for g in (0, 1) for name in "abc"}


@pytest.mark.parametrize("kind", [PAGE, PAGE_HEADER])
def test_validate_goes_on_if_a_page_without_a_filter_does_not_open(kind, tmp_path):
    """Whether the row group has values is asked of its pages, as there are no statistics."""
    table = pa.table({"a": [None if i % 3 == 0 else i * 7 for i in range(200)]})
    pq.write_table(
        table, tmp_path / "made", row_group_size=100, use_dictionary=False, write_statistics=False
    )
    pb.build(tmp_path / "made", tmp_path / "half", columns=["a"], row_groups=[0])
    made = encrypt((tmp_path / "half").read_bytes(), Recipe(columns={"a": A_KEY}))
    path = put(tmp_path, flipped(made, kind))
    report = pb.validate(path, keys=BOTH)
    assert [found.rule for found in report.findings] == ["PB307"]


# ------------------------------------------------------------------------------------------------
# What was left


def test_validate_says_which_columns_it_knows_nothing_of(plain, tmp_path):
    path = put(tmp_path, encrypt(plain, RECIPE).data)
    report = pb.validate(path, keys=B_ONLY)
    assert [(found.rule, found.row_group, found.column) for found in report.findings] == [
        ("PB408", None, "a")
    ]
    assert report.findings[0].message == (
        "encrypted, no key: nothing is known about the filters in 2 row groups, not even whether"
        " there are any"
    )
    assert report.ok
    assert pb.validate(path, keys=B_ONLY, columns=["b", "c"]).findings == ()
    assert pb.validate(path, keys=BOTH).findings == ()


def test_a_key_whose_column_is_misspelled_is_named_by_all_verbs(plain, tmp_path):
    path, reason = (
        put(tmp_path, encrypt(plain, RECIPE).data),
        "encrypted, no key: one was given for A",
    )
    keys = pb.Keys(footer=FOOTER_KEY, columns={"A": A_KEY, "b": B_KEY})
    assert pb.inspect(path, keys=keys).row_groups[0].columns[0].reason == reason
    assert {each.reason for each in pb.probe(path, "a", [1], keys=keys).results[0].groups} == {
        reason
    }
    assert pb.advise(path, keys=keys).columns[0].reason == reason
    assert {left.reason for left in pb.strip(path, dry_run=True, keys=keys).left} == {reason}
    assert {left.reason for left in pb.repair(path, dry_run=True, keys=keys).left} == {reason}
    with pytest.raises(pb.MissingKeyError, match=r"no key for column a .*; one was given for A$"):
        pb.build(path, columns=["a", "c"], existing="replace", dry_run=True, keys=keys)


def test_a_locked_filter_that_the_footer_shows_is_noted_once(plain, tmp_path):
    recipe = Recipe(columns={"a": A_KEY}, plaintext_footer=True, copies=LOCATION)
    path = put(tmp_path, encrypt(plain, recipe).data)
    report = pb.validate(path, keys=B_ONLY)
    assert [
        (found.row_group, found.column) for found in report.findings if found.rule == "PB408"
    ] == [(0, "a"), (1, "a")]


def test_repair_leaves_what_is_locked_and_says_so(plain, tmp_path):
    path = put(tmp_path, encrypt(plain, RECIPE).data)
    report = pb.repair(path, dry_run=True, keys=B_ONLY)
    assert [(left.row_group, left.column, left.rule, left.reason) for left in report.left] == [
        (0, "a", "PB408", "encrypted, no key"),
        (1, "a", "PB408", "encrypted, no key"),
    ]
    assert pb.repair(path, dry_run=True, keys=B_ONLY, columns=["b"]).left == ()
    result = outcome("repair", path, "--dry-run", "--rebuild", FOOTER_ONLY)
    # As validate has it: nothing that could be looked at is wrong.
    assert result.code == outcome("validate", path, FOOTER_ONLY).code == 0
    hidden = "4 encrypted column chunks without a key, 0 B added"
    assert f": 0 filters repaired, 0 still wrong, {hidden}" in result.stdout
    why = "PB408 not-checked: encrypted, no key; --column-key or --keys gives it"
    assert (
        f"left: column a, row groups 0, 1: {why}\nleft: column b, row groups 0, 1: {why}\n"
    ) in result.stdout


def test_repair_counts_no_filters_that_nobody_sees(plain, tmp_path):
    """Nor says that validate would look up their values, with the keys that there are."""
    path = put(tmp_path, encrypt(plain, RECIPE).data)
    left = pb.repair(path, dry_run=True, keys=B_ONLY).left
    assert [each.num_filters for each in left] == [0, 0]
    said = outcome("repair", path, "--dry-run", FOOTER_ONLY).stdout
    assert ": 0 filters repaired, 4 encrypted column chunks without a key, 0 B added" in said
    where = ": --drop-bad and --rebuild do that where no key is missing"
    assert f"{where}, and so does pbloom validate {path} --footer-key KEYSPEC\n" in said
    other = tmp_path / "other.parquet"
    other.write_bytes(path.read_bytes())
    total = outcome("repair", path, other, "--dry-run", FOOTER_ONLY).stdout.splitlines()[-1]
    assert "; 0 filters repaired, 8 encrypted column chunks without a key, 0 B added; " in total
    assert f"{where}; dry run" in total


def test_repair_does_not_keep_quiet_about_a_leak_that_it_cannot_mend(plain, tmp_path):
    path = put(tmp_path, encrypt(plain, LEAK).data)
    report = pb.repair(path, in_place=True, keys=B_ONLY)
    assert {(each.column, each.rule) for each in report.repaired} == {("b", "PB501")}
    reason = "encrypted, no key, and the filter is in plaintext"
    assert [(left.row_group, left.column, left.rule, left.reason) for left in report.left] == [
        (0, "a", "PB501", reason),
        (1, "a", "PB501", reason),
    ]


@pytest.mark.parametrize("recipe", [RECIPE, LEAK])
def test_strip_leaves_what_is_locked_and_says_so(recipe, plain, tmp_path):
    path = put(tmp_path, encrypt(plain, recipe).data)
    report = pb.strip(path, dry_run=True, keys=B_ONLY)
    assert {(each.row_group, each.column) for each in report.removed} == {
        (g, name) for g in (0, 1) for name in "bc"
    }
    assert [(left.row_group, left.column, left.reason) for left in report.left] == [
        (0, "a", "encrypted, no key"),
        (1, "a", "encrypted, no key"),
    ]
    result = outcome("strip", path, "--dry-run", FOOTER_ONLY)
    assert result.code == 0
    assert result.stdout.splitlines()[1:] == [
        "left a, b, row groups 0, 1: encrypted, no key; --column-key or --keys gives it",
        "2 unused filters, 544 B: stay in the file, as those of a, b do: with their keys, too, strip removes what can go",
        "note: filters are removed no matter who built them, the file's own writer included",
    ]


def test_strip_says_whose_filters_may_be_in_what_stays(plain, tmp_path):
    path = put(tmp_path, encrypt(plain, RECIPE).data)
    note = "what stays may be filters of a, as there is no key for that: with all keys, strip removes what can go"
    assert note in pb.strip(path, dry_run=True, keys=B_ONLY, columns=["b"]).notes
    assert note not in pb.strip(path, dry_run=True, keys=B_ONLY).notes


def test_strip_wants_the_keys_of_columns_that_are_asked_for(plain, tmp_path):
    path = put(tmp_path, encrypt(plain, RECIPE).data)
    with pytest.raises(
        pb.MissingKeyError, match="row group 0, column a: encrypted: no key for column a"
    ):
        pb.strip(path, dry_run=True, keys=B_ONLY, columns=["a", "b"])
    asked = ("strip", path, "-c", "a", "--dry-run", FOOTER_ONLY)
    assert outcome(*asked).complaint.endswith("; --column-key or --keys gives it")
