"""Ask pyarrow, by a dataset with a filter."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from answering import Question, Skip, answer
from pyarrow.parquet.encryption import create_decryption_properties


def value(kind: pa.DataType, question: Question, stored: bytes, literal: str) -> pa.Scalar:
    if "binary" in str(kind):
        return pa.scalar(stored, kind)
    if pa.types.is_time(kind):
        return pa.scalar(int.from_bytes(stored, "little"), kind)
    if pa.types.is_floating(kind):
        return pa.scalar(float(literal), kind)
    local = pa.types.is_timestamp(kind) and kind.tz is None
    return pa.scalar(literal.removesuffix("Z") if local else literal).cast(kind)


def ask(question: Question) -> list[int]:
    if question.op == "sql":
        raise Skip("no SQL")
    options = {}
    if question.key:
        options["decryption_properties"] = create_decryption_properties(question.key)
    scan = ds.ParquetFragmentScanOptions(**options)
    source = ds.dataset(
        question.path, format=ds.ParquetFileFormat(default_fragment_scan_options=scan)
    )
    path = (
        [question.column] if question.column in source.schema.names else question.column.split(".")
    )
    field = source.schema.field(path[0])
    for name in path[1:]:
        field = field.type.field(name)
    pairs = zip(question.stored, question.literal, strict=True)
    values = [value(field.type, question, *pair) for pair in pairs]
    wanted = pc.field(*path)
    wanted = (
        wanted == values[0] if question.op == "=" else wanted.isin(pa.array(values, field.type))
    )
    return source.to_table(filter=wanted, columns=["n"])["n"].to_pylist()


answer("pyarrow", pa.__version__, ask)
