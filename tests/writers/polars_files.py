"""Files of polars: what it reads of a file with every type, and the types that only it has.

    python polars_files.py SEED FOLDER SIMPLE

SIMPLE is read instead of SEED by versions that fail on a type that they do not know.
"""

import io
import sys
from pathlib import Path

import polars as pl
import values

VARIANTS = {
    "default": {},
    "plain": {"compression": "uncompressed", "statistics": False},
}


def own():
    numbers = values.integers(64)
    micros = values.moments("us", -100_000, 100_000)
    yield "categorical", lambda: pl.Series(values.few_texts(), dtype=pl.Categorical)
    yield (
        "enum",
        lambda: pl.Series(values.few_texts(), dtype=pl.Enum(["red", "grün", "blau", "", "noir"])),
    )
    yield "array", lambda: pl.Series([[each, 1] for each in numbers], dtype=pl.Array(pl.Int64, 2))
    yield "time", lambda: pl.Series(values.clocks("ns"), dtype=pl.Int64).cast(pl.Time)
    yield "duration", lambda: pl.Series(micros, dtype=pl.Int64).cast(pl.Duration("us"))
    yield "float16", lambda: pl.Series(values.floats(2), dtype=pl.Float16)


def main(seed, folder, simple):
    columns = {}
    try:
        names = pl.read_parquet_schema(seed)
    except pl.exceptions.ComputeError:
        seed = simple
        names = pl.read_parquet_schema(seed)
    makers = {name: lambda name=name: pl.read_parquet(seed, columns=[name])[name] for name in names}
    for name, make in (makers | dict(own())).items():
        try:
            series = make().rename(name)
            series.to_frame().write_parquet(io.BytesIO())
            columns[name] = series
        # polars panics by an exception that is none of Python's ordinary ones.
        except BaseException as error:
            print(f"{name}: {str(error).splitlines()[:1]}", file=sys.stderr)
    frame = pl.DataFrame(list(columns.values()))
    for variant, options in VARIANTS.items():
        frame.write_parquet(folder / f"{variant}.parquet", row_group_size=160, **options)
    print(pl.__version__)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
