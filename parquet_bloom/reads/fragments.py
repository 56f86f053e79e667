"""What is left of files as a dataset of pyarrow: a fragment for each file, of the row groups that are left.

The schema is that of the first file, as pyarrow's own datasets have it, with the columns of partitions that are in the
names of folders (`country=DE/`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as pads

from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.reads.filesystem import file_system
from parquet_bloom.reads.partitions import Partitions
from parquet_bloom.reads.pruning import Left
from parquet_bloom.storage.source import FileEnd, local_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_bloom.encryption.keys import Keys


class Fragments:
    """Makes a dataset of what is left of files that are all local, or not."""

    def __init__(
        self,
        partitions: Partitions,
        keys: Keys | None,
        storage_options: Mapping[str, str] | None,
        are_local: bool,
        ends: Mapping[str, FileEnd],
    ) -> None:
        """`ends`: of files that have others than pyarrow is to read. Raises UnsupportedError for keys that it cannot
        be given."""
        self._are_local, self._partitions = are_local, partitions
        named = {self._name(path): end for path, end in ends.items()}
        self._file_system = file_system(storage_options, are_local, named)
        self._format = pads.ParquetFileFormat(**_opening(keys))

    def schema(self, paths: Sequence[str], among: Collection[str]) -> pa.Schema:
        """Of the columns of these files, if any are named only of those `among` these, with the columns of
        partitions. Raises FormatError for a file that pyarrow cannot read, UnsupportedError if types do not go
        together."""
        first, *others = map(self._inspected, paths)
        try:
            schemas = [first, self._partitions.schema, *others]
            found = pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowException as error:
            raise UnsupportedError(f"columns of several files: {_in_one_line(error)}") from None
        names = {*(among or found.names), *self._partitions.schema.names}
        return pa.schema([field for field in found if field.name in names], found.metadata)

    def dataset(self, left: Sequence[Left], schema: pa.Schema) -> pads.FileSystemDataset:
        fragments = [
            self._format.make_fragment(
                self._name(each.path),
                self._file_system,
                partition_expression=self._partitions.expression(each.path),
                row_groups=each.numbers,
            )
            for each in left
        ]
        return pads.FileSystemDataset(fragments, schema, self._format, self._file_system)

    def _name(self, path: str) -> str:
        return local_name(path) if self._are_local else str(path)

    def _inspected(self, path: str) -> pa.Schema:
        name = self._name(path)
        try:
            return self._format.inspect(name, self._file_system)
        except (pa.ArrowException, OSError) as error:
            raise FormatError(f"{name}: pyarrow: {_in_one_line(error)}") from None


def _opening(keys: Keys | None) -> dict[str, Any]:
    if keys is None:
        return {}
    try:
        from pyarrow.parquet.encryption import create_decryption_properties
    except ImportError:
        what = "keys: this version of pyarrow takes none, expected pyarrow 23 or later"
        raise UnsupportedError(what) from None
    properties = create_decryption_properties(
        keys.only_key(), aad_prefix=keys.aad_prefix, allow_plaintext_files=True
    )
    options = pads.ParquetFragmentScanOptions(decryption_properties=properties)
    return {"default_fragment_scan_options": options}


def _in_one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
