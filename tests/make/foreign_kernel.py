"""The kernel as another machine runs it: cross-compiled, emulated, and called through a pipe."""

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

COMPILER: Final = "aarch64-linux-gnu-gcc"
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


def compile_for_aarch64(compiler: str, program: Path) -> None:
    asked = [compiler, "-print-file-name=libc.a"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    if answer == "libc.a\n":
        missing("the C library for aarch64")
    include = f"-I{ROOT / 'parquet_bloom' / 'native'}"
    command = [compiler, "-Werror", "-static", include, str(CALLS), *kernel_files()]
    subprocess.run([*command, "-o", str(program)], check=True)


class ForeignKernel:
    """Ends with the block."""

    def __init__(self, emulator: str, program: Path) -> None:
        self._process = subprocess.Popen(
            [emulator, "-cpu", PROCESSOR, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
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
def aarch64(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForeignKernel]:
    """The kernel for aarch64. Compiled without a warning, or there is none."""
    program = tmp_path_factory.mktemp("aarch64") / "kernel_calls"
    emulator = found(EMULATOR)
    compile_for_aarch64(found(COMPILER), program)
    with ForeignKernel(emulator, program) as kernel:
        yield kernel
