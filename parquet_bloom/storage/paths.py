"""Find input files by paths, globs, folders and URLs, and choose the paths of their outputs."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage import address_of, not_installed, with_options
from parquet_bloom.storage.left_out import is_log
from parquet_bloom.storage.near_names import broken_link, near_name
from parquet_bloom.storage.source import (
    before_wildcard,
    check_can_be_folder,
    has_data_suffix,
    has_wildcard,
    is_data_file,
    is_hidden,
    is_object,
    is_of_index,
    is_url,
    local_name,
    local_path,
    making_in,
)
from parquet_bloom.vocabulary import IS_INDEX, UNLISTED

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from parquet_bloom.storage.left_out import LeftOut

NO_FILES = "no Parquet or ORC files"
NO_FOLDER = "no such folder"

# What names of Parquet files end with, those that most have first.
_OF_PARQUET = (".parquet", ".pq", ".parq")

# So many folders are searched for what a glob may have meant.
MOST_SEARCHED = 100
# Of so many names what was meant is looked for, as each takes a look at a folder.
_MOST_GUESSED = 20

_SEPARATORS = re.compile(r"/(?:\.?/)+")
_HALF_URL = re.compile(r"(s3a?|gs|az|abfss?|hdfs|https?):/*(.+)")


class Input(NamedTuple):
    """A file, and its path in the folder that was searched, else its name."""

    path: str
    place: str


def expand(
    names: Iterable[str],
    options: Mapping[str, str] | None = None,
    left_out: LeftOut | None = None,
) -> tuple[list[Input], list[OSError]]:
    """The files that `names` mean, in order and each once, and an error for each empty name and each glob or folder
    without files, or that cannot be listed. In folders, names that start with a dot or an underscore are skipped:
    metadata and temporary files. `options`: of object stores. left_out: takes what is skipped, and if it is for a
    proof, folders below that cannot be listed, which are errors otherwise.
    Raises UnsupportedError if nothing here can list them."""
    inputs: list[Input] = []
    errors: list[OSError] = []
    is_proof = left_out is not None and left_out.is_proof
    unlisted: list[tuple[str, str]] = []
    if left_out is not None and is_proof:
        unlisted = left_out.unlisted
    named = tuple(names)
    for number, name in enumerate(named):
        num_unlisted = len(unlisted)
        if not name:
            # An unset shell variable must not mean the current folder.
            errors.append(FileNotFoundError(errno.ENOENT, "an empty name, expected a file"))
            continue
        try:
            if is_object(name):
                found = _expand_object(name, options, left_out)
            else:
                found = _expand_name(name, left_out, unlisted)
                if number < _MOST_GUESSED:
                    _check_name(name)
        except OSError as error:
            errors.append(error)
            continue
        inputs += found
        if not is_proof:
            errors += (not_listed(*each) for each in unlisted[num_unlisted:])
        if not found and len(unlisted) == num_unlisted:
            hint = _with_other_suffix(name) or _elsewhere(name, options)
            problem = IS_INDEX if is_index(name) else NO_FILES + hint
            errors.append(FileNotFoundError(errno.ENOENT, problem, _shown(name)))
    return inputs if len(named) == 1 else _each_once(inputs, errors), errors


def _each_once(inputs: Iterable[Input], errors: list[OSError]) -> list[Input]:
    """One that is spelled in several ways is called as the first. `errors`: takes URLs that differ only in what is
    not shown of them, so that no answer could tell one from the other."""
    found: dict[str, Input] = {}
    for each in inputs:
        first = found.setdefault(_spelled_alike(each.path), each)
        if (
            is_object(first.path)
            and address_of(first.path).in_full != address_of(each.path).in_full
        ):
            problem = "named twice with different options, which are not shown: ask each by itself"
            errors.append(OSError(errno.EINVAL, problem, str(each.path)))
    return list(found.values())


def _spelled_alike(path: str) -> str:
    """The same for `a`, `./a` and the whole path. Not for `b/../a`, which is another file if `b` is a link."""
    if is_url(path):
        return path
    name = local_name(path)
    # In a working folder that was removed, there is nothing that could be spelled otherwise.
    with suppress(FileNotFoundError):
        name = name if name.startswith("/") else f"{os.getcwd()}/{name}"
    # Not by pathlib, which takes as long as to find the file.
    return _SEPARATORS.sub("/", name)


def not_listed(folder: str, reason: str) -> PermissionError:
    return PermissionError(errno.EACCES, f"{UNLISTED}: {reason}", folder)


def stands_for_several(name: str) -> bool:
    """Whether a name is that of a folder, or a glob: behind a URL by its spelling alone, as nobody is asked."""
    if is_object(name):
        address = address_of(name, {})
        itself = address.removeprefix(f"{address.scheme}://{address.host}")
        is_several = not itself.strip("/") or itself.endswith("/") or has_wildcard(itself)
        return address.store.has_folders and is_several
    if is_url(name):
        return name.endswith("/") or has_wildcard(name.partition("?")[0])
    path = local_name(name)
    return os.path.isdir(path) or (has_wildcard(name) and not os.path.exists(path))


def expand_tables(
    names: Iterable[str], options: Mapping[str, str] | None = None
) -> tuple[list[Input], list[OSError]]:
    """The same, but each name is that of a table, whose folder is not looked into."""
    return expand_named((name.rstrip("/") or name for name in names), options, "a table")


def expand_named(
    names: Iterable[str], options: Mapping[str, str] | None, expected: str
) -> tuple[list[Input], list[OSError]]:
    """What is named itself, and an error for each empty name, where something else was `expected`."""
    from pathlib import Path

    inputs: list[Input] = []
    errors: list[OSError] = []
    for name in names:
        if not name:
            errors.append(FileNotFoundError(errno.ENOENT, f"an empty name, expected {expected}"))
            continue
        path = os.fspath(with_options(name, options))
        inputs.append(Input(path, Path(path).name))
    return inputs, errors


def _shown(name: str) -> str:
    """Without what must not be shown."""
    return str(with_options(name, {}))


def _expand_object(
    name: str, options: Mapping[str, str] | None, left_out: LeftOut | None
) -> list[Input]:
    """The object, or those in a folder or of a glob. A name with one of the SUFFIXES is an object,
    without looking; web servers have no folders. Raises OSError."""
    from pathlib import Path

    address = address_of(name, options or {})
    key = address.key
    itself = Input(address, Path(key).name)
    # Where it is percent-encoded, a wildcard is only a character.
    has_folders = address.store.has_folders
    is_glob = has_folders and has_wildcard(
        address.removeprefix(f"{address.scheme}://{address.host}")
    )
    if not has_folders or (has_data_suffix(key) and not is_glob):
        return [itself]
    try:
        from parquet_bloom.storage.objects.listing import objects_in, objects_matching
    except ImportError as error:
        raise not_installed(address, error) from None
    if is_glob:
        return [
            Input(found, str(Path(place))) for found, place in objects_matching(address, left_out)
        ]
    below = [Input(found, str(Path(place))) for found, place in objects_in(address, left_out)]
    return below if below or not key or key.endswith("/") else [itself]


def _expand_name(
    name: str, left_out: LeftOut | None, unlisted: list[tuple[str, str]]
) -> list[Input]:
    if is_url(name):
        if name.endswith("/") or has_wildcard(name.partition("?")[0]):
            scheme = name.partition("://")[0]
            what = f"folders and globs are not listed on {scheme}://: name each file"
            raise OSError(errno.ENOTSUP, what, name)
        from pathlib import Path

        return [Input(name, Path(name).name)]
    if has_wildcard(name) and not local_path(name).exists():
        from glob import glob

        pattern = _local_glob(name)
        paths = (path for path in sorted(glob(pattern, recursive=True)) if not is_of_index(path))
        closed: list[tuple[str, str]] = []
        matches = [found for path in paths for found in _list_match(path, left_out, closed)]
        # What is matched may be below another match.
        unlisted += dict.fromkeys([*closed, *passed_over(pattern).items()])
        if not matches:
            check_folder(pattern)
        # A pattern with ** matches a folder and also the files in it.
        return list({os.path.normpath(found.path): found for found in matches}.values())
    return list(_list(name, left_out, unlisted))


def _list(name: str, left_out: LeftOut | None, unlisted: list[tuple[str, str]]) -> Iterator[Input]:
    """The file `name`, or the files below the folder `name`."""
    path = local_name(name)
    if not os.path.isdir(path):
        if not os.path.lexists(path):
            _check_may_look(path)
            _check_spelling(name)
        yield Input(name, os.path.basename(path))
        return
    from pathlib import Path

    root = Path(path)
    # A folder is sorted by the parts of paths, as in `a/b.parquet` before `a.parquet`.
    yield from _below("" if root == Path() else str(root), "", left_out, unlisted)


def _list_match(
    path: str, left_out: LeftOut | None, unlisted: list[tuple[str, str]]
) -> Iterator[Input]:
    """The same of what a glob has matched: one that has gone meanwhile keeps no other from being listed, nor does one
    at which nobody may look, as whoever opens it says."""
    try:
        yield from _list(path, left_out, unlisted)
    except (FileNotFoundError, NotADirectoryError):
        return
    except PermissionError:
        yield Input(path, os.path.basename(path))


def is_index(name: str) -> bool:
    """Whether a folder is an index, whose own files are none of its data; in a store,
    that would be another listing."""
    if is_url(name):
        return False
    try:
        return any(map(is_of_index, os.listdir(local_name(name))))
    except OSError:
        return False


def _local_glob(name: str) -> str:
    """The glob of paths for one of `file://…`, where a wildcard that is percent-encoded is only a character."""
    if not name.startswith("file://"):
        return local_name(name) if name.startswith("file:/") else name
    from glob import escape
    from urllib.parse import quote, unquote

    encoded = r"(?:%[0-9A-Fa-f]{2})+"
    return local_name(re.sub(encoded, lambda each: quote(escape(unquote(each[0]))), name))


def is_empty(error: OSError) -> bool:
    """Whether it says of a name only that no file is meant by it."""
    return (error.strerror or "").startswith(NO_FILES)


def _with_other_suffix(name: str) -> str:
    """What to say of a glob for one of the suffixes of Parquet files, where others have another."""
    import shlex
    from glob import glob

    stem, suffix = os.path.splitext(name)
    if is_url(name) or not has_wildcard(name) or suffix not in _OF_PARQUET:
        return ""
    for other in _OF_PARQUET:
        if found := glob(f"{stem}{other}", recursive=True):
            meant = shlex.quote(f"{stem}{other}")
            return f"; there is {min(found)}: did you mean {meant}?"
    return ""


def _elsewhere(name: str, options: Mapping[str, str] | None) -> str:
    """What to say of a glob whose folders are not as deep as those of the files, as far as a short search tells."""
    if not has_wildcard(name):
        return ""
    if is_url(name):
        return _elsewhere_in_store(name, options) if is_object(name) else ""
    from fnmatch import filter as matching

    pattern = _local_glob(name)
    root, last = os.path.dirname(before_wildcard(pattern)), os.path.basename(pattern)
    for folder, folders, names in islice(os.walk(root or os.curdir), MOST_SEARCHED):
        folders[:] = sorted(each for each in folders if not is_hidden(each))
        found = [each for each in matching(names, last) if _is_looked_at(each)]
        if found:
            there = os.path.normpath(os.path.join(folder, min(found)))
            return _there(there, root or os.curdir, os.path.join(root, "**", last))
    return ""


def _elsewhere_in_store(name: str, options: Mapping[str, str] | None) -> str:
    from parquet_bloom.storage.objects.listing import one_deeper

    pattern = address_of(name, options or {})
    # What begins with ? may be options.
    if not has_wildcard(pattern):
        return ""
    root, last = before_wildcard(pattern).rpartition("/")[0], pattern.rpartition("/")[2]
    with suppress(OSError):
        if found := one_deeper(pattern):
            return _there(found, f"{root}/", f"{root}/**/{last}")
    return ""


def _there(path: str, root: str, deep: str) -> str:
    import shlex

    # In quotes: most shells take ** for *.
    return f"; there is {path}: name the folder {shlex.quote(root)} or {shlex.quote(deep)}"


def _is_looked_at(name: str) -> bool:
    return is_data_file(name) and not is_hidden(name)


def passed_over(pattern: str) -> dict[str, str]:
    """Folders that a glob would look into and may not, over which it passes without a word, and why."""
    from glob import glob

    found: dict[str, str] = {}
    above, below = os.path.split(pattern)
    while has_wildcard(above):
        for folder in glob(os.path.join(above, ""), recursive=True):
            try:
                if has_wildcard(below):
                    os.scandir(folder).close()
                else:
                    os.stat(os.path.join(folder, os.curdir))
            except PermissionError as error:
                found[folder.rstrip("/")] = os.strerror(error.errno or 0)
            except OSError:
                # One may be removed meanwhile.
                continue
        above, below = os.path.split(above)
    return found


def check_folder(glob: str) -> None:
    """Raise FileNotFoundError if the folder does not exist in which files are matched, PermissionError if nobody may
    look there, over which a glob passes."""
    folder = os.path.dirname(before_wildcard(glob))
    if folder and not os.path.isdir(folder):
        _check_may_look(folder)
        raise FileNotFoundError(errno.ENOENT, NO_FOLDER, folder)
    try:
        os.scandir(folder or os.curdir).close()
    except PermissionError as error:
        raise not_listed(folder or os.curdir, os.strerror(error.errno or 0)) from None


def _check_may_look(path: str) -> None:
    """Raise PermissionError where nobody can tell whether something is there: it must not be taken for gone."""
    try:
        os.lstat(path)
    except PermissionError:
        raise
    except (OSError, ValueError):
        # It is not there, or no name of a file.
        return


def _check_spelling(name: str) -> None:
    """Raise FileNotFoundError for what is not there, and could be called better than what it would be taken for."""
    if name.endswith("/"):
        raise FileNotFoundError(errno.ENOENT, NO_FOLDER, name)
    if url := _HALF_URL.match(name):
        import shlex

        meant = shlex.quote(f"{url[1]}://{url[2]}")
        raise FileNotFoundError(errno.ENOENT, f"no such file; did you mean {meant}?", name)
    folder = os.path.dirname(local_name(name))
    if folder and not os.path.lexists(folder):
        raise FileNotFoundError(errno.ENOENT, f"no such file: there is no folder {folder}", name)


def _check_name(name: str) -> None:
    """Raise FileNotFoundError for what is not there, if something there is called much the same, or leads to it."""
    if problem := broken_link(local_name(name)):
        raise FileNotFoundError(errno.ENOENT, problem, name)
    near = None if has_wildcard(name) else near_name(name)
    # The index of a folder that is gone is often called much the same.
    if near and not is_index(near):
        import shlex

        meant = shlex.quote(near)
        raise FileNotFoundError(errno.ENOENT, f"no such file; did you mean {meant}?", name)


def _below(
    folder: str,
    place: str,
    left_out: LeftOut | None,
    unlisted: list[tuple[str, str]],
    is_in_hidden: bool = False,
) -> Iterator[Input]:
    """The files in a folder and below it, which is at `place` in the one that is searched; links to
    folders are not followed, `unlisted` takes what cannot be listed, and hidden folders are left out, into which
    only `left_out` makes somebody look, unless they are logs of tables."""
    try:
        with os.scandir(folder or os.curdir) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except PermissionError as error:
        told = left_out.hidden_unlisted if left_out is not None and is_in_hidden else unlisted
        told.append((folder or os.curdir, os.strerror(error.errno or 0)))
        return
    except (FileNotFoundError, NotADirectoryError):
        # One may be removed meanwhile, which keeps none of the others from being listed.
        if place:
            return
        raise
    above, before = os.path.join(folder, ""), os.path.join(place, "")
    for entry in entries:
        hidden = is_in_hidden or is_hidden(entry.name)
        if hidden and (left_out is None or not left_out.is_proof or is_log(entry.name)):
            continue
        path, below = f"{above}{entry.name}", f"{before}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _below(path, below, left_out, unlisted, hidden)
        elif not hidden and is_data_file(entry.name) and may_be_file(entry):
            yield Input(path, below)
        elif left_out is not None:
            left_out.add_local(path, below)


def may_be_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file, or a link that leads nowhere, or in circles: whoever opens it says so, where nobody may
    take a file on a volume that is not mounted for one that is not there."""
    if not entry.is_symlink():
        return entry.is_file()
    try:
        return stat.S_ISREG(entry.stat().st_mode)
    except OSError:
        return True


