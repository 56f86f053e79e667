"""What is to be done to every file of a lake: one value, which travels to the executors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parquet_bloom.options import Destination


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A verb and its options, a value of parquet_bloom.options.

    keys_file: a JSON file of keys that the executors can read; keys do not travel. destination: for
    verbs that write. only_missing: leave files alone in which each column has filters.
    """

    verb: str
    options: Any
    keys_file: str | None = None
    destination: Destination = Destination(in_place=True)  # noqa: RUF009
    only_missing: bool = False
