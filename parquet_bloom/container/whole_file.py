"""A whole file to which somebody has added bytes, as an upload that went wrong does, or another file,
as `cat` does: where it ends.

| a file that can be read | more |
                      end ^      ^ size
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

from parquet_bloom.container import number_of
from parquet_bloom.errors import EncryptionError, FormatError, UnsupportedError
from parquet_bloom.storage.source import Cut, Source

# So much is searched, with one request, and so many ends are tried in it: each takes a footer to read.
_NEAR_END: Final = 1 << 20
_MOST_ENDS: Final = 10


def what_follows_a_whole_file(
    source: Source, magic: bytes, behind: int, read: Callable[[Source], object]
) -> str | None:
    """That bytes follow a file which `read` can read, and how to do without them; None if none is found.
    `behind`: how many bytes a file has after its last `magic`."""
    if isinstance(source, Cut):
        # Where it ends is known.
        return None
    end = end_of_whole_file(source, magic, behind, read)
    return None if end is None else that_bytes_follow(source, end)


def end_of_whole_file(
    source: Source, magic: bytes, behind: int, read: Callable[[Source], object]
) -> int | None:
    """Where the last file ends that `read` can read, before this one does; None if none is found nearby."""
    for end in islice(_ends(source, magic, behind), _MOST_ENDS):
        with suppress(EncryptionError, FormatError, UnsupportedError):
            read(Cut(source, end))
            return end
    return None


def that_bytes_follow(source: Source, end: int) -> str:
    """That they follow a whole file which ends there, and how to do without them."""
    more = number_of(source.size - end, "byte")
    return (
        f"{more} follow{'s' * (source.size - end == 1)} a whole file: {_without_them(source, end)}"
    )


def _ends(source: Source, magic: bytes, behind: int) -> Iterator[int]:
    """Where files may end before this one does, the last first."""
    start = max(0, source.size - _NEAR_END)
    near = source.read_at(start, source.size - start)
    # The end of the file itself has been tried.
    at = near.rfind(magic, 0, len(near) - behind - 1)
    while at >= 0:
        yield start + at + len(magic) + behind
        at = near.rfind(magic, 0, at + len(magic) - 1)


def _without_them(source: Source, end: int) -> str:
    import shlex

    if source.is_remote:
        return f"`head -c {end}` of a local copy is that file"
    return f"`head -c {end} {shlex.quote(source.path)}` is that file"


def behind_another(source: Source, end: int) -> str:
    """That the file of the footer begins at `end` of another, and how to get at either."""
    return (
        f"another file ends at byte {end}, where that of the footer begins: {_in_two(source, end)}"
    )


def _in_two(source: Source, end: int) -> str:
    import shlex

    if source.is_remote:
        return f"`head -c {end}` of a local copy is the one, `tail -c +{end + 1}` of it the other"
    path = shlex.quote(source.path)
    return f"`head -c {end} {path}` is the one, `tail -c +{end + 1} {path}` the other"