def expand_left(names: Iterable[str]) -> tuple[list[Input], list[OSError]]:
    """The same, but of folders, hidden ones included, the files that killed builds have left with a
    journal. URLs are errors."""
    from pathlib import Path

    inputs: list[Input] = []
    errors: list[OSError] = []
    unlisted: list[tuple[str, str]] = []
    for name in names:
        path = local_path(name)
        if not name or is_url(name):
            problem = "an empty name" if not name else "is a URL"
            what = f"{problem}, expected a local file"
            errors.append(OSError(errno.EINVAL, what, _shown(name) or None))
        elif has_wildcard(name) and not path.exists():
            from glob import glob

            found = sorted(glob(_local_glob(name), recursive=True, include_hidden=True))
            inputs += [file for each in found for file in _left(Path(each), unlisted)]
            if not found:
                errors.append(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name))
        else:
            inputs += _left(path, unlisted)
    errors += (not_listed(*each) for each in unlisted)
    return list({os.path.realpath(found.path): found for found in inputs}.values()), errors


def _left(path: Path, unlisted: list[tuple[str, str]]) -> list[Input]:
    if not path.is_dir():
        return [Input(str(path), path.name)]
    from parquet_bloom.storage.journal import left_in

    found = left_in(str(path), unlisted)
    return [Input(str(file), str(file.relative_to(path))) for file in found]


