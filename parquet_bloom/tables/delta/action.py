"""What the actions of a Delta log say of a file.

Spec: PROTOCOL.md, "Add File and Remove File", "Deletion Vectors".
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote

# Of an `add` in a checkpoint: statistics in a second form.
PARSED: Final = "stats_parsed"

# A file is known by its path, and by its deletion vector.
FileKey = tuple[str, str | None]


def deletion_vector_id(action: dict[str, Any]) -> str | None:
    """Spec: "Deletion Vectors", derived field uniqueId."""
    found = action.get("deletionVector")
    if not found:
        return None
    offset = found.get("offset")
    at = "" if offset is None else f"@{offset}"
    return f"{found['storageType']}{found['pathOrInlineDv']}{at}"


def decoded(path: str) -> str:
    """The path in an action, which is percent-encoded once."""
    return unquote(path, errors="surrogateescape")
