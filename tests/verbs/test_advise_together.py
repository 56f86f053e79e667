"""Files of one table are judged together: a row group alone in its file is one of many."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from make.commands import outcome
from make.encrypting import Recipe, encrypt
from make.footers import edited
from make.pages import data_page
from make.parquet_files import forged
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.advice.sketch import LEAST_KEPT, MANY_COLUMNS, limit_for
from parquet_bloom.options import AdviseOptions
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.verbs.advise import Advisor, advise, advise_sketches, merged_sketches

FILES, ROWS = 12, 3_000
NUM_ROWS = FILES * ROWS
COLUMNS = ("sorted", "random", "text", "shared", "few", "rare", "flag", "price")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(30)
    unique = rng.permutation(10 * NUM_ROWS)[:NUM_ROWS]
    return pa.table(
        {
            "sorted": np.arange(NUM_ROWS),
            "random": unique,
            "text": [f"user-{number:x}" for number in rng.permutation(unique)],
            "shared": rng.integers(0, ROWS, NUM_ROWS),
            "few": rng.integers(0, 30, NUM_ROWS),
            "rare": pa.array(unique, mask=np.arange(NUM_ROWS) >= 5 * ROWS),
            "flag": rng.integers(0, 2, NUM_ROWS).astype(bool),
            "price": rng.random(NUM_ROWS),
        }
    )


@pytest.fixture(scope="module")
def lake(table, tmp_path_factory):
    """A file of one row group for each part of the table."""
    folder = tmp_path_factory.mktemp("lake")
    for number in range(FILES):
        pq.write_table(table.slice(number * ROWS, ROWS), folder / f"{number:02}.parquet")
    return folder


@pytest.fixture(scope="module")
def whole(table, tmp_path_factory):
    """The same in one file."""
    path = tmp_path_factory.mktemp("whole") / "whole.parquet"
    pq.write_table(table, path, row_group_size=ROWS)
    return advise(path)


@pytest.mark.parametrize("with_filters", [range(6), range(6, 12), range(0, 12, 2)])
def test_what_is_read_today_depends_on_which_groups_have_filters(table, tmp_path, with_filters):
    """Where statistics rule groups out, it is not the share of those with a filter that counts."""
    apart, random = table["sorted"], table["random"]
    parts = [
        (apart if number < 6 else random).slice(number * ROWS, ROWS).to_numpy()
        for number in range(FILES)
    ]
    paths = [tmp_path / f"{number:02}.parquet" for number in range(FILES)]
    for path, part in zip(paths, parts, strict=True):
        pq.write_table(pa.table({"id": part}), path)
    for number in with_filters:
        pb.build(paths[number], columns="id", in_place=True)
    (report,) = pb.advise(tmp_path)
    (found,) = report.columns
    stored = np.unique(np.concatenate(parts))
    asked = np.random.default_rng(3).choice(stored, 1_000, replace=False)
    read = 0
    for path, part in zip(paths, parts, strict=True):
        left = asked[(part.min() <= asked) & (asked <= part.max())].tolist()
        read += sum(each.verdict != "absent" for each in pb.probe(path, "id", left).results)
    assert found.groups_filter_there == pytest.approx(read / asked.size, rel=0.05)


def advised(paths, **options):
    advisor = Advisor(AdviseOptions(**options))
    for path in paths:
        advisor.add(path)
    return advisor


def writes_parquet(table, path):
    pq.write_table(table, path, use_dictionary=False)


@pytest.fixture(scope="module")
def advisor(lake):
    return advised(sorted(lake.iterdir()))


def by_column(report):
    return {column.column: column for column in report.columns}


@pytest.mark.parametrize("budget", [None, "100%"])
def test_figures_are_those_of_filters_that_stay_beside_those_to_build(lake, tmp_path, budget):
    """Half of the files have filters already, of a higher rate, which `build` keeps."""
    shutil.copytree(lake, tmp_path / "lake")
    paths = sorted((tmp_path / "lake").iterdir())
    for path in paths[::2]:
        pb.build(path, in_place=True, columns=["random"], fpp=0.08)
    asked = {"columns": ["random"], "fpp": 0.002, "budget": budget}
    fresh = next(advised(paths, existing="replace", **asked).tables())
    table = next(advised(paths, **asked).tables())
    (each,) = table.columns
    of_files = [report.columns[0].filter_bytes for report in advised(paths, **asked).reports()]
    for path, report in zip(paths, advised(paths, **asked).reports(), strict=True):
        pb.build(path, in_place=True, advice=report)
    after = [pb.inspect(path, columns=["random"]).filter_bytes for path in paths]
    assert of_files == after
    assert each.filter_bytes == sum(after) < fresh.columns[0].filter_bytes
    (kept,) = advised(paths, columns=["random"]).tables()
    assert each.groups_filter == pytest.approx(kept.columns[0].groups_filter_there, rel=0.01)
    assert each.groups_filter - 1 > 5 * (fresh.columns[0].groups_filter - 1)
    if budget:
        (chosen,) = table.budget.columns
        assert (chosen.filter_bytes, chosen.groups_filter) == (
            each.filter_bytes,
            each.groups_filter,
        )
        assert chosen.fpp_expected > 0.002


def test_alone_a_row_group_is_optional_at_best(lake):
    alone = advise(lake / "00.parquet")
    assert (alone.files, alone.recommended) == (1, ())
    assert by_column(alone)["random"].verdict == "optional"
    assert "name all its files to have them judged together" in by_column(alone)["random"].reason


def test_together_they_are_what_the_table_in_one_file_is(advisor, whole):
    (together,) = advisor.tables()
    assert (together.files, together.num_groups, together.num_rows) == (FILES, FILES, NUM_ROWS)
    assert together.recommended == whole.recommended == ("random", "text", "rare")
    for column, expected in by_column(whole).items():
        found = by_column(together)[column]
        for name in (
            "verdict", "eligible", "num_values", "ndv", "ndv_error", "group_ndv", "groups",
            "filter_bytes", "groups_statistics", "values_asked", "values_stored",
        ):  # fmt: skip
            assert getattr(found, name) == getattr(expected, name), (column, name)
        assert found.groups_filter == pytest.approx(expected.groups_filter)
        assert found.groups_filter_absent == pytest.approx(expected.groups_filter_absent)
    assert by_column(whole)["flag"].reason == by_column(together)["flag"].reason


def test_files_that_cannot_be_judged_or_have_no_values_are_not_among_those_of_the_figure(
    lake, tmp_path
):
    """Nothing is known of a column without its key; the others are judged all the same."""
    shutil.copytree(lake, tmp_path / "lake")
    paths = sorted((tmp_path / "lake").iterdir())
    recipe = Recipe(columns={"random": b"the key of rando"}, plaintext_footer=True)
    for path in paths[:2]:
        path.write_bytes(encrypt(path.read_bytes(), recipe).data)
    pq.write_table(pq.read_table(paths[-1]).slice(0, 0), tmp_path / "lake" / "none.parquet")
    advisor = advised(sorted((tmp_path / "lake").iterdir()))
    (report,) = advisor.tables()
    asked = by_column(report)
    assert (report.files, asked["random"].groups) == (13, 10)
    assert (
        " of 10 row groups in 10 files with a filter, 9.99 with min/max alone;"
        in asked["random"].reason
    )
    note = "; 2 row groups in 2 more files were not judged (encrypted, no key), and a look-up may read each of them"
    assert note in asked["random"].reason
    assert "not judged" not in asked["text"].reason
    assert " of 12 row groups in 12 files with a filter" in asked["text"].reason
    parts = [advised([path]).sketches() for path in sorted((tmp_path / "lake").iterdir())]
    (key,) = {key for part in parts for key in part}
    merged = merged_sketches(part[key] for part in reversed(parts))
    (again,) = advise_sketches([merged], AdviseOptions())
    assert again == report


def test_the_reason_names_the_files(advisor):
    (together,) = advisor.tables()
    random = by_column(together)["random"]
    assert random.reason.startswith("a look-up reads 1.0")
    assert " of 12 row groups in 12 files with a filter, 12 with min/max alone" in random.reason


def test_each_file_has_a_report_of_its_own(advisor, lake):
    (together,) = advisor.tables()
    reports = list(advisor.reports())
    assert [report.path for report in reports] == [str(path) for path in sorted(lake.iterdir())]
    for report in reports:
        alone, judged = advise(report.path), by_column(together)
        assert (report.files, report.num_rows, report.size) == (FILES, ROWS, alone.size)
        for column, own in by_column(alone).items():
            found = by_column(report)[column]
            for name in (
                "num_values", "chunk_bytes", "already", "ndv", "ndv_error", "group_ndv",
                "filter_bytes", "filter_share", "settings", "engines",
            ):  # fmt: skip
                assert getattr(found, name) == getattr(own, name), (column, name)
            for name in ("verdict", "reason", "groups", "groups_filter", "basis"):
                assert getattr(found, name) == getattr(judged[column], name), (column, name)


def test_expected_row_groups_agree_with_a_measurement(advisor, lake, table, tmp_path):
    (together,) = advisor.tables()
    built = []
    for path in sorted(lake.iterdir()):
        pb.build(path, tmp_path / path.name, columns=["random", "shared"])
        built.append(tmp_path / path.name)
    for column in ("random", "shared"):
        values = np.unique(table[column].to_numpy())[::20]
        reads = 0
        for path in built:
            statistics = (
                pq.read_metadata(path).row_group(0).column(COLUMNS.index(column)).statistics
            )
            with pb.open(path) as file:
                found = file.bloom_filter(0, column).check_many(values)
            reads += (found & (statistics.min <= values) & (values <= statistics.max)).sum()
        expected = by_column(together)[column].groups_filter
        assert expected == pytest.approx(reads / len(values), rel=0.1)


def test_other_columns_are_another_table(lake, tmp_path):
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"random": np.arange(ROWS).astype("i4")}), other)
    paths = sorted(lake.iterdir())[:3]
    advisor = advised([paths[0], other, *paths[1:]])
    assert [(report.path, report.files) for report in advisor.reports()] == [
        (str(paths[0]), 3), (str(other), 1), (str(paths[1]), 3), (str(paths[2]), 3),
    ]  # fmt: skip
    assert [report.path for report in advisor.tables()] == [f"{paths[0]} and 2 more", str(other)]


def annotated(path, **names):
    """The file as a writer makes it that says of plain integers what they are."""

    def annotate(footer):
        for element in footer.schema:
            if element.name in names:
                width, is_signed = names[element.name]
                element.logicalType = ttypes.LogicalType(
                    INTEGER=ttypes.IntType(bitWidth=width, isSigned=is_signed)
                )

    path.write_bytes(edited(path.read_bytes(), annotate))


def test_files_of_two_writers_are_one_table(tmp_path):
    """Some writers say of an INT64 that it is a signed integer of 64 bits, as DuckDB, and others leave it out: a
    look-up searches both."""
    numbers = np.random.default_rng(3).permutation(4 * ROWS)
    paths = [tmp_path / f"{name}.parquet" for name in "abcd"]
    for number, path in enumerate(paths):
        long = numbers[number * ROWS :][:ROWS]
        pq.write_table(pa.table({"long": long, "int": long.astype("i4")}), path)
    (alike,) = advised(paths).tables()
    for path in paths[1::2]:
        annotated(path, long=(64, True), int=(32, True))
    advisor = advised(paths)
    (together,) = advisor.tables()
    assert together.recommended == alike.recommended == ("long", "int")
    assert [each.reason for each in together.columns] == [each.reason for each in alike.columns]
    assert [(each.files, each.columns[0].logical_type) for each in advisor.reports()] == [
        (4, None)
    ] * 4
    whole = pb.merged_sketches(
        sketch for path in reversed(paths) for sketch in advised([path]).sketches().values()
    )
    assert list(pb.advise_sketches([whole], AdviseOptions())) == [together]
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"long": [1.5], "int": [1]}), other)
    advice = pb.advise([*paths, other])
    built = tmp_path / "built.parquet"
    assert pb.build(paths[1], built, advice=advice).num_filters == 2


def fixed(values, width):
    return pa.array([int(each).to_bytes(width) for each in values], pa.binary(width))


NUMBERS = np.random.default_rng(5).permutation(ROWS)


@pytest.mark.parametrize(
    "schemas",
    [
        ({"x": NUMBERS, "y": NUMBERS % 2}, {"y": NUMBERS, "x": NUMBERS % 2}),
        ({"h": fixed(NUMBERS, 8)}, {"h": fixed(NUMBERS % 2, 16)}),
        ({"x": NUMBERS, "y": NUMBERS % 2}, {"y": NUMBERS, "z": NUMBERS, "x": NUMBERS % 2}),
    ],
    ids=["order", "length", "more"],
)
def test_each_file_gets_what_was_said_of_its_own_table(tmp_path, schemas):
    """Also where another has the same columns, in another order or of other lengths."""
    lake, built = tmp_path / "lake", tmp_path / "built"
    lake.mkdir()
    for number, columns in enumerate(schemas):
        for name in "ab":
            pq.write_table(pa.table(columns), lake / f"{name}{number}.parquet", ROWS // 4)
    wanted = [name for name in schemas[0] if name != "z"]
    advice = pb.advise(lake, columns=wanted)
    assert len(advice.reports) == 2
    done = pb.build(lake, built, advice=advice)
    said = {Path(each.path.partition(" and ")[0]).name[1]: each.recommended for each in advice}
    assert len({*said.values()}) == 2
    found = {
        Path(each.path).name: tuple(dict.fromkeys(one.column for one in each.filters))
        for each in done
    }
    assert found == {name: said[name[1]] for name in found}


@pytest.mark.parametrize("meaning", [(32, False), (16, True), (8, True)])
def test_integers_of_other_ranges_are_another_table(tmp_path, meaning):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path in paths:
        pq.write_table(pa.table({"int": np.arange(3, dtype="i4")}), path)
    annotated(paths[1], int=meaning)
    assert [each.files for each in advised(paths).tables()] == [1, 1]


@pytest.mark.parametrize("write", [writes_parquet, orc.write_table], ids=["parquet", "orc"])
def test_a_member_of_a_struct_and_a_column_with_a_dot_are_two_tables(write, tmp_path):
    """Trino uses filters of the one in Parquet files, and not of the other, whichever file comes first."""
    rng = np.random.default_rng(1)
    for number in range(20):
        ids = pa.array(rng.integers(0, 1 << 60, 3_000))
        member = {"user": pa.StructArray.from_arrays([ids], ["id"])}
        path = tmp_path / f"{number:02}.file"
        write(pa.table(member if number % 2 else {"user.id": ids}), path)
    paths, asked = sorted(tmp_path.iterdir()), {"columns": ["user.id"], "engines": ["Trino"]}
    alone = [one for place in range(2) for one in pb.advise(paths[place::2], **asked).reports]
    assert list(pb.advise(paths, **asked).reports) == alone
    if write is writes_parquet:
        assert [one.columns[0].verdict for one in alone] == ["build", "skip"]


def test_only_columns_that_are_asked_about_have_to_agree(lake, table, tmp_path):
    """Here the column is in another place, and another one is new."""
    path = lake / "00.parquet"
    later = tmp_path / "later.parquet"
    columns = {"new": np.zeros(ROWS), "random": table["random"].slice(5 * ROWS, ROWS)}
    pq.write_table(pa.table(columns), later)
    advisor = advised([path, later], columns=["random"])
    assert [report.files for report in advisor.reports()] == [2, 2]
    assert next(advisor.tables()).columns[0].groups == 2


def test_a_file_counts_once(lake):
    path = lake / "00.parquet"
    advisor = advised([path, path, str(path)])
    assert [(report.path, report.files) for report in advisor.reports()] == [(str(path), 1)]


def test_files_that_cannot_be_read_do_not_count(lake, table, tmp_path):
    """The first column was read when the second one turned out to be damaged."""
    paths = sorted(lake.iterdir())
    damaged = tmp_path / "damaged.parquet"
    pq.write_table(table.slice(0, ROWS), damaged, compression="none", use_dictionary=False)
    data = bytearray(damaged.read_bytes())
    start = pq.read_metadata(damaged).row_group(0).column(1).data_page_offset
    data[start] = 0xFF
    damaged.write_bytes(data)
    advisor = Advisor()
    advisor.add(paths[0])
    with pytest.raises(pb.PageError):
        advisor.add(damaged)
    advisor.add(paths[1])
    (together,) = advisor.tables()
    assert (together.files, together.num_rows) == (2, 2 * ROWS)
    assert {column.groups for column in together.columns} == {0, 2}


def test_a_table_of_damaged_files_is_none(tmp_path):
    path = forged(tmp_path / "short.parquet", [data_page(bytes(8), 1)], 2,
                  type=ttypes.Type.INT64)  # fmt: skip
    advisor = Advisor()
    with pytest.raises(pb.PageError):
        advisor.add(path)
    assert list(advisor.tables()) == list(advisor.reports()) == []


def test_what_one_file_cannot_tell_the_others_can(tmp_path):
    """A codec that cannot be read is the reason for that file's column alone."""
    integer = {"type": ttypes.Type.INT64}
    unreadable = forged(tmp_path / "a.parquet", [data_page(bytes(8), 1)], 1, codec=3, **integer)
    readable = [
        forged(tmp_path / f"{n}.parquet", [data_page(bytes([n]) * 8, 1)], 1, **integer)
        for n in range(3)
    ]
    advisor = advised([unreadable, *readable])
    (whole,) = advisor.tables()
    reports = list(advisor.reports())
    assert [report.columns[0].eligible for report in reports] == [False, True, True, True]
    assert reports[0].columns[0].reason.startswith("row group 0, column values: codec LZO")
    assert (whole.columns[0].ndv, whole.columns[0].groups) == (3, 3)
    assert {report.columns[0].reason for report in reports[1:]} == {whole.columns[0].reason}