def is_changed_since(path: str, moment: datetime) -> bool:
    """Whether a file was changed at this time or later: as a listing or a manifest says behind a URL, as
    the file system says elsewhere. True where nobody says: such a file must not be left out."""
    if is_url(path):
        from parquet_bloom.storage.address import Address

        listed = path.listed if isinstance(path, Address) else None
        return listed is None or listed.modified is None or listed.modified >= moment
    try:
        return os.stat(local_name(path)).st_mtime >= moment.timestamp()
    except OSError:
        # Whoever opens it will say why not.
        return True


def sizes_if_independent(inputs: Iterable[Input]) -> list[int] | None:
    """How many bytes each has, 0 where it cannot be said; None if one is behind a URL, or two are the same
    file, which only one at a time can change."""
    sizes = []
    known: set[tuple[int, int]] = set()
    for path, _ in inputs:
        if is_url(path):
            return None
        size = 0
        with suppress(OSError):
            status = os.stat(local_name(path))
            identity = status.st_dev, status.st_ino
            if identity in known:
                return None
            known.add(identity)
            size = status.st_size
        sizes.append(size)
    return sizes


def links_to_others(inputs: Iterable[Input]) -> list[str]:
    """The paths that are only other ways to files among them, and are changed with these. A hard link is a file of
    its own: it keeps the old version."""
    ways: dict[tuple[int, int] | str, list[str]] = {}
    for path, _ in inputs:
        if not is_url(path):
            ways.setdefault(_identity(local_name(path)), []).append(path)
    # Only of two names of one file: it looks at each folder on the way.
    links = {link for paths in ways.values() if len(paths) > 1 for link in _links_among(paths)}
    return [path for path, _ in inputs if path in links]


