"""What is left of files as a dataset of pyarrow: a fragment for each file, of the row groups that are left.

The schema is that of the first file, as pyarrow's own datasets have it, with the columns of partitions that are in
the names of folders (`country=DE/`), and with those that only other files have, if they are filtered by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.dataset as pads

from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.reads.columns import Structs, with_filtered
from parquet_bloom.reads.filesystem import file_system
from parquet_bloom.reads.partitions import Partitions, Stored
from parquet_bloom.reads.pruning import Left
from parquet_bloom.reads.table_types import Kind, in_table, schema_of
from parquet_bloom.storage.source import FileEnd, local_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_bloom.encryption.keys import Keys


def _fields_of(field: pa.Field) -> dict[str, pa.Field] | None:
    return {each.name: each for each in field.type} if pa.types.is_struct(field.type) else None


def _with_fields(field: pa.Field, fields: Mapping[str, pa.Field]) -> pa.Field:
    """Null may be in those that it has not had."""
    had = _fields_of(field) or {}
    every = (each if name in had else each.with_nullable(True) for name, each in fields.items())
    return field.with_type(pa.struct([*every]))


_STRUCTS: Final[Structs[pa.Field]] = Structs(_fields_of, _with_fields)


class Fragments:
    """Makes a dataset of what is left of files that are all local, or not."""

    def __init__(
        self,
        partitions: Partitions,
        keys: Keys | None,
        paths: Sequence[str],
        are_local: bool,
        ends: Mapping[str, FileEnd],
    ) -> None:
        """`paths`: of all files that may be read; `ends`: of files that have others than pyarrow is to read. Raises
        UnsupportedError for keys that it cannot be given."""
        self._are_local, self._partitions = are_local, partitions
        named = {self._name(path): end for path, end in ends.items()}
        self._file_system = file_system(paths, are_local, named)
        self._format = pads.ParquetFileFormat(**_opening(keys))

    def schema(self, paths: Sequence[str], filtered: Iterable[str]) -> pa.Schema:
        """Of the first of these files, and of the columns that are `filtered` by. Raises FormatError for a file that
        pyarrow cannot read, UnsupportedError if types do not go together."""
        first, *others = paths
        stored = self._inspected_by_name(first)
        self._partitions = self._partitions.as_stored(Stored(first, stored))
        found = self._with_partitions([stored])
        of_others = (_by_name(self._inspected(path)) for path in others)
        for name, field in with_filtered(_by_name(found), filtered, of_others, _STRUCTS).items():
            # Of several of one name, there is none.
            at = found.get_field_index(name)
            if at >= 0:
                found = found.set(at, field)
            elif name not in found.names:
                found = found.append(field)
        return found

    def schema_of_tables(
        self,
        paths: Sequence[str],
        columns: Collection[str],
        kinds_of: Callable[[str], Mapping[str, Kind]],
        kinds: Mapping[str, Kind],
    ) -> pa.Schema:
        """Of the `columns` of tables, of all of these files if there are none, and of partitions, of the types that
        tables have given those of a file, and `kinds` for what none of the files has. Raises as schema."""
        found = self._with_partitions(
            [in_table(self._inspected_by_name(path), kinds_of(path)) for path in paths]
        )
        names = dict.fromkeys((*(columns or found.names), *self._partitions.names))
        return schema_of(names, _by_name(found), kinds).with_metadata(found.metadata)

    def dataset(self, left: Sequence[Left], schema: pa.Schema) -> pads.FileSystemDataset:
        """Raises UnsupportedError for values of partitions that are none of the types of this schema."""
        partitions = self._partitions.as_in(schema)
        fragments = [
            self._format.make_fragment(
                self._name(each.path),
                self._file_system,
                partition_expression=partitions.expression(each.path, schema.names),
                row_groups=each.numbers,
            )
            for each in left
        ]
        return pads.FileSystemDataset(fragments, schema, self._format, self._file_system)

    def _with_partitions(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        first, *others = schemas
        try:
            every = [first, self._partitions.schema, *others]
            return pa.unify_schemas(every, promote_options="permissive")
        except pa.ArrowException as error:
            raise UnsupportedError(f"columns of several files: {_in_one_line(error)}") from None

    def _name(self, path: str) -> str:
        return local_name(path) if self._are_local else str(path)

    def _inspected_by_name(self, path: str) -> pa.Schema:
        """The same of a file whose columns each have a name of their own. Raises UnsupportedError, too."""
        found = self._inspected(path)
        for name, count in Counter(found.names).items():
            if count > 1:
                raise UnsupportedError(
                    f"{self._name(path)}: column {name}: {count} columns have this name, expected one, as datasets of"
                    " pyarrow have; try pb.rows with other columns, or pb.row_groups"
                )
        return found

    def _inspected(self, path: str) -> pa.Schema:
        name = self._name(path)
        try:
            found = self._format.inspect(name, self._file_system)
            # A name that is no UTF-8 is noticed by whoever asks for it.
            "".join(found.names)
            return found
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise FormatError(f"{name}: pyarrow: {_in_one_line(error)}") from None


def _opening(keys: Keys | None) -> dict[str, Any]:
    if keys is None:
        return {}
    unwrap = keys.only_unwrap()
    if unwrap is None:
        options = pads.ParquetFragmentScanOptions(decryption_properties=_with_one_key(keys))
    else:
        options = pads.ParquetFragmentScanOptions(decryption_config=_with_kms(unwrap))
    return {"default_fragment_scan_options": options}


def _with_kms(unwrap: Callable[[str, str], bytes]) -> Any:
    """Key material in files, whose keys are unwrapped so."""
    from pyarrow.parquet import encryption

    class Client(encryption.KmsClient):  # type: ignore[misc]
        def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
            return unwrap(wrapped_key, master_key_identifier)

    return pads.ParquetDecryptionConfig(
        encryption.CryptoFactory(lambda _: Client()),
        encryption.KmsConnectionConfig(),
        encryption.DecryptionConfiguration(),
    )


def _with_one_key(keys: Keys) -> Any:
    try:
        from pyarrow.parquet.encryption import create_decryption_properties
    except ImportError:
        what = "keys: this version of pyarrow takes none, expected pyarrow 23 or later"
        raise UnsupportedError(what) from None
    return create_decryption_properties(
        keys.only_key(), aad_prefix=keys.aad_prefix, allow_plaintext_files=True
    )


def _by_name(schema: pa.Schema) -> dict[str, pa.Field]:
    return {field.name: field for field in schema}


def _in_one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
