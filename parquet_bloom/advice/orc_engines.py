"""Which readers of ORC use the Bloom filters of a column, and why the others do not.

| reader   | used by                            | source                                        |
|----------|------------------------------------|-----------------------------------------------|
| ORC Java | Hive, Spark                        | orc-core, RecordReaderImpl; measured with 2.3 |
| Spark    |                                    | its pushed filters; measured with 4.3         |
| ORC C++  | pyorc, given a predicate           | ORC C++, sargs; measured with 2.3             |
| pyarrow  |                                    | pyarrow.orc, which takes no predicates        |
"""

from __future__ import annotations

from collections.abc import Sequence

from parquet_bloom.advice.engines import NO_ELEMENTS, EngineUse
from parquet_bloom.orc import writers
from parquet_bloom.orc.columns import OrcColumn, above
from parquet_bloom.orc.stripe import BLOOM_FILTER_UTF8
from parquet_bloom.orc.writers import Generation

# Its timestamps have microseconds, and those of ORC nanoseconds.
RANGE_OF_SPARK = "turns the look-up of a TIMESTAMP into a range, which no filter can answer"


def orc_engine_uses(
    generation: Generation, columns: Sequence[OrcColumn], column: OrcColumn
) -> tuple[EngineUse, ...]:
    """Whether each reader uses filters that `build` adds to a column in a file of this writer."""
    java, cpp = writers.ignored_by(generation, column, BLOOM_FILTER_UTF8, writers.UTF8_UTC)
    if any(each.kind in ("LIST", "MAP") for each in above(columns, column)):
        java = cpp = NO_ELEMENTS
    spark = RANGE_OF_SPARK if column.kind.startswith("TIMESTAMP") else ""
    return (
        EngineUse("ORC Java", not java, java),
        EngineUse("Spark", not (java or spark), java or spark),
        EngineUse("ORC C++", not cpp, cpp),
        EngineUse("pyarrow", False, "its reader takes no predicates"),
    )