def test_a_column_that_can_be_read_in_part_does_not_count(table, tmp_path):
    """Its second row group has a codec that nobody reads."""

    def obscure(footer):
        footer.row_groups[1].columns[0].meta_data.codec = ttypes.CompressionCodec.LZO

    path, other = tmp_path / "half.parquet", tmp_path / "other.parquet"
    pq.write_table(table.select(["random"]).slice(0, ROWS), path, row_group_size=ROWS // 2)
    path.write_bytes(edited(path.read_bytes(), obscure))
    pq.write_table(table.select(["random"]).slice(ROWS, ROWS), other)
    (whole,) = advised([path, other]).tables()
    assert (whole.columns[0].groups, whole.columns[0].num_values) == (1, ROWS)


def test_a_value_sample_is_looked_up_in_all_files(lake, table):
    stored = table["random"].to_pylist()[::ROWS]
    absent = [10 * NUM_ROWS + n for n in range(FILES)]
    paths = sorted(lake.iterdir())
    (whole,) = advised(paths, columns=["random"], value_sample={"random": stored + absent}).tables()
    (column,) = whole.columns
    assert (column.basis, column.values_asked, column.values_stored) == (
        "value sample", 2 * FILES, FILES,
    )  # fmt: skip
    assert column.groups_statistics == pytest.approx(FILES / 2, rel=0.01)
    assert column.groups_filter == pytest.approx(0.5, abs=0.1)


def test_values_that_are_asked_often_are_looked_up_once(lake):
    """A million lines of a log are some thousand values."""
    asked = {"random": [1, 2, 1] * 300_000}
    column = advise(lake / "00.parquet", columns=["random"], value_sample=asked).columns[0]
    assert column.values_asked == 900_000


def test_an_empty_sample_is_an_error(lake):
    with pytest.raises(pb.ColumnError, match="column random: no values, expected at least one"):
        advise(lake / "00.parquet", value_sample={"random": []})


def test_tables_of_very_many_columns_keep_less_of_each():
    assert [limit_for(4096, n) for n in (1, MANY_COLUMNS, 2 * MANY_COLUMNS, 1 << 20)] == [
        4096, 4096, 2048, LEAST_KEPT,
    ]  # fmt: skip


def test_the_distinct_values_of_a_dictionary_alone_are_exact_beside_empty_files(tmp_path):
    """More than are counted one by one."""
    numbers = np.random.default_rng(2).permutation(20_000)
    pq.write_table(pa.table({"id": numbers}), tmp_path / "some.parquet")
    pq.write_table(pa.table({"id": pa.nulls(10, pa.int64())}), tmp_path / "none.parquet")
    for names in (["some", "none"], ["none", "some"]):
        (whole,) = advised(tmp_path / f"{name}.parquet" for name in names).tables()
        assert (whole.columns[0].ndv, whole.columns[0].ndv_exact) == (20_000, True)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "path", sorted(FIXTURES.glob("*types*.parquet")), ids=lambda path: path.stem
)
def test_a_file_beside_itself(path, tmp_path):
    """Every type: twice the row groups, and each value in twice as many."""
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(path.read_bytes())
    (one,), (two,) = advised([path]).tables(), advised([path, copy]).tables()
    for single, double in zip(one.columns, two.columns, strict=True):
        assert double.groups == 2 * single.groups
        assert double.filter_bytes == 2 * single.filter_bytes
        assert (double.ndv, double.values_asked) == (single.ndv, single.values_asked)
        for name in ("groups_statistics", "groups_filter", "groups_filter_absent"):
            value = getattr(single, name)
            assert value is None or getattr(double, name) == pytest.approx(2 * value)


