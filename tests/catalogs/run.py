"""Do to Iceberg tables in catalogs of others whatever can be done to a table.

    python tests/catalogs/run.py [NAME…]    # all of CATALOGS, unless some are named

The suite has an SQL catalog, a REST catalog of its own, and Glue; these take long.
"""

from __future__ import annotations

import sys
import time
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import pytest
from catalogs import glue, hive
from catalogs.checks import Checks
from make.iceberg_tables import use_catalog

CATALOGS: dict[str, ModuleType] = {"hive": hive, "glue": glue}


def run(catalog: ModuleType) -> bool:
    """Whether all is as it should be."""
    is_fine = True
    with (
        TemporaryDirectory() as name,
        catalog.running(folder := Path(name)) as settings,
        pytest.MonkeyPatch.context() as patch,
    ):
        for variable in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_REGION"):
            patch.delenv(variable, raising=False)
        use_catalog(folder, patch, settings=settings)
        for check in (each for each in vars(Checks) if each.startswith("check_")):
            start = time.monotonic()
            try:
                getattr(Checks(), check)()
                said = "ok"
            except (Exception, pytest.fail.Exception):
                said, is_fine = traceback.format_exc(), False
            title = check.removeprefix("check_").replace("_", " ")
            sys.stdout.write(
                f"{catalog.TITLE}: {title}: {said}, {time.monotonic() - start:.1f} s\n"
            )
            sys.stdout.flush()
    return is_fine


if __name__ == "__main__":
    were_fine = [run(CATALOGS[name]) for name in sys.argv[1:] or CATALOGS]
    sys.exit(0 if all(were_fine) else 1)
