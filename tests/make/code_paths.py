"""The ways of the kernel that this machine has."""

from collections.abc import Iterator, Sequence

import pytest

from parquet_bloom.native import _kernel


@pytest.fixture
def code_paths() -> Iterator[Sequence[str]]:
    """The last one has been in use."""
    before = _kernel.code_path()
    yield _kernel.CODE_PATHS[: 1 + _kernel.CODE_PATHS.index(before)]
    _kernel.choose_code_path(before)
