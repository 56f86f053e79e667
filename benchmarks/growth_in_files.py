"""How what each verb takes grows with the number of files that it is given."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.contenders import Files
from benchmarks.exponents import growth_table, least_cost, sizes_up_to
from benchmarks.links import link
from benchmarks.processes import PBLOOM, Cost, module, run
from benchmarks.tables import Table

MOST = 20_000

VALUE = "user-000000001"


def measure_in_files(files: Files) -> Table:
    # The first commands fill caches.
    dict(_spent(files, 1))
    return growth_table(
        f"{MOST:,} tiny files",
        "Hard links to one of 10 KB. CPU time",
        dict(_spent(files, 1)),
        {size: dict(_spent(files, size)) for size in sizes_up_to(MOST)},
    )


def _spent(files: Files, count: int) -> Iterator[tuple[str, Cost]]:
    with TemporaryDirectory(dir=files.folder) as temporary:
        folder = Path(temporary)
        plain, filtered, output = folder / "plain", folder / "filtered", folder / "output"
        for lake, kind in ((plain, "tiny-files"), (filtered, "tiny-files-with-filters")):
            link(files.make_folder(kind, 1) / "part-00000.parquet", lake, count)
        manifest = folder / "manifest.txt"
        manifest.write_text("".join(f"{file}\n" for file in sorted(plain.rglob("*.parquet"))))
        index = folder / "index"
        run([PBLOOM, "index", "build", "--index", str(index), "-c", "id", str(plain)])
        commands = _commands(plain, filtered, output, manifest) | _of_index(plain, output, index)
        for verb, arguments in commands.items():
            yield (
                verb,
                least_cost([PBLOOM, *arguments], lambda: shutil.rmtree(output, ignore_errors=True)),
            )
        run(module("links", plain))
        # Appended to once: other rounds would find nothing left to do. One after the other: to replace a
        # link changes the others, and whoever reads one of them sees that.
        table = [PBLOOM, "build", str(plain), "--table", "delta", "-c", "id"]
        yield "build --table", run([*table, "--min-file-size", "0", "--threads", "1"])


def _commands(plain: Path, filtered: Path, output: Path, manifest: Path) -> dict[str, list[str]]:
    into = ["--output-dir", str(output)]
    build = ["build", "-c", "id"]
    again = ["--in-place", "--existing", "replace"]
    return {
        "build --output-dir": [*build, str(plain), *into],
        "build --in-place": [*build, str(filtered), *again],
        "build --manifest": [*build, "--manifest", str(manifest), "--dry-run", "--in-place"],
        "build --budget": ["build", str(plain), "--auto", "--budget", "1MiB", *into],
        "build --shard": [*build, str(plain), "--shard", "0/4", "--dry-run", "--in-place"],
        "strip": ["strip", str(filtered), *into],
        "inspect": ["inspect", str(filtered), "--json"],
        "probe": ["probe", str(filtered), "-c", "id", "-v", VALUE, "--json"],
        "validate": ["validate", str(filtered)],
        "repair --dry-run": ["repair", str(filtered), "--dry-run"],
        "advise": ["advise", str(plain), "-c", "id"],
        "advise --budget": ["advise", str(plain), "-c", "id", "--budget", "1MiB"],
        "report": ["report", str(filtered), "-o", "-"],
        "clean-temp": ["clean-temp", str(plain)],
        "recover": ["recover", str(plain)],
    }


def _of_index(plain: Path, output: Path, index: Path) -> dict[str, list[str]]:
    asked = ["--index", str(index), "-c", "id", "-v", VALUE]
    return {
        "index build": ["index", "build", "--index", str(output), "-c", "id", str(plain)],
        "index add": ["index", "add", "--index", str(index)],
        "index probe": ["index", "probe", *asked],
        "index probe FILE": ["index", "probe", str(plain), *asked],
        "index check": ["index", "check", "--index", str(index)],
        "index check --deep": ["index", "check", "--index", str(index), "--deep"],
        "index compact": ["index", "compact", "--index", str(index)],
        "find": ["find", str(plain), "-c", "id", "-v", VALUE],
        "find --index": ["find", *asked],
    }
