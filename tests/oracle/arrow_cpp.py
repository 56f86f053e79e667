"""Arrow C++: the strictest reader."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from oracle.programs import JUDGES, FileKeys, Kept, run_program, write_queries
from oracle.stored import Stored


class ArrowCpp:
    """Arrow C++, out of the headers and libraries that pyarrow brings: the strictest reader."""

    needs = "g++ and the C++ libraries of pyarrow"

    @staticmethod
    def is_here() -> bool:
        header = Path(pa.get_include()) / "parquet" / "bloom_filter_reader.h"
        return bool(shutil.which("g++") and header.exists() and ArrowCpp._libraries())

    @staticmethod
    def _libraries() -> list[Path]:
        """libparquet and libarrow; nothing unless both are here."""
        folder = Path(pa.get_library_dirs()[0])
        found = [sorted(folder.glob(f"{name}.so*"))[-1:] for name in ("libparquet", "libarrow")]
        return [library for libraries in found for library in libraries] if all(found) else []

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = folder / "arrow_probe"
        libraries = self._libraries()
        compiler = ["g++", "-std=c++20", "-O0", f"-I{pa.get_include()}"]
        run_path = f"-Wl,-rpath,{libraries[0].parent}"
        source = JUDGES / "arrow_probe.cc"
        run_program([*compiler, source, "-o", self._program, *libraries, run_path])

    def _probe(
        self, path: Path, values: Sequence[Stored], keys: FileKeys | None = None
    ) -> list[list[str]]:
        queries = self._folder / "queries.tsv"
        kinds = {"INT32": "i32", "INT64": "i64", "FLOAT": "f32", "DOUBLE": "f64", "INT96": "i96"}
        kinds |= {"BYTE_ARRAY": "binary", "FIXED_LEN_BYTE_ARRAY": "flba"}
        write_queries(queries, ((v.leaf.path, kinds[v.leaf.physical_type], v.text) for v in values))
        own: list[str] = []
        if keys is not None:
            own = [keys.footer.hex(), keys.aad_prefix.hex() or "-", *keys.columns_text]
        answers = run_program([self._program, path, queries, *own])
        return [line.split("\t") for line in answers.splitlines()]

    def bitsets(self, path: Path, keys: FileKeys | None = None) -> dict[tuple[int, str], bytes]:
        """Bitset of every filter; a filter that Arrow C++ refuses is an error."""
        lines = self._probe(path, (), keys)
        refused = [line for line in lines if line[0] == "error"]
        assert refused == []
        return {(int(line[1]), line[2]): bytes.fromhex(line[3]) for line in lines}

    def kept(
        self, path: Path, values: Sequence[Stored], keys: FileKeys | None = None
    ) -> list[Kept]:
        """Row groups that have a filter which does not exclude the value."""
        kept: list[set[int]] = [set() for _ in values]
        for line in self._probe(path, values, keys):
            if line[0] == "answer" and line[3] == "true":
                kept[int(line[1])].add(int(line[2]))
        return [frozenset(row_groups) for row_groups in kept]
