"""JUnit XML, which CI servers show as tests.

    testsuites > testsuite > testcase > failure | error | skipped | system-out

Source: the attributes and elements that Jenkins' junit-10.xsd and
https://docs.gitlab.com/ci/testing/unit_test_reports have in common.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable

from parquet_bloom.render.terminal import printable

# What XML 1.0 cannot have, not even as a reference: https://www.w3.org/TR/xml/#charsets
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Attributes of a suite, and the elements that they count.
_COUNTED = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}


def document(name: str, suites: Iterable[ET.Element]) -> bytes:
    """In UTF-8; the numbers of what is in the suites are set."""
    root = ET.Element("testsuites", {"name": name})
    root.extend(suites)
    for each in root:
        _count(each, *_COUNTED)
    _count(root, "tests", "failures", "errors")
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def suite(name: str) -> ET.Element:
    return ET.Element("testsuite", {"name": _escaped(name)})


def case(suite: ET.Element, name: str) -> ET.Element:
    """A test of a suite, which is its class."""
    about = {"name": _escaped(name), "classname": suite.get("name", "")}
    return ET.SubElement(suite, "testcase", about)


def fail(case: ET.Element, kind: str, message: str, lines: Iterable[str]) -> None:
    """Some viewers show only the message, others only the lines."""
    about = {"type": kind, "message": _escaped(message)}
    ET.SubElement(case, "failure", about).text = _joined(lines)


def err(case: ET.Element, message: str) -> None:
    about = {"type": "error", "message": _escaped(message)}
    ET.SubElement(case, "error", about).text = _escaped(message)


def skip(case: ET.Element, message: str) -> None:
    ET.SubElement(case, "skipped", {"message": _escaped(message)})


def tell(case: ET.Element, lines: Iterable[str]) -> None:
    """Of a test that has passed."""
    ET.SubElement(case, "system-out").text = _joined(lines)


def _escaped(text: str) -> str:
    """`text` with everything escaped that is not printable or not XML."""
    return _NO_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", printable(text))


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(map(_escaped, lines))


def _count(element: ET.Element, *names: str) -> None:
    """Set the attributes of these names."""
    for name in names:
        element.set(name, str(sum(1 for _ in element.iter(_COUNTED[name]))))
