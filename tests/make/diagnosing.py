"""Files of wrong writers, and what is said of them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from make import wrong_writers as wrong
from make.parquet_files import open_parquet
from make.wrong_writers import Column, Writer

from parquet_bloom.diagnosis.diagnose import diagnose
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.membership import check_membership


def diagnosed(path: Path, row_group: int = 0, column: str = "values") -> Diagnosis | None:
    return claim(_answer(path, row_group, column))


def why_not(path: Path) -> str:
    """Why nothing is claimed."""
    found = _answer(path, 0, "values")
    assert isinstance(found, str)
    return found


def _answer(path: Path, row_group: int, column: str) -> Diagnosis | str | None:
    with open_parquet(path) as file:
        chunk = file.chunk(row_group, column)
        stored = bloom.read_header(file.source, file.footer, chunk)
        assert stored is not None
        filter = bloom.read_bitset(file.source, stored)
        return diagnose(file, chunk, stored, check_membership(file, chunk, filter))


def claimed(*chunk: Any) -> Diagnosis | None:
    """What `diagnose` claims, not why it cannot."""
    return claim(diagnose(*chunk))


def claim(found: Diagnosis | str | None) -> Diagnosis | None:
    return None if isinstance(found, str) else found


def diagnosed_after(path: Path, column: Column, writer: Writer, **options: Any) -> Diagnosis | None:
    """What is said of a file of this writer."""
    wrong.write(path, column, **options)
    num_blocks = wrong.header(path).num_blocks
    wrong.overwrite(path, writer.bitset(column.plain, num_blocks))
    return diagnosed(path)


def check(diagnosis: Diagnosis | None, name: str, clause: str = "") -> None:
    assert diagnosis is not None
    assert diagnosis.hypothesis == name
    assert clause in diagnosis.explanation
    assert diagnosis.hits == diagnosis.tried >= 4


def insert_only(path: Path, values: Iterable[bytes]) -> None:
    wrong.overwrite(path, Writer().bitset(values, wrong.header(path).num_blocks))
