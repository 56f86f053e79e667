"""The way into the command `pbloom`."""

from __future__ import annotations

import gc
import os
import signal

# As type checkers know it: the less is loaded before ^C is taken care of, the better.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from types import FrameType
    from typing import Final, NoReturn

# Importing makes many objects and no garbage; looking for it takes 2 ms in click alone, so what says
# how often comes before that is imported.
GC_THRESHOLD: Final = 50_000


def main() -> NoReturn:
    """Be the program `pbloom`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    gc.set_threshold(GC_THRESHOLD)
    from parquet_bloom.commands.pbloom import cli
    from parquet_bloom.program import run

    run(cli)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """As program says it, which may not be there yet. An exception could be taken for a module that cannot be
    imported, or be shown and forgotten by a lock of the imports."""
    os.write(2, b"pbloom: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()
