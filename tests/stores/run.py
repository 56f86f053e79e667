"""Do to stores that others emulate whatever can be done to a store.

    python tests/stores/run.py [NAME…]    # all of STORES, unless some are named

Each is installed into .stores, where it stays, and runs on loopback. The suite has servers of its own,
which fail as they are told; these say whether those are like what others take for the store.
"""

from __future__ import annotations

import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence

import pytest
from stores.azurite import Azurite
from stores.checks import Checks
from stores.emulator import Emulator
from stores.fake_gcs import FakeGoogle

STORES: dict[str, Callable[[], Emulator]] = {"azurite": Azurite, "fake-gcs": FakeGoogle}


def checks_of(store: Emulator) -> Iterator[tuple[str, Callable[[], None]]]:
    checks = Checks(store)
    for name in vars(Checks):
        if name.startswith("check_"):
            yield name.removeprefix("check_").replace("_", " "), getattr(checks, name)


def run(store: Emulator) -> bool:
    """Whether all is as it should be."""
    is_fine = True
    with store.running():
        for name, check in checks_of(store):
            start = time.monotonic()
            try:
                check()
                said = "ok"
            except (Exception, pytest.fail.Exception):
                said, is_fine = traceback.format_exc(), False
            sys.stdout.write(f"{store.title}: {name}: {said}, {time.monotonic() - start:.1f} s\n")
            sys.stdout.flush()
    return is_fine


def main(names: Sequence[str]) -> int:
    is_fine = True
    for name in names or STORES:
        store = STORES[name]()
        try:
            store.install()
        except (OSError, subprocess.CalledProcessError):
            sys.stdout.write(f"{store.title}: it cannot be installed\n")
            is_fine = False
            continue
        is_fine = run(store) and is_fine
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
