"""Remove what killed runs have left."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from parquet_bloom.arguments import PATH_OR_URL, flag_given, path_given, seconds_given
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import complaint
from parquet_bloom.storage import with_options
from parquet_bloom.storage.temporary_files import is_as_old
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.vocabulary import LeftoverKind

if TYPE_CHECKING:
    from parquet_bloom.storage.temporary_files import Leftover

# Of the years 1 to 9999, in seconds since 1970.
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799

# Less than that of a file that a clock ahead of ours dated.
_ANY_AGE = -math.inf

# Seconds for which others may well keep an upload open.
LEAST_UPLOAD_AGE = 86_400.0


@dataclass(frozen=True, slots=True)
class FoundLeftover:
    """A leftover that was removed, would be, or could not be. `file`: its path or URL, for an upload
    that of the object; `since`: when it was last written, for an upload when it began, in UTC as
    `2026-11-20T06:00:00Z`; `num_bytes`: what it took; `problem`: why it is still there, else None."""

    kind: LeftoverKind
    file: str
    since: str
    num_bytes: int
    problem: str | None


@dataclass(frozen=True, slots=True, repr=False)
class CleaningReport(VerbReport):
    """What clean_temp did at one path, or would do if it was a `dry_run`. `num_younger`: how many temporary
    files stay because they were written to since: a build may be at work on them, or was killed a moment ago."""

    _rows: ClassVar = ("leftovers",)

    path: str
    leftovers: tuple[FoundLeftover, ...]
    num_younger: int
    dry_run: bool


def clean_temp(
    path: str | os.PathLike[str],
    *,
    older_than: float = 3600.0,
    uploads_older_than: float | None = None,
    dry_run: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> CleaningReport:
    """Remove temporary files that killed runs have left, and abort uploads to S3 and Azure.

    path: a folder, which is searched with all folders below it, hidden ones too, or a file, for its own
    leftovers only; a local path or a URL. older_than: in seconds; anything written to since then is left.
    uploads_older_than: in seconds, at least a day; also abort unfinished uploads to S3 that began before
    and have received nothing since. Ours cannot be told from those of other programs: only uploads to keys
    without an object, as committers that make new files have them, are left alone. In Azure,
    discard blocks that replacements of ours have left, which gives their blobs another ETag. None: none
    is aborted. dry_run: only say what would be removed. storage_options: for the object store
    behind a URL, such as {"region": "eu-west-1"}.

    Raises TypeError and ValueError for ages that cannot be, UnsupportedError for uploads to
    other stores, OSError if a folder cannot be listed.
    """
    flag_given("dry_run", dry_run)
    seconds_given("older_than", older_than)
    from parquet_bloom.storage.leftovers import files_left, uploads_left

    name = os.fspath(with_options(path_given("path", path, PATH_OR_URL), storage_options))
    if not name:
        raise FileNotFoundError(errno.ENOENT, "an empty name, expected a file or folder")
    found: Iterator[Leftover] = iter(())
    if uploads_older_than is not None:
        seconds_given("uploads_older_than", uploads_older_than, LEAST_UPLOAD_AGE)
        found = uploads_left(name, uploads_older_than)
    # All are found before one is removed: a listing must not change under whoever reads it.
    uploads, files = list(found), sorted(files_left(name, _ANY_AGE), key=_path)
    lefts = [left for left in files if is_as_old(left.since, older_than)]
    removed = chain.from_iterable(_removed(left, dry_run) for left in (*uploads, *lefts))
    return CleaningReport(name, tuple(removed), len(files) - len(lefts), dry_run)


def _path(left: Leftover) -> str:
    return str(left.path)


def _removed(left: Leftover, dry_run: bool) -> Iterator[FoundLeftover]:
    since, problem = _shown(left.since), None
    if not dry_run:
        try:
            left.remove()
        except FileNotFoundError:
            # Others have removed it, or it has become the output.
            return
        except OSError as error:
            problem = complaint(error)
    yield FoundLeftover(left.kind, str(left.path), since, left.size, problem)


def _shown(since: float) -> str:
    """File systems have times beyond datetime's, which are shown as its first or last."""
    seconds = min(max(int(since), _FIRST_SECOND), _LAST_SECOND)
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
