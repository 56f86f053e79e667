"""Refuses what the kernel cannot be compiled for. All else is in pyproject.toml."""

import sys
import sysconfig

from setuptools import setup

if sys.platform == "win32":
    sys.exit("parquet-bloom: Windows: not supported, expected Linux or macOS; WSL is a Linux")
# It needs what all later Pythons have in common, and these have nothing in common yet.
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    sys.exit("parquet-bloom: free-threaded Python: not supported, expected one with the GIL")

setup()
