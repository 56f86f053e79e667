"""Findings as SARIF 2.1.0, which code scanning and editors read.

    version, runs: [ tool.driver: name, version, rules     the rules that are broken
                     invocations: toolExecutionNotifications     files that could not be checked
                     artifacts                             files that were
                     results: ruleId, level, message, locations, partialFingerprints ]

GitHub refuses runs of more than 25,000 results, requires a region even for files without lines, and
distinguishes alerts by the fingerprint `primaryLocationLineHash` alone.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html;
https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/sarif-support
"""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from parquet_bloom import __version__
from parquet_bloom.render.findings import explanation, place_of, statement
from parquet_bloom.render.terminal import printable
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.rule import rules
from parquet_bloom.storage.source import is_url, local_path
from parquet_bloom.verbs.validate import Failure, ValidationReport

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

# GitHub takes no more.
MAX_RESULTS = 25_000

# The working folder of the command, to which paths are relative.
_BASE = "%SRCROOT%"

# Reserved characters and existing escapes stay as they are in a URL.
_URL_CHARACTERS = ":/?#[]@!$&'()*+,;=%"

Object = dict[str, Any]


def sarif_log(reports: Sequence[ValidationReport], failures: Sequence[Failure]) -> Object:
    """One run over all files, the most severe results first. Results beyond MAX_RESULTS are left out,
    and a notification says so."""
    found = sorted(
        ((report.path, finding) for report in reports for finding in report.findings),
        key=lambda item: -item[1].rank,
    )
    kept = found[:MAX_RESULTS]
    broken = sorted({finding.rule for _, finding in kept})
    # A file that is named twice is one artifact.
    artifacts = {
        location["uri"]: {"location": location, "roles": ["analysisTarget"]}
        for location in (_artifact_location(report.path) for report in reports)
    }
    driver = {
        "name": "pbloom",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in broken],
    }
    base = {"description": _message("The folder that pbloom was run in.")}
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(failures, len(found))],
        "originalUriBaseIds": {_BASE: base},
        "artifacts": list(artifacts.values()),
        "results": list(_results(kept, broken, list(artifacts))),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: str) -> Object:
    about = rules()[rule]
    return {
        "id": rule,
        "name": "".join(word.capitalize() for word in about.name.split("-")),
        "shortDescription": _message(f"{about.title}."),
        "fullDescription": _message(f"{about.title}."),
        "help": _message(about.plain_text) | {"markdown": about.text},
        "defaultConfiguration": {"level": str(about.severity)},
    }


def _invocation(failures: Sequence[Failure], num_findings: int) -> Object:
    notifications: list[Object] = [
        {
            "level": "error",
            "message": _message(_sentence(failure.message)),
            "locations": [
                {"physicalLocation": {"artifactLocation": _artifact_location(failure.path)}}
            ],
        }
        for failure in failures
    ]
    if num_findings > MAX_RESULTS:
        text = f"Of {num_findings:,} findings, only the {MAX_RESULTS:,} most severe are here."
        notifications.append({"level": "warning", "message": _message(text)})
    return {"executionSuccessful": not failures, "toolExecutionNotifications": notifications}


def _results(
    found: Sequence[tuple[str, Finding]], broken: Sequence[str], uris: Sequence[str]
) -> Iterator[Object]:
    rule_index = {rule: index for index, rule in enumerate(broken)}
    artifact_index = {uri: index for index, uri in enumerate(uris)}
    seen: Counter[str] = Counter()
    for path, finding in found:
        artifact = _artifact_location(path)
        artifact["index"] = artifact_index[artifact["uri"]]
        fingerprint = _fingerprint(artifact["uri"], finding)
        seen[fingerprint] += 1
        place = {"artifactLocation": artifact, "region": {"startLine": 1}}
        location: Object = {"physicalLocation": place}
        if where := place_of([finding]):
            location["logicalLocations"] = [{"fullyQualifiedName": where}]
        yield {
            "ruleId": finding.rule,
            "ruleIndex": rule_index[finding.rule],
            "level": finding.severity,
            "message": _message(_text(finding)),
            "locations": [location],
            "partialFingerprints": {
                "primaryLocationLineHash": f"{fingerprint}:{seen[fingerprint]}"
            },
            "properties": {
                "row_group": finding.row_group,
                "stripe": finding.stripe,
                "index_group": finding.index_group,
                "column": finding.column,
                "expected": finding.expected,
                "found": finding.found,
                "rows": None if finding.rows is None else asdict(finding.rows),
                "next": finding.next,
                "diagnosis": None if finding.diagnosis is None else asdict(finding.diagnosis),
            },
        }


def _text(finding: Finding) -> str:
    where = place_of([finding])
    text = _sentence(f"{where}: {statement(finding)}" if where else statement(finding))
    if finding.diagnosis is not None:
        text += f" Diagnosis: {_sentence(explanation(finding.diagnosis))}"
    elif finding.undiagnosed is not None:
        text += f" {_sentence(finding.undiagnosed.capitalize())}"
    return text if finding.next is None else f"{text} Next: {finding.next}"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _message(text: str) -> Object:
    """A message of plain text; braces and links are escaped, which SARIF would interpret."""
    text = printable(text).replace("{", "{{").replace("}", "}}")
    return {"text": re.sub(r"\[(?=[^\]]*\]\()", r"\\[", text)}


def _artifact_location(path: str) -> Object:
    """A URL as it is; a path as a URI, and a relative one relative to the working folder."""
    if is_url(path):
        return {"uri": quote(os.fsencode(path), safe=_URL_CHARACTERS)}
    if local_path(path).is_absolute():
        return {"uri": local_path(path).as_uri()}
    # File names need not be UTF-8.
    return {"uri": quote(os.fsencode(posixpath.normpath(path))), "uriBaseId": _BASE}


def _fingerprint(uri: str, finding: Finding) -> str:
    """It depends on rule, file, column, and row group or stripe and index group, and nothing else."""
    group = finding.row_group if finding.stripe is None else (finding.stripe, finding.index_group)
    where = (finding.rule, uri, group, finding.column)
    return sha256(repr(where).encode("utf-8", "backslashreplace")).hexdigest()[:32]
