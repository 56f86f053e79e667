"""What every test shares: how to say that something is missing, and where the test files lie."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
SHARED = ROOT.parent / "shared"

pytest_plugins = [
    "make.hostile_files",
    "make.leak_files",
    "make.object_files",
    "make.repair_files",
    "make.spark_session",
    "oracle.fixtures",
]


def missing(what: str) -> NoReturn:
    """Skip a test for want of `what`; under PBLOOM_STRICT=1 only the shared folder may be missing."""
    if os.environ.get("PBLOOM_STRICT") == "1" and not what.startswith("../shared"):
        pytest.fail(f"missing: {what}", pytrace=False)
    pytest.skip(f"missing: {what}")
