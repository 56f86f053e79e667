"""Which file was meant by a local name that no file has: one beside it that is called much the same."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Final

from parquet_bloom.errors import similar
from parquet_bloom.storage.source import has_data_suffix, is_url, local_name

# Of a folder, so many names are looked at.
_MOST_NAMES: Final = 2_000
# How alike two names must be, without the suffix that both have, and as a whole.
_NEAR_STEM: Final = 0.7
_NEAR: Final = 0.85


def near_name(name: str) -> str | None:
    """The path of a file or folder that may have been meant, None if the name is there, or nothing is near it. What
    differs in its digits is another one of a series."""
    path = local_name(name)
    if is_url(name) or os.path.lexists(path):
        return None
    folder, wanted = os.path.split(path)
    try:
        with os.scandir(folder or os.curdir) as entries:
            found = [entry.name for entry in islice(entries, _MOST_NAMES)]
    except OSError:
        return None
    alike = [each for each in found if _digits(each) == _digits(wanted)]
    near = (
        _data_files(wanted, alike)
        or _with_the_suffix(wanted, alike)
        or similar(wanted, sorted(alike), _NEAR)
    )
    return os.path.join(folder, near[0]) if near else None


def broken_link(path: str) -> str:
    """What to say of a local path that is a link to what is not there; empty for any other."""
    if os.path.exists(path) or not os.path.islink(path):
        return ""
    return f"a broken link, to {os.readlink(path)}"


def _data_files(wanted: str, names: list[str]) -> list[str]:
    """Those that only lack the suffix of data, whatever else is called so: `events.csv` beside `events.parquet`."""
    found = [each for each in names if has_data_suffix(each)]
    return sorted(each for each in found if os.path.splitext(each)[0].lower() == wanted.lower())


def _with_the_suffix(wanted: str, names: list[str]) -> list[str]:
    """Those that are near without the suffix, which would make any two names alike."""
    stem, suffix = os.path.splitext(wanted)
    stems = sorted(each.removesuffix(suffix) for each in names if suffix and each.endswith(suffix))
    return [f"{each}{suffix}" for each in similar(stem, stems, _NEAR_STEM)]


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


@contextmanager
def telling_near_names() -> Iterator[None]:
    """Where a user has named one file, or two: what says that it is not there says which may have been meant."""
    try:
        yield
    except FileNotFoundError as error:
        if not (hint := meant(error)):
            raise
        raise FileNotFoundError(errno.ENOENT, f"no such file{hint}", error.filename) from None


def meant(error: BaseException) -> str:
    """`; did you mean lake/part-0.parquet?`, or that it is a broken link, if this says that a file is not there;
    empty for any other error."""
    if not isinstance(error, FileNotFoundError) or not isinstance(error.filename, str):
        return ""
    # What says more than the system does has its own hint.
    if error.strerror != os.strerror(errno.ENOENT):
        return ""
    import shlex

    if target := broken_link(error.filename):
        return f"; {target}"
    near = near_name(error.filename)
    return f"; did you mean {shlex.quote(near)}?" if near else ""