def _links_among(paths: Sequence[str]) -> Iterator[str]:
    """Of paths to the same data, all but one for each file, which is called by its own name rather than by that of a
    link, and else by the first."""
    known: set[str] = set()
    for path in sorted(paths, key=lambda path: os.path.islink(local_name(path))):
        real = os.path.realpath(local_name(path))
        if real in known:
            yield path
        known.add(real)


def outputs_in(folder: Path, inputs: Sequence[Input]) -> dict[str, Path]:
    """The output path in `folder` of each input, by the input's path. Raises RewriteError if two
    outputs have the same path, or one has the path of an input."""
    sources = {_identity(local_name(path)) for path, _ in inputs if not is_url(path)}
    outputs: dict[str, Path] = {}
    takers: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path, place in inputs:
        target = folder / place
        identity = _identity(target)
        if isinstance(identity, tuple) and identity in sources:
            raise RewriteError(
                f"{target}: is the input itself, expected another folder, or in_place=True"
            )
        other = takers.setdefault(_real(target, folders), path)
        if path in outputs or other != path:
            raise RewriteError(f"{target}: would be the output of both {other} and {path}")
        outputs[path] = target
    return outputs


def are_same_place(one: str, other: str) -> bool:
    """Whether two names mean the same file or folder, which need not be there; URLs,
    whether they are the same text."""
    if is_url(one) or is_url(other):
        return one.rstrip("/") == other.rstrip("/")
    first, second = local_name(one), local_name(other)
    if os.path.exists(first) and os.path.exists(second):
        return os.path.samefile(first, second)
    return os.path.realpath(first) == os.path.realpath(second)


