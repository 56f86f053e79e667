"""Whether the wheels in dist/ are what their names say, and the kernel in each runs where it can be run.

    python release/check_wheels.py

That of this machine: in a new environment, on a PATH without a compiler. That for aarch64: emulated by QEMU, with
Debian's Python. Those for musl: with musl's own loader. What is missing for the last two is said, and fails.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Callable
from email import message_from_bytes
from pathlib import Path
from tempfile import TemporaryDirectory

import readme_renderer.markdown
from debian import ARCHITECTURES, Debian
from elftools.elf.elffile import ELFFile
from kernel_tests import COMMAND as TESTS
from make_wheels import DIST, ROOT, run, unpacked
from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig

TOOLS = ROOT / ".release"
KERNEL = "parquet_bloom/native/_kernel.abi3.so"
LOAD = Path(__file__).with_name("load_kernel.c")

# What the tests of the kernel import.
TESTED_WITH = ("pytest>=9", "hypothesis>=6.100")
# One needs a process of its own, which would not be emulated; others compile the kernel themselves.
NOT_EMULATED = ("--ignore-glob=*/test_foreign_kernels.py", "-k", "not overflow and not AVX")

CONDA_SYSTEMS = ("osx-64", "osx-arm64", "linux-aarch64", "linux-64")


def wheel(libc: str, processor: str) -> Path:
    (found,) = DIST.glob(f"*{libc}*_{processor}.whl")
    return found


def kernel(libc: str, processor: str, into: Path) -> Path:
    with zipfile.ZipFile(wheel(libc, processor)) as packed:
        return Path(packed.extract(KERNEL, into))


# --- what their names say -------------------------------------------------------------------------


def check_archives() -> str:
    """The metadata, and that a kernel for all Pythons calls nothing that only some have."""
    run("twine", "check", "--strict", *sorted(DIST.iterdir()))
    wheels = sorted(DIST.glob("*.whl"))
    for each in wheels:
        assert "-cp311-abi3-" in each.name, each.name
        run("abi3audit", "--strict", each)
    return f"{len(wheels)} wheels for Python 3.11 and later"


def check_glibc() -> str:
    """No function that is newer than the name says."""
    newest = []
    for processor in ARCHITECTURES:
        said = run("auditwheel", "show", wheel("manylinux", processor))
        (found,) = set(
            re.findall(r'consistent with\s+the\s+following\s+platform\s+tag:\s+"(\w+)"', said)
        )
        newest.append(found)
        assert int(found.split("_")[2]) <= 17, found
    return ", ".join(newest)


def check_musl() -> str:
    """auditwheel cannot read these."""
    with TemporaryDirectory() as scratch:
        for processor in ARCHITECTURES:
            with kernel("musllinux", processor, Path(scratch)).open("rb") as file:
                dynamic = ELFFile(file).get_section_by_name(".dynamic")
                needed = [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")]
                assert needed == ["libc.so"], needed
    return "nothing but libc.so"


def check_description() -> str:
    """On PyPI, a link of README leads somewhere only if it says where to."""
    for each in DIST.glob("*.whl"):
        with zipfile.ZipFile(each) as packed:
            (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
            shown = readme_renderer.markdown.render(
                message_from_bytes(packed.read(name)).get_payload()
            )
        links = re.findall(r'(?:href|src)="([^"]*)"', shown)
        nowhere = [link for link in links if not link.startswith(("https://", "#"))]
        assert links, each.name
        assert not nowhere, nowhere
    return f"{len(links)} links"


def check_conda() -> str:
    """The recipe is one for each system, and what it does works with what it asks for, as PyPI has it."""
    recipe = Stage0Recipe.from_file(ROOT / "packaging" / "conda" / "recipe.yaml")
    variants = VariantConfig({"c_compiler": ["gcc"], "c_stdlib": ["sysroot"], "python": ["3.11.*"]})
    for system in CONDA_SYSTEMS:
        platforms = PlatformConfig(target_platform=system, build_platform="linux-64")
        (made,) = recipe.render(variants, RenderConfig(platforms))
    asked = made.recipe.requirements.to_dict()
    packages = {each.removeprefix("python-") for kind in ("host", "run") for each in asked[kind]}
    (archive,) = DIST.glob("*.tar.gz")
    assert str(made.recipe.sources[0].to_dict()["path"]).endswith(f"dist/{archive.name}")
    with TemporaryDirectory() as scratch:
        source = unpacked(archive, Path(scratch))
        folder = Path(scratch) / "environment"
        python = folder / "bin" / "python"
        run("python", "-m", "venv", folder)
        run("uv", "pip", "install", "--quiet", "--python", python, *(packages - {"python"}))
        script = made.recipe.build.to_dict()["script"].replace("${{ PYTHON }}", str(python))
        run("sh", "-c", script, cwd=source)
        run(python, "-m", "pip", "check")
        return run(folder / "bin" / "pbloom", "--version").strip()


def check_macos() -> str:
    """No wheel is made for it here, but the kernel compiles for both of its processors."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (module,) = settings["tool"]["setuptools"]["ext-modules"]
    macros = [f"-D{name}={value}" for name, value in module["define-macros"]]
    (archive,) = DIST.glob("*.tar.gz")
    with TemporaryDirectory() as scratch:
        source = unpacked(archive, Path(scratch))
        headers = (sysconfig.get_path("include"), str(source / "parquet_bloom" / "native"))
        files = sorted(source.glob("parquet_bloom/native/*.c"))
        for processor in ARCHITECTURES:
            target = ("-target", f"{processor}-macos", "-std=gnu11", "-O1", *macros)
            # What Python has is found when it loads the kernel.
            linked = ("-shared", "-undefined", "dynamic_lookup", "-o", Path(scratch) / processor)
            includes = [f"-I{folder}" for folder in headers]
            run("python", "-m", "ziglang", "cc", *target, *includes, *files, *linked)
    return f"{len(files)} files compile for {' and '.join(ARCHITECTURES)}"


