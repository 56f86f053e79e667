"""What the actions of a Delta log say of a file.

Spec: PROTOCOL.md, "Add File and Remove File", "Deletion Vectors".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

# As the JSON of a commit has it: what is not known here is kept as it was read.
Action: TypeAlias = dict[str, Any]

# What commits from here say of their writer. They record sizes anew, and add no file.
ENGINE: Final = "parquet-bloom"

# Of an `add` in a checkpoint: statistics in a second form.
PARSED: Final = "stats_parsed"

# A file is known by its path, and by its deletion vector.
FileKey = tuple[str, str | None]


def deletion_vector_id(action: Action) -> str | None:
    """Spec: "Deletion Vectors", derived field uniqueId."""
    found = action.get("deletionVector")
    if not found:
        return None
    offset = found.get("offset")
    at = "" if offset is None else f"@{offset}"
    return f"{found['storageType']}{found['pathOrInlineDv']}{at}"


def is_ours(action: Action) -> bool:
    """Whether it says that the commit is from here."""
    return (action.get("commitInfo") or {}).get("engineInfo") == ENGINE


def decoded(path: str) -> str:
    """The path in an action, which is percent-encoded once."""
    return unquote(path, errors="surrogateescape")


# The types of the fields that are looked at, which may be null or missing but for those below.
_TYPES: Final[dict[str, dict[str, type]]] = {
    "add": {"path": str, "size": int, "deletionVector": dict, "partitionValues": dict},
    "remove": {"path": str, "deletionVector": dict},
    "protocol": {"readerFeatures": list, "writerFeatures": list},
    "metaData": {"configuration": dict, "partitionColumns": list, "schemaString": str},
    "sidecar": {"path": str},
    "commitInfo": {},
}
_VECTOR: Final = {"storageType": str, "pathOrInlineDv": str, "cardinality": int}
_NEEDED: Final = {"add": ("path", "size"), "remove": ("path",), "metaData": ("schemaString",)}


def check(action: Action) -> None:
    """Raise TypeError for a field that is looked at and has another type than in the protocol, KeyError
    for a missing one."""
    for kind, types in _TYPES.items():
        found = action.get(kind)
        if found is None:
            continue
        _check_type(found, dict)
        for name in _NEEDED.get(kind, ()):
            _check_type(found[name], types[name])
        for name, expected in types.items():
            if found.get(name) is not None:
                _check_type(found[name], expected)
        vector = found.get("deletionVector") or {}
        for name, expected in _VECTOR.items() if vector else ():
            _check_type(vector[name], expected)
        for each in ("configuration", "partitionValues"):
            _check_texts((found.get(each) or {}).values(), is_null_text=True)
        for each in ("readerFeatures", "writerFeatures", "partitionColumns"):
            _check_texts(found.get(each) or ())


def _check_texts(values: Iterable[object], is_null_text: bool = False) -> None:
    for value in values:
        if value is not None or not is_null_text:
            _check_type(value, str)


def _check_type(value: object, expected: type) -> None:
    # True is an int, and no size.
    if type(value) is not expected:
        raise TypeError(value)
