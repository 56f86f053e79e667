"""What the package writes and answers today, as digests: every fixture, and made files, by every verb.

A case is one line of text:

    a file that was written   size, XXH3-128 of its bytes; how many facts were told of it, XXH3-64
    facts                     how many there are, XXH3-64
    findings                  the rules that are broken, and how often; as facts
    verdicts                  of each literal, the first letters of the verdicts on all groups

What is behind the line, the facts and where in the file which bytes are, is in `facts.json.xz`, so
that a failure can say what has changed. Files that are not fixtures are made when they are needed;
their case `input` tells a maker that makes other files from a package that writes other bytes.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import calls
import pyarrow as pa
from calls import Facts, Refused
from conftest import FIXTURES
from pyarrow import orc
from xxhash import xxh3_64_hexdigest, xxh3_128_hexdigest

# The libraries whose bytes get into those that are written, or into the files that are made here.
LIBRARIES = ("cramjam", "cryptography", "numpy", "protobuf", "pyarrow", "pyorc", "thrift")

# Larger ones are not written again.
MOST_BYTES = 1 << 24

REFUSED = "refused"


# The bytes of a file are told in so many parts of equal length, and of each filter that is told of.
PARTS = 16

# By these names facts of one case are told apart; the other values are said of what they name.
KEYS = ("row_group", "stripe", "groups", "index_group", "column", "dialect", "rule", "literal")


class Case(NamedTuple):
    """`line`: what it is compared by. What is behind that: `facts`, and the first digits of the
    digests of the parts of a file, by what they are."""

    line: str
    facts: Sequence[dict[str, Any]] = ()
    parts: Mapping[str, str] = {}


def about(fact: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {fact[name]}" for name in KEYS if name in fact)


def parts_of(data: bytes, facts: Sequence[dict[str, Any]]) -> dict[str, str]:
    length = -(-len(data) // PARTS)
    ranges = {
        f"of {len(data)} bytes, {start} to {min(start + length, len(data))}": (start, length)
        for start in range(0, len(data), length)
    }
    for fact in facts:
        if fact.get("offset") is not None and fact.get("length") is not None:
            ranges[f"filter, {about(fact)}"] = fact["offset"], fact["length"]
    return {
        name: xxh3_64_hexdigest(data[start : start + size])[:3]
        for name, (start, size) in ranges.items()
    }


class Cases:
    """What became of one input, by the names of the cases; files are written to `folder`.

    `is_sealed`: nonces make every file another one, so that only its size is told.
    """

    def __init__(self, folder: Path, is_sealed: bool = False) -> None:
        self.found: dict[str, Case] = {}
        self._folder = folder
        self._is_sealed = is_sealed

    def clear(self) -> None:
        """Remove the files that were written, where there would be many."""
        for path in self._folder.iterdir():
            if path.stem.isdigit():
                path.unlink()

    def _note(self, name: str, find: Callable[[], Case]) -> None:
        assert name not in self.found, name
        try:
            self.found[name] = find()
        except Refused:
            self.found[name] = Case(REFUSED)

    def input(self, name: str, path: Path) -> None:
        self._note(name, lambda: self._file(path))

    def written(
        self, name: str, verb: Callable[..., Facts], source: Path, *arguments: Any, **options: Any
    ) -> Path:
        """What a verb writes; returns where it is, unless it was refused."""
        output = self._folder / f"{len(self.found)}{source.suffix}"
        self._note(name, lambda: self._file(output, verb(source, output, *arguments, **options)))
        return output

    def in_place(
        self, name: str, verb: Callable[..., Facts], source: Path, *arguments: Any, **options: Any
    ) -> None:
        """What a verb makes of a file itself."""
        copy = self._folder / f"{len(self.found)}{source.suffix}"
        shutil.copyfile(source, copy)
        self._note(name, lambda: self._file(copy, verb(copy, None, *arguments, **options)))

    def _file(self, path: Path, facts: Facts | None = None) -> Case:
        """`facts`: what the verb that wrote it told."""
        data = path.read_bytes()
        line = f"{len(data)}" if self._is_sealed else f"{len(data)} {xxh3_128_hexdigest(data)}"
        parts = {} if self._is_sealed else parts_of(data, facts or ())
        return Case(line if facts is None else f"{line}; {told(facts)}", facts or (), parts)

    def answered(self, name: str, verb: Callable[..., Facts], *arguments: Any, **how: Any) -> None:
        """The facts that a verb tells."""

        def find() -> Case:
            facts = verb(*arguments, **how)
            return Case(told(facts), facts)

        self._note(name, find)

    def validated(self, name: str, path: Path, **options: Any) -> None:
        def find() -> Case:
            findings = calls.validate(path, **options)
            rules = Counter(f"{found['rule']} {found['severity']}" for found in findings)
            shown = ", ".join(f"{rule} {count}" for rule, count in sorted(rules.items()))
            return Case(f"{shown}; {told(findings)}" if findings else "nothing", findings)

        self._note(name, find)

    def verdicts(
        self, name: str, path: Path, literals: dict[str, list[str]], **options: Any
    ) -> None:
        """A case for each column."""

        def find(column: str) -> Case:
            found = calls.probe(path, column, literals[column], **options)
            letters = ["".join(verdict[0] for verdict in verdicts) for verdicts in found]
            facts = zip(literals[column], letters, strict=True)
            return Case(
                " ".join(letters), [{"literal": each, "verdicts": of} for each, of in facts]
            )

        for column in literals:
            self._note(f"{name} {column}", partial(find, column))

    def dumped(self, name: str, path: Path, **options: Any) -> None:
        """The headers and bits of all filters that inspect finds."""
        self.answered(name, dumped, path, **options)


def told(facts: Sequence[dict[str, Any]]) -> str:
    """In any order."""
    lines = sorted("\t".join(map(text, fact.values())) for fact in facts)
    return f"{len(facts)} {xxh3_64_hexdigest(chr(10).join(lines).encode(errors='surrogateescape'))}"


def text(value: Any) -> str:
    if isinstance(value, bytes):
        return xxh3_128_hexdigest(value)
    # The last digits are those of a libm.
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def dumped(path: Path, keys: Any = None) -> Facts:
    facts: Facts = []
    is_orc = path.suffix == ".orc"
    for known in calls.inspect(path, keys):
        group, column = known["stripe" if is_orc else "row_group"], known["column"]
        for index in range(known["num_filters"]):
            more = {"index_group": index} if is_orc else {"dialect": known["dialect"]}
            fact = {"row_group": group, "column": column, "index_group": index}
            try:
                header, bits = calls.dump(path, column, group, keys=keys, **more)
            except Refused:
                facts.append({**fact, "bits": REFUSED})
            else:
                facts.append({**fact, "header": header, "bits": bits})
    return facts


# ------------------------------------------------------------------------------------------------
# Parquet


HEADERS = ("12-byte", "thrift", "page")
PLACEMENTS = ("footer", "chunk")
STRATEGIES = ("hive", "guava-32", "guava-64")
FORMS = ("list", "binary", "java")

# Small ones, with an empty row group among them: these get whatever can be asked for.
SAMPLES = ("java_nested", "pyarrow_empty_row_group")


def murmur3_dialects() -> Iterator[tuple[str, Any]]:
    for header in HEADERS:
        for placement in PLACEMENTS:
            for published in (False, True):
                name = f"murmur3 {header} {placement}{' published' if published else ''}"
                yield name, calls.murmur3(header, placement, published=published)
    yield "murmur3 seed 0", calls.murmur3("12-byte", "footer", published=False, seed=0)


def statistics_dialects() -> Iterator[tuple[str, Any]]:
    for strategy in STRATEGIES:
        for form in FORMS:
            yield f"statistics {strategy} {form}", calls.statistics(strategy, form)
    yield "statistics field 5", calls.statistics("hive", "binary", field_id=5)
    yield "statistics field 7", calls.statistics("guava-64", "list", field_id=7)
    yield "statistics 500", calls.statistics("guava-32", "list", fpp=0.01, expected_entries=500)


def has_values_of_another(path: Path) -> bool:
    """Whether there is a fixture with the same values in other encodings."""
    return path.stem.endswith(("_dictionary", "_v2")) or "_codec_" in path.stem


def described_literals(path: Path) -> dict[str, list[str]]:
    """Of each column one that only this row group has, for each of them, and two that none has."""
    described = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    found = {}
    for column in described["columns"]:
        present = [group["present"][0] for group in column["row_groups"] if group["present"]]
        if present or column["absent"]:
            found[column["column"]] = [*present, *column["absent"][:2]]
    return found


def of_parquet(path: Path, folder: Path) -> dict[str, Case]:
    """A fixture."""
    cases, columns = Cases(folder), calls.columns(path)
    literals = described_literals(path)
    has_filters = path.stem.endswith("_filters")
    existing = {"existing": "replace"} if has_filters else {}
    cases.input("input", path)
    cases.validated("validate", path)

    built = cases.written("build", calls.build, path, columns, **existing)
    cases.written("build, group 0", calls.build, path, columns, groups=[0], **existing)
    if not has_values_of_another(path):
        for name, how in (
            ("exact", {"exact_blocks": True}),
            ("ndv", {"ndv": 1000}),
            ("small", {"max_bytes": 64, "force": True}),
        ):
            cases.written(f"build, {name}", calls.build, path, columns, **how, **existing)
        cases.validated("built, validate", built)
    cases.written("built, replace", calls.build, built, columns, existing="replace", fpp=0.001)
    cases.written("built, strip", calls.strip, built)
    cases.answered("built, inspect", calls.inspect, built)
    cases.verdicts("built, probe", built, literals)

    if has_filters:
        _of_filters(cases, path, columns, literals)
    if path.stem in SAMPLES:
        _of_sample(cases, path, columns, literals, built)
        _in_every_dialect(cases, path, columns)
        _beside(cases, built, columns, literals)
    elif not has_values_of_another(path):
        _in_older_dialects(cases, path, columns)
    return cases.found


def _of_filters(
    cases: Cases, path: Path, columns: Sequence[str], literals: dict[str, list[str]]
) -> None:
    """What there is to ask of filters by other writers."""
    cases.written("strip", calls.strip, path)
    cases.written("keep", calls.build, path, columns, existing="keep")
    cases.written("error", calls.build, path, columns, existing="error")
    cases.written("repair", calls.repair, path)
    cases.written("drop bad", calls.repair, path, drop_bad=True)
    cases.written("rebuild", calls.repair, path, rebuild=True)
    cases.in_place("strip in place", calls.strip, path)
    cases.in_place("repair in place", calls.repair, path)
    cases.in_place("rebuild in place", calls.repair, path, rebuild=True)
    cases.validated("validate, shallow", path, deep=False)
    cases.answered("inspect", calls.inspect, path)
    cases.dumped("dump", path)
    cases.verdicts("probe", path, literals)


def _of_sample(
    cases: Cases, path: Path, columns: Sequence[str], literals: dict[str, list[str]], built: Path
) -> None:
    cases.written("strip", calls.strip, path)
    cases.written("repair", calls.repair, path)
    cases.written("build, one thread", calls.build, path, columns, threads=1)
    cases.written("build, 1 in 5", calls.build, path, columns, fpp=0.2)
    cases.written("build, one column", calls.build, path, columns[-1:])
    cases.written("build, small, without force", calls.build, path, columns, max_bytes=64)
    cases.in_place("build in place", calls.build, path, columns)
    cases.in_place("built, build in place", calls.build, built, columns)
    cases.in_place("built, strip in place", calls.strip, built)
    cases.written("built, strip group 0", calls.strip, built, groups=[0])
    cases.written("built, strip a column", calls.strip, built, columns=columns[-1:])
    cases.written("built, repair", calls.repair, built)
    cases.written("built, rebuild", calls.repair, built, rebuild=True)
    cases.dumped("built, dump", built)
    exact = cases.written(
        "build, exact, 1 in 1000", calls.build, path, columns, exact_blocks=True, fpp=0.001
    )
    cases.answered("diff", calls.diff, built, exact)
    cases.answered("diff, the fixture", calls.diff, path, built)
    cases.answered("advise", calls.advise, path)


def _in_older_dialects(cases: Cases, path: Path, columns: Sequence[str]) -> None:
    """How values are hashed by both; by every strategy, where there is most to hash."""
    has_types = path.stem.endswith("_types")
    of_2018 = calls.murmur3("12-byte", "footer", published=False)
    murmur3 = cases.written("murmur3", calls.build, path, columns, dialect=of_2018)
    for strategy in STRATEGIES if has_types else STRATEGIES[:1]:
        name, of_2015 = f"statistics {strategy}", calls.statistics(strategy, "binary")
        statistics = cases.written(name, calls.build, path, columns, dialect=of_2015)
    if has_types:
        cases.validated("murmur3, validate", murmur3)
        cases.validated("statistics, validate", statistics)


def _in_every_dialect(cases: Cases, path: Path, columns: Sequence[str]) -> None:
    for name, dialect in (*murmur3_dialects(), *statistics_dialects()):
        older = cases.written(name, calls.build, path, columns, dialect=dialect)
        cases.written(f"{name}, strip", calls.strip, older)


def _beside(
    cases: Cases, built: Path, columns: Sequence[str], literals: dict[str, list[str]]
) -> None:
    """Filters of older dialects in a file that has those of today."""
    for name, dialect in (
        ("murmur3", calls.murmur3("page", "chunk", published=False)),
        ("statistics", calls.statistics("hive", "java")),
    ):
        again = {"dialect": dialect, "existing": "replace"}
        older = cases.written(f"built, {name}", calls.build, built, columns, dialect=dialect)
        cases.written(f"built, {name}, replace", calls.build, older, columns, **again)
        cases.written(f"built, {name}, strip", calls.strip, older)
        cases.written(f"built, {name}, repair", calls.repair, older)
        cases.validated(f"built, {name}, validate", older)
        cases.answered(f"built, {name}, inspect", calls.inspect, older)
        cases.dumped(f"built, {name}, dump", older)
        cases.verdicts(f"built, {name}, probe", older, literals, dialect=name)


def of_repairs(folder: Path) -> dict[str, Case]:
    """Pointers that dangle, lengths that are missing, and the like."""
    from make.parquet_files import built, written
    from make.repairs import LIKE_A_FILTER, REPAIRS

    cases = Cases(folder)
    rows = range(400)
    table = pa.table(
        {
            "a": [row * 7919 % 100_003 for row in rows],
            "s": [f"value {row}" for row in rows],
            "b": [row % 2 == 0 for row in rows],
            "f": [LIKE_A_FILTER for _ in rows],
        }
    )
    sound = built(written(table, row_group_size=200, write_page_index=True), "as")
    counts: Counter[str] = Counter()
    for rule, make, _ in REPAIRS:
        counts[rule] += 1
        path = folder / f"{rule} {counts[rule]}.parquet"
        path.write_bytes(make(sound))
        _all_mends(cases, path.stem, path)
    return cases.found


def of_defects(module: str, folder: Path) -> dict[str, Case]:
    """Files that break a rule."""
    is_sealed = module == "defects_security"
    defects = getattr(import_module(f"make.{module}"), module.removeprefix("defects_").upper())
    cases = Cases(folder, is_sealed)
    for defect in defects:
        place = folder / f"{defect.rule} {defect.name}".replace("/", " ")
        place.mkdir()
        path = defect.make(place)
        _all_mends(cases, str(defect), path, defect.policy, defect.keys)
        shutil.rmtree(place)
    return cases.found


def _all_mends(
    cases: Cases, name: str, path: Path, policy: dict[str, Any] | None = None, keys: Any = None
) -> None:
    """What is found in a file, and what is made of it."""
    policy = policy or {}
    cases.input(f"{name}: input", path)
    cases.validated(f"{name}: validate", path, keys=keys, **policy)
    # Where there is more to find in the values.
    if "PB3" in name or "PB4" in name:
        cases.validated(f"{name}: validate, shallow", path, keys=keys, deep=False, **policy)
    if path.stat().st_size > MOST_BYTES:
        return
    cases.written(f"{name}: repair", calls.repair, path, keys=keys)
    cases.written(f"{name}: rebuild", calls.repair, path, keys=keys, rebuild=True)
    # Where values are missing; elsewhere that is a repair.
    if "PB4" in name:
        cases.written(f"{name}: drop bad", calls.repair, path, keys=keys, drop_bad=True)
    # Where filters are in strange places, or of another kind.
    if "PB1" in name or "PB7" in name:
        cases.written(f"{name}: strip", calls.strip, path, keys=keys)
    cases.clear()


def of_encrypted(folder: Path) -> dict[str, Case]:
    """Encrypted copies of fixtures: no bytes, but for the filters as they are when decrypted.

    Pages of these have no checksums, which of encrypted ones are random, and take more or less room.
    """
    from make.encrypting import FOOTER_KEY, Recipe, encrypt

    own = b"k" * 24
    cases = Cases(folder, is_sealed=True)
    for stem in ("duckdb_nested", "pyarrow_filters"):
        plain = FIXTURES / f"{stem}.parquet"
        columns = calls.columns(plain)
        # In turn with a key of their own, with the footer's, and in plaintext.
        mixed = {name: (own, None)[n % 3] for n, name in enumerate(columns) if n % 3 < 2}
        for mode, recipe in (
            ("uniform", Recipe()),
            ("uniform, CTR", Recipe(algorithm="AES_GCM_CTR_V1")),
            ("columns", Recipe(columns=mixed, padding=77)),
            ("columns, signed", Recipe(columns=mixed, plaintext_footer=True)),
            ("prefix supplied", Recipe(columns=mixed, aad_prefix=b"p", stores_prefix=False)),
        ):
            path = folder / f"{stem} {mode}.parquet"
            path.write_bytes(encrypt(plain.read_bytes(), recipe).data)
            of_columns = {name: key for name, key in (recipe.columns or {}).items() if key}
            prefix = None if recipe.stores_prefix else recipe.aad_prefix
            keys = calls.keys(FOOTER_KEY, of_columns, prefix)
            _of_encrypted(cases, f"{stem}, {mode}", path, columns, keys, described_literals(plain))
    return cases.found


def _of_encrypted(
    cases: Cases, name: str, path: Path, columns: Sequence[str], keys: Any,
    literals: dict[str, list[str]],
) -> None:  # fmt: skip
    cases.input(f"{name}: input", path)
    built = cases.written(f"{name}: build", calls.build, path, columns, keys=keys)
    again = {"keys": keys, "existing": "replace", "exposed": True}
    cases.written(f"{name}: replace", calls.build, built, columns, **again)
    cases.written(f"{name}: build without keys", calls.build, path, columns)
    cases.written(f"{name}: strip", calls.strip, built, keys=keys)
    cases.written(f"{name}: repair", calls.repair, built, keys=keys)
    cases.written(f"{name}: rebuild", calls.repair, built, keys=keys, rebuild=True)
    cases.validated(f"{name}: validate", built, keys=keys)
    cases.validated(f"{name}: validate without keys", built)
    cases.answered(f"{name}: inspect", calls.inspect, built, keys=keys)
    cases.dumped(f"{name}: dump", built, keys=keys)
    cases.verdicts(f"{name}: probe", built, dict(list(literals.items())[:6]), keys=keys)


# ------------------------------------------------------------------------------------------------
# ORC


CODECS = ("uncompressed", "zlib", "snappy", "lz4", "zstd")

# pyorc hashes what happens to lie behind a CHAR.
UNSTABLE = {"CHAR by pyorc"}

# Of the file by ORC Java, some values that it has, and some that it has not.
ORIGINAL = {
    "number": ["0", "7919", "8070379", "1", "-7919"],
    "moment": ["1970-01-12T08:46:40.007", "1970-01-12T13:46:40.007", "2001-01-01"],
    "flag": ["true"],
}


def of_orc(path: Path, folder: Path) -> dict[str, Case]:
    """A fixture."""
    cases = Cases(folder)
    _of_orc(cases, path, ORIGINAL)
    return cases.found


def of_made_orc(codec: str, folder: Path) -> dict[str, Case]:
    """Every type in some stripes. Some columns have filters by ORC C++, but not that of BYTE, whose
    filters are others each time."""
    from make.orc_files import all_types

    table = all_types()
    path = folder / f"{codec}.orc"
    orc.write_table(
        table, path, compression=codec, row_index_stride=1000, stripe_size=1, batch_size=1500,
        bloom_filter_columns=[2, 4, 7], bloom_filter_fpp=0.01,
    )  # fmt: skip
    cases = Cases(folder)
    if codec == "zlib":
        _of_orc(cases, path, stored_literals(table))
    else:
        _of_codec(cases, path)
    return cases.found


def _of_codec(cases: Cases, path: Path) -> None:
    """What depends on a codec: streams and footers."""
    columns = calls.columns(path)
    cases.input("input", path)
    built = cases.written("build", calls.build, path, columns)
    cases.written(
        "replace, both", calls.build, path, columns, both_streams=True, existing="replace"
    )
    cases.written("strip", calls.strip, path)
    cases.written("built, strip", calls.strip, built)
    cases.written("built, rebuild", calls.repair, built, rebuild=True)
    cases.validated("built, validate", built)
    cases.answered("built, inspect", calls.inspect, built)


def stored_literals(table: pa.Table) -> dict[str, list[str]]:
    """Of each column of single values three that are stored, and one that hardly is."""
    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_nested(column.type):
            stored = column.drop_null()
            found[name] = [_literal(stored[at].as_py()) for at in (0, 1400, len(stored) - 1)]
            found[name].append(_literal(stored[-1].as_py())[:-1] + "7")
    return found


def _literal(value: Any) -> str:
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return value.isoformat() if isinstance(value, date | datetime) else str(value)


def _of_orc(cases: Cases, path: Path, literals: dict[str, list[str]]) -> None:
    columns = calls.columns(path)
    cases.input("input", path)
    built = cases.written("build", calls.build, path, columns)
    cases.written("build, error", calls.build, built, columns, existing="error")
    cases.written("build, exact", calls.build, path, columns, exact_blocks=True)
    cases.in_place("build in place", calls.build, path, columns)
    again = {"existing": "replace"}
    both = cases.written("replace, both", calls.build, path, columns, both_streams=True, **again)
    for name, how in (
        ("defaults", {}),
        ("one thread", {"threads": 1}),
        ("1 in 1000", {"fpp": 0.001}),
        ("ndv", {"ndv": 50}),
        ("ndv, force", {"ndv": 50, "force": True}),
        ("stripe 0", {"groups": [0]}),
    ):
        cases.written(f"replace, {name}", calls.build, path, columns, **how, **again)
    cases.written("replace, one column", calls.build, path, columns[:1], **again)
    cases.in_place("replace in place", calls.build, path, columns, **again)
    cases.written("strip", calls.strip, path)
    cases.written("repair", calls.repair, path)
    cases.written("drop bad", calls.repair, path, drop_bad=True)
    cases.written("rebuild", calls.repair, path, rebuild=True, fpp=0.02)
    cases.in_place("rebuild in place", calls.repair, path, rebuild=True)
    cases.validated("validate", path)
    cases.validated("validate, shallow", path, deep=False)
    cases.answered("advise", calls.advise, path)
    cases.answered("diff", calls.diff, path, built)
    cases.verdicts("probe", path, literals)
    for name, made in (("built", built), ("both", both)):
        cases.written(f"{name}, strip", calls.strip, made)
        cases.written(f"{name}, strip stripe 0", calls.strip, made, groups=[0])
        cases.written(f"{name}, strip a column", calls.strip, made, columns=columns[:1])
        cases.written(f"{name}, rebuild", calls.repair, made, rebuild=True)
        cases.validated(f"{name}, validate", made)
        cases.answered(f"{name}, inspect", calls.inspect, made)
        cases.dumped(f"{name}, dump", made)
        cases.verdicts(f"{name}, probe", made, literals)


def of_orc_defects(folder: Path) -> dict[str, Case]:
    """ORC files that break a rule."""
    from make.orc_defects import ORC

    cases = Cases(folder)
    for number, defect in enumerate(ORC):
        if defect.name in UNSTABLE:
            continue
        path = folder / f"defect {number}.orc"
        path.write_bytes(defect.make())
        _all_mends(cases, str(defect), path, defect.policy)
        path.unlink()
    return cases.found


# ------------------------------------------------------------------------------------------------

KINDS = ("structure", "portability", "quality", "truth", "security", "older", "footers")

# What there is to ask of every input, by its name; each is given a folder of its own.
GROUPS: dict[str, Callable[[Path], dict[str, Case]]] = {
    **{path.name: partial(of_parquet, path) for path in sorted(FIXTURES.glob("**/*.parquet"))},
    **{path.name: partial(of_orc, path) for path in sorted(FIXTURES.glob("**/*.orc"))},
    **{f"made {codec} orc": partial(of_made_orc, codec) for codec in CODECS},
    **{f"defects {kind}": partial(of_defects, f"defects_{kind}") for kind in KINDS},
    "defects orc": of_orc_defects,
    "encrypted": of_encrypted,
    "repairs": of_repairs,
}


def group_of(case: str) -> str:
    """The group that a case of the digests is in."""
    return case.partition(" | ")[0]


def cases_of(group: str) -> dict[str, Case]:
    """All cases of a group, by their full names."""
    with TemporaryDirectory() as folder:
        found = GROUPS[group](Path(folder))
    return {f"{group} | {name}": case for name, case in found.items()}
