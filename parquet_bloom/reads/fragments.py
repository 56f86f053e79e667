"""What is left of files as a dataset of pyarrow: a fragment for each file, of the row groups that are left.

The schema is that of the first file, as pyarrow's own datasets have it, with the columns of partitions that are in the
names of folders (`country=DE/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as pads

from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.reads.filesystem import file_system
from parquet_bloom.reads.partitions import Partitions
from parquet_bloom.reads.pruning import Left
from parquet_bloom.storage.source import is_url, local_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_bloom.encryption.keys import Keys


class Fragments:
    """Makes a dataset of what is left of `paths`."""

    def __init__(
        self,
        paths: Sequence[str],
        partitions: Partitions,
        keys: Keys | None,
        storage_options: Mapping[str, str] | None,
    ) -> None:
        """Raises UnsupportedError for keys that pyarrow cannot be given."""
        self._are_local = not any(map(is_url, paths))
        self._paths, self._partitions = paths, partitions
        self._file_system = file_system(paths, storage_options, self._are_local)
        self._format = pads.ParquetFileFormat(**_opening(keys))

    def dataset(
        self, left: Sequence[Left], schema: pa.Schema | None, of_all: bool
    ) -> pads.FileSystemDataset:
        """`of_all`: with the columns of all that is left, as files of a table get more columns. Raises FormatError if
        pyarrow cannot read the first file."""
        schemas = [self._inspected()]
        if of_all:
            schemas += [
                self._format.inspect(self._name(path), self._file_system) for path, *_ in left
            ]
        schema = schema or pa.unify_schemas(schemas, promote_options="permissive")
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

    def _inspected(self) -> pa.Schema:
        """Of the first file, with the columns of partitions."""
        first = self._name(self._paths[0])
        try:
            schema = self._format.inspect(first, self._file_system)
            return pa.unify_schemas([schema, self._partitions.schema])
        except (pa.ArrowException, OSError) as error:
            raise FormatError(f"{first}: pyarrow: {_in_one_line(error)}") from None


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