# --- run ------------------------------------------------------------------------------------------


def best_path() -> str:
    """The best that the kernel has for this processor, as the system describes it."""
    flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    has = set(flags[1].split()) if flags else set()
    if not {"avx2", "popcnt"} <= has:
        return "any"
    return "AVX-512" if {"avx512f", "avx512dq", "avx512vl"} <= has else "AVX2"


def last_line(said: str) -> str:
    return said.strip().splitlines()[-1]


def check_here() -> str:
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "environment"
        run("python", "-m", "venv", folder)
        # Nothing else: no compiler, no other Python.
        alone = {"PATH": str(folder / "bin"), "PYTHONPATH": "", "PBLOOM_STRICT": ""}
        python = folder / "bin" / "python"
        pip = (python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:")
        built = wheel("manylinux", platform.machine())
        run_alone(alone, *pip, built, *TESTED_WITH)
        ask = "from parquet_bloom.native import _kernel as k; print(k.__file__, k.code_path())"
        file, path = run_alone(alone, python, "-P", "-c", ask).split()
        assert file.startswith(str(folder)), file
        assert path == best_path(), f"the kernel takes the path {path}, expected {best_path()}"
        return f"{path}: {last_line(run_alone(alone, python, *TESTS))}"


def check_image() -> str:
    """What packaging/Dockerfile runs to build, in a folder instead of an image, which nothing here makes."""
    text = (ROOT / "packaging" / "Dockerfile").read_text().replace("\\\n", "")
    build = re.findall(r"^RUN (.*)$", text, re.MULTILINE)[0]
    (extras,) = re.findall(r"^ARG EXTRAS=(.*)$", text, re.MULTILINE)
    (entry,) = json.loads(re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)[0])
    with TemporaryDirectory() as root:
        shutil.copytree(DIST, f"{root}/wheels")
        script = re.sub(r"(?<![\w.])/(?=wheels/|pbloom)", f"{root}/", build)
        run("sh", "-e", "-c", script, EXTRAS=extras)
        for name in ("pyarrow_filters.parquet", "java_original.orc"):
            run_alone({}, root + entry, "inspect", ROOT / "fixtures" / name)
        return f"{extras}: {size(Path(root) / 'pbloom') / 1e6:.0f} MB"


