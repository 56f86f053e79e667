"""Ask engines which predicates use filters, most of them on nested columns.

    python tests/engines/nested.py [ENGINE[==VERSION]…]    # all of VERSIONS, unless some are named

As in files.py, each file is there four times, and row 4 is the only one with the value: in group 0,
while minimum and maximum exclude no group. What came of it is written to tests/engines/results/nested.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from engines.files import ENCODINGS, GROUPS, damaged, indexes
from engines.outcomes import Answer, Answers, outcome
from engines.run import ENGINES, HERE, RESULTS, Session
from make.parquet_files import built
from make.variant import TYPED, shredded

NESTED = RESULTS / "nested"
# The versions that are asked; more of them where advise says since when.
VERSIONS = {
    "duckdb": ("1.2.2", "1.4.5", "1.5.6", "2.0.0"),
    "datafusion": ("55.0.0",),
    "clickhouse": ("3.7.2", "4.4.0"),
    "clickhouse-no-dictionary": ("4.4.0",),
    "spark": ("4.3.0",),
}
EXPECTED: list[Answer] = [{"rows": [4]}]

_SCHEMA = pa.schema(
    {
        "n": pa.int32(),
        "i": pa.int32(),
        "s": pa.struct({"a": pa.int32(), "b": pa.struct({"c": pa.string()})}),
        "l": pa.list_(pa.int32()),
        "ll": pa.list_(pa.list_(pa.int32())),
        "ls": pa.list_(pa.struct({"x": pa.int32(), "y": pa.string()})),
        "sl": pa.struct({"q": pa.list_(pa.int32())}),
        "m": pa.map_(pa.string(), pa.int32()),
    }
)


@dataclass(frozen=True)
class Form:
    """A predicate, as it is shown, and as the engines want it; those without one are not asked."""

    shown: str
    duckdb: str
    datafusion: str
    clickhouse: str
    spark: str
    file: str = "nested"

    def query(self, engine: str) -> str:
        """What an engine is asked; empty if it is not."""
        predicate: str = getattr(self, engine)
        if not predicate or predicate.startswith("SELECT"):
            return predicate
        return f"SELECT n FROM {{source}} WHERE {predicate}"


FORMS = (
    Form("`i IN (40, 45)`, a column of its own", "i IN (40, 45)", "i IN (40, 45)", "i IN (40, 45)", "i IN (40, 45)"),
    Form("`i IN (40, 41)`, neighbouring integers", "i IN (40, 41)", "i IN (40, 41)", "i IN (40, 41)", "i IN (40, 41)"),
    Form("`i IS NOT DISTINCT FROM 40`", "i IS NOT DISTINCT FROM 40", "i IS NOT DISTINCT FROM 40", "i <=> 40", "i <=> 40"),
    Form("`s.a = 40`", "s.a = 40", "s['a'] = 40", "s.a = 40", "s.a = 40"),
    Form("`s.b.c = 'c04'`", "s.b.c = 'c04'", "s['b']['c'] = 'c04'", "s.b.c = 'c04'", "s.b.c = 'c04'"),
    Form("`s.a IN (40, 45)`", "s.a IN (40, 45)", "s['a'] IN (40, 45)", "s.a IN (40, 45)", "s.a IN (40, 45)"),
    Form("`l[1] = 40`, the first element", "l[1] = 40", "l[1] = 40", "l[1] = 40", "l[0] = 40"),
    Form("`l[1] IN (40, 45)`", "l[1] IN (40, 45)", "l[1] IN (40, 45)", "l[1] IN (40, 45)", "l[0] IN (40, 45)"),
    Form("`l[-1] = 4040`, the last element", "l[-1] = 4040", "l[-1] = 4040", "l[-1] = 4040", "element_at(l, -1) = 4040"),
    Form("`ll[1][1] = 40`", "ll[1][1] = 40", "ll[1][1] = 40", "ll[1][1] = 40", "ll[0][0] = 40"),
    Form("`ls[1].x = 40`, a struct in a list", "ls[1].x = 40", "ls[1]['x'] = 40", "ls[1].x = 40", "ls[0].x = 40"),
    Form("`sl.q[1] = 40`, a list in a struct", "sl.q[1] = 40", "sl['q'][1] = 40", "sl.q[1] = 40", "sl.q[0] = 40"),
    Form("`m['k'] = 40`, a value of a map", "m['k'] = 40", "m['k'] = 40", "m['k'] = 40", "m['k'] = 40"),
    Form("`m['k'] IN (40, 45)`", "m['k'] IN (40, 45)", "m['k'] IN (40, 45)", "m['k'] IN (40, 45)", "m['k'] IN (40, 45)"),
    Form("a key of a map", "map_contains(m, 'key04')", "array_has(map_keys(m), 'key04')", "mapContainsKey(m, 'key04')", "map_contains_key(m, 'key04')"),
    Form("`l` contains 40", "list_contains(l, 40)", "array_has(l, 40)", "has(l, 40)", "array_contains(l, 40)"),
    Form("`40 = ANY(l)`", "40 = ANY(l)", "40 = ANY(l)", "", "exists(l, x -> x = 40)"),
    Form("`l` has any of 40, 41", "list_has_any(l, [40, 41])", "array_has_any(l, [40, 41])", "hasAny(l, [40, 41])", "arrays_overlap(l, array(40, 41))"),
    Form("`l = [40, 4040]`", "l = [40, 4040]", "l = make_array(40, 4040)", "l = [40, 4040]", "l = array(40, 4040)"),
    Form("the values of a map contain 40", "list_contains(map_values(m), 40)", "array_has(map_values(m), 40)", "has(mapValues(m), 40)", "array_contains(map_values(m), 40)"),
    Form(
        "a row per element, `UNNEST(l) = 40`",
        "SELECT n FROM (SELECT n, unnest(l) u FROM {source}) WHERE u = 40",
        "SELECT n FROM (SELECT n, unnest(l) u FROM {source}) WHERE u = 40",
        "SELECT n FROM {source} ARRAY JOIN l AS u WHERE u = 40",
        "SELECT n FROM (SELECT n, explode(l) u FROM {source}) WHERE u = 40",
    ),
    Form("`v.a::INT = 40`, a shredded VARIANT", "v.a::INT = 40", "", "", "variant_get(v, '$.a', 'int') = 40", "variant"),
    Form("`v.a::BIGINT = 40`, not the type that is stored", "v.a::BIGINT = 40", "", "", "variant_get(v, '$.a', 'bigint') = 40", "variant"),
    Form("`v.a::INT = 40`, with text in another row", "v.a::INT = 40", "", "", "variant_get(v, '$.a', 'int') = 40", "residual"),
    Form("`s.d = 4`, a DECIMAL(60,4)", "s.d = 4::DOUBLE", "", "", "", "decimal"),
    Form("`l[1] = 4`, a DECIMAL(60,4)", "l[1] = 4::DOUBLE", "", "", "", "decimal"),
)  # fmt: skip


def _rows(group: int) -> Iterator[dict[str, Any]]:
    for i in indexes(group):
        yield {
            "n": 1000 * group + i,
            "i": 10 * i,
            "s": {"a": 10 * i, "b": {"c": f"c{i:02}"}},
            "l": [10 * i, 10 * i + 4000],
            "ll": [[10 * i], [10 * i + 2]],
            "ls": [{"x": 10 * i, "y": f"y{i:02}"}, {"x": 10 * i + 1, "y": "z"}],
            "sl": {"q": [10 * i]},
            "m": [("k", 10 * i), (f"key{i:02}", 10 * i + 1)],
        }


def _nested(is_dictionary: bool) -> tuple[bytes, list[str]]:
    """The file without filters, and its leaves but for the row numbers."""
    sink = pa.BufferOutputStream()
    options = {"compression": "none", "use_dictionary": is_dictionary, "store_schema": False}
    with pq.ParquetWriter(sink, _SCHEMA, **options) as writer:
        for group in range(GROUPS):
            writer.write_table(pa.Table.from_pylist([*_rows(group)], _SCHEMA))
    data = bytes(sink.getvalue())
    chunks = pq.read_metadata(pa.BufferReader(data)).row_group(0)
    leaves = [chunks.column(index).path_in_schema for index in range(1, chunks.num_columns)]
    return data, leaves


def _decimal(is_dictionary: bool) -> tuple[bytes, list[str]]:
    """More digits than DuckDB has a type for."""
    sink = pa.BufferOutputStream()
    kind = pa.decimal256(60, 4)
    schema = pa.schema({"n": pa.int32(), "s": pa.struct({"d": kind}), "l": pa.list_(kind)})
    options = {"compression": "none", "use_dictionary": is_dictionary, "store_schema": False}
    with pq.ParquetWriter(sink, schema, **options) as writer:
        for group in range(GROUPS):
            rows = [
                {"n": 1000 * group + i, "s": {"d": Decimal(i)}, "l": [Decimal(i)]}
                for i in indexes(group)
            ]
            writer.write_table(pa.Table.from_pylist(rows, schema))
    return bytes(sink.getvalue()), ["s.d", "l.list.element"]


def _variant(is_dictionary: bool, residual: int | None) -> tuple[bytes, list[str]]:
    """`residual`: the value in group 1 that is text instead of a number."""
    groups = [
        [(1000 * g + i, str(10 * i) if (g, i) == (1, residual) else 10 * i) for i in indexes(g)]
        for g in range(GROUPS)
    ]
    return shredded(groups, is_dictionary), [TYPED]


def path_of(file: str, encoding: str, *, filtered: bool, is_damaged: bool) -> Path:
    state = ("damaged" if is_damaged else "sound") + ("-filtered" if filtered else "")
    return HERE / "files" / f"{file}-{encoding}-{state}.parquet"


def write() -> None:
    (HERE / "files").mkdir(parents=True, exist_ok=True)
    for encoding in ENCODINGS:
        is_dictionary = encoding == "dictionary"
        files = {
            "nested": _nested(is_dictionary),
            "variant": _variant(is_dictionary, None),
            "residual": _variant(is_dictionary, 5),
            "decimal": _decimal(is_dictionary),
        }
        for file, (plain, leaves) in files.items():
            for filtered in (False, True):
                data = built(plain, leaves, force=True) if filtered else plain
                for is_damaged in (False, True):
                    path = path_of(file, encoding, filtered=filtered, is_damaged=is_damaged)
                    path.write_bytes(damaged(data) if is_damaged else data)


def _word(session: Session, engine: str, form: Form, encoding: str) -> str:
    query = form.query(engine)
    if not query:
        return "not asked"

    def ask(*, filtered: bool, is_damaged: bool) -> list[Answer]:
        path = path_of(form.file, encoding, filtered=filtered, is_damaged=is_damaged)
        unused = {"type": "", "literal": "", "stored": "", "number": None}
        return [session.ask({"path": str(path), "query": query, **unused})]

    answers = Answers(
        ask(filtered=False, is_damaged=False),
        ask(filtered=False, is_damaged=True),
        ask(filtered=True, is_damaged=False),
        ask(filtered=True, is_damaged=True),
    )
    return outcome(answers, str(HERE), EXPECTED)[0]


def run(name: str, wanted: str) -> None:
    """Ask the versions of an engine, or the one that is `wanted`."""
    engine, path = ENGINES[name], NESTED / f"{name}.json"
    known = json.loads(path.read_text(encoding="utf-8"))["versions"] if path.exists() else {}
    found: dict[str, Any] = {}
    for version in VERSIONS[name]:
        if wanted not in ("", version):
            found |= {version: known[version]} if version in known else {}
            continue
        engine.install(version)
        session = Session(engine.command(version))
        found[version] = {"inside": session.inside} | {
            encoding: {
                form.shown: _word(session, name.partition("-")[0], form, encoding) for form in FORMS
            }
            for encoding in ENCODINGS
        }
        session.close()
    document = {"engine": engine.title, "settings": engine.settings, "versions": found}
    NESTED.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(names: Sequence[str]) -> None:
    write()
    for name in names or VERSIONS:
        engine, _, version = name.partition("==")
        if engine in VERSIONS:
            run(engine, version)


if __name__ == "__main__":
    main(sys.argv[1:])
