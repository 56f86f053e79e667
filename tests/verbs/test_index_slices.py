"""An index of the filters that files have: what it says is what they say, one by one."""

import json
import random
import shutil
from binascii import crc32
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.index_lakes import write_filtered
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.errors import ColumnError, FormatError, UnsupportedError
from parquet_bloom.index import collecting, slices, slices_proof
from parquet_bloom.index.manifest import IndexForm
from parquet_bloom.vocabulary import NOT_SLICED, words


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder, source = tmp_path / "lake", random.Random(5)
    folder.mkdir()
    for number in range(7):
        write_filtered(folder / f"{number}.parquet", source, source.randrange(30, 700))
    return folder


def said_by_files(folder: Path, column: str, values: list[Any]) -> list[dict[str, dict[int, str]]]:
    """The verdicts of the filters of each file, by value, file and row group; but for those that are absent."""
    found: list[dict[str, dict[int, str]]] = [{} for _ in values]
    for path in sorted(map(str, folder.iterdir())):
        for at, result in enumerate(pb.probe(path, column, values).results):
            groups = {each.place.row_group: each.verdict for each in result.groups}
            said = {group: verdict for group, verdict in groups.items() if verdict != "absent"}
            if said:
                found[at][path] = said
    return found


def check(index: pb.Index, folder: Path, column: str, values: list[Any]) -> None:
    """That an index says just that."""
    truth = said_by_files(folder, column, values)
    for few in (values, [value for value in values for _ in range(-(-300 // len(values)))]):
        results = index.probe(column, few, files=folder).results
        for expected, result in zip(truth, results[:: len(few) // len(values)], strict=True):
            files = {file.path: file for file in result.files}
            assert files.keys() == expected.keys()
            for path, groups in expected.items():
                verdict = "maybe" if "maybe" in groups.values() else "unknown"
                assert files[path].verdict == verdict
                assert not files[path].row_groups or {*files[path].row_groups} == groups.keys()
                assert (files[path].reason is not None) == ("unknown" in groups.values())


def values_of(folder: Path, column: str) -> list[Any]:
    """Some of each row group, and others."""
    found = []
    for path in sorted(folder.iterdir()):
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            found += file.read_row_group(group)[column].to_pylist()[:7]
    others = range(20) if column == "id" else [f"user {at}" for at in range(20)]
    return list(dict.fromkeys([*found[:150], *others]))


@pytest.mark.parametrize("column", ["id", "name"])
@pytest.mark.parametrize("form", ["slices", "auto"])
def test_an_index_says_what_the_filters_say(lake, tmp_path, form, column):
    with pb.Index.build(tmp_path / "index", lake, ["id", "name"], form=form) as index:
        check(index, lake, column, values_of(lake, column))
        segments = index._asked.manifest.segments
        assert all(segment.slices and not segment.map for segment in segments)
        assert len(segments[0].slices.files) > 2


def test_row_groups_of_which_nothing_is_known(lake, tmp_path):
    part = lake / "2.parquet"
    pq.write_table(pa.table({"id": range(300), "name": ["x"] * 300}), lake / "p", row_group_size=60)
    pb.build(lake / "p", part, columns=["id"], row_groups=[0, 3], overwrite=True)
    (lake / "p").unlink()
    pq.write_table(pa.table({"id": range(60), "name": ["x"] * 60}), lake / "3.parquet")
    with pb.Index.build(tmp_path / "index", lake, "id", form="slices") as index:
        check(index, lake, "id", values_of(lake, "id"))
        (result,) = index.probe("id", 5, files=part).results
        (file,) = result.files
        assert (file.verdict, file.row_groups) == ("maybe", (0, 1, 2, 4))
        assert file.reason is not None
        assert file.reason.startswith("row group 1: no filter; row group 2: no filter;")
        (result,) = index.probe("id", 1 << 41, files=[part, lake / "3.parquet"]).results
        assert result.verdict == "unknown"
        assert [(file.verdict, file.row_groups) for file in result.files] == [
            ("unknown", (1, 2, 4)), ("unknown", ()),
        ]  # fmt: skip
        assert not index.new_values("id", [1 << 41]).any()
        # Of these row groups, all rows are looked at.
        left = pb.row_groups(part, {"id": [1 << 41, 250]}, index=tmp_path / "index")
        assert left["row_group"].to_pylist() == [1, 2, 4]
        rows = pb.find(part, "id", [70, 1, 290], index=tmp_path / "index").rows
        assert [(row.value, row.row_group, row.row) for row in rows] == [
            (1, 0, 1), (70, 1, 70), (290, 4, 290),
        ]  # fmt: skip
    with pb.Index.build(tmp_path / "auto", lake, "id", form="auto") as index:
        kinds = [bool(segment.map) for segment in index._asked.manifest.segments]
        assert sorted(kinds) == [False, True]
        (result,) = index.probe("id", 200, files=part).results
        assert [(file.verdict, file.row_groups) for file in result.files] == [("maybe", (3,))]


@pytest.mark.parametrize("form", words(IndexForm))
def test_files_as_places(lake, tmp_path, form):
    with pb.Index.build(tmp_path / "index", lake, "id", form=form, places="file") as index:
        for value in values_of(lake, "id")[:40]:
            (result,) = index.probe("id", value).results
            assert result.files
            assert all(file.row_groups == () for file in result.files)
        report = pb.find(None, "id", list(range(25)), index=tmp_path / "index")
        assert report.rows == pb.find(lake, "id", list(range(25))).rows


def test_row_groups_with_only_nulls_need_no_filter(lake, tmp_path):
    values = pa.array([*range(60), *[None] * 60, *range(60)], pa.int64())
    pq.write_table(pa.table({"id": values}), lake / "p", row_group_size=60)
    part = lake / "nulls.parquet"
    report = pb.build(lake / "p", part, columns=["id"])
    assert [each.row_group for each in report.skipped] == [1]
    (lake / "p").unlink()
    with pb.Index.build(tmp_path / "index", lake, "id", form="slices") as index:
        assert index.probe("id", 1 << 41, files=part).is_absent
        (result,) = index.probe("id", 5, files=part).results
        assert [(file.verdict, file.row_groups) for file in result.files] == [("maybe", (0, 2))]
        assert index.check(deep=True).ok


def test_slices_of_no_filters_are_told(tmp_path):
    lake = tmp_path / "lake"
    lake.mkdir()
    for name in "ab":
        pq.write_table(pa.table({"id": [5], "s": [{"a": 1, "b": [2]}]}), lake / f"{name}.parquet")
    build = ("index", "build", "-c", "id", lake, "--form", "slices", "--index")
    told = outcome(*build, tmp_path / "index")
    nothing = "pbloom: nothing is indexed, so that every answer is unknown: "
    nothing += "--form map indexes values instead, and pbloom build adds filters to Parquet files"
    assert (told.code, told.stderr.splitlines()[0]) == (0, nothing)
    pb.build(lake / "a.parquet", in_place=True, columns="id")
    assert "nothing is indexed" not in outcome(*build, tmp_path / "some").stderr
    orc.write_table(pa.table({"id": [5]}), tmp_path / "a.orc")
    told = outcome(*build[:4], tmp_path / "a.orc", *build[5:], tmp_path / "orc").stderr.splitlines()
    assert told[0] == nothing.partition(", and pbloom build")[0]
    # Of a column by itself, too.
    told = outcome(*build, tmp_path / "both", "-c", "s.a")
    assert (told.code, told.stderr.splitlines()[0]) == (0, nothing.replace(": ", ": s.a: ", 1))
    pb.Index.build(tmp_path / "nested", lake, ["s.a", "s.b.list.element"]).close()
    with pb.Index(tmp_path / "nested") as index, pytest.raises(ColumnError) as caught:
        index.probe("s.b", 2)
    assert str(caught.value).endswith("/nested: no column s.b; did you mean s.b.list.element, s.a?")


def test_what_slices_are_not_made_of(lake, tmp_path):
    orc.write_table(pa.table({"id": range(60)}), lake / "8.orc", bloom_filter_columns=[0])
    shutil.copy(lake / "1.parquet", lake / "9.parquet")
    with (lake / "9.parquet").open("r+b") as file:
        file.seek(pb.inspect(file.name).parts[0].columns[0].filter.offset)
        file.write(b"\xff" * 4)
    index = tmp_path / "index"
    made = outcome("index", "build", "--index", index, "-c", "id", "--form", "slices", lake)
    assert made.code == 0
    assert f"{lake}/8.orc: id: not indexed: {NOT_SLICED}" in made.stderr
    assert "9 added, 0 changed, 0 removed; 32 filters written, " in made.stdout
    with pb.Index(index) as found:
        (result,) = found.probe("id", 1 << 42, files=lake / "9.parquet").results
        (file,) = result.files
        assert (file.verdict, file.row_groups[:1]) == ("unknown", (0,))
        assert "row group 0: " in file.reason


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"places": "page"}, "places: page, expected row-group or file"),
        ({"hash_key": b"k" * 16}, "hash_key: expected none"),
    ],
)
@pytest.mark.parametrize("form", ["slices", "auto"])
def test_what_only_a_map_has(lake, tmp_path, form, given, message):
    with pytest.raises(ValueError, match=message):
        pb.Index.build(tmp_path / "index", lake, "id", form=form, **given)
    assert not (tmp_path / "index").exists()


def written(manifest: Path) -> dict[str, Any]:
    return json.loads(manifest.read_bytes())["index"]


def rewrite(manifest: Path, found: dict[str, Any]) -> None:
    body = json.dumps(found).encode()
    manifest.write_bytes(f'{{"crc32": "{crc32(body):08x}", "index": '.encode() + body + b"}")


def test_manifests_from_before_there_were_slices(lake, tmp_path):
    for form, version in (("map", 1), ("auto", 2), ("slices", 2)):
        index = tmp_path / form
        pb.Index.build(index, lake, "id", form=form).close()
        (manifest,) = index.glob("manifest-*")
        # Who knows no slices would lose them with the next change.
        assert written(manifest)["version"] == version
    found = written(tmp_path / "map" / manifest.name)
    del found["form"]
    for segment in found["segments"]:
        del segment["slices"]
    rewrite(tmp_path / "map" / manifest.name, found)
    with pb.Index(tmp_path / "map") as opened:
        assert opened.check(deep=True).findings == ()
        assert opened.add().generation == 1


@pytest.mark.parametrize("changed", [{"places": "page"}, {"key_check": "0" * 16}])
@pytest.mark.parametrize("form", ["map", "slices"])
def test_a_manifest_of_slices_that_cannot_be(lake, tmp_path, form, changed):
    """Hashes with a key are in no slices: all values would be absent."""
    index = tmp_path / "index"
    pb.Index.build(index, lake, "id", form="slices").close()
    (manifest,) = index.glob("manifest-*")
    rewrite(manifest, {**written(manifest), "form": form, **changed})
    with pytest.raises(FormatError, match=r"not a manifest of an index: .* expected"):
        pb.Index(index)


def test_what_only_a_map_has_is_one_line(lake, tmp_path):
    build = ("index", "build", "--index", tmp_path / "index", "-c", "id", "--form", "slices", lake)
    for more, complaint in (
        (("--places", "page"), "places: page, expected row-group or file: "),
        (("--hash-key", "hex:" + "00" * 16), "--hash-key: expected none: "),
    ):
        made = outcome(*build, *more)
        assert made.code == 2
        assert complaint in made.stderr
        assert "Traceback" not in made.stderr


def test_filters_that_do_not_fit_the_memory(tmp_path, monkeypatch):
    source, lake = random.Random(1), tmp_path / "lake"
    lake.mkdir()
    for number in range(3):
        write_filtered(lake / f"{number}.parquet", source, 1000)
    pb.Index.build(tmp_path / "whole", lake, "id", form="slices").close()
    spilled = []
    monkeypatch.setattr(collecting.KeyRoom, "within_budget", lambda: small_room(spilled))
    pb.Index.build(tmp_path / "spilled", lake, "id", form="slices").close()
    assert len(spilled) > 2
    whole, others = (
        sorted(path.read_bytes() for path in (tmp_path / name).glob("*.slices-*"))
        for name in ("whole", "spilled")
    )
    assert whole == others


def small_room(spilled: list[Any]) -> collecting.KeyRoom:
    room = collecting.KeyRoom(0)
    room.most = 8
    make = room.temporary

    def temporary() -> Any:
        spilled.append(1)
        return make()

    room.temporary = temporary  # type: ignore[method-assign]
    return room


@pytest.mark.parametrize("small_page", [1, 1 << 20])
def test_damage_is_an_error_and_no_answer(tmp_path, monkeypatch, small_page):
    """A bit that is lost would be a row that is lost."""
    monkeypatch.setattr(slices, "_SMALL_PAGE", small_page)
    lake, index = tmp_path / "lake", tmp_path / "index"
    lake.mkdir()
    write_filtered(lake / "0.parquet", random.Random(3), 600)
    with pb.Index.build(index, lake, "id", form="slices") as found:
        check(found, lake, "id", values_of(lake, "id"))
    values = values_of(lake, "id")
    for path in index.glob("*.slices-*"):
        data = path.read_bytes()
        path.write_bytes(bytes(0 if at > 200 else each for at, each in enumerate(data)))
        for asked in (values[:20], values * 9):
            with pb.Index(index) as found, pytest.raises(pb.FormatError, match="CRC-32 is wrong"):
                found.probe("id", asked)
        path.write_bytes(data)


class Lake:
    """A lake, and an index over it: some files have no filters, or some row groups have none. `known`: the files as
    the index knows them."""

    def __init__(self, folder: Path, seed: int, form: IndexForm) -> None:
        self.source = random.Random(seed)
        self.folder = folder / "lake"
        self.folder.mkdir()
        self.numbers = iter(range(1000))
        for _ in range(5):
            self.create()
        self.index = pb.Index.build(
            folder / "index", self.folder, ["id", "name"], form=form,
            places=self.source.choice(["row-group", "file"]),
        )  # fmt: skip
        self.known = self.now()
        self.done: list[str] = []

    def now(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.folder.iterdir()}

    def write(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        share = self.source.choice([0.6, 1, 1])
        write_filtered(path, self.source, self.source.choice([0, 1, 80, 250, 430]), share)

    def create(self) -> None:
        self.write(self.folder / f"{next(self.numbers)}.parquet")

    def _any(self) -> Path:
        return self.source.choice(sorted(self.folder.iterdir()))

    def change(self) -> None:
        self.write(self._any())

    def delete(self) -> None:
        if len(self.now()) > 2:
            self._any().unlink()

    def add(self) -> None:
        self.index.add()
        self.known = self.now()

    def remove(self) -> None:
        if (path := self._any()) in self.known:
            self.index.remove(path)
            del self.known[path]

    def compact(self) -> None:
        everything = self.source.choice([True, False])
        self.index.compact(everything=everything, older_than=0)
        if everything:
            segments = self.index._asked.manifest.segments
            kinds = {(each.column, each.kind, each.slices is None) for each in segments}
            assert len(segments) == len(kinds)
            assert not any(segment.dead for segment in segments)

    def step(self) -> None:
        steps = [
            self.change,
            self.create,
            self.delete,
            self.add,
            self.add,
            self.remove,
            self.compact,
        ]
        step = self.source.choice(steps)
        self.done.append(step.__name__)
        step()

    def check(self) -> None:
        now = self.now()
        assert {
            (finding.problem, Path(finding.message.split(": ")[0]))
            for finding in self.index.check(deep=True).findings
        } == {
            *(("new", path) for path in now.keys() - self.known.keys()),
            *(("gone", path) for path in self.known.keys() - now.keys()),
            *(("changed", path) for path in now if self.known.get(path, now[path]) != now[path]),
        }, self.done
        for column in ("id", "name"):
            values = values_of(self.folder, column)
            values = self.source.sample(values, min(12, len(values)))
            truth = said_by_files(self.folder, column, values)
            asked = values * self.source.choice([1, 30])
            results = self.index.probe(column, asked, files=self.folder).results[: len(values)]
            for value, expected, result in zip(values, truth, results, strict=True):
                said = {Path(file.path): file for file in result.files}
                for path, state in now.items():
                    if self.known.get(path) != state:
                        assert said[path].verdict == "unknown", self.done
                    else:
                        groups = expected.get(str(path), {})
                        self._check_file(said.get(path), groups, path, column, value)

    def _check_file(
        self, file: Any, groups: dict[int, str], path: Path, column: str, value: Any
    ) -> None:
        """Where a map has the values of a file, there may be less than its filters say, but never less than is
        true."""
        maps = [
            unit.path
            for segment in self.index._asked.of_column(column) if segment.about.map
            for _, unit in segment.live_units()
        ]  # fmt: skip
        if str(path) not in maps:
            verdicts = {*groups.values()}
            verdict = "maybe" if "maybe" in verdicts else "unknown" if verdicts else None
            assert (file and file.verdict) == verdict, (self.done, path, column, value)
            assert not (file and file.row_groups) or {*file.row_groups} == groups.keys()
        elif value in pq.read_table(path)[column].to_pylist():
            assert file.verdict == "maybe"


@pytest.mark.every(3)
@pytest.mark.parametrize("form", ["slices", "auto"])
@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_done_to_lake_and_index(tmp_path, seed, form):
    lake = Lake(tmp_path, seed, form)
    lake.check()
    for _ in range(14):
        lake.step()
        lake.check()
    lake.index.close()


@pytest.mark.parametrize("problem", ["lost", "unexplained"])
def test_check_proves_slices(lake, tmp_path, monkeypatch, problem):
    """That they have the bits of the filters in the files, whatever their checksums say."""
    monkeypatch.setattr(slices_proof, "_FOR_FILTERS", 1 << 24)
    with pb.Index.build(tmp_path / "index", lake, "id", form="slices") as index:
        report = index.check(deep=True)
        assert (report.findings, report.filters) == ((), 31)
        (segment,) = index._asked.of_column("id")
        assert segment.slices is not None
        about = segment.slices.readers[-1].about
        number, unit = segment.units.place(about.first_place + 2)
        path = segment.units.units([number])[number].path
        part = segment.units.units([number])[number].row_group + unit
    file = tmp_path / "index" / about.name
    data, start = bytearray(file.read_bytes()), about.start(1)
    wanted = 0x20 if problem == "lost" else 0
    row = next(
        at for at in range(start, start + about.page_bytes, about.row_bytes)
        if data[at] & 0x20 == wanted
    )  # fmt: skip
    data[row] ^= 0x20
    page = data[start : start + about.page_bytes]
    data[about.sums(1) : about.sums(1) + 4] = crc32(page).to_bytes(4, "little")
    file.write_bytes(data)
    with pb.Index(tmp_path / "index") as index:
        assert index.check().findings == ()
        (finding,) = index.check(deep=True).findings
    told = outcome("index", "check", "--index", tmp_path / "index", "--deep").stdout
    *_, last, command = told.splitlines()
    assert last == (
        f"{tmp_path}/index: 1 finding: 7 files, 31 filters; filters were compared with those of the"
        " files, not with values: pbloom validate does that"
    )
    assert command == (
        f"next: pbloom index build --overwrite --index {tmp_path}/index -c id --form slices {lake}"
    )
    what = {
        "lost": "bits of its filter are not in the slices",
        "unexplained": "bits in the slices that its filter has not",
    }
    assert finding.problem == problem
    assert finding.message == f"{path}: id: row group {part}: {what[problem]}"


@pytest.mark.parametrize("places", ["row-group", "file"])
@pytest.mark.parametrize("form", ["slices", "auto"])
def test_duckdb_asks_slices(lake, tmp_path, form, places):
    write_filtered(lake / "7.parquet", random.Random(8), 500, 0.5)
    pq.write_table(pa.table({"id": [1], "name": ["x"]}), lake / "8.parquet")
    with pb.Index.build(
        tmp_path / "index", lake, ["id", "name"], form=form, places=places
    ) as index:
        write_filtered(lake / "1.parquet", random.Random(9), 300)
        (lake / "2.parquet").unlink()
        index.add()
        for column in ("id", "name"):
            values = values_of(lake, column)[::10]
            report = index.probe(column, values)
            rows = [
                row
                for some in (values[:20], values[20:40])
                for row in duckdb.sql(index.sql(column, some)).fetchall()
            ]
            assert {row[:4] for row in rows} == {*places_of(report, 40, places)}
            assert len(rows) == len(set(rows))
        with pytest.raises(UnsupportedError, match="slices can be asked in SQL by duckdb"):
            index.sql("id", 5, engine="polars")


def places_of(report: pb.IndexReport, count: int, places: str) -> Iterator[tuple[Any, ...]]:
    """Value, verdict, path and row group, as a query has them."""
    for result in report.results[:count]:
        value = str(result.value)
        for file in result.files:
            reasons = (file.reason or "").split("; ")
            unknown = {
                int(each.split()[2][:-1]) for each in reasons if each.startswith("row group ")
            }
            if places == "file" or not file.row_groups:
                if file.verdict == "maybe":
                    yield value, "maybe", file.path, None
                if file.reason is not None:
                    yield value, "unknown", file.path, None
            else:
                for part in file.row_groups:
                    verdict = "unknown" if part in unknown else "maybe"
                    yield value, verdict, file.path, part


@pytest.mark.parametrize("form", ["map", "slices"])
def test_what_many_values_read_is_counted(tmp_path, lake, form):
    """Where there are many, a local file is mapped into memory: that is read all the same, and each time."""
    with pb.Index.build(tmp_path / "index", lake, "id", form=form) as index:
        of_form = [each for each in (tmp_path / "index").iterdir() if f".{form}" in each.name]
        size = sum(each.stat().st_size for each in of_form)
        first, *others = [index.probe("id", range(5_000)).bytes_read for _ in range(3)]
    assert 2 * size > first >= others[0] == others[1] > size / 2 > 0
