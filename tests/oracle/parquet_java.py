"""parquet-java, and what else of Java the jars of pyspark have: ORC, Guava, the JVM itself."""

import importlib.util
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from oracle.programs import JUDGES, FileKeys, Kept, run_program, write_queries
from oracle.stored import Stored

# The classes of Spark as a JVM has them after reading, where `make test` has put them: what starts
# with them starts in half the time. See tests/make/spark_archive.py.
ARCHIVE: Final = Path(__file__).parents[2] / ".venv" / "spark.jsa"

# Runs are short: the second compiler, the parallel collector and the verification of classes cost
# more than they give, and so do collections for the room that classes take. A JVM with other jars
# than those of the archive does without it, and says nothing.
QUICK: Final = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
    "-XX:MetaspaceSize=256m",
    "-Xlog:disable",
    *([f"-XX:SharedArchiveFile={ARCHIVE}"] if ARCHIVE.exists() else []),
)


def jars() -> str:
    """The class path of what the wheel of pyspark brings, in Spark's own order: that of the archive."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    home = Path(spec.origin).parent
    first = sorted((home / "jars").glob("slf4j-api-*.jar"))
    return ":".join(map(str, [home / "conf", *first, home / "jars" / "*"]))


def compile_java(folder: Path, *sources: Path) -> None:
    # No processors of annotations are looked for in all the jars.
    options = [*(f"-J{option}" for option in QUICK), "-nowarn", "-proc:none"]
    run_program(["javac", *options, "-cp", jars(), "-d", folder, *sources])


class ParquetJava:
    """parquet-java, out of the jars that pyspark brings."""

    needs = "pyspark and a JDK"

    @staticmethod
    def is_here() -> bool:
        return bool(importlib.util.find_spec("pyspark") and shutil.which("javac"))

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        compile_java(folder, *sorted(JUDGES.glob("*.java")))

    def answers(
        self,
        program: str,
        queries: Iterable[tuple[str, ...]],
        keys: Mapping[Path, FileKeys] | None = None,
    ) -> list[list[str]]:
        """What a program prints for a list of queries."""
        path = self._folder / "queries.tsv"
        write_queries(path, queries)
        return self.run(program, path, keys=keys)

    def run(
        self, program: str, *arguments: Path | str, keys: Mapping[Path, FileKeys] | None = None
    ) -> list[list[str]]:
        options = ["-Xmx512m", *QUICK]
        classes = f"{jars()}:{self._folder}"
        logging = "-Dlog4j2.level=ERROR"
        if keys:
            options.append(f"-Dkeys={self._written(keys)}")
        output = run_program(["java", *options, logging, "-cp", classes, program, *arguments])
        return [line.split("\t") for line in output.splitlines()]

    def _written(self, keys: Mapping[Path, FileKeys]) -> Path:
        path = self._folder / "keys.tsv"
        write_queries(
            path,
            (
                (str(file), own.footer.hex(), own.aad_prefix.hex(), ",".join(own.columns_text))
                for file, own in keys.items()
            ),
        )
        return path

    def encrypt(self, jobs: Iterable[tuple[Path, FileKeys, str]]) -> None:
        """Write files with these keys; an empty one is the footer's. The words are Encrypt's."""
        self.answers(
            "Encrypt",
            (
                (str(out), own.footer.hex(), own.aad_prefix.hex(), ",".join(own.columns_text), more)
                for out, own, more in jobs
            ),
        )

    def kept(
        self,
        values: Sequence[tuple[Path, Stored]],
        keys: Mapping[Path, FileKeys] | None = None,
    ) -> list[Kept | str]:
        """Row groups that remain for each value when only Bloom filters prune; or the refusal."""
        queries = ((str(path), *self._query(value)) for path, value in values)
        answers: list[Kept | str] = []
        for outcome, detail in self.answers("Pushdown", queries, keys):
            answers.append(_ordinals(detail) if outcome == "kept" else detail)
        assert len(answers) == len(values)
        return answers

    @staticmethod
    def _query(value: Stored) -> tuple[str, str, str]:
        kinds = {"INT32": "i32", "INT64": "i64", "FLOAT": "f32", "DOUBLE": "f64"}
        return value.leaf.path, kinds.get(value.leaf.physical_type, "binary"), value.text

    def bitsets(
        self, *paths: Path, keys: Mapping[Path, FileKeys] | None = None
    ) -> dict[Path, dict[tuple[int, str], bytes]]:
        """Bitset of every filter that parquet-java reads, by file."""
        found: dict[Path, dict[tuple[int, str], bytes]] = {path: {} for path in paths}
        for path, row_group, column, bitset in self.run("Filters", *paths, keys=keys):
            if bitset:
                found[Path(path)][int(row_group), column] = bytes.fromhex(bitset)
        return found

    def rows(
        self, *paths: Path, keys: Mapping[Path, FileKeys] | None = None
    ) -> dict[Path, tuple[int, str]]:
        """Number of rows and a digest of all of them, by file; or 0 and why it reads none."""
        answers = self.run("Rows", *paths, keys=keys)
        return {Path(path): (int(count), digest) for path, count, digest in answers}


def _ordinals(text: str) -> Kept:
    return frozenset(int(ordinal) for ordinal in text.split(",") if ordinal)
