"""The formats, and how a file of either is opened: the only place that chooses one.

`open` is for Python users, `open_file` for verbs, which work on the format's own file. What differs between
formats beyond what a Container can do is in FORMATS.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, cast

from parquet_bloom.container.whole_file import that_bytes_follow
from parquet_bloom.errors import (
    FormatError,
    NotSupportedFileError,
    RewriteError,
    UnsupportedError,
    needing,
)
from parquet_bloom.parallel import set_aside
from parquet_bloom.storage import open_source, with_options
from parquet_bloom.storage.near_names import telling_near_names
from parquet_bloom.storage.source import Cut
from parquet_bloom.vocabulary import FORMAT_TITLES, Format

if TYPE_CHECKING:
    from parquet_bloom.advice.survey import AnySurveyor
    from parquet_bloom.container.data_file import OrcFile, ParquetFile
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.index.values_reader import AnyValuesReader
    from parquet_bloom.options import AdviseOptions, RepairOptions, ValidateOptions
    from parquet_bloom.orc.file import OrcContainer
    from parquet_bloom.parallel import Progress
    from parquet_bloom.parquet.file import ParquetContainer
    from parquet_bloom.rules.repair_plan import Diagnosed
    from parquet_bloom.rules.view import AnyExamination
    from parquet_bloom.storage.source import Source

FileT_contra = TypeVar("FileT_contra", contravariant=True)

# As open_source does.
Opener: TypeAlias = "Callable[[str | os.PathLike[str]], Source]"


class FileFormat(Protocol[FileT_contra]):
    """What is done in a way of its own with files of one format. Methods import what they need, so that
    nothing is loaded of a format that is not there."""

    def public(self, file: FileT_contra) -> ParquetFile | OrcFile:
        """What the file is to a Python user."""

    def examination(self, file: FileT_contra, options: ValidateOptions) -> AnyExamination:
        """How rules examine it."""

    def diagnose(
        self, file: FileT_contra, options: RepairOptions, progress: Progress | None
    ) -> Diagnosed:
        """What is wrong with its filters, as far as `repair` is concerned.

        Raises ColumnError, FormatError for a footer that contradicts itself or is damaged,
        EncryptionError, UnsupportedError for files that cannot get filters, OSError.
        """

    def surveyor(self, file: FileT_contra, options: AdviseOptions) -> AnySurveyor:
        """What reads it for advice. Raises ColumnError, UnsupportedError for an option that the format
        does not support, FooterError."""

    def values_reader(self, file: FileT_contra) -> AnyValuesReader:
        """What reads the hashes of its values for an index. Raises FooterError."""


class _Parquet:
    def public(self, file: ParquetContainer) -> ParquetFile:
        from parquet_bloom.container.data_file import ParquetFile

        return ParquetFile(cast("Container", file))

    def examination(self, file: ParquetContainer, options: ValidateOptions) -> AnyExamination:
        from parquet_bloom.rules.examine_parquet import ParquetExamination

        return ParquetExamination(file, options)

    def diagnose(
        self, file: ParquetContainer, options: RepairOptions, progress: Progress | None
    ) -> Diagnosed:
        from parquet_bloom.rules.repair_parquet import diagnose

        return diagnose(file, options, progress)

    def surveyor(self, file: ParquetContainer, options: AdviseOptions) -> AnySurveyor:
        from parquet_bloom.advice.parquet_survey import ParquetSurveyor

        return cast("AnySurveyor", ParquetSurveyor(file, options))

    def values_reader(self, file: ParquetContainer) -> AnyValuesReader:
        from parquet_bloom.index.parquet_values import ParquetValues

        return cast("AnyValuesReader", ParquetValues(file))


class _Orc:
    def public(self, file: OrcContainer) -> OrcFile:
        from parquet_bloom.container.data_file import OrcFile

        return OrcFile(cast("Container", file))

    def examination(self, file: OrcContainer, options: ValidateOptions) -> AnyExamination:
        from parquet_bloom.rules.examine_orc import OrcExamination

        return OrcExamination(file, options)

    def diagnose(
        self, file: OrcContainer, options: RepairOptions, progress: Progress | None
    ) -> Diagnosed:
        from parquet_bloom.rules.repair_orc import diagnose

        return diagnose(file, options, progress)

    def surveyor(self, file: OrcContainer, options: AdviseOptions) -> AnySurveyor:
        from parquet_bloom.advice.orc_survey import OrcSurveyor

        return cast("AnySurveyor", OrcSurveyor(file, options))

    def values_reader(self, file: OrcContainer) -> AnyValuesReader:
        from parquet_bloom.index.orc_values import OrcValues

        return cast("AnyValuesReader", OrcValues(file))


# Each takes only files of its own.
FORMATS: Final[Mapping[Format, FileFormat[Any]]] = {"parquet": _Parquet(), "orc": _Orc()}


def open(
    path: str | os.PathLike[str],
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    *,
    size: int | None = None,
) -> ParquetFile | OrcFile:
    """Open a local path or URL; `keys` for an encrypted Parquet file, `storage_options` for the
    object store behind a URL (such as {"region": "eu-west-1"}). Both kinds of files have `columns`, `parts`,
    `probe` and `bloom_filter`. Leave them with `with`, or `close` them; those that nobody has any more
    are closed, too. A closed local file raises ValueError where it would have to be read.

    size: read only the first so many bytes, as readers do that go by the size that a table records.

    A local file with the unfinished end that a killed build left is cut back first.

    Raises OSError, FormatError if this is neither a Parquet nor an ORC file, EncryptionError if it
    cannot be decrypted, UnsupportedError if what reads it, or the object store, is not installed.
    """
    with telling_near_names():
        file = open_file(path, keys, storage_options, size=size)
    return FORMATS[file.format].public(file)


def open_file(
    path: str | os.PathLike[str],
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    *,
    size: int | None = None,
    opener: Opener = open_source,
) -> Container:
    """The format's own file. Raises as open."""
    # Each takes only the columns and chunks that it has given.
    return cast("Container", _open(path, keys, storage_options, size, opener))


