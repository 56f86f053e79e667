"""Files of fastparquet: every type that it takes from pandas.

python fastparquet_files.py FOLDER
"""

import sys
from pathlib import Path

import fastparquet
import numpy as np
import pandas as pd
import values

VARIANTS = {
    "default": {},
    "int96": {"times": "int96", "compression": "SNAPPY"},
}


def texts(found):
    return pd.Series(found, dtype=object)


def columns():
    for bits in (8, 16, 32, 64):
        for kind, signed in ((f"int{bits}", True), (f"uint{bits}", False)):
            yield kind, pd.Series(np.array(values.integers(bits, signed), kind)), None
        # With nulls.
        found = pd.array(values.with_nulls(values.integers(bits)), f"Int{bits}")
        yield f"nullable_{bits}", pd.Series(found), None
    yield "float", pd.Series(np.array(values.floats(4), "f4")), None
    yield "double", pd.Series(np.array(values.floats(8), "f8")), None
    yield "text", texts(values.with_nulls(values.texts())), "utf8"
    yield "binary", texts(values.with_nulls(values.binaries())), "bytes"
    yield "json", texts([{"a": each} for each in values.integers(32)]), "json"
    yield "decimal", texts(values.decimals(12, 3)), "decimal"
    yield "integers", texts(values.with_nulls(values.integers(64))), "int"
    yield "small", texts(values.integers(32)), "int32"
    yield "category", pd.Series(values.few_texts(), dtype="category"), None
    for unit in ("s", "ms", "us", "ns"):
        # What fits nanoseconds, which is all that older pandas has.
        found = np.array(values.moments(unit, -106_751, 106_750), "i8").view(f"M8[{unit}]")
        yield f"moment_{unit}", pd.Series(found), None
        yield f"zoned_{unit}", pd.Series(found).dt.tz_localize("UTC"), None
        spans = np.array(values.clocks(unit), "i8").view(f"m8[{unit}]")
        yield f"span_{unit}", pd.Series(spans), None
    fixed = [each.ljust(5, b".") for each in values.binaries(5)]
    yield "fixed", texts(fixed), "bytes"


def main(folder):
    for variant, options in VARIANTS.items():
        frame, encodings = {}, {}
        for name, column, encoding in columns():
            more = {"object_encoding": encoding} if encoding else {}
            more |= {"fixed_text": {name: 5}} if name == "fixed" else {}
            trial = folder / "trial"
            try:
                fastparquet.write(str(trial), pd.DataFrame({name: column}), **options, **more)
            except Exception as error:
                print(f"{variant}: {name}: {type(error).__name__}: {error}", file=sys.stderr)
                continue
            finally:
                trial.unlink(missing_ok=True)
            frame[name] = column
            encodings[name] = encoding or "infer"
        fixed = {"fixed_text": {"fixed": 5}} if "fixed" in frame else {}
        fastparquet.write(
            str(folder / f"{variant}.parquet"), pd.DataFrame(frame), row_group_offsets=160,
            object_encoding=encodings, **options, **fixed,
        )  # fmt: skip
    print(fastparquet.__version__)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