# ------------------------------------------------------------------------------------------------
# The commands


def test_the_command_answers_once_for_a_table(lake, advisor):
    result = outcome("advise", lake)
    lines = result.stdout.splitlines()
    assert (result.code, len(lines)) == (0, 3 + len(COLUMNS))
    assert lines[-1] == f"next: pbloom build {lake} -c random,text,rare --in-place"
    size = sum(path.stat().st_size for path in lake.iterdir())
    assert lines[0] == (
        f"{lake}/00.parquet and 11 more: 36,000 rows in 12 row groups,"
        f" {size / (1 << 20):.1f} MiB; build filters for random, text, rare"
    )


def test_json_is_a_document_for_each_file(lake):
    result = outcome("advise", lake, "--json")
    documents = [json.loads(line) for line in result.stdout.splitlines()]
    assert [document["path"] for document in documents] == [
        str(path) for path in sorted(lake.iterdir())
    ]
    assert {document["files"] for document in documents} == {FILES}
    assert {tuple(document["recommended"]) for document in documents} == {
        ("random", "text", "rare")
    }


def test_a_bad_file_does_not_keep_the_others_from_their_answer(lake, tmp_path):
    (tmp_path / "bad.parquet").write_text("no Parquet")
    result = outcome("advise", tmp_path / "bad.parquet", lake, "-c", "random")
    assert result.code == 2
    assert result.complaint.startswith(f"{tmp_path}/bad.parquet: ")
    assert len(result.stdout.splitlines()) == 4


