"""What has to be so in every store: each verb does to an object what it does to a local file, and nothing
is lost of what others write."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from make.footers import footer_start, with_meta
from make.repairs import A
from pyarrow import orc
from stores.emulator import KEY, Emulator

import parquet_bloom as pb
from parquet_bloom.storage import open_source, with_options
from parquet_bloom.storage.objects import replacement
from parquet_bloom.storage.paths import expand

SMALL = FIXTURES / "pyarrow_filters.parquet"


@cache
def large() -> bytes:
    """More than is sent as a whole: 8 MB of numbers that nothing compresses."""
    noise = np.random.default_rng(1).integers(0, 1 << 60, (2, 500_000))
    sink = pa.BufferOutputStream()
    table = pa.table({"a": noise[0], "b": noise[1]})
    pq.write_table(table, sink, use_dictionary=False, compression="none", row_group_size=100_000)
    return bytes(sink.getvalue())


@cache
def stripes() -> bytes:
    """An ORC file of many stripes."""
    noise = np.random.default_rng(1).integers(0, 1 << 60, 600_000)
    sink = pa.BufferOutputStream()
    table = pa.table({"a": range(len(noise)), "b": noise})
    orc.write_table(table, sink, stripe_size=1 << 20)
    return bytes(sink.getvalue())


def _fail() -> None:
    raise OSError(errno.EIO, "the request failed")


class Checks:
    """Those of one store. Each `check_…` raises AssertionError if something is not so."""

    def __init__(self, store: Emulator) -> None:
        self.store = store
        self.url = f"{store.url}/day=1/a%20b%25.parquet"
        self.given: dict[str, Any] = {"storage_options": dict(store.options)}
        self.writes = self.given | ({} if store.honours_conditions else {"unconditional": True})

    def check_reading(self) -> None:
        """Folders and globs; inspect, probe, dump, validate, advise, diff."""
        self.store.put(KEY, SMALL.read_bytes())
        for place in ("/", "/day=*/", "/**/a*.parquet"):
            (found,), errors = expand([f"{self.store.url}{place}"], self.store.options)
            assert (str(found.path), errors) == (self.url, [])
        assert pb.inspect(self.url, **self.given).row_groups == pb.inspect(SMALL).row_groups
        there = pb.probe(self.url, "int64", [5, 7], **self.given)
        assert there.results == pb.probe(SMALL, "int64", [5, 7]).results
        assert pb.validate(self.url, **self.given).ok
        assert pb.advise(self.url, **self.given).recommended == pb.advise(SMALL).recommended
        dumped = pb.dump(self.url, "int64", 0, **self.given)
        assert dumped.stored == pb.dump(SMALL, "int64", 0).stored
        assert pb.diff(self.url, SMALL, **self.given).same

    def check_versions(self) -> None:
        """What is read is of one version."""
        self.store.put(KEY, bytes(500_000))
        source = open_source(with_options(self.url, self.store.options))
        self.store.put(KEY, b"1" * 500_000)
        with pytest.raises(OSError, match="changed while it was read: read it again"):
            source.read_at(0, 10)

    def check_small(self) -> None:
        self._check_build(SMALL.read_bytes(), "int64", existing="replace")

    def check_large(self) -> None:
        self._check_build(large(), "a")

    def check_large_in_parts(self) -> None:
        self._check_build(large(), "a", in_parts=True)

    def check_other_layout(self) -> None:
        self._check_build(large(), "a", layout="replace")

    def check_other_layout_in_parts(self) -> None:
        self._check_build(large(), "a", in_parts=True, layout="replace")

    def check_stripes(self) -> None:
        self._check_build(stripes(), "a")

    def _check_build(self, old: bytes, column: str, in_parts: bool = False, **given: Any) -> None:
        """Build and strip: the same bytes as a local file gets, and what is said of the object stays."""
        self.store.put(KEY, old, in_parts=in_parts)
        said, options = self.store.said(KEY), {"columns": [column], "in_place": True} | given
        report = pb.build(self.url, **options, **self.writes)
        layout = {} if old.startswith(b"ORC") else {"layout": "append"}
        local = self._locally(old, lambda path: pb.build(path, **layout | options))
        assert self.store.get(KEY) == local
        assert self.store.said(KEY) == said
        assert pb.validate(self.url, **self.given).ok
        is_large = len(old) > 1 << 20 and not old.startswith(b"ORC")
        if is_large and options.get("layout", "append") in self.store.copies:
            kept = len(old) if "layout" not in options else footer_start(old)
            assert report.requests.bytes_up == len(local) - kept
        pb.strip(self.url, in_place=True, **self.writes)
        assert self.store.get(KEY) == self._locally(
            local, lambda path: pb.strip(path, in_place=True)
        )
        assert (self.store.said(KEY), list(self.store.keys())) == (said, [KEY])

    def _locally(self, old: bytes, change: Callable[[Path], object]) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / ("x.orc" if old.startswith(b"ORC") else "x.parquet")
            path.write_bytes(old)
            change(path)
            return path.read_bytes()

    def check_others_write(self) -> None:
        """A writer between reading and the last request: whoever comes late changes nothing."""
        if not self.store.honours_conditions:
            self._check_refused()
            self.store.put(KEY, large())
            with self.store.before_the_last_request(lambda: self.store.put(KEY, large()[::-1])):
                self._check_late("a")
            assert self.store.get(KEY) == large()[::-1]
            return
        for old, other in (
            (large(), large()[::-1]),
            (large(), large()),
            (SMALL.read_bytes(), b"other"),
        ):
            self.store.put(KEY, old)
            # Whether it honours conditions was asked before.
            with self.store.before_the_last_request(lambda other=other: self.store.put(KEY, other)):
                self._check_late("a" if len(old) > 1 << 20 else "int64")
            assert self.store.get(KEY) == other

    def check_two_builds(self) -> None:
        """One wins, and the other says so."""
        if not self.store.honours_conditions:
            return
        self.store.put(KEY, large())
        build = {"columns": ["b"], "in_place": True} | self.writes
        with self.store.before_the_last_request(lambda: pb.build(self.url, **build)):
            self._check_late("a")
        chunks = [
            chunk
            for group in pb.inspect(self.url, **self.given).row_groups
            for chunk in group.columns
        ]
        assert {chunk.column for chunk in chunks if chunk.filter} == {"b"}
        assert pb.validate(self.url, **self.given).ok

    def check_others_write_after_a_failure(self) -> None:
        """Nothing that is left is in their way."""
        old, other = large(), large()[::-1]
        for in_parts in (False, True):
            self.store.put(KEY, old, in_parts=in_parts)
            said = self.store.said(KEY)
            build = {"columns": ["a"], "in_place": True} | self.writes
            with self.store.before_the_last_request(_fail), pytest.raises(OSError, match="failed"):
                pb.build(self.url, **build)
            assert (self.store.get(KEY), list(self.store.keys())) == (old, [KEY])
            assert self.store.said(KEY) == said
            self.store.put(KEY, other, in_parts=True)
            assert self.store.get(KEY) == other

    def _check_late(self, column: str) -> None:
        with pytest.raises(pb.RewriteError) as raised:
            pb.build(self.url, columns=[column], in_place=True, existing="replace", **self.writes)
        assert str(raised.value) == (
            f"{self.url}: changed by another writer while it was read: nothing was written; try"
            " again"
        )

    def _check_refused(self) -> None:
        """A store that does not look at conditions."""
        self.store.put(KEY, old := SMALL.read_bytes())
        replacement._ignored_in.clear()
        with pytest.raises(pb.RewriteError, match="if nobody else writes, use unconditional"):
            pb.strip(self.url, in_place=True, **self.given)
        assert (self.store.get(KEY), list(self.store.keys())) == (old, [KEY])

    def check_repair(self) -> None:
        old = with_meta(SMALL.read_bytes(), 0, A, bloom_filter_length=None)
        self.store.put(KEY, old)
        pb.repair(self.url, in_place=True, **self.writes)
        local = self._locally(old, lambda path: pb.repair(path, in_place=True, layout="append"))
        assert self.store.get(KEY) == local != old
