"""The source archive, and a wheel from it for each machine that the kernel is compiled for, into dist/.

    python release/make_wheels.py

By the tools of requirements.txt. Zig compiles for any of these machines on this one, against as old a C library as
it is asked to. The same commit makes the same bytes.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from description import for_pypi

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


@dataclass(frozen=True)
class Target:
    """`libc` as Zig calls it; `tag`: what installers know such a machine by, the newest name first."""

    processor: str
    libc: str
    tag: str

    @property
    def zig(self) -> str:
        return f"{self.processor}-linux-{self.libc}"

    @property
    def tuning(self) -> str:
        """For processors since 2013. With what clang tunes for otherwise, counting bits waits for what was in the
        register before."""
        return " -mtune=haswell" if self.processor == "x86_64" else ""

    @property
    def platform(self) -> str:
        return ".".join(f"{each}_{self.processor}" for each in self.tag.split())


TARGETS = [
    Target(processor, libc, tag)
    for processor in ("x86_64", "aarch64")
    for libc, tag in (("gnu.2.17", "manylinux_2_17 manylinux2014"), ("musl", "musllinux_1_2"))
]


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """What it prints. Raises subprocess.CalledProcessError; what it said then is on stderr."""
    # Programs of this environment come first: `python` has the tools.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | {"PATH": path} | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def commit_time() -> str:
    """In seconds, as SOURCE_DATE_EPOCH wants it."""
    return run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()


def sdist(time: str, into: Path) -> Path:
    """Of what is committed: nothing else that lies about gets into it."""
    with TemporaryDirectory() as scratch:
        work = Path(scratch) / "commit"
        work.mkdir()
        archive = Path(scratch) / "commit.tar"
        run("git", "archive", "-o", archive, "HEAD", cwd=ROOT)
        with tarfile.open(archive) as packed:
            packed.extractall(work, filter="data")
        readme = work / "README.md"
        project = tomllib.loads((work / "pyproject.toml").read_text())["project"]
        repository, tag = project["urls"]["Source"], f"v{project['version']}"
        readme.write_text(for_pypi(readme.read_text(), repository, tag))
        build = "import setuptools.build_meta as backend; print(backend.build_sdist('made'))"
        name = run("python", "-c", build, cwd=work).splitlines()[-1]
        return repacked(work / "made" / name, int(time), into / name)


def repacked(archive: Path, time: int, into: Path) -> Path:
    """The same files in order of their names, of nobody, and of one time."""
    with (
        tarfile.open(archive) as old,
        into.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=time) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime, member.pax_headers = time, {}
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    return into


def unpacked(archive: Path, into: Path) -> Path:
    """Its folder, in which Cython has run."""
    with tarfile.open(archive) as packed:
        packed.extractall(into, filter="data")
    (folder,) = into.iterdir()
    run("python", "-m", "cython", "-3", "parquet_bloom/native/_kernel.pyx", cwd=folder)
    return folder


def wheel(source: Path, target: Target, time: str, into: Path) -> Path:
    with TemporaryDirectory() as scratch:
        work = Path(scratch) / "source"
        shutil.copytree(source, work)
        compiler = str(ROOT / "release" / "zigcc")
        made = Path(scratch) / "made"
        run(
            *("python", "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
            *("--wheel-dir", made, work),
            SOURCE_DATE_EPOCH=time,
            ZIG_TARGET=target.zig,
            CC=compiler,
            LDSHARED=f"{compiler} -shared -Wl,-s",
            CFLAGS=f"-g0 -ffile-prefix-map={work}=.{target.tuning}",
            _PYTHON_HOST_PLATFORM=f"linux-{target.processor}",
        )
        (built,) = made.iterdir()
        tag = ("python", "-m", "wheel", "tags", "--remove", "--platform-tag", target.platform)
        run(*tag, built, SOURCE_DATE_EPOCH=time)
        (tagged,) = made.iterdir()
        return Path(shutil.copy(tagged, into))


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    time = commit_time()
    archive = sdist(time, DIST)
    with TemporaryDirectory() as scratch:
        source = unpacked(archive, Path(scratch))
        made = [archive, *(wheel(source, target, time, DIST) for target in TARGETS)]
    for path in made:
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
