"""Validation reports made by hand, for the tests of what is printed of them."""

from parquet_bloom.container import Place
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.rules.finding import Finding, finding
from parquet_bloom.verbs.several import Failure
from parquet_bloom.verbs.validate import Checked, ValidationReport

PREFIXED = Diagnosis(
    "length-prefix", "the values are found if they are hashed with their length", 9, 10
)

LENGTHS = tuple(
    finding("PB111", "bloom_filter_length is missing", place=Place(group), column="user.id",
            expected=1040 + group)
    for group in range(3)
)  # fmt: skip
LOST = finding(
    "PB401", "10 of 12 values are not in the filter", place=Place(1), column="name",
    expected=0, found=10, diagnosis=PREFIXED,
)  # fmt: skip
SHARE = finding("PB309", "3 filters take 29% of the file")
ORDER = finding("PB206", "filters are out of order", place=Place(2), column="user.id")

FAILURE = Failure("data/none.parquet", "data/none.parquet: No such file or directory")


def report(
    *findings: Finding, path: str = "data/a.parquet", ok: bool = False, values: int = 1000
) -> ValidationReport:
    return ValidationReport(path, "parquet", ok, findings, Checked(filters=8, values=values))


BROKEN = report(ORDER, SHARE, *LENGTHS, LOST)
SOUND = report(path="data/b.parquet", ok=True)
