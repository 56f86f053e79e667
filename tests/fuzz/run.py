"""Fuzz one target, guided by the lines of the package that an input reaches.

    python tests/fuzz/run.py TARGET FOLDER [options of libFuzzer]

The seeds go into FOLDER, and what leads somewhere new joins them there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["parquet_bloom"]):
    from fuzz.targets import TARGETS, seeds_of

# No seed is longer.
LONGEST = 1 << 13
LIMITS = ("-rss_limit_mb=1500", "-timeout=20")

if __name__ == "__main__":
    target, folder, *options = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    for index, data in enumerate(seeds_of(target)):
        Path(folder, f"seed-{index}").write_bytes(data)
    atheris.Setup([target, f"-max_len={LONGEST}", *LIMITS, *options, folder], TARGETS[target])
    atheris.Fuzz()
