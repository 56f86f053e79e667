"""How the package is installed, and where it is not."""

import runpy
import sys
import sysconfig

import pytest
from conftest import ROOT


@pytest.mark.parametrize(
    ("name", "changed", "message"),
    [
        (
            "free-threaded",
            lambda patch: patch.setattr(sysconfig, "get_config_var", "Py_GIL_DISABLED".__eq__),
            "parquet-bloom: free-threaded Python: not supported, expected one with the GIL",
        ),
        (
            "Windows",
            lambda patch: patch.setattr(sys, "platform", "win32"),
            "parquet-bloom: Windows: not supported, expected Linux or macOS; WSL is a Linux",
        ),
    ],
)
def test_what_it_is_not_compiled_for(monkeypatch, name, changed, message):
    changed(monkeypatch)
    with pytest.raises(SystemExit) as refused:
        runpy.run_path(str(ROOT / "setup.py"))
    assert str(refused.value) == message
