"""Cut files back to what they were before a build that was killed began to append to them."""

from __future__ import annotations

import os
from contextlib import suppress

from parquet_bloom.arguments import flag_given, path_given
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import EncryptionError, RewriteError, UnsupportedError
from parquet_bloom.files import open_file
from parquet_bloom.storage import journal
from parquet_bloom.storage.source import is_url, local_path
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.vocabulary import RecoveryAction


@dataclass(frozen=True, slots=True, repr=False)
class RecoveryReport(VerbReport):
    """What recover did to one file, or would do if it was a `dry_run`. `action`: `cut back` from
    `size_before` to `size_after` bytes; `journal removed`, because nothing had been appended; or
    `nothing`, because there is no journal."""

    path: str
    action: RecoveryAction
    size_before: int
    size_after: int
    dry_run: bool


def recover(path: str | os.PathLike[str], *, dry_run: bool = False) -> RecoveryReport:
    """Cut a local file back to what it was, if a build with append_in_place was killed at it and left
    a journal. dry_run: only say what would be done.

    Whoever opens such a file with this library does the same, if it cannot be read; so does whoever
    changes it in place.

    Raises RewriteError for a URL, if the build is still at work, if the file was changed after it, in
    which case nothing is touched, or if it cannot be written; FormatError if there is no journal, and
    the file cannot be read; OSError.
    """
    flag_given("dry_run", dry_run)
    name = path_given("path", path)
    if is_url(name):
        raise RewriteError(f"{name}: expected a local file: only these have journals")
    found = journal.recover(local_path(name), dry_run=dry_run)
    if found.action == "nothing":
        _check_sound(name)
    return RecoveryReport(name, found.action, found.size_before, found.size_after, dry_run)


def _check_sound(name: str) -> None:
    """Raise FormatError for a file that no build has left like this: without a journal,
    it stays as damaged as it is."""
    # What is there all the same: only its keys, or what reads it, are not.
    with suppress(EncryptionError, UnsupportedError):
        open_file(name).close()
