"""What `pbloom` does to Iceberg tables in any catalog of PyIceberg's, with others who commit first."""

from __future__ import annotations

import pytest
from make.commands import outcome
from make.delta_tables import rows_of
from make.iceberg_tables import CATALOG, NAME, QUICKLY, build, live, load, make_table, strip
from oracle.iceberg_expiry import by_increments
from oracle.iceberg_readers import by_pyiceberg
from pyiceberg.catalog import load_catalog

import parquet_bloom as pb
from parquet_bloom.tables.iceberg import commit

PLACE = (NAME, "--table", "iceberg", "--catalog", CATALOG)


def check_sizes() -> None:
    """What is recorded is there, for PyIceberg."""
    io = load().io
    assert live() == {name: len(io.new_input(name)) for name in live()}


class Checks:
    """Each begins without a table."""

    def __init__(self) -> None:
        catalog = load_catalog(CATALOG)
        if catalog.table_exists(NAME):
            catalog.drop_table(NAME)
        self.expected = by_pyiceberg(make_table(commits=2, properties=QUICKLY))

    def check_build_and_strip(self) -> None:
        before = live()
        assert {file.action for file in build().files} == {"appended"}
        check_sizes()
        assert build().committed is None
        strip()
        assert live() == before
        assert {file.action for file in build().files} == {"appended before"}
        check_sizes()
        for snapshot in load().snapshots()[1:]:
            assert by_pyiceberg(load(), snapshot.snapshot_id) == self.expected
        assert by_increments(load(), 1) == set()

    def check_a_rival_that_commits_first(self) -> None:
        """After the table was read for the commit, and before it is made."""
        summary, rivals = commit.NewSizes._summary, [rows_of(900, 50)]

        def after_a_rival(self: commit.NewSizes, *arguments: object) -> object:
            if rivals:
                load().append(rivals.pop())
            return summary(self, *arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(commit.NewSizes, "_summary", after_a_rival)
            report = build()
        assert report.committed == load().current_snapshot().snapshot_id
        assert len(by_pyiceberg(load())) == len(self.expected) + 50
        check_sizes()

    def check_commands(self) -> None:
        for arguments in (
            ("build", *PLACE, "-c", "id", "--all-sizes"),
            ("inspect", *PLACE, "--summary"),
            ("validate", *PLACE, "--no-config", "--require", "id"),
            ("advise", *PLACE, "-c", "id"),
            ("repair", *PLACE, "--drop-bad", "--all-sizes"),
            ("strip", *PLACE),
        ):
            result = outcome(*arguments)
            assert result.code == 0, result
        build()
        result = outcome("probe", *PLACE, "-c", "id", "-v", "no one at all")
        assert result.code == 1, result

    def check_renamed_columns(self) -> None:
        with load().update_schema() as change:
            change.rename_column("id", "user")
        build(columns=["user"])
        value = rows_of(5, 1)["id"][0].as_py()
        result = outcome("probe", *PLACE, "-c", "user", "-v", value)
        assert result.code == 0, result
        assert "maybe row group 0" in result.stdout

    def check_no_such_table(self) -> None:
        with pytest.raises(pb.RewriteError) as raised:
            pb.build_table("lake.nothing", catalog=CATALOG, columns="id")
        assert str(raised.value) == f"lake.nothing: no such table in the catalog {CATALOG}"
