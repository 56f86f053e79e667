"""A new version of a file that differs in nothing but its footer."""

from __future__ import annotations

from collections.abc import Callable

from parquet_bloom.errors import ParquetBloomError, RewriteError
from parquet_bloom.files import ParquetFile
from parquet_bloom.rewrite import Target, mode_of
from parquet_bloom.sources import open_source

# Raises ParquetBloomError unless the new version is what it should be.
Check = Callable[[ParquetFile], None]


def unchecked(new: ParquetFile) -> None:
    """Take what was written for granted."""


def rewrite_footer(file: ParquetFile, target: Target, tail: bytes, check: Check) -> None:
    """Write the file to `target` with `tail` for its footer and what follows it.

    Nothing takes the target's name before `check` has seen the new version. Raises RewriteError.
    """
    with target.output(mode_of(file), file.footer.start) as written:
        written.copy_prefix(file.source)
        written.append(tail)
        written.flush()
        try:
            with ParquetFile(open_source(written.temporary), file.keys) as new:
                check(new)
        except ParquetBloomError as error:
            found = str(error).removeprefix(f"{written.temporary}: ")
            raise RewriteError(
                f"{target.name}: verification failed, not written: {found}"
            ) from None
        file.source.check_unchanged()
        written.commit()
