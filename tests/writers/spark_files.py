"""Files of Spark, Parquet by parquet-java and ORC by ORC Java: what it reads of a file of simple types.

python spark_files.py SIMPLE FOLDER
"""

import shutil
import sys
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

# Spark's names are long.
P, S = "parquet.", "spark.sql.parquet."
LITTLE = {f"{P}bloom.filter.enabled": "true", f"{P}bloom.filter.max.bytes": "4096"}
VARIANTS = {
    "default": LITTLE,
    "int96": {f"{S}outputTimestampType": "INT96", f"{P}enable.dictionary": "false"},
    "legacy": {f"{S}outputTimestampType": "TIMESTAMP_MILLIS", f"{S}writeLegacyFormat": "true",
               f"{S}compression.codec": "gzip"},
    "rebased": {f"{S}outputTimestampType": "INT96", f"{S}datetimeRebaseModeInWrite": "LEGACY",
                f"{S}int96RebaseModeInWrite": "LEGACY", **LITTLE},
    "v2": {f"{P}writer.version": "PARQUET_2_0", f"{S}compression.codec": "zstd", **LITTLE},
}  # fmt: skip
ORC = {
    "zlib": {"orc.compress": "ZLIB"},
    "filters": {"orc.compress": "SNAPPY", "orc.dictionary.key.threshold": "1.0"},
}
SETTINGS = {
    "spark.master": "local[1]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.ansi.enabled": "false",
    f"{S}datetimeRebaseModeInWrite": "CORRECTED",
    f"{S}int96RebaseModeInWrite": "CORRECTED",
    f"{S}datetimeRebaseModeInRead": "CORRECTED",
    f"{S}int96RebaseModeInRead": "CORRECTED",
    f"{S}outputTimestampType": "TIMESTAMP_MICROS",
}

OWN = (
    "CAST(int32 % 90000 / 100 AS DECIMAL(5, 2)) AS decimal_5",
    "CAST(text AS BINARY) AS text_bytes",
    "CAST(int64 AS TINYINT) AS tiny",
    "CAST(int64 AS SMALLINT) AS small",
    "CAST(near_us_utc AS TIMESTAMP_NTZ) AS local",
    "CAST(date AS STRING) AS date_text",
    "make_dt_interval(0, 0, 0, int16) AS day_interval",
    "make_ym_interval(0, int16) AS month_interval",
)
TEXTS = "CREATE TABLE texts (c CHAR(12), v VARCHAR(30)) USING {format} LOCATION '{folder}'"


def written(frame, kind, folder, name, options):
    """As one file of that name."""
    trial = folder / "trial"
    shutil.rmtree(trial, ignore_errors=True)
    frame.coalesce(1).write.options(**options).format(kind).save(str(trial))
    (found,) = trial.glob(f"*.{kind}")
    found.rename(folder / f"{name}.{kind}")
    shutil.rmtree(trial)


def frame_of(session, simple, trial, kind):
    """The columns that can be read, and written in that format."""
    names = []
    everything = session.read.parquet(str(simple)).selectExpr("*", *OWN)
    try:
        everything.write.format(kind).save(str(trial))
        return everything
    except Exception:
        print(f"{kind}: not all at once", file=sys.stderr)
    finally:
        shutil.rmtree(trial, ignore_errors=True)
    for name in everything.columns:
        try:
            everything.select(name).write.format(kind).mode("overwrite").save(str(trial))
            names.append(name)
        except Exception as error:
            print(f"{kind} {name}: {str(error).splitlines()[:1]}", file=sys.stderr)
    shutil.rmtree(trial, ignore_errors=True)
    return everything.select(*names)


def char_table(session, frame, kind, folder):
    """CHAR and VARCHAR, which only tables have."""
    trial = folder / "trial"
    shutil.rmtree(trial, ignore_errors=True)
    session.sql(TEXTS.format(format=kind, folder=trial))
    frame.selectExpr("substr(date_text, 1, 12) AS c", "substr(text, 1, 30) AS v").coalesce(
        1
    ).write.insertInto("texts")
    session.sql("DROP TABLE texts")
    (found,) = trial.glob(f"*.{kind}")
    found.rename(folder / f"char.{kind}")
    shutil.rmtree(trial)


def main(simple, folder):
    builder = SparkSession.builder.appName("writers").config(
        "spark.sql.warehouse.dir", str(folder / "warehouse")
    )
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    frame = frame_of(session, simple, folder / "trial", "parquet").cache()
    for variant, options in VARIANTS.items():
        for name, value in options.items():
            if name.startswith(S):
                session.conf.set(name, value)
        # Several row groups, each of some hundred rows.
        groups = {
            f"{P}block.size": "20000",
            f"{P}page.size": "4000",
            f"{P}block.size.row.check.min": "160",
            f"{P}block.size.row.check.max": "160",
        }
        written(frame, "parquet", folder, variant, groups | options)
        for name in options:
            if name.startswith(S):
                session.conf.set(name, SETTINGS.get(name, "snappy" if "codec" in name else "false"))
    char_table(session, frame, "parquet", folder)
    frame = frame_of(session, simple, folder / "trial", "orc")
    frame = frame.union(frame).union(frame).cache()
    for variant, options in ORC.items():
        more = {"orc.row.index.stride": "1000"}
        if variant == "filters":
            more["orc.bloom.filter.columns"] = ",".join(frame.columns)
        written(frame, "orc", folder, variant, options | more)
    char_table(session, frame, "orc", folder)
    session.stop()
    print(pyspark.__version__)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
