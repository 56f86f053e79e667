"""What is said of a blob, which a new version is told again: properties, metadata, index tags."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from parquet_bloom.storage.objects.azure_client import (
    AZURE,
    FAILURES,
    Client,
    code_of,
    parsed,
    status_of,
)
from parquet_bloom.storage.traffic import GET

# What is said of a blob, and how a new version is told.
_KEPT: Final = {
    "Cache-Control": "x-ms-blob-cache-control",
    "Content-Disposition": "x-ms-blob-content-disposition",
    "Content-Encoding": "x-ms-blob-content-encoding",
    "Content-Language": "x-ms-blob-content-language",
    "Content-Type": "x-ms-blob-content-type",
    "x-ms-encryption-scope": "x-ms-encryption-scope",
}
# Others are set by the account, or not for those who write.
_TIERS: Final = {"Cool", "Cold", "Hot"}
# Accounts and stores without tags.
_NO_TAGS: Final = {
    "BlobTagsNotSupportedForAccountType",
    "FeatureNotYetSupportedForHierarchicalNamespaceAccounts",
    "NotImplemented",
}


def kept(client: Client, head: Mapping[str, str]) -> dict[str, str]:
    """The headers that say it again; `head`: those of an answer about the blob. Raises FAILURES,
    PermissionError if tags would be lost."""
    return _properties(head) | _tags(client, has_folders="x-ms-resource-type" in head)


def _properties(head: Mapping[str, str]) -> dict[str, str]:
    found = {told: head[said] for said, told in _KEPT.items() if said in head}
    found |= {name: head[name] for name in head if name.lower().startswith("x-ms-meta-")}
    if head.get("x-ms-access-tier-inferred") != "true" and head.get("x-ms-access-tier") in _TIERS:
        found["x-ms-access-tier"] = head["x-ms-access-tier"]
    return found


def _tags(client: Client, has_folders: bool) -> dict[str, str]:
    """`has_folders`: of an account with a hierarchical namespace, which has no tags."""
    try:
        answer = client.ask("GET", GET, {"comp": "tags"})
    except FAILURES as error:
        if code_of(error) in _NO_TAGS or status_of(error) in (405, 501):
            return {}
        if status_of(error) == 403 and has_folders:
            return {}
        if status_of(error) == 403:
            raise PermissionError(
                errno.EACCES,
                f"its index tags would be lost, as they cannot be read ({AZURE.said(error)}):"
                " allow tags/read and tags/write, as the role Storage Blob Data Owner does, or"
                " make a SAS with t",
            ) from None
        raise
    tags = [
        (tag.findtext("Key", ""), tag.findtext("Value", "")) for tag in parsed(answer).iter("Tag")
    ]
    return {"x-ms-tags": urlencode(tags)} if tags else {}
