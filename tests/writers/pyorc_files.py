"""Files of pyorc, which is ORC C++, with and without filters of its own.

python pyorc_files.py FOLDER
"""

import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyorc
import values

NEAR = (-106_751, 106_750)
START = datetime(1970, 1, 1, tzinfo=UTC)


def moments():
    found = values.with_nulls(values.moments("us", *NEAR))
    return [None if each is None else START + timedelta(microseconds=each) for each in found]


COLUMNS = {
    "tiny": ("tinyint", lambda: values.integers(8)),
    "small": ("smallint", lambda: values.integers(16)),
    "number": ("int", lambda: values.integers(32)),
    "big": ("bigint", lambda: values.integers(64)),
    "real": ("float", lambda: values.floats(4)),
    "double": ("double", lambda: values.floats(8)),
    "text": ("string", values.texts),
    "varchar": ("varchar(12)", lambda: [each[:12] for each in values.texts()]),
    "char": ("char(12)", lambda: [each.rstrip()[:12] for each in values.texts()]),
    "binary": ("binary", values.binaries),
    "day": ("date", lambda: [date(1970, 1, 1) + timedelta(each) for each in values.days(*NEAR)]),
    "decimal": ("decimal(10,3)", lambda: values.decimals(10, 3)),
    "huge": ("decimal(38,4)", lambda: values.decimals(38, 4)),
    "moment": ("timestamp", moments),
    "instant": ("timestamp with local time zone", moments),
}


def main(folder):
    schema = f"struct<{','.join(f'{name}:{kind}' for name, (kind, _) in COLUMNS.items())}>"
    rows = list(zip(*(values.with_nulls(make()) for _, make in COLUMNS.values()), strict=True))
    for name, own in (("zlib", {}), ("own", {"bloom_filter_columns": list(COLUMNS)})):
        compression = pyorc.CompressionKind.ZLIB if name == "zlib" else pyorc.CompressionKind.SNAPPY
        with (
            (folder / f"{name}.orc").open("wb") as file,
            pyorc.Writer(
                file, schema, compression=compression, row_index_stride=1000, **own
            ) as writer,
        ):
            writer.writerows(rows * 3)
    print(pyorc.__version__)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
