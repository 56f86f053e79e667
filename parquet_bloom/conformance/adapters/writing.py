"""What adapters in Python share that write: a column of JSON into an Arrow array, and a JSON line in, a line out."""

import json
import sys
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

UNITS = {"MILLIS": "ms", "MICROS": "us", "NANOS": "ns"}
FORMS = {"FLOAT": "<f", "DOUBLE": "<d", "FLOAT16": "<e"}


def arrow_type(schema: dict[str, Any]) -> pa.DataType:
    if "list" in schema:
        return pa.list_(arrow_type(schema["list"]))
    if "struct" in schema:
        return pa.struct({name: arrow_type(each) for name, each in schema["struct"].items()})
    if "map" in schema:
        return pa.map_(*map(arrow_type, schema["map"]))
    physical, _, logical = schema["type"].partition(" ")
    name, _, inside = logical.rstrip(")").partition("(")
    length = int(physical.partition("(")[2].rstrip(")") or 0)
    match name, inside.split(","):
        case "INTEGER", (bits, signed):
            return getattr(pa, f"{'' if signed == 'true' else 'u'}int{bits}")()
        case "DECIMAL", (precision, scale):
            kind = pa.decimal128 if int(precision) <= 38 else pa.decimal256
            return kind(int(precision), int(scale))
        case "TIME", (unit, _):
            return pa.time32("ms") if unit == "MILLIS" else pa.time64(UNITS[unit])
        case "TIMESTAMP", (unit, utc):
            return pa.timestamp(UNITS[unit], "UTC" if utc == "true" else None)
    simple = {
        "DATE": pa.date32(),
        "STRING": pa.string(),
        "FLOAT16": pa.float16(),
        "UUID": pa.uuid(),
    }
    simple |= {"FLOAT": pa.float32(), "DOUBLE": pa.float64(), "BYTE_ARRAY": pa.binary()}
    return simple.get(name or physical, pa.binary(length or -1))


def value(schema: dict[str, Any], told: Any) -> Any:
    """As Python has it; numbers of time are counts."""
    if told is None:
        return None
    if "list" in schema:
        return [value(schema["list"], each) for each in told]
    if "struct" in schema:
        return {name: value(each, told[name]) for name, each in schema["struct"].items()}
    if "map" in schema:
        return [tuple(map(value, schema["map"], pair)) for pair in told]
    physical, _, logical = schema["type"].partition(" ")
    name = logical.partition("(")[0] or physical
    if name == "DECIMAL":
        scale = int(logical.rstrip(")").split(",")[1])
        return Decimal(told).scaleb(-scale, Context(prec=100))
    if name in FORMS:
        return bytes.fromhex(told[2:])[::-1]
    if name == "STRING":
        return told
    return int(told) if physical in ("INT32", "INT64") else bytes.fromhex(told)


def array(schema: dict[str, Any], rows: list[Any]) -> pa.Array:
    kind = arrow_type(schema)
    values = [value(schema, row) for row in rows]
    if pa.types.is_floating(kind):
        # By their bits, of which there are many for NaN.
        zero = bytes(kind.bit_width // 8)
        bits = pa.py_buffer(b"".join(each or zero for each in values))
        return pa.Array.from_buffers(kind, len(values), [None, bits])
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
    if kind == pa.uuid():
        return pa.array(values, pa.binary(16)).cast(kind)
    return pa.array(values, kind)


class Column:
    """What one file is to hold: a column of that name, and its row groups if the writer can choose them."""

    def __init__(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            self.told = json.load(file)
        self.name = "v"
        groups = [array(self.told["schema"], rows) for rows in self.told["groups"]]
        self.groups = [pa.table({self.name: group}) for group in groups]
        self.table = pa.concat_tables(self.groups)

    @property
    def rows_per_group(self) -> int:
        return self.groups[0].num_rows


def answer(
    engine: str, version: str, write: Callable[[Column, str], None], inside: str = ""
) -> None:
    """Write a file for each question of standard input."""
    _say({"engine": engine, "version": version, "inside": inside})
    for line in sys.stdin:
        question = json.loads(line)
        if "output" not in question:
            _say({"id": question["id"], "error": "asked to read, and this adapter writes"})
            continue
        try:
            write(Column(question["values"]), question["output"])
            _say({"id": question["id"], "written": True})
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 -- a panic of Rust is no Exception
            _say({"id": question["id"], "error": f"{type(error).__name__}: {error}"})


def _say(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()
