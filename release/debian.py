"""Programs and libraries of Debian for another machine, in a folder: nothing of this system changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from make_wheels import run

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


@dataclass(frozen=True)
class Debian:
    architecture: str
    folder: Path

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
        settings.write_text(SETTINGS.format(folder=self.folder, architecture=self.architecture))
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