def check_small() -> str:
    """The install without numpy and pyarrow, by the commands of docs/install.md."""
    page = (ROOT / "docs" / "install.md").read_text()
    (script,) = re.findall(r"```sh\n(pip install --no-deps [^`]*)```", page)
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "environment"
        run("python", "-m", "venv", folder)
        before = size(folder)
        path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        built = script.replace("parquet-bloom", str(wheel("manylinux", platform.machine())))
        run("sh", "-e", "-c", built, PATH=path)
        grown = size(folder) - before
        source, made = ROOT / "fixtures" / "pyarrow_filters.parquet", Path(scratch) / "made"
        for command in (("strip", source, "-o", made), ("validate", source), ("inspect", made)):
            run_alone({}, folder / "bin" / "pbloom", *command)
        return f"{grown / 1e6:.0f} MB"


def size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def run_alone(environment: dict[str, str], *command: str | Path) -> str:
    done = subprocess.run(
        command,
        cwd="/",
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stdout)
        done.check_returncode()
    return done.stdout


def check_aarch64() -> str:
    """As on the oldest processor of its kind that QEMU knows."""
    debian = Debian("arm64", TOOLS / "debian-arm64")
    debian.install("python3", "libstdc++6")
    (python,) = debian.root.glob("usr/bin/python3.[0-9]*")
    version = python.name.removeprefix("python")
    with TemporaryDirectory() as site:
        platforms = [f"manylinux{each}_aarch64" for each in ("_2_28", "_2_27", "_2_17", "2014")]
        run(
            *("python", "-m", "pip", "install", "--quiet", "--target", site),
            *("--only-binary", ":all:", "--python-version", version),
            *(option for each in platforms for option in ("--platform", each)),
            *(wheel("manylinux", "aarch64"), *TESTED_WITH),
        )
        emulated = ("qemu-aarch64", "-cpu", "cortex-a53", "-L", debian.root, python)
        alone = {"PYTHONPATH": site, "PBLOOM_STRICT": ""}
        ask = "from parquet_bloom.native import _kernel; print(_kernel.__file__)"
        assert run_alone(alone, *emulated, "-P", "-c", ask).startswith(site)
        return last_line(run_alone(alone, *emulated, *TESTS, *NOT_EMULATED))


def check_musl_loads() -> str:
    """A program of musl loads the kernel, and calls C in it; in the place of Python is a stub."""
    answers = set()
    for processor, architecture in ARCHITECTURES.items():
        debian = Debian(architecture, TOOLS / f"debian-{architecture}")
        debian.install("musl")
        (loader,) = debian.root.glob("lib/ld-musl-*.so.1")
        with TemporaryDirectory() as scratch:
            library = kernel("musllinux", processor, Path(scratch))
            with library.open("rb") as file:
                symbols = ELFFile(file).get_section_by_name(".dynsym").iter_symbols()
                wanted = {symbol.name for symbol in symbols if symbol["st_shndx"] == "SHN_UNDEF"}
            stubs = Path(scratch) / "stubs.c"
            names = sorted(name for name in wanted if re.match("_?Py", name))
            stubs.write_text("".join(f"char {name}[512];\n" for name in names))
            program = Path(scratch) / "program"
            target = ("-target", f"{processor}-linux-musl", "-O2", "-dynamic", "-rdynamic")
            run("python", "-m", "ziglang", "cc", *target, LOAD, stubs, "-o", program)
            emulator = [] if processor == platform.machine() else [f"qemu-{processor}"]
            answers.add(run_alone({}, *emulator, loader, program, library))
    expected = "44bc2cf5ad770999 352441c2\n"
    assert answers == {expected}, answers
    return "XXH64 and CRC-32 are right"


CHECKS: dict[str, Callable[[], str]] = {
    "archives": check_archives,
    "description": check_description,
    "glibc": check_glibc,
    "musl": check_musl,
    "macOS": check_macos,
    "conda": check_conda,
    "here, without a compiler": check_here,
    "image": check_image,
    "small": check_small,
    "musl loads": check_musl_loads,
    "aarch64, emulated": check_aarch64,
}


def main() -> int:
    failed = 0
    for name, check in CHECKS.items():
        try:
            said = check()
        except (AssertionError, OSError, subprocess.CalledProcessError, ValueError) as error:
            said, failed = f"FAILED: {error}", failed + 1
        print(f"{name}: {said}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
