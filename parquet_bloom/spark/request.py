"""What is to be done to every file of a lake, and how it gets to the executors."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

from parquet_bloom.dataclass import dataclass
from parquet_bloom.encryption.keys_file import KeyReferences
from parquet_bloom.options import Destination
from parquet_bloom.spark.plan import BOUNDS, Plan
from parquet_bloom.spark.run import LakeRun

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Request:
    """A verb and its options, a value of parquet_bloom.options, or for `probe` one for each column.

    keys: where the executors find the keys, which do not travel. destination: for verbs that write.
    only_missing: leave files alone in which each column has filters. advised: by the key of a table, see
    advice.table.table_key, its columns and their rates, in the place of those of the options;
    `advised_of`: the columns that were judged, None for all.
    """

    verb: str
    options: Any
    keys: KeyReferences = field(default_factory=KeyReferences)
    destination: Destination = field(default_factory=partial(Destination, in_place=True))
    only_missing: bool = False
    advised: Mapping[str, tuple[tuple[str, float | None], ...]] | None = None
    advised_of: tuple[str, ...] | None = None

    @property
    def leaves_alone_what_is_done(self) -> bool:
        """Whether a file that this was done to is left as it is when it is done again."""
        if self.destination.dry_run:
            return False
        return self.verb == "strip" or (self.verb == "build" and self.options.existing == "keep")


@dataclass(frozen=True, slots=True)
class Tasks:
    """What executors are sent: the run and its plan, and what is to be done to each file; `least_share`:
    see Bounds."""

    run: LakeRun
    plan: Plan
    request: Request
    least_share: float = BOUNDS.least_share


def on_executor(
    module: str, function: str, request: object, archive: str | None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What mapInArrow calls: `function` of `module` with `request` and the batches.

    `archive`: the folder on the executor into which `ship` has unpacked the package. Only this
    function travels by value; the request is unpickled once the package can be imported.
    """
    pickled = pickle.dumps(request)

    def mapped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib
        import os
        import pickle
        import sys

        if archive is not None:
            from pyspark import SparkFiles

            folder = os.path.realpath(os.path.join(SparkFiles.getRootDirectory(), archive))
            if folder not in sys.path:
                sys.path.insert(0, folder)
            import parquet_bloom

            found = os.path.realpath(str(parquet_bloom.__file__))
            if not found.startswith(folder + os.sep):
                raise ImportError(
                    f"{found}: was already loaded by this Python worker, expected what was shipped:"
                    " ship before the first job of an application"
                )
        work = getattr(importlib.import_module(module), function)
        yield from work(pickle.loads(pickled), batches)

    return mapped
