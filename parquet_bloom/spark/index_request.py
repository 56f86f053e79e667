"""What executors are sent to make an index over a lake, and what the driver learns: segments,
and nothing of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import EncryptionError
from parquet_bloom.index.asking import hash_key_given
from parquet_bloom.index.manifest import IndexForm, Manifest, Places, Segment, TableSource

if TYPE_CHECKING:
    from parquet_bloom.index.hash_key import HashKey
    from parquet_bloom.tables.table import StoredNames

# Where executors find a key, which does not travel.
_REFERENCES: Final = ("env:", "file:")


def check_reference(hash_key: str | None) -> None:
    """Raise EncryptionError for a hash key that would be part of a job."""
    if hash_key is not None and not str(hash_key).startswith(_REFERENCES):
        raise EncryptionError(
            "hash key: would be part of the job, which others can see: expected env:VAR or file:PATH,"
            " for the executors to read"
        )


@dataclass(frozen=True, slots=True)
class IndexedTable:
    """A table that an index is about. `source`: at the version at which its live files were listed; `names`: what
    these call its `columns`; `valued`: those that may have values where files lack them, see opened_as."""

    name: str
    source: TableSource = field(repr=False)
    names: StoredNames = field(repr=False)
    columns: tuple[str, ...] = field(repr=False)
    valued: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """An index in a folder, as executors open it, and its terms; see Index.build. `hash_key`: where executors find
    it; `table`: if it is about one, and not about files."""

    place: str
    columns: tuple[str, ...]
    places: Places = "row-group"
    include_encrypted: bool = False
    hash_key: str | None = None
    key_check: str = ""
    form: IndexForm = "map"
    table: IndexedTable | None = None

    @property
    def empty(self) -> Manifest:
        """An index with these terms."""
        return Manifest(
            self.columns,
            self.places,
            key_check=self.key_check,
            include_encrypted=self.include_encrypted,
            form=self.form,
        )

    def key(self) -> HashKey | None:
        """The key, here. Raises EncryptionError for another one than the driver has: each value would be absent."""
        key = hash_key_given(self.hash_key)
        if (key.check if key else "") != self.key_check:
            raise EncryptionError(f"{self.hash_key}: is another hash key here than on the driver")
        return key


@dataclass(frozen=True, slots=True)
class KnownIndex:
    """An index with whose files those that are listed are compared. `num_segments`: of this `generation`;
    `columns`: what files call each of them, see Segment.read_as; `is_of_table`: files are as a table records them,
    which never puts another one in the place of one; `identity`, `sources`: see Manifest."""

    place: str
    generation: int
    num_segments: int
    columns: Mapping[str, str]
    is_of_table: bool = False
    identity: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommittedIndex:
    """The index `place`, and some of its `segments`."""

    place: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class NewSegments:
    """What is to be committed: the index `place` as it is in a `generation`, 0 if there is none,
    and segments that are new in it."""

    place: str
    generation: int
    old: tuple[Segment, ...]
    new: tuple[Segment, ...]
