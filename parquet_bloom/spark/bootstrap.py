"""The one function that travels to the executors by value; all else is imported there."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any


def on_executor(
    module: str, function: str, request: Any, archive: str | None
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What mapInArrow calls: `function` of `module` with `request` and the batches.

    `archive`: the folder that `ship` has unpacked on the executor, in which the package is. Nothing
    of the package is needed to unpickle this: the request is unpickled when the package is there.
    """
    pickled = pickle.dumps(request)

    def mapped(batches: Iterable[Any]) -> Iterator[Any]:
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
                    f"{found}: was loaded by this Python worker before, expected what was shipped:"
                    " ship before the first job of an application"
                )
        work = getattr(importlib.import_module(module), function)
        yield from work(pickle.loads(pickled), batches)

    return mapped
