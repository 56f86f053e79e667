"""The delete files of a snapshot, and which rows of a data file they delete.

    position delete file   rows of data files, by path and number; of one partition
    deletion vector        rows of one data file, in place of position delete files
    equality delete file   values of rows, which nobody looks for here

One is about data files of its partition that are as old as it or older; of values, about older ones.

Spec: Iceberg Table Spec, "Scan Planning", "Position Delete Files", "Deletion Vectors"; Puffin Spec.
"""

from __future__ import annotations

import binascii
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.avro.file import AvroFile
from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    MANIFEST_ENTRY_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.typedef import Record

from parquet_bloom.container import number_of
from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parallel import check_fits
from parquet_bloom.tables.deletion_vectors import rows_in

# The newest manifests that PyIceberg can read, whatever it does so by itself.
_VERSION: Final = 3
_PLACES: Final = {field.name: at for at, field in enumerate(DATA_FILE_TYPE[_VERSION].fields)}
# A path, mostly told once, and a number.
_POSITION_BYTES: Final = 16


# The number of its spec, and its values.
_Partition: TypeAlias = tuple[int, Record]
# The field of paths in position delete files.
_PATH: Final = 2147483546


class _Entry(NamedTuple):
    """A live file of a snapshot, and when it was added."""

    file: DataFile
    sequence: int

    def told(self, name: str) -> Any:
        """A field that PyIceberg has no name for."""
        return self.file._data[_PLACES[name]]

    @property
    def partition(self) -> _Partition:
        return self.file.spec_id, self.file.partition

    @property
    def target(self) -> str:
        """The only data file that it is about; empty if there may be several."""
        named: str | None = self.told("referenced_data_file")
        if named is not None:
            return named
        bounds = [
            (each or {}).get(_PATH) for each in (self.file.lower_bounds, self.file.upper_bounds)
        ]
        low, high = bounds
        return low.decode(errors="replace") if low is not None and low == high else ""


