"""Write docs/schemas/VERB.json, JSON Schemas of what `pbloom VERB --json` prints,
from the classes of reports; `make docs` runs it.

Keys that only some reports have are optional. More keys are allowed, because versions to come may add some.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import Field, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import parquet_bloom as pb

# Their classes are parts of reports that import them only when there are any.
import parquet_bloom.container.descriptions
import parquet_bloom.engines.settings
import parquet_bloom.storage.traffic
from parquet_bloom import vocabulary
from parquet_bloom.container import UNITS, Units
from parquet_bloom.container.shown_names import key_of, place_fields

Schema = dict[str, Any]

FOLDER = Path(__file__).with_name("schemas")

# Each as one file and format, unless its documents say no format.
REPORTS: dict[str, type] = {
    "advise": pb.AdviceReport,
    "build": pb.BuildReport,
    "build-table": pb.TableBuildReport,
    "clean-temp": pb.CleaningReport,
    "diff": pb.FileDiff,
    "find": pb.FindReport,
    "index-add": pb.IndexChange,
    "index-check": pb.IndexCheck,
    "index-compact": pb.IndexCompaction,
    "index-probe": pb.IndexReport,
    "inspect": pb.FileInspection,
    "inspect-summary": pb.InspectionSummary,
    "probe": pb.ProbeReport,
    "probe-by-value": pb.ValuesReport,
    "recover": pb.RecoveryReport,
    "repair": pb.RepairReport,
    "repair-table": pb.TableRepairReport,
    "strip": pb.StripReport,
    "strip-table": pb.TableStripReport,
    "validate": pb.ValidationReport,
}

# What `--columns` of find adds to each row: the values of these columns.
ADDED: dict[type, dict[str, Schema]] = {pb.FoundRow: {"values": {"type": "object"}}}

PLAIN = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


def schema(verb: str) -> Schema:
    """Of the documents of a verb."""
    report = REPORTS[verb]
    has_format = "format" in {each.name for each in fields(report)}
    forms = [of_class(report, units, name) for name, units in UNITS.items()][
        : 2 if has_format else 1
    ]
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"pbloom {_words(verb)} --json",
    }
    return about | (forms[0] if len(forms) == 1 else {"oneOf": forms})


def _words(verb: str) -> str:
    """Of a command line."""
    return re.sub("-(?=table|by-value|summary)", " --", verb).replace("index-", "index ")


def of_class(kind: type[Any], units: Units, name_of_format: str = "") -> Schema:
    """Of a report or a part of one; of a whole report, for files of one format."""
    properties: dict[str, Schema] = {}
    optional: set[str] = set()
    for each in fields(kind):
        if each.name == "place":
            for key in place_fields(pb.Place(0, 0), units):
                properties[key] = {"type": ["integer", "null"]}
            # A place in a Parquet file has no group, and neither has every one in an ORC file.
            optional |= set(place_fields(pb.Place(0, 0), units)) - set(place_fields(None, units))
            continue
        if each.metadata.get("in_python"):
            continue
        key = key_of(each.name, units)
        properties[key] = of_field(each, kind, units)
        if each.metadata.get("where_known"):
            optional.add(key)
    if name_of_format and "format" in properties:
        properties["format"] = {"const": name_of_format}
    required = [key for key in properties if key not in optional]
    properties |= ADDED.get(kind, {})
    return {"type": "object", "properties": properties, "required": required}


def of_field(field: Field[Any], kind: type[Any], units: Units) -> Schema:
    """Items that are made when they are asked for are of a class that the report names."""
    if field.metadata.get("as_text"):
        text: Schema = {"type": "string"}
        return text if field.type == "Any" else {"type": "array", "items": text}
    item = getattr(kind, "_item", None)
    if item is not None and field.name == kind._rows[0]:
        return {"type": "array", "items": of_class(item, units)}
    return of_annotation(str(field.type), kind, units)


def of_annotation(annotation: str, kind: type[Any], units: Units) -> Schema:
    name = annotation.removesuffix(" | None")
    found: Schema
    if name in PLAIN:
        found = {"type": PLAIN[name]}
    elif listed := re.fullmatch(r"(?:tuple|Sequence)\[(.+?)(?:, \.\.\.)?\]", name):
        found = {"type": "array", "items": of_annotation(listed[1], kind, units)}
    elif (meant := class_named(name, kind)) is not None:
        found = of_class(meant, units)
    elif words := words_of(name, kind):
        # There may be more in versions to come.
        found = {"type": "string", "examples": words}
    else:
        # Values of columns, and what has several types.
        return {}
    return {"anyOf": [found, {"type": "null"}]} if name != annotation else found


def words_of(name: str, kind: type[Any]) -> list[str]:
    """Those of a closed list that an annotation in a class means; none if it means something else."""
    if hasattr(vocabulary, name):
        return list(vocabulary.words(getattr(vocabulary, name)))
    meant = getattr(sys.modules[kind.__module__], name, None)
    is_list = isinstance(meant, type) and issubclass(meant, StrEnum)
    return [str(each) for each in meant] if is_list else []


def class_named(name: str, kind: type[Any]) -> type[Any] | None:
    """The class of parts of reports that an annotation in a class means, wherever it is."""
    modules = [module for at, module in sys.modules.items() if at.startswith("parquet_bloom.")]
    for module in (sys.modules[kind.__module__], *modules):
        found = getattr(module, name, None)
        if isinstance(found, type) and is_dataclass(found):
            return found
    return None


def text(verb: str) -> str:
    return json.dumps(schema(verb), indent=1) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for verb in REPORTS:
        (FOLDER / f"{verb}.json").write_text(text(verb))
