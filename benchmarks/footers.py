"""What a footer says, as JSON by pyarrow: `python -m benchmarks.footers FILE`."""

from __future__ import annotations

import json
import sys

import pyarrow.parquet as pq

if __name__ == "__main__":
    # dump to a file would be encoded by Python, not by C.
    sys.stdout.write(json.dumps(pq.read_metadata(sys.argv[1]).to_dict(), default=str))
