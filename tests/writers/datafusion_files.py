"""Files of DataFusion, with filters of its own: what it reads of a file with every type.

python datafusion_files.py SEED FOLDER
"""

import sys
from pathlib import Path

import datafusion
from datafusion import SessionConfig, SessionContext

PREFIX = "datafusion.execution.parquet."
VARIANTS = {
    "filters": {"bloom_filter_on_write": "true"},
    "plain": {
        "dictionary_enabled": "false",
        "compression": "uncompressed",
        "writer_version": "2.0",
    },
}


def context(seed, options):
    config = SessionConfig().with_target_partitions(1).set(f"{PREFIX}max_row_group_size", "160")
    for name, value in options.items():
        config = config.set(PREFIX + name, value)
    found = SessionContext(config)
    found.register_parquet("seed", str(seed))
    return found


def copy(session, names, target):
    columns = ", ".join(f'"{name}"' for name in names)
    query = f"COPY (SELECT {columns} FROM seed) TO '{target}' STORED AS PARQUET"
    session.sql(query).collect()


def main(seed, folder):
    session = context(seed, {})
    names = []
    for name in session.table("seed").schema().names:
        trial = folder / "trial.parquet"
        try:
            copy(session, [name], trial)
            names.append(name)
        # Panics are none of Python's ordinary exceptions.
        except BaseException as error:
            print(f"{name}: {str(error).splitlines()[:1]}", file=sys.stderr)
        trial.unlink(missing_ok=True)
    for variant, options in VARIANTS.items():
        try:
            copy(context(seed, options), names, folder / f"{variant}.parquet")
        except BaseException as error:
            print(f"{variant}: {str(error).splitlines()[:1]}", file=sys.stderr)
    print(datafusion.__version__)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
