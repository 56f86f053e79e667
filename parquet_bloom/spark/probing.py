"""What the account says of a file that was asked for values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from parquet_bloom.verbs.documents import as_json

if TYPE_CHECKING:
    from parquet_bloom.verbs.probe import ProbeReport

# So many values are written out for each file. The answers about one take some 230 bytes: about 5,000 in
# 2,000 files, 2 GB, of which all but a few say `absent`.
MOST_WRITTEN_OUT: Final = 100


def document_of_probe(report: ProbeReport) -> str:
    """What `--json` prints; of many values, the `results` of those that the file may have, and the number of the others."""
    num_asked = len(report.results)
    if num_asked <= MOST_WRITTEN_OUT:
        return as_json(report).decode()
    kept = replace(report, results=report.results.not_absent)
    return as_json(kept.to_dict() | {"num_absent": num_asked - len(kept.results)}).decode()
