"""Ask pyarrow, by a dataset with a filter."""

import pyarrow as pa
import pyarrow.dataset as ds
from asking import Question, answer


def value(kind: pa.DataType, question: Question) -> pa.Scalar:
    if pa.types.is_time(kind):
        return pa.scalar(question.number, kind)
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return pa.scalar(question.literal.removesuffix("Z")).cast(kind)
    if "binary" in str(kind):
        return pa.scalar(question.stored, kind)
    if pa.types.is_floating(kind):
        return pa.scalar(float(question.literal), kind)
    return pa.scalar(question.literal).cast(kind)


def ask(question: Question) -> list[int]:
    source = ds.dataset(question.path)
    kind = source.schema.field("v").type
    found = source.to_table(filter=ds.field("v") == value(kind, question), columns=["n"])
    return found["n"].to_pylist()


answer("", ask)