def test_auto_builds_what_all_files_together_deserve(lake, tmp_path):
    (tmp_path / "bad.parquet").write_text("no Parquet")
    output = tmp_path / "out"
    result = outcome("build", lake, tmp_path / "bad.parquet", "--auto", "--output-dir", output)
    assert result.code == 2
    assert result.complaint.startswith(f"{tmp_path}/bad.parquet: ")
    assert sorted(path.name for path in output.iterdir()) == sorted(
        path.name for path in lake.iterdir()
    )
    for number, path in enumerate(sorted(output.iterdir())):
        (group,) = pb.inspect(path).row_groups
        filters = {column.column for column in group.columns if column.filter}
        assert filters == ({"random", "text", "rare"} if number < 5 else {"random", "text"})


def test_auto_says_that_there_is_nothing_to_build(lake, tmp_path):
    path = lake / "00.parquet"
    result = outcome("build", path, "--auto", "-o", tmp_path / "out.parquet")
    assert result.code == 0
    assert result.stderr == (
        f"pbloom: {path}: no column that advise would build; `pbloom advise {path}` says why\n"
    )
    assert pb.inspect(tmp_path / "out.parquet").filter_bytes == 0
    judged = ("--budget", "10", "-crare", "--no-config", "--fpp=0.5")
    again = outcome("build", path, "--auto", *judged, "--dry-run").stderr.partition("`")[2]
    assert again.startswith(f"pbloom advise {path} {' '.join(judged)}` says why\n")