def is_in_folder(path: str, folder: str) -> bool:
    """Whether a local path, without links, is below a local folder."""
    if is_url(path) or is_url(folder):
        return False
    above = os.path.join(os.path.realpath(local_name(folder)), "")
    return os.path.realpath(local_name(path)).startswith(above)


def without_output(inputs: Sequence[Input], outputs: Mapping[str, Path]) -> list[Input]:
    """Those whose output is not there yet. An output takes its name when it is whole; but an empty file is none:
    where names cannot be taken otherwise, a kill may leave one that reserves a name."""
    return [each for each in inputs if not _is_written(outputs[each.path])]


def _is_written(output: Path) -> bool:
    try:
        return output.stat().st_size > 0
    except FileNotFoundError:
        return False


def _real(path: Path, folders: dict[str, str]) -> str:
    """The path without links. `folders`: those that are known, by their paths."""
    if path.is_symlink():
        return os.path.realpath(path)
    folder, name = os.path.split(path)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return os.path.join(folders[folder], name)


def _identity(path: str | Path) -> tuple[int, int] | str:
    """The same for all names of a file, including links."""
    try:
        status = os.stat(path)
    except OSError:
        return str(path)
    return status.st_dev, status.st_ino


def check_folder_for_output(folder: Path) -> None:
    """Raise FileNotFoundError if the folder of an output is not there, NotADirectoryError if it cannot be made."""
    if folder.is_dir():
        return
    check_can_be_folder(folder)
    import shlex

    way_out = f"{NO_FOLDER}; mkdir -p {shlex.quote(str(folder))} makes it"
    raise FileNotFoundError(errno.ENOENT, way_out, str(folder))


def with_parent(target: Path) -> Path:
    """Create the folder of `target`, and return `target`. Raises OSError if it cannot be one."""
    folder = target.parent
    if not folder.is_dir():
        check_can_be_folder(folder)
        with making_in(str(folder)):
            os.makedirs(folder, exist_ok=True)
    return target
