"""The ways of the kernel that this machine has."""

from collections.abc import Iterator, Sequence
from typing import NoReturn

import pytest

from parquet_bloom.native import _kernel


def choose(path: str) -> None:
    """Take one of them from now on."""
    try:
        _kernel.choose_code_path(path)
    except ValueError:
        not_here(path)


def not_here(path: str) -> NoReturn:
    """Skip a test that needs what the processor lacks, under PBLOOM_STRICT, too: nobody can install that."""
    pytest.skip(f"not in this processor: {path}")


@pytest.fixture
def code_paths() -> Iterator[Sequence[str]]:
    """The last one has been in use."""
    before = _kernel.code_path()
    yield _kernel.CODE_PATHS[: 1 + _kernel.CODE_PATHS.index(before)]
    _kernel.choose_code_path(before)