# ------------------------------------------------------------------------------------------------
# Filters that are there


def one_table(paths):
    (report,) = pb.advise(paths)
    return report


@pytest.mark.parametrize("write", [writes_parquet, orc.write_table], ids=["parquet", "orc"])
def test_new_filters_save_nothing_where_those_there_are_the_same(write, tmp_path):
    """Whatever the mean of their rates tells: most look-ups are in files of other rates than most files."""
    rng = np.random.default_rng(1)
    for number in range(60):
        rows, most = (300, 1 << 60) if number % 3 else (2_000, 1 << 40)
        ids = pa.table({"id": rng.integers(0, most, rows)})
        write(ids, tmp_path / f"{number:02}.file")
    paths = sorted(tmp_path.glob("*.file"))
    for path in paths:
        pb.build(path, in_place=True, columns=["id"])
    (found,) = one_table(paths).columns
    assert found.groups_filter_there <= found.groups_filter
    assert "--existing replace" not in found.reason


def test_new_filters_are_named_where_those_there_are_smaller(tmp_path):
    rng = np.random.default_rng(1)
    for number in range(60):
        path = tmp_path / f"{number:02}.parquet"
        writes_parquet(pa.table({"id": rng.integers(0, 1 << 60, 2_000)}), path)
        pb.build(path, in_place=True, columns=["id"], fpp=0.09 if number < 30 else 0.01)
    (found,) = one_table(sorted(tmp_path.glob("*.parquet"))).columns
    assert found.groups_filter_there > found.groups_filter + 0.5
    assert "with a new filter (--existing replace)" in found.reason


