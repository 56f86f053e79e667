"""Builds and strips of one lake in random order, some of which die and go on under their id, and files that
others replace in between: each report says what has become of each file since its run began."""

import random
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import IS_LONG
from make.delta_tables import make_table
from make.dying_tasks import dying
from make.lake_files import write
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom import spark as lake
from parquet_bloom.errors import SparkError
from parquet_bloom.spark import executors
from parquet_bloom.spark.outcome import BY_ANOTHER
from parquet_bloom.spark.planning import LEFT_SO

pytestmark = pytest.mark.interop

STEPS = 5


def write_any(path, start):
    """Rows from `start` on, as Parquet or in ORC with several index groups."""
    if path.suffix == ".parquet":
        write(path, start, rows=40)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"id": pa.array(range(start, start + 2500), pa.int64())})
    orc.write_table(table, path, row_index_stride=1000)


def truth(folder):
    """The filters and the size of each file."""
    files = [path for path in folder.rglob("*") if path.suffix in (".parquet", ".orc")]
    return {str(path): (pb.inspect(path).num_filters, path.stat().st_size) for path in files}


def expected(verb, path, before, after):
    """What became of a file, by its filters and its size."""
    if "/table/" in path:
        assert before == after
        return "refused"
    if before == after:
        return "unchanged"
    has_filters = after[0] > 0
    assert has_filters is (verb is lake.build)
    return "added" if has_filters else "removed"


@pytest.mark.parametrize("seed", [0, 3] if IS_LONG else [0])
def test_reports_tell_the_truth(spark, tmp_path, monkeypatch, seed):
    chosen = random.Random(f"sequences {seed}")
    folder, audit, died = tmp_path / "lake", tmp_path / "audit", tmp_path / "died"
    died.mkdir()
    plain = [folder / f"day={day}/{name}" for day in (1, 2) for name in ("a.parquet", "b.orc")]
    for number, path in enumerate(plain):
        write_any(path, 100 * number)
    make_table(folder / "table", commits=1)
    for step in range(STEPS):
        verb, how = (
            chosen.choice((lake.build, lake.strip)),
            chosen.choice((None, "killed", "raises")),
        )
        if chosen.random() < 0.4:
            write_any(chosen.choice(plain), 1000 * step)
        before = truth(folder)
        options = {"columns": ["id"], "audit": audit, "run_id": f"{step}"}
        with monkeypatch.context() as changed:
            attempts = {"killed": 1, "raises": 9}.get(how, 0)
            changed.setattr(
                executors, "on_executor", dying(executors.on_executor, str(died), how, attempts)
            )
            try:
                report = verb(spark, folder, **options)
            except SparkError:
                report = None
        assert (report is None) == (how == "raises")
        report = report or verb(spark, folder, **options)
        check(report, verb, before, truth(folder), may_be_by_another=how is not None)


def check(report, verb, before, after, may_be_by_another):
    assert {each.path for each in report.outcomes} == set(before) == set(after)
    for each in report.outcomes:
        was, now = before[each.path], after[each.path]
        assert each.status == expected(verb, each.path, was, now), each
        if each.status == "refused":
            continue
        assert (each.size_before, each.size, each.bytes) == (was[1], now[1], now[1] - was[1])
        is_by_another = BY_ANOTHER in (each.message or "")
        assert may_be_by_another or not is_by_another
        if each.status == "added":
            assert each.filters == now[0]
        elif each.status == "removed":
            # Nobody counts what another attempt has removed.
            assert each.filters == (None if is_by_another else was[0])
        else:
            assert each.filters == 0
            assert (now[0] > 0) is (verb is lake.build) or LEFT_SO in (each.message or "")
    assert sum(report.counts.values()) == len(after)
    assert all(Path(path).exists() for path in before)
