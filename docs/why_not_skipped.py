"""Write docs/why-not-skipped.md from the catalogue of engines; `make docs` runs it."""

import sys
from textwrap import fill

from parquet_bloom.engines.catalogue import engines
from parquet_bloom.engines.reading import engine_note

INTRODUCTION = """# Why does it not skip?

A file has filters, and a query still reads all of it. Ask the file first, then the engine. The examples
use the file with filters of the [tutorial](tutorial.md): 8 row groups, and one row of user 361045656987.

## The file

How many row groups have to be read for a value, and what the filters say:

```console
$ pbloom probe filtered.parquet -c user_id -v 361045656987
filtered.parquet: user_id, 3,852 bytes read
value         verdict  row groups to read  rows to read
───────────────────────────────────────────────────────
361045656987  maybe                     4        125000
```

- **All row groups, `maybe`:** the value is in all of them, as `pbloom find` shows, or the filters are
  full, as `pbloom validate` says ([PB301 to PB303](rules.md)).
- **`unknown`:** there is no filter that can be trusted; the reason says why. `pbloom build FILE -c COLUMN --in-place`
  builds one.
- **Fewer row groups than the engine reads:** the engine does not use the filters. The rest of this
  page is about that.

These hold for every engine:

- Only `=`, `IN` and what an engine rewrites to them use a filter; ranges, `<>`, `LIKE 'x%'` and most
  functions of the column do not.
- The literal must become the stored type. An integer column that is compared with a double
  is compared as one. In Spark, `1.0` is a decimal literal, which is pushed down as 1; `1D` and `1e0` are doubles.
- `a = 1 OR b = 2` over two columns: Spark asks the filters of both, DuckDB and DataFusion ask none.
- Minimum and maximum come first, and what they exclude is not credited to a filter. On a sorted column
  filters have nothing left to do.
- If all values of a chunk are in its dictionary, a filter may make no difference:
{only_dictionaries}.
- A categorical column, such as `category` of pandas or `Enum` of polars and DuckDB, is written with its whole dictionary in
  each row group of a file, so that each of its values is found there in all of these. Filters that `pbloom build` adds
  hold only what rows have: Spark (measured), Trino and Iceberg (by their sources) ask both, and leave row groups out. Impala asks none of a column that is all dictionary, and reads all of these; nor does ClickHouse, where it looks
  into dictionaries. Written as text, as after `astype(str)` in pandas, the column has its own values in each.
  `pbloom advise` says what a look-up reads either way.
- Members of structs, elements of lists, values of maps and shredded fields of a VARIANT: few engines use
  their filters, for [some predicates](engines.md#predicates-and-nested-columns).
- A file of one row group can only be skipped whole.
- Which types an engine looks up: [engines.md](engines.md#which-types-each-uses-filters-for), or
  `pbloom advise FILE --engine ENGINE` for the columns of a file. What each version of an engine does with each
  type, and which lose rows: [the same page](engines.md#rows-that-are-lost).
"""


def page() -> str:
    """docs/why-not-skipped.md"""
    looking = fill(
        engine_note("only dictionaries"), 108, initial_indent="  ", subsequent_indent="  "
    )
    introduction = INTRODUCTION.format(only_dictionaries=looking)
    sections = (f"\n## {each.name}\n\n{each.why_not}" for each in engines() if each.why_not)
    return introduction + "".join(sections)


if __name__ == "__main__":
    sys.stdout.write(page())
