"""The kernel as another machine runs it, and as another compiler makes it: for aarch64, cross-compiled and
emulated; for this machine, by clang, on each code path. Both are called through a pipe."""

import platform
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import Any, Final, Self

import numpy as np
import pytest
from conftest import ROOT, missing
from make.code_paths import not_here

from parquet_bloom.native import _kernel

CROSS_COMPILER: Final = "aarch64-linux-gnu-gcc"
EMULATOR: Final = "qemu-aarch64"
CALLS: Final = ROOT / "tests" / "native" / "kernel_calls.c"
# One of the first of its kind: it lacks whatever later ones have.
PROCESSOR: Final = "cortex-a53"
NUM_NUMBERS: Final = 4
NUM_BUFFERS: Final = 3
CALL: Final = Struct(f"<24s{NUM_NUMBERS}Q{NUM_BUFFERS}Q")
ANSWER: Final = Struct("<qQ")


def kernel_files() -> list[str]:
    """How the package is compiled, and of what but for what needs Python."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (module,) = settings["tool"]["setuptools"]["ext-modules"]
    sources = [name for name in module["sources"] if name.endswith(".c")]
    return [*module["extra-compile-args"], *(str(ROOT / name) for name in sources)]


def found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        missing(program)
    return path


def compiled(compiler: str, folder: Path, *options: str) -> Path:
    """The program of kernel_calls.c. Compiled without a warning, or there is none."""
    program = folder / "kernel_calls"
    include = f"-I{ROOT / 'parquet_bloom' / 'native'}"
    command = [compiler, "-Werror", *options, include, str(CALLS), *kernel_files()]
    subprocess.run([*command, "-o", str(program)], check=True)
    return program


def on_aarch64(folder: Path) -> list[str]:
    """The command that runs the program there."""
    emulator, compiler = found(EMULATOR), found(CROSS_COMPILER)
    asked = [compiler, "-print-file-name=libc.a"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    if answer == "libc.a\n":
        missing("the C library for aarch64")
    return [emulator, "-cpu", PROCESSOR, str(compiled(compiler, folder, "-static"))]


class ForeignKernel:
    """Ends with the block."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._input.close()
        self._output.close()
        self._process.wait()

    def call(self, name: str, *buffers: Any, numbers: tuple[int, ...] = ()) -> tuple[int, bytes]:
        """What kernel_calls.c answers: what the function `name` returns, and a buffer."""
        given = [bytes(buffer) for buffer in buffers]
        sizes = [*map(len, given)] + [0] * (NUM_BUFFERS - len(given))
        modulo = [number % 2**64 for number in numbers] + [0] * (NUM_NUMBERS - len(numbers))
        self._input.write(CALL.pack(name.encode(), *modulo, *sizes) + b"".join(given))
        self._input.flush()
        returned, size = ANSWER.unpack(self._read(name, ANSWER.size))
        return returned, self._read(name, size)

    def _read(self, name: str, size: int) -> bytes:
        data = self._output.read(size)
        if len(data) < size:
            pytest.fail(f"{name}: the process ended with {self._process.wait()}")
        return data

    def array(
        self, dtype: Any, name: str, *buffers: Any, numbers: tuple[int, ...] = ()
    ) -> np.ndarray:
        """The buffer alone."""
        return np.frombuffer(self.call(name, *buffers, numbers=numbers)[1], dtype)


@pytest.fixture(scope="session")
def by_clang(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Older ones take it that whoever has AVX-512 has popcnt; clang 22 wants to be told.
    options = ("-mno-popcnt",) if platform.machine() == "x86_64" else ()
    return compiled(found("clang"), tmp_path_factory.mktemp("clang"), *options)


@pytest.fixture(
    scope="session", params=["aarch64 any", *(f"clang {path}" for path in _kernel.CODE_PATHS)]
)
def foreign(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ForeignKernel]:
    maker, path = request.param.split(" ")
    number = str(_kernel.CODE_PATHS.index(path))
    if maker == "aarch64":
        command = [*on_aarch64(tmp_path_factory.mktemp(maker)), number]
    else:
        command = [str(request.getfixturevalue("by_clang")), number]
        # It ends with its input.
        if subprocess.run(command, input=b"", check=False).returncode:
            not_here(path)
    with ForeignKernel(request.param, command) as kernel:
        yield kernel