def open_parquet(
    path: str, keys: Keys | None, size: int, opener: Opener = open_source
) -> ParquetContainer:
    """As open_file; raises UnsupportedError for another format, too."""
    from parquet_bloom.parquet.file import ParquetContainer

    file = _open(path, keys, None, size, opener)
    if isinstance(file, ParquetContainer):
        return file
    file.close()
    raise UnsupportedError(f"{path}: {FORMAT_TITLES[file.format]}, expected Parquet")


def _open(
    path: str | os.PathLike[str],
    keys: Keys | None,
    storage_options: Mapping[str, str] | None,
    size: int | None,
    opener: Opener,
) -> ParquetContainer | OrcContainer:
    if keys is not None and not hasattr(keys, "for_file"):
        expected = "expected pb.Keys(…) or pb.read_keys(…)"
        raise TypeError(f"keys: a {type(keys).__name__}, {expected}")
    path = with_options(path, storage_options)
    try:
        return _open_source(path, keys, size, opener)
    except FormatError:
        if not _recovered(path):
            raise
    return _open_source(path, keys, size, opener)


def _recovered(path: str | os.PathLike[str]) -> bool:
    from parquet_bloom.storage.journal import recovered

    try:
        return recovered(path)
    except RewriteError as error:
        raise FormatError(str(error)) from None


def _open_source(
    path: str | os.PathLike[str], keys: Keys | None, size: int | None, opener: Opener
) -> ParquetContainer | OrcContainer:
    source = opener(path)
    if source.held_ahead:
        set_aside(source.held_ahead)
    try:
        keys = None if keys is None else keys.for_file(source.path)
        return _opened(source, keys) if size is None else _opened_as_recorded(source, keys, size)
    except BaseException:
        source.close()
        raise


def _opened_as_recorded(
    source: Source, keys: Keys | None, size: int
) -> ParquetContainer | OrcContainer:
    if size < source.size:
        return _opened(Cut(source, size), keys)
    where = source.path
    if size > source.size:
        lost = f"{source.size:,} bytes, expected the {size:,} of its record: its end is lost"
        raise FormatError(f"{where}: {lost}: {_what_helps(source, keys)}")
    try:
        return _opened(source, keys)
    except NotSupportedFileError:
        if _last_end(source, keys) is None:
            raise
        lost = f"{size:,} bytes, as its record has it, but no footer at its end: it was overwritten"
        raise NotSupportedFileError(f"{where}: {lost}: {_what_helps(source, keys)}") from None


def _what_helps(source: Source, keys: Keys | None) -> str:
    """Against the loss of an end that is recorded. To cut the file would leave one that no record knows."""
    end = _last_end(source, keys)
    another = "take another copy of the file"
    if end is None:
        return another
    known = "with all of its rows if an older version of the table records that size"
    return f"{another}; its first {end:,} bytes are a whole file, {known}"


def _last_end(source: Source, keys: Keys | None) -> int | None:
    """Where the last whole file ends in one of a table that has lost its end. Nothing is appended to any but those of
    Parquet."""
    from parquet_bloom.parquet.footer.tail import last_end

    return last_end(source, keys)


def what_follows(path: str, keys: Keys | None, size: int) -> str:
    """That bytes follow the last whole file within one that ends otherwise, which is known to have one of `size`
    bytes. Raises as open."""
    with closing(open_source(path)) as source:
        keys = None if keys is None else keys.for_file(path)
        return that_bytes_follow(source, max(size, _last_end(source, keys) or 0))


def _opened(source: Source, keys: Keys | None) -> ParquetContainer | OrcContainer:
    """What either format needs takes long to import, and most ORC files are named like this."""
    if source.path.endswith(".orc") and (found := _orc(source, keys)):
        return found
    import parquet_bloom.legacy.kind as legacy
    from parquet_bloom.parquet.file import ParquetContainer

    try:
        return ParquetContainer(source, keys, legacy)
    except NotSupportedFileError:
        if found := _orc(source, keys):
            return found
        if source.path.endswith(".orc"):
            raise _not_orc(source) from None
        raise


def _not_orc(source: Source) -> NotSupportedFileError:
    """Of a file that is called so, but is neither ORC nor Parquet."""
    from parquet_bloom.orc.magic import MAGIC

    found = f"does not start with {MAGIC.decode()}"
    if source.size <= len(MAGIC):
        found = f"{source.size} bytes, expected more"
    return NotSupportedFileError(f"{source.path}: not an ORC file: {found}")


def _orc(source: Source, keys: Keys | None) -> OrcContainer | None:
    """None if it is something else."""
    from parquet_bloom.orc.magic import is_orc

    if not is_orc(source):
        return None
    with needing(source.path, "protobuf", "orc", "google.protobuf"):
        from parquet_bloom.orc.file import OrcContainer
    file = OrcContainer(source)
    if keys is not None:
        from parquet_bloom.parquet.footer.tail import check_may_be_plain

        check_may_be_plain(keys, source.path)
    return file
