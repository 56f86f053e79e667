"""Programs and libraries of Debian for another machine, or of another suite, in a folder:
nothing of this system changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from make_wheels import run

# What Debian calls a machine.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

# From where this system gets its own.
SETTINGS = """\
Dir::State "{folder}/state";
Dir::State::status "{folder}/state/status";
Dir::Cache "{folder}/cache";
APT::Architecture "{architecture}";
APT::Architectures {{"{architecture}";}};
APT::Install-Recommends "false";
Acquire::Languages "none";
"""
FROM_SUITE = """\
Dir::Etc::SourceList "{folder}/suite.sources";
Dir::Etc::SourceParts "/dev/null";
"""
SUITE = """\
Types: deb
URIs: http://deb.debian.org/debian
Suites: {suite}
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""
# By the loader of its own C library, which may be newer than that of this system. What it calls itself is how it is
# called again.
PROGRAM = """\
#!/bin/sh
exec {loader} --argv0 "$0" --library-path {libraries} {program} "$@"
"""


@dataclass(frozen=True)
class Debian:
    """`suite`: such as sid; that of this system if it is None."""

    architecture: str
    folder: Path
    suite: str | None = None

    @property
    def root(self) -> Path:
        return self.folder / "root"

    def install(self, *packages: str) -> None:
        """With all that they need, unless it is there. Raises OSError without apt, and CalledProcessError."""
        done = self.folder / f"has-{'-'.join(packages)}"
        if done.exists():
            return
        for name in ("state/lists/partial", "cache/archives/partial", "root"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "state" / "status").touch()
        settings = self.folder / "apt.conf"
        text = SETTINGS + (FROM_SUITE if self.suite else "")
        settings.write_text(text.format(folder=self.folder, architecture=self.architecture))
        if self.suite:
            (self.folder / "suite.sources").write_text(SUITE.format(suite=self.suite))
        run("apt-get", "-qq", "update", APT_CONFIG=str(settings))
        run(
            "apt-get",
            "-qq",
            "-y",
            "--download-only",
            "install",
            *packages,
            APT_CONFIG=str(settings),
        )
        for archive in sorted((self.folder / "cache" / "archives").glob("*.deb")):
            run("dpkg-deb", "-x", archive, self.root)
        done.touch()

    def program(self, name: str) -> Path:
        """A program that is installed, as one that this system runs."""
        (loader,) = self.root.glob("usr/lib*/ld-linux-*.so.*")
        (libraries,) = self.root.glob("usr/lib/*-linux-gnu")
        run_by_loader = self.root / "usr" / "bin" / f"run-{name}"
        program = self.root / "usr" / "bin" / name
        run_by_loader.write_text(
            PROGRAM.format(loader=loader, libraries=libraries, program=program)
        )
        run_by_loader.chmod(0o755)
        return run_by_loader
