"""What is said of an object in S3, which a new version is told again: properties, tags, and who may read
it."""

from __future__ import annotations

import errno
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from parquet_bloom.storage.objects.s3_client import BOTO3, FAILURES, Client, code_of, status_of
from parquet_bloom.storage.traffic import GET

# What HeadObject says that an upload takes under the same name.
_KEPT: Final = (
    "BucketKeyEnabled",
    "CacheControl",
    "ContentDisposition",
    "ContentEncoding",
    "ContentLanguage",
    "ContentType",
    "Expires",
    "Metadata",
    "ObjectLockLegalHoldStatus",
    "ObjectLockMode",
    "ObjectLockRetainUntilDate",
    "SSEKMSKeyId",
    "ServerSideEncryption",
    "StorageClass",
    "WebsiteRedirectLocation",
)
# Stores without tags.
_NO_TAGS: Final = {"NotImplemented", "NoSuchTagSet", "MethodNotAllowed"}
# What a grant allows, and how an upload is told.
_GRANTS: Final = {
    "FULL_CONTROL": "GrantFullControl",
    "READ": "GrantRead",
    "READ_ACP": "GrantReadACP",
    "WRITE_ACP": "GrantWriteACP",
}
_GRANTEES: Final = {"ID": "id", "URI": "uri", "EmailAddress": "emailAddress"}


def kept(client: Client, head: Mapping[str, Any]) -> dict[str, Any]:
    """What an upload takes to say it again; `head`: what HeadObject says. Raises FAILURES, PermissionError
    if tags would be lost."""
    said = {name: head[name] for name in _KEPT if name in head}
    return said | _tags(client) | _grants(client)


def has_grants(said: Mapping[str, Any]) -> bool:
    return not said.keys().isdisjoint(_GRANTS.values())


def _tags(client: Client) -> dict[str, str]:
    try:
        tags = client.ask("get_object_tagging", GET)["TagSet"]
    except FAILURES as error:
        if code_of(error) in _NO_TAGS or status_of(error) in (405, 501):
            return {}
        if status_of(error) == 403:
            raise PermissionError(
                errno.EACCES,
                f"its tags would be lost, as they cannot be read ({BOTO3.said(error)}): allow"
                " s3:GetObjectTagging",
            ) from None
        raise
    return {"Tagging": urlencode([(tag["Key"], tag["Value"]) for tag in tags])} if tags else {}


def _grants(client: Client) -> dict[str, str]:
    """None for what every object has, full control of its owner: buckets without access control lists
    refuse any other. Those that cannot be read are not kept, as in most buckets there are none."""
    try:
        answer = client.ask("get_object_acl", GET)
    except FAILURES as error:
        if 400 <= status_of(error) < 500 or status_of(error) == 501:
            return {}
        raise
    owner = answer.get("Owner", {}).get("ID")
    found: dict[str, list[str]] = defaultdict(list)
    is_more = False
    for grant in answer.get("Grants", ()):
        grantee, allowed = grant.get("Grantee", {}), _GRANTS.get(grant.get("Permission"))
        names = [(word, grantee[name]) for name, word in _GRANTEES.items() if grantee.get(name)]
        if allowed is None or not names:
            continue
        found[allowed] += [f'{word}="{name}"' for word, name in names[:1]]
        is_more = is_more or (allowed, names[0]) != ("GrantFullControl", ("id", owner))
    return {allowed: ", ".join(grantees) for allowed, grantees in found.items()} if is_more else {}
