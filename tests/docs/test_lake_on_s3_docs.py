"""docs/lake-on-s3.md: its commands run, in their order, on a server like S3."""

import shlex

import pyarrow as pa
import pyarrow.parquet as pq
from conftest import ROOT
from make.commands import outcome
from make.documents import blocks

PAGE = (ROOT / "docs" / "lake-on-s3.md").read_text()


def test_its_commands_run(s3, tmp_path):
    for number in range(3):
        rows = pa.table({"user_id": range(number, 3000, 3), "amount": [1.5] * 1000})
        pq.write_table(rows, tmp_path / "plain", row_group_size=100)
        s3.put(
            f"lake/events/day=2026-11-0{number + 1}/0.parquet", (tmp_path / "plain").read_bytes()
        )
    options = [f"--storage-option={name}={value}" for name, value in s3.options.items()]
    lines = [line for line in "".join(blocks(PAGE, "sh")).splitlines() if line.startswith("pbloom")]
    ended = {line: outcome(*shlex.split(line)[1:], *options) for line in lines}
    assert [(line, each) for line, each in ended.items() if each.code] == []
    checked = ended["pbloom validate --no-deep --require user_id s3://lake/events/"]
    assert "no findings in 30 filters" in checked.stdout
    assert "1 row in 1 of 3 files" in ended[lines[-1]].stdout
