"""The way into the command `pbloom`."""

from __future__ import annotations

import gc
import os
from typing import Final, NoReturn

# Importing makes many objects and no garbage; looking for it takes 2 ms in click alone, so what says
# how often comes before that is imported.
GC_THRESHOLD: Final = 50_000


def main() -> NoReturn:
    """Be the program `pbloom`."""
    gc.set_threshold(GC_THRESHOLD)
    try:
        from parquet_bloom.commands.pbloom import cli
        from parquet_bloom.program import run
    except KeyboardInterrupt:
        # As program says it, which may not be there yet.
        os.write(2, b"pbloom: interrupted\n")
        os._exit(130)
    run(cli)