class Deletes:
    """Of a snapshot. Methods raise what PyIceberg does, too."""

    def __init__(self, io: FileIO, manifests: Sequence[ManifestFile]) -> None:
        self._io = io
        self._all = [
            entry
            for each in manifests
            if each.content == ManifestContent.DELETES
            for entry in _entries(io, each)
        ]
        # By path; nobody asks if nothing is deleted.
        self._data = {
            entry.file.file_path: entry
            for each in manifests
            if self._all and each.content == ManifestContent.DATA
            for entry in _entries(io, each)
        }
        self._positions: dict[str, pa.Table] = {}
        self._by_values: list[_Entry] = []
        self._of_files: dict[str, list[_Entry]] = {}
        self._of_partitions: dict[_Partition, list[_Entry]] = {}
        for entry in self._all:
            if entry.file.content == DataFileContent.EQUALITY_DELETES:
                self._by_values.append(entry)
            elif (target := entry.target) in self._data:
                self._of_files.setdefault(target, []).append(entry)
            elif entry.told("referenced_data_file") is None:
                self._of_partitions.setdefault(entry.partition, []).append(entry)

    def in_words(self) -> str | None:
        """`2 position delete files and 1 equality delete file`, None if there are none."""
        counts = Counter(each.file.content for each in self._all)
        kinds = {
            "position delete file": counts[DataFileContent.POSITION_DELETES],
            "equality delete file": counts[DataFileContent.EQUALITY_DELETES],
        }
        return (
            " and ".join(number_of(count, kind) for kind, count in kinds.items() if count) or None
        )

    @property
    def are_by_values(self) -> bool:
        """Whether any of them is an equality delete file."""
        return bool(self._by_values)

    def may_be_of(self, name: str) -> bool:
        """Whether any of them may be about a data file."""
        return any(True for _ in self._of(name))

    def rows(self, where: str, name: str) -> NDArray[np.int64]:
        """The rows of a data file that are deleted, ascending. Raises UnsupportedError for what cannot be read here,
        FormatError."""
        found = list(self._of(name))
        for each in found:
            if each.file.content == DataFileContent.EQUALITY_DELETES:
                raise UnsupportedError(
                    f"{where}: an equality delete file may delete rows of it: expected an engine that reads the table"
                )
            if each.file.key_metadata is not None:
                raise UnsupportedError(f"{each.file.file_path}: encrypted by the table")
            if each.file.file_format == FileFormat.PUFFIN and each.target != name:
                raise FormatError(f"{each.file.file_path}: a deletion vector of no data file")
        vectors = [each for each in found if each.file.file_format == FileFormat.PUFFIN]
        if vectors:
            # It has all rows of position delete files.
            found = vectors
        rows = [self._vector(each) if vectors else self._listed(each.file, name) for each in found]
        return np.unique(np.concatenate([np.empty(0, np.int64), *rows]))

    def _of(self, name: str) -> Iterator[_Entry]:
        if (data := self._data.get(name)) is None:
            return
        of_partition = data.partition
        for each in self._of_files.get(name, ()):
            if data.sequence <= each.sequence and of_partition == each.partition:
                yield each
        for each in self._of_partitions.get(of_partition, ()):
            if data.sequence <= each.sequence:
                yield each
        # Those of an unpartitioned spec are about all partitions; others are not told apart either.
        yield from (each for each in self._by_values if data.sequence < each.sequence)

    def _listed(self, file: DataFile, name: str) -> NDArray[np.int64]:
        """The rows in a position delete file."""
        path = file.file_path
        if file.file_format != FileFormat.PARQUET:
            raise UnsupportedError(f"{path}: {file.file_format.value}, expected Parquet")
        if path not in self._positions:
            check_fits(f"{path}: takes", _POSITION_BYTES * file.record_count)
            with self._io.new_input(path).open() as opened:
                try:
                    self._positions[path] = pq.read_table(
                        opened, columns=["file_path", "pos"], read_dictionary=["file_path"]
                    )
                except pa.ArrowException as error:
                    raise FormatError(f"{path}: {' '.join(str(error).split())}") from None
        positions = self._positions[path]
        if {*positions.column_names} != {"file_path", "pos"}:
            raise FormatError(f"{path}: no columns file_path and pos")
        rows: NDArray[np.int64] = positions.filter(pa.compute.field("file_path") == name)[
            "pos"
        ].to_numpy()
        return rows

    def _vector(self, entry: _Entry) -> NDArray[np.int64]:
        """Of a deletion vector: size 4 | the vector | CRC-32 4, big-endian."""
        path = entry.file.file_path
        offset, length = entry.told("content_offset"), entry.told("content_size_in_bytes")
        if offset is None or length is None:
            raise FormatError(f"{path}: a deletion vector without a place")
        check_fits(f"{path}: deletion vector: takes", length)
        with self._io.new_input(path).open() as opened:
            opened.seek(offset)
            stored = opened.read(length)
        data = stored[4:-4]
        if len(stored) != length or int.from_bytes(stored[:4], "big") != len(data):
            raise FormatError(f"{path}: deletion vector at {offset}: another size than recorded")
        if int.from_bytes(stored[-4:], "big") != binascii.crc32(data):
            raise FormatError(f"{path}: deletion vector at {offset}: checksum does not match")
        rows = rows_in(data, path)
        if len(rows) != entry.file.record_count:
            raise FormatError(
                f"{path}: deletion vector of {len(rows)} rows, expected {entry.file.record_count}"
            )
        return rows


def _entries(io: FileIO, manifest: ManifestFile) -> Iterator[_Entry]:
    """The live entries, with what only newer versions have. New ones have the number of their manifest."""
    with AvroFile[ManifestEntry](
        io.new_input(manifest.manifest_path),
        MANIFEST_ENTRY_SCHEMAS[_VERSION],
        read_types={-1: ManifestEntry, 2: DataFile},
        read_enums={0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
    ) as reader:
        for entry in reader:
            if entry.status != ManifestEntryStatus.DELETED:
                file, sequence = entry.data_file, entry.sequence_number
                file.spec_id = manifest.partition_spec_id
                yield _Entry(file, manifest.sequence_number if sequence is None else sequence)
