"""How judges that are programs are run, and what they are told. `judges/README.md` has them all."""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

JUDGES = Path(__file__).parent / "judges"

Kept = frozenset[int]


@dataclass(frozen=True)
class FileKeys:
    """What an encrypted file is opened with: a prefix only if the file does not store it."""

    footer: bytes
    columns: Mapping[str, bytes]
    aad_prefix: bytes = b""

    @property
    def columns_text(self) -> list[str]:
        return [f"{path}={key.hex()}" for path, key in self.columns.items()]


def run_program(command: Sequence[str | Path]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]}: {done.stderr}"
    return done.stdout


def write_queries(path: Path, queries: Iterable[tuple[str, ...]]) -> None:
    path.write_text("".join("\t".join(query) + "\n" for query in queries))
