"""Files of ClickHouse, through chdb: what it reads of a file with every type, and its own types.

python chdb_files.py SEED FOLDER
"""

import sys
from pathlib import Path

from chdb.session import Session

OWN = {
    "uuid_type": "generateUUIDv4(number)",
    "date_16": "toDate(number * 70)",
    "date_32": "toDate32('1900-01-01') + number * 100",
    "date_time": "toDateTime(number * 4000000, 'UTC')",
    "millis": "toDateTime64('1900-01-01 00:00:00', 3, 'UTC') + number * 3000000",
    "nanos": "toDateTime64('1925-01-01 00:00:00', 9, 'UTC') + number * 3000000",
    "decimal_9": "toDecimal32(number, 3) - 300",
    "decimal_18": "toDecimal64(number, 9) - 300",
    "decimal_38": "toDecimal128(number, 20) - 300",
    "decimal_76": "toDecimal256(number, 30) - 300",
    "int128": "toInt128(number) * toInt128('12345678901234567890') - 7",
    "uint256": "toUInt256(number) * toUInt256('12345678901234567890')",
    "fixed": "toFixedString(toString(number), 5)",
    "low_cardinality": "toLowCardinality(toString(number % 20))",
    "enum_8": "CAST(number % 2, 'Enum8(\\'no\\' = 0, \\'yes\\' = 1)')",
    "ipv4": "toIPv4(toUInt32(number * 1234567))",
    "ipv6": "toIPv6(toIPv4(toUInt32(number * 1234567)))",
    "array": "[toString(number), 'x']",
    "tuple": "tuple(toInt16(number), toString(number))",
    "map": "map(toString(number), toUInt8(number % 256))",
}
# So that there are several row groups.
GROUPS = (
    "output_format_parquet_row_group_size = 160, max_block_size = 100,"
    " engine_file_truncate_on_insert = 1, output_format_parquet_parallel_encoding = 0"
)

VARIANTS = {
    "default": "",
    "fixed": "output_format_parquet_string_as_string = 0, output_format_parquet_compression_method = 'none',"
    " output_format_parquet_max_dictionary_size = 0",
}  # fmt: skip


def main(seed, folder):
    session = Session()
    source = f"file('{seed}', Parquet)"
    lines = str(session.query(f"DESCRIBE {source}", "TabSeparated")).splitlines()
    read = {name: f"`{name}`" for name in (line.split("\t")[0] for line in lines)}
    parts = {"read": (source, read), "own": ("numbers(400)", OWN)}
    for part, (table, columns) in parts.items():
        taken = [
            f"{text} AS `{name}`"
            for name, text in columns.items()
            if insert(session, f"SELECT {text} AS value FROM {table}", folder / "trial", "")
        ]
        (folder / "trial").unlink(missing_ok=True)
        for variant, settings in VARIANTS.items():
            query = f"SELECT {', '.join(taken)} FROM {table}"
            insert(session, query, folder / f"{part}_{variant}.parquet", settings)
    print(str(session.query("SELECT version()", "TabSeparated")).strip())


def insert(session, query, target, settings):
    """Whether it could be written."""
    settings = ", ".join(filter(None, [GROUPS, settings]))
    try:
        session.query(f"INSERT INTO FUNCTION file('{target}', Parquet) {query} SETTINGS {settings}")
    except Exception as error:
        print(f"{query}: {str(error).splitlines()[:1]}", file=sys.stderr)
        target.unlink(missing_ok=True)
        return False
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
