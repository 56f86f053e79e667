"""The one writer: what becomes of a change, of whichever format, and what is left when it fails."""

import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.wrong_bytes import read_back_wrongly
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.errors import RewriteError
from parquet_bloom.parquet.footer import compact
from parquet_bloom.storage import open_source
from parquet_bloom.storage.local_output import Output
from parquet_bloom.storage.new_version import Change, Target, write_version

OLD = b"0123456789"


class Appending(Change):
    """Keeps five bytes, of which two are erased, and appends some."""

    prefix = 5

    def __init__(self, new=b"new", wrong=False, idle_before=False, idle_after=False):
        self.new = new
        self.wrong = wrong
        self._is_idle = [idle_before, idle_after]
        self.composed = 0

    @property
    def is_idle(self):
        return self._is_idle[min(self.composed, 1)]

    def compose(self, version):
        assert version.size == 5
        self.composed += 1
        assert version.append(self.new) == 5
        version.append_from(self.source, 8, 10)

    def erased(self):
        return [(1, 3)]

    def verify(self, written):
        if self.wrong:
            raise RewriteError(f"{written.path}: wrong")


@pytest.fixture
def source(tmp_path):
    (tmp_path / "old").write_bytes(OLD)
    source = open_source(tmp_path / "old")
    yield source
    source.close()


def write(source, target, verify=True, **options):
    change = Appending(**options)
    change.source = source
    return write_version(source, target, change, verify), change


def test_a_new_version(source, tmp_path):
    new = tmp_path / "new"
    assert write(source, Target(str(new)))[0] == 10
    assert new.read_bytes() == b"0\0\x0034new89"
    assert (tmp_path / "old").read_bytes() == OLD


def test_an_imagined_one_has_its_size(source, tmp_path):
    assert write(source, Target(None))[0] == 10
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize("when", ["idle_before", "idle_after"])
def test_in_its_place_an_idle_change_writes_nothing(source, tmp_path, when, dry):
    """And elsewhere a file as it is, as far as the change knows it."""
    old = tmp_path / "old"
    before = old.stat()
    options = {"idle_before": when == "idle_before", "idle_after": True}
    place = Target(None if dry else str(old), overwrite=True, in_place=True)
    size, change = write(source, place, **options)
    assert (size, change.composed) == (10, 0 if when == "idle_before" else 1)
    assert (old.stat().st_ino, old.read_bytes()) == (before.st_ino, OLD)
    if not dry:
        write(source, Target(str(tmp_path / "new")), **options)
        assert (tmp_path / "new").exists()


def test_what_is_wrong_is_not_written(source, tmp_path):
    new = tmp_path / "new"
    message = f"^{new}: verification failed, not written: wrong$"
    with pytest.raises(RewriteError, match=message):
        write(source, Target(str(new)), wrong=True)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    write(source, Target(str(new)), verify=False, wrong=True)
    assert new.exists()


@pytest.mark.parametrize("there", [b"0\0\x0034new8", b"0\0\x0034new89!"])
def test_what_is_of_another_size_is_not_written(source, tmp_path, monkeypatch, there):
    """Whatever the change looks at."""
    real = Output.opened

    def opened(output):
        with open(output.temporary, "wb") as file:
            file.write(there)
        return real(output)

    monkeypatch.setattr(Output, "opened", opened)
    with pytest.raises(RewriteError, match=f"not written: {len(there)} bytes, expected 10$"):
        write(source, Target(str(tmp_path / "new")))
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_the_type_of_a_pointer_may_not_be_another(files, tmp_path, monkeypatch):
    """Our own reader takes a length of 16 bits for one of 32; those that are made by Thrift skip it."""
    output = tmp_path / "out"
    report = pb.build(files / "plain.parquet", output, columns=["id"])
    pointer = b"\x16" + compact.zigzag(report.filters[-1].offset) + b"\x15"
    at = output.read_bytes().rindex(pointer) + len(pointer) - 1
    output.unlink()
    read_back_wrongly(monkeypatch, at)
    with pytest.raises(pb.RewriteError, match="the footer differs from what was written"):
        pb.build(files / "plain.parquet", output, columns=["id"])
    assert list(tmp_path.iterdir()) == []


DIALECTS = {"xxhash": None, "murmur3": pb.Murmur3(), "statistics": pb.StatisticsFilter()}


@pytest.mark.parametrize("kind", ["orc", *DIALECTS])
def test_what_builds_filters_is_over_when_writing_them_fails(tmp_path, monkeypatch, kind):
    """Left to the garbage collector, threads have waited for each other for ever."""
    path = tmp_path / "file"
    table = pa.table({"id": range(5000)})
    if kind == "orc":
        orc.write_table(table, path)
    else:
        pq.write_table(table, path, row_group_size=500)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Output, "append", full)
    others = threading.enumerate()
    with pytest.raises(OSError, match="No space left"):
        pb.build(path, tmp_path / "out", columns=["id"], dialect=DIALECTS.get(kind))
    started = [each for each in threading.enumerate() if each not in others]
    assert not [each for each in started if each.name.startswith("pbloom")]
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


# ------------------------------------------------------------------------------------------------
# A disk that gives back other bytes than were written


def built(path, output, **options):
    return pb.build(path, output, **{"columns": ["id", "n"], "existing": "keep", **options})


CHANGES = {
    "build": ("a.parquet", built, {}),
    "replace": ("a.parquet", built, {"existing": "replace", "fpp": 0.001}),
    "moved": ("b.parquet", built, {"columns": ["n"], "existing": "replace", "fpp": 0.001}),
    "legacy": ("a.parquet", built, {"dialect": pb.StatisticsFilter()}),
    "murmur3": ("a.parquet", built, {"dialect": pb.Murmur3(publish_offset=True), "columns": ["n"]}),
    "strip": ("a.parquet", pb.strip, {"columns": ["id"]}),
    "ORC": ("a.orc", built, {}),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Of both formats, with filters of `id`; of Parquet, another with those of `n` as well."""
    folder = tmp_path_factory.mktemp("files")
    table = pa.table({"n": range(7, 67), "id": range(60)})
    pq.write_table(table, folder / "plain.parquet", row_group_size=30)
    orc.write_table(table, folder / "plain.orc", compression="uncompressed")
    for kind in ("parquet", "orc"):
        pb.build(folder / f"plain.{kind}", folder / f"a.{kind}", columns=["id"])
    pb.build(folder / "plain.parquet", folder / "b.parquet", columns=["id", "n"])
    return folder


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", CHANGES)
def test_no_byte_of_filters_and_footer_may_be_another(files, tmp_path, monkeypatch, kind):
    """A hundred bytes or more of those that are new; of ORC, also all of the last ones, which have the
    footers of the stripe and of the file."""
    name, change, options = CHANGES[kind]
    output = tmp_path / "out"
    change(files / name, output, **options)
    positions = changed_bytes(files / name, output)
    output.unlink()
    passed = []
    last = positions[-250:] if name == "a.orc" else ()
    for position in (*positions[:: max(1, len(positions) // 120)], *last):
        with monkeypatch.context() as patched:
            read_back_wrongly(patched, position)
            try:
                change(files / name, output, **options)
            except pb.ParquetBloomError:
                assert list(tmp_path.iterdir()) == []
            else:
                passed.append(position)
                output.unlink()
    assert (passed, len(positions) > 300) == ([], True)


def changed_bytes(path, output):
    """From the first byte that is another, to the end."""
    old, new = path.read_bytes(), output.read_bytes()
    start = next(at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other)
    return range(start, len(new))
