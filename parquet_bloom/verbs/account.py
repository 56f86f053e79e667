"""What became of each of many values that were looked for: found in which rows, absent by what, unknown why.

    value   state     path   row_group   row_in_row_group   row     may_be_deleted   deleted   reason   files_by_index
    42      found     a      3           17                 30017   false            false
    43      absent                                                                                      198
    44      unknown                                                                            …
            unknown   b                                                                        …
            asked     a                                      (size, version, answered_by)

A value that is found nowhere is absent only if every file could be asked for it. Each that could not is there, too,
without a value: it may hold any of them, or those that its reason names; and each that was, in the state in which it
was. What is true of all rows, such as when who was asked for what, is a JSON document in the schema's metadata.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Final

import pyarrow as pa

from parquet_bloom.container import number_of
from parquet_bloom.values.given import show_value, show_values
from parquet_bloom.verbs.documents import document_of

_TEXT: Final = pa.string()
_NUMBER: Final = pa.int64()

# What is said of a value that is absent: by what it was proved.
PROOF: Final = (
    "index",
    "generation",
    "num_files",
    "files_by_index",
    "files_by_statistics",
    "files_by_filters",
    "files_read",
    "row_groups_by_statistics",
    "row_groups_by_filters",
    "row_groups_read",
    "files_left_out",
    "files_without_column",
)
SCHEMA: Final = pa.schema(
    [
        pa.field("value", _TEXT),
        pa.field("state", _TEXT),
        pa.field("path", _TEXT),
        pa.field("row_group", _NUMBER),
        pa.field("row_in_row_group", _NUMBER),
        pa.field("row", _NUMBER),
        pa.field("may_be_deleted", pa.bool_()),
        pa.field("deleted", pa.bool_()),
        pa.field("reason", _TEXT),
        *(pa.field(name, _TEXT if name == "index" else _NUMBER) for name in PROOF),
        pa.field("size", _NUMBER),
        pa.field("version", _TEXT),
        pa.field("answered_by", _TEXT),
    ]
)


# So many of the files that were left out are named.
_MOST_NAMES: Final = 1000


def account_of(report: Any, values: Sequence[str]) -> pa.Table:
    """Of a FindReport about `values`: a row for each row that holds a value, for each other value, and for each file,
    be it unknown or asked."""
    # Some values have one text: 5, and a literal of it.
    found = tuple(dict.fromkeys(replace(row, value=show_value(row.value)) for row in report.rows))
    known = {row.value for row in found}
    deleted = {*report.deleted_in}
    proof = {name: getattr(report, name) for name in PROOF}
    missing = [value for value in values if value not in known]
    unknown, asked = report.unknown, report.asked
    told = {*show_values(report.absent)} if unknown else {*missing}
    absent = [value for value in missing if value in told]
    unsure = [value for value in missing if value not in told]
    reason = f"{number_of(len(unknown), 'file')} could not be asked"
    rows = pa.concat_tables(
        [
            _rows(
                len(found),
                value=[row.value for row in found],
                state="found",
                path=[row.path for row in found],
                row_group=[row.row_group for row in found],
                row_in_row_group=[row.row_in_row_group for row in found],
                row=[row.row for row in found],
                may_be_deleted=[row.path in deleted for row in found],
                deleted=[row.deleted for row in found],
            ),
            _rows(len(absent), value=absent, state="absent", **proof),
            _rows(len(unsure), value=unsure, state="unknown", reason=reason),
            _rows(
                len(unknown),
                state="unknown",
                path=[file.path for file in unknown],
                reason=[file.reason for file in unknown],
            ),
            _rows(
                len(asked),
                state="asked",
                path=[file.path for file in asked],
                size=[file.size for file in asked],
                version=[file.version for file in asked],
                answered_by=[file.answered_by for file in asked],
            ),
        ]
    )
    return rows.replace_schema_metadata({"parquet_bloom": json.dumps(_about(report, len(values)))})


def _about(report: Any, num_values: int) -> dict[str, Any]:
    """What is true of all rows."""
    return {
        # By name, as the package has the verbs.
        "pbloom": import_module(__package__.partition(".")[0]).__version__,
        "time": _time(report.started),
        "column": report.column,
        "values": num_values,
        "union_by_name": report.union_by_name,
        "made": None if report.made is None else _time(report.made),
        "inputs": list(map(_utf8, report.inputs)),
        "tables": [document_of(table) for table in report.tables],
        **{name: getattr(report, name) for name in PROOF},
        "left_out": list(map(_utf8, report.left_out[:_MOST_NAMES])),
    }


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _rows(count: int, **columns: Any) -> pa.Table:
    """Rows with lists of values, and with values that are the same in each of them."""
    arrays = []
    for field in SCHEMA:
        given = columns.get(field.name)
        if isinstance(given, list):
            texts = (text and _utf8(text) for text in given)
            arrays.append(pa.array(texts if field.type == _TEXT else given, field.type))
        else:
            arrays.append(pa.repeat(pa.scalar(given, field.type), count))
    return pa.table(arrays, SCHEMA)


def _utf8(text: str) -> str:
    """A path need not be text."""
    return text.encode(errors="backslashreplace").decode()
