"""Filters for a table of many small files, against writing it again: `python -m benchmarks.many_files [FILES]`.

Prints tables of seconds, peak memory and bytes for a Delta table on this machine, and on a server like S3
in a process of its own. Each contender is a whole process with a table of its own; all get or keep filters
for `id`. `files`: of the table afterwards.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.processes import Cost, module, run
from benchmarks.serving import serving
from benchmarks.tables import NO_GOAL, Table, at_most, megabytes

FILES = 10_000
# Requests take a server of Python longer than all the rest.
SHARE_IN_STORE = 10
# As large as they come.
TARGET_BYTES = 1 << 30

BUILD, OPTIMIZE, OVERWRITE = "pbloom build --table", "deltalake, optimize", "deltalake, overwrite"
# What it is called here, and how the program below is told.
CONTENDERS = {BUILD: "build", OPTIMIZE: "optimize", OVERWRITE: "overwrite"}


def make(folder: str, num_files: int) -> None:
    """A table of one commit."""
    from deltalake import convert_to_deltalake

    from benchmarks.data import write_tiny_files

    write_tiny_files(num_files, Path(folder))
    convert_to_deltalake(folder)


def contend(how: str, table: str, port: str | None) -> None:
    """What a process of a contender does."""
    options = {} if port is None else store_options(port)
    if how == "build":
        import parquet_bloom as pb

        report = pb.build_table(
            table,
            columns=["id"],
            min_file_size=0,
            sole_writer=True,
            storage_options=options or None,
        )
        assert {file.action for file in report.files} == {"appended"}, report.files[0]
        return
    from deltalake import (
        BloomFilterProperties,
        ColumnProperties,
        DeltaTable,
        WriterProperties,
        write_deltalake,
    )

    keys = {"aws_" + name: value for name, value in options.items()}
    if port is not None:
        keys |= {"aws_allow_http": "true", "aws_conditional_put": "etag"}
    filters = ColumnProperties(bloom_filter_properties=BloomFilterProperties(True, fpp=0.01))
    properties = WriterProperties(compression="ZSTD", column_properties={"id": filters})
    opened = DeltaTable(table, storage_options=keys)
    if how == "optimize":
        opened.optimize.compact(target_size=TARGET_BYTES, writer_properties=properties)
        return
    rows = opened.to_pyarrow_dataset().scanner(batch_readahead=2, fragment_readahead=2).to_reader()
    write_deltalake(opened, rows, mode="overwrite", writer_properties=properties)


def store_options(port: str) -> dict[str, str]:
    """As S3Server.options."""
    return {
        "endpoint": f"http://127.0.0.1:{port}",
        "region": "us-east-1",
        "access_key_id": "KEY",
        "secret_access_key": "wJalrXUtnFEMI",
    }


def compare_local(made: Path, num_files: int) -> list[list[str]]:
    rows = []
    for title, how in CONTENDERS.items():
        table = made.with_name(how)
        shutil.copytree(made, table)
        before = {path.name for path in table.glob("*.parquet")}
        cost = run(module("many_files", "--contend", how, table))
        new = sum(path.name not in before for path in table.glob("*.parquet"))
        shutil.rmtree(table)
        each = f"{cost.cpu / num_files * 1000:.1f} ms"
        rows.append(
            [
                f"{num_files:,} files, {title}",
                *seconds(cost),
                each,
                megabytes(cost.written),
                f"{new:,}",
            ]
        )
    return rows


def compare_in_store(made: Path, num_files: int) -> list[list[str]]:
    rows = []
    files = [path for path in made.rglob("*") if path.is_file()]
    # A table of its own for each contender.
    objects = {
        f"lake/{how}/{file.relative_to(made)}": file
        for how in CONTENDERS.values()
        for file in files
    }
    with serving(objects) as server:
        for title, how in CONTENDERS.items():
            server.asked()
            cost = run(module("many_files", "--contend", how, f"s3://lake/{how}", server.port))
            asked = server.asked()
            name = f"{num_files:,} files, {title}"
            sent = [f"{asked.requests:,}", megabytes(asked.up), megabytes(asked.down)]
            rows.append([name, *seconds(cost), *sent])
    return rows


def seconds(cost: Cost) -> list[str]:
    return [f"{cost.wall:.1f} s", f"{cost.cpu:.1f} s", megabytes(cost.peak)]


def main(num_files: int) -> None:
    with tempfile.TemporaryDirectory(prefix="pbloom-bench-") as folder:
        few, many = Path(folder) / "few", Path(folder) / "many"
        sizes = {few: num_files // SHARE_IN_STORE, many: num_files}
        for made, count in sizes.items():
            run(module("many_files", "--make", made, count))
        note = (
            "Files of 1,000 rows in three columns, 12 KB each. `each`: CPU time for a file; `new`: data"
            " files that the table did not have."
        )
        header = ("", "wall", "CPU", "peak memory", "each", "written", "new")
        rows = [row for made, count in sizes.items() for row in compare_local(made, count)]
        print(Table("A table of many small files", note, header, with_goal(rows)), flush=True)
        note = "The same on a server like S3 on this machine. `up`: bodies of requests; `down`: of answers."
        header = ("", "wall", "CPU", "peak memory", "requests", "up", "down")
        rows = compare_in_store(few, sizes[few])
        print()
        print(Table("Many small objects", note, header, with_goal(rows)))


def with_goal(rows: list[list[str]]) -> list[list[str]]:
    """No more time than the quicker of those that write it again."""
    found = []
    for at in range(0, len(rows), len(CONTENDERS)):
        ours, *others = rows[at : at + len(CONTENDERS)]
        walls = [float(row[1].removesuffix(" s")) for row in (ours, *others)]
        found.append([*ours, *at_most(walls[0], min(walls[1:]), " s")])
        found += [[*row, *NO_GOAL] for row in others]
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        make(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1:2] == ["--contend"]:
        contend(sys.argv[2], sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else None)
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else FILES)
