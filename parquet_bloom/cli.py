"""The way into the command `pbloom`."""

from __future__ import annotations

import gc
from typing import Final, NoReturn

# Importing makes many objects and no garbage; looking for it takes 2 ms in click alone, so what says
# how often comes before that is imported.
GC_THRESHOLD: Final = 50_000


def main() -> NoReturn:
    """Be the program `pbloom`."""
    gc.set_threshold(GC_THRESHOLD)
    from parquet_bloom.commands.pbloom import cli
    from parquet_bloom.program import run

    run(cli)