def test_all_files_are_counted_where_some_are_judged_apart(lake, tmp_path):
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"id": range(9)}), other)
    assert repr(pb.advise([lake, other])) == "<AdviceReports of 13 files: 2 schemas, judged apart>"


def test_options_take_one_name(tmp_path):
    """As advise does: text is no list of letters."""
    pq.write_table(pa.table({"id": range(9), "more": range(9)}), tmp_path / "a.parquet")
    advisor = Advisor(AdviseOptions(columns="id", engines="spark"))
    advisor.add(tmp_path / "a.parquet")
    (report,) = advisor.reports()
    assert [each.column for each in report.columns] == ["id"]


def test_what_build_notes_of_a_budget_for_several_schemas_is_said_once(tmp_path):
    """And all that is said of one of them, even if it differs in nothing but numbers."""
    values = [f"user-{each:x}" for each in np.random.default_rng(4).integers(0, 1 << 60, 4_000)]
    for number, names in enumerate((["u1", "u2"], ["u1", "u2", "v"], ["u1", "u2", "w"])):
        for file in range(2):
            table = pa.table(dict.fromkeys(names, values))
            pq.write_table(table, tmp_path / f"{number}{file}.parquet", row_group_size=1_000)
    lines = outcome(
        "build", tmp_path, "--auto", "--budget", "12KiB", "--dry-run"
    ).stderr.splitlines()
    assert sum("KiB budget used" in line for line in lines) == 1
    assert sum("has room for all of them" in line for line in lines) == 1
    assert len(lines) == len({*lines})
    for name in ("u1", "u2", "v", "w"):
        assert any(f" {name}: " in line for line in lines), name
